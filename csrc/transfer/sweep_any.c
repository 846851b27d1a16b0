/* SPDX-License-Identifier: MIT
 *
 * The sweep for any scheme: the source of sweep.c with the transfers of stencil_any.h.
 */
#define SWEEP_ANY_SCHEME
#include "transfer/sweep.c"
