"""The linear solve of semi-implicit steps, with the derivative of the forces as it is or projected."""

import itertools

import numpy as np
import pytest

import mpm
import scenes
from loops import each
from mpm.mpm import numerics

pytestmark = pytest.mark.numbers

RHO = 1000.0


def turning(dim, dtype, law, stretch, beta, **options):
    """A particle with F = stretch I that turns about all axes: its spin, beta tau 4/(rho h^2), and the simulation."""
    h = 0.1
    material = mpm.materials.FixedCorotated if law == "fixed_corotated" else mpm.materials.NeoHookean
    solid, scene = material(E=1e5, nu=0.3, density=RHO), mpm.Scene((0,) * dim, (1,) * dim)
    scene.add(mpm.shapes.Points([[0.53, 0.47, 0.44][:dim]], volume=(h / 2) ** dim), solid)
    spin = np.random.default_rng(0).normal(size=(dim, dim))
    spin -= spin.T
    tolerance = {"float64": 1e-10, "float32": 1e-4}[dtype]
    sim = mpm.Simulation(
        scene,
        dx=h,
        integrator="semi-implicit",
        tolerance=tolerance,
        beta=beta,
        dtype=dtype,
        threads=1,
        **options,
    )
    sim.particles.F, sim.particles.C = [stretch * np.eye(dim)], [spin]
    F = stretch * np.eye(dim)[None]
    tau = float((solid.stress(F) @ F.transpose(0, 2, 1))[0, 0, 0])
    return spin, 4 * beta * tau / (RHO * h**2), sim


@each("projection", ["semidefinite", "none"])
@each("law", ["fixed_corotated", "neo_hookean"])
@each("dtype", scenes.DTYPES)
@pytest.mark.parametrize("dim", scenes.DIMS)
def test_without_projection_the_solve_is_that_of_the_paper(dim, dtype, law, projection):
    """Of equation (9), a spin W keeps W/(1 + 4 beta dt^2 tau/(rho h^2)): H is indefinite where tau is compressive."""
    for stretch, dt, beta in itertools.product((0.9, 1.0, 1.1), (1e-3, 5e-3), (1.0, 0.5)):
        spin, rate, sim = turning(dim, dtype, law, stretch, beta, dt=dt, projection=projection)
        sim.step(1)
        C = np.array(sim.particles.C[0], dtype=np.float64)
        rate = max(rate, 0) if projection == "semidefinite" else rate
        expected = spin / (1 + rate * dt**2)
        limit = {"float64": 1e-9, "float32": 2e-4}[
            dtype
        ]  # of the largest rate, as the tolerance of the solve
        assert np.abs((C - C.T) / 2 - expected).max() <= limit * np.abs(C).max()


def test_a_system_without_projection_may_have_no_definite_solution():
    _, rate, sim = turning(2, "float64", "fixed_corotated", 0.9, 1.0, dt=0.02, projection="none")
    assert 1 + rate * 0.02**2 < 0
    F, C = np.array(sim.particles.F), np.array(sim.particles.C)
    with pytest.raises(mpm.ConvergenceError, match="not positive definite") as caught:
        sim.step(1)
    assert "max_iterations" not in str(caught.value) and str(caught.value).endswith(
        'projection="semidefinite"'
    )
    assert (sim.particles.F == F).all() and (sim.particles.C == C).all() and sim.steps == 0
    automatic = turning(2, "float64", "fixed_corotated", 0.9, 1.0, max_dt=0.02, projection="none")[2]
    automatic.run(0.02)
    assert automatic.history["dt"].max() < (-1 / rate) ** 0.5


def test_checkpoints_keep_the_projection(tmp_path):
    sim = turning(2, "float64", "fixed_corotated", 0.9, 1.0, dt=2e-3, projection="none")[2]
    assert "tangent not projected" in repr(sim) and numerics.options(sim._numerics)["projection"] == "none"
    sim.step(1)
    sim.save(tmp_path / "turning.npz")
    again = mpm.load(tmp_path / "turning.npz")
    for each_of_both in (sim, again):
        each_of_both.step(3)
    assert (
        again._numerics.integrator == sim._numerics.integrator
        and (again.particles.C == sim.particles.C).all()
    )
