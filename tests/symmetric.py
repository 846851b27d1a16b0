"""Bodies and boxes with a symmetry: what the tests of mirror and periodic walls share."""

import numpy as np

import mpm
import scenes

H = 1 / 16
SOLID = scenes.MATERIALS["neo_hookean"]
LIMIT = {"float64": 1e-12, "float32": 2e-4}


def simulation(
    lower, upper, walls, x, velocity=0, *, material=SOLID, gravity=None, h=H, friction=0.0, **numerics
):
    """Particles of half a cell's width at x, in a box."""
    scene = mpm.Scene(lower, upper, walls=walls, gravity=gravity, friction=friction)
    scene.add(mpm.shapes.Points(x, volume=(h / 2) ** len(lower)), material, velocity=velocity)
    return mpm.Simulation(scene, dx=h, **numerics)


def even(x, axes):
    """A smooth velocity field that is symmetric about x_a = 0 for the given axes: there v_a is odd, the rest even."""
    d = x.shape[1]
    v = np.empty_like(x)
    for b in range(d):
        v[:, b] = 0.8 * np.prod(
            [np.cos((3 + a) * x[:, a]) for a in range(d) if a != b or b not in axes], axis=0
        )
        if b in axes:
            v[:, b] *= np.sin(5 * x[:, b])
    return v


def reflected(x, axes):
    """x, and its images about x_a = 0."""
    for a in axes:
        x = np.concatenate([x, x * np.where(np.arange(x.shape[1]) == a, -1, 1)])
    return x
