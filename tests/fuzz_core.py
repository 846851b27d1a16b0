"""Calls methods of the compiled objects in random order, as no Python layer would: a thousand sequences a second.

    python tests/fuzz_core.py --seconds 600 --seed 1
    python tests/fuzz_core.py --sequence 12345                 # one sequence again

A sequence makes an object with random options, with or without rows, and makes up to `CALLS` calls of its methods with
good, strange and wrong arguments (`core_calls`), some of which act on the object while they are read, or writes through
a view. Only errors that are promised may be raised; wrong arguments change nothing; what is kept of a state is taken by
a new object, which continues with the same bits. The process takes no more than `MORE` bytes of additional memory. It
ends where a batch of sequences takes more than `SECONDS` of the processor, or hangs; the number of the sequence under
way is kept in --out.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import time
from collections import Counter
from typing import Any

import numpy as np

import core_calls
import fuzz_sequences
import mpm
import scenes
from core_calls import ACTIONS, CLEAN, KEYWORDS, METHODS, Kind
from fuzz_sequences import Defect, memory
from mpm import _core

CALLS = 12
NAMES = ("Simulation", "SPH", "FEM")
BATCH = 100
SECONDS = 50 if scenes.SANITIZED else 5
MORE = 64 << 20
OPTIONS: dict[str, tuple[Any, ...]] = {
    "dtype": ("float32", "float64"),
    "threads": (1, 1, 1, 2, 3),
    "isa": tuple(_core.isas()),
    "dt": (1e-4, 0.0),
    "history": (0, 1, 3),
    "dissipation": (False, True),
    "contact": (False, True),
    "particle_collisions": ("deep", "surface", "off"),
    "on_leave": tuple((word,) * 4 for word in ("raise", "clamp", "delete")),
    "tolerance": (1e-4,),
}
OWN: dict[str, dict[str, tuple[Any, ...]]] = {
    "Simulation": {
        "integrator": ("explicit", "semi-implicit", "implicit-euler"),
        "projection": ("semidefinite", "none"),
        "conduction": ("explicit", "implicit"),
    },
    "SPH": {"kernel": ("cubic", "wendland")},
    "FEM": {"integrator": ("symplectic-euler", "linearly-implicit-euler"), "on_leave": (("raise",) * 4,)},
}
RUNS = ("step", "run", "step_forced")
COUNTED = ("step_forced", "delete_particles", "interpolate")  # whose arrays have as many rows as the object
OTHER = (
    *("add_material", "add_collider", "drop_collider", "fill_collider", "add_field", "restore"),
    *("set_gravity", "set_friction", "set_material", "set_collider", "name_joint"),
)
VALUES = (0.0, 1.0, -1.0, 0.35, 1e300, 5e-324, float("nan"), float("inf"))


def state(core: Any) -> str:
    """All that can be seen of an object, or why there is nothing: values that were written may be refused."""
    try:
        return repr(core_calls.seen(core))  # NaN is not itself, its name is
    except mpm.SimulationError as error:
        return str(error)


class Sequence(fuzz_sequences.Sequence):
    """One object, and calls of it."""

    most = CALLS

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.views: list[np.ndarray] = []
        self.strange = False  # values were given that a new object may refuse
        self.other = False  # has materials, colliders or fields that a new object has not
        self.name = self.random.choice(NAMES)
        self.options = {key: kind.good for key, kind in KEYWORDS[self.name].items()}
        for key, values in (
            OPTIONS | OWN.get(self.name, {})
        ).items():  # in this order, whatever hashes strings have
            if key in self.options:
                self.options[key] = self.random.choice(values)
        made = self.random.choice((core_calls.bare, core_calls.empty, *[core_calls.filled] * 4))
        self.log.append(f"{made.__name__} {self.name} {self.options}")
        self.core = made(self.name, **self.options)
        self.full = made is core_calls.filled

    def arguments(self, kinds: tuple[Kind, ...]) -> tuple[list[Any], str]:
        """Good ones, of which one may be replaced, and by what."""
        given = [kind.good for kind in kinds]
        what = self.random.choices(("good", "either", "wrong", "acting"), (6, 2, 1, 1))[0]
        k = self.random.randrange(len(kinds)) if kinds else 0
        if what == "good" or not kinds:
            return given, "good"
        if what == "acting":
            if not kinds[k].acting:
                return given, "good"
            name = self.random.choice([*ACTIONS])
            self.log.append(f"(argument {k} {name})")
            given[k] = kinds[k].acting(kinds[k].good, lambda: self.act(name))  # type: ignore[misc]
        else:
            values = getattr(kinds[k], what)
            if not values:
                return given, "good"
            given[k] = self.random.choice(values)
        return given, what

    def act(self, name: str) -> None:
        self.other = True
        with contextlib.suppress(AttributeError, *CLEAN):
            ACTIONS[name](self.core)

    def call(self) -> str:
        """One call, or one look at a view. Returns what it was and how it ended."""
        kind = self.random.random()
        if kind < 0.15:
            return self.view()
        if kind < 0.2:
            return self.again()
        method = self.random.choice([*METHODS[self.name]])
        given, what = self.arguments(METHODS[self.name][method])
        self.log.append(f"{method} {what}: {given!r:.300}")
        before = state(self.core) if what == "wrong" else None
        rows = self.core.particles
        try:
            getattr(self.core, method)(*given)
        except CLEAN as error:
            if what == "wrong" and state(self.core) != before:
                raise Defect(f"{method} was refused, and changed the object: {error}") from error
            self.strange |= method in RUNS and what == "either"  # it may have stopped within
            return f"{self.name} {method} {what} {type(error).__name__}"
        if what == "wrong" and not (method in COUNTED and rows != core_calls.N):
            raise Defect(f"{method} took what is wrong")
        self.strange |= what != "good"
        self.other |= method in OTHER
        return f"{self.name} {method} {what} done"

    def view(self) -> str:
        """Keep, read and write views, also of what has been replaced since."""
        rows = self.core.fields()
        self.views.append(np.asarray(self.core.field(self.random.choice(rows)["name"])))
        view = self.random.choice(self.views)
        view.sum(initial=0)
        if view.size and view.flags.writeable and self.random.random() < 0.5:
            self.log.append("a view is written")
            self.strange = True
            with np.errstate(all="ignore"):
                view.reshape(-1)[self.random.randrange(view.size)] = self.random.choice(VALUES)
        if self.random.random() < 0.3:
            self.views.pop(self.random.randrange(len(self.views)))
        return f"{self.name} view"

    def again(self) -> str:
        """What is kept is taken by a new object, which continues with the same bits."""
        if not self.full or self.other:
            return f"{self.name} again not tried"
        self.log.append("again")
        other = core_calls.empty(self.name, **self.options | {"threads": self.random.choice((1, 2, 3))})
        try:
            other.restore(self.core.snapshot())
        except CLEAN as error:
            if self.strange:
                return f"{self.name} again refused"
            raise Defect(f"restore refuses what snapshot gave: {error}") from error
        if self.name == "FEM":
            other.set_mesh(core_calls.X, core_calls.CORNERS, core_calls.INDEX)
        ends = []
        for core in (self.core, other):
            try:
                core.step(2)
                ends.append("")
            except CLEAN as error:
                ends.append(str(error))
        if ends[0] != ends[1] or self.core.snapshot() != other.snapshot():
            raise Defect(f"what was kept continues with other bits: {ends}")
        return f"{self.name} again done"

    def end(self) -> None:
        core_calls.answers(self.core)


def try_sequence(number: int, seen: Counter[str]) -> str:
    """The report of a defect, its error first; "" if there is none."""
    # no object: such as with books of dissipation in implicit steps
    return fuzz_sequences.attempt(lambda: Sequence(number), CLEAN, "no object", seen)


def main(arguments: list[str] | None = None) -> int:
    """Run sequences until the time is over; 1 if there were defects."""
    chosen = fuzz_sequences.options(__doc__, arguments)
    faulthandler.enable(sys.__stderr__)
    faulthandler.register(signal.SIGPROF, sys.__stderr__, chain=True)  # and the process ends
    tally = fuzz_sequences.Tally()
    alone = chosen.sequence is not None
    number, batch = (chosen.sequence, 1) if alone else (chosen.seed * 10**9, BATCH)
    current = chosen.out / f"core-{chosen.seed}-current"
    end, before = time.monotonic() + chosen.seconds, 0
    with current.open("wb", buffering=0) as said:
        # at least two batches: a leak is seen beside the first
        while tally.tried < (1 if alone else 2 * BATCH) or (not alone and time.monotonic() < end):
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            faulthandler.dump_traceback_later(24 * SECONDS, exit=True, file=sys.__stderr__)
            for k in range(number, number + batch):
                os.pwrite(said.fileno(), b"%20d\n" % k, 0)
                tally.add(k, try_sequence(k, tally.seen))
            number += batch
            before = before or memory("VmHWM")  # what the first batch has taken is no leak
    signal.setitimer(signal.ITIMER_PROF, 0)
    faulthandler.cancel_dump_traceback_later()
    current.unlink()
    grown = memory("VmHWM") - before
    if not scenes.SANITIZED and grown > MORE:
        tally.defects[f"memory grew by {grown >> 20} MB"] += 1
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
