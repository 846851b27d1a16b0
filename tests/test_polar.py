"""The rotation of the fixed corotated law, seen through its stress and energy at any F whatever.

With nu = 0 the law is Psi = mu |F - R|^2, tau = 2 mu (F - R) F^T. R is the rotation nearest to F, so that with the
signed singular values s (the smallest negative where det F < 0)

    Psi/mu = sum (s_i - 1)^2,      H = R F^T = F F^T - tau/(2 mu) is symmetric, H^2 = F F^T, tr H = sum s_i.
"""

import functools

import numpy as np
import pytest

from deformations import rotations, turned
from loops import each
from mpm import _core
from scenes import DIMS, DTYPES, EPSILON, ISAS

MU = 0.5  # E = 1, nu = 0


def respond(F, isa):
    """tau/(2 mu), Psi/mu."""
    m, d = F.shape[:2]
    tau, energy, *_ = _core.evaluate("fixed_corotated", (2 * MU, 0.0), F, d, isa, F.dtype.name)
    return np.frombuffer(tau, F.dtype).reshape(m, d, d) / (2 * MU), np.frombuffer(energy, F.dtype) / MU


def signed_singular_values(F):
    u, s, vt = np.linalg.svd(F)
    s[:, -1] *= np.sign(np.linalg.det(u) * np.linalg.det(vt))
    return s


def log_uniform(rng, low, high, m):
    return 10 ** rng.uniform(low, high, (m, 3))


def anything(rng, m):
    """Singular values of any size, two of them down to nothing, in a quarter of the cases two equal, some reflected:
    where det F is rounding error its sign says nothing, and a few such F in thousands look well conditioned."""
    s = log_uniform(rng, -18, 0, m)
    s[:, 0] = 10 ** rng.uniform(-1, 1, m)
    s[: m // 4] = log_uniform(rng, -4, 3, m // 4)
    s[m // 4 : m // 2, 1] = s[m // 4 : m // 2, 0]
    return s * rng.choice([1, 1, 1, -1], (m, 1))


@functools.cache
def cases(d):
    """name: F (m, d, d) in double."""
    rng = np.random.default_rng(0)
    flip = np.array([1.0] * (d - 1) + [-1.0] + [1.0] * (3 - d))  # reflects the last axis of either dimension
    small = np.array([1e-8, 1e-12, 1e-16, 0.0])
    spread = log_uniform(rng, -3, 3, 200)
    return {
        "moderate": turned(log_uniform(rng, -0.3, 0.3, 500), d, rng),
        "rotations": rotations(500, d, rng),
        "half turns": np.array(
            [np.diag(s[:d]) for s in ([-1, -1, 1], [1, -1, -1], [-1, 1, -1])][: 3 if d == 3 else 1]
        ),
        "reflected": turned(log_uniform(rng, -0.3, 0.3, 500) * flip, d, rng),
        "minus a rotation": -rotations(100, d, rng) * (1 if d == 3 else flip[:2]),
        "equal pairs reflected": turned(
            [[1, 1, 1] * flip, [2, 1, 1] * flip, [1e-3, 1e-3, 1e-3] * flip], d, rng
        ),
        "spread": turned(spread, d, rng),
        "spread and reflected": turned(spread * flip, d, rng),
        "nearly flat": turned(
            [[1, 1 if d == 3 else s, s] for s in small] + [[2, s, -s] for s in small], d, rng
        ),
        "rank one": turned([[1, s, s / 3] for s in small] + [[1e3, 0, 0], [1e-3, 0, 0]], d, rng),
        "needles": turned([[1e3, 1e-3, 1e-3], [1e3, 1e3, 1e-6], [1e3, 1, -1e-3]], d, rng),
        "tiny": turned(10.0 ** rng.uniform(-6, -4, (100, 1)) * log_uniform(rng, -0.3, 0.3, 100), d, rng),
        "huge": turned(10.0 ** rng.uniform(3, 5, (100, 1)) * log_uniform(rng, -0.3, 0.3, 100) * flip, d, rng),
        "tinier": turned(10.0 ** rng.uniform(-100, -6, (100, 1)) * log_uniform(rng, -0.3, 0.3, 100), d, rng),
        "anything": turned(anything(rng, 20_000), d, rng),
        "zero": np.zeros((3, d, d)),
        "one entry": np.array([np.outer(a, b) for a in np.eye(d) for b in -np.eye(d)]),
    }


def check(F, isa):
    """Largest errors in units of eps: of Psi/mu, H^2 and tr H."""
    eps, d = EPSILON[F.dtype.name], F.shape[1]
    tau, energy = respond(F, isa)
    F = F.astype(np.float64)
    s = signed_singular_values(F)
    size = np.linalg.norm(F, axis=(1, 2))
    FFt = F @ F.transpose(0, 2, 1)
    H = FFt - tau
    # tau = F F^T - R F^T is rounded relative to its larger part
    rounding = np.maximum(size, 1) * size + 1e-300
    errors = (
        np.abs(energy - ((s - 1) ** 2).sum(axis=1)) / (size + np.sqrt(d)) ** 2,
        np.abs(H @ H - FFt).max(axis=(1, 2)) / (size * rounding + 1e-300),
        np.abs(np.einsum("nii->n", H) - s.sum(axis=1)) / rounding,
    )
    return [float(error.max() / eps) for error in errors]


@each("dtype", DTYPES)
@pytest.mark.parametrize("d", DIMS)
@each("isa", ISAS)
@each("name", cases(2))
def test_the_rotation_is_the_nearest_one(name, isa, d, dtype):
    F = cases(d)[name]
    size = np.linalg.norm(F, axis=(1, 2))
    F = F[(size == 0) | (size > (0 if dtype == "float64" else 1e-28))].astype(dtype)  # no denormal numbers
    assert max(check(F, isa)) < 60  # measured 19 at most, 6 where the condition number is moderate
