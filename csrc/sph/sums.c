/* SPDX-License-Identifier: MIT
 *
 * Quantities of the fluid at any points: A(x) = sum_j m/rho_j A_j W(x - x_j).
 */
#include "sph/sums.h"

#include <math.h>
#include <string.h>

#include "base/real.h"
#include "sph/state.h"

enum { CHUNK = 64, MOST_COMPONENTS = 9 };

struct sums {
    const mpm_sph *sph;
    ptrdiff_t count;
    const double *x, *quantity;
    mpm_rank rank;
    bool is_velocity;
    int components;
    double *result;
};

/* How an image of a wall changes a component: -1 along every axis that is mirrored, and all of a velocity at a sticky
 * wall. */
static double sign_of(const struct sums *sums, ptrdiff_t slot, int component)
{
    const mpm_sph_pass *pass = &sums->sph->pass;
    const int dim = sums->sph->settings.dim;
    const size_t size = sums->sph->settings.real_size;
    double flip[3] = {1, 1, 1}, turn = 1;
    for (int a = 0; a < dim; a++) {
        const double place = mpm_real_at(pass->place[a], (size_t)slot, size);
        const bool below = place < pass->lower[a];
        if (mpm_walls_periodic(pass->walls, a) || (!below && !(place > pass->upper[a])))
            continue;
        if (sums->is_velocity && pass->walls[2 * a + !below].contact == MPM_STICKY)
            turn = -turn;
        else
            flip[a] = -1;
    }
    if (sums->rank == MPM_VECTOR)
        return turn * flip[component];
    return sums->rank == MPM_TENSOR ? flip[component / dim] * flip[component % dim] : 1;
}

/* Adds the particle in a slot. */
static void add_slot(const struct sums *sums, int index, ptrdiff_t slot, const double x[3], double *result)
{
    const mpm_sph *sph = sums->sph;
    const int dim = sph->settings.dim;
    const size_t size = sph->settings.real_size;
    const mpm_sph_cloud *cloud = &sph->clouds[index];
    double r2 = 0;
    for (int a = 0; a < dim; a++) {
        const double d = x[a] - mpm_real_at(sph->pass.place[a], (size_t)slot, size);
        r2 += d * d;
    }
    const double q = sqrt(r2) / sph->pass.h;
    if (q >= 2)
        return;
    int32_t row = cloud->order[slot - cloud->first];
    if (index != MPM_SPH_FLUID)
        row = sph->pass.image_row[index == MPM_SPH_IMAGES][row];
    const double specific = mpm_real_at(sph->pass.record, (size_t)(slot * MPM_SPH_RECORD + 2 * dim + 1), size);
    const double weight = sph->mass * specific * mpm_sph_factor(sph->settings.kernel, dim) *
                          mpm_sph_shape(sph->settings.kernel, q) / pow(sph->pass.h, dim);
    for (int c = 0; c < sums->components; c++)
        result[c] += weight * sums->quantity[(ptrdiff_t)row * sums->components + c] *
                     (index == MPM_SPH_IMAGES ? sign_of(sums, slot, c) : 1);
}

static void add_cloud(const struct sums *sums, int index, const double x[3], double *result)
{
    const mpm_sph *sph = sums->sph;
    const mpm_sph_cloud *cloud = &sph->clouds[index];
    /* A little more than the support: cells are found in the precision of the run. */
    const double reach = 2 * sph->pass.h * 1.05;
    int64_t low[3] = {0}, high[3] = {0};
    for (int a = 0; a < sph->settings.dim; a++) {
        const double from =
            floor((x[a] - reach - sph->pass.origin[a]) * sph->pass.inverse_side) - (double)cloud->low[a];
        const double to = floor((x[a] + reach - sph->pass.origin[a]) * sph->pass.inverse_side) - (double)cloud->low[a];
        if (!(to >= 0 && from < (double)cloud->cells[a]))
            return;
        low[a] = from > 0 ? (int64_t)from : 0;
        high[a] = to < (double)cloud->cells[a] ? (int64_t)to : cloud->cells[a] - 1;
    }
    for (int64_t z = low[2]; z <= high[2]; z++)
        for (int64_t y = low[1]; y <= high[1]; y++) {
            const int64_t line = (z * cloud->cells[1] + y) * cloud->cells[0];
            const ptrdiff_t end = mpm_sph_find(cloud, line + high[0] + 1);
            for (ptrdiff_t p = mpm_sph_find(cloud, line + low[0]); p < end; p++)
                add_slot(sums, index, cloud->first + p, x, result);
        }
}

static void sum_chunk(void *context, ptrdiff_t chunk, int thread)
{
    const struct sums *sums = context;
    const int dim = sums->sph->settings.dim;
    (void)thread;
    for (ptrdiff_t i = chunk * CHUNK; i < (chunk + 1) * CHUNK && i < sums->count; i++) {
        double x[3] = {0}, result[MOST_COMPONENTS] = {0};
        memcpy(x, sums->x + i * dim, (size_t)dim * sizeof *x);
        for (int c = MPM_SPH_FLUID; c <= MPM_SPH_IMAGES; c++)
            if (sums->sph->clouds[c].count)
                add_cloud(sums, c, x, result);
        memcpy(sums->result + i * sums->components, result, (size_t)sums->components * sizeof *result);
    }
}

void mpm_sph_sums_at(const mpm_sph *sph, ptrdiff_t count, const double *x, mpm_rank rank, bool is_velocity,
                     const double *quantity, double *result)
{
    struct sums sums = {sph, sph->store.count ? count : 0, x, quantity, rank, is_velocity,
                        mpm_rank_components(rank, sph->settings.dim), result};
    mpm_pool_for(sph->run.pool, sum_chunk, &sums, (sums.count + CHUNK - 1) / CHUNK);
}
