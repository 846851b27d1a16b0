"""Threads, instruction set and build options; `mpm.config` is their public face."""

from __future__ import annotations

import functools
import math
import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mpm import _core
from mpm.base import _check

MAX_THREADS = int(_core.options()["common"]["threads"]["float64"][1])


class _Config:
    """Settings for simulations that are created later."""

    __slots__ = ("beside", "isa", "threads")

    def __init__(self) -> None:
        self.isa = _isa_from_environment(os.environ.get("MPM_ISA"))
        self.threads: int | None = None
        self.beside = threading.local()  # has `threads` within `beside_others`


def _isa_from_environment(wanted: str | None) -> str:
    usable = _core.isas()
    if not wanted:
        return usable[-1]
    if wanted not in usable:
        raise ImportError(
            f"MPM_ISA = {wanted!r}: unknown, not compiled, or not supported by this processor; usable: "
            + ", ".join(usable)
        )
    return wanted


def isa() -> str:
    """The kernel set that simulations created from now on use."""
    return _config.isa


@contextmanager
def using_isa(name: str) -> Iterator[None]:
    """Within it, simulations are created for the kernel set `name`: for tests and benchmarks."""
    before = _config.isa
    _config.isa = _check.choice("isa", name, tuple(_core.isas()))
    try:
        yield
    finally:
        _config.isa = before


def _number_from_environment(name: str) -> int | None:
    """The number of threads in an environment variable; of a list, which OpenMP allows, the first entry."""
    value = os.environ.get(name, "").split(",")[0].strip()
    if not value:
        return None
    if not (value.isascii() and value.isdigit() and 1 <= int(value) <= MAX_THREADS):
        if name == "OMP_NUM_THREADS":
            return None  # another program's variable: ignore it
        raise ValueError(f"{name} = {value!r}: must be an integer >= 1 and <= {MAX_THREADS}")
    return int(value)


@functools.cache
def _cgroup_quota() -> float:
    """The processor time that the control group grants, in processors, when it is first asked for; infinity without a
    limit."""
    quota = math.inf
    try:
        own = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return quota
    root = Path("/sys/fs/cgroup")
    for line in own:
        _, controllers, group = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / "cpu" if controllers else root
        here = top / group.lstrip("/")
        for folder in (here, *here.parents):
            quota = min(quota, _quota_of(folder))
            if folder == top:
                break
    return quota


def _quota_of(folder: Path) -> float:
    try:
        if (v2 := folder / "cpu.max").is_file():
            limit, period = v2.read_text(encoding="utf-8").split()
            return math.inf if limit == "max" else float(limit) / float(period)
        limit = (folder / "cpu.cfs_quota_us").read_text(encoding="utf-8")
        period = (folder / "cpu.cfs_period_us").read_text(encoding="utf-8")
        return float(limit) / float(period) if float(limit) > 0 else math.inf
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf


def available_processors() -> int:
    """The processors that affinity and control group allow."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, math.ceil(min(count, _cgroup_quota(), MAX_THREADS)))


def get_num_threads() -> int:
    """Number of threads of a simulation created with ``threads=None``, if it has particles enough (4,096 for each).

    Returns
    -------
    int
        The number given to `set_num_threads`; else ``MPM_NUM_THREADS``; else 1 in a case of `mpm.sweep` that runs
        beside others; else ``OMP_NUM_THREADS``; else the processors that affinity and control group allow.

    Raises
    ------
    ValueError
        ``MPM_NUM_THREADS`` is not an integer from 1 to 1024.
    """
    return (
        chosen_threads()
        or getattr(_config.beside, "threads", None)
        or _number_from_environment("OMP_NUM_THREADS")
        or available_processors()
    )


def adopt(*, isa: str, threads: int) -> None:
    """Take over the settings of another process, as this one's own."""
    _config.isa = _check.choice("isa", isa, tuple(_core.isas()))
    set_num_threads(threads)


def chosen_threads() -> int | None:
    """The number given to `set_num_threads`; else ``MPM_NUM_THREADS``; else None."""
    return _config.threads or _number_from_environment("MPM_NUM_THREADS")


@contextmanager
def beside_others() -> Iterator[None]:
    """Within it, one thread is the default of simulations that this thread of Python creates: others run beside it."""
    before = getattr(_config.beside, "threads", None)
    _config.beside.threads = 1
    try:
        yield
    finally:
        _config.beside.threads = before


def threads_for(work: int, least: int) -> int:
    """Threads to start for `work` of which each is to have at least `least`."""
    return shared_out(work, least, get_num_threads())


def shared_out(work: int, least: int, most: int) -> int:
    """The same, of at most `most` threads."""
    return max(1, min(most, work // least))


def set_num_threads(threads: int) -> None:
    """Set the number of threads of simulations created from now on with ``threads=None``.

    Results do not depend on it: the same script gives the same bits for any number of threads.

    Parameters
    ----------
    threads : int
        From 1 to 1024.
    """
    _config.threads = _check.integer("threads", threads, low=1, high=MAX_THREADS)


@dataclass(frozen=True)
class Configuration:
    """What `show_config` found: versions, compiler, kernel sets, threads, GPUs."""

    mpm: str
    python: str
    numpy: str
    platform: str
    compiler: str
    flags: str
    abi: str
    isas: tuple[str, ...]
    isa: str
    threads: int
    gpus: str | None = None  # only `show_config` asks

    def __repr__(self) -> str:
        return f"<Configuration of mpm {self.mpm}: {self.isa}, {self.threads} threads>"

    def __str__(self) -> str:
        sets = " ".join(f"[{name}]" if name == self.isa else name for name in self.isas)
        rows = {
            "mpm": self.mpm,
            "python": self.python,
            "numpy": self.numpy,
            "platform": self.platform,
            "compiler": self.compiler,
            "flags": self.flags,
            "abi": self.abi,
            "kernel sets": f"{sets}   (active in brackets; MPM_ISA chooses)",
            "threads": str(self.threads),
        }
        if self.gpus is not None:
            rows["gpus"] = self.gpus
        return "\n".join(f"{name:<12} {value}" for name, value in rows.items())


def show_config() -> Configuration:
    """Print versions, compiler, kernel sets, threads and GPUs: what to put into a bug report.

    It starts the driver of GPUs, if there is one: processes that are forked afterwards cannot use them.

    Returns
    -------
    Configuration
        ``str`` gives the table that was printed; each line is an attribute.
    """
    from mpm.base import gpus

    found = replace(configuration(), gpus=gpus.told())
    print(found)
    return found


def configuration() -> Configuration:
    """What `show_config` prints, but for GPUs."""
    built = _core.build_info()
    return Configuration(
        mpm=version(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        numpy=np.__version__,
        platform=f"{platform.system()} {platform.machine()}",
        compiler=built.get("compiler", "unknown"),
        flags=built.get("flags", "unknown"),
        abi=built.get("abi", "unknown"),
        isas=tuple(_core.isas()),
        isa=isa(),
        threads=get_num_threads(),
    )


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def version() -> str:
    """The version of the installed package."""
    from importlib import metadata  # slow to import, rarely needed

    try:
        return metadata.version("mpm")
    except metadata.PackageNotFoundError:
        return "0+unknown"


_config = _Config()
