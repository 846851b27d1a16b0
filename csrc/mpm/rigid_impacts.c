/* SPDX-License-Identifier: MIT
 *
 * Impacts of rigid bodies on walls and colliders with a restitution e (Newton's law, in the form of Moreau 1988). With
 * the velocities v of particle i of the body before and after the impact, relative to a surface with the normal n:
 *
 *     n . v+ >= -e n . v-,  J_i >= 0,  J_i = 0 where > holds
 *     P += sum J_i n_i,  L += sum J_i r_i cross n_i
 *
 * for all particles that touch a surface at the end of the step. The form with -e n . v- also for particles that move
 * away is what takes energy whenever e <= 1; a body that meets several surfaces at once has the least e of theirs.
 * Coulomb friction follows: tangential impulses of at most mu J_i, each of which takes energy.
 *
 * A body touches a surface when the nodes that the surface holds would come into the stencil of a particle: from there
 * on, they would stop it little by little, which no rule for nodes can turn into a rebound. A body that is slower than
 * what it gains in a few steps of free fall, or in a fall by a hundredth of a cell, comes to rest through these nodes.
 *
 * Projected Gauss-Seidel finds the impulses, at the particles that miss their condition most: these join one after the
 * other until all conditions are met.
 */
#include <math.h>
#include <string.h>

#include "mpm/rigid_impacts.h"

enum { MOST_CONTACTS = 24, MOST_SWEEPS = 4000 };
static const double SLOW = 4;          /* steps of free fall, whose speed is not that of an impact */
static const double HOP = 0.01;        /* a fall from this height is none, either [cells] */
static const double LEAST = 1e-9;      /* motion in a step that is none [cells] */
static const double LEVEL = 1e-5;      /* particles of a level row differ by less in their distance [cells] */
static const double TOLERANCE = 1e-12; /* of velocities, relative to the impact */

/* A particle at a surface. The velocity of the body is that in mid step, half a step of free fall ahead of its place.
 * The surface gets that half step, too, so that a body that falls and rebounds with e = 1 keeps its height. */
struct contact {
    double arm[3], n[3], surface[3]; /* r [m], normal, velocity of the surface there, with dt g/2 [m/s] */
    double at[3];                    /* of the particle in the domain [m] */
    double before;                   /* n . v- [m/s] */
    double J, slid[3];               /* impulses along n and across it [N s] */
    double restitution, friction;
    int surface_index; /* a face, or 6 + a collider */
};

/* A search over the particles of a body. */
struct search {
    const mpm_simulation *simulation;
    const mpm_rigid_body *motion;
    const mpm_body *body;
    double V[3], w[3], before_V[3], before_w[3]; /* velocity and spin now, and before the impact */
    double dt, slow;      /* [s], [m/s] */
    double restitution;   /* of the impact; < 0: there is none yet */
    double worst;         /* by how much the conditions are missed most [m/s] */
    struct contact found; /* there */
};

static void velocity_of(double v[3], const double V[3], const double w[3], const double arm[3])
{
    mpm_cross3(v, w, arm);
    for (int a = 0; a < 3; a++)
        v[a] += V[a];
}

static void set_motion(double V[3], double w[3], const mpm_body *body)
{
    for (int a = 0; a < 3; a++)
        V[a] = body->momentum[a] / body->mass;
    mpm_multiply3(w, body->inverse, body->spin);
}

/* How far along n the nodes of a stencil reach [m]. */
static double reach_of(const mpm_settings *settings, const double n[3])
{
    return 0.5 * (settings->scheme.degree + 1) * settings->dx * (fabs(n[0]) + fabs(n[1]) + fabs(n[2]));
}

/* Compares a particle at a surface, `gap` [m] before it, with the worst one. */
static void compare(struct search *search, const struct contact *contact, double gap)
{
    double v[3], now = 0;
    struct contact c = *contact;
    for (int a = 0; a < 3; a++)
        c.surface[a] += 0.5 * search->dt * search->simulation->settings.gravity[a];
    velocity_of(v, search->before_V, search->before_w, c.arm);
    for (int a = 0; a < 3; a++)
        c.before += (v[a] - c.surface[a]) * c.n[a];
    const double level = search->restitution < 0 ? 0 : LEVEL * search->simulation->settings.dx;
    if (!(gap + search->dt * c.before < reach_of(&search->simulation->settings, c.n) + level))
        return;
    if (search->restitution < 0) { /* the fastest begins the impact */
        if (-c.before > search->slow && -c.before > search->worst) {
            search->worst = -c.before;
            search->found = c;
        }
        return;
    }
    velocity_of(v, search->V, search->w, c.arm);
    for (int a = 0; a < 3; a++)
        now += (v[a] - c.surface[a]) * c.n[a];
    const double missing = -fmin(search->restitution, c.restitution) * c.before - now;
    if (missing > search->worst) {
        search->worst = missing;
        search->found = c;
    }
}

static void compare_faces(struct search *search, struct contact *contact)
{
    const mpm_settings *settings = &search->simulation->settings;
    for (int face = 0; face < 2 * settings->dim; face++) {
        const mpm_wall *wall = &settings->walls[face];
        const int a = face / 2;
        if (!(wall->restitution > 0))
            continue;
        const double low = contact->at[a] - settings->lower[a], inward = face % 2 ? -1 : 1;
        const double gap = face % 2 ? (double)settings->cells[a] * settings->dx - low : low;
        memset(contact->n, 0, sizeof contact->n);
        memset(contact->surface, 0, sizeof contact->surface);
        contact->n[a] = inward;
        contact->restitution = wall->restitution;
        contact->friction = wall->friction;
        contact->surface_index = face;
        compare(search, contact, gap);
    }
}

static void compare_colliders(struct search *search, struct contact *contact)
{
    const mpm_boundary *boundary = &search->simulation->boundary;
    for (size_t k = 0; k < boundary->count; k++) {
        const mpm_collider *collider = &boundary->colliders[k];
        if (!(collider->restitution > 0))
            continue;
        const mpm_shape_reading at = mpm_collider_read(collider, &collider->now, contact->at, UINT64_MAX);
        memcpy(contact->n, at.normal, sizeof contact->n);
        memcpy(contact->surface, at.velocity, sizeof contact->surface);
        contact->restitution = collider->restitution;
        contact->friction = collider->friction;
        contact->surface_index = 6 + (int)k;
        compare(search, contact, at.phi / collider->shape.steepness);
    }
}

/* May the particles that were added up touch a surface with a restitution in this step? */
static bool may_touch(const struct search *search, const mpm_rigid_sums *sums)
{
    const mpm_simulation *simulation = search->simulation;
    const mpm_settings *settings = &simulation->settings;
    const mpm_rigid_body *motion = search->motion;
    const double along[3] = {1, 1, settings->dim == 3};
    const double reach = reach_of(settings, along);
    double middle[3] = {0}, radius2 = 0, moved2 = 0, arm[3] = {0}, turning[3];
    for (int a = 0; a < settings->dim; a++) {
        const double side = 0.5 * (sums->highest[a] - sums->lowest[a]);
        middle[a] = 0.5 * (sums->highest[a] + sums->lowest[a]);
        radius2 += side * side;
        arm[a] = middle[a] - search->body->centre[a];
    }
    mpm_cross3(turning, search->before_w, arm);
    for (int a = 0; a < 3; a++) {
        const double v = search->before_V[a] + turning[a];
        moved2 += v * v;
    }
    const double spin = sqrt(mpm_dot3(search->before_w, search->before_w)), radius = sqrt(radius2);
    const double room = radius + reach + search->dt * (sqrt(moved2) + spin * radius);
    for (int a = 0; a < settings->dim; a++) {
        const double low = settings->dx * (motion->block[a] * mpm_block_side(settings->dim) + motion->place[a]);
        const double at = low + middle[a], extent = settings->dx * (double)settings->cells[a];
        middle[a] = settings->lower[a] + at;
        if ((settings->walls[2 * a].restitution > 0 && at < room) ||
            (settings->walls[2 * a + 1].restitution > 0 && extent - at < room))
            return true;
    }
    for (size_t k = 0; k < simulation->boundary.count; k++) {
        const mpm_collider *collider = &simulation->boundary.colliders[k];
        const mpm_collider_state *now = &collider->now;
        double extent = 0;
        for (int a = 0; a < settings->dim; a++)
            extent += fabs(middle[a] - now->reference[a]);
        if (!(collider->restitution > 0))
            continue;
        if (mpm_boundary_is_periodic(&simulation->boundary) ||
            mpm_collider_read(collider, now, middle, UINT64_MAX).phi <=
                collider->shape.steepness *
                    (room + search->dt * (mpm_collider_speed(now, extent + room) + now->deforming)))
            return true;
    }
    return false;
}

static void compare_group(struct search *search, const mpm_group *group)
{
    const size_t lanes = (size_t)search->simulation->particles.lanes, first = (size_t)group->first_tile * lanes;
    mpm_rigid_place place;
    for (size_t slot = first; slot < first + (size_t)group->tiles * lanes; slot++) {
        struct contact contact = {.arm = {0}};
        if (!mpm_rigid_motion_place(&place, search->simulation, search->motion, group, slot))
            continue;
        memcpy(contact.at, place.in_domain, sizeof contact.at);
        for (int a = 0; a < search->simulation->settings.dim; a++)
            contact.arm[a] = place.in_body[a] - search->body->centre[a];
        compare_faces(search, &contact);
        compare_colliders(search, &contact);
    }
}

/* Finds the particle at a surface that the conditions hold for least, or that begins an impact. */
static bool find(struct search *search, size_t material)
{
    const mpm_simulation *simulation = search->simulation;
    const mpm_particles *particles = &simulation->particles;
    set_motion(search->V, search->w, search->body);
    search->worst = search->restitution < 0 ? 0 : TOLERANCE * search->slow;
    const double least = search->worst;
    for (size_t g = 0; g < particles->group_count; g++)
        if ((size_t)particles->groups[g].material == material &&
            may_touch(search, &simulation->look.rigid_sums[g]))
            compare_group(search, &particles->groups[g]);
    return search->worst > least;
}

/* The change of velocity along `direction` of the place of a contact, by an impulse of 1 there along it. */
static double response(const mpm_body *body, const struct contact *c, const double direction[3])
{
    double arm[3], turned[3];
    mpm_cross3(arm, c->arm, direction);
    mpm_multiply3(turned, body->inverse, arm);
    return 1 / body->mass + mpm_dot3(arm, turned);
}

static void push(mpm_body *body, const struct contact *c, const double impulse[3])
{
    double turning[3];
    mpm_cross3(turning, c->arm, impulse);
    for (int a = 0; a < 3; a++) {
        body->momentum[a] += impulse[a];
        body->spin[a] += turning[a];
    }
}

static void relative_velocity(double v[3], const mpm_body *body, const struct contact *c)
{
    double V[3], w[3];
    set_motion(V, w, body);
    velocity_of(v, V, w, c->arm);
    for (int a = 0; a < 3; a++)
        v[a] -= c->surface[a];
}

/* Impulses along the normals of a few contacts, until their conditions hold. */
static void rebound(mpm_body *body, struct contact contacts[], int count, double restitution, double scale)
{
    double change = INFINITY;
    for (int k = 0; k < MOST_SWEEPS && change > 0.1 * TOLERANCE * scale; k++) {
        change = 0;
        for (int i = 0; i < count; i++) {
            struct contact *c = &contacts[i];
            double v[3], given[3];
            relative_velocity(v, body, c);
            const double missing = -restitution * c->before - mpm_dot3(v, c->n);
            const double J = fmax(c->J + missing / response(body, c, c->n), 0), more = J - c->J;
            for (int a = 0; a < 3; a++)
                given[a] = more * c->n[a];
            push(body, c, given);
            c->J = J;
            change = fmax(change, fabs(more) / body->mass);
        }
    }
}

/* Friction of the contacts that have an impulse. */
static void rub(mpm_body *body, struct contact contacts[], int count, double scale)
{
    double change = INFINITY;
    for (int k = 0; k < MOST_SWEEPS && change > 0.1 * TOLERANCE * scale; k++) {
        change = 0;
        for (int i = 0; i < count; i++) {
            struct contact *c = &contacts[i];
            const double most = c->friction * c->J;
            double v[3], wanted[3], given[3], size;
            if (!(most > 0))
                continue;
            relative_velocity(v, body, c);
            const double normal = mpm_dot3(v, c->n);
            for (int a = 0; a < 3; a++)
                v[a] -= normal * c->n[a];
            if (!((size = sqrt(mpm_dot3(v, v))) > 0))
                continue;
            const double direction[3] = {v[0] / size, v[1] / size, v[2] / size};
            const double inverse = response(body, c, direction);
            for (int a = 0; a < 3; a++)
                wanted[a] = c->slid[a] - v[a] / inverse;
            const double length = sqrt(mpm_dot3(wanted, wanted)), kept = length > most ? most / length : 1;
            for (int a = 0; a < 3; a++) {
                given[a] = kept * wanted[a] - c->slid[a];
                c->slid[a] += given[a];
                change = fmax(change, fabs(given[a]) / body->mass);
            }
            push(body, c, given);
        }
    }
}

static void enter(const mpm_simulation *simulation, const struct contact contacts[], int count, double impulse[3])
{
    for (int i = 0; i < count; i++) {
        const struct contact *c = &contacts[i];
        double given[3];
        for (int a = 0; a < 3; a++)
            given[a] = c->J * c->n[a] + c->slid[a];
        if (c->surface_index >= 6)
            mpm_collider_enter(&simulation->look.block_books[c->surface_index - 6],
                               &simulation->boundary.colliders[c->surface_index - 6], c->at, given);
        for (int a = 0; c->surface_index < 6 && a < 3; a++)
            impulse[a] += given[a];
    }
}

/* Does any surface have a restitution? */
static bool has_restitution(const mpm_simulation *simulation)
{
    bool found = false;
    for (int face = 0; face < 2 * simulation->settings.dim; face++)
        found |= simulation->settings.walls[face].restitution > 0;
    for (size_t k = 0; k < simulation->boundary.count; k++)
        found |= simulation->boundary.colliders[k].restitution > 0;
    return found;
}

void mpm_rigid_impacts_apply(const mpm_simulation *simulation, size_t material, const mpm_rigid_body *motion,
                             mpm_body *body, double dt, double impulse[3])
{
    const double *g = simulation->settings.gravity;
    const mpm_body before = *body;
    struct search search = {.simulation = simulation, .motion = motion, .body = body, .dt = dt, .restitution = -1};
    struct contact contacts[MOST_CONTACTS];
    int count = 0;
    if (!has_restitution(simulation))
        return;
    const double fall = sqrt(mpm_dot3(g, g)), h = simulation->settings.dx;
    search.slow = fmax(fmax(SLOW * dt * fall, sqrt(2 * fall * HOP * h)), LEAST * h / dt);
    set_motion(search.before_V, search.before_w, body);
    if (!find(&search, material))
        return;
    const double scale = search.slow = search.worst;
    search.restitution = 1;
    do {
        contacts[count++] = search.found;
        search.restitution = fmin(search.restitution, search.found.restitution);
        *body = before;
        for (int i = 0; i < count; i++)
            contacts[i].J = 0;
        rebound(body, contacts, count, search.restitution, scale);
    } while (count < MOST_CONTACTS && find(&search, material));
    rub(body, contacts, count, scale);
    enter(simulation, contacts, count, impulse);
}
