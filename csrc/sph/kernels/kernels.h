/* SPDX-License-Identifier: MIT
 *
 * The kernels of smoothed particle hydrodynamics: what they work on, and their table.
 *
 * A step needs sums over neighbours. Particles and everything that acts like one are sorted by cells as wide as the
 * support 2h, in *clouds*: the fluid; its images beyond periodic faces; its images beyond walls; and one cloud of
 * particles for every collider. The sorted particles are in *slots*, one record each. A *tile* has one particle per
 * lane, from at most two neighbouring cells, and one list of all slots that any of them may reach. A particle sums over
 * the list in its order; what is beyond its support adds exactly 0. So neither the tiles nor the threads change a sum.
 */
#pragma once
#include "contact/boundary.h"
#include "contact/contacts.h"
#include "materials/laws.h"

typedef enum mpm_sph_kernel { MPM_SPH_CUBIC, MPM_SPH_WENDLAND, MPM_SPH_KERNELS } mpm_sph_kernel;
typedef enum mpm_sph_viscosity { MPM_SPH_VECTOR, MPM_SPH_CENTRAL, MPM_SPH_VISCOSITIES } mpm_sph_viscosity;

enum {
    MPM_SPH_FLUID, MPM_SPH_PERIODIC, MPM_SPH_IMAGES, MPM_SPH_COLLIDERS, /* the clouds; one per collider from there on */
    MPM_SPH_MOST_COLLIDERS = 256,
    MPM_SPH_MOST_CLOUDS = MPM_SPH_COLLIDERS + MPM_SPH_MOST_COLLIDERS,
    MPM_SPH_RECORD = 8, /* reals of a record: x, v, p/rho^2, 1/rho, and padding in 2-D */
    MPM_SPH_SPARE = 64, /* slots beyond the last that kernels may read */
    MPM_SPH_MOST_LANES = 16
};

/** Particles, and their order by cells. A *page* is a range of cells: one cell each, unless most cells are empty. */
typedef struct mpm_sph_cloud {
    ptrdiff_t count, first;   /* of its particles; slot of the first */
    const void *x, *v;        /* [count][dim], before sorting */
    int64_t low[3], cells[3]; /* the box of cells that holds them */
    int shift;                /* a page has 2^shift cells */
    int64_t *key;             /* [count] cell of every particle in the box, ascending */
    int32_t *order;           /* [count] its place before sorting; ascending within a cell */
    int32_t *page;            /* [pages + 1] the first particle of every page */
} mpm_sph_cloud;

typedef struct mpm_sph_tile {
    int32_t slot;        /* of its first particle */
    int16_t count, cloud;
    size_t list;         /* where its list begins in the lists of its task: first the end of each cloud's part */
} mpm_sph_tile;

/** The lists of one task. */
typedef struct mpm_sph_lists {
    int32_t *entries;
    size_t capacity;
    bool full; /* no room: the task did not finish */
} mpm_sph_lists;

/** Sums and maxima over the particles of a task. */
typedef struct mpm_sph_measure {
    double momentum[3], mass_moment[3], angular_momentum[3], kinetic, elastic;
    double speed2, wave2; /* the largest |v|^2 and c^2 [m2/s2] */
    double lowest;        /* the largest potential of gravity, g . x [J/kg] */
    double least_J, largest_J; /* largest_J also of particles of sticky colliders: viscosity acts between both */
} mpm_sph_measure;

/** What decides how far a step changes the energy of a task: the sum of m a^2 of the forces by neighbours; how far work
 *  by the trapezoidal rule differs from that of the law, and what bounds this difference. */
typedef struct mpm_sph_error {
    double pull2;      /* [N2/kg] */
    double narrowing2; /* the sum of (dJ/dt)^2 [1/s2] */
    double rate;       /* the largest |d ln rho/dt| [1/s] */
    double misfit;     /* [J] */
} mpm_sph_error;

/** What a kick finds in a task. */
typedef struct mpm_sph_kick {
    double travel2;         /* the largest squared way of a particle [m2] */
    bool finite;
    double wall_impulse[3]; /* of reflections at walls [N s] */
} mpm_sph_kick;

typedef struct mpm_sph_pass {
    /* the method */
    mpm_sph_kernel kernel;
    mpm_sph_viscosity viscosity;
    double h, mass;            /* smoothing length [m]; of a particle [kg] */
    double eta, nu;            /* dynamic [Pa s] and kinematic [m2/s] viscosity: what is constant; the other is 0 */
    double alpha, xsph;        /* artificial viscosity times the wave speed at rest [m/s]; share of velocities */
    double repulsion, range;   /* eps c^2 [m2/s2], 0: none; the distance where it ends [m] */
    double density;            /* at rest [kg/m^d] */
    const mpm_material *material;
    double lower[3], upper[3]; /* the domain */
    const mpm_wall *walls;
    double origin[3], inverse_side; /* of the cells */

    /* rows */
    ptrdiff_t rows;
    void *x, *v, *J;           /* [row][dim], [row] */
    const double *body_force;  /* [row][dim] [m/s2]; NULL: none */
    int32_t *slot_of_row;

    /* images: of the periodic faces, and those that walls are part of */
    void *image_x[2], *image_v[2];
    int32_t *image_row[2];

    /* slots */
    mpm_sph_cloud *clouds;
    int cloud_count;
    void *record;   /* [slot][MPM_SPH_RECORD] */
    void *place[3]; /* [slot] coordinates */
    void *force;    /* [slot][dim] acceleration by neighbours [m/s2] */
    void *drift;    /* [slot][dim] what XSPH adds to the velocity of motion [m/s] */
    void *next;     /* [slot][2 dim] x and v at the end of the step */

    /* tasks */
    mpm_sph_tile *tiles;
    const ptrdiff_t *task_tile; /* [tasks + 1] */
    mpm_sph_lists *lists;
    mpm_sph_measure *measures;
    double (*wall_force)[3];
    void *rate;                /* [slot] d ln rho/dt [1/s] */
    mpm_sph_error *errors;     /* [task] */
    bool finds_errors;         /* rates and errors are wanted */
    double foresight;          /* time over which the rates are assumed to last [s] */
    mpm_sph_kick *kicks;
    mpm_boundary *boundary;
    mpm_collider_book *forces, *touches; /* [task][collider]: rates of impulse and torque; what the guard did */
    double dt, kick, gravity[3];         /* of the kick: time of the motion and of the forces [s] */
} mpm_sph_pass;

typedef struct mpm_sph_kernels {
    const char *isa;
    int dim, lanes;
    size_t real_size;

    /** Extends a box of cells to the particles begin .. end - 1 of a cloud. */
    void (*bounds)(const mpm_sph_pass *pass, const mpm_sph_cloud *cloud, ptrdiff_t begin, ptrdiff_t end, int64_t low[3],
                   int64_t high[3]);
    /** Their keys in the cloud's box. */
    void (*keys)(const mpm_sph_pass *pass, const mpm_sph_cloud *cloud, ptrdiff_t begin, ptrdiff_t end, int64_t *keys);
    /** Fills slots from sorted particles. */
    void (*gather)(const mpm_sph_pass *pass, int cloud, ptrdiff_t begin, ptrdiff_t end);
    /** Counts the images of rows begin .. end - 1, per list; `fill`: also makes them, from `at` on. */
    void (*images)(const mpm_sph_pass *pass, ptrdiff_t begin, ptrdiff_t end, bool fill, ptrdiff_t at[2]);
    /** Images take pressure and density from the particles that they are images of. */
    void (*reflect)(const mpm_sph_pass *pass, int cloud, ptrdiff_t begin, ptrdiff_t end);
    /** Lists, densities and pressures, measures. */
    void (*density)(const mpm_sph_pass *pass, ptrdiff_t task);
    /** Accelerations by neighbours; with `finds_errors`, rates and all errors but `misfit`. */
    void (*force)(const mpm_sph_pass *pass, ptrdiff_t task);
    /** `misfit` for the foresight, by the rates. */
    void (*misfit)(const mpm_sph_pass *pass, ptrdiff_t task);
    /** Velocities and positions at the end of a step of size dt, not yet written to rows. */
    void (*kick)(const mpm_sph_pass *pass, ptrdiff_t task);
    /** Writes them to rows. */
    void (*write)(const mpm_sph_pass *pass, ptrdiff_t begin, ptrdiff_t end);
    /** Writes J of the fluid's slots to rows. */
    void (*write_J)(const mpm_sph_pass *pass, ptrdiff_t begin, ptrdiff_t end);
} mpm_sph_kernels;

/** The factor of W that makes its integral 1 in `dim` dimensions (cubic: Monaghan, J. Comput. Phys. 110 (1994) 399;
 *  Wendland C2: Adv. Comput. Math. 4 (1995) 389): W = factor h^-dim g(r/h),
 *
 *      cubic     g = (2 - q)^3/6 - 4 (1 - q)^3/6, each term where it is positive
 *      Wendland  g = (1 - q/2)^4 (1 + 2 q),       q < 2 */
static inline double mpm_sph_factor(mpm_sph_kernel kernel, int dim)
{
    const double pi = 3.14159265358979323846;
    if (kernel == MPM_SPH_CUBIC)
        return dim == 2 ? 15 / (7 * pi) : 3 / (2 * pi);
    return dim == 2 ? 7 / (4 * pi) : 21 / (16 * pi);
}

/** g(q). */
static inline double mpm_sph_shape(mpm_sph_kernel kernel, double q)
{
    const double outer = q < 2 ? 2 - q : 0, inner = q < 1 ? 1 - q : 0, t = 0.5 * outer;
    return kernel == MPM_SPH_CUBIC ? (outer * outer * outer - 4 * inner * inner * inner) / 6
                                   : t * t * t * t * (1 + 2 * q);
}

/** The first particle of a cloud whose key is at least `key`, which is at most the number of its cells. */
static inline ptrdiff_t mpm_sph_find(const mpm_sph_cloud *cloud, int64_t key)
{
    const int64_t page = key >> cloud->shift;
    ptrdiff_t low = cloud->page[page];
    if (cloud->shift == 0 || page << cloud->shift == key)
        return low;
    ptrdiff_t high = cloud->page[page + 1];
    while (low < high) {
        const ptrdiff_t middle = low + (high - low) / 2;
        if (cloud->key[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
