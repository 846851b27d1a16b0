"""Random scenes by several processes have the bits of one: 2, 3, 5 and 7 processes in turn.

    python tests/replica_scenes.py                        # 200 scenes; some minutes
    python tests/replica_scenes.py --first 300 --scenes 50

The processes are threads (csrc/ranks/threads.h) that exchange what MPI processes do. Scenes whose forces Python finds
between steps, rigid bodies, which do not run in several processes, and refused ones are passed over. Exit status 1:
there is a difference.
"""

from __future__ import annotations

import argparse

import mpm
import random_relations
import random_scenes
from random_setups import Maker
from test_replicas import together

PROCESSES = (2, 3, 5, 7)


def differences(number: int) -> list[str] | None:
    """What differs in scene `number`; None: it is passed over."""
    setup = Maker(number).make()
    forced = setup.force is not None or any(b.force is not None or b.held is not None for b in setup.bodies)
    if setup.method not in ("mpm", "implicit") or forced:
        return None
    with random_scenes.quiet():
        try:
            alone = random_scenes.run(setup)
        except ValueError:  # the scene is refused
            return None
        sims = [random_scenes.simulation(setup) for _ in range(PROCESSES[number % len(PROCESSES)])]
        ended: dict[int, str] = {}

        def advance(sim: mpm.Simulation) -> None:
            ended[id(sim)] = random_scenes.advance(sim, setup.steps)

        errors = together(sims, advance)
        if any(errors):  # rigid bodies
            return None if all(isinstance(error, NotImplementedError) for error in errors) else [repr(errors)]
        found = [random_scenes.outcome(sim, ended[id(sim)]) for sim in sims]
    same = [random_relations.same_bits(alone, one) for one in found]
    return [f"process {k}: {one}" for k, one in enumerate(same) if one != random_relations.SAME]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=0, help="the number of the first scene")
    parser.add_argument("--scenes", type=int, default=200, help="how many are compared")
    options = parser.parse_args()
    number, compared, wrong = options.first, 0, 0
    while compared < options.scenes:
        told = differences(number)
        compared += told is not None
        if told:
            wrong += 1
            print(f"scene {number}: {'; '.join(told)}", flush=True)
        number += 1
    print(f"{compared} scenes by {', '.join(map(str, PROCESSES))} processes: {wrong} differ")
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
