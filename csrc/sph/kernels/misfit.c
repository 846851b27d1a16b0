/* SPDX-License-Identifier: MIT
 *
 * How well leapfrog resolves the law within a step. Half of the pressure at the beginning and half of that at the end
 * act on the way between: the trapezoidal rule for the work of a particle. With J = rho_0/rho, which changes at a
 * constant rate,
 *
 *     misfit = sum V_0 |(p_0 + p_1)/2 (J_0 - J_1) - (Psi_1 - Psi_0)|        J_1 = J_0 exp(-rate t)
 *
 * It is of third order in t for a smooth law, and of second order across the kink of a fluid without tension.
 */
#include "materials/fluid.h"
#include "sph/kernels/smoothing.h"

/* Pressure and energy per rest volume. */
INLINE wide pressure_at(const struct fluid *law, wide J, wide *energy)
{
    matrix still;
    UNROLL for (int i = 0; i < DIM; i++)
        UNROLL for (int j = 0; j < DIM; j++)
            still.m[i][j] = wide_set(0);
    const struct law_evaluation r = fluid_evaluate(law, (struct law_state){.J = J}, still);
    *energy = r.energy;
    return -r.tau.m[0][0] / J;
}

void MPM_KERNEL(misfit_task)(const mpm_sph_pass *pass, ptrdiff_t task)
{
    const struct fluid law = fluid_prepare(MPM_VALUES(fluid, pass->material->values));
    const wide time = wide_set((real)pass->foresight), density = wide_set((real)pass->density), one = wide_set(1);
    double sum = 0;
    for (ptrdiff_t t = pass->task_tile[task]; t < pass->task_tile[task + 1]; t++) {
        const mpm_sph_tile *tile = &pass->tiles[t];
        if (tile->cloud != MPM_SPH_FLUID)
            continue;
        const real *records = (const real *)pass->record + (size_t)tile->slot * MPM_SPH_RECORD;
        real rates[MPM_SPH_MOST_LANES] __attribute__((aligned(64)));
        for (int q = 0; q < WIDTH; q++)
            rates[q] = q < tile->count ? ((const real *)pass->rate)[tile->slot + q] : 0;
        const wide growth = wide_max(-one, wide_min(one, wide_load(rates) * time)); /* more is too much in any case */
        const wide J0 = density * load_column(records, tile->count, RECORD_S), J1 = J0 * wide_exp(-growth);
        wide energy0, energy1;
        const wide p0 = pressure_at(&law, J0, &energy0), p1 = pressure_at(&law, J1, &energy1);
        const wide trapezoid = wide_set((real)0.5) * (p0 + p1) * (J0 - J1);
        sum += wide_sum(wide_abs(trapezoid - (energy1 - energy0))); /* lanes without a particle do not move: 0 */
    }
    pass->errors[task].misfit = pass->mass / pass->density * sum;
}
