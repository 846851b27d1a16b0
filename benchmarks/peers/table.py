"""What the runs make: medians, and the tables in Markdown."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A peer on a scene.

    Attributes
    ----------
    peer, scene, law : str
    threads, particles : int
    speeds : list of float
        Million particle-steps per second, of every round.
    first : float
        Seconds until the first step is done, compilation included; of the first round.
    apart : float
        Largest difference from plain C that was found (`equal_work.difference`).
    """

    peer: str
    scene: str
    law: str
    threads: int
    particles: int
    speeds: Sequence[float]
    first: float
    apart: float

    @property
    def speed(self) -> float:
        """Median of the rounds."""
        return statistics.median(self.speeds)

    @property
    def spread(self) -> float:
        """Half the range of the rounds over their median."""
        return (max(self.speeds) - min(self.speeds)) / 2 / self.speed


def cell(entry: Entry | None) -> str:
    """Speed and spread."""
    if entry is None:
        return "–"
    return f"{entry.speed:.3g} ±{100 * entry.spread:.0f}%"


def tables(
    entries: Iterable[Entry], headings: dict[str, str], threads: Sequence[int], reference: str
) -> Iterable[str]:
    """A table per scene, the fastest on one thread first; the last column of a law is one thread over `reference`'s."""
    entries = list(entries)
    for scene, heading in headings.items():
        found = {(e.peer, e.law, e.threads): e for e in entries if e.scene == scene}
        laws = list(dict.fromkeys(law for _, law, _ in found))
        first = {peer: e for (peer, law, t), e in found.items() if (law, t) == (laws[0], threads[0])}
        peers = dict.fromkeys(sorted(first, key=lambda peer: -first[peer].speed))
        peers |= dict.fromkeys(peer for peer, _, _ in found)
        head = [f"{law} {t}T" for law in laws for t in threads] + [f"{law} x" for law in laws]
        yield f"### {heading}\n"
        yield "| | " + " | ".join([*head, "first step [s]", "apart"]) + " |"
        yield "|---" * (len(head) + 3) + "|"
        for peer in peers:
            cells = [cell(found.get((peer, law, t))) for law in laws for t in threads]
            for law in laws:
                own, plain = found.get((peer, law, threads[0])), found.get((reference, law, threads[0]))
                cells.append(f"{own.speed / plain.speed:.2f}" if own and plain else "–")
            its = [e for (name, _, _), e in found.items() if name == peer]
            cells += [f"{max(e.first for e in its):.1f}", f"{max(e.apart for e in its):.0e}"]
            yield f"| {peer} | " + " | ".join(cells) + " |"
        yield ""
