"""Particles as shaded discs, without Matplotlib: a frame of 10^5 particles takes well below 0.15 s.

Every particle is written to one pixel of a buffer of keys, nearest last. A key is nearness and (empty) offset,
packed in that order into an integer; so the largest key among the pixels around decides what is seen at a
pixel, and its offset tells in which pixel the particle is. Discs bulge like a paraboloid, and the maximum over a
paraboloid separates into lines along rows, then along columns: 4 r passes over the image for discs of radius r,
whatever the number of particles.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mpm.viz.color import TABLE

# Key: nearness in bits 12..30, offset in bits 0..11. Half as many bytes as 64 bits are passed over twice as fast.
NEAR_SHIFT = 12
NEAR_LEVELS = 1 << 18
OFFSET_MASK = (1 << NEAR_SHIFT) - 1
EMPTY = np.int32(-(1 << 30))
STAMP_CHUNK = 1 << 18
RADIUS_MAX = 31  # (2 r + 1)^2 offsets have to fit into their bits

# Colours by brightness (row 0: none) and by value.
SHADES, BRIGHTEST = 64, 1.08
PALETTE = np.minimum(np.linspace(0, BRIGHTEST, SHADES)[:, None, None] * TABLE, 255).astype(np.uint8)
# The same as whole numbers, which are looked up faster than three bytes each.
PACKED = np.pad(PALETTE, ((0, 0), (0, 0), (0, 1))).reshape(-1, 4).view(np.uint32)[:, 0]

LIGHT = np.array([-0.42, 0.72, 0.55])


class Splats(NamedTuple):
    """What is seen in a window of the image."""

    top: int
    left: int
    particle: npt.NDArray[np.int32]  # (rows, columns): number of the particle
    shade: npt.NDArray[np.uint8]  # (rows, columns): brightness as a row of `PALETTE`, 0 where nothing is seen

    def paint(self, image: npt.NDArray[np.uint8], values: npt.NDArray[np.uint8]) -> None:
        """Colour the window of an image with the values of particles, which are columns of `PALETTE`."""
        ink = PACKED[self.shade.astype(np.int32) * PALETTE.shape[1] + values[self.particle]]
        rgb = ink.view(np.uint8).reshape(*ink.shape, 4)[..., :3]
        np.copyto(image, rgb, where=(self.shade > 0)[..., None])


def splat(
    column: npt.NDArray[Any],
    row: npt.NDArray[Any],
    near: npt.NDArray[Any] | None,
    *,
    radius: float,
    depth_per_pixel: float,
    size: tuple[int, int],
) -> Splats | None:
    """Draw discs.

    Parameters
    ----------
    column, row : ndarray, shape (n,)
        Centres in pixels.
    near : ndarray, shape (n,), or None
        Nearness to the camera; None draws flat discs.
    radius : float
        In pixels.
    depth_per_pixel : float
        Nearness that is as long as a pixel is wide.
    size : (width, height)

    Returns
    -------
    Splats or None
        None where no particle is in the image.
    """
    radius = min(max(radius, 1.0), float(RADIUS_MAX))
    r = int(np.ceil(radius))
    width, height = size
    c, w = np.rint(column).astype(np.int32), np.rint(row).astype(np.int32)
    inside = np.flatnonzero((c >= 0) & (c < width) & (w >= 0) & (w < height))
    if not len(inside):
        return None
    c, w = c[inside], w[inside]
    # A window that holds whole discs; what sticks out of the image is cut off at the end.
    left, top = int(c.min()) - r, int(w.min()) - r
    shape = (int(w.max()) + r + 1 - top, int(c.max()) + r + 1 - left)
    levels, per_pixel = _levels(np.zeros(len(inside)) if near is None else near[inside], depth_per_pixel)
    place = (w - top).astype(np.int64) * shape[1] + (c - left)
    # Nearest last: where several particles fall on one pixel, the last one written stays.
    # Sixteen bits: NumPy sorts them by radix.
    order = np.argsort((levels - NEAR_LEVELS >> 2).astype(np.uint16), kind="stable")
    place, key = place[order], levels[order] << NEAR_SHIFT
    owner = np.zeros(shape, dtype=np.int32)
    owner.reshape(-1)[place] = inside[order]
    # A paraboloid that falls as far as a sphere does at its rim.
    drop = per_pixel / radius
    # Few large discs are cheaper one by one; the factors are measured.
    one_by_one = len(c) * radius**2 * 4 < shape[0] * shape[1] * r
    image = (_stamp if one_by_one else _spread)(key, place, shape, r, radius, drop)
    window = (slice(max(-top, 0), height - top), slice(max(-left, 0), width - left))
    image = image[window]
    offset = image & OFFSET_MASK
    shade = shading(r, radius, flat=near is None)[offset]
    shade[image < 0] = 0
    here = np.arange(owner.size, dtype=np.int32).reshape(shape)[window]
    particle = owner.reshape(-1)[np.where(image < 0, 0, here - _steps(r, shape[1])[offset])]
    return Splats(max(top, 0), max(left, 0), particle, shade)


def _steps(r: int, columns: int) -> npt.NDArray[np.int32]:
    """From a disc's centre to a pixel of it, by offset number, in an image of so many columns."""
    down, across = np.mgrid[-r : r + 1, -r : r + 1]
    steps = np.zeros(OFFSET_MASK + 1, dtype=np.int32)
    steps[: down.size] = (down * columns + across).reshape(-1)
    return steps


def _levels(near: npt.NDArray[Any], depth_per_pixel: float) -> tuple[npt.NDArray[np.int32], float]:
    """Nearness in whole levels, and how many of them are as long as a pixel is wide."""
    low, high = float(near.min()), float(near.max())
    # Room below for the fall of a disc's rim; the particles' own depth takes the upper half.
    per_unit = (NEAR_LEVELS / 2) / max(high - low, 64 * depth_per_pixel)
    levels = ((near - low) * per_unit).astype(np.int32) + np.int32(NEAR_LEVELS)
    return levels, per_unit * depth_per_pixel


def _stamp(
    key: npt.NDArray[np.int32],
    place: npt.NDArray[np.int64],
    shape: tuple[int, int],
    r: int,
    radius: float,
    drop: float,
) -> npt.NDArray[np.int32]:
    """The largest key at every pixel, disc by disc."""
    down, across = np.mgrid[-r : r + 1, -r : r + 1]
    square = down**2 + across**2
    inside = square <= radius**2
    fall = (drop * square[inside]).astype(np.int32) << NEAR_SHIFT
    number = np.arange((2 * r + 1) ** 2, dtype=np.int32).reshape(square.shape)[inside] - fall
    step = (down * shape[1] + across)[inside]
    result = np.full(shape, EMPTY)
    chunk = max(1, STAMP_CHUNK // len(step))
    for k in range(0, len(key), chunk):
        at = place[k : k + chunk, None] + step
        np.maximum.at(result.reshape(-1), at.reshape(-1), (key[k : k + chunk, None] + number).reshape(-1))
    return result


def _spread(
    key: npt.NDArray[np.int32],
    place: npt.NDArray[np.int64],
    shape: tuple[int, int],
    r: int,
    radius: float,
    drop: float,
) -> npt.NDArray[np.int32]:
    """The same by passes over the image, whatever the number of particles; the nearest come last."""
    image = np.full(shape, EMPTY)
    image.reshape(-1)[place] = key
    return _bulge(image, r, radius, drop)


def _bulge(image: npt.NDArray[np.int32], r: int, radius: float, drop: float) -> npt.NDArray[np.int32]:
    """The largest of key + bulge over the disc around every pixel, with the offset's number in the key.

    A disc is a stack of lines, the longest in the middle. The lines' maxima grow from the shortest to the
    longest, so that each takes two more passes only.
    """
    width = 2 * r + 1
    line = image + np.int32(r)
    result = np.full_like(image, EMPTY)
    scratch = np.empty_like(image)
    half = 0
    for down in range(r, -1, -1):
        if down > radius:
            continue
        while (half + 1) ** 2 + down**2 <= radius**2:
            half += 1
            for offset in (half, -half):
                _raise(line.T, image.T, offset, r + offset, drop * half * half, scratch.T)
        for offset in (down, -down) if down else (0,):
            _raise(result, line, offset, width * (r + offset), drop * down * down, scratch)
    return result


def _raise(
    target: npt.NDArray[np.int32],
    source: npt.NDArray[np.int32],
    offset: int,
    number: int,
    fall: float,
    scratch: npt.NDArray[np.int32],
) -> None:
    """target[i + offset] = max of itself and source[i], the offset's number added and lowered by fall."""
    n = len(target)
    if abs(offset) >= n:
        return
    to = slice(max(offset, 0), n + min(offset, 0))
    of = slice(max(-offset, 0), n + min(-offset, 0))
    np.add(source[of], np.int32(number - (int(fall) << NEAR_SHIFT)), out=scratch[to])
    np.maximum(target[to], scratch[to], out=target[to])


def shading(r: int, radius: float, *, flat: bool) -> npt.NDArray[np.uint8]:
    """Brightness of a disc by offset number, as a row of `PALETTE`."""
    offset = np.arange(-r, r + 1, dtype=float)
    x, down = offset[None, :] / radius, offset[:, None] / radius
    square = x * x + down * down
    z = np.sqrt(np.clip(1 - square, 0, 1))
    light = LIGHT / np.linalg.norm(LIGHT)
    facing = np.clip(light[0] * x - light[1] * down + light[2] * z, 0, 1)
    brightness = 0.86 + 0.14 * z if flat else 0.5 + 0.58 * facing
    table = np.zeros(OFFSET_MASK + 1, dtype=np.uint8)
    level = np.rint(brightness / BRIGHTEST * (SHADES - 1))
    table[: (2 * r + 1) ** 2] = np.clip(level, 1, SHADES - 1).reshape(-1)
    return table
