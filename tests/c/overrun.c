/* SPDX-License-Identifier: MIT */
/* sources: base/memory.c */
/* Not a test but a control: a write past the end of an allocation, which ASan must report. */
#include "check.h"

#include "base/memory.h"

int main(int argc, char **argv)
{
    (void)argv;
    const mpm_allocator allocator = mpm_memory_default();
    char *memory = mpm_memory_new(&allocator, 64, 1);
    assert(memory);
    memory[63 + argc] = 1;
    mpm_memory_free(&allocator, memory);
    return 0;
}
