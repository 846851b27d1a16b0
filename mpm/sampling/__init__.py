"""Particles in shapes: lattices, random and blue-noise samples, the volumes of points."""
