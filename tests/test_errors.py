"""Errors of a run: what they tell, and what is left after them."""

import copy
import pickle

import numpy as np
import pytest

import mpm
import scenes


def test_errors_tell_step_time_and_rows():
    sim = scenes.free_body(2, side=6)
    sim.step(4)
    sim.particles.v[[3, 9]] = np.inf
    with pytest.raises(mpm.SimulationError) as caught:
        sim.step(10)
    error = caught.value
    assert (error.step, error.time, error.rows) == (4, sim.time, [3, 9])
    assert str(error).startswith(f"step 4, t = {sim.time:.9g} s: ")
    assert isinstance(error, RuntimeError) and not isinstance(error, mpm.InstabilityError)
    assert issubclass(mpm.InstabilityError, mpm.SimulationError)
    assert issubclass(mpm.EscapeError, mpm.SimulationError)
    assert not issubclass(mpm.BusyError, mpm.SimulationError)


@pytest.mark.parametrize("dtype", scenes.DTYPES)
def test_a_law_out_of_its_range_is_told_and_can_be_mended(dtype):
    sim = scenes.crushed(dtype)
    with pytest.raises(mpm.InstabilityError, match="volume ratio") as caught:
        sim.step(10)
    error = caught.value
    assert error.rows == [1] and error.step == sim.steps == 1 and error.time == sim.time == 0.5
    state = sim.state_hash()
    assert len(sim.history["time"]) == 2  # the step is whole and valid
    with pytest.raises(mpm.InstabilityError) as again:
        sim.step()
    assert again.value.rows == [1] and sim.state_hash() == state
    sim.particles.J[1] = 1
    sim.particles.C = np.zeros((3, 2, 2))
    sim.step(10)
    assert sim.steps == 11


def test_it_can_be_mended_by_deletion_too():
    sim = scenes.crushed()
    with pytest.raises(mpm.InstabilityError) as caught:
        sim.step(10)
    sim.particles.delete(caught.value.rows)
    sim.step(5)
    assert len(sim.particles) == 2


def test_the_last_good_state_stays_readable():
    sim = scenes.single([8.0, 8.0], v=[0.5, 0.0], dt=0.2)
    view = sim.particles.F
    sim.step(5)
    good = sim.state_hash()
    sim.particles.F = np.diag([3.0, 3.0])[None]
    with pytest.raises(mpm.InstabilityError):
        sim.step(10)
    assert sim.steps == 5 and (view[0] == np.diag([3.0, 3.0])).all()
    assert np.isfinite(sim.particles.x).all() and np.isfinite(sim.totals().energy)
    assert len(sim.history["time"]) == 6 and sim.state_hash() != good
    sim.particles.F = np.eye(2)[None]
    sim.step(5)
    assert sim.steps == 10


@pytest.mark.parametrize("kind", [mpm.SimulationError, mpm.InstabilityError, mpm.EscapeError, mpm.BusyError])
def test_errors_survive_pickling(kind):
    """As they must on their way out of a worker process."""
    error = kind("step 3, t = 0.5 s: something")
    if kind is not mpm.BusyError:
        error.step, error.time, error.rows = 3, 0.5, [1, 2]
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and str(again) == str(error) and vars(again) == vars(error)
    assert kind.__module__ == "mpm"


def test_an_error_of_the_core_survives_pickling_and_copying():
    sim = scenes.free_body(2, side=6)
    sim.particles.v[3] = np.nan
    with pytest.raises(mpm.SimulationError) as caught:
        sim.step()
    for again in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert (again.step, again.time, again.rows) == (0, 0.0, [3])


def test_a_body_that_cannot_be_added_leaves_no_material():
    sim = scenes.free_body(2, side=4)
    x, good = sim.particles.x, sim.particles.x[0].copy()
    x[0] = np.nan
    other = mpm.materials.NeoHookean(E=7, nu=0.2, density=3)
    with pytest.raises(mpm.SimulationError):
        sim.add(mpm.shapes.Points([[0.1, 0.1]], volume="per-cell"), other)
    x[0] = good
    assert len(sim.materials) == 1
    sim.add(mpm.shapes.Points([[0.1, 0.1]], volume="per-cell"), other)
    assert sim.materials[1] == other and sim.particles.material[-1] == 1
