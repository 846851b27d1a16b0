/* SPDX-License-Identifier: MIT
 *
 * This text is C++, too: a GPU compiles it (mpm/gpu/contact.h).
 */
#include "contact/lattice.h"

#include <math.h>

int64_t mpm_lattice_nodes(const double *header, int dim)
{
    double nodes = 1;
    for (int a = 0; a < 3; a++) {
        const double along = header[4 + a], least = a < dim ? 2 : 1, most = a < dim ? INT32_MAX : 1;
        if (!(along >= least && along <= most && along == floor(along)))
            return -1;
        nodes *= along;
    }
    const double faces = header[MPM_LATTICE_FACES];
    return header[3] > 0 && nodes < 0x1p50 && faces >= 0 && faces < 64 ? (int64_t)nodes : -1;
}

mpm_lattice_place mpm_lattice_find(const double *header, int dim, const double x[3])
{
    mpm_lattice_place place = {.dim = dim, .spacing = header[3]};
    const int faces = (int)header[MPM_LATTICE_FACES];
    for (int a = 0; a < dim; a++) {
        const double last = header[4 + a] - 1, cells = (x[a] - header[a]) / place.spacing;
        const double held = cells > 0 ? cells < last ? cells : last : 0;
        const ptrdiff_t cell = held < last ? (ptrdiff_t)held : (ptrdiff_t)last - 1;
        place.fraction[a] = held - (double)cell;
        place.beyond[a] = cells < 0 || cells > last;
        if (place.beyond[a] && faces >> (2 * a + (cells > last)) & 1)
            place.gap[a] = place.spacing * (cells - held);
        place.gap2 += place.gap[a] * place.gap[a];
        place.stride[a] = 1;
        for (int b = a + 1; b < dim; b++)
            place.stride[a] *= (ptrdiff_t)header[4 + b];
        place.first += cell * place.stride[a];
    }
    return place;
}

/* Returns the node of a corner of the cell, its weight, and the derivatives of the weight per cell along every axis. */
static ptrdiff_t weigh(const mpm_lattice_place *place, int corner, double *weight, double slope[3])
{
    ptrdiff_t node = place->first;
    *weight = slope[0] = slope[1] = slope[2] = 1;
    for (int a = 0; a < place->dim; a++) {
        const int upper = corner >> a & 1;
        const double share = upper ? place->fraction[a] : 1 - place->fraction[a];
        node += upper ? place->stride[a] : 0;
        *weight *= share;
        for (int b = 0; b < place->dim; b++)
            slope[b] *= b == a ? (upper ? 1 : -1) : share;
    }
    return node;
}

double mpm_lattice_distance(const mpm_lattice_place *place, const double *values, double gradient[3])
{
    double value = 0;
    gradient[0] = gradient[1] = gradient[2] = 0;
    for (int corner = 0; corner < 1 << place->dim; corner++) {
        double weight, slope[3];
        const double phi = values[weigh(place, corner, &weight, slope)];
        value += weight * phi;
        for (int a = 0; a < place->dim; a++)
            gradient[a] += place->beyond[a] ? 0 : slope[a] * phi / place->spacing;
    }
    if (place->gap2 > 0) {
        /* sqrt(phi^2 + gap^2), with phi at the nearest point of the rim: no larger than the distance, continuous, and
         * as steep as phi, because the two gradients are perpendicular */
        for (int a = 0; a < place->dim; a++)
            gradient[a] = value * gradient[a] + place->gap[a];
        value = sqrt(value * value + place->gap2);
    }
    return value;
}

void mpm_lattice_vector(const mpm_lattice_place *place, const double *values, double vector[3])
{
    vector[0] = vector[1] = vector[2] = 0;
    for (int corner = 0; corner < 1 << place->dim; corner++) {
        double weight, slope[3];
        const ptrdiff_t node = weigh(place, corner, &weight, slope);
        for (int a = 0; a < place->dim; a++)
            vector[a] += weight * values[node * place->dim + a];
    }
}
