/* SPDX-License-Identifier: MIT
 *
 * A stage of the grid pass: the dashpots of absorbing walls and colliders, after the forces. With the velocity v of a
 * node relative to the surface, and the coefficient k of a dashpot over the mass of the node,
 *
 *     v_n <- v_n/(1 + k_p dt),  v_t <- v_t/(1 + k_s dt)
 *
 * so that dashpots are implicit in the node, and limit no time step.
 *
 * The traction -rho c v of a dashpot (Lysmer & Kuhlemeyer) acts where the surface is. A node takes the share S of it
 * that it has of the force of a uniform stress in a half-space which ends at the surface: the integral over the
 * half-space of the gradient of the scheme. There the node has the share I, the integral of N, of the mass of a cell.
 * So k = c S/(I dx), whatever the density and wherever the material ends along the surface.
 *
 * With p(t) the density of n.x under N, x from the node in cells, and s the distance of the node from the surface,
 *
 *     I = int_-s^inf p dt,  S = p(s) with the gradient of the B-spline,  S = int_-s^inf t p dt/D with that of MLS-MPM
 *
 * where D is the variance of N along an axis. Along an axis of the grid p is the B-spline itself.
 *
 * J. Lysmer, R. L. Kuhlemeyer, J. Eng. Mech. Div. ASCE 95 (1969) 859-877.
 */
#pragma once
#include <math.h>

#include "mpm/kernels/fold.h"
#include "mpm/kernels/nodes.h"
#include "mpm/kernels/reach.h"

enum { GAUSS_POINTS = 3, MOST_POINTS = GAUSS_POINTS * 4 };

/* The B-spline at x [cells], integrated `order` times from below. */
INLINE double integrated_spline(int degree, int order, double x)
{
    double sum = 0, binomial = 1, factorial = 1;
    for (int k = 2; k <= degree + order; k++)
        factorial *= k;
    for (int j = 0; j <= degree + 1; j++) {
        const double y = x + 0.5 * (degree + 1) - j;
        if (!(y > 0))
            break;
        double power = 1;
        for (int k = 0; k < degree + order; k++)
            power *= y;
        sum += binomial * power;
        binomial *= -(double)(degree + 1 - j) / (j + 1);
    }
    return sum / factorial;
}

/* The points of Gauss in the pieces of a B-spline, with its weights there. Returns their number: one, in the middle,
 * along an axis that does not count. */
static int spline_points(int degree, bool counts, double x[MOST_POINTS], double weight[MOST_POINTS])
{
    static const double place[GAUSS_POINTS] = {-0.3872983346207417, 0, 0.3872983346207417};
    static const double share[GAUSS_POINTS] = {5.0 / 18, 8.0 / 18, 5.0 / 18};
    int count = 0;
    x[0] = 0;
    weight[0] = 1;
    for (int piece = 0; counts && piece <= degree; piece++)
        for (int k = 0; k < GAUSS_POINTS; k++, count++) {
            x[count] = piece - 0.5 * degree + place[k];
            weight[count] = share[k] * integrated_spline(degree, 0, x[count]);
        }
    return counts ? count : 1;
}

/* S/I of a node at the distance s [cells] from a surface of normal n; 0 out of reach. */
NOINLINE double dashpot_share(const mpm_scheme *scheme, const double n[3], double s)
{
    const int degree = (int)scheme->degree;
    double x[2][MOST_POINTS], weight[2][MOST_POINTS], reach = 0;
    int along = 0, count[2] = {1, 1};
    for (int a = 0; a < DIM; a++) {
        along = fabs(n[a]) > fabs(n[along]) ? a : along;
        reach += 0.5 * (degree + 1) * fabs(n[a]);
    }
    if (!(fabs(s) < reach))
        return 0;
    x[1][0] = 0;
    weight[1][0] = 1;
    const double width = fabs(n[along]), across[2] = {n[(along + 1) % DIM], DIM == 3 ? n[(along + 2) % DIM] : 0};
    for (int k = 0; k < DIM - 1; k++)
        count[k] = spline_points(degree, fabs(across[k]) > 1e-8, x[k], weight[k]);
    double density = 0, mass = 0, rising = 0; /* p and its integrals up to s */
    for (int i = 0; i < count[0]; i++)
        for (int j = 0; j < count[1]; j++) {
            const double y = (s - across[0] * x[0][i] - across[1] * x[1][j]) / width;
            const double w = weight[0][i] * weight[1][j];
            density += w * integrated_spline(degree, 0, y) / width;
            mass += w * integrated_spline(degree, 1, y);
            rising += w * integrated_spline(degree, 2, y) * width;
        }
    const double variance = (degree + 1) / 12.0;
    const double stress = scheme->gradient == MPM_GRADIENT_MLS ? (rising - s * mass) / variance : density;
    return mass > 0 && stress > 0 ? stress / mass : 0;
}

/* Slows a velocity v relative to a surface with normal n by its dashpots, at the distance s [cells]. */
INLINE void slow_down(const mpm_grid_pass *pass, const double speeds[2], const double n[3], double s, double v[3])
{
    const double pace = pass->dt / pass->dx * dashpot_share(&pass->scheme, n, s);
    if (!(pace > 0))
        return;
    const double keep[2] = {1 / (1 + speeds[0] * pace), 1 / (1 + speeds[1] * pace)};
    double normal = 0;
    for (int a = 0; a < DIM; a++)
        normal += v[a] * n[a];
    for (int a = 0; a < DIM; a++)
        v[a] = keep[1] * (v[a] - normal * n[a]) + keep[0] * normal * n[a];
}

/* A node, with its velocity in the frame of the domain; the impulses are those on its own particles, in their frame.
 * What an image loses across a mirror is in the impulse of the mirror. */
struct slowed_node {
    const mpm_image_node *image;
    double v[3], own_mass;
    int64_t at[DIM], own[DIM]; /* coordinates in the domain; its own */
};

/* The change of the velocity from `before` on, as an impulse in the frame of the node. */
INLINE void impulse_since(struct slowed_node *node, const double before[3], double impulse[3])
{
    const mpm_image_node *image = node->image;
    for (int a = 0; a < DIM; a++) {
        if (image && image->planes >> a & 1)
            node->v[a] = before[a]; /* its image pushes back */
        const double given = node->own_mass * (node->v[a] - before[a]);
        impulse[a] = image && image->normals >> a & 1 ? 0 : image && image->flips >> a & 1 ? -given : given;
    }
}

INLINE void absorb_at_walls(const mpm_grid_pass *pass, ptrdiff_t b, struct slowed_node *node)
{
    double impulse[3], before[3];
    memcpy(before, node->v, sizeof before);
    for (int face = 0; face < 2 * DIM; face++) {
        const mpm_wall *wall = &pass->walls[face];
        const int64_t depth = face % 2 ? pass->cells[face / 2] - node->at[face / 2] : node->at[face / 2];
        double n[3] = {0};
        n[face / 2] = face % 2 ? -1 : 1;
        if (wall->contact == MPM_ABSORBING)
            slow_down(pass, wall->speeds, n, (double)depth, node->v);
    }
    impulse_since(node, before, impulse);
    for (int a = 0; a < DIM; a++)
        pass->reports[b].impulse[a] += impulse[a];
}

INLINE void absorb_at_collider(const mpm_grid_pass *pass, ptrdiff_t b, const mpm_collider *collider,
                               struct slowed_node *node)
{
    mpm_collider_book *books = pass->colliders.books + (size_t)b * pass->colliders.count;
    double x[3] = {0}, image[3] = {0}, before[3], relative[3] = {0}, impulse[3] = {0};
    for (int a = 0; a < DIM; a++) {
        x[a] = pass->colliders.lower[a] + (double)node->at[a] * pass->dx;
        image[a] = pass->colliders.lower[a] + (double)node->own[a] * pass->dx;
    }
    const mpm_shape_reading surface = mpm_collider_read(collider, &collider->now, x, UINT64_MAX);
    memcpy(before, node->v, sizeof before);
    for (int a = 0; a < DIM; a++)
        relative[a] = node->v[a] - surface.velocity[a];
    slow_down(pass, collider->speeds, surface.normal, surface.phi / pass->dx, relative);
    for (int a = 0; a < DIM; a++)
        node->v[a] = surface.velocity[a] + relative[a];
    impulse_since(node, before, impulse);
    mpm_collider_enter(&books[collider - pass->colliders.list], collider, image, impulse);
}

/* Dashpots of a collider, or of the walls (NULL), at the nodes of a block. */
INLINE void absorb_nodes(const mpm_grid_pass *pass, ptrdiff_t b, const mpm_collider *collider)
{
    const mpm_node_block *block = &pass->grid->blocks[b];
    real *velocity = field_nodes(pass->grid, MPM_GRID_VELOCITY, b);
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        real *v = velocity + 4 * n;
        if (!(v[3] > 0))
            continue;
        struct slowed_node node = {
            .image = image_of(pass->grid, b, n),
            .own_mass = (double)(block->fold >= 0
                                     ? fold_vec4(pass->grid->raw[MPM_GRID_VELOCITY], block->fold, n)[3] : v[3])};
        node_coordinates(block, n, node.own);
        for (int a = 0; a < DIM; a++) {
            node.at[a] = node.image ? node.image->at[a] : node.own[a];
            node.v[a] = (double)v[a];
        }
        if (collider)
            absorb_at_collider(pass, b, collider, &node);
        else
            absorb_at_walls(pass, b, &node);
        for (int a = 0; a < DIM; a++)
            v[a] = (real)node.v[a];
    }
}

NOINLINE void absorb_block(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_node_block *block = &pass->grid->blocks[b];
    const double diagonal = DIM == 3 ? 1.7320508075688773 : 1.4142135623730951;
    const double reach = 0.5 * ((int)pass->scheme.degree + 1) * diagonal * pass->dx; /* of a B-spline */
    bool walls = false;
    for (int face = 0; face < 2 * DIM; face++)
        walls |= pass->walls[face].contact == MPM_ABSORBING;
    for (size_t k = 0; k < pass->colliders.count; k++) {
        const mpm_collider *collider = &pass->colliders.list[k];
        if (collider->contact == MPM_ABSORBING &&
            (block->fold >= 0 || collider_reaches(collider, block, pass->colliders.lower, pass->dx, reach)))
            absorb_nodes(pass, b, collider);
    }
    if (walls)
        absorb_nodes(pass, b, NULL);
}
