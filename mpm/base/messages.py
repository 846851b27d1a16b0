"""The words of errors in runs: the core hands over the reason and its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mpm import _core
from mpm.base import fieldtable


class Field(NamedTuple):
    """A field whose values users have written."""

    name: str
    low: float
    high: float
    closed: bool  # `low` itself is allowed
    by_determinant: bool  # the range is that of the determinant
    of_law: bool  # a state of some laws


class Error(NamedTuple):
    """Why a step was refused or a run ended (csrc/run/error.h); `reason` is a key of `WORDS`."""

    reason: str
    dt: float  # of the failed step [s]
    row: str  # what a row is: "particle", "node"
    size: str  # what resolves the domain: "cell size", "spacing"
    subject: str  # a collider, a law, the nodes of an element, a condition; "" if there is none
    number: int
    values: tuple[float, float]
    total: int  # of the rows at fault
    first: int  # of these rows; -1: none is listed
    field: Field | None

    @property
    def rows(self) -> str:
        return f"{self.total} {self.row}(s)"


NOT_TAKEN = "the step was not taken"
STILL_HELD = "the arrays still hold {}: correct {}"
LIMITS = (  # in the order of mpm_limit
    "nothing",
    "the stiffness of one particle alone",
    "viscosity",
    "the wave speed",
    "motion",
    "the acceleration of gravity",
    "the sub-steps of conduction (mpm.Thermal, mpm.Solute)",
)


def message(steps: int, time: float, error: tuple[Any, ...]) -> str:
    """The message of an error after `steps` steps at `time` [s]; `error`: the members of an `Error`."""
    t = Error._make((*error[:-1], error[-1] and Field._make(error[-1])))
    first = "" if t.first < 0 else f" (first row {t.first})"
    return f"step {steps}, t = {time:.9g} s: {WORDS[t.reason](t)}{first}"


def in_system(steps: int, time: float, reason: str, method: str, dt: float, said: object) -> str:
    """The message of an error in the trajectory of a system (`mpm.integrators`); `said`: by its own functions."""
    return f"step {steps}, t = {time:.9g} s: " + IN_SYSTEMS[reason].format(method=method, dt=dt, said=said)


IN_SYSTEMS = {
    "next step": "the next step of '{method}' with dt = {dt:g} s: {said}",
    "after a step": "the state after a step of '{method}' with dt = {dt:g} s: {said}",
    "at the start": "the state at the start: {said}",
    "not finite": (
        "the next step of '{method}' with dt = {dt:g} s leads to numbers that are not finite: choose a smaller dt or "
        "another method"
    ),
    "not solved": (
        "the next step of '{method}' with dt = {dt:g} s was not solved: choose a smaller dt; df/dx and df/dv must be "
        "symmetric, and M - dt^2 df/dx - dt df/dv positive definite"
    ),
}


# ---- any method -----------------------------------------------------------------------------------------------------


def dt_above_bound(t: Error) -> str:
    return (
        f"dt = {t.dt:g} s is above the stable bound {t.values[0]:g} s, set by {LIMITS[t.number]}; "
        'choose dt="auto", a smaller dt, or pass allow_unstable=True'
    )


def dt_too_small(t: Error) -> str:
    return (
        f"dt = {t.dt:g} s is too small to advance the time; {NOT_TAKEN}: "
        f"stiffness, viscosity, speed or gravity is too large for the {t.size} and the density"
    )


def collider_too_fast(t: Error) -> str:
    speed, dt = t.values
    if dt <= 0:
        return (
            f"collider '{t.subject}', which moves with up to {speed:g} m/s near material, and that material "
            f"come together by too much at every dt down to {t.dt:g} s; {NOT_TAKEN}: look at their motion"
        )
    return (
        f"collider '{t.subject}' moves with up to {speed:g} m/s near material, too far at dt = {t.dt:g} s; "
        f'{NOT_TAKEN}: choose dt="auto" or dt <= {dt:.3g} s'
    )


def not_converged(t: Error) -> str:
    """`number` has the bits of mpm_unsolved."""
    automatic, iterations, rounding, indefinite = (bool(t.number & 2**bit) for bit in range(4))
    least, tolerance = t.values
    if automatic:
        where, choices = f"at every dt down to {t.dt:g} s", []
    else:
        where, choices = f"at dt = {t.dt:g} s", ['dt="auto"', "a smaller dt"]
    if rounding:  # which shorter steps have as well
        what, choices = (
            f"; its relative residual fell to {least:.2g}, where rounding hides energies, and not to",
            [],
        )
        what += f" tolerance = {tolerance:g}"
    elif indefinite:
        what, choices = "; its system is not positive definite", [*choices, 'projection="semidefinite"']
    else:
        what = f"; its relative residual is {least:.2g}, tolerance = {tolerance:g}"
    choices += ["more max_iterations"] * iterations + ["a larger tolerance"] * (not indefinite)
    last = f" or {choices.pop()}" if len(choices) > 1 else ""
    return f"the implicit step was not solved {where}{what}; {NOT_TAKEN}: choose {', '.join(choices)}{last}"


def left_range(t: Error) -> str:
    law = f" '{t.subject}'" if t.subject else ""
    alone = (
        "; spray far from everything keeps its C, and its volume grows for ever: c_damping = 0.2 ends that"
        if t.subject == "fluid"
        else ""
    )
    return (
        f"the volume ratio J of {t.total} particle(s) has left the range of its law{law}: the material is "
        "crushed or torn apart; a smaller dt, a stiffer material or a finer grid may help, or correct F and J"
        f"{alone}"
    )


def state_not_finite(t: Error) -> str:
    return (
        f"the return map of the law '{t.subject}' has made F or the history of {t.total} particle(s) NaN or "
        "infinite: correct the law (mpm.testing.check_law examines it), or the state"
    )


def response_not_finite(t: Error) -> str:
    return f"{bad_response(t)}: correct the law (mpm.testing.check_law examines it), or the state"


def bad_response(t: Error) -> str:
    return f"the law '{t.subject}' gives NaN or infinite numbers at {t.total} particle(s)"


def left_domain(t: Error) -> str:
    collider = f", the first one at the collider '{t.subject}'" if t.subject else ""
    return (
        f'{t.total} particle(s) left the domain{collider}; enlarge it, use on_leave="clamp" or "delete", or '
        "delete or move the particles"
    )


# ---- written by users -----------------------------------------------------------------------------------------------


def written_not_finite(t: Error) -> str:
    return f"values that are not finite were written to {t.rows}; {STILL_HELD.format('them', 'them')}"


def written_inverted(t: Error) -> str:
    assert t.field
    return f"{outside_of(t.field)} was written to {t.rows}; {STILL_HELD.format('it', 'it')}"


def outside_of(field: Field) -> str:
    """A value outside the range of its field."""
    if field.by_determinant:
        return f"det {field.name} <= 0"
    if math.isinf(field.high):
        return f"{field.name} {'<' if field.closed else '<='} {field.low:g}"
    return f"{field.name} not between {field.low:g} and {field.high:g}"


def written_outside(t: Error) -> str:
    return (
        f"positions outside the domain were written to {t.total} particle(s); "
        f'{STILL_HELD.format("them", "them")}, or use on_leave="clamp" or "delete"'
    )


def written_not_state(t: Error) -> str:
    assert t.field
    if t.field.of_law:
        return f"{t.rows}: {owners_of(t.field.name)}"
    return f"{t.rows}: J of a solid follows from F, and F of a fluid from J: write the other one"


def owners_of(name: str) -> str:
    """Names the laws that own a field of history: "Jp is a state of snow and sand only"."""
    laws = _core.laws()
    keep = [law for law in laws if any(field["name"] == name for field in law["history"])]
    owners = list(dict.fromkeys(law["variant_of"] or law["name"] for law in keep))
    if name == fieldtable.OPEN:
        owners.append("laws of users")
    if owners:
        return f"{name} is a state of {listed(owners)} only"
    if any(parameter["name"] == name for law in laws for parameter in law["parameters"]):
        return f"{name} is one value for a whole material there"
    return f"{name} is a state of other materials only"  # of a user's law


def listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def written_together(t: Error) -> str:
    return (
        f"values that do not go together were written to {t.rows}: {t.subject}; "
        f"{STILL_HELD.format('them', 'them')}"
    )


def device_ended(t: Error) -> str:
    return f"the device has failed, and the state of the simulation is lost: {t.subject}"


# ---- the Material Point Method --------------------------------------------------------------------------------------


def grid_not_finite(t: Error) -> str:
    because = f"; {bad_response(t)}" if t.total else ""
    return f"node velocities are not finite at dt = {t.dt:g} s: stresses overflow; {NOT_TAKEN}{because}"


def grid_moves_too_far(t: Error) -> str:
    return f"a node would move more than one cell at dt = {t.dt:g} s; {NOT_TAKEN}: choose a smaller dt"


def particle_would_invert(t: Error) -> str:
    return (
        f"a particle would be turned inside out at dt = {t.dt:g} s; {NOT_TAKEN}: choose a smaller dt, or look "
        "for colliding stiff bodies"
    )


def body_too_long(t: Error) -> str:
    return (
        f"the rigid body of materials[{t.number}] has at least half the length of a periodic axis, so its "
        f"particles cannot be distinguished from their images; {NOT_TAKEN}: lengthen the domain, or take a moving "
        "collider"
    )


def temperature_left_range(t: Error) -> str:
    if t.number == 2:
        return (
            f"{t.total} particle(s) would have pore pressures that are not finite; {NOT_TAKEN}: look at the "
            "pore_pressure and the pore_gradient that were written"
        )
    if t.number == 3:
        return (
            f"diffusion would give {t.total} particle(s) concentrations that overflow or shrink it to a stretch below "
            f"0.01, the least {t.values[0]:.4g} mol/m³; {NOT_TAKEN}: make fluxes and sources smaller, and look at the "
            "concentration and the concentration_gradient that were written"
        )
    what = "that are not positive" if t.values[0] <= 0 else "that overflow"
    flux = (
        "make the flux of walls and colliders smaller, or give them a transfer instead; " if t.number else ""
    )
    return (
        f"conduction would give {t.total} particle(s) temperatures {what}, the least {t.values[0]:.4g} K; "
        f"{NOT_TAKEN}: {flux}look at the temperature and the temperature_gradient that were written"
    )


def body_no_pose(t: Error) -> str:
    unit = " m" if t.subject == "x" else ""
    return (
        f"{t.subject} of the particles of the rigid body of materials[{t.number}] fit no position and rotation: they "
        f"are up to {t.values[0]:.3g}{unit} off; must be at most {t.values[1]:.3g}{unit}; {NOT_TAKEN}: write "
        "x = p + Q X and F = Q of all its particles, with one place p and one rotation Q and X = particles.rest, or "
        "delete the body and add another"
    )


# ---- smoothed particle hydrodynamics --------------------------------------------------------------------------------


def forces_not_finite(t: Error) -> str:
    return f"forces are not finite at dt = {t.dt:g} s: pressures overflow; {NOT_TAKEN}"


def particle_moves_too_far(t: Error) -> str:
    return (
        f"a particle would move more than half the smoothing length at dt = {t.dt:g} s; {NOT_TAKEN}: choose a "
        "smaller dt, or look for particles that lie too close together"
    )


# ---- finite elements ------------------------------------------------------------------------------------------------


def nodes_not_finite(t: Error) -> str:
    return (
        f"velocities or energies of nodes are not finite at dt = {t.dt:g} s; {NOT_TAKEN}: choose a smaller dt"
    )


def node_moves_too_far(t: Error) -> str:
    return f"a node would move farther than the size of a cell at dt = {t.dt:g} s; {NOT_TAKEN}: choose a smaller dt"


def elements(t: Error) -> str:
    return f"elements at {t.total} node(s), the first one with the nodes {t.subject},"


FINITE_LAW = "one that is finite for inverted elements, such as FixedCorotated"


def element_would_invert(t: Error) -> str:
    fixed = t.values[0] > 0
    return (
        f"{elements(t)} would leave the range of their law at dt = {t.dt:g} s; {NOT_TAKEN}: choose "
        f"{'a smaller dt' if fixed else 'a slower impact'}, a stiffer law, or {FINITE_LAW}"
    )


def element_would_stiffen(t: Error) -> str:
    return (
        f"the modulus of {elements(t)} would change by more than the factor {t.values[1]:g} at every dt down to "
        f"{t.dt:g} s; {NOT_TAKEN}: choose a slower impact, a stiffer law, or one that stiffens less"
    )


def element_out_of_range(t: Error) -> str:
    return (
        f"{elements(t)} are crushed or turned inside out, which is beyond the range of their law: correct x of the "
        "nodes, or choose a law that is finite for inverted elements, such as FixedCorotated"
    )


def nodes_outside(t: Error) -> str:
    return (
        f"{t.total} node(s) are outside of the domain, beyond a face by more than the spacing: enlarge it, or "
        "correct x of the nodes"
    )


WORDS: dict[str, Callable[[Error], str]] = {
    function.__name__: function
    for function in (
        *(dt_too_small, dt_above_bound, collider_too_fast, not_converged, left_range, state_not_finite),
        *(response_not_finite, left_domain, device_ended),
        *(written_not_finite, written_inverted, written_outside, written_not_state, written_together),
        *(grid_not_finite, grid_moves_too_far, particle_would_invert, body_too_long, body_no_pose),
        temperature_left_range,
        *(forces_not_finite, particle_moves_too_far),
        *(nodes_not_finite, node_moves_too_far, element_would_invert, element_would_stiffen),
        *(element_out_of_range, nodes_outside),
    )
}
