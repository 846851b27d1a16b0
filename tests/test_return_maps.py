"""Every return map of the registry is idempotent: a state that it has returned stays where it is."""

import functools

import numpy as np
import pytest

import mpm
import scenes
import test_flow
from deformations import flow, rotations
from loops import each

RETURNING = {
    law: scenes.MATERIALS[law] for law, row in mpm.materials.laws.registry().items() if row["return_map"]
}
MATERIALS = RETURNING | test_flow.LAWS  # and laws with other parameters
COUNT = 2000
NO_RATE = 1e37  # [s] so long that no rate matters
# Tables give the strength at the plastic strain before the step, so that the surface is one step late.
EXPLICIT_HARDENING = scenes.EXPLICIT_HARDENING | {
    "soft edges": ("follows a table", 0.8),  # measured 0.55
    "soft cone": ("follows a table", 1.6),  # measured 1.10
}

every_dim = pytest.mark.parametrize("d", scenes.DIMS)
every_dtype = each("dtype", scenes.DTYPES)
every_isa = each("isa", scenes.ISAS)


def trial(d, rng):
    """Random deformation gradients, from elastic ones to far beyond every surface, more pressed than torn. Larger ones
    would take the yield pressure of Cam clay to its limit, where a second return goes on."""
    size = 10 ** rng.uniform(-4, -0.7, (COUNT, 1))
    strain = rng.normal(size=(COUNT, d)) * size - rng.uniform(0, 2, (COUNT, 1)) * size
    return rotations(COUNT, d, rng) @ (np.exp(strain)[:, :, None] * rotations(COUNT, d, rng))


@functools.cache
def states(name, d):
    """Trial states of particles that have flowed before."""
    rng = np.random.default_rng(0)
    F, history = flow(MATERIALS[name], trial(d, rng), test_flow.rest(MATERIALS[name], COUNT, d), dt=1e-2)
    return trial(d, rng) @ F, history


def difference(one, other):
    """The largest difference of two histories, relative to the largest value of each component."""
    return np.max(np.abs(one - other).max(axis=0) / np.maximum(np.abs(one).max(axis=0), 1e-30))


@pytest.mark.parametrize("name", [name for name in MATERIALS if name not in EXPLICIT_HARDENING])
@every_dim
@every_isa
@every_dtype
@each("first, second", [(NO_RATE, NO_RATE), (1e-3, 0.0)])
def test_a_second_return_changes_nothing(name, d, isa, dtype, first, second):
    F, history = (values.astype(dtype) for values in states(name, d))
    once, kept = flow(MATERIALS[name], F, history, isa, first)
    twice, same = flow(MATERIALS[name], once, kept, isa, second)
    assert np.abs(once - F).max() > 0.1 or difference(kept, history) > 0.01
    eps = scenes.EPSILON[dtype]
    assert np.abs(twice - once).max() <= 64 * eps  # measured 14 eps
    assert difference(same, kept) <= 128 * eps  # measured 21 eps


@pytest.mark.parametrize("law", EXPLICIT_HARDENING)
@every_dim
@every_isa
@each("strain", [1e-1, 1e-2, 1e-3, 1e-4])
def test_a_second_return_of_explicit_hardening_moves_by_no_more_than_the_step(law, d, isa, strain):
    """The surface is one step late: an error of first order in the strain of the step."""
    _, most = EXPLICIT_HARDENING[law]
    F, history = states(law, d)
    for _ in range(40):  # until the state and its surface agree
        F, history = flow(MATERIALS[law], F, history, isa)
    step = np.eye(d) + strain * np.random.default_rng(5).uniform(-1, 1, (COUNT, d, d))
    once, kept = flow(MATERIALS[law], step @ F, history, isa)
    twice, same = flow(MATERIALS[law], once, kept, isa)
    assert 1e-3 * strain < np.abs(twice - once).max() <= most * strain
    assert np.abs(same - kept).max() <= most * strain
