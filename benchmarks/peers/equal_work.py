"""The check that comes before every timing: have two programs done the same work?"""

from collections.abc import Sequence

import numpy as np

LIMIT = 1e-5  # single precision; measured up to 1.5e-6
# The package's own time step is several times longer, and the path that it computes is apart by the error of a step:
# measured up to 1.5e-2.
LIMIT_OWN_DT = 3e-2


class UnequalWorkError(RuntimeError):
    """A program's result is not that of the plain program."""


def outcome(x: np.ndarray, v: np.ndarray, mass: float) -> list[float]:
    """What is compared, of particles at x (n, d) with v (n, d) and the mass of one [kg].

    Centre of mass [m], momentum [kg m/s], kinetic energy [J] without its affine part.
    """
    x, v = np.asarray(x, dtype=float), np.asarray(v, dtype=float)
    return [*x.mean(axis=0).tolist(), *(mass * v.sum(axis=0)).tolist(), 0.5 * mass * float((v * v).sum())]


def difference(found: Sequence[float], reference: Sequence[float]) -> float:
    """Largest relative difference of centre of mass, momentum and energy, vectors by their length."""
    a, b = np.asarray(found, dtype=float), np.asarray(reference, dtype=float)
    d = len(b) // 2
    if a.shape != b.shape:
        return float("inf")
    parts = [slice(0, d), slice(d, 2 * d), slice(2 * d, None)]
    worst = max(float(np.linalg.norm(a[part] - b[part]) / np.linalg.norm(b[part])) for part in parts)
    return worst if np.isfinite(worst) else float("inf")


def check(name: str, found: Sequence[float], reference: Sequence[float], limit: float = LIMIT) -> float:
    """The difference of two outcomes.

    Raises
    ------
    UnequalWorkError
        It is above the limit, or not a number.
    """
    apart = difference(found, reference)
    if not apart <= limit:
        raise UnequalWorkError(
            f"{name}: not equal work, {apart:.1e} apart (allowed: {limit:.0e});"
            f" found {list(found)}, plain C {list(reference)}"
        )
    return apart
