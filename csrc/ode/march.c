/* SPDX-License-Identifier: MIT */
#include "ode/march.h"

#include <math.h>

mpm_status mpm_march_start(mpm_march *march, const mpm_allocator *allocator, const mpm_system *system)
{
    enum { ARRAYS = 4 + MPM_MARCH_SCRATCH };
    *march = (mpm_march){.system = system, .allocator = *allocator};
    const size_t count = (size_t)system->count;
    if (!(march->x = mpm_memory_new(allocator, count, ARRAYS * sizeof(double))))
        return MPM_OUT_OF_MEMORY;
    march->v = march->x + count;
    march->moved = march->x + 2 * count;
    march->a = march->x + 3 * count;
    for (size_t k = 0; k < MPM_MARCH_SCRATCH; k++)
        march->scratch[k] = march->x + (4 + k) * count;
    return MPM_OK;
}

void mpm_march_clear(mpm_march *march)
{
    mpm_memory_free(&march->allocator, march->x);
}

mpm_status mpm_march_accelerate(const mpm_march *march, const double *x, const double *v, double t, double *a)
{
    const mpm_system *system = march->system;
    const mpm_status status = system->force(system->self, x, v, t, a);
    for (ptrdiff_t i = 0; i < system->count; i++)
        a[i] = system->inverse_mass[i] > 0 ? a[i] * system->inverse_mass[i] : 0;
    return status;
}

static mpm_status rate(void *self, const double *y, double t, double *rate)
{
    const mpm_march *march = self;
    const ptrdiff_t count = march->system->count;
    for (ptrdiff_t i = 0; i < count; i++)
        rate[i] = y[count + i];
    return mpm_march_accelerate(march, y, y + count, t, rate + count);
}

mpm_flow mpm_march_flow(mpm_march *march)
{
    return (mpm_flow){.self = march, .count = 2 * march->system->count, .rate = rate};
}

mpm_status mpm_march_energy(const mpm_march *march, double *energy)
{
    const mpm_system *system = march->system;
    double potential = 0, kinetic = 0;
    const mpm_status status = system->potential(system->self, march->x, march->time, &potential);
    for (ptrdiff_t i = 0; i < system->count; i++)
        if (system->inverse_mass[i] > 0)
            kinetic += 0.5 * march->v[i] * march->v[i] / system->inverse_mass[i];
    *energy = kinetic + potential;
    return status;
}

bool mpm_march_is_finite(const double *numbers, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++)
        if (!isfinite(numbers[i]))
            return false;
    return true;
}
