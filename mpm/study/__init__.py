"""Runs beside each other, and what a run conserves."""
