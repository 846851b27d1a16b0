"""The settings of `mpm.Simulation` that the viewer can change: those of its scene, and its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpm.base.setting import Setting
from mpm.mpm import numerics
from mpm.scene.scene import Scene
from mpm.scene.settings import of_scene
from mpm.solver import stepping


def of(scene: Scene, chosen: numerics.Numerics) -> tuple[Setting, ...]:
    """All settings of a simulation: its scene, and options of `Simulation`."""
    return (*of_scene(scene), *_of_numerics(chosen))


def _of_numerics(chosen: numerics.Numerics) -> list[Setting]:
    given = numerics.options(chosen)

    def setting(name: str, unit: str = "", **limits: Any) -> Setting:
        value = given[name]
        return Setting(name, "Numerics", name, unit, None if value == "auto" else value, **limits)

    positive: dict[str, Any] = {"low": 0, "low_open": True}
    found = [
        setting("transfer", choices=numerics.TRANSFERS),
        setting("kernel", choices=numerics.KERNELS, meaning="B-spline"),
        setting("gradient", choices=numerics.GRADIENTS, meaning="mls, or that of the B-spline"),
        setting("dx", "m", meaning="cell size; the domain must be a whole number of cells", **positive),
        setting("particles_per_cell", low=1, high=numerics.MAX_PER_CELL, whole=True, meaning="at the start"),
        setting(
            "particle_collisions",
            choices=numerics.PARTICLE_COLLISIONS,
            meaning="where colliders hold particles",
        ),
        setting("dt", "s", optional=True, meaning="time step", **positive),
        setting("max_dt", "s", optional=True, meaning="upper limit of the automatic time step", **positive),
        setting("history", low=0, high=stepping.MAX_HISTORY, whole=True, meaning="record every n-th step"),
    ]
    if "flip_ratio" in given:
        found.append(setting("flip_ratio", low=0, high=1, meaning="share of FLIP"))
    if "xpic_order" in given:
        found.append(setting("xpic_order", low=1, high=numerics.MAX_XPIC_ORDER, whole=True))
    if "c_damping" in given:
        found.append(setting("c_damping", low=0, high=1, meaning="damping of the symmetric part of C"))
    return found


def changed_options(chosen: numerics.Numerics, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `Simulation` with some settings changed; those that another transfer does not use are left out."""
    options = numerics.options(chosen)
    if (transfer := changes.get("transfer", options["transfer"])) != options["transfer"]:
        changes = {k: v for k, v in changes.items() if transfer in numerics.USED_BY.get(k, (transfer,))}
        options = {k: v for k, v in options.items() if transfer in numerics.USED_BY.get(k, (transfer,))}
    words = ("transfer", "kernel", "gradient", "particle_collisions")
    for key in (*words, "dx", "particles_per_cell", "dt", "max_dt", "history", *numerics.USED_BY):
        if key in changes:
            options[key] = "auto" if key == "dt" and changes[key] is None else changes[key]
    return options
