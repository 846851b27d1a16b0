/* SPDX-License-Identifier: MIT */
#pragma once

/** The largest stress that a law returns [Pa], in single or in double precision: its sums, and its products with zero,
 *  are numbers. */
#define MPM_LARGEST_STRESS(is_float) ((is_float) ? 1e30 : 1e290)
