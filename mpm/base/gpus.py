"""The GPUs of this machine, as NVIDIA's driver tells them. Nothing here starts the driver but `devices`."""

from __future__ import annotations

from dataclasses import dataclass

from mpm import _core

LIBRARY = "libcuda.so.1"  # of the driver


@dataclass(frozen=True)
class Device:
    """A GPU that this process may use."""

    number: int
    name: str
    capability: int  # 90: 9.0
    memory: int  # bytes
    shared: int  # bytes of shared memory that a block may have

    @property
    def architecture(self) -> str:
        """As compilers call it."""
        return f"sm_{self.capability}"

    def __str__(self) -> str:
        major, minor = divmod(self.capability, 10)
        return f"cuda:{self.number} {self.name} ({major}.{minor}, {self.memory / 2**30:.0f} GiB)"


def devices() -> tuple[int, list[Device]]:
    """The version of CUDA that the driver knows (13010: 13.1), and its devices. The driver starts for it.

    Raises
    ------
    DeviceError
        There is no driver, it is too old, or it has no device; the message says which, and what to do.
    """
    version, found = _core.cuda_devices(LIBRARY)
    return version, [Device(number, *one) for number, one in enumerate(found)]


def told() -> str:
    """The devices in one line, or why there are none."""
    try:
        version, found = devices()
        return f"{', '.join(map(str, found))}; CUDA {version // 1000}.{version % 1000 // 10}"
    except _core.DeviceError as error:
        words = str(error)
    cause = words.partition(":")[0]
    return f"none: {cause if ' ' in cause else words}"  # "no driver", or what a function of the driver says
