/* SPDX-License-Identifier: MIT
 *
 * A step, Algorithm 1 of weakly compressible SPH (Becker, Teschner, SCA 2007) from the middle to the middle:
 *
 *     forces   of the densities and pressures that the last step ended with, and the rates of compression, which limit
 *              the automatic step
 *     kick     velocities and positions, by symplectic Euler; the step can still be refused: no row has been written
 *     commit   rows, clock, impulses
 *     settle   neighbours, densities by summation with j = i, pressures of the new positions (settle.c)
 *     record   totals in the history
 *
 * So the densities of a state belong to its positions, and a call that begins anew finds the same ones.
 */
#include "sph/step.h"

#include <math.h>
#include <string.h>

#include "base/real.h"
#include "sph/settle.h"
#include "sph/state.h"
#include "sph/totals.h"

enum { MOST_RETRIES = 12, CHUNK = 2048 };

/* The step that a run is taking. */
struct step {
    const mpm_goal *goal;
    double natural;  /* dt of an automatic step, without the end of the run [s] */
    double dt, time; /* of the step [s]; when it ends */
    bool last;       /* the run ends with it */
};

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
        status = mpm_trouble_note(&sph->run.trouble, MPM_ESCAPED, MPM_LEFT_DOMAIN, sph->run.dt);
        mpm_trouble_add_rows(&sph->run.trouble, flags, sph->store.count, FLAG_RAISE);
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
    mpm_trouble_note(&sph->run.trouble, MPM_UNSTABLE, MPM_LEFT_RANGE, sph->run.dt);
    mpm_sph_settle_J(sph);
    for (ptrdiff_t row = 0; row < sph->store.count; row++) {
        const uint8_t crushed = !(mpm_real_at(sph->store.rows[MPM_SPH_J], (size_t)row, sph->settings.real_size) > low);
        const int32_t before = sph->run.trouble.row_count;
        mpm_trouble_add_rows(&sph->run.trouble, &crushed, 1, 1);
        if (sph->run.trouble.row_count > before)
            sph->run.trouble.rows[before] = (int32_t)row;
    }
    return MPM_UNSTABLE;
}

mpm_status mpm_sph_step_refresh(void *self)
{
    mpm_sph *sph = self;
    if (mpm_view_may_be_written(sph->store.views[MPM_SPH_X]) || mpm_view_may_be_written(sph->store.views[MPM_SPH_V]))
        sph->settled = false;
    mpm_status status = mpm_store_read_in(&sph->store);
    if (!status && !sph->settled) {
        if ((status = return_strays(sph)) || (status = mpm_sph_settle_rows(sph)))
            return status;
    }
    if (!status && sph->record_pending)
        mpm_sph_totals_record(sph);
    return status ? status : find_crushed(sph);
}

/* ---- the step --------------------------------------------------------------------------------------------------- */

static void plan(mpm_sph *sph, struct step *step, double dt)
{
    step->dt = mpm_run_fit_dt(dt, sph->run.time, step->goal->end);
    step->time = mpm_run_end_of_step(&sph->run, step->goal, step->dt);
    step->last = mpm_run_is_last(&sph->run, step->goal, step->time);
}

/* Plans the step, and does all else that may fail before it begins. */
static mpm_status begin(mpm_sph *sph, struct step *step)
{
    const mpm_sph_settings *settings = &sph->settings;
    mpm_trouble *trouble = &sph->run.trouble;
    step->natural = settings->dt > 0 ? 0 : mpm_sph_totals_automatic_dt(sph);
    /* impacts are short: the held step does not remember them */
    plan(sph, step, settings->dt > 0 ? settings->dt : fmin(step->natural, mpm_sph_totals_compression_dt(sph)));
    const mpm_stable_dt bound = mpm_sph_totals_bound(sph);
    if (settings->dt > 0 && !settings->allow_unstable && !(step->dt <= bound.dt * (1 + 1e-12))) {
        const bool collides = isfinite(sph->collider_dt); /* it is the bound then */
        mpm_trouble_note(trouble, MPM_UNSTABLE, collides ? MPM_COLLIDER_TOO_FAST : MPM_DT_ABOVE_BOUND, step->dt);
        trouble->kind = (int)bound.limit;
        trouble->value[0] = collides ? 0.5 * sph->pass.h / bound.dt : bound.dt;
        trouble->value[1] = collides ? bound.dt : 0;
        trouble->name = collides ? sph->boundary.colliders[sph->fastest].name : NULL;
        return MPM_UNSTABLE;
    }
    if (!(sph->run.time + step->dt > sph->run.time)) /* a run would never end */
        return mpm_trouble_note(trouble, MPM_UNSTABLE, MPM_DT_TOO_SMALL, step->dt);
    return mpm_history_reserve(&sph->run.history, &sph->run.allocator);
}

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

static void forces(mpm_sph *sph)
{
    const double start = mpm_clock_seconds();
    sph->pass.room = mpm_sph_totals_room(sph);
    mpm_pool_for(sph->run.pool, force_task, sph, sph->store.count ? sph->tasks : 0);
    mpm_run_spend(&sph->run, MPM_SPH_PHASE_FORCE, start);
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

/* Moves particles in scratch; a refused step begins again with half its size, as often as needed (automatic dt). */
static mpm_status kick(mpm_sph *sph, struct step *step)
{
    mpm_sph_pass *pass = &sph->pass;
    for (int attempt = 0;; attempt++) {
        pass->dt = step->dt;
        pass->body_force = sph->body_force;
        mpm_pool_for(sph->run.pool, kick_task, sph, sph->store.count ? sph->tasks : 0);
        const mpm_reason reason = refuse(sph);
        if (reason == MPM_NO_REASON)
            return MPM_OK;
        if (sph->settings.dt > 0 || attempt == MOST_RETRIES)
            return mpm_trouble_note(&sph->run.trouble, MPM_UNSTABLE, reason, step->dt);
        sph->run.health[MPM_SPH_HEALTH_REFUSED]++;
        step->dt /= 2;
        step->natural = fmin(step->natural, step->dt);
        step->time = mpm_run_end_of_step(&sph->run, step->goal, step->dt);
        step->last = mpm_run_is_last(&sph->run, step->goal, step->time);
    }
}

static void add_collider_books(mpm_sph *sph, double dt)
{
    const size_t count = sph->boundary.count;
    for (ptrdiff_t t = 0; t < sph->tasks; t++)
        for (size_t k = 0; k < count; k++) {
            const mpm_collider_book *force = (mpm_collider_book *)sph->forces.data + (size_t)t * count + k;
            const mpm_collider_book *touch = (mpm_collider_book *)sph->touches.data + (size_t)t * count + k;
            for (int a = 0; a < 3; a++) {
                sph->boundary.books[k].impulse[a] += dt * force->impulse[a] + touch->impulse[a];
                sph->boundary.books[k].torque[a] += dt * force->torque[a] + touch->torque[a];
            }
        }
}

static void keep_books(mpm_sph *sph, double dt)
{
    double force[3] = {0};
    for (ptrdiff_t row = 0; sph->body_force && row < sph->store.count; row++)
        for (int a = 0; a < sph->settings.dim; a++)
            force[a] += sph->mass * sph->body_force[row * sph->settings.dim + a];
    for (int a = 0; a < 3; a++) {
        sph->books.body_impulse[a] += dt * (sph->mass * (double)sph->store.count * sph->settings.gravity[a] + force[a]);
        for (ptrdiff_t t = 0; t < (sph->store.count ? sph->tasks : 0); t++)
            sph->books.wall_impulse[a] += dt * sph->wall_force[t][a] + sph->kicks[t].wall_impulse[a];
    }
    if (sph->boundary.count && sph->store.count)
        add_collider_books(sph, dt);
}

static mpm_status commit(mpm_sph *sph, const struct step *step)
{
    mpm_pool_for(sph->run.pool, write_chunk, sph, (sph->store.count + CHUNK - 1) / CHUNK);
    keep_books(sph, step->dt);
    sph->natural_dt = step->natural;
    mpm_run_tick(&sph->run, step->dt, step->time);
    sph->record_pending = true;
    mpm_status status = mpm_sph_settle_rows(sph); /* the step is whole, whatever comes of this */
    if (status)
        return status;
    mpm_sph_totals_record(sph);
    return find_crushed(sph);
}

static mpm_status take_step(mpm_sph *sph, struct step *step)
{
    forces(sph);
    mpm_status status = begin(sph, step);
    if (status)
        return status;
    const double start = mpm_clock_seconds();
    status = kick(sph, step);
    mpm_run_spend(&sph->run, MPM_SPH_PHASE_MOTION, start);
    return status ? status : commit(sph, step);
}

mpm_status mpm_sph_step_advance(void *self, const mpm_goal *goal)
{
    mpm_sph *sph = self;
    struct step step = {.goal = goal};
    mpm_status status = take_step(sph, &step);
    while (!status && !step.last && !(status = mpm_run_poll(&sph->run, goal)))
        status = take_step(sph, &step);
    return status;
}

void mpm_sph_step_finish(void *self, mpm_status status, bool moved)
{
    mpm_sph *sph = self;
    const double start = mpm_clock_seconds();
    if (status == MPM_UNSTABLE) /* the next dt is planned anew, not from the last refused attempt */
        sph->natural_dt = 0;
    if (moved)
        mpm_store_outdate_all(&sph->store, false);
    if (sph->settled)
        mpm_sph_settle_J(sph);
    mpm_store_refresh(&sph->store);
    mpm_run_spend(&sph->run, MPM_SPH_PHASE_VIEWS, start);
}
