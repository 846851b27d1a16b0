/* SPDX-License-Identifier: MIT
 *
 * Searches for particles: the one that limits the time step, and those at fault. A search repeats the arithmetic of
 * the sweep that measured them. Searches are rare, so one body serves all laws and schemes.
 */
#define ANY_SCHEME 1
#include "mpm/kernels/particle_limits.h"

/* A group, prepared for the evaluation of its particles. */
struct searched {
    const mpm_sweep *sweep;
    const mpm_group *group;
    const mpm_material *material;
    struct constants k;
    int law; /* by which kernels call it */
    int history; /* its components */
    union law_parameters parameters;
};

static struct searched prepare(const mpm_sweep *sweep, const mpm_group *group)
{
    const mpm_material *material = &sweep->materials[group->material];
    const int law = mpm_material_kernel_law(material);
    struct searched s = {.sweep = sweep,
                         .group = group,
                         .material = material,
                         .k = group_constants(sweep, (struct durations){0}, group),
                         .law = law,
                         .history = law_history(law, material)};
    prepare_law(law, &s.parameters, material);
    return s;
}

/* Loads a tile and evaluates its law. */
static struct law_evaluation evaluate(const struct searched *s, ptrdiff_t t, struct tile *tile)
{
    const bool keeps_J = law_keeps_J(s->material->law);
    tile_load(tile, s->sweep->particles, s->group->first_tile + t, keeps_J, true);
    tile_load_history(tile, s->sweep->particles, s->group->first_tile + t, s->material, s->history);
    if (!keeps_J)
        tile->state.J = matrix_det(tile->state.F);
    return evaluate_law(s->law, &s->parameters, tile->state, tile->C);
}

static const int32_t *rows_of(const struct searched *s, ptrdiff_t t)
{
    return s->sweep->particles->row + (s->group->first_tile + t) * WIDTH;
}

static int32_t limit_in_group(const struct searched *s, mpm_maximum maximum, double least, int32_t found)
{
    for (ptrdiff_t t = 0; t < s->group->tiles; t++) {
        struct tile tile;
        const struct law_evaluation evaluation = evaluate(s, t, &tile);
        const struct limits l = particle_limits(s->sweep, &s->k, &tile, &evaluation);
        const wide value = maximum == MPM_RATE2   ? l.rate2
                           : maximum == MPM_WAVE2 ? l.wave2
                           : maximum == MPM_SPEED ? l.speed
                                                  : l.gradient2;
        for (int q = 0; q < WIDTH; q++) {
            const int32_t row = rows_of(s, t)[q];
            if (row >= 0 && (double)wide_lane(value, q) >= least && (found < 0 || row < found))
                found = row;
        }
    }
    return found;
}

int32_t MPM_KERNEL(search_limit)(const mpm_sweep *sweep, mpm_maximum maximum, double least)
{
    int32_t found = -1;
    for (size_t g = 0; g < sweep->particles->group_count; g++) {
        const struct searched searched = prepare(sweep, &sweep->particles->groups[g]);
        found = limit_in_group(&searched, maximum, least, found);
    }
    return found;
}

/* The particles whose leaving is an error. Others that are outside meet their fate in the next step. */
static unsigned find_escaped(const struct searched *s, const struct tile *tile)
{
    unsigned escaped = find_outside(&s->k, tile);
    for (int q = 0; q < WIDTH; q++)
        if (escaped >> q & 1 && leave_fate(s->sweep, &s->k, tile, q) != MPM_LEAVE_RAISE)
            escaped &= ~(1u << q);
    return escaped;
}

/* Of several flaws of a particle, the last of the list is noted. */
static void flag_group(const struct searched *s, uint8_t *flags)
{
    for (ptrdiff_t t = 0; t < s->group->tiles; t++) {
        struct tile tile;
        const struct law_evaluation evaluation = evaluate(s, t, &tile);
        const unsigned broken = find_broken(s->law, &tile, &evaluation, s->history);
        const struct {
            unsigned lanes;
            enum mpm_flaw flaw;
        } found[] = {{find_bad_response(&tile, &evaluation), MPM_BAD_RESPONSE},
                     {find_escaped(s, &tile) & ~broken, MPM_OUTSIDE},
                     {find_out_of_range(&s->k, &tile), MPM_INVERTED},
                     {s->law == MPM_USER ? find_bad_state(&tile, s->history) : 0, MPM_NOT_FINITE}};
        for (size_t f = 0; f < sizeof found / sizeof *found; f++)
            for (int q = 0; q < WIDTH; q++) {
                const int32_t row = rows_of(s, t)[q];
                if (row >= 0 && (found[f].lanes >> q & 1))
                    flags[row] = (uint8_t)found[f].flaw;
            }
    }
}

void MPM_KERNEL(search_faults)(const mpm_sweep *sweep, uint8_t *flags)
{
    for (size_t g = 0; g < sweep->particles->group_count; g++) {
        const struct searched searched = prepare(sweep, &sweep->particles->groups[g]);
        flag_group(&searched, flags);
    }
}
