/* SPDX-License-Identifier: MIT */
/* sources: ode/march.c ode/runge_kutta.c ode/backward.c ode/steppers.c ode/systems.c ode/trajectory.c math/newton.c
 * math/krylov.c base/memory.c */
/* Steppers on a system of the caller's, as another method would write it: hard springs of which one end is fixed.
 * Errors of the system end a run, whoever calls it; memory that is refused leaves nothing behind; products of pairs are
 * the derivatives of their force. */
#include "check.h"
#include "ledger.h"

#include <math.h>
#include <stdint.h>

#include "ode/systems.h"
#include "ode/trajectory.h"

enum { COUNT = 3, STEPS = 20 };

/* f = -(x + x^3), of which the last number does not move; every call may be the one that fails. */
struct hard { double slope[COUNT]; long calls, fail_at; };

static mpm_status answer(struct hard *s)
{
    return ++s->calls == s->fail_at ? MPM_BAD_STATE : MPM_OK;
}

static mpm_status force(void *self, const double *x, const double *v, double t, double *f)
{
    (void)v, (void)t;
    for (int i = 0; i < COUNT; i++)
        f[i] = -(x[i] + x[i] * x[i] * x[i]);
    return answer(self);
}

static mpm_status linearize(void *self, const double *x, const double *v, double t)
{
    (void)v, (void)t;
    for (int i = 0; i < COUNT; i++)
        ((struct hard *)self)->slope[i] = -(1 + 3 * x[i] * x[i]);
    return answer(self);
}

static mpm_status multiply(void *self, double a, double b, const double *p, double *q)
{
    (void)b;
    for (int i = 0; i < COUNT; i++)
        q[i] = a * ((struct hard *)self)->slope[i] * p[i];
    return answer(self);
}

static mpm_status potential(void *self, const double *x, double t, double *energy)
{
    (void)t;
    for (int i = 0; i < COUNT; i++)
        *energy += x[i] * x[i] / 2 + x[i] * x[i] * x[i] * x[i] / 4;
    return answer(self);
}

struct records { double times[STEPS + 1], x[STEPS + 1][COUNT], v[STEPS + 1][COUNT], energy[STEPS + 1]; };

static mpm_status run(const mpm_stepper *stepper, struct hard *hard, const mpm_allocator *allocator,
                      mpm_trajectory_poll poll, struct records *records, mpm_trajectory *trajectory)
{
    static const double inverse_mass[COUNT] = {1, 0.5, 0}, dt = 0.05;
    const mpm_system system = {hard, COUNT, inverse_mass, force, linearize, multiply, potential};
    *records = (struct records){.x = {{1, -0.5, 0.25}}, .v = {{0, 0.5, 0}}};
    *trajectory = (mpm_trajectory){.steps = STEPS, .every = 1, .dt = &dt, .poll = poll, .times = records->times,
                                   .x = records->x[0], .v = records->v[0], .energy = records->energy};
    return mpm_trajectory_integrate(trajectory, allocator, stepper, &system);
}

static void test_every_stepper_keeps_about_the_energy(const mpm_stepper *stepper)
{
    struct hard hard = {.fail_at = 0};
    struct records records;
    mpm_trajectory trajectory;
    const mpm_allocator memory = mpm_memory_default();
    assert(!run(stepper, &hard, &memory, NULL, &records, &trajectory));
    assert(trajectory.taken == STEPS && fabs(trajectory.time - 1) < 1e-15);
    const double allowed = stepper->order == 1 ? 0.1 : 4e-3;
    for (int k = 0; k <= STEPS; k++) {
        assert(fabs(records.energy[k] / records.energy[0] - 1) < allowed);
        assert(records.x[k][2] == 0.25 && records.v[k][2] == 0);
    }
    assert(fabs(records.x[STEPS][0] - 1) > 0.5); /* it has moved */
}

/* Whichever call fails: the run ends with its status, and no call follows. */
static void test_errors_of_the_system_end_the_run(const mpm_stepper *stepper)
{
    struct hard whole = {.fail_at = 0};
    struct records records;
    mpm_trajectory trajectory;
    struct ledger ledger = {.fail_at = 0};
    const mpm_allocator memory = {count_allocate, count_release, &ledger};
    assert(!run(stepper, &whole, &memory, NULL, &records, &trajectory));
    for (long call = 1; call <= whole.calls; call++) {
        struct hard hard = {.fail_at = call};
        assert(run(stepper, &hard, &memory, NULL, &records, &trajectory) == MPM_BAD_STATE);
        assert(hard.calls == call && trajectory.taken <= STEPS);
    }
    ledger.fail_at = ledger.calls + 1;
    assert(run(stepper, &whole, &memory, NULL, &records, &trajectory) == MPM_OUT_OF_MEMORY);
    assert(ledger.live == 0);
}

static mpm_status turn(void *self, const double *y, double t, double *rate)
{
    (void)t;
    rate[0] = -y[1];
    rate[1] = y[0];
    return answer(self);
}

static void test_a_flow(const mpm_stepper *stepper)
{
    struct ledger ledger = {.fail_at = 0};
    const mpm_allocator memory = {count_allocate, count_release, &ledger};
    for (long call = 0; call <= STEPS; call++) {
        struct hard hard = {.fail_at = call};
        double times[2], x[2][2] = {{1, 0}}, dt = 0.05;
        const mpm_flow flow = {&hard, 2, turn};
        mpm_trajectory trajectory = {.steps = STEPS, .every = STEPS, .dt = &dt, .times = times, .x = x[0]};
        const mpm_status status = mpm_trajectory_advect(&trajectory, &memory, stepper, &flow);
        assert(status == (call ? MPM_BAD_STATE : MPM_OK) && ledger.live == 0);
        assert(call || (fabs(x[1][0] - cos(1)) < 0.03 && fabs(x[1][1] - sin(1)) < 0.03 && times[1] == STEPS * dt));
    }
}

static int stop(void *context)
{
    (void)context;
    return 1;
}

static void test_a_poll_stops(void)
{
    static double dt = 1e-3;
    mpm_oscillator oscillator = {1, 1, 0};
    const double inverse_mass = 1;
    const mpm_system system = mpm_systems_oscillator(&oscillator, &inverse_mass);
    const mpm_allocator memory = mpm_memory_default();
    double times, x = 1, v = 0, energy;
    mpm_trajectory trajectory = {.steps = INT64_MAX - 1, .every = INT64_MAX, .dt = &dt, .poll = stop, .times = &times,
                                 .x = &x, .v = &v, .energy = &energy};
    assert(mpm_trajectory_integrate(&trajectory, &memory, mpm_steppers_get(2), &system) == MPM_INTERRUPTED);
    assert(trajectory.taken > 0);
}

/* Against differences; springs without length, and bodies at one place, have products, too. */
static void test_products_of_pairs(void)
{
    enum { BODIES = 3, DIM = 3, SIZE = BODIES * DIM };
    static const mpm_pair pair[] = {{0, 1, 10, 0.7, 0.5, 0}, {1, 2, 3, 0, 0, 2}};
    static const double mass[BODIES] = {1, 2, 3}, inverse_mass[SIZE] = {0}, v[SIZE] = {0};
    const double x[SIZE] = {0, 0, 0, 0.5, 0.6, -0.2, 1, -0.3, 0.4};
    double p[SIZE], q[SIZE], r[SIZE], ahead[SIZE], behind[SIZE], moved[SIZE], symmetric = 0;
    mpm_pair_slope slope[2];
    mpm_pairs pairs = {.bodies = BODIES, .count = 2, .dim = DIM, .pairs = pair, .mass = mass, .slope = slope};
    const mpm_system system = mpm_systems_pairs(&pairs, inverse_mass);
    for (int i = 0; i < SIZE; i++)
        p[i] = sin(3 * i + 1);
    assert(!system.linearize(system.self, x, v, 0) && !system.multiply(system.self, 1, 0, p, q));
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < SIZE; i++)
            moved[i] = x[i] + (side ? -1e-5 : 1e-5) * p[i];
        system.force(system.self, moved, v, 0, side ? behind : ahead);
    }
    for (int i = 0; i < SIZE; i++)
        assert(fabs(q[i] - (ahead[i] - behind[i]) / 2e-5) < 1e-7);
    system.force(system.self, x, p, 0, ahead);
    system.force(system.self, x, v, 0, behind);
    system.multiply(system.self, 0, 1, p, q);
    for (int i = 0; i < SIZE; i++) {
        assert(fabs(q[i] - (ahead[i] - behind[i])) < 1e-14);
        moved[i] = cos(i);
    }
    system.multiply(system.self, 0.3, 2, p, q);
    system.multiply(system.self, 0.3, 2, moved, r);
    for (int i = 0; i < SIZE; i++)
        symmetric += moved[i] * q[i] - p[i] * r[i];
    assert(fabs(symmetric) < 1e-13);
}

int main(void)
{
    for (int i = 0; mpm_steppers_get(i); i++) {
        test_every_stepper_keeps_about_the_energy(mpm_steppers_get(i));
        test_errors_of_the_system_end_the_run(mpm_steppers_get(i));
        if (mpm_steppers_get(i)->advect)
            test_a_flow(mpm_steppers_get(i));
    }
    test_a_poll_stops();
    test_products_of_pairs();
    return 0;
}
