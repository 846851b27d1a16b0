/* SPDX-License-Identifier: MIT
 *
 * P2G, G2P, and G2P with the P2G of the next step, which stores no v and no C, in the standard scheme. A CTA takes the
 * particles of a block, and gives its sums to a tile of its own. Compiled for one law, with
 *
 *     MPM_REAL, MPM_DIM, MPM_ISA=cuda, MPM_ISA_CUDA
 *     LAW, LAW_KEEPS_J, LAW_HISTORY, LAW_MAPS    its name, and from its row: J alone?, reals of history, return map?
 *     LAW_VARIES                                 do its parameters vary? 0 is the default
 *     GPU_SWEEP_THREADS, GPU_SWEEP_CTAS          threads of a CTA; CTAs that a multiprocessor holds
 *     GPU_COLLIDES                               do colliders hold particles? 1 or 0
 *     GPU_PUSHES                                 are there a body force or loads? 1 or 0
 *     GPU_TRANSFER                               MPM_APIC, which is the default, MPM_PIC, MPM_FLIP or MPM_AFLIP
 */
#include "mpm/gpu/columns.h"
#include "mpm/gpu/image.h"
#include "mpm/kernels/density.h"
#include "mpm/kernels/formulas.h"
#include "mpm/kernels/scheme.h"
#if GPU_COLLIDES
#include "mpm/gpu/contact.h"
#endif

#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)
#include TEXT(materials/LAW.h)

#ifndef LAW_VARIES
#define LAW_VARIES 0
#endif
#ifndef GPU_COLLIDES
#define GPU_COLLIDES 0
#endif
#ifndef GPU_PUSHES
#define GPU_PUSHES 0
#endif
#ifndef GPU_TRANSFER
#define GPU_TRANSFER MPM_APIC
#endif
enum {
    IS_FLIP = GPU_TRANSFER == MPM_FLIP || GPU_TRANSFER == MPM_AFLIP,
    IS_AFFINE = GPU_TRANSFER == MPM_APIC || GPU_TRANSFER == MPM_AFLIP,
    ADVECTION = IS_FLIP ? GPU_ADVECTION : GPU_SPEED /* where the speed that moves particles is reported */
};

struct sweep_memory {
    struct gpu_vec4 velocity[GPU_TILE], before[IS_FLIP ? GPU_TILE : 1];
    struct chunk chunk;
    double sum[SWEEP_WARPS][GPU_SUMS];
    real most[SWEEP_WARPS][GPU_MAXIMA];
    real lowest[3], highest[3]; /* where particles may be, from the first node of the block [cells] */
    int room[DIM == 3 ? 27 : 9];
};

struct particle {
    real x[DIM], v[DIM];
    real moves[IS_FLIP ? DIM : 1]; /* the velocity that moves it, where it is not v */
    matrix C;
    struct law_state state;
    real mass, volume;
    real fill; /* how full the grid is at a fluid */
};

/* ---- particles in memory ----------------------------------------------------------------------------------------- */

INLINE void load_vector(real to[DIM], const real *column, int p, size_t n)
{
    UNROLL for (int a = 0; a < DIM; a++)
        to[a] = column[a * n + p];
}

INLINE void store_vector(real *column, int p, size_t n, const real from[DIM])
{
    UNROLL for (int a = 0; a < DIM; a++)
        column[a * n + p] = from[a];
}

INLINE void load_matrix(matrix *to, const real *column, int p, size_t n)
{
    UNROLL for (int i = 0; i < DIM * DIM; i++)
        to->m[i / DIM][i % DIM] = column[i * n + p];
}

INLINE void store_matrix(real *column, int p, size_t n, const matrix *from)
{
    UNROLL for (int i = 0; i < DIM * DIM; i++)
        column[i * n + p] = from->m[i / DIM][i % DIM];
}

/* The prepared parameters of a particle: those of all, or its own. */
INLINE const struct LAW *law_of(const struct gpu_sweep *sweep, int p)
{
    return (const struct LAW *)sweep->law + (LAW_VARIES ? sweep->particles.row[p] : 0);
}

/* The place whose particles the CTA takes. */
INLINE int own_place(const struct gpu_sweep *sweep)
{
    return sweep->places ? sweep->places[blockIdx.x] : (int)blockIdx.x;
}

INLINE void particle_load(struct particle *it, const struct gpu_sweep *sweep, const struct gpu_particles *from, int p,
                          bool with_motion)
{
    const size_t n = from->stride;
    load_vector(it->x, from->x, p, n);
    it->mass = from->mass[p];
    it->volume = from->volume[p];
    if (LAW_KEEPS_J)
        it->state.J = from->F[p];
    else
        load_matrix(&it->state.F, from->F, p, n);
    for (int c = 0; c < LAW_HISTORY; c++)
        it->state.history[c] = from->history[sweep->history[c] * n + p];
    if (with_motion) {
        load_vector(it->v, from->v, p, n);
        load_matrix(&it->C, from->C, p, n);
    }
}

INLINE void particle_store(const struct particle *it, const struct gpu_sweep *sweep, int p, bool with_motion)
{
    const struct gpu_particles *to = &sweep->particles;
    const size_t n = to->stride;
    store_vector(sweep->new_x, p, n, it->x);
    if (LAW_KEEPS_J)
        to->F[p] = it->state.J;
    else
        store_matrix(to->F, p, n, &it->state.F);
    for (int c = 0; LAW_MAPS && c < LAW_HISTORY; c++)
        to->history[sweep->history[c] * n + p] = it->state.history[c];
    if (with_motion) {
        store_vector(to->v, p, n, it->v);
        store_matrix(to->C, p, n, &it->C);
    }
}

/* ---- gather ------------------------------------------------------------------------------------------------------ */

/* The velocities of the nodes that particles of the block reach. */
INLINE void read_velocities(const struct gpu_sweep *sweep, struct sweep_memory *s, int key)
{
    enum { AROUND = DIM == 3 ? 27 : 9 };
    if (threadIdx.x < AROUND) {
        int at[3], offset[3];
        pair_at(&sweep->blocks, key, at);
        cube_at(threadIdx.x, 3, offset);
        for (int a = 0; a < DIM; a++)
            at[a] += offset[a] - 1;
        s->room[threadIdx.x] =
            block_exists(&sweep->blocks, at) ? sweep->room_of[block_key(&sweep->blocks, at)] : -1;
    }
    __syncthreads();
    for (int t = threadIdx.x; t < GPU_TILE; t += GPU_SWEEP_THREADS) {
        int node[3], block[3] = {0, 0, 0}, local[3] = {0, 0, 0};
        cube_at(t, GPU_TILE_SIDE, node);
        for (int a = 0; a < DIM; a++) {
            const int n = node[a] - 1 + GPU_SIDE;
            block[a] = n / GPU_SIDE, local[a] = n % GPU_SIDE;
        }
        const int room = s->room[cube_number(block, 3)];
        if (room < 0) {
            vec4_store(&s->velocity[t], 0, 0, 0, 0);
            if (IS_FLIP)
                vec4_store(&s->before[t], 0, 0, 0, 0);
            continue;
        }
        const size_t n = (size_t)room * GPU_CELLS + cube_number(local, GPU_SIDE);
        const struct gpu_vec4 v = vec4_load(&sweep->velocity[n]);
        vec4_store(&s->velocity[t], v.c[0], v.c[1], v.c[2], v.c[3]);
        if (IS_FLIP) {
            const struct gpu_vec4 u = vec4_load(&sweep->before[n]);
            vec4_store(&s->before[t], u.c[0], u.c[1], u.c[2], u.c[3]);
        }
    }
}

/* Where a particle is: weights, offset from the middle node, and cell, clamped to those that it may be in (NaN gives
 * 0): the last line of defence behind the checks of the step. */
struct stencil {
    real weight[DIM][3], e[DIM];
    int cell[3];
};

INLINE void stencil_prepare(struct stencil *at, const real x[DIM])
{
    at->cell[2] = 0;
    UNROLL for (int a = 0; a < DIM; a++) {
        const real base = quadratic_weights(x[a], at->weight[a], &at->e[a]);
        at->cell[a] = (int)wide_min(wide_max(base + 1, 0), REACH - 1);
    }
}

/* v = sum w v_i and C = 4/h sum w v_i (x_i - x)/h, axis by axis: sums along the last one, then across. */
INLINE void gather(const struct gpu_sweep *sweep, const struct sweep_memory *s, struct particle *it)
{
    struct stencil at;
    stencil_prepare(&at, it->x);
    const struct gpu_vec4 *first = s->velocity + cube_number(at.cell, GPU_TILE_SIDE);
    real v[DIM], moment[DIM][DIM]; /* moment[a][b]: sum w v_b k_a */
    UNROLL for (int i = 0; i < 3; i++) {
        real plane[DIM], last[DIM], mid[DIM];
        UNROLL for (int j = 0; j < (DIM == 3 ? 3 : 1); j++) {
            struct gpu_vec4 node[3];
            UNROLL for (int k = 0; k < 3; k++)
                node[k] = vec4_load(first + (DIM == 3 ? (i * GPU_TILE_SIDE + j) : i) * GPU_TILE_SIDE + k);
            UNROLL for (int b = 0; b < DIM; b++) {
                const real *w = at.weight[DIM - 1];
                const real before = w[0] * node[0].c[b], after = w[2] * node[2].c[b];
                const real sum = wide_fma(w[1], node[1].c[b], before + after), slope = after - before;
                if (DIM == 2) {
                    plane[b] = sum, last[b] = slope;
                    continue;
                }
                const real wy = at.weight[1][j];
                plane[b] = j ? wide_fma(wy, sum, plane[b]) : wy * sum;
                last[b] = j ? wide_fma(wy, slope, last[b]) : wy * slope;
                if (j == 0)
                    mid[b] = -(wy * sum);
                if (j == 2)
                    mid[b] = wide_fma(wy, sum, mid[b]);
            }
        }
        const real wx = at.weight[0][i];
        UNROLL for (int b = 0; b < DIM; b++) {
            v[b] = i ? wide_fma(wx, plane[b], v[b]) : wx * plane[b];
            moment[DIM - 1][b] = i ? wide_fma(wx, last[b], moment[DIM - 1][b]) : wx * last[b];
            if (DIM == 3)
                moment[1][b] = i ? wide_fma(wx, mid[b], moment[1][b]) : wx * mid[b];
            if (i == 0)
                moment[0][b] = -(wx * plane[b]);
            if (i == 2)
                moment[0][b] = wide_fma(wx, plane[b], moment[0][b]);
        }
    }
    UNROLL for (int b = 0; b < DIM; b++) {
        it->v[b] = v[b];
        UNROLL for (int a = 0; a < DIM; a++)
            it->C.m[b][a] = sweep->affine * wide_fnma(v[b], at.e[a], moment[a][b]);
    }
}

/* FLIP: v + a (v_p - sum w v^n), from the gathered v and the particle's own v_p. */
INLINE void gather_flip(const struct gpu_sweep *sweep, const struct sweep_memory *s, struct particle *it,
                        const real own[DIM])
{
    struct stencil at;
    stencil_prepare(&at, it->x);
    const struct gpu_vec4 *first = s->before + cube_number(at.cell, GPU_TILE_SIDE);
    real before[DIM];
    UNROLL for (int b = 0; b < DIM; b++)
        before[b] = 0;
    for (int n = 0; n < STENCIL; n++) {
        int k[3];
        cube_at(n, 3, k);
        const struct gpu_vec4 node = vec4_load(first + cube_number(k, GPU_TILE_SIDE));
        real w = at.weight[0][k[0]];
        UNROLL for (int a = 1; a < DIM; a++)
            w *= at.weight[a][k[a]];
        UNROLL for (int b = 0; b < DIM; b++)
            before[b] = wide_fma(w, node.c[b], before[b]);
    }
    UNROLL for (int b = 0; b < DIM; b++) {
        const real v = wide_fma(sweep->flip_ratio, own[b] - before[b], it->v[b]);
        it->moves[b] = sweep->advect_particle ? v : it->v[b];
        it->v[b] = v;
    }
}

/* How full the grid is at a particle: the mean of its nodes. */
INLINE real gather_fill(const struct sweep_memory *s, const real x[DIM])
{
    struct stencil at;
    stencil_prepare(&at, x);
    const struct gpu_vec4 *first = s->velocity + cube_number(at.cell, GPU_TILE_SIDE);
    real fill = 0;
    for (int n = 0; n < STENCIL; n++) {
        int k[3];
        cube_at(n, 3, k);
        real w = at.weight[0][k[0]];
        UNROLL for (int a = 1; a < DIM; a++)
            w *= at.weight[a][k[a]];
        fill = wide_fma(w, first[cube_number(k, GPU_TILE_SIDE)].c[3], fill);
    }
    return fill;
}

INLINE void rest(struct particle *it)
{
    UNROLL for (int b = 0; b < DIM; b++) {
        it->v[b] = 0;
        if (IS_FLIP)
            it->moves[b] = 0;
        UNROLL for (int a = 0; a < DIM; a++)
            it->C.m[b][a] = 0;
    }
}

/* G2P of the velocities. */
INLINE void gather_all(const struct gpu_sweep *sweep, const struct sweep_memory *s, struct particle *it)
{
    const struct particle before = *it;
    gather(sweep, s, it);
    if (IS_FLIP)
        gather_flip(sweep, s, it, before.v);
    if (!(before.mass > 0)) /* it has left the domain, and waits for its deletion */
        rest(it);
}

/* ---- colliders --------------------------------------------------------------------------------------------------- */

#if GPU_COLLIDES
/* Applies colliders to a particle that is about to move with v. */
NOINLINE void touch_particle(const struct gpu_sweep *sweep, const mpm_collider_book *books, const int block[3],
                             const real x[DIM], real mass, real v[DIM], struct held *held)
{
    const struct gpu_colliders *colliders = &sweep->colliders;
    mpm_contact_point point = {.mass = (double)mass, .cell = colliders->dx, .depth = colliders->depth};
    double w[3] = {0, 0, 0};
    for (int a = 0; a < DIM; a++) {
        const double place = (double)((block[a] - GPU_MARGIN) * GPU_SIDE) + (double)x[a];
        point.x[a] = colliders->lower[a] + mpm_near_wrapped(place, &colliders->symmetry[a]) * colliders->dx;
        point.image[a] = point.x[a];
        w[a] = (double)v[a];
    }
    held->point = point;
    if (!mpm_contacts_hold(colliders->list, (size_t)colliders->count, &point, NULL, w, books, held->contact,
                           &held->contacts))
        return;
    for (int a = 0; a < DIM; a++)
        v[a] = (real)w[a];
}

/* The same for the particles of all threads of the CTA. */
NOINLINE void touch_particles(const struct gpu_sweep *sweep, mpm_collider_book *books, const int block[3],
                              struct particle *it, bool valid)
{
    __shared__ double part[SWEEP_WARPS][GPU_BOOK];
    struct held held;
    held.contacts = 0;
    valid &= it->mass > 0;
    if (valid)
        touch_particle(sweep, books, block, it->x, it->mass, it->v, &held);
    if (IS_FLIP && valid) { /* what moves the particle has no momentum */
        struct held none;
        touch_particle(sweep, books, block, it->x, 0, it->moves, &none);
    }
    enter_books(&sweep->colliders, books, &held, part, SWEEP_WARPS);
}

/* The books of the CTA; NULL: no collider can hold its particles, wherever they drifted since the last sort. */
INLINE mpm_collider_book *open_books(const struct gpu_sweep *sweep, const int block[3])
{
    const struct gpu_colliders *colliders = &sweep->colliders;
    mpm_collider_book *books = colliders->books + (size_t)own_place(sweep) * colliders->count;
    if (!colliders->count || colliders->depth < 0)
        return NULL;
    return find_near(colliders, books, block, -1, GPU_SIDE + 3, colliders->dt, GPU_SWEEP_THREADS) < 0 ? NULL : books;
}
#endif

/* ---- advance ----------------------------------------------------------------------------------------------------- */

/* Strain, history, position. Returns whether the law has limited the history. */
INLINE bool advance(const struct gpu_sweep *sweep, [[maybe_unused]] const struct LAW *law, struct particle *it)
{
    bool clipped = false;
    if (LAW_KEEPS_J) {
        const real J = it->state.J;
        it->state.J = J * matrix_det(matrix_add_diagonal(matrix_scale(sweep->dt, it->C), 1));
        if (sweep->per_shear > 0)
            it->state.J = density_corrected(sweep->per_shear, it->C, it->mass, it->fill, J, it->state.J);
    } else
        it->state.F = matrix_advance(sweep->dt, it->C, it->state.F);
    UNROLL for (int a = 0; a < DIM; a++)
        it->x[a] = wide_fma(sweep->dt_cells, IS_FLIP ? it->moves[a] : it->v[a], it->x[a]);
#if LAW_MAPS
    clipped = MPM_GLUE(LAW, _return_map)(law, &it->state, sweep->dt, it->C);
#endif
    return clipped;
}

/* ---- measure ----------------------------------------------------------------------------------------------------- */

INLINE void measure_begin(const struct gpu_sweep *sweep, struct sweep_memory *s, const int block[3])
{
    for (int k = threadIdx.x % 32; k < GPU_SUMS; k += 32)
        s->sum[threadIdx.x / 32][k] = 0;
    for (int k = threadIdx.x % 32; k < GPU_MAXIMA; k += 32)
        s->most[threadIdx.x / 32][k] = 0;
    if (threadIdx.x < DIM) {
        const int a = threadIdx.x;
        const double first = (double)((block[a] - GPU_MARGIN) * GPU_SIDE);
        s->lowest[a] = (real)(-first - sweep->allowed);
        s->highest[a] = (real)((double)sweep->cells[a] - first + sweep->allowed);
        if (sweep->blocks.period[a]) { /* no particle leaves there */
            s->lowest[a] = -(real)__builtin_inf();
            s->highest[a] = (real)__builtin_inf();
        }
    }
}

INLINE void measure_sum(struct sweep_memory *s, int which, real a)
{
    const real sum = warp_sum(a);
    if (threadIdx.x % 32 == 0)
        s->sum[threadIdx.x / 32][which] += (double)sum;
}

INLINE void measure_most(struct sweep_memory *s, int which, real a)
{
    real *most = &s->most[threadIdx.x / 32][which];
    a = warp_most(a > 0 ? a : 0);
    if (threadIdx.x % 32 == 0 && a > *most)
        *most = a;
}

/* What has become of a particle in its step. */
struct fate {
    bool clipped, outside, clamped, frozen;
    real lost; /* the mass that it had; totals of the step have it still */
};

INLINE bool is_outside(const struct sweep_memory *s, const real x[DIM])
{
    bool inside = true;
    UNROLL for (int a = 0; a < DIM; a++)
        inside &= s->lowest[a] <= x[a] && x[a] <= s->highest[a];
    return !inside;
}

INLINE bool is_out_of_range(const struct gpu_sweep *sweep, real J)
{
    return !(sweep->J_low <= J && J <= sweep->J_high);
}

/* What becomes of a particle that is outside: back onto the face, or without mass, which the host deletes later. The
 * error about one that is out of range, too, needs its mass. */
INLINE void leave(const struct gpu_sweep *sweep, const struct sweep_memory *s, int p, struct particle *it,
                  struct fate *fate)
{
    unsigned beyond = 0;
    UNROLL for (int a = 0; a < DIM; a++)
        beyond |= (it->x[a] < s->lowest[a] ? 1u : 0) << 2 * a | (it->x[a] > s->highest[a] ? 1u : 0) << (2 * a + 1);
    const mpm_leave what = mpm_leave_fate(sweep->on_leave, beyond);
    const real room = (real)sweep->allowed;
    if (what == MPM_LEAVE_DELETE && is_out_of_range(sweep, it->state.J))
        return;
    fate->outside = true;
    fate->clamped = what == MPM_LEAVE_CLAMP;
    fate->frozen = what == MPM_LEAVE_DELETE;
    UNROLL for (int a = 0; a < DIM; a++) {
        const real low = s->lowest[a] + room, high = s->highest[a] - room, x = it->x[a];
        it->x[a] = !fate->clamped ? x : x < low ? low : x > high ? high : x;
    }
    if (!fate->frozen)
        return;
    fate->lost = it->mass;
    it->mass = it->volume = sweep->particles.mass[p] = sweep->particles.volume[p] = 0;
    rest(it);
}

/* Adds the particles of a warp; those of lanes that are not valid have mass 0. Sums are left in shared memory after
 * every chunk, because registers decide how many CTAs run. */
INLINE void measure(const struct gpu_sweep *sweep, struct sweep_memory *s, const struct particle *it,
                    const struct law_evaluation *evaluation, bool valid, const struct fate *fate)
{
    const real m = it->mass + fate->lost, *v = it->v, *x = it->x;
    const real volume_per_mass = valid && m > 0 ? it->volume / m : 0, damping = volume_per_mass * evaluation->damping;
    const real gradient2 = valid ? matrix_dot(it->C, it->C) : 0;
    real rate2 = volume_per_mass * evaluation->isolated * sweep->isolated, speed = 0, v2 = v[0] * v[0];
    if (damping > 0)
        rate2 = damped_rate2(rate2, damping * sweep->isolated);
    UNROLL for (int a = 0; a < DIM; a++)
        speed = wide_max(wide_abs(v[a]), speed);
    UNROLL for (int a = 1; a < DIM; a++)
        v2 = wide_fma(v[a], v[a], v2);
    measure_most(s, GPU_RATE2, rate2);
    measure_most(s, GPU_WAVE2, volume_per_mass * evaluation->wave);
    measure_most(s, GPU_SPEED, speed);
    measure_most(s, GPU_GRADIENT2, gradient2);
    if (IS_FLIP) {
        real moves = 0;
        UNROLL for (int a = 0; a < DIM; a++)
            moves = wide_max(wide_abs(it->moves[a]), moves);
        measure_most(s, GPU_ADVECTION, moves);
    }
    measure_sum(s, GPU_MASS, m);
    UNROLL for (int a = 0; a < DIM; a++) {
        measure_sum(s, GPU_MOMENTUM + a, m * v[a]);
        measure_sum(s, GPU_MASS_MOMENT + a, m * x[a]);
    }
    UNROLL for (int c = DIM == 3 ? 0 : 2; c < 3; c++) {
        const int a = (c + 1) % 3, b = (c + 2) % 3;
        const real turn = sweep->spin * (it->C.m[b][a] - it->C.m[a][b]);
        measure_sum(s, GPU_ANGULAR_MOMENTUM + c, m * wide_fma(x[a], v[b], wide_fnma(x[b], v[a], turn)));
    }
    measure_sum(s, GPU_KINETIC, m * (v2 + sweep->h * sweep->spin * gradient2));
    measure_sum(s, GPU_ELASTIC, valid ? it->volume * evaluation->energy : 0);
    measure_sum(s, GPU_OUTSIDE, fate->outside ? 1 : 0);
    measure_sum(s, GPU_CLAMPED, fate->clamped ? 1 : 0);
    measure_sum(s, GPU_FROZEN, fate->frozen ? 1 : 0);
    measure_sum(s, GPU_OUT_OF_RANGE, valid && m > 0 && is_out_of_range(sweep, it->state.J) ? 1 : 0);
    measure_sum(s, GPU_CLIPPED, fate->clipped ? 1 : 0);
}

/* The report of the block, in the frame of the domain. */
INLINE void measure_end(const struct gpu_sweep *sweep, const struct sweep_memory *s, const int block[3])
{
    struct gpu_report *report = &sweep->reports[own_place(sweep)];
    __syncthreads();
    if (threadIdx.x)
        return;
    double sum[GPU_SUMS], origin[3] = {0, 0, 0};
    for (int k = 0; k < GPU_SUMS; k++) {
        sum[k] = 0;
        for (int w = 0; w < SWEEP_WARPS; w++)
            sum[k] += s->sum[w][k];
    }
    for (int k = 0; k < GPU_MAXIMA; k++) {
        real most = 0;
        for (int w = 0; w < SWEEP_WARPS; w++)
            most = wide_max(s->most[w][k], most);
        report->most[k] = (double)most;
    }
    for (int a = 0; a < DIM; a++)
        origin[a] = sweep->lower[a] + (double)((block[a] - GPU_MARGIN) * GPU_SIDE) * sweep->dx;
    for (int c = DIM == 3 ? 0 : 2; c < 3; c++) {
        const int a = (c + 1) % 3, b = (c + 2) % 3;
        sum[GPU_ANGULAR_MOMENTUM + c] = origin[a] * sum[GPU_MOMENTUM + b] - origin[b] * sum[GPU_MOMENTUM + a] +
                                        sweep->dx * sum[GPU_ANGULAR_MOMENTUM + c];
    }
    for (int a = 0; a < DIM; a++)
        sum[GPU_MASS_MOMENT + a] = sum[GPU_MASS] * origin[a] + sweep->dx * sum[GPU_MASS_MOMENT + a];
    sum[GPU_KINETIC] *= 0.5;
    for (int k = 0; k < GPU_SUMS; k++)
        report->sum[k] = sum[k];
}

/* ---- scatter ----------------------------------------------------------------------------------------------------- */

/* A = m h C^T - 4 dt V/h tau, Q = m v - A e: momentum at the middle node. `momentum`: with m v, C and m; `forces`: with
 * the stress. */
INLINE void give(const struct gpu_sweep *sweep, const struct particle *it, const matrix *tau, struct gift *gift,
                 const bool momentum, const bool forces)
{
    const real mass = momentum ? it->mass : 0, affine = IS_AFFINE ? sweep->h * mass : 0;
    const real stress = forces ? sweep->stress * it->volume : 0;
    struct stencil at;
    stencil_prepare(&at, it->x);
    gift->m = mass;
    UNROLL for (int a = 0; a < 3; a++)
        gift->cell[a] = at.cell[a];
    UNROLL for (int b = 0; b < DIM; b++) {
        real q = mass * it->v[b];
        gift->e[b] = at.e[b];
        UNROLL for (int a = 0; a < DIM; a++) {
            const real turn = forces ? stress * tau->m[b][a] : 0;
            gift->A[a][b] = IS_AFFINE ? wide_fma(affine, it->C.m[b][a], turn) : turn;
            q = wide_fnma(gift->A[a][b], at.e[a], q);
        }
        gift->Q[b] = q;
    }
}

/* ---- the sweep --------------------------------------------------------------------------------------------------- */

/* FLIP: the stress of the particles at `x`, to tiles of its own. The second pass over the particles of the block costs
 * another evaluation of the law, but no shared memory. */
NOINLINE void scatter_forces(const struct gpu_sweep *sweep, struct sweep_memory *s, real *x)
{
    const int *start = sweep->start + (size_t)own_place(sweep) * GPU_CELLS;
    struct gpu_particles particles = sweep->particles;
    particles.x = x;
    __syncthreads();
    chunk_begin(&s->chunk);
    __syncthreads();
    for (int first = start[0]; first < start[GPU_CELLS]; first += GPU_SWEEP_THREADS) {
        const int p = first + (int)threadIdx.x;
        const bool valid = p < start[GPU_CELLS];
        struct gift gift = {};
        if (valid) {
            struct particle it = {};
            particle_load(&it, sweep, &particles, p, true);
            if (!LAW_KEEPS_J)
                it.state.J = matrix_det(it.state.F);
            const struct law_evaluation evaluation =
                MPM_GLUE(LAW, _evaluate)(law_of(sweep, p), it.state, it.C);
            give(sweep, &it, &evaluation.tau, &gift, false, true);
        }
        chunk_add(&s->chunk, &gift, valid);
    }
    chunk_end(&s->chunk, sweep->force_tiles + (size_t)own_place(sweep) * GPU_TILE, false);
}

INLINE void sweep_block(const struct gpu_sweep *sweep, const bool gathers, const bool scatters)
{
    SHARED_MEMORY(memory);
    struct sweep_memory *s = (struct sweep_memory *)memory;
    const int key = sweep->key_of[own_place(sweep)], *start = sweep->start + (size_t)own_place(sweep) * GPU_CELLS;
    const int end = start[GPU_CELLS];
    int block[3];
    pair_at(&sweep->blocks, key, block);
    if (gathers) {
        read_velocities(sweep, s, key);
        measure_begin(sweep, s, block);
    }
    if (scatters)
        chunk_begin(&s->chunk);
#if GPU_COLLIDES
    mpm_collider_book *const books = gathers ? open_books(sweep, block) : NULL;
#endif
    __syncthreads();
    for (int first = start[0]; first < end; first += GPU_SWEEP_THREADS) {
        const int p = first + (int)threadIdx.x;
        const bool valid = p < end, warp_has_any = p - (int)threadIdx.x % 32 < end;
        struct fate fate = {};
        struct particle it = {};
        struct law_evaluation evaluation = {};
        struct gift gift = {};
        if (valid) {
            particle_load(&it, sweep, &sweep->particles, p, !gathers || IS_FLIP);
            if (gathers)
                gather_all(sweep, s, &it);
            if (gathers && LAW_KEEPS_J && sweep->per_shear > 0)
                it.fill = gather_fill(s, it.x);
        }
#if GPU_COLLIDES
        if (books)
            touch_particles(sweep, books, block, &it, valid);
#endif
        if (valid) {
            if (gathers) {
                fate.clipped = advance(sweep, law_of(sweep, p), &it);
                if (!LAW_KEEPS_J)
                    it.state.J = matrix_det(it.state.F);
                if (it.mass > 0 && is_outside(s, it.x))
                    leave(sweep, s, p, &it, &fate);
                particle_store(&it, sweep, p, !scatters || IS_FLIP);
            } else if (!LAW_KEEPS_J)
                it.state.J = matrix_det(it.state.F);
            evaluation = MPM_GLUE(LAW, _evaluate)(law_of(sweep, p), it.state, it.C);
            if (scatters)
                give(sweep, &it, &evaluation.tau, &gift, true, !IS_FLIP);
        }
        if (gathers && warp_has_any)
            measure(sweep, s, &it, &evaluation, valid, &fate);
        if (scatters)
            chunk_add(&s->chunk, &gift, valid);
    }
    if (gathers)
        measure_end(sweep, s, block);
    if (scatters)
        chunk_end(&s->chunk, sweep->tiles + (size_t)own_place(sweep) * GPU_TILE, false);
    if (scatters && IS_FLIP)
        scatter_forces(sweep, s, gathers ? sweep->new_x : sweep->particles.x);
}

/* v and C that the last G2P with a P2G has not stored: `particles.x` and `velocity` are those before it. Where loads
 * act, also those that G2P will find, without colliders. */
INLINE void synchronize_block(const struct gpu_sweep *sweep)
{
    SHARED_MEMORY(memory);
    struct sweep_memory *s = (struct sweep_memory *)memory;
    const int *start = sweep->start + (size_t)own_place(sweep) * GPU_CELLS;
    const size_t n = sweep->particles.stride;
    read_velocities(sweep, s, sweep->key_of[own_place(sweep)]);
#if GPU_COLLIDES
    int block[3];
    pair_at(&sweep->blocks, sweep->key_of[own_place(sweep)], block);
    const mpm_collider_book *books = open_books(sweep, block);
#endif
    __syncthreads();
    for (int p = start[0] + (int)threadIdx.x; p < start[GPU_CELLS]; p += GPU_SWEEP_THREADS) {
        struct particle it = {};
        load_vector(it.x, sweep->particles.x, p, n);
        it.mass = sweep->particles.mass[p];
        gather(sweep, s, &it);
        if (!(it.mass > 0))
            rest(&it);
#if GPU_COLLIDES
        struct held held;
        if (books && it.mass > 0)
            touch_particle(sweep, books, block, it.x, 0, it.v, &held);
#endif
        store_vector(sweep->particles.v, p, n, it.v);
        store_matrix(sweep->particles.C, p, n, &it.C);
    }
}

/* Measures the state as it is, as G2P does after it has stored it. */
INLINE void measure_block(const struct gpu_sweep *sweep)
{
    SHARED_MEMORY(memory);
    struct sweep_memory *s = (struct sweep_memory *)memory;
    const int *start = sweep->start + (size_t)own_place(sweep) * GPU_CELLS, end = start[GPU_CELLS];
    int block[3];
    pair_at(&sweep->blocks, sweep->key_of[own_place(sweep)], block);
    measure_begin(sweep, s, block);
    __syncthreads();
    for (int first = start[0]; first < end; first += GPU_SWEEP_THREADS) {
        const int p = first + (int)threadIdx.x;
        const bool valid = p < end;
        struct particle it = {};
        struct law_evaluation evaluation = {};
        if (p - (int)threadIdx.x % 32 >= end)
            continue;
        if (valid) {
            particle_load(&it, sweep, &sweep->particles, p, true);
            if (!LAW_KEEPS_J)
                it.state.J = matrix_det(it.state.F);
            evaluation = MPM_GLUE(LAW, _evaluate)(law_of(sweep, p), it.state, it.C);
        }
        const struct fate none = {};
        measure(sweep, s, &it, &evaluation, valid, &none);
    }
    measure_end(sweep, s, block);
}

INLINE void give_couple(const struct gpu_sweep *sweep, int p, struct gift *gift)
{
    const double *couple = sweep->couple + (size_t)sweep->particles.row[p] * DIM * DIM;
    UNROLL for (int b = 0; b < DIM; b++)
        UNROLL for (int a = 0; a < DIM; a++) {
            gift->A[a][b] = (real)(4 * sweep->push / sweep->dx * couple[b * DIM + a]);
            gift->Q[b] = wide_fnma(gift->A[a][b], gift->e[a], gift->Q[b]);
        }
}

/* Adds dt m b, and the couples K of loads as P2G does a stress, 4 dt/h K, to what P2G has given to the tiles, where
 * FLIP has dt f. Reports the sum of m b. */
INLINE void push_block(const struct gpu_sweep *sweep)
{
    SHARED_MEMORY(memory);
    struct sweep_memory *s = (struct sweep_memory *)memory;
    const int place = own_place(sweep), *start = sweep->start + (size_t)place * GPU_CELLS, end = start[GPU_CELLS];
    int block[3];
    pair_at(&sweep->blocks, sweep->key_of[place], block);
    measure_begin(sweep, s, block);
    chunk_begin(&s->chunk);
    __syncthreads();
    for (int first = start[0]; first < end; first += GPU_SWEEP_THREADS) {
        const int p = first + (int)threadIdx.x;
        struct gift gift = {};
        double force[3] = {0, 0, 0};
        if (p < end) {
            real x[DIM];
            struct stencil at;
            load_vector(x, sweep->particles.x, p, sweep->particles.stride);
            stencil_prepare(&at, x);
            UNROLL for (int a = 0; a < 3; a++)
                gift.cell[a] = at.cell[a];
            UNROLL for (int b = 0; b < DIM; b++) {
                gift.e[b] = at.e[b];
                force[b] = (double)sweep->particles.mass[p] *
                           sweep->acceleration[(size_t)sweep->particles.row[p] * DIM + b];
                gift.Q[b] = (real)(sweep->push * force[b]);
            }
            if (sweep->couple)
                give_couple(sweep, p, &gift);
        }
        UNROLL for (int b = 0; b < DIM; b++) {
            const double sum = warp_sum(force[b]);
            if (threadIdx.x % 32 == 0)
                s->sum[threadIdx.x / 32][GPU_FORCE + b] += sum;
        }
        chunk_add(&s->chunk, &gift, p < end);
    }
    measure_end(sweep, s, block);
    chunk_end(&s->chunk, (IS_FLIP ? sweep->force_tiles : sweep->tiles) + (size_t)place * GPU_TILE, true);
}

/* The volumes of particles less what their masses would tell of the first fluid, to the tiles. */
INLINE void volume_block(const struct gpu_sweep *sweep)
{
    SHARED_MEMORY(memory);
    struct sweep_memory *s = (struct sweep_memory *)memory;
    const int place = own_place(sweep), *start = sweep->start + (size_t)place * GPU_CELLS, end = start[GPU_CELLS];
    chunk_begin(&s->chunk);
    __syncthreads();
    for (int first = start[0]; first < end; first += GPU_SWEEP_THREADS) {
        const int p = first + (int)threadIdx.x;
        struct gift gift = {};
        if (p < end) {
            struct particle it = {};
            struct stencil at;
            particle_load(&it, sweep, &sweep->particles, p, false);
            real volume = LAW_KEEPS_J ? it.volume : it.volume * matrix_det(it.state.F);
            for (int c = 0; c < LAW_HISTORY; c++)
                volume *= sweep->scales_volume >> c & 1 ? it.state.history[c] : 1;
            stencil_prepare(&at, it.x);
            UNROLL for (int a = 0; a < 3; a++)
                gift.cell[a] = at.cell[a];
            UNROLL for (int b = 0; b < DIM; b++)
                gift.e[b] = at.e[b];
            gift.m = it.mass > 0 ? wide_fnma(sweep->fluid_volume, it.mass, volume) : 0;
        }
        chunk_add(&s->chunk, &gift, p < end);
    }
    chunk_end(&s->chunk, sweep->tiles + (size_t)place * GPU_TILE, false);
}

/* How far G2P would move particles, and how much it would compress them; writes nothing but the report. */
INLINE void dry_run_block(const struct gpu_sweep *sweep)
{
    SHARED_MEMORY(memory);
    struct sweep_memory *s = (struct sweep_memory *)memory;
    const int key = sweep->key_of[own_place(sweep)];
    const int *start = sweep->start + (size_t)own_place(sweep) * GPU_CELLS, end = start[GPU_CELLS];
    int block[3];
    pair_at(&sweep->blocks, key, block);
    read_velocities(sweep, s, key);
    measure_begin(sweep, s, block);
    __syncthreads();
    for (int first = start[0]; first < end; first += GPU_SWEEP_THREADS) {
        const int p = first + (int)threadIdx.x;
        struct particle it = {};
        real speed = 0, loss = 0;
        if (p - (int)threadIdx.x % 32 >= end)
            continue;
        if (p < end) {
            load_vector(it.x, sweep->particles.x, p, sweep->particles.stride);
            if (IS_FLIP)
                load_vector(it.v, sweep->particles.v, p, sweep->particles.stride);
            it.mass = sweep->particles.mass[p];
            gather_all(sweep, s, &it);
            loss = 1 - matrix_det(matrix_add_diagonal(matrix_scale(sweep->dt, it.C), 1));
        }
        UNROLL for (int a = 0; a < DIM; a++)
            speed = wide_max(wide_abs(IS_FLIP ? it.moves[a] : it.v[a]), speed);
        measure_most(s, ADVECTION, speed);
        measure_most(s, GPU_LOSS, loss);
    }
    measure_end(sweep, s, block);
}

extern "C" {
__constant__ mpm_gpu_image gpu_image = {sizeof(real), DIM, sizeof(struct LAW), GPU_SWEEP_THREADS,
                                        sizeof(struct sweep_memory), GPU_COLLIDES,
                                        (unsigned)GPU_TRANSFER, GPU_PUSHES};
}

extern "C" __global__ void __launch_bounds__(GPU_SWEEP_THREADS, GPU_SWEEP_CTAS) p2g(struct gpu_sweep sweep)
{
    sweep_block(&sweep, false, true);
}

extern "C" __global__ void __launch_bounds__(GPU_SWEEP_THREADS, GPU_SWEEP_CTAS) g2p(struct gpu_sweep sweep)
{
    sweep_block(&sweep, true, false);
}

extern "C" __global__ void __launch_bounds__(GPU_SWEEP_THREADS, GPU_SWEEP_CTAS) g2p2g(struct gpu_sweep sweep)
{
    sweep_block(&sweep, true, true);
}

extern "C" __global__ void __launch_bounds__(GPU_SWEEP_THREADS, GPU_SWEEP_CTAS) synchronize(struct gpu_sweep sweep)
{
    synchronize_block(&sweep);
}

extern "C" __global__ void __launch_bounds__(GPU_SWEEP_THREADS, GPU_SWEEP_CTAS)
    measure_particles(struct gpu_sweep sweep)
{
    measure_block(&sweep);
}

/** After P2G: a body force, where the image has it. */
extern "C" __global__ void __launch_bounds__(GPU_SWEEP_THREADS, GPU_SWEEP_CTAS) push(struct gpu_sweep sweep)
{
#if GPU_PUSHES
    push_block(&sweep);
#else
    (void)sweep;
#endif
}

extern "C" __global__ void __launch_bounds__(GPU_SWEEP_THREADS, GPU_SWEEP_CTAS) fill_volume(struct gpu_sweep sweep)
{
    volume_block(&sweep);
}

extern "C" __global__ void __launch_bounds__(GPU_SWEEP_THREADS, GPU_SWEEP_CTAS) dry_run(struct gpu_sweep sweep)
{
    dry_run_block(&sweep);
}
