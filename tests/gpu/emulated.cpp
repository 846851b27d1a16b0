/* SPDX-License-Identifier: MIT
 *
 * Steps of the GPU's kernels under the emulation of cuda.h, for tests/test_gpu.py: the least host that launches them in
 * the order of docs/design/029-gpu.md. Compiled with the macros of csrc/mpm/gpu/sweep.cu.
 */
#include <utility>
#include <vector>

#include "cuda.h"

#include "mpm/gpu/sweep.cu"
#include "mpm/gpu/nodes.cu"
#include "mpm/gpu/sort.cu"
#include "mpm/gpu/pack.h"

/* ---- arrays of the device, launches ------------------------------------------------------------------------------ */

/* An array that holds `room` numbers. What it held is lost when it grows. */
template <class number> struct array {
    number *at = NULL;
    size_t room = 0;
    array() = default;
    array(array &&other) { swap(other); }
    array &operator=(array &&other) { swap(other); return *this; }
    ~array() { device_free(at); }
    void swap(array &other) { std::swap(at, other.at), std::swap(room, other.room); }
    void hold(size_t count)
    {
        if (count <= room)
            return;
        device_free(at);
        at = (number *)device_new(count * sizeof(number));
        room = count;
    }
    void clear(size_t count) { memset(at, 0, count * sizeof(number)); }
};

static unsigned ctas(size_t items, unsigned threads)
{
    return (unsigned)((items + threads - 1) / threads);
}

template <class function> static void run(function body, unsigned count, unsigned threads, size_t bytes = 0)
{
    launch([](void *f) { (*(function *)f)(); }, &body, count, threads, bytes);
}

#define EACH(items, call) run([&] { call; }, ctas(items, GPU_SORT_THREADS), GPU_SORT_THREADS)

/* ---- the state --------------------------------------------------------------------------------------------------- */

enum { STRAINS = LAW_KEEPS_J ? 1 : DIM * DIM };

struct columns {
    array<real> x, v, C, F, history, mass, volume;
    array<int> key, row;
    gpu_particles make(int count)
    {
        const int n = (count + 31) / 32 * 32;
        x.hold(n * DIM), v.hold(n * DIM), C.hold(n * DIM * DIM), F.hold(n * STRAINS), history.hold(n * LAW_HISTORY);
        mass.hold(n), volume.hold(n), key.hold(n), row.hold(n);
        return gpu_particles{count, n, x.at, v.at, C.at, F.at, history.at, mass.at, volume.at, key.at, row.at};
    }
};

struct table { /* of blocks: numbers of some of them, and those in order */
    array<int> mark, number, key_of;
    int count = 0;
};

/* What Python describes. */
struct setup {
    int64_t cells[3];
    double lower[3], dx, gravity[3], friction[6], J_low, J_high, allowed, flip_ratio;
    int contact[6], advect_particle, on_leave[6];
};

struct simulation {
    setup scene;
    gpu_blocks blocks;
    columns columns_of[2];
    gpu_particles now, next;
    table places, rooms;
    array<int> block_count, key, cell_of, cell_count, start, order, all[3];
    array<gpu_vec4> tiles, force_tiles;
    struct {
        array<int> room_of;
        array<gpu_vec4> velocity, before;
    } nodes[2]; /* of the last pass, and of the one before */
    array<gpu_report> reports[2];
    array<LAW> law;
    struct { /* the host's, and those of the device */
        void *boundary = NULL;
        const mpm_collider *list;
        void (*pose)(void *boundary, double time, double dt);
        gpu_colliders now = {};
        array<char> packed;
        array<mpm_collider_book> books, sums;
        std::vector<double> given; /* per collider, since the beginning: impulse, torque */
    } colliders;
    double time = 0;       /* [s] */
    double drift = 0;      /* since the last sort [cells] */
    int sorts = 0;
    gpu_report swept, passed;
};

static size_t block_count(const simulation *s)
{
    return (size_t)s->blocks.count[0] * s->blocks.count[1] * s->blocks.count[2];
}

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

/* out[i]: the sum of the `count` numbers of `in` before i; out[count]: of all. */
static void sums_before(simulation *s, const int *in, array<int> *out, int count, int level = 0)
{
    const int parts = (int)ctas(count, GPU_SCAN_THREADS);
    array<int> *all = &s->all[level];
    array<int> before;
    out->hold(count + 1);
    all->hold(parts);
    before.hold(parts + 1);
    run([&] { scan(count, in, out->at, all->at); }, parts, GPU_SCAN_THREADS);
    if (parts > 1)
        sums_before(s, all->at, &before, parts, level + 1);
    else
        before.clear(1);
    run([&] { shift(count, out->at, before.at, in); }, parts, GPU_SCAN_THREADS);
}

static void number_blocks(simulation *s, table *t)
{
    const int blocks = (int)block_count(s);
    sums_before(s, t->mark.at, &t->number, blocks);
    t->count = t->number.at[blocks];
    t->key_of.hold(t->count);
    EACH(blocks, list_blocks(blocks, t->mark.at, t->number.at, t->key_of.at));
}

static void sort(simulation *s, bool with_motion)
{
    const int count = s->now.count, blocks = (int)block_count(s);
    s->block_count.hold(blocks), s->places.mark.hold(blocks), s->rooms.mark.hold(blocks);
    s->key.hold(count), s->cell_of.hold(count), s->order.hold(count);
    s->block_count.clear(blocks);
    EACH(count, count_blocks(s->blocks, s->now, s->key.at, s->block_count.at));
    EACH(blocks, mark_blocks(s->blocks, s->block_count.at, s->places.mark.at, s->rooms.mark.at));
    number_blocks(s, &s->places);
    number_blocks(s, &s->rooms);
    const int cells = s->places.count * GPU_CELLS;
    s->cell_count.hold(cells);
    s->cell_count.clear(cells);
    EACH(count, count_cells(s->blocks, s->now, s->places.number.at, s->cell_of.at, s->cell_count.at));
    sums_before(s, s->cell_count.at, &s->start, cells);
    EACH(count, put(count, s->cell_of.at, s->start.at, s->cell_count.at, s->order.at));
    EACH(cells, sort_cells(cells, s->start.at, s->order.at));
    EACH(count, move(s->blocks, s->order.at, s->key.at, s->now, s->next, STRAINS, LAW_HISTORY, with_motion));
    std::swap(s->now, s->next);
    s->tiles.hold((size_t)s->places.count * GPU_TILE);
    if (IS_FLIP)
        s->force_tiles.hold((size_t)s->places.count * GPU_TILE);
    s->drift = 0;
    s->sorts++;
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

/* One report of those in reports[0]. */
static gpu_report reduce(simulation *s, int count)
{
    int from = 0;
    while (count > 1) {
        const int left = (int)ctas(count, GPU_SORT_THREADS);
        const gpu_report *in = s->reports[from].at;
        s->reports[1 - from].hold(left);
        gpu_report *out = s->reports[1 - from].at;
        run([&] { add_reports(count, in, out); }, left, GPU_SORT_THREADS);
        count = left;
        from = 1 - from;
    }
    return s->reports[from].at[0];
}

static mpm_symmetry symmetry_of(const setup *scene, int axis)
{
    const int *contact = &scene->contact[2 * axis];
    return mpm_symmetry{scene->cells[axis], {contact[0] == MPM_MIRROR, contact[1] == MPM_MIRROR},
                        contact[0] == MPM_PERIODIC};
}

/* Poses the colliders for a step, for a launch of so many CTAs. */
static gpu_colliders pose(simulation *s, double time, double dt, size_t ctas)
{
    auto &c = s->colliders;
    if (!c.now.count)
        return c.now;
    const size_t count = (size_t)c.now.count;
    c.pose(c.boundary, time, dt);
    c.packed.hold(mpm_pack_colliders(c.list, count, NULL, NULL));
    mpm_pack_colliders(c.list, count, c.packed.at, c.packed.at);
    c.books.hold(ctas * count);
    c.now.list = (const mpm_collider *)c.packed.at;
    c.now.books = c.books.at;
    c.now.dt = dt;
    return c.now;
}

/* Adds what the last launch has found. */
static void keep_books(simulation *s, size_t ctas)
{
    auto &c = s->colliders;
    const int count = c.now.count;
    if (!count)
        return;
    c.sums.hold((size_t)count);
    run([&] { add_books((int)ctas, count, c.books.at, c.sums.at); }, (unsigned)count, GPU_SORT_THREADS);
    for (int k = 0; k < count; k++)
        for (int a = 0; a < 3; a++) {
            c.given[(size_t)(k * 6 + a)] += c.sums.at[k].impulse[a];
            c.given[(size_t)(k * 6 + 3 + a)] += c.sums.at[k].torque[a];
        }
}

static gpu_report move_all_nodes(simulation *s, double dt)
{
    gpu_pass pass = {.blocks = s->blocks, .key_of = s->rooms.key_of.at, .place_of = s->places.number.at,
                     .tiles = s->tiles.at, .dt = dt};
    std::swap(s->nodes[0], s->nodes[1]);
    s->nodes[0].room_of.hold(block_count(s));
    memcpy(s->nodes[0].room_of.at, s->rooms.number.at, block_count(s) * sizeof(int));
    s->nodes[0].velocity.hold((size_t)s->rooms.count * GPU_CELLS);
    s->reports[0].hold(s->rooms.count);
    pass.velocity = s->nodes[0].velocity.at;
    pass.reports = s->reports[0].at;
    for (int a = 0; a < 3; a++)
        pass.cells[a] = s->scene.cells[a], pass.gravity[a] = s->scene.gravity[a];
    for (int f = 0; f < 6; f++) {
        pass.walls[f].contact = (mpm_contact)s->scene.contact[f];
        pass.walls[f].friction = s->scene.friction[f];
    }
    pass.colliders = pose(s, s->time, dt, (size_t)s->rooms.count);
    bool meets = pass.colliders.count > 0 || IS_FLIP;
    if (IS_FLIP) {
        s->nodes[0].before.hold((size_t)s->rooms.count * GPU_CELLS);
        pass.force_tiles = s->force_tiles.at, pass.before = s->nodes[0].before.at;
        pass.flip_ratio = s->scene.flip_ratio;
    }
    for (int a = 0; a < DIM; a++) {
        pass.symmetry[a] = symmetry_of(&s->scene, a);
        meets |= mpm_axis_has_symmetry(&pass.symmetry[a]);
    }
    run([&] { meets ? meet_nodes(pass) : move_nodes(pass); }, s->rooms.count, GPU_CELLS);
    return reduce(s, s->rooms.count);
}

/* `before`: with the velocities of the pass before the last one, and the positions that they moved. */
static gpu_sweep describe(const simulation *s, double dt, double next_dt, bool before)
{
    const double h = s->scene.dx;
    gpu_sweep sweep = {.particles = s->now, .new_x = s->next.x, .blocks = s->blocks, .key_of = s->places.key_of.at,
                       .start = s->start.at, .room_of = s->nodes[before].room_of.at,
                       .velocity = s->nodes[before].velocity.at, .tiles = s->tiles.at, .law = s->law.at,
                       .reports = s->reports[0].at};
    for (int c = 0; c < LAW_HISTORY; c++)
        sweep.history[c] = c;
    if (before)
        sweep.particles.x = s->next.x;
    sweep.dx = h, sweep.allowed = s->scene.allowed;
    sweep.dt = (real)dt, sweep.dt_cells = (real)(dt / h), sweep.h = (real)h, sweep.affine = (real)(4 / h);
    sweep.force_tiles = s->force_tiles.at, sweep.before = s->nodes[before].before.at;
    sweep.flip_ratio = (real)s->scene.flip_ratio, sweep.advect_particle = s->scene.advect_particle;
    sweep.spin = IS_AFFINE ? (real)(h / 4) : 0;
    sweep.isolated = (real)((IS_AFFINE ? 1 : 2) / (h * h)), sweep.stress = (real)(-4 * next_dt / h);
    sweep.J_low = (real)s->scene.J_low, sweep.J_high = (real)s->scene.J_high;
    for (int f = 0; f < 6; f++)
        sweep.on_leave[f] = (mpm_leave)s->scene.on_leave[f];
    for (int a = 0; a < 3; a++)
        sweep.cells[a] = s->scene.cells[a], sweep.lower[a] = s->scene.lower[a];
    return sweep;
}

static void sweep_all(simulation *s, void (*kernel)(gpu_sweep), double dt, double next_dt)
{
    s->reports[0].hold(s->places.count);
    gpu_sweep sweep = describe(s, dt, next_dt, kernel == synchronize);
    if (kernel != p2g) /* synchronize repeats the step before that of the last pass */
        sweep.colliders = pose(s, kernel == synchronize ? s->time - dt : s->time, dt, (size_t)s->places.count);
    run([&] { kernel(sweep); }, s->places.count, GPU_SWEEP_THREADS, sizeof(sweep_memory));
    if (kernel != g2p && kernel != g2p2g)
        return;
    std::swap(s->now.x, s->next.x);
    keep_books(s, (size_t)s->places.count);
    s->time += dt;
    s->swept = reduce(s, s->places.count);
}

/* ---- for Python -------------------------------------------------------------------------------------------------- */

extern "C" simulation *gpu_new(const setup *scene, int count, const double *x, const double *v, const double *C,
                               const double *F, const double *history, const double *mass, const double *volume,
                               const double *parameters)
{
    simulation *s = new simulation;
    s->scene = *scene;
    for (int a = 0; a < 3; a++) {
        s->blocks.count[a] = a < DIM ? (int)(scene->cells[a] / GPU_SIDE) + 1 + 2 * GPU_MARGIN : 1;
        s->blocks.period[a] = a < DIM && symmetry_of(scene, a).periodic ? (int)scene->cells[a] : 0;
    }
    s->blocks.materials = 1;
    s->now = s->columns_of[0].make(count);
    s->next = s->columns_of[1].make(count);
    const size_t n = s->now.stride;
    for (int p = 0; p < count; p++) {
        int at[3] = {0, 0, 0};
        for (int a = 0; a < DIM; a++) {
            const double cells = (x[p * DIM + a] - scene->lower[a]) / scene->dx;
            const int block = (int)floor(floor(cells - 0.5) / (double)GPU_SIDE);
            at[a] = block + GPU_MARGIN;
            s->now.x[a * n + p] = (real)(cells - block * GPU_SIDE);
            s->now.v[a * n + p] = (real)v[p * DIM + a];
        }
        for (int i = 0; i < DIM * DIM; i++)
            s->now.C[i * n + p] = (real)C[p * DIM * DIM + i];
        for (int i = 0; i < STRAINS; i++)
            s->now.F[i * n + p] = (real)F[p * STRAINS + i];
        for (int c = 0; c < LAW_HISTORY; c++)
            s->now.history[c * n + p] = (real)history[p * LAW_HISTORY + c];
        s->now.mass[p] = (real)mass[p], s->now.volume[p] = (real)volume[p];
        s->now.key[p] = block_key(&s->blocks, at);
        s->now.row[p] = p;
    }
    s->law.hold(1);
    s->law.at[0] = MPM_GLUE(LAW, _prepare)((const MPM_GLUE(LAW, _parameters) *)parameters);
    return s;
}

/* Colliders of a boundary (boundary.c), which `pose` poses. `depth`: see gpu_colliders. */
extern "C" void gpu_collide(simulation *s, void *boundary, const mpm_collider *list, int count,
                            void (*pose)(void *, double, double), double depth)
{
    auto &c = s->colliders;
    c.boundary = boundary, c.list = list, c.pose = pose;
    c.now.count = count, c.now.dx = s->scene.dx, c.now.depth = depth;
    for (int a = 0; a < 3; a++) {
        c.now.lower[a] = s->scene.lower[a];
        c.now.symmetry[a] = symmetry_of(&s->scene, a);
    }
    c.given.assign((size_t)(count * 6), 0);
}

/* Impulse and torque of every collider, since the beginning. */
extern "C" void gpu_books(const simulation *s, double *given)
{
    std::copy(s->colliders.given.begin(), s->colliders.given.end(), given);
}

/* Takes steps of size dt. Returns how many: fewer than asked for if one was refused, whose state is that before it. */
extern "C" int gpu_step(simulation *s, double dt, int steps)
{
    const double margin = 0.95; /* so that particles are at most one cell beyond a periodic face */
    int taken = 0;
    sort(s, true);
    sweep_all(s, p2g, 0, dt);
    for (; taken < steps; taken++) {
        s->passed = move_all_nodes(s, dt);
        const double travel = s->passed.most[GPU_NODE_SPEED] * dt / s->scene.dx;
        if (!(travel <= 1)) {
            if (taken && !IS_FLIP)
                sweep_all(s, synchronize, dt, 0);
            return taken;
        }
        keep_books(s, (size_t)s->rooms.count);
        if (s->drift + travel > margin)
            sort(s, IS_FLIP);
        s->drift += travel;
        sweep_all(s, taken + 1 == steps ? g2p : g2p2g, dt, dt);
    }
    return taken;
}

extern "C" void gpu_read(const simulation *s, double *x, double *v, double *C, double *F, double *history)
{
    const size_t n = s->now.stride;
    for (int p = 0; p < s->now.count; p++) {
        const int row = s->now.row[p];
        int at[3];
        block_at(&s->blocks, s->now.key[p], at);
        for (int a = 0; a < DIM; a++) {
            const double first = (double)((at[a] - GPU_MARGIN) * GPU_SIDE), period = s->blocks.period[a];
            double cells = first + (double)s->now.x[a * n + p];
            cells += period > 0 && cells < 0 ? period : period > 0 && cells >= period ? -period : 0;
            x[row * DIM + a] = s->scene.lower[a] + s->scene.dx * cells;
            v[row * DIM + a] = (double)s->now.v[a * n + p];
        }
        for (int i = 0; i < DIM * DIM; i++)
            C[row * DIM * DIM + i] = (double)s->now.C[i * n + p];
        for (int i = 0; i < STRAINS; i++)
            F[row * STRAINS + i] = (double)s->now.F[i * n + p];
        for (int c = 0; c < LAW_HISTORY; c++)
            history[row * LAW_HISTORY + c] = (double)s->now.history[c * n + p];
    }
}

/* The measure of the last step, the report of its nodes, and how often particles were sorted. */
extern "C" void gpu_measure(const simulation *s, gpu_report *swept, gpu_report *passed, int *sorts)
{
    *swept = s->swept, *passed = s->passed, *sorts = s->sorts;
}

extern "C" void gpu_order(int wanted) { launch_order = (order)wanted; }

extern "C" void gpu_free(simulation *s) { delete s; }
