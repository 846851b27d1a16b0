"""Common parts of the formats with 32-bit integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def as_int32(name: str, values: Array) -> Array:
    """Integers as int32, anything else as it is.

    Raises
    ------
    ValueError
        One is too large.
    """
    if values.dtype.kind != "i" or values.dtype.itemsize == 4:
        return values
    most = np.iinfo(np.int32).max
    if len(values) and (values.max() > most or values.min() < -most):
        raise ValueError(
            f"fields contains {name!r}, which has values above {most}: the format cannot hold them"
        )
    return values.astype(np.int32)
