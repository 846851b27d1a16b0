/* SPDX-License-Identifier: MIT
 *
 * The transfer scheme of a simulation: the rule and the kernel by which momentum moves between particles and nodes.
 * Delta = x_i - x_p; v^n: node velocity before forces; v~: node velocity after forces and contact.
 *
 *                P2G momentum of p     G2P velocity                        moves with
 *     PIC        w m v_p               S v~ (S: sum of w ... over nodes)   S v~
 *     FLIP       w m v_p               S v~ + a (v_p - S v^n)              S v~, or the new v_p
 *     APIC       w m (v_p + C Delta)   S v~,  C = B D^-1                   S v~
 *     AFLIP      as APIC               as FLIP, C as APIC                  S v~, or the new v_p
 *     ASFLIP     as APIC               as AFLIP                            the new v_p if material separates, or S v~
 *     XPIC(m)    w m v_p               S (v* + v~ - v^n)                   S v~
 *     TPIC       w m (v_p + C Delta)   S v~,  C = sum v~ (grad w)^T        S v~
 *
 * a is the FLIP ratio. v* is the sum of v_k = (1 - S+ S)^k v^n, k = 0 ... m - 1, S+ the transfer from particles to
 * nodes: it takes from v_p only what the grid cannot see. The authors' v* = m sum_r (-1)^(r+1) v*_r, r = 1 ... m, with
 * v*_r = (m - r + 1)/r S+ S v*_(r-1), is the same polynomial in S+ S, but with binomial coefficients of alternating
 * sign: from m = 10 on round-off makes it useless in single precision, from m = 40 on in double.
 *
 * Harlow 1964 (PIC); Brackbill & Ruppel, J. Comput. Phys. 65 (1986) 314 (FLIP); Jiang et al., ACM Trans. Graph. 34(4)
 * (2015) 51 (APIC); Fei et al., ACM Trans. Graph. 40(4) (2021) 109 (AFLIP, ASFLIP); Hammerquist & Nairn, Comput.
 * Methods Appl. Mech. Eng. 318 (2017) 724 (XPIC); Nakamura, Matsumura & Mizutani, Comput. Methods Appl. Mech. Eng. 403
 * (2023) 115720 (TPIC).
 */
#pragma once
#include <stdbool.h>

typedef enum mpm_transfer {
    MPM_PIC, MPM_FLIP, MPM_APIC, MPM_AFLIP, MPM_ASFLIP, MPM_XPIC, MPM_TPIC, MPM_TRANSFER_COUNT
} mpm_transfer;

/** The gradient of the weights in forces and in the strain: D^-1 w Delta of moving least squares, or that of the
 *  B-spline itself. */
typedef enum mpm_gradient { MPM_GRADIENT_MLS, MPM_GRADIENT_BSPLINE } mpm_gradient;

/** How a step strains a particle, with A = dt grad v: F <- (I + A) F and J <- det(I + A) J; F <- (I - A/2)^-1 (I + A/2)
 *  F and its determinant; J <- (1 + tr A) J, of laws that keep J alone. */
typedef enum mpm_f_update { MPM_F_LINEAR, MPM_F_CAYLEY, MPM_F_TRACE } mpm_f_update;

enum { MPM_LINEAR = 1, MPM_QUADRATIC = 2, MPM_CUBIC = 3 };

typedef struct mpm_scheme {
    mpm_transfer transfer;
    mpm_gradient gradient; /* linear kernel: always the B-spline's, because D is singular on nodes */
    int degree;            /* of the B-spline: MPM_LINEAR ... */
    double flip_ratio;     /* a, 0 .. 1 (FLIP, AFLIP, ASFLIP) */
    int xpic_order;        /* m >= 1 (XPIC) */
    bool advect_particle;  /* move with the new v_p (FLIP, AFLIP) */
    mpm_f_update f_update;
    bool midpoint;         /* move and strain with the velocity in mid step, which an implicit solve has found */
    double c_keep;         /* share of the symmetric part of C that a step keeps, 0 .. 1 (with an affine velocity) */
    bool f_bar;            /* strain with an averaged volume change (f_bar.c); explicit, MPM_F_LINEAR */
    double local_damping;  /* share of the force out of balance that nodes lose, 0 .. 1; explicit */
    double viscosity[2];   /* coefficients of the artificial viscosity, linear and quadratic, at least 0; explicit */
    double density_correction; /* kappa: rate at which J of fluids follows the density of the grid, over the shear rate
                                * (fill.c); explicit */
    bool faces;            /* crack faces separate and slide (faces.c); explicit */
} mpm_scheme;

/** Does compression meet an artificial viscosity (mpm/kernels/shock.h)? */
static inline bool mpm_scheme_is_viscous(const mpm_scheme *scheme)
{
    return scheme->viscosity[0] > 0 || scheme->viscosity[1] > 0;
}

/** The scheme with kernels of its own: MLS-MPM with APIC and the quadratic B-spline. */
static inline bool mpm_scheme_is_standard(const mpm_scheme *scheme)
{
    return scheme->transfer == MPM_APIC && scheme->degree == MPM_QUADRATIC &&
           scheme->gradient == MPM_GRADIENT_MLS && scheme->f_update == MPM_F_LINEAR && !scheme->midpoint &&
           scheme->c_keep == 1 && !scheme->f_bar && !(scheme->local_damping > 0) &&
           !mpm_scheme_is_viscous(scheme) && !scheme->faces;
}

/** Does C take part in P2G, as an affine velocity? */
static inline bool mpm_scheme_is_affine(const mpm_scheme *scheme)
{
    return scheme->transfer == MPM_APIC || scheme->transfer == MPM_AFLIP || scheme->transfer == MPM_ASFLIP ||
           scheme->transfer == MPM_TPIC;
}

/** Does the new particle velocity contain a share of the old one, and so v^n? */
static inline bool mpm_scheme_is_flip(const mpm_scheme *scheme)
{
    return scheme->transfer == MPM_FLIP || scheme->transfer == MPM_AFLIP || scheme->transfer == MPM_ASFLIP;
}

/** Does G2P need v^n, or the filtered velocity that replaces it? */
static inline bool mpm_scheme_reads_before(const mpm_scheme *scheme)
{
    return mpm_scheme_is_flip(scheme) || scheme->transfer == MPM_XPIC;
}

/** Does the grid keep v^n besides v~? If so, it collects momentum and forces separately. */
static inline bool mpm_scheme_is_split(const mpm_scheme *scheme)
{
    return mpm_scheme_reads_before(scheme) || scheme->midpoint || scheme->local_damping > 0;
}

/** Does G2P compute v and C from node velocities alone, whatever v and C were before? With faces it needs to know the
 *  sides of particles, too. */
static inline bool mpm_scheme_recomputes_velocity(const mpm_scheme *scheme)
{
    return !mpm_scheme_is_split(scheme) && !scheme->faces;
}

/** Can a particle move with a velocity other than that of the grid? */
static inline bool mpm_scheme_moves_apart(const mpm_scheme *scheme)
{
    return scheme->advect_particle || scheme->transfer == MPM_ASFLIP;
}

/** How far beyond a face a particle may be, in cells. Walls act on the nodes at and beyond a face, so a particle that
 *  is pressed against the wall stops only where such nodes alone carry it. Beyond that it has left the domain. */
static inline double mpm_scheme_wall_depth(int degree)
{
    return 0.5 * (degree - 1);
}

/** Sum w Delta Delta^T/h^2 per axis. The linear kernel has f (1 - f) instead, which is singular; f is the position in
 *  the cell. B conserves angular momentum, so C stores 4/h^2 B there, as if D were that of the quadratic kernel. */
static inline double mpm_scheme_second_moment(int degree)
{
    return degree == MPM_CUBIC ? 1.0 / 3 : 0.25;
}

/** Does C hold 4/h^2 B instead of a velocity gradient? */
static inline bool mpm_scheme_keeps_B(const mpm_scheme *scheme)
{
    return scheme->degree == MPM_LINEAR && scheme->transfer != MPM_TPIC && mpm_scheme_is_affine(scheme);
}

/** kappa/(2 (1 + k)) of the isolated bound dt^2 kappa/(2 (1 + k)) S V0/(m h^2) <= 1. kappa bounds sum |g|^2 h^2/w per
 *  axis over all positions of the particle, g being the gradient of the weight; k is the share of the affine velocity
 *  that a step keeps. For the linear kernel, kappa depends on the position; this is its least value. */
static inline double mpm_scheme_isolated_factor(const mpm_scheme *scheme)
{
    const bool affine = mpm_scheme_is_affine(scheme);
    const double memory = affine ? scheme->c_keep : 0;
    const bool mls = scheme->gradient == MPM_GRADIENT_MLS;
    double kappa = 4;
    if (scheme->degree == MPM_CUBIC)
        kappa = mls ? 3 : affine ? 3.3 : 3.14;
    else if (scheme->degree == MPM_QUADRATIC && !mls)
        kappa = affine ? 7 : 6;
    return kappa / (2 * (1 + memory));
}
