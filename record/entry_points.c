/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * libreplay-record.so: functions by NVIDIA's names that record a call and pass it on.
 *
 * An allocation is recorded after the call, when its address is known; a free is recorded before the call. If a free
 * were recorded after the call, another thread could get the address meanwhile, and its record would come first. A free
 * that then fails is taken back by an UNDO record.
 *
 * A runtime call that ends in a driver call is recorded once, as the runtime's: `thread.depth` counts the recorded
 * calls that this thread is in.
 *
 * The build does without CUDA's headers. Pointers and handles are words, results are ints, 0 is success and 2 is "out
 * of memory" in both libraries (CUDA Runtime API, cudaError; CUDA Driver API, CUresult).
 */
#define _GNU_SOURCE                   /* SYS_gettid */
#include "record/call_stacks.h"
#include "capture/array_bytes.h"
#include "capture/journal_file.h"
#include "record/real_calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    CODE_DONE = 0,
    CODE_OUT_OF_MEMORY = 2,
    CODE_NO_SUCH_FUNCTION = 302,      /* cudaErrorSharedObjectSymbolNotFound, and the driver's of that meaning */
    LOCATION_DEVICE = 1,              /* CU_MEM_LOCATION_TYPE_DEVICE */
    LOOKUP_PER_THREAD = 2,            /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, and the runtime's */
    DEVICE_UNKNOWN = -1,
};

static_assert((int)RECORDED_CALLS <= (int)CALL_NO_LINE, "call_record.call holds a call's number");

struct pitched {                      /* struct cudaPitchedPtr */
    void  *addr;
    size_t pitch, width, height;
};

struct extent {                       /* struct cudaExtent */
    size_t width, height, depth;
};

struct allocation_prop {              /* how CUmemAllocationProp begins */
    int type, handle_types, location, location_id;
};

struct channel_format {               /* struct cudaChannelFormatDesc */
    int x_bits, y_bits, z_bits, w_bits, kind;
};

struct array_2d {                     /* CUDA_ARRAY_DESCRIPTOR */
    size_t   width, height;
    unsigned format, n_channels;
};

struct array_3d {                     /* CUDA_ARRAY3D_DESCRIPTOR */
    size_t   width, height, depth;
    unsigned format, n_channels, flags;
};

static __thread struct {
    uint32_t owner;                   /* the journal that `number` was asked for in */
    uint32_t number;                  /* the kernel's */
    uint32_t depth;                   /* recorded calls that this thread is in: 1 in a program's own call */
    uintptr_t outer;                  /* the stack frame of the program's own call; calls within it lie below */
} thread __attribute__((tls_model("initial-exec")));

static bool is_with_stacks;

__attribute__((constructor)) static void record_begin(void)
{
    const char *folder = getenv("REPLAY_RECORD_DIR");
    const char *stacks = getenv("REPLAY_RECORD_STACKS");
    is_with_stacks = folder != NULL && stacks != NULL && stacks[0] == '1';
    journal_file_begin(folder, CALL_CARD_REAL, is_with_stacks, call_stacks_forked);
    if (is_with_stacks)
        call_stacks_begin();
    pthread_atfork(NULL, NULL, journal_file_forked);
}

/* ---- the members of a record ---- */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static uint32_t thread_number(void)
{
    if (thread.number == 0 || thread.owner != journal_file_owner()) {
        thread.number = (uint32_t)syscall(SYS_gettid);
        thread.owner = journal_file_owner();
    }
    return thread.number;
}

/* Total and free bytes of this thread's device; zeros if the driver does not say. */
static void device_memory(uint64_t *total, uint64_t *free_bytes)
{
    static call_function cache;
    int (*const memory_info)(size_t *, size_t *) =
        (int (*)(size_t *, size_t *))real_named(LIBRARY_DRIVER, "cuMemGetInfo_v2", &cache);
    size_t left = 0, all = 0;
    thread.depth++;
    const bool is_known = memory_info != NULL && memory_info(&left, &all) == CODE_DONE;
    thread.depth--;
    *total = is_known ? all : 0;
    *free_bytes = is_known ? left : 0;
}

/* The device of this thread, once a call has made its context current; 0 if the driver does not say. It is asked each
 * time: many calls make another context current. */
static unsigned thread_device(void)
{
    static call_function cache;
    int (*const device_of_context)(int *) = (int (*)(int *))real_named(LIBRARY_DRIVER, "cuCtxGetDevice", &cache);
    int device = 0;
    thread.depth++;
    const bool is_known = device_of_context != NULL && device_of_context(&device) == CODE_DONE;
    thread.depth--;
    return is_known && device >= 0 && device < UINT8_MAX ? (unsigned)device : 0;
}

/* The runtime's device of this thread, which may have no context yet. */
static unsigned runtime_device(void)
{
    static call_function cache;
    int (*const get_device)(int *) = (int (*)(int *))real_named(LIBRARY_RUNTIME, "cudaGetDevice", &cache);
    int device = -1;
    thread.depth++;
    const bool is_known = get_device != NULL && get_device(&device) == CODE_DONE && device >= 0;
    thread.depth--;
    return is_known ? (unsigned)device : thread_device();
}

static uint64_t record_put(struct call_record *r)
{
    r->time_ns = now_ns();
    r->thread = thread_number();
    return journal_file_put(r);
}

/* Puts an allocation or a refused one. `device`: DEVICE_UNKNOWN for this thread's. */
static void record_growth(struct call_record *r, int device, const void *caller)
{
    r->device = (uint8_t)(device == DEVICE_UNKNOWN ? thread_device() : (unsigned)device);
    if (journal_file_first_of(r->device)) {
        struct call_record first = {.kind = CALL_DEVICE, .device = r->device};
        device_memory(&first.bytes, &first.other);
        (void)record_put(&first);
    }
    if (is_with_stacks)
        r->stack = call_stack_put(caller);
    (void)record_put(r);
}

/* ---- arrays ---- */

static uint64_t array_bytes(uint64_t element_bytes, struct extent e, unsigned flags, unsigned n_levels)
{
    return array_memory_bytes(element_bytes, (const uint64_t[]){e.width, e.height, e.depth}, flags, n_levels);
}

static uint64_t format_bytes(const struct channel_format *f)
{
    return f == NULL ? 0 : ((uint64_t)(unsigned)f->x_bits + (unsigned)f->y_bits + (unsigned)f->z_bits +
                            (unsigned)f->w_bits) / 8;
}

static uint64_t element_bytes(unsigned format, unsigned n_channels)
{
    return (uint64_t)n_channels * array_channel_bytes(format);
}

static uint64_t bytes_of_2d(const struct array_2d *a)
{
    return a == NULL ? 0 : array_bytes(element_bytes(a->format, a->n_channels),
                                       (struct extent){.width = a->width, .height = a->height}, 0, 1);
}

static uint64_t bytes_of_3d(const struct array_3d *a, unsigned n_levels)
{
    return a == NULL ? 0 : array_bytes(element_bytes(a->format, a->n_channels),
                                       (struct extent){.width = a->width, .height = a->height, .depth = a->depth},
                                       a->flags, n_levels);
}

/* ---- before and after a call ---- */

struct pending_call {                 /* between our function's start and its end */
    uint8_t     call, space;
    bool        is_outer;             /* the program's own call, not one within a recorded call */
    const void *caller;
    uint64_t    number;               /* of the record that was put before the call; JOURNAL_FILE_LOST: none */
};

/* `frame`: of our function. A signal handler may jump out of a call, which then never ends: a call whose frame does not
 * lie below the program's own is the program's own, too. */
static struct pending_call call_begin(enum recorded_call call, enum call_space space, const void *caller,
                                      const void *frame)
{
    journal_file_notice_fork();
    if (thread.depth > 0 && (uintptr_t)frame >= thread.outer)
        thread.depth = 0;
    if (thread.depth == 0)
        thread.outer = (uintptr_t)frame;
    return (struct pending_call){.call = (uint8_t)call, .space = (uint8_t)space, .is_outer = thread.depth++ == 0,
                                 .caller = caller, .number = JOURNAL_FILE_LOST};
}

static int call_allocated(const struct pending_call *c, int code, const void *addr, uint64_t bytes, uintptr_t stream,
                          uint64_t pool)
{
    thread.depth--;
    if (!c->is_outer || bytes == 0 || (code == CODE_DONE && addr == NULL))
        return code;
    struct call_record r = {.kind = CALL_ALLOC, .call = c->call, .space = c->space, .bytes = bytes, .stream = stream,
                            .other = pool, .addr = (uint64_t)(uintptr_t)addr, .code = code};
    uint64_t total;
    if (code == CODE_OUT_OF_MEMORY) {
        r.kind = CALL_OOM;
        device_memory(&total, &r.addr);
    }
    if (code == CODE_DONE || code == CODE_OUT_OF_MEMORY)
        record_growth(&r, DEVICE_UNKNOWN, c->caller);
    return code;
}

/* Before a call that frees, releases or unmaps. */
static void call_frees(struct pending_call *c, enum call_kind kind, uint64_t addr, uint64_t bytes, uintptr_t stream,
                          uint64_t handle)
{
    struct call_record r = {.kind = (uint8_t)kind, .call = c->call, .space = c->space, .addr = addr, .bytes = bytes,
                            .stream = stream, .other = handle};
    if (c->is_outer && (addr | handle) != 0)
        c->number = record_put(&r);
}

static void call_resets(struct pending_call *c, unsigned device)
{
    struct call_record r = {.kind = CALL_RESET, .call = c->call, .space = c->space, .device = (uint8_t)device};
    if (c->is_outer && device <= UINT8_MAX)
        c->number = record_put(&r);
}

/* After it: takes the record back if the call failed. */
static int call_freed(const struct pending_call *c, int code)
{
    thread.depth--;
    struct call_record r = {.kind = CALL_UNDO, .call = c->call, .space = c->space, .other = c->number, .code = code};
    if (code != CODE_DONE && c->number != JOURNAL_FILE_LOST)
        (void)record_put(&r);
    return code;
}

static void call_done(const struct pending_call *c, enum call_kind kind, uint64_t addr, uint64_t bytes, uint64_t handle)
{
    struct call_record r = {.kind = (uint8_t)kind, .call = c->call, .space = c->space, .addr = addr, .bytes = bytes,
                            .other = handle};
    if (c->is_outer)
        (void)record_put(&r);
}

/* ---- the calls ---- */

/* Declares and defines our function of a call. REAL is the library's own, BEGIN what each of ours starts with. */
#define WRAPPER(name, parameters)                                                                       \
    RECORD_API int name parameters;                                                                     \
    RECORD_API int name parameters

#define REAL(name, parameters) ((int (*) parameters)real_call(CALL_##name))

#define BEGIN(name, space)                                                                              \
    if (real_call(CALL_##name) == NULL)                                                                 \
        return CODE_NO_SUCH_FUNCTION;                                                                   \
    struct pending_call c =                                                                             \
        call_begin(CALL_##name, CALL_SPACE_##space, __builtin_return_address(0), __builtin_frame_address(0))

#define WRAP_PLAIN(name, space, stream_0)                                                               \
    WRAPPER(name, (void **out, size_t bytes))                                                           \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        const int code = REAL(name, (void **, size_t))(out, bytes);                                     \
        return call_allocated(&c, code, code == CODE_DONE ? *out : NULL, bytes, stream_0, 0);           \
    }

#define WRAP_FLAGS(name, space, stream_0)                                                               \
    WRAPPER(name, (void **out, size_t bytes, unsigned flags))                                           \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        const int code = REAL(name, (void **, size_t, unsigned))(out, bytes, flags);                    \
        return call_allocated(&c, code, code == CODE_DONE ? *out : NULL, bytes, stream_0, 0);           \
    }

#define WRAP_ASYNC(name, space, stream_0)                                                               \
    WRAPPER(name, (void **out, size_t bytes, uintptr_t stream))                                         \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        const int code = REAL(name, (void **, size_t, uintptr_t))(out, bytes, stream);                  \
        return call_allocated(&c, code, code == CODE_DONE ? *out : NULL, bytes,                         \
                              stream == 0 ? stream_0 : stream, 0);                                      \
    }

#define WRAP_FROM_POOL(name, space, stream_0)                                                           \
    WRAPPER(name, (void **out, size_t bytes, uintptr_t pool, uintptr_t stream))                         \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        const int code = REAL(name, (void **, size_t, uintptr_t, uintptr_t))(out, bytes, pool, stream); \
        return call_allocated(&c, code, code == CODE_DONE ? *out : NULL, bytes,                         \
                              stream == 0 ? stream_0 : stream, pool);                                   \
    }

/* Rows of `width` bytes lie `*pitch` apart. A refused call has no pitch, so the width stands for it. */
#define WRAP_PITCH(name, space, stream_0)                                                               \
    WRAPPER(name, (void **out, size_t *pitch, size_t width, size_t height))                             \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        const int code = REAL(name, (void **, size_t *, size_t, size_t))(out, pitch, width, height);    \
        return call_allocated(&c, code, code == CODE_DONE ? *out : NULL,                                \
                              (code == CODE_DONE ? *pitch : width) * height, stream_0, 0);              \
    }

#define WRAP_PITCHED(name, space, stream_0)                                                             \
    WRAPPER(name, (void **out, size_t *pitch, size_t width, size_t height, unsigned element))           \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        const int code =                                                                                \
            REAL(name, (void **, size_t *, size_t, size_t, unsigned))(out, pitch, width, height, element); \
        return call_allocated(&c, code, code == CODE_DONE ? *out : NULL,                                \
                              (code == CODE_DONE ? *pitch : width) * height, stream_0, 0);              \
    }

#define WRAP_EXTENT(name, space, stream_0)                                                              \
    WRAPPER(name, (struct pitched *out, struct extent e))                                               \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        const int code = REAL(name, (struct pitched *, struct extent))(out, e);                         \
        return call_allocated(&c, code, code == CODE_DONE ? out->addr : NULL,                           \
                              (code == CODE_DONE ? out->pitch : e.width) * e.height * e.depth, stream_0, 0); \
    }

#define WRAP_FREE(name, space, stream_0)                                                                \
    WRAPPER(name, (uintptr_t addr))                                                                     \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        call_frees(&c, CALL_FREE, addr, 0, stream_0, 0);                                                \
        return call_freed(&c, REAL(name, (uintptr_t))(addr));                                           \
    }

#define WRAP_FREE_ASYNC(name, space, stream_0)                                                          \
    WRAPPER(name, (uintptr_t addr, uintptr_t stream))                                                   \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        call_frees(&c, CALL_FREE, addr, 0, stream == 0 ? stream_0 : stream, 0);                         \
        return call_freed(&c, REAL(name, (uintptr_t, uintptr_t))(addr, stream));                        \
    }

#define WRAP_CREATE(name, space, stream_0)                                                              \
    WRAPPER(name, (uint64_t *handle, size_t bytes, const struct allocation_prop *prop, unsigned long long flags)) \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        const int code = REAL(name, (uint64_t *, size_t, const struct allocation_prop *, unsigned long long))( \
            handle, bytes, prop, flags);                                                                \
        return call_created(&c, code, code == CODE_DONE ? *handle : 0, bytes, prop);                    \
    }

#define WRAP_RELEASE(name, space, stream_0)                                                             \
    WRAPPER(name, (uint64_t handle))                                                                    \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        call_frees(&c, CALL_RELEASE, 0, 0, stream_0, handle);                                           \
        return call_freed(&c, REAL(name, (uint64_t))(handle));                                          \
    }

#define WRAP_RETAIN(name, space, stream_0)                                                              \
    WRAPPER(name, (uint64_t *handle, uintptr_t addr))                                                   \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        const int code = REAL(name, (uint64_t *, uintptr_t))(handle, addr);                             \
        thread.depth--;                                                                                 \
        if (code == CODE_DONE)                                                                          \
            call_done(&c, CALL_RETAIN, addr, 0, *handle);                                               \
        return code;                                                                                    \
    }

#define WRAP_MAP(name, space, stream_0)                                                                 \
    WRAPPER(name, (uintptr_t addr, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags)) \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        const int code = REAL(name, (uintptr_t, size_t, size_t, uint64_t, unsigned long long))(         \
            addr, bytes, offset, handle, flags);                                                        \
        thread.depth--;                                                                                 \
        if (code == CODE_DONE)                                                                          \
            call_done(&c, CALL_MAP, addr, bytes, handle);                                               \
        return code;                                                                                    \
    }

#define WRAP_UNMAP(name, space, stream_0)                                                               \
    WRAPPER(name, (uintptr_t addr, size_t bytes))                                                       \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        call_frees(&c, CALL_UNMAP, addr, bytes, stream_0, 0);                                           \
        return call_freed(&c, REAL(name, (uintptr_t, size_t))(addr, bytes));                            \
    }

/* The bytes of an array are those of its elements; the driver may lay them out wider. */
#define WRAP_ARRAY_OF(name, space, stream_0, parameters, arguments, bytes)                              \
    WRAPPER(name, parameters)                                                                           \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        const int code = REAL(name, parameters) arguments;                                              \
        return call_allocated(&c, code, code == CODE_DONE ? *out : NULL, bytes, stream_0, 0);           \
    }

#define WRAP_ARRAY(name, space, stream_0)                                                               \
    WRAP_ARRAY_OF(name, space, stream_0,                                                                \
                  (void **out, const struct channel_format *f, size_t width, size_t height, unsigned flags), \
                  (out, f, width, height, flags),                                                       \
                  array_bytes(format_bytes(f), (struct extent){.width = width, .height = height}, flags, 1))

#define WRAP_ARRAY_3D(name, space, stream_0)                                                            \
    WRAP_ARRAY_OF(name, space, stream_0,                                                                \
                  (void **out, const struct channel_format *f, struct extent extent, unsigned flags),   \
                  (out, f, extent, flags), array_bytes(format_bytes(f), extent, flags, 1))

#define WRAP_MIPMAPS(name, space, stream_0)                                                             \
    WRAP_ARRAY_OF(name, space, stream_0,                                                                \
                  (void **out, const struct channel_format *f, struct extent extent, unsigned n, unsigned flags), \
                  (out, f, extent, n, flags), array_bytes(format_bytes(f), extent, flags, n))

#define WRAP_CREATE_2D(name, space, stream_0)                                                           \
    WRAP_ARRAY_OF(name, space, stream_0, (void **out, const struct array_2d *a), (out, a), bytes_of_2d(a))

#define WRAP_CREATE_3D(name, space, stream_0)                                                           \
    WRAP_ARRAY_OF(name, space, stream_0, (void **out, const struct array_3d *a), (out, a), bytes_of_3d(a, 1))

#define WRAP_CREATE_MIPMAPS(name, space, stream_0)                                                      \
    WRAP_ARRAY_OF(name, space, stream_0, (void **out, const struct array_3d *a, unsigned n_levels),     \
                  (out, a, n_levels), bytes_of_3d(a, n_levels))

/* Frees all memory of the thread's device, or of the device that is named, whoever allocated it. */
#define WRAP_RESET(name, space, stream_0)                                                               \
    WRAPPER(name, (void))                                                                               \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        call_resets(&c, runtime_device());                                                              \
        return call_freed(&c, REAL(name, (void))());                                                    \
    }

#define WRAP_RESET_CARD(name, space, stream_0)                                                          \
    WRAPPER(name, (int device))                                                                         \
    {                                                                                                   \
        BEGIN(name, space);                                                                             \
        call_resets(&c, (unsigned)device);                                                              \
        return call_freed(&c, REAL(name, (int))(device));                                               \
    }

/* Look-ups. Flags 0 mean the kind of default stream that the program was compiled for; our own suffix tells which. */
#define FOUND(code, name, flags, stream_0, found)                                                       \
    if ((code) == CODE_DONE)                                                                            \
        driver_lookup_wrap(name, ((flags) & 3) == LOOKUP_PER_THREAD || (((flags) & 3) == 0 && (stream_0) != 0), \
                           found);                                                                      \
    return code

#define WRAP_FIND_OLD(name, space, stream_0)                                                            \
    WRAPPER(name, (const char *symbol, void **found, int version, uint64_t flags))                      \
    {                                                                                                   \
        if (real_call(CALL_##name) == NULL)                                                             \
            return CODE_NO_SUCH_FUNCTION;                                                               \
        const int code = REAL(name, (const char *, void **, int, uint64_t))(symbol, found, version, flags); \
        FOUND(code, symbol, flags, stream_0, found);                                                    \
    }

#define WRAP_FIND(name, space, stream_0)                                                                \
    WRAPPER(name, (const char *symbol, void **found, int version, uint64_t flags, void *status))        \
    {                                                                                                   \
        if (real_call(CALL_##name) == NULL)                                                             \
            return CODE_NO_SUCH_FUNCTION;                                                               \
        const int code =                                                                                \
            REAL(name, (const char *, void **, int, uint64_t, void *))(symbol, found, version, flags, status); \
        FOUND(code, symbol, flags, stream_0, found);                                                    \
    }

/* CUDA 11's has no status argument. Passing one in a register does no harm. */
#define WRAP_ENTRY(name, space, stream_0)                                                               \
    WRAPPER(name, (const char *symbol, void **found, unsigned long long flags, void *status))           \
    {                                                                                                   \
        if (real_call(CALL_##name) == NULL)                                                             \
            return CODE_NO_SUCH_FUNCTION;                                                               \
        const int code =                                                                                \
            REAL(name, (const char *, void **, unsigned long long, void *))(symbol, found, flags, status); \
        FOUND(code, symbol, flags, stream_0, found);                                                    \
    }

#define WRAP_ENTRY_OF(name, space, stream_0)                                                            \
    WRAPPER(name, (const char *symbol, void **found, unsigned version, unsigned long long flags, void *status)) \
    {                                                                                                   \
        if (real_call(CALL_##name) == NULL)                                                             \
            return CODE_NO_SUCH_FUNCTION;                                                               \
        const int code = REAL(name, (const char *, void **, unsigned, unsigned long long, void *))(     \
            symbol, found, version, flags, status);                                                     \
        FOUND(code, symbol, flags, stream_0, found);                                                    \
    }

/* Physical memory lies where its properties say, whatever device is the thread's. */
static int call_created(const struct pending_call *c, int code, uint64_t handle, uint64_t bytes,
                        const struct allocation_prop *prop)
{
    thread.depth--;
    struct call_record r = {.kind = CALL_CREATE, .call = c->call, .space = c->space, .bytes = bytes, .other = handle,
                            .code = code};
    const bool is_on_device = prop != NULL && prop->location == LOCATION_DEVICE && prop->location_id >= 0 &&
                              prop->location_id < UINT8_MAX;
    uint64_t total;
    if (!c->is_outer || (code != CODE_DONE && code != CODE_OUT_OF_MEMORY))
        return code;
    if (prop != NULL && prop->location != LOCATION_DEVICE)
        r.space = CALL_SPACE_HOST;
    if (code == CODE_OUT_OF_MEMORY) {
        r.kind = CALL_OOM;
        device_memory(&total, &r.addr);
    }
    record_growth(&r, is_on_device ? prop->location_id : DEVICE_UNKNOWN, c->caller);
    return code;
}

#define CALL(shape, library, name, space, looked_up_as, stream_0) WRAP_##shape(name, space, stream_0)
#define RETIRED(name)
#include "record/calls.def"
#undef CALL
#undef RETIRED

#define CALL(shape, library, name, space, looked_up_as, stream_0) (call_function)name,
#define RETIRED(name) NULL,
call_function wrapper_of(enum recorded_call call)
{
    static const call_function wrappers[RECORDED_CALLS] = {
#include "record/calls.def"
    };
    return wrappers[call];
}
#undef CALL
#undef RETIRED
