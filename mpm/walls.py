"""Contact rules of the domain's faces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mpm import _check

CONTACTS = ("sticky", "slip", "separate")
CONTACTS_LATER = ("mirror", "periodic")
FRICTIONAL = ("slip", "separate")


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Wall:
    """How one face of the domain acts on the material that reaches it.

    Parameters
    ----------
    contact : {"sticky", "slip", "separate"}
        ``"sticky"``: v = 0. ``"slip"``: v·n = 0, both ways. ``"separate"``: only motion into the wall is
        removed, so that material may leave it again.
    friction : float, optional, keyword
        Coulomb's coefficient, >= 0, for ``"slip"`` and ``"separate"``: the tangential velocity is reduced by
        at most `friction` times the normal velocity that was removed. Default 0.

    Raises
    ------
    ValueError
        Unknown contact, negative or non-finite friction, friction with ``"sticky"``.
    NotImplementedError
        ``"mirror"`` and ``"periodic"``.
    """

    contact: str
    friction: float = 0.0

    def __init__(self, contact: str, *, friction: float = 0.0) -> None:
        contact = _check.choice("contact", contact, CONTACTS, CONTACTS_LATER)
        friction = _check.number("friction", friction, low=0)
        if friction and contact not in FRICTIONAL:
            raise ValueError(f"friction = {friction:g}: a {contact!r} wall has none; must be 0")
        object.__setattr__(self, "contact", contact)
        object.__setattr__(self, "friction", friction)

    def __repr__(self) -> str:
        friction = f", friction={self.friction:g}" if self.friction else ""
        return f"Wall({self.contact!r}{friction})"


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
        For slip and separate walls that are given by name (or not given).
    dimension : {2, 3}

    Returns
    -------
    dict of str to Wall
        In the order of `faces`.
    """
    coefficient = _check.number("friction", friction, low=0)
    names = faces(dimension)
    given = _spread(walls, dimension) if isinstance(walls, Mapping) else dict.fromkeys(names, walls)
    result: dict[str, Wall] = {}
    used = False
    for face in names:
        wall = given.get(face, "slip")
        label = "walls" if not isinstance(walls, Mapping) else f"walls[{face!r}]"
        if not isinstance(wall, Wall):
            contact = _check.choice(label, wall, CONTACTS, CONTACTS_LATER)
            applies = contact in FRICTIONAL
            wall = Wall(contact, friction=coefficient if applies else 0.0)
            used = used or applies
        result[face] = wall
    if coefficient and not used:
        raise ValueError(
            f"friction = {coefficient:g}: none of the walls given by name slips or separates: not used"
        )
    return result


def _spread(walls: Mapping[Any, Any], dimension: int) -> dict[str, Any]:
    """A mapping by faces and axes as one by faces."""
    names = faces(dimension)
    axes = tuple("xyz"[:dimension])
    result: dict[str, Any] = {}
    for key, wall in walls.items():
        _check.choice("key of walls", key, (*names, *axes))
        for face in (key + "-", key + "+") if key in axes else (key,):
            if face in result:
                raise ValueError(f"walls = {_check.shown(dict(walls))}: face {face!r} is given twice")
            result[face] = wall
    return result
