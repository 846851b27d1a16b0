/* SPDX-License-Identifier: MIT
 *
 * The particles in their tiles as fields of the store.
 */
#pragma once
#include "mpm/state.h"

extern const mpm_store_method mpm_views_method;
