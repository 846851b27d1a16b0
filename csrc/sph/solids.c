/* SPDX-License-Identifier: MIT
 *
 * Colliders as particles: points of the fluid's lattice within 2h below their surface, which move with it. They have
 * density and pressure like the fluid. A pressure of the fluid mirrored onto a surface would add energy instead.
 *
 * Points near a face of the domain have images beyond it, as the fluid has. Where two colliders overlap, only the
 * earlier one has points.
 */
#include "sph/solids.h"

#include <math.h>
#include <string.h>

#include "base/real.h"
#include "run/march.h"
#include "sph/state.h"

enum { BLOCK = 8 };

static void place_of(const mpm_collider *collider, const double point[3], double x[3])
{
    const mpm_collider_state *now = &collider->now;
    for (int a = 0; a < 3; a++) {
        x[a] = now->reference[a];
        for (int b = 0; b < 3; b++)
            x[a] += now->rotation[3 * a + b] * (point[b] - collider->reference[b]);
    }
}

static void own_place_of(const mpm_collider *collider, const double x[3], double point[3])
{
    const mpm_collider_state *now = &collider->now;
    for (int a = 0; a < 3; a++) {
        point[a] = collider->reference[a];
        for (int b = 0; b < 3; b++)
            point[a] += now->rotation[3 * b + a] * (x[b] - now->reference[b]);
    }
}

/* ---- the points of a new collider ------------------------------------------------------------------------------- */

/* Lattice points first .. end - 1 per axis: a box, or a block of it. */
struct lattice_range {
    int64_t first[3], end[3];
};

/* So many are looked at in some minutes: more are a mistake, and farther ones have no number. */
static const double most_points = 1e9, farthest = 1e12;

/* The lattice points whose own place may be between `low` and `high`; false if they are too many or too far away. */
static bool find_range(const mpm_sph *sph, const mpm_collider *collider, const double low[3], const double high[3],
                       struct lattice_range *range)
{
    const mpm_sph_settings *s = &sph->settings;
    const double reach = 2 * s->smoothing * s->spacing;
    double points = 1;
    *range = (struct lattice_range){{0}, {1, 1, 1}};
    for (int a = 0; a < s->dim; a++) {
        double least = INFINITY, largest = -INFINITY;
        for (int corner = 0; corner < 1 << s->dim; corner++) {
            double point[3] = {0}, x[3];
            for (int b = 0; b < s->dim; b++)
                point[b] = corner >> b & 1 ? high[b] + reach : low[b] - reach;
            place_of(collider, point, x);
            least = fmin(least, x[a]);
            largest = fmax(largest, x[a]);
        }
        const double first = floor((least - s->lower[a]) / s->spacing);
        const double end = ceil((largest - s->lower[a]) / s->spacing) + 1;
        if (!(first >= -farthest && first < end && end <= farthest)) /* or it is no number */
            return false;
        range->first[a] = (int64_t)first;
        range->end[a] = (int64_t)end;
        points *= end - first;
    }
    return points <= most_points;
}

static void lattice_point(const mpm_sph_settings *s, const int64_t at[3], double x[3])
{
    for (int a = 0; a < 3; a++)
        x[a] = a < s->dim ? s->lower[a] + ((double)at[a] + 0.5) * s->spacing : 0;
}

/* Can points of the block be in the layer below the surface? */
static bool may_hold(const mpm_sph_settings *s, const mpm_collider *collider, const struct lattice_range *block,
                     double depth)
{
    double x[3], y[3], radius2 = 0;
    lattice_point(s, block->first, x);
    lattice_point(s, block->end, y);
    for (int a = 0; a < s->dim; a++) {
        radius2 += 0.25 * (y[a] - x[a]) * (y[a] - x[a]);
        x[a] = 0.5 * (x[a] + y[a]);
    }
    for (size_t p = 0; p < mpm_collider_pieces(collider); p++) {
        const double phi = mpm_collider_read_piece(collider, x, p, UINT64_MAX).phi;
        const double slack = mpm_collider_steepness(collider, p) * sqrt(radius2);
        if (phi <= slack && phi >= -depth - slack)
            return true;
    }
    return false;
}

/* phi at x of the first piece that contains x; it is positive where none does. Particles within others count for the
 * densities of those at their surface. */
static double depth_of(const mpm_collider *collider, const double x[3])
{
    double phi = INFINITY;
    for (size_t p = 0; p < mpm_collider_pieces(collider) && phi > 0; p++)
        phi = mpm_collider_read_piece(collider, x, p, UINT64_MAX).phi;
    return phi;
}

/* Is x within an earlier collider that is where it will always be relative to this one? */
static bool is_taken(const mpm_sph *sph, const mpm_collider *collider, const double x[3])
{
    const mpm_collider *earlier = sph->boundary.colliders;
    for (; earlier < collider && collider->motion.kind == MPM_MOTION_NONE; earlier++)
        if (earlier->motion.kind == MPM_MOTION_NONE &&
            mpm_collider_read(earlier, &earlier->now, x, UINT64_MAX).phi <= 0)
            return true;
    return false;
}

static mpm_status append_block(mpm_sph *sph, const mpm_collider *collider, const struct lattice_range *block,
                               struct sph_solid *solid, size_t *capacity)
{
    const mpm_sph_settings *s = &sph->settings;
    const double depth = 2 * s->smoothing * s->spacing;
    int64_t at[3];
    for (at[2] = block->first[2]; at[2] < block->end[2]; at[2]++)
        for (at[1] = block->first[1]; at[1] < block->end[1]; at[1]++)
            for (at[0] = block->first[0]; at[0] < block->end[0]; at[0]++) {
                double x[3];
                lattice_point(s, at, x);
                const double phi = depth_of(collider, x);
                if (!(phi <= 0) || phi < -depth || is_taken(sph, collider, x))
                    continue;
                const size_t used = 3 * (size_t)solid->count;
                if (solid->count > INT32_MAX / 32)
                    return MPM_TOO_LARGE;
                if (mpm_memory_grow(&sph->run.allocator, (void **)&solid->points, capacity, used, used + 3,
                                    sizeof *solid->points))
                    return MPM_OUT_OF_MEMORY;
                own_place_of(collider, x, solid->points + 3 * solid->count++);
            }
    return MPM_OK;
}

static mpm_status make_points(mpm_sph *sph, const mpm_collider *collider, const double low[3], const double high[3],
                              const mpm_goal *goal, struct sph_solid *solid)
{
    const mpm_sph_settings *s = &sph->settings;
    struct lattice_range all, block = {{0}, {0}};
    if (!find_range(sph, collider, low, high, &all))
        return MPM_TOO_LARGE;
    size_t capacity = 0;
    mpm_status status = MPM_OK;
    for (int64_t z = all.first[2]; z < all.end[2]; z += BLOCK)
        for (int64_t y = all.first[1]; y < all.end[1]; y += BLOCK)
            for (int64_t x = all.first[0]; x < all.end[0] && !status; x += BLOCK) {
                const int64_t first[3] = {x, y, z};
                for (int a = 0; a < 3; a++) {
                    block.first[a] = first[a];
                    block.end[a] = first[a] + BLOCK < all.end[a] ? first[a] + BLOCK : all.end[a];
                }
                if (may_hold(s, collider, &block, 2 * s->smoothing * s->spacing))
                    status = append_block(sph, collider, &block, solid, &capacity);
                if (!status)
                    status = mpm_march_poll(&sph->run, goal);
            }
    return status;
}

/* The distance of a point from the axis of a rotation, or from the reference point. */
static double arm_of(const mpm_collider *collider, const double point[3])
{
    const double *axis = collider->motion.vector;
    double from[3], along = 0, axis2 = 0, arm2 = 0;
    for (int a = 0; a < 3; a++) {
        from[a] = point[a] - collider->reference[a];
        along += from[a] * axis[a];
        axis2 += axis[a] * axis[a];
    }
    const double share = collider->motion.kind == MPM_MOTION_ROTATION && axis2 > 0 ? along / axis2 : 0;
    for (int a = 0; a < 3; a++)
        arm2 += (from[a] - share * axis[a]) * (from[a] - share * axis[a]);
    return sqrt(arm2);
}

mpm_status mpm_sph_solids_make(mpm_sph *sph, size_t index, const double low[3], const double high[3],
                               const mpm_goal *goal)
{
    const mpm_collider *collider = &sph->boundary.colliders[index];
    struct sph_solid *solid = &sph->solids[index];
    *solid = (struct sph_solid){0};
    const mpm_status status = make_points(sph, collider, low, high, goal, solid);
    if (status) {
        mpm_memory_free(&sph->run.allocator, solid->points);
        *solid = (struct sph_solid){0};
        return status;
    }
    for (ptrdiff_t i = 0; i < solid->count; i++)
        solid->extent = fmax(solid->extent, arm_of(collider, solid->points + 3 * i) + sph->settings.spacing);
    return MPM_OK;
}

void mpm_sph_solids_free(mpm_sph *sph, size_t index)
{
    struct sph_solid *solid = &sph->solids[index];
    mpm_memory_free(&sph->run.allocator, solid->points);
    mpm_memory_free(&sph->run.allocator, solid->x.data);
    mpm_memory_free(&sph->run.allocator, solid->v.data);
    *solid = (struct sph_solid){0};
}

void mpm_sph_solids_clear(mpm_sph *sph)
{
    for (size_t k = 0; k < sph->boundary.count && sph->solids; k++)
        mpm_sph_solids_free(sph, k);
    mpm_memory_free(&sph->run.allocator, sph->solids);
}

/* ---- where they are --------------------------------------------------------------------------------------------- */

/* Where neighbours of the fluid can be: its cells and two supports around them, within the domain. */
static void find_region(const mpm_sph *sph, double low[3], double high[3])
{
    const mpm_sph_cloud *fluid = &sph->clouds[MPM_SPH_FLUID];
    const double side = 1 / sph->pass.inverse_side;
    for (int a = 0; a < 3; a++) {
        low[a] = fmax(sph->pass.lower[a], sph->pass.origin[a] + side * (double)(fluid->low[a] - 2));
        high[a] = fmin(sph->pass.upper[a], sph->pass.origin[a] + side * (double)(fluid->low[a] + fluid->cells[a] + 2));
    }
}

/* Is x within an earlier collider, where one of both moves? */
static bool is_covered(const mpm_sph *sph, size_t index, const double x[3])
{
    const mpm_collider *colliders = sph->boundary.colliders;
    for (size_t k = 0; k < index; k++)
        if ((colliders[k].motion.kind != MPM_MOTION_NONE || colliders[index].motion.kind != MPM_MOTION_NONE) &&
            mpm_collider_read(&colliders[k], &colliders[k].now, x, UINT64_MAX).phi <= 0)
            return true;
    return false;
}

/* Appends the point at x and its images beyond faces. */
static void append_images(mpm_sph *sph, struct sph_solid *solid, const double x[3], const double v[3])
{
    const mpm_sph_pass *pass = &sph->pass;
    const int dim = sph->settings.dim;
    const size_t size = sph->settings.real_size;
    int sides[3][3] = {{0}}, counts[3] = {1, 1, 1};
    for (int a = 0; a < dim; a++) {
        if (x[a] - pass->lower[a] < 2 * pass->h)
            sides[a][counts[a]++] = -1;
        if (pass->upper[a] - x[a] < 2 * pass->h)
            sides[a][counts[a]++] = 1;
    }
    for (int k = 0; k < counts[0] * counts[1] * counts[2]; k++) {
        const int side[3] = {sides[0][k % counts[0]], sides[1][k / counts[0] % counts[1]],
                             sides[2][k / (counts[0] * counts[1])]};
        for (int a = 0; a < dim; a++) {
            const double face = side[a] < 0 ? pass->lower[a] : pass->upper[a], length = pass->upper[a] - pass->lower[a];
            const bool shifts = mpm_walls_periodic(pass->walls, a);
            const size_t at = (size_t)(solid->active * dim + a);
            mpm_real_set(solid->x.data, at, !side[a] ? x[a] : shifts ? x[a] - side[a] * length : 2 * face - x[a], size);
            mpm_real_set(solid->v.data, at, side[a] && !shifts ? -v[a] : v[a], size);
        }
        solid->active++;
    }
}

mpm_status mpm_sph_solids_pose(mpm_sph *sph, size_t index)
{
    struct sph_solid *solid = &sph->solids[index];
    const mpm_collider *collider = &sph->boundary.colliders[index];
    const mpm_collider_state *now = &collider->now;
    const int dim = sph->settings.dim, most = dim == 2 ? 4 : 8; /* images, where the domain is wider than 4h */
    double low[3], high[3];
    const size_t size = sph->settings.real_size;
    if (mpm_sph_grow(sph, &solid->x, solid->count * most * dim, size) ||
        mpm_sph_grow(sph, &solid->v, solid->count * most * dim, size))
        return MPM_OUT_OF_MEMORY;
    find_region(sph, low, high);
    solid->active = 0;
    for (ptrdiff_t i = 0; i < solid->count; i++) {
        double x[3], v[3];
        bool inside = true;
        place_of(collider, solid->points + 3 * i, x);
        for (int a = 0; a < dim; a++)
            inside &= x[a] >= low[a] && x[a] <= high[a];
        if (!inside || is_covered(sph, index, x))
            continue;
        for (int c = 0; c < 3; c++) {
            const int a = (c + 1) % 3, b = (c + 2) % 3;
            v[c] = now->velocity[c] + now->spin[a] * (x[b] - now->reference[b]) -
                   now->spin[b] * (x[a] - now->reference[a]);
        }
        append_images(sph, solid, x, v);
    }
    sph->clouds[MPM_SPH_COLLIDERS + index].count = solid->active;
    sph->clouds[MPM_SPH_COLLIDERS + index].x = solid->x.data;
    sph->clouds[MPM_SPH_COLLIDERS + index].v = solid->v.data;
    return MPM_OK;
}

/* ---- how far they may move -------------------------------------------------------------------------------------- */

static double longest_dt(const mpm_sph *sph, size_t index, double dt)
{
    return mpm_collider_longest_dt(&sph->boundary.colliders[index], sph->run.time, dt, sph->solids[index].extent,
                                   0.5 * sph->pass.h);
}

/* Velocities of the particles are means over a step of a usual size, or over a shorter one if the collider moves far in
 * that, so that they follow from the time alone. */
void mpm_sph_solids_state(mpm_sph *sph)
{
    for (size_t k = 0; k < sph->boundary.count; k++) {
        mpm_collider *collider = &sph->boundary.colliders[k];
        const double dt = longest_dt(sph, k, 0.5 * sph->pass.h / sph->wave_speed);
        collider->now = mpm_collider_state_at(collider, sph->run.time, dt);
    }
}

/* Can a collider be within the supports of the fluid before a step of `dt` ends? */
static bool may_come_near(const mpm_sph *sph, size_t index, double dt)
{
    const mpm_collider *collider = &sph->boundary.colliders[index];
    const mpm_collider_state step = mpm_collider_state_at(collider, sph->run.time, dt);
    double low[3], high[3], centre[3] = {0}, own[3], radius2 = 0;
    find_region(sph, low, high);
    for (int a = 0; a < sph->settings.dim; a++) {
        centre[a] = 0.5 * (low[a] + high[a]);
        radius2 += 0.25 * (high[a] - low[a]) * (high[a] - low[a]);
    }
    const double extent = sph->solids[index].extent, radius = sqrt(radius2), *v = step.velocity;
    const double moved = dt * fmax(sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), step.swing);
    own_place_of(collider, centre, own);
    if (arm_of(collider, own) > radius + extent + moved)
        return false;
    const double phi = mpm_collider_read(collider, &step, centre, UINT64_MAX).phi;
    return !(phi > collider->shape.steepness * (radius + dt * mpm_collider_speed(&step, extent)));
}

void mpm_sph_solids_limit(mpm_sph *sph, double dt)
{
    sph->collider_dt = INFINITY;
    for (size_t k = 0; k < sph->boundary.count; k++) {
        const double longest = sph->solids[k].count ? longest_dt(sph, k, dt) : dt;
        if (longest < dt && longest < sph->collider_dt && may_come_near(sph, k, dt)) {
            sph->collider_dt = longest;
            sph->fastest = k;
        }
    }
}
