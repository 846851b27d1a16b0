"""Isotropic hardening: each kind against its formula, in return maps, material points and steps."""

import math

import numpy as np
import pytest

import mpm
import scenes
from loops import each
from mpm import _core
from mpm.materials.hardening import Linear, Power, Table, Voce
from test_metal import (
    MU,
    NU,
    ROOT,
    YIELD,
    E,
    every_dim,
    every_dtype,
    every_isa,
    rest,
    return_map,
    states,
    stress,
)

KINDS = {  # the kind, Y by plastic strain, and a softer one
    "linear": (Linear(4e4), lambda p: YIELD + 4e4 * p, Linear(0.3)),
    "voce": (
        Voce(8e3, 12, modulus=1e4),
        lambda p: YIELD + 8e3 * (1 - np.exp(-12 * p)) + 1e4 * p,
        Voce(0.1, 20),
    ),
    "power": (Power(0.01, 0.25), lambda p: YIELD * (1 + p / 0.01) ** 0.25, Power(0.01, 0.3)),
    "table": (
        Table([0.02, 0.05, 0.2], [5.5e3, 9e3, 9.2e3]),  # neither concave nor convex
        lambda p: np.interp(p, [0, 0.02, 0.05, 0.2], [YIELD, 5.5e3, 9e3, 9.2e3]),
        Table([0.1, 0.3], [0.06, 0.08]),
    ),
}
every_kind = each("kind", KINDS)


def metal_of(kind, **parameters):
    return mpm.materials.VonMises(
        **{"E": E, "nu": NU, "yield_stress": YIELD, "density": 1, "hardening": KINDS[kind][0]} | parameters
    )


@every_kind
@every_dim
@every_isa
@every_dtype
def test_pure_shear(kind, d, isa, dtype):
    """tau = Y/sqrt(3) and a = tau/(2 mu) + sqrt(3)/2 ep, of stretches e^a and e^-a; no flow on the way back."""
    metal, Y, eps = metal_of(kind), KINDS[kind][1], scenes.EPSILON[dtype]
    ep = np.array([1e-4, 0.01, 0.02, 0.04, 0.1, 0.3])
    F, history, before = np.tile(np.eye(d, dtype=dtype), (len(ep), 1, 1)), rest(len(ep), d), np.zeros(len(ep))
    for share in (0.5, 1.0):
        a = Y(share * ep) / math.sqrt(3) / (2 * MU) + math.sqrt(3) / 2 * share * ep
        step = np.tile(np.eye(d), (len(ep), 1, 1))
        step[:, 0, 0], step[:, 1, 1] = np.exp(a - before), np.exp(before - a)
        F, history = return_map(metal, (step @ F).astype(dtype), history, isa)
        before = a
        np.testing.assert_allclose(history[:, 1], share * ep, rtol=0, atol=4 * eps)  # measured 1 eps
        tau = stress(metal, F, history, isa) / (Y(share * ep) / math.sqrt(3))[:, None, None]
        np.testing.assert_allclose(
            tau, np.tile(np.diag([1.0, -1, 0]), (len(ep), 1, 1)), rtol=0, atol=2e3 * eps
        )
    back = np.eye(d)
    back[0, 0], back[1, 1] = math.exp(-1e-3), math.exp(1e-3)
    _, after = return_map(metal, (back @ F).astype(dtype), history, isa)
    assert (after[:, 1] == history[:, 1]).all()


@every_kind
@every_dim
@every_isa
def test_the_end_of_a_step_is_on_the_surface(kind, d, isa):
    """|xi| = sqrt(2/3) Y(ep) + 2 eta g/dt of any trial state, with both kinds of hardening."""
    metal, Y = metal_of(kind, kinematic_hardening=2e5, viscosity=50), KINDS[kind][1]
    F, history = states(metal, d, m=500)
    dt = 1e-3
    after, kept = return_map(metal, F, history, isa, dt)
    flows = kept[:, 1] > history[:, 1]
    g = (kept[:, 1] - history[:, 1])[flows] / ROOT
    u, _, vt = np.linalg.svd(after[flows])
    full = np.tile(np.eye(3), (flows.sum(), 1, 1))
    full[:, :d, :d] = u @ vt
    B = np.zeros((flows.sum(), 3, 3))
    for column, (i, j) in zip(kept[flows, 2:].T, zip(*np.triu_indices(d), strict=True), strict=True):
        B[:, i, j] = B[:, j, i] = column
    if d == 2:
        B[:, 2, 2] = -B[:, 0, 0] - B[:, 1, 1]
    tau = stress(metal, after[flows], kept[flows], isa)
    deviator = tau - np.trace(tau, axis1=1, axis2=2)[:, None, None] / 3 * np.eye(3)
    length = np.linalg.norm(deviator - full @ B @ full.transpose(0, 2, 1), axis=(1, 2))
    assert 0.2 < flows.mean() < 1
    np.testing.assert_allclose(
        length, ROOT * Y(kept[flows, 1]) + 2 * 50 * g / dt, rtol=1e-11
    )  # measured 1e-12


@every_kind
def test_uniaxial_stress(kind):
    """sigma J = Y(ep), e = sigma J/E + ep."""
    metal, Y = metal_of(kind), KINDS[kind][1]
    ep = np.array([0, 0.015, 0.05, 0.12])
    stretch = np.exp(Y(ep) / E + ep)
    found = mpm.point.drive(metal, times=np.arange(4.0), F={"xx": stretch}, stress={"yy": 0, "zz": 0})
    np.testing.assert_allclose(found.history["plastic_strain"], ep, rtol=0, atol=1e-10)  # measured 2e-13
    np.testing.assert_allclose(found.J * found.stress[:, 0, 0], Y(ep), rtol=1e-9)


@every_kind
@every_dim
@every_dtype
def test_steps(kind, d, dtype, tmp_path, monkeypatch):
    """Threads change no bit, a checkpoint keeps the material, and Newton's method converges."""
    metal = metal_of(kind, E=10, yield_stress=0.02, hardening=KINDS[kind][2])
    monkeypatch.setitem(scenes.MATERIALS, "metal", metal)
    options = {"side": 10 if d == 2 else 6, "dtype": dtype}
    one, three = (scenes.free_body(d, "metal", threads=threads, **options) for threads in (1, 3))
    one.step(20), three.step(20)
    assert one == three and one.particles.plastic_strain.max() > 0.002
    one.save(tmp_path / "a.mpm")
    again = mpm.load(tmp_path / "a.mpm")
    assert again.materials == (metal,)
    assert eval(repr(metal), vars(mpm.materials) | vars(mpm.materials.hardening)) == metal
    again.step(10), three.step(10)
    assert again == three
    implicit = scenes.free_body(d, "metal", integrator="implicit-euler", dt=0.02, **options)
    implicit.step(3)
    assert (
        implicit.particles.plastic_strain.max() > 0.002 and max(implicit.history["newton"]) <= 12
    )  # measured 8


def test_a_number_is_linear_hardening(monkeypatch):
    for hardening in (0.3, Linear(0.3)):
        metal = metal_of("linear", E=10, yield_stress=0.02, hardening=hardening)
        monkeypatch.setitem(scenes.MATERIALS, f"{hardening}", metal)
    first, second = (scenes.free_body(2, f"{hardening}", side=8) for hardening in (0.3, Linear(0.3)))
    first.step(10), second.step(10)
    assert np.array_equal(first.particles.F, second.particles.F)
    assert first.particles.plastic_strain.max() > 0


def test_parameters_beside_a_kind_may_vary(monkeypatch):
    """The particles behave as each would with its own number."""
    values, table = {}, Table([0.1, 0.3], [0.06, 0.08])
    for name, given in (("number", 0.05), ("varies", lambda x: 0.05 + 0 * x[:, 0])):
        metal = metal_of("table", E=10, yield_stress=given, hardening=table)
        monkeypatch.setitem(scenes.MATERIALS, "metal", metal)
        sim = scenes.free_body(2, "metal", side=8)
        sim.step(10)
        values[name] = sim.particles.plastic_strain.copy()
    np.testing.assert_array_equal(values["number"], values["varies"])
    monkeypatch.setitem(
        scenes.MATERIALS,
        "metal",
        metal_of("table", E=10, yield_stress=lambda x: 0.05 + x[:, 0] ** 2, hardening=table),
    )
    with pytest.raises(ValueError, match="the stresses of a table must be >= yield_stress"):
        scenes.free_body(2, "metal", side=8)


def test_settings_and_errors():
    metal = metal_of("voce")
    scene = mpm.Scene([0, 0], [1, 1])
    scene.add(mpm.shapes.Box([0.2, 0.2], [0.5, 0.5]), metal)
    names = [setting.name for setting in mpm.scene.settings.of_scene(scene)]
    assert "yield_stress" in names and "hardening" not in names
    for error, words, call in (
        (ValueError, r"saturation = -1.0: must be > 0", lambda: Voce(-1.0, 3)),
        (ValueError, r"rate = 0.0: must be > 0", lambda: Voce(1.0, 0)),
        (ValueError, r"exponent = 1.5: must be > 0 and <= 1", lambda: Power(0.1, 1.5)),
        (TypeError, r"strain = '1'", lambda: Power("1", 0.5)),
        (ValueError, r"modulus = -2.0: must be >= 0", lambda: Linear(-2.0)),
        (ValueError, r"strains\[1\] = 0.1: must be > 0.1", lambda: Table([0.1, 0.1], [1, 2])),
        (ValueError, r"strains\[0\] = 0.0: must be > 0", lambda: Table([0, 0.1], [1, 2])),
        (ValueError, r"stresses\[1\] = 1.0: must be >= 2", lambda: Table([0.1, 0.2], [2, 1])),
        (ValueError, r"stresses has 1 numbers: must have 2", lambda: Table([0.1, 0.2], [2])),
        (
            ValueError,
            r"strains has 11 numbers: must have from 1 to 10",
            lambda: Table([*range(1, 12)], [1] * 11),
        ),
        (
            ValueError,
            r"must be >= yield_stress = 5000.0",
            lambda: metal_of("table", hardening=Table([0.1], [4e3])),
        ),
        (
            TypeError,
            r"hardening = .*Voce.*: must be a number >= 0 .* or",
            lambda: metal_of("voce", hardening=Voce),
        ),
        (
            TypeError,
            r"hardening = 'voce': must be a number >= 0 \[Pa\] or a Hardening",
            lambda: metal_of("voce", hardening="voce"),
        ),
        (TypeError, "use one of them, such as Voce", mpm.materials.hardening.Hardening),
        (TypeError, "did you mean 'saturation'", lambda: Voce(saturations=1, rate=1)),
    ):
        with pytest.raises(error, match=words):
            call()


def test_no_more_parameters_vary_than_there_is_room_for():
    metal, F = metal_of("voce"), np.eye(3)[None]
    indices = tuple(range(20))
    kept = np.concatenate([rest(1, 3), np.zeros((1, 20))], axis=1)
    with pytest.raises(ValueError, match="varying: expected at most 16 ascending indices"):
        _core.evaluate(
            "von_mises", metal.parameters, F, 3, "scalar", "float64", kept, np.zeros((1, 3, 3)), indices
        )
