/* SPDX-License-Identifier: MIT
 *
 * The field table: one row per field of a particle. The fields of the core come first, then the history of the laws in
 * use, then the fields of users. Storage, binning, views, snapshots and Python's names follow from the rows.
 *
 * A field is kept in columns (particles.h) of `width` reals per particle: vectors and tensors of the core in columns of
 * d, everything else in columns of one. J follows from F, and integers are kept by row: neither has a column.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/** A field has 1, d, d(d+1)/2 or d x d components. A symmetric tensor is stored as its upper triangle by rows: xx, xy,
 *  yy or xx, xy, xz, yy, yz, zz. In plane strain, an out-of-plane component is a separate scalar. */
typedef enum mpm_rank { MPM_SCALAR, MPM_VECTOR, MPM_SYMMETRIC, MPM_TENSOR, MPM_RANKS } mpm_rank;

/** 64-bit integers are ids: every new row gets the next free one. */
typedef enum mpm_type { MPM_TYPE_REAL, MPM_TYPE_INT32, MPM_TYPE_INT64 } mpm_type;

/** Who declared a field. */
typedef enum mpm_owner { MPM_OWNER_CORE, MPM_OWNER_LAW, MPM_OWNER_USER } mpm_owner;

/** The particles whose state includes the field, so that users may write it. */
typedef enum mpm_state_of {
    MPM_STATE_OF_NONE, /* read-only */
    MPM_STATE_OF_ALL,
    MPM_STATE_OF_F_LAWS, /* of laws that keep F */
    MPM_STATE_OF_J_LAWS, /* of laws that keep J */
    MPM_STATE_OF_OWNERS  /* of laws that declare the field */
} mpm_state_of;

/** What a written value must satisfy, besides being finite. */
typedef enum mpm_check {
    MPM_CHECK_RANGE,  /* every component in the range of the field */
    MPM_CHECK_INSIDE, /* a position in the domain */
    MPM_CHECK_DET     /* a tensor of positive determinant */
} mpm_check;

/** What is wrong with a value that was written through a view, or with a particle after a step. */
enum mpm_flaw { MPM_FINE, MPM_NOT_FINITE, MPM_INVERTED, MPM_OUTSIDE, MPM_NOT_STATE, MPM_BAD_RESPONSE };

/** The `column` of a field that follows from others, and of a field kept in an array by row (run/store.h). */
enum { MPM_NO_COLUMN = -1, MPM_BY_ROW = -2 };

typedef struct mpm_field {
    char name[32], unit[16];
    mpm_rank rank;
    mpm_type type;
    mpm_owner owner;
    mpm_state_of state_of;
    mpm_check check;
    double low, high; /* exclusive, unless closed */
    bool low_closed, high_closed;
    double initial;   /* of a scalar, every component of a vector, or the diagonal of a tensor */
    bool lasting;     /* no step changes it */
    int column;       /* the first of its columns, MPM_NO_COLUMN or MPM_BY_ROW */
    int width;        /* components in each of them */
} mpm_field;

/** Rows of the core; those of laws and users follow. */
enum {
    MPM_FIELD_X, MPM_FIELD_V, MPM_FIELD_F, MPM_FIELD_C, MPM_FIELD_J, MPM_FIELD_MASS, MPM_FIELD_VOLUME,
    MPM_FIELD_MATERIAL, MPM_FIELD_ID, MPM_CORE_FIELDS, MPM_MOST_FIELDS = 48
};

/** Columns of the core: x, v, mass, volume, d rows of C, d rows of F. */
enum { MPM_COLUMN_X, MPM_COLUMN_V, MPM_COLUMN_MASS, MPM_COLUMN_VOLUME, MPM_COLUMN_C, MPM_MOST_COLUMNS = 128 };
static inline int mpm_fields_F(int dim)
{
    return MPM_COLUMN_C + dim;
}
static inline int mpm_fields_core_columns(int dim)
{
    return MPM_COLUMN_C + 2 * dim;
}

typedef struct mpm_fields {
    int dim, count;
    mpm_field row[MPM_MOST_FIELDS];
} mpm_fields;

/** Components of a rank. */
static inline int mpm_rank_components(mpm_rank rank, int dim)
{
    switch (rank) {
    case MPM_VECTOR:
        return dim;
    case MPM_SYMMETRIC:
        return dim * (dim + 1) / 2;
    case MPM_TENSOR:
        return dim * dim;
    default:
        return 1;
    }
}

/** Is the value in the range of the field? */
static inline bool mpm_field_allows(const mpm_field *field, double value)
{
    return (value > field->low || (field->low_closed && value == field->low)) &&
           (value < field->high || (field->high_closed && value == field->high));
}

/** The initial value of component `c` of a field: `initial`, or 0 off the diagonal of a tensor. */
double mpm_fields_initial(mpm_rank rank, int dim, int c, double initial);

/** The table of a simulation without materials. */
mpm_fields mpm_fields_of_core(int dim);

/** Row of that name, -1 if there is none. */
int mpm_fields_find(const mpm_fields *fields, const char *name);
