/* SPDX-License-Identifier: MIT */
#include "mpm/rigid_motion.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/exact.h"
#include "base/real.h"
#include "mpm/sweeps.h"

enum { SUMS = offsetof(mpm_rigid_sums, lowest) / sizeof(mpm_sum) };
_Static_assert(SUMS * sizeof(mpm_sum) == offsetof(mpm_rigid_sums, lowest), "the sums come first");

static const double SQUARE = 1.0 / 48; /* second moment of a square or cube of half a cell [cells^2] */
static const double LOST = 1e-6;        /* of the mass of a body: less is rounding */

/* ---- sums over particles ---------------------------------------------------------------------------------------- */

/* A sum in twice the precision. */
static mpm_sum round_twice(mpm_exact *sum)
{
    mpm_sum result = {.high = mpm_exact_round(sum)};
    mpm_exact_add(sum, -result.high);
    result.low = mpm_exact_round(sum);
    return result;
}

static void add_group(mpm_exact exact[SUMS], const mpm_rigid_sums *part)
{
    for (int k = 0; k < SUMS; k++) {
        const mpm_sum *sum = (const mpm_sum *)(const void *)part + k;
        mpm_exact_add(&exact[k], sum->high);
        mpm_exact_add(&exact[k], sum->low);
    }
}

static void widen_box(mpm_rigid_sums *sums, const mpm_rigid_sums *part)
{
    for (int a = 0; a < 3; a++) {
        sums->lowest[a] = fmin(sums->lowest[a], part->lowest[a]);
        sums->highest[a] = fmax(sums->highest[a], part->highest[a]);
    }
}

/* Adds up the groups of a body, which are among those from `first` to `end`. */
static mpm_rigid_sums sum_groups(const mpm_simulation *simulation, const mpm_rigid_sums *parts, int32_t material,
                                 size_t first, size_t end)
{
    mpm_exact exact[SUMS];
    mpm_rigid_sums result = parts[first];
    if (first + 1 == end)
        return result;
    for (int k = 0; k < SUMS; k++)
        mpm_exact_clear(&exact[k]);
    for (size_t g = first; g < end; g++)
        if (simulation->particles.groups[g].material == material) {
            add_group(exact, &parts[g]);
            widen_box(&result, &parts[g]);
        }
    for (int k = 0; k < SUMS; k++)
        ((mpm_sum *)(void *)&result)[k] = round_twice(&exact[k]);
    return result;
}

/* Takes the place of a particle for the origin of its body, so that sums of positions are not large beside the body,
 * and its F for the rotation of the body. */
static void begin_at(const mpm_particles *p, size_t g, mpm_rigid_body *body)
{
    const mpm_group *group = &p->groups[g];
    const size_t dim = (size_t)p->dim, lanes = (size_t)p->lanes, first = (size_t)group->first_tile * lanes;
    for (size_t slot = first; slot < first + (size_t)group->tiles * lanes; slot++) {
        if (!(mpm_real_at(p->column[MPM_COLUMN_MASS], slot, p->real_size) > 0))
            continue;
        body->first_group = g;
        body->end_group = body->end_group ? body->end_group : g + 1;
        memcpy(body->block, group->block, sizeof body->block);
        memset(body->rotation, 0, sizeof body->rotation);
        body->rotation[2][2] = 1;
        for (size_t a = 0; a < dim; a++) {
            const size_t at = mpm_particles_index(slot, a, dim, lanes);
            body->place[a] = mpm_real_at(p->column[MPM_COLUMN_X], at, p->real_size);
            for (size_t b = 0; b < dim; b++)
                body->rotation[b][a] = mpm_real_at(p->column[(size_t)MPM_COLUMN_C + dim + b], at, p->real_size);
        }
        return;
    }
}

static bool is_rigid(const mpm_simulation *simulation, size_t material)
{
    return mpm_material_law(&simulation->materials[material])->rigid;
}

/* Finds the origin of every body. Of points that no particle keeps, nothing is known. */
static void begin_bodies(mpm_simulation *simulation)
{
    mpm_device *device = &simulation->backend->device;
    const mpm_particles *particles = &simulation->particles;
    const int end = MPM_COLUMN_C + 2 * particles->dim;
    const mpm_particles mapped = mpm_particles_map(particles, 0, end, MPM_READ);
    for (size_t material = 0; material < simulation->material_count; material++) {
        const struct rigid_form *form = &simulation->forms[material];
        mpm_rigid_body *body = &simulation->rigid[material];
        body->points = form->form.count;
        body->force = form->force;
        body->first_group = body->end_group = 0;
        if (!form->force)
            continue;
        double(*force)[3] = mpm_device_map(device, form->force, MPM_WRITE);
        for (size_t i = 0; i < form->form.count; i++)
            force[i][0] = NAN;
        mpm_device_unmap(device, form->force);
    }
    for (size_t g = particles->group_count; g-- > 0;) /* the first of a body is the last here */
        if (is_rigid(simulation, (size_t)particles->groups[g].material))
            begin_at(&mapped, g, &simulation->rigid[particles->groups[g].material]);
    mpm_particles_unmap(particles, 0, end);
}

void mpm_rigid_motion_sum(mpm_simulation *simulation, double dt)
{
    mpm_device *device = &simulation->backend->device;
    begin_bodies(simulation);
    mpm_sweeps_rigid_sums(simulation, dt);
    const mpm_rigid_sums *parts = mpm_device_map(device, simulation->reports.rigid_sums, MPM_READ);
    for (size_t material = 0; material < simulation->material_count; material++) {
        mpm_rigid_body *body = &simulation->rigid[material];
        if (!body->end_group)
            continue;
        body->sums = sum_groups(simulation, parts, (int32_t)material, body->first_group, body->end_group);
        mpm_body_orthonormalise(body->rotation);
    }
    mpm_device_unmap(device, simulation->reports.rigid_sums);
}

/* ---- bodies ----------------------------------------------------------------------------------------------------- */

void mpm_rigid_motion_turn(double B[3][3], const double Q[3][3], const double A[3][3])
{
    double turned[3][3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            turned[a][b] = Q[a][0] * A[0][b] + Q[a][1] * A[1][b] + Q[a][2] * A[2][b];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            B[a][b] = mpm_dot3(turned[a], Q[b]);
}

/* The lowest eigenvalue of a symmetric matrix, by the trigonometric solution (Smith 1961). */
static double lowest_eigenvalue(const double A[3][3])
{
    const double mean = (A[0][0] + A[1][1] + A[2][2]) / 3;
    double B[3][3], size = 0, minor[3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            B[a][b] = A[a][b] - (a == b ? mean : 0);
            size += B[a][b] * B[a][b] / 6;
        }
    if (!(size > 0))
        return mean;
    size = sqrt(size);
    mpm_cross3(minor, B[1], B[2]);
    const double half = mpm_dot3(B[0], minor) / (2 * size * size * size);
    return mean + 2 * size * cos((acos(fmax(-1, fmin(half, 1))) + 2 * acos(-1.0)) / 3);
}

/* How much the inertia has to be raised. That beside the particles as points may be negative where the particles lie
 * farther out than the shape; of a body that has lost particles it can outweigh theirs. So the inertia of what is left
 * is at least that of a square or cube of half a cell. */
static double raise_inertia(const mpm_simulation *simulation, size_t material, const double inertia[3][3], double mass)
{
    const double h = simulation->settings.dx, least = 2 * SQUARE * h * h * mass;
    if (!(mass < (1 - LOST) * simulation->forms[material].form.mass))
        return 0;
    return fmax(0, least - (simulation->settings.dim == 2 ? inertia[2][2] : lowest_eigenvalue(inertia)));
}

/* The motion of a body whose particles have been added up. */
static mpm_rigid_motion motion_of(const mpm_simulation *simulation, size_t material)
{
    const mpm_settings *settings = &simulation->settings;
    const mpm_rigid_body *body = &simulation->rigid[material];
    const mpm_rigid_form *form = &simulation->forms[material].form;
    const mpm_rigid_sums *sums = &body->sums;
    mpm_rigid_motion motion = {.mass = body->end_group ? mpm_sum_value(&sums->mass) : 0};
    const double M = motion.mass, h = settings->dx;
    double c[3], P[3], L[3], spin[3], moved[3], I[3][3], inverse[3][3], back[3][3], own[3][3];
    if (!(M > 0))
        return motion;
    memcpy(motion.rotation, body->rotation, sizeof motion.rotation);
    for (int a = 0; a < 3; a++) {
        P[a] = mpm_sum_value(&sums->momentum[a]);
        c[a] = mpm_sum_value(&sums->mass_moment[a]) / M;
        spin[a] = mpm_sum_value(&sums->spin[a]) / M;
        motion.rest[a] = mpm_sum_value(&sums->rest_moment[a]) / M;
        motion.velocity[a] = P[a] / M;
    }
    for (int a = 0; a < settings->dim; a++)
        motion.centre[a] =
            settings->lower[a] + h * (body->block[a] * mpm_block_side(settings->dim) + body->place[a]) + c[a];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            back[a][b] = motion.rotation[b][a];
            I[a][b] = M * c[a] * c[b] - mpm_sum_value(&sums->second_moment[a][b]);
            own[a][b] = form->mass > 0 ? M / form->mass * form->own[a][b] : a == b ? 2 * SQUARE * h * h * M : 0;
        }
    const double trace = I[0][0] + I[1][1] + I[2][2];
    for (int a = 0; a < 3; a++)
        I[a][a] -= trace;
    mpm_rigid_motion_turn(motion.inertia, back, I);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            motion.inertia[a][b] += own[a][b];
    const double raised = raise_inertia(simulation, material, motion.inertia, M);
    for (int a = 0; a < 3; a++) {
        motion.inertia[a][a] += raised;
        own[a][a] += raised;
    }
    mpm_rigid_motion_turn(I, motion.rotation, own);
    mpm_cross3(moved, c, P);
    for (int a = 0; a < 3; a++)
        L[a] = mpm_sum_value(&sums->angular_momentum[a]) - moved[a] + mpm_dot3(I[a], spin);
    mpm_rigid_motion_turn(I, motion.rotation, motion.inertia);
    mpm_body_invert(inverse, I, settings->dim);
    mpm_multiply3(motion.spin, inverse, L);
    return motion;
}

void mpm_rigid_motion_extent(const mpm_rigid_form *form, mpm_rigid_body *body)
{
    const mpm_rigid_motion *motion = &body->motion;
    const double w2 = mpm_dot3(motion->spin, motion->spin);
    body->speed = 0;
    for (int a = 0; a < 3; a++) {
        body->lowest[a] = form->count ? INFINITY : motion->centre[a] - body->reach;
        body->highest[a] = form->count ? -INFINITY : motion->centre[a] + body->reach;
        if (!form->count)
            body->speed = fmax(body->speed, fabs(motion->velocity[a]) + sqrt(w2) * body->reach);
    }
    for (size_t i = 0; i < form->count; i++) {
        const mpm_rigid_point *point = &form->points[i];
        const double X[3] = {point->at[0] - motion->rest[0], point->at[1] - motion->rest[1],
                             point->at[2] - motion->rest[2]};
        double arm[3], v[3] = {0};
        mpm_multiply3(arm, motion->rotation, X);
        if (w2 > 0)
            mpm_cross3(v, motion->spin, arm);
        for (int a = 0; a < 3; a++) {
            const double rim = point->radius > 0 ? point->radius * sqrt(w2 - motion->spin[a] * motion->spin[a]) : 0;
            const double low = motion->centre[a] + arm[a] - point->radius, high = low + 2 * point->radius;
            const double speed = fabs(motion->velocity[a] + v[a]) + rim;
            body->lowest[a] = low < body->lowest[a] ? low : body->lowest[a];
            body->highest[a] = high > body->highest[a] ? high : body->highest[a];
            body->speed = speed > body->speed ? speed : body->speed;
        }
    }
}

void mpm_rigid_motion_keep_forces(const mpm_simulation *simulation, const struct rigid_form *form, double (*to)[3],
                        double (*from)[3])
{
    const bool single = simulation->settings.real_size == sizeof(float);
    for (size_t i = 0; i < form->form.count; i++)
        for (int a = 0; form->kept[i] && a < 3; a++)
            to[i][a] = single ? (double)(float)from[i][a] : from[i][a];
}

/* Notes which points have a particle that keeps their force. */
static void take_forces(mpm_simulation *simulation, struct rigid_form *form)
{
    mpm_device *device = &simulation->backend->device;
    if (!form->form.count)
        return;
    double(*force)[3] = mpm_device_map(device, form->force, MPM_WRITE);
    memset(form->last, 0, form->form.count * sizeof *form->last);
    memset(form->coming, 0, form->form.count * sizeof *form->coming);
    for (size_t i = 0; i < form->form.count; i++)
        form->kept[i] = !isnan(force[i][0]);
    mpm_rigid_motion_keep_forces(simulation, form, form->last, force);
    mpm_device_unmap(device, form->force);
}

/* Is a motion from a file that of the particles? They round it. */
static bool is_same(const mpm_simulation *simulation, const mpm_rigid_motion *one, const mpm_rigid_motion *found)
{
    double moved[3] = {one->centre[0], one->centre[1], one->centre[2]}, sum = 0;
    mpm_touch_nearest(&simulation->boundary, found->centre, moved);
    for (size_t k = 0; k < sizeof *one / sizeof sum; k++)
        sum += ((const double *)(const void *)one)[k];
    for (int a = 0; a < 3; a++)
        if (!(fabs(moved[a] - found->centre[a]) <= 1e-3 * simulation->settings.dx))
            return false;
    return isfinite(sum) && fabs(one->mass - found->mass) <= LOST * found->mass;
}

/* How far the particles of a body are from its centre of mass at most: at corners of the box around them. */
static double reach_of(const mpm_rigid_sums *sums)
{
    double r2 = 0;
    for (int a = 0; a < 3; a++) {
        const double c = mpm_sum_value(&sums->mass_moment[a]) / mpm_sum_value(&sums->mass);
        const double r = fmax(sums->highest[a] - c, c - sums->lowest[a]);
        r2 += r * r;
    }
    return sqrt(r2);
}

void mpm_rigid_motion_note(mpm_simulation *simulation)
{
    if (!simulation->has_rigid || simulation->bodies_shown)
        return;
    mpm_rigid_motion_find(simulation);
    mpm_rigid_motion_sum(simulation, 0);
    for (size_t material = 0; material < simulation->material_count; material++) {
        struct rigid_form *form = &simulation->forms[material];
        form->motion = simulation->rigid[material].motion;
        form->shown = motion_of(simulation, material);
    }
    simulation->bodies_shown = true;
}

void mpm_rigid_motion_find(mpm_simulation *simulation)
{
    if (!simulation->bodies_due)
        return;
    mpm_rigid_motion_sum(simulation, 0);
    for (size_t material = 0; material < simulation->material_count; material++) {
        mpm_rigid_body *body = &simulation->rigid[material];
        struct rigid_form *form = &simulation->forms[material];
        const mpm_rigid_motion found = motion_of(simulation, material);
        if (simulation->bodies_shown && !memcmp(&found, &form->shown, sizeof found))
            body->motion = form->motion;
        else if (!simulation->bodies_restored || !is_same(simulation, &body->motion, &found))
            body->motion = found;
        if (!(found.mass > 0))
            continue;
        body->reach = reach_of(&body->sums);
        take_forces(simulation, form);
        mpm_rigid_motion_extent(&form->form, body);
    }
    simulation->bodies_due = simulation->bodies_restored = simulation->bodies_moved = false;
}

mpm_measure mpm_rigid_motion_show(mpm_simulation *simulation, bool ends_step)
{
    mpm_device *device = &simulation->backend->device;
    for (size_t material = 0; material < simulation->material_count; material++) {
        const struct rigid_form *form = &simulation->forms[material];
        if (!form->form.count)
            continue;
        memcpy(mpm_device_map(device, form->force, MPM_WRITE), form->last, form->form.count * sizeof *form->last);
        mpm_device_unmap(device, form->force);
    }
    simulation->bodies_moved = false;
    return mpm_sweeps_rigid_place(simulation, ends_step);
}

void mpm_rigid_motion_place(mpm_simulation *simulation)
{
    if (simulation->bodies_moved)
        mpm_rigid_motion_show(simulation, false);
}

void mpm_rigid_motion_measure(const mpm_simulation *simulation, mpm_measure *measure)
{
    for (size_t material = 0; material < simulation->material_count; material++) {
        const mpm_rigid_body *body = &simulation->rigid[material];
        const mpm_rigid_motion *motion = &body->motion;
        double I[3][3], L[3], orbital[3];
        if (!(motion->mass > 0))
            continue;
        mpm_rigid_motion_turn(I, motion->rotation, motion->inertia);
        mpm_multiply3(L, I, motion->spin);
        mpm_cross3(orbital, motion->centre, motion->velocity);
        measure->mass += motion->mass;
        for (int a = 0; a < 3; a++) {
            measure->momentum[a] += motion->mass * motion->velocity[a];
            measure->mass_moment[a] += motion->mass * motion->centre[a];
            measure->angular_momentum[a] += motion->mass * orbital[a] + L[a];
        }
        measure->kinetic += 0.5 * (motion->mass * mpm_dot3(motion->velocity, motion->velocity) +
                                   mpm_dot3(L, motion->spin));
        measure->speed = fmax(measure->speed, body->speed);
        measure->gradient2 = fmax(measure->gradient2, 2 * mpm_dot3(motion->spin, motion->spin));
    }
}
