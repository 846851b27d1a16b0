/* SPDX-License-Identifier: MIT
 *
 * A library to be preloaded (LD_PRELOAD) into a process that tests how mpm bears faults: tests/faults.py builds and
 * commands it. The chosen call of the core for memory, of the core for a thread, or of anybody for a change of a file
 * below the watched folder fails, or a signal arrives there. Commands come from one thread.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(&name))real(#name))

enum kind { MEMORY, THREADS, FILES, KINDS };
enum { MOST_FILES = 1024, SLOTS = 1 << 16, NAME = 32 };

/* What fails: calls number `first` to `last` of the kind, with `error`; or a signal arrives, and they do not fail. */
static struct {
    int kind, error, signal;
    long first, last;
} order;
static atomic_long counts[KINDS], failed;
static char folder[4096], last_call[NAME];
static atomic_bool watched[MOST_FILES]; /* descriptors of files below the folder */
static _Atomic(void *) held[SLOTS];     /* memory that the core holds: a table with open addressing */
static atomic_long live;
static void *const EMPTY = NULL, *const GONE = (void *)1;

static void *real(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function)
        abort();
    return function;
}

/* --- commands */

PUBLIC void faults_watch(const char *path)
{
    snprintf(folder, sizeof folder, "%s", path);
}

PUBLIC void faults_arm(int kind, long first, long last, int error, int number)
{
    order.kind = -1;
    for (int k = 0; k < KINDS; k++)
        counts[k] = 0;
    failed = 0;
    last_call[0] = 0;
    order.first = first;
    order.last = last;
    order.error = error;
    order.signal = number;
    order.kind = kind;
}

PUBLIC void faults_disarm(void)
{
    order.kind = -1;
}

PUBLIC long faults_count(int kind)
{
    return counts[kind];
}

PUBLIC long faults_failed(void)
{
    return failed;
}

PUBLIC const char *faults_last_call(void)
{
    return last_call;
}

PUBLIC long faults_live(void)
{
    return live;
}

PUBLIC long faults_open(void)
{
    long count = 0;
    for (int k = 0; k < MOST_FILES; k++)
        count += watched[k];
    return count;
}

/* --- the faults */

/* The error with which this call is to fail, 0 if it is not. */
static int fault(enum kind kind, const char *name)
{
    if (order.kind != (int)kind)
        return 0;
    const long number = ++counts[kind];
    if (number < order.first || number > order.last)
        return 0;
    failed++;
    snprintf(last_call, sizeof last_call, "%s", name);
    if (order.signal)
        kill(getpid(), order.signal);
    return order.error;
}

static bool is_core(const void *address)
{
    Dl_info info;
    const char *name = dladdr(address, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    return name && !strncmp(name, "/_core.", 7);
}

static size_t slot_of(const void *memory)
{
    return (size_t)(((uintptr_t)memory >> 6) * 0x9E3779B97F4A7C15u >> 48) % SLOTS;
}

PUBLIC void *aligned_alloc(size_t alignment, size_t size)
{
    static void *(*next)(size_t, size_t);
    next = next ? next : REAL(aligned_alloc);
    if (!is_core(__builtin_return_address(0)))
        return next(alignment, size);
    if (fault(MEMORY, "aligned_alloc"))
        return NULL;
    void *memory = next(alignment, size);
    if (!memory)
        return NULL;
    memset(memory, 0xa5, size < 4096 ? size : 4096); /* so that zeroing is seen */
    for (size_t k = slot_of(memory), n = 0; n < SLOTS; k = (k + 1) % SLOTS, n++) {
        void *expected = EMPTY, *gone = GONE;
        if (atomic_compare_exchange_strong(&held[k], &expected, memory) ||
            atomic_compare_exchange_strong(&held[k], &gone, memory)) {
            live++;
            return memory;
        }
    }
    abort(); /* the table is full */
}

PUBLIC void free(void *memory)
{
    static void (*next)(void *);
    next = next ? next : REAL(free);
    if (memory && live)
        for (size_t k = slot_of(memory), n = 0; n < SLOTS && held[k] != EMPTY; k = (k + 1) % SLOTS, n++) {
            void *expected = memory;
            if (atomic_compare_exchange_strong(&held[k], &expected, GONE)) {
                live--;
                break;
            }
        }
    next(memory);
}

PUBLIC int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *argument)
{
    const int error = is_core(__builtin_return_address(0)) ? fault(THREADS, "pthread_create") : 0;
    return error ? error : REAL(pthread_create)(thread, attributes, work, argument);
}

/* --- files */

static bool is_below(const char *path)
{
    const size_t length = strlen(folder);
    return length && path && !strncmp(path, folder, length);
}

static bool is_watched(int file)
{
    return file >= 0 && file < MOST_FILES && watched[file];
}

static int fails(const char *name)
{
    const int error = fault(FILES, name);
    if (error)
        errno = error;
    return error;
}

static int opened(int file, const char *path)
{
    if (file >= 0 && file < MOST_FILES && is_below(path))
        watched[file] = true;
    return file;
}

#define CHANGES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)
#define OPEN(name)                                                                                                     \
    PUBLIC int name(const char *path, int flags, ...)                                                                  \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;                                  \
        va_end(list);                                                                                                  \
        if (is_below(path) && flags & CHANGES && fails("open"))                                                        \
            return -1;                                                                                                 \
        return opened(REAL(name)(path, flags, mode), path);                                                            \
    }
OPEN(open)
OPEN(open64)

PUBLIC int close(int file)
{
    if (is_watched(file))
        watched[file] = false;
    return REAL(close)(file);
}

/* A full disk takes the first half of a write, and nothing after it. HDF5 alone uses pwrite: it does not survive an
 * error there, and may crash. So mpm has the system reserve the bytes before, and that call fails here instead. */
#define WRITE(name, half, arguments, ...)                                                                              \
    PUBLIC ssize_t name(__VA_ARGS__)                                                                                   \
    {                                                                                                                  \
        if (!is_watched(file) || !fails(#name))                                                                        \
            return REAL(name) arguments;                                                                               \
        if (errno == ENOSPC && failed == 1 && (half) && order.last > order.first) {                                    \
            bytes /= 2;                                                                                                \
            return REAL(name) arguments;                                                                               \
        }                                                                                                              \
        return -1;                                                                                                     \
    }
WRITE(write, bytes > 1, (file, data, bytes), int file, const void *data, size_t bytes)
WRITE(writev, bytes && 0, (file, data, bytes), int file, const struct iovec *data, int bytes)

#define ON_FILE(name, arguments, ...)                                                                                  \
    PUBLIC int name(__VA_ARGS__)                                                                                       \
    {                                                                                                                  \
        return is_watched(file) && fails(#name) ? -1 : REAL(name) arguments;                                           \
    }
ON_FILE(fsync, (file), int file)
ON_FILE(fdatasync, (file), int file)
ON_FILE(fchmod, (file, mode), int file, mode_t mode)
ON_FILE(ftruncate, (file, length), int file, off_t length)
ON_FILE(ftruncate64, (file, length), int file, off64_t length)

/* These return the error. */
PUBLIC int posix_fallocate(int file, off_t place, off_t length)
{
    const int error = is_watched(file) ? fails("posix_fallocate") : 0;
    return error ? error : REAL(posix_fallocate)(file, place, length);
}
PUBLIC int posix_fallocate64(int file, off64_t place, off64_t length)
{
    const int error = is_watched(file) ? fails("posix_fallocate64") : 0;
    return error ? error : REAL(posix_fallocate64)(file, place, length);
}

#define ON_PATH(name, arguments, ...)                                                                                  \
    PUBLIC int name(__VA_ARGS__)                                                                                       \
    {                                                                                                                  \
        return is_below(path) && fails(#name) ? -1 : REAL(name) arguments;                                             \
    }
ON_PATH(rename, (path, other), const char *path, const char *other)
ON_PATH(chmod, (path, mode), const char *path, mode_t mode)
ON_PATH(mkdir, (path, mode), const char *path, mode_t mode)
ON_PATH(truncate, (path, length), const char *path, off_t length)
ON_PATH(truncate64, (path, length), const char *path, off64_t length)
