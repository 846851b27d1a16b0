/* SPDX-License-Identifier: MIT
 *
 * The processes that run one simulation together: a team. A transport moves bytes between them and computes nothing but
 * sums of integers and maxima, so that nothing depends on it. Every process calls the same functions in the same order.
 *
 * A failure of one process must end all of them at the same step. So a process that fails goes on calling, and every
 * reduction carries a status word: the worst status of all, then the lowest process, is known to all after it.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/reduction.h"
#include "base/status.h"

enum {
    MPM_TEAM_PROCESSES = 1 << 20, /* a team has fewer */
    MPM_TEAM_NUMBERS = 56         /* numbers that travel in one reduction at most */
};

/** What goes to another process and what comes from it; its size is known to both. */
typedef struct mpm_message {
    int32_t process;
    const void *out;
    void *in;
    size_t out_bytes, in_bytes;
} mpm_message;

/** How bytes travel. Calls return when all has arrived. Their errors are told to the team; contents that have not
 *  arrived may be anything. */
typedef struct mpm_transport {
    void *context;
    int32_t processes, own; /* their number; the own one, from 0 on */

    /** Sends and receives `count` messages, ascending in the process. */
    mpm_status (*exchange)(void *context, const mpm_message *messages, size_t count);

    /** Replaces each of the integers by its sum, modulo 2^64, and each of the doubles by its maximum. */
    mpm_status (*reduce)(void *context, int64_t *sums, size_t sum_count, double *most, size_t most_count);
} mpm_transport;

typedef struct mpm_team {
    mpm_transport transport;
    bool distributed;   /* each process has some of the particles alone, not room for all */
    mpm_status pending; /* of the own process, which the others do not know yet */
    mpm_status status;  /* the worst that reductions have told since mpm_team_take */
    int32_t failing;    /* the lowest process with the last status that was not OK; -1: there was none */
    int32_t *cut, *spare_cut; /* per process: its first task of the present grid; one more at the end; NULL or `equal`:
                               * all have as many */
    bool equal;
    int64_t migrated, crossed; /* particles that binnings have moved to other processes; those of them that had crossed
                                * a cut of before */
    int64_t spent;             /* by own tasks up to the last binning [ns of a processor] */
} mpm_team;

/** The first of `count` things that a process has a share of, which are as many as those of others; that of process
 *  `processes` is `count`. */
static inline size_t mpm_team_cut(size_t count, int32_t processes, int32_t process)
{
    return count * (size_t)process / (size_t)processes;
}

/** The first of `tasks` tasks that a process has; that of process `processes` is `tasks`. */
static inline size_t mpm_team_first_task(const mpm_team *team, size_t tasks, int32_t process)
{
    return team->cut && !team->equal ? (size_t)team->cut[process]
                                     : mpm_team_cut(tasks, team->transport.processes, process);
}

/** Makes room for cuts that follow the particles. Errors: MPM_OUT_OF_MEMORY. */
mpm_status mpm_team_fit(mpm_team *team, const mpm_allocator *allocator);
void mpm_team_clear(mpm_team *team, const mpm_allocator *allocator);

/** Notes an error of the own process, unless it has failed already. */
void mpm_team_note(mpm_team *team, mpm_status status);

/** The status of the team as of the last reduction, which every process gets; it is OK again. */
mpm_status mpm_team_take(mpm_team *team);

/** Adds to the `accumulators` of `count` reductions, MPM_TEAM_NUMBERS in all at most, those of all other processes. A
 *  status that is not MPM_OK makes them meaningless. */
void mpm_team_reduce(mpm_team *team, const mpm_reduction *reductions, size_t count, mpm_accumulator *accumulators);

/** Notes `status` and takes that of the team: a reduction of nothing else. */
mpm_status mpm_team_agree(mpm_team *team, mpm_status status);

void mpm_team_exchange(mpm_team *team, const mpm_message *messages, size_t count);

/** Gives all processes the elements of all, process by process: `*all` has `*total` of `size` bytes, which the caller
 *  frees. The team agrees on `status` first, and again on what fails; then nothing is left allocated. */
mpm_status mpm_team_gather(mpm_team *team, const mpm_allocator *allocator, mpm_status status, const void *own,
                           size_t count, size_t size, void **all, size_t *total);

/** Replaces integers by their sums over the processes. */
void mpm_team_add(mpm_team *team, int64_t *numbers, size_t count);

/** The largest of the numbers that the processes have. */
double mpm_team_most(mpm_team *team, double number);

/** Gives all processes an array of which each has some bytes, and zeros in place of the others. */
void mpm_team_join(mpm_team *team, void *array, size_t bytes);
