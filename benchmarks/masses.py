"""How far the masses of sampled bodies are from those of their shapes.

    python benchmarks/masses.py

For every kind of shape and sampling, over cell sizes from a third to a twentieth of the shape's size and places on and
off the grid: the largest relative error of the sampled volume, and what the volumes of particles range over, in
multiples of those in full cells. The reference of combinations is a formula. `old` is the error of dx^d /
particles_per_cell for each particle. The exit status is 1 where an error exceeds `EXACT`, or `ROUGH` for a combination
whose volume has no formula.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import mpm
from mpm.mpm.numerics import SAMPLINGS
from mpm.sampling.sampling import sample
from mpm.shapes import Ball, Box, Capsule, Cylinder, HalfSpace, Mesh, Polygon, Shape
from mpm.shapes.volumes import volume_within

CUBE = Path(mpm.__file__).parent / "gallery" / "cube.obj"
RATIOS = (3, 4, 5.5, 7, 10, 14, 20)  # size of the shape over dx
EXACT, ROUGH = 1e-12, 1e-3  # measured: 1e-15, 9e-5
NOTCH = [(0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.5, 0.3), (0.1, 0.9)]


def lens(d: int, radius: float, apart: float) -> float:
    """The volume that two balls of equal radius have in common."""
    if d == 2:
        return 2 * radius**2 * np.arccos(apart / (2 * radius)) - apart / 2 * np.sqrt(4 * radius**2 - apart**2)
    return np.pi * (4 * radius + apart) * (2 * radius - apart) ** 2 / 12


def shapes() -> dict[str, tuple[Shape, float]]:
    """Shapes of size 1 about, in the unit box, with their volumes."""
    found: dict[str, tuple[Shape, float]] = {}
    for d in (2, 3):
        middle, a, b = np.full(d, 0.5), np.full(d, 0.5), np.full(d, 0.5)
        a[0], b[0] = 0.25, 0.75
        left, right = Ball(a, 0.25), Ball(b, 0.25)
        ball = (np.pi / 4, np.pi / 6)[d - 2]
        round_ = (np.pi / 16, np.pi / 48)[d - 2]  # a ball of radius 1/4
        found |= {
            f"box {d}-D": (Box(np.zeros(d), np.ones(d)), 1.0),
            f"ball {d}-D": (Ball(middle, 0.5), ball),
            f"turned box {d}-D": (
                Box(middle - 0.3, middle + 0.3).rotate(0.4, about=middle, axis=None if d == 2 else (1, 2, 3)),
                0.6**d,
            ),
            f"ellipsoid {d}-D": (
                Ball(middle, 0.5).scale([1, 0.5, 0.7][:d], about=middle),
                ball * (0.5, 0.35)[d - 2],
            ),
            f"capsule {d}-D": (Capsule(a, b, 0.25), (0.25 + round_, np.pi / 32 + round_)[d - 2]),
            f"cylinder {d}-D": (Cylinder(a, b, 0.3), (0.3, np.pi * 0.045)[d - 2]),
            f"half-space {d}-D": (HalfSpace(middle, np.arange(1, d + 1)), 0.5),
            f"two balls {d}-D": (left | Ball(a + (b - a) / 2, 0.25), 2 * round_ - lens(d, 0.25, 0.25)),
            f"lens {d}-D": (Ball(middle, 0.5) & Ball(b, 0.5), lens(d, 0.5, 0.25)),
            f"bitten ball {d}-D": (Ball(middle, 0.5) - Ball(b, 0.5), ball - lens(d, 0.5, 0.25)),
            f"holed box {d}-D": (Box(np.zeros(d), np.ones(d)) - left - right, 1 - 2 * round_),
            f"cut ball {d}-D": (Ball(middle, 0.5) & HalfSpace(middle, np.arange(1, d + 1)), ball / 2),
        }
    found["polygon"] = Polygon(NOTCH), 0.4
    found["mesh"] = Mesh(CUBE).rotate(0.4, axis=(1, 2, 3), about=(0.5, 0.5, 0.5)), 0.125
    found["drilled mesh"] = (
        Mesh(CUBE) - Capsule((0, 0.5, 0.5), (1, 0.5, 0.5), 0.1),
        0.125 - 0.5 * np.pi * 0.01,
    )
    return found


def cases(name: str, ratio: float, sampling: str) -> Iterator[tuple[float, float, np.ndarray]]:
    """Error, error of equal volumes, and volumes over those in full cells; on the grid and off it."""
    shape, exact = shapes()[name]
    d, dx = shape.dimension, 1 / ratio
    for offset in (0.0, 0.37 * dx):
        lower = np.floor(-2.0) * dx * np.ones(d) + offset
        if name.startswith("half-space"):  # cut by the domain
            lower = np.zeros(d)
            dx = 1 / np.ceil(ratio)
        upper = lower + dx * np.ceil((1 - lower.min()) / dx + 1e-9) * np.ones(d)
        if name.startswith("half-space"):
            upper = np.ones(d)
        each = dx**d / 2**d
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of coarse bodies
            _, volume = sample(
                shape, lower=lower, upper=upper, dx=dx, particles_per_cell=2**d, sampling=sampling,
                rng=np.random.default_rng(0), body="body",
            )  # fmt: skip
        yield volume.sum() / exact - 1, len(volume) * each / exact - 1, volume / each


def main() -> int:
    """Print the table; 1 if an error is too large."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="only size / dx = 3 and 7")
    ratios = (3, 7) if parser.parse_args().quick else RATIOS
    print(f"{'shape':<17} {'sampling':<10}  error   old error  volumes / full, least to most")
    status = 0
    for name, (shape, _) in shapes().items():
        d = shape.dimension
        limit = ROUGH if volume_within(shape, np.zeros(d), np.ones(d)).error else EXACT
        for sampling in SAMPLINGS:
            rows = [row for ratio in ratios for row in cases(name, ratio, sampling)]
            error, old = (max(abs(row[k]) for row in rows) for k in range(2))
            least, most = min(row[2].min() for row in rows), max(row[2].max() for row in rows)
            print(f"{name:<17} {sampling:<10} {error:8.1e} {old:8.1%}   {least:6.3f} {most:6.3f}", end="")
            print(f"   above {limit:g}" if error > limit else "")
            status |= error > limit
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
