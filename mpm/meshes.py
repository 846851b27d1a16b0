"""Triangle meshes: reading them, finding what is wrong with them, and telling inside from outside.

A mesh comes from a file of someone else's program, so nothing about it is taken for granted. It is read
strictly (`read`), its equal vertices are merged, its defects are counted (`MeshReport`), what can be mended
is mended with a warning, and what is inside is measured in two independent ways that must agree (`prepare`):

- *signed crossings* of a ray, exact for closed surfaces and fast;
- the *generalised winding number*, the sum of signed solid angles, which holes disturb least
  (Jacobson, Kavan & Sorkine-Hornung, ACM Trans. Graph. 32 (2013) 33).
"""

from __future__ import annotations

import os
import struct
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpm import _core
from mpm.errors import FileFormatError

_native: Any = _core
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

PROBES = 2000  # points at which the two measures are compared
PROBE_WORK = 20_000_000  # pairs of point and face that the comparison may cost
DISAGREEMENT = 0.1  # share of the probed volume in which an open mesh's measures may differ


@dataclass(frozen=True)
class MeshReport:
    """What a mesh is made of, and what is wrong with it.

    Edges are counted after equal vertices were merged and degenerate and repeated faces left out.
    """

    vertices: int
    """Vertices as read."""
    faces: int
    """Triangles as read; a polygon of k corners is k - 2 of them."""
    duplicate_vertices: int
    """Vertices of faces at exactly the place of an earlier one."""
    degenerate_faces: int
    """Triangles without area."""
    repeated_faces: int
    """Triangles on exactly the corners of an earlier one, in whatever order."""
    boundary_edges: int
    """Edges with one triangle: the rims of holes."""
    nonmanifold_edges: int
    """Edges with more than two triangles."""
    flipped_edges: int
    """Edges whose two triangles disagree about which side is out."""
    components: int
    """Parts that share no edge."""
    signed_volume: float
    """Sum of the signed tetrahedra of all triangles as read [m³]: negative if the mesh is inside-out."""
    mended: tuple[str, ...] = ()
    """What had to be mended or bridged before the mesh could be filled."""

    @property
    def watertight(self) -> bool:
        """Whether every edge has exactly two triangles that agree about which side is out."""
        return not (self.boundary_edges or self.nonmanifold_edges or self.flipped_edges)


# --- readers ------------------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> tuple[Floats, Ints]:
    """Read a triangle mesh.

    OBJ and STL (ASCII and binary) are read here, everything else through `trimesh` when it is installed.
    Polygons are cut into fans from their first corner. For a flat polygon that is right even where it is
    concave: the fan then overlaps itself with opposite signs, and what is inside is measured with signs. A
    concave polygon that is not flat is a slightly different surface than another program may cut it into; it
    is as closed.

    Parameters
    ----------
    path
        The file. Its suffix decides the format.

    Returns
    -------
    vertices : (nv, 3) float64
        Positions, in the file's unit.
    faces : (nf, 3) int64
        Vertex indices, counted from 0.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    FileFormatError
        The file is damaged, holds no faces, or no reader knows it; the message names the file, the defect
        and, for text, the line.
    ImportError
        The format needs `trimesh`, which is not installed.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"no such mesh file: {str(path)!r}")
    if path.is_dir():
        raise FileFormatError(f"{path}: is a directory, not a mesh file")
    reader = {".obj": _read_obj, ".stl": _read_stl}.get(path.suffix.lower(), _read_other)
    vertices, faces = reader(path)
    if not len(faces):
        raise FileFormatError(f"{path}: holds no faces, so it encloses nothing")
    return vertices, faces


def _text(path: Path, data: bytes) -> str:
    if data[:2] in (b"\xfe\xff", b"\xff\xfe") or b"\0" in data[:4096]:
        raise FileFormatError(
            f"{path}: is not 8-bit text (UTF-16, perhaps, or binary); save it again as UTF-8"
        )
    return data.decode("utf-8-sig", errors="replace")  # only comments and names can hold anything but ASCII


def _numbers(path: Path, line: int, words: list[str]) -> tuple[float, float, float]:
    if len(words) < 3:
        raise FileFormatError(f"{path}, line {line}: a vertex needs 3 coordinates, this one has {len(words)}")
    try:
        x, y, z = float(words[0]), float(words[1]), float(words[2])
    except ValueError:
        raise FileFormatError(f"{path}, line {line}: {' '.join(words[:3])!r} are not 3 numbers") from None
    if not (abs(x) < np.inf and abs(y) < np.inf and abs(z) < np.inf):
        raise FileFormatError(f"{path}, line {line}: the vertex ({x}, {y}, {z}) is not finite")
    return x, y, z


def _read_obj(path: Path) -> tuple[Floats, Ints]:
    vertices: list[tuple[float, float, float]] = []
    triangles: list[tuple[int, int, int]] = []
    origin: list[int] = []  # the line of each triangle: a vertex may be defined after its use
    pending, first = "", 0
    for number, raw in enumerate([*_text(path, path.read_bytes()).splitlines(), ""], 1):
        if not pending:
            first = number
        if raw.endswith("\\"):
            pending += raw[:-1] + " "
            continue
        words = (pending + raw).partition("#")[0].split()
        pending = ""
        if not words:
            continue
        if words[0] == "v":
            vertices.append(_numbers(path, first, words[1:]))
        elif words[0] == "f":
            corners = [_corner(path, first, word, len(vertices)) for word in words[1:]]
            for j in range(1, len(corners) - 1):  # fewer than three corners are a line, a point or nothing
                triangles.append((corners[0], corners[j], corners[j + 1]))
                origin.append(first)
    x = np.array(vertices, dtype=np.float64).reshape(-1, 3)
    faces = np.array(triangles, dtype=np.int64).reshape(-1, 3)
    wrong = np.flatnonzero((faces >= len(x)).any(axis=1))
    if len(wrong):
        index = int(faces[wrong[0]].max()) + 1
        raise FileFormatError(
            f"{path}, line {origin[wrong[0]]}: vertex index {index} is out of range, "
            f"the file has {len(x)} vertices"
        )
    return x, faces


def _corner(path: Path, line: int, word: str, known: int) -> int:
    """The vertex of `v`, `v/vt`, `v//vn` or `v/vt/vn`, from 0; a negative one counts back from the last."""
    try:
        index = int(word.partition("/")[0])
    except ValueError:
        raise FileFormatError(f"{path}, line {line}: {word!r} is not a corner of a face") from None
    if index == 0 or index < -known or index > 2**31 - 1:
        raise FileFormatError(
            f"{path}, line {line}: vertex index {index} is out of range, "
            f"{known} vertices are known here and indices count from 1"
        )
    return index - 1 if index > 0 else known + index


_STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("attribute", "<u2")])


def _read_stl(path: Path) -> tuple[Floats, Ints]:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(84)
    count = struct.unpack("<I", head[80:84])[0] if len(head) == 84 else 0
    claimed = 84 + 50 * count
    # Some programs begin binary files with "solid" as well: only the size tells.
    if head.lstrip()[:5].lower() == b"solid" and not (len(head) == 84 and size == claimed):
        return _read_ascii_stl(path)
    if len(head) < 84:
        raise FileFormatError(
            f"{path}: has {size} bytes; it is neither an ASCII STL nor long enough for a binary one"
        )
    if size < claimed:
        raise FileFormatError(
            f"{path}: claims {count} triangles, which take {claimed} bytes, but has only {size}"
        )
    corners = np.fromfile(path, _STL_TRIANGLE, count, offset=84)["corner"].reshape(-1, 3).astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(corners).all(axis=1))
    if len(wrong):
        raise FileFormatError(
            f"{path}: corner {wrong[0] % 3 + 1} of triangle {wrong[0] // 3 + 1} is not finite"
        )
    return corners, np.arange(len(corners), dtype=np.int64).reshape(-1, 3)


def _read_ascii_stl(path: Path) -> tuple[Floats, Ints]:
    corners: list[tuple[float, float, float]] = []
    inside, number = False, 0
    for number, line in enumerate(_text(path, path.read_bytes()).splitlines(), 1):
        words = line.split()
        keyword = words[0].lower() if words else ""
        if keyword == "vertex":
            corners.append(_numbers(path, number, words[1:]))
        elif keyword == "facet":
            inside = True
        elif keyword == "endfacet":
            inside = False
            if len(corners) % 3:
                raise FileFormatError(f"{path}, line {number}: a facet that does not have 3 vertices")
        elif keyword not in ("", "solid", "endsolid", "outer", "endloop", "color"):
            raise FileFormatError(
                f"{path}, line {number}: {line.strip()[:40]!r} does not belong in an ASCII STL"
            )
    if inside:
        raise FileFormatError(f"{path}, line {number}: ends within a facet; the file is cut short")
    x = np.array(corners, dtype=np.float64).reshape(-1, 3)
    return x, np.arange(len(x), dtype=np.int64).reshape(-1, 3)


def _read_other(path: Path) -> tuple[Floats, Ints]:
    try:
        import trimesh
    except ImportError:
        raise ImportError(
            f"{path}: only OBJ and STL are read without trimesh; for {path.suffix or 'other files'} "
            "run: pip install 'mpm[mesh]'"
        ) from None
    if not path.stat().st_size:
        raise FileFormatError(f"{path}: is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mesh: Any = trimesh.load(path, process=False, force="mesh")
        vertices = np.array(mesh.vertices, dtype=np.float64).reshape(-1, 3)
        faces = np.array(mesh.faces, dtype=np.int64).reshape(-1, 3)
    except ImportError as error:
        if isinstance(error.__context__, UnicodeError):  # it wanted a package that guesses encodings
            raise FileFormatError(f"{path}: is not the text that its suffix promises") from error
        raise ImportError(f"{path}: trimesh needs one more package to read it: {error}") from error
    except Exception as error:  # a reader meets damage in as many ways as there are formats
        raise FileFormatError(
            f"{path}: trimesh cannot read it as a mesh: {error or type(error).__name__}"
        ) from error
    if len(faces) and (faces.min() < 0 or faces.max() >= len(vertices)):
        raise FileFormatError(f"{path}: has a vertex index out of range, there are {len(vertices)} vertices")
    if not np.isfinite(vertices).all():
        raise FileFormatError(f"{path}: has a vertex that is not finite")
    return vertices, faces


# --- topology -----------------------------------------------------------------------------------------------


def merge_equal(x: Floats) -> tuple[Floats, Ints]:
    """The distinct rows of `x` and, for each row of `x`, which of them it is; -0 equals 0."""
    order = np.lexsort(x.T[::-1])
    new = np.ones(len(x), dtype=bool)
    new[1:] = (x[order[1:]] != x[order[:-1]]).any(axis=1)
    which = np.empty(len(x), dtype=np.int64)
    which[order] = np.cumsum(new) - 1
    return x[order[new]], which


def _groups(n: int, pairs: Ints) -> Ints:
    """Number the components of `n` things joined by `pairs` (k, 2), in the order of first members."""
    label = np.arange(n)
    while True:
        a, b = label[pairs[:, 0]], label[pairs[:, 1]]
        if (a == b).all():
            return np.unique(label, return_inverse=True)[1].astype(np.int64)
        np.minimum.at(label, np.maximum(a, b), np.minimum(a, b))
        while (label != label[label]).any():
            label = label[label]


def _permutation_sign(faces: Ints) -> Ints:
    """+1 for triangles whose corners ascend cyclically, -1 for the others."""
    a, b, c = faces.T
    return np.where(((a < b) & (b < c)) | ((b < c) & (c < a)) | ((c < a) & (a < b)), 1, -1)


def _drop_repeated(faces: Ints) -> tuple[Ints, int, str]:
    """One of each set of triangles on the same corners; none where as many look one way as the other.

    Returns the triangles, how many repeated an earlier one, and what the user should know. Opposite pairs are
    the wall between two bodies that touch and vanish without a word, unless nothing else would be left.
    """
    corners = np.sort(faces, axis=1)
    order = np.lexsort(corners.T[::-1])
    new = np.ones(len(faces), dtype=bool)
    new[1:] = (corners[order[1:]] != corners[order[:-1]]).any(axis=1)
    if new.all():
        return faces, 0, ""
    start = np.flatnonzero(new)
    net = np.add.reduceat(_permutation_sign(faces)[order], start)
    repeated = np.diff(np.append(start, len(faces))) - 1
    remark = f"{repeated[net != 0].sum()} of {len(faces)} faces repeat others; left out"
    if not net.any():
        net[:] = 1
        remark = "every face occurs twice, looking both ways; one of each was kept"
    elif not repeated[net != 0].any():
        remark = ""
    kept = corners[order[start]]
    kept[net < 0] = kept[net < 0][:, ::-1]
    return kept[net != 0], int(repeated.sum()), remark


@dataclass(frozen=True)
class _Edges:
    """The edges of a set of triangles; `face[start[e] : start[e] + count[e]]` are the triangles of edge e."""

    start: Ints
    count: Ints
    net: Ints  # triangles that run along the edge one way, less those that run the other way
    face: Ints
    pairs: Ints  # (k, 2) triangles that follow each other at an edge
    pair_edge: Ints  # (k,) that edge


def _edges(faces: Ints) -> _Edges:
    a, b = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    low, high = np.minimum(a, b), np.maximum(a, b)
    order = np.lexsort((high, low))
    new = np.ones(len(a), dtype=bool)
    new[1:] = (low[order[1:]] != low[order[:-1]]) | (high[order[1:]] != high[order[:-1]])
    start = np.flatnonzero(new)
    face = order // 3
    pairs = np.stack([face[:-1], face[1:]], axis=1)[~new[1:]]
    return _Edges(
        start,
        np.diff(np.append(start, len(a))),
        np.add.reduceat(np.where(a < b, 1, -1)[order], start),
        face,
        pairs,
        (np.cumsum(new) - 1)[1:][~new[1:]],
    )


def _orient(faces: Ints, edges: _Edges) -> tuple[Ints, bool]:
    """Turn triangles so that both of an edge with just two agree. False: some surface has one side."""
    manifold = edges.count[edges.pair_edge] == 2
    pairs, clash = edges.pairs[manifold], edges.net[edges.pair_edge[manifold]] != 0
    neighbours: dict[int, list[tuple[int, bool]]] = {}
    for (f, g), turned in zip(pairs.tolist(), clash.tolist(), strict=True):
        neighbours.setdefault(f, []).append((g, turned))
        neighbours.setdefault(g, []).append((f, turned))
    turn: dict[int, bool] = {}
    two_sided = True
    for seed in neighbours:
        if seed in turn:
            continue
        turn[seed], front = False, [seed]
        while front:
            f = front.pop()
            for g, turned in neighbours[f]:
                if g not in turn:
                    turn[g] = turn[f] ^ turned
                    front.append(g)
                elif turn[g] != turn[f] ^ turned:
                    two_sided = False
    result = faces.copy()
    turned_faces = [f for f, turned in turn.items() if turned]
    result[turned_faces] = result[turned_faces][:, ::-1]
    return result, two_sided


def _tetrahedra(x: Floats, faces: Ints) -> Floats:
    """Signed volumes of the tetrahedra of each triangle and the origin."""
    a, b, c = x[faces[:, 0]], x[faces[:, 1]], x[faces[:, 2]]
    return np.asarray((a * np.cross(b, c)).sum(axis=1) / 6)


# --- inside and outside -------------------------------------------------------------------------------------


def _threads(work: int) -> int:
    """Threads worth starting for `work` pairs of point and face."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(usable, work // 100_000))


def winding_numbers(x: Floats, faces: Ints, points: Floats) -> Floats:
    """Generalised winding number (m,) at each point: 1 inside an outward surface, 0 outside."""
    x, index = np.ascontiguousarray(x, dtype=np.float64), np.ascontiguousarray(faces, dtype=np.int32)
    points = np.ascontiguousarray(points, dtype=np.float64)
    return np.frombuffer(
        _core.winding_numbers(x, index, points, _threads(len(index) * len(points))), dtype=np.float64
    )


def crossings(x: Floats, faces: Ints, points: Floats, axis: int = 2) -> NDArray[np.int32]:
    """Signed crossings (m,) of the ray from each point along +`axis`: the winding number of a closed mesh."""
    turned = [(axis + 1) % 3, (axis + 2) % 3, axis]
    x, index = (
        np.ascontiguousarray(x[:, turned], dtype=np.float64),
        np.ascontiguousarray(faces, dtype=np.int32),
    )
    points = np.ascontiguousarray(points[:, turned], dtype=np.float64)
    return np.frombuffer(_native.ray_crossings(x, index, points, _threads(8 * len(points))), dtype=np.int32)


@dataclass(frozen=True)
class Solid:
    """A mended mesh that knows what is inside it. Its lengths are the mesh's times `scale`, a power of 2."""

    x: Floats
    closed: Ints
    """Triangles of closed parts: signed crossings decide."""
    open: Ints
    """Triangles of parts with holes: the winding number decides."""
    scale: float
    report: MeshReport

    def contains(self, points: Floats) -> Bools:
        """Whether each point is inside, (m,). Points on faces that look to -x, -y or -z are."""
        points = points * self.scale
        near = ((points >= self.x.min(axis=0)) & (points <= self.x.max(axis=0))).all(axis=1)
        w = crossings(self.x, self.closed, points[near]).astype(np.float64)
        if len(self.open):
            w += winding_numbers(self.x, self.open, points[near])
        inside = np.zeros(len(points), dtype=bool)
        inside[near] = w > 0.5
        return inside


def prepare(vertices: Floats, faces: Ints, name: str) -> Solid:
    """Diagnose a mesh, mend it, and make sure that what is inside it is beyond doubt.

    Parameters
    ----------
    vertices, faces
        (nv, 3) finite positions and (nf, 3) valid vertex indices.
    name
        What messages call the mesh.

    Returns
    -------
    Solid
        Overlapping closed parts count once, closed parts within others with normals to the inside are
        cavities.

    Raises
    ------
    ValueError
        The mesh encloses no volume, has one side only, or has so many holes that the two measures disagree.

    Warns
    -----
    UserWarning
        Something had to be mended: inside-out, doubled or inconsistently oriented faces, holes, overlapping
        parts.
    """
    used, faces = np.unique(faces, return_inverse=True)  # a stray vertex must not stretch the box
    read, faces = len(vertices), faces.reshape(-1, 3)
    vertices = vertices[used]
    lower, upper = vertices.min(axis=0), vertices.max(axis=0)
    scale = 2.0 ** -int(np.frexp(max(np.abs(lower).max(), np.abs(upper).max(), 1e-300))[1])
    x, which = merge_equal(vertices * scale)
    corners = which[faces]
    middle = (x.min(axis=0) + x.max(axis=0)) / 2
    with np.errstate(over="ignore", under="ignore"):
        signed_volume = float(_tetrahedra(x - middle, corners).sum() / scale / scale / scale)

    a, b, c = corners.T
    collapsed = (a == b) | (b == c) | (c == a)
    flat = (np.cross(x[b] - x[a], x[c] - x[a]) == 0).all(axis=1)
    tidy, repeated, remark = _drop_repeated(corners[~collapsed])
    edges = _edges(tidy) if len(tidy) else None
    report = MeshReport(
        vertices=read,
        faces=len(faces),
        duplicate_vertices=len(vertices) - len(x),
        degenerate_faces=int((collapsed | flat).sum()),
        repeated_faces=repeated,
        boundary_edges=int((edges.count == 1).sum()) if edges else 0,
        nonmanifold_edges=int((edges.count > 2).sum()) if edges else 0,
        flipped_edges=int(((edges.count == 2) & (edges.net != 0)).sum()) if edges else 0,
        components=int(_groups(len(tidy), edges.pairs).max()) + 1 if edges else 0,
        signed_volume=signed_volume,
    )
    thin = np.flatnonzero(upper <= lower)
    if edges is None or len(thin):
        axis = f": it has no extent along {'xyz'[thin[0]]}" if len(thin) else ""
        raise ValueError(f"{name}: encloses no volume{axis} ({_summary(report)})")

    mended = [remark] if remark else []
    if report.flipped_edges:
        mended.append(f"at {report.flipped_edges} edges neighbours disagreed about the outside; turned")
    solid, more = _orient_outwards(x, tidy, edges, name, report)
    mended += more
    if len(solid[1]):
        mended.append(
            f"not closed: {report.boundary_edges} boundary, {report.nonmanifold_edges} non-manifold edges; "
            "holes were bridged by the winding number"
        )
    mended += _cross_examine(x, *solid, name, report)
    if mended:
        warnings.warn(f"{name}: {'; '.join(mended)}", UserWarning, stacklevel=_levels_to_caller())
    values = {**report.__dict__, "mended": tuple(mended)}
    return Solid(x, *solid, scale, MeshReport(**values))


def _summary(report: MeshReport) -> str:
    counts = {
        "degenerate faces": report.degenerate_faces,
        "repeated faces": report.repeated_faces,
        "boundary edges": report.boundary_edges,
        "non-manifold edges": report.nonmanifold_edges,
        "flipped edges": report.flipped_edges,
    }
    return ", ".join([f"{report.faces} faces", *(f"{n} {what}" for what, n in counts.items() if n)])


def _levels_to_caller() -> int:
    """The stack level of the first frame outside the package, for warnings."""
    import sys

    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "mpm":
        level, frame = level + 1, frame.f_back
    return level


def _orient_outwards(
    x: Floats, faces: Ints, edges: _Edges, name: str, report: MeshReport
) -> tuple[tuple[Ints, Ints], list[str]]:
    """Make neighbours agree and parts face outwards, except cavities: closed and open triangles, notes."""
    notes = []
    if report.flipped_edges:
        faces, two_sided = _orient(faces, edges)
        edges = _edges(faces)
        if not two_sided and not report.boundary_edges:
            raise ValueError(
                f"{name}: the surface has one side only (like a Klein bottle), so it has no inside"
            )
    two = edges.count[edges.pair_edge] == 2
    patch = _groups(len(faces), edges.pairs[two])
    rim = np.zeros(len(x), dtype=bool)
    rim[faces[edges.face[edges.start[edges.count != 2]]].ravel()] = True

    # A hole is measured as if closed by a cone from the middle of its patch's rim.
    volume = np.empty(patch.max() + 1)
    members = np.split(np.argsort(patch, kind="stable"), np.cumsum(np.bincount(patch))[:-1])
    for k, member in enumerate(members):
        corners = np.unique(faces[member])
        around = corners[rim[corners]] if rim[corners].any() else corners
        volume[k] = _tetrahedra(x - x[around].mean(axis=0), faces[member]).sum()
    if volume.sum() < 0:
        faces, volume = faces[:, ::-1].copy(), -volume
        notes.append("inside-out; the faces were turned")
    turned = 0
    for k in np.flatnonzero(volume < 0).tolist():
        others = np.delete(faces, members[k], axis=0)
        corners = np.unique(faces[members[k]])
        sample = corners[:: max(1, len(corners) // 32)]
        cavity = len(others) and np.median(winding_numbers(x, others, x[sample])) > 0.5
        if not cavity:
            faces[members[k]] = faces[members[k]][:, ::-1]
            turned += 1
    if turned:
        notes.append(f"{turned} of {len(members)} parts were inside-out; their faces were turned")

    edges = _edges(faces)
    part = _groups(len(faces), edges.pairs)
    whole = np.ones(part.max() + 1, dtype=bool)
    whole[part[edges.face[edges.start[edges.net != 0]]]] = False
    return (faces[whole[part]], faces[~whole[part]]), notes


def _probes(x: Floats, faces: Ints) -> Floats:
    """Where to compare the measures: half anywhere in the box, half close to the faces, on both sides."""
    n = int(np.clip(PROBE_WORK // (2 * len(faces)), 64, PROBES // 2))
    rng = np.random.default_rng(20130701)
    lower, upper = x.min(axis=0), x.max(axis=0)
    anywhere = lower + (upper - lower) * rng.random((n, 3))
    face = faces[rng.integers(len(faces), size=n)]
    a, b, c = x[face[:, 0]], x[face[:, 1]], x[face[:, 2]]
    weight = rng.dirichlet((1, 1, 1), n)
    normal = np.cross(b - a, c - a)
    length = np.sqrt((normal**2).sum(axis=1, keepdims=True))  # twice the area
    step = np.where(length > 0, normal / np.sqrt(np.where(length > 0, length, 1)), 0)
    on = weight[:, :1] * a + weight[:, 1:2] * b + weight[:, 2:] * c
    return np.concatenate([anywhere, on + step * rng.uniform(-0.05, 0.05, (n, 1))])


def _cross_examine(x: Floats, closed: Ints, open_: Ints, name: str, report: MeshReport) -> list[str]:
    """Compare winding numbers with signed crossings along three axes; returns what is worth a warning."""
    faces = np.concatenate([closed, open_])
    points = _probes(x, faces)
    w = winding_numbers(x, faces, points)
    rays = np.stack([crossings(x, faces, points, axis) for axis in range(3)])
    inside, crossed = w > 0.5, (rays > 0).sum(axis=0) >= 2
    either = int((inside | crossed).sum())
    box = float(np.prod(x.max(axis=0) - x.min(axis=0)))
    closed_volume = float(_tetrahedra(x - x.mean(axis=0), closed).sum())
    if not either or (not len(open_) and closed_volume < 1e-12 * box):
        raise ValueError(f"{name}: encloses no volume ({_summary(report)})")
    share = int((inside != crossed).sum()) / either
    if share > DISAGREEMENT:
        raise ValueError(
            f"{name}: what is inside is in doubt: winding number and ray crossings disagree in {share:.0%} "
            f"of the volume; close the holes first ({_summary(report)})"
        )
    doubled = int((w > 1.5).sum())
    if doubled:
        return [f"parts overlap or are doubled in {doubled / either:.0%} of the volume; filled once"]
    return []
