/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A driver for the tests of recording, as libcuda.so.1. It hands out addresses, the last freed one first, and refuses
 * what exceeds FAKE_CUDA_BYTES. It has nothing else of CUDA.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
#define ENTRY(name, ...)             \
    API int name(__VA_ARGS__);       \
    API int name(__VA_ARGS__)

enum { DONE = 0, INVALID = 1, OUT_OF_MEMORY = 2, NOT_FOUND = 500, BLOCKS_MAX = 1 << 18, PITCH = 512 };

struct fake_block {
    uint64_t addr, bytes;
    int      device;
    bool     is_live;
};

static struct {
    pthread_mutex_t lock;
    uint64_t used, next;
    struct fake_block blocks[BLOCKS_MAX];                /* in order of their first use */
    size_t n;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .next = UINT64_C(0x7f0000000000)};

static __thread int device;

/* Other threads of the forking program may be in the middle of a call. */
static void fake_lock(void) { pthread_mutex_lock(&fake.lock); }
static void fake_unlock(void) { pthread_mutex_unlock(&fake.lock); }
__attribute__((constructor)) static void fake_begin(void) { pthread_atfork(fake_lock, fake_unlock, fake_unlock); }

static uint64_t fake_total(void)
{
    const char *text = getenv("FAKE_CUDA_BYTES");
    return text == NULL ? UINT64_C(1) << 40 : strtoull(text, NULL, 10);
}

/* Takes the last freed block of the same size, or else a new one. */
static uint64_t fake_place(uint64_t bytes)
{
    for (size_t i = fake.n; i-- > 0 && i + 64 > fake.n;)
        if (!fake.blocks[i].is_live && fake.blocks[i].bytes == bytes) {
            fake.blocks[i].is_live = true;
            fake.blocks[i].device = device;
            return fake.blocks[i].addr;
        }
    if (fake.n == BLOCKS_MAX)
        return 0;
    fake.blocks[fake.n++] = (struct fake_block){.addr = fake.next, .bytes = bytes, .device = device, .is_live = true};
    fake.next += (bytes + 511) / 512 * 512;
    return fake.blocks[fake.n - 1].addr;
}

static int fake_alloc(uint64_t *out, uint64_t bytes)
{
    int code = OUT_OF_MEMORY;
    if (bytes == 0)
        return INVALID;
    pthread_mutex_lock(&fake.lock);
    const uint64_t addr = bytes <= fake_total() - fake.used ? fake_place(bytes) : 0;
    if (addr != 0) {
        fake.used += bytes;
        *out = addr;
        code = DONE;
    }
    pthread_mutex_unlock(&fake.lock);
    return code;
}

static int fake_free(uint64_t addr)
{
    int code = INVALID;
    pthread_mutex_lock(&fake.lock);
    for (size_t i = fake.n; code != DONE && i-- > 0;)
        if (fake.blocks[i].is_live && fake.blocks[i].addr == addr) {
            fake.blocks[i].is_live = false;
            fake.used -= fake.blocks[i].bytes;
            code = DONE;
        }
    pthread_mutex_unlock(&fake.lock);
    return code;
}

ENTRY(cuCtxGetDevice, int *out) { *out = device; return DONE; }
ENTRY(cuCtxSetCurrent, uintptr_t context) { device = (int)context; return DONE; }
ENTRY(cuCtxCreate_v2, uintptr_t *context, unsigned flags, int on)
{
    (void)flags;
    *context = 1;
    device = on;
    return DONE;
}
ENTRY(cuMemGetInfo_v2, size_t *left, size_t *total)
{
    *total = fake_total();
    *left = *total - fake.used;
    return DONE;
}

ENTRY(cuMemAlloc_v2, uint64_t *out, size_t bytes) { return fake_alloc(out, bytes); }
ENTRY(cuMemFree_v2, uint64_t addr) { return fake_free(addr); }
ENTRY(cuMemAllocAsync, uint64_t *out, size_t bytes, uintptr_t stream) { (void)stream; return fake_alloc(out, bytes); }
ENTRY(cuMemFreeAsync, uint64_t addr, uintptr_t stream) { (void)stream; return fake_free(addr); }
ENTRY(cuMemAllocAsync_ptsz, uint64_t *out, size_t bytes, uintptr_t stream)
{
    return cuMemAllocAsync(out, bytes, stream);
}
ENTRY(cuMemFreeAsync_ptsz, uint64_t addr, uintptr_t stream) { return cuMemFreeAsync(addr, stream); }
ENTRY(cuMemAllocManaged, uint64_t *out, size_t bytes, unsigned flags)
{
    (void)flags;
    if (getenv("FAKE_CUDA_SLOW_US") != NULL)
        usleep((useconds_t)strtoul(getenv("FAKE_CUDA_SLOW_US"), NULL, 10));
    return fake_alloc(out, bytes);
}
ENTRY(cuMemHostAlloc, uint64_t *out, size_t bytes, unsigned flags) { (void)flags; return fake_alloc(out, bytes); }
ENTRY(cuMemFreeHost, uint64_t addr) { return fake_free(addr); }
ENTRY(cuMemAllocPitch_v2, uint64_t *out, size_t *pitch, size_t width, size_t height, unsigned element)
{
    (void)element;
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    return fake_alloc(out, *pitch * height);
}
ENTRY(cuMemCreate, uint64_t *handle, size_t bytes, const void *prop, unsigned long long flags)
{
    (void)prop, (void)flags;
    return fake_alloc(handle, bytes);
}
ENTRY(cuMemRelease, uint64_t handle) { return fake_free(handle); }
ENTRY(cuMemMap, uint64_t addr, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags)
{
    (void)addr, (void)bytes, (void)offset, (void)handle, (void)flags;
    return DONE;
}
ENTRY(cuArrayCreate_v2, uint64_t *out, const size_t *size)     /* width, height; the element's type does not matter */
{
    return fake_alloc(out, 4 * size[0] * (size[1] == 0 ? 1 : size[1]));
}
ENTRY(cuArrayDestroy, uint64_t handle) { return fake_free(handle); }
ENTRY(cuDevicePrimaryCtxReset_v2, int ordinal)
{
    if (ordinal < 0 || ordinal > 1)
        return INVALID;
    pthread_mutex_lock(&fake.lock);
    for (size_t i = 0; i < fake.n; i++)
        if (fake.blocks[i].is_live && fake.blocks[i].device == ordinal) {
            fake.blocks[i].is_live = false;
            fake.used -= fake.blocks[i].bytes;
        }
    pthread_mutex_unlock(&fake.lock);
    return DONE;
}
ENTRY(cuMemUnmap, uint64_t addr, size_t bytes) { (void)addr, (void)bytes; return DONE; }

/* By name, as the runtime asks. */
ENTRY(cuGetProcAddress_v2, const char *name, void **out, int version, uint64_t flags, int *status)
{
    static const struct { const char *name; int (*function)(uint64_t *, size_t); } plain[] = {
        {"cuMemAlloc", cuMemAlloc_v2}};
    static const struct { const char *name; int (*function)(uint64_t); } frees[] = {
        {"cuMemFree", cuMemFree_v2}, {"cuMemFreeHost", cuMemFreeHost}};
    static const struct { const char *name; int (*function)(uint64_t *, size_t, uintptr_t); } async[] = {
        {"cuMemAllocAsync", cuMemAllocAsync}};
    static const struct { const char *name; int (*function)(uint64_t, uintptr_t); } async_frees[] = {
        {"cuMemFreeAsync", cuMemFreeAsync}};
    static const struct { const char *name; int (*function)(uint64_t *, size_t, unsigned); } flagged[] = {
        {"cuMemHostAlloc", cuMemHostAlloc}};
    (void)version, (void)flags, (void)status;
#define LOOK_IN(table)                                                        \
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)               \
        if (strcmp(name, table[i].name) == 0) {                               \
            memcpy(out, &table[i].function, sizeof *out);                     \
            return DONE;                                                      \
        }
    LOOK_IN(plain)
    LOOK_IN(frees)
    LOOK_IN(async)
    LOOK_IN(async_frees)
    LOOK_IN(flagged)
    return NOT_FOUND;
}
