/* SPDX-License-Identifier: MIT
 *
 * Artificial viscosity. A shock is thinner than a cell. Without dissipation in it, particles behind a shock oscillate.
 * Where material is compressed, s = -tr(grad v) > 0, a pressure is added that spreads the shock over a few cells,
 *
 *     q = rho h s (c1 c + c2 h s)
 *
 * with the density rho, the cell size h and the longitudinal wave speed c (J. von Neumann, R. D. Richtmyer, J. Appl.
 * Phys. 21 (1950) 232: the quadratic term; R. Landshoff, Los Alamos report LA-1930 (1955): the linear term). J rho is
 * m/V0, and J rho c^2 is the modulus `wave` of the law, so that the Kirchhoff stress needs no J.
 */
#pragma once
#include "mpm/kernels/tile.h"

struct shock {
    wide pressure; /* J q >= 0 [Pa]; 0 where material expands or is at rest */
    wide damping;  /* its part in `law_evaluation.damping`: 2 d J dq/ds [Pa s], its linear part at rest and where
                    * material expands: the next compression has it */
};

INLINE struct shock shock_of(const mpm_scheme *scheme, wide h, const struct tile *tile,
                             const struct law_evaluation *evaluation)
{
    const wide zero = wide_set(0), hs = h * wide_max(-matrix_trace(tile->C), zero);
    const wide density = tile->mass / wide_select(wide_less(zero, tile->mass), tile->volume, wide_set(1));
    const wide linear = wide_set((real)scheme->viscosity[0]) * wide_sqrt(density * wide_max(evaluation->wave, zero));
    const wide quadratic = wide_set((real)scheme->viscosity[1]) * density * hs;
    return (struct shock){.pressure = hs * (linear + quadratic),
                          .damping = wide_set(2 * DIM) * h * (linear + (quadratic + quadratic))};
}
