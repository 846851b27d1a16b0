/* SPDX-License-Identifier: MIT
 *
 * The explicit integrator. In the order of the textbook one step of size dt is
 *
 *     scatter  particles -> grid            (with the stress of dt)
 *     grid     momentum -> velocity, gravity, colliders, walls
 *     check    the step can still be refused: nothing of the particles has been written
 *     gather   grid -> particles, strain, position
 *     commit   clock, books, limits of the new state
 *
 * A run chains them as  scatter, (grid, check, gather + scatter of the next)*, grid, check, gather: the middle is one
 * fused sweep. It scatters with a dt that was planned before the state it reaches was measured. Where that state asks
 * for less, or particles have moved too far to be scattered from their bins, the scatter is done again.
 */
#include "integrate/state.h"

enum { MOST_RETRIES = 12 };
static const double POLL_INTERVAL = 0.05; /* [s] */

/* A run and the step that it is taking. */
struct run {
    const mpm_goal *goal;
    double next_poll;        /* [s] by the clock */
    double dt, time;         /* of the step [s]; when it ends */
    double travel;           /* how far particles move in it at most, in cells */
    mpm_block_report report; /* of its grid pass */
    mpm_measure measure;     /* of the state that it has reached */
    double next_dt;          /* planned for the next step [s] */
    bool last;               /* the run ends with it */
    bool scattered;          /* the next step has been scattered already */
};

/* Bins where that is due, and all else that may fail before a step begins. */
static mpm_status begin(mpm_simulation *simulation, struct run *run)
{
    mpm_status status = mpm_rebin_if_due(simulation);
    if (status)
        return status;
    run->dt = mpm_timestep_plan(simulation, simulation->time, run->goal->end);
    if (!(status = mpm_timestep_check(simulation, run->dt)))
        status = mpm_history_reserve(simulation);
    return status;
}

/* When the step ends, and how large the next one will be: planned from the last state that was measured. */
static void look_ahead(mpm_simulation *simulation, struct run *run)
{
    const mpm_goal *goal = run->goal;
    run->time = run->dt == goal->end - simulation->time ? goal->end : simulation->time + run->dt;
    run->last = simulation->steps + 1 == goal->last_step || run->time >= goal->end || run->time >= goal->pause;
    mpm_timestep_foresee(simulation);
    run->next_dt = mpm_timestep_plan(simulation, run->time, goal->end);
}

static void scatter(mpm_simulation *simulation, double dt)
{
    mpm_synchronize_particles(simulation);
    mpm_sweeps_p2g(simulation, dt);
    mpm_sweeps_body_force(simulation, dt);
}

/* While the step must be refused, it begins again with half its size (automatic dt). */
static mpm_status grid_and_check(mpm_simulation *simulation, struct run *run)
{
    simulation->grid_valid = false;
    for (int attempt = 0;; attempt++) {
        run->report = mpm_sweeps_grid(simulation, run->dt);
        const mpm_reason reason = mpm_refusal_find(simulation, &run->report, run->dt, &run->travel);
        if (reason == MPM_NO_REASON)
            break;
        if (simulation->settings.dt > 0 || attempt == MOST_RETRIES)
            return mpm_refusal_report(simulation, reason, &run->report, run->dt);
        simulation->health.refused++;
        mpm_timestep_halve(simulation, &run->dt);
        scatter(simulation, run->dt);
    }
    mpm_sweeps_filter(simulation, &run->report);
    return MPM_OK;
}

static void gather(mpm_simulation *simulation, struct run *run)
{
    run->scattered = !run->last && !simulation->binning_due;
    run->measure = run->scattered ? mpm_sweeps_g2p2g(simulation, run->dt, run->next_dt)
                                  : mpm_sweeps_g2p(simulation, run->dt);
    mpm_synchronize_defer(simulation, run->scattered);
}

static void keep_books(mpm_simulation *simulation, const struct run *run)
{
    const mpm_measure *measure = &run->measure;
    const mpm_settings *settings = &simulation->settings;
    /* Gravity has acted on the mass before the step. It is that after it, summed in the order of the bins that the step
     * has used, whereas the earlier sum may have been made anew in another order, after a look or from a file. */
    const bool lost = settings->on_leave == MPM_LEAVE_DELETE && measure->outside;
    const double mass = lost ? simulation->measure.mass : measure->mass;
    for (int a = 0; a < 3; a++) {
        const double weight = mass * settings->gravity[a];
        simulation->body_impulse[a] += run->dt * (weight + simulation->force[a]);
        simulation->impulse[a] += run->report.impulse[a];
    }
    simulation->measure = *measure;
    simulation->suspect = measure->outside || measure->out_of_range;
    simulation->frozen |= lost;
    simulation->health.left_domain += measure->outside;
    simulation->health.clipped += measure->clipped;
    simulation->health.clamped += settings->on_leave == MPM_LEAVE_CLAMP ? measure->outside : 0;
    mpm_sweeps_add_books(simulation, simulation->collider_books);
}

static mpm_status commit(mpm_simulation *simulation, struct run *run)
{
    simulation->began = simulation->time;
    simulation->dt = run->dt;
    simulation->time = run->time;
    simulation->steps++;
    simulation->approach = run->report.approach;
    simulation->grid_valid = true;
    mpm_rebin_note_motion(simulation, run->dt, &run->measure);
    keep_books(simulation, run);
    mpm_history_record(simulation);
    const mpm_status status = mpm_trouble_find(simulation);
    if (!status && (mpm_timestep_revise(simulation) || simulation->binning_due))
        run->scattered = false;
    return status;
}

static mpm_status take_step(mpm_simulation *simulation, struct run *run)
{
    mpm_status status = begin(simulation, run);
    if (status)
        return status;
    if (!run->scattered)
        scatter(simulation, run->dt);
    if ((status = grid_and_check(simulation, run)) || (status = mpm_rebin_mid_step(simulation, run->travel)))
        return status;
    look_ahead(simulation, run);
    gather(simulation, run);
    return commit(simulation, run);
}

static mpm_status poll_user(struct run *run)
{
    if (!run->goal->poll || mpm_clock_seconds() < run->next_poll)
        return MPM_OK;
    const int stop = run->goal->poll(run->goal->context);
    run->next_poll = mpm_clock_seconds() + POLL_INTERVAL;
    return stop ? MPM_INTERRUPTED : MPM_OK;
}

mpm_status mpm_step_advance(mpm_simulation *simulation, const mpm_goal *goal)
{
    struct run run = {.goal = goal, .next_poll = mpm_clock_seconds() + POLL_INTERVAL};
    mpm_timestep_revise(simulation);
    mpm_status status = take_step(simulation, &run);
    while (!status && !run.last && !(status = poll_user(&run)))
        status = take_step(simulation, &run);
    return status;
}
