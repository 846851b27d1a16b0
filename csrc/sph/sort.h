/* SPDX-License-Identifier: MIT
 *
 * Sorts a cloud by cells, once its particles are known. It needs the pool.
 */
#pragma once
#include "sph/state.h"

mpm_status mpm_sph_sort_cloud(mpm_sph *sph, int cloud);
