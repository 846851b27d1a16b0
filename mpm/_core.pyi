"""The extension module: the C core as Python sees it. Private; `mpm` wraps it.

Arrays go in as C-contiguous buffers of exactly the stated dtype (the wrappers convert), and come out either as
`Field` (live) or as `bytes` (a copy, to be wrapped by `numpy.frombuffer`). d = 2 or 3, n = number of particles.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from mpm.base.fieldtable import Row

class SimulationError(RuntimeError):
    step: int
    time: float
    rows: list[int]  # at most 1000, ascending

class InstabilityError(SimulationError): ...

class ConvergenceError(SimulationError):
    residuals: list[float]

class EscapeError(SimulationError): ...
class BusyError(RuntimeError): ...
class DeviceError(SimulationError): ...

class Parameter(TypedDict):
    name: str
    unit: str
    low: float  # -inf: no limit
    low_open: bool
    high: float
    high_open: bool
    branches: bool  # the code of the law branches on its value
    meaning: str

class HistoryField(TypedDict):
    name: str
    unit: str
    rank: str  # "scalar" | "vector" | "symmetric" | "tensor"
    initial: float
    initial_parameter: str | None  # the parameter that new particles begin with instead
    low: float
    high: float
    closed: bool  # low and high themselves are allowed
    scales_volume: bool  # a factor of the whole volume ratio
    heat_capacity: str | None  # of a temperature: the parameter that is its heat capacity per rest volume
    meaning: str

class Law(TypedDict):
    name: str  # "fixed_corotated"
    variant_of: str | None  # the law that it is without an option
    strain: str  # "F" | "J": which of them it keeps
    viscous: bool  # its stress depends on the velocity gradient
    rigid: bool  # the particles of a material move as one body
    kinked: bool  # the slope of its stress jumps
    tangent: str | None  # "energy" | "mapped", with the return map | "moduli", with axes of its own | None
    return_map: bool
    parameters: list[Parameter]
    history: list[HistoryField]
    reference: str  # citation of the law

CUDA_LEAST_CAPABILITY: int  # of a GPU, times ten
FEWEST_PERIODIC_CELLS: int  # along an axis: the widest kernel touches no node twice
GROUP_COLUMNS: int  # of the groups of a snapshot
BOOK_COLUMNS: int  # of the books of a collider
MOTION_COLUMNS: int  # of the motion of a rigid body
BLOCK_SIDE_2D: int  # nodes of a block along an axis
BLOCK_SIDE_3D: int

class Option(TypedDict):
    """Range and words of an option; of one that is no number, the range means nothing."""

    float64: tuple[float, float, bool]  # least, largest, is it without the least one?
    float32: tuple[float, float, bool]
    whole: bool
    words: list[str]

class Contact(TypedDict):
    name: str
    wall: bool  # a wall may have it
    collider: bool
    frictional: bool
    rebounds: bool
    absorbs: bool  # has a restitution
    images: bool  # material continues beyond the face as images
    joins: bool  # both faces of an axis are one
    methods: list[str]  # "mpm", "sph", "fem"

def options() -> dict[str, dict[str, Option]]:
    """The options of all methods ("common") and of each ("mpm", "sph", "fem") that the core has, by name."""

def contacts() -> list[Contact]:
    """The contacts of walls and colliders."""

LARGEST_STRESS: float  # that a law returns, in double precision [Pa]

def laws() -> list[Law]:
    """The registry of constitutive laws, in its order."""

def core_fields() -> list[Row]:
    """The fields that every simulation has."""

def isas() -> list[str]:
    """Kernel sets this processor can run: "scalar" first, then from slowest to fastest; the last is the default."""

def build_info() -> dict[str, str]:
    """compiler, flags-independent facts: "compiler", "abi"."""

def snapshot_names() -> tuple[list[str], list[str]]:
    """Names of the entries of a snapshot's "numbers" and "counters"."""

def user_law(
    name: str,
    parameters: Sequence[float],
    history: Sequence[tuple[str, str, str, float, float, float, bool, bool]],
    J_low: float,
    J_high: float,
    evaluate: int,
    context: int,
    return_map: int,
    map_context: int,
    moduli: int,
    bound: float,
    kinked: bool,
) -> Any:
    """A law from addresses of functions (mpm_user_law.h), as `evaluate`, `return_map` and `add_material` take it
    instead of a name. It must outlive what uses it. A row of the history: name, unit, rank, initial, low, high,
    whether both are in its range, scales_volume. `moduli`: 0 written by the function, 1 numeric, 2 the bound [Pa]."""

def unfit(law: str, values: Any) -> tuple[int, str] | None:
    """The first row of values (n, k), all parameters but the density, that breaks a condition on several parameters,
    and the condition; None if there is none."""

def evaluate(
    law: Any,
    parameters: Sequence[float],
    F: Any,
    dim: int,
    isa: str,
    dtype: str,
    history: Any = None,
    velocity_gradient: Any = None,
    varying: Sequence[int] = (),
) -> tuple[bytes, ...]:
    """The law at each F ((m, d, d) of `dtype`): Kirchhoff stress tau (m, d, d), energy per rest volume (m,),
    out-of-plane tau_zz (m,) (zeros in 3-D), isolated-particle modulus (m,), longitudinal modulus (m,), all of
    `dtype`. A fluid takes J = det F. `history` ((m, components) of `dtype`) is what the law keeps besides, Jp of snow;
    by default what its row begins with. `velocity_gradient` ((m, d, d) of `dtype`, 1/s) is zero by default. Parameters
    of the ascending indices `varying` vary: their values are the last columns of the history."""

def return_map(
    law: Any,
    parameters: Sequence[float],
    F: Any,
    history: Any,
    dim: int,
    isa: str,
    dtype: str,
    dt: float = 0.0,
    velocity_gradient: Any = None,
    varying: Sequence[int] = (),
) -> tuple[bytes, bytes]:
    """The return map of an inelastic law at trial states F ((m, d, d) of `dtype`) and history ((m, components)): both
    after it. `dt` [s] is the step that led there, with this velocity gradient ((m, d, d) of `dtype`, 1/s), zero by
    default. Of a law that keeps J, det F is J. `varying` as for `evaluate`."""

def winding_numbers(vertices: Any, faces: Any, points: Any, threads: int) -> bytes:
    """Generalised winding number of the mesh, float64 (nv, 3) and int32 (nf, 3), at each of the points, float64
    (m, 3): float64 (m,)."""

def ray_crossings(vertices: Any, faces: Any, points: Any, threads: int) -> bytes:
    """Faces above each point, those that face up +1, those that face down -1: int32 (m,)."""

def mesh_distances(vertices: Any, faces: Any, points: Any, threads: int) -> tuple[bytes, bytes, bytes]:
    """Distance of each point to the nearest face (m,), which face it is, int32 (m,), and the weights of its corners
    at the nearest point (m, 3); at least one face."""

def hand_out(
    side: int, dx: float, middle: Any, filled: Any, around: Any, members: Any, x: Any
) -> tuple[bytes, bytes]:
    """Volumes (n,) [cells] of the parts of cells that are nearest to the particles x (n, d), and their first moments
    (n, d). Cells have a middle (m, d), rows of members around (m, 3^d) int32, and side^d sub-cells, whose filled shares
    are given for the first cells; the others are full. Members (rows, most) int32; -1: none."""

def draw_discs(
    column: Any,
    row: Any,
    near: Any | None,
    radius: float,
    window: tuple[int, int, int, int],
    threads: int,
    size: Any | None = None,
) -> bytes:
    """Which of the discs, float32 (n,) each, pixels, is seen at each pixel of the window (left, top, width, height):
    int32 (height, width), -1 for none. Their radii are radius (size + 1) / 256, `size` uint8 (n,); None: `radius`."""

def paint_discs(
    column: Any,
    row: Any,
    radius: float,
    window: tuple[int, int, int, int],
    seen: Any,
    brightness: Any,
    palette: Any,
    value: Any,
    fine: int,
    image: Any,
    threads: int,
    size: Any | None = None,
) -> None:
    """Paint what `draw_discs` found, int32 (height, width), into the image, uint8 (rows, columns, 3), on which `fine` x
    `fine` pixels of the window make one. A disc's colour is palette[brightness, value]: uint8 (2 k + 1, 2 k + 1), k the
    radius rounded up, by offset from the centre; (shades, 256, 3); and (n,)."""

def paint_triangles(
    column: Any, row: Any, corners: Any, value: Any, palette: Any, fine: int, image: Any
) -> None:
    """Fill triangles, int32 (m, 3) numbers of the points, float32 (n,) columns and rows [pixels], into the image, uint8
    (height, width, 3), on which `fine` x `fine` pixels make one. Colours are rows of the palette, uint8 (256, 3);
    rows are linear between the values of the points, uint8 (n,)."""

def relief_depths(
    column: Any,
    row: Any,
    near: Any,
    radius: float,
    window: tuple[int, int, int, int],
    seen: Any,
    fine: int,
    depth: Any,
    cover: Any,
    size: Any | None = None,
) -> None:
    """Write how near what `draw_discs` found comes at the pixels of an image, to `depth`, and which share of them it
    covers, to `cover`, float32 (rows, columns) both, within the window; `fine` x `fine` pixels of it make one."""

def shade_relief(
    image: Any,
    depth: Any,
    cover: Any,
    ground: Any | None,
    sunlit: Any,
    light: Any,
    threads: int,
    gloss: Any | None = None,
) -> None:
    """Multiply an image, uint8 (height, width, 3), by the light that falls on material, of which `depth` and `cover`
    say where it is, and on a ground, float32 (height, width) each; infinitely far where nothing is. `sunlit` is the
    nearness of the material as the sun sees it. `light`: the numbers of `mpm_relief_light`, float32 (38,). `gloss`,
    float32 (height, width): how much the material reflects, 0 to 1."""

def shape_kinds() -> list[str]:
    """Names of the nodes of which shapes are made; the order is that of their numbers."""

def shape_distance(dim: int, nodes: Any, numbers: Any, points: Any) -> tuple[bytes, bytes]:
    """Signed distance (m,) and normal (m, d) of a shape, int64 (k, 3) nodes in postfix order (kind, whether a map
    comes first, count of numbers) and their float64 numbers, at the points, float64 (m, d)."""

class Stepper(TypedDict):
    name: str
    formula: str
    order: int
    limit: float
    symplectic: bool
    implicit: bool
    advects: bool
    reference: str

def steppers() -> list[Stepper]:
    """The registry of steppers, in its order."""

def integrate(
    system: tuple[Any, ...],
    method: str,
    times: Any,
    x: Any,
    v: Any,
    energy: Any,
    dt: Any,
    steps: int,
    every: int,
) -> None:
    """Step the system from the first rows of x and v, float64 (r, ...), and fill the others, times (r,) and energy
    (r,), r = steps // every + 1. dt (1,) or (steps,). The system, with the inverse mass of every number:
    ("oscillator", inverse_mass, omega, damping),
    ("pairs", inverse_mass, d, mass (n,), bodies int32 (k, 2), numbers (k, 4), gravity (3,)), or
    ("asked", inverse_mass, object, x, v, f, p, q), whose methods force(t), linearize(t), multiply(a, b) and
    potential(t) read and write these arrays."""

def advect(field: tuple[Any, ...], method: str, times: Any, x: Any, dt: Any, steps: int, every: int) -> None:
    """The same for points x with a field: (name, three numbers) as csrc/ode/systems.h says, or ("asked", object, x, v)
    with the method rate(t)."""

class Field:
    """One live particle field: supports the buffer protocol (numpy.asarray makes a view of it)."""

    def copy(self) -> tuple[bytes, str, tuple[int, ...]]:
        """Bytes, format and shape, as it is now. Unlike a view it is no possible write: the next run has nothing
        to compare."""

class Colliders:
    """Colliders without a run, such as those of a recording."""

    def __init__(self, dim: int) -> None: ...
    @property
    def time(self) -> float:
        """0 s: nothing runs."""
    def add_collider(
        self,
        name: str,
        contact: str,
        friction: float,
        restitution: float,
        speeds: Sequence[float],  # (2,): pressure, shear [m/s]
        nodes: Any,
        numbers: Any,
        reference: Sequence[float],  # (3,)
        motion: str,  # "none" | "linear" | "rotation" | "sinusoid" | "keyframes" | "continued"
        vector: Sequence[float],  # (3,)
        frequency: float,
        keys: Any,  # float64 (k, 7): time, displacement, rotation vector
        friction_heat: float = 0.0,  # share of the heat of friction that the material gets
    ) -> None:
        """The shape as in `shape_distance`."""
    def collider_distance(self, index: int, points: Any, time: float) -> tuple[bytes, bytes]:
        """Signed distance (m,) and normal (m, d) of a collider, counted from 0, where it is at a time [s]."""

class Core:
    """The base of what computes for the solvers: a run of a method, with its rows. Made by the types of methods."""

    def add_material(
        self, law: Any, parameters: Sequence[float], varying: Sequence[int] = (), density: float = 0.0
    ) -> int:
        """Registers a material (a law with parameters); the index counts from 0. The last parameter of every law
        is not the density: mass comes with the particles, and `density` tells only which masses tell volumes; 0:
        unknown. Parameters of the ascending indices `varying` are fields of their names."""
    def add_collider(
        self,
        name: str,
        contact: str,
        friction: float,
        restitution: float,
        speeds: Sequence[float],  # (2,): pressure, shear [m/s]
        nodes: Any,
        numbers: Any,
        reference: Sequence[float],  # (3,)
        motion: str,  # "none" | "linear" | "rotation" | "sinusoid" | "keyframes" | "continued"
        vector: Sequence[float],  # (3,)
        frequency: float,
        keys: Any,  # float64 (k, 7): time, displacement, rotation vector
        friction_heat: float = 0.0,  # share of the heat of friction that the material gets
    ) -> None:
        """Between runs; the shape as in `shape_distance`."""
    def set_gravity(self, gravity: Sequence[float]) -> None:
        """(3,) [m/s2], between runs; the state stays as it is."""
    def set_friction(self, friction: Sequence[float]) -> None:
        """(6,), of the walls, between runs; unused where they have none."""
    def set_material(
        self, index: int, law: Any, parameters: Sequence[float], varying: Sequence[int] = ()
    ) -> None:
        """Other parameters of its law for a material, between runs; the same parameters vary."""
    def set_collider(
        self,
        name: str,
        contact: str,
        friction: float,
        restitution: float,
        speeds: Sequence[float],  # (2,): pressure, shear [m/s]
        nodes: Any,
        numbers: Any,
        reference: Sequence[float],  # (3,)
        motion: str,
        vector: Sequence[float],  # (3,)
        frequency: float,
        keys: Any,  # float64 (k, 7)
        friction_heat: float = 0.0,
    ) -> None:
        """As `add_collider`, in place of the collider of its name, which has the same contact."""
    def collider_distance(self, index: int, points: Any, time: float) -> tuple[bytes, bytes]:
        """Signed distance (m,) and normal (m, d) of a collider, counted from 0, where it is at a time [s]."""
    def delete_particles(self, mask: Any) -> int:
        """uint8 (n,): non-zero rows go. Returns how many went."""
    def seconds(self) -> dict[str, float]:
        """Seconds by the clock that all runs have spent, per phase of the method."""
    def step(self, n: int, pause: float = ...) -> None:
        """n whole steps, or as many as reach the time `pause` [s], without changing any of them."""
    def run(self, end: float, pause: float = ..., steps: int = ...) -> None:
        """Advance to exactly the time `end` [s], or, on the way, to the first step that reaches `pause` [s], by `steps`
        steps at most."""
    def add_load(self, name: str) -> None:
        """A load or held region, before colliders: the history has ``impulse:NAME`` and ``work:NAME``."""
    def step_forced(
        self,
        body_force: Any,  # float64 (n, d) [m/s2], with the forces of loads
        end: float,  # [s]
        first: Any = ...,  # int32 (n + 1,): the entries of row k are first[k] ... first[k + 1] - 1
        load: Any = ...,  # int32 (entries,)
        force: Any = ...,  # float64 (entries, d) [N]
        couple: Any = ...,  # float64 (entries, d, d) [N m]
        holds: Any = ...,  # int64 (n,): a bit for each load
        velocity: Any = ...,  # float64 (loads, d) [m/s], NaN where free
        heat: Any = ...,  # float64 (n,) [W/m3]
    ) -> None:
        """One step under what acts beside gravity, to the time `end` at most, see csrc/run/loads.h; each array may be
        None."""
    def hold(self, pieces: Callable[[], object], again: bool = ...) -> None:
        """Calls `pieces`; meanwhile calls from other threads raise BusyError: for a run in pieces. Within such a call a
        further one raises BusyError, too, unless `again`."""
    def snapshot(self, fields: bool = ...) -> dict[str, bytes]:
        """The complete state but for materials, colliders and meshes; the arrays by name that csrc/run/snapshot.h says.
        The `fields` of particles, by far the most of it, may be left out."""
    def snapshot_rows(self, name: str, first: int, count: int) -> bytes:
        """A field of `count` particles from number `first` on, in the order of snapshots, as of the last `snapshot`;
        the caller holds the core since then."""
    def restore(self, arrays: dict[str, Any]) -> None:
        """What `snapshot` gave, as buffers, in an object that has materials and colliders but no particles yet. A
        field may be an iterator over buffers of consecutive particles. A ValueError, and nothing has changed, if it is
        no state of such an object."""
    def stable_dt(self) -> tuple[float, str, int]:
        """(bound [s], limit, row or -1)."""
    def field(self, name: str) -> Field:
        """The current buffer of a field; the same object until particles are added or deleted."""
    def fields(self) -> list[Row]:
        """The table of fields; the history of a law is in it from the registration of its first material on."""
    def add_field(self, name: str, unit: str, rank: str, initial: float) -> None:
        """A field that no step reads or changes."""
    def totals(self) -> dict[str, Any]:
        """time, mass, momentum, center_of_mass, angular_momentum, kinetic, elastic, gravitational: floats or
        lists of d floats (angular_momentum: 1 or 3); dissipation: plastic, viscous, heat, or None where a simulation
        does not keep them."""
    def written(self) -> list[str]:
        """Names of the fields whose views may have been written since the last call."""
    def history_names(self) -> list[tuple[str, int]]:
        """(name, columns)."""
    def history_array(self, index: int) -> bytes:
        """float64 (records, columns) of an entry of `history_names`."""
    def health(self) -> dict[str, int]: ...
    @property
    def time(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def next_id(self) -> int: ...
    @property
    def dt(self) -> float: ...
    @property
    def particles(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @threads.setter
    def threads(self, threads: int) -> None: ...

class Simulation(Core):
    def __init__(self, **options: Any) -> None:
        """By the rows of `options` for all methods and for ``"mpm"``."""
    def add_particles(
        self,
        x: Any,
        v: Any,
        C: Any | None,
        F: Any | None,
        volume: Any,
        mass: Any,
        material: int,
        left: int = 0,
        before: int = -1,
        after: int = -1,
    ) -> None:
        """float64 (m, d), (m, d), (m, d, d), (m, d, d), (m,), (m,). A fluid takes J = det F. Volume 0: from the
        density of the grid. `left` more particles of the body follow in further calls, and all of them are there after
        the last one, whose `left` is 0; another call between them, or an error, drops what came before. Where memory is
        distributed, `before` and `after` are the particles that other processes add in the same call beside the own
        ones; without them, all processes have the same particles, and each keeps its share."""
    def grid(self) -> tuple[bytes, bytes, bytes]:
        """x (m, d) float64, mass (m,), v (m, d) of the active nodes of the last step."""
    def name_joint(self, material: int, name: str) -> None:
        """Give the history columns of the impulse and torque of the joint of a rigid body."""
    def set_form(
        self,
        material: int,
        nodes: Any,
        numbers: Any,
        reference: Sequence[float],
        points: Any,
        mass: float,
        own: Sequence[float],
        joint: Sequence[float],
    ) -> None:
        """What of a rigid body never changes: its shape, the points of its surface, its joint (csrc/rigid/body.h)."""
    def rigid_forces(
        self,
    ) -> list[tuple[int, int, int, tuple[float, float, float], tuple[float, float, float]]]:
        """Of the last step: material, kind of the partner (wall, collider, body, nodes, joint), its index, the force
        and the torque about the centre of mass."""

    def set_layer(self, material: int, layer: int) -> None:
        """Of a material without particles, in a simulation with contact."""
    def set_contact(self, contact: str, friction: float, adhesion: float) -> None:
        """How layers touch that have no contact of their own."""
    def set_pair(
        self, a: int, b: int, contact: str | None, friction: float, adhesion: float, name: str | None
    ) -> None:
        """The contact of two layers, or that of all; a name adds the column of their impulse to the history."""
    def set_thermal(
        self,
        material: int,
        conductivity: float,
        specific_heat: float,
        temperature: float,
        density: float,
        expansion: float,
        heating: float,
        liquid: tuple[float, float, float, float, float],
        scales: tuple[tuple[int, tuple[float, ...], tuple[float, ...]], ...],
    ) -> None:
        """Lets a material without particles conduct heat, in a simulation with heat. `scales`: parameters that follow
        the temperature, which vary, with temperatures [K] and values."""
    def set_pore(
        self,
        material: int,
        mobility: float,
        storage: float,
        biot: float,
        density: float,
        water_density: float,
        pressure: float,
        surface: int,
        /,
    ) -> None:
        """Lets a material without particles hold pore water, in a simulation with it."""
    def set_solute(
        self,
        material: int,
        diffusivity: float,
        concentration: float,
        swelling: float,
        stretch: tuple[tuple[int, tuple[float, ...], tuple[float, ...]], ...],
        scales: tuple[tuple[int, tuple[float, ...], tuple[float, ...]], ...],
        /,
    ) -> None:
        """Lets a material without particles hold a solute, in a simulation with it. `stretch`: empty, or one table of
        concentrations [mol/m³] and stretches, in the place of a swelling; `scales` as of `set_thermal`."""
    def set_heat_wall(self, face: int, kind: str, value: float, coefficient: float) -> None:
        """A face with a given "temperature" [K], a "flux" into the material [W/m²], or a "transfer" from a temperature
        with a coefficient [W/(m² K)]; before the first particles."""
    def set_heat_collider(self, collider: int, kind: str, value: float, coefficient: float) -> None:
        """The same, of a collider, between steps."""
    def memory(self) -> dict[str, int]:
        """Bytes held: "particles", "grid", "views", "colliders"."""
    def lend(
        self, name: str, /
    ) -> tuple[object, int, tuple[int, ...], tuple[int, ...], str, tuple[int, int], int]:
        """An array of a GPU, a field or "row": a loan that keeps its memory, its address, shape, strides in bytes,
        format, kind and number of its device as DLPack counts them, and `changes` at the time.

        Raises
        ------
        KeyError
            The simulation is on no GPU, or that has no such field.
        """
    def changes(self) -> int:
        """How often the arrays of the GPU have changed."""
    def has_image(self, law: str, varies: bool, collides: bool, /) -> bool:
        """Has a driver of `use_gpu` the image of the law, for numbers as parameters or for those that vary, which knows
        colliders if it must?"""
    def use_gpu(self, law: str, varies: bool, driver: object, /) -> None:
        """Runs a simulation without particles, whose kernels have one lane, on the GPU of a capsule: the driver of
        csrc/mpm/gpu/driver.h, which it takes, with the image of a law. Then adds images of other laws, and images that
        know colliders in the place of those that do not."""
    def _use_odd_backend(self) -> None:
        """For tests: runs a simulation without particles on the back end of csrc/mpm/odd_backend.h."""
    def _new_team(self, processes: int, /) -> object:
        """For tests: a team of threads (csrc/ranks/threads.h), one per process."""
    def _join_team(self, team: object, process: int, /) -> None:
        """For tests: lets later runs sweep the tasks of one process, while all others run, too."""
    def join_team(self, team: object, processes: int, process: int, distributed: bool = ..., /) -> None:
        """Later runs sweep the tasks of one process, while all others run, too. They call ``exchange([(process, out,
        in), ...])``, ``reduce(sums, most)`` and ``answer()`` of the team (`mpm.solver.team.Team`) with memory of the
        core as memoryviews. `distributed`, without particles yet: the process has those of its own tasks alone, and
        cannot leave; all processes make every call together that concerns particles."""
    def leave_team(self) -> None:
        """Later runs sweep all tasks again."""
    def failing_process(self) -> int:
        """Of the team: the lowest process whose own failure has ended a run since `join_team`; -1: none."""
    def holder(self, row: int, /) -> int:
        """The process of the team that moves the particle of a row, after a run; -1: there is none, or no team."""
    def migrations(self) -> tuple[int, int, int]:
        """Of all runs with a team: particles that binnings have moved to other processes, those of them that had
        crossed a cut, and the processor time of own tasks up to the last binning [ns]."""

class SPH(Core):
    def __init__(self, **options: Any) -> None:
        """By the rows of `options` for all methods and for ``"sph"``."""
    def add_particles(self, x: Any, v: Any) -> None:
        """float64 (m, d), (m, d)."""
    def drop_collider(self) -> None:
        """Takes the last collider away."""
    def fill_collider(self, index: int, low: Sequence[float], high: Sequence[float]) -> int:
        """Make the particles of a collider, within a box of its own space [m]."""
    def interpolate(self, x: Any, quantity: Any, rank: str, is_velocity: bool) -> bytes:
        """float64 (m, components) at the points x (m, d), of float64 (n, components)."""
    def memory(self) -> dict[str, int]:
        """Bytes held: "particles", "lists", "views", "colliders"."""

class FEM(Core):
    def __init__(self, **options: Any) -> None:
        """By the rows of `options` for all methods and for ``"fem"``."""
    def add_nodes(self, x: Any, v: Any, mass: Any, volume: Any, material: Any) -> None:
        """float64 (n, d), (n, d), (n,), (n,), int32 (n,)."""
    def set_mesh(self, rest: Any, nodes: Any, material: Any) -> None:
        """Positions at rest of all nodes, float64 (n, d); the nodes, int32 (m, d + 1), and the material, int32 (m,), of
        the elements. Once, before the first step or after `restore`."""
    def set_dashpots(self, dashpots: Any) -> None:
        """float64 (n, d) [kg/s], of absorbing walls; once, after the mesh."""
    def set_parameters(self, row: Any, values: Any) -> None:
        """After the mesh, where parameters vary: the row of each of its elements, int32 (m,), and by row all parameters
        in the order of `element_fields` without "material", float64 (m, k)."""
    def element_field(self, name: str) -> Field:
        """As `field`, of the elements."""
    def element_fields(self) -> list[Row]:
        """As `fields`, of the elements: "material", then the parameters that vary."""
    def forces(self) -> bytes:
        """Of the elements on the nodes (n, d), float64 [N]."""
    def memory(self) -> dict[str, int]:
        """Bytes held: "nodes", "views", "elements", "colliders"."""

def cuda_devices(library: str = ..., /) -> tuple[int, list[tuple[str, int, int, int]]]: ...
def dlpack(loan: object, versioned: bool, /) -> object:
    """A capsule of DLPack for an array that a core has lent."""

def cuda_driver(image: bytes, ordinal: int, library: str = ..., /) -> object: ...
