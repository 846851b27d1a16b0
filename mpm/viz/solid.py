"""Pictures of 3-D scenes by PyVista (VTK), with colliders as surfaces among the particles. Needs the extra ``3d``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.scene.colliders import Placed
from mpm.scene.scene import Scene
from mpm.solver.source import Source
from mpm.viz import canvas, ground
from mpm.viz.camera import NEAREST
from mpm.viz.render import COVER, OVERSAMPLE, Image, Renderer, Shot, Stand, check_source, halved

SURFACE_CELLS = (
    96  # along the longest side of the domain, of the lattice in which colliders' surfaces are found
)
OPACITY = 0.45
LIGHT = {"ambient": 0.35, "diffuse": 0.7, "specular": 0.15}


class SolidRenderer(Renderer):
    """A `Renderer` of 3-D scenes that has PyVista draw the particles and colliders, seen from the same place.

    Parameters
    ----------
    sim, color, cmap, limits, background, camera, hide, surface, size, annotate, cut
        As of `Renderer`.

    Raises
    ------
    ImportError
        PyVista is not installed.
    """

    _any_thread = False  # windows of VTK belong to the thread that opens them, on some systems the first

    def __init__(self, sim: Source, **options: Any) -> None:
        self._pyvista = _pyvista()
        self._surfaces: list[Any] = []
        super().__init__(sim, **options)
        self._lower, self._upper = sim.scene.lower, sim.scene.upper

    def _place_colliders(self, sim: Source, stand: Stand) -> tuple[Image, tuple[()], None]:
        lower, upper = sim.scene.lower, sim.scene.upper
        grounds, others = ground.split(sim, self.style.hidden_colliders)
        behind = self._beyond if self.cut else None
        self._surfaces = [(self._surface(one, lower, upper), canvas.COLLIDER, OPACITY) for one in others]
        self._surfaces += [(self._block(one, sim.scene, behind), ground.INK, 1.0) for one in grounds]
        return halved(stand.empty), (), None  # they are drawn with the particles

    def _surface(self, collider: Placed, lower: FloatArray, upper: FloatArray) -> Any:
        """The surface where the distance is zero, within the domain."""
        cells = np.maximum(2, np.rint(SURFACE_CELLS * (upper - lower) / (upper - lower).max())).astype(int)
        lattice = self._pyvista.ImageData(dimensions=cells + 1, spacing=(upper - lower) / cells, origin=lower)
        lattice["phi"] = collider.distance(np.asarray(lattice.points, dtype=np.float64))[0]
        return lattice.contour([0.0], scalars="phi")

    def _block(self, one: Placed, scene: Scene, behind: ground.Behind | None) -> Any:
        corners, _ = ground.surface(one, scene, behind)
        faces = np.pad(np.arange(len(corners)).reshape(-1, 3), ((0, 0), (1, 0)), constant_values=3)
        return (
            self._pyvista.PolyData(corners, faces=faces.ravel()) if len(corners) else self._pyvista.PolyData()
        )

    def _paint(self, image: Image, shot: Shot, limits: tuple[float, float]) -> None:
        clouds = []
        if len(shot.x):
            x = shot.x.astype(np.float64)
            if shot.triangles is None:
                cloud = self._pyvista.PolyData(x)
            else:
                faces = np.pad(shot.triangles, ((0, 0), (1, 0)), constant_values=3)
                cloud = self._pyvista.PolyData(x, faces=faces.ravel())
            cloud["ink"] = self.style.table[self.style.levels(shot.shown, limits)]
            clouds.append(cloud)
        if (placed := shot.solids) is not None:
            faces = np.pad(placed.triangles, ((0, 0), (1, 0)), constant_values=3)
            cloud = self._pyvista.PolyData(placed.x, faces=faces.ravel())
            cloud["ink"] = self.style.table[self.style.levels(placed.shown, limits)]
            clouds.append(cloud)
        seen = self._seen(clouds, 2 * COVER[3] * shot.spacing * self.camera.scale)
        cover = seen[..., 3:].astype(np.float32) / 255
        image[:] = (image * (1 - cover) + seen[..., :3] * cover).round().astype(np.uint8)

    def _seen(self, clouds: Sequence[Any], diameter: float) -> npt.NDArray[np.uint8]:
        """Render particles (of a diameter in fine pixels), or triangles, and surfaces, (height, width, 4): colour and
        cover."""
        fine = (OVERSAMPLE * self.width, OVERSAMPLE * self.height)
        plotter = self._pyvista.Plotter(off_screen=True, window_size=fine, lighting="light kit")
        try:
            for cloud in clouds:
                spheres = {"render_points_as_spheres": True, "point_size": max(3.0, diameter)}
                particles = cloud.n_verts > 0
                plotter.add_mesh(cloud, scalars="ink", rgb=True, **(spheres if particles else {}), **LIGHT)
            for surface, ink, opacity in self._surfaces:
                if surface.n_points:
                    plotter.add_mesh(surface, color=ink, opacity=opacity, smooth_shading=opacity < 1, **LIGHT)
            self._look(plotter)
            rgba = plotter.screenshot(None, transparent_background=True, return_img=True)
        finally:
            plotter.close()
        return halved(np.asarray(rgba))

    def _look(self, plotter: Any) -> None:
        """Point VTK's camera so that its pixels match those of `Renderer`."""
        camera, lower, upper = self.camera, self._lower, self._upper
        right, up, towards = camera.rows
        fine = OVERSAMPLE * np.array([self.width, self.height])
        # The middle of the picture, from the lower corner; the middle of our pixel k is at k.
        across, down = ((fine - 1) / 2 - camera.offset) / camera.scale
        depth = float(np.linalg.norm(upper - lower))
        nearness = float(towards @ (upper - lower) / 2)
        middle = lower + across * right - down * up + nearness * towards
        plotter.camera.up = up
        if camera.lens:
            eye = camera.eye
            centre = (
                2 * (camera.centre - (fine - 1) / 2) / fine
            )  # of the axis, from the middle, over half the sides
            plotter.disable_parallel_projection()
            plotter.camera.focal_point = eye - towards / camera.lens
            plotter.camera.position = eye
            plotter.camera.view_angle = float(
                np.degrees(2 * np.arctan(fine[1] / 2 * camera.lens / camera.scale))
            )
            plotter.camera.SetWindowCenter(-centre[0], centre[1])
            nearest = NEAREST / camera.lens
            plotter.camera.clipping_range = (nearest, nearest + 1 / camera.lens + 3 * depth)
            return
        plotter.enable_parallel_projection()
        plotter.camera.focal_point = middle
        plotter.camera.position = middle + 2 * depth * towards
        plotter.camera.parallel_scale = fine[1] / 2 / camera.scale
        plotter.camera.clipping_range = (0.5 * depth, 3.5 * depth)


RENDERERS: dict[str, type[Renderer]] = {"builtin": Renderer, "pyvista": SolidRenderer}


def renderer_of(renderer: object, sim: Source) -> type[Renderer]:
    """The one that is called so, if it can draw the scene."""
    check_source(sim)
    chosen = RENDERERS[_check.choice("renderer", renderer, tuple(RENDERERS))]
    if chosen is SolidRenderer and sim.dimension == 2:
        raise ValueError("renderer = 'pyvista': must be 'builtin' in 2-D: PyVista draws 3-D scenes")
    return chosen


def _pyvista() -> Any:
    return _check.extra("pyvista", "renderer = 'pyvista' needs PyVista", "3d")
