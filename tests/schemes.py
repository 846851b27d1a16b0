"""Every transfer with every kernel and gradient, some variants, and a body to try them on."""

from __future__ import annotations

import itertools

import numpy as np

import mpm
import scenes
from mpm.mpm import numerics

SCHEMES = [
    {"transfer": t, "kernel": k, "gradient": g}
    for t, k, g in itertools.product(numerics.TRANSFERS, numerics.KERNELS, numerics.GRADIENTS)
    if (k, g) != ("linear", "mls")
]
VARIANTS = [
    {"transfer": "flip", "kernel": "cubic", "gradient": "bspline", "flip_ratio": 1.0, "advect": "particle"},
    {"transfer": "aflip", "kernel": "quadratic", "gradient": "mls", "flip_ratio": 0.5, "advect": "particle"},
    {"transfer": "xpic", "kernel": "quadratic", "gradient": "mls", "xpic_order": 1},
    {"transfer": "xpic", "kernel": "quadratic", "gradient": "mls", "xpic_order": 5},
    {"transfer": "apic", "kernel": "quadratic", "gradient": "mls", "f_update": "cayley"},
    {"transfer": "flip", "kernel": "cubic", "gradient": "mls", "f_update": "cayley"},
    {"transfer": "apic", "kernel": "cubic", "gradient": "mls", "c_damping": 0.3},
    {"transfer": "tpic", "kernel": "quadratic", "gradient": "bspline", "c_damping": 1.0},
    {"transfer": "apic", "kernel": "quadratic", "gradient": "mls", "f_bar": True},
    {"transfer": "flip", "kernel": "cubic", "gradient": "bspline", "f_bar": True},
    {"transfer": "asflip", "kernel": "linear", "gradient": "bspline", "f_bar": True},
    {"transfer": "apic", "kernel": "quadratic", "gradient": "mls", "artificial_viscosity": (0.06, 1.5)},
    {"transfer": "xpic", "kernel": "cubic", "gradient": "bspline", "artificial_viscosity": (0.5, 20)},
]


def body(dim: int, dtype: str = "float64", side: int | None = None, **scheme) -> mpm.Simulation:
    """A spinning, shearing block of random particles in free space, 2^d to a cell."""
    side = side or (12 if dim == 2 else 6)
    return scenes.free_body(dim, side=side, h=1 / 16, dt=5e-4, dtype=dtype, **scheme)


def size(values: np.ndarray) -> float:
    """The largest magnitude."""
    return float(np.abs(values).max())
