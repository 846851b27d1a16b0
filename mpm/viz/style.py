"""The words for colours: what pictures show of a state, and in which colours.

`Style.checked` takes ``color``, ``cmap``, ``limits``, ``background`` and ``hide`` as every picture has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mpm.base import _check, advice
from mpm.solver.source import Source
from mpm.solver.state import State
from mpm.viz import color as _color

Rgb: TypeAlias = tuple[int, int, int]
Table: TypeAlias = npt.NDArray[np.uint8]

WATER, SAND, CLAY, EARTH, MUD = (
    (38, 116, 204),
    (222, 186, 124),
    (168, 110, 78),
    (146, 112, 82),
    (128, 104, 84),
)
STEEL = (164, 172, 184)
OWN: Mapping[str, Rgb] = {
    "Snow": (242, 246, 252),
    "Fluid": WATER,
    "HerschelBulkley": MUD,
    "Sand": SAND,
    "DruckerPrager": SAND,
    "MuI": SAND,
    "MohrCoulomb": EARTH,
    "CamClay": CLAY,
    "NACC": CLAY,
    "VonMises": STEEL,
    "JohnsonCook": STEEL,
}
"""Colours of materials by the names of their classes."""
GLOSS: Mapping[str, float] = {
    "Fluid": 1.0,
    "HerschelBulkley": 0.4,
    "VonMises": 0.5,
    "JohnsonCook": 0.5,
    "Rigid": 0.2,
} | dict.fromkeys(("Snow", "Sand", "DruckerPrager", "MuI", "MohrCoulomb", "CamClay", "NACC"), 0.0)
"""How much materials reflect in pictures of space where they have colours of their own, 0 to 1."""
GRANULAR = ("Sand", "DruckerPrager", "MuI")
TINTS = np.linspace(
    0.88, 1.09, 8
)  # brightness of grains, so that particles of a granular material look like some
SMOOTH = 0.4  # the same of others: jelly, rubber
PALETTE: Sequence[Rgb] = (
    (237, 85, 59),
    (32, 148, 139),
    (242, 177, 52),
    (124, 92, 190),
    (226, 108, 150),
    (92, 168, 84),
    (70, 130, 200),
    (201, 122, 60),
)
"""Colours of other bodies, in turn."""
EXAMPLE = '"white", "#2b6cb0" or (0.2, 0.4, 0.7)'
MOST = 256  # colours of a picture
PALE, DUSK = (
    0.9,
    (132, 152, 182),
)  # brightness from which a colour is lost on white, and what is behind it then


@dataclass(frozen=True, slots=True)
class Style:
    """What a picture shows, and in which colours.

    Attributes
    ----------
    quantity : str or None
        Its values have the colours of `table`, from the one end of a scale to the other; None: colours by body.
    limits : (float, float) or None
        The ends of the scale, where they are given.
    table : ndarray, uint8 of shape (256, 3)
        Of a quantity the colours from low to high; else those that `shown` counts.
    background : (int, int, int) or None
        One colour behind everything; None: a gradient.
    """

    quantity: str | None
    limits: tuple[float, float] | None
    table: Table
    background: Rgb | None
    _of_material: npt.NDArray[np.uint8] = field(repr=False)  # colour by number of the material
    _in_turn: tuple[int, ...] = field(repr=False)  # materials whose bodies have colours in turn
    _of_bodies: tuple[tuple[int, int, int, bool], ...] = field(repr=False)
    """First id, number of ids, colour, and whether the colour is that of its turn alone."""
    _hidden: tuple[tuple[int, int], ...] = field(
        repr=False
    )  # bodies that are not drawn: first id, number of ids
    _hidden_kinds: tuple[int, ...] = field(repr=False)  # materials that are not drawn
    hidden_colliders: tuple[str, ...]
    _gloss: npt.NDArray[np.float32] = field(repr=False)  # by colour
    _grains: Mapping[int, int] = field(repr=False)  # of colours with tints, the first of these

    @classmethod
    def checked(
        cls,
        source: Source,
        *,
        color: object = None,
        cmap: object = None,
        limits: object = None,
        background: object = None,
        hide: object = (),
        **others: object,
    ) -> Style:
        """The style that words ask for; see `Simulation.plot`. It leaves out the other options of pictures."""
        ends = _color.check_limits(limits)
        if color is None and (ends is not None or cmap is not None):
            color = "speed"
        kinds, bodies = source._kinds(), source._bodies()
        quantity, single, given = _asked(source, color, kinds, bodies)
        for name, value in (("limits", ends), ("cmap", cmap)):
            if value is not None and quantity is None:
                raise ValueError(
                    f"{name} = {_check.shown(value)}: must be None, unless color is a quantity such as 'speed'"
                )
        inks: list[Rgb] = []
        gloss = np.zeros(MOST, dtype=np.float32)

        def number(ink: Rgb, kind: str) -> int:
            if ink not in inks:
                inks.append(ink)
                gloss[min(len(inks), MOST) - 1] = GLOSS.get(kind, SMOOTH)
            return min(inks.index(ink), MOST - 1)

        of_material, in_turn, of_bodies, granular = [], [], [], list[int]()
        for place in range(max(len(kinds), 1)):
            kind = kinds[place] if place < len(kinds) else ""
            own = single or given.get(kind) or OWN.get(kind)
            of_material.append(number(own or PALETTE[place % len(PALETTE)], kind))
            if own is None:
                in_turn.append(place)
            if kind in GRANULAR and own == OWN[kind]:
                granular.append(of_material[-1])
        for place, (name, (first, count)) in enumerate(bodies.items()):
            if name in given:
                of_bodies.append(
                    (first, count, number(given[name], kinds[0] if len(kinds) == 1 else ""), False)
                )
            elif in_turn:
                of_bodies.append((first, count, number(PALETTE[place % len(PALETTE)], ""), True))
        grains = {}
        for ink in dict.fromkeys(granular):
            if len(inks) + len(TINTS) <= MOST:
                grains[ink] = len(inks)
                inks += [_tinted(inks[ink], tint) for tint in TINTS]
        if len(inks) > MOST:
            raise ValueError(f"color: has {len(inks)} colours; must have at most {MOST}")
        table = check_cmap(cmap) if quantity is not None else _padded(inks)
        hidden, hidden_kinds, colliders = _hidden(source, hide, kinds, bodies)
        return cls(
            quantity,
            ends,
            table,
            None if background is None else rgb("background", background),
            np.array(of_material, dtype=np.uint8),
            tuple(in_turn),
            tuple(of_bodies),
            hidden,
            hidden_kinds,
            colliders,
            gloss,
            grains,
        )

    @property
    def fields(self) -> tuple[str, ...]:
        """What `shown` and `seen` need of a state, beside positions and volumes."""
        inks = self.quantity is None
        ids = self._hidden or (inks and (self._of_bodies or self._grains))
        labels = bool(ids), bool(self._hidden_kinds) or inks
        needed = (self.quantity, "id" if labels[0] else None, "material" if labels[1] else None)
        return tuple(dict.fromkeys(name for name in needed if name is not None))

    @property
    def plane(self) -> Rgb:
        """What the domain of a 2-D scene is filled with: white, or darker where the material is as pale as snow."""
        if self.background is not None:
            return self.background
        inks = {*self._of_material.tolist(), *(ink for _, _, ink, in_turn in self._of_bodies if not in_turn)}
        pale = any(brightness(tuple(self.table[ink].tolist())) > PALE for ink in inks)
        return DUSK if self.quantity is None and pale else (255, 255, 255)

    @property
    def plain(self) -> bool:
        """Whether nothing of the material is hidden."""
        return not (self._hidden or self._hidden_kinds)

    def shown(self, state: State, *, grains: bool = True) -> npt.NDArray[Any]:
        """What the colours mean, (n,): values of the quantity, or rows of the table, uint8; with tints of grains."""
        if self.quantity is not None:
            return _color.values(state, self.quantity)
        material = np.clip(np.asarray(state.fields["material"]), 0, len(self._of_material) - 1)
        inks = self._of_material[material.astype(np.intp)]
        turns = np.isin(material, self._in_turn)
        for first, count, ink, in_turn in self._of_bodies:
            rows = _rows(state, first, count)
            inks[rows] = np.where(turns[rows], ink, inks[rows]) if in_turn else ink
        for ink, first in self._grains.items() if grains else ():
            rows = inks == ink
            inks[rows] = first + _mixed(np.asarray(state.fields["id"])[rows]) % np.uint32(len(TINTS))
        return np.asarray(inks)

    def seen(self, state: State) -> npt.NDArray[np.bool_]:
        """Which particles are not hidden, (n,)."""
        there = np.ones(state.count, dtype=bool)
        if self._hidden_kinds:
            there &= ~np.isin(state.fields["material"], self._hidden_kinds)
        for first, count in self._hidden:
            there[_rows(state, first, count)] = False
        return there

    def gloss(self, levels: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.float32] | None:
        """How much what is shown at pixels reflects, by rows of the table, -1 for nothing; None: nothing reflects.
        The colours of a quantity are those of the colour bar, without reflections."""
        if self.quantity is not None or not self._gloss.any():
            return None
        return np.where(levels >= 0, self._gloss[levels], np.float32(0))

    def levels(self, shown: npt.NDArray[Any], limits: tuple[float, float]) -> npt.NDArray[np.uint8]:
        """Rows of the table."""
        if self.quantity is None:
            return np.ascontiguousarray(shown, dtype=np.uint8)
        return _color.index(shown, limits)


def _tinted(ink: Rgb, tint: float) -> Rgb:
    red, green, blue = (min(255, round(tint * part)) for part in ink)
    return red, green, blue


def _mixed(ids: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """A random number for each id, always the same one: the end of MurmurHash3 (Appleby 2011)."""
    mixed = ids.astype(np.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        mixed = (mixed ^ (mixed >> np.uint32(shift))) * np.uint32(factor)
    return np.asarray(mixed ^ (mixed >> np.uint32(16)))


def _rows(state: State, first: int, count: int) -> slice:
    """Of the particles with these ids, which ascend."""
    low, high = np.searchsorted(state.fields["id"], (first, first + count))
    return slice(int(low), int(high))


def _asked(
    source: Source, color: object, kinds: Sequence[str], bodies: Mapping[str, Any]
) -> tuple[str | None, Rgb | None, dict[str, Rgb]]:
    """A quantity, one colour for all, and colours by name."""
    if color is None:
        return None, None, {}
    if isinstance(color, Mapping):
        names = tuple(dict.fromkeys((*bodies, *kinds)))
        return (
            None,
            None,
            {
                _check.choice("key of color", name, names): rgb(f"color[{name!r}]", ink)
                for name, ink in color.items()
            },
        )
    if (
        isinstance(color, str)
        and color not in _color.scalars(source)
        and (ink := _named(color, "color")) is not None
    ):
        return None, ink, {}
    if isinstance(color, (tuple, list, np.ndarray)):
        return None, rgb("color", color), {}
    return _color.check(source, color), None, {}


def _hidden(
    source: Source, hide: object, kinds: Sequence[str], bodies: Mapping[str, tuple[int, int]]
) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...], tuple[str, ...]]:
    """Bodies, materials and colliders that are not drawn."""
    names = (hide,) if isinstance(hide, str) else hide
    if not isinstance(names, (tuple, list, set, frozenset)):
        raise _check.wrong_type(
            "hide", hide, "a name or a sequence of names of bodies, materials or colliders"
        )
    colliders = tuple(placed.collider.name for placed in source._posed())
    known = tuple(dict.fromkeys((*bodies, *kinds, *colliders)))
    chosen = {_check.choice("hide", name, known) for name in names}
    return (
        tuple(bodies[name] for name in bodies if name in chosen),
        tuple(k for k, kind in enumerate(kinds) if kind in chosen),
        tuple(name for name in colliders if name in chosen),
    )


def _named(name: str, argument: str) -> Rgb | None:
    """The colour of a name of CSS, or of ``#rrggbb``; a transparent one is refused."""
    _check.extra("PIL", "drawing needs Pillow", "movie", "pillow")
    from PIL import ImageColor

    try:
        found = ImageColor.getrgb(name)
    except ValueError:
        return None
    if found[3:] not in ((), (255,)):
        raise ValueError(f"{argument} = {name!r}: must be opaque, such as {EXAMPLE}")
    return (found[0], found[1], found[2])


def rgb(name: str, value: object) -> Rgb:
    """A colour: red, green and blue from 0 to 255."""
    wrong = f"{name} = {_check.shown(value)}: must be a colour such as {EXAMPLE}"
    if isinstance(value, str):
        if (found := _named(value, name)) is None:
            raise ValueError(wrong)
        return found
    if not isinstance(value, (tuple, list, np.ndarray)):
        raise _check.wrong_type(name, value, f"a colour such as {EXAMPLE}")
    numbers = _check.array(name, value, (3,))
    if not ((numbers >= 0) & (numbers <= 1)).all():
        raise ValueError(f"{name} = {_check.shown(value)}: must be >= 0 and <= 1: red, green and blue")
    red, green, blue = np.rint(255 * numbers).astype(int).tolist()
    return red, green, blue


def check_cmap(cmap: object) -> Table:
    """256 colours from low to high, uint8 (256, 3): of a name of Matplotlib, a Colormap of it, or colours (k, 3)."""
    if cmap is None or (isinstance(cmap, str) and cmap == "mpm"):
        return _color.TABLE
    at = np.linspace(0, 1, 256)
    if isinstance(cmap, str):
        _check.extra("matplotlib", "cmap needs Matplotlib", "plot")
        import matplotlib

        names = ("mpm", *matplotlib.colormaps)
        if cmap not in names:
            shown = "'mpm', 'viridis', 'magma', 'coolwarm', 'gray' or another name of Matplotlib"
            raise ValueError(
                f"cmap = {_check.shown(cmap)}: must be one of {shown}{advice.nearest(cmap, names)}"
            )
        return _sampled(matplotlib.colormaps[cmap](at))
    if callable(cmap):
        return _sampled(np.asarray(cmap(at)))
    if not isinstance(cmap, (tuple, list, np.ndarray)):
        raise _check.wrong_type("cmap", cmap, "a name, a Colormap of Matplotlib or colours")
    if all(isinstance(ink, str) for ink in cmap):
        cmap = [[part / 255 for part in rgb("cmap", ink)] for ink in cmap]
    stops = _check.array("cmap", cmap, (None, 3))
    if len(stops) < 2 or not ((stops >= 0) & (stops <= 1)).all():
        raise ValueError("cmap: must be at least two colours with red, green and blue >= 0 and <= 1")
    places = np.linspace(0, 1, len(stops))
    return _sampled(np.stack([np.interp(at, places, stops[:, k]) for k in range(3)], axis=1))


def _sampled(colors: npt.NDArray[Any]) -> Table:
    if colors.ndim != 2 or colors.shape[0] != 256 or colors.shape[1] < 3:
        raise ValueError("cmap: must give red, green, blue for each of 256 numbers from 0 to 1")
    return np.ascontiguousarray(np.rint(255 * np.clip(colors[:, :3], 0, 1)).astype(np.uint8))


def _padded(inks: Sequence[Rgb]) -> Table:
    table = np.zeros((MOST, 3), dtype=np.uint8)
    table[: len(inks)] = inks[:MOST]
    return table


def brightness(ink: Rgb) -> float:
    """Of a colour, 0 to 1."""
    return (0.299 * ink[0] + 0.587 * ink[1] + 0.114 * ink[2]) / 255
