/* SPDX-License-Identifier: MIT
 *
 * The first sums over neighbours, and what follows from them:
 *
 *     rho_i = sum_j m W(x_i - x_j)     with j = i
 *     J_i = rho_0/rho_i,  p_i          the law of the material
 *
 * Neighbours beyond the support of all particles of the tile leave its list here.
 */
#include "materials/fluid.h"
#include "sph/kernels/neighbours.h"
#include "sph/kernels/repulsion.h"

/* Sums W over a list, and keeps the entries in reach of a particle of the tile. */
INLINE wide sum_kernel(const mpm_sph_pass *pass, const mpm_sph_kernel kernel, const wide x[DIM], const int32_t *from,
                       size_t count, int32_t *kept, size_t *kept_count)
{
    real chunk[CHUNK * MPM_SPH_RECORD] __attribute__((aligned(64)));
    const real reach = (real)(2 * pass->h) * SUPPORT_MARGIN;
    const wide reach2 = wide_set(reach * reach), inverse_h = wide_set((real)(1 / pass->h));
    wide sum = wide_set(0);
    size_t k = *kept_count;
    for (size_t first = 0; first < count; first += CHUNK) {
        const int n = count - first < CHUNK ? (int)(count - first) : CHUNK;
        load_records(pass->record, from + first, n, chunk);
        for (int j = 0; j < n; j++) {
            const int32_t entry = from[first + (size_t)j];
            wide r2 = wide_set(0);
            UNROLL for (int a = 0; a < DIM; a++) {
                const wide d = x[a] - wide_set(chunk[j * MPM_SPH_RECORD + a]);
                r2 = wide_fma(d, d, r2);
            }
            kept[k] = entry;
            k += mask_any(wide_less(r2, reach2));
            sum += smoothing_value(kernel, wide_sqrt(r2) * inverse_h);
        }
    }
    *kept_count = k;
    return sum;
}

/* Sums over the parts of all clouds, whose ends move as entries leave; `solid`: over those of colliders. */
INLINE wide sum_parts(const mpm_sph_pass *pass, const mpm_sph_kernel kernel, const mpm_sph_tile *tile,
                      const mpm_sph_lists *lists, const wide x[DIM], size_t *length, wide *solid)
{
    int32_t *ends = lists->entries + tile->list, *entries = ends + pass->cloud_count;
    size_t kept = 0, begin = 0;
    wide sum = wide_set(0);
    for (int c = 0; c < pass->cloud_count; c++) {
        const size_t end = (size_t)ends[c];
        if (end > begin) {
            const wide part = sum_kernel(pass, kernel, x, entries + begin, end - begin, entries, &kept);
            sum += part;
            if (c >= MPM_SPH_COLLIDERS)
                *solid += part;
        }
        ends[c] = (int32_t)kept;
        begin = end;
    }
    *length = (size_t)pass->cloud_count + kept;
    return sum;
}

static void measure_fluid(const mpm_sph_pass *pass, const mpm_sph_tile *tile, const wide x[DIM], const wide valid,
                          mpm_sph_measure *measure)
{
    const real *records = (const real *)pass->record + (size_t)tile->slot * MPM_SPH_RECORD;
    wide v[3] = {wide_set(0), wide_set(0), wide_set(0)}, place[3] = {wide_set(0), wide_set(0), wide_set(0)};
    wide v2 = wide_set(0);
    for (int a = 0; a < DIM; a++) {
        v[a] = load_column(records, tile->count, RECORD_V + a);
        place[a] = x[a];
        v2 = wide_fma(v[a], v[a], v2);
        measure->momentum[a] += pass->mass * wide_sum(valid * v[a]);
        measure->mass_moment[a] += pass->mass * wide_sum(valid * x[a]);
    }
    for (int c = DIM == 2 ? 2 : 0; c < 3; c++) {
        const int a = (c + 1) % 3, b = (c + 2) % 3;
        measure->angular_momentum[c] += pass->mass * wide_sum(valid * (place[a] * v[b] - place[b] * v[a]));
    }
    wide fall = wide_set(0);
    for (int a = 0; a < DIM; a++)
        if (!mpm_walls_periodic(pass->boundary->walls, a)) /* along these, gravity has no potential */
            fall = wide_fma(wide_set((real)pass->gravity[a]), x[a], fall);
    const double lowest = wide_largest(fall);
    measure->lowest = lowest > measure->lowest ? lowest : measure->lowest;
    measure->kinetic += 0.5 * pass->mass * wide_sum(valid * v2);
    const double speed2 = wide_largest(v2);
    measure->speed2 = speed2 > measure->speed2 ? speed2 : measure->speed2;
}

static struct law_evaluation evaluate(const mpm_sph_pass *pass, wide J)
{
    const struct fluid law = fluid_prepare(MPM_VALUES(fluid, pass->material->values));
    matrix still;
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++)
            still.m[i][j] = wide_set(0);
    return fluid_evaluate(&law, (struct law_state){.J = J}, still);
}

/* Pressure, energy and wave speed by the law, for the records. Forces derive from the energy of all particles, also of
 * those of colliders, less the energy that the latter have without the fluid: `solid` is their density by particles of
 * colliders alone. So particles of colliders that no fluid reaches add exactly 0. */
static void apply_law(const mpm_sph_pass *pass, const mpm_sph_tile *tile, wide density, wide solid, const wide valid,
                      mpm_sph_measure *measure)
{
    const wide s = wide_set(1) / density, J = wide_set((real)pass->density) * s;
    const struct law_evaluation r = evaluate(pass, J);
    wide energy = r.energy;
    if (tile->cloud != MPM_SPH_FLUID)
        energy -= evaluate(pass, wide_set((real)pass->density) * (wide_set(1) / solid)).energy;
    const wide P = -r.tau.m[0][0] / J * (s * s);
    real *records = (real *)pass->record + (size_t)tile->slot * MPM_SPH_RECORD;
    for (int q = 0; q < tile->count; q++) {
        records[q * MPM_SPH_RECORD + RECORD_P] = wide_lane(P, q);
        records[q * MPM_SPH_RECORD + RECORD_S] = wide_lane(s, q);
    }
    measure->elastic += pass->mass / pass->density * wide_sum(valid * energy);
    const double largest = wide_largest(J);
    if (tile->cloud == MPM_SPH_FLUID ||
        pass->boundary->colliders[tile->cloud - MPM_SPH_COLLIDERS].contact == MPM_STICKY)
        measure->largest_J = largest > measure->largest_J ? largest : measure->largest_J;
    if (tile->cloud != MPM_SPH_FLUID)
        return;
    const double wave2 = wide_largest(r.wave) / pass->density, least = -wide_largest(-J);
    measure->wave2 = wave2 > measure->wave2 ? wave2 : measure->wave2;
    measure->least_J = least < measure->least_J ? least : measure->least_J;
}

/* Is a particle in the domain? Particles of colliders have images beyond faces. */
static bool is_inside(const mpm_sph_pass *pass, const real *record)
{
    bool inside = true;
    for (int a = 0; a < DIM; a++)
        inside = inside && record[RECORD_X + a] >= (real)pass->lower[a] && record[RECORD_X + a] < (real)pass->upper[a];
    return inside;
}

/* The energy of the repulsion, by the list of a tile; of particles of colliders, with the fluid. */
static double repulsion_of(const mpm_sph_pass *pass, const mpm_sph_tile *tile, const mpm_sph_lists *lists,
                           const wide x[DIM], wide valid)
{
    const int32_t *ends = lists->entries + tile->list, *entries = ends + pass->cloud_count;
    const int last = tile->cloud == MPM_SPH_FLUID ? pass->cloud_count - 1 : MPM_SPH_COLLIDERS - 1;
    return MPM_KERNEL(repulsion_energy)(pass, x, valid, entries, (size_t)ends[last]);
}

INLINE void run_task(const mpm_sph_pass *pass, const mpm_sph_kernel kernel, ptrdiff_t task)
{
    mpm_sph_lists *lists = &pass->lists[task];
    mpm_sph_measure measure = {.least_J = 1e300, .lowest = -1e300};
    const wide factor = wide_set((real)(pass->mass * smoothing_value_factor(kernel, pass->h)));
    size_t used = 0;
    lists->full = false;
    for (ptrdiff_t t = pass->task_tile[task]; t < pass->task_tile[task + 1]; t++) {
        mpm_sph_tile *tile = &pass->tiles[t];
        const real *records = (const real *)pass->record + (size_t)tile->slot * MPM_SPH_RECORD;
        real lanes[MPM_SPH_MOST_LANES] __attribute__((aligned(64)));
        wide x[DIM];
        tile->list = used;
        if (!find_neighbours(pass, tile, lists)) {
            lists->full = true;
            return;
        }
        for (int a = 0; a < DIM; a++)
            x[a] = load_column(records, tile->count, RECORD_X + a);
        for (int q = 0; q < WIDTH; q++)
            lanes[q] = q < tile->count &&
                       (tile->cloud == MPM_SPH_FLUID || is_inside(pass, records + q * MPM_SPH_RECORD));
        size_t length;
        wide solid = wide_set(0);
        const wide density = factor * sum_parts(pass, kernel, tile, lists, x, &length, &solid);
        used += length;
        apply_law(pass, tile, density, factor * solid, wide_load(lanes), &measure);
        if (pass->repulsion > 0)
            measure.elastic += repulsion_of(pass, tile, lists, x, wide_load(lanes));
        if (tile->cloud == MPM_SPH_FLUID)
            measure_fluid(pass, tile, x, wide_load(lanes), &measure);
    }
    pass->measures[task] = measure;
}

void MPM_KERNEL(density_task)(const mpm_sph_pass *pass, ptrdiff_t task)
{
    if (pass->kernel == MPM_SPH_CUBIC)
        run_task(pass, MPM_SPH_CUBIC, task);
    else
        run_task(pass, MPM_SPH_WENDLAND, task);
}
