/* SPDX-License-Identifier: MIT
 *
 * The sweep over tasks, groups and tiles, and the operations that both families have. The including file (sweep.c,
 * sweep_any.c) defines gather and scatter, and FAMILY(name), the exported name of an operation.
 */
#pragma once
#include "mpm/kernels/dissipation.h"
#include "mpm/kernels/rigid.h"
#include "mpm/kernels/strain_bound.h"

/* The pieces of operations, in this order for each tile. */
enum pieces {
    GATHER = 1,        /* v and C from the nodes */
    FORESEE = 2,       /* how far G2P would move and strain particles; the last piece of a dry run */
    COLLIDE = 4,       /* colliders deflect the particles within them */
    SUM = 8,           /* rigid bodies, added up; the last piece of its operation */
    PLACE = 16,        /* rigid bodies: x, v, C, F, stored; the last piece of its operation */
    STORE_MOTION = 32, /* v and C alone; the last piece of its operation */
    ADVANCE = 64,      /* F or J, x, history, stored with v and C */
    MEASURE = 128,     /* totals, limits, errors */
    SCATTER = 256,     /* momentum and stress to the nodes */

    P2G = SCATTER,
    G2P = GATHER | COLLIDE | ADVANCE | MEASURE,
    G2P2G = G2P | P2G
};

/* `inlines`: FAST laws are inlined. `dissipates`: the books of dissipation are kept. `corrects`: so are densities
 * (fill.c). */
INLINE void sweep_group(const mpm_sweep *sweep, const mpm_arguments *arguments, const mpm_group *group,
                        ptrdiff_t task, struct workspace *work, mpm_measure *result, struct durations dt,
                        const int law, const bool inlines, const unsigned pieces, const bool dissipates,
                        const bool corrects)
{
    const mpm_material *material = &sweep->materials[group->material];
    const int own = law == MPM_VARYING ? material->law : law;
    const bool keeps_J = law_keeps_J(own), inelastic = mpm_laws_inelastic(own);
    const int history = law_history(law, material);
    const bool gathers = pieces & GATHER, scatters = pieces & SCATTER, advances = pieces & ADVANCE;
    const bool fills = advances && keeps_J && corrects;
    const bool recomputes = !ANY_SCHEME || mpm_scheme_recomputes_velocity(&sweep->scheme);
    const bool defers = recomputes && (pieces & GATHER) && (pieces & SCATTER); /* as mpm_synchronize_defer expects */
    const mpm_f_update f_update = ANY_SCHEME ? sweep->scheme.f_update : MPM_F_LINEAR;
    const struct constants k = group_constants(sweep, dt, group);
    mpm_collider_book *books = sweep->colliders.books + (size_t)task * sweep->colliders.count;
    const bool collides = (pieces & COLLIDE) && sweep->colliders.count &&
                          MPM_KERNEL(collide_reaches)(&sweep->colliders, group, dt.ending, books);
    union law_parameters parameters = {0};
    struct tally tally;
    struct dissipation dissipation;
    struct run run;
    struct rigid_tally rigid_tally;
    prepare_law(law, &parameters, material);
    tally_begin(&tally);
    dissipation_begin(&dissipation);
    if (gathers)
        begin_gather(sweep, group, work, fills);
    if (scatters)
        run_begin(&run);
    if (scatters && !gathers)
        begin_sides(sweep, group, work);
    if (pieces & SUM)
        rigid_begin(&rigid_tally);

    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        struct tile tile;
        struct motion motion;
        wide fill;
        tile_load(&tile, sweep->particles, group->first_tile + t, keeps_J, !(gathers && recomputes));
        tile_prefetch(sweep->particles, group->first_tile + t + 1, keeps_J, defers);
        tile_load_history(&tile, sweep->particles, group->first_tile + t, material, history);
        if (gathers)
            motion = gather(sweep, work, &k, &tile, own, fills ? &fill : NULL);
        if (pieces & FORESEE) {
            note_advection(&tally, &motion);
            tally.least_det = wide_min(least_factor(&k, motion.gradient, keeps_J, f_update), tally.least_det);
            continue;
        }
        if (__builtin_expect(collides, 0))
            collide_and_copy(sweep, group, &tile, &motion, books);
        if (pieces & SUM) {
            rigid_add(sweep, arguments, group, group->first_tile + t, &tile, &rigid_tally);
            continue;
        }
        if (pieces & PLACE) {
            rigid_place(sweep, group, group->first_tile + t, &tile);
            const unsigned outside = arguments->rigid_place.ends_step ? find_outside(&k, &tile) : 0;
            if (outside)
                handle_outside(sweep, &k, &tile, &tally, outside, 0);
            tile_store(&tile, sweep->particles, group->first_tile + t, keeps_J, false);
            tile_store_history(&tile, sweep->particles, group->first_tile + t, material, history);
            continue;
        }
        if (pieces & STORE_MOTION) {
            tile_store_motion(&tile, sweep->particles, group->first_tile + t);
            continue;
        }
        if (advances) {
            note_advection(&tally, &motion);
            const wide J = tile.state.J;
            advance(&k, &tile, &motion, keeps_J, f_update);
            if (fills)
                tile.state.J = correct_density(sweep, &k, motion.gradient, tile.mass, fill, J, tile.state.J);
        }
        struct law_state trial;
        if (advances && __builtin_expect(dissipates, 0))
            trial = dissipation_trial(&tile, keeps_J);
        if (advances && inelastic)
            yield(&k, law, inlines, &parameters, &tile, &motion, history, &tally);
        if (!keeps_J)
            tile.state.J = matrix_det(tile.state.F);
        const struct law_evaluation evaluation = inlines ? inlined_evaluate(law, &parameters, tile.state, tile.C)
                                                         : evaluate_law(law, &parameters, tile.state, tile.C);
        if (advances && __builtin_expect(dissipates, 0))
            dissipate_copies(sweep, material, &k, &parameters, trial, tile, motion.gradient, evaluation,
                             group->first_tile + t);
        if (pieces & MEASURE)
            measure(sweep, &k, law, &tile, &evaluation, history, &tally, advances);
        if ((pieces & MEASURE) && __builtin_expect(dissipates, 0))
            dissipation_add_tile(sweep, material, k.row, tile, group->first_tile + t, &dissipation);
        if (advances)
            tile_store(&tile, sweep->particles, group->first_tile + t, keeps_J, defers);
        if (advances && inelastic)
            tile_store_history(&tile, sweep->particles, group->first_tile + t, material, history);
        if (scatters) {
            const ptrdiff_t left = group->count - t * WIDTH;
            scatter(sweep, work, &run, &k, &tile, &evaluation, left < WIDTH ? (int)left : WIDTH);
        }
        if (WIDTH == 1 && (pieces & MEASURE) && t % LONGEST_SUM == LONGEST_SUM - 1) {
            add_tally(result, &tally, sweep, group);
            tally_begin(&tally);
            if (dissipates)
                dissipation_add_group(result, &dissipation);
        }
    }
    if (pieces & SUM)
        sweep->rigid_sums[group - sweep->particles->groups] = rigid_sums_of(&rigid_tally);
    if (scatters)
        end_scatter(sweep, group, work, &run);
    if (pieces & (MEASURE | FORESEE | PLACE))
        add_tally(result, &tally, sweep, group);
    if ((pieces & MEASURE) && dissipates)
        dissipation_add_group(result, &dissipation);
}

/* The body of an operation: what it does to a group. */
typedef void group_body(const mpm_sweep *, const mpm_arguments *, const mpm_group *, ptrdiff_t task,
                        struct workspace *, mpm_measure *, struct durations, int law);

/* For each law, a body for this law alone, or NULL; in the second row those that also correct the density. */
typedef group_body *const fast_bodies[2][MPM_VARYING + 1];

INLINE void sweep_task(const mpm_sweep *sweep, struct durations dt, const mpm_arguments *arguments, ptrdiff_t task,
                       struct workspace *work, const unsigned pieces, fast_bodies fast, group_body *const any_law)
{
    const mpm_grid *grid = sweep->grid;
    const mpm_block_report *blocks = pieces & FORESEE ? arguments->dry_run.blocks : NULL;
    mpm_measure *result = &sweep->measures[task];
    *result = (mpm_measure){.least_det = 1};
    if ((pieces & COLLIDE) && sweep->colliders.count)
        memset(sweep->colliders.books + (size_t)task * sweep->colliders.count, 0,
               sweep->colliders.count * sizeof *sweep->colliders.books);
    if (pieces & SCATTER) {
        clear_copies(grid, MPM_GRID_VELOCITY, task);
        begin_scatter(work);
    }
    if (ANY_SCHEME && (pieces & SCATTER) && grid->copies[MPM_GRID_IMPULSE])
        clear_copies(grid, MPM_GRID_IMPULSE, task);
    for (int32_t g = grid->task_group[task]; g < grid->task_group[task + 1]; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
        const int law = mpm_material_kernel_law(&sweep->materials[group->material]);
        const bool rigid = law_row(sweep->materials[group->material].law)->rigid;
        if (rigid != ((pieces & (SUM | PLACE)) != 0)) /* their measures are those of the bodies (mpm/rigid_motion.c) */
            continue;
        if (blocks && strains_less(sweep, dt.ending, blocks, group, arguments->dry_run.enough))
            continue;
        const bool keeps_books = (pieces & MEASURE) && sweep->materials[group->material].dissipates;
        const bool corrects = pieces & ADVANCE && sweep->fill && law_keeps_J(sweep->materials[group->material].law);
        group_body *const own = fast[corrects][law], *const body = own && !keeps_books ? own : any_law;
        body(sweep, arguments, group, task, work, result, dt, law);
    }
}

#define BODY(name, law, inlines, pieces, dissipates, corrects) \
    NOINLINE void name(const mpm_sweep *sweep, const mpm_arguments *arguments, const mpm_group *group, ptrdiff_t task, \
                       struct workspace *work, mpm_measure *result, struct durations dt, int run_time_law) \
    { \
        (void)run_time_law; \
        sweep_group(sweep, arguments, group, task, work, result, dt, law, inlines, pieces, dissipates, corrects); \
    }

/* The standard scheme has a body for each FAST law in each operation of which a step consists. Each is a function of
 * its own: in one, they would take registers from each other, and the time to compile one grows faster than its
 * length. */
#if ANY_SCHEME
#define STANDARD_LAWS(X)
#else
#define STANDARD_LAWS MPM_LAWS
#endif
#define FAST_BODY(name, law, pieces) BODY(name, law, true, pieces, false, false)
#define FAST_ENTRY(name, law) [law] = name,
#define GENERAL_BODY(name, law, pieces)
#define GENERAL_ENTRY(name, law)
#define P2G_BODY(enumerator, name, kind, speed, tangent, piola) speed##_BODY(p2g_##name, enumerator, P2G)
#define G2P_BODY(enumerator, name, kind, speed, tangent, piola) speed##_BODY(g2p_##name, enumerator, G2P)
#define G2P2G_BODY(enumerator, name, kind, speed, tangent, piola) speed##_BODY(g2p2g_##name, enumerator, G2P2G)
#define P2G_ENTRY(enumerator, name, kind, speed, tangent, piola) speed##_ENTRY(p2g_##name, enumerator)
#define G2P_ENTRY(enumerator, name, kind, speed, tangent, piola) speed##_ENTRY(g2p_##name, enumerator)
#define G2P2G_ENTRY(enumerator, name, kind, speed, tangent, piola) speed##_ENTRY(g2p2g_##name, enumerator)
STANDARD_LAWS(P2G_BODY)
STANDARD_LAWS(G2P_BODY)
STANDARD_LAWS(G2P2G_BODY)

/* The only FAST law that keeps J; without the correction of the density, its bodies know nothing of it. */
#if ANY_SCHEME
#define G2P_CORRECTED
#define G2P2G_CORRECTED
#else
BODY(g2p_fluid_corrected, MPM_FLUID, true, G2P, false, true)
BODY(g2p2g_fluid_corrected, MPM_FLUID, true, G2P2G, false, true)
#define G2P_CORRECTED [MPM_FLUID] = g2p_fluid_corrected
#define G2P2G_CORRECTED [MPM_FLUID] = g2p2g_fluid_corrected
#endif

/* The operations of this family, compiled for their own pieces only; the last arguments hold their FAST bodies. The
 * body for any law also keeps the books of dissipation. */
#define OPERATION(name, ending, beginning, pieces, corrected, ...) \
    BODY(name##_any_law, run_time_law, ANY_SCHEME && (pieces) == G2P2G, pieces, \
         ((pieces) & MEASURE) && sweep->materials[group->material].dissipates, sweep->fill) \
    void FAMILY(name)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread) \
    { \
        static fast_bodies fast = {{__VA_ARGS__}, {corrected}}; \
        const struct durations dt = {ending, beginning}; \
        sweep_task(sweep, dt, arguments, task, sweep->workspaces[thread], pieces, fast, name##_any_law); \
    }
OPERATION(p2g, 0, arguments->p2g.dt, P2G, , STANDARD_LAWS(P2G_ENTRY))
OPERATION(g2p, arguments->g2p.dt, 0, G2P, G2P_CORRECTED, STANDARD_LAWS(G2P_ENTRY))
OPERATION(g2p2g, arguments->g2p2g.dt, arguments->g2p2g.next_dt, G2P2G, G2P2G_CORRECTED, STANDARD_LAWS(G2P2G_ENTRY))
OPERATION(measure, 0, 0, MEASURE, , )
OPERATION(dry_run, arguments->dry_run.dt, 0, GATHER | FORESEE, , )
OPERATION(synchronize, arguments->synchronize.dt, 0, GATHER | COLLIDE | STORE_MOTION, , )
OPERATION(rigid_sums, 0, 0, SUM, , )
OPERATION(rigid_place, 0, 0, PLACE, , )
