/* SPDX-License-Identifier: MIT
 *
 * Grid to particles in 2-D with AVX-512, for all particles of a tile at once: each lane keeps its particle and picks
 * the nodes that it needs from registers.
 *
 * The velocities of an arena are kept as *tables*, one per component, with 16 reals per line: 12 nodes and unused
 * space. One look-up reaches 2 WIDTH reals, which are two lines of floats or one of doubles. Particles are in cell
 * order, so the base nodes of a tile are in few lines: floats mostly need one pass over the stencil, doubles two.
 */
#pragma once
#include "mpm/kernels/stencil_pencils.h"

enum {
    TABLE_LINE_BITS = 4,
    TABLE_LINE = 1 << TABLE_LINE_BITS,
    LOOK_UP_LINES = 2 * WIDTH / TABLE_LINE,
    TABLE_LINES = ARENA_SIDE + LOOK_UP_LINES - 1, /* a look-up reads beyond the last line, but no lane uses that */
};

struct velocities {
    arena nodes;
    real table[DIM + 1][TABLE_LINES * TABLE_LINE] __attribute__((aligned(64))); /* the last one: of the fourth reals */
};

NOINLINE void velocities_read(struct velocities *velocities, const mpm_group *group, const real *grid, bool fourth)
{
    const real *nodes = velocities->nodes + ARENA_SLACK;
    arena_read(velocities->nodes + ARENA_SLACK, group, grid);
    for (int i = group->first_node[0]; i <= group->last_node[0]; i++)
        UNROLL for (int first = 0; first < ARENA_SIDE; first += WIDTH) {
            wide component[4];
            vec4s_load(component, nodes + 4 * (i * ARENA_SIDE + first));
            UNROLL for (int b = 0; b < DIM; b++)
                wide_store(&velocities->table[b][i * TABLE_LINE + first], wide_in_cell_order(component[b]));
            if (fourth)
                wide_store(&velocities->table[DIM][i * TABLE_LINE + first], wide_in_cell_order(component[3]));
        }
}

/* Sums over the stencil, for particles whose base nodes are in the LOOK_UP_LINES lines that begin at `first`. `place`
 * is the index of the base node, counted from line `first`. Results of other particles are meaningless. */
INLINE void gather_pass(const struct velocities *velocities, int first, wide_int place, const wide across[3],
                        const wide along[3], wide v[DIM], wide moment[DIM][DIM])
{
    const wide_int places[3] = {place, place + wide_int_set(1), place + wide_int_set(2)};
    UNROLL for (int b = 0; b < DIM; b++) {
        wide value[3], slope[3]; /* by line: the sums of the values and of the first moments */
        UNROLL for (int i = 0; i < 3; i++) {
            const real *line = &velocities->table[b][(first + i) * TABLE_LINE];
            const wide low = wide_load(line), high = wide_load(line + WIDTH);
            const wide before = along[0] * wide_look_up(low, high, places[0]);
            const wide after = along[2] * wide_look_up(low, high, places[2]);
            value[i] = wide_fma(along[1], wide_look_up(low, high, places[1]), before + after);
            slope[i] = after - before;
        }
        const wide before = across[0] * value[0], after = across[2] * value[2];
        v[b] = wide_fma(across[1], value[1], before + after);
        moment[0][b] = after - before;
        moment[1][b] = wide_fma(across[2], slope[2], wide_fma(across[1], slope[1], across[0] * slope[0]));
    }
}

/* The sum of the fourth reals alone. */
INLINE wide gather_fourth(const struct velocities *velocities, int first, wide_int place, const wide across[3],
                          const wide along[3])
{
    const wide_int places[3] = {place, place + wide_int_set(1), place + wide_int_set(2)};
    wide sum = wide_set(0);
    UNROLL for (int i = 0; i < 3; i++) {
        const real *line = &velocities->table[DIM][(first + i) * TABLE_LINE];
        const wide low = wide_load(line), high = wide_load(line + WIDTH);
        wide value = along[0] * wide_look_up(low, high, places[0]);
        value = wide_fma(along[1], wide_look_up(low, high, places[1]), value);
        value = wide_fma(along[2], wide_look_up(low, high, places[2]), value);
        sum = wide_fma(across[i], value, sum);
    }
    return sum;
}

/* `x`: in cells from the block's first node. `middle`: particle minus the origin node of the moments, in cells.
 * `fourth`: the sum of the fourth reals, if it was read; or NULL. */
INLINE void stencil_gather(struct velocities *velocities, const wide x[DIM], wide v[DIM], wide moment[DIM][DIM],
                           wide middle[DIM], wide *fourth)
{
    const wide zero = wide_set(0);
    wide weight[DIM][3], first[DIM];
    UNROLL for (int a = 0; a < DIM; a++) {
        v[a] = moment[a][0] = moment[a][1] = zero;
        first[a] = arena_first(quadratic_weights(x[a], weight[a], &middle[a]));
    }
    if (fourth)
        *fourth = zero;
    const wide_int column = wide_to_int(first[1]);
    mask left = mask_all();
    do {
        const real lowest = wide_least_of(left, first[0]);
        const wide line = first[0] - wide_set(lowest);
        const mask now = left & wide_less(line, wide_set(LOOK_UP_LINES));
        const wide_int place = wide_int_shift_left(wide_to_int(line), TABLE_LINE_BITS) + column;
        wide new_v[DIM], new_moment[DIM][DIM];
        gather_pass(velocities, (int)lowest, place, weight[0], weight[1], new_v, new_moment);
        UNROLL for (int b = 0; b < DIM; b++) {
            v[b] = wide_select(now, new_v[b], v[b]);
            UNROLL for (int a = 0; a < DIM; a++)
                moment[a][b] = wide_select(now, new_moment[a][b], moment[a][b]);
        }
        if (fourth)
            *fourth =
                wide_select(now, gather_fourth(velocities, (int)lowest, place, weight[0], weight[1]), *fourth);
        left &= mask_not(now);
    } while (__builtin_expect(mask_any(left), 0));
}
