"""The form of a rigid body: its shape, the points of its surface that touch others, and its own inertia."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.mpm.bodies import Sampled
from mpm.mpm.rigidforms import NUMBERS, Form
from mpm.scene.scene import Scene
from mpm.scene.walls import is_periodic
from mpm.shapes import Ball, Box, DistanceGrid, Points, Polygon, Shape
from mpm.shapes.distances import Program, describe, measure
from mpm.shapes.shape import _Combined, _Moved
from mpm.shapes.splines import Spline, spline_of

__all__ = ["distance_of", "form_of", "refuse_overlap", "spin_of", "warn_of_thin"]

FEW = 32  # particles whose balls are a shape of its own; more are sampled on a lattice
CONE = np.radians(3)  # beyond the normals that are found
NEAR = 0.02  # particle spacings: normals this near belong to a point
ALIKE = 0.3  # particle spacings: nearer points are one
SHARP = np.radians(30)  # normals of a smooth surface turn by less over a quarter of a spacing
BLUNT = 0.25  # of a curvature: if it differs by more over half of the step, there is an edge
LAYER = 0.55  # particle spacings: corners of particles this near to the surface become points of it
VERTEX, EDGE = -2, -1  # in place of the particle of a point
DEEPEST = 0.1  # cells: a body that begins deeper in another is a mistake
LARGEST = 3 * 10**7  # nodes of a lattice of distances
FAR = 2.5  # cells around a body in which its distance is read
CELLS = {2: 200, 3: 50}  # of the quadrature of the inertia, along the longest side


def form_of(sampled: Sampled, scene: Scene, dx: float) -> tuple[Sampled, Form, npt.NDArray[np.int64]]:
    """The form of a rigid body from its shape and its particles; the particles, with the centre of mass of the shape;
    and for each of them (n,) the number of the point whose force it keeps, from 1; 0: none."""
    x, shape = sampled.x, sampled.body.shape
    n, d = x.shape
    _refuse_long(sampled, scene)
    spacing = dx * (sampled.volume / dx**d) ** (1 / d)
    if isinstance(shape, Points):
        program = describe(_union_of_balls(x, 0.5 * spacing, dx, sampled.body.name), dx)
        at, keeper = _balls(x, 0.5 * spacing), np.arange(1, n + 1)
        own = _squares(sampled.mass, spacing)
    else:
        shape = _within(shape, scene)
        program = describe(shape, dx)
        at, keeper = _surface(shape, program, x, float(np.median(spacing)), dx, sampled.body.name)
        density = sampled.mass / sampled.volume
        if np.ptp(density) < 1e-9 * density.max():
            centre, second = _moments(shape, program, d)
            sampled = _centred(sampled, centre)
            own = _inertia(sampled.mass.sum() * second) - _inertia(_second_moment(x, sampled.mass))
        else:
            own = _squares(sampled.mass, spacing)
    mass = sampled.mass
    reference = mass @ x / mass.sum()
    at[:, :d] -= reference
    form = Form(program.nodes, program.numbers, reference, np.ascontiguousarray(at), float(mass.sum()), own)
    if sampled.body.joint is not None:
        spatial = np.append(reference, np.zeros(3 - d))
        joint = sampled.body.joint._rows(d).numbers(spatial)
        sampled, form = (
            replace(sampled, v=_joined(sampled, spatial)[0]),
            replace(form, joint=joint, title=f"joint:{sampled.body.name}"),
        )
    return sampled, form, keeper


def _joined(sampled: Sampled, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The velocities (n, d) of particles, and their spin (3,), that the joint of their body allows."""
    body, x = sampled.body, sampled.x
    d = x.shape[1]
    if body.joint is None:
        raise ValueError(f"{body.name!r} has no joint")
    given = np.zeros(3)
    given[3 - len(np.atleast_1d(body.angular_velocity)) :] = body.angular_velocity
    mean = np.append(sampled.mass @ sampled.v / sampled.mass.sum(), np.zeros(3 - d))
    v, spin = body.joint._rows(d).motion(mean, given, centre)
    r = np.hstack([x, np.zeros((len(x), 3 - d))]) - centre
    return np.ascontiguousarray((v + np.cross(spin, r))[:, :d]), spin


def spin_of(sampled: Sampled, C: FloatArray | None) -> FloatArray | None:
    """C (n, d, d) of the particles of a rigid body: that given, or what its joint leaves of it."""
    if sampled.body.joint is None:
        return C
    n, d = sampled.x.shape
    centre = np.append(sampled.mass @ sampled.x / sampled.mass.sum(), np.zeros(3 - d))
    spin = _joined(sampled, centre)[1]
    turning = np.cross(spin, np.eye(3)).T[:d, :d]
    return np.ascontiguousarray(np.broadcast_to(turning, (n, d, d)))


def _refuse_long(sampled: Sampled, scene: Scene) -> None:
    """A body on both sides of a periodic face is two halves a period apart, and one as long cannot be told from it."""
    for axis, length, period in zip(
        "xyz", np.ptp(sampled.x, axis=0), scene.upper - scene.lower, strict=False
    ):
        if is_periodic(scene.walls, axis) and length >= 0.5 * period:
            raise ValueError(
                f"body {sampled.body.name!r} is rigid and its particles span {length:.6g} m along the periodic axis "
                f"{axis}; must be below half the period, {0.5 * period:.6g} m, and on one side of the face"
            )


def _within(shape: Shape, scene: Scene) -> Shape:
    """The part of a shape in the domain."""
    low, high = shape.bounds
    if (low >= scene.lower).all() and (high <= scene.upper).all():
        return shape
    return shape & Box(scene.lower, scene.upper)


# --- bodies of particles ---------------------------------------------------------------------------------------------


def _balls(x: FloatArray, radius: FloatArray) -> FloatArray:
    points = np.zeros((len(x), NUMBERS))
    points[:, : x.shape[1]] = x
    points[:, 3], points[:, 7] = radius, -1
    return points


def _union_of_balls(x: FloatArray, radius: FloatArray, dx: float, name: str) -> Shape:
    if len(x) <= FEW:
        return functools.reduce(operator.or_, (Ball(c, float(r)) for c, r in zip(x, radius, strict=True)))
    d, reach = x.shape[1], 4
    step = min(0.5 * dx, float(radius.max()))
    rim = math.ceil((FAR * dx + radius.max()) / step)
    low, high = x.min(axis=0), x.max(axis=0)
    ends = np.ceil((high - low) / step - 1e-6) + 2 * rim + 1
    low = 0.5 * (
        low + high - step * (ends - 1)
    )  # the lattice of a mirror image is the mirror image of this one
    if ends.prod() > LARGEST:
        raise ValueError(
            f"body {name!r} is rigid, and its Points are so small and so far apart that their distance needs a lattice "
            f"of {ends.prod():.3g} nodes; must be at most {LARGEST:.3g}: give them larger volumes (each is now at most "
            f"a square or cube of {2 * radius.max():.3g} m), or several bodies"
        )
    count = ends.astype(np.int64)
    phi, nearest = np.full(count, np.inf), np.full(count, -1)
    base = np.rint((x - low) / step).astype(np.int64)
    for offset in itertools.product(range(-reach, reach + 1), repeat=d):
        node = base + offset
        apart = np.linalg.norm(low + node * step - x, axis=1) - radius
        at = tuple(node.T)
        np.minimum.at(phi, at, apart)
        least = np.flatnonzero(apart == phi[at])
        nearest[tuple(node[least].T)] = least
    for _ in range(rim - reach):
        _go_on(phi, nearest, low, step, x, radius)
    phi[nearest < 0] = FAR * dx
    return DistanceGrid(low, step, phi)


def _go_on(
    phi: FloatArray,
    nearest: npt.NDArray[np.int64],
    low: FloatArray,
    step: float,
    x: FloatArray,
    radius: FloatArray,
) -> None:
    """Give nodes beside those that know the nearest of the balls the nearest of the balls that these know."""
    around = np.pad(nearest, 1, constant_values=-1).ravel()
    node = np.argwhere(nearest < 0)
    strides = np.cumprod([1, *(n + 2 for n in nearest.shape[:0:-1])])[::-1]
    place = (node + 1) @ strides
    least, found = np.full(len(node), np.inf), np.full(len(node), -1)
    for offset in itertools.product((-1, 0, 1), repeat=x.shape[1]):
        ball = around[place + np.dot(offset, strides)]
        known = np.flatnonzero(ball >= 0)
        ball = ball[known]
        apart = np.linalg.norm(low + node[known] * step - x[ball], axis=1) - radius[ball]
        less = apart < least[known]
        least[known[less]], found[known[less]] = apart[less], ball[less]
    at = tuple(node.T)
    phi[at], nearest[at] = least, found


def _squares(mass: FloatArray, spacing: FloatArray) -> FloatArray:
    """The inertia of particles that are squares or cubes, about their centres."""
    return np.eye(3) * float(mass @ spacing**2) / 6


# --- inertia of shapes -----------------------------------------------------------------------------------------------


def _second_moment(x: FloatArray, mass: FloatArray) -> FloatArray:
    """Σ m r rᵀ about the centre of mass, (3, 3)."""
    S = np.zeros((3, 3))
    r = x - mass @ x / mass.sum()
    S[: x.shape[1], : x.shape[1]] = np.einsum("p,pi,pj", mass, r, r)
    return S


def _inertia(second: FloatArray) -> FloatArray:
    return np.asarray(np.eye(3) * np.trace(second) - second)


def _moments(shape: Shape, program: Program, d: int) -> tuple[FloatArray, FloatArray]:
    """The centroid (d,) of a shape, and its second moment about it over its volume, (3, 3)."""
    second = np.zeros((3, 3))
    if isinstance(shape, Ball):
        second[:d, :d] = np.eye(d) * shape.radius**2 / (d + 2)
        return np.asarray(shape.center), second
    low, high = (np.asarray(end) for end in shape.bounds)
    count = np.maximum(np.ceil((high - low) / (high - low).max() * CELLS[d]), 8).astype(np.int64)
    side = (high - low) / count
    axes = (low[a] + (np.arange(count[a]) + 0.5) * side[a] for a in range(d))
    y = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
    phi, normal = measure(program, y)
    weight = np.clip(0.5 - phi / (np.abs(normal) @ side), 0, 1)  # the share of a cell that is inside
    weight /= weight.sum()
    second = _second_moment(y, weight)
    second[np.arange(d), np.arange(d)] += side**2 / 12
    return weight @ y, second


def _centred(sampled: Sampled, centre: FloatArray) -> Sampled:
    """The particles with masses that vary a little over the body, so that their centre of mass is this one (d,), and
    with the velocities that its rotation about it gives."""
    x, mass, body = sampled.x, sampled.mass, sampled.body
    own = mass @ x / mass.sum()
    shift = centre - own
    if np.abs(shift).max() < 1e-9 * float(np.median(sampled.volume)) ** (1 / x.shape[1]):
        return sampled
    r = x - own
    slope = np.linalg.lstsq(np.einsum("p,pi,pj", mass, r, r), mass.sum() * shift, rcond=1e-9)[0]
    share = 1 + r @ slope
    if share.min() < 0.5:  # the particles are no picture of the shape
        return sampled
    omega = np.atleast_1d(np.asarray(body.angular_velocity, dtype=np.float64))
    turned = omega[0] * np.array([-shift[1], shift[0]]) if len(shift) == 2 else np.cross(omega, shift)
    v = sampled.v - turned if np.any(body.angular_velocity) else sampled.v
    return replace(sampled, mass=mass * share, v=np.ascontiguousarray(v))


# --- points of a surface ---------------------------------------------------------------------------------------------


def _surface(
    shape: Shape, program: Program, x: FloatArray, s: float, dx: float, name: str
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """The points of a surface, in the domain's frame, and for each particle the number of the point that it keeps."""
    n, d = x.shape
    if isinstance(shape, Ball):
        whole = _balls(np.asarray(shape.center)[None], np.array([shape.radius]))
        keeper = np.zeros(n, dtype=np.int64)
        keeper[0] = 1
        return whole, keeper
    corner = np.array(list(itertools.product((-0.5, 0.5), repeat=d))) * s
    near = np.flatnonzero(measure(program, x)[0] > -1.05 * s - 0.5 * s * (d**0.5 - 1))
    y = (x[near, None] + corner).reshape(-1, d)
    owner = np.repeat(near, len(corner))
    distances = _has_distances(program, y, s)
    if distances:
        layer = np.abs(measure(program, y)[0]) < LAYER * s
        y, owner = y[layer], owner[layer]
    else:
        y, owner = _crossings(program, x, 2 * corner)
    sharp = _features(shape, s)
    y, owner = np.concatenate([sharp, y]), np.concatenate([np.full(len(sharp), VERTEX), owner])
    for _ in range(3 if distances else 0):
        phi, normal = measure(program, y)
        y = y - phi[:, None] * normal
    if distances and not _is_plain(shape):
        edges = _edges(program, y, s)
        y, owner = np.concatenate([y, edges]), np.concatenate([owner, np.full(len(edges), EDGE)])
    found = np.abs(measure(program, y)[0]) < 1e-3 * s
    lost = len(found) - np.count_nonzero(found)
    y, owner = y[found], owner[found]
    if (
        2 * lost >= len(found)
        or (y.min(axis=0) > x.min(axis=0) + 0.25 * s).any()
        or (y.max(axis=0) < x.max(axis=0) - 0.25 * s).any()
    ):
        raise ValueError(
            f"body {name!r}: {lost} of {len(found)} points of its surface are not found, or they do not enclose its "
            "particles; the values of its shape must be near to signed distances, a particle long"
        )
    # Of points that are near to each other one is enough; but each vertex has a cone of its own, and stays.
    cell = np.rint(y / (ALIKE * s)).astype(np.int64)
    fine = np.rint(y / (1e-6 * s)).astype(np.int64) * (owner == VERTEX)[:, None]
    _, group = np.unique(cell, axis=0, return_inverse=True)
    sharpest = np.zeros(len(y), dtype=bool)
    sharpest[group[owner == VERTEX]] = True  # by group: it has a vertex
    kept = np.flatnonzero((owner == VERTEX) | ~sharpest[group])
    key = np.hstack([cell, fine, (owner == EDGE)[:, None]])
    _, first = np.unique(key[kept], axis=0, return_index=True)
    first = kept[np.sort(first)]
    y, owner = y[first], owner[first]
    keeper = np.zeros(n, dtype=np.int64)
    for number, (place, own) in enumerate(zip(y, owner.tolist(), strict=True), start=1):
        particle = own if own >= 0 else int(np.square(x - place).sum(axis=1).argmin())
        if not keeper[particle]:
            keeper[particle] = number
    return _with_cones(program, y, s, dx), keeper


def _is_plain(shape: Shape) -> bool:
    """Are all edges of a shape found by `_features`?"""
    while isinstance(shape, _Moved):
        shape = shape.shape
    return isinstance(shape, (Ball, Box, Polygon))


def _edges(program: Program, y: FloatArray, s: float) -> FloatArray:
    """Places (m, d) on the edges near points y (n, d) of a surface: a tilted cylinder touches with its rims."""
    d = y.shape[1]
    if not len(y):
        return y
    own = measure(program, y)[1]
    reach = 0.6 * s * np.array([u for u in itertools.product((-1, 0, 1), repeat=d) if any(u)])
    phi, normals = measure(program, (y[:, None] + reach).reshape(-1, d))
    normals = normals.reshape(len(y), -1, d)
    most = np.einsum("pkd,pd->pk", normals, own).argmin(axis=1)
    rows = np.arange(len(y))
    other = normals[rows, most]
    place = y + reach[most] - phi.reshape(len(y), -1)[rows, most][:, None] * other
    alike = np.einsum("pd,pd->p", own, other)
    turns = (alike < np.cos(SHARP)) & (alike > -0.9)
    y, own, other, place, alike = y[turns], own[turns], other[turns], place[turns], alike[turns]
    # The nearest place in both tangent planes, a little outside: there the edge is the nearest part of the surface.
    across = other - alike[:, None] * own
    way = (np.einsum("pd,pd->p", other, place - y) / (1 - alike**2))[:, None] * across
    near = np.linalg.norm(way, axis=1) < 1.5 * s
    found = y[near] + way[near] + 0.05 * s * (own + other)[near]
    for _ in range(4):
        phi, normal = measure(program, found)
        found = found - phi[:, None] * normal
    around = measure(program, (found[:, None] + reach * (NEAR / 0.6)).reshape(-1, d))[1].reshape(
        len(found), len(reach), d
    )
    mean = around.mean(axis=1)
    sharp: FloatArray = found[np.linalg.norm(mean, axis=1) < np.cos(0.5 * SHARP)]
    return sharp


def _has_distances(program: Program, y: FloatArray, s: float) -> bool:
    """Are the values of a shape near y (n, d) distances? Those of a lattice may have another slope."""
    normal = measure(program, y)[1]
    ahead, behind = (measure(program, y + sign * 0.25 * s * normal)[0] for sign in (1, -1))
    wrong = np.abs((ahead - behind) / (0.5 * s) - 1) > 0.1
    return len(y) > 0 and 4 * int(np.count_nonzero(wrong)) <= len(
        y
    )  # distances have other slopes at their ridges only


def _crossings(program: Program, x: FloatArray, way: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Where the ways (k, d) from particles inside lead through the surface, and the particle of each place."""
    start, owner = np.repeat(x, len(way), axis=0), np.repeat(np.arange(len(x)), len(way))
    along = np.tile(way, (len(x), 1))
    leaves = (measure(program, start)[0] < 0) & (measure(program, start + along)[0] >= 0)
    start, along, owner = start[leaves], along[leaves], owner[leaves]
    low, high = np.zeros((len(start), 1)), np.ones((len(start), 1))
    for _ in range(50):
        middle = 0.5 * (low + high)
        inside = measure(program, start + middle * along)[0][:, None] < 0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return start + high * along, owner


def _features(shape: Shape, s: float) -> FloatArray:
    """Vertices of boxes and polygons of which a shape is made, and in 3-D places along edges of boxes."""
    d = shape.dimension
    found = [
        _of_leaf(leaf, matrix, shift, s) for leaf, matrix, shift in _leaves(shape, np.eye(d), np.zeros(d))
    ]
    return np.concatenate([np.zeros((0, d)), *found])


def _leaves(
    shape: Shape, matrix: FloatArray, shift: FloatArray
) -> list[tuple[Shape, FloatArray, FloatArray]]:
    if isinstance(shape, _Moved):
        return _leaves(shape.shape, matrix @ shape.matrix, matrix @ shape.shift + shift)
    if isinstance(shape, _Combined):
        return [leaf for part in shape._operands() for leaf in _leaves(part, matrix, shift)]
    return [(shape, matrix, shift)]


def _of_leaf(leaf: Shape, matrix: FloatArray, shift: FloatArray, s: float) -> FloatArray:
    d = leaf.dimension
    if isinstance(leaf, Polygon):
        return np.asarray(leaf.vertices) @ matrix.T + shift
    if not isinstance(leaf, Box):
        return np.zeros((0, d))
    low, high = np.asarray(leaf.lower), np.asarray(leaf.upper)
    places = [np.where(side, high, low) for side in itertools.product((0, 1), repeat=d)]
    for axis in range(d) if d == 3 else ():
        length = np.linalg.norm(matrix[:, axis]) * (high[axis] - low[axis])
        along = np.linspace(0, 1, max(2, int(np.ceil(length / s)) + 1))[1:-1]
        for side in itertools.product((0, 1), repeat=2):
            ends = np.insert(np.array(side, dtype=float), axis, 0)
            for t in along:
                ends[axis] = t
                places.append(low + ends * (high - low))
    return np.array(places) @ matrix.T + shift


def _with_cones(program: Program, y: FloatArray, s: float, dx: float) -> FloatArray:
    """Rows of points from places on the surface."""
    n, d = y.shape
    beside = np.array([u for u in itertools.product((-1, 0, 1), repeat=d) if any(u)]) * NEAR * s
    normals = measure(program, (y[:, None] + beside).reshape(-1, d))[1].reshape(n, -1, d)
    axis = normals.mean(axis=1)
    axis /= np.maximum(np.linalg.norm(axis, axis=1), 1e-300)[:, None]
    angle = np.arccos(np.clip(np.einsum("pkd,pd->pk", normals, axis), -1, 1)).max(axis=1)
    spline = spline_of(program, d)
    inverse, turning = _curvature(program, y, axis, s, dx, spline)
    smooth = angle < SHARP
    if spline is not None:
        curved = np.flatnonzero(smooth & inverse.any(axis=(1, 2)))
        fits, place, normal, better = _on_spline(spline, y[curved], axis[curved])
        curved = curved[fits]
        y[curved], axis[curved], inverse[curved] = place[fits], normal[fits], better[fits]
    inverse[~smooth] = 0
    angle = angle + CONE + np.where(smooth, 1.2 * s * turning, 0)
    points = np.zeros((n, NUMBERS))
    points[:, :d], points[:, 4 : 4 + d] = y, axis
    points[:, 7] = np.cos(np.minimum(angle, np.pi))
    points[:, 8:] = inverse.reshape(n, 9)
    return points


def _curvature(
    program: Program, y: FloatArray, axis: FloatArray, s: float, dx: float, spline: Spline | None
) -> tuple[FloatArray, FloatArray]:
    """The inverse shape operator (n, 3, 3) across the normal, and the largest curvature (n,) [1/m]: both 0 where the
    surface is flat, hollow or sharp, the first also at a blunt edge."""
    n = len(y)
    on_lattice = spline is not None or len(program.numbers) > 1000
    # Distances on a lattice are smooth over its cells.
    step = spline.cell if spline is not None else dx if on_lattice else 0.25 * s
    across = _tangents(axis)
    K, largest = _shape_operator(program, y, across, step)
    value, vector = np.linalg.eigh(K)
    size = float(np.ptp(y, axis=0).max()) if n else 1.0
    curved = (value > 0.25 / size) & (largest < 2 * SHARP)[:, None]
    largest_curvature = np.where(curved, value, 0).max(axis=1, initial=0)
    if not on_lattice:  # over a blunt edge, normals turn by as much within half of the way
        nearer = _shape_operator(program, y, across, 0.5 * step)[0]
        differs = np.linalg.norm(nearer - K, axis=(1, 2)) > BLUNT * np.linalg.norm(K, axis=(1, 2))
        curved &= ~differs[:, None]
    return _inverse(across, value, vector, curved), largest_curvature


def _tangents(axis: FloatArray) -> FloatArray:
    """Of a surface with the normals `axis` (n, d): (n, d - 1, d)."""
    return np.asarray(np.linalg.svd(axis[:, None, :])[2][:, 1:])


def _inverse(
    across: FloatArray, value: FloatArray, vector: FloatArray, curved: npt.NDArray[np.bool_]
) -> FloatArray:
    """The inverse shape operator (n, 3, 3) from the curvatures (n, d - 1) and their directions in the tangents."""
    n, _, d = across.shape
    radius = np.where(curved, 1 / np.where(curved, value, 1), 0)
    in_plane = np.einsum("pak,pk,pbk->pab", vector, radius, vector)
    inverse = np.zeros((n, 3, 3))
    inverse[:, :d, :d] = np.einsum("pad,pab,pbe->pde", across, in_plane, across)
    return inverse


def _on_spline(
    spline: Spline, y: FloatArray, axis: FloatArray
) -> tuple[npt.NDArray[np.bool_], FloatArray, FloatArray, FloatArray]:
    """Points, normals and inverse shape operators of curved points y (n, d) of a lattice on the surface of its spline:
    the normals of the lattice jump between its cells. Only where this surface is near: beside an edge, or a plateau of
    the values, the spline overshoots."""
    place = y
    for _ in range(4):
        phi, gradient, second = spline.at(place)
        size2 = np.maximum(np.square(gradient).sum(axis=1), 1e-300)
        place = place - (phi / size2)[:, None] * gradient
    phi, gradient, second = spline.at(place)
    size = np.maximum(np.linalg.norm(gradient, axis=1), 1e-300)
    normal = gradient / size[:, None]
    across = _tangents(normal)
    value, vector = np.linalg.eigh(
        np.einsum("pad,pde,pbe->pab", across, second, across) / size[:, None, None]
    )
    fits = np.linalg.norm(place - y, axis=1) < 0.25 * spline.cell
    fits &= np.einsum("pd,pd->p", normal, axis) > 0.9
    fits &= (value > 0).all(axis=1) & (value.max(axis=1) * spline.cell < 2)
    return fits, place, normal, _inverse(across, value, vector, value > 0)


def _shape_operator(
    program: Program, y: FloatArray, across: FloatArray, step: float
) -> tuple[FloatArray, FloatArray]:
    """How the normal changes along the tangents `across` (n, d - 1, d), by differences over a step: (n, d - 1, d - 1)
    [1/m]; and the largest angle (n,) by which it turns."""
    n, d = y.shape
    K, largest = np.zeros((n, d - 1, d - 1)), np.zeros(n)
    for k in range(d - 1):
        ahead, behind = (measure(program, y + sign * step * across[:, k])[1] for sign in (1, -1))
        K[:, k] = np.einsum("pjd,pd->pj", across, ahead - behind) / (2 * step)
        largest = np.maximum(largest, np.arccos(np.clip(np.einsum("pd,pd->p", ahead, behind), -1, 1)))
    return 0.5 * (K + K.transpose(0, 2, 1)), largest


# --- bad input -------------------------------------------------------------------------------------------------------


def refuse_overlap(
    form: Form, name: str, others: Iterable[tuple[str, Callable[[FloatArray], FloatArray]]], dx: float
) -> None:
    """Raise ValueError if points of a surface lie deep in another rigid body: a name and a distance (m, d) -> (m,)
    in the frame of the domain each."""
    d = len(form.reference)
    places, radii = form.points[:, :d] + form.reference, form.points[:, 3]
    for other, distance in others:
        depth = float((radii - distance(places)).max(initial=0))
        if depth > DEEPEST * dx:
            raise ValueError(
                f"rigid body {name!r} begins {depth:.3g} m deep in {other}: must be at most {DEEPEST} dx = "
                f"{DEEPEST * dx:.3g} m; move it"
            )


def distance_of(form: Form, place: FloatArray, rotation: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """The distance of a rigid body, the origin of whose rest frame has come to this place (d,) with this rotation."""
    program = form.program
    return lambda y: measure(program, (y - place) @ rotation + form.reference)[0]


def warn_of_thin(form: Form, sampled: Sampled, dx: float) -> None:
    """Warn of a rigid body that deformable material passes through."""
    if isinstance(sampled.body.shape, Points):
        return
    d = sampled.x.shape[1]
    spacing = float(np.median(sampled.volume)) ** (1 / d)
    thick = spacing - 2 * float(measure(form.program, sampled.x)[0].min())
    if thick < (1 - 1e-6) * dx:
        warnings.warn(
            f"rigid body {sampled.body.name!r} is some {thick:.2g} m thick, and cells are {dx:.3g} m: deformable "
            "material passes through it; choose a smaller dx or a thicker shape",
            UserWarning,
            stacklevel=_check.levels_to_caller(),
        )


def near_rigid(
    form: Form,
    forms: Mapping[int, Form],
    names: Mapping[int, str],
    field: Callable[[str], npt.NDArray[Any]],
    dx: float,
) -> Iterator[tuple[str, Callable[[FloatArray], FloatArray]]]:
    """The rigid bodies by material that are near another form: names, and distances in the frame of the domain."""
    d, radius = len(form.reference), form.points[:, 3:4] + dx
    places = form.points[:, :d] + form.reference
    low, high = (places - radius).min(axis=0), (places + radius).max(axis=0)
    materials = field("material") if forms else np.zeros(0)
    for number, other in forms.items():
        rows = np.flatnonzero(materials == number)
        if not len(rows):
            continue
        x, rest, m, F = (
            np.asarray(field(name)[rows], dtype=np.float64) for name in ("x", "rest", "mass", "F")
        )
        if (x.max(axis=0) < low).any() or (x.min(axis=0) > high).any():
            continue
        place = m @ (x - rest @ F[0].T) / m.sum()
        yield f"rigid body {names.get(number, '')!r}", distance_of(other, place, F[0])
