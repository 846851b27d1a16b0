/* SPDX-License-Identifier: MIT
 *
 * Between the resident tiles and the arrays a user sees: writing out, and finding and reading in what was changed.
 * A row is read in only if its bits differ from what would be written out, so that looking at an array (which
 * rounds positions) never changes a run.
 */
#include "math/matrix.h"
#include "materials/laws.h"
#include "transfer/arena.h"

enum { MOST_COMPONENTS = DIM * DIM };

INLINE int components_of(const enum mpm_field field)
{
    switch (field) {
    case MPM_FIELD_X:
    case MPM_FIELD_V:
        return DIM;
    case MPM_FIELD_F:
    case MPM_FIELD_C:
        return DIM * DIM;
    default:
        return 1;
    }
}

static real element(const mpm_particles *p, int field, ptrdiff_t tile, int component, int lane)
{
    return ((const real *)p->vector[field])[(tile * DIM + component) * WIDTH + lane];
}

static void set_element(mpm_particles *p, int field, ptrdiff_t tile, int component, int lane, real value)
{
    ((real *)p->vector[field])[(tile * DIM + component) * WIDTH + lane] = value;
}

static real determinant(const real F[DIM * DIM])
{
#if DIM == 2
    return F[0] * F[3] - F[1] * F[2];
#else
    return F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) + F[2] * (F[3] * F[7] - F[4] * F[6]);
#endif
}

/* J^(1/d) for the isotropic F that stands for a fluid's volume ratio. */
static real root(real J)
{
#if DIM == 2
    return REAL_IS_FLOAT ? (real)__builtin_sqrtf((float)J) : (real)__builtin_sqrt((double)J);
#else
    double x = 1; /* Newton for x^3 = J, monotone from above after one step */
    for (int i = 0; i < 200; i++) {
        double next = (2 * x + (double)J / (x * x)) / 3;
        if (next == x || (i > 1 && next > x))
            break;
        x = next;
    }
    return (real)x;
#endif
}

/* A coordinate in cells, of a domain that repeats after `period` cells (0: it does not), brought into it: from 0 to
 * below the period, or to it where a tiny negative one is rounded. No further than most_cells away, where a position still says in which cell it lies. */
static const double most_cells = 0x1p52;

static double wrapped(double cells, int64_t period)
{
    if (period == 0)
        return cells;
    cells -= (double)(period * (int64_t)(cells / (double)period)); /* exact: neither has bits below those of cells */
    return cells < 0 ? cells + (double)period : cells;
}

/* A resident position, as the user sees it along one axis. */
static real user_position(const mpm_exchange *e, int axis, int32_t block, real x)
{
    const int64_t period = e->period[axis];
    const real at = (real)(e->lower[axis] + wrapped((double)block * BLOCK_SIDE + (double)x, period) * e->dx);
    const bool rounded_up = period && at >= (real)(e->lower[axis] + (double)period * e->dx);
    return rounded_up ? (real)e->lower[axis] : at;
}

/* The user's values of one particle. */
INLINE void user_values(const mpm_exchange *e, const enum mpm_field field, const mpm_group *group, bool fluid,
                        ptrdiff_t tile, int lane, real out[MOST_COMPONENTS])
{
    const mpm_particles *p = e->particles;
    const int F = MPM_C + DIM;
    switch (field) {
    case MPM_FIELD_X:
        for (int a = 0; a < DIM; a++)
            out[a] = user_position(e, a, group->block[a], element(p, MPM_X, tile, a, lane));
        break;
    case MPM_FIELD_V:
        for (int a = 0; a < DIM; a++)
            out[a] = element(p, MPM_V, tile, a, lane);
        break;
    case MPM_FIELD_C:
        for (int k = 0; k < DIM * DIM; k++)
            out[k] = element(p, MPM_C + k / DIM, tile, k % DIM, lane);
        break;
    case MPM_FIELD_F:
        if (fluid) {
            const real s = root(element(p, F, tile, 0, lane));
            for (int k = 0; k < DIM * DIM; k++)
                out[k] = k % (DIM + 1) == 0 ? s : 0;
        } else {
            for (int k = 0; k < DIM * DIM; k++)
                out[k] = element(p, F + k / DIM, tile, k % DIM, lane);
        }
        break;
    case MPM_FIELD_J:
        if (fluid) {
            out[0] = element(p, F, tile, 0, lane);
        } else {
            real f[DIM * DIM];
            for (int k = 0; k < DIM * DIM; k++)
                f[k] = element(p, F + k / DIM, tile, k % DIM, lane);
            out[0] = determinant(f);
        }
        break;
    case MPM_FIELD_JP:
        out[0] = ((const real *)p->plastic)[tile * WIDTH + lane];
        break;
    case MPM_FIELD_MASS:
        out[0] = ((const real *)p->mass)[tile * WIDTH + lane];
        break;
    default:
        out[0] = ((const real *)p->volume)[tile * WIDTH + lane];
    }
}

/* Calls `visit` for every particle. */
typedef void visitor(void *context, const mpm_exchange *e, const enum mpm_field field, const mpm_group *group,
                     bool fluid, ptrdiff_t tile, int lane, int32_t row);

INLINE void for_each_of_group(const mpm_exchange *e, const enum mpm_field field, const mpm_group *group, void *context,
                              visitor *visit)
{
    const bool fluid = mpm_laws_get(e->materials[group->material].law)->fluid;
    for (ptrdiff_t tile = group->first_tile; tile < group->first_tile + group->tiles; tile++)
        for (int lane = 0; lane < WIDTH; lane++) {
            const int32_t row = e->particles->row[tile * WIDTH + lane];
            if (row >= 0)
                visit(context, e, field, group, fluid, tile, lane, row);
        }
}

INLINE void for_each_of_field(const mpm_exchange *e, const enum mpm_field field, void *context, visitor *visit)
{
    for (size_t g = 0; g < e->particles->group_count; g++)
        for_each_of_group(e, field, &e->particles->groups[g], context, visit);
}

/* The field is a constant where `visit` is inlined. */
INLINE void for_each_particle(const mpm_exchange *e, void *context, visitor *visit)
{
    switch (e->field) {
#define CASE(field) \
    case field: \
        for_each_of_field(e, field, context, visit); \
        break;
        CASE(MPM_FIELD_X)
        CASE(MPM_FIELD_V)
        CASE(MPM_FIELD_F)
        CASE(MPM_FIELD_C)
        CASE(MPM_FIELD_J)
        CASE(MPM_FIELD_JP)
        CASE(MPM_FIELD_MASS)
        CASE(MPM_FIELD_VOLUME)
#undef CASE
    case MPM_FIELD_COUNT:
        break;
    }
}

INLINE void write_one(void *context, const mpm_exchange *e, const enum mpm_field field, const mpm_group *group,
                      bool fluid, ptrdiff_t tile, int lane, int32_t row)
{
    (void)context;
    user_values(e, field, group, fluid, tile, lane, (real *)e->rows + (ptrdiff_t)row * components_of(field));
}

void MPM_KERNEL(exchange_write_out)(const mpm_exchange *exchange)
{
    for_each_particle(exchange, NULL, write_one);
}

INLINE bool differs(const mpm_exchange *e, const enum mpm_field field, const mpm_group *group, bool fluid,
                    ptrdiff_t tile, int lane, int32_t row, const real **written)
{
    const int components = components_of(field);
    real value[MOST_COMPONENTS];
    user_values(e, field, group, fluid, tile, lane, value);
    *written = (const real *)e->rows + (ptrdiff_t)row * components;
    return memcmp(*written, value, (size_t)components * sizeof(real)) != 0;
}

static bool is_outside(const mpm_exchange *e, const real x[DIM])
{
    for (int a = 0; a < DIM; a++) {
        const double cell = ((double)x[a] - e->lower[a]) / e->dx;
        const double room = wall_room(e->particles->degree);
        if (e->period[a] && cell >= -most_cells && cell <= most_cells)
            continue;
        if (cell < -room || cell > (double)e->cells[a] + room)
            return true;
    }
    return false;
}

static enum mpm_flaw flaw_of(const mpm_exchange *e, const mpm_group *group, bool fluid, const real *written)
{
    for (int k = 0; k < components_of(e->field); k++)
        if (!(written[k] - written[k] == 0))
            return MPM_NOT_FINITE;
    switch (e->field) {
    case MPM_FIELD_X:
        return e->on_leave == MPM_LEAVE_RAISE && is_outside(e, written) ? MPM_OUTSIDE : MPM_FINE;
    case MPM_FIELD_F:
        return fluid ? MPM_NOT_STATE : determinant(written) > 0 ? MPM_FINE : MPM_INVERTED;
    case MPM_FIELD_J:
        return !fluid ? MPM_NOT_STATE : written[0] > 0 ? MPM_FINE : MPM_INVERTED;
    case MPM_FIELD_JP:
        if (!mpm_laws_plastic(e->materials[group->material].law))
            return MPM_NOT_STATE;
        return written[0] > 0 ? MPM_FINE : MPM_INVERTED;
    default:
        return MPM_FINE;
    }
}

INLINE void inspect_one(void *context, const mpm_exchange *e, const enum mpm_field field, const mpm_group *group,
                        bool fluid, ptrdiff_t tile, int lane, int32_t row)
{
    const real *written;
    if (!differs(e, field, group, fluid, tile, lane, row, &written))
        return;
    ++*(int64_t *)context;
    e->flaws[row] = (uint8_t)flaw_of(e, group, fluid, written);
}

void MPM_KERNEL(exchange_inspect)(mpm_exchange *exchange)
{
    int64_t differing = 0;
    for_each_particle(exchange, &differing, inspect_one);
    exchange->differing = differing;
}

/* A position in cells to a block and cells within it, base node in the block. */
static void place(const mpm_particles *p, const double cells[DIM], mpm_placement *placement, real x[DIM])
{
    const double reach = mpm_particles_reach(p);
    int cell = 0;
    for (int a = 0; a < DIM; a++) {
        int64_t base = (int64_t)(cells[a] - reach); /* floor, from truncation */
        base -= (double)base > cells[a] - reach;
        int64_t block = base / BLOCK_SIDE - (base % BLOCK_SIDE < 0);
        placement->block[a] = (int32_t)block;
        x[a] = (real)(cells[a] - (double)block * BLOCK_SIDE);
        cell = cell * BLOCK_SIDE + (int)(base - block * BLOCK_SIDE);
        /* rounding to `real` may reach the next cell; the base node is found from x again in the sweep */
    }
    placement->cell = (uint8_t)cell;
}

/* The same for a position in metres. */
static void place_position(const mpm_particles *p, const double lower[3], double dx, const int64_t period[3], const double position[DIM],
                           mpm_placement *placement, real x[DIM])
{
    double cells[DIM];
    for (int a = 0; a < DIM; a++)
        cells[a] = wrapped((position[a] - lower[a]) / dx, period[a]);
    place(p, cells, placement, x);
}

/* A position written outside the domain: the nearest one on its faces. */
static void bring_back(const mpm_exchange *e, double position[DIM])
{
    for (int a = 0; a < DIM; a++) {
        const double low = e->lower[a], high = low + (double)e->cells[a] * e->dx;
        position[a] = position[a] < low ? low : position[a] > high ? high : position[a];
    }
}

INLINE void read_one(void *context, const mpm_exchange *e, const enum mpm_field field, const mpm_group *group,
                     bool fluid, ptrdiff_t tile, int lane, int32_t row)
{
    mpm_exchange *changes = context;
    mpm_particles *p = e->particles;
    const real *written;
    if (!differs(e, field, group, fluid, tile, lane, row, &written))
        return;
    switch (field) {
    case MPM_FIELD_X: {
        real x[DIM];
        double position[DIM];
        for (int a = 0; a < DIM; a++)
            position[a] = (double)written[a];
        if (is_outside(e, written)) {
            bring_back(e, position);
            changes->outside++;
        }
        mpm_placement *placement = &changes->placements[changes->placement_count++];
        *placement = (mpm_placement){.material = group->material, .slot = tile * WIDTH + lane};
        place_position(p, e->lower, e->dx, e->period, position, placement, x);
        for (int a = 0; a < DIM; a++)
            set_element(p, MPM_X, tile, a, lane, x[a]);
        break;
    }
    case MPM_FIELD_V:
        for (int a = 0; a < DIM; a++)
            set_element(p, MPM_V, tile, a, lane, written[a]);
        break;
    case MPM_FIELD_C:
    case MPM_FIELD_F:
        for (int k = 0; k < DIM * DIM; k++)
            set_element(p, (field == MPM_FIELD_C ? MPM_C : MPM_C + DIM) + k / DIM, tile, k % DIM, lane, written[k]);
        break;
    case MPM_FIELD_JP:
        ((real *)p->plastic)[tile * WIDTH + lane] = written[0];
        break;
    default:
        set_element(p, MPM_C + DIM, tile, 0, lane, written[0]);
    }
}

void MPM_KERNEL(exchange_read_in)(mpm_exchange *exchange)
{
    for_each_particle(exchange, exchange, read_one);
}

INLINE void freeze_one(void *context, const mpm_exchange *e, const enum mpm_field field, const mpm_group *group,
                       bool fluid, ptrdiff_t tile, int lane, int32_t row)
{
    (void)context, (void)field, (void)group, (void)fluid;
    mpm_particles *p = e->particles;
    if (!is_outside(e, (const real *)e->rows + (ptrdiff_t)row * DIM))
        return;
    ((real *)p->mass)[tile * WIDTH + lane] = 0;
    ((real *)p->volume)[tile * WIDTH + lane] = 0;
    for (int a = 0; a < DIM; a++) {
        set_element(p, MPM_V, tile, a, lane, 0);
        for (int b = 0; b < DIM; b++)
            set_element(p, MPM_C + b, tile, a, lane, 0);
    }
}

void MPM_KERNEL(exchange_freeze_outside)(const mpm_exchange *exchange)
{
    for_each_of_field(exchange, MPM_FIELD_X, NULL, freeze_one);
}

/* What `wrap_one` goes through: the placements that there were, and those that it makes. */
struct wrapping {
    mpm_exchange *exchange;
    const mpm_placement *placed, *placed_end;
};

INLINE void wrap_one(void *context, const mpm_exchange *e, const enum mpm_field field, const mpm_group *group,
                     bool fluid, ptrdiff_t tile, int lane, int32_t row)
{
    (void)field, (void)fluid, (void)row;
    struct wrapping *wrapping = context;
    mpm_particles *p = e->particles;
    const ptrdiff_t slot = tile * WIDTH + lane;
    while (wrapping->placed < wrapping->placed_end && wrapping->placed->slot < slot)
        wrapping->placed++;
    if (wrapping->placed < wrapping->placed_end && wrapping->placed->slot == slot)
        return; /* its position is not one in this group's block */
    double cells[DIM];
    bool beyond = false;
    for (int a = 0; a < DIM; a++) {
        const double at = (double)group->block[a] * BLOCK_SIDE + (double)element(p, MPM_X, tile, a, lane);
        cells[a] = wrapped(at, e->period[a]);
        beyond |= cells[a] != at;
    }
    if (!beyond)
        return;
    mpm_placement *placement = e->placements ? &e->placements[wrapping->exchange->placement_count] : NULL;
    wrapping->exchange->placement_count++;
    if (!placement)
        return;
    real x[DIM], *saved = (real *)e->saved + (placement - e->placements) * DIM;
    *placement = (mpm_placement){.material = group->material, .slot = slot};
    place(p, cells, placement, x);
    for (int a = 0; a < DIM; a++) {
        saved[a] = element(p, MPM_X, tile, a, lane);
        set_element(p, MPM_X, tile, a, lane, x[a]);
    }
}

/* Can particles of a group lie beyond a periodic face? They are at most three cells from their block. */
static bool reaches_periodic_face(const mpm_exchange *e, const mpm_group *group)
{
    for (int a = 0; a < DIM; a++) {
        const int64_t first = (int64_t)group->block[a] * BLOCK_SIDE;
        if (e->period[a] && (first - 3 < 0 || first + BLOCK_SIDE + 3 > e->period[a]))
            return true;
    }
    return false;
}

void MPM_KERNEL(exchange_wrap)(mpm_exchange *exchange, const mpm_placement *placed, size_t placed_count)
{
    struct wrapping wrapping = {exchange, placed, placed + placed_count};
    exchange->placement_count = 0;
    for (size_t g = 0; g < exchange->particles->group_count; g++)
        if (reaches_periodic_face(exchange, &exchange->particles->groups[g]))
            for_each_of_group(exchange, MPM_FIELD_X, &exchange->particles->groups[g], &wrapping, wrap_one);
}

void MPM_KERNEL(exchange_arrive)(const mpm_arrivals *arrivals)
{
    mpm_particles *p = arrivals->particles;
    double zero[DIM * DIM] = {0}, identity[DIM * DIM] = {0};
    for (int a = 0; a < DIM; a++)
        identity[a * DIM + a] = 1;
    for (ptrdiff_t i = 0; i < arrivals->count; i++) {
        const ptrdiff_t slot = arrivals->first_slot + i, tile = slot / WIDTH;
        const int lane = (int)(slot % WIDTH);
        const double *C = arrivals->C ? arrivals->C + i * DIM * DIM : zero;
        const double *F = arrivals->F ? arrivals->F + i * DIM * DIM : identity;
        mpm_placement *placement = &arrivals->placements[i];
        real x[DIM], f[DIM * DIM];
        *placement = (mpm_placement){.material = arrivals->material, .slot = slot};
        place_position(p, arrivals->lower, arrivals->dx, arrivals->period, arrivals->x + i * DIM, placement, x);
        for (int k = 0; k < DIM * DIM; k++)
            f[k] = (real)F[k];
        for (int a = 0; a < DIM; a++) {
            set_element(p, MPM_X, tile, a, lane, x[a]);
            set_element(p, MPM_V, tile, a, lane, (real)arrivals->v[i * DIM + a]);
            for (int b = 0; b < DIM; b++) {
                set_element(p, MPM_C + a, tile, b, lane, (real)C[a * DIM + b]);
                set_element(p, MPM_C + DIM + a, tile, b, lane,
                            !arrivals->fluid     ? f[a * DIM + b]
                            : a == 0 && b == 0 ? determinant(f)
                                               : 0);
            }
        }
        if (p->has_plastic)
            ((real *)p->plastic)[slot] = 1;
        ((real *)p->mass)[slot] = (real)arrivals->mass[i];
        ((real *)p->volume)[slot] = (real)arrivals->volume[i];
        p->row[slot] = arrivals->first_row + (int32_t)i;
    }
}

/* The cell of the base node, and the neighbour block a particle has drifted into, for every slot of a group. */
void MPM_KERNEL(exchange_locate)(const mpm_particles *particles, ptrdiff_t g, uint8_t *cell, uint8_t *shift)
{
    const mpm_group *group = &particles->groups[g];
    const wide reach = wide_set((real)mpm_particles_reach(particles));
    for (ptrdiff_t tile = group->first_tile; tile < group->first_tile + group->tiles; tile++) {
        wide code = wide_set(0), move = wide_set(0);
        for (int a = 0; a < DIM; a++) {
            const wide x = wide_load((const real *)particles->vector[MPM_X] + (tile * DIM + a) * WIDTH);
            const wide base = wide_floor(x - reach);
            const wide block = wide_floor(base * wide_set((real)(1.0 / BLOCK_SIDE)));
            code = wide_fma(code, wide_set(BLOCK_SIDE), base - block * wide_set(BLOCK_SIDE));
            move = wide_fma(move, wide_set(3), wide_min(wide_max(block, wide_set(-1)), wide_set(1)) + wide_set(1));
        }
        int32_t codes[WIDTH] __attribute__((aligned(64))), moves[WIDTH] __attribute__((aligned(64)));
        wide_store_int32(codes, wide_min(wide_max(code, wide_set(0)), wide_set(63)));
        wide_store_int32(moves, move);
        for (int q = 0; q < WIDTH; q++) {
            cell[tile * WIDTH + q] = (uint8_t)codes[q];
            shift[tile * WIDTH + q] = (uint8_t)moves[q];
        }
    }
}
