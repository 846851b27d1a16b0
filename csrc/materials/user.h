/* SPDX-License-Identifier: MIT
 *
 * Laws of users: compiled functions that get tiles of doubles (mpm_user_law.h). The material holds what a row of the
 * registry holds for other laws.
 */
#pragma once
#include <string.h>

#include "materials/law.h"

struct user {
    const mpm_user_law *law;
};

/* The components of a matrix of DIM rows, and of a symmetric one with the stress out of plane. */
enum { USER_TENSOR = DIM * DIM, USER_SYMMETRIC = DIM == 2 ? 4 : 6 };

INLINE struct user user_prepare(const mpm_material *material)
{
    return (struct user){material->user};
}

INLINE int user_components(const struct user *law)
{
    return mpm_law_history(&law->law->row, DIM);
}

/* `wide` has the lanes of a component side by side, as the tiles of users have the particles. */
INLINE void user_read(double *to, const wide *from, int components)
{
    for (int c = 0; c < components; c++)
        for (int q = 0; q < WIDTH; q++)
            to[c * WIDTH + q] = (double)((const real *)&from[c])[q];
}

INLINE void user_write(wide *to, const double *from, int components)
{
    for (int c = 0; c < components; c++)
        for (int q = 0; q < WIDTH; q++)
            ((real *)&to[c])[q] = (real)from[c * WIDTH + q];
}

struct user_answer {
    double tau[USER_SYMMETRIC * WIDTH], energy[WIDTH], moduli[2 * WIDTH];
};

static void user_call(const mpm_user_law *law, const double *F, const double *history, struct user_answer *answer)
{
    double *const values = answer->tau;
    for (int i = 0; i < (USER_SYMMETRIC + 3) * WIDTH; i++)
        values[i] = __builtin_nan("");
    law->evaluate(WIDTH, DIM, law->parameters, F, history, answer->tau, answer->energy, answer->moduli, law->context);
}

/* The component of a symmetric tensor in its tile. */
INLINE int user_index(int i, int j)
{
    const int low = i < j ? i : j, high = i < j ? j : i;
    return low * DIM - low * (low - 1) / 2 + high - low;
}

/* A bound of the second derivative of Psi((I + G) F) by G: the largest sum of magnitudes in a row of the matrix
 *
 *     H_ij,kl = dtau_kl/dG_ij - delta_li tau_kj
 *
 * with the derivatives of tau from forward differences. At rest the bound is exact, 2 mu + d lambda. */
static void user_differentiate(const mpm_user_law *law, const double *F, const double *history,
                               struct user_answer *answer)
{
    const double step = 1e-6, margin = 1 + 1e-4;
    double moved[USER_TENSOR * WIDTH], most[WIDTH] = {0};
    struct user_answer there;
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++) {
            memcpy(moved, F, sizeof moved);
            for (int b = 0; b < DIM; b++)
                for (int q = 0; q < WIDTH; q++)
                    moved[(i * DIM + b) * WIDTH + q] += step * F[(j * DIM + b) * WIDTH + q];
            user_call(law, moved, history, &there);
            for (int q = 0; q < WIDTH; q++) {
                double sum = 0;
                for (int k = 0; k < DIM; k++)
                    for (int l = 0; l < DIM; l++) {
                        const int kl = user_index(k, l) * WIDTH + q;
                        const double turned = l == i ? answer->tau[user_index(k, j) * WIDTH + q] : 0;
                        sum += __builtin_fabs((there.tau[kl] - answer->tau[kl]) / step - turned);
                    }
                if (!(sum <= most[q]) && !__builtin_isnan(most[q])) /* NaN stays */
                    most[q] = sum;
            }
        }
    for (int q = 0; q < WIDTH; q++)
        answer->moduli[q] = answer->moduli[WIDTH + q] = margin * most[q];
}

INLINE struct law_evaluation user_evaluate(const struct user *user, const struct law_state *state)
{
    const mpm_user_law *law = user->law;
    double F[USER_TENSOR * WIDTH], history[MPM_LAW_HISTORY * WIDTH];
    struct user_answer answer;
    user_read(F, &state->F.m[0][0], USER_TENSOR);
    user_read(history, state->history, user_components(user));
    user_call(law, F, history, &answer);
    if (law->moduli == MPM_USER_NUMERIC)
        user_differentiate(law, F, history, &answer);
    for (int q = 0; q < WIDTH; q++) {
        double *wave = &answer.moduli[q], *isolated = &answer.moduli[WIDTH + q];
        *wave = law->moduli == MPM_USER_BOUND ? law->bound : *wave;
        if (law->moduli == MPM_USER_BOUND || __builtin_isnan(*isolated))
            *isolated = DIM * *wave;
        *wave = __builtin_isnan(*wave) ? __builtin_inf() : *wave; /* no step is small enough */
        *isolated = __builtin_isnan(*isolated) ? __builtin_inf() : *isolated;
    }
    struct law_evaluation r;
    wide tau[USER_SYMMETRIC], moduli[2];
    user_write(tau, answer.tau, USER_SYMMETRIC);
    user_write(&r.energy, answer.energy, 1);
    user_write(moduli, answer.moduli, 2);
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++)
            r.tau.m[i][j] = tau[user_index(i, j)];
    r.tau_zz = wide_set(0);
    if (DIM == 2)
        r.tau_zz = tau[3];
    r.wave = moduli[0];
    r.isolated = moduli[1];
    r.damping = wide_set(0);
    return r;
}

INLINE void user_return_map(const struct user *user, struct law_state *state, wide dt, matrix velocity_gradient)
{
    const mpm_user_law *law = user->law;
    const int components = user_components(user);
    double F[USER_TENSOR * WIDTH], gradient[USER_TENSOR * WIDTH], history[MPM_LAW_HISTORY * WIDTH];
    if (!law->return_map)
        return;
    user_read(F, &state->F.m[0][0], USER_TENSOR);
    user_read(gradient, &velocity_gradient.m[0][0], USER_TENSOR);
    user_read(history, state->history, components);
    law->return_map(WIDTH, DIM, law->parameters, (double)wide_lane(dt, 0), gradient, F, history, law->map_context);
    user_write(&state->F.m[0][0], F, USER_TENSOR);
    user_write(state->history, history, components);
}
