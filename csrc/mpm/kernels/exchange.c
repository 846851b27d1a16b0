/* SPDX-License-Identifier: MIT
 *
 * Exchange between the resident tiles and the arrays that users see: writes out, and finds and reads in changed rows.
 * Positions in arrays are rounded. So a row is read in only if its bits differ from what would be written out: looking
 * at an array never changes a run.
 */
#include "math/matrix.h"
#include "materials/laws.h"
#include "mpm/kernels/arena.h"

enum { MOST_COMPONENTS = DIM * DIM < 6 ? 6 : DIM * DIM };

/* Component `c` of a field for the particle in `slot`; the field is in columns of `width` reals. */
INLINE real *component(const mpm_particles *p, int column, const int width, ptrdiff_t slot, int c)
{
    return (real *)p->column[column + c / width] + mpm_particles_index((size_t)slot, (size_t)c, (size_t)width, WIDTH);
}

INLINE real *in_vector(const mpm_particles *p, int column, ptrdiff_t slot, int c)
{
    return component(p, column, DIM, slot, c);
}

static real determinant(const real F[DIM * DIM])
{
#if DIM == 2
    return F[0] * F[3] - F[1] * F[2];
#else
    return F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) + F[2] * (F[3] * F[7] - F[4] * F[6]);
#endif
}

/* J^(1/d), for the isotropic F that users see of a fluid. */
static real root(real J)
{
#if DIM == 2
    return REAL_IS_FLOAT ? (real)__builtin_sqrtf((float)J) : (real)__builtin_sqrt((double)J);
#else
    double x = 1; /* Newton's method for x^3 = J: monotone from above after one step */
    for (int i = 0; i < 200; i++) {
        double next = (2 * x + (double)J / (x * x)) / 3;
        if (next == x || (i > 1 && next > x))
            break;
        x = next;
    }
    return (real)x;
#endif
}

/* Wraps a coordinate in cells into [0, period); rounding may turn a tiny negative one into the period. Period 0: not
 * periodic. Coordinates reach at most most_cells, where a double still resolves cells. */
static const double most_cells = 0x1p52;

static double wrapped(double cells, int64_t period)
{
    if (period == 0)
        return cells;
    cells -= (double)(period * (int64_t)(cells / (double)period)); /* exact: neither has bits below those of cells */
    return cells < 0 ? cells + (double)period : cells;
}

/* One component of a resident position, as the user sees it. */
static real user_position(const mpm_exchange *e, int axis, int32_t block, real x)
{
    const int64_t period = e->period[axis];
    const real at = (real)(e->lower[axis] + wrapped((double)block * BLOCK_SIDE + (double)x, period) * e->dx);
    const bool rounded_up = period && at >= (real)(e->lower[axis] + (double)period * e->dx);
    return rounded_up ? (real)e->lower[axis] : at;
}

/* How a field is converted: position, F and J need arithmetic; fields in columns of d or of 1 are copied. */
enum form { POSITION, STRAIN, RATIO, OF_VECTORS, OF_SCALARS };

static enum form form_of(const mpm_exchange *e)
{
    const mpm_field *field = e->field;
    if (field->owner == MPM_OWNER_CORE && field->column < 0)
        return RATIO;
    if (field->owner == MPM_OWNER_CORE && field->column == mpm_fields_F(DIM))
        return STRAIN;
    if (field->owner == MPM_OWNER_CORE && field->column == MPM_COLUMN_X)
        return POSITION;
    return field->width == DIM ? OF_VECTORS : OF_SCALARS;
}

/* What the functions below need of a particle besides the exchange. For fields of the core, `form` and `components` are
 * compile-time constants. */
struct particle {
    const mpm_group *group;
    bool keeps_J;
    ptrdiff_t slot;
    int32_t row;
};

/* The user's values of one particle. */
INLINE void user_values(const mpm_exchange *e, const enum form form, const int components, const struct particle *of,
                        real *out)
{
    const mpm_particles *p = e->particles;
    const int F = mpm_fields_F(DIM), column = e->field->column;
    const ptrdiff_t slot = of->slot;
    switch (form) {
    case POSITION:
        for (int a = 0; a < DIM; a++)
            out[a] = user_position(e, a, of->group->block[a], *in_vector(p, MPM_COLUMN_X, slot, a));
        break;
    case STRAIN:
        if (of->keeps_J) {
            const real s = root(*in_vector(p, F, slot, 0));
            for (int k = 0; k < DIM * DIM; k++)
                out[k] = k % (DIM + 1) == 0 ? s : 0;
            break;
        }
        for (int k = 0; k < DIM * DIM; k++)
            out[k] = *in_vector(p, F, slot, k);
        break;
    case RATIO:
        if (of->keeps_J) {
            out[0] = *in_vector(p, F, slot, 0);
        } else {
            real f[DIM * DIM];
            for (int k = 0; k < DIM * DIM; k++)
                f[k] = *in_vector(p, F, slot, k);
            out[0] = determinant(f);
        }
        break;
    default:
        for (int k = 0; k < components; k++)
            out[k] = *component(p, column, form == OF_VECTORS ? DIM : 1, slot, k);
    }
}

/* Calls `visit` for every particle. */
typedef void visitor(void *context, const mpm_exchange *e, const enum form form, const int components,
                     const struct particle *of);

INLINE void for_each_of_group(const mpm_exchange *e, const enum form form, const int components, const mpm_group *group,
                              void *context, visitor *visit)
{
    struct particle of = {.group = group};
    of.keeps_J = mpm_laws_get(e->materials[group->material].law)->strain == MPM_KEEPS_J;
    const ptrdiff_t end = (group->first_tile + group->tiles) * WIDTH;
    for (of.slot = group->first_tile * WIDTH; of.slot < end; of.slot++) {
        of.row = e->particles->row[of.slot];
        if (of.row >= 0)
            visit(context, e, form, components, &of);
    }
}

INLINE void for_each_of_form(const mpm_exchange *e, const enum form form, const int components, void *context,
                             visitor *visit)
{
    for (size_t g = 0; g < e->particles->group_count; g++)
        for_each_of_group(e, form, components, &e->particles->groups[g], context, visit);
}

INLINE void for_each_particle(const mpm_exchange *e, void *context, visitor *visit)
{
    const enum form form = form_of(e);
    const int components = mpm_rank_components(e->field->rank, DIM);
    if (form == POSITION)
        for_each_of_form(e, POSITION, DIM, context, visit);
    else if (form == STRAIN)
        for_each_of_form(e, STRAIN, DIM * DIM, context, visit);
    else if (form == RATIO)
        for_each_of_form(e, RATIO, 1, context, visit);
    else if (form == OF_VECTORS && components == DIM)
        for_each_of_form(e, OF_VECTORS, DIM, context, visit);
    else if (form == OF_VECTORS)
        for_each_of_form(e, OF_VECTORS, DIM * DIM, context, visit);
    else
        for_each_of_form(e, OF_SCALARS, components, context, visit);
}

INLINE void write_one(void *context, const mpm_exchange *e, const enum form form, const int components,
                      const struct particle *of)
{
    (void)context;
    user_values(e, form, components, of, (real *)e->rows + (ptrdiff_t)of->row * components);
}

void MPM_KERNEL(exchange_write_out)(const mpm_exchange *exchange)
{
    for_each_particle(exchange, NULL, write_one);
}

INLINE bool differs(const mpm_exchange *e, const enum form form, const int components, const struct particle *of,
                    const real **written)
{
    real value[MOST_COMPONENTS];
    user_values(e, form, components, of, value);
    *written = (const real *)e->rows + (ptrdiff_t)of->row * components;
    return memcmp(*written, value, (size_t)components * sizeof(real)) != 0;
}

/* The faces that a position is beyond, as mpm_leave_fate takes them. */
static unsigned faces_beyond(const mpm_exchange *e, const real x[DIM])
{
    unsigned beyond = 0;
    for (int a = 0; a < DIM; a++) {
        const double cell = ((double)x[a] - e->lower[a]) / e->dx;
        const double room = wall_room(e->particles->degree);
        if (e->period[a] && cell >= -most_cells && cell <= most_cells)
            continue;
        beyond |= (unsigned)(cell < -room) << 2 * a;
        beyond |= (unsigned)(cell > (double)e->cells[a] + room) << (2 * a + 1);
    }
    return beyond;
}

/* Is the field part of the state of that particle, so that users may write it? */
static bool is_state(const mpm_exchange *e, const struct particle *of)
{
    const mpm_material *material = &e->materials[of->group->material];
    switch (e->field->state_of) {
    case MPM_STATE_OF_F_LAWS:
        return !of->keeps_J;
    case MPM_STATE_OF_J_LAWS:
        return of->keeps_J;
    case MPM_STATE_OF_OWNERS:
        return mpm_material_keeps(material, e->field->column, DIM);
    default:
        return true;
    }
}

static enum mpm_flaw flaw_of(const mpm_exchange *e, const struct particle *of, const real *written)
{
    const mpm_field *field = e->field;
    const int components = mpm_rank_components(field->rank, DIM);
    for (int k = 0; k < components; k++)
        if (!(written[k] - written[k] == 0))
            return MPM_NOT_FINITE;
    if (!is_state(e, of))
        return MPM_NOT_STATE;
    if (field->check == MPM_CHECK_INSIDE) {
        const unsigned beyond = faces_beyond(e, written);
        return beyond && mpm_leave_fate(e->on_leave, beyond) == MPM_LEAVE_RAISE ? MPM_OUTSIDE : MPM_FINE;
    }
    if (field->check == MPM_CHECK_DET)
        return determinant(written) > 0 ? MPM_FINE : MPM_INVERTED;
    for (int k = 0; k < components; k++)
        if (!mpm_field_allows(field, (double)written[k]))
            return MPM_INVERTED;
    return MPM_FINE;
}

INLINE void inspect_one(void *context, const mpm_exchange *e, const enum form form, const int components,
                        const struct particle *of)
{
    const real *written;
    if (!differs(e, form, components, of, &written))
        return;
    ++*(int64_t *)context;
    e->flaws[of->row] = (uint8_t)flaw_of(e, of, written);
}

void MPM_KERNEL(exchange_inspect)(mpm_exchange *exchange)
{
    int64_t differing = 0;
    for_each_particle(exchange, &differing, inspect_one);
    exchange->differing = differing;
}

/* Splits a position in cells into the block of its base node and cells from that block's first node. */
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
static void place_position(const mpm_particles *p, const double lower[3], double dx, const int64_t period[3],
                           const double position[DIM], mpm_placement *placement, real x[DIM])
{
    double cells[DIM];
    for (int a = 0; a < DIM; a++)
        cells[a] = wrapped((position[a] - lower[a]) / dx, period[a]);
    place(p, cells, placement, x);
}

/* Moves a position that was written outside the domain to the nearest point of a face. */
static void bring_back(const mpm_exchange *e, double position[DIM])
{
    for (int a = 0; a < DIM; a++) {
        const double low = e->lower[a], high = low + (double)e->cells[a] * e->dx;
        position[a] = position[a] < low ? low : position[a] > high ? high : position[a];
    }
}

/* Reads a position in, and notes where the particle goes. */
INLINE void read_position(mpm_exchange *changes, const struct particle *of, const real *written)
{
    mpm_particles *p = changes->particles;
    real x[DIM];
    double position[DIM];
    for (int a = 0; a < DIM; a++)
        position[a] = (double)written[a];
    const unsigned beyond = faces_beyond(changes, written);
    if (beyond) {
        bring_back(changes, position);
        changes->outside++;
        changes->clamped += mpm_leave_fate(changes->on_leave, beyond) == MPM_LEAVE_CLAMP;
    }
    mpm_placement *placement = &changes->placements[changes->placement_count++];
    *placement = (mpm_placement){.material = of->group->material, .slot = of->slot};
    place_position(p, changes->lower, changes->dx, changes->period, position, placement, x);
    for (int a = 0; a < DIM; a++)
        *in_vector(p, MPM_COLUMN_X, of->slot, a) = x[a];
}

INLINE void read_one(void *context, const mpm_exchange *e, const enum form form, const int components,
                     const struct particle *of)
{
    const real *written;
    /* A field that is no state may differ by now, because it follows from one that has been read in. */
    if (!is_state(e, of) || !differs(e, form, components, of, &written))
        return;
    if (form == POSITION) {
        read_position(context, of, written);
        return;
    }
    const int column = form == RATIO ? mpm_fields_F(DIM) : e->field->column;
    for (int k = 0; k < components; k++)
        *component(e->particles, column, form == OF_SCALARS ? 1 : DIM, of->slot, k) = written[k];
}

void MPM_KERNEL(exchange_read_in)(mpm_exchange *exchange)
{
    for_each_particle(exchange, exchange, read_one);
}

INLINE void freeze_one(void *context, const mpm_exchange *e, const enum form form, const int components,
                       const struct particle *of)
{
    (void)context, (void)form, (void)components;
    mpm_particles *p = e->particles;
    const unsigned beyond = faces_beyond(e, (const real *)e->rows + (ptrdiff_t)of->row * DIM);
    if (!beyond || mpm_leave_fate(e->on_leave, beyond) != MPM_LEAVE_DELETE)
        return;
    *component(p, MPM_COLUMN_MASS, 1, of->slot, 0) = 0;
    *component(p, MPM_COLUMN_VOLUME, 1, of->slot, 0) = 0;
    for (int a = 0; a < DIM; a++)
        *in_vector(p, MPM_COLUMN_V, of->slot, a) = 0;
    for (int k = 0; k < DIM * DIM; k++)
        *in_vector(p, MPM_COLUMN_C, of->slot, k) = 0;
}

void MPM_KERNEL(exchange_freeze_outside)(const mpm_exchange *exchange)
{
    for_each_of_form(exchange, POSITION, DIM, NULL, freeze_one);
}

/* The context of `wrap_one`: the placements that existed, and those that it makes. */
struct wrapping {
    mpm_exchange *exchange;
    const mpm_placement *placed, *placed_end;
};

INLINE void wrap_one(void *context, const mpm_exchange *e, const enum form form, const int components,
                     const struct particle *of)
{
    (void)form, (void)components;
    struct wrapping *wrapping = context;
    mpm_particles *p = e->particles;
    const ptrdiff_t slot = of->slot;
    while (wrapping->placed < wrapping->placed_end && wrapping->placed->slot < slot)
        wrapping->placed++;
    if (wrapping->placed < wrapping->placed_end && wrapping->placed->slot == slot)
        return; /* its position does not count from this group's block */
    double cells[DIM];
    bool beyond = false;
    for (int a = 0; a < DIM; a++) {
        const double at =
            (double)of->group->block[a] * BLOCK_SIDE + (double)*in_vector(p, MPM_COLUMN_X, of->slot, a);
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
    *placement = (mpm_placement){.material = of->group->material, .slot = slot};
    place(p, cells, placement, x);
    for (int a = 0; a < DIM; a++) {
        saved[a] = *in_vector(p, MPM_COLUMN_X, of->slot, a);
        *in_vector(p, MPM_COLUMN_X, of->slot, a) = x[a];
    }
}

/* Can particles of a group be beyond a periodic face? They are at most three cells from their block. */
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
            for_each_of_group(exchange, POSITION, DIM, &exchange->particles->groups[g], &wrapping, wrap_one);
}

void MPM_KERNEL(exchange_insert)(const mpm_insertion *insertion)
{
    mpm_particles *p = insertion->particles;
    double zero[DIM * DIM] = {0}, identity[DIM * DIM] = {0};
    for (int a = 0; a < DIM; a++)
        identity[a * DIM + a] = 1;
    for (ptrdiff_t i = 0; i < insertion->count; i++) {
        const ptrdiff_t slot = insertion->first_slot + i;
        const double *C = insertion->C ? insertion->C + i * DIM * DIM : zero;
        const double *F = insertion->F ? insertion->F + i * DIM * DIM : identity;
        mpm_placement *placement = &insertion->placements[i];
        real x[DIM], f[DIM * DIM];
        *placement = (mpm_placement){.material = insertion->material, .slot = slot};
        place_position(p, insertion->lower, insertion->dx, insertion->period, insertion->x + i * DIM, placement, x);
        for (int k = 0; k < DIM * DIM; k++)
            f[k] = (real)F[k];
        for (int a = 0; a < DIM; a++) {
            *in_vector(p, MPM_COLUMN_X, slot, a) = x[a];
            *in_vector(p, MPM_COLUMN_V, slot, a) = (real)insertion->v[i * DIM + a];
        }
        for (int k = 0; k < DIM * DIM; k++) {
            *in_vector(p, MPM_COLUMN_C, slot, k) = (real)C[k];
            *in_vector(p, mpm_fields_F(DIM), slot, k) = !insertion->keeps_J ? f[k] : k == 0 ? determinant(f) : 0;
        }
        *component(p, MPM_COLUMN_MASS, 1, slot, 0) = (real)insertion->mass[i];
        *component(p, MPM_COLUMN_VOLUME, 1, slot, 0) = (real)insertion->volume[i];
        for (int c = mpm_fields_core_columns(DIM); c < p->columns; c++)
            *component(p, c, 1, slot, 0) = (real)insertion->initial[c];
        p->row[slot] = insertion->first_row + (int32_t)i;
    }
}

/* For every slot of a group: the cell of the base node, and the neighbour block that the particle has drifted into. */
void MPM_KERNEL(exchange_locate)(const mpm_particles *particles, ptrdiff_t g, uint8_t *cell, uint8_t *shift)
{
    const mpm_group *group = &particles->groups[g];
    const wide reach = wide_set((real)mpm_particles_reach(particles));
    for (ptrdiff_t tile = group->first_tile; tile < group->first_tile + group->tiles; tile++) {
        wide code = wide_set(0), move = wide_set(0);
        for (int a = 0; a < DIM; a++) {
            const wide x = wide_load((const real *)particles->column[MPM_COLUMN_X] + (tile * DIM + a) * WIDTH);
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
