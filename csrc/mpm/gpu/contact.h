/* SPDX-License-Identifier: MIT
 *
 * Contacts on a GPU: the text of the processors' functions (csrc/contact/), and what a CTA adds to it. Which colliders
 * are near a block is found by its threads together; then each asks for its own node or particle.
 */
#pragma once
#include "mpm/gpu/device.h"

#include "contact/collision.h"
#include "contact/holding.h"
#include "contact/near.h"

/* Compilers of GPUs inline without end: each of these calls others many times. */
#define APART __device__ __noinline__
APART double mpm_lattice_distance(const mpm_lattice_place *, const double *, double[3]);
APART mpm_lattice_place mpm_lattice_find(const double *, int, const double[3]);
APART double mpm_shape_find_parts(const mpm_shape *, double, const double[3], double, uint64_t *);
APART mpm_shape_reading mpm_shape_read_part(const mpm_shape *, double, const double[3], size_t);
APART mpm_shape_reading mpm_shape_read_parts(const mpm_shape *, double, const double[3], uint64_t);
APART mpm_shape_reading mpm_collider_read(const mpm_collider *, const mpm_collider_state *, const double[3], uint64_t);
APART mpm_shape_reading mpm_collider_read_piece(const mpm_collider *, const double[3], size_t, uint64_t);
APART double mpm_collider_find_near(const mpm_collider *, size_t, const double[3], double, double, mpm_collider_book *);
APART int mpm_collider_find_holders(const mpm_collider *, size_t, const double[3], double, const mpm_collider_book *,
                                    mpm_holder[MPM_MOST_HOLDERS]);
APART bool mpm_exposed_find(const mpm_surroundings *, mpm_piece, mpm_shape_reading *, double[3]);
APART int mpm_exposed_extend(mpm_surroundings *, mpm_holder[MPM_MOST_HOLDERS], int);
APART void mpm_contacts_apply(mpm_node_contact *, int, double[3]);
APART bool mpm_contacts_hold(const mpm_collider *, size_t, const mpm_contact_point *, const mpm_faces *, double[3],
                             const mpm_collider_book *, mpm_node_contact[MPM_MOST_CONTACTS], int *);
#undef APART

#include "contact/lattice.c"
#include "contact/shape_reading.h"
#include "contact/holders.h"
#include "contact/exposed.c"
#include "contact/contacts.c"

/* Finds the colliders near a cube of `side` cells that begins at `from` in a block, for the books of a CTA. Returns a
 * bound of their speed, -1 if there is none. All threads of the CTA, which has `threads`, call it. */
INLINE double find_near(const struct gpu_colliders *colliders, mpm_collider_book *books, const int block[3],
                        double from, double side, double dt, int threads)
{
    double first[3] = {0, 0, 0}, speed = -1;
    for (int a = 0; a < DIM; a++)
        first[a] = (double)((block[a] - GPU_MARGIN) * GPU_SIDE) + from;
    for (int k = threadIdx.x; k < colliders->count; k += threads) {
        const mpm_collider_book empty = {};
        books[k] = empty;
        mpm_near_find(&colliders->list[k], 1, first, side, DIM, colliders->symmetry, colliders->lower, colliders->dx,
                      dt, &books[k]);
    }
    __syncthreads();
    for (int k = 0; k < colliders->count; k++)
        speed = books[k].near && books[k].speed > speed ? books[k].speed : speed;
    return speed;
}

/* What holds the node or particle of a thread. */
struct held {
    mpm_contact_point point;
    mpm_node_contact contact[MPM_MOST_CONTACTS];
    int contacts;
};

/* Adds what the threads of a CTA have given to the books, in the order of lanes and warps. All threads call it. */
INLINE void enter_books(const struct gpu_colliders *colliders, mpm_collider_book *books, const struct held *held,
                        double (*part)[GPU_BOOK], int warps)
{
    for (int k = 0; k < colliders->count; k++) {
        mpm_collider_book own = {};
        if (!books[k].near)
            continue;
        for (int c = 0; c < held->contacts; c++) {
            double given[3];
            if (held->contact[c].collider != k)
                continue;
            mpm_contacts_given(&held->point, &held->contact[c], given);
            mpm_collider_enter(&own, &colliders->list[k], held->point.image, given);
        }
        for (int a = 0; a < 3; a++) {
            const double impulse = warp_sum(own.impulse[a]), torque = warp_sum(own.torque[a]);
            if (threadIdx.x % 32 == 0) {
                part[threadIdx.x / 32][a] = impulse;
                part[threadIdx.x / 32][3 + a] = torque;
            }
        }
        __syncthreads();
        for (int w = 0; threadIdx.x < 3 && w < warps; w++) {
            books[k].impulse[threadIdx.x] += part[w][threadIdx.x];
            books[k].torque[threadIdx.x] += part[w][3 + threadIdx.x];
        }
        __syncthreads();
    }
}
