"""Compares runs of random scenes with runs that must agree with them.

    python tests/compare_random.py --seconds 600 --seed 1
    python tests/compare_random.py --scene 1000042                      # one scene again, by all relations
    python tests/compare_random.py --scene 1000042 --relation mirrored

Every scene is run, and run again by some of the relations of `RELATIONS` that have a meaning for it: moved, mirrored,
in other units, on more threads, with other kernels, … `random_relations` says how results are compared; a relation that
promises bits compares bits. A difference that `KNOWN` explains is counted apart. A scene in which a change of the last
digits decides how a run ends is counted as undecided.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import mpm
import random_relations as relations
import random_setups
from mpm.shapes.distances import describe, measure
from random_relations import SAME, Case, Difference, Meaningless, wrong
from random_scenes import REGISTRY, Setup, quiet, shape_of

PROMISED = (
    ValueError,
    mpm.SimulationError,
)  # of scenes that are none, such as with all fluid inside a collider


@dataclass(frozen=True)
class Relation:
    """A row of the table: a run that must agree with the first one."""

    other: Callable[[Case, np.random.Generator], Difference]
    rounds: bool  # compares to rounding, and needs a scene that is decided
    share: float = 0.35  # of the scenes that it is tried with


RELATIONS = {
    "moved": Relation(relations.moved, rounds=True),
    "mirrored": Relation(relations.mirrored, rounds=True),
    "exchanged": Relation(relations.exchanged, rounds=True),
    "units": Relation(relations.in_units, rounds=True),
    "powers-of-two": Relation(relations.in_powers_of_two, rounds=False),
    "threads": Relation(relations.on_threads, rounds=False, share=0.2),
    "stopped": Relation(relations.stopped, rounds=False, share=0.2),
    "looked-at": Relation(relations.looked_at, rounds=False),
    "books": Relation(relations.with_other_books, rounds=False),
    "kernels": Relation(relations.with_kernels, rounds=True),
    "precision": Relation(relations.in_precision, rounds=False),
    "reordered": Relation(relations.reordered, rounds=True),
    "rolled": Relation(relations.rolled, rounds=False, share=0.3),
    "larger-domain": Relation(relations.in_a_larger_domain, rounds=True, share=1),
    "unfolded": Relation(relations.unfolded, rounds=False, share=0.3),
    "slab": Relation(relations.as_a_slab, rounds=False, share=0.3),
    "implicit": Relation(relations.implicitly, rounds=False, share=0.3),
    "united": Relation(relations.united, rounds=False),
}


@dataclass(frozen=True)
class Known:
    """A difference that is understood: why it is there, between which runs, and in which scenes."""

    why: str
    relations: tuple[str, ...]
    where: Callable[[Setup], bool]


def rough_edges(setup: Setup) -> bool:
    """Does a rough wall meet another wall that takes velocities?"""
    taking = [face[0] for face, (contact, _) in setup.walls.items() if contact not in ("periodic", "mirror")]
    rough = [face[0] for face, (_, friction) in setup.walls.items() if friction]
    return any(axis != other for axis in rough for other in taking)


def rubs_beside_others(setup: Setup) -> bool:
    """Can a node be held by a rough contact and by another one?"""
    rough = [face[0] for face, (_, friction) in setup.walls.items() if friction]
    taking = [face[0] for face, (contact, _) in setup.walls.items() if contact not in ("periodic", "mirror")]
    if any(axis != other for axis in rough for other in taking):
        return True
    colliders = setup.obstacles
    return (
        bool(colliders and (rough or any(one.friction for one in colliders)))
        and len(colliders + tuple(taking)) > 1
    )


def is_jammed(setup: Setup) -> bool:
    """Does a rigid body begin in a wall, a collider or another body, with a second one less than a cell away? Or more
    than a cell deep in a collider, where points have two nearest ones on the surface?"""
    for body in setup.bodies:
        if body.law != "rigid":
            continue
        radius = 0.5 * float(np.max(body.volume)) ** (1 / setup.dim)
        gaps = []
        for face, (contact, _) in setup.walls.items():
            axis = "xyz".index(face[0])
            low, high = body.x[:, axis].min() - setup.lower[axis], setup.upper[axis] - body.x[:, axis].max()
            gaps += [low if face[1] == "-" else high] if contact != "periodic" else []
        held = [
            float(measure(describe(shape_of(one.shape), setup.size), body.x)[0].min())
            for one in setup.obstacles
        ]
        for other in setup.bodies:
            if other is not body and other.law == "rigid":
                apart = np.linalg.norm(body.x[:, None] - other.x, axis=-1).min()
                gaps.append(apart - 0.5 * float(np.max(other.volume)) ** (1 / setup.dim))
        near = [gap - radius for gap in gaps + held if gap - radius < setup.size]
        if (len(near) > 1 and min(near) < 0) or any(gap - radius < -setup.size for gap in held):
            return True
    return False


def at_a_jump(setup: Setup) -> bool:
    """Can a particle come to lie on a face, where the gradient of the kernel jumps?"""
    held = "clamp" in str(setup.options.get("on_leave")) or any(body.law == "rigid" for body in setup.bodies)
    return setup.options.get("kernel") == "linear" and held


TURNED = ("moved", "mirrored", "exchanged", "units", "kernels", "reordered", "rolled", "unfolded")
KNOWN: tuple[Known, ...] = (
    Known(
        "friction of several contacts at a node: each takes its own in explicit steps, they share it in implicit ones",
        ("implicit",),
        rubs_beside_others,
    ),
    Known(
        "in implicit steps, rounding says which of several rough contacts with nearly parallel normals bears a node",
        TURNED,
        lambda setup: setup.solved and rubs_beside_others(setup),
    ),
    Known(
        "with plastic flow, rounding says where Newton's method turns back or ends, and a solve may have two ends",
        TURNED,
        lambda setup: (
            setup.solved and any(REGISTRY[body.law]["tangent"] == "mapped" for body in setup.bodies)
        ),
    ),
    Known(
        "the gradient of the linear kernel jumps at nodes, and a particle lies on one: clamped, or of a rigid body",
        TURNED,
        at_a_jump,
    ),
    Known(
        "no motion of a rigid body satisfies contacts that jam it from the beginning: their order and number decide",
        ("mirrored", "exchanged", "reordered", "larger-domain", "precision"),
        is_jammed,
    ),
    Known(
        "the force of local damping turns round with the velocity, whose sign rounding may decide",
        (*TURNED, "precision"),
        lambda setup: "local_damping" in setup.options,
    ),
    Known(
        "the gradient of the linear kernel jumps at nodes, on whose other side rounding may find a particle",
        ("precision",),
        lambda setup: setup.options.get("kernel") == "linear",
    ),
    Known(
        "in implicit steps, rounding says how a node at rest on a plane of symmetry begins to slide, without a mirror",
        ("unfolded",),
        lambda setup: setup.solved and any(friction for _, friction in setup.walls.values()),
    ),
)


# --- the loop --------------------------------------------------------------------------------------------------------


class Undecided(Exception):
    """Small changes decide how the run ends."""


class Tally:
    """What came of scenes, relation by relation."""

    def __init__(self) -> None:
        self.scenes = 0
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.seconds: Counter[str] = Counter()
        self.ratios: dict[str, list[float]] = {name: [] for name in RELATIONS}
        self.differences: list[str] = []

    def try_scene(self, number: int, names: tuple[str, ...], folder: Path, show: bool = False) -> None:
        """Run a scene, and compare by those relations that are named, or else by some of all."""
        maker = random_setups.Maker(number)
        setup = maker.make()
        names = names or tuple(name for name, row in RELATIONS.items() if show or maker.maybe(row.share))
        case = Case(setup)
        case.folder = folder
        if show:
            print(setup)
        try:
            with quiet():
                case.first  # noqa: B018
        except PROMISED as error:
            self.outcomes["all", "no scene"] += 1
            if show:
                print(f"no scene: {error}")
            return
        self.scenes += 1
        for name in names:
            begun = time.perf_counter()
            came, found = self.relate(case, name, number)
            self.seconds[name] += time.perf_counter() - begun
            self.outcomes[name, came] += 1
            if came in ("agrees", "differs"):
                self.ratios[name].append(found.ratio)
            if show:
                print(f"  {name:<14} {came:<10} {found.ratio:9.3g}  {found}")
            if came == "differs":
                self.differences.append(f"{number} {name}: {found}")
                if not show:
                    print(f"--- scene {number}, {name}: {found}\n{setup}", flush=True)

    def relate(self, case: Case, name: str, number: int) -> tuple[str, Difference]:
        """How a relation came out."""
        relation = RELATIONS[name]
        try:
            found = self.compare(case, relation, number, name)
            if found.ratio > 1:
                with relations.more_nudges():
                    again = Case(case.setup)
                    again.folder = case.folder
                    found = self.compare(again, relation, number, name)
        except Undecided:
            return "undecided", SAME
        except Meaningless:
            return "-", SAME
        except Exception:
            return "differs", wrong(traceback.format_exc())
        if found.ratio <= 1:
            return "agrees", found
        known = any(name in row.relations and row.where(case.setup) for row in KNOWN)
        return ("known" if known else "differs"), found

    def compare(self, case: Case, relation: Relation, number: int, name: str) -> Difference:
        """Run a relation once."""
        rng = np.random.default_rng([number, *name.encode()])
        with quiet():
            if relation.rounds and not case.decided:
                raise Undecided
            return relation.other(case, rng)

    def end(self) -> int:
        """Print a table; 1 if something differs."""
        missing, wrong_ones = self.outcomes["all", "no scene"], len(self.differences)
        print(f"{self.scenes} scenes, {missing} that are none, {wrong_ones} differences")
        print(
            "relation           agree  undecided   known  differ  seconds   largest error over allowed, median"
        )
        for name, ratios in self.ratios.items():
            counts = [self.outcomes[name, came] for came in ("agrees", "undecided", "known", "differs")]
            if sum(counts):
                top, middle = (max(ratios), float(np.median(ratios))) if ratios else (0.0, 0.0)
                print(
                    f"{name:<16}{counts[0]:>8}{counts[1]:>11}{counts[2]:>8}{counts[3]:>8}{self.seconds[name]:>9.1f}"
                    f"   {top:.2g}, {middle:.2g}"
                )
        for line in self.differences:
            print(line.splitlines()[0][:160])
        return 1 if self.differences else 0


def main(arguments: list[str] | None = None) -> int:
    """Compare until the time is over; 1 if something differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenes", type=int, default=sys.maxsize, help="at most so many")
    parser.add_argument("--scene", type=int, help="this one alone, with all results")
    parser.add_argument(
        "--relation", action="append", choices=RELATIONS, help="this one alone; may be repeated"
    )
    chosen = parser.parse_args(arguments)
    faulthandler.enable(sys.__stderr__)
    names = tuple(chosen.relation or ())
    tally = Tally()
    number = chosen.scene if chosen.scene is not None else chosen.seed * 10**6
    end = time.monotonic() + chosen.seconds
    with tempfile.TemporaryDirectory() as folder:
        tried = 0
        while not tried or (chosen.scene is None and tried < chosen.scenes and time.monotonic() < end):
            tally.try_scene(number, names, Path(folder), show=chosen.scene is not None)
            number, tried = number + 1, tried + 1
    return tally.end()


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.exit(main())
