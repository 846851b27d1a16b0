"""Contact rules of the domain's faces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mpm import _core
from mpm.base import _check, advice
from mpm.materials.solute import checked_concentration

ROWS = {row["name"]: row for row in _core.contacts()}
CONTACTS = tuple(name for name, row in ROWS.items() if row["wall"])
RULES = tuple(name for name, row in ROWS.items() if row["collider"])
FRICTIONAL = tuple(name for name, row in ROWS.items() if row["frictional"])
(REBOUNDING,) = (
    name for name, row in ROWS.items() if row["rebounds"]
)  # the contact that may have a restitution
ABSORBING = next(name for name, row in ROWS.items() if row["absorbs"])
FASTEST = 1e90  # m/s: squares stay finite
FATES = ("raise", "clamp", "delete")  # of particles that leave the domain


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Wall:
    """How one face of the domain acts on the material that reaches it.

    Parameters
    ----------
    contact : {"sticky", "slip", "separate", "mirror", "periodic", "absorbing"}
        ``"sticky"``: v = 0. ``"slip"``: v·n = 0, both ways. ``"separate"``: only motion into the wall is
        removed, so that material may leave it again. ``"mirror"``: a plane of symmetry; material at it moves
        as half of a body of twice the size does, v·n = 0 on the plane and no particle crosses it.
        ``"periodic"``: this face and the one opposite are one; what leaves there comes in here.
        ``"absorbing"``: waves leave through the face, as if the material went on beyond it: dashpots with the traction
        −ρ (c_p v_n, c_s v_t) act on it (Lysmer & Kuhlemeyer 1969), implicit in the node. They take all of a plane wave
        at normal incidence, less at other angles. They bear no load at rest: what presses on the face moves it out
        slowly. Explicit steps of `mpm.Simulation` and `mpm.fem.Simulation`.

        The first three set the velocity of the nodes at and beyond the face, which is of first order in dx where
        material rests against it; mirror and periodic faces are of the order of the kernel.
    friction : float, optional, keyword
        Coulomb's coefficient, >= 0, for ``"slip"`` and ``"separate"``: the tangential velocity is reduced by
        at most `friction` times the normal velocity that was removed. At edges all walls act at once. Default 0.
    restitution : float, optional, keyword
        Newton's coefficient e, 0 to 1, of impacts of `Rigid` bodies on a ``"separate"`` wall: a place of the body's
        surface that strikes the face with the normal velocity v_n < 0 leaves with −e v_n. `friction` then takes at
        most `friction` times the impulse of the impact. With 1 and without friction, an impact keeps the energy.
        Bodies slower than what they gain in four steps of free fall, or in a fall by dx/100, come to rest as with 0,
        the default. Other materials have no use for e, because only their layer at the face would rebound and soon
        meet the rest: elastic bodies rebound by their own elasticity. A scene without rigid bodies raises.
    speeds : (float, float), optional, keyword
        Of the waves that an ``"absorbing"`` wall lets out, pressure and shear, c_p >= c_s >= 0 [m/s]. Default: those of
        the bodies at rest, which must then agree.
    temperature : float, optional, keyword
        Temperature of the face [K], > 0, if bodies conduct heat (`mpm.Thermal`): the material has it on the face, to
        second order in dx. Default None: the face is insulated. The face heats a body within one and a half cells,
        where the body reaches nodes of the face.
    flux : float, optional, keyword
        Flux of heat through the face into the material [W/m²], on the part of the surface within a cell of the face;
        default 0.
    transfer : (float, float), optional, keyword
        Heat transfer coefficient h [W/(m² K)], > 0, and temperature T_∞ of the surroundings [K], > 0: a flux of
        h (T_∞ − T) into the material, on the same part of the surface (Newton's law of cooling). It is implicit in the
        node, so that h may be large.
    friction_heat : float, optional, keyword
        Share of the heat of `friction` that the material gets, 0 to 1, if bodies conduct heat: the work of friction on
        what slides along the face, which ``history["friction_heat"]`` counts. Default 1: the face, insulated, takes
        none. Material that sticks gets none.
    head : float, optional, keyword
        Height of the water table behind the face, against gravity [m], if bodies have pore water (`mpm.Pore`): the pore
        pressure on the face is ρ_w g (head − z), to second order in dx. Default None: the face lets no water pass.
    pore_pressure : float, optional, keyword
        In place of `head`, the pore pressure on a face that gravity, if there is any, is normal to [Pa]; 0 drains.
    concentration : float, optional, keyword
        Concentration of the face [mol/m³], −1e12 to 1e12, if something diffuses in bodies (`mpm.Solute`), as a
        `temperature`. Default None: the face is tight.
    solute_flux : float, optional, keyword
        Flux of the solute through the face into the material [mol/(m² s)], as a `flux`; default 0.
    solute_transfer : (float, float), optional, keyword
        Transfer coefficient h [m/s], > 0, and concentration c_∞ of the surroundings [mol/m³]: a flux of h (c_∞ − c)
        into the material, as a `transfer`.

    Raises
    ------
    ValueError
        Unknown contact, negative or non-finite friction, friction with ``"sticky"``, ``"mirror"``, ``"periodic"`` or
        ``"absorbing"``, restitution outside [0, 1] or with a contact other than ``"separate"``, speeds with one other
        than ``"absorbing"``; a temperature that is not positive; more than one of `temperature`, `flux` and `transfer`,
        one of them with ``"periodic"``, a flux or a transfer with ``"mirror"``, a `friction_heat` outside [0, 1] or for
        a contact without friction, and the same of `concentration`, `solute_flux` and `solute_transfer`; a `head`
        beside a `pore_pressure`, or one of them with ``"periodic"``.

    References
    ----------
    J. Lysmer, R. L. Kuhlemeyer, Finite dynamic model for infinite media, J. Eng. Mech. Div. ASCE 95 (1969) 859-877.
    """

    contact: str
    friction: float = 0.0
    restitution: float = 0.0
    speeds: tuple[float, float] | None = None
    temperature: float | None = None
    flux: float = 0.0
    transfer: tuple[float, float] | None = None
    head: float | None = None
    pore_pressure: float | None = None
    concentration: float | None = None
    solute_flux: float = 0.0
    solute_transfer: tuple[float, float] | None = None
    friction_heat: float = 1.0

    def __setstate__(self, state: Sequence[Any]) -> None:
        _check.restore_fields(self, state)

    def __init__(
        self,
        contact: str,
        *,
        friction: float = 0.0,
        restitution: float = 0.0,
        speeds: Sequence[float] | None = None,
        temperature: float | None = None,
        flux: float = 0.0,
        transfer: Sequence[float] | None = None,
        head: float | None = None,
        pore_pressure: float | None = None,
        concentration: float | None = None,
        solute_flux: float = 0.0,
        solute_transfer: Sequence[float] | None = None,
        friction_heat: float = 1.0,
    ) -> None:
        contact = _check.choice("contact", contact, CONTACTS, advice.CONTACTS)
        friction = _check.number("friction", friction, low=0)
        if friction and contact not in FRICTIONAL:
            raise ValueError(f"friction = {friction:g}: {contact!r} walls have none; must be 0")
        object.__setattr__(self, "contact", contact)
        object.__setattr__(self, "friction", friction)
        object.__setattr__(self, "restitution", checked_restitution(restitution, contact, "wall"))
        object.__setattr__(self, "speeds", checked_speeds(speeds, contact, "wall"))
        object.__setattr__(self, "friction_heat", checked_friction_heat(friction_heat, contact, "wall"))
        found = checked_heat(temperature, flux, transfer)
        found |= checked_solute(concentration, solute_flux, solute_transfer)
        _refuse_supplies(found, contact)
        for name, value in (found | _checked_water(head, pore_pressure, contact)).items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        friction = f", friction={self.friction:g}" if self.friction else ""
        restitution = f", restitution={self.restitution:g}" if self.restitution else ""
        speeds = f", speeds={self.speeds!r}" if self.speeds else ""
        heat = "".join(f", {part}" for part in (*shown_heat(self), *shown_solute(self)))
        given = ((name, getattr(self, name)) for name in WATER)
        water = "".join(f", {name}={value!r}" for name, value in given if value is not None)
        return f"Wall({self.contact!r}{friction}{restitution}{speeds}{heat}{water})"


WATER = ("head", "pore_pressure")  # what a wall may have


def _checked_water(head: object, pore_pressure: object, contact: str) -> dict[str, float | None]:
    """Both, checked: at most one is given; raises TypeError, ValueError."""
    given = {"head": (head, "m"), "pore_pressure": (pore_pressure, "Pa")}
    found = {
        name: None if value is None else _check.number(name, value, low=-FASTEST, high=FASTEST, unit=unit)
        for name, (value, unit) in given.items()
    }
    if head is not None and pore_pressure is not None:
        raise ValueError(
            f"pore_pressure = {found['pore_pressure']:g}: head = {found['head']:g} is given; leave one out"
        )
    for name, value in found.items():
        if value is not None and contact == "periodic":
            raise ValueError(f"{name} = {value:g}: nothing ends at a {contact!r} wall; leave it out")
    return found


def checked_speeds(given: object, contact: str, what: str) -> tuple[float, float] | None:
    """The speeds of waves of a wall or collider (`what`) with a contact; raises TypeError, ValueError."""
    if given is None:
        return None
    if contact != ABSORBING:
        raise ValueError(f"speeds = {_check.shown(given)}: {contact!r} {what}s have none; must be None")
    pressure, shear = _check.array("speeds", given, (2,)).tolist()
    if not 0 <= shear <= pressure <= FASTEST:
        raise ValueError(
            f"speeds = ({pressure:g}, {shear:g}): must be c_p >= c_s >= 0 [m/s], and c_p <= {FASTEST:g}"
        )
    return pressure, shear


HEAT = ("temperature", "flux", "transfer")  # what a surface may have, of heat and of a solute
SOLUTE = ("concentration", "solute_flux", "solute_transfer")
SUPPLIES = (*HEAT, *SOLUTE)
FRICTION_HEAT = "friction_heat"
Supply: TypeAlias = tuple[str, float, float]
"""One of `HEAT`, which the core has for both, its value, and the coefficient of a transfer."""


def is_given(name: str, value: object) -> bool:
    """Whether a surface has one of `SUPPLIES`; a flux of 0 is none."""
    return value is not None and not (name in (HEAT[1], SOLUTE[1]) and value == 0)


def _supply_of(surface: object, names: tuple[str, ...]) -> Supply | None:
    for kind, name in zip(HEAT, names, strict=True):
        if is_given(name, value := getattr(surface, name)):
            return (kind, value[1], value[0]) if kind == "transfer" else (kind, value, 0.0)
    return None


def heat_of(surface: object) -> Supply | None:
    """The heat of a wall or collider: its value [K, W/m², K] and the coefficient of a transfer [W/(m² K)]."""
    return _supply_of(surface, HEAT)


def solute_of(surface: object) -> Supply | None:
    """The solute of a wall or collider: its value [mol/m³, mol/(m² s), mol/m³] and a coefficient [m/s]."""
    return _supply_of(surface, SOLUTE)


def shown_heat(surface: object) -> tuple[str, ...]:
    """What it has, as in its `repr`."""
    share: float = getattr(surface, FRICTION_HEAT)
    return _shown(surface, HEAT) + ((f"{FRICTION_HEAT}={share:g}",) if share != 1 else ())


def shown_solute(surface: object) -> tuple[str, ...]:
    """The same of a solute."""
    return _shown(surface, SOLUTE)


def _shown(surface: object, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name}={value!r}" for name in names if is_given(name, value := getattr(surface, name)))


def checked_heat(temperature: object, flux: object, transfer: object) -> dict[str, Any]:
    """The three, checked: at most one is given; raises TypeError, ValueError."""
    found = {
        "temperature": None if temperature is None else _check.temperature(temperature),
        "flux": _check.number("flux", flux),
        "transfer": None
        if transfer is None
        else _checked_transfer("transfer", transfer, "W/(m² K)", _check.temperature),
    }
    return _refuse_several(found)


def checked_solute(concentration: object, flux: object, transfer: object) -> dict[str, Any]:
    """The same of a solute."""
    found = {
        "concentration": None if concentration is None else checked_concentration(concentration),
        "solute_flux": _check.number("solute_flux", flux),
        "solute_transfer": None
        if transfer is None
        else _checked_transfer("solute_transfer", transfer, "m/s", checked_concentration),
    }
    return _refuse_several(found)


def _refuse_several(found: dict[str, Any]) -> dict[str, Any]:
    given = [name for name, value in found.items() if is_given(name, value)]
    if len(given) > 1:
        *others, last = given
        first, second, third = found
        raise ValueError(
            f"{last} = {_check.shown(found[last])}: a surface has one of {first}, {second} and {third}, and has "
            f"{' and '.join(f'{name} = {_check.shown(found[name])}' for name in others)}"
        )
    return found


def _checked_transfer(
    name: str, given: object, unit: str, check: Callable[[float, str], float]
) -> tuple[float, float]:
    coefficient, ambient = _check.array(name, given, (2,)).tolist()
    if not 0 < coefficient <= FASTEST:
        raise ValueError(
            f"{name} = ({coefficient:g}, {ambient:g}): the coefficient must be > 0 and <= {FASTEST:g} [{unit}]"
        )
    return coefficient, check(ambient, f"{name}[1]")


def _refuse_supplies(found: Mapping[str, Any], contact: str) -> None:
    """Raise ValueError for heat or a solute from a wall with a contact."""
    for name, value in ((name, value) for name, value in found.items() if is_given(name, value)):
        if contact == "periodic":
            raise ValueError(
                f"{name} = {_check.shown(value)}: nothing ends at a {contact!r} wall; leave it out"
            )
        if name not in (HEAT[0], SOLUTE[0]) and contact == "mirror":
            what = "heat" if name in HEAT else "solute"
            raise ValueError(
                f"{name} = {_check.shown(value)}: no {what} comes in through a {contact!r} wall; leave it out"
            )


def checked_friction_heat(share: object, contact: str, what: str) -> float:
    """The share of the heat of friction that a wall or collider (`what`) with a contact leaves to the material; raises
    TypeError, ValueError."""
    found = _check.number(FRICTION_HEAT, share, low=0, high=1)
    if found != 1 and contact not in FRICTIONAL:
        raise ValueError(f"{FRICTION_HEAT} = {found:g}: {contact!r} {what}s have no friction; leave it out")
    return found


def checked_restitution(restitution: object, contact: str, what: str) -> float:
    """The restitution of a wall or collider (`what`) with a contact; raises TypeError, ValueError."""
    found = _check.number("restitution", restitution, low=0, high=1)
    if found and contact != REBOUNDING:
        raise ValueError(f"restitution = {found:g}: {contact!r} {what}s have none; must be 0, or 'separate'")
    return found


SMOOTH = Wall("slip")  # of a face that is not named


def faces(dimension: int) -> tuple[str, ...]:
    """The names of the faces in the order of the core: ``x-``, ``x+``, ``y-``, …"""
    return tuple(f"{axis}{side}" for axis in "xyz"[:dimension] for side in "-+")


def resolve(walls: object, friction: object, dimension: int) -> dict[str, Wall]:
    """The wall of every face from what `Scene` was given.

    Parameters
    ----------
    walls : str, Wall or mapping
        One for all faces, or a mapping whose keys are faces (``"x-"``) or axes (``"x"``); faces not named
        slip.
    friction : float
        For slip and separate walls that are given by name; faces not named have none.
    dimension : {2, 3}

    Returns
    -------
    dict of str to Wall
        In the order of `faces`.

    Raises
    ------
    TypeError, ValueError
        A wrong face, contact or friction; one face of an axis is periodic, the other is not.
    """
    coefficient = _check.number("friction", friction, low=0)
    names = faces(dimension)
    given = _spread(walls, dimension) if isinstance(walls, Mapping) else dict.fromkeys(names, walls)
    result: dict[str, Wall] = {}
    used = False
    for face in names:
        wall = given.get(face, SMOOTH)
        label = "walls" if not isinstance(walls, Mapping) else f"walls[{face!r}]"
        if not isinstance(wall, Wall):
            contact = _check.choice(label, wall, CONTACTS, advice.CONTACTS)
            applies = contact in FRICTIONAL
            wall = Wall(contact, friction=coefficient if applies else 0.0)
            used = used or applies
        result[face] = wall
    _check_pairs(result, names)
    if coefficient and not used:
        raise ValueError(
            f"friction = {coefficient:g}: none of the walls given by name slips or separates: not used"
        )
    return result


def is_periodic(walls: Mapping[str, Wall], axis: str) -> bool:
    """Whether both faces of the axis (``"x"``, …) are one."""
    return walls[f"{axis}-"].contact == "periodic"


def _check_pairs(walls: Mapping[str, Wall], names: tuple[str, ...]) -> None:
    for low, high in zip(names[::2], names[1::2], strict=True):
        contacts = [walls[face].contact for face in (low, high)]
        if contacts.count("periodic") == 1:
            raise ValueError(
                f"walls: {low!r} is {contacts[0]}, {high!r} is {contacts[1]}; "
                "must be periodic both or neither: the two faces are one"
            )


def refuse_few_cells(walls: Mapping[str, Wall], cells: tuple[int, ...], dx: float) -> None:
    """Raise ValueError where a periodic axis has too few cells."""
    for axis, count in zip("xyz", cells, strict=False):
        if is_periodic(walls, axis) and count < _core.FEWEST_PERIODIC_CELLS:
            raise ValueError(
                f"dx = {dx:g}: {count} cells along {axis}, which is periodic; must be >= {_core.FEWEST_PERIODIC_CELLS}"
            )


def leaving(on_leave: object, dimension: int) -> str | dict[str, str]:
    """The fate of particles that leave, checked: one word if all faces have it, else that of every face.

    Parameters
    ----------
    on_leave : str or mapping
        One of `FATES`, or a mapping whose keys are faces or axes as in `resolve`; others raise.
    dimension : {2, 3}

    Raises
    ------
    TypeError, ValueError
        A wrong face or fate, or an empty mapping.
    """
    if not isinstance(on_leave, Mapping):
        return _check.choice("on_leave", on_leave, FATES)
    if not on_leave:
        raise ValueError("on_leave = {}: names no face")
    given = _spread(on_leave, dimension, "on_leave")
    names = faces(dimension)
    fates = {face: _check.choice(f"on_leave[{face!r}]", given.get(face, FATES[0]), FATES) for face in names}
    return fates if len(set(fates.values())) > 1 else fates[names[0]]


def fates(on_leave: str | Mapping[str, str], dimension: int) -> tuple[str, ...]:
    """The fate at every face, in the order of `faces`, of what `leaving` returned."""
    names = faces(dimension)
    return (on_leave,) * len(names) if isinstance(on_leave, str) else tuple(on_leave[face] for face in names)


def refuse_periodic_fates(walls: Mapping[str, Wall], on_leave: str | Mapping[str, str]) -> None:
    """Raise ValueError for a fate of particles that leave through a periodic face, where none leaves."""
    for face, fate in {} if isinstance(on_leave, str) else on_leave.items():
        if fate != FATES[0] and walls[face].contact == "periodic":
            raise ValueError(
                f"on_leave[{face!r}] = {fate!r}: the face is periodic, so that nothing leaves there; leave it out"
            )


def _spread(walls: Mapping[Any, Any], dimension: int, of: str = "walls") -> dict[str, Any]:
    """A mapping by faces and axes as one by faces; `of` is the argument that errors name."""
    names = faces(dimension)
    axes = tuple("xyz"[:dimension])
    words = {**advice.FACES} | {word: axes[-1] + side for word, side in advice.UP_AND_DOWN.items()}
    result: dict[str, Any] = {}
    for key, wall in walls.items():
        _check.choice(f"key of {of}", key, (*names, *axes), words=words)
        for face in (key + "-", key + "+") if key in axes else (key,):
            if face in result:
                raise ValueError(f"{of} = {_check.shown(dict(walls))}: face {face!r} is given twice")
            result[face] = wall
    return result
