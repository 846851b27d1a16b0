/* SPDX-License-Identifier: MIT */
#include "mpm/snapshot.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/real.h"
#include "materials/parameters.h"
#include "mpm/describe.h"
#include "mpm/halo.h"
#include "mpm/memory/block_map.h"
#include "mpm/replicas.h"
#include "mpm/state.h"
#include "mpm/volumes.h"

/* ---- the clock -------------------------------------------------------------------------------------------------- */

struct entry {
    const char *name;
    size_t offset;
};

#define ENTRY(name, member) {name, offsetof(mpm_simulation, member)}
static const struct entry numbers[] = {
    ENTRY("time", run.time), ENTRY("dt", run.dt), ENTRY("natural_dt", run.natural_dt), ENTRY("drift", drift),
    ENTRY("approach", approach), ENTRY("heat_pending", heat.pending),
    ENTRY("body_impulse.x", books.body_impulse[0]), ENTRY("body_impulse.y", books.body_impulse[1]),
    ENTRY("body_impulse.z", books.body_impulse[2]), ENTRY("wall_impulse.x", books.wall_impulse[0]),
    ENTRY("wall_impulse.y", books.wall_impulse[1]), ENTRY("wall_impulse.z", books.wall_impulse[2]),
    ENTRY("friction_work", books.friction_work), ENTRY("impact_work", books.impact_work),
    ENTRY("joint_work", books.joint_work), ENTRY("joint_impulse.x", books.joint_impulse[0]),
    ENTRY("joint_impulse.y", books.joint_impulse[1]), ENTRY("joint_impulse.z", books.joint_impulse[2]),
    ENTRY("damping_impulse.x", damping_impulse[0]), ENTRY("damping_impulse.y", damping_impulse[1]),
    ENTRY("damping_impulse.z", damping_impulse[2]), ENTRY("wall_heat", heat.book.wall),
    ENTRY("collider_heat", heat.book.collider), ENTRY("source_heat", heat.book.source),
    ENTRY("friction_heat", heat.book.friction),
};
static const struct entry counters[] = {
    ENTRY("steps", run.steps), ENTRY("next_id", store.next_id),
    ENTRY("health.left_domain", run.health[MPM_HEALTH_LEFT_DOMAIN]),
    ENTRY("health.clamped", run.health[MPM_HEALTH_CLAMPED]), ENTRY("health.deleted", run.health[MPM_HEALTH_DELETED]),
    ENTRY("health.clipped", run.health[MPM_HEALTH_CLIPPED]), ENTRY("health.refused", run.health[MPM_HEALTH_REFUSED]),
    ENTRY("health.binnings", run.health[MPM_HEALTH_BINNINGS]),
    ENTRY("health.stagnated", run.health[MPM_HEALTH_STAGNATED]),
};
static const struct entry flags[] = { /* stored after the counters */
    ENTRY("binning_due", binning_due), ENTRY("frozen", frozen), ENTRY("suspect", run.suspect),
};
#undef ENTRY

enum {
    NUMBERS = sizeof numbers / sizeof *numbers,
    COUNTERS = sizeof counters / sizeof *counters,
    FLAGS = sizeof flags / sizeof *flags,
    SIGNED_NUMBERS = 19, /* the last numbers are impulses, works and heat; all others are not negative */
    NEXT_ID = 1, FROZEN = COUNTERS + 1
};

const char *mpm_snapshot_number(int index)
{
    return index < NUMBERS ? numbers[index].name : NULL;
}

const char *mpm_snapshot_counter(int index)
{
    return index < COUNTERS ? counters[index].name : index < COUNTERS + FLAGS ? flags[index - COUNTERS].name : NULL;
}

static void take_clock(const mpm_simulation *simulation, const mpm_snapshot *snapshot)
{
    const char *from = (const char *)simulation;
    for (int k = 0; k < NUMBERS; k++)
        memcpy(&snapshot->numbers[k], from + numbers[k].offset, sizeof(double));
    for (int k = 0; k < COUNTERS; k++)
        memcpy(&snapshot->counters[k], from + counters[k].offset, sizeof(int64_t));
    for (int k = 0; k < FLAGS; k++)
        snapshot->counters[COUNTERS + k] = *(const bool *)(from + flags[k].offset);
}

static void restore_clock(mpm_simulation *simulation, const mpm_snapshot *snapshot)
{
    char *to = (char *)simulation;
    for (int k = 0; k < NUMBERS; k++)
        memcpy(to + numbers[k].offset, &snapshot->numbers[k], sizeof(double));
    for (int k = 0; k < COUNTERS; k++)
        memcpy(to + counters[k].offset, &snapshot->counters[k], sizeof(int64_t));
    for (int k = 0; k < FLAGS; k++)
        *(bool *)(to + flags[k].offset) = snapshot->counters[COUNTERS + k] != 0;
}

static bool is_clock(const mpm_snapshot *snapshot)
{
    for (int k = 0; k < NUMBERS; k++)
        if (!isfinite(snapshot->numbers[k]) || (k < NUMBERS - SIGNED_NUMBERS && snapshot->numbers[k] < 0))
            return false;
    for (int k = 0; k < COUNTERS; k++)
        if (snapshot->counters[k] < 0 || snapshot->counters[k] > INT64_MAX / 2)
            return false;
    for (int k = 0; k < FLAGS; k++)
        if (snapshot->counters[COUNTERS + k] != 0 && snapshot->counters[COUNTERS + k] != 1)
            return false;
    return true;
}

/* ---- particles -------------------------------------------------------------------------------------------------- */

/* Reals per particle that a snapshot has of a field; 0: the field follows from others. */
static size_t components_of(const mpm_store *store, int field)
{
    const mpm_field *row = &store->fields.row[field];
    return row->column < 0 ? 0 : (size_t)mpm_rank_components(row->rank, store->fields.dim);
}

static size_t row_bytes(const mpm_store *store, int field)
{
    return components_of(store, field) * store->real_size;
}

/* The slot of the p-th particle of a group. */
static size_t slot_of(const mpm_particles *particles, const mpm_group *group, int32_t p)
{
    const int lanes = particles->lanes;
    return (size_t)(group->first_tile + p / lanes) * (size_t)lanes + (size_t)mpm_particles_lane(lanes, p % lanes);
}

/* The place of a number of a field in a slot of the tiles, which are mapped. */
static char *number_of(const mpm_particles *particles, const mpm_field *field, size_t slot, size_t component)
{
    const size_t width = (size_t)field->width;
    const size_t at = mpm_particles_index(slot, component % width, width, (size_t)particles->lanes);
    return (char *)particles->column[(size_t)field->column + component / width] + at * particles->real_size;
}

/* Are the particles of a group those of another process alone? */
static bool is_elsewhere(const mpm_group *group)
{
    return !group->tiles;
}

/* The particles of a group that are here. */
static int32_t here(const mpm_group *group)
{
    return is_elsewhere(group) ? 0 : group->count;
}

/* Copies a field of `count` particles from number `first` on from the tiles, which are mapped, to `list`, or back.
 * Those that are elsewhere are left out. */
static void copy_field(const mpm_particles *particles, const mpm_field *field, size_t components, size_t first,
                       size_t count, char *list, bool back)
{
    const size_t size = particles->real_size;
    for (size_t g = 0; g < particles->group_count && count; g++) {
        const mpm_group *group = &particles->groups[g];
        if (first >= (size_t)group->count) {
            first -= (size_t)group->count;
            continue;
        }
        if (is_elsewhere(group)) {
            const size_t rest = (size_t)group->count - first, some = rest < count ? rest : count;
            list += some * components * size;
            count -= some;
        }
        for (int32_t p = (int32_t)first; p < group->count && count && !is_elsewhere(group); p++, count--) {
            const size_t slot = slot_of(particles, group, p);
            for (size_t c = 0; c < components; c++, list += size) {
                char *resident = number_of(particles, field, slot, c);
                memcpy(back ? resident : list, back ? list : resident, size);
            }
        }
        first = 0;
    }
}

static void take_field(const mpm_store *store, int field, size_t first, size_t count, void *out)
{
    const mpm_simulation *simulation = store->run->self;
    const mpm_field *row = &store->fields.row[field];
    const size_t components = components_of(store, field);
    const int end = row->column + (int)((components - 1) / (size_t)row->width) + 1;
    const mpm_particles particles = mpm_particles_map(&simulation->particles, row->column, end, MPM_READ);
    const size_t bytes = count * row_bytes(store, field);
    if (simulation->distributed)
        memset(out, 0, bytes);
    copy_field(&particles, row, components, first, count, out, false);
    mpm_particles_unmap(&simulation->particles, row->column, end);
    mpm_replicas_join_rows(simulation, out, bytes);
}

static void copy_rows(mpm_particles *particles, int32_t *list, bool back)
{
    for (size_t g = 0; g < particles->group_count; g++)
        for (int32_t p = 0; p < particles->groups[g].count; p++, list++) {
            if (is_elsewhere(&particles->groups[g]))
                continue;
            int32_t *resident = &particles->row[slot_of(particles, &particles->groups[g], p)];
            *(back ? resident : list) = *(back ? list : resident);
        }
}

static void take_group(const mpm_group *group, int32_t out[MPM_SNAPSHOT_GROUP])
{
    memcpy(out, group->block, sizeof group->block);
    out[3] = group->material;
    out[4] = group->count;
    memcpy(out + 5, group->first_node, sizeof group->first_node);
    memcpy(out + 8, group->last_node, sizeof group->last_node);
}

static mpm_group group_of(const int32_t in[MPM_SNAPSHOT_GROUP])
{
    mpm_group group = {.material = in[3], .count = in[4]};
    memcpy(group.block, in, sizeof group.block);
    memcpy(group.first_node, in + 5, sizeof group.first_node);
    memcpy(group.last_node, in + 8, sizeof group.last_node);
    return group;
}

static void measure(const mpm_store *store, mpm_snapshot *snapshot)
{
    const mpm_simulation *simulation = store->run->self;
    snapshot->groups = simulation->particles.group_count;
    snapshot->particles = (size_t)simulation->particles.count;
    snapshot->records = simulation->run.history.count;
}

static size_t rigid_count(const mpm_simulation *simulation)
{
    size_t count = 0;
    for (size_t material = 0; material < simulation->material_count; material++)
        count += mpm_material_law(&simulation->materials[material])->rigid;
    return count;
}

static mpm_snapshot_array array(const mpm_store *store, int index)
{
    const mpm_simulation *simulation = store->run->self;
    const size_t record = (size_t)mpm_history_length(&store->run->history), loads = store->run->loads.count;
    const size_t pairs = simulation->settings.contact ? 1 + 3 * simulation->layers.named_count : 0;
    const size_t books = (simulation->boundary.count + simulation->joint_count) * MPM_SNAPSHOT_BOOK + pairs;
    const size_t motions = rigid_count(simulation) * MPM_SNAPSHOT_MOTION;
    const mpm_snapshot_array arrays[] = {
        {"groups", offsetof(mpm_snapshot, group), MPM_SNAPSHOT_GROUP * sizeof(int32_t), MPM_PER_GROUP},
        {"row", offsetof(mpm_snapshot, row), sizeof(int32_t), MPM_PER_PARTICLE},
        {"id", offsetof(mpm_snapshot, id), sizeof(int64_t), MPM_PER_PARTICLE},
        {"history", offsetof(mpm_snapshot, history), record * sizeof(double), MPM_PER_RECORD},
        {"books", offsetof(mpm_snapshot, books), books * sizeof(double), MPM_PER_RUN},
        {"numbers", offsetof(mpm_snapshot, numbers), NUMBERS * sizeof(double), MPM_PER_RUN},
        {"counters", offsetof(mpm_snapshot, counters), (COUNTERS + FLAGS) * sizeof(int64_t), MPM_PER_RUN},
        {"loads", offsetof(mpm_snapshot, loads), loads * MPM_LOAD_BOOK * sizeof(double), MPM_PER_RUN},
        {"bodies", offsetof(mpm_snapshot, bodies), motions * sizeof(double), MPM_PER_RUN},
    };
    enum { OF_ALL = 7 }; /* the others are there if they have something */
    for (int k = 0; k < (int)(sizeof arrays / sizeof *arrays); k++)
        if (k < OF_ALL || arrays[k].bytes)
            if (index-- == 0)
                return arrays[k];
    return (mpm_snapshot_array){0};
}

/* Copies the motions of rigid bodies to `list`, or back. */
static void copy_motions(mpm_simulation *simulation, double *list, bool back)
{
    for (size_t material = 0; material < simulation->material_count; material++) {
        mpm_rigid_motion *motion = &simulation->rigid[material].motion;
        if (!mpm_material_law(&simulation->materials[material])->rigid)
            continue;
        memcpy(back ? (void *)motion : list, back ? list : (void *)motion, sizeof *motion);
        list += MPM_SNAPSHOT_MOTION;
    }
}

/* Copies the books of contact between bodies to `books`, or back. */
static void copy_pairs(mpm_simulation *simulation, double *books, bool back)
{
    double *work = &simulation->adhesion_work;
    *(back ? work : books) = *(back ? books : work);
    books++;
    for (size_t k = 0; k < simulation->layers.named_count; k++, books += 3) {
        double *impulse = simulation->layers.list[simulation->layers.named[k]].impulse;
        memcpy(back ? impulse : books, back ? books : impulse, sizeof simulation->layers.list->impulse);
    }
}

static void copy_book(double impulse[3], double torque[3], double *books, bool back)
{
    memcpy(back ? impulse : books, back ? books : impulse, 3 * sizeof(double));
    memcpy(back ? torque : books + 3, back ? books + 3 : torque, 3 * sizeof(double));
}

/* Copies the books of colliders, joints and contact between bodies to `books`, or back. */
static void copy_books(mpm_simulation *simulation, double *books, bool back)
{
    for (size_t k = 0; k < simulation->boundary.count; k++, books += MPM_SNAPSHOT_BOOK)
        copy_book(simulation->boundary.books[k].impulse, simulation->boundary.books[k].torque, books, back);
    for (size_t k = 0; k < simulation->joint_count; k++, books += MPM_SNAPSHOT_BOOK)
        copy_book(simulation->joints[k].impulse, simulation->joints[k].torque, books, back);
    if (simulation->settings.contact)
        copy_pairs(simulation, books, back);
}

static void take(const mpm_store *store, const mpm_snapshot *snapshot)
{
    mpm_simulation *simulation = store->run->self;
    mpm_particles particles = mpm_particles_map(&simulation->particles, 0, 0, MPM_READ);
    const size_t length = (size_t)mpm_history_length(&simulation->run.history);
    take_clock(simulation, snapshot);
    for (size_t g = 0; g < snapshot->groups; g++)
        take_group(&particles.groups[g], snapshot->group + g * MPM_SNAPSHOT_GROUP);
    if (simulation->distributed)
        memset(snapshot->row, 0, snapshot->particles * sizeof *snapshot->row);
    copy_rows(&particles, snapshot->row, false);
    mpm_particles_unmap(&simulation->particles, 0, 0);
    mpm_replicas_join_rows(simulation, snapshot->row, snapshot->particles * sizeof *snapshot->row);
    mpm_store_ids(store, snapshot->id);
    if (snapshot->records)
        memcpy(snapshot->history, simulation->run.history.records, snapshot->records * length * sizeof(double));
    if (simulation->run.loads.count)
        memcpy(snapshot->loads, simulation->run.loads.books,
               simulation->run.loads.count * sizeof *simulation->run.loads.books);
    copy_books(simulation, snapshot->books, false);
    copy_motions(simulation, snapshot->bodies, false);
}

/* ---- what a snapshot must be ------------------------------------------------------------------------------------ */

/* Is the block where particles can be, at most slightly beyond a face, and are its nodes near its particles? */
static bool is_group(const mpm_simulation *simulation, const mpm_group *group)
{
    const int dim = simulation->settings.dim, side = mpm_block_side(dim), degree = simulation->particles.degree;
    if (group->material < 0 || (size_t)group->material >= simulation->material_count || group->count < 1)
        return false;
    for (int axis = 0; axis < 3; axis++) {
        const int first = group->first_node[axis], highest = group->last_node[axis] - degree - 2;
        if (axis >= dim) {
            if (group->block[axis] || first || group->last_node[axis])
                return false;
            continue;
        }
        if (group->block[axis] < -2 || group->block[axis] > simulation->settings.cells[axis] / side + 2)
            return false;
        if (first < 0 || first > highest || highest >= side)
            return false;
    }
    return true;
}

/* The order of old checkpoints: x, y, z, material. */
static int compare_axes(const int32_t a[4], const int32_t b[4])
{
    for (int k = 0; k < 4; k++)
        if (a[k] != b[k])
            return a[k] < b[k] ? -1 : 1;
    return 0;
}

/* Groups follow each other along the curve of the blocks; in old checkpoints, along the axes. Either order shows that
 * no two are the same. The next binning sorts them along the curve. */
static bool are_groups(const mpm_simulation *simulation, const mpm_snapshot *snapshot)
{
    size_t particles = 0;
    bool along_curve = true, along_axes = true;
    for (size_t g = 0; g < snapshot->groups; g++) {
        const int32_t *entry = snapshot->group + g * MPM_SNAPSHOT_GROUP; /* begins as a key: block, material */
        const mpm_group group = group_of(entry);
        if (!is_group(simulation, &group))
            return false;
        along_curve = along_curve && (!g || mpm_block_map_compare(entry - MPM_SNAPSHOT_GROUP, entry) < 0);
        along_axes = along_axes && (!g || compare_axes(entry - MPM_SNAPSHOT_GROUP, entry) < 0);
        particles += (size_t)group.count;
    }
    return particles == snapshot->particles && (along_curve || along_axes);
}

static const double ROUNDING = 1e-4; /* of positions in cells, at most */

/* How far a particle is beyond the cells in which the particles of its group were binned, in cells; infinite where
 * binning does not look. */
static double drift_of(const mpm_simulation *simulation, const mpm_group *group, const double x[3])
{
    const int side = mpm_block_side(simulation->settings.dim), degree = simulation->particles.degree;
    const double reach = mpm_particles_reach(&simulation->particles);
    double drift = 0;
    for (int axis = 0; axis < simulation->settings.dim; axis++) {
        const double base = x[axis] - reach;
        if (!(base >= -side && base < 2 * side))
            return INFINITY;
        drift = fmax(drift, fmax(group->first_node[axis] - base, base - (group->last_node[axis] - degree - 1)));
    }
    return drift;
}

/* A number of a field in a slot of the tiles. */
static double value_at(const mpm_particles *particles, const mpm_field *field, size_t slot, size_t component)
{
    return mpm_real_at(number_of(particles, field, slot, component), 0, particles->real_size);
}

/* The largest drift of all particles. */
static double largest_drift(const mpm_simulation *simulation, const mpm_particles *particles)
{
    const mpm_field *field = &simulation->store.fields.row[MPM_FIELD_X];
    double largest = 0;
    for (size_t g = 0; g < particles->group_count; g++)
        for (int32_t p = 0; p < here(&particles->groups[g]); p++) {
            const size_t slot = slot_of(particles, &particles->groups[g], p);
            double x[3] = {0};
            for (size_t a = 0; a < (size_t)simulation->settings.dim; a++)
                x[a] = value_at(particles, field, slot, a);
            largest = fmax(largest, drift_of(simulation, &particles->groups[g], x));
        }
    return largest;
}

static bool is_mass(const mpm_simulation *simulation, const mpm_particles *particles, size_t slot, bool frozen)
{
    const double mass = value_at(particles, &simulation->store.fields.row[MPM_FIELD_MASS], slot, 0);
    const double volume = value_at(particles, &simulation->store.fields.row[MPM_FIELD_VOLUME], slot, 0);
    const bool taken_out = frozen && mass == 0 && volume == 0;
    return taken_out || (mass > 0 && isfinite(mass) && volume > 0 && isfinite(volume));
}

static bool is_finite(const mpm_particles *particles, const mpm_field *field, size_t components, size_t slot)
{
    for (size_t c = 0; c < components; c++)
        if (!isfinite(value_at(particles, field, slot, c)))
            return false;
    return true;
}

/* A state out of the range of its law is allowed here; the measurement finds it. */
static bool are_masses_and_motions(const mpm_simulation *simulation, const mpm_particles *particles, bool frozen)
{
    const mpm_fields *fields = &simulation->store.fields;
    for (size_t g = 0; g < particles->group_count; g++)
        for (int32_t p = 0; p < here(&particles->groups[g]); p++) {
            const size_t slot = slot_of(particles, &particles->groups[g], p);
            if (!is_mass(simulation, particles, slot, frozen))
                return false;
            for (int f = 0; f < fields->count; f++) {
                /* a step that ends a run leaves F, the histories of laws and the books of dissipation as they have
                 * become */
                const bool may_leave_its_range =
                    f == MPM_FIELD_F || (f >= MPM_CORE_FIELDS && fields->row[f].owner != MPM_OWNER_USER);
                if (!may_leave_its_range &&
                    !is_finite(particles, &fields->row[f], components_of(&simulation->store, f), slot))
                    return false;
            }
        }
    return true;
}

/* Are the parameters that vary within their ranges, and do they go together? Unlike a state, they never leave them. */
static bool are_parameters(const mpm_simulation *simulation, const mpm_particles *particles)
{
    for (size_t g = 0; g < particles->group_count; g++) {
        const mpm_group *group = &particles->groups[g];
        const mpm_material *material = &simulation->materials[group->material];
        double values[MPM_LAW_PARAMETERS];
        memcpy(values, material->values, sizeof values);
        for (int32_t p = 0; p < here(group) && material->varying; p++) {
            for (int k = 0; k < material->varying; k++) {
                const int f = mpm_parameters_field(&simulation->store.fields, material, k);
                const mpm_field *field = &simulation->store.fields.row[f];
                values[material->parameter[k]] = value_at(particles, field, slot_of(particles, group, p), 0);
                if (!mpm_field_allows(field, values[material->parameter[k]]))
                    return false;
            }
            if (mpm_laws_unfit(material->law, values))
                return false;
        }
    }
    return true;
}

static bool are_ids(const mpm_snapshot *snapshot)
{
    for (size_t row = 0; row < snapshot->particles; row++)
        if (snapshot->id[row] < (row ? snapshot->id[row - 1] + 1 : 0) ||
            snapshot->id[row] >= snapshot->counters[NEXT_ID])
            return false;
    return true;
}

/* Does every row occur exactly once? `seen` is zeroed scratch. */
static bool are_rows(const mpm_snapshot *snapshot, uint8_t *seen)
{
    for (size_t i = 0; i < snapshot->particles; i++) {
        const int32_t row = snapshot->row[i];
        if (row < 0 || (size_t)row >= snapshot->particles || seen[row])
            return false;
        seen[row] = 1;
    }
    return true;
}

/* Looks for a flaw in the arrays beside the fields. */
static mpm_status find_flaw(const mpm_simulation *simulation, const mpm_snapshot *snapshot, const char **flaw)
{
    if (simulation->run.steps || simulation->store.next_id) {
        *flaw = "the simulation is not new";
        return MPM_BAD_STATE;
    }
    uint8_t *seen = mpm_memory_new(&simulation->run.allocator, snapshot->particles, 1);
    if (!seen)
        return MPM_OUT_OF_MEMORY;
    *flaw = !is_clock(snapshot) ? "the clock or a counter is out of range"
            : !are_groups(simulation, snapshot) ? "groups of particles do not fit the domain or the materials"
            : !are_ids(snapshot) ? "numbers of particles do not ascend"
            : !are_rows(snapshot, seen) ? "rows of particles are missing or doubled"
            : NULL;
    mpm_memory_free(&simulation->run.allocator, seen);
    return *flaw ? MPM_BAD_STATE : MPM_OK;
}

/* Looks for a flaw in the fields. */
static const char *find_flaw_of_fields(const mpm_simulation *simulation, const mpm_particles *particles, bool frozen,
                                       double drift)
{
    return !isfinite(drift) ? "a particle is not where its group is"
           : !are_masses_and_motions(simulation, particles, frozen)
               ? "a mass, volume, velocity or its gradient is out of range"
           : !are_parameters(simulation, particles) ? "a parameter of a particle is out of range"
                                                    : NULL;
}

/* ---- restoring -------------------------------------------------------------------------------------------------- */

/* The new parts of the simulation, complete before anything is changed. */
struct parts {
    mpm_particles particles;
    mpm_grid grid;
    double drift; /* the largest of all particles, in cells */
};

static void free_parts(struct parts *parts)
{
    mpm_grid_clear(&parts->grid, parts->particles.device);
    mpm_particles_clear(&parts->particles);
}

/* Fills a field of the tiles, which are mapped; false: the source has failed. */
static bool fill_field(const mpm_simulation *simulation, const mpm_particles *particles, int f,
                       const mpm_snapshot_source *source)
{
    const mpm_field *field = &simulation->store.fields.row[f];
    const size_t components = components_of(&simulation->store, f), particle_count = (size_t)particles->count;
    size_t count = 0;
    for (size_t first = 0; components && first < particle_count; first += count) {
        const void *values = source->next(source->context, f, particle_count - first, &count);
        if (!values)
            return false;
        copy_field(particles, field, components, first, count, (char *)values, true);
    }
    return true;
}

/* Fills the tiles, which are mapped, and checks them. */
static mpm_status fill_particles(const mpm_simulation *simulation, const mpm_snapshot *snapshot,
                                 const mpm_snapshot_source *source, mpm_particles *particles, struct parts *parts,
                                 const char **flaw)
{
    for (size_t g = 0; g < particles->group_count; g++)
        if (!is_elsewhere(&particles->groups[g]))
            mpm_particles_pad(particles, &particles->groups[g]);
    copy_rows(particles, snapshot->row, true);
    for (int f = 0; f < simulation->store.fields.count; f++)
        if (!fill_field(simulation, particles, f, source))
            return MPM_BAD_STATE;
    parts->drift = largest_drift(simulation, particles);
    *flaw = find_flaw_of_fields(simulation, particles, snapshot->counters[FROZEN], parts->drift);
    return *flaw ? MPM_BAD_STATE : MPM_OK;
}

/* Reads the table of groups. */
static mpm_status read_groups(const mpm_simulation *simulation, const mpm_snapshot *snapshot,
                              mpm_particles *particles)
{
    if (!(particles->groups = mpm_memory_new(&simulation->run.allocator, snapshot->groups, sizeof *particles->groups)))
        return MPM_OUT_OF_MEMORY;
    for (size_t g = 0; g < snapshot->groups; g++) {
        particles->groups[g] = group_of(snapshot->group + g * MPM_SNAPSHOT_GROUP);
        particles->groups[g].layer = simulation->layer[particles->groups[g].material];
    }
    particles->group_count = snapshot->groups;
    particles->count = (ptrdiff_t)snapshot->particles;
    return MPM_OK;
}

/* Gives every group its tiles, if they are here. */
static mpm_status lay_groups(const mpm_simulation *simulation, const mpm_grid *grid, mpm_particles *particles)
{
    size_t first = 0, end = particles->group_count;
    if (simulation->distributed) {
        const mpm_team *team = simulation->team;
        first = mpm_partition_first_group(grid, team, team->transport.own);
        end = mpm_partition_first_group(grid, team, team->transport.own + 1);
    }
    for (size_t g = 0; g < particles->group_count; g++) {
        mpm_group *group = &particles->groups[g];
        group->first_tile = (int32_t)particles->tiles;
        group->tiles = g >= first && g < end ? (group->count - 1) / particles->lanes + 1 : 0;
        particles->tiles += group->tiles;
    }
    return particles->tiles > INT32_MAX / particles->lanes ? MPM_TOO_LARGE : MPM_OK; /* as in binning */
}

/* Where memory is distributed: sets the nodes that this process reaches to 0. The others get no memory from the
 * system. */
static mpm_status clear_own_nodes(const mpm_simulation *simulation, mpm_grid *grid)
{
    struct halo halo;
    if (!simulation->distributed)
        return MPM_OK;
    if (mpm_halo_fit(simulation, grid, &halo))
        return MPM_OUT_OF_MEMORY;
    mpm_grid_clear_nodes(grid, halo.partition.reach, simulation->settings.real_size);
    mpm_halo_clear(&halo, &simulation->run.allocator);
    return MPM_OK;
}

/* Builds all but the particles: the groups and the grid, which tell whose particles are here. */
static mpm_status lay_grid(const mpm_simulation *simulation, const mpm_snapshot *snapshot, struct parts *parts)
{
    const mpm_settings *settings = &simulation->settings;
    mpm_symmetry symmetry[3] = {{0}};
    for (int axis = 0; axis < settings->dim; axis++)
        symmetry[axis] = mpm_boundary_symmetry(&simulation->boundary, axis);
    mpm_status status = read_groups(simulation, snapshot, &parts->particles);
    if (!status)
        status = mpm_grid_build(&parts->grid, &simulation->backend->device, parts->particles.groups, snapshot->groups,
                                parts->particles.count, symmetry, settings->dim, settings->real_size,
                                mpm_describe_fields(simulation), simulation->distributed);
    if (!status)
        status = lay_groups(simulation, &parts->grid, &parts->particles);
    return status ? status : clear_own_nodes(simulation, &parts->grid);
}

static mpm_status lay_particles(const mpm_simulation *simulation, const mpm_snapshot *snapshot,
                                const mpm_snapshot_source *source, struct parts *parts, const char **flaw)
{
    mpm_particles *particles = &parts->particles;
    if (mpm_particles_allocate(particles, (size_t)particles->tiles))
        return MPM_OUT_OF_MEMORY;
    mpm_particles mapped = mpm_particles_map(particles, 0, particles->columns, MPM_WRITE);
    const mpm_status status = fill_particles(simulation, snapshot, source, &mapped, parts, flaw);
    mpm_particles_unmap(particles, 0, particles->columns);
    return status;
}

/* Makes room for rows and records. Unused room does no harm, so this may precede checks. */
static mpm_status make_room(mpm_simulation *simulation, const mpm_snapshot *snapshot)
{
    mpm_history *history = &simulation->run.history;
    if (mpm_memory_grow(&simulation->run.allocator, (void **)&history->records, &history->capacity, 0,
                        snapshot->records, (size_t)mpm_history_length(history) * sizeof *history->records))
        return MPM_OUT_OF_MEMORY;
    return mpm_store_reserve(&simulation->store, (ptrdiff_t)snapshot->particles);
}

/* The ids and materials of the rows; where memory is distributed, the own share of the ids, and no materials. */
static void restore_rows(mpm_simulation *simulation, const mpm_snapshot *snapshot)
{
    mpm_store *store = &simulation->store;
    mpm_history *history = &simulation->run.history;
    size_t first = 0, end = snapshot->particles;
    mpm_store_add_rows(store, (ptrdiff_t)snapshot->particles);
    if (simulation->distributed) {
        const mpm_transport *transport = &simulation->team->transport;
        first = mpm_team_cut(snapshot->particles, transport->processes, transport->own);
        end = mpm_team_cut(snapshot->particles, transport->processes, transport->own + 1);
    }
    if (end > first)
        memcpy(store->rows[MPM_FIELD_ID], snapshot->id + first, (end - first) * sizeof *snapshot->id);
    int32_t *material = store->rows[MPM_FIELD_MATERIAL];
    const int32_t *row = snapshot->row;
    for (size_t g = 0; g < snapshot->groups && !simulation->distributed; g++)
        for (int32_t p = 0; p < simulation->particles.groups[g].count; p++)
            material[*row++] = simulation->particles.groups[g].material;
    history->count = snapshot->records;
    if (history->count)
        memcpy(history->records, snapshot->history,
               history->count * (size_t)mpm_history_length(history) * sizeof *history->records);
}

static mpm_status restore(mpm_store *store, const mpm_snapshot *snapshot, const mpm_snapshot_source *source,
                          const char **flaw)
{
    mpm_simulation *simulation = store->run->self;
    mpm_device *device = &simulation->backend->device;
    struct parts parts = {.particles = mpm_particles_empty_like(&simulation->particles)};
    *flaw = NULL;
    if (snapshot->particles > INT32_MAX / 2)
        return MPM_TOO_LARGE;
    mpm_status status = find_flaw(simulation, snapshot, flaw);
    if (!status)
        status = lay_grid(simulation, snapshot, &parts);
    if (!status)
        status = lay_particles(simulation, snapshot, source, &parts, flaw);
    if (!status)
        status = make_room(simulation, snapshot);
    if ((status = mpm_replicas_agree(simulation, status))) {
        free_parts(&parts);
        return status;
    }
    if (simulation->distributed)
        parts.drift = mpm_team_most(simulation->team, parts.drift);
    mpm_particles_clear(&simulation->particles);
    mpm_grid_clear(&simulation->grid, device);
    simulation->particles = parts.particles;
    simulation->grid = parts.grid;
    mpm_volumes_note_all(simulation);
    restore_rows(simulation, snapshot);
    restore_clock(simulation, snapshot);
    if (parts.drift > simulation->drift + ROUNDING) { /* no run leaves such a state */
        simulation->drift = parts.drift;
        simulation->binning_due |= parts.drift > 1;
    }
    if (simulation->run.loads.count)
        memcpy(simulation->run.loads.books, snapshot->loads,
               simulation->run.loads.count * sizeof *simulation->run.loads.books);
    copy_books(simulation, snapshot->books, true);
    copy_motions(simulation, snapshot->bodies, true);
    simulation->bodies_due = simulation->bodies_restored = simulation->has_rigid;
    return MPM_OK;
}

const mpm_snapshot_method mpm_snapshot_of_particles = {
    .array = array, .row_bytes = row_bytes, .measure = measure, .take = take, .take_field = take_field,
    .restore = restore,
};
