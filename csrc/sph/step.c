/* SPDX-License-Identifier: MIT
 *
 * A step, Algorithm 1 of weakly compressible SPH (Becker, Teschner, SCA 2007) from the middle to the middle:
 *
 *     forces   of the densities and pressures that the last step ended with, and the rates of compression, by which
 *              an automatic step is shortened where its error of energy counts
 *     kick     velocities and positions, by leapfrog; the step can still be refused: no row has been written
 *     commit   rows, clock, impulses
 *     settle   neighbours, densities by summation with j = i, pressures of the new positions (settle.c)
 *     record   totals in the history
 *
 * So the densities of a state belong to its positions, and a call that begins anew finds the same ones.
 */
#include "sph/step.h"

#include <math.h>
#include <string.h>

#include "base/exact.h"
#include "base/real.h"
#include "run/march.h"
#include "sph/settle.h"
#include "sph/state.h"
#include "sph/totals.h"

enum { CHUNK = 2048, MOST_PARTS = 64 };

/* ---- before the steps ------------------------------------------------------------------------------------------- */

/* Flags of rows outside the domain: their fates, beside 0. */
enum { FLAG_RAISE = MPM_LEAVE_RAISE + 1, FLAG_DELETE = MPM_LEAVE_DELETE + 1, FLAG_CLAMP = MPM_LEAVE_CLAMP + 1 };

/* Wraps a coordinate along a periodic axis. */
static void wrap(mpm_sph *sph, size_t at, int axis, double place)
{
    const double lower = sph->pass.lower[axis], upper = sph->pass.upper[axis];
    const double in = place - floor((place - lower) / (upper - lower)) * (upper - lower);
    mpm_real_set(sph->store.rows[MPM_SPH_X], at, fmin(fmax(in, lower), upper), sph->settings.real_size);
}

/* Flags rows outside the domain by their fates and wraps periodic axes. Counts the rows of each flag. */
static void find_outside(mpm_sph *sph, uint8_t *flags, ptrdiff_t count[4])
{
    const int dim = sph->settings.dim;
    for (ptrdiff_t row = 0; row < sph->store.count; row++) {
        unsigned beyond = 0;
        for (int a = 0; a < dim; a++) {
            const size_t at = (size_t)(row * dim + a);
            const double place = mpm_real_at(sph->store.rows[MPM_SPH_X], at, sph->settings.real_size);
            if (place >= sph->pass.lower[a] && place <= sph->pass.upper[a])
                continue;
            if (mpm_walls_periodic(sph->boundary.walls, a))
                wrap(sph, at, a, place);
            else
                beyond |= 1u << (2 * a + (place > sph->pass.upper[a]));
        }
        if (beyond)
            count[flags[row] = (uint8_t)(mpm_leave_fate(sph->settings.on_leave, beyond) + 1)]++;
    }
}

/* Puts the rows with FLAG_CLAMP onto the faces. */
static void bring_back(mpm_sph *sph, const uint8_t *flags)
{
    const size_t size = sph->settings.real_size, dim = (size_t)sph->settings.dim;
    for (size_t at = 0; at < (size_t)sph->store.count * dim; at++) {
        if (flags[at / dim] != FLAG_CLAMP)
            continue;
        const double place = mpm_real_at(sph->store.rows[MPM_SPH_X], at, size);
        const double in = fmin(fmax(place, sph->pass.lower[at % dim]), sph->pass.upper[at % dim]);
        if (in != place)
            mpm_real_set(sph->store.rows[MPM_SPH_X], at, in, size);
    }
}

static mpm_status delete_flagged(mpm_sph *sph, const uint8_t *flags)
{
    int32_t *new_row = mpm_memory_new(&sph->run.allocator, (size_t)sph->store.count, sizeof *new_row);
    if (!new_row)
        return MPM_OUT_OF_MEMORY;
    for (ptrdiff_t row = 0; row < sph->store.count; row++)
        new_row[row] = flags[row] == FLAG_DELETE ? -1 : 0;
    mpm_store_keep_rows(&sph->store, new_row);
    mpm_memory_free(&sph->run.allocator, new_row);
    return MPM_OK;
}

/* What becomes of positions that were written outside the domain. */
static mpm_status return_strays(mpm_sph *sph)
{
    uint8_t *flags = mpm_memory_new(&sph->run.allocator, (size_t)sph->store.count, 1);
    if (!flags)
        return MPM_OUT_OF_MEMORY;
    ptrdiff_t count[4] = {0};
    find_outside(sph, flags, count);
    mpm_status status = MPM_OK;
    if (count[FLAG_RAISE]) {
        status = mpm_error_note(&sph->run.error, MPM_ESCAPED, MPM_LEFT_DOMAIN, sph->run.dt);
        mpm_error_add_rows(&sph->run.error, flags, sph->store.count, FLAG_RAISE);
        sph->run.suspect = true;
    } else {
        bring_back(sph, flags);
        if (count[FLAG_DELETE])
            status = delete_flagged(sph, flags);
    }
    if (!status) {
        sph->run.health[MPM_SPH_HEALTH_LEFT] += count[FLAG_DELETE] + count[FLAG_CLAMP];
        sph->run.health[MPM_SPH_HEALTH_DELETED] += count[FLAG_DELETE];
        sph->run.health[MPM_SPH_HEALTH_CLAMPED] += count[FLAG_CLAMP];
        mpm_store_outdate(&sph->store, MPM_SPH_X); /* some may have been put back */
    }
    mpm_memory_free(&sph->run.allocator, flags);
    return status;
}

/* Has J left the range of the law? */
static mpm_status find_crushed(mpm_sph *sph)
{
    const double low = mpm_laws_get(MPM_FLUID)->J_low;
    sph->run.suspect = !(sph->measure.least_J > low);
    if (!sph->run.suspect)
        return MPM_OK;
    mpm_error_note(&sph->run.error, MPM_UNSTABLE, MPM_LEFT_RANGE, sph->run.dt);
    mpm_sph_settle_J(sph);
    for (ptrdiff_t row = 0; row < sph->store.count; row++) {
        const uint8_t crushed = !(mpm_real_at(sph->store.rows[MPM_SPH_J], (size_t)row, sph->settings.real_size) > low);
        const int32_t before = sph->run.error.row_count;
        mpm_error_add_rows(&sph->run.error, &crushed, 1, 1);
        if (sph->run.error.row_count > before)
            sph->run.error.rows[before] = (int32_t)row;
    }
    return MPM_UNSTABLE;
}

mpm_status mpm_sph_step_refresh(void *self)
{
    mpm_sph *sph = self;
    if (mpm_view_may_be_written(sph->store.views[MPM_SPH_X]) || mpm_view_may_be_written(sph->store.views[MPM_SPH_V]))
        sph->settled = false;
    mpm_status status = mpm_store_read_in(&sph->store);
    if (!status && !sph->settled && !(status = return_strays(sph)))
        status = mpm_sph_settle_rows(sph);
    if (status)
        return status;
    if (sph->record_pending)
        mpm_sph_totals_record(sph);
    return find_crushed(sph);
}

/* ---- the step --------------------------------------------------------------------------------------------------- */

static void force_task(void *sph, ptrdiff_t task, int thread)
{
    (void)thread;
    ((mpm_sph *)sph)->kernels->force(&((mpm_sph *)sph)->pass, task);
}

static void kick_task(void *sph, ptrdiff_t task, int thread)
{
    (void)thread;
    ((mpm_sph *)sph)->kernels->kick(&((mpm_sph *)sph)->pass, task);
}

static void write_chunk(void *context, ptrdiff_t chunk, int thread)
{
    mpm_sph *sph = context;
    const ptrdiff_t end = (chunk + 1) * CHUNK, rows = sph->store.count;
    (void)thread;
    sph->kernels->write(&sph->pass, chunk * CHUNK, end < rows ? end : rows);
}

/* The accelerations, and the rates of compression, which limit an automatic step. */
mpm_status mpm_sph_step_begin(void *self)
{
    mpm_sph *sph = self;
    const double start = mpm_clock_seconds();
    sph->pass.finds_errors = !(sph->settings.dt > 0);
    mpm_pool_for(sph->run.pool, force_task, sph, sph->store.count ? sph->tasks : 0);
    mpm_run_spend(&sph->run, MPM_SPH_PHASE_FORCE, start);
    return MPM_OK;
}

static void misfit_task(void *sph, ptrdiff_t task, int thread)
{
    (void)thread;
    ((mpm_sph *)sph)->kernels->misfit(&((mpm_sph *)sph)->pass, task);
}

/* The part of a natural step whose error of energy is small. Rates of compression grow as bodies meet, and the pressure
 * at the end of the step acts into the next one: the law is looked at over twice the step. The error grows like dt^2 to
 * dt^3. */
static double accurate_dt(mpm_sph *sph, double natural)
{
    const double allowed = mpm_sph_totals_tolerance(sph), least = natural / MOST_PARTS;
    double dt = natural;
    while (dt > least) {
        sph->pass.foresight = 2 * dt;
        if (mpm_sph_totals_most_error(sph, dt) <= allowed)
            return dt;
        mpm_pool_for(sph->run.pool, misfit_task, sph, sph->store.count ? sph->tasks : 0);
        const double error = mpm_sph_totals_error(sph, dt);
        if (error <= allowed)
            return dt;
        dt *= fmax(0.25, 0.95 * cbrt(allowed / error)); /* 0.25 also where the pressure overflows */
    }
    return least;
}

void mpm_sph_step_plan(void *self, mpm_step *step)
{
    step->natural = mpm_sph_totals_automatic_dt(self);
    /* impacts are short: the held step does not remember them */
    step->dt = accurate_dt(self, step->natural);
}

/* Why the step cannot be taken. */
static mpm_reason refuse(const mpm_sph *sph)
{
    mpm_reason reason = MPM_NO_REASON;
    const double most = 0.5 * sph->pass.h;
    for (ptrdiff_t t = 0; t < (sph->store.count ? sph->tasks : 0) && reason != MPM_SPH_NOT_FINITE; t++)
        if (!sph->kicks[t].finite)
            reason = MPM_SPH_NOT_FINITE;
        else if (sph->kicks[t].travel2 > most * most * (1 + 1e-6))
            reason = MPM_SPH_MOVES_TOO_FAR;
    return reason;
}

/* The time for which forces act: from the middle of the last step to that of this one. A last step far beyond the bound
 * of this state, in which particles were brought close together, does not count. */
static double kick_time(const mpm_sph *sph, double dt)
{
    const double last = sph->run.dt > 0 ? sph->run.dt : dt;
    return fmax(fmin((last + dt) / 2, mpm_sph_totals_bound(sph).dt), fmin(last, dt));
}

/* Moves particles in scratch. */
mpm_status mpm_sph_step_attempt(void *self, const mpm_step *step, mpm_reason *reason)
{
    mpm_sph *sph = self;
    const double start = mpm_clock_seconds();
    sph->pass.dt = step->dt;
    sph->pass.kick = kick_time(sph, step->dt);
    sph->pass.body_force = sph->run.forcing.body_force;
    mpm_pool_for(sph->run.pool, kick_task, sph, sph->store.count ? sph->tasks : 0);
    *reason = refuse(sph);
    mpm_run_spend(&sph->run, MPM_SPH_PHASE_MOTION, start);
    return MPM_OK;
}

mpm_status mpm_sph_step_report(void *self, mpm_reason reason, const mpm_step *step)
{
    mpm_sph *sph = self;
    const mpm_stable_dt bound = mpm_sph_totals_bound(sph);
    if (reason != MPM_DT_ABOVE_BOUND)
        return mpm_error_note(&sph->run.error, MPM_UNSTABLE, reason, step->dt);
    mpm_march_note_bound(&sph->run, step->dt, bound);
    if (isfinite(sph->collider_dt)) { /* it is the bound then */
        mpm_error *error = &sph->run.error;
        error->reason = MPM_COLLIDER_TOO_FAST;
        error->name = sph->boundary.colliders[sph->fastest].name;
        error->value[0] = 0.5 * sph->pass.h / bound.dt;
        error->value[1] = bound.dt;
    }
    return MPM_UNSTABLE;
}

static void add_collider_books(mpm_sph *sph, double dt)
{
    const size_t count = sph->boundary.count, stride = count * sizeof(mpm_collider_book), tasks = (size_t)sph->tasks;
    const mpm_collider_book *forces = sph->forces.data, *touches = sph->touches.data;
    for (size_t k = 0; k < count; k++)
        for (int a = 0; a < 3; a++) {
            mpm_collider_book *book = &sph->boundary.books[k];
            book->impulse[a] += dt * mpm_exact_sum(&forces[k].impulse[a], tasks, stride);
            book->impulse[a] += mpm_exact_sum(&touches[k].impulse[a], tasks, stride);
            book->torque[a] += dt * mpm_exact_sum(&forces[k].torque[a], tasks, stride);
            book->torque[a] += mpm_exact_sum(&touches[k].torque[a], tasks, stride);
        }
}

static void keep_books(mpm_sph *sph, double dt)
{
    double force[3] = {0};
    for (ptrdiff_t row = 0; sph->run.forcing.body_force && row < sph->store.count; row++)
        for (int a = 0; a < sph->settings.dim; a++)
            force[a] += sph->mass * sph->run.forcing.body_force[row * sph->settings.dim + a];
    for (int a = 0; a < 3; a++) {
        sph->books.body_impulse[a] += dt * (sph->mass * (double)sph->store.count * sph->settings.gravity[a] + force[a]);
        if (!sph->store.count)
            continue;
        sph->books.wall_impulse[a] +=
            dt * mpm_exact_sum(&sph->wall_force[0][a], (size_t)sph->tasks, sizeof *sph->wall_force) +
            MPM_EXACT_SUM(sph->kicks, sph->tasks, wall_impulse[a]);
    }
    if (sph->boundary.count && sph->store.count)
        add_collider_books(sph, dt);
}

mpm_status mpm_sph_step_commit(void *self, const mpm_step *step)
{
    mpm_sph *sph = self;
    const double start = mpm_clock_seconds();
    mpm_pool_for(sph->run.pool, write_chunk, sph, (sph->store.count + CHUNK - 1) / CHUNK);
    keep_books(sph, sph->pass.kick);
    mpm_march_tick(&sph->run, step);
    mpm_run_spend(&sph->run, MPM_SPH_PHASE_MOTION, start);
    sph->record_pending = true;
    const mpm_status status = mpm_sph_settle_rows(sph);
    if (status)
        return status;
    mpm_sph_totals_record(sph);
    return find_crushed(sph);
}

void mpm_sph_step_finish(void *self, mpm_status status, bool moved)
{
    mpm_sph *sph = self;
    const double start = mpm_clock_seconds();
    if (status == MPM_UNSTABLE) /* the next dt is planned anew, not from the last refused attempt */
        sph->run.natural_dt = 0;
    if (moved)
        mpm_store_outdate_all(&sph->store, false);
    if (sph->settled)
        mpm_sph_settle_J(sph);
    mpm_store_refresh(&sph->store);
    mpm_run_spend(&sph->run, MPM_SPH_PHASE_VIEWS, start);
}
