"""A law with a history, added as CONTRIBUTING.md says: its file, its line in the list, its class, nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# A neo-Hookean solid that counts its age, and sums up its strain increments: two scalars and a symmetric tensor.
LAW = """/* SPDX-License-Identifier: MIT */
#pragma once
#include "materials/row.h"

#define AGEING_PARAMETERS(P) \\
    ELASTIC_MODULI(P) \\
    P(life, "s", POSITIVE, "time until it is old") \\
    DENSITY(P)

struct ageing_parameters { AGEING_PARAMETERS(MPM_MEMBER) };

static inline const char *ageing_unfit(const double *values)
{
    const struct ageing_parameters *p = MPM_VALUES(ageing, values);
    return p->life * p->E < 1e9 ? NULL : "life must be < 1e9 Pa s/E";
}

MPM_ROW(ageing,
    .name = "ageing", .J_low = 1e-3, .J_high = 1e3, MPM_ROW_PARAMETERS(ageing, AGEING_PARAMETERS),
    .unfit = MPM_OUTSIDE_KERNELS(ageing_unfit),
    .fields = 3,
    .field = {
        {"age", "s", MPM_SCALAR, .low = -1, .high = INFINITY, .meaning = "time since it was made"},
        {"left", "s", MPM_SCALAR, .initial_parameter = 1 + MPM_PLACE(ageing, life), .low = -1, .high = INFINITY,
         .meaning = "time left"},
        {"strain", "1", MPM_SYMMETRIC, .low = -INFINITY, .high = INFINITY, .meaning = "sum of strain increments"},
    },
    .reference = "A law of the tests.")

#ifdef MPM_DIM /* for kernels */
#include "materials/neo_hookean.h"

enum { AGEING_AGE, AGEING_LEFT, AGEING_STRAIN };

struct ageing {
    struct neo_hookean elastic;
};

INLINE struct ageing ageing_prepare(const struct ageing_parameters *p)
{
    return (struct ageing){neo_hookean_of(p->E, p->nu)};
}

INLINE mask ageing_return_map(const struct ageing *law, struct law_state *state, wide dt, matrix velocity_gradient)
{
    (void)law;
    const wide half_dt = wide_set((real)0.5) * dt, left = state->history[AGEING_LEFT] - dt;
    state->history[AGEING_AGE] += dt;
    state->history[AGEING_LEFT] = wide_max(left, wide_set(0));
    int c = AGEING_STRAIN;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = i; j < DIM; j++)
            state->history[c++] += half_dt * (velocity_gradient.m[i][j] + velocity_gradient.m[j][i]);
    return wide_less(left, wide_set(0));
}

INLINE struct law_evaluation ageing_evaluate(const struct ageing *law, struct law_state state, matrix velocity_gradient)
{
    return neo_hookean_evaluate(&law->elastic, state, velocity_gradient);
}
#endif
"""
CLASS = '''

@dataclass(frozen=True, slots=True)
class Ageing(Material):
    """Counts its age."""

    law: ClassVar[str] = "ageing"
    E: float
    nu: float
    life: float
    density: float
'''

# Laws that kernels inline, and here only call; the fluid remains.
CALLED = ("fixed_corotated, ", "neo_hookean, ", "snow, IN", "sand, IN")

# What the new package must do; run in a process of its own.
CHECKS = """
import sys
import numpy as np
import mpm

STRAIN = {2: 3, 3: 6}

def body(dim, dtype="float64", threads=1, transfer="apic", life=0.02):
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-9.81])
    law = mpm.materials.Ageing(E=1e3, nu=0.3, life=life, density=100)
    scene.add(mpm.shapes.Box([0.125] * dim, [0.625] * dim), law, velocity=lambda x: np.sin(5 * x[:, ::-1]))
    scene.add(mpm.shapes.Box([0.6875] * dim, [0.875] * dim), mpm.materials.Fluid(bulk_modulus=1e3, density=100))
    return mpm.Simulation(scene, dx=1 / 16, dtype=dtype, threads=threads, transfer=transfer)

for dim in (2, 3):
    for transfer in ("apic", "flip"):
        sim = body(dim, transfer=transfer)
        own = sim.particles.material == 0
        assert sim.particles.fields[-3:] == ("age", "left", "strain")
        assert sim.particles.strain.shape == (len(sim.particles), STRAIN[dim])
        assert (sim.particles.left[own] == 0.02).all() and (sim.particles.left[~own] == 0).all()
        sim.step(20)
        assert np.allclose(sim.particles.age[own], sim.time, rtol=1e-13) and (sim.particles.age[~own] == 0).all()
        assert np.allclose(sim.particles.left[own], max(0.02 - sim.time, 0))
        assert (sim.health["clipped"] > 0) == (sim.time > 0.02)
        assert np.ptp(sim.particles.strain[own]) > 0.01 and (sim.particles.strain[~own] == 0).all()
        # trace of the summed strain increments is ln J to first order in the increments
        diagonal = [0, 2] if dim == 2 else [0, 3, 5]
        trace = sim.particles.strain[own][:, diagonal].sum(axis=1)
        assert np.abs(trace - np.log(sim.particles.J[own])).max() < 0.05 * np.abs(trace).max()
    # a material point, too: its return map gets the time step and the velocity gradient
    times, material = np.arange(5) / 100, sim.materials[0]
    found = mpm.point.drive(material, times=times, F={"xx": 1 + times, "xy": times}, dimension=dim)
    assert np.allclose(found.history["age"], times) and np.allclose(found.history["left"], np.maximum(0.02 - times, 0))
    assert found.history["strain"].shape == (5, STRAIN[dim])
    ratio = (1 + times[1:]) / (1 + times[:-1])
    assert np.allclose(found.history["strain"][1:, 0], np.cumsum(ratio - 1))
    assert np.allclose(found.history["strain"][1:, 1], np.cumsum(times[1:] - ratio * times[:-1]) / 2)
    aged = mpm.point.drive(material, times=[0], F={"xx": 1}, history={"left": 0.01}, dimension=dim)
    assert aged.history["left"] == [0.01] and found.history["left"][0] == 0.02
    for dtype in ("float64", "float32"):
        # bits: threads, splits
        one, seven, split = body(dim, dtype), body(dim, dtype, threads=7), body(dim, dtype)
        one.step(60), seven.step(60), split.step(23), split.step(37)
        assert one == seven == split and one.state_hash() == seven.state_hash() == split.state_hash()
        # restart
        one.save(sys.argv[1] + "/a.mpm")
        again = mpm.load(sys.argv[1] + "/a.mpm")
        assert again == one
        # record and replay
        with again.record(sys.argv[1] + "/a.vtkhdf", fps=200, fields=("age", "strain")):
            again.run(0.02)
        one.run(0.02)
        assert again == one
        with mpm.replay(sys.argv[1] + "/a.vtkhdf") as replay:
            assert np.array_equal(replay[-1].age, one.particles.age)
            assert np.array_equal(replay[-1].strain, one.particles.strain)
        # views: what is written counts, what may not be written is refused and the rows are named
        own = one.particles.material == 0
        first = int(np.flatnonzero(own)[0])
        one.particles.strain[first, 0] = 5
        one.particles.age[first] = 100
        one.step()
        assert one.particles.strain[first, 0] > 4 and one.particles.age[first] > 100
        other = int(np.flatnonzero(~own)[0])
        for row, value, words in ((first, -2, "age <= -1"), (other, 1, "age is a state of ageing only")):
            kept = one.particles.age[row]
            one.particles.age[row] = value
            try:
                one.step()
            except mpm.SimulationError as error:
                assert words in str(error) and error.rows == [row], error
            else:
                raise AssertionError("was not refused")
            one.particles.age[row] = kept
        one.step()
        before = one.particles.age.copy()
        one.particles.delete([first])
        assert np.array_equal(one.particles.age, np.delete(before, first))
        one.add(mpm.shapes.Ball([0.2] * dim, 0.05), one.materials[0])
        assert (one.particles.age[len(before) - 1 :] == 0).all()
    # a condition on several parameters, of values that vary
    try:
        body(dim, life=lambda x: 1e6 * (1 + x[:, 0]))
    except ValueError as error:
        assert "life must be < 1e9 Pa s/E" in str(error), error
    else:
        raise AssertionError("was not refused")
    # a refused step leaves the state as it was
    sim = body(dim)
    sim.step(5)
    fixed = mpm.Simulation(sim.scene, dx=1 / 16, dt=1.0, allow_unstable=True)
    before = fixed.state_hash()
    try:
        fixed.step()
    except mpm.InstabilityError:
        assert fixed.state_hash() == before and (fixed.particles.age == 0).all()
    else:
        raise AssertionError("was not refused")
print("all is well")
"""


def edited(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text()
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    path.write_text(text)


@pytest.mark.slow
@pytest.mark.source
def test_a_law_with_history_is_its_file_its_lines_and_its_class(tmp_path):
    tree = tmp_path / "tree"
    for name in ("csrc", "mpm"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    materials = tree / "csrc" / "materials"
    (materials / "ageing.h").write_text(LAW)
    sand = "X(MPM_SAND, sand, INELASTIC, GENERAL, MAPPED, NO_PIOLA)"
    edited(
        materials / "laws.h",
        # The tests below look at numbers, not at speed. Sweeps inline one law for that, and compile in half the time.
        *((f"{law}ELASTIC, FAST", f"{law}ELASTIC, GENERAL") for law in CALLED),
        (sand, f"{sand} X(MPM_AGEING, ageing, INELASTIC, GENERAL, NO_TANGENT, NO_PIOLA)"),
    )
    edited(tree / "setup.py", ('"-O3", "-g1",', '"-O1",'))
    include = '#include "materials/sand.h"'
    edited(materials / "each_law.h", (include, f'{include}\n#include "materials/ageing.h"'))
    edited(
        tree / "mpm" / "materials" / "__init__.py",
        ('    "FixedCorotated",', '    "Ageing",\n    "FixedCorotated",'),
        ("    FixedCorotated,", "    Ageing,\n    FixedCorotated,"),
    )
    with (tree / "mpm" / "materials" / "elastic.py").open("a") as file:
        file.write(CLASS)
    environment = os.environ | {"MPM_ISAS": "scalar", "PYTHONPATH": str(tree), "PYTHONWARNINGS": "ignore"}
    environment["CFLAGS"] = ""  # with less optimisation, GCC has false alarms of variables that are not set
    built = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(built, cwd=tree, env=environment, check=True)
    said = subprocess.run(
        [sys.executable, "-c", CHECKS, str(tmp_path)],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0 and said.stdout.strip() == "all is well", said.stderr
