"""Materials of the real world with the source of each number, for `mpm.materials.library`.

A source that begins with "typical value" was not compared with the publication that it may name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Never

from mpm.base import advice
from mpm.materials.laws import Material

__all__ = ["Known", "Library", "catalogue"]


@dataclass(frozen=True, slots=True)
class Known:
    """A material of `mpm.materials.library`; ``print`` shows its numbers with their sources.

    Attributes
    ----------
    material : Material
        As `Scene.add` takes it.
    description : str
        What it is, in which state, and what was simplified.
    sources : mapping of str to str
        For each number its source and, where it varies, the range.
    """

    material: Material
    description: str
    sources: Mapping[str, str]

    def __str__(self) -> str:
        rows = [
            f"  {name} = {self.material._parameter(name):g}: {source}"
            for name, source in self.sources.items()
        ]
        return "\n".join([f"{type(self.material).__name__}: {self.description}", *rows])


EC1 = "EN 1991-1-1:2002, annex A"
TYPICAL = "typical value"
OBRZUD = (
    "uniform sand, Obrzud, Truty: The Hardening Soil Model, a practical guidebook, Z_Soil report 100701, 2012"
)
SCHOFIELD = "as quoted from Schofield, Wroth: Critical State Soil Mechanics, McGraw-Hill, 1968"
SNOW = "Stomakhin et al.: A material point method for snow simulation. ACM TOG 32(4) (2013) 102, table 2 and figure 9"
CAPELLI = "Capelli et al.: Cold Regions Science and Technology 125 (2016) 1-11"
OGDEN = "typical value, quoted for Treloar's rubber from Ogden: Proc. R. Soc. Lond. A 326 (1972) 565-584"
TAYLOR = "numbers of the Taylor bar of Wilkins, Guinan: J. Appl. Phys. 44 (1973) 1200-1206"
EC2 = "EN 1992-1-1:2004, table 3.1, C30/37: f_cm = f_ck + 8 MPa"


class Library(dict[str, Known]):
    """Materials by name."""

    def __missing__(self, name: object) -> Never:
        near = advice.nearest(str(name), self, advice.LIBRARY)
        raise KeyError(f"no material {name!r}; there are {', '.join(self)}{near}")


def catalogue(laws: Mapping[str, Any]) -> Library:
    """The library, from the classes of the materials by name."""
    groups = (_metals, _soft, _fluids, _sands, _clays, _brittle)
    return Library({name: known for group in groups for name, known in group(laws).items()})


def _metals(laws: Mapping[str, Any]) -> dict[str, Known]:
    metal = laws["VonMises"]
    return {
        "steel": Known(
            metal(E=210e9, nu=0.3, density=7850, yield_stress=235e6),
            "structural steel S235 up to 40 mm; without its hardening",
            {
                "E": "EN 1993-1-1:2005, 3.2.6",
                "nu": "EN 1993-1-1:2005, 3.2.6",
                "yield_stress": "EN 1993-1-1:2005, table 3.1; S355 has 355 MPa",
                "density": f"{EC1}, table A.4: 77.0 to 78.5 kN/m3",
            },
        ),
        "copper": Known(
            metal(E=117e9, nu=0.35, density=8930, yield_stress=400e6, hardening=100e6),
            "hard copper at the rates of an impact; annealed copper yields below 100 MPa",
            dict.fromkeys(("E", "nu", "density", "yield_stress", "hardening"), TAYLOR),
        ),
        "aluminium": Known(
            metal(E=68.3e9, nu=0.33, density=2710, yield_stress=241e6),
            "alloy 6061-T6; without its hardening",
            {
                "E": f"{TYPICAL}; tables have 68 to 70 GPa",
                "nu": f"{TYPICAL}; tables have 0.33 to 0.35",
                "density": f"{TYPICAL}; tables have 2700 to 2710",
                "yield_stress": f"{TYPICAL}, the least that is guaranteed; tables have 240 to 276 MPa",
            },
        ),
    }


def _soft(laws: Mapping[str, Any]) -> dict[str, Known]:
    # A gel of 6.67 % has 250 g Bloom where the weight of 250 g presses a flat punch of 12.7 mm diameter 4 mm deep; a
    # punch on an incompressible half-space needs 8/3 E R depth.
    modulus = 3 * 0.250 * 9.81 / (8 * 6.35e-3 * 4e-3)
    density = 1 / (0.0667 / 1350 + 0.9333 / 999.7)
    rubber = laws["Ogden"](
        mu_1=0.63e6,
        alpha_1=1.3,
        mu_2=1.2e3,
        alpha_2=5.0,
        mu_3=-1e4,
        alpha_3=-2.0,
        bulk_modulus=1.95e9,
        density=970,
    )
    terms = ("mu_1", "alpha_1", "mu_2", "alpha_2", "mu_3", "alpha_3")
    return {
        "rubber": Known(
            rubber,
            "natural rubber; with its real bulk modulus time steps are short, one of 100 mu is often enough",
            {
                **dict.fromkeys(terms, OGDEN),
                "bulk_modulus": f"{TYPICAL} of rubber without filler; 1 to 3 GPa",
                "density": f"{TYPICAL}; 920 to 970 without filler",
            },
        ),
        "gelatine": Known(
            laws["NeoHookean"](E=modulus, nu=0.48, density=density),
            "gel of 6.67 % by mass and 250 g Bloom at 10 °C (shops have 125 to 300 g); E goes with the Bloom strength",
            {
                "E": "from the definition of the Bloom strength: at 10 °C, punch of 12.7 mm, depth 4 mm; half-space",
                "nu": "lowered: gels are as incompressible as water",
                "density": f"water with protein of 1.35 g/cm3, a {TYPICAL}",
            },
        ),
    }


def _fluids(laws: Mapping[str, Any]) -> dict[str, Known]:
    fluid = laws["Fluid"]
    return {
        "water": Known(
            fluid(bulk_modulus=2.19e9, density=998.2, gamma=7.15, viscosity=1.002e-3),
            "at 20 °C; for flows far slower than sound choose a bulk modulus of 100 ρ v² instead",
            {
                "bulk_modulus": "ρ c² with 1482.4 m/s, Marczak: J. Acoust. Soc. Am. 102 (1997) 2776-2779",
                "density": f"{TYPICAL} of pure water at 20 °C",
                "gamma": f"{TYPICAL}, as quoted from Cole: Underwater Explosions, Princeton University Press, 1948",
                "viscosity": f"{TYPICAL} of pure water at 20 °C",
            },
        ),
        "honey": Known(
            fluid(bulk_modulus=2.19e9, density=1420, viscosity=10.0),
            "at 25 °C; viscosity falls with water content and temperature by powers of ten",
            {
                "bulk_modulus": "that of water stands in; it hardly matters",
                "density": f"{TYPICAL}; about 1400 to 1440 by water content",
                "viscosity": f"{TYPICAL}; falls with water content, Lazaridou et al.: J. Food Eng. 64 (2004) 9-21",
            },
        ),
    }


def _sands(laws: Mapping[str, Any]) -> dict[str, Known]:
    sources = {
        "E": f"10 to 30 MPa loose, 30 to 50 MPa medium, 50 to 80 MPa dense, {OBRZUD}",
        "nu": f"{TYPICAL}; 0.25 to 0.4",
        "friction_angle_deg": "at constant volume, quartz, Bolton: Géotechnique 36(1) (1986) 65-78; dense sand more",
    }
    sand = laws["Sand"]
    return {
        "dry sand": Known(
            sand(E=20e6, nu=0.3, density=1600, friction_angle_deg=33),
            "quartz, between loose and dense",
            {**sources, "density": f"{TYPICAL}; 1400 to 1800 from loose to dense"},
        ),
        "wet sand": Known(
            sand(E=20e6, nu=0.3, density=1650, friction_angle_deg=33, cohesion=600),
            "moist quartz sand with 3 % of water; dry and flooded sand have no cohesion",
            {
                **sources,
                "density": "that of dry sand, and its water",
                "cohesion": f"{TYPICAL}; saturates with water content, Richefeu et al.: Phys. Rev. E 73 (2006) 051304",
            },
        ),
    }


def _clays(laws: Mapping[str, Any]) -> dict[str, Known]:
    constants = {  # λ', κ', M, Γ at 1 kPa, density of grains [g/cm3]
        "London clay": (0.161, 0.062, 0.888, 2.759, 2.75),
        "Weald clay": (0.093, 0.035, 0.95, 2.060, 2.75),
        "kaolin": (0.26, 0.05, 1.02, 3.767, 2.61),
    }
    return {name: _clay(laws["CamClay"], *numbers) for name, numbers in constants.items()}


def _clay(law: Any, compression: float, swelling: float, slope: float, gamma: float, grains: float) -> Known:
    """A saturated clay that was pressed with 100 kPa: normally compressed, it is on the line that modified Cam clay has
    above its critical states, v = Γ + (λ' − κ') ln 2 − λ' ln p."""
    pressure, nu = 1e5, 0.3
    volume = gamma + (compression - swelling) * math.log(2) - compression * math.log(pressure / 1e3)
    stiffness = pressure * volume / swelling
    made = law(
        shear_modulus=3 * (1 - 2 * nu) / (2 * (1 + nu)) * stiffness,
        density=1000 * (grains + volume - 1) / volume,
        swelling=swelling / volume,
        compression=compression / volume,
        critical_slope=slope,
        preconsolidation=pressure,
    )
    return Known(
        made,
        f"remoulded, saturated, at a specific volume of {volume:.3g}, without excess of pore pressure (drained)",
        {
            "swelling": f"{TYPICAL}: κ' = {swelling} of the specific volume, {SCHOFIELD}, over {volume:.3g}",
            "compression": f"{TYPICAL}: λ' = {compression} of the specific volume, {SCHOFIELD}, over {volume:.3g}",
            "critical_slope": f"{TYPICAL}, {SCHOFIELD}",
            "density": f"{TYPICAL} of the grains, {grains} g/cm3, with water at the specific volume of Γ = {gamma} "
            f"(at 1 kPa), {SCHOFIELD}; below a water table, take 1000 kg/m3 off for the buoyancy",
            "shear_modulus": f"from the bulk modulus p/κ at 100 kPa with ν = {nu}; grows with depth",
            "preconsolidation": "100 kPa, some ten metres of ground: choose that of your site",
        },
    )


GLASS = "EN 572-1:2012, table 2"


def _brittle(laws: Mapping[str, Any]) -> dict[str, Known]:
    compressive, tensile = 38e6, 2.9e6
    angle = math.degrees(math.asin((compressive - tensile) / (compressive + tensile)))
    strengths = f"from the strengths 38 and -2.9 MPa, {EC2}"
    snows = {"snow": "reference", "ductile snow": "lower_hardening", "powder snow": "lower_young"}
    kept = ("E", "nu", "density", "critical_compression", "critical_stretch", "hardening")
    return {
        **{
            name: Known(
                laws["Snow"].preset(preset),
                f"the kind {preset!r} of the paper, chosen for films: real snow of 240 to 450 kg/m3 is hundreds of "
                f"times as stiff, E = 30 to 340 MPa, {CAPELLI}",
                dict.fromkeys(kept, SNOW),
            )
            for name, preset in snows.items()
        },
        "concrete": Known(
            laws["MohrCoulomb"](
                E=33e9,
                nu=0.2,
                density=2400,
                friction_angle_deg=angle,
                cohesion=math.sqrt(compressive * tensile) / 2,
            ),
            "hardened, C30/37, by its mean strengths; cracks do not soften it",
            {
                "E": EC2,
                "nu": f"{TYPICAL} of uncracked concrete",
                "density": f"{TYPICAL}; 2000 to 2600 kg/m3 is normal weight, EN 206-1",
                "friction_angle_deg": strengths,
                "cohesion": strengths,
            },
        ),
        "cracking concrete": Known(
            laws["Brittle"](E=33e9, nu=0.2, density=2400, tensile_strength=2.9e6, fracture_energy=140),
            "hardened, C30/37, in tension; it has no limit in compression; dx < 0.5 m",
            {
                "E": EC2,
                "nu": f"{TYPICAL} of uncracked concrete",
                "density": f"{TYPICAL}; 2000 to 2600 kg/m3 is normal weight, EN 206-1",
                "tensile_strength": EC2,
                "fracture_energy": f"{TYPICAL}, 73 f_cm^0.18 N/m with f_cm = 38 in MPa, fib Model Code 2010, 5.1.5.2",
            },
        ),
        "glass": Known(
            laws["Brittle"](E=70e9, nu=0.2, density=2500, tensile_strength=45e6, fracture_energy=8),
            "soda-lime silicate, annealed; strengths of single panes vary by half; dx < 0.27 mm",
            {
                "E": GLASS,
                "nu": GLASS,
                "density": GLASS,
                "tensile_strength": f"characteristic bending strength, {GLASS}",
                "fracture_energy": f"{TYPICAL}, from a toughness of 0.75 MPa m^1/2",
            },
        ),
    }
