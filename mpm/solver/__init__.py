"""What every method has: a clock, particles, totals, a history, checks, and the way to advance."""

from mpm.solver.solver import Solver

__all__ = ["Solver"]
