/* SPDX-License-Identifier: MIT
 *
 * Stages of the grid pass: the dashpots of absorbing walls, after the forces, and damping, after the contacts. With the
 * velocity v^n before forces, the velocity v, and the coefficient k of a dashpot over the mass of a node,
 *
 *     dashpots    v_n <- v_n/(1 + k_p dt),  v_t <- v_t/(1 + k_s dt)
 *     local       v <- v^n + dv - alpha |dv| sign(v^n),  dv = v - v^n
 *     by mass     v <- v/(1 + a dt)
 *
 * so that dashpots and damping by mass are implicit in the node, and limit no time step. Damping leaves out what a
 * contact or a region has held, component by component: no force is out of balance there. A contact that acts along one
 * component may change the others by rounding, which holds nothing.
 *
 * The traction -rho c v of a dashpot (Lysmer & Kuhlemeyer) acts where the face is. A node takes the share S of it that
 * it has of the force of a uniform stress in a half-space which ends at the face: the integral of the gradient of the
 * scheme, N(0) for that of the B-spline. There the node has the share I, the integral of N, of the mass of a cell. So
 * k = c S/(I dx), whatever the density and wherever the material ends along the face.
 *
 * J. Lysmer, R. L. Kuhlemeyer, J. Eng. Mech. Div. ASCE 95 (1969) 859-877.
 * P. A. Cundall, Distinct element models of rock and soil structure, in: E. T. Brown (ed.), Analytical and
 * Computational Methods in Engineering Rock Mechanics (1987) 129-163.
 */
#pragma once
#include <math.h>

#include "mpm/kernels/fold.h"
#include "mpm/kernels/nodes.h"

/* S/I of the nodes at -1, 0 and 1 cells from the face, inwards, by gradient and by the degree of the B-spline. */
static const double dashpot_shares[2][4][3] = {
    [MPM_GRADIENT_BSPLINE] = {
        [MPM_LINEAR] = {0, 2, 0},
        [MPM_QUADRATIC] = {6, 3.0 / 2, 6.0 / 47},
        [MPM_CUBIC] = {4, 4.0 / 3, 4.0 / 23},
    },
    [MPM_GRADIENT_MLS] = {
        [MPM_QUADRATIC] = {4.5, 1.625, 4.5 / 47},
        [MPM_CUBIC] = {3.6, 1.4, 3.6 / 23},
    },
};

/* What the dashpots leave of the velocity of a node, by component. Returns whether there is any. */
INLINE bool find_dashpots(const mpm_grid_pass *pass, const int64_t at[DIM], double kept[DIM])
{
    bool any = false;
    for (int a = 0; a < DIM; a++)
        kept[a] = 1;
    for (int face = 0; face < 2 * DIM; face++) {
        const mpm_wall *wall = &pass->walls[face];
        const int64_t depth = face % 2 ? pass->cells[face / 2] - at[face / 2] : at[face / 2];
        if (wall->contact != MPM_ABSORBING || depth < -1 || depth > 1)
            continue;
        any = true;
        for (int a = 0; a < DIM; a++)
            kept[a] /= 1 + pass->dt / pass->dx * wall->speeds[a != face / 2] *
                               dashpot_shares[pass->scheme.gradient][pass->scheme.degree][depth + 1];
    }
    return any;
}

/* Dashpots act in the frame of the domain; the impulses are those on the node's own particles, in their frame. What an
 * image loses across a mirror is in the impulse of the mirror. */
NOINLINE void absorb_block(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_node_block *block = &pass->grid->blocks[b];
    real *velocity = field_nodes(pass->grid, MPM_GRID_VELOCITY, b);
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        const mpm_image_node *image = image_of(pass->grid, b, n);
        real *v = velocity + 4 * n;
        double kept[DIM];
        int64_t at[DIM];
        node_coordinates(block, n, at);
        for (int a = 0; image && a < DIM; a++)
            at[a] = image->at[a];
        if (!(v[3] > 0) || !find_dashpots(pass, at, kept))
            continue;
        const real own = block->fold >= 0 ? fold_vec4(pass->grid->raw[MPM_GRID_VELOCITY], block->fold, n)[3] : v[3];
        for (int a = 0; a < DIM; a++) {
            const double change = (kept[a] - 1) * (double)v[a];
            if (!(image && image->normals >> a & 1))
                pass->reports[b].impulse[a] += (image && image->flips >> a & 1 ? -1 : 1) * (double)own * change;
            v[a] = (real)((double)v[a] + change);
        }
    }
}

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
