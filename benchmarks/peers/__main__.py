"""The package beside its peers, on the same particles, in one run.

    python -m benchmarks.peers [--scenes 3a,2a] [--peers mpm,numba] [--threads 1,2] [--rounds 3] [--quick]

Run it from the repository's folder, with an interpreter that has the package. Every peer gets a virtual environment of
its own in build/peers, and every measurement is a process of its own; a round runs all peers of a case one after the
other, the medians of the rounds count. A time counts only after the equal-work check. See README.md beside this file.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from mpm import config

from . import equal_work, plain, problems, table

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
BUILD = ROOT / "build" / "peers"
REFERENCE = "plain C, gcc -O3"
NATIVE = "-march=native"
# What peers compile is kept for the later rounds of a run, and thrown away before the next one.
CACHE = BUILD / "cache"
CACHES = {
    "TI_OFFLINE_CACHE_FILE_PATH": str(CACHE / "taichi"),
    "WARP_CACHE_PATH": str(CACHE / "warp"),
    "JAX_COMPILATION_CACHE_DIR": str(CACHE / "jax"),
}


@dataclass(frozen=True, slots=True)
class Peer:
    """A row of the tables.

    Attributes
    ----------
    name : str
    module : str
        Of this package, with its options; or a compiler and its flags, for plain C.
    environment : str
        "" for this interpreter's, "C" for plain C, else that of requirements-NAME.txt.
    parallel : bool
        It can use more than one thread.
    """

    name: str
    module: tuple[str, ...]
    environment: str = ""
    parallel: bool = True


def peers() -> list[Peer]:
    """All that can run here."""
    compilers = [("gcc", "-O3"), ("gcc", "-Ofast")]
    if clang := plain.clang():
        compilers.append((clang, "-O3"))
    return [
        *(Peer(f"plain C, {name} {flag}", (name, flag), "C", False) for name, flag in compilers),
        Peer("mpm", ("mpm_step",)),
        Peer('mpm, dt="auto"', ("mpm_step", "--dt", "auto")),
        Peer("Numba, private grids", ("numba_private",), "numba"),
        Peer("Taichi, private grids", ("taichi_private",), "taichi"),
        Peer("Taichi, classic", ("taichi_classic",), "taichi"),
        Peer("Warp, tuned", ("warp_serial", "--form", "tuned"), "warp", False),
        Peer("Warp, classic", ("warp_serial", "--form", "classic"), "warp", False),
        Peer("JAX, jit", ("jax_jit",), "jax"),
    ]


def interpreter(environment: str) -> Path:
    """The Python of an environment, which is made if it is not there or its requirements have changed."""
    if not environment:
        return Path(sys.executable)
    requirements = HERE / f"requirements-{environment}.txt"
    folder = BUILD / environment
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    if not stamp.is_file() or stamp.read_text() != requirements.read_text():
        print(f"installing {environment} into {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", requirements], check=True)
        stamp.write_text(requirements.read_text())
    return python


@dataclass(frozen=True, slots=True)
class Case:
    """A scene with a law: the problem, its particles, and what plain C makes of it."""

    scene: str
    problem: problems.Problem
    particles: Path
    count: int
    reference: list[float]

    @classmethod
    def make(cls, scene: str, law: str) -> "Case":
        """Write the particles and run the reference once."""
        problem = problems.problem(problems.SCENES[scene], law)
        particles = problems.write(scene, BUILD)
        case = cls(scene, problem, particles, len(np.load(particles, mmap_mode="r")), [])
        return replace(case, reference=case.run_plain("gcc", "-O3")["outcome"])

    def run_plain(self, compiler: str, flag: str) -> dict:
        """A round of plain C, as `protocol.run` prints it."""
        p = self.problem
        program = BUILD / f"plain-{compiler}{flag}-{p.dimension}-{p.law}"
        plain.compile(program, [flag, NATIVE], law=p.law, dimension=p.dimension, compiler=compiler)
        numbers = {k: v for k, v in asdict(p).items() if k not in ("law", "dimension")}
        seconds, outcome = plain.run(program, self.particles, **numbers)
        return {"seconds": seconds, "first": 0.0, "outcome": outcome, "versions": {}}

    def run(self, peer: Peer, threads: int) -> dict:
        """A round of a peer.

        Raises
        ------
        RuntimeError
            It fails.
        UnequalWorkError
            Its result is not that of plain C.
        """
        if peer.environment == "C":
            line = self.run_plain(*peer.module)
        else:
            module, *options = peer.module
            command = [interpreter(peer.environment), "-m", f"benchmarks.peers.{module}", *options]
            command += [
                "--particles",
                self.particles,
                "--problem",
                self.problem.json(),
                "--threads",
                str(threads),
            ]
            done = subprocess.run(command, cwd=ROOT, env=os.environ | CACHES, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{peer.name} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
            line = json.loads(done.stdout.splitlines()[-1])
        limit = equal_work.LIMIT_OWN_DT if "auto" in peer.module else equal_work.LIMIT
        line["apart"] = equal_work.check(
            f"{peer.name}, {self.scene} {self.problem.law}", line["outcome"], self.reference, limit
        )
        return line


def measure(
    case: Case, chosen: list[tuple[Peer, int]], rounds: int
) -> tuple[list[table.Entry], dict[str, str]]:
    """All chosen peers and threads of a case, round by round; and the versions of their packages."""
    lines: dict[tuple[str, int], list[dict]] = {(peer.name, threads): [] for peer, threads in chosen}
    for number in range(rounds):
        for peer, threads in chosen:
            lines[peer.name, threads].append(case.run(peer, threads))
            print(
                f"{case.scene} {case.problem.law:<6} round {number + 1}  {threads}T  {peer.name}", flush=True
            )
    work = case.count * case.problem.steps / 1e6
    entries = [
        table.Entry(
            name,
            case.scene,
            case.problem.law,
            threads,
            case.count,
            # One thread by processor time, which other programs on the machine disturb less; more by the clock.
            [work / seconds[1 if threads == 1 else 0] for line in found for seconds in line["seconds"]],
            max(line["first"] for line in found),
            max(line["apart"] for line in found),
        )
        for (name, threads), found in lines.items()
    ]
    return entries, {k: v for found in lines.values() for line in found for k, v in line["versions"].items()}


def first_line(*command: str) -> str:
    """Of what a command prints."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.partition("\n")[0]


def machine() -> dict[str, str]:
    """What the figures belong to, as it is at the start."""
    clang = plain.clang()
    dirty = "" if not first_line("git", "status", "--porcelain", "-uno") else ", changed since"
    return {
        "processor": f"{config.processor()}, {os.cpu_count()} threads of hardware",
        "system": platform.platform(),
        "kernels of mpm": config.isa(),
        "compiler of mpm": config.configuration().compiler,
        "gcc": f"{first_line('gcc', '--version')}, {NATIVE}",
        "clang": f"{first_line(clang, '--version')}, {NATIVE}" if clang else "none here",
        "Python": platform.python_version(),
        "commit": first_line("git", "rev-parse", "--short", "HEAD") + dirty,
        "date": time.strftime("%Y-%m-%d"),
    }


EXPLAINED = """\
Million particle-steps per second, median ± half the range of the rounds; losers included. Columns `1T` are by
processor time, others by the clock. `x`: one thread over plain C, gcc -O3 -march=native. First step: seconds until the
first step is done, compilation included, the slowest case. Apart: largest relative difference from plain C in centre of
mass, momentum and energy at the end; allowed are {limit:.0e}, and {own:.0e} for `dt="auto"`, whose steps are its own.
–: has no such form. fcr: fixed corotated; fluid: p = K (1/J − 1).
"""


def report(entries: list[table.Entry], scenes: list[str], threads: list[int], facts: dict[str, str]) -> str:
    """The page in Markdown."""
    headings = {}
    for name in scenes:
        scene = problems.SCENES[name]
        count = next(entry.particles for entry in entries if entry.scene == name)
        headings[name] = (
            f"{name}: {scene.dimension}-D, {count:,} particles, {scene.nodes} nodes a side, float32"
        )
    explained = EXPLAINED.format(limit=equal_work.LIMIT, own=equal_work.LIMIT_OWN_DT)
    lines = ["# The package beside its peers", "", "Printed by `python -m benchmarks.peers`.", "", explained]
    lines += table.tables(entries, headings, threads, REFERENCE)
    lines += ["| machine and versions | |", "|---|---|"]
    return "\n".join(lines + [f"| {name} | {value} |" for name, value in facts.items()]) + "\n"


def arguments() -> argparse.Namespace:
    """The command line."""

    def among(known: list[str]):
        def parse(text: str) -> list[str]:
            names = text.split(",")
            if unknown := [name for name in names if name not in known]:
                raise argparse.ArgumentTypeError(f"{unknown[0]!r}: must be one of {', '.join(known)}")
            return names

        return parse

    def numbers(text: str) -> list[int]:
        found = [int(word) for word in text.split(",")]
        if min(found) < 1:
            raise argparse.ArgumentTypeError(f"{text!r}: must be integers >= 1")
        return found

    kinds = [
        "plain",
        "mpm",
        *sorted(path.stem.removeprefix("requirements-") for path in HERE.glob("req*.txt")),
    ]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.split("\n")[0])
    parser.add_argument("--scenes", type=among(list(problems.SCENES)), default=["3a", "3b", "2a", "2b"])
    parser.add_argument("--laws", type=among(list(problems.LAWS)), default=list(problems.LAWS))
    parser.add_argument(
        "--peers", type=among(kinds), default=kinds, help=f"of {', '.join(kinds)}; default: all"
    )
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--quick", action="store_true", help="4,096 particles: to see that it works, not to quote"
    )
    parser.add_argument(
        "--out", type=Path, default=BUILD / "results", help="without suffix; .md and .json are written"
    )
    chosen = parser.parse_args()
    if chosen.rounds < 1:
        parser.error(f"argument --rounds: {chosen.rounds}: must be at least 1")
    if chosen.out.parent != BUILD and not chosen.out.parent.is_dir():
        parser.error(f"argument --out: there is no folder {chosen.out.parent}")
    if chosen.quick:
        chosen.scenes = list(problems.QUICK)
    return chosen


def main() -> None:
    """Measure, and write the tables."""
    chosen = arguments()
    shutil.rmtree(CACHE, ignore_errors=True)
    BUILD.mkdir(parents=True, exist_ok=True)
    kind = {"": "mpm", "C": "plain"}
    wanted = [
        p for p in peers() if kind.get(p.environment, p.environment) in chosen.peers or p.name == REFERENCE
    ]
    pairs = [(p, t) for p in wanted for t in chosen.threads if p.parallel or t == 1]
    for peer in wanted:
        if peer.environment != "C":
            interpreter(peer.environment)
    entries: list[table.Entry] = []
    versions: dict[str, str] = {}
    start, loads = machine(), [os.getloadavg()[0]]
    for scene in chosen.scenes:
        for law in chosen.laws:
            found, used = measure(Case.make(scene, law), pairs, chosen.rounds)
            entries += found
            versions |= used
            loads.append(os.getloadavg()[0])
            facts = start | versions | {"rounds": str(chosen.rounds)}
            facts["load average"] = (
                f"{min(loads):.1f} to {max(loads):.1f} (a process of this run counts as 1 or 2)"
            )
            page = report(entries, list(dict.fromkeys(e.scene for e in entries)), chosen.threads, facts)
            chosen.out.with_suffix(".md").write_text(page)
            record = {"machine": facts, "entries": [{**asdict(e), "speed": e.speed} for e in entries]}
            chosen.out.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    print("\n" + page)


if __name__ == "__main__":
    main()
