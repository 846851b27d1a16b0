/* SPDX-License-Identifier: MIT
 *
 * Laws of users for the tests: neo-Hookean with its moduli, and a plastic one with a history.
 */
#include <math.h>
#include <mpm_user_law.h>

mpm_user_evaluate neo_hookean, broken, damaged;
mpm_user_return_map damage, crumble;

static double largest(const double *b, int dim) /* the bound of an eigenvalue that the package's law takes */
{
    double mean = 0, square = 0;
    for (int i = 0; i < dim; i++)
        mean += b[i * dim + i] / dim;
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++) {
            const double e = b[i * dim + j] - (i == j ? mean : 0);
            square += e * e;
        }
    return mean + sqrt(square * (dim - 1) / dim);
}

static void respond(int count, int dim, double mu, double lambda, const double *softening, const double *F, double *tau,
                    double *energy, double *moduli)
{
    for (int p = 0; p < count; p++) {
        const double soft = softening ? 1 - softening[p] : 1;
        double f[9], b[9], trace = 0, J;
        for (int k = 0; k < dim * dim; k++)
            f[k] = F[k * count + p];
        J = dim == 2 ? f[0] * f[3] - f[1] * f[2]
                     : f[0] * (f[4] * f[8] - f[5] * f[7]) - f[1] * (f[3] * f[8] - f[5] * f[6]) +
                           f[2] * (f[3] * f[7] - f[4] * f[6]);
        for (int i = 0; i < dim; i++)
            for (int j = 0; j < dim; j++) {
                b[i * dim + j] = 0;
                for (int k = 0; k < dim; k++)
                    b[i * dim + j] += f[i * dim + k] * f[j * dim + k];
            }
        const double ln_J = log(J), pull = lambda * ln_J - mu;
        for (int i = 0, c = 0; i < dim; i++) {
            trace += b[i * dim + i];
            for (int j = i; j < dim; j++, c++)
                tau[c * count + p] = soft * (mu * b[i * dim + j] + (i == j ? pull : 0));
        }
        if (dim == 2)
            tau[3 * count + p] = soft * lambda * ln_J;
        energy[p] = soft * (mu * ((trace - dim) / 2 - ln_J) + lambda / 2 * ln_J * ln_J);
        const double wave = fmax(mu * (largest(b, dim) + 1) + lambda * (1 - ln_J), 0);
        moduli[p] = wave;
        moduli[count + p] = fmax(wave + (dim - 1) * lambda, wave - lambda);
    }
}

void neo_hookean(int count, int dim, const double *parameters, const double *F, const double *history, double *tau,
                 double *energy, double *moduli, void *context)
{
    (void)history, (void)context;
    respond(count, dim, parameters[0], parameters[1], 0, F, tau, energy, moduli);
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

/* Softens with the damage, the first component of the history; the second field is a symmetric tensor. */
void damaged(int count, int dim, const double *parameters, const double *F, const double *history, double *tau,
             double *energy, double *moduli, void *context)
{
    (void)context;
    respond(count, dim, parameters[0], parameters[1], history, F, tau, energy, moduli);
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
