"""Turns a mesh from a file into a solid with an inside: counts defects, mends them, compares the two measures."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpm.base import _check
from mpm.meshes.topology import Edges, Ints, drop_repeated, edges_of, groups, merge_equal, orient, tetrahedra
from mpm.meshes.winding import crossings, winding_numbers

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

PROBES = 2000  # points at which the two measures are compared
PROBE_WORK = 20_000_000  # the most pairs of point and face in the comparison
FAR = 100  # times its size: coordinates that far away leave few digits for the shape
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
        signed_volume = float(tetrahedra(x - middle, corners).sum() / scale / scale / scale)

    a, b, c = corners.T
    collapsed = (a == b) | (b == c) | (c == a)
    flat = (np.cross(x[b] - x[a], x[c] - x[a]) == 0).all(axis=1)
    tidy, repeated, remark = drop_repeated(corners[~collapsed])
    edges = edges_of(tidy) if len(tidy) else None
    report = MeshReport(
        vertices=read,
        faces=len(faces),
        duplicate_vertices=len(vertices) - len(x),
        degenerate_faces=int((collapsed | flat).sum()),
        repeated_faces=repeated,
        boundary_edges=int((edges.count == 1).sum()) if edges else 0,
        nonmanifold_edges=int((edges.count > 2).sum()) if edges else 0,
        flipped_edges=int(((edges.count == 2) & (edges.net != 0)).sum()) if edges else 0,
        components=int(groups(len(tidy), edges.pairs).max()) + 1 if edges else 0,
        signed_volume=signed_volume,
    )
    thin = np.flatnonzero(upper <= lower)
    if edges is None or len(thin):
        axis = f": it has no extent along {'xyz'[thin[0]]}" if len(thin) else ""
        raise ValueError(
            f"{name}: encloses no volume{axis} ({_summary(report)}){_cause(vertices, faces, report)}"
        )

    cause = _cause(vertices, faces, report)
    mended = [remark] if remark else []
    if not report.boundary_edges and (rounded := _rounded(vertices, report)):
        mended.append(rounded)
    if report.flipped_edges:
        mended.append(f"at {report.flipped_edges} edges neighbours disagreed about the outside; turned")
    solid, more = _orient_outwards(x, tidy, edges, name, report)
    mended += more
    if len(solid[1]):
        mended.append(
            f"not closed: {report.boundary_edges} boundary, {report.nonmanifold_edges} non-manifold edges; "
            f"holes were bridged by the winding number{cause}"
        )
    try:
        mended += _cross_examine(x, *solid, name, report)
    except ValueError as error:
        raise ValueError(f"{error}{cause}") from None
    if mended:
        warnings.warn(f"{name}: {'; '.join(mended)}", UserWarning, stacklevel=_check.levels_to_caller())
    values = {**report.__dict__, "mended": tuple(mended)}
    return Solid(x, *solid, scale, MeshReport(**values))


def _cause(vertices: Floats, faces: Ints, report: MeshReport) -> str:
    """Why a mesh is not closed, as far as it can be told: rounded coordinates, or a surface of one side only."""
    if rounded := _rounded(vertices, report):
        return f"; {rounded}"
    if not report.boundary_edges:
        return ""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    upward = np.cross(b - a, c - a)
    for axis in "zyx":
        along = upward[:, "xyz".index(axis)]
        if (along > 0).all() or (along < 0).all():
            return (
                f"; all faces look along {axis}, as those of a terrain: mpm.shapes.Terrain(…, up={axis!r}) is "
                "the ground below it; or give it sides and a bottom"
            )
    return ""


def _rounded(vertices: Floats, report: MeshReport) -> str:
    """What is said of coordinates so far away that the digits of a file did not suffice; nothing if they did."""
    reach, size = float(np.abs(vertices).max()), float(np.ptp(vertices, axis=0).max())
    if not (report.degenerate_faces and reach > FAR * size):
        return ""
    return (
        f"{report.degenerate_faces} of {report.faces} faces have no area: coordinates reach {reach:.3g} m, and the "
        f"mesh is {size:.3g} m large, so that the digits of the file do not suffice for its shape; move it to the "
        "origin before it is written, or write more digits"
    )


def _summary(report: MeshReport) -> str:
    counts = {
        "degenerate faces": report.degenerate_faces,
        "repeated faces": report.repeated_faces,
        "boundary edges": report.boundary_edges,
        "non-manifold edges": report.nonmanifold_edges,
        "flipped edges": report.flipped_edges,
    }
    return ", ".join([f"{report.faces} faces", *(f"{n} {what}" for what, n in counts.items() if n)])


def _orient_outwards(
    x: Floats, faces: Ints, edges: Edges, name: str, report: MeshReport
) -> tuple[tuple[Ints, Ints], list[str]]:
    """Make neighbours agree and parts face outwards, except cavities: closed and open triangles, notes."""
    notes = []
    if report.flipped_edges:
        faces, two_sided = orient(faces, edges)
        edges = edges_of(faces)
        if not two_sided and not report.boundary_edges:
            raise ValueError(
                f"{name}: the surface has one side only (like a Klein bottle), so it has no inside"
            )
    two = edges.count[edges.pair_edge] == 2
    patch = groups(len(faces), edges.pairs[two])
    rim = np.zeros(len(x), dtype=bool)
    rim[faces[edges.face[edges.start[edges.count != 2]]].ravel()] = True

    # For the volume, a cone from the middle of its rim closes a hole.
    volume = np.empty(patch.max() + 1)
    members = np.split(np.argsort(patch, kind="stable"), np.cumsum(np.bincount(patch))[:-1])
    for k, member in enumerate(members):
        corners = np.unique(faces[member])
        around = corners[rim[corners]] if rim[corners].any() else corners
        volume[k] = tetrahedra(x - x[around].mean(axis=0), faces[member]).sum()
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

    edges = edges_of(faces)
    part = groups(len(faces), edges.pairs)
    whole = np.ones(part.max() + 1, dtype=bool)
    whole[part[edges.face[edges.start[edges.net != 0]]]] = False
    return (faces[whole[part]], faces[~whole[part]]), notes


def _probes(x: Floats, faces: Ints) -> Floats:
    """Points for the comparison: half anywhere in the box, half close to the faces, on both sides."""
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
    closed_volume = float(tetrahedra(x - x.mean(axis=0), closed).sum())
    if not either or (not len(open_) and closed_volume < 1e-12 * box):
        raise ValueError(f"{name}: encloses no volume ({_summary(report)})")
    share = int((inside != crossed).sum()) / either
    if share > DISAGREEMENT:
        raise ValueError(
            f"{name}: its inside is uncertain: winding number and ray crossings disagree in {share:.0%} "
            f"of the volume; close the holes first ({_summary(report)})"
        )
    doubled = int((w > 1.5).sum())
    if doubled:
        return [f"parts overlap or are doubled in {doubled / either:.0%} of the volume; filled once"]
    return []
