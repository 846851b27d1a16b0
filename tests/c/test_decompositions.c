/* SPDX-License-Identifier: MIT */
/* sources:  */
/* variants: -DMPM_REAL=float -DMPM_DIM=2 -DMPM_ISA_SCALAR | -DMPM_REAL=double -DMPM_DIM=2 -DMPM_ISA_PORTABLE |
 *   -DMPM_REAL=float -DMPM_DIM=3 -DMPM_ISA_SCALAR | -DMPM_REAL=double -DMPM_DIM=3 -DMPM_ISA_SCALAR |
 *   -DMPM_REAL=float -DMPM_DIM=3 -DMPM_ISA_PORTABLE | -DMPM_REAL=double -DMPM_DIM=3 -DMPM_ISA_PORTABLE |
 *   -DMPM_REAL=float -DMPM_DIM=3 -DMPM_ISA_AVX2 -mavx2 -mfma |
 *   -DMPM_REAL=double -DMPM_DIM=3 -DMPM_ISA_AVX2 -mavx2 -mfma |
 *   -DMPM_REAL=float -DMPM_DIM=3 -DMPM_ISA_AVX512 -mavx2 -mfma -mavx512f -mavx512vl -mavx512dq -mavx512bw |
 *   -DMPM_REAL=double -DMPM_DIM=3 -DMPM_ISA_AVX512 -mavx2 -mfma -mavx512f -mavx512vl -mavx512dq -mavx512bw */
/* Polar and singular value decompositions of random matrices (the argument is their number) and of difficult ones:
 * rank-deficient, repeated, reflected, denormal and huge. All residuals are relative to |F|, in units of the machine's
 * epsilon. Likewise the spectra of symmetric matrices. */
#include "check.h"
#include "random.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "math/polar.h"
#include "math/singular.h"
#include "math/spectrum.h"

struct square {
    long double m[DIM][DIM];
};

static struct square product(struct square a, struct square b, bool transposed) /* a b or a^T b */
{
    struct square c;
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++) {
            c.m[i][j] = 0;
            for (int k = 0; k < DIM; k++)
                c.m[i][j] += (transposed ? a.m[k][i] : a.m[i][k]) * b.m[k][j];
        }
    return c;
}

static long double determinant(struct square a)
{
    if (DIM == 2)
        return a.m[0][0] * a.m[1][1] - a.m[0][1] * a.m[1][0];
    long double sum = 0;
    for (int i = 0; i < DIM; i++) {
        const int j = (i + 1) % DIM, k = (i + 2) % DIM;
        sum += a.m[0][i] * (a.m[1][j] * a.m[DIM - 1][k] - a.m[1][k] * a.m[DIM - 1][j]);
    }
    return sum;
}

static struct square random_rotation(void)
{
    struct square r = {{{1}}};
    const double w = uniform(-1, 1), x = uniform(-1, 1), y = DIM == 3 ? uniform(-1, 1) : 0;
    const double z = DIM == 3 ? uniform(-1, 1) : 0;
    const long double n = 1 / (w * w + x * x + y * y + z * z + 1e-300);
    if (DIM == 2) {
        r.m[0][0] = r.m[1][1] = (w * w - x * x) * n;
        r.m[0][1] = -(r.m[1][0] = 2 * w * x * n);
    } else {
        const double q[3] = {x, y, z};
        for (int i = 0; i < DIM; i++)
            for (int j = 0; j < DIM; j++) {
                const int k = 3 - i - j, sign = (j - i + 3) % 3 == 1 ? -1 : 1;
                r.m[i][j] = i == j ? 1 - 2 * n * (x * x + y * y + z * z - q[i] * q[i])
                                   : 2 * n * (q[i] * q[j] + sign * w * q[k % 3]);
            }
    }
    return r;
}

/* U diag(values) V^T. */
static struct square with_values(const double values[3])
{
    struct square u = random_rotation(), v = random_rotation(), s = {{{0}}};
    for (int i = 0; i < DIM; i++)
        s.m[i][i] = values[i];
    return product(product(u, s, false), v, false);
}

static struct square random_matrix(long number)
{
    double s[3];
    const double low = number % 3 == 0 ? 0.9 : number % 3 == 1 ? 0.01 : -4;
    for (int i = 0; i < 3; i++)
        s[i] = low > 0 ? low * pow((number % 3 ? 10 : 1.1) / low, uniform(0, 1)) : uniform(low, -low);
    return with_values(s);
}

static struct square adversary(long number)
{
    static const double values[][3] = {
        {0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {-1, 1, 1}, {1, 1, -1}, {-1, -1, -1}, {2, 2, 1}, {2, 1, 1},
        {2, 1, -1}, {1, 1e-3, 1e-3}, {1, 1e-6, 1e-6}, {1, 1e-12, 1e-12}, {1, 1, 1e-12}, {1, 1e-4, -1e-4},
        {1, 1 + 1e-7, 1 - 1e-7},
    };
    static const double sizes[] = {1, 1e18, 1e-18, 1e-36, 1e-40, 1e10, 1e-3};
    const long kinds = sizeof values / sizeof *values, count = sizeof sizes / sizeof *sizes;
    double s[3];
    for (int i = 0; i < 3; i++)
        s[i] = values[number % kinds][i] * sizes[number / kinds % count];
    struct square f = with_values(s);
    if (number / kinds / count % 2) /* as users write them: diagonal, or with permuted axes */
        for (int i = 0; i < DIM; i++)
            for (int j = 0; j < DIM; j++)
                f.m[i][j] = (i + 1) % DIM == j ? s[i] : 0;
    return f;
}

static struct square of_lane(matrix a, int q)
{
    struct square s;
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++)
            s.m[i][j] = wide_lane(a.m[i][j], q);
    return s;
}

static long double largest(struct square a, struct square b) /* of the elements of a - b */
{
    long double most = 0;
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++) {
            assert(a.m[i][j] == a.m[i][j]);
            most = fmaxl(most, fabsl(a.m[i][j] - b.m[i][j]));
        }
    return most;
}

static struct square transpose(struct square a)
{
    struct square t;
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++)
            t.m[i][j] = a.m[j][i];
    return t;
}

struct worst {
    long double rotation, symmetry, trace, basis, product;
};

static void note(long double *worst, long double error)
{
    *worst = fmaxl(*worst, error / (long double)REAL_EPSILON);
}

static void check_lane(struct worst *worst, struct square f, struct square r, struct square composed,
                       const long double value[DIM])
{
    const struct square zero = {{{0}}}, stretch = product(r, f, true);
    struct square one = zero;
    long double size = 0, sum = 0, trace = 0;
    for (int k = 0; k < DIM * DIM; k++)
        size += f.m[k / DIM][k % DIM] * f.m[k / DIM][k % DIM];
    size = fmaxl(sqrtl(size), REAL_IS_FLOAT ? FLT_MIN : DBL_MIN); /* below it numbers have fewer digits */
    for (int i = 0; i < DIM; i++) {
        one.m[i][i] = 1;
        sum += value[i];
        trace += stretch.m[i][i];
    }
    note(&worst->rotation, largest(product(r, r, true), one));
    assert(determinant(r) > 0);
    note(&worst->symmetry, largest(stretch, transpose(stretch)) / size);
    note(&worst->trace, fabsl(trace - sum) / size); /* the largest there is: R is the nearest rotation */
    note(&worst->product, largest(composed, f) / size);

    /* At most one value is negative, the smallest, and then det F is. */
    int negative = -1;
    for (int i = 0; i < DIM; i++)
        if (value[i] < 0) {
            assert(negative < 0);
            negative = i;
        }
    for (int i = 0; negative >= 0 && i < DIM; i++)
        assert(fabsl(value[i]) >= fabsl(value[negative]));
    if (fabsl(determinant(f)) > 1e-4L * size * size * (DIM == 3 ? size : 1))
        assert((negative >= 0) == (determinant(f) < 0));
}

/* Its bases are rotations; in 2-D they are never formed. */
static void check_bases(struct worst *worst, const struct singular *s, int q)
{
#if DIM == 3
    struct square one = {{{1}, {0, 1}, {0, 0, 1}}}, u = of_lane(s->U, q), v = of_lane(s->V, q);
    note(&worst->basis, fmaxl(largest(product(u, u, true), one), largest(product(v, v, true), one)));
    assert(determinant(u) > 0 && determinant(v) > 0);
#else
    (void)worst, (void)s, (void)q;
#endif
}

static struct worst check(struct square (*matrix_of)(long), long count)
{
    struct worst worst = {0};
    for (long first = 0; first < count; first += WIDTH) {
        matrix f;
        for (int q = 0; q < WIDTH; q++) {
            const struct square one = matrix_of(first + q);
            for (int k = 0; k < DIM * DIM; k++)
                ((real *)&f.m[k / DIM][k % DIM])[q] = (real)one.m[k / DIM][k % DIM];
        }
        const matrix r = polar_rotation(f);
        const struct singular s = singular_decompose(f);
        const matrix composed = singular_compose(&s, s.value);
        for (int q = 0; q < WIDTH; q++) {
            long double value[DIM];
            for (int i = 0; i < DIM; i++)
                value[i] = wide_lane(s.value[i], q);
            check_lane(&worst, of_lane(f, q), of_lane(r, q), of_lane(composed, q), value);
            check_bases(&worst, &s, q);
        }
    }
    return worst;
}

/* Symmetric matrices Q diag(values) Q^T: the errors of the eigenvalues, in order, of their matrix, and of the square of
 * the matrix, which has other values to spread; in epsilons of the largest value. */
static struct worst check_spectra(long count)
{
    static const double values[][3] = {
        {1, 1, 1}, {1, 1, -2}, {2, -1, -1}, {1, 0, -1}, {3, 2, 1}, {1, 1, 0}, {0, 0, 0}, {1, 1 + 1e-7, 1 - 1e-7},
        {1, 0, 0}, {-1, 0, 0}, {1, 1e-4, -1e-4}, {5, 5, 4.9999},
    };
    const long kinds = sizeof values / sizeof *values;
    struct worst worst = {0};
    for (long first = 0; first < count; first += WIDTH) {
        matrix f;
        double exact[64][3];
        for (int q = 0; q < WIDTH; q++) {
            const double size = pow(10, uniform(-6, 1));
            struct square s = {{{0}}};
            const struct square r = random_rotation();
            for (int i = 0; i < 3; i++) {
                exact[q][i] = size * ((first + q) % 2 ? values[(first + q) / 2 % kinds][i] : uniform(-1, 1));
                if (i < DIM)
                    s.m[i][i] = exact[q][i];
            }
            const struct square a = product(product(r, s, false), transpose(r), false);
            for (int k = 0; k < DIM * DIM; k++) {
                const int i = k / DIM, j = k % DIM;
                ((real *)&f.m[i][j])[q] = (real)(i < j ? a.m[i][j] : a.m[j][i]);
            }
        }
        const struct spectrum s = spectrum_of(f);
        wide square[DIM];
        for (int i = 0; i < DIM; i++)
            square[i] = s.value[i] * s.value[i];
        const matrix same = spectrum_spread(&s, s.value), squared = spectrum_spread(&s, square);
        for (int q = 0; q < WIDTH; q++) {
            double most = 1e-30, found[3] = {0};
            for (int i = 0; i < DIM; i++) {
                most = fmax(most, fabs(exact[q][i]));
                found[i] = wide_lane(s.value[i], q);
            }
            for (int i = 0; i < DIM; i++) /* sorted, both */
                for (int j = i + 1; j < DIM; j++) {
                    const double low = fmin(exact[q][i], exact[q][j]), high = fmax(exact[q][i], exact[q][j]);
                    const double less = fmin(found[i], found[j]), more = fmax(found[i], found[j]);
                    exact[q][i] = low, exact[q][j] = high, found[i] = less, found[j] = more;
                }
            for (int i = 0; i < DIM; i++)
                note(&worst.trace, fabs(found[i] - exact[q][i]) / most);
            const struct square a = of_lane(f, q), spread = of_lane(same, q);
            note(&worst.product, largest(spread, a) / most);
            note(&worst.basis, largest(of_lane(squared, q), product(a, a, false)) / (most * most));
            note(&worst.symmetry, largest(spread, transpose(spread)));
        }
    }
    assert(worst.symmetry == 0);
    return worst;
}

static void report(const char *name, struct worst w)
{
    printf("%s: R^T R %.1Lf, R^T F %.1Lf, tr %.1Lf, U V %.1Lf, U S V^T %.1Lf eps\n", name, w.rotation, w.symmetry,
           w.trace, w.basis, w.product);
}

int main(int argc, char **argv)
{
    if (!instructions_are_here())
        return SKIPPED;
    const struct worst usual = check(random_matrix, argc > 1 ? atol(argv[1]) : 200000);
    const struct worst hard = check(adversary, 20000);
    report("random", usual);
    report("adversarial", hard);
    const struct worst spectra = check_spectra(100000);
    report("spectra", spectra);
    fflush(stdout);
    assert(spectra.trace < 12 && spectra.product < 8 && spectra.basis < 12); /* measured 7.0, 3.7, 6.6 */
    const long double limit = 16;
    const struct worst all[] = {usual, hard};
    for (int i = 0; i < 2; i++)
        assert(all[i].rotation < limit && all[i].symmetry < limit && all[i].trace < limit && all[i].basis < limit &&
               all[i].product < limit);
    return 0;
}
