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
 * The frame (run/march.c) begins and plans a step, attempts it (scatter, grid, check) and commits it (gather, commit).
 * A run chains steps as  scatter, (grid, check, gather + scatter of the next)*, grid, check, gather. One fused sweep
 * gathers and scatters. Its dt was planned before the new state was measured. If that state needs a smaller dt, or if
 * particles have moved too far from their bins, the scatter is repeated.
 */
#include "mpm/step.h"

#include "mpm/halo.h"
#include "mpm/heat.h"
#include "mpm/loading.h"
#include "mpm/rebin.h"
#include "mpm/refusal.h"
#include "mpm/replicas.h"
#include "mpm/rigid.h"
#include "mpm/rigid_motion.h"
#include "mpm/rigid_pose.h"
#include "mpm/state.h"
#include "mpm/strays.h"
#include "mpm/sweeps.h"
#include "mpm/synchronize.h"
#include "mpm/timestep.h"
#include "mpm/totals.h"
#include "mpm/volumes.h"
#include "run/march.h"

/* Bins if that is due, and does everything else that may fail before a step begins. */
mpm_status mpm_step_begin(void *self)
{
    const mpm_simulation *simulation = self;
    mpm_status status = mpm_rebin_if_due(self);
    if (status)
        return status;
    if (!(status = mpm_sweeps_ready(self)))
        status = mpm_implicit_reserve(self);
    if (!status)
        status = mpm_loading_reserve(self);
    /* All processes see in the same way that nothing else may fail. */
    const bool may_fail = simulation->backend->ready || simulation->integrator->solve || simulation->run.forcing.first;
    return may_fail ? mpm_halo_agree(self, status) : status;
}

void mpm_step_plan(void *self, mpm_step *step)
{
    mpm_simulation *simulation = self;
    mpm_timestep_revise(simulation);
    step->dt = step->natural = simulation->run.natural_dt;
}

/* The step size for which P2G adds stresses. */
static double stress_dt(const mpm_simulation *simulation, double dt)
{
    return simulation->integrator->solve ? 0 : dt;
}

static void scatter(mpm_simulation *simulation, double dt)
{
    mpm_synchronize_particles(simulation);
    mpm_sweeps_faces(simulation);
    mpm_loading_mark(simulation);
    mpm_sweeps_p2g(simulation, stress_dt(simulation, dt));
    mpm_sweeps_body_force(simulation, mpm_implicit_forces_dt(simulation, dt));
}

/* Finds the velocities of the nodes. */
static mpm_status grid(mpm_simulation *simulation, double dt)
{
    if (simulation->integrator->solve)
        return simulation->integrator->solve(simulation, dt, &simulation->stage.report);
    mpm_sweeps_moments(simulation);
    simulation->stage.report = mpm_sweeps_grid(simulation, dt);
    return MPM_OK;
}

/* May the step be taken? If so, finds what G2P needs beside the velocities of the nodes, for XPIC and rigid bodies. */
static mpm_status check(mpm_simulation *simulation, double dt, mpm_reason *reason)
{
    struct stage *stage = &simulation->stage;
    const mpm_status status = mpm_rigid_meet(simulation, dt, reason);
    if (status || *reason != MPM_NO_REASON)
        return status;
    *reason = mpm_refusal_find(simulation, &stage->report, dt, &stage->travel);
    if (*reason != MPM_NO_REASON)
        return MPM_OK;
    mpm_sweeps_filter(simulation, &stage->report);
    *reason = mpm_rigid_move(simulation, dt, &stage->travel);
    return MPM_OK;
}

/* How full nodes are, and what may still fail: conduction, and a binning before the gather, which keeps no copies. */
static mpm_status prepare_gather(mpm_simulation *simulation, const mpm_step *step, mpm_reason *reason)
{
    mpm_volumes_fill(simulation);
    mpm_status status = mpm_heat_conduct(simulation, step, reason);
    if (status || *reason != MPM_NO_REASON)
        return status;
    status = mpm_rebin_mid_step(simulation, simulation->stage.travel);
    if (status)
        mpm_heat_undo(simulation);
    return status;
}

/* What launches and other processes say of the step. */
static mpm_status launched(mpm_simulation *simulation)
{
    const mpm_status status = mpm_sweeps_status(simulation);
    return status ? status : mpm_halo_status(simulation);
}

mpm_status mpm_step_attempt(void *self, const mpm_step *step, mpm_reason *reason)
{
    mpm_simulation *simulation = self;
    if (!simulation->stage.scattered)
        scatter(simulation, step->dt);
    mpm_heat_push(simulation, step->dt);
    simulation->stage.scattered = false;
    simulation->grid_valid = false;
    mpm_status status = grid(simulation, step->dt);
    if (status && status != MPM_NO_CONVERGENCE)
        return status;
    if (simulation->run.forcing.holds)
        mpm_sweeps_hold_impulses(simulation);
    *reason = MPM_NOT_CONVERGED;
    if (!status && (status = check(simulation, step->dt, reason)))
        return status;
    status = *reason == MPM_NO_REASON ? prepare_gather(simulation, step, reason) : MPM_OK;
    return status ? status : launched(simulation);
}

bool mpm_step_may_retry(const void *self, const mpm_step *step, mpm_reason reason)
{
    (void)self, (void)step;
    return reason != MPM_BODY_TOO_LONG && reason != MPM_TEMPERATURE_LEFT_RANGE && reason != MPM_BODY_NO_POSE;
}

mpm_status mpm_step_report(void *self, mpm_reason reason, const mpm_step *step)
{
    mpm_simulation *simulation = self;
    mpm_rigid_motion_place(simulation);
    mpm_replicas_share(simulation);
    if (reason == MPM_DT_ABOVE_BOUND)
        return mpm_march_note_bound(&simulation->run, step->dt, mpm_timestep_limit(simulation));
    if (reason == MPM_TEMPERATURE_LEFT_RANGE) /* has been noted */
        return MPM_UNSTABLE;
    const mpm_status status = mpm_refusal_report(simulation, reason, &simulation->stage.report, step->dt);
    if (reason == MPM_BODY_TOO_LONG)
        simulation->run.error.kind = mpm_rigid_too_long(simulation);
    if (reason == MPM_BODY_NO_POSE)
        mpm_rigid_pose_report(simulation, &simulation->run.error);
    return status;
}

/* Plans the next step from the last measured state, because a fused sweep scatters for it. */
static mpm_measure gather(mpm_simulation *simulation, const mpm_step *step)
{
    simulation->stage.scattered = !step->last && !simulation->binning_due && !simulation->settings.scheme.faces;
    mpm_timestep_foresee(simulation);
    const double next_dt = mpm_timestep_next(simulation, step);
    mpm_sweeps_f_bar(simulation, step->dt);
    if (simulation->stage.scattered)
        mpm_sweeps_g2p2g(simulation, step->dt, stress_dt(simulation, next_dt));
    else
        mpm_sweeps_g2p(simulation, step->dt);
    mpm_synchronize_defer(simulation, simulation->stage.scattered);
    if (simulation->stage.scattered)
        mpm_sweeps_foresee(simulation, step->time, next_dt, step->dt);
    mpm_measure measure = mpm_sweeps_measured(simulation);
    mpm_rigid_advance(simulation, step->dt, &measure);
    return measure;
}

static void keep_pairs(mpm_simulation *simulation)
{
    simulation->books.friction_work += simulation->stage.friction_work;
    simulation->adhesion_work += simulation->stage.adhesion_work;
    for (size_t k = 0; k < simulation->layers.count; k++)
        for (int a = 0; a < 3; a++)
            simulation->layers.list[k].impulse[a] += simulation->layers.list[k].coming[a];
}

static void keep_books(mpm_simulation *simulation, double dt, const mpm_measure *measure)
{
    const mpm_settings *settings = &simulation->settings;
    /* Gravity has acted on the mass before the step. The new sum of the mass is the same, and its order is that of the
     * step's bins; the old sum may come from another order, after a query or from a file. */
    const double mass = measure->frozen ? simulation->measure.mass : measure->mass;
    double loads[3];
    mpm_loads_enter(&simulation->run.loads, &simulation->run.forcing, settings->dim, dt, loads);
    for (int a = 0; a < 3; a++) {
        const double weight = mass * settings->gravity[a];
        simulation->books.body_impulse[a] += dt * (weight + (simulation->force[a] - loads[a]));
        simulation->books.wall_impulse[a] += simulation->stage.report.impulse[a];
        simulation->damping_impulse[a] += simulation->damps ? simulation->stage.report.drag[a] : 0;
    }
    simulation->measure = *measure;
    simulation->run.suspect = measure->outside || measure->out_of_range;
    simulation->frozen |= measure->frozen != 0;
    simulation->run.health[MPM_HEALTH_LEFT_DOMAIN] += measure->outside;
    simulation->run.health[MPM_HEALTH_CLIPPED] += measure->clipped;
    simulation->run.health[MPM_HEALTH_CLAMPED] += measure->clamped;
    if (simulation->has_rigid)
        mpm_rigid_keep_books(simulation, dt);
    mpm_sweeps_add_books(simulation, simulation->boundary.books);
    keep_pairs(simulation);
}

mpm_status mpm_step_commit(void *self, const mpm_step *step)
{
    mpm_simulation *simulation = self;
    mpm_loading_measure(simulation, step->dt);
    mpm_heat_commit(simulation);
    const mpm_measure measure = gather(simulation, step);
    mpm_march_tick(&simulation->run, step);
    simulation->approach = simulation->stage.report.approach;
    simulation->grid_valid = true;
    mpm_rebin_note_motion(simulation, step->dt, &measure);
    keep_books(simulation, step->dt, &measure);
    mpm_totals_record(simulation);
    if (simulation->run.suspect)
        mpm_rigid_motion_place(simulation);
    const mpm_status status = mpm_strays_find(simulation);
    if (!status && (mpm_timestep_revise(simulation) || simulation->binning_due))
        simulation->stage.scattered = false;
    return status ? status : launched(simulation);
}
