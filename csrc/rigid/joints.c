/* SPDX-License-Identifier: MIT */
#include "rigid/joints.h"

#include <math.h>

#include "math/cholesky.h"

static const double ROUNDING = 1e-12; /* of the response of a body: less is none */

/* How far the axis, or all of the body, has turned from where the joint holds it [rad]. */
static void find_turned(double turned[3], const mpm_rigid_joint *joint, const double Q[3][3])
{
    if (joint->whole) {
        for (int a = 0; a < 3; a++)
            turned[a] = 0.5 * (Q[(a + 2) % 3][(a + 1) % 3] - Q[(a + 1) % 3][(a + 2) % 3]);
        return;
    }
    double axis[3];
    mpm_multiply3(axis, Q, joint->axis);
    mpm_cross3(turned, joint->axis, axis);
}

static void add_row(mpm_rigid_state *body, const double direction[3], const double arm[3], double kept, double moves)
{
    double *row = body->row[body->rows];
    memset(row, 0, sizeof body->row[0]);
    if (arm)
        mpm_rows_wrench(row, direction, arm);
    else
        memcpy(row + 3, direction, 3 * sizeof *direction);
    body->wanted[0][body->rows] = moves;
    body->wanted[1][body->rows++] = kept;
}

void mpm_joints_find(mpm_rigid_state *body, const mpm_rigid_world *world)
{
    const mpm_rigid_joint *joint = body->form ? &body->form->joint : NULL;
    const double rest = 0.5 * world->dt;
    double place[3], arm[3], off[3], turned[3], v[3], change[3];
    body->rows = 0;
    if (!joint || !(joint->held || joint->turns))
        return;
    mpm_multiply3(place, body->rotation, joint->anchor);
    for (int a = 0; a < 3; a++) {
        place[a] += body->place[a];
        arm[a] = place[a] - body->centre[a];
    }
    mpm_touch_nearest(world->boundary, joint->at, place);
    for (int a = 0; a < 3; a++)
        off[a] = place[a] - joint->at[a];
    find_turned(turned, joint, body->rotation);
    mpm_cross3(v, body->begin + 3, arm);
    mpm_cross3(change, body->begin + 3, v);
    for (int i = 0; i < (int)joint->held; i++) {
        const double *d = joint->along[i], bent = rest * mpm_dot3(d, change);
        if (joint->driven && i + 1 == (int)joint->held && !joint->turning)
            add_row(body, d, arm, joint->speed - bent, joint->speed - bent);
        else
            add_row(body, d, arm, -bent, -mpm_dot3(d, off) / rest - 0.5 * bent);
    }
    for (int i = 0; i < (int)joint->turns; i++) {
        const double *d = joint->about[i];
        if (joint->driven && i + 1 == (int)joint->turns && joint->turning)
            add_row(body, d, NULL, joint->speed, joint->speed);
        else
            add_row(body, d, NULL, 0, -mpm_dot3(d, turned) / rest);
    }
}

void mpm_joints_hold(double W[6][6], double u[6], double reaction[6], const mpm_rigid_state *body, int pass)
{
    double moves[6][6], S[6][6], impulse[6], before[6];
    for (int i = 0; i < body->rows; i++) {
        mpm_rows_multiply6(moves[i], W, body->row[i]);
        impulse[i] = body->wanted[pass][i] - mpm_rows_dot6(body->row[i], u);
    }
    for (int i = 0; i < body->rows; i++) /* J W J^T */
        for (int j = 0; j < body->rows; j++)
            S[i][j] = mpm_rows_dot6(body->row[i], moves[j]);
    mpm_cholesky_factor(S, body->rows);
    mpm_cholesky_solve(S, impulse, body->rows);
    for (int q = 0; q < 6; q++) {
        if (reaction)
            reaction[q] = 0;
        for (int i = 0; i < body->rows; i++) {
            u[q] += impulse[i] * moves[i][q];
            if (reaction)
                reaction[q] += impulse[i] * body->row[i][q];
        }
        before[q] = W[q][q];
    }
    for (int c = 0; c < 6; c++) { /* column c of what the rows take */
        for (int i = 0; i < body->rows; i++)
            impulse[i] = moves[i][c];
        mpm_cholesky_solve(S, impulse, body->rows);
        for (int i = 0; i < body->rows; i++)
            for (int q = 0; q < 6; q++)
                W[q][c] -= moves[i][q] * impulse[i];
    }
    for (int q = 0; q < 6; q++)
        for (int c = 0; c < 6; c++)
            if (fabs(W[q][c]) < ROUNDING * sqrt(before[q] * before[c]))
                W[q][c] = 0;
}
