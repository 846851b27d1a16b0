"""Every method of the types of the extension, with good and wrong arguments that the Python layer would never hand on.

`METHODS` has the arguments of each method and `KEYWORDS` those of the constructors. An argument that is `wrong` has to
raise an error of Python; what may be right or wrong, such as NaN, is `either`.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import mpm
from mpm import _core

CLEAN = (
    *(TypeError, ValueError, OverflowError, KeyError, IndexError, NotImplementedError),
    *(mpm.SimulationError, mpm.BusyError),
)
INF, NAN = float("inf"), float("nan")


class Planned(ValueError):
    """Of an argument that raises while it is read."""


class Raising:
    """Every protocol with which an argument may be read, each with an error."""

    def _raise(self, *_: object) -> Any:
        raise Planned

    __index__ = __float__ = __len__ = __getitem__ = __iter__ = __buffer__ = __bool__ = __call__ = _raise


class Acting:
    """A number, a sequence or an array that does something whenever it is read."""

    def __init__(self, good: Any, action: Any) -> None:
        self.good, self.action = good, action

    def __index__(self) -> int:
        self.action()
        return int(self.good)

    def __float__(self) -> float:
        self.action()
        return float(self.good)

    def __len__(self) -> int:
        self.action()
        return len(self.good)

    def __getitem__(self, k: int) -> Any:
        self.action()
        return self.good[k]

    def __buffer__(self, flags: int) -> memoryview:  # from CPython 3.12 on
        self.action()
        return memoryview(self.good)


class ActingKey(str):
    """A key of a dict that does something whenever it is looked up."""

    __hash__ = str.__hash__
    action: Any

    def __eq__(self, other: object) -> bool:
        self.action()
        return str.__eq__(self, other)


def acting_keys(good: dict[str, Any], action: Any) -> dict[str, Any]:
    keys = {ActingKey(name): value for name, value in good.items()}
    for key in keys:
        key.action = action
    return keys


# --- kinds of arguments ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """An argument: a good one, wrong ones, and those that may be either. `acting` makes one that acts while read."""

    good: Any
    wrong: tuple[Any, ...]
    either: tuple[Any, ...] = ()
    acting: Callable[[Any, Any], Any] | None = None


def text(good: str) -> Kind:
    wrong = (None, 1, b"a", [], object(), "a\0b", "\ud800", Raising())
    return Kind(good, wrong, ("", "no such", "x" * 10_000))


def or_none(kind: Kind) -> Kind:
    return Kind(kind.good, kind.wrong[1:], (None, *kind.either))


def number(good: float) -> Kind:
    wrong = (None, "1", b"1", [], {}, 1j, object(), 10**400, Raising())
    return Kind(
        good, wrong, (NAN, INF, -INF, -1.0, 0.0, -0.0, 1e300, -1e300, 5e-324, True, np.float32(1)), Acting
    )


def whole(good: int, *either: int) -> Kind:
    wrong = (None, "1", b"1", 1.5, NAN, [], 1j, object(), 2**63, -(2**63) - 1, 10**30, Raising())
    return Kind(good, wrong, (-1, 0, True, *either), Acting)


def flag() -> Kind:
    return Kind(False, (Raising(),), (None, "x", 1.0, object()))


def vector(*good: float) -> Kind:
    n = len(good)
    wrong = (
        None, 1, NAN, "ab", "abc", b"", [], {}, {"set"}, good[1:], (*good, 1.0), [None] * n, ["1"] * n, [1j] * n,
        [[1.0]] * n, [10**400] * n, Raising(), [Raising()] * n,
    )  # fmt: skip
    return Kind(
        good, wrong, ([NAN] * n, [INF] * n, [-1e300] * n, [5e-324] * n, np.zeros(n), range(n)), Acting
    )


def array(good: np.ndarray, *, counted: bool = True, or_none: bool = False) -> Kind:
    """A buffer of exactly this type; `counted`: its length must be that of others."""
    types = [np.float32, np.float64, np.int32, np.int64, np.complex128, object]
    wrong: list[Any] = [1.0, "ab", [], {}, object(), Raising()]
    wrong += [good.astype(kind) for kind in types if kind != good.dtype]
    wrong += [good[..., None], good.reshape(-1) if good.ndim > 1 else good[None], np.array(good.flat[0])]
    if good.dtype.itemsize > 1:
        wrong.append(good.astype(good.dtype.newbyteorder()))
    if not or_none:
        wrong.append(None)
    if len(good) > 1:
        wrong += [np.repeat(good, 2, axis=0)[::2], good[::-1]]
    if good.ndim > 1:
        wrong += [np.concatenate([good, good], axis=-1), good[..., :0].copy()]
        fortran = np.asfortranarray(good)
        wrong += [] if fortran.flags.c_contiguous else [fortran]
    lengths = [good[:-1].copy(), np.concatenate([good, good]), good[:0].copy()]
    kind = good.dtype.kind
    values = {"f": (NAN, INF, -1.0, 0.0, 1e300, 5e-324), "u": (0, 1, 255)}.get(kind, (-1, 0, 1, 127))
    either = [np.full_like(good, value) for value in values]
    if kind == "i":
        either += [np.full_like(good, end) for end in (np.iinfo(good.dtype).min, np.iinfo(good.dtype).max)]
    read_only = good.copy()
    read_only.flags.writeable = False
    if counted:
        return Kind(read_only, (*wrong, *lengths), tuple(either), Acting)
    return Kind(read_only, tuple(wrong), (*either, *lengths), Acting)


def group(*kinds: Kind) -> Kind:
    """A tuple of several; it is wrong if one of them is."""
    values = tuple(kind.good for kind in kinds)

    def replaced(name: str) -> Iterator[Any]:
        for k, kind in enumerate(kinds):
            for value in getattr(kind, name):
                yield (*values[:k], value, *values[k + 1 :])

    wrong = (None, 1, "ab", (), values[1:], (*values, 1), Raising())
    return Kind(values, (*wrong, *replaced("wrong")), tuple(replaced("either")))


def repeated(kind: Kind, count: int) -> Kind:
    """The same so many times."""
    lists = [(value,) * count for value in kind.wrong], [(value,) * count for value in kind.either]
    wrong = (None, 1, "ab", (), (kind.good,) * (count - 1), (kind.good,) * (count + 1), Raising())
    return Kind((kind.good,) * count, (*wrong, *lists[0]), tuple(lists[1]))


def kept(good: dict[str, Any]) -> Kind:
    """What is kept of a simulation, with entries that are missing, of other types and lengths."""
    wrong: list[Any] = [None, 1, [], "ab", {}, [*good.items()], Raising()]
    either: list[Any] = []
    for name, value in good.items():
        data = np.frombuffer(value, np.uint8)
        wrong += [{k: v for k, v in good.items() if k != name}]
        wrong += [
            good | {name: other} for other in (None, 1.0, "ab", Raising(), np.append(data, np.uint8(0)))
        ]
        if len(data) > 1:
            wrong += [good | {name: data[:-1].copy()}, good | {name: np.repeat(data, 2)[::2]}]
            either += [good | {name: np.full(len(data), byte, np.uint8)} for byte in (0, 0x7F, 0x80, 0xFF)]
    return Kind(good, tuple(wrong), tuple(either), acting_keys)


# --- the objects, and their methods ----------------------------------------------------------------------------------

N = 4
X = 0.3 + 0.05 * np.array([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
REST, ONES = np.zeros((N, 2)), np.full(N, 1e-3)
INDEX, CORNERS = np.zeros(2, np.int32), np.array([(0, 1, 2), (1, 3, 2)], np.int32)
COMMON = {
    "dim": whole(2, 3, 4, 2**31 - 1),
    "dtype": text("float64"),
    "lower": vector(0.0, 0.0),
    "gravity": vector(0.0, -1.0),
    "walls": repeated(
        group(text("slip"), number(0.0), number(0.0), number(0.0), number(0.0), number(1.0)), 4
    ),
    "dt": number(1e-4),
    "max_dt": number(INF),
    "allow_unstable": flag(),
    "history": whole(1),
    "threads": whole(1, 2, 2**31 - 1),
    "on_leave": repeated(text("raise"), 4),
    "isa": text("scalar"),
}
KEYWORDS: dict[str, dict[str, Kind]] = {
    "Simulation": COMMON
    | {"cells": vector(8, 8), "dx": number(0.125), "transfer": text("apic"), "kernel": text("quadratic")}
    | {"gradient": text("mls"), "flip_ratio": number(0.5), "xpic_order": whole(1), "advect": text("pic")}
    | {"f_update": text("linear"), "c_keep": number(1.0), "f_bar": flag()}
    | {"artificial_viscosity": vector(0.0, 0.0), "integrator": text("explicit"), "beta": number(0.5)}
    | {"tolerance": number(1e-6), "max_iterations": whole(10), "preconditioner": text("mass")}
    | {"projection": text("semidefinite"), "load": number(0.0), "particle_collisions": text("deep")}
    | {
        "dissipation": flag(),
        "contact": flag(),
        "faces": Kind(False, (Raising(), True), (None, 1.0)),
        "damping": number(0.0),
        "local_damping": number(0.0),
    }
    | {"heat": flag(), "pore": Kind(False, (Raising(), True), (None, 1.0)), "conduction": text("explicit")}
    | {"solute": Kind(False, (Raising(), True), (None, 1.0))}
    | {"density_correction": number(0.0)},
    "SPH": COMMON
    | {name: number(value) for name, value in (("spacing", 0.05), ("smoothing", 1.3), ("density", 1.0))}
    | {"cells": vector(20, 20), "kernel": text("cubic"), "viscosity": text("vector")}
    | {"constant_viscosity": text("dynamic"), "alpha": number(0.1), "xsph": number(0.0)}
    | {"repulsion": number(0.0), "tension": flag()},
    "FEM": COMMON
    | {"upper": vector(1.0, 1.0), "spacing": number(0.05), "damping": vector(0.0, 0.0)}
    | {"local_damping": number(0.0)}
    | {"integrator": text("symplectic-euler"), "tolerance": number(1e-6), "max_iterations": whole(10)},
}
BALL = np.array([[_core.shape_kinds().index("ball"), 0, 4]], dtype=np.int64)
COLLIDER = (
    text("other"), text("slip"), number(0.0), number(0.0), vector(0.0, 0.0), array(BALL),
    array(np.array([0.7, 0.7, 0.0, 0.1])), vector(0.7, 0.7, 0.0),
    text("linear"), vector(0.1, 0.0, 0.0), number(1.0), array(np.zeros((2, 7)), counted=False),
)  # fmt: skip
FORM = (
    whole(0, 1, 2**31), array(BALL, counted=False), array(np.array([0.7, 0.7, 0.0, 0.1]), counted=False),
    vector(0.7, 0.7, 0.0), array(np.zeros((2, 17)), counted=False), number(1.0), vector(*[0.1] * 9),
    vector(*[0.0] * 33),
)  # fmt: skip
DISTANCE = (whole(0, 1, 2**31), array(X, counted=False), number(0.0))


def bare(name: str, **options: Any) -> Any:
    """As it is made, with these options in place of the table's."""
    if name == "Colliders":
        return _core.Colliders(2)
    return getattr(_core, name)(**{key: kind.good for key, kind in KEYWORDS[name].items()} | options)


def empty(name: str, **options: Any) -> Any:
    """An object without rows, but with a material and a collider."""
    made = bare(name, **options)
    if name != "Colliders":
        made.add_material(*(kind.good for kind in material_of(name)))
    made.add_collider(*(kind.good for kind in COLLIDER))
    return made


def touching(name: str) -> Any:
    """A material and no particles, in a simulation whose bodies may touch."""
    made = bare(name, contact=True)
    made.add_material(*(kind.good for kind in material_of(name)))
    return made


def heated(name: str) -> Any:
    """The same, in a simulation that conducts heat, with a collider."""
    made = bare(name, heat=True)
    made.add_collider(*(kind.good for kind in COLLIDER))
    made.add_material(*(kind.good for kind in material_of(name)))
    return made


def wet(name: str) -> Any:
    """The same, in a simulation with pore water."""
    made = bare(name, heat=True, pore=True)
    made.add_material(*(kind.good for kind in material_of(name)))
    return made


def dissolved(name: str) -> Any:
    """The same, in a simulation with a solute."""
    made = bare(name, heat=True, solute=True)
    made.add_material(*(kind.good for kind in material_of(name)))
    return made


def nodes_only(name: str, **options: Any) -> Any:
    made = empty(name, **options)
    made.add_nodes(X, REST, ONES, ONES, np.zeros(N, np.int32))
    return made


def graded(name: str) -> Any:
    """A mesh whose first parameter varies over the elements."""
    made = bare(name)
    law, parameters, _ = (kind.good for kind in material_of(name))
    made.add_material(law, parameters, (0,))
    made.add_collider(*(kind.good for kind in COLLIDER))
    made.add_nodes(X, REST, ONES, ONES, np.zeros(N, np.int32))
    made.set_mesh(X, CORNERS, INDEX)
    return made


def filled(name: str, **options: Any) -> Any:
    """An object that has taken two steps."""
    if name == "Colliders":
        return empty(name)
    if name == "FEM":
        made = nodes_only(name, **options)
        made.set_mesh(X, CORNERS, INDEX)
    else:
        made = empty(name, **options)
        made.add_particles(*(kind.good for kind in METHODS[name]["add_particles"]))
    made.step(2)
    return made


def material_of(name: str) -> tuple[Kind, ...]:
    made = (
        mpm.materials.Fluid(bulk_modulus=10, density=1)
        if name == "SPH"
        else mpm.materials.NeoHookean(E=10, nu=0.3, density=1)
    )
    law, parameters, _ = made._core_arguments
    varying = Kind((), (1, "ab", [2**31], [-1], [0.5], [None], Raising(), [Raising()]), ([0], [0, 1], [1, 0]))
    return text(law), vector(*parameters), varying


def failing() -> None:
    raise Planned


def methods_of(name: str) -> dict[str, tuple[Kind, ...]]:
    """What all methods of running have."""
    mask = np.array([1, 0, 0, 0], np.uint8)
    return {
        "add_material": material_of(name),
        "add_collider": COLLIDER,
        "set_gravity": (vector(0.0, -1.0, 0.0),),
        "set_friction": (vector(0.0, 0.0, 0.0, 0.0, 0.0, 0.0),),
        "set_material": (whole(0, 1, 2**31 - 1), *material_of(name)),
        "set_collider": COLLIDER,
        "collider_distance": DISTANCE,
        "delete_particles": (array(mask),),
        "step": (whole(2), number(INF)),
        "run": (number(1e-3), number(INF), whole(2)),
        "add_load": (text("push"),),
        "step_forced": (
            array(np.zeros((N, 2)), or_none=True),
            number(1.0),
            *(Kind(None, (1, "ab", np.zeros(3), np.zeros((N, 3), np.int32))) for _ in range(4)),
            *(Kind(None, (1, "ab", np.zeros((2, 3, 1)), np.ones(N, np.int32))) for _ in range(3)),
        ),
        "hold": (Kind(lambda: None, (None, 1, "ab", Raising(), failing)), flag()),
        "field": (text("v"),),
        "add_field": (text("heat"), text("K"), text("scalar"), number(0.0)),
        "history_array": (whole(0, 10**6, 2**31, 2**62),),
        "snapshot": (flag(),),
        "snapshot_rows": (text("x"), whole(0, 1, 2**62), whole(N, N + 1, 2**62)),
        **{
            word: ()
            for word in (
                "stable_dt",
                "totals",
                "fields",
                "history_names",
                "health",
                "seconds",
                "memory",
                "written",
            )
        },
    }


class Alone:
    """A team of one process, which has nobody to tell."""

    def exchange(self, messages: Any) -> None: ...
    def reduce(self, sums: Any, most: Any) -> None: ...
    def answer(self) -> None: ...


GRADIENT = np.tile(np.eye(2), (N, 1, 1))
METHODS: dict[str, dict[str, tuple[Kind, ...]]] = {
    "Colliders": {"add_collider": COLLIDER, "collider_distance": DISTANCE},
    "Simulation": methods_of("Simulation")
    | {
        "add_particles": (
            array(X), array(REST), array(0 * GRADIENT, or_none=True), array(GRADIENT, or_none=True), array(ONES),
            array(ONES), whole(0, 1, 2**31),
        ),
        "grid": (),
        "rigid_forces": (),
        "join_team": (Kind(Alone(), ()), whole(1), whole(0)),
        "leave_team": (),
        "failing_process": (),
        "migrations": (),
        "holder": (whole(0, 1, 2**31),),
        "has_image": (text("sand"), Kind(False, ()), Kind(False, ())),
        "lend": (text("x"),),
        "changes": (),
        "use_gpu": (text("sand"), Kind(False, ()), Kind(object(), (None, 1, "cuda", b"a", [], Raising()))),
        "set_contact": (text("separate"), number(0.5), number(0.0)),
        "name_joint": (whole(0, 1, 2**31), text("joint:a")),
        "set_form": FORM,
        **dict.fromkeys(
            ("set_heat_wall", "set_heat_collider"),
            (whole(0, 1, 5, 2**31), text("transfer"), number(300.0), number(1.0)),
        ),
        "set_layer": (whole(0, 1, 2**31), whole(1, 2**31)),
        "set_pair": (whole(0), whole(1), or_none(text("slip")), number(0.5), number(0.0), or_none(text("a|b"))),
        "set_pore": (whole(0, 1, 2**31), *(number(good) for good in (1e-7, 1e-7, 1.0, 2.0, 1.0, 0.0)),
                     whole(1, 3, 2**31)),
        "set_solute": (whole(0, 1, 2**31), *(number(good) for good in (1.0, 2.0, 1e-5)),
                       Kind((), (None, 1, "ab", [], (1,), ((0, 1),)),
                            (((0, (0.0, 1.0), (1.0, 2.0)),), ((0, (1.0,), ()),))),
                       Kind((), (None, 1, "ab", [], (1,), ((0, 1),), ((0, (), 1),)),
                            (((0, (300.0, 400.0), (1.0, 2.0)),), ((-1, (), ()),)))),
        "set_thermal": (whole(0, 1, 2**31), *(number(good) for good in (1.0, 1.0, 300.0, 1.0, 1e-5, 0.0)),
                         group(*(number(good) for good in (400.0, 10.0, 1.0, 1.0, 1.0))),
                         Kind((), (None, 1, "ab", [], (1,), ((0, 1),), ((0, (), 1),)),
                              (((0, (300.0, 400.0), (1.0, 2.0)),), ((-1, (), ()),)))),
    },
    "SPH": methods_of("SPH")
    | {
        "add_particles": (array(X), array(REST)),
        "drop_collider": (),
        "fill_collider": (whole(0, 1, 2**62), vector(-0.1, -0.1), vector(0.1, 0.1)),
        "interpolate": (array(X, counted=False), array(REST), text("vector"), flag()),
    },
    "FEM": methods_of("FEM")
    | {
        "add_nodes": (array(X), array(REST), array(ONES), array(ONES), array(np.zeros(N, np.int32))),
        "set_mesh": (array(X), array(CORNERS), array(INDEX)),
        "set_dashpots": (array(np.zeros((N, 2))),),
        "set_parameters": (array(np.arange(2, dtype=np.int32)), array(np.full((2, 1), 10.0))),
        "element_field": (text("material"),),
        "element_fields": (),
        "forces": (),
    },
}  # fmt: skip
for _name in METHODS.keys() - {"Colliders"}:
    METHODS[_name]["restore"] = (kept(filled(_name).snapshot()),)
BEFORE = {
    "add_material": bare,
    **dict.fromkeys(("set_heat_wall", "set_heat_collider", "set_thermal"), heated),
    "set_pore": wet,
    "set_solute": dissolved,
    **dict.fromkeys(("set_contact", "set_layer", "set_pair"), touching),
    "restore": empty,
    "add_nodes": empty,
    "set_mesh": nodes_only,
    "set_parameters": graded,
}
OPTIONAL = {
    "add_material": 1,
    "set_material": 1,
    "step": 1,
    "run": 2,
    "step_forced": 7,
    "hold": 1,
    "snapshot": 1,
}


def seen(core: Any) -> Any:
    """All that can be seen of an object."""
    if isinstance(core, _core.Colliders):
        found = []
        with contextlib.suppress(ValueError):  # that there are no more
            while True:
                found.append(core.collider_distance(len(found), X, 0.1))
        return found
    whole_state = None
    if (
        not isinstance(core, _core.FEM) or len(core.element_fields()) == 1
    ):  # parameters may not have values yet
        whole_state = core.snapshot()
    numbers = [getattr(core, name) for name in ("time", "dt", "steps", "particles", "next_id", "threads")]
    return (
        whole_state,
        numbers,
        core.fields(),
        core.history_names(),
        core.health(),
        core.memory()["colliders"],
    )


def answers(core: Any) -> None:
    """Whatever state it has been brought to, it says something."""
    steps = [] if isinstance(core, _core.Colliders) else [lambda: core.step(1), lambda: seen(core)]
    for call in (lambda: seen(core), *steps):
        with contextlib.suppress(*CLEAN):
            call()


def replaced(kinds: tuple[Kind, ...], name: str) -> Iterator[tuple[Any, ...]]:
    """The good arguments with each of these in the place of one."""
    good = [kind.good for kind in kinds]
    for k, kind in enumerate(kinds):
        for value in getattr(kind, name):
            yield (*good[:k], value, *good[k + 1 :])


# What an argument may do while it is read.
ACTIONS = {
    "deletes": lambda core: core.delete_particles(np.ones(core.particles, np.uint8)),
    "steps": lambda core: core.step(1),
    "drops": lambda core: core.drop_collider(),
    "collides": lambda core: core.add_collider(*(kind.good for kind in COLLIDER)),
    "adds": lambda core: core.add_field(f"field {len(core.fields())}", "1", "scalar", 0.0),
}
