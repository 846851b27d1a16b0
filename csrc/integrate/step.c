/* SPDX-License-Identifier: MIT
 *
 * The step. In the order of the textbook one step of size dt is
 *
 *     scatter  particles -> grid            (with the stress of dt)
 *     grid     momentum -> velocity, gravity, colliders, walls
 *     check    the step can still be refused: nothing of the particles has been written
 *     gather   grid -> particles, strain, position
 *     commit   clock, books, limits of the new state
 *
 * A run chains them as  scatter, (grid, check, gather + scatter of the next)*, grid, check, gather: the middle is one
 * fused sweep. Where that sweep is lean (kernels.h), v and C of the last whole step are recalled when somebody asks: a
 * scatter by itself, or the end of the run, whatever ended it.
 */
#include "integrate/state.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_RETRIES = 12 };

/* The largest motion in one step that is accepted, in cells: a fixed step may use all that is safe, the automatic
 * one keeps a margin. */
static double motion_limit(const mpm_simulation *simulation)
{
    return simulation->settings.dt > 0 ? 1.0 : 0.5;
}

static mpm_status fail(mpm_simulation *simulation, mpm_status status, mpm_reason reason, double dt)
{
    simulation->trouble = (mpm_trouble){.reason = reason, .dt = dt};
    return status;
}

static void list_rows(mpm_trouble *trouble, const uint8_t *flags, ptrdiff_t rows, int flag)
{
    for (ptrdiff_t row = 0; row < rows; row++)
        if (flags[row] == flag) {
            if (trouble->row_count < MPM_MOST_TROUBLE_ROWS)
                trouble->rows[trouble->row_count++] = (int32_t)row;
            trouble->count++;
        }
}

/* Where a particle is [m], as the resident state has it. */
static void find_position(const mpm_simulation *simulation, int32_t row, double x[3])
{
    const mpm_particles *p = &simulation->particles;
    const size_t dim = (size_t)p->dim, lanes = (size_t)p->lanes;
    for (size_t g = 0; g < p->group_count; g++)
        for (size_t i = 0; i < (size_t)p->groups[g].tiles * lanes; i++) {
            const size_t slot = (size_t)p->groups[g].first_tile * lanes + i;
            for (size_t a = 0; p->row[slot] == row && a < dim; a++) {
                const size_t at = (slot / lanes * dim + a) * lanes + slot % lanes;
                const double cells = p->real_size == sizeof(float) ? (double)((const float *)p->vector[MPM_X])[at]
                                                                   : ((const double *)p->vector[MPM_X])[at];
                x[a] = simulation->settings.lower[a] +
                       simulation->settings.dx * ((double)p->groups[g].block[a] * mpm_block_side(p->dim) + cells);
            }
        }
}

/* The name of the collider that a particle is in or less than a cell before; NULL if there is none. */
static const char *touched_collider(const mpm_simulation *simulation, int32_t row)
{
    const char *name = NULL;
    double x[3] = {0}, least = simulation->settings.dx;
    if (simulation->collider_count)
        find_position(simulation, row, x);
    for (size_t k = 0; k < simulation->collider_count; k++) {
        const mpm_collider *collider = &simulation->colliders[k];
        const mpm_collider_state now = mpm_collider_state_at(collider, simulation->time, 0);
        const double phi = mpm_collider_read(collider, &now, x, UINT64_MAX).phi;
        if (phi < least) {
            least = phi;
            name = collider->name;
        }
    }
    return name;
}

/* Are particles outside the domain, or out of the range of their law? */
static mpm_status find_trouble(mpm_simulation *simulation)
{
    const ptrdiff_t rows = simulation->particles.count;
    uint8_t *flags = mpm_memory_new(&simulation->allocator, (size_t)rows, 1);
    if (!flags)
        return MPM_OUT_OF_MEMORY;
    const mpm_sweep sweep = mpm_sweeps_describe(simulation, MPM_MEASURE);
    simulation->kernels->find_trouble(&sweep, flags);
    mpm_trouble *trouble = &simulation->trouble;
    *trouble = (mpm_trouble){.reason = MPM_LEFT_RANGE, .dt = simulation->dt};
    list_rows(trouble, flags, rows, MPM_INVERTED);
    mpm_status status = trouble->count ? MPM_UNSTABLE : MPM_OK;
    if (!status && simulation->settings.on_leave == MPM_LEAVE_RAISE) {
        trouble->reason = MPM_LEFT_DOMAIN;
        list_rows(trouble, flags, rows, MPM_OUTSIDE);
        if (trouble->count) {
            trouble->collider = touched_collider(simulation, trouble->rows[0]);
            status = MPM_ESCAPED;
        }
    }
    mpm_memory_free(&simulation->allocator, flags);
    return status;
}

/* ---- the time step ---------------------------------------------------------------------------------------------- */

/* The size of the step from `time`: as planned, but ending exactly at `end`, without a tiny last step. Where the rest
 * is one step but for the round-off of times, it is one step. */
static double landing_dt(double planned, double time, double end)
{
    const double left = end - time;
    return planned * (1 + 1e-6) >= left ? left : 2 * planned > left ? left / 2 : planned;
}

static double planned_dt(const mpm_simulation *simulation)
{
    return simulation->settings.dt > 0 ? simulation->settings.dt : simulation->natural_dt;
}

/* After a state was measured: the automatic step shrinks to its bound. Returns whether the plan changed. */
static bool revise_plan(mpm_simulation *simulation)
{
    if (simulation->settings.dt > 0)
        return false;
    if (simulation->natural_dt > 0 && simulation->natural_dt <= mpm_timestep_bound(simulation).dt)
        return false;
    simulation->natural_dt = mpm_timestep_automatic(simulation);
    return true;
}

static mpm_status check_fixed_dt(mpm_simulation *simulation, double dt)
{
    if (simulation->settings.dt <= 0 || simulation->settings.allow_unstable)
        return MPM_OK;
    const mpm_stable_dt bound = mpm_timestep_bound(simulation);
    if (dt <= bound.dt * (1 + 1e-12))
        return MPM_OK;
    mpm_status status = fail(simulation, MPM_UNSTABLE, MPM_DT_ABOVE_BOUND, dt);
    mpm_simulation_stable_dt(simulation, &simulation->trouble.bound);
    return status;
}

/* ---- pieces of a run -------------------------------------------------------------------------------------------- */

static void scatter(mpm_simulation *simulation, double dt)
{
    mpm_sweeps_recall(simulation);
    mpm_sweep sweep = mpm_sweeps_describe(simulation, MPM_SCATTER);
    sweep.scatter_dt = dt;
    mpm_sweeps_run(simulation, &sweep);
    if (simulation->body_force) {
        sweep.mode = MPM_PUSH;
        const mpm_measure pushed = mpm_sweeps_run(simulation, &sweep);
        memcpy(simulation->force, pushed.force, sizeof pushed.force);
    }
}

/* Could the strain increment of some particle turn it inside out? Velocities that differ little over the whole grid
 * cannot. Otherwise the particles are asked, of groups where they differ more. */
static bool may_invert(const mpm_simulation *simulation, const mpm_block_report *report, double dt)
{
    double range[3];
    for (int a = 0; a < 3; a++)
        range[a] = report->highest[a] - report->lowest[a];
    return mpm_sweep_may_invert(range, dt / simulation->settings.dx, simulation->settings.dim);
}

/* The collider that is fastest near material; NULL if none is near. */
static const mpm_collider *fastest_collider(const mpm_simulation *simulation, double *speed)
{
    const size_t count = simulation->collider_count;
    const mpm_collider *fastest = NULL;
    *speed = 0;
    for (size_t i = 0; i < simulation->grid.block_count * count; i++) {
        const mpm_collider_book *book = &simulation->reports.block_books[i];
        if (book->near && (!fastest || book->speed > *speed)) {
            *speed = book->speed;
            fastest = &simulation->colliders[i % count];
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

static void name_fastest_collider(mpm_simulation *simulation, const mpm_block_report *report)
{
    mpm_trouble *trouble = &simulation->trouble;
    trouble->collider = fastest_collider(simulation, &trouble->speed)->name;
    if (simulation->settings.dt > 0)
        trouble->needed = motion_limit(simulation) * simulation->settings.dx / fastest_motion(simulation, report);
}

/* No particle moves faster than this in the step [m/s]. Nodes bound it, unless particles add a velocity of their own,
 * a (v_p - S v^n) at most. */
static double travel_bound(const mpm_simulation *simulation, const mpm_block_report *report)
{
    const mpm_scheme *scheme = &simulation->settings.scheme;
    const double apart = scheme->flip_ratio * (simulation->measure.speed + report->speed_before);
    return mpm_scheme_moves_apart(scheme) ? report->speed + apart : report->speed;
}

/* Is that bound so loose that particles had better be asked? With the gradient of the B-spline, nodes at a surface whose
 * weights all but vanish have no part in the motion, but any velocity. */
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
static mpm_reason find_refusal(mpm_simulation *simulation, mpm_block_report *report, double dt, double *travel)
{
    const double largest = largest_speed(simulation);
    if (!(report->speed <= largest && report->speed_before <= largest))
        return MPM_GRID_NOT_FINITE;
    const double per_speed = dt / simulation->settings.dx;
    double least_det = 1;
    *travel = travel_bound(simulation, report) * per_speed;
    const bool loose = is_loose(simulation, *travel);
    if (loose || may_invert(simulation, report, dt)) {
        mpm_sweep probe = mpm_sweeps_describe(simulation, MPM_PROBE);
        probe.gather_dt = dt;
        probe.inversion = loose ? NULL : simulation->reports.blocks;
        const mpm_measure found = mpm_sweeps_run(simulation, &probe);
        least_det = found.least_det;
        if (loose) {
            double collider;
            fastest_collider(simulation, &collider);
            *travel = found.moved * per_speed;
            report->approach = fmin(report->approach, found.moved + collider);
        }
    }
    if (!(*travel <= motion_limit(simulation)))
        return MPM_MOVES_TOO_FAR;
    if (fastest_motion(simulation, report) * per_speed > motion_limit(simulation))
        return MPM_COLLIDER_TOO_FAST;
    return least_det > 0.1 ? MPM_NO_REASON : MPM_WOULD_INVERT;
}

/* The grid pass, begun again with a smaller step while it must be refused (automatic dt). */
static mpm_status grid_and_check(mpm_simulation *simulation, double *dt, mpm_block_report *report, double *travel)
{
    simulation->grid_valid = false;
    if (simulation->recalled_from) { /* stays as it is */
        simulation->grid.velocity = simulation->grid.previous;
        simulation->grid.previous = simulation->recalled_from;
    }
    for (int attempt = 0;; attempt++) {
        *report = mpm_sweeps_grid(simulation, *dt);
        const mpm_reason reason = find_refusal(simulation, report, *dt, travel);
        if (reason == MPM_NO_REASON)
            return MPM_OK;
        if (simulation->settings.dt > 0 || attempt == MOST_RETRIES) {
            const mpm_status status = fail(simulation, MPM_UNSTABLE, reason, *dt);
            if (reason == MPM_COLLIDER_TOO_FAST)
                name_fastest_collider(simulation, report);
            return status;
        }
        simulation->health.refused++;
        *dt /= 2;
        simulation->natural_dt = fmin(simulation->natural_dt, *dt);
        scatter(simulation, *dt);
    }
}

static void record_history(mpm_simulation *simulation)
{
    const mpm_settings *settings = &simulation->settings;
    if (settings->history == 0 || simulation->steps % settings->history)
        return;
    const int dim = settings->dim, length = mpm_history_length(dim, (int)simulation->collider_count);
    const mpm_totals t = mpm_step_totals(simulation);
    double *record = simulation->history + simulation->history_rows * (size_t)length;
    *record++ = t.time;
    *record++ = simulation->dt;
    *record++ = t.mass;
    for (int a = 0; a < dim; a++)
        *record++ = t.momentum[a];
    for (int a = 0; a < dim; a++)
        *record++ = t.center_of_mass[a];
    for (int c = dim == 2 ? 2 : 0; c < 3; c++)
        *record++ = t.angular_momentum[c];
    *record++ = t.kinetic;
    *record++ = t.elastic;
    *record++ = t.gravitational;
    *record++ = t.kinetic + t.elastic + t.gravitational;
    for (int a = 0; a < dim; a++) {
        *record++ = simulation->body_impulse[a];
        simulation->body_impulse[a] = 0;
    }
    for (int a = 0; a < dim; a++) {
        *record++ = simulation->impulse[a];
        simulation->impulse[a] = 0;
    }
    for (size_t k = 0; k < simulation->collider_count; k++) {
        mpm_collider_book *book = &simulation->collider_books[k];
        for (int a = 0; a < dim; a++)
            *record++ = book->impulse[a];
        for (int c = dim == 2 ? 2 : 0; c < 3; c++)
            *record++ = book->torque[c];
        *book = (mpm_collider_book){0};
    }
    simulation->history_rows++;
}

/* Room for one more record: asked before the step, so that a whole step is always recorded. */
static mpm_status reserve_history(mpm_simulation *simulation)
{
    const int length = mpm_history_length(simulation->settings.dim, (int)simulation->collider_count);
    return mpm_memory_grow(&simulation->allocator, (void **)&simulation->history, &simulation->history_capacity,
                           simulation->history_rows, simulation->history_rows + 1, (size_t)length * sizeof(double))
               ? MPM_OUT_OF_MEMORY
               : MPM_OK;
}

/* How far the step can have carried particles, in cells. What they moved with says more than nodes did before it: light
 * nodes at a surface are often twice as fast as any particle. */
static double carried(const mpm_simulation *simulation, double dt, const mpm_measure *measure)
{
    /* of positions up to 16 cells from the first node of the block */
    const double rounding = 4 * (simulation->settings.real_size == sizeof(float) ? FLT_EPSILON : DBL_EPSILON);
    const double moved = measure->moved * dt / simulation->settings.dx + rounding;
    if (simulation->settings.on_leave != MPM_LEAVE_CLAMP || !measure->outside)
        return moved;
    /* put back onto a face from as far beyond as particles may be; 1e-5 is more than that is exceeded by for rounding */
    return fmax(moved, mpm_scheme_wall_depth(simulation->settings.scheme.degree) + 1e-5);
}

/* The clock and the books after a whole step. */
static void commit(mpm_simulation *simulation, double dt, double time, const mpm_block_report *report,
                   const mpm_measure *measure)
{
    simulation->began = simulation->time;
    simulation->dt = dt;
    simulation->time = time;
    simulation->steps++;
    simulation->drift += carried(simulation, dt, measure);
    simulation->approach = report->approach;
    simulation->grid_valid = true;
    /* Gravity has acted on the mass before the step. It is that after it, summed in the order of the bins that the step
     * has used, whereas the earlier sum may have been made anew in another order, after a look or from a file. */
    const bool lost = simulation->settings.on_leave == MPM_LEAVE_DELETE && measure->outside;
    const double mass = lost ? simulation->measure.mass : measure->mass;
    for (int a = 0; a < 3; a++) {
        const double weight = mass * simulation->settings.gravity[a];
        simulation->body_impulse[a] += dt * (weight + simulation->force[a]);
        simulation->impulse[a] += report->impulse[a];
    }
    simulation->measure = *measure;
    simulation->suspect = measure->outside || measure->out_of_range;
    simulation->health.left_domain += measure->outside;
    simulation->health.clipped += measure->clipped;
    if (simulation->settings.on_leave == MPM_LEAVE_CLAMP)
        simulation->health.clamped += measure->outside;
    simulation->frozen |= lost;
    mpm_sweeps_add_books(simulation, simulation->collider_books);
    record_history(simulation);
}

static mpm_status bin(mpm_simulation *simulation, mpm_bin_kind kind)
{
    const double start = mpm_clock_seconds();
    const mpm_status status = mpm_rebin_run(simulation, NULL, 0, kind);
    mpm_simulation_spend(simulation, MPM_PHASE_BINNING, start);
    return status;
}

/* Particles may lie one cell beside where they were binned, not more, when they scatter again; `travel` is how far the
 * step can carry them. Before the gather there is less to be moved, but nodes at periodic faces are not all there for
 * particles that come in on the other side, and schemes that do not forget keep more on particles and nodes. */
static mpm_status bin_if_due(mpm_simulation *simulation, double travel)
{
    const double room = 0.999;
    bool after_the_step = travel > room || !mpm_scheme_forgets(&simulation->settings.scheme);
    for (int axis = 0; axis < simulation->settings.dim; axis++)
        after_the_step |= mpm_walls_periodic(simulation->settings.walls, axis);
    const bool due = simulation->drift + travel > room;
    simulation->binning_due = due && after_the_step;
    if (!due || after_the_step)
        return MPM_OK;
    const mpm_status status = bin(simulation, MPM_BIN_MID_STEP);
    if (!status)
        simulation->recalled_from = NULL; /* what is recalled from now on is this step */
    return status;
}

static void gather(mpm_simulation *simulation, const mpm_sweep *sweep, mpm_measure *measure)
{
    *measure = mpm_sweeps_run(simulation, sweep);
    simulation->recalled_from = NULL;
    if (mpm_sweep_is_lean(&sweep->scheme, sweep->mode)) {
        mpm_particles *particles = &simulation->particles;
        void *before = particles->vector[MPM_X];
        particles->vector[MPM_X] = particles->spare_vector;
        particles->spare_vector = before;
        simulation->recalled_from = simulation->grid.velocity;
    }
}

/* ---- runs ------------------------------------------------------------------------------------------------------- */

/* Rest volumes from the density of the grid, for the particles that have none yet. */
static void find_volumes(mpm_simulation *simulation)
{
    const mpm_sweep sweep = mpm_sweeps_describe(simulation, MPM_VOLUME);
    simulation->grid_valid = false;
    scatter(simulation, 0);
    mpm_sweeps_density(simulation);
    mpm_sweeps_run(simulation, &sweep);
    simulation->volumes_due = false;
    simulation->measured = false;
    if (simulation->mirrors[MPM_FIELD_VOLUME])
        simulation->mirrors[MPM_FIELD_VOLUME]->stale = true;
}

mpm_status mpm_step_settle(mpm_simulation *simulation)
{
    const double start = mpm_clock_seconds();
    mpm_status status = mpm_views_read_in(simulation);
    mpm_simulation_spend(simulation, MPM_PHASE_VIEWS, start);
    if (!status && simulation->binning_due)
        status = bin(simulation, MPM_BIN_ALL);
    if (status)
        return status;
    if (simulation->volumes_due)
        find_volumes(simulation);
    if (!simulation->measured) {
        const mpm_sweep sweep = mpm_sweeps_describe(simulation, MPM_MEASURE);
        simulation->measure = mpm_sweeps_run(simulation, &sweep);
        simulation->measured = true;
        simulation->suspect |= simulation->measure.out_of_range != 0;
    }
    return MPM_OK;
}

static mpm_status run_steps(mpm_simulation *simulation, int64_t steps, double end, double pause, mpm_poll poll,
                            void *context)
{
    const int64_t last_step = steps > INT64_MAX - simulation->steps ? INT64_MAX : simulation->steps + steps;
    double next_poll = mpm_clock_seconds() + 0.05;
    if (simulation->suspect) {
        mpm_status status = find_trouble(simulation);
        if (status)
            return status;
        simulation->suspect = false;
    }
    if (simulation->steps == last_step || !(simulation->time < end))
        return MPM_OK;
    revise_plan(simulation);
    double dt = landing_dt(planned_dt(simulation), simulation->time, end);
    mpm_status status = check_fixed_dt(simulation, dt);
    if (status)
        return status;
    scatter(simulation, dt);
    for (;;) {
        mpm_block_report report;
        double travel;
        if (!(simulation->time + dt > simulation->time)) /* a run would never end */
            return fail(simulation, MPM_UNSTABLE, MPM_DT_TOO_SMALL, dt);
        if ((status = reserve_history(simulation)) || (status = grid_and_check(simulation, &dt, &report, &travel)))
            return status;

        if (simulation->settings.scheme.transfer == MPM_XPIC) {
            const double approach = report.approach;
            report = mpm_sweeps_filter(simulation);
            report.approach = approach;
        }
        if ((status = bin_if_due(simulation, travel)))
            return status;
        const double time = dt == end - simulation->time ? end : simulation->time + dt;
        const bool last = simulation->steps + 1 == last_step || time >= end || time >= pause;
        /* The step after this one is planned from the state before this one, the last that was measured. */
        if (simulation->settings.dt <= 0)
            simulation->natural_dt = mpm_timestep_automatic(simulation);
        double next_dt = landing_dt(planned_dt(simulation), time, end);
        const bool fuse = !last && !simulation->binning_due;
        mpm_sweep sweep =
            mpm_sweeps_describe(simulation, MPM_GATHER | MPM_MEASURE | (fuse ? MPM_SCATTER : 0));
        sweep.gather_dt = dt;
        sweep.scatter_dt = next_dt;
        mpm_measure measure;
        gather(simulation, &sweep, &measure);
        commit(simulation, dt, time, &report, &measure);
        /* A collider may have pushed a particle faster than any node, and so farther than was foreseen. */
        const bool overtaken = !simulation->binning_due && simulation->drift > 0.999;
        simulation->binning_due |= overtaken;

        if (simulation->suspect) {
            if ((status = find_trouble(simulation)))
                return status;
            simulation->suspect = false;
        }
        const bool revised = revise_plan(simulation);
        if (last)
            return MPM_OK;
        if (poll && mpm_clock_seconds() >= next_poll) {
            if (poll(context))
                return MPM_INTERRUPTED;
            next_poll = mpm_clock_seconds() + 0.05;
        }
        if (simulation->binning_due) {
            mpm_sweeps_recall(simulation);
            if ((status = bin(simulation, MPM_BIN_ALL)))
                return status;
        }
        if (revised)
            next_dt = landing_dt(planned_dt(simulation), simulation->time, end);
        if ((status = check_fixed_dt(simulation, next_dt)))
            return status;
        if (!fuse || revised || overtaken)
            scatter(simulation, next_dt);
        dt = next_dt;
    }
}

mpm_status mpm_step_run(mpm_simulation *simulation, int64_t steps, double end, double pause, mpm_poll poll,
                        void *context)
{
    if (!simulation->suspect && (steps <= 0 || !(simulation->time < end)))
        return MPM_OK; /* nothing to do changes nothing, not even the bins */
    mpm_status status = mpm_sweeps_begin(simulation, simulation->settings.threads);
    if (status)
        return status;
    status = mpm_step_settle(simulation);
    if (!status)
        status = run_steps(simulation, steps, end, pause, poll, context);
    mpm_sweeps_recall(simulation);
    if (status == MPM_UNSTABLE) /* what follows is planned anew, not from the last of the refused attempts */
        simulation->natural_dt = simulation->approach = 0;
    mpm_sweeps_end(simulation);
    return status;
}

mpm_totals mpm_step_totals(const mpm_simulation *simulation)
{
    const mpm_measure *m = &simulation->measure;
    mpm_totals t = {.time = simulation->time, .mass = m->mass, .kinetic = m->kinetic, .elastic = m->elastic};
    const mpm_wall *walls = simulation->settings.walls;
    for (int a = 0; a < 3; a++) {
        const bool lever = !mpm_walls_periodic(walls, (a + 1) % 3) && !mpm_walls_periodic(walls, (a + 2) % 3);
        t.momentum[a] = m->momentum[a];
        t.angular_momentum[a] = lever ? m->angular_momentum[a] : NAN;
        t.center_of_mass[a] = m->mass > 0 && !mpm_walls_periodic(walls, a) ? m->moment[a] / m->mass : NAN;
        if (!mpm_walls_periodic(walls, a))
            t.gravitational -= simulation->settings.gravity[a] * m->moment[a];
    }
    return t;
}
