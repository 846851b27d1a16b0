"""Laws of users from Numba. `make formats` installs it; `benchmarks/laws.py` prints the speed."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import mpm
import scenes
from loops import each
from test_laws import gradients

numba = pytest.importorskip("numba", reason="Numba is not installed (make formats)")

UserLaw = mpm.materials.UserLaw
BUILT_IN = scenes.MATERIALS["neo_hookean"]
EVALUATE = runpy.run_path(str(Path(__file__).parent / "data" / "numba_laws.py"))["neo_hookean"]
CONSTANTS = {"mu": BUILT_IN.mu, "lam": BUILT_IN.lam}
LAW = UserLaw(name="numba", evaluate=EVALUATE, constants=CONSTANTS, density=BUILT_IN.density)


@each("d", scenes.DIMS)
def test_it_is_the_law_of_the_package(d):
    F = gradients(1003, d)
    for found, expected in zip(LAW._evaluate(F), BUILT_IN._evaluate(F), strict=True):
        assert np.abs(found - expected).max() <= 1e-13 * np.abs(expected).max()  # measured 5e-16


@each("d", scenes.DIMS)
@each("dtype", scenes.DTYPES)
def test_a_run_is_that_of_the_law_of_the_package(d, dtype):
    def run(material):
        scene = mpm.Scene([0] * d, [1] * d, gravity=[0] * (d - 1) + [-9.81])
        scene.add(mpm.shapes.Box([0.25] * d, [0.75] * d), material, velocity=scenes.swirl)
        sim = mpm.Simulation(scene, dx=1 / 8, dtype=dtype, dt=1e-3)
        sim.step(50)
        return sim

    found, expected = run(LAW), run(BUILT_IN)
    limit = 16 * scenes.EPSILON[dtype]  # measured 0.5 eps
    np.testing.assert_allclose(found.particles.x, expected.particles.x, rtol=0, atol=limit)
    np.testing.assert_allclose(found.particles.F, expected.particles.F, rtol=0, atol=limit)  # 3 eps


def test_it_passes_the_checks_of_laws():
    assert mpm.testing.check_law(LAW)["stress = dPsi/dF, 3-D"] < 1e-9  # measured 2e-12


def test_another_signature_is_refused():
    with pytest.raises(TypeError, match="signature"):
        UserLaw(name="wrong", evaluate=numba.cfunc("float64(float64)")(lambda x: x), density=1)


@each("name", ["own-material.md", "damage.md"])
def test_the_pages_on_own_laws_run_as_printed(name, tmp_path, monkeypatch):
    """Without Numba, test_documents.py runs the other blocks."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[1] / "docs" / "howto" / name).read_text("utf-8")
    blocks = re.findall(r"^```python( numba)?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert [bool(numba) for numba, _ in blocks].count(True) == 1
    names = {}
    for _, text in blocks:
        exec(compile(text, name, "exec"), names)
    F = gradients(1003, 3)
    found, expected = (names[law].stress(F) for law in ("compiled", "law"))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())  # measured 0
