/* SPDX-License-Identifier: MIT */
#include "ode/trajectory.h"

#include <string.h>

#include "base/clock.h"

static const double POLL_INTERVAL = 0.05; /* [s] */

enum { NUMBERS_BETWEEN_LOOKS = 4096 }; /* at the clock, which costs as much as a step of a small system */

/* What the loop does to a state, be it of a system or of a flow. */
struct state {
    void *self;
    ptrdiff_t numbers;
    mpm_status (*step)(void *self, double t, double dt);
    bool (*is_finite)(const void *self);
    mpm_status (*record)(void *self, ptrdiff_t row);
};

/* The time after step k + 1: a product where steps are equal, so that times do not drift. */
static double time_after(const mpm_trajectory *trajectory, int64_t k)
{
    return trajectory->changing ? trajectory->time + trajectory->dt[k] : (double)(k + 1) * trajectory->dt[0];
}

static mpm_status run(mpm_trajectory *trajectory, const struct state *state)
{
    double next_poll = mpm_clock_seconds() + POLL_INTERVAL;
    ptrdiff_t unseen = 0;
    mpm_status status = state->record(state->self, 0);
    for (int64_t k = 0; !status && k < trajectory->steps; k++) {
        const double dt = trajectory->dt[trajectory->changing ? k : 0];
        trajectory->failed_dt = dt;
        status = state->step(state->self, trajectory->time, dt);
        if (!status && !state->is_finite(state->self))
            status = MPM_UNSTABLE;
        if (status)
            return status;
        trajectory->failed_dt = 0;
        trajectory->time = time_after(trajectory, k);
        trajectory->taken = k + 1;
        if (trajectory->taken % trajectory->every == 0)
            status = state->record(state->self, (ptrdiff_t)(trajectory->taken / trajectory->every));
        unseen += state->numbers;
        if (!status && trajectory->poll && unseen >= NUMBERS_BETWEEN_LOOKS) {
            unseen = 0;
            if (mpm_clock_seconds() >= next_poll) {
                status = trajectory->poll(trajectory->context) ? MPM_INTERRUPTED : MPM_OK;
                next_poll = mpm_clock_seconds() + POLL_INTERVAL;
            }
        }
    }
    return status;
}

/* ---- a system ---------------------------------------------------------------------------------------------------- */

struct system_state {
    mpm_trajectory *trajectory;
    const mpm_stepper *stepper;
    mpm_march march;
};

static mpm_status step_system(void *self, double t, double dt)
{
    struct system_state *s = self;
    s->march.time = t;
    return mpm_steppers_step(s->stepper, &s->march, dt);
}

static bool system_is_finite(const void *self)
{
    const mpm_march *march = &((const struct system_state *)self)->march;
    return mpm_march_is_finite(march->x, 2 * march->system->count);
}

static mpm_status record_system(void *self, ptrdiff_t row)
{
    struct system_state *s = self;
    mpm_trajectory *trajectory = s->trajectory;
    const ptrdiff_t count = s->march.system->count;
    memcpy(trajectory->x + row * count, s->march.x, (size_t)count * sizeof(double));
    memcpy(trajectory->v + row * count, s->march.v, (size_t)count * sizeof(double));
    s->march.time = trajectory->times[row] = trajectory->time;
    return mpm_march_energy(&s->march, &trajectory->energy[row]);
}

mpm_status mpm_trajectory_integrate(mpm_trajectory *trajectory, const mpm_allocator *allocator,
                                    const mpm_stepper *stepper, const mpm_system *system)
{
    struct system_state s = {.trajectory = trajectory, .stepper = stepper};
    mpm_status status = mpm_march_start(&s.march, allocator, system);
    if (!status) {
        memcpy(s.march.x, trajectory->x, (size_t)system->count * sizeof(double));
        memcpy(s.march.v, trajectory->v, (size_t)system->count * sizeof(double));
        const struct state state = {&s, system->count, step_system, system_is_finite, record_system};
        status = run(trajectory, &state);
        trajectory->newton = s.march.newton;
    }
    mpm_march_clear(&s.march);
    return status;
}

/* ---- a flow ------------------------------------------------------------------------------------------------------ */

struct flow_state {
    mpm_trajectory *trajectory;
    const mpm_stepper *stepper;
    const mpm_flow *flow;
    double *y, *scratch;
};

static mpm_status step_flow(void *self, double t, double dt)
{
    struct flow_state *s = self;
    return s->stepper->advect(s->flow, s->y, t, dt, s->scratch);
}

static bool flow_is_finite(const void *self)
{
    const struct flow_state *s = self;
    return mpm_march_is_finite(s->y, s->flow->count);
}

static mpm_status record_flow(void *self, ptrdiff_t row)
{
    struct flow_state *s = self;
    memcpy(s->trajectory->x + row * s->flow->count, s->y, (size_t)s->flow->count * sizeof(double));
    s->trajectory->times[row] = s->trajectory->time;
    return MPM_OK;
}

mpm_status mpm_trajectory_advect(mpm_trajectory *trajectory, const mpm_allocator *allocator, const mpm_stepper *stepper,
                                 const mpm_flow *flow)
{
    enum { ARRAYS = 4 };
    struct flow_state s = {.trajectory = trajectory, .stepper = stepper, .flow = flow};
    if (!(s.y = mpm_memory_new_unset(allocator, (size_t)flow->count, ARRAYS * sizeof(double))))
        return MPM_OUT_OF_MEMORY;
    s.scratch = s.y + flow->count;
    memcpy(s.y, trajectory->x, (size_t)flow->count * sizeof(double));
    const struct state state = {&s, flow->count, step_flow, flow_is_finite, record_flow};
    const mpm_status status = run(trajectory, &state);
    mpm_memory_free(allocator, s.y);
    return status;
}
