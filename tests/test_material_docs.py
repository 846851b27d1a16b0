"""Docstrings of materials against the rows of the registry: parameters, units, ranges, defaults, state, paper."""

import ast
import dataclasses
import inspect
import math
import re
import unicodedata

import pytest

import mpm

MATERIALS = [getattr(mpm.materials, name) for name in mpm.materials.__all__]
CLASSES = {cls.law: cls for cls in MATERIALS if hasattr(cls, "law") and cls is not mpm.materials.UserLaw}
# Parameters of rows that follow from an attribute of another name.
FOLLOWS = {
    **dict.fromkeys(("least_Jp", "largest_Jp"), "Jp_limits"),
    **dict.fromkeys(("direction_x", "direction_y", "direction_z"), "direction"),
    "bulk_modulus": "sound_speed",
    "hold": "contact",
    "heat_capacity": "specific_heat",
    **{
        parameter["name"]: "hardening"
        for law in ("von_mises", "mohr_coulomb")
        for parameter in mpm.materials.laws.registry()[law]["parameters"]
        if parameter["name"] not in CLASSES[law].__dataclass_fields__
    },
}
UNITS = {"kg/m3": "kg/m³", "Pa s^n": "Pa sⁿ", "J/m2": "J/m²"}
TYPES = {"float": float, "bool": bool}

NUMBER = r"−?\d+(?:\.\d+)?(?:e-?\d+)?⁶?"
# Where the word behind the sign is no number, another parameter is the limit.
LOW = re.compile(rf"(?:({NUMBER}) or )?(>=?|from|at least) ({NUMBER})?")
HIGH = re.compile(rf"(<=?|at most|from \S+ to) ({NUMBER})?")
DEFAULT = re.compile(rf"[Dd]efault (None|True|False|\(.*?\)|(?:tan )?{NUMBER}°?(?: and tan {NUMBER}°)?)")
NAMED_DEFAULT = re.compile(r'``("\w+")`` \(the default\)')


def number(text):
    """What `NUMBER` finds."""
    return 1e6 if text == "10⁶" else float(text.replace("−", "-"))


def documented(doc):
    """Names, type, whether optional, and text of each entry of the section "Parameters"."""
    section = re.search(r"^Parameters\n-+\n((?:.*\n)*?)(?=\w.*\n---|\Z)", doc + "\n", re.MULTILINE)[1]
    for names, kind, text in re.findall(r"^(\w[\w, ]*) : (.*)\n((?:\s+.*\n)*)", section, re.MULTILINE):
        kind, optional, _ = kind.partition(", optional")
        yield names.split(", "), kind, bool(optional), " ".join(text.split())


def limits(text):
    """low, low_open, high, high_open as the row has them; None for a limit that is no number."""
    head = re.split(r"[.:;](?:\s|$)", text)[0]
    low, high = LOW.search(head), HIGH.search(head)
    least = (-math.inf, True) if not low else (None, None)
    if low and low[3] and low[2] != "at least":
        least = (number(low[1] or low[3]), low[2] == ">")
    most = (math.inf, True) if not high else (None, None)
    if high and high[2]:
        most = (number(high[2]), high[1] == "<")
    return *least, *most


def default(text, k):
    """The default of the k-th name of an entry; `dataclasses.MISSING` if the text gives none."""
    if named := NAMED_DEFAULT.search(text):
        return ast.literal_eval(named[1])
    if not (found := DEFAULT.search(text)):
        return dataclasses.MISSING
    each = found[1].replace("−", "-").replace("°", "").split(" and ")
    value = each[min(k, len(each) - 1)]
    return math.tan(math.radians(float(value[4:]))) if value.startswith("tan ") else ast.literal_eval(value)


def plain(text):
    """Lower case, without accents."""
    return unicodedata.normalize("NFKD", text.replace("ue", "ü")).encode("ascii", "ignore").decode().lower()


def faults(cls, doc):
    """What a docstring of a material says otherwise than the class and the row of its law."""
    row, found = with_options(cls.law), []
    rows = {parameter["name"]: parameter for parameter in row["parameters"]}
    attributes = {field.name: field.default for field in dataclasses.fields(cls)}
    entries = list(documented(doc))
    names = [name for entry in entries for name in entry[0]]
    if sorted(names) != sorted(attributes):
        found.append(f"parameters: {sorted(set(names) ^ set(attributes)) or 'one twice'}")
    for name in rows.keys() - attributes.keys():
        if FOLLOWS.get(name) not in attributes:
            found.append(f"{name}: not an attribute, and follows from none")
    for these, kind, optional, text in entries:
        for k, name in enumerate(these):
            said, given = default(text, k), attributes.get(name)
            both = isinstance(said, float) and isinstance(given, float)
            if not (math.isclose(said, given, rel_tol=1e-3) if both else said == given):
                found.append(f"{name}: default {said}, not {given}")
            if optional != (given is not dataclasses.MISSING):
                found.append(f"{name}: optional")
            if not (parameter := rows.get(name)):
                continue
            unit, brackets = parameter["unit"], re.search(r"\[(.*?)\]", text)
            if unit == "flag":
                if kind != "bool":
                    found.append(f"{name}: type {kind}, not bool")
                continue
            if (brackets[1] if brackets else "1") != ("1" if unit == "deg" else UNITS.get(unit, unit)):
                found.append(f"{name}: unit, not {unit}")
            if ("°" in text and "tan" not in text) != (unit == "deg"):
                found.append(f"{name}: degrees")
            if kind != "float":
                continue
            for key, limit in zip(("low", "low_open", "high", "high_open"), limits(text), strict=True):
                if limit is not None and limit != parameter[key]:
                    found.append(f"{name}: {key} {limit}, not {parameter[key]}")
                if limit is None and key == "low" and parameter["low"] == -math.inf:
                    found.append(f"{name}: {key} is not in the row")
    found += [
        f"state {field['name']}"
        for field in row["history"]
        if not re.search(rf"\b{field['name']}``?(?!\w)", doc)
    ]
    references = plain(doc.partition("References\n")[2])
    author = plain(re.match(r"(?:\w\. |\w{1,2} (?=\w+ ))*([\w ]+),", row["reference"])[1])
    if author not in references:
        found.append(f"reference: {author}")
    found += [
        f"reference: {year}"
        for year in re.findall(r"\((\d{4})\)", row["reference"])
        if year not in references
    ]
    return found


def with_options(law):
    """The row of a law, or of the variant that options choose, which has all that the law has."""
    rows = mpm.materials.laws.registry()
    return next((row for row in rows.values() if row["variant_of"] == law), rows[law])


def test_every_law_has_a_class():
    rows = mpm.materials.laws.registry().values()
    assert CLASSES.keys() == {row["variant_of"] or row["name"] for row in rows}


@pytest.mark.parametrize("law", CLASSES)
def test_docstrings_say_what_the_registry_says(law):
    assert faults(CLASSES[law], inspect.getdoc(CLASSES[law])) == []


def test_other_docstrings_are_found_out():
    for law, before, after, fault in (
        ("sand", "cohesion : float", "cohesions : float", "parameters: ['cohesion', 'cohesions']"),
        ("sand", "c [Pa], >= 0", "c [Pa], > 0", "cohesion: low_open True, not False"),
        ("sand", "c [Pa], >= 0", "c [kPa], >= 0", "cohesion: unit, not Pa"),
        ("sand", "c [Pa], >= 0", "c, >= 0", "cohesion: unit, not Pa"),
        ("sand", "φ, > 0° and < 90°", "φ, > 0° and < 45°", "friction_angle_deg: high 45.0, not 90.0"),
        (
            "sand",
            "φ, > 0° and < 90°",
            "φ, > 0° and at most 90°",
            "friction_angle_deg: high_open False, not True",
        ),
        (
            "sand",
            "φ, > 0° and < 90°, default 35°",
            "φ, > 0 and < 90, default 35",
            "friction_angle_deg: degrees",
        ),
        ("sand", "default 35°", "default 34°", "friction_angle_deg: default 34, not 35.0"),
        ("sand", "[kg/m³], > 0, default 2200", "[kg/m³], > 0", "density: default"),
        ("sand", "density : float, optional", "density : float", "density: optional"),
        ("hencky", "> −1 and < 0.5", "> 0 and < 0.5", "nu: low 0.0, not -1.0"),
        ("hencky", "> −1 and < 0.5", "> −1", "nu: high inf, not 0.5"),
        ("ogden", "μ₁ [Pa]", "μ₁ [Pa], > 0", "mu_1: low 0.0, not -inf"),
        ("ogden", "μ₁ [Pa]", "μ₁ [Pa], at least μ₂", "mu_1: low is not in the row"),
        ("fluid", "−1 or from 1", "from 1", "gamma: low 1.0, not -1.0"),
        ("fluid", "tension : bool", "tension : float", "tension: type float, not bool"),
        ("mu_i", "tan 32.76°", "tan 33.76°", "mu_2: default 0.66"),
        ("snow", "default (0.6, 20)", "default (0.5, 20)", "Jp_limits: default (0.5, 20), not (0.6, 20.0)"),
        ("drucker_prager", '(the default), ``"extension"', ', ``"extension"', "cone: default"),
        ("von_mises", "particles.backstress", "particles.back", "state backstress"),
        ("corotated", "Müller, Gross", "Mahler, Gross", "reference: muller"),
        ("corotated", "(2004)", "(2005)", "reference: 2004"),
    ):
        doc = inspect.getdoc(CLASSES[law])
        assert doc.count(before), before
        found = faults(CLASSES[law], doc.replace(before, after))
        assert any(fault in line for line in found), (law, after, found)
