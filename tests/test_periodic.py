"""Periodic walls: two faces that are one, in the motion and in the arrays."""

import itertools

import numpy as np
import pytest

import mpm
import scenes
from mpm.study import conservation
from symmetric import LIMIT, SOLID, H, even, reflected, simulation

every_dim = pytest.mark.parametrize("dim", scenes.DIMS)
every_dtype = pytest.mark.parametrize("dtype", scenes.DTYPES)
every_isa = pytest.mark.parametrize("isa", scenes.ISAS)


@every_dtype
@pytest.mark.parametrize("cells", [2, 3, 5, 8])
def test_two_mirrors_are_half_a_period(cells, dtype):
    """N cells between mirrors move as 2N periodic cells do: two kinds of images, checked against each other."""
    rng = np.random.default_rng(2)
    x = (rng.random((16 * cells, 2)) * [1, 4]) * [cells * H, H]
    numerics = {"dt": 2e-3, "dtype": dtype}
    mirrors = simulation([0, 0], [cells * H, 4 * H], {"x": "mirror", "y": "periodic"}, x, **numerics)
    box = simulation([-cells * H, 0], [cells * H, 4 * H], "periodic", reflected(x, (0,)), **numerics)
    push = even(x, (0,))
    push[:, 0] *= np.sin(np.pi * x[:, 0] / (cells * H)) * np.sign(np.sin(5 * x[:, 0]) + 1e-300)
    mirrors.particles.v[...] = push
    box.particles.v[...] = np.concatenate([push, push * [-1, 1]])
    mirrors.step(100)
    box.step(100)
    for name in ("v", "F"):
        ours, others = mirrors.particles[name], box.particles[name][: len(x)]
        # measured 1.5e-15, 7e-7
        assert np.abs(ours - others).max() <= {"float64": 1e-12, "float32": 1e-4}[dtype], name
    assert np.abs(mirrors.particles.F - np.eye(2)).max() > 0.005


@every_dim
@every_dtype
@pytest.mark.parametrize("cells", [4, 5, 8, 13, 16])
def test_a_body_that_goes_round_and_round_stays_as_it_is(dim, dtype, cells):
    extent = cells * H
    x = scenes.jittered(dim, 4, H / 2) + 0.37 * extent  # two cells wide
    x = x % extent
    v = np.array([1.7, -0.9, 0.4])[:dim]
    sim = simulation([0] * dim, [extent] * dim, "periodic", x, v, dtype=dtype)
    view, ids = sim.particles.x, sim.particles.id.copy()
    given = sim.particles.v.copy()
    crossings = 0
    for _ in range(40):
        before = view[:, 0].copy()
        sim.run(0.3 * extent / 1.7)
        crossings += int((view[:, 0] < before - extent / 2).any())
        assert (view >= 0).all() and (view < np.asarray(extent, view.dtype)).all()
        nodes = (
            sim.grid.x / H
        )  # in the core too: a cell from where they were binned, and the reach of the kernel
        assert nodes.min() >= -2 and nodes.max() <= cells + 3
    assert crossings >= 12
    scale = np.abs(v).max()
    assert np.abs(sim.particles.v - given).max() <= LIMIT[dtype] * scale  # measured 5e-15, 5e-6
    assert np.abs(sim.particles.F - np.eye(dim)).max() <= 10 * LIMIT[dtype]  # measured 2e-13, 1.2e-4
    path = (sim.particles.x - x - sim.time * v + extent / 2) % extent - extent / 2
    assert np.abs(path).max() <= LIMIT[dtype] * sim.time * scale
    momentum = sim.history["momentum"]
    assert np.abs(momentum - momentum[0]).max() <= LIMIT[dtype] * np.abs(momentum[0]).max()
    assert sim.health["left_domain"] == 0
    np.testing.assert_array_equal(sim.particles.id, ids)


def wave(dim, direction, polarisation, dtype="float64", cells=32):
    """Phase speed [m/s] of a small travelling plane wave in a periodic box of a solid, from its first component."""
    h, across = 1 / cells, 4
    extent = np.full(dim, across * h)
    extent[direction] = 1
    scene = mpm.Scene([0] * dim, extent, walls="periodic")
    scene.add(mpm.shapes.Box([0] * dim, extent), SOLID)
    sim = mpm.Simulation(scene, dx=h, sampling="lattice", dtype=dtype)
    mu, lam = 10 / 2.6, 10 * 0.3 / (1.3 * 0.4)
    c = np.sqrt(lam + 2 * mu) if direction == polarisation else np.sqrt(mu)
    k = 2 * np.pi
    x = sim.particles.x[:, direction].astype(float)
    amplitude = 1e-3  # v = A cos(k (x - c t)), F = 1 - A/c cos(k (x - c t))
    sim.particles.v[:, polarisation] = amplitude * np.cos(k * x)
    sim.particles.C[:, polarisation, direction] = -amplitude * k * np.sin(k * x)
    sim.particles.F[:, polarisation, direction] -= amplitude / c * np.cos(k * x)
    start = sim.totals().momentum
    sim.run(2.25 / c)  # two and a quarter times round
    now = sim.particles.x[:, direction].astype(float)
    component = (sim.particles.v[:, polarisation] * np.exp(1j * k * now)).sum()
    turned = np.angle(component) / (2 * np.pi)  # -> 0.25
    drift = np.abs(sim.history["momentum"] - start).max() / (amplitude * sim.totals().mass)
    return (2 + turned % 1) / 2.25, drift


@every_dim
@every_dtype
@pytest.mark.parametrize("kind", ["pressure", "shear"])
@pytest.mark.parametrize("axis", [0, -1])
def test_waves_in_a_periodic_box_have_the_right_speed(dim, dtype, kind, axis):
    direction = axis % dim
    polarisation = direction if kind == "pressure" else (direction + 1) % dim
    speed, drift = wave(dim, direction, polarisation, dtype)
    assert abs(speed - 1) <= 0.01  # measured 5.7e-3 to 7.2e-3: (k h)^2/6 = 6.4e-3
    assert drift <= LIMIT[dtype]  # measured 4e-16, 1.4e-7


@every_dim
@pytest.mark.parametrize("cells", [8, 13])
def test_it_does_not_matter_where_the_domain_is_cut(dim, cells):
    """The same body, whole or cut by the faces, at every place: the same motion."""
    extent = cells * H
    x = scenes.jittered(dim, 8 if dim == 2 else 5, H / 2)
    spin = 2.0 if dim == 2 else (1.0, -0.5, 2.0)

    def after(shift):
        sim = simulation([0] * dim, [extent] * dim, "periodic", (x + shift * H) % extent, dt=2e-3)
        omega = np.array([0, 0, spin] if dim == 2 else spin)
        r = np.pad(x - x.mean(axis=0), ((0, 0), (0, 3 - dim)))
        sim.particles.v[...] = np.cross(omega, r)[:, :dim] + 0.5 + 0.3 * np.sin(9 * x[:, ::-1])
        sim.step(100 if dim == 2 else 60)
        return sim

    whole = after(2)
    for shift in (0, 1, cells - 3, cells - 1):
        cut = after(shift)
        for name in ("v", "F", "C"):
            scale = np.abs(whole.particles[name]).max()
            difference = np.abs(cut.particles[name] - whole.particles[name]).max()
            assert difference <= 1e-12 * scale, name  # measured 4e-14 of 16
        moved = (cut.particles.x - whole.particles.x + (2 - shift) * H + extent / 2) % extent - extent / 2
        assert np.abs(moved).max() <= 1e-12
    assert np.abs(whole.particles.F - np.eye(dim)).max() > 0.05


@every_dim
@every_dtype
def test_a_periodic_channel_with_a_floor(dim, dtype):
    """A block thrown along a rough floor goes out at one side and in at the other: as on a floor that is long."""
    box = mpm.shapes.Box([0.25] * (dim - 1) + [0], [0.5] * (dim - 1) + [0.25])
    material = mpm.materials.FixedCorotated(E=2000, nu=0.3, density=10)

    def throw(length, x_walls):
        scene = mpm.Scene(
            [0] * dim, [length] + [1] * (dim - 1), gravity=[0] * (dim - 1) + [-9.81], friction=0.1,
            walls={"x": x_walls, "xyz"[dim - 1]: "separate"},
        )  # fmt: skip
        scene.add(box, material, velocity=[3.0] + [0] * (dim - 1))
        sim = mpm.Simulation(scene, dx=H, dtype=dtype, dt=2e-4, sampling="lattice")
        sim.step(1500)
        return sim

    channel, floor = throw(0.625, "periodic"), throw(2, "sticky")  # ten cells
    assert channel.particles.x[:, 0].max() < 0.625 < floor.particles.x[:, 0].min()
    limit = {"float64": 1e-12, "float32": 2e-3}[dtype]  # measured 4e-15, 6e-6
    assert np.abs(channel.particles.v - floor.particles.v).max() <= limit
    assert np.abs(channel.particles.F - floor.particles.F).max() <= limit
    rubbed = channel.history["wall_impulse"]
    assert rubbed[:, 0].sum() < 0
    np.testing.assert_allclose(rubbed.sum(axis=0), floor.history["wall_impulse"].sum(axis=0), atol=limit)


@every_dim
@every_dtype
def test_positions_written_beyond_a_periodic_face_are_wrapped(dim, dtype):
    """While other particles, which nobody writes to, lie beyond the face in the core."""
    x = scenes.jittered(dim, 6, H / 2) + 0.75
    walls = {"x": "periodic"}
    moved, meant = (
        simulation([0] * dim, [1] * dim, walls, x, [1.0] + [0] * (dim - 1), dtype=dtype) for _ in range(2)
    )
    moved.run(0.15)
    meant.run(0.15)
    rows = np.arange(len(x)) % 3 == 0
    turns = np.arange(rows.sum()) % 7 - 3.0
    turns[:3] = 1000, -1000, 2.0**12
    view, other = moved.particles.x, meant.particles.x
    assert (view[~rows, 0] < 0.5).any() and (view[~rows, 0] > 0.5).any()  # on their way through the face
    here = np.round(view[rows] * 2**10) / 2**10  # so that adding turns does not round
    other[rows] = here
    view[rows] = here + turns[:, None].astype(view.dtype) * (np.arange(dim) == 0)
    assert moved.totals().mass == meant.totals().mass  # read in, and written out anew
    np.testing.assert_array_equal(view, other)
    np.testing.assert_array_equal(view[rows], here)
    assert moved.state_hash() == meant.state_hash()
    moved.step(50)
    meant.step(50)
    assert moved.state_hash() == meant.state_hash()
    assert moved.health["left_domain"] == 0


@every_dtype
@pytest.mark.parametrize("on_leave", ["raise", "clamp"])
def test_a_position_that_names_no_cell_is_outside(dtype, on_leave):
    """Beyond 2^52 cells neighbouring numbers are cells apart: wrapping them would make a position up."""
    x = scenes.jittered(2, 6, H / 2) + 0.25
    sim = simulation([0, 0], [1, 1], "periodic", x, dtype=dtype, on_leave=on_leave)
    far = 1e30 if dtype == "float32" else 1e300
    sim.particles.x[5, 0] = far
    sim.particles.x[9, 1] = -far
    if on_leave == "raise":
        with pytest.raises(mpm.EscapeError) as caught:
            sim.step()
        assert caught.value.rows == [5, 9]
    else:
        sim.totals()
        assert sim.particles.x[5, 0] == 0 and sim.particles.x[9, 1] == 0  # the face, which is both faces
        assert sim.health["clamped"] == 2


@every_dim
@every_dtype
def test_the_ends_of_the_period(dim, dtype):
    """On the faces, one ulp beside them, and where rounding decides: always lower <= x < upper."""
    for lower, cells, h in [(0.0, 8, 0.125), (-0.3, 7, 0.1), (1e6, 5, 0.3)]:
        upper = lower + cells * h
        real = np.dtype(dtype).type
        ends = [
            lower,
            upper,
            np.nextafter(real(lower), real(-np.inf)),
            np.nextafter(real(upper), real(-np.inf)),
        ]
        ends += [np.nextafter(real(e), real(np.inf)) for e in (lower, upper)]
        scene = mpm.Scene([lower] * dim, [upper] * dim, walls="periodic")
        inside = np.full((len(ends) ** dim, dim), lower + 1.3 * h)
        scene.add(mpm.shapes.Points(inside, volume="per-cell"), SOLID)
        sim = mpm.Simulation(scene, dx=h, dtype=dtype)
        view = sim.particles.x
        view[...] = list(itertools.product(ends, repeat=dim))
        for _ in range(3):
            sim.totals()
            assert (view >= real(lower)).all() and (view < real(upper)).all()
            assert np.isfinite(view).all()
            sim.step(2)
            view[::2] += real(0)


@every_dim
@pytest.mark.parametrize("direction", [-1, 1])
def test_a_position_that_is_finer_than_its_array_is_wrapped_as_the_array_shows_it(dim, direction):
    """In single precision a million metres out, x has steps of 1/16 m, the core's positions far smaller ones."""
    lower, cells, h = 1e6, 8, 0.25
    scene = mpm.Scene([lower] * dim, [lower + cells * h] * dim, walls="periodic")
    start = np.full((1, dim), lower if direction < 0 else lower + cells * h - 0.0625)
    soft = mpm.materials.NeoHookean(E=1e-4, nu=0.3, density=1)
    scene.add(mpm.shapes.Points(start, volume="per-cell"), soft, velocity=[direction * 0.01] * dim)
    sim = mpm.Simulation(scene, dx=h, dtype="float32", dt=0.1)
    shown = set()
    for _ in range(100):
        sim.step()
        shown |= set((sim.particles.x - np.float32(lower)).ravel().tolist())
    assert (
        min(shown) == 0 and max(shown) == cells * h - 0.0625
    )  # both sides of the face, and never the upper one


@every_dim
def test_a_collision_across_the_face_is_one_like_any_other(dim):
    """A body goes out at one face, comes in at the other and hits one that rests: as without faces."""
    extent, here = 1.0, scenes.jittered(dim, 6, H / 2)
    far = np.zeros(dim)
    far[0] = 0.6

    def hit(shift, periodic):
        x = np.concatenate([here - far, here]) + shift
        numerics = {
            "dt": 2e-3,
            "velocity": lambda y: np.repeat([[0.8] + [0.0] * (dim - 1), [0.0] * dim], len(here), 0),
        }
        if periodic:
            sim = simulation([0] * dim, [extent] * dim, "periodic", x % extent, **numerics)
        else:
            sim = simulation([-extent] * dim, [2 * extent] * dim, "slip", x, **numerics)
        sim.step(500)
        return sim

    free = hit(0.25, False)
    assert free.particles.v[len(here) :, 0].mean() > 0.2  # they have met
    for shift in (0.25, 0.5625):
        met = hit(shift, True)
        for name in ("v", "F"):
            assert np.abs(met.particles[name] - free.particles[name]).max() <= 1e-11, name  # measured 7e-15


@every_dim
def test_deleting_and_adding_across_the_wrap(dim):
    """Particles come and go while others lie beyond a face in the core: nothing is lost or moved."""
    sim = simulation(
        [0] * dim, [1] * dim, "periodic", scenes.jittered(dim, 8, H / 2) + 0.75, [2.0] * dim, dt=1e-3
    )
    ids = sim.particles.id.copy()
    rng = np.random.default_rng(3)
    for turn in range(12):
        sim.step(17)
        x, v = sim.particles.x.copy(), sim.particles.v.copy()
        gone = rng.random(len(x)) < 0.05
        sim.particles.delete(gone)
        ids = ids[~gone]
        np.testing.assert_array_equal(sim.particles.id, ids)
        np.testing.assert_allclose(sim.particles.x, x[~gone], rtol=0, atol=1e-14)
        np.testing.assert_array_equal(sim.particles.v, v[~gone])
        sim.add(
            mpm.shapes.Points(np.full((1, dim), 1 - 1e-9 * turn), volume="per-cell"),
            SOLID,
            velocity=[2.0] * dim,
        )
        ids = np.append(ids, sim.particles.id[-1])
        np.testing.assert_allclose(sim.particles.x[:-1], x[~gone], rtol=0, atol=1e-14)
    assert np.abs(sim.particles.v - 2).max() <= 1e-12
    assert len(set(ids.tolist())) == len(ids) == len(sim.particles)


def test_what_has_no_meaning_along_a_periodic_axis_is_not_a_number():
    scene = mpm.Scene([0] * 3, [1] * 3, gravity=(0.5, 0, -2.0), walls={"x": "periodic"})
    scene.add(mpm.shapes.Box([0.25] * 3, [0.75] * 3), SOLID, velocity=(1, 2, 0))
    sim = mpm.Simulation(scene, dx=0.125)
    start = sim.totals()
    np.testing.assert_array_equal(np.isnan(start.center_of_mass), [True, False, False])
    np.testing.assert_array_equal(np.isnan(start.angular_momentum), [False, True, True])
    assert start.gravitational == pytest.approx(2.0 * start.mass * start.center_of_mass[2], rel=1e-12)
    assert np.isfinite(start.energy)
    sim.step(5)
    assert np.isnan(sim.history["center_of_mass"][:, 0]).all() and np.isfinite(sim.history["energy"]).all()
    labels = {row.quantity for row in conservation.drifts(sim, start)}
    assert not labels & {"L_y", "L_z"}
    assert all(row.relative <= 1e-12 for row in conservation.drifts(sim, start))
