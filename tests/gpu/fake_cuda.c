/* SPDX-License-Identifier: MIT
 *
 * A library of the names of NVIDIA's driver, whose device is memory of the host: for tests/test_cuda.py. It refuses
 * what the driver would refuse: memory that is not allocated, launches without a context, much shared memory that was
 * not asked for. Functions of tests let a call fail, and say what is left.
 *
 * An image is the text "numbers R D L T S", those of its mpm_gpu_image, whose kernels do nothing, or "emulated PATH",
 * the library of tests/gpu/driver.cpp, whose emulation runs them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpm/gpu/driver.h"

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NOT_FOUND = 500 };
enum { MOST = 1 << 14, DEVICES = 4 };

typedef struct module {
    mpm_gpu_image image;
    mpm_gpu_driver *emulated;
} module;

typedef struct function {
    mpm_gpu_kernel kernel;
    int allowed; /* bytes of shared memory */
    module *module;
    struct function *next;
} function;

static struct {
    int version, devices, capability, shared;
    size_t memory;
    char failing[64]; /* this call fails, after so many more, and from then on */
    int code, calls;
    uint64_t address[MOST];
    size_t bytes[MOST], used;
    int allocations, modules, retained[DEVICES], active[DEVICES], pushed;
    function *functions;
    char log[1 << 16];
} fake;

static int contexts[DEVICES];

#define EXPORT __attribute__((visibility("default")))
#define CALL(name) \
    do { \
        const int failure = call(#name); \
        if (failure) \
            return failure; \
    } while (0)

static int call(const char *name)
{
    return !strcmp(name, fake.failing) && fake.calls-- <= 0 ? fake.code : 0;
}

/* ---- for tests --------------------------------------------------------------------------------------------------- */

EXPORT void fake_reset(int version, int devices, int capability, size_t memory, int shared)
{
    memset(&fake, 0, sizeof fake);
    fake.version = version, fake.devices = devices, fake.capability = capability;
    fake.memory = memory, fake.shared = shared;
}

EXPORT void fake_fail(const char *name, int code, int calls)
{
    snprintf(fake.failing, sizeof fake.failing, "%s", name);
    fake.code = code, fake.calls = calls;
}

/* Arrays, modules, contexts that are current, and contexts that are retained. */
EXPORT void fake_left(int left[4])
{
    left[0] = fake.allocations, left[1] = fake.modules, left[2] = fake.pushed, left[3] = 0;
    for (int k = 0; k < DEVICES; k++)
        left[3] += fake.retained[k];
}

/* The launches: "kernel CTAs threads bytes" a line. */
EXPORT const char *fake_log(void) { return fake.log; }

/* ---- devices ----------------------------------------------------------------------------------------------------- */

EXPORT int cuInit(unsigned flags) { CALL(cuInit); return flags ? INVALID_VALUE : 0; }
EXPORT int cuDriverGetVersion(int *version) { CALL(cuDriverGetVersion); *version = fake.version; return 0; }

EXPORT int cuGetErrorName(int result, const char **name)
{
    *name = result == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : result == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : NULL;
    return *name ? 0 : INVALID_VALUE;
}

EXPORT int cuGetErrorString(int result, const char **words)
{
    *words = result == OUT_OF_MEMORY ? "out of memory" : result == 719 ? "unspecified launch failure" : NULL;
    return *words ? 0 : INVALID_VALUE;
}

EXPORT int cuDeviceGetCount(int *count) { CALL(cuDeviceGetCount); *count = fake.devices; return 0; }

EXPORT int cuDeviceGet(int *device, int ordinal)
{
    CALL(cuDeviceGet);
    *device = ordinal;
    return ordinal < 0 || ordinal >= fake.devices ? INVALID_VALUE : 0;
}

EXPORT int cuDeviceGetName(char *name, int bytes, int device)
{
    CALL(cuDeviceGetName);
    snprintf(name, (size_t)bytes, "Fake %d", device);
    return 0;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    CALL(cuDeviceGetAttribute);
    *value = attribute == 75 ? fake.capability / 10 : attribute == 76 ? fake.capability % 10 : fake.shared;
    return attribute == 75 || attribute == 76 || attribute == 97 ? 0 : INVALID_VALUE;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    CALL(cuDeviceTotalMem_v2);
    *bytes = fake.memory;
    return 0;
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    CALL(cuDevicePrimaryCtxGetState);
    *flags = 0, *active = fake.retained[device] > 0;
    return 0;
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
    CALL(cuDevicePrimaryCtxRetain);
    fake.retained[device]++;
    *context = &contexts[device];
    return 0;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device) { return --fake.retained[device] < 0 ? INVALID_CONTEXT : 0; }
EXPORT int cuCtxPushCurrent_v2(void *context)
{
    CALL(cuCtxPushCurrent_v2);
    fake.pushed++;
    return context ? 0 : INVALID_CONTEXT;
}
EXPORT int cuCtxPopCurrent_v2(void **context) { *context = NULL; return --fake.pushed < 0 ? INVALID_CONTEXT : 0; }

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int is_allocated(uint64_t from, size_t bytes)
{
    for (int k = 0; k < MOST; k++)
        if (fake.bytes[k] && from >= fake.address[k] && from - fake.address[k] + bytes <= fake.bytes[k])
            return 1;
    return 0;
}

/* What a call about memory returns. */
static int within(uint64_t a, size_t bytes)
{
    return !fake.pushed ? INVALID_CONTEXT : is_allocated(a, bytes) ? 0 : INVALID_VALUE;
}

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    CALL(cuMemAlloc_v2);
    int k = 0;
    while (k < MOST && fake.bytes[k])
        k++;
    if (!bytes || !fake.pushed || k == MOST)
        return INVALID_VALUE;
    if (bytes > fake.memory - fake.used)
        return OUT_OF_MEMORY;
    fake.address[k] = (uint64_t)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
    fake.bytes[k] = bytes, fake.used += bytes, fake.allocations++;
    memset((void *)(uintptr_t)fake.address[k], 0xff, bytes);
    *address = fake.address[k];
    return 0;
}

EXPORT int cuMemFree_v2(uint64_t address)
{
    CALL(cuMemFree_v2);
    for (int k = 0; k < MOST; k++)
        if (fake.bytes[k] && fake.address[k] == address) {
            free((void *)(uintptr_t)address);
            fake.used -= fake.bytes[k], fake.bytes[k] = 0, fake.allocations--;
            return 0;
        }
    return INVALID_VALUE;
}

EXPORT int cuMemGetInfo_v2(size_t *available, size_t *total)
{
    CALL(cuMemGetInfo_v2);
    *available = fake.memory - fake.used, *total = fake.memory;
    return 0;
}

static uint64_t image_at(const module *m) { return (uint64_t)(uintptr_t)&m->image; }

EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    CALL(cuMemcpyHtoD_v2);
    const int result = within(to, bytes);
    if (!result)
        memcpy((void *)(uintptr_t)to, from, bytes);
    return result;
}

static uint64_t last_image;

EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    CALL(cuMemcpyDtoH_v2);
    const int result = from == last_image && bytes == sizeof(mpm_gpu_image) ? 0 : within(from, bytes);
    if (!result)
        memcpy(to, (const void *)(uintptr_t)from, bytes);
    return result;
}

EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    CALL(cuMemcpyDtoDAsync_v2);
    const int result = stream ? INVALID_VALUE : within(to, bytes) ? within(to, bytes) : within(from, bytes);
    if (!result)
        memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return result;
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream)
{
    CALL(cuMemsetD8Async);
    const int result = stream ? INVALID_VALUE : within(to, bytes);
    if (!result)
        memset((void *)(uintptr_t)to, value, bytes);
    return result;
}

/* ---- modules ----------------------------------------------------------------------------------------------------- */

EXPORT int cuModuleLoadData(void **made, const void *image)
{
    CALL(cuModuleLoadData);
    const char *text = image;
    module *m = calloc(1, sizeof *m);
    mpm_gpu_image *it = &m->image;
    int found = sscanf(text, "numbers %u %u %u %u %u %u %u %u", &it->real_size, &it->dim, &it->law_bytes,
                       &it->sweep_threads, &it->sweep_bytes, &it->collides, &it->transfer, &it->pushes) == 8;
    if (!strncmp(text, "emulated ", 9)) {
        void *library = dlopen(text + 9, RTLD_NOW | RTLD_LOCAL);
        mpm_gpu_driver *(*new)(int, size_t, long long) = NULL;
        if (library)
            *(void **)&new = dlsym(library, "emulated_new");
        if ((found = new != NULL)) {
            m->emulated = new(0, SIZE_MAX, -1);
            m->image = m->emulated->image;
        }
    }
    if (!found || !fake.pushed) {
        free(m);
        return found ? INVALID_CONTEXT : INVALID_IMAGE;
    }
    fake.modules++;
    *made = m;
    return 0;
}

EXPORT int cuModuleUnload(void *unloaded)
{
    module *m = unloaded;
    for (function **f = &fake.functions; *f;)
        if ((*f)->module == m) {
            function *gone = *f;
            *f = gone->next;
            free(gone);
        } else
            f = &(*f)->next;
    if (m->emulated)
        m->emulated->free(m->emulated);
    free(m);
    fake.modules--;
    return 0;
}

EXPORT int cuModuleGetFunction(void **found, void *from, const char *name)
{
    static const char *const names[] = {
#define NAME(enumerator, name) #name,
        MPM_GPU_KERNELS(NAME)
#undef NAME
    };
    CALL(cuModuleGetFunction);
    for (int k = 0; k < MPM_GPU_KERNEL_COUNT; k++)
        if (!strcmp(names[k], name)) {
            function *f = malloc(sizeof *f);
            *f = (function){(mpm_gpu_kernel)k, 48 * 1024, from, fake.functions};
            *found = fake.functions = f;
            return 0;
        }
    return NOT_FOUND;
}

EXPORT int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, void *from, const char *name)
{
    CALL(cuModuleGetGlobal_v2);
    *address = last_image = image_at(from), *bytes = sizeof(mpm_gpu_image);
    return strcmp(name, "gpu_image") ? NOT_FOUND : 0;
}

EXPORT int cuFuncSetAttribute(void *set, int attribute, int value)
{
    CALL(cuFuncSetAttribute);
    if (attribute != 8 || value > fake.shared)
        return INVALID_VALUE;
    ((function *)set)->allowed = value;
    return 0;
}

EXPORT int cuLaunchKernel(void *launched, unsigned ctas_x, unsigned ctas_y, unsigned ctas_z, unsigned threads_x,
                          unsigned threads_y, unsigned threads_z, unsigned bytes, void *stream, void **arguments,
                          void **extra)
{
    function *f = launched;
    CALL(cuLaunchKernel);
    if (!ctas_x || ctas_y != 1 || ctas_z != 1 || !threads_x || threads_x > 1024 || threads_y != 1 || threads_z != 1 ||
        stream || extra || (int)bytes > f->allowed)
        return INVALID_VALUE;
    if (!fake.pushed)
        return INVALID_CONTEXT;
    const size_t length = strlen(fake.log);
    if (!f->module->emulated)
        snprintf(fake.log + length, sizeof fake.log - length, "%d %u %u %u\n", (int)f->kernel, ctas_x, threads_x,
                 bytes);
    else
        return f->module->emulated->launch(f->module->emulated, f->kernel, (mpm_gpu_shape){ctas_x, threads_x, bytes},
                                           arguments)
                   ? 719
                   : 0;
    return 0;
}

EXPORT int cuStreamSynchronize(void *stream) { CALL(cuStreamSynchronize); return stream ? INVALID_VALUE : 0; }
