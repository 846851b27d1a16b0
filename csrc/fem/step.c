/* SPDX-License-Identifier: MIT
 *
 * A step:
 *
 *     move     velocities and positions at its end, from the forces of the present state; contact
 *     forces   of the new state, with its energy and its bound of the time step
 *     check    the step can still be refused: the present state has not been touched
 *     commit   the arrays change places; clock, books, history
 *
 * So the forces of a state are there when a step begins from it, and a run that is taken up again finds the same.
 */
#include "fem/step.h"

#include <math.h>

#include "fem/implicit.h"
#include "fem/parameters.h"
#include "fem/state.h"
#include "fem/sweeps.h"
#include "fem/totals.h"
#include "fem/error.h"
#include "run/march.h"

enum { MOST_HALVINGS = 12 };

/* ---- before the steps ------------------------------------------------------------------------------------------- */

static mpm_status settle(mpm_fem *fem)
{
    if (fem->parameters.prepared && !fem->parameters.current)
        mpm_fem_sweeps_prepare(fem);
    mpm_fem_sweeps_forces(fem);
    if (fem->measure.out_of_range)
        return mpm_fem_error_elements(fem, fem->store.rows[MPM_FEM_X], MPM_FEM_OUT_OF_RANGE, fem->run.dt);
    if (!fem->measure.finite)
        return mpm_error_note(&fem->run.error, MPM_UNSTABLE, MPM_FEM_NOT_FINITE, fem->run.dt);
    if (fem->measure.beyond > mpm_fem_error_room(fem))
        return mpm_fem_error_outside(fem, fem->store.rows[MPM_FEM_X]);
    fem->settled = true;
    return MPM_OK;
}

/* Makes room for steps, and settles a state that is new. */
static mpm_status prepare(mpm_fem *fem)
{
    mpm_status status = mpm_fem_sweeps_reserve(fem);
    if (status || (status = mpm_fem_implicit_reserve(fem)))
        return status;
    return fem->settled ? MPM_OK : settle(fem);
}

mpm_status mpm_fem_step_refresh(void *self)
{
    mpm_fem *fem = self;
    for (int f = MPM_FEM_X; f <= MPM_FEM_MASS; f++)
        fem->settled &= !mpm_view_may_be_written(fem->store.views[f]);
    mpm_status status = mpm_store_read_in(&fem->store);
    if (!status)
        status = mpm_fem_parameters_missing(fem) && fem->mesh.elements ? MPM_BAD_ARGUMENT
                                                                       : mpm_fem_parameters_read_in(fem);
    if (!status && fem->mesh.elements)
        status = prepare(fem);
    fem->run.suspect = status == MPM_UNSTABLE || status == MPM_ESCAPED;
    return status;
}

/* ---- the step --------------------------------------------------------------------------------------------------- */

/* Without a mesh, only the clock advances. */
void mpm_fem_step_plan(void *self, mpm_step *step)
{
    const mpm_fem *fem = self;
    step->natural = fem->mesh.elements ? mpm_fem_totals_automatic_dt(fem) : 0;
    step->dt = fem->mesh.elements ? step->natural : fmin(1e-3, fem->settings.max_dt);
}

/* Why the nodes may not move like that. A fixed step may use the full range, an automatic one keeps a margin. */
static mpm_reason refuse_motion(const mpm_fem *fem, double dt)
{
    const double most = (fem->settings.dt > 0 ? 1 : 0.5) * fem->settings.dx * (1 + 1e-9);
    const struct fem_motion *motion = &fem->motion;
    if (!isfinite(motion->speed))
        return MPM_FEM_NOT_FINITE;
    if (!(motion->speed * dt <= most))
        return MPM_FEM_MOVES_TOO_FAR;
    const double fastest = fem->settings.dt > 0 ? motion->collider_speed : motion->approach;
    return fastest * dt <= most ? MPM_NO_REASON : MPM_COLLIDER_TOO_FAST;
}

/* Finds velocities and positions at the end of the step. */
static mpm_status move(mpm_fem *fem, double dt)
{
    if (fem->settings.integrator == MPM_FEM_LINEARLY_IMPLICIT)
        return mpm_fem_implicit_move(fem, dt, &fem->motion);
    fem->motion = mpm_fem_sweeps_move(fem, dt);
    return MPM_OK;
}

/* The bound of an automatic step is that of the state before it. Where an element stiffens within the step, the force
 * of that state acts for too long, and energy appears. */
static bool stiffens(const mpm_fem *fem)
{
    return fem->settings.dt <= 0 && fem->settings.integrator == MPM_FEM_SYMPLECTIC_EULER && fem->next.stiffened > 0;
}

/* May the nodes move like that? The present state keeps its forces. */
static mpm_reason check(mpm_fem *fem, double dt)
{
    const mpm_reason reason = refuse_motion(fem, dt);
    if (reason != MPM_NO_REASON)
        return reason;
    mpm_fem_sweeps_try_forces(fem);
    if (fem->next.out_of_range)
        return MPM_FEM_WOULD_INVERT;
    if (!fem->next.finite)
        return MPM_FEM_NOT_FINITE;
    if (fem->next.beyond > mpm_fem_error_room(fem))
        return MPM_FEM_OUTSIDE;
    return stiffens(fem) ? MPM_FEM_WOULD_STIFFEN : MPM_NO_REASON;
}

static const char *fastest_collider(const mpm_fem *fem, double *speed)
{
    const char *name = NULL;
    const size_t count = fem->boundary.count;
    *speed = -1;
    for (size_t i = 0; i < (size_t)fem->chunks * count; i++)
        if (fem->contact_books[i].near && fem->contact_books[i].speed > *speed) {
            *speed = fem->contact_books[i].speed;
            name = fem->boundary.colliders[i % count].name;
        }
    return name;
}

mpm_status mpm_fem_step_report(void *self, mpm_reason reason, const mpm_step *step)
{
    mpm_fem *fem = self;
    mpm_error *error = &fem->run.error;
    if (reason == MPM_DT_ABOVE_BOUND)
        return mpm_march_note_bound(&fem->run, step->dt, mpm_fem_totals_bound(fem));
    if (reason == MPM_NOT_CONVERGED)
        return mpm_fem_implicit_report(fem, step->dt);
    if (reason == MPM_FEM_OUTSIDE)
        return mpm_fem_error_outside(fem, fem->next_x);
    if (reason == MPM_FEM_WOULD_INVERT || reason == MPM_FEM_WOULD_STIFFEN)
        return mpm_fem_error_elements(fem, fem->next_x, reason, step->dt);
    mpm_error_note(error, MPM_UNSTABLE, reason, step->dt);
    if (reason == MPM_COLLIDER_TOO_FAST) {
        error->name = fastest_collider(fem, &error->value[0]);
        error->value[1] = fem->settings.dt > 0 ? fem->settings.dx / error->value[0] : 0;
    }
    return MPM_UNSTABLE;
}

mpm_status mpm_fem_step_attempt(void *self, const mpm_step *step, mpm_reason *reason)
{
    mpm_fem *fem = self;
    if (!fem->mesh.elements)
        return MPM_OK;
    const mpm_status status = move(fem, step->dt);
    if (status == MPM_OUT_OF_MEMORY)
        return status;
    *reason = status == MPM_NO_CONVERGENCE ? MPM_NOT_CONVERGED
              : status                     ? MPM_FEM_NOT_FINITE
                                           : check(fem, step->dt);
    return MPM_OK;
}

/* An element that is crushed comes ever closer to the end of its law's range, in ever smaller steps. This ends at a
 * step far below the bound. */
bool mpm_fem_step_may_retry(const void *self, const mpm_step *step, mpm_reason reason)
{
    const mpm_fem *fem = self;
    const double least = fmin(mpm_fem_totals_bound(fem).dt, fem->settings.max_dt) / (1 << MOST_HALVINGS);
    return reason != MPM_FEM_OUTSIDE && !(step->dt < least);
}

static void exchange(void **a, void **b)
{
    void *c = *a;
    *a = *b;
    *b = c;
}

static void keep_books(mpm_fem *fem, double dt)
{
    const struct fem_motion *motion = &fem->motion;
    double loads[3];
    mpm_fem_sweeps_enter_loads(fem, dt, loads);
    for (int a = 0; a < 3; a++) {
        const double weight = fem->measure.sums.mass * fem->settings.gravity[a];
        fem->books.body_impulse[a] += dt * (weight + (motion->force[a] - loads[a]));
        fem->books.wall_impulse[a] += motion->wall_impulse[a];
        fem->own.damping_impulse[a] += dt * motion->drag[a];
    }
    mpm_collider_add_books(fem->boundary.books, fem->contact_books, (size_t)fem->chunks, fem->boundary.count);
}

/* The arrays of the new state become those of the present one. */
static void take_over(mpm_fem *fem)
{
    exchange(&fem->store.rows[MPM_FEM_X], &fem->next_x);
    exchange(&fem->store.rows[MPM_FEM_V], &fem->next_v);
    exchange(&fem->force, &fem->next_force);
    exchange(&fem->modulus, &fem->next_modulus);
    fem->measure = fem->next;
    fem->approach = fem->motion.approach;
}

mpm_status mpm_fem_step_commit(void *self, const mpm_step *step)
{
    mpm_fem *fem = self;
    if (fem->mesh.elements) {
        keep_books(fem, step->dt);
        take_over(fem);
    }
    mpm_march_tick(&fem->run, step);
    mpm_fem_totals_record(fem);
    return MPM_OK;
}

void mpm_fem_step_finish(void *self, mpm_status status, bool moved)
{
    mpm_fem *fem = self;
    const double start = mpm_clock_seconds();
    /* The next dt is planned anew, not from the last refused attempt. */
    if (status == MPM_UNSTABLE || status == MPM_NO_CONVERGENCE || status == MPM_ESCAPED)
        fem->run.natural_dt = fem->approach = 0;
    if (moved)
        mpm_store_outdate_all(&fem->store, false);
    mpm_store_refresh(&fem->store);
    mpm_run_spend(&fem->run, MPM_FEM_PHASE_VIEWS, start);
}
