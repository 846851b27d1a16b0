"""Prints what F-bar and artificial viscosity do: a nearly incompressible beam, and shocks.

    python benchmarks/locking.py

The exit status is 1 if a limit is missed. tests/test_locking.py and tests/test_shocks.py have the scenes.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import test_locking as beams
import test_shocks as shocks

CELLS = {False: (4, 8), True: (4, 8, 12)}
WITHIN = 0.02  # of the beam with F-bar and at least eight cells over its height


def beam() -> int:
    """First bending frequency of the free beam, plane strain, nu = 0.4999; how many limits are missed."""
    expected = beams.timoshenko()
    print(f"beam: nu = {beams.NU:g}, Timoshenko {expected:.3f} Hz\n")
    print(
        "| F-bar | cells over the height | frequency [Hz] | over Timoshenko's | must be | |\n|---|---|---|---|---|---|"
    )
    missed = 0
    for f_bar, resolutions in CELLS.items():
        for cells in resolutions:
            found = beams.bends_at(cells, 0.3, f_bar=f_bar)
            limited = f_bar and cells >= 8
            met = not limited or abs(found / expected - 1) <= WITHIN
            missed += not met
            must = f"1 ± {WITHIN:g}" if limited else ""
            name = "yes" if f_bar else "no"
            verdict = ("met" if met else "MISSED") if limited else ""
            print(
                f"| {name} | {cells} | {found:.3f} | {found / expected:.3f} | {must} | {verdict} |",
                flush=True,
            )
    return missed


def shock() -> int:
    """J and pressure behind a shock beside the jump conditions; how many limits are missed."""
    print("\nshocks: 200 cells, behind the front, over what the jump conditions demand\n")
    print("| material, speed | artificial viscosity | F-bar | J | front | RMS error of p | largest p | |")
    print("|---|---|---|---|---|---|---|---|")
    missed = 0
    for name, material, u in (
        ("gas, 1 c", shocks.GAS, 1.0),
        ("gas, 0.3 c", shocks.GAS, 0.3),
        ("neo-Hookean, 0.5", shocks.RUBBER, 0.5),
    ):
        for viscosity, f_bar in ((None, False), (shocks.USUAL, False), (shocks.USUAL, True)):
            J, x, expected, front, dx = shocks.shock(material, u, viscosity, f_bar=f_bar)
            p = shocks.pressure(material, J) / shocks.pressure(material, expected)[0]
            behind = (x > 4 * dx) & (x < front - 8 * dx)
            mean, reached = J[behind].mean() / expected, x[(1 + expected) / 2 > J].max() / front
            rms = float(np.sqrt(((p[behind] - 1) ** 2).mean()))
            met = viscosity is None or (
                abs(mean - 1) <= (1e-2 if f_bar else 5e-3) and abs(reached - 1) <= 0.015
            )
            missed += not met
            shown = "none" if viscosity is None else "{:g}, {:g}".format(*viscosity)
            verdict = "" if viscosity is None else "met" if met else "MISSED"
            averaged = "yes" if f_bar else "no"
            print(
                f"| {name} | {shown} | {averaged} | {mean:.4f} | {reached:.4f} | {rms:.3f} | {p.max():.2f} "
                f"| {verdict} |",
                flush=True,
            )
    return missed


def main() -> None:
    missed = beam() + shock()
    if missed:
        sys.exit(f"{missed} limits are missed")


if __name__ == "__main__":
    main()
