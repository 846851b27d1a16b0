"""The options of `mpm.fem.Simulation` as a table, and the core that has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mpm import _core
from mpm.base import _check
from mpm.base._check import Unset
from mpm.base.options import CoreRows, Row, option
from mpm.scene.scene import Scene
from mpm.scene.waves import refuse_absorbing, refuse_absorbing_colliders
from mpm.solver.options import Common
from mpm.solver.stepping import refuse_coarse_positions

CORE = CoreRows("fem")
INTEGRATORS = CORE.words("integrator")
REFERENCES = {
    "corotated elements": (
        "Müller, Gross: Interactive virtual materials. Proceedings of Graphics Interface (2004) 239-246"
    ),
    "linear elements": (
        "Zienkiewicz, Taylor, Zhu: The Finite Element Method: Its Basis and Fundamentals, 7th ed. "
        "Butterworth-Heinemann (2013)"
    ),
}
CUNDALL = (
    "Cundall: Distinct element models of rock and soil structure. In: Brown (ed.), Analytical and Computational "
    "Methods in Engineering Rock Mechanics (1987) 129-163"
)
IMPLICIT = "Baraff, Witkin: Large steps in cloth simulation. Proceedings of SIGGRAPH (1998) 43-54"


def _damping(row: Row, value: object, others: Mapping[str, Any]) -> tuple[float, float]:
    given = _check.array("damping", value, (2,))
    if (given < 0).any():
        raise ValueError(f"damping = {_check.shown(value)}: must be two numbers >= 0, (a [1/s], b [s])")
    return float(given[0]), float(given[1])


@dataclass(frozen=True, kw_only=True)
class Options(Common):
    """The rows of the options of `mpm.fem.Simulation`, which explains them."""

    _in_core = CORE

    spacing: float = option(None, CORE.number("spacing", none=0.0), "m", "size of cells", viewer=True)
    integrator: str = option(
        "symplectic-euler",
        CORE.choice("integrator"),
        meaning="how a step advances time",
        cites=lambda chosen: [("linearly implicit steps", IMPLICIT)] * (chosen.integrator != INTEGRATORS[0]),
    )
    tolerance: float = option(
        Unset(1e-6),
        CORE.number("tolerance"),
        meaning="residual of the solve over the first one",
        users=("integrator", INTEGRATORS[1:]),
    )
    max_iterations: int = option(
        Unset(2000),
        CORE.number("max_iterations"),
        meaning="of the conjugate gradients",
        users=("integrator", INTEGRATORS[1:]),
    )
    damping: tuple[float, float] = option(
        (0, 0), _damping, meaning="a [1/s] and b [s] of Rayleigh's a M + b K"
    )
    local_damping: float = option(
        0.0,
        CORE.number("local_damping"),
        meaning="share of the force out of balance that is lost",
        left_out=0.0,
        cites=lambda chosen: [("local damping", CUNDALL)] * bool(chosen.local_damping),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.local_damping and self.integrator != INTEGRATORS[0]:
            raise ValueError(
                f"local_damping = {self.local_damping:g}: integrator={self.integrator!r} does not use it, only "
                f"{INTEGRATORS[0]!r}; leave it out"
            )

    @classmethod
    def checked(cls, scene: Scene, arguments: Mapping[str, Any]) -> Self:
        """The options of a simulation of the scene; errors name option, value and what is allowed. The spacing is 0
        where the cells of the bodies give it."""
        chosen = cls(**cls._values(scene, arguments))
        refuse_absorbing_colliders(
            scene, "elements end at their own faces; an absorbing wall lets their waves out"
        )
        if chosen.integrator != INTEGRATORS[0]:
            refuse_absorbing(scene, "implicit steps have no dashpots, and damp waves by themselves")
        if chosen.spacing:
            chosen.refuse_coarse(scene)
        return chosen

    @classmethod
    def restored(cls, scene: Scene, entries: Mapping[str, Any]) -> Self:
        """The options that a file keeps. Older versions kept 0 as the automatic time step, and options that explicit
        steps do not use."""
        given = {**entries, "dt": entries.get("dt") or "auto"}
        if given.get("integrator") == INTEGRATORS[0]:
            given = {
                name: value for name, value in given.items() if name not in ("tolerance", "max_iterations")
            }
        return super().restored(scene, given)

    def refuse_coarse(self, scene: Scene) -> None:
        """Raise ValueError where the precision resolves no positions in cells of that size."""
        refuse_coarse_positions(scene.lower, scene.upper, self.spacing, self.dtype, "spacing")


def new_core(scene: Scene, chosen: Options) -> _core.FEM:
    """A core without materials, colliders and nodes."""
    return _core.FEM(**chosen._for_core(scene), upper=scene.upper.tolist())
