/* SPDX-License-Identifier: MIT
 *
 * The sweep of any scheme (scheme.h). It also has what the standard scheme does not need: velocities before forces, the
 * filter of XPIC, rest volumes from the density of the grid, body forces.
 */
#include "mpm/kernels/any_scheme.h"
#include "mpm/kernels/f_bar.h"
#include "mpm/kernels/particle_update.h"

/* a x b; in 2-D its third component alone. */
INLINE void cross(real *out, const real *a, const real *b)
{
    for (int c = DIM == 3 ? 0 : 2; c < 3; c++) {
        const int i = (c + 1) % 3, j = (c + 2) % 3;
        out[c] = a[i] * b[j] - a[j] * b[i];
    }
}

/* The velocities in mid step, and for each node the vector v_mid x v that the spin of particles needs. */
NOINLINE void read_midpoint(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work)
{
    const real *midpoint = sweep->grid->field[MPM_GRID_MIDPOINT], *velocity = sweep->grid->field[MPM_GRID_VELOCITY];
    real *middle = work->midpoint + ARENA_SLACK, *spin = work->spin + ARENA_SLACK;
    arena_read(middle, group, midpoint);
    ARENA_LINES(group, group->node_block, {
        for (int n = 0; n < 4 * nodes; n += 4)
            cross(spin + in_arena + n, midpoint + in_grid + n, velocity + in_grid + n);
    });
}

/* In 2-D, the four reals of a node hold its velocity and its velocity before forces. */
INLINE void read_both(const mpm_group *group, real *arena, const real *velocity, const real *before)
{
    ARENA_LINES(group, group->node_block, {
        UNROLL for (int n = 0; n < 4 * nodes; n += 4) {
            memcpy(arena + in_arena + n, velocity + in_grid + n, 2 * sizeof(real));
            memcpy(arena + in_arena + n + 2, before + in_grid + n, 2 * sizeof(real));
        }
    });
}

/* The velocities of the second sides of cracks. */
NOINLINE void read_second_sides(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work, bool split)
{
    const real *velocity = sweep->grid->field[MPM_GRID_VELOCITY], *before = sweep->grid->field[MPM_GRID_BEFORE];
    const mpm_group second = second_field(group);
    if (DIM == 2 && split) {
        read_both(&second, work->second_velocity + ARENA_SLACK, velocity, before);
        return;
    }
    arena_read(work->second_velocity + ARENA_SLACK, &second, velocity);
    if (split)
        arena_read(work->second_before + ARENA_SLACK, &second, before);
}

INLINE void begin_gather(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work, const bool fills)
{
    const real *velocity = sweep->grid->field[MPM_GRID_VELOCITY], *before = sweep->grid->field[MPM_GRID_BEFORE];
    real *arena = work->velocity + ARENA_SLACK;
    const bool split = mpm_scheme_reads_before(&sweep->scheme);
    read_sides(sweep, group, &work->sides);
    if (work->sides.exist)
        read_second_sides(sweep, group, work, split);
    if (sweep->scheme.midpoint)
        read_midpoint(sweep, group, work);
    if (sweep->volume_change)
        arena_read(work->volume_change + ARENA_SLACK, group, sweep->volume_change);
    if (fills)
        arena_read(work->fill + ARENA_SLACK, group, sweep->fill);
    if (DIM == 2 && split) {
        read_both(group, arena, velocity, before);
        return;
    }
    arena_read(arena, group, velocity);
    if (split)
        arena_read(work->before + ARENA_SLACK, group, before);
}

/* The gathered velocity before forces; for XPIC, the filtered velocity that replaces it. */
INLINE wide sum_before(const struct stencil *s, int component)
{
    return DIM == 2 ? stencil_sum(s, 0, 2 + component) : stencil_sum(s, SUMS, component);
}

/* The part of C that a step keeps: the whole skew part and a share of the symmetric part (RPIC at keep = 0). */
INLINE matrix damped(matrix C, wide keep)
{
    const wide half = wide_set((real)0.5);
    matrix result;
    UNROLL for (int b = 0; b < DIM; b++)
        UNROLL for (int a = 0; a < DIM; a++)
            result.m[b][a] = half * wide_fma(keep, C.m[b][a] + C.m[a][b], C.m[b][a] - C.m[a][b]);
    return result;
}

/* Does the volume ratio after the step reach 1? Only there ASFLIP lets particles separate from the grid. */
INLINE mask separates(const struct constants *k, const struct tile *tile, matrix gradient, const int law)
{
    wide J = tile->state.J;
    if (!law_keeps_J(law))
        J = matrix_det(tile->state.F) * law_volume_scale(k->row, &tile->state);
    return wide_less(wide_set((real)0.999), J * wide_fma(k->gather_dt, matrix_trace(gradient), wide_set(1)));
}

/* The velocity in mid step and its gradient, with which particles move. A node at x_i moves to x_i + dt v_mid while its
 * momentum turns about it, so the affine velocity gains the skew part of dt (sum w v v_mid^T - v_p v_mid,p^T)/D: then
 * the step keeps angular momentum. The stencil is prepared. */
NOINLINE void gather_midpoint(const mpm_sweep *sweep, struct workspace *work, const struct constants *k,
                              struct tile *tile, const wide v[DIM], struct motion *motion)
{
    const mpm_scheme *scheme = &sweep->scheme;
    const bool mls = scheme->gradient == MPM_GRADIENT_MLS;
    const wide zero = wide_set(0), inverse_h = wide_set((real)(1 / sweep->dx)), half = wide_set((real)0.5);
    const mask alive = wide_less(zero, tile->mass);
    struct stencil *s = &work->stencil;
    wide middle[DIM];
    stencil_gather(s, work->midpoint + ARENA_SLACK, NULL, scheme->degree, mls ? WANT_MOMENT : WANT_SLOPE);
    UNROLL for (int b = 0; b < DIM; b++) {
        middle[b] = wide_select(alive, stencil_sum(s, 0, b), zero);
        motion->velocity[b] = middle[b];
        UNROLL for (int a = 0; a < DIM; a++) {
            const wide found = mls ? k->affine * wide_fnma(s->e[a], stencil_sum(s, 0, b), stencil_sum(s, 1 + a, b))
                                   : inverse_h * stencil_sum(s, 1 + DIM + a, b);
            motion->gradient.m[b][a] = wide_select(alive, found, zero);
        }
    }
    if (!mpm_scheme_is_affine(scheme))
        return;
    stencil_gather(s, work->spin + ARENA_SLACK, NULL, scheme->degree, 0);
    const wide factor = half * k->gather_dt * k->affine / k->h; /* dt/(2 D) */
    UNROLL for (int c = DIM == 3 ? 0 : 2; c < 3; c++) {
        const int a = (c + 1) % 3, b = (c + 2) % 3;
        const wide own = wide_fma(middle[a], v[b], -(middle[b] * v[a]));
        const wide gained = wide_select(alive, factor * (stencil_sum(s, 0, c) - own), zero);
        tile->C.m[b][a] += gained;
        tile->C.m[a][b] -= gained;
    }
}

/* F-bar: gives the increment of F the averaged volume change. The stencil becomes that of the averages. */
NOINLINE void average_volume(const mpm_sweep *sweep, struct workspace *work, const struct constants *k,
                             const struct tile *tile, struct motion *motion)
{
    const mask alive = wide_less(wide_set(0), tile->mass);
    f_bar_prepare_stencil(&work->stencil, k, tile->x, sweep->scheme.degree);
    stencil_gather(&work->stencil, work->volume_change + ARENA_SLACK, NULL, MPM_LINEAR, 0);
    const wide mean = stencil_sum(&work->stencil, 0, 0);
    motion->gradient = matrix_select(alive, f_bar_gradient(motion->gradient, k->gather_dt, mean), motion->gradient);
}

/* Gathers anew for particles on second sides of cracks. */
NOINLINE void gather_second(struct workspace *work, int degree, unsigned wanted)
{
    real *const arenas[2] = {work->velocity + ARENA_SLACK, work->second_velocity + ARENA_SLACK};
    real *const before[2] = {work->before + ARENA_SLACK, work->second_before + ARENA_SLACK};
    gather_sides(&work->sides, &work->stencil, arenas, before, degree, wanted);
}

/* Computes the new v and C, and the velocity and gradient that move and strain particles: see the table in scheme.h.
 * `fill`: receives how full the grid is there, or NULL. */
INLINE struct motion gather(const mpm_sweep *sweep, struct workspace *work, const struct constants *k,
                            struct tile *tile, const int law, wide *fill)
{
    const mpm_scheme *scheme = &sweep->scheme;
    const bool affine = mpm_scheme_is_affine(scheme), mls = scheme->gradient == MPM_GRADIENT_MLS;
    const bool by_moment = affine && scheme->transfer != MPM_TPIC, by_slope = scheme->transfer == MPM_TPIC;
    const wide zero = wide_set(0), inverse_h = wide_set((real)(1 / sweep->dx));
    const mask alive = wide_less(zero, tile->mass);
    struct stencil *s = &work->stencil;
    struct motion motion;
    matrix moment = matrix_identity(), slope = moment;

    const unsigned wanted = (mls || by_moment ? WANT_MOMENT : 0) | (!mls || by_slope ? WANT_SLOPE : 0) |
                            (DIM == 3 && mpm_scheme_reads_before(scheme) ? WANT_SECOND : 0);
    stencil_prepare(s, tile->x, scheme->degree);
    const bool sided = __builtin_expect(work->sides.exist, 0) && find_sides(&work->sides, s, scheme->degree);
    stencil_gather(s, work->velocity + ARENA_SLACK, work->before + ARENA_SLACK, scheme->degree, wanted);
    if (sided)
        gather_second(work, scheme->degree, wanted);
    UNROLL for (int b = 0; b < DIM; b++) {
        const wide v = stencil_sum(s, 0, b);
        UNROLL for (int a = 0; a < DIM; a++) {
            if (mls || by_moment)
                moment.m[b][a] = wide_select(alive, k->affine * wide_fnma(s->e[a], v, stencil_sum(s, 1 + a, b)), zero);
            if (!mls || by_slope)
                slope.m[b][a] = wide_select(alive, inverse_h * stencil_sum(s, 1 + DIM + a, b), zero);
        }
        motion.velocity[b] = wide_select(alive, v, zero);
    }
    motion.gradient = mls ? moment : slope;
    tile->C = by_moment ? moment : by_slope ? slope : motion.gradient;
    if (affine && scheme->c_keep != 1)
        tile->C = damped(tile->C, wide_set((real)scheme->c_keep));

    wide before[DIM], end[DIM];
    UNROLL for (int b = 0; b < DIM; b++) {
        end[b] = motion.velocity[b];
        before[b] = mpm_scheme_reads_before(scheme) ? sum_before(s, b) : zero;
    }
    if (scheme->midpoint)
        gather_midpoint(sweep, work, k, tile, end, &motion);
    const wide ratio = wide_set((real)scheme->flip_ratio);
    const mask parts = scheme->transfer == MPM_ASFLIP ? separates(k, tile, motion.gradient, law) : alive;
    UNROLL for (int b = 0; b < DIM; b++) {
        wide v = end[b];
        if (mpm_scheme_is_flip(scheme))
            v = wide_select(alive, wide_fma(ratio, tile->v[b] - before[b], v), zero);
        else if (scheme->transfer == MPM_XPIC)
            v = wide_select(alive, before[b], zero);
        tile->v[b] = v;
        if (mpm_scheme_moves_apart(scheme))
            motion.velocity[b] = wide_select(parts, v, motion.velocity[b]);
    }
    if (fill) {
        stencil_gather(s, work->fill + ARENA_SLACK, NULL, scheme->degree, 0);
        *fill = stencil_sum(s, 0, 3);
    }
    if (sweep->volume_change)
        average_volume(sweep, work, k, tile, &motion);
    return motion;
}

/* Scatters by the sides of cracks. */
NOINLINE void scatter_second(struct workspace *work, int count, int degree,
                             const struct deposit deposits[MOST_DEPOSITS], bool split)
{
    real *const momentum[2] = {work->momentum + ARENA_SLACK, work->second_momentum + ARENA_SLACK};
    real *const impulse[2] = {work->impulse + ARENA_SLACK, work->second_impulse + ARENA_SLACK};
    scatter_sides(&work->sides, &work->stencil, momentum, count, degree, &deposits[0]);
    if (split)
        scatter_sides(&work->sides, &work->stencil, impulse, count, degree, &deposits[1]);
}

/* Before a scatter without a gather. */
INLINE void begin_sides(const mpm_sweep *sweep, const mpm_group *group, struct workspace *work)
{
    read_sides(sweep, group, &work->sides);
}

INLINE void scatter(const mpm_sweep *sweep, struct workspace *work, struct run *run, const struct constants *k,
                    const struct tile *tile, const struct law_evaluation *evaluation, int count)
{
    (void)run;
    const mpm_scheme *scheme = &sweep->scheme;
    const bool split = mpm_scheme_is_split(scheme), mls = scheme->gradient == MPM_GRADIENT_MLS;
    const bool affine = mpm_scheme_is_affine(scheme), keeps_B = mpm_scheme_keeps_B(scheme);
    const wide zero = wide_set(0), h_mass = k->h * tile->mass;
    wide stress_by_offset = zero, stress_by_slope = zero; /* -dt V0 tau D^-1 Delta w, or -dt V0 tau grad w */
    wide C_by_offset = zero, C_by_slope = zero;           /* m C Delta w, or m B grad w with B = h^2/4 C */
    if (mls)
        stress_by_offset = k->stress * tile->volume;
    else
        stress_by_slope = k->stress_by_slope * tile->volume;
    if (keeps_B)
        C_by_slope = wide_set((real)0.25) * h_mass;
    else if (affine)
        C_by_offset = h_mass;
    struct stencil *s = &work->stencil;
    struct deposit deposits[MOST_DEPOSITS] = {{.mass = tile->mass,
                                               .by_offset = (affine && !keeps_B) || (mls && !split),
                                               .by_slope = keeps_B || (!mls && !split)},
                                              {.mass = zero, .by_offset = mls, .by_slope = !mls}};
    struct deposit *momentum = &deposits[0], *impulse = &deposits[1];
    stencil_prepare(s, tile->x, scheme->degree);
    matrix stress = evaluation->tau;
    if (mpm_scheme_is_viscous(scheme))
        stress = matrix_add_diagonal(stress, -shock_of(scheme, k->h, tile, evaluation).pressure);
    UNROLL for (int b = 0; b < DIM; b++) {
        momentum->Q[b] = tile->mass * tile->v[b];
        impulse->Q[b] = zero;
        UNROLL for (int a = 0; a < DIM; a++) {
            const wide C = tile->C.m[b][a], tau = stress.m[b][a];
            impulse->A[a][b] = stress_by_offset * tau;
            impulse->G[a][b] = stress_by_slope * tau;
            momentum->A[a][b] = C_by_offset * C;
            momentum->G[a][b] = C_by_slope * C;
            if (!split) {
                momentum->A[a][b] += impulse->A[a][b];
                momentum->G[a][b] += impulse->G[a][b];
            }
        }
    }
    real *const arenas[MOST_DEPOSITS] = {work->momentum + ARENA_SLACK, work->impulse + ARENA_SLACK};
    UNROLL for (int n = 0; n < MOST_DEPOSITS; n++)
        fold_offset(&deposits[n], s->e);
    if (__builtin_expect(work->sides.exist, 0) && find_sides(&work->sides, s, scheme->degree))
        scatter_second(work, count, scheme->degree, deposits, split);
    else if (split)
        stencil_scatter_both(s, arenas, count, scheme->degree, deposits);
    else
        stencil_scatter(s, arenas[0], count, scheme->degree, momentum);
}

#define FAMILY(name) MPM_KERNEL(sweep_any_##name)
#include "mpm/kernels/sweep_body.h"

/* Calls `visit` for every group of a task. Only `visit` adds to the measure. */
typedef void visitor(const mpm_sweep *sweep, const mpm_arguments *arguments, const mpm_group *group,
                     struct workspace *work, mpm_measure *result);

INLINE void for_each_group(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task,
                           struct workspace *work, visitor *visit)
{
    sweep->measures[task] = (mpm_measure){.least_det = 1};
    for (int32_t g = sweep->grid->task_group[task]; g < sweep->grid->task_group[task + 1]; g++)
        visit(sweep, arguments, &sweep->particles->groups[g], work, &sweep->measures[task]);
}

/* Rigid bodies neither scatter nor gather. */
INLINE bool is_rigid(const mpm_sweep *sweep, const mpm_group *group)
{
    return mpm_material_law(&sweep->materials[group->material])->rigid;
}

/* XPIC: gathers S v_k to the particles and scatters it back to the grid. */
static void filter_group(const mpm_sweep *sweep, const mpm_arguments *arguments, const mpm_group *group,
                         struct workspace *work, mpm_measure *result)
{
    (void)arguments, (void)result;
    const int degree = sweep->scheme.degree;
    struct stencil *s = &work->stencil;
    if (is_rigid(sweep, group))
        return;
    arena_read(work->velocity + ARENA_SLACK, group, sweep->grid->field[MPM_GRID_FILTERED]);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        const ptrdiff_t left = group->count - t * WIDTH;
        struct tile tile;
        tile_load(&tile, sweep->particles, group->first_tile + t, true, false);
        struct deposit deposit = {.mass = tile.mass};
        stencil_prepare(s, tile.x, degree);
        stencil_gather(s, work->velocity + ARENA_SLACK, NULL, degree, 0);
        UNROLL for (int b = 0; b < DIM; b++)
            deposit.Q[b] = tile.mass * stencil_sum(s, 0, b);
        stencil_scatter(s, work->momentum + ARENA_SLACK, left < WIDTH ? (int)left : WIDTH, degree, &deposit);
    }
    arena_add(work->momentum + ARENA_SLACK, group, sweep->grid->copies[MPM_GRID_FILTERED]);
}

void MPM_KERNEL(sweep_any_filter)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    struct workspace *work = sweep->workspaces[thread];
    begin_scatter(work);
    clear_copies(sweep->grid, MPM_GRID_FILTERED, task);
    for_each_group(sweep, arguments, task, work, filter_group);
}

/* V0 = m h^d/sum w m_i where V0 is still unknown (Stomakhin et al. 2013, step 2). */
static void rest_volume_group(const mpm_sweep *sweep, const mpm_arguments *arguments, const mpm_group *group,
                              struct workspace *work, mpm_measure *result)
{
    (void)arguments, (void)result;
    struct stencil *s = &work->stencil;
    const wide zero = wide_set(0);
    const wide cell = wide_set((real)(DIM == 3 ? sweep->dx * sweep->dx * sweep->dx : sweep->dx * sweep->dx));
    arena_read(work->velocity + ARENA_SLACK, group, sweep->grid->field[MPM_GRID_VELOCITY]);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        struct tile tile;
        tile_load(&tile, sweep->particles, group->first_tile + t, true, false);
        stencil_prepare(s, tile.x, sweep->scheme.degree);
        stencil_gather(s, work->velocity + ARENA_SLACK, NULL, sweep->scheme.degree, 0);
        const mask unknown = wide_less(zero, tile.mass) & wide_less_equal(tile.volume, zero);
        const wide around = wide_select(unknown, stencil_sum(s, 0, 3), wide_set(1));
        wide_store(tile_scalar(sweep->particles, MPM_COLUMN_VOLUME, group->first_tile + t),
                   wide_select(unknown, tile.mass / around * cell, tile.volume));
    }
}

void MPM_KERNEL(sweep_any_rest_volume)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task,
                                       int thread)
{
    for_each_group(sweep, arguments, task, sweep->workspaces[thread], rest_volume_group);
}

INLINE void add_sides(const mpm_group *group, const struct workspace *work, real *first, real *second, void *copies)
{
    arena_add(first + ARENA_SLACK, group, copies);
    if (work->sides.exist)
        add_second_field(group, second, copies);
}

/* The couples of loads on a particle: force times arm, as if the force acted at the end of the arm [N m]. */
static bool add_couples(const mpm_forcing *forcing, int32_t row, double couple[DIM][DIM])
{
    const int32_t begin = forcing->first[row], end = forcing->first[row + 1];
    memset(couple, 0, DIM * sizeof *couple);
    for (int32_t e = begin; e < end; e++)
        for (int b = 0; b < DIM; b++)
            for (int a = 0; a < DIM; a++)
                couple[b][a] += forcing->couple[((ptrdiff_t)e * DIM + b) * DIM + a];
    return begin < end;
}

/* dt sum w K g with the couples K of a tile, where g is the gradient of the scheme, as for stresses. */
static void deposit_couples(const mpm_sweep *sweep, const mpm_forcing *forcing, ptrdiff_t t, double dt,
                            struct deposit *deposit)
{
    const mpm_scheme *scheme = &sweep->scheme;
    const bool mls = scheme->gradient == MPM_GRADIENT_MLS;
    const double scale = dt / sweep->dx / (mls ? mpm_scheme_second_moment(scheme->degree) : 1);
    double couple[DIM][DIM];
    memset(deposit->A, 0, sizeof deposit->A);
    memset(deposit->G, 0, sizeof deposit->G);
    for (int q = 0; q < WIDTH; q++) {
        const int32_t row = sweep->particles->row[t * WIDTH + q];
        if (row < 0 || !add_couples(forcing, row, couple))
            continue;
        for (int b = 0; b < DIM; b++)
            for (int a = 0; a < DIM; a++)
                ((real *)(mls ? &deposit->A[a][b] : &deposit->G[a][b]))[q] = (real)(scale * couple[b][a]);
    }
    deposit->by_offset = mls;
    deposit->by_slope = !mls;
}

/* p_i += dt sum w m b. Split schemes add it to the other forces. */
static void body_force_group(const mpm_sweep *sweep, const mpm_arguments *arguments, const mpm_group *group,
                             struct workspace *work, mpm_measure *result)
{
    const mpm_forcing *forcing = arguments->body_force.forcing;
    const double dt = arguments->body_force.dt, *b = forcing->body_force;
    const bool split = mpm_scheme_is_split(&sweep->scheme), rigid = is_rigid(sweep, group);
    real *target = split ? work->impulse : work->momentum;
    real *second = split ? work->second_impulse : work->second_momentum;
    struct stencil *s = &work->stencil;
    read_sides(sweep, group, &work->sides);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        const ptrdiff_t left = group->count - t * WIDTH;
        struct tile tile;
        struct deposit deposit = {.mass = wide_set(0)};
        tile_load(&tile, sweep->particles, group->first_tile + t, true, false);
        for (int q = 0; q < WIDTH; q++) {
            const int32_t row = sweep->particles->row[(group->first_tile + t) * WIDTH + q];
            for (int a = 0; row >= 0 && a < DIM; a++) {
                const double force = (double)wide_lane(tile.mass, q) * b[(ptrdiff_t)row * DIM + a];
                result->force[a] += force;
                ((real *)&deposit.Q[a])[q] = (real)(dt * force);
            }
        }
        if (rigid)
            continue;
        stencil_prepare(s, tile.x, sweep->scheme.degree);
        if (forcing->couple) {
            deposit_couples(sweep, forcing, group->first_tile + t, dt, &deposit);
            fold_offset(&deposit, s->e);
        }
        scatter_by_side(&work->sides, s, target, second, left < WIDTH ? (int)left : WIDTH, sweep->scheme.degree,
                        &deposit);
    }
    if (!rigid)
        add_sides(group, work, target, second, sweep->grid->copies[split ? MPM_GRID_IMPULSE : MPM_GRID_VELOCITY]);
}

void MPM_KERNEL(sweep_any_body_force)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task,
                                      int thread)
{
    struct workspace *work = sweep->workspaces[thread];
    begin_scatter(work);
    for_each_group(sweep, arguments, task, work, body_force_group);
}

/* ---- loads ------------------------------------------------------------------------------------------------------ */

static bool has_loads(const mpm_forcing *forcing, const int32_t row[WIDTH])
{
    bool any = false;
    for (int q = 0; q < WIDTH; q++)
        any |= row[q] >= 0 && forcing->first[row[q]] < forcing->first[row[q] + 1];
    return any;
}

/* The velocity of a tile's particles in the step, and its gradient. */
static struct motion loaded_motion(const mpm_sweep *sweep, const mpm_group *group, const struct constants *k,
                                   ptrdiff_t t, struct workspace *work)
{
    const mpm_material *material = &sweep->materials[group->material];
    const int law = mpm_material_kernel_law(material);
    struct tile tile;
    struct motion motion;
    tile_load(&tile, sweep->particles, t, law_keeps_J(material->law), true);
    tile_load_history(&tile, sweep->particles, t, material, law_history(law, material));
    if (is_rigid(sweep, group))
        return rigid_mean_motion(sweep, group, &tile, (double)wide_lane(k->gather_dt, 0));
    motion.gradient = gather_gradient(sweep, work, k, &tile);
    for (int b = 0; b < DIM; b++)
        motion.velocity[b] = stencil_sum(&work->stencil, 0, b);
    return motion;
}

/* The power of an entry: F v + K : grad v [W]. */
static double entry_power(const mpm_forcing *forcing, ptrdiff_t e, const struct motion *motion, int q)
{
    double sum = 0;
    for (int b = 0; b < DIM; b++) {
        sum += forcing->force[e * DIM + b] * (double)wide_lane(motion->velocity[b], q);
        for (int a = 0; forcing->couple && a < DIM; a++)
            sum += forcing->couple[(e * DIM + b) * DIM + a] * (double)wide_lane(motion->gradient.m[b][a], q);
    }
    return sum;
}

static void load_power_group(const mpm_sweep *sweep, const mpm_arguments *arguments, const mpm_group *group,
                             struct workspace *work, mpm_measure *result)
{
    (void)result;
    const mpm_forcing *forcing = arguments->load_power.forcing;
    const struct constants k = group_constants(sweep, (struct durations){arguments->load_power.dt, 0}, group);
    const mpm_grid_field moves = sweep->scheme.midpoint ? MPM_GRID_MIDPOINT : MPM_GRID_VELOCITY;
    if (!is_rigid(sweep, group))
        arena_read(work->velocity + ARENA_SLACK, group, sweep->grid->field[moves]);
    read_sides(sweep, group, &work->sides);
    if (work->sides.exist)
        read_second_field(group, work->second_velocity, sweep->grid->field[moves]);
    for (ptrdiff_t t = group->first_tile; t < group->first_tile + group->tiles; t++) {
        const int32_t *row = sweep->particles->row + t * WIDTH;
        if (!has_loads(forcing, row))
            continue;
        const struct motion motion = loaded_motion(sweep, group, &k, t, work);
        for (int q = 0; q < WIDTH; q++)
            for (int32_t e = row[q] < 0 ? 0 : forcing->first[row[q]]; row[q] >= 0 && e < forcing->first[row[q] + 1];
                 e++)
                arguments->load_power.power[e] = entry_power(forcing, e, &motion, q);
    }
}

void MPM_KERNEL(sweep_any_load_power)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task,
                                      int thread)
{
    for_each_group(sweep, arguments, task, sweep->workspaces[thread], load_power_group);
}

/* {sum w m in region first, first + 1, ..., sum w m} */
static void share_group(const mpm_sweep *sweep, const mpm_arguments *arguments, const mpm_group *group,
                        struct workspace *work, mpm_measure *result)
{
    (void)result;
    const uint64_t *holds = arguments->share.forcing->holds;
    const int first = arguments->share.first;
    struct stencil *s = &work->stencil;
    if (is_rigid(sweep, group))
        return;
    read_sides(sweep, group, &work->sides);
    for (ptrdiff_t t = 0; t < group->tiles; t++) {
        const ptrdiff_t left = group->count - t * WIDTH;
        struct tile tile;
        tile_load(&tile, sweep->particles, group->first_tile + t, true, false);
        struct deposit deposit = {.mass = tile.mass};
        for (int q = 0; q < WIDTH; q++) {
            const int32_t row = sweep->particles->row[(group->first_tile + t) * WIDTH + q];
            for (int c = 0; row >= 0 && c < DIM && first + c < MPM_MOST_LOADS; c++)
                ((real *)&deposit.Q[c])[q] = holds[row] >> (first + c) & 1 ? wide_lane(tile.mass, q) : 0;
        }
        stencil_prepare(s, tile.x, sweep->scheme.degree);
        scatter_by_side(&work->sides, s, work->momentum, work->second_momentum, left < WIDTH ? (int)left : WIDTH,
                        sweep->scheme.degree, &deposit);
    }
    add_sides(group, work, work->momentum, work->second_momentum, sweep->grid->copies[MPM_GRID_SHARES]);
}

void MPM_KERNEL(sweep_any_share)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    struct workspace *work = sweep->workspaces[thread];
    begin_scatter(work);
    clear_copies(sweep->grid, MPM_GRID_SHARES, task);
    for_each_group(sweep, arguments, task, work, share_group);
}

/* The workspace of sweep.c is smaller. */
extern const size_t MPM_KERNEL(sweep_any_workspace);
const size_t MPM_KERNEL(sweep_any_workspace) = sizeof(struct workspace);
