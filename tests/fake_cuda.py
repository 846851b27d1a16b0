"""The library of a driver whose device is memory of the host: tests/gpu/fake_cuda.c."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
CC = shutil.which("cc") or shutil.which("gcc")
NUMBERS = b"numbers 8 3 24 64 50000 0 2 0"  # an image: float64, 3-D, 24 bytes of a law, 64 threads, 50 kB, walls, APIC


class Left(NamedTuple):
    """What nobody has given back."""

    arrays: int
    modules: int
    current: int  # contexts
    retained: int  # contexts


class Library:
    """The library, compiled into a folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "libcuda.so.1"
        source = ROOT / "tests" / "gpu" / "fake_cuda.c"
        flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{ROOT / 'csrc'}"]
        subprocess.run([str(CC), *flags, source, "-o", self.path], check=True)
        self._loaded = ctypes.CDLL(str(self.path))
        self._loaded.fake_reset.argtypes = [*[ctypes.c_int] * 3, ctypes.c_size_t, ctypes.c_int]
        self._loaded.fake_log.restype = ctypes.c_char_p
        self.reset()

    def reset(self, *, version=13010, devices=2, capability=90, memory=10**9, shared=200_000) -> None:
        self._loaded.fake_reset(version, devices, capability, memory, shared)

    def fail(self, name: str, code: int, after: int = 0) -> None:
        """From then on, or after some more calls, a function returns an error."""
        self._loaded.fake_fail(name.encode(), code, after)

    def left(self) -> Left:
        numbers = (ctypes.c_int * 4)()
        self._loaded.fake_left(numbers)
        return Left(*numbers)

    def launches(self) -> list[tuple[int, ...]]:
        """(kernel, CTAs, threads, bytes)."""
        return [tuple(map(int, line.split())) for line in self._loaded.fake_log().decode().splitlines()]


class Image(ctypes.Structure):
    """`mpm_gpu_image` of csrc/mpm/gpu/driver.h."""

    _fields_ = [
        (name, ctypes.c_uint)
        for name in (
            "real_size",
            "dim",
            "law_bytes",
            "sweep_threads",
            "sweep_bytes",
            "collides",
            "transfer",
            "pushes",
        )
    ]


class Shape(ctypes.Structure):
    """`mpm_gpu_shape`."""

    _fields_ = [("ctas", ctypes.c_uint), ("threads", ctypes.c_uint), ("bytes", ctypes.c_size_t)]


_at, _size = ctypes.c_void_p, ctypes.c_size_t


class _Table(ctypes.Structure):
    """`mpm_gpu_driver`."""

    _fields_ = [
        ("image", Image),
        ("allocate", ctypes.CFUNCTYPE(ctypes.c_int, _at, ctypes.POINTER(_at), _size)),
        ("release", ctypes.CFUNCTYPE(None, _at, _at)),
        ("write", ctypes.CFUNCTYPE(ctypes.c_int, _at, _at, ctypes.c_char_p, _size)),
        ("read", ctypes.CFUNCTYPE(ctypes.c_int, _at, _at, _at, _size)),
        ("copy", ctypes.CFUNCTYPE(ctypes.c_int, _at, _at, _at, _size)),
        ("fill", ctypes.CFUNCTYPE(ctypes.c_int, _at, _at, ctypes.c_int, _size)),
        ("launch", ctypes.CFUNCTYPE(ctypes.c_int, _at, ctypes.c_int, Shape, ctypes.POINTER(_at))),
        ("wait", ctypes.CFUNCTYPE(ctypes.c_int, _at)),
        ("words", ctypes.CFUNCTYPE(ctypes.c_char_p, _at)),
        ("free", ctypes.CFUNCTYPE(None, _at)),
    ]


class Failed(Exception):
    """A function has returned a status; the driver's words."""


class Driver:
    """The table of a capsule, for Python."""

    def __init__(self, capsule: object) -> None:
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = _at, [ctypes.py_object, ctypes.c_char_p]
        self._capsule = capsule
        self._self = get(capsule, b"mpm.gpu.driver")
        self._table = _Table.from_address(self._self)
        self.image = self._table.image

    def _check(self, status: int) -> None:
        if status:
            raise Failed(f"{status}: {self.words()}")

    def words(self) -> str:
        return self._table.words(self._self).decode()

    def allocate(self, size: int) -> int:
        memory = _at()
        self._check(self._table.allocate(self._self, ctypes.byref(memory), size))
        return int(memory.value or 0)

    def release(self, memory: int | None) -> None:
        self._table.release(self._self, memory)

    def write(self, to: int, data: bytes) -> None:
        self._check(self._table.write(self._self, to, data, len(data)))

    def read(self, at: int, size: int) -> bytes:
        data = ctypes.create_string_buffer(size)
        self._check(self._table.read(self._self, data, at, size))
        return data.raw

    def copy(self, to: int, at: int, size: int) -> None:
        self._check(self._table.copy(self._self, to, at, size))

    def fill(self, to: int, byte: int, size: int) -> None:
        self._check(self._table.fill(self._self, to, byte, size))

    def launch(self, kernel: int, ctas: int, threads: int, shared: int = 0) -> None:
        self._check(self._table.launch(self._self, kernel, Shape(ctas, threads, shared), None))

    def wait(self) -> None:
        self._check(self._table.wait(self._self))
