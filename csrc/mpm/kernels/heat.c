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
 * An implicit step solves T' = T + (Q(T') + dt (S - H T'))/C for the nodes (heat_nodes.c), and its Q is that of T'. Its
 * b_p are at most 1: in the place of k V, the values have the weight m c b h^2/(5 dt).
 *
 * Friction has given nodes heat per mass e_i: between bodies, half of its work to each (grid_pairs.h); at walls and
 * colliders, the share that these leave to the material (grid_contact.h). Particles gain sum w e_i each, which is all
 * of it, as the mass of a node is sum w m.
 *
 * A material that melts at Tm has a liquid share f as well, the conductivity k + f (k' - k), and the enthalpy e = c T +
 * L f where f < 1, and c Tm + L + c' (T - Tm) where f = 1; k' and c' are the liquid's. It takes c times the change
 * above, and T and f follow from e: T = Tm as long as 0 < f < 1. The sums of nodes know temperatures alone.
 *
 * In an implicit step, nodes take latent heat apart from Q (heat_nodes.c): a share r_i of all that their particles may
 * take, or g_i of all that these may give. Particles gain l (1 - f) sum w r_i - l f sum w g_i, l being the latent heat.
 *
 * A material that expands has the thermal stretch s = (1 + a (T - T0)) (1 + f (s' - 1)), with the stretch s' of the
 * liquid, and keeps the elastic part F/s of its deformation (J/s^d), of which its law computes the stress: when T
 * changes, so does F. In 2-D, s acts in the plane. The volume is V = J s^d V0. Parameters of a law that follow the
 * temperature vary over the particles, and each has a column.
 *
 * A solute is conducted in the same way: T is its concentration per rest volume, which may have any sign, the rest
 * volume V0 is in the place of m c, and the diffusivity in that of k. Swelling is the stretch 1 + a (T - T0), or one
 * from a table. Pore water is a third (pore.h).
 *
 * D. Sulsky, Z. Chen, H. L. Schreyer, Comput. Methods Appl. Mech. Eng. 118 (1994) 179: sums over particles as
 * integrals; Y. R. Fei et al., ACM Trans. Graph. 40(4) (2021) 109: the transfer.
 */
#include "mpm/kernels/any_scheme.h"
#include "mpm/kernels/pore.h"

#define REAL_BELOW_1 ((real)(REAL_IS_FLOAT ? 1 - 0x1p-24 : 1 - 0x1p-53)) /* not all is liquid */
#define HOTTEST ((real)(REAL_IS_FLOAT ? 1e38 : 1e300)) /* [K]: beyond it, temperatures overflow */

/* What conduction needs of a tile. */
struct conductor {
    wide x[DIM], mass, capacity, conductance; /* m c [J/K]; k V */
    wide weight;                              /* of the value that it shares with the nodes: m c b, over 5 dt/h^2 */
    wide T, c, liquid;                        /* liquid: its share, 0 of a material that does not melt */
};

enum { KEPT_VOLUME, KEPT_T, KEPT_LIQUID, KEPT_HEATED, KEPT_G }; /* of the reals that heat.h counts */

static const mpm_thermal *thermal_of(const mpm_heat_arguments *heat, const mpm_group *group)
{
    return &heat->materials[group->material];
}

static bool takes_part(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group)
{
    return thermal_of(heat, group)->specific_heat > 0 && !mpm_material_law(&sweep->materials[group->material])->rigid;
}

/* Of what is stored by volume: how much per rest volume and "temperature"; 1/M of pore water [1/Pa]. */
static double storage_of(const mpm_thermal *thermal)
{
    return thermal->specific_heat * thermal->density;
}

static real *kept_of(const mpm_heat_arguments *heat, ptrdiff_t t, int which)
{
    return (real *)heat->kept + (t * MPM_HEAT_REALS(DIM) + which) * WIDTH;
}

/* V [m^d], 0 where there is no particle. */
static wide find_volume(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group, ptrdiff_t t)
{
    const mpm_material *material = &sweep->materials[group->material];
    const struct constants k = group_constants(sweep, (struct durations){0}, group);
    const bool keeps_J = law_keeps_J(material->law);
    struct tile tile;
    tile_load(&tile, sweep->particles, t, keeps_J, false);
    tile_load_history(&tile, sweep->particles, t, material, law_history(mpm_material_kernel_law(material), material));
    wide J = tile.state.J;
    if (!keeps_J)
        J = matrix_det(tile.state.F) * law_volume_scale(k.row, &tile.state);
    if (mpm_thermal_stretches(thermal_of(heat, group))) {
        const wide s = wide_load(tile_scalar(sweep->particles, heat->stretch, t));
        J *= DIM == 2 ? s * s : s * s * s;
    }
    return wide_select(wide_less(wide_set(0), tile.mass), tile.volume * J, wide_set(0));
}

/* Needs the volume that is kept. */
static void conductor_load(struct conductor *p, const mpm_sweep *sweep, const mpm_heat_arguments *heat,
                           const mpm_group *group, ptrdiff_t t)
{
    const mpm_particles *particles = sweep->particles;
    const mpm_thermal *thermal = thermal_of(heat, group);
    const wide zero = wide_set(0);
    UNROLL for (int a = 0; a < DIM; a++)
        p->x[a] = wide_load(tile_vector(particles, MPM_COLUMN_X, t) + a * WIDTH);
    p->mass = wide_load(tile_scalar(particles, MPM_COLUMN_MASS, t));
    const mask alive = wide_less(zero, p->mass);
    wide k = wide_set((real)thermal->conductivity);
    p->c = wide_set((real)thermal->specific_heat);
    p->liquid = zero;
    if (thermal->latent_heat > 0) {
        p->liquid = wide_load(tile_scalar(particles, heat->liquid, t));
        const mask solid = wide_less(p->liquid, wide_set(1));
        p->c = wide_select(solid, p->c, wide_set((real)thermal->liquid_specific_heat));
        k = wide_fma(p->liquid, wide_set((real)(thermal->liquid_conductivity - thermal->conductivity)), k);
    }
    p->capacity = wide_select(alive, p->mass * p->c, zero);
    if (thermal->per_volume) {
        const wide volume = wide_load(tile_scalar(particles, MPM_COLUMN_VOLUME, t));
        p->capacity = wide_select(alive, volume * wide_set((real)storage_of(thermal)), zero);
    }
    p->conductance = wide_load(kept_of(heat, t, KEPT_VOLUME)) * k;
    p->weight = p->conductance;
    if (heat->solve_dt > 0) {
        const double most = sweep->dx * sweep->dx / (5 * heat->solve_dt);
        p->weight = wide_min(p->weight, p->capacity * wide_set((real)most));
    }
    p->T = wide_select(alive, wide_load(tile_scalar(particles, heat->temperature, t)), zero);
    if (thermal->biot > 0)
        p->T = wide_select(alive, p->T - pore_hydrostatic(sweep, heat, group, p->x), zero);
}

static int lanes_left(const mpm_group *group, ptrdiff_t t)
{
    const ptrdiff_t left = group->count - (t - group->first_tile) * WIDTH;
    return left < WIDTH ? (int)left : WIDTH;
}

/* k V/(m c): the diffusivity, 0 where there is no particle; or the same of another conductance. */
static wide diffusivity(const struct conductor *p, wide conductance)
{
    const wide zero = wide_set(0);
    const mask alive = wide_less(zero, p->capacity);
    return wide_select(alive, conductance / wide_select(alive, p->capacity, wide_set(1)), zero);
}

/* Where the heat per mass that a particle gains takes its temperature and its liquid share. */
static void melt(const mpm_thermal *thermal, const struct conductor *p, wide gained, wide *T, wide *liquid)
{
    const wide zero = wide_set(0), one = wide_set(1), Tm = wide_set((real)thermal->melting);
    const wide L = wide_set((real)thermal->latent_heat), above = p->c * (p->T - Tm);
    const mask was_solid = wide_less(p->liquid, one);
    /* the enthalpy over that of the solid at Tm */
    const wide e = wide_select(was_solid, wide_fma(L, p->liquid, above), L + above) + gained;
    const mask freezes = wide_less(e, zero), melts = wide_less_equal(L, e);
    const wide cold = Tm + e / wide_set((real)thermal->specific_heat);
    const wide hot = Tm + (e - L) / wide_set((real)thermal->liquid_specific_heat);
    *T = wide_select(freezes, cold, wide_select(melts, hot, Tm));
    *liquid = wide_select(freezes, zero, wide_select(melts, one, wide_min(e / L, wide_set(REAL_BELOW_1))));
}

/* What the law has dissipated since the last time, times the share that heats [J]. */
static wide take_dissipated(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group, ptrdiff_t t)
{
    const mpm_material *material = &sweep->materials[group->material];
    real *before = tile_scalar(sweep->particles, heat->heated, t);
    wide now = wide_set(0);
    for (int i = 0; i < 2; i++)
        now += wide_load(tile_scalar(sweep->particles, material->dissipation[i], t));
    const wide volume = wide_load(tile_scalar(sweep->particles, MPM_COLUMN_VOLUME, t));
    const wide gained = wide_set((real)thermal_of(heat, group)->heating) * (now - wide_load(before)) * volume;
    wide_store(before, now);
    return gained;
}

/* What the sources have given [J], with the volume that is kept; adds it to the book. */
static wide take_from_sources(const mpm_sweep *sweep, const mpm_heat_arguments *heat, ptrdiff_t t, mpm_measure *result)
{
    const real *volume = kept_of(heat, t, KEPT_VOLUME);
    real gained[WIDTH] __attribute__((aligned(64)));
    for (int q = 0; q < WIDTH; q++) {
        const int32_t row = sweep->particles->row[t * WIDTH + q];
        const double heat_of_row = row < 0 ? 0 : heat->source[row] * (double)volume[q] * heat->source_dt;
        gained[q] = (real)heat_of_row;
        result->heat += heat_of_row;
    }
    return wide_load(gained);
}

/* Reads what friction has given to the nodes of a group, if any may have. */
static bool read_friction(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                          struct workspace *work)
{
    const uint64_t *shared = sweep->grid->shared_nodes;
    bool near = false;
    for (int k = 0; k < (DIM == 3 ? 27 : 9) && heat->friction; k++) {
        const int32_t b = group->node_block[k];
        near |= group->copy[k] >= 0 && ((shared && shared[b]) || heat->reports[b].friction_heat > 0);
    }
    if (near)
        arena_read(work->velocity + ARENA_SLACK, group, sweep->grid->field[MPM_GRID_TEMPERATURE]);
    return near;
}

/* What friction has given to particles at x, per mass. */
static wide take_friction(const mpm_sweep *sweep, const wide x[DIM], struct workspace *work)
{
    struct stencil *s = &work->stencil;
    stencil_prepare(s, x, sweep->scheme.degree);
    stencil_gather(s, work->velocity + ARENA_SLACK, NULL, sweep->scheme.degree, WANT_MOMENT);
    return stencil_sum(s, 0, 0);
}

/* Takes in what the law has dissipated since the last time, and what friction (`work`) and sources have given. */
static void take_in(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group, ptrdiff_t t,
                    struct workspace *work, mpm_measure *result)
{
    const mpm_thermal *thermal = thermal_of(heat, group);
    struct conductor p;
    conductor_load(&p, sweep, heat, group, t);
    const mask alive = wide_less(wide_set(0), p.capacity);
    wide given = thermal->heating > 0 ? take_dissipated(sweep, heat, group, t) : wide_set(0);
    if (heat->source)
        given += take_from_sources(sweep, heat, t, result);
    const wide taker = thermal->per_volume ? p.capacity : p.mass;
    wide gained = given / wide_select(alive, taker, wide_set(1));
    if (work)
        gained += wide_select(alive, take_friction(sweep, p.x, work), wide_set(0));
    wide rise = gained, liquid = p.liquid;
    if (!thermal->per_volume)
        rise = gained / p.c;
    wide T = p.T + rise;
    if (thermal->latent_heat > 0) {
        melt(thermal, &p, gained, &T, &liquid);
        wide_store(tile_scalar(sweep->particles, heat->liquid, t), wide_select(alive, liquid, wide_set(0)));
    }
    wide_store(tile_scalar(sweep->particles, heat->temperature, t), wide_select(alive, T, wide_set(0)));
}

/* Calls `visit` with every column that conduction changes, and its place among what is kept. */
typedef void copier(real *column, real *kept);

INLINE void for_each_kept(const mpm_sweep *sweep, const mpm_heat_arguments *heat, ptrdiff_t t, copier *copy)
{
    const mpm_particles *particles = sweep->particles;
    copy(tile_scalar(particles, heat->temperature, t), kept_of(heat, t, KEPT_T));
    if (heat->liquid >= 0)
        copy(tile_scalar(particles, heat->liquid, t), kept_of(heat, t, KEPT_LIQUID));
    if (heat->heated >= 0)
        copy(tile_scalar(particles, heat->heated, t), kept_of(heat, t, KEPT_HEATED));
    UNROLL for (int a = 0; a < DIM; a++)
        copy(tile_scalar(particles, heat->gradient + a, t), kept_of(heat, t, KEPT_G + a));
}

static void keep(real *column, real *kept)
{
    wide_store(kept, wide_load(column));
}

static void restore(real *column, real *kept)
{
    wide_store(column, wide_load(kept));
}

/* `work`: where friction has given heat, else NULL; `volumes`: they will be needed. */
static void begin(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group, ptrdiff_t t,
                  struct workspace *work, bool volumes, mpm_measure *result)
{
    for_each_kept(sweep, heat, t, keep);
    if (volumes)
        wide_store(kept_of(heat, t, KEPT_VOLUME), find_volume(sweep, heat, group, t));
    if (thermal_of(heat, group)->heating > 0 || heat->source || work)
        take_in(sweep, heat, group, t, work, result);
}

/* Of the lanes with a mass, those out of range. */
static int count_bad(const mpm_thermal *thermal, mask alive, wide T)
{
    const real least = (real)(thermal->least > -(double)HOTTEST ? thermal->least : -(double)HOTTEST);
    const unsigned good = mask_bits(wide_less(wide_set(least), T)) & mask_bits(wide_less(T, wide_set(HOTTEST)));
    return __builtin_popcount(mask_bits(alive) & ~good);
}

/* ---- particles to nodes ----------------------------------------------------------------------------------------- */

/* What a tile deposits. Prepares its stencil, and may use what has been gathered in the arena of velocities. */
typedef struct deposit depositor(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                                 ptrdiff_t t, struct workspace *work, mpm_measure *result);

static struct deposit no_deposit(void)
{
    struct deposit deposit;
    memset(&deposit, 0, sizeof deposit);
    return deposit;
}

/* {sum w m c T, sum w k V T, sum w k V, sum w m c}, k V being the weight, with a stencil that is prepared. */
static struct deposit mean_of(const struct conductor *p, const mpm_sweep *sweep, const mpm_heat_arguments *heat,
                              ptrdiff_t t, const struct stencil *s)
{
    const wide h = wide_set((real)sweep->dx), zero = wide_set(0);
    const mask alive = wide_less(zero, p->mass);
    struct deposit deposit = no_deposit();
    deposit.by_offset = true;
    deposit.mass = p->capacity;
    deposit.Q[0] = p->capacity * p->T;
    deposit.Q[1] = p->weight * p->T;
    if (DIM == 3)
        deposit.Q[DIM - 1] = p->weight;
    else
        deposit.third = p->weight;
    UNROLL for (int a = 0; a < DIM; a++) {
        const wide G =
            wide_select(alive, wide_load(tile_scalar(sweep->particles, heat->gradient + a, t)), zero);
        deposit.A[a][0] = p->capacity * h * G;
        deposit.A[a][1] = p->weight * h * G;
    }
    fold_offset(&deposit, s->e);
    return deposit;
}

/* {sum w m l (1 - f), sum w m l f, sum w m l Tm}, l being the latent heat. */
static struct deposit latent(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                             ptrdiff_t t, struct workspace *work, mpm_measure *result)
{
    (void)result;
    const mpm_thermal *thermal = thermal_of(heat, group);
    struct deposit deposit = no_deposit();
    struct conductor p;
    conductor_load(&p, sweep, heat, group, t);
    const wide all = wide_select(wide_less(wide_set(0), p.mass), p.mass * wide_set((real)thermal->latent_heat),
                                 wide_set(0));
    const wide weighted = all * wide_set((real)thermal->melting);
    deposit.Q[0] = all * (wide_set(1) - p.liquid);
    deposit.Q[1] = all * p.liquid;
    if (DIM == 3)
        deposit.Q[DIM - 1] = weighted;
    else
        deposit.third = weighted;
    stencil_prepare(&work->stencil, p.x, sweep->scheme.degree);
    return deposit;
}

/* Measures the largest diffusivity. */
static struct deposit means(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                                  ptrdiff_t t, struct workspace *work, mpm_measure *result)
{
    struct conductor p;
    if (heat->friction && t == group->first_tile)
        arena_read(work->velocity + ARENA_SLACK, group, sweep->grid->field[MPM_GRID_TEMPERATURE]);
    begin(sweep, heat, group, t, heat->friction ? work : NULL, true, result);
    conductor_load(&p, sweep, heat, group, t);
    const double found = wide_largest(diffusivity(&p, p.conductance));
    result->diffusivity = found > result->diffusivity ? found : result->diffusivity;
    stencil_prepare(&work->stencil, p.x, sweep->scheme.degree);
    return mean_of(&p, sweep, heat, t, &work->stencil);
}

/* sum V grad w, which is the integral of w n over the surface of the material. */
static struct deposit areas(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                            ptrdiff_t t, struct workspace *work, mpm_measure *result)
{
    (void)result;
    const wide volume = wide_load(kept_of(heat, t, KEPT_VOLUME));
    struct deposit deposit = no_deposit();
    struct conductor p;
    conductor_load(&p, sweep, heat, group, t);
    deposit.by_slope = true;
    if (thermal_of(heat, group)->biot > 0)
        deposit.mass = volume;
    UNROLL for (int a = 0; a < DIM; a++)
        deposit.G[a][a] = volume * wide_set((real)(1 / sweep->dx));
    stencil_prepare(&work->stencil, p.x, sweep->scheme.degree);
    return deposit;
}

static struct deposit flow(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                           ptrdiff_t t, struct workspace *work, mpm_measure *result)
{
    (void)result;
    const int degree = sweep->scheme.degree;
    const double h = sweep->dx;
    const wide zero = wide_set(0), factor = wide_set((real)(-heat->dt / (h * h)));
    struct stencil *s = &work->stencil;
    struct deposit deposit = no_deposit();
    struct conductor p;
    conductor_load(&p, sweep, heat, group, t);
    stencil_prepare(s, p.x, degree);
    stencil_gather(s, work->velocity + ARENA_SLACK, NULL, degree, WANT_SLOPE);
    const mask alive = wide_less(zero, p.capacity);
    deposit.by_slope = true;
    UNROLL for (int a = 0; a < DIM; a++)
        deposit.G[a][0] = wide_select(alive, factor * p.conductance * stencil_sum(s, 1 + DIM + a, 0), zero);
    if (heat->strain_dt > 0) {
        const wide gained = pore_gained(sweep, heat, work) * wide_load(kept_of(heat, t, KEPT_VOLUME));
        deposit.Q[0] = wide_select(alive, wide_set((real)-thermal_of(heat, group)->biot) * gained, zero);
    }
    return deposit;
}

/* ---- nodes to particles ----------------------------------------------------------------------------------------- */

/* Latent heat that nodes have left to a tile, per mass: in `before`, the shares of what it may take and give. The sums
 * of the stencil are lost. */
static wide latent_gained(const mpm_thermal *thermal, const struct conductor *p, int degree, struct workspace *work)
{
    struct stencil *s = &work->stencil;
    stencil_gather(s, work->before + ARENA_SLACK, NULL, degree, WANT_MOMENT);
    const wide taken = (wide_set(1) - p->liquid) * stencil_sum(s, 0, 2), given = p->liquid * stencil_sum(s, 0, 3);
    return wide_set((real)thermal->latent_heat) * (taken - given);
}

/* Gives a tile its new temperatures, by a stencil that it prepares. Counts those that are not positive. */
static void take_back(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group, ptrdiff_t t,
                      struct workspace *work, mpm_measure *result)
{
    const mpm_thermal *thermal = thermal_of(heat, group);
    const int degree = sweep->scheme.degree;
    const double h = sweep->dx;
    const wide zero = wide_set(0);
    const wide share = wide_set((real)(5 * heat->dt / (h * h)));
    const wide affine = wide_set((real)(1 / (h * mpm_scheme_second_moment(degree))));
    struct stencil *s = &work->stencil;
    struct conductor p;
    conductor_load(&p, sweep, heat, group, t);
    stencil_prepare(s, p.x, degree);
    stencil_gather(s, work->velocity + ARENA_SLACK, NULL, degree, WANT_MOMENT);
    const mask alive = wide_less(zero, p.capacity);
    const wide change = stencil_sum(s, 0, 1), mean = stencil_sum(s, 0, 2);
    const wide gained = wide_fma(share * diffusivity(&p, p.weight), stencil_sum(s, 0, 3) - p.T, change);
    UNROLL for (int a = 0; a < DIM; a++) {
        const wide slope = affine * wide_fnma(s->e[a], mean, stencil_sum(s, 1 + a, 2));
        wide_store(tile_scalar(sweep->particles, heat->gradient + a, t), wide_select(alive, slope, zero));
    }
    wide T = p.T + gained, liquid;
    if (thermal->latent_heat > 0) {
        wide enthalpy = p.c * gained;
        if (heat->melts)
            enthalpy += latent_gained(thermal, &p, degree, work);
        melt(thermal, &p, enthalpy, &T, &liquid);
        wide_store(tile_scalar(sweep->particles, heat->liquid, t), wide_select(alive, liquid, zero));
    }
    real *temperature = tile_scalar(sweep->particles, heat->temperature, t);
    if (thermal->biot > 0)
        T = wide_load(temperature) + gained;
    result->out_of_range += count_bad(thermal, alive, T);
    wide_store(temperature, wide_select(alive, T, zero));
}

static struct deposit back_and_means(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                                     ptrdiff_t t, struct workspace *work, mpm_measure *result)
{
    struct conductor p;
    take_back(sweep, heat, group, t, work, result);
    conductor_load(&p, sweep, heat, group, t);
    return mean_of(&p, sweep, heat, t, &work->stencil);
}

/* ---- sweeps ----------------------------------------------------------------------------------------------------- */

typedef void visitor(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                     struct workspace *work, mpm_measure *result);

/* Deposits what the tiles of a group have into the copies of `field`. */
INLINE void scatter(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                    struct workspace *work, mpm_measure *result, mpm_grid_field field, bool gathers, depositor *find)
{
    if (gathers)
        arena_read(work->velocity + ARENA_SLACK, group, sweep->grid->field[MPM_GRID_TEMPERATURE]);
    if (heat->strain_dt > 0)
        arena_read(work->before + ARENA_SLACK, group, sweep->grid->field[heat->moves]);
    for (ptrdiff_t t = group->first_tile; t < group->first_tile + group->tiles; t++) {
        const struct deposit deposit = find(sweep, heat, group, t, work, result);
        stencil_scatter(&work->stencil, work->momentum + ARENA_SLACK, lanes_left(group, t), sweep->scheme.degree,
                        &deposit);
    }
    arena_add(work->momentum + ARENA_SLACK, group, sweep->grid->copies[field]);
}

#define SCATTER(name, field, gathers) \
    static void scatter_##name(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group, \
                               struct workspace *work, mpm_measure *result) \
    { \
        scatter(sweep, heat, group, work, result, field, gathers, name); \
    }
SCATTER(means, MPM_GRID_HEAT, false)
SCATTER(areas, MPM_GRID_HEAT_AREAS, false)
SCATTER(latent, MPM_GRID_HEAT_LATENT, false)
SCATTER(flow, MPM_GRID_HEAT_FLOW, true)
SCATTER(back_and_means, MPM_GRID_HEAT, true)
#undef SCATTER

static void back(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                 struct workspace *work, mpm_measure *result)
{
    arena_read(work->velocity + ARENA_SLACK, group, sweep->grid->field[MPM_GRID_TEMPERATURE]);
    if (heat->melts)
        arena_read(work->before + ARENA_SLACK, group, sweep->grid->field[MPM_GRID_HEAT_FLOW]);
    for (ptrdiff_t t = group->first_tile; t < group->first_tile + group->tiles; t++)
        take_back(sweep, heat, group, t, work, result);
}

static void take_group(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                       struct workspace *work, mpm_measure *result)
{
    const bool rubs = read_friction(sweep, heat, group, work);
    for (ptrdiff_t t = group->first_tile; t < group->first_tile + group->tiles; t++) {
        begin(sweep, heat, group, t, rubs ? work : NULL, heat->source != NULL, result);
        const wide T = wide_load(tile_scalar(sweep->particles, heat->temperature, t));
        const mask alive = wide_less(wide_set(0), wide_load(tile_scalar(sweep->particles, MPM_COLUMN_MASS, t)));
        result->out_of_range += count_bad(thermal_of(heat, group), alive, T);
    }
}

static void restore_group(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                          struct workspace *work, mpm_measure *result)
{
    (void)work, (void)result;
    for (ptrdiff_t t = group->first_tile; t < group->first_tile + group->tiles; t++)
        for_each_kept(sweep, heat, t, restore);
}

static wide value_of(const mpm_scale *scale, wide T, wide liquid)
{
    const wide one = wide_set(1);
    wide value = wide_set((real)scale->value[0]);
    for (int k = 1; k < scale->knots; k++) {
        const double from = scale->temperature[k - 1], to = scale->temperature[k];
        const bool jumps = !(to > from);
        wide share = liquid;
        if (!jumps)
            share = (T - wide_set((real)from)) * wide_set((real)(1 / (to - from)));
        share = wide_min(wide_max(share, wide_set(0)), one);
        const wide here =
            (one - share) * wide_set((real)scale->value[k - 1]) + share * wide_set((real)scale->value[k]);
        value = wide_select(wide_less(wide_set(0), share), here, value);
    }
    return value;
}

/* Gives the elastic part of the deformation the thermal stretch of the temperatures. */
static void expand(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group, ptrdiff_t t)
{
    const mpm_thermal *thermal = thermal_of(heat, group);
    real *stretch = tile_scalar(sweep->particles, heat->stretch, t);
    const wide one = wide_set(1), T = wide_load(tile_scalar(sweep->particles, heat->temperature, t));
    const wide warmer = T - wide_set((real)thermal->temperature);
    const mask alive = wide_less(wide_set(0), wide_load(tile_scalar(sweep->particles, MPM_COLUMN_MASS, t)));
    wide s = wide_fma(wide_set((real)thermal->expansion), warmer, one);
    if (thermal->swelling.knots)
        s = value_of(&thermal->swelling, T, wide_set(0));
    if (thermal->latent_heat > 0) {
        const wide liquid = wide_load(tile_scalar(sweep->particles, heat->liquid, t));
        s *= wide_fma(wide_set((real)(thermal->liquid_stretch - 1)), liquid, one);
    }
    s = wide_select(alive, s, one);
    const wide ratio = wide_load(stretch) / s;
    const bool keeps_J = law_keeps_J(sweep->materials[group->material].law);
    wide_store(stretch, s);
    if (keeps_J) {
        real *J = tile_vector(sweep->particles, MPM_COLUMN_C + DIM, t);
        wide_store(J, wide_load(J) * (DIM == 2 ? ratio * ratio : ratio * ratio * ratio));
        return;
    }
    UNROLL for (int a = 0; a < DIM; a++)
        UNROLL for (int b = 0; b < DIM; b++) {
            real *F = tile_vector(sweep->particles, MPM_COLUMN_C + DIM + a, t) + b * WIDTH;
            wide_store(F, wide_load(F) * ratio);
        }
}

/* Gives parameters that follow the temperature their values. Padding keeps its own, NaN. */
static void rescale(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group, ptrdiff_t t)
{
    const mpm_material *material = &sweep->materials[group->material];
    const mpm_thermal *thermal = thermal_of(heat, group);
    const int first = mpm_law_history(mpm_material_law(material), DIM);
    const wide T = wide_load(tile_scalar(sweep->particles, heat->temperature, t));
    const wide liquid =
        heat->liquid >= 0 ? wide_load(tile_scalar(sweep->particles, heat->liquid, t)) : wide_set(0);
    const mask alive = wide_less(wide_set(0), wide_load(tile_scalar(sweep->particles, MPM_COLUMN_MASS, t)));
    for (int i = 0; i < thermal->scales; i++)
        for (int v = 0; v < material->varying; v++)
            if (material->parameter[v] == thermal->scale[i].parameter) {
                real *column = tile_scalar(sweep->particles, material->column[first + v], t);
                wide_store(column, wide_select(alive, value_of(&thermal->scale[i], T, liquid), wide_load(column)));
            }
}

static void follow_group(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                         struct workspace *work, mpm_measure *result)
{
    (void)work, (void)result;
    const mpm_thermal *thermal = thermal_of(heat, group);
    for (ptrdiff_t t = group->first_tile; t < group->first_tile + group->tiles; t++) {
        if (mpm_thermal_stretches(thermal))
            expand(sweep, heat, group, t);
        if (thermal->scales)
            rescale(sweep, heat, group, t);
    }
}

/* ---- pore water -------------------------------------------------------------------------------------------------- */

/* Of what is stored by volume; the volume of the water that has come since the beginning, sum V0 p/M + a (V - V0). */
static void sum_by_volume(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                      mpm_measure *result)
{
    const mpm_thermal *thermal = thermal_of(heat, group);
    const double storage = storage_of(thermal);
    for (ptrdiff_t t = group->first_tile; t < group->first_tile + group->tiles; t++) {
        const wide mass = wide_load(tile_scalar(sweep->particles, MPM_COLUMN_MASS, t));
        const wide rest = wide_load(tile_scalar(sweep->particles, MPM_COLUMN_VOLUME, t));
        const wide p = wide_load(tile_scalar(sweep->particles, heat->temperature, t));
        const wide volume = find_volume(sweep, heat, group, t);
        for (int q = 0; q < WIDTH; q++)
            if (wide_lane(mass, q) > 0) {
                const double V0 = (double)wide_lane(rest, q), V = (double)wide_lane(volume, q);
                result->heat += V0 * storage * (double)wide_lane(p, q) + thermal->biot * (V - V0);
            }
    }
}

/* dt sum V a p g with the gradient g of the scheme, as a stress -a p I. */
static void push_group(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                       struct workspace *work, mpm_measure *result)
{
    (void)result;
    const mpm_scheme *scheme = &sweep->scheme;
    const bool split = mpm_scheme_is_split(scheme), mls = scheme->gradient == MPM_GRADIENT_MLS;
    const double D = mls ? mpm_scheme_second_moment(scheme->degree) : 1;
    const wide scale = wide_set((real)(heat->strain_dt * thermal_of(heat, group)->biot / (sweep->dx * D)));
    real *target = (split ? work->impulse : work->momentum) + ARENA_SLACK;
    for (ptrdiff_t t = group->first_tile; t < group->first_tile + group->tiles; t++) {
        struct deposit deposit = no_deposit();
        wide x[DIM];
        const wide volume = find_volume(sweep, heat, group, t);
        const wide p = wide_load(tile_scalar(sweep->particles, heat->temperature, t));
        const wide push = wide_select(wide_less(wide_set(0), volume), scale * volume * p, wide_set(0));
        deposit.by_offset = mls;
        deposit.by_slope = !mls;
        UNROLL for (int a = 0; a < DIM; a++) {
            x[a] = wide_load(tile_vector(sweep->particles, MPM_COLUMN_X, t) + a * WIDTH);
            *(mls ? &deposit.A[a][a] : &deposit.G[a][a]) = push;
        }
        stencil_prepare(&work->stencil, x, scheme->degree);
        fold_offset(&deposit, work->stencil.e);
        stencil_scatter(&work->stencil, target, lanes_left(group, t), scheme->degree, &deposit);
    }
    arena_add(target, group, sweep->grid->copies[split ? MPM_GRID_IMPULSE : MPM_GRID_VELOCITY]);
}

/* ---- measures ---------------------------------------------------------------------------------------------------- */

static void sum_of_group(const mpm_sweep *sweep, const mpm_heat_arguments *heat, const mpm_group *group,
                         struct workspace *work, mpm_measure *result)
{
    (void)work;
    const mpm_thermal *thermal = thermal_of(heat, group);
    const double c = thermal->specific_heat;
    if (thermal->per_volume) {
        sum_by_volume(sweep, heat, group, result);
        return;
    }
    for (ptrdiff_t t = group->first_tile; t < group->first_tile + group->tiles; t++) {
        const wide mass = wide_load(tile_scalar(sweep->particles, MPM_COLUMN_MASS, t));
        const wide T = wide_load(tile_scalar(sweep->particles, heat->temperature, t));
        const wide liquid = wide_load(tile_scalar(sweep->particles, heat->liquid, t));
        for (int q = 0; q < WIDTH; q++) {
            const double temperature = (double)wide_lane(T, q), share = (double)wide_lane(liquid, q);
            double e = c * temperature;
            if (thermal->latent_heat > 0 && share >= 1)
                e = c * thermal->melting + thermal->latent_heat +
                    thermal->liquid_specific_heat * (temperature - thermal->melting);
            else if (thermal->latent_heat > 0)
                e += thermal->latent_heat * share;
            if (wide_lane(mass, q) > 0)
                result->heat += (double)wide_lane(mass, q) * e;
        }
    }
}

void MPM_KERNEL(heat_heat)(const mpm_sweep *sweep, const mpm_arguments *arguments, ptrdiff_t task, int thread)
{
    static const struct {
        visitor *visit;
        mpm_grid_field scatters; /* MPM_GRID_NONE: nothing */
    } sweeps[MPM_HEAT_SWEEPS] = {
        [MPM_HEAT_BEGIN] = {scatter_means, MPM_GRID_HEAT},
        [MPM_HEAT_AREAS] = {scatter_areas, MPM_GRID_HEAT_AREAS},
        [MPM_HEAT_LATENT] = {scatter_latent, MPM_GRID_HEAT_LATENT},
        [MPM_HEAT_FLOW] = {scatter_flow, MPM_GRID_HEAT_FLOW},
        [MPM_HEAT_BACK] = {back, MPM_GRID_NONE},
        [MPM_HEAT_ON] = {scatter_back_and_means, MPM_GRID_HEAT},
        [MPM_HEAT_RESTORE] = {restore_group, MPM_GRID_NONE},
        [MPM_HEAT_TAKE] = {take_group, MPM_GRID_NONE},
        [MPM_HEAT_FOLLOW] = {follow_group, MPM_GRID_NONE},
        [MPM_HEAT_SUM] = {sum_of_group, MPM_GRID_NONE},
        [MPM_HEAT_PUSH] = {push_group, MPM_GRID_NONE}, /* adds to copies that P2G has begun */
    };
    const mpm_heat_arguments *heat = &arguments->heat;
    const mpm_grid_field field = sweeps[heat->sweep].scatters;
    struct workspace *work = sweep->workspaces[thread];
    mpm_measure *result = &sweep->measures[task];
    *result = (mpm_measure){.least_det = 1};
    if (field != MPM_GRID_NONE || heat->sweep == MPM_HEAT_PUSH)
        begin_scatter(work);
    if (field != MPM_GRID_NONE)
        clear_copies(sweep->grid, field, task);
    for (int32_t g = sweep->grid->task_group[task]; g < sweep->grid->task_group[task + 1]; g++)
        if (takes_part(sweep, heat, &sweep->particles->groups[g]))
            sweeps[heat->sweep].visit(sweep, heat, &sweep->particles->groups[g], work, result);
}
