"""Drivers of NVIDIA's GPUs: kernels that are compiled for a law, a precision and a dimension, and kept on disk.

A simulation imports this module when it is to run on a GPU. The compiler, NVRTC by way of ``cuda-core`` (the extra
``cuda``), is imported when kernels are not kept yet.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from mpm import _core
from mpm.base import _check, files, gpus
from mpm.errors import DeviceError

# Sizes of a block of a sweep, the preferred one first: of less shared memory each. They add in different orders, so
# the bits of a run depend on which one the device has room for.
SWEEP_THREADS = {"float": (256, 128, 64), "double": (256, 128, 64)}
SWEEP_BLOCKS = {"float": 3, "double": 1}  # for a multiprocessor: registers are limited accordingly
KEPT_BYTES = 256 * 2**20  # of compiled kernels; of more, those that were used longest ago are removed
MAGIC = b"mpm kernels 1\n"

IMAGE = """#include "mpm/gpu/sweep.cu"
#include "mpm/gpu/nodes.cu"
#include "mpm/gpu/sort.cu"
"""


def number_of(device: str) -> int:
    """The number in ``"cuda:1"``; 0 in ``"cuda"``."""
    match = re.fullmatch(r"cuda(?::(0|[1-9][0-9]{0,2}))?", device)
    if not match:
        raise ValueError(
            f"device = {_check.shown(device)}: must be 'cuda', or 'cuda:' and the number of a device"
        )
    return int(match[1] or 0)


def driver_for(device: str, macros: Mapping[str, str | int]) -> object:
    """The capsule of a driver (csrc/mpm/gpu/driver.h) for ``"cuda"`` or ``"cuda:1"``.

    Parameters
    ----------
    device : str
    macros : mapping
        What csrc/mpm/gpu/sweep.cu is compiled with, but for the size of its blocks.

    Raises
    ------
    ValueError
        There is no such device.
    DeviceError
        Without a driver, with an old one, without a device, with one of another kind, or if NVRTC fails.
    ImportError
        The kernels are not kept yet, and cuda-core is not installed.
    MemoryError
        The GPU has no room for the kernels.
    """
    number = number_of(device)
    version, found = gpus.devices()
    if number >= len(found):
        names = ", ".join(str(one) for one in found)
        raise ValueError(f"device = {_check.shown(device)}: there is no such device; there is {names}")
    chosen, real = found[number], str(macros["MPM_REAL"])
    if chosen.capability < (least := _core.CUDA_LEAST_CAPABILITY):
        raise DeviceError(
            f"device = {_check.shown(device)}: {chosen} must have compute capability {least / 10} or higher"
        )
    for threads in SWEEP_THREADS[real]:
        sized = {**macros, "GPU_SWEEP_THREADS": threads, "GPU_SWEEP_CTAS": SWEEP_BLOCKS[real]}
        code = image(sized, chosen.architecture)
        try:
            return _core.cuda_driver(code, number, gpus.LIBRARY)
        except OverflowError as error:  # too little shared memory
            left = error
        except DeviceError as error:
            if "cuModuleLoadData" not in str(error):
                raise
            raise DeviceError(
                f"{error}. The driver knows CUDA {version // 1000}.{version % 1000 // 10}; the kernels come from "
                f"{', '.join(_compiler()) or 'NVRTC'}. Install a newer driver"
            ) from error
    raise DeviceError(f"device = {_check.shown(device)}: {left}; choose dtype='float32'")


# ---- compiled kernels --------------------------------------------------------------------------------------------


def image(macros: Mapping[str, str | int], architecture: str) -> bytes:
    """The kernels for an architecture, ``"sm_90"``: those that are kept, or compiled and kept now."""
    path = (
        folder() / f"{macros['LAW']}-{macros['MPM_REAL']}{macros['MPM_DIM']}-{_key(macros, architecture)}.bin"
    )
    kept = _read(path)
    if kept is not None:
        return kept
    made = compiled(macros, architecture)
    try:
        _keep(path, made)
    except OSError as error:
        warnings.warn(
            f"the kernels for the GPU were compiled, but cannot be kept: {error}. Every start compiles them again; "
            "MPM_CACHE names another folder",
            RuntimeWarning,
            stacklevel=2,
        )
    return made


def folder() -> Path:
    """Where compiled kernels are kept: in the folder ``MPM_CACHE``, or else ``XDG_CACHE_HOME/mpm`` or
    ``~/.cache/mpm``. It may be removed at any time."""
    if chosen := os.environ.get("MPM_CACHE"):
        return Path(chosen).expanduser() / "gpu"
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path("~/.cache").expanduser()) / "mpm" / "gpu"


def _key(macros: Mapping[str, str | int], architecture: str) -> str:
    """Of sources, options, architecture and compiler."""
    told = repr(
        (_digest(), sorted(macros.items()), architecture, _options(macros, architecture), _compiler())
    )
    return hashlib.sha256(told.encode()).hexdigest()[:24]


def sources() -> list[Path]:
    """The folders that the kernels' sources include from: those of an installed package, or of the source tree."""
    own = Path(__file__).parents[1] / "include"
    root = own / "csrc"
    if not root.is_dir():
        root = own.parents[1] / "csrc"
    if not (root / "mpm" / "gpu" / "sweep.cu").is_file():
        raise FileNotFoundError(
            f"the sources of the GPU's kernels are not in {root}: install the package again"
        )
    return [root, own, root / "mpm" / "gpu" / "nvrtc"]


SUFFIXES = (".c", ".cu", ".h")  # of sources: kernels include some that the processor compiles as C


@functools.cache
def _digest() -> str:
    """Of all that may be compiled."""
    digest = hashlib.sha256(IMAGE.encode())
    root, own, _ = sources()
    below = (path for path in root.rglob("*.*") if path.suffix in SUFFIXES)
    for path in sorted([*below, *own.glob("*.h")]):
        digest.update(f"{path.relative_to(root.parent)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _compiler() -> list[str]:
    """What is installed of the compiler, without an import of it, which takes a second."""
    found = [f"{name}={os.environ[name]}" for name in ("CUDA_PATH", "CUDA_HOME") if name in os.environ]
    for name in ("cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return found


def _read(path: Path) -> bytes | None:
    """What is kept; None if nothing is, or if it is damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head, kept = data[: len(MAGIC) + 32], data[len(MAGIC) + 32 :]
    if head != MAGIC + hashlib.sha256(kept).digest():
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used last
    return kept


def _keep(path: Path, made: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    files.replace(str(path), [MAGIC, hashlib.sha256(made).digest(), made])
    left = KEPT_BYTES
    for size, other in _newest_first(path.parent):
        left -= size
        if left < 0 and other != path:
            with contextlib.suppress(OSError):
                other.unlink()


def _newest_first(base: Path) -> Iterator[tuple[int, Path]]:
    found = []
    for path in base.glob("*.bin"):
        with contextlib.suppress(OSError):  # another process has removed it
            status = path.stat()
            found.append((status.st_mtime_ns, status.st_size, path))
    for _, size, path in sorted(found, reverse=True):
        yield size, path


# ---- the compiler ------------------------------------------------------------------------------------------------


def _options(macros: Mapping[str, str | int], architecture: str) -> dict[str, Any]:
    """Of `cuda.core.ProgramOptions`, but for the folders."""
    return {
        "name": f"{macros['LAW']}.cu",
        "arch": architecture,
        "std": "c++20",
        "device_as_default_execution_space": True,
        "fma": False,  # nothing fuses but what says so
        "split_compile": 0,  # with all processors
        "diag_suppress": [
            161,
            177,
            550,
        ],  # pragmas of other compilers; functions and variables that a law leaves unused
    }


def compiled(macros: Mapping[str, str | int], architecture: str) -> bytes:
    """The kernels, compiled now."""
    core = _check.extra(
        "cuda.core", "the kernels for a GPU are compiled at their first use", "cuda", PACKAGES
    )
    bindings = metadata.version("cuda-bindings")
    if int(bindings.partition(".")[0]) < LEAST_BINDINGS:
        raise DeviceError(
            f"the kernels for a GPU need the compiler of CUDA {LEAST_BINDINGS}, and cuda-bindings is {bindings}: "
            f"{_check.to_install('cuda', '--upgrade', PACKAGES)}"
        )
    options = core.ProgramOptions(
        **_options(macros, architecture),
        define_macro=[(name, str(value)) for name, value in macros.items()],
        include_path=[str(path) for path in sources()],
    )
    log = io.StringIO()
    try:
        made = core.Program(IMAGE, "c++", options).compile("cubin", logs=log).code
    except (
        Exception
    ) as error:  # its own classes are private, and those of missing libraries are other packages'
        said = f"{error}\n{log.getvalue()}".strip()
        raise DeviceError(
            f"NVRTC has not compiled the kernels for {architecture}: {said}\nIf it is not installed: "
            f"{_check.to_install('cuda', PACKAGES)}"
        ) from error
    return bytes(made)


PACKAGES = "cuda-core cuda-bindings nvidia-cuda-nvrtc"
LEAST_BINDINGS = 13  # NVRTC 12.9 ends the process over these kernels
