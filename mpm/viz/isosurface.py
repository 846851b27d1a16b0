"""Surfaces of bodies: triangles around the particles, for pictures and files. Needs the extra ``surface``.

A lattice takes the volumes of the particles by quadratic B-splines. Its values are the share of space that material
fills, so that the surface lies where the smoothed share has one value; that value is found so that the surface encloses
the volume of the particles. Marching cubes (Lorensen and Cline 1987) of `pysplashsurf` make triangles of it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check, paths
from mpm.base._check import FloatArray
from mpm.io.formats import MESHES
from mpm.scene.scene import Scene
from mpm.solver.derived import VOLUME_SCALES, volume_scales
from mpm.solver.solids import Solid
from mpm.solver.source import Source
from mpm.solver.state import State, surface
from mpm.viz import color as _color
from mpm.viz import contours, solids

RADIUS = 1.05  # of a particle's reach over the distance of particles
REACH = 1.5  # cells: half the support of a quadratic B-spline
SMOOTHING = 3
MOST_SMOOTHING = 50
MOST_NODES = 200_000_000
LEAST, MOST = 0.15, 0.85  # shares of filled space between which the value of the surface lies
CLOSE = 1e-3  # of the volume
PROMISED = 0.02  # of the volume: a surface that misses it by more has a warning
LATTICE = 96  # cells along the longest side of the domain, for colliders
ROUNDS = 8
FAR = 10  # times as far from the middle as all others: one particle makes the lattice too large
RIGHT_AT_REST = (
    "Fluid",
    "HerschelBulkley",
    "Rigid",
)  # fluids: sums and steps change their J more than their volume
PARTS = {
    name.replace("_", ""): fields for name, fields in VOLUME_SCALES.items()
}  # factors of the volume ratio beside J, by the name of the law's class in lower case

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, slots=True)
class Surface:
    """A closed surface of triangles.

    Attributes
    ----------
    vertices : ndarray, shape (n, 3)
        [m].
    triangles : ndarray of int, shape (m, 3)
        Rows of their corners, counter-clockwise from outside.
    values : ndarray, shape (n,), or None
        Of the quantity at the vertices.
    name : str
        Of the quantity; empty without one.
    """

    vertices: FloatArray
    triangles: Ints
    values: FloatArray | None = None
    name: str = ""

    @property
    def volume(self) -> float:
        """What it encloses [m³]."""
        return volume(self.vertices, self.triangles)

    @property
    def area(self) -> float:
        """[m²]."""
        a, b, c = (self.vertices[self.triangles[:, k]] for k in range(3))
        return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)

    @property
    def watertight(self) -> bool:
        """Whether every edge has two triangles, which agree about the side that is out."""
        edges = np.concatenate([self.triangles[:, [k, (k + 1) % 3]] for k in range(3)]).astype(np.int64)
        count = len(self.vertices)
        there, back = np.sort(edges[:, 0] * count + edges[:, 1]), np.sort(edges[:, 1] * count + edges[:, 0])
        return bool(np.array_equal(there, back) and (np.diff(there) > 0).all())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a file: ``.obj``, ``.stl``, ``.ply`` or ``.vtp``; the latter two hold the values, too.

        Parameters
        ----------
        path : str or path
            Its directory is made; what is there is replaced once the file is whole.

        Returns
        -------
        Path
            The file.
        """
        file = paths.check_suffix("path", path, tuple(MESHES))
        file.parent.mkdir(parents=True, exist_ok=True)
        with paths.created(file) as stream:
            MESHES[file.suffix.lower()](stream, self._state(0.0, 0))
        return file

    def _state(self, time: float, step: int) -> State:
        """As files have it."""
        fields = {"x": self.vertices} | ({self.name: self.values} if self.values is not None else {})
        return State(time, step, 3, fields, {}, self.triangles)

    def __repr__(self) -> str:
        values = f", {self.name}" if self.name else ""
        return f"<Surface: {len(self.triangles)} triangles, {self.volume:.6g} m³{values}>"


def find(
    sim: Source,
    *,
    body: str | Sequence[str] | None = None,
    radius: float | None = None,
    smoothing: int = SMOOTHING,
    values: str | None = None,
) -> Surface:
    """The surface of bodies; see `Simulation.surface`."""
    chosen = _bodies(sim, body)
    reach = None if radius is None else _radius("radius", radius, sim.scene)
    passes = _check.integer("smoothing", smoothing, low=0, high=MOST_SMOOTHING)
    quantity = None if values is None else _color.check(sim, values, "values")
    if sim.dimension != 3:
        raise ValueError("sim is 2-D: must be 3-D to have a surface of triangles")
    fields = (*fields_of(sim), "id", *((quantity,) if quantity else ()))
    state = sim._state(tuple(dict.fromkeys(fields)))
    there = _rows(state, chosen)
    shown = None if quantity is None else np.asarray(_color.values(state, quantity), dtype=np.float64)
    if (cells := sim._cells()) is not None:
        return _of_elements(state, cells[there[cells].all(axis=1)], shown, quantity or "")
    hard = []
    for solid in sim._solids():
        rows = solid.rows(state.fields["id"])
        if there[rows].all() and rows.start < rows.stop:
            hard.append(of_solid(solid, state, shown, quantity or ""))
            there[rows] = False
    there &= np.isfinite(state.fields["x"]).all(axis=1)
    if hard and not there.any():
        return joined(hard)
    x = np.asarray(state.fields["x"], dtype=np.float64)[there]
    filled = volumes(state, sim._kinds())[there]
    found = around(x, filled, reach, passes, None if shown is None else shown[there], quantity or "")
    if text := missed(found, filled):
        warnings.warn(text, RuntimeWarning, stacklevel=_check.levels_to_caller())
    return joined([found, *hard])


def of_solid(
    solid: Solid, state: State | None = None, shown: FloatArray | None = None, name: str = ""
) -> Surface:
    """The surface of the shape of a rigid body, with a quantity of all particles of a state (n,) if there is one;
    without a state in the rest frame."""
    skin = solids.skin_of(solid, contours.COARSE)
    if not len(skin.corners):
        return Surface(
            np.empty((0, 3)), np.empty((0, 3), dtype=np.int32), None if shown is None else np.empty(0), name
        )
    vertices, corner = np.unique(skin.corners, axis=0, return_inverse=True)
    triangles = corner.reshape(-1, 3).astype(np.int32)
    a, b, c = triangles.T
    triangles = np.ascontiguousarray(triangles[(a != b) & (b != c) & (c != a)])
    if state is None:
        return Surface(vertices, triangles)
    values = None
    if shown is not None:
        rows = solid.rows(state.fields["id"])
        rest = solid.at_rest(np.asarray(state.fields["x"][rows], dtype=np.float64))
        values = shown[rows][solids.nearest(solid, rest, vertices)]
    return Surface(solid.placed(vertices), triangles, values, name)


def joined(parts: Sequence[Surface]) -> Surface:
    """Several surfaces as one."""
    if len(parts) == 1:
        return parts[0]
    before = np.cumsum([0, *(len(part.vertices) for part in parts)])
    corners = [part.triangles + first for part, first in zip(parts, before, strict=False)]
    values = [part.values for part in parts if part.values is not None]
    return Surface(
        np.concatenate([part.vertices for part in parts]),
        np.ascontiguousarray(np.concatenate(corners), dtype=np.int32),
        np.concatenate(values) if values else None,
        parts[0].name,
    )


def missed(found: Surface, filled: FloatArray) -> str:
    """The warning of a surface around particles that does not enclose their volumes [m³]; empty if it does."""
    wanted = float(filled.sum())
    miss = found.volume / wanted - 1 if wanted > 0 else 0.0
    if abs(miss) <= PROMISED:
        return ""
    return (
        f"the surface encloses {miss:+.0%} of volume against the {len(filled)} particles: bodies are too small for the "
        "filter, or particles are scattered; a smaller `radius` or `smoothing` encloses more"
    )


def fields_of(sim: Source) -> tuple[str, ...]:
    """What `volumes` needs of a state."""
    if "density" in sim.quantities:
        return ("volume", "mass", "material", "density")
    there = sim.particles.fields
    ratio = next((name for name in ("J", "F") if name in there), None)
    parts = volume_scales(there)
    return ("volume", "mass", "material", *((ratio, *parts) if ratio else ()))


def _bodies(sim: Source, body: object) -> list[tuple[int, int]] | None:
    """Ids of the bodies: the first one and how many; None: all."""
    if body is None:
        return None
    bodies = sim._bodies()
    names = (body,) if isinstance(body, str) else body
    if not isinstance(names, (tuple, list)) or not names:
        raise _check.wrong_type("body", body, "a name of a body or a sequence of them")
    return [bodies[_check.choice("body", name, tuple(bodies))] for name in names]


def _rows(state: State, chosen: list[tuple[int, int]] | None) -> npt.NDArray[np.bool_]:
    there = np.full(state.count, chosen is None)
    for first, count in chosen or ():
        low, high = np.searchsorted(state.fields["id"], (first, first + count))
        there[low:high] = True
    return there


def volumes(state: State, kinds: Sequence[str]) -> FloatArray:
    """Of the particles now [m³], in 2-D [m²]; of fluids at rest. Warns of others whose volume was not recorded."""
    rest = np.asarray(state.fields["volume"], dtype=np.float64)
    material = np.asarray(state.fields["material"])
    kept = np.isin(material, [k for k, kind in enumerate(kinds) if kind in RIGHT_AT_REST])
    if kept.all():
        return rest
    if "density" in state.fields:
        now = state.fields["mass"] / np.asarray(state.fields["density"], dtype=np.float64)
    else:
        now = rest * _ratio(state)
        known = {*state.fields, *(("Fzz",) if state.dimension == 3 else ())}
        partly = [k for k, kind in enumerate(kinds) if PARTS.get(kind.lower(), set()) - known]
        now[np.isin(material, partly)] = np.nan
        if np.isnan(now[~kept]).any():
            warnings.warn(
                "the recording lacks present volumes of particles, so that volumes at rest replace them; "
                'record "density", or "J" with the history of the materials',
                RuntimeWarning,
                stacklevel=_check.levels_to_caller(),
            )
    return np.where(kept | ~(now > 0), rest, now)


def _ratio(state: State) -> FloatArray:
    """Present over rest volume (n,), as far as there are fields of it; NaN without any."""
    fields = state.fields
    if "J" in fields:
        ratio = np.array(fields["J"], dtype=np.float64)
    elif "F" in fields:
        ratio = np.linalg.det(np.asarray(fields["F"], dtype=np.float64))
    else:
        return np.full(state.count, np.nan)
    for name in volume_scales(fields):
        ratio *= fields[name]
    return ratio


def _of_elements(state: State, cells: npt.NDArray[Any], shown: FloatArray | None, name: str) -> Surface:
    """The faces of tetrahedra that no other one has."""
    faces = surface(cells)
    used, corners = np.unique(faces, return_inverse=True)
    x = np.asarray(state.fields["x"], dtype=np.float64)[used]
    triangles = np.ascontiguousarray(corners.reshape(faces.shape), dtype=np.int32)
    return Surface(x, triangles, None if shown is None else shown[used], name)


def around(
    x: FloatArray,
    filled: FloatArray,
    radius: float | None = None,
    smoothing: int = SMOOTHING,
    shown: FloatArray | None = None,
    name: str = "",
) -> Surface:
    """The surface around particles.

    Parameters
    ----------
    x, filled : ndarray, shapes (n, 3), (n,)
        Positions [m] and volumes [m³].
    radius : float, optional
        How far a particle reaches [m], 1.5 cells of the lattice. Default: 1.05 times the distance of particles.
    smoothing : int
        Passes of a filter that spreads the volumes over neighbouring nodes, each with the variance of half a cell.
    shown : ndarray, shape (n,), optional
        A quantity, which the surface has at its vertices by the weights of the lattice.
    name : str
        Of the quantity.

    Returns
    -------
    Surface
    """
    library = _check.extra("pysplashsurf", "surfaces of particles need pysplashsurf", "surface")
    if not len(x):
        none = None if shown is None else np.empty(0)
        return Surface(np.empty((0, 3)), np.empty((0, 3), np.int32), none, name)
    cell = (RADIUS * float(np.median(filled)) ** (1 / 3) if radius is None else radius) / REACH
    margin = 3 + smoothing
    low = x.min(axis=0) - margin * cell
    spans = np.ceil((x.max(axis=0) - x.min(axis=0)) / cell) + 2 * margin + 1
    if float(np.prod(spans)) > MOST_NODES:
        _refuse_far(x)
        raise ValueError(
            f"radius = {REACH * cell:.3g}: makes a lattice of {np.prod(spans):.2g} nodes; must be so large that it has "
            f"at most {MOST_NODES:.0e}, or the surface one of fewer bodies"
        )
    shape = spans.astype(int)
    share = _smoothed(_lattice(x, filled / cell**3, low, cell, shape), smoothing)
    vertices, triangles = _enclosing(library, share, float(filled.sum()), cell)
    values = None
    if shown is not None:
        known = np.isfinite(shown)
        weight = filled * known / cell**3
        sums = _smoothed(_lattice(x, weight * np.where(known, shown, 0), low, cell, shape), smoothing)
        weights = share if known.all() else _smoothed(_lattice(x, weight, low, cell, shape), smoothing)
        values = _between(sums, vertices / cell) / np.maximum(_between(weights, vertices / cell), 1e-300)
    return Surface(vertices + low, triangles, values, name)


def _refuse_far(x: FloatArray) -> None:
    """Raise if one particle is far from all others."""
    distance = np.abs(x - np.median(x, axis=0)).max(axis=1)
    *_, second, far = np.sort(distance) if len(x) > 2 else (np.inf, np.inf)
    if far > FAR * second:
        at = ", ".join(f"{value:.3g}" for value in x[int(distance.argmax())])
        raise ValueError(
            f"x: a particle at ({at}) is {far / second:.2g} times as far out as any other; must be near the others, or "
            "in another body than that of the surface"
        )


def _lattice(
    x: FloatArray, weight: FloatArray, low: FloatArray, cell: float, shape: npt.NDArray[np.int_]
) -> FloatArray:
    """Sums of weights at nodes, each spread by a quadratic B-spline."""
    place = (x - low) / cell
    base = np.rint(place).astype(np.int64)
    t = place - base
    spline = [(0.5 * (0.5 - s) ** 2, 0.75 - s**2, 0.5 * (0.5 + s) ** 2) for s in t.T]
    _, across, along = (int(n) for n in shape)
    first = ((base[:, 0] - 1) * across + base[:, 1] - 1) * along + base[:, 2] - 1
    found = np.zeros(int(np.prod(shape)))
    for i in range(3):
        for j in range(3):
            share = weight * spline[0][i] * spline[1][j]
            for k in range(3):
                offset = (i * across + j) * along + k
                found += np.bincount(first + offset, share * spline[2][k], minlength=len(found))
    return found.reshape(shape)


def _smoothed(values: FloatArray, passes: int) -> FloatArray:
    """Filtered by (1, 2, 1)/4 along every axis; the edges, where nothing is, stay."""
    for _ in range(passes):
        for axis in range(3):
            line = np.moveaxis(values, axis, 0)
            next_ = line.copy()
            next_[1:-1] = 0.25 * (line[:-2] + line[2:]) + 0.5 * line[1:-1]
            values = np.moveaxis(next_, 0, axis)
    return np.ascontiguousarray(values)


def _contour(library: Any, values: FloatArray, level: float, cell: float) -> tuple[FloatArray, Ints]:
    """Vertices and triangles where the values of a lattice pass a level.

    The library fails beside some nodes that have the level itself, so these nodes count as just above it.
    """
    at = values == level
    if at.any():
        values = np.where(at, level + 1e-12 * float(np.abs(values).max()), values)
    mesh = library.marching_cubes(np.ascontiguousarray(values), iso_surface_threshold=level, cube_size=cell)
    return np.array(mesh.vertices, dtype=np.float64), np.array(mesh.triangles).astype(np.int32)


def _enclosing(library: Any, share: FloatArray, wanted: float, cell: float) -> tuple[FloatArray, Ints]:
    """The surface at the level of the lattice's values that encloses a volume: by regula falsi (Illinois)."""
    nodes = share.ravel()
    count = min(max(1, round(wanted / cell**3)), nodes.size - 1)
    level = float(np.clip(np.partition(nodes, -count)[-count], LEAST, MOST))
    low, high, at_low, at_high = 0.0, 1.0, np.inf, -np.inf  # excess of the volume there
    side = 0
    vertices, triangles = np.empty((0, 3)), np.empty((0, 3), np.int32)
    for _ in range(ROUNDS):
        vertices, triangles = _contour(library, share, level, cell)
        excess = volume(vertices, triangles) / wanted - 1
        if abs(excess) < CLOSE or not len(triangles):
            break
        if excess > 0:
            low, at_low = level, excess
            at_high /= 2 if side > 0 else 1  # the end that stays counts half
        else:
            high, at_high = level, excess
            at_low /= 2 if side < 0 else 1
        side = 1 if excess > 0 else -1
        if np.isfinite(at_low) and np.isfinite(at_high):
            level = low + (high - low) * at_low / (at_low - at_high)
        else:
            level += 0.35 * excess  # about the slope of a flat surface's share
        if not LEAST <= level <= MOST:
            level = float(np.clip(level, LEAST, MOST))
            if level in (low, high):
                break
    return vertices, triangles


def volume(vertices: FloatArray, triangles: npt.NDArray[Any]) -> float:
    """What triangles enclose [m³], about their middle, so that the place of the body costs no digits."""
    if not len(triangles):
        return 0.0
    x = vertices - vertices.mean(axis=0)
    a, b, c = (x[triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def _between(values: FloatArray, place: FloatArray) -> FloatArray:
    """Trilinear interpolation at places (n, 3) in cells."""
    base = np.clip(np.floor(place).astype(np.intp), 0, np.array(values.shape) - 2)
    t = place - base
    found = np.zeros(len(place))
    for corner in range(8):
        step = np.array([corner >> 2 & 1, corner >> 1 & 1, corner & 1])
        weight = np.prod(np.where(step, t, 1 - t), axis=1)
        found += weight * values[tuple((base + step).T)]
    return found


def of_distance(
    distance: Callable[[FloatArray], tuple[FloatArray, FloatArray]], lower: FloatArray, upper: FloatArray
) -> Surface:
    """The surface where a signed distance is zero, closed by the faces of a box."""
    library = _check.extra("pysplashsurf", "surfaces of colliders need pysplashsurf", "surface")
    cell = float((upper - lower).max()) / LATTICE
    shape = np.ceil((upper - lower) / cell).astype(int) + 3
    axes = [low + cell * (np.arange(n) - 1) for low, n in zip(lower, shape, strict=True)]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    within = np.minimum(x - lower, upper - x).min(axis=1)
    depth = np.minimum(-distance(np.clip(x, lower, upper))[0], within + 1e-9 * cell).reshape(shape)
    vertices, triangles = _contour(library, depth, 0.0, cell)
    return Surface(vertices.reshape(-1, 3) + (lower - cell), triangles.reshape(-1, 3))


OPTIONS = ("radius", "smoothing")


def _radius(name: str, value: object, scene: Scene) -> float:
    """A radius, at most the longest side of the domain."""
    most = float((scene.upper - scene.lower).max())
    return _check.number(name, value, low=0, low_open=True, high=most, unit="m")


def check_options(given: object, scene: Scene) -> dict[str, Any] | None:
    """What pictures and exports take as ``surface``: True, or options of `find`; None: no surface."""
    if given is False or given is None:
        return None
    if given is True:
        return {}
    if not isinstance(given, Mapping):
        raise _check.wrong_type("surface", given, 'True, False or a mapping such as {"smoothing": 5}')
    for key in given:
        _check.choice("key of surface", key, OPTIONS)
    options = dict(given)
    if "radius" in options:
        _radius("surface['radius']", options["radius"], scene)
    if "smoothing" in options:
        _check.integer("surface['smoothing']", options["smoothing"], low=0, high=MOST_SMOOTHING)
    return options
