/* SPDX-License-Identifier: MIT
 *
 * Laws of users for the tests: neo-Hookean with its moduli, and a plastic one with a history.
 */
#include <math.h>
#include <mpm_user_law.h>

mpm_user_evaluate neo_hookean, cellular, broken, unbounded, costless, damaged, aged;
mpm_user_return_map damage, crumble, lose, grow_old, tear;

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 9")
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INLINE static inline
#define UNROLL
#define INDEPENDENT
#endif

/* One particle: with `dim` a constant, the compiler unrolls the loops, and the one over particles becomes vectors. */
INLINE void respond_one(int count, const int dim, double mu, double lambda, double soft, const double *restrict F,
                        double *restrict tau, double *restrict energy, double *restrict moduli, int p)
{
    double f[9], b[9], trace = 0, square = 0, J;
    UNROLL for (int k = 0; k < dim * dim; k++)
        f[k] = F[k * count + p];
    J = dim == 2 ? f[0] * f[3] - f[1] * f[2]
                 : f[0] * (f[4] * f[8] - f[5] * f[7]) - f[1] * (f[3] * f[8] - f[5] * f[6]) +
                       f[2] * (f[3] * f[7] - f[4] * f[6]);
    UNROLL for (int i = 0; i < dim; i++)
        UNROLL for (int j = i; j < dim; j++) {
            double sum = 0;
            UNROLL for (int k = 0; k < dim; k++)
                sum += f[i * dim + k] * f[j * dim + k];
            b[i * dim + j] = sum;
        }
    const double ln_J = log(J), pull = lambda * ln_J - mu;
    UNROLL for (int i = 0; i < dim; i++)
        trace += b[i * dim + i];
    const double mean = trace / dim;
    UNROLL for (int i = 0; i < dim; i++)
        UNROLL for (int j = i; j < dim; j++) {
            const double e = b[i * dim + j] - (i == j ? mean : 0);
            square += (i == j ? 1 : 2) * e * e;
            tau[(i * dim - i * (i + 1) / 2 + j) * count + p] = soft * (mu * b[i * dim + j] + (i == j ? pull : 0));
        }
    if (dim == 2)
        tau[3 * count + p] = soft * lambda * ln_J;
    energy[p] = soft * (mu * ((trace - dim) / 2 - ln_J) + lambda / 2 * ln_J * ln_J);
    /* as the package bounds the largest eigenvalue of b */
    const double largest = mean + sqrt(square * (dim - 1) / dim);
    const double wave = fmax(mu * (largest + 1) + lambda * (1 - ln_J), 0);
    moduli[p] = wave;
    moduli[count + p] = fmax(wave + (dim - 1) * lambda, wave - lambda);
}

static void respond(int count, int dim, double mu, double lambda, const double *softening, const double *restrict F,
                    double *restrict tau, double *restrict energy, double *restrict moduli)
{
    if (dim == 2)
        INDEPENDENT for (int p = 0; p < count; p++)
            respond_one(count, 2, mu, lambda, softening ? 1 - softening[p] : 1, F, tau, energy, moduli, p);
    else if (softening)
        INDEPENDENT for (int p = 0; p < count; p++)
            respond_one(count, 3, mu, lambda, 1 - softening[p], F, tau, energy, moduli, p);
    else
        INDEPENDENT for (int p = 0; p < count; p++)
            respond_one(count, 3, mu, lambda, 1, F, tau, energy, moduli, p);
}

void neo_hookean(int count, int dim, const double *parameters, const double *F, const double *history, double *tau,
                 double *energy, double *moduli, void *context)
{
    (void)history, (void)context;
    respond(count, dim, parameters[0], parameters[1], 0, F, tau, energy, moduli);
}

/* The same with cells that resist growth alone, K/2 max(J - 1, 0)^2: the slope of the stress jumps at J = 1. */
void cellular(int count, int dim, const double *parameters, const double *F, const double *history, double *tau,
              double *energy, double *moduli, void *context)
{
    neo_hookean(count, dim, parameters, F, history, tau, energy, moduli, context);
    for (int p = 0; p < count; p++) {
        const double *f = F + p;
        const int n = count;
        const double J = dim == 2 ? f[0] * f[3 * n] - f[n] * f[2 * n]
                                  : f[0] * (f[4 * n] * f[8 * n] - f[5 * n] * f[7 * n]) -
                                        f[n] * (f[3 * n] * f[8 * n] - f[5 * n] * f[6 * n]) +
                                        f[2 * n] * (f[3 * n] * f[7 * n] - f[4 * n] * f[6 * n]);
        const double stiff = parameters[0] + parameters[1], growth = fmax(J - 1, 0), pull = stiff * growth * J;
        for (int i = 0; i < dim; i++)
            tau[(i * dim - i * (i - 1) / 2) * n + p] += pull;
        if (dim == 2)
            tau[3 * n + p] += pull;
        energy[p] += 0.5 * stiff * growth * growth;
        moduli[p] += 2 * stiff * J * J;
        moduli[n + p] += 2 * dim * stiff * J * J;
    }
}

/* NaN in two dimensions, and wherever F_xx exceeds 1.1; `context` counts nothing and may be anything. */
void broken(int count, int dim, const double *parameters, const double *F, const double *history, double *tau,
            double *energy, double *moduli, void *context)
{
    (void)history, (void)context;
    respond(count, dim, parameters[0], parameters[1], 0, F, tau, energy, moduli);
    for (int p = 0; p < count; p++)
        if (dim == 2 || F[p] > 1.1)
            tau[p] = NAN;
}

/* No moduli wherever F_xx exceeds 1.1. */
void unbounded(int count, int dim, const double *parameters, const double *F, const double *history, double *tau,
               double *energy, double *moduli, void *context)
{
    (void)history, (void)context;
    respond(count, dim, parameters[0], parameters[1], 0, F, tau, energy, moduli);
    for (int p = 0; p < count; p++)
        if (F[p] > 1.1)
            moduli[p] = moduli[count + p] = NAN;
}

/* No energy, or in two dimensions no stress out of plane, wherever F_xx exceeds 1.1. */
void costless(int count, int dim, const double *parameters, const double *F, const double *history, double *tau,
              double *energy, double *moduli, void *context)
{
    (void)history, (void)context;
    respond(count, dim, parameters[0], parameters[1], 0, F, tau, energy, moduli);
    for (int p = 0; p < count; p++)
        if (F[p] > 1.1)
            (dim == 2 ? tau + 3 * count : energy)[p] = NAN;
}

/* Softens with the damage, the first component of the history; the second field is a symmetric tensor. */
void damaged(int count, int dim, const double *parameters, const double *F, const double *history, double *tau,
             double *energy, double *moduli, void *context)
{
    (void)context;
    respond(count, dim, parameters[0], parameters[1], history, F, tau, energy, moduli);
}

/* No stress at an age of more than half a millisecond. */
void aged(int count, int dim, const double *parameters, const double *F, const double *history, double *tau,
          double *energy, double *moduli, void *context)
{
    (void)context;
    respond(count, dim, parameters[0], parameters[1], 0, F, tau, energy, moduli);
    for (int p = 0; p < count; p++)
        tau[p] = history[p] > 5e-4 ? NAN : tau[p];
}

/* Damage d = 0.5 (1 - exp(-max |F F^T - I|)), the largest so far; the tensor is the present F F^T. */
void damage(int count, int dim, const double *parameters, double dt, const double *velocity_gradient, double *F,
            double *history, void *context)
{
    (void)parameters, (void)dt, (void)velocity_gradient, (void)context;
    for (int p = 0; p < count; p++) {
        double worst = 0;
        for (int i = 0, c = 1; i < dim; i++)
            for (int j = i; j < dim; j++, c++) {
                double b = 0;
                for (int k = 0; k < dim; k++)
                    b += F[(i * dim + k) * count + p] * F[(j * dim + k) * count + p];
                history[c * count + p] = b;
                worst = fmax(worst, fabs(b - (i == j)));
            }
        history[p] = fmax(history[p], 0.5 * (1 - exp(-worst)));
    }
}

/* A wrong return map: not idempotent. */
void crumble(int count, int dim, const double *parameters, double dt, const double *velocity_gradient, double *F,
             double *history, void *context)
{
    (void)dim, (void)parameters, (void)dt, (void)velocity_gradient, (void)F, (void)context;
    for (int p = 0; p < count; p++)
        history[p] = 0.5 * (history[p] + 0.9);
}

/* Loses the first component of the history where F_xx exceeds 1.1. */
void lose(int count, int dim, const double *parameters, double dt, const double *velocity_gradient, double *F,
          double *history, void *context)
{
    (void)dim, (void)parameters, (void)dt, (void)velocity_gradient, (void)context;
    for (int p = 0; p < count; p++)
        if (F[p] > 1.1)
            history[p] = NAN;
}

void grow_old(int count, int dim, const double *parameters, double dt, const double *velocity_gradient, double *F,
              double *history, void *context)
{
    (void)dim, (void)parameters, (void)velocity_gradient, (void)F, (void)context;
    for (int p = 0; p < count; p++)
        history[p] += dt;
}

/* The third parameter over 0 wherever F_xx exceeds 1.1: infinite, or NaN. */
void tear(int count, int dim, const double *parameters, double dt, const double *velocity_gradient, double *F,
          double *history, void *context)
{
    (void)dim, (void)dt, (void)velocity_gradient, (void)history, (void)context;
    for (int p = 0; p < count; p++)
        F[p] = F[p] > 1.1 ? parameters[2] / 0.0 : F[p];
}
