/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Misuse is refused with the error that a program gets on a card. The table here is that of cudasim/README.md ("What is
 * refused"), which this test reads too.
 */
#include "tests/cudasim_rig.h"
#include "tests/made_cubin.h"

enum { TO_DEVICE = 1, FROM_DEVICE, ON_DEVICE, ANY };

/* What most cases need: two cards, memory on the first, handles that are gone, and a kernel of the program. */
struct scene {
    struct cudasim_rig r;
    char    *p, *freed, *pinned, *managed;
    void    *pooled_freed, *on_second;
    uint64_t stream, stream_gone, event, event_gone, event_of_second, untimed, stream_of_second;
    uint64_t context, module, function;
    char     host[64];
    const void *kernel, *for_other_card;
};

static const struct rig_dim3 one = { 1, 1, 1 };

static int launch(const struct scene *s, const void *kernel, unsigned threads, size_t shared, uint64_t stream)
{
    return s->r.cudaLaunchKernel(kernel, one, (struct rig_dim3){ threads, 1, 1 }, NULL, shared, stream);
}

#define CASE(name, call)                                \
    static int name(struct scene *s)                    \
    {                                                   \
        struct cudasim_rig *r = &s->r;                  \
        (void)r;                                        \
        return call;                                    \
    }

CASE(copy_from_freed, r->cudaMemcpy(s->host, s->freed, 16, FROM_DEVICE))
CASE(copy_to_freed, r->cudaMemcpy(s->freed, s->host, 16, ANY))
CASE(copy_past_end, r->cudaMemcpy(s->p + 4 * MIB - 8, s->host, 16, TO_DEVICE))
CASE(copy_past_pinned, r->cudaMemcpy(s->pinned, s->p, 4097, FROM_DEVICE))
CASE(copy_past_managed, r->cudaMemcpy(s->p, s->managed + 4000, 97, ANY))
CASE(copy_to_host_as_device, r->cudaMemcpy(s->host, s->p, 16, ON_DEVICE))
CASE(copy_direction, r->cudaMemcpy(s->host, s->p, 16, 9))
CASE(copy_pitch, r->cudaMemcpy2D(s->p, 8, s->host, 16, 16, 2, TO_DEVICE))
CASE(copy_rows_past_end, r->cudaMemcpy2D(s->p + 4 * MIB - 16, 16, s->host, 16, 16, 2, TO_DEVICE))
CASE(set_past_end, r->cudaMemset(s->p + 1, 0, 4 * MIB))
CASE(set_freed, r->cudaMemset(s->freed, 0, 1))
CASE(free_twice, r->cudaFree(s->freed))
CASE(free_middle, r->cudaFree(s->p + 512))
CASE(free_host, r->cudaFree(s->pinned))
CASE(free_host_of_device, r->cudaFreeHost(s->p))
CASE(free_async_twice, r->cudaFreeAsync(s->pooled_freed, 0))
CASE(register_twice, r->cudaHostRegister(s->pinned, 16, 0))
CASE(register_unmapped, r->cudaHostRegister((void *)1, SIZE_MAX - 3, 0))
CASE(unregister_unknown, r->cudaHostUnregister(s->host))
CASE(malloc_too_much, r->cudaMalloc((void **)&s->pooled_freed, (size_t)1 << 45))
CASE(malloc_null, r->cudaMalloc(NULL, 1))
CASE(set_device, r->cudaSetDevice(2))
CASE(launch_threads, launch(s, s->kernel, 1025, 0, 0))
CASE(launch_no_threads, launch(s, s->kernel, 0, 0, 0))
CASE(launch_grid, r->cudaLaunchKernel(s->kernel, (struct rig_dim3){ 1, 65536, 1 }, one, NULL, 0, 0))
CASE(launch_kernel_threads, launch(s, s->kernel, MADE_THREADS + 1, 0, 0))
CASE(launch_shared, launch(s, s->kernel, 32, 49152 - MADE_SHARED + 1, 0))
CASE(launch_unknown, launch(s, s->host, 32, 0, 0))
CASE(launch_other_card, launch(s, s->for_other_card, 32, 0, 0))
CASE(launch_other_device, launch(s, s->kernel, 32, 0, s->stream_of_second))
CASE(launch_stream_gone, launch(s, s->kernel, 32, 0, s->stream_gone))
CASE(launch_cooperative,
     r->cudaLaunchCooperativeKernel(s->kernel, (struct rig_dim3){ 1 << 20, 1, 1 }, one, NULL, 0, 0))
CASE(attribute_shared, r->cudaFuncSetAttribute(s->kernel, FUNCTION_DYNAMIC_BYTES, 227 * 1024))
CASE(attribute_fixed, r->cudaFuncSetAttribute(s->kernel, 4, 16))
CASE(sync_stream_gone, r->cudaStreamSynchronize(s->stream_gone))
CASE(destroy_stream_twice, r->cudaStreamDestroy(s->stream_gone))
CASE(record_event_gone, r->cudaEventRecord(s->event_gone, 0))
CASE(destroy_event_twice, r->cudaEventDestroy(s->event_gone))
CASE(wait_event_gone, r->cudaStreamWaitEvent(s->stream, s->event_gone, 0))
CASE(record_other_device, r->cudaEventRecord(s->event_of_second, s->stream))
CASE(elapsed_untimed, r->cudaEventElapsedTime((float *)s->host, s->untimed, s->untimed))
CASE(elapsed_unrecorded, r->cudaEventElapsedTime((float *)s->host, s->event, s->event_of_second))
CASE(graph_unknown, r->cudaGraphLaunch(0x123456, 0))
CASE(graph_destroyed_twice, (r->cudaGraphCreate(&s->context, 0), r->cudaGraphDestroy(s->context),
                             r->cudaGraphDestroy(s->context)))
CASE(capture_end, r->cudaStreamEndCapture(s->stream, &s->context))
CASE(capture_legacy, r->cudaStreamBeginCapture(0, 0))
CASE(pool_unknown, r->cudaMemPoolTrimTo(0x123456, 0))
CASE(peer_twice, (r->cudaDeviceEnablePeerAccess(1, 0), r->cudaDeviceEnablePeerAccess(1, 0)))
CASE(peer_itself, r->cudaDeviceEnablePeerAccess(0, 0))
CASE(ipc_close, r->cudaIpcCloseMemHandle(s->p))
CASE(driver_free, r->cuMemFree_v2((uintptr_t)s->freed))
CASE(driver_copy, r->cuMemcpyDtoH_v2(s->host, (uintptr_t)s->freed, 16))
CASE(driver_threads, r->cuLaunchKernel(s->function, 1, 1, 1, 1025, 1, 1, 0, 0, NULL, NULL))
CASE(driver_kernel_threads, r->cuLaunchKernel(s->function, 1, 1, 1, MADE_THREADS + 1, 1, 1, 0, 0, NULL, NULL))
CASE(driver_function, r->cuLaunchKernel(0x123456, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL))
CASE(driver_module, r->cuModuleUnload(0x123456))
CASE(driver_kernel, r->cuModuleGetFunction(&s->context, s->module, "nobody"))

static const struct { const char *misuse; enum cudasim_code wanted; int (*ask)(struct scene *s); } cases[] = {
    { "a copy from memory that was freed", CODE_INVALID_VALUE, copy_from_freed },
    { "a copy to memory that was freed, its direction left to the driver", CODE_INVALID_VALUE, copy_to_freed },
    { "a copy past the end of an allocation", CODE_INVALID_VALUE, copy_past_end },
    { "a copy past the end of page-locked memory", CODE_INVALID_VALUE, copy_past_pinned },
    { "a copy past the end of managed memory", CODE_INVALID_VALUE, copy_past_managed },
    { "the program's own memory where a copy says that it is the device's", CODE_INVALID_VALUE,
      copy_to_host_as_device },
    { "a direction of a copy that there is not", CODE_INVALID_DIRECTION, copy_direction },
    { "rows of a copy that are longer than their pitch", CODE_INVALID_PITCH, copy_pitch },
    { "rows of a copy past the end of an allocation", CODE_INVALID_VALUE, copy_rows_past_end },
    { "a set past the end of an allocation", CODE_INVALID_VALUE, set_past_end },
    { "a set of memory that was freed", CODE_INVALID_VALUE, set_freed },
    { "memory freed twice", CODE_INVALID_VALUE, free_twice },
    { "a free of an address within an allocation", CODE_INVALID_VALUE, free_middle },
    { "cudaFree of page-locked host memory", CODE_INVALID_VALUE, free_host },
    { "cudaFreeHost of the device's memory", CODE_INVALID_VALUE, free_host_of_device },
    { "memory of a pool freed twice", CODE_INVALID_VALUE, free_async_twice },
    { "host memory registered twice", CODE_HOST_REGISTERED, register_twice },
    { "host memory registered that is not mapped", CODE_INVALID_VALUE, register_unmapped },
    { "host memory unregistered that was not registered", CODE_HOST_NOT_REGISTERED, unregister_unknown },
    { "a request that the card has no room for", CODE_OUT_OF_MEMORY, malloc_too_much },
    { "no place for the answer", CODE_INVALID_VALUE, malloc_null },
    { "a device that there is not", CODE_INVALID_DEVICE, set_device },
    { "a launch of more threads than a block may have", CODE_INVALID_CONFIGURATION, launch_threads },
    { "a launch of no threads", CODE_INVALID_CONFIGURATION, launch_no_threads },
    { "a launch of more blocks than a grid may have", CODE_INVALID_CONFIGURATION, launch_grid },
    { "a launch of more threads than the kernel's registers or launch bounds allow", CODE_OUT_OF_RESOURCES,
      launch_kernel_threads },
    { "a launch with more shared memory than was set for the kernel", CODE_INVALID_VALUE, launch_shared },
    { "a launch of what is no kernel", CODE_INVALID_FUNCTION, launch_unknown },
    { "a launch of a kernel without code for the card", CODE_NO_BINARY, launch_other_card },
    { "a launch in a stream of another device", CODE_INVALID_HANDLE, launch_other_device },
    { "a launch in a stream that was destroyed", CODE_INVALID_HANDLE, launch_stream_gone },
    { "a cooperative launch of more blocks than the card holds at once", CODE_COOPERATIVE_TOO_LARGE,
      launch_cooperative },
    { "more shared memory set for a kernel than a block may have", CODE_INVALID_VALUE, attribute_shared },
    { "an attribute of a kernel that cannot be set", CODE_INVALID_VALUE, attribute_fixed },
    { "a wait for a stream that was destroyed", CODE_INVALID_HANDLE, sync_stream_gone },
    { "a stream destroyed twice", CODE_INVALID_HANDLE, destroy_stream_twice },
    { "an event recorded that was destroyed", CODE_INVALID_HANDLE, record_event_gone },
    { "an event destroyed twice", CODE_INVALID_HANDLE, destroy_event_twice },
    { "a stream that waits for an event that was destroyed", CODE_INVALID_HANDLE, wait_event_gone },
    { "an event recorded in a stream of another device", CODE_INVALID_HANDLE, record_other_device },
    { "the time between events without timing", CODE_INVALID_HANDLE, elapsed_untimed },
    { "the time between events that were not recorded", CODE_INVALID_HANDLE, elapsed_unrecorded },
    { "a launch of what is no instantiated graph", CODE_INVALID_VALUE, graph_unknown },
    { "a graph destroyed twice", CODE_INVALID_VALUE, graph_destroyed_twice },
    { "the end of a capture that did not begin", CODE_ILLEGAL_STATE, capture_end },
    { "a capture of the legacy stream", CODE_CAPTURE_UNSUPPORTED, capture_legacy },
    { "a pool that there is not", CODE_INVALID_VALUE, pool_unknown },
    { "access to a peer enabled twice", CODE_PEER_ENABLED, peer_twice },
    { "access to itself", CODE_INVALID_DEVICE, peer_itself },
    { "shared memory closed that no handle opened", CODE_INVALID_VALUE, ipc_close },
    { "cuMemFree of memory that was freed", CODE_INVALID_VALUE, driver_free },
    { "cuMemcpyDtoH from memory that was freed", CODE_INVALID_VALUE, driver_copy },
    { "cuLaunchKernel with more threads than a block may have", CODE_INVALID_VALUE, driver_threads },
    { "cuLaunchKernel with more threads than the kernel allows", CODE_OUT_OF_RESOURCES, driver_kernel_threads },
    { "cuLaunchKernel of what is no function", CODE_INVALID_HANDLE, driver_function },
    { "a module that there is not", CODE_INVALID_HANDLE, driver_module },
    { "a kernel that is not in its module", CODE_NOT_FOUND, driver_kernel },
};

enum { N_CASES = sizeof cases / sizeof cases[0] };

/* Registers a kernel as nvcc's code does: its code is for one capability. */
static void register_kernel(struct scene *s, unsigned capability, unsigned char *image, unsigned char *binary,
                            const void **wrapper, const void *symbol)
{
    const struct made_entry entry = { 2, capability, image, made_cubin(image, capability), 0, 0 };
    made_fat_binary(binary, &entry, 1);
    wrapper[0] = (const void *)(uintptr_t)(UINT64_C(1) << 32 | 0x466243b1);      /* magic, version */
    wrapper[1] = binary;
    s->r.__cudaRegisterFunction(s->r.__cudaRegisterFatBinary(wrapper), symbol, "add", "add");
}

static void open_scene(struct scene *s)
{
    static unsigned char image[MADE_CUBIN_BYTES], other[MADE_CUBIN_BYTES];
    static unsigned char binary[MADE_CUBIN_BYTES + 128], other_binary[MADE_CUBIN_BYTES + 128];
    static const void *wrappers[2][3];
    static char here, elsewhere;
    struct cudasim_rig *r = &s->r;
    cudasim_rig_open(r, "a100-80g,count=2", "libcudart.so.12");
    register_kernel(s, 80, image, binary, wrappers[0], &here);
    register_kernel(s, 90, other, other_binary, wrappers[1], &elsewhere);
    s->kernel = &here;
    s->for_other_card = &elsewhere;
    int failed = r->cudaSetDevice(1) | r->cudaStreamCreate(&s->stream_of_second) |
                 r->cudaEventCreate(&s->event_of_second) | r->cudaSetDevice(0) |
                 r->cudaMalloc((void **)&s->p, 4 * MIB) | r->cudaMalloc((void **)&s->freed, 4 * MIB) |
                 r->cudaHostAlloc((void **)&s->pinned, 4096, 0) |
                 r->cudaMallocManaged((void **)&s->managed, 4096, 1) | r->cudaMallocAsync(&s->pooled_freed, 4096, 0) |
                 r->cudaFreeAsync(s->pooled_freed, 0) | r->cudaStreamCreate(&s->stream) |
                 r->cudaStreamCreate(&s->stream_gone) | r->cudaStreamDestroy(s->stream_gone) |
                 r->cudaEventCreate(&s->event) | r->cudaEventCreate(&s->event_gone) |
                 r->cudaEventDestroy(s->event_gone) | r->cudaEventCreateWithFlags(&s->untimed, 2) |
                 r->cudaEventRecord(s->untimed, 0) | r->cuInit(0) | r->cuModuleLoadData(&s->module, image) |
                 r->cuModuleGetFunction(&s->function, s->module, "add") | r->cudaFree(s->freed);
    cr_assert_eq(failed, CODE_SUCCESS);
}

Test(cudasim_strict, each_misuse_has_its_error)
{
    struct scene s;
    open_scene(&s);
    cr_assert_eq(launch(&s, s.kernel, MADE_THREADS, 49152 - MADE_SHARED, s.stream), CODE_SUCCESS, "what is right, is");
    for (size_t i = 0; i < N_CASES; i++)
        cr_expect_eq(cases[i].ask(&s), (int)cases[i].wanted, "%s", cases[i].misuse);
}

Test(cudasim_strict, a_kernel_may_have_more_shared_memory_once_it_is_set)
{
    struct { size_t shared, constant, local; int rest[32]; } facts;
    enum { MOST = 6 - 2 + 1 };               /* the place of the most dynamic shared bytes among the ints */
    struct scene s;
    open_scene(&s);
    cr_expect_eq(launch(&s, s.kernel, 32, 100 * 1024, 0), CODE_INVALID_VALUE);
    cr_expect_eq(s.r.cudaFuncSetAttribute(s.kernel, FUNCTION_DYNAMIC_BYTES, 100 * 1024), CODE_SUCCESS);
    cr_expect_eq(launch(&s, s.kernel, 32, 100 * 1024, 0), CODE_SUCCESS);
    cr_expect_eq(s.r.cudaFuncGetAttributes(&facts, s.kernel), CODE_SUCCESS);
    cr_expect_eq(facts.rest[MOST], 100 * 1024);
    cr_expect_eq(s.r.cudaFuncSetAttribute(s.kernel, FUNCTION_DYNAMIC_BYTES, 163 * 1024 - MADE_SHARED), CODE_SUCCESS);
    cr_expect_eq(s.r.cudaFuncSetAttribute(s.kernel, FUNCTION_DYNAMIC_BYTES, 163 * 1024), CODE_INVALID_VALUE);
    cr_expect_eq(s.r.cudaFuncSetAttribute(s.kernel, FUNCTION_SHARED_PERCENT, 101), CODE_INVALID_VALUE);
    cr_expect_eq(s.r.cuFuncSetAttribute(s.function, FUNCTION_DYNAMIC_BYTES, 64 * 1024), CODE_SUCCESS);
    cr_expect_eq(s.r.cuLaunchKernel(s.function, 1, 1, 1, 32, 1, 1, 64 * 1024, 0, NULL, NULL), CODE_SUCCESS);
    cr_expect_eq(s.r.cuLaunchKernel(s.function, 1, 1, 1, 32, 1, 1, 64 * 1024 + 1, 0, NULL, NULL), CODE_INVALID_VALUE);
}

Test(cudasim_strict, a_card_of_a_plain_size_takes_any_code)
{
    static unsigned char image[MADE_CUBIN_BYTES], binary[MADE_CUBIN_BYTES + 128];
    static const void *wrapper[3];
    static char kernel;
    struct scene s;
    cudasim_rig_open(&s.r, "sim:8GiB", "libcudart.so.12");
    register_kernel(&s, 50, image, binary, wrapper, &kernel);
    cr_expect_eq(launch(&s, &kernel, 1024, 0, 0), CODE_SUCCESS);
}

/* Which arguments of an entry point are places for its answer, from 0. */
struct answers {
    const char *library, *name;
    int places[4], n;
};

#define PLACES(...) { __VA_ARGS__ }, sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)
#define DONE(name)
#define SAME(name, as)
#define NOTHING(name)
#define REFUSED(name)
static const struct answers answers[] = {
#define ANSWERS(name, ...) { "libcudart.so.12", #name, PLACES(__VA_ARGS__) },
#include "cudasim/api/runtime.def"
#undef ANSWERS
#define ANSWERS(name, ...) { "libcuda.so.1", #name, PLACES(__VA_ARGS__) },
#include "cudasim/api/driver.def"
#undef ANSWERS
#define ANSWERS(name, ...) { "libnvidia-ml.so.1", #name, PLACES(__VA_ARGS__) },
    ANSWERS(nvmlSystemGetCudaDriverVersion, 0) ANSWERS(nvmlSystemGetCudaDriverVersion_v2, 0)
    ANSWERS(nvmlSystemGetDriverVersion, 0) ANSWERS(nvmlDeviceGetCount_v2, 0) ANSWERS(nvmlDeviceGetHandleByIndex_v2, 1)
    ANSWERS(nvmlDeviceGetHandleByPciBusId_v2, 0, 1) ANSWERS(nvmlDeviceGetIndex, 1) ANSWERS(nvmlDeviceGetName, 1)
    ANSWERS(nvmlDeviceGetCudaComputeCapability, 1, 2) ANSWERS(nvmlDeviceGetP2PStatus, 3) ANSWERS(nvmlDeviceGetUUID, 1)
    ANSWERS(nvmlDeviceGetPciInfo_v3, 1) ANSWERS(nvmlDeviceGetMemoryInfo, 1) ANSWERS(nvmlDeviceGetMemoryInfo_v2, 1)
    ANSWERS(nvmlDeviceGetComputeRunningProcesses, 1) ANSWERS(nvmlDeviceGetComputeRunningProcesses_v2, 1)
    ANSWERS(nvmlDeviceGetComputeRunningProcesses_v3, 1) ANSWERS(nvmlDeviceGetGpuFabricInfoV, 1)
    ANSWERS(nvmlDeviceGetFieldValues, 2)
};
#undef ANSWERS
#undef DONE
#undef SAME
#undef NOTHING
#undef REFUSED

/* Asks with argument `place` NULL; the others point to zeros. */
static int ask_without(const struct answers *a, int place)
{
    static uint64_t zeros[8][512];
    uintptr_t at[8];
    int (*entry)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
    cudasim_rig_find(cudasim_rig_library(a->library), a->name, &entry);
    for (int i = 0; i < 8; i++)
        at[i] = i == place ? 0 : (uintptr_t)zeros[i];
    return entry(at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]);
}

Test(cudasim_strict, every_answer_needs_a_place)
{
    enum { NVML_BAD_ARGUMENT = 2 };
    struct cudasim_rig r;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert_eq(r.cuInit(0), CODE_SUCCESS);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        for (int k = 0; k < answers[i].n; k++) {
            const int wanted = strncmp(answers[i].name, "nvml", 4) == 0 ? NVML_BAD_ARGUMENT : CODE_INVALID_VALUE;
            cr_expect_eq(ask_without(&answers[i], answers[i].places[k]), wanted, "%s, argument %d", answers[i].name,
                         answers[i].places[k]);
        }
    cr_expect_eq(cudasim_rig_free_bytes(&r), 1 * GIB, "nothing was done");
}

#define CUDASIM_CODE(number, name, runtime, driver, text) { number, runtime != NULL ? runtime : driver },
static const struct { int number; const char *name; } names[] = {
#include "cudasim/core/codes.def"
};
#undef CUDASIM_CODE

Test(cudasim_strict, the_manual_lists_each_misuse_with_its_error)
{
    static char manual[1 << 20];
    FILE *f = fopen(TEST_DATA "/../../cudasim/README.md", "rb");
    cr_assert_not_null(f);
    manual[fread(manual, 1, sizeof manual - 1, f)] = '\0';
    fclose(f);
    for (size_t i = 0; i < N_CASES; i++) {
        char row[256];
        size_t k = 0;
        while (names[k].number != (int)cases[i].wanted)
            k++;
        snprintf(row, sizeof row, "| %s | `%s` |", cases[i].misuse, names[k].name);
        cr_expect_not_null(strstr(manual, row), "%s", row);
    }
}
