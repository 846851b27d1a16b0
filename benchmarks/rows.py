"""The command line of `heat.py` and `fracture.py`, and their table: what is measured, and its bounds."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeAlias

Row: TypeAlias = tuple[str, float, float, float]  # what, measured, from, to


def run(
    doc: str | None,
    cases: Mapping[str, Callable[[argparse.Namespace], Iterator[Row]]],
    **options: dict[str, Any],
) -> NoReturn:
    """Print the rows of the cases that the command line names, or of all; exit with 1 if one is missed.

    Parameters
    ----------
    doc
        Of the script.
    cases
        Functions of ``args.dim``, ``args.dtype`` and the options of the script.
    options
        Arguments of ``add_argument``, by the name of the option.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", choices=[[], *cases], default=[])
    parser.add_argument("--dim", type=int, choices=(2, 3), default=2)
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64")
    for name, given in options.items():
        parser.add_argument(f"--{name}", **given)
    args = parser.parse_args()
    failed = False
    print("| case | measured | from | to | |\n|---|---|---|---|---|")
    for name in args.cases or cases:
        for what, measured, low, high in cases[name](args):
            good = low <= measured <= high
            failed |= not good
            print(
                f"| {what} | {measured:.3g} | {low:g} | {high:g} | {'met' if good else 'MISSED'} |",
                flush=True,
            )
    raise SystemExit(failed)
