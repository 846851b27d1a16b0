"""Scripted motion of colliders; not implemented yet."""

from __future__ import annotations

from typing import Any

__all__ = ["Keyframes", "Linear", "Rotation", "Sinusoid"]


class _Later:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"mpm.motion.{type(self).__name__} is not implemented yet")


class Linear(_Later):
    """Constant velocity; not implemented yet."""


class Rotation(_Later):
    """Constant angular velocity; not implemented yet."""


class Sinusoid(_Later):
    """Harmonic motion; not implemented yet."""


class Keyframes(_Later):
    """Interpolated positions and angles; not implemented yet."""
