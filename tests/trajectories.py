"""Runs that are recorded: what the tests of recording and of replaying share."""

import scenes


def make(dim, dtype="float64", **numerics):
    return scenes.three_materials(dim, 32 if dim == 2 else 12, dtype=dtype, **numerics)
