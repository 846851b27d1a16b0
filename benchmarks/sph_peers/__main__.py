"""The SPH of the package beside other programs, on the same particles, after a check that they computed the same.

    python -m benchmarks.sph_peers [--install] [--rounds 3] [--along 50]

Run it from the repository's folder, with an interpreter that has the package. It prints a list in JSON: a dictionary
for every program, with ``speed`` in particle-steps per second of processor time, or with the reason why there is none.
Every program is a process of its own, and all take turns. Peers have virtual environments in build/peers, those of
`benchmarks.peers`; without ``--install``, those that are not there are left out.

SPlisHSPlasH is not among them: pysplishsplash 2.19.0 gives a particle the volume 0.8 d³, which the other programs
cannot have, and its import ended in a segmentation fault on the machine that we measured on.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .problem import LIMIT, STEPS, apart

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "peers"
CACHE = BUILD / "cache"


@dataclass(frozen=True, slots=True)
class Peer:
    """A program: its module here, and the requirements of its environment; "" for this interpreter."""

    name: str
    module: str
    requirements: str = ""

    def python(self, install: bool) -> Path | None:
        """The interpreter that has it, None if it is not installed."""
        if not self.requirements:
            return Path(sys.executable)
        wanted = ROOT / "benchmarks" / self.requirements
        folder = BUILD / wanted.stem.removeprefix("requirements-")
        python, stamp = folder / "bin" / "python", folder / "installed.txt"
        if stamp.is_file() and stamp.read_text() == wanted.read_text():
            return python
        if not install:
            return None
        print(f"installing {self.name} into {folder}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", wanted]
        if subprocess.run(pip, stdout=sys.stderr).returncode:
            return None
        stamp.write_text(wanted.read_text())
        return python


PEERS = (
    Peer("mpm", "mpm_sph"),
    Peer("Taichi", "taichi_sph", "peers/requirements-taichi.txt"),
    Peer("PySPH, float64", "pysph_sph", "sph_peers/requirements-pysph.txt"),
    Peer("Warp", "warp_sph", "peers/requirements-warp.txt"),
)


def round_of(peer: Peer, python: Path, along: int) -> dict:
    """What a program prints of one round; a RuntimeError if it fails."""
    environment = dict(os.environ)
    if peer.requirements:  # what it compiles is kept in our folder, and compiled without our flags
        environment = {k: v for k, v in environment.items() if k not in ("CC", "CFLAGS", "PYTHONPATH")}
        environment |= {"HOME": str(CACHE / "home"), "WARP_CACHE_PATH": str(CACHE / "warp")}
    command = [python, "-m", f"benchmarks.sph_peers.{peer.module}", "--rounds", "1", "--along", str(along)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{peer.name} failed: {(done.stderr.strip() or done.stdout.strip())[-300:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measured(install: bool, rounds: int, along: int) -> list[dict]:
    """A dictionary for each program."""
    found = {peer: {"name": peer.name, "lines": []} for peer in PEERS}
    pythons = {peer: peer.python(install) for peer in PEERS}
    for _ in range(rounds):
        for peer, entry in found.items():
            python = pythons[peer]
            if python is None:
                entry["reason"] = "is not installed: python -m benchmarks.sph_peers --install"
            elif "reason" not in entry:
                try:
                    entry["lines"].append(round_of(peer, python, along))
                except RuntimeError as error:
                    entry["reason"] = str(error)
    reference = found[PEERS[0]]["lines"]
    for entry in found.values():
        lines = entry.pop("lines")
        if "reason" in entry or not reference:
            continue
        entry["apart"] = max(apart(line["outcome"], reference[0]["outcome"]) for line in lines)
        entry["version"] = lines[0]["version"]
        if not entry["apart"] <= LIMIT:
            entry["reason"] = f"computed something else: {entry['apart']:.1e} apart"
            continue
        seconds = statistics.median(second for line in lines for second in line["seconds"])
        entry["speed"] = lines[0]["particles"] * STEPS / seconds
    return list(found.values())


def main() -> None:
    """Print the list."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sph_peers", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--install", action="store_true", help="make the environments of peers that lack one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--along", type=int, default=50, help="particles to a metre; 50: 62,500 in all")
    chosen = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    print(json.dumps(measured(chosen.install, chosen.rounds, chosen.along)))


if __name__ == "__main__":
    main()
