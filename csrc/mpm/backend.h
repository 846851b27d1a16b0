/* SPDX-License-Identifier: MIT
 *
 * A back end owns the memory that kernels work on, and launches them. The CPU is the first one (cpu_backend.h). Columns
 * of particles, what nodes carry, reports and the scratch of solves are memory of its device. The tables of groups,
 * blocks, tasks and images, materials and colliders, and the descriptions below belong to the host; a back end with
 * memory of its own copies them.
 *
 * A launch may end later than its call, but whatever the host maps, or reduces, is complete. Descriptions last as long
 * as the call.
 */
#pragma once
#include "base/device.h"
#include "base/reduction.h"
#include "mpm/kernels/kernels.h"
#include "mpm/memory/binning.h"
#include "mpm/memory/migration.h"
#include "mpm/memory/partition.h"

/** What a pass does to every block of nodes, and then, if it joins, to those that wait for others. */
typedef enum mpm_pass_kind {
    MPM_PASS_GRID,       /* `stage`: mpm_kernels.grid_block; joins by grid_place */
    MPM_PASS_MEANS,      /* `field`: means_block; joins by means_fold */
    MPM_PASS_VOLUMES,    /* `stage`: volumes_block; joins by volumes_fold */
    MPM_PASS_FILL,       /* `stage`: fill_block */
    MPM_PASS_DAMAGE,     /* damage_block */
    MPM_PASS_AXES,       /* axes_block */
    MPM_PASS_VECTORS,    /* `vectors`: nodes_block; joins by nodes_fold */
    MPM_PASS_COUNT_CONSTRAINED, /* `stage`, `constrained`: constrained_room, which becomes the count of each block */
    MPM_PASS_FIND_CONSTRAINED,
    MPM_PASS_REVISE_CONSTRAINED, /* with `tolerance`; the changes of each block become its first sum */
    MPM_PASS_ENTER_CONSTRAINED,
    MPM_PASS_MARK_HOLDS, /* `holds`: hold_mark */
    MPM_PASS_HEAT        /* `heat`: heat_block; joins by heat_fold of every block */
} mpm_pass_kind;

typedef struct mpm_pass {
    mpm_pass_kind kind;
    bool joins;
    const mpm_grid *grid;
    mpm_grid_field field;
    const mpm_grid_pass *stage;
    const mpm_node_pass *vectors;
    const mpm_constrained_nodes *constrained;
    const mpm_hold_pass *holds;
    const mpm_heat_pass *heat;
    double tolerance;
    double (*sums)[2]; /* per block */
} mpm_pass;

typedef struct mpm_backend mpm_backend;
struct mpm_backend {
    mpm_device device; /* the first member */

    /** What of the tasks and blocks of the present grid launches work on; NULL: all. */
    const mpm_partition *partition;

    void (*free)(mpm_backend *backend);

    /** Begins a run, on the host's pool of threads. Errors: MPM_OUT_OF_MEMORY, MPM_DEVICE_FAILED; nothing has begun. */
    mpm_status (*begin)(mpm_backend *backend, mpm_pool *pool);

    /** Ends a run, also one that has not begun. */
    void (*end)(mpm_backend *backend);

    /** The operation on the particles of every task, or of those of the partition. `workspaces` of the sweep is left to
     *  the back end. */
    void (*sweep)(mpm_backend *backend, const mpm_sweep *sweep, mpm_operation operation,
                  const mpm_arguments *arguments);

    void (*pass)(mpm_backend *backend, const mpm_pass *pass);

    /** Says that this may be the next pass, after the sweep that has been launched: a back end whose launches end later
     *  may begin it before the host has read what the sweep measured, and drop it if another launch comes. NULL: there
     *  is nothing to gain. */
    void (*foresee)(mpm_backend *backend, const mpm_pass *pass);

    /** mpm_binning_run, or, with a team, mpm_migration_run; loop and pool are left to the back end. */
    mpm_status (*bin)(mpm_backend *backend, mpm_team *team, const mpm_binning *binning, const mpm_arrivals *arrivals,
                      mpm_particles *particles, mpm_grid *grid);

    /** mpm_reduction_accumulate, of parts in memory of the device. Nothing is rounded: others may add their share. */
    void (*reduce)(mpm_backend *backend, const mpm_reduction *reduction, mpm_accumulator *accumulators);

    /** Prepares the launches of a step, where that may fail. A state can be measured without it. NULL: there is nothing
     *  to prepare. */
    mpm_status (*ready)(mpm_backend *backend);

    /** Why launches have come to nothing, which have no status of their own. NULL: they cannot fail. */
    mpm_status (*status)(mpm_backend *backend);

    /** After sweeps over values that are not finite: scratch that outlives a sweep may hold some of them. */
    void (*clean)(mpm_backend *backend);
};
