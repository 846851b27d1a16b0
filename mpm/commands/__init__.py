"""The command line: ``python -m mpm``."""
