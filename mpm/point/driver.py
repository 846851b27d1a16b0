"""Drives a material point along a prescribed path of deformation and stress.

A time step is that of a particle: F advances by the velocity gradient between two times, F ← (I + Δt ∇v) F, the law's
return map follows, then the stress is evaluated. Components of F that belong to a prescribed stress are found by
Newton's method, with a tangent from central differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from mpm.base import _check, fieldtable
from mpm.base._check import FloatArray
from mpm.errors import ConvergenceError
from mpm.materials.laws import Material, answers, is_python_law, out_of_range, wrong_material
from mpm.point.response import Response

Component = float | npt.ArrayLike | Callable[[float], float]
Prescribed = npt.ArrayLike | Callable[[float], npt.ArrayLike] | Mapping[str, Component]

ITERATIONS = 60
LONGEST = 0.5  # change of a logarithmic stretch, or of a shear, in one iteration
FARTHEST = 2.0  # from the first guess: beyond, laws that break find no stress by growing without bound
DIFFERENCE = 1e-5  # of both, for the tangent
SHORTER = 0.5 ** np.arange(14)  # trial lengths of a Newton step
TOLERANCE = 1e-13  # of stiffness and stress; rounding may keep the residual above, hence:
ATTAINABLE = 1e-9


class Law(Protocol):
    """What the driver asks of a material."""

    @property
    def _title(self) -> str: ...
    def _initial_history(self, d: int) -> FloatArray: ...
    def _return_map(
        self, F: FloatArray, history: FloatArray, dt: float, velocity_gradient: FloatArray
    ) -> tuple[FloatArray, FloatArray]: ...
    def _evaluate(
        self, F: FloatArray, history: FloatArray | None = None, velocity_gradient: FloatArray | None = None
    ) -> Any: ...


class Kirchhoff(NamedTuple):
    """A law in Python at m deformation gradients, as `laws.Evaluation` has it."""

    tau: FloatArray
    energy: FloatArray
    tau_zz: FloatArray


class PythonLaw:
    """An object with ``energy(F)`` or ``stress(F)`` as a `Law` without history."""

    def __init__(self, law: Any) -> None:
        self.energy = getattr(law, "energy", None)
        self.stress = getattr(law, "stress", None)
        self._title = type(law).__name__

    def _initial_history(self, d: int) -> FloatArray:
        return np.zeros(0)

    def _return_map(
        self, F: FloatArray, history: FloatArray, dt: float, velocity_gradient: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        return F, history

    def _evaluate(
        self, F: FloatArray, history: FloatArray | None = None, velocity_gradient: FloatArray | None = None
    ) -> Kirchhoff:
        m, d = F.shape[:2]
        whole = in_space(F)
        energy = np.full(m, np.nan) if self.energy is None else self._energy(whole)
        if self.stress is None:
            P = self._differentiated(whole)
        else:
            P = _check.array("material.stress(F)", self.stress(whole), (m, 3, 3), finite=False)
        tau = P @ whole.transpose(0, 2, 1)
        return Kirchhoff(tau[:, :d, :d], energy, tau[:, 2, 2])

    def _energy(self, F: FloatArray) -> FloatArray:
        assert self.energy is not None
        return _check.array("material.energy(F)", self.energy(F), (len(F),), finite=False)

    def _differentiated(self, F: FloatArray) -> FloatArray:
        """∂Ψ/∂F by central differences of fourth order."""
        step = 1e-3
        units = np.eye(9).reshape(9, 3, 3)
        shifted = [F + k * step * unit for unit in units for k in (-2, -1, 1, 2)]
        values = self._energy(np.concatenate(shifted)).reshape(9, 4, len(F))
        slopes = np.tensordot(values, np.array([1, -8, 8, -1]) / (12 * step), axes=(1, 0))
        return np.asarray(slopes.T.reshape(-1, 3, 3))


def in_space(F: FloatArray) -> FloatArray:
    """Deformation gradients (m, d, d) as (m, 3, 3); plane strain has no stretch along z."""
    whole = np.repeat(np.eye(3)[None], len(F), axis=0)
    whole[:, : F.shape[1], : F.shape[1]] = F
    return whole


class Reaction(NamedTuple):
    """A law after a step to m deformations."""

    F: FloatArray  # (m, d, d) as the law keeps it
    history: FloatArray  # (m, components)
    tau: FloatArray  # (m, 3, 3)
    energy: FloatArray  # (m,)


class Point:
    """A material point at a time: its deformation, and what the law keeps."""

    def __init__(self, law: Law, history: FloatArray, dimension: int) -> None:
        self.law = law
        self.whole = np.eye(dimension)
        self.F = np.eye(dimension)
        self.history = history

    def react(self, whole: FloatArray, dt: float) -> Reaction:
        """What the law says after a step `dt` to the deformations (m, d, d); the point stays where it is."""
        m, d = whole.shape[:2]
        step = whole @ np.linalg.inv(self.whole)
        gradient = (step - np.eye(d)) / dt if dt > 0 else np.zeros((m, d, d))
        purely_elastic = (self.F == self.whole).all()  # then no rounding of the increments adds up
        trial = np.ascontiguousarray(whole if purely_elastic else step @ self.F)
        kept = np.repeat(self.history[None], m, axis=0)
        F, kept = self.law._return_map(trial, kept, dt, np.ascontiguousarray(gradient))
        found = self.law._evaluate(F, kept, np.ascontiguousarray(gradient))
        tau = np.zeros((m, 3, 3))
        tau[:, :d, :d] = found.tau
        if d == 2:
            tau[:, 2, 2] = found.tau_zz
        return Reaction(F, kept, tau, found.energy)

    def stiffness(self) -> float:
        """The largest change of stress with strain at rest [Pa], without yielding."""
        d = len(self.whole)
        steps = [DIFFERENCE * sign * unit for unit in np.eye(d * d).reshape(-1, d, d) for sign in (1, -1)]
        tau = self.law._evaluate(
            np.eye(d) + np.array(steps), np.repeat(self.history[None], len(steps), axis=0)
        ).tau
        return float(np.abs(tau[::2] - tau[1::2]).max() / (2 * DIFFERENCE))


@_check.options
def drive(
    material: Any,
    *,
    times: npt.ArrayLike,
    F: Prescribed | None = None,
    stress: Prescribed | None = None,
    history: Mapping[str, npt.ArrayLike] | None = None,
    dimension: int = 3,
) -> Response:
    """Drive a material point through prescribed deformations, Cauchy stresses, or a mix of both.

    The point is at rest before the first time and reaches its first state at once: without a time step and with a
    velocity gradient of zero. Between two times the velocity gradient is (F₂ F₁⁻¹ − I)/Δt; it enters viscous stresses
    and return maps, as in a step of a `Simulation`. The error of laws that depend on time or path is of first order in
    the distance of the times.

    Where a component of the stress is prescribed, the driver solves for a component of F: a stretch for σ_xx, σ_yy,
    σ_zz, the upper shear F_xy, F_xz, F_yz for σ_xy, σ_xz, σ_yz. The residual falls to the level of rounding, 10⁻¹³ of
    stiffness and stress if possible, and at most 10⁻⁹.

    Parameters
    ----------
    material
        One of `mpm.materials`, or a law in Python (see `mpm.point`).
    times : array_like, shape (k,)
        [s], ascending.
    F : array_like, callable or mapping, optional
        The deformation gradient: an array (k, d, d), a function of time that returns (d, d), or components by name,
        such as ``{"xx": lambda t: 1 + t, "xy": 0.1}``, each a number, an array (k,) or a function of time. Components
        that neither `F` nor `stress` names are those of the identity.
    stress : array_like, callable or mapping, optional
        Cauchy stress [Pa], positive in tension, in the same three forms; the mapping names only the upper triangle.
    history : mapping of str to array_like, optional
        Initial values of fields of the law's history, such as ``{"Jp": 0.9}``; default: those of new particles.
    dimension : int, optional
        3 (the default) or 2 for plane strain.

    Returns
    -------
    Response
        The states at the times.

    Raises
    ------
    TypeError, ValueError
        An argument is wrong, names a field that the law lacks, or leaves the range of the law.
    mpm.ConvergenceError
        No F was found for a prescribed stress; the message names the time and the component, ``time`` and ``step``
        (the index) are attributes.

    References
    ----------
    Bardet, Choucair: A linearized integration technique for incremental constitutive equations. Int. J. Numer. Anal.
    Methods Geomech. 15 (1991) 1-19 (mixed control of a point).
    """
    d = _check.integer("dimension", dimension, low=2, high=3)
    law = law_of(material)
    t = _times(times)
    deformation = _components("F", F, t, d)
    wanted = _components("stress", stress, t, d)
    if not deformation and not wanted:
        raise TypeError("F: nothing is prescribed: give F, stress, or components of both")
    for name in wanted:
        if name in deformation:
            raise ValueError(f"stress: {name!r} is prescribed by F, too; must be one of both")
    path = np.repeat(np.eye(d)[None], len(t), axis=0)
    for name, values in deformation.items():
        path[(slice(None), *_place(name))] = values
    if not wanted:
        _refuse_inverted(material, path)

    point = Point(law, _initial(material, law, history, d), d)
    search = Search(point, wanted, t) if wanted else None
    reactions = []
    with np.errstate(all="ignore"):  # what is not finite is found below
        for i in range(len(t)):
            dt = t[i] - t[i - 1] if i else 0.0
            if search:
                path[i] = search.find(i, dt, path[i])
            reaction = point.react(path[i : i + 1], dt)
            determinant = np.linalg.det(path[i])
            if not (
                np.isfinite(reaction.tau / determinant).all() and answers(reaction.tau, reaction.energy).all()
            ):
                raise out_of_range(i, path[i], law._title)
            point.whole, point.F, point.history = path[i], reaction.F[0], reaction.history[0]
            reactions.append(reaction)
    return _response(material, t, path, reactions)


class Search:
    """Finds the components of F that belong to prescribed stresses."""

    def __init__(self, point: Point, wanted: Mapping[str, FloatArray], times: FloatArray) -> None:
        self.point = point
        self.names = list(wanted)
        self.wanted = np.stack([wanted[name] for name in self.names], axis=1)
        self.times = times
        self.places = [_place(name) for name in self.names]
        self.stretches = np.array([a == b for a, b in self.places])
        self.stiffness = point.stiffness()
        self.found: list[FloatArray] = []  # logarithms of stretches, and shears, at the times so far

    def deform(self, unknowns: FloatArray, known: FloatArray) -> FloatArray:
        """F (m, d, d) of unknowns (m, n)."""
        whole = np.repeat(known[None], len(unknowns), axis=0)
        values = np.where(self.stretches, np.exp(unknowns), unknowns)
        for value, (a, b) in zip(values.T, self.places, strict=True):
            whole[:, a, b] = value
        return whole

    def find(self, i: int, dt: float, known: FloatArray) -> FloatArray:
        """F at the time of index i."""

        def cauchy(unknowns: FloatArray) -> FloatArray:
            whole = self.deform(unknowns, known)
            tau = self.point.react(whole, dt).tau / np.linalg.det(whole)[:, None, None]
            return np.stack([tau[:, a, b] for a, b in self.places], axis=1)

        target = self.wanted[i]
        scale = self.stiffness + float(np.abs(target).max())
        last = self.found[-1] if i else np.zeros(len(self.names))
        guesses = [last, self._isochoric(last, known)]
        if not i:
            guesses.append(self._isotropic(last, known))
        if i > 1:  # straight on
            guesses.insert(0, last + (last - self.found[-2]) * dt / (self.times[i - 1] - self.times[i - 2]))
        best: tuple[FloatArray, FloatArray] | None = None
        for guess in guesses:
            unknowns, residual = _newton(lambda u: cauchy(u) - target, guess, TOLERANCE * scale)
            if best is None or _size(residual) < _size(best[1]):
                best = unknowns, residual
            if _size(residual) <= ATTAINABLE * scale:
                break
        else:
            assert best is not None
            unknowns = self._gradually(cauchy, last, target, scale)
            residual = cauchy(unknowns[None])[0] - target
            if not _size(residual) <= ATTAINABLE * scale:
                raise self._error(i, best[1], target, self.deform(last[None], known)[0])
        self.found.append(unknowns)
        return np.asarray(self.deform(unknowns[None], known)[0])

    def _isochoric(self, last: FloatArray, known: FloatArray) -> FloatArray:
        """The last unknowns with stretches that keep the volume: grains that part have no stress that could guide."""
        volume = np.linalg.det(self.deform(last[None], known)[0]) / np.linalg.det(self.point.whole)
        if not (volume > 0 and self.stretches.any()):
            return last
        return np.asarray(last - np.log(volume) / self.stretches.sum() * self.stretches)

    def _isotropic(self, last: FloatArray, known: FloatArray) -> FloatArray:
        """Stretches as that of the axes whose deformation is known: a point that was consolidated is such a state."""
        axes = set(range(len(known))) - {a for a, b in self.places if a == b}
        stretches = [float(np.log(max(known[a, a], 1e-300))) for a in axes]
        return np.asarray(np.where(self.stretches, np.mean(stretches), last)) if stretches else last

    def _gradually(
        self, cauchy: Callable[[FloatArray], FloatArray], last: FloatArray, target: FloatArray, scale: float
    ) -> FloatArray:
        """The same step with a target that moves from the present answer to what is wanted."""
        start = cauchy(last[None])[0]
        unknowns = last
        for share in np.linspace(0, 1, 17)[1:]:
            goal = start + share * (target - start)
            unknowns, _ = _newton(lambda u, goal=goal: cauchy(u) - goal, unknowns, TOLERANCE * scale)  # type: ignore[misc]
        return unknowns

    def _error(
        self, i: int, residual: FloatArray, target: FloatArray, whole: FloatArray
    ) -> ValueError | ConvergenceError:
        if not np.isfinite(residual).all():
            return out_of_range(i, whole, self.point.law._title)
        worst = int(np.argmax(np.abs(residual)))
        error = ConvergenceError(
            f"no F found for stress[{self.names[worst]!r}] = {target[worst]:g} Pa at times[{i}] = "
            f"{self.times[i]:g} s: the nearest is off by {abs(residual[worst]):.3g} Pa; does the law resist in that "
            "direction, and are the times close enough?"
        )
        error.residuals, error.rows = np.abs(residual).tolist(), []
        error.step, error.time = i, float(self.times[i])
        return error


def _size(residual: FloatArray) -> float:
    size = float(np.abs(residual).max())
    return size if np.isfinite(size) else np.inf


def _newton(
    residual: Callable[[FloatArray], FloatArray], guess: FloatArray, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """The best unknowns that Newton's method finds, and their residual."""
    here, there = guess, residual(guess[None])[0]
    n = len(guess)
    steps = DIFFERENCE * np.eye(n)
    for _ in range(ITERATIONS):
        if not tolerance < _size(there) < np.inf:
            break
        around = residual(here + np.concatenate([steps, -steps]))
        tangent = (around[:n] - around[n:]).T / (2 * DIFFERENCE)
        if not np.isfinite(tangent).all():
            break
        change = np.linalg.lstsq(tangent, -there, rcond=1e-10)[0]
        change *= min(1.0, LONGEST / max(float(np.abs(change).max()), 1e-300))
        candidates = here + SHORTER[:, None] * change
        candidates = candidates[np.abs(candidates - guess).max(axis=1) <= FARTHEST]
        if not len(candidates):
            break
        residuals = residual(candidates)
        sizes = [_size(r) for r in residuals]
        best = int(np.argmin(sizes))
        if not sizes[best] < _size(there):
            break
        here, there = candidates[best], residuals[best]
    return here, there


def law_of(material: object) -> Law:
    """A material, or a law in Python, as the driver asks it."""
    if isinstance(material, Material):
        if material._row["rigid"]:
            raise ValueError(
                f"material = {material!r}: a rigid body does not deform, so it has no law to drive"
            )
        return material._resolved(None)
    if is_python_law(material):
        return PythonLaw(material)
    raise wrong_material(material, "one of mpm.materials, or an object with energy(F) or stress(F)")


def _times(times: object) -> FloatArray:
    t = _check.array("times", times, (None,))
    if not len(t):
        raise ValueError("times is empty: must have one time at least")
    for i in np.flatnonzero(np.diff(t) <= 0)[:1]:
        raise ValueError(f"times[{i + 1}] = {t[i + 1]:g}: must be > times[{i}] = {t[i]:g}")
    return t


def _place(component: str) -> tuple[int, int]:
    return "xyz".index(component[0]), "xyz".index(component[1])


def _components(name: str, value: Any, t: FloatArray, d: int) -> dict[str, FloatArray]:
    """A prescribed tensor by its components, each (k,)."""
    k = len(t)
    of_rank = fieldtable.components(d)
    if isinstance(value, Mapping):
        allowed = of_rank["tensor" if name == "F" else "symmetric"]
        named = {_check.choice(name, key, allowed): values for key, values in value.items()}
        return {key: _curve(f"{name}[{key!r}]", values, t) for key, values in named.items()}
    if value is None:
        return {}
    if callable(value):
        rows = [_check.array(name, value(float(time)), (d, d)) for time in t]
        tensor = np.array(rows)
    else:
        tensor = _check.array(name, value, (k, d, d))
    if name == "F":
        return {key: tensor[(slice(None), *_place(key))] for key in of_rank["tensor"]}
    uneven = np.abs(tensor - tensor.transpose(0, 2, 1)).max(axis=(1, 2)) > 1e-12 * np.abs(tensor).max()
    for i in np.flatnonzero(uneven)[:1]:
        raise ValueError(f"{name}[{i}] is not symmetric: {tensor[i].tolist()}")
    return {key: tensor[(slice(None), *_place(key))] for key in of_rank["symmetric"]}


def _curve(name: str, value: Any, t: FloatArray) -> FloatArray:
    """One component at the times."""
    if callable(value):
        return np.array([_check.number(name, value(float(time))) for time in t])
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        return _check.array(name, value, (len(t),))
    return np.full(len(t), _check.number(name, value))


def _refuse_inverted(material: Any, path: FloatArray) -> None:
    with np.errstate(over="ignore"):
        determinant = np.linalg.det(path)
        size = np.linalg.norm(path, axis=(1, 2)) ** path.shape[1]
    for i in np.flatnonzero(np.abs(determinant) <= 1e-14 * size)[:1]:
        raise ValueError(f"F[{i}] is singular (det F = {determinant[i]:g}): there is no Cauchy stress")
    if getattr(material, "inverts", True):
        return
    for i in np.flatnonzero(determinant <= 0)[:1]:
        law = type(material).__name__
        raise ValueError(f"F[{i}]: det F = {determinant[i]:g}; must be > 0 for {law}")


def _fields(material: Any) -> Sequence[Any]:
    return material._row["history"] if isinstance(material, Material) else ()


def _initial(material: Any, law: Law, history: object, d: int) -> FloatArray:
    """The history at rest, with the values that the user gives instead."""
    initial = law._initial_history(d)
    if history is None:
        return initial
    if not isinstance(history, Mapping):
        raise _check.wrong_type("history", history, "a mapping of names to values")
    fields = _fields(material)
    given = {_check.choice("history", name, [f["name"] for f in fields]): v for name, v in history.items()}
    first = 0
    for row in fields:
        shape = fieldtable.shape(row["rank"], d)
        count = int(np.prod(shape))
        if row["name"] in given:
            name = f"history[{row['name']!r}]"
            values = _check.array(name, given[row["name"]], shape)
            for value in values.ravel():
                _check.number(
                    name,
                    value,
                    low=row["low"],
                    low_open=True,
                    high=row["high"],
                    high_open=True,
                    unit=row["unit"],
                )
            initial[first : first + count] = values.ravel()
        first += count
    return initial


def _response(material: Any, t: FloatArray, path: FloatArray, reactions: Sequence[Reaction]) -> Response:
    d = path.shape[1]
    J = np.linalg.det(path)
    tau = np.concatenate([reaction.tau for reaction in reactions])
    kept = np.concatenate([reaction.history for reaction in reactions])
    history, first = {}, 0
    for row in _fields(material):
        shape = fieldtable.shape(row["rank"], d)
        count = int(np.prod(shape))
        history[row["name"]] = kept[:, first : first + count].reshape(len(t), *shape)
        first += count
    return Response(
        material=material,
        times=t,
        F=in_space(path),
        J=J,
        stress=tau / J[:, None, None],
        tau=tau,
        energy=np.concatenate([reaction.energy for reaction in reactions]),
        F_law=np.concatenate([reaction.F for reaction in reactions]),
        history=history,
    )
