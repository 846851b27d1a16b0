/* SPDX-License-Identifier: MIT */
/* sources: library */
/* Processes that run one simulation together end together: an allocation that is refused in one of them, or its poll,
 * ends all at the same whole step, from which they go on to the bits of an undisturbed run. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ledger.h"
#include "mpm/replicas.h"
#include "mpm/state.h"
#include "ranks/threads.h"

enum { PROCESSES = 2, SIDE = 12, PARTICLES = SIDE * SIDE, STEPS = 14 };

struct process {
    mpm_simulation *simulation;
    mpm_threads *threads;
    struct ledger ledger;
    int32_t own;
    long refuse;      /* the allocation of the run, from 1; 0: none */
    int64_t steps;    /* to run to */
    bool stops;       /* its poll asks to stop */
    mpm_status status;
};

static mpm_simulation *new_simulation(const mpm_allocator *allocator, int integrator)
{
    mpm_settings settings = {.dim = 2, .real_size = 8, .cells = {32, 32, 32}, .dx = 1.0 / 16, .max_dt = 4e-3,
                             .history = 1, .threads = 1, .isa = "scalar", .integrator = integrator,
                             .scheme = {.transfer = MPM_APIC, .degree = MPM_QUADRATIC, .xpic_order = 1, .c_keep = 1},
                             .beta = 1, .tolerance = 0.1, .max_iterations = 20, .gravity = {0, -9.81, 0}};
    const mpm_material material = {.law = MPM_NEO_HOOKEAN, .values = {1e4, 0.3}};
    double x[PARTICLES * 2], v[PARTICLES * 2], C[PARTICLES * 4] = {0}, F[PARTICLES * 4] = {0};
    double volume[PARTICLES], mass[PARTICLES];
    mpm_simulation *simulation;
    settings.walls[0].contact = settings.walls[1].contact = MPM_PERIODIC;
    settings.walls[2].contact = MPM_SEPARATE;
    for (int p = 0; p < PARTICLES; p++) {
        x[2 * p] = 0.1 + (p % SIDE + 0.5) / 32;
        x[2 * p + 1] = 0.05 + (p / SIDE + 0.5) / 32;
        v[2 * p] = -6;
        v[2 * p + 1] = -1;
        F[4 * p] = F[4 * p + 3] = 1;
        volume[p] = 1.0 / 1024;
        mass[p] = 1000 * volume[p];
    }
    assert(!mpm_simulation_new(&simulation, allocator, &settings));
    assert(!mpm_run_add_material(&simulation->run, &material));
    assert(!mpm_simulation_add(simulation, PARTICLES, x, v, C, F, volume, mass, 0));
    return simulation;
}

static int stop(void *context)
{
    return ((const struct process *)context)->stops;
}

static void *run(void *argument)
{
    struct process *self = argument;
    mpm_simulation *simulation = self->simulation;
    const mpm_transport transport = mpm_threads_transport(self->threads, self->own);
    assert(!mpm_replicas_join(simulation, &transport) && mpm_replicas_join(simulation, &transport));
    self->ledger.fail_at = self->refuse ? self->ledger.calls + self->refuse : 0;
    const int64_t left = self->steps - simulation->run.steps;
    self->status = mpm_run_advance(&simulation->run, left, INFINITY, INFINITY, stop, self);
    self->ledger.fail_at = 0;
    mpm_replicas_leave(simulation);
    return NULL;
}

static void run_together(struct process *process)
{
    pthread_t thread[PROCESSES];
    for (int r = 0; r < PROCESSES; r++)
        assert(!pthread_create(&thread[r], NULL, run, &process[r]));
    for (int r = 0; r < PROCESSES; r++)
        pthread_join(thread[r], NULL);
    for (int r = 1; r < PROCESSES; r++)
        assert(process[r].status == process[0].status &&
               process[r].simulation->run.steps == process[0].simulation->run.steps);
}

static void begin(struct process *process, mpm_threads **threads, int integrator)
{
    const mpm_allocator heap = mpm_memory_default();
    assert(!mpm_threads_new(threads, &heap, PROCESSES));
    for (int32_t r = 0; r < PROCESSES; r++) {
        process[r] = (struct process){.threads = *threads, .own = r, .steps = STEPS};
        const mpm_allocator allocator = {count_allocate, count_release, &process[r].ledger};
        process[r].simulation = new_simulation(&allocator, integrator);
    }
}

static void end(struct process *process, mpm_threads *threads)
{
    for (int r = 0; r < PROCESSES; r++) {
        mpm_simulation_free(process[r].simulation);
        assert(process[r].ledger.live == 0);
    }
    mpm_threads_free(threads);
}

/* The records of the history: all sums over particles at every step. */
static size_t record_bytes(const mpm_simulation *simulation)
{
    const mpm_history *history = &simulation->run.history;
    return history->count * (size_t)mpm_history_length(history) * sizeof *history->records;
}

static void agrees_with(const struct process *process, const mpm_simulation *alone)
{
    for (int r = 0; r < PROCESSES; r++) {
        const mpm_run *one = &process[r].simulation->run;
        assert(record_bytes(process[r].simulation) == record_bytes(alone));
        assert(!memcmp(one->history.records, alone->run.history.records, record_bytes(alone)));
    }
}

/* Refuses one allocation after the other in process 1; `stride`: of later ones, only one of so many. */
static void refusals_end_all(const mpm_simulation *alone, int integrator, long stride)
{
    int refused = 0;
    for (long n = 1, done = 0; !done; n += n < 40 ? 1 : stride) {
        struct process process[PROCESSES];
        mpm_threads *threads;
        begin(process, &threads, integrator);
        const long before = process[1].ledger.calls;
        process[1].refuse = n;
        run_together(process);
        done = process[1].ledger.calls < before + n;
        refused += process[0].status == MPM_OUT_OF_MEMORY;
        assert(process[0].status == MPM_OK || process[0].status == MPM_OUT_OF_MEMORY);
        process[1].refuse = 0;
        run_together(process);
        assert(!process[0].status && process[0].simulation->run.steps == STEPS);
        agrees_with(process, alone);
        end(process, threads);
    }
    assert(refused > 20);
}

static void a_poll_ends_all(void)
{
    struct process process[PROCESSES];
    mpm_threads *threads;
    begin(process, &threads, MPM_EXPLICIT);
    process[1].stops = true;
    for (int r = 0; r < PROCESSES; r++)
        process[r].steps = INT64_MAX;
    run_together(process);
    assert(process[0].status == MPM_INTERRUPTED && process[0].simulation->run.steps > 0);
    end(process, threads);
}

int main(void)
{
    const mpm_allocator heap = mpm_memory_default();
    for (int k = 0; k < 2; k++) {
        const int integrator = k ? MPM_IMPLICIT_EULER : MPM_EXPLICIT;
        mpm_simulation *alone = new_simulation(&heap, integrator);
        assert(!mpm_run_advance(&alone->run, STEPS, INFINITY, INFINITY, NULL, NULL));
        assert(alone->run.health[MPM_HEALTH_BINNINGS] > 2);
        refusals_end_all(alone, integrator, k ? 31 : 13);
        mpm_simulation_free(alone);
    }
    a_poll_ends_all();
    return 0;
}
