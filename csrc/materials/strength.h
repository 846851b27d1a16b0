/* SPDX-License-Identifier: MIT
 *
 * Strength of soils that hardens or softens: a table of the angles of friction and dilation and of the cohesion over
 * the equivalent plastic strain that has accumulated. It begins with the parameters of the material at strain 0, is
 * linear between points, and constant beyond the last. A value that is infinite stays as it is at strain 0.
 */
#pragma once
#include "materials/angle.h"
#include "materials/row.h"

#define STRENGTH_POINT(P, k) \
    P(table_strain_##k, "1", NOT_NEGATIVE, "plastic strain of a point of the table; 0: none") \
    P(table_friction_##k, "deg", 0, INFINITY, false, false, "angle of friction of this point; infinite: unchanged") \
    P(table_dilation_##k, "deg", 0, INFINITY, false, false, "angle of dilation of this point; infinite: unchanged") \
    P(table_cohesion_##k, "Pa", 0, INFINITY, false, false, "cohesion of this point; infinite: unchanged")

#define STRENGTH_PARAMETERS(P) \
    STRENGTH_POINT(P, 1) \
    STRENGTH_POINT(P, 2) \
    STRENGTH_POINT(P, 3) \
    STRENGTH_POINT(P, 4) \
    STRENGTH_POINT(P, 5) \
    STRENGTH_POINT(P, 6) \
    STRENGTH_POINT(P, 7) \
    STRENGTH_POINT(P, 8)

enum { STRENGTH_POINTS = 8, STRENGTH_COLUMNS = 4 };

#define STRENGTH_DEGREE (3.14159265358979323846 / 180)

/** The number of points of a table that begins at `values`. */
static inline int strength_points(const double *values)
{
    int points = 0;
    while (points < STRENGTH_POINTS && values[STRENGTH_COLUMNS * points] > 0)
        points++;
    return points;
}

/** The first condition that a strength breaks at strain 0 or at a point of the table; `start` has friction, dilation
 *  and cohesion at strain 0. */
static inline const char *strength_unfit(const double start[3], const double *table, bool without_friction)
{
    const int points = strength_points(table);
    for (int k = -1; k < points; k++) {
        const double *point = table + STRENGTH_COLUMNS * (k < 0 ? 0 : k);
        double now[3];
        for (int i = 0; i < 3; i++)
            now[i] = k < 0 || isinf(point[1 + i]) ? start[i] : point[1 + i];
        if (k > 0 && !(point[0] > point[-STRENGTH_COLUMNS]))
            return "the strains of a table must increase";
        if (!(now[1] <= now[0]))
            return k < 0 ? "dilation_angle_deg must be <= friction_angle_deg"
                         : "dilation angles of a table must be <= its friction angles";
        if (!(now[0] < 90))
            return "friction angles of a table must be < 90 [deg]";
        if (!(now[0] > 0) && !without_friction)
            return "friction angles of a table must be > 0 [deg]";
        if (!(now[0] > 0) && !(now[2] > 0))
            return "cohesion must be > 0 where friction_angle_deg is 0";
    }
    return NULL;
}

#ifdef MPM_DIM /* for kernels */
#include "math/elementary.h"

/** Angles [rad] and cohesion [Pa]. */
struct strength {
    wide friction, dilation, cohesion;
};

struct strength_table {
    struct strength start;
    int points;
    real strain[STRENGTH_POINTS], friction[STRENGTH_POINTS], dilation[STRENGTH_POINTS], cohesion[STRENGTH_POINTS];
};

INLINE struct strength_table strength_table_of(const double start[3], const double *values)
{
    struct strength_table t = {
        .start = {wide_set((real)(STRENGTH_DEGREE * start[0])), wide_set((real)(STRENGTH_DEGREE * start[1])),
                  wide_set((real)start[2])},
        .points = strength_points(values),
    };
    for (int k = 0; k < t.points; k++) {
        t.strain[k] = (real)values[STRENGTH_COLUMNS * k];
        t.friction[k] = (real)(STRENGTH_DEGREE * values[STRENGTH_COLUMNS * k + 1]);
        t.dilation[k] = (real)(STRENGTH_DEGREE * values[STRENGTH_COLUMNS * k + 2]);
        t.cohesion[k] = (real)values[STRENGTH_COLUMNS * k + 3];
    }
    return t;
}

INLINE wide strength_value(real value, wide start)
{
    return value <= REAL_LARGEST ? wide_set(value) : start;
}

/** The strength at a plastic strain. */
INLINE struct strength strength_at(const struct strength_table *t, wide strain)
{
    const wide zero = wide_set(0), one = wide_set(1);
    struct strength now = t->start, before = t->start;
    real from = 0;
    for (int k = 0; k < t->points; k++) {
        const wide share = (strain - wide_set(from)) * wide_set(1 / (t->strain[k] - from));
        const wide passed = wide_min(wide_max(share, zero), one);
        const struct strength next = {strength_value(t->friction[k], t->start.friction),
                                      strength_value(t->dilation[k], t->start.dilation),
                                      strength_value(t->cohesion[k], t->start.cohesion)};
        now.friction = wide_fma(passed, next.friction - before.friction, now.friction);
        now.dilation = wide_fma(passed, next.dilation - before.dilation, now.dilation);
        now.cohesion = wide_fma(passed, next.cohesion - before.cohesion, now.cohesion);
        before = next;
        from = t->strain[k];
    }
    now.friction = wide_max(now.friction, zero); /* sums round */
    now.dilation = wide_min(wide_max(now.dilation, zero), now.friction);
    now.cohesion = wide_max(now.cohesion, zero);
    return now;
}

/** Sine and cosine as those of angle.h. */
INLINE void strength_sine_cosine(wide angle, wide *sine, wide *cosine)
{
    wide term = wide_set(1), part[4] = {wide_set(0), wide_set(0), wide_set(0), wide_set(0)};
    for (int n = 0; n < 28; n++) {
        part[n % 4] += term;
        term *= angle * wide_set((real)(1.0 / (n + 1)));
    }
    *cosine = part[0] - part[2];
    *sine = part[1] - part[3];
}
#endif
