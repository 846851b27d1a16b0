/* SPDX-License-Identifier: MIT */
#include "mpm/loading.h"

#include <math.h>
#include <string.h>

#include "mpm/sweeps.h"

static size_t entries_of(const mpm_simulation *simulation)
{
    const int32_t *first = simulation->run.forcing.first;
    return first ? (size_t)first[simulation->store.count] : 0;
}

mpm_status mpm_loading_reserve(mpm_simulation *simulation)
{
    mpm_device *device = &simulation->backend->device;
    const size_t entries = entries_of(simulation);
    if (entries <= simulation->load_capacity)
        return MPM_OK;
    double *power = mpm_device_new(device, entries, sizeof *power);
    if (!power)
        return MPM_OUT_OF_MEMORY;
    mpm_loading_clear(simulation);
    simulation->load_power = power;
    simulation->load_capacity = entries;
    return MPM_OK;
}

void mpm_loading_clear(mpm_simulation *simulation)
{
    if (simulation->load_power)
        mpm_device_free(&simulation->backend->device, simulation->load_power);
    simulation->load_power = NULL;
    simulation->load_capacity = 0;
}

/* Does one of the regions from `first` on hold anything now? */
static bool any_holds(const mpm_simulation *simulation, int first)
{
    const int dim = simulation->settings.dim, count = (int)simulation->run.loads.count;
    const int end = first + dim < count ? first + dim : count;
    bool any = false;
    for (int k = first * dim; k < end * dim; k++)
        any |= !isnan(simulation->run.forcing.velocity[k]);
    return any;
}

void mpm_loading_mark(mpm_simulation *simulation)
{
    bool begins = true;
    if (!simulation->run.forcing.holds)
        return;
    for (int first = 0; first < (int)simulation->run.loads.count; first += simulation->settings.dim)
        if (any_holds(simulation, first) || first == 0) {
            mpm_sweeps_mark_holds(simulation, first, begins);
            begins = false;
        }
}

/* The powers of the entries of other processes are 0 here. */
static void join_powers(mpm_simulation *simulation)
{
    mpm_loads *loads = &simulation->run.loads;
    mpm_accumulator powers[MPM_TEAM_NUMBERS];
    for (size_t first = 0, count; simulation->team && first < loads->count; first += count) {
        count = loads->count - first < MPM_TEAM_NUMBERS ? loads->count - first : MPM_TEAM_NUMBERS;
        const mpm_member member = {0, (int)count, MPM_REDUCE_SUM};
        for (size_t k = 0; k < count; k++)
            powers[k].sum = loads->sums[first + k].power;
        mpm_team_reduce(simulation->team, &(mpm_reduction){.members = &member, .member_count = 1}, 1, powers);
        for (size_t k = 0; k < count; k++)
            loads->sums[first + k].power = powers[k].sum;
    }
}

void mpm_loading_measure(mpm_simulation *simulation, double dt)
{
    mpm_device *device = &simulation->backend->device;
    mpm_run *run = &simulation->run;
    const size_t entries = entries_of(simulation);
    if (!run->forcing.first)
        return;
    double *power = entries ? mpm_device_map(device, simulation->load_power, MPM_WRITE) : NULL;
    if (entries) {
        memset(power, 0, entries * sizeof *power);
        mpm_device_unmap(device, simulation->load_power);
        mpm_sweeps_load_power(simulation, dt);
        power = mpm_device_map(device, simulation->load_power, MPM_READ);
    }
    mpm_loads_sum(&run->loads, &run->forcing, simulation->settings.dim, (ptrdiff_t)entries, power);
    if (entries)
        mpm_device_unmap(device, simulation->load_power);
    join_powers(simulation);
}
