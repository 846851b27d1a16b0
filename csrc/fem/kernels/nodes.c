/* SPDX-License-Identifier: MIT
 *
 * Passes over the nodes. `sum` ends the forces: it adds the copies of every node, in task order, and measures the
 * state. `move` is a step, symplectic Euler:
 *
 *     v <- v + dt (f/m + g + b - a v)      then colliders and walls, by the collision rule (contact/collision.h)
 *     x <- x + dt v
 *
 * The frequency of the mesh is bounded by that of its nodes. For an element, E = V/2 dF : A : dF with dF = sum_k u_k
 * grad N_k^T; Cauchy and Schwarz give E <= (d + 1) V/2 sum_k M |grad N_k|^2 |u_k|^2, where M bounds A over products of
 * unit vectors (law_piola). So omega^2 <= (d + 1) max_i sum_e V_e M_e |grad N_i|^2/m_i.
 */
#include <math.h>

#include "contact/collision.h"
#include "contact/contacts.h"
#include "fem/kernels/tiles.h"

struct rows {
    ptrdiff_t first, end;
};

INLINE struct rows rows_of(const mpm_fem_pass *pass, ptrdiff_t chunk)
{
    const ptrdiff_t end = (chunk + 1) * MPM_FEM_CHUNK;
    return (struct rows){chunk * MPM_FEM_CHUNK, end < pass->mesh->nodes ? end : pass->mesh->nodes};
}

INLINE double larger(double a, double b)
{
    return a > b ? a : b;
}

INLINE void measure(const mpm_fem_pass *pass, ptrdiff_t row, mpm_fem_report *report)
{
    const real *xs = (const real *)pass->x + row * DIM, *vs = (const real *)pass->v + row * DIM;
    const double m = (double)((const real *)pass->mass)[row];
    double x[3] = {0}, p[3] = {0};
    for (int a = 0; a < DIM; a++) {
        const double v = (double)vs[a], speed = __builtin_fabs(v);
        x[a] = (double)xs[a];
        p[a] = m * v;
        report->kinetic += 0.5 * p[a] * v;
        report->mass_moment[a] += m * x[a];
        report->momentum[a] += p[a];
        report->speed = speed <= report->speed ? report->speed : speed <= REAL_LARGEST ? speed : (double)INFINITY;
        report->beyond = larger(report->beyond, larger(pass->lower[a] - x[a], x[a] - pass->upper[a]));
    }
    report->mass += m;
#if DIM == 3
    report->angular_momentum[0] += x[1] * p[2] - x[2] * p[1];
    report->angular_momentum[1] += x[2] * p[0] - x[0] * p[2];
#endif
    report->angular_momentum[2] += x[0] * p[1] - x[1] * p[0];
}

void MPM_KERNEL(nodes_sum)(const mpm_fem_pass *pass, ptrdiff_t chunk)
{
    const mpm_fem_mesh *mesh = pass->mesh;
    const struct rows rows = rows_of(pass, chunk);
    const vec4 *copies = pass->copies;
    vec4 *force = pass->force;
    mpm_fem_report report = {0};
    for (ptrdiff_t row = rows.first; row < rows.end; row++) {
        vec4 sum = {0};
        for (int32_t k = mesh->node_copy[row]; k < mesh->node_copy[row + 1]; k++)
            sum += copies[mesh->copies_of[k]];
        force[row] = sum;
        const double rate2 = CORNERS * (double)sum[3] / (double)((const real *)pass->mass)[row];
        report.rate2 = rate2 > report.rate2 ? rate2 : report.rate2;
        measure(pass, row, &report);
    }
    pass->reports[chunk] = report;
}

/* ---- a step ----------------------------------------------------------------------------------------------------- */

/* Marks the colliders that can hold a node of the chunk. Returns a bound of their speed, -1 if there are none. */
static double find_near(const mpm_fem_pass *pass, struct rows rows, mpm_collider_book *books)
{
    double centre[3] = {0}, diagonal2 = 0;
    for (int a = 0; a < DIM; a++) {
        double low = INFINITY, high = -INFINITY;
        for (ptrdiff_t row = rows.first; row < rows.end; row++) {
            const double x = (double)((const real *)pass->x)[row * DIM + a];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        centre[a] = 0.5 * (low + high);
        diagonal2 += (high - low) * (high - low);
    }
    const double radius = 0.5 * __builtin_sqrt(diagonal2) * (1 + 1e-9) + 1e-300;
    return mpm_collider_find_near(pass->boundary->colliders, pass->boundary->count, centre, radius, pass->dt, books);
}

/* A node on or beyond a face is held by the wall there. */
INLINE mpm_faces find_faces(const mpm_fem_pass *pass, const double x[3])
{
    mpm_faces faces = {.walls = pass->boundary->walls};
    for (int a = 0; a < DIM; a++) {
        faces.lower[a] = pass->lower[a];
        faces.upper[a] = pass->upper[a];
        for (int upper = 0; upper < 2; upper++)
            if ((upper ? x[a] >= pass->upper[a] : x[a] <= pass->lower[a]) &&
                faces.walls[2 * a + upper].contact != MPM_ABSORBING)
                faces.held |= 1u << (2 * a + upper);
    }
    return faces;
}

/* Contact in double: few nodes need it. */
NOINLINE void touch(const mpm_fem_pass *pass, ptrdiff_t row, bool near, real v[DIM], mpm_collider_book *books,
                    mpm_fem_report *report)
{
    mpm_contact_point point = {.mass = (double)((const real *)pass->mass)[row], .cell = pass->boundary->dx};
    double after[3] = {0}, before[3], wall[3] = {0};
    for (int a = 0; a < DIM; a++) {
        point.x[a] = point.image[a] = (double)((const real *)pass->x)[row * DIM + a];
        after[a] = (double)v[a];
    }
    memcpy(before, after, sizeof before);
    const mpm_faces faces = find_faces(pass, point.x);
    if (!near || !mpm_contacts_touch(pass->boundary->colliders, pass->boundary->count, &point, &faces, after, books,
                                     wall, NULL)) {
        mpm_collision_apply_walls(after, faces.walls, faces.held);
        for (int a = 0; a < DIM; a++)
            wall[a] = point.mass * (after[a] - before[a]);
    }
    for (int a = 0; a < DIM; a++) {
        report->wall_impulse[a] += wall[a];
        v[a] = after[a] != before[a] ? (real)after[a] : v[a];
    }
}

INLINE bool is_inside(const mpm_fem_pass *pass, const real x[DIM])
{
    bool inside = true;
    for (int a = 0; a < DIM; a++)
        inside &= (double)x[a] > pass->lower[a] && (double)x[a] < pass->upper[a];
    return inside;
}

/* Local damping (Cundall) takes a share of the force out of balance, against the velocity v before the step; then
 * dashpots, implicit in the node, act. w: velocity after forces [m/s]. */
NOINLINE void damp(const mpm_fem_pass *pass, ptrdiff_t row, const real v[DIM], real w[DIM], mpm_fem_report *report)
{
    const double mass = (double)((const real *)pass->mass)[row];
    for (int a = 0; a < DIM; a++) {
        const double change = pass->local_damping * __builtin_fabs((double)w[a] - (double)v[a]);
        const double lost = v[a] > 0 ? change : v[a] < 0 ? -change : 0, damped = (double)w[a] - lost;
        const double dashpot = pass->dashpots ? pass->dashpots[row * DIM + a] : 0;
        const double after = damped / (1 + pass->dt * dashpot / mass);
        report->drag[a] -= mass * lost / pass->dt;
        report->wall_impulse[a] += mass * (after - damped);
        w[a] = (real)after;
    }
}

/* Gives a node the velocities of the regions that hold it; the last region wins. */
NOINLINE void hold_node(const mpm_fem_pass *pass, ptrdiff_t row, real v[DIM], double (*impulses)[3])
{
    const double mass = (double)((const real *)pass->mass)[row];
    for (int a = 0; a < DIM; a++) {
        size_t region = pass->loads;
        for (size_t k = 0; k < pass->loads; k++)
            if (pass->forcing->holds[row] >> k & 1 && !isnan(pass->forcing->velocity[k * DIM + (size_t)a]))
                region = k;
        if (region == pass->loads)
            continue;
        const real speed = (real)pass->forcing->velocity[region * DIM + (size_t)a];
        impulses[region][a] += mass * ((double)speed - (double)v[a]);
        v[a] = speed;
    }
}

void MPM_KERNEL(nodes_move)(const mpm_fem_pass *pass, ptrdiff_t chunk)
{
    const struct rows rows = rows_of(pass, chunk);
    const size_t colliders = pass->boundary->count;
    const real dt = (real)pass->dt, drag = (real)pass->drag;
    mpm_collider_book *books = pass->books + (size_t)chunk * colliders;
    mpm_fem_report report = {.collider_speed = -1};
    for (size_t k = 0; k < colliders; k++)
        books[k] = (mpm_collider_book){0};
    if (colliders)
        report.collider_speed = find_near(pass, rows, books);
    const bool near = report.collider_speed >= 0;
    const bool damps = pass->local_damping > 0 || pass->dashpots;
    double (*impulses)[3] = pass->forcing ? pass->hold_impulses + (size_t)chunk * pass->loads : NULL;
    if (impulses)
        memset(impulses, 0, pass->loads * sizeof *impulses);
    for (ptrdiff_t row = rows.first; row < rows.end; row++) {
        const real *x = (const real *)pass->x + row * DIM, *v = (const real *)pass->v + row * DIM;
        const real *force = (const real *)pass->force + row * 4, mass = ((const real *)pass->mass)[row];
        real *next_x = (real *)pass->next_x + row * DIM, *next_v = (real *)pass->next_v + row * DIM, w[DIM];
        for (int a = 0; a < DIM; a++) {
            const double b = pass->body_force ? pass->body_force[row * DIM + a] : 0;
            w[a] = v[a] + dt * (force[a] / mass + (real)(pass->gravity[a] + b) - drag * v[a]);
            report.force[a] += (double)mass * b;
            report.drag[a] -= pass->drag * (double)mass * (double)v[a];
        }
        if (__builtin_expect(damps, 0))
            damp(pass, row, v, w, &report);
        if (near || !is_inside(pass, x))
            touch(pass, row, near, w, books, &report);
        if (__builtin_expect(impulses && pass->forcing->holds[row], 0))
            hold_node(pass, row, w, impulses);
        for (int a = 0; a < DIM; a++) {
            const double speed = __builtin_fabs((double)w[a]);
            report.speed = speed <= report.speed ? report.speed : speed <= REAL_LARGEST ? speed : (double)INFINITY;
            next_v[a] = w[a];
            next_x[a] = x[a] + dt * w[a];
        }
    }
    report.approach = near ? report.speed + report.collider_speed : 0;
    pass->reports[chunk] = report;
}
