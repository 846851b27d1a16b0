/* SPDX-License-Identifier: MIT */
#include "mpm/replicas.h"

#include <string.h>

mpm_status mpm_replicas_join(mpm_simulation *simulation, const mpm_transport *transport)
{
    if (simulation->distributed) { /* it belongs to the team already */
        simulation->team->failing = -1;
        return MPM_OK;
    }
    if (simulation->team || simulation->has_rigid)
        return MPM_BAD_ARGUMENT;
    simulation->team = &simulation->own_team;
    const mpm_team *last = &simulation->own_team;
    *simulation->team = (mpm_team){.transport = *transport, .failing = -1, .migrated = last->migrated,
                                   .crossed = last->crossed, .spent = last->spent};
    return MPM_OK;
}

bool mpm_replicas_leave(mpm_simulation *simulation)
{
    if (!simulation->distributed) {
        mpm_team_clear(&simulation->own_team, &simulation->run.allocator);
        simulation->team = NULL;
    }
    return !simulation->distributed;
}

mpm_status mpm_replicas_distribute(mpm_simulation *simulation)
{
    if (!simulation->team || simulation->particles.tiles)
        return MPM_BAD_ARGUMENT;
    mpm_memory_take_singly();
    simulation->distributed = simulation->team->distributed = true;
    simulation->store.team = simulation->team;
    simulation->store.fields.row[MPM_FIELD_MATERIAL].column = MPM_NO_COLUMN; /* it follows from the groups */
    return MPM_OK;
}

mpm_status mpm_replicas_agree(mpm_simulation *simulation, mpm_status status)
{
    return simulation->distributed ? mpm_team_agree(simulation->team, status) : status;
}

void mpm_replicas_join_rows(const mpm_simulation *simulation, void *rows, size_t bytes)
{
    if (simulation->distributed)
        mpm_team_join(simulation->team, rows, bytes);
}

/* ---- what a process has moved ----------------------------------------------------------------------------------- */

static size_t first_tile(const mpm_simulation *simulation, int32_t process)
{
    const mpm_particles *particles = &simulation->particles;
    const size_t group = mpm_partition_first_group(&simulation->grid, simulation->team, process);
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
    exchange(simulation, mpm_device_map(particles->device, particles->row, MPM_WRITE), first,
             (size_t)particles->lanes * sizeof *particles->row);
    mpm_device_unmap(particles->device, particles->row);
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

size_t mpm_replicas_slots(const mpm_particles *particles)
{
    return (size_t)(particles->tiles * particles->lanes);
}

int32_t mpm_replicas_holder(const mpm_simulation *simulation, int32_t row)
{
    const mpm_particles *particles = &simulation->particles;
    const int32_t processes = simulation->team ? simulation->team->transport.processes : 0;
    const int32_t *rows = mpm_device_map(particles->device, particles->row, MPM_READ);
    int32_t holder = -1;
    for (size_t slot = 0; simulation->distributed && slot < mpm_replicas_slots(particles); slot++)
        holder = rows[slot] == row ? simulation->team->transport.own : holder;
    for (int32_t r = 0; !simulation->distributed && r < processes && holder < 0 && particles->group_count; r++) {
        const size_t end = first_tile(simulation, r + 1) * (size_t)particles->lanes;
        for (size_t slot = first_tile(simulation, r) * (size_t)particles->lanes; slot < end; slot++)
            holder = rows[slot] == row ? r : holder;
    }
    mpm_device_unmap(particles->device, particles->row);
    return simulation->distributed ? (int32_t)mpm_team_most(simulation->team, holder) : holder;
}

int32_t mpm_replicas_material(const mpm_simulation *simulation, int32_t row)
{
    if (!simulation->distributed)
        return ((const int32_t *)simulation->store.rows[MPM_FIELD_MATERIAL])[row];
    const mpm_particles mapped = mpm_particles_map(&simulation->particles, 0, 0, MPM_READ);
    const size_t lanes = (size_t)mapped.lanes;
    int32_t material = -1;
    for (size_t g = 0; g < mapped.group_count; g++) {
        const size_t first = (size_t)mapped.groups[g].first_tile * lanes;
        for (size_t slot = first; slot < first + (size_t)mapped.groups[g].tiles * lanes; slot++)
            material = mapped.row[slot] == row ? mapped.groups[g].material : material;
    }
    mpm_particles_unmap(&simulation->particles, 0, 0);
    return (int32_t)mpm_team_most(simulation->team, material);
}

/* What the gather in mid step reads. */
static const mpm_grid_field gathered[] = {MPM_GRID_VELOCITY, MPM_GRID_FILL};
enum { GATHERED = sizeof gathered / sizeof *gathered };

void mpm_replicas_share(mpm_simulation *simulation)
{
    if (!simulation->team || simulation->distributed || !simulation->reports.halo.partition.processes ||
        !simulation->particles.group_count)
        return;
    share_columns(simulation);
    for (size_t k = 0; k < GATHERED; k++)
        if (simulation->grid.field[gathered[k]])
            share_nodes(simulation, simulation->grid.field[gathered[k]]);
}

mpm_status mpm_replicas_share_grid(mpm_simulation *simulation)
{
    struct halo *halo = &simulation->reports.halo;
    const mpm_allocator *allocator = &simulation->run.allocator;
    const size_t bytes = MPM_BLOCK_NODES * 4 * simulation->settings.real_size;
    void *moving = halo->blocks;
    halo->blocks = mpm_memory_new_unset(allocator, simulation->grid.block_count + 1, bytes);
    mpm_status status = mpm_replicas_agree(simulation, halo->blocks ? MPM_OK : MPM_OUT_OF_MEMORY);
    if (!status) {
        share_nodes(simulation, simulation->grid.field[MPM_GRID_VELOCITY]);
        status = mpm_replicas_agree(simulation, MPM_OK);
    }
    mpm_memory_free(allocator, halo->blocks);
    halo->blocks = moving;
    return status;
}

static void move_nodes(mpm_simulation *simulation, void *field)
{
    struct halo *halo = &simulation->reports.halo;
    const int32_t processes = simulation->team->transport.processes;
    const size_t bytes = MPM_BLOCK_NODES * 4 * simulation->settings.real_size, out = halo->first_out[processes];
    mpm_device *device = &simulation->backend->device;
    char *blocks = mpm_device_map(device, field, MPM_WRITE), *going = halo->blocks, *coming = going + out * bytes;
    size_t count = 0;
    for (size_t i = 0; i < out; i++)
        memcpy(going + i * bytes, blocks + (size_t)halo->out_blocks[i] * bytes, bytes);
    for (int32_t r = 0; r < processes; r++) {
        const mpm_message message = {.process = r, .out = going + halo->first_out[r] * bytes,
                                     .in = coming + halo->first_in[r] * bytes,
                                     .out_bytes = (halo->first_out[r + 1] - halo->first_out[r]) * bytes,
                                     .in_bytes = (halo->first_in[r + 1] - halo->first_in[r]) * bytes};
        if (message.out_bytes || message.in_bytes)
            halo->to_all[count++] = message;
    }
    mpm_team_exchange(simulation->team, halo->to_all, count);
    for (size_t i = 0; i < halo->first_in[processes]; i++)
        memcpy(blocks + (size_t)halo->in_blocks[i] * bytes, coming + i * bytes, bytes);
    mpm_device_unmap(device, field);
}

void mpm_replicas_move_nodes(mpm_simulation *simulation)
{
    for (size_t k = 0; k < GATHERED && simulation->team; k++)
        if (simulation->grid.field[gathered[k]])
            move_nodes(simulation, simulation->grid.field[gathered[k]]);
}
