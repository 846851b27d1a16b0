/* SPDX-License-Identifier: MIT
 *
 * Conduction of heat, the sweeps. A particle has a temperature T and its gradient G. One sub-step, w being the kernel
 * of the scheme and V = J V0 the volume:
 *
 *     T_ip = T_p + G_p . (x_i - x_p),  C_i = sum w m c,  T_i = sum w m c T_ip/C_i
 *     B_i = sum w k V,  S_i = sum w k V T_ip/B_i                                 heat
 *     Q_i = -dt sum V k (sum_j T_j grad w_jp) . grad w_ip                        heat_flow
 *     dT_i = Q_i/C_i,  T_i' = T_i + dT_i                                         heat_nodes.c
 *     T_p += sum w (dT_i + pull_i) + b_p (sum w S_i - T_p)                       heat_back
 *     G_p = sum w T_i' (x_i - x_p)/(h^2 D)
 *
 * This is AFLIP (scheme.h) of a scalar: T_p takes the increments of the nodes and the share b_p of their values, b_p =
 * 5 dt k V/(m c h^2), which sub-steps keep below 1. Shares per time of conduction make the result independent of dt.
 * Increments alone (FLIP) do not see what varies within a cell, which conduction then cannot even out; nodal values
 * alone (PIC, APIC) diffuse the more per time the shorter steps are. pull_i is the change that a wall of given
 * temperature makes to T_i. Nodes share out heat as they have collected it: the increments by m c, the values by m c b,
 * in proportion to k V. So sum m c T changes by what comes in alone, also where materials with several b share nodes.
 *
 * D. Sulsky, Z. Chen, H. L. Schreyer, Comput. Methods Appl. Mech. Eng. 118 (1994) 179: sums over particles as
 * integrals; Y. R. Fei et al., ACM Trans. Graph. 40(4) (2021) 109: the transfer.
 */
#include "mpm/kernels/any_scheme.h"


/* A tile with what conduction needs of it. */
struct conductor {
    struct tile tile;
    wide volume, capacity; /* V [m^d]; m c [J/K] */
    wide T, G[DIM];
};

static const mpm_thermal *thermal_of(const mpm_heat_arguments *heat, const mpm_group *group)
{
    return &heat->materials[group->material];
}

static bool takes_part(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group)
{
    return thermal_of(heat, group)->specific_heat > 0 && !mpm_material_law(&sweep->materials[group->material])->rigid;
}

static void conductor_load(struct conductor *p, const mpm_sweep *sweep, const mpm_heat_arguments *heat,
                           const mpm_group *group, ptrdiff_t t)
{
    const mpm_material *material = &sweep->materials[group->material];
    const struct constants k = group_constants(sweep, (struct durations){0}, group);
    const bool keeps_J = law_keeps_J(material->law);
    const wide zero = wide_set(0);
    tile_load(&p->tile, sweep->particles, t, keeps_J, false);
    tile_load_history(&p->tile, sweep->particles, t, material,
                      law_history(mpm_material_kernel_law(material), material));
    wide J = p->tile.state.J;
    if (!keeps_J)
        J = matrix_det(p->tile.state.F) * law_volume_scale(k.row, &p->tile.state);
    const mask alive = wide_less(zero, p->tile.mass);
    p->volume = wide_select(alive, p->tile.volume * J, zero);
    p->capacity = wide_select(alive, p->tile.mass * wide_set((real)thermal_of(heat, group)->specific_heat), zero);
    p->T = wide_select(alive, wide_load(tile_scalar(sweep->particles, heat->temperature, t)), zero);
    for (int a = 0; a < DIM; a++)
        p->G[a] = wide_select(alive, wide_load(tile_scalar(sweep->particles, heat->gradient + a, t)), zero);
}

static int lanes_left(const mpm_group *group, ptrdiff_t t)
{
    const ptrdiff_t left = group->count - (t - group->first_tile) * WIDTH;
    return left < WIDTH ? (int)left : WIDTH;
}

/* k V/(m c): the diffusivity, 0 where there is no particle. */
static wide diffusivity(const struct conductor *p, double conductivity)
{
    const wide zero = wide_set(0);
    const mask alive = wide_less(zero, p->capacity);
    return wide_select(alive, wide_set((real)conductivity) * p->volume / wide_select(alive, p->capacity, wide_set(1)),
                       zero);
}

static struct deposit no_deposit(void)
{
    struct deposit deposit;
    memset(&deposit, 0, sizeof deposit);
    return deposit;
}

typedef void visitor(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                     struct workspace *work, mpm_measure *result);

INLINE void for_each_conductor(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread,
                               visitor *visit)
{
    mpm_measure *result = &sweep->measures[task];
    *result = (mpm_measure){.least_det = 1};
    for (int32_t g = sweep->grid->task_group[task]; g < sweep->grid->task_group[task + 1]; g++)
        if (takes_part(sweep, &arguments->heat, &sweep->particles->groups[g]))
            visit(sweep, &arguments->heat, &sweep->particles->groups[g], sweep->workspaces[thread], result);
}

/* ---- particles to nodes ----------------------------------------------------------------------------------------- */

/* {sum w m c T, sum w k V T, sum w k V, sum w m c}. Measures the largest diffusivity. */
static void means_of_group(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                           struct workspace *work, mpm_measure *result)
{
    const wide h = wide_set((real)sweep->dx);
    struct stencil *s = &work->stencil;
    for (ptrdiff_t t = group->first_tile; t < group->first_tile + group->tiles; t++) {
        struct conductor p;
        conductor_load(&p, sweep, heat, group, t);
        struct deposit deposit = no_deposit();
        stencil_prepare(s, p.tile.x, sweep->scheme.degree);
        deposit.by_offset = true;
        deposit.mass = p.capacity;
        const wide conductance = p.volume * wide_set((real)thermal_of(heat, group)->conductivity);
        deposit.Q[0] = p.capacity * p.T;
        deposit.Q[1] = conductance * p.T;
        if (DIM == 3)
            deposit.Q[DIM - 1] = conductance;
        else
            deposit.third = conductance;
        UNROLL for (int a = 0; a < DIM; a++) {
            deposit.A[a][0] = p.capacity * h * p.G[a];
            deposit.A[a][1] = conductance * h * p.G[a];
        }
        fold_offset(&deposit, s->e);
        stencil_scatter(s, work->momentum + ARENA_SLACK, lanes_left(group, t), sweep->scheme.degree, &deposit);
        const double found = wide_largest(diffusivity(&p, thermal_of(heat, group)->conductivity));
        result->diffusivity = found > result->diffusivity ? found : result->diffusivity;
    }
    arena_add(work->momentum + ARENA_SLACK, group, sweep->grid->copies[MPM_GRID_HEAT]);
}

void MPM_KERNEL(heat_heat)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    begin_scatter(sweep->workspaces[thread]);
    clear_copies(sweep->grid, MPM_GRID_HEAT, task);
    for_each_conductor(sweep, arguments, task, thread, means_of_group);
}

/* sum V grad w, which is the integral of w n over the surface of the material. */
static void areas_of_group(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                           struct workspace *work, mpm_measure *result)
{
    (void)result;
    const wide inverse_h = wide_set((real)(1 / sweep->dx));
    struct stencil *s = &work->stencil;
    for (ptrdiff_t t = group->first_tile; t < group->first_tile + group->tiles; t++) {
        struct conductor p;
        conductor_load(&p, sweep, heat, group, t);
        struct deposit deposit = no_deposit();
        deposit.by_slope = true;
        UNROLL for (int a = 0; a < DIM; a++)
            deposit.G[a][a] = p.volume * inverse_h;
        stencil_prepare(s, p.tile.x, sweep->scheme.degree);
        stencil_scatter(s, work->momentum + ARENA_SLACK, lanes_left(group, t), sweep->scheme.degree, &deposit);
    }
    arena_add(work->momentum + ARENA_SLACK, group, sweep->grid->copies[MPM_GRID_HEAT_AREAS]);
}

void MPM_KERNEL(heat_heat_areas)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    begin_scatter(sweep->workspaces[thread]);
    clear_copies(sweep->grid, MPM_GRID_HEAT_AREAS, task);
    for_each_conductor(sweep, arguments, task, thread, areas_of_group);
}

static void flow_of_group(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                          struct workspace *work, mpm_measure *result)
{
    (void)result;
    const int degree = sweep->scheme.degree;
    const double h = sweep->dx;
    const wide zero = wide_set(0);
    const wide factor = wide_set((real)(-heat->dt * thermal_of(heat, group)->conductivity / (h * h)));
    struct stencil *s = &work->stencil;
    arena_read(work->velocity + ARENA_SLACK, group, sweep->grid->field[MPM_GRID_TEMPERATURE]);
    for (ptrdiff_t t = group->first_tile; t < group->first_tile + group->tiles; t++) {
        struct conductor p;
        conductor_load(&p, sweep, heat, group, t);
        struct deposit deposit = no_deposit();
        stencil_prepare(s, p.tile.x, degree);
        stencil_gather(s, work->velocity + ARENA_SLACK, NULL, degree, WANT_SLOPE);
        const mask alive = wide_less(zero, p.capacity);
        deposit.by_slope = true;
        UNROLL for (int a = 0; a < DIM; a++)
            deposit.G[a][0] = wide_select(alive, factor * p.volume * stencil_sum(s, 1 + DIM + a, 0), zero);
        stencil_scatter(s, work->momentum + ARENA_SLACK, lanes_left(group, t), degree, &deposit);
    }
    arena_add(work->momentum + ARENA_SLACK, group, sweep->grid->copies[MPM_GRID_HEAT_FLOW]);
}

void MPM_KERNEL(heat_heat_flow)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    begin_scatter(sweep->workspaces[thread]);
    clear_copies(sweep->grid, MPM_GRID_HEAT_FLOW, task);
    for_each_conductor(sweep, arguments, task, thread, flow_of_group);
}

/* ---- nodes to particles ----------------------------------------------------------------------------------------- */

static void back_to_group(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                          struct workspace *work, mpm_measure *result)
{
    (void)result;
    const int degree = sweep->scheme.degree;
    const double h = sweep->dx;
    const wide zero = wide_set(0);
    const wide share = wide_set((real)(5 * heat->dt / (h * h)));
    const wide affine = wide_set((real)(1 / (h * mpm_scheme_second_moment(degree))));
    struct stencil *s = &work->stencil;
    arena_read(work->velocity + ARENA_SLACK, group, sweep->grid->field[MPM_GRID_TEMPERATURE]);
    for (ptrdiff_t t = group->first_tile; t < group->first_tile + group->tiles; t++) {
        struct conductor p;
        conductor_load(&p, sweep, heat, group, t);
        stencil_prepare(s, p.tile.x, degree);
        stencil_gather(s, work->velocity + ARENA_SLACK, NULL, degree, WANT_MOMENT);
        const mask alive = wide_less(zero, p.capacity);
        const wide change = stencil_sum(s, 0, 1), mean = stencil_sum(s, 0, 2);
        const wide beta = share * diffusivity(&p, thermal_of(heat, group)->conductivity);
        const wide gained = wide_fma(beta, stencil_sum(s, 0, 3) - p.T, change);
        wide_store(tile_scalar(sweep->particles, heat->temperature, t), wide_select(alive, p.T + gained, zero));
        UNROLL for (int a = 0; a < DIM; a++) {
            const wide slope = affine * wide_fnma(s->e[a], mean, stencil_sum(s, 1 + a, 2));
            wide_store(tile_scalar(sweep->particles, heat->gradient + a, t), wide_select(alive, slope, zero));
        }
    }
}

void MPM_KERNEL(heat_heat_back)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    for_each_conductor(sweep, arguments, task, thread, back_to_group);
}

/* ---- totals ----------------------------------------------------------------------------------------------------- */

static void sum_of_group(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                         struct workspace *work, mpm_measure *result)
{
    (void)work;
    const double c = thermal_of(heat, group)->specific_heat;
    for (ptrdiff_t t = group->first_tile; t < group->first_tile + group->tiles; t++) {
        const wide mass = wide_load(tile_scalar(sweep->particles, MPM_COLUMN_MASS, t));
        const wide T = wide_load(tile_scalar(sweep->particles, heat->temperature, t));
        for (int q = 0; q < WIDTH; q++)
            if (wide_lane(mass, q) > 0)
                result->heat += c * (double)wide_lane(mass, q) * (double)wide_lane(T, q);
    }
}

void MPM_KERNEL(heat_heat_sum)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    for_each_conductor(sweep, arguments, task, thread, sum_of_group);
}
