"""`mpm.integrators`: orders, amplification, limits and energies of the methods against closed forms; each system and
field against its own; errors and interrupts."""

import math
import signal
import threading

import numpy as np
import pytest

import mpm
from loops import each
from mpm import integrators as I

METHODS = list(I.methods())
IMPLICIT = [name for name, row in I.methods().items() if row.implicit]
TABLE = {row.method: row for row in I.table()}

# |R|^2 of one step on x'' = -x.
GROWTH = {
    "explicit-euler": lambda z: 1 + z**2,
    "improved-euler": lambda z: 1 + z**2 / 2,
    "symplectic-euler": lambda z: 1,
    "verlet": lambda z: 1,
    "trapezoidal": lambda z: 1 + z**4 / 4,
    "midpoint": lambda z: 1 + z**4 / 4,
    "backward-euler": lambda z: 1 / (1 + z**2),
    "implicit-trapezoidal": lambda z: 1,
    "implicit-midpoint": lambda z: 1,
    "linearly-implicit-euler": lambda z: 1 / (1 + z**2),
}
# The angle by which a step turns.
TURN = {
    "explicit-euler": math.atan,
    "symplectic-euler": lambda z: 2 * math.asin(z / 2),
    "verlet": lambda z: 2 * math.asin(z / 2),
    "midpoint": lambda z: math.atan(z / (1 - z**2 / 2)),
    "backward-euler": math.atan,
    "implicit-midpoint": lambda z: 2 * math.atan(z / 2),
}


# --- the registry and the oscillator -----------------------------------------------------------------------------


def test_the_registry_is_complete():
    assert set(METHODS) == set(GROWTH) == set(TABLE)
    for name, row in I.methods().items():
        assert row.name == name and row.formula and row.reference and row.order in (1, 2)
    assert {name for name, row in I.methods().items() if row.advects} == {
        *("explicit-euler", "trapezoidal", "midpoint")
    }


@each("method", METHODS)
def test_order_of_x_and_v_by_halving(method):
    assert TABLE[method].order == pytest.approx([I.methods()[method].order] * 2, abs=0.03)  # measured: 0.015


@each("method", METHODS)
def test_amplification_is_the_closed_form(method):
    for z in (0.1, 0.5, 1.9):
        assert I.oscillator(method, z, 1).growth == pytest.approx(GROWTH[method](z), rel=1e-12)
    assert TABLE[method].growth == pytest.approx(GROWTH[method](0.5), rel=1e-12)


@each("method", METHODS)
def test_limit_is_the_registry_s(method):
    assert TABLE[method].limit == pytest.approx(I.methods()[method].limit, abs=1e-6)


@each("method", ["symplectic-euler", "verlet"])
def test_limit_of_long_runs(method):
    """Near 2 the eigenvalues are -1 -+ sqrt(4 (z - 2)): 10^5 steps grow by e^280, or stay at what the ellipse gives."""
    inside, beyond = (
        I.integrate(I.Oscillator(), 1, 0, method=method, dt=2 * (1 + e), steps=100_000, every=1000).x
        for e in (-1e-6, 1e-6)
    )
    assert np.abs(inside).max() < 1e4 and np.abs(beyond[-1]) > 1e100


@each("method", sorted(TURN))
def test_phase_is_the_closed_form(method):
    expected = 2 * math.pi * (TURN[method](0.1) / 0.1 - 1)
    run = I.oscillator(method, 0.1, 200)
    assert run.phase == pytest.approx(
        expected, abs=1e-3
    )  # ellipses: the angle wobbles by 0.1 rad in 200 periods


@pytest.mark.parametrize(
    ("method", "low", "high"), [("symplectic-euler", 1 / 1.05, 1 / 0.95), ("verlet", 0.9975, 1.0)]
)
def test_energy_over_ten_thousand_periods(method, low, high):
    energy = I.oscillator(method, 0.1, 10_000).energy
    assert energy == pytest.approx((low, high), abs=1e-5)  # measured: 1e-10
    assert low - 1e-9 <= energy[0] and energy[1] <= high + 1e-9


def test_damping():
    """x = exp(-c t/2) (cos w t + c/2w sin w t), w^2 = omega^2 - c^2/4, to the method's order."""
    c, t = 0.4, 2.0
    w = math.sqrt(4 - c**2 / 4)
    exact = math.exp(-c * t / 2) * (math.cos(w * t) + c / (2 * w) * math.sin(w * t))
    for method, row in I.methods().items():
        errors = [
            abs(I.integrate(I.Oscillator(2.0, c), 1, 0, method=method, dt=t / n, steps=n).x[-1] - exact)
            for n in (1000, 2000)
        ]
        assert math.log2(errors[0] / errors[1]) == pytest.approx(row.order, abs=0.03), method


def test_verlet_takes_changing_steps():
    """Second order on steps that jump by a factor of three, and the start of a run from its own end."""
    errors = []
    for n in (200, 400, 800):
        dt = np.tile([0.5, 1.5], n // 2) * 3 / n
        run = I.integrate(I.Oscillator(), 1.0, 0.5, method="verlet", dt=dt, steps=n)
        assert run.times[-1] == pytest.approx(3) and run.times[1] == dt[0]
        errors.append(abs(run.x[-1] - math.cos(3) - 0.5 * math.sin(3)))
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx([2, 2], abs=0.05)
    whole = I.integrate(I.Oscillator(), 1.0, 0.5, method="verlet", dt=0.1, steps=20)
    half = I.integrate(I.Oscillator(), whole.x[10], whole.v[10], method="verlet", dt=0.1, steps=10)
    assert half.x == pytest.approx(whole.x[10:], abs=1e-14)


def test_verlet_implies_the_central_velocity():
    run = I.integrate(I.Oscillator(), 1.0, 0.5, method="verlet", dt=0.1, steps=20)
    assert run.v[1:-1] == pytest.approx((run.x[2:] - run.x[:-2]) / 0.2, abs=1e-14)


def test_records():
    run = I.integrate(I.Oscillator(), [1.0, 2.0], [0.0, 1.0], method="verlet", dt=0.25, steps=10, every=4)
    every = I.integrate(I.Oscillator(), [1.0, 2.0], [0.0, 1.0], method="verlet", dt=0.25, steps=10)
    assert run.times.tolist() == [0, 1, 2] and run.x.shape == (3, 2)
    for few, all_ in zip(run, every, strict=True):
        assert np.array_equal(few, all_[::4])
    assert every.energy == pytest.approx(0.5 * (every.v**2 + every.x**2).sum(axis=1), rel=1e-14)
    assert len(I.integrate(I.Oscillator(), 1, 0, method="verlet", dt=1, steps=0).times) == 1


# --- two bodies --------------------------------------------------------------------------------------------------


def kepler(method, turns, per_turn=400, e=0.5):
    masses = np.array([1.0, 2.0])
    bodies = I.TwoBody(masses)
    x, v = bodies.orbit(eccentricity=e)
    run = I.integrate(bodies, x, v, method=method, dt=bodies.period() / per_turn, steps=turns * per_turn)
    spin = (masses * (run.x[..., 0] * run.v[..., 1] - run.x[..., 1] * run.v[..., 0])).sum(axis=1)
    return run, run.energy / run.energy[0] - 1, spin / spin[0] - 1


def test_orbit_of_two_bodies():
    """Energy -G m m/2a; after a period both are back, to the second order."""
    errors = []
    for n in (1000, 2000):
        run, _, _ = kepler("implicit-midpoint", 1, n)
        assert run.energy[0] == pytest.approx(-1 * 2 / 2)
        assert np.linalg.norm(run.x[n // 2, 1] - run.x[n // 2, 0]) == pytest.approx(
            1.5, abs=1e-3
        )  # a (1 + e)
        errors.append(np.abs(run.x[-1] - run.x[0]).max())
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.03)


def test_symplectic_euler_and_verlet_keep_two_bodies():
    for method, low, high in (("symplectic-euler", -0.024, 0.020), ("verlet", -7e-4, 7e-4)):
        run, energy, spin = kepler(method, 200)
        assert low <= energy.min() and energy.max() <= high  # measured: -2.395 ... 1.997 %, -0.067 ... 0 %
        assert np.abs(spin).max() <= 1e-12  # measured: 2e-14
        assert np.abs(run.v[:, 0] + 2 * run.v[:, 1]).max() <= 1e-12  # momentum


def test_midpoint_drifts():
    _, energy, _ = kepler("midpoint", 200)
    assert energy[-1] == pytest.approx(-0.0201, abs=2e-3)
    _, energy, spin = kepler("implicit-midpoint", 20)
    assert np.abs(spin).max() <= 1e-12 and abs(energy[-1]) < 1e-3  # keeps quadratic invariants


# --- masses on springs -------------------------------------------------------------------------------------------


def chain(n, d=2, **options):
    """n masses of 0.5 kg in a row between two fixed ends, and their largest frequency."""
    springs = [(i, i + 1) for i in range(n + 1)]
    x = np.zeros((n + 2, d))
    x[:, 0] = np.arange(n + 2)
    options = {"stiffness": 200.0, "length": 1.0, "fixed": [0, n + 1], **options}
    return (
        I.MassSpring(np.full(n + 2, 0.5), springs, **options),
        x,
        2 * math.sqrt(200 / 0.5) * math.sin(n * math.pi / (2 * (n + 1))),
    )


@each("method", ["symplectic-euler", "verlet"])
def test_largest_step_of_a_chain(method):
    springs, x, omega = chain(16)
    v = np.zeros_like(x)
    v[1:-1, 0] = 1e-6 * (-1.0) ** np.arange(16)

    def largest(z):
        run = I.integrate(springs, x, v, method=method, dt=z / omega, steps=400, every=400)
        return np.abs(run.x[-1] - x).max()

    assert largest(2 * 0.995) < 1e-5 and largest(2 * 1.005) > 0.1


@each("d", [1, 2, 3])
def test_modes_of_a_chain(d):
    """The lowest mode along the chain: x = A sin(pi i/(n + 1)) cos(w t), of small amplitude."""
    n = 8
    springs, x, _ = chain(n, d)
    omega = 2 * math.sqrt(200 / 0.5) * math.sin(math.pi / (2 * (n + 1)))
    shape = 1e-3 * np.sin(np.pi * np.arange(n + 2) / (n + 1))
    start = x.copy()
    start[:, 0] += shape
    run = I.integrate(springs, start, 0 * x, method="verlet", dt=0.2 / 1000, steps=1000)
    assert run.x[-1, :, 0] - x[:, 0] == pytest.approx(shape * math.cos(omega * 0.2), abs=1e-8)
    assert np.array_equal(run.x[:, [0, -1]], np.broadcast_to(x[[0, -1]], run.x[:, [0, -1]].shape))


@each("method", METHODS)
def test_a_net_in_space_is_what_python_computes(method):
    """A tetrahedron with dampers, gravity and a fixed corner, against the same forces in Python without a Jacobian, and
    against the energy's derivative."""
    rng = np.random.default_rng(3)
    x, v = rng.random((4, 3)), rng.random((4, 3)) - 0.5
    v[0] = 0
    mass, springs = rng.random(4) + 0.5, np.array([(i, j) for i in range(4) for j in range(i)])
    k, length, c = 50 + rng.random(6), 0.8 + rng.random(6) / 10, rng.random(6)
    gravity = np.array([0, 0, -9.81])
    net = I.MassSpring(mass, springs, stiffness=k, length=length, damping=c, fixed=[0], gravity=gravity)

    def force(x, v, t):
        f = mass[:, None] * gravity
        for (i, j), k_, l_, c_ in zip(springs, k, length, c, strict=True):
            along = x[j] - x[i]
            l = np.linalg.norm(along)
            n = along / l
            pull = (k_ * (l - l_) + c_ * n @ (v[j] - v[i])) * n
            f[i] += pull
            f[j] -= pull
        f[0] = 0
        return f

    options = {"method": method, "dt": 0.01, "steps": 20}
    run, asked = I.integrate(net, x, v, **options), I.integrate(I.System(force, mass=mass), x, v, **options)
    # The damper's derivative by x is left out in C: linearly implicit steps differ by that.
    tolerance = 3e-3 if method.startswith("linearly") else 1e-9
    assert run.x == pytest.approx(asked.x, abs=tolerance) and run.v == pytest.approx(
        asked.v, abs=20 * tolerance
    )
    stretch = np.linalg.norm(run.x[:, springs[:, 1]] - run.x[:, springs[:, 0]], axis=2) - length
    kinetic, potential = (
        asked.energy,
        (k / 2 * stretch**2).sum(axis=1) + 9.81 * (mass * run.x[..., 2]).sum(axis=1),
    )
    assert run.energy == pytest.approx(kinetic + potential, abs=30 * tolerance)


@each("method", IMPLICIT)
def test_stiff_springs_take_long_steps(method):
    """50 times the explicit limit: stable, and the fall of the centre of mass is right."""
    springs, x, omega = chain(6, fixed=(), stiffness=2e6, gravity=(0, -10.0))
    v = np.zeros_like(x)
    v[:, 0] = 0.1 * np.arange(8)
    run = I.integrate(springs, x, v, method=method, dt=50 * 2 / (omega * 100), steps=100)
    assert np.abs(run.x[-1, :, 0] - x[:, 0]).max() < 1.5
    fall = -5 * run.times**2
    error = np.abs(run.x[..., 1].mean(axis=1) - fall).max() / abs(fall[-1])
    assert error < (1e-9 if I.methods()[method].order == 2 else 0.02)  # the Eulers: 1 % after 100 steps


def test_linearly_implicit_euler_is_eq_5_of_the_lecture():
    """(M + dt² K + dt D) v' = M v - dt K (x - x0), in matrices, on a line, where springs are linear; and its energy."""
    springs, x0, _ = chain(5, 1, damping=3.0)
    rng = np.random.default_rng(1)
    x, v = x0 + 0.1 * rng.random(x0.shape), rng.random(x0.shape)
    v[[0, -1]] = 0
    x[[0, -1]] = x0[[0, -1]]
    pattern = 2 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1)
    M, K, D, dt = 0.5 * np.eye(5), 200 * pattern, 3 * pattern, 0.05
    inner = slice(1, -1)
    new = np.linalg.solve(M + dt**2 * K + dt * D, M @ v[inner] - dt * K @ (x - x0)[inner])
    for method in ("linearly-implicit-euler", "backward-euler"):
        run = I.integrate(springs, x, v, method=method, dt=dt, steps=1)
        assert run.v[1, inner] == pytest.approx(new, abs=1e-12)
        assert run.x[1, inner] == pytest.approx(x[inner] + dt * new, abs=1e-12)
    for z in (0.1, 1.0, 50.0):
        run = I.integrate(I.Oscillator(), 0.3, 0.7, method="linearly-implicit-euler", dt=z, steps=4)
        assert run.energy[1:] / run.energy[:-1] == pytest.approx(1 / (1 + z**2), rel=1e-10)


# --- systems in Python -------------------------------------------------------------------------------------------


def test_a_pendulum_in_python():
    """With and without its Jacobian, against the closed form of small swings and the energy."""
    pendulum = {"mass": 2.0, "potential": lambda x, t: -2 * np.cos(x[0])}
    asked = []

    def jacobian(x, v, t):
        asked.append(t)
        return -2 * np.cos(x[:, None]), np.zeros((1, 1))

    for given in (jacobian, lambda x, v, t: -2 * np.cos(x[:, None]), None):
        system = I.System(lambda x, v, t: -2 * np.sin(x), given, **pendulum)
        run = I.integrate(system, [1.0], [0.0], method="implicit-midpoint", dt=0.01, steps=1000, every=10)
        assert np.ptp(run.energy) < 3e-5
        fine = I.integrate(system, [1.0], [0.0], method="verlet", dt=0.001, steps=10_000, every=100)
        assert run.x == pytest.approx(fine.x, abs=5e-4)
    assert asked and asked[0] == 0.005


def test_forces_see_the_time_of_their_stage():
    """x'' = cos t from rest: x = 1 - cos t; every method keeps its order, which it would not at a wrong time."""
    for method, row in I.methods().items():
        errors = []
        for n in (100, 200):
            system = I.System(lambda x, v, t: math.cos(t), lambda x, v, t: [[0.0]])
            run = I.integrate(system, 0, 0, method=method, dt=2 / n, steps=n)
            errors.append(abs(run.v[-1] - math.sin(2)))
        assert math.log2(errors[0] / errors[1]) == pytest.approx(row.order, abs=0.05), method


def test_the_time_of_a_force_that_is_the_time():
    """One step of h from rest with f = t: h v' is 0 where the force is that of the start, h² where it is that of the
    end, h²/2 where it is the mean or the middle."""
    expected = {"explicit-euler": 0, "improved-euler": 0, "symplectic-euler": 0, "backward-euler": 1}
    expected["linearly-implicit-euler"] = 1
    for method in METHODS:
        system = I.System(lambda x, v, t: t, lambda x, v, t: [[0.0]])
        run = I.integrate(system, 0, 0, method=method, dt=0.5, steps=1)
        assert run.v[1] == pytest.approx(0.25 * expected.get(method, 0.5), abs=1e-12), method


def test_a_pair_of_jacobians():
    """-x - 3 v in Python is the oscillator in C; without the derivative by v, a linear step would be another one."""
    for method in METHODS:
        options = {"method": method, "dt": 0.1, "steps": 10}
        asked = I.System(lambda x, v, t: -x - 3 * v, lambda x, v, t: (-np.eye(1), -3 * np.eye(1)))
        run, known = (
            I.integrate(asked, [1], [2], **options),
            I.integrate(I.Oscillator(1, 3), [1], [2], **options),
        )
        assert run.x == pytest.approx(known.x, abs=1e-12) and run.v == pytest.approx(known.v, abs=1e-12), (
            method
        )


def test_masses_of_a_system():
    for mass in (2.0, [2.0, 2.0], [[2.0, 2.0], [2.0, 2.0]]):
        run = I.integrate(
            I.System(lambda x, v, t: -2 * x, mass=mass),
            np.eye(2),
            0 * np.eye(2),
            method="verlet",
            dt=0.1,
            steps=1,
        )
        assert run.x[1] == pytest.approx(0.995 * np.eye(2))


def test_what_python_raises_arrives():
    def fails(x, v, t):
        if t > 0.25:
            raise ZeroDivisionError("here")
        return -x

    for method in METHODS:
        with pytest.raises(ZeroDivisionError, match="here"):
            I.integrate(I.System(fails), 1, 0, method=method, dt=0.1, steps=10)
    with pytest.raises(ValueError, match=r"force\(x, v, t\) has shape \(2,\): must be \(\)"):
        I.integrate(I.System(lambda x, v, t: [1, 2]), 1, 0, method="verlet", dt=0.1, steps=1)
    with pytest.raises(ValueError, match=r"jacobian\(x, v, t\) = 1.0: must be an array of shape \(1, 1\)"):
        I.integrate(
            I.System(lambda x, v, t: -x, lambda x, v, t: 1.0), 1, 0, method="backward-euler", dt=1, steps=1
        )
    with pytest.raises(TypeError, match=r"potential\(x, t\)"):
        I.integrate(
            I.System(lambda x, v, t: -x, potential=lambda x, t: "1"), 1, 0, method="verlet", dt=1, steps=1
        )
    with pytest.raises(ValueError, match=r"field\(x, t\)"):
        I.advect(lambda x, t: x[:1], [1, 2], method="midpoint", dt=1, steps=1)


# --- points in a field -------------------------------------------------------------------------------------------


@each("method", ["explicit-euler", "trapezoidal", "midpoint"])
def test_circular_advection(method):
    """Radius after a turn of n steps: (1 + z²)^(n/2), (1 + z⁴/4)^(n/2)."""
    for n in (40, 400):
        z = 2 * math.pi / n
        field = I.Rotation(2.0, center=(1, -1))
        path = I.advect(field, [(2, -1), (1, 2)], method=method, dt=z / 2, steps=n)
        radius = np.linalg.norm(path.x - (1, -1), axis=2) / (1, 3)
        expected = np.sqrt(GROWTH[method](z)) ** np.arange(n + 1)
        assert radius == pytest.approx(np.stack([expected, expected], axis=1), rel=1e-12)


def test_shear_is_exact():
    for method in ("explicit-euler", "trapezoidal", "midpoint"):
        path = I.advect(I.Shear(3.0), (1, 2), method=method, dt=0.5, steps=2)
        assert path.x[-1].tolist() == [7, 2] and path.times.tolist() == [0, 0.5, 1]


@pytest.mark.parametrize(("method", "order"), [("explicit-euler", 1), ("trapezoidal", 2), ("midpoint", 2)])
def test_vortex_pair_keeps_its_streamfunction(method, order):
    """In the frame that travels along, the streamfunction of a point stays; its error shows the order, which stages at
    the time t would lower to one."""
    pair = I.VortexPair(3.0, 1.2, core=0.2)

    def streamfunction(x, t):
        near = (x[0] - pair.speed * t) ** 2 + pair.core**2 + (x[1] + np.array([-0.6, 0.6])) ** 2
        return 3.0 / (4 * math.pi) * np.log(near[1] / near[0]) - pair.speed * x[1]

    errors = []
    for n in (800, 1600):
        path = I.advect(pair, (0.3, 0.2), method=method, dt=2 / n, steps=n, every=n)
        errors.append(abs(streamfunction(path.x[1], 2.0) - streamfunction(path.x[0], 0.0)))
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.05)


def test_a_field_in_python():
    def field(x, t):
        return np.array([math.cos(t), x[0]])

    for method, order in (("explicit-euler", 1), ("trapezoidal", 2), ("midpoint", 2)):
        errors = []
        for n in (100, 200):
            end = I.advect(field, [0.0, 0.0], method=method, dt=2 / n, steps=n).x[-1]
            errors.append(np.abs(end - (math.sin(2), 1 - math.cos(2))).max())
        assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.05)


# --- what goes wrong ---------------------------------------------------------------------------------------------


def test_numbers_that_are_not_finite():
    with pytest.raises(mpm.InstabilityError, match=r"step \d+, .*'explicit-euler' with dt = 10 s") as error:
        I.integrate(I.Oscillator(), 1, 0, method="explicit-euler", dt=10, steps=10_000)
    # |R| = sqrt(101), and 10^308 is the largest number.
    assert error.value.step == pytest.approx(308 / math.log10(101) * 2, abs=3)
    assert error.value.time == 10 * error.value.step and error.value.rows == []
    with pytest.raises(mpm.InstabilityError):
        I.advect(I.Rotation(), (1, 0), method="midpoint", dt=1e3, steps=1000)


def test_two_bodies_at_one_place():
    with pytest.raises(mpm.InstabilityError, match="step 0"):
        I.integrate(I.TwoBody(), np.zeros((2, 2)), np.zeros((2, 2)), method="verlet", dt=1, steps=1)


def test_a_step_that_is_not_solved():
    """A force that pushes away faster than the step: M - dt² K is negative."""
    for method in ("backward-euler", "linearly-implicit-euler"):
        with pytest.raises(mpm.ConvergenceError, match=f"'{method}' with dt = 2 s was not solved") as error:
            I.integrate(I.System(lambda x, v, t: x + 1), 1, 0, method=method, dt=2, steps=3)
        assert error.value.residuals[0] == 1 and error.value.step == 0


@pytest.mark.parametrize("asked", [False, True])
def test_ctrl_c_answers(asked):
    threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,)).start()
    system = I.System(lambda x, v, t: -x) if asked else I.Oscillator()
    with pytest.raises(KeyboardInterrupt):
        I.integrate(system, 1, 0, method="verlet", dt=1e-3, steps=10**10, every=10**9)


def test_systems_say_what_shape_they_need():
    with pytest.raises(ValueError, match=r"x has shape \(2,\): must be \(2, 2\) or \(2, 3\)"):
        I.integrate(I.TwoBody(), [1, 2], [1, 2], method="verlet", dt=1, steps=1)
    springs = I.MassSpring([1, 1], [(0, 1)], stiffness=1, length=1, gravity=(0, 0))
    with pytest.raises(ValueError, match=r"x has shape \(2, 3\): must be \(2, d\), d = 2 as gravity has"):
        I.integrate(springs, np.ones((2, 3)), np.ones((2, 3)), method="verlet", dt=1, steps=1)
    with pytest.raises(ValueError, match=r"x has shape \(3,\), and mass \(2,\)"):
        I.integrate(
            I.System(lambda x, v, t: -x, mass=[1, 2]), [1] * 3, [1] * 3, method="verlet", dt=1, steps=1
        )
    with pytest.raises(ValueError, match="did you mean 'verlet'"):
        I.integrate(I.Oscillator(), 1, 0, method="leapfrog", dt=1, steps=1)


def test_systems_are_read_only():
    springs = I.MassSpring([1, 1], [(0, 1)], stiffness=1, length=1)
    with pytest.raises(AttributeError):
        springs.mass = [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        springs.mass[0] = 3
