"""Conserved quantities: the current ones, and their history, which C records at every step."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Never, Protocol

import numpy as np

from mpm.base import _check, advice
from mpm.base._check import FloatArray

if TYPE_CHECKING:
    from mpm.solver.core import Core


UNITS = {
    "time": "s",
    "dt": "s",
    "mass": "kg",
    "momentum": "kg m/s",
    "center_of_mass": "m",
    "angular_momentum": "kg m²/s",
    "kinetic": "J",
    "elastic": "J",
    "gravitational": "J",
    "energy": "J",
    "plastic_dissipation": "J",
    "viscous_dissipation": "J",
    "heat": "J",
    "body_impulse": "N s",
    "wall_impulse": "N s",
    "wall_heat": "J",
    "collider_heat": "J",
    "source_heat": "J",
    "friction_heat": "J",
    "wall_water": "m³",
    "surface_water": "m³",
    "pore_water": "m³",
    "wall_solute": "mol",
    "collider_solute": "mol",
    "source_solute": "mol",
    "solute": "mol",
    "friction_work": "J",
    "impact_work": "J",
    "joint_work": "J",
    "joint_impulse": "N s",
}


def proposal(name: object, names: Collection[str]) -> str:
    """The sentence that proposes a total for a wrong name, or nothing."""
    if not isinstance(name, str):
        return ""
    return advice.component(name, names) or advice.nearest(name, names, advice.TOTALS)


@dataclass(frozen=True, eq=False, slots=True)
class Totals:
    """Sums over all particles.

    Attributes
    ----------
    time : float
        [s].
    mass : float
        [kg].
    momentum, center_of_mass : ndarray, shape (d,)
        [kg m/s] and [m].
    angular_momentum : float (2-D) or ndarray of shape (3,)
        About the origin, with the affine spin term [kg m²/s].
    kinetic : float
        With the affine term [J].
    elastic : float
        Stored by deformation, a fluid's compression included; by SPH also what a fluid stores in the particles of
        colliders that it reaches [J].
    gravitational : float
        −Σ m g·x [J].
    plastic_dissipation, viscous_dissipation : float or None
        Dissipated so far by the particles that are there [J]; None without ``dissipation=True`` (see
        `mpm.Simulation`).
    heat : float or None
        Σ m c T, with the latent heat of what has melted, where bodies conduct heat (`mpm.Thermal`); else, with
        ``dissipation=True``, Σ V ρc (T − T_initial) of laws with a temperature [J].

    Notes
    -----
    Units are those of 3-D; in 2-D everything is per metre of depth (kg/m, J/m, …), which `repr` says.

    Along a periodic axis positions have no origin. The component of the centre of mass along it and the angular
    momentum about the other axes are NaN there, and gravity has no potential: `gravitational`, and with it
    `energy`, leave its component along the axis out, which then does work on the material.
    """

    time: float
    mass: float
    momentum: FloatArray
    center_of_mass: FloatArray
    angular_momentum: Any
    kinetic: float
    elastic: float
    gravitational: float
    plastic_dissipation: float | None = None
    viscous_dissipation: float | None = None
    heat: float | None = None

    @property
    def energy(self) -> float:
        """kinetic + elastic + gravitational [J]; what is dissipated is not in it."""
        return self.kinetic + self.elastic + self.gravitational

    def __getattr__(self, name: str) -> Never:
        # Python calls this only if the ordinary look-up has failed.
        names = [*(field.name for field in fields(self)), "energy"]
        recorded = f"; sim.history[{name!r}] has it" if name in UNITS else ""
        raise AttributeError(
            f"Totals has no attribute {name!r}{recorded or proposal(name, names)}", name=name, obj=self
        )

    def __getitem__(self, name: object) -> Never:
        named = name if isinstance(name, str) else "kinetic"
        raise TypeError(f"Totals are attributes: totals().{named}; a history has columns: history[{named!r}]")

    def __repr__(self) -> str:
        names = [field.name for field in fields(self) if getattr(self, field.name) is not None] + ["energy"]
        d, width = len(self.momentum), max(17, *(len(name) + 1 for name in names))
        rows = (
            f"  {name:<{width}}{_shown(getattr(self, name))} {per_depth(UNITS[name], d)}" for name in names
        )
        return ("Totals per metre of depth\n" if d == 2 else "Totals\n") + "\n".join(rows)


class Recorded(dict[str, FloatArray]):
    """Totals of many frames by name; a call returns them, as that of `Solver.totals` does."""

    __slots__ = ()

    def __missing__(self, name: object) -> Never:
        raise KeyError(f"no totals {name!r}; there are {', '.join(self)}{proposal(name, self)}")

    def __call__(self) -> Recorded:
        """These totals."""
        return self


PER_DEPTH = {
    "N": "N/m",
    "kg": "kg/m", "m³": "m²", "J": "J/m", "mol": "mol/m", "kg m/s": "kg/s", "kg m²/s": "kg m/s",
    "N s": "N s/m", "N m s": "N s"
}  # fmt: skip


def per_depth(unit: str, dimension: int) -> str:
    """The unit that a quantity has in so many dimensions, from that in 3-D: in 2-D per metre of depth."""
    return PER_DEPTH.get(unit, unit) if dimension == 2 else unit


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "(" + ", ".join(f"{entry:.9g}" for entry in value) + ")"
    return f"{value:.9g}"


def read(core: Core) -> Totals:
    """The totals of the core's current state."""
    values = core.totals()
    plastic, viscous, heat = values.get("dissipation") or (None, None, None)
    conducted = values.get("heat")
    spin = np.atleast_1d(np.array(values["angular_momentum"], dtype=np.float64))
    return Totals(
        time=float(values["time"]),
        mass=float(values["mass"]),
        momentum=np.array(values["momentum"], dtype=np.float64),
        center_of_mass=np.array(values["center_of_mass"], dtype=np.float64),
        angular_momentum=float(spin[0]) if len(spin) == 1 else spin,
        kinetic=float(values["kinetic"]),
        elastic=float(values["elastic"]),
        gravitational=float(values["gravitational"]),
        plastic_dissipation=plastic,
        viscous_dissipation=viscous,
        heat=heat if conducted is None else conducted,
    )


class Records(Protocol):
    """What a history looks at: a core, or copies of its columns."""

    def history_names(self) -> list[tuple[str, int]]: ...
    def history_array(self, index: int, /) -> Any: ...


class _Copied:
    """The columns of a history without its simulation."""

    __slots__ = ("_columns", "_names")

    def __init__(self, names: Mapping[str, int], columns: Sequence[FloatArray]) -> None:
        self._names, self._columns = list(names.items()), list(columns)

    def history_names(self) -> list[tuple[str, int]]:
        return self._names

    def history_array(self, index: int, /) -> FloatArray:
        return self._columns[index]


def _history(names: Mapping[str, int], columns: Sequence[FloatArray]) -> History:
    """The history that a pickle holds."""
    return History(_Copied(names, columns))


class History(Mapping[str, FloatArray]):
    """The recorded columns: name → array with one entry per record.

    Entry 0 is the state at the start, as the first step found it; entry k is the state after step k·history, at
    ``history["time"][k]``. In entry 0, the quantities of a step (``dt``, impulses, torques, the counts of a solver) are
    0; ``history["wall_force"][1:]`` has the forces of the walls. Before the first step there is no entry:
    bodies added, particles deleted and values written until then count. A first step that is refused leaves no entry
    either. The history of an older checkpoint, which has no entry 0, goes on without one.

    Names are those of `Totals` (``plastic_dissipation``, ``viscous_dissipation`` and ``heat`` only with
    ``dissipation=True``), and ``dt``; ``body_impulse``, of gravity and the scene's body force, and
    ``wall_impulse``, both (records, d) [N s] and summed up between entries; with damping ``damping_impulse`` likewise.
    Where bodies conduct heat (`mpm.Thermal`) there are ``heat``, and ``wall_heat``, ``collider_heat``, ``source_heat``
    and ``friction_heat`` [J], which walls, colliders, heat sources and the friction of walls and colliders have given
    since the entry before: heat_{k+1} − heat_k is their sum, and that of the ``friction_work`` of deformable bodies
    that touch (that of rigid ones heats nothing), as long as no particle comes or goes and no dissipation heats.
    Where bodies have pore water (`mpm.Pore`) there are ``pore_water``, and ``wall_water`` and ``surface_water`` [m³],
    which have come in through walls and free surfaces since the entry before and add up to its growth as long as no
    particle comes or goes.
    Where something diffuses in bodies (`mpm.Solute`) there are ``solute``, Σ V⁰ c, and ``wall_solute``,
    ``collider_solute`` and ``source_solute`` [mol], which add up to its growth likewise.
    Where bodies touch (`mpm.Contact`) there are ``friction_work`` and ``adhesion_work`` [J], which their contacts have
    taken since the entry before, and ``impulse:A|B`` (records, d) [N s] of body A on body B; those of a pair cancel in
    the momentum.
    With rigid bodies there are ``friction_work`` and ``impact_work`` [J], which their contacts with each other, walls
    and colliders have taken by friction and otherwise since the entry before, ``joint_work`` [J] and
    ``joint_impulse`` (records, d) [N s], which joints have given; ``impulse:joint:BODY`` and ``torque:joint:BODY``
    (about the centre of mass) are those of the joint of a body. Without colliders that move and without deformable
    bodies, E_{k+1} − E_k = joint_work − friction_work − impact_work, of the column ``energy``.
    For every collider there are ``impulse:NAME`` (records, d) [N s] and ``torque:NAME`` [N m s], (records,) in 2-D and
    (records, 3) in 3-D, about its reference point (see `Scene.add_collider`), which moves along.
    Impulses act on the material and add up to the change of its momentum,
    P_{k+1} − P_k = body_impulse + wall_impulse + joint_impulse + damping_impulse + Σ impulse:NAME, without the columns
    impulse:A|B and impulse:joint:BODY. Without a body force body_impulse is dt·M·g.
    For every force, traction and held region of the scene there are ``impulse:NAME`` and ``work:NAME``, the work done
    on the material since the entry before [J]: force times motion, for a held region reaction times its velocity.
    ``"force:NAME"`` of a collider, a load or a joint (``"joint:BODY"``) and ``"wall_force"`` are these impulses over
    the time since the entry before, [N]; they are looked up by name, and not listed.
    The work of a collider that does not deform is impulse:NAME · V + torque:NAME · ω [J], with the velocity V of its
    reference point and its angular velocity ω. Every look-up gives a new array. In 2-D all is per metre of depth.

    A history is a mapping and no table, because vectors have several components. `to_dataframe` makes a table for
    pandas, `columns` one of one-dimensional arrays: ``pandas.DataFrame(history.columns())`` works, and
    ``pandas.DataFrame(history)`` is refused.

    A pickle or a copy (`copy`) of a history holds its columns as they are then, without the simulation.
    """

    __slots__ = ("_core",)

    def __init__(self, core: Records) -> None:
        self._core = core

    def __reduce__(self) -> tuple[Any, ...]:
        names = self._columns()
        return _history, (names, [np.array(self[name]) for name in names])

    def _columns(self) -> dict[str, int]:
        return dict(self._core.history_names())

    def __getitem__(self, name: str) -> FloatArray:
        columns = self._columns()
        if name == "energy" and "energy" not in columns:
            return self["kinetic"] + self["elastic"] + self["gravitational"]
        if isinstance(name, str) and (impulse := impulse_of(name)) in columns:
            return forces(self["time"], self[impulse])
        if name not in columns:
            names = list(self)
            raise KeyError(f"history has no {name!r}; it has {', '.join(names)}{proposal(name, names)}")
        values = np.frombuffer(self._core.history_array(list(columns).index(name)), dtype=np.float64).copy()
        return values.reshape(-1, columns[name]) if columns[name] > 1 else values

    def __iter__(self) -> Iterator[str]:
        names = list(self._columns())
        yield from names if "energy" in names else [*names, "energy"]

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getattr__(self, name: str) -> Never:
        # Python calls this only if the ordinary look-up has failed. A history without a core has no columns.
        column = not name.startswith("_") and name in list(self)
        raise AttributeError(
            f"History has no attribute {name!r}"
            + (f"; it is a column: history[{name!r}]" if column else "")
            + ("; mpm.plot.history(sim) draws it" if name == "plot" else ""),
            name=name,
            obj=self,
        )

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self.__slots__:
            raise AttributeError(f"History.{name} cannot be set")
        object.__setattr__(self, name, value)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Never:
        # NumPy would wrap the object, and pandas would make one column of the names.
        raise TypeError(
            "a history is no array: history.to_dataframe() makes a pandas.DataFrame, history.columns() a dict of "
            "one-dimensional arrays"
        )

    def columns(self) -> dict[str, FloatArray]:
        """Everything as one-dimensional columns, vectors split up (``momentum_x``): for tables and files."""
        return columns(self)

    def to_dataframe(self) -> Any:
        """The columns of `columns` as a `pandas.DataFrame` with the time [s] as its index; needs pandas."""
        pandas = _check.extra("pandas", "History.to_dataframe needs pandas", "table")
        return pandas.DataFrame(self.columns()).set_index("time")

    def __repr__(self) -> str:
        return f"<History: {len(self['time'])} records of {', '.join(self)}>"


def impulse_of(name: str) -> str:
    """The column of impulses that a name of forces belongs to; empty: it is no force."""
    if name == "wall_force":
        return "wall_impulse"
    return f"impulse:{name.removeprefix('force:')}" if name.startswith("force:") else ""


def forces(time: FloatArray, impulse: FloatArray) -> FloatArray:
    """Mean forces between records (records, d) [N]; 0 in the first one."""
    found = np.zeros_like(impulse)
    found[1:] = impulse[1:] / np.diff(time)[:, None]
    return found


def columns(table: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """One-dimensional columns: vectors are split up (``momentum_x``)."""
    result: dict[str, FloatArray] = {}
    for name, values in table.items():
        if values.ndim == 1:
            result[name] = values
        else:
            result |= {f"{name}_{axis}": values[:, k] for k, axis in enumerate("xyz"[: values.shape[1]])}
    return result
