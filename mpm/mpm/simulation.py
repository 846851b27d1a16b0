"""The numerics and the run: `Simulation` wraps the simulation of the C core."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check, advice
from mpm.base._check import FloatArray, Unset
from mpm.base.options import takes
from mpm.handles.solver import Solver
from mpm.joints import Joint
from mpm.materials.admission import refuse_taken
from mpm.materials.laws import Material
from mpm.mpm import bodies, citations, devices, faces, grid, numerics
from mpm.mpm.equilibrium import Equilibrium, bring_to_rest
from mpm.mpm.quantities import Quantities
from mpm.mpm.rigidbodies import form_of, near_rigid, refuse_overlap, spin_of, warn_of_thin
from mpm.mpm.rigidforms import Form
from mpm.mpm.rigidstate import RigidState, solid_of, state_of
from mpm.mpm.snapshot import Part, Snapshot, arrays_of, deciding, fields_of, fill
from mpm.sampling.sharing import ALONE, Sharers
from mpm.scene import conduction, pores
from mpm.scene import scene as _scene
from mpm.scene.colliders import (
    Prepared,
    place,
    prepare,
    warn_of_particles_inside,
    warn_of_thin_or_missing,
)
from mpm.scene.conduction import warn_of_smooth
from mpm.scene.contacts import refuse_bars
from mpm.scene.loads import Load, Traction, mechanical
from mpm.scene.settings import Setting, changed_scene, of_contacts, of_scene
from mpm.scene.waves import collider_speeds, refuse_other_waves
from mpm.shapes import Points, Shape
from mpm.solver.checkup import GridLooks
from mpm.solver.distributed import refuse_material as refuse_distributed
from mpm.solver.keeping import Format, T, held
from mpm.solver.loading import Attached, attach_all, attach_patches, rows_of
from mpm.solver.options import CommonArguments
from mpm.solver.populated import Gone, refuse_emitters_outside
from mpm.solver.solids import Solid
from mpm.solver.stepping import StableDt
from mpm.solver.team import room_of, team_of

if TYPE_CHECKING:
    from mpm.solver.team import Team

__all__ = ["Simulation", "StableDt"]


@takes(numerics.Numerics, CommonArguments, hints=advice.OF_SIMULATION)
class Simulation(Quantities, Solver, kind="simulation"):
    """A scene, discretised: nodes at ``lower + i·dx``, particles in its bodies.

    Parameters
    ----------
    scene : Scene
        A scene with at least one body. The simulation copies it: later changes of the scene have no effect.
    dx : float
        Cell size [m]; (upper − lower)/dx must be whole (`Scene.fitted` extends a domain), and at least 4 along a
        periodic axis.
    particles_per_cell : int, optional
        Default 2^d; ``"lattice"`` and ``"stratified"`` sampling need k^d. Cells that a shape cuts have fewer; the
        part that it fills is their volume, so that each body has the mass of its shape.
    sampling : {"lattice", "stratified", "random", "poisson"}
        The centres of k^d sub-cells of each cell, one jittered point in each sub-cell, uniform random points, or
        random points that keep a distance from each other (blue noise; a tile of them repeats after about 3000
        points). On the lattice, errors are of second order in `dx`. Irregular points do not follow the directions of
        the grid, but they leave noise in stress and pressure and make a body a little softer than its material (a
        frequency 2 % low with 2^d particles per cell; a beam bends more), and a smaller dx helps little. Raises, as
        `particles_per_cell` does, where all bodies are `mpm.shapes.Points`.
    rng : int or numpy.random.Generator
        Generator of irregular samplings; raises with ``"lattice"``. An int, default 0, gives the same particles each
        time.
    volume : {"sampler", "grid-density"}
        The rest volume of a particle: its share of the shape, or m dx^d / Σ w m_i from the masses of the nodes
        around it at its insertion (Stomakhin et al. 2013, step 2). ``"grid-density"`` is too large at free surfaces,
        up to twice for each. The mass is the density times the share of the shape in either case.
    transfer : {"apic", "pic", "flip", "aflip", "asflip", "xpic", "tpic"}
        The transfer of velocities between particles and grid. Σ is over nodes; v^n is the node velocity before
        forces and contact, ṽ the node velocity after them:

        - ``"pic"``: v = Σwṽ. Very dissipative; the dissipation grows with the number of steps.
        - ``"flip"``: v = Σwṽ + α (v_p − Σwv^n) with α = `flip_ratio`. Noisy at 1, PIC at 0.
        - ``"apic"``: v = Σwṽ with an affine velocity C; conserves angular momentum.
        - ``"aflip"``, ``"asflip"``: APIC with the FLIP term; ``"asflip"`` also moves particles with it where
          material separates. The FLIP term does not conserve angular momentum: a free body that turns lost up to
          0.3 % of it in 2,000 steps, one with velocities as rough as its rotation 1 to 2 % in 100 steps.
        - ``"xpic"``: PIC of order m = `xpic_order` (1: PIC, ∞: FLIP without its noise).
        - ``"tpic"``: C = Σ ṽ ∇wᵀ, with the B-spline's gradient instead of APIC's.

        Rigid bodies are not transferred.
    kernel : {"quadratic", "cubic", "linear"}
        The B-spline. ``"linear"`` is for comparison: its gradient jumps, and particles feel the jumps when they
        cross cells. No time step is stable with it in every case, and elastic bodies may gain energy or blow up
        (``dt="auto"`` warns). In APIC, AFLIP and ASFLIP its C is 4/dx² Σ w ṽ (x_i − x_p)ᵀ, with which APIC conserves
        angular momentum. Its gradient also acts on nodes of zero weight: a particle exactly on a node at a free
        surface gives these nodes a force that nothing carries, and takes them to be at rest. Move the particle off
        the node.
    gradient : {"mls", "bspline"}
        The gradient of the weights in forces and in ∇v: D⁻¹ w (x_i − x_p) of moving least squares, or ∇w. With the
        linear kernel, D = dx² f (1 − f), and both are the same, except that D is 0 on a node; it needs ``"bspline"``.
    flip_ratio : float, optional
        α, 0 to 1, of ``"flip"``, ``"aflip"``, ``"asflip"``; default 0.95. Raises with other transfers.
    xpic_order : int, optional
        m >= 1 of ``"xpic"``; default 2. Each order above 1 costs one more transfer to particles and back.
    advect : {"pic", "particle"}, optional
        Particles move with Σwṽ or, in ``"flip"`` and ``"aflip"``, with their new velocity.
    f_update : {"linear", "cayley", "trace"}
        F ← (I + dt ∇v) F, or F ← (I − dt/2 ∇v)⁻¹ (I + dt/2 ∇v) F, which keeps volume in pure rotation. But explicit
        steps move particles along tangents: a body that turns with ω grows by the factor exp(ω² dt t/2), and an F that
        does not know it cannot pull the body back. Take ``"cayley"`` for fluids, stiff implicit steps or few turns.
        Fluids keep J alone: J ← det(I + dt ∇v) J, or the determinant of Cayley's factor. ``"trace"`` is
        J ← (1 + dt tr ∇v) J, the same to first order in dt, as in much code for MLS-MPM. It does not see the second
        order, so J and the density of the particles drift apart: where fluid turns, they part by the factor 1 + ω²dt²
        per step, in the flow v = a (x, −y) they converge by 1 − a²dt², and J stays 1. It raises with laws that keep
        F; rigid bodies do not mind.
    c_damping : float, optional
        Share of the symmetric part of C that each step removes, 0 to 1 (1: RPIC); C keeps its rotation. Only for
        transfers with an affine velocity.
    f_bar : bool, optional
        F-bar (de Souza Neto et al. 1996; Coombs et al. 2018): F ← s (I + dt ∇v) F, where s gives the increment the
        volume change that is averaged around the centres of cells, Σ n V⁰ K (det − 1)/Σ n V⁰ K with linear B-splines n
        (the linear kernel: around nodes) and the law's modulus K of volume changes. Choose it for solids that hardly
        change their volume: ν >= 0.45, such as rubber and undrained clay, and for smooth pressures behind shocks.
        Splashing fluids gain volume with it, and cracks dissipate too much, so it warns beside these.
        Without it such solids are too stiff: a punch into metal with ν = 0.49 needs 1.28 of the plastic limit load with
        4 cells over half its width, and 0.95 with F-bar. Metal and soil with ν up to 0.4 do not need it: with few cells
        F-bar makes their limit loads too small (at ν = 0.3 with 4 cells 0.89; 1.00 without it;
        ``python benchmarks/limit_loads.py``). Laws, histories, J and ``stable_dt`` are those of the averaged F. Bonded
        bodies share the average. Momentum is conserved as without it. The elastic energy in the totals is that of the
        averaged F; where the volume change varies within a cell, it is less than the work of the forces. One more
        transfer to the nodes and back; the standard scheme runs at 0.34 to 0.4 of its speed. Only explicit steps and
        ``f_update="linear"``.
    artificial_viscosity : (float, float), optional
        Coefficients (c₁, c₂) of the artificial viscosity for shocks, 0 to 100; (0.06, 1.5) is usual, None is none.
        Where material is compressed, s = −tr ∇v > 0, the pressure ρ dx s (c₁ c + c₂ dx s) is added, with the
        longitudinal wave speed c (c₂: von Neumann and Richtmyer 1950; c₁: Landshoff 1955). ``stable_dt`` takes it into
        account; the work that it dissipates leaves the energy of the totals. The standard scheme runs at two thirds of
        its speed. Only explicit steps; not with `c_damping`.
    density_correction : float, optional
        κ, 0 to 10: how fast J of each `Fluid` is drawn to the volume that its particles take on the grid, over the
        shear rate; 0 is no correction. Default 2 where the steps are explicit and the scene has a `Fluid`. J integrates
        the divergence of the velocity and forgets where the particles are; without the correction, a dam break in a
        closed tank loses a quarter of its volume in a few seconds, and most of it with one particle per cell. At nodes
        f = Σ w V⁰/(dxᵈ s), where s is the share of the B-spline outside colliders, of laws with F, V⁰ det F takes part,
        and a node shares volume and room with its reflection at walls and colliders; g is f, or 1 where f < 0.8, as at
        a free surface. At particles
        J ← J (1 − min(κ dt √(2 D:D), 0.05) e), e = o − 1 less a dead band of 0.01, |e| <= 0.5, D = dev sym ∇v,
        o = Jⁿ G with G = Σ w g, or max(G, 1) where Jⁿ > 1, so that torn fluid and spray gain no tension.
        Momentum and angular momentum do not know of it, and nothing changes at rest and in rigid motion. It raises
        where the scene has no `Fluid`, unless it is 0, and with implicit steps. A fluid that is added to a scene
        without one gets the default, or the 0 that was given.
    integrator : {"explicit", "semi-implicit", "implicit-euler", "implicit-midpoint"}
        - ``"explicit"``: stresses at the beginning of the step. The stiffness of the material bounds dt.
        - ``"implicit-euler"``: stresses at the end of the step, by Newton's method. The stiffness does not bound dt.
          It damps what dt does not resolve: an oscillation of frequency ω keeps 1/√(1 + ω²dt²) of its amplitude per
          step, a stiff body does not bounce, and a spinning body loses about (ω dt)² of its angular momentum.
        - ``"semi-implicit"``: the stresses at the end of the step from their linear model at its beginning
          (Stomakhin et al. 2013). One linear solve per step; for small strain per step. A stiff spinning body loses
          tens of (ω dt)² unless ``f_update="cayley"``, which brings the loss to that of ``"implicit-euler"``.
        - ``"implicit-midpoint"``: stresses in mid step. It keeps energy and angular momentum to the tolerance of the
          solve, and so keeps oscillations that dt does not resolve. A contact holds velocities at the end of a step.
          The energy of a very stiff spinning body may grow (c dt/dx of some hundred); take a smaller dt there.

        Implicit steps take all laws but `Rigid` and those of users. `Snow` flows after the step, and its break-up
        needs steps as small as explicit ones. The relaxation of `Viscoelastic` is part of the solve.
        ``"implicit-euler"`` and ``"implicit-midpoint"`` also take the other plastic laws: `VonMises`, `JohnsonCook`,
        `HerschelBulkley`, `Sand`, `DruckerPrager`, `MohrCoulomb`, `MuI`, `CamClay` and `NACC`, whose return map acts
        within the solve.
        Implicit steps solve with F = (I + dt ∇v) Fⁿ, whatever `f_update` is.
    beta : float, optional
        Only ``"semi-implicit"``: factor of the linear model, 0.5 to 1 (default), or 0, which is ``"explicit"``. With
        0.5 a step keeps 1/√(1 + ω²dt²/2) of an oscillation; a stiff spinning body needs ``f_update="cayley"`` then.
    tolerance : float, optional
        Only implicit: the residual of the solve over that of the velocities vⁿ + dt g, in the norm of the inverse
        masses; 1e-10 (float32: 1e-4) to 0.1, default 1e-3. The momentum of a free body is conserved to round-off
        with any. Where contacts act, the recorded impulses miss what the solve leaves of that residual, which is up
        to (c dt/dx)² times the momentum of what moves: to measure forces in long steps, take 1e-6 or less.
    max_iterations : int, optional
        Only ``"implicit-euler"`` and ``"implicit-midpoint"``: Newton iterations of a step; default 20. A step that
        does not converge is halved (``dt="auto"``), or raises `mpm.ConvergenceError`.
    preconditioner : {"mass", "stiffness"}, optional
        Only implicit: the diagonal matrix of the conjugate gradients. ``"mass"`` (default) conserves momentum to
        round-off at any tolerance. ``"stiffness"`` adds dt² times an estimate of the stiffness; it needs fewer
        products where stiff and soft bodies are solved together, and conserves momentum to the tolerance.
    projection : {"semidefinite", "none"}, optional
        Only ``"semi-implicit"``: the derivative of the forces in its linear solve. ``"semidefinite"`` (default) makes
        that of each particle positive semi-definite, so that the solve has a solution at any dt. ``"none"`` takes it
        as it is: equation (9) of Stomakhin et al. (2013). The two differ where material is compressed, and turns or
        shears. There the compressive stress speeds turning up under ``"none"``, by the factor
        1/(1 + 4 dt² τ/(ρ₀ dx²)) per step for a lone particle, and where dt is so long that the system is not
        positive definite, the step is halved (``dt="auto"``) or raises `mpm.ConvergenceError`.
    particle_collisions : {"deep", "surface", "off"}
        Where colliders change the velocity of particles, beside that of nodes. Walls act on nodes alone.

        - ``"deep"``: half a cell below the surface. The nodes inside a collider stop the material that much below its
          surface on average, so the strain follows the motion up to there. Where less than a cell of the collider is
          below a particle, it holds the particle at any depth, so that particles do not pass a thin collider.
        - ``"surface"``: wherever φ <= 0 (Stomakhin et al. 2013, step 9). Particles get below it by at most the
          distance that they move in a step. But the strain does not know of it: particles that a moving collider
          reaches come to lie at the same place, and material that it has squeezed does not come back.
        - ``"off"``: nowhere. Particles pass a collider that holds none of their nodes.

        `Rigid` bodies meet colliders with their own surface.
    conduction : {"explicit", "implicit"}
        How heat or a solute is conducted, where bodies have ``thermal=`` (`mpm.Thermal`) or ``solute=``
        (`mpm.Solute`, with D in the place of α).

        - ``"explicit"``: in sub-steps of at most dx²/(5 α) with the diffusivity α. They limit dt to 200 dx²/α.
        - ``"implicit"``: by one step of backward Euler, solved by conjugate gradients, where more than one sub-step
          would be necessary; dt is limited to 1e7 dx²/α, in single precision to 1e3 dx²/α. The error is of first
          order in dt, and variations within √(α dt) are smoothed; heat is conserved to round-off. For few long steps,
          such as slow cooling with an implicit `integrator`. Where materials melt, Newton's method finds which nodes
          are solid, melt or are liquid at the end of the step, and solves again for each guess.
    dt : "auto" or float
        Time step [s]. ``"auto"`` takes at most 0.6 of `stable_dt`, 0.4 with a law whose stress has a kink
        (`mpm.materials.FibreReinforced`, or a `UserLaw` that is ``kinked``), and halves an explicit step that would
        compress a particle by more than a fifth (not with the linear kernel): there laws may stiffen beyond the bound.
        With `Rigid` bodies it takes at most 0.1 √(dx/|g|), and 0.2 dx of motion. A fixed dt above the bound raises
        `mpm.InstabilityError` before the step that would use it.
    {common}
    dtype : {"float64", "float32"}
        Double precision must resolve positions to dx/1024, single precision to dx/4, everywhere in the domain.
    threads : int, optional
        Default `mpm.get_num_threads`, but at most one per 4,096 particles; a thread with fewer does not pay
        off. Results do not depend on it.
    on_leave : {"raise", "clamp", "delete"} or mapping
        The fate of a particle that leaves the domain: `mpm.EscapeError` after the step, back onto the face, or
        removal when the call returns. A particle has left when it lies more than half a cell beyond a face (the
        cubic kernel: a cell, the linear kernel: zero), because walls give way that far to a particle under
        pressure. The rule also holds for positions written to ``particles.x``. `health` counts these particles.
        Removal ends a `run` or `step` call with a new order of the particles in the core; where particles leave,
        round-off therefore depends on the division of a run into calls. Nothing leaves at a periodic face:
        ``particles.x``, also a written one, is wrapped into lower <= x < upper. A mapping by faces or axes, such as
        ``{"x+": "delete"}``, gives each face its own rule; faces that it does not name raise. Beyond two faces at
        once, ``"raise"`` takes precedence over ``"delete"``, and ``"delete"`` over ``"clamp"``.
    dissipation : bool, optional
        Track the energy that the laws dissipate: the live fields ``particles.plastic_dissipation`` and
        ``particles.viscous_dissipation`` [J/m³ of rest volume], and in `totals` and `history` their sums over the
        particles and the ``heat`` of laws with a temperature (`JohnsonCook`) [J]. Kinetic + elastic + gravitational
        energy + both sums is the energy that walls, colliders and body forces have brought in, less what transfers
        and contacts on the grid dissipate. *Plastic* is what the return map of a law takes from the stored energy,
        beside plastic flow the viscosity of its flow (Perzyna's of `VonMises`, `HerschelBulkley`); energy that
        hardening stores is not told apart from it. *Viscous* is the work of viscous stresses (`Fluid`,
        `Viscoelastic`), of `artificial_viscosity`, and the relaxation of `Viscoelastic`. A law whose stored energy
        grows with hardening (`Snow`) may count less than 0. `UserLaw` counts as exactly as its stress derives from
        its energy. Particles evolve with the same bits as without. Only explicit steps.
    damping : float, optional
        Mass-proportional damping a [1/s]: the force −a m v on every node, implicit in the node; default 0. A motion of
        the frequency ω < a/2 creeps, at a = 2ω it comes to rest soonest. The history has
        its ``damping_impulse``. Only explicit steps.
    local_damping : float, optional
        Local damping of Cundall (1987) for states of rest, 0 to 0.95: nodes lose this share of the force out of balance
        where it would speed them up, and gain it where it slows them down, component by component. Bodies that move
        steadily are not damped, and all frequencies are damped alike; 0.5 to 0.8 is usual. Its impulse is in
        ``damping_impulse``, too; a body in free fall falls as much slower. Only explicit steps; the standard scheme
        runs at about half of its speed.
    device : {"cpu", "cuda", "cuda:1", …}
        Where steps run. GPUs of NVIDIA (extra ``cuda``) are experimental: see the guide on GPUs for what they take.
    comm : mpi4py.MPI.Intracomm, optional
        Run together with the other MPI processes of this communicator: needs the extra ``mpi`` and a script under
        ``mpiexec -n R python -m mpi4py script.py``. States, histories and files have the bits of one process. Each
        process has *all* particles and the whole history, and computes its share of every step: time shrinks, memory
        does not. Every process must make the same calls with the same arguments, and write the same to the particles,
        or the next run raises RuntimeError. See the guide on MPI. Default: this process alone. Not with
        `mpm.materials.Rigid`, `movie` and viewers (NotImplementedError).
    distributed : bool, optional
        With `comm`: each process has the particles of its own tasks alone. Bits stay. Arrays of particles still have
        all rows, which come from all processes when somebody looks: so all processes look, write, add, delete and save
        together, or raise RuntimeError. A write counts in the process that has the particle. After a run, arrays are
        made anew. Not with materials that vary, nor with copies (NotImplementedError). Default False.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type, shape or range; the message names it, its value and the allowed range.

    Warns
    -----
    UserWarning
        A collider is thinner than 2 dx on more than a fifth of its surface, or lies outside the domain; particles
        start in an earlier body, or inside a collider that is no clamp (see `Scene.add_collider`); the linear kernel
        has an automatic time step.

    References
    ----------
    See `Simulation.cite`.
    """

    __slots__ = ("_forms", "_indices", "_layers", "_rng", "_rng_before")

    _core: _core.Simulation
    _parts: list[Part | Gone]
    _has_grid = True
    _takes_loads = True
    _takes_comm = True
    _resolution = "dx"
    _looks = GridLooks

    def __init__(
        self,
        scene: _scene.Scene,
        *,
        dx: float,
        particles_per_cell: int | None = None,
        sampling: str | Unset = Unset("lattice"),
        rng: int | np.random.Generator | Unset = Unset(0),
        volume: str = "sampler",
        transfer: str = "apic",
        kernel: str = "quadratic",
        gradient: str = "mls",
        flip_ratio: float | Unset = Unset(0.95),
        xpic_order: int | Unset = Unset(2),
        advect: str | Unset = Unset("pic"),
        f_update: str = "linear",
        c_damping: float = 0.0,
        f_bar: bool = False,
        artificial_viscosity: Sequence[float] | None = None,
        density_correction: float | None = None,
        integrator: str = "explicit",
        beta: float | Unset = Unset(1.0),
        tolerance: float | Unset = Unset(1e-3),
        max_iterations: int | Unset = Unset(20),
        preconditioner: str | Unset = Unset("mass"),
        projection: str | Unset = Unset("semidefinite"),
        particle_collisions: str = "deep",
        conduction: str = "explicit",
        on_leave: str | Mapping[str, str] = "raise",
        dissipation: bool = False,
        damping: float = 0.0,
        local_damping: float = 0.0,
        device: str = "cpu",
        comm: Any = None,
        distributed: bool = False,
        **common: Unpack[CommonArguments],
    ) -> None:
        if not isinstance(scene, _scene.Scene):
            raise _check.wrong_type("scene", scene, "an mpm.Scene")
        arguments = {**locals(), **common}
        self._numerics = numerics.Numerics.checked(scene, arguments)
        team = team_of(comm, distributed)
        if not (scene.bodies or scene.emitters):
            raise ValueError("scene has no bodies: add one with scene.add(shape, material)")
        numerics.refuse_unused(scene, self._numerics, arguments)
        numerics.warn_of_f_bar(scene, self._numerics)
        warn_of_smooth(scene.walls, scene.colliders)
        bodies.refuse_unused(
            scene, self._numerics, sampling=sampling, particles_per_cell=particles_per_cell, rng=rng
        )
        bodies.refuse_useless_restitution(scene, scene._filling)
        scene._layers()  # may raise
        refuse_emitters_outside(scene, self._numerics.dx)
        devices.refuse(self._numerics, "comm", team is not None)
        self._fill_from(np.random.default_rng(self._numerics.rng))
        sharers = team.sharers("sampling") if team is not None and distributed else ALONE
        sampled = bodies.sample_all(scene, self._numerics, self._rng, room_of(team, distributed), sharers)
        lower, upper, spacing = scene.lower, scene.upper, self._numerics.dx
        prepared = [
            replace(prepare(one, lower, upper, spacing), speeds=collider_speeds(scene, one))
            for one in scene.colliders
        ]
        self._begin(scene._new_run(), prepared)
        self._join(team, distributed)
        for placed in self._colliders:
            warn_of_thin_or_missing(placed, lower, upper, spacing)
        for index, one in enumerate(sampled):
            if isinstance(one, bodies.Planned):
                self._insert_in_pieces(one, scene.bodies[:index], sharers)
            else:
                _scene.warn_of_overlaps(one.body, one.x, scene.bodies[:index])
                self._insert(one)
        self._fill_pores(0)
        self._find_volumes()
        self._attached = attach_all(self)
        self._drain(-math.inf)
        self._emit()

    def _begin(self, scene: _scene.Scene, colliders: Sequence[Prepared]) -> None:
        """Begin with a core that has no particles yet."""
        core = numerics.new_core(scene, self._numerics)
        devices.use(core, scene, self._numerics, self._materials)
        for load in mechanical(scene.loads):
            core.add_load(load.name)
        super().__init__(core, scene, colliders=place(core, colliders), threads=self._numerics.threads)

    def _fill_from(
        self,
        rng: np.random.Generator,
        materials: Sequence[Material] = (),
        parts: Sequence[Part | Gone] = (),
        forms: Mapping[int, Form] | None = None,
        layers: Sequence[int] = (),
    ) -> None:
        """Begin with these materials, in these layers, and bodies; `rng` samples the next ones."""
        self._rng = rng
        self._rng_before = copy.deepcopy(rng)
        self._materials = list(materials)
        self._layers = list(layers) or [0] * len(materials)
        self._index_materials()
        self._parts = list(parts)
        self._forms: dict[int, Form] = dict(forms or {})

    # ---- several processes ---------------------------------------------------------------------------

    def _state_digest(self) -> str:
        if not self._distributed:
            return self.state_hash()
        digest = self._deciding()  # what describes the particles: no process has them
        digest.update(repr([(part.name, part.first_id, part.particles) for part in self._parts]).encode())
        return digest.hexdigest()

    def _field_digest(self, name: str) -> str:
        return hashlib.sha256(np.ascontiguousarray(self.particles._copy(name)).tobytes()).hexdigest()

    def _refuse_with_team(self, material: Material) -> None:
        devices.refuse(self._numerics, "comm")
        if self._team is not None and material._row["rigid"]:
            raise NotImplementedError("comm: mpm.materials.Rigid does not run in several MPI processes yet")
        if self._distributed:
            refuse_distributed(material)

    # ---- bodies ------------------------------------------------------------------------------------

    @_check.options
    def add(
        self,
        shape: Shape,
        material: Material,
        *,
        velocity: _scene.Velocity = 0,
        angular_velocity: npt.ArrayLike = 0,
        F: _scene.Gradient | None = None,
        name: str | None = None,
        joint: Joint | None = None,
    ) -> _scene.Body:
        """Add a body between steps; arguments as in `Scene.add`. Earlier views go stale but stay valid. Particles that
        come to lie among others warn, and so does a body that leaves a wall which holds on to it (see `Scene`): an
        inflow needs a ``"separate"`` wall behind it.

        Raises
        ------
        TypeError, ValueError
            As in `Scene.add`, and if no particle is sampled; nothing has changed.
        """
        body = self._new_body(shape, material, velocity, angular_velocity, F, name, joint)
        state = copy.deepcopy(self._rng.bit_generator.state)
        try:
            with self._adding():
                sampled = self._sampled(body)
                if self._core.particles:
                    bodies.warn_of_crowd(
                        sampled, self.particles._copy("x"), self._scene.lower, self._numerics
                    )
                bodies.warn_of_held_inflow(sampled, self._scene, self._numerics.dx)
                first = self._core.particles
                self._insert(sampled)
                self._fill_pores(first)
                self._find_volumes()
        except BaseException:
            self._rng.bit_generator.state = state
            raise
        return body

    def _sampled(self, body: _scene.Body) -> bodies.Sampled:
        """The particles of a body that comes."""
        room = room_of(self._team, self._distributed)
        return bodies.sample(body, self._scene, self._numerics, self._rng, self._core.particles, room)

    def _insert(self, sampled: bodies.Sampled) -> None:
        """Hand a body to the core."""
        bodies.refuse_material(sampled.body, self._numerics)
        if self._team is not None:
            self._refuse_with_team(sampled.body.material)
        material = sampled.body.material
        devices.refuse_material(self._numerics, material)
        chosen = self._numerics
        conduction.refuse_body(sampled.body, self._scene, chosen.dissipation)
        if material._row["rigid"]:
            numerics.refuse_rigid_at_dashpots(self._scene)
        else:
            refuse_other_waves(self._scene, material)
        C, volume = sampled.stored(self._scene, self._numerics)
        form = keeper = None
        if material._row["rigid"]:
            sampled, form, keeper = form_of(sampled, self._scene, self._numerics.dx)
            C = spin_of(sampled, C)
        warn_of_particles_inside(
            self._colliders, sampled.x, sampled.body.name, self._numerics.dx
        )  # may raise
        if form is not None:
            refuse_overlap(form, sampled.body.name, self._near_rigid(form), self._numerics.dx)
            if not all(one._row["rigid"] for one in self._scene._filling):
                warn_of_thin(form, sampled, self._numerics.dx)
        index = self._index(material, self._layer(sampled.body), form)
        if form is not None:
            self._core.set_form(index, *form.arguments)
            if form.title:
                self._core.name_joint(index, form.title)
            self._forms[index] = form
        self._parts.append(sampled.part(self._core.next_id))
        first = self._core.particles
        self._core.add_particles(sampled.x, sampled.v, C, sampled.F, volume, sampled.mass, index)
        for parameter, field in material._varying_fields:
            np.asarray(self._core.field(field))[first:] = sampled.varying[parameter]
        if form is not None:
            np.asarray(self._core.field("rest"))[first:] = sampled.x - form.reference
            np.asarray(self._core.field("surface_point"))[first:] = keeper
        if material._varies or form is not None:
            self._core.totals()  # takes them in, so that what is written later is told from them

    def _fill_pores(self, first: int) -> None:
        """Give the particles from row `first` on the pressures of water at rest, where a material has a head."""
        if bodies.fill_pores(self._core, self.particles, self._materials, self._scene.gravity, first):
            self._core.totals()  # takes them in

    def _near_rigid(self, form: Form) -> Iterator[tuple[str, Callable[[FloatArray], FloatArray]]]:
        """What a rigid body may not begin in."""
        names = {number: name for name, number in self._material_of_bodies().items()}
        return near_rigid(form, self._forms, names, self.particles._copy, self._numerics.dx)

    def _insert_in_pieces(
        self, planned: bodies.Planned, earlier: Sequence[_scene.Body], sharers: Sharers
    ) -> None:
        """The same, without all of its particles beside those of the core; warns of those in `earlier` bodies."""
        body = planned.body
        bodies.refuse_material(body, self._numerics)
        devices.refuse_material(self._numerics, body.material)
        pores.refuse_head(body.material, body.name, self._scene)
        index = self._index(body.material, self._layer(body), None)
        for arguments in bodies.arguments_of(
            planned, self._scene, self._numerics, earlier, self._colliders, sharers
        ):
            if not arguments[-3]:
                self._parts.append(planned.part(self._core.next_id))
            x, v, C, F, volume, mass, *left = arguments
            self._core.add_particles(x, v, C, F, volume, mass, index, *left[: 3 if self._distributed else 1])

    def _index_materials(self) -> None:
        pairs = zip(self._materials, self._layers, strict=True)
        self._indices = {pair: index for index, pair in enumerate(pairs)}

    def _layer(self, body: _scene.Body) -> int:
        """The layer of a body that comes: bonded bodies share one."""
        scene = self._scene
        if not scene._touches or body.material._row["rigid"]:
            return 0
        known = scene._layers()
        count = self._fillings() if scene.emitters else {}
        fillings = {emitter.title(count[emitter.name]): emitter.name for emitter in scene.emitters}
        name = fillings.get(body.name, body.name)
        if name in known:
            return known[name]
        if scene.contact.contact != "bonded":
            return 1 + max([*known.values(), *self._layers], default=-1)
        if len(set(known.values())) > 1:
            a, b = next(pair for pair, one in scene.contacts.items() if one.contact != "bonded")
            raise ValueError(
                f"body {body.name!r}: is bonded to {a!r} and {b!r} by the contact of the scene, but these have "
                f"{scene.contacts[a, b]!r}; give the scene another contact"
            )
        return 0

    def _index(self, material: Material, layer: int, form: Form | None) -> int:
        """The index of a material in a layer, which the core gets if it has not got it yet."""
        index = self._indices.get((material, layer)) if form is None else self._vacant(material, form)
        if index is None:
            refuse_taken(material, self._core.fields(), self._materials)
            faces.refuse_late(self._numerics, self._scene, material)
            index = numerics.add_material(self._core, self._scene, material, layer, self._numerics)
            self._indices[material, layer] = index
            self._materials.append(material)
            self._layers.append(layer)
            self._numerics = self._numerics.with_materials(self._materials)
        return index

    def _admit_gravity(self, scene: _scene.Scene) -> None:
        pores.refuse_walls(scene)

    def _admit_material(self, material: Material) -> None:
        super()._admit_material(material)
        numerics.refuse_material(self._numerics, material)

    def _of_core(self, material: Material) -> Material:
        return numerics.resolved(self._numerics, material)

    def _take_material(self, index: int, material: Material, renewed: Mapping[str, _scene.Body]) -> None:
        before = self._materials[index]
        self._materials[index] = material
        self._index_materials()
        self._forget_empty()  # no index tells whether this was their material
        numbers = self._material_of_bodies()
        for k, part in enumerate(self._parts):
            if isinstance(part, Part) and numbers.get(part.name) == index and part.body.material == before:
                body = renewed.get(part.name) or replace(part.body, material=material)
                self._parts[k] = replace(part, body=body)

    def _vacant(self, material: Material, form: Form) -> int | None:
        """The index of an equal material without particles: each rigid body is a material of the core. A body with a
        joint, which has columns in the history, keeps its own."""
        if form.title or self._core.particles == self._core.next_id:  # none was deleted
            return None
        particles = np.bincount(self.particles._copy("material"), minlength=len(self._materials))
        return next(
            (
                k
                for k, one in enumerate(self._materials)
                if one == material and not particles[k] and not (k in self._forms and self._forms[k].title)
            ),
            None,
        )

    def _find_volumes(self) -> None:
        """Have the core compute missing volumes from the density of the grid."""
        if self._numerics.volume == "grid-density":
            self._core.totals()

    def _filled(self, body: _scene.Body, offset: FloatArray) -> int:
        with self._adding():
            sampled = self._sampled(body)
            self._insert(replace(sampled, x=sampled.x + offset))
            self._find_volumes()
        return len(sampled.x)

    # ---- keeping -----------------------------------------------------------------------------------

    def _sampled_with(self) -> np.random.Generator:
        """A generator in its state before the bodies of the scene were sampled."""
        return copy.deepcopy(self._rng_before)

    @classmethod
    def _of(cls, kept: Snapshot, threads: int | None, /) -> Self:
        return cls._shared(kept, threads, None)

    @classmethod
    def _shared(cls, kept: Snapshot, threads: int | None, team: Team | None, /) -> Self:
        self = cls.__new__(cls)
        self._numerics = replace(kept.numerics, threads=threads)
        self._fill_from(copy.deepcopy(kept.rng), kept.materials, kept.parts, kept.forms, kept.layers)
        self._begin(kept.scene, kept.colliders)
        self._join(team, distributed=True)
        with nullcontext() if self._team is None else self._team.noting(self._core):
            fill(self._core, kept)
        self._attached = kept.attached
        return self

    @property
    def _device(self) -> str:
        return self._numerics.device

    @classmethod
    def _moved(cls, kept: Snapshot, device: str, /) -> Snapshot:
        return replace(kept, numerics=kept.numerics.on(device))

    def _snapshot(self, *, streamed: bool = False) -> Snapshot:
        return Snapshot(
            scene=copy.copy(self._scene),
            numerics=self._numerics,
            rng=copy.deepcopy(self._rng),
            materials=tuple(self._materials),
            parts=tuple(self._parts),
            colliders=tuple(placed.prepared for placed in self._colliders),
            fields=fields_of(self._core),
            forms=dict(self._forms),
            layers=tuple(self._layers),
            arrays=arrays_of(self._core, self.dimension, self.dtype, streamed=streamed),
            attached=self._attached,
        )

    def _with_snapshot(self, use: Callable[[Snapshot], T], /) -> T:
        return held(self._core, lambda: use(self._snapshot(streamed=True)), again=True)

    @staticmethod
    def _format() -> Format:
        from mpm.mpm import snapshots

        return snapshots

    def _admit(self, scene: _scene.Scene) -> None:
        super()._admit(scene)
        devices.admit(self._core, scene, self._numerics, self._materials)
        self._numerics.refuse_dashpots(scene)
        if scene._touches:
            refuse_bars(collider.name for collider in scene.colliders)
        conduction.refuse_boundaries(scene)
        warn_of_smooth({}, scene.colliders[-1:])
        bodies.refuse_useless_restitution(scene, self._materials)

    def _admit_load(self, load: Load) -> None:
        body = next(body for body in self._scene.bodies if body.name == load.body)
        conduction.refuse_source(load, body.material)
        if isinstance(load, Traction) and isinstance(body.shape, Points):
            raise ValueError(
                f"body of {load.name!r} = {load.body!r}: Points have no surface; scene.add_force pushes it"
            )

    def _attach_traction(self, load: Traction) -> Attached:
        body = next(body for body in self._scene.bodies if body.name == load.body)
        ids, x = self.particles._copy("id"), np.asarray(self.particles._copy("x"), dtype=np.float64)
        rows = rows_of(self, load.body, ids)
        volume = np.asarray(self.particles._copy("volume"), dtype=np.float64)[rows]
        size = float(volume.mean()) ** (1 / self.dimension)
        return attach_patches(load, body.shape, rows, x, ids, size, self._scene.lower, self._scene.upper)

    def _options(self) -> dict[str, Any]:
        return self._numerics.described()

    def _settings(self) -> tuple[Setting, ...]:
        own = self._numerics.settings()
        if bodies.are_points(self._scene) and not bodies.take_per_cell(self._scene):
            own = [one for one in own if one.key != "particles_per_cell"]
        unused = numerics.unused_by_bodies(self._scene)
        own = [one for one in own if one.key not in unused]
        return (*of_scene(self._scene), *of_contacts(self._scene), *own)

    def _rebuilt(self, changes: Mapping[str, Any]) -> Self:
        """Without changes it starts with the same particles as this one; it lacks bodies that were added later."""
        options = self._numerics.changed(changes)
        scene = changed_scene(self._scene, changes)
        if bodies.are_points(scene):
            del options["sampling"]
            if "particles_per_cell" not in changes and not bodies.take_per_cell(scene):
                del options["particles_per_cell"]
        for name in numerics.unused_by_bodies(scene):
            if name not in changes:
                options.pop(name, None)
        if options.get("density_correction") and not numerics.has_fluid(scene._filling):
            del options["density_correction"]  # the fluid was added later
        if options.get("sampling", "lattice") != "lattice":
            options["rng"] = self._sampled_with()
        return type(self)(scene, threads=self.threads, device=self._numerics.device, **options)

    def _nodes(self) -> tuple[grid.FloatArray, grid.FloatArray]:
        nodes = self.grid
        return nodes.x, nodes.v

    # ---- the run ---------------------------------------------------------------------------------------

    def _limit(self) -> str:
        return f" (limit: {self.stable_dt().limit})" if not self._numerics.dt else ""

    @_check.options
    def equilibrate(self, *, increments: int = 8, tolerance: float = 1e-2) -> Equilibrium:
        """Bring the particles to rest under gravity, the body force and loads, at the present time; any integrator
        continues.

        The load grows in increments from none; the stress that is there stays. Velocities are 0 afterwards. Colliders
        and regions of `Scene.hold` are held where they are, viscosity has no effect, and `Viscoelastic` rests relaxed.
        Plastic laws yield on the way as in implicit steps. The mass of the nodes regularises the problem, so bodies may
        slide or roll where nothing resists. Time, history, recordings and the books of ``dissipation=True`` do not
        change, and views stay live.

        Parameters
        ----------
        increments : int
            Of the load. Bodies that deform far need more, weakly loaded ones fewer.
        tolerance : float
            The largest force out of balance, over the load; 1e-8 to 0.1.

        Returns
        -------
        Equilibrium
            A named tuple: ``residual``, the force out of balance over the load, ``steps`` and ``products``, the work.

        Raises
        ------
        ConvergenceError
            No equilibrium was found; nothing has changed.
        ValueError
            The simulation is in single precision, whose rounding alone is a large part of the load; nothing loads the
            bodies or nothing holds them; bodies touch (`mpm.Contact`); a collider deforms; a wall absorbs; a law
            has no tangent (`UserLaw`); or ``f_bar=True``.

        References
        ----------
        C. T. Kelley, D. E. Keyes, Convergence analysis of pseudo-transient continuation, SIAM J. Numer. Anal. 35
        (1998) 508-523.
        """
        devices.refuse(self._numerics, "equilibrate")
        return bring_to_rest(self, self.dtype, increments, tolerance)

    # ---- what it says ----------------------------------------------------------------------------------

    @property
    def dx(self) -> float:
        """Cell size [m]."""
        return self._numerics.dx

    @property
    def dtype(self) -> str:
        """``"float64"`` or ``"float32"``."""
        return self._numerics.dtype

    @property
    def grid(self) -> grid.Grid:
        """Copies of position, mass and velocity of the active nodes after the last step."""
        return grid.read(self._core, self.dimension)

    @property
    def materials(self) -> tuple[Material, ...]:
        """The materials in order of first use; ``particles.material`` indexes them. Each rigid body has a
        material of its own; an equal body reuses it once the first has no particles left. Where bodies touch
        (`mpm.Contact`), those that do not stick together have materials of their own, too."""
        return tuple(self._materials)

    def rigid(self, body: str) -> RigidState:
        """Where a rigid body is and how it moves now.

        Parameters
        ----------
        body : str
            Name of a body of `mpm.materials.Rigid`.

        Returns
        -------
        RigidState
            Position, rotation, velocity, spin, mass, inertia, forces by partner.

        Raises
        ------
        TypeError, ValueError
            This simulation has no body of that name, the body is not rigid, or none of its particles is left.
        """
        rows = self.rows(body)
        part = next(part for part in self._parts if part.name == body)
        if isinstance(part, Gone) or rows.start == rows.stop:
            raise ValueError(f"body = {body!r}: none of its particles is left")
        if not part.body.material._row["rigid"]:
            material = type(part.body.material).__name__
            raise ValueError(f"body = {body!r} is of {material}; must be a body of mpm.materials.Rigid")
        p = self.particles
        m, x, v, C, F = (
            np.asarray(p._copy(name)[rows], dtype=np.float64) for name in ("mass", "x", "v", "C", "F")
        )
        index = int(p._copy("material")[rows.start])
        forces = self._rigid_forces(index)
        return state_of(m, x, v, C[0], F[0], forces, self._forms[index], self._periods(), self._numerics.dx)

    def _shaped(self) -> list[Solid]:
        if not self._forms:
            return []
        joints = {part.name: None if isinstance(part, Gone) else part.body.joint for part in self._parts}
        p, d = self.particles, self.dimension
        material, m, x, rest, F, volume = (
            p._copy(name) for name in ("material", "mass", "x", "rest", "F", "volume")
        )
        found = []
        for name, ids in self._bodies().items():
            rows = self.rows(name)
            if rows.start == rows.stop or (form := self._forms.get(int(material[rows.start]))) is None:
                continue
            mass, at, begun = (np.asarray(field[rows], dtype=np.float64) for field in (m, x, rest))
            rotation = np.asarray(F[rows.start], dtype=np.float64)
            spacing = float(np.median(volume[rows])) ** (1 / d)
            found.append(solid_of(form, ids, mass, at, begun, rotation, spacing, joints.get(name)))
        return found

    def _rigid_forces(self, index: int) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Force (3,) and torque (3,) of each partner on the body of this material in the last step."""
        bodies = {number: name for name, number in self._material_of_bodies().items()}
        axes = [f"{axis}{side}" for axis in "xyz" for side in "-+"]
        names: tuple[Callable[[int], str], ...] = (
            lambda k: f"wall:{axes[k]}",
            lambda k: self._colliders[k].collider.name,
            lambda k: bodies.get(k, "a body that is gone"),
            lambda k: "nodes",
            lambda k: "joint",
        )
        return {
            names[kind](partner): (np.array(force), np.array(torque))
            for material, kind, partner, force, torque in self._core.rigid_forces()
            if material == index
        }

    def stable_dt(self) -> StableDt:
        """The bound of the time step in the current state, with its limit and its particle.

        It leaves out colliders. A step in which a collider near material would move farther than a cell is refused:
        with a fixed dt it raises `mpm.InstabilityError`, which names the collider and the dt that it allows;
        ``dt="auto"`` halves the step. `mpm.doctor` names fast colliders.
        """
        dt, limit, row = self._core.stable_dt()
        return StableDt(dt, limit, None if row < 0 else row)

    def state_hash(self) -> str:
        """Hexadecimal digest of all that decides how a run continues; runs that are equal bit for bit share it.

        It covers the particles' state with the clock, the domain with gravity and walls, the numerics, materials and
        colliders. It leaves out threads, views, recorded data and functions (body forces).
        """
        digest = self._deciding()
        for part in deciding(self._core, self.dimension, self.dtype):
            digest.update(part)
        return digest.hexdigest()

    def _deciding(self) -> hashlib._Hash:
        """The beginning of the hash: all but the particles and the clock."""
        return self._digest(
            self._numerics.described(),
            repr([part.body.material for part in self._parts if not isinstance(part, Gone)]),
            *map(repr, (*self._scene.emitters, *self._scene.drains)),
            repr(self._rng.bit_generator.state),
            *([repr((self._scene.contact, self._scene.contacts, self._layers))] * self._scene._touches),
        )

    def cite(self) -> str:
        """References of the methods in use, one per line."""
        entries = [("Material Point Method", citations.MPM), *self._numerics.cited()]
        entries += [entry for material in self._materials for entry in material._cited]
        return citations.listed([*entries, *[citations.COLLIDERS] * bool(self._colliders)])

    def _lines(self) -> Iterator[str]:
        chosen = self._numerics
        yield from bodies.listed(self._parts, self._lefts(), self._scene)
        yield from self._scene._contact_lines()
        yield from super()._lines()
        yield (
            f"grid    {' x '.join(map(str, chosen.cells))} cells of {chosen.dx:g} m, "
            f"{chosen.particles_per_cell} particles per cell ({chosen.sampling})"
        )
        solver = "" if chosen.integrator == "explicit" else f", {chosen.solver()}"
        if chosen.particle_collisions != "deep":
            solver += f", particle collisions: {chosen.particle_collisions}"
        yield f"method  {chosen.scheme()}{solver}, {self._stepping(chosen.dt)}"
        yield self._machine(chosen.dtype, self._core.memory())
