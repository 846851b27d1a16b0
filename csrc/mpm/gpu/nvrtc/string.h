/* SPDX-License-Identifier: MIT
 *
 * The C library's header, for NVRTC, which has memcpy and memset built in.
 */
#pragma once
