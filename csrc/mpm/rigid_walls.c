/* SPDX-License-Identifier: MIT
 *
 * Rigid bodies at walls. Walls act on nodes, which hold the particles beside them but not the whole body at once. So
 * impulses J_i >= 0 stop a body at the faces: each at a particle i that would pass a face, along the normal n_i of that
 * face. With g_i = (n_i, r_i cross n_i) and the inverse mass W of the body, its (P, L) changes by sum J_i g_i and its
 * particles by
 *
 *     n_i . dx_i = dt g_i . W sum_j g_j J_j = dt sum_j A_ij J_j
 *
 * The impulses are those that do no more than needed: the particles that they act on end on their face, and none pulls.
 * This is the least change of (P, L) in the metric W, so it takes energy. They are found by the active-set method of
 * Lawson and Hanson (1974, ch. 23): the particle that would pass farthest joins, and whatever would pull leaves. The
 * rotation is not linear in L, so all is repeated with the motion that follows, until no particle passes. Where a body
 * turns far, contacts may join and leave for ever: after MOST_JOINT searches each impulse counts for itself.
 */
#include <math.h>
#include <string.h>

#include "mpm/rigid_walls.h"

enum { MOST_JOINT = 100, MOST_SEARCHES = 200 };
enum { MOST_CONTACTS = 12 }; /* six fix a body; more may be held while they depend on each other */
static const double TOLERANCE = 1e-9; /* how far particles may lie beyond a face [cells] */
static const double ROUNDING = 1e-12; /* how much farther a step may take those that lie there [cells] */

struct contact {
    double at[3];  /* of the particle before the step [m] */
    double inward; /* n along the axis */
    double gap;    /* to the face before the step, >= 0 [m] */
    int axis;
    double depth;   /* by which the particle would pass [m] */
    double arm[3];  /* r cross n [m] */
    double impulse; /* J [N s] */
};

struct contacts {
    int count;
    struct contact list[MOST_CONTACTS];
};

/* The distances from a place to the faces of an axis, lower and upper [m]. */
static void gaps_of(double gaps[2], const mpm_settings *settings, const mpm_rigid_body *motion, int axis, double at)
{
    const double origin =
        settings->dx * (motion->block[axis] * mpm_block_side(settings->dim) + motion->place[axis]);
    gaps[0] = origin + at;
    gaps[1] = settings->dx * (double)settings->cells[axis] - gaps[0];
}

/* May one of the particles that were added up end beyond a face? */
static bool may_pass(const mpm_settings *settings, const mpm_rigid_body *motion, const mpm_rigid_sums *sums)
{
    const double borne = -TOLERANCE * settings->dx;
    for (int corner = 0; corner < 1 << settings->dim; corner++) {
        double at[3], moved[3], gaps[2];
        mpm_rigid_motion_corner(at, sums, corner);
        mpm_rigid_motion_displace(moved, motion, at);
        for (int a = 0; a < settings->dim; a++) {
            gaps_of(gaps, settings, motion, a, at[a] + moved[a]);
            if (!mpm_walls_periodic(settings->walls, a) && (gaps[0] < borne || gaps[1] < borne))
                return true;
        }
    }
    return false;
}

/* Compares a particle with the one that passes a face farthest. A particle that already lies beyond a face may stay
 * there, but goes no farther: tolerances of many steps do not add up. */
static void compare(struct contact *most, const mpm_settings *settings, const mpm_rigid_body *motion,
                    const double at[3])
{
    double moved[3], gaps[2];
    mpm_rigid_motion_displace(moved, motion, at);
    for (int a = 0; a < settings->dim; a++) {
        if (mpm_walls_periodic(settings->walls, a))
            continue;
        gaps_of(gaps, settings, motion, a, at[a]);
        for (int upper = 0; upper < 2; upper++) {
            const double inward = upper ? -1 : 1, outward = -inward * moved[a], gap = fmax(gaps[upper], 0);
            const double borne = fmax(gaps[upper] + TOLERANCE * settings->dx, ROUNDING * settings->dx);
            if (outward > borne && outward - gap > most->depth)
                *most = (struct contact){{at[0], at[1], at[2]}, inward, gap, .axis = a, .depth = outward - gap};
        }
    }
}

static void compare_group(struct contact *most, const mpm_simulation *simulation, const mpm_rigid_body *motion,
                          const mpm_group *group)
{
    const size_t lanes = (size_t)simulation->particles.lanes, first = (size_t)group->first_tile * lanes;
    mpm_rigid_place place;
    for (size_t slot = first; slot < first + (size_t)group->tiles * lanes; slot++)
        if (mpm_rigid_motion_place(&place, simulation, motion, group, slot))
            compare(most, &simulation->settings, motion, place.in_body);
}

static bool is_same(const struct contact *a, const struct contact *b)
{
    return a->axis == b->axis && a->inward == b->inward && memcmp(a->at, b->at, sizeof a->at) == 0;
}

/* Finds the depths of all contacts in the present motion. */
static void update_depths(struct contacts *contacts, const mpm_rigid_body *motion)
{
    for (int i = 0; i < contacts->count; i++) {
        struct contact *c = &contacts->list[i];
        double moved[3];
        mpm_rigid_motion_displace(moved, motion, c->at);
        c->depth = -c->inward * moved[c->axis] - c->gap;
    }
}

/* Adds a contact, if it is new. Is there room? */
static bool join(struct contacts *contacts, const struct contact *contact, const mpm_body *body)
{
    for (int i = 0; i < contacts->count; i++)
        if (is_same(&contacts->list[i], contact))
            return true;
    if (contacts->count == MOST_CONTACTS)
        return false;
    struct contact *c = &contacts->list[contacts->count++];
    double r[3], normal[3] = {0};
    *c = *contact;
    normal[c->axis] = c->inward;
    for (int a = 0; a < 3; a++)
        r[a] = c->at[a] - body->centre[a];
    mpm_cross3(c->arm, r, normal);
    return true;
}

/* A, with a little more on its diagonal: contacts may depend on each other. */
static void couple(double A[MOST_CONTACTS][MOST_CONTACTS], const struct contacts *contacts, const mpm_body *body)
{
    for (int i = 0; i < contacts->count; i++)
        for (int j = 0; j < contacts->count; j++) {
            const struct contact *a = &contacts->list[i], *b = &contacts->list[j];
            double w[3];
            mpm_multiply3(w, body->inverse, b->arm);
            A[i][j] = (a->axis == b->axis ? a->inward * b->inward / body->mass : 0) + mpm_dot3(a->arm, w);
            A[i][j] *= i == j ? 1 + 1e-12 : 1;
        }
}

/* Solves L D L^T x = b. */
static void solve(const double A[MOST_CONTACTS][MOST_CONTACTS], int n, const double b[], double x[])
{
    double L[MOST_CONTACTS][MOST_CONTACTS], D[MOST_CONTACTS] = {0};
    for (int i = 0; i < n; i++) {
        x[i] = b[i];
        for (int j = 0; j <= i; j++) {
            double sum = A[i][j];
            for (int k = 0; k < j; k++)
                sum -= L[i][k] * D[k] * L[j][k];
            if (j < i)
                L[i][j] = sum / D[j];
            else
                D[i] = sum;
        }
        for (int k = 0; k < i; k++)
            x[i] -= L[i][k] * x[k];
    }
    for (int i = n; i-- > 0;) {
        x[i] /= D[i];
        for (int k = i + 1; k < n; k++)
            x[i] -= L[k][i] * x[k];
    }
}

/* Adds impulses that bring the particles of all contacts onto their faces. A contact that would pull leaves, and the
 * impulses of the others are found anew. */
static void push(struct contacts *contacts, mpm_body *body, double dt, double impulse[3])
{
    for (int leaves = 0; leaves >= 0;) {
        double A[MOST_CONTACTS][MOST_CONTACTS], wanted[MOST_CONTACTS], more[MOST_CONTACTS], share = 1;
        couple(A, contacts, body);
        for (int i = 0; i < contacts->count; i++)
            wanted[i] = contacts->list[i].depth / dt;
        solve(A, contacts->count, wanted, more);
        leaves = -1;
        for (int i = 0; i < contacts->count; i++)
            if (more[i] < 0 && contacts->list[i].impulse + share * more[i] < 0) {
                share = contacts->list[i].impulse / -more[i];
                leaves = i;
            }
        for (int i = 0; i < contacts->count; i++) {
            struct contact *c = &contacts->list[i];
            const double J = share * more[i];
            c->impulse = fmax(c->impulse + J, 0);
            c->depth *= 1 - share;
            body->momentum[c->axis] += J * c->inward;
            impulse[c->axis] += J * c->inward;
            for (int a = 0; a < 3; a++)
                body->spin[a] += J * c->arm[a];
        }
        if (leaves >= 0)
            contacts->list[leaves] = contacts->list[--contacts->count];
    }
}

static double energy_of(const mpm_body *body)
{
    double w[3];
    mpm_multiply3(w, body->inverse, body->spin);
    return 0.5 * (mpm_dot3(body->momentum, body->momentum) / body->mass + mpm_dot3(body->spin, w));
}

/* Changes the whole motion of a body by a factor. */
static void slow(mpm_body *body, double factor, double impulse[3])
{
    for (int a = 0; a < 3; a++) {
        impulse[a] += (factor - 1) * body->momentum[a];
        body->momentum[a] *= factor;
        body->spin[a] *= factor;
    }
}

void mpm_rigid_walls_move(const mpm_simulation *simulation, size_t material, mpm_body *body, double dt,
                          double impulse[3])
{
    const mpm_settings *settings = &simulation->settings;
    const mpm_particles *particles = &simulation->particles;
    const mpm_rigid_sums *sums = simulation->look.rigid_sums;
    const double energy = energy_of(body);
    mpm_rigid_body *motion = &simulation->rigid[material];
    struct contacts contacts = {0};
    mpm_rigid_motion_find(body, dt, motion);
    for (int k = 0; k <= MOST_SEARCHES && may_pass(settings, motion, &motion->sums); k++) {
        struct contact most = {0};
        for (size_t g = 0; g < particles->group_count; g++)
            if ((size_t)particles->groups[g].material == material && may_pass(settings, motion, &sums[g]))
                compare_group(&most, simulation, motion, &particles->groups[g]);
        if (most.inward == 0)
            return;
        if (k >= MOST_JOINT)
            contacts.count = 0;
        if (k < MOST_SEARCHES && join(&contacts, &most, body)) {
            update_depths(&contacts, motion);
            push(&contacts, body, dt, impulse);
            slow(body, sqrt(fmin(energy / energy_of(body), 1)), impulse);
        } else {
            slow(body, 0, impulse);
        }
        mpm_rigid_motion_find(body, dt, motion);
    }
}
