"""Particles at given positions."""

from __future__ import annotations

import os
from typing import Never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpm.base import _check, later
from mpm.errors import FileFormatError
from mpm.shapes.arguments import as_array, as_rows, brief, called_as
from mpm.shapes.shape import Bools, Floats, Shape

CHOICES = ("voronoi", "grid-density", "per-cell")
OPEN = 2.0  # times the median reach of Voronoi cells: a cell that reaches farther lies at a free surface


@called_as("Points([(0.1, 0.1), (0.2, 0.1)], volume=0.01)")
class Points(Shape):
    """Particles at given positions: a body without an inside. Points cannot be combined with other shapes.

    Parameters
    ----------
    x : (n, d) array_like
        Positions [m]; n >= 1, d = 2 or 3.
    volume : float, (n,) array_like or str
        Volume of each particle [m³; in 2-D m²], above 0, which a body needs; or the name of a method:

        ``"voronoi"``
            The part of space that is nearest to the particle. Particles at the surface, whose part is infinite or
            reaches twice as far as usual, get the mean of their deeper neighbours. Needs SciPy.
        ``"grid-density"``
            dx^d / Σ w n from the number density n at the nodes of the simulation's grid (Stomakhin et al. 2013):
            correct inside a body, up to twice too large at its surface.
        ``"per-cell"``
            dx^d / particles_per_cell, correct for points that fill cells as a sampling does.

    Attributes
    ----------
    total : float or None
        Sum of the volumes [m³; in 2-D m²], where they do not depend on a grid.

    Examples
    --------
    >>> Points([(0.1, 0.1), (0.2, 0.1)], volume=0.01)
    Points(2 in 2-D, 0.02 m²)
    """

    _fields = ("x", "volume")
    _has_inside = False
    x: Floats
    volume: Floats | str | None

    def __init__(self, x: ArrayLike, *, volume: ArrayLike | str | None = None) -> None:
        positions = as_rows(x, "x", (2, 3))
        if not len(positions):
            raise ValueError("x: expected at least one point, got none")
        volumes: Floats | str | None = None
        if isinstance(volume, str):
            volumes = _check.choice("volume", volume, CHOICES)
            if volumes == "voronoi":
                volumes = _voronoi(positions)
        elif volume is not None:
            volumes = as_array(volume, "volume", f"() or ({len(positions)},)")
            if volumes.shape not in ((), (len(positions),)) or not (volumes > 0).all():
                raise ValueError(
                    f"volume: expected one or {len(positions)} numbers above 0, got {brief(volumes)}"
                )
            volumes = np.broadcast_to(volumes, len(positions)).copy()
            with np.errstate(over="ignore"):
                if not np.isfinite(volumes.sum()):
                    raise ValueError(f"volume: the sum must be finite, got {brief(volumes)}")
        self._set(x=positions, volume=volumes, dimension=positions.shape[1])

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        volume: ArrayLike | str | None = None,
        dimension: int | None = None,
    ) -> Points:
        """Points of a file of this or another program.

        Parameters
        ----------
        path : str or path
            By the suffix: ``.csv`` with a line of names (``x``, Houdini's ``P.x``, ``P[x]``, ``Px``, ParaView's
            ``Points:0``) or two or three bare columns; ``.geo`` and ``.bgeo``, Houdini's classic formats; ``.ply``,
            binary or ASCII; ``.npz`` with an array ``x``. `mpm.export` writes these formats, too.
        volume : optional
            As of `Points`. Default: the file's column or attribute ``volume``, if it has one.
        dimension : {2, 3}, optional
            Default: 2 if the file has no z, or all of them are 0.

        Raises
        ------
        ValueError
            Another suffix; ``dimension=2``, but the points do not lie in a plane z = constant.
        FileNotFoundError
            There is no such file.
        FileFormatError
            The file is damaged, has no points, or not finite ones. Nothing in it is executed.
        """
        found = later.module("mpm.io.formats").read(path)
        x = np.asarray(found["x"], dtype=np.float64)
        if not np.isfinite(x).all():
            row = int(np.flatnonzero(~np.isfinite(x).all(axis=1))[0])
            raise FileFormatError(
                f"{os.fspath(path)}: point {row + 1} of {len(x)} is not finite: {x[row].tolist()}"
            )
        if dimension is None:
            dimension = 2 if x.shape[1] == 2 or not x[:, 2].any() else 3
        else:
            dimension = _check.integer("dimension", dimension, low=2, high=3)
        if dimension > x.shape[1]:
            raise ValueError(f"dimension = 3: {os.fspath(path)!r} has points of a plane")
        if dimension < x.shape[1] and np.ptp(x[:, 2]) > 0:
            raise ValueError(f"dimension = 2: the points of {os.fspath(path)!r} have different z")
        if volume is None and "volume" in found:
            with np.errstate(all="ignore"):
                volume = np.asarray(found["volume"], dtype=np.float64)
            if volume.shape != (len(x),) or not (np.isfinite(volume) & (volume > 0)).all():
                raise FileFormatError(f"{os.fspath(path)}: its volumes must be one number above 0 per point")
        return cls(x[:, :dimension], volume=volume)

    @property
    def total(self) -> float | None:
        """Sum of the volumes [m³; in 2-D m²]; None where they depend on a grid or are missing."""
        return float(self.volume.sum()) if isinstance(self.volume, np.ndarray) else None

    def __repr__(self) -> str:
        unit = "m²" if self.dimension == 2 else "m³"
        known = f"{self.total:.6g} {unit}" if self.total is not None else f"volume={self.volume!r}"
        return f"Points({len(self.x)} in {self.dimension}-D, {known})"

    def contains(self, x: ArrayLike) -> Never:
        """Raise TypeError: points have no inside."""
        raise TypeError("Points is not a solid: it has no inside, so contains() has no answer")

    def _support(self, directions: Floats) -> Floats:
        return np.array([(self.x @ direction).max() for direction in directions])

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Points:
        factor = abs(float(np.linalg.det(matrix)))
        rigid = abs(factor - 1) < 1e-14  # a rotation's determinant is rounded
        scaled = isinstance(self.volume, np.ndarray) and not rigid
        return Points(self.x @ matrix.T + shift, volume=self.volume * factor if scaled else self.volume)  # type: ignore[operator]

    def __invert__(self) -> Never:
        raise TypeError("Points is not a solid: it cannot be inverted")


def _voronoi(x: Floats) -> Floats:
    """Volumes (n,) of the Voronoi cells: each ridge between two points is the base of a pyramid on either side."""
    spatial = _check.extra("scipy.spatial", "Points(volume='voronoi') needs SciPy", "fit", "scipy")
    n, d = x.shape
    if len(np.unique(x, axis=0)) < n:
        raise ValueError("x: two points are at the same place: volume='voronoi' gives none to one of them")
    try:
        cells = spatial.Voronoi(x)
    except (spatial.QhullError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"x: {n} points have no Voronoi cells (volume='voronoi'): {reason}") from None
    count = np.array([len(ridge) for ridge in cells.ridge_vertices])
    corner = np.concatenate([np.asarray(ridge) for ridge in cells.ridge_vertices])
    ridge = np.repeat(np.arange(len(count)), count)
    pair = cells.ridge_points
    reach = np.zeros(n)
    for side in range(2):
        owner = pair[ridge, side]
        far = np.where(corner < 0, np.inf, np.sqrt(((cells.vertices[corner] - x[owner]) ** 2).sum(axis=1)))
        np.maximum.at(reach, owner, far)
    first = (np.cumsum(count) - count)[ridge]
    following = corner[
        np.where(np.arange(len(corner)) + 1 < first + count[ridge], np.arange(len(corner)) + 1, first)
    ]
    a, b = cells.vertices[corner] - cells.vertices[corner[first]], cells.vertices[following]
    b = b - cells.vertices[corner[first]]
    if d == 2:
        size = np.sqrt((b**2).sum(axis=1))
        size[np.arange(len(corner)) != first] = 0  # a ridge has two ends
        area = np.bincount(ridge, size, minlength=len(count))
    else:
        fan = np.stack([np.bincount(ridge, part, minlength=len(count)) for part in np.cross(a, b).T], axis=1)
        area = np.sqrt((fan**2).sum(axis=1)) / 2
    area[np.bincount(ridge, corner < 0, minlength=len(count)) > 0] = 0
    apart = np.sqrt(((x[pair[:, 0]] - x[pair[:, 1]]) ** 2).sum(axis=1))
    pyramid = area * apart / (2 * d)
    volume = np.bincount(pair.ravel(), np.repeat(pyramid, 2), minlength=n).astype(np.float64)
    usual = np.median(reach[np.isfinite(reach)]) if np.isfinite(reach).any() else 0.0
    closed = (reach <= OPEN * usual) & (volume > 0)
    if not closed.any():
        raise ValueError(
            f"x: none of the {n} points lies inside, so none has a Voronoi cell (volume='voronoi')"
        )
    return _inherited(volume, closed, pair)


def _inherited(volume: Floats, closed: Bools, pair: NDArray[np.integer]) -> Floats:
    """Open cells get the mean volume of the closed ones around them, layer by layer."""
    both, n = np.concatenate([pair, pair[:, ::-1]]), len(volume)
    while not closed.all():
        use = closed[both[:, 1]] & ~closed[both[:, 0]]
        heirs = np.bincount(both[use, 0], minlength=n)
        if not heirs.any():
            volume[~closed] = volume[closed].mean()
            break
        sums = np.bincount(both[use, 0], volume[both[use, 1]], minlength=n)
        new = heirs > 0
        volume[new] = sums[new] / heirs[new]
        closed = closed | new
    return volume
