"""Forces, torques, energies and bits on random meshes: jittered, numbered anyhow, with slivers."""

import itertools

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import mpm
from mpm import fem

M = mpm.materials
LAWS = (
    M.Corotated(E=1e4, nu=0.3, density=1000),
    M.FixedCorotated(E=1e4, nu=0.45, density=1000),
    M.NeoHookean(E=1e4, nu=0.2, density=1000),
    M.SaintVenantKirchhoff(E=1e4, nu=0.0, density=1000),
    M.Hencky(E=1e4, nu=0.3, density=1000),
    M.MooneyRivlin(c10=1500, c01=400, bulk_modulus=9000, density=1000),
)
FLATTEST = 1e-4  # of the volume of a regular cell: a sliver


@st.composite
def random_meshes(draw):
    """A block whose vertices are moved at random, whose cells and vertices are numbered anyhow, some cells missing, and
    whose first cell is a sliver."""
    d = draw(st.sampled_from([2, 3]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    counts = draw(st.lists(st.integers(1, 4 if d == 2 else 2), min_size=d, max_size=d))
    made = fem.mesh(mpm.shapes.Box([0] * d, np.array(counts, dtype=float)), 1.0)
    x, cells = made.vertices.copy(), made.cells
    x += draw(st.floats(0, 0.25)) * rng.uniform(-1, 1, x.shape) / (1 if d == 2 else 2)
    if draw(st.booleans()):  # the apex of a cell moves almost into its base
        shares = rng.dirichlet(np.ones(d))
        base, apex = x[cells[0, :d]], x[cells[0, d]]
        x[cells[0, d]] = apex + (1 - 1e-3) * (shares @ base - apex)
    kept = rng.uniform(0, 1, len(cells)) < draw(st.sampled_from([1.0, 0.7]))
    kept &= fem.meshing.volumes(x, cells) > FLATTEST * (1 / 2 if d == 2 else 1 / 6)
    if not kept.any():
        x, kept = made.vertices.copy(), np.arange(len(cells)) == 0
    cells = rng.permutation(cells[kept])
    used, cells = np.unique(cells, return_inverse=True)
    cells = cells.reshape(-1, d + 1)
    number = rng.permutation(len(used))
    vertices = np.empty((len(used), d))
    vertices[number] = x[used]
    even = np.roll(np.arange(3), int(rng.integers(3)))  # keeps the orientation
    cells = number[cells]
    cells[:, :3] = cells[:, even]
    try:
        return mpm.shapes.Cells(vertices, cells), rng
    except ValueError as error:  # the sliver may reach into a neighbour
        assume("overlap" not in str(error))
        raise


def made(shape, law, **options):
    d = shape.dimension
    scene = mpm.Scene([-20] * d, [20] * d)
    scene.add(shape, law)
    return fem.Simulation(scene, **options)


@settings(max_examples=30, deadline=None)
@given(random_meshes(), st.sampled_from(LAWS), st.floats(0, 0.3))
def test_forces_of_random_meshes(mesh, law, strain):
    """They add up to nothing, turn nothing, and are the slope of the energy along a random direction."""
    shape, rng = mesh
    sim, d = made(shape, law), shape.dimension
    x = shape.vertices @ (np.eye(d) + strain * rng.uniform(-0.5, 0.5, (d, d))).T
    sim.particles.x[:] = x
    f, energy = sim.forces(), sim.totals().elastic
    # A sliver's forces cancel among its own nodes: rounding is that of E A of its face.
    scale = np.abs(f).sum() + 1e4 * 1e-10
    torque = [(x[:, a] * f[:, b] - x[:, b] * f[:, a]).sum() for a, b in itertools.combinations(range(d), 2)]
    assert np.abs(f.sum(axis=0)).max() < 1e-13 * scale  # measured: 2e-16
    assert np.abs(torque).max() < 1e-12 * scale * (1 + np.abs(x).max())  # measured: 1e-15
    way = rng.normal(size=x.shape)
    step = 1e-7
    at = {}
    for sign in (-1, 1):
        sim.particles.x[:] = x + sign * step * way
        at[sign] = sim.totals().elastic
    slope = (at[1] - at[-1]) / (2 * step)
    rounding = 1e-15 * (energy + 1e4 * len(sim.elements)) / step
    assert abs(slope + (f * way).sum()) < 1e-4 * np.abs(f * way).sum() + rounding


@settings(max_examples=5, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(LAWS),
    st.sampled_from(["float64", "float32"]),
    st.sampled_from([2, 3]),
)
def test_no_number_of_threads_changes_a_bit_of_random_meshes(seed, law, dtype, d):
    """Of four tasks, whose elements and nodes come in any order."""
    rng, spacing = np.random.default_rng(seed), 1 / (90 if d == 2 else 15)
    regular = fem.mesh(mpm.shapes.Box([0] * d, [1] * d), spacing)
    x = regular.vertices + 0.15 * spacing * rng.uniform(-1, 1, regular.vertices.shape)
    order = rng.permutation(len(x))
    cells = rng.permutation(np.argsort(order)[regular.cells])
    hashes, shape = set(), mpm.shapes.Cells(x[order], cells)
    v = 0.1 * rng.normal(size=x.shape)
    for threads in (1, 2, 7):
        sim = made(shape, law, threads=threads, dtype=dtype)
        sim.particles.v[:] = v
        sim.step(4)
        hashes.add(sim.state_hash())
    assert len(hashes) == 1 and len(cells) > 3.9 * 4096
