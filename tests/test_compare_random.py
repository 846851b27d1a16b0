"""Random comparisons: every relation holds in some scenes, and planted defects are found."""

import numpy as np
import pytest

import compare_random
import mpm
import random_relations
import random_scenes
import random_setups

pytestmark = pytest.mark.numbers

# Scenes that are quick, for every relation. From 200 on, bodies touch, conduct heat, or are pushed and held.
SCENES = {
    "moved": (122, 36, 249, 181000782), "mirrored": (4, 122, 228, 181000069), "exchanged": (20, 122, 249, 262),
    "units": (122, 36, 249, 262), "powers-of-two": (4, 71, 284), "threads": (34, 122, 318), "stopped": (34, 104, 249),
    "looked-at": (17, 20, 228), "books": (23, 123, 262), "kernels": (4, 34, 249), "precision": (34, 104, 249),
    "reordered": (4, 34, 249), "rolled": (17, 90, 284, 377, 32001062), "larger-domain": (39,), "unfolded": (67, 289),
    "slab": (104, 4, 277, 545), "implicit": (37, 104), "united": (125, 126, 276),
}  # fmt: skip
NAMES = tuple(compare_random.RELATIONS)
EXACT = ("powers-of-two", "threads", "stopped", "looked-at", "books")


def related(name, number, folder, tally=None):
    """How a relation comes out in a scene that has been run and nudged."""
    case = random_relations.Case(random_setups.Maker(number).make())
    case.folder = folder
    return (tally or compare_random.Tally()).relate(case, name, number)


def test_every_relation_has_scenes():
    assert set(SCENES) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_relations_hold(tmp_path, name):
    for number in SCENES[name]:
        came, found = related(name, number, tmp_path)
        assert came == "agrees" or (name == "kernels" and came == "-"), (number, str(found))


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_difference_is_found(tmp_path, monkeypatch, name):
    """Of one particle's velocity in the other run: a last bit, a relative 1e-9, half a percent in the limit dt -> 0."""
    if name == "kernels" and len(mpm._core.isas()) == 1:
        pytest.skip("there is one kernel set")

    def planted(result):
        v = result.values["v"]
        if name in EXACT:
            v[0, 0] = np.nextafter(v[0, 0], np.inf)
        elif name == "implicit":
            v[:, 0] += 0.005 * random_scenes.WAVE * (len(steps) % 2)
        else:
            v[0, 0] += {"precision": 1e-3}.get(name, 1e-9) * random_scenes.WAVE
        return result

    steps = []
    again, outcome = random_relations.again, random_relations.outcome

    def other(setup):
        steps.append(setup)
        return planted(again(setup))

    monkeypatch.setattr(compare_random, "KNOWN", ())
    monkeypatch.setattr(random_relations, "again", other)
    monkeypatch.setattr(random_relations, "outcome", lambda *given: planted(outcome(*given)))
    came, found = related(name, SCENES[name][0], tmp_path)
    assert came == "differs", str(found)


def planted_load(path, load=mpm.load):
    """A file that is read as the state one step later."""
    sim = load(path)
    sim.step()
    return sim


def test_planted_defects_of_the_runs_are_found(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(mpm, "load", planted_load)
        assert related("stopped", 34, tmp_path)[0] == "differs"
    with monkeypatch.context() as patch:  # walls that a mirror image does not exchange
        patch.setattr(random_scenes.Image, "face", lambda image, face: face)
        assert "differs" in {related("mirrored", number, tmp_path)[0] for number in (4, 36, 66)}
    with monkeypatch.context() as patch:  # a law with a modulus in other units
        patch.setitem(random_scenes.UNITS, "specific_heat", "1")
        patch.setattr(random_scenes, "unit_of", lambda law, name: "1" if name == "nu" else "Pa")
        assert related("units", 36, tmp_path)[0] == "differs"


def test_errors_and_scenes_that_are_none_are_counted(tmp_path, monkeypatch, capsys):
    tally = compare_random.Tally()
    with monkeypatch.context() as patch:
        patch.setattr(random_relations, "again", lambda setup: 1 / 0)
        tally.try_scene(4, ("moved",), tmp_path)
    assert tally.outcomes["moved", "differs"] == 1 and "ZeroDivisionError" in tally.differences[0]
    with monkeypatch.context() as patch:
        patch.setattr(random_relations.random_scenes, "run", lambda setup: mpm.Scene([0], [1]))
        tally.try_scene(4, ("moved",), tmp_path)
    assert tally.outcomes["all", "no scene"] == 1
    assert tally.end() == 1 and "--- scene 4, moved: " in capsys.readouterr().out


def test_a_known_difference_is_counted_apart(tmp_path, monkeypatch):
    row = compare_random.Known("planted", ("moved",), lambda setup: True)
    monkeypatch.setattr(compare_random, "KNOWN", (row,))
    monkeypatch.setattr(
        random_relations, "again", lambda setup: random_scenes.run(setup.with_options(dt=1e-4))
    )
    assert related("moved", 122, tmp_path)[0] == "known"


def test_a_scene_repeats_and_says_what_it_is(capsys):
    said = []
    for _ in range(2):
        assert compare_random.main(["--scene", "122", "--relation", "moved", "--relation", "threads"]) == 0
        said.append([line for line in capsys.readouterr().out.splitlines() if "seconds" not in line][:8])
    assert said[0][:6] == said[1][:6] and any("agrees" in line for line in said[0])
