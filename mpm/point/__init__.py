"""The material point: laws without a grid, along a prescribed path of strain or stress.

The driver runs the C code of the step: it advances F, applies the law's return map and evaluates the stress.

>>> import mpm
>>> sand = mpm.materials.Sand(E=1e6, nu=0.3, friction_angle_deg=30)
>>> test = mpm.point.triaxial(sand, confinement=1e4, axial_strain=0.1)
>>> round(float(test.q[-1] / test.p[-1]), 6)  # 6 sin φ/(3 − sin φ)
1.2
>>> round(test.critical_state().ratio, 6)
1.2

A law may be written in Python here: an object with ``energy(F)``, which takes deformation gradients (m, 3, 3) and
returns energies per rest volume (m,) [J/m³], or with ``stress(F)``, which returns first Piola–Kirchhoff stresses (m, 3,
3) [Pa]. A `Simulation` does not accept laws in Python.

>>> import numpy as np
>>> class Hencky:
...     def energy(self, F):
...         e = np.log(np.linalg.svd(F)[1])
...         return 4e5 * (e**2).sum(axis=1) + 3e5 * e.sum(axis=1) ** 2
>>> test = mpm.point.uniaxial_stress(Hencky(), stretch=1.2)
>>> round(float(test.axial_stress[-1] * test.J[-1]))  # E ln 1.2, with μ = 4e5 and λ = 6e5
189614

``test.plot("p", "q")`` draws the path of stress. Stresses are positive in tension and in Pa; `Response.p` is positive
in compression. The axes are x, y, z; the named tests load along x.
"""

from __future__ import annotations

from mpm.point.driver import drive
from mpm.point.fitting import Fit, fit
from mpm.point.laboratory import creep, oedometer, relaxation, simple_shear, triaxial, uniaxial_stress
from mpm.point.response import CriticalState, Response

__all__ = [
    "CriticalState",
    "Fit",
    "Response",
    "creep",
    "drive",
    "fit",
    "oedometer",
    "relaxation",
    "simple_shear",
    "triaxial",
    "uniaxial_stress",
]
