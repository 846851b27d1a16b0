"""Makes snow.gif, the moving picture of the README: python docs/images/snow.py"""

from pathlib import Path

import numpy as np

import mpm

SECONDS, FPS = 0.5, 60  # of simulated time: the picture plays at a third of the speed
COLORS = 64

scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81), walls="sticky")
scene.add(mpm.shapes.Ball((0.52, 0.7), 0.15), mpm.materials.Snow.preset("reference"), velocity=(0, -5))
wedge = mpm.shapes.HalfSpace((0.5, 0.4), (-1, 0.6)) & mpm.shapes.HalfSpace((0.5, 0.4), (1, 0.6))
scene.add_collider(wedge, friction=0.3, name="wedge")
scheme = {"transfer": "flip", "flip_ratio": 0.95, "kernel": "cubic", "advect": "particle"}
sim = mpm.Simulation(scene, dx=1 / 128, particles_per_cell=9, sampling="stratified", **scheme)

renderer = mpm.viz.Renderer(sim, size=(420, 400), annotate=False)
pictures = []
for _ in sim.frames(duration=SECONDS, fps=FPS):
    pictures.append(renderer.frame(sim))


def save(path: Path) -> None:
    """With one palette for all frames, so that still pixels stay still."""
    from PIL import Image

    images = [Image.fromarray(picture) for picture in pictures]
    palette = Image.fromarray(np.hstack(pictures[::6])).quantize(COLORS)
    first, *rest = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    first.save(path, save_all=True, append_images=rest, duration=50, loop=0, optimize=True)
    print(f"{path}: {len(images)} frames, {path.stat().st_size:,} bytes, {len(sim.particles):,} particles")


save(Path(__file__).with_suffix(".gif"))
