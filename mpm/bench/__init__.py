"""The speed of this machine, by blocks of each method and by published scenes: ``python -m mpm bench``."""
