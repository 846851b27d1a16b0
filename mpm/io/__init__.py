"""Files: checkpoints of the complete state, and scenes as text."""
