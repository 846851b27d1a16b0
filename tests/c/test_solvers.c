/* SPDX-License-Identifier: MIT */
/* sources: math/krylov.c math/newton.c contact/constraint.c contact/contacts.c contact/exposed.c contact/collider.c
 * contact/motion.c contact/shape.c contact/lattice.c base/exact.c base/memory.c */
/* The solvers of implicit steps without a simulation: conjugate gradients on small matrices, Newton's method on
 * energies of two unknowns, and the contacts of one node, also without a solve. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "contact/constraint.h"
#include "math/newton.h"
#include "random.h"

/* ---- conjugate gradients ----------------------------------------------------------------------------------------- */

enum { N = 12 };

/* A x = b with the preconditioner D. Residuals are measured with M. */
struct dense {
    int n;
    double A[N][N], M[N], D[N], b[N], x[N], r[N], p[N], q[N];
    int64_t products;
};

static mpm_krylov_residual residual_of(const struct dense *d)
{
    mpm_krylov_residual sum = {0, 0};
    for (int i = 0; i < d->n; i++) {
        sum.norm2 += d->r[i] * d->r[i] / d->M[i];
        sum.preconditioned += d->r[i] * d->r[i] / d->D[i];
    }
    return sum;
}

static double multiply(void *self)
{
    struct dense *d = self;
    double curvature = 0;
    d->products++;
    for (int i = 0; i < d->n; i++) {
        d->q[i] = 0;
        for (int j = 0; j < d->n; j++)
            d->q[i] += d->A[i][j] * d->p[j];
        curvature += d->p[i] * d->q[i];
    }
    return curvature;
}

static mpm_krylov_residual advance(void *self, double a)
{
    struct dense *d = self;
    for (int i = 0; i < d->n; i++) {
        d->x[i] += a * d->p[i];
        d->r[i] -= a * d->q[i];
    }
    return residual_of(d);
}

static void redirect(void *self, double b)
{
    struct dense *d = self;
    for (int i = 0; i < d->n; i++)
        d->p[i] = d->r[i] / d->D[i] + b * d->p[i];
}

/* x = 0, r = b, p = D^-1 r */
static mpm_krylov_residual start(struct dense *d)
{
    for (int i = 0; i < d->n; i++) {
        d->x[i] = 0;
        d->r[i] = d->b[i];
        d->p[i] = d->r[i] / d->D[i];
    }
    d->products = 0;
    return residual_of(d);
}

static mpm_krylov solve(struct dense *d, double tolerance, int64_t most)
{
    const mpm_linear_system system = {d, multiply, advance, redirect};
    const mpm_krylov_residual first = start(d);
    const mpm_krylov result = mpm_krylov_solve(&system, first, tolerance * tolerance * first.norm2, most);
    assert(result.products == d->products);
    return result;
}

/* A = M + B^T B with the same B in every run. */
static struct dense definite(void)
{
    struct dense d = {.n = N};
    double B[N][N];
    for (int k = 0; k < N * N; k++)
        B[k / N][k % N] = sin(1 + k * k) / 2;
    for (int i = 0; i < N; i++) {
        d.M[i] = d.D[i] = 1 + i;
        d.b[i] = cos(i);
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                d.A[i][j] += B[k][i] * B[k][j];
        d.A[i][i] += d.M[i];
    }
    return d;
}

/* b M^-1 b */
static double size_of(const struct dense *d)
{
    double size = 0;
    for (int i = 0; i < d->n; i++)
        size += d->b[i] * d->b[i] / d->M[i];
    return size;
}

/* |b - A x|/|b|, recomputed */
static double error_of(const struct dense *d)
{
    double square = 0;
    for (int i = 0; i < d->n; i++) {
        double r = d->b[i];
        for (int j = 0; j < d->n; j++)
            r -= d->A[i][j] * d->x[j];
        square += r * r / d->M[i];
    }
    return sqrt(square / size_of(d));
}

static void definite_systems_are_solved(void)
{
    struct dense d = definite();
    mpm_krylov result = solve(&d, 1e-12, N);
    printf("conjugate gradients: %d products, %.1e\n", (int)result.products, error_of(&d));
    fflush(stdout);
    assert(!result.indefinite && error_of(&d) < 1e-11); /* measured 3e-15 */
    result = solve(&d, 1e-12, 3);
    assert(result.products == 3 && !result.indefinite && result.residual.norm2 > 0);
    assert(fabs(sqrt(result.residual.norm2) - error_of(&d) * sqrt(size_of(&d))) < 1e-12); /* it is the residual of x */

    /* three different eigenvalues of M^-1 A: three products */
    memset(d.A, 0, sizeof d.A);
    for (int i = 0; i < N; i++)
        d.A[i][i] = d.M[i] * pow(10, i % 3);
    result = solve(&d, 1e-12, N);
    assert(result.products == 3 && error_of(&d) < 1e-11); /* measured 5e-16 */

    memset(d.b, 0, sizeof d.b);
    result = solve(&d, 0, N);
    assert(result.products == 0 && result.residual.norm2 == 0 && !result.indefinite);
}

/* With D = A, one product; and the norm that ends the solve is that of M, not of D. */
static void a_preconditioner_changes_the_way_and_not_the_norm(void)
{
    struct dense d = definite();
    memset(d.A, 0, sizeof d.A);
    for (int i = 0; i < N; i++)
        d.A[i][i] = d.D[i] = d.M[i] * pow(10, i - N / 2);
    mpm_krylov result = solve(&d, 1e-12, N);
    assert(result.products == 1 && error_of(&d) < 1e-12);

    d = definite();
    for (int i = 0; i < N; i++)
        d.D[i] = d.M[i] * pow(10, i % 3);
    result = solve(&d, 1e-3, N);
    assert(result.products < N && fabs(sqrt(result.residual.norm2 / size_of(&d)) - error_of(&d)) < 1e-12);
    assert(error_of(&d) <= 1e-3 && result.residual.preconditioned < result.residual.norm2);
}

static void indefinite_systems_are_reported(void)
{
    struct dense d = definite();
    for (int i = 0; i < N; i++)
        d.A[i][i] -= 100 * d.M[i];
    assert(solve(&d, 1e-12, N).indefinite && d.products == 1);
    for (int i = 0; i < N; i++)
        assert(d.x[i] == d.b[i] / d.M[i]); /* the direction of descent */

    /* the first direction sees positive curvature; the next one does not, and x stays where it was */
    d = (struct dense){.n = 2, .A = {{2, 0}, {0, -1}}, .M = {1, 1}, .D = {1, 1}, .b = {1, 0.5}};
    const mpm_krylov result = solve(&d, 1e-12, N);
    assert(result.indefinite && result.products == 2);
    const double along = 1.25 / 1.75; /* b b/(b A b) */
    assert(fabs(d.x[0] - along) < 1e-15 && fabs(d.x[1] - 0.5 * along) < 1e-15);
    assert(fabs(result.residual.norm2 - residual_of(&d).norm2) < 1e-15);

    d.A[1][1] = NAN;
    assert(solve(&d, 1e-12, N).indefinite && d.products == 1);
}

/* ---- Newton's method --------------------------------------------------------------------------------------------- */

/* An energy of v, with gradient g and second derivatives H; infinite where it returns so. */
typedef double energy_of(const double v[2], double g[2], double H[2][2]);

enum { MOST_NOTED = 64 };

struct energy {
    struct dense linear; /* of the correction */
    energy_of *of;
    double v[2], trial[2];
    double least;     /* residual that rounding leaves */
    double none;      /* the residual where there is no energy: infinite or NaN */
    double target[2]; /* where the initial model sees the minimum */
    int models[MOST_NOTED], solves;
};

static mpm_newton_point evaluate(void *self, double step)
{
    struct energy *e = self;
    double g[2], H[2][2];
    for (int i = 0; i < 2; i++)
        e->trial[i] = e->v[i] + step * e->linear.x[i];
    const double energy = e->of(e->trial, g, H);
    const double residual = isfinite(energy) ? fmax(sqrt(g[0] * g[0] + g[1] * g[1]), e->least) : e->none;
    return (mpm_newton_point){.energy = energy, .residual = residual};
}

static mpm_krylov_residual linearize(void *self, mpm_newton_model model)
{
    struct energy *e = self;
    double g[2], H[2][2];
    e->of(e->v, g, H);
    e->linear.n = 2;
    for (int i = 0; i < 2; i++) {
        const bool initial = model == MPM_NEWTON_INITIAL;
        e->linear.M[i] = e->linear.D[i] = 1;
        e->linear.b[i] = initial ? e->target[i] - e->v[i] : -g[i];
        for (int j = 0; j < 2; j++)
            e->linear.A[i][j] = initial ? i == j : H[i][j];
    }
    assert(e->solves < MOST_NOTED);
    e->models[e->solves++] = (int)model;
    const int64_t products = e->linear.products;
    const mpm_krylov_residual residual = start(&e->linear);
    e->linear.products = products;
    return residual;
}

static void accept(void *self)
{
    struct energy *e = self;
    memcpy(e->v, e->trial, sizeof e->v);
}

static mpm_newton_problem problem_of(struct energy *e)
{
    return (mpm_newton_problem){.self = e, .system = {&e->linear, multiply, advance, redirect}, .evaluate = evaluate,
                                .linearize = linearize, .accept = accept, .tolerance = 1e-9, .floor = 0,
                                .energy_rounding = 1e-13, .most = 20, .most_products = 100};
}

/* The sum of cosh, whose minimum is at (1, -2). */
static double bowl(const double v[2], double g[2], double H[2][2])
{
    const double x = v[0] - 1, y = v[1] + 2;
    g[0] = sinh(x) + 0.5 * y;
    g[1] = sinh(y) + 0.5 * x;
    H[0][0] = cosh(x);
    H[1][1] = cosh(y);
    H[0][1] = H[1][0] = 0.5;
    return cosh(x) + cosh(y) + 0.5 * x * y;
}

/* v_0 - ln v_0 + v_1^2/2: none for v_0 <= 0. */
static double barrier(const double v[2], double g[2], double H[2][2])
{
    g[0] = 1 - 1 / v[0];
    g[1] = v[1];
    H[0][0] = 1 / (v[0] * v[0]);
    H[1][1] = 1;
    H[0][1] = H[1][0] = 0;
    return v[0] > 0 ? v[0] - log(v[0]) + 0.5 * v[1] * v[1] : INFINITY;
}

/* Residuals fall from the first, which counts as 1; far from the solution the tangent is projected, then exact. */
static void minimum_is_found(void)
{
    struct energy e = {.of = bowl, .v = {3, 1}};
    mpm_newton_problem problem = problem_of(&e);
    mpm_newton result;
    const double first = evaluate(&e, 0).residual, reference = mpm_newton_solve(&problem, 0, false, &result);
    assert(reference == first && result.end == MPM_NEWTON_CONVERGED && result.backtracks == 0);
    assert(result.residual[0] == 1 && result.residual[result.iterations] <= problem.tolerance);
    assert(fabs(e.v[0] - 1) < 1e-7 && fabs(e.v[1] + 2) < 1e-7);
    assert(e.solves == result.iterations && e.linear.products == result.products);
    for (int k = 0; k < result.iterations; k++) {
        assert(result.residual[k + 1] < result.residual[k]);
        assert(e.models[k] == (result.residual[k] > 0.05 ? MPM_NEWTON_PROJECTED : MPM_NEWTON_EXACT));
    }
    assert(e.models[0] == MPM_NEWTON_PROJECTED && e.models[result.iterations - 1] == MPM_NEWTON_EXACT);

    /* at the start already: relative to a reference that was given, or by rounding */
    assert(mpm_newton_solve(&problem, reference, true, &result) == reference);
    assert(result.end == MPM_NEWTON_CONVERGED && result.iterations == 0 && result.products == 0);
    problem.floor = 1e-3;
    e.v[0] = 1.0005;
    mpm_newton_solve(&problem, 0, true, &result);
    assert(result.end == MPM_NEWTON_CONVERGED && result.iterations == 0 && result.residual[0] == 1);

    /* too few iterations */
    e = (struct energy){.of = bowl, .v = {3, 1}};
    problem.floor = 0;
    problem.most = 2;
    mpm_newton_solve(&problem, 0, false, &result);
    assert(result.end == MPM_NEWTON_FAILED && result.iterations == 2 && e.solves == 2);
    assert(result.residual[2] > problem.tolerance && result.residual[2] < 1);
}

static void initial_model_comes_first(void)
{
    struct energy e = {.of = bowl, .v = {3, 1}, .target = {1, -2}};
    mpm_newton_problem problem = problem_of(&e);
    mpm_newton result;
    mpm_newton_solve(&problem, 0, true, &result);
    assert(result.end == MPM_NEWTON_CONVERGED && result.iterations == 1 && e.models[0] == MPM_NEWTON_INITIAL);

    /* one that leads uphill costs three trials, and the tangent follows */
    e = (struct energy){.of = bowl, .v = {3, 1}, .target = {9, 9}};
    mpm_newton_solve(&problem, 0, true, &result);
    assert(result.end == MPM_NEWTON_CONVERGED && result.backtracks == 3 && e.solves == result.iterations + 1);
    assert(e.models[0] == MPM_NEWTON_INITIAL && e.models[1] == MPM_NEWTON_PROJECTED);

    /* without an energy at the first point, the residual of the model counts as 1 */
    for (int k = 0; k < 2; k++) {
        e = (struct energy){.of = barrier, .none = k ? NAN : INFINITY, .v = {-1, 0}, .target = {2, 0}};
        assert(fabs(mpm_newton_solve(&problem, 0, true, &result) - 3) < 1e-15);
        assert(result.end == MPM_NEWTON_CONVERGED && result.residual[0] == 1 && fabs(e.v[0] - 1) < 1e-8);
        assert(fabs(result.residual[1] - 0.5 / 3) < 1e-15);
    }
}

/* From 3, Newton's step leads to -3: the half leads to 0, and the quarter to 1.5. */
static void steps_are_halved(void)
{
    struct energy e = {.of = barrier, .none = INFINITY, .v = {3, 0}};
    const mpm_newton_problem problem = problem_of(&e);
    mpm_newton result;
    mpm_newton_solve(&problem, 0, false, &result);
    assert(result.end == MPM_NEWTON_CONVERGED && result.backtracks == 2 && fabs(e.v[0] - 1) < 1e-8);
    assert(fabs(result.residual[1] - 0.5) < 1e-15);
}

/* Where rounding hides the residual, the solve ends: at the floor, or within forty floors if no step improves. */
static void rounding_ends_the_solve(void)
{
    const struct {
        double least, floor;
        mpm_newton_end end;
    } cases[] = {
        {1e-6, 2e-6, MPM_NEWTON_STAGNATED},
        {1e-6, 5e-8, MPM_NEWTON_STAGNATED},
        {1e-6, 1e-8, MPM_NEWTON_FAILED},
        {1e-12, 1e-11, MPM_NEWTON_CONVERGED}, /* the tolerance is reached first */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct energy e = {.of = bowl, .v = {3, 1}, .least = cases[k].least};
        mpm_newton_problem problem = problem_of(&e);
        mpm_newton result;
        problem.floor = cases[k].floor;
        const double reference = mpm_newton_solve(&problem, 0, false, &result);
        assert(result.end == cases[k].end && result.iterations > 0 && result.iterations < problem.most);
        assert(result.residual[result.iterations] * reference < 1.1 * fmax(1e-9 * reference, cases[k].least));
    }
}

/* ---- contacts of a node ------------------------------------------------------------------------------------------ */

static mpm_node_contact contact_of(mpm_contact contact, double x, double y, double z, double friction)
{
    const double length = sqrt(x * x + y * y + z * z);
    return (mpm_node_contact){.normal = {x / length, y / length, z / length}, .contact = contact, .friction = friction,
                              .collider = MPM_HELD_BY_WALL};
}

static mpm_constrained_node node_of(int dim, int count, const mpm_node_contact *contacts, const double v[3])
{
    mpm_constrained_node node = {.rounding = mpm_constraint_rounding(false)};
    for (int c = 0; c < count; c++)
        mpm_constraint_add(&node, &contacts[c], v);
    mpm_constraint_fix(&node, dim);
    return node;
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static bool are_close(const double a[3], double x, double y, double z)
{
    return fabs(a[0] - x) < 1e-14 && fabs(a[1] - y) < 1e-14 && fabs(a[2] - z) < 1e-14;
}

/* Shares `residual`: the impulses add up to its held part and the friction. */
static void share(mpm_constrained_node *node, const double residual[3])
{
    double sum[3] = {0}, free[3] = {residual[0], residual[1], residual[2]};
    mpm_constraint_share(node, residual);
    mpm_constraint_project(node, free);
    for (int c = 0; c < node->contacts; c++)
        for (int a = 0; a < 3; a++)
            sum[a] += node->contact[c].impulse[a];
    for (int a = 0; a < 3; a++)
        assert(fabs(sum[a] - (residual[a] - free[a] + node->push[a])) < 1e-13);
}

static void sticky_and_slip_hold_their_directions(void)
{
    const double residual[3] = {5, -3, 2};
    for (int dim = 2; dim <= 3; dim++) {
        double v[3] = {1, 2, dim == 3 ? 3 : 0}, r[3] = {1, 2, dim == 3 ? 3 : 0};
        mpm_node_contact contact = contact_of(MPM_STICKY, 0, 1, 0, 0.4);
        contact.surface[0] = 7;
        mpm_constrained_node node = node_of(dim, 1, &contact, v);
        assert(node.directions == dim && node.contact[0].sticks);
        mpm_constraint_give(&node, v);
        mpm_constraint_project(&node, r);
        assert(are_close(v, 7, 0, 0) && are_close(r, 0, 0, 0));
        share(&node, residual);
        assert(are_close(node.contact[0].impulse, 5, -3, dim == 3 ? 2 : 0));
        assert(!mpm_constraint_revise(&node, dim, v, 1, 1e-3));

        contact.contact = MPM_SLIP;
        contact.surface[1] = -4;
        node = node_of(dim, 1, &contact, v);
        assert(node.directions == 1 && !node.contact[0].sticks);
        memcpy(v, (double[]){1, 2, 0}, sizeof v);
        mpm_constraint_give(&node, v);
        assert(are_close(v, 1, -4, 0)); /* only the normal speed of the surface counts */
        share(&node, residual);
        assert(are_close(node.contact[0].impulse, 0, -3, 0));
    }
}

/* At corners of slip planes, also oblique ones, every plane has the normal speed of its surface. */
static void corners_hold_all_planes(void)
{
    mpm_node_contact contacts[] = {contact_of(MPM_SLIP, 0, 0, 1, 0), contact_of(MPM_SLIP, 0, 1, 2, 0),
                                   contact_of(MPM_SLIP, 3, -1, 1, 0), contact_of(MPM_SLIP, 1, 1, 1, 0)};
    for (int c = 0; c < 3; c++)
        for (int a = 0; a < 3; a++)
            contacts[c].surface[a] = 1 + c - a * a;
    for (int count = 1; count <= 4; count++) {
        const double still[3] = {0}, residual[3] = {5, -3, 2};
        double v[3] = {1, 2, 3}, r[3] = {1, 2, 3};
        mpm_constrained_node node = node_of(3, count, contacts, still);
        assert(node.directions == (count < 3 ? count : 3)); /* a fourth plane is one too many */
        mpm_constraint_give(&node, v);
        mpm_constraint_project(&node, r);
        for (int c = 0; c < count && c < 3; c++) {
            assert(fabs(dot(v, contacts[c].normal) - dot(contacts[c].surface, contacts[c].normal)) < 1e-14);
            assert(fabs(dot(r, contacts[c].normal)) < 1e-14 && node.owner[c] == c);
        }
        if (count < 3)
            assert(v[0] == 1); /* the edge of the first two planes is along x */
        share(&node, residual);
    }
    /* the two walls of a corner get their own parts */
    const mpm_node_contact walls[] = {contact_of(MPM_SLIP, 1, 0, 0, 0), contact_of(MPM_SLIP, 0, 1, 0, 0)};
    mpm_constrained_node node = node_of(2, 2, walls, (double[3]){0});
    share(&node, (double[]){5, -3, 0});
    assert(are_close(node.contact[0].impulse, 5, 0, 0) && are_close(node.contact[1].impulse, 0, -3, 0));
    /* no more contacts than there is room for */
    for (int c = 0; c < 9; c++)
        mpm_constraint_add(&node, &walls[0], (double[3]){0});
    assert(node.contacts == MPM_NODE_CONTACTS);
}

/* A separating contact holds while it pushes, and again when the material comes back. */
static void separate_releases_what_pulls(void)
{
    mpm_node_contact contact = contact_of(MPM_SEPARATE, 0, 0, 2, 0);
    contact.surface[2] = 1;
    assert(node_of(3, 1, &contact, (double[]){0, 0, 2}).directions == 0); /* it leaves already */
    mpm_constrained_node node = node_of(3, 1, &contact, (double[]){0, 0, 0.5});
    assert(node.directions == 1 && node.speed[0] == 1);
    share(&node, (double[]){1, 1, 1e-30});
    assert(!mpm_constraint_revise(&node, 3, (double[]){0, 0, 1}, 1, 1e-3) && node.directions == 1);
    share(&node, (double[]){1, 1, -1e-3});
    assert(mpm_constraint_revise(&node, 3, (double[]){0, 0, 1}, 1, 1e-3) && node.directions == 0);
    share(&node, (double[]){0, 0, 0});
    assert(!mpm_constraint_revise(&node, 3, (double[]){0, 0, 1 - 1e-15}, 1, 1e-3)); /* rounding is no approach */
    assert(mpm_constraint_revise(&node, 3, (double[]){0, 0, 0.9}, 1, 1e-3) && node.directions == 1);
    node = node_of(3, 1, &contact, (double[]){3, 0, 1 - 1e-15}); /* nor does it begin a contact */
    assert(!node.contact[0].active && node.directions == 0);

    /* a slot: of two opposite faces one holds, the one that is pushed */
    const mpm_node_contact slot[] = {contact_of(MPM_SEPARATE, 0, 1, 0, 0), contact_of(MPM_SEPARATE, 0, -1, 0, 0)};
    const mpm_node_contact tight[] = {contact_of(MPM_SLIP, 0, 1, 0, 0), contact_of(MPM_SLIP, 0, -1, 0, 0)};
    double v[3] = {1, 2, 0};
    node = node_of(2, 2, tight, v);
    mpm_constraint_give(&node, v);
    share(&node, (double[]){0, -3, 0});
    assert(node.directions == 1 && are_close(v, 1, 0, 0));
    node = node_of(2, 2, slot, (double[]){0, -1, 0});
    assert(node.directions == 1 && node.owner[0] == 0 && !node.contact[1].active);
    share(&node, (double[]){0, -3, 0}); /* the first face would have to pull, so the other one pushes */
    assert(mpm_constraint_revise(&node, 2, (double[]){0, 0, 0}, 1, 1e-3));
    assert(node.directions == 1 && node.owner[0] == 1 && !node.contact[0].active);
    share(&node, (double[]){0, -3, 0});
    assert(!mpm_constraint_revise(&node, 2, (double[]){0, 0, 0}, 1, 1e-3));
}

/* Friction: slides with mu J_n against the motion, sticks where that turned it round, and slides again if sticking
 * needs more. */
static void friction_slides_then_sticks(void)
{
    mpm_node_contact contact = contact_of(MPM_SLIP, 0, 1, 0, 0.5);
    contact.surface[0] = 1;
    const double fast[3] = {4, 0, 4}, slow[3] = {-2, 0, -3}; /* relative to the surface: along (3, 4), and against */
    mpm_constrained_node node = node_of(3, 1, &contact, fast);
    share(&node, (double[]){9, 2, 9});
    assert(mpm_constraint_revise(&node, 3, fast, 1, 1e-3) && node.directions == 1);
    assert(are_close(node.push, -0.6, 0, -0.8)); /* mu J_n = 1 */
    share(&node, (double[]){0, 2, 0});
    assert(are_close(node.contact[0].impulse, -0.6, 2, -0.8));
    assert(!mpm_constraint_revise(&node, 3, fast, 1, 1e-3));
    share(&node, (double[]){0, 2.1, 0});
    assert(mpm_constraint_revise(&node, 3, fast, 1, 1e-3) && are_close(node.push, -0.63, 0, -0.84));
    share(&node, (double[]){0, 2, 0});
    assert(mpm_constraint_revise(&node, 3, slow, 1, 1e-3) && node.directions == 3 && node.contact[0].sticks);
    assert(are_close(node.push, 0, 0, 0));
    double v[3] = {5, 5, 5};
    mpm_constraint_give(&node, v);
    assert(are_close(v, 1, 0, 0));
    share(&node, (double[]){-0.6, 2, -0.7});
    assert(!mpm_constraint_revise(&node, 3, v, 1, 1e-3) && node.directions == 3);
    share(&node, (double[]){-3, 2, -4});
    assert(mpm_constraint_revise(&node, 3, v, 1, 1e-3) && node.directions == 1 && are_close(node.push, -0.6, 0, -0.8));

    /* in a corner, the other wall bears the part of friction along its normal, and does not rub */
    const mpm_node_contact corner[] = {contact, contact_of(MPM_SLIP, -1, 0, 0, 0)};
    node = node_of(3, 2, corner, fast);
    share(&node, (double[]){9, 2, 9});
    assert(mpm_constraint_revise(&node, 3, fast, 1, 1e-3) && are_close(node.push, 0, 0, -0.8));
    share(&node, (double[]){9, 2, 9});
    assert(are_close(node.contact[0].impulse, -0.6, 2, -0.8) && are_close(node.contact[1].impulse, 9.6, 0, 0));

    /* what rests on the surface sticks at once; what pulls does not rub */
    node = node_of(3, 1, &contact, fast);
    share(&node, (double[]){0, 2, 0});
    assert(mpm_constraint_revise(&node, 3, (double[]){1, 0, 0}, 1, 1e-3) && node.contact[0].sticks);
    node = node_of(3, 1, &contact, fast);
    share(&node, (double[]){0, -2, 0});
    assert(!mpm_constraint_revise(&node, 3, fast, 1, 1e-3) && are_close(node.push, 0, 0, 0));
}

/* Two slopes of a groove: R = N_0 n_0 + N_1 n_1 with normals that are not orthogonal. A slope that would have to pull
 * is released at once, and the other one bears what it can. */
static void oblique_contacts_push_along_their_normals(void)
{
    const double c = 0.8, s = 0.6; /* n_0 . n_1 = 0.8 */
    const mpm_node_contact slopes[] = {contact_of(MPM_SEPARATE, 0, 1, 0, 0), contact_of(MPM_SEPARATE, s, c, 0, 0)};
    const double v[3] = {-1, -1, 0}, still[3] = {0};
    mpm_constrained_node node = node_of(2, 2, slopes, v);
    assert(node.directions == 2);
    share(&node, (double[]){3 * s, 2 + 3 * c, 0});
    assert(are_close(node.contact[0].impulse, 0, 2, 0) && are_close(node.contact[1].impulse, 3 * s, 3 * c, 0));
    assert(!mpm_constraint_revise(&node, 2, still, 1, 1e-3));
    share(&node, (double[]){-3 * s, 5 - 3 * c, 0}); /* N_1 = -3 */
    assert(are_close(node.contact[1].impulse, -3 * s, -3 * c, 0));
    assert(mpm_constraint_revise(&node, 2, still, 1, 1e-3));
    assert(node.contact[0].active && !node.contact[1].active && node.directions == 1);
}

/* Two walls that stick at an edge share its friction as they may bear it. */
static void contacts_that_stick_share_friction(void)
{
    const mpm_node_contact walls[] = {contact_of(MPM_SLIP, 1, 0, 0, 0.3), contact_of(MPM_SLIP, 0, 1, 0, 0.2)};
    mpm_constrained_node node = node_of(3, 2, walls, (double[3]){0});
    node.contact[0].sticks = node.contact[1].sticks = true;
    mpm_constraint_fix(&node, 3);
    share(&node, (double[]){2, 6, 0.9});
    assert(are_close(node.contact[0].impulse, 2, 0, 0.3) && are_close(node.contact[1].impulse, 0, 6, 0.6));
}

/* Any contacts without a solve: nothing is pressed, nothing pulls, friction is below Coulomb's bound, the impulses make
 * the change of velocity, and the order of the contacts does not matter. */
static void several_contacts_act_together(void)
{
    double worst = 0;
    for (int sample = 0; sample < 3000; sample++) {
        const int count = 2 + sample % 3;
        mpm_node_contact contacts[MPM_MOST_CONTACTS] = {0}, turned[MPM_MOST_CONTACTS] = {0};
        double v[3], w[3], other[3], left[3], surface[3];
        for (int a = 0; a < 3; a++) {
            v[a] = w[a] = other[a] = uniform(-1, 1);
            surface[a] = sample % 2 ? uniform(-1, 1) : 0;
        }
        for (int c = 0; c < count; c++) {
            contacts[c] = contact_of(MPM_SEPARATE, uniform(-1, 1), uniform(-1, 1), uniform(-1, 1), 0);
            contacts[c].friction = sample % 5 ? 0 : 0.5;
            memcpy(contacts[c].surface, surface, sizeof surface);
            turned[count - 1 - c] = contacts[c];
        }
        mpm_contacts_apply(contacts, count, w);
        mpm_contacts_apply(turned, count, other);
        for (int a = 0; a < 3; a++)
            left[a] = w[a] - v[a];
        for (int c = 0; c < count; c++) {
            const double *n = contacts[c].normal, *J = contacts[c].impulse, pressure = dot(J, n);
            const double gap = dot(w, n) - dot(surface, n);
            worst = fmax(worst, fmax(-gap, fmax(-pressure, fabs(gap * pressure))));
            worst = fmax(worst, sqrt(fmax(dot(J, J) - pressure * pressure, 0)) - contacts[c].friction * pressure -
                                    1e-7 * pressure); /* the root of a rounding error */
            for (int a = 0; a < 3; a++)
                left[a] -= J[a];
        }
        for (int a = 0; a < 3; a++)
            worst = fmax(worst, fmax(fabs(left[a]), fabs(w[a] - other[a])));
    }
    assert(worst < 1e-12); /* measured 6e-14 */
}

/* From the middle of a step to its end: twice the impulse, less what the extrapolation has already given. */
static void midpoint_step_is_finished(void)
{
    const mpm_node_contact contact = contact_of(MPM_SLIP, 0, 1, 0, 0);
    const double before[3] = {3, -4, 0}, m = 2;
    mpm_constrained_node node = node_of(2, 1, &contact, before);
    double v[3] = {3, 4, 0}; /* 2 v - v^n with the middle v = (3, 0) */
    share(&node, (double[]){0, m * 4, 0}); /* from -4 to 0 */
    mpm_constraint_finish(&node, v, m);
    assert(are_close(v, 3, 0, 0) && are_close(node.contact[0].impulse, 0, m * (v[1] - before[1]), 0));
}

int main(void)
{
    definite_systems_are_solved();
    a_preconditioner_changes_the_way_and_not_the_norm();
    indefinite_systems_are_reported();
    minimum_is_found();
    initial_model_comes_first();
    steps_are_halved();
    rounding_ends_the_solve();
    sticky_and_slip_hold_their_directions();
    corners_hold_all_planes();
    separate_releases_what_pulls();
    friction_slides_then_sticks();
    oblique_contacts_push_along_their_normals();
    contacts_that_stick_share_friction();
    several_contacts_act_together();
    midpoint_step_is_finished();
    return 0;
}
