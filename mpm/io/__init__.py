"""Files: checkpoints, scenes as text, trajectories (VTKHDF), single states in the formats of other programs."""
