"""The library of real materials: every number has a source, and some follow from others."""

import dataclasses
import math

import pytest

import mpm


def test_every_number_of_the_library_has_a_source():
    library = mpm.materials.library()
    assert {
        "steel",
        "copper",
        "aluminium",
        "rubber",
        "gelatine",
        "water",
        "honey",
        "concrete",
    } < library.keys()
    assert {
        "dry sand",
        "wet sand",
        "London clay",
        "Weald clay",
        "kaolin",
        "snow",
        "powder snow",
    } < library.keys()
    for name, known in library.items():
        fields = {field.name: field.default for field in dataclasses.fields(known.material)}
        values = {field: getattr(known.material, field) for field in fields}
        given = {field for field, value in values.items() if value != fields[field]}
        assert given <= known.sources.keys() <= values.keys(), name
        assert all(len(source) > 5 for source in known.sources.values()) and len(known.description) > 5
        assert str(known).count("\n") == len(known.sources)


def test_what_the_library_derives():
    library = mpm.materials.library()
    concrete, clay = library["concrete"].material, library["London clay"].material
    sine = math.sin(math.radians(concrete.friction_angle_deg))
    for strength, sign in ((38e6, -1), (2.9e6, 1)):  # uniaxial: 2 c cos φ/(1 ± sin φ)
        assert 2 * concrete.cohesion * math.sqrt(1 - sine**2) / (1 + sign * sine) == pytest.approx(strength)
    volume = 2.759 + (0.161 - 0.062) * math.log(2) - 0.161 * math.log(100)  # normally compressed by 100 kPa
    assert clay.density == pytest.approx(1000 * (2.75 + volume - 1) / volume)
    assert (clay.compression, clay.swelling) == pytest.approx((0.161 / volume, 0.062 / volume))
    assert library["water"].material.wave_speed == pytest.approx(1482, rel=2e-3)
    rubber = library["rubber"].material  # Treloar's rubber: 0.39 MPa to 0.42 MPa
    shear = mpm.point.simple_shear(rubber, shear=1e-4).stress[-1, 0, 1] / 1e-4
    assert (
        shear == pytest.approx(0.5 * (0.63e6 * 1.3 + 1.2e3 * 5 + 1e4 * 2), rel=1e-6)
        and 0.39e6 < shear < 0.43e6
    )


def test_the_library_says_how_it_is_used():
    library, scene = mpm.materials.library(), mpm.Scene((0, 0), (1, 1))
    for name, near in (
        ("iron", "steel"),
        ("Steel", "steel"),
        ("sand", "dry sand"),
        ("powdersnow", "powder snow"),
    ):
        with pytest.raises(
            KeyError, match=f"no material '{name}'; there are steel, .*; did you mean '{near}'"
        ):
            library[name]
    for call in (
        lambda entry: scene.add(mpm.shapes.Box((0, 0), (1, 1)), entry),
        lambda entry: mpm.point.oedometer(entry, axial_strain=0.1),
        lambda entry: mpm.point.fit(entry, [1.0], response=len, parameters=["E"]),
    ):
        with pytest.raises(TypeError, match=r"material = Known.*; take its \.material$"):
            call(library["steel"])
