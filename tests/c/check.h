/* SPDX-License-Identifier: MIT
 *
 * A C test is a program: exit status 0 is a pass. It names the core's sources that it links in a comment line
 * `sources: ...`; the language's own `assert` is the framework.
 */
#pragma once
#undef NDEBUG
#include <assert.h>
