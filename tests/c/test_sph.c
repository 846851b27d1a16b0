/* SPDX-License-Identifier: MIT */
/* sources: library */
/* SPH from C: every allocation refused in turn without an effect on the result, threads, sparse domains, arguments. */
#include "ledger.h"

#include <math.h>

#include "mpm/dispatch.h"
#include "run/variants.h"
#include "sph/sph.h"

enum { SIDE = 7, MOST = SIDE * SIDE * SIDE };

static mpm_sph_settings settings_of(int dim, size_t real_size, const char *isa, int threads)
{
    mpm_sph_settings settings = mpm_sph_settings_default(dim);
    settings.real_size = real_size;
    settings.isa = isa;
    settings.threads = threads;
    settings.alpha = 0.1;
    settings.gravity[dim - 1] = -10;
    settings.walls[0].contact = settings.walls[1].contact = MPM_PERIODIC;
    settings.walls[2].contact = MPM_STICKY;
    return settings;
}

/* A ball that moves along x, in the fluid. */
static mpm_status add_ball(mpm_sph *sph, int dim)
{
    double numbers[4] = {0.5, 0.1, 0, 0.1};
    mpm_shape_node node = {.kind = MPM_BALL, .size = 4};
    char name[] = "ball";
    const mpm_collider ball = {.name = name, .shape = {.dim = dim, .node_count = 1, .number_count = 4, .nodes = &node,
                                                       .numbers = numbers},
                               .contact = MPM_STICKY, .motion = {.kind = MPM_MOTION_LINEAR, .vector = {0.5}}};
    const double low[3] = {0.3, -0.1, -0.2}, high[3] = {0.7, 0.3, 0.2};
    const mpm_status status = mpm_run_add_collider(mpm_sph_get_run(sph), &ball);
    return status ? status : mpm_sph_fill_collider(sph, 0, low, high, NULL, NULL);
}

/* A block of fluid; the last particle is far away if `sparse`. */
static ptrdiff_t places(const mpm_sph_settings *settings, bool sparse, double *x, double *v)
{
    const int dim = settings->dim, depth = dim == 3 ? SIDE : 1;
    ptrdiff_t count = 0;
    for (int k = 0; k < SIDE * SIDE * depth; k++, count++) {
        const int at[3] = {k % SIDE, k / SIDE % SIDE, k / (SIDE * SIDE)};
        for (int a = 0; a < dim; a++) {
            x[count * dim + a] = settings->lower[a] + (at[a] + (a == dim - 1 ? 8.5 : 0.5)) * settings->spacing;
            v[count * dim + a] = a == 0 ? 0.3 : 0;
        }
    }
    for (int a = 0; a < dim && sparse; a++)
        x[(count - 1) * dim + a] = settings->lower[a] + ((double)settings->cells[a] - 0.5) * settings->spacing;
    return count;
}

/* Whatever is refused memory is called once more. */
#define AGAIN(call) \
    do { \
        mpm_status status_ = (call); \
        assert(status_ == MPM_OK || status_ == MPM_OUT_OF_MEMORY); \
        if (status_) \
            assert((call) == MPM_OK); \
    } while (0)

/* Adds, runs, deletes, runs on. Fills in the positions; returns the number of records. */
static size_t live(const mpm_allocator *allocator, const mpm_sph_settings *settings, bool sparse, double *result)
{
    const mpm_material water = {.law = MPM_FLUID, .values = {1e5, 7, 1, 0}};
    static double x[3 * MOST], v[3 * MOST];
    double at[3] = {0.5, 0.5, 0.5}, quantity[MOST], found;
    uint8_t mask[MOST] = {0, 1, 0, 1};
    mpm_sph *sph;
    mpm_view *view;
    mpm_totals totals;
    AGAIN(mpm_sph_new(&sph, allocator, settings));
    assert(!mpm_run_add_material(mpm_sph_get_run(sph), &water));
    assert(mpm_run_add_material(mpm_sph_get_run(sph), &water) == MPM_BAD_ARGUMENT);
    mpm_status status = add_ball(sph, settings->dim);
    if (status && mpm_sph_get_run(sph)->boundary->count)
        AGAIN(mpm_sph_fill_collider(sph, 0, (double[]){0.3, -0.1, -0.2}, (double[]){0.7, 0.3, 0.2}, NULL, NULL));
    else if (status)
        AGAIN(add_ball(sph, settings->dim));
    const ptrdiff_t count = places(settings, sparse, x, v);
    AGAIN(mpm_sph_add(sph, count, x, v));
    mpm_run *run = mpm_sph_get_run(sph);
    for (int goal = 5; goal <= 15; goal += 5) {
        while (run->steps < goal)
            AGAIN(mpm_run_advance(run, goal - run->steps, INFINITY, INFINITY, NULL, NULL));
        if (goal == 5)
            AGAIN(mpm_run_remove(run, mask));
        if (goal == 10)
            AGAIN(mpm_store_get(mpm_sph_get_store(sph), MPM_SPH_X, &view));
    }
    AGAIN(mpm_run_totals(mpm_sph_get_run(sph), &totals));
    for (ptrdiff_t i = 0; i < MOST; i++)
        quantity[i] = 1;
    AGAIN(mpm_sph_interpolate(sph, 1, at, MPM_SCALAR, false, quantity, &found));
    mpm_store *store = mpm_sph_get_store(sph);
    assert(store->count == count - 2 && fabs(totals.mass) > 0);
    for (ptrdiff_t i = 0; i < store->count * settings->dim; i++)
        result[i] = settings->real_size == 4 ? (double)((float *)store->rows[MPM_SPH_X])[i]
                                             : ((double *)store->rows[MPM_SPH_X])[i];
    const size_t records = store->run->history.count;
    mpm_sph_free(sph);
    return records;
}

static void allocations_can_be_refused(mpm_sph_settings settings)
{
    static double first[3 * MOST], result[3 * MOST];
    struct ledger ledger = {0};
    const mpm_allocator allocator = {count_allocate, count_release, &ledger};
    for (long fail_at = 0; fail_at <= ledger.calls; fail_at++) { /* 0: no refusal */
        ledger = (struct ledger){.fail_at = fail_at};
        assert(live(&allocator, &settings, false, fail_at ? result : first) == 16);
        assert(ledger.live == 0 && ledger.calls > 50);
        assert(!fail_at || !memcmp(first, result, sizeof first));
    }
}

static void threads_change_no_bit(mpm_sph_settings settings)
{
    static double one[3 * MOST], three[3 * MOST];
    const mpm_allocator memory = mpm_memory_default();
    live(&memory, &settings, true, one);
    settings.threads = 3;
    live(&memory, &settings, true, three);
    assert(!memcmp(one, three, sizeof one));
}

/* In a domain of 10^5 spacings a side, pages have many cells. The flow is the same but for rounded positions. */
static void memory_does_not_grow_with_the_domain(mpm_sph_settings settings)
{
    static double x[3 * MOST], v[3 * MOST];
    const mpm_material water = {.law = MPM_FLUID, .values = {1e5, 7, 1, 0}};
    const mpm_allocator memory = mpm_memory_default();
    mpm_stable_dt bound;
    mpm_sph *sph;
    for (int a = 0; a < settings.dim; a++)
        settings.cells[a] = 100000;
    assert(!mpm_sph_new(&sph, &memory, &settings) && !mpm_run_add_material(mpm_sph_get_run(sph), &water));
    const ptrdiff_t count = places(&settings, true, x, v);
    assert(!mpm_sph_add(sph, count, x, v));
    assert(!mpm_run_advance(mpm_sph_get_run(sph), 20, INFINITY, INFINITY, NULL, NULL));
    size_t particles, lists, views, colliders;
    mpm_sph_memory(sph, &particles, &lists, &views, &colliders);
    assert(particles + lists < 4 << 20);
    assert(!mpm_run_stable_dt(mpm_sph_get_run(sph), &bound) && bound.limit == MPM_LIMIT_WAVE && bound.row >= 0);
    mpm_sph_free(sph);
}

static void settings_are_checked(void)
{
    mpm_sph_settings settings = mpm_sph_settings_default(3);
    assert(!mpm_sph_settings_flaw(&settings));
    settings.smoothing = 0.5;
    assert(!strcmp(mpm_sph_settings_flaw(&settings), "smoothing"));
    settings = mpm_sph_settings_default(2);
    settings.walls[1].contact = MPM_PERIODIC;
    assert(!strcmp(mpm_sph_settings_flaw(&settings), "walls"));
    settings = mpm_sph_settings_default(2);
    settings.cells[1] = 3;
    assert(!strcmp(mpm_sph_settings_flaw(&settings), "cells"));
    settings = mpm_sph_settings_default(2);
    settings.isa = "none such";
    assert(!strcmp(mpm_sph_settings_flaw(&settings), "isa"));
    const mpm_allocator memory = mpm_memory_default();
    mpm_sph *sph;
    assert(mpm_sph_new(&sph, &memory, &settings) == MPM_BAD_ARGUMENT && !sph);
}

int main(void)
{
    const char *isa;
    settings_are_checked();
    for (int i = 0; (isa = mpm_variants_isa(i)); i++)
        for (int dim = 2; dim <= 3; dim++)
            for (size_t real_size = 4; real_size <= 8; real_size += 4) {
                threads_change_no_bit(settings_of(dim, real_size, isa, 1));
                if (real_size == 8)
                    memory_does_not_grow_with_the_domain(settings_of(dim, real_size, isa, 1));
            }
    allocations_can_be_refused(settings_of(2, 8, "scalar", 2));
    allocations_can_be_refused(settings_of(3, 4, "scalar", 1));
    return 0;
}
