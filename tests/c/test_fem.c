/* SPDX-License-Identifier: MIT */
/* sources: library */
/* Finite elements from C: what is refused, and refused memory, which must leave no trace. */
#include "check.h"
#include "ledger.h"

#include <math.h>
#include <string.h>

#include "fem/fem.h"

enum { SIDE = 7, NODES = SIDE * SIDE, ELEMENTS = 2 * (SIDE - 1) * (SIDE - 1) };

static double rest[2 * NODES], still[2 * NODES], mass[NODES], volume[NODES];
static double moduli[ELEMENTS];
static int32_t cells[3 * ELEMENTS], none[ELEMENTS], row[ELEMENTS];

/* A square of triangles, 1 m wide. */
static void lay_out(void)
{
    int e = 0;
    for (int i = 0; i < NODES; i++) {
        rest[2 * i] = i % SIDE / (double)(SIDE - 1);
        rest[2 * i + 1] = i / SIDE / (double)(SIDE - 1);
        mass[i] = volume[i] = 1.0 / NODES;
    }
    for (int y = 0; y + 1 < SIDE; y++)
        for (int x = 0; x + 1 < SIDE; x++) {
            const int32_t a = y * SIDE + x, square[] = {a, a + 1, a + SIDE + 1, a, a + SIDE + 1, a + SIDE};
            memcpy(cells + 3 * e, square, sizeof square);
            e += 2;
        }
    for (e = 0; e < ELEMENTS; e++) {
        row[e] = e;
        moduli[e] = 1e3 + 10 * e;
    }
}

static mpm_fem_settings settings_of(mpm_fem_integrator integrator)
{
    mpm_fem_settings settings = {.dim = 2, .real_size = sizeof(double), .lower = {-1, -0.01}, .upper = {3, 3},
                                 .dx = 0.5, .gravity = {0, -9.81}, .integrator = integrator, .tolerance = 1e-8,
                                 .max_iterations = 1000, .max_dt = 1e-3, .damping = {0.1, 1e-4}, .history = 1,
                                 .threads = 2};
    for (int face = 0; face < 4; face++)
        settings.walls[face] = (mpm_wall){.contact = MPM_SEPARATE, .friction = 0.3};
    return settings;
}

static const mpm_material rubber = {.law = MPM_FIXED_COROTATED, .values = {1e3, 0.3}};

static const mpm_material graded = {.law = MPM_FIXED_COROTATED, .values = {NAN, 0.3}, .varying = 1}; /* in E */

/* The nodes, the mesh and `steps` steps of a new simulation, as far as memory is there. */
static mpm_status play(mpm_fem *fem, const mpm_material *material, int64_t steps)
{
    mpm_run *run = mpm_fem_get_run(fem);
    mpm_status status = MPM_OK;
    if (!mpm_run_materials(run))
        status = mpm_run_add_material(run, material);
    if (!status && !mpm_fem_get_store(fem)->count)
        status = mpm_fem_add_nodes(fem, NODES, rest, still, mass, volume, none);
    if (!status && (status = mpm_fem_set_mesh(fem, rest, ELEMENTS, cells, none)) == MPM_BAD_ARGUMENT)
        status = MPM_OK; /* it is there already */
    if (!status && material->varying && (status = mpm_fem_parameters_set(fem, row, moduli)) == MPM_BAD_ARGUMENT)
        status = MPM_OK;
    return status ? status : mpm_run_advance(run, steps - run->steps, INFINITY, INFINITY, NULL, NULL);
}

static void arguments_are_checked(const mpm_allocator *allocator)
{
    mpm_fem_settings settings = settings_of(MPM_FEM_SYMPLECTIC_EULER), bad = settings;
    mpm_fem *fem;
    bad.dx = 0;
    assert(!strcmp(mpm_fem_settings_flaw(&bad), "spacing"));
    assert(mpm_fem_new(&fem, allocator, &bad) == MPM_BAD_ARGUMENT && !fem);
    bad = settings;
    bad.walls[0].contact = MPM_PERIODIC;
    assert(!strcmp(mpm_fem_settings_flaw(&bad), "walls"));
    bad = settings;
    bad.on_leave[1] = MPM_LEAVE_DELETE; /* nodes stay */
    assert(!strcmp(mpm_fem_settings_flaw(&bad), "on_leave"));
    bad = settings;
    bad.dt = 1e-40; /* single precision knows it as 0 */
    assert(!mpm_fem_settings_flaw(&bad));
    bad.real_size = sizeof(float);
    assert(!strcmp(mpm_fem_settings_flaw(&bad), "tolerance"));
    bad.tolerance = 1e-6;
    assert(!strcmp(mpm_fem_settings_flaw(&bad), "dt"));
    bad = settings;
    bad.damping[1] = -1;
    assert(!strcmp(mpm_fem_settings_flaw(&bad), "damping"));
    bad = settings_of(MPM_FEM_LINEARLY_IMPLICIT);
    bad.tolerance = 0;
    assert(!strcmp(mpm_fem_settings_flaw(&bad), "tolerance"));
    assert(!mpm_fem_new(&fem, allocator, &settings));
    assert(!mpm_run_advance(mpm_fem_get_run(fem), 3, INFINITY, INFINITY, NULL, NULL)); /* time goes by without a mesh */
    assert(mpm_run_add_material(mpm_fem_get_run(fem), &(mpm_material){.law = MPM_FLUID}) == MPM_BAD_ARGUMENT);
    assert(mpm_run_add_material(mpm_fem_get_run(fem), &(mpm_material){.law = MPM_SAND}) == MPM_BAD_ARGUMENT);
    assert(mpm_fem_add_nodes(fem, NODES, rest, still, mass, volume, none) == MPM_BAD_ARGUMENT); /* no material */
    assert(!mpm_run_add_material(mpm_fem_get_run(fem), &rubber));
    assert(!mpm_fem_add_nodes(fem, NODES, rest, still, mass, volume, none));
    cells[0] = NODES;
    assert(mpm_fem_set_mesh(fem, rest, ELEMENTS, cells, none) == MPM_BAD_ARGUMENT); /* no such node */
    cells[0] = cells[1];
    assert(mpm_fem_set_mesh(fem, rest, ELEMENTS, cells, none) == MPM_BAD_ARGUMENT); /* flat */
    lay_out();
    assert(mpm_fem_set_mesh(fem, rest, ELEMENTS - 2, cells, none) == MPM_BAD_ARGUMENT); /* a loose node */
    assert(mpm_fem_set_mesh(fem, rest, 0, cells, none) == MPM_BAD_ARGUMENT);
    assert(!mpm_fem_set_mesh(fem, rest, ELEMENTS, cells, none));
    assert(mpm_fem_set_mesh(fem, rest, ELEMENTS, cells, none) == MPM_BAD_ARGUMENT); /* a second mesh */
    assert(!mpm_run_advance(mpm_fem_get_run(fem), 3, INFINITY, INFINITY, NULL, NULL));
    mpm_fem_free(fem);
    assert(!mpm_fem_new(&fem, allocator, &settings)); /* a parameter that varies */
    mpm_material flawed = graded;
    flawed.parameter[0] = 2; /* the density */
    assert(mpm_run_add_material(mpm_fem_get_run(fem), &flawed) == MPM_BAD_ARGUMENT);
    assert(!mpm_run_add_material(mpm_fem_get_run(fem), &graded));
    assert(!mpm_fem_add_nodes(fem, NODES, rest, still, mass, volume, none));
    assert(mpm_fem_parameters_set(fem, row, moduli) == MPM_BAD_ARGUMENT); /* no mesh */
    assert(!mpm_fem_set_mesh(fem, rest, ELEMENTS, cells, none));
    assert(mpm_run_advance(mpm_fem_get_run(fem), 1, INFINITY, INFINITY, NULL, NULL) == MPM_BAD_ARGUMENT); /* none */
    row[1] = 0;
    assert(mpm_fem_parameters_set(fem, row, moduli) == MPM_BAD_ARGUMENT); /* twice the same row */
    row[1] = 1;
    moduli[2] = -1;
    assert(mpm_fem_parameters_set(fem, row, moduli) == MPM_BAD_ARGUMENT);
    moduli[2] = 1e3;
    assert(!mpm_fem_parameters_set(fem, row, moduli));
    assert(mpm_fem_parameters_set(fem, row, moduli) == MPM_BAD_ARGUMENT); /* again */
    assert(!mpm_run_advance(mpm_fem_get_run(fem), 3, INFINITY, INFINITY, NULL, NULL));
    mpm_fem_free(fem);
    mpm_fem_free(NULL);
}

/* A call that was refused memory and is repeated has the same result as an undisturbed call. */
static void refused_memory_leaves_no_trace(mpm_fem_integrator integrator, const mpm_material *material)
{
    struct ledger ledger = {0};
    const mpm_allocator allocator = {count_allocate, count_release, &ledger};
    const mpm_fem_settings settings = settings_of(integrator);
    mpm_totals expected, totals;
    mpm_fem *fem;
    assert(!mpm_fem_new(&fem, &allocator, &settings) && !play(fem, material, 40));
    assert(!mpm_run_totals(mpm_fem_get_run(fem), &expected));
    assert(expected.kinetic > 0 && expected.elastic > 0);
    mpm_fem_free(fem);
    assert(ledger.live == 0);
    for (int k = 1, refused = 1; refused; k++) {
        ledger.fail_at = ledger.calls + k;
        mpm_status status = mpm_fem_new(&fem, &allocator, &settings);
        if (status)
            assert(status == MPM_OUT_OF_MEMORY && !fem && !mpm_fem_new(&fem, &allocator, &settings));
        refused = status == MPM_OUT_OF_MEMORY;
        status = play(fem, material, 40);
        refused |= status == MPM_OUT_OF_MEMORY;
        assert(!status || (status == MPM_OUT_OF_MEMORY && !play(fem, material, 40)));
        status = mpm_run_totals(mpm_fem_get_run(fem), &totals);
        refused |= status == MPM_OUT_OF_MEMORY;
        assert(!status || (status == MPM_OUT_OF_MEMORY && !mpm_run_totals(mpm_fem_get_run(fem), &totals)));
        assert(!memcmp(&totals, &expected, sizeof totals));
        mpm_fem_free(fem);
        assert(ledger.live == 0 && k < 300);
    }
}

int main(void)
{
    struct ledger ledger = {0};
    const mpm_allocator allocator = {count_allocate, count_release, &ledger};
    lay_out();
    arguments_are_checked(&allocator);
    assert(ledger.live == 0);
    refused_memory_leaves_no_trace(MPM_FEM_SYMPLECTIC_EULER, &rubber);
    refused_memory_leaves_no_trace(MPM_FEM_SYMPLECTIC_EULER, &graded);
    refused_memory_leaves_no_trace(MPM_FEM_LINEARLY_IMPLICIT, &rubber);
    refused_memory_leaves_no_trace(MPM_FEM_LINEARLY_IMPLICIT, &graded);
    return 0;
}
