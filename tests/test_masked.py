"""Masked arrays of `numpy.ma`: a mask that hides a value is refused wherever an array is taken."""

import numpy as np
import pytest

import mpm
from mpm import integrators, materials, shapes
from mpm.sph import operators

SOLID = materials.NeoHookean(E=1e4, nu=0.3, density=1000)
FILL = 1e20  # what many files have in place of a missing value


def hidden(values):
    """The values with the last one masked, which `numpy.asarray` would take."""
    made = np.ma.array(np.array(values), mask=False)
    made[(-1,) * made.ndim] = np.ma.masked
    return made


def simulation(*, shape=None, law=SOLID, body_force=None, gravity=None, make=mpm.Simulation, **body):
    scene = mpm.Scene((0, 0), (1, 1), body_force=body_force, gravity=gravity)
    scene.add(shapes.Ball((0.5, 0.5), 0.2) if shape is None else shape, law, **body)
    return make(scene, threads=1, **{"dx" if make is mpm.Simulation else "spacing": 1 / 8})


def varying(x):
    return hidden(np.full(len(x), FILL))


def graded(sim):
    sim.elements.E = hidden(np.full(len(sim.elements), 2e4))


def forced(gravity):
    simulation(body_force=lambda x, t: hidden(np.zeros(x.shape)), gravity=gravity).step()


def write(sim):
    before = sim.particles.v.copy()
    try:
        sim.particles.v = hidden(np.ones(before.shape))
    finally:
        assert (sim.particles.v == before).all()


TRIANGLE = [[0.2, 0.2], [0.8, 0.2], [0.5, 0.8]]
CORNERS = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
FACES = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
APART = [np.ones(3), np.ones(3), 0.1, operators.neighbours(TRIANGLE, 0.1)]  # what operators take after A
CASES = {
    "lower": lambda: mpm.Scene(hidden([0.0, 0]), (1, 1)),
    "velocity": lambda: simulation(velocity=hidden([1.0, FILL])),
    "velocity(x)": lambda: simulation(velocity=lambda x: hidden(np.ones(x.shape))),
    "F": lambda: simulation(F=[np.ma.array([1.0, 0]), hidden([0.0, 1])]),
    "x": lambda: shapes.Points(hidden([[0.5, 0.5], [FILL, FILL]]), volume=1e-3),
    "volume": lambda: shapes.Points([[0.5, 0.5], [0.6, 0.6]], volume=hidden([1e-3, 1e-3])),
    "vertices": lambda: shapes.Polygon(hidden(TRIANGLE)),
    "faces": lambda: shapes.Mesh(vertices=CORNERS, faces=hidden(FACES)),
    "cells": lambda: shapes.Cells(TRIANGLE, hidden([[0, 1, 2]])),
    "E": lambda: materials.NeoHookean(E=hidden([1e4, FILL]), nu=0.3, density=1000),
    "E(x)": lambda: simulation(law=materials.NeoHookean(E=varying, nu=0.3, density=1000)),
    "gravity(0)": lambda: mpm.Scene((0, 0), (1, 1), gravity=lambda t: hidden([0.0, FILL])),
    "body_force(x, t)": lambda: forced(None),
    "body_force(x, t): ": lambda: forced(lambda t: (0, -9.81)),
    "v": lambda: write(simulation()),
    "rows_or_mask": lambda: simulation().particles.delete(hidden([0, 1])),
    "points": lambda: simulation().interpolate("speed", hidden([[0.5, 0.5]])),
    "E of elements": lambda: graded(
        simulation(
            law=materials.NeoHookean(E=lambda x: 1e4 + x[:, 0], nu=0.3, density=1000), make=mpm.fem.Simulation
        )
    ),
    "period": lambda: operators.neighbours(TRIANGLE, 0.1, period=hidden([1.0, FILL])),
    "r": lambda: operators.kernel(hidden([0.0, FILL]), 0.1, 2),
    "A": lambda: operators.laplacian(hidden([0.0, 0, FILL]), *APART),
    "fixed": lambda: integrators.MassSpring([1.0, 1], [[0, 1]], 1.0, 1.0, fixed=hidden([0, 1])),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mask_that_hides_a_value_is_refused(name):
    with pytest.raises(
        ValueError, match=r"^[^:]*: \d+ of \d+ values are masked; must have no masked values"
    ) as error:
        CASES[name]()
    assert str(error.value).startswith(name.split(" of ")[0].split(":")[0])


def test_a_mask_that_hides_nothing_is_taken():
    sim = simulation(velocity=np.ma.array([1.0, 2.0], mask=False))
    assert (sim.particles.v == (1, 2)).all()
    sim.particles.v = np.ma.array(np.zeros(sim.particles.v.shape))
    assert not sim.particles.v.any()
