"""Files: trajectories (VTKHDF) and single states in the formats of other programs."""
