/* SPDX-License-Identifier: MIT
 *
 * The transfer scheme of a simulation: how momentum goes from particles to nodes and back, with which kernel, and what
 * follows from the choice. Delta = x_i - x_p, v^n: node velocity before forces, v~: after forces and contact.
 *
 *                P2G momentum of p     G2P velocity                        moves with
 *     PIC        w m v_p               S v~ (S: sum of w ... over nodes)   S v~
 *     FLIP       w m v_p               S v~ + a (v_p - S v^n)              S v~, or the new v_p
 *     APIC       w m (v_p + C Delta)   S v~,  C = B D^-1                   S v~
 *     AFLIP      as APIC               as FLIP, C as APIC                  S v~, or the new v_p
 *     ASFLIP     as APIC               as AFLIP                            the new v_p where material separates, S v~ elsewhere
 *     XPIC(m)    w m v_p               S (v* + v~ - v^n)                   S v~
 *     TPIC       w m (v_p + C Delta)   S v~,  C = sum v~ (grad w)^T        S v~
 *
 * a is the FLIP ratio. v* is the sum of v_k = (1 - S+ S)^k v^n, k = 0 ... m - 1, S+ the transfer from particles to
 * nodes: it takes from v_p only what the grid cannot see. The authors' v* = m sum_r (-1)^(r+1) v*_r, r = 1 ... m, with
 * v*_r = (m - r + 1)/r S+ S v*_(r-1), is the same polynomial in S+ S, but with binomial coefficients of alternating sign:
 * from m = 10 on round-off makes it useless in single precision, from m = 40 on in double.
 *
 * Harlow 1964 (PIC); Brackbill & Ruppel, J. Comput. Phys. 65 (1986) 314 (FLIP); Jiang et al., ACM Trans. Graph. 34(4)
 * (2015) 51 (APIC); Fei et al., ACM Trans. Graph. 40(4) (2021) 109 (AFLIP, ASFLIP); Hammerquist & Nairn, Comput. Methods
 * Appl. Mech. Eng. 318 (2017) 724 (XPIC); Nakamura, Matsumura & Mizutani, Comput. Methods Appl. Mech. Eng. 403 (2023)
 * 115720 (TPIC).
 */
#pragma once
#include <stdbool.h>

typedef enum mpm_transfer {
    MPM_PIC, MPM_FLIP, MPM_APIC, MPM_AFLIP, MPM_ASFLIP, MPM_XPIC, MPM_TPIC, MPM_TRANSFER_COUNT
} mpm_transfer;

/** Gradients of the weights in forces and in the strain: the moving-least-squares one D^-1 w Delta, or that of the
 *  B-spline itself. */
typedef enum mpm_gradient { MPM_GRADIENT_MLS, MPM_GRADIENT_BSPLINE } mpm_gradient;

enum { MPM_LINEAR = 1, MPM_QUADRATIC = 2, MPM_CUBIC = 3 };

typedef struct mpm_scheme {
    mpm_transfer transfer;
    mpm_gradient gradient; /* linear: always the B-spline's, because D is singular on nodes */
    int degree;            /* of the B-spline: MPM_LINEAR ... */
    double flip_ratio;     /* a, 0 .. 1 (FLIP, AFLIP, ASFLIP) */
    int xpic_order;        /* m >= 1 (XPIC) */
    bool advect_particle;  /* move with the new v_p (FLIP, AFLIP) */
    bool cayley;           /* F <- (I - dt/2 grad v)^-1 (I + dt/2 grad v) F instead of (I + dt grad v) F */
    double c_keep;         /* share of the symmetric part of C that a step keeps, 0 .. 1 (with an affine velocity) */
} mpm_scheme;

/** The scheme with kernels of its own: MLS-MPM with APIC and the quadratic B-spline. */
static inline bool mpm_scheme_is_standard(const mpm_scheme *scheme)
{
    return scheme->transfer == MPM_APIC && scheme->degree == MPM_QUADRATIC &&
           scheme->gradient == MPM_GRADIENT_MLS && !scheme->cayley && scheme->c_keep == 1;
}

/** Does C take part in P2G, as an affine velocity? */
static inline bool mpm_scheme_is_affine(const mpm_scheme *scheme)
{
    return scheme->transfer == MPM_APIC || scheme->transfer == MPM_AFLIP || scheme->transfer == MPM_ASFLIP ||
           scheme->transfer == MPM_TPIC;
}

/** Are a share of the old particle velocity, and so v^n, part of the new one? */
static inline bool mpm_scheme_is_flip(const mpm_scheme *scheme)
{
    return scheme->transfer == MPM_FLIP || scheme->transfer == MPM_AFLIP || scheme->transfer == MPM_ASFLIP;
}

/** Must the grid know v^n besides v~? Then momentum and forces are collected apart. */
static inline bool mpm_scheme_is_split(const mpm_scheme *scheme)
{
    return mpm_scheme_is_flip(scheme) || scheme->transfer == MPM_XPIC;
}

/** Do v and C of particles follow from the velocities of nodes alone, whatever they were before? */
static inline bool mpm_scheme_forgets(const mpm_scheme *scheme)
{
    return !mpm_scheme_is_split(scheme);
}

/** Can a particle move with another velocity than that of the grid? */
static inline bool mpm_scheme_moves_apart(const mpm_scheme *scheme)
{
    return scheme->advect_particle || scheme->transfer == MPM_ASFLIP;
}

/** How far beyond a face a particle may lie, in cells. Walls act on the nodes at and beyond a face, so they give way a
 *  little to a particle that is pressed on: it stops where only such nodes carry it. Further out it has left the
 *  domain. */
static inline double mpm_scheme_wall_depth(int degree)
{
    return 0.5 * (degree - 1);
}

/** Sum w Delta Delta^T/h^2 per axis. The linear kernel has f (1 - f) instead, f the place in the cell: its C is kept as
 *  4/h^2 B, as if D were that of the quadratic one, because B is what conserves angular momentum and D is singular. */
static inline double mpm_scheme_second_moment(int degree)
{
    return degree == MPM_CUBIC ? 1.0 / 3 : 0.25;
}

/** Does TPIC keep C as a velocity gradient where others keep B? */
static inline bool mpm_scheme_keeps_B(const mpm_scheme *scheme)
{
    return scheme->degree == MPM_LINEAR && scheme->transfer != MPM_TPIC && mpm_scheme_is_affine(scheme);
}

/** kappa/(2 (1 + k)) of the isolated bound dt^2 kappa/(2 (1 + k)) S V0/(m h^2) <= 1: kappa bounds sum |g|^2 h^2/w per
 *  axis over all places of the particle, g the gradient of the weight in use; k is the share of the affine velocity that
 *  a step hands on. For the linear kernel, kappa depends on the place; this is its least value. */
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
