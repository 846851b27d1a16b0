/* SPDX-License-Identifier: MIT */
/* sources:  */
#define MPM_REAL float
#define MPM_ISA_SCALAR 1
#include "elementary.h"

int main(void)
{
    test_logarithm(2); /* measured 0.9 in float, 1.1 in double; with fused operations the same */
    test_exponential(2); /* measured 1.2 and 1.1 */
    return 0;
}
