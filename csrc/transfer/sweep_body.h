/* SPDX-License-Identifier: MIT
 *
 * The sweep itself, over the gather and scatter that the including file has defined (sweep.c, sweep_any.c): groups,
 * tasks, modes, and the search for the particle that limits the time step, which must compute limits as the sweep does.
 */
#pragma once

/* One lane alone that adds up a whole group loses digits which many lanes keep, so it hands on what it has after so
 * many particles. */
enum { LONGEST_SUM = 32 };

INLINE void sweep_group(const mpm_sweep *sweep, const mpm_group *group, ptrdiff_t task, struct workspace *work,
                        mpm_measure *result, const int law, const unsigned mode)
{
    const bool keeps_J = law_keeps_J(law), inelastic = mpm_laws_inelastic(law);
    const int history = law_history(law);
    const mpm_material *material = &sweep->materials[group->material];
    const bool gathers = mode & (MPM_GATHER | MPM_PROBE | MPM_RECALL);
    const bool forgets = !ANY_SCHEME || mpm_scheme_forgets(&sweep->scheme);
    const bool lean = forgets && (mode & MPM_GATHER) && (mode & MPM_SCATTER); /* mpm_sweep_is_lean, when compiled */
    const bool cayley = ANY_SCHEME && sweep->scheme.cayley;
    const struct constants k = group_constants(sweep, group);
    mpm_collider_book *books = sweep->colliders.books + (size_t)task * sweep->colliders.count;
    const bool collides = (mode & (MPM_GATHER | MPM_RECALL)) && sweep->colliders.count &&
                          MPM_KERNEL(collide_reaches)(&sweep->colliders, group, sweep->gather_dt, books);
    union law_parameters parameters = {0};
    struct tally tally;
    struct run run;
    prepare_law(law, &parameters, material->values);
    tally_begin(&tally);
    if (gathers)
        begin_gather(sweep, group, work);
    if (mode & MPM_SCATTER)
        run_begin(&run);

    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        struct tile tile;
        struct motion motion;
        tile_load(&tile, sweep->particles, group->first_tile + t, keeps_J, !(gathers && forgets));
        tile_prefetch(sweep->particles, group->first_tile + t + 1, keeps_J, lean);
        tile_load_history(&tile, sweep->particles, group->first_tile + t, material, history);
        if (gathers)
            motion = gather(sweep, work, &k, &tile, law);
        if (mode & MPM_PROBE) {
            note_motion(&tally, &motion);
            tally.least_det = wide_min(least_factor(&k, motion.gradient, cayley), tally.least_det);
            continue;
        }
        if (__builtin_expect(collides, 0))
            collide_and_copy(sweep, group, &tile, &motion, books);
        if (mode & MPM_RECALL) {
            tile_store_motion(&tile, sweep->particles, group->first_tile + t);
            continue;
        }
        if (mode & MPM_GATHER) {
            note_motion(&tally, &motion);
            advance(&k, &tile, &motion, keeps_J, cayley);
        }
        if ((mode & MPM_GATHER) && inelastic)
            yield(&k, law, &parameters, &tile, &motion, &tally);
        if (!keeps_J)
            tile.state.J = matrix_det(tile.state.F);
        const struct law_response response = respond(law, &parameters, tile.state, tile.C);
        if (mode & MPM_MEASURE)
            measure(sweep, &k, &tile, &response, &tally, mode & MPM_GATHER);
        if (mode & MPM_GATHER)
            tile_store(&tile, sweep->particles, group->first_tile + t, keeps_J, lean);
        if ((mode & MPM_GATHER) && inelastic)
            tile_store_history(&tile, sweep->particles, group->first_tile + t, material, history);
        if (mode & MPM_SCATTER) {
            const ptrdiff_t left = group->count - t * WIDTH;
            scatter(sweep, work, &run, &k, &tile, &response, left < WIDTH ? (int)left : WIDTH);
        }
        if (WIDTH == 1 && (mode & MPM_MEASURE) && t % LONGEST_SUM == LONGEST_SUM - 1) {
            add_tally(result, &tally, sweep, group);
            tally_begin(&tally);
        }
    }
    if (mode & MPM_SCATTER)
        end_scatter(sweep, group, work, &run);
    if (mode & (MPM_MEASURE | MPM_PROBE))
        add_tally(result, &tally, sweep, group);
}

static void clear_copies(const mpm_grid *grid, void *copies, ptrdiff_t task)
{
    const size_t node = 4 * sizeof(real), block = MPM_BLOCK_NODES * node;
    memset((char *)copies + (size_t)grid->task_copy[task] * block, 0,
           (size_t)(grid->task_copy[task + 1] - grid->task_copy[task]) * block);
}

/* Do the nodes around a group differ so much in velocity that a particle of it might be turned inside out? */
static bool may_invert(const mpm_sweep *sweep, const mpm_group *group)
{
    double low[3] = {0}, high[3] = {0}, range[3];
    for (int k = 0; k < MPM_NEIGHBOURS; k++) {
        if ((DIM == 2 && k >= 9) || group->node_block[k] < 0)
            continue;
        const mpm_block_report *report = &sweep->inversion[group->node_block[k]];
        for (int a = 0; a < DIM; a++) {
            low[a] = low[a] < report->lowest[a] ? low[a] : report->lowest[a];
            high[a] = high[a] > report->highest[a] ? high[a] : report->highest[a];
        }
    }
    for (int a = 0; a < 3; a++)
        range[a] = high[a] - low[a];
    return mpm_sweep_may_invert(range, sweep->gather_dt / sweep->dx, DIM);
}

INLINE void sweep_groups(const mpm_sweep *sweep, ptrdiff_t task, struct workspace *work, const unsigned mode)
{
    const mpm_grid *grid = sweep->grid;
    mpm_measure *result = &sweep->measures[task];
    *result = (mpm_measure){.least_det = 1};
    if ((mode & (MPM_GATHER | MPM_RECALL)) && sweep->colliders.count)
        memset(sweep->colliders.books + (size_t)task * sweep->colliders.count, 0,
               sweep->colliders.count * sizeof *sweep->colliders.books);
    if (mode & MPM_SCATTER) {
        clear_copies(grid, grid->copies, task);
        begin_scatter(work);
    }
    if (ANY_SCHEME && (mode & MPM_SCATTER) && grid->impulse_copies)
        clear_copies(grid, grid->impulse_copies, task);
    for (int32_t g = grid->task_group[task]; g < grid->task_group[task + 1]; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
        const int law = sweep->materials[group->material].law;
        if ((mode & MPM_PROBE) && sweep->inversion && !may_invert(sweep, group))
            continue;
        if (ANY_SCHEME || mode & (MPM_PROBE | MPM_RECALL)) { /* one body for all laws: large, or not about them */
            sweep_group(sweep, group, task, work, result, law, mode);
            continue;
        }
        switch (law) {
#define CASE(enumerator, name, kind) \
    case enumerator: \
        sweep_group(sweep, group, task, work, result, enumerator, mode); \
        break;
            MPM_LAWS(CASE)
#undef CASE
        }
    }
}

/* One function per mode, so that each is compiled for its own pieces only. */
#define SWEEP_MODE(name, mode) \
    NOINLINE void name(const mpm_sweep *sweep, ptrdiff_t task, struct workspace *work) \
    { \
        sweep_groups(sweep, task, work, mode); \
    }
SWEEP_MODE(sweep_fused, MPM_GATHER | MPM_MEASURE | MPM_SCATTER)
SWEEP_MODE(sweep_gather, MPM_GATHER | MPM_MEASURE)
SWEEP_MODE(sweep_scatter, MPM_SCATTER)
SWEEP_MODE(sweep_measure, MPM_MEASURE)
SWEEP_MODE(sweep_probe, MPM_PROBE)
SWEEP_MODE(sweep_recall, MPM_RECALL)

static void sweep_by_mode(const mpm_sweep *sweep, ptrdiff_t task, struct workspace *work)
{
    switch (sweep->mode) {
    case MPM_GATHER | MPM_MEASURE | MPM_SCATTER:
        sweep_fused(sweep, task, work);
        break;
    case MPM_GATHER | MPM_MEASURE:
        sweep_gather(sweep, task, work);
        break;
    case MPM_SCATTER:
        sweep_scatter(sweep, task, work);
        break;
    case MPM_MEASURE:
        sweep_measure(sweep, task, work);
        break;
    case MPM_PROBE:
        sweep_probe(sweep, task, work);
        break;
    case MPM_RECALL:
        sweep_recall(sweep, task, work);
        break;
    }
}

static real limit_of_lane(const struct limits *l, int which, int q)
{
    const wide *all[] = {&l->rate2, &l->wave2, &l->speed, &l->gradient2};
    return wide_lane(*all[which], q);
}

INLINE int32_t find_limit_in_group(const mpm_sweep *sweep, const mpm_group *group, const int law, int which,
                                   int32_t found)
{
    const bool keeps_J = law_keeps_J(law);
    const mpm_material *material = &sweep->materials[group->material];
    const struct constants k = group_constants(sweep, group);
    const mpm_measure *most = &sweep->measures[0];
    const double limit = which == 0 ? most->rate2 : which == 1 ? most->wave2 : which == 2 ? most->speed : most->gradient2;
    union law_parameters parameters = {0};
    prepare_law(law, &parameters, material->values);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        struct tile tile;
        tile_load(&tile, sweep->particles, group->first_tile + t, keeps_J, true);
        tile_load_history(&tile, sweep->particles, group->first_tile + t, material, law_history(law));
        if (!keeps_J)
            tile.state.J = matrix_det(tile.state.F);
        const struct law_response response = respond(law, &parameters, tile.state, tile.C);
        const struct limits l = particle_limits(sweep, &k, &tile, &response);
        for (int q = 0; q < WIDTH; q++) {
            const int32_t row = sweep->particles->row[(group->first_tile + t) * WIDTH + q];
            if (row >= 0 && (double)limit_of_lane(&l, which, q) >= limit && (found < 0 || row < found))
                found = row;
        }
    }
    return found;
}

static int32_t find_limit(const mpm_sweep *sweep, int which)
{
    int32_t found = -1;
    for (size_t g = 0; g < sweep->particles->group_count; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
        switch (sweep->materials[group->material].law) {
#define CASE(enumerator, name, kind) \
    case enumerator: \
        found = find_limit_in_group(sweep, group, enumerator, which, found); \
        break;
            MPM_LAWS(CASE)
#undef CASE
        }
    }
    return found;
}
