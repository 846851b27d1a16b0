"""Scenes of sand.

Columns as in the experiments of Lube, Huppert, Sparks & Freundt: J. Fluid Mech. 508 (2004) 175 (round) and Phys. Rev. E
72 (2005) 041301 (between plates). A column of height h and radius or width r spreads by about 1.24 h if it is round
(h < 1.7 r) and by 1.2 h between plates (h < 1.8 r). Here it spreads by 1.1 h in 2-D, measured where the heap is 2 cm
high. Round columns stay steeper, because `mpm.materials.Sand` is stronger in 3-D at the same friction angle.
"""

from __future__ import annotations

from mpm import materials, shapes
from mpm.base import _check
from mpm.gallery.entry import listed
from mpm.scene.scene import Scene

WIDTH = 0.2  # half the width of the column [m]
MOST_ASPECT = 1.8


def _sand(density: float, friction_angle_deg: float, cohesion: float) -> materials.Sand:
    return materials.Sand(density=density, friction_angle_deg=friction_angle_deg, cohesion=cohesion)


@listed(
    "half a column of sand collapses and comes to rest as a heap (2-D)",
    duration=0.75,
    fps=80.0,
    numerics={"dx": 1 / 128, "sampling": "stratified"},
    limits=(0.0, 1.5),
)
def sand_column(
    *,
    aspect: float = 1.5,
    density: float = 2200.0,
    friction_angle_deg: float = 35.0,
    cohesion: float = 0.0,
    gravity: float = 9.81,
) -> Scene:
    """Half a column of sand, 0.2 m wide and 0.2 m times `aspect` high, collapses beside a smooth wall.

    Parameters
    ----------
    aspect : float
        Height over width, > 0 and at most 1.8.
    density : float
        [kg/m³].
    friction_angle_deg : float
        [degrees].
    cohesion : float
        [Pa].
    gravity : float
        [m/s²], downwards.
    """
    height = WIDTH * _check.number("aspect", aspect, low=0, low_open=True, high=MOST_ASPECT)
    scene = Scene((0, 0), (1, 0.5), gravity=(0, -gravity), walls={"x": "separate", "y": "sticky"})
    scene.add(shapes.Box((0, 0), (WIDTH, height)), _sand(density, friction_angle_deg, cohesion), name="sand")
    return scene


@listed(
    "a round column of sand collapses and comes to rest as a heap (3-D, 100,000 particles)",
    duration=0.75,
    fps=80.0,
    numerics={"dx": 1 / 80, "sampling": "stratified"},
    limits=(0.0, 1.5),
)
def sand_column_3d(
    *,
    aspect: float = 1.0,
    density: float = 2200.0,
    friction_angle_deg: float = 25.0,
    cohesion: float = 0.0,
    gravity: float = 9.81,
) -> Scene:
    """A round column of sand, of radius 0.2 m, collapses on all sides; the parameters are those of `sand_column`.

    Where it flows in a plane, 25° acts like 35°, see `mpm.materials.Sand`.
    """
    height = WIDTH * _check.number("aspect", aspect, low=0, low_open=True, high=MOST_ASPECT)
    scene = Scene((-0.75, -0.75, 0), (0.75, 0.75, 0.5), gravity=(0, 0, -gravity), walls={"z": "sticky"})
    column = shapes.Cylinder((0, 0, 0), (0, 0, height), WIDTH)
    scene.add(column, _sand(density, friction_angle_deg, cohesion), name="sand")
    return scene
