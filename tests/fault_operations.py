"""What a user does with simulations of every method and without one: the operations that `tests/faults.py` tries."""

import contextlib
import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mpm
import scenes
from mpm.io import checkpoint

M, S = scenes.MATERIALS, mpm.shapes


# --- simulations ------------------------------------------------------------------------------------------------------


def scene_of(dim: int, *materials: Any, walls: Any = "separate", collider: bool = True) -> mpm.Scene:
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-9.81], walls=walls)
    for k, material in enumerate(materials):
        side = 0.5 / len(materials)
        lower = [0.2 + k * side, *[0.3] * (dim - 1)]
        box = S.Box(lower, [lower[0] + 0.9 * side, *[0.6] * (dim - 1)])
        scene.add(box, material, velocity=[8.0 * (-1) ** k] + [-2.0] * (dim - 1))
    if collider:
        ball = S.Ball([0.5] * (dim - 1) + [0.12], 0.13)
        scene.add_collider(ball, motion=mpm.motion.Linear([0.1] * dim), contact="separate", name="ball")
    return scene


def grid_2d() -> Any:
    """Three laws, one with a history; periodic faces and a mirror; rebinning in nearly every step."""
    walls = {"x": "periodic", "y-": "mirror", "y+": "slip"}
    scene = scene_of(2, M["neo_hookean"], M["sand"], M["von_mises"], walls=walls)
    sim = mpm.Simulation(scene, dx=1 / 12, threads=2, on_leave="delete", history=2)
    sim.particles.add_field("warmth", unit="K")
    return sim


def grid_3d() -> Any:
    scene = scene_of(3, M["fluid"])
    return mpm.Simulation(scene, dx=1 / 6, dtype="float32", transfer="xpic", kernel="cubic", threads=2)


def implicit() -> Any:
    return mpm.Simulation(
        scene_of(2, M["fixed_corotated"]), dx=1 / 8, integrator="semi-implicit", max_dt=0.01, threads=2
    )


def locking() -> Any:
    """F-bar, with the books of dissipation."""
    scene = scene_of(2, M["von_mises"])
    return mpm.Simulation(scene, dx=1 / 10, f_bar=True, dissipation=True, threads=2)


def varying() -> Any:
    """Parameters that vary over the particles of a body, beside a body without."""
    graded = mpm.materials.NeoHookean(E=lambda x: 10 * (1 + x[:, 0]), nu=0.3, density=lambda x: 1 + x[:, 1])
    return mpm.Simulation(scene_of(2, M["sand"], graded), dx=1 / 10, threads=2)


def sph_2d() -> Any:
    walls = {"x": "periodic", "y": "slip"}
    scene = scene_of(2, M["fluid"], walls=walls, collider=False)
    scene.add_collider(S.Box([0.3, 0.1], [0.6, 0.2]), motion=mpm.motion.Linear([0.1, 0]), contact="slip")
    return mpm.sph.Simulation(scene, spacing=1 / 14, on_leave="delete", threads=2, history=2)


def sph_3d() -> Any:
    scene = scene_of(3, M["fluid"], collider=False, walls="slip")
    return mpm.sph.Simulation(scene, spacing=1 / 8, dtype="float32", threads=2)


def fem_2d() -> Any:
    return mpm.fem.Simulation(scene_of(2, M["neo_hookean"]), spacing=1 / 8, threads=2, history=2)


def fem_3d() -> Any:
    scene = scene_of(3, M["corotated"])
    options = {"integrator": "linearly-implicit-euler", "damping": (1, 1e-3), "max_dt": 0.01}
    return mpm.fem.Simulation(scene, spacing=1 / 5, dtype="float32", threads=2, **options)


METHODS = {
    "mpm 2-D": grid_2d,
    "mpm 3-D": grid_3d,
    "mpm implicit": implicit,
    "mpm f-bar": locking,
    "mpm varying": varying,
    "sph 2-D": sph_2d,
    "sph 3-D": sph_3d,
    "fem 2-D": fem_2d,
    "fem 3-D implicit": fem_3d,
}
STEPS = 6
DATA = Path(__file__).parent / "data" / "meshes"


# --- operations -------------------------------------------------------------------------------------------------------


def nothing() -> None:
    return None


@dataclass(frozen=True)
class Operation:
    """Something a user does: `call(thing, folder)`, `thing` being what `begin` made, a simulation or not."""

    name: str
    call: Callable[[Any, Path], Any]
    begin: Callable[[], Any] = nothing
    files: bool = False  # it writes files, among them `file`, if it is given
    file: str = ""
    steps: bool = False  # it takes steps, up to STEPS
    partial: bool = False  # an error may leave a part, which `read` understands
    read: Callable[[Path], Any] | None = None
    rebins: bool = False  # after a signal, the old particles are there in another order of storage


def value_of(result: Any) -> Any:
    """Something that can be compared."""
    if isinstance(result, (np.ndarray, np.generic)):
        return np.asarray(result).dtype.str, np.asarray(result).shape, np.asarray(result).tobytes()
    if isinstance(result, mpm.solver.Solver):
        return result.state_hash()
    if isinstance(result, dict):
        return {name: value_of(value) for name, value in result.items()}
    if isinstance(result, (tuple, list)):
        return [value_of(value) for value in result]
    return repr(result)


def ids_of(sim: Any) -> list[int]:
    return sorted(np.array(sim.particles.id).tolist())


def steps_to(sim: Any, _: Path) -> None:
    sim.step(STEPS - sim.steps)


def run_with_callback(sim: Any, _: Path) -> None:
    while sim.steps < STEPS:
        with contextlib.suppress(mpm.errors.StepLimitError):
            sim.run(1.0, max_steps=STEPS - sim.steps, callback=lambda s: s.totals(), every=2)


def of_simulation(name: str, make: Callable[[], Any]) -> Iterator[Operation]:
    """What can be done with a simulation."""
    data: list[bytes] = []

    def begin() -> Any:
        if not data:
            sim = make()
            sim.step(2)
            data.append(checkpoint.dumps(sim))
        sim = checkpoint.loads(data[0])
        sim.threads = 2
        return sim

    def operation(word: str, call: Callable[[Any, Path], Any], **options: Any) -> Operation:
        return Operation(f"{name}: {word}", call, begin, **options)

    def measures(sim: Any, _: Path) -> Any:
        points = np.full((3, sim.dimension), 0.4) + 0.05 * np.arange(3)[:, None]
        looked = [sim.totals(), sim.stable_dt(), sim.health, sim.state_hash()]
        looked.append(repr(sim).rpartition(", ")[0])  # without the memory, which may grow by an attempt
        looked += [sim.compute(name) for name in sim.quantities]
        looked += [sim.collider_distance(collider.name, points) for collider in sim.scene.colliders]
        return [*looked, sim.interpolate("v", points)]

    def writes(sim: Any, _: Path) -> None:
        sim.particles.v[...] = 0.5

    def views(sim: Any, _: Path) -> Any:
        return [np.array(sim.particles[name]) for name in sim.particles.fields]

    def saves(sim: Any, folder: Path) -> None:
        sim.save(folder / "a.mpm")

    def records(suffix: str, **options: Any) -> Callable[[Any, Path], None]:
        def call(sim: Any, folder: Path) -> None:
            with sim.record(folder / f"a.{suffix}", fps=1e6, fields=("v",), **options):
                steps_to(sim, folder)

        return call

    def replays(path: Path) -> Any:
        with mpm.replay(path) as frames:
            return [(frame.step, frame.x.tobytes(), frame["v"].tobytes()) for frame in frames]

    yield Operation(f"{name}: make", lambda _, folder: make())
    yield operation("steps", steps_to, steps=True)
    yield operation("run with callback", run_with_callback, steps=True)
    yield operation("look", measures)
    yield operation("write", writes)
    yield operation("views", views)
    yield operation("threads", lambda sim, _: setattr(sim, "threads", 3))
    yield operation("copy", lambda sim, _: [copy.copy(sim), copy.deepcopy(sim)])
    yield operation("pickle", lambda sim, _: pickle.loads(pickle.dumps(sim)))
    if not name.startswith("fem"):
        yield operation("delete", lambda sim, _: sim.particles.delete(slice(0, 9, 2)))
    if name.startswith("mpm"):
        yield operation("add", lambda sim, _: sim.add(new_body(sim), sim.materials[0]), rebins=True)
    yield operation("save", saves, files=True, file="a.mpm", read=lambda path: mpm.load(path).state_hash())
    yield operation("load", lambda data, _: value_of(checkpoint.loads(checkpoint.dumps(data))))
    options = {"files": True, "steps": True, "partial": True, "read": replays}
    yield operation("record vtkhdf", records("vtkhdf"), file="a.vtkhdf", **options)
    if name in ("mpm 2-D", "fem 3-D implicit"):
        yield operation("record compressed", records("vtkhdf", compression=1), file="a.vtkhdf", **options)
        yield operation(
            "record bgeo", records("bgeo"), file="a.bgeo.series", **(options | {"read": sequence})
        )
    if name == "mpm 2-D":
        yield from exports(operation)


def sequence(path: Path) -> Any:
    with mpm.replay(path.parent / "a.bgeo") as frames:
        return [(frame.step, frame.x.tobytes(), frame["v"].tobytes()) for frame in frames]


def new_body(sim: Any) -> Any:
    return S.Box([0.8] * sim.dimension, [0.95] * sim.dimension)


def exports(operation: Callable[..., Operation]) -> Iterator[Operation]:
    for suffix in ("npz", "ply", "vtp", "csv", "bgeo", "geo"):

        def call(sim: Any, folder: Path, suffix: str = suffix) -> None:
            mpm.export(sim, folder / f"b.{suffix}")

        yield operation(f"export {suffix}", call, files=True, file=f"b.{suffix}")

    def movie(sim: Any, folder: Path) -> None:
        with mpm.viz.MovieWriter(folder / "a.gif", fps=10, size=(64, 64)) as writer:
            for k in range(3):
                writer.add(np.full((64, 64, 3), 80 * k, np.uint8))

    def frames(sim: Any, folder: Path) -> None:
        mpm.viz.save_image(folder / "a.png", np.zeros((8, 8, 3), np.uint8))

    yield operation("movie", movie, files=True, file="a.gif")
    yield operation("picture", frames, files=True, file="a.png")


def others() -> Iterator[Operation]:
    """What needs no simulation."""

    def mesh(_: Any, folder: Path) -> Any:
        shape = S.Mesh(DATA / "box.obj")
        points = np.random.default_rng(1).uniform(-1, 1, (40, 3))
        return [shape.contains(points), shape.distance(points) if hasattr(shape, "distance") else 0]

    def laws(_: Any, folder: Path) -> Any:
        F = np.eye(2)[None] + 0.05 * np.arange(4).reshape(1, 2, 2)
        return [M[name].stress(F) for name in ("neo_hookean", "hencky", "corotated")]

    def ordinary(_: Any, folder: Path) -> Any:
        springs = mpm.integrators.MassSpring([1, 1], [(0, 1)], stiffness=10.0, length=1.0)
        found = []
        for method in mpm.integrators.methods():
            x = [[0.0, 0.0], [1.1, 0.0]]
            found.append(
                mpm.integrators.integrate(springs, x, np.zeros((2, 2)), method=method, dt=0.01, steps=20).x
            )
        moved = mpm.integrators.advect(
            mpm.integrators.Shear(1.0), [[0.0, 1.0]], method="midpoint", dt=0.1, steps=5
        )
        return [*found, moved.x]

    def picture(_: Any, folder: Path) -> Any:
        return np.asarray(mpm.viz.Renderer(drawn, size=(96, 64), annotate=False).frame(drawn))

    def resting() -> Any:
        scene = mpm.Scene([0, 0], [1, 1], gravity=[0, -1], walls="sticky")
        scene.add(S.Box([0.25, 0], [0.75, 0.25]), mpm.materials.NeoHookean(E=100, nu=0.3, density=1))
        return mpm.Simulation(scene, dx=1 / 8, threads=2)

    def equilibrium(sim: Any, folder: Path) -> Any:
        return sim.equilibrate(increments=1, tolerance=0.1).residual

    def given_points(_: Any, folder: Path) -> Any:
        scene = mpm.Scene([0] * 3, [1] * 3)
        points = (
            S.Points.from_file(DATA / "points.ply", volume=1e-3)
            .scale(0.2, about=[0] * 3)
            .translate([0.5] * 3)
        )
        scene.add(points, M["neo_hookean"])
        return mpm.Simulation(scene, dx=1 / 4, threads=2)

    drawn = grid_2d()
    yield Operation("mesh", mesh)
    yield Operation("laws", laws)
    yield Operation("integrators", ordinary)
    yield Operation("points of a file", given_points)
    yield Operation("equilibrate", equilibrium, resting, rebins=True)
    yield Operation("drawing", picture)


def operations() -> Iterator[Operation]:
    for name, make in METHODS.items():
        yield from of_simulation(name, make)
    yield from others()
