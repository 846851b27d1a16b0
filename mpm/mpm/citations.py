"""References of what the options of `mpm.Simulation` choose; `Simulation.cite` lists those in use."""

from __future__ import annotations

from collections.abc import Iterable

from mpm.materials.laws import registry

MPM = (
    "Sulsky, Chen, Schreyer: A particle method for history-dependent materials. "
    "Comput. Methods Appl. Mech. Eng. 118 (1994) 179-196. doi:10.1016/0045-7825(94)90112-0"
)
MLS_MPM = (
    "Hu, Fang, Ge, Qu, Zhu, Pradhana, Jiang: A moving least squares material point method with displacement "
    "discontinuity and two-way rigid body coupling. ACM Trans. Graph. 37(4) (2018) 150. "
    "doi:10.1145/3197517.3201293"
)
APIC = (
    "Jiang, Schroeder, Selle, Teran, Stomakhin: The affine particle-in-cell method. "
    "ACM Trans. Graph. 34(4) (2015) 51. doi:10.1145/2766996"
)
APIC_MOMENTUM = (
    "Jiang, Schroeder, Teran: An angular momentum conserving affine-particle-in-cell method. "
    "J. Comput. Phys. 338 (2017) 137-164. doi:10.1016/j.jcp.2017.02.050"
)

PIC = (
    "Harlow: The particle-in-cell computing method for fluid dynamics. Methods in Computational Physics 3 (1964) "
    "319-343"
)
FLIP = (
    "Brackbill, Ruppel: FLIP: a method for adaptively zoned, particle-in-cell calculations of fluid flows in two "
    "dimensions. J. Comput. Phys. 65 (1986) 314-343. doi:10.1016/0021-9991(86)90211-1"
)
SNOW = registry()["snow"]["reference"]
ASFLIP = (
    "Fei, Guo, Wu, Huang, Gao: Revisiting integration in the material point method: a scheme for easier separation "
    "and less dissipation. ACM Trans. Graph. 40(4) (2021) 109. doi:10.1145/3450626.3459678"
)
XPIC = (
    "Hammerquist, Nairn: A new method for material point method particle updates that reduces noise and enhances "
    "stability. Comput. Methods Appl. Mech. Eng. 318 (2017) 724-738. doi:10.1016/j.cma.2017.01.035"
)
TPIC = (
    "Nakamura, Matsumura, Mizutani: Taylor particle-in-cell transfer and kernel correction for material point "
    "method. Comput. Methods Appl. Mech. Eng. 403 (2023) 115720. doi:10.1016/j.cma.2022.115720"
)
BSPLINE = (
    "Steffen, Kirby, Berzins: Analysis and reduction of quadrature errors in the material point method (MPM). "
    "Int. J. Numer. Methods Eng. 76 (2008) 922-948. doi:10.1002/nme.2360"
)

TRANSFER = {
    "pic": (("transfer PIC", PIC),),
    "flip": (("transfer FLIP", FLIP), ("blend of PIC and FLIP", SNOW)),
    "apic": (("transfer APIC", APIC), ("angular momentum of APIC", APIC_MOMENTUM)),
    "aflip": (("affine velocity", APIC), ("transfer AFLIP", ASFLIP)),
    "asflip": (("affine velocity", APIC), ("transfer ASFLIP", ASFLIP)),
    "xpic": (("transfer XPIC", XPIC),),
    "tpic": (("transfer TPIC", TPIC),),
}
GRADIENT = {"mls": (("MLS-MPM forces", MLS_MPM),), "bspline": (("B-spline kernels", BSPLINE),)}

DAMPING = ("damping of the affine velocity (RPIC)", APIC)
LOCAL_DAMPING = (
    "local damping",
    "Cundall: Distinct element models of rock and soil structure. In: Brown (ed.), Analytical and Computational "
    "Methods in Engineering Rock Mechanics (1987) 129-163",
)
F_BAR_AVERAGE = (
    "de Souza Neto, Perić, Dutko, Owen: Design of simple low order finite elements for large strain analysis of nearly "
    "incompressible solids. Int. J. Solids Struct. 33 (1996) 3277-3296. doi:10.1016/0020-7683(95)00259-6"
)
F_BAR_OF_INCREMENTS = (
    "Coombs, Charlton, Cortis, Augarde: Overcoming volumetric locking in material point methods. "
    "Comput. Methods Appl. Mech. Eng. 333 (2018) 1-21. doi:10.1016/j.cma.2018.01.010"
)
F_BAR = (("F-bar", F_BAR_AVERAGE), ("F-bar of increments", F_BAR_OF_INCREMENTS))
ARTIFICIAL_VISCOSITY = (
    "artificial viscosity",
    "von Neumann, Richtmyer: A method for the numerical calculation of hydrodynamic shocks. "
    "J. Appl. Phys. 21 (1950) 232-237. doi:10.1063/1.1699639",
)

DENSITY_CORRECTION = (
    (
        "loss of volume in particle-in-cell methods",
        "Kugelstadt, Longva, Thuerey, Bender: Implicit density projection for volume conserving liquids. "
        "IEEE Trans. Vis. Comput. Graph. 27 (2021) 2385-2395. doi:10.1109/TVCG.2019.2947437",
    ),
)

_STEPS = {
    "semi-implicit": SNOW,
    "implicit-euler": (
        "Gast, Schroeder, Stomakhin, Jiang, Teran: Optimization integrator for large time steps. "
        "IEEE Trans. Vis. Comput. Graph. 21 (2015) 1103-1115. doi:10.1109/TVCG.2015.2459687"
    ),
    "implicit-midpoint": (
        "Hairer, Lubich, Wanner: Geometric Numerical Integration, 2nd ed. Springer (2006). doi:10.1007/3-540-30666-8"
    ),
}
INTEGRATOR = {"explicit": (), **{name: ((f"{name} time steps", text),) for name, text in _STEPS.items()}}
COLLIDERS = ("colliders", SNOW)


def listed(entries: Iterable[tuple[str, str]]) -> str:
    """One line per reference, each with all that it is cited for."""
    purposes: dict[str, dict[str, None]] = {}  # in order of first use
    for purpose, reference in entries:
        purposes.setdefault(reference, {})[purpose] = None
    return "\n".join(f"{', '.join(names)}: {reference}" for reference, names in purposes.items())
