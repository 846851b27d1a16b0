/* SPDX-License-Identifier: MIT
 *
 * What is done at nodes, and how reports of CTAs become one. Compiled once per precision and dimension, with
 * GPU_COLLIDES where there are colliders.
 */
#include "mpm/gpu/device.h"

#include "contact/collision.h"
#if GPU_COLLIDES
#include "mpm/gpu/contact.h"
#endif
#include "mpm/memory/axis_images.h"

/* Momentum and mass of a node: along every axis the tiles of its own block hold it, and those of one neighbour. The
 * tiles of a block, one per material, are added in the order of these. */
INLINE struct gpu_vec4 sum_tiles(const struct gpu_pass *pass, const struct gpu_vec4 *tiles, const int block[3],
                                 const int local[3])
{
    struct gpu_vec4 sum = {};
    for (int k = 0; k < 1 << DIM; k++) {
        int from[3] = {0, 0, 0}, at[3] = {0, 0, 0};
        bool holds = true;
        for (int a = 0; a < DIM; a++) {
            const int neighbour = local[a] <= 2 ? -1 : local[a] == GPU_SIDE - 1 ? 1 : 0;
            const int step = k >> a & 1 ? neighbour : 0;
            holds &= !(k >> a & 1) || neighbour;
            from[a] = block[a] + step;
            at[a] = local[a] - step * GPU_SIDE + 1;
        }
        if (!holds || !block_exists(&pass->blocks, from))
            continue;
        const int *place_of = pass->place_of + pair_key(&pass->blocks, block_key(&pass->blocks, from), 0);
        for (int m = 0; m < pass->blocks.materials; m++) {
            if (place_of[m] < 0)
                continue;
            const struct gpu_vec4 part =
                vec4_load(&tiles[(size_t)place_of[m] * GPU_TILE + cube_number(at, GPU_TILE_SIDE)]);
            UNROLL for (int b = 0; b < 4; b++)
                sum.c[b] += part.c[b];
        }
    }
    return sum;
}

/* A node of a room. Its velocity is that of its image in the domain until it is turned back. Bits are axes. */
struct node {
    int64_t own[3], at[3];           /* coordinates: its own; of its image in the domain */
    unsigned flips, planes, normals; /* as of an mpm_image_node (mpm/memory/images.h) */
    struct gpu_vec4 given;           /* momentum after forces, and mass, of its own particles */
    struct gpu_vec4 given_before;    /* the same before forces, where the scheme keeps it */
    real before[3];                  /* v^n there, in the frame of the node */
    real v[3], m;                    /* m: of all images */
};

/* Adds b to a. */
INLINE void vec4_add(struct gpu_vec4 *a, const struct gpu_vec4 *b)
{
    for (int c = 0; c < 4; c++)
        a->c[c] += b->c[c];
}

/* Momentum after forces and mass of a node by coordinates; `before`: before forces, where the scheme keeps it. */
INLINE struct gpu_vec4 sum_at(const struct gpu_pass *pass, const int64_t at[3], struct gpu_vec4 *before)
{
    int block[3] = {0, 0, 0}, local[3] = {0, 0, 0};
    for (int a = 0; a < DIM; a++) {
        const int n = (int)at[a] + GPU_MARGIN * GPU_SIDE;
        block[a] = n / GPU_SIDE, local[a] = n % GPU_SIDE;
    }
    struct gpu_vec4 sum = sum_tiles(pass, pass->tiles, block, local);
    *before = sum;
    if (pass->force_tiles) {
        const struct gpu_vec4 forces = sum_tiles(pass, pass->force_tiles, block, local);
        vec4_add(&sum, &forces);
    }
    return sum;
}

/* Are there images of a node, or is it on a plane of symmetry? */
INLINE bool is_near_images(const struct gpu_pass *pass, const int64_t at[3])
{
    bool near = false;
    for (int a = 0; a < DIM; a++)
        near |= mpm_axis_has_symmetry(&pass->symmetry[a]) &&
                (at[a] <= MPM_IMAGE_REACH || at[a] >= pass->cells[a] - MPM_IMAGE_REACH);
    return near;
}

/* Momentum and mass of all images of a node, in the frame of the one in the domain, in ascending order of coordinates;
 * on a plane of symmetry, the node is its own image, which cancels what is odd. */
NOINLINE void fold_images(const struct gpu_pass *pass, struct node *node, struct gpu_vec4 *sum,
                          struct gpu_vec4 *sum_before)
{
    mpm_axis_node along[DIM];
    int k[3] = {0, 0, 0}, all = 1;
    for (int a = 0; a < DIM; a++) {
        mpm_axis_find(&along[a], &pass->symmetry[a], node->own[a]);
        node->at[a] = along[a].at;
        node->flips |= (along[a].flipped ? 1u : 0) << a;
        node->planes |= (along[a].plane ? 1u : 0) << a;
        node->normals |= (along[a].mirrored ? 1u : 0) << a;
        all *= along[a].images;
    }
    *sum = *sum_before = gpu_vec4();
    for (int i = 0; i < all; i++) {
        int64_t at[3] = {0, 0, 0};
        for (int a = 0; a < DIM; a++)
            at[a] = along[a].image[k[a]].at;
        struct gpu_vec4 before, part = sum_at(pass, at, &before);
        for (int a = 0; a < DIM; a++) {
            const bool flipped = along[a].image[k[a]].flipped;
            part.c[a] = flipped ? -part.c[a] : part.c[a];
            before.c[a] = flipped ? -before.c[a] : before.c[a];
        }
        vec4_add(sum, &part);
        vec4_add(sum_before, &before);
        for (int a = DIM - 1; a >= 0 && ++k[a] == along[a].images; a--)
            k[a] = 0;
    }
    for (int a = 0; a < DIM; a++) {
        sum->c[a] = node->planes >> a & 1 ? 0 : sum->c[a];
        sum_before->c[a] = node->planes >> a & 1 ? 0 : sum_before->c[a];
    }
}

/* A node after forces and gravity. `folds`: images may exist. */
INLINE struct node begin_node(const struct gpu_pass *pass, const int block[3], const int local[3], const bool folds)
{
    struct node node = {};
    for (int a = 0; a < DIM; a++)
        node.own[a] = node.at[a] = (int64_t)(block[a] - GPU_MARGIN) * GPU_SIDE + local[a];
    if (folds)
        node.given = sum_at(pass, node.own, &node.given_before);
    else
        node.given = sum_tiles(pass, pass->tiles, block, local);
    struct gpu_vec4 sum = node.given, before = node.given_before;
    if (folds && is_near_images(pass, node.own))
        fold_images(pass, &node, &sum, &before);
    node.m = sum.c[3];
    for (int a = 0; folds && a < DIM; a++) {
        const real v = node.m > 0 ? before.c[a] / node.m : 0;
        node.before[a] = node.flips >> a & 1 ? -v : v;
    }
    for (int a = 0; a < DIM; a++)
        node.v[a] = node.m > 0 ? sum.c[a] / node.m + (real)(pass->dt * pass->gravity[a]) : 0;
    for (int a = 0; a < DIM; a++) /* no gravity across a plane of symmetry */
        node.v[a] = node.planes >> a & 1 ? 0 : node.v[a];
    return node;
}

/* Applies the walls that hold the node. */
INLINE void touch_walls(const struct gpu_pass *pass, struct node *node)
{
    double v[3] = {0, 0, 0};
    int64_t cells[3];
    for (int a = 0; a < 3; a++)
        cells[a] = pass->cells[a];
    const unsigned held = mpm_walls_holding(node->at, DIM, pass->walls, cells);
    if (!held)
        return;
    for (int a = 0; a < DIM; a++)
        v[a] = (double)node->v[a];
    mpm_collision_apply_walls(v, pass->walls, held);
    for (int a = 0; a < DIM; a++)
        node->v[a] = (real)v[a];
}

/* Turns the velocity of a node to its own frame, and adds to `impulse` what the walls have given to its own mass.
 * Across a mirror that is the momentum that it gains beyond gravity and the push of colliders; along other axes images
 * only exchange momentum, whose sum is 0. `before`: its velocity before the walls. */
INLINE void end_node(const struct gpu_pass *pass, struct node *node, const real before[3], real pushed[3],
                     double impulse[3])
{
    const real m = node->given.c[3];
    for (int a = 0; a < DIM; a++) {
        node->v[a] = node->flips >> a & 1 ? -node->v[a] : node->v[a];
        pushed[a] = node->flips >> a & 1 ? -pushed[a] : pushed[a];
        if (!(m > 0))
            continue;
        const double v = (double)node->v[a];
        impulse[a] += node->normals >> a & 1
                          ? (double)m * (v - (double)pushed[a] - pass->dt * pass->gravity[a]) - (double)node->given.c[a]
                          : (double)m * (v - (double)before[a]);
        if (pass->force_tiles && node->normals >> a & 1) /* FLIP gives a share of what v^n has of images back */
            impulse[a] -= pass->flip_ratio * ((double)m * (double)node->before[a] - (double)node->given_before.c[a]);
    }
}

#if GPU_COLLIDES
/* Applies the colliders, and the walls beside them, to a node with mass. Returns whether a collider holds it. Adds the
 * impulse of the walls, at the node, to `impulse`. */
NOINLINE bool touch_colliders(const struct gpu_pass *pass, const mpm_collider_book *books, struct node *node,
                              struct held *held, double impulse[3])
{
    const struct gpu_colliders *colliders = &pass->colliders;
    mpm_faces faces = {.walls = pass->walls};
    mpm_contact_point point = {.mass = (double)node->given.c[3], .cell = colliders->dx, .flips = node->flips,
                               .planes = node->planes};
    double v[3] = {0, 0, 0};
    int64_t cells[3];
    for (int a = 0; a < 3; a++)
        cells[a] = pass->cells[a];
    for (int a = 0; a < DIM; a++) {
        faces.lower[a] = colliders->lower[a];
        faces.upper[a] = colliders->lower[a] + (double)cells[a] * colliders->dx;
        faces.periodic |= (colliders->symmetry[a].periodic ? 1u : 0) << a;
        point.x[a] = colliders->lower[a] + (double)node->at[a] * colliders->dx;
        point.image[a] = colliders->lower[a] + (double)node->own[a] * colliders->dx;
        v[a] = (double)node->v[a];
    }
    faces.held = mpm_walls_holding(node->at, DIM, pass->walls, cells);
    held->point = point;
    if (!mpm_contacts_hold(colliders->list, (size_t)colliders->count, &point, &faces, v, books, held->contact,
                           &held->contacts))
        return false;
    for (int c = 0; c < held->contacts; c++) {
        double given[3];
        mpm_contacts_given(&point, &held->contact[c], given);
        for (int a = 0; a < 3 && held->contact[c].collider == MPM_HELD_BY_WALL; a++)
            impulse[a] += given[a];
    }
    for (int a = 0; a < DIM; a++)
        node->v[a] = (real)v[a];
    return true;
}

/* The stage of the colliders. Returns a bound of the speed of those near the room, -1 if there is none. `pushed`: the
 * change of velocity that they cause. */
INLINE double meet_colliders(const struct gpu_pass *pass, struct node *node, const int block[3], double impulse[3],
                             real pushed[3], bool *touched)
{
    __shared__ double part[GPU_CELLS / 32][GPU_BOOK];
    const struct gpu_colliders *colliders = &pass->colliders;
    mpm_collider_book *books = colliders->books + (size_t)blockIdx.x * colliders->count;
    const double speed = find_near(colliders, books, block, 0, GPU_SIDE - 1, colliders->dt, GPU_CELLS);
    struct held held;
    held.contacts = 0;
    if (speed < 0)
        return speed;
    const real free[3] = {node->v[0], node->v[1], node->v[2]};
    if (node->given.c[3] > 0)
        *touched = touch_colliders(pass, books, node, &held, impulse);
    for (int a = 0; a < DIM; a++) {
        pushed[a] = node->v[a] - free[a];
        if (node->planes >> a & 1)
            node->v[a] = 0; /* the collider's own image pushes back */
    }
    enter_books(colliders, books, &held, part, GPU_CELLS / 32);
    return speed;
}
#endif

/* Reports of the nodes with mass; a velocity that is not finite makes the speed infinite. */
INLINE void report_nodes(const struct node *node, const double impulse[3], double collider_speed,
                         const bool keeps_before, struct gpu_report *report, double part[2][GPU_MAXIMA + 3])
{
    double value[GPU_MAXIMA + 3];
    bool finite = true;
    const bool has_mass = node->given.c[3] > 0;
    value[GPU_NODE_SPEED] = 0;
    for (int a = 0; a < 3; a++) {
        const double v = a < DIM && has_mass ? (double)node->v[a] : 0;
        finite &= v - v == 0;
        value[GPU_HIGHEST + a] = has_mass ? v : -__builtin_inf();
        value[GPU_FALLEST + a] = has_mass ? -v : -__builtin_inf();
        value[GPU_NODE_SPEED] = fabs(v) > value[GPU_NODE_SPEED] ? fabs(v) : value[GPU_NODE_SPEED];
        value[GPU_MAXIMA + a] = impulse[a];
    }
    if (!finite || !(node->m - node->m == 0))
        value[GPU_NODE_SPEED] = __builtin_inf();
    value[GPU_SPEED_BEFORE] = 0;
    for (int a = 0; keeps_before && a < DIM; a++)
        value[GPU_SPEED_BEFORE] = fmax(value[GPU_SPEED_BEFORE], has_mass ? fabs((double)node->before[a]) : 0);
    value[GPU_APPROACH] = collider_speed < 0 ? 0 : value[GPU_NODE_SPEED] + collider_speed;
    for (int k = 0; k < GPU_MAXIMA + 3; k++) {
        const bool adds = k >= GPU_MAXIMA;
        const double all = adds ? warp_sum(value[k]) : warp_most(value[k]);
        if (threadIdx.x % 32 == 0)
            part[threadIdx.x / 32][k] = all;
    }
    __syncthreads();
    if (threadIdx.x)
        return;
    for (int k = 0; k < GPU_SUMS; k++)
        report->sum[k] = k < 3 ? part[0][GPU_MAXIMA + k] + part[1][GPU_MAXIMA + k] : 0;
    for (int k = 0; k < GPU_MAXIMA; k++)
        report->most[k] = part[0][k] > part[1][k] ? part[0][k] : part[1][k];
}

INLINE void move_room(const struct gpu_pass *pass, double part[2][GPU_MAXIMA + 3], const bool meets)
{
    int block[3], local[3];
    double impulse[3] = {0, 0, 0}, collider_speed = -1;
    block_at(&pass->blocks, pass->key_of[blockIdx.x], block);
    cube_at(threadIdx.x, GPU_SIDE, local);
    struct node node = begin_node(pass, block, local, meets);
    real pushed[3] = {0, 0, 0};
    bool touched = false;
#if GPU_COLLIDES
    if (meets && pass->colliders.count)
        collider_speed = meet_colliders(pass, &node, block, impulse, pushed, &touched);
#endif
    const real before[3] = {node.v[0], node.v[1], node.v[2]};
    if (node.m > 0 && !touched)
        touch_walls(pass, &node);
    end_node(pass, &node, before, pushed, impulse);
    vec4_store(&pass->velocity[(size_t)blockIdx.x * GPU_CELLS + threadIdx.x], node.v[0], node.v[1], node.v[2],
               node.given.c[3]);
    if (meets && pass->force_tiles)
        vec4_store(&pass->before[(size_t)blockIdx.x * GPU_CELLS + threadIdx.x], node.before[0], node.before[1],
                   node.before[2], node.given.c[3]);
    report_nodes(&node, impulse, collider_speed, meets && pass->force_tiles, &pass->reports[blockIdx.x], part);
}

/** Velocities after forces, gravity and walls. A CTA of GPU_CELLS threads takes the nodes of a room. */
extern "C" __global__ void __launch_bounds__(GPU_CELLS) move_nodes(struct gpu_pass pass)
{
    __shared__ double part[2][GPU_MAXIMA + 3];
    move_room(&pass, part, false);
}

/** The same where walls are mirrors or periodic, with sums over the images of nodes, where there are colliders,
 *  or where the scheme keeps v^n. */
extern "C" __global__ void __launch_bounds__(GPU_CELLS) meet_nodes(struct gpu_pass pass)
{
    __shared__ double part[2][GPU_MAXIMA + 3];
    move_room(&pass, part, true);
}

/* ---- how full nodes are ------------------------------------------------------------------------------------------ */

struct found {};
typedef struct gpu_pass fill_pass;

/* The volume at a node, with its images; -1 where there is no room. */
INLINE real volume_at(const struct gpu_pass *pass, const int64_t at[DIM], struct found *)
{
    int block[3] = {0, 0, 0}, local[3] = {0, 0, 0};
    for (int a = 0; a < DIM; a++) {
        const int64_t n = at[a] + GPU_MARGIN * GPU_SIDE;
        if (n < 0 || n >= (int64_t)pass->blocks.count[a] * GPU_SIDE)
            return -1;
        block[a] = (int)(n / GPU_SIDE), local[a] = (int)(n % GPU_SIDE);
    }
    const int room = pass->room_of[block_key(&pass->blocks, block)];
    return room < 0 ? -1 : pass->volume[(size_t)room * GPU_CELLS + cube_number(local, GPU_SIDE)];
}

#define FILL_DEGREE(pass) ((int64_t)MPM_QUADRATIC)
#define FILL_COLLIDES GPU_COLLIDES
#include "mpm/kernels/fill_rule.h"

/** The volumes at the nodes of every room, with those of images; what `tiles` have in their fourth reals tells them. */
extern "C" __global__ void __launch_bounds__(GPU_CELLS) sum_volumes(struct gpu_pass pass)
{
    int block[3], local[3];
    block_at(&pass.blocks, pass.key_of[blockIdx.x], block);
    cube_at(threadIdx.x, GPU_SIDE, local);
    const struct node node = begin_node(&pass, block, local, true);
    real *volume = &pass.volume[(size_t)blockIdx.x * GPU_CELLS + threadIdx.x];
    real sum = (real)pass.volume_per_mass * node.m;
    for (int a = 0; a < DIM; a++)
        sum *= node.planes >> a & 1 ? 2 : 1; /* a plane is its own image */
    *volume = pass.adds ? *volume + sum : sum;
}

/** How full nodes are (mpm/kernels/fill.c), beside their velocities. */
extern "C" __global__ void __launch_bounds__(GPU_CELLS) fill_nodes(struct gpu_pass pass)
{
    int block[3], local[3];
    int64_t at[DIM];
    struct reflected along[DIM];
    struct found found[1 << DIM];
    block_at(&pass.blocks, pass.key_of[blockIdx.x], block);
    cube_at(threadIdx.x, GPU_SIDE, local);
    const size_t n = (size_t)blockIdx.x * GPU_CELLS + threadIdx.x;
    for (int a = 0; a < DIM; a++) {
        at[a] = (int64_t)(block[a] - GPU_MARGIN) * GPU_SIDE + local[a];
        along[a] = reflect(&pass, a, at[a]);
    }
    const real volume = with_reflections(&pass, along, pass.volume[n], found);
    const double h = pass.colliders.dx;
    real fill = (real)(1 / (DIM == 3 ? h * h * h : h * h)) * volume;
    fill = fill >= (real)FULL ? fill : 1;
#if GPU_COLLIDES
    const double reach = 1.5 * (MPM_QUADRATIC + 1); /* of the nodes at the other side, too [cells] */
    mpm_collider_book *books = pass.colliders.books + (size_t)blockIdx.x * pass.colliders.count;
    if (pass.colliders.count &&
        find_near(&pass.colliders, books, block, -reach, GPU_SIDE - 1 + 2 * reach, 0, GPU_CELLS) >= 0) {
        for (int a = 0; a < DIM; a++) {
            mpm_axis_node image;
            mpm_axis_find(&image, &pass.symmetry[a], at[a]);
            at[a] = image.at;
        }
        fill = fill_at_surface(&pass, UINT64_MAX, at, volume, found);
    }
#endif
    const struct gpu_vec4 v = vec4_load(&pass.velocity[n]);
    vec4_store(&pass.fill[n], v.c[0], v.c[1], v.c[2], fill);
}

/** The velocities that rooms of a new table have in an older one; 0 where they are in none. */
extern "C" __global__ void __launch_bounds__(GPU_CELLS)
    take_nodes(const int *key_of, const int *older_room_of, const struct gpu_vec4 *older, struct gpu_vec4 *velocity)
{
    const int room = older_room_of[key_of[blockIdx.x]];
    struct gpu_vec4 node = {};
    if (room >= 0)
        node = vec4_load(&older[(size_t)room * GPU_CELLS + threadIdx.x]);
    vec4_store(&velocity[(size_t)blockIdx.x * GPU_CELLS + threadIdx.x], node.c[0], node.c[1], node.c[2], node.c[3]);
}

/** The books of all `ctas` of a launch, collider by collider: sums and the largest speed, in a fixed order. A CTA of
 *  GPU_SORT_THREADS per collider. */
extern "C" __global__ void __launch_bounds__(GPU_SORT_THREADS)
    add_books(int ctas, int colliders, const mpm_collider_book *in, mpm_collider_book *out)
{
    __shared__ double part[GPU_SORT_THREADS / 32][GPU_BOOK + 1];
    double sum[GPU_BOOK] = {0, 0, 0, 0, 0, 0}, speed = 0;
    for (int cta = threadIdx.x; cta < ctas; cta += GPU_SORT_THREADS) {
        const mpm_collider_book *book = &in[(size_t)cta * colliders + blockIdx.x];
        for (int a = 0; a < 3; a++) {
            sum[a] += book->impulse[a];
            sum[3 + a] += book->torque[a];
        }
        speed = book->near && book->speed > speed ? book->speed : speed;
    }
    for (int i = 0; i <= GPU_BOOK; i++) {
        const double all = i < GPU_BOOK ? warp_sum(sum[i]) : warp_most(speed);
        if (threadIdx.x % 32 == 0)
            part[threadIdx.x / 32][i] = all;
    }
    __syncthreads();
    if (threadIdx.x)
        return;
    mpm_collider_book all = {};
    for (int w = 0; w < GPU_SORT_THREADS / 32; w++) {
        for (int a = 0; a < 3; a++) {
            all.impulse[a] += part[w][a];
            all.torque[a] += part[w][3 + a];
        }
        all.speed = part[w][GPU_BOOK] > all.speed ? part[w][GPU_BOOK] : all.speed;
    }
    out[blockIdx.x] = all;
}

/** Report i of `out`: the sums and maxima of reports 256 i .. 256 i + 255 of `in`. Launched until one is left. */
extern "C" __global__ void __launch_bounds__(GPU_SORT_THREADS)
    add_reports(int count, const struct gpu_report *in, struct gpu_report *out)
{
    __shared__ double part[GPU_SORT_THREADS / 32];
    const int i = blockIdx.x * GPU_SORT_THREADS + threadIdx.x;
    for (int k = 0; k < (int)GPU_SUMS + (int)GPU_MAXIMA; k++) {
        const bool adds = k < GPU_SUMS;
        double a = adds ? 0 : -__builtin_inf();
        if (i < count)
            a = adds ? in[i].sum[k] : in[i].most[k - GPU_SUMS];
        a = adds ? warp_sum(a) : warp_most(a);
        if (threadIdx.x % 32 == 0)
            part[threadIdx.x / 32] = a;
        __syncthreads();
        for (int w = 1; threadIdx.x == 0 && w < GPU_SORT_THREADS / 32; w++)
            a = adds ? a + part[w] : part[w] > a ? part[w] : a;
        if (threadIdx.x == 0)
            *(adds ? &out[blockIdx.x].sum[k] : &out[blockIdx.x].most[k - GPU_SUMS]) = a;
        __syncthreads();
    }
}
