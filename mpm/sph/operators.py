"""The sums of SPH for arrays of your own: the kernel, neighbours, and the operators that the methods are made of.

With m_j the masses, ρ_j the densities and x_ij = x_i − x_j, a quantity and its derivatives at particle i are

    A_i = Σ m_j/ρ_j A_j W_ij
    ∇A_i = Σ m_j/ρ_j A_j ∇W_ij                             `gradient`, plain
    ∇A_i = ρ_i Σ m_j (A_i/ρ_i² + A_j/ρ_j²) ∇W_ij           `gradient`, symmetric: forces of it conserve momentum
    ∇·A_i = −1/ρ_i Σ m_j A_ij·∇W_ij                        `divergence`
    ∇²A_i = Σ m_j/ρ_j A_j ∇²W_ij                           `laplacian`, plain
    ∇²A_i = 2 Σ m_j/ρ_j A_ij (x_ij·∇W_ij)/(x_ij² + 0.01 h²)                      `laplacian`
    ∇²A_i = 2 (d + 2) Σ m_j/ρ_j (A_ij·x_ij)/(x_ij² + 0.01 h²) ∇W_ij              `laplacian`, central, of a velocity

(Monaghan, Rep. Prog. Phys. 68 (2005) 1703; Morris, Fox, Zhu, J. Comput. Phys. 136 (1997) 214.) They are written in
NumPy, apart from the core, so that each can check the other. Where neighbours are missing, all of them are wrong.

>>> import numpy as np
>>> from mpm.sph import operators
>>> x = np.stack(np.meshgrid(*2 * [np.arange(16) / 16 + 1 / 32], indexing="ij"), axis=-1).reshape(-1, 2)
>>> pairs = operators.neighbours(x, 1.3 / 16, period=(1, 1))
>>> density = operators.density(x, np.full(len(x), 1 / 256), 1.3 / 16, pairs)
>>> float(np.ptp(density)) < 1e-12
True
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray

__all__ = [
    "Pairs",
    "density",
    "divergence",
    "gradient",
    "kernel",
    "kernel_gradient",
    "kernel_laplacian",
    "laplacian",
    "neighbours",
]

KERNELS = ("cubic", "wendland")
SOFT = 0.01  # of h², which keeps the denominators of close pairs from 0


class Pairs(NamedTuple):
    """Neighbours: every pair of particles nearer than 2h, in both orders, and each with itself; by i, then j.

    Attributes
    ----------
    i, j : ndarray of int, shape (k,)
        The particles.
    apart : ndarray, shape (k, d)
        x_i − x_j [m], to the nearest image if there are periods.
    """

    i: npt.NDArray[np.int64]
    j: npt.NDArray[np.int64]
    apart: FloatArray


def kernel(r: npt.ArrayLike, h: float, dimension: int, *, kind: str = "cubic") -> FloatArray:
    """W(r): the cubic spline α h^−d {⅔ − q² + q³/2, (2 − q)³/6}, q = r/h, or Wendland's C2 function.

    α is 1, 15/(7π), 3/(2π) in one, two and three dimensions. The integral is 1, the support 2h.

    Parameters
    ----------
    r : array_like
        Distances [m], >= 0.
    h : float
        Smoothing length [m].
    dimension : {1, 2, 3}
    kind : {"cubic", "wendland"}
        Wendland's function here has no form in one dimension.

    Returns
    -------
    ndarray, the shape of `r`
        W [m^−d].
    """
    q, factor = _scaled(r, h, dimension, kind)
    if kind == "cubic":
        return np.asarray(factor * (np.maximum(2 - q, 0) ** 3 - 4 * np.maximum(1 - q, 0) ** 3) / 6)
    return np.asarray(factor * np.maximum(1 - q / 2, 0) ** 4 * (1 + 2 * q))


def kernel_gradient(apart: npt.ArrayLike, h: float, *, kind: str = "cubic") -> FloatArray:
    """∇W at x_ij = `apart`, shape (k, d) [m]: by the position of particle i; 0 where both coincide.

    `h` and `kind` are as in `kernel`.
    """
    vectors = _check.array("apart", apart, (None, None))
    return _slope(vectors, h, kind)[:, None] * vectors


def kernel_laplacian(apart: npt.ArrayLike, h: float, *, kind: str = "cubic") -> FloatArray:
    """∇²W at x_ij = `apart`, shape (k,) [m^−(d + 2)]; `apart`, `h` and `kind` are as in `kernel_gradient`.

    It changes its sign within the support. Its integral is 0, and that of x² ∇²W is 2 for every axis x.
    """
    vectors = _check.array("apart", apart, (None, None))
    d = vectors.shape[1]
    q, factor = _scaled(_length(vectors), h, d, kind)
    if kind == "cubic":
        outer, inner = np.maximum(2 - q, 0), np.maximum(1 - q, 0)
        second = outer - 4 * inner  # W'' h²/factor
        # (4 (1 - q)² - (2 - q)²)/(2 q) in the inner part, without the division by 0
        first = np.where(q < 1, 1.5 * q - 2, -(outer**2) / (2 * np.maximum(q, 1)))  # W' h²/(factor q)
    else:
        t = np.maximum(1 - q / 2, 0)
        second, first = 7.5 * q * t**2 - 5 * t**3, -5 * t**3
    return np.asarray(factor / h**2 * (second + (d - 1) * first))


def neighbours(x: npt.ArrayLike, h: float, *, period: npt.ArrayLike | None = None) -> Pairs:
    """Pairs of particles nearer than 2h.

    Parameters
    ----------
    x : array_like, shape (n, d)
        Positions [m]; along a periodic axis, no two are farther apart than the period.
    h : float
        Smoothing length [m].
    period : array_like, shape (d,), optional
        Period of each axis [m], at least 4h; infinite where there is none.

    Returns
    -------
    Pairs
    """
    points = _check.array("x", x, (None, None))
    reach, d = 2 * _check.number("h", h, low=0, low_open=True, unit="m"), points.shape[1]
    lengths = np.full(d, np.inf) if period is None else _check.array("period", period, (d,), finite=False)
    if not (lengths >= 2 * reach).all():
        raise ValueError(f"period = {_check.shown(period)}: must be >= 4h = {2 * reach:g} along every axis")
    for axis, spread in enumerate(np.ptp(points, axis=0) if len(points) else ()):
        if spread > lengths[axis]:
            raise ValueError(
                f"x: spans {spread:g} m along {'xyz'[axis]}, where the period is {lengths[axis]:g} m; must be "
                "within one period: x - period*np.floor(x/period) is"
            )
    found = [_pairs(points, points, reach, np.zeros(d))]
    turns = [(0,) if math.isinf(length) else (-1, 0, 1) for length in lengths]
    for turn in itertools.product(*turns):
        if any(turn):
            shift = np.array([n * length if n else 0.0 for n, length in zip(turn, lengths, strict=True)])
            found.append(_pairs(points, points, reach, shift))
    i, j, apart = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((j, i))
    return Pairs(i[order], j[order], apart[order])


def density(
    x: npt.ArrayLike, mass: npt.ArrayLike, h: float, pairs: Pairs, *, kind: str = "cubic"
) -> FloatArray:
    """ρ_i = Σ m_j W_ij with j = i, shape (n,) [kg/m^d], of particles at x (n, d) with masses (n,)."""
    points = _check.array("x", x, (None, None))
    m = _check.array("mass", mass, (len(points),))
    j = _of(pairs, len(points)).j
    return _sum(pairs, len(points), m[j] * kernel(_length(pairs.apart), h, points.shape[1], kind=kind))


def gradient(
    A: npt.ArrayLike,
    mass: npt.ArrayLike,
    density: npt.ArrayLike,
    h: float,
    pairs: Pairs,
    *,
    symmetric: bool = False,
    kind: str = "cubic",
) -> FloatArray:
    """∇A, shape (n, d), of a scalar A (n,); plain, or symmetric, see the head of this module."""
    rho = _check.array("density", density, (None,))
    a, m = _check.array("A", A, rho.shape), _check.array("mass", mass, rho.shape)
    i, j, _ = _of(pairs, len(rho))
    weight = m[j] / rho[j] * a[j]
    if _check.flag("symmetric", symmetric):
        weight = rho[i] * m[j] * (a[i] / rho[i] ** 2 + a[j] / rho[j] ** 2)
    return _sum(pairs, len(rho), weight[:, None] * kernel_gradient(pairs.apart, h, kind=kind))


def divergence(
    A: npt.ArrayLike,
    mass: npt.ArrayLike,
    density: npt.ArrayLike,
    h: float,
    pairs: Pairs,
    *,
    kind: str = "cubic",
) -> FloatArray:
    """∇·A, shape (n,), of a vector A (n, d)."""
    rho = _check.array("density", density, (None,))
    i, j, apart = _of(pairs, len(rho))
    a, m = _check.array("A", A, (len(rho), apart.shape[1])), _check.array("mass", mass, rho.shape)
    along = ((a[i] - a[j]) * kernel_gradient(pairs.apart, h, kind=kind)).sum(axis=1)
    return _sum(pairs, len(rho), -m[j] / rho[i] * along)


def laplacian(
    A: npt.ArrayLike,
    mass: npt.ArrayLike,
    density: npt.ArrayLike,
    h: float,
    pairs: Pairs,
    *,
    central: bool = False,
    plain: bool = False,
    kind: str = "cubic",
) -> FloatArray:
    """∇²A of a scalar (n,) or a vector (n, d), component by component; central: of a velocity without divergence.

    The plain sum is the derivative of the interpolated A. Of a constant A it is not 0: it leaves A Σ m_j/ρ_j ∇²W_ij,
    which grows as 1/h² while h over the spacing stays the same (on a lattice in 2-D with h of two spacings, −0.013 A/h²
    with the cubic spline, −0.34 A/h² with Wendland's function). So methods take the other forms, which see differences
    alone; forces of the plain one do not conserve momentum either.
    """
    rho = _check.array("density", density, (None,))
    i, j, apart = _of(pairs, len(rho))
    d, r2 = apart.shape[1], (apart**2).sum(axis=1)
    a = _check.array("A", A, (len(rho), d) if central or np.ndim(A) == 2 else rho.shape)
    m = _check.array("mass", mass, rho.shape)
    if _check.flag("plain", plain):
        if _check.flag("central", central):
            raise ValueError("plain = True: must be False with central=True")
        weight = m[j] / rho[j] * kernel_laplacian(pairs.apart, h, kind=kind)
        return _sum(pairs, len(rho), (weight[:, None] if a.ndim == 2 else weight) * a[j])
    slope = _slope(pairs.apart, h, kind)  # of W, over r
    weight = m[j] / rho[j] * slope / (r2 + SOFT * h**2)
    if _check.flag("central", central):
        along = ((a[i] - a[j]) * pairs.apart).sum(axis=1)
        return _sum(pairs, len(rho), (2 * (d + 2) * weight * along)[:, None] * pairs.apart)
    weight = 2 * weight * r2
    return _sum(pairs, len(rho), (weight[:, None] if a.ndim == 2 else weight) * (a[i] - a[j]))


# ---- the pieces -----------------------------------------------------------------------------------------------------


def _of(pairs: object, n: int) -> Pairs:
    """The pairs, which must be those of n particles."""
    if not isinstance(pairs, Pairs):
        raise _check.wrong_type("pairs", pairs, "what neighbours(x, h) returns")
    if len(pairs.i) and (most := int(pairs.i.max())) >= n:
        raise ValueError(f"pairs: name particle {most}, of {n}; must be those of the same particles")
    return pairs


def _scaled(r: npt.ArrayLike, h: float, dimension: int, kind: str) -> tuple[FloatArray, float]:
    """q = r/h, and the factor of W."""
    length = _check.number("h", h, low=0, low_open=True, unit="m")
    d = _check.integer("dimension", dimension, low=1, high=3)
    chosen = _check.choice("kind", kind, KERNELS)
    factors = {
        "cubic": (1, 15 / (7 * math.pi), 3 / (2 * math.pi)),
        "wendland": (0, 7 / (4 * math.pi), 21 / (16 * math.pi)),
    }
    if not factors[chosen][d - 1]:
        raise ValueError("dimension = 1: kind='wendland' is for 2 and 3 dimensions; must be 2 or 3")
    distances = _check.array("r", r, (None,) * np.ndim(r), finite=False)
    return distances / length, factors[chosen][d - 1] / length**d


def _slope(apart: FloatArray, h: float, kind: str) -> FloatArray:
    """(dW/dr)/r, 0 where r is 0 or beyond the support."""
    r = _length(apart)
    q, factor = _scaled(r, h, apart.shape[1], kind)
    if kind == "cubic":
        slope = (4 * np.maximum(1 - q, 0) ** 2 - np.maximum(2 - q, 0) ** 2) / 2
        return np.asarray(np.divide(factor / h * slope, r, out=np.zeros_like(r), where=r > 1e-9 * h))
    return np.asarray(-5 * factor / h**2 * np.maximum(1 - q / 2, 0) ** 3)


def _length(vectors: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt((vectors**2).sum(axis=1)))


def _sum(pairs: Pairs, n: int, terms: FloatArray) -> FloatArray:
    """Σ over j, for every i."""
    result = np.zeros((n, *terms.shape[1:]))
    np.add.at(result, pairs.i, terms)
    return result


def _pairs(x: FloatArray, others: FloatArray, reach: float, shift: FloatArray) -> Pairs:
    """Pairs of x (n, d) with the `others` moved by `shift` that are nearer than `reach`, found by cells."""
    moved, d = others + shift, x.shape[1]
    none = np.zeros(0, dtype=np.int64)
    if not len(x) or not len(moved):
        return Pairs(none, none, np.zeros((0, d)))
    origin = np.minimum(x.min(axis=0), moved.min(axis=0))
    own, cells = (np.floor((points - origin) / reach).astype(np.int64) + 1 for points in (x, moved))
    sides = np.maximum(own.max(axis=0), cells.max(axis=0)) + 2
    strides = np.concatenate([[1], np.cumprod(sides[:-1])])
    order = np.argsort(cells @ strides, kind="stable")
    keys = (cells @ strides)[order]
    rows, found = [none], [none]
    for offset in itertools.product((-1, 0, 1), repeat=d):
        wanted = (own + np.array(offset)) @ strides
        first, end = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
        count = end - first
        start = np.repeat(first - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
        rows.append(np.repeat(np.arange(len(x)), count))
        found.append(order[start + np.arange(len(start))])
    i, j = np.concatenate(rows), np.concatenate(found)
    apart = x[i] - moved[j]
    near = (apart**2).sum(axis=1) < reach**2
    return Pairs(i[near], j[near], apart[near])
