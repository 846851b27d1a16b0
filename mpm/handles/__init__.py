"""What users hold beside a simulation: replays of recordings, exports."""
