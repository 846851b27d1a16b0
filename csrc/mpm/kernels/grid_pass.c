/* SPDX-License-Identifier: MIT
 *
 * The grid pass, one block of nodes at a time:
 *
 *     m, p = sum of the tasks' copies, in task order
 *     v = p/m + dt g,  then colliders and walls, all contacts of a node at once (contact/contacts.h);
 *     the momentum that they change is their impulse on the material
 *
 * Split schemes (scheme.h) collect p and dt f separately: v^n = p/m.
 *
 * Blocks with images (mirror and periodic faces) need two passes with a barrier between them: all blocks are summed
 * before the first is folded.
 */
#include <math.h>

#include "contact/collision.h"
#include "mpm/kernels/collide.h"
#include "mpm/kernels/fold.h"
#include "mpm/kernels/nodes.h"

/* Turns momentum into velocity and adds dt g. Nodes without mass get velocity 0. The mass stays in the fourth real. */
INLINE void to_velocity(real *node, const real gravity[4])
{
#if defined(MPM_ONE_LANE)
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4) {
        const real m = node[n + 3];
        for (int a = 0; a < DIM; a++)
            node[n + a] = m > 0 ? node[n + a] / m + gravity[a] : 0;
    }
#else
    real pattern[WIDTH] __attribute__((aligned(64))), is_mass[WIDTH] __attribute__((aligned(64)));
    for (int q = 0; q < WIDTH; q++) {
        pattern[q] = gravity[q % 4];
        is_mass[q] = q % 4 == 3;
    }
    const wide g = wide_load(pattern), zero = wide_set(0);
    const mask in_mass = wide_less(zero, wide_load(is_mass));
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += WIDTH) {
        const wide p = wide_load(node + n), m = part_mass(p);
        const mask active = wide_less(zero, m);
        const wide v = wide_select(active, p / wide_select(active, m, wide_set(1)) + g, zero);
        wide_store(node + n, wide_select(in_mass, m, v));
    }
#endif
}

INLINE void touch_walls(real v[4], const int64_t at[DIM], const mpm_grid_pass *pass)
{
    double w[3] = {0};
    for (int a = 0; a < DIM; a++)
        w[a] = (double)v[a];
    mpm_collision_apply_walls(w, pass->walls, faces_that_hold(at, pass->walls, pass->cells));
    for (int a = 0; a < DIM; a++)
        v[a] = (real)w[a];
}

/* Returns the nodes that colliders hold, one bit each; the walls there have acted beside them. */
NOINLINE uint64_t apply_colliders(real *node, const mpm_node_block *block, const mpm_grid_pass *pass, ptrdiff_t b)
{
    mpm_faces faces = MPM_KERNEL(collide_faces)(&pass->colliders, pass->walls, pass->cells);
    uint64_t touched = 0;
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        int64_t at[DIM];
        if (!(node[4 * n + 3] > 0))
            continue;
        node_coordinates(block, n, at);
        faces.held = faces_that_hold(at, pass->walls, pass->cells);
        touched |= (uint64_t)MPM_KERNEL(collide_node)(&pass->colliders, b, at, at, NULL, &faces, node[4 * n + 3],
                                                      node + 4 * n, pass->reports[b].impulse)
                   << n;
    }
    return touched;
}

NOINLINE void apply_walls(real *node, const mpm_node_block *block, const mpm_grid_pass *pass, uint64_t at_walls,
                          double impulse[3])
{
    for (; at_walls; at_walls &= at_walls - 1) {
        const int n = __builtin_ctzll(at_walls);
        real *v = node + 4 * n;
        const real m = v[3], before[3] = {v[0], v[1], v[2]};
        int64_t at[DIM];
        if (!(m > 0))
            continue;
        node_coordinates(block, n, at);
        touch_walls(v, at, pass);
        for (int a = 0; a < DIM; a++)
            impulse[a] += (double)m * ((double)v[a] - (double)before[a]);
    }
}

/* The mass of a node together with its images. A node on a plane of symmetry is its own image and counts twice. */
static real whole_mass(real folded, const mpm_image_node *image)
{
    return image ? folded * (real)(1 << __builtin_popcount(image->planes)) : folded;
}

/* Applies colliders (if `near`) and walls to a block with velocities in the frame of the domain, then restores the
 * frame and the mass of each image. Across a mirror, the wall's impulse is the momentum that a node gains beyond
 * gravity and other contacts. Along other axes, images only exchange momentum; the sum is zero and is not reported. */
NOINLINE void unfold_block(real *node, const real *raw, const mpm_node_block *block, const mpm_grid_pass *pass,
                           ptrdiff_t b, bool near)
{
    double *impulse = pass->reports[b].impulse;
    const mpm_images *images = &pass->grid->images;
    const mpm_image_node *next = images->nodes + images->first_node[block->fold];
    const mpm_image_node *end = images->nodes + images->first_node[block->fold + 1];
    mpm_faces faces = MPM_KERNEL(collide_faces)(&pass->colliders, pass->walls, pass->cells);
    for (int n = 0; n < MPM_BLOCK_NODES; n++) {
        real *v = node + 4 * n;
        const real *momentum = fold_vec4(raw, block->fold, n);
        const mpm_image_node *image = next < end && next->node == n ? next++ : NULL;
        real before[DIM], pushed[DIM] = {0};
        int64_t at[DIM], own[DIM];
        node_coordinates(block, n, own);
        memcpy(at, own, sizeof at);
        for (int a = 0; image && a < DIM; a++) {
            at[a] = image->at[a];
            v[a] = image->planes >> a & 1 ? 0 : v[a]; /* no gravity across a plane of symmetry */
        }
        bool touched = false;
        if (near && momentum[3] > 0) {
            memcpy(before, v, sizeof before);
            faces.held = faces_that_hold(at, pass->walls, pass->cells);
            touched = MPM_KERNEL(collide_node)(&pass->colliders, b, at, own, image, &faces, momentum[3], v,
                                               impulse);
            for (int a = 0; a < DIM; a++) {
                pushed[a] = v[a] - before[a];
                v[a] = image && image->planes >> a & 1 ? 0 : v[a]; /* the collider's own image pushes back */
            }
        }
        memcpy(before, v, sizeof before);
        if (v[3] > 0 && !touched)
            touch_walls(v, at, pass);
        if (image) {
            unfold_vector(v, image);
            unfold_vector(pushed, image);
        }
        const real m = momentum[3];
        v[3] = pass->stage == MPM_GRID_DENSITY ? whole_mass(v[3], image) : m;
        if (!(m > 0))
            continue;
        for (int a = 0; a < DIM; a++)
            impulse[a] += image && image->normals >> a & 1
                              ? (double)m * ((double)v[a] - (double)pushed[a] - pass->dt * pass->gravity[a]) -
                                    (double)momentum[a]
                              : (double)m * ((double)v[a] - (double)before[a]);
    }
}

/* Reports the extremes of the velocity components over the nodes that have mass; a value that is not finite makes the
 * speed infinite. With the linear kernel, a node of weight 0 has a gradient, and its velocity, 0, counts. */
INLINE void report_motion(const real *node, bool linear, mpm_block_report *report)
{
    const real most = linear ? 0 : (real)INFINITY;
    real low[4] = {most, most, most, most}, high[4] = {-most, -most, -most, -most};
    bool finite = true;
#if defined(MPM_ONE_LANE)
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n++) {
        const real v = node[n];
        finite &= v - v == 0;
        if (!(node[n | 3] > 0))
            continue;
        low[n % 4] = v < low[n % 4] ? v : low[n % 4];
        high[n % 4] = v > high[n % 4] ? v : high[n % 4];
    }
#else
    const wide zero = wide_set(0);
    wide lowest = wide_set(most), highest = wide_set(-most), defect = zero;
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += WIDTH) {
        const wide v = wide_load(node + n);
        const mask active = wide_less(zero, part_mass(v));
        lowest = wide_select(active, wide_min(v, lowest), lowest);
        highest = wide_select(active, wide_max(v, highest), highest);
        defect += v - v; /* NaN from the first value that is not finite */
    }
    finite = !mask_any(mask_not(wide_less_equal(wide_abs(defect), zero)));
    for (int q = 0; q < WIDTH; q++) {
        const real l = wide_lane(lowest, q), h = wide_lane(highest, q);
        low[q % 4] = l < low[q % 4] ? l : low[q % 4];
        high[q % 4] = h > high[q % 4] ? h : high[q % 4];
    }
#endif
    report->speed = finite ? 0 : (double)INFINITY;
    for (int a = 0; a < DIM; a++) {
        report->lowest[a] = (double)low[a];
        report->highest[a] = (double)high[a];
        const double largest = (double)(high[a] > -low[a] ? high[a] : -low[a]);
        report->speed = report->speed > largest ? report->speed : largest;
    }
}

static const real no_gravity[4] = {0};

static real *nodes_of(const mpm_grid_pass *pass, mpm_grid_field vector, ptrdiff_t b)
{
    return field_nodes(pass->grid, vector, b);
}

/* node += dt f */
static void add_forces(real *node, const mpm_grid *grid, const mpm_node_block *block)
{
    real impulse[4 * MPM_BLOCK_NODES] __attribute__((aligned(64)));
    sum_copies(impulse, grid, block, grid->copies[MPM_GRID_IMPULSE]);
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += WIDTH)
        wide_store(node + n, wide_load(node + n) + wide_load(impulse + n));
}

static void copy_block(real *to, const real *from)
{
    memcpy(to, from, 4 * MPM_BLOCK_NODES * sizeof(real));
}

/* XPIC: particles take v~ + sum of v_k, k = 1 ... m - 1, with v_0 = v^n. */
static void begin_filter(const mpm_grid_pass *pass, ptrdiff_t b)
{
    copy_block(nodes_of(pass, MPM_GRID_FILTERED, b), nodes_of(pass, MPM_GRID_BEFORE, b));
    copy_block(nodes_of(pass, MPM_GRID_BEFORE, b), nodes_of(pass, MPM_GRID_VELOCITY, b));
}

/* XPIC's filter conserves momentum except at a mirror; its wall gets the difference as impulse. */
static void add_filter_impulse(const mpm_grid_pass *pass, ptrdiff_t b, double impulse[3])
{
    const real *node = nodes_of(pass, MPM_GRID_VELOCITY, b), *taken = nodes_of(pass, MPM_GRID_BEFORE, b);
    for (int a = 0; a < DIM; a++) {
        if (pass->walls[2 * a].contact != MPM_MIRROR && pass->walls[2 * a + 1].contact != MPM_MIRROR)
            continue;
        for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += 4)
            impulse[a] += (double)node[n + 3] * ((double)taken[n + a] - (double)node[n + a]);
    }
}

/* Adds the next v_k = v_(k-1) - S+ S v_(k-1), where `seen` holds S+ S v_(k-1). */
static void continue_filter(const mpm_grid_pass *pass, ptrdiff_t b, const real *seen)
{
    real *taken = nodes_of(pass, MPM_GRID_BEFORE, b), *filtered = nodes_of(pass, MPM_GRID_FILTERED, b);
    for (int n = 0; n < 4 * MPM_BLOCK_NODES; n += WIDTH) {
        const wide v = wide_load(filtered + n) - wide_load(seen + n);
        wide_store(filtered + n, v);
        wide_store(taken + n, wide_load(taken + n) + v);
    }
    if (pass->filter_step == pass->scheme.xpic_order - 1)
        add_filter_impulse(pass, b, pass->reports[b].impulse);
}

/* The FLIP term conserves momentum except at a mirror, where v^n also contains the momentum of images. The particles
 * lose a share of the difference, which the mirror gets as impulse. */
static void add_flip_impulse(const mpm_grid_pass *pass, int32_t fold, double impulse[3])
{
    const mpm_images *images = &pass->grid->images;
    const real *before = nodes_of(pass, MPM_GRID_BEFORE, images->blocks[fold]);
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++) {
        const mpm_image_node *node = &images->nodes[i];
        const real *raw = fold_vec4(pass->grid->raw[MPM_GRID_BEFORE], fold, node->node);
        for (int a = 0; a < DIM; a++)
            if (node->normals >> a & 1)
                impulse[a] -= pass->scheme.flip_ratio *
                              ((double)raw[3] * (double)before[4 * node->node + a] - (double)raw[a]);
    }
}

/* Reports the velocities of a block, from which the step is checked. */
static void report_block(const mpm_grid_pass *pass, ptrdiff_t b, double collider_speed)
{
    mpm_block_report *report = &pass->reports[b];
    const bool linear = pass->scheme.degree == MPM_LINEAR;
    if (mpm_scheme_is_split(&pass->scheme)) {
        report_motion(nodes_of(pass, MPM_GRID_BEFORE, b), linear, report);
        report->speed_before = report->speed;
    }
    report_motion(nodes_of(pass, MPM_GRID_VELOCITY, b), linear, report);
    report->approach = collider_speed < 0 ? 0 : report->speed + collider_speed;
}

/* A bound of the speed of the colliders near a block [m/s], -1 if there are none. */
static double begin_colliders(const mpm_grid_pass *pass, ptrdiff_t b)
{
    if (!pass->colliders.count)
        return -1;
    return MPM_KERNEL(collide_begin_nodes)(&pass->colliders, &pass->grid->blocks[b], b, pass->dt);
}

/* Applies colliders and walls to velocities on a block without images, and reports the impulse of the walls.
 * Returns the bound of the colliders' speed. */
static double apply_contact(real *node, const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_node_block *block = &pass->grid->blocks[b];
    const double collider_speed = begin_colliders(pass, b);
    const uint64_t touched = collider_speed >= 0 ? apply_colliders(node, block, pass, b) : 0;
    const uint64_t at_walls = nodes_at_walls(block, pass->cells) & ~touched;
    if (at_walls)
        apply_walls(node, block, pass, at_walls, pass->reports[b].impulse);
    return collider_speed;
}

static void set_gravity(real gravity[4], const mpm_grid_pass *pass)
{
    for (int a = 0; a < DIM; a++)
        gravity[a] = (real)(pass->dt * pass->gravity[a]);
    gravity[3] = 0;
}

/* Before a solve: keeps the bound of the colliders' speed, -1 if none is near, for the report after it. */
static void note_colliders(const mpm_grid_pass *pass, ptrdiff_t b)
{
    pass->reports[b].approach = begin_colliders(pass, b);
}

/* Across a mirror, the wall's impulse after a solve is the momentum that a node gains beyond gravity and forces. That
 * includes the impulse of other contacts, which held_nodes.c subtracts. */
static void add_mirror_impulse(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_images *images = &pass->grid->images;
    const int32_t fold = pass->grid->blocks[b].fold;
    const real *velocity = nodes_of(pass, MPM_GRID_VELOCITY, b);
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++) {
        const mpm_image_node *node = &images->nodes[i];
        const real *momentum = fold_vec4(pass->grid->raw[MPM_GRID_VELOCITY], fold, node->node);
        const real *impulse = fold_vec4(pass->grid->raw[MPM_GRID_FORCES], fold, node->node);
        const real *v = velocity + 4 * node->node;
        for (int a = 0; a < DIM; a++) {
            double given = (double)momentum[a] + (double)impulse[a];
            if (pass->scheme.midpoint) /* the forces acted for half a step */
                given += given - (double)fold_vec4(pass->grid->raw[MPM_GRID_BEFORE], fold, node->node)[a];
            if (node->normals >> a & 1)
                pass->reports[b].impulse[a] +=
                    (double)momentum[3] * ((double)v[a] - pass->dt * pass->gravity[a]) - given;
        }
    }
}

static void step_block(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const mpm_node_block *block = &grid->blocks[b];
    const bool split = mpm_scheme_is_split(&pass->scheme), folded = block->fold >= 0;
    real *node = field_sums(grid, MPM_GRID_VELOCITY, b);
    real gravity[4] = {0};
    pass->reports[b] = (mpm_block_report){0};
    sum_copies(node, grid, block, grid->copies[MPM_GRID_VELOCITY]);
    if (split) {
        copy_block(field_sums(grid, MPM_GRID_BEFORE, b), node);
        add_forces(node, grid, block);
    }
    if (folded) /* grid_pass_fold continues after the barrier */
        return;
    if (split)
        to_velocity(nodes_of(pass, MPM_GRID_BEFORE, b), no_gravity);
    set_gravity(gravity, pass);
    to_velocity(node, gravity);
    if (pass->stage == MPM_GRID_FREE) {
        note_colliders(pass, b);
        return;
    }
    const double collider_speed = apply_contact(node, pass, b);
    report_block(pass, b, collider_speed);
    if (pass->scheme.transfer == MPM_XPIC)
        begin_filter(pass, b);
}

/* After a solve, the reports of the pass hold the impulse of the walls and the speed of the near colliders. */
static void finish_block(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const int32_t fold = pass->grid->blocks[b].fold;
    if (fold >= 0)
        add_mirror_impulse(pass, b);
    if (fold >= 0 && mpm_scheme_is_flip(&pass->scheme))
        add_flip_impulse(pass, fold, pass->reports[b].impulse);
    report_block(pass, b, pass->reports[b].approach);
    if (pass->scheme.transfer == MPM_XPIC)
        begin_filter(pass, b);
}

static void filter_block(const mpm_grid_pass *pass, ptrdiff_t b)
{
    const mpm_grid *grid = pass->grid;
    const mpm_node_block *block = &grid->blocks[b];
    const bool folded = block->fold >= 0;
    real own[4 * MPM_BLOCK_NODES] __attribute__((aligned(64)));
    real *seen = folded ? field_sums(grid, MPM_GRID_FILTERED, b) : own;
    sum_copies(seen, grid, block, grid->copies[MPM_GRID_FILTERED]);
    if (folded)
        return;
    to_velocity(seen, no_gravity);
    continue_filter(pass, b, seen);
}

void MPM_KERNEL(grid_pass_block)(const mpm_grid_pass *pass, ptrdiff_t b)
{
    if (pass->stage == MPM_GRID_FINISH)
        finish_block(pass, b);
    else if (pass->stage == MPM_GRID_FILTER)
        filter_block(pass, b);
    else
        step_block(pass, b);
}

/* Computes the velocities of a block from folded momentum, without forces or walls. */
static void fold_free(real *node, const mpm_grid *grid, mpm_grid_field field, int32_t fold)
{
    const mpm_images *images = &grid->images;
    fold_block(node, grid, field, fold);
    to_velocity(node, no_gravity);
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++)
        unfold_vector(node + 4 * images->nodes[i].node, &images->nodes[i]);
}

/* Before a solve: gives velocities without contact to the images; nodes keep their own mass. */
static void unfold_free(real *node, const mpm_grid_pass *pass, int32_t fold)
{
    const mpm_images *images = &pass->grid->images;
    for (int32_t i = images->first_node[fold]; i < images->first_node[fold + 1]; i++) {
        const mpm_image_node *image = &images->nodes[i];
        real *v = node + 4 * image->node;
        for (int a = 0; a < DIM; a++)
            v[a] = image->planes >> a & 1 ? 0 : v[a]; /* no gravity across a plane of symmetry */
        unfold_vector(v, image);
    }
    for (int n = 0; n < MPM_BLOCK_NODES; n++)
        node[4 * n + 3] = fold_vec4(pass->grid->raw[MPM_GRID_VELOCITY], fold, n)[3];
    if (mpm_scheme_is_split(&pass->scheme))
        fold_free(nodes_of(pass, MPM_GRID_BEFORE, images->blocks[fold]), pass->grid, MPM_GRID_BEFORE, fold);
}

static void step_fold(const mpm_grid_pass *pass, ptrdiff_t fold)
{
    const mpm_grid *grid = pass->grid;
    const mpm_images *images = &grid->images;
    const int32_t b = images->blocks[fold];
    if (pass->stage == MPM_GRID_FILTER) {
        real seen[4 * MPM_BLOCK_NODES] __attribute__((aligned(64)));
        fold_free(seen, grid, MPM_GRID_FILTERED, (int32_t)fold);
        continue_filter(pass, b, seen);
        return;
    }
    real *node = nodes_of(pass, MPM_GRID_VELOCITY, b), gravity[4] = {0};
    set_gravity(gravity, pass);
    fold_block(node, grid, MPM_GRID_VELOCITY, (int32_t)fold);
    to_velocity(node, gravity);
    if (pass->stage == MPM_GRID_FREE) {
        unfold_free(node, pass, (int32_t)fold);
        note_colliders(pass, b);
        return;
    }
    const double collider_speed = begin_colliders(pass, b);
    unfold_block(node, grid->raw[MPM_GRID_VELOCITY], &grid->blocks[b], pass, b, collider_speed >= 0);
    if (mpm_scheme_is_split(&pass->scheme))
        fold_free(nodes_of(pass, MPM_GRID_BEFORE, b), grid, MPM_GRID_BEFORE, (int32_t)fold);
    if (mpm_scheme_is_flip(&pass->scheme))
        add_flip_impulse(pass, (int32_t)fold, pass->reports[b].impulse);
    report_block(pass, b, collider_speed);
    if (pass->scheme.transfer == MPM_XPIC)
        begin_filter(pass, b);
}

void MPM_KERNEL(grid_pass_place)(const mpm_grid_pass *pass, ptrdiff_t place)
{
    for (ptrdiff_t b = pass->grid->places[place].first, n = pass->grid->places[place].count; n > 0; b++, n--)
        if (pass->grid->blocks[b].fold >= 0)
            step_fold(pass, pass->grid->blocks[b].fold);
}
