/* SPDX-License-Identifier: MIT
 *
 * What isotropic return maps in logarithmic strain share. They shorten the deviator of the strain and move its trace:
 *
 *     e = 1/2 ln F F^T  ->  keep dev e + trace/3 I,   F = V R keeps its rotation R
 *
 * Traces and deviators are those of three dimensions. In plane strain the elastic stretch out of plane is kept: Fzz.
 */
#pragma once
#include "materials/hencky.h"

/* A trial strain. */
struct hencky_trial {
    matrix deviator;    /* in the plane, in 2-D */
    wide zz;            /* deviator out of plane; 0 in 3-D */
    wide trace, length; /* tr e, |dev e| */
    mask sound;         /* det F is positive and a number */
    mask far;           /* needs a decomposition */
};

INLINE struct hencky_trial hencky_trial_of(matrix F, wide Fzz)
{
    struct hencky_trial t;
    const wide J = matrix_det(F);
    t.sound = wide_less(wide_set(0), J) & wide_less_equal(J, wide_set(REAL_LARGEST));
    const matrix strain = hencky_strain(F, &t.far);
    const wide zz = DIM == 2 ? wide_log_any(Fzz) : wide_set(0);
    t.trace = matrix_trace(strain) + zz;
    const wide mean = t.trace * wide_set((real)(1.0 / 3));
    t.deviator = matrix_add_diagonal(strain, -mean);
    t.zz = (zz - mean) * wide_set(DIM == 2);
    const wide length2 = wide_fma(t.zz, t.zz, matrix_dot(t.deviator, t.deviator));
    t.far |= mask_not(wide_less_equal(length2, wide_set(HENCKY_SHORT2)));
    t.length = wide_sqrt(length2);
    return t;
}

/* F with principal strains keep (e - mean) + to. */
NOINLINE void hencky_return_far(const matrix *F, matrix *moved, wide keep, wide mean, wide to, mask far)
{
    const struct singular s = singular_decompose(*F);
    wide value[DIM];
    UNROLL for (int i = 0; i < DIM; i++)
        value[i] = wide_exp(wide_fma(keep, wide_log_any(s.value[i]) - mean, to));
    *moved = matrix_select(far, singular_compose(&s, value), *moved);
}

/* Moves the lanes of `changes` to the deviator keep dev e, 0 <= keep <= 1, and to a trace that is larger by `rise`. A
 * difference of traces would have their rounding: where volumes are stiff (nu near 1/2), this is spurious pressure. */
INLINE void hencky_return(const struct hencky_trial *t, matrix *F, wide *Fzz, wide keep, wide rise, mask changes)
{
    const wide third = wide_set((real)(1.0 / 3)), one = wide_set(1), shift = third * rise, less = keep - one;
    const matrix grown = hencky_growth(matrix_scale(less, t->deviator));
    const wide swell = wide_expm1(shift);
    matrix moved = matrix_advance(one, matrix_add_diagonal(matrix_scale(one + swell, grown), swell), *F);
    if (__builtin_expect(mask_any(changes & t->far), 0)) {
        const matrix copy = *F; /* copies in memory, so that the originals stay in registers */
        matrix far = moved;
        hencky_return_far(&copy, &far, keep, third * t->trace, third * (t->trace + rise), t->far);
        moved = far;
    }
    *F = matrix_select(changes, moved, *F);
    if (DIM == 2)
        *Fzz = wide_select(changes, wide_fma(wide_expm1(wide_fma(less, t->zz, shift)), *Fzz, *Fzz), *Fzz);
}

/* The response to the elastic strain of a state. */
INLINE struct law_evaluation hencky_flow_evaluate(const struct hencky *law, matrix F, wide Fzz)
{
    mask far;
    const matrix strain = hencky_strain(F, &far);
    const wide zz = wide_log_any(Fzz);
    struct law_evaluation r = hencky_respond(law, strain, DIM == 2 ? &zz : NULL);
    hencky_bound_shear(law, strain, &r);
    return r;
}

/* A gap is the volume ratio that grains gained when they parted. They press again when they have lost it. */
#define LARGEST_GAP ((real)1e6)

/* Keeps J_P in step with a change of the elastic trace, so that the whole volume stays; returns the lanes whose gap is
 * too large. */
INLINE mask hencky_keep_volume(wide *Jp, wide *gap, wide lost, wide new_gap, mask changes)
{
    const wide most = wide_set(LARGEST_GAP);
    *Jp = wide_select(changes, wide_min(*Jp * wide_exp(lost), most), *Jp);
    *gap = wide_select(changes, wide_min(new_gap, most), *gap);
    return changes & wide_less(most, new_gap);
}
