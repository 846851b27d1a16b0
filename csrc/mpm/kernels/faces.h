/* SPDX-License-Identifier: MIT
 *
 * Faces of cracks: the side on which a particle is at each node near a crack, and transfers by side (M. A. Homel, E. B.
 * Herbold, Int. J. Numer. Methods Eng. 109 (2017) 1013). Nodes with broken particles around them have an axis d_i
 * (faces.c); where grad D_p . d_i < 0, the particle takes part in the second velocity field of the node, whose blocks
 * are those of the next layer. Most particles are on the first side at all of their nodes, and the transfers of whole
 * tiles serve them. The others go node by node.
 */
#pragma once
#include "mpm/kernels/nodes.h"
#include "mpm/kernels/stencil_any.h"

/* Where the damage's gradient times h is shorter, it may be rounding. */
#define LEAST_GRADIENT ((real)1e-4)

/* What tells the sides of a group's particles, and those of a tile. */
struct sides {
    arena damage, axis;
    bool exist;             /* else all particles of the group are on the first side */
    uint64_t second[WIDTH]; /* the nodes at which a particle is on the second side, one bit each; by lane */
};

/* The group with the blocks of the second field in place of those of the first. */
INLINE mpm_group second_field(const mpm_group *group)
{
    mpm_group second = *group;
    memcpy(second.node_block, group->face_block, sizeof second.node_block);
    memcpy(second.copy, group->face_copy, sizeof second.copy);
    return second;
}

INLINE bool is_near_crack(const mpm_grid *grid, const mpm_group *group)
{
    bool any = false;
    for (int k = 0; k < (DIM == 3 ? 27 : 9); k++)
        any |= group->node_block[k] >= 0 && is_cracked(grid, group->node_block[k]);
    return any;
}

INLINE void read_sides(const mpm_sweep *sweep, const mpm_group *group, struct sides *sides)
{
    sides->exist = sweep->scheme.faces && is_near_crack(sweep->grid, group);
    if (!sides->exist)
        return;
    arena_read(sides->damage + ARENA_SLACK, group, sweep->grid->field[MPM_GRID_DAMAGE]);
    arena_read(sides->axis + ARENA_SLACK, group, sweep->grid->field[MPM_GRID_AXIS]);
}

INLINE void read_second_field(const mpm_group *group, real *arena, const void *field)
{
    const mpm_group second = second_field(group);
    arena_read(arena + ARENA_SLACK, &second, field);
}

INLINE void add_second_field(const mpm_group *group, real *arena, void *copies)
{
    const mpm_group second = second_field(group);
    arena_add(arena + ARENA_SLACK, &second, copies);
}

/* Runs `body` for the nodes (i, k, j) of the stencil of particle p, in lane q: n counts them, `at` is the place in the
 * arena, w the weight across pencils. */
#define FOR_NODES(s, p, q, degree, body) \
    for (int i = 0; i <= (degree); i++) \
        for (int k = 0; k <= (DIM == 3 ? (degree) : 0); k++) \
            for (int j = 0; j < MOST_NODES; j++) { \
                const int n = (i * (DIM == 3 ? MOST_NODES : 1) + k) * MOST_NODES + j; \
                const ptrdiff_t at = (s)->offset[q] + part_position(i, k, 0) + 4 * j; \
                body \
            }

/* Finds the sides of a tile. Returns whether a particle is on the second one anywhere. The stencil is prepared; its
 * sums are overwritten. */
NOINLINE bool find_sides(struct sides *sides, struct stencil *s, int degree)
{
    bool any = false;
    stencil_gather(s, sides->damage + ARENA_SLACK, NULL, degree, WANT_SLOPE);
    for (int p = 0; p < WIDTH; p++) {
        const int q = lane_of(p);
        real gradient[DIM], square = 0;
        sides->second[q] = 0;
        for (int a = 0; a < DIM; a++) {
            gradient[a] = s->sums[1 + DIM + a][0][q];
            square += gradient[a] * gradient[a];
        }
        if (!(square > LEAST_GRADIENT * LEAST_GRADIENT))
            continue;
        const real *axes = sides->axis + ARENA_SLACK;
        FOR_NODES(s, p, q, degree, {
            real along = 0;
            for (int a = 0; a < DIM; a++)
                along += gradient[a] * axes[at + a];
            sides->second[q] |= (uint64_t)(along < 0) << n;
        })
        any |= sides->second[q] != 0;
    }
    return any;
}

/* Weight and slopes of a node of a stencil. */
struct node_weights {
    real w, slope[DIM], k[DIM];
};

INLINE struct node_weights weights_at(const struct stencil *s, int p, int q, int i, int k, int j)
{
    const real first = s->weight[0][i][q], second = DIM == 3 ? s->weight[ACROSS - 1][k][q] : 1;
    const real along = s->along[p][j];
    struct node_weights n = {.w = first * second * along};
    n.slope[0] = s->slope[0][i][q] * second * along;
    n.k[0] = (real)i;
    if (DIM == 3) {
        n.slope[ACROSS - 1] = first * s->slope[ACROSS - 1][k][q] * along;
        n.k[ACROSS - 1] = (real)k;
    }
    n.slope[DIM - 1] = first * second * s->along_slope[p][j];
    n.k[DIM - 1] = (real)j;
    return n;
}

/* Gathers anew what stencil_gather has gathered for the particles of the second side. The arenas are those of the two
 * fields; `second` is NULL, or the arenas of the second vector. */
NOINLINE void gather_sides(const struct sides *sides, struct stencil *s, real *const arenas[2], real *const second[2],
                           int degree, unsigned wanted)
{
    for (int p = 0; p < WIDTH; p++) {
        const int q = lane_of(p);
        if (!sides->second[q])
            continue;
        node4 sums[SUMS + 1] = {{0}};
        FOR_NODES(s, p, q, degree, {
            const int side = sides->second[q] >> n & 1;
            const struct node_weights of = weights_at(s, p, q, i, k, j);
            const node4 v = *(const node4 *)(arenas[side] + at);
            sums[0] += of.w * v;
            for (int a = 0; a < DIM; a++) {
                sums[1 + a] += of.w * of.k[a] * v;
                sums[1 + DIM + a] += of.slope[a] * v;
            }
            if (wanted & WANT_SECOND)
                sums[SUMS] += of.w * *(const node4 *)(second[side] + at);
        })
        for (int which = 0; which <= SUMS; which++)
            for (int b = 0; b < 4 && is_wanted(which, wanted); b++)
                s->sums[which][b][q] = sums[which][b];
    }
}

/* As stencil_scatter, to the arenas of the two fields. The sides are found. */
NOINLINE void scatter_sides(const struct sides *sides, struct stencil *s, real *const arenas[2], int count, int degree,
                            const struct deposit *deposit)
{
    const unsigned parts = parts_of(deposit);
    put_vec4s(s, 0, deposit);
    for (int p = 0; p < count; p++) {
        const int q = lane_of(p);
        if (!sides->second[q])
            continue;
        node4 *quantity[SUMS];
        for (int which = 0; which < SUMS; which++)
            quantity[which] = (node4 *)(&s->sums[which][0][0] + 4 * p);
        FOR_NODES(s, p, q, degree, {
            const struct node_weights of = weights_at(s, p, q, i, k, j);
            node4 sum = of.w * *quantity[0];
            for (int a = 0; a < DIM && (parts & WANT_MOMENT); a++)
                sum += of.w * of.k[a] * *quantity[1 + a];
            for (int a = 0; a < DIM && (parts & WANT_SLOPE); a++)
                sum += of.slope[a] * *quantity[1 + DIM + a];
            *(node4 *)(arenas[sides->second[q] >> n & 1] + at) += sum;
        })
        for (int which = 0; which < SUMS; which++) /* the tile's transfer leaves it out */
            if (is_wanted(which, parts))
                *quantity[which] = (node4){0};
    }
    scatter_sums(s, arenas[0], count, degree, parts);
}

/* Scatters a deposit to the fields of its sides. The stencil is prepared. */
INLINE void scatter_by_side(struct sides *sides, struct stencil *s, real *first, real *second, int count, int degree,
                            const struct deposit *deposit)
{
    real *const arenas[2] = {first + ARENA_SLACK, second + ARENA_SLACK};
    if (__builtin_expect(sides->exist, 0) && find_sides(sides, s, degree))
        scatter_sides(sides, s, arenas, count, degree, deposit);
    else
        stencil_scatter(s, arenas[0], count, degree, deposit);
}

/* As stencil_gather of one field. The stencil is prepared. */
INLINE void gather_by_side(struct sides *sides, struct stencil *s, real *first, real *second, int degree,
                           unsigned wanted)
{
    real *const arenas[2] = {first + ARENA_SLACK, second + ARENA_SLACK};
    const bool sided = __builtin_expect(sides->exist, 0) && find_sides(sides, s, degree);
    stencil_gather(s, arenas[0], NULL, degree, wanted);
    if (sided)
        gather_sides(sides, s, arenas, NULL, degree, wanted);
}
