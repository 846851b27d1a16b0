"""The pieces that bodies have broken into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray

if TYPE_CHECKING:
    from mpm.mpm.simulation import Simulation

__all__ = ["Fragments", "fragments"]

REACH = 1.75  # times the mean spacing of two particles: diagonals of a stretched lattice are shorter
TINY = 1e-300  # [kg]
NEAR = 2.0  # cells: a broken particle goes to the piece of a whole one within


@dataclass(frozen=True, eq=False, slots=True)
class Fragments:
    """The pieces of bodies, the heaviest first, equal ones in the order of their bodies. Made by `fragments`.

    Attributes
    ----------
    label : ndarray, shape (n,)
        The piece of every particle, −1 where it belongs to none (dust, rigid bodies).
    body : tuple of str
        The body that each of the k pieces comes from.
    count : ndarray, shape (k,)
        Particles of each.
    mass, volume : ndarray, shape (k,)
        [kg] and rest volume [m³]; in 2-D per metre of depth.
    centre, velocity : ndarray, shape (k, d)
        Centre of mass [m] and its velocity [m/s].
    dust : float
        Mass of broken particles without a piece, and of pieces below ``least`` particles [kg].
    """

    label: npt.NDArray[np.int64]
    body: tuple[str, ...]
    count: npt.NDArray[np.int64]
    mass: FloatArray
    volume: FloatArray
    centre: FloatArray
    velocity: FloatArray
    dust: float

    def __len__(self) -> int:
        return len(self.mass)

    def __repr__(self) -> str:
        whole = self.mass.sum() + self.dust
        largest = f", the largest with {self.mass[0] / whole:.0%} of the mass" if len(self) else ""
        return f"<{len(self)} fragments{largest}; dust {self.dust / whole if whole else 0:.0%}>"


def _connected(x: FloatArray, spacing: FloatArray) -> npt.NDArray[np.int64]:
    """The component (n,) of every particle, from 0."""
    spatial, sparse, graphs = (
        _check.extra(name, "mpm.fragments needs SciPy", "fit", "scipy")
        for name in ("scipy.spatial", "scipy.sparse", "scipy.sparse.csgraph")
    )
    if not len(x):
        return np.zeros(0, dtype=np.int64)
    pairs = spatial.cKDTree(x).query_pairs(REACH * float(spacing.max()), output_type="ndarray")
    distance = np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1)
    i, j = pairs[distance <= REACH * 0.5 * spacing[pairs].sum(axis=1)].T
    graph = sparse.coo_matrix((np.ones(len(i), dtype=bool), (i, j)), shape=(len(x), len(x)))
    return np.asarray(graphs.connected_components(graph, directed=False)[1], dtype=np.int64)


@_check.options
def fragments(sim: Simulation, *, damage: float = 0.9, least: int = 4) -> Fragments:
    """The pieces that the bodies of a simulation have broken into: ``mpm.fragments(sim).mass``.

    Particles of a body are connected if they are within 1.75 times their mean spacing (the root of their volume)
    and neither is broken. A broken particle belongs to the piece of the nearest whole particle of its body within two
    cells, otherwise to the dust. Rigid bodies are left out. Bodies of any material come apart where particles are
    that far from each other; the damage is that of `mpm.materials.Brittle`, of metal or soil that fractures, or of a
    law of your own with a field ``damage``.

    Parameters
    ----------
    sim : Simulation
        An `mpm.Simulation`.
    damage : float, optional
        Particles with a larger damage are broken; 0 to 1, default 0.9.
    least : int, optional
        Pieces of fewer particles are dust; >= 1, default 4.

    Returns
    -------
    Fragments

    Raises
    ------
    ImportError
        SciPy is missing.
    TypeError, ValueError
        An argument has the wrong type or range.

    Examples
    --------
    >>> scene = mpm.Scene((0, 0), (1, 1))
    >>> glass = mpm.materials.Brittle(E=1e6, nu=0.2, density=1000, tensile_strength=1e3, fracture_energy=0.2)
    >>> for x in (0.3, 0.7):
    ...     body = scene.add(mpm.shapes.Ball((x, 0.5), 0.1), glass, velocity=(x, 0))
    >>> pieces = mpm.fragments(mpm.Simulation(scene, dx=1 / 40))
    >>> len(pieces), pieces.velocity[:, 0].round(12).tolist()
    (2, [0.3, 0.7])
    """
    from mpm.mpm.simulation import Simulation

    if not isinstance(sim, Simulation):
        raise _check.wrong_type("sim", sim, "an mpm.Simulation")
    limit = _check.number("damage", damage, low=0, high=1)
    fewest = _check.integer("least", least, low=1, high=2**31 - 1)
    spatial = _check.extra("scipy.spatial", "mpm.fragments needs SciPy", "fit", "scipy")
    particles = sim.particles
    x, v = (np.array(particles[name], dtype=np.float64) for name in ("x", "v"))
    mass, rest = (np.array(particles[name], dtype=np.float64) for name in ("mass", "volume"))
    spacing = (rest * np.array(particles["J"], dtype=np.float64)) ** (1 / sim.dimension)
    has = "damage" in particles.fields
    broken = np.array(particles["damage"]) > limit if has else np.zeros(len(x), dtype=bool)
    material = np.array(particles["material"])
    for k, one in enumerate(sim.materials):
        if "damage" not in [field["name"] for field in one._row["history"]]:
            broken[material == k] = False
    label, dust, named = np.full(len(x), -1, dtype=np.int64), 0.0, list[str]()
    for body in sim._bodies():
        rows = np.arange(len(x))[sim.rows(body)]
        if not len(rows) or sim.materials[material[rows[0]]]._row["rigid"]:
            continue
        whole = rows[~broken[rows]]
        own = _connected(x[whole], spacing[whole])
        label[whole] = own + len(named)
        named += [body] * (int(own.max()) + 1 if len(own) else 0)
        lost = rows[broken[rows]]
        if len(lost) and len(whole):
            distance, nearest = spatial.cKDTree(x[whole]).query(x[lost])
            label[lost] = np.where(distance <= NEAR * sim.dx, label[whole[nearest]], -1)
        dust += float(mass[lost[label[lost] < 0]].sum())
    count = np.bincount(label[label >= 0], minlength=len(named))
    weight = np.bincount(label[label >= 0], weights=mass[label >= 0], minlength=len(named))
    order = np.argsort(-np.round(weight / max(weight.max(initial=0), TINY), 9), kind="stable")  # sums round
    kept = order[count[order] >= fewest]
    dust += float(weight[count < fewest].sum())
    number = np.full(len(named) + 1, -1)  # the last is that of particles without a piece
    number[kept] = np.arange(len(kept))
    label = number[label]

    def summed(values: FloatArray) -> FloatArray:
        there = label >= 0
        return np.bincount(label[there], weights=values[there], minlength=len(kept)).astype(np.float64)

    total = summed(mass)

    def mean(values: FloatArray) -> FloatArray:
        columns = [summed(mass * values[:, axis]) / total for axis in range(values.shape[1])]
        return np.stack(columns, axis=1)

    return Fragments(
        label=label,
        body=tuple(named[k] for k in kept),
        count=np.bincount(label[label >= 0], minlength=len(kept)),
        mass=total,
        volume=summed(rest),
        centre=mean(x),
        velocity=mean(v),
        dust=dust,
    )
