/* SPDX-License-Identifier: MIT */
/* sources: rigid/body.c rigid/touch.c rigid/impulses.c rigid/rows.c rigid/energy.c rigid/joints.c contact/boundary.c
 *   contact/collider.c contact/shape.c contact/lattice.c contact/motion.c contact/rules.c base/exact.c base/memory.c */
/* Rigid bodies alone, without particles or a grid: rest, sliding, rolling, stacks, tipping, free rotation, against
 * closed forms. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rigid/impulses.h"

enum { MOST = 12, MOST_POINTS = 400 };
static const double H = 0.1, G = 10, DT = 2e-3; /* cell [m], gravity [m/s2], step [s] */

struct body {
    mpm_rigid_form form;
    mpm_rigid_point points[MOST_POINTS];
    double force[MOST_POINTS][3];
    mpm_shape_node node;
    double numbers[6];
    double mass, I0[3]; /* principal inertia */
    double x[3], Q[3][3], u[6];
    double friction, restitution;
};

struct scene {
    int dim, count;
    mpm_boundary boundary;
    mpm_allocator allocator;
    double gravity[3];
    struct body body[MOST];
    mpm_rigid_world world;
};

static struct scene *new_scene(int dim, double friction, double restitution)
{
    static struct scene scene;
    const mpm_allocator allocator = mpm_memory_default();
    mpm_touch_clear(&scene.world, &allocator);
    for (int b = 0; b < scene.count; b++)
        mpm_shape_clear(&scene.body[b].form.shape, &allocator);
    memset(&scene, 0, sizeof scene);
    scene.dim = dim;
    scene.allocator = allocator;
    scene.gravity[dim - 1] = -G;
    scene.boundary = (mpm_boundary){.dim = dim, .dx = H, .cells = {400, 400, 400}};
    for (int face = 0; face < 6; face++)
        scene.boundary.walls[face] =
            (mpm_wall){.contact = MPM_SEPARATE, .friction = friction, .restitution = restitution};
    return &scene;
}

static struct body *begin_body(struct scene *scene, int kind, int numbers)
{
    struct body *body = &scene->body[scene->count++];
    for (int a = 0; a < 3; a++)
        body->Q[a][a] = 1;
    body->node = (mpm_shape_node){.kind = kind, .size = numbers};
    const mpm_shape shape = {.dim = scene->dim, .node_count = 1, .number_count = (size_t)numbers, .nodes = &body->node,
                             .numbers = body->numbers};
    assert(!mpm_shape_copy(&body->form.shape, &scene->allocator, &shape));
    body->form.points = body->points;
    return body;
}

/* A box of the half sides `half`, with points a spacing of half a cell or less apart on its surface. */
static struct body *add_box(struct scene *scene, const double half[3], const double x[3], double density)
{
    const int dim = scene->dim;
    double volume = 1, side2[3] = {0};
    int count[3] = {1, 1, 1};
    struct body *body = &scene->body[scene->count];
    for (int a = 0; a < dim; a++) {
        body->numbers[a] = -half[a];
        body->numbers[3 + a] = half[a];
        volume *= 2 * half[a];
        side2[a] = 4 * half[a] * half[a];
        count[a] = (int)ceil(2 * half[a] / (dim == 2 ? 0.5 * H : 2 * H) - 1e-9) + 1;
    }
    body = begin_body(scene, MPM_BOX, 6);
    body->mass = density * volume;
    memcpy(body->x, x, (size_t)dim * sizeof *x);
    for (int c = 0; c < 3; c++)
        body->I0[c] = body->mass / 12 * (side2[(c + 1) % 3] + side2[(c + 2) % 3]);
    for (int i = 0; i < count[0]; i++)
        for (int j = 0; j < count[1]; j++)
            for (int k = 0; k < count[2]; k++) {
                const int at[3] = {i, j, k};
                mpm_rigid_point point = {0};
                int faces = 0;
                for (int a = 0; a < dim; a++) {
                    point.at[a] = half[a] * (2.0 * at[a] / (count[a] - 1) - 1);
                    point.axis[a] = at[a] == 0 ? -1 : at[a] == count[a] - 1 ? 1 : 0;
                    faces += point.axis[a] != 0;
                }
                if (!faces)
                    continue;
                for (int a = 0; a < dim; a++)
                    point.axis[a] /= sqrt(faces);
                point.cosine = faces == 1 ? cos(0.05) : 1 / sqrt(faces) - 0.05;
                assert(body->form.count < MOST_POINTS);
                body->points[body->form.count++] = point;
            }
    return body;
}

static struct body *add_ball(struct scene *scene, double radius, const double x[3], double density)
{
    const int dim = scene->dim;
    struct body *body = &scene->body[scene->count];
    body->numbers[3] = radius;
    body = begin_body(scene, MPM_BALL, 4);
    memcpy(body->x, x, (size_t)dim * sizeof *x);
    body->mass = density * 3.14159265358979 * radius * radius * (dim == 3 ? 4 * radius / 3 : 1);
    for (int c = 0; c < 3; c++)
        body->I0[c] = body->mass * radius * radius * (dim == 3 ? 0.4 : 0.5);
    body->points[0] = (mpm_rigid_point){.radius = radius, .cosine = -1};
    body->form.count = 1;
    return body;
}

static void inertia_of(double I[3][3], const struct body *body)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            I[i][j] = 0;
            for (int k = 0; k < 3; k++)
                I[i][j] += body->Q[i][k] * body->I0[k] * body->Q[j][k];
        }
}

static void step(struct scene *scene, double dt)
{
    mpm_rigid_state states[MOST];
    mpm_rigid_world *world = &scene->world;
    memset(states, 0, sizeof states);
    for (int b = 0; b < scene->count; b++) {
        struct body *body = &scene->body[b];
        mpm_rigid_state *state = &states[b];
        *state = (mpm_rigid_state){.form = &body->form, .mass = body->mass, .force = body->force,
                                   .friction = body->friction, .restitution = body->restitution};
        memcpy(state->centre, body->x, sizeof body->x);
        memcpy(state->place, body->x, sizeof body->x);
        memcpy(state->rotation, body->Q, sizeof body->Q);
        inertia_of(state->inertia, body);
        mpm_body_invert(state->inverse, state->inertia, scene->dim);
        memcpy(state->begin, body->u, sizeof body->u);
        for (int a = 0; a < 3; a++)
            state->gain[a] = dt * scene->gravity[a];
        mpm_body_drift(state, dt, scene->dim);
    }
    world->boundary = &scene->boundary;
    world->dt = dt;
    memcpy(world->gravity, scene->gravity, sizeof world->gravity);
    world->body = states;
    world->bodies = (size_t)scene->count;
    assert(!mpm_touch_find(world, &scene->allocator));
    mpm_impulses_find(world, NULL, 0);
    mpm_impulses_balance(world, NULL, 0);
    for (int b = 0; b < scene->count; b++) {
        struct body *body = &scene->body[b];
        double turn[3][3], Q[3][3], shift[3];
        mpm_body_move(turn, shift, body->u + 3, &states[b], dt);
        for (int a = 0; a < 3; a++) {
            body->x[a] += shift[a];
            body->u[a] = states[b].kept[a];
        }
        memcpy(Q, body->Q, sizeof Q);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                for (int k = 0; k < 3; k++)
                    body->Q[i][j] += turn[i][k] * Q[k][j];
    }
    world->body = NULL;
}

static void run(struct scene *scene, double time)
{
    const int steps = (int)lround(time / DT);
    for (int k = 0; k < steps; k++)
        step(scene, DT);
}

static double energy(const struct scene *scene)
{
    double sum = 0;
    for (int b = 0; b < scene->count; b++) {
        const struct body *body = &scene->body[b];
        double I[3][3], L[3];
        inertia_of(I, body);
        mpm_multiply3(L, I, body->u + 3);
        sum += 0.5 * body->mass * mpm_dot3(body->u, body->u) + 0.5 * mpm_dot3(L, body->u + 3) -
               body->mass * mpm_dot3(scene->gravity, body->x);
    }
    return sum;
}

static double largest(const double *v, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        most = fmax(most, fabs(v[i]));
    return most;
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

static void a_box_rests(int dim)
{
    struct scene *scene = new_scene(dim, 0.4, 0);
    const double half[3] = {4 * H, dim == 2 ? 8 * H : 3 * H, 8 * H}, x[3] = {2, dim == 2 ? half[1] : 2, half[2]};
    struct body *body = add_box(scene, half, x, 1000);
    run(scene, 4);
    double moved[3];
    for (int a = 0; a < dim; a++)
        moved[a] = body->x[a] - x[a];
    printf("rest %d: moved %.1e cells, velocity %.1e\n", dim, largest(moved, dim) / H, largest(body->u, 6));
    assert(largest(moved, dim) < 1e-6 * H && largest(body->u, 6) < 1e-7);
}

static void a_box_slides(int dim, double friction, double way)
{
    struct scene *scene = new_scene(dim, friction, 0);
    const double angle = 20 * 3.14159265358979 / 180, half[3] = {4 * H, dim == 2 ? 2 * H : 4 * H, 2 * H};
    const double x[3] = {2, dim == 2 ? half[1] : 2, half[2]};
    struct body *body = add_box(scene, half, x, 1000);
    scene->gravity[0] = G * sin(angle);
    scene->gravity[dim - 1] = -G * cos(angle);
    run(scene, 2);
    const double exact = 0.5 * G * (sin(angle) - friction * cos(angle)) * 4, found = body->x[0] - x[0];
    printf("slope %d, friction %g: way %.6f (%.6f), %.1e cells\n", dim, friction, found, exact, found / H);
    if (way > 0)
        assert(fabs(found / (exact) - 1) < 1e-12);
    else
        assert(fabs(found) < 1e-3 * H);
}

static void a_ball_rolls(int dim, double degrees)
{
    struct scene *scene = new_scene(dim, 0.9, 0);
    const double angle = degrees * 3.14159265358979 / 180, R = 4 * H, x[3] = {2, dim == 2 ? R : 2, R};
    struct body *body = add_ball(scene, R, x, 1000);
    scene->gravity[0] = G * sin(angle);
    scene->gravity[dim - 1] = -G * cos(angle);
    body->u[0] = degrees > 0 ? 0 : 1;
    run(scene, 1);
    const double k = dim == 2 ? 0.5 : 0.4, exact = degrees > 0 ? G * sin(angle) / (1 + k) : 1 / (1 + k);
    const double spin = dim == 2 ? -body->u[5] : body->u[4];
    printf("roll %d, %g degrees: %.8f of the speed, slip %.1e\n", dim, degrees, body->u[0] / exact,
           (body->u[0] - R * spin) / exact);
    assert(fabs(body->u[0] / exact - 1) < 1e-6 && fabs(body->u[0] - R * spin) < 1e-6 * exact);
}

static void a_stack_stands(int dim, int boxes)
{
    struct scene *scene = new_scene(dim, 0.4, 0);
    const double half[3] = {2 * H, 2 * H, 2 * H};
    for (int b = 0; b < boxes; b++) {
        const double x[3] = {2, dim == 2 ? (4 * b + 2) * H : 2, (4 * b + 2) * H};
        add_box(scene, half, x, 1000)->friction = 0.4;
    }
    const double before = energy(scene);
    run(scene, dim == 2 ? 5 : 2);
    double creep = 0, sink = 0;
    for (int b = 0; b < boxes; b++) {
        creep = fmax(creep, fabs(scene->body[b].x[0] - 2));
        sink = fmax(sink, fabs(scene->body[b].x[dim - 1] - (4 * b + 2) * H));
    }
    printf("stack %d of %d: creeps %.1e, sinks %.1e cells; energy %.1e\n", dim, boxes, creep / H, sink / H,
           energy(scene) / before - 1);
    assert(creep < 1e-2 * H && sink < 1e-3 * H);
}

static double tipped(double degrees)
{
    struct scene *scene = new_scene(2, 0.9, 0);
    const double angle = degrees * 3.14159265358979 / 180, half[3] = {2 * H, 8 * H, 0}, x[3] = {5, half[1], 0};
    struct body *body = add_box(scene, half, x, 1000);
    scene->gravity[0] = G * sin(angle);
    scene->gravity[1] = -G * cos(angle);
    run(scene, 3);
    return fabs(body->Q[0][1]);
}

static void a_tower_tips(void)
{
    printf("tower: %.1e at 13.9 degrees, %.3f at 14.2\n", tipped(13.9), tipped(14.2));
    assert(tipped(13.9) < 1e-3 && tipped(14.2) > 0.1); /* arctan 1/4 = 14.04 */
}

static void a_free_box_turns_over(void)
{
    struct scene *scene = new_scene(3, 0, 0);
    const double half[3] = {3 * H, 2 * H, H}, x[3] = {5, 5, 5};
    struct body *body = add_box(scene, half, x, 1000);
    memset(scene->gravity, 0, sizeof scene->gravity);
    body->u[3] = 0.01;
    body->u[4] = 10; /* about the middle axis */
    const double before = energy(scene);
    double L[3], after[3], I[3][3];
    inertia_of(I, body);
    mpm_multiply3(L, I, body->u + 3);
    int k = 0;
    while (body->Q[1][1] > 0 && k < 4000)
        step(scene, DT), k++;
    inertia_of(I, body);
    mpm_multiply3(after, I, body->u + 3);
    for (int a = 0; a < 3; a++)
        after[a] -= L[a];
    printf("turns over at %.3f s; energy %.1e, L %.1e\n", k * DT, energy(scene) / before - 1,
           largest(after, 3) / largest(L, 3));
    assert(k < 4000 && fabs(energy(scene) / before - 1) < 1e-12 && largest(after, 3) < 1e-12 * largest(L, 3));
}

static void a_heavy_box_rests_on_a_light_one(double ratio, double accept)
{
    struct scene *scene = new_scene(2, 0.4, 0);
    const double half[3] = {2 * H, 2 * H, 0}, low[3] = {2, 2 * H, 0}, high[3] = {2, 6 * H, 0};
    add_box(scene, half, low, 1000);
    add_box(scene, half, high, 1000 * ratio);
    run(scene, 4);
    const double sink = 6 * H - scene->body[1].x[1];
    printf("heavy on light, %g: sinks %.1e cells\n", ratio, sink / H);
    assert(fabs(sink) < accept * H);
}

static void a_ball_rebounds(double e)
{
    struct scene *scene = new_scene(2, 0, e);
    const double x[3] = {2, 0.6 + 2 * H, 0};
    struct body *body = add_ball(scene, 2 * H, x, 1000);
    double peak = 0;
    int struck = 0;
    for (int k = 0; k < 2000; k++) {
        const double before = body->u[1];
        step(scene, 5e-4);
        struck += before < 0 && body->u[1] > 0;
        if (struck == 1)
            peak = fmax(peak, body->x[1] - 2 * H);
    }
    printf("rebound %g: to %.6f of the height\n", e, peak / 0.6);
    assert(fabs(peak / 0.6 - e * e) < 2e-2);
}

static void dominoes_gain_no_energy(void)
{
    struct scene *scene = new_scene(2, 0.3, 0);
    const double half[3] = {H, 6 * H, 0};
    for (int b = 0; b < 8; b++) {
        const double x[3] = {2 + 6 * b * H, 6 * H, 0};
        add_box(scene, half, x, 1000)->friction = 0.3;
    }
    scene->body[0].u[5] = -2;
    scene->body[0].u[0] = 2 * 6 * H;
    const double begin = energy(scene);
    double most = 0;
    for (int k = 0; k < 1500; k++) {
        const double before = energy(scene);
        step(scene, DT);
        most = fmax(most, energy(scene) - before);
    }
    printf("dominoes: largest rise %.1e; the last turned by %.2f\n", most / begin, fabs(scene->body[7].Q[0][1]));
    assert(most < 1e-6 * begin && fabs(scene->body[7].Q[0][1]) > 0.5);
}

int main(void)
{
    for (int dim = 2; dim <= 3; dim++) {
        a_box_rests(dim);
        a_box_slides(dim, 0.2, 1);
        a_box_slides(dim, 0.4, 0);
        a_box_slides(dim, 0.365, 0);
        a_ball_rolls(dim, 0);
        a_ball_rolls(dim, 5);
        a_ball_rolls(dim, 20);
        a_stack_stands(dim, 5);
    }
    a_tower_tips();
    a_free_box_turns_over();
    a_heavy_box_rests_on_a_light_one(10, 1e-3);
    a_heavy_box_rests_on_a_light_one(100, 1e-3);
    a_heavy_box_rests_on_a_light_one(300, 1e-2);
    a_ball_rebounds(1);
    a_ball_rebounds(0.5);
    dominoes_gain_no_energy();
    new_scene(2, 0, 0);
    return 0;
}
