"""Python code that runs where nobody expects it: writing threads, finalizers, and while arguments are read."""

import gc
import sys
import threading
import time

import numpy as np
import pytest

import mpm
import scenes


@pytest.fixture
def eager_collector():
    """Garbage is collected at nearly every allocation."""
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    yield
    gc.set_threshold(*before)
    gc.collect()


class Garbage:
    """A cycle whose finalizer calls `action`, and leaves another one."""

    action = staticmethod(lambda: None)

    def __init__(self):
        self.me = self

    def __del__(self):
        type(self).action()
        if type(self).action is not Garbage.action:
            type(self)()


def test_another_thread_may_write_while_values_are_read_in():
    """What is inspected is what is taken, whatever is written meanwhile."""
    sim = scenes.free_body(2, side=64, dt=1e-4)
    x, done = sim.particles.x, threading.Event()

    def write():
        k = 0
        while not done.is_set():
            k += 1
            x[(k * 37) % len(x) :] += 1e-9
            time.sleep(0)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        sim.step()
        sim.totals()
    done.set()
    thread.join()
    assert np.isfinite(sim.particles.x).all() and sim.steps > 10


def test_a_finalizer_may_delete_particles_while_a_view_is_made(eager_collector):
    sim = scenes.free_body(2, side=16)
    particles = sim.particles

    class Deleting(Garbage):
        action = staticmethod(lambda: len(particles) > 2 and particles.delete([0]))

    Deleting()
    n = len(particles)
    for _ in range(100):
        view = particles.v
        others = [np.zeros(n * k) for k in (2, 4)]  # what takes the memory of a freed array
        view += 1.0
        assert all((other == 0).all() for other in others)
    Deleting.action = Garbage.action
    assert len(particles) < n


def test_a_finalizer_may_call_while_an_error_is_made(eager_collector):
    sim = scenes.free_body(2, side=16)
    x = sim.particles.x
    good, left = x.copy(), 0

    def disturb():
        nonlocal left
        if left:
            left -= 1
            x[1:] = good[1:]
            with pytest.raises(mpm.SimulationError):
                sim.totals()

    class Calling(Garbage):
        action = staticmethod(disturb)

    Calling()
    for k in range(60):
        x[:] = np.nan
        left = 1 + k % 9
        with pytest.raises(mpm.SimulationError) as caught:
            sim.totals()
        assert all(0 <= row < len(x) for row in caught.value.rows)
        left = 0
        x[:] = good
    Calling.action = Garbage.action


def with_index(core, begin):
    class Index:
        def __index__(self):
            begin()
            return 0

    n = 4
    arrays = np.full((n, 2), 0.1), np.zeros((n, 2)), np.zeros((n, 2, 2)), np.tile(np.eye(2), (n, 1, 1))
    return core.add_particles, *arrays, np.full(n, 1e-4), np.full(n, 1e-4), Index()


def with_key(core, begin):
    class Key(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            begin()
            return str.__eq__(self, other)

    return core.restore, {Key(name): value for name, value in core.snapshot().items()}


def with_buffer(core, begin):
    if sys.version_info < (3, 12):
        pytest.skip("only C can export a buffer")

    class Points:
        def __buffer__(self, flags):
            begin()
            return memoryview(np.zeros((1, 2)))

    return core.collider_distance, 0, Points(), 0.0


@pytest.mark.parametrize("call_of", [with_index, with_key, with_buffer])
def test_a_run_may_begin_while_arguments_are_read(call_of):
    sim = scenes.free_body(2, side=48, dt=1e-4)
    thread = threading.Thread(target=lambda: sim.step(3000))

    def begin():
        if not thread.ident:
            thread.start()
            time.sleep(0.02)

    call, *arguments = call_of(sim._core, begin)
    with pytest.raises(mpm.BusyError):
        call(*arguments)
    thread.join()
    assert sim.steps == 3000


@pytest.mark.parametrize("kernel, depth", [("linear", 0), ("quadratic", 0.5), ("cubic", 1)])
def test_particles_outside_are_refused(kernel, depth):
    """Below the layer that refuses shapes outside, too: the first step could put them far from their bins."""
    sim = scenes.free_body(2, side=4, kernel=kernel, gradient="bspline", on_leave="clamp")
    before = sim.state_hash()
    rest = np.zeros((1, 2)), None, None, np.full(1, 1e-4), np.full(1, 1e-4), 0
    near = 1 + (depth + 0.01) * sim.dx
    for outside in (near, -near, 3.0, 1e300, np.nan, np.inf):
        with pytest.raises(ValueError, match="x: must be in the domain"):
            sim._core.add_particles(np.array([[0.5, outside]]), *rest)
    assert sim.state_hash() == before
    sim._core.add_particles(np.array([[1.0, -1.0]]) * (1 + depth * sim.dx), *rest)


@pytest.mark.parametrize("mass", [-1.0, 0.0, np.nan, np.inf, 1e-310])
def test_particles_without_mass_are_refused(mass):
    sim = scenes.free_body(2, side=4)
    before = sim.state_hash()
    one = np.full((1, 2), 0.1), np.zeros((1, 2)), np.zeros((1, 2, 2)), np.eye(2)[None]
    with pytest.raises(ValueError, match="mass"):
        sim._core.add_particles(*one, np.full(1, 1e-4), np.full(1, mass), 0)
    assert sim.state_hash() == before
