"""Errors of runs: the core names the reason, `mpm.base.messages` words it."""

import re
from pathlib import Path

import pytest

from mpm.base import messages

CSRC = Path(__file__).parents[1] / "csrc"
FIELDS = [
    (("mass", 0.0, float("inf"), False, False, False), "mass <= 0"),
    (("J", 0.0, float("inf"), True, False, False), "J < 0"),
    (("porosity", 0.1, 0.9, False, False, True), "porosity not between 0.1 and 0.9"),
    (("F", 0.0, float("inf"), False, True, False), "det F <= 0"),
]


def error(reason, field=None, **others):
    t = dict(
        reason=reason, dt=1e-3, row="node", size="spacing", subject="wheel", number=2, values=(3.0, 0.5), total=7,
        first=4, field=field,
    )  # fmt: skip
    return tuple((t | others).values())


@pytest.mark.source
def test_every_reason_of_the_core_has_words_and_no_other_has():
    names = set()
    for name in ("run/error.c", "mpm/simulation.c", "sph/sph.c", "fem/fem.c"):
        table = re.search(r"const reasons\[\w*\] = \{(.*?)\};", (CSRC / name).read_text(), re.DOTALL)
        names |= set(re.findall(r'"(\w+)"', table[1]))
    assert names - {"no_reason"} == messages.WORDS.keys()


@pytest.mark.parametrize("reason", messages.WORDS)
def test_a_message_says_when_what_and_where(reason):
    text = messages.message(12, 0.25, error(reason, FIELDS[0][0]))
    assert text.startswith("step 12, t = 0.25 s: ") and text.endswith(" (first row 4)")
    assert not re.search(r"[{}]|None|  ", text)
    assert "(first row" not in messages.message(12, 0.25, error(reason, FIELDS[0][0], first=-1))


@pytest.mark.parametrize(
    ("bits", "choices"),
    [
        (0, 'at dt = 0.001 s.*: choose dt="auto", a smaller dt or a larger tolerance'),
        (1, "at every dt down to 0.001 s.*: choose a larger tolerance"),
        (2, 'choose dt="auto", a smaller dt, more max_iterations or a larger tolerance'),
        (3, "down to.*: choose more max_iterations or a larger tolerance"),
        (4, "fell to 1e-09, where rounding .* not to tolerance = 1e-10.*: choose a larger tolerance"),
        (8, 'positive definite.*: choose dt="auto", a smaller dt or projection="semidefinite"'),
    ],
)
def test_a_step_that_was_not_solved_gets_choices_that_help(bits, choices):
    text = messages.message(0, 0, error("not_converged", number=bits, values=(1e-9, 1e-10), first=-1))
    assert re.search(f"{choices}$", text), text


@pytest.mark.parametrize(("field", "words"), FIELDS)
def test_a_value_that_was_written_is_named_with_its_range(field, words):
    assert f"{words} was written to 7 node(s)" in messages.message(0, 0, error("written_inverted", field))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("plastic_strain", ", cam_clay, mu_i, herschel_bulkley and johnson_cook only"),
        ("friction_angle_deg", "is one value for a whole material there"),
        ("age", "age is a state of other materials only"),
    ],
)
def test_a_state_that_a_law_does_not_have_is_named_with_its_owners(name, words):
    field = (name, 0.0, float("inf"), False, False, True)
    assert words in messages.message(0, 0, error("written_not_state", field))
