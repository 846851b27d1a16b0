"""B-splines and the transfers between particles and grid, seen from outside, one step at a time."""

import numpy as np
import pytest

import mpm
import scenes
from loops import each

every_dim = pytest.mark.parametrize("dim", scenes.DIMS)
every_dtype = each("dtype", scenes.DTYPES)
every_isa = each("isa", scenes.ISAS)
every_kernel = each("kernel", ["linear", "quadratic", "cubic"])
KERNELS = [("linear", "bspline"), *((k, g) for k in ("quadratic", "cubic") for g in ("mls", "bspline"))]
every_gradient = each("kernel, gradient", KERNELS)

LOWER, CELLS, H = -0.75, 24, 1 / 16
DT = 1e-3


def placed(
    x,
    dtype,
    isa,
    *,
    law="neo_hookean",
    v=0,
    F=None,
    volume=None,
    gravity=None,
    dt=DT,
    kernel="quadratic",
    **scheme,
):
    """Particles at x in free space; linear kernels with the only gradient that they have."""
    dim = x.shape[1]
    scene = mpm.Scene([LOWER] * dim, [LOWER + CELLS * H] * dim, gravity=gravity)
    volume = H**dim / 4 if volume is None else volume
    scene.add(mpm.shapes.Points(x, volume=volume), scenes.MATERIALS[law], velocity=v, F=F)
    with scenes.kernels(isa):
        if kernel == "linear":
            scheme["gradient"] = "bspline"
        return mpm.Simulation(scene, dx=H, dtype=dtype, dt=dt, threads=1, kernel=kernel, **scheme)


def positions(dim, n=200, seed=0):
    """Random ones, and all combinations of node, middle between nodes, and a little beside either."""
    rng = np.random.default_rng(seed)
    special = np.array([0, 0.5, 1e-9, 0.5 - 1e-9, 0.25, 1 - 1e-9])
    corners = np.stack(np.meshgrid(*[special] * dim), axis=-1).reshape(-1, dim)
    corners = corners + rng.integers(4, CELLS - 5, corners.shape)
    return LOWER + H * np.concatenate([rng.uniform(3, CELLS - 3, (n, dim)), corners])


def off_nodes(x):
    """Which lie on no node, nor so near that single precision would take them there, (n,)."""
    return (np.abs(np.mod((x - LOWER) / H + 0.5, 1) - 0.5) > 1e-6).all(axis=1)


def spline(r, kernel="quadratic"):
    """The B-spline at distance r in cells."""
    r = np.abs(r)
    if kernel == "linear":
        return np.maximum(1 - r, 0)
    if kernel == "quadratic":
        return np.where(r < 0.5, 0.75 - r**2, np.where(r < 1.5, 0.5 * (1.5 - r) ** 2, 0))
    return np.where(r < 1, 2 / 3 - r**2 + r**3 / 2, np.where(r < 2, (2 - r) ** 3 / 6, 0))


def second_moment(x, kernel):
    """sum w (x_i - x)(x_i - x)^T/h^2 per axis, (n, d)."""
    f = np.mod((x - LOWER) / H, 1)
    return {"linear": f * (1 - f), "quadratic": np.full_like(f, 1 / 4), "cubic": np.full_like(f, 1 / 3)}[
        kernel
    ]


def scatter(x, values, kernel="quadratic"):
    """sum_p w_ip values_p over all nodes, an array (CELLS + 1, ..., columns)."""
    dim = x.shape[1]
    w = [spline((x[:, a, None] - LOWER) / H - np.arange(CELLS + 1), kernel) for a in range(dim)]
    letters = "ij" if dim == 2 else "ijk"
    return np.einsum(",".join("p" + c for c in letters) + ",pc->" + letters + "c", *w, values, optimize=True)


def on_nodes(grid, values):
    """Values at the active nodes in the full array of nodes."""
    index = np.rint((grid.x - LOWER) / H).astype(int)
    full = np.zeros((CELLS + 1,) * grid.x.shape[1] + values.shape[1:])
    full[tuple(index.T)] = values
    return full


@every_dim
@every_dtype
@every_isa
@every_kernel
def test_masses_are_those_of_the_spline(dim, dtype, isa, kernel):
    x = positions(dim)
    volume = H**dim * np.random.default_rng(1).uniform(0.1, 1, len(x))
    sim = placed(x, dtype, isa, volume=volume, kernel=kernel)
    m = np.asarray(sim.particles.mass, dtype=float)
    sim.step()
    expected = scatter(x, m[:, None], kernel)[..., 0]
    limit = {"float64": 1e-14, "float32": 1e-6}[dtype]  # measured 4e-16, 2.2e-7 of the largest
    np.testing.assert_allclose(
        on_nodes(sim.grid, sim.grid.mass), expected, rtol=0, atol=limit * expected.max()
    )
    active = expected > 1e-7 * expected.max()  # nodes at the very rim may get nothing after rounding
    assert (on_nodes(sim.grid, sim.grid.mass)[active] > 0).all()


@pytest.mark.numbers
@every_dim
@every_dtype
@every_isa
@every_kernel
def test_partition_of_unity_and_moments(dim, dtype, isa, kernel):
    """sum w = 1, sum w x_i = x, sum w (x_i - x)(x_i - x)^T = D: for each particle alone."""
    limit = {"float64": 3e-15, "float32": 5e-7}[dtype]  # measured 4e-16, 1.3e-7
    degree = ("linear", "quadratic", "cubic").index(kernel) + 1
    for x in positions(dim, n=12)[::3]:
        sim = placed(x[None], dtype, isa, kernel=kernel)
        sim.step()
        w = np.asarray(sim.grid.mass, dtype=float) / sim.particles.mass[0]
        offset = (sim.grid.x - x) / H
        assert (degree + 1) ** dim >= len(w) >= degree**dim
        assert abs(w.sum() - 1) < limit
        assert np.abs(w @ offset).max() < 2 * limit
        D = np.diag(second_moment(x[None], kernel)[0])
        assert np.abs(np.einsum("i,ia,ib->ab", w, offset, offset) - D).max() < 2 * limit


@pytest.mark.numbers
@every_dim
@every_dtype
@every_isa
@every_gradient
def test_forces_show_the_gradients_of_the_weights(dim, dtype, isa, kernel, gradient):
    """A stressed particle alone gives -dt V tau g_i to node i: sum g = 0, sum g (x_i - x)^T = I, and g itself."""
    rng = np.random.default_rng(6)
    F = np.eye(dim) + 0.2 * rng.uniform(-1, 1, (dim, dim))
    tau = scenes.MATERIALS["neo_hookean"].stress(F[None])[0] @ F.T
    limit = {"float64": 1e-13, "float32": 1e-5}[dtype]  # measured 4e-15, 4e-6
    # clear of nodes and middles: beside them a node of hardly any mass takes part in the force
    for cell in rng.uniform(0.05, 0.45, (12, dim)) + 0.5 * rng.integers(0, 2, (12, dim)):
        x = LOWER + H * (cell + rng.integers(4, CELLS - 5, dim))
        sim = placed(x[None], dtype, isa, F=lambda x: F[None], kernel=kernel, gradient=gradient)
        V = float(sim.particles.volume[0])
        sim.step()
        momentum = np.asarray(sim.grid.v, dtype=float) * np.asarray(sim.grid.mass, dtype=float)[:, None]
        g = -momentum @ np.linalg.inv(tau) / (DT * V)
        offset = sim.grid.x - x
        assert np.abs(g.sum(axis=0)).max() * H < limit
        assert np.abs(np.einsum("ia,ib->ab", g, offset) - np.eye(dim)).max() < limit
        if gradient == "mls":
            w = spline(offset / H, kernel).prod(axis=1)
            expected = w[:, None] * offset / (second_moment(x[None], kernel) * H**2)
        else:
            expected, e = np.empty_like(g), 1e-4 * H
            for a in range(dim):
                step = e * np.eye(dim)[a]
                ahead, behind = (spline((offset - s * step) / H, kernel).prod(axis=1) for s in (1, -1))
                expected[:, a] = (ahead - behind) / (2 * e)
        assert np.abs(g - expected).max() * H < max(limit, 1e-8)  # of differences: e^2, measured 3e-9


def affine(dim, seed=2):
    """A velocity field v(x) = a + B x."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=dim), rng.normal(size=(dim, dim))


AFFINE = [(t, *k) for t in ("apic", "aflip", "asflip", "tpic") for k in KERNELS]


def affine_pair(dim, dtype, isa, transfer, kernel, gradient):
    """(simulation before its step, a, B, and the C that stands for B) of an affine field."""
    a, B = affine(dim)
    x = positions(dim)
    if kernel == "linear":
        x = x[off_nodes(x)]  # see the test of massless nodes below
    sim = placed(x, dtype, isa, v=lambda x: a + x @ B.T, transfer=transfer, kernel=kernel, gradient=gradient)
    C = np.broadcast_to(B, (len(x), dim, dim))
    if kernel == "linear" and transfer != "tpic":
        C = C * 4 * second_moment(x, kernel)[:, None, :]  # what it keeps: see Simulation
    sim.particles.C = C
    return sim, a, B, C


@every_dim
@every_dtype
@every_isa
@each("transfer, kernel, gradient", AFFINE)
def test_an_affine_velocity_field_goes_there_and_back(dim, dtype, isa, transfer, kernel, gradient):
    """v = a + B x comes back, from every node and again on every particle; F and x follow it."""
    sim, a, B, C = affine_pair(dim, dtype, isa, transfer, kernel, gradient)
    start = {name: sim.particles[name].astype(float) for name in ("x", "v")}
    sim.step()
    limit = {"float64": 2e-14, "float32": 1e-5}[dtype]  # measured 1.1e-15, 6e-7 for speeds of about 2
    field = a + sim.grid.x @ B.T
    heavy = sim.grid.mass > 1e-3 * sim.grid.mass.max()  # p/m of nodes with next to no mass is rounding
    assert heavy.mean() > 0.6
    assert np.abs(sim.grid.v - field)[heavy].max() < limit
    p = sim.particles
    assert np.abs(p.v - start["v"]).max() < limit
    assert np.abs(p.C - C).max() < 4 / H * limit  # a difference over h/4
    assert np.abs(p.x - start["x"] - DT * start["v"]).max() < DT * limit + 2 * scenes.EPSILON[dtype]
    assert np.abs(p.F - (np.eye(dim) + DT * B)).max() < DT * 4 / H * limit + 2 * scenes.EPSILON[dtype]


@every_dim
@every_isa
@every_gradient
@each("transfer", ["pic", "flip", "xpic"])
def test_a_constant_velocity_field_goes_there_and_back(dim, isa, transfer, kernel, gradient):
    """Without an affine part, that is all: PIC and XPIC, and FLIP that moves with the grid, flatten a slope."""
    x, v = positions(dim), np.array([0.7, -1.3, 0.4])[:dim]
    options = {"transfer": transfer, "kernel": kernel, "gradient": gradient}
    sim = placed(x, "float64", isa, v=v, **options)
    sim.step()
    assert np.abs(sim.particles.v - v).max() < 2e-14  # measured 9e-16
    counted = off_nodes(x) | (kernel != "linear")
    assert np.abs(sim.particles.C[counted]).max() < 1e-12  # measured 9e-14
    a, B = affine(dim)
    sloping = placed(x, "float64", isa, v=lambda x: a + x @ B.T, **options)
    sloping.step()
    assert np.abs(sloping.particles.v - (a + x @ B.T)).max() > 1e-4


@each("transfer", ["pic", "apic"])
def test_a_particle_on_a_node_needs_neighbours_with_the_linear_kernel(transfer):
    """Its gradient acts on nodes of zero weight, here without mass: the documented exception, in P and in strain."""

    def lone(place, kernel, **options):
        x = np.array([[LOWER + 8 * H + place, LOWER + 9 * H + place]])
        options |= {"kernel": kernel, "gradient": "bspline", "transfer": transfer}
        sim = placed(x, "float64", scenes.ISAS[-1], **options)
        sim.step()
        return sim

    def pushed(place, kernel):
        sim = lone(place, kernel, F=lambda x: np.diag([1.2, 0.9])[None])
        return np.abs(sim.totals().momentum).max() / np.abs(sim.grid.v * sim.grid.mass[:, None]).max()

    def strained(place, kernel):
        return np.abs(lone(place, kernel, v=(0.5, 0)).particles.F - np.eye(2)).max()

    assert pushed(0, "linear") > 0.5 and strained(0, "linear") > 1e-3
    for place, kernel in ((0.3 * H, "linear"), (0, "quadratic"), (0, "cubic")):
        assert pushed(place, kernel) < 1e-13 and strained(place, kernel) < 1e-15


@every_dim
@every_dtype
@every_isa
def test_grid_and_particles_have_the_same_totals(dim, dtype, isa):
    """Mass, first moment, momentum, and angular momentum with the affine spin, there and back."""
    rng = np.random.default_rng(3)
    x = positions(dim)
    volume = H**dim * rng.uniform(0.1, 1, len(x))
    sim = placed(x, dtype, isa, v=rng.normal(size=dim), volume=volume)
    sim.particles.v += rng.normal(size=x.shape).astype(dtype)
    sim.particles.C = rng.normal(size=(len(x), dim, dim)) * 10
    before = scenes.numpy_totals(sim)
    sim.step()
    after = scenes.numpy_totals(sim)
    m, v, at = (np.asarray(values, dtype=float) for values in (sim.grid.mass, sim.grid.v, sim.grid.x))
    axes = [(0, 1)] if dim == 2 else [(1, 2), (2, 0), (0, 1)]
    spin = np.array([(m * (at[:, a] * v[:, b] - at[:, b] * v[:, a])).sum() for a, b in axes])
    limit = {"float64": 2e-14, "float32": 6e-6}[dtype]  # measured below 2e-15, 6e-7
    scale = m.sum() * np.abs(v).max()
    assert m.sum() == pytest.approx(before["mass"], rel=limit)
    np.testing.assert_allclose(m @ at / m.sum(), before["center_of_mass"], rtol=0, atol=limit)
    np.testing.assert_allclose(m @ v, before["momentum"], rtol=0, atol=limit * scale)
    np.testing.assert_allclose(after["momentum"], before["momentum"], rtol=0, atol=limit * scale)
    np.testing.assert_allclose(spin, np.atleast_1d(before["angular_momentum"]), rtol=0, atol=limit * scale)
    np.testing.assert_allclose(
        after["angular_momentum"], before["angular_momentum"], rtol=0, atol=limit * scale
    )


@pytest.mark.numbers
@pytest.mark.parametrize("dim", [2, pytest.param(3, marks=pytest.mark.slow)])
@every_dtype
@every_isa
@each("law", scenes.DEFORMABLE)
def test_momentum_of_the_nodes_is_that_of_mls(dim, dtype, isa, law):
    """p_i = sum_p w [m v + (m C - dt V 4/h^2 tau(F)) (x_i - x)], and gravity dt m_i g, written out with NumPy."""
    rng = np.random.default_rng(4)
    x, g = positions(dim), np.array([0.3, -9.0, 2.0])[:dim]
    F = np.eye(dim) + 0.2 * rng.uniform(-1, 1, (len(x), dim, dim))
    if law == "fluid":  # which keeps J alone
        F = np.linalg.det(F)[:, None, None] ** (1 / dim) * np.eye(dim)
    sim = placed(x, dtype, isa, law=law, F=lambda x: F, gravity=g, density_correction=0)
    p = sim.particles
    p.v = rng.normal(size=x.shape)
    if law != "fluid":  # a fluid's stress depends on C too: with C = 0 its pressure is seen
        p.C = rng.normal(size=F.shape)
    v, C, m, volume = (p[name].astype(float) for name in ("v", "C", "mass", "volume"))
    tau = scenes.MATERIALS[law].stress(F) @ F.transpose(0, 2, 1)
    matrix = m[:, None, None] * C - DT * volume[:, None, None] * 4 / H**2 * tau
    sim.step()
    # sum_p w_ip (q_p + A_p x_i) with q = m v - A x: two moments of the spline
    q = m[:, None] * v - np.einsum("pab,pb->pa", matrix, x)
    moments = scatter(x, np.concatenate([m[:, None], q, matrix.reshape(len(x), -1)], axis=1))
    nodes = np.stack(np.meshgrid(*[LOWER + H * np.arange(CELLS + 1)] * dim, indexing="ij"), axis=-1)
    slope = moments[..., 1 + dim :].reshape(*nodes.shape, dim)
    expected = moments[..., 1 : 1 + dim] + np.einsum("...ab,...b->...a", slope, nodes)
    expected += DT * moments[..., :1] * g
    momentum = on_nodes(sim.grid, np.asarray(sim.grid.v, dtype=float) * sim.grid.mass[:, None])
    limit = {"float64": 2e-14, "float32": 3e-6}[dtype]  # measured below 2e-15, 4e-7 of the largest
    assert np.abs(momentum - expected).max() < limit * np.abs(expected).max()
    # and what the particles make of the new field
    np.testing.assert_allclose(p.x, x + DT * p.v, rtol=0, atol=2 * scenes.EPSILON[dtype])
    advanced = (np.eye(dim) + DT * p.C.astype(float)) @ F
    if law == "fluid":
        np.testing.assert_allclose(p.J, np.linalg.det(advanced), rtol=16 * scenes.EPSILON[dtype])
        return
    material, gradient = scenes.MATERIALS[law], np.ascontiguousarray(p.C.astype(float))
    history = np.tile(material._initial_history(dim), (len(x), 1))
    advanced = material._return_map(np.ascontiguousarray(advanced), history, DT, gradient)[0]
    np.testing.assert_allclose(p.F, advanced, rtol=0, atol=16 * scenes.EPSILON[dtype])  # measured 4.5 eps


@pytest.mark.numbers
@every_dim
@every_isa
def test_velocities_of_particles_are_those_of_the_nodes(dim, isa):
    """v = sum w v_i and C = 4/h^2 sum w v_i (x_i - x)^T, written out with NumPy, in a rough field."""
    x = positions(dim)
    sim = placed(x, "float64", isa)
    sim.particles.v = np.random.default_rng(5).normal(size=x.shape)
    sim.step()
    full = on_nodes(sim.grid, sim.grid.v)
    offset = [(x[:, a, None] - LOWER) / H - np.arange(CELLS + 1) for a in range(dim)]
    w = [spline(r) for r in offset]
    letters = "ij" if dim == 2 else "ijk"
    gather = ",".join("p" + c for c in letters) + f",{letters}b->pb"
    v = np.einsum(gather, *w, full, optimize=True)
    assert np.abs(sim.particles.v - v).max() < 2e-14  # measured below 2e-15
    for a in range(dim):
        factors = [w[b] * (-H * offset[b] if a == b else 1) for b in range(dim)]
        moment = np.einsum(gather, *factors, full, optimize=True)
        C = 4 / H**2 * moment
        assert np.abs(sim.particles.C[:, :, a] - C).max() < 2e-13 * np.abs(C).max()  # measured below 2e-14


@every_dim
def test_viscous_stress_is_newtonian_and_has_no_bulk_part(dim):
    """2 eta J dev D, seen through the force of one step: momentum of the grid of a sheared drop."""
    eta, rate, dx, dt = 50.0, 0.3, 0.1, 1e-3
    scene = mpm.Scene([0] * dim, [1] * dim)
    scene.add(
        mpm.shapes.Points([[0.52] * dim], volume=dx**dim),
        mpm.materials.Fluid(bulk_modulus=1e3, density=1000, viscosity=eta),
    )
    sim = mpm.Simulation(scene, dx=dx, dt=dt)
    C = np.zeros((dim, dim))
    C[0, 1] = rate
    sim.particles.C = C[None]
    sim.step()
    # APIC of one particle: C' = C - dt V0 (4/h^2) tau / m, as sum w (x_i - x)(x_i - x)^T = h^2/4 I
    stress = (C - sim.particles.C[0]) * 1000 * dx**2 / (4 * dt)
    np.testing.assert_allclose(stress[0, 1], eta * rate, rtol=1e-9)  # measured 2e-13
    np.testing.assert_allclose(stress[1, 0], eta * rate, rtol=1e-9)
    assert np.abs(np.diag(stress)).max() < 1e-9 * eta * rate
    sim.particles.C = (rate * np.eye(dim))[None]
    sim.particles.J = np.ones(1)
    sim.step()
    stress = (rate * np.eye(dim) - sim.particles.C[0]) * 1000 * dx**2 / (4 * dt)
    shear_part = (
        2 * eta * rate * (1 - dim / 3)
    )  # plane strain: D_zz = 0, so a third of the trace is kept back
    np.testing.assert_allclose(np.diag(stress), shear_part, atol=1e-9 * eta * rate)
