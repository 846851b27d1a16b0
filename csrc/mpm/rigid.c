/* SPDX-License-Identifier: MIT
 *
 * Rigid bodies: adds up what the nodes bring to the particles of each, and finds its motion in a step.
 */
#include "mpm/rigid.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/exact.h"
#include "base/real.h"
#include "mpm/refusal.h"
#include "mpm/rigid_impacts.h"
#include "mpm/rigid_motion.h"
#include "mpm/rigid_walls.h"
#include "mpm/state.h"
#include "mpm/sweeps.h"

enum { SUMS = offsetof(mpm_rigid_sums, lowest) / sizeof(mpm_sum) };
_Static_assert(SUMS * sizeof(mpm_sum) == offsetof(mpm_rigid_sums, lowest), "the sums come first");

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
static mpm_rigid_sums sum_groups(const mpm_simulation *simulation, int32_t material, size_t first, size_t end)
{
    const mpm_rigid_sums *parts = simulation->look.rigid_sums;
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

/* How far the particles of a body move along an axis at most [m]. */
static double farthest(const mpm_rigid_body *motion, int dim)
{
    double most = 0;
    for (int corner = 0; corner < 1 << dim; corner++) {
        double at[3], moved[3];
        mpm_rigid_motion_corner(at, &motion->sums, corner);
        mpm_rigid_motion_displace(moved, motion, at);
        for (int a = 0; a < dim; a++)
            most = fabs(moved[a]) <= most ? most : fabs(moved[a]); /* NaN stays */
    }
    return most;
}

/* Is the body so long that the images of its particles across a periodic face could be mistaken? */
static bool is_too_long(const mpm_settings *settings, const mpm_rigid_sums *sums)
{
    for (int a = 0; a < settings->dim; a++) {
        const double period = settings->dx * (double)mpm_walls_period(settings->walls, a, settings->cells[a]);
        if (period > 0 && !(sums->highest[a] - sums->lowest[a] < 0.5 * period))
            return true;
    }
    return false;
}

int mpm_rigid_too_long(const mpm_simulation *simulation)
{
    size_t material = 0;
    while (material + 1 < simulation->material_count &&
           !is_too_long(&simulation->settings, &simulation->rigid[material].sums))
        material++;
    return (int)material;
}

mpm_status mpm_rigid_reserve(mpm_simulation *simulation)
{
    return mpm_memory_grow(&simulation->run.allocator, (void **)&simulation->rigid, &simulation->rigid_capacity,
                           simulation->material_count, simulation->material_count + 1, sizeof *simulation->rigid)
               ? MPM_OUT_OF_MEMORY : MPM_OK;
}

/* Takes the place of a particle for the origin of its body, so that sums of positions are not large beside the body. */
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
        for (size_t a = 0; a < dim; a++) {
            const size_t at = mpm_particles_index(slot, a, dim, lanes);
            body->place[a] = mpm_real_at(p->column[MPM_COLUMN_X], at, p->real_size);
        }
        return;
    }
}

static bool is_rigid(const mpm_simulation *simulation, size_t material)
{
    return mpm_material_law(&simulation->materials[material])->rigid;
}

static void begin_look(mpm_simulation *simulation)
{
    mpm_device *device = &simulation->backend->device;
    const struct reports *reports = &simulation->reports;
    simulation->look = (struct look){
        mpm_particles_map(&simulation->particles, 0, MPM_COLUMN_MASS + 1, MPM_READ),
        mpm_device_map(device, reports->rigid_sums, MPM_READ),
        mpm_device_map(device, reports->block_books, MPM_WRITE),
    };
}

static void end_look(mpm_simulation *simulation)
{
    mpm_device *device = &simulation->backend->device;
    const struct reports *reports = &simulation->reports;
    mpm_particles_unmap(&simulation->particles, 0, MPM_COLUMN_MASS + 1);
    mpm_device_unmap(device, reports->rigid_sums);
    mpm_device_unmap(device, reports->block_books);
    simulation->look = (struct look){0};
}

/* Finds the origin of every body. */
static void begin_bodies(mpm_simulation *simulation)
{
    const mpm_particles *particles = &simulation->particles;
    const mpm_particles mapped = mpm_particles_map(particles, 0, MPM_COLUMN_MASS + 1, MPM_READ);
    for (size_t material = 0; material < simulation->material_count; material++)
        simulation->rigid[material] = (mpm_rigid_body){0};
    for (size_t g = particles->group_count; g-- > 0;) /* the first of a body is the last here */
        if (is_rigid(simulation, (size_t)particles->groups[g].material))
            begin_at(&mapped, g, &simulation->rigid[particles->groups[g].material]);
    mpm_particles_unmap(particles, 0, MPM_COLUMN_MASS + 1);
}

/* Adds up the groups of every body. */
static void add_bodies(mpm_simulation *simulation)
{
    for (size_t material = 0; material < simulation->material_count; material++) {
        mpm_rigid_body *body = &simulation->rigid[material];
        if (body->end_group)
            body->sums = sum_groups(simulation, (int32_t)material, body->first_group, body->end_group);
    }
}

/* Finds the motion of every body from its sums. */
static mpm_reason move_bodies(mpm_simulation *simulation, double dt, double impulse[3], double *travel)
{
    const mpm_settings *settings = &simulation->settings;
    for (size_t material = 0; material < simulation->material_count; material++) {
        mpm_rigid_body *motion = &simulation->rigid[material];
        if (!(mpm_sum_value(&motion->sums.mass) > 0)) /* another law, or no particle is left */
            continue;
        if (is_too_long(settings, &motion->sums))
            return MPM_BODY_TOO_LONG;
        mpm_body body = mpm_rigid_motion_body(settings, &motion->sums);
        mpm_rigid_impacts_apply(simulation, material, motion, &body, dt, impulse);
        mpm_rigid_walls_move(simulation, material, &body, dt, impulse);
        const double moved = farthest(motion, settings->dim) / settings->dx;
        if (!(moved <= mpm_refusal_travel(simulation)))
            return MPM_MOVES_TOO_FAR;
        *travel = fmax(*travel, moved);
    }
    return MPM_NO_REASON;
}

mpm_reason mpm_rigid_find(mpm_simulation *simulation, double dt, double impulse[3], double *travel)
{
    if (!simulation->has_rigid)
        return MPM_NO_REASON;
    begin_bodies(simulation);
    mpm_sweeps_rigid_sums(simulation, dt);
    begin_look(simulation);
    add_bodies(simulation);
    const mpm_reason reason = move_bodies(simulation, dt, impulse, travel);
    end_look(simulation);
    return reason;
}
