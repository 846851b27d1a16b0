/* SPDX-License-Identifier: MIT
 *
 * Constitutive laws written by users: what a compiled function must look like to be a law (mpm.materials.UserLaw).
 * It may come from C, C++, Fortran, Cython, Numba, or any other compiler; mpm.get_include() is the folder of this file.
 *
 * Functions work on a tile of `count` particles, component by component: c of particle p is a[c*count + p], so
 * that loops over p have stride 1. All numbers are doubles, whatever the precision of the simulation. `dim` is 2 or 3.
 *
 *     F, velocity_gradient   dim*dim components: xx, xy, yx, yy  or  xx, xy, xz, yx, yy, yz, zx, zy, zz
 *     history                components of the declared fields, in their order
 *     tau                    in 3-D xx, xy, xz, yy, yz, zz; in 2-D (plane strain) xx, xy, yy, zz [Pa]
 *     energy                 1 component, per rest volume [J/m3]
 *     moduli                 2 components [Pa]
 *     parameters             of the material, in their order: the same for all particles
 *
 * Functions are called from several threads at once and without Python's lock: they keep no state outside their
 * arguments and call no Python. What a particle gets must not depend on its neighbours in the tile. Tiles are padded
 * with particles at rest. No function is called with count = 0.
 */
#pragma once
#ifdef __cplusplus
extern "C" {
#endif

/** Kirchhoff stress tau = J sigma = dPsi/dF F^T, and energy Psi(F, history), 0 at rest.
 *
 *  moduli[0*count + p] is the longitudinal modulus of the present state, J rho c^2: at rest lambda + 2 mu. It limits
 *  the step. moduli[1*count + p] is the largest curvature of the energy along F <- (I + s A) F over all A with
 *  |A| = 1: at rest 2 mu + dim lambda. All outputs arrive as NaN. If the second stays NaN, dim times the first is
 *  taken. The material may have other moduli: then both are ignored. Softening laws give those of unloading, > 0. */
typedef void mpm_user_evaluate(int count, int dim, const double *parameters, const double *F, const double *history,
                               double *tau, double *energy, double *moduli, void *context);

/** Brings a trial F back onto the yield surface and advances the history by the step `dt` [s], which has led to F with
 *  `velocity_gradient` [1/s]. Both arrays are changed in place. Called once per step, before mpm_user_evaluate. With
 *  dt = 0 and a velocity gradient of zero, a second call must change nothing. */
typedef void mpm_user_return_map(int count, int dim, const double *parameters, double dt,
                                 const double *velocity_gradient, double *F, double *history, void *context);

#ifdef __cplusplus
}
#endif
