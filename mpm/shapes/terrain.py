"""Ground below an open surface: a mesh of heights in 3-D, a polyline in 2-D."""

from __future__ import annotations

import os
from typing import Never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpm import meshes
from mpm.base import _check
from mpm.errors import FileFormatError
from mpm.meshes.solid import FAR
from mpm.meshes.topology import drop_repeated, edges_of, groups, orient
from mpm.shapes.arguments import as_rows, as_vector
from mpm.shapes.lattice import lattice_numbers
from mpm.shapes.mesh import triangles_of
from mpm.shapes.shape import Bools, Floats, Region, Shape

Ints = NDArray[np.int64]

AXES = "xyz"
ROUND = 1e-12  # of the size of a face: smaller areas that look down are rounding
CHUNK = 1 << 20  # nodes that are measured together


class Terrain(Shape):
    """The ground below an open surface along `up`, for example below a triangulated survey.

    The surface has one height at each place. The ground has no bottom, and continues level beyond the rim of the
    surface. If the terrain is a collider, the surface must cover the domain. ``box - terrain`` is the part of a box
    above the ground, and ``box & terrain`` the part below.

    Parameters
    ----------
    path
        An OBJ or STL file, or any format of `trimesh`, if it is installed. A binary STL has only seven digits: write
        surveys with coordinates far from 0 as OBJ or ASCII STL.
    vertices : (nv, d) array_like
        Positions [m], instead of `path`; in 2-D the corners of the surface in order.
    faces : (nf, k) array_like of int
        The corners of each triangle (k = 3) or flat polygon, with `vertices` in 3-D: counted from 0, in either sense of
        rotation.
    up : {"x", "y", "z"}, optional
        The axis along which heights are measured, against gravity. Default: the last one.
    origin : (d,) array_like, optional
        A point of the file [m] that becomes 0, such as the corner of a map. It is subtracted from all vertices in
        double precision, before any other operation.

    Attributes
    ----------
    vertices, faces : (nv, d) float64, (nf, 3) int64
        The surface relative to the origin, in triangles; `faces` is None in 2-D.
    extent : ((d,) float64, (d,) float64)
        Lower and upper corner of the surface [m].

    Raises
    ------
    FileNotFoundError, FileFormatError
        The file does not exist, is damaged, or holds no terrain.
    ValueError
        The surface overhangs, has a hole, parts that are not joined, or several sheets; the message names the place.
    ImportError
        The format needs trimesh (the extra ``mesh``).
    """

    _fields = ("vertices", "faces", "up")
    path: str | None
    vertices: Floats
    faces: Ints | None
    up: str
    extent: tuple[Floats, Floats]
    _exact_bounds = False
    _outline: Floats
    _tidy: Ints
    _flat: Ints

    @_check.options
    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        vertices: ArrayLike | None = None,
        faces: ArrayLike | None = None,
        up: str | None = None,
        origin: ArrayLike | None = None,
    ) -> None:
        if (path is None) != (vertices is not None) or (path is not None and faces is not None):
            raise TypeError(
                "path, vertices, faces: expected a path, or vertices= with faces= in 3-D; for example "
                'Terrain("ground.obj"), in 2-D Terrain(vertices=[(0, 0.2), (1, 0.1)])'
            )
        if path is not None:
            if not isinstance(path, (str, os.PathLike)):
                raise TypeError(f"path: expected a path, got {path!r}")
            v, f = meshes.read(path)
        else:
            v = as_rows(vertices, "vertices", (2, 3))  # type: ignore[arg-type]
            f = None
            if v.shape[1] == 3:
                if faces is None:
                    raise TypeError("faces: expected the triangles of the surface in 3-D")
                f = triangles_of(faces, len(v))
            elif faces is not None:
                raise TypeError("faces: expected None in 2-D, where vertices are a polyline")
        d = v.shape[1]
        axis = AXES[d - 1] if up is None else _check.choice("up", up, tuple(AXES[:d]))
        if origin is not None:
            v = v - as_vector(origin, "origin", d)
        name = None if path is None else os.fspath(path)
        self._set(path=name, vertices=v, faces=f, up=axis, dimension=d)
        try:
            if f is None:
                self._take_line()
            else:
                self._take_surface(f)
        except ValueError as error:
            if name is None:
                raise
            raise FileFormatError(f"{name}: {error}") from None
        corners = v if f is None else v[np.unique(f)]
        ends = corners.min(axis=0), corners.max(axis=0)
        for end in ends:
            end.flags.writeable = False
        self._set(extent=ends)

    def __repr__(self) -> str:
        source = "" if self.path is None else f"{self.path!r}, "
        count = f"{len(self.vertices)} vertices" if self.faces is None else f"{len(self.faces)} triangles"
        return f"Terrain({source}{count}, up={self.up!r})"

    @property
    def _axis(self) -> int:
        return AXES.index(self.up)

    @property
    def _level(self) -> list[int]:
        """The other axes, in the order that keeps the orientation."""
        return [(self._axis + k) % self.dimension for k in range(1, self.dimension)]

    # ---- checks ------------------------------------------------------------------------------------------------

    def _take_line(self) -> None:
        """Check a polyline; keep it in the order of its places."""
        (level,) = self._level
        v = self.vertices
        if len(v) < 2:
            raise ValueError(f"vertices: a surface in 2-D needs at least 2, got {len(v)}")
        steps = np.diff(v[:, level])
        forward = steps.sum() >= 0
        back = np.flatnonzero(steps < 0 if forward else steps > 0)
        if len(back):
            self._refuse("overhangs, because the line turns back", v[back[0]])
        if not steps.any():
            raise ValueError(f"vertices: have no extent along {AXES[level]}, across up = {self.up!r}")
        line = v[np.concatenate([[True], np.diff(v, axis=0).any(axis=1)])]
        none = np.zeros((0, 3), dtype=np.int64)
        self._set(_outline=(line if forward else line[::-1]).copy(), _tidy=none, _flat=none)

    def _take_surface(self, f: Ints) -> None:
        """Check a mesh; keep its triangles, merged, and those among them that have a height at each place."""
        x, which = meshes.merge_equal(self.vertices)
        corners = which[f]
        a, b, c = corners.T
        area = np.cross(x[b] - x[a], x[c] - x[a])
        flat = (a == b) | (b == c) | (c == a) | (area == 0).all(axis=1)
        self._refuse_rounded(int((flat | (area[:, self._axis] == 0)).sum()), len(f))
        corners = corners[~flat]
        if not len(corners):
            raise ValueError("vertices, faces: the surface has no area")
        tidy, _, _ = drop_repeated(corners)
        edges = edges_of(tidy)
        shared = np.flatnonzero(edges.count > 2)
        if len(shared):
            self._refuse(
                "three or more faces meet at an edge",
                x[tidy[edges.face[edges.start[shared[0]]]]].mean(axis=0),
            )
        if not (edges.count == 1).any():
            raise ValueError("the surface is closed: mpm.shapes.Mesh takes what encloses a solid")
        part = groups(len(tidy), edges.pairs)
        if part.max() > 0:
            small = int(np.argmin(np.bincount(part)))
            place = x[tidy[part == small].ravel()].mean(axis=0)
            self._refuse(
                f"has {part.max() + 1} parts that share no edge, by gaps or several sheets; one of them",
                place,
            )
        if ((edges.count == 2) & (edges.net != 0)).any():
            tidy, two_sided = orient(tidy, edges)
            if not two_sided:
                raise ValueError(
                    "the surface has one side only (like a Moebius strip), so it has no ground below it"
                )
        a, b, c = tidy.T
        area = np.cross(x[b] - x[a], x[c] - x[a])
        if area[:, self._axis].sum() < 0:
            tidy, area = tidy[:, ::-1].copy(), -area
        rise = area[:, self._axis]
        size = np.linalg.norm(area, axis=1)
        down = np.flatnonzero(rise < -ROUND * size)
        if len(down):
            self._refuse(
                f"{len(down)} of {len(tidy)} faces look down: it overhangs", x[tidy[down[0]]].mean(axis=0)
            )
        self._refuse_holes(x, tidy)
        level = tidy[rise > ROUND * size]  # a cliff has no one height
        if not len(level):
            raise ValueError(f"all faces are upright along up = {self.up!r}: there is no ground below them")
        self._refuse_sheets(x, level)
        self._set(_outline=x, _tidy=tidy, _flat=level)

    def _refuse(self, flaw: str, place: Floats) -> Never:
        """Raise for a flaw at a place."""
        where = ", ".join(f"{AXES[a]} = {value:.6g}" for a, value in enumerate(place))
        given = "vertices: " if self.path is None else ""
        raise ValueError(
            f"{given}{flaw} at {where} m; must have one height along up = {self.up!r} at each place"
        )

    def _refuse_rounded(self, flat: int, faces: int) -> None:
        """Raise where coordinates are so large that the digits of a file did not suffice."""
        reach, size = float(np.abs(self.vertices).max()), float(np.ptp(self.vertices, axis=0).max())
        if flat and reach > FAR * size:
            raise ValueError(
                f"{flat} of {faces} faces have no area seen from above: coordinates reach {reach:.3g} m, and the "
                f"surface is {size:.3g} m large, so that the digits of the file do not suffice; write more digits, or "
                "move it to the origin first"
            )

    def _refuse_holes(self, x: Floats, tidy: Ints) -> None:
        """Raise for a surface with more than one rim."""
        ends = np.sort(np.stack([tidy, np.roll(tidy, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
        pairs, count = np.unique(ends, axis=0, return_counts=True)
        rim = pairs[count == 1]
        nodes, index = np.unique(rim, return_inverse=True)
        loop = groups(len(nodes), index.reshape(-1, 2))
        sizes = [float(np.ptp(x[nodes[loop == k]], axis=0).max()) for k in range(int(loop.max()) + 1)]
        if len(sizes) > 1:
            place = x[nodes[loop == int(np.argmin(sizes))]].mean(axis=0)
            self._refuse(f"has {len(sizes) - 1} holes, one", place)

    def _refuse_sheets(self, x: Floats, level: Ints) -> None:
        """Raise where faces are above others."""
        middle = (x.min(axis=0) + x.max(axis=0)) / 2
        corner = x[level] - middle
        points = corner.mean(axis=1)
        points[:, self._axis] = corner[:, :, self._axis].min() - 1
        found = meshes.crossings(x - middle, level, points, self._axis)
        double = np.flatnonzero(np.abs(found) != 1)
        if len(double):
            self._refuse("has several sheets above one another", x[level[double[0]]].mean(axis=0))

    # ---- what a shape supplies ----------------------------------------------------------------------------------

    def heights(self, places: ArrayLike) -> Floats:
        """The height of the surface at places.

        Parameters
        ----------
        places : (m, d) array_like
            Positions [m]; their component along `up` has no effect. Beyond the rim the height is that of the nearest
            point of the rim.

        Returns
        -------
        (m,) float64
            Along `up` [m].
        """
        return self._heights(as_rows(places, "places", (self.dimension,)))[0]

    def _heights(self, x: Floats) -> tuple[Floats, Floats]:
        """Heights (m,), and how far beyond the rim the places are (m,)."""
        if self.dimension == 2:
            (level,) = self._level
            places, line = x[:, level], self._outline
            beyond = np.maximum(line[0, level] - places, places - line[-1, level])
            return np.interp(places, line[:, level], line[:, self._axis]), np.maximum(beyond, 0)
        middle = (self.extent[0] + self.extent[1]) / 2
        flat, points = self._outline - middle, x - middle
        flat[:, self._axis] = points[:, self._axis] = 0
        beyond, face, weights = meshes.nearest_faces(flat, self._flat, points)
        corners = self._outline[self._flat[face], self._axis]
        return (weights * corners).sum(axis=1), beyond

    def _contains(self, x: Floats) -> Bools:
        return np.asarray(x[:, self._axis] < self._heights(x)[0])

    def _support(self, directions: Floats) -> Floats:
        others = directions[:, self._level]
        top = (directions[:, self._axis] >= 0) & (others == 0).all(axis=1)
        return np.where(top, directions[:, self._axis] * self.extent[1][self._axis], np.inf)

    def _distance(self, finest: float, coarsest: float, region: Region) -> tuple[str, Floats]:
        self._refuse_uncovered(region, finest / 2)
        if self.dimension == 2:
            return "polygon", self._polygon(region, coarsest).ravel()
        lower, nodes = meshes.lattice_around(*self.extent, finest / 2, 4 * coarsest, region)
        values = np.empty(nodes)
        per_pass = max(1, CHUNK // (nodes[1] * nodes[2]))
        for first in range(0, nodes[0], per_pass):
            slabs = slice(first, first + per_pass)
            points = meshes.slab_nodes(lower, finest / 2, nodes, slabs)
            for a in self._level:  # level beyond the rim
                points[:, a] = np.clip(points[:, a], self.extent[0][a], self.extent[1][a])
            distance, _, _ = meshes.nearest_faces(self._outline, self._tidy, points)
            values[slabs] = np.where(self._contains(points), -distance, distance).reshape(-1, *nodes[1:])
        return "lattice", lattice_numbers(lower, finest / 2, values)

    def _polygon(self, region: Region, coarsest: float) -> Floats:
        """The ground in 2-D, counter-clockwise, with sides and a bottom that are always far away."""
        (level,) = self._level
        line, up = self._outline, self._axis
        ends = [end[np.isfinite(end)] for end in region]
        reach = max((float(np.abs(end).max()) for end in ends if len(end)), default=0.0)
        far = 8 * (reach + float(np.abs(line).max()) + float(np.ptp(line, axis=0).max()) + 8 * coarsest)
        frame = np.empty((4, 2))
        frame[:, level] = -far, -far, far, far
        frame[:, up] = line[0, up], -far, -far, line[-1, up]
        around = np.concatenate(
            [frame, line[::-1]]
        )  # down on the left, to the right, up, and back along the surface
        return around if (level, up) == (0, 1) else around[::-1]

    def _refuse_uncovered(self, region: Region, spacing: float) -> None:
        """Raise where a bounded region has no surface above or below it."""
        for a in self._level:
            for end, edge, beyond in ((0, self.extent[0][a], 1), (1, self.extent[1][a], -1)):
                asked = region[end][a]
                if np.isfinite(asked) and beyond * (edge - asked) > spacing:
                    raise ValueError(
                        f"shape = {self!r}: ends at {AXES[a]} = {edge:.6g} m, before the domain, which goes to "
                        f"{asked:.6g} m with its motion; must cover it: choose another domain or origin="
                    )
        if self.dimension == 2 or not all(np.isfinite(region[end][a]) for end in (0, 1) for a in self._level):
            return
        points = np.zeros((1, 3))
        for a in self._level:
            low, high = (
                float(np.clip(region[end][a], self.extent[0][a], self.extent[1][a])) for end in (0, 1)
            )
            steps = np.linspace(low, high, max(2, int(np.ceil((high - low) / (2 * spacing))) + 1))
            points = np.repeat(points, len(steps), axis=0)
            points[:, a] = np.tile(steps, len(points) // len(steps))
        _, apart = self._heights(points)
        worst = int(np.argmax(apart))
        if apart[worst] > spacing:
            where = ", ".join(f"{AXES[a]} = {points[worst, a]:.6g}" for a in sorted(self._level))
            raise ValueError(
                f"shape = {self!r}: has no surface at {where} m, in the domain; must cover it: choose another domain "
                "or origin="
            )
