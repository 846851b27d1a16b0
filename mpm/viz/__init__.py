"""Pictures and movies."""
