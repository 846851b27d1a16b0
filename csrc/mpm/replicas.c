/* SPDX-License-Identifier: MIT */
#include "mpm/replicas.h"

#include <string.h>

mpm_status mpm_replicas_join(mpm_simulation *simulation, const mpm_transport *transport)
{
    if (simulation->team || simulation->has_rigid)
        return MPM_BAD_ARGUMENT;
    simulation->team = &simulation->own_team;
    *simulation->team = (mpm_team){.transport = *transport};
    return MPM_OK;
}

void mpm_replicas_leave(mpm_simulation *simulation)
{
    simulation->team = NULL;
}

/* ---- what a process has moved ----------------------------------------------------------------------------------- */

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

/* Exchanges what every process has of an array: process r from first[r] to before first[r + 1], in `unit` bytes. */
static void exchange(mpm_simulation *simulation, char *array, const size_t *first, size_t unit)
{
    const int32_t own = simulation->team->transport.own;
    mpm_message *messages = simulation->reports.halo.to_all;
    size_t count = 0;
    for (int32_t r = 0; r < simulation->team->transport.processes; r++) {
        const mpm_message message = {.process = r, .out = array + first[own] * unit, .in = array + first[r] * unit,
                                     .out_bytes = (first[own + 1] - first[own]) * unit,
                                     .in_bytes = (first[r + 1] - first[r]) * unit};
        if (r != own && (message.out_bytes || message.in_bytes))
            messages[count++] = message;
    }
    mpm_team_exchange(simulation->team, messages, count);
}

static void share_columns(mpm_simulation *simulation)
{
    mpm_particles *particles = &simulation->particles;
    size_t *first = simulation->reports.halo.first;
    for (int32_t r = 0; r <= simulation->team->transport.processes; r++)
        first[r] = first_tile(simulation, r);
    for (int c = 0; c < particles->columns; c++) {
        const size_t tile = (size_t)(particles->width[c] * particles->lanes) * particles->real_size;
        exchange(simulation, mpm_device_map(particles->device, particles->column[c], MPM_WRITE), first, tile);
        mpm_device_unmap(particles->device, particles->column[c]);
    }
}

/* Blocks follow each other by the process that counts them, here and in no other order. */
static void share_nodes(mpm_simulation *simulation, void *field)
{
    struct halo *halo = &simulation->reports.halo;
    const int32_t *counting = halo->partition.counting, processes = simulation->team->transport.processes;
    const size_t bytes = MPM_BLOCK_NODES * 4 * simulation->settings.real_size, count = simulation->grid.block_count;
    mpm_device *device = &simulation->backend->device;
    char *blocks = mpm_device_map(device, field, MPM_WRITE);
    size_t at = 0;
    for (int32_t r = 0; r < processes; r++) {
        halo->first[r] = at;
        for (size_t b = 0; b < count; b++)
            if (counting[b] == r)
                memcpy((char *)halo->blocks + bytes * at++, blocks + bytes * b, bytes);
    }
    halo->first[processes] = at;
    exchange(simulation, halo->blocks, halo->first, bytes);
    at = 0;
    for (int32_t r = 0; r < processes; r++)
        for (size_t b = 0; b < count; b++)
            if (counting[b] == r)
                memcpy(blocks + bytes * b, (char *)halo->blocks + bytes * at++, bytes);
    mpm_device_unmap(device, field);
}

void mpm_replicas_share(mpm_simulation *simulation)
{
    static const mpm_grid_field fields[] = {MPM_GRID_VELOCITY, MPM_GRID_FILL};
    if (!simulation->team || !simulation->reports.halo.partition.processes || !simulation->particles.group_count)
        return;
    share_columns(simulation);
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        if (simulation->grid.field[fields[k]])
            share_nodes(simulation, simulation->grid.field[fields[k]]);
}
