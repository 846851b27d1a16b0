"""Frames of the viewer: positions, colours, lines and the outlines of colliders, as they are sent."""

import numpy as np
import pytest

import mpm
import scenes
from mpm.viewer import frames, outlines
from mpm.viz import color, contours
from viewers import Browser, make, stepped

dims = pytest.mark.parametrize("dim", scenes.DIMS)


@dims
@pytest.mark.parametrize("dtype", scenes.DTYPES)
def test_a_frame_holds_positions_and_colours(dim, dtype):
    sim = stepped(20, dim, dtype=dtype)
    browser = Browser(sim)
    assert [message["type"] for message, _ in browser.sent] == ["state", "colliders", "frame"]
    message, speed = browser.frame, sim.compute("speed")
    n = len(sim.particles)
    assert message["particles"] == n and message["steps"] == 20 and message["time"] == sim.time
    assert browser.part("points").shape == (n, 4)
    level = 1.2 / 65535  # the domain is 1 m long, and a tenth of it is added at both ends
    rounding = 1e-7 if dtype == "float32" else 0
    assert np.abs(browser.positions() - sim.particles.x).max() <= 0.501 * level + rounding
    low, high = message["limits"]
    assert (low, high) == (0, color.round_up(color.span("speed", speed)[1]))
    shown = low + browser.part("points")[:, 3] / 65535 * (high - low)
    assert np.abs(shown - np.clip(speed, low, high)).max() < 1e-5 * high


def test_numbers_that_are_none_and_places_far_away_are_drawn_somewhere():
    sim = make()
    browser = Browser(sim)
    sim.particles.x[0] = np.nan
    sim.particles.x[1] = 1e300, -1e300
    sim.particles.v[2] = np.nan
    assert not browser.ask("ready")
    assert browser.part("points")[:2, :2].tolist() == [[0, 0], [65535, 0]]
    assert browser.part("points")[2, 3] == 0
    assert browser.ask("step")[0].startswith("SimulationError: ")  # the run refuses what was written


def test_without_particles_there_is_an_empty_frame():
    sim = make()
    browser = Browser(sim)
    sim.particles.delete(np.ones(len(sim.particles), bool))
    assert not browser.ask("ready") and browser.frame["particles"] == 0
    assert not browser.ask("color", name="pressure") and browser.frame["particles"] == 0
    assert not browser.ask("show", what="particles", on=True)


# Of what has no sign the scale ends with the next 1, 1.5, 2, 3, 5 or 7.
ROUND = {
    2: {"speed": 2, "von_mises": 3, "kinetic_energy": 2e-3, "elastic_energy": 5e-4},
    3: {"speed": 2, "von_mises": 3, "kinetic_energy": 1e-4, "elastic_energy": 1e-5},
}
FAR = {
    2: ("pressure",),
    3: ("mass", "volume"),
}  # of a few particles they are far off: the scale leaves these out


@dims
def test_every_colour_is_shown_with_the_scale_of_its_values(dim):
    sim = stepped(3, dim)
    browser = Browser(sim)
    names = [name for name, _ in browser.state["colors"]]
    assert {"speed", "pressure", "von_mises", "J", "material"} <= set(names) and "stress" not in names
    for name in names:
        assert not browser.ask("color", name=name)
        browser.draw()
        values = np.asarray(sim.particles[name] if name in sim.particles.fields else sim.compute(name))
        least, most = float(values.min()), float(values.max())
        if name in ROUND[dim]:
            assert (values <= ROUND[dim][name]).mean() > 0.995
            least, most = 0, ROUND[dim][name]
        elif name in FAR[dim]:
            most = float(np.percentile(values, 99.5, method="lower"))
            assert most < values.max()
        elif least == most:
            least, most = 0.5 * least, 1.5 * most
        assert browser.state["color"] == name
        assert browser.frame["limits"] == pytest.approx((least, most), rel=1e-14, abs=0), name
    assert dict(browser.state["colors"])["pressure"] == "pressure [Pa]"
    assert browser.state["stops"] == color.STOPS


def test_the_colour_scale_grows_and_never_shrinks():
    sim = make()
    browser = Browser(sim)
    for speed, top in ((2.4, 3), (6.0, 7), (1.2, 7)):
        sim.particles.v = np.tile([speed, 0.0], (len(sim.particles), 1))
        assert not browser.ask("ready")
        assert browser.frame["limits"] == (0, top)
    # At rest 1 kg/m^3: one value is the middle of its scale.
    assert not browser.ask("color", name="law_density")
    browser.draw()
    fluid = sim.particles.material == 2
    for stretch, limits in ((1.0, (0.5, 1.5)), (0.5, (0.5, 3)), (2.0, (0.25, 3)), (1.0, (0.25, 3))):
        sim.particles.F[~fluid, 0, 0] = stretch
        sim.particles.J[fluid] = stretch
        assert not browser.ask("ready")
        assert browser.frame["limits"] == limits


@dims
def test_velocities_are_lines_from_particles_and_from_nodes(dim):
    sim = stepped(20, dim)
    browser = Browser(sim)
    for what in ("particles", "grid"):
        assert not browser.ask("show", what=what, on=True)
        browser.draw()
    tips = {"particles": (sim.particles.x, sim.particles.v), "grid": (sim.grid.x, sim.grid.v)}
    drawn = {name: browser.positions(name).reshape(-1, 2, dim) for name in tips}
    fastest = max(float(np.linalg.norm(v, axis=1).max()) for _, v in tips.values())
    longest = 0.0
    for name, (x, v) in tips.items():
        starts, ends = drawn[name][:, 0], drawn[name][:, 1]
        assert np.abs(starts - x).max() < 2e-5
        ways = ends - starts
        assert np.abs(ways - v * (frames.LONGEST_LINE / color.round_up(fastest))).max() < 4e-5
        longest = max(longest, np.linalg.norm(ways, axis=1).max())
    assert 0.5 * frames.LONGEST_LINE < longest < 1.001 * frames.LONGEST_LINE
    assert not browser.ask("show", what="grid", on=False)
    browser.draw()
    assert dict(browser.frame["parts"]).keys() == {"points", "particles"}


def test_there_are_never_more_lines_than_can_be_seen():
    x = np.random.default_rng(0).random((frames.LINES_MAX * 5 // 2, 3))
    starts, v = frames.thinned(x, x)
    assert frames.LINES_MAX / 2 < len(starts) <= frames.LINES_MAX and starts is not x
    assert (starts[1] == x[3]).all() and (v == starts).all()


def with_a_ball(dim, **motion):
    scene = mpm.Scene([0] * dim, [2] + [1] * (dim - 1))
    scene.add(mpm.shapes.Box([0.1] * dim, [0.3] * dim), scenes.MATERIALS["fluid"])
    scene.add_collider(mpm.shapes.Ball([1.2] + [0.5] * (dim - 1), 0.3), **motion)
    return mpm.Simulation(scene, dx=1 / 16)


def lines_along(sim):
    return outlines.of(sim._posed(), sim.scene.lower, sim.scene.upper)


def test_colliders_are_outlined():
    sim = with_a_ball(2, motion=mpm.motion.Linear((0, 0.2)))
    found = lines_along(sim)
    starts, ends = found.starts, found.ends
    # Measured: 2e-4 m from the circle, whose length is met to 4e-4, on a lattice of 0.0125 m.
    assert np.abs(np.linalg.norm(starts - (1.2, 0.5), axis=1) - 0.3).max() < 5e-4
    assert np.linalg.norm(ends - starts, axis=1).sum() == pytest.approx(2 * np.pi * 0.3, rel=1e-3)
    browser = Browser(sim)
    assert np.abs(browser.colliders("lines")[:, 0] - starts).max() < 5e-5
    # Filled, and each place once. Measured: 3e-4.
    (a, b), c = np.moveaxis(found.corners.reshape(-1, 3, 2)[:, 1:], 1, 0), found.corners[::3]
    areas = np.cross(np.pad(a - c, ((0, 0), (0, 1))), np.pad(b - c, ((0, 0), (0, 1))))[:, 2] / 2
    assert np.abs(areas).sum() == pytest.approx(np.pi * 0.3**2, rel=1e-3)
    assert np.linalg.norm(found.corners - (1.2, 0.5), axis=1).max() < 0.3 + 1e-12
    sim.run(0.5)
    browser.ask("step")
    browser.draw()
    assert browser.colliders("lines")[..., 1].mean() == pytest.approx(0.5 + 0.2 * sim.time, abs=0.005)


def test_colliders_in_space_are_surfaces():
    sim = with_a_ball(3)
    found = lines_along(sim)
    assert len(found.starts) == 0
    # The lattice is 0.031 m wide. Measured: 2e-4 m from the sphere, 4e-4 of its area, 0.01 of its normals.
    away = found.corners - (1.2, 0.5, 0.5)
    assert np.abs(np.linalg.norm(away, axis=1) - 0.3).max() < 1e-3
    assert np.abs(found.normals - away / 0.3).max() < 0.05
    assert area(found) == pytest.approx(4 * np.pi * 0.3**2, rel=2e-3)
    browser = Browser(sim)
    assert np.abs(browser.colliders().reshape(-1, 3) - found.corners).max() < 5e-5
    assert len(lines_along(make(3)).corners) == 0
    codes = frames.faces(browser.session._box, found.corners, found.normals)[:, 3].astype(int)
    x, y = codes // 256 / 127.5 - 1, codes % 256 / 127.5 - 1  # as the script unfolds them
    below = abs(x) + abs(y) > 1
    folded = np.array([np.where(below, (1 - abs(v)) * np.sign(u), u) for u, v in ((x, y), (y, x))])
    normals = np.array([*folded, 1 - abs(x) - abs(y)]).T
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    assert (normals * found.normals).sum(axis=1).min() > 0.999


def test_surfaces_have_sharp_edges_and_end_at_the_domain():
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add(mpm.shapes.Box((0.1, 0.1, 0.5), (0.3, 0.3, 0.7)), scenes.MATERIALS["fluid"])
    scene.add_collider(mpm.shapes.Box((0.41, 0.43, 0.42), (0.83, 0.81, 0.79)))
    box = area(lines_along(mpm.Simulation(scene, dx=1 / 16)))
    assert box == pytest.approx(2 * (0.42 * 0.38 + 0.42 * 0.37 + 0.38 * 0.37), rel=0.01)  # measured: 7e-3
    scene.add_collider(mpm.shapes.HalfSpace((0, 0, 0.2), (0, 0, 1)))
    found = lines_along(mpm.Simulation(scene, dx=1 / 16))
    assert 1 <= area(found) - box <= (1 + 2 / 64) ** 2
    assert found.corners.min() > -1 / 64 and found.corners.max() < 1 + 1 / 64


def area(found):
    corners = found.corners.reshape(-1, 3, 3)
    return (
        np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum()
        / 2
    )


@dims
@pytest.mark.parametrize("moving", [False, True])
def test_colliders_are_sent_once_for_every_place(dim, moving, tmp_path):
    pytest.importorskip("h5py")
    motion = {"motion": mpm.motion.Linear([0.2] + [0] * (dim - 1))} if moving else {}
    sim = with_a_ball(dim, **motion)
    browser = Browser(sim)

    def sent():
        return sum(message["type"] == "colliders" for message, _ in browser.sent)

    assert sent() == 1
    browser.ask("record", path=str(tmp_path / "a.vtkhdf"), fps=1e6)
    for steps in range(1, 4):
        browser.ask("step")
        browser.draw()
        assert sent() == (1 + steps if moving else 1)
    live = browser.colliders()
    browser.ask("color", name="material")
    browser.draw()
    assert sent() == (4 if moving else 1)
    browser.ask("stop")
    browser.ask("load", path=str(tmp_path / "a.vtkhdf"))
    browser.draw()
    assert np.array_equal(browser.colliders(), live) is not moving  # a replay begins at its first frame
    browser.ask("seek", index=3)
    browser.draw()
    assert np.array_equal(browser.colliders(), live) and len(live)
    before = sent()
    browser.ask("ready")  # another page
    assert sent() == before + 1
    types = [message["type"] for message, _ in browser.sent[-3:]]
    assert types == ["state", "colliders", "frame"]


def test_a_line_of_zeros_has_two_ends_in_every_triangle_that_it_cuts():
    x = np.stack(np.meshgrid(np.arange(3.0), np.arange(2.0), indexing="ij"), axis=-1)
    starts, ends = contours.zero_line(x, x[..., 0] - 0.25)
    assert (starts[:, 0] == 0.25).all() and (ends[:, 0] == 0.25).all()
    assert np.abs(ends - starts)[:, 1].sum() == 1
    assert len(contours.zero_line(x, x[..., 0] + 1)[0]) == 0
