"""Small recordings that play at once: of a snowball that hits a wall, and of jelly that falls into water.

>>> import mpm
>>> frames = mpm.replay(mpm.samples.path("snowball"))
>>> len(frames)
30

`mpm.view(mpm.samples.path("snowball"))` plays one, and so does the list in the viewer. Positions are rounded to a
thousandth of the domain, so that the files are small; ``benchmarks/samples.py`` writes them.
"""

from __future__ import annotations

from pathlib import Path

from mpm.base import _check, advice

__all__ = ["names", "path"]

SAMPLES = {
    "snowball": "a snowball is thrown at a wall",
    "snowball-fragile": "the same of snow that tears at a seventh of the stretch",
    "jelly": "a block of jelly falls beside water",
}


def names() -> tuple[str, ...]:
    """The names of the samples."""
    return tuple(SAMPLES)


def path(name: str) -> Path:
    """The file of a sample, which `mpm.replay` opens.

    Parameters
    ----------
    name : str
        One of `names`.
    """
    return Path(__file__).parent / f"{_check.choice('name', name, names())}.vtkhdf"


__dir__, __getattr__ = advice.names_of_module(__name__, __all__)
