"""Loops within tests: `each` instead of `pytest.mark.parametrize` where a case takes milliseconds."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

shortened = False
"""Do loops take two rounds alone (`tests/on_device.py`)?"""


def at_the_ends(run: Callable[[dict[str, Any]], None], rounds: Iterable[dict[str, Any]]) -> None:
    """Run the first and the last of the rounds that are not skipped; skip if all are."""
    left, skipped, taken = list(rounds), "", 0
    for end in (0, -1):
        while left:
            try:
                run(left.pop(end))
            except pytest.skip.Exception as error:
                skipped = str(error)
            else:
                taken += 1
                break
    if not taken:
        pytest.skip(skipped)


def each(name: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator: calls the test with every one of `values` for its argument `name`.

    A failure carries the note ``name = value``. The loops of several decorators nest; fixtures, and cases of
    `pytest.mark.parametrize` below or above, are shared by all rounds.

    Parameters
    ----------
    name : str
        An argument of the test, or several as in ``"kernel, gradient"``: then each value is a tuple.
    values : iterable
    """
    names = [word.strip() for word in name.split(",")]
    rounds = [dict(zip(names, value if len(names) > 1 else (value,), strict=True)) for value in list(values)]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def loop(**others: Any) -> None:
            __tracebackhide__ = True

            def run(chosen: dict[str, Any]) -> None:
                __tracebackhide__ = True
                try:
                    test(**others, **chosen)
                except Exception as error:
                    error.add_note(", ".join(f"{key} = {value!r}" for key, value in chosen.items()))
                    raise

            if shortened:
                at_the_ends(run, rounds)
                return
            for chosen in rounds:
                run(chosen)

        signature = inspect.signature(test)
        kept = [parameter for key, parameter in signature.parameters.items() if key not in names]
        loop.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return loop

    return decorate
