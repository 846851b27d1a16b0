"""Where a rigid body of a simulation is and how it moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mpm.base._check import FloatArray
from mpm.joints import Joint
from mpm.mpm.rigidforms import Form
from mpm.solver.solids import Solid

__all__ = ["RigidState", "solid_of", "state_of"]

LOST = 1e-6  # of the mass of a body: less is rounding
APART = 0.05  # particle spacings: particles farther from their places are on another side of a periodic face, or moved


@dataclass(frozen=True, eq=False, slots=True)
class RigidState:
    """A rigid body at the current time: `Simulation.rigid` returns it.

    Attributes
    ----------
    position : ndarray, shape (d,)
        Centre of mass [m].
    rotation : ndarray, shape (d, d)
        Since the body was added.
    velocity : ndarray, shape (d,)
        Of the centre of mass [m/s].
    spin : float or ndarray, shape (3,)
        Angular velocity [rad/s]; a number in 2-D.
    mass : float
        [kg]; in 2-D [kg/m].
    inertia : float or ndarray, shape (3, 3)
        About the centre of mass [kg m²]; in 2-D a number [kg m].
    forces : dict of str to ndarray, shape (d,)
        Forces on it in the last step [N] by partner: ``"wall:x-"`` and so on, the names of colliders and of other rigid
        bodies, ``"nodes"`` of deformable material, and ``"joint"``. Empty before the first step that this simulation
        object takes; a file does not keep forces.
    torques : dict of str to float or ndarray, shape (3,)
        The same for torques about the centre of mass [N m]; numbers in 2-D.
    """

    position: FloatArray
    rotation: FloatArray
    velocity: FloatArray
    spin: float | FloatArray
    mass: float
    inertia: float | FloatArray
    forces: dict[str, FloatArray]
    torques: dict[str, float | FloatArray]

    @property
    def contact_force(self) -> FloatArray:
        """The sum of `forces` without that of the joint, (d,) [N]."""
        touching = [force for name, force in self.forces.items() if name != "joint"]
        return np.sum(touching, axis=0) if touching else np.zeros(len(self.position))


def state_of(
    m: FloatArray,
    x: FloatArray,
    v: FloatArray,
    C: FloatArray,
    F: FloatArray,
    forces: dict[str, tuple[FloatArray, FloatArray]],
    form: Form,
    period: FloatArray,
    dx: float,
) -> RigidState:
    """From masses (n,), places (n, d), velocities (n, d), C and F of one of the particles (d, d), and force
    and torque (3,) by partner; `period` (d,) [m] is 0 along axes that are not periodic; `dx` is that of a cell [m]."""
    d = x.shape[1]
    mass = float(m.sum())
    apart = x - x[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        apart -= np.where(period > 0, period * np.rint(apart / period), 0)
    centre = m @ apart / mass
    r = apart - centre
    S, Q = np.zeros((3, 3)), np.eye(3)
    S[:d, :d], Q[:d, :d] = np.einsum("p,pi,pj", m, r, r), F
    inertia = np.eye(3) * np.trace(S) - S + Q @ form.own @ Q.T * (mass / form.mass)
    if mass < (1 - LOST) * form.mass:  # as `raise_inertia` of csrc/mpm/rigid.c
        lowest = inertia[2, 2] if d == 2 else np.linalg.eigvalsh(inertia)[0]
        inertia += np.eye(3) * max(0, mass * dx**2 / 24 - lowest)
    spin = np.zeros(3)
    W = np.zeros((3, 3))
    W[:d, :d] = C
    spin[:] = W[2, 1], W[0, 2], W[1, 0]
    return RigidState(
        position=x[0] + centre,
        rotation=F,
        velocity=m @ v / mass,
        spin=float(spin[2]) if d == 2 else spin,
        mass=mass,
        inertia=float(inertia[2, 2]) if d == 2 else inertia,
        forces={name: force[:d] for name, (force, _) in forces.items()},
        torques={name: float(torque[2]) if d == 2 else torque for name, (_, torque) in forces.items()},
    )


def solid_of(
    form: Form,
    ids: tuple[int, int],
    m: FloatArray,
    x: FloatArray,
    rest: FloatArray,
    rotation: FloatArray,
    spacing: float,
    joint: Joint | None,
) -> Solid:
    """The shape of a body for pictures, from its first id and their number, and from masses (n,), places (n, d), and
    places in the rest frame (n, d) of its particles."""
    position = m @ (x - rest @ rotation.T) / m.sum()
    if not np.abs(position + rest @ rotation.T - x).max() < APART * spacing:
        position = np.full_like(position, np.nan)
    d = x.shape[1]
    rim = form.points[:, 3:4] + 0.5 * spacing
    return Solid(
        *ids,
        shape=form,
        lower=(form.points[:, :d] - rim).min(axis=0),
        upper=(form.points[:, :d] + rim).max(axis=0),
        spacing=spacing,
        position=position,
        rotation=rotation,
        joint=joint,
    )
