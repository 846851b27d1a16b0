/* SPDX-License-Identifier: MIT
 *
 * The C library's header, for NVRTC, which has size_t and ptrdiff_t built in.
 */
#pragma once
#ifndef NULL
#define NULL 0
#endif
