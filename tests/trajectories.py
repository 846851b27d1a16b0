"""Runs that are recorded: what the tests of recording and of replaying share."""

from types import SimpleNamespace

import numpy as np

import scenes


def make(dim, dtype="float64", **numerics):
    return scenes.three_materials(dim, 32 if dim == 2 else 12, dtype=dtype, **numerics)


def bits(sim):
    """All that a run leaves behind."""
    history = {name: values.tobytes() for name, values in sim.history.items()}
    return sim.state_hash(), sim.time, sim.steps, sim.dt, sim.health, history


def snapshot(sim):
    """The state after a step."""
    fields = {name: np.array(sim.particles[name]) for name in sim.particles.fields}
    return SimpleNamespace(time=sim.time, step=sim.steps, totals=sim.totals(), fields=fields)


def same(a, b):
    """Are they the same bits?"""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
