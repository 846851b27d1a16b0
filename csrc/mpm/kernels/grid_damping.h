/* SPDX-License-Identifier: MIT
 *
 * A stage of the grid pass: damping, after the contacts. With the velocity v^n before forces and the velocity v,
 *
 *     local       v <- v^n + dv - alpha |dv| sign(v^n),  dv = v - v^n
 *     by mass     v <- v/(1 + a dt)
 *
 * so that damping by mass is implicit in the node, and limits no time step. Damping leaves out what a contact or a
 * region has held, component by component: no force is out of balance there. A contact that acts along one component
 * may change the others by rounding, which holds nothing.
 *
 * P. A. Cundall, Distinct element models of rock and soil structure, in: E. T. Brown (ed.), Analytical and
 * Computational Methods in Engineering Rock Mechanics (1987) 129-163.
 */
#pragma once
#include <math.h>

#include "mpm/kernels/fold.h"
#include "mpm/kernels/nodes.h"

/* `free`: the velocities before contacts, in the frame of the domain. */
NOINLINE void damp_block(const mpm_grid_pass *pass, ptrdiff_t b, const real *free)
{
    const double local = pass->scheme.local_damping, keep = 1 / (1 + pass->dt * pass->damping);
    const real *before = local > 0 ? field_nodes(pass->grid, MPM_GRID_BEFORE, b) : NULL;
    real *velocity = field_nodes(pass->grid, MPM_GRID_VELOCITY, b);
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        const mpm_image_node *image = image_of(pass->grid, b, n);
        real *v = velocity + 4 * n;
        if (!(v[3] > 0))
            continue;
        double change[DIM], largest = 0;
        for (int a = 0; a < DIM; a++) {
            const double seen = (double)(image && image->flips >> a & 1 ? -free[4 * n + a] : free[4 * n + a]);
            const double larger = fabs((double)v[a]) > fabs(seen) ? fabs((double)v[a]) : fabs(seen);
            change[a] = fabs((double)v[a] - seen);
            largest = larger > largest ? larger : largest;
        }
        for (int a = 0; a < DIM; a++) {
            double w = (double)v[a];
            if (change[a] > 64 * (double)REAL_EPSILON * largest)
                continue;
            if (before) {
                const double old = (double)before[4 * n + a], less = local * fabs(w - old);
                w -= old > 0 ? less : old < 0 ? -less : 0;
            }
            w *= keep;
            pass->reports[b].drag[a] += (double)v[3] * (w - (double)v[a]);
            v[a] = (real)w;
        }
    }
}
