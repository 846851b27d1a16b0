"""Random generators in files: those of NumPy, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mpm.base import _check
from mpm.io.description import Reader, Tree, Writer, mapping

GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
# Where these point to: what NumPy takes on trust.
POSITIONS = {"pos": 624, "buffer_pos": 4, "has_uint32": 1, "uinteger": 2**32 - 1}


def check(rng: np.random.Generator) -> None:
    """Refuse a generator that a file cannot keep."""
    kind = type(rng.bit_generator)
    if kind.__name__ not in GENERATORS or kind is not getattr(np.random, kind.__name__):
        raise TypeError(
            f"rng = {_check.shown(rng)}: a file keeps {', '.join(GENERATORS)} of numpy.random only"
        )


def describe(rng: np.random.Generator, writer: Writer) -> Tree:
    """The state of a generator."""

    def described(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: described(entry) for key, entry in value.items()}
        if isinstance(value, np.ndarray):
            return writer.array(value)
        return value if isinstance(value, str) else int(value)

    tree: Tree = described(rng.bit_generator.state)
    return tree


def restore(tree: object, reader: Reader) -> np.random.Generator:
    """The generator again; a ValueError, TypeError or KeyError if it makes no sense."""
    given = mapping(tree, "rng")
    name = _check.choice("bit_generator", given["bit_generator"], GENERATORS)
    generator = getattr(np.random, name)(0)

    def checked(value: Any, like: Any, key: str) -> Any:
        """Check a value of a state, because NumPy accepts any state unchecked."""
        if isinstance(like, Mapping):
            entries = mapping(value, key)
            if entries.keys() != like.keys():
                raise ValueError(f"rng: {key} has other entries than a {name}")
            return {inner: checked(entries[inner], like[inner], inner) for inner in like}
        if isinstance(like, np.ndarray):
            array = reader.value(value)
            if not isinstance(array, np.ndarray) or (array.dtype, array.shape) != (like.dtype, like.shape):
                raise ValueError(f"rng: {key} is not what a {name} has")
            return array
        if isinstance(like, str):
            return name
        return _check.integer(key, value, low=0, high=POSITIONS.get(key, 2**128 - 1))

    generator.state = checked(given, generator.state, "state")
    return np.random.Generator(generator)
