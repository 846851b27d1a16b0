"""What there is: bodies, walls, colliders, and the settings that a viewer can change."""

from mpm.scene.scene import Body, Scene

__all__ = ["Body", "Scene"]
