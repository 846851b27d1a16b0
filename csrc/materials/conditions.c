/* SPDX-License-Identifier: MIT */
#include "materials/conditions.h"

#include <math.h>

static const double SLACK = 1 - 1e-12; /* rounding, where a limit is computed from other parameters */
static const double DEGREE = 3.14159265358979323846 / 180;

static bool fluid_has_an_energy(const double *p)
{
    enum { GAMMA = 1 };
    return p[GAMMA] == -1 || p[GAMMA] >= 1;
}

static bool mooney_rivlin_is_polyconvex(const double *p)
{
    enum { C10, C01, BULK };
    return p[BULK] >= (4 * p[C10] + 16 * p[C01]) / 3 * SLACK;
}

static bool soil_dilates_at_most_by_friction(const double *p)
{
    enum { FRICTION = 2, DILATION };
    return p[DILATION] <= p[FRICTION];
}

static bool drucker_prager_parts_below_apex(const double *p)
{
    enum { FRICTION = 2, COHESION = 4, TENSION };
    return isinf(p[TENSION]) || p[TENSION] <= p[COHESION] / tan(p[FRICTION] * DEGREE);
}

static bool cam_clay_yields_softer(const double *p)
{
    enum { SWELLING = 1, COMPRESSION };
    return p[COMPRESSION] > p[SWELLING];
}

static bool mu_i_grows(const double *p)
{
    enum { MU_1 = 2, MU_2 };
    return p[MU_2] >= p[MU_1];
}

static bool viscoelastic_keeps_a_share(const double *p)
{
    enum { G_1 = 2, G_2 = 4 };
    return p[G_1] + p[G_2] < 1;
}

enum { OGDEN_BULK = 6 };

static bool ogden_terms_resist(const double *p)
{
    for (int term = 0; term < 3; term++)
        if (!(p[2 * term] * p[2 * term + 1] > 0 || (term && p[2 * term] == 0)))
            return false;
    return true;
}

static bool ogden_bulk_suffices(const double *p)
{
    return p[OGDEN_BULK] >= (p[0] * p[1] + p[2] * p[3] + p[4] * p[5]) / 3 * SLACK;
}

static bool johnson_cook_melts_above_reference(const double *p)
{
    enum { REFERENCE = 10, MELTING };
    return p[MELTING] > p[REFERENCE];
}

static const struct condition {
    int law;
    bool (*holds)(const double *values);
    const char *words;
} conditions[] = {
    {MPM_FLUID, fluid_has_an_energy, "gamma must be -1 or >= 1"},
    {MPM_MOONEY_RIVLIN, mooney_rivlin_is_polyconvex, "bulk_modulus must be >= 4/3 c10 + 16/3 c01"},
    {MPM_DRUCKER_PRAGER, soil_dilates_at_most_by_friction, "dilation_angle_deg must be <= friction_angle_deg"},
    {MPM_DRUCKER_PRAGER, drucker_prager_parts_below_apex, "tension must be <= cohesion/tan(friction_angle_deg)"},
    {MPM_MOHR_COULOMB, soil_dilates_at_most_by_friction, "dilation_angle_deg must be <= friction_angle_deg"},
    {MPM_CAM_CLAY, cam_clay_yields_softer, "compression must be > swelling"},
    {MPM_MU_I, mu_i_grows, "mu_2 must be >= mu_1"},
    {MPM_VISCOELASTIC, viscoelastic_keeps_a_share, "g_1 + g_2 must be < 1"},
    {MPM_OGDEN, ogden_terms_resist, "mu_1 alpha_1 must be > 0, and those of other terms > 0 or their modulus 0"},
    {MPM_OGDEN, ogden_bulk_suffices, "bulk_modulus must be >= 2/3 of the shear modulus"},
    {MPM_JOHNSON_COOK, johnson_cook_melts_above_reference, "melting_temperature must be > reference_temperature"},
};

const char *mpm_conditions_broken(int law, const double *values)
{
    for (size_t k = 0; k < sizeof conditions / sizeof *conditions; k++)
        if (conditions[k].law == law && !conditions[k].holds(values))
            return conditions[k].words;
    return NULL;
}
