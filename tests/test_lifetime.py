"""Views while particles come and go: none dangles, and stale ones have no effect."""

import gc
import weakref

import numpy as np
import pytest

import mpm
import scenes

every_dim = pytest.mark.parametrize("dim", scenes.DIMS)
every_dtype = pytest.mark.parametrize("dtype", scenes.DTYPES)


@every_dim
def test_views_outlive_what_they_look_at(dim):
    sim = scenes.free_body(dim, side=6)
    sim.step(2)
    views = {name: sim.particles[name] for name in sim.particles.fields}
    copies = {name: view.copy() for name, view in views.items()}
    core = weakref.ref(sim)
    del sim
    gc.collect()
    assert core() is None
    views["x"][0] = 7  # writing to a stale view is allowed, and has no effect
    copies["x"][0] = 7
    for name, view in views.items():
        np.testing.assert_array_equal(view, copies[name])


@every_dim
def test_adding_and_deleting_make_new_arrays(dim):
    sim = scenes.free_body(dim, side=6)
    n = len(sim.particles)
    stale = sim.particles.v
    stale[4] = 0.25  # written before: not lost
    sim.add(mpm.shapes.Points([[0.8] * dim] * 3, volume="per-cell"), scenes.MATERIALS["fluid"])
    assert len(sim.particles) == n + 3 and stale.shape == (n, dim)
    assert (sim.particles.v[4] == 0.25).all()
    stale[...] = np.nan  # stale: no effect
    sim.step()
    assert np.isfinite(sim.particles.v).all() and np.isnan(stale).all()
    np.testing.assert_array_equal(sim.particles.id, np.arange(n + 3))
    x = sim.particles.x.copy()
    assert sim.particles.delete([0, 5, n + 1]) == 3
    keep = np.delete(np.arange(n + 3), [0, 5, n + 1])
    np.testing.assert_array_equal(sim.particles.id, keep)
    np.testing.assert_array_equal(sim.particles.x, x[keep])
    assert list(sim.particles.material[-2:]) == [1, 1]
    sim.add(mpm.shapes.Points([[0.8] * dim], volume="per-cell"), scenes.MATERIALS["fluid"])
    assert sim.particles.id[-1] == n + 3  # an id is never used again
    sim.step()
    assert sim.particles.delete(np.ones(len(sim.particles), dtype=bool)) == len(keep) + 1
    assert sim.particles.x.shape == (0, dim) and sim.totals().mass == 0
    sim.step(2)  # an empty simulation steps on
    sim.add(mpm.shapes.Points([[0.5] * dim], volume="per-cell"), scenes.MATERIALS["neo_hookean"])
    sim.step(2)
    assert sim.particles.id.tolist() == [n + 4]


@every_dim
def test_deleting_is_as_if_the_others_had_been_alone(dim):
    """Two bodies out of reach of each other: without the one, the other runs on bit for bit."""

    def make(*corners):
        scene = mpm.Scene([-1] * dim, [1] * dim)
        for corner in corners:
            scene.add(
                mpm.shapes.Points(scenes.jittered(dim, 5, 1 / 64) + corner, volume="per-cell"),
                scenes.MATERIALS["neo_hookean"],
                velocity=[0.2] * dim,
            )
        return mpm.Simulation(scene, dx=1 / 32, dt=1e-3)

    alone, both = make(-0.5), make(0.5, -0.5)
    alone.step(5)
    both.step(5)
    both.particles.delete(np.arange(5**dim))
    alone.step(20)
    both.step(20)
    np.testing.assert_allclose(both.particles.x, alone.particles.x, rtol=0, atol=1e-14)
    np.testing.assert_allclose(both.particles.F, alone.particles.F, rtol=0, atol=1e-12)


class Fuzz:
    """A small simulation, the views that somebody holds of it, and what must be in them."""

    def __init__(self, dim: int, dtype: str, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.dim, self.dtype = dim, dtype
        self.stale: list[tuple[np.ndarray, np.ndarray]] = []  # view, what it must show for ever
        self.begin()

    def begin(self) -> None:
        self.sim = scenes.single([0.1] * self.dim, h=0.5, lower=-4.0, upper=4.0, dtype=self.dtype, threads=1)
        self.live: list[tuple[str, np.ndarray]] = []
        self.ids, self.next_id = [0], 1

    def retire(self) -> None:
        """All views become stale; some are dropped so that memory does not grow."""
        self.stale += [(view, view.copy()) for _, view in self.live]
        self.live = []
        while len(self.stale) > 12:
            self.stale.pop(self.rng.integers(len(self.stale)))

    def look(self) -> None:
        name = str(self.rng.choice(self.sim.particles.fields))
        view = self.sim.particles[name]
        self.live.append((name, view if self.rng.random() < 0.7 else view[::-1]))

    def drop(self) -> None:
        if self.live:
            self.live.pop(self.rng.integers(len(self.live)))

    def write(self) -> None:
        n = len(self.sim.particles)
        if n == 0:
            return
        row, shape = self.rng.integers(n), self.dim
        name, value = [
            ("x", self.rng.uniform(-3, 3, shape)),
            ("v", self.rng.normal(size=shape)),
            ("C", self.rng.normal(size=(shape, shape))),
        ][self.rng.integers(3)]
        self.sim.particles[name][row] = value
        if self.stale and (written := self.stale[self.rng.integers(len(self.stale))][0]).flags.writeable:
            written[...] = np.nan
            for view, expected in self.stale:
                if np.shares_memory(view, written):
                    expected[...] = np.nan

    def add(self) -> None:
        count = int(self.rng.integers(1, 6))
        law = scenes.MATERIALS[str(self.rng.choice(scenes.LAWS))]
        try:
            self.sim.add(mpm.shapes.Points(self.rng.uniform(-2, 2, (count, self.dim)), volume=0.25), law)
        except ValueError as error:
            assert "deep in rigid body" in str(error)  # two of them overlap: nothing has changed
            return
        self.retire()
        self.ids += range(self.next_id, self.next_id + count)
        self.next_id += count

    def delete(self) -> None:
        mask = self.rng.random(len(self.ids)) < self.rng.choice([0.1, 0.6])
        assert self.sim.particles.delete(mask) == mask.sum()
        if not mask.any():
            return  # views stay live
        self.retire()
        self.ids = [id for id, gone in zip(self.ids, mask, strict=True) if not gone]

    def step(self) -> None:
        try:
            self.sim.step(int(self.rng.integers(1, 3)))
        except mpm.SimulationError:  # random states may leave the domain or burst: begin anew, keep the views
            self.anew()

    def anew(self) -> None:
        self.retire()
        self.begin()

    def check(self) -> None:
        p = self.sim.particles
        assert p.id.tolist() == self.ids
        for name, view in self.live:
            current = p[name]
            same = view if np.shares_memory(view, current) and view.strides == current.strides else view[::-1]
            np.testing.assert_array_equal(same, current)
        for view, expected in self.stale:
            np.testing.assert_array_equal(view, expected)


@every_dim
@every_dtype
def test_random_sequences_of_views_additions_deletions_and_steps(dim, dtype):
    """5,000 operations each, 20,000 in all. The sanitized build runs this too."""
    fuzz = Fuzz(dim, dtype, seed=dim)
    names = ["look", "drop", "write", "add", "delete", "step", "anew"]
    chosen = fuzz.rng.choice(names, size=5000, p=[0.3, 0.12, 0.2, 0.08, 0.07, 0.22, 0.01])
    for number, name in enumerate(chosen):
        getattr(fuzz, name)()
        if number % 5 == 0:
            fuzz.check()
    assert fuzz.next_id > 1 and set(names) == set(chosen)
