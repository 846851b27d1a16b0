"""Mirror walls: half a symmetric body moves as the whole, and the order of accuracy is the kernel's."""

import itertools

import numpy as np
import pytest

import mpm
import scenes
from loops import each
from symmetric import LIMIT, SOLID, H, even, reflected, simulation

every_dim = pytest.mark.parametrize("dim", scenes.DIMS)
every_dtype = each("dtype", scenes.DTYPES)
every_isa = each("isa", scenes.ISAS)


def half_and_full(
    dim, axes, side, cells=16, dtype="float64", floor=None, steps=200, material=SOLID, isa=None
):
    """A body at mirror planes x_a = 0, and the whole body that it is a half, a quarter or an eighth of.

    `side`: -1, mirrors are the lower faces; 1, they are the upper ones. `floor`: contact of the last axis.
    """
    n = {2: 10, 3: 6}[dim]
    x = scenes.jittered(dim, n, H / 2)
    x[:, -1] += 0.0 if dim - 1 in axes else 0.02
    x *= np.where(np.isin(np.arange(dim), axes), -side, 1)
    extent = cells * H
    walls = {"xyz"[a] + "-+"[side > 0]: "mirror" for a in axes}
    open_walls = {}
    lower = [0.0] * dim
    upper = [extent] * dim
    for a in axes:
        lower[a], upper[a] = (0, extent) if side < 0 else (-extent, 0)
    if floor:
        wall = mpm.Wall(floor, friction=0.3)
        walls["xyz"[dim - 1] + "-"] = open_walls["xyz"[dim - 1] + "-"] = wall
    gravity = [0.0 if a in axes else (0.4 if a < dim - 1 else -6.0) for a in range(dim)]
    numerics = {"dt": 1e-3, "dtype": dtype, "gravity": gravity, "material": material}
    both_lower = [-extent if a in axes else lower[a] for a in range(dim)]
    with scenes.kernels(isa or scenes.ISAS[-1]):
        half = simulation(lower, upper, walls, x, lambda y: even(y, axes), **numerics)
        whole = reflected(x, axes)
        full = simulation(both_lower, [extent] * dim, open_walls, whole, lambda y: even(y, axes), **numerics)
    half.step(steps)
    full.step(steps)
    return half, full


CORNERS = [(2, (0,)), (2, (1,)), (2, (0, 1)), (3, (0,)), (3, (2,)), (3, (0, 1)), (3, (0, 1, 2))]


@pytest.mark.parametrize(("dim", "axes"), CORNERS)
@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("cells", [16, 13])  # the upper faces on, and off, the faces of blocks
def test_half_a_symmetric_body_at_a_mirror_moves_as_the_whole(dim, axes, side, cells):
    half, full = half_and_full(dim, axes, side, cells, steps=200 if dim == 2 else 100)
    n = len(half.particles)
    for name in ("x", "v", "C", "F"):
        difference = np.abs(half.particles[name] - full.particles[name][:n]).max()
        assert difference <= 1e-12, name  # measured 5e-14 (C)
    assert np.abs(half.particles.F - np.eye(dim)).max() > 0.05  # it has deformed
    assert half.totals().energy * 2 ** len(axes) == pytest.approx(full.totals().energy, rel=1e-12)


@every_dim
def test_in_single_precision_too(dim):
    axes = tuple(range(dim))
    half, full = half_and_full(dim, axes, -1, dtype="float32", steps=100)
    for name in ("x", "v", "F"):
        difference = np.abs(half.particles[name] - full.particles[name][: len(half.particles)]).max()
        assert difference <= 2e-5, name  # measured 5e-7


@every_dim
@every_isa
@pytest.mark.parametrize("floor", ["slip", "separate"])
@pytest.mark.parametrize("side", [-1, 1])
def test_a_mirror_may_stand_on_a_rough_floor(dim, isa, floor, side):
    """Friction acts on what the images brought together, alike on both sides of the plane."""
    half, full = half_and_full(dim, (0,), side, floor=floor, steps=100, isa=isa)
    n = len(half.particles)
    for name in ("x", "v", "F"):
        assert np.abs(half.particles[name] - full.particles[name][:n]).max() <= 1e-12, (
            name
        )  # measured 1.3e-15
    ours, whole = half.history["wall_impulse"], full.history["wall_impulse"]
    assert np.abs(whole[:, -1]).max() > 0
    np.testing.assert_allclose(2 * ours[:, 1:], whole[:, 1:], rtol=0, atol=1e-12 * np.abs(whole).max())
    if dim == 3:
        assert np.abs(whole[:, 1]).max() > 0  # rough


@every_dim
def test_the_other_laws_at_a_mirror(dim):
    for law in scenes.DEFORMABLE:
        if law == "fibre_reinforced":
            continue  # the mirror turns its fibres
        half, full = half_and_full(dim, (0, dim - 1), 1, 13, steps=60, material=scenes.MATERIALS[law])
        n = len(half.particles)
        for name in ("x", "v", "J"):
            assert np.abs(half.particles[name] - full.particles[name][:n]).max() <= 1e-12, (
                name
            )  # measured 1.3e-14


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("contact", ["sticky", "separate"])
def test_a_mirror_beside_a_wall(contact, cells):
    """So close that images lie beyond the wall: contact is where the domain's own node is."""
    extent = cells * H
    x = np.random.default_rng(5).random((12 * cells, 2)) * [extent, 0.5]
    walls = {"x-": "mirror", "x+": contact}
    ours = simulation([0, 0], [extent, 1], walls, x, lambda y: even(y, (0,)), dt=1e-3)
    whole = simulation(
        [-extent, 0], [extent, 1], {"x": contact}, reflected(x, (0,)), lambda y: even(y, (0,)), dt=1e-3
    )
    ours.step(100)
    whole.step(100)
    for name in ("x", "v", "F"):
        difference = np.abs(ours.particles[name] - whole.particles[name][: len(x)]).max()
        assert difference <= 1e-12, name  # measured 2e-15
    assert np.abs(ours.particles.F - np.eye(2)).max() > 0.02


@every_dim
@every_dtype
def test_velocities_of_images_are_mirrored_bit_for_bit(dim, dtype):
    """And a node on the plane has no normal velocity, whatever gravity wants."""
    x = scenes.jittered(dim, 8, H / 2)
    gravity = [-3.0] * dim
    walls = {f"{axis}-": "mirror" for axis in "xyz"[:dim]}
    sim = simulation([0] * dim, [1] * dim, walls, x, [-0.5] * dim, gravity=gravity, dtype=dtype)
    for _ in range(10):
        sim.step(7)
        grid = sim.grid
        nodes = {tuple(node): v for node, v in zip(np.rint(grid.x / H).astype(int), grid.v, strict=True)}
        ghosts = [node for node in nodes if min(node) < 0]
        assert ghosts and any(max(node) < 0 for node in ghosts)
        for node in ghosts:
            flips = np.where(np.array(node) < 0, -1, 1)
            np.testing.assert_array_equal(nodes[node], flips * nodes[tuple(np.abs(node))])
        for node, v in nodes.items():
            assert not v[np.array(node) == 0].any()
        assert grid.mass.sum() == pytest.approx(sim.totals().mass, rel=LIMIT[dtype])


@every_dim
def test_nothing_crosses_a_mirror(dim):
    """Thrown at the corner and pressed there: a wall of nodes gives way a little, a plane of symmetry does not."""
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[-100.0] * dim, walls={a: "mirror" for a in "xyz"[:dim]})
    jelly = mpm.materials.NeoHookean(E=2e4, nu=0.3, density=1000)
    scene.add(mpm.shapes.Box([0] * dim, [0.25] * dim), jelly, velocity=[-2.0] * dim)
    sim = mpm.Simulation(scene, dx=H, sampling="stratified")
    lowest = 1.0
    for _ in range(30):
        sim.step(5)
        lowest = min(lowest, float(sim.particles.x.min()))
    assert 0 < lowest < 0.1 * H  # measured 0.007 and 0.002 cells


def mode(cells, contact, kernel="quadratic", dim=2):
    """Free vibration of a bar between two walls: its largest error of displacement over a period, over the amplitude.

    u = A sin(w t) sin(pi x/L) with w = pi c/L, c^2 = E/rho (nu = 0). A = 1e-4 L is small: of the neo-Hookean law only
    the linear part is seen, and no particle comes to another cell.
    """
    amplitude, c, per_cell = 1e-4, 100.0, 2
    h, omega = 1 / cells, np.pi * c
    along = (np.arange(per_cell * cells) + 0.5) * h / per_cell
    across = (np.arange(per_cell) + 0.5) * h / per_cell
    x = np.stack(np.meshgrid(along, *[across] * (dim - 1), indexing="ij"), axis=-1).reshape(-1, dim)
    scene = mpm.Scene(
        [0] * dim, [1] + [h] * (dim - 1), walls={"x": contact, **dict.fromkeys("yz"[: dim - 1], "mirror")}
    )
    material = mpm.materials.NeoHookean(E=c**2, nu=0, density=1)
    scene.add(mpm.shapes.Points(x, volume=(h / per_cell) ** dim), material)
    steps = 160 * cells // 16  # 0.2 h/c
    period = 2 * np.pi / omega
    sim = mpm.Simulation(scene, dx=h, dt=period / steps, history=0, kernel=kernel)
    sim.particles.v[:, 0] = amplitude * omega * np.sin(np.pi * x[:, 0])
    sim.particles.C[:, 0, 0] = amplitude * omega * np.pi * np.cos(np.pi * x[:, 0])
    worst = 0.0
    for _ in range(16):
        sim.step(steps // 16)
        exact = amplitude * np.sin(omega * sim.time) * np.sin(np.pi * x[:, 0])
        worst = max(worst, float(np.sqrt(np.mean((sim.particles.x[:, 0] - x[:, 0] - exact) ** 2))))
    return worst / amplitude


# kernel: bound of the error over the amplitude at N = 64 with mirrors
ERRORS = {"quadratic": 1.5e-3, "cubic": 2e-3}


@pytest.mark.numbers
@pytest.mark.parametrize("kernel", ERRORS)
@pytest.mark.parametrize("contact", ["mirror", "sticky", "slip"])
def test_the_wall_decides_the_order_of_accuracy(kernel, contact):
    """Errors over the amplitude at N = 16, 32, 64. Quadratic: mirror 0.0181, 0.0045, 0.0011; sticky and slip 0.111,
    0.052, 0.025. Cubic: mirror 0.0251, 0.0063, 0.0016; sticky and slip 0.204, 0.103, 0.051.

    Large deformation is the matter of test_convergence.py.
    """
    errors = np.array([mode(cells, contact, kernel) for cells in (16, 32, 64)])
    orders = np.log2(errors[:-1] / errors[1:])
    if contact == "mirror":
        # measured 2.00, 2.00 (quadratic), 1.99, 2.00 (cubic)
        assert (orders >= 1.9).all() and errors[-1] < ERRORS[kernel]
    else:
        assert (np.abs(orders - 1) <= 0.15).all()  # measured 1.09, 1.06 and 0.98, 1.01


@pytest.mark.numbers
@pytest.mark.parametrize("kernel", ERRORS)
def test_the_order_in_space(kernel):
    errors = [mode(cells, "mirror", kernel, dim=3) for cells in (16, 32)]
    assert np.log2(errors[0] / errors[1]) >= 1.9  # measured 2.00, 1.99


@pytest.mark.parametrize("kernel", ERRORS)
@pytest.mark.parametrize("dim", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_an_axial_bar_between_a_mirror_and_nothing(dim, kernel):
    """Fixed by symmetry at one end, free at the other: w = pi c/(2 L), over ten periods of 1000 steps."""
    length, cells, c, v0 = 25.0, 25, 10.0, 0.1
    h, beta = length / cells, np.pi / 2 / length
    along, across = (np.arange(2 * cells) + 0.5) * h / 2, (np.arange(2) + 0.5) * h / 2
    x = np.stack(np.meshgrid(along, *[across] * (dim - 1), indexing="ij"), axis=-1).reshape(-1, dim)
    walls = {"x-": "mirror", **dict.fromkeys("yz"[: dim - 1], "mirror")}
    sim = simulation(
        [0] * dim, [length + 5 * h] + [h] * (dim - 1), walls, x, h=h, dt=0.1 * h / c,
        material=mpm.materials.NeoHookean(E=c**2, nu=0, density=1), kernel=kernel,
    )  # fmt: skip
    sim.particles.v[:, 0] = v0 * np.sin(beta * x[:, 0])
    period = 2 * np.pi / (beta * c)
    sim.run(10 * period)
    t, v = sim.history["time"], sim.history["momentum"][:, 0] / sim.history["mass"]
    up = np.flatnonzero((v[:-1] < 0) & (v[1:] >= 0))
    zeros = t[up] - v[up] * (t[up + 1] - t[up]) / (v[up + 1] - v[up])
    assert len(zeros) == 10
    measured = (zeros[-1] - zeros[0]) / 9
    # measured 4.2e-4 (7.4e-3 with a sticky wall), with the cubic kernel 5.8e-4
    assert abs(measured / period - 1) <= 1e-3
    last = t > 9 * period
    phase = 2 * np.pi * t[last] / measured
    parts = np.linalg.lstsq(np.stack([np.cos(phase), np.sin(phase)], axis=1), v[last], rcond=None)[0]
    assert np.linalg.norm(parts) / (v0 / (beta * length)) >= 0.995  # measured 0.9973, 0.9953


@every_dim
@every_dtype
@pytest.mark.parametrize("kernel", ["quadratic", "cubic"])
@pytest.mark.parametrize(("lower", "upper", "dx"), [(0, 1, 1 / 16), (0.1, 1.0, 0.05), (-0.3, 0.6, 0.3 / 8)])
@pytest.mark.parametrize("side", [-1, 1])
def test_particles_beyond_a_mirror_by_rounding_stay_as_those_on_it(
    dim, dtype, kernel, lower, upper, dx, side
):
    """Drops leave the plane and stretch what is between them: what began 1e-15 beyond it left the domain after 316
    steps (quadratic, in 2-D, the first domain)."""
    plane, inward = (lower, 1) if side < 0 else (upper, -1)
    places = []
    for offset in (-inward * 1e-15, 0):
        scene = mpm.Scene(
            [lower] * dim,
            [upper] * dim,
            walls={"x" + "-+"[side > 0]: "mirror", **dict.fromkeys("yz"[: dim - 1], "slip")},
        )
        across = [(0.3, 0.3 + dx / 2)] * (dim - 1)
        x = np.array(list(itertools.product((plane + offset, plane + inward * dx / 2), *across)))
        scene.add(
            mpm.shapes.Points(x, volume=(dx / 2) ** dim),
            mpm.materials.Fluid(bulk_modulus=2e4, density=1000),
            velocity=[0, -5, 0][:dim],
        )
        sim = mpm.Simulation(scene, dx=dx, kernel=kernel, dtype=dtype, threads=1)
        sim.step(600)
        places.append(sim.particles.x.copy())
    assert (inward * (places[0][:, 0] - plane) >= -{"float64": 1e-12, "float32": 1e-6}[dtype]).all()
    np.testing.assert_array_equal(*places)
