"""Contact between deformable bodies: rules of pairs, and which bodies share a velocity field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol, TypeAlias

from mpm.base import _check, advice

__all__ = ["BONDED", "Contact", "Pairs", "layers_of", "pair_of", "touches"]

CONTACTS = ("bonded", "separate", "slip")
MOST_NAMED = 8  # pieces, all of whose pairs have names


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Contact:
    """How two deformable bodies act on each other where they touch.

    Parameters
    ----------
    contact : {"bonded", "separate", "slip"}
        ``"bonded"``: both are one piece; they share one velocity field, and material within a cell of the other body
        sticks to it. ``"separate"``: they press on each other and part again. ``"slip"``: they slide along each other,
        and do not part once they touch.
    friction : float, optional, keyword
        Coulomb's coefficient, >= 0, of ``"separate"`` and ``"slip"``. Default 0.
    adhesion : float, optional, keyword
        The traction [Pa], >= 0, that a ``"separate"`` pair holds before it parts. Friction acts on the pressure plus
        this traction. Adhesion acts up to a gap of dx/4. Default 0.

    Raises
    ------
    ValueError
        Unknown contact, negative or non-finite friction or adhesion, friction with ``"bonded"``, adhesion with
        ``"bonded"`` or ``"slip"``.
    """

    contact: str
    friction: float = 0.0
    adhesion: float = 0.0

    def __setstate__(self, state: Sequence[Any]) -> None:
        _check.restore_fields(self, state)

    def __init__(self, contact: str, *, friction: float = 0.0, adhesion: float = 0.0) -> None:
        contact = _check.choice("contact", contact, CONTACTS, advice.CONTACTS_OF_BODIES)
        friction = _check.number("friction", friction, low=0)
        adhesion = _check.number("adhesion", adhesion, low=0, unit="Pa")
        if friction and contact == "bonded":
            raise ValueError(f"friction = {friction:g}: 'bonded' bodies do not slide; must be 0")
        if adhesion and contact != "separate":
            why = "'bonded' bodies never part" if contact == "bonded" else "'slip' bodies do not part anyway"
            raise ValueError(f"adhesion = {adhesion:g}: {why}; must be 0, or 'separate'")
        object.__setattr__(self, "contact", contact)
        object.__setattr__(self, "friction", friction)
        object.__setattr__(self, "adhesion", adhesion)

    def __repr__(self) -> str:
        friction = f", friction={self.friction:g}" if self.friction else ""
        adhesion = f", adhesion={self.adhesion:g}" if self.adhesion else ""
        return f"Contact({self.contact!r}{friction}{adhesion})"


BONDED = Contact("bonded")
Pairs: TypeAlias = Mapping[tuple[str, str], Contact]


def checked(name: str, contact: object) -> Contact:
    """A rule, given as such or by the name of its contact; raises TypeError, ValueError."""
    if isinstance(contact, str):
        return Contact(_check.choice(name, contact, CONTACTS, advice.CONTACTS_OF_BODIES))
    if not isinstance(contact, Contact):
        words = ", ".join(map(repr, CONTACTS))
        raise _check.wrong_type(name, contact, f"an mpm.Contact or one of {words}")
    return contact


class _Touching(Protocol):
    @property
    def _touches(self) -> bool: ...


def refuse_touching(scene: _Touching, method: str, why: str) -> None:
    """Raise ValueError for contacts that a method does not know."""
    if scene._touches:
        raise ValueError(
            f"scene: has contact between bodies, which {method} does not know: {why}; use mpm.Simulation, or leave "
            "contact= and set_contact out"
        )


def refuse_bars(names: Iterable[str]) -> None:
    """Raise ValueError for a name that could be that of a pair, where bodies touch."""
    for name in names:
        if "|" in name:
            raise ValueError(
                f"name = {name!r}: where bodies touch, '|' stands between the names of a pair, as in "
                "sim.force('a|b'); choose another name"
            )


def column_of(name: str, layers: Mapping[str, int]) -> tuple[str, int]:
    """The pair of the history to which ``A|B`` belongs, and its sign there; an empty name: to none."""
    first: dict[int, str] = {}
    for body, layer in layers.items():
        first.setdefault(layer, body)
    for a in layers:
        b = name.removeprefix(f"{a}|")
        if b == name or b not in layers or layers[a] == layers[b]:
            continue
        low, high = sorted((layers[a], layers[b]))
        return f"{first[low]}|{first[high]}", 1 if layers[a] == low else -1
    return "", 0


def named_pairs(layers: Mapping[str, int], pairs: Pairs) -> dict[str, tuple[int, int]]:
    """The pairs of layers by name ``A|B``: all of a few, else those with a contact of their own."""
    first: dict[int, str] = {}
    for body, layer in layers.items():
        first.setdefault(layer, body)
    own = {tuple(sorted((layers[a], layers[b]))) for a, b in pairs}
    every = combinations(first, 2) if len(first) <= MOST_NAMED else sorted(own)
    return {f"{first[i]}|{first[j]}": (i, j) for i, j in every if i != j}


def own_pairs(layers: Mapping[str, int], pairs: Pairs, two: tuple[int, int]) -> list[tuple[str, str]]:
    """The pairs of bodies of two layers that have a contact of their own."""
    return [(a, b) for a, b in pairs if {layers[a], layers[b]} == {*two}]


def why_no_column(
    name: object, layers: Mapping[str, int], rigid: Iterable[str], others: Iterable[str]
) -> str:
    """The reason why the history does not list a pair ``A|B`` of bodies; empty if it is no pair.

    Parameters
    ----------
    name
        ``A|B``.
    layers
        As by `layers_of`.
    rigid, others
        The names of rigid bodies, and of those that came after the scene.
    """
    solid, late = set(rigid), set(others)
    known = [*layers, *solid, *late]
    pairs = [(a, name[len(a) + 1 :]) for a in known if isinstance(name, str) and name.startswith(f"{a}|")]
    for a, b in pairs:
        if b not in known:
            continue
        if a == b:
            return f"; {a!r} does not touch itself"
        for body in (a, b):
            if body in solid:
                return f"; {body!r} is rigid, and its contacts are not those of mpm.Contact: they have no columns"
            if body in late and body not in layers:
                return f"; {body!r} came by Simulation.add: only bodies of the scene have columns"
        if layers[a] == layers[b]:
            return f"; {a!r} and {b!r} are bonded: they are one piece, which has no force on itself"
        return "; in scenes of many bodies only pairs of Scene.set_contact have columns"
    return ""


def pair_of(a: str, b: str, names: Sequence[str]) -> tuple[str, str]:
    """The key of a pair in `Pairs`: both names in the order of `names`."""
    return (a, b) if names.index(a) < names.index(b) else (b, a)


def touches(contact: Contact, pairs: Pairs) -> bool:
    """Whether bodies can touch without being one piece."""
    return any(one.contact != "bonded" for one in (contact, *pairs.values()))


def layers_of(names: Sequence[str], contact: Contact, pairs: Pairs) -> dict[str, int]:
    """The layer of each body: bodies that are bonded, directly or through others, share one.

    Parameters
    ----------
    names : sequence of str
        Of bodies in their order.
    contact : Contact
        Of all pairs without one of their own.
    pairs : mapping of (str, str) to Contact

    Raises
    ------
    ValueError
        Two bodies are bonded through a third one, and have a contact of their own that is not ``"bonded"``.
    """
    rules = {frozenset(pair): one for pair, one in pairs.items()}
    if not touches(contact, pairs):
        return dict.fromkeys(names, 0)
    bonded: dict[str, list[str]] = {name: [] for name in names}
    if contact.contact == "bonded":
        joined = [pair for pair in combinations(names, 2) if frozenset(pair) not in rules]
    else:
        joined = []
    joined += [pair for pair, one in pairs.items() if one.contact == "bonded" and set(pair) <= bonded.keys()]
    for a, b in joined:
        bonded[a].append(b)
        bonded[b].append(a)
    layers: dict[str, int] = {}
    count = 0
    for name in names:
        if name in layers:
            continue
        layers[name], reached = count, [name]
        for one in reached:
            for other in bonded[one]:
                if other not in layers:
                    layers[other] = count
                    reached.append(other)
        count += 1
    for (a, b), own in pairs.items():
        if own.contact != "bonded" and layers.get(a, -1) == layers.get(b, -2):
            third = bonded[b][0]
            raise ValueError(
                f"contact of {a!r} and {b!r} is {own!r}, but {third!r} bonds them: all three are one piece; make the "
                "contacts of these three pairs agree with set_contact, or give the scene another contact"
            )
    return layers
