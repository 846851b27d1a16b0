"""How much simulated time a frame is, so that a scene plays at a natural speed."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from mpm.solver.source import Running

CROSSING = 45  # frames in which a body falls or flies through the domain: one and a half seconds of them
FPS = 30.0  # of a run, shown at its own speed
SLOWEST, FASTEST = 10.0, 60.0  # frames per second at which anything is shown at its own speed
STEPS = 10  # of a scene in which nothing moves yet


def clamped(fps: float) -> float:
    """The frames per second at which something that asks for `fps` is shown."""
    return min(max(fps, SLOWEST), FASTEST)


def natural_span(run: Running) -> float:
    """The simulated time between frames [s]: a 45th of the time in which material crosses the domain, falling by
    gravity or flying at the largest velocity of particles and colliders; 1, 2 or 5 times a power of ten."""
    scene, begin = run.scene, run.time
    longest = float((scene.upper - scene.lower).max())
    g = float(np.linalg.norm(scene.gravity))
    speeds = [0.0]
    if "v" in run.particles.fields:
        v = np.asarray(run._state(("v",)).fields["v"], dtype=np.float64)
        speeds.append(float(np.sqrt((v**2).sum(axis=1).max(initial=0))))
    for collider in scene.colliders:
        if collider.motion is not None:
            speeds.append(float(collider.motion._fastest(begin, np.eye(scene.dimension) * longest / 4)))
    fastest = max(speed for speed in speeds if math.isfinite(speed))
    times = [math.sqrt(2 * longest / g)] if g > 0 else []
    times += [longest / fastest] if fastest > 0 else []
    if times and 0 < min(times) < math.inf:
        return _round(min(times) / CROSSING)
    bound = cast(Any, run).stable_dt().dt if hasattr(run, "stable_dt") else 0.0
    return _round(STEPS * bound) if 0 < bound < math.inf else 1 / FPS


def _round(value: float) -> float:
    """1, 2 or 5 times a power of ten, at most the value."""
    power = 10.0 ** math.floor(math.log10(value))
    return max(step * power for step in (1, 2, 5) if step * power <= value * (1 + 1e-9) or step == 1)
