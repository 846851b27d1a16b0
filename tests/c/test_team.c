/* SPDX-License-Identifier: MIT */
/* sources: base/exact.c base/memory.c base/reduction.c ranks/team.c ranks/threads.c */
/* Several processes that reduce and exchange, as threads. */
#include "check.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "random.h"
#include "ranks/threads.h"

enum { PROCESSES = 5, PARTS = 3000, ROUNDS = 40 };

struct part {
    double sum[2], least, most;
    int64_t count;
};

static const mpm_member members[] = {
    MPM_MEMBER(struct part, sum, MPM_REDUCE_SUM), MPM_MEMBER(struct part, least, MPM_REDUCE_LEAST),
    MPM_MEMBER(struct part, most, MPM_REDUCE_MOST), MPM_MEMBER(struct part, count, MPM_REDUCE_COUNT)};
enum { MEMBERS = sizeof members / sizeof *members };

struct process {
    mpm_threads *threads;
    const struct part *parts;
    int32_t own, processes;
    struct part result;
    double sums[ROUNDS];
};

static struct part reduce(mpm_team *team, const struct part *parts, size_t count)
{
    struct part result = {.least = 1e9, .most = -1e9};
    mpm_accumulator accumulators[MPM_MOST_ACCUMULATORS];
    const mpm_reduction reduction = {parts, count, sizeof *parts, members, .member_count = MEMBERS};
    mpm_reduction_accumulate(&reduction, accumulators);
    if (team)
        mpm_team_reduce(team, &reduction, 1, accumulators);
    mpm_reduction_finish(&reduction, accumulators, &result);
    return result;
}

static bool same(double a, double b)
{
    return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
}

static bool agree(const struct part *a, const struct part *b)
{
    return same(a->sum[0], b->sum[0]) && same(a->sum[1], b->sum[1]) && same(a->least, b->least) &&
           same(a->most, b->most) && a->count == b->count;
}

/* Sends each neighbour in a ring the own number, `shift` times. */
static void exchange(mpm_team *team, int32_t own, int32_t processes)
{
    int32_t out[4] = {own, own, own, own}, in[2][4] = {{0}};
    const int32_t before = (own + processes - 1) % processes, after = (own + 1) % processes;
    const size_t bytes = sizeof out;
    const mpm_message messages[2] = {{before, out, in[0], bytes, bytes}, {after, out, in[1], bytes, bytes}};
    mpm_team_exchange(team, messages, 2);
    assert(in[0][3] == before && in[1][0] == after && !team->pending);
}

static void *run(void *argument)
{
    struct process *self = argument;
    mpm_team team = {.transport = mpm_threads_transport(self->threads, self->own)};
    const size_t first = (size_t)(PARTS * self->own / self->processes);
    const size_t end = (size_t)(PARTS * (self->own + 1) / self->processes);
    self->result = reduce(&team, self->parts + first, end - first);
    assert(!team.status);
    for (int k = 0; k < ROUNDS; k++) /* few parts: sums that wait, and none */
        self->sums[k] = reduce(&team, self->parts + k, (size_t)((k + self->own) % 4)).sum[0];
    if (self->processes > 2)
        exchange(&team, self->own, self->processes);
    /* the worst status decides, then the lowest process; all of them know it after a reduction */
    mpm_team_note(&team, self->own == 1 ? MPM_TOO_LARGE : self->own == 0 ? MPM_OUT_OF_MEMORY : MPM_OK);
    mpm_team_note(&team, MPM_OUT_OF_MEMORY); /* too late for the first two */
    reduce(&team, self->parts, 1);
    reduce(&team, self->parts, 1); /* it stays until somebody takes it */
    if (self->processes > 1)
        assert(team.status == MPM_TOO_LARGE && team.failing == 1);
    assert(self->processes == 1 || mpm_team_take(&team) == MPM_TOO_LARGE);
    mpm_team_take(&team);
    assert(mpm_team_agree(&team, MPM_OK) == MPM_OK);
    assert(mpm_team_agree(&team, self->own == 0 ? MPM_UNSTABLE : MPM_OK) == MPM_UNSTABLE && team.failing == 0);
    if (self->own == 0)
        mpm_threads_break(self->threads);
    assert(mpm_team_agree(&team, MPM_OK) != MPM_OK);
    return NULL;
}

static void check(const struct part *parts, int32_t processes)
{
    const struct part expected = reduce(NULL, parts, PARTS);
    struct process process[PROCESSES];
    pthread_t thread[PROCESSES];
    mpm_threads *threads;
    const mpm_allocator heap = mpm_memory_default();
    assert(!mpm_threads_new(&threads, &heap, processes));
    for (int32_t r = 0; r < processes; r++) {
        process[r] = (struct process){.threads = threads, .parts = parts, .own = r, .processes = processes};
        assert(!pthread_create(&thread[r], NULL, run, &process[r]));
    }
    for (int32_t r = 0; r < processes; r++)
        pthread_join(thread[r], NULL);
    for (int32_t r = 0; r < processes; r++)
        assert(agree(&process[r].result, &expected) && !memcmp(process[r].sums, process[0].sums, sizeof process->sums));
    mpm_threads_free(threads);
}

int main(void)
{
    static struct part parts[PARTS];
    for (int k = 0; k < PARTS; k++) {
        const double value = ldexp(uniform(-1, 1), (int)(80 * uniform(0, 1)));
        parts[k] = (struct part){{value, uniform(-1, 1)}, value, -value, k};
    }
    for (int32_t processes = 1; processes <= PROCESSES; processes++)
        check(parts, processes);
    for (int k = 0; k < 3; k++) { /* sums that are not finite stay so, from whichever process they come */
        parts[k * 1400].sum[0] = k == 2 ? -(double)INFINITY : (double)INFINITY;
        parts[k * 1400].sum[1] = k == 1 ? (double)NAN : k;
        check(parts, 3);
    }
    return 0;
}
