"""Outlines of the colliders of 2-D scenes: where their signed distance is zero (marching squares)."""

from __future__ import annotations

import numpy as np

from mpm._check import FloatArray
from mpm.simulation import Simulation

LATTICE = 160  # points along the longer side


def of(sim: Simulation) -> tuple[FloatArray, FloatArray]:
    """Starts and ends (m, 2) [m] of line segments, where the colliders are now; none in 3-D."""
    lower, upper = sim.scene.lower, sim.scene.upper
    found = [(np.empty((0, sim.dimension)),) * 2]
    if sim.dimension == 2 and sim.scene.colliders:
        spacing = (upper - lower).max() / LATTICE
        axes = [np.linspace(a, b, round((b - a) / spacing) + 1) for a, b in zip(lower, upper, strict=True)]
        x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        for collider in sim.scene.colliders:
            phi = sim.collider_distance(collider.name, x.reshape(-1, 2)).reshape(x.shape[:2])
            found.append(zero_line(x, phi))
    starts, ends = (np.concatenate(part) for part in zip(*found, strict=True))
    return starts, ends


def zero_line(x: FloatArray, phi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Segments (m, 2) each along phi = 0, for phi (a, b) at the points x (a, b, 2) of a lattice.

    Every square is cut into two triangles, of which each has no crossing or two.
    """
    corner = {
        "00": (slice(None, -1), slice(None, -1)),
        "10": (slice(1, None), slice(None, -1)),
        "01": (slice(None, -1), slice(1, None)),
        "11": (slice(1, None), slice(1, None)),
    }
    starts, ends = [], []
    for names in (("00", "10", "11"), ("00", "11", "01")):
        places = np.stack([x[corner[name]].reshape(-1, 2) for name in names], axis=1)  # (k, 3, 2)
        values = np.stack([phi[corner[name]].ravel() for name in names], axis=1)
        inside = values < 0
        cut = np.flatnonzero(inside.any(axis=1) & ~inside.all(axis=1))
        places, values, inside = places[cut], values[cut], inside[cut]
        # The corner that is alone on its side; both crossings lie on its edges.
        alone = np.argmax(inside == (inside.sum(axis=1) == 1)[:, None], axis=1)
        rows = np.arange(len(cut))
        crossings = []
        for other in ((alone + 1) % 3, (alone + 2) % 3):
            share = values[rows, alone] / (values[rows, alone] - values[rows, other])
            way = places[rows, other] - places[rows, alone]
            crossings.append(places[rows, alone] + share[:, None] * way)
        starts.append(crossings[0])
        ends.append(crossings[1])
    return np.concatenate(starts), np.concatenate(ends)
