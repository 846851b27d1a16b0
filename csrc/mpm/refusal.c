/* SPDX-License-Identifier: MIT
 *
 * Refusal: may the step be taken that the grid pass has prepared? The particles have not been written yet. A step is
 * refused if node velocities are not finite, if a particle or a collider near material could move too far, or if the
 * strain increment could turn a particle inside out.
 */
#include "mpm/refusal.h"

#include <float.h>
#include <math.h>

#include "mpm/implicit.h"
#include "mpm/state.h"
#include "mpm/strays.h"
#include "mpm/sweeps.h"

/* The largest accepted motion in one step, in cells. A fixed step may use the full safe range; an automatic step keeps
 * a margin. */
double mpm_refusal_travel(const mpm_simulation *simulation)
{
    return simulation->settings.dt > 0 ? 1.0 : 0.5;
}

/* The smallest accepted determinant of a strain increment. None turns a particle inside out. An automatic explicit step
 * compresses none by more than a fifth, nor so much that a material becomes about five times as stiff (e^1.6): its
 * bound is that of the state before it, and where a law stiffens within the step, the stress of that state acts for too
 * long, so that energy appears. The Cayley transform's two determinants are each half of the step. With the linear
 * kernel, nodes of vanishing weight may have any velocity gradient, and no step would be short enough. */
static double allowed_det(const mpm_simulation *simulation)
{
    const mpm_scheme *scheme = &simulation->settings.scheme;
    if (simulation->settings.dt > 0 || simulation->integrator->solve || scheme->degree == MPM_LINEAR)
        return 0.1;
    double power = 1;
    for (size_t m = 0; m < simulation->material_count; m++)
        power = fmax(mpm_material_stiffening(&simulation->materials[m]), power);
    const double det = fmax(0.8, 1 - 1.6 / power);
    return scheme->f_update == MPM_F_CAYLEY ? (1 + det) / 2 : det;
}

/* Could an increment have a smaller determinant? Not if velocities differ little over the whole grid. Otherwise a dry
 * run checks the particles of groups with larger differences. */
static bool may_strain(const mpm_simulation *simulation, const mpm_block_report *report, double dt)
{
    double range[3] = {0};
    for (int a = 0; a < simulation->settings.dim; a++)
        range[a] = report->highest[a] - report->lowest[a];
    return !(mpm_kernels_least_det(range, range, dt / simulation->settings.dx) > allowed_det(simulation));
}

/* The speed that the motion limit bounds. It includes colliders, because a faster one could jump over material; for an
 * automatic step it also includes the speed at which material and collider approach each other. */
static double fastest_motion(const mpm_simulation *simulation, const mpm_block_report *report)
{
    double speed = report->approach;
    if (simulation->settings.dt > 0)
        mpm_sweeps_fastest(simulation, &speed);
    return speed;
}

/* A bound of the speed of particles in the step [m/s]: that of the nodes, plus the particles' own velocity, which is at
 * most a (v_p - S v^n). */
static double travel_bound(const mpm_simulation *simulation, const mpm_block_report *report)
{
    const mpm_scheme *scheme = &simulation->settings.scheme;
    const double apart = scheme->flip_ratio * (simulation->measure.speed + report->speed_before);
    return mpm_scheme_moves_apart(scheme) ? report->speed + apart : report->speed;
}

/* Is the bound so loose that a dry run is worthwhile? With the gradient of the B-spline, surface nodes of tiny weight
 * can have any velocity but hardly move particles. */
static bool is_loose(const mpm_simulation *simulation, double cells)
{
    const mpm_scheme *scheme = &simulation->settings.scheme;
    if (simulation->integrator->solve) /* light nodes move as the solve lets them */
        return true;
    return cells > 0.05 && (mpm_scheme_moves_apart(scheme) || scheme->gradient == MPM_GRADIENT_BSPLINE);
}

/* Faster node velocities would overflow velocity gradients [m/s]. */
static double largest_speed(const mpm_simulation *simulation)
{
    const double largest = simulation->settings.real_size == sizeof(float) ? (double)FLT_MAX : DBL_MAX;
    return largest / 64 * fmin(1, simulation->settings.dx);
}

/* Returns the reason to refuse the step. `travel`: how far particles would move at most, in cells. A dry run also finds
 * how fast a collider and material approach each other. */
mpm_reason mpm_refusal_find(mpm_simulation *simulation, mpm_block_report *report, double dt, double *travel)
{
    const double largest = largest_speed(simulation);
    if (!(report->speed <= largest && report->speed_before <= largest))
        return MPM_GRID_NOT_FINITE;
    const double per_speed = dt / simulation->settings.dx, enough = allowed_det(simulation);
    double least_det = 1;
    *travel = travel_bound(simulation, report) * per_speed;
    const bool loose = is_loose(simulation, *travel);
    if (loose || may_strain(simulation, report, dt)) {
        const mpm_measure found =
            mpm_sweeps_dry_run(simulation, dt, loose ? NULL : simulation->reports.blocks, enough);
        least_det = found.least_det;
        if (loose) {
            double collider;
            mpm_sweeps_fastest(simulation, &collider);
            *travel = found.advection_speed * per_speed;
            report->approach = fmin(report->approach, found.advection_speed + collider);
        }
    }
    if (!(*travel <= mpm_refusal_travel(simulation)))
        return MPM_MOVES_TOO_FAR;
    if (fastest_motion(simulation, report) * per_speed > mpm_refusal_travel(simulation))
        return MPM_COLLIDER_TOO_FAST;
    return least_det > enough ? MPM_NO_REASON : MPM_WOULD_INVERT;
}

mpm_status mpm_refusal_report(mpm_simulation *simulation, mpm_reason reason, const mpm_block_report *report, double dt)
{
    const mpm_status status = mpm_error_note(
        &simulation->run.error, reason == MPM_NOT_CONVERGED ? MPM_NO_CONVERGENCE : MPM_UNSTABLE, reason, dt);
    mpm_error *error = &simulation->run.error;
    if (reason == MPM_NOT_CONVERGED)
        mpm_implicit_report(simulation, error);
    if (reason == MPM_COLLIDER_TOO_FAST) {
        error->name = mpm_sweeps_fastest(simulation, &error->value[0])->name;
        if (simulation->settings.dt > 0)
            error->value[1] =
                mpm_refusal_travel(simulation) * simulation->settings.dx / fastest_motion(simulation, report);
    }
    if (reason == MPM_GRID_NOT_FINITE && mpm_strays_of_law(simulation))
        return MPM_OUT_OF_MEMORY;
    return status;
}
