"""Named scenes: used by the demo, tests, benchmarks, notebooks and documentation alike.

>>> import mpm
>>> mpm.gallery.names()
('beam', 'cube', 'disks', 'jelly')
>>> entry = mpm.gallery.get("jelly")
>>> sim = entry.simulation(dtype="float32")
>>> sim.run(entry.duration)
"""

from __future__ import annotations

from mpm import _check
from mpm.gallery.entry import Entry
from mpm.gallery.scenes import CUBE_MESH, ENTRIES, beam, cube, disks, jelly

__all__ = ["CUBE_MESH", "Entry", "beam", "cube", "disks", "get", "jelly", "names"]

_BY_NAME = {entry.name: entry for entry in sorted(ENTRIES, key=lambda entry: entry.name)}


def names() -> tuple[str, ...]:
    """The names of all scenes, in alphabetical order."""
    return tuple(_BY_NAME)


@_check.options
def get(name: str) -> Entry:
    """The scene of that name.

    Raises
    ------
    ValueError
        There is none; the message lists them.
    """
    return _BY_NAME[_check.choice("name", name, names())]
