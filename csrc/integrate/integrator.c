/* SPDX-License-Identifier: MIT */
#include "integrate/integrator.h"

#include "integrate/state.h"

static const mpm_integrator table[MPM_INTEGRATOR_COUNT] = {
    [MPM_EXPLICIT] = {
        .name = "explicit", .advance = mpm_step_advance, .bound = mpm_timestep_limit,
        .reference = "D. Sulsky, Z. Chen, H. L. Schreyer, A particle method for history-dependent materials, Computer "
                     "Methods in Applied Mechanics and Engineering 118 (1994) 179-196. "
                     "doi:10.1016/0045-7825(94)90112-0",
    },
};

const mpm_integrator *mpm_integrator_get(int index)
{
    return index >= 0 && index < MPM_INTEGRATOR_COUNT ? &table[index] : NULL;
}
