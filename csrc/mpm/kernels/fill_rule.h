/* SPDX-License-Identifier: MIT
 *
 * How full a node is near walls and colliders (fill.c): for processors and GPUs. The includer has
 *
 *     fill_pass, FILL_DEGREE(pass)   a pass with cells, walls and colliders; the degree of its B-splines
 *     struct found                   what a lookup of nodes remembers
 *     volume_at(pass, at, found)     the volume at a node, with its images; -1 where there is no node
 *     FILL_COLLIDES                  are there colliders? 1 or 0
 */
#pragma once
#include "mpm/kernels/scheme.h"

/* A node less full than this says nothing, nor does one whose B-spline has a smaller share in the domain. */
static const double FULL = 0.8, LEAST_SHARE = 0.01;

/* ---- images ------------------------------------------------------------------------------------------------------ */

/* Moves a coordinate to its image beyond a face of an axis. Returns whether there is one. */
INLINE bool move_to_image(const fill_pass *pass, int axis, int side, int64_t *at)
{
    const int64_t cells = pass->cells[axis];
    if (pass->walls[2 * axis].contact == MPM_PERIODIC)
        *at += side ? cells : -cells;
    else if (pass->walls[2 * axis + side].contact == MPM_MIRROR)
        *at = side ? 2 * cells - *at : -*at;
    else
        return false;
    return true;
}

/* The volume at an image of a node without a block; 0 if no image has one. Digits of `chosen`, one per axis: no image,
 * the one of the lower face, of the upper face. (With recursion, compilers of GPUs could not tell how large the stack
 * is.) */
NOINLINE real volume_of_image(const fill_pass *pass, const int64_t at[DIM], struct found *found)
{
    for (int chosen = 1; chosen < (DIM == 3 ? 27 : 9); chosen++) {
        int64_t image[DIM];
        bool exists = true;
        for (int a = 0, digits = chosen; a < DIM; a++, digits /= 3) {
            image[a] = at[a];
            exists &= !(digits % 3) || move_to_image(pass, a, digits % 3 - 1, &image[a]);
        }
        const real other = exists ? volume_at(pass, image, found) : -1;
        if (other > 0)
            return other;
    }
    return 0;
}

/* The volume at a node, from any of its images; all of them hold the same bits. 0 if there is none. */
INLINE real volume_of_any(const fill_pass *pass, const int64_t at[DIM], struct found *found)
{
    const real own = volume_at(pass, at, found);
    return own >= 0 ? own : volume_of_image(pass, at, found);
}

/* ---- walls ------------------------------------------------------------------------------------------------------- */

INLINE bool ends_domain(const mpm_wall *wall)
{
    return wall->contact != MPM_MIRROR && wall->contact != MPM_PERIODIC;
}

/* At a wall that is no mirror, too, the sums of the nodes beyond it count for those within, and the other way round.
 * Shares of the B-splines within the domain would know nothing of the particles that are a little beyond the wall: with
 * them, the pressure there is wrong, and water that has come to rest gains energy. */

/* The place of a node reflected at the walls of an axis that it is near, else its own. */
INLINE int64_t beyond_wall(const fill_pass *pass, int axis, int64_t at)
{
    const int64_t reach = FILL_DEGREE(pass) - 1, cells = pass->cells[axis];
    if (at >= -reach && at <= reach && ends_domain(&pass->walls[2 * axis]))
        return -at;
    if (at - cells >= -reach && at - cells <= reach && ends_domain(&pass->walls[2 * axis + 1]))
        return 2 * cells - at;
    return at;
}

/* The image in the domain of a node beyond mirrors and periodic faces. Returns whether it is another node. */
static bool into_domain(const fill_pass *pass, int64_t at[DIM])
{
    bool moves = false;
    for (int a = 0; a < DIM; a++) {
        const int64_t cells = pass->cells[a], before = at[a];
        if (pass->walls[2 * a].contact == MPM_PERIODIC)
            at[a] = (at[a] % cells + cells) % cells;
        else if (pass->walls[2 * a].contact == MPM_MIRROR && at[a] < 0)
            at[a] = -at[a];
        else if (pass->walls[2 * a + 1].contact == MPM_MIRROR && at[a] > cells)
            at[a] = 2 * cells - at[a];
        moves |= at[a] != before;
    }
    return moves;
}

/* The reflection of a coordinate; a node on a wall is its own. */
struct reflected {
    int64_t at, other;
    real factor;
};

INLINE struct reflected reflect(const fill_pass *pass, int axis, int64_t at)
{
    const bool is_own = (at == 0 && ends_domain(&pass->walls[2 * axis])) ||
                        (at == pass->cells[axis] && ends_domain(&pass->walls[2 * axis + 1]));
    const struct reflected found = {at, beyond_wall(pass, axis, at), is_own ? (real)2 : (real)1};
    return found;
}

/* Adds the reflections of a node near walls to its volume. `found`: of each reflection. */
INLINE real with_reflections(const fill_pass *pass, const struct reflected node[DIM], real volume,
                             struct found found[1 << DIM])
{
    unsigned near = 0;
    real sum = 0, factor = 1;
    UNROLL for (int a = 0; a < DIM; a++) {
        near |= (node[a].other != node[a].at ? 1u : 0) << a;
        factor *= node[a].factor;
    }
    for (unsigned chosen = near; chosen; chosen = (chosen - 1) & near) {
        int64_t image[DIM];
        UNROLL for (int a = 0; a < DIM; a++)
            image[a] = chosen >> a & 1 ? node[a].other : node[a].at;
        sum += volume_of_any(pass, image, &found[chosen]);
    }
    return (volume + sum) * factor;
}

#if FILL_COLLIDES
/* ---- colliders --------------------------------------------------------------------------------------------------- */

/* The share of a B-spline on the outer side of a plane at the signed distance s [cells], positive inside. Every
 * direction counts as an axis: their second moments are the same. */
static double share_beyond(double s, int degree)
{
    const double t = s < 0 ? -s : s, end = 0.5 * (degree + 1), left = end - t;
    double tail = 0;
    if (t >= end)
        tail = 0;
    else if (degree == MPM_LINEAR)
        tail = left * left / 2;
    else if (degree == MPM_QUADRATIC)
        tail = t > 0.5 ? left * left * left / 6 : 0.5 - t * (0.75 - t * t / 3);
    else
        tail = t > 1 ? left * left * left * left / 24 : 0.5 - t * (2.0 / 3 - t * t * (1.0 / 3 - t / 8));
    return s < 0 ? tail : 1 - tail;
}

/* The colliders that reach a block, by bits; those beyond the 63rd share the last one. */
INLINE uint64_t bit_of(size_t collider)
{
    return (uint64_t)1 << (collider < 63 ? collider : 63);
}

/* The colliders near `at` that are nearer than the surface found before. */
static void find_surface(const fill_pass *pass, uint64_t near, const int64_t at[DIM],
                         mpm_shape_reading *nearest)
{
    double x[3] = {0, 0, 0};
    for (int a = 0; a < DIM; a++)
        x[a] = pass->colliders.lower[a] + (double)at[a] * pass->colliders.dx;
    for (size_t k = 0; k < (size_t)pass->colliders.count; k++) {
        if (!(near & bit_of(k)))
            continue;
        const mpm_collider *collider = &pass->colliders.list[k];
        const mpm_shape_reading reading = mpm_collider_read(collider, &collider->now, x, UINT64_MAX);
        if (reading.phi < nearest->phi)
            *nearest = reading;
    }
}

/* The same at the images of a node behind periodic faces within reach of its B-spline; digits as above. */
static void find_surface_of_images(const fill_pass *pass, uint64_t near, const int64_t at[DIM],
                                   mpm_shape_reading *nearest)
{
    const int64_t reach = FILL_DEGREE(pass);
    bool near_faces = false;
    for (int a = 0; a < DIM; a++)
        near_faces |= pass->walls[2 * a].contact == MPM_PERIODIC &&
                      (at[a] <= reach || at[a] >= pass->cells[a] - reach);
    for (int chosen = 1; near_faces && chosen < (DIM == 3 ? 27 : 9); chosen++) {
        int64_t image[DIM];
        bool exists = true;
        for (int a = 0, digits = chosen; a < DIM; a++, digits /= 3) {
            const int64_t cells = pass->cells[a];
            image[a] = at[a];
            if (!(digits % 3))
                continue;
            exists &= pass->walls[2 * a].contact == MPM_PERIODIC &&
                      (digits % 3 == 1 ? at[a] <= reach : at[a] >= cells - reach);
            image[a] += digits % 3 == 1 ? cells : -cells;
        }
        if (exists)
            find_surface(pass, near, image, nearest);
    }
}

/* The share of a node's B-spline outside of colliders, and the surface that decides it. Colliders are one union: where
 * surfaces meet or overlap, the least distance counts. So a union gives what its parts give as colliders of their own.
 * A product of shares would be nearer the truth in corners. */
static double share_outside(const fill_pass *pass, uint64_t near, const int64_t at[DIM],
                            mpm_shape_reading *nearest)
{
    mpm_shape_reading found = {0};
    found.phi = __builtin_inf();
    find_surface(pass, near, at, &found);
    find_surface_of_images(pass, near, at, &found);
    *nearest = found;
    return share_beyond(found.phi / pass->colliders.dx, FILL_DEGREE(pass));
}

/* How full a node near colliders is. It shares volume and room with the node that is nearest to its reflection at the
 * surface: particles may be up to half a cell within a collider, and what they add to a node inside, those outside
 * lack. Walls, where the reflection of a node is a node, have the same rule. `near`: the colliders that may matter,
 * `at`: the image of the node in the domain. */
static real fill_at_surface(const fill_pass *pass, uint64_t near, const int64_t at[DIM], real volume,
                            struct found found[1 << DIM])
{
    const double h = pass->colliders.dx, reach = 0.5 * (FILL_DEGREE(pass) + 1) * h;
    const double per_cell = 1 / (DIM == 3 ? h * h * h : h * h);
    int64_t other[DIM];
    bool is_own = true;
    mpm_shape_reading surface, unused;
    if (!(volume > 0))
        return 1;
    double share = share_outside(pass, near, at, &surface), sum = (double)volume;
    if (fabs(surface.phi) < reach)
        for (int a = 0; a < DIM; a++) {
            other[a] = at[a] - (int64_t)floor(2 * surface.phi / h * surface.normal[a] + 0.5);
            is_own &= other[a] == at[a];
        }
    if (!is_own) {
        struct reflected reflected[DIM];
        const bool moves = into_domain(pass, other);
        for (int a = 0; a < DIM; a++)
            reflected[a] = reflect(pass, a, other[a]);
        share += share_outside(pass, moves ? UINT64_MAX : near, other, &unused);
        sum += (double)with_reflections(pass, reflected, volume_of_any(pass, other, found), found);
    }
    return share >= LEAST_SHARE && per_cell * sum >= FULL * share ? (real)(per_cell * sum / share) : 1;
}
#endif
