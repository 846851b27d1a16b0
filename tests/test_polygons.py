"""Whether the outline of a polygon touches or crosses itself: against every pair of edges, and for many corners."""

import time
from fractions import Fraction

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from mpm.shapes import Polygon
from mpm.shapes.polygon import _near_pairs


def side(a, b, c):
    """On which side of the line from a to b the point c lies."""
    turn = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return (turn > 0) - (turn < 0)


def touch(a, b, c, d):
    """Whether two edges have a point in common, in exact arithmetic."""
    apart = any(max(a[k], b[k]) < min(c[k], d[k]) or max(c[k], d[k]) < min(a[k], b[k]) for k in (0, 1))
    across = side(a, b, c) * side(a, b, d) <= 0 and side(c, d, a) * side(c, d, b) <= 0
    return across and not apart


def is_simple(corners):
    """By the definition: every pair of edges."""
    x = [tuple(Fraction(value) for value in corner) for corner in corners]
    if len(x) > 3 and x[0] == x[-1]:
        del x[-1]
    n = len(x)
    edges = [(x[k], x[(k + 1) % n]) for k in range(n)]
    for a, b in edges:
        if a == b:
            return False
    for k in range(n):
        (a, b), (_, c) = edges[k], edges[(k + 1) % n]
        back = sum((b[i] - a[i]) * (c[i] - b[i]) for i in (0, 1))
        if side(a, b, c) == 0 and back < 0:
            return False
    meet = (touch(*edges[i], *edges[j]) for i in range(n) for j in range(i + 2, n) if (i, j) != (0, n - 1))
    return not any(meet) and any(side(x[0], x[1], corner) for corner in x)


def check(corners):
    try:
        Polygon(corners)
    except ValueError as error:
        assert not is_simple(corners), f"{corners}: {error}"
        return False
    assert is_simple(corners), corners
    return True


@hypothesis.given(
    strategies.lists(strategies.tuples(*[strategies.integers(0, 4)] * 2), min_size=3, max_size=11)
)
@hypothesis.settings(max_examples=500)
def test_few_corners_on_a_lattice(corners):
    """Corners on edges, edges on edges and corners on corners are common."""
    check([(float(x), float(y)) for x, y in corners])


@pytest.mark.parametrize("turn", [0.0, 0.3, np.pi / 4])
@pytest.mark.parametrize("n", [3, 4, 7, 8, 9, 40])
def test_stars_with_and_without_a_knot(n, turn):
    rng = np.random.default_rng(n)
    for _ in range(10):
        angle = turn + 2 * np.pi * np.arange(n) / n
        star = rng.uniform(0.2, 1, n)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        assert check(star.tolist())
        if n > 6:
            i, j = sorted(rng.choice(n, 2, replace=False))
            star[[i, j]] = star[[j, i]]
            check(star.tolist())


def outlines(n):
    """Simple outlines of n corners that are hard for one method or another."""
    angle = 2 * np.pi * np.arange(n) / n
    teeth = np.stack([np.arange(n), np.arange(n) % 2 * 50], axis=1).astype(float)
    teeth[-1] = (n, -n)
    slant = np.array([(np.cos(0.6), np.sin(0.6)), (-np.sin(0.6), np.cos(0.6))])
    half = np.linspace(0, 12 * np.pi, n // 2)[:, None]
    spiral = np.hstack([np.cos(half), np.sin(half)]) * (1 + half)
    inner = (np.hstack([np.cos(half), np.sin(half)]) * (1 + half - np.pi))[n // 8 :][::-1]
    crowd = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 1e-6 ** (np.arange(n) % (n // 2) / n)[:, None]
    return {
        "circle": np.stack([np.cos(angle), np.sin(angle)], axis=1),
        "comb": teeth,
        "slanting comb": teeth @ slant,
        "spiral": np.concatenate([spiral[n // 8 :], inner]),
        "crowded": crowd[: n // 2],
    }


@pytest.mark.parametrize("name", outlines(100))
@pytest.mark.parametrize("n", [100, 20_000])
def test_hard_outlines_cost_few_pairs(name, n):
    v = outlines(n)[name]
    Polygon(v)
    looked_at = sum(len(i) for i, _ in _near_pairs(v, np.roll(v, -1, axis=0)))
    assert looked_at < 20 * len(v)  # measured: 8.5 for the slanting comb, below 1 for the others


@pytest.mark.numbers
def test_a_hundred_thousand_corners():
    """40 s when every pair was looked at."""
    v = outlines(100_000)["circle"]
    began = time.perf_counter()
    Polygon(v)
    assert time.perf_counter() - began < 5  # measured 0.4
    v[[70_000, 70_002]] = v[[70_002, 70_000]]
    with pytest.raises(ValueError, match="the edges from corner 69999 and from corner 70002 meet"):
        Polygon(v)
