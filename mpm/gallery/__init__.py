"""Named scenes for the demo, tests, benchmarks, notebooks and documentation.

>>> import mpm
>>> "jelly" in mpm.gallery.names()
True
>>> entry = mpm.gallery.get("jelly")
>>> sim = entry.simulation(dtype="float32")
>>> sim.run(entry.duration)

The function of a scene returns an `mpm.Scene` and is a good start for your own scenes:

>>> import inspect
>>> print(inspect.getsource(mpm.gallery.jelly))  # doctest: +ELLIPSIS
@listed(...
def jelly(...
"""

from __future__ import annotations

from mpm.base import _check
from mpm.gallery.breaking import brazilian_disc, glass_drop, three_point_bending, wall_breach
from mpm.gallery.containers import drum, hourglass, squeeze
from mpm.gallery.elastic import disk_wall, hammer_blow, twisted_bar
from mpm.gallery.entry import LISTED, Entry
from mpm.gallery.fluids import dam_break, hydrostatic, jet, ship, tank, taylor_green, two_liquids
from mpm.gallery.rigid import bowling, crate_on_snow, dominoes, dzhanibekov, spinning_top
from mpm.gallery.sand import sand_column, sand_column_3d
from mpm.gallery.snow import (
    snow_box,
    snow_parameters,
    snow_plow,
    snow_ring,
    snow_triangle,
    snow_wedge,
    snow_wedge_3d,
    snowball,
)
from mpm.gallery.soils import (
    clay_indentation,
    excavation,
    flooded_slope,
    quick_clay,
    retaining_wall,
    sand_hourglass,
)
from mpm.gallery.solids import CUBE_MESH, bar, beam, cube, disks, jelly, raft, spinning_disk
from mpm.gallery.stiff import cantilever, honey, stiff_disk, stiff_drop
from mpm.gallery.touching import brick_wall, gears, hertz, incline, newtons_cradle, rolling_disc
from mpm.gallery.warm import curling_bilayer, friction_weld, melting_snowman, quench
from mpm.gallery.yielding import bread_tearing, hot_taylor_bar, jelly_stack, mudslide, taylor_bar

__all__ = [
    "CUBE_MESH",
    "Entry",
    "bar",
    "beam",
    "bowling",
    "brazilian_disc",
    "bread_tearing",
    "brick_wall",
    "cantilever",
    "clay_indentation",
    "crate_on_snow",
    "cube",
    "curling_bilayer",
    "dam_break",
    "disk_wall",
    "disks",
    "dominoes",
    "drum",
    "dzhanibekov",
    "excavation",
    "flooded_slope",
    "friction_weld",
    "gears",
    "get",
    "glass_drop",
    "hammer_blow",
    "hertz",
    "honey",
    "hot_taylor_bar",
    "hourglass",
    "hydrostatic",
    "incline",
    "jelly",
    "jelly_stack",
    "jet",
    "melting_snowman",
    "mudslide",
    "names",
    "newtons_cradle",
    "quench",
    "quick_clay",
    "raft",
    "retaining_wall",
    "rolling_disc",
    "sand_column",
    "sand_column_3d",
    "sand_hourglass",
    "ship",
    "snow_box",
    "snow_parameters",
    "snow_plow",
    "snow_ring",
    "snow_triangle",
    "snow_wedge",
    "snow_wedge_3d",
    "snowball",
    "spinning_disk",
    "spinning_top",
    "squeeze",
    "stiff_disk",
    "stiff_drop",
    "tank",
    "taylor_bar",
    "taylor_green",
    "three_point_bending",
    "twisted_bar",
    "two_liquids",
    "wall_breach",
]

_BY_NAME = dict(sorted(LISTED.items()))


def names() -> tuple[str, ...]:
    """The names of all scenes, in alphabetical order."""
    return tuple(_BY_NAME)


@_check.options
def get(name: str) -> Entry:
    """The scene of that name.

    Raises
    ------
    ValueError
        No scene has that name; the message lists the names.
    """
    return _BY_NAME[_check.choice("name", name, names())]
