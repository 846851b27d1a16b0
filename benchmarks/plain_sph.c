/* SPDX-License-Identifier: MIT */
/* Plain C, to compare speeds with: the 3-D dam break of benchmarks/methods_sph.py by WCSPH with the cubic spline, in
 * single precision. Particles are sorted by cells of 2h; each sums over its 27 cells, one neighbour at a time.
 *
 *     plain_sph N STEPS      prints particle-steps per second of the fastest step, and the kinetic energy */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct particle {
    float x[3], v[3], a[3], density, pressure;
};

static struct particle *now, *sorted;
static int *first, *cell, cells[3], count;
static float h, mass, stiffness, gravity = -9.81f;
static const float rest = 1000, tank[3] = {3, 0.5f, 2};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int cell_along(const struct particle *p, int axis)
{
    const int c = (int)(p->x[axis] / (2 * h));
    return c < 0 ? 0 : c >= cells[axis] ? cells[axis] - 1 : c;
}

static void sort(void)
{
    const int all = cells[0] * cells[1] * cells[2];
    memset(first, 0, (size_t)(all + 2) * sizeof *first);
    for (int i = 0; i < count; i++) {
        cell[i] = (cell_along(now + i, 2) * cells[1] + cell_along(now + i, 1)) * cells[0] + cell_along(now + i, 0);
        first[cell[i] + 2]++;
    }
    for (int c = 2; c < all + 2; c++)
        first[c] += first[c - 1];
    for (int i = 0; i < count; i++)
        sorted[first[cell[i] + 1]++] = now[i];
    struct particle *swap = now;
    now = sorted;
    sorted = swap;
}

/* Density and pressure, or the acceleration, of particle p by the particles from q to `end`. */
static void add(struct particle *p, const struct particle *q, const struct particle *end, int forces)
{
    const float factor = 1.5f / (float)M_PI / (h * h * h);
    for (; q < end; q++) {
        float d[3], r2 = 0;
        for (int a = 0; a < 3; a++) {
            d[a] = p->x[a] - q->x[a];
            r2 += d[a] * d[a];
        }
        if (r2 >= 4 * h * h)
            continue;
        const float r = sqrtf(r2), u = r / h;
        if (!forces)
            p->density +=
                mass * factor * (u < 1 ? 2.f / 3 - u * u + 0.5f * u * u * u : (2 - u) * (2 - u) * (2 - u) / 6);
        else if (r2 > 0) {
            const float slope = (u < 1 ? -2 * u + 1.5f * u * u : -0.5f * (2 - u) * (2 - u)) * factor / h / r;
            const float push = p->pressure / (p->density * p->density) + q->pressure / (q->density * q->density);
            for (int a = 0; a < 3; a++)
                p->a[a] -= mass * push * slope * d[a];
        }
    }
}

static void sum(int forces)
{
    for (int i = 0; i < count; i++) {
        struct particle *p = now + i;
        const int at[3] = {cell_along(p, 0), cell_along(p, 1), cell_along(p, 2)};
        if (!forces)
            p->density = 0;
        else
            memcpy(p->a, (float[3]){0, 0, gravity}, sizeof p->a);
        for (int z = at[2] ? at[2] - 1 : 0; z <= at[2] + 1 && z < cells[2]; z++)
            for (int y = at[1] ? at[1] - 1 : 0; y <= at[1] + 1 && y < cells[1]; y++) {
                const int line = (z * cells[1] + y) * cells[0], end = at[0] + 1 < cells[0] ? at[0] + 1 : at[0];
                add(p, now + first[line + (at[0] ? at[0] - 1 : 0)], now + first[line + end + 1], forces);
            }
        if (!forces) {
            const float ratio = p->density > rest ? p->density / rest : 1;
            p->pressure = stiffness * (powf(ratio, 7) - 1);
        }
    }
}

static void move(float dt)
{
    for (int i = 0; i < count; i++)
        for (int a = 0; a < 3; a++) {
            struct particle *p = now + i;
            p->v[a] += dt * p->a[a];
            p->x[a] += dt * p->v[a];
            if (p->x[a] < 0 || p->x[a] > tank[a]) {
                p->x[a] = p->x[a] < 0 ? 0 : tank[a];
                p->v[a] = 0;
            }
        }
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 50, steps = argc > 2 ? atoi(argv[2]) : 10;
    const float speed = 10 * sqrtf(2 * 9.81f);
    double best = 1e9, kinetic = 0;
    h = 1.f / (float)n;
    mass = rest * h * h * h;
    stiffness = rest * speed * speed / 7;
    count = n * (n / 2) * n;
    for (int a = 0; a < 3; a++)
        cells[a] = (int)ceilf(tank[a] / (2 * h)) + 1;
    now = calloc((size_t)count, sizeof *now);
    sorted = calloc((size_t)count, sizeof *sorted);
    cell = calloc((size_t)count, sizeof *cell);
    first = calloc((size_t)(cells[0] * cells[1] * cells[2] + 2), sizeof *first);
    if (!now || !sorted || !cell || !first)
        return 1;
    for (int i = 0; i < count; i++) {
        now[i].x[0] = ((float)(i % n) + 0.5f) * h;
        now[i].x[1] = ((float)(i / n % (n / 2)) + 0.5f) * h;
        now[i].x[2] = ((float)(i / n / (n / 2)) + 0.5f) * h;
    }
    for (int s = 0; s < steps; s++) {
        const double start = seconds();
        sort();
        sum(0);
        sum(1);
        move(0.4f * h / speed);
        best = fmin(best, seconds() - start);
    }
    for (int i = 0; i < count; i++)
        for (int a = 0; a < 3; a++)
            kinetic += 0.5 * mass * now[i].v[a] * now[i].v[a];
    printf("%.6g %.6g\n", count / best, kinetic);
    return 0;
}
