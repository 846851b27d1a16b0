/* SPDX-License-Identifier: MIT
 *
 * The end of a step, leapfrog:
 *
 *     v <- v + (dt' + dt)/2 (force + g + b)      x <- x + dt (v + drift)
 *
 * Velocities belong to the middle of steps, so that forces act from the middle of the last step, of size dt', to that
 * of this one. As long as dt stays the same, this is symplectic Euler.
 *
 * A particle that would be beyond a wall changes places with its image, as in the mirrored whole; beyond a periodic
 * face it enters at the opposite one. Colliders (contact/collider.h) take velocity into them from what is inside.
 */
#include "sph/kernels/smoothing.h"

/* Reflects or wraps a particle that has crossed a face; enters the impulse of walls. */
INLINE void cross_faces(const mpm_sph_pass *pass, real x[DIM], real v[DIM], double impulse[3])
{
    for (int a = 0; a < DIM; a++) {
        const real lower = (real)pass->lower[a], upper = (real)pass->upper[a];
        const bool below = x[a] < lower;
        if (!below && !(x[a] > upper))
            continue;
        if (mpm_walls_periodic(pass->walls, a)) {
            x[a] += below ? upper - lower : lower - upper;
            continue;
        }
        x[a] = (below ? lower + lower : upper + upper) - x[a];
        const bool sticky = pass->walls[2 * a + !below].contact == MPM_STICKY;
        for (int b = 0; b < DIM; b++)
            if (sticky || b == a) {
                impulse[b] -= 2 * pass->mass * (double)v[b];
                v[b] = -v[b];
            }
    }
}

/* The last guard: what got into a collider does not move deeper. */
static void guard(const mpm_sph_pass *pass, const real *record, real v[DIM], mpm_collider_book *books)
{
    mpm_contact_point point = {.mass = pass->mass, .cell = pass->boundary->dx};
    double after[3] = {0};
    for (int a = 0; a < DIM; a++) {
        point.x[a] = point.image[a] = (double)record[RECORD_X + a];
        after[a] = (double)v[a];
    }
    if (mpm_contacts_touch(pass->boundary->colliders, pass->boundary->count, &point, NULL, after, books, NULL,
                           NULL))
        for (int a = 0; a < DIM; a++)
            v[a] = (real)after[a];
}

INLINE void move(const mpm_sph_pass *pass, ptrdiff_t slot, mpm_collider_book *books, mpm_sph_kick *found)
{
    const real *record = (const real *)pass->record + slot * MPM_SPH_RECORD;
    const real *force = (const real *)pass->force + slot * DIM, *drift = (const real *)pass->drift + slot * DIM;
    const double *b = pass->body_force ? pass->body_force + pass->clouds[MPM_SPH_FLUID].order[slot] * DIM : NULL;
    real *x = (real *)pass->next + slot * 2 * DIM, *v = x + DIM, travel2 = 0;
    const real dt = (real)pass->dt, kick = (real)pass->kick;
    for (int a = 0; a < DIM; a++)
        v[a] = record[RECORD_V + a] + kick * (force[a] + (real)(pass->gravity[a] + (b ? b[a] : 0)));
    if (books)
        guard(pass, record, v, books);
    for (int a = 0; a < DIM; a++) {
        const real way = dt * (v[a] + drift[a]);
        x[a] = record[RECORD_X + a] + way;
        travel2 += way * way;
    }
    if (!(travel2 <= REAL_LARGEST))
        found->finite = false;
    else if ((double)travel2 > found->travel2)
        found->travel2 = (double)travel2;
    cross_faces(pass, x, v, found->wall_impulse);
}

void MPM_KERNEL(kick_task)(const mpm_sph_pass *pass, ptrdiff_t task)
{
    const size_t colliders = pass->boundary->count;
    mpm_sph_kick found = {.finite = true};
    mpm_collider_book *books = colliders ? pass->touches + (size_t)task * colliders : NULL;
    for (size_t k = 0; k < colliders; k++)
        books[k] = (mpm_collider_book){.near = true, .parts = UINT64_MAX, .beside = UINT64_MAX};
    for (ptrdiff_t t = pass->task_tile[task]; t < pass->task_tile[task + 1]; t++) {
        const mpm_sph_tile *tile = &pass->tiles[t];
        const int32_t *ends = pass->lists[task].entries + tile->list;
        const bool near = colliders && ends[pass->cloud_count - 1] > ends[MPM_SPH_IMAGES];
        for (int q = 0; q < tile->count && tile->cloud == MPM_SPH_FLUID; q++)
            move(pass, tile->slot + q, near ? books : NULL, &found);
    }
    pass->kicks[task] = found;
}

void MPM_KERNEL(kick_write)(const mpm_sph_pass *pass, ptrdiff_t begin, ptrdiff_t end)
{
    const int32_t *order = pass->clouds[MPM_SPH_FLUID].order;
    for (ptrdiff_t slot = begin; slot < end; slot++) {
        memcpy((real *)pass->x + (size_t)order[slot] * DIM, (const real *)pass->next + slot * 2 * DIM,
               DIM * sizeof(real));
        memcpy((real *)pass->v + (size_t)order[slot] * DIM, (const real *)pass->next + slot * 2 * DIM + DIM,
               DIM * sizeof(real));
    }
}

void MPM_KERNEL(kick_write_J)(const mpm_sph_pass *pass, ptrdiff_t begin, ptrdiff_t end)
{
    const int32_t *order = pass->clouds[MPM_SPH_FLUID].order;
    for (ptrdiff_t slot = begin; slot < end; slot++)
        ((real *)pass->J)[order[slot]] =
            (real)pass->density * ((const real *)pass->record)[slot * MPM_SPH_RECORD + RECORD_S];
}
