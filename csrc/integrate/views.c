/* SPDX-License-Identifier: MIT
 *
 * Between the resident state and the user's arrays. The mirrors follow one rule: a mirror is read in only if a view
 * of it could have been written since it was written out, and then only the rows that differ.
 */
#include <string.h>

#include "integrate/state.h"

static bool may_be_written(const mpm_mirror *mirror)
{
    return mirror && !mirror->read_only && !mirror->stale && (mirror->touched || mirror->exports > 0);
}

static void note_flaw(mpm_trouble *trouble, const uint8_t *flaws, ptrdiff_t rows)
{
    static const mpm_reason reasons[] = {
        [MPM_NOT_FINITE] = MPM_WRITTEN_NOT_FINITE, [MPM_INVERTED] = MPM_WRITTEN_INVERTED,
        [MPM_OUTSIDE] = MPM_WRITTEN_OUTSIDE, [MPM_NOT_STATE] = MPM_WRITTEN_NOT_STATE};
    for (ptrdiff_t row = 0; row < rows; row++) {
        if (flaws[row] == MPM_FINE || (trouble->reason != MPM_NO_REASON && trouble->reason != reasons[flaws[row]]))
            continue;
        trouble->reason = reasons[flaws[row]];
        if (trouble->row_count < MPM_MOST_TROUBLE_ROWS)
            trouble->rows[trouble->row_count++] = (int32_t)row;
        trouble->count++;
    }
}

/* What users may have written, as it was at one moment: other threads may go on writing to the mirrors. */
struct written {
    void *rows[MPM_MOST_FIELDS];        /* NULL: nothing to read in */
    int64_t differing[MPM_MOST_FIELDS]; /* rows that differ from what was written out */
};

static void forget_written(mpm_simulation *simulation, struct written *written)
{
    for (int field = 0; field < simulation->fields.count; field++) {
        mpm_memory_free(&simulation->run.allocator, written->rows[field]);
        written->rows[field] = NULL;
    }
}

static mpm_status copy_written(mpm_simulation *simulation, int field, struct written *written)
{
    const mpm_mirror *mirror = simulation->mirrors[field];
    const size_t values = (size_t)mirror->rows * (size_t)mirror->components;
    if (!(written->rows[field] = mpm_memory_new(&simulation->run.allocator, values, mirror->element)))
        return MPM_OUT_OF_MEMORY;
    memcpy(written->rows[field], mirror->data, values * mirror->element);
    return MPM_OK;
}

/* Copies what was written and counts the rows that differ; MPM_BAD_STATE or MPM_ESCAPED if one cannot be taken. */
static mpm_status inspect(mpm_simulation *simulation, struct written *written)
{
    const ptrdiff_t rows = simulation->particles.count;
    uint8_t *flaws = mpm_memory_new(&simulation->run.allocator, (size_t)rows, 1);
    if (!flaws)
        return MPM_OUT_OF_MEMORY;
    mpm_status status = MPM_OK;
    for (int field = 0; field < simulation->fields.count && !status; field++) {
        if (!may_be_written(simulation->mirrors[field]))
            continue;
        if ((status = copy_written(simulation, field, written)))
            break;
        mpm_exchange exchange = mpm_describe_exchange(simulation, field, written->rows[field]);
        exchange.flaws = flaws;
        simulation->kernels->inspect(&exchange);
        written->differing[field] = exchange.differing;
        if (!exchange.differing) {
            mpm_memory_free(&simulation->run.allocator, written->rows[field]);
            written->rows[field] = NULL;
            continue;
        }
        simulation->run.trouble = (mpm_trouble){.field = &simulation->fields.row[field]};
        note_flaw(&simulation->run.trouble, flaws, rows);
        memset(flaws, 0, (size_t)rows);
        if (simulation->run.trouble.count)
            status = simulation->run.trouble.reason == MPM_WRITTEN_OUTSIDE ? MPM_ESCAPED : MPM_BAD_STATE;
    }
    mpm_memory_free(&simulation->run.allocator, flaws);
    return status;
}

/* Particles that were written outside the domain, and now lie on its faces. */
static void account_for_outside(mpm_simulation *simulation, const mpm_exchange *written)
{
    if (!written->outside)
        return;
    simulation->run.health[MPM_HEALTH_LEFT_DOMAIN] += written->outside;
    if (written->on_leave == MPM_LEAVE_CLAMP) {
        simulation->run.health[MPM_HEALTH_CLAMPED] += written->outside;
        return;
    }
    simulation->kernels->freeze_outside(written);
    simulation->frozen = true;
    const int changed[] = {MPM_FIELD_V, MPM_FIELD_C, MPM_FIELD_MASS, MPM_FIELD_VOLUME};
    for (size_t k = 0; k < sizeof changed / sizeof *changed; k++)
        if (simulation->mirrors[changed[k]])
            simulation->mirrors[changed[k]]->stale = true;
}

/* Positions: particles are placed anew, and binned before anybody looks at the resident positions again. */
static mpm_status read_in_positions(mpm_simulation *simulation, const struct written *written)
{
    const mpm_allocator *allocator = &simulation->run.allocator;
    const mpm_particles *p = &simulation->particles;
    const size_t bytes = (size_t)p->tiles * (size_t)p->lanes * (size_t)p->dim * p->real_size;
    mpm_status status = MPM_OUT_OF_MEMORY;
    mpm_exchange exchange = mpm_describe_exchange(simulation, MPM_FIELD_X, written->rows[MPM_FIELD_X]);
    exchange.placements =
        mpm_memory_new(allocator, (size_t)written->differing[MPM_FIELD_X], sizeof *exchange.placements);
    void *saved = mpm_memory_new(allocator, bytes, 1);
    if (exchange.placements && saved) {
        memcpy(saved, p->column[MPM_COLUMN_X], bytes);
        simulation->kernels->read_in(&exchange);
        status = mpm_rebin_run(simulation, exchange.placements, exchange.placement_count, MPM_BIN_ALL);
        if (status)
            memcpy(p->column[MPM_COLUMN_X], saved, bytes); /* nothing was moved: undo */
        else
            account_for_outside(simulation, &exchange);
    }
    mpm_memory_free(allocator, saved);
    mpm_memory_free(allocator, exchange.placements);
    return status;
}

mpm_status mpm_views_read_in(mpm_simulation *simulation)
{
    struct written written = {0};
    bool any = false;
    for (int field = 0; field < simulation->fields.count; field++)
        any |= may_be_written(simulation->mirrors[field]);
    if (!any)
        return MPM_OK;
    mpm_status status = inspect(simulation, &written);
    if (!status && written.rows[MPM_FIELD_X])
        status = read_in_positions(simulation, &written);
    if (status) {
        forget_written(simulation, &written);
        return status;
    }
    for (int field = 0; field < simulation->fields.count; field++) {
        if (!written.rows[field])
            continue;
        simulation->measured = false;
        if (field != MPM_FIELD_X) {
            mpm_exchange exchange = mpm_describe_exchange(simulation, field, written.rows[field]);
            simulation->kernels->read_in(&exchange);
        }
    }
    forget_written(simulation, &written);
    /* F and J are two faces of one state: what was written to one makes the other stale. */
    if (written.differing[MPM_FIELD_F] && simulation->mirrors[MPM_FIELD_J])
        simulation->mirrors[MPM_FIELD_J]->stale = true;
    if (written.differing[MPM_FIELD_J] && simulation->mirrors[MPM_FIELD_F])
        simulation->mirrors[MPM_FIELD_F]->stale = true;
    for (int field = 0; field < simulation->fields.count; field++)
        if (simulation->mirrors[field])
            simulation->mirrors[field]->touched = false;
    mpm_views_refresh(simulation);
    return MPM_OK;
}

static void write_out(mpm_simulation *simulation, int field)
{
    const mpm_field *row = &simulation->fields.row[field];
    mpm_mirror *mirror = simulation->mirrors[field];
    const size_t bytes = (size_t)mirror->rows * mirror->element;
    mirror->stale = false;
    if (row->type != MPM_TYPE_REAL) {
        if (bytes)
            memcpy(mirror->data, field == MPM_FIELD_ID ? (void *)simulation->id : simulation->material, bytes);
        return;
    }
    const mpm_exchange exchange = mpm_describe_exchange(simulation, field, mirror->data);
    simulation->kernels->write_out(&exchange);
}

void mpm_views_refresh(mpm_simulation *simulation)
{
    for (int field = 0; field < simulation->fields.count; field++) {
        mpm_mirror *mirror = simulation->mirrors[field];
        if (mirror && mirror->stale && mirror->exports > 0)
            write_out(simulation, field);
    }
}

void mpm_views_outdate(mpm_simulation *simulation)
{
    for (int field = 0; field < simulation->fields.count; field++) {
        /* mass and volume of frozen particles do change */
        if (simulation->mirrors[field] && (!simulation->fields.row[field].lasting || simulation->frozen))
            simulation->mirrors[field]->stale = true;
    }
}

void mpm_views_forget(mpm_simulation *simulation)
{
    for (int field = 0; field < simulation->fields.count; field++) {
        mpm_mirror_release(simulation->mirrors[field]);
        simulation->mirrors[field] = NULL;
    }
}

/* Is there a particle whose state this field is? */
static bool is_writable(const mpm_simulation *simulation, const mpm_field *field)
{
    if (field->state_of == MPM_STATE_OF_NONE || field->state_of == MPM_STATE_OF_ALL)
        return field->state_of == MPM_STATE_OF_ALL;
    for (size_t g = 0; g < simulation->particles.group_count; g++) {
        const mpm_material *material = &simulation->materials[simulation->particles.groups[g].material];
        const bool keeps_J = mpm_laws_get(material->law)->strain == MPM_KEEPS_J;
        if (field->state_of == MPM_STATE_OF_OWNERS ? mpm_material_keeps(material, field->column, simulation->settings.dim)
                                                   : keeps_J == (field->state_of == MPM_STATE_OF_J_LAWS))
            return true;
    }
    return false;
}

mpm_status mpm_views_get(mpm_simulation *simulation, int field, mpm_mirror **result)
{
    static const size_t integers[] = {[MPM_TYPE_INT32] = sizeof(int32_t), [MPM_TYPE_INT64] = sizeof(int64_t)};
    const mpm_field *row = &simulation->fields.row[field];
    mpm_mirror *mirror = simulation->mirrors[field];
    if (!mirror) {
        const bool integer = row->type != MPM_TYPE_REAL;
        mirror = mpm_mirror_new(&simulation->run.allocator, simulation->particles.count,
                                mpm_rank_components(row->rank, simulation->settings.dim),
                                integer ? integers[row->type] : simulation->settings.real_size, integer,
                                !is_writable(simulation, row));
        if (!mirror)
            return MPM_OUT_OF_MEMORY;
        simulation->mirrors[field] = mirror;
    }
    if (mirror->stale)
        write_out(simulation, field);
    *result = mirror;
    return MPM_OK;
}
