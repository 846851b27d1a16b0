/* SPDX-License-Identifier: MIT
 *
 * This text is C++, too: a GPU compiles it (mpm/gpu/contact.h).
 */
#include "contact/contacts.h"

#include <math.h>
#include <string.h>

#include "base/vector.h"
#include "contact/collision.h"
#include "contact/directions.h"
#include "contact/holding.h"

enum {
    MOST_ROUNDS = 8,   /* of friction and the normal impulses that depend on it */
    MOST_READINGS = 4, /* on the way to a surface whose distance is a bound alone */
    MOST_CLIMBS = 16, /* up the side of a step */
};
static const double ROUNDING = 1e-12; /* of a velocity */
static const double LOWEST = 1e-3;    /* part of a depth; lower steps between surfaces are none */
static const double CONTINUES = 0.99;  /* cosine of normals of surfaces that continue each other */
static const double RESOLVED = 0.5;   /* part of a cell; lower steps hold nothing back */
static const double FASTER = 4;       /* than surfaces move among each other: what they squeeze out is not faster */

/* ---- which contacts there are ----------------------------------------------------------------------------------- */

/* What holds a point: a face, or a piece of a collider. */
struct holder {
    mpm_piece piece; /* of no collider: a face */
    int face;
    double nearest[3]; /* y, the point of its surface that is nearest to the point [m] */
    double depth;      /* [m] */
    double beyond[3];  /* from the end of the domain, where a collider is read, to the point [m] */
};

/* The point of a piece's surface that is nearest to x, from the reading there. */
static void find_nearest(mpm_piece piece, const double x[3], const mpm_shape_reading *at, double y[3],
                         int most)
{
    mpm_shape_reading reading = *at;
    memcpy(y, x, 3 * sizeof *y);
    for (int k = 1;; k++) {
        for (int a = 0; a < 3; a++)
            y[a] -= reading.phi * reading.normal[a];
        if (k == most)
            return;
        reading = mpm_exposed_read(piece, y);
        if (!(reading.phi < -1e-9 * fabs(at->phi)))
            return;
    }
}

/* phi and the outward normal of a holder at y. */
static mpm_shape_reading read(const struct holder *holder, const mpm_faces *faces, const double y[3])
{
    if (holder->piece.collider)
        return mpm_exposed_read(holder->piece, y);
    const int a = holder->face / 2;
    mpm_shape_reading face = {.phi = holder->face % 2 ? faces->upper[a] - y[a] : y[a] - faces->lower[a]};
    face.normal[a] = holder->face % 2 ? -1 : 1;
    return face;
}

/* Does y of `other`, with the normal n, lie in a holder whose surface does not continue that of `other` there? */
static bool covers(const struct holder *holder, const mpm_faces *faces, const struct holder *other, const double n[3],
                   double tolerance, double step)
{
    double y[3], above[3];
    for (int a = 0; a < 3; a++) { /* faces are beside the point, colliders beside the end of the domain */
        y[a] = other->nearest[a];
        if (!holder->piece.collider)
            y[a] += other->beyond[a];
        else if (!other->piece.collider && other->face / 2 != a)
            y[a] -= holder->beyond[a];
        above[a] = y[a] + step * n[a];
    }
    if (!(read(holder, faces, y).phi <= tolerance))
        return false;
    const mpm_shape_reading outside = read(holder, faces, above);
    return !(outside.phi > 0 && mpm_dot3(outside.normal, n) > CONTINUES);
}

/* Does a holder with the normal n rise above `floor`, whose normal is `up`, by `least`? Climbs from y along it. */
static bool rises(const struct holder *holder, const double n[3], const struct holder *floor, const double up[3],
                  const mpm_faces *faces, double least)
{
    if (!holder->piece.collider)
        return true;
    mpm_shape_reading at = {.normal = {n[0], n[1], n[2]}};
    double y[3], above[3], height = 0;
    memcpy(y, holder->nearest, sizeof y);
    for (int stride = 0; stride <= MOST_CLIMBS; stride++) {
        for (int a = 0; a < 3; a++) {
            y[a] -= at.phi * at.normal[a];
            above[a] = floor->piece.collider ? y[a] : y[a] + holder->beyond[a];
        }
        const double slope = mpm_dot3(at.normal, up);
        height = read(floor, faces, above).phi;
        if (height >= least || slope > CONTINUES)
            break;
        const double climb = fmax(-height, 0.25 * least) / fmax(1 - slope * slope, 1 - CONTINUES * CONTINUES);
        for (int a = 0; a < 3; a++)
            y[a] += climb * (up[a] - slope * at.normal[a]);
        at = read(holder, faces, y);
    }
    return height >= least;
}

/* Marks the holders that others shadow. Planes of symmetry hold always, and walls do not shadow each other. */
static unsigned find_shadowed(const struct holder *holders, const mpm_node_contact *contacts, int count,
                              const mpm_faces *faces, const double x[3], double cell)
{
    unsigned shadowed = 0;
    double size = 0;
    for (int a = 0; a < 3; a++)
        size = fmax(size, fabs(x[a]));
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++) {
            const struct holder *first = &holders[i], *second = &holders[j];
            if (!second->piece.collider || (!first->piece.collider && faces->walls[first->face].contact == MPM_MIRROR))
                continue;
            const double deepest = fmax(first->depth, second->depth);
            const double tolerance = 1e-9 * deepest + ROUNDING * size, step = LOWEST * deepest + 4 * tolerance;
            bool first_covered = covers(second, faces, first, contacts[i].normal, tolerance, step);
            bool second_covered = covers(first, faces, second, contacts[j].normal, tolerance, step);
            if (first_covered && second_covered) { /* a groove, or a step that is too low for one */
                const double *n = contacts[i].normal, *m = contacts[j].normal;
                first_covered = !rises(first, n, second, m, faces, RESOLVED * cell);
                second_covered = !rises(second, m, first, n, faces, RESOLVED * cell);
            }
            if (first_covered != second_covered)
                shadowed |= 1u << (first_covered ? i : j);
        }
    if (shadowed < (1u << count) - 1)
        return shadowed;
    /* A circle of three, such as a wall and two pieces whose ends lie at it: colliders have exposed faces, and hold. */
    for (int i = 0; i < count; i++)
        if (holders[i].piece.collider)
            shadowed &= ~(1u << i);
    return shadowed < (1u << count) - 1 ? shadowed : 0;
}

static void add_face(int face, const double x[3], const mpm_faces *faces, mpm_node_contact *contact,
                     struct holder *holder)
{
    const int a = face / 2;
    const mpm_wall *wall = &faces->walls[face];
    const mpm_node_contact made = {.friction = wall->friction,
                                   .contact = wall->contact == MPM_MIRROR ? MPM_SLIP : wall->contact,
                                   .collider = MPM_HELD_BY_WALL, .friction_heat = wall->friction_heat};
    const struct holder face_holder = {.face = face, .nearest = {x[0], x[1], x[2]}};
    *contact = made;
    contact->normal[a] = face % 2 ? -1 : 1;
    *holder = face_holder;
    holder->nearest[a] = face % 2 ? faces->upper[a] : faces->lower[a];
    holder->depth = fabs(holder->nearest[a] - x[a]);
}

/* Holds a point by the face of a collider that material can reach. */
static void expose(const mpm_surroundings *around, struct holder *holder, mpm_node_contact *contact)
{
    mpm_shape_reading at = {.phi = -holder->depth};
    memcpy(at.normal, contact->normal, sizeof at.normal);
    if (!mpm_exposed_find(around, holder->piece, &at, holder->nearest))
        return;
    memcpy(contact->normal, at.normal, sizeof at.normal);
    holder->depth = -at.phi;
}

/* Lists the faces and the pieces `inside`, less what is shadowed. */
static int list_contacts(const mpm_surroundings *around, const mpm_holder *inside, int found, const double point[3],
                         mpm_node_contact contacts[MPM_MOST_CONTACTS])
{
    const mpm_faces *faces = around->faces;
    const double cell = around->cell;
    const double *x = around->x; /* `point`, or the end of the domain beside it */
    struct holder holders[MPM_MOST_CONTACTS];
    int n = 0, kept = 0;
    for (int face = 0; faces && face < 6; face++)
        if (faces->held >> face & 1) {
            add_face(face, point, faces, &contacts[n], &holders[n]);
            n++;
        }
    for (int i = 0; i < found; i++, n++) {
        const mpm_collider *collider = &around->colliders[inside[i].collider];
        const mpm_node_contact made = {.friction = collider->friction, .contact = collider->contact,
                                       .collider = (int32_t)inside[i].collider,
                                       .friction_heat = collider->friction_heat};
        const struct holder piece_holder = {.piece = {collider, inside[i].piece}, .depth = fabs(inside[i].at.phi),
                                            .beyond = {point[0] - x[0], point[1] - x[1], point[2] - x[2]}};
        contacts[n] = made;
        memcpy(contacts[n].normal, inside[i].at.normal, sizeof contacts[n].normal);
        memcpy(contacts[n].surface, inside[i].at.velocity, sizeof contacts[n].surface);
        holders[n] = piece_holder;
        find_nearest(holders[n].piece, x, &inside[i].at, holders[n].nearest, n + found > 1 + i ? MOST_READINGS : 1);
    }
    if (!found)
        return n;
    /* First, the faces that the ends of the domain cover: they must not shadow walls. */
    const mpm_surroundings ends = {.faces = faces, .cell = cell, .x = {x[0], x[1], x[2]}};
    for (int i = n - found; i < n; i++)
        expose(&ends, &holders[i], &contacts[i]);
    const unsigned shadowed = n > 1 ? find_shadowed(holders, contacts, n, faces, x, cell) : 0;
    for (int i = 0; i < n; i++)
        if (!(shadowed >> i & 1)) {
            if (holders[i].piece.collider)
                expose(around, &holders[i], &contacts[i]);
            contacts[kept++] = contacts[i];
        }
    return kept;
}

bool mpm_contacts_turn(mpm_node_contact *contact, unsigned planes)
{
    double length2 = 0;
    for (int a = 0; a < 3; a++) {
        const bool is_across = planes >> a & 1;
        length2 += is_across ? 0 : contact->normal[a] * contact->normal[a];
        contact->across[a] = is_across && contact->contact != MPM_STICKY ? contact->normal[a] : 0;
        contact->normal[a] = is_across ? 0 : contact->normal[a];
        contact->surface[a] = is_across ? 0 : contact->surface[a];
    }
    if (!(length2 > 1e-12)) /* the normal is that of a plane of symmetry, which holds it already */
        memset(contact->across, 0, sizeof contact->across);
    for (int a = 0; a < 3 && length2 > 1e-12; a++) {
        contact->normal[a] /= sqrt(length2);
        contact->across[a] /= sqrt(length2);
    }
    return length2 > 1e-12 || contact->contact == MPM_STICKY;
}

int mpm_contacts_find(const mpm_collider *colliders, size_t count, const double x[3], const mpm_collider_book *books,
                      const mpm_faces *faces, double cell, mpm_node_contact contacts[MPM_MOST_CONTACTS])
{
    mpm_holder inside[MPM_MOST_HOLDERS];
    mpm_surroundings around = {colliders, count, books, faces, cell, {x[0], x[1], x[2]}};
    const int found =
        mpm_exposed_extend(&around, inside, mpm_collider_find_holders(colliders, count, x, 0, books, inside));
    return list_contacts(&around, inside, found, x, contacts);
}

/* ---- several contacts at once ----------------------------------------------------------------------------------- */

/* A velocity that satisfies a set of contacts, and N/m of each contact, 0 of those that are not in the set. */
struct solution {
    double v[3], pressure[MPM_MOST_CONTACTS];
};

/* Gives the velocities `speed` along the normals of the set to v, by impulses along these normals. Normals that depend
 * on earlier ones are left out if `drops`; otherwise they end the search. */
static bool solve_set(const mpm_node_contact *contacts, unsigned set, const double *speed, bool drops,
                      const double v[3], struct solution *out)
{
    double direction[3][3], rest[3] = {0};
    int owner[3], size = 0;
    const struct solution begin = {.v = {v[0], v[1], v[2]}};
    *out = begin;
    for (; set; set &= set - 1) {
        const int c = __builtin_ctz(set);
        const double *n = contacts[c].normal;
        double d[3];
        if (size == 3 || !(mpm_directions_next(d, n, direction, size) > 0)) {
            if (drops)
                continue;
            return false;
        }
        const double change = (speed[c] - mpm_dot3(out->v, n)) / mpm_dot3(n, d);
        for (int a = 0; a < 3; a++) {
            out->v[a] += change * d[a];
            rest[a] += change * d[a];
        }
        memcpy(direction[size], d, sizeof d);
        owner[size++] = c;
    }
    /* the change is a sum of what the contacts give along their own normals */
    for (int k = size - 1; k >= 0; k--)
        out->pressure[owner[k]] = mpm_directions_take(rest, contacts[owner[k]].normal, direction[k]);
    return true;
}

static double size_of(const double a[3], const double b[3])
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(mpm_dot3(d, d));
}

/* Does the solution press into nothing, is it pulled by nothing, and is it no faster than it may be? */
static bool is_projection(const mpm_node_contact *contacts, int count, unsigned separate, const double *speed,
                          const double v[3], const struct solution *out)
{
    double among = 0, largest = size_of(v, contacts[0].surface);
    for (int c = 0; c < count; c++)
        among = fmax(among, size_of(contacts[c].surface, contacts[0].surface));
    const double at_rest[3] = {0};
    const double tolerance = ROUNDING * (size_of(v, at_rest) + size_of(contacts[0].surface, at_rest) + among);
    for (; separate; separate &= separate - 1) {
        const int c = __builtin_ctz(separate);
        if (out->pressure[c] < -tolerance || mpm_dot3(out->v, contacts[c].normal) < speed[c] - tolerance)
            return false;
    }
    return size_of(out->v, contacts[0].surface) <= largest * (1 + 1e-9) + FASTER * among;
}

/* The projection of v: the only set of contacts that satisfies all. Sets are tried from small to large. Contacts that
 * slip belong to every set. */
static bool project(const mpm_node_contact *contacts, int count, const double v[3], struct solution *out)
{
    double speed[MPM_MOST_CONTACTS];
    unsigned separate = 0, slips = 0;
    for (int c = 0; c < count; c++) {
        speed[c] = mpm_dot3(contacts[c].normal, contacts[c].surface);
        separate |= (contacts[c].contact == MPM_SEPARATE ? 1u : 0) << c;
        if (contacts[c].contact == MPM_SLIP && solve_set(contacts, slips | 1u << c, speed, false, v, out))
            slips |= 1u << c;
    }
    for (int size = 0, most = __builtin_popcount(separate); size <= 3 && size <= most; size++)
        for (unsigned set = separate;; set = (set - 1) & separate) { /* all subsets */
            if (__builtin_popcount(set) == size &&
                solve_set(contacts, slips | set, speed, false, v, out) &&
                is_projection(contacts, count, separate, speed, v, out))
                return true;
            if (!set)
                break;
        }
    return false;
}

/* Where there is no projection: the pressed contacts hold in their order, at the speed of the first surface. */
static void keep_to_edge(const mpm_node_contact *contacts, int count, const double v[3], struct solution *out)
{
    double speed[MPM_MOST_CONTACTS];
    const double *surface = NULL;
    unsigned pressed = 0;
    for (int c = 0; c < count; c++) {
        const double *n = contacts[c].normal, own = mpm_dot3(n, contacts[c].surface);
        if (contacts[c].contact == MPM_STICKY || (contacts[c].contact == MPM_SEPARATE && mpm_dot3(n, v) >= own))
            continue;
        surface = surface ? surface : contacts[c].surface;
        speed[c] = mpm_dot3(n, surface);
        pressed |= 1u << c;
    }
    solve_set(contacts, pressed, speed, true, v, out);
}

static void solve(const mpm_node_contact *contacts, int count, const double v[3], struct solution *out)
{
    if (!project(contacts, count, v, out))
        keep_to_edge(contacts, count, v, out);
}

bool mpm_contacts_choose(mpm_node_contact *contacts, int count, const double v[3])
{
    struct solution out;
    if (!project(contacts, count, v, &out))
        return false;
    for (int c = 0; c < count; c++)
        if (contacts[c].contact == MPM_SEPARATE)
            contacts[c].active = out.pressure[c] > 0;
    return true;
}

/* Friction/m of the contacts against the motion u, which the normal impulses leave. Returns whether there is any. */
static bool find_friction(mpm_node_contact *contacts, int count, const double u[3], const double *pressure)
{
    double left[3] = {u[0], u[1], u[2]};
    bool any = false;
    for (int c = 0; c < count; c++) {
        mpm_node_contact *contact = &contacts[c];
        const double lost = contact->friction * pressure[c];
        double along[3];
        memset(contact->push, 0, sizeof contact->push);
        if (contact->contact == MPM_STICKY || !(lost > 0))
            continue;
        for (int a = 0; a < 3; a++)
            along[a] = left[a] - contact->surface[a];
        const double normal = mpm_dot3(along, contact->normal);
        for (int a = 0; a < 3; a++)
            along[a] -= normal * contact->normal[a];
        const double size = sqrt(mpm_dot3(along, along));
        for (int a = 0; a < 3 && size > 0; a++) {
            contact->push[a] = -along[a] * (size > lost ? lost / size : 1);
            left[a] += contact->push[a];
        }
        any |= size > 0;
    }
    return any;
}

/* Do the pressures of two solutions agree? */
static bool agree(const struct solution *a, const struct solution *b, int count)
{
    double largest = 0, difference = 0;
    for (int c = 0; c < count; c++) {
        largest = fmax(largest, fabs(a->pressure[c]));
        difference = fmax(difference, fabs(a->pressure[c] - b->pressure[c]));
    }
    return difference <= 1e-9 * largest;
}

void mpm_contacts_apply(mpm_node_contact *contacts, int count, double v[3])
{
    double begin[3] = {v[0], v[1], v[2]};
    struct solution out, before;
    for (int c = 0; c < count; c++)
        memset(contacts[c].impulse, 0, sizeof contacts[c].impulse);
    for (int c = 0; c < count; c++)
        if (contacts[c].contact == MPM_STICKY) { /* the first one gives its velocity */
            for (int a = 0; a < 3; a++)
                contacts[c].impulse[a] = contacts[c].surface[a] - v[a];
            memcpy(begin, contacts[c].surface, sizeof begin);
            if (contacts[c].collider == MPM_HELD_BY_WALL) {
                memcpy(v, begin, sizeof begin);
                return;
            }
            break;
        }
    solve(contacts, count, begin, &out);
    const double u[3] = {out.v[0], out.v[1], out.v[2]};
    bool rubs = find_friction(contacts, count, u, out.pressure);
    for (int round = 0; rubs && round < MOST_ROUNDS; round++) {
        double pushed[3] = {begin[0], begin[1], begin[2]};
        for (int c = 0; c < count; c++)
            for (int a = 0; a < 3; a++)
                pushed[a] += contacts[c].push[a];
        before = out;
        solve(contacts, count, pushed, &out);
        if (agree(&before, &out, count) || round + 1 == MOST_ROUNDS)
            break;
        find_friction(contacts, count, u, out.pressure);
    }
    for (int c = 0; c < count; c++)
        for (int a = 0; a < 3; a++)
            contacts[c].impulse[a] += out.pressure[c] * contacts[c].normal[a] + contacts[c].push[a];
    memcpy(v, out.v, sizeof out.v);
}

/* ---- one point -------------------------------------------------------------------------------------------------- */

void mpm_contacts_given(const mpm_contact_point *point, const mpm_node_contact *contact, double given[3])
{
    for (int a = 0; a < 3; a++)
        given[a] = point->mass * (point->flips >> a & 1 ? -contact->impulse[a] : contact->impulse[a]);
}

/* Keeps what acts along planes of symmetry. Returns how many contacts are left. */
static int turn_all(mpm_node_contact *contacts, int count, unsigned planes)
{
    int kept = 0;
    for (int c = 0; c < count; c++)
        if (!planes || mpm_contacts_turn(&contacts[c], planes))
            contacts[kept++] = contacts[c];
    return kept;
}

double mpm_contacts_heat(const mpm_node_contact *contact, const double v[3])
{
    const double relative[3] = {v[0] - contact->surface[0], v[1] - contact->surface[1], v[2] - contact->surface[2]};
    if (contact->contact == MPM_STICKY || !(contact->friction > 0) || !(contact->friction_heat > 0))
        return 0;
    const double pressed = mpm_dot3(contact->impulse, contact->normal) * mpm_dot3(relative, contact->normal);
    return contact->friction_heat * fmax(pressed - mpm_dot3(contact->impulse, relative), 0);
}

bool mpm_contacts_hold(const mpm_collider *colliders, size_t count, const mpm_contact_point *point,
                       const mpm_faces *faces, double v[3], const mpm_collider_book *books,
                       mpm_node_contact contacts[MPM_MOST_CONTACTS], int *holding)
{
    mpm_holder inside[MPM_MOST_HOLDERS];
    mpm_surroundings around = {colliders, count, books, faces, point->cell, {point->x[0], point->x[1], point->x[2]}};
    bool touched = false;
    int found = mpm_exposed_extend(
        &around, inside, mpm_collider_find_holders(colliders, count, point->x, point->depth, books, inside));
    *holding = 0;
    if (!found)
        return false;
    found = list_contacts(&around, inside, found, point->x, contacts);
    for (int c = 0; c < found; c++)
        touched |= contacts[c].collider != MPM_HELD_BY_WALL;
    if (!touched)
        return false;
    *holding = found = turn_all(contacts, found, point->planes);
    if (found == 1) {
        mpm_node_contact *only = &contacts[0];
        const double before[3] = {v[0], v[1], v[2]};
        mpm_collision_apply(v, only->surface, only->normal, only->contact, only->friction);
        for (int a = 0; a < 3; a++)
            only->impulse[a] = v[a] - before[a];
    } else {
        mpm_contacts_apply(contacts, found, v);
    }
    for (int c = 0; c < found; c++)
        contacts[c].heat = mpm_contacts_heat(&contacts[c], v);
    for (int c = 0; c < found && point->planes; c++) {
        const double pressure = mpm_dot3(contacts[c].impulse, contacts[c].normal);
        for (int a = 0; a < 3; a++) {
            contacts[c].impulse[a] += pressure * contacts[c].across[a];
            v[a] += pressure * contacts[c].across[a];
        }
    }
    return true;
}

bool mpm_contacts_touch(const mpm_collider *colliders, size_t count, const mpm_contact_point *point,
                        const mpm_faces *faces, double v[3], mpm_collider_book *books, double wall[3], double *heat)
{
    mpm_node_contact contacts[MPM_MOST_CONTACTS];
    int holding;
    if (!mpm_contacts_hold(colliders, count, point, faces, v, books, contacts, &holding))
        return false;
    for (int c = 0; c < holding; c++) {
        const int32_t k = contacts[c].collider;
        double given[3];
        mpm_contacts_given(point, &contacts[c], given);
        if (heat)
            *heat += contacts[c].heat;
        if (k != MPM_HELD_BY_WALL)
            mpm_collider_enter(&books[k], &colliders[k], point->image, given);
        for (int a = 0; a < 3 && k == MPM_HELD_BY_WALL; a++)
            wall[a] += given[a];
    }
    return true;
}
