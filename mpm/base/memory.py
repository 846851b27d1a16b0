"""How many particles or elements a machine can hold: beyond that the system would end the process."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MACHINE", "MOST_ROWS", "Room", "available", "rows_in_memory"]

MOST_ROWS = 2**30 - 1  # limit of the core
# Bytes at the peak of the setup and the first step: per particle, or per element with its share of the nodes. At least:
# a law with a history needs more. `tests/test_memory.py` measures them.
SETUP = {
    ("mpm", 2, "float64"): 245,
    ("mpm", 2, "float32"): 150,
    ("mpm", 3, "float64"): 365,
    ("mpm", 3, "float32"): 210,
    ("sph", 2, "float64"): 580,
    ("sph", 2, "float32"): 420,
    ("sph", 3, "float64"): 660,
    ("sph", 3, "float32"): 400,
    ("fem", 2, "float64"): 330,
    ("fem", 2, "float32"): 300,
    ("fem", 3, "float64"): 430,
    ("fem", 3, "float32"): 365,
}
# Of control groups, by the name of the controller.
LIMITS = {"": "memory.max", "memory": "memory.limit_in_bytes"}


def available() -> float:
    """The memory that the process may have [bytes]: that of the machine, or what its control group grants; infinity
    where the system does not tell."""
    try:
        machine = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        machine = float("inf")
    return min([machine, *_limits_of_groups()])


def _limits_of_groups(own: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup") -> list[float]:
    """The limits of the control groups that the process is in [bytes]."""
    found = []
    try:
        for line in Path(own).read_text(encoding="utf-8").splitlines():
            _, controllers, group = line.split(":", 2)
            for name in LIMITS.keys() & set(controllers.split(",")):
                top = Path(root) / name
                here = top / group.lstrip("/")
                for folder in (here, *here.parents):
                    if (file := folder / LIMITS[name]).is_file():
                        text = file.read_text(encoding="utf-8").strip()
                        found += [] if text == "max" else [float(text)]
                    if folder == top:
                        break
    except (OSError, ValueError):  # no control groups, or of a kind that is not known
        pass
    return found


@dataclass(frozen=True, slots=True)
class Room:
    """The memory of a process that runs a simulation with others."""

    given: float | None = None
    """The bytes that it may have; None: all that are available."""
    share: float = 1.0
    """Of all particles: those that it has."""

    @property
    def holder(self) -> str:
        """Who has the memory, for messages."""
        return "this machine holds" if self.given is None else "the machines of its MPI processes hold"


MACHINE = Room()


def rows_in_memory(method: str, dimension: int, dtype: str, beside: int = 0, room: Room = MACHINE) -> int:
    """How many particles (of ``"fem"``: elements) a simulation by a method can have, if each, whoever has it, takes so
    many bytes more in every process while it is set up."""
    given = available() if room.given is None else room.given
    return int(min(MOST_ROWS, given / (SETUP[method, dimension, dtype] * room.share + beside)))
