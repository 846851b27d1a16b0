"""The gallery: a loop of every scene of `mpm.gallery`, a page of cards, and a page per scene, for build.py.

``python docs/gallery_pages.py [NAME ...]`` draws the loops without the rest of the documentation.
"""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

import drawn

import mpm
from mpm import gallery

# Large scenes are coarser in their loops (`scale` is that of `Entry.simulation`), and some end before the scene does.
# With the colour None, materials have their own colours.
SETTINGS: dict[str, dict[str, Any]] = {
    "bowling": {"color": None},
    "brick-wall": {"color": None},
    "cube": {"scale": 0.6, "duration": 1.2},
    "dominoes": {"color": None},
    "dzhanibekov": {"color": None},
    "honey": {"duration": 1.2, "color": {"honey": "darkgoldenrod"}},
    "jelly": {"color": None},
    "jelly-stack": {"color": None},
    "crate-on-snow": {"color": None},
    "raft": {"color": None},
    "sand-column-3d": {"scale": 0.8, "color": None},
    "sand-hourglass": {"color": None},
    "ship": {"color": None},
    "snow-box": {"color": None},
    "snow-parameters": {"scale": 0.75},
    "snow-plow": {"color": None},
    "snow-ring": {"color": None},
    "snow-triangle": {"color": None},
    "snow-wedge": {"color": None},
    "snow-wedge-3d": {"scale": 0.5, "duration": 0.25, "color": None},
    "snowball": {"color": None},
    "spinning-top": {"color": None},
    "hot-taylor-bar": {"scale": 0.5},
    "taylor-bar": {"scale": 0.5},
    "twisted-bar": {"color": None},
}
# The order of the page: physics by physics, easy scenes first.
GROUPS = {
    "Fluids": (
        *(
            "dam-break",
            "tank",
            "jet",
            "two-liquids",
            "ship",
            "hydrostatic",
            "taylor-green",
            "drum",
            "hourglass",
            "honey",
        ),
    ),
    "Snow": (
        *("snow-wedge", "snow-wedge-3d", "snowball", "snow-box", "snow-ring", "snow-triangle"),
        *("snow-parameters", "snow-plow"),
    ),
    "Sand, soil and mud": (
        *("sand-column", "sand-column-3d", "sand-hourglass", "clay-indentation", "mudslide"),
        *("retaining-wall", "excavation", "flooded-slope", "quick-clay"),
    ),
    "Elastic solids": (
        "cube",
        "disks",
        "disk-wall",
        "squeeze",
        "twisted-bar",
        "beam",
        "bar",
        "spinning-disk",
        "hammer-blow",
    ),
    "Metal, bread and other solids that yield": ("taylor-bar", "bread-tearing", "jelly-stack"),
    "Stiff solids in implicit steps": ("cantilever", "stiff-drop", "stiff-disk"),
    "Rigid bodies": ("dominoes", "bowling", "spinning-top", "dzhanibekov", "raft", "crate-on-snow"),
    "Bodies that touch": ("incline", "rolling-disc", "hertz", "newtons-cradle", "brick-wall", "gears"),
    "Bodies that conduct heat": ("quench", "melting-snowman", "friction-weld", "hot-taylor-bar"),
    "Bodies that take up water": ("curling-bilayer",),
    "Bodies that crack": ("glass-drop", "three-point-bending", "brazilian-disc", "wall-breach"),
    "Several materials": ("jelly",),
}


TITLES = {
    "bar": "Vibrating bar",
    "beam": "Free beam",
    "cube": "Bouncing cube",
    "crate-on-snow": "Crate on a slope of snow",
    "disk-wall": "Disk and wall",
    "disks": "Two disks",
    "dzhanibekov": "A handle that turns over",
    "hertz": "Hertz’s contact",
    "hot-taylor-bar": "Taylor bar that heats itself",
    "hydrostatic": "Column of water at rest",
    "jelly": "Jelly and fluid",
    "newtons-cradle": "Newton’s cradle",
    "snow-parameters": "Six kinds of snow",
    "taylor-green": "Taylor–Green vortices",
}


def title(name: str) -> str:
    """As a heading: ``Sand column in 3-D`` of ``sand-column-3d``."""
    plain = name.removesuffix("-3d").replace("-", " ").capitalize()
    return TITLES.get(name, plain) + (" in 3-D" if name.endswith("-3d") else "")


# --- the loops -------------------------------------------------------------------------------------------------------


def simulation(name: str, scale: float) -> mpm.Simulation:
    """A scene, as its loop shows it."""
    return gallery.get(name).simulation(scale=scale, dtype="float32", threads=1, history=0)


def all_loops() -> dict[str, drawn.Loop]:
    """Scene -> its loop; the slowest first."""
    found = {}
    for name in sorted(gallery.names(), key=lambda name: not name.startswith("snow")):
        entry, own = gallery.get(name), dict(SETTINGS.get(name, {}))
        arguments = {"name": name, "scale": own.pop("scale", 1)}
        shown = {"duration": entry.duration, "color": entry.color, "limits": entry.limits} | own
        if shown["color"] != entry.color:
            shown["limits"] = None
        found[name] = drawn.Loop(simulation, arguments=arguments, **shown)
    return found


# --- the pages -------------------------------------------------------------------------------------------------------


def sentence(name: str) -> str:
    """The summary of a scene, as a sentence."""
    summary = gallery.get(name).summary
    return summary[0].upper() + summary[1:].rstrip(".") + "."


def card(name: str) -> str:
    """The loop, the name, a sentence, the command and the source of a scene."""
    return (
        "````{container} card-of-scene\n"
        f"[![{title(name)}]({name}.webp)]({name}.md)\n\n"
        f"[{title(name)}]({name}.md)\n\n{sentence(name)}\n\n"
        f"```text\npython -m mpm demo {name}\n```\n\n[source]({name}.md#source)\n"
        "````\n"
    )


def index() -> str:
    """The page of all cards."""
    if missing := set(gallery.names()) ^ {name for names in GROUPS.values() for name in names}:
        raise SystemExit(f"docs/gallery_pages.py: GROUPS must have each scene of the gallery once: {missing}")
    text = (
        "# Gallery\n\n"
        f"The {len(gallery.names())} scenes of `mpm.gallery`. The command below a picture runs the scene and writes a "
        "movie, pictures, a recording and the history to `out`. `python -m mpm view NAME` shows the scene while it "
        "runs. `--set dx=0.01` changes an option. The pictures of large scenes have larger cells than the commands.\n"
    )
    for heading, names in GROUPS.items():
        cards = "\n".join(card(name) for name in names)
        text += f"\n## {heading}\n\n`````{{container}} cards-of-scenes\n{cards}`````\n"
    pages = "\n".join(name for names in GROUPS.values() for name in names)
    return f"{text}\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"


def paragraphs(name: str) -> str:
    """The docstring of a scene, before its parameters."""
    text = inspect.getdoc(gallery.get(name).build) or ""
    return text.partition("\nParameters\n")[0].strip()


def page(name: str) -> str:
    """A scene: its loop, text, figures, commands and source."""
    entry = gallery.get(name)
    function = entry.build.__name__
    scene = entry.scene()
    laws = sorted({type(body.material).__name__ for body in scene.bodies})
    shown = ", ".join(f"{{py:class}}`~mpm.materials.{law}`" for law in laws)
    loop = all_loops()[name]
    colors = "those of the materials"
    if isinstance(loop.color, str):
        colors = f"`{loop.color}`" + (
            "" if loop.limits is None else ", from {:g} to {:g}".format(*loop.limits)
        )
    methods = [f"`--method {method}`" for method in entry.methods if method != "mpm"]
    others = f" Also by another method: {', '.join(methods)}." if methods else ""
    options = ", ".join(f"`{option}={value!r}`" for option, value in entry.numerics.items())
    source = re.sub(r"\A@listed\(.*?^\)\n", "", inspect.getsource(entry.build), flags=re.M | re.S)
    return (
        f"# {title(name)}\n\n![{sentence(name)}]({name}.webp)\n\n"
        "```{eval-rst}\n" + paragraphs(name) + "\n```\n\n"
        f"| | |\n|---|---|\n"
        f"| domain | {scene.dimension}-D, {' × '.join(f'{size:g} m' for size in scene.upper - scene.lower)} |\n"
        f"| materials | {shown} |\n"
        f"| duration | {entry.duration:g} s |\n"
        f"| options | {options} |\n"
        f"| colour | {colors} |\n\n"
        "## Run it\n\n"
        f"```text\npython -m mpm demo {name}\npython -m mpm view {name}\n```\n\n{others.strip()}\n\n"
        f"In Python, with physics of your own ({{py:func}}`mpm.gallery.{function}` lists the keywords):\n\n"
        "```python\nimport mpm\n\n"
        f'entry = mpm.gallery.get("{name}")\n'
        'sim = entry.simulation(dtype="float32")  # or simulation(scene=entry.scene(…), dx=…)\n'
        "sim.run(entry.duration)\nsim.plot(color=entry.color, limits=entry.limits)\n```\n\n"
        f"## Source\n\n```python\n{source}```\n"
    )


def pages() -> dict[str, str]:
    """Name of the page -> its text."""
    return {"index": index()} | {name: page(name) for name in gallery.names()}


def scenes_of(law: str) -> list[str]:
    """The scenes that have a body of that law, in the order of the page."""
    return [
        name
        for names in GROUPS.values()
        for name in names
        if any(type(body.material).__name__ == law for body in gallery.get(name).scene().bodies)
    ]


if __name__ == "__main__":
    drawn.save_all(all_loops(), sys.argv[1:])
