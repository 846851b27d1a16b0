"""Several values of a parameter side by side: a run for each, all with the same clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mpm.base import _check
from mpm.base.setting import Setting
from mpm.solver.source import Running
from mpm.viewer.sources import OF_ENERGIES, Playable, Point, _point, thin

FEWEST, MOST = 2, 4  # runs
KEPT = ("Domain", "Run")  # groups of settings that are the same for all runs
AS_LATE = 1e-9  # of a clock: rounding


def comparable(settings: Sequence[Setting]) -> list[Setting]:
    """Those of which values can be compared."""
    return [setting for setting in settings if setting.group not in KEPT]


def check(settings: Sequence[Setting], key: object, values: object) -> tuple[Setting, list[Any]]:
    """The setting, and two to four different values that it allows."""
    known = {setting.key: setting for setting in comparable(settings)}
    kept = [setting.key for setting in settings if setting.group in KEPT]
    why = "; all runs share the domain and the clock: reset with another value instead" if key in kept else ""
    setting = known[_check.choice("key", key, tuple(known), why=why)]
    if not isinstance(values, list) or not FEWEST <= len(values) <= MOST:
        raise ValueError(f"values = {_check.shown(values)}: must be {FEWEST} to {MOST} values")
    checked = [setting.check(value) for value in values]
    if len(set(checked)) < len(checked):
        raise ValueError(f"values = {_check.shown(values)}: must be different")
    return setting, checked


class Compared(Playable):
    """Simulations that differ in one setting. The first one leads; the others follow until they are as late.

    Parameters
    ----------
    setting : Setting
    values : sequence
        What it is, run by run: see `check`.
    make : callable
        Makes a simulation of some changed settings, by key.
    """

    def __init__(
        self, setting: Setting, values: Sequence[Any], make: Callable[[Mapping[str, Any]], Running]
    ) -> None:
        self.setting, self.values = setting, list(values)
        self.labels = [_label(setting, value) for value in values]
        runs: list[Running] = []
        for value, text in zip(values, self.labels, strict=True):
            with _named(text):
                runs.append(make({setting.key: value}))
        super().__init__(runs)
        self._steps = [0.0] * len(self.runs)  # s: last of each
        self._log = [self._now()]

    def _lead(self, steps: int, until: float) -> None:
        with _named(self.labels[0]):
            super()._lead(steps, until)

    def _settle(self, steps: int, began: float) -> None:
        """The others take as many steps as bring them to the time of the first, so that they are late by less than one;
        a frame takes no longer than `PATIENCE` with all of them."""
        for k in range(1, len(self.runs)):
            with _named(self.labels[k]):
                self._follow(k, self.runs[0].time)
        self._log.append(self._now())
        thin(self._log)
        super()._settle(steps, began)

    def _follow(self, k: int, clock: float) -> None:
        run = self.runs[k]
        while (left := clock - run.time) > AS_LATE * clock:
            before, n = run.time, 1
            if self._steps[k] > 0:
                n = max(1, int(left / (2 * self._steps[k])))  # steps may grow
            run.step(n)
            self._steps[k] = (run.time - before) / n

    def _now(self) -> tuple[float, list[Any]]:
        return self.runs[0].time, [run.totals() for run in self.runs]

    @property
    def curves(self) -> tuple[str, ...]:
        """What the curves may show, with a line for each run."""
        return OF_ENERGIES

    def lines(self, curve: str) -> tuple[str, ...]:
        """The names of the lines."""
        return tuple(self.labels)

    def past(self, curve: str) -> list[Point]:
        """All of a curve."""
        return [_point((t, *(getattr(one, curve) for one in totals))) for t, totals in self._log]

    def point(self, curve: str) -> Point:
        """Of the states that are shown."""
        t, totals = self._log[-1]
        return _point((t, *(getattr(one, curve) for one in totals)))


class _named:
    """Errors say of which run they are."""

    def __init__(self, label: str) -> None:
        self.label = label

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            raise RuntimeError(f"with {self.label}: {type(error).__name__}: {error}") from error


def _label(setting: Setting, value: Any) -> str:
    if value is None:
        text = "auto"
    else:
        text = value if isinstance(value, str) else f"{value:.6g}"
    unit = "" if setting.unit in ("", "1") or value is None else f" {setting.unit}"
    return f"{setting.name.replace('_', ' ')} = {text}{unit}"
