"""Scenes of bodies that press, slide, roll and rebound on each other, which one velocity field cannot have.

Each function takes its physics as keywords, in SI units, and returns a new `mpm.Scene`.
"""

from __future__ import annotations

import numpy as np

from mpm import materials, shapes
from mpm.base import _check
from mpm.gallery.entry import listed
from mpm.scene.contacts import Contact
from mpm.scene.scene import Scene


@listed(
    "three blocks with three frictions on a tilted slab: one stays, two slide (2-D, contact)",
    duration=0.5,
    fps=60.0,
    numerics={"dx": 1 / 40},
    limits=(0.0, 2.0),
)
def incline(
    *, E: float = 1e6, nu: float = 0.3, density: float = 1000.0, degrees: float = 25.0, gravity: float = 9.81
) -> Scene:
    """Three blocks on an elastic slab, which gravity tilts: friction 0, 0.25 and 0.6 against it.

    Without friction a block moves by g sin θ t²/2, with the friction μ by g (sin θ − μ cos θ) t²/2; the last one stays,
    since μ > tan θ. The blocks begin without the stress of their weight and rock: the middle one goes 13 % farther, and
    the last one 12 mm. Blocks and slab are ``low``, ``middle``, ``high`` and ``slab``; `degrees` is θ.
    """
    angle = np.radians(_check.number("degrees", degrees, low=0, high=80))
    g = _check.number("gravity", gravity, low=0, unit="m/s²")
    scene = Scene(
        lower=(0, 0), upper=(2, 0.5), gravity=(g * np.sin(angle), -g * np.cos(angle)), contact="separate"
    )
    material = materials.NeoHookean(E=E, nu=nu, density=density)
    slab = scene.add(shapes.Box((0, 0), (2, 0.1)), material, name="slab")
    for name, x, friction in (("high", 0.1, 0.6), ("middle", 0.5, 0.25), ("low", 0.9, 0.0)):
        block = scene.add(shapes.Box((x, 0.1), (x + 0.2, 0.25)), material, name=name)
        scene.set_contact(block, slab, Contact("separate", friction=friction))
    return scene


@listed(
    "a disc strikes a row of discs, and the last one leaves (2-D, contact)",
    duration=0.6,
    fps=100.0,
    numerics={"dx": 1 / 80},
    limits=(0.0, 2.0),
)
def newtons_cradle(
    *, E: float = 1e6, nu: float = 0.3, density: float = 1000.0, speed: float = 2.0, count: int = 5
) -> Scene:
    """Discs in a row without gravity: one strikes, and the last one leaves with most of its speed.

    `speed` is that of the first one, ``disc0`` [m/s], `count` the number of discs.
    """
    v = _check.number("speed", speed, unit="m/s")
    number = _check.integer("count", count, low=2, high=9)
    R, gap = 0.1, 0.01
    scene = Scene(lower=(0, 0), upper=(0.8 + 2 * R * number, 0.4), contact="separate")
    material = materials.NeoHookean(E=E, nu=nu, density=density)
    for k in range(number):
        x = 0.15 if k == 0 else 0.4 + k * (2 * R + gap) - R
        scene.add(shapes.Ball((x, 0.2), R), material, velocity=(v if k == 0 else 0.0, 0.0), name=f"disc{k}")
    return scene


@listed(
    "a ball knocks over a wall of bricks (2-D, contact with friction)",
    duration=0.8,
    fps=60.0,
    numerics={"dx": 1 / 60},
    limits=(0.0, 4.0),
)
def brick_wall(
    *,
    E: float = 1e6,
    nu: float = 0.3,
    density: float = 1000.0,
    friction: float = 0.5,
    speed: float = 4.0,
    gravity: float = 9.81,
) -> Scene:
    """A ball flies into a dry wall of bricks, each a body of its own, and knocks it over.

    `speed` is that of the ``ball`` [m/s]; friction acts between all bodies, and on the floor.
    """
    v = _check.number("speed", speed, unit="m/s")
    g = _check.number("gravity", gravity, unit="m/s²")
    rough = Contact("separate", friction=friction)
    scene = Scene(
        lower=(0, 0),
        upper=(2, 1),
        gravity=(0, -g),
        walls={"y-": "separate"},
        friction=rough.friction,
        contact=rough,
    )
    material = materials.NeoHookean(E=E, nu=nu, density=density)
    for row in range(5):
        ends = (0.0, 0.1, 0.3, 0.4) if row % 2 else (0.0, 0.2, 0.4)
        for k in range(len(ends) - 1):
            low, high = (0.8 + ends[k], 0.1 * row), (0.8 + ends[k + 1], 0.1 * (row + 1))
            scene.add(shapes.Box(low, high), material, name=f"brick{row}{k}")
    ball = materials.NeoHookean(E=2 * E, nu=nu, density=2 * density)
    scene.add(shapes.Ball((0.4, 0.4), 0.12), ball, velocity=(v, 0), name="ball")
    return scene


@listed(
    "a disc rolls down a soft slab (2-D, contact with friction)",
    duration=0.8,
    fps=60.0,
    numerics={"dx": 1 / 60},
    limits=(0.0, 3.0),
)
def rolling_disc(
    *,
    E: float = 1e6,
    nu: float = 0.3,
    density: float = 1000.0,
    friction: float = 0.5,
    degrees: float = 20.0,
    gravity: float = 9.81,
) -> Scene:
    """A disc rolls down a soft slab, which gravity tilts: with a ≈ 2/3 g sin θ, less what the slab takes.

    It slides where the friction is below tan θ/3. `degrees` is θ.
    """
    angle = np.radians(_check.number("degrees", degrees, low=0, high=80))
    g = _check.number("gravity", gravity, low=0, unit="m/s²")
    scene = Scene(
        lower=(0, 0),
        upper=(2, 0.6),
        gravity=(g * np.sin(angle), -g * np.cos(angle)),
        contact=Contact("separate", friction=friction),
    )
    material = materials.NeoHookean(E=E, nu=nu, density=density)
    scene.add(shapes.Box((0, 0), (2, 0.15)), material, name="slab")
    scene.add(shapes.Ball((0.25, 0.3), 0.15), material, name="disc")
    return scene


@listed(
    "a disc is pressed onto a block until it rests, as Hertz computed it (2-D, contact, damping)",
    duration=0.5,
    fps=60.0,
    numerics={"dx": 1 / 50, "damping": 30.0},
    color="von_mises",
    limits=(0.0, 28e3),
)
def hertz(
    *, E: float = 1e6, nu: float = 0.3, density: float = 1000.0, R: float = 0.5, force: float = 6000.0
) -> Scene:
    """A disc on a block of the same rubber; a force presses it down, and damping brings both to rest.

    Of two half-planes, with E* = E/(2 − 2ν²), the half width of the contact is a = √(4 F R/(π E*)) = 84 mm, and the
    pressure p₀ √(1 − (x/a)²) with p₀ = √(F E*/(π R)) = 46 kPa (Hertz 1882; K. L. Johnson, Contact Mechanics, 1985, eq.
    4.45). The colours show the largest shear where theory has it, 0.78 a below the face. `force` is F, per metre of
    depth [N/m]; both bodies, ``disc`` and ``block``, have no weight.
    """
    size = _check.number("R", R, low=0.2, high=0.6, unit="m")
    load = _check.number("force", force, low=0, unit="N/m")
    scene = Scene(lower=(0, 0), upper=(2, 2.2), contact="separate")
    material = materials.NeoHookean(E=E, nu=nu, density=density)
    scene.add(shapes.Box((0, 0), (2, 0.8)), material, name="block")
    disc = scene.add(shapes.Ball((1, 0.8 + size), size), material, name="disc")
    scene.add_force(disc, (0, -load), name="press")
    return scene


@listed(
    "a gear drives another one by its teeth (2-D, contact with friction)",
    duration=1.0,
    fps=60.0,
    numerics={"dx": 1 / 80},
    limits=(0.0, 1.5),
)
def gears(
    *,
    E: float = 5e6,
    nu: float = 0.3,
    density: float = 1000.0,
    friction: float = 0.1,
    angular_velocity: float = 3.0,
) -> Scene:
    """Two gears of twelve teeth: one turns, and drives the other by its teeth.

    Each has a hub, a small collider without friction in its bore. `angular_velocity` is that of the first gear at the
    beginning [rad/s].
    """
    omega = _check.number("angular_velocity", angular_velocity, unit="rad/s")
    scene = Scene(
        lower=(0, 0), upper=(1.6, 0.9), contact=Contact("separate", friction=friction), walls="separate"
    )
    material = materials.NeoHookean(E=E, nu=nu, density=density)
    pitch, teeth = 0.32, 12
    for name, x, turn in (("driver", 0.48, 0.0), ("driven", 0.48 + 2 * pitch + 0.005, np.pi / teeth)):
        centre = np.array([x, 0.45])
        gear = _gear(centre, pitch, teeth, turn) - shapes.Ball(centre, 0.1)
        scene.add(gear, material, angular_velocity=omega if name == "driver" else 0.0, name=name)
        scene.add_collider(shapes.Ball(centre, 0.1), contact="slip", name=f"hub of {name}")
    return scene


def _gear(centre: np.ndarray, pitch: float, teeth: int, turn: float) -> shapes.Polygon:
    """A gear with teeth of straight flanks, whose first tooth points along x, turned by an angle."""
    high, low = pitch * 1.14, pitch * 0.84
    step = 2 * np.pi / teeth
    corners = []
    for k in range(teeth):
        middle = turn + k * step
        for share, radius in ((-0.33, low), (-0.13, high), (0.13, high), (0.33, low)):
            angle = middle + share * step
            corners.append(centre + radius * np.array([np.cos(angle), np.sin(angle)]))
    return shapes.Polygon(corners)
