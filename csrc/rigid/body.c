/* SPDX-License-Identifier: MIT */
#include "rigid/body.h"

#include <math.h>
#include <string.h>

static const double ROUNDING = 1e-14; /* of the energy of a spin */

mpm_status mpm_body_copy(mpm_rigid_form *copy, const mpm_allocator *allocator, const mpm_rigid_form *form)
{
    *copy = *form;
    copy->shape = (mpm_shape){0};
    copy->points = mpm_memory_new_unset(allocator, form->count, sizeof *copy->points);
    if (!copy->points || mpm_shape_copy(&copy->shape, allocator, &form->shape)) {
        mpm_body_clear(copy, allocator);
        return MPM_OUT_OF_MEMORY;
    }
    memcpy(copy->points, form->points, form->count * sizeof *copy->points);
    return MPM_OK;
}

void mpm_body_clear(mpm_rigid_form *form, const mpm_allocator *allocator)
{
    mpm_memory_free(allocator, form->points);
    mpm_shape_clear(&form->shape, allocator);
    *form = (mpm_rigid_form){0};
}

/* (1 + T)^T v */
static void turn_back(double out[3], const double T[3][3], const double v[3])
{
    mpm_multiply_back3(out, T, v);
    for (int i = 0; i < 3; i++)
        out[i] += v[i];
}

/* exp([w]) - 1, by the unit quaternion of half the angle. Without the 1, a small rotation has a small error. */
static void exponential_less_1(double T[3][3], const double w[3])
{
    const double angle = sqrt(mpm_dot3(w, w)), q0 = cos(0.5 * angle);
    const double share = angle > 0 ? sin(0.5 * angle) / angle : 0.5;
    const double q[3] = {share * w[0], share * w[1], share * w[2]};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const double sign = (j - i + 3) % 3 == 1 ? -1 : 1;
            T[i][j] = i == j ? 2 * (q[i] * q[i] - mpm_dot3(q, q)) : 2 * (q[i] * q[j] + sign * q0 * q[3 - i - j]);
        }
}

/* The cofactors of a matrix, and its determinant. */
static double cofactors(double C[3][3], const double A[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            C[i][j] = A[i1][j1] * A[i2][j2] - A[i1][j2] * A[i2][j1];
        }
    return mpm_dot3(A[0], C[0]);
}

void mpm_body_orthonormalise(double Q[3][3])
{
    for (int c = 0; c < 3; c++) {
        double size = 0;
        for (int k = 0; k < c; k++) {
            double along = 0;
            for (int a = 0; a < 3; a++)
                along += Q[a][c] * Q[a][k];
            for (int a = 0; a < 3; a++)
                Q[a][c] -= along * Q[a][k];
        }
        for (int a = 0; a < 3; a++)
            size += Q[a][c] * Q[a][c];
        for (int a = 0; a < 3; a++)
            Q[a][c] /= sqrt(size);
    }
}

void mpm_body_invert(double inverse[3][3], const double I[3][3], int dim)
{
    double C[3][3];
    memset(inverse, 0, 9 * sizeof(double));
    if (dim == 2) {
        inverse[2][2] = I[2][2] > 0 ? 1 / I[2][2] : 0;
        return;
    }
    const double det = cofactors(C, I);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            inverse[i][j] = det > 0 ? C[i][j] / det : 0; /* symmetric */
}

/* An iteration of Newton's method for w = I^-1 (L + Q^T L)/2, with back = Q^T L, whose derivative by w is about dt
 * [back]. Without that derivative, slender bodies do not converge: dt |L| may be far above their least inertia. Returns
 * the largest change. */
static double improve(double w[3], const double inverse[3][3], const double L[3], double dt, const double back[3])
{
    double J[3][3], C[3][3], mean[3], wanted[3], change[3], largest = 0;
    for (int a = 0; a < 3; a++)
        mean[a] = 0.5 * (back[a] + L[a]);
    mpm_multiply3(wanted, inverse, mean);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int j1 = (j + 1) % 3, j2 = (j + 2) % 3; /* column j of [back]: back[j2] at j1, -back[j1] at j2 */
            J[i][j] = (i == j) - 0.5 * dt * (inverse[i][j1] * back[j2] - inverse[i][j2] * back[j1]);
        }
    const double det = cofactors(C, J);
    for (int i = 0; i < 3; i++) {
        change[i] = 0;
        for (int j = 0; j < 3; j++)
            change[i] += C[j][i] * (wanted[j] - w[j]) / det;
        largest = fmax(largest, fabs(change[i]));
    }
    for (int a = 0; a < 3; a++)
        w[a] += change[a];
    return largest;
}

void mpm_body_turn(double turn[3][3], const double inertia[3][3], const double inverse[3][3], const double w[3],
                    double dt)
{
    double L[3], W[3] = {w[0], w[1], w[2]}, angle[3], back[3];
    mpm_multiply3(L, inertia, w);
    for (int k = 0; k < 50; k++) { /* in 2-D the first is exact */
        for (int a = 0; a < 3; a++)
            angle[a] = dt * W[a];
        exponential_less_1(turn, angle);
        turn_back(back, turn, L);
        const double change = improve(W, inverse, L, dt, back);
        if (!(change > 4e-16 * sqrt(mpm_dot3(W, W))))
            break;
    }
}

void mpm_body_spin(double after[3], const double turn[3][3], const double inertia[3][3], const double inverse[3][3],
                    const double w[3])
{
    double L[3], back[3], next[3], turned[3];
    mpm_multiply3(L, inertia, w);
    turn_back(back, turn, L);
    mpm_multiply3(next, inverse, back);
    mpm_multiply3(turned, turn, next);
    for (int a = 0; a < 3; a++)
        after[a] = next[a] + turned[a];
}

/* A B A^T with A = 1 + T. */
static void turn_tensor(double B[3][3], const double T[3][3])
{
    for (int side = 0; side < 2; side++) { /* columns, then rows of the transpose */
        double C[3][3];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                C[j][i] = B[i][j] + T[i][0] * B[0][j] + T[i][1] * B[1][j] + T[i][2] * B[2][j];
        memcpy(B, C, sizeof C);
    }
}

void mpm_body_drift(mpm_rigid_state *body, double dt, int dim)
{
    double spin[3], arm[3], turned[3], gained[3], C[3][3];
    mpm_body_turn(body->drifted, body->inertia, body->inverse, body->begin + 3, 0.5 * dt);
    mpm_body_spin(spin, body->drifted, body->inertia, body->inverse, body->begin + 3);
    memcpy(body->begin + 3, spin, sizeof spin);
    for (int a = 0; a < 3; a++)
        arm[a] = body->place[a] - body->centre[a];
    mpm_multiply3(turned, body->drifted, arm);
    memcpy(C, body->rotation, sizeof C);
    for (int a = 0; a < 3; a++) {
        body->centre[a] += 0.5 * dt * body->begin[a];
        body->place[a] = body->centre[a] + arm[a] + turned[a];
        for (int b = 0; b < 3; b++)
            for (int k = 0; k < 3; k++)
                body->rotation[a][b] += body->drifted[a][k] * C[k][b];
    }
    turn_tensor(body->inertia, body->drifted);
    mpm_body_invert(body->inverse, body->inertia, dim);
    mpm_multiply3(gained, body->inverse, body->gain + 3);
    for (int a = 0; a < 3; a++) {
        body->free[a] = body->begin[a] + body->gain[a];
        body->free[3 + a] = body->begin[3 + a] + gained[a];
    }
}

void mpm_body_move(double turn[3][3], double shift[3], double spin[3], const mpm_rigid_state *body, double dt)
{
    double second[3][3], L[3], pushed[3];
    mpm_body_turn(second, body->inertia, body->inverse, body->push + 3, 0.5 * dt);
    mpm_body_spin(spin, second, body->inertia, body->inverse, body->kept + 3);
    mpm_multiply3(L, body->inertia, body->kept + 3);
    mpm_multiply3(pushed, body->inertia, body->push + 3);
    const double changed = mpm_dot3(L, spin) - mpm_dot3(L, body->kept + 3); /* twice the energy, by the push */
    if (!body->rows && fabs(changed) > 2 * body->spare + ROUNDING * mpm_dot3(pushed, body->push + 3)) {
        mpm_body_turn(second, body->inertia, body->inverse, body->kept + 3, 0.5 * dt);
        mpm_body_spin(spin, second, body->inertia, body->inverse, body->kept + 3);
    }
    for (int a = 0; a < 3; a++) {
        shift[a] = 0.5 * dt * (body->begin[a] + body->push[a]);
        for (int b = 0; b < 3; b++) {
            turn[a][b] = body->drifted[a][b] + second[a][b];
            for (int k = 0; k < 3; k++)
                turn[a][b] += second[a][k] * body->drifted[k][b];
        }
    }
}
