"""Where colliders are: signed distances against brute force, motion against closed forms."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

import mpm
from mesh_samples import cube_mesh, sphere_mesh
from mpm import meshes, motion
from mpm.shapes import Ball, Box, Capsule, Cylinder, DistanceGrid, HalfSpace, Mesh, Polygon, Shape
from mpm.shapes.distances import describe, measure
from scenes import DIMS

SOFT = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)

pytestmark = [  # many tests fill colliders with material
    pytest.mark.filterwarnings("ignore:.*start inside the collider"),
    pytest.mark.filterwarnings("ignore:.*is thinner than"),
]


def distance(shape: Shape, x, dx=0.1):
    return measure(describe(shape, dx), np.asarray(x, dtype=float))


# --- signed distances --------------------------------------------------------------------------------------------

ARROW = Polygon([(-0.7, -0.5), (0.9, -0.6), (0.8, 0.7), (0.1, -0.1), (-0.6, 0.8)])
EXACT = {
    "box": Box((-0.7, -0.3), (0.4, 0.8)),
    "disc": Ball((0.1, -0.2), 0.6),
    "half-plane": HalfSpace((0.1, 0.2), (1, 2)),
    "capsule": Capsule((-0.5, -0.4), (0.6, 0.3), 0.3),
    "bar": Cylinder((-0.5, -0.4), (0.6, 0.3), 0.3),
    "polygon": ARROW,
    "polygon clockwise": Polygon(ARROW.vertices[::-1]),
    "turned": Box((-0.7, -0.3), (0.4, 0.8)).rotate(0.4, about=(0.2, 0)).scale(1.2).translate((0.1, 0)),
    "around": ~Ball((0.1, -0.2), 0.8),
    "outside of a union": Ball((-0.6, 0), 0.3) | Ball((0.6, 0), 0.4) | Box((-0.2, 0.7), (0.2, 0.9)),
    "box in 3-D": Box((-0.7, -0.3, -0.5), (0.4, 0.8, 0.6)),
    "ball": Ball((0.1, -0.2, 0), 0.6),
    "half-space": HalfSpace((0.1, 0.2, 0), (1, 2, -1)),
    "capsule in 3-D": Capsule((-0.5, -0.4, -0.2), (0.5, 0.3, 0.4), 0.3),
    "cylinder": Cylinder((-0.5, -0.4, -0.2), (0.5, 0.3, 0.4), 0.4),
    "turned in 3-D": Box((-0.6, -0.3, -0.5), (0.4, 0.6, 0.5)).rotate(0.7, axis=(1, 2, 3)),
}
BOUNDS = {
    "ellipse": Ball((0, 0), 0.4).scale((2, 1)),
    "sheared": Box((-0.5, -0.3), (0.4, 0.5)).scale((1, 2)).rotate(0.5).scale((1.5, 1)),
    "difference": Box((-0.8, -0.8), (0.8, 0.8)) - Ball((0.5, 0.5), 0.6) - Ball((-0.8, 0), 0.3),
    "intersection": Ball((-0.3, 0), 0.8) & Ball((0.3, 0), 0.8) & HalfSpace((0, 0.2), (0, 1)),
    "nested": ~(
        Box((-0.8, -0.8), (0.8, 0.8)) - (Ball((0, 0), 0.7) - (Box((-0.5, -0.2), (0.5, 0.2)) | ARROW))
    ),
    "ellipsoid": Ball((0, 0, 0), 0.4).scale((2, 1, 1.5)).rotate(0.3, axis=(0, 1, 1)),
    "drilled": Box((-0.7, -0.7, -0.7), (0.7, 0.7, 0.7)) - Cylinder((0, 0, -2), (0, 0, 2), 0.4),
}


def brute_force(shape, x):
    """Between which bounds the distance of x to the surface lies: the nearest node of a lattice on its other side."""
    d = shape.dimension
    step = 0.01 if d == 2 else 0.05
    axis = np.arange(-1.6, 1.6, step) + step / np.pi
    nodes = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    inside, at = shape.contains(nodes), shape.contains(x)
    found = np.empty(len(x))
    for side in (False, True):
        found[at == side] = cKDTree(nodes[inside != side]).query(x[at == side])[0]
    return found - 3 * step * np.sqrt(d), found  # a sharp corner has no node close to its tip


@pytest.mark.parametrize("name", [*EXACT, *BOUNDS])
def test_distances_are_what_a_search_finds(name):
    shape = {**EXACT, **BOUNDS}[name]
    x = np.random.default_rng(1).uniform(-1.1, 1.1, (2000, shape.dimension))
    phi, normal = distance(shape, x)
    low, high = brute_force(shape, x)
    assert ((phi < 0) == shape.contains(x)).all()
    assert (np.abs(phi) <= high + 1e-12).all()
    assert np.abs(np.linalg.norm(normal, axis=1) - 1).max() < 1e-14
    if name in EXACT:
        known = shape.contains(x) if name == "outside of a union" else np.zeros(len(x), dtype=bool)
        assert (np.abs(phi) >= low - 1e-12)[~known].all()
        # n leads to the nearest point of the surface: measured 2e-16
        onto = x - phi[:, None] * normal
        assert np.abs(distance(shape, onto)[0])[~known].max() < 1e-14


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_change_no_faster_than_one_moves(name):
    shape = BOUNDS[name]
    rng = np.random.default_rng(2)
    x = rng.uniform(-1.5, 1.5, (20000, shape.dimension))
    y = x + rng.normal(size=x.shape) * rng.choice([1e-3, 0.1, 1], len(x))[:, None]
    change = np.abs(distance(shape, x)[0] - distance(shape, y)[0])
    assert (change <= np.linalg.norm(x - y, axis=1) * (1 + 1e-9)).all()


def test_normals_of_mapped_shapes_are_those_of_their_surface():
    x = np.random.default_rng(3).uniform(-1, 1, (500, 2))
    shape = Ball((0.1, 0), 0.4).scale((2, 1)).rotate(0.6)
    _, normal = distance(shape, x)
    e = 1e-6
    slope = np.stack(
        [distance(shape, x + e * a)[0] - distance(shape, x - e * a)[0] for a in np.eye(2)], axis=1
    )
    slope /= np.linalg.norm(slope, axis=1)[:, None]
    assert np.abs(normal - slope).max() < 1e-6  # measured 1e-8


@pytest.mark.parametrize("name", EXACT)
def test_close_to_a_surface_the_normal_does_not_know_rounding(name):
    """Nodes come as close to a moving surface as they like, and the normal turns what pushes them."""
    shape = EXACT[name]
    x = np.random.default_rng(5).uniform(-1, 1, (300, shape.dimension))
    phi, normal = distance(shape, x)
    onto = x - phi[:, None] * normal
    on = np.abs(distance(shape, onto)[0]) < 1e-14  # a union knows a bound alone
    far = [distance(shape, onto + side * normal)[1] for side in (1e-3, -1e-3)]
    smooth = on & (np.abs(far[0] - far[1]).max(axis=1) < 1e-9)  # not beside a corner
    assert smooth.sum() > 100
    for aside in (1e-9, -1e-9, 1e-13, -1e-13):
        close = distance(shape, onto + aside * normal)[1]
        assert np.abs(close - far[0])[smooth].max() < 1e-14, aside  # measured 1.2e-15


def test_a_point_in_the_middle_has_a_normal():
    for shape, x in (
        (Ball((0, 0, 0), 1), (0, 0, 0)),
        (Capsule((0, 0, 0), (1, 0, 0), 0.2), (0.5, 0, 0)),
        (Cylinder((0, 0, 0), (0, 0, 1), 0.2), (0, 0, 0.5)),
        (Box((-1, -1), (1, 1)), (0, 0)),
        (ARROW, ARROW.vertices[0]),
    ):
        assert np.linalg.norm(distance(shape, [x])[1]) == pytest.approx(1, abs=1e-15)


def test_a_thousand_parts_join_and_deep_nests_are_refused():
    rng = np.random.default_rng(4)
    centers = rng.uniform(-1, 1, (1000, 2))
    union = Ball(centers[0], 0.05)
    for c in centers[1:]:
        union = union | Ball(c, 0.05)
    x = rng.uniform(-1, 1, (200, 2))
    expected = cKDTree(centers).query(x)[0] - 0.05
    assert np.abs(distance(union, x)[0] - expected).max() < 1e-15
    chain = Ball((0, 0), 1)
    for k in range(100):  # a - (b - (c - ...)): the deepest part comes first and nothing waits
        chain = Ball((0.01 * k, 0), 1) - chain
    assert describe(chain, 0.1).depth <= 3
    tree = [Ball((k, 0), 1) for k in range(64)]
    while len(tree) > 1:
        op = (lambda a, b: a | b) if len(tree) in (64, 16, 4) else (lambda a, b: a & b)
        tree = [op(a, b) for a, b in zip(tree[::2], tree[1::2], strict=True)]
    assert describe(tree[0], 0.1).depth <= 7


def test_nearest_faces_are_found_for_flat_and_far_ones_too():
    v, f = sphere_mesh(12)
    v = np.concatenate([v, [(3, 0, 0), (4, 0, 0), (5, 0, 0)]])
    f = np.concatenate([f, [(len(v) - 3, len(v) - 2, len(v) - 1)]])  # a face without area
    x = np.random.default_rng(5).uniform(-2, 6, (3000, 3))
    found, face, weights = meshes.nearest_faces(v, f, x)
    u = np.random.default_rng(6).dirichlet((1, 1, 1), 300)
    on_faces = np.einsum("kc,fcd->fkd", u, v[f]).reshape(-1, 3)
    sampled = cKDTree(on_faces).query(x)[0]
    assert (found <= sampled + 1e-12).all()
    assert (weights >= 0).all() and np.abs(weights.sum(axis=1) - 1).max() < 1e-14
    nearest = np.einsum("mc,mcd->md", weights, v[f[face]])
    assert np.abs(np.linalg.norm(x - nearest, axis=1) - found).max() < 1e-14
    box = Box((0, 0, 0), (1, 1, 1))
    x = np.random.default_rng(7).uniform(-1, 2, (2000, 3))
    assert np.abs(meshes.nearest_faces(*cube_mesh(), x)[0] - np.abs(distance(box, x)[0])).max() < 1e-15


def test_a_mesh_becomes_a_lattice_of_second_order():
    """The facets of the mesh are smaller than the spacing dx/2 and flat to 1.2e-3."""
    ball = Mesh(**dict(zip(("vertices", "faces"), sphere_mesh(64), strict=True)))
    rng = np.random.default_rng(8)
    direction = rng.normal(size=(2000, 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    radius = rng.uniform(0.8, 1.25, len(direction))
    x, errors = direction * radius[:, None], []
    for dx in (0.5, 0.25):
        program = describe(ball, dx)
        phi, normal = measure(program, x)
        errors.append(np.abs(phi - (radius - 1)).max())
    assert errors[1] < 0.33 * errors[0] and errors[1] < 6e-3  # measured 0.0189 and 0.0057
    assert (normal * direction).sum(axis=1).min() > 0.99  # measured 0.9957


def test_far_from_its_lattice_a_mesh_is_no_nearer_than_it_is():
    v, f = cube_mesh()
    cube, box = Mesh(vertices=v, faces=f), Box((0, 0, 0), (1, 1, 1))
    x = np.random.default_rng(9).uniform(-6, 6, (5000, 3))
    phi, exact = distance(cube, x)[0], distance(box, x)[0]
    outside = exact > 0
    assert ((phi < 0) == (exact < 0)).all()
    assert (phi <= exact + 0.01)[outside].all()
    assert (phi >= 0.5 * exact)[outside].all()


@pytest.mark.parametrize("dim", DIMS)
def test_a_grid_of_distances_is_a_shape(dim):
    step = 0.025
    axis = np.arange(-1, 1 + step / 2, step)
    x = np.stack(np.meshgrid(*[axis] * dim, indexing="ij"), axis=-1)
    grid = DistanceGrid([-1] * dim, step, np.linalg.norm(x, axis=-1) - 0.6)
    ball = Ball([0] * dim, 0.6)
    y = np.random.default_rng(10).uniform(-1, 1, (2000, dim))
    phi, exact = distance(grid, y)[0], distance(ball, y)[0]
    assert np.abs(phi - exact)[np.abs(exact) < 0.3].max() < 0.003  # measured 0.001
    assert ((phi < 0) == grid.contains(y)).all()
    band, e = y[np.abs(exact) < 0.15], 1e-6
    slope = [distance(grid, band + e * a)[0] - distance(grid, band - e * a)[0] for a in np.eye(dim)]
    assert (
        np.abs(np.linalg.norm(slope, axis=0) / (2 * e) - 1).max() < 0.025
    )  # measured 0.013 and 0.022: the gradient is of first order
    low, high = grid.bounds
    assert (low <= -0.59).all() and (low >= -0.71).all() and (high >= 0.59).all() and (high <= 0.71).all()
    scene = mpm.Scene([-1] * dim, [1] * dim)
    scene.add(grid, SOFT)
    assert mpm.Simulation(scene, dx=0.125).totals().mass == pytest.approx(
        1000 * (np.pi * 0.36 if dim == 2 else np.pi * 0.288), rel=0.03
    )
    ground = DistanceGrid(
        [-1] * dim, 0.5, x[::20, ::20] @ np.eye(dim)[-1] if dim == 2 else x[::20, ::20, ::20, 2]
    )
    far = np.array([[50.0] * (dim - 1) + [-0.3], [50.0] * (dim - 1) + [0.4]])
    np.testing.assert_allclose(distance(ground, far)[0], far[:, -1], atol=1e-15)  # goes on beyond its rim
    assert np.isinf(ground.bounds[0]).all()


# --- motion --------------------------------------------------------------------------------------------------------

DRIFTS = {
    "linear": (motion.Linear((0.4, -0.2)), lambda t: np.array([0.4 * t, -0.2 * t]), lambda t: 0 * t),
    "rotation": (motion.Rotation(1.7), lambda t: np.zeros(2), lambda t: 1.7 * t),
    "sinusoid": (
        motion.Sinusoid((0.1, 0.05), 0.8),
        lambda t: np.array([0.1, 0.05]) * np.sin(2 * np.pi * 0.8 * t),
        lambda t: 0 * t,
    ),
    "keyframes": (
        motion.Keyframes([0.1, 0.3, 0.9], [(0, 0), (0.1, 0), (0.1, 0.2)], angles=[0.0, 0.5, -0.4]),
        lambda t: np.array([np.interp(t, [0.1, 0.3], [0, 0.1]), np.interp(t, [0.3, 0.9], [0, 0.2])]),
        lambda t: np.interp(t, [0.1, 0.3, 0.9], [0, 0.5, -0.4]),
    ),
}
CENTER = np.array([0.1, 0.2])


def turn(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def moving(drift, contact="sticky", dtype="float64", **numerics):
    """Light dust that fills a box and follows the collider that holds all of it."""
    scene = mpm.Scene((-1, -1), (1, 1))
    dust = mpm.materials.NeoHookean(E=1e-6, nu=0.3, density=1)
    scene.add(Box((-0.25, -0.25), (0.25, 0.25)), dust)
    scene.add_collider(Box((-0.7, -0.6), (0.9, 1.0)), contact=contact, motion=drift, name="c")
    return mpm.Simulation(scene, dx=0.125, dtype=dtype, max_dt=0.01, **numerics)


@pytest.mark.parametrize("name", DRIFTS)
def test_poses_follow_their_closed_form(name):
    drift, displacement, angle = DRIFTS[name]
    sim = moving(drift)
    box = Box((-0.7, -0.6), (0.9, 1.0))
    x = np.random.default_rng(11).uniform(-1, 1, (300, 2))
    for end in (0.0, 0.07, 0.31, 0.8):
        sim.run(end - sim.time)
        back = (x - CENTER - displacement(end)) @ turn(angle(end)) + CENTER
        assert np.abs(sim.collider_distance("c", x) - distance(box, back)[0]).max() < 1e-14


@pytest.mark.parametrize("name", DRIFTS)
def test_nodes_within_a_sticky_collider_move_as_it_does(name):
    drift, displacement, angle = DRIFTS[name]
    sim = moving(drift)
    for _ in range(25):
        t = sim.time
        sim.step()
        dt = sim.dt
        V = (displacement(t + dt) - displacement(t)) / dt
        omega = (angle(t + dt) - angle(t)) / dt
        r = sim.grid.x - CENTER - displacement(t)
        expected = V + omega * np.stack([-r[:, 1], r[:, 0]], axis=1)
        assert np.abs(sim.grid.v - expected).max() < 1e-13  # measured 2e-14
    grid = sim.grid
    np.testing.assert_array_equal(grid.v, sim.grid.v)


def test_what_sticks_is_displaced_exactly_across_kinks():
    """Each step moves it by the difference of the poses, whatever the steps are."""
    times, places = [0, 0.0333, 0.05, 0.2], [(0, 0), (0.01, 0), (-0.02, 0.03), (0.05, 0)]
    sim = moving(motion.Keyframes(times, places))
    x = np.array(sim.particles.x)
    sim.run(0.25)
    assert np.abs(np.array(sim.particles.x) - x - (0.05, 0)).max() < 1e-13  # measured 5e-15


def test_rotation_vectors_turn_about_their_axis():
    scene = mpm.Scene((-1, -1, -1), (1, 1, 1))
    scene.add(Ball((0, 0, 0), 0.2), SOFT)
    axis = np.array([1.0, -2.0, 0.5])
    axis /= np.linalg.norm(axis)
    box = Box((-0.5, -0.3, -0.1), (0.6, 0.2, 0.4))
    about = (0.1, 0.2, -0.3)
    keys = motion.Keyframes([0, 1], np.zeros((2, 3)), angles=[(0, 0, 0), 2 * axis])
    scene.add_collider(box, motion=motion.Rotation(2.0, axis=5 * axis, about=about), name="constant")
    scene.add_collider(box, motion=keys, name="keys")
    sim = mpm.Simulation(scene, dx=0.125)
    sim.run(0.35)
    x = np.random.default_rng(12).uniform(-1, 1, (300, 3))
    for name, point in (("constant", about), ("keys", (0.05, -0.05, 0.15))):
        expected = distance(box.rotate(0.7, axis=axis, about=point), x)[0]
        assert np.abs(sim.collider_distance(name, x) - expected).max() < 1e-14
