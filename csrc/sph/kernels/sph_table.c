/* SPDX-License-Identifier: MIT
 *
 * The kernels of one (instruction set, dimension, precision), as a table.
 */
#include "base/simd.h"
#include "sph/kernels/kernels.h"

#define MPM_STRING2(a) #a
#define MPM_STRING(a) MPM_STRING2(a)

void MPM_KERNEL(cloud_bounds)(const mpm_sph_pass *pass, const mpm_sph_cloud *cloud, ptrdiff_t begin, ptrdiff_t end,
                              int64_t low[3], int64_t high[3]);
void MPM_KERNEL(cloud_keys)(const mpm_sph_pass *pass, const mpm_sph_cloud *cloud, ptrdiff_t begin, ptrdiff_t end,
                            int64_t *keys);
void MPM_KERNEL(cloud_gather)(const mpm_sph_pass *pass, int index, ptrdiff_t begin, ptrdiff_t end);
void MPM_KERNEL(cloud_images)(const mpm_sph_pass *pass, ptrdiff_t begin, ptrdiff_t end, bool fill, ptrdiff_t at[2]);
void MPM_KERNEL(cloud_reflect)(const mpm_sph_pass *pass, int index, ptrdiff_t begin, ptrdiff_t end);
void MPM_KERNEL(density_task)(const mpm_sph_pass *pass, ptrdiff_t task);
void MPM_KERNEL(pressure_task)(const mpm_sph_pass *pass, ptrdiff_t task);
void MPM_KERNEL(misfit_task)(const mpm_sph_pass *pass, ptrdiff_t task);
void MPM_KERNEL(kick_task)(const mpm_sph_pass *pass, ptrdiff_t task);
void MPM_KERNEL(kick_write)(const mpm_sph_pass *pass, ptrdiff_t begin, ptrdiff_t end);
void MPM_KERNEL(kick_write_J)(const mpm_sph_pass *pass, ptrdiff_t begin, ptrdiff_t end);
extern const mpm_sph_kernels MPM_KERNEL(sph_table);

const mpm_sph_kernels MPM_KERNEL(sph_table) = {
    .isa = MPM_STRING(MPM_ISA),
    .dim = DIM,
    .lanes = WIDTH,
    .real_size = sizeof(real),
    .bounds = MPM_KERNEL(cloud_bounds),
    .keys = MPM_KERNEL(cloud_keys),
    .gather = MPM_KERNEL(cloud_gather),
    .images = MPM_KERNEL(cloud_images),
    .reflect = MPM_KERNEL(cloud_reflect),
    .density = MPM_KERNEL(density_task),
    .force = MPM_KERNEL(pressure_task),
    .misfit = MPM_KERNEL(misfit_task),
    .kick = MPM_KERNEL(kick_task),
    .write = MPM_KERNEL(kick_write),
    .write_J = MPM_KERNEL(kick_write_J),
};
