/* SPDX-License-Identifier: MIT
 *
 * Accelerations by neighbours, each particle its own. With nabla W = G x_ij, s = 1/rho and P = p/rho^2,
 *
 *     pressure     - m (P_i + P_j) G x_ij
 *     "vector"     m 2 eta s_i s_j G r^2/(r^2 + 0.01 h^2) v_ij               eta nabla^2 v, component by component
 *     "central"    m 2 (d + 2) eta s_i s_j (v_ij . x_ij)/(r^2 + 0.01 h^2) G x_ij       (keeps angular momentum)
 *     constant nu  nu (s_i + s_j)/2 in place of eta s_i s_j                         nu nabla^2 v
 *     artificial   m alpha c h (s_i + s_j)/2 (v_ij . x_ij)/(r^2 + 0.01 h^2) G x_ij     where v_ij . x_ij < 0
 *     repulsion    of pairs that are too close, repulsion.h
 *     XSPH         v_i moves with v_i - xsph sum m (s_i + s_j)/2 W v_ij
 *     compression  d ln rho_i/dt = s_i m sum G x_ij . v_ij                       for the automatic step
 *
 * (Monaghan, Annu. Rev. Astron. Astrophys. 30 (1992) 543; Morris, Fox, Zhu, J. Comput. Phys. 136 (1997) 214; Monaghan,
 * J. Comput. Phys. 82 (1989) 1.) Every pair is symmetric, so that momentum is conserved.
 */
#include "materials/fluid.h"
#include "sph/kernels/repulsion.h"

enum { INVISCID = -1 };

struct particles {
    wide x[DIM], v[DIM], P, s;
};

struct sums {
    wide force[DIM], drift[DIM], closing; /* closing: sum of G x_ij . v_ij */
};

/* Adds `count` neighbours. The first five arguments are constants. `mode`: the viscosity, or INVISCID; `extras`: with
 * artificial viscosity and XSPH; `closes`: with the rate of compression. */
INLINE void add_chunk(const mpm_sph_pass *pass, const mpm_sph_kernel kernel, const int mode, const bool extras,
                      const bool closes, const struct particles *i, const real *chunk, int count, struct sums *sums)
{
    const wide inverse_h = wide_set((real)(1 / pass->h)), one = wide_set(1), zero = wide_set(0);
    const wide soft = wide_set((real)(0.01 * pass->h * pass->h)), tiny = wide_set((real)(1e-12 * pass->h * pass->h));
    /* twice eta s_i s_j + nu (s_i + s_j)/2 is eta s_j + half; of eta and nu, one is 0 */
    const double form = mode == MPM_SPH_CENTRAL ? DIM + 2 : 1;
    const wide nu = wide_set((real)(form * pass->nu)), half = nu * i->s;
    const wide eta = wide_fma(wide_set((real)(2 * form * pass->eta)), i->s, nu);
    const wide alpha = wide_set((real)(0.5 * pass->alpha * pass->h));
    const wide value = wide_set((real)(0.5 * pass->xsph * smoothing_value_factor(kernel, pass->h) /
                                       smoothing_slope_factor(kernel, pass->h)));
    for (int j = 0; j < count; j++) {
        const real *record = chunk + j * MPM_SPH_RECORD;
        wide d[DIM], w[DIM], r2 = zero, along = zero, inverse_r = one, inverse_soft = one, q;
        UNROLL for (int a = 0; a < DIM; a++) {
            d[a] = i->x[a] - wide_set(record[RECORD_X + a]);
            r2 = wide_fma(d[a], d[a], r2);
        }
        const wide softened = r2 + soft;
        if (kernel == MPM_SPH_CUBIC) {
            const wide r = wide_sqrt(wide_max(r2, tiny));
            q = r * inverse_h;
            if (mode != INVISCID || extras) {
                const wide both = one / (r * softened); /* one division for two inverses */
                inverse_r = both * softened;
                inverse_soft = both * r;
            } else
                inverse_r = one / r;
        } else {
            q = wide_sqrt(r2) * inverse_h;
            if (mode != INVISCID || extras)
                inverse_soft = one / softened;
        }
        const wide slope = smoothing_slope(kernel, q, inverse_r);
        wide centre = -(i->P + wide_set(record[RECORD_P]));
        if (mode != INVISCID || extras || closes)
            UNROLL for (int a = 0; a < DIM; a++) {
                w[a] = i->v[a] - wide_set(record[RECORD_V + a]);
                along = wide_fma(w[a], d[a], along);
            }
        if (closes)
            sums->closing = wide_fma(slope, along, sums->closing);
        if (mode == MPM_SPH_CENTRAL)
            centre = wide_fma(wide_fma(eta, wide_set(record[RECORD_S]), half) * along, inverse_soft, centre);
        if (extras) {
            const wide specific = i->s + wide_set(record[RECORD_S]);
            centre = wide_fma(alpha * specific * wide_min(along, zero), inverse_soft, centre);
            const wide share = value * specific * smoothing_value(kernel, q);
            UNROLL for (int a = 0; a < DIM; a++)
                sums->drift[a] = wide_fnma(share, w[a], sums->drift[a]);
        }
        centre *= slope;
        UNROLL for (int a = 0; a < DIM; a++)
            sums->force[a] = wide_fma(centre, d[a], sums->force[a]);
        if (mode == MPM_SPH_VECTOR) {
            const wide shear = wide_fma(eta, wide_set(record[RECORD_S]), half) * slope * (r2 * inverse_soft);
            UNROLL for (int a = 0; a < DIM; a++)
                sums->force[a] = wide_fma(shear, w[a], sums->force[a]);
        }
    }
}

INLINE void add_list(const mpm_sph_pass *pass, const mpm_sph_kernel kernel, const int mode, const bool extras,
                     const bool closes, const struct particles *i, const int32_t *list, size_t count, struct sums *sums)
{
    real chunk[CHUNK * MPM_SPH_RECORD] __attribute__((aligned(64)));
    for (size_t first = 0; first < count; first += CHUNK) {
        const int n = count - first < CHUNK ? (int)(count - first) : CHUNK;
        load_records(pass->record, list + first, n, chunk);
        add_chunk(pass, kernel, mode, extras, closes, i, chunk, n, sums);
    }
}

#define ADD(name, kernel, mode, extras, closes) \
    NOINLINE void name(const mpm_sph_pass *pass, const struct particles *i, const int32_t *list, size_t count, \
                       struct sums *sums) \
    { \
        add_list(pass, kernel, mode, extras, closes, i, list, count, sums); \
    }
ADD(cubic_inviscid, MPM_SPH_CUBIC, INVISCID, false, false)
ADD(cubic_closing, MPM_SPH_CUBIC, INVISCID, false, true)
ADD(cubic_vector, MPM_SPH_CUBIC, MPM_SPH_VECTOR, false, true)
ADD(cubic_central, MPM_SPH_CUBIC, MPM_SPH_CENTRAL, false, true)
ADD(cubic_vector_extras, MPM_SPH_CUBIC, MPM_SPH_VECTOR, true, true)
ADD(cubic_central_extras, MPM_SPH_CUBIC, MPM_SPH_CENTRAL, true, true)
ADD(wendland_inviscid, MPM_SPH_WENDLAND, INVISCID, false, false)
ADD(wendland_closing, MPM_SPH_WENDLAND, INVISCID, false, true)
ADD(wendland_vector, MPM_SPH_WENDLAND, MPM_SPH_VECTOR, false, true)
ADD(wendland_central, MPM_SPH_WENDLAND, MPM_SPH_CENTRAL, false, true)
ADD(wendland_vector_extras, MPM_SPH_WENDLAND, MPM_SPH_VECTOR, true, true)
ADD(wendland_central_extras, MPM_SPH_WENDLAND, MPM_SPH_CENTRAL, true, true)

typedef void adder(const mpm_sph_pass *pass, const struct particles *i, const int32_t *list, size_t count,
                   struct sums *sums);

/* The sums for neighbours with pressure alone (`smooth`) or with all. */
static adder *adder_for(const mpm_sph_pass *pass, bool smooth)
{
    const bool cubic = pass->kernel == MPM_SPH_CUBIC, extras = pass->alpha > 0 || pass->xsph > 0;
    if (smooth || (pass->eta == 0 && pass->nu == 0 && !extras)) {
        if (pass->finds_errors)
            return cubic ? cubic_closing : wendland_closing;
        return cubic ? cubic_inviscid : wendland_inviscid;
    }
    if (pass->viscosity == MPM_SPH_VECTOR)
        return cubic ? (extras ? cubic_vector_extras : cubic_vector)
                     : extras ? wendland_vector_extras : wendland_vector;
    return cubic ? (extras ? cubic_central_extras : cubic_central)
                 : extras ? wendland_central_extras : wendland_central;
}

static struct particles load_particles(const real *records, int count)
{
    struct particles i;
    for (int a = 0; a < DIM; a++) {
        i.x[a] = load_column(records, count, RECORD_X + a);
        i.v[a] = load_column(records, count, RECORD_V + a);
    }
    i.P = load_column(records, count, RECORD_P);
    i.s = load_column(records, count, RECORD_S);
    return i;
}

/* The force of a wall on the particles of a tile [N]. */
static void enter_wall(const mpm_sph_tile *tile, const wide force[DIM], double mass, double sum[3])
{
    for (int a = 0; a < DIM; a++)
        for (int q = 0; q < tile->count; q++)
            sum[a] += mass * (double)wide_lane(force[a], q);
}

/* The force and torque of a collider [N], [N m]. */
static void enter_collider(const mpm_sph_pass *pass, const mpm_sph_tile *tile, const struct particles *i,
                           const wide force[DIM], size_t collider, mpm_collider_book *book)
{
    for (int q = 0; q < tile->count; q++) {
        double x[3] = {0}, pull[3] = {0};
        for (int a = 0; a < DIM; a++) {
            x[a] = (double)wide_lane(i->x[a], q);
            pull[a] = pass->mass * (double)wide_lane(force[a], q);
        }
        mpm_collider_enter(book, &pass->boundary->colliders[collider], x, pull);
    }
}

/* Adds the part of cloud `c`; only the fluid and its images drift. */
static void add_part(const mpm_sph_pass *pass, const mpm_sph_tile *tile, const struct particles *i, int c,
                     const int32_t *list, size_t count, ptrdiff_t task, wide total[DIM], wide drift[DIM],
                     wide *closing)
{
    const wide factor = wide_set((real)(pass->mass * smoothing_slope_factor(pass->kernel, pass->h)));
    const size_t colliders = pass->boundary->count, collider = (size_t)(c - MPM_SPH_COLLIDERS);
    const bool solid = c >= MPM_SPH_COLLIDERS;
    struct sums sums = {.closing = wide_set(0)};
    for (int a = 0; a < DIM; a++)
        sums.force[a] = sums.drift[a] = wide_set(0);
    adder_for(pass, solid && pass->boundary->colliders[collider].contact != MPM_STICKY)(pass, i, list, count, &sums);
    for (int a = 0; a < DIM; a++) {
        sums.force[a] *= factor;
        if (!solid)
            drift[a] += factor * sums.drift[a];
    }
    if (pass->repulsion > 0)
        MPM_KERNEL(repulsion_add)(pass, i->x, list, count, sums.force);
    for (int a = 0; a < DIM; a++)
        total[a] += sums.force[a];
    *closing += factor * sums.closing;
    if (c == MPM_SPH_IMAGES)
        enter_wall(tile, sums.force, pass->mass, pass->wall_force[task]);
    else if (solid)
        enter_collider(pass, tile, i, sums.force, collider, &pass->forces[(size_t)task * colliders + collider]);
}

/* What the error of an automatic step follows from. */
static void measure_error(const mpm_sph_pass *pass, const mpm_sph_tile *tile, const struct particles *i,
                          const wide total[DIM], wide closing, mpm_sph_error *error)
{
    real lanes[MPM_SPH_MOST_LANES] __attribute__((aligned(64)));
    for (int q = 0; q < WIDTH; q++)
        lanes[q] = q < tile->count;
    const wide valid = wide_load(lanes), rate = valid * i->s * closing;
    const wide narrowing = wide_set((real)pass->density) * i->s * rate;
    wide pull2 = wide_set(0);
    for (int a = 0; a < DIM; a++)
        pull2 = wide_fma(total[a], total[a], pull2);
    const double most = wide_largest(wide_abs(rate));
    error->pull2 += pass->mass * wide_sum(valid * pull2);
    error->narrowing2 += wide_sum(narrowing * narrowing);
    error->rate = most > error->rate ? most : error->rate;
    wide_store(lanes, rate);
    memcpy((real *)pass->rate + tile->slot, lanes, (size_t)tile->count * sizeof(real));
}

void MPM_KERNEL(pressure_task)(const mpm_sph_pass *pass, ptrdiff_t task)
{
    const size_t colliders = pass->boundary->count;
    const mpm_sph_lists *lists = &pass->lists[task];
    mpm_sph_error error = {0};
    memset(pass->wall_force[task], 0, sizeof pass->wall_force[task]);
    if (colliders)
        memset(pass->forces + (size_t)task * colliders, 0, colliders * sizeof *pass->forces);
    for (ptrdiff_t t = pass->task_tile[task]; t < pass->task_tile[task + 1]; t++) {
        const mpm_sph_tile *tile = &pass->tiles[t];
        if (tile->cloud != MPM_SPH_FLUID)
            continue;
        const int32_t *ends = lists->entries + tile->list, *entries = ends + pass->cloud_count;
        const struct particles i =
            load_particles((const real *)pass->record + (size_t)tile->slot * MPM_SPH_RECORD, tile->count);
        wide total[DIM], drift[DIM], closing = wide_set(0);
        for (int a = 0; a < DIM; a++)
            total[a] = drift[a] = wide_set(0);
        for (int c = 0, begin = 0; c < pass->cloud_count; begin = ends[c++])
            if (ends[c] > begin)
                add_part(pass, tile, &i, c, entries + begin, (size_t)(ends[c] - begin), task, total, drift,
                         &closing);
        for (int q = 0; q < tile->count; q++)
            for (int a = 0; a < DIM; a++) {
                ((real *)pass->force)[(tile->slot + q) * DIM + a] = wide_lane(total[a], q);
                ((real *)pass->drift)[(tile->slot + q) * DIM + a] = wide_lane(drift[a], q);
            }
        if (pass->finds_errors)
            measure_error(pass, tile, &i, total, closing, &error);
    }
    pass->errors[task] = error;
}
