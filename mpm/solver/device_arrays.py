"""Arrays in the memory of a GPU, for other libraries, without a copy."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from mpm import _core
from mpm.base import _check

CUDA = 2  # as DLPack counts kinds of devices


class DeviceArray:
    """A field of the particles in the memory of a GPU, read-only: for ``torch.from_dlpack``, ``cupy.from_dlpack``,
    ``jax.dlpack.from_dlpack`` and whatever takes ``__cuda_array_interface__``. See `Particles.on_device`.

    Attributes
    ----------
    shape, strides : tuple of int
        Strides in bytes: every component of a field is contiguous over the particles.
    dtype : numpy.dtype
    """

    __slots__ = ("_changes", "_core", "_device", "_loan", "_name", "_pointer", "dtype", "shape", "strides")

    def __init__(self, core: Any, name: str) -> None:
        self._core, self._name = core, name
        self._device: tuple[int, int]
        self._loan, self._pointer, self.shape, self.strides, dtype, self._device, self._changes = core.lend(
            name
        )
        self.dtype = np.dtype(dtype)

    def _refuse_stale(self) -> None:
        if self._core.changes() != self._changes:
            raise BufferError(
                f"sim.particles.on_device({self._name!r}): the simulation has changed since; ask for the array again"
            )

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A capsule. All work of the simulation is in the legacy default stream, so that no `stream` has to wait.

        Raises
        ------
        BufferError
            The simulation has changed since the array was asked for; or a copy, or another device, is wanted.
        """
        self._refuse_stale()
        if copy or (dl_device is not None and tuple(dl_device) != self._device):
            raise BufferError(f"sim.particles.on_device({self._name!r}): is not copied, nor to other devices")
        return _core.dlpack(self._loan, max_version is not None and max_version[0] >= 1)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._device[0] != CUDA:
            raise AttributeError(
                "__cuda_array_interface__: the array is not in the memory of a GPU of NVIDIA"
            )
        self._refuse_stale()
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._pointer if self.shape[0] else 0, True),
            "strides": self.strides,
            "version": 3,
            "stream": 1,  # the legacy default one
        }

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError(
            f"sim.particles.on_device({self._name!r}): is not copied to the host; take sim.particles[{self._name!r}], "
            "or the array by DLPack"
        )

    def __repr__(self) -> str:
        return f"<DeviceArray {self._name!r}, {self.shape} of {self.dtype}>"


def lent(core: Any, name: object) -> DeviceArray:
    """The array of a simulation; errors as in `Particles.on_device`."""
    if not isinstance(name, str):
        raise _check.wrong_type("field", name, "a name from sim.particles.fields, or 'row'")
    if not hasattr(core, "lend"):
        raise ValueError("sim.particles.on_device: the simulation runs on 'cpu'; take sim.particles[name]")
    core.totals()  # takes in what was written
    if name.isidentifier():  # the core cannot be asked for every string
        with contextlib.suppress(KeyError):
            return DeviceArray(core, name)
    raise KeyError(
        f"sim.particles.on_device({name!r}): the device has no such field, or the simulation runs on 'cpu'; "
        f"sim.particles[{name!r}] has what there is"
    )
