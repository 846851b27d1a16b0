/* SPDX-License-Identifier: MIT */
#include "ranks/team.h"

#include <math.h>
#include <string.h>

enum { MOST_SUMS = MPM_TEAM_NUMBERS * MPM_EXACT_INTEGERS };

mpm_status mpm_team_fit(mpm_team *team, const mpm_allocator *allocator)
{
    const size_t count = (size_t)team->transport.processes + 1;
    if (!team->cut)
        team->equal = true;
    if (!team->cut)
        team->cut = mpm_memory_new(allocator, count, sizeof *team->cut);
    if (!team->spare_cut)
        team->spare_cut = mpm_memory_new(allocator, count, sizeof *team->spare_cut);
    return team->cut && team->spare_cut ? MPM_OK : MPM_OUT_OF_MEMORY;
}

void mpm_team_clear(mpm_team *team, const mpm_allocator *allocator)
{
    mpm_memory_free(allocator, team->cut);
    mpm_memory_free(allocator, team->spare_cut);
    team->cut = team->spare_cut = NULL;
}

void mpm_team_note(mpm_team *team, mpm_status status)
{
    if (!team->pending)
        team->pending = status;
}

mpm_status mpm_team_take(mpm_team *team)
{
    const mpm_status status = team->status;
    team->status = MPM_OK;
    return status;
}

/* The worse status, then the lower process, has the larger word. */
static double word_of(const mpm_team *team)
{
    return (double)team->pending * MPM_TEAM_PROCESSES +
           (team->pending ? MPM_TEAM_PROCESSES - 1 - team->transport.own : 0);
}

static void read_word(mpm_team *team, double word)
{
    const mpm_status status = (mpm_status)floor(word / MPM_TEAM_PROCESSES);
    team->pending = MPM_OK; /* all know it */
    if (status > team->status) {
        team->status = status;
        team->failing = MPM_TEAM_PROCESSES - 1 - (int32_t)fmod(word, MPM_TEAM_PROCESSES);
    }
}

/* Integers and maxima on their way. */
struct packet {
    int64_t sums[MOST_SUMS];
    double most[MPM_TEAM_NUMBERS + 1]; /* the last one is the status word */
    size_t sum_count, most_count;
};

static void pack(struct packet *packet, mpm_reduce rule, mpm_accumulator *at)
{
    switch (rule) {
    case MPM_REDUCE_SUM:
        mpm_exact_write(&at->sum, packet->sums + packet->sum_count);
        packet->sum_count += MPM_EXACT_INTEGERS;
        break;
    case MPM_REDUCE_COUNT:
        packet->sums[packet->sum_count++] = at->count;
        break;
    case MPM_REDUCE_LEAST:
        packet->most[packet->most_count++] = -at->extreme;
        break;
    case MPM_REDUCE_MOST:
        packet->most[packet->most_count++] = at->extreme;
        break;
    }
}

/* The same, back. */
static void unpack(struct packet *packet, mpm_reduce rule, mpm_accumulator *at)
{
    switch (rule) {
    case MPM_REDUCE_SUM:
        mpm_exact_read(&at->sum, packet->sums + packet->sum_count);
        packet->sum_count += MPM_EXACT_INTEGERS;
        break;
    case MPM_REDUCE_COUNT:
        at->count = packet->sums[packet->sum_count++];
        break;
    case MPM_REDUCE_LEAST:
        at->extreme = -packet->most[packet->most_count++];
        break;
    case MPM_REDUCE_MOST:
        at->extreme = packet->most[packet->most_count++];
        break;
    }
}

static void send(mpm_team *team, struct packet *packet)
{
    const mpm_transport *transport = &team->transport;
    packet->most[packet->most_count++] = word_of(team);
    const mpm_status status =
        transport->reduce(transport->context, packet->sums, packet->sum_count, packet->most, packet->most_count);
    if (status) { /* the others may know nothing of it */
        team->pending = team->status = status;
        team->failing = transport->own;
    } else {
        read_word(team, packet->most[packet->most_count - 1]);
    }
}

/* Packs all numbers of some reductions, or unpacks them. */
static void visit(struct packet *packet, const mpm_reduction *reductions, size_t count, mpm_accumulator *at,
                  void (*one)(struct packet *, mpm_reduce, mpm_accumulator *))
{
    packet->sum_count = packet->most_count = 0;
    for (const mpm_reduction *of = reductions; of < reductions + count; of++)
        for (const mpm_member *member = of->members; member < of->members + of->member_count; member++)
            for (int k = 0; k < member->numbers; k++)
                one(packet, member->rule, at++);
}

void mpm_team_reduce(mpm_team *team, const mpm_reduction *reductions, size_t count, mpm_accumulator *accumulators)
{
    struct packet packet;
    visit(&packet, reductions, count, accumulators, pack);
    send(team, &packet);
    visit(&packet, reductions, count, accumulators, unpack);
}

mpm_status mpm_team_agree(mpm_team *team, mpm_status status)
{
    struct packet packet;
    packet.sum_count = packet.most_count = 0;
    mpm_team_note(team, status);
    send(team, &packet);
    return mpm_team_take(team);
}

void mpm_team_exchange(mpm_team *team, const mpm_message *messages, size_t count)
{
    mpm_team_note(team, team->transport.exchange(team->transport.context, messages, count));
}

void mpm_team_add(mpm_team *team, int64_t *numbers, size_t count)
{
    double none = 0;
    for (size_t first = 0; first < count; first += MOST_SUMS) {
        const size_t some = count - first < MOST_SUMS ? count - first : MOST_SUMS;
        mpm_team_note(team, team->transport.reduce(team->transport.context, numbers + first, some, &none, 0));
    }
}

/* Exchanges elements with all others; process r has counts[r] of them. */
static void gather(mpm_team *team, mpm_message *messages, const int64_t *counts, const void *own, size_t size,
                   char *all)
{
    size_t used = 0;
    for (int32_t r = 0; r < team->transport.processes; r++) {
        const size_t bytes = (size_t)counts[r] * size, own_bytes = (size_t)counts[team->transport.own] * size;
        if (r != team->transport.own)
            messages[used++] = (mpm_message){r, own, all, own_bytes, bytes};
        else if (bytes)
            memcpy(all, own, bytes);
        all += bytes;
    }
    mpm_team_exchange(team, messages, used);
}

mpm_status mpm_team_gather(mpm_team *team, const mpm_allocator *allocator, mpm_status status, const void *own,
                           size_t count, size_t size, void **all, size_t *total)
{
    const size_t processes = (size_t)team->transport.processes;
    int64_t *counts = mpm_memory_new(allocator, processes, sizeof *counts);
    mpm_message *messages = mpm_memory_new(allocator, processes, sizeof *messages);
    *all = NULL;
    *total = 0;
    status = mpm_team_agree(team, status ? status : counts && messages ? MPM_OK : MPM_OUT_OF_MEMORY);
    if (status)
        goto done;
    counts[team->transport.own] = (int64_t)count;
    mpm_team_add(team, counts, processes);
    for (size_t r = 0; r < processes; r++)
        *total += (size_t)counts[r];
    *all = mpm_memory_new_unset(allocator, *total + 1, size);
    if (!(status = mpm_team_agree(team, *all ? MPM_OK : MPM_OUT_OF_MEMORY))) {
        gather(team, messages, counts, own, size, *all);
        status = mpm_team_agree(team, MPM_OK);
    }
done:
    mpm_memory_free(allocator, messages);
    mpm_memory_free(allocator, counts);
    if (status) {
        mpm_memory_free(allocator, *all);
        *all = NULL;
    }
    return status;
}

double mpm_team_most(mpm_team *team, double number)
{
    int64_t none = 0;
    mpm_team_note(team, team->transport.reduce(team->transport.context, &none, 0, &number, 1));
    return number;
}

/* Where one process alone has bits that are not 0, sums of integers are these bits: nothing is carried. */
void mpm_team_join(mpm_team *team, void *array, size_t bytes)
{
    int64_t words[MOST_SUMS];
    char *at = array;
    for (size_t some; bytes; at += some, bytes -= some) {
        some = bytes < sizeof words ? bytes : sizeof words;
        const size_t count = (some + sizeof *words - 1) / sizeof *words;
        words[count - 1] = 0;
        memcpy(words, at, some);
        mpm_team_add(team, words, count);
        memcpy(at, words, some);
    }
}
