/* SPDX-License-Identifier: MIT
 *
 * Refusal: may the step be taken that the grid pass has prepared? Nothing of the particles has been written yet. A step
 * is refused if node velocities are not finite, if a particle or a collider near material could move too far, or if the
 * strain increment could turn a particle inside out.
 */
#include "integrate/state.h"

#include <float.h>
#include <math.h>

/* The largest motion in one step that is accepted, in cells: a fixed step may use all that is safe, the automatic
 * one keeps a margin. */
static double motion_limit(const mpm_simulation *simulation)
{
    return simulation->settings.dt > 0 ? 1.0 : 0.5;
}

/* Could the strain increment of some particle turn it inside out? Velocities that differ little over the whole grid
 * cannot. Otherwise the particles are asked, of groups where they differ more. */
static bool may_invert(const mpm_simulation *simulation, const mpm_block_report *report, double dt)
{
    double range[3];
    for (int a = 0; a < 3; a++)
        range[a] = report->highest[a] - report->lowest[a];
    return mpm_kernels_may_invert(range, dt / simulation->settings.dx, simulation->settings.dim);
}

/* The collider that is fastest near material; NULL if none is near. */
static const mpm_collider *fastest_collider(const mpm_simulation *simulation, double *speed)
{
    const size_t count = simulation->boundary.count;
    const mpm_collider *fastest = NULL;
    *speed = 0;
    for (size_t i = 0; i < simulation->grid.block_count * count; i++) {
        const mpm_collider_book *book = &simulation->reports.block_books[i];
        if (book->near && (!fastest || book->speed > *speed)) {
            *speed = book->speed;
            fastest = &simulation->boundary.colliders[i % count];
        }
    }
    return fastest;
}

/* What must not exceed the motion limit: a collider that is faster could jump over material. The automatic step
 * counts what comes towards it too. */
static double fastest_motion(const mpm_simulation *simulation, const mpm_block_report *report)
{
    double speed = report->approach;
    if (simulation->settings.dt > 0)
        fastest_collider(simulation, &speed);
    return speed;
}

/* No particle moves faster than this in the step [m/s]. Nodes bound it, unless particles add a velocity of their own,
 * a (v_p - S v^n) at most. */
static double travel_bound(const mpm_simulation *simulation, const mpm_block_report *report)
{
    const mpm_scheme *scheme = &simulation->settings.scheme;
    const double apart = scheme->flip_ratio * (simulation->measure.speed + report->speed_before);
    return mpm_scheme_moves_apart(scheme) ? report->speed + apart : report->speed;
}

/* Is that bound so loose that particles had better be asked? With the gradient of the B-spline, nodes at a surface
 * whose weights all but vanish have no part in the motion, but any velocity. */
static bool is_loose(const mpm_simulation *simulation, double cells)
{
    const mpm_scheme *scheme = &simulation->settings.scheme;
    return cells > 0.05 && (mpm_scheme_moves_apart(scheme) || scheme->gradient == MPM_GRADIENT_BSPLINE);
}

/* Velocities beyond this would leave particles with gradients that are not finite [m/s]. */
static double largest_speed(const mpm_simulation *simulation)
{
    const double largest = simulation->settings.real_size == sizeof(float) ? (double)FLT_MAX : DBL_MAX;
    return largest / 64 * fmin(1, simulation->settings.dx);
}

/* What speaks against the step. `travel` is how far particles would move at most, in cells. Where particles had to be
 * asked, they tell how fast a collider and material come towards each other, too. */
mpm_reason mpm_refusal_find(mpm_simulation *simulation, mpm_block_report *report, double dt, double *travel)
{
    const double largest = largest_speed(simulation);
    if (!(report->speed <= largest && report->speed_before <= largest))
        return MPM_GRID_NOT_FINITE;
    const double per_speed = dt / simulation->settings.dx;
    double least_det = 1;
    *travel = travel_bound(simulation, report) * per_speed;
    const bool loose = is_loose(simulation, *travel);
    if (loose || may_invert(simulation, report, dt)) {
        const mpm_measure found = mpm_sweeps_dry_run(simulation, dt, loose ? NULL : simulation->reports.blocks);
        least_det = found.least_det;
        if (loose) {
            double collider;
            fastest_collider(simulation, &collider);
            *travel = found.advection_speed * per_speed;
            report->approach = fmin(report->approach, found.advection_speed + collider);
        }
    }
    if (!(*travel <= motion_limit(simulation)))
        return MPM_MOVES_TOO_FAR;
    if (fastest_motion(simulation, report) * per_speed > motion_limit(simulation))
        return MPM_COLLIDER_TOO_FAST;
    return least_det > 0.1 ? MPM_NO_REASON : MPM_WOULD_INVERT;
}

mpm_status mpm_refusal_report(mpm_simulation *simulation, mpm_reason reason, const mpm_block_report *report, double dt)
{
    const mpm_status status = mpm_trouble_note(&simulation->run.trouble, MPM_UNSTABLE, reason, dt);
    mpm_trouble *trouble = &simulation->run.trouble;
    if (reason == MPM_COLLIDER_TOO_FAST) {
        trouble->name = fastest_collider(simulation, &trouble->value[0])->name;
        if (simulation->settings.dt > 0)
            trouble->value[1] = motion_limit(simulation) * simulation->settings.dx / fastest_motion(simulation, report);
    }
    return status;
}
