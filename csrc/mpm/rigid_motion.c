/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/real.h"
#include "mpm/rigid_motion.h"

/* (1 + T)^T v */
static void turn_back(double out[3], const double T[3][3], const double v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = v[i] + (T[0][i] * v[0] + T[1][i] * v[1] + T[2][i] * v[2]);
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

/* The cofactors of I + shift, and the determinant. */
static double cofactors(double C[3][3], const double I[3][3], double shift)
{
    double A[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            A[i][j] = I[i][j] + (i == j ? shift : 0);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            C[i][j] = A[i1][j1] * A[i2][j2] - A[i1][j2] * A[i2][j1];
        }
    return mpm_dot3(A[0], C[0]);
}

/* The inverse of the inertia I. Without an affine velocity, particles on a line have no inertia about it: then all axes
 * get a little. The inertia of one particle is a rounding error, so it does not turn. */
static void invert(double inverse[3][3], const double I[3][3], int dim, double rounding)
{
    const double size = I[0][0] + I[1][1] + I[2][2];
    double C[3][3];
    memset(inverse, 0, 9 * sizeof(double));
    if (!(size > rounding))
        return;
    if (dim == 2) {
        inverse[2][2] = 1 / I[2][2];
        return;
    }
    double det = cofactors(C, I, 0);
    if (!(det > 1e-9 * size * size * size))
        det = cofactors(C, I, 1e-3 * size);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            inverse[i][j] = C[i][j] / det; /* symmetric */
}

mpm_body mpm_rigid_motion_body(const mpm_settings *settings, const mpm_rigid_sums *sums)
{
    const double h = settings->dx, D = mpm_scheme_is_affine(&settings->scheme)
                                           ? h * h * mpm_scheme_second_moment(settings->scheme.degree) : 0;
    mpm_body body = {.mass = mpm_sum_value(&sums->mass)};
    double S[3][3], I[3][3], moved[3];
    for (int a = 0; a < 3; a++) {
        body.momentum[a] = mpm_sum_value(&sums->momentum[a]);
        body.centre[a] = mpm_sum_value(&sums->mass_moment[a]) / body.mass;
    }
    mpm_cross3(moved, body.centre, body.momentum);
    for (int a = 0; a < 3; a++) {
        body.spin[a] = mpm_sum_value(&sums->angular_momentum[a]) - moved[a];
        for (int b = 0; b < 3; b++)
            S[a][b] = mpm_sum_value(&sums->second_moment[a][b]) - body.mass * body.centre[a] * body.centre[b];
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            I[a][b] = (a == b ? S[0][0] + S[1][1] + S[2][2] + 2 * D * body.mass : 0) - S[a][b];
    invert(body.inverse, I, settings->dim, 1e-9 * body.mass * h * h);
    return body;
}

/* An iteration of Newton's method for w = I^-1 (L + Q^T L)/2, with back = Q^T L, whose derivative by w is about dt
 * [back]. Without that derivative, slender bodies do not converge: dt |L| may be far above their least inertia. Returns
 * the largest change. */
static double improve(double w[3], const mpm_body *body, double dt, const double back[3])
{
    double J[3][3], C[3][3], mean[3], wanted[3], change[3], largest = 0;
    for (int a = 0; a < 3; a++)
        mean[a] = 0.5 * (back[a] + body->spin[a]);
    mpm_multiply3(wanted, body->inverse, mean);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int j1 = (j + 1) % 3, j2 = (j + 2) % 3; /* column j of [back]: back[j2] at j1, -back[j1] at j2 */
            J[i][j] = (i == j) - 0.5 * dt * (body->inverse[i][j1] * back[j2] - body->inverse[i][j2] * back[j1]);
        }
    const double det = cofactors(C, J, 0);
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

void mpm_rigid_motion_find(const mpm_body *body, double dt, mpm_rigid_body *motion)
{
    double w[3], turn[3], back[3], next[3];
    mpm_multiply3(w, body->inverse, body->spin);
    for (int k = 0; k < 50; k++) { /* in 2-D the first is exact */
        for (int a = 0; a < 3; a++)
            turn[a] = dt * w[a];
        exponential_less_1(motion->turn, turn);
        turn_back(back, motion->turn, body->spin);
        const double change = improve(w, body, dt, back);
        if (!(change > 4e-16 * sqrt(mpm_dot3(w, w))))
            break;
    }
    turn_back(back, motion->turn, body->spin);
    mpm_multiply3(next, body->inverse, back);
    mpm_multiply3(turn, motion->turn, next);
    memcpy(motion->centre, body->centre, sizeof motion->centre);
    for (int a = 0; a < 3; a++) {
        motion->spin[a] = next[a] + turn[a];
        motion->velocity[a] = body->momentum[a] / body->mass;
        motion->shift[a] = dt * motion->velocity[a];
    }
}

bool mpm_rigid_motion_place(mpm_rigid_place *place, const mpm_simulation *simulation, const mpm_rigid_body *motion,
                            const mpm_group *group, size_t slot)
{
    const mpm_settings *settings = &simulation->settings;
    const mpm_particles *p = &simulation->look.particles;
    const size_t dim = (size_t)p->dim, lanes = (size_t)p->lanes;
    const int64_t side = mpm_block_side(p->dim);
    *place = (mpm_rigid_place){0};
    if (!(mpm_real_at(p->column[MPM_COLUMN_MASS], slot, p->real_size) > 0))
        return false;
    for (size_t a = 0; a < dim; a++) {
        const double x =
            mpm_real_at(p->column[MPM_COLUMN_X], mpm_particles_index(slot, a, dim, lanes), p->real_size);
        const double cells = (double)((group->block[a] - motion->block[a]) * side) + (x - motion->place[a]);
        const double all = (double)(group->block[a] * side) + x;
        const double period = (double)mpm_walls_period(settings->walls, (int)a, settings->cells[a]);
        place->in_body[a] = settings->dx * (cells - (period > 0 ? period * nearbyint(cells / period) : 0));
        place->in_domain[a] =
            settings->lower[a] + settings->dx * (all - (period > 0 ? period * floor(all / period) : 0));
    }
    return true;
}
