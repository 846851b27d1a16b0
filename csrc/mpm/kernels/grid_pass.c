/* SPDX-License-Identifier: MIT
 *
 * The grid pass, in stages:
 *
 *     sum         m, p = sum of the tasks' copies, in task order        grid_velocity.h
 *     velocity    v^n = p/m, in split schemes (scheme.h)
 *     forces      v = (p + dt f)/m + dt g
 *     dashpots    of absorbing walls and colliders                      grid_dashpots.h
 *     pairs       contact between the layers of a place                 grid_pairs.h
 *     colliders   all contacts of a node at once                        grid_contact.h
 *     walls
 *     holds       nodes of held regions                                 grid_holds.h
 *     damping     of what nothing has held                              grid_damping.h
 *     report      extremes of the velocities, impulses of mirrors       grid_report.h
 *
 * A block runs through all of them at once, unless it waits for others: for the sums of its images at mirrors and
 * periodic faces, or for the blocks of other layers at its place (mpm_place). These blocks stop after their sums, and a
 * second pass over the places, behind a barrier, goes on. It holds all velocities of a place before the first contact.
 */
#include "mpm/kernels/grid_contact.h"
#include "mpm/kernels/grid_damping.h"
#include "mpm/kernels/grid_dashpots.h"
#include "mpm/kernels/grid_filter.h"
#include "mpm/kernels/grid_holds.h"
#include "mpm/kernels/grid_pairs.h"
#include "mpm/kernels/grid_report.h"
#include "mpm/kernels/grid_velocity.h"

/* What follows the contacts. */
INLINE void end_block(const mpm_grid_pass *pass, ptrdiff_t b, double collider_speed)
{
    if (pass->grid->blocks[b].fold >= 0 && mpm_scheme_is_flip(&pass->scheme))
        add_flip_impulse(pass, b);
    report_velocities(pass, b, collider_speed);
    if (pass->scheme.transfer == MPM_XPIC)
        begin_filter(pass, b);
}

/* Before a solve, there is no contact. The report keeps the bound of the colliders' speed, -1 if none is near. */
INLINE void end_free_block(const mpm_grid_pass *pass, ptrdiff_t b)
{
    if (pass->grid->blocks[b].fold >= 0)
        unfold_free(pass, b);
    pass->reports[b].approach = begin_colliders(pass, b);
}

/* Contacts, held regions, damping. Returns the bound of the colliders' speed. */
INLINE double touch_block(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const bool damps = __builtin_expect(pass->damps, 0);
    real free[4 * MPM_BLOCK_NODES] __attribute__((aligned(64)));
    if (damps)
        copy_block(free, field_nodes(pass->grid, MPM_GRID_VELOCITY, b));
    const double collider_speed = apply_contacts(pass, b);
    if (__builtin_expect(pass->forcing != NULL, 0))
        hold_nodes(pass, b);
    if (damps)
        damp_block(pass, b, free);
    return collider_speed;
}

/* The stages behind the sums, for `count` blocks of one place; `place`: where several layers may touch, else NULL. */
INLINE void advance_place(const mpm_grid_pass *pass, ptrdiff_t first, const ptrdiff_t count, const mpm_place *place)
{
    for (ptrdiff_t b = first; b < first + count; b++) {
        find_velocities_before(pass, b);
        apply_forces(pass, b);
        if (__builtin_expect(pass->damps, 0))
            absorb_block(pass, b);
    }
    if (place && pass->layers)
        meet(pass, place);
    for (ptrdiff_t b = first; b < first + count; b++) {
        if (pass->stage == MPM_GRID_FREE)
            end_free_block(pass, b);
        else
            end_block(pass, b, touch_block(pass, b));
    }
}

static void step_block(const mpm_grid_pass *pass, ptrdiff_t b)
{
    pass->reports[b] = (mpm_block_report){0};
    for (size_t k = 0; k < pass->colliders.count; k++)
        pass->colliders.books[(size_t)b * pass->colliders.count + k] = (mpm_collider_book){0};
    sum_block(pass, b);
    if (__builtin_expect(pass->rubs, 0))
        memset(field_nodes(pass->grid, MPM_GRID_TEMPERATURE, b), 0, 4 * MPM_BLOCK_NODES * sizeof(real));
    if (!pass->grid->blocks[b].waits)
        advance_place(pass, b, 1, NULL);
    else if (pass->layers && pass->grid->shared_copy_count)
        sum_moments(pass->grid, b);
}

/* After a solve, the reports of the pass hold the impulse of the walls and the speed of the near colliders. */
static void finish_block(const mpm_grid_pass *pass, ptrdiff_t b)
{
    if (pass->grid->blocks[b].fold >= 0)
        add_mirror_impulse(pass, b);
    end_block(pass, b, pass->reports[b].approach);
}

void MPM_KERNEL(grid_pass_block)(const mpm_grid_pass *pass, ptrdiff_t b)
{
    if (pass->stage == MPM_GRID_FINISH)
        finish_block(pass, b);
    else if (pass->stage == MPM_GRID_FILTER)
        filter_block(pass, b);
    else
        step_block(pass, b);
}

void MPM_KERNEL(grid_pass_place)(const mpm_grid_pass *pass, ptrdiff_t k)
{
    const mpm_place place = pass->grid->places[k];
    if (pass->stage != MPM_GRID_FILTER) {
        advance_place(pass, place.first, place.count, place.count > 1 ? &place : NULL);
        return;
    }
    for (ptrdiff_t b = place.first; b < place.first + place.count; b++)
        if (pass->grid->blocks[b].fold >= 0)
            filter_fold(pass, b);
}
