/* SPDX-License-Identifier: MIT */
#include "ranks/threads.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* What a thread shows to the others between two barriers. */
struct desk {
    mpm_threads *threads;
    const mpm_message *messages;
    size_t count;
    const int64_t *sums;
    const double *most;
};

struct mpm_threads {
    mpm_allocator allocator;
    pthread_mutex_t mutex;
    pthread_cond_t all_here;
    int32_t processes, here;
    uint64_t round;
    bool broken;
    struct desk *desks;
};

/* Waits for all threads. */
static mpm_status meet(mpm_threads *threads)
{
    pthread_mutex_lock(&threads->mutex);
    const uint64_t round = threads->round;
    if (threads->broken) {
        pthread_mutex_unlock(&threads->mutex);
        return MPM_INTERRUPTED;
    }
    if (++threads->here == threads->processes) {
        threads->here = 0;
        threads->round++;
        pthread_cond_broadcast(&threads->all_here);
    }
    while (round == threads->round && !threads->broken)
        pthread_cond_wait(&threads->all_here, &threads->mutex);
    const bool alone = round == threads->round;
    pthread_mutex_unlock(&threads->mutex);
    return alone ? MPM_INTERRUPTED : MPM_OK;
}

static int32_t number_of(const struct desk *desk)
{
    return (int32_t)(desk - desk->threads->desks);
}

static mpm_status exchange(void *context, const mpm_message *messages, size_t count)
{
    struct desk *desk = context;
    desk->messages = messages;
    desk->count = count;
    mpm_status status = meet(desk->threads), fits = MPM_OK;
    for (size_t m = 0; m < count && !status; m++) {
        const struct desk *other = &desk->threads->desks[messages[m].process];
        const mpm_message *theirs = other->messages;
        while (theirs < other->messages + other->count && theirs->process != number_of(desk))
            theirs++;
        if (theirs < other->messages + other->count && theirs->out_bytes == messages[m].in_bytes)
            memcpy(messages[m].in, theirs->out, messages[m].in_bytes);
        else
            fits = MPM_BAD_ARGUMENT; /* the two disagree */
    }
    if (!status)
        status = meet(desk->threads);
    return status ? status : fits;
}

static mpm_status reduce(void *context, int64_t *sums, size_t sum_count, double *most, size_t most_count)
{
    struct desk *desk = context;
    mpm_threads *threads = desk->threads;
    uint64_t sum[4096];
    double highest[256];
    if (sum_count > sizeof sum / sizeof *sum || most_count > sizeof highest / sizeof *highest)
        return MPM_TOO_LARGE;
    desk->sums = sums;
    desk->most = most;
    mpm_status status = meet(threads);
    if (status)
        return status;
    memset(sum, 0, sum_count * sizeof *sum);
    memcpy(highest, most, most_count * sizeof *most);
    for (int32_t r = 0; r < threads->processes; r++) {
        for (size_t k = 0; k < sum_count; k++)
            sum[k] += (uint64_t)threads->desks[r].sums[k];
        for (size_t k = 0; k < most_count; k++)
            highest[k] = fmax(highest[k], threads->desks[r].most[k]);
    }
    if ((status = meet(threads)))
        return status;
    memcpy(sums, sum, sum_count * sizeof *sums);
    memcpy(most, highest, most_count * sizeof *most);
    return MPM_OK;
}

mpm_status mpm_threads_new(mpm_threads **made, const mpm_allocator *allocator, int32_t processes)
{
    *made = NULL;
    if (processes < 1)
        return MPM_BAD_ARGUMENT;
    mpm_threads *threads = mpm_memory_new(allocator, 1, sizeof *threads);
    struct desk *desks = mpm_memory_new(allocator, (size_t)processes, sizeof *desks);
    if (!threads || !desks) {
        mpm_memory_free(allocator, desks);
        mpm_memory_free(allocator, threads);
        return MPM_OUT_OF_MEMORY;
    }
    *threads = (mpm_threads){.allocator = *allocator, .processes = processes, .desks = desks};
    pthread_mutex_init(&threads->mutex, NULL);
    pthread_cond_init(&threads->all_here, NULL);
    for (int32_t r = 0; r < processes; r++)
        desks[r].threads = threads;
    *made = threads;
    return MPM_OK;
}

mpm_transport mpm_threads_transport(mpm_threads *threads, int32_t process)
{
    return (mpm_transport){&threads->desks[process], threads->processes, process, exchange, reduce};
}

void mpm_threads_break(mpm_threads *threads)
{
    pthread_mutex_lock(&threads->mutex);
    threads->broken = true;
    pthread_cond_broadcast(&threads->all_here);
    pthread_mutex_unlock(&threads->mutex);
}

void mpm_threads_free(mpm_threads *threads)
{
    if (!threads)
        return;
    const mpm_allocator allocator = threads->allocator;
    pthread_cond_destroy(&threads->all_here);
    pthread_mutex_destroy(&threads->mutex);
    mpm_memory_free(&allocator, threads->desks);
    mpm_memory_free(&allocator, threads);
}
