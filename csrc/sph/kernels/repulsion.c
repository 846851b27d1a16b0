/* SPDX-License-Identifier: MIT
 *
 * A repulsion of pairs that are closer than a share of the spacing, r < r_0:
 *
 *     phi(r) = m eps c^2/2 (1 - r/r_0)^2        energy of a pair, half of it each particle's
 *     a_i    = eps c^2/r_0 (1 - r/r_0) x_ij/r
 *
 * It acts along the line between both, and equally on both: momentum and angular momentum are conserved. It does what
 * the artificial pressure of Monaghan, J. Comput. Phys. 159 (2000) 290, does to particles under tension, for particles
 * without any pressure, and derives from an energy.
 */
#include "sph/kernels/repulsion.h"

void MPM_KERNEL(repulsion_add)(const mpm_sph_pass *pass, const wide *x, const int32_t *list, size_t count, wide *force)
{
    const wide one = wide_set(1), zero = wide_set(0), tiny = wide_set((real)(1e-12 * pass->h * pass->h));
    const wide inverse_range = wide_set((real)(1 / pass->range));
    const wide most = wide_set((real)(pass->repulsion / pass->range));
    real chunk[CHUNK * MPM_SPH_RECORD] __attribute__((aligned(64)));
    for (size_t first = 0; first < count; first += CHUNK) {
        const int n = count - first < CHUNK ? (int)(count - first) : CHUNK;
        load_records(pass->record, list + first, n, chunk);
        for (int j = 0; j < n; j++) {
            wide d[DIM], r2 = zero;
            UNROLL for (int a = 0; a < DIM; a++) {
                d[a] = x[a] - wide_set(chunk[j * MPM_SPH_RECORD + RECORD_X + a]);
                r2 = wide_fma(d[a], d[a], r2);
            }
            const wide r = wide_sqrt(wide_max(r2, tiny));
            const wide push = most * wide_max(wide_fnma(r, inverse_range, one), zero) / r;
            UNROLL for (int a = 0; a < DIM; a++)
                force[a] = wide_fma(push, d[a], force[a]);
        }
    }
}

double MPM_KERNEL(repulsion_energy)(const mpm_sph_pass *pass, const wide *x, wide valid, const int32_t *list,
                                    size_t count)
{
    const wide one = wide_set(1), zero = wide_set(0), inverse_range = wide_set((real)(1 / pass->range));
    real chunk[CHUNK * MPM_SPH_RECORD] __attribute__((aligned(64)));
    wide sum = zero;
    for (size_t first = 0; first < count; first += CHUNK) {
        const int n = count - first < CHUNK ? (int)(count - first) : CHUNK;
        load_records(pass->record, list + first, n, chunk);
        for (int j = 0; j < n; j++) {
            wide r2 = zero;
            UNROLL for (int a = 0; a < DIM; a++) {
                const wide d = x[a] - wide_set(chunk[j * MPM_SPH_RECORD + RECORD_X + a]);
                r2 = wide_fma(d, d, r2);
            }
            const wide near = wide_max(wide_fnma(wide_sqrt(r2), inverse_range, one), zero);
            sum += wide_select(wide_less(zero, r2), near * near, zero); /* a particle is no neighbour of its own */
        }
    }
    return 0.25 * pass->mass * pass->repulsion * wide_sum(valid * sum);
}
