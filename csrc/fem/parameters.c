/* SPDX-License-Identifier: MIT
 *
 * Parameters that vary over the elements: a store with a row for each element, whose fields are the parameters.
 */
#include "fem/parameters.h"

#include <math.h>
#include <string.h>

#include "base/real.h"
#include "fem/state.h"
#include "materials/parameters.h"

enum { MATERIAL, FIRST_PARAMETER }; /* fields */

/* ---- the fields ------------------------------------------------------------------------------------------------- */

static mpm_parameter_rows rows_of(const mpm_fem *fem, size_t index, void *const *written)
{
    const mpm_store *store = &fem->parameters.store;
    mpm_parameter_rows rows = {&fem->materials[index], (int32_t)index, store->rows[MATERIAL], store->count,
                               store->real_size, {NULL}};
    for (int k = 0; k < rows.material->varying; k++) {
        const int field = rows.material->column[k];
        rows.values[k] = written && written[field] ? written[field] : store->rows[field];
    }
    return rows;
}

static mpm_status inspect_together(void *self, void *const *written, uint8_t *flaws, const char **words)
{
    const mpm_fem *fem = self;
    for (size_t m = 0; m < fem->material_count; m++) {
        const mpm_parameter_rows rows = rows_of(fem, m, written);
        if (mpm_parameters_written(&fem->parameters.store.fields, rows.material, written))
            mpm_parameters_inspect(&rows, flaws, words);
    }
    return MPM_OK;
}

static const mpm_store_method method = {.inspect_together = inspect_together};

mpm_status mpm_fem_parameters_begin(mpm_fem *fem)
{
    mpm_field material = {"material", "1", MPM_SCALAR, MPM_TYPE_INT32, .lasting = true};
    fem->parameters.store = (mpm_store){.run = &fem->run, .method = &method, .row = "element",
                                        .real_size = fem->settings.real_size, .fields.dim = fem->settings.dim};
    return mpm_store_add_fields(&fem->parameters.store, &material, 1);
}

/* Lanes with different branches would need a law each. */
static bool has_branches(const mpm_material *material)
{
    for (int k = 0; k < material->varying; k++)
        if (mpm_material_law(material)->parameter[material->parameter[k]].branches)
            return true;
    return false;
}

/* Adds the fields of a material, and tells it which they are. On error nothing has changed. */
mpm_status mpm_fem_parameters_add(mpm_fem *fem, mpm_material *material)
{
    mpm_field rows[MPM_LAW_PARAMETERS];
    int count = 0;
    if (!material->varying)
        return MPM_OK;
    if (!mpm_parameters_may_vary(material, fem->settings.dim) || has_branches(material) || fem->mesh.elements)
        return MPM_BAD_ARGUMENT;
    mpm_store *store = &fem->parameters.store;
    mpm_status status = mpm_parameters_list(&store->fields, material, rows, &count);
    if (status || (status = mpm_store_add_fields(store, rows, count)))
        return status;
    for (int k = 0; k < material->varying; k++)
        material->column[k] = mpm_parameters_field(&store->fields, material, k);
    const size_t bytes = fem->kernels->law_size(material->law);
    fem->parameters.prepared_bytes = bytes > fem->parameters.prepared_bytes ? bytes : fem->parameters.prepared_bytes;
    return MPM_OK;
}

/* ---- the values ------------------------------------------------------------------------------------------------- */

bool mpm_fem_parameters_missing(const mpm_fem *fem)
{
    return fem->parameters.prepared_bytes && !fem->parameters.prepared;
}

/* Finds the row of each lane and the material of each row; false unless every element has a row of its own. Padding has
 * the row of the last element. */
static bool set_rows(mpm_fem *fem, const int32_t *row)
{
    const mpm_fem_mesh *mesh = &fem->mesh;
    int32_t *element_row = fem->parameters.element_row, *material = fem->parameters.store.rows[MATERIAL];
    memset(element_row, -1, (size_t)(mesh->tiles * mesh->lanes) * sizeof *element_row);
    for (ptrdiff_t e = 0; e < mesh->elements; e++)
        material[e] = -1;
    for (ptrdiff_t e = 0; e < mesh->elements; e++)
        element_row[mesh->slot[e]] = row[e];
    for (int32_t s = 0; s < mesh->task_strip[mesh->tasks]; s++)
        for (ptrdiff_t i = mesh->strips[s].first * mesh->lanes; i < mesh->strips[s].end * mesh->lanes; i++) {
            if (element_row[i] < 0 && i > mesh->strips[s].first * mesh->lanes) {
                element_row[i] = element_row[i - 1];
                continue;
            }
            if (element_row[i] < 0 || element_row[i] >= mesh->elements || material[element_row[i]] >= 0)
                return false;
            material[element_row[i]] = mesh->strips[s].material;
        }
    return true;
}

/* Sets the values of a material's elements; false if one is out of range, or some do not go together. */
static bool set_values(mpm_fem *fem, size_t index, const double *values, uint8_t *flaws)
{
    mpm_store *store = &fem->parameters.store;
    const int fields = store->fields.count - FIRST_PARAMETER;
    const mpm_parameter_rows rows = rows_of(fem, index, NULL);
    const char *words = NULL;
    for (int k = 0; k < rows.material->varying; k++) {
        const int field = rows.material->column[k];
        for (ptrdiff_t row = 0; row < rows.count; row++) {
            if (rows.materials[row] != rows.index)
                continue;
            mpm_real_set(store->rows[field], (size_t)row, values[row * fields + field - FIRST_PARAMETER],
                         rows.real_size);
            const double kept = mpm_real_at(store->rows[field], (size_t)row, rows.real_size);
            if (!isfinite(kept) || !mpm_field_allows(&store->fields.row[field], kept))
                return false;
        }
    }
    mpm_parameters_inspect(&rows, flaws, &words);
    return !words;
}

mpm_status mpm_fem_parameters_set(mpm_fem *fem, const int32_t *row, const double *values)
{
    const mpm_allocator *allocator = &fem->run.allocator;
    struct fem_parameters *parameters = &fem->parameters;
    const size_t tiles = (size_t)fem->mesh.tiles;
    if (!fem->mesh.elements || !mpm_fem_parameters_missing(fem))
        return MPM_BAD_ARGUMENT;
    uint8_t *flaws = mpm_memory_new(allocator, (size_t)fem->mesh.elements, 1);
    void *prepared = mpm_memory_new(allocator, tiles, parameters->prepared_bytes);
    parameters->element_row =
        mpm_memory_new(allocator, tiles * (size_t)fem->mesh.lanes, sizeof *parameters->element_row);
    mpm_status status = flaws && prepared && parameters->element_row
                            ? mpm_store_reserve(&parameters->store, fem->mesh.elements)
                            : MPM_OUT_OF_MEMORY;
    if (!status) {
        mpm_store_add_rows(&parameters->store, fem->mesh.elements);
        bool good = set_rows(fem, row);
        for (size_t m = 0; m < fem->material_count && good; m++)
            good = set_values(fem, m, values, flaws);
        status = good ? MPM_OK : MPM_BAD_ARGUMENT;
        parameters->store.count = good ? parameters->store.count : 0;
    }
    if (!status) {
        parameters->prepared = prepared;
    } else {
        mpm_memory_free(allocator, prepared);
        mpm_memory_free(allocator, parameters->element_row);
        parameters->element_row = NULL;
    }
    mpm_memory_free(allocator, flaws);
    return status;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

mpm_status mpm_fem_parameters_read_in(mpm_fem *fem)
{
    const mpm_store *store = &fem->parameters.store;
    for (int f = FIRST_PARAMETER; f < store->fields.count; f++)
        if (mpm_view_may_be_written(store->views[f]))
            fem->settled = fem->parameters.current = false;
    return mpm_store_read_in(&fem->parameters.store);
}

mpm_store *mpm_fem_parameters_get(mpm_fem *fem)
{
    return &fem->parameters.store;
}

void mpm_fem_parameters_clear(mpm_fem *fem)
{
    mpm_memory_free(&fem->run.allocator, fem->parameters.element_row);
    mpm_memory_free(&fem->run.allocator, fem->parameters.prepared);
    mpm_store_clear(&fem->parameters.store);
}
