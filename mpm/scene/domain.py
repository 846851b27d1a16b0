"""Domains that are whole numbers of cells along each axis, and the shapes that may lie in them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check
from mpm.shapes import Shape

MOST = int(_core.options()["mpm"]["cells"]["float64"][1])  # cells along an axis
# (upper - lower)/dx must be a whole number within this tolerance.
WHOLE = 1e-9
NEAR = 0.1  # relative difference of another dx that is worth a proposal


class UnevenError(ValueError):
    """The cell size `dx`, which users call `name`, does not divide a side of the domain."""

    def __init__(
        self, name: str, lower: npt.NDArray[np.float64], upper: npt.NDArray[np.float64], dx: float
    ) -> None:
        extent = upper - lower
        fitting = ", ".join(f"{x:.15g}" for x in lower + whole_cells(extent, dx) * dx)
        exact = ", ".join(f"{x:.6g}" for x in extent / dx)
        self.flaw = f"{name} = {dx!r}: (upper - lower)/{name} = ({exact}) must be whole"
        near = nearest_dx(extent, dx)
        self.other = f"take {name} = {near:.15g}" if near else ""
        also = f", or {self.other}" if near and abs(near / dx - 1) <= NEAR else ""
        super().__init__(
            f"{self.flaw}; extend the domain to upper = ({fitting}), as scene.fitted({dx!r}) does{also}"
        )


def checked_shape(shape: object, dimension: int) -> Shape:
    """A shape of the scene's dimension."""
    if not isinstance(shape, Shape):
        raise _check.wrong_type("shape", shape, "one of mpm.shapes")
    if shape.dimension != dimension:
        raise ValueError(f"shape is {shape.dimension}-D: must be {dimension}-D like the scene")
    return shape


def are_whole(exact: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which of these numbers of cells are whole numbers >= 1, within `WHOLE`."""
    near = np.rint(exact)
    return np.asarray((np.abs(exact - near) <= WHOLE * np.maximum(1, near)) & (near >= 1), dtype=np.bool_)


def nearest_dx(extent: npt.NDArray[np.float64], dx: float) -> float | None:
    """The dx closest to the given one that divides all sides of the domain."""
    side = float(extent.min())
    centre = max(1, round(side / dx))
    candidates = np.arange(max(1, centre - 1000), centre + 1001)
    fits = are_whole(extent[:, None] / (side / candidates)).all(axis=0)
    spacings = side / candidates[fits]
    return float(spacings[np.argmin(np.abs(spacings - dx))]) if len(spacings) else None


def whole_cells(extent: npt.NDArray[np.float64], dx: float) -> npt.NDArray[np.float64]:
    """How many cells along each axis hold a domain of that extent (d,): within `WHOLE`, or the next larger number."""
    exact = extent / dx
    return np.where(are_whole(exact), np.rint(exact), np.ceil(exact))


def refuse_many(name: str, extent: npt.NDArray[np.float64], dx: float, most: int = MOST) -> None:
    """Raise ValueError if a side has more than `most` cells, a power of 2."""
    with np.errstate(over="ignore"):
        if (extent / dx).max() < most + 0.5:
            return
    least, power = extent.max() / most, most.bit_length() - 1
    raise ValueError(f"{name} = {dx:g}: must be >= {least:g}, the domain's size / 2^{power}")


def counted_cells(
    name: str, lower: npt.NDArray[np.float64], upper: npt.NDArray[np.float64], dx: float, most: int = MOST
) -> tuple[int, ...]:
    """How many cells the domain has along each axis; a ValueError if dx, which users call `name`, does not divide a
    side, or into more than `most` cells, a power of 2."""
    extent = upper - lower
    refuse_many(name, extent, dx, most)
    if are_whole(extent / dx).all():
        return tuple(int(count) for count in np.rint(extent / dx))
    raise UnevenError(name, lower, upper, dx)
