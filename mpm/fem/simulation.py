"""`mpm.fem.Simulation`: a scene of elastic bodies by linear finite elements."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check, advice, fieldtable
from mpm.base._check import FloatArray, Unset
from mpm.base.options import takes
from mpm.base.streamed import Given, whole
from mpm.errors import SimulationError
from mpm.fem import elements as _elements
from mpm.fem import meshing
from mpm.fem.bodies import (
    Meshed,
    Part,
    check_mesh,
    kept_materials,
    materials_of,
    mean_edge,
    mesh_bodies,
    refuse_rebounds,
    refuse_scene,
    restored_parts,
    warn_of_gaps,
)
from mpm.fem.checkup import ElementLooks
from mpm.fem.nodes import Nodes
from mpm.fem.options import REFERENCES, Options, new_core
from mpm.handles.solver import Solver
from mpm.io.description import listing, mapping
from mpm.io.kept import InPieces, Kept
from mpm.materials.admission import refuse_taken
from mpm.materials.laws import Material
from mpm.scene import scene as _scene
from mpm.scene import settings
from mpm.scene.colliders import place, prepare, warn_of_particles_inside, warn_of_thin_or_missing
from mpm.scene.heat import refuse_heat
from mpm.scene.loads import Traction, inside, mechanical
from mpm.scene.pores import refuse_pore
from mpm.scene.solutes import refuse_solute
from mpm.scene.walls import ABSORBING
from mpm.scene.waves import speeds_of
from mpm.shapes.cells import Cells, find_cells
from mpm.solver import derived, totals
from mpm.solver.keeping import Format, T, arrays_of, hand_over, held, layout_of_rows
from mpm.solver.loading import Attached, attach_all, checked, face_areas
from mpm.solver.options import CommonArguments
from mpm.solver.particles import Copies
from mpm.solver.state import State
from mpm.solver.stepping import StableDt

if TYPE_CHECKING:
    from mpm.integrators import System

ON = ("nodes", "elements")
OF_ELEMENTS = ("J", "F")  # fields of elements that are quantities
OF_NODES = ("speed", "kinetic_energy", "displacement")  # quantities that elements do not have


@takes(Options, CommonArguments, hints=advice.OF_METHODS_ALONE)
class Simulation(Solver, kind="fem"):
    """A scene of elastic bodies by linear finite elements: triangles in plane strain, tetrahedra in 3-D.

    Every body is meshed once, see `mpm.fem.mesh`; the forces come from the deformation of the elements. Bodies do not
    touch each other, and none are added between steps. They meet walls and colliders: the collision rule acts on nodes
    that are inside a collider or beyond a face of the domain. So a sticky collider clamps the nodes in it. The scene's
    `body_force` loads nodes. Where a wall and a collider want the same node, the wall holds it. A mirror wall lets no
    node at it cross or leave. A node that is beyond a face by more than the spacing raises `mpm.EscapeError`. Linear
    triangles and tetrahedra are stiff in bending: choose several of them across the thickness.

    A parameter that varies, see `mpm.materials`, has one value per element: an array over the elements of a body, in
    the order of `mpm.fem.mesh`, or a function of x that is evaluated at their centroids. ``sim.elements["E"]`` is live
    then.

    Parameters
    ----------
    scene : Scene
        Copied; later changes of the scene have no effect. Periodic walls are refused, and so are materials other than
        elastic solids. A body with F, which must be one matrix, is placed as it is: the shape is the deformed
        body, and F⁻¹ leads to its rest shape. Its mass is density times the volume of the mesh over det F; in
        `mpm.Simulation` that volume is the volume at rest, and the mass is not divided.
    spacing : float, optional
        Size of the cells that fill bodies [m]. `mpm.shapes.Cells` bring their own; if all bodies do, the default is the
        mean length of the edges. A mesh of a curved shape has not quite its volume, and its body not quite its mass:
        that of a ball 3.2, 6.4 and 9.6 cells wide is 1.34, 1.19 and 1.06 times as large. ``repr`` states the error;
        `mpm.doctor` says where it is large.
    integrator : {"symplectic-euler", "linearly-implicit-euler"}
        How a step advances time.

        - ``"symplectic-euler"``: explicit, v ← v + dt a(x), x ← x + dt v.
        - ``"linearly-implicit-euler"``: one linear solve for the velocity at the end of the step, (M + dt² K + dt D)
          v' = M v + dt f(x), with the stiffness K = Σ R K_e Rᵀ of the rotated elements at rest (`FibreReinforced`: the
          present one). No bound of stiffness limits the step, only motion and gravity, see `stable_dt`, so give `dt` or
          `max_dt`. It damps what dt does not resolve: order 1. Strong compression and stretch change the true
          stiffness, and a large step may then oscillate. Nodes are held that are in contact when the step begins;
          others may enter a collider by the distance that they move in one step.
    tolerance : float, optional
        Only ``"linearly-implicit-euler"``: the residual of its solve over that of the velocities at the beginning of
        the step; 1e-12 (float32: 1e-6) to 0.1, default 1e-6. Momentum is conserved to the tolerance.
    max_iterations : int, optional
        Only ``"linearly-implicit-euler"``: of the conjugate gradients, default 2000. A step that needs more is halved
        (``dt="auto"``), or raises `mpm.ConvergenceError`. ``health["products"]`` counts them.
    damping : (float, float)
        Rayleigh damping D = a M + b K: a [1/s], b [s]. K is the stiffness with the moduli at rest, applied to the
        rate of Green's strain, so that it resists no rigid motion.
    local_damping : float, optional
        Local damping of Cundall (1987) for states of rest, 0 to 0.95: nodes lose this share of the force out of balance
        where it would speed them up, and gain it where it slows them down, component by component. Only explicit steps.
    dt : "auto" or float
        Time step [s]. ``"auto"`` takes at most 0.9 of the bound of the elements, see `stable_dt`, 0.4 with a law whose
        stress has a kink (`mpm.materials.FibreReinforced`). It keeps a step as long as it can, because a step that
        follows the vibrations makes them grow, and halves an explicit step in which an element would become more than
        1.6 times as stiff or as soft. A fixed dt above the bound raises `mpm.InstabilityError` before the step that
        would use it.
    {common}
    dtype : {"float64", "float32"}
        Precision.
    threads : int, optional
        Default `mpm.get_num_threads`, but at most one per 4,096 nodes. Results do not depend on it.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type, shape or range; the message names it, its value and the allowed range.

    Warns
    -----
    UserWarning
        Nodes start inside a collider that is no clamp, or elements in an earlier body; a collider is thinner than two
        cells, or outside of the domain; `mpm.shapes.Cells` touch each other without sharing vertices.

    References
    ----------
    See `Simulation.cite`.
    """

    __slots__ = ("_fixed", "_materials", "_numerics", "_parts", "_rest", "_shapes")

    _core: _core.FEM
    _rows_are = "nodes"
    _resolution = "spacing"
    _takes_loads = True
    _looks = ElementLooks
    _instead = advice.OF_FEM

    def __init__(
        self,
        scene: _scene.Scene,
        *,
        spacing: float | None = None,
        integrator: str = "symplectic-euler",
        tolerance: float | Unset = Unset(1e-6),
        max_iterations: int | Unset = Unset(2000),
        damping: tuple[float, float] = (0, 0),
        local_damping: float = 0.0,
        **common: Unpack[CommonArguments],
    ) -> None:
        if not isinstance(scene, _scene.Scene):
            raise _check.wrong_type("scene", scene, "an mpm.Scene")
        chosen = Options.checked(scene, {**locals(), **common})
        refuse_scene(scene)
        materials = materials_of(scene)
        meshed = mesh_bodies(scene, chosen.spacing or None, chosen.dtype, materials)
        if spacing is None:
            chosen = replace(chosen, spacing=mean_edge(meshed.rest, meshed.nodes))
            chosen.refuse_coarse(scene)
        self._begin(scene._new_run(), chosen, materials)
        volume = meshing.volumes(meshed.rest, meshed.nodes)
        mass = meshing.spread(meshed.density * volume, meshed.nodes, len(meshed.x))
        volume = meshing.spread(volume, meshed.nodes, len(meshed.x))
        self._core.add_nodes(meshed.x, meshed.v, mass, volume, meshed.node_material)
        self._set_mesh(
            meshed.rest,
            meshed.nodes,
            meshed.element_material,
            meshed.density,
            meshed.varying,
            meshed.parts,
        )
        self._attached = attach_all(self)
        self._warn_of_places(scene, meshed)

    def _begin(self, scene: _scene.Scene, options: Options, materials: Sequence[Material]) -> None:
        """Begin with a core that has no nodes yet."""
        self._numerics, self._materials = options, tuple(materials)
        core = new_core(scene, options)
        for load in mechanical(scene.loads):
            core.add_load(load.name)
        for number, material in enumerate(materials):
            refuse_taken(material, core.element_fields(), materials[:number])
            core.add_material(*material._core_arguments)
        prepared = [prepare(one, scene.lower, scene.upper, options.spacing) for one in scene.colliders]
        super().__init__(core, scene, colliders=place(core, prepared), threads=options.threads)

    def _set_mesh(
        self,
        rest: FloatArray,
        nodes: npt.NDArray[np.int32],
        material: npt.NDArray[np.int32],
        density: FloatArray,
        varying: Mapping[str, FloatArray],
        parts: tuple[Part, ...],
    ) -> None:
        """Hand the mesh to the core, in an order in which neighbours follow each other."""
        order = meshing.order_of(rest, nodes)
        self._core.set_mesh(rest, np.ascontiguousarray(nodes[order]), np.ascontiguousarray(material[order]))
        if varying:
            columns = [varying[name] for name in _elements.Parameters(self._core).units]
            values = np.stack(columns, axis=1).astype(np.float64)
            self._core.set_parameters(order.astype(np.int32), np.ascontiguousarray(values))
        volume = meshing.volumes(rest, nodes)
        self._rest, self._parts = rest, parts
        self._shapes: FloatArray | None = None
        self._set_dashpots(rest, nodes, density)
        self._fixed = _elements.fixed(nodes, volume, density * volume, material)

    def _inverse_shapes(self) -> FloatArray:
        """D_m^-1 (m, d, d) of the elements: 72 bytes of each in 3-D, which a run does not need."""
        if self._shapes is None:
            self._shapes = _elements.inverse_shapes(self._rest, self._fixed["nodes"])
        return self._shapes

    def _set_dashpots(self, rest: FloatArray, nodes: npt.NDArray[np.int32], density: FloatArray) -> None:
        """Give the nodes of faces that lie on absorbing walls at rest their dashpots, ρ c times their area."""
        scene, dashpots = self._scene, np.zeros_like(rest)
        absorbing = [k for k, wall in enumerate(scene.walls.values()) if wall.contact == ABSORBING]
        if not absorbing or not len(nodes):
            return
        faces, element = _elements.boundary_faces(nodes, of=True)
        corners = rest[faces]
        area = np.linalg.norm(face_areas(corners), axis=1)
        for k in absorbing:
            axis, end = k // 2, (scene.lower, scene.upper)[k % 2][k // 2]
            on = (np.abs(corners[:, :, axis] - end) < 1e-6 * self.spacing).all(axis=1)
            pressure, shear = speeds_of(scene, [*scene.walls][k])
            speeds = np.where(np.arange(rest.shape[1]) == axis, pressure, shear)
            share = (density[element] * area)[on] / rest.shape[1]
            for corner in range(rest.shape[1]):
                np.add.at(dashpots, faces[on, corner], share[:, None] * speeds)
        self._core.set_dashpots(dashpots)

    def _warn_of_places(self, scene: _scene.Scene, meshed: Meshed) -> None:
        for placed in self._colliders:
            warn_of_thin_or_missing(placed, scene.lower, scene.upper, self.spacing, "spacing")
        centres = meshed.x[meshed.nodes].mean(axis=1)
        for index, (body, part) in enumerate(zip(scene.bodies, meshed.parts, strict=True)):
            warn_of_gaps(body)
            own = slice(part.first_element, part.first_element + part.elements)
            _scene.warn_of_overlaps(body, centres[own], scene.bodies[:index], "elements")
            rows = slice(part.first_node, part.first_node + part.nodes)
            warn_of_particles_inside(self._colliders, meshed.x[rows], body.name, self.spacing, "nodes")

    # ---- keeping ---------------------------------------------------------------------------------------

    def _snapshot(self, *, streamed: bool = False) -> Kept:
        rows = {row["name"]: row for row in self._core.fields()}
        layout = layout_of_rows(self._core, self.dimension, self.dtype)
        given = arrays_of(self._core, lambda _: layout, streamed=streamed)
        given["history"] = whole(given["history"]).reshape(-1)
        arrays: dict[str, Given] = {
            f"{'field' if name in rows else 'run'}.{name}": array for name, array in given.items()
        }
        arrays |= {
            "rest": self._rest,
            "nodes": self._fixed["nodes"],
            "element_material": self._fixed["material"],
        }
        parameters = _elements.Parameters(self._core, live=False)
        arrays |= {f"element.{name}": parameters[name] for name in parameters.units}
        if any("density" in material._varies for material in self._materials):
            arrays["element_density"] = self._fixed["mass"] / self._fixed["volume"]
        for number, attached in enumerate(self._attached):
            arrays |= {f"load{number}.{name}": array for name, array in attached.items()}
        user = [fieldtable.declared(row) for row in rows.values() if row["owner"] == "user"]
        numbers: dict[str, Any] = {
            "options": self._numerics.described(),
            "parts": [asdict(part) for part in self._parts],
            "fields": user,
        }
        return Kept(copy.copy(self._scene), numbers, arrays)

    def _with_snapshot(self, use: Callable[[Kept], T], /) -> T:
        return held(self._core, lambda: use(self._snapshot(streamed=True)), again=True)

    @staticmethod
    def _format() -> Format:
        return InPieces

    @classmethod
    def _of(cls, kept: Kept, threads: int | None, /) -> Self:
        self = cls.__new__(cls)
        scene = kept.scene
        fields = {name: array for name, array in kept.arrays.items() if name.startswith("field.")}
        arrays = {name: whole(array) for name, array in kept.arrays.items() if name not in fields}
        options = replace(
            Options.restored(scene, mapping(kept.numbers["options"], "options")), threads=threads
        )
        refuse_scene(scene)
        try:
            rest, nodes, material = (arrays.pop(name) for name in ("rest", "nodes", "element_material"))
            materials = kept_materials(scene, kept.numbers["parts"], material)
            self._begin(scene, options, materials)
            attached = [
                {
                    name.partition(".")[2]: arrays.pop(name)
                    for name in [*arrays]
                    if name.startswith(f"load{number}.")
                }
                for number in range(len(scene.loads))
            ]
            density, varying = self._popped(arrays, material)
        except KeyError as missing:
            raise ValueError(f"{missing} is missing") from None
        for row in listing(kept.numbers["fields"], "fields"):
            self._core.add_field(row["name"], row["unit"], row["rank"], float(row["initial"]))
        check_mesh(scene.dimension, len(self._materials), rest, nodes, material)
        hand_over(
            self._core, {name.partition(".")[2]: array for name, array in (*arrays.items(), *fields.items())}
        )
        parts = restored_parts(kept.numbers["parts"], scene, self._core.particles, len(nodes))
        rest, nodes, material = (
            np.require(array, requirements=["C", "A"]) for array in (rest, nodes, material)
        )
        self._set_mesh(rest, nodes, material, density, varying, parts)
        self._attached = self._checked(attached)
        try:
            self._core.totals()
        except SimulationError as error:  # no run saves such a state
            raise ValueError(str(error)) from error
        return self

    def _popped(
        self, arrays: dict[str, npt.NDArray[Any]], material: npt.NDArray[Any]
    ) -> tuple[FloatArray, dict[str, npt.NDArray[Any]]]:
        """Take the density of the elements and the parameters that vary out of the arrays of a file.

        Raises
        ------
        KeyError, ValueError
            One is missing, or is not what it must be.
        """
        varying = {
            name: arrays.pop(f"element.{name}") for name in _elements.Parameters(self._core, live=False).units
        }
        densities = [one.density for one in self._materials]
        if any("density" in one._varies for one in self._materials):
            density = arrays.pop("element_density")
            good = density.dtype == np.float64 and bool((density > 0).all() and np.isfinite(density).all())
        else:
            density, good = np.array(densities)[material], True
        for values in varying.values():
            good &= values.dtype == self.dtype and values.shape == material.shape
        if not good or density.shape != material.shape:
            raise ValueError("a parameter of the elements is out of range, or not one for each")
        return density, varying

    def _admit(self, scene: _scene.Scene) -> None:
        refuse_rebounds(scene)
        refuse_heat(scene, "mpm.fem")
        refuse_pore(scene, "mpm.fem")
        refuse_solute(scene, "mpm.fem")

    def _options(self) -> dict[str, Any]:
        return {"dx": self.spacing, **self._numerics.described()}

    def _settings(self) -> tuple[settings.Setting, ...]:
        scene = self._scene
        return (*settings.of_scene(scene), *settings.of_contacts(scene), *self._numerics.settings())

    def _rebuilt(self, changes: Mapping[str, Any]) -> Self:
        options = self._numerics.changed(changes)
        return type(self)(settings.changed_scene(self._scene, changes), threads=self.threads, **options)

    def _checked(self, attached: Sequence[Mapping[str, Any]]) -> tuple[Attached, ...]:
        """What a file says loads act on."""
        given = checked(self._scene.loads, attached, self.dimension)
        for one in given:
            faces = one.get("faces", np.zeros(0))
            if len(faces) and not (faces.min() >= 0 and faces.max() < len(self._rest)):
                raise ValueError("a load acts on nodes that do not exist")
        return given

    def _attach_traction(self, load: Traction) -> Attached:
        part = next(part for part in self._parts if part.name == load.body)
        cells = self._fixed["nodes"][part.first_element : part.first_element + part.elements]
        faces = _elements.boundary_faces(cells).astype(np.int64)
        x = np.asarray(self.particles._copy("x"), dtype=np.float64)
        chosen = inside(load.where, x[faces].mean(axis=1), load.name)
        if not chosen.any():
            raise ValueError(
                f"where of {load.name!r}: none of the {len(faces)} faces of {load.body!r} has its middle in this region"
            )
        faces = np.ascontiguousarray(faces[chosen])
        return {"faces": faces, "area": face_areas(x[faces])}

    # ---- the run ---------------------------------------------------------------------------------------

    def _rows(self) -> tuple[int, int]:
        return self._core.particles, 0

    def _limit(self) -> str:
        return f" (limit: {self.stable_dt().limit})" if not self._numerics.dt else ""

    def stable_dt(self) -> StableDt:
        """The bound of the time step in the present state, with its limit and its node.

        The frequencies of the mesh obey ω² ≤ (d + 1) max_i Σ_e V_e M_e |∇N_i|²/m_i, where M_e bounds the modulus of
        waves in the element; dt = 2/ω then, or less with damping. The bound is rigorous where the law resists every
        small deformation, as at rest. Its limit is ``"wave"``; implicit steps do not have it. No node moves farther
        than `spacing` in a step, so motion and gravity bound steps of both kinds: dt ≤ spacing/max |v_a| (``"motion"``)
        and dt ≤ √(spacing/|g|) (``"acceleration"``). It leaves out colliders: a step in which one near the mesh would
        move farther than `spacing` is refused, as by `mpm.Simulation`. `mpm.doctor` names fast colliders.
        """
        dt, limit, row = self._core.stable_dt()
        return StableDt(dt, limit, None if row < 0 else row)

    # ---- what it says ----------------------------------------------------------------------------------

    @property
    def spacing(self) -> float:
        """Size of cells [m]."""
        return self._numerics.spacing

    @property
    def dtype(self) -> str:
        """``"float64"`` or ``"float32"``."""
        return self._numerics.dtype

    @property
    def materials(self) -> tuple[Material, ...]:
        """The materials in order of first use; ``particles.material`` indexes them."""
        return self._materials

    @property
    def particles(self) -> Nodes:
        """The nodes as live arrays."""
        return Nodes(self._core)

    @property
    def elements(self) -> _elements.Elements:
        """The elements at the present positions."""
        return self._elements_at(self.particles._copy("x"), live=True)

    def _elements_at(self, x: npt.NDArray[Any], live: bool = False) -> _elements.Elements:
        parameters = _elements.Parameters(self._core, live)
        return _elements.Elements(
            np.asarray(x, dtype=np.float64), self._inverse_shapes, self._fixed, parameters
        )

    @property
    def _of_elements(self) -> tuple[str, ...]:
        """Fields of the elements that are quantities."""
        return (*OF_ELEMENTS, *_elements.Parameters(self._core).units)

    @property
    def _units(self) -> dict[str, str]:
        return super()._units | {"displacement": "m"} | _elements.Parameters(self._core).units

    def rows(self, body: str) -> slice:
        """The rows of a body's nodes.

        Parameters
        ----------
        body : str
            Its name.

        Raises
        ------
        TypeError, ValueError
            This simulation has no body of that name.
        """
        parts = {part.name: part for part in self._parts}
        part = parts[_check.choice("body", body, tuple(parts))]
        return slice(part.first_node, part.first_node + part.nodes)

    def _bodies(self) -> dict[str, tuple[int, int]]:
        return {part.name: (part.first_node, part.nodes) for part in self._parts}

    def _material_of_bodies(self) -> dict[str, int]:
        material = self.particles._copy("material")
        return {part.name: int(material[part.first_node]) for part in self._parts}

    def _take_material(self, index: int, material: Material, bodies: Mapping[str, _scene.Body]) -> None:
        self._materials = (*self._materials[:index], material, *self._materials[index + 1 :])

    def add(self, *args: Any, **options: Any) -> NoReturn:
        """Refuse: bodies are meshed once.

        Raises
        ------
        TypeError
            Always: add the body to a scene, and make a new simulation of it.
        """
        raise TypeError(
            "mpm.fem.Simulation meshes its bodies once and takes no more between steps: add the body to the scene, "
            "and make a new simulation"
        )

    def forces(self) -> FloatArray:
        """Forces of the elements on the nodes (n, d) [N], with those of stiffness-proportional damping."""
        return np.frombuffer(self._core.forces()).reshape(-1, self.dimension).copy()

    def system(self) -> System:
        """The nodes as a system of `mpm.integrators`, whose methods can step them: forces of the elements, gravity and
        stiffness-proportional damping, without contact, body force and mass-proportional damping.

        It computes with a copy of this simulation. ``integrators.integrate(sim.system(), sim.particles.x,
        sim.particles.v, method=…, dt=…, steps=…)`` begins where this simulation is. Each force is a call from Python;
        the mesh makes up for that if it has some thousand elements.

        Returns
        -------
        mpm.integrators.System
        """
        from mpm.fem.system import system_of

        return system_of(self)

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the quantities of `compute`."""
        return (*super().quantities, "displacement", *self._of_elements)

    def compute(self, name: str, *, on: str = "nodes") -> FloatArray:
        """Compute a quantity.

        Parameters
        ----------
        name : str
            ``"displacement"``: u = x − X [m] from the positions X at rest. ``"J"``, ``"F"``: as in `elements`. A
            parameter that varies, such as ``"E"``. Others (``"speed"``, ``"stress"``, …) as `mpm.Simulation.compute`.
        on : {"nodes", "elements"}
            ``"nodes"``: for each node, the mean of its elements, weighted by volume; of the elastic energy the equal
            shares of its elements. ``"elements"``: the constant value in each element; not for ``"displacement"``,
            ``"speed"`` and ``"kinetic_energy"``.

        Returns
        -------
        ndarray, shape (n,) or (m,), for the displacement (n, d), for the stress and F (n, d, d) or (m, d, d)
            A new float64 array.
        """
        chosen = _check.choice("name", name, self.quantities)
        if _check.choice("on", on, ON) == "nodes":
            return self._quantity(chosen, Copies(self.particles))
        if chosen in self._of_elements:
            return np.array(self._elements_at(self.particles._copy("x"))[chosen], dtype=np.float64)
        if chosen in OF_NODES:
            raise ValueError(f"on = 'elements': {chosen!r} belongs to the nodes; must be 'nodes'")
        return _elements.at_elements(chosen, self.elements, self._materials)

    def _quantity(self, name: str, particles: derived.Fields) -> FloatArray:
        if name == "displacement":
            return np.asarray(particles["x"], dtype=np.float64) - self._rest
        if name in OF_NODES:
            return derived.compute(name, particles, self._materials)
        elements = self._elements_at(particles["x"])
        if name in self._of_elements:
            return _elements.at_nodes(elements[name], elements, len(particles))
        values = _elements.at_elements(name, elements, self._materials)
        if name == "elastic_energy":
            return meshing.spread(values, self._fixed["nodes"], len(particles))
        return _elements.at_nodes(values, elements, len(particles))

    def _interpolated(self, points: FloatArray, values: FloatArray, name: str, rank: str) -> FloatArray:
        nodes = self._fixed["nodes"]
        cell, weights = find_cells(np.asarray(self.particles._copy("x"), dtype=np.float64), nodes, points)
        result = np.einsum("mk,mkc->mc", weights, values[nodes[np.maximum(cell, 0)]])
        result[cell < 0] = np.nan
        return np.asarray(result)

    def _state(self, names: Sequence[str]) -> State:
        copies, there = Copies(self.particles), self.particles.fields
        fields = {n: copies[n] if n in there else self._quantity(n, copies) for n in ("x", *names)}
        out_of_plane: dict[str, Any] = {}
        if self.dimension == 2 and "stress" in fields:
            elements = self._elements_at(copies["x"])
            zz = derived.cauchy(elements, self._materials).zz
            out_of_plane["stress"] = _elements.at_nodes(zz, elements, len(copies))
        if self.dimension == 2 and "F" in fields:
            out_of_plane["F"] = 1.0
        return State(self.time, self.steps, self.dimension, fields, out_of_plane, self._cells())

    def _cells(self) -> npt.NDArray[Any]:
        return self._fixed["nodes"]

    def state_hash(self) -> str:
        """Hexadecimal digest of all that decides how a run continues; runs that are equal bit for bit share it.

        It covers the nodes' state with the clock, the mesh, the domain with gravity and walls, the options, materials
        and colliders. It leaves out threads, views, recorded data and functions (body forces).
        """
        kept, digest = self._snapshot(), self._digest(self._numerics.described(), repr(self._materials))
        for name in sorted(kept.arrays.keys() - {"run.history", "run.books", "run.numbers", "run.counters"}):
            digest.update(name.encode())
            digest.update(whole(kept.arrays[name]).tobytes())
        digest.update(whole(kept.arrays["run.numbers"])[:2].tobytes())  # what plans the next time step
        return digest.hexdigest()

    def cite(self) -> str:
        """References of the methods in use, one per line."""
        entries = REFERENCES | dict(self._numerics.cited())
        entries |= {type(material).__name__: material.reference for material in self._materials}
        return "\n".join(f"{name}: {reference}" for name, reference in entries.items())

    def _lines(self) -> Iterator[str]:
        given, unit = self._numerics, totals.per_depth("kg", self.dimension)
        bodies = {body.name: body for body in self._scene.bodies}

        def line(part: Part) -> str:
            body = bodies[part.name]
            exact, J = (
                body.shape._volume(),
                1.0 if body.F is None else float(np.linalg.det(np.asarray(body.F))),
            )
            rest = "" if body.F is None else f" by the rest volume, that of the shape over det F = {J:g}"
            error = "" if exact is None else f" (error of the volume {part.volume * J / exact - 1:+.2%})"
            return (
                f"{body!r}: {part.nodes} nodes, {part.elements} elements, {part.mass:.6g} {unit}{rest}{error}"
            )

        yield from _check.ends(self._parts, "bodies", line)
        yield from super()._lines()
        a, b = given.damping
        damped = f", damping {a:g}/s M + {b:g} s K" if a or b else ""
        kind = "triangles" if self.dimension == 2 else "tetrahedra"
        size = f"of {given.spacing:g} m"
        if any(isinstance(body.shape, Cells) for body in self._scene.bodies):
            edge = mean_edge(self._rest, self._fixed["nodes"])
            size = f"with edges of about {edge:.3g} m"
        yield f"method  linear {kind} {size}, {given.integrator}{damped}, {self._stepping(given.dt)}"
        yield self._machine(given.dtype, self._core.memory())
