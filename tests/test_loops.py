"""What `each` promises: all rounds, and the name of the one that fails."""

import inspect

import pytest

from loops import each

SEEN = []


@each("a", [1, 2])
@each("b, c", [("x", 3), ("y", 4)])
def collect(a, b, c, tmp_path):
    SEEN.append((a, b, c, tmp_path))


def test_every_round_is_taken_and_the_rest_is_left_to_pytest():
    assert list(inspect.signature(collect).parameters) == ["tmp_path"]
    SEEN.clear()
    collect(tmp_path="folder")
    assert SEEN == [(a, b, c, "folder") for a in (1, 2) for b, c in (("x", 3), ("y", 4))]


def test_the_round_that_fails_is_named():
    @each("a", [1, 2])
    @each("b", ["x", "y"])
    def test(a, b):
        assert (a, b) != (2, "x")

    with pytest.raises(AssertionError) as caught:
        test()
    assert caught.value.__notes__ == ["b = 'x'", "a = 2"]
