"""Which rows are a body's, whatever comes, goes and is saved."""

import copy

import numpy as np
import pytest

import mpm
import scenes

RUBBER = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)


def two_balls(d):
    """Of one material: `particles.material` does not tell them apart."""
    scene = mpm.Scene([0] * d, [1] * d)
    for name, at in (("left", 0.25), ("right", 0.75)):
        scene.add(mpm.shapes.Ball([at] + [0.5] * (d - 1), 0.12), RUBBER, name=name)
    return mpm.Simulation(scene, dx=1 / 16)


@pytest.mark.parametrize("d", scenes.DIMS)
def test_they_are_where_the_body_is(d):
    sim = two_balls(d)
    assert not sim.particles.material.any()
    left, right = sim.rows("left"), sim.rows("right")
    assert left.start == 0 and left.stop == right.start and right.stop == len(sim.particles)
    assert (sim.particles.x[left, 0] < 0.5).all() and (sim.particles.x[right, 0] > 0.5).all()
    sim.particles.v[right] += 1.0
    assert (sim.particles.v[left] == 0).all() and (sim.particles.v[right] == 1).all()


def test_deleted_particles_are_left_out_and_new_bodies_follow(tmp_path):
    sim = two_balls(2)
    n = sim.rows("left").stop
    sim.particles.delete(np.arange(0, len(sim.particles), 3))
    left, right = sim.rows("left"), sim.rows("right")
    assert left == slice(0, n - -(-n // 3)) and right == slice(left.stop, len(sim.particles))
    sim.particles.delete(np.arange(right.start, right.stop))
    assert sim.rows("right") == slice(left.stop, left.stop)
    sim.add(mpm.shapes.Ball((0.5, 0.8), 0.1), RUBBER, name="late")
    late = sim.rows("late")
    assert late == slice(left.stop, len(sim.particles)) and (sim.particles.x[late, 1] > 0.7).all()
    sim.save(tmp_path / "a.mpm")
    for again in (copy.copy(sim), mpm.load(tmp_path / "a.mpm")):
        assert [again.rows(name) for name in ("left", "right", "late")] == [left, sim.rows("right"), late]


def test_deleting_no_particle_changes_no_bit_and_keeps_views_alive():
    sims = [scenes.free_body(2, side=8) for _ in range(2)]
    for _ in range(4):
        view = sims[1].particles.x
        for sim in sims:
            sim.step(10)
        assert sims[1].particles.delete(sims[1].particles.x[:, 0] > 2) == 0
        assert sims[1].particles.delete([]) == 0
        sims[1].step()
        sims[0].step()
        assert np.shares_memory(view, sims[1].particles.x)
    assert sims[0] == sims[1] and sims[0].health == sims[1].health


def test_a_body_that_was_not_added_after_all_takes_no_rows(monkeypatch):
    sim = two_balls(2)
    n = len(sim.particles)

    def interrupted(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # after its particles have come, and got their ids
        patch.setattr(mpm.Simulation, "_find_volumes", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sim.add(mpm.shapes.Ball((0.5, 0.2), 0.1), RUBBER, name="never")
    sim.add(mpm.shapes.Ball((0.5, 0.8), 0.1), RUBBER, name="late")
    assert sim.rows("late") == slice(n, len(sim.particles)) and sim.particles.id[n] > n
    with pytest.raises(ValueError, match="body = 'never': must be one of 'left', 'right', 'late'"):
        sim.rows("never")


def test_who_looks_for_bodies_among_the_particles_is_told():
    sim = two_balls(2)
    with pytest.raises(AttributeError, match=r"sim.rows\(name\)"):
        sim.particles.body  # noqa: B018
    with pytest.raises(AttributeError, match=r"sim.compute\('pressure'\)"):
        sim.particles.pressure  # noqa: B018
    with pytest.raises(TypeError, match="body = 1: must be one of 'left', 'right'"):
        sim.rows(1)
