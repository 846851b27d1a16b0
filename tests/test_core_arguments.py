"""The methods of the extension, called with arguments that the Python layer would never hand on.

Each argument in turn of every method of `core_calls` is replaced by wrong ones: the call has to raise an error of
Python, and to leave the object as it was. After what may be right or wrong, the object has to answer.
"""

import contextlib
import threading

import pytest

import mpm
from core_calls import (
    ACTIONS,
    BEFORE,
    CLEAN,
    KEYWORDS,
    METHODS,
    OPTIONAL,
    REST,
    N,
    Raising,
    X,
    answers,
    filled,
    replaced,
    seen,
    whole,
)
from mpm import _core

CALLS = [(name, method) for name, methods in METHODS.items() for method in methods]
every_call = pytest.mark.parametrize(("name", "method"), CALLS, ids=[f"{n}-{m}" for n, m in CALLS])


@pytest.mark.parametrize("name", METHODS)
def test_the_table_has_every_method(name):
    type_ = getattr(_core, name)
    assert {key for key in dir(type_) if key[0] != "_" and callable(getattr(type_, key))} == METHODS[
        name
    ].keys()
    others = {"Core", "Field"} | {key for key in dir(_core) if key.endswith("Error")}
    types = {key for key in dir(_core) if isinstance(getattr(_core, key), type)}
    assert types - others == METHODS.keys()


@every_call
def test_good_arguments_are_taken(name, method):
    """So that what others raise is because of the argument."""
    core = BEFORE.get(method, filled)(name)
    call, good = getattr(core, method), [kind.good for kind in METHODS[name][method]]
    # Bodies stay; loads come before them; the table has no driver of a GPU.
    if (name, method) == ("FEM", "delete_particles") or method in ("add_load", "use_gpu", "lend"):
        with pytest.raises(CLEAN):
            call(*good)
    else:
        call(*good)
    answers(core)


@every_call
def test_wrong_arguments_raise_and_change_nothing(name, method):
    kinds, make = METHODS[name][method], BEFORE.get(method, filled)
    core = make(name)
    before, call = seen(core), getattr(core, method)
    good = tuple(kind.good for kind in kinds)
    counts = [(*good, None, None)] + [good[:k] for k in range(len(good) - OPTIONAL.get(method, 0))]
    for arguments in [*counts, *replaced(kinds, "wrong")]:
        try:
            call(*arguments)
        except CLEAN:
            assert seen(core) == before, arguments
        else:
            pytest.fail(f"{method}{arguments} was taken")
    with pytest.raises(TypeError):
        call(*good, no_such=1)


@every_call
def test_strange_arguments_raise_or_are_taken(name, method):
    kinds, make = METHODS[name][method], BEFORE.get(method, filled)
    core = make(name)
    before = seen(core)
    for arguments in replaced(kinds, "either"):
        try:
            getattr(core, method)(*arguments)
        except CLEAN:
            if method not in ("step", "run", "step_forced"):  # which may have taken steps
                assert seen(core) == before, arguments
            answers(core)
        answers(core)
        core = make(name)


@pytest.mark.parametrize("name", KEYWORDS)
def test_wrong_keywords_make_no_object(name):
    make, kinds = getattr(_core, name), KEYWORDS[name]
    good = {key: kind.good for key, kind in kinds.items()}
    bad = [good | {key: value} for key, kind in kinds.items() for value in kind.wrong]
    bad += [{k: v for k, v in good.items() if k != key} for key in kinds]
    for given in [*bad, good | {"no_such": 1}]:
        with pytest.raises(CLEAN):
            make(**given)
    with pytest.raises(TypeError):
        make(*good.values())
    for given in (good | {key: value} for key, kind in kinds.items() for value in kind.either):
        with contextlib.suppress(*CLEAN):
            answers(make(**given))


def test_types_are_made_by_their_own_means():
    for make in (_core.Core, _core.Field, lambda: type("Mine", (_core.Simulation,), {})):
        with pytest.raises(TypeError):
            make()
    for dim in (None, 1, 4, 2.5, "2", 2**40, Raising()):
        with pytest.raises(CLEAN):
            _core.Colliders(dim)
    with pytest.raises(TypeError):
        _core.Simulation.add_particles(filled("SPH"), X, REST)
    with pytest.raises(TypeError):
        _core.Core.step(_core.Colliders(2), 1)
    field = filled("SPH").field("v")  # outlives what it belongs to
    assert field.copy()[2] == (N, 2)
    with pytest.raises(TypeError):
        field.copy(1)


@pytest.mark.parametrize("name", KEYWORDS)
def test_attributes_are_set_with_good_values_only(name):
    core = filled(name)
    before = seen(core)
    for attribute in ("time", "dt", "steps", "particles", "next_id", "no_such"):
        with pytest.raises(AttributeError):
            setattr(core, attribute, 1)
    for value in (*whole(1).wrong, 0, -1, 2**31):
        with pytest.raises(CLEAN):
            core.threads = value
    with pytest.raises(CLEAN):
        del core.threads
    assert seen(core) == before
    core.threads = 2
    assert core.threads == 2


@pytest.mark.parametrize("action", ACTIONS)
@every_call
def test_arguments_may_act_while_they_are_read(name, method, action):
    kinds = METHODS[name][method]
    for k, kind in enumerate(kinds):
        if kind.acting:
            core = BEFORE.get(method, filled)(name)

            def act(core=core):
                with contextlib.suppress(AttributeError, *CLEAN):
                    ACTIONS[action](core)

            good = [kind.good for kind in kinds]
            with contextlib.suppress(*CLEAN):
                getattr(core, method)(*good[:k], kind.acting(kind.good, act), *good[k + 1 :])
            answers(core)


@pytest.mark.parametrize("name", KEYWORDS)
def test_another_thread_is_refused(name):
    core, others = filled(name), []

    def call_all():
        for method, kinds in METHODS[name].items():
            try:
                getattr(core, method)(*(kind.good for kind in kinds))
                others.append(method)
            except mpm.BusyError:
                pass
        for attribute in ("time", "threads"):
            try:
                getattr(core, attribute)
                core.threads = 2
                others.append(attribute)
            except mpm.BusyError:
                pass

    def pieces():
        thread = threading.Thread(target=call_all)
        thread.start()
        thread.join()

    before = seen(core)
    core.hold(pieces)
    assert set(others) <= {"fields", "element_fields"}  # no run changes which there are
    assert seen(core) == before
