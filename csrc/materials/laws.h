/* SPDX-License-Identifier: MIT
 *
 * The registry of constitutive laws. A law is one file (law.h) and one line in the list here. The rest of the code
 * knows a law by its row alone.
 */
#pragma once
#include <mpm_user_law.h> /* in mpm/include: users compile against it */

#include "run/fields.h"

enum { MPM_LAW_PARAMETERS = 48, MPM_LAW_FIELDS = 6, MPM_LAW_HISTORY = 24, MPM_USER_PARAMETERS = 64 };

/** Values of a parameter for which the code of a law takes different branches. */
typedef enum mpm_branches {
    MPM_NO_BRANCH,
    MPM_BRANCHES_AT_0, /* 0 or another value */
    MPM_BRANCHES_AT_1, /* 1 or another value */
    MPM_BRANCHES       /* every value may have a branch of its own */
} mpm_branches;

/** One parameter that a user gives. A limit is exclusive if `..._open`, and infinite if there is none. */
typedef struct mpm_parameter {
    const char *name, *unit;
    double low, high;
    bool low_open, high_open;
    const char *meaning;
    bool is_yield_strain; /* a strain at which the material yields */
    bool turns_axes;      /* with a value other than 0, the law has axes of its own */
    mpm_branches branches;
} mpm_parameter;

/** The strain that a law keeps. */
typedef enum mpm_strain {
    MPM_KEEPS_F, /* the deformation gradient; of inelastic laws its elastic part */
    MPM_KEEPS_J  /* the volume ratio alone, not F */
} mpm_strain;

/** A field of a law's history: state of a particle besides its strain. Laws that share a field declare it alike.
 *  Particles of other laws hold `initial`. */
typedef struct mpm_history_field {
    const char *name, *unit;
    mpm_rank rank;
    double initial; /* of a tensor: of its diagonal */
    int initial_parameter; /* 1 + index of the parameter that new particles begin with instead; 0: none */
    double low, high; /* users may write low < value < high */
    bool closed;      /* or low and high themselves */
    bool scales_volume; /* the whole volume ratio is det F times this field */
    int heat_capacity;  /* of a temperature: 1 + index of the parameter that is the heat capacity [J/(m3 K)]; 0: none */
    const char *meaning;
} mpm_history_field;

typedef struct mpm_law {
    const char *name;
    const char *variant_of; /* the law that it is without an option; NULL: it is no variant */
    mpm_strain strain;
    bool viscous;         /* its stress depends on the velocity gradient; its damping may limit the time step */
    bool relaxes;         /* what its return map dissipates is viscous, not plastic */
    bool rigid;           /* the particles of a material move as one body (mpm/kernels/rigid.h) */
    bool kinked;          /* the slope of its stress jumps; automatic steps take a smaller share of the bound */
    double J_low, J_high; /* the range of J beyond which a step is called unstable */
    int parameters;       /* the last is the density, which the law does not get */
    const mpm_parameter *parameter;
    int fields;           /* of its history, with at most MPM_LAW_HISTORY components in total */
    mpm_history_field field[MPM_LAW_FIELDS];
    const char *(*unfit)(const double *values); /* the first condition that its parameters break together, in words;
                                                 * NULL if they meet all, or if the law has none */
    double (*stiffening)(const double *values); /* n: compressed, it stiffens like J^-n or a stretch to the power -n;
                                                 * NULL: by a small n */
    const char *reference;
} mpm_law;

/** X(enumerator, name, kind, speed, tangent, piola): every law, in the order of its index. Its file, which each_law.h
 *  includes, and its functions have its `name`.
 *
 *  kind     An INELASTIC law has a return map.
 *  speed    All laws are compiled once per kernel set, and share one sweep, which selects the law at run time. FAST
 *           laws are compiled into the sweeps of steps as well: those are up to 6 % faster, have the same bits, and
 *           take seconds to compile.
 *  tangent  All laws but those with NO_TANGENT can take implicit steps. A TANGENT is that of an energy, whose return
 *           map, if there is one, acts after the step; a MAPPED one includes the return map (flow_tangent.h). MODULI
 *           are those of an energy that includes the return map and has axes of its own (moduli.h). A law that is
 *           MAPPED_OR_MODULI has axes of its own where a parameter turns them.
 *  piola    A law with PIOLA has x_piola (law.h). One that INVERTS has it, too, and is finite for any F. */
#define MPM_LAWS(X) \
    X(MPM_FIXED_COROTATED, fixed_corotated, ELASTIC, FAST, TANGENT, INVERTS) \
    X(MPM_NEO_HOOKEAN, neo_hookean, ELASTIC, FAST, TANGENT, PIOLA) \
    X(MPM_FLUID, fluid, ELASTIC, FAST, TANGENT, NO_PIOLA) \
    X(MPM_SNOW, snow, INELASTIC, FAST, TANGENT, NO_PIOLA) \
    X(MPM_SAND, sand, INELASTIC, FAST, MAPPED, NO_PIOLA) \
    X(MPM_SAINT_VENANT_KIRCHHOFF, saint_venant_kirchhoff, ELASTIC, GENERAL, TANGENT, INVERTS) \
    X(MPM_HENCKY, hencky, ELASTIC, GENERAL, TANGENT, NO_PIOLA) \
    X(MPM_MOONEY_RIVLIN, mooney_rivlin, ELASTIC, GENERAL, TANGENT, NO_PIOLA) \
    X(MPM_VON_MISES, von_mises, INELASTIC, GENERAL, MAPPED_OR_MODULI, NO_PIOLA) \
    X(MPM_NACC, nacc, INELASTIC, GENERAL, MAPPED, NO_PIOLA) \
    X(MPM_DRUCKER_PRAGER, drucker_prager, INELASTIC, GENERAL, MAPPED, NO_PIOLA) \
    X(MPM_MOHR_COULOMB, mohr_coulomb, INELASTIC, GENERAL, MAPPED, NO_PIOLA) \
    X(MPM_CAM_CLAY, cam_clay, INELASTIC, GENERAL, MAPPED, NO_PIOLA) \
    X(MPM_MU_I, mu_i, INELASTIC, GENERAL, MAPPED, NO_PIOLA) \
    X(MPM_HERSCHEL_BULKLEY, herschel_bulkley, INELASTIC, GENERAL, MAPPED, NO_PIOLA) \
    X(MPM_VISCOELASTIC, viscoelastic, INELASTIC, GENERAL, MODULI, NO_PIOLA) \
    X(MPM_COROTATED, corotated, ELASTIC, GENERAL, TANGENT, INVERTS) \
    X(MPM_OGDEN, ogden, ELASTIC, GENERAL, TANGENT, NO_PIOLA) \
    X(MPM_FIBRE_REINFORCED, fibre_reinforced, ELASTIC, GENERAL, MODULI, NO_PIOLA) \
    X(MPM_JOHNSON_COOK, johnson_cook, INELASTIC, GENERAL, MAPPED, NO_PIOLA) \
    X(MPM_RIGID, rigid, INELASTIC, GENERAL, NO_TANGENT, NO_PIOLA) \
    X(MPM_BRITTLE, brittle, INELASTIC, GENERAL, NO_TANGENT, NO_PIOLA) \
    X(MPM_VON_MISES_FRACTURE, von_mises_fracture, INELASTIC, GENERAL, NO_TANGENT, NO_PIOLA) \
    X(MPM_JOHNSON_COOK_FRACTURE, johnson_cook_fracture, INELASTIC, GENERAL, NO_TANGENT, NO_PIOLA) \
    X(MPM_DRUCKER_PRAGER_FRACTURE, drucker_prager_fracture, INELASTIC, GENERAL, NO_TANGENT, NO_PIOLA)

#define MPM_LAW_ENUMERATOR(enumerator, name, kind, speed, tangent, piola) enumerator,
/* MPM_VARYING is no law: kernels call any law by it whose parameters vary over the particles. */
enum { MPM_LAWS(MPM_LAW_ENUMERATOR) MPM_LAW_COUNT, MPM_USER = MPM_LAW_COUNT, MPM_VARYING };
#undef MPM_LAW_ENUMERATOR

/** The kinds of energy that a simulation may keep the books of. The first two are fields of the particles. */
enum { MPM_DISSIPATION_PLASTIC, MPM_DISSIPATION_VISCOUS, MPM_DISSIPATION_HEAT, MPM_DISSIPATIONS };

/** Where the moduli of a user's law come from. */
typedef enum mpm_user_moduli {
    MPM_USER_OWN,     /* its function writes them */
    MPM_USER_NUMERIC, /* differences of its stress */
    MPM_USER_BOUND    /* `bound` in every state */
} mpm_user_moduli;

/** A law of a user, MPM_USER: its own row of the registry, with the density as only parameter, and its functions. It
 *  lives as long as any simulation with a material that refers to it. */
typedef struct mpm_user_law {
    mpm_law row;
    mpm_user_evaluate *evaluate;
    mpm_user_return_map *return_map; /* NULL: none */
    void *context, *map_context;     /* of the two functions */
    mpm_user_moduli moduli;
    double bound; /* [Pa] */
    double parameters[MPM_USER_PARAMETERS];
} mpm_user_law;

/** Does law `index` have a return map? A compile-time constant if `index` is one. */
static inline bool mpm_laws_inelastic(int index)
{
    enum { ELASTIC, INELASTIC };
    switch (index) {
#define MPM_LAW_CASE(enumerator, name, kind, speed, tangent, piola) \
    case enumerator: \
        return kind == INELASTIC;
        MPM_LAWS(MPM_LAW_CASE)
#undef MPM_LAW_CASE
    default:
        return index == MPM_USER;
    }
}

/** The tangent of a law in implicit steps. */
typedef enum mpm_law_tangent {
    MPM_LAW_NO_TANGENT,
    MPM_LAW_TANGENT, /* derivatives of an energy */
    MPM_LAW_MAPPED,  /* derivatives of the stress after the return map; there need be no energy */
    MPM_LAW_MODULI,  /* derivatives of an energy with axes of its own */
    MPM_LAW_MAPPED_OR_MODULI = MPM_LAW_MAPPED /* MPM_LAW_MODULI with some parameters (mpm_material_has_moduli) */
} mpm_law_tangent;

/** That of law `index`; likewise. */
static inline mpm_law_tangent mpm_laws_tangent(int index)
{
    switch (index) {
#define MPM_LAW_CASE(enumerator, name, kind, speed, tangent, piola) \
    case enumerator: \
        return MPM_LAW_##tangent;
        MPM_LAWS(MPM_LAW_CASE)
#undef MPM_LAW_CASE
    default:
        return MPM_LAW_NO_TANGENT;
    }
}

/** Has law `index` x_piola? */
static inline bool mpm_laws_piola(int index)
{
    enum { NO_PIOLA, PIOLA, INVERTS };
    switch (index) {
#define MPM_LAW_CASE(enumerator, name, kind, speed, tangent, piola) \
    case enumerator: \
        return piola != NO_PIOLA;
        MPM_LAWS(MPM_LAW_CASE)
#undef MPM_LAW_CASE
    default:
        return false;
    }
}

/** Is law `index` finite for any F, so that its inverted elements recover? */
static inline bool mpm_laws_invert(int index)
{
    enum { NO_PIOLA, PIOLA, INVERTS };
    switch (index) {
#define MPM_LAW_CASE(enumerator, name, kind, speed, tangent, piola) \
    case enumerator: \
        return piola == INVERTS;
        MPM_LAWS(MPM_LAW_CASE)
#undef MPM_LAW_CASE
    default:
        return false;
    }
}

/** Row `index` of the registry, 0 <= index < MPM_LAW_COUNT. MPM_USER has one with what its laws have in common. */
const mpm_law *mpm_laws_get(int index);

/** The first condition that the parameters of a law break together, in words; NULL if they meet all. `values` are those
 *  of its row without the density, each within its range. */
const char *mpm_laws_unfit(int index, const double *values);

/** The number of components of a law's history. */
static inline int mpm_law_history(const mpm_law *law, int dim)
{
    int components = 0;
#pragma GCC unroll 16
    for (int f = 0; f < MPM_LAW_FIELDS; f++)
        components += f < law->fields ? mpm_rank_components(law->field[f].rank, dim) : 0;
    return components;
}

/** A law with its parameters. Some of them may vary over the particles: then each is a scalar field of its own, and
 *  kernels load it behind the law's history. */
typedef struct mpm_material {
    int law; /* row of the registry */
    const mpm_user_law *user; /* of MPM_USER */
    double values[MPM_LAW_PARAMETERS];
    int varying;                       /* how many parameters vary; their `values` mean nothing */
    int parameter[MPM_LAW_PARAMETERS]; /* which, ascending */
    int column[MPM_LAW_HISTORY]; /* of each component of its history, then of each varying parameter; set when a
                                  * simulation registers the material */
    bool has_moduli;             /* its tangent is that of x_moduli; set likewise */
    bool dissipates;             /* sweeps keep what it dissipates; set likewise */
    bool has_volumes;            /* the mass of its particles does not tell their volume (mpm/kernels/fill.c); set when
                                  * they are added */
    int dissipation[2];          /* columns of MPM_DISSIPATION_PLASTIC and MPM_DISSIPATION_VISCOUS */
} mpm_material;

/** The row of the material's law. */
static inline const mpm_law *mpm_material_law(const mpm_material *material)
{
    return material->law == MPM_USER ? &material->user->row : mpm_laws_get(material->law);
}

/** The power n with which a compressed material stiffens, J^-n or a stretch to the power -n; 0: it is small, or not
 *  known, because parameters vary over the particles. */
static inline double mpm_material_stiffening(const mpm_material *material)
{
    const mpm_law *law = mpm_material_law(material);
    return law->stiffening && !material->varying ? law->stiffening(material->values) : 0;
}

/** The law by which kernels call it. */
static inline int mpm_material_kernel_law(const mpm_material *material)
{
    return material->varying ? MPM_VARYING : material->law;
}

/** Does the material keep its history or a varying parameter in this column? */
static inline bool mpm_material_keeps(const mpm_material *material, int column, int dim)
{
    const int components = mpm_law_history(mpm_material_law(material), dim) + material->varying;
    for (int c = 0; c < components; c++)
        if (material->column[c] == column)
            return true;
    return false;
}

/** Is the tangent of a material that of x_moduli, because of its law or of a parameter? */
static inline bool mpm_material_has_moduli(const mpm_material *material)
{
    const mpm_law *law = mpm_material_law(material);
    bool turns = mpm_laws_tangent(material->law) == MPM_LAW_MODULI;
    for (int p = 0; p < law->parameters; p++)
        turns |= law->parameter[p].turns_axes && material->values[p] != 0;
    for (int k = 0; k < material->varying; k++)
        turns |= law->parameter[material->parameter[k]].turns_axes;
    return turns;
}
