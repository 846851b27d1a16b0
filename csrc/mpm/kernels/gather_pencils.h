/* SPDX-License-Identifier: MIT
 *
 * Grid to particles by pencils (stencil_pencils.h). For each particle, it sums w v and its first moments.
 */
#pragma once
#include "mpm/kernels/stencil_pencils.h"

struct velocities {
    arena nodes;
    struct stencil stencil; /* of the tile at hand */
};

NOINLINE void velocities_read(struct velocities *velocities, const mpm_group *group, const real *grid, bool fourth)
{
    (void)fourth;
    arena_read(velocities->nodes + ARENA_SLACK, group, grid);
}

/* Node values of the current particle's pencils. Where a pencil fits one register, consecutive particles of the same
 * two cells reuse the values that the registers hold. */
#define KEEP_PENCILS (PENCIL_PARTS == 1)
struct pencils {
    int32_t offset;
    wide pencil[PENCILS][PENCIL_PARTS];
};

INLINE void pencils_read(struct pencils *pencils, const real *arena, int32_t offset)
{
    if (KEEP_PENCILS && __builtin_expect(offset == pencils->offset, 1))
        return;
    pencils->offset = offset;
    UNROLL for (int r = 0; r < PENCILS; r++)
        UNROLL for (int j = 0; j < PENCIL_PARTS; j++)
            pencils->pencil[r][j] = wide_load_any(arena + offset + pencil_position(r) + j * WIDTH);
}

/* Sums node values and their first moments over the pencils of particle p, which is in lane q. The factors i, j = +-1
 * need only additions. */
INLINE void gather_one(struct stencil *s, struct pencils *pencils, const real *arena, int p, int q, wide sum[1 + DIM])
{
    pencils_read(pencils, arena, s->offset[q]);
    UNROLL for (int j = 0; j < PENCIL_PARTS; j++) {
#define PENCIL(r) pencils->pencil[r][j]
#define WEIGHT(r) wide_set(s->across[r][q])
        const wide along = pencil_weights(s->along[p], j);
        wide value[1 + DIM];
#if DIM == 3
        const wide pp = WEIGHT(8) * PENCIL(8), pm = WEIGHT(6) * PENCIL(6); /* (i, j) = (+, +), (+, -) */
        const wide mp = WEIGHT(2) * PENCIL(2), mm = WEIGHT(0) * PENCIL(0);
        const wide zp = WEIGHT(5) * PENCIL(5), zm = WEIGHT(3) * PENCIL(3);
        const wide plus = wide_fma(WEIGHT(7), PENCIL(7), pp + pm), minus = wide_fma(WEIGHT(1), PENCIL(1), mp + mm);
        value[0] = wide_fma(WEIGHT(4), PENCIL(4), (plus + minus) + (zp + zm)) * along;
        value[1] = (plus - minus) * along;
        value[2] = (((pp - pm) + (mp - mm)) + (zp - zm)) * along;
#else
        const wide plus = WEIGHT(2) * PENCIL(2), minus = WEIGHT(0) * PENCIL(0);
        value[0] = wide_fma(WEIGHT(1), PENCIL(1), plus + minus) * along;
        value[1] = (plus - minus) * along;
#endif
#undef WEIGHT
#undef PENCIL
        value[DIM] = value[0] * pencil_nodes(j);
        UNROLL for (int k = 0; k < 1 + DIM; k++)
            if (j == 0)
                sum[k] = value[k];
            else
                sum[k] += value[k];
    }
}

/* `x`: in cells from the block's first node. `middle`: particle minus the origin node of the moments, in cells.
 * `fourth`: the sum of the fourth reals, if it was read; or NULL. */
INLINE void stencil_gather(struct velocities *velocities, const wide x[DIM], wide v[DIM], wide moment[DIM][DIM],
                           wide middle[DIM], wide *fourth)
{
    struct stencil *s = &velocities->stencil;
    const real *arena = velocities->nodes + ARENA_SLACK;
    struct pencils pencils = {.offset = NO_OFFSET};
    stencil_prepare(s, x);
    UNROLL for (int a = 0; a < DIM; a++)
        middle[a] = s->middle[a];
    for (int p = 0; p < WIDTH; p += TOGETHER) {
        wide sum[1 + DIM][TOGETHER];
        UNROLL for (int i = 0; i < TOGETHER; i++) {
            wide one[1 + DIM];
            gather_one(s, &pencils, arena, p + i, lane_together(p, i), one);
            UNROLL for (int k = 0; k < 1 + DIM; k++)
                sum[k][i] = one[k];
        }
        UNROLL for (int k = 0; k < 1 + DIM; k++)
            pencil_sums(s->quantity[k][p], sum[k]);
    }
    UNROLL for (int k = 0; k < 1 + DIM; k++) {
        wide component[4];
        vec4s_load(component, &s->quantity[k][0][0]);
        UNROLL for (int b = 0; b < DIM; b++)
            if (k == 0)
                v[b] = component[b];
            else
                moment[k - 1][b] = component[b];
        if (k == 0 && fourth)
            *fourth = component[3];
    }
}
