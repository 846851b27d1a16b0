/* SPDX-License-Identifier: MIT
 *
 * A snapshot: the complete state of a simulation besides its settings, materials and colliders, as plain arrays. A
 * restored simulation continues with the same bits. Particles are in the order of the tiles (by group, then by cell),
 * without padding, so that a snapshot is valid for any instruction set. The fields of particles, by far the most of it,
 * come and go in pieces, so that they need not be in memory twice.
 */
#pragma once
#include "mpm/simulation.h"

/* Columns of the table of groups: block (3), material, number of particles, first and last node that they may touch (3
 * each, see mpm_group). Columns of a collider's book: impulse (3), torque (3). */
enum { MPM_SNAPSHOT_GROUP = 11, MPM_SNAPSHOT_BOOK = 6 };

/** Doubles of the books: those of colliders; with contact between bodies also the work of friction and adhesion since
 *  the beginning, and an impulse (3) for every pair that has columns. */
size_t mpm_snapshot_books(const mpm_simulation *simulation);

/** The arrays belong to the caller. */
typedef struct mpm_snapshot {
    size_t groups, particles, records;  /* records of the history */
    double *numbers;                    /* the clock, see mpm_snapshot_number */
    int64_t *counters;                  /* see mpm_snapshot_counter */
    int32_t *group;                     /* [groups][MPM_SNAPSHOT_GROUP] */
    int32_t *row;                       /* [particles] */
    int64_t *id;                        /* [row] */
    double *history;                    /* [records][mpm_history_length] */
    double *books;                      /* [mpm_snapshot_books], impulses since the last record */
    double *loads;                      /* [load][MPM_LOAD_BOOK] since the last record */
} mpm_snapshot;

/** Where the fields of a snapshot come from: reals, [particles][components]; positions in cells from the first node of
 *  the group's block, J as the first number of F. */
typedef struct mpm_snapshot_source {
    /** Gives the next particles of row `field` of the field table, `*count` of them, at least 1 and at most `most`.
     *  They are read before the next call. NULL: it cannot. */
    const void *(*next)(void *context, int field, size_t most, size_t *count);
    void *context;
} mpm_snapshot_source;

/** Names of the entries of `numbers` and of `counters`; NULL beyond the last. */
const char *mpm_snapshot_number(int index);
const char *mpm_snapshot_counter(int index);

/** Reals per particle that a snapshot stores of row `field` of the field table; 0: the field follows from others. */
size_t mpm_snapshot_components(const mpm_simulation *simulation, int field);

/** Counts groups, particles and records; does not touch the arrays. */
void mpm_snapshot_measure(const mpm_simulation *simulation, mpm_snapshot *snapshot);

/** Fills the arrays, which have the sizes from mpm_snapshot_measure. The simulation must be up to date. */
void mpm_snapshot_take(mpm_simulation *simulation, const mpm_snapshot *snapshot);

/** Copies row `field` of the field table for `count` particles from number `first` on, both within their number. */
void mpm_snapshot_take_field(const mpm_simulation *simulation, int field, size_t first, size_t count, void *out);

/** Restores a snapshot in a new simulation of the same settings, materials and colliders, without particles or steps.
 *  Errors: MPM_OUT_OF_MEMORY, MPM_TOO_LARGE; MPM_BAD_STATE if the snapshot does not fit, and `*flaw` says why, or is
 *  NULL where the source has failed. On error nothing has changed. */
mpm_status mpm_snapshot_restore(mpm_simulation *simulation, const mpm_snapshot *snapshot,
                                const mpm_snapshot_source *source, const char **flaw);
