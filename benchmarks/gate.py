"""Has the code become slower? A gate by ratios, which hold on a disturbed machine and on a faster one.

    python benchmarks/gate.py [--update] [--rounds 9]

Every vector kernel set of this processor is timed beside the scalar oracle and beside plain C (peers/plain.c, cc -O3
-march=native): one thread, fixed time step, processor time, interleaved rounds; the median of a case's ratios must
reach `KEPT` of the one in gate.json. A kernel set without an entry there is skipped, and said to be: ratios are a
property of the instruction set.

A case whose ratios fail is measured again, `TRIES` times in all, and the best of each counts: a disturbance passes,
slower code stays. Where a ratio fails still, instructions decide: those of the AVX2 kernels, counted by callgrind,
which does not know AVX-512. They must not be more than `GROWTH` times the committed number. They say nothing about
AVX-512 where it alone has become slower. There, without valgrind, or with another compiler than that of the committed
numbers, the ratio has the last word, but only on the model of processor that gave the committed ones; on others
nothing is judged.

--update measures everything and rewrites gate.json.
"""

import argparse
import functools
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import plain_c
from peers import equal_work, plain

from mpm import _core, config
from mpm.bench import measure as bench

COMMITTED = Path(__file__).with_suffix(".json")
KEPT = 0.85
GROWTH = 1.05
TRIES = 3
COUNTED = "avx2"
NO_REP = "glibc.cpu.x86_rep_stosb_threshold=1000000000"  # callgrind counts each byte of `rep stosb`
STEPS = 40
CELLS = {2: 64, 3: 12}  # 16,384 and 13,824 particles
CASES = [
    bench.Case(law, dimension, dtype, CELLS[dimension])
    for dimension in (3, 2)
    for dtype in ("float32", "float64")
    for law in ("fixed corotated", "fluid")
]
VECTORS = ("avx2", "avx512")  # the portable vectors are for machines without


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times faster a kernel set is than something else in a case; `key` names all three in gate.json."""

    case: bench.Case
    isa: str
    against: str
    value: float

    @property
    def key(self) -> str:
        return f"{name_of(self.case)} / {self.against}"


def name_of(case: bench.Case) -> str:
    """Of a case, in gate.json."""
    return f"{case.dimension}-D {case.dtype} {case.material}"


def failures(found: Iterable[Ratio], committed: dict) -> list[Ratio]:
    """The ratios that are below `KEPT` of the committed ones."""
    return [
        ratio
        for ratio in found
        if ratio.isa in committed and ratio.value < KEPT * committed[ratio.isa].get(ratio.key, 0)
    ]


def measure(case: bench.Case, isas: list[str], rounds: int, folder: Path) -> Iterator[Ratio]:
    """Ratios of a case, after the equal-work check; plain C in single precision only."""
    state, program = folder / "state", folder / "plain"
    numbers = plain_c.write_state(case, case.simulation(isa=bench.ORACLE), state)
    with_plain = case.dtype == "float32"
    if with_plain:
        plain_c.compile_plain(case, ["-O3", "-march=native"], program)
    simulations = {isa: case.simulation(isa=isa, dt=plain_c.DT) for isa in [bench.ORACLE, *isas]}
    times: dict[str, list[float]] = {name: [] for name in [*simulations, "plain C"]}
    for number in range(rounds):
        if with_plain:
            [(_, processor)], reference = plain.run(program, state, steps=STEPS, **numbers)
            times["plain C"].append(processor)
        for isa, sim in simulations.items():
            start = time.thread_time()
            sim.step(STEPS)
            times[isa].append(time.thread_time() - start)
            if with_plain and number == 0:
                outcome = equal_work.outcome(sim.particles.x, sim.particles.v, numbers["mass"])
                equal_work.check(f"{name_of(case)} {isa}", outcome, reference, plain_c.AGREEMENT[case.dtype])
    for isa in isas:
        for against in (bench.ORACLE, "plain C"):
            pairs = list(zip(times[against], times[isa], strict=False))
            if pairs:
                yield Ratio(case, isa, against, round(statistics.median(a / b for a, b in pairs), 2))


def best_of_tries(
    case: bench.Case, isas: list[str], rounds: int, folder: Path, committed: dict
) -> list[Ratio]:
    """The ratios of a case, the best of as many tries as it needs to pass."""
    best = list(measure(case, isas, rounds, folder))
    for _ in range(TRIES - 1):
        if not failures(best, committed):
            break
        again = measure(case, isas, rounds, folder)
        best = [max(pair, key=lambda ratio: ratio.value) for pair in zip(best, again, strict=True)]
    return best


def work(case: bench.Case) -> None:
    """What is counted: the steps of a small case, in a process of its own."""
    case.simulation(isa=COUNTED, dt=plain_c.DT).step(STEPS)


@functools.cache
def instructions(case: bench.Case) -> float:
    """Instructions per particle and step, all of `Simulation.step` in C, with the kernels `COUNTED`."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "callgrind.out"
        tool = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={profile}",
            "--toggle-collect=mpm_run_advance",
        ]
        subprocess.run(
            [*tool, sys.executable, __file__, "--count", json.dumps(asdict(case))],
            env=os.environ | {"MPM_ISA": COUNTED, "OPENBLAS_NUM_THREADS": "1", "GLIBC_TUNABLES": NO_REP},
            check=True,
            capture_output=True,
        )
        total = int(re.search(r"^(?:summary|totals): (\d+)", profile.read_text(), re.MULTILINE).group(1))
    return round(total / STEPS / case.cells**case.dimension / 2**case.dimension, 1)


def why_not_counted(committed: dict) -> str:
    """The reason why instructions cannot decide here; "" if they can."""
    if not shutil.which("valgrind"):
        return "there is no valgrind"
    if COUNTED not in _core.isas():
        return f"this processor has no {COUNTED}"
    compiler = config.configuration().compiler
    if committed["instructions"]["compiler"] != compiler:
        return f"{compiler} is not the compiler of the committed numbers, {committed['instructions']['compiler']}"
    return ""


def alone(ratio: Ratio, found: list[Ratio], failed: list[Ratio]) -> bool:
    """Whether a failure has no company where slower code would give it some.

    In double precision, which plain C does not have, no failure is alone.
    """
    company = [
        other
        for other in found
        if other.case == ratio.case and (other.isa == ratio.isa) != (other.against == ratio.against)
    ]
    return len({other.against for other in company}) == 2 and not any(other in failed for other in company)


def judge(failed: list[Ratio], committed: dict) -> bool | None:
    """Let instructions decide about ratios that are too small.

    True if the code is as fast as it was, None if nothing here can tell.
    """
    reason = why_not_counted(committed)
    known = committed.get("processor") == config.processor()
    if reason:
        print(f"instructions cannot decide: {reason}")
    if not known:
        print(f"another model of processor than that of the committed ratios, {committed.get('processor')}")
    if reason or (not known and not any(ratio.isa == COUNTED for ratio in failed)):
        return False if known else None
    kept: bool | None = True
    both = {ratio.case for ratio in failed if ratio.isa == COUNTED}
    for ratio in failed:
        if ratio.case not in both:
            print(f"{ratio.key}: {ratio.isa} is slower, {COUNTED} is not: INSTRUCTIONS ARE NOT ASKED")
            kept = kept and (False if known else None)
    for case in sorted(both, key=name_of):
        before, now = committed["instructions"][name_of(case)], instructions(case)
        good = now <= GROWTH * before
        kept = kept if good else False
        print(
            f"{name_of(case)}: {now} instructions per particle-step with {COUNTED}, committed {before}:"
            + (" the code is as it was, the machine is not" if good else " MORE WORK")
        )
    return kept


def update(found: list[Ratio]) -> None:
    """Rewrite gate.json: kernel sets that this processor does not have keep their entries."""
    committed = json.loads(COMMITTED.read_text()) if COMMITTED.is_file() else {}
    for isa in dict.fromkeys(ratio.isa for ratio in found):
        committed[isa] = {ratio.key: ratio.value for ratio in found if ratio.isa == isa}
    committed["processor"] = config.processor()
    if shutil.which("valgrind") and COUNTED in _core.isas():
        counts = {name_of(case): instructions(case) for case in CASES}
        committed["instructions"] = {"compiler": config.configuration().compiler, **counts}
    COMMITTED.write_text(json.dumps(committed, indent=1) + "\n")


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(prog="gate.py", description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true", help="rewrite gate.json with what is measured")
    parser.add_argument("--rounds", type=int, default=9, help="of a case, at least 1; default: 9")
    parser.add_argument("--count", type=lambda text: bench.Case(**json.loads(text)), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.rounds < 1:
        parser.error(f"argument --rounds: {chosen.rounds}: must be at least 1")
    if chosen.count:
        work(chosen.count)
        return 0
    committed = json.loads(COMMITTED.read_text()) if COMMITTED.is_file() else {}
    isas = [isa for isa in VECTORS if isa in _core.isas()]
    for isa in isas:
        if isa not in committed and not chosen.update:
            print(f"skipped: gate.json has no ratios of {isa}")
    if not chosen.update:
        isas = [isa for isa in isas if isa in committed]
    if not isas:
        print("skipped: this processor has none of the kernel sets of gate.json")
        return 0
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            for ratio in best_of_tries(
                case, isas, chosen.rounds, Path(folder), {} if chosen.update else committed
            ):
                found.append(ratio)
                before = committed.get(ratio.isa, {}).get(ratio.key)
                beside = f"{ratio.value / before - 1:+.0%} of {before}" if before else "new"
                print(f"{ratio.isa:<8}{ratio.key:<44}{ratio.value:>7.2f}   {beside}", flush=True)
    if chosen.update:
        update(found)
        return 0
    below = failures(found, committed)
    failed = [ratio for ratio in below if not alone(ratio, found, below)]
    if below:
        print(f"{len(below)} of {len(found)} ratios are below {KEPT:.0%} of the committed ones")
    for ratio in below:
        if ratio not in failed:
            print(f"{ratio.key}: {ratio.isa} fails alone: a disturbance")
    verdict = not failed or judge(failed, committed)
    print({True: "as fast as it was", None: "not judged", False: "SLOWER THAN IT WAS"}[verdict])
    return 1 if verdict is False else 0


if __name__ == "__main__":
    sys.exit(main())
