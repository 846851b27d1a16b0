/* SPDX-License-Identifier: MIT */
#include "mpm/replicas.h"

#include <string.h>

enum { MOST_REPLICAS = 64 };

mpm_status mpm_replicas_join(mpm_simulation *simulation, const mpm_transport *transport)
{
    if (simulation->team || simulation->has_rigid || simulation->run.loads.count ||
        transport->processes > MOST_REPLICAS)
        return MPM_BAD_ARGUMENT;
    simulation->team = mpm_memory_new(&simulation->run.allocator, 1, sizeof *simulation->team);
    if (!simulation->team)
        return MPM_OUT_OF_MEMORY;
    simulation->team->transport = *transport;
    return MPM_OK;
}

void mpm_replicas_leave(mpm_simulation *simulation)
{
    mpm_memory_free(&simulation->run.allocator, simulation->team);
    simulation->team = NULL;
}

/* ---- what a process has moved, as bytes ------------------------------------------------------------------------- */

/* Visits everything that process `from` has: calls `visit` on pieces of memory of the device. */
typedef void visitor(void *context, char *memory, size_t bytes);

struct visit {
    mpm_simulation *simulation;
    visitor *visitor;
    void *context;
    mpm_access access;
};

static size_t first_tile(const mpm_simulation *simulation, int32_t process)
{
    const mpm_grid *grid = &simulation->grid;
    const mpm_particles *particles = &simulation->particles;
    const size_t task = mpm_partition_cut(grid->task_count, simulation->team->transport.processes, process);
    const size_t group = (size_t)grid->task_group[task];
    if (group < particles->group_count)
        return (size_t)particles->groups[group].first_tile;
    const mpm_group *last = &particles->groups[particles->group_count - 1]; /* new particles wait behind it */
    return (size_t)(last->first_tile + last->tiles);
}

static void visit_columns(const struct visit *visit, int32_t from)
{
    const mpm_particles *particles = &visit->simulation->particles;
    mpm_device *device = particles->device;
    const size_t first = first_tile(visit->simulation, from), end = first_tile(visit->simulation, from + 1);
    for (int c = 0; c < particles->columns; c++) {
        const size_t tile = (size_t)(particles->width[c] * particles->lanes) * particles->real_size;
        char *column = mpm_device_map(device, particles->column[c], visit->access);
        visit->visitor(visit->context, column + first * tile, (end - first) * tile);
        mpm_device_unmap(device, particles->column[c]);
    }
}

static void visit_nodes(const struct visit *visit, int32_t from)
{
    static const mpm_grid_field fields[] = {MPM_GRID_VELOCITY, MPM_GRID_FILL};
    mpm_simulation *simulation = visit->simulation;
    const mpm_partition *partition = &simulation->reports.halo.partition;
    mpm_device *device = &simulation->backend->device;
    const size_t bytes = MPM_BLOCK_NODES * 4 * simulation->settings.real_size;
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        if (!simulation->grid.field[fields[k]])
            continue;
        char *blocks = mpm_device_map(device, simulation->grid.field[fields[k]], visit->access);
        for (size_t b = 0; b < simulation->grid.block_count; b++)
            if (partition->counting[b] == from)
                visit->visitor(visit->context, blocks + b * bytes, bytes);
        mpm_device_unmap(device, simulation->grid.field[fields[k]]);
    }
}

static void visit_all(const struct visit *visit, int32_t from)
{
    visit_columns(visit, from);
    visit_nodes(visit, from);
}

static void count(void *context, char *memory, size_t bytes)
{
    (void)memory;
    *(size_t *)context += bytes;
}

static void pack(void *context, char *memory, size_t bytes)
{
    char **at = context;
    memcpy(*at, memory, bytes);
    *at += bytes;
}

static void unpack(void *context, char *memory, size_t bytes)
{
    char **at = context;
    memcpy(memory, *at, bytes);
    *at += bytes;
}

/* Sends what is packed to all others, and takes in what they send. */
static mpm_status send(mpm_simulation *simulation, const void *packed, size_t bytes)
{
    const mpm_transport *transport = &simulation->team->transport;
    const void *out[MOST_REPLICAS];
    size_t sizes[MOST_REPLICAS], coming[MOST_REPLICAS];
    void *in = NULL;
    for (int32_t r = 0; r < transport->processes; r++) {
        out[r] = packed;
        sizes[r] = r == transport->own ? 0 : bytes;
    }
    mpm_status status = transport->migrate(transport->context, &simulation->run.allocator, out, sizes, &in, coming);
    char *at = in;
    for (int32_t r = 0; r < transport->processes && !status; r++) {
        size_t expected = 0;
        if (r == transport->own)
            continue;
        visit_all(&(struct visit){simulation, count, &expected, MPM_READ}, r);
        if (coming[r] == expected)
            visit_all(&(struct visit){simulation, unpack, &at, MPM_WRITE}, r);
        else
            status = MPM_OUT_OF_MEMORY; /* that process had no room to pack */
    }
    mpm_memory_free(&simulation->run.allocator, in);
    return status;
}

void mpm_replicas_share(mpm_simulation *simulation)
{
    mpm_team *team = simulation->team;
    if (!team || !simulation->reports.halo.partition.processes || !simulation->particles.group_count)
        return;
    const mpm_allocator *allocator = &simulation->run.allocator;
    size_t bytes = 0;
    visit_all(&(struct visit){simulation, count, &bytes, MPM_READ}, team->transport.own);
    char *packed = mpm_memory_new_unset(allocator, bytes + 1, 1), *at = packed;
    if (packed)
        visit_all(&(struct visit){simulation, pack, &at, MPM_READ}, team->transport.own);
    mpm_team_note(team, send(simulation, packed, packed ? bytes : 0));
    mpm_memory_free(allocator, packed);
}
