"""Where a simulation runs: what a GPU cannot do yet, and the drivers that the core gets (csrc/mpm/gpu/driver.h)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mpm import _core
from mpm.base import _check
from mpm.base.options import Row
from mpm.materials.laws import Material
from mpm.materials.userlaws import UserLaw
from mpm.mpm import faces
from mpm.scene import heat, pores, solutes
from mpm.scene.loads import Force, Traction
from mpm.scene.scene import Scene

HOST = "cpu"


@dataclass(frozen=True)
class Image:
    """What the kernels of a GPU are compiled for: a law, a precision, a dimension, a transfer, and whether there are
    colliders, and body forces or loads."""

    material: Material
    dtype: str
    dim: int
    collides: bool = False
    transfer: str = "apic"
    pushes: bool = False

    @property
    def macros(self) -> dict[str, str | int]:
        """As csrc/mpm/gpu/sweep.cu names them, but for the size of its CTAs."""
        row = self.material._row
        reals = {
            "scalar": 1,
            "vector": self.dim,
            "symmetric": self.dim * (self.dim + 1) // 2,
            "tensor": self.dim**2,
        }
        return {
            "MPM_ISA": "cuda",
            "MPM_ISA_CUDA": 1,
            "MPM_REAL": {"float32": "float", "float64": "double"}[self.dtype],
            "MPM_DIM": self.dim,
            "LAW": row["name"],
            "LAW_KEEPS_J": int(row["strain"] == "J"),
            "LAW_HISTORY": sum(reals[one["rank"]] for one in row["history"]),
            "LAW_MAPS": int(row["return_map"]),
            "LAW_VARIES": int(bool(self.material._varying)),
            "GPU_COLLIDES": int(self.collides),
            "GPU_PUSHES": int(self.pushes),
            "GPU_TRANSFER": f"MPM_{self.transfer.upper()}",
        }


STANDARD = {
    "kernel": "quadratic",
    "gradient": "mls",
    "f_update": "linear",
    "c_damping": 0.0,
    "f_bar": False,
    "artificial_viscosity": (0.0, 0.0),
    "integrator": "explicit",
    "dissipation": False,
    "damping": 0.0,
    "local_damping": 0.0,
    "volume": "sampler",
}
"""The options that the kernels of a GPU have so far, with TRANSFERS."""
TRANSFERS = ("apic", "pic", "flip", "aflip")


def _cuda(device: str, image: Image) -> object:
    from mpm.mpm import cuda

    return cuda.driver_for(device, image.macros)


DRIVERS: dict[str, Callable[[str, Image], object]] = {"cuda": _cuda}
"""By the word before a colon in ``device``: makes the capsule of a driver from the device and an image."""


def checked(row: Row, value: object, others: Mapping[str, Any]) -> str:
    """The device, if there is such a kind."""
    if not isinstance(value, str):
        raise _check.wrong_type("device", value, "a string")
    if value != HOST and value.partition(":")[0] not in DRIVERS:
        raise ValueError(f"device = {_check.shown(value)}: must be {', '.join(map(repr, [HOST, *DRIVERS]))}")
    return value


def use(core: _core.Simulation, scene: Scene, chosen: Any, materials: list[Material]) -> None:
    """Let a new core run on the device that was chosen."""
    if chosen.device == HOST:
        return
    refuse_scene(scene, chosen)
    for material in (filling := _filling(scene, materials)):
        refuse_material(chosen, material)
    for material in filling:
        provide(core, scene, chosen, material)


def admit(core: _core.Simulation, scene: Scene, chosen: Any, materials: list[Material]) -> None:
    """Raise NotImplementedError for what no device has yet of the scene that a core gets. Where that is the first with
    colliders, let the core have kernels that know them."""
    refuse_scene(scene, chosen)
    if chosen.device != HOST and scene.colliders:
        for material in _filling(scene, materials):
            provide(core, scene, chosen, material)


def _filling(scene: Scene, materials: list[Material]) -> list[Material]:
    return [*dict.fromkeys([*scene._filling, *materials])]


def provide(core: _core.Simulation, scene: Scene, chosen: Any, material: Material) -> None:
    """Let a core on a device have the kernels for a material of a scene, if it has not got them yet."""
    image = material._row["name"], bool(material._varying)
    if chosen.device == HOST or core.has_image(*image, bool(scene.colliders)):
        return
    pushes = scene.body_force is not None or bool(scene.loads)
    wanted = Image(material, chosen.dtype, scene.dimension, bool(scene.colliders), chosen.transfer, pushes)
    begun = DRIVERS[chosen.device.partition(":")[0]]
    try:
        driver = begun(chosen.device, wanted)
    except ValueError as error:
        raise _check.UnfitError(str(error)) from error
    try:
        core.use_gpu(*image, driver)
    except ValueError as error:
        raise _check.UnfitError(f"device = {_check.shown(chosen.device)}: {error}") from error


def _refuse(device: str, what: str, remedy: str) -> NotImplementedError:
    return NotImplementedError(
        f"{what}: device = {device!r} does not have it yet; {remedy}, or device={HOST!r}"
    )


def refuse_scene(scene: Scene, chosen: Any) -> None:
    """Raise NotImplementedError for what no device has yet."""
    if chosen.device == HOST:
        return
    if chosen.transfer not in TRANSFERS:
        raise _refuse(
            chosen.device,
            f"transfer = {_check.shown(chosen.transfer)}",
            f"choose one of {', '.join(map(repr, TRANSFERS))}",
        )
    for name, value in STANDARD.items():
        if (own := getattr(chosen, name)) != value:
            raise _refuse(chosen.device, f"{name} = {_check.shown(own)}", "leave it out")
    for name, found in (
        ("contacts between bodies", scene._touches),
        ("faces = True", faces.exist(scene._filling)),
        ("thermal", heat.conducts(scene)),
        ("pore", pores.saturated(scene)),
        ("solute", solutes.dissolves(scene)),
    ):
        if found:
            raise _refuse(chosen.device, name, "leave it out")
    for load in scene.loads:
        if not isinstance(load, Force | Traction):
            raise _refuse(chosen.device, f"held regions: {load.name!r}", "leave it out")
    for face, wall in scene.walls.items():
        if wall.contact == "absorbing":
            raise _refuse(chosen.device, f"walls[{face!r}]: 'absorbing'", "choose another contact")
    for one in scene.colliders:
        if one.contact == "absorbing":
            raise _refuse(chosen.device, f"collider {one.name!r}: 'absorbing'", "choose another contact")


def refuse_material(chosen: Any, material: Material) -> None:
    """Raise NotImplementedError for a material that no image can have."""
    if chosen.device == HOST:
        return
    name = type(material).__name__
    if material._row["rigid"] or isinstance(material, UserLaw):
        raise _refuse(chosen.device, f"material: {name}", "choose a law of the package that deforms")


def refuse(chosen: Any, what: str, wanted: bool = True, remedy: str = "leave it out") -> None:
    """Raise NotImplementedError for a call or an option that a device does not know, if it is wanted."""
    if chosen.device != HOST and wanted:
        raise _refuse(chosen.device, what, remedy)
