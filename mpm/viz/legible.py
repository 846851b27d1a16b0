"""Text of plots in proportion to their size: legible from 3 x 2 to 12 x 9 inches."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

USUAL = (6.4, 4.8)  # inches: here text has the size that Matplotlib is set to
SMALLEST, LARGEST = 0.62, 1.35
DIGITS = 7  # of a number below an axis, with a gap beside it
EM = 0.65  # width of a digit over the size of the font
BESIDE = 1.0  # inches, at the usual size, that the numbers and label of an axis take


def factor(axes: Any) -> float:
    """Size of text over what Matplotlib is set to, by the room that axes have in their figure."""
    return _factor(*_room(axes))


def of_figure(figure: Any) -> float:
    """The same for what belongs to a whole figure, or a part of one."""
    return _factor(figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi)


def _factor(width: float, height: float) -> float:
    return float(np.clip(min(width / USUAL[0], height / USUAL[1]), SMALLEST, LARGEST))


def _room(axes: Any) -> tuple[float, float]:
    """Width and height [inches] of the cell of a grid that axes belong to, or of the figure."""
    figure = axes.figure
    spec = axes.get_subplotspec()
    width, height = figure.get_size_inches()
    if spec is None:
        box = axes.get_position(original=True)
        return width * max(box.width, 0.1) / 0.8, height * max(box.height, 0.1) / 0.8
    rows, columns = spec.get_gridspec().get_geometry()
    across = len(range(spec.colspan.start, spec.colspan.stop))
    down = len(range(spec.rowspan.start, spec.rowspan.stop))
    return width * across / columns, height * down / rows


def points(size: float, name: str = "font.size") -> float:
    """`size` times what Matplotlib is set to, [pt]."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    return size * float(FontProperties(size=cast(Any, rcParams)[name]).get_size_in_points())


def text(axes: Any, size: float) -> None:
    """Scale the labels of axes and their ticks to `size` times what Matplotlib is set to."""
    for axis, name in ((axes.xaxis, "xtick.labelsize"), (axes.yaxis, "ytick.labelsize")):
        axis.set_tick_params(labelsize=points(size, name))
        axis.label.set_fontsize(points(size, "axes.labelsize"))
        axis.get_offset_text().set_fontsize(points(size, name))


def numbers(axes: Any, size: float) -> None:
    """At most as many ticks below axes as there is room for numbers of `DIGITS`; text has `size`, as in `text`."""
    from matplotlib.ticker import AutoLocator

    locator = axes.xaxis.get_major_locator()
    if isinstance(locator, AutoLocator):
        room = 72 * (_room(axes)[0] - BESIDE * size)
        locator.set_params(nbins=int(np.clip(room / (DIGITS * EM * points(size, "xtick.labelsize")), 2, 9)))


def legend(axes: Any, size: float) -> None:
    """A legend above axes, in as many columns as fit."""
    handles, names = axes.get_legend_handles_labels()
    if len(handles) < 2:
        return
    room = (_room(axes)[0] - BESIDE * size) * axes.figure.dpi
    for columns in range(len(handles), 0, -1):
        made = axes.legend(
            handles,
            names,
            frameon=False,
            ncols=columns,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            borderaxespad=0.2,
            fontsize=points(size),
            handlelength=1.4,
            columnspacing=1.2,
        )
        if made.get_window_extent().width <= room:
            return
