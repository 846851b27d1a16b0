/* SPDX-License-Identifier: MIT
 *
 * The snapshot of a run whose fields are all kept by row: particles in the order of the rows. A method adds its own
 * numbers, such as the impulses since the last record.
 */
#pragma once
#include "run/snapshot.h"

extern const mpm_snapshot_method mpm_kept_snapshot;
