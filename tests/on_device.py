"""``pytest --device emulated``: tests that know of no device run on one (CONTRIBUTING.md).

`mpm.Simulation` and what reads files get another default of ``device``. A test whose scene or option the device refuses
by name is skipped; the summary tells how many tests each refusal has skipped.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import emulated_device  # noqa: F401  # makes the device known
import loops
import mpm
from mpm import _core
from mpm.io import checkpoint
from mpm.solver.run import STEPS_MAX

ISA = _core.isas()[-1]
OTHERS = {
    "test_a_pickle_holds_the_bytes_of_a_checkpoint": "a pickle also tells the device",
    "test_saving_and_loading_take_little_memory": "the memory of the emulated device is that of the processor",
}
"""Tests of the processor alone, and why."""
LONG = 600
"""Steps of a test at most: one of a single particle takes the emulation 9 ms. Longer ones are skipped."""
SHORTER = {"test_conservation": {"STEPS": 220, "FEWER": 220, "CROSSED": 1}}
"""What modules of tests name otherwise on a device, so that they are not too long."""


def _skipping(call: Callable[..., Any]) -> Callable[..., Any]:
    """The call, which skips the test where a device refuses something."""

    @functools.wraps(call)
    def called(*arguments: Any, **options: Any) -> Any:
        try:
            return call(*arguments, **options)
        except NotImplementedError as error:
            what, is_refusal, _ = str(error).partition(": device = ")
            if not is_refusal:
                raise
            pytest.skip(f"device: {what}")

    return called


class Steps:
    """Counts the steps of every test, and skips those that take too many. A plugin of pytest."""

    def __init__(self) -> None:
        self._taken = 0

    def pytest_runtest_setup(self) -> None:
        self._taken = 0

    def counting(self, advance: Callable[..., None]) -> Callable[..., None]:
        """`mpm.Simulation._advance`, which counts."""

        @functools.wraps(advance)
        def counted(sim: mpm.Simulation, *, steps: int = STEPS_MAX, **goal: Any) -> None:
            if self._taken + (steps if steps < STEPS_MAX else 0) > LONG:
                pytest.skip(f"device: more than {LONG} steps")
            begun = sim.steps
            try:
                advance(sim, steps=steps, **goal)
            finally:
                self._taken += sim.steps - begun

        return counted


def use(device: str, plugins: pytest.PytestPluginManager) -> None:
    """Make a device the default, and tests short."""
    loops.shortened = True
    steps = Steps()
    plugins.register(steps)
    mpm.Simulation._advance = steps.counting(mpm.Simulation._advance)  # type: ignore[method-assign]
    begin, made = mpm.Simulation.__init__, checkpoint._made

    @functools.wraps(begin)
    def begun(self: mpm.Simulation, scene: Any, *rest: Any, **options: Any) -> None:
        begin(self, scene, *rest, **{"device": device} | options)

    @functools.wraps(made)
    def moved(tree: Any, *rest: Any) -> Any:
        own = device if tree.get("kind") == "simulation" and rest[-1] == "cpu" else rest[-1]
        return made(tree, *rest[:-1], own)

    mpm.Simulation.__init__ = _skipping(begun)  # type: ignore[method-assign]
    checkpoint._made = _skipping(moved)
    for name in ("add", "add_collider", "equilibrate", "set"):
        setattr(mpm.Simulation, name, _skipping(getattr(mpm.Simulation, name)))


LAWS = ("neo_hookean", "fluid", "sand")
"""Those whose tests are not slow on a device: libraries of the others take seconds each to compile."""


PAIRS = ((2, "float32"), (3, "float64"))
"""Dimensions and precisions of tests that take all of them."""


def choose(items: list[pytest.Item]) -> list[pytest.Item]:
    """Take out OTHERS, and the tests that differ from others by the kernels of the processor alone, or by their
    dimension and precision alone; return them. Mark those of laws that are not among LAWS as slow."""
    for module in {item.module for item in items if isinstance(item, pytest.Function)}:
        for name, value in SHORTER.get(module.__name__, {}).items():
            setattr(module, name, value)
    parameters = [(getattr(item, "callspec", None) and item.callspec.params) or {} for item in items]
    left = [
        item
        for item, found in zip(items, parameters, strict=True)
        if found.get("isa", ISA) != ISA
        or item.name.partition("[")[0] in OTHERS
        or ({"dim", "dtype"} <= found.keys() and (found["dim"], found["dtype"]) not in PAIRS)
    ]
    for item, found in zip(items, parameters, strict=True):
        if found.get("law", LAWS[0]) not in LAWS:
            item.add_marker(pytest.mark.slow)
    items[:] = [item for item in items if item not in left]
    return left
