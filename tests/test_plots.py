"""Plots: histories, quantities along lines and in slices, one parameter with several values."""

import re
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import mpm
from mpm import materials, shapes
from mpm.viz import color, sampled

SOLID = materials.FixedCorotated(E=2e4, nu=0.3, density=1000)
SIZES = [(3, 2), (6.4, 4.8), (12, 9)]


def make(dim=2, **options):
    """A block with the velocity (1 + x + 2 y, 0, …), and a collider beside it."""
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0, -9.81, 0][:dim])
    scene.add(
        shapes.Box([0.25] * dim, [0.75] * dim),
        SOLID,
        velocity=lambda x: (1 + x @ np.arange(1, dim + 1))[:, None] * np.eye(dim)[0],
    )
    scene.add_collider(shapes.Ball([0.9] * dim, 0.15), name="ball")
    return mpm.Simulation(scene, dx=0.0625, threads=1, **options)


# --- histories ---------------------------------------------------------------------------------------------------


def test_a_history_is_drawn_by_components_and_by_units(tmp_path):
    sim = make()
    with sim.record(tmp_path / "run.vtkhdf", fps=1000):
        sim.step(5)
    lines = mpm.plot.history(sim, ["momentum", "kinetic", "impulse:ball_y"])
    assert isinstance(lines, tuple) and lines.figure is lines[0].figure
    drawn = [sim.history["momentum"][:, 0], sim.history["momentum"][:, 1], sim.history["kinetic"]]
    for line, values in zip(lines, [*drawn, sim.history["impulse:ball"][:, 1]], strict=True):
        assert np.array_equal(line.get_ydata(), values)
        assert np.array_equal(line.get_xdata(), sim.history["time"])
    assert [line.axes.get_ylabel() for line in lines] == [
        *2 * ["momentum [kg/s]"],
        "kinetic [J/m]",
        "impulse:ball y [N s/m]",
    ]
    assert mpm.plot.history(sim.history, "dt")[0].axes.get_ylabel() == "dt [s]"
    with mpm.replay(tmp_path / "run.vtkhdf") as frames:
        assert np.array_equal(mpm.plot.history(frames, "kinetic")[0].get_ydata(), frames.totals["kinetic"])
    ax = plt.figure().add_subplot()
    with pytest.raises(ValueError, match="one unit"):
        mpm.plot.history(sim, ["momentum", "kinetic"], ax=ax)
    with pytest.raises(ValueError, match="columns = 'kinetik'"):
        mpm.plot.history(sim, "kinetik")
    with pytest.raises(TypeError, match="source"):
        mpm.plot.history(3)
    assert not ax.lines and dir(mpm.plot) == ["field", "history"]


@pytest.mark.parametrize("dim", [2, 3])
def test_histories_of_several_runs_are_told_apart(dim):
    runs = {"apic": make(dim), "pic": make(dim, transfer="pic")}
    for sim in runs.values():
        sim.step(3)
    lines = mpm.plot.history(runs, ["kinetic", "elastic", "dt"])
    for place, (name, sim) in enumerate(runs.items()):
        kinetic, elastic, dt = lines[3 * place : 3 * place + 3]
        assert np.array_equal(elastic.get_ydata(), sim.history["elastic"])
        assert [kinetic.get_label(), elastic.get_label(), dt.get_label()] == [
            f"{name}: kinetic",
            f"{name}: elastic",
            name,
        ]
        assert (
            kinetic.get_color() == elastic.get_color() and kinetic.get_linestyle() != elastic.get_linestyle()
        )
    assert (
        lines[0].get_color() != lines[3].get_color() and lines[0].axes is lines[3].axes is not lines[2].axes
    )
    assert [text.get_text() for text in lines[2].axes.get_legend().get_texts()] == list(runs)


def test_runs_that_cannot_share_axes_are_refused():
    with pytest.raises(ValueError, match="at least one run"):
        mpm.plot.history({})
    with pytest.raises(ValueError, match="of one dimension"):
        mpm.plot.history({"plane": make(2), "space": make(3)})
    with pytest.raises(TypeError, match="source"):
        mpm.plot.history({"a": 3})


# --- lines and slices --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dim", "at"), [(2, (1,)), (3, (0,)), (3, (0, 2))])
def test_what_is_linear_in_space_is_found_exactly_up_to_the_surface(dim, at):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.2, 0.8, (6000 if dim == 2 else 20000, dim))
    volume = 0.6**dim / len(x) * rng.uniform(0.5, 1.5, len(x))
    slope = np.array([3.0, -2.0, 5.0])[:dim]
    axes = {axis: np.linspace(0, 1, 61) for axis in range(dim) if axis not in at}
    width = 0.06
    found = sampled.on_lattice(x, volume, x @ slope + 7, at=dict.fromkeys(at, 0.47), axes=axes, width=width)
    points = np.stack(np.meshgrid(*axes.values(), indexing="ij"), axis=-1)
    exact = 7 + 0.47 * slope[list(at)].sum() + points @ slope[list(axes)]
    there = np.isfinite(found)
    assert np.abs(found - exact)[there].max() < 1e-11  # measured 3e-13
    # To the surface and not beyond: half of the surroundings are filled there, up to the noise of random particles.
    depth = np.minimum(points - 0.2, 0.8 - points).min(axis=-1)
    assert there[depth > width].all() and not there[depth < -width].any()


def test_particles_in_a_row_have_no_slope_across_it():
    x = np.stack([np.linspace(0.1, 0.9, 81), np.full(81, 0.5)], axis=1)
    found = sampled.on_lattice(
        x, np.full(81, 4e-4), 2 * x[:, 0], at={1: 0.5}, axes={0: np.linspace(0, 1, 11)}, width=0.02
    )
    assert np.allclose(found[2:9], 2 * np.linspace(0.2, 0.8, 7), atol=1e-12)


def test_a_field_along_a_line_and_in_a_slice():
    sim = make(2)
    line = mpm.plot.field(sim, "speed", x=0.5)
    y, speed = line.get_data()
    inside = (y > 0.26) & (y < 0.74)
    assert np.abs(speed - (1.5 + 2 * y))[inside].max() < 1e-12  # measured 2e-15
    assert np.isnan(speed[(y < 0.2) | (y > 0.8)]).all()
    assert line.axes.get_xlabel() == "y [m]" and line.axes.get_ylabel() == "speed [m/s]"
    space = make(3)
    image = mpm.plot.field(space, "speed", z=0.4, limits=(1, 5))
    assert image.get_clim() == (1, 5) and image.colorbar.ax.get_ylabel() == "speed [m/s]"
    shown = image.get_array()
    n = shown.shape[0]
    middle = np.linspace(0, 1, n)[n // 2]
    assert shown[n // 2, n // 2] == pytest.approx(1 + 3 * middle + 3 * 0.4, abs=1e-9)
    assert shown.mask[0].all() and not shown.mask[n // 2, n // 2]
    mpm.plot.field(space, "pressure", x=0.5, z=0.5)
    for simulation, places, message in (
        (sim, {}, "x or y for a line"),
        (sim, {"x": 0.5, "y": 0.5}, "x or y for a line"),
        (sim, {"z": 0.5}, "z = 0.5: must not be given"),
        (sim, {"x": 1.5}, "x = 1.5 m: must be >= 0.0 and <= 1.0|x = 1.5"),
        (space, {"x": 0, "y": 0, "z": 0}, "one of x, y, z for a slice"),
    ):
        with pytest.raises(ValueError, match=message):
            mpm.plot.field(simulation, "speed", **places)


# --- one parameter, several values -------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [2, 3])
def test_values_of_a_parameter_are_compared_side_by_side(dim):
    sim = make(dim)
    before = sim.state_hash()
    found = mpm.compare_plot(sim, "E", [1e4, 1e5], times=(0, 0.002))
    assert sim.state_hash() == before
    assert found.axes.shape == (2, 2) and [run.materials[0].E for run in found.runs] == [1e4, 1e5]
    assert [run.time for run in found.runs] == [0.002, 0.002]
    alone = make(dim)
    alone.run(0.002)
    again = mpm.compare_plot(sim, "material 0 E", [SOLID.E], times=0.002).runs[0]
    assert again.state_hash() == alone.state_hash()
    if dim == 2:  # one scale for all, and the pictures of their times
        limits = {one.collections[0].get_clim() for one in found.axes.ravel()}
        assert len(limits) == 1 and limits.pop()[1] >= sim.compute("speed").max()
        assert np.array_equal(found.axes[0, 0].collections[0].get_offsets(), sim.particles.x)


def test_a_function_may_make_what_is_compared():
    found = mpm.compare_plot(lambda name: make(transfer=name), "transfer", ["pic", "apic"], times=0.001)
    assert [one.get_title() for one in found.axes[0]] == ["transfer = pic", "transfer = apic"]


@pytest.mark.parametrize(("width", "stacked"), [(2, False), (8, True)])
def test_a_comparison_of_wide_domains_has_one_column(width, stacked):
    scene = mpm.Scene((0, 0), (width, 1))
    scene.add(shapes.Box((0, 0), (0.5, 1)), SOLID)
    sim = mpm.Simulation(scene, dx=0.25)
    found = mpm.compare_plot([sim, sim, sim], color="speed")
    assert found.axes.shape == (1, 3)
    found.figure.draw_without_rendering()
    boxes = [one.get_position() for one in found.axes[0]]
    assert (len({round(box.x0, 6) for box in boxes}) == 1) == stacked
    if stacked:
        assert boxes[0].y0 > boxes[1].y1 and boxes[1].y0 > boxes[2].y1
        assert boxes[0].width > 0.75  # measured: 0.85; side by side: 0.28


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameter": "hardness"}, "parameter = 'hardness'"),
        ({"values": []}, "make 0 pictures"),
        ({"values": [1e4, -1]}, "E = -1"),
        ({"times": (0.2, 0.1)}, "must ascend"),
        ({"color": "stress"}, "color"),
        ({"figsize": (3, 2), "figure": Figure()}, "figsize = .3, 2.: must not be given with figure"),
    ],
)
def test_a_comparison_is_refused_before_it_runs(change, message, monkeypatch):
    monkeypatch.setattr(mpm.Simulation, "run", lambda *_: pytest.fail("it ran"))
    given = {"parameter": "E", "values": [1e4], "times": 0.1, **change}
    with pytest.raises(ValueError, match=message):
        mpm.compare_plot(make(), **given)


# --- size -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["plot", "frame", "history", "energies", "field", "point"])
def test_a_new_figure_has_the_size_that_is_asked_for(what, tmp_path):
    sim = make(2)
    with sim.record(tmp_path / "a.vtkhdf", fps=1e6):
        sim.step(2)

    def energies(**options):
        return mpm.viz.plot_history(sim.history, **options)[0]

    draw = {
        "plot": lambda **options: sim.plot(**options).particles,
        "frame": lambda **options: mpm.replay(tmp_path / "a.vtkhdf").plot(-1, **options).particles,
        "history": lambda **options: mpm.plot.history(sim, ["dt", "kinetic"], **options)[0],
        "energies": energies,
        "field": lambda **options: mpm.plot.field(sim, "speed", y=0.5, **options),
        "point": mpm.point.oedometer(SOLID, axial_strain=0.01, steps=2).plot,
    }[what]
    figure = draw(figsize=(5, 3)).figure
    assert figure.get_size_inches().tolist() == [5, 3]
    with pytest.raises(ValueError, match=r"figsize = \(5, 3\): must not be given with ax"):
        draw(figsize=(5, 3), ax=Figure().add_subplot())
    for wrong, error in (((0, 3), ValueError), (5, TypeError)):
        with pytest.raises(error, match="figsize"):
            draw(figsize=wrong)


def test_a_small_figure_has_small_text():
    sim = make(2)
    large, small = (
        sim.plot(figsize=size, color="J").colorbar.yaxis.label for size in ((6.4, 4.8), (3.2, 2.4))
    )
    assert small.get_fontsize() < 0.7 * large.get_fontsize()


# --- legible -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["plot", "slice"])
def test_text_has_its_size_in_axes_that_a_colour_bar_divides(what):
    """Without a layout engine a colour bar moves the axes into a part of their cell of the figure."""
    sim = make(3 if what == "slice" else 2)
    sizes = []
    for layout in (None, "constrained"):
        figure = Figure(layout=layout)
        axes = figure.add_subplot()
        sim.plot(ax=axes) if what == "plot" else mpm.plot.field(sim, "speed", y=0.5, ax=axes)
        figure.canvas.draw()
        sizes.append([one.xaxis.label.get_fontsize() for one in figure.axes])
        sizes[-1] += [one.get_yticklabels()[0].get_fontsize() for one in figure.axes]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("what", ["plot", "history", "field", "slice", "compare"])
def test_text_is_within_the_figure_and_apart(size, what):
    sim = make(3 if what == "slice" else 2)
    sim.step(3)
    figure = Figure(figsize=size, layout="constrained")
    if what == "compare":
        figure = mpm.compare_plot(
            sim, "density", [500.0, 1000.0, 2000.0], times=(0.0, 0.001), figsize=size
        ).figure
    else:
        draw = {"plot": sim.plot, "history": lambda ax: mpm.plot.history(sim, ax=ax)}
        draw |= {"field": lambda ax: mpm.plot.field(sim, "speed", y=0.5, ax=ax)}
        draw |= {"slice": lambda ax: mpm.plot.field(sim, "speed", y=0.5, ax=ax)}
        draw[what](ax=figure.subplots())
    figure.canvas.draw_idle()
    figure.draw_without_rendering()
    whole = figure.bbox.padded(1)
    for axes in figure.axes:
        box = axes.get_window_extent()
        assert box.width > 0.2 * figure.bbox.width / 3 or box.height > 0.2 * figure.bbox.height
        texts = [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
        legend = axes.get_legend()
        boxes = [text.get_window_extent() for text in texts if text.get_text()]
        boxes += [legend.get_window_extent()] if legend is not None else []
        assert all(
            whole.x0 <= b.x0 and b.x1 <= whole.x1 and whole.y0 <= b.y0 and b.y1 <= whole.y1 for b in boxes
        )
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [
                tick.label1.get_window_extent()
                for tick in axis.get_major_ticks()
                if low <= tick.get_loc() <= high and tick.label1.get_text() and tick.label1.get_visible()
            ]
            assert not any(a.overlaps(b) for a, b in pairwise(ticks))
    assert all(text.get_fontsize() >= 6 for text in figure.findobj(lambda t: hasattr(t, "get_fontsize")))


@pytest.mark.parametrize("dim", [2, 3])
def test_what_is_at_rest_has_no_pattern_of_rounding(dim):
    scene = mpm.Scene((0,) * dim, (1,) * dim, gravity=(0,) * (dim - 1) + (-10.0,))
    scene.add(shapes.Box((0.2,) * dim, (0.4,) * dim), mpm.materials.FixedCorotated(E=1e5, nu=0.3, density=1))
    sim = mpm.Simulation(scene, dx=0.1, threads=1)
    n = len(sim.particles)
    renderer = mpm.viz.Renderer(sim, size=(96, 96), color="speed")
    sim.particles.v[:, 0] = np.linspace(1e-9, 9e-7, n)  # sqrt(10) x 1e-6 m/s are noise
    still = sim.plot(color="speed")
    assert renderer.scale.take(sim.compute("speed")) == (0, 1) and still.colorbar.get_ylim() == (0, 1)
    assert color.span(
        "kinetic_energy", sim.compute("kinetic_energy"), color.noise(sim, "kinetic_energy")
    ) == (0, 1)
    sim.particles.v[:, 0] = np.linspace(0, 0.02, n)
    assert renderer.scale.take(sim.compute("speed")) == (0, 0.02)  # not the scale of zeros
    sim.particles.v[:] = 0
    assert renderer.scale.take(sim.compute("speed")) == (0, 0.02)
    creeping = mpm.Scene((0,) * dim, (1,) * dim)
    creeping.add(
        shapes.Box((0.2,) * dim, (0.4,) * dim), mpm.materials.Snow(), velocity=(1e-9,) + (0,) * (dim - 1)
    )
    assert color.noise(mpm.Simulation(creeping, dx=0.1), "speed") == 0


def test_the_corners_of_a_rigid_body_do_not_outweigh_particles():
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add(mpm.shapes.Box((0.1, 0.1, 0.1), (0.4, 0.4, 0.4)), mpm.materials.Snow(), velocity=(3, 0, 0))
    scene.add(
        mpm.shapes.Ball((0.7, 0.7, 0.7), 0.15), mpm.materials.Rigid(density=1000), velocity=(1e-3, 0, 0)
    )
    sim = mpm.Simulation(scene, dx=0.1, threads=1)
    renderer = mpm.viz.Renderer(sim, size=(96, 96), color="speed")
    renderer.frame(sim)
    assert renderer.scale.limits == (0, 3)
    renderer.frame(sim)


def test_a_notebook_shows_pictures_and_one_short_line():
    sim = make()
    compared = mpm.compare_plot([sim, sim])
    assert compared._repr_png_().startswith(b"\x89PNG")
    assert mpm.compare_plot([sim], figure=plt.figure())._repr_png_() is None  # pyplot shows it
    for drawn in (sim.plot(), mpm.plot.history(sim), compared):
        assert re.fullmatch(r"<[^<>\n]{1,60}\.figure\.savefig\(\"a\.png\"\) saves it>", repr(drawn))
    assert repr(compared).startswith("<Comparison of 2 runs in a figure of 7 x 3.5 inches;")
