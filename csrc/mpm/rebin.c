/* SPDX-License-Identifier: MIT
 *
 * Binning within a simulation: when it is due, and what depends on the order of particles and on the grid.
 *
 * When particles scatter, they may be at most one cell from where they were binned. So the run sums how far particles
 * may have moved, and bins before a step that could move one of them further.
 */
#include "mpm/rebin.h"

#include <float.h>
#include <math.h>

#include "mpm/describe.h"
#include "mpm/halo.h"
#include "mpm/periodic.h"
#include "mpm/replicas.h"
#include "mpm/rigid_motion.h"
#include "mpm/state.h"
#include "mpm/sweeps.h"
#include "mpm/synchronize.h"

static const double ROOM = 0.999; /* cells that a particle may move between binnings; the rest is for round-off */

/* A binning on its way. */
struct preparation {
    mpm_simulation *simulation;
    bool begun;
};

static mpm_status prepare(void *context, const mpm_grid *grid)
{
    struct preparation *preparation = context;
    preparation->begun = true;
    return mpm_sweeps_fit(preparation->simulation, grid);
}

/* Bins, in a team of processes that have their own particles, or where each has all of them. */
static mpm_status run(mpm_simulation *simulation, mpm_team *team, const mpm_placement *placements, size_t count,
                      mpm_bin_kind kind)
{
    mpm_periodic_wrap wrap = {0};
    mpm_status status =
        mpm_halo_agree(simulation, mpm_periodic_begin(simulation, team, placements, count, &wrap));
    if (status) {
        mpm_periodic_end(simulation, &wrap, status);
        return status;
    }
    struct preparation preparation = {simulation, false};
    mpm_binning binning = {
        .allocator = &simulation->run.allocator,
        .locate = simulation->kernels->locate,
        .placements = wrap.placements ? wrap.placements : placements,
        .placement_count = count + wrap.count,
        .layers = simulation->layer,
        .drop_massless = kind == MPM_BIN_WITHOUT_MASSLESS,
        .mid_step = kind == MPM_BIN_MID_STEP,
        .prepare = prepare,
        .context = &preparation,
        .fields = mpm_describe_fields(simulation),
    };
    if (simulation->distributed)
        binning.reach = &simulation->reports.halo.needs;
    for (int axis = 0; axis < simulation->settings.dim; axis++)
        binning.symmetry[axis] = mpm_boundary_symmetry(&simulation->boundary, axis);
    mpm_backend *backend = simulation->backend;
    const struct waiting *waiting = &simulation->waiting;
    const mpm_arrivals arrivals = {waiting->arrivals, waiting->arrival_count, waiting->cell};
    status = backend->bin(backend, team, &binning, &arrivals, &simulation->particles, &simulation->grid);
    if (!preparation.begun && !team) /* the others know nothing of it */
        status = mpm_halo_agree(simulation, status);
    mpm_periodic_end(simulation, &wrap, status);
    if (!status) {
        simulation->drift = 0;
        simulation->binning_due = false;
        simulation->grid_valid = false;
        simulation->run.health[MPM_HEALTH_BINNINGS]++;
        /* Written positions are rounded differently in another block. */
        mpm_store_outdate(&simulation->store, MPM_FIELD_X);
    }
    return status;
}

mpm_status mpm_rebin_run(mpm_simulation *simulation, const mpm_placement *placements, size_t count, mpm_bin_kind kind)
{
    if (simulation->distributed)
        return run(simulation, simulation->team, placements, count, kind);
    mpm_replicas_share(simulation);
    const bool equal = simulation->own_team.equal;
    simulation->own_team.equal = true; /* the cut is one of the tasks that go */
    const mpm_status status = run(simulation, NULL, placements, count, kind);
    if (status)
        simulation->own_team.equal = equal;
    return status;
}

static mpm_status bin(mpm_simulation *simulation, mpm_bin_kind kind)
{
    const double start = mpm_clock_seconds();
    const mpm_status status = run(simulation, simulation->team, NULL, 0, kind);
    if (!status && kind == MPM_BIN_MID_STEP)
        mpm_replicas_move_nodes(simulation);
    mpm_run_spend(&simulation->run, MPM_PHASE_BINNING, start);
    return status;
}

mpm_status mpm_rebin_if_due(mpm_simulation *simulation)
{
    if (!simulation->binning_due)
        return MPM_OK;
    mpm_synchronize_particles(simulation);
    mpm_rigid_motion_place(simulation);
    return bin(simulation, MPM_BIN_ALL);
}

/* Before the gather there is less to move. But at periodic faces, some nodes that entering particles need do not exist
 * yet, and schemes that do not recompute v and C keep more on particles and nodes. */
static bool can_bin_mid_step(const mpm_simulation *simulation)
{
    return !mpm_boundary_is_periodic(&simulation->boundary) &&
           mpm_scheme_recomputes_velocity(&simulation->settings.scheme);
}

mpm_status mpm_rebin_mid_step(mpm_simulation *simulation, double travel)
{
    const bool due = simulation->drift + travel > ROOM;
    const bool after_the_step = travel > ROOM || !can_bin_mid_step(simulation);
    simulation->binning_due = due && after_the_step;
    if (!due || after_the_step)
        return MPM_OK;
    mpm_rigid_motion_place(simulation);
    const mpm_status status = bin(simulation, MPM_BIN_MID_STEP);
    if (!status)
        simulation->is_synchronized = true; /* this step computes v and C anew, so the old values are not needed */
    return status;
}

/* How far the step may have moved particles, in cells. Their advection speed bounds it more tightly than node
 * velocities do: light nodes at a surface are often twice as fast as any particle. */
static double carried(const mpm_simulation *simulation, double dt, const mpm_measure *measure)
{
    /* for positions up to 16 cells from the first node of the block */
    const double rounding = 4 * (simulation->settings.real_size == sizeof(float) ? FLT_EPSILON : DBL_EPSILON);
    const double moved = measure->advection_speed * dt / simulation->settings.dx + rounding;
    if (!measure->clamped)
        return moved;
    /* a clamped particle returns to a face from up to wall_depth beyond it; rounding adds less than 1e-5 */
    return fmax(moved, mpm_scheme_wall_depth(simulation->settings.scheme.degree) + 1e-5);
}

void mpm_rebin_note_motion(mpm_simulation *simulation, double dt, const mpm_measure *measure)
{
    simulation->drift += carried(simulation, dt, measure);
    /* A collider may have pushed a particle faster than any node moved, and so farther than planned. */
    simulation->binning_due |= simulation->drift > ROOM;
}
