"""The return map of snow: closed forms, an SVD in NumPy, bits, limits of Jp."""

import copy
import dataclasses
import functools
import math
import pickle

import numpy as np
import pytest

import deformations
import mpm
import scenes
from deformations import rotations, signed_svd, turned
from loops import each
from mpm import _core

every_dim = pytest.mark.parametrize("d", scenes.DIMS)
every_dtype = each("dtype", scenes.DTYPES)
every_isa = each("isa", scenes.ISAS)

SNOW = mpm.materials.Snow()
SHORTEST, LONGEST = 1 - SNOW.critical_compression, 1 + SNOW.critical_stretch
JP_LOW, JP_HIGH = 0.6, 20.0

return_map = functools.partial(deformations.return_map, SNOW)


@every_dim
@every_isa
@every_dtype
def test_the_closed_form(d, isa, dtype):
    """F = diag(0.9, 1, 1): all beyond 0.975 goes into Jp, and the moduli grow by e^(10 (1 - 12/13))."""
    F = np.diag([0.9, 1, 1][:d])[None].astype(dtype)
    F_E, Jp = return_map(F, isa=isa)
    eps = scenes.EPSILON[dtype]
    np.testing.assert_allclose(F_E[0], np.diag([0.975, 1, 1][:d]), rtol=0, atol=2 * eps)
    assert Jp[0] == pytest.approx(0.9230769231, rel=max(4 * eps, 1e-10))
    history = np.array([[Jp[0], 0]], dtype)
    tau, *_ = _core.evaluate("snow", SNOW.parameters, F_E, d, isa, dtype, history)
    P = np.frombuffer(tau, dtype).reshape(d, d).astype(float) @ np.linalg.inv(F_E[0].astype(float)).T
    assert P[0, 0] == pytest.approx(-8392.632632, rel={"float64": 1e-9, "float32": 1e-5}[dtype])
    assert P[1, 1] == pytest.approx(-2045.704204, rel={"float64": 1e-9, "float32": 1e-5}[dtype])
    assert np.abs(P - np.diag(np.diag(P))).max() == 0


@every_dim
def test_the_closed_form_through_the_material(d):
    F = np.diag([0.9, 1, 1][:d])[None]
    F_E, Jp = SNOW.return_map(F)
    hardening = SNOW.stress(F_E, Jp)[0, 0, 0] / SNOW.stress(F_E)[0, 0, 0]
    assert hardening == pytest.approx(2.1581055339, rel=1e-9)
    assert SNOW.energy(F_E, Jp) / SNOW.energy(F_E) == pytest.approx(hardening, rel=1e-12)
    np.testing.assert_array_equal(SNOW.stress(F_E, 0.5), SNOW.stress(F_E, [0.5]))
    # A split of two, one step after another, ends where the whole does: the path is monotone.
    half, plastic = SNOW.return_map(np.diag([0.95, 1, 1][:d])[None])
    again, plastic = SNOW.return_map(np.diag([0.9 / 0.95, 1, 1][:d]) @ half, plastic)
    np.testing.assert_allclose(again, F_E, rtol=1e-14)
    np.testing.assert_allclose(plastic, Jp, rtol=1e-14)


@every_dim
@every_isa
def test_the_product_of_elastic_and_plastic_part_is_unchanged(d, isa):
    """F_P = V clamp(S)^-1 S V^T, from NumPy's decomposition: F_E F_P = F."""
    rng = np.random.default_rng(0)
    F = turned(rng.uniform(0.85, 1.2, (5000, 3)), d, rng)  # not compressed to Jp < 0.6
    F_E, Jp = return_map(F, isa=isa)
    _, s, vt = signed_svd(F)
    ratio = s / np.clip(s, SHORTEST, LONGEST)
    F_P = np.einsum("nki,nk,nkj->nij", vt, ratio, vt)
    assert np.abs(F_E @ F_P - F).max() < 1e-13  # measured 6e-15
    np.testing.assert_allclose(np.linalg.det(F_E) * Jp, np.linalg.det(F), rtol=1e-13)  # measured 4e-15


@functools.cache
def cases(d):
    """name: F (m, d, d) in double."""
    rng = np.random.default_rng(1)
    small = np.array([1e-4, 1e-8, 1e-12, 1e-16, 0.0])
    flat = [[1, 1 if d == 3 else s, s] for s in small] + [[1.001, s, s / 3] for s in small]
    near = rng.uniform(0.9, 1.1, (2000, 3))
    flip = np.array([1.0] * (d - 1) + [-1.0] + [1.0] * (3 - d))
    return {
        "random": rng.normal(size=(40_000, d, d)),
        "near the yield surface": turned(near, d, rng),
        "on the yield surface": turned(rng.choice([SHORTEST, LONGEST], (500, 3)), d, rng),
        "repeated": turned([[a, b, b] for a in (0.5, 1, 2) for b in (0.5, 1, 2)], d, rng),
        "rank deficient": turned(flat, d, rng),
        "reflected": turned(near * flip, d, rng),
        "spread": turned(10 ** rng.uniform(-4, 4, (2000, 3)), d, rng),
        "tiny": 1e-8 * rng.normal(size=(2000, d, d)),
        "huge": 1e8 * rng.normal(size=(2000, d, d)),
        "nothing": np.zeros((3, d, d)),
        "one entry": np.array([np.outer(a, b) for a in np.eye(d) for b in -np.eye(d)]),
    }


@functools.cache
def decomposed(name, d, dtype):
    """A case in the precision of the core, and its `signed_svd` in double."""
    F = cases(d)[name].astype(dtype)
    return F, signed_svd(F.astype(float))


@pytest.mark.numbers
@each("name", cases(2))
@every_dim
@every_isa
@every_dtype
def test_the_return_map_is_that_of_the_singular_value_decomposition(name, d, isa, dtype):
    """NumPy's, in double. The stretches of F_E are compared everywhere, F_E itself where its rotation is determined:
    where the two smallest singular values of F, with their signs, do not cancel."""
    F, (u, s, vt) = decomposed(name, d, dtype)
    eps = scenes.EPSILON[dtype]
    F_E, Jp = return_map(F, isa=isa)
    F_E = F_E.astype(float)
    clamped = np.clip(s, SHORTEST, LONGEST)
    # A value that is not clamped is known to eps of the largest; others are what they are clamped to.
    blur = 32 * eps * s[:, :1]
    kept = ((s > SHORTEST - blur) & (s < LONGEST + blur)).any(axis=1)
    limit = eps * (64 + np.where(kept, 4 * s[:, 0], 0))
    error = np.abs(np.linalg.svd(F_E)[1] - np.sort(clamped)[:, ::-1]).max(axis=1)
    assert (error < limit).all()  # measured 17 eps
    assert (np.linalg.det(F_E) > 0).all()
    # F_E itself follows F no better than a rotation does, whose slope is that of the two smallest values together
    slope = 1 + np.linalg.norm(s, axis=1) / np.maximum(s[:, -1] + s[:, -2], 1e-300)
    expected = np.einsum("nik,nk,nkj->nij", u, clamped, vt)
    error = np.abs(F_E - expected).max(axis=(1, 2))
    limit = eps * (64 * slope + np.where(kept, 4 * s[:, 0], 0))
    assert (error < limit)[slope < 1e3].all()  # measured 26 eps times the slope, 10 in single precision
    with np.errstate(over="ignore"):
        ratio = np.clip(np.prod(s / clamped, axis=1), JP_LOW, JP_HIGH)
    tolerance = 32 * eps * np.maximum(1, np.abs(s[:, 0] / clamped[:, 0]) ** (d - 1)) * np.maximum(1, s[:, 0])
    assert (np.abs(Jp - ratio) <= tolerance).all()  # measured 0.3 of it


@every_dim
@every_isa
@every_dtype
def test_returned_states_are_returned_again_as_they_are(d, isa, dtype):
    rng = np.random.default_rng(2)
    F = turned(rng.uniform(0.8, 1.2, (5000, 3)), d, rng).astype(dtype)
    once, plastic = return_map(F, isa=isa)
    twice, again = return_map(once, plastic, isa)
    eps = scenes.EPSILON[dtype]
    assert np.abs(twice - once).max() < 16 * eps  # measured 5 eps
    assert np.abs(again / plastic - 1).max() < 32 * eps  # measured 11 eps


@every_dim
@every_isa
@every_dtype
def test_elastic_states_keep_their_bits(d, isa, dtype):
    """Beside neighbours in the tile that yield, too."""
    rng = np.random.default_rng(3)
    elastic = turned(rng.uniform(SHORTEST + 1e-4, LONGEST - 1e-4, (500, 3)), d, rng).astype(dtype)
    yielding = turned(rng.uniform(0.8, 0.9, (500, 3)), d, rng).astype(dtype)
    F = np.stack([elastic, yielding], axis=1).reshape(-1, d, d)
    Jp = rng.uniform(0.7, 2, len(F)).astype(dtype)
    F_E, plastic = return_map(F, Jp, isa)
    np.testing.assert_array_equal(F_E[::2], F[::2])
    np.testing.assert_array_equal(plastic[::2], Jp[::2])
    assert (plastic[1::2] < Jp[1::2]).all()


@every_dim
@every_isa
@every_dtype
def test_what_a_particle_becomes_does_not_depend_on_its_neighbours(d, isa, dtype):
    """Neither of those that yield nor of those within rounding of it: one by one, and next to one that yields."""
    rng = np.random.default_rng(9)
    edge = turned(np.repeat([[LONGEST, 1, 1]], 200, axis=0), d, rng)
    F = np.concatenate([edge, turned(rng.uniform(0.8, 1.1, (50, 3)), d, rng)]).astype(dtype)
    alone = [return_map(one[None], isa=isa) for one in F]
    yielding = np.broadcast_to(0.8 * np.eye(d, dtype=dtype), F.shape)
    F_E, Jp = return_map(np.stack([F, yielding], axis=1).reshape(-1, d, d), isa=isa)
    np.testing.assert_array_equal(F_E[::2], np.concatenate([elastic for elastic, _ in alone]))
    np.testing.assert_array_equal(Jp[::2], np.concatenate([plastic for _, plastic in alone]))


@every_dim
@every_isa
@every_dtype
def test_every_kernel_set_agrees_with_the_scalar_one(d, isa, dtype):
    rng = np.random.default_rng(4)
    F = turned(rng.uniform(0.7, 1.4, (501, 3)), d, rng).astype(dtype)  # not a multiple of any number of lanes
    for value, oracle in zip(return_map(F, isa=isa), return_map(F, isa="scalar"), strict=True):
        assert np.abs(value - oracle).max() < 32 * scenes.EPSILON[dtype]  # measured 9 eps


@every_dim
def test_the_return_map_turns_with_the_body(d):
    rng = np.random.default_rng(5)
    F = turned(rng.uniform(0.8, 1.2, (1000, 3)), d, rng)
    Q, R = rotations(len(F), d, rng), rotations(len(F), d, rng)
    F_E, Jp = return_map(F)
    turned_F, turned_Jp = return_map(Q @ F @ R)
    np.testing.assert_allclose(turned_F, Q @ F_E @ R, rtol=0, atol=1e-14)  # measured 1.3e-15
    np.testing.assert_allclose(turned_Jp, Jp, rtol=1e-14)


@every_dim
@every_isa
def test_jp_is_held_within_its_limits(d, isa):
    F = np.repeat(np.eye(d)[None], 5, axis=0) * np.array([1, 1, 1, 0.5, 3])[:, None, None]
    Jp = np.array([0.59, 20.5, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(
        return_map(F, Jp, isa)[1], [0.6, 20, 1, 0.6, 20 if d == 3 else (3 / LONGEST) ** 2]
    )


@every_dim
@every_isa
def test_the_limits_of_jp_are_the_users(d, isa):
    F = np.repeat(np.eye(d)[None], 3, axis=0) * np.array([0.3, 1, 8])[:, None, None]
    free = mpm.materials.Snow(Jp_limits=None)
    expected = [(0.3 / SHORTEST) ** d, 1, (8 / LONGEST) ** d]
    np.testing.assert_allclose(deformations.return_map(free, F, isa=isa)[1], expected, rtol=1e-13)
    held = mpm.materials.Snow(Jp_limits=(0.5, 3))
    np.testing.assert_array_equal(deformations.return_map(held, F, isa=isa)[1], [0.5, 1, 3])
    Jp = np.array([1e-300, 1.0, 1e300])
    np.testing.assert_array_equal(deformations.return_map(free, F * 0 + np.eye(d), Jp, isa)[1], Jp)


def test_limits_are_kept_and_wrong_ones_named():
    assert mpm.materials.Snow() == mpm.materials.Snow(Jp_limits=[0.6, 20])
    assert mpm.materials.Snow().parameters == (1.4e5, 0.2, 0.025, 0.0075, 10.0, 0.6, 20.0)
    assert mpm.materials.Snow(Jp_limits=None).parameters[-2:] == (0.0, math.inf)
    for snow in (mpm.materials.Snow(Jp_limits=None), mpm.materials.Snow(Jp_limits=(0, 1))):
        scene = mpm.Scene((0, 0), (1, 1))
        scene.add(mpm.shapes.Ball((0.5, 0.5), 0.2), snow)
        sim = mpm.Simulation(scene, dx=1 / 8)
        assert copy.deepcopy(sim).materials == pickle.loads(pickle.dumps(sim)).materials == (snow,)
        assert hash(snow) == hash(copy.deepcopy(snow)) and f"Jp_limits={snow.Jp_limits}" in repr(
            scene.bodies[0]
        )
        assert dataclasses.replace(snow, E=1e4).Jp_limits == snow.Jp_limits
    for limits in ((1.1, 20), (0.6, 0.9), (-0.1, 2)):
        with pytest.raises(ValueError, match="must be 0 <= least <= 1 <= largest, or None"):
            mpm.materials.Snow(Jp_limits=limits)


@every_dim
@every_isa
@every_dtype
def test_what_is_not_finite_stays_so(d, isa, dtype):
    """A step that bursts must not be healed by the clamp: the sweep finds it by its J."""
    F = np.repeat(np.eye(d, dtype=dtype)[None], 4, axis=0)
    F[0, 0, 0], F[1, 1, 0], F[2, 0, 1], F[3, 0, 0] = np.nan, np.inf, -np.inf, 0.9
    F_E, Jp = return_map(F, isa=isa)
    assert not np.isfinite(F_E[:3]).all(axis=(1, 2)).any()
    np.testing.assert_allclose(F_E[3], return_map(F[3:], isa=isa)[0][0], rtol=0, atol=0)
    assert np.isfinite(Jp).all()


def test_a_law_without_a_return_map_says_so():
    with pytest.raises(ValueError, match="no return map"):
        _core.return_map("fluid", (1.0, 7.0, 0.0, 1.0), np.eye(2)[None], np.ones(1), 2, "scalar", "float64")
