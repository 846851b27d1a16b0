"""Writes the recordings of `mpm.samples` anew: ``python benchmarks/samples.py [FOLDER]``.

They are small: a few hundred particles in single precision, rounded to a few thousandths of a cell and compressed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import mpm
from mpm.solver.state import State

FRAMES = 30
SAMPLES = {
    "snowball": ("snowball", {}, 0.5),
    "snowball-fragile": ("snowball", {"critical_stretch": 1e-3}, 0.5),
    "jelly": ("jelly", {}, 0.375),
}
BITS = {"x": 10, "speed": 4}  # binary digits behind the point of metres and metres per second


class Rounded(mpm.Simulation):
    """Shows its particles rounded, which compresses well."""

    def _state(self, names: Sequence[str]) -> State:
        state = super()._state(names)
        fields: dict[str, Any] = dict(state.fields)
        for name, bits in BITS.items():
            if name in fields:
                fields[name] = (np.rint(fields[name] * 2.0**bits) / 2.0**bits).astype(np.float32)
        return replace(state, fields=fields)


def write(name: str, folder: Path) -> Path:
    """Run a scene of the gallery and record it."""
    scene, changes, scale = SAMPLES[name]
    entry = mpm.gallery.get(scene)
    chosen = {**entry.numerics, "dtype": "float32", "dx": entry.numerics["dx"] / scale}
    sim = Rounded(entry.scene(), threads=1, **chosen)
    keys = {setting.name: setting.key for setting in sim._settings()}
    if changes:
        sim = sim._rebuilt({keys[key]: value for key, value in changes.items()})
    path = folder / f"{name}.vtkhdf"
    with sim.record(path, fps=FRAMES / entry.duration, fields=("speed",), compression=9) as recording:
        sim.run(entry.duration * (FRAMES - 1) / FRAMES)
    print(
        f"{path}: {len(sim.particles)} particles, {recording.frames} frames, {path.stat().st_size / 1e3:.0f} kB"
    )
    return path


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(mpm.__file__).parent / "samples"
    for sample in SAMPLES:
        write(sample, target)
