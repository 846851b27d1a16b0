"""Plots with Matplotlib: what a run has recorded, and quantities along lines and in slices. Needs the extra ``plot``.

>>> import mpm
>>> sim = mpm.gallery.get("jelly").simulation()
>>> sim.run(0.01)
>>> lines = mpm.plot.history(sim, ["kinetic", "momentum_y"])
>>> line = mpm.plot.field(sim, "pressure", x=0.3)

`Simulation.plot` draws the particles; `mpm.compare_plot` draws several values of a parameter side by side.
"""

from __future__ import annotations

from mpm.base import advice
from mpm.viz.curves import history
from mpm.viz.sections import field

__all__ = ["field", "history"]

__dir__, __getattr__ = advice.names_of_module(__name__, __all__)
