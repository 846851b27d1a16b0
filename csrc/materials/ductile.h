/* SPDX-License-Identifier: MIT
 *
 * Metals that fracture. Damage w takes its share of the deviator of the stress of the whole metal, and of its tension;
 * pressure stays. So a broken particle is debris, which presses and has no strength:
 *
 *     dev tau = (1 - w) dev tau',  m = (1 - w) m' for m' > 0, else m'          m = tr tau/3; ': without damage
 *     Psi = Psi' - w E,  E = |dev tau'|^2/(4 mu) + the energy of the tension m'
 *
 * Flow is that of the whole metal: J. Lemaitre, J. Eng. Mater. Technol. 107 (1985) 83 (strain equivalence). From the
 * onset on, it drives the damage (crack_band.h); the onset is that of the law.
 *
 * F of a broken particle is limited to a volume ratio of e: the gap between pieces is wider than a particle knows of.
 */
#pragma once
#include "materials/crack_band.h"

#ifdef MPM_DIM /* for kernels */
#include "materials/law.h"

/* What damage depends on, of the response of the whole metal. */
struct ductile_load {
    wide mean, q; /* mean stress; sqrt(3/2) |dev tau| [Pa] */
    wide shear;   /* energy of the deviator [J/m3] */
};

INLINE struct ductile_load ductile_load_of(const struct law_evaluation *r, wide mu)
{
    struct ductile_load load = {.mean = matrix_trace(r->tau)};
    if (DIM == 2)
        load.mean += r->tau_zz;
    load.mean *= wide_set((real)(1.0 / 3));
    const matrix deviator = matrix_add_diagonal(r->tau, -load.mean);
    wide square = matrix_dot(deviator, deviator);
    if (DIM == 2)
        square = wide_fma(r->tau_zz - load.mean, r->tau_zz - load.mean, square);
    load.q = wide_sqrt(wide_set((real)1.5) * square);
    load.shear = square / (wide_set(4) * mu);
    return load;
}

/* Takes the damage from the response of the whole metal; `tension` is the energy of the mean stress where that is
 * positive. Curvatures of Psi fall, but for what the stress adds: its fall raises them by no more than it. */
NOINLINE void ductile_respond(struct law_evaluation *r, wide mu, wide damage, wide tension)
{
    const wide zero = wide_set(0), kept = wide_set(1) - damage;
    const struct ductile_load load = ductile_load_of(r, mu);
    const wide pressed = wide_min(load.mean, zero), released = load.shear + tension;
    const mask damaged = wide_less(zero, damage);
    const matrix weakens = matrix_add_diagonal(r->tau, -pressed);
    const wide fall = damage * wide_max(matrix_largest_eigenvalue_bound(weakens), zero);
    r->tau = matrix_select(damaged, matrix_add_diagonal(matrix_scale(kept, weakens), pressed), r->tau);
    r->tau_zz = wide_select(damaged, wide_fma(kept, r->tau_zz - pressed, pressed), r->tau_zz);
    r->energy = wide_select(damaged, wide_fma(kept, released, r->energy - released), r->energy);
    r->wave = wide_select(damaged, r->wave + fall, r->wave);
    r->isolated = wide_select(damaged, r->isolated + fall, r->isolated);
}

/* The damage after plastic strain beyond the onset, and F of broken lanes, whose volume ratio is J. */
NOINLINE void ductile_break(const struct ductile_load *load, wide toughness, wide tension, wide beyond, wide J,
                            matrix *F, wide *damage)
{
    const wide zero = wide_set(0), one = wide_set(1), before = *damage;
    const wide work = load->q * beyond;
    const wide kept = crack_band_soften(toughness, one - before, work, load->shear + tension, 0.5);
    const wide after = wide_select(wide_less(zero, beyond), wide_max(one - kept, before), before);
    const mask wide_open = wide_less_equal(one, after) & wide_less(wide_set((real)2.7182818284590452), J) &
                           wide_less_equal(J, wide_set(REAL_LARGEST));
    if (__builtin_expect(mask_any(wide_open), 0)) {
        const wide shrink = wide_exp((one - wide_log_any(J)) * wide_set((real)(1.0 / DIM)));
        *F = matrix_select(wide_open, matrix_scale(shrink, *F), *F);
    }
    *damage = after;
}
#endif
