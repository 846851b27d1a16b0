/* SPDX-License-Identifier: MIT
 *
 * Enough of CUDA to run kernels on a processor, for tests: before a kernel's text, compiled as C++20 without fused
 * arithmetic of the compiler's own (-ffp-contract=off), as NVRTC compiles it with --fmad=false.
 *
 * The threads of a CTA are fibers that take turns at barriers, in an order that `launch_order` chooses; so are the CTAs
 * of a launch. What depends on an order shows in the bits. Memory of the device is filled with NaN, and lies between
 * guards that every launch checks. A barrier that not all threads reach ends the program.
 */
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __device__
#define __global__
#define __shared__ static
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define SHARED_MEMORY(name) unsigned char *const name = shared_memory

struct float4 { float x, y, z, w; };
struct double2 { double x, y; };
static inline float4 make_float4(float a, float b, float c, float d) { return float4{a, b, c, d}; }
static inline double2 make_double2(double a, double b) { return double2{a, b}; }
struct emulated_index { unsigned x; };
static emulated_index threadIdx, blockIdx, blockDim;

/* ---- fibers ------------------------------------------------------------------------------------------------------ */

enum { MOST_THREADS = 1024, STACK_BYTES = 1 << 16, SHARED_BYTES = 1 << 18, GUARD_BYTES = 64, GUARD = 0xa5 };

struct barrier { unsigned count, generation; };
struct fiber { jmp_buf here; bool started, done; };
static fiber fibers[MOST_THREADS];
static jmp_buf scheduler;
static barrier all_threads, warp_barriers[32][4];
static unsigned warp_masks[32][4]; /* whose barriers these are; 0: nobody's yet */
static uint64_t exchange[32][32];
static unsigned thread_count, progress;
static char stacks[MOST_THREADS][STACK_BYTES];
alignas(64) static unsigned char shared_memory[SHARED_BYTES + GUARD_BYTES];
static void (*kernel_body)(void *);
static void *kernel_arguments;

[[noreturn]] static void fail(const char *what)
{
    fprintf(stderr, "emulated GPU: %s (CTA %u, thread %u)\n", what, blockIdx.x, threadIdx.x);
    abort();
}

static void yield(void)
{
    const unsigned me = threadIdx.x;
    if (!_setjmp(fibers[me].here))
        _longjmp(scheduler, 1);
    threadIdx.x = me;
}

static void wait(barrier *b, unsigned members)
{
    const unsigned generation = b->generation;
    if (++b->count == members) {
        b->count = 0;
        b->generation++;
        progress++;
        return;
    }
    while (b->generation == generation)
        yield();
}

static void enter(void)
{
    kernel_body(kernel_arguments);
    fibers[threadIdx.x].done = true;
    progress++;
    _longjmp(scheduler, 1);
}

static void resume(unsigned thread)
{
    threadIdx.x = thread;
    if (_setjmp(scheduler))
        return;
    if (fibers[thread].started)
        _longjmp(fibers[thread].here, 1);
    fibers[thread].started = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stacks[thread];
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_link = NULL;
    makecontext(&context, enter, 0);
    setcontext(&context);
}

/* ---- what threads of a CTA do together --------------------------------------------------------------------------- */

static void __syncthreads(void) { wait(&all_threads, thread_count); }

static void __syncwarp(unsigned mask = 0xffffffffu)
{
    const unsigned warp = threadIdx.x / 32;
    int k = 0;
    while (k < 4 && warp_masks[warp][k] && warp_masks[warp][k] != mask)
        k++;
    if (k == 4 || !(mask >> threadIdx.x % 32 & 1))
        fail("a warp's barrier for other lanes");
    warp_masks[warp][k] = mask;
    wait(&warp_barriers[warp][k], (unsigned)__builtin_popcount(mask));
}

template <class number> static number exchanged(unsigned mask, number value, int from)
{
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    static_assert(sizeof value <= sizeof exchange[0][0]);
    memcpy(&exchange[warp][lane], &value, sizeof value);
    __syncwarp(mask);
    if (from >= 0 && from < 32)
        memcpy(&value, &exchange[warp][from], sizeof value);
    __syncwarp(mask);
    return value;
}

static int lane_number(void) { return (int)(threadIdx.x % 32); }
template <class number> static number __shfl_sync(unsigned m, number a, int from) { return exchanged(m, a, from); }
template <class number> static number __shfl_up_sync(unsigned m, number a, int d)
{
    return exchanged(m, a, lane_number() - d);
}
template <class number> static number __shfl_xor_sync(unsigned m, number a, int d)
{
    return exchanged(m, a, lane_number() ^ d);
}

static unsigned __match_any_sync(unsigned mask, int value)
{
    const unsigned warp = threadIdx.x / 32;
    unsigned same = 0;
    exchange[warp][lane_number()] = (unsigned)value;
    __syncwarp(mask);
    for (int k = 0; k < 32; k++)
        same |= (unsigned)(exchange[warp][k] == (unsigned)value) << k;
    __syncwarp(mask);
    return same;
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

static int __popc(unsigned a) { return __builtin_popcount(a); }
static int atomicAdd(int *p, int a) { const int old = *p; *p += a; return old; }
static int atomicSub(int *p, int a) { const int old = *p; *p -= a; return old; }
static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
static inline double __dsqrt_rn(double a) { return __builtin_sqrt(a); }

/* ---- memory of the device ---------------------------------------------------------------------------------------- */

struct piece {
    piece *next;
    size_t bytes;
    unsigned char *front() { return (unsigned char *)(this + 1); }
    unsigned char *data() { return front() + GUARD_BYTES; }
};
static piece *pieces;

static bool is_guard(const unsigned char *bytes)
{
    for (int i = 0; i < GUARD_BYTES; i++)
        if (bytes[i] != GUARD)
            return false;
    return true;
}

static void check_guards(void)
{
    for (piece *p = pieces; p; p = p->next)
        if (!is_guard(p->front()) || !is_guard(p->data() + p->bytes))
            fail("a write beyond the end of an array");
}

static void *device_new(size_t bytes)
{
    piece *p = (piece *)aligned_alloc(64, (sizeof(piece) + 2 * GUARD_BYTES + bytes + 63) / 64 * 64);
    if (!p)
        fail("no memory");
    p->next = pieces, p->bytes = bytes;
    memset(p->front(), GUARD, GUARD_BYTES);
    memset(p->data(), 0xff, bytes);
    memset(p->data() + bytes, GUARD, GUARD_BYTES);
    pieces = p;
    return p->data();
}

static void device_free(void *data)
{
    piece **at = &pieces;
    while (*at && (*at)->data() != data)
        at = &(*at)->next;
    if (piece *p = *at) {
        *at = p->next;
        free(p);
    }
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

enum order { FORWARD, REVERSED, SHUFFLED };
static order launch_order;

/* Which of `count` comes i-th. */
static unsigned in_order(unsigned i, unsigned count, unsigned seed)
{
    if (launch_order == FORWARD)
        return i;
    if (launch_order == REVERSED)
        return count - 1 - i;
    unsigned step = 2 * (seed % 50) + 101; /* prime to count */
    for (;; step += 2) {
        unsigned a = step, b = count;
        while (b) {
            const unsigned rest = a % b;
            a = b, b = rest;
        }
        if (a == 1)
            break;
    }
    return (unsigned)(((uint64_t)i * step + seed) % count);
}

static void run_cta(size_t bytes)
{
    static unsigned run;
    memset(&all_threads, 0, sizeof all_threads);
    memset(warp_barriers, 0, sizeof warp_barriers);
    memset(warp_masks, 0, sizeof warp_masks);
    memset(shared_memory, 0xff, bytes);
    memset(shared_memory + bytes, GUARD, GUARD_BYTES);
    for (unsigned t = 0; t < thread_count; t++)
        fibers[t].started = fibers[t].done = false;
    run++;
    for (unsigned left = thread_count; left;) {
        const unsigned before = progress;
        for (unsigned turn = 0; turn < thread_count; turn++) {
            const unsigned t = in_order(turn, thread_count, run);
            if (fibers[t].done)
                continue;
            resume(t);
            left -= fibers[t].done;
        }
        if (progress == before)
            fail("threads wait for each other");
    }
    if (!is_guard(shared_memory + bytes))
        fail("a write beyond the end of the shared memory");
}

/** Runs body(arguments) for every thread, and checks the guards. */
static void launch(void (*body)(void *), void *arguments, unsigned ctas, unsigned threads, size_t bytes)
{
    if (threads > MOST_THREADS || bytes > SHARED_BYTES)
        fail("a launch that is too large");
    kernel_body = body, kernel_arguments = arguments, thread_count = blockDim.x = threads;
    for (unsigned i = 0; i < ctas; i++) {
        blockIdx.x = in_order(i, ctas, ctas);
        run_cta(bytes);
    }
    check_guards();
}
