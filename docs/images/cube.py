"""Draws cube.png, the picture of the README: python docs/images/cube.py"""

from pathlib import Path

import mpm

TIMES = (0.0, 0.3, 0.48)  # at rest, squeezed, risen again [s]

sim = mpm.gallery.get("cube").simulation(dtype="float32")
renderer = mpm.viz.Renderer(sim, color="speed", limits=(0, 2.5), size=(400, 376), annotate=False)
frames = []
for time in TIMES:
    sim.run(time - sim.time)
    print(f"t = {sim.time:.2f} s, centre at {sim.totals().center_of_mass[2]:.3f} m")
    frames.append(renderer.frame(sim))
mpm.viz.save_image(Path(__file__).with_suffix(".png"), mpm.viz.contact_sheet(frames, columns=len(frames)))
