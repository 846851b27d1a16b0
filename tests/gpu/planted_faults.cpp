/* SPDX-License-Identifier: MIT
 *
 * Kernels with a fault that the emulation must see. Argument: which. `order`: the sum of floats by atomic operations in
 * three orders of the threads; exits with 0 if it differs.
 */
#include "cuda.h"

enum { COUNT = 64 };
static float *numbers, sum;
static const char *planted;

static bool is(const char *name) { return !strcmp(planted, name); }

static void faulty(void *)
{
    const unsigned i = threadIdx.x;
    if (is("beyond"))
        numbers[i + 1] = 1;
    else if (is("shared"))
        ((float *)shared_memory)[i + 1] = 1;
    else if (is("barrier") && i != 5)
        __syncthreads();
    else if (is("lanes"))
        __syncwarp(1u << (i + 1) % 32);
    else if (is("order")) {
        const float old = sum;
        sum = old + numbers[i];
    }
}

int main(int, char **arguments)
{
    float found[3];
    planted = arguments[1];
    numbers = (float *)device_new(COUNT * sizeof *numbers);
    for (int i = 0; i < COUNT; i++)
        numbers[i] = 1.0f / (float)(i + 3);
    for (int k = 0; k < 3; k++) {
        launch_order = (order)k;
        sum = 0;
        launch(faulty, NULL, 1, COUNT, COUNT * sizeof(float));
        found[k] = sum;
    }
    return found[0] != found[1] && found[0] != found[2] ? 0 : 1;
}
