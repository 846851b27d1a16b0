"""A setting of a simulation: a number with its range, or a word."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mpm.base import _check


@dataclass(frozen=True, slots=True)
class Setting:
    """A number with its range, or one of some words.

    Attributes
    ----------
    key : str
        What it is called in messages: ``"material 0 E"``, ``"gravity y"``, ``"dx"``, …
    group, name, unit, meaning : str
        What is shown.
    value : float, int, str or None
        None: automatic, or no limit.
    low, high : float
        Allowed range, without its ends if `low_open`, `high_open`.
    whole : bool
        Only integers.
    optional : bool
        May be None.
    choices : tuple of str
        The words that are allowed, if it is no number.
    """

    key: str
    group: str
    name: str
    unit: str
    value: float | str | None
    low: float = -math.inf
    low_open: bool = False
    high: float = math.inf
    high_open: bool = False
    whole: bool = False
    optional: bool = False
    meaning: str = ""
    choices: tuple[str, ...] = ()

    def check(self, value: object) -> float | str | None:
        """The value if it is allowed; TypeError or ValueError otherwise."""
        if self.choices:
            return _check.choice(self.name, value, self.choices)
        if value is None and self.optional:
            return None
        if self.whole:
            return _check.integer(
                self.name, value, low=int(self.low), high=None if math.isinf(self.high) else int(self.high)
            )
        return _check.number(
            self.name,
            value,
            low=self.low,
            low_open=self.low_open,
            high=self.high,
            high_open=self.high_open,
            unit=self.unit,
        )

    @property
    def allowed(self) -> str:
        """The range in words."""
        if self.choices:
            return ", ".join(self.choices)
        kind = "integer " if self.whole else ""
        alternative = ", or empty: automatic" if self.optional else ""
        return kind + _check.interval(self.low, self.low_open, self.high, self.high_open) + alternative
