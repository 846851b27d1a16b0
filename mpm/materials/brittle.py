"""Solids that crack, and strengths that vary as those of flawed solids do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mpm.base import _check, advice
from mpm.base._check import FloatArray
from mpm.materials.bands import _Banded
from mpm.materials.laws import Material, _Elastic
from mpm.materials.solute import Solute
from mpm.materials.thermal import Thermal


@_check.strict_options(hints=advice.OF_MODULI)
@dataclass(frozen=True, kw_only=True, slots=True)
class Brittle(_Banded, _Elastic):
    """A solid that cracks where a principal stress reaches its tensile strength: glass, concrete, rock, ice, biscuit.

    Stress follows `Hencky` until the largest principal stress τ₁ reaches the tensile strength f_t (Rankine). From then
    on ``particles.damage``, ω from 0 to 1, takes the share ω of the stiffness in tension along the principal axes: with
    r = max τ₁/((1 − ω) f_t) over time, 1 − ω = exp(−(r − 1)/r_f)/r. The stress in a bar falls as f_t exp(−(r − 1)/r_f),
    r = E ε/f_t. Compression is not weakened, so that cracks which have closed carry it in full, and shear as well:
    without `faces`, cracks do not slide. Damage does not heal.

    A crack is a band of damaged particles l_c wide, and r_f = E G_f/(l_c f_t²) − ½ lets it dissipate the fracture
    energy G_f per area, whatever the cell size (crack band). l_c is 2 dx with the quadratic kernel, the width of
    material that a crack between two nodes strains. How much of it breaks depends on where nodes and particles lie: a
    bar that is pulled apart dissipates 0.7 to 1.3 G_f A. A dx of E G_f/f_t² or more is too coarse, and raises. The
    damage shows the cracks; `mpm.fragments` finds the pieces.

    With ``faces=True``, nodes near a crack have a velocity for each of its sides, told by the gradient of the damage:
    faces separate and slide where both have particles with 0.01 f_t left. Pieces touch as bodies do (`mpm.Contact`),
    and ``history["friction_work"]`` counts their friction. All Brittle bodies of a scene share the sides, and so have
    faces with one friction, or none has. Contact between bodies, rigid bodies, fluids, heat, mirrors, periodic walls,
    F-bar and XPIC raise beside them.

    Damage begins with the next step. The books count its dissipation as plastic (``dissipation=True``). Where less than
    0.001 f_t is left, F keeps its principal stretches at most e: pieces may be farther apart. Steps are explicit:
    softening has no positive definite tangent. In 2-D, a body is in plane strain.

    Parameters
    ----------
    E : float
        Young's modulus [Pa], > 0.
    nu : float
        Poisson's ratio, >= 0 and < 0.5; a warning above 0.49.
    density : float
        Initial density [kg/m³], > 0.
    tensile_strength : float
        f_t [Pa], > 0. `Weibull` lets it vary.
    fracture_energy : float
        G_f [J/m²], > 0.
    crack_band : float, optional
        l_c [m], > 0; default None: 1, 2 or 2.5 dx with the linear, quadratic or cubic kernel. 2 E G_f/f_t² or more
        raises. Tests of `mpm.point`, which have no grid, need a number.
    faces : bool, optional
        Do the faces of a crack separate and slide? Default False: they stay in one velocity field, and separate where
        no particles are within the kernel.
    friction : float, optional
        Coulomb's coefficient of these faces, >= 0; default 0.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    Bažant, Oh: Crack band theory for fracture of concrete. Materials and Structures 16 (1983) 155-177.
    Homel, Herbold: Field-gradient partitioning for fracture and frictional contact in the material point method.
    Int. J. Numer. Methods Eng. 109 (2017) 1013-1044.
    Ladevèze, Lemaitre: Damage effective stress in quasi unilateral conditions. IUTAM Congress, Lyngby, 1984.
    """

    law: ClassVar[str] = "brittle"
    _weaker: ClassVar[str] = "tensile_strength"

    E: float
    nu: float
    density: float
    tensile_strength: float
    fracture_energy: float
    crack_band: float | None = None
    faces: bool = False
    friction: float = 0.0
    thermal: Thermal | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        object.__setattr__(self, "faces", _check.flag("faces", self.faces))
        object.__setattr__(self, "friction", _check.number("friction", self.friction, low=0))
        if self.friction and not self.faces:
            raise ValueError(
                f"friction = {self.friction:g}: acts on the faces of cracks, which faces = False has not; set "
                "faces=True, or leave it out"
            )
        self._check_band()

    def return_map(
        self, F: npt.ArrayLike, history: Any = None, *, dt: float = 0.0
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Let trial states crack, with the C code of the step; `crack_band` must be a number.

        Parameters
        ----------
        F : array_like, shape (m, d, d)
            Trial deformation gradients, d = 2 (plane strain) or 3.
        history : mapping, optional
            ``damage`` (m,); left out, it is 0.
        dt : float, optional
            Has no effect: damage does not depend on the rate.

        Returns
        -------
        F : ndarray, shape (m, d, d)
            Deformation gradients; others than before only where a broken particle is longer than e.
        history : dict
            The damage after the step.

        Raises
        ------
        TypeError, ValueError
            F, the history or dt has another shape or range, or is not finite; or `crack_band` is None.
        """
        return _Banded.return_map(self, F, history, dt=dt)


@dataclass(frozen=True, slots=True)
class Weibull:
    """A strength that varies as that of flawed solids does: ``tensile_strength=mpm.materials.Weibull(3e6, 10, 0.01)``.

    The strength is constant in each cube of a lattice of side `length` (square in 2-D), and independent of that of the
    others: s (−ln(1 − U))^(1/m), with U uniform in (0, 1). It depends on the position alone, so that it is the same for
    every cell size and sampling.

    Parameters
    ----------
    scale : float
        s [Pa], > 0: the strength that the share 1/e of the cubes exceeds.
    modulus : float
        m, >= 1: 5 to 15 for glass and ceramics, 10 to 25 for concrete. The coefficient of variation is about 1.2/m.
    length : float
        Side of the cubes [m], > 0. Make it at least as long as a cell.
    seed : int, optional
        >= 0, default 0.

    References
    ----------
    Weibull: A statistical distribution function of wide applicability. J. Appl. Mech. 18 (1951) 293-297.

    Examples
    --------
    >>> strength = mpm.materials.Weibull(3e6, 10, 0.01)
    >>> import numpy as np
    >>> values = strength(np.random.default_rng(0).uniform(0, 5, (20000, 2)))
    >>> round(float((values > 3e6).mean()), 2)
    0.37
    """

    scale: float
    modulus: float
    length: float
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low, unit in (("scale", 0.0, "Pa"), ("modulus", 1.0, ""), ("length", 0.0, "m")):
            number = _check.number(name, getattr(self, name), low=low, low_open=not low, unit=unit)
            object.__setattr__(self, name, number)
        object.__setattr__(self, "seed", _check.integer("seed", self.seed, low=0, high=2**32 - 1))

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """The strengths at positions.

        Parameters
        ----------
        x : array_like, shape (n, d)
            Positions [m].

        Returns
        -------
        ndarray, shape (n,)
            Strengths [Pa].

        Raises
        ------
        TypeError, ValueError
            x has another shape, or is not finite.
        """
        points = _check.array("x", x, (None, None))
        mixed = np.full(len(points), self.seed, dtype=np.uint64)
        for axis in points.T:
            cube = np.floor(axis / self.length).astype(np.int64).view(np.uint64)
            mixed = _scrambled(mixed * np.uint64(0x9E3779B97F4A7C15) + cube)
        share = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54  # in (0, 1)
        return np.asarray(self.scale * (-np.log(share)) ** (1 / self.modulus))


def _scrambled(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The mixing function of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014), one to one."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
