"""What all methods have among their numerics: the time step and its bound, precision, and the size of cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from mpm.base import _check

DType: TypeAlias = Literal["float32", "float64"]
DTYPES = ("float64", "float32")

LEAST_STEP = {name: float(np.finfo(name).tiny) for name in ("float64", "float32")}  # as kernels see it [s]
# The required resolution of positions everywhere in the domain, as a share of a cell. Bodies are sampled in double
# precision; single precision need only show positions, because the core keeps them relative to their block.
RESOLVED = {"float64": 1 / 1024, "float32": 1 / 4}


@dataclass(frozen=True, slots=True)
class StableDt:
    """The bound of the time step in the current state.

    Attributes
    ----------
    dt : float
        The bound itself [s], without a safety factor.
    limit : {"isolated", "wave", "motion", "acceleration", "viscosity", "conduction", "none"}
        The limit that binds: the stiffness of a particle alone in its cells, a wave that crosses a cell, the motion or
        the strain of a particle, gravity, viscosity, a thousand sub-steps of conduction; none without particles.
    particle : int or None
        The row that binds, if one does.
    """

    dt: float
    limit: str
    particle: int | None


def refuse_beyond_range(body: str, what: str, unit: str, values: npt.NDArray[np.float64], dtype: str) -> None:
    """Raise ValueError if numbers of a body are too small or too large for the precision."""
    least, most = float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)
    low, high = float(values.min()), float(values.max())
    if not (least <= low and high <= most):
        these = f"{low:.3g}" + (f" to {high:.3g}" if high > low else "")
        raise ValueError(
            f"body {body!r}: {what} of {these} {unit} are beyond the range of {dtype}; must be >= {least:.3g} and "
            f"<= {most:.3g}: use other units" + (" or float64" if dtype == "float32" else "")
        )


def refuse_coarse_positions(
    lower: npt.NDArray[np.float64],
    upper: npt.NDArray[np.float64],
    dx: float,
    dtype: DType,
    size: str = "dx",
    resolved: Mapping[str, float] = RESOLVED,
) -> None:
    """Raise ValueError where neighbouring numbers of the precision are too far apart for positions in cells.

    `size` is the user's name of dx, `resolved` the share of it that positions must resolve.
    """
    farthest = float(np.maximum(np.abs(lower), np.abs(upper)).max())
    for name in dict.fromkeys(("float64", dtype)):
        with np.errstate(over="ignore"):
            apart = float(np.spacing(np.dtype(name).type(farthest)))
        if not apart <= resolved[name] * dx:
            if not math.isfinite(apart):
                raise ValueError(f"upper or lower reach to {farthest:g} m: must be a {name} number")
            raise ValueError(
                f"{size} = {dx:g}: must be >= {apart / resolved[name]:.3g} in a domain that reaches to {farthest:g} m, "
                f"where {name} resolves positions to {apart:.2g} m only: move the domain nearer to the origin"
                + (", or choose dtype='float64'" if name == "float32" else "")
            )


def checked_dtype(value: Any) -> DType:
    for name in DTYPES:
        if isinstance(value, str):
            if value == name:
                return name  # type: ignore[return-value]
        elif isinstance(value, (type, np.dtype)) and value == np.dtype(name):
            return name  # type: ignore[return-value]
    if isinstance(value, (str, np.dtype)) or (isinstance(value, type) and issubclass(value, np.generic)):
        raise ValueError(f"dtype = {value!r}: must be 'float64' or 'float32'")
    raise _check.wrong_type("dtype", value, "'float64' or 'float32'")
