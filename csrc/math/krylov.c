/* SPDX-License-Identifier: MIT */
#include "math/krylov.h"

mpm_krylov mpm_krylov_solve(const mpm_linear_system *system, mpm_krylov_residual residual, double target2, int64_t most)
{
    mpm_krylov result = {.residual = residual};
    while (result.residual.norm2 > target2 && result.products < most) {
        const double curvature = system->multiply(system->self);
        result.products++;
        if (!(curvature > 0)) {
            result.indefinite = true;
            if (result.products == 1)
                system->advance(system->self, 1);
            break;
        }
        const double before = result.residual.preconditioned;
        result.residual = system->advance(system->self, before / curvature);
        system->redirect(system->self, result.residual.preconditioned / before);
    }
    return result;
}
