/* SPDX-License-Identifier: MIT */
#include "rigid/touch.h"

#include <math.h>
#include <string.h>

static const double MARGIN = 0.3; /* of the search, beyond the motion of the step [cells] */
static const double INSET = 0.1;  /* how deep the distance is read below a point with a cone [cells] */
static const double STUCK = 1e-3; /* what is so near to a sticky surface is held by it [cells] */
static const double GRIP = 1e9;   /* friction of a sticky surface */
static const double LEVEL = 1e-5; /* candidates of a level row differ by less in their gaps [cells] */
static const double AGREE = 0.98; /* cosine of the angle between normals at a point and where its surface touches */
static const double ALIKE = 0.94; /* cosine of the angle between normals that count as one */

/* A point that may touch. */
typedef struct mpm_rigid_candidate {
    int owner, point;
    double at[3], normal[3], surface[3], gap;
    bool smooth, taken;
} mpm_rigid_candidate;

/* What a point is compared with: a face of the domain, a collider, or a body. */
struct partner {
    int index;                   /* mpm_rigid_contact.partner */
    const mpm_rigid_state *body; /* of another body */
};

void mpm_touch_nearest(const mpm_boundary *boundary, const double to[3], double x[3])
{
    for (int a = 0; a < boundary->dim; a++) {
        const double period = boundary->dx * (double)mpm_walls_period(boundary->walls, a, boundary->cells[a]);
        if (period > 0)
            x[a] -= period * nearbyint((x[a] - to[a]) / period);
    }
}

void mpm_touch_into_domain(const mpm_boundary *boundary, double x[3])
{
    double middle[3] = {0};
    for (int a = 0; a < boundary->dim; a++)
        middle[a] = boundary->lower[a] + 0.5 * (double)boundary->cells[a] * boundary->dx;
    mpm_touch_nearest(boundary, middle, x);
}

mpm_shape_reading mpm_touch_read(const mpm_rigid_state *body, const double x[3])
{
    double r[3], X[3];
    for (int a = 0; a < 3; a++)
        r[a] = x[a] - body->place[a];
    mpm_multiply_back3(X, body->rotation, r);
    for (int a = 0; a < 3; a++)
        X[a] += body->form->reference[a];
    mpm_shape_reading at = mpm_shape_read(&body->form->shape, 0, X);
    mpm_multiply3(r, body->rotation, at.normal);
    memcpy(at.normal, r, sizeof r);
    at.phi /= body->form->shape.steepness;
    return at;
}

static mpm_shape_reading read_face(const mpm_boundary *boundary, int face, const double x[3])
{
    const int a = face / 2;
    mpm_shape_reading at = {0};
    const double low = x[a] - boundary->lower[a];
    at.phi = face % 2 ? (double)boundary->cells[a] * boundary->dx - low : low;
    at.normal[a] = face % 2 ? -1 : 1;
    return at;
}

/* The distance of a partner at x, and its normal. */
static mpm_shape_reading read(const mpm_rigid_world *world, const struct partner *partner, const double x[3])
{
    double y[3] = {x[0], x[1], x[2]};
    if (partner->body) {
        mpm_touch_nearest(world->boundary, partner->body->centre, y);
        return mpm_touch_read(partner->body, y);
    }
    if (partner->index < MPM_RIGID_FACES)
        return read_face(world->boundary, partner->index, x);
    const mpm_collider *collider = &world->boundary->colliders[partner->index - MPM_RIGID_FACES];
    mpm_touch_into_domain(world->boundary, y);
    mpm_shape_reading at = mpm_collider_read(collider, &collider->now, y, UINT64_MAX);
    at.phi /= collider->shape.steepness;
    return at;
}

/* Where the surface around a point touches a partner of normal `normal`. */
static void touching_place(double at[3], const mpm_rigid_state *body, const mpm_rigid_point *point,
                           const double normal[3])
{
    double n[3], across[3], shift[3], X[3];
    mpm_multiply_back3(n, body->rotation, normal);
    for (int a = 0; a < 3; a++)
        n[a] = -n[a];
    const double along = mpm_dot3(n, point->axis);
    for (int a = 0; a < 3; a++)
        across[a] = n[a] - along * point->axis[a];
    mpm_multiply3(shift, point->inverse, across);
    const double back = along > -0.5 ? mpm_dot3(across, shift) / (1 + along) : 0;
    for (int a = 0; a < 3; a++)
        X[a] = point->at[a] + point->radius * n[a] + shift[a] - back * point->axis[a];
    mpm_multiply3(at, body->rotation, X);
    for (int a = 0; a < 3; a++)
        at[a] += body->place[a];
}

/* Compares a point with a partner. Returns whether it may touch it, and sets place, normal and gap. */
static bool compare(const mpm_rigid_world *world, const mpm_rigid_state *body, const mpm_rigid_point *point,
                    const struct partner *partner, double margin, mpm_rigid_candidate *found)
{
    const double curved = point->radius + point->inverse[0][0] + point->inverse[1][1] + point->inverse[2][2];
    const bool smooth = found->smooth = curved > 0;
    const double deep = smooth ? 0 : INSET * world->boundary->dx;
    const double reach = margin + deep + point->radius + 0.5 * world->boundary->dx;
    double X[3], at[3], axis[3];
    for (int a = 0; a < 3; a++)
        X[a] = point->at[a] - deep * point->axis[a];
    if (!partner->body && partner->index < MPM_RIGID_FACES) { /* of most points, one coordinate tells */
        const int a = partner->index / 2;
        at[a] = body->place[a] + mpm_dot3(body->rotation[a], X);
        if (read_face(world->boundary, partner->index, at).phi > reach)
            return false;
    }
    mpm_multiply3(at, body->rotation, X);
    mpm_multiply3(axis, body->rotation, point->axis);
    for (int a = 0; a < 3; a++)
        at[a] += body->place[a];
    mpm_shape_reading here = read(world, partner, at);
    if (here.phi > reach)
        return false;
    if (smooth) {
        double shifted[3];
        touching_place(shifted, body, point, here.normal);
        const mpm_shape_reading there = read(world, partner, shifted);
        const bool agrees = mpm_dot3(there.normal, here.normal) > AGREE;
        for (int a = 0; a < 3; a++)
            at[a] = agrees ? shifted[a] : at[a] - point->radius * here.normal[a];
        here.phi -= point->radius;
        here = agrees ? there : here;
    }
    const double along = -mpm_dot3(here.normal, axis);
    if (along < point->cosine)
        return false;
    memcpy(found->normal, here.normal, sizeof found->normal);
    memcpy(found->surface, here.velocity, sizeof found->surface);
    found->gap = here.phi - deep * along;
    for (int a = 0; a < 3; a++)
        found->at[a] = at[a] + deep * axis[a];
    return found->gap < margin;
}

static mpm_status add_candidate(mpm_rigid_world *world, const mpm_allocator *allocator,
                                const mpm_rigid_candidate *found)
{
    if (mpm_memory_grow(allocator, (void **)&world->candidate, &world->candidate_capacity, world->candidates,
                        world->candidates + 1, sizeof *found))
        return MPM_OUT_OF_MEMORY;
    world->candidate[world->candidates++] = *found;
    return MPM_OK;
}

static bool is_alike(const mpm_rigid_candidate *one, const mpm_rigid_candidate *other)
{
    return mpm_dot3(one->normal, other->normal) > ALIKE;
}

static double apart2(const double x[3], const double y[3])
{
    const double r[3] = {x[0] - y[0], x[1] - y[1], x[2] - y[2]};
    return mpm_dot3(r, r);
}

/* Is another of the candidates from `first` on, whose surface is smooth, nearer with its point to the place where this
 * one touches? */
static bool is_beside(const mpm_rigid_world *world, const mpm_rigid_candidate *one, size_t first)
{
    const mpm_rigid_state *body = &world->body[one->owner];
    double r[3], X[3];
    for (int a = 0; a < 3; a++)
        r[a] = one->at[a] - body->place[a];
    mpm_multiply_back3(X, body->rotation, r);
    const double own = apart2(X, body->form->points[one->point].at) * (1 - 1e-9);
    for (size_t i = first; i < world->candidates; i++) {
        const mpm_rigid_candidate *other = &world->candidate[i];
        if (other != one && other->smooth && is_alike(one, other) &&
            apart2(X, body->form->points[other->point].at) < own)
            return true;
    }
    return false;
}

/* Of the smooth candidates from `first` on, keeps those that touch where their point is the nearest. The cones of
 * neighbours overlap, and their patches differ by a little where both touch: two contacts there would resist rolling.
 * A candidate yields only to one that stays, so of those that touch at one place, one does. */
static void keep_nearest(mpm_rigid_world *world, size_t first)
{
    for (size_t i = first; i < world->candidates; i++) {
        mpm_rigid_candidate *one = &world->candidate[i];
        if (one->smooth && is_beside(world, one, first)) {
            one->smooth = false;
            one->taken = true;
        }
    }
    size_t kept = first;
    for (size_t i = first; i < world->candidates; i++)
        if (!world->candidate[i].taken)
            world->candidate[kept++] = world->candidate[i];
    world->candidates = kept;
}

/* The candidates of a body's points at a partner. `flips`: the partner is the first body of the pair. */
static mpm_status find_candidates(mpm_rigid_world *world, const mpm_allocator *allocator, int owner,
                                  const struct partner *partner, double margin, bool flips)
{
    const mpm_rigid_state *body = &world->body[owner];
    const size_t first = world->candidates;
    for (size_t i = 0; i < body->form->count; i++) {
        mpm_rigid_candidate found = {.owner = owner, .point = (int)i};
        if (!compare(world, body, &body->form->points[i], partner, margin, &found))
            continue;
        for (int a = 0; flips && a < 3; a++)
            found.normal[a] = -found.normal[a];
        const mpm_status status = add_candidate(world, allocator, &found);
        if (status)
            return status;
    }
    keep_nearest(world, first);
    return MPM_OK;
}

/* ---- of a pair, the contacts that span the most ----------------------------------------------------------------- */

struct pair {
    int a, b;
    const struct partner *partner;
    double friction, restitution;
    bool sticks;
};

static mpm_status keep(mpm_rigid_world *world, const mpm_allocator *allocator, const struct pair *pair,
                       mpm_rigid_candidate *from)
{
    if (from->taken)
        return MPM_OK;
    from->taken = true;
    if (mpm_memory_grow(allocator, (void **)&world->contact, &world->contact_capacity, world->contacts,
                        world->contacts + 1, sizeof *world->contact))
        return MPM_OUT_OF_MEMORY;
    mpm_rigid_contact *contact = &world->contact[world->contacts++];
    *contact = (mpm_rigid_contact){.a = pair->a, .b = pair->b, .partner = pair->partner->index, .owner = from->owner,
                                   .point = from->point, .friction = pair->friction,
                                   .restitution = pair->restitution,
                                   .sticks = pair->sticks && from->gap < STUCK * world->boundary->dx};
    contact->gap = from->gap - 0.5 * world->dt * mpm_dot3(from->surface, from->normal);
    memcpy(contact->normal, from->normal, sizeof from->normal);
    memcpy(contact->surface, from->surface, sizeof from->surface);
    memcpy(contact->at, from->at, sizeof from->at);
    mpm_touch_nearest(world->boundary, world->body[pair->a].centre, contact->at);
    memcpy(contact->image, contact->at, sizeof from->at);
    if (pair->b >= 0)
        mpm_touch_nearest(world->boundary, world->body[pair->b].centre, contact->image);
    return MPM_OK;
}

/* Of the candidates like `first`, the one with the largest r . direction, or if that is 0 the largest |r|, r being its
 * place from `first`. NULL: none is farther than a rounding. */
static mpm_rigid_candidate *farthest(const mpm_rigid_world *world, const mpm_rigid_candidate *first,
                                     const double *direction)
{
    const double least = 1e-6 * world->boundary->dx;
    double most = direction ? least : least * least;
    mpm_rigid_candidate *found = NULL;
    for (size_t i = 0; i < world->candidates; i++) {
        mpm_rigid_candidate *one = &world->candidate[i];
        double r[3];
        for (int a = 0; a < 3; a++)
            r[a] = one->at[a] - first->at[a];
        const double size = direction ? mpm_dot3(r, direction) : mpm_dot3(r, r);
        if (size > most * (1 + 1e-9) && is_alike(first, one)) {
            most = size;
            found = one;
        }
    }
    return found;
}

/* Of the candidates like the deepest one that are as deep, the farthest from the centre of the body. */
static mpm_rigid_candidate *outermost(const mpm_rigid_world *world, mpm_rigid_candidate *deepest, int body)
{
    const double level = deepest->gap + LEVEL * world->boundary->dx;
    double most = 0;
    mpm_rigid_candidate *found = deepest;
    for (size_t i = 0; i < world->candidates; i++) {
        mpm_rigid_candidate *one = &world->candidate[i];
        double r[3];
        memcpy(r, one->at, sizeof r);
        mpm_touch_nearest(world->boundary, world->body[body].centre, r);
        for (int a = 0; a < 3; a++)
            r[a] -= world->body[body].centre[a];
        if (!one->taken && one->gap < level && is_alike(deepest, one) && mpm_dot3(r, r) > most * (1 + 1e-9)) {
            most = mpm_dot3(r, r);
            found = one;
        }
    }
    return found;
}

/* Keeps the deepest candidate that is left, with those of like normals that span the most. Returns whether there was
 * one. */
static bool reduce(mpm_rigid_world *world, const mpm_allocator *allocator, const struct pair *pair, mpm_status *status)
{
    mpm_rigid_candidate *deepest = NULL;
    for (size_t i = 0; i < world->candidates; i++)
        if (!world->candidate[i].taken && (!deepest || world->candidate[i].gap < deepest->gap))
            deepest = &world->candidate[i];
    if (!deepest)
        return false;
    deepest = outermost(world, deepest, pair->a);
    double across[3];
    mpm_rigid_candidate *chosen[4] = {deepest, farthest(world, deepest, NULL)};
    if (chosen[1]) {
        double along[3];
        for (int a = 0; a < 3; a++)
            along[a] = deepest->at[a] - chosen[1]->at[a];
        mpm_cross3(across, along, deepest->normal);
        const double size = sqrt(mpm_dot3(across, across));
        for (int a = 0; a < 3; a++)
            across[a] = world->boundary->dim == 2 ? along[a] : across[a] / size;
        if (world->boundary->dim == 2) {
            const double length = sqrt(mpm_dot3(along, along));
            for (int a = 0; a < 3; a++)
                across[a] /= length;
        }
        chosen[2] = farthest(world, deepest, across);
        for (int a = 0; a < 3; a++)
            across[a] = -across[a];
        chosen[3] = world->boundary->dim == 3 ? farthest(world, deepest, across) : NULL;
    }
    for (int k = 0; k < 4 && !*status; k++)
        if (chosen[k])
            *status = keep(world, allocator, pair, chosen[k]);
    for (size_t i = 0; i < world->candidates; i++)
        world->candidate[i].taken |= is_alike(deepest, &world->candidate[i]);
    return !*status;
}

static mpm_status reduce_all(mpm_rigid_world *world, const mpm_allocator *allocator, const struct pair *pair)
{
    mpm_status status = MPM_OK;
    while (reduce(world, allocator, pair, &status))
        ;
    world->candidates = 0;
    return status;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------ */

/* How far from a partner points are contacts: they may reach it in the step. */
static double margin_of(const mpm_rigid_world *world, const mpm_rigid_state *body)
{
    double speed = 0;
    for (int corner = 0; corner < 8; corner++) {
        double arm[3], v[3];
        for (int a = 0; a < 3; a++)
            arm[a] = (corner >> a & 1 ? body->highest[a] : body->lowest[a]) - body->centre[a];
        mpm_rigid_velocity(v, body->free, arm);
        speed = fmax(speed, mpm_dot3(v, v));
    }
    return MARGIN * world->boundary->dx + 2 * world->dt * sqrt(speed);
}

static void find_box(mpm_rigid_state *body)
{
    for (int a = 0; a < 3; a++) {
        body->lowest[a] = INFINITY;
        body->highest[a] = -INFINITY;
    }
    for (size_t i = 0; i < body->form->count; i++) {
        const mpm_rigid_point *point = &body->form->points[i];
        double at[3];
        mpm_multiply3(at, body->rotation, point->at);
        for (int a = 0; a < 3; a++) {
            const double low = body->place[a] + at[a] - point->radius, high = low + 2 * point->radius;
            body->lowest[a] = low < body->lowest[a] ? low : body->lowest[a];
            body->highest[a] = high > body->highest[a] ? high : body->highest[a];
        }
    }
}

/* A body and a wall or collider. */
static struct pair pair_with(int a, const struct partner *partner, mpm_contact contact, double friction,
                             double restitution)
{
    const double grip = contact == MPM_MIRROR ? 0 : contact == MPM_STICKY ? GRIP : friction;
    return (struct pair){a, -1, partner, grip, restitution, contact == MPM_STICKY};
}

static mpm_status touch_faces(mpm_rigid_world *world, const mpm_allocator *allocator, int a, double margin)
{
    const mpm_boundary *boundary = world->boundary;
    const mpm_rigid_state *body = &world->body[a];
    for (int face = 0; face < 2 * boundary->dim; face++) {
        const mpm_wall *wall = &boundary->walls[face];
        const double *outermost = face % 2 ? body->highest : body->lowest;
        if (wall->contact == MPM_PERIODIC || read_face(boundary, face, outermost).phi > margin + 0.5 * boundary->dx)
            continue;
        const struct partner partner = {face, NULL};
        const struct pair pair = pair_with(a, &partner, wall->contact, wall->friction, wall->restitution);
        mpm_status status = find_candidates(world, allocator, a, &partner, margin, false);
        if (status || (status = reduce_all(world, allocator, &pair)))
            return status;
    }
    return MPM_OK;
}

static mpm_status touch_colliders(mpm_rigid_world *world, const mpm_allocator *allocator, int a, double margin)
{
    const mpm_boundary *boundary = world->boundary;
    const mpm_rigid_state *body = &world->body[a];
    double middle[3], radius = 0;
    for (int c = 0; c < 3; c++) {
        middle[c] = 0.5 * (body->lowest[c] + body->highest[c]);
        radius += (body->highest[c] - middle[c]) * (body->highest[c] - middle[c]);
    }
    radius = sqrt(radius);
    for (size_t k = 0; k < boundary->count; k++) {
        const mpm_collider *collider = &boundary->colliders[k];
        const struct partner partner = {MPM_RIGID_FACES + (int)k, NULL};
        const double wide = margin + 2 * world->dt * (mpm_collider_speed(&collider->now, 0) + collider->now.deforming +
                                                      sqrt(mpm_dot3(collider->now.spin, collider->now.spin)) * radius);
        if (read(world, &partner, middle).phi > radius + wide + boundary->dx)
            continue;
        const struct pair pair = pair_with(a, &partner, collider->contact, collider->friction, collider->restitution);
        mpm_status status = find_candidates(world, allocator, a, &partner, wide, false);
        if (status || (status = reduce_all(world, allocator, &pair)))
            return status;
    }
    return MPM_OK;
}

static bool are_near(const mpm_rigid_world *world, const mpm_rigid_state *one, const mpm_rigid_state *other,
                     double margin)
{
    double moved[3];
    memcpy(moved, other->centre, sizeof moved);
    mpm_touch_nearest(world->boundary, one->centre, moved);
    for (int a = 0; a < world->boundary->dim; a++) {
        const double shift = moved[a] - other->centre[a];
        if (one->lowest[a] > other->highest[a] + shift + margin || other->lowest[a] + shift > one->highest[a] + margin)
            return false;
    }
    return true;
}

static mpm_status touch_bodies(mpm_rigid_world *world, const mpm_allocator *allocator, int a, const double margins[2],
                               int b)
{
    const mpm_rigid_state *one = &world->body[a], *other = &world->body[b];
    const double margin = margins[0] + margins[1];
    const struct partner first = {-1, one}, second = {-1, other};
    const struct pair pair = {a, b, &second, sqrt(one->friction * other->friction),
                              fmax(one->restitution, other->restitution), false};
    if (!are_near(world, one, other, margin + world->boundary->dx))
        return MPM_OK;
    mpm_status status = find_candidates(world, allocator, a, &second, margin, false);
    if (!status)
        status = find_candidates(world, allocator, b, &first, margin, true);
    return status ? status : reduce_all(world, allocator, &pair);
}

mpm_status mpm_touch_find(mpm_rigid_world *world, const mpm_allocator *allocator)
{
    mpm_status status = MPM_OK;
    world->contacts = world->candidates = 0;
    for (size_t a = 0; a < world->bodies; a++)
        if (world->body[a].form)
            find_box(&world->body[a]);
    for (size_t a = 0; a < world->bodies; a++) {
        const mpm_rigid_state *body = &world->body[a];
        if (!body->form)
            continue;
        const double margin = margin_of(world, body);
        if ((status = touch_faces(world, allocator, (int)a, margin)) ||
            (status = touch_colliders(world, allocator, (int)a, margin)))
            return status;
        for (size_t b = a + 1; b < world->bodies; b++) {
            const double margins[2] = {margin, world->body[b].form ? margin_of(world, &world->body[b]) : 0};
            if (world->body[b].form && (status = touch_bodies(world, allocator, (int)a, margins, (int)b)))
                return status;
        }
    }
    for (size_t i = 0; i < world->contacts; i++) {
        mpm_rigid_contact *one = &world->contact[i];
        one->alone = true;
        for (size_t j = 0; j < world->contacts; j++)
            one->alone &= i == j || world->contact[j].owner != one->owner || world->contact[j].point != one->point;
    }
    return MPM_OK;
}

void mpm_touch_clear(mpm_rigid_world *world, const mpm_allocator *allocator)
{
    mpm_memory_free(allocator, world->body);
    mpm_memory_free(allocator, world->contact);
    mpm_memory_free(allocator, world->candidate);
    *world = (mpm_rigid_world){0};
}
