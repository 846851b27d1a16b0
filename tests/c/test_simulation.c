/* SPDX-License-Identifier: MIT */
/* sources: library */
/* The whole core without Python: the same bits for any number of threads, simulations that do not meet, and every
 * allocation refused in turn without a trace in the result. */
#include "check.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "integrate/dispatch.h"
#include "integrate/simulation.h"

enum { SIDE = 4, MOST = SIDE * SIDE * SIDE };
static const double END = 0.08; /* [s] */

/* Refuses the allocation whose number is `fail_at`; counts what is live. */
struct ledger {
    long calls, live, fail_at;
};

static void *count_allocate(void *user, size_t bytes)
{
    struct ledger *ledger = user;
    if (++ledger->calls == ledger->fail_at)
        return NULL;
    ledger->live++;
    return mpm_memory_default().allocate(NULL, bytes);
}

static void count_release(void *user, void *memory)
{
    ((struct ledger *)user)->live--;
    mpm_memory_default().release(NULL, memory);
}

static const mpm_scheme standard = {.transfer = MPM_APIC, .degree = MPM_QUADRATIC, .c_keep = 1};
static const mpm_scheme filtered = {
    .transfer = MPM_XPIC, .gradient = MPM_GRADIENT_BSPLINE, .degree = MPM_CUBIC, .xpic_order = 2, .c_keep = 1};

static mpm_settings settings_of(int dim, size_t real_size, const char *isa, int threads)
{
    mpm_settings s = {.dim = dim, .real_size = real_size, .lower = {-1, -1, -1}, .cells = {32, 32, 32},
                      .dx = 1.0 / 16, .max_dt = INFINITY, .history = 1, .threads = threads, .isa = isa,
                      .scheme = standard};
    s.gravity[dim - 1] = -9.81;
    return s;
}

/* The blocks cross the periodic faces, and stand at a mirror. */
static mpm_settings with_images(mpm_settings s)
{
    s.walls[0].contact = s.walls[1].contact = MPM_PERIODIC;
    s.walls[2].contact = MPM_MIRROR;
    s.cells[0] = 17;
    s.lower[0] = -0.25;
    s.lower[1] = -0.9375;
    return s;
}

static mpm_material material_of(int law)
{
    switch (law) {
    case MPM_FLUID:
        return (mpm_material){law, {1e4, 7}};
    case MPM_SNOW:
        return (mpm_material){law, {1e4, 0.3, 0.01, 0.01, 5}};
    default:
        return (mpm_material){law, {1e4, 0.3}};
    }
}

/* A block of particles of the last material, with its lowest corner at `at` on every axis, drifting. */
static mpm_status add_block(mpm_simulation *simulation, int dim, double at)
{
    double x[MOST * 3], v[MOST * 3], C[MOST * 9] = {0}, F[MOST * 9] = {0}, volume[MOST], mass[MOST];
    ptrdiff_t n = dim == 2 ? SIDE * SIDE : MOST;
    for (ptrdiff_t p = 0; p < n; p++) {
        ptrdiff_t rest = p;
        for (int a = 0; a < dim; a++, rest /= SIDE) {
            x[p * dim + a] = at + ((double)(rest % SIDE) + 0.5) / 32;
            v[p * dim + a] = (at < 0 ? 1 : -1) * (a + 1);
            F[(p * dim + a) * dim + a] = 1;
        }
        volume[p] = pow(1.0 / 32, dim);
        mass[p] = 1000 * volume[p];
    }
    return mpm_simulation_add(simulation, n, x, v, C, F, volume, mass, mpm_simulation_materials(simulation) - 1);
}

/* A box without a ball, under a map, that moves through the blocks and turns. */
static mpm_status add_collider(mpm_simulation *simulation, int dim)
{
    double numbers[MPM_SHAPE_MAP + 6 + 4] = {2, 0, 0, 0, 2, 0, 0, 0, 2, 0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5, 0, 0, 0, 2, 2,
                                             -0.2, -0.2, -0.2, -0.05, 0.05, 0.05, 0, 0, 0, 0.06};
    const double keys[2 * MPM_KEYFRAME] = {[MPM_KEYFRAME] = 1, 0.3, 0.1, [2 * MPM_KEYFRAME - 1] = 1};
    mpm_shape_node nodes[] = {{MPM_BOX, 1, MPM_SHAPE_MAP + 6}, {MPM_BALL, 0, 4}, {MPM_COMPLEMENT, 0, 0},
                              {MPM_INTERSECTION, 0, 0}};
    const mpm_collider collider = {
        .name = "carved box",
        .shape = {.dim = dim, .node_count = 4, .number_count = sizeof numbers / sizeof *numbers, .nodes = nodes,
                  .numbers = numbers},
        .contact = MPM_SEPARATE,
        .friction = 0.3,
        .motion = {.kind = MPM_MOTION_KEYFRAMES, .key_count = 2, .keys = keys},
    };
    assert(!mpm_shape_flaw(&collider.shape));
    return mpm_simulation_add_collider(simulation, &collider);
}

/* Everything that a user can make the core do. A call that is refused memory is made once more: it must have left the
 * last whole state, so that the second attempt ends where the first would have. */
#define ATTEMPT(call) \
    do { \
        mpm_status status = (call); \
        if (status == MPM_OUT_OF_MEMORY && refusals++ == 0) \
            status = (call); \
        assert(status == MPM_OK); \
    } while (0)

static mpm_simulation *live(const mpm_allocator *allocator, const mpm_settings *settings)
{
    int refusals = 0;
    mpm_simulation *simulation;
    mpm_mirror *mirror;
    mpm_totals totals;
    static const double corner[MPM_LAW_COUNT] = {-0.3, 0.1, -0.9, -0.6};
    uint8_t mask[MPM_LAW_COUNT * MOST] = {1, 0, 1};
    ATTEMPT(mpm_simulation_new(&simulation, allocator, settings));
    ATTEMPT(add_collider(simulation, settings->dim));
    for (int law = 0; law < MPM_LAW_COUNT; law++) {
        const mpm_material material = material_of(law);
        ATTEMPT(mpm_simulation_add_material(simulation, &material));
        ATTEMPT(add_block(simulation, settings->dim, corner[law]));
    }
    ATTEMPT(mpm_simulation_run(simulation, 8 - mpm_simulation_steps(simulation), INFINITY, INFINITY, NULL, NULL));
    ATTEMPT(mpm_simulation_field(simulation, MPM_FIELD_X, &mirror));
    ATTEMPT(mpm_simulation_totals(simulation, &totals));
    assert(isfinite(totals.kinetic) && totals.mass > 0);
    const ptrdiff_t before = mpm_simulation_count(simulation);
    ATTEMPT(mpm_simulation_delete(simulation, mask));
    assert(mpm_simulation_count(simulation) == before - 2);
    ATTEMPT(mpm_simulation_run(simulation, INT64_MAX, END, INFINITY, NULL, NULL));
    assert(mpm_simulation_time(simulation) == END && mpm_simulation_steps(simulation) > 8);
    return simulation;
}

struct state {
    size_t bytes;
    unsigned char *data;
};

static struct state state_of(const mpm_simulation *simulation)
{
    struct state state = {.bytes = mpm_simulation_resident(simulation, NULL)};
    state.data = malloc(state.bytes);
    assert(state.data);
    mpm_simulation_resident(simulation, state.data);
    return state;
}

static void threads_change_no_bit(const char *isa, int dim, size_t real_size)
{
    struct state reference = {0};
    for (int threads = 1; threads <= 4; threads++) {
        struct ledger ledger = {0};
        const mpm_allocator allocator = {count_allocate, count_release, &ledger};
        const mpm_settings settings = settings_of(dim, real_size, isa, threads);
        mpm_simulation *simulation = live(&allocator, &settings);
        struct state state = state_of(simulation);
        if (threads == 1)
            reference = state;
        else {
            assert(state.bytes == reference.bytes && !memcmp(state.data, reference.data, state.bytes));
            free(state.data);
        }
        mpm_simulation_free(simulation);
        assert(ledger.live == 0);
    }
    free(reference.data);
}

static void *live_alone(void *argument)
{
    const mpm_allocator allocator = mpm_memory_default();
    mpm_simulation_free(live(&allocator, argument));
    return NULL;
}

static void simulations_do_not_meet(const char *isa)
{
    mpm_settings a = settings_of(3, 4, isa, 2), b = settings_of(2, 8, isa, 2);
    pthread_t other;
    assert(!pthread_create(&other, NULL, live_alone, &a));
    live_alone(&b);
    assert(!pthread_join(other, NULL));
}

static mpm_settings with_scheme(mpm_settings s, mpm_scheme scheme)
{
    s.scheme = scheme;
    return s;
}

static void every_allocation_can_be_refused(mpm_settings settings)
{
    struct ledger ledger = {0};
    const mpm_allocator allocator = {count_allocate, count_release, &ledger};
    struct state reference = {0};
    for (long fail_at = 0; fail_at <= ledger.calls; fail_at++) { /* 0: none is refused */
        ledger = (struct ledger){.fail_at = fail_at};
        mpm_simulation *simulation = live(&allocator, &settings);
        struct state state = state_of(simulation);
        if (fail_at == 0)
            reference = state;
        else {
            assert(state.bytes == reference.bytes && !memcmp(state.data, reference.data, state.bytes));
            free(state.data);
        }
        mpm_simulation_free(simulation);
        assert(ledger.live == 0 && ledger.calls > 100);
    }
    free(reference.data);
}

/* What is refused says nothing about threads, and takes minutes with their sanitizer. */
#ifdef __SANITIZE_THREAD__
enum { WITH_REFUSALS = 0 };
#else
enum { WITH_REFUSALS = 1 };
#endif

int main(void)
{
    const char *isa;
    for (int i = 0; (isa = mpm_dispatch_isa(i)); i++)
        for (int dim = 2; dim <= 3; dim++)
            for (size_t real_size = 4; real_size <= 8; real_size += 4)
                threads_change_no_bit(isa, dim, real_size);
    assert(!mpm_dispatch_kernels("none such", 2, 4) && !mpm_dispatch_kernels("scalar", 4, 4));
    simulations_do_not_meet("scalar");
    if (WITH_REFUSALS) {
        every_allocation_can_be_refused(settings_of(2, 8, "scalar", 2));
        every_allocation_can_be_refused(settings_of(3, 8, "portable", 2));
        every_allocation_can_be_refused(with_images(settings_of(2, 8, "scalar", 2)));
        every_allocation_can_be_refused(with_images(with_scheme(settings_of(3, 4, "scalar", 2), filtered)));
    }
    return 0;
}
