/* SPDX-License-Identifier: MIT
 *
 * The sweep: everything a step does to particles, tile by tile. See kernels.h for its modes.
 *
 *     v = sum w v_i,  C = 4/h^2 sum w v_i (x_i - x)^T               G2P, quadratic B-spline (APIC: Jiang et al. 2015)
 *     F <- (I + dt C) F  or  J <- det(I + dt C) J,  x <- x + dt v;  the return map of a plastic law
 *     p_i += w [m v + (m C - dt V0 4/h^2 tau(F)) (x_i - x)]         P2G (MLS-MPM: Hu et al. 2018)
 */
#include "materials/fixed_corotated.h"
#include "materials/fluid.h"
#include "materials/neo_hookean.h"
#include "materials/snow.h"
#include "transfer/arena.h"
#ifdef MPM_ONE_LANE
#include "transfer/stencil_scalar.h"
#else
#include "transfer/stencil_rows.h"
#endif
#include "transfer/tile.h"

union law_parameters {
#define MEMBER(enumerator, name) struct name name;
    MPM_LAWS(MEMBER)
#undef MEMBER
};

/* `law` is a constant wherever these are inlined, so that the switch disappears. */
INLINE void prepare_law(const int law, union law_parameters *parameters, const double *values)
{
    switch (law) {
#define CASE(enumerator, name) \
    case enumerator: \
        parameters->name = name##_prepare(values); \
        break;
        MPM_LAWS(CASE)
#undef CASE
    }
}

INLINE struct law_response respond(const int law, const union law_parameters *parameters, struct law_state state,
                                   matrix C)
{
    switch (law) {
#define CASE(enumerator, name) \
    case enumerator: \
        return name##_respond(&parameters->name, state, C);
        MPM_LAWS(CASE)
#undef CASE
    }
    __builtin_unreachable();
}

/* Returns the lanes whose plastic state had to be held within its limits. */
INLINE mask return_map(const int law, const union law_parameters *parameters, struct law_state *state)
{
    switch (law) {
#define CASE(enumerator, name) \
    case enumerator: \
        return name##_return_map(&parameters->name, state);
        MPM_PLASTIC_LAWS(CASE)
#undef CASE
    }
    __builtin_unreachable();
}

/* Sums and maxima of a group, one particle per lane, positions in cells from the block's first node. */
struct tally {
    wide mass, momentum[DIM], moment[DIM], angular_momentum[3], kinetic, elastic;
    wide rate2, wave2, speed, gradient2, least_det;
    int64_t outside, out_of_range, clipped;
};

struct constants {
    wide gather_dt, gather_dt_cells; /* dt, dt/h */
    wide four_over_h, h, h_over_4, inverse_h2;
    wide stress;                     /* -4 dt/h of the step to come */
    wide lowest[DIM], highest[DIM];  /* where particles may be, in cells from the block's first node */
    wide J_low, J_high;
};

static void tally_begin(struct tally *tally)
{
    memset(tally, 0, sizeof *tally);
    tally->least_det = wide_set(1);
}

/* ---- the pieces of a sweep ------------------------------------------------------------------------------------ */

/* Velocity and its gradient from the grid; frozen particles (mass 0) do not move. */
INLINE void gather_velocity(struct stencil *stencil, const real *arena, const struct constants *k, struct tile *tile)
{
    wide moment[DIM][DIM];
    stencil_prepare(stencil, tile->x);
    stencil_gather(stencil, arena, tile->v, moment);
    const wide *d = stencil_middle(stencil), zero = wide_set(0);
    const mask alive = wide_less(zero, tile->mass);
    UNROLL for (int b = 0; b < DIM; b++) {
        UNROLL for (int a = 0; a < DIM; a++)
            tile->C.m[b][a] =
                wide_select(alive, k->four_over_h * wide_fnma(d[a], tile->v[b], moment[a][b]), zero);
        tile->v[b] = wide_select(alive, tile->v[b], zero);
    }
}

INLINE wide volume_factor(const struct constants *k, const struct tile *tile)
{
    return matrix_det(matrix_add_diagonal(matrix_scale(k->gather_dt, tile->C), wide_set(1)));
}

/* Moves the particles and their strain. */
INLINE void advance(const struct constants *k, struct tile *tile, const bool fluid)
{
    if (fluid)
        tile->state.J = tile->state.J * volume_factor(k, tile);
    else
        tile->state.F = matrix_advance(k->gather_dt, tile->C, tile->state.F);
    UNROLL for (int a = 0; a < DIM; a++)
        tile->x[a] = wide_fma(k->gather_dt_cells, tile->v[a], tile->x[a]);
}

/* The trial F back onto the yield surface. Padding is never clipped: it holds a state at rest. */
INLINE void yield(const int law, const union law_parameters *parameters, struct tile *tile, struct tally *tally)
{
    tally->clipped += __builtin_popcount(mask_bits(return_map(law, parameters, &tile->state)));
}

/* Particles that have left the domain: counted, and under on_leave put back onto the face or frozen. */
NOINLINE void handle_outside(const struct mpm_sweep *sweep, const struct constants *k, struct tile *tile,
                             struct tally *tally, unsigned outside)
{
    tally->outside += __builtin_popcount(outside);
    for (int q = 0; q < WIDTH; q++) {
        if (!(outside >> q & 1))
            continue;
        if (sweep->on_leave == MPM_LEAVE_CLAMP) {
            for (int a = 0; a < DIM; a++) {
                real *x = (real *)&tile->x[a] + q;
                const real low = wide_lane(k->lowest[a], q) + (real)ARENA_WALL_ROOM;
                const real high = wide_lane(k->highest[a], q) - (real)ARENA_WALL_ROOM;
                *x = *x < low ? low : *x > high ? high : *x;
            }
        } else if (sweep->on_leave == MPM_LEAVE_DELETE) {
            ((real *)&tile->mass)[q] = 0;
            ((real *)&tile->volume)[q] = 0;
            for (int b = 0; b < DIM; b++) {
                ((real *)&tile->v[b])[q] = 0;
                for (int a = 0; a < DIM; a++)
                    ((real *)&tile->C.m[b][a])[q] = 0;
            }
            tile->mass_changed = true;
        }
    }
}

INLINE unsigned find_outside(const struct constants *k, const struct tile *tile)
{
    mask inside = wide_less(wide_set(0), tile->mass), alive = inside;
    UNROLL for (int a = 0; a < DIM; a++)
        inside &= wide_less_equal(k->lowest[a], tile->x[a]) & wide_less_equal(tile->x[a], k->highest[a]);
    return mask_bits(alive) & ~mask_bits(inside);
}

INLINE unsigned find_out_of_range(const struct constants *k, const struct tile *tile)
{
    const mask alive = wide_less(wide_set(0), tile->mass);
    return mask_bits(alive) &
           ~mask_bits(wide_less_equal(k->J_low, tile->state.J) & wide_less_equal(tile->state.J, k->J_high));
}

/* The limits of every particle: 1/dt^2 of the isolated bound, squared wave speed, speed, squared gradient. */
struct limits {
    wide rate2, wave2, speed, gradient2;
};

INLINE struct limits particle_limits(const struct constants *k, const struct tile *tile,
                                     const struct law_response *response, const bool fluid)
{
    const wide zero = wide_set(0);
    const mask alive = wide_less(zero, tile->mass);
    const wide volume_per_mass = tile->volume / wide_select(alive, tile->mass, wide_set(1));
    struct limits l;
    /* isolated particle: dt^2 S V/(m h^2) <= 1; with viscosity dt^2 a + dt b <= 1 */
    wide a = volume_per_mass * response->isolated * k->inverse_h2;
    l.rate2 = a;
    if (fluid) {
        wide b = volume_per_mass * response->damping * k->inverse_h2;
        wide rate = wide_set((real)0.5) * (b + wide_sqrt(wide_fma(b, b, wide_set(4) * wide_max(a, zero))));
        l.rate2 = rate * rate;
    }
    l.rate2 = wide_select(alive, l.rate2, zero);
    l.wave2 = wide_select(alive, volume_per_mass * response->wave, zero);
    l.speed = zero;
    UNROLL for (int b = 0; b < DIM; b++)
        l.speed = wide_max(wide_abs(tile->v[b]), l.speed);
    l.gradient2 = matrix_dot(tile->C, tile->C);
    return l;
}

INLINE void measure(const struct mpm_sweep *sweep, const struct constants *k, struct tile *tile,
                    const struct law_response *response, struct tally *tally, const bool fluid, const bool moved)
{
    const wide m = tile->mass;
    const wide *v = tile->v, *x = tile->x;
    const wide(*C)[DIM] = (const wide(*)[DIM])tile->C.m;
    if (moved) {
        unsigned outside = find_outside(k, tile);
        if (__builtin_expect(outside, 0))
            handle_outside(sweep, k, tile, tally, outside);
    }
    tally->out_of_range += __builtin_popcount(find_out_of_range(k, tile));

    struct limits l = particle_limits(k, tile, response, fluid);
    tally->rate2 = wide_max(l.rate2, tally->rate2);
    tally->wave2 = wide_max(l.wave2, tally->wave2);
    tally->speed = wide_max(l.speed, tally->speed);
    tally->gradient2 = wide_max(l.gradient2, tally->gradient2);

    wide v2 = v[0] * v[0];
    UNROLL for (int a = 1; a < DIM; a++)
        v2 = wide_fma(v[a], v[a], v2);
    tally->mass += m;
    UNROLL for (int a = 0; a < DIM; a++) {
        tally->momentum[a] = wide_fma(m, v[a], tally->momentum[a]);
        tally->moment[a] = wide_fma(m, x[a], tally->moment[a]);
    }
    /* x cross v and the spin h^2/4 eps:C of the affine velocity, both over h */
    UNROLL for (int c = DIM == 3 ? 0 : 2; c < 3; c++) {
        const int a = (c + 1) % 3, b = (c + 2) % 3;
        wide spin = k->h_over_4 * (C[b][a] - C[a][b]);
        tally->angular_momentum[c] =
            wide_fma(m, wide_fma(x[a], v[b], wide_fnma(x[b], v[a], spin)), tally->angular_momentum[c]);
    }
    /* m/2 (v^2 + h^2/4 |C|^2) */
    wide affine = k->h * k->h_over_4 * l.gradient2;
    tally->kinetic = wide_fma(m, v2 + affine, tally->kinetic);
    tally->elastic = wide_fma(tile->volume, response->energy, tally->elastic);
}

INLINE void scatter(struct stencil *stencil, struct run *run, real *arena, const struct constants *k,
                    const struct tile *tile, const struct law_response *response, int count)
{
    const wide h_mass = k->h * tile->mass, stress = k->stress * tile->volume;
    wide Q[DIM], A[DIM][DIM];
    stencil_prepare(stencil, tile->x);
    const wide *d = stencil_middle(stencil);
    UNROLL for (int b = 0; b < DIM; b++) {
        Q[b] = tile->mass * tile->v[b];
        UNROLL for (int a = 0; a < DIM; a++) {
            A[a][b] = wide_fma(h_mass, tile->C.m[b][a], stress * response->tau.m[b][a]);
            Q[b] = wide_fnma(A[a][b], d[a], Q[b]);
        }
    }
    stencil_scatter(stencil, run, arena, count, Q, tile->mass, A);
}

/* ---- groups and tasks ----------------------------------------------------------------------------------------- */

struct workspace {
    struct arenas arenas;
    struct stencil stencil;
};

static struct constants group_constants(const mpm_sweep *sweep, const mpm_group *group)
{
    const mpm_law *law = mpm_laws_get(sweep->materials[group->material].law);
    const double h = sweep->dx, room = ARENA_WALL_ROOM;
    struct constants k = {
        .gather_dt = wide_set((real)sweep->gather_dt),
        .gather_dt_cells = wide_set((real)(sweep->gather_dt / h)),
        .four_over_h = wide_set((real)(4 / h)),
        .h = wide_set((real)h),
        .h_over_4 = wide_set((real)(h / 4)),
        .inverse_h2 = wide_set((real)(1 / (h * h))),
        .stress = wide_set((real)(-4 * sweep->scatter_dt / h)),
        .J_low = wide_set((real)law->J_low),
        .J_high = wide_set((real)law->J_high),
    };
    for (int a = 0; a < DIM; a++) {
        const double first = (double)group->block[a] * BLOCK_SIDE;
        k.lowest[a] = wide_set((real)(-first - room));
        k.highest[a] = wide_set((real)((double)sweep->cells[a] - first + room));
    }
    return k;
}

/* The tally of a group, in the units of mpm_measure, added to that of its task. */
static void add_tally(mpm_measure *measure, const struct tally *t, const mpm_sweep *sweep, const mpm_group *group)
{
    double origin[3] = {0}, momentum[3] = {0}, mass = wide_sum(t->mass);
    for (int a = 0; a < DIM; a++) {
        origin[a] = sweep->lower[a] + (double)group->block[a] * BLOCK_SIDE * sweep->dx;
        momentum[a] = wide_sum(t->momentum[a]);
        measure->momentum[a] += momentum[a];
        measure->moment[a] += mass * origin[a] + sweep->dx * wide_sum(t->moment[a]);
    }
    for (int c = DIM == 3 ? 0 : 2; c < 3; c++) {
        const int a = (c + 1) % 3, b = (c + 2) % 3;
        measure->angular_momentum[c] += origin[a] * momentum[b] - origin[b] * momentum[a] +
                                        sweep->dx * wide_sum(t->angular_momentum[c]);
    }
    measure->mass += mass;
    measure->kinetic += 0.5 * wide_sum(t->kinetic);
    measure->elastic += wide_sum(t->elastic);
#define LARGEST(member) \
    do { \
        double largest = wide_largest(t->member); \
        measure->member = measure->member > largest ? measure->member : largest; \
    } while (0)
    LARGEST(rate2);
    LARGEST(wave2);
    LARGEST(speed);
    LARGEST(gradient2);
#undef LARGEST
    double least = -wide_largest(-t->least_det);
    measure->least_det = measure->least_det < least ? measure->least_det : least;
    measure->outside += t->outside;
    measure->out_of_range += t->out_of_range;
    measure->clipped += t->clipped;
}

INLINE void sweep_group(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work, mpm_measure *result,
                        const int law, const unsigned mode)
{
    const bool fluid = law == MPM_FLUID, plastic = mpm_laws_plastic(law);
    const bool gathers = mode & (MPM_GATHER | MPM_PROBE);
    const struct constants k = group_constants(sweep, group);
    real *velocity = work->arenas.velocity + ARENA_SLACK, *momentum = work->arenas.momentum + ARENA_SLACK;
    union law_parameters parameters = {0};
    struct tally tally;
    struct run run;
    prepare_law(law, &parameters, sweep->materials[group->material].values);
    tally_begin(&tally);
    if (gathers)
        arena_read(velocity, group, sweep->grid->velocity);
    if (mode & MPM_SCATTER)
        run_begin(&run);

    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        struct tile tile;
        tile_load(&tile, sweep->particles, group->first_tile + t, fluid, !gathers);
        if (plastic)
            tile_load_plastic(&tile, sweep->particles, group->first_tile + t);
        if (gathers)
            gather_velocity(&work->stencil, velocity, &k, &tile);
        if (mode & MPM_PROBE) {
            tally.least_det = wide_min(volume_factor(&k, &tile), tally.least_det);
            continue;
        }
        if (mode & MPM_GATHER)
            advance(&k, &tile, fluid);
        if ((mode & MPM_GATHER) && plastic)
            yield(law, &parameters, &tile, &tally);
        if (!fluid)
            tile.state.J = matrix_det(tile.state.F);
        const struct law_response response = respond(law, &parameters, tile.state, tile.C);
        if (mode & MPM_MEASURE)
            measure(sweep, &k, &tile, &response, &tally, fluid, mode & MPM_GATHER);
        if (mode & MPM_GATHER)
            tile_store(&tile, sweep->particles, group->first_tile + t, fluid);
        if ((mode & MPM_GATHER) && plastic)
            tile_store_plastic(&tile, sweep->particles, group->first_tile + t);
        if (mode & MPM_SCATTER) {
            const ptrdiff_t left = group->count - t * WIDTH;
            scatter(&work->stencil, &run, momentum, &k, &tile, &response, left < WIDTH ? (int)left : WIDTH);
        }
    }
    if (mode & MPM_SCATTER) {
        run_end(&run, momentum);
        arena_add(momentum, group, sweep->grid->copies);
    }
    if (mode & (MPM_MEASURE | MPM_PROBE))
        add_tally(result, &tally, sweep, group);
}

INLINE void sweep_groups(const mpm_sweep *sweep, ptrdiff_t task, struct workspace *work, const unsigned mode)
{
    const mpm_grid *grid = sweep->grid;
    mpm_measure *result = &sweep->measures[task];
    *result = (mpm_measure){.least_det = 1};
    if (mode & MPM_SCATTER)
        memset((real *)grid->copies + (size_t)grid->task_copy[task] * MPM_BLOCK_NODES * 4, 0,
               (size_t)(grid->task_copy[task + 1] - grid->task_copy[task]) * MPM_BLOCK_NODES * 4 * sizeof(real));
    for (int32_t g = grid->task_group[task]; g < grid->task_group[task + 1]; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
        switch (sweep->materials[group->material].law) {
#define CASE(enumerator, name) \
    case enumerator: \
        sweep_group(sweep, group, work, result, enumerator, mode); \
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

extern const size_t MPM_KERNEL(sweep_workspace);
const size_t MPM_KERNEL(sweep_workspace) = sizeof(struct workspace);

void MPM_KERNEL(sweep_task)(const mpm_sweep *sweep, ptrdiff_t task, int thread)
{
    struct workspace *work = sweep->workspaces[thread];
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
    }
}

/* ---- questions asked between steps ---------------------------------------------------------------------------- */

static real limit_of_lane(const struct limits *l, int which, int q)
{
    const wide *all[] = {&l->rate2, &l->wave2, &l->speed, &l->gradient2};
    return wide_lane(*all[which], q);
}

INLINE int32_t find_limit_in_group(const mpm_sweep *sweep, const mpm_group *group, const int law, int which,
                                   int32_t found)
{
    const bool fluid = law == MPM_FLUID;
    const struct constants k = group_constants(sweep, group);
    const mpm_measure *most = &sweep->measures[0];
    const double limit = which == 0 ? most->rate2 : which == 1 ? most->wave2 : which == 2 ? most->speed : most->gradient2;
    union law_parameters parameters = {0};
    prepare_law(law, &parameters, sweep->materials[group->material].values);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        struct tile tile;
        tile_load(&tile, sweep->particles, group->first_tile + t, fluid, true);
        if (mpm_laws_plastic(law))
            tile_load_plastic(&tile, sweep->particles, group->first_tile + t);
        if (!fluid)
            tile.state.J = matrix_det(tile.state.F);
        const struct law_response response = respond(law, &parameters, tile.state, tile.C);
        const struct limits l = particle_limits(&k, &tile, &response, fluid);
        for (int q = 0; q < WIDTH; q++) {
            const int32_t row = sweep->particles->row[(group->first_tile + t) * WIDTH + q];
            if (row >= 0 && (double)limit_of_lane(&l, which, q) >= limit && (found < 0 || row < found))
                found = row;
        }
    }
    return found;
}

int32_t MPM_KERNEL(sweep_find_limit)(const mpm_sweep *sweep, int which)
{
    int32_t found = -1;
    for (size_t g = 0; g < sweep->particles->group_count; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
        switch (sweep->materials[group->material].law) {
#define CASE(enumerator, name) \
    case enumerator: \
        found = find_limit_in_group(sweep, group, enumerator, which, found); \
        break;
            MPM_LAWS(CASE)
#undef CASE
        }
    }
    return found;
}

void MPM_KERNEL(sweep_find_trouble)(const mpm_sweep *sweep, uint8_t *flags)
{
    for (size_t g = 0; g < sweep->particles->group_count; g++) {
        const mpm_group *group = &sweep->particles->groups[g];
        const bool fluid = sweep->materials[group->material].law == MPM_FLUID;
        const struct constants k = group_constants(sweep, group);
        for (ptrdiff_t t = 0; t < group->tiles; t++) {
            struct tile tile;
            tile_load(&tile, sweep->particles, group->first_tile + t, fluid, true);
            if (!fluid)
                tile.state.J = matrix_det(tile.state.F);
            const unsigned outside = find_outside(&k, &tile), out_of_range = find_out_of_range(&k, &tile);
            for (int q = 0; q < WIDTH; q++) {
                const int32_t row = sweep->particles->row[(group->first_tile + t) * WIDTH + q];
                if (row >= 0 && (outside >> q & 1))
                    flags[row] = MPM_OUTSIDE;
                if (row >= 0 && (out_of_range >> q & 1))
                    flags[row] = MPM_INVERTED;
            }
        }
    }
}

/* States from rows `first` to `first + lanes` of arrays; `plastic` may be NULL. */
static struct law_state state_from_rows(const real *F, const real *plastic, ptrdiff_t first, int lanes)
{
    struct law_state state = {.F = matrix_identity(), .plastic = wide_set(1)};
    for (int q = 0; q < lanes; q++) {
        for (int e = 0; e < DIM * DIM; e++)
            ((real *)&state.F.m[e / DIM][e % DIM])[q] = F[(first + q) * DIM * DIM + e];
        if (plastic)
            ((real *)&state.plastic)[q] = plastic[first + q];
    }
    return state;
}

void MPM_KERNEL(sweep_evaluate)(const mpm_evaluation *evaluation)
{
    const int law = evaluation->material.law;
    union law_parameters parameters = {0};
    prepare_law(law, &parameters, evaluation->material.values);
    matrix rest = matrix_scale(wide_set(0), matrix_identity());
    for (ptrdiff_t first = 0; first < evaluation->count; first += WIDTH) {
        const int lanes = evaluation->count - first < WIDTH ? (int)(evaluation->count - first) : WIDTH;
        struct law_state state = state_from_rows(evaluation->F, evaluation->plastic, first, lanes);
        state.J = matrix_det(state.F);
        const struct law_response r = respond(law, &parameters, state, rest);
        for (int q = 0; q < lanes; q++) {
            for (int e = 0; e < DIM * DIM; e++)
                ((real *)evaluation->tau)[(first + q) * DIM * DIM + e] = wide_lane(r.tau.m[e / DIM][e % DIM], q);
            ((real *)evaluation->energy)[first + q] = wide_lane(r.energy, q);
            ((real *)evaluation->tau_zz)[first + q] = DIM == 2 ? wide_lane(r.tau_zz, q) : 0;
            ((real *)evaluation->isolated)[first + q] = wide_lane(r.isolated, q);
            ((real *)evaluation->wave)[first + q] = wide_lane(r.wave, q);
        }
    }
}

INLINE void return_map_rows(const mpm_return_map *states, const int law)
{
    union law_parameters parameters = {0};
    prepare_law(law, &parameters, states->material.values);
    real *F = states->F, *plastic = states->plastic;
    for (ptrdiff_t first = 0; first < states->count; first += WIDTH) {
        const int lanes = states->count - first < WIDTH ? (int)(states->count - first) : WIDTH;
        struct law_state state = state_from_rows(F, plastic, first, lanes);
        return_map(law, &parameters, &state);
        for (int q = 0; q < lanes; q++) {
            for (int e = 0; e < DIM * DIM; e++)
                F[(first + q) * DIM * DIM + e] = wide_lane(state.F.m[e / DIM][e % DIM], q);
            plastic[first + q] = wide_lane(state.plastic, q);
        }
    }
}

void MPM_KERNEL(sweep_return_map)(const mpm_return_map *states)
{
    switch (states->material.law) {
#define CASE(enumerator, name) \
    case enumerator: \
        return_map_rows(states, enumerator); \
        break;
        MPM_PLASTIC_LAWS(CASE)
#undef CASE
    }
}
