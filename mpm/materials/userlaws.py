"""Laws that users write as compiled functions. They are part of `mpm.materials`."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np

from mpm import _core
from mpm.base import _check, fieldtable
from mpm.materials.inelastic import _Flowing
from mpm.materials.laws import Material, registry
from mpm.materials.solute import Solute
from mpm.materials.thermal import Thermal

__all__ = ["HistoryField", "UserLaw"]

_FUNCTION: Any = ctypes._CFuncPtr  # type: ignore[attr-defined]
_NUMBERS: Any = ctypes.POINTER(ctypes.c_double)
_EVALUATE: tuple[Any, ...] = (ctypes.c_int, ctypes.c_int, *[_NUMBERS] * 6, ctypes.c_void_p)
_RETURN_MAP: tuple[Any, ...] = (
    ctypes.c_int,
    ctypes.c_int,
    _NUMBERS,
    ctypes.c_double,
    *[_NUMBERS] * 3,
    ctypes.c_void_p,
)
_WORDS = {ctypes.c_int: "int", ctypes.c_double: "double", _NUMBERS: "double*", ctypes.c_void_p: "void*"}
_NUMBA = {"int": "int32", "double": "float64", "double*": "CPointer(float64)", "void*": "voidptr"}
_MODULI = ("law", "numeric")
_KNOWN = {row["name"]: row for law in registry().values() for row in law["history"]}


def _signature(arguments: Sequence[Any]) -> str:
    return f"void({','.join(_WORDS[argument] for argument in arguments)})"


def _numba_signature(arguments: Sequence[Any]) -> str:
    return f"void({', '.join(_NUMBA[_WORDS[argument]] for argument in arguments)})"


@_check.strict_options
@dataclass(frozen=True, slots=True)
class HistoryField:
    """A field of the history of a `UserLaw`: state of a particle besides F, live as ``sim.particles[name]``.

    Parameters
    ----------
    name : str
        An identifier of at most 31 ASCII characters, and no keyword, that no other field has. A field that laws of the
        package keep, such as ``"Jp"``, is named without a `HistoryField`.
    unit : str, optional
        Default "1".
    rank : str, optional
        ``"scalar"`` (default), ``"vector"``, ``"symmetric"`` (xx, xy, yy or xx, xy, xz, yy, yz, zz) or ``"tensor"``.
    initial : float, optional
        Value of new particles, default 0; of tensors the diagonal.
    low, high : float, optional
        Values that users write must be >= low and <= high, and so must `initial`; default: no bounds.
    """

    name: str
    unit: str = "1"
    rank: str = "scalar"
    initial: float = 0.0
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        name = _check.identifier("name", self.name)
        if name in {*fieldtable.KNOWN, *fieldtable.TAKEN} - {fieldtable.OPEN}:
            raise ValueError(f"name = {name!r}: is the name of another field")
        _check.text("unit", self.unit)
        _check.choice("rank", self.rank, fieldtable.RANKS)
        for bound in ("low", "high"):
            value = getattr(self, bound)
            if not isinstance(value, (int, float)) or math.isnan(value):
                raise _check.wrong_type(bound, value, "a number, or infinite")
            object.__setattr__(self, bound, float(value))
        initial = _check.number("initial", self.initial)
        if not self.low <= initial <= self.high:
            raise ValueError(
                f"low, initial, high = {self.low!r}, {initial!r}, {self.high!r}: must not descend"
            )
        if self.rank in ("symmetric", "tensor") and not self.low <= 0 <= self.high:
            raise ValueError(
                f"low, high = {self.low!r}, {self.high!r}: must allow 0, which new {self.rank}s have off the diagonal"
            )
        object.__setattr__(self, "initial", initial)


@dataclass(frozen=True, slots=True)
class Absent:
    """Stands for a compiled function that a file cannot keep."""

    name: str


class Compiled:
    """Where a compiled function is, as the core calls it."""

    def __init__(self, name: str, value: Any, arguments: Sequence[Any]) -> None:
        self.address, self.context = _address(name, value, arguments)
        if not self.address:
            raise ValueError(f"{name} = {_check.shown(value)}: is a null pointer")


def _address(name: str, value: Any, arguments: Sequence[Any]) -> tuple[int, int]:
    """Address and context of a function, after its signature was compared."""
    kind = type(value)
    if kind.__name__ == "LowLevelCallable" and isinstance(value, tuple):
        return _of_capsule(name, tuple.__getitem__(value, 0), arguments)
    if kind.__name__ == "PyCapsule":
        return _of_capsule(name, value, arguments)
    if kind.__module__.partition(".")[0] == "numba" and hasattr(value, "ctypes"):
        value = value.ctypes  # of numba.cfunc
    if isinstance(value, _FUNCTION):
        return _of_ctypes(name, value, arguments), 0
    if callable(value):
        raise TypeError(
            f"{name} = {_check.shown(value)}: a Python function works in mpm.point only; must be compiled: a "
            "scipy.LowLevelCallable, a PyCapsule, a ctypes function pointer or a numba.cfunc"
        )
    raise _check.wrong_type(
        name, value, "a scipy.LowLevelCallable, a PyCapsule, a ctypes function pointer or a numba.cfunc"
    )


def _of_capsule(name: str, capsule: Any, arguments: Sequence[Any]) -> tuple[int, int]:
    """The name of a capsule is the signature of its function, its context the function's."""
    api = ctypes.pythonapi
    named = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    context = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCapsule_GetContext", api))
    said = named(capsule)
    words = (said or b"").decode(errors="replace")
    if _without_names(words) != _signature(arguments):
        raise _wrong_signature(name, _check.shortened(words) or "no signature", arguments)
    return int(pointer(capsule, said) or 0), int(context(capsule) or 0)


def _without_names(signature: str) -> str:
    """A signature in C without const, names of parameters and spaces: ``void(int,double*)``."""
    types = re.sub(r"\bconst\b", "", signature)
    types = re.sub(r"(?<=[\w*])\s*\b\w+\s*(?=[,)])", "", types)  # a word after a type
    return "".join(types.split())


def _of_ctypes(name: str, function: Any, arguments: Sequence[Any]) -> int:
    if function.argtypes is None:
        prototype = "EVALUATE" if arguments is _EVALUATE else "RETURN_MAP"
        raise TypeError(
            f"{name} = {_check.shown(function)}: has no argtypes; must come from the prototype, "
            f"UserLaw.{prototype}(({getattr(function, '__name__', 'name')!r}, library))"
        )
    given = tuple(function.argtypes)
    if given != tuple(arguments) or function.restype is not None:
        words = ", ".join(getattr(argument, "__name__", str(argument)) for argument in given)
        result = getattr(function.restype, "__name__", "void")
        raise _wrong_signature(name, f"{result}({words})", arguments)
    if any(
        type(kept).__name__ == "CThunkObject" for kept in (getattr(function, "_objects", None) or {}).values()
    ):
        raise TypeError(
            f"{name} = {_check.shown(function)}: calls Python, which works in mpm.point only; must be compiled"
        )
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def _wrong_signature(name: str, given: str, arguments: Sequence[Any]) -> TypeError:
    return TypeError(
        f"{name}: has the signature {given}; must have {_signature(arguments)}, see mpm_user_law.h in mpm.get_include()"
    )


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class UserLaw(_Flowing):
    """A law of your own, as compiled functions: elastic, or with a return map and a history.

    ``mpm_user_law.h`` in the folder `mpm.get_include` describes the arguments of the functions: tiles of particles,
    component by component, in double precision. All threads call the functions, without Python's lock. A law that
    writes its moduli as a law of the package does has the same time steps. `mpm.testing.check_law` looks for errors.

    A function is a ``scipy.LowLevelCallable``, a PyCapsule whose name is the signature below, with or without names of
    parameters, a function pointer of ctypes with ``argtypes`` and ``restype`` (`EVALUATE` and `RETURN_MAP` are
    prototypes), or a ``numba.cfunc`` of `NUMBA_EVALUATE` or `NUMBA_RETURN_MAP`. The context of a ``LowLevelCallable``
    or capsule is passed on. Checkpoints keep the name and the numbers; ``mpm.load(path, laws={name: law})`` brings the
    functions back. Laws are equal that have the same name, numbers and history, and functions with the same addresses
    and contexts. Explicit steps only.

    Parameters
    ----------
    name : str
        Name of the law in files and messages: printable, shorter than 64 bytes.
    evaluate : compiled function
        ``void(int count, int dim, const double *parameters, const double *F, const double *history, double *tau, double
        *energy, double *moduli, void *context)``. The constructor calls the
        function at rest; the law does not support a dimension in which the result is NaN.
    density : float
        Initial density [kg/m³], > 0.
    constants : mapping of str to float, optional
        The numbers that the functions receive as ``parameters``, in this order; at most 64. The names are identifiers.
    history : sequence, optional
        `HistoryField` or names of fields of the package's laws, at most 6 with 24 components in 3-D.
    advance : compiled function, optional
        The return map, which advances the history: ``void(int count, int dim, const double *parameters, double dt,
        const double *velocity_gradient, double *F, double *history, void *context)``.
    moduli : str or float, optional
        ``"law"`` (default): `evaluate` writes the moduli. ``"numeric"``: differences of the stress bound the moduli in
        every step, which costs d² further evaluations. A number [Pa], > 0: an upper bound of the longitudinal modulus
        in any state.
    J_range : (float, float), optional
        Beyond this range of det F a run is unstable; default (1e-3, 1e3).
    reference : str, optional
        For `Simulation.cite`.
    kinked : bool, optional
        Whether the slope of the stress jumps somewhere, as that of fibres that bear only tension. Then ``dt="auto"``
        takes at most 0.4 of the bound instead of 0.6: below the bound, steps across a kink may gain energy.
        `mpm.testing.check_law` finds kinks. Default False.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    Raises
    ------
    TypeError, ValueError
        A function has another signature, is not compiled, or does not return finite numbers and an energy of 0 at rest.

    Examples
    --------
    >>> library = ctypes.CDLL("./my_law.so")  # doctest: +SKIP
    >>> function = mpm.materials.UserLaw.EVALUATE(("my_law", library))  # doctest: +SKIP
    >>> mpm.materials.UserLaw(name="mine", evaluate=function, constants={"mu": 4e4}, density=1000)  # doctest: +SKIP
    """

    law: ClassVar[str] = "user"
    EVALUATE: ClassVar[Any] = ctypes.CFUNCTYPE(None, *_EVALUATE)
    """Prototype of `evaluate` for ctypes: ``EVALUATE(("name", library))`` or ``EVALUATE(address)``."""
    RETURN_MAP: ClassVar[Any] = ctypes.CFUNCTYPE(None, *_RETURN_MAP)
    """Prototype of `advance` for ctypes."""
    NUMBA_EVALUATE: ClassVar[str] = _numba_signature(_EVALUATE)
    """Signature of `evaluate` for ``numba.cfunc``."""
    NUMBA_RETURN_MAP: ClassVar[str] = _numba_signature(_RETURN_MAP)
    """Signature of `advance` for ``numba.cfunc``."""

    name: str
    evaluate: Any = field(repr=False)  # an address, which is another one in every process
    density: float
    constants: Mapping[str, float] = field(default_factory=dict)
    history: Sequence[str | HistoryField] = ()
    advance: Any = field(default=None, repr=False)
    moduli: Literal["law", "numeric"] | float = "law"
    J_range: tuple[float, float] = (1e-3, 1e3)
    reference: str = ""
    kinked: bool = False
    thermal: Thermal | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)
    _dimensions: tuple[int, ...] = field(default=(), init=False, repr=False)
    _handle: Any = field(default=None, init=False, repr=False)
    _pointers: tuple[Any, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        keep = cast(Any, object.__setattr__)
        _check.title("name", self.name)
        _check.text("reference", self.reference) if self.reference else None
        keep(self, "density", _check.number("density", self.density, low=0, low_open=True, unit="kg/m3"))
        keep(self, "constants", _constants(self.constants))
        keep(self, "history", _history(self.history))
        keep(self, "moduli", _moduli(self.moduli))
        low, high = _check.array("J_range", self.J_range, (2,)).tolist()
        if not 0 < low < 1 < high:
            raise ValueError(f"J_range = ({low!r}, {high!r}): must be 0 < least < 1 < largest")
        keep(self, "J_range", (low, high))
        _check.flag("kinked", self.kinked)
        if isinstance(self.evaluate, Absent):
            keep(self, "_pointers", (self.evaluate, self.advance))
            return
        evaluate = Compiled("evaluate", self.evaluate, _EVALUATE)
        back = None if self.advance is None else Compiled("advance", self.advance, _RETURN_MAP)
        keep(self, "_pointers", tuple(f and (f.address, f.context) for f in (evaluate, back)))
        rows = [
            (
                *(row["name"], row["unit"], row["rank"], row["initial"], row["low"], row["high"]),
                *(isinstance(part, HistoryField), row["scales_volume"]),
            )
            for row, part in zip(self._row["history"], self.history, strict=True)
        ]
        handle = _core.user_law(
            self.name,
            list(self.constants.values()),
            rows,
            low,
            high,
            evaluate.address,
            evaluate.context,
            back.address if back else 0,
            back.context if back else 0,
            _MODULI.index(self.moduli) if isinstance(self.moduli, str) else len(_MODULI),
            0.0 if isinstance(self.moduli, str) else self.moduli,
            self.kinked,
        )
        keep(self, "_handle", handle)
        keep(self, "_dimensions", tuple(d for d in (2, 3) if not self._flaw(d)))
        if not self._dimensions:
            raise ValueError(f"evaluate: {self._flaw(3)}")
        for d in self._dimensions:
            energy = float(self._evaluate(np.eye(d)[None]).energy[0])
            if abs(energy) > 1e-9 * self._longitudinal(d):
                raise ValueError(f"evaluate: the energy at F = I is {energy:g}; must be 0")

    def _flaw(self, d: int) -> str:
        """What keeps the law from being used in a dimension; "" if nothing does."""
        found = self._evaluate(np.eye(d)[None])
        wrong = [
            name
            for name, parts in (
                ("tau", (found.tau, found.tau_zz)),
                ("energy", (found.energy,)),
                ("moduli", (found.longitudinal, found.isolated)),
            )
            if not all(np.isfinite(part).all() for part in parts)
        ]
        if wrong:
            return f"gives NaN or infinite {', '.join(wrong)} at F = I; must write finite numbers in {d}-D"
        if not found.longitudinal[0] > 0:
            modulus = f"{found.longitudinal[0]:g} Pa at F = I in {d}-D"
            return f"gives a longitudinal modulus of {modulus}; must be > 0: look at the constants"
        return ""

    def _longitudinal(self, d: int) -> float:
        return float(self._evaluate(np.eye(d)[None]).longitudinal[0])

    @property
    def wave_speed(self) -> float:
        """Speed of a longitudinal wave at rest [m/s]; with ``moduli="numeric"`` a bound of it."""
        return math.sqrt(self._longitudinal(max(self._supported)) / self.density)

    @property
    def _title(self) -> str:
        return f"UserLaw {self.name!r}"

    @property
    def _supported(self) -> tuple[int, ...]:
        """The dimensions in which it can be used."""
        assert self._core_law is not None  # raises for an absent law
        return self._dimensions

    @property
    def _core_law(self) -> Any:
        if self._handle is None:
            raise ValueError(
                f"the law {self.name!r} was not kept in the file: give it again, "
                f"mpm.load(path, laws={{{self.name!r}: law}})"
            )
        return self._handle

    @property
    def _row(self) -> _core.Law:
        unlimited = {
            "low": -math.inf,
            "low_open": True,
            "high": math.inf,
            "high_open": True,
            "branches": False,
        }
        density = registry()["neo_hookean"]["parameters"][-1]
        parameters: list[Any] = [
            {"name": name, "unit": "1", **unlimited, "meaning": "of the user's law"}
            for name in self.constants
        ]
        return {
            "name": self.name,
            "variant_of": None,
            "strain": "F",
            "viscous": False,
            "rigid": False,
            "kinked": self.kinked,
            "tangent": None,
            "return_map": self.advance is not None,
            "parameters": [*parameters, density],
            "history": [_row_of(part) for part in self.history],
            "reference": self.reference,
        }

    def _parameter(self, name: str) -> float:
        return self.density if name == "density" else self.constants[name]

    def _replaced(self, values: Mapping[str, float]) -> Self:
        own = {name: value for name, value in values.items() if name != "density"}
        density = values.get("density", self.density)
        return replace(cast(Any, self), constants={**self.constants, **own}, density=density)  # type: ignore[no-any-return]

    def _key(self) -> tuple[Any, ...]:
        numbers = tuple(self.constants.items()), self.density, self.moduli, self.J_range, self.kinked
        return (self.name, *self._pointers, *numbers, self.history, self.reference, self.thermal, self.solute)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, UserLaw) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, tuple(self.constants.items()), self.density))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            f"the law {self.name!r} cannot be pickled: its functions are pointers; a checkpoint keeps its name and "
            "numbers"
        )

    def _described(self) -> dict[str, Any]:
        """What files keep."""
        return {
            "name": self.name,
            "density": self.density,
            "constants": [list(item) for item in self.constants.items()],
            "history": [part if isinstance(part, str) else _as_numbers(part) for part in self.history],
            "advance": self.advance is not None,
            "moduli": self.moduli,
            "J_range": list(self.J_range),
            "reference": self.reference,
            "kinked": self.kinked,
            **({"thermal": self.thermal._described()} if self.thermal else {}),
            **({"solute": self.solute._described()} if self.solute else {}),
        }

    @classmethod
    def _restored(cls, tree: Mapping[str, Any], law: UserLaw | None) -> UserLaw:
        """The law that a file describes, with the functions of `law`."""
        history = tuple(part if isinstance(part, str) else _from_numbers(part) for part in tree["history"])
        name = _check.text("name", tree["name"])
        absent = Absent(name)
        return cls(
            name=name,
            evaluate=law.evaluate if law else absent,
            advance=(law.advance if law else absent) if tree["advance"] else None,
            density=tree["density"],
            constants=dict(tree["constants"]),
            history=history,
            moduli=tree["moduli"],
            J_range=tree["J_range"],
            reference=tree["reference"],
            kinked=tree.get("kinked", False),
            thermal=Thermal._restored(tree["thermal"]) if "thermal" in tree else None,
            solute=Solute._restored(tree["solute"]) if "solute" in tree else None,
        )


def _as_numbers(part: HistoryField) -> list[Any]:
    """A field without infinities, which JSON does not have."""
    bounds = [None if math.isinf(value) else value for value in (part.low, part.high)]
    return [part.name, part.unit, part.rank, part.initial, *bounds]


def _from_numbers(part: Sequence[Any]) -> HistoryField:
    name, unit, rank, initial, low, high = part
    return HistoryField(
        name, unit, rank, initial, -math.inf if low is None else low, math.inf if high is None else high
    )


def _row_of(part: str | HistoryField) -> _core.HistoryField:
    """The row of a field, as the registry has it."""
    if isinstance(part, str):
        known: _core.HistoryField = {**_KNOWN[part], "initial_parameter": None, "heat_capacity": None}
        return known
    return {
        "name": part.name,
        "unit": part.unit,
        "rank": part.rank,
        "initial": part.initial,
        "initial_parameter": None,
        "low": part.low,
        "high": part.high,
        "closed": True,
        "scales_volume": False,
        "heat_capacity": None,
        "meaning": "of a user's law",
    }


def _constants(given: object) -> Mapping[str, float]:
    if not isinstance(given, Mapping):
        raise _check.wrong_type("constants", given, "a mapping of names to numbers")
    values = {
        _check.identifier("constants", name): _check.number(f"constants[{name!r}]", v)
        for name, v in given.items()
    }
    if "density" in values:
        raise ValueError("constants: density is an option of its own")
    if len(values) > 64:
        raise ValueError(f"constants: has {len(values)} numbers; must have at most 64")
    return MappingProxyType(values)


def _history(given: object) -> tuple[str | HistoryField, ...]:
    if isinstance(given, (str, HistoryField)) or not isinstance(given, Sequence):
        raise _check.wrong_type("history", given, "a sequence of HistoryField or names")
    names = []
    for part in given:
        if isinstance(part, str):
            _check.choice("history", part, tuple(_KNOWN))
            names.append(part)
        elif isinstance(part, HistoryField):
            names.append(part.name)
        else:
            raise _check.wrong_type("history", part, "a HistoryField or a name")
    if len(set(names)) < len(names):
        raise ValueError(f"history = {', '.join(names)}: must not name any twice")
    return tuple(given)


def _moduli(given: Any) -> str | float:
    if isinstance(given, str):
        return _check.choice("moduli", given, _MODULI)
    return _check.number("moduli", given, low=0, low_open=True, unit="Pa")


def refuse_dimension(material: Material, dimension: int) -> None:
    """Raise ValueError if a law of a user does not answer in this dimension."""
    if isinstance(material, UserLaw) and dimension not in material._supported:
        raise ValueError(f"material = {material._title}: evaluate {material._flaw(dimension)}")
