/* SPDX-License-Identifier: MIT */
#include "mpm/integrator.h"

#include <stddef.h>

#include "mpm/state.h"

static const mpm_history_entry of_solution[] = {
    {"newton", MPM_HISTORY_NUMBER, offsetof(mpm_solution, newtons)},
    {"products", MPM_HISTORY_NUMBER, offsetof(mpm_solution, products)},
    {"residual", MPM_HISTORY_NUMBER, offsetof(mpm_solution, residual)},
    {"backtracks", MPM_HISTORY_NUMBER, offsetof(mpm_solution, backtracks)},
};

static const void *solution_of(const mpm_simulation *simulation)
{
    return &simulation->solver.solution;
}

#define SOLVE \
    .solve = mpm_implicit_solve, .columns = of_solution, \
    .column_count = sizeof of_solution / sizeof *of_solution, .recorded = solution_of

static const mpm_integrator table[MPM_INTEGRATOR_COUNT] = {
    [MPM_EXPLICIT] = {
        .reference = "D. Sulsky, Z. Chen, H. L. Schreyer, A particle method for history-dependent materials, Computer "
                     "Methods in Applied Mechanics and Engineering 118 (1994) 179-196. "
                     "doi:10.1016/0045-7825(94)90112-0",
    },
    [MPM_SEMI_IMPLICIT] = {
        SOLVE, .linear = true,
        .reference = "A. Stomakhin, C. Schroeder, L. Chai, J. Teran, A. Selle, A material point method for snow "
                     "simulation, ACM Transactions on Graphics 32(4) (2013) 102. doi:10.1145/2461912.2461948",
    },
    [MPM_IMPLICIT_EULER] = {
        SOLVE,
        .reference = "T. F. Gast, C. Schroeder, A. Stomakhin, C. Jiang, J. M. Teran, Optimization integrator for large "
                     "time steps, IEEE Transactions on Visualization and Computer Graphics 21 (2015) 1103-1115. "
                     "doi:10.1109/TVCG.2015.2459687",
    },
    [MPM_IMPLICIT_MIDPOINT] = {
        SOLVE, .midpoint = true,
        .reference = "E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, 2nd ed., Springer (2006), "
                     "chapters II and IV. doi:10.1007/3-540-30666-8",
    },
};

const mpm_integrator *mpm_integrator_get(int index)
{
    return index >= 0 && index < MPM_INTEGRATOR_COUNT ? &table[index] : NULL;
}
