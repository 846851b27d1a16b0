/* SPDX-License-Identifier: MIT */
/* sources: library */
/* The whole core without Python: the same bits for any number of threads, independent simulations, and allocations
 * refused in turn without an effect on the result. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ledger.h"
#include "mpm/dispatch.h"
#include "mpm/snapshot.h"
#include "mpm/state.h"
#include "mpm/sweeps.h"
#include "mpm/synchronize.h"
#include "run/variants.h"

enum { SIDE = 4, MOST = SIDE * SIDE * SIDE };
static const double END = 0.08; /* [s] */

static const mpm_scheme standard = {.transfer = MPM_APIC, .degree = MPM_QUADRATIC, .xpic_order = 1, .c_keep = 1};
static const mpm_scheme filtered = {
    .transfer = MPM_XPIC, .gradient = MPM_GRADIENT_BSPLINE, .degree = MPM_CUBIC, .xpic_order = 2, .c_keep = 1};

static mpm_settings settings_of(int dim, size_t real_size, const char *isa, int threads)
{
    mpm_settings s = {.dim = dim, .real_size = real_size, .lower = {-1, -1, -1}, .cells = {32, 32, 32},
                      .dx = 1.0 / 16, .max_dt = INFINITY, .history = 1, .threads = threads, .isa = isa,
                      .scheme = standard, .beta = 1, .tolerance = 1e-3, .max_iterations = 20};
    s.gravity[dim - 1] = -9.81;
    return s;
}

static mpm_settings with_integrator(mpm_settings s, int integrator)
{
    s.integrator = integrator;
    s.max_dt = END / 10;
    s.tolerance = 0.1;
    return s;
}

/* The blocks cross the periodic faces and touch a mirror. */
static mpm_settings with_images(mpm_settings s)
{
    s.walls[0].contact = s.walls[1].contact = MPM_PERIODIC;
    s.walls[2].contact = MPM_MIRROR;
    s.cells[0] = 17;
    s.lower[0] = -0.25;
    s.lower[1] = -0.9375;
    return s;
}

/* With a fracture energy and a band of cracks. */
static mpm_material cracking(mpm_material material)
{
    const mpm_law *law = mpm_material_law(&material);
    for (int i = 0; i < law->parameters; i++) {
        if (!strcmp(law->parameter[i].name, "fracture_energy"))
            material.values[i] = 1;
        if (!strcmp(law->parameter[i].name, "crack_band"))
            material.values[i] = 0.1;
    }
    return material;
}

static mpm_material material_of(int law)
{
    switch (law) {
    case MPM_FLUID:
        return (mpm_material){.law = law, .values = {1e4, 7, 0, 1}};
    case MPM_SNOW:
        return (mpm_material){.law = law, .values = {1e4, 0.3, 0.01, 0.01, 5, 0.6, 20}};
    case MPM_SAND:
        return (mpm_material){.law = law, .values = {1e4, 0.3, 35, 10}};
    case MPM_MOONEY_RIVLIN:
        return (mpm_material){.law = law, .values = {2e3, 1e3, 1e4}};
    case MPM_VON_MISES:
        return (mpm_material){.law = law, .values = {1e4, 0.3, 200, 300, 500, 0}};
    case MPM_NACC:
        return (mpm_material){.law = law, .values = {1e4, 0.3, 45, 0.5, 1, -0.05}};
    case MPM_DRUCKER_PRAGER:
        return (mpm_material){.law = law, .values = {1e4, 0.3, 35, 8, 30, INFINITY, 0}};
    case MPM_MOHR_COULOMB:
        return (mpm_material){.law = law, .values = {1e4, 0.3, 35, 8, 30, INFINITY}};
    case MPM_CAM_CLAY:
        return (mpm_material){.law = law, .values = {4e3, 0.3, 0.6, 1.2, 2.5e3, 200}};
    case MPM_MU_I:
        return (mpm_material){.law = law, .values = {1e4, 0.3, 0.38, 0.64, 0.28, 0.01, 1.5}};
    case MPM_HERSCHEL_BULKLEY:
        return (mpm_material){.law = law, .values = {8e3, 4e3, 100, 50, 0.7}};
    case MPM_VISCOELASTIC:
        return (mpm_material){.law = law, .values = {1e4, 0.3, 0.4, 0.05, 0.2, 0.5, 0}};
    case MPM_OGDEN:
        return (mpm_material){.law = law, .values = {5e3, 1.5, -500, -2, 0, 0, 1e4}};
    case MPM_JOHNSON_COOK:
        return (mpm_material){.law = law,
                              .values = {4e3, 8e3, 1.5, 1, 200, 300, 0.4, 0.02, 1, 0.9, 298, 900, 298, 10, 0.9}};
    case MPM_VON_MISES_FRACTURE:
        return cracking((mpm_material){.law = law, .values = {1e4, 0.3, 200, 300, 500, 0}});
    case MPM_JOHNSON_COOK_FRACTURE:
        return cracking((mpm_material){.law = law, .values = {4e3, 8e3, 1.5, 1, 200, 300, 0.4, 0.02, 1, 0.9, 298, 900,
                                                              298, 10, 0.9, 0.01, 0.02, -1.5}});
    case MPM_DRUCKER_PRAGER_FRACTURE:
        return cracking((mpm_material){.law = law, .values = {1e4, 0.3, 35, 8, 30, 20, 0}});
    case MPM_FIBRE_REINFORCED:
        return (mpm_material){.law = law, .values = {1e4, 0.3, 1e3, 2, 1, 1, 0}};
    default:
        return (mpm_material){.law = law, .values = {1e4, 0.3}};
    }
}

static bool takes_law(const mpm_settings *settings, int law)
{
    const mpm_integrator *integrator = mpm_integrator_get(settings->integrator);
    const mpm_law_tangent tangent = mpm_laws_tangent(law);
    return !integrator->solve || (tangent != MPM_LAW_NO_TANGENT && !(integrator->linear && tangent == MPM_LAW_MAPPED));
}

/* A drifting block of particles of the last material, with its lowest corner at `at` on every axis. Volumes are given
 * if `known`, else 0. */
static mpm_status add_block(mpm_simulation *simulation, int dim, double at, int known)
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
        volume[p] *= known;
    }
    return mpm_simulation_add(simulation, n, x, v, C, F, volume, mass, mpm_run_materials(&simulation->run) - 1);
}

/* A mapped box minus a ball that moves through the blocks and rotates. */
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
    return mpm_run_add_collider(&simulation->run, &collider);
}

/* Everything that a user can make the core do. A call that is refused memory is repeated: it must have left the last
 * whole state, so that the second attempt ends where an undisturbed first attempt would have. */
#define ATTEMPT(call) \
    do { \
        mpm_status status = (call); \
        if (status == MPM_OUT_OF_MEMORY && refusals++ == 0) \
            status = (call); \
        assert(status == MPM_OK); \
    } while (0)

/* The complete state of a simulation: its snapshot, with all arrays in one piece of memory. */
struct state {
    size_t bytes;
    unsigned char *data;
    mpm_snapshot snapshot;
    char *field[MPM_MOST_FIELDS];
    size_t size[MPM_MOST_FIELDS]; /* of a particle */
};

static void *take_array(struct state *state, size_t count, size_t size)
{
    void *array = state->data ? state->data + state->bytes : NULL;
    state->bytes += count * size;
    return array;
}

/* Longer elements first, so that all are aligned. Without `data` the bytes are only counted. */
static void lay_out(const mpm_simulation *simulation, struct state *state)
{
    mpm_snapshot *s = &state->snapshot;
    size_t numbers = 0, counters = 0, bodies = 0;
    state->bytes = 0;
    mpm_snapshot_of_particles.measure(&simulation->store, s);
    while (mpm_snapshot_number((int)numbers))
        numbers++;
    while (mpm_snapshot_counter((int)counters))
        counters++;
    s->numbers = take_array(state, numbers, sizeof *s->numbers);
    s->counters = take_array(state, counters, sizeof *s->counters);
    s->id = take_array(state, s->particles, sizeof *s->id);
    s->history = take_array(state, s->records * (size_t)mpm_history_length(&simulation->run.history), sizeof(double));
    s->books = take_array(state, simulation->boundary.count * MPM_SNAPSHOT_BOOK, sizeof *s->books);
    for (size_t m = 0; m < simulation->material_count; m++)
        bodies += mpm_material_law(&simulation->materials[m])->rigid;
    s->bodies = take_array(state, bodies * MPM_SNAPSHOT_MOTION, sizeof *s->bodies);
    for (int f = 0; f < simulation->store.fields.count; f++) {
        state->size[f] = mpm_snapshot_of_particles.row_bytes(&simulation->store, f);
        state->field[f] = take_array(state, s->particles, state->size[f]);
    }
    s->group = take_array(state, s->groups * MPM_SNAPSHOT_GROUP, sizeof *s->group);
    s->row = take_array(state, s->particles, sizeof *s->row);
}

static struct state state_of(mpm_simulation *simulation)
{
    struct state state = {0};
    lay_out(simulation, &state);
    state.data = malloc(state.bytes);
    assert(state.data);
    lay_out(simulation, &state);
    mpm_snapshot_of_particles.take(&simulation->store, &state.snapshot);
    for (int f = 0; f < simulation->store.fields.count; f++)
        if (state.size[f])
            mpm_snapshot_of_particles.take_field(&simulation->store, f, 0, state.snapshot.particles, state.field[f]);
    return state;
}

/* See mpm_snapshot_source: pieces of a few particles, which begin and end within groups. */
static const void *next_particles(void *context, int field, size_t most, size_t *count)
{
    const struct state *state = context;
    *count = most < 7 ? most : 7;
    return state->field[field] + (state->snapshot.particles - most) * state->size[field];
}

static const void *no_particles(void *context, int field, size_t most, size_t *count)
{
    return field == MPM_FIELD_MASS ? NULL : next_particles(context, field, most, count);
}

/* Continues in a simulation made from a snapshot. `used` counts refusals, see ATTEMPT. */
static mpm_simulation *move(mpm_simulation *from, const mpm_allocator *allocator, int *used)
{
    int refusals = *used;
    const mpm_settings *settings = mpm_simulation_settings(from);
    struct state before = state_of(from);
    mpm_simulation *simulation;
    const char *flaw;
    const mpm_snapshot_source source = {next_particles, &before}, broken = {no_particles, &before};
    ATTEMPT(mpm_simulation_new(&simulation, allocator, settings));
    ATTEMPT(add_collider(simulation, settings->dim));
    for (int law = 0; law < MPM_LAW_COUNT; law++) {
        const mpm_material material = material_of(law);
        if (!takes_law(settings, law))
            continue;
        ATTEMPT(mpm_run_add_material(&simulation->run, &material));
    }
    mpm_store *store = &simulation->store;
    const mpm_status status = mpm_snapshot_of_particles.restore(store, &before.snapshot, &broken, &flaw);
    assert((status == MPM_BAD_STATE || status == MPM_OUT_OF_MEMORY) && !flaw); /* and nothing has changed */
    ATTEMPT(mpm_snapshot_of_particles.restore(store, &before.snapshot, &source, &flaw));
    const mpm_status again = mpm_snapshot_of_particles.restore(store, &before.snapshot, &source, &flaw);
    assert(again == MPM_BAD_STATE && flaw); /* it is not new */
    struct state after = state_of(simulation);
    assert(after.bytes == before.bytes && !memcmp(before.data, after.data, before.bytes));
    free(before.data), free(after.data);
    mpm_simulation_free(from);
    *used = refusals;
    return simulation;
}

static mpm_simulation *live(const mpm_allocator *allocator, const mpm_settings *settings)
{
    int refusals = 0;
    mpm_simulation *simulation;
    mpm_view *view;
    mpm_totals totals;
    static const double corner[MPM_LAW_COUNT] = {-0.3, 0.1, -0.9, -0.6, 0.4};
    uint8_t mask[MPM_LAW_COUNT * MOST] = {1, 0, 1};
    ATTEMPT(mpm_simulation_new(&simulation, allocator, settings));
    ATTEMPT(add_collider(simulation, settings->dim));
    for (int law = 0; law < MPM_LAW_COUNT; law++) {
        const mpm_material material = material_of(law);
        if (!takes_law(settings, law))
            continue;
        ATTEMPT(mpm_run_add_material(&simulation->run, &material));
        ATTEMPT(add_block(simulation, settings->dim, corner[law], 1));
    }
    ATTEMPT(mpm_run_advance(&simulation->run, 8 - simulation->run.steps, INFINITY, INFINITY, NULL, NULL));
    ATTEMPT(mpm_store_get(&simulation->store, MPM_FIELD_X, &view));
    ATTEMPT(mpm_run_totals(&simulation->run, &totals));
    assert(isfinite(totals.kinetic) && totals.mass > 0);
    const ptrdiff_t before = simulation->store.count;
    ATTEMPT(mpm_run_remove(&simulation->run, mask));
    assert(simulation->store.count == before - 2);
    ATTEMPT(mpm_run_totals(&simulation->run, &totals));
    simulation = move(simulation, allocator, &refusals);
    ATTEMPT(mpm_run_advance(&simulation->run, INT64_MAX, END, INFINITY, NULL, NULL));
    assert(simulation->run.time == END && simulation->run.steps > 8);
    return simulation;
}

static void threads_change_no_bit(mpm_settings settings)
{
    struct state reference = {0};
    for (int threads = 1; threads <= 4; threads++) {
        struct ledger ledger = {0};
        const mpm_allocator allocator = {count_allocate, count_release, &ledger};
        settings.threads = threads;
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

static mpm_simulation *one_block(const mpm_settings *settings, int known_volumes)
{
    const mpm_allocator allocator = mpm_memory_default();
    const mpm_material material = material_of(MPM_NEO_HOOKEAN);
    mpm_simulation *simulation;
    assert(!mpm_simulation_new(&simulation, &allocator, settings));
    assert(!mpm_run_add_material(&simulation->run, &material));
    assert(!add_block(simulation, settings->dim, -0.3, known_volumes));
    return simulation;
}

/* Different sweeps use the same memory in turn: volumes computed before the first step or in it lead to the same bits,
 * and a uniform body force gives the same momentum as gravity. */
static void sweeps_take_turns(mpm_settings settings)
{
    const int dim = settings.dim;
    mpm_totals totals, pulled, pushed;
    mpm_simulation *before = one_block(&settings, 0), *within = one_block(&settings, 0);
    assert(!mpm_run_totals(&before->run, &totals));
    assert(!mpm_run_advance(&before->run, 5, INFINITY, INFINITY, NULL, NULL));
    assert(!mpm_run_advance(&within->run, 5, INFINITY, INFINITY, NULL, NULL));
    struct state one = state_of(before), other = state_of(within);
    assert(one.bytes == other.bytes && !memcmp(one.data, other.data, one.bytes));
    free(one.data);
    free(other.data);
    mpm_simulation_free(within);
    mpm_simulation_free(before);

    settings.dt = 1e-4;
    mpm_simulation *gravity = one_block(&settings, 1);
    double b[MOST * 3];
    for (int i = 0; i < MOST * 3; i++)
        b[i] = settings.gravity[i % dim];
    memset(settings.gravity, 0, sizeof settings.gravity);
    mpm_simulation *force = one_block(&settings, 1);
    assert(!mpm_run_advance(&gravity->run, 5, INFINITY, INFINITY, NULL, NULL));
    assert(!mpm_run_totals(&gravity->run, &pulled));
    const mpm_forcing forcing = {.body_force = b};
    for (int step = 0; step < 5; step++)
        assert(!mpm_run_step_forced(&force->run, &forcing, INFINITY));
    assert(force->run.steps == 5 && !mpm_run_totals(&force->run, &pushed));
    const double limit = (settings.real_size == 4 ? 1e-6 : 1e-14) * totals.mass;
    for (int a = 0; a < 3; a++)
        assert(fabs(pushed.momentum[a] - pulled.momentum[a]) < limit);
    mpm_simulation_free(force);
    mpm_simulation_free(gravity);
}

static mpm_settings with_scheme(mpm_settings s, mpm_scheme scheme)
{
    s.scheme = scheme;
    return s;
}

/* Every law allocates as the others do, so one allocation of some is refused; for speed fewer under a sanitizer, and
 * without optimisation (coverage). */
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
enum { STRIDE = 53 };
#else
enum { STRIDE = 17 };
#endif
/* Refused allocations do not test threads, which are the same in both precisions. */
#ifdef __SANITIZE_THREAD__
enum { WITH_REFUSALS = 0, WITH_BOTH_PRECISIONS = 0 };
#else
enum { WITH_REFUSALS = 1, WITH_BOTH_PRECISIONS = 1 };
#endif

static void allocations_can_be_refused(mpm_settings settings, long stride)
{
    struct ledger ledger = {0};
    const mpm_allocator allocator = {count_allocate, count_release, &ledger};
    struct state reference = {0};
    for (long fail_at = 0; fail_at <= ledger.calls; fail_at += stride) { /* 0: no refusal */
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

static mpm_status new_with(const mpm_settings *settings)
{
    const mpm_allocator allocator = mpm_memory_default();
    mpm_simulation *simulation = (mpm_simulation *)settings; /* not a simulation */
    const mpm_status status = mpm_simulation_new(&simulation, &allocator, settings);
    assert(!simulation == (status != MPM_OK));
    mpm_simulation_free(simulation);
    return status;
}

/* Each line makes one default setting invalid, and the core must name that setting. */
static void settings_are_checked(void)
{
    const mpm_settings zeroed = {0};
    assert(mpm_settings_flaw(&zeroed) && new_with(&zeroed) == MPM_BAD_ARGUMENT);
    for (int dim = -1; dim <= 5; dim++) {
        const mpm_settings settings = mpm_settings_default(dim);
        assert(new_with(&settings) == (dim == 2 || dim == 3 ? MPM_OK : MPM_BAD_ARGUMENT));
    }
#define REFUSED(setting, value, flaw) \
    do { \
        mpm_settings settings = mpm_settings_default(2); \
        settings.setting = value; \
        assert(mpm_settings_flaw(&settings) && !strcmp(mpm_settings_flaw(&settings), flaw)); \
        assert(new_with(&settings) == MPM_BAD_ARGUMENT); \
    } while (0)
    REFUSED(real_size, 2, "dtype");
    REFUSED(dx, 0, "dx");
    REFUSED(dx, -1, "dx");
    REFUSED(dx, NAN, "dx");
    REFUSED(dx, INFINITY, "dx");
    REFUSED(lower[1], NAN, "lower");
    REFUSED(gravity[0], INFINITY, "gravity");
    REFUSED(cells[1], 0, "cells");
    REFUSED(cells[0], (int64_t)MPM_MOST_CELLS + 1, "cells");
    REFUSED(walls[3].contact, (mpm_contact)7, "walls");
    REFUSED(walls[2].friction, -1, "walls");
    REFUSED(walls[2].restitution, 0.5, "walls"); /* it slips */
    REFUSED(walls[1].contact, MPM_PERIODIC, "walls"); /* one face alone */
    REFUSED(scheme.transfer, MPM_TRANSFER_COUNT, "transfer");
    REFUSED(scheme.degree, 0, "kernel");
    REFUSED(scheme.degree, MPM_LINEAR, "gradient"); /* has no moving least squares */
    REFUSED(scheme.gradient, (mpm_gradient)2, "gradient");
    REFUSED(scheme.flip_ratio, 1.5, "flip_ratio");
    REFUSED(scheme.c_keep, NAN, "c_keep");
    REFUSED(dt, NAN, "dt");
    REFUSED(dt, -1, "dt");
    REFUSED(dt, DBL_MIN / 2, "dt"); /* the steps of double precision end there */
    REFUSED(max_dt, 0, "max_dt");
    REFUSED(on_leave[3], (mpm_leave)3, "on_leave");
    REFUSED(history, -1, "history");
    REFUSED(threads, 0, "threads");
    REFUSED(isa, "none such", "isa");
    REFUSED(integrator, MPM_INTEGRATOR_COUNT, "integrator");
    REFUSED(integrator, -1, "integrator");
#undef REFUSED
    mpm_settings narrow = mpm_settings_default(2), filter = mpm_settings_default(2), unused = mpm_settings_default(2);
    narrow.walls[0].contact = narrow.walls[1].contact = MPM_PERIODIC;
    narrow.cells[0] = 3;
    assert(!strcmp(mpm_settings_flaw(&narrow), "cells"));
    filter.scheme.transfer = MPM_XPIC;
    filter.scheme.xpic_order = 0;
    assert(!strcmp(mpm_settings_flaw(&filter), "xpic_order"));
    unused.cells[2] = unused.walls[4].contact = -1; /* of the axis that 2-D ignores */
    unused.lower[2] = NAN;
    assert(new_with(&unused) == MPM_OK);
}

/* Requests for what does not exist are refused, and have no effect on the simulation. */
static void arguments_are_checked(void)
{
    const double one[] = {0.5, 0.5}, *none = NULL;
    const mpm_allocator allocator = mpm_memory_default();
    const mpm_settings settings = mpm_settings_default(2);
    const mpm_material lawless[] = {{.law = -1}, {.law = MPM_LAW_COUNT}}, jelly = material_of(MPM_NEO_HOOKEAN);
    mpm_simulation *s;
    assert(!mpm_simulation_new(&s, &allocator, &settings));
    assert(!strcmp(mpm_simulation_settings(s)->isa, mpm_dispatch_kernels(NULL, 2, 8)->isa));
    assert(mpm_simulation_add(s, 1, one, one, NULL, NULL, one, one, 0) == MPM_BAD_ARGUMENT);
    for (int i = 0; i < 2; i++)
        assert(mpm_run_add_material(&s->run, &lawless[i]) == MPM_BAD_ARGUMENT);
    assert(mpm_run_materials(&s->run) == 0 && !mpm_run_add_material(&s->run, &jelly));
    assert(mpm_simulation_add(s, 1, one, one, NULL, NULL, one, one, 1) == MPM_BAD_ARGUMENT);
    assert(mpm_simulation_add(s, 1, one, one, NULL, NULL, one, one, -1) == MPM_BAD_ARGUMENT);
    assert(mpm_simulation_add(s, -1, one, one, NULL, NULL, one, one, 0) == MPM_BAD_ARGUMENT);
    assert(mpm_simulation_add(s, 1, none, one, NULL, NULL, one, one, 0) == MPM_BAD_ARGUMENT);
    assert(mpm_simulation_add(s, 1, one, none, NULL, NULL, one, one, 0) == MPM_BAD_ARGUMENT);
    assert(mpm_simulation_add(s, 1, one, one, NULL, NULL, none, one, 0) == MPM_BAD_ARGUMENT);
    assert(mpm_simulation_add(s, 1, one, one, NULL, NULL, one, none, 0) == MPM_BAD_ARGUMENT);
    assert(!mpm_simulation_add(s, 0, none, none, NULL, NULL, none, none, 0) && s->store.count == 0);
    /* sparse groups leave no number for the slots of more particles */
    s->particles.tiles = INT32_MAX / s->particles.lanes;
    assert(mpm_simulation_add(s, 1, one, one, NULL, NULL, one, one, 0) == MPM_TOO_LARGE && s->store.count == 0);
    s->particles.tiles = 0;

    mpm_view *view;
    const int fields = s->store.fields.count;
    assert(mpm_store_get(&s->store, -1, &view) == MPM_BAD_ARGUMENT);
    assert(mpm_store_get(&s->store, fields, &view) == MPM_BAD_ARGUMENT);
    assert(mpm_store_get(&s->store, MPM_FIELD_X, NULL) == MPM_BAD_ARGUMENT);
    assert(mpm_store_add_field(&s->store, NULL, "1", MPM_SCALAR, 0) == MPM_BAD_ARGUMENT);
    assert(mpm_store_add_field(&s->store, "own", NULL, MPM_SCALAR, 0) == MPM_BAD_ARGUMENT);
    assert(mpm_store_add_field(&s->store, "own", "1", MPM_RANKS, 0) == MPM_BAD_ARGUMENT);
    assert(mpm_store_add_field(&s->store, "x", "1", MPM_SCALAR, 0) == MPM_BAD_ARGUMENT);
    assert(s->store.fields.count == fields);

    double numbers[] = {0, 0, 0, 0.1};
    mpm_shape_node ball = {MPM_BALL, 0, 4};
    const mpm_shape shape = {.dim = 2, .node_count = 1, .number_count = 4, .nodes = &ball, .numbers = numbers};
    const mpm_collider good = {.name = "ball", .shape = shape, .contact = MPM_SLIP};
#define REFUSED(member, value) \
    do { \
        mpm_collider bad = good; \
        bad.member = value; \
        assert(mpm_run_add_collider(&s->run, &bad) == MPM_BAD_ARGUMENT); \
    } while (0)
    assert(mpm_run_add_collider(&s->run, &(mpm_collider){0}) == MPM_BAD_ARGUMENT);
    REFUSED(name, NULL);
    REFUSED(shape.dim, 3);
    REFUSED(shape.node_count, 0);
    REFUSED(contact, MPM_PERIODIC);
    REFUSED(contact, (mpm_contact)-1);
    REFUSED(friction, NAN);
    REFUSED(restitution, 2);
    REFUSED(motion.kind, (mpm_motion_kind)9);
    REFUSED(motion.kind, MPM_MOTION_KEYFRAMES); /* without any */
    REFUSED(motion.key_count, 1);               /* without numbers */
#undef REFUSED
    assert(s->boundary.count == 0 && !mpm_run_add_collider(&s->run, &good));
    assert(!add_block(s, 2, 0.2, 1) && !mpm_run_advance(&s->run, 3, INFINITY, INFINITY, NULL, NULL));
    assert(s->run.steps == 3);
    mpm_simulation_free(s);
}

/* Another integrator: it counts its steps, and adds columns to the history. */
static struct notes {
    double steps, place[3], turn[3];
} notes;

static mpm_status solve_without_forces(mpm_simulation *simulation, double dt, mpm_block_report *report)
{
    notes.steps++;
    *report = mpm_sweeps_grid(simulation, dt);
    return MPM_OK;
}

static const void *read_notes(const mpm_simulation *simulation)
{
    (void)simulation;
    return &notes;
}

static void an_integrator_is_a_row(int dim)
{
    static const mpm_history_entry columns[] = {
        {"noted_steps", MPM_HISTORY_NUMBER, offsetof(struct notes, steps)},
        {"noted_place", MPM_HISTORY_VECTOR, offsetof(struct notes, place)},
        {"noted_turn", MPM_HISTORY_TURNING, offsetof(struct notes, turn)},
    };
    static const mpm_integrator own = {.solve = solve_without_forces, .columns = columns,
                                       .column_count = 3, .recorded = read_notes, .reference = ""};
    const double expected[] = {0, 1, 2, 3, 4, 5, 6};
    mpm_settings settings = settings_of(dim, 8, "scalar", 1);
    settings.dt = 1e-4;
    mpm_simulation *usual = one_block(&settings, 1), *other = one_block(&settings, 1);
    mpm_stable_dt bound;
    other->integrator = &own; /* it has no bound by waves */
    notes = (struct notes){0, {1, 2, 3}, {4, 5, 6}};
    assert(!mpm_run_advance(&usual->run, 4, INFINITY, INFINITY, NULL, NULL));
    assert(!mpm_run_advance(&other->run, 4, INFINITY, INFINITY, NULL, NULL));
    assert(other->run.steps == 4);
    assert(!mpm_run_stable_dt(&other->run, &bound) && bound.limit == MPM_LIMIT_MOTION);
    assert(!mpm_run_stable_dt(&usual->run, &bound) && bound.limit == MPM_LIMIT_ISOLATED);

    const mpm_history *history = &other->run.history;
    const int first = mpm_history_length(&usual->run.history), length = mpm_history_length(history);
    int index = 0;
    const int extra = 1 + dim + (dim == 2 ? 1 : 3);
    assert(history->count == 5 && length == first + extra);
    while (strcmp(mpm_history_get(history, index).name, columns[0].name))
        index++;
    for (int c = 0, offset = first; c < 3; c++, index++) { /* there is no collider: they come last */
        const mpm_history_column column = mpm_history_get(history, index);
        assert(!strcmp(column.name, columns[c].name) && column.offset == offset && !column.owner);
        offset += column.width;
    }
    assert(mpm_history_get(history, index).width == 0);
    const double *own_numbers = history->records + 4 * length + first;
    assert(own_numbers[0] == 4 && !memcmp(own_numbers + 1, expected + 1, (size_t)dim * sizeof *expected));
    for (int k = 1; k < extra - dim; k++)
        assert(own_numbers[dim + k] == expected[dim == 2 ? 6 : 3 + k]);
    mpm_simulation_free(usual);
    mpm_simulation_free(other);
}

int main(void)
{
    const char *isa;
    settings_are_checked();
    arguments_are_checked();
    an_integrator_is_a_row(2);
    an_integrator_is_a_row(3);
    for (int i = 0; (isa = mpm_variants_isa(i)); i++)
        for (int dim = 2; dim <= 3; dim++)
            for (size_t real_size = 4; real_size <= 8; real_size += 4) {
                if (!WITH_BOTH_PRECISIONS && (dim == 2) != (real_size == 4))
                    continue;
                threads_change_no_bit(settings_of(dim, real_size, isa, 1));
                if (i < 2)
                    threads_change_no_bit(with_integrator(settings_of(dim, real_size, isa, 1), MPM_IMPLICIT_EULER));
                sweeps_take_turns(settings_of(dim, real_size, isa, 2));
                sweeps_take_turns(with_scheme(settings_of(dim, real_size, isa, 1), filtered));
            }
    assert(!mpm_dispatch_kernels("none such", 2, 4) && !mpm_dispatch_kernels("scalar", 4, 4));
    simulations_do_not_meet("scalar");
    if (WITH_REFUSALS) {
        allocations_can_be_refused(settings_of(2, 8, "scalar", 2), STRIDE);
        /* Hundreds of runs: synchronizing threads would take most of the time. */
        const char *vectors = mpm_variants_isa(1);
        allocations_can_be_refused(settings_of(3, 8, vectors ? vectors : "scalar", 1), STRIDE);
        allocations_can_be_refused(with_images(settings_of(2, 8, "scalar", 1)), STRIDE);
        allocations_can_be_refused(with_images(with_scheme(settings_of(3, 4, "scalar", 1), filtered)), STRIDE);
        /* Most allocations are those of an explicit run. */
        allocations_can_be_refused(
            with_integrator(with_images(settings_of(2, 8, vectors ? vectors : "scalar", 1)), MPM_IMPLICIT_MIDPOINT),
            7 * STRIDE);
    }
    return 0;
}
