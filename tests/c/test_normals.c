/* SPDX-License-Identifier: MIT */
/* sources: base/memory.c contact/layers.c */
/* Normals and gaps of two half-spaces that touch, with exact moments: by the impulse at a node without friction. */
#include "contact/layers.h"

#include <math.h>

#include "check.h"

enum { SAMPLES = 240 }; /* along an axis */

static double spline(int degree, double u)
{
    u = fabs(u);
    if (degree == 2)
        return u < 0.5 ? 0.75 - u * u : u < 1.5 ? 0.5 * (1.5 - u) * (1.5 - u) : 0;
    return u < 1 ? 2.0 / 3 - u * u + 0.5 * u * u * u : u < 2 ? (2 - u) * (2 - u) * (2 - u) / 6 : 0;
}

/* Degrees between the impulse and the normal of a plane at this angle to the first axis, u cells from the node. */
static double error_of_normal(int degree, double angle, double u)
{
    const double n[2] = {cos(angle), sin(angle)}, reach = 0.5 * (degree + 1), step = 2 * reach / SAMPLES;
    mpm_layer_body bodies[2] = {{.layer = 0, .mass = 1, .v = {n[0], n[1]}}, {.layer = 1, .index = 1, .mass = 1}};
    for (int i = 0; i < SAMPLES; i++)
        for (int j = 0; j < SAMPLES; j++) {
            const double x = (i + 0.5) * step - reach, y = (j + 0.5) * step - reach;
            const double w = spline(degree, x) * spline(degree, y) * step * step;
            mpm_layer_body *body = &bodies[x * n[0] + y * n[1] > u];
            body->volume += w;
            body->offset[0] += w * x;
            body->offset[1] += w * y;
            body->square[0] += w * x * x;
            body->square[1] += w * y * y;
            body->square[5] += w * x * y;
        }
    const mpm_layers rules = {.rule = {.contact = MPM_SEPARATE}};
    const mpm_layer_node node = {.dim = 2, .degree = degree, .h = 1, .dt = 1, .room = {1, 1, 1}};
    mpm_layer_touch touches[MPM_MOST_AT_NODE * (MPM_MOST_AT_NODE - 1) / 2];
    assert(mpm_layers_solve(&rules, &node, bodies, 2, touches) == 1);
    const double *p = touches[0].impulse, size = hypot(p[0], p[1]);
    assert(fabs(size - 0.5) < 0.02); /* of the approach, whose gap is 0; measured: 0.007 */
    return asin((n[0] * p[1] - n[1] * p[0]) / size) * 180 / 3.14159265358979324;
}

int main(void)
{
    double worst = 0;
    for (int degree = 2; degree <= 3; degree++)
        for (int k = 0; k < 9; k++) /* by 5 degrees; samples would lie on a plane at 45 */
            for (int m = -2; m <= 2; m++)
                worst = fmax(worst, fabs(error_of_normal(degree, k * 0.0872664626, 0.25 * m)));
    assert(worst < 0.2); /* degrees; measured: 0.12, and 1.09 by the discriminant as it is */
    return 0;
}
