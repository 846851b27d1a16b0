"""Tables of settings for reports and papers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

HEAD = ("", "setting", "value", "unit")
LATEX = {
    "\\": r"\textbackslash{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
SIGNS = {"³": "$^3$", "²": "$^2$", "·": r"$\cdot$", "°": r"$^\circ$"}


def tabulated(rows: Sequence[tuple[str, str, Any, str]], kind: str) -> str:
    """Rows of group, name, value and unit as ``"markdown"`` or ``"latex"``; a group is written once."""
    lines, last = [], ""
    for group, name, value, unit in rows:
        lines.append(
            (
                group if group != last else "",
                name.replace("_", " "),
                shown(value),
                unit if unit != "1" else "",
            )
        )
        last = group
    if kind == "latex":
        body = [" & ".join(map(latex, line)) + r" \\" for line in lines]
        head = " & ".join(HEAD) + r" \\"
        return "\n".join(
            [
                r"\begin{tabular}{llrl}",
                r"\toprule",
                head,
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )
    cells = [[cell.replace("|", r"\|") for cell in line] for line in (HEAD, *lines)]
    wide = [max(3, *(len(line[k]) for line in cells)) for k in range(len(HEAD))]
    padded = [
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(line, wide, strict=True)) + " |" for line in cells
    ]
    rule = "|" + "|".join("-" * (w + 1) + (":" if k == 2 else "-") for k, w in enumerate(wide)) + "|"
    return "\n".join([padded[0], rule, *padded[1:]])


def shown(value: Any) -> str:
    """A value in a table."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(shown, value))
    return str(value)


def latex(text: str) -> str:
    """A text without what LaTeX takes for commands."""
    return "".join(SIGNS.get(c) or LATEX.get(c, c) for c in text)
