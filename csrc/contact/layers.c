/* SPDX-License-Identifier: MIT */
#include "contact/layers.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 10, MOST_PAIRS = MPM_MOST_AT_NODE * (MPM_MOST_AT_NODE - 1) / 2 };
static const double RIDGE = 0.01;    /* of the discriminant: least variance over h^2 */
static const double OPENING = 0.25;  /* cells up to which adhesion and slip hold: the error of the gap, and some more */
static const double NEAR = 1e-5;     /* cells to which fronts are found */
static const double THIN = 1e-6;     /* share of the kernel below which a layer has no thickness */
static const double LEAST_ROOM = 0.25; /* within walls: the node at the edge of two of them */
static const double LIGHT = 1e-12;   /* mass over that of the partner below which a body at a node is no partner */

/* ---- the list of pairs ------------------------------------------------------------------------------------------ */

static int compare(const mpm_layer_pair *pair, int32_t first, int32_t second)
{
    const int order = (pair->layer[0] > first) - (pair->layer[0] < first);
    return order ? order : (pair->layer[1] > second) - (pair->layer[1] < second);
}

/* The place of the pair in the list, or where it belongs. */
static size_t place_of(const mpm_layers *pairs, int32_t first, int32_t second)
{
    size_t low = 0, high = pairs->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (compare(&pairs->list[middle], first, second) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

mpm_layer_pair *mpm_layers_find(const mpm_layers *pairs, int32_t a, int32_t b)
{
    const int32_t first = a < b ? a : b, second = a < b ? b : a;
    const size_t k = place_of(pairs, first, second);
    return k < pairs->count && !compare(&pairs->list[k], first, second) ? &pairs->list[k] : NULL;
}

mpm_status mpm_layers_set(mpm_layers *pairs, const mpm_allocator *allocator, int32_t a, int32_t b,
                         const mpm_layer_rule *rule, const char *name)
{
    const int32_t first = a < b ? a : b, second = a < b ? b : a;
    mpm_layer_pair *found = mpm_layers_find(pairs, a, b);
    char *copy = NULL;
    if (a == b || a < 0 || b < 0 || (name && found && found->name))
        return MPM_BAD_ARGUMENT;
    if (name) {
        copy = mpm_memory_new(allocator, strlen(name) + 1, 1);
        if (!copy || mpm_memory_grow(allocator, (void **)&pairs->named, &pairs->named_capacity, pairs->named_count,
                                     pairs->named_count + 1, sizeof *pairs->named)) {
            mpm_memory_free(allocator, copy);
            return MPM_OUT_OF_MEMORY;
        }
        strcpy(copy, name);
    }
    const size_t k = place_of(pairs, first, second);
    if (!found) {
        if (mpm_memory_grow(allocator, (void **)&pairs->list, &pairs->capacity, pairs->count, pairs->count + 1,
                            sizeof *pairs->list)) {
            mpm_memory_free(allocator, copy);
            return MPM_OUT_OF_MEMORY;
        }
        memmove(&pairs->list[k + 1], &pairs->list[k], (pairs->count - k) * sizeof *pairs->list);
        pairs->list[k] = (mpm_layer_pair){.layer = {first, second}};
        pairs->count++;
        for (size_t i = 0; i < pairs->named_count; i++)
            pairs->named[i] += pairs->named[i] >= k;
    }
    if (rule) {
        pairs->list[k].rule = *rule;
        pairs->list[k].has_rule = true;
    }
    if (name) {
        pairs->list[k].name = copy;
        pairs->named[pairs->named_count++] = k;
    }
    return MPM_OK;
}

void mpm_layers_drop_name(mpm_layers *pairs, const mpm_allocator *allocator)
{
    mpm_layer_pair *pair = &pairs->list[pairs->named[--pairs->named_count]];
    mpm_memory_free(allocator, pair->name);
    pair->name = NULL;
}

void mpm_layers_clear(mpm_layers *pairs, const mpm_allocator *allocator)
{
    for (size_t k = 0; k < pairs->count; k++)
        mpm_memory_free(allocator, pairs->list[k].name);
    mpm_memory_free(allocator, pairs->list);
    mpm_memory_free(allocator, pairs->named);
    *pairs = (mpm_layers){0};
}

/* ---- the B-spline along the normal ------------------------------------------------------------------------------ */

static double reach_of(int degree)
{
    return 0.5 * (degree + 1);
}

static double spline(int degree, double u)
{
    u = fabs(u);
    if (degree == 2)
        return u < 0.5 ? 0.75 - u * u : u < 1.5 ? 0.5 * (1.5 - u) * (1.5 - u) : 0;
    return u < 1 ? 2.0 / 3 - u * u + 0.5 * u * u * u : u < 2 ? (2 - u) * (2 - u) * (2 - u) / 6 : 0;
}

/* B(|u|) */
static double share_beyond(int degree, double u)
{
    if (degree == 2) {
        const double rest = 1.5 - u;
        return u < 0.5 ? 0.5 + u * (0.75 - u * u / 3) : u < 1.5 ? 1 - rest * rest * rest / 6 : 1;
    }
    const double rest = 2 - u, square = rest * rest;
    return u < 1 ? 0.5 + u * (2.0 / 3 + u * u * (u / 8 - 1.0 / 3)) : u < 2 ? 1 - square * square / 24 : 1;
}

double mpm_layers_share(int degree, double u)
{
    return u < 0 ? 1 - share_beyond(degree, -u) : share_beyond(degree, u);
}

/* Q(u), the integral of t b(t) up to u: even, at most 0. */
static double moment(int degree, double u)
{
    const double s = fabs(u), a = reach_of(degree) - s;
    if (a <= 0)
        return 0;
    if (degree == 2)
        return s > 0.5 ? -a * a * a * (0.25 - a / 8) : s * s * (0.375 - s * s / 4) - 0.203125;
    return s > 1 ? -a * a * a * a * (1.0 / 12 - a / 30)
                 : s * s * (1.0 / 3 + s * s * (s / 10 - 0.25)) - 7.0 / 30;
}

/* u with B(u) = share */
static double inverse(int degree, double share)
{
    const double reach = reach_of(degree), outer = degree == 2 ? 1.0 / 6 : 1.0 / 24;
    if (share <= 0)
        return -reach;
    if (share >= 1)
        return reach;
    const double low = share < 0.5 ? share : 1 - share, sign = share < 0.5 ? 1 : -1;
    if (low < outer)
        return sign * ((degree == 2 ? cbrt(6 * low) : sqrt(sqrt(24 * low))) - reach);
    double u = (low - 0.5) / spline(degree, 0); /* B is convex here: Newton's method keeps to one side */
    for (int k = 0; k < 6; k++) {
        const double step = (mpm_layers_share(degree, u) - low) / spline(degree, u);
        u -= step;
        if (fabs(step) < 1e-9)
            break;
    }
    return sign * u;
}

/* The front f of the layer r <= u <= f with B(f) - B(r) = volume and Q(f) - Q(r) = offset; r is beyond the kernel if
 * the offset allows it. Newton's method in a bracket, since d/df of the offset is (f - r) b(f). */
static double front(int degree, double volume, double offset)
{
    const double reach = reach_of(degree);
    if (volume >= 1)
        return reach;
    if (volume < THIN) {
        const double middle = offset / volume;
        return middle < -reach ? -reach : middle > reach ? reach : middle;
    }
    double low = inverse(degree, volume), high = reach, f = low, r = -reach;
    for (int k = 0; k < 30; k++) {
        const double rest = moment(degree, f) - moment(degree, r) - offset, slope = (f - r) * spline(degree, f);
        if (k == 0 && rest >= 0) /* a half-space */
            return low;
        *(rest < 0 ? &low : &high) = f;
        double next = slope > 1e-9 ? f - rest / slope : low;
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        const bool found = fabs(next - f) < NEAR;
        f = next;
        if (found)
            break;
        r = inverse(degree, mpm_layers_share(degree, f) - volume);
    }
    return f;
}

/* ---- geometry --------------------------------------------------------------------------------------------------- */

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* a over its length, which is returned; 0 leaves it. */
static double normalize(double a[3])
{
    const double length = sqrt(dot(a, a));
    for (int k = 0; k < 3 && length > 0; k++)
        a[k] /= length;
    return length;
}

/* x of A x = b for a symmetric positive definite A: xx, yy, zz, yz, xz, xy. */
static void solve(const double A[6], const double b[3], double x[3])
{
    const double yy_zz = A[1] * A[2] - A[3] * A[3], xx_zz = A[0] * A[2] - A[4] * A[4];
    const double xx_yy = A[0] * A[1] - A[5] * A[5], xy_zz = A[5] * A[2] - A[3] * A[4];
    const double xy_yz = A[5] * A[3] - A[1] * A[4], xx_yz = A[0] * A[3] - A[5] * A[4];
    x[0] = yy_zz * b[0] - xy_zz * b[1] + xy_yz * b[2]; /* times det A > 0, which normalize takes out */
    x[1] = -xy_zz * b[0] + xx_zz * b[1] - xx_yz * b[2];
    x[2] = xy_yz * b[0] - xx_yz * b[1] + xx_yy * b[2];
}

/* The axis of the discriminant, from a to b: of the plane that tells them best in the sense of least squares. */
static void discriminate(const mpm_layer_body *a, const mpm_layer_body *b, double axis[3])
{
    const double W = a->volume + b->volume, difference = (b->volume - a->volume) / W;
    double S[6], s[3], right[3];
    for (int k = 0; k < 3; k++) {
        s[k] = a->offset[k] + b->offset[k];
        right[k] = b->offset[k] - a->offset[k] - s[k] * difference;
    }
    for (int k = 0; k < 6; k++) {
        const int i = k < 3 ? k : k == 3 ? 1 : 0, j = k < 3 ? k : k == 5 ? 1 : 2;
        S[k] = a->square[k] + b->square[k] - s[i] * s[j] / W + (k < 3 ? RIDGE * W : 0);
    }
    solve(S, right, axis);
}

/* The normal from a to b; false if there is none. Of two half-spaces the discriminant has the axis of the first moment,
 *
 *     s_k = n_k (integral over the plane of q(r_k) prod_(j != k) b(r_j)),  q(u) = integral of t b(t) from u on,
 *
 * with the B-spline b of variance s^2 = (degree + 1)/12. q/s^2 is a density of variance s^2 - 1/30 for both degrees, so
 * that along n the product has s_k^2 = s^2 - n_k^2/30. As a normal distribution, it is exp(-u^2/(2 s_k^2))/s_k at the
 * plane, u cells from the node; divided by it, the axis of 17 degrees has an error of 0.1 degrees for |u| <= 1/2, where
 * it had up to 1. */
static bool find_normal(int degree, const mpm_layer_body *a, const mpm_layer_body *b, double n[3])
{
    double axis[3];
    discriminate(a, b, axis);
    if (!(normalize(axis) > 0))
        return false;
    const double u = inverse(degree, a->volume / (a->volume + b->volume));
    for (int k = 0; k < 3; k++) {
        const double variance = (degree + 1) / 12.0 - axis[k] * axis[k] / 30;
        n[k] = axis[k] * sqrt(variance) * exp(0.5 * u * u / variance);
    }
    return normalize(n) > 0;
}

/* The share of the kernel that bodies can fill. Walls cut it only along the contact: across it, they bound bodies. */
static double room_of(const mpm_layer_node *node, const double n[3])
{
    double room = 1;
    for (int k = 0; k < node->dim; k++)
        if (node->room[k] < 1)
            room *= pow(node->room[k], 1 - n[k] * n[k]);
    return room < LEAST_ROOM ? LEAST_ROOM : room;
}

/* ---- impulses --------------------------------------------------------------------------------------------------- */

struct contact {
    int a, b;
    double n[3], reduced; /* mass */
    double allowed;       /* velocity of approach [m/s] */
    double hold;          /* the largest impulse that pulls [N s]; infinite: bodies never part */
    double friction;
    double before[3];     /* v_a - v_b */
    double normal, tangent[3]; /* impulse of a on b */
};

static void relative(const mpm_layer_body *bodies, const struct contact *c, double v[3])
{
    for (int k = 0; k < 3; k++)
        v[k] = bodies[c->a].v[k] - bodies[c->b].v[k];
}

static void give(mpm_layer_body *bodies, const struct contact *c, const double impulse[3])
{
    for (int k = 0; k < 3; k++) {
        bodies[c->a].v[k] -= impulse[k] / bodies[c->a].mass;
        bodies[c->b].v[k] += impulse[k] / bodies[c->b].mass;
    }
}

/* Returns whether a pair may touch. `apart`: there is no other pair, so that bodies which part stay untouched. */
static bool begin(const mpm_layers *pairs, const mpm_layer_node *node, const mpm_layer_body *bodies, int a, int b,
                  bool apart, struct contact *c)
{
    const mpm_layer_body *A = &bodies[a], *B = &bodies[b];
    const mpm_layer_pair *own = mpm_layers_find(pairs, A->layer, B->layer);
    const mpm_layer_rule rule = own && own->has_rule ? own->rule : pairs->rule;
    *c = (struct contact){.a = a, .b = b, .friction = rule.friction};
    if (A->mass < LIGHT * B->mass || B->mass < LIGHT * A->mass || !(A->volume > 0 && B->volume > 0) ||
        !find_normal(node->degree, A, B, c->n))
        return false;
    relative(bodies, c, c->before);
    if (apart && !(dot(c->before, c->n) > 0) && rule.contact == MPM_SEPARATE && rule.adhesion == 0)
        return false;
    const double room = room_of(node, c->n);
    const double gap = -(front(node->degree, A->volume / room, dot(A->offset, c->n) / room) +
                         front(node->degree, B->volume / room, -dot(B->offset, c->n) / room)); /* in cells */
    c->reduced = A->mass * B->mass / (A->mass + B->mass);
    c->allowed = gap > 0 ? gap * node->h / node->dt : 0;
    if (gap < OPENING && rule.contact == MPM_SLIP)
        c->hold = INFINITY;
    else if (gap < OPENING && rule.adhesion > 0) {
        const double sa = -dot(A->offset, c->n), sb = dot(B->offset, c->n); /* of a face: its area times the variance */
        const double face = sa > 0 && sb > 0 ? 2 * sa * sb / (sa + sb) * 12 / (node->degree + 1) : 0;
        c->hold = rule.adhesion * node->part * face * (node->dim == 3 ? node->h : 1) * node->h * node->dt;
    }
    if (c->hold > 0)
        c->allowed = 0;
    return true;
}

/* One turn of a contact: the normal impulse, then friction. */
static void turn(mpm_layer_body *bodies, struct contact *c)
{
    double v[3], change[3], tangent[3], length = 0;
    relative(bodies, c, v);
    double normal = c->normal + c->reduced * (dot(v, c->n) - c->allowed);
    normal = normal < -c->hold ? -c->hold : normal;
    for (int k = 0; k < 3; k++)
        change[k] = (normal - c->normal) * c->n[k];
    c->normal = normal;
    give(bodies, c, change);
    if (!(c->friction > 0))
        return;
    const double pressed = normal + (isfinite(c->hold) ? c->hold : 0);
    const double bound = c->friction * (pressed > 0 ? pressed : 0);
    relative(bodies, c, v);
    const double along = dot(v, c->n);
    for (int k = 0; k < 3; k++) {
        tangent[k] = c->tangent[k] + c->reduced * (v[k] - along * c->n[k]);
        length += tangent[k] * tangent[k];
    }
    const double kept = length > bound * bound ? bound / sqrt(length) : 1;
    for (int k = 0; k < 3; k++) {
        tangent[k] *= kept;
        change[k] = tangent[k] - c->tangent[k];
        c->tangent[k] = tangent[k];
    }
    give(bodies, c, change);
}

/* Tractions times slip and opening of the step, which bodies do with the velocities after it. The kinetic energy that
 * the impulses take is more: the part that forces have given in the same step is no work of contact. A block that
 * sticks does none. */
static mpm_layer_touch report(const mpm_layer_body *bodies, const struct contact *c)
{
    mpm_layer_touch touch = {.a = c->a, .b = c->b};
    double v[3];
    relative(bodies, c, v);
    for (int k = 0; k < 3; k++)
        touch.impulse[k] = c->normal * c->n[k] + c->tangent[k];
    touch.friction_work = dot(c->tangent, v);
    touch.adhesion_work = c->normal < 0 ? c->normal * dot(c->n, v) : 0;
    return touch;
}

int mpm_layers_solve(const mpm_layers *pairs, const mpm_layer_node *node, mpm_layer_body *bodies, int count,
                    mpm_layer_touch touches[MOST_PAIRS])
{
    struct contact contacts[MOST_PAIRS];
    int found = 0, touching = 0;
    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count; b++)
            found += begin(pairs, node, bodies, a, b, count == 2, &contacts[found]);
    for (int round = 0; round < (found > 1 ? ROUNDS : 1); round++)
        for (int k = 0; k < found; k++)
            turn(bodies, &contacts[k]);
    for (int k = 0; k < found; k++)
        if (contacts[k].normal != 0 || dot(contacts[k].tangent, contacts[k].tangent) > 0)
            touches[touching++] = report(bodies, &contacts[k]);
    return touching;
}
