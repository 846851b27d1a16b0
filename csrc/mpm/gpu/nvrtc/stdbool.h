/* SPDX-License-Identifier: MIT
 *
 * The C library's header, for NVRTC: C++ has bool.
 */
#pragma once
