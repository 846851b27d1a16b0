/* SPDX-License-Identifier: MIT */
#include "mpm/rigid_pose.h"

#include <math.h>
#include <string.h>

#include "base/real.h"

static const double NEAR = 1e-3;   /* of x to the place in the nearest pose [cells] */
static const double ALIKE = 1e-2;  /* of F to its rotation: rounding in single precision adds up over a run */
static const double FLAT = 1e-12;  /* of an inertia: less is that of a rod about itself */
enum { ROUNDS = 4 };               /* of the search for the rotation, which begins with F */

/* The particles of a body, from its sums. */
struct body {
    const mpm_simulation *simulation;
    const mpm_particles *particles; /* mapped */
    const mpm_material *material;
    const mpm_rigid_body *sums;
    double centre[3], rest[3]; /* means of x from the origin of the body and of rest [m] */
};

/* How far a particle is from its place, and that place from the centre of mass, in a rotation. */
static void place_of(const struct body *body, const mpm_group *group, size_t slot, const double Q[3][3], double y[3],
                     double apart[3])
{
    const mpm_simulation *simulation = body->simulation;
    const mpm_particles *p = body->particles;
    const size_t dim = (size_t)p->dim, lanes = (size_t)p->lanes;
    double X[3] = {0}, x[3] = {0};
    for (size_t a = 0; a < dim; a++) {
        const size_t at = mpm_particles_index(slot, a, dim, lanes);
        const double period = (double)mpm_walls_period(simulation->settings.walls, (int)a,
                                                       simulation->settings.cells[a]);
        x[a] = (group->block[a] - body->sums->block[a]) * mpm_block_side(p->dim) - body->sums->place[a] +
               mpm_real_at(p->column[MPM_COLUMN_X], at, p->real_size);
        if (period > 0)
            x[a] -= period * nearbyint(x[a] / period);
        X[a] = mpm_real_at(p->column[body->material->column[a]], slot, p->real_size) - body->rest[a];
        x[a] += mpm_real_at(p->column[body->material->column[dim + a]], slot, p->real_size);
    }
    mpm_multiply3(y, Q, X);
    for (int a = 0; a < 3; a++)
        apart[a] = simulation->settings.dx * x[a] - body->centre[a] - y[a];
}

/* How far F of a particle is from a rotation. */
static double bent(const mpm_particles *p, size_t slot, const double Q[3][3])
{
    const size_t dim = (size_t)p->dim;
    double most = 0;
    for (size_t a = 0; a < dim; a++)
        for (size_t b = 0; b < dim; b++) {
            const size_t at = mpm_particles_index(slot, a, dim, (size_t)p->lanes);
            const double F = mpm_real_at(p->column[(size_t)MPM_COLUMN_C + dim + b], at, p->real_size);
            most = fabs(F - Q[b][a]) <= most ? most : fabs(F - Q[b][a]);
        }
    return most;
}

/* Turns Q by a small rotation. */
static void turn(double Q[3][3], const double angle[3])
{
    for (int c = 0; c < 3; c++) {
        double column[3], moved[3];
        for (int a = 0; a < 3; a++)
            column[a] = Q[a][c];
        mpm_cross3(moved, angle, column);
        for (int a = 0; a < 3; a++)
            Q[a][c] += moved[a];
    }
    mpm_body_orthonormalise(Q);
}

/* One pass over the particles of a body: the largest distances of x and F from a pose, and how to turn it so that the
 * sum of m times the squared distances of x is the least. */
static void compare(const struct body *body, const double Q[3][3], double apart[2], double angle[3])
{
    const mpm_particles *p = body->particles;
    double I[3][3] = {{0}}, inverse[3][3], moment[3] = {0};
    apart[0] = apart[1] = 0;
    for (size_t g = body->sums->first_group; g < body->sums->end_group; g++) {
        const mpm_group *group = &p->groups[g];
        const size_t first = (size_t)group->first_tile * (size_t)p->lanes;
        if (&body->simulation->materials[group->material] != body->material)
            continue;
        for (size_t slot = first; slot < first + (size_t)group->tiles * (size_t)p->lanes; slot++) {
            const double m = mpm_real_at(p->column[MPM_COLUMN_MASS], slot, p->real_size);
            double y[3], r[3], arm[3];
            if (!(m > 0))
                continue;
            place_of(body, group, slot, Q, y, r);
            mpm_cross3(arm, y, r);
            for (int a = 0; a < 3; a++) {
                moment[a] += m * arm[a];
                for (int b = 0; b < 3; b++)
                    I[a][b] += m * ((a == b ? mpm_dot3(y, y) : 0) - y[a] * y[b]);
            }
            const double far = sqrt(mpm_dot3(r, r)), bend = bent(p, slot, body->sums->rotation);
            apart[0] = far <= apart[0] ? apart[0] : far; /* NaN stays */
            apart[1] = bend <= apart[1] ? apart[1] : bend;
        }
    }
    const double size = I[0][0] + I[1][1] + I[2][2];
    memset(angle, 0, 3 * sizeof *angle);
    if (!(size > 0))
        return;
    for (int a = 0; a < 3; a++)
        I[a][a] += FLAT * size;
    mpm_body_invert(inverse, I, p->dim);
    mpm_multiply3(angle, inverse, moment);
}

static bool fits(mpm_simulation *simulation, const mpm_particles *particles, size_t material)
{
    const mpm_rigid_body *sums = &simulation->rigid[material];
    struct body body = {simulation, particles, &simulation->materials[material], sums, {0}, {0}};
    const double mass = mpm_sum_value(&sums->sums.mass);
    double Q[3][3], apart[2], angle[3];
    for (int a = 0; a < 3; a++) {
        body.centre[a] = mpm_sum_value(&sums->sums.mass_moment[a]) / mass;
        body.rest[a] = mpm_sum_value(&sums->sums.rest_moment[a]) / mass;
    }
    memcpy(Q, sums->rotation, sizeof Q);
    for (int k = 0; k < ROUNDS; k++) {
        compare(&body, Q, apart, angle);
        if (apart[0] <= NEAR * simulation->settings.dx)
            break;
        turn(Q, angle);
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            apart[1] = fmax(apart[1], fabs(Q[a][b] - sums->rotation[a][b]));
    simulation->misfit = (struct misfit){(int)material, {apart[0], apart[1]}};
    return apart[0] <= NEAR * simulation->settings.dx && apart[1] <= ALIKE;
}

bool mpm_rigid_pose_fits(mpm_simulation *simulation)
{
    const int end = simulation->particles.columns;
    if (!simulation->poses_due)
        return true;
    const mpm_particles mapped = mpm_particles_map(&simulation->particles, 0, end, MPM_READ);
    bool all = true;
    for (size_t material = 0; all && material < simulation->material_count; material++)
        if (simulation->forms[material].form.mass > 0 && mpm_sum_value(&simulation->rigid[material].sums.mass) > 0)
            all = fits(simulation, &mapped, material);
    mpm_particles_unmap(&simulation->particles, 0, end);
    simulation->poses_due = !all;
    return all;
}

void mpm_rigid_pose_report(const mpm_simulation *simulation, mpm_error *error)
{
    const struct misfit *misfit = &simulation->misfit;
    const bool x = !(misfit->apart[0] <= NEAR * simulation->settings.dx);
    error->kind = misfit->material;
    error->name = x ? "x" : "F";
    error->value[0] = misfit->apart[x ? 0 : 1];
    error->value[1] = x ? NEAR * simulation->settings.dx : ALIKE;
}
