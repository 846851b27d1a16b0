"""Meshes that several tests use."""

import itertools
from pathlib import Path

import numpy as np
import pytest

DATA = Path(__file__).parent / "data" / "meshes"


def cube_mesh(lower=(0, 0, 0), upper=(1, 1, 1), outward=True):
    """A box of 12 triangles."""
    v = np.array(list(itertools.product(*zip(lower, upper, strict=True))), dtype=float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    f = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    return v, f if outward else f[:, ::-1]


def sphere_mesh(n=16, radius=1.0, center=(0, 0, 0)):
    """A closed ball of 2 n (n - 1) triangles around the z axis."""
    theta, phi = np.pi * np.arange(1, n) / n, 2 * np.pi * np.arange(n) / n
    ring = np.stack([np.outer(np.sin(theta), np.cos(phi)), np.outer(np.sin(theta), np.sin(phi))], axis=-1)
    z = np.broadcast_to(np.cos(theta)[:, None, None], (n - 1, n, 1))
    v = np.concatenate([np.concatenate([ring, z], axis=-1).reshape(-1, 3), [(0, 0, 1), (0, 0, -1)]])
    north, south, f = n * (n - 1), n * (n - 1) + 1, []
    for j in range(n):
        k = (j + 1) % n
        f.append((north, j, k))
        f.append((south, n * (n - 2) + k, n * (n - 2) + j))
        for i in range(n - 2):
            a, b, c, d = n * i + j, n * i + k, n * (i + 1) + j, n * (i + 1) + k
            f += [(a, c, d), (a, d, b)]
    return radius * v + np.array(center), np.array(f)


def join(*parts):
    """Several (vertices, faces) as one."""
    shift = np.cumsum([0] + [len(v) for v, _ in parts])
    return np.concatenate([v for v, _ in parts]), np.concatenate(
        [f + s for (_, f), s in zip(parts, shift, strict=False)]
    )


def volume(mesh, n=200_000, seed=1):
    """Monte Carlo volume and its standard error."""
    lower, upper = mesh.bounds
    x = lower + (upper - lower) * np.random.default_rng(seed).random((n, 3))
    p, box = mesh.contains(x).mean(), np.prod(upper - lower)
    return p * box, box * np.sqrt(p * (1 - p) / n)


def has_trimesh():
    try:
        import trimesh  # noqa: F401
    except ImportError:
        return False
    return True


needs_trimesh = pytest.mark.skipif(not has_trimesh(), reason="trimesh is an extra")
