"""References of the methods; `Simulation.cite` picks those in use."""

from __future__ import annotations

from collections.abc import Iterable

from mpm.materials import Material

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

COLLISIONS = (
    "Stomakhin, Schroeder, Chai, Teran, Selle: A material point method for snow simulation. "
    "ACM Trans. Graph. 32(4) (2013) 102. doi:10.1145/2461912.2461948"
)

TRANSFER = {"apic": (("transfer APIC", APIC), ("angular momentum of APIC", APIC_MOMENTUM))}
GRADIENT = {"mls": (("MLS-MPM forces", MLS_MPM),)}


def cite(transfer: str, gradient: str, materials: Iterable[Material], *, collides: bool = False) -> str:
    """One line per reference, each with what it is cited for."""
    entries = [("Material Point Method", MPM), *GRADIENT[gradient], *TRANSFER[transfer]]
    for material in materials:
        entry = (type(material).__name__, material.reference)
        if entry not in entries:
            entries.append(entry)
    if collides:
        entries.append(("colliders", COLLISIONS))
    return "\n".join(f"{purpose}: {reference}" for purpose, reference in entries)
