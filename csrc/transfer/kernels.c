/* SPDX-License-Identifier: MIT */
typedef int mpm_kernels_placeholder;
