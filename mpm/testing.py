"""Checks for users' own pieces: `check_law` looks for errors in a constitutive law, `assert_conserved` for what a run
loses, and `orders` says how fast errors fall.

The tests of the package's laws are made of the same functions.

>>> import mpm
>>> worst = mpm.testing.check_law(mpm.materials.Hencky(E=1e5, nu=0.3, density=1000))
>>> worst["stress = dPsi/dF, 3-D"] < 1e-6
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.materials.laws import Material
from mpm.materials.userlaws import UserLaw
from mpm.point.driver import Law, PythonLaw, law_of

__all__ = ["assert_conserved", "check_law", "orders"]

Answer = Callable[[FloatArray], Any]
"""An evaluation (tau, energy, tau_zz, isolated, longitudinal) at F (m, d, d)."""

STEP = 1e-3  # of F, for differences of the energy
MARGIN = 1e-4  # of a modulus: the fourth differences in a curvature
KINK = 1e-3  # a jump of the slope of the stress, over the longitudinal modulus at rest, that counts
PATHS = 100  # on which such jumps are looked for


@_check.options
def assert_conserved(
    sim: Any,
    *,
    mass: float | None = 1e-12,
    momentum: float | None = 1e-9,
    angular_momentum: float | None = None,
    energy: float | None = None,
) -> None:
    """Raise an AssertionError unless a run has conserved what it ought to, by its history.

    Parameters
    ----------
    sim : Simulation
        Of any method, made with ``history=1``, after a run.
    mass : float, optional
        The largest departure from the mass at the start, over that mass; >= 0, or None: not looked at.
    momentum : float, optional
        Of each component of the momentum, less the recorded impulses of gravity, body force, walls and colliders,
        over √(2 M E_kin) at its largest.
    angular_momentum : float, optional
        Of its components that no external force can change, over that times the longest side of the domain; a
        ValueError where there is none. Default: not looked at.
    energy : float, optional
        How far the energy may rise above that at the start, over the largest kinetic energy; for runs that nothing
        drives. Default: not looked at.

    Raises
    ------
    AssertionError
        The message names the quantity, its largest departure and the tolerance.
    TypeError, ValueError
        `sim` is no simulation, has taken no step, was not made with ``history=1``, or has emitters or drains; a
        tolerance is negative.

    Examples
    --------
    >>> import mpm
    >>> sim = mpm.gallery.get("disks").simulation(scale=0.5)
    >>> sim.run(0.01)
    >>> mpm.testing.assert_conserved(sim, momentum=1e-12)
    """
    from mpm.handles.solver import Solver
    from mpm.study.conservation import drifts, start_of

    if not isinstance(sim, Solver):
        raise _check.wrong_type("sim", sim, "a simulation")
    given = {"mass": mass, "momentum": momentum, "angular_momentum": angular_momentum, "energy": energy}
    allowed = {n: _check.number(n, value, low=0) for n, value in given.items() if value is not None}
    if len(sim.history["time"]) < 2:
        raise ValueError("sim: has taken no step yet; must have a run in its history")
    if sim.scene.emitters:
        raise ValueError("sim: has emitters, whose fillings bring in mass and momentum; must have none")
    if sim.scene.drains:
        raise ValueError("sim: has drains, which take mass and momentum; must have none")
    failures, turning = [], False
    for row in drifts(sim, start_of(sim)):
        name = {"m": "mass", "P": "momentum", "L": "angular_momentum"}[row.quantity[0]]
        turning |= name == "angular_momentum"
        if name in allowed and not row.relative <= allowed[name]:
            failures.append(
                f"{row.quantity} departs by {row.drift:.3g} {row.unit}, {row.relative:.3g} of {row.scale:.3g}; "
                f"allowed is {allowed[name]:g}"
            )
    if "angular_momentum" in allowed and not turning:
        raise ValueError(
            "angular_momentum: must be None, since walls, colliders or forces change all components"
        )
    if "energy" in allowed:
        total, largest = sim.history["energy"], float(sim.history["kinetic"].max())
        rise = float((total - total[0]).max())
        if not rise <= allowed["energy"] * largest:
            failures.append(
                f"the energy rises by {rise:.3g}; allowed is {allowed['energy']:g} of {largest:.3g}"
            )
    if failures:
        raise AssertionError("not conserved: " + "; ".join(failures))


@_check.options
def orders(error: Callable[[float], float] | Sequence[float], dx: Sequence[float]) -> FloatArray:
    """Observed orders of convergence: log(e_k/e_{k+1})/log(dx_k/dx_{k+1}) of errors at several resolutions.

    Parameters
    ----------
    error : callable or sequence of float
        A function of dx that returns an error > 0, such as one of a run with that cell size; or the errors.
    dx : sequence of float
        At least two cell sizes or time steps, > 0, each other than the one before.

    Returns
    -------
    ndarray, shape (len(dx) − 1,)

    Raises
    ------
    TypeError, ValueError
        An argument is wrong, or an error is not > 0.

    Examples
    --------
    >>> import mpm
    >>> mpm.testing.orders(lambda dx: 3 * dx**2, [0.1, 0.05, 0.025]).round(6).tolist()
    [2.0, 2.0]
    """
    sizes = _check.array("dx", dx, (None,))
    if len(sizes) < 2 or not (sizes > 0).all() or not (np.diff(sizes) != 0).all():
        raise ValueError(
            f"dx = {_check.shown(dx)}: must be at least two numbers > 0, each other than the one before"
        )
    if callable(error):
        made: Any = [error(float(size)) for size in sizes]
    else:
        made = error
    errors = _check.array("error", made, (len(sizes),))
    if not (errors > 0).all():
        raise ValueError(f"error = {_check.shown(errors.tolist())}: must be > 0")
    return np.asarray(-np.diff(np.log(errors)) / -np.diff(np.log(sizes)))


@_check.options
def check_law(
    material: Any,
    *,
    dimensions: Sequence[int] | None = None,
    stretches: tuple[float, float] = (0.8, 1.25),
    samples: int = 500,
    seed: int = 0,
    tolerance: float = 1e-6,
) -> dict[str, float]:
    """Look for errors in a law: of the package, a `mpm.materials.UserLaw`, or a law in Python (see `mpm.point`).

    At random states without plastic flow: the stress is the derivative of the energy (by differences of fourth order);
    a turned body has a turned stress; the two moduli bound the second derivatives of the energy; NaN gives NaN and
    touches no neighbour; particles do not depend on their neighbours; the slope of the stress does not jump, unless the
    law says so (`mpm.materials.UserLaw`, ``kinked``; laws of the package may have kinks where they return what
    ``"kink"`` measures, the largest jump over the longitudinal modulus). Finally: after a random step all numbers are
    finite, and a second return map without a time step changes nothing. A law that hardens after it has returned, such
    as `mpm.materials.NACC`, fails this last check alone. A law in Python has no moduli and no return map.

    Parameters
    ----------
    material
        The law.
    dimensions : sequence of int, optional
        2, 3 or both; default: those in which the law can be used.
    stretches : (float, float), optional
        Range of the principal stretches, default (0.8, 1.25).
    samples : int, optional
        Deformation gradients per check, default 500.
    seed : int, optional
        Default 0.
    tolerance : float, optional
        Of all checks, relative to the stress plus the longitudinal modulus at rest; default 1e-6. A stress with kinks,
        as of fibres that get taut, needs 1e-4.

    Returns
    -------
    dict of str to float
        The largest deviation of each check, such as ``{"stress = dPsi/dF, 3-D": 3e-12, …}``.

    Raises
    ------
    AssertionError
        A check failed: the message names it, the deviation, and the deformation gradient.
    TypeError, ValueError
        An argument is wrong.

    Examples
    --------
    >>> rubber = mpm.materials.MooneyRivlin(c10=2e5, c01=1e5, bulk_modulus=1e7, density=1000)
    >>> mpm.testing.check_law(rubber)["stress = dPsi/dF, 3-D"] < 1e-9
    True
    """
    law = law_of(material)
    low, high = _check.array("stretches", stretches, (2,)).tolist()
    if not 0 < low < high:
        raise ValueError(f"stretches = ({low!r}, {high!r}): must be 0 < least < largest")
    count = _check.integer("samples", samples, low=1, high=10**6)
    room = _check.number("tolerance", tolerance, low=0, low_open=True)
    usable = material._supported if isinstance(material, UserLaw) else (2, 3)
    chosen = usable
    if dimensions is not None:
        if isinstance(dimensions, str) or not isinstance(dimensions, Sequence):
            raise _check.wrong_type("dimensions", dimensions, "a sequence of 2 and 3")
        chosen = tuple(_check.integer("dimensions", d, low=2, high=3) for d in dimensions)
    found: dict[str, float] = {}
    for d in chosen:
        if d not in usable:
            raise ValueError(f"dimensions = {d}: must be among {usable}, where the law answers")
        rng = np.random.default_rng(_check.integer("seed", seed, low=0, high=2**63 - 1))
        checks = _Checks(law, d, room, found)
        F = _gradients(count, d, rng, low, high)
        with np.errstate(all="ignore"):
            checks.all(F, rng, isinstance(material, Material) and material._row["return_map"])
    return found


class _Checks:
    """The checks in one dimension; `found` collects what they measure."""

    def __init__(self, law: Law, d: int, tolerance: float, found: dict[str, float]) -> None:
        self.law, self.d, self.tolerance, self.found = law, d, tolerance, found
        self.initial = law._initial_history(d)
        rest = self.answer(np.eye(d)[None])
        self.has_moduli = not isinstance(law, PythonLaw)
        if self.has_moduli:
            self.modulus = float(rest.longitudinal[0])
        else:
            stretched = np.eye(d)[None] + 1e-4 * np.eye(d)
            self.modulus = float(np.abs(self.answer(stretched).tau - rest.tau).max()) / 1e-4
        self.rest = rest

    def answer(self, F: FloatArray) -> Any:
        history = np.repeat(self.initial[None], len(F), axis=0)
        return self.law._evaluate(np.ascontiguousarray(F), history)

    def keep(
        self, name: str, errors: FloatArray, F: FloatArray, room: float | None = None, advice: str = ""
    ) -> None:
        """Note the largest error; an AssertionError, which ends with the advice, if it is too large or NaN."""
        room = self.tolerance if room is None else room
        worst = int(np.argmax(np.where(np.isnan(errors), np.inf, errors)))
        title = f"{name}, {self.d}-D"
        self.found[title] = float(errors[worst])
        if not errors[worst] <= room:
            raise AssertionError(
                f"{title}: deviation {errors[worst]:.3g} > {room:g} at F = {F[worst].tolist()}{advice}"
            )

    def all(self, F: FloatArray, rng: np.random.Generator, returns: bool) -> None:
        eye = np.eye(self.d)[None]
        self.keep("energy at rest", np.abs(self.rest.energy) / self.modulus, eye, 1e-9)
        here = self.answer(F)
        scale = np.abs(here.tau).max(axis=(1, 2)) + self.modulus
        self.kink(F[:PATHS])
        if not np.isnan(here.energy).all():  # of a law in Python without one
            kinked = self.found[f"kink, {self.d}-D"] > KINK
            advice = (
                "; the law has kinks, which disturb differences: tolerance=1e-4 allows for that"
                if kinked
                else ""
            )
            self.keep("stress = dPsi/dF", stress_error(self.answer, F) / scale, F, advice=advice)
        turned = turning_error(self.answer, F, _rotations(len(F), self.d, rng))
        self.keep("turned with the body", turned / scale, F)
        self.neighbours(F, here)
        if self.has_moduli:
            lost = ~(np.isfinite(here.longitudinal) & np.isfinite(here.isolated))
            self.keep("moduli, finite", lost.astype(float), F, 0.0)
            limit = max(self.tolerance, 1e-5)  # rounding of second differences
            longitudinal, isolated = curvature_excess(self.answer, F, rng) / self.modulus
            self.keep("moduli, longitudinal", longitudinal, F, limit)
            self.keep("moduli, of a particle alone", isolated, F, limit)
        if returns:
            self.idempotence(F, rng)

    def kink(self, F: FloatArray) -> None:
        """Before the stress, whose differences a kink disturbs. Laws of the package and in Python are only measured."""
        jumps = slope_jump(self.answer, F, np.random.default_rng(0)) / self.modulus
        known = not isinstance(self.law, UserLaw) or self.law.kinked
        advice = "; the slope of the stress jumps near there: give UserLaw kinked=True if it should"
        self.keep("kink", jumps, F, math.inf if known else KINK, advice)

    def neighbours(self, F: FloatArray, here: Any) -> None:
        """NaN gives NaN, in its own row alone, and a row does not depend on the others. Simulations find NaN of the
        package's laws by det F, so these are not asked."""
        marred = F.copy()
        marred[::3, 0, self.d - 1] = np.nan
        there = self.answer(marred)
        silent = ~np.isnan(there.tau[::3]).any(axis=(1, 2)) & ~np.isnan(there.energy[::3])
        if isinstance(self.law, (UserLaw, PythonLaw)):
            self.keep("NaN for NaN", silent.astype(float), marred[::3], 0.0)
        scale = np.abs(here.tau).max() + self.modulus
        kept = np.ones(len(F), dtype=bool)
        kept[::3] = False
        beside = np.abs(there.tau - here.tau)[kept].max(axis=(1, 2), initial=0) / scale
        if kept.any():
            self.keep("NaN beside", beside, F[kept], 1e-13)
        alone = np.concatenate([self.answer(F[k : k + 1]).tau for k in range(min(len(F), 20))])
        self.keep("neighbours", np.abs(alone - here.tau[: len(alone)]).max(axis=(1, 2)) / scale, F, 1e-13)

    def idempotence(self, F: FloatArray, rng: np.random.Generator) -> None:
        gradient = np.ascontiguousarray(rng.normal(size=F.shape))
        still = np.zeros_like(gradient)
        history = np.repeat(self.initial[None], len(F), axis=0)
        once = self.law._return_map(np.ascontiguousarray(F), history, 1e-3, gradient)
        parts = [
            np.isfinite(part).reshape(len(F), -1).all(axis=1) for part in (*once, *self.law._evaluate(*once))
        ]
        self.keep("finite after a step", 1.0 - np.logical_and.reduce(parts), F, 0.0)
        twice = self.law._return_map(*once, 0.0, still)
        self.keep("return map twice, F", np.abs(twice[0] - once[0]).max(axis=(1, 2)), F)
        size = np.abs(once[1]).max(axis=0, initial=0) + np.abs(self.initial) + 1e-300
        change = (np.abs(twice[1] - once[1]) / size).max(axis=1, initial=0)
        self.keep("return map twice, history", change, F)


def stress_error(answer: Answer, F: FloatArray) -> FloatArray:
    """The largest deviation (m,) [Pa] of τ from ∂Ψ/∂F Fᵀ, by differences of fourth order.

    Parameters
    ----------
    answer : callable
        Takes F (m, d, d), returns τ (m, d, d) and Ψ (m,) first.
    F : ndarray, shape (m, d, d)
        Deformation gradients.
    """
    d = F.shape[1]
    P = np.empty_like(F)
    for a in range(d):
        for b in range(d):
            step = np.zeros((d, d))
            step[a, b] = STEP
            psi = [answer(F + k * step)[1] for k in (-2, -1, 1, 2)]
            P[:, a, b] = (psi[0] - 8 * psi[1] + 8 * psi[2] - psi[3]) / (12 * STEP)
    tau = answer(F)[0]
    return np.asarray(np.abs(tau - P @ F.transpose(0, 2, 1)).max(axis=(1, 2)))


def turning_error(answer: Answer, F: FloatArray, Q: FloatArray) -> FloatArray:
    """The largest deviation (m,) [Pa] of τ(Q F) from Q τ(F) Qᵀ, and of Ψ(Q F) from Ψ(F).

    Parameters
    ----------
    answer : callable
        Takes F (m, d, d), returns τ (m, d, d) and Ψ (m,) first.
    F, Q : ndarray, shape (m, d, d)
        Deformation gradients and rotations.
    """
    here, there = answer(F), answer(np.ascontiguousarray(Q @ F))
    stress = np.abs(there[0] - Q @ here[0] @ Q.transpose(0, 2, 1)).max(axis=(1, 2))
    energy = np.abs(there[1] - here[1])
    return np.asarray(np.where(np.isnan(energy), stress, np.maximum(stress, energy)))


def curvature_excess(answer: Answer, F: FloatArray, rng: np.random.Generator) -> FloatArray:
    """By how much (2, m) [Pa] curvatures of the energy exceed 1.0001 of the longitudinal modulus and of that of a
    particle alone, which must bound them; < 0: nowhere.

    Curvatures are second differences of Ψ along F ← (I + s A) F with |A| = 1: any A for the modulus of a particle
    alone, A of rank one for that of a plane wave; random ones and those along the principal axes.

    Parameters
    ----------
    answer : callable
        Takes F (m, d, d), returns τ, Ψ, τ_zz and the two moduli (m,).
    F : ndarray, shape (m, d, d)
        Deformation gradients.
    rng : numpy.random.Generator
        Of the directions.
    """
    m, d = F.shape[:2]
    _, psi, _, isolated, wave = answer(F)
    excess = np.full((2, m), -np.inf)
    plane, alone = zip(excess, (wave, isolated), strict=True)
    principal = np.linalg.svd(F)[0]

    def unit(*shape: int) -> FloatArray:
        a = rng.normal(size=(m, *shape))
        return np.asarray(a / np.sqrt((a**2).reshape(m, -1).sum(axis=1)).reshape(m, *[1] * len(shape)))

    def consider(A: FloatArray, of: tuple[FloatArray, FloatArray]) -> None:
        worst, modulus = of
        ahead, behind = (answer((np.eye(d) + sign * STEP * A) @ F)[1] for sign in (1, -1))
        np.maximum(worst, (ahead + behind - 2 * psi) / STEP**2 - (1 + MARGIN) * modulus, out=worst)

    consider(np.repeat(np.eye(d)[None] / math.sqrt(d), m, axis=0), alone)
    consider(principal[:, :, :1] * principal[:, None, :, 0], plane)
    for _ in range(4):
        consider(unit(d, d), alone)
        consider(np.einsum("nij,nj,nkj->nik", principal, unit(d), principal), alone)
        consider(unit(d)[:, :, None] * unit(d)[:, None, :], plane)
    return excess


def slope_jump(answer: Answer, F: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The largest jump (m,) [Pa] of dτ/ds on the path (I + s A) F, |s| < 0.2, with a random A, |A| = 1; 0: none.

    Second differences of τ over the step of s shrink with it where τ is smooth, and stay where its slope jumps. So the
    search narrows down on the largest.

    Parameters
    ----------
    answer : callable
        Takes F (m, d, d), returns τ (m, d, d) first.
    F : ndarray, shape (m, d, d)
        Deformation gradients.
    rng : numpy.random.Generator
        Of the directions.
    """
    m, d = F.shape[:2]
    A = rng.normal(size=(m, d, d))
    A /= np.linalg.norm(A, axis=(1, 2), keepdims=True)
    middle, reach = np.zeros(m), 0.2
    before = jump = np.full(m, np.inf)
    for points in (65, 17, 17, 17):
        s = middle[:, None] + np.linspace(-reach, reach, points)
        paths = np.einsum("mnij,mjk->mnik", np.eye(d) + s[:, :, None, None] * A[:, None], F)
        tau = answer(np.ascontiguousarray(paths.reshape(-1, d, d)))[0].reshape(m, points, -1)
        step = 2 * reach / (points - 1)
        seconds = np.abs(tau[:, 2:] - 2 * tau[:, 1:-1] + tau[:, :-2]).max(axis=2) / step
        worst = seconds.argmax(axis=1)
        before, jump = jump, seconds.max(axis=1)
        middle, reach = s[np.arange(m), worst + 1], step
    return np.where(jump > 0.4 * before, jump, 0.0)


def _rotations(m: int, d: int, rng: np.random.Generator) -> FloatArray:
    Q, R = np.linalg.qr(rng.normal(size=(m, d, d)))
    Q *= np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None, :]
    Q[:, :, 0] *= np.linalg.det(Q)[:, None]
    return np.asarray(Q)


def _gradients(m: int, d: int, rng: np.random.Generator, low: float, high: float) -> FloatArray:
    stretch = rng.uniform(low, high, (m, d))
    turned, back = _rotations(m, d, rng), _rotations(m, d, rng)
    return np.asarray(np.einsum("nij,nj,nkj->nik", turned, stretch, back))
