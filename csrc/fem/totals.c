/* SPDX-License-Identifier: MIT
 *
 * What follows from the measure of a state: totals, their history, and the bound of the time step.
 */
#include "fem/totals.h"

#include <math.h>
#include <stddef.h>

#include "base/real.h"
#include "fem/state.h"
#include "run/march.h"

/* ---- the time step ---------------------------------------------------------------------------------------------- */

static double gravity_size(const mpm_fem *fem)
{
    const double *g = fem->settings.gravity;
    return sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
}

/* Symplectic Euler with the damping c = a + b omega^2 of the velocity at the beginning is stable while 4 - 2 c dt -
 * omega^2 dt^2 > 0. */
static double wave_bound(const mpm_fem *fem)
{
    if (fem->settings.integrator != MPM_FEM_SYMPLECTIC_EULER)
        return INFINITY;
    const double rate2 = fem->measure.rate2, c = fem->settings.damping[0] + fem->settings.damping[1] * rate2;
    return 4 / (c + sqrt(c * c + 4 * rate2));
}

static void tighten(mpm_stable_dt *bound, double dt, mpm_limit limit)
{
    if (dt < bound->dt)
        *bound = (mpm_stable_dt){dt, limit, -1};
}

mpm_stable_dt mpm_fem_totals_bound(const mpm_fem *fem)
{
    mpm_stable_dt bound = {INFINITY, MPM_LIMIT_NONE, -1};
    tighten(&bound, wave_bound(fem), MPM_LIMIT_WAVE);
    tighten(&bound, fem->settings.dx / fem->measure.speed, MPM_LIMIT_MOTION);
    tighten(&bound, sqrt(fem->settings.dx / gravity_size(fem)), MPM_LIMIT_ACCELERATION);
    return bound;
}

/* The first node that sets the bound. */
int32_t mpm_fem_totals_row(const mpm_fem *fem, mpm_limit limit)
{
    const size_t size = fem->settings.real_size, dim = (size_t)fem->settings.dim;
    for (ptrdiff_t row = 0; row < fem->store.count; row++) {
        const double mass = mpm_real_at(fem->store.rows[MPM_FEM_MASS], (size_t)row, size);
        if (limit == MPM_LIMIT_WAVE &&
            (double)(fem->settings.dim + 1) * mpm_real_at(fem->force, 4 * (size_t)row + 3, size) / mass >=
                fem->measure.rate2)
            return (int32_t)row;
        for (size_t a = 0; limit == MPM_LIMIT_MOTION && a < dim; a++)
            if (fabs(mpm_real_at(fem->store.rows[MPM_FEM_V], (size_t)row * dim + a, size)) >= fem->measure.speed)
                return (int32_t)row;
    }
    return -1;
}

double mpm_fem_totals_automatic_dt(const mpm_fem *fem)
{
    const double dx = fem->settings.dx;
    const double share = fem->has_kink ? MPM_SHARE_WITH_KINK : 0.9;
    double limit = fmin(share * wave_bound(fem), 0.6 * sqrt(dx / gravity_size(fem)));
    limit = fmin(limit, 0.4 * dx / fem->measure.speed);
    limit = fmin(limit, 0.4 * dx / fem->approach);
    const double dt = fmin(mpm_march_hold_dt(fem->run.natural_dt, limit), fem->settings.max_dt);
    return isfinite(dt) ? dt : 1e-3;
}

/* ---- totals ----------------------------------------------------------------------------------------------------- */

mpm_totals mpm_fem_totals_of(const mpm_fem *fem)
{
    return mpm_books_totals(&fem->boundary, fem->settings.gravity, &fem->measure.sums, fem->run.time);
}

static const mpm_history_entry of_damping[] = {
    {"damping_impulse", MPM_HISTORY_VECTOR, offsetof(struct fem_books, damping_impulse)}};

/* The columns of the whole material come first, then that of damping, then two for every load and collider. */
mpm_history_section mpm_fem_totals_section(const void *self, int index)
{
    const mpm_fem *fem = self;
    if (index == 0)
        return mpm_books_section(&fem->books);
    if (index == 1)
        return (mpm_history_section){of_damping, 1, &fem->own, NULL};
    const size_t k = (size_t)index - 2, loads = fem->run.loads.count;
    return k < loads ? mpm_loads_section(&fem->run.loads, k) : mpm_books_collider(&fem->boundary, k - loads);
}

void mpm_fem_totals_record(void *self)
{
    mpm_fem *fem = self;
    mpm_run *run = &fem->run;
    if (!mpm_history_is_due(&run->history, run->steps))
        return;
    const mpm_totals totals = mpm_fem_totals_of(fem);
    mpm_books_record(&fem->books, &fem->boundary, &run->history, &totals, run->dt);
    fem->own = (struct fem_books){0};
    mpm_loads_clear_books(&run->loads);
}
