/* SPDX-License-Identifier: MIT
 *
 * Searches for particles: the one that limits the time step, and those in trouble. A search repeats the arithmetic of
 * the sweep that measured them. Searches are rare, so one body serves all laws and schemes.
 */
#define ANY_SCHEME 1
#include "transfer/particle_limits.h"

static void load(struct tile *tile, const mpm_sweep *sweep, const mpm_group *group, ptrdiff_t t)
{
    const mpm_material *material = &sweep->materials[group->material];
    const bool keeps_J = law_keeps_J(material->law);
    tile_load(tile, sweep->particles, group->first_tile + t, keeps_J, true);
    tile_load_history(tile, sweep->particles, group->first_tile + t, material,
                      law_history(mpm_material_kernel_law(material), material));
    if (!keeps_J)
        tile->state.J = matrix_det(tile->state.F);
}

static const int32_t *rows_of(const mpm_sweep *sweep, const mpm_group *group, ptrdiff_t t)
{
    return sweep->particles->row + (group->first_tile + t) * WIDTH;
}

static int32_t limit_in_group(const mpm_sweep *sweep, const mpm_group *group, mpm_maximum maximum, double least,
                              int32_t found)
{
    const mpm_material *material = &sweep->materials[group->material];
    const struct constants k = group_constants(sweep, (struct durations){0}, group);
    const int law = mpm_material_kernel_law(material);
    union law_parameters parameters = {0};
    prepare_law(law, &parameters, material);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        struct tile tile;
        load(&tile, sweep, group, t);
        const struct law_evaluation evaluation = evaluate_law(law, &parameters, tile.state, tile.C);
        const struct limits l = particle_limits(sweep, &k, &tile, &evaluation);
        const wide value = maximum == MPM_RATE2   ? l.rate2
                           : maximum == MPM_WAVE2 ? l.wave2
                           : maximum == MPM_SPEED ? l.speed
                                                  : l.gradient2;
        for (int q = 0; q < WIDTH; q++) {
            const int32_t row = rows_of(sweep, group, t)[q];
            if (row >= 0 && (double)wide_lane(value, q) >= least && (found < 0 || row < found))
                found = row;
        }
    }
    return found;
}

int32_t MPM_KERNEL(search_limit)(const mpm_sweep *sweep, mpm_maximum maximum, double least)
{
    int32_t found = -1;
    for (size_t g = 0; g < sweep->particles->group_count; g++)
        found = limit_in_group(sweep, &sweep->particles->groups[g], maximum, least, found);
    return found;
}

static void flag_group(const mpm_sweep *sweep, const mpm_group *group, uint8_t *flags)
{
    const mpm_material *material = &sweep->materials[group->material];
    const struct constants k = group_constants(sweep, (struct durations){0}, group);
    const int law = mpm_material_kernel_law(material);
    union law_parameters parameters = {0};
    prepare_law(law, &parameters, material);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        struct tile tile;
        load(&tile, sweep, group, t);
        const struct law_evaluation evaluation = evaluate_law(law, &parameters, tile.state, tile.C);
        const struct {
            unsigned lanes;
            enum mpm_flaw flaw;
        } found[] = {{find_bad_response(&tile, &evaluation), MPM_BAD_RESPONSE},
                     {find_outside(&k, &tile), MPM_OUTSIDE},
                     {find_out_of_range(&k, &tile), MPM_INVERTED},
                     {k.is_users ? find_not_finite(&tile, tile.state.history, k.history) : 0, MPM_NOT_FINITE}};
        for (size_t f = 0; f < sizeof found / sizeof *found; f++)
            for (int q = 0; q < WIDTH; q++) {
                const int32_t row = rows_of(sweep, group, t)[q];
                if (row >= 0 && (found[f].lanes >> q & 1))
                    flags[row] = (uint8_t)found[f].flaw;
            }
    }
}

void MPM_KERNEL(search_trouble)(const mpm_sweep *sweep, uint8_t *flags)
{
    for (size_t g = 0; g < sweep->particles->group_count; g++)
        flag_group(sweep, &sweep->particles->groups[g], flags);
}
