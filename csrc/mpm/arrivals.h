/* SPDX-License-Identifier: MIT
 *
 * New particles wait in tiles behind the groups until all of their body have come. The cell of each is noted, and the
 * block of consecutive ones that share it: 2 bytes where particles come cell by cell, at most 25.
 */
#pragma once
#include "mpm/kernels/kernels.h"
#include "mpm/simulation.h"

/** Makes room for `count` more particles besides those that wait, and for the rows of `others` in other processes and
 *  of `left` after them: rows, and tiles with some room for padding. Errors: MPM_OUT_OF_MEMORY, MPM_TOO_LARGE; nothing
 *  has changed. */
mpm_status mpm_arrivals_reserve(mpm_simulation *simulation, ptrdiff_t count, ptrdiff_t others, ptrdiff_t left);

/** Lets particles wait, in pieces, so that their placements take little memory; `before` and `after` are those that
 *  other processes have beside them. There is room for them; `placements` of the insertion is not used. After an error
 *  (MPM_OUT_OF_MEMORY) they have to be dropped. */
mpm_status mpm_arrivals_insert(mpm_simulation *simulation, const mpm_insertion *own, ptrdiff_t before,
                               ptrdiff_t after);

/** Forgets where new particles go, once they are in their groups. */
void mpm_arrivals_forget(mpm_simulation *simulation);

/** Gives up the particles that wait. */
void mpm_arrivals_drop(mpm_simulation *simulation);
