"""Loops within tests: `each` instead of `pytest.mark.parametrize` where a case takes milliseconds."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


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
            for chosen in rounds:
                try:
                    test(**others, **chosen)
                except Exception as error:
                    error.add_note(", ".join(f"{key} = {value!r}" for key, value in chosen.items()))
                    raise

        signature = inspect.signature(test)
        kept = [parameter for key, parameter in signature.parameters.items() if key not in names]
        loop.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return loop

    return decorate
