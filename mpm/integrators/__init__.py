"""Integrators of ordinary differential equations: the methods behind simulations, applied to small systems.

>>> from mpm import integrators
>>> x, v = integrators.TwoBody((1, 1)).orbit(eccentricity=0.5)
>>> run = integrators.integrate(integrators.TwoBody((1, 1)), x, v, method="verlet", dt=0.01, steps=1000)
>>> run.times.shape, run.x.shape, run.energy.shape
((1001,), (1001, 2, 2), (1001,))

`integrate` advances systems M dv/dt = f(x, v, t), dx/dt = v; `advect` moves points with a velocity field. Steps run in
C, except for the functions of a `System` or a field in Python. `methods` is the registry of the formulas; `table`
measures them.
"""

from __future__ import annotations

from mpm.base import advice
from mpm.integrators.fields import Rotation, Shear, VortexPair
from mpm.integrators.measures import OscillatorRun, Row, Table, oscillator, table
from mpm.integrators.runs import Method, Path, Trajectory, advect, integrate, methods
from mpm.integrators.systems import MassSpring, Oscillator, System, TwoBody

__all__ = [
    "MassSpring",
    "Method",
    "Oscillator",
    "OscillatorRun",
    "Path",
    "Rotation",
    "Row",
    "Shear",
    "System",
    "Table",
    "Trajectory",
    "TwoBody",
    "VortexPair",
    "advect",
    "integrate",
    "methods",
    "oscillator",
    "table",
]

__dir__, __getattr__ = advice.names_of_module(__name__, __all__)
