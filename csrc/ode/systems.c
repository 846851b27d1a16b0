/* SPDX-License-Identifier: MIT */
#include "ode/systems.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

/* ---- oscillators of unit mass ------------------------------------------------------------------------------------ */

static mpm_status pull(void *self, const double *x, const double *v, double t, double *f)
{
    const mpm_oscillator *o = self;
    (void)t;
    for (ptrdiff_t i = 0; i < o->count; i++)
        f[i] = -o->omega * o->omega * x[i] - o->damping * v[i];
    return MPM_OK;
}

static mpm_status linearize_nothing(void *self, const double *x, const double *v, double t)
{
    (void)self, (void)x, (void)v, (void)t;
    return MPM_OK;
}

static mpm_status multiply(void *self, double a, double b, const double *p, double *q)
{
    const mpm_oscillator *o = self;
    for (ptrdiff_t i = 0; i < o->count; i++)
        q[i] = -(a * o->omega * o->omega + b * o->damping) * p[i];
    return MPM_OK;
}

static mpm_status stretch_energy(void *self, const double *x, double t, double *energy)
{
    const mpm_oscillator *o = self;
    (void)t;
    for (ptrdiff_t i = 0; i < o->count; i++)
        *energy += 0.5 * o->omega * o->omega * x[i] * x[i];
    return MPM_OK;
}

mpm_system mpm_systems_oscillator(mpm_oscillator *oscillator, const double *inverse_mass)
{
    return (mpm_system){oscillator, oscillator->count, inverse_mass, pull, linearize_nothing, multiply, stretch_energy};
}

/* ---- pairs of bodies --------------------------------------------------------------------------------------------- */

/* Distance of a pair, and the unit vector from i to j; zero for two bodies at one place. */
static double distance(const mpm_pairs *s, const mpm_pair *pair, const double *x, double along[3])
{
    const double *xi = x + s->dim * pair->i, *xj = x + s->dim * pair->j;
    double square = 0;
    for (int a = 0; a < s->dim; a++) {
        along[a] = xj[a] - xi[a];
        square += along[a] * along[a];
    }
    const double length = sqrt(square);
    for (int a = 0; a < s->dim; a++)
        along[a] = length > 0 ? along[a] / length : 0;
    return length;
}

/* n . (p_j - p_i) */
static double component(const mpm_pairs *s, const mpm_pair *pair, const double *p, const double along[3])
{
    double sum = 0;
    for (int a = 0; a < s->dim; a++)
        sum += along[a] * (p[s->dim * pair->j + a] - p[s->dim * pair->i + a]);
    return sum;
}

static mpm_status pull_pairs(void *self, const double *x, const double *v, double t, double *f)
{
    const mpm_pairs *s = self;
    (void)t;
    for (ptrdiff_t i = 0; i < s->bodies; i++)
        for (int a = 0; a < s->dim; a++)
            f[s->dim * i + a] = s->mass[i] * s->gravity[a];
    for (ptrdiff_t k = 0; k < s->count; k++) {
        const mpm_pair *pair = &s->pairs[k];
        double n[3];
        const double l = distance(s, pair, x, n);
        double tension = pair->stiffness * (l - pair->length) + pair->damping * component(s, pair, v, n);
        if (pair->attraction != 0)
            tension += pair->attraction / (l * l);
        for (int a = 0; a < s->dim; a++) {
            f[s->dim * pair->i + a] += tension * n[a];
            f[s->dim * pair->j + a] -= tension * n[a];
        }
    }
    return MPM_OK;
}

/* The tension grows by `stretch` per length along the pair, the force by `turn` across it. The damper's change with the
 * positions is left out: its matrix is not symmetric. Newton's method then takes a few more iterations. */
static mpm_status linearize_pairs(void *self, const double *x, const double *v, double t)
{
    const mpm_pairs *s = self;
    (void)v, (void)t;
    for (ptrdiff_t k = 0; k < s->count; k++) {
        const mpm_pair *pair = &s->pairs[k];
        mpm_pair_slope *slope = &s->slope[k];
        const double l = distance(s, pair, x, slope->along);
        slope->stretch = pair->stiffness;
        slope->turn = l > 0 ? pair->stiffness * (1 - pair->length / l) : pair->stiffness;
        slope->damping = pair->damping;
        if (pair->attraction != 0) {
            slope->stretch -= 2 * pair->attraction / (l * l * l);
            slope->turn += pair->attraction / (l * l * l);
        }
    }
    return MPM_OK;
}

/* df_i/dx_j = stretch n n^T + turn (I - n n^T), df_i/dv_j = damping n n^T, and their opposites for x_i, v_i and f_j. */
static mpm_status multiply_pairs(void *self, double a, double b, const double *p, double *q)
{
    const mpm_pairs *s = self;
    for (ptrdiff_t i = 0; i < s->dim * s->bodies; i++)
        q[i] = 0;
    for (ptrdiff_t k = 0; k < s->count; k++) {
        const mpm_pair *pair = &s->pairs[k];
        const mpm_pair_slope *slope = &s->slope[k];
        const double *pi = p + s->dim * pair->i, *pj = p + s->dim * pair->j;
        const double along = (a * (slope->stretch - slope->turn) + b * slope->damping) *
                             component(s, pair, p, slope->along);
        for (int c = 0; c < s->dim; c++) {
            const double change = a * slope->turn * (pj[c] - pi[c]) + along * slope->along[c];
            q[s->dim * pair->i + c] += change;
            q[s->dim * pair->j + c] -= change;
        }
    }
    return MPM_OK;
}

static mpm_status energy_of_pairs(void *self, const double *x, double t, double *energy)
{
    const mpm_pairs *s = self;
    (void)t;
    for (ptrdiff_t i = 0; i < s->bodies; i++)
        for (int a = 0; a < s->dim; a++)
            *energy -= s->mass[i] * s->gravity[a] * x[s->dim * i + a];
    for (ptrdiff_t k = 0; k < s->count; k++) {
        const mpm_pair *pair = &s->pairs[k];
        double n[3];
        const double l = distance(s, pair, x, n), stretch = l - pair->length;
        *energy += 0.5 * pair->stiffness * stretch * stretch;
        if (pair->attraction != 0)
            *energy -= pair->attraction / l;
    }
    return MPM_OK;
}

mpm_system mpm_systems_pairs(mpm_pairs *pairs, const double *inverse_mass)
{
    return (mpm_system){pairs, pairs->dim * pairs->bodies, inverse_mass, pull_pairs, linearize_pairs, multiply_pairs,
                        energy_of_pairs};
}

/* ---- velocity fields --------------------------------------------------------------------------------------------- */

static mpm_status rotation(void *self, const double *x, double t, double *v)
{
    const mpm_plane_field *field = self;
    const double omega = field->number[0], *center = field->number + 1;
    (void)t;
    for (ptrdiff_t i = 0; i < field->points; i++) {
        v[2 * i] = -omega * (x[2 * i + 1] - center[1]);
        v[2 * i + 1] = omega * (x[2 * i] - center[0]);
    }
    return MPM_OK;
}

static mpm_status shear(void *self, const double *x, double t, double *v)
{
    const mpm_plane_field *field = self;
    (void)t;
    for (ptrdiff_t i = 0; i < field->points; i++) {
        v[2 * i] = field->number[0] * x[2 * i + 1];
        v[2 * i + 1] = 0;
    }
    return MPM_OK;
}

static mpm_status vortex_pair(void *self, const double *x, double t, double *v)
{
    const mpm_plane_field *field = self;
    const double strength = field->number[0] / (2 * PI), d = field->number[1],
                 core2 = field->number[2] * field->number[2];
    const double travelled = t * strength * d / (d * d + core2);
    for (ptrdiff_t i = 0; i < field->points; i++) {
        const double dx = x[2 * i] - travelled, above = x[2 * i + 1] - d / 2, below = x[2 * i + 1] + d / 2;
        const double upper = strength / (dx * dx + above * above + core2);
        const double lower = -strength / (dx * dx + below * below + core2);
        v[2 * i] = -upper * above - lower * below;
        v[2 * i + 1] = (upper + lower) * dx;
    }
    return MPM_OK;
}

static const mpm_plane_field_row fields[] = {{"rotation", rotation}, {"shear", shear}, {"vortex-pair", vortex_pair}};

const mpm_plane_field_row *mpm_systems_plane_field(int index)
{
    return index >= 0 && index < (int)(sizeof fields / sizeof *fields) ? &fields[index] : NULL;
}
