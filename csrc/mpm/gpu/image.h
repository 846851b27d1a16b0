/* SPDX-License-Identifier: MIT
 *
 * What an image of the kernels was compiled for: the same text for host and device.
 */
#pragma once

/** Every image has these numbers as the constant `gpu_image`. */
typedef struct mpm_gpu_image {
    unsigned real_size, dim;
    unsigned law_bytes;     /* of the law's prepared parameters */
    unsigned sweep_threads; /* of a CTA of a sweep */
    unsigned sweep_bytes;   /* of its shared memory */
    unsigned collides;      /* does it know colliders? */
    unsigned transfer;      /* an mpm_transfer */
    unsigned pushes;        /* does it know body forces? */
} mpm_gpu_image;
