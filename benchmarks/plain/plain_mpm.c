/* SPDX-License-Identifier: MIT
 *
 * The same method as one writes it in an afternoon: explicit MLS-MPM with APIC and quadratic B-splines on a full grid,
 * one particle at a time, no sorting, no threads, nothing checked. It is what the speed of the package is compared
 * with (benchmarks/plain_c.py) and a second opinion on its results.
 *
 *     cc -O3 -DDIM=3 -DREAL=float -DLAW=1 plain_mpm.c -lm      LAW: 0 fluid, 1 neo-Hookean, 2 fixed corotated
 *     ./a.out STATE STEPS ROUNDS
 *
 * STATE is binary: int64 particles, int64 nodes per side; double h, dt, gravity, bulk modulus, gamma, mu, lambda; then
 * per particle as REAL x[DIM] (in the domain [0, 1)), v[DIM], mass, rest volume. Prints the processor seconds of each
 * round (each begins with the state of the file) and what the last one ends with: mass centre, momentum, energy.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef REAL real;
enum { FLUID, NEO_HOOKEAN, FIXED_COROTATED };

typedef struct {
    real x[DIM], v[DIM], C[DIM][DIM], F[DIM][DIM], mass, volume; /* a fluid keeps J in F[0][0] */
} particle;

typedef struct {
    real momentum[DIM], mass;
} node;

struct problem {
    int64_t particles, nodes;
    double h, dt, gravity, bulk_modulus, gamma, mu, lambda;
};

static struct problem problem;

struct stencil {
    size_t first; /* node */
    real fraction[DIM], weight[DIM][3];
};

static inline struct stencil stencil_of(const particle *p)
{
    struct stencil s = {0};
    const real cells_per_metre = (real)(1 / problem.h);
    for (int a = 0; a < DIM; a++) {
        const real x = p->x[a] * cells_per_metre;
        const int base = (int)(x - (real)0.5);
        const real f = s.fraction[a] = x - (real)base;
        s.weight[a][0] = (real)0.5 * ((real)1.5 - f) * ((real)1.5 - f);
        s.weight[a][1] = (real)0.75 - (f - 1) * (f - 1);
        s.weight[a][2] = (real)0.5 * (f - (real)0.5) * (f - (real)0.5);
        s.first = s.first * (size_t)problem.nodes + (size_t)base;
    }
    return s;
}

/* Node (i, j, k) of a stencil: its weight, its place in the grid, and its offset from the particle in cells. */
struct neighbour {
    real weight, offset[DIM];
    size_t at;
};

static inline struct neighbour neighbour_of(const struct stencil *s, int i, int j, int k)
{
    const size_t nodes = (size_t)problem.nodes;
#if DIM == 2
    (void)k;
    return (struct neighbour){s->weight[0][i] * s->weight[1][j],
                              {(real)i - s->fraction[0], (real)j - s->fraction[1]},
                              s->first + (size_t)i * nodes + (size_t)j};
#else
    return (struct neighbour){
        s->weight[0][i] * s->weight[1][j] * s->weight[2][k],
        {(real)i - s->fraction[0], (real)j - s->fraction[1], (real)k - s->fraction[2]},
        s->first + ((size_t)i * nodes + (size_t)j) * nodes + (size_t)k};
#endif
}

#define FOR_NEIGHBOURS(i, j, k) \
    for (int i = 0; i < 3; i++) \
        for (int j = 0; j < 3; j++) \
            for (int k = 0; k < (DIM == 3 ? 3 : 1); k++)

static real determinant(const real a[DIM][DIM])
{
#if DIM == 2
    return a[0][0] * a[1][1] - a[0][1] * a[1][0];
#else
    return a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) - a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
           a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
#endif
}

/* The rotation nearest to F: closed in 2-D, Newton's iteration X <- (X + X^-T)/2 in 3-D. */
static void rotation(const real F[DIM][DIM], real R[DIM][DIM])
{
#if DIM == 2
    const real c = F[0][0] + F[1][1], s = F[1][0] - F[0][1], r = 1 / (real)sqrt((double)(c * c + s * s));
    R[0][0] = R[1][1] = c * r;
    R[1][0] = s * r;
    R[0][1] = -s * r;
#else
    memcpy(R, F, 9 * sizeof(real));
    for (int step = 0; step < 5; step++) {
        real cof[3][3];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                cof[i][j] = R[(i + 1) % 3][(j + 1) % 3] * R[(i + 2) % 3][(j + 2) % 3] -
                            R[(i + 1) % 3][(j + 2) % 3] * R[(i + 2) % 3][(j + 1) % 3];
        const real inverse = 1 / (R[0][0] * cof[0][0] + R[0][1] * cof[0][1] + R[0][2] * cof[0][2]);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                R[i][j] = (real)0.5 * (R[i][j] + cof[i][j] * inverse);
    }
#endif
}

/* Kirchhoff stress */
static void stress(const particle *p, real tau[DIM][DIM])
{
    memset(tau, 0, DIM * DIM * sizeof(real));
    real pressure_part;
    if (LAW == FLUID) {
        const real J = p->F[0][0], K = (real)problem.bulk_modulus, gamma = (real)problem.gamma;
        pressure_part = K / gamma * (J - (sizeof(real) == 4 ? (real)powf((float)J, (float)(1 - gamma))
                                                              : (real)pow((double)J, (double)(1 - gamma))));
    } else {
        const real J = determinant(p->F), mu = (real)problem.mu, lambda = (real)problem.lambda;
        real left[DIM][DIM]; /* tau = left F^T + pressure part */
        if (LAW == NEO_HOOKEAN) {
            for (int i = 0; i < DIM; i++)
                for (int j = 0; j < DIM; j++)
                    left[i][j] = mu * p->F[i][j];
            pressure_part =
                lambda * (sizeof(real) == 4 ? (real)logf((float)J) : (real)log((double)J)) - mu;
        } else {
            rotation(p->F, left);
            for (int i = 0; i < DIM; i++)
                for (int j = 0; j < DIM; j++)
                    left[i][j] = 2 * mu * (p->F[i][j] - left[i][j]);
            pressure_part = lambda * (J - 1) * J;
        }
        for (int i = 0; i < DIM; i++)
            for (int j = 0; j < DIM; j++)
                for (int k = 0; k < DIM; k++)
                    tau[i][j] += left[i][k] * p->F[j][k];
    }
    for (int i = 0; i < DIM; i++)
        tau[i][i] += pressure_part;
}

static void particles_to_grid(const particle *particles, node *grid)
{
    const real h = (real)problem.h, stress_factor = (real)(-4 * problem.dt / (problem.h * problem.h));
    for (int64_t n = 0; n < problem.particles; n++) {
        const particle *p = &particles[n];
        const struct stencil s = stencil_of(p);
        real A[DIM][DIM];
        stress(p, A);
        for (int i = 0; i < DIM; i++)
            for (int j = 0; j < DIM; j++)
                A[i][j] = h * (stress_factor * p->volume * A[i][j] + p->mass * p->C[i][j]);
        FOR_NEIGHBOURS(i, j, k) {
            const struct neighbour q = neighbour_of(&s, i, j, k);
            grid[q.at].mass += q.weight * p->mass;
            for (int b = 0; b < DIM; b++) {
                real momentum = p->mass * p->v[b];
                for (int a = 0; a < DIM; a++)
                    momentum += A[b][a] * q.offset[a];
                grid[q.at].momentum[b] += q.weight * momentum;
            }
        }
    }
}

/* Momentum to velocity, gravity along the last axis, slipping faces. */
static void update_grid(node *grid)
{
    const int64_t nodes = problem.nodes, all = DIM == 3 ? nodes * nodes * nodes : nodes * nodes;
    for (int64_t n = 0; n < all; n++) {
        node *g = &grid[n];
        if (!(g->mass > 0))
            continue;
        for (int a = 0; a < DIM; a++)
            g->momentum[a] /= g->mass;
        g->momentum[DIM - 1] += (real)(problem.dt * problem.gravity);
        for (int64_t a = DIM - 1, rest = n; a >= 0; a--, rest /= nodes)
            if (rest % nodes == 0 || rest % nodes == nodes - 1)
                g->momentum[a] = 0;
    }
}

static void grid_to_particles(const node *grid, particle *particles)
{
    const real dt = (real)problem.dt, four_over_h = (real)(4 / problem.h);
    for (int64_t n = 0; n < problem.particles; n++) {
        particle *p = &particles[n];
        const struct stencil s = stencil_of(p);
        real v[DIM] = {0}, B[DIM][DIM] = {{0}};
        FOR_NEIGHBOURS(i, j, k) {
            const struct neighbour q = neighbour_of(&s, i, j, k);
            for (int b = 0; b < DIM; b++) {
                const real wv = q.weight * grid[q.at].momentum[b];
                v[b] += wv;
                for (int a = 0; a < DIM; a++)
                    B[b][a] += wv * q.offset[a];
            }
        }
        real step[DIM][DIM], F[DIM][DIM] = {{0}};
        for (int b = 0; b < DIM; b++)
            for (int a = 0; a < DIM; a++) {
                p->C[b][a] = four_over_h * B[b][a];
                step[b][a] = dt * p->C[b][a] + (real)(a == b);
            }
        if (LAW == FLUID)
            p->F[0][0] *= determinant(step);
        else {
            for (int i = 0; i < DIM; i++)
                for (int j = 0; j < DIM; j++)
                    for (int k = 0; k < DIM; k++)
                        F[i][j] += step[i][k] * p->F[k][j];
            memcpy(p->F, F, sizeof F);
        }
        for (int a = 0; a < DIM; a++) {
            p->v[a] = v[a];
            p->x[a] += dt * v[a];
        }
    }
}

static void *read_whole(FILE *file, size_t bytes)
{
    void *data = malloc(bytes);
    if (!data || fread(data, 1, bytes, file) != bytes) {
        fprintf(stderr, "plain_mpm: the state cannot be read\n");
        exit(1);
    }
    return data;
}

int main(int count, char **arguments)
{
    FILE *file = count == 4 ? fopen(arguments[1], "rb") : NULL;
    if (!file) {
        fprintf(stderr, "usage: plain_mpm STATE STEPS ROUNDS\n");
        return 2;
    }
    struct problem *header = read_whole(file, sizeof problem);
    problem = *header;
    const size_t values = 2 * DIM + 2, particles = (size_t)problem.particles;
    const real *state = read_whole(file, particles * values * sizeof(real));
    fclose(file);
    const size_t nodes = (size_t)problem.nodes * (size_t)problem.nodes * (DIM == 3 ? (size_t)problem.nodes : 1);
    particle *p = malloc(particles * sizeof *p);
    node *grid = malloc(nodes * sizeof *grid);
    if (!p || !grid)
        return 1;
    for (int round = 0; round < atoi(arguments[3]); round++) {
        memset(p, 0, particles * sizeof *p);
        for (size_t n = 0; n < particles; n++) {
            memcpy(p[n].x, state + n * values, DIM * sizeof(real));
            memcpy(p[n].v, state + n * values + DIM, DIM * sizeof(real));
            p[n].mass = state[n * values + 2 * DIM];
            p[n].volume = state[n * values + 2 * DIM + 1];
            for (int a = 0; a < DIM; a++)
                p[n].F[a][a] = LAW == FLUID && a ? 0 : 1;
        }
        const clock_t start = clock();
        for (int step = 0; step < atoi(arguments[2]); step++) {
            memset(grid, 0, nodes * sizeof *grid);
            particles_to_grid(p, grid);
            update_grid(grid);
            grid_to_particles(grid, p);
        }
        printf("%.17g ", (double)(clock() - start) / CLOCKS_PER_SEC);
    }
    double mass = 0, moment[DIM] = {0}, momentum[DIM] = {0}, kinetic = 0;
    for (size_t n = 0; n < particles; n++) {
        mass += (double)p[n].mass;
        for (int a = 0; a < DIM; a++) {
            moment[a] += (double)p[n].mass * (double)p[n].x[a];
            momentum[a] += (double)p[n].mass * (double)p[n].v[a];
            kinetic += 0.5 * (double)p[n].mass * (double)p[n].v[a] * (double)p[n].v[a];
        }
    }
    printf("\n");
    for (int a = 0; a < DIM; a++)
        printf("%.17g ", moment[a] / mass);
    for (int a = 0; a < DIM; a++)
        printf("%.17g ", momentum[a]);
    printf("%.17g\n", kinetic);
    return 0;
}
