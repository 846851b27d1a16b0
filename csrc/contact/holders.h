/* SPDX-License-Identifier: MIT
 *
 * Colliders at points: the functions of collider.c that a GPU has, too (mpm/gpu/contact.h). The text is C and C++.
 */
#pragma once
#include "contact/collider.h"

#include <math.h>

enum { POINTS_BEHIND = 8 }; /* points at which the inside of a thin collider and of others behind it is read */

/* The velocity at x of the rigid motion. */
static void rigid_velocity(const mpm_collider_state *state, const double x[3], double v[3])
{
    for (int c = 0; c < 3; c++) {
        const int a = (c + 1) % 3, b = (c + 2) % 3;
        v[c] = state->velocity[c] + state->spin[a] * (x[b] - state->reference[b]) -
               state->spin[b] * (x[a] - state->reference[a]);
    }
}

/* The point X of the collider, as described, that is now at x. */
static void find_own_place(const mpm_collider *collider, const mpm_collider_state *state, const double x[3],
                           double X[3])
{
    const double *R = state->rotation;
    double from[3];
    for (int a = 0; a < 3; a++)
        from[a] = x[a] - state->reference[a];
    for (int a = 0; a < 3; a++)
        X[a] = collider->reference[a] + R[a] * from[0] + R[3 + a] * from[1] + R[6 + a] * from[2];
}

/* Turns a reading of the collider as described to where it is now, at x. */
static mpm_shape_reading bring(const mpm_collider_state *state, const double x[3], const mpm_shape_reading *own)
{
    const double *R = state->rotation;
    mpm_shape_reading r = {.phi = own->phi};
    rigid_velocity(state, x, r.velocity);
    for (int a = 0; a < 3; a++) {
        const double *row = R + 3 * a;
        r.normal[a] = row[0] * own->normal[0] + row[1] * own->normal[1] + row[2] * own->normal[2];
        r.velocity[a] += row[0] * own->velocity[0] + row[1] * own->velocity[1] + row[2] * own->velocity[2];
    }
    return r;
}

mpm_shape_reading mpm_collider_read(const mpm_collider *collider, const mpm_collider_state *state, const double x[3],
                                    uint64_t parts)
{
    double X[3];
    find_own_place(collider, state, x, X);
    const mpm_shape_reading own = mpm_shape_read_parts(&collider->shape, state->time, X, parts);
    return bring(state, x, &own);
}

mpm_shape_reading mpm_collider_read_piece(const mpm_collider *collider, const double x[3], size_t piece,
                                          uint64_t parts)
{
    const mpm_collider_state *state = &collider->now;
    const mpm_shape *shape = &collider->shape;
    double X[3];
    find_own_place(collider, state, x, X);
    const mpm_shape_reading own = shape->intersects ? mpm_shape_read_parts(shape, state->time, X, parts)
                                                    : mpm_shape_read_part(shape, state->time, X, piece);
    return bring(state, x, &own);
}

static double length(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* Which pieces come within `radius` of a point in the shape, and which lie beside those, if the surface moves by
 * `motion`? */
static void find_near_parts(const mpm_shape *shape, double time, const double own[3], double radius, double motion,
                            uint64_t *near, uint64_t *beside)
{
    if (shape->intersects) {
        uint64_t parts = 0;
        const double phi = mpm_shape_find_parts(shape, time, own, radius, &parts);
        *near = phi <= shape->steepness * (radius + motion) ? parts : 0;
        *beside = phi <= shape->steepness * (2 * radius + motion) ? UINT64_MAX : 0;
        return;
    }
    *near = *beside = 0;
    for (size_t p = 0; p < shape->part_count; p++) {
        const uint64_t bit = (uint64_t)1 << mpm_shape_bit(shape, p);
        const double phi = mpm_shape_read_part(shape, time, own, p).phi, steepness = shape->parts[p].steepness;
        *near |= phi <= steepness * (radius + motion) ? bit : 0;
        *beside |= phi <= steepness * (2 * radius + motion) ? bit : 0;
    }
}

double mpm_collider_find_near(const mpm_collider *colliders, size_t count, const double centre[3], double radius,
                              double dt, mpm_collider_book *books)
{
    double largest = -1;
    for (size_t k = 0; k < count; k++) {
        const mpm_collider_state *state = &colliders[k].now;
        double v[3], arm[3], own[3];
        uint64_t near, beside;
        if (colliders[k].contact == MPM_ABSORBING)
            continue;
        rigid_velocity(state, centre, v);
        for (int a = 0; a < 3; a++)
            arm[a] = centre[a] - state->reference[a];
        const double steady = length(v) + length(state->spin) * radius;
        const double speed = fmax(steady, state->swing + state->twist * (length(arm) + radius)) + state->deforming;
        find_own_place(&colliders[k], state, centre, own);
        find_near_parts(&colliders[k].shape, state->time, own, radius, speed * dt, &near, &beside);
        books[k].beside |= beside;
        if (near) {
            books[k].near = true;
            books[k].parts |= near;
            books[k].speed = fmax(books[k].speed, speed);
            largest = fmax(largest, speed);
        }
    }
    return largest;
}

bool mpm_collider_can_hold(const mpm_collider *colliders, size_t count, const double centre[3], double radius,
                           const mpm_collider_book *books)
{
    for (size_t k = 0; k < count; k++)
        if (books[k].near && mpm_collider_read(&colliders[k], &colliders[k].now, centre, books[k].parts).phi <=
                                 colliders[k].shape.steepness * radius)
            return true;
    return false;
}

/* Is the point at x + along n, with the normal n of a reading at x, in one of these parts? */
static bool is_inside_along(const mpm_collider *collider, uint64_t parts, const double x[3],
                            const mpm_shape_reading *at, double along)
{
    double point[3];
    for (int a = 0; a < 3; a++)
        point[a] = x[a] + along * at->normal[a];
    return parts && mpm_collider_read(collider, &collider->now, point, parts).phi <= 0;
}

/* The same for one piece. The point may lie beyond the room for which parts of the shape were found. */
static bool is_in_piece_along(const mpm_collider *collider, size_t piece, const double x[3],
                              const mpm_shape_reading *at, double along)
{
    double point[3];
    for (int a = 0; a < 3; a++)
        point[a] = x[a] + along * at->normal[a];
    return mpm_collider_read_piece(collider, point, piece, UINT64_MAX).phi <= 0;
}

/* Does material at x meet nothing else before it has passed through a piece? What lies behind the piece without a gap
 * belongs to it. */
static bool is_thin(const mpm_collider *colliders, size_t count, const mpm_collider_book *books,
                    const mpm_holder *own, const double x[3], double depth)
{
    if (is_in_piece_along(&colliders[own->collider], own->piece, x, &own->at, -2 * depth))
        return false;
    for (int part = 1; part <= POINTS_BEHIND; part++) {
        const double along = -2 * depth * part / (int)POINTS_BEHIND;
        bool inside = false;
        for (size_t k = 0; k < count && !inside; k++)
            inside = is_inside_along(&colliders[k], books[k].parts | books[k].beside, x, &own->at, along);
        if (!inside)
            return true;
    }
    return false;
}

/* Does a piece hold a point inside of it? Distances are those between points: phi need not be one. */
static bool holds(const mpm_collider *colliders, size_t count, const mpm_collider_book *books, const mpm_holder *own,
                  const double x[3], double depth)
{
    const mpm_collider *collider = &colliders[own->collider];
    return !(depth > 0) || own->at.phi <= -mpm_collider_steepness(collider, own->piece) * depth ||
           is_in_piece_along(collider, own->piece, x, &own->at, depth) ||
           is_thin(colliders, count, books, own, x, depth);
}

int mpm_collider_find_holders(const mpm_collider *colliders, size_t count, const double x[3], double depth,
                              const mpm_collider_book *books, mpm_holder holders[MPM_MOST_HOLDERS])
{
    int found = 0;
    for (size_t k = 0; k < count; k++)
        for (size_t p = 0; books[k].near && p < mpm_collider_pieces(&colliders[k]); p++) {
            mpm_holder holder = {.collider = k, .piece = p};
            if (!mpm_collider_has_piece(&colliders[k], books[k].parts, p))
                continue;
            holder.at = mpm_collider_read_piece(&colliders[k], x, p, books[k].parts);
            if (!(holder.at.phi <= 0) ||
                (found == MPM_MOST_HOLDERS && holder.at.phi >= holders[found - 1].at.phi) ||
                !holds(colliders, count, books, &holder, x, depth))
                continue;
            int at = found < MPM_MOST_HOLDERS ? found++ : found - 1;
            for (; at > 0 && holders[at - 1].at.phi > holder.at.phi; at--)
                holders[at] = holders[at - 1];
            holders[at] = holder;
        }
    return found;
}

void mpm_collider_enter(mpm_collider_book *book, const mpm_collider *collider, const double image[3],
                        const double impulse[3])
{
    const double *reference = collider->now.reference;
    for (int a = 0; a < 3; a++)
        book->impulse[a] += impulse[a];
    for (int c = 0; c < 3; c++) {
        const int a = (c + 1) % 3, b = (c + 2) % 3;
        book->torque[c] += (image[a] - reference[a]) * impulse[b] - (image[b] - reference[b]) * impulse[a];
    }
}
