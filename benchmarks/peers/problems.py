"""The scenes that all peers compute: a block that turns, shears and falls, one cell above the floor.

A peer gets a `Problem` as JSON and the particles as a file of NumPy's, (n, 2 d) float32: x [m] and v [m/s], in the
order of cells. The domain is the unit square or cube with `nodes` nodes a side, node 0 at x = 0. Nodes up to `low` and
from `high` on are in walls that let go but do not let through. Particles are stratified: one at a random place in each
half of a cell along every axis.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

DENSITY = 1000.0  # [kg/m3]
GRAVITY = -9.8  # [m/s2]
E, NU = 1e5, 0.3  # [Pa]; E is the bulk modulus of the fluid
WALL = 2  # nodes in a wall: 0, 1 and 2
LAWS = ("fcr", "fluid")  # fixed corotated; p = K (1/J - 1)


@dataclass(frozen=True, slots=True)
class Scene:
    """A block of `cells` cells a side in a grid; the first cell of the block along each axis is `corner`."""

    dimension: int
    nodes: int
    cells: int
    corner: tuple[int, ...]
    dt: float
    steps: int


SCENES = {
    "3a": Scene(3, 64, 25, (19, 19, 3), 2e-4, 40),
    "3b": Scene(3, 128, 50, (39, 39, 3), 1e-4, 20),
    "2a": Scene(2, 256, 160, (48, 3), 5e-5, 40),
    "2b": Scene(2, 1024, 500, (262, 3), 1.25e-5, 20),
    # For tests: 4,096 particles each.
    "3q": Scene(3, 32, 8, (12, 12, 3), 4e-4, 10),
    "2q": Scene(2, 64, 32, (16, 3), 2e-4, 10),
}
QUICK = ("3q", "2q")


@dataclass(frozen=True, slots=True)
class Problem:
    """What a peer computes.

    Attributes
    ----------
    law : {"fcr", "fluid"}
    dimension, nodes, steps : int
    h, dt, gravity : float
        [m], [s], [m/s2] along the last axis.
    low, high : int
        Last node of the lower walls, first of the upper ones.
    mass, volume : float
        Of a particle at rest [kg, m^d].
    first, second : float
        mu and lambda of fixed corotated; bulk modulus and 0 of the fluid [Pa].
    """

    law: str
    dimension: int
    nodes: int
    h: float
    dt: float
    gravity: float
    low: int
    high: int
    mass: float
    volume: float
    first: float
    second: float
    steps: int

    @classmethod
    def read(cls, text: str) -> "Problem":
        """From JSON."""
        return cls(**json.loads(text))

    def json(self) -> str:
        """As JSON, in one line."""
        return json.dumps(asdict(self))


def problem(scene: Scene, law: str) -> Problem:
    """The problem of a scene with a law."""
    h = 1 / scene.nodes
    volume = h**scene.dimension / 2**scene.dimension
    solid = E / (2 * (1 + NU)), E * NU / ((1 + NU) * (1 - 2 * NU))
    return Problem(
        law,
        scene.dimension,
        scene.nodes,
        h,
        scene.dt,
        GRAVITY,
        WALL,
        scene.nodes - WALL,
        DENSITY * volume,
        volume,
        *({"fcr": solid, "fluid": (E, 0.0)}[law]),
        scene.steps,
    )


def particles(scene: Scene) -> np.ndarray:
    """x and v of a scene's particles in the order of cells; (n, 2 d) float32."""
    d = scene.dimension
    rng = np.random.default_rng(7)
    cells, halves = (np.stack(np.indices((n,) * d), -1).reshape(-1, 1, d) for n in (scene.cells, 2))
    places = (halves.swapaxes(0, 1) + rng.random((len(cells), len(halves), d))) / 2
    x = (cells + np.array(scene.corner) + places).reshape(-1, d) / scene.nodes
    v = np.zeros_like(x)
    v[:, 0] = -2 * (x[:, 1] - 0.5) + 0.3
    v[:, -1] = -1 + 0.5 * np.sin(4 * np.pi * x[:, 0])
    if d == 3:
        v[:, 0] += 0.5 * np.sin(4 * np.pi * x[:, 2])
        v[:, 1] = 2 * (x[:, 0] - 0.5) - 0.2
    return np.concatenate([x, v], axis=1).astype(np.float32)


def write(name: str, folder: Path) -> Path:
    """The file of a scene's particles."""
    path = folder / f"{name}.npy"
    np.save(path, particles(SCENES[name]))
    return path
