/* SPDX-License-Identifier: MIT
 *
 * The same method as one writes it in an afternoon: explicit MLS-MPM with APIC and quadratic B-splines on a full grid,
 * one particle at a time, no sorting, no threads, nothing checked. It is what the speed of the package and of its
 * peers is compared with, and a second opinion on their results.
 *
 *     cc -O3 -march=native -DDIM=3 -DREAL=float -DLAW=FIXED_COROTATED plain.c -lm       LAW: see below; -DGAMMA=7
 *     ./a.out PARTICLES STEPS ROUNDS nodes h dt gravity low high mass volume first second
 *
 * PARTICLES is an array of NumPy's, (n, 2 DIM) of REAL: x and v of each. The grid has `nodes` nodes a side, a cell of h
 * [m] between two of them, node 0 at x = 0; nodes up to `low` and from `high` on are in walls that let go but do not
 * let through. Then acceleration along the last axis, mass and rest volume of a particle, and the law's parameters:
 * bulk modulus and 0 of a fluid, mu and lambda of a solid. Prints for each round, which begins with the state of the
 * file, seconds by the clock and of processor time; then how the last one ends: mass centre, momentum, kinetic energy.
 */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>
#include <time.h>

#define FLUID 0           /* tau = K/gamma (J - J^(1 - gamma)) */
#define NEO_HOOKEAN 1     /* tau = mu (F F^T - 1) + lambda ln J */
#define FIXED_COROTATED 2 /* tau = 2 mu (F - R) F^T + lambda (J - 1) J */

#ifndef GAMMA
#define GAMMA 1
#endif

typedef REAL real;

typedef struct {
    real x[DIM], v[DIM], C[DIM][DIM];
#if LAW == FLUID
    real J;
#else
    real F[DIM][DIM];
#endif
} particle;

typedef struct {
    real momentum[DIM], mass; /* the grid pass makes it a velocity */
} node;

static struct {
    size_t particles, nodes;
    int low, high;
    real h, dt, gravity, mass, volume, first, second;
} problem;

struct stencil {
    size_t base; /* lowest node */
    real fraction[DIM], weight[DIM][3];
};

static inline struct stencil stencil_of(const particle *p)
{
    struct stencil s = {0};
    const real cells_per_metre = 1 / problem.h;
    for (int a = 0; a < DIM; a++) {
        const real x = p->x[a] * cells_per_metre;
        const int base = (int)(x - (real)0.5);
        const real f = s.fraction[a] = x - (real)base;
        s.weight[a][0] = (real)0.5 * ((real)1.5 - f) * ((real)1.5 - f);
        s.weight[a][1] = (real)0.75 - (f - 1) * (f - 1);
        s.weight[a][2] = (real)0.5 * (f - (real)0.5) * (f - (real)0.5);
        s.base = s.base * problem.nodes + (size_t)base;
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
#if DIM == 2
    (void)k;
    return (struct neighbour){s->weight[0][i] * s->weight[1][j],
                              {(real)i - s->fraction[0], (real)j - s->fraction[1]},
                              s->base + (size_t)i * problem.nodes + (size_t)j};
#else
    return (struct neighbour){
        s->weight[0][i] * s->weight[1][j] * s->weight[2][k],
        {(real)i - s->fraction[0], (real)j - s->fraction[1], (real)k - s->fraction[2]},
        s->base + ((size_t)i * problem.nodes + (size_t)j) * problem.nodes + (size_t)k};
#endif
}

#define FOR_NEIGHBOURS(i, j, k) \
    for (int i = 0; i < 3; i++) \
        for (int j = 0; j < 3; j++) \
            for (int k = 0; k < (DIM == 3 ? 3 : 1); k++)

static inline real determinant(const real a[DIM][DIM])
{
#if DIM == 2
    return a[0][0] * a[1][1] - a[0][1] * a[1][0];
#else
    return a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) - a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
           a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
#endif
}

#if LAW == FLUID
static inline void stress(const particle *p, real tau[DIM][DIM])
{
    for (int i = 0; i < DIM; i++)
        tau[i][i] = problem.first / GAMMA * (p->J - pow(p->J, (real)(1 - GAMMA)));
}
#else
#if LAW == FIXED_COROTATED
/* The rotation nearest to F: closed in 2-D, Newton's iteration X <- (X + X^-T)/2 in 3-D. */
static inline void rotation(const real F[DIM][DIM], real R[DIM][DIM])
{
#if DIM == 2
    const real c = F[0][0] + F[1][1], s = F[1][0] - F[0][1], r = 1 / sqrt(c * c + s * s);
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
#endif

/* Kirchhoff stress: a matrix times F^T, and a pressure. */
static inline void stress(const particle *p, real tau[DIM][DIM])
{
    const real J = determinant(p->F), mu = problem.first, lambda = problem.second;
    real left[DIM][DIM];
#if LAW == NEO_HOOKEAN
    const real pressure_part = lambda * log(J) - mu;
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++)
            left[i][j] = mu * p->F[i][j];
#else
    const real pressure_part = lambda * (J - 1) * J;
    rotation(p->F, left);
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++)
            left[i][j] = 2 * mu * (p->F[i][j] - left[i][j]);
#endif
    for (int i = 0; i < DIM; i++) {
        for (int j = 0; j < DIM; j++)
            for (int k = 0; k < DIM; k++)
                tau[i][j] += left[i][k] * p->F[j][k];
        tau[i][i] += pressure_part;
    }
}
#endif

static void particles_to_grid(const particle *particles, node *grid)
{
    const real h = problem.h, mass = problem.mass;
    const real stress_factor = -4 * problem.dt * problem.volume / h;
    for (size_t n = 0; n < problem.particles; n++) {
        const particle *p = &particles[n];
        const struct stencil s = stencil_of(p);
        real A[DIM][DIM] = {{0}}, mv[DIM];
        stress(p, A);
        for (int i = 0; i < DIM; i++) {
            mv[i] = mass * p->v[i];
            for (int j = 0; j < DIM; j++)
                A[i][j] = stress_factor * A[i][j] + h * mass * p->C[i][j];
        }
        FOR_NEIGHBOURS(i, j, k) {
            const struct neighbour q = neighbour_of(&s, i, j, k);
            grid[q.at].mass += q.weight * mass;
            for (int b = 0; b < DIM; b++) {
                real momentum = mv[b];
                for (int a = 0; a < DIM; a++)
                    momentum += A[b][a] * q.offset[a];
                grid[q.at].momentum[b] += q.weight * momentum;
            }
        }
    }
}

/* Momentum to velocity, gravity along the last axis, walls. */
static inline void update_node(node *g, const int at[DIM])
{
    if (!(g->mass > 0))
        return;
    for (int a = 0; a < DIM; a++)
        g->momentum[a] /= g->mass;
    g->momentum[DIM - 1] += problem.dt * problem.gravity;
    for (int a = 0; a < DIM; a++)
        if ((at[a] <= problem.low && g->momentum[a] < 0) || (at[a] >= problem.high && g->momentum[a] > 0))
            g->momentum[a] = 0;
}

static void update_grid(node *grid)
{
    const int nodes = (int)problem.nodes;
    for (int i = 0; i < nodes; i++)
        for (int j = 0; j < nodes; j++)
#if DIM == 2
            update_node(grid++, (int[]){i, j});
#else
            for (int k = 0; k < nodes; k++)
                update_node(grid++, (int[]){i, j, k});
#endif
}

static void grid_to_particles(const node *grid, particle *particles)
{
    const real dt = problem.dt, four_over_h = 4 / problem.h;
    for (size_t n = 0; n < problem.particles; n++) {
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
        real step[DIM][DIM];
        for (int b = 0; b < DIM; b++)
            for (int a = 0; a < DIM; a++) {
                p->C[b][a] = four_over_h * B[b][a];
                step[b][a] = dt * p->C[b][a] + (real)(a == b);
            }
#if LAW == FLUID
        p->J *= determinant(step);
#else
        real F[DIM][DIM] = {{0}};
        for (int i = 0; i < DIM; i++)
            for (int j = 0; j < DIM; j++)
                for (int k = 0; k < DIM; k++)
                    F[i][j] += step[i][k] * p->F[k][j];
        memcpy(p->F, F, sizeof F);
#endif
        for (int a = 0; a < DIM; a++) {
            p->v[a] = v[a];
            p->x[a] += dt * v[a];
        }
    }
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "plain: out of memory\n");
        exit(1);
    }
    return memory;
}

/* The values of a file of NumPy's (version 1 of the format), which must be rows of 2 DIM of `real`. */
static real *read_particles(const char *path, size_t *count)
{
    unsigned char start[10];
    FILE *file = fopen(path, "rb");
    if (file && fread(start, 1, sizeof start, file) == sizeof start && start[6] == 1) {
        const size_t length = start[8] + 256u * start[9];
        char *header = allocate(length + 1, 1), type[16];
        snprintf(type, sizeof type, "'<f%zu'", sizeof(real));
        unsigned long columns = 0;
        if (fread(header, 1, length, file) == length && strstr(header, type) && strstr(header, "False") &&
            strstr(header, "(") && sscanf(strstr(header, "("), "(%zu, %lu)", count, &columns) == 2 &&
            columns == 2 * DIM) {
            real *values = allocate(*count * columns, sizeof(real));
            if (fread(values, columns * sizeof(real), *count, file) == *count) {
                free(header);
                fclose(file);
                return values;
            }
        }
    }
    fprintf(stderr, "plain: %s is not an array (n, %d) of %zu-byte reals\n", path, 2 * DIM, sizeof(real));
    exit(1);
}

static void begin(const real *state, particle *p)
{
    memset(p, 0, problem.particles * sizeof *p);
    for (size_t n = 0; n < problem.particles; n++, state += 2 * DIM) {
        memcpy(p[n].x, state, DIM * sizeof(real));
        memcpy(p[n].v, state + DIM, DIM * sizeof(real));
#if LAW == FLUID
        p[n].J = 1;
#else
        for (int a = 0; a < DIM; a++)
            p[n].F[a][a] = 1;
#endif
    }
}

static double seconds(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void print_outcome(const particle *p)
{
    double moment[DIM] = {0}, momentum[DIM] = {0}, kinetic = 0;
    for (size_t n = 0; n < problem.particles; n++)
        for (int a = 0; a < DIM; a++) {
            moment[a] += (double)p[n].x[a];
            momentum[a] += (double)problem.mass * (double)p[n].v[a];
            kinetic += 0.5 * (double)problem.mass * (double)p[n].v[a] * (double)p[n].v[a];
        }
    for (int a = 0; a < DIM; a++)
        printf("%.17g ", moment[a] / (double)problem.particles);
    for (int a = 0; a < DIM; a++)
        printf("%.17g ", momentum[a]);
    printf("%.17g\n", kinetic);
}

int main(int count, char **arguments)
{
    if (count != 14) {
        fprintf(stderr,
                "usage: plain PARTICLES STEPS ROUNDS nodes h dt gravity low high mass volume first second\n");
        return 2;
    }
    double value[14];
    for (int i = 2; i < 14; i++)
        value[i] = atof(arguments[i]);
    const real *state = read_particles(arguments[1], &problem.particles);
    problem.nodes = (size_t)value[4];
    problem.h = (real)value[5];
    problem.dt = (real)value[6];
    problem.gravity = (real)value[7];
    problem.low = (int)value[8];
    problem.high = (int)value[9];
    problem.mass = (real)value[10];
    problem.volume = (real)value[11];
    problem.first = (real)value[12];
    problem.second = (real)value[13];
    const size_t nodes = problem.nodes * problem.nodes * (DIM == 3 ? problem.nodes : 1);
    particle *particles = allocate(problem.particles, sizeof *particles);
    node *grid = allocate(nodes, sizeof *grid);
    for (int round = 0; round < (int)value[3]; round++) {
        begin(state, particles);
        const double clock = seconds(CLOCK_MONOTONIC), processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
        for (int step = 0; step < (int)value[2]; step++) {
            memset(grid, 0, nodes * sizeof *grid);
            particles_to_grid(particles, grid);
            update_grid(grid);
            grid_to_particles(grid, particles);
        }
        printf("%.9g %.9g\n", seconds(CLOCK_MONOTONIC) - clock, seconds(CLOCK_PROCESS_CPUTIME_ID) - processor);
    }
    print_outcome(particles);
    return 0;
}
