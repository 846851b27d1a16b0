"""Stresses of level ground under its own weight, as deformation gradients at the beginning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.materials.laws import Material
from mpm.shapes import Points, Shape

__all__ = ["Lithostatic", "columns_above", "make_all"]

PIECES = 512  # of a column, each with one material
HALVINGS = 40  # of a piece in which a surface lies
CHUNK = 1 << 21  # points that are asked together
STEPS = 40  # of Newton's method
SOLVED = 1e-11  # of the stress
SMALL = 1e-7  # a strain, for derivatives
YIELDED = 1e-2  # of the stress: what the return map may take away
AXES = "xyz"


class Body(Protocol):
    """A body of a scene."""

    @property
    def name(self) -> str:
        """Unique in the scene."""

    @property
    def shape(self) -> Shape:
        """The place of the body at the beginning."""

    @property
    def material(self) -> Material:
        """The material of the body."""

    @property
    def F(self) -> Any:
        """The deformation gradient at the beginning."""


def columns_above(
    layers: Sequence[tuple[Shape, float]], x: FloatArray, axis: int, lower: float, upper: float, up: float
) -> FloatArray:
    """The mass per area above points.

    Parameters
    ----------
    layers : sequence of (Shape, float)
        Bodies with their densities [kg/m³].
    x : ndarray, shape (n, d)
        The points [m].
    axis, up : int, float
        Gravity is along this axis; `up` is 1 or -1, the direction against gravity.
    lower, upper : float
        The faces of the domain across the axis [m].

    Returns
    -------
    ndarray, shape (n,)
        Σ ρ times the length of the column in the body [kg/m²].
    """
    others = [a for a in range(x.shape[1]) if a != axis]
    places, column = np.unique(x[:, others], axis=0, return_inverse=True)
    column = column.reshape(-1)
    heights = np.linspace(lower, upper, PIECES + 1)
    mass = np.zeros(len(x))
    per_chunk = max(1, CHUNK // len(heights))
    for shape, density in layers:
        for first in range(0, len(places), per_chunk):
            part = places[first : first + per_chunk]
            own = np.flatnonzero((column >= first) & (column < first + len(part)))
            mass[own] += density * _lengths(
                shape, part, others, axis, heights, column[own] - first, x[own, axis], up
            )
    return mass


def _lengths(
    shape: Shape,
    places: FloatArray,
    others: list[int],
    axis: int,
    heights: FloatArray,
    column: Any,
    begin: FloatArray,
    up: float,
) -> FloatArray:
    """The length (n,) of the columns above `begin` (n,) that lies in a shape."""

    def inside(which: Any, at: FloatArray) -> Any:
        points = np.empty((len(at), len(others) + 1))
        points[:, others], points[:, axis] = places[which], at
        return shape.contains(points)

    m, k = len(places), len(heights)
    known = inside(np.repeat(np.arange(m), k), np.tile(heights, m)).reshape(m, k)
    which, piece = np.nonzero(known[:, 1:] != known[:, :-1])
    low, high = heights[piece], heights[piece + 1]
    begins = known[which, piece]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        same = inside(which, middle) == begins
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    surface = (low + high) / 2
    leaves = np.where(begins, 1.0, -1.0) * up  # along `up`
    order = np.argsort(which, kind="stable")
    count = np.bincount(which, minlength=m)
    first = np.concatenate([[0], np.cumsum(count)])[:-1]
    end = heights[-1] if up > 0 else heights[0]
    found = np.where(known[column, -1 if up > 0 else 0], up * (end - begin), 0.0)
    for number in range(int(count.max(initial=0))):
        there = np.flatnonzero(count[column] > number)
        at = order[first[column[there]] + number]
        found[there] += leaves[at] * np.maximum(up * (surface[at] - begin[there]), 0)
    return np.asarray(found)


@dataclass(frozen=True, eq=False, slots=True)
class Lithostatic:
    """Deformation gradients of a body under the weight of the ground above. Made by `Scene.lithostatic`."""

    body: str
    material: Material
    K0: float
    layers: tuple[tuple[Shape, float], ...]
    gravity: FloatArray
    lower: FloatArray
    upper: FloatArray

    def __repr__(self) -> str:
        return f"lithostatic(K0={self.K0:g})"

    def vertical(self, x: FloatArray) -> FloatArray:
        """The vertical stress (n,) at points x (n, d), compression positive [Pa]."""
        axis = int(np.argmax(np.abs(self.gravity)))
        up = -float(np.sign(self.gravity[axis]))
        ends = float(self.lower[axis]), float(self.upper[axis])
        return abs(float(self.gravity[axis])) * columns_above(self.layers, x, axis, *ends, up)

    def __call__(self, x: FloatArray) -> FloatArray:
        """F (n, d, d) of particles at x (n, d) [m]."""
        d = x.shape[1]
        axis = int(np.argmax(np.abs(self.gravity)))
        vertical = self.vertical(x)
        if (pore := self.material.pore) is not None:
            vertical = vertical - pore.biot * pore._initial(x, self.gravity)
        stress = np.repeat(-self.K0 * vertical[:, None], d, axis=1)
        stress[:, axis] = -vertical
        strain = _strains(self.material, stress, axis, x, self.body, self.K0)
        F = np.zeros((len(x), d, d))
        F[:, range(d), range(d)] = np.exp(strain)
        return F


def _strains(
    material: Material, stress: FloatArray, axis: int, x: FloatArray, body: str, K0: float
) -> FloatArray:
    """Logarithms of the stretches (n, d) whose Kirchhoff stresses along the axes are `stress` (n, d) [Pa]."""
    n, d = stress.shape
    varying = _varying(material, x, body)
    isotropic = material._row["strain"] == "J"
    sides = np.arange(d) != axis

    def tau(strain: FloatArray) -> FloatArray:
        F = np.zeros((n, d, d))
        F[:, range(d), range(d)] = np.exp(strain)
        return np.asarray(material._evaluate(F, None, None, varying).tau)[:, range(d), range(d)]

    def spread(unknowns: FloatArray) -> FloatArray:
        """Strains of all axes from those along gravity and across it."""
        return (
            np.where(sides, unknowns[:, 1:], unknowns[:, :1])
            if unknowns.shape[1] == 2
            else np.repeat(unknowns, d, axis=1)
        )

    wanted = stress[:, [axis, int(np.flatnonzero(sides)[0])]][:, : 1 if isotropic else 2]
    unknowns = np.zeros_like(wanted)
    size = np.abs(wanted).max(axis=1, initial=0)
    largest = float(size.max(initial=0))
    pick = [axis, int(np.flatnonzero(sides)[0])][: wanted.shape[1]]
    for _ in range(STEPS):
        now = tau(spread(unknowns))[:, pick]
        error = now - wanted
        if np.abs(error).max(initial=0) <= SOLVED * largest:
            break
        slope = np.empty((n, len(pick), len(pick)))
        for k in range(len(pick)):
            moved = unknowns.copy()
            moved[:, k] -= SMALL
            slope[:, :, k] = (now - tau(spread(moved))[:, pick]) / SMALL
        if not (np.isfinite(slope).all() and (np.abs(np.linalg.det(slope)) > 0).all()):
            break
        step = np.linalg.solve(slope, error[:, :, None])[:, :, 0]
        unknowns = unknowns - np.clip(step, -0.2, 0.2)
    found = tau(spread(unknowns))[:, pick]
    worst = int(np.argmax(np.abs(found - wanted).max(axis=1))) if n else 0
    if n and not np.abs(found - wanted).max() <= 1e-6 * largest:
        raise ValueError(
            f"lithostatic: no state of {body!r} bears the stresses {wanted[worst, 0]:.4g} Pa along gravity and "
            f"{K0:g} times that across it"
        )
    strain = spread(unknowns)
    if not material._varies:
        _refuse_yield(material, strain, largest, body, K0)
    return strain


def _varying(material: Material, x: FloatArray, body: str) -> FloatArray | None:
    """The parameters that vary, at points, as the law takes them."""
    if not material._varies:
        return None
    values = material._sampled(x, body, "float64")
    if "density" in values:
        raise ValueError(
            f"lithostatic: the density of {body!r} varies; give it several bodies of one density each"
        )
    return np.stack([values[name] for name in values], axis=1)


def _refuse_yield(material: Material, strain: FloatArray, largest: float, body: str, K0: float) -> None:
    """Raise where the law cannot bear the stresses."""
    n, d = strain.shape
    if not n or not material._row["return_map"]:
        return
    F = np.zeros((n, d, d))
    F[:, range(d), range(d)] = np.exp(strain)
    history = np.repeat(material._initial_history(d)[None], n, axis=0)
    after, kept = material._return_map(F, history, 0.0, np.zeros_like(F))
    lost = np.abs(material._evaluate(after, kept).tau - material._evaluate(F, history).tau).max()
    if lost > YIELDED * largest:
        raise ValueError(
            f"lithostatic: K0 = {K0:g} of {body!r}: the material yields in this state; must be between its active and "
            "its passive earth pressure, and its cap beyond the stresses"
        )


def make_all(
    bodies: Sequence[Body],
    K0: object,
    *,
    gravity: FloatArray,
    body_force: object,
    lower: FloatArray,
    upper: FloatArray,
) -> dict[str, Lithostatic]:
    """The F of each body by name; checks the arguments of `Scene.lithostatic`."""
    if body_force is not None:
        raise ValueError("lithostatic: the scene has a body force; must have a constant gravity alone")
    if np.count_nonzero(gravity) != 1:
        raise ValueError(f"lithostatic: gravity = {gravity.tolist()} m/s²: must be along an axis, and not 0")
    soft = [body for body in bodies if not body.material._row["rigid"]]
    if not soft:
        raise ValueError("lithostatic: the scene has no body that deforms; add them before")
    ratios = _ratios(K0, [body.name for body in soft])
    for body in soft:
        if isinstance(body.shape, Points):
            raise ValueError(f"lithostatic: body {body.name!r} is of Points, which have no inside")
        if body.F is not None and body.name in ratios:
            raise ValueError(f"lithostatic: body {body.name!r} has an F already")
    for body in bodies:
        if "density" in body.material._varies:
            raise ValueError(
                f"lithostatic: the density of {body.name!r} varies; give it several bodies of one density each"
            )
    layers = tuple(
        (body.shape, float(body.material._parameter("density")))
        for body in bodies
        if not isinstance(body.shape, Points)
    )
    for body in soft:
        if body.name in ratios and body.material._row["strain"] == "J" and ratios[body.name] != 1:
            raise ValueError(
                f"K0 = {ratios[body.name]:g} of {body.name!r}: a fluid has the same pressure all around; must be 1"
            )
    return {
        body.name: Lithostatic(body.name, body.material, ratios[body.name], layers, gravity, lower, upper)
        for body in soft
        if body.name in ratios
    }


def _ratios(K0: object, names: Sequence[str]) -> dict[str, float]:
    """K0 by body."""
    if not isinstance(K0, Mapping):
        value = _check.number("K0", K0, low=0)
        return dict.fromkeys(names, value)
    if not K0:
        raise ValueError("K0 = {}: must name a body")
    for name in K0:
        _check.choice("K0", name, tuple(names))
    return {name: _check.number(f"K0[{name!r}]", value, low=0) for name, value in K0.items()}
