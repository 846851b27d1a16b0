/* SPDX-License-Identifier: MIT
 *
 * Bounds of the time step, and what sets them.
 */
#pragma once
#include <stdint.h>

/** What limits the time step. */
typedef enum mpm_limit {
    MPM_LIMIT_NONE,
    MPM_LIMIT_ISOLATED,     /* one particle alone */
    MPM_LIMIT_VISCOSITY,    /* one particle alone, dominated by viscosity */
    MPM_LIMIT_WAVE,         /* a wave crossing a cell */
    MPM_LIMIT_MOTION,       /* a particle crossing a cell, or |grad v| dt reaching 1 */
    MPM_LIMIT_ACCELERATION, /* gravity moving a resting particle by a cell */
    MPM_LIMIT_CONDUCTION,   /* the sub-steps of heat in a step */
    MPM_LIMIT_COUNT
} mpm_limit;

typedef struct mpm_stable_dt {
    double dt; /* the bound itself [s]; infinite without particles */
    mpm_limit limit;
    int32_t row; /* of the particle that sets the bound, -1 if none does */
} mpm_stable_dt;

/** The share of the bound that automatic explicit steps take where the stress of a law has a kink. Symplectic Euler is
 *  stable below the bound if the stress is smooth. The map of a step of an oscillator whose stiffness jumps at 0 is
 *  homogeneous, so amplitudes do not matter, and its energy grows in tongues of (dt, ratio of the stiffnesses) that
 *  reach down to any dt; below half of the bound they are so thin that damping and other particles close them. */
#define MPM_SHARE_WITH_KINK 0.4
