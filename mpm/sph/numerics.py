"""The options of `mpm.sph.Simulation` as a table, what they ask of a scene, and the core that has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mpm import _core
from mpm.base import _check
from mpm.base._check import Unset
from mpm.base.options import NEEDED, CoreRows, Flag, option
from mpm.materials import Fluid
from mpm.materials.admission import refuse_varying
from mpm.scene import domain, walls
from mpm.scene.colliders import refuse_restitution
from mpm.scene.scene import Scene
from mpm.scene.waves import refuse_absorbing
from mpm.solver.options import Leaving
from mpm.solver.stepping import refuse_coarse_positions
from mpm.sph import operators

CORE = CoreRows("sph")
OF_VISCOSITY = ("viscosity", "constant_viscosity")  # options that a fluid without a viscosity does not have
RESOLVED = {"float64": 2**-20, "float32": 2**-8}  # spacings: neighbouring numbers may lie that far apart
FEWEST = 4  # smoothing lengths along an axis: a particle and its image have no neighbour twice
REFERENCES = (
    (
        "SPH",
        "Monaghan: Simulating free surface flows with SPH. J. Comput. Phys. 110 (1994) 399-406. "
        "doi:10.1006/jcph.1994.1034",
    ),
    (
        "algorithm",
        "Becker, Teschner: Weakly compressible SPH for free surface flows. Eurographics/ACM SIGGRAPH Symposium on "
        "Computer Animation (2007) 209-217",
    ),
)
WENDLAND = (
    "Wendland: Piecewise polynomial, positive definite and compactly supported radial functions of minimal degree. "
    "Adv. Comput. Math. 4 (1995) 389-396. doi:10.1007/BF02123482"
)
VISCOSITY = {
    "vector": "Morris, Fox, Zhu: Modeling low Reynolds number incompressible flows using SPH. J. Comput. Phys. 136 "
    "(1997) 214-226. doi:10.1006/jcph.1997.5776",
    "central": "Monaghan: Smoothed particle hydrodynamics. Rep. Prog. Phys. 68 (2005) 1703-1759. "
    "doi:10.1088/0034-4885/68/8/R01",
}
REPULSION = (
    "after Monaghan: SPH without a tensile instability. J. Comput. Phys. 159 (2000) 290-311. "
    "doi:10.1006/jcph.2000.6439"
)
XSPH = (
    "Monaghan: On the problem of penetration in particle methods. J. Comput. Phys. 82 (1989) 1-15. "
    "doi:10.1016/0021-9991(89)90032-6"
)


@dataclass(frozen=True, kw_only=True)
class Numerics(Leaving):
    """The rows of the options of `mpm.sph.Simulation`, which explains them."""

    _in_core = CORE

    spacing: float = option(
        NEEDED,
        CORE.number("spacing"),
        "m",
        "distance of particles; the domain must be a whole number",
        viewer=True,
    )
    smoothing: float = option(1.0, CORE.number("smoothing"), "", "smoothing length over spacing", viewer=True)
    kernel: str = option(
        "cubic",
        CORE.choice("kernel"),
        meaning="of the sums",
        viewer=True,
        cites=lambda chosen: [("kernel", WENDLAND)] * (chosen.kernel == "wendland"),
    )
    viscosity: str = option(
        Unset("vector"), CORE.choice("viscosity"), meaning="form of the viscous force", viewer=True
    )
    constant_viscosity: str = option(
        Unset("dynamic"),
        CORE.choice("constant_viscosity"),
        meaning="what does not depend on the density",
        viewer=True,
        left_out="dynamic",
    )
    alpha: float = option(0.0, CORE.number("alpha"), "", "artificial viscosity", viewer=True)
    xsph: float = option(
        0.0,
        CORE.number("xsph"),
        "",
        "share of the neighbours' velocity",
        viewer=True,
        cites=lambda chosen: [("XSPH", XSPH)] * (chosen.xsph > 0),
    )
    repulsion: float = option(
        0.0,
        CORE.number("repulsion"),
        "",
        "of particles that come too close",
        viewer=True,
        left_out=0.0,
        cites=lambda chosen: [("repulsion", REPULSION)] * (chosen.repulsion > 0),
    )
    tension: bool = option(False, Flag(), "", "stretched fluid pulls", viewer=True)

    @classmethod
    def checked(cls, scene: Scene, arguments: Mapping[str, Any]) -> Self:
        """The options of a simulation of the scene; errors name option, value and what is allowed."""
        values = cls._values(scene, arguments)
        spacing = values["spacing"]
        refuse_coarse_positions(scene.lower, scene.upper, spacing, values["dtype"], "spacing", RESOLVED)
        chosen = cls(**values, cells=_cells(scene, spacing, values["smoothing"]))
        refuse_contacts(scene, chosen.tension)
        walls.refuse_periodic_fates(scene.walls, chosen.on_leave)
        return chosen


def _cells(scene: Scene, spacing: float, smoothing: float) -> tuple[int, ...]:
    """Spacings along each axis, a whole number: the lattice of the fluid fits between the walls."""
    counts = domain.counted_cells(
        "spacing", scene.lower, scene.upper, spacing, int(CORE.number("cells").most)
    )
    if min(counts) < FEWEST * smoothing:
        raise ValueError(
            f"spacing = {spacing:g}: the domain has {min(counts)} spacings along an axis; must be >= "
            f"{math.ceil(FEWEST * smoothing)} with smoothing = {smoothing:g}"
        )
    return counts


def refuse_contacts(scene: Scene, tension: bool) -> None:
    """Raise ValueError for walls and colliders that the method cannot have."""
    why = "it acts on rigid bodies, which a fluid by SPH has not"
    refuse_restitution(scene.walls, scene.colliders, why)
    refuse_absorbing(scene, "a fluid by SPH has no nodes at the face for dashpots; mpm.Simulation has")
    surfaces = [(f"walls[{face!r}]", wall.contact, wall.friction) for face, wall in scene.walls.items()]
    surfaces += [(f"collider {one.name!r}", one.contact, one.friction) for one in scene.colliders]
    for name, contact, friction in surfaces:
        if friction:
            raise ValueError(
                f"{name}: friction = {friction:g}: a fluid by SPH has no Coulomb friction; must be 0, or the contact "
                "'sticky', which the viscosity of the fluid acts on"
            )
        if tension and contact == "separate":
            raise ValueError(
                f"{name}: contact = 'separate': with tension=True a fluid pulls at its images and never parts from "
                "them; must be 'slip', 'sticky', 'mirror' or 'periodic', or tension=False"
            )
    for one in scene.colliders:
        if one.shape._only_collides:
            raise ValueError(
                f"collider {one.name!r}: shape = {_check.shown(one.shape)}: changes with time; its particles would "
                "come and go: must be rigid"
            )


def fluid_of(materials: list[Any]) -> Fluid:
    """The one fluid of a scene; its tension does not count, because that of the simulation replaces it."""
    for material in materials:
        if not isinstance(material, Fluid):
            raise ValueError(
                f"material = {material!r}: SPH computes weakly compressible fluids; must be an mpm.materials.Fluid"
            )
        refuse_varying(
            material, "SPH", "the sums over neighbours contain one rest density and one law of pressure"
        )
        if replace(material, tension=True) != replace(materials[0], tension=True):
            raise ValueError(
                f"material = {material!r}: the scene has {materials[0]!r} already; must be the same: the density by "
                "summation is that of one fluid; mpm.Simulation takes several materials"
            )
    fluid: Fluid = materials[0]
    return fluid


def refuse_unused(fluid: Fluid, arguments: Mapping[str, Any]) -> None:
    """Raise ValueError for the form of a viscous force that the fluid does not have."""
    for name in () if fluid.viscosity else OF_VISCOSITY:
        if not isinstance(arguments[name], Unset):
            raise ValueError(
                f"{name} = {_check.shown(arguments[name])}: the fluid has no viscosity, so that nothing uses it; leave "
                "it out, or give Fluid(viscosity=) a number > 0 [Pa s]"
            )


def new_core(scene: Scene, chosen: Numerics, density: float) -> _core.SPH:
    """A core without material, colliders and particles."""
    return _core.SPH(**chosen._for_core(scene), density=density)


def calibration(chosen: Numerics, dimension: int) -> float:
    """The mass of a particle over ρ₀ spacing^d: what gives a full lattice the density ρ₀ by summation."""
    reach = np.arange(-math.ceil(2 * chosen.smoothing), math.ceil(2 * chosen.smoothing) + 1.0)
    r = np.sqrt(sum(x**2 for x in np.meshgrid(*dimension * [reach])))
    return 1 / float(operators.kernel(r, chosen.smoothing, dimension, kind=chosen.kernel).sum())
