"""The kernels of a GPU (csrc/mpm/gpu/) under the emulation of blocks and warps, tests/gpu/cuda.h.

Every law, dimension and precision is a shared library of its own, which needs a C++ compiler.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import mpm

ROOT = Path(__file__).resolve().parents[1]
CC = os.environ.get("CC") or shutil.which("cc")
CXX = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
FLAGS = [
    *(
        "-std=c++20",
        "-O2",
        "-shared",
        "-fPIC",
        "-ffp-contract=off",
        "-fno-strict-aliasing",
        "-U_FORTIFY_SOURCE",
    ),
    *("-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-Wno-unknown-pragmas", "-Wno-unused-function"),
    "-Wno-missing-field-initializers",
]
FUSES = {"x86_64": ["-mfma"]}  # wide_fma as an instruction; elsewhere it is one, or a call
SWEEP_THREADS = 64  # fewer than on a GPU, so that blocks take several chunks
FACES = ("x-", "x+", "y-", "y+", "z-", "z+")
CONTACTS = ("sticky", "slip", "separate", "mirror", "periodic", "absorbing")
ORDERS = ("forward", "reversed", "shuffled")


def macros(
    material: mpm.materials.Material, dtype: str, dim: int, collides: bool = False, transfer: str = "apic"
) -> list[str]:
    """What csrc/mpm/gpu/sweep.cu is compiled with."""
    row = material._row
    reals = {"scalar": 1, "vector": dim, "symmetric": dim * (dim + 1) // 2, "tensor": dim * dim}
    values = {
        "MPM_ISA": "cuda",
        "MPM_ISA_CUDA": 1,
        "MPM_REAL": {"float32": "float", "float64": "double"}[dtype],
        "MPM_DIM": dim,
        "LAW": row["name"],
        "LAW_KEEPS_J": int(row["strain"] == "J"),
        "LAW_HISTORY": sum(reals[one["rank"]] for one in row["history"]),
        "LAW_MAPS": int(row["return_map"]),
        "GPU_SWEEP_THREADS": SWEEP_THREADS,
        "GPU_SWEEP_CTAS": 3,
        "GPU_COLLIDES": int(collides),
        "GPU_TRANSFER": f"MPM_{transfer.upper()}",
    }
    return [f"-D{name}={value}" for name, value in values.items()]


@functools.cache
def library(defined: tuple[str, ...]) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "emulated.so"
        includes = [f"-I{ROOT / path}" for path in ("csrc", "mpm/include", "tests/gpu")]
        source = ROOT / "tests" / "gpu" / "emulated.cpp"
        fuses = FUSES.get(os.uname().machine, [])
        subprocess.run(
            [*str(CXX).split(), *FLAGS, *fuses, *defined, *includes, source, "-o", target], check=True
        )
        loaded = ctypes.CDLL(str(target))
    loaded.gpu_new.restype = ctypes.c_void_p
    loaded.gpu_step.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_int]
    return loaded


@functools.cache
def boundaries() -> ctypes.CDLL:
    """The host's side of colliders, which is C."""
    own = [ROOT / "tests" / "gpu" / "boundary.c"]
    names = ("boundary", "collider", "lattice", "motion", "rules", "shape")
    core = [ROOT / "csrc" / "contact" / f"{name}.c" for name in names]
    core += [ROOT / "csrc" / "base" / f"{name}.c" for name in ("exact", "memory")]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "boundary.so"
        flags = ["-std=c11", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'csrc'}"]
        subprocess.run([*str(CC).split(), *flags, *own, *core, "-lm", "-o", target], check=True)
        loaded = ctypes.CDLL(str(target))
    loaded.boundary_new.restype = loaded.boundary_list.restype = ctypes.c_void_p
    return loaded


CONTACT_KINDS = {name: index for index, name in enumerate(CONTACTS)}
MOTIONS = ("none", "linear", "rotation", "sinusoid", "keyframes", "continued")


class Boundary:
    """The colliders of a simulation, for the emulation."""

    def __init__(self, sim: mpm.Simulation) -> None:
        self._library = boundaries()
        self._at = ctypes.c_void_p(self._library.boundary_new(sim.dimension))
        for placed in sim._colliders:
            one = placed.prepared
            motion = one.motion
            nodes = np.ascontiguousarray(one.nodes, dtype=np.int64)
            numbers = np.ascontiguousarray(one.numbers, dtype=float)
            keys = np.zeros((0, 7)) if motion.keys is None else np.ascontiguousarray(motion.keys, dtype=float)
            reference, vector = np.zeros(3), np.zeros(3)
            reference[: len(one.reference)] = one.reference
            vector[: len(motion.vector)] = motion.vector
            status = self._library.boundary_add(
                *(self._at, CONTACT_KINDS[one.collider.contact], ctypes.c_double(one.collider.friction)),
                *(len(nodes), _pointer(nodes), len(numbers), _pointer(numbers), _pointer(reference)),
                *(MOTIONS.index(motion.kind), _pointer(vector), ctypes.c_double(motion.frequency)),
                *(len(keys), _pointer(keys)),
            )
            assert status == 0

    def give(self, library: ctypes.CDLL, at: int, depth: float) -> int:
        """Hand them to the emulation; how many."""
        count = ctypes.c_int()
        listed = ctypes.c_void_p(self._library.boundary_list(self._at, ctypes.byref(count)))
        pose = ctypes.cast(self._library.boundary_pose, ctypes.c_void_p)
        library.gpu_collide(ctypes.c_void_p(at), self._at, listed, count, pose, ctypes.c_double(depth))
        return count.value

    def __del__(self) -> None:
        self._library.boundary_free(self._at)


class Setup(ctypes.Structure):
    """`setup` of tests/gpu/emulated.cpp."""

    _fields_ = [
        ("cells", ctypes.c_int64 * 3),
        ("lower", ctypes.c_double * 3),
        ("dx", ctypes.c_double),
        ("gravity", ctypes.c_double * 3),
        ("friction", ctypes.c_double * 6),
        ("J_low", ctypes.c_double),
        ("J_high", ctypes.c_double),
        ("allowed", ctypes.c_double),
        ("flip_ratio", ctypes.c_double),
        ("contact", ctypes.c_int * 6),
        ("advect_particle", ctypes.c_int),
        ("on_leave", ctypes.c_int * 6),
    ]


SUMS = {
    "mass": 0, "momentum": slice(1, 4), "mass_moment": slice(4, 7), "angular_momentum": slice(7, 10), "kinetic": 10,
    "elastic": 11, "outside": 12, "out_of_range": 13, "clipped": 14, "clamped": 15, "frozen": 16,
}  # fmt: skip


class Report(ctypes.Structure):
    """`gpu_report` of csrc/mpm/gpu/launch.h."""

    _fields_ = [("sum", ctypes.c_double * 17), ("most", ctypes.c_double * 9)]


@dataclass
class State:
    """By row, in float64."""

    x: np.ndarray
    v: np.ndarray
    C: np.ndarray
    F: np.ndarray  # or J, (n, 1)
    history: np.ndarray

    @classmethod
    def of(cls, sim: mpm.Simulation, material: mpm.materials.Material) -> State:
        """Of a simulation with one material."""
        p, n, row = sim.particles, len(sim.particles), material._row
        x, v, C = (np.array(a, dtype=float) for a in (p.x, p.v, p.C))
        F = np.array(p.J if row["strain"] == "J" else p.F, dtype=float).reshape(n, -1)
        fields = [np.array(getattr(p, one["name"]), dtype=float).reshape(n, -1) for one in row["history"]]
        return cls(x, v, C, F, np.concatenate([np.zeros((n, 0)), *fields], axis=1))

    def difference(self, other: State) -> dict[str, float]:
        """In the Euclidean norm, relative to the other."""
        found = {}
        for name, value in vars(other).items():
            size = float(np.linalg.norm(value))
            found[name] = float(np.linalg.norm(getattr(self, name) - value)) / size if size else 0.0
        return found

    def hash(self) -> int:
        return hash(b"".join(a.tobytes() for a in (self.x, self.v, self.C, self.F, self.history)))


@dataclass
class Emulated:
    """The state of a simulation with one material, on the emulated GPU."""

    sim: mpm.Simulation
    material: mpm.materials.Material
    dtype: str
    order: str = "forward"
    particles_collide: bool = True
    transfer: str = "apic"
    flip_ratio: float = 0.0
    advect_particle: bool = False
    _at: int = field(init=False)

    def __post_init__(self) -> None:
        sim, row = self.sim, self.material._row
        state = State.of(sim, self.material)
        self.dim = state.x.shape[1]
        self.shapes = [a.shape for a in vars(state).values()]
        self._library = library(
            tuple(macros(self.material, self.dtype, self.dim, bool(sim._colliders), self.transfer))
        )
        scene = Setup(
            dx=sim.dx, J_low=1e-3, J_high=1e3, allowed=0.5 + (1e-5 if self.dtype == "float32" else 1e-9)
        )
        scene.flip_ratio, scene.advect_particle = self.flip_ratio, self.advect_particle
        for axis in range(self.dim):
            low, high = sim.scene.lower[axis], sim.scene.upper[axis]
            scene.lower[axis] = low
            scene.cells[axis] = round((high - low) / sim.dx)
            scene.gravity[axis] = sim.scene.gravity[axis]
            for face in (2 * axis, 2 * axis + 1):
                wall = sim.scene.walls[FACES[face]]
                scene.contact[face] = CONTACTS.index(wall.contact)
                scene.friction[face] = wall.friction
        parameters = np.array([*self.material.parameters, self.material.density], dtype=float)
        p = sim.particles
        arrays = [
            *vars(state).values(),
            np.array(p.mass, dtype=float),
            np.array(p.volume, dtype=float),
            parameters,
        ]
        assert row["name"] != "rigid"
        self._at = self._library.gpu_new(ctypes.byref(scene), len(p), *map(_pointer, arrays))
        self._boundary = Boundary(sim) if sim._colliders else None
        self._collider_count = 0
        if self._boundary:
            depth = 0.5 * sim.dx if self.particles_collide else -1
            self._collider_count = self._boundary.give(self._library, self._at, depth)

    def step(self, dt: float, steps: int) -> int:
        self._library.gpu_order(ORDERS.index(self.order))
        return self._library.gpu_step(self._at, dt, steps)

    def state(self) -> State:
        arrays = [np.empty(shape) for shape in self.shapes]
        self._library.gpu_read(ctypes.c_void_p(self._at), *map(_pointer, arrays))
        return State(*arrays)

    def measure(self) -> tuple[dict, np.ndarray, int]:
        """Sums over the particles; the impulse of the walls in the last step; how often particles were sorted."""
        swept, passed, sorts = Report(), Report(), ctypes.c_int()
        self._library.gpu_measure(
            ctypes.c_void_p(self._at), ctypes.byref(swept), ctypes.byref(passed), ctypes.byref(sorts)
        )
        sums = np.array(swept.sum)
        found = {name: sums[place] for name, place in SUMS.items()}
        found["most"] = np.array(swept.most)
        return found, np.array(passed.sum[:3]), sorts.value

    def books(self) -> np.ndarray:
        """Impulse and torque of every collider, since the beginning: (colliders, 6)."""
        given = np.zeros((self._collider_count, 6))
        self._library.gpu_books(ctypes.c_void_p(self._at), _pointer(given))
        return given

    def __del__(self) -> None:
        if hasattr(self, "_at"):
            self._library.gpu_free(ctypes.c_void_p(self._at))


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
