/* SPDX-License-Identifier: MIT
 *
 * This text is C++, too: a GPU compiles it (mpm/gpu/contact.h).
 */
#include "contact/exposed.h"

#include <math.h>
#include <string.h>

#include "base/vector.h"

enum {
    MOST_STRIDES = 48,
    MOST_HALVINGS = 60, /* of the last stride: until rounding ends it */
    MOST_COVERED = 3    /* faces of one body beside each other */
};
static const double PARALLEL = 0.99; /* cosine */
static const double LONGER = 1.5;    /* than the stride before */
static const double FIRST = 1e-6;    /* stride, in cells */
static const double PAST = 1e-6;     /* part of a stride; on an axis itself, rounding says where a normal points */
static const double END = 1e-9;      /* of the domain: a collider that comes that close to a face ends there */

/* How far a point has to be from a surface to be beside it. */
struct scale {
    double tolerance, step; /* [m] */
};

static mpm_shape_reading read_piece(const mpm_collider *collider, size_t piece, const double x[3])
{
    const mpm_piece whole = {collider, piece};
    return mpm_exposed_read(whole, x);
}

static void go_along(const double x[3], double along, const double n[3], double to[3])
{
    for (int a = 0; a < 3; a++)
        to[a] = x[a] + along * n[a];
}

/* The component of a face's normal along its axis. */
static double side_of(int face)
{
    return face % 2 ? -1 : 1;
}

/* Is y beyond a face? Brings it back through periodic faces, and sets `turned` if there were any. Otherwise moves y off
 * the faces, where the ends of other bodies lie. Sides n and m of a groove may be beside faces that hold x (NULL: no
 * groove). */
static bool is_beyond(const mpm_faces *faces, double y[3], double tolerance, const double *n, const double *m,
                      bool *turned)
{
    for (int face = 0; faces && face < 6; face++) {
        const int a = face / 2;
        const double beyond = face % 2 ? y[a] - faces->upper[a] : faces->lower[a] - y[a];
        if (!(beyond > tolerance) || !(faces->upper[a] > faces->lower[a]))
            continue;
        if (!(faces->periodic >> a & 1)) {
            if (!n || !(faces->held >> face & 1) ||
                fmin(side_of(face) * n[a], side_of(face) * m[a]) < -PARALLEL)
                return true;
        } else {
            y[a] += side_of(face) * (faces->upper[a] - faces->lower[a]);
            *turned = true;
        }
    }
    for (int a = 0; faces && a < 3; a++) {
        const double nudge = END * (faces->upper[a] - faces->lower[a]);
        if (nudge > 0 && y[a] >= faces->lower[a] - tolerance && y[a] <= faces->upper[a] + tolerance)
            y[a] = fmin(fmax(y[a], faces->lower[a] + nudge), faces->upper[a] - nudge);
    }
    return false;
}

/* Does anything but the face with the normal n at y cover y? */
static bool is_covered(const mpm_surroundings *around, mpm_piece own, const double y[3], const double n[3],
                       struct scale scale)
{
    double above[3];
    bool turned = false; /* then the other end of the body may be there */
    go_along(y, scale.step, n, above);
    if (is_beyond(around->faces, above, scale.tolerance, NULL, NULL, &turned))
        return true;
    for (size_t k = 0; k < around->count; k++) {
        const mpm_collider *other = &around->colliders[k];
        for (size_t p = 0; around->books[k].beside && p < mpm_collider_pieces(other); p++)
            if (mpm_collider_has_piece(other, around->books[k].beside, p) &&
                (other != own.collider || p != own.index || turned) &&
                read_piece(other, p, above).phi < -scale.tolerance)
                return true;
    }
    return false;
}

/* Is the edge e of sides with the normals n and m covered by what is not a side of the same groove? */
static bool is_edge_covered(const mpm_surroundings *around, const double e[3], const double n[3], const double m[3],
                            struct scale scale)
{
    double above[3];
    bool turned = false;
    for (int a = 0; a < 3; a++)
        above[a] = e[a] + scale.step * (n[a] + m[a]);
    if (is_beyond(around->faces, above, scale.tolerance, n, m, &turned))
        return true;
    for (size_t k = 0; k < around->count; k++)
        for (size_t p = 0; p < mpm_collider_pieces(&around->colliders[k]); p++) {
            const mpm_piece piece = {&around->colliders[k], p};
            if (!mpm_collider_has_piece(piece.collider, around->books[k].beside, p) ||
                !(mpm_exposed_read(piece, above).phi < -scale.tolerance))
                continue;
            const mpm_shape_reading here = mpm_exposed_read(piece, around->x);
            if (here.phi > scale.tolerance || mpm_dot3(here.normal, n) < -PARALLEL ||
                mpm_dot3(here.normal, m) < -PARALLEL)
                return true;
        }
    return false;
}

/* Does a piece contain the point above the foot of x on a plane at the depth d with the normal n? */
static bool contains_foot(mpm_piece piece, const double x[3], const double n[3], double d, struct scale scale)
{
    double above[3];
    go_along(x, d + scale.step, n, above);
    return mpm_exposed_read(piece, above).phi <= scale.tolerance;
}

/* Do planes at the depths d and f of x, with the normals n and m, meet at an edge e? */
static bool find_edge(const double x[3], const double n[3], double d, const double m[3], double f, double e[3])
{
    const double c = mpm_dot3(n, m);
    if (fabs(c) > PARALLEL)
        return false;
    const double b = (f - c * d) / (1 - c * c), a = d - c * b;
    for (int k = 0; k < 3; k++)
        e[k] = x[k] + a * n[k] + b * m[k];
    return true;
}

/* Does the face that `at` reads form a groove at x with a wall or with another piece? */
static bool forms_groove(const mpm_surroundings *around, mpm_piece own, const mpm_shape_reading *at,
                         struct scale scale)
{
    const double *x = around->x, depth = -at->phi;
    double e[3];
    for (int face = 0; around->faces && face < 6; face++) {
        const int a = face / 2;
        const double m[3] = {a == 0 ? side_of(face) : 0, a == 1 ? side_of(face) : 0, a == 2 ? side_of(face) : 0};
        if (!(around->faces->held >> face & 1))
            continue;
        const double wall = side_of(face) > 0 ? around->faces->lower[a] - x[a] : x[a] - around->faces->upper[a];
        const double above = wall - (depth + scale.step) * mpm_dot3(at->normal, m); /* of y, beyond the face */
        if (above >= -scale.tolerance && contains_foot(own, x, m, wall, scale) &&
            find_edge(x, at->normal, depth, m, wall, e) &&
            fabs(mpm_exposed_read(own, e).phi) <= 0.1 * depth + scale.tolerance &&
            !is_edge_covered(around, e, at->normal, m, scale))
            return true;
    }
    for (size_t k = 0; k < around->count; k++)
        for (size_t p = 0; p < mpm_collider_pieces(&around->colliders[k]); p++) {
            const mpm_piece piece = {&around->colliders[k], p};
            if (!mpm_collider_has_piece(piece.collider, around->books[k].beside, p))
                continue;
            const mpm_shape_reading other = mpm_exposed_read(piece, x);
            if (other.phi > scale.tolerance || !contains_foot(piece, x, at->normal, depth, scale) ||
                !contains_foot(own, x, other.normal, -other.phi, scale) ||
                !find_edge(x, at->normal, depth, other.normal, -other.phi, e))
                continue;
            const double room = 0.1 * (depth - other.phi) + scale.tolerance;
            if (fabs(mpm_exposed_read(own, e).phi) <= room && fabs(mpm_exposed_read(piece, e).phi) <= room &&
                !is_edge_covered(around, e, at->normal, other.normal, scale))
                return true;
        }
    return false;
}

/* Is the plane of a face, which `inner` reads, above x a face of the piece that nothing covers? Finds y there. */
static bool is_exposed(const mpm_surroundings *around, mpm_piece own, const mpm_shape_reading *inner,
                       const double foot[3], double y[3], struct scale scale)
{
    const double *n = inner->normal;
    double above[3], below[3];
    const double depth = mpm_dot3(foot, n) - mpm_dot3(around->x, n);
    go_along(around->x, depth, n, y);
    go_along(y, scale.step, n, above);
    go_along(y, -scale.step, n, below);
    const mpm_shape_reading outside = mpm_exposed_read(own, above);
    return depth >= -scale.tolerance && outside.phi > 0 && mpm_dot3(outside.normal, n) > PARALLEL &&
           mpm_exposed_read(own, below).phi <= scale.tolerance && !is_covered(around, own, y, n, scale);
}

/* Covered faces of a piece, and the way inwards from all of them. */
struct hidden {
    double normal[MOST_COVERED][3], away[3];
    int count;
};

static void hide(struct hidden *hidden, const double normal[3])
{
    memcpy(hidden->normal[hidden->count++], normal, sizeof hidden->normal[0]);
    for (int a = 0; a < 3; a++)
        hidden->away[a] += normal[a];
}

/* Reads the piece at a distance from x on the way inwards. Is the nearest face there one that is not hidden? */
static bool leaves(const struct hidden *hidden, mpm_piece own, const double x[3], double distance,
                   mpm_shape_reading *reading, double inner[3])
{
    go_along(x, -distance, hidden->away, inner);
    *reading = mpm_exposed_read(own, inner);
    for (int k = 0; k < hidden->count; k++)
        if (mpm_dot3(reading->normal, hidden->normal[k]) > PARALLEL)
            return false;
    return true;
}

/* The least distance at which another face becomes the nearest: hidden ones recede, so that they stay behind it. */
static double first_to_leave(const struct hidden *hidden, mpm_piece own, const double x[3], double low, double high)
{
    mpm_shape_reading reading;
    double inner[3];
    for (int k = 0; k < MOST_HALVINGS; k++) {
        const double middle = 0.5 * (low + high);
        if (!(low < middle && middle < high))
            break;
        if (leaves(hidden, own, x, middle, &reading, inner))
            high = middle;
        else
            low = middle;
    }
    return high;
}

bool mpm_exposed_find(const mpm_surroundings *around, mpm_piece own, mpm_shape_reading *at, double y[3])
{
    double size = 0, before = 0;
    struct hidden hidden = {.count = 0};
    for (int a = 0; a < 3; a++)
        size = fmax(size, fabs(around->x[a]));
    const double tolerance = -1e-9 * at->phi + 1e-12 * size;
    const struct scale scale = {tolerance, 1e-3 * -at->phi + 4 * tolerance};
    if (!is_covered(around, own, y, at->normal, scale) || forms_groove(around, own, at, scale))
        return false;
    hide(&hidden, at->normal);
    double distance = -0.25 * at->phi + FIRST * around->cell;
    for (int stride = 0; stride < MOST_STRIDES; stride++, before = distance, distance *= LONGER) {
        double inner[3], foot[3], found[3];
        mpm_shape_reading reading;
        if (!leaves(&hidden, own, around->x, distance, &reading, inner))
            continue;
        const double first = first_to_leave(&hidden, own, around->x, before, distance);
        leaves(&hidden, own, around->x, fmin(first + PAST * (distance - before), distance), &reading, inner);
        if (reading.phi > 0 || mpm_dot3(reading.normal, at->normal) < -0.5)
            return false; /* the far side */
        go_along(inner, -reading.phi, reading.normal, foot);
        if (is_exposed(around, own, &reading, foot, found, scale)) {
            memcpy(y, found, sizeof found);
            at->phi = -fmax(mpm_dot3(found, reading.normal) - mpm_dot3(around->x, reading.normal), 0);
            memcpy(at->normal, reading.normal, sizeof at->normal);
            return true;
        }
        if (hidden.count == MOST_COVERED)
            return false;
        hide(&hidden, reading.normal);
    }
    return false;
}

/* The faces that x is at or beyond. */
static unsigned ends_of(const mpm_faces *faces, const double x[3])
{
    unsigned ends = 0;
    for (int a = 0; a < 3; a++)
        if (faces->upper[a] > faces->lower[a])
            ends |= (x[a] <= faces->lower[a] ? 1u : 0) << 2 * a | (x[a] >= faces->upper[a] ? 1u : 0) << (2 * a + 1);
    return ends;
}

/* Does a collider's face with this normal look out of the domain at its ends? */
static bool looks_out(unsigned ends, const double normal[3])
{
    double out2 = 0;
    for (int face = 0; face < 6; face++) {
        const double n = normal[face / 2];
        out2 += ends >> face & 1 && side_of(face) * n < 0 ? n * n : 0;
    }
    return out2 > PARALLEL;
}

int mpm_exposed_extend(mpm_surroundings *around, mpm_holder holders[MPM_MOST_HOLDERS], int found)
{
    const mpm_faces *faces = around->faces;
    const unsigned ends = faces ? ends_of(faces, around->x) : 0;
    double end[3];
    if (!ends || found)
        return found;
    for (int a = 0; a < 3; a++) {
        const double nudge = END * (faces->upper[a] - faces->lower[a]);
        end[a] = ends >> 2 * a & 1         ? faces->lower[a] + nudge
                 : ends >> (2 * a + 1) & 1 ? faces->upper[a] - nudge
                                           : around->x[a];
    }
    for (size_t k = 0; k < around->count; k++)
        for (size_t p = 0; p < mpm_collider_pieces(&around->colliders[k]) && found < MPM_MOST_HOLDERS; p++) {
            const mpm_piece piece = {&around->colliders[k], p};
            if (!mpm_collider_has_piece(piece.collider, around->books[k].parts, p) ||
                !looks_out(ends, mpm_exposed_read(piece, around->x).normal))
                continue;
            const mpm_shape_reading at = mpm_exposed_read(piece, end);
            if (at.phi <= 0)
                {
                holders[found].collider = k;
                holders[found].piece = p;
                holders[found++].at = at;
            }
        }
    if (found)
        memcpy(around->x, end, sizeof end);
    return found;
}
