"""Live particle arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from mpm.base import _check, advice
from mpm.base.fieldtable import DISSIPATIONS, KNOWN, RANKS, TAKEN
from mpm.materials.laws import registry
from mpm.shapes import Shape
from mpm.solver import derived
from mpm.solver.device_arrays import DeviceArray, lent

if TYPE_CHECKING:
    from mpm.solver.core import Core

Array = npt.NDArray[Any]
# Arrays of snapshots that are not fields.
RESERVED = ("groups", "row", "history", "books", "loads", "bodies", "numbers", "counters")


class Particles:
    """The particles as live NumPy arrays; row k is the same particle until particles are deleted.

    Every access returns a new view of the current buffer. After a run the view shows the new state; values written
    through the view take effect at the next step. A view from before `Simulation.add` or `delete` keeps its memory, but
    no longer shows the state.

    Attributes
    ----------
    x, v : ndarray, shape (n, d)
        Position [m] and velocity [m/s]. Along a periodic axis positions lie in lower <= x < upper; positions
        written elsewhere are wrapped.
    F, C : ndarray, shape (n, d, d)
        Deformation gradient and velocity gradient ∇v of the last grid-to-particle transfer [1/s]. A fluid's F reads
        J^(1/d) I; do not write to it. The F of inelastic materials is the elastic part.
    J : ndarray, shape (n,)
        det F; the state of a fluid. J of a solid follows from F; writing to it is refused, at once in a simulation of
        solids only, otherwise by the next run. J and F show what was written to each other, and raise
        `mpm.SimulationError` if that is no valid state.
    Jp : ndarray, shape (n,)
        Plastic volume ratio of snow, sand and others; the whole volume ratio of these two is J Jp. The field exists
        once a simulation has one of them. It is 1 for other materials, and writing to it there is refused as for the J
        of a solid.
    mass, volume : ndarray, shape (n,), read-only
        Mass [kg] and rest volume [m³]; in 2-D per metre of depth [kg/m] and [m²].
    material : ndarray of int32, shape (n,), read-only
        Index of the material in `Simulation.materials`. Bodies of equal materials share it; `Simulation.rows`
        distinguishes bodies.
    id : ndarray, shape (n,), read-only
        Permanent number of the particle, whatever is deleted.

    Notes
    -----
    A field refuses masked values of `numpy.ma` that are assigned to it, as every argument of the package does. NumPy
    itself writes to parts of an array, as in ``particles.v[:5] = values``, and drops the mask.
    """

    __slots__ = ("_core",)

    _core: Core
    _quantities: ClassVar[tuple[str, ...]] = tuple(derived.NAMES)
    """Names that no field of users may have, because the solver computes them."""

    def __init__(self, core: Core) -> None:
        object.__setattr__(self, "_core", core)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of all fields; ``"Jp"`` is among them once the simulation has snow or sand."""
        return tuple(row["name"] for row in self._core.fields())

    @property
    def units(self) -> dict[str, str]:
        """Units of all fields in 3-D; ``"1"`` for a field without a unit."""
        return {row["name"]: row["unit"] for row in self._core.fields()}

    def __len__(self) -> int:
        return self._core.particles

    def __getitem__(self, name: str) -> Array:
        """The field of that name.

        Raises
        ------
        KeyError
            No field has that name; the message proposes the nearest.
        """
        if not isinstance(name, str):
            raise _check.wrong_type("field", name, "a name from sim.particles.fields")
        try:
            return np.asarray(cast(Any, self._core.field(name)))
        except KeyError:
            near = self._near(name, self.fields)
            raise KeyError(f"no field {name!r}; fields: {', '.join(self.fields)}{near}") from None

    def _copy(self, name: str) -> Array:
        """A read-only copy of a field. Unlike a view, it cannot change the field: no comparison before a run."""
        data, dtype, shape = self._core.field(name).copy()
        return np.frombuffer(data, dtype=dtype).reshape(shape)

    def on_device(self, name: str) -> DeviceArray:
        """A field where it is on a GPU, for other libraries, without a copy: it has ``__dlpack__`` and
        ``__cuda_array_interface__``. ::

            F = torch.from_dlpack(sim.particles.on_device("F"))    # (n, d, d)
            row = torch.from_dlpack(sim.particles.on_device("row"))

        The particles come in the order of the device, which changes; ``"row"`` (int32) tells which row of
        `sim.particles` each of them is. Every component is contiguous over the particles, so the strides of ``F`` are
        those of an array (d, d, n). The array is read-only, and shows the state at the time of the call: after the
        next step or write, ask again. An array that a library has made before then shows whatever its memory has,
        which stays allocated; ``"x"`` alone is an array of its own, which the next call overwrites.

        Parameters
        ----------
        name : str
            A field of the core or of a law, or ``"row"``.

        Raises
        ------
        ValueError
            The method has no GPU.
        KeyError
            The device does not have the field: it is a user's, ``"id"`` or ``"material"``; it is ``"F"`` where there
            are fluids, or ``"J"`` where there are others; or the simulation runs on the processor.
        MemoryError
            The device is full.
        """
        return lent(self._core, name)

    def __setitem__(self, name: str, values: npt.ArrayLike) -> None:
        """Write values that have the field's shape or broadcast to it; all or nothing."""
        view = self[name]
        if not view.flags.writeable:
            raise ValueError(f"sim.particles.{name} is read-only")
        _check.refuse_masked(name, values)
        try:
            given = np.asarray(values)
        except ValueError:  # ragged nesting
            raise ValueError(f"{name} = {_check.shown(values)}: must be of shape {view.shape}") from None
        if given.dtype.kind not in "iuf":
            raise TypeError(f"{name} = {_check.shown(values)}: must be real numbers, not {given.dtype}")
        try:
            given = np.broadcast_to(given, view.shape)
        except ValueError:
            raise ValueError(f"{name} has shape {given.shape}: must be {view.shape}") from None
        view[...] = given

    def __getattr__(self, name: str) -> Array:
        # Fields are looked up here, so that the state of a law (Jp, ...) is an attribute like any other.
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            near = self._near(name, [*self.fields, "fields", "delete"])
            raise AttributeError(f"Particles has no attribute {name!r}{near}", name=name, obj=self) from None

    def __setattr__(self, name: str, values: npt.ArrayLike) -> None:
        # `sim.particles.v += 1` ends here, with the view that was changed in place.
        try:
            self[name] = values
        except KeyError:
            near = self._near(name, self.fields)
            raise AttributeError(f"Particles has no field {name!r}{near}", name=name, obj=self) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.fields]

    @_check.options
    def _near(self, name: str, names: Sequence[str]) -> str:
        """What to say of an unknown field, with these that there are."""
        return _proposal(name, names)

    def add_field(self, name: str, *, rank: str = "scalar", unit: str = "1", initial: float = 0.0) -> Array:
        """Add a user-defined field. No step reads or changes it. Like any other field it follows the particles, and can
        be saved, recorded, plotted and exported.

        Parameters
        ----------
        name : str
            An identifier of at most 31 ASCII letters, digits and underscores, and no keyword; it must be free.
        rank : {"scalar", "vector", "symmetric", "tensor"}, optional
            Shape (n,), (n, d), (n, d(d+1)/2) with the rows of the upper triangle (xx, xy, yy in 2-D), or (n, d, d).
        unit : str, optional
            At most 15 bytes; colour bars and files show it.
        initial : float, optional
            Initial value for all present and future particles; for a tensor its diagonal, with 0 elsewhere.

        Returns
        -------
        ndarray
            The live field, ``particles[name]``, in the precision of the simulation.

        Raises
        ------
        TypeError, ValueError
            An argument is of the wrong type or range, or the table of fields is full; nothing has changed.
        NotImplementedError
            The solver keeps no user-defined fields.
        """
        add = getattr(self._core, "add_field", None)
        if add is None:
            raise NotImplementedError("this solver keeps no fields of users")
        taken = {*self.fields, *KNOWN, *self._quantities, *RESERVED, *TAKEN, *dir(type(self))}
        if _check.identifier("name", name) in taken:
            raise ValueError(
                f"name = {_check.shown(name)}: already the name of something else that particles have"
            )
        if len(_check.text("unit", unit).encode()) > 15:
            raise ValueError(f"unit = {_check.shown(unit)}: must have at most 15 bytes")
        add(name, unit, _check.choice("rank", rank, RANKS), _check.number("initial", initial))
        return self[name]

    def delete(self, rows_or_mask: npt.ArrayLike | slice | Shape) -> int:
        """Delete particles. The remaining rows keep their order and their `id`; the arrays are new.

        Parameters
        ----------
        rows_or_mask : array_like, slice or one of `mpm.shapes`
            Row numbers from 0 to n − 1, booleans of shape (n,) that are true for particles to delete, a slice of rows
            such as ``sim.rows("ball")``, or a shape: the particles that are in it now, as an excavation takes them.

        Returns
        -------
        int
            Number of deleted particles. Where no row is named, nothing changes and views stay live.

        Raises
        ------
        TypeError, ValueError
            The argument is neither rows nor a mask nor a solid; nothing is deleted.
        """
        return self._core.delete_particles(self._mask(rows_or_mask))

    def _within(self, shape: Shape) -> npt.NDArray[np.bool_]:
        """Which particles are in a shape (n,)."""
        x = np.asarray(self._copy("x"), dtype=np.float64)
        if shape.dimension != x.shape[1]:
            raise ValueError(
                f"rows_or_mask is {shape.dimension}-D: must be {x.shape[1]}-D like the particles"
            )
        if not shape._has_inside or shape._only_collides:
            raise TypeError(
                f"rows_or_mask = {_check.shown(shape)}: must be a solid that does not change with time"
            )
        return shape.contains(x)

    def _mask(self, rows_or_mask: object) -> npt.NDArray[np.uint8]:
        n = len(self)
        if isinstance(rows_or_mask, Shape):
            return self._within(rows_or_mask).astype(np.uint8)
        expected = f"rows from 0 to {n - 1} or booleans of shape ({n},)"
        if isinstance(rows_or_mask, slice):
            rows_or_mask = np.arange(n)[rows_or_mask]
        if rows_or_mask is None or isinstance(rows_or_mask, (str, bytes, dict, set)):
            raise _check.wrong_type("rows_or_mask", rows_or_mask, expected)
        _check.refuse_masked("rows_or_mask", rows_or_mask)
        try:
            given = np.asarray(rows_or_mask)
        except ValueError:
            raise ValueError(f"rows_or_mask = {_check.shown(rows_or_mask)}: must be {expected}") from None
        if given.ndim != 1 or (given.dtype == bool and len(given) != n):
            raise ValueError(f"rows_or_mask has shape {given.shape}: must be {expected}")
        if given.dtype == bool:
            return given.astype(np.uint8)
        mask = np.zeros(n, dtype=np.uint8)
        if not given.size:
            return mask
        if given.dtype.kind not in "iu":
            raise _check.wrong_type("rows_or_mask", rows_or_mask, expected)
        for row in given[(given < 0) | (given >= n)][:1]:
            raise ValueError(f"rows_or_mask contains {row}: must be {expected}")
        mask[given] = 1
        return mask

    def __repr__(self) -> str:
        return f"<Particles: {len(self)}, fields {' '.join(self.fields)}>"


class Copies:
    """Copies of the fields, each made once on request. Unlike views, copies are no possible writes."""

    def __init__(self, particles: Particles) -> None:
        self._particles = particles
        self._made: dict[str, Array] = {}

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of all fields."""
        return self._particles.fields

    @property
    def units(self) -> dict[str, str]:
        """Units of all fields."""
        return self._particles.units

    def __len__(self) -> int:
        return len(self._particles)

    def __getitem__(self, name: str) -> Array:
        if name not in self._made:
            self._made[name] = self._particles._copy(name)
        return self._made[name]


NOT_KEPT = "; mpm.Simulation(..., dissipation=True) keeps {}"


def no_owner(field: str) -> str:
    """The message for a field of a history that no material of a simulation keeps."""
    *others, last = owners(field)
    laws = f"{', '.join(others)} and {last}" if others else last
    return f"; {field} is a state of {laws}, and this simulation has none"


def owners(field: str) -> list[str]:
    """The laws that keep a field of a history."""
    keep = [law for law in registry().values() if field in [kept["name"] for kept in law["history"]]]
    return list(dict.fromkeys(law["variant_of"] or law["name"] for law in keep))


def _proposal(name: str, names: Sequence[str]) -> str:
    """The message for an unknown field."""
    if advice.FIELDS.get(name.casefold(), name) == "Jp" and "Jp" not in names:
        return no_owner("Jp")
    if name not in names and owners(name):
        return no_owner(name)
    if name in DISSIPATIONS:
        return NOT_KEPT.format(name)
    if name in derived.NAMES:
        return f"; sim.compute({name!r}) computes it"
    if name in ("body", "bodies"):
        return "; sim.rows(name) are the rows of a body's particles"
    return advice.component(name, names) or advice.nearest(name, names, advice.FIELDS)
