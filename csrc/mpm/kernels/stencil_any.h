/* SPDX-License-Identifier: MIT
 *
 * The transfers for every kernel and scheme: first the weights of a whole tile, then particle by particle and pencil by
 * pencil (pencil.h). Kernels with fewer than four nodes give the others the weight 0.
 *
 *     k = 0 .. degree   number of a node along an axis;  e = x_p - (node 0), in cells;  Delta = h (k - e)
 *     G2P:  S v = sum w v_i,  moment_a = sum w v_i k_a,  slope_a = sum v_i h dw/dx_a
 *     P2G:  p_i += w (Q + sum_a A_a k_a) + sum_a G_a h dw/dx_a
 */
#pragma once
#include <assert.h>

#include "mpm/kernels/pencil.h"
#include "mpm/kernels/scheme.h"

enum { MOST_NODES = 4 };             /* along an axis */
enum { ACROSS = DIM - 1 };           /* axes across pencils; the last axis runs along them */
enum { SUMS = 1 + 2 * DIM };         /* values, moments, slopes */

struct stencil {
    int32_t offset[WIDTH] __attribute__((aligned(64))); /* arena position of the first node, by lane */
    /* across pencils: weights w and slopes h dN/dx */
    real weight[ACROSS][MOST_NODES][WIDTH] __attribute__((aligned(64)));
    real slope[ACROSS][MOST_NODES][WIDTH] __attribute__((aligned(64)));
    /* along pencils: vec4s of weights and slopes */
    real along[WIDTH][MOST_NODES] __attribute__((aligned(64)));
    real along_slope[WIDTH][MOST_NODES] __attribute__((aligned(64)));
    real sums[2 * SUMS][4][WIDTH] __attribute__((aligned(64))); /* by component and lane, or vec4s; for 2 fields */
    wide e[DIM];
};

/* Which of `sums` to gather besides the values. SECOND: the values of a second field. */
enum stencil_wanted { WANT_MOMENT = 1, WANT_SLOPE = 2, WANT_SECOND = 4 };

/* Pencils of less than four nodes begin at every second node, so that particles of two cells share them. Where a
 * stencil begins at an odd node, this shifts its weights and slopes by one node. Returns the shift. */
INLINE wide shift_to_pair(wide first, wide w[MOST_NODES], wide d[MOST_NODES], wide *e)
{
    const wide odd = parity(first);
    const mask shifts = wide_less(wide_set(0), odd);
    UNROLL for (int k = MOST_NODES - 1; k > 0; k--) {
        w[k] = wide_select(shifts, w[k - 1], w[k]);
        d[k] = wide_select(shifts, d[k - 1], d[k]);
    }
    w[0] = wide_select(shifts, wide_set(0), w[0]);
    d[0] = wide_select(shifts, wide_set(0), d[0]);
    *e += odd;
    return odd;
}

/* `x`: in cells from the block's first node. One weight completes the sum of weights to 1 and one slope the sum of
 * slopes to 0; the inner weights of the cubic kernel follow from sum w = 1 and sum w Delta = 0. Otherwise the rounding
 * of thirds and sixths would leave the same error in every step. */
INLINE void stencil_prepare_any(struct stencil *s, const wide x[DIM], const int degree)
{
    const wide one = wide_set(1), half = wide_set((real)0.5);
    wide offset = wide_set(0);
    UNROLL for (int a = 0; a < DIM; a++) {
        wide w[MOST_NODES], d[MOST_NODES];
        const wide base = wide_floor(x[a] - wide_set((real)(0.5 * (degree - 1))));
        wide first = wide_min(wide_max(base + one, wide_set(0)), wide_set(ARENA_SIDE - 1 - degree));
        const wide e = s->e[a] = x[a] - base;
        if (degree == MPM_LINEAR) {
            w[0] = one - e;
            w[1] = e;
            d[0] = -one;
            d[1] = one;
        } else if (degree == MPM_QUADRATIC) {
            const wide before = wide_set((real)1.5) - e, after = e - half;
            w[0] = half * before * before;
            w[2] = half * after * after;
            w[1] = one - (w[0] + w[2]);
            d[0] = -before;
            d[2] = after;
            d[1] = before - after;
        } else {
            const wide sixth = wide_set((real)(1.0 / 6)), f = e - one, g = one - f;
            w[0] = sixth * g * g * g;
            w[3] = sixth * f * f * f;
            w[1] = (g - (w[0] + w[0])) + w[3];
            w[2] = (f - (w[3] + w[3])) + w[0];
            d[0] = -half * g * g;
            d[3] = half * f * f;
            d[1] = f * wide_fma(wide_set((real)1.5), f, wide_set(-2));
            d[2] = -((d[0] + d[3]) + d[1]);
        }
        UNROLL for (int k = degree + 1; k < MOST_NODES; k++)
            w[k] = d[k] = wide_set(0);
        if (a < ACROSS) {
            UNROLL for (int k = 0; k <= degree; k++) {
                wide_store(s->weight[a][k], w[k]);
                wide_store(s->slope[a][k], d[k]);
            }
        } else {
            if (degree < MPM_CUBIC)
                first -= shift_to_pair(first, w, d, &s->e[a]);
            vec4s_store(&s->along[0][0], w);
            vec4s_store(&s->along_slope[0][0], d);
        }
        offset = wide_fma(offset, wide_set(ARENA_SIDE), first);
    }
    wide_store_int32(s->offset, offset * wide_set(4));
}

INLINE void stencil_prepare(struct stencil *s, const wide x[DIM], int degree)
{
    switch (degree) {
    case MPM_LINEAR:
        stencil_prepare_any(s, x, MPM_LINEAR);
        break;
    case MPM_QUADRATIC:
        stencil_prepare_any(s, x, MPM_QUADRATIC);
        break;
    default:
        stencil_prepare_any(s, x, MPM_CUBIC);
    }
}

/* Arena position of part j of pencil (i, k), relative to the first node. */
INLINE ptrdiff_t part_position(int i, int k, int j)
{
    return 4 * (DIM == 3 ? (i * ARENA_SIDE + k) * ARENA_SIDE : i * ARENA_SIDE) + j * PART_REALS;
}

/* Slab i of the stencil holds the nodes with index i along the first axis. These are sums over its pencils, weighted by
 * w, k w and h dN/dx of the second axis. In 2-D a slab is one pencil. */
struct slab {
    part value, moment, slope;
};

INLINE struct slab gather_slab(const struct stencil *s, const real *first, int i, int j, int q, const int degree,
                                 const unsigned wanted)
{
    struct slab slab;
#if DIM == 2
    (void)s, (void)q, (void)degree, (void)wanted;
    slab.value = slab.moment = slab.slope = part_load(first + part_position(i, 0, j));
#else
    slab.value = slab.moment = slab.slope = part_set(0);
    UNROLL for (int k = degree; k >= 0; k--) {
        const part v = part_load(first + part_position(i, k, j));
        slab.value = part_fma(part_set(s->weight[1][k][q]), v, slab.value);
        if ((wanted & WANT_MOMENT) && k > 0)
            slab.moment += slab.value;
        if (wanted & WANT_SLOPE)
            slab.slope = part_fma(part_set(s->slope[1][k][q]), v, slab.slope);
    }
#endif
    return slab;
}

/* The sums of particle p, not yet added over the four nodes of a pencil. [0]: values, [1 + a]: moments, [1 + DIM + a]:
 * slopes, [SUMS]: values of the second field. */
INLINE void gather_one(const struct stencil *s, const real *arena, const real *second, int p, int q,
                       part sums[SUMS + 1], const int degree, const unsigned wanted)
{
    const real *first = arena + s->offset[q];
    UNROLL for (int j = 0; j < PENCIL_PARTS; j++) {
        part found[SUMS + 1];
        UNROLL for (int k = 0; k <= SUMS; k++)
            found[k] = part_set(0);
        UNROLL for (int i = degree; i >= 0; i--) {
            const struct slab slab = gather_slab(s, first, i, j, q, degree, wanted);
            const part w = part_set(s->weight[0][i][q]);
            found[0] = part_fma(w, slab.value, found[0]);
            if ((wanted & WANT_MOMENT) && i > 0)
                found[1] += found[0];
            if (DIM == 3 && (wanted & WANT_MOMENT))
                found[2] = part_fma(w, slab.moment, found[2]);
            if (wanted & WANT_SLOPE)
                found[1 + DIM] = part_fma(part_set(s->slope[0][i][q]), slab.value, found[1 + DIM]);
            if (DIM == 3 && (wanted & WANT_SLOPE))
                found[2 + DIM] = part_fma(w, slab.slope, found[2 + DIM]);
            if (wanted & WANT_SECOND)
                found[SUMS] = part_fma(w, gather_slab(s, second + s->offset[q], i, j, q, degree, 0).value, found[SUMS]);
        }
        const part along = pencil_weights(s->along[p], j), along_slope = pencil_weights(s->along_slope[p], j);
        found[2 * DIM] = found[0] * along_slope;
        UNROLL for (int k = 0; k <= SUMS; k++)
            if (k != DIM && k != 2 * DIM)
                found[k] *= along;
        found[DIM] = found[0] * pencil_nodes(j);
        UNROLL for (int k = 0; k <= SUMS; k++) {
            if (j == 0)
                sums[k] = found[k];
            else
                sums[k] += found[k];
        }
    }
}

INLINE bool is_wanted(int which, const unsigned wanted)
{
    return which == 0 || (wanted & (which <= DIM ? WANT_MOMENT : which < SUMS ? WANT_SLOPE : WANT_SECOND));
}

/* Compiles `call` once per degree, with DEGREE a constant. */
#define FOR_DEGREE(degree, call) \
    do { \
        if ((degree) == MPM_LINEAR) { \
            enum { DEGREE = MPM_LINEAR }; \
            call; \
        } else if ((degree) == MPM_QUADRATIC) { \
            enum { DEGREE = MPM_QUADRATIC }; \
            call; \
        } else { \
            enum { DEGREE = MPM_CUBIC }; \
            call; \
        } \
    } while (0)

INLINE void gather_tile(struct stencil *s, const real *arena, const real *second, const int degree,
                        const unsigned wanted)
{
    for (int p = 0; p < WIDTH; p += TOGETHER) {
        part sums[SUMS + 1][TOGETHER];
        UNROLL for (int i = 0; i < TOGETHER; i++) {
            part one[SUMS + 1];
            gather_one(s, arena, second, p + i, lane_together(p, i), one, degree, wanted);
            UNROLL for (int k = 0; k <= SUMS; k++)
                sums[k][i] = one[k];
        }
        UNROLL for (int k = 0; k <= SUMS; k++)
            if (is_wanted(k, wanted))
                pencil_sums(&s->sums[k][0][0] + 4 * p, sums[k]);
    }
    UNROLL for (int k = 0; k <= SUMS; k++) {
        if (!is_wanted(k, wanted))
            continue;
        wide component[4];
        vec4s_load(component, &s->sums[k][0][0]);
        UNROLL for (int b = 0; b < 4; b++)
            wide_store(s->sums[k][b], component[b]);
    }
}

/* Fills `sums` from the nodes. */
NOINLINE void stencil_gather(struct stencil *s, const real *arena, const real *second, int degree, unsigned wanted)
{
    switch (wanted) {
#define CASE(wanted) \
    case wanted: \
        FOR_DEGREE(degree, gather_tile(s, arena, second, DEGREE, wanted)); \
        break;
        CASE(0)
        CASE(WANT_MOMENT)
        CASE(WANT_SLOPE)
        CASE(WANT_MOMENT | WANT_SLOPE)
        CASE(WANT_MOMENT | WANT_SECOND)
        CASE(WANT_SLOPE | WANT_SECOND)
    default: /* every sum, and so those of any other combination */
        CASE(WANT_MOMENT | WANT_SLOPE | WANT_SECOND)
#undef CASE
    }
}

INLINE wide stencil_sum(const struct stencil *s, int which, int component)
{
    return wide_load(s->sums[which][component]);
}

/* One quantity that particles bring to the grid, one particle per lane: w (Q + A k) + G h grad w at a node. */
struct deposit {
    wide Q[DIM], mass;
    wide third; /* 2-D: the third real of a node, of scalars */
    wide A[DIM][DIM], G[DIM][DIM]; /* [axis][component] */
    bool by_offset, by_slope;      /* whether A and G take part */
};

/* Quantities that are deposited together. */
enum { MOST_DEPOSITS = 2 };

/* With enough registers (AVX-512), they hold the sums of a run of particles with the same pencils; otherwise every
 * particle adds to the arena. */
#define SLAB_PENCILS(degree) (DIM == 3 ? (degree) + 1 : 1)
#ifdef MPM_ISA_AVX512
#define KEEPS_RUN(degree, deposits) ((deposits) * ((degree) + 1) * SLAB_PENCILS(degree) * PENCIL_PARTS <= 18)
#else
#define KEEPS_RUN(degree, deposits) 0
#endif
/* Two deposits share the weights and the loop over pencils, unless that would move twice as many sums between registers
 * and the arena. */
#define SHARES_PENCILS(degree) (KEEPS_RUN(degree, 2) || DIM == 2)

struct any_run {
    int32_t offset;
    part pencil[MOST_DEPOSITS][MOST_NODES][SLAB_PENCILS(MOST_NODES - 1)][PENCIL_PARTS];
};

/* Runs `body` for every part j of pencil (i, k) of deposit n. */
#define FOR_PARTS(degree, deposits, body) \
    UNROLL for (int n = 0; n < (deposits); n++) \
        UNROLL for (int i = 0; i <= (degree); i++) \
            UNROLL for (int k = 0; k < SLAB_PENCILS(degree); k++) \
                UNROLL for (int j = 0; j < PENCIL_PARTS; j++) \
                    body

INLINE void begin_run(struct any_run *run, int32_t offset, const int degree, const int deposits)
{
    run->offset = offset;
    FOR_PARTS(degree, deposits, { run->pencil[n][i][k][j] = part_set(0); });
}

INLINE void end_run(struct any_run *run, real *const arena[MOST_DEPOSITS], const int degree, const int deposits)
{
    FOR_PARTS(degree, deposits, {
        real *at = arena[n] + run->offset + part_position(i, k, j);
        part_store(at, part_load(at) + run->pencil[n][i][k][j]);
    });
}

/* What a particle adds to the pencil at node 0 of the axes across, and the increase from one pencil to the next. */
struct pencil {
    part base[PENCIL_PARTS], step[ACROSS][PENCIL_PARTS], slope[ACROSS][PENCIL_PARTS];
};

INLINE struct pencil pencil_of(const struct stencil *s, const real *vec4, int p, const unsigned parts)
{
    enum { STEP = 4 * WIDTH, A = STEP, G = (1 + DIM) * STEP }; /* distances between the vec4s of quantities */
    struct pencil pencil;
    UNROLL for (int j = 0; j < PENCIL_PARTS; j++) {
        const part along = pencil_weights(s->along[p], j);
        part base = pencil_repeat(vec4);
        if (parts & WANT_MOMENT)
            base = part_fma(pencil_nodes(j), pencil_repeat(vec4 + A + ACROSS * STEP), base);
        base *= along;
        if (parts & WANT_SLOPE)
            base = part_fma(pencil_weights(s->along_slope[p], j), pencil_repeat(vec4 + G + ACROSS * STEP), base);
        pencil.base[j] = base;
        UNROLL for (int a = 0; a < ACROSS; a++) {
            pencil.step[a][j] = pencil.slope[a][j] = part_set(0);
            if (parts & WANT_MOMENT)
                pencil.step[a][j] = along * pencil_repeat(vec4 + A + a * STEP);
            if (parts & WANT_SLOPE)
                pencil.slope[a][j] = along * pencil_repeat(vec4 + G + a * STEP);
        }
    }
    return pencil;
}

/* Adds particle p, which is in lane q. `parts_0`, `parts_1`: the wanted parts of each deposit. */
INLINE void scatter_one(const struct stencil *s, struct any_run *run, real *const arena[MOST_DEPOSITS], int p, int q,
                        const int degree, const unsigned parts_0, const unsigned parts_1, const int deposits)
{
    const int32_t offset = s->offset[q];
    const bool keeps_run = KEEPS_RUN(degree, deposits);
    if (keeps_run && __builtin_expect(offset != run->offset, 0)) {
        end_run(run, arena, degree, deposits);
        begin_run(run, offset, degree, deposits);
    }
    struct pencil pencil[MOST_DEPOSITS];
    UNROLL for (int n = 0; n < deposits; n++)
        pencil[n] = pencil_of(s, &s->sums[n * SUMS][0][0] + 4 * p, p, n == 0 ? parts_0 : parts_1);

    enum { SECOND = ACROSS - 1 }; /* the second axis across; 2-D has none, and a slab is one pencil */
    UNROLL for (int i = 0; i <= degree; i++) {
        const part w = part_set(s->weight[0][i][q]);
        UNROLL for (int n = 0; n < deposits; n++) {
            const unsigned parts = n == 0 ? parts_0 : parts_1;
            struct pencil *of = &pencil[n];
            part slab[PENCIL_PARTS];
            UNROLL for (int j = 0; j < PENCIL_PARTS; j++) {
                if ((parts & WANT_MOMENT) && i > 0)
                    of->base[j] += of->step[0][j];
                slab[j] = w * of->base[j];
                if (parts & WANT_SLOPE)
                    slab[j] = part_fma(part_set(s->slope[0][i][q]), of->slope[0][j], slab[j]);
            }
            UNROLL for (int k = 0; k < SLAB_PENCILS(degree); k++)
                UNROLL for (int j = 0; j < PENCIL_PARTS; j++) {
                    real *at = arena[n] + offset + part_position(i, k, j);
                    part sum = keeps_run ? run->pencil[n][i][k][j] : part_load(at);
                    if (DIM == 2) {
                        sum += slab[j];
                    } else {
                        if ((parts & WANT_MOMENT) && k > 0)
                            slab[j] += w * of->step[SECOND][j];
                        sum = part_fma(part_set(s->weight[SECOND][k][q]), slab[j], sum);
                        if (parts & WANT_SLOPE)
                            sum = part_fma(part_set(s->slope[SECOND][k][q]), w * of->slope[SECOND][j], sum);
                    }
                    if (keeps_run)
                        run->pencil[n][i][k][j] = sum;
                    else
                        part_store(at, sum);
                }
        }
    }
}

INLINE void scatter_tile(const struct stencil *s, real *const arena[MOST_DEPOSITS], int count, const int degree,
                         const unsigned parts_0, const unsigned parts_1, const int deposits)
{
    struct any_run run;
    begin_run(&run, s->offset[0], degree, deposits);
    for (int p = 0; p < count; p += TOGETHER)
        UNROLL for (int i = 0; i < TOGETHER; i++)
            scatter_one(s, &run, arena, p + i, lane_together(p, i), degree, parts_0, parts_1, deposits);
    if (KEEPS_RUN(degree, deposits))
        end_run(&run, arena, degree, deposits);
}

/* Scatters the deposit whose vec4s are in `sums`. */
NOINLINE void scatter_sums(const struct stencil *s, real *arena, int count, int degree, unsigned parts)
{
    real *const arenas[MOST_DEPOSITS] = {arena};
    switch (parts) {
#define CASE(parts) \
    case parts: \
        FOR_DEGREE(degree, scatter_tile(s, arenas, count, DEGREE, parts, 0, 1)); \
        break;
        CASE(0)
        CASE(WANT_MOMENT)
        CASE(WANT_SLOPE)
        CASE(WANT_MOMENT | WANT_SLOPE)
#undef CASE
    }
}

/* Scatters two deposits at once. The cases are all combinations that schemes have. */
NOINLINE void scatter_both_sums(const struct stencil *s, real *const arenas[MOST_DEPOSITS], int count, int degree,
                                unsigned parts_0, unsigned parts_1)
{
#define CASE(first, second) \
    if (parts_0 == (first) && parts_1 == (second)) { \
        FOR_DEGREE(degree, if (SHARES_PENCILS(DEGREE)) scatter_tile(s, arenas, count, DEGREE, first, second, 2)); \
        return; \
    }
    CASE(0, WANT_MOMENT)
    CASE(0, WANT_SLOPE)
    CASE(WANT_MOMENT, WANT_MOMENT)
    CASE(WANT_MOMENT, WANT_SLOPE)
    CASE(WANT_SLOPE, WANT_SLOPE)
#undef CASE
    assert(!"a pair of deposits that no scheme has");
}

INLINE unsigned parts_of(const struct deposit *deposit)
{
    return (deposit->by_offset ? WANT_MOMENT : 0) | (deposit->by_slope ? WANT_SLOPE : 0);
}

INLINE void put_vec4s(struct stencil *s, int n, const struct deposit *deposit)
{
    const wide zero = wide_set(0);
    UNROLL for (int k = 0; k < SUMS; k++) {
        const wide *of = k == 0 ? deposit->Q : k <= DIM ? deposit->A[k - 1] : deposit->G[k - 1 - DIM];
        const wide third = DIM == 3 ? of[DIM - 1] : k == 0 ? deposit->third : zero;
        const wide component[4] = {of[0], of[1], third, k == 0 ? deposit->mass : zero};
        if (is_wanted(k, parts_of(deposit)))
            vec4s_store(&s->sums[n * SUMS + k][0][0], component);
    }
}

/* Adds the first `count` particles of the tile in cell order, rounded up to a multiple of TOGETHER by padding. */
INLINE void stencil_scatter(struct stencil *s, real *arena, int count, int degree, const struct deposit *deposit)
{
    put_vec4s(s, 0, deposit);
    scatter_sums(s, arena, count, degree, parts_of(deposit));
}

/* The same for two deposits. */
INLINE void stencil_scatter_both(struct stencil *s, real *const arenas[MOST_DEPOSITS], int count, int degree,
                                 const struct deposit deposits[MOST_DEPOSITS])
{
    if (SHARES_PENCILS(degree)) {
        for (int n = 0; n < MOST_DEPOSITS; n++)
            put_vec4s(s, n, &deposits[n]);
        scatter_both_sums(s, arenas, count, degree, parts_of(&deposits[0]), parts_of(&deposits[1]));
    } else {
        for (int n = 0; n < MOST_DEPOSITS; n++)
            stencil_scatter(s, arenas[n], count, degree, &deposits[n]);
    }
}
