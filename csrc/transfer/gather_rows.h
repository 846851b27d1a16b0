/* SPDX-License-Identifier: MIT
 *
 * Grid to particles by rows (stencil_rows.h): particle by particle, the sums of w v and of its first moments.
 */
#pragma once
#include "transfer/stencil_rows.h"

struct velocities {
    arena nodes;
    struct stencil stencil; /* of the tile at hand */
};

NOINLINE void velocities_read(struct velocities *velocities, const mpm_group *group, const real *grid)
{
    arena_read(velocities->nodes + ARENA_SLACK, group, grid);
}

/* Node values of the rows of the current particle. Where a row is one register they stay there while particles of the
 * same two cells follow each other. */
#define KEEP_ROWS (ROW_PARTS == 1)
struct rows {
    int32_t offset;
    wide row[ROWS][ROW_PARTS];
};

INLINE void rows_read(struct rows *rows, const real *arena, int32_t offset)
{
    if (KEEP_ROWS && __builtin_expect(offset == rows->offset, 1))
        return;
    rows->offset = offset;
    UNROLL for (int r = 0; r < ROWS; r++)
        UNROLL for (int j = 0; j < ROW_PARTS; j++)
            rows->row[r][j] = wide_load_any(arena + offset + row_position(r) + j * WIDTH);
}

/* Particle p, which is in lane q: the sums over rows of the node values and of their first moments, by adds where i, j
 * are +-1. */
INLINE void gather_one(struct stencil *s, struct rows *rows, const real *arena, int p, int q, wide sum[1 + DIM])
{
    rows_read(rows, arena, s->offset[q]);
    UNROLL for (int j = 0; j < ROW_PARTS; j++) {
#define ROW(r) rows->row[r][j]
#define WEIGHT(r) wide_set(s->across[r][q])
        const wide along = row_weights(s->along[p], j);
        wide value[1 + DIM];
#if DIM == 3
        const wide pp = WEIGHT(8) * ROW(8), pm = WEIGHT(6) * ROW(6); /* (i, j) = (+, +), (+, -) */
        const wide mp = WEIGHT(2) * ROW(2), mm = WEIGHT(0) * ROW(0);
        const wide zp = WEIGHT(5) * ROW(5), zm = WEIGHT(3) * ROW(3);
        const wide plus = wide_fma(WEIGHT(7), ROW(7), pp + pm), minus = wide_fma(WEIGHT(1), ROW(1), mp + mm);
        value[0] = wide_fma(WEIGHT(4), ROW(4), (plus + minus) + (zp + zm)) * along;
        value[1] = (plus - minus) * along;
        value[2] = (((pp - pm) + (mp - mm)) + (zp - zm)) * along;
#else
        const wide plus = WEIGHT(2) * ROW(2), minus = WEIGHT(0) * ROW(0);
        value[0] = wide_fma(WEIGHT(1), ROW(1), plus + minus) * along;
        value[1] = (plus - minus) * along;
#endif
#undef WEIGHT
#undef ROW
        value[DIM] = value[0] * row_nodes(j);
        UNROLL for (int k = 0; k < 1 + DIM; k++)
            if (j == 0)
                sum[k] = value[k];
            else
                sum[k] += value[k];
    }
}

/* `x` in cells from the block's first node; `middle`: particle minus the node from which moments count, in cells. */
INLINE void stencil_gather(struct velocities *velocities, const wide x[DIM], wide v[DIM], wide moment[DIM][DIM],
                           wide middle[DIM])
{
    struct stencil *s = &velocities->stencil;
    const real *arena = velocities->nodes + ARENA_SLACK;
    struct rows rows = {.offset = NO_ROWS};
    stencil_prepare(s, x);
    UNROLL for (int a = 0; a < DIM; a++)
        middle[a] = s->middle[a];
    for (int p = 0; p < WIDTH; p += TOGETHER) {
        wide sum[1 + DIM][TOGETHER];
        UNROLL for (int i = 0; i < TOGETHER; i++) {
            wide one[1 + DIM];
            gather_one(s, &rows, arena, p + i, lane_together(p, i), one);
            UNROLL for (int k = 0; k < 1 + DIM; k++)
                sum[k][i] = one[k];
        }
        UNROLL for (int k = 0; k < 1 + DIM; k++)
            row_sums(s->quantity[k][p], sum[k]);
    }
    UNROLL for (int k = 0; k < 1 + DIM; k++) {
        wide component[4];
        records_load(component, &s->quantity[k][0][0]);
        UNROLL for (int b = 0; b < DIM; b++)
            if (k == 0)
                v[b] = component[b];
            else
                moment[k - 1][b] = component[b];
    }
}
