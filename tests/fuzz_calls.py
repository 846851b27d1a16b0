"""Calls methods of simulations in random order, with good and bad arguments, for every method of solution.

    python tests/fuzz_calls.py --seconds 600 --seed 1
    python tests/fuzz_calls.py --sequence 12345                # one sequence again

A sequence builds a random scene and makes up to `CALLS` calls. Only errors that the functions promise may be raised. A
call that is refused for its arguments changes no bit; copies, files and other numbers of threads continue with the same
bits; positions stay finite. No sequence takes longer than `SECONDS`. The number of the sequence under way is kept in
--out, so that a crash can be repeated.
"""

from __future__ import annotations

import copy
import faulthandler
import pickle
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import fem_scenes
import fuzz_sequences
import mpm
import scenes
from fuzz_sequences import Defect

CALLS = 25
SECONDS = 200 if scenes.SANITIZED else 20
REFUSALS = (ValueError, TypeError)  # of arguments; FileFormatError is a ValueError
PROMISED = (*REFUSALS, mpm.SimulationError, mpm.BusyError, KeyError)

NAN, INFINITY = float("nan"), float("inf")
ODD = (
    0, -1, 1, 2**31, 2**63, 10**30, 0.0, -0.0, 5e-324, 1e-300, 1e300, NAN, INFINITY, -INFINITY, True, None, "", "x",
    b"", [], {}, [NAN] * 2, [0.5] * 3, [0.5] * 4, [[0.5, 0.5]], np.zeros((0, 2)), np.zeros(3, bool), object(),
)  # fmt: skip
BOUNDED = ("slip", "sticky", "mirror")
WALLS = {"fem": (*BOUNDED, "separate"), "sph": (*BOUNDED, "periodic")}
TANGENTS = tuple(name for name, row in mpm.materials.laws.registry().items() if row["tangent"])

# The solver of a method, and the values of its options that sequences choose from.
COMMON = {"dtype": scenes.DTYPES, "threads": (1, 2, 3), "history": (0, 1, 3)}
LEAVE = {"on_leave": ("raise", "clamp", "delete", {"x+": "delete", "y": "clamp"})}
POINTS = {"dx": (1 / 8, 1 / 11), "sampling": (*["stratified", "lattice"] * 8, "poisson")}
METHODS: dict[str, tuple[Any, dict[str, tuple[Any, ...]]]] = {
    "mpm": (
        mpm.Simulation,
        POINTS
        | LEAVE
        | {"transfer": ("apic", "pic", "flip", "xpic", "asflip"), "kernel": ("quadratic", "cubic")}
        | {"f_bar": (False, True), "artificial_viscosity": (None, (0.06, 1.5))}
        | {"dissipation": (False, True), "particle_collisions": ("deep", "surface", "off")},
    ),
    "implicit": (
        mpm.Simulation,
        POINTS
        | LEAVE
        | {"integrator": ("semi-implicit", "implicit-euler", "implicit-midpoint"), "max_dt": (0.02,)},
    ),
    "sph": (
        mpm.sph.Simulation,
        LEAVE
        | {"spacing": (1 / 8, 1 / 13), "kernel": ("cubic", "wendland"), "viscosity": ("vector", "central")}
        | {"constant_viscosity": ("dynamic", "kinematic")}
        | {"alpha": (0, 0.1), "xsph": (0, 0.3), "repulsion": (0, 0.02), "tension": (True, False)},
    ),
    "fem": (
        mpm.fem.Simulation,
        {"spacing": (1 / 6, 1 / 9), "integrator": ("symplectic-euler", "linearly-implicit-euler")}
        | {"damping": ((0, 0), (1, 1e-3))},
    ),
}  # fmt: skip


class Stop(Exception):
    """Raised by a callback."""


def bits(sim: Any) -> str:
    """The hash of a state, or why there is none: values that a user has written may be refused."""
    try:
        return sim.state_hash()
    except mpm.SimulationError as error:
        return str(error)


class Sequence(fuzz_sequences.Sequence):
    """One random scene, its simulation, and calls of it."""

    most = CALLS

    def __init__(self, number: int, folder: Path) -> None:
        super().__init__(number)
        self.folder = folder
        self.method = self.random.choice(("mpm", "mpm", "implicit", "sph", "fem"))
        self.dim = self.random.choice((2, 3))
        self.sim = self.begin()

    # --- the scene

    def begin(self) -> Any:
        choose = self.random.choice
        walls = choose(WALLS.get(self.method, (*BOUNDED, "separate", "periodic")))
        scene = mpm.Scene([0] * self.dim, [1] * self.dim, gravity=choose((None, self.vector(5))), walls=walls)
        for _ in range(choose((1, 1, 1, 2))):
            spin = choose((0, 3)) if self.dim == 2 else 0
            scene.add(self.shape(), self.material(), velocity=self.vector(1), angular_velocity=spin)
        for _ in range(choose((0, 0, 1, 2))):
            linear, wave = (
                mpm.motion.Linear(self.vector(0.5)),
                mpm.motion.Sinusoid(self.vector(0.05), frequency=2),
            )
            contact = choose(("sticky", "slip") if self.method == "sph" else ("separate", "sticky", "slip"))
            scene.add_collider(self.shape(), contact=contact, motion=choose((None, linear, wave)))
        solver, options = METHODS[self.method]
        chosen = {name: choose(values) for name, values in (COMMON | options).items()}
        if walls == "periodic" and isinstance(chosen.get("on_leave"), dict):
            del chosen["on_leave"]
        return solver(scene, **chosen)

    def vector(self, largest: float) -> list[float]:
        return [self.random.uniform(-largest, largest) for _ in range(self.dim)]

    def shape(self) -> Any:
        center = [self.random.uniform(0.25, 0.75) for _ in range(self.dim)]
        size = self.random.uniform(0.1, 0.24)
        if self.random.random() < 0.5:
            return mpm.shapes.Ball(center, size)
        return mpm.shapes.Box([x - size for x in center], [x + size * self.random.random() for x in center])

    def material(self) -> Any:
        names = {"sph": ("fluid",), "fem": tuple(fem_scenes.LAWS), "implicit": TANGENTS}
        return scenes.MATERIALS[self.random.choice(names.get(self.method, scenes.LAWS))]

    def odd(self, good: Any) -> Any:
        """A good argument, or now and then an odd one."""
        return self.random.choice(ODD) if self.random.random() < 0.2 else good

    # --- calls

    def step(self) -> None:
        n = self.odd(self.random.randint(0, 4))
        self.sim.step(
            3 if isinstance(n, int) and n in (2**31, 10**30) else n
        )  # a run of 2^31 steps is none that is refused

    def run(self) -> None:
        most = self.odd(self.random.choice((1, 7, 20)))
        self.sim.run(
            self.odd(self.random.choice((0.0, 1e-3, 1e-2))),
            # a run of 1e300 s is none that is refused
            max_steps=7 if most is None or (isinstance(most, int) and most > 2**30) else most,
        )

    def stop(self) -> None:
        def call(sim: Any) -> None:
            if self.random.random() < 0.5:
                raise Stop
            self.random.choice(
                (sim.totals, sim.state_hash, lambda: copy.copy(sim), lambda: sim.particles.x[:1].copy())
            )()

        try:
            self.sim.run(1e-2, max_steps=5, callback=call, every=self.odd(1))
        except Stop:
            pass

    def again(self) -> None:
        """Calls from within a callback that would change the run are refused."""
        refused = []

        def call(sim: Any) -> None:
            try:
                self.random.choice((sim.step, lambda: sim.run(1e-3), lambda: sim.particles.delete([0])))()
            except PROMISED as error:
                refused.append(error)

        self.sim.run(1e-2, max_steps=3, callback=call, every=1)

    def obstacle(self) -> None:
        self.sim.add_collider(self.odd(self.shape()), contact=self.odd("sticky"))

    def add(self) -> None:
        self.sim.add(self.odd(self.shape()), self.odd(self.material()), velocity=self.odd(self.vector(1)))

    def delete(self) -> None:
        n = len(self.sim.particles)
        rows = [self.random.randrange(n) for _ in range(self.random.randint(0, 5))] if n else []
        self.sim.particles.delete(
            self.odd(self.random.choice((rows, slice(0, n, 7), np.arange(n) % 5 == 0, slice(None))))
        )

    def look(self) -> None:
        names = [*self.sim.particles.fields, "nothing"]
        array = (
            self.sim.particles[self.random.choice(names)]
            if self.random.random() < 0.9
            else self.sim.particles.x
        )
        np.asarray(array).sum()

    def write(self) -> None:
        particles = self.sim.particles
        name = self.random.choice(particles.fields)
        array = particles[name]
        if len(array):
            row = self.random.randrange(len(array))
            factor = self.odd(self.random.choice((1.0, 1.001, 0.999)))
            try:
                array[row] = array[row] * factor
            except OverflowError:  # NumPy's
                pass

    def measure(self) -> None:
        self.sim.totals()
        self.sim.stable_dt()
        repr(self.sim)
        self.sim.compute(self.odd(self.random.choice((*self.sim.quantities, "nothing"))))
        points: Any = np.array(
            [[self.random.uniform(-1, 2) for _ in range(self.sim.dimension)] for _ in range(5)]
        )
        name = self.odd(self.random.choice((*self.sim.particles.fields, *self.sim.quantities, "nothing")))
        points = self.odd(points)
        assert len(self.sim.interpolate(name, points)) == len(points)

    def threads(self) -> None:
        self.sim.threads = self.odd(self.random.choice((1, 2, 3, 5)))

    def save(self) -> None:
        path = self.folder / "state.mpm"
        self.sim.save(path)
        self.same(mpm.load(path), "file")

    def copy(self) -> None:
        self.same(
            copy.deepcopy(self.sim) if self.random.random() < 0.5 else pickle.loads(pickle.dumps(self.sim)),
            "copy",
        )

    def record(self) -> None:
        path = self.folder / "run.vtkhdf"
        with self.sim.record(path, fps=self.odd(1000.0)):
            self.sim.run(3e-3, max_steps=10)
        replay = mpm.replay(path)
        if len(replay) and len(self.sim.particles):
            replay.at(replay.times[-1])["x"].sum()

    def same(self, other: Any, what: str) -> None:
        """Another simulation has the same bits, and continues with them on another number of threads."""
        if bits(other) != bits(self.sim):
            raise Defect(f"a {what} has other bits")
        other.threads = self.random.choice((1, 2, 4))
        outcomes = []
        for sim in (self.sim, other):
            try:
                sim.step(2)
                outcomes.append("whole")
            except mpm.SimulationError as error:
                outcomes.append(str(error))
        if outcomes[0] != outcomes[1] or bits(other) != bits(self.sim):
            raise Defect(f"a {what} continues with other bits: {outcomes}")

    def call(self) -> str:
        """One call. Returns its name and how it ended."""
        name = self.random.choice([name for name in CHOICES if name != "add" or hasattr(self.sim, name)])
        self.log.append(name)
        before = bits(self.sim)
        try:
            getattr(self, name)()
        except PROMISED as error:
            outcome = type(error).__name__
            if isinstance(error, mpm.FileFormatError):
                raise Defect(f"{name}: a file of our own is refused: {error}") from error
            self.log[-1] += f": {outcome}: {str(error)[:150]}"
            if isinstance(error, REFUSALS) and name in REFUSED_WHOLE and bits(self.sim) != before:
                raise Defect(f"{name} was refused, and changed the state: {error}") from error
        else:
            outcome = "done"
        if name != "write" and "write" not in {entry.split(":")[0] for entry in self.log}:
            if not np.isfinite(self.sim.particles.x).all():
                raise Defect(f"positions are not finite after {name}")
        return f"{self.method} {name} {outcome}"


REFUSED_WHOLE = {"step", "run", "add", "obstacle", "delete", "threads", "measure", "save", "copy"}
CHOICES = (
    *["step", "run", "stop", "again", "add", "obstacle", "delete", "look", "write", "measure", "threads"] * 3,
    "save", "copy", "record",  # which take most of the time
)  # fmt: skip


def fail(number: int, frame: object) -> None:
    raise TimeoutError("a sequence takes too long")


def try_sequence(number: int, folder: Path, seen: Counter[str]) -> str:
    """The report of a defect, its error first; "" if there is none."""
    signal.alarm(SECONDS)
    try:
        # no scene: such as with a body within a collider
        return fuzz_sequences.attempt(lambda: Sequence(number, folder), PROMISED, "no scene", seen)
    finally:
        signal.alarm(0)


def main(arguments: list[str] | None = None) -> int:
    """Run sequences until the time is over; 1 if there were defects."""
    chosen = fuzz_sequences.options(__doc__, arguments)
    faulthandler.enable()
    signal.signal(signal.SIGALRM, fail)
    warnings.simplefilter("ignore")
    tally = fuzz_sequences.Tally()
    number = chosen.sequence if chosen.sequence is not None else chosen.seed * 10**6
    end = time.monotonic() + chosen.seconds
    with tempfile.TemporaryDirectory() as folder:
        while (chosen.sequence is None and time.monotonic() < end) or not tally.tried:
            (chosen.out / "sequence").write_text(f"{number}\n")
            tally.add(number, try_sequence(number, Path(folder), tally.seen))
            number += 1
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
