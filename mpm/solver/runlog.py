"""The log of runs: the logger ``mpm`` of Python's `logging`, at the level INFO."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpm.solver.core import Core

LOG = logging.getLogger("mpm")


@contextmanager
def logged(core: Core, end: float) -> Iterator[None]:
    """Log a run to the time `end` when it begins, and when it ends or fails."""
    if not LOG.isEnabledFor(logging.INFO):
        yield
        return
    steps, start, clock = core.steps, core.time, time.perf_counter()
    LOG.info(
        "run from t = %.6g s to %.6g s, %d particles, %d threads", start, end, core.particles, core.threads
    )
    try:
        yield
    except BaseException as error:
        LOG.info("run failed at t = %.6g s after %d steps: %s", core.time, core.steps - steps, error)
        raise
    taken, seconds = core.steps - steps, time.perf_counter() - clock
    rate = taken * core.particles / max(seconds, 1e-9) / 1e6
    LOG.info(
        "run ended at t = %.6g s: %d steps of %.3g s on average, %.3g s, %.3g million particle-steps/s",
        core.time, taken, (core.time - start) / max(taken, 1), seconds, rate,
    )  # fmt: skip
