"""Constitutive laws: one frozen dataclass each, in SI units.

The C core holds the parameters, their ranges and the laws; `mpm.materials.laws` checks parameters by its registry, and
`Material.stress` runs the code of the step. A 2-D body is in plane strain.

Strengths, such as ``yield_stress``, ``cohesion``, ``tension`` and ``preconsolidation``, bound the Kirchhoff stress τ =
J σ with the volume ratio J, because laws work per volume at rest. Fields of the history such as ``yield_pressure`` are
Kirchhoff stresses, too. Only `JohnsonCook` bounds the Cauchy stress σ. The stresses that tests of `mpm.point` prescribe
and that ``sim.compute("stress")`` returns are Cauchy stresses.

Every parameter that is one number may vary over the particles of a body: it is an array, shape (n,), in the order of
the body's particles, or a function f(x) of positions (n, d) that returns (n,) values. Flags, choices, limits and
directions have one value, and so have the ``tension`` of `DruckerPrager` and four numbers of `JohnsonCook`; the error
names those that may vary. The simulation evaluates a parameter once, where the particles begin, and keeps it in a live
field of the parameter's name, such as ``sim.particles["E"]``; the field is NaN for particles of other materials. A
density is in the masses instead. Where a field of the history begins with a parameter, that field varies too; writing
to the parameter later does not begin it anew. The bound of the time step counts every particle with its own values.
`mpm.Simulation` takes such materials; a run takes 1.5 to 3.5 times as long with explicit steps in double precision, 2
to 7 times in single precision, and less with implicit ones. `mpm.fem.Simulation` takes them with a value for each
element: the function is evaluated at the centroids, ``sim.elements["E"]`` is the field, and a run takes as long as with
one value. `UserLaw` takes numbers; its function may read what varies from a field of its history.

>>> graded = mpm.materials.NeoHookean(E=lambda x: 1e5 * (1 + x[:, 0]), nu=0.3, density=1000)
>>> graded.at(x=(0.5, 0)).E
150000.0
"""

from __future__ import annotations

from mpm.base import advice
from mpm.materials import hardening
from mpm.materials.brittle import Brittle, Weibull
from mpm.materials.elastic import (
    Corotated,
    FixedCorotated,
    Fluid,
    Hencky,
    HerschelBulkley,
    MooneyRivlin,
    NeoHookean,
    SaintVenantKirchhoff,
    Viscoelastic,
)
from mpm.materials.known import Known, catalogue
from mpm.materials.laws import Material
from mpm.materials.metals import JohnsonCook, VonMises
from mpm.materials.rigid import Rigid
from mpm.materials.rubber import FibreReinforced, Ogden
from mpm.materials.snow import SNOW_PRESETS as SNOW_PRESETS
from mpm.materials.snow import Snow
from mpm.materials.soils import NACC, CamClay, DruckerPrager, MohrCoulomb, MuI, Sand
from mpm.materials.userlaws import HistoryField, UserLaw

__all__ = [
    "NACC",
    "Brittle",
    "CamClay",
    "Corotated",
    "DruckerPrager",
    "FibreReinforced",
    "FixedCorotated",
    "Fluid",
    "Hencky",
    "HerschelBulkley",
    "HistoryField",
    "JohnsonCook",
    "Material",
    "MohrCoulomb",
    "MooneyRivlin",
    "MuI",
    "NeoHookean",
    "Ogden",
    "Rigid",
    "SaintVenantKirchhoff",
    "Sand",
    "Snow",
    "UserLaw",
    "Viscoelastic",
    "VonMises",
    "Weibull",
    "hardening",
    "library",
]

__dir__, __getattr__ = advice.names_of_module(__name__, __all__, advice.OF_MATERIALS)


def library() -> dict[str, Known]:
    """Materials of the real world: steel, copper, aluminium, rubber, gelatine, water, honey, dry and wet sand, clays,
    snows and concrete.

    Each entry has the ``material``, a ``description`` and the ``sources`` of all its numbers, with the range where they
    vary. They are starting points: measure, or look up, what your result depends on. A source that begins with
    "typical value" was not compared with the publication that it may name.

    Examples
    --------
    >>> steel = mpm.materials.library()["steel"]
    >>> print(steel)
    VonMises: structural steel S235 up to 40 mm; without its hardening
      E = 2.1e+11: EN 1993-1-1:2005, 3.2.6
      nu = 0.3: EN 1993-1-1:2005, 3.2.6
      yield_stress = 2.35e+08: EN 1993-1-1:2005, table 3.1; S355 has 355 MPa
      density = 7850: EN 1991-1-1:2002, annex A, table A.4: 77.0 to 78.5 kN/m3
    """
    return catalogue({name: kind for name, kind in globals().items() if isinstance(kind, type)})
