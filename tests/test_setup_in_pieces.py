"""Bodies that come in pieces have the bits of those that come at once, and take hardly more memory than they keep."""

import numpy as np
import pytest

import mpm
from loops import each
from mpm.mpm import bodies
from mpm.sampling import sampling
from mpm.shapes import Ball, Box, Points

M = mpm.materials
SOLID = M.NeoHookean(E=1e5, nu=0.3, density=1000)
SAND = M.Sand(E=1e6, nu=0.3, friction_angle_deg=30, density=1600)


def scene_of(dim: int, walls: object = "slip") -> mpm.Scene:
    """Two bodies that share a cell, one with a distorted F, and points."""
    scene = mpm.Scene([0] * dim, [1] * dim, walls=walls)
    cut = Ball([0.5] * dim, 0.4) & Box([0] * dim, [1] * (dim - 1) + [0.55])
    scene.add(cut, SOLID, velocity=[0.3] * dim, F=np.diag([1.1, *[0.9] * (dim - 1)]))
    scene.add(Box([0.0] * (dim - 1) + [0.55], [1] * (dim - 1) + [0.8]), SAND, velocity=[-0.1] * dim)
    x = np.random.default_rng(3).uniform(0.82, 0.98, (100, dim))
    scene.add(Points(x, volume=1e-4), M.Fluid(bulk_modulus=1e5, density=1000))
    return scene


CASES = {
    "lattice, 2-D": (2, {}),
    "stratified": (3, {"sampling": "stratified", "rng": 5}),
    "random": (2, {"sampling": "random", "particles_per_cell": 5, "dtype": "float32"}),
    "poisson": (2, {"sampling": "poisson", "rng": np.random.MT19937}),
    "points at the borders of cells": (3, {"particles_per_cell": 27, "dtype": "float32"}),
    "grid density": (3, {"volume": "grid-density", "dtype": "float32"}),
    "mirror": (2, {"walls": "mirror"}),
    "periodic": (2, {"walls": "periodic", "kernel": "cubic"}),
}


@each("case", CASES)
def test_pieces_have_the_bits_of_the_whole(case, monkeypatch):
    dim, options = CASES[case]
    options = dict(options)
    scene = scene_of(dim, options.pop("walls", "slip"))
    made = []
    generator = options.get("rng")
    for chunk, uniform in ((1 << 18, None), (1 << 18, lambda body: False), (150, None)):
        with monkeypatch.context() as changed:
            changed.setattr(sampling, "CHUNK", chunk)
            if uniform:
                changed.setattr(bodies, "is_uniform", uniform)
            if isinstance(generator, type):
                options["rng"] = np.random.Generator(generator(2))  # a new one: it is advanced
            made.append(mpm.Simulation(scene, dx=1 / (16 if dim == 2 else 8), **options))
    one, whole, pieces = made
    assert one == whole and pieces == whole and pieces.state_hash() == whole.state_hash()
    assert not mpm.diff(whole, pieces)
    assert [pieces.rows(body.name) for body in scene.bodies] == [
        whole.rows(body.name) for body in scene.bodies
    ]
    for sim in made:
        sim.step(2)
    assert pieces == whole


def test_a_body_is_there_after_its_last_piece_only():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(Box((0.1, 0.1), (0.4, 0.4)), SOLID, velocity=(1, 0))
    sims = [mpm.Simulation(scene, dx=1 / 8) for _ in range(3)]
    x = np.random.default_rng(1).uniform(0.5, 0.9, (40, 2))
    ones = np.ones(40)
    for sim in sims:
        sim.run(0.01)
    n, key = len(sims[0].particles), sims[0].state_hash()

    def add(sim, rows, left):
        sim._core.add_particles(x[rows], 0 * x[rows], None, None, 1e-4 * ones[rows], ones[rows], 0, left)

    add(sims[0], slice(0, 40), 0)
    add(sims[1], slice(0, 7), 33)
    assert sims[1]._core.particles == n
    add(sims[1], slice(7, 39), 1)
    add(sims[1], slice(39, 40), 0)
    assert sims[0] == sims[1] and len(sims[1].particles) == n + 40
    add(sims[2], slice(0, 7), 33)
    assert sims[2].state_hash() == key  # looked at in between: the piece is dropped
    add(sims[2], slice(0, 40), 0)
    assert sims[2] == sims[0]
    with pytest.raises(ValueError, match="left: must be >= 0"):
        add(sims[2], slice(0, 7), -1)
    sims[2].step()
    sims[0].step()
    assert sims[2] == sims[0]


def test_warnings_count_all_pieces(monkeypatch):
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(Box((0.1, 0.1), (0.6, 0.6)), SOLID)
    scene.add(Box((0.4, 0.4), (0.9, 0.9)), SAND)
    scene.add_collider(Ball((0.7, 0.7), 0.15), name="ball")
    texts = []
    for chunk in (1 << 18, 64):
        monkeypatch.setattr(sampling, "CHUNK", chunk)
        with pytest.warns(UserWarning) as caught:
            mpm.Simulation(scene, dx=1 / 32)
        texts.append([str(one.message) for one in caught])
    assert texts[0] == texts[1] and len(texts[0]) == 2
    assert "of 1024 particles of 'body1' lie in 'body0'" in texts[0][0]
