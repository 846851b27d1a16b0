"""The header for compilers of users' laws: see `mpm.get_include`."""
