/* SPDX-License-Identifier: MIT */
#include "mpm/gpu/cuda_driver.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the driver API ---------------------------------------------------------------------------------------------- */

/* Handles are pointers, a device is a number, an address of its memory has 64 bits. Names are those of the library. */
#define FUNCTIONS(X) \
    X(cuInit, (unsigned flags)) \
    X(cuDriverGetVersion, (int *version)) \
    X(cuGetErrorName, (int result, const char **name)) \
    X(cuGetErrorString, (int result, const char **words)) \
    X(cuDeviceGetCount, (int *count)) \
    X(cuDeviceGet, (int *device, int ordinal)) \
    X(cuDeviceGetName, (char *name, int bytes, int device)) \
    X(cuDeviceGetAttribute, (int *value, int attribute, int device)) \
    X(cuDeviceTotalMem_v2, (size_t *bytes, int device)) \
    X(cuDevicePrimaryCtxGetState, (int device, unsigned *flags, int *active)) \
    X(cuDevicePrimaryCtxRetain, (void **context, int device)) \
    X(cuDevicePrimaryCtxRelease_v2, (int device)) \
    X(cuCtxPushCurrent_v2, (void *context)) \
    X(cuCtxPopCurrent_v2, (void **context)) \
    X(cuModuleLoadData, (void **module, const void *image)) \
    X(cuModuleUnload, (void *module)) \
    X(cuModuleGetFunction, (void **function, void *module, const char *name)) \
    X(cuModuleGetGlobal_v2, (uint64_t *address, size_t *bytes, void *module, const char *name)) \
    X(cuFuncSetAttribute, (void *function, int attribute, int value)) \
    X(cuLaunchKernel, (void *function, unsigned ctas_x, unsigned ctas_y, unsigned ctas_z, unsigned threads_x, \
                       unsigned threads_y, unsigned threads_z, unsigned bytes, void *stream, void **arguments, \
                       void **extra)) \
    X(cuStreamSynchronize, (void *stream)) \
    X(cuMemAlloc_v2, (uint64_t *address, size_t bytes)) \
    X(cuMemFree_v2, (uint64_t address)) \
    X(cuMemGetInfo_v2, (size_t *available, size_t *total)) \
    X(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes)) \
    X(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes)) \
    X(cuMemcpyDtoDAsync_v2, (uint64_t to, uint64_t from, size_t bytes, void *stream)) \
    X(cuMemsetD8Async, (uint64_t to, unsigned char value, size_t bytes, void *stream))

typedef struct cuda {
    void *library;
#define MEMBER(name, parameters) int (*name) parameters;
    FUNCTIONS(MEMBER)
#undef MEMBER
} cuda;

/* Numbers of cuda.h, which no version has changed. */
enum {
    NO_ERROR = 0,
    ERROR_OUT_OF_MEMORY = 2,
    ERROR_NOT_INITIALIZED = 3,
    ERROR_NO_DEVICE = 100,
    ERROR_NO_BINARY_FOR_GPU = 209,
    MAX_DYNAMIC_SHARED_SIZE = 8, /* of a function */
    CAPABILITY_MAJOR = 75,       /* of a device */
    CAPABILITY_MINOR = 76,
    MAX_SHARED_PER_BLOCK_OPTIN = 97
};

#define SAY(...) ((void)snprintf(words, MPM_CUDA_WORDS, __VA_ARGS__))

/* What a function of the driver returned, with the driver's own name and words. */
static mpm_status failed(const cuda *api, int result, const char *what, char *words)
{
    const char *name = NULL, *text = NULL;
    if (result == NO_ERROR)
        return MPM_OK;
    if (api->cuGetErrorName(result, &name) || !name)
        name = "unknown error";
    if (api->cuGetErrorString(result, &text) || !text)
        text = "the driver has no words for it";
    SAY("%s: %s (%d), %s", what, name, result, text);
    return result == ERROR_OUT_OF_MEMORY ? MPM_OUT_OF_MEMORY : MPM_DEVICE_FAILED;
}

static void close_library(cuda *api)
{
    if (api->library)
        (void)dlclose(api->library);
    api->library = NULL;
}

/* Loads what the library exports. The library stays in the process, since it may have started threads. */
static mpm_status find_functions(cuda *api, const char *library, char *words)
{
    api->library = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!api->library) {
        const char *cause = dlerror();
        SAY("no driver: %s. Install NVIDIA's driver of the GPU; in a container, start it with the GPU (docker run "
            "--gpus all)", cause ? cause : library);
        return MPM_DEVICE_FAILED;
    }
#define FIND(name, parameters) \
    *(void **)&api->name = dlsym(api->library, #name); \
    if (!api->name) { \
        SAY("driver too old: %s lacks %s. Install a driver of CUDA %d.%d or newer", library, #name, \
            MPM_CUDA_LEAST_VERSION / 1000, MPM_CUDA_LEAST_VERSION % 1000 / 10); \
        return MPM_DEVICE_FAILED; \
    }
    FUNCTIONS(FIND)
#undef FIND
    return MPM_OK;
}

/* Starts the driver and counts the devices. */
static mpm_status start(cuda *api, const char *library, int *version, int *count, char *words)
{
    mpm_status status = find_functions(api, library, words);
    if (status)
        return status;
    *version = *count = 0;
    if ((status = failed(api, api->cuDriverGetVersion(version), "cuDriverGetVersion", words)))
        return status;
    if (*version < MPM_CUDA_LEAST_VERSION) {
        SAY("driver too old: it knows CUDA %d.%d. Install one of CUDA %d.%d or newer", *version / 1000,
            *version % 1000 / 10, MPM_CUDA_LEAST_VERSION / 1000, MPM_CUDA_LEAST_VERSION % 1000 / 10);
        return MPM_DEVICE_FAILED;
    }
    const int result = api->cuInit(0);
    if (result == ERROR_NOT_INITIALIZED) {
        SAY("the driver does not start in a forked process whose parent has used it: start processes by spawn "
            "(multiprocessing.get_context(\"spawn\"))");
        return MPM_DEVICE_FAILED;
    }
    status = result == ERROR_NO_DEVICE ? MPM_OK : failed(api, result, "cuInit", words);
    if (!status && result == NO_ERROR)
        status = failed(api, api->cuDeviceGetCount(count), "cuDeviceGetCount", words);
    if (!status && *count <= 0) {
        SAY("no device: the driver finds none that this process may use. nvidia-smi lists all; CUDA_VISIBLE_DEVICES "
            "hides some");
        status = MPM_DEVICE_FAILED;
    }
    return status;
}

static mpm_status describe(const cuda *api, int ordinal, int *device, mpm_cuda_device *found, char *words)
{
    int major = 0, minor = 0;
    mpm_status status = failed(api, api->cuDeviceGet(device, ordinal), "cuDeviceGet", words);
    if (!status)
        status = failed(api, api->cuDeviceGetName(found->name, MPM_CUDA_NAME, *device), "cuDeviceGetName", words);
    if (!status)
        status = failed(api, api->cuDeviceTotalMem_v2(&found->bytes, *device), "cuDeviceTotalMem", words);
    const int attributes[3] = {CAPABILITY_MAJOR, CAPABILITY_MINOR, MAX_SHARED_PER_BLOCK_OPTIN};
    int *const values[3] = {&major, &minor, &found->shared_bytes};
    for (int k = 0; k < 3 && !status; k++)
        status = failed(api, api->cuDeviceGetAttribute(values[k], attributes[k], *device), "cuDeviceGetAttribute",
                        words);
    found->name[MPM_CUDA_NAME - 1] = 0;
    found->capability = 10 * major + minor;
    return status;
}

mpm_status mpm_cuda_driver_list(const char *library, mpm_cuda_list *list, char words[MPM_CUDA_WORDS])
{
    cuda api = {0};
    mpm_status status = start(&api, library, &list->version, &list->count, words);
    if (list->count > MPM_CUDA_MOST_DEVICES)
        list->count = MPM_CUDA_MOST_DEVICES;
    for (int k = 0, device; k < list->count && !status; k++)
        status = describe(&api, k, &device, &list->device[k], words);
    close_library(&api);
    return status;
}

/* ---- a driver ---------------------------------------------------------------------------------------------------- */

typedef struct driver {
    mpm_gpu_driver table; /* the first member */
    mpm_allocator allocator;
    cuda api;
    int device, shared_bytes; /* that a CTA may have */
    pid_t process;
    void *context, *module;
    void *function[MPM_GPU_KERNEL_COUNT];
    int dynamic_bytes[MPM_GPU_KERNEL_COUNT]; /* of shared memory that launches of the function may ask for */
    uint64_t *memory;                        /* what is allocated */
    size_t count, room;
    char words[MPM_CUDA_WORDS];
} driver;

static const char *const kernel_names[] = {
#define NAME(enumerator, name) #name,
    MPM_GPU_KERNELS(NAME)
#undef NAME
};

/* Most drivers allow so much without being asked. */
enum { DYNAMIC_BYTES = 48 * 1024 };

/* Makes the context current for a call; `leave` brings back that of the caller. */
static mpm_status enter(driver *d)
{
    char *words = d->words;
    if (d->process != getpid()) {
        SAY("the simulation was made before this process was forked, and a GPU's state cannot be forked: build it in "
            "the child, started by spawn, or run it on the processor");
        return MPM_DEVICE_FAILED;
    }
    return failed(&d->api, d->api.cuCtxPushCurrent_v2(d->context), "cuCtxPushCurrent", words);
}

static mpm_status leave(driver *d, int result, const char *what)
{
    void *left;
    (void)d->api.cuCtxPopCurrent_v2(&left);
    return failed(&d->api, result, what, d->words);
}

static mpm_status device_allocate(mpm_gpu_driver *table, void **memory, size_t bytes)
{
    driver *d = (driver *)table;
    char *words = d->words;
    uint64_t address = 0;
    *memory = NULL;
    mpm_status status = enter(d);
    if (status)
        return status;
    if (mpm_memory_grow(&d->allocator, (void **)&d->memory, &d->room, d->count, d->count + 1, sizeof *d->memory)) {
        SAY("the host has no memory left");
        (void)leave(d, NO_ERROR, "");
        return MPM_OUT_OF_MEMORY;
    }
    const int result = d->api.cuMemAlloc_v2(&address, bytes);
    size_t available = 0, total = 0;
    if (result == ERROR_OUT_OF_MEMORY && d->api.cuMemGetInfo_v2(&available, &total) == NO_ERROR) {
        (void)leave(d, NO_ERROR, "");
        SAY("the GPU's memory is full: an array of %.6g MB was wanted, %.6g of %.6g MB are free", 1e-6 * (double)bytes,
            1e-6 * (double)available, 1e-6 * (double)total);
        return MPM_OUT_OF_MEMORY;
    }
    if ((status = leave(d, result, "cuMemAlloc")))
        return status;
    d->memory[d->count++] = address;
    *memory = (void *)(uintptr_t)address;
    return MPM_OK;
}

static void device_release(mpm_gpu_driver *table, void *memory)
{
    driver *d = (driver *)table;
    const uint64_t address = (uint64_t)(uintptr_t)memory;
    size_t k = 0;
    while (k < d->count && d->memory[k] != address)
        k++;
    if (k == d->count || d->process != getpid())
        return;
    char before[MPM_CUDA_WORDS]; /* those of a failure stay */
    memcpy(before, d->words, sizeof before);
    if (!enter(d)) {
        d->memory[k] = d->memory[--d->count];
        (void)leave(d, d->api.cuMemFree_v2(address), "cuMemFree");
    }
    memcpy(d->words, before, sizeof before);
}

static mpm_status device_write(mpm_gpu_driver *table, void *to, const void *from, size_t bytes)
{
    driver *d = (driver *)table;
    const mpm_status status = enter(d);
    return status ? status : leave(d, d->api.cuMemcpyHtoD_v2((uint64_t)(uintptr_t)to, from, bytes), "cuMemcpyHtoD");
}

static mpm_status device_read(mpm_gpu_driver *table, void *to, const void *from, size_t bytes)
{
    driver *d = (driver *)table;
    const mpm_status status = enter(d);
    return status ? status : leave(d, d->api.cuMemcpyDtoH_v2(to, (uint64_t)(uintptr_t)from, bytes), "cuMemcpyDtoH");
}

static mpm_status device_copy(mpm_gpu_driver *table, void *to, const void *from, size_t bytes)
{
    driver *d = (driver *)table;
    const uint64_t a = (uint64_t)(uintptr_t)to, b = (uint64_t)(uintptr_t)from;
    const mpm_status status = enter(d);
    return status ? status : leave(d, d->api.cuMemcpyDtoDAsync_v2(a, b, bytes, NULL), "cuMemcpyDtoDAsync");
}

static mpm_status device_fill(mpm_gpu_driver *table, void *to, int byte, size_t bytes)
{
    driver *d = (driver *)table;
    const uint64_t a = (uint64_t)(uintptr_t)to;
    const mpm_status status = enter(d);
    return status ? status : leave(d, d->api.cuMemsetD8Async(a, (unsigned char)byte, bytes, NULL), "cuMemsetD8Async");
}

static mpm_status device_launch(mpm_gpu_driver *table, mpm_gpu_kernel kernel, mpm_gpu_shape shape, void **arguments)
{
    driver *d = (driver *)table;
    char what[64];
    if (!shape.ctas)
        return MPM_OK;
    const mpm_status status = enter(d);
    if (status)
        return status;
    (void)snprintf(what, sizeof what, "cuLaunchKernel of %s", kernel_names[kernel]);
    int result = NO_ERROR;
    if (shape.bytes > (size_t)d->dynamic_bytes[kernel]) {
        result = d->api.cuFuncSetAttribute(d->function[kernel], MAX_DYNAMIC_SHARED_SIZE, (int)shape.bytes);
        d->dynamic_bytes[kernel] = (int)shape.bytes;
    }
    if (result == NO_ERROR)
        result = d->api.cuLaunchKernel(d->function[kernel], shape.ctas, 1, 1, shape.threads, 1, 1,
                                       (unsigned)shape.bytes, NULL, arguments, NULL);
    return leave(d, result, what);
}

static mpm_status device_wait(mpm_gpu_driver *table)
{
    driver *d = (driver *)table;
    const mpm_status status = enter(d);
    return status ? status : leave(d, d->api.cuStreamSynchronize(NULL), "cuStreamSynchronize");
}

static const char *device_words(const mpm_gpu_driver *table)
{
    return ((const driver *)table)->words;
}

static void device_free(mpm_gpu_driver *table)
{
    driver *d = (driver *)table;
    const mpm_allocator allocator = d->allocator;
    if (d->context && d->process == getpid()) {
        if (!enter(d)) {
            while (d->count)
                (void)d->api.cuMemFree_v2(d->memory[--d->count]);
            if (d->module)
                (void)d->api.cuModuleUnload(d->module);
            (void)leave(d, NO_ERROR, "");
        }
        (void)d->api.cuDevicePrimaryCtxRelease_v2(d->device);
    }
    close_library(&d->api);
    mpm_memory_free(&allocator, d->memory);
    mpm_memory_free(&allocator, d);
}

/* ---- a new one --------------------------------------------------------------------------------------------------- */

static mpm_status check_device(driver *d, int ordinal, int count, char *words)
{
    mpm_cuda_device found = {.name = ""};
    if (ordinal < 0 || ordinal >= count) {
        SAY("no device %d: the driver has %d, counted from 0", ordinal, count);
        return MPM_BAD_ARGUMENT;
    }
    const mpm_status status = describe(&d->api, ordinal, &d->device, &found, words);
    d->shared_bytes = found.shared_bytes;
    if (!status && found.capability < MPM_CUDA_LEAST_CAPABILITY) {
        SAY("device %d, %s, has compute capability %d.%d: it must be %d.%d or higher", ordinal, found.name,
            found.capability / 10, found.capability % 10, MPM_CUDA_LEAST_CAPABILITY / 10,
            MPM_CUDA_LEAST_CAPABILITY % 10);
        return MPM_DEVICE_FAILED;
    }
    return status;
}

/* Retains the primary context, and once more if it is the first time, so that it outlives the last driver. */
static mpm_status open_context(driver *d, char *words)
{
    unsigned flags;
    int active = 0;
    void *kept;
    mpm_status status = failed(&d->api, d->api.cuDevicePrimaryCtxGetState(d->device, &flags, &active),
                               "cuDevicePrimaryCtxGetState", words);
    if (!status)
        status = failed(&d->api, d->api.cuDevicePrimaryCtxRetain(&d->context, d->device), "cuDevicePrimaryCtxRetain",
                        words);
    if (status)
        d->context = NULL;
    else if (!active)
        (void)d->api.cuDevicePrimaryCtxRetain(&kept, d->device);
    return status;
}

static mpm_status load_image(driver *d, const void *image, char *words)
{
    const cuda *api = &d->api;
    int result = api->cuModuleLoadData(&d->module, image);
    if (result) {
        d->module = NULL;
        return failed(api, result, result == ERROR_NO_BINARY_FOR_GPU
                                       ? "cuModuleLoadData, of kernels for another GPU or a newer driver"
                                       : "cuModuleLoadData", words);
    }
    for (int k = 0; k < MPM_GPU_KERNEL_COUNT; k++) {
        if ((result = api->cuModuleGetFunction(&d->function[k], d->module, kernel_names[k]))) {
            char what[64];
            (void)snprintf(what, sizeof what, "cuModuleGetFunction of %s", kernel_names[k]);
            return failed(api, result, what, words);
        }
        d->dynamic_bytes[k] = DYNAMIC_BYTES;
    }
    uint64_t address = 0;
    size_t bytes = 0;
    result = api->cuModuleGetGlobal_v2(&address, &bytes, d->module, "gpu_image");
    if (!result && bytes != sizeof d->table.image) {
        SAY("the image describes itself in %zu bytes instead of %zu", bytes, sizeof d->table.image);
        return MPM_DEVICE_FAILED;
    }
    if (!result)
        result = api->cuMemcpyDtoH_v2(&d->table.image, address, bytes);
    const mpm_status status = failed(api, result, "the image's description of itself", words);
    if (!status && d->table.image.sweep_bytes > (unsigned)d->shared_bytes) {
        SAY("the kernels need %u bytes of shared memory per block, and this GPU has %d", d->table.image.sweep_bytes,
            d->shared_bytes);
        return MPM_TOO_LARGE;
    }
    return status;
}

mpm_status mpm_cuda_driver_new(mpm_gpu_driver **made, const mpm_allocator *allocator, const char *library,
                               int ordinal, const void *image, char words[MPM_CUDA_WORDS])
{
    int version, count;
    void *left;
    *made = NULL;
    driver *d = mpm_memory_new(allocator, 1, sizeof *d);
    if (!d) {
        SAY("the host has no memory left");
        return MPM_OUT_OF_MEMORY;
    }
    d->table = (mpm_gpu_driver){
        .allocate = device_allocate, .release = device_release, .write = device_write, .read = device_read,
        .copy = device_copy, .fill = device_fill, .launch = device_launch, .wait = device_wait,
        .words = device_words, .free = device_free, .device_kind = 2, .device_number = ordinal, /* kDLCUDA */
    };
    d->allocator = *allocator;
    d->process = getpid();
    mpm_status status = start(&d->api, library, &version, &count, words);
    if (!status)
        status = check_device(d, ordinal, count, words);
    if (!status)
        status = open_context(d, words);
    if (!status)
        status = failed(&d->api, d->api.cuCtxPushCurrent_v2(d->context), "cuCtxPushCurrent", words);
    if (!status) {
        status = load_image(d, image, words);
        (void)d->api.cuCtxPopCurrent_v2(&left);
    }
    if (status)
        device_free(&d->table);
    else
        *made = &d->table;
    return status;
}
