/* SPDX-License-Identifier: MIT
 *
 * Rigid bodies: the motion of each in a step, from what the nodes bring to its particles.
 *
 *     P = sum m v,  L = sum m (r cross v + D eps:C),  I = sum m (r^2 - r r^T) + 2 D M   r = x - c, c the centre of mass
 *     V = P/M,  c' = c + dt V
 *     Q = exp(dt W),  W = I^-1 (L + Q^T L)/2                        the rotation of the step
 *     w = Q I^-1 Q^T L                                              the spin after it
 *
 * D is the second moment of the kernel where C is a velocity. W is the implicit midpoint rule in the frame of the body,
 * as of Simo and Wong (1991). Any such Q keeps L and the energy w.I w/2: in that frame L changes by Q^T L - L, which is
 * normal to W. With the exponential instead of Cayley's map, a body that spins about a principal axis turns by exactly
 * dt w.
 */
#include <math.h>
#include <string.h>

#include "base/real.h"
#include "base/vector.h"
#include "integrate/state.h"

/* The body of a material, as its sums and the settings tell. */
struct body {
    double mass, centre[3], momentum[3], spin[3] /* L, about the centre */, inverse[3][3] /* of I */;
};

static void cross(double out[3], const double a[3], const double b[3])
{
    for (int c = 0; c < 3; c++)
        out[c] = a[(c + 1) % 3] * b[(c + 2) % 3] - a[(c + 2) % 3] * b[(c + 1) % 3];
}

static void multiply(double out[3], const double a[3][3], const double v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = mpm_dot3(a[i], v);
}

/* (1 + T)^T v */
static void turn_back(double out[3], const double T[3][3], const double v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = v[i] + (T[0][i] * v[0] + T[1][i] * v[1] + T[2][i] * v[2]);
}

/* exp([w]) - 1, by the unit quaternion of half the angle. Without the 1, a small rotation has a small error. */
static void exponential_less_1(double T[3][3], const double w[3])
{
    const double angle = sqrt(mpm_dot3(w, w)), q0 = cos(0.5 * angle);
    const double share = angle > 0 ? sin(0.5 * angle) / angle : 0.5;
    const double q[3] = {share * w[0], share * w[1], share * w[2]};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const double sign = (j - i + 3) % 3 == 1 ? -1 : 1;
            T[i][j] = i == j ? 2 * (q[i] * q[i] - mpm_dot3(q, q)) : 2 * (q[i] * q[j] + sign * q0 * q[3 - i - j]);
        }
}

/* The cofactors of I + shift, and the determinant. */
static double cofactors(double C[3][3], const double I[3][3], double shift)
{
    double A[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            A[i][j] = I[i][j] + (i == j ? shift : 0);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            C[i][j] = A[i1][j1] * A[i2][j2] - A[i1][j2] * A[i2][j1];
        }
    return mpm_dot3(A[0], C[0]);
}

/* The inverse of the inertia I. Without an affine velocity, particles on a line have no inertia about it: then all axes
 * get a little. The inertia of one particle is a rounding error, so it does not turn. */
static void invert(double inverse[3][3], const double I[3][3], int dim, double rounding)
{
    const double size = I[0][0] + I[1][1] + I[2][2];
    double C[3][3];
    memset(inverse, 0, 9 * sizeof(double));
    if (!(size > rounding))
        return;
    if (dim == 2) {
        inverse[2][2] = 1 / I[2][2];
        return;
    }
    double det = cofactors(C, I, 0);
    if (!(det > 1e-9 * size * size * size))
        det = cofactors(C, I, 1e-3 * size);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            inverse[i][j] = C[i][j] / det; /* symmetric */
}

static void add_sums(mpm_rigid_sums *sum, const mpm_rigid_sums *part)
{
    mpm_sum_add_sum(&sum->mass, &part->mass);
    for (int a = 0; a < 3; a++) {
        mpm_sum_add_sum(&sum->mass_moment[a], &part->mass_moment[a]);
        mpm_sum_add_sum(&sum->momentum[a], &part->momentum[a]);
        mpm_sum_add_sum(&sum->angular_momentum[a], &part->angular_momentum[a]);
        for (int b = 0; b < 3; b++)
            mpm_sum_add_sum(&sum->second_moment[a][b], &part->second_moment[a][b]);
        sum->lowest[a] = fmin(sum->lowest[a], part->lowest[a]);
        sum->highest[a] = fmax(sum->highest[a], part->highest[a]);
    }
}

static struct body body_of(const mpm_settings *settings, const mpm_rigid_sums *sums)
{
    const double h = settings->dx, D = mpm_scheme_is_affine(&settings->scheme)
                                           ? h * h * mpm_scheme_second_moment(settings->scheme.degree) : 0;
    struct body body = {.mass = mpm_sum_value(&sums->mass)};
    double S[3][3], I[3][3], moved[3];
    for (int a = 0; a < 3; a++) {
        body.momentum[a] = mpm_sum_value(&sums->momentum[a]);
        body.centre[a] = mpm_sum_value(&sums->mass_moment[a]) / body.mass;
    }
    cross(moved, body.centre, body.momentum);
    for (int a = 0; a < 3; a++) {
        body.spin[a] = mpm_sum_value(&sums->angular_momentum[a]) - moved[a];
        for (int b = 0; b < 3; b++)
            S[a][b] = mpm_sum_value(&sums->second_moment[a][b]) - body.mass * body.centre[a] * body.centre[b];
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            I[a][b] = (a == b ? S[0][0] + S[1][1] + S[2][2] + 2 * D * body.mass : 0) - S[a][b];
    invert(body.inverse, I, settings->dim, 1e-9 * body.mass * h * h);
    return body;
}

/* An iteration of Newton's method for w = I^-1 (L + Q^T L)/2, with back = Q^T L, whose derivative by w is about dt
 * [back]. Without that derivative, slender bodies do not converge: dt |L| may be far above their least inertia. Returns
 * the largest change. */
static double improve(double w[3], const struct body *body, double dt, const double back[3])
{
    double J[3][3], C[3][3], mean[3], wanted[3], largest = 0;
    for (int a = 0; a < 3; a++)
        mean[a] = 0.5 * (back[a] + body->spin[a]);
    multiply(wanted, body->inverse, mean);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int j1 = (j + 1) % 3, j2 = (j + 2) % 3; /* column j of [back]: back[j2] at j1, -back[j1] at j2 */
            J[i][j] = (i == j) - 0.5 * dt * (body->inverse[i][j1] * back[j2] - body->inverse[i][j2] * back[j1]);
        }
    const double det = cofactors(C, J, 0);
    for (int i = 0; i < 3; i++) {
        double change = 0;
        for (int j = 0; j < 3; j++)
            change += C[j][i] * (wanted[j] - w[j]) / det;
        mean[i] = change;
        largest = fmax(largest, fabs(change));
    }
    for (int a = 0; a < 3; a++)
        w[a] += mean[a];
    return largest;
}

/* The motion in a step of size dt. */
static void move(const struct body *body, double dt, mpm_rigid_body *motion)
{
    double w[3], turn[3], back[3], next[3];
    multiply(w, body->inverse, body->spin);
    for (int k = 0; k < 50; k++) { /* each iteration gains a factor of about dt |w|; in 2-D the first is exact */
        for (int a = 0; a < 3; a++)
            turn[a] = dt * w[a];
        exponential_less_1(motion->turn, turn);
        turn_back(back, motion->turn, body->spin);
        const double change = improve(w, body, dt, back);
        if (!(change > 4e-16 * sqrt(mpm_dot3(w, w))))
            break;
    }
    turn_back(back, motion->turn, body->spin);
    multiply(next, body->inverse, back);
    multiply(turn, motion->turn, next);
    memcpy(motion->centre, body->centre, sizeof motion->centre);
    for (int a = 0; a < 3; a++) {
        motion->spin[a] = next[a] + turn[a];
        motion->velocity[a] = body->momentum[a] / body->mass;
        motion->shift[a] = dt * motion->velocity[a];
    }
}

/* Where the step takes a place less that place [m]. */
static void displace(double moved[3], const mpm_rigid_body *motion, const double at[3])
{
    double r[3], turned[3];
    for (int a = 0; a < 3; a++)
        r[a] = at[a] - motion->centre[a];
    multiply(turned, motion->turn, r);
    for (int a = 0; a < 3; a++)
        moved[a] = motion->shift[a] + turned[a];
}

/* A corner of the box around particles. Displacements are linear in the place, so they are extreme at corners. */
static void corner_of(double at[3], const mpm_rigid_sums *sums, int corner)
{
    for (int a = 0; a < 3; a++)
        at[a] = corner >> a & 1 ? sums->highest[a] : sums->lowest[a];
}

/* How far the particles of a body move along an axis at most [m]. */
static double farthest(const mpm_rigid_body *motion, int dim)
{
    double most = 0;
    for (int corner = 0; corner < 1 << dim; corner++) {
        double at[3], moved[3];
        corner_of(at, &motion->sums, corner);
        displace(moved, motion, at);
        for (int a = 0; a < dim; a++)
            most = fabs(moved[a]) <= most ? most : fabs(moved[a]); /* NaN stays */
    }
    return most;
}

/* ---- at walls --------------------------------------------------------------------------------------------------- */

/* Walls act on nodes, which hold the particles beside them but not the whole body at once. So impulses J_i >= 0 stop a
 * body at the faces: each at a particle i that would pass a face, along the normal n_i of that face. With g_i = (n_i,
 * r_i cross n_i) and the inverse mass W of the body, its (P, L) changes by sum J_i g_i and its particles by
 *
 *     n_i . dx_i = dt g_i . W sum_j g_j J_j = dt sum_j A_ij J_j
 *
 * The impulses are those that do no more than needed: the particles that they act on end on their face, and none pulls.
 * This is the least change of (P, L) in the metric W, so it takes energy. They are found by the active-set method of
 * Lawson and Hanson (1974, ch. 23): the particle that would pass farthest joins, and whatever would pull leaves. The
 * rotation is not linear in L, so all is repeated with the motion that follows, until no particle passes. Where a body
 * turns far, contacts may join and leave for ever: after MOST_JOINT searches each impulse counts for itself. */
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
        corner_of(at, sums, corner);
        displace(moved, motion, at);
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
    displace(moved, motion, at);
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

/* Positions lack their remainders here, less than a millionth of a cell. */
static void compare_group(struct contact *most, const mpm_simulation *simulation, const mpm_rigid_body *motion,
                          const mpm_group *group)
{
    const mpm_settings *settings = &simulation->settings;
    const mpm_particles *p = &simulation->particles;
    const size_t dim = (size_t)p->dim, lanes = (size_t)p->lanes, first = (size_t)group->first_tile * lanes;
    for (size_t slot = first; slot < first + (size_t)group->tiles * lanes; slot++) {
        if (!(mpm_real_at(p->column[MPM_COLUMN_MASS], slot, p->real_size) > 0))
            continue;
        double at[3] = {0};
        for (size_t a = 0; a < dim; a++) {
            const size_t index = mpm_particles_index(slot, a, dim, lanes);
            const double x = mpm_real_at(p->column[MPM_COLUMN_X], index, p->real_size) - motion->place[a];
            const double cells = (group->block[a] - motion->block[a]) * mpm_block_side(p->dim) + x;
            const double period = (double)mpm_walls_period(settings->walls, (int)a, settings->cells[a]);
            at[a] = settings->dx * (cells - (period > 0 ? period * nearbyint(cells / period) : 0));
        }
        compare(most, settings, motion, at);
    }
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
        displace(moved, motion, c->at);
        c->depth = -c->inward * moved[c->axis] - c->gap;
    }
}

/* Adds a contact, if it is new. Is there room? */
static bool join(struct contacts *contacts, const struct contact *contact, const struct body *body)
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
    cross(c->arm, r, normal);
    return true;
}

/* A, with a little more on its diagonal: contacts may depend on each other. */
static void couple(double A[MOST_CONTACTS][MOST_CONTACTS], const struct contacts *contacts, const struct body *body)
{
    for (int i = 0; i < contacts->count; i++)
        for (int j = 0; j < contacts->count; j++) {
            const struct contact *a = &contacts->list[i], *b = &contacts->list[j];
            double w[3];
            multiply(w, body->inverse, b->arm);
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
static void push(struct contacts *contacts, struct body *body, double dt, double impulse[3])
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
            c->impulse = fmax(c->impulse + share * more[i], 0);
            c->depth *= 1 - share;
            body->momentum[c->axis] += share * more[i] * c->inward;
            impulse[c->axis] += share * more[i] * c->inward;
            for (int a = 0; a < 3; a++)
                body->spin[a] += share * more[i] * c->arm[a];
        }
        if (leaves >= 0)
            contacts->list[leaves] = contacts->list[--contacts->count];
    }
}

static double energy_of(const struct body *body)
{
    double w[3];
    multiply(w, body->inverse, body->spin);
    return 0.5 * (mpm_dot3(body->momentum, body->momentum) / body->mass + mpm_dot3(body->spin, w));
}

/* Changes the whole motion of a body by a factor. */
static void slow(struct body *body, double factor, double impulse[3])
{
    for (int a = 0; a < 3; a++) {
        impulse[a] += (factor - 1) * body->momentum[a];
        body->momentum[a] *= factor;
        body->spin[a] *= factor;
    }
}

/* Finds the motion of a body of the material. Impulses add no energy, also where it turns far. If none are found, it
 * stands still. */
static void move_within_walls(const mpm_simulation *simulation, size_t material, struct body *body, double dt,
                              double impulse[3])
{
    const mpm_settings *settings = &simulation->settings;
    const mpm_particles *particles = &simulation->particles;
    const mpm_rigid_sums *sums = simulation->reports.rigid_sums;
    const double energy = energy_of(body);
    mpm_rigid_body *motion = &simulation->rigid[material];
    struct contacts contacts = {0};
    move(body, dt, motion);
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
        move(body, dt, motion);
    }
}

/* ---- all bodies ------------------------------------------------------------------------------------------------- */

/* Is the body so long that the images of its particles across a periodic face could be mistaken? */
static bool is_too_long(const mpm_settings *settings, const mpm_rigid_sums *sums)
{
    for (int a = 0; a < settings->dim; a++) {
        const double period = settings->dx * (double)mpm_walls_period(settings->walls, a, settings->cells[a]);
        if (period > 0 && !(sums->highest[a] - sums->lowest[a] < 0.5 * period))
            return true;
    }
    return false;
}

int mpm_rigid_too_long(const mpm_simulation *simulation)
{
    size_t material = 0;
    while (material + 1 < simulation->material_count &&
           !is_too_long(&simulation->settings, &simulation->rigid[material].sums))
        material++;
    return (int)material;
}

mpm_status mpm_rigid_reserve(mpm_simulation *simulation)
{
    return mpm_memory_grow(&simulation->run.allocator, (void **)&simulation->rigid, &simulation->rigid_capacity,
                           simulation->material_count, simulation->material_count + 1, sizeof *simulation->rigid)
               ? MPM_OUT_OF_MEMORY : MPM_OK;
}

/* Takes the place of a particle for the origin of its body, so that sums of positions are not large beside the body. */
static void begin_at(const mpm_particles *p, const mpm_group *group, mpm_rigid_body *body)
{
    const size_t dim = (size_t)p->dim, lanes = (size_t)p->lanes, first = (size_t)group->first_tile * lanes;
    for (size_t slot = first; slot < first + (size_t)group->tiles * lanes; slot++) {
        if (!(mpm_real_at(p->column[MPM_COLUMN_MASS], slot, p->real_size) > 0))
            continue;
        memcpy(body->block, group->block, sizeof body->block);
        for (size_t a = 0; a < dim; a++) {
            const size_t at = mpm_particles_index(slot, a, dim, lanes);
            body->place[a] = mpm_real_at(p->column[MPM_COLUMN_X], at, p->real_size);
        }
        return;
    }
}

static bool is_rigid(const mpm_simulation *simulation, size_t material)
{
    return mpm_material_law(&simulation->materials[material])->rigid;
}

/* Adds up the groups of every body. */
static void find_sums(mpm_simulation *simulation, double dt)
{
    const mpm_particles *particles = &simulation->particles;
    for (size_t material = 0; material < simulation->material_count; material++)
        simulation->rigid[material] = (mpm_rigid_body){0};
    for (size_t g = particles->group_count; g-- > 0;) /* the first of a body is the last here */
        if (is_rigid(simulation, (size_t)particles->groups[g].material))
            begin_at(particles, &particles->groups[g], &simulation->rigid[particles->groups[g].material]);
    mpm_sweeps_rigid_sums(simulation, dt);
    for (size_t g = 0; g < particles->group_count; g++)
        if (is_rigid(simulation, (size_t)particles->groups[g].material))
            add_sums(&simulation->rigid[particles->groups[g].material].sums, &simulation->reports.rigid_sums[g]);
}

mpm_reason mpm_rigid_find(mpm_simulation *simulation, double dt, double impulse[3], double *travel)
{
    const mpm_settings *settings = &simulation->settings;
    if (!simulation->has_rigid)
        return MPM_NO_REASON;
    find_sums(simulation, dt);
    for (size_t material = 0; material < simulation->material_count; material++) {
        mpm_rigid_body *motion = &simulation->rigid[material];
        if (!(mpm_sum_value(&motion->sums.mass) > 0)) /* another law, or no particle is left */
            continue;
        if (is_too_long(settings, &motion->sums))
            return MPM_BODY_TOO_LONG;
        struct body body = body_of(settings, &motion->sums);
        move_within_walls(simulation, material, &body, dt, impulse);
        const double moved = farthest(motion, settings->dim) / settings->dx;
        if (!(moved <= mpm_refusal_travel(simulation)))
            return MPM_MOVES_TOO_FAR;
        *travel = fmax(*travel, moved);
    }
    return MPM_NO_REASON;
}
