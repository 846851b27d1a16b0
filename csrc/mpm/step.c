/* SPDX-License-Identifier: MIT
 *
 * A step. In textbook order, one step of size dt is
 *
 *     scatter  particles -> grid            (with the stress of dt; without stress in an implicit step)
 *     grid     momentum -> velocity, gravity, colliders, walls; an implicit step solves for the velocity
 *     check    the step can still be refused: no particle has been written
 *     gather   grid -> particles, strain, position
 *     commit   clock, books, limits of the new state
 *
 * A run chains steps as  scatter, (grid, check, gather + scatter of the next)*, grid, check, gather. One fused sweep
 * gathers and scatters. Its dt was planned before the new state was measured. If that state needs a smaller dt, or if
 * particles have moved too far from their bins, the scatter is repeated.
 */
#include "mpm/step.h"

#include "mpm/rebin.h"
#include "mpm/refusal.h"
#include "mpm/rigid.h"
#include "mpm/state.h"
#include "mpm/strays.h"
#include "mpm/sweeps.h"
#include "mpm/synchronize.h"
#include "mpm/timestep.h"
#include "mpm/totals.h"

enum { MOST_RETRIES = 12 };

/* The step that a run is taking. */
struct step {
    const mpm_goal *goal;
    double dt, time;         /* of the step [s]; when it ends */
    double travel;           /* how far particles move at most, in cells */
    mpm_block_report report; /* of the grid pass */
    mpm_measure measure;     /* of the new state */
    double next_dt;          /* planned for the next step [s] */
    bool last;               /* the run ends with it */
    bool scattered;          /* the next step has been scattered already */
};

/* Bins if that is due, and does everything else that may fail before a step begins. What needs no bins comes first:
 * a new order of the particles is another state. */
static mpm_status begin(mpm_simulation *simulation, struct step *step)
{
    mpm_status status = mpm_history_reserve(&simulation->run.history, &simulation->run.allocator);
    if (status || (status = mpm_rebin_if_due(simulation)))
        return status;
    step->dt = mpm_timestep_plan(simulation, simulation->run.time, step->goal->end);
    status = mpm_timestep_check(simulation, step->dt);
    return status ? status : mpm_implicit_reserve(simulation);
}

/* Finds when the step ends, and plans the next dt from the last measured state. */
static void look_ahead(mpm_simulation *simulation, struct step *step)
{
    const mpm_goal *goal = step->goal;
    step->time = mpm_run_end_of_step(&simulation->run, goal, step->dt);
    step->last = mpm_run_is_last(&simulation->run, goal, step->time);
    mpm_timestep_foresee(simulation);
    step->next_dt = mpm_timestep_plan(simulation, step->time, goal->end);
}

/* The step size for which P2G adds stresses. */
static double stress_dt(const mpm_simulation *simulation, double dt)
{
    return simulation->integrator->solve ? 0 : dt;
}

static void scatter(mpm_simulation *simulation, double dt)
{
    mpm_synchronize_particles(simulation);
    mpm_sweeps_p2g(simulation, stress_dt(simulation, dt));
    mpm_sweeps_body_force(simulation, mpm_implicit_forces_dt(simulation, dt));
}

/* Finds the velocities of the nodes. */
static mpm_status grid(mpm_simulation *simulation, struct step *step)
{
    if (simulation->integrator->solve)
        return simulation->integrator->solve(simulation, step->dt, &step->report);
    step->report = mpm_sweeps_grid(simulation, step->dt);
    return MPM_OK;
}

/* May the step be taken? If so, finds what G2P needs beside the velocities of the nodes, for XPIC and rigid bodies. */
static mpm_reason check(mpm_simulation *simulation, struct step *step)
{
    const mpm_reason reason = mpm_refusal_find(simulation, &step->report, step->dt, &step->travel);
    if (reason != MPM_NO_REASON)
        return reason;
    mpm_sweeps_filter(simulation, &step->report);
    return mpm_rigid_find(simulation, step->dt, step->report.impulse, &step->travel);
}

static mpm_status report(mpm_simulation *simulation, mpm_reason reason, const struct step *step)
{
    const mpm_status status = mpm_refusal_report(simulation, reason, &step->report, step->dt);
    if (reason == MPM_BODY_TOO_LONG)
        simulation->run.trouble.kind = mpm_rigid_too_long(simulation);
    return status;
}

/* A refused step begins again with half its size, as often as needed (automatic dt). */
static mpm_status grid_and_check(mpm_simulation *simulation, struct step *step)
{
    simulation->grid_valid = false;
    for (int attempt = 0;; attempt++) {
        const mpm_status status = grid(simulation, step);
        if (status && status != MPM_NO_CONVERGENCE)
            return status;
        const mpm_reason reason = status ? MPM_NOT_CONVERGED : check(simulation, step);
        if (reason == MPM_NO_REASON)
            return MPM_OK;
        if (reason == MPM_BODY_TOO_LONG || simulation->settings.dt > 0 || attempt == MOST_RETRIES)
            return report(simulation, reason, step);
        simulation->run.health[MPM_HEALTH_REFUSED]++;
        mpm_timestep_halve(simulation, &step->dt);
        scatter(simulation, step->dt);
    }
}

static void gather(mpm_simulation *simulation, struct step *step)
{
    step->scattered = !step->last && !simulation->binning_due;
    mpm_sweeps_f_bar(simulation, step->dt);
    step->measure = step->scattered ? mpm_sweeps_g2p2g(simulation, step->dt, stress_dt(simulation, step->next_dt))
                                    : mpm_sweeps_g2p(simulation, step->dt);
    mpm_synchronize_defer(simulation, step->scattered);
}

static void keep_books(mpm_simulation *simulation, const struct step *step)
{
    const mpm_measure *measure = &step->measure;
    const mpm_settings *settings = &simulation->settings;
    /* Gravity has acted on the mass before the step. The new sum of the mass is the same, and its order is that of the
     * step's bins; the old sum may come from another order, after a query or from a file. */
    const double mass = measure->frozen ? simulation->measure.mass : measure->mass;
    for (int a = 0; a < 3; a++) {
        const double weight = mass * settings->gravity[a];
        simulation->books.body_impulse[a] += step->dt * (weight + simulation->force[a]);
        simulation->books.wall_impulse[a] += step->report.impulse[a];
    }
    simulation->measure = *measure;
    simulation->run.suspect = measure->outside || measure->out_of_range;
    simulation->frozen |= measure->frozen != 0;
    simulation->run.health[MPM_HEALTH_LEFT_DOMAIN] += measure->outside;
    simulation->run.health[MPM_HEALTH_CLIPPED] += measure->clipped;
    simulation->run.health[MPM_HEALTH_CLAMPED] += measure->clamped;
    mpm_sweeps_add_books(simulation, simulation->boundary.books);
}

static mpm_status commit(mpm_simulation *simulation, struct step *step)
{
    mpm_run_tick(&simulation->run, step->dt, step->time);
    simulation->approach = step->report.approach;
    simulation->grid_valid = true;
    mpm_rebin_note_motion(simulation, step->dt, &step->measure);
    keep_books(simulation, step);
    mpm_totals_record(simulation);
    const mpm_status status = mpm_strays_find(simulation);
    if (!status && (mpm_timestep_revise(simulation) || simulation->binning_due))
        step->scattered = false;
    return status;
}

static mpm_status take_step(mpm_simulation *simulation, struct step *step)
{
    mpm_status status = begin(simulation, step);
    if (status)
        return status;
    if (!step->scattered)
        scatter(simulation, step->dt);
    if ((status = grid_and_check(simulation, step)) || (status = mpm_rebin_mid_step(simulation, step->travel)))
        return status;
    look_ahead(simulation, step);
    gather(simulation, step);
    return commit(simulation, step);
}

mpm_status mpm_step_advance(mpm_simulation *simulation, const mpm_goal *goal)
{
    struct step step = {.goal = goal};
    mpm_timestep_revise(simulation);
    mpm_status status = take_step(simulation, &step);
    while (!status && !step.last && !(status = mpm_run_poll(&simulation->run, goal)))
        status = take_step(simulation, &step);
    return status;
}
