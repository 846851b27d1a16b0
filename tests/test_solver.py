"""A solver that is not MPM gets views, history, files, pictures and the viewer from `mpm.solver.Solver`."""

import copy
import pickle

import numpy as np
import pytest

import mpm
from mpm.base import fieldtable
from mpm.handles.solver import Solver
from mpm.io.kept import Kept
from mpm.solver import keeping
from viewers import Browser

# --- masses on springs, a chain of them: all that there is of it ---------------------------------------------------

MASS, STIFFNESS, LENGTH, DT = 0.1, 50.0, 0.05, 1e-3
RECORDED = ("time", "dt", "kinetic", "elastic", "gravitational")


class Column:
    """An array as `mpm.solver.core.Field`."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array

    def copy(self):
        return self.array.tobytes(), self.array.dtype.str, self.array.shape


class Chain:
    """A `mpm.solver.core.Core`: each mass is tied to the next; symplectic Euler steps."""

    threads, dt = 1, DT

    def __init__(self, fields, gravity, time=0.0, steps=0, history=()):
        self.arrays, self.gravity, self.time, self.steps = fields, gravity, time, steps
        self.history, self.particles = list(history), len(fields["x"])

    def pull(self):
        """Of each spring on the mass before it, and its energy."""
        way = np.diff(self.arrays["x"], axis=0)
        far = np.linalg.norm(way, axis=1, keepdims=True)
        return STIFFNESS * (far - LENGTH) * way / far, STIFFNESS / 2 * ((far - LENGTH) ** 2).sum()

    def advance(self, dt):
        x, v, none = self.arrays["x"], self.arrays["v"], np.zeros((1, 2))
        v += dt * (np.diff(self.pull()[0], axis=0, prepend=none, append=none) / MASS + self.gravity)
        x += dt * v
        self.time, self.steps = self.time + dt, self.steps + 1
        self.history.append([({"dt": dt} | self.totals())[name] for name in RECORDED])

    def step(self, n, pause=np.inf):
        for _ in range(n):
            if self.time < pause:
                self.advance(DT)

    def run(self, end, pause=np.inf, steps=2**62):
        last = self.steps + steps
        while self.time < min(end, pause) and self.steps < last:
            self.advance(min(DT, end - self.time))

    def hold(self, pieces):
        pieces()

    def fields(self):
        return [fieldtable.KNOWN.get(name) or fieldtable.row(name) for name in self.arrays]

    def field(self, name):
        return Column(self.arrays[name])

    def totals(self):
        (x, v), n = (self.arrays[name] for name in ("x", "v")), self.particles
        sums = {"time": self.time, "mass": n * MASS, "momentum": MASS * v.sum(axis=0)}
        sums |= {
            "center_of_mass": x.mean(axis=0),
            "angular_momentum": MASS * np.linalg.det(np.stack([x, v], axis=1)).sum(),
        }
        sums |= {"kinetic": MASS / 2 * (v**2).sum(), "elastic": self.pull()[1]}
        return sums | {"gravitational": -MASS * (x @ self.gravity).sum()}

    def history_names(self):
        return [(name, 1) for name in RECORDED]

    def history_array(self, index):
        return np.array([row[index] for row in self.history]).tobytes()

    def health(self):
        return {}


class Springs(Solver, kind="springs"):
    """Masses on springs in a scene."""

    def __init__(self, scene, x):
        n = len(x)
        fields = {
            "x": np.array(x),
            "v": np.zeros((n, 2)),
            "mass": np.full(n, MASS),
            "volume": np.full(n, 1e-3),
        }
        fields |= {"material": np.zeros(n, np.int32), "id": np.arange(n), "charge": 0.5 * np.arange(n)}
        super().__init__(Chain(fields, scene.gravity), scene)

    def _options(self):
        return {"dx": LENGTH, "stiffness": STIFFNESS}

    def _snapshot(self):
        arrays = {name: array.copy() for name, array in self._core.arrays.items()}
        history = np.array(self._core.history).reshape(-1, len(RECORDED))
        return Kept(self.scene, {"clock": [self.time, self.steps]}, {**arrays, "history": history})

    @classmethod
    def _of(cls, kept, threads, /):
        self, fields = cls.__new__(cls), {name: array.copy() for name, array in kept.arrays.items()}
        history = fields.pop("history").tolist()
        Solver.__init__(self, Chain(fields, kept.scene.gravity, *kept.numbers["clock"], history), kept.scene)
        return self


# --- what comes with it --------------------------------------------------------------------------------------------


@pytest.fixture
def sim():
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    return Springs(scene, np.stack([0.3 + 0.06 * np.arange(6), np.full(6, 0.8)], axis=1))


def test_it_runs_to_times_and_tells_its_state(sim):
    sim.run(0.0105)
    assert sim.time == 0.0105 and sim.steps == 11 and sim.dt == 1e-3
    assert [round(t, 6) for _, t in sim.frames(duration=0.01, fps=200)] == [0.0105, 0.0155, 0.0205]
    sim.step(2)
    assert repr(sim).startswith("<Springs 2-D: 6 particles, t = 0.0225 s after 2")
    assert sim.totals().momentum[1] == pytest.approx(-0.6 * 9.81 * 0.0225) and sim.health == {}
    with pytest.raises(TypeError, match=r"Springs.run\(\) has no option 'quietly'; there are duration"):
        sim.run(1, quietly=True)


def test_views_are_live_and_named(sim):
    x = sim.particles.x
    sim.particles.v[:, 0] = 1.0
    before = x.copy()
    sim.step(5)
    assert (x[:, 0] > before[:, 0]).all() and np.shares_memory(x, sim.particles["x"])
    assert sim.particles.fields == ("x", "v", "mass", "volume", "material", "id", "charge")
    assert np.allclose(sim.compute("speed"), np.hypot(*sim.particles.v.T))
    with pytest.raises(ValueError, match="name = 'pressure': must be one of 'speed', 'kinetic_energy'"):
        sim.compute("pressure")


def test_its_history_keeps_the_energy(sim):
    start = sim.totals().energy
    sim.step(400)
    energy = sim.history["energy"]
    assert len(energy) == 400 and sim.history["kinetic"].max() > 1
    assert np.abs(energy - start).max() < 0.01 * sim.history["kinetic"].max()


def test_files_copies_and_pickles_go_on_bit_for_bit(sim, tmp_path):
    sim.step(30)
    sim.save(tmp_path / "a.mpm")
    again = [mpm.load(tmp_path / "a.mpm"), copy.copy(sim), pickle.loads(pickle.dumps(sim))]
    sim.step(30)
    for one in again:
        assert type(one) is Springs and one.scene.gravity.tolist() == [0, -9.81] and one.steps == 30
        assert set(mpm.diff(one, sim)) == {"particles.x", "particles.v", "history", "numbers.clock"}
        one.step(30)
        assert one == sim and mpm.diff(one, sim) == {} and len(one.history["time"]) == 60
    again[0].particles.v[3, 1] += 0.5
    assert again[0] != sim and repr(mpm.diff(again[0], sim)["particles.v"]) == "1 differ, by at most 0.5"


def test_solvers_of_two_kinds_are_not_compared(sim):
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Ball((0.5, 0.5), 0.2), mpm.materials.Fluid(bulk_modulus=1e5, density=1000))
    other = mpm.Simulation(scene, dx=1 / 16)
    assert sim != other and other != sim
    with pytest.raises(TypeError, match="b = "):
        mpm.diff(sim, other)


def test_a_file_of_a_solver_that_is_not_there_is_refused(sim, tmp_path, monkeypatch):
    sim.save(tmp_path / "a.mpm")
    monkeypatch.delitem(keeping.SOLVERS, "springs")
    with pytest.raises(mpm.FileFormatError, match="holds a 'springs', not a simulation"):
        mpm.load(tmp_path / "a.mpm")


def test_what_is_recorded_is_replayed_and_exported(sim, tmp_path):
    pytest.importorskip("h5py")
    with sim.record(tmp_path / "a.vtkhdf", fps=100, fields=("v", "speed", "charge")):
        sim.run(0.05)
    sim.step(3)
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        assert len(frames) == 6 and frames.times == pytest.approx(np.arange(6) / 100)
        assert frames.description["numerics"] == {"dx": 0.05, "stiffness": 50.0}
        assert frames[-1].scene.gravity.tolist() == [0, -9.81] and np.diff(frames.totals["kinetic"]).min() > 0
        last = frames[-1]
        sim.particles.x[:], sim.particles.v[:] = last.x, last.v
        assert np.array_equal(last.speed, sim.compute("speed"))
        assert (
            last.charge.tolist() == [0, 0.5, 1, 1.5, 2, 2.5] and frames.description["units"]["charge"] == "1"
        )
        mpm.export(frames, tmp_path / "f{}.npz")
    assert np.array_equal(np.load(tmp_path / "f5.npz")["x"], sim.particles.x)
    assert mpm.export(sim, tmp_path / "totals.csv") and "kinetic" in (tmp_path / "totals.csv").read_text()


def test_it_is_drawn_live_and_from_a_file_alike(sim, tmp_path):
    pytest.importorskip("matplotlib"), pytest.importorskip("h5py")
    with sim.record(tmp_path / "a.vtkhdf", fps=100, fields=("v",)):
        sim.step(20)
    picture = sim.plot(color="kinetic_energy")
    assert picture.colorbar.get_ylabel() == "kinetic energy [J/m]"
    assert sim.plot(color="charge").particles.get_array().tolist() == sim.particles.charge.tolist()
    assert np.array_equal(picture.particles.get_offsets(), sim.particles.x)
    renderer = mpm.viz.Renderer(sim, size=(160, 120), annotate=False, limits=(0, 1))
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        assert np.array_equal(renderer.frame(sim), renderer.frame(frames[-1]))
    assert not np.array_equal(renderer.frame(sim), renderer.background)
    sim.movie(tmp_path / "movie", duration=0.02, fps=100, size=(160, 120))
    assert len(list((tmp_path / "movie").glob("*.png"))) == 3 and sim.time == pytest.approx(0.04)


def test_the_viewer_plays_records_and_replays_it(sim, tmp_path):
    pytest.importorskip("h5py")
    browser = Browser(sim)
    assert [name for name, _ in browser.state["colors"]] == [
        *("speed", "kinetic_energy", "mass", "volume", "material", "id", "charge")
    ]
    assert [setting["key"] for setting in browser.state["settings"]] == ["span", "threads"]
    assert browser.state["linesOffered"] == ["particles"]
    path = str(tmp_path / "a.vtkhdf")
    assert not browser.ask("record", path=path, fps=1000) and not browser.ask("play")
    browser.draw(4)
    assert not browser.ask("pause") and not browser.ask("stop") and sim.steps > 3
    assert np.abs(browser.positions() - sim.particles.x).max() < 2e-5
    assert not browser.ask("load", path=path) and browser.state["replay"]["frames"] == sim.steps + 1
    browser.session.close(), browser.session.replay.close()
    browser.ask("simulation")
    assert "a Springs cannot be made anew" in browser.ask("reset")[0]


def test_every_kind_of_solver_has_a_name_of_its_own():
    with pytest.raises(TypeError, match="class Nameless needs kind="):
        type("Nameless", (Solver,), {})
    with pytest.raises(ValueError, match="kind = 'simulation': already that of Simulation"):
        type("Other", (Solver,), {}, kind="simulation")
    assert keeping.SOLVERS["simulation"] is mpm.Simulation and keeping.SOLVERS["springs"] is Springs

    class Kin(Springs):
        """Of the same kind."""

    assert Kin._kind == "springs" and keeping.SOLVERS["springs"] is Springs
