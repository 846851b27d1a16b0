"""``device="emulated"``: the back end of a GPU, whose kernels run on the processor (tests/gpu/driver.cpp).

The device is chosen as ``"emulated:order=reversed,room=1e6,calls=100"``: the order of threads, its bytes, and after how
many calls of its driver it fails. Libraries are kept in build/emulated, one per image.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import subprocess
from pathlib import Path

from emulated import CXX, FLAGS, FUSES, ORDERS, ROOT, SWEEP_THREADS
from mpm.mpm import devices

CAPSULE = b"mpm.gpu.driver"
_LOADED: list[ctypes.CDLL] = []
KEPT = ROOT / "build" / "emulated"
FOLDERS = (
    "csrc/base",
    "csrc/math",
    "csrc/contact",
    "csrc/materials",
    "csrc/mpm/gpu",
    "csrc/mpm/kernels",
    "tests/gpu",
)


@functools.cache
def _sources() -> str:
    """A digest of all that a library may be compiled from."""
    digest = hashlib.sha256()
    for folder in (*FOLDERS, "mpm/include"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".cu", ".cpp"):
                digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.cache
def _library(image: devices.Image) -> ctypes.CDLL:
    macros = {**image.macros, "GPU_SWEEP_THREADS": SWEEP_THREADS, "GPU_SWEEP_CTAS": 3}
    includes = [f"-I{ROOT / path}" for path in ("csrc", "mpm/include", "tests/gpu")]
    flags = [
        *FLAGS,
        *FUSES.get(os.uname().machine, []),
        *(f"-D{name}={value}" for name, value in macros.items()),
    ]
    key = hashlib.sha256(repr((_sources(), CXX, flags)).encode()).hexdigest()[:16]
    touched = "_colliders" * image.collides + "_forces" * image.pushes
    target = KEPT / f"{macros['LAW']}_{macros['MPM_REAL']}{image.dim}_{image.transfer}{touched}_{key}.so"
    if not target.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        made = Path(f"{target}.{os.getpid()}")
        source = ROOT / "tests" / "gpu" / "driver.cpp"
        subprocess.run([*str(CXX).split(), *flags, *includes, source, "-o", made], check=True)
        made.rename(target)
    found = ctypes.CDLL(str(target))
    found.emulated_holds.restype = ctypes.c_bool
    found.emulated_waits.restype = ctypes.c_longlong
    found.emulated_new.restype = ctypes.c_void_p
    found.emulated_new.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_longlong]
    _LOADED.append(found)
    return found


def _driver(device: str, image: devices.Image) -> object:
    asked = dict(part.split("=") for part in device.partition(":")[2].split(",") if part)
    order = ORDERS.index(asked.get("order", "forward"))
    room, calls = int(float(asked.get("room", 1e12))), int(asked.get("calls", -1))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(_library(image).emulated_new(order, room, calls), CAPSULE, None)


def waits() -> int:
    """How often the host has waited for a device, of any simulation so far."""
    return sum(library.emulated_waits() for library in _LOADED)


def holds_arrays() -> bool:
    """Is memory of a device left, of any simulation so far?"""
    return any(library.emulated_holds() for library in _LOADED)


devices.DRIVERS["emulated"] = _driver
