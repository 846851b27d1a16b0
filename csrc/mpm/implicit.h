/* SPDX-License-Identifier: MIT
 *
 * Implicit steps: the velocities at the nodes follow from the forces at the end of the step (backward Euler), in its
 * middle, or from their linear model at its beginning (semi-implicit).
 *
 *     minimise  sum_i M_i |v_i - v^_i|^2/2 + sum_p V_p Psi((I + dt grad v) F_p)      v^ = v^n + dt g
 *
 * T. F. Gast, C. Schroeder, A. Stomakhin, C. Jiang, J. M. Teran, Optimization integrator for large time steps, IEEE
 * Trans. Vis. Comput. Graph. 21 (2015) 1103-1115.
 */
#pragma once
#include "math/newton.h"
#include "mpm/integrator.h"

/** What the last solve did. */
typedef struct mpm_solution {
    mpm_newton newton;    /* of the last solve between contacts */
    bool indefinite;      /* the linear model alone: its system was not positive definite */
    double newtons, products, residual, backtracks; /* of the last step: the columns of the history */
} mpm_solution;

/** Scratch of the solves of a run, in memory of the device. */
struct solver {
    void *tangent;         /* [tile][reals of a particle][lanes] */
    size_t tangent_bytes;
    mpm_constrained_nodes constrained;
    size_t constrained_capacity, block_capacity;
    double (*sums)[2];     /* per block */
    mpm_solution solution;
};

/** Makes room for the step that begins, in the current bins. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_implicit_reserve(mpm_simulation *simulation);

/** Frees the scratch. */
void mpm_implicit_end(mpm_simulation *simulation);

/** The grid pass of an implicit step, after P2G without stress. Errors: MPM_OUT_OF_MEMORY; MPM_NO_CONVERGENCE, and the
 *  copies of the grid are no longer those of the P2G. */
mpm_status mpm_implicit_solve(mpm_simulation *simulation, double dt, mpm_block_report *report);

/** Adds what is known of a step that was not solved to its error. */
void mpm_implicit_report(const mpm_simulation *simulation, mpm_error *error);

/** The duration after which forces are evaluated: dt, or half of it. */
double mpm_implicit_forces_dt(const mpm_simulation *simulation, double dt);
