/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The simulated CUDA, used by a program that opens the libraries at run time, behaves as NVIDIA documents. */
#include "tests/cudasim_rig.h"
#include "tests/made_cubin.h"

#include "sim/device.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct { int type, handle_types, location_type, location_id; void *metadata; unsigned char flags[8]; }
    on_device_0 = { .type = 1, .location_type = 1 };

Test(cudasim, each_runtime_version_answers_for_the_same_device)
{
    static const char *const runtimes[] = { "libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13" };
    for (size_t i = 0; i < 3; i++) {
        struct cudasim_rig r;
        int n = 0;
        cudasim_rig_open(&r, "sim:8GiB,count=2", runtimes[i]);
        cr_expect_eq(r.cudaGetDeviceCount(&n), CODE_SUCCESS);
        cr_expect_eq(n, 2);
        cr_expect_eq(cudasim_rig_free_bytes(&r), 8 * GIB);
        struct { char name[256]; unsigned char ids[28]; size_t total; char rest[1024]; } prop;
        cr_expect_eq(r.cudaGetDeviceProperties(&prop, 1), CODE_SUCCESS);
        cr_expect_eq(prop.total, 8 * GIB);
        cr_expect_eq(r.cudaGetDeviceProperties(&prop, 2), CODE_INVALID_DEVICE);
    }
}

Test(cudasim, memory_comes_and_goes_by_whole_pages)
{
    struct cudasim_rig r;
    void *p = NULL, *q = NULL;
    cudasim_rig_open(&r, "sim:1GiB,context=100MiB,packing=off", "libcudart.so.12");
    cr_expect_eq(cudasim_rig_free_bytes(&r), 924 * MIB);
    cr_expect_eq(r.cudaMalloc(&p, 3 * MIB), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 920 * MIB);
    cr_expect_eq(r.cudaMalloc(&q, 921 * MIB), CODE_OUT_OF_MEMORY);
    cr_expect_eq(r.cudaGetLastError(), CODE_OUT_OF_MEMORY);
    cr_expect_eq(r.cudaGetLastError(), CODE_SUCCESS);
    cr_expect_eq(r.cudaMalloc(&q, 920 * MIB), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 0);
    cr_expect_eq(r.cudaFree(p), CODE_SUCCESS);
    cr_expect_eq(r.cudaFree(q), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 924 * MIB);
}

Test(cudasim, a_wrong_pointer_is_refused_and_nothing_changes)
{
    struct cudasim_rig r;
    void *p = NULL;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.13");
    cr_expect_eq(r.cudaMalloc(&p, 4 * MIB), CODE_SUCCESS);
    const uint64_t free_bytes = cudasim_rig_free_bytes(&r);
    cr_expect_eq(r.cudaFree((char *)p + 512), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaFree(&r), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaFreeHost(p), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaHostUnregister(p), CODE_HOST_NOT_REGISTERED);
    cr_expect_eq(r.cudaFreeAsync(&r, 0), CODE_INVALID_VALUE);
    cr_expect_eq(cudasim_rig_free_bytes(&r), free_bytes);
    cr_expect_eq(r.cudaFree(p), CODE_SUCCESS);
    cr_expect_eq(r.cudaFree(p), CODE_INVALID_VALUE, "freed twice");
    cr_expect_eq(r.cudaFree(NULL), CODE_SUCCESS);
}

Test(cudasim, a_request_of_nothing_gives_no_pointer)
{
    struct cudasim_rig r;
    void *p = &r;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_expect_eq(r.cudaMalloc(&p, 0), CODE_SUCCESS);
    cr_expect_null(p);
    cr_expect_eq(r.cudaMalloc(NULL, 1), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaMallocManaged(&p, 0, 1), CODE_INVALID_VALUE);
}

Test(cudasim, copies_are_done_between_host_addresses)
{
    struct cudasim_rig r;
    char from[16] = "something", to[16] = "";
    void *p = NULL, *pinned = NULL;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_expect_eq(r.cudaMalloc(&p, 1 * MIB), CODE_SUCCESS);
    cr_expect_eq(r.cudaHostAlloc(&pinned, 16, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemcpy(pinned, from, sizeof from, 4), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemcpy(to, pinned, sizeof to, 0), CODE_SUCCESS);
    cr_expect_str_eq(to, "something");
    cr_expect_eq(r.cudaMemcpy((char *)p + 1 * MIB - 8, from, 16, 1), CODE_INVALID_VALUE, "past the end");
    cr_expect_eq(r.cudaMemset(pinned, 'x', 3), CODE_SUCCESS);
    cr_expect_eq(memcmp(pinned, "xxxethi", 7), 0);
    cr_expect_eq(r.cudaFreeHost(pinned), CODE_SUCCESS);
    cr_expect_eq(r.cudaFree(p), CODE_SUCCESS);
}

/* What 16 bytes on the device read as. */
static const char *read_back(struct cudasim_rig *r, const void *p, char text[static 17])
{
    memset(text, '?', 16);
    text[16] = '\0';
    cr_assert_eq(r->cudaMemcpy(text, p, 16, 2), CODE_SUCCESS);
    for (int i = 0; i < 16; i++)
        text[i] = text[i] == '\0' ? '.' : text[i];
    return text;
}

Test(cudasim, bytes_copied_to_a_device_come_back_until_something_may_have_written)
{
    struct cudasim_rig r;
    char text[17], *p = NULL, *q = NULL;
    const struct rig_dim3 one = { 1, 1, 1 };
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert_eq(r.cudaMalloc((void **)&p, 4 * MIB), CODE_SUCCESS);
    cr_assert_eq(r.cudaMalloc((void **)&q, 4 * MIB), CODE_SUCCESS);
    cr_expect_str_eq(read_back(&r, p, text), "................");
    cr_expect_eq(r.cudaMemcpy(p, "0123456789abcdef", 16, 1), CODE_SUCCESS);
    cr_expect_str_eq(read_back(&r, p, text), "0123456789abcdef");
    cr_expect_str_eq(read_back(&r, p + 4, text), "456789abcdef....", "from the middle on");
    cr_expect_eq(r.cudaMemcpy(p + 4, "XY", 2, 1), CODE_SUCCESS);
    cr_expect_str_eq(read_back(&r, p, text), "0123XY6789abcdef", "a part is replaced");
    cr_expect_eq(r.cudaMemcpy(q + 1, p + 3, 4, 3), CODE_SUCCESS);
    cr_expect_str_eq(read_back(&r, q, text), ".3XY6...........", "from device to device");
    cr_expect_eq(r.cudaMemcpy(p + 1, p, 15, 3), CODE_SUCCESS);
    cr_expect_str_eq(read_back(&r, p, text), "00123XY6789abcde", "onto itself");
    cr_expect_eq(r.cudaMemset(p + 2, 'z', 3), CODE_SUCCESS);
    cr_expect_str_eq(read_back(&r, p, text), "00...XY6789abcde", "what is set is not kept");
    r.__cudaRegisterFunction(r.__cudaRegisterFatBinary(NULL), &one, "kernel", "kernel");
    cr_expect_eq(r.cudaLaunchKernel(&one, one, one, NULL, 0, 0), CODE_SUCCESS);
    cr_expect_str_eq(read_back(&r, p, text), "................", "a kernel may have written anywhere");
    cr_expect_eq(r.cudaMemcpy(q, "0123456789abcdef", 16, 1), CODE_SUCCESS);
    cr_expect_eq(r.cudaFree(q), CODE_SUCCESS);
    cr_expect_eq(r.cudaFree(p), CODE_SUCCESS);
}

Test(cudasim, copies_too_large_are_not_kept)
{
    struct cudasim_rig r;
    char text[17], *p = NULL, *large = malloc(2 * MIB);
    cr_assert_not_null(large);
    memset(large, 'x', 2 * MIB);
    setenv("REPLAY_CUDASIM_VALUES", "1MiB,1.5MiB", 1);
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert_eq(r.cudaMalloc((void **)&p, 8 * MIB), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemcpy(p, large, MIB, 1), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemcpy(p + 2 * MIB, large, MIB, 1), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemcpy(p + 4 * MIB, large, MIB + 1, 1), CODE_SUCCESS);
    cr_expect_str_eq(read_back(&r, p, text), "xxxxxxxxxxxxxxxx");
    cr_expect_str_eq(read_back(&r, p + 2 * MIB, text), "................", "too much in all");
    cr_expect_str_eq(read_back(&r, p + 4 * MIB, text), "................", "too large alone");
    cr_expect_eq(r.cudaMemcpy(p, large, MIB + 1, 1), CODE_SUCCESS);
    cr_expect_str_eq(read_back(&r, p, text), "................", "no old bytes under a copy that is not kept");
    cr_expect_eq(r.cudaFree(p), CODE_SUCCESS);
    free(large);
}

Test(cudasim, a_value_is_known_if_all_of_its_bytes_are)
{
    struct cudasim_rig r;
    bool (*known)(uint64_t, void *, uint64_t);
    void (*keep)(uint64_t, const void *, uint64_t);
    char text[17], got[8], *p = NULL;
    void *core = cudasim_rig_library("libreplay-cudasim.so");
    cudasim_rig_find(core, "cudasim_values_known", &known);
    cudasim_rig_find(core, "cudasim_values_keep", &keep);
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert_eq(r.cudaMalloc((void **)&p, 16), CODE_SUCCESS);
    cr_expect_not(known((uintptr_t)p, got, 4), "nothing was copied there");
    cr_expect_eq(r.cudaMemcpy(p, "ab", 2, 1), CODE_SUCCESS);
    cr_expect_not(known((uintptr_t)p, got, 4), "half of it was");
    cr_expect_eq(r.cudaMemcpy(p + 2, "cdef", 4, 1), CODE_SUCCESS);
    cr_expect(known((uintptr_t)p + 1, got, 4), "by two copies");
    cr_expect_arr_eq(got, "bcde", 4);
    keep((uintptr_t)p, "xy", 2);
    cr_expect_str_eq(read_back(&r, p, text), "xycdef..........");
    cr_expect_eq(r.cudaFree(p), CODE_SUCCESS);
    cr_expect_not(known((uintptr_t)p, got, 1), "not beyond the memory's life");
}

Test(cudasim, a_number_said_before_answers_one_read_of_unknown_bytes)
{
    static const int64_t numbers[] = { 7, 1, 9 };
    void (*answer)(const int64_t *, uint64_t);
    struct cudasim_rig r;
    char *p, text[17];
    int64_t n = -1;
    bool is_so = false;
    cudasim_rig_find(cudasim_rig_library("libreplay-cudasim.so"), "cudasim_values_answer", &answer);
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert_eq(r.cudaMalloc((void **)&p, 16), CODE_SUCCESS);
    cr_assert_eq(r.cudaMemcpy(p, "known", 5, 1), CODE_SUCCESS);
    answer(numbers, 3);
    cr_expect_str_eq(read_back(&r, p, text), "known...........", "what is known, or too long for a number, needs none");
    cr_expect_eq(r.cudaMemcpy(&n, p + 8, 8, 2), CODE_SUCCESS);
    cr_expect_eq(n, 7);
    cr_expect_eq(r.cudaMemcpy(&is_so, p + 8, 1, 2), CODE_SUCCESS);
    cr_expect(is_so);
    answer(NULL, 0);
    cr_expect_eq(r.cudaMemcpy(&n, p + 8, 8, 2), CODE_SUCCESS);
    cr_expect_eq(n, 0, "no more of them");
}

Test(cudasim, a_longer_read_takes_several_numbers)
{
    static const int64_t numbers[] = { 7, 1, 9, 4 };
    void (*answer)(const int64_t *, uint64_t);
    int64_t (*next)(void);
    struct cudasim_rig r;
    char *p;
    int64_t two[2] = { 0 }, three[3] = { 0 };
    void *core = cudasim_rig_library("libreplay-cudasim.so");
    cudasim_rig_find(core, "cudasim_values_answer", &answer);
    cudasim_rig_find(core, "cudasim_values_next_answer", &next);
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert_eq(r.cudaMalloc((void **)&p, 64), CODE_SUCCESS);
    answer(numbers, 4);
    cr_expect_eq(r.cudaMemcpy(two, p, sizeof two, 2), CODE_SUCCESS);
    cr_expect(two[0] == 7 && two[1] == 1);
    cr_expect_eq(r.cudaMemcpy(three, p, sizeof three, 2), CODE_SUCCESS);
    cr_expect(three[0] == 0 && three[1] == 0 && three[2] == 0, "two are left, so it takes none");
    cr_expect_eq(next(), 9, "a library's answer in host memory");
    answer(NULL, 0);
    cr_expect_eq(next(), 0);
}

static char told_bytes[] = "told";
static uint64_t told_at;

/* Knows the four bytes at `told_at`. */
static const void *tell(uint64_t from, uint64_t bytes)
{
    return from >= told_at && from + bytes <= told_at + 4 ? told_bytes + (from - told_at) : NULL;
}

Test(cudasim, whoever_knows_more_is_asked_for_what_is_read)
{
    void (*ask)(const void *(*)(uint64_t, uint64_t));
    struct cudasim_rig r;
    char got[5] = "", *p = NULL;
    const struct rig_dim3 one = { 1, 1, 1 };
    cudasim_rig_find(cudasim_rig_library("libreplay-cudasim.so"), "cudasim_values_ask", &ask);
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert_eq(r.cudaMalloc((void **)&p, 16), CODE_SUCCESS);
    told_at = (uintptr_t)p + 8;
    ask(tell);
    cr_expect_eq(r.cudaMemcpy(got, p + 8, 4, 2), CODE_SUCCESS);
    cr_expect_str_eq(got, "told");
    cr_expect_eq(r.cudaMemcpy(got, p + 10, 2, 2), CODE_SUCCESS);
    cr_expect_str_eq(got, "ldld", "a part of it");
    r.__cudaRegisterFunction(r.__cudaRegisterFatBinary(NULL), &one, "kernel", "kernel");
    cr_expect_eq(r.cudaLaunchKernel(&one, one, one, NULL, 0, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemcpy(got, p + 8, 4, 2), CODE_SUCCESS);
    cr_expect_str_eq(got, "told", "a kernel does not make it unknown");
    cr_expect_eq(r.cudaMemcpy(got, p + 6, 4, 2), CODE_SUCCESS);
    cr_expect_eq(got[2], 0, "not if a part of it is not known");
    cr_expect_eq(r.cudaMemcpy(p + 8, "copy", 4, 1), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemcpy(got, p + 8, 4, 2), CODE_SUCCESS);
    cr_expect_str_eq(got, "copy", "what was copied there since");
    ask(NULL);
    cr_expect_eq(r.cudaLaunchKernel(&one, one, one, NULL, 0, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemcpy(got, p + 8, 4, 2), CODE_SUCCESS);
    cr_expect_eq(got[0], 0, "nobody is asked any more");
}

Test(cudasim, host_memory_is_registered_once)
{
    static char memory[8192];
    struct cudasim_rig r;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_expect_eq(r.cudaHostRegister(memory, sizeof memory, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaHostRegister(memory + 4096, 4096, 0), CODE_HOST_REGISTERED);
    cr_expect_eq(r.cudaHostUnregister(memory), CODE_SUCCESS);
    cr_expect_eq(r.cudaHostRegister(memory, 4096, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemcpy(memory, memory + 2048, 4096, 4), CODE_SUCCESS, "its memory goes on beyond");
    cr_expect_eq(r.cudaHostUnregister(memory), CODE_SUCCESS);
    cr_expect_eq(r.cudaHostUnregister(memory), CODE_HOST_NOT_REGISTERED);
}

Test(cudasim, only_mapped_memory_is_registered)
{
    enum { PAGE = 1 << 16 };                         /* of any host */
    struct cudasim_rig r;
    char *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *p;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert(memory != MAP_FAILED && munmap(memory + PAGE, PAGE) == 0);
    cr_assert_eq(r.cudaMalloc(&p, 1 * MIB), CODE_SUCCESS);
    cr_expect_eq(r.cudaHostRegister(memory, PAGE + 1, 0), CODE_INVALID_VALUE, "a part of it is not mapped");
    cr_expect_eq(r.cudaHostRegister(memory + PAGE - 1, 1, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaHostRegister(memory, SIZE_MAX, 0), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaHostRegister(memory, SIZE_MAX - (uintptr_t)memory, 0), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaHostRegister((char *)p + MIB, 1 * MIB, 0), CODE_INVALID_VALUE, "a device's addresses");
    cr_expect_eq(r.cudaHostUnregister(memory + PAGE - 1), CODE_SUCCESS);
    munmap(memory, PAGE);
}

Test(cudasim, a_driver_program_needs_init_and_a_context)
{
    struct cudasim_rig r;
    uint64_t addr = 0, context = 7;
    cudasim_rig_open(&r, "sim:1GiB", NULL);
    cr_expect_eq(r.cuMemAlloc_v2(&addr, 1 * MIB), CODE_NOT_INITIALIZED);
    cr_expect_eq(r.cuInit(1), CODE_INVALID_VALUE);
    cr_expect_eq(r.cuInit(0), CODE_SUCCESS);
    cr_expect_eq(r.cuMemAlloc_v2(&addr, 1 * MIB), CODE_INVALID_CONTEXT);
    cr_expect_eq(r.cuCtxGetCurrent(&context), CODE_SUCCESS);
    cr_expect_eq(context, 0);
    cr_expect_eq(r.cuCtxCreate_v2(&context, 0, 0), CODE_SUCCESS);
    cr_expect_eq(r.cuMemAlloc_v2(&addr, 0), CODE_INVALID_VALUE);
    cr_expect_eq(r.cuMemAlloc_v2(&addr, 1 * MIB), CODE_SUCCESS);
    cr_expect_eq(r.cuMemFree_v2(addr), CODE_SUCCESS);
    cr_expect_eq(r.cuMemFree_v2(addr), CODE_INVALID_VALUE);
    cr_expect_eq(r.cuCtxDestroy_v2(context), CODE_SUCCESS);
}

/* XLA asks for several at once, of the host's memory too. */
Test(cudasim, several_facts_of_a_pointer_are_as_one_by_one_and_none_of_one_that_is_not_known)
{
    struct cudasim_rig r;
    static const int asked[] = { 2, 9, 11, 12, 4 };      /* type, device, start, size, the host's address */
    uint64_t addr = 0, context, got[5] = { 0 }, one = 0;
    void *out[] = { &got[0], &got[1], &got[2], &got[3], &got[4] };
    cudasim_rig_open(&r, "sim:1GiB", NULL);
    cr_assert_eq(r.cuInit(0), CODE_SUCCESS);
    cr_assert_eq(r.cuCtxCreate_v2(&context, 0, 0), CODE_SUCCESS);
    cr_assert_eq(r.cuMemAlloc_v2(&addr, 3 * MIB), CODE_SUCCESS);
    cr_expect_eq(r.cuPointerGetAttributes(5, asked, out, addr + 100), CODE_SUCCESS);
    cr_expect(got[0] == 2 && got[1] == 0 && got[2] == addr && got[3] == 3 * MIB && got[4] == 0);
    cr_expect_eq(r.cuPointerGetAttribute(&one, 4, addr), CODE_INVALID_VALUE, "alone that is an error");
    for (size_t i = 0; i < 5; i++)
        got[i] = UINT64_MAX;
    cr_expect_eq(r.cuPointerGetAttributes(5, asked, out, (uintptr_t)&one), CODE_SUCCESS);
    cr_expect((uint32_t)got[0] == 0 && got[2] == 0 && got[3] == 0 && got[4] == 0);
    cr_expect_eq(r.cuPointerGetAttributes(5, NULL, out, addr), CODE_INVALID_VALUE);
    cr_expect_eq(r.cuMemFree_v2(addr), CODE_SUCCESS);
}

/* Maps 2 x 20 MiB into a range and unmaps it again; after each step the free memory is checked. */
Test(cudasim, virtual_memory_is_held_by_handles_and_by_mappings)
{
    struct cudasim_rig r;
    uint64_t range = 0, one = 0, two = 0, context;
    size_t free_bytes, total_bytes;
    cudasim_rig_open(&r, "sim:1GiB", NULL);
    cr_assert_eq(r.cuInit(0), CODE_SUCCESS);
    cr_assert_eq(r.cuCtxCreate_v2(&context, 0, 0), CODE_SUCCESS);
    cr_expect_eq(r.cuMemAddressReserve(&range, 3 * MIB, 0, 0, 0), CODE_INVALID_VALUE, "not a multiple");
    cr_expect_eq(r.cuMemAddressReserve(&range, 100 * MIB, 0, 0, 0), CODE_SUCCESS);
    cr_expect_eq(r.cuMemCreate(&one, 20 * MIB, &on_device_0, 0), CODE_SUCCESS);
    cr_expect_eq(r.cuMemCreate(&two, 20 * MIB, &on_device_0, 0), CODE_SUCCESS);
    cr_expect_eq(r.cuMemMap(range, 20 * MIB, 0, one, 0), CODE_SUCCESS);
    cr_expect_eq(r.cuMemMap(range + 18 * MIB, 20 * MIB, 0, two, 0), CODE_INVALID_VALUE, "overlaps");
    cr_expect_eq(r.cuMemMap(range + 90 * MIB, 20 * MIB, 0, two, 0), CODE_INVALID_VALUE, "beyond the range");
    cr_expect_eq(r.cuMemMap(range + 20 * MIB, 20 * MIB, 0, two, 0), CODE_SUCCESS);
    cr_expect_eq(r.cuMemSetAccess(range, 40 * MIB, &on_device_0, 1), CODE_SUCCESS);
    cr_expect_eq(r.cuMemSetAccess(range, 60 * MIB, &on_device_0, 1), CODE_INVALID_VALUE, "not mapped");
    cr_expect_eq(r.cuMemAddressFree(range, 100 * MIB), CODE_INVALID_VALUE, "still mapped");
    cr_expect_eq(r.cuMemRelease(one), CODE_SUCCESS);
    cr_expect_eq(r.cuMemRelease(one), CODE_INVALID_VALUE);
    cr_expect_eq(r.cuMemGetInfo_v2(&free_bytes, &total_bytes), CODE_SUCCESS);
    cr_expect_eq(free_bytes, 984 * MIB, "the mapping holds it");
    cr_expect_eq(r.cuMemUnmap(range, 10 * MIB), CODE_INVALID_VALUE, "half a mapping");
    cr_expect_eq(r.cuMemUnmap(range, 40 * MIB), CODE_SUCCESS);
    cr_expect_eq(r.cuMemGetInfo_v2(&free_bytes, &total_bytes), CODE_SUCCESS);
    cr_expect_eq(free_bytes, 1004 * MIB, "the handle holds the other");
    cr_expect_eq(r.cuMemRelease(two), CODE_SUCCESS);
    cr_expect_eq(r.cuMemAddressFree(range, 100 * MIB), CODE_SUCCESS);
    cr_expect_eq(r.cuMemGetInfo_v2(&free_bytes, &total_bytes), CODE_SUCCESS);
    cr_expect_eq(free_bytes, 1 * GIB);
}

Test(cudasim, a_pool_keeps_memory_up_to_its_threshold_until_somebody_waits)
{
    struct cudasim_rig r;
    uint64_t pool = 0, threshold = 32 * MIB, value = 0;
    void *p = NULL, *q = NULL;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_expect_eq(r.cudaDeviceGetDefaultMemPool(&pool, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemPoolSetAttribute(pool, POOL_RELEASE_THRESHOLD, &threshold), CODE_SUCCESS);
    cr_expect_eq(r.cudaMallocAsync(&p, 30 * MIB, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaMallocAsync(&q, 50 * MIB, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaFreeAsync(p, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaFreeAsync(p, 0), CODE_INVALID_VALUE, "freed twice");
    cr_expect_eq(r.cudaFree(q), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemPoolGetAttribute(pool, POOL_RESERVED_CURRENT, &value), CODE_SUCCESS);
    cr_expect_eq(value, 96 * MIB, "whole units");
    cr_expect_eq(r.cudaMemPoolTrimTo(pool, 0), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 928 * MIB, "nobody has waited for what was freed");
    cr_expect_eq(r.cudaStreamSynchronize(0), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemPoolGetAttribute(pool, POOL_RESERVED_CURRENT, &value), CODE_SUCCESS);
    cr_expect_leq(value, threshold);
    cr_expect_eq(r.cudaMemPoolTrimTo(pool, 0), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 1 * GIB);
    cr_expect_eq(r.cudaMemPoolGetAttribute(pool, POOL_USED_HIGH, &value), CODE_SUCCESS);
    cr_expect_eq(value, 80 * MIB);
}

Test(cudasim, requests_to_a_pool_lie_where_the_driver_puts_them)
{
    struct cudasim_rig r;
    uint64_t pool = 0, stream = 0, value = 0;
    int on = 1, off = 0;
    void *p[40], *q = NULL;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert_eq(r.cudaDeviceGetDefaultMemPool(&pool, 0), CODE_SUCCESS);
    cr_assert_eq(r.cudaStreamCreate(&stream), CODE_SUCCESS);
    for (size_t i = 0; i < 40; i++) {
        cr_assert_eq(r.cudaMallocAsync(&p[i], MIB - 100, 0), CODE_SUCCESS);
        cr_expect_eq((char *)p[i] - (char *)p[0], (ptrdiff_t)(i * MIB), "rounded up to 512 bytes, one after the other");
    }
    cr_expect_eq(r.cudaMemPoolGetAttribute(pool, POOL_RESERVED_CURRENT, &value), CODE_SUCCESS);
    cr_expect_eq(value, 64 * MIB);
    cr_expect_eq(r.cudaMemPoolGetAttribute(pool, POOL_USED_CURRENT, &value), CODE_SUCCESS);
    cr_expect_eq(value, 40 * (MIB - 100));
    cr_expect(r.cudaFreeAsync(p[3], 0) == CODE_SUCCESS && r.cudaFreeAsync(p[4], 0) == CODE_SUCCESS);
    cr_expect_eq(r.cudaMemPoolSetAttribute(pool, POOL_REUSE_OPPORTUNISTIC, &off), CODE_SUCCESS);
    cr_assert_eq(r.cudaMallocAsync(&q, 3 * MIB / 2, stream), CODE_SUCCESS);
    cr_expect_eq((char *)q - (char *)p[0], (ptrdiff_t)(40 * MIB), "another stream's is not taken");
    cr_expect_eq(r.cudaMemPoolSetAttribute(pool, POOL_REUSE_OPPORTUNISTIC, &on), CODE_SUCCESS);
    cr_assert_eq(r.cudaMallocAsync(&q, 3 * MIB / 2, stream), CODE_SUCCESS);
    cr_expect_eq(q, p[3], "now it is, and two neighbours are one block");
}

/* Of the three blocks of 30, 50 and 70 MiB the first is freed, and the pool keeps it. */
Test(cudasim, a_reset_leaves_pools_as_new)
{
    static const int figures[] = { POOL_RESERVED_CURRENT, POOL_RESERVED_HIGH, POOL_USED_CURRENT, POOL_USED_HIGH,
                                   POOL_RELEASE_THRESHOLD };
    struct cudasim_rig r;
    uint64_t pool = 0, threshold = 1 * GIB, value;
    void *p[3];
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert_eq(r.cudaDeviceGetDefaultMemPool(&pool, 0), CODE_SUCCESS);
    cr_assert_eq(r.cudaMemPoolSetAttribute(pool, POOL_RELEASE_THRESHOLD, &threshold), CODE_SUCCESS);
    for (size_t i = 0; i < 3; i++)
        cr_assert_eq(r.cudaMallocAsync(&p[i], (20 * i + 30) * MIB, 0), CODE_SUCCESS);
    cr_assert_eq(r.cudaFreeAsync(p[0], 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaDeviceReset(), CODE_SUCCESS);
    cr_expect_eq(r.cudaDeviceSynchronize(), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 1 * GIB);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        cr_expect_eq(r.cudaMemPoolGetAttribute(pool, figures[i], &value), CODE_SUCCESS);
        cr_expect_eq(value, 0, "attribute %d: %llu", figures[i], (unsigned long long)value);
    }
    cr_expect_eq(r.cudaFreeAsync(p[1], 0), CODE_INVALID_VALUE);
    cr_assert_eq(r.cudaMallocAsync(&p[0], 30 * MIB, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaFree(p[0]), CODE_SUCCESS);
    cr_expect_eq(r.cudaStreamSynchronize(0), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemPoolTrimTo(pool, 0), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 1 * GIB);
}

Test(cudasim, a_pool_takes_the_handle_of_one_that_ended)
{
    static const struct { int type, handle_types, location_type, location_id; void *rest[9]; } props = { 1, 0, 1, 0,
                                                                                                      { NULL } };
    struct cudasim_rig r;
    uint64_t first, second, third, fourth, value = 1;
    void *p;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert(r.cudaMemPoolCreate(&first, &props) == CODE_SUCCESS && r.cudaMemPoolCreate(&second, &props) == 0);
    cr_expect_neq(first, second);
    cr_assert_eq(r.cudaMallocFromPoolAsync(&p, 10 * MIB, first, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemPoolDestroy(first), CODE_SUCCESS);
    cr_assert_eq(r.cudaMemPoolCreate(&third, &props), CODE_SUCCESS);
    cr_expect_neq(third, first, "it ends with its last allocation");
    cr_expect_eq(r.cudaFreeAsync(p, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemPoolGetAttribute(first, POOL_USED_HIGH, &value), CODE_INVALID_VALUE, "nobody's");
    cr_expect_eq(r.cudaMemPoolDestroy(first), CODE_INVALID_VALUE);
    cr_assert_eq(r.cudaMemPoolCreate(&fourth, &props), CODE_SUCCESS);
    cr_expect_eq(fourth, first);
    cr_expect_eq(r.cudaMemPoolGetAttribute(fourth, POOL_USED_HIGH, &value), CODE_SUCCESS);
    cr_expect_eq(value, 0, "a new pool");
    cr_assert_eq(r.cudaMallocFromPoolAsync(&p, 10 * MIB, fourth, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemPoolDestroy(fourth), CODE_SUCCESS);
    cr_expect_eq(r.cudaDeviceReset(), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemPoolCreate(&first, &props), CODE_SUCCESS);
    cr_expect_eq(first, fourth, "a reset ends it");
}

Test(cudasim, streams_finish_at_once_unless_they_are_held)
{
    struct cudasim_rig r;
    uint64_t stream = 0, start = 0, end = 0;
    float ms = -1;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.13");
    cr_expect_eq(r.cudaStreamCreate(&stream), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventCreate(&start), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventCreate(&end), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventElapsedTime(&ms, start, end), CODE_INVALID_HANDLE, "not recorded");
    cr_expect_eq(r.cudaEventRecord(start, stream), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventQuery(start), CODE_SUCCESS);
    r.cudasim_hold(stream, 1);
    cr_expect_eq(r.cudaEventRecord(end, stream), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventQuery(end), CODE_NOT_READY);
    cr_expect_eq(r.cudaStreamQuery(stream), CODE_NOT_READY);
    cr_expect_eq(r.cudaEventElapsedTime(&ms, start, end), CODE_NOT_READY);
    r.cudasim_complete(stream, 1);
    cr_expect_eq(r.cudaStreamQuery(stream), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventElapsedTime(&ms, start, end), CODE_SUCCESS);
    cr_expect_gt(ms, 0, "no two records are of one moment: programs divide by it");
    cr_expect_eq(r.cudaStreamDestroy(stream), CODE_SUCCESS);
    cr_expect_eq(r.cudaStreamQuery(stream), CODE_INVALID_HANDLE);
}

Test(cudasim, time_goes_on_by_what_streams_are_given)
{
    struct cudasim_rig r;
    uint64_t start = 0, end = 0;
    float ms = 0;
    void *p = NULL;
    static char host[1 << 20];
    cudasim_rig_open(&r, "sim:1GiB,alloc_ns=3000000", "libcudart.so.12");
    cr_expect_eq(r.cudaEventCreate(&start), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventCreate(&end), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventRecord(start, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaMalloc(&p, 1 * MIB), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemcpy(p, host, sizeof host, 1), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventRecord(end, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventElapsedTime(&ms, start, end), CODE_SUCCESS);
    cr_expect_float_eq(ms, 3.0f + 0.007f + (float)sizeof host / 25e6f, 0.001f);
}

Test(cudasim, a_capture_becomes_a_graph_that_can_be_launched)
{
    struct cudasim_rig r;
    uint64_t stream = 0, graph = 0, exec = 0;
    void *p = NULL;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_expect_eq(r.cudaMalloc(&p, 1 * MIB), CODE_SUCCESS);
    cr_expect_eq(r.cudaStreamBeginCapture(0, 0), CODE_CAPTURE_UNSUPPORTED);
    cr_expect_eq(r.cudaStreamCreate(&stream), CODE_SUCCESS);
    cr_expect_eq(r.cudaStreamBeginCapture(stream, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaStreamSynchronize(stream), CODE_CAPTURE_UNSUPPORTED);
    cr_expect_eq(r.cudaStreamEndCapture(stream, &graph), CODE_SUCCESS);
    cr_expect_eq(r.cudaGraphInstantiateWithFlags(&exec, graph, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaGraphLaunch(exec, stream), CODE_SUCCESS);
    cr_expect_eq(r.cudaGraphLaunch(graph, stream), CODE_INVALID_VALUE);
}

Test(cudasim, a_stream_that_waits_for_a_capture_joins_it_until_its_end)
{
    struct cudasim_rig r;
    uint64_t stream = 0, side = 0, event = 0, graph = 0;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_expect_eq(r.cudaStreamCreate(&stream), CODE_SUCCESS);
    cr_expect_eq(r.cudaStreamCreate(&side), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventCreate(&event), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventRecord(event, stream), CODE_SUCCESS);
    cr_expect_eq(r.cudaStreamBeginCapture(stream, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaStreamWaitEvent(side, event, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaStreamSynchronize(side), CODE_SUCCESS, "the event is older than the capture");
    cr_expect_eq(r.cudaEventRecord(event, stream), CODE_SUCCESS);
    cr_expect_eq(r.cudaStreamWaitEvent(side, event, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaStreamSynchronize(side), CODE_CAPTURE_UNSUPPORTED);
    cr_expect_eq(r.cudaStreamEndCapture(side, &graph), CODE_CAPTURE_UNMATCHED);
    cr_expect_eq(r.cudaStreamEndCapture(stream, &graph), CODE_SUCCESS);
    cr_expect_eq(r.cudaStreamSynchronize(side), CODE_SUCCESS);
    cr_expect_eq(r.cudaStreamWaitEvent(side, event, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaStreamSynchronize(side), CODE_SUCCESS, "that capture is at its end");
}

Test(cudasim, devices_do_not_share_memory_and_reach_each_other_when_asked)
{
    struct cudasim_rig r;
    void *p = NULL;
    struct { int type, device; void *pointers[2]; long reserved[8]; } attributes;
    cudasim_rig_open(&r, "sim:1GiB,count=2", "libcudart.so.13");
    cr_expect_eq(r.cudaSetDevice(1), CODE_SUCCESS);
    cr_expect_eq(r.cudaMalloc(&p, 512 * MIB), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 512 * MIB);
    cr_expect_eq(r.cudaSetDevice(0), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 1 * GIB);
    cr_expect_eq(r.cudaPointerGetAttributes(&attributes, p), CODE_SUCCESS);
    cr_expect_eq(attributes.type, 2);
    cr_expect_eq(attributes.device, 1);
    cr_expect_eq(r.cudaDeviceDisablePeerAccess(1), CODE_PEER_NOT_ENABLED);
    cr_expect_eq(r.cudaDeviceEnablePeerAccess(1, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaDeviceEnablePeerAccess(1, 0), CODE_PEER_ENABLED);
    cr_expect_eq(r.cudaDeviceEnablePeerAccess(0, 0), CODE_INVALID_DEVICE, "itself");
    cr_expect_eq(r.cudaSetDevice(2), CODE_INVALID_DEVICE);
    cr_expect_eq(r.cudaFree(p), CODE_SUCCESS, "from another device");
}

Test(cudasim, a_card_answers_as_the_one_that_was_named)
{
    static const struct { const char *device, *name; int capability, multiprocessors, threads, shared; } cases[] = {
        {"4090", "NVIDIA GeForce RTX 4090", 89, 128, 1536, 101376},
        {"sim:A100 80GB,count=2", "NVIDIA A100-SXM4-80GB", 80, 108, 2048, 166912},
        {"t4", "Tesla T4", 75, 40, 1024, 65536},
        {"sim:24GiB,capability=12.0", "NVIDIA simulated GPU", 120, 170, 1536, 101376},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pid_t child = fork();                  /* each process has one machine */
        if (child == 0) {
            struct cudasim_rig r;
            struct { char name[256]; unsigned char ids[28]; char rest[1024]; } prop;
            int (*attribute)(int *, int, int), value[4];
            cudasim_rig_open(&r, cases[i].device, "libcudart.so.12");
            cudasim_rig_find(cudasim_rig_library("libcuda.so.1"), "cuDeviceGetAttribute", &attribute);
            static const int asked[] = { 75, 16, 39, 97 };
            bool is_right = r.cuInit(0) == 0 && r.cudaGetDeviceProperties(&prop, 0) == 0 &&
                            strcmp(prop.name, cases[i].name) == 0;
            for (int k = 0; k < 4; k++)
                is_right = attribute(&value[k], asked[k], 0) == 0 && is_right;
            _exit(is_right && value[0] == cases[i].capability / 10 && value[1] == cases[i].multiprocessors &&
                  value[2] == cases[i].threads && value[3] == cases[i].shared ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        cr_expect_eq(status, 0, "%s", cases[i].device);
    }
}

/* The child's answers: bit 0 if NVML looks, bit 1 if CUDA takes memory. */
static int answers_in_child(struct cudasim_rig *r, int (*count)(unsigned *))
{
    const pid_t child = fork();
    int status = -1;
    if (child == 0) {
        void *p = NULL;
        unsigned n = 0;
        const int looks = count(&n) == 0 && n == 2;
        _exit(looks + 2 * (r->cudaMalloc(&p, MIB) == CODE_SUCCESS));
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

Test(cudasim, a_process_that_only_looked_by_nvml_may_fork)
{
    struct cudasim_rig r;
    int (*init)(void), (*count)(unsigned *), (*memory)(uint64_t, void *), (*name)(uint64_t, char *, unsigned);
    int (*capability)(uint64_t, int *, int *), major, minor;
    unsigned n = 0;
    void *p = NULL;
    char text[96];
    uint64_t bytes[3];
    cudasim_rig_open(&r, "sim:1GiB,count=2", "libcudart.so.13");
    void *nvml = cudasim_rig_library("libnvidia-ml.so.1");
    cudasim_rig_find(nvml, "nvmlInit_v2", &init);
    cudasim_rig_find(nvml, "nvmlDeviceGetCount_v2", &count);
    cudasim_rig_find(nvml, "nvmlDeviceGetMemoryInfo", &memory);
    cudasim_rig_find(nvml, "nvmlDeviceGetName", &name);
    cudasim_rig_find(nvml, "nvmlDeviceGetCudaComputeCapability", &capability);
    cr_assert(init() == 0 && count(&n) == 0 && memory(1, bytes) == 0 && name(1, text, sizeof text) == 0 &&
              capability(1, &major, &minor) == 0);
    cr_expect_eq(answers_in_child(&r, count), 3, "after NVML alone");
    cr_assert_eq(r.cudaMalloc(&p, MIB), CODE_SUCCESS);
    cr_expect_eq(answers_in_child(&r, count), 1, "CUDA does not survive a fork, and NVML does");
}

Test(cudasim, a_kernel_is_of_the_best_code_that_the_card_takes)
{
    static unsigned char binary[512];
    static const struct { const char *device; int code, ptx; } cases[] = {
        {"4090", 80, 80}, {"a100-80g", 80, 80}, {"h100", 90, 90}, {"sim:8GiB,capability=12.0", 120, 90}, {"t4", 75, 75},
    };
    const struct { uint32_t magic, version; const void *binary; } wrapper = { 0x466243b1, 1, binary };
    static const struct made_entry entries[] = { { 2, 75, "damaged", 8, 0, 0 }, { 2, 80, "damaged", 8, 0, 0 },
                                                 { 2, 90, "damaged", 8, 0, 0 }, { 1, 90, "damaged", 8, 0, 0 } };
    made_fat_binary(binary, entries, 4);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pid_t child = fork();
        if (child == 0) {
            struct cudasim_rig r;
            struct { size_t bytes[3]; int numbers[32]; } facts;
            void *(*add_binary)(const void *), (*add_kernel)(void *, const void *, const char *, const char *);
            int (*ask)(void *, const void *);
            cudasim_rig_open(&r, cases[i].device, "libcudart.so.12");
            void *runtime = cudasim_rig_library("libcudart.so.12");
            cudasim_rig_find(runtime, "__cudaRegisterFatBinary", &add_binary);
            cudasim_rig_find(runtime, "__cudaRegisterFunction", &add_kernel);
            cudasim_rig_find(runtime, "cudaFuncGetAttributes", &ask);
            add_kernel(add_binary(&wrapper), &facts, "add", "add");
            const bool is_right = ask(&facts, &facts) == 0 && facts.numbers[2] == cases[i].ptx;
            _exit(is_right && facts.numbers[3] == cases[i].code ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        cr_expect_eq(status, 0, "%s", cases[i].device);
    }
}

/* The kernel of made_cubin on an A100, which holds 64 warps, 65,536 registers and 167,936 bytes of shared memory. */
Test(cudasim, a_module_tells_of_its_kernels)
{
    enum { MOST_THREADS, SHARED, CONSTANT, LOCAL, REGISTERS, PTX, BINARY, CACHE, DYNAMIC };
    static const struct { int attribute, value; } facts[] = {
        { MOST_THREADS, MADE_THREADS }, { SHARED, MADE_SHARED }, { CONSTANT, MADE_CONSTANTS }, { LOCAL, MADE_LOCAL },
        { REGISTERS, MADE_REGISTERS }, { PTX, 80 }, { BINARY, 80 }, { DYNAMIC, 49152 - MADE_SHARED },
    };
    static const struct { int threads; size_t dynamic; int blocks; } fits[] = {
        { 256, 0, 6 },                   /* 8 warps of 1,280 registers: 12 of them in each quarter */
        { 32, 0, 32 }, { 128, 20000, 7 }, { 256, 170000, 0 }, { 1025, 0, 0 },
    };
    static unsigned char image[MADE_CUBIN_BYTES];
    struct cudasim_rig r;
    uint64_t context, module, function, again;
    int value;
    made_cubin(image, 80);
    cudasim_rig_open(&r, "a100-80g", NULL);
    cr_assert(r.cuInit(0) == CODE_SUCCESS && r.cuCtxCreate_v2(&context, 0, 0) == CODE_SUCCESS);
    cr_assert_eq(r.cuModuleLoadData(&module, image), CODE_SUCCESS);
    memset(image, 0xff, sizeof image);                               /* the driver has its own copy */
    cr_assert_eq(r.cuModuleGetFunction(&function, module, "add"), CODE_SUCCESS);
    cr_expect(r.cuModuleGetFunction(&again, module, "add") == CODE_SUCCESS && again == function);
    cr_expect_eq(r.cuModuleGetFunction(&again, module, "sub"), CODE_NOT_FOUND);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        cr_assert_eq(r.cuFuncGetAttribute(&value, facts[i].attribute, function), CODE_SUCCESS);
        cr_expect_eq(value, facts[i].value, "attribute %d: %d", facts[i].attribute, value);
    }
    for (size_t i = 0; i < sizeof fits / sizeof fits[0]; i++) {
        cr_assert_eq(r.cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, fits[i].threads, fits[i].dynamic),
                     CODE_SUCCESS);
        cr_expect_eq(value, fits[i].blocks, "%d threads, %zu bytes: %d", fits[i].threads, fits[i].dynamic, value);
    }
    cr_expect_eq(r.cuModuleUnload(module), CODE_SUCCESS);
    cr_expect_eq(r.cuFuncGetAttribute(&value, REGISTERS, function), CODE_INVALID_HANDLE);
    cr_expect_eq(r.cuModuleUnload(module), CODE_INVALID_HANDLE);
}

Test(cudasim, a_module_has_its_variables_with_their_first_values)
{
    unsigned char image[MADE_CUBIN_BYTES] = { 0 };
    struct cudasim_rig r;
    uint64_t context, module, addr, wanted = 77, got = 0;
    uint32_t ready = 0;
    size_t bytes, free_before, free_after, total;
    made_cubin(image, 80);
    cudasim_rig_open(&r, "a100-80g", NULL);
    cr_assert(r.cuInit(0) == CODE_SUCCESS && r.cuCtxCreate_v2(&context, 0, 0) == CODE_SUCCESS);
    r.cuMemGetInfo_v2(&free_before, &total);
    cr_assert_eq(r.cuModuleLoadData(&module, image), CODE_SUCCESS);
    cr_assert_eq(r.cuModuleGetGlobal_v2(&addr, &bytes, module, "ready"), CODE_SUCCESS);
    cr_expect_eq(bytes, sizeof ready);
    cr_expect(r.cuMemcpyDtoH_v2(&ready, addr, sizeof ready) == CODE_SUCCESS && ready == MADE_READY, "%u", ready);
    cr_assert_eq(r.cuModuleGetGlobal_v2(&addr, &bytes, module, "table"), CODE_SUCCESS);
    cr_expect_eq(bytes, MADE_TABLE);
    cr_expect_eq(r.cuMemcpyHtoD_v2(addr + 8, &wanted, sizeof wanted), CODE_SUCCESS);
    cr_expect(r.cuMemcpyDtoH_v2(&got, addr + 8, sizeof got) == CODE_SUCCESS && got == wanted);
    cr_expect_eq(r.cuMemcpyHtoD_v2(addr + MADE_TABLE - 4, &wanted, sizeof wanted), CODE_INVALID_VALUE);
    cr_expect_eq(r.cuModuleGetGlobal_v2(&addr, &bytes, module, "add"), CODE_NOT_FOUND);
    cr_expect_eq(r.cuMemFree_v2(addr), CODE_INVALID_VALUE);
    r.cuMemGetInfo_v2(&free_after, &total);
    cr_expect_eq(free_before, free_after);
}

Test(cudasim, code_for_another_card_is_refused_and_ptx_has_any_kernel)
{
    static const unsigned others[] = { 75, 86, 90 };
    struct cudasim_rig r;
    uint64_t context, module, function;
    int value;
    cudasim_rig_open(&r, "a100-80g", NULL);
    cr_assert(r.cuInit(0) == CODE_SUCCESS && r.cuCtxCreate_v2(&context, 0, 0) == CODE_SUCCESS);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        unsigned char image[MADE_CUBIN_BYTES] = { 0 };
        made_cubin(image, others[i]);
        cr_expect_eq(r.cuModuleLoadData(&module, image), CODE_NO_BINARY, "sm_%u", others[i]);
    }
    cr_assert_eq(r.cuModuleLoadData(&module, ".version 8.0"), CODE_SUCCESS);
    cr_assert_eq(r.cuModuleGetFunction(&function, module, "anything"), CODE_SUCCESS);
    cr_expect(r.cuFuncGetAttribute(&value, 4, function) == CODE_SUCCESS && value == 32);
    cr_expect_eq(r.cuModuleLoad(&module, "/nowhere/at-all.cubin"), CODE_FILE_NOT_FOUND);
    cr_expect_eq(r.cuModuleLoad(&module, CUDASIM_DIR "/libcuda.so.1"), CODE_INVALID_IMAGE, "code for the host");
    cr_expect_eq(r.cuLibraryLoadFromFile(&module, "/nowhere/at-all.cubin", NULL, NULL, 0, NULL, NULL, 0),
                 CODE_FILE_NOT_FOUND);
    FILE *f = fopen("kernel.ptx", "w");
    cr_assert_not_null(f);
    fputs(".version 8.0", f);
    fclose(f);
    cr_assert_eq(r.cuLibraryLoadFromFile(&module, "kernel.ptx", NULL, NULL, 0, NULL, NULL, 0), CODE_SUCCESS);
    cr_expect_eq(r.cuModuleGetFunction(&function, module, "anything"), CODE_SUCCESS);
    unlink("kernel.ptx");
}

Test(cudasim, what_is_asked_of_ptx_is_the_same_until_it_is_unloaded)
{
    struct cudasim_rig r;
    uint64_t context, module, function, again, other, addr, same, next;
    size_t bytes, ignored;
    int value = 0;
    cudasim_rig_open(&r, "a100-80g", NULL);
    cr_assert(r.cuInit(0) == CODE_SUCCESS && r.cuCtxCreate_v2(&context, 0, 0) == CODE_SUCCESS);
    cr_assert_eq(r.cuModuleLoadData(&module, ".version 8.0"), CODE_SUCCESS);
    cr_assert_eq(r.cuModuleGetFunction(&function, module, "f"), CODE_SUCCESS);
    cr_assert_eq(r.cuModuleGetFunction(&other, module, "g"), CODE_SUCCESS);
    cr_assert_eq(r.cuModuleGetFunction(&again, module, "f"), CODE_SUCCESS);
    cr_expect(function == again && function != other);
    cr_assert_eq(r.cuModuleGetGlobal_v2(&addr, &bytes, module, "v"), CODE_SUCCESS);
    cr_assert_eq(r.cuModuleGetGlobal_v2(&next, &ignored, module, "w"), CODE_SUCCESS);
    cr_assert_eq(r.cuModuleGetGlobal_v2(&same, &ignored, module, "v"), CODE_SUCCESS);
    cr_expect(addr == same && addr != next);
    cr_expect_eq(r.cuMemcpyHtoD_v2(addr + bytes - 4, &(int){ 42 }, 4), CODE_SUCCESS);
    cr_expect_eq(r.cuMemcpyDtoH_v2(&value, same + bytes - 4, 4), CODE_SUCCESS);
    cr_expect_eq(value, 42);
    cr_expect_eq(r.cuModuleUnload(module), CODE_SUCCESS);
    cr_expect_eq(r.cuFuncGetAttribute(&value, 4, function), CODE_INVALID_HANDLE);
    cr_expect_eq(r.cuMemcpyDtoH_v2(&value, addr, 4), CODE_INVALID_VALUE);
}

Test(cudasim, a_program_copies_to_and_from_its_variables)
{
    static unsigned char image[MADE_CUBIN_BYTES], binary[MADE_CUBIN_BYTES + 128];
    static char table, ready;                        /* what the host knows them by */
    const struct made_entry entry = { 2, 80, image, made_cubin(image, 80), 0, 0 };
    const struct { uint32_t magic, version; const void *binary; } wrapper = { 0x466243b1, 1, binary };
    struct cudasim_rig r;
    void *(*add_binary)(const void *);
    void (*add_variable)(void *, const void *, const char *, const char *, int, size_t);
    int (*to)(const void *, const void *, size_t, size_t, int), (*from)(void *, const void *, size_t, size_t, int);
    uint32_t value = 0;
    made_fat_binary(binary, &entry, 1);
    cudasim_rig_open(&r, "a100-80g", "libcudart.so.12");
    void *runtime = cudasim_rig_library("libcudart.so.12");
    cudasim_rig_find(runtime, "__cudaRegisterFatBinary", &add_binary);
    cudasim_rig_find(runtime, "__cudaRegisterVar", &add_variable);
    cudasim_rig_find(runtime, "cudaMemcpyToSymbol", &to);
    cudasim_rig_find(runtime, "cudaMemcpyFromSymbol", &from);
    void *handle = add_binary(&wrapper);
    add_variable(handle, &ready, "ready", "ready", 0, 4);
    add_variable(handle, &table, "table", "table", 0, MADE_TABLE);
    cr_expect(from(&value, &ready, 4, 0, 2) == CODE_SUCCESS && value == MADE_READY, "%u", value);
    cr_expect_eq(to(&table, &(uint32_t){ 5 }, 4, MADE_TABLE - 4, 1), CODE_SUCCESS);
    cr_expect(from(&value, &table, 4, MADE_TABLE - 4, 2) == CODE_SUCCESS && value == 5, "%u", value);
    cr_expect_eq(to(&table, &value, 4, MADE_TABLE - 3, 1), CODE_INVALID_VALUE);
    cr_expect_eq(to(&value, &value, 4, 0, 1), CODE_INVALID_SYMBOL);
}

Test(cudasim, a_kernel_of_the_program_is_told_by_its_code)
{
    static unsigned char image[MADE_CUBIN_BYTES], binary[2 * MADE_CUBIN_BYTES];
    static char add, sub;                            /* what the host knows the kernels by */
    const struct made_entry entry = { 2, 80, image, made_cubin(image, 80), 0, 0 };
    const struct { uint32_t magic, version; const void *binary; } wrapper = { 0x466243b1, 1, binary };
    struct { size_t shared, constant, local; int threads, registers, rest[32]; } facts;
    struct cudasim_rig r;
    void *(*add_binary)(const void *);
    void (*add_kernel)(void *, const void *, const char *, const char *);
    int (*ask)(void *, const void *), (*fit)(int *, const void *, int, size_t), n = -1;
    made_fat_binary(binary, &entry, 1);
    cudasim_rig_open(&r, "a100-80g", "libcudart.so.13");
    void *runtime = cudasim_rig_library("libcudart.so.13");
    cudasim_rig_find(runtime, "__cudaRegisterFatBinary", &add_binary);
    cudasim_rig_find(runtime, "__cudaRegisterFunction", &add_kernel);
    cudasim_rig_find(runtime, "cudaFuncGetAttributes", &ask);
    cudasim_rig_find(runtime, "cudaOccupancyMaxActiveBlocksPerMultiprocessor", &fit);
    void *handle = add_binary(&wrapper);
    add_kernel(handle, &add, "add", "add");
    add_kernel(handle, &sub, "sub", "sub");
    cr_assert_eq(ask(&facts, &add), CODE_SUCCESS);
    cr_expect(facts.shared == MADE_SHARED && facts.constant == MADE_CONSTANTS && facts.local == MADE_LOCAL);
    cr_expect(facts.registers == MADE_REGISTERS && facts.threads == MADE_THREADS);
    cr_expect(fit(&n, &add, 256, 0) == CODE_SUCCESS && n == 6, "%d", n);
    cr_expect(ask(&facts, &sub) == CODE_SUCCESS && facts.registers == 32, "it is not in the code");
    cr_expect_eq(ask(&facts, &n), CODE_INVALID_FUNCTION, "nobody registered it");
}

/* Registers made_cubin's kernel and variables from memory that is gone after the library's end. */
static void *open_library(struct cudasim_rig *r, char *mapping, const void *kernel, const void *variable)
{
    void (*add_variable)(void *, const void *, const char *, const char *, int, size_t);
    cudasim_rig_find(cudasim_rig_library("libcudart.so.12"), "__cudaRegisterVar", &add_variable);
    unsigned char *image = (unsigned char *)mapping + 256, *binary = image + MADE_CUBIN_BYTES;
    const struct made_entry entry = { 2, 80, image, made_cubin(image, 80), 0, 0 };
    const struct { uint32_t magic, version; const void *binary; } wrapper = { 0x466243b1, 1, binary };
    made_fat_binary(binary, &entry, 1);
    memcpy(mapping, &wrapper, sizeof wrapper);
    memcpy(mapping + 100, "add\0table", 10);
    void *handle = r->__cudaRegisterFatBinary(mapping);
    r->__cudaRegisterFunction(handle, kernel, "stub", mapping + 100);
    add_variable(handle, variable, "table", mapping + 104, 0, MADE_TABLE);
    return handle;
}

Test(cudasim, a_library_that_was_closed_leaves_no_kernels_and_no_variables)
{
    enum { BYTES = 1 << 16 };
    static char kernel, variable;
    const struct rig_dim3 one = { 1, 1, 1 };
    struct cudasim_rig r;
    int (*find)(void **, const void *);
    void *addr = NULL;
    cudasim_rig_open(&r, "a100-80g", "libcudart.so.12");
    cudasim_rig_find(cudasim_rig_library("libcudart.so.12"), "cudaGetSymbolAddress", &find);
    for (int i = 0; i < 3; i++) {
        const bool is_asked = i < 2;                 /* the last is closed before anybody asked for what is in it */
        char *mapping = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cr_assert(mapping != MAP_FAILED);
        void *handle = open_library(&r, mapping, &kernel, &variable);
        if (is_asked) {
            cr_expect_eq(r.cudaLaunchKernel(&kernel, one, one, NULL, 0, 0), CODE_SUCCESS);
            cr_expect_eq(find(&addr, &variable), CODE_SUCCESS);
            cr_expect_eq(r.cudaMemcpy(addr, &one, sizeof one, 1), CODE_SUCCESS);
        }
        r.__cudaUnregisterFatBinary(handle);
        munmap(mapping, BYTES);
    }
    cr_expect_eq(r.cudaLaunchKernel(&kernel, one, one, NULL, 0, 0), CODE_INVALID_FUNCTION);
    cr_expect_eq(find(&addr, &variable), CODE_INVALID_SYMBOL);
    cr_expect_eq(r.cudaMemcpy(addr, &one, sizeof one, 1), CODE_INVALID_VALUE);
}

Test(cudasim, a_copy_refuses_what_is_no_memory_of_a_device)
{
    enum { TO_DEVICE = 1, FROM_DEVICE, WITHIN_DEVICE, ANY };
    struct cudasim_rig r;
    void *live, *freed, *pinned;
    char own[64];
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert(r.cudaMalloc(&live, 64) == CODE_SUCCESS && r.cudaMalloc(&freed, 64) == CODE_SUCCESS);
    cr_assert(r.cudaHostAlloc(&pinned, 64, 0) == CODE_SUCCESS && r.cudaFree(freed) == CODE_SUCCESS);
    const struct { void *to; const void *from; int kind, code; } cases[] = {
        { live, own, TO_DEVICE, CODE_SUCCESS },        { own, live, FROM_DEVICE, CODE_SUCCESS },
        { live, pinned, ANY, CODE_SUCCESS },           { pinned, own, TO_DEVICE, CODE_SUCCESS },
        { freed, own, TO_DEVICE, CODE_INVALID_VALUE }, { own, freed, FROM_DEVICE, CODE_INVALID_VALUE },
        { freed, own, ANY, CODE_INVALID_VALUE },       { live, freed, WITHIN_DEVICE, CODE_INVALID_VALUE },
        { own, own, TO_DEVICE, CODE_INVALID_VALUE },   { own, own, FROM_DEVICE, CODE_INVALID_VALUE },
        { own, own, 5, CODE_INVALID_DIRECTION },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_eq(r.cudaMemcpy(cases[i].to, cases[i].from, 16, cases[i].kind), cases[i].code, "case %zu", i);
    cr_expect_eq(r.cudaMemset(freed, 0, 16), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaMemcpy(live, own, 65, TO_DEVICE), CODE_INVALID_VALUE);
}

static void count_call(void *n)
{
    ++*(int *)n;
}

Test(cudasim, a_function_of_the_host_runs_at_each_launch_of_its_graph)
{
    struct cudasim_rig r;
    uint64_t stream, captured, made, copy, exec, node;
    int n_calls = 0;
    const struct { void (*function)(void *); void *argument; } params = { count_call, &n_calls };
    int (*host)(uint64_t, void (*)(void *), void *), (*add_empty)(uint64_t *, uint64_t, const void *, size_t),
        (*add_host)(uint64_t *, uint64_t, const void *, size_t, const void *), (*create)(uint64_t *, unsigned),
        (*nodes)(uint64_t, uint64_t *, size_t *), (*clone)(uint64_t *, uint64_t);
    size_t n = 0;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.13");
    void *runtime = cudasim_rig_library("libcudart.so.13");
    cudasim_rig_find(runtime, "cudaLaunchHostFunc", &host);
    cudasim_rig_find(runtime, "cudaGraphCreate", &create);
    cudasim_rig_find(runtime, "cudaGraphAddEmptyNode", &add_empty);
    cudasim_rig_find(runtime, "cudaGraphAddHostNode", &add_host);
    cudasim_rig_find(runtime, "cudaGraphGetNodes", &nodes);
    cudasim_rig_find(runtime, "cudaGraphClone", &clone);
    cr_assert_eq(r.cudaStreamCreate(&stream), CODE_SUCCESS);
    cr_assert_eq(r.cudaStreamBeginCapture(stream, 0), CODE_SUCCESS);
    cr_expect_eq(host(stream, count_call, &n_calls), CODE_SUCCESS);
    cr_assert_eq(r.cudaStreamEndCapture(stream, &captured), CODE_SUCCESS);
    cr_expect_eq(n_calls, 0);
    cr_assert_eq(r.cudaGraphInstantiateWithFlags(&exec, captured, 0), CODE_SUCCESS);
    cr_expect(r.cudaGraphLaunch(exec, stream) == CODE_SUCCESS && r.cudaGraphLaunch(exec, stream) == CODE_SUCCESS);
    cr_expect_eq(n_calls, 2);
    cr_assert(create(&made, 0) == CODE_SUCCESS && add_empty(&node, made, NULL, 0) == CODE_SUCCESS);
    cr_assert_eq(add_host(&node, made, &node, 1, &params), CODE_SUCCESS);
    cr_expect(nodes(made, NULL, &n) == CODE_SUCCESS && n == 2, "%zu", n);
    cr_assert(clone(&copy, made) == CODE_SUCCESS && r.cudaGraphInstantiateWithFlags(&exec, copy, 0) == CODE_SUCCESS);
    cr_expect(r.cudaGraphLaunch(exec, stream) == CODE_SUCCESS && n_calls == 3);
    cr_expect_eq(add_empty(&node, stream, NULL, 0), CODE_INVALID_VALUE);
}

Test(cudasim, a_set_in_rows_stays_within_its_memory)
{
    struct cudasim_rig r;
    int (*set)(void *, size_t, int, size_t, size_t);
    unsigned char *p;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cudasim_rig_find(cudasim_rig_library("libcudart.so.12"), "cudaMemset2D", &set);
    cr_assert_eq(r.cudaMallocManaged((void **)&p, 100, 1), CODE_SUCCESS);
    memset(p, 1, 100);
    cr_expect_eq(set(p, 40, 7, 20, 3), CODE_SUCCESS);
    cr_expect(p[0] == 7 && p[19] == 7 && p[20] == 1 && p[40] == 7 && p[99] == 7);
    cr_expect_eq(set(p, 40, 7, 21, 3), CODE_INVALID_VALUE);
    cr_expect_eq(set(p, 40, 7, 41, 2), CODE_INVALID_VALUE);
    cr_expect_eq(set(p, SIZE_MAX / 2, 7, 1, 4), CODE_INVALID_VALUE);
    cr_expect_eq(set(p, 40, 7, 20, 0), CODE_SUCCESS);
}

Test(cudasim, tables_of_the_driver_are_refused)
{
    struct cudasim_rig r;
    const void *table = NULL;
    const unsigned char id[16] = { 0 };
    cudasim_rig_open(&r, "sim:1GiB", NULL);
    cr_expect_eq(r.cuGetExportTable(&table, id), CODE_NOT_SUPPORTED);
    cr_expect_null(table);
}

Test(cudasim, what_is_not_simulated_says_so)
{
    struct cudasim_rig r;
    void *function = &r;
    int status = 0;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_expect_eq(r.cudaImportExternalMemory(), CODE_NOT_SUPPORTED);
    cr_expect_eq(r.cuGetProcAddress_v2("cuNoSuchFunction", &function, 13000, 0, &status), CODE_SUCCESS);
    cr_expect_null(function);
    cr_expect_eq(status, 1);
    cr_expect_eq(r.cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &status), CODE_SUCCESS);
    cr_expect(memcmp(&function, &r.cuMemAlloc_v2, sizeof function) == 0);
}

Test(cudasim, a_name_means_the_form_that_the_version_asked_for_had)
{
    static const struct { const char *name; int version; const char *form; } cases[] = {
        { "cuGetProcAddress", 11030, "cuGetProcAddress" }, { "cuGetProcAddress", 12000, "cuGetProcAddress_v2" },
        { "cuMemAlloc", 3020, "cuMemAlloc_v2" }, { "cuCtxDestroy", 3020, "cuCtxDestroy" },
        { "cuCtxDestroy", 4000, "cuCtxDestroy_v2" }, { "cuCtxGetDevice", 12090, "cuCtxGetDevice" },
        { "cuCtxGetDevice", 13000, "cuCtxGetDevice_v2" }, { "cuCtxCreate", 11040, "cuCtxCreate_v3" },
        { "cuCtxCreate", 13000, "cuCtxCreate_v4" }, { "cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2" },
        { "cuGraphInstantiate", 10000, "cuGraphInstantiate" },
        { "cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags" },
        { "cuMemPrefetchAsync", 13000, "cuMemPrefetchAsync_v2" },
        { "cuInit", 2000, "cuInit" },
    };
    struct cudasim_rig r;
    cudasim_rig_open(&r, "sim:1GiB", NULL);
    void *driver = cudasim_rig_library("libcuda.so.1");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        void *found = NULL;
        int status = -1;
        cr_expect_eq(r.cuGetProcAddress_v2(cases[i].name, &found, cases[i].version, 0, &status), CODE_SUCCESS);
        cr_expect_eq(found, dlsym(driver, cases[i].form), "%s of %d", cases[i].name, cases[i].version);
        cr_expect_eq(status, 0);
    }
}

Test(cudasim, a_context_may_be_named_where_the_current_one_was_meant)
{
    struct cudasim_rig r;
    int (*device_of)(int *, uint64_t), (*synchronize)(uint64_t), (*retain)(uint64_t *, int), device = -1, now = -1;
    uint64_t contexts[2];
    cudasim_rig_open(&r, "sim:1GiB,count=2", "libcudart.so.12");
    void *driver = cudasim_rig_library("libcuda.so.1");
    cudasim_rig_find(driver, "cuCtxGetDevice_v2", &device_of);
    cudasim_rig_find(driver, "cuCtxSynchronize_v2", &synchronize);
    cudasim_rig_find(driver, "cuDevicePrimaryCtxRetain", &retain);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(retain(&contexts[i], i), CODE_SUCCESS);
    cr_expect_eq(device_of(&device, contexts[1]), CODE_SUCCESS);
    cr_expect_eq(device, 1);
    cr_expect_eq(synchronize(contexts[1]), CODE_SUCCESS);
    cr_expect_eq(device_of(&now, 0), CODE_SUCCESS);
    cr_expect_eq(now, 0, "the current one stays");
    cr_expect_eq(device_of(&device, 12345), CODE_INVALID_CONTEXT);
    cr_expect_eq(synchronize(12345), CODE_INVALID_CONTEXT);
}

Test(cudasim, a_card_says_that_it_has_no_fabric_in_as_much_room_as_there_is)
{
    enum { SUCCESS = 0, BAD_ARGUMENT = 2, BYTES = 36, VERSION = 2 << 24 };
    struct cudasim_rig r;
    int (*init)(void), (*count)(unsigned *), (*fabric)(uint64_t, void *);
    unsigned char answer[BYTES + 4];
    const uint32_t version = VERSION | BYTES, no_room = VERSION;
    unsigned n = 0;
    cudasim_rig_open(&r, "sim:1GiB,count=2", NULL);
    void *nvml = cudasim_rig_library("libnvidia-ml.so.1");
    cudasim_rig_find(nvml, "nvmlInit_v2", &init);
    cudasim_rig_find(nvml, "nvmlDeviceGetCount_v2", &count);
    cudasim_rig_find(nvml, "nvmlDeviceGetGpuFabricInfoV", &fabric);
    cr_assert_eq(init(), SUCCESS);
    cr_assert_eq(count(&n), SUCCESS);
    cr_expect_eq(n, 2);

    memset(answer, 0xaa, sizeof answer);
    memcpy(answer, &version, sizeof version);
    cr_expect_eq(fabric(2, answer), SUCCESS);
    for (size_t i = sizeof version; i < BYTES; i++)
        cr_expect_eq(answer[i], 0, "byte %zu", i);
    cr_expect_eq(answer[BYTES], 0xaa);
    cr_expect_eq(fabric(3, answer), BAD_ARGUMENT);
    memcpy(answer, &no_room, sizeof no_room);
    cr_expect_eq(fabric(2, answer), BAD_ARGUMENT);
}

/* Of two values of 40 bytes each, as nvmlFieldValue_t has them: what became of one stands at byte 28. */
Test(cudasim, each_field_that_nobody_knows_says_so_itself)
{
    enum { SUCCESS = 0, BAD_ARGUMENT = 2, NOT_SUPPORTED = 3, BYTES = 40, CODE_AT = 28 };
    struct cudasim_rig r;
    int (*init)(void), (*fields)(uint64_t, int, void *), code;
    unsigned char values[3 * BYTES];
    cudasim_rig_open(&r, "sim:1GiB", NULL);
    void *nvml = cudasim_rig_library("libnvidia-ml.so.1");
    cudasim_rig_find(nvml, "nvmlInit_v2", &init);
    cudasim_rig_find(nvml, "nvmlDeviceGetFieldValues", &fields);
    cr_assert_eq(init(), SUCCESS);
    memset(values, 0xaa, sizeof values);
    cr_expect_eq(fields(1, 2, values), SUCCESS);
    for (size_t i = 0; i < 2; i++) {
        memcpy(&code, values + i * BYTES + CODE_AT, sizeof code);
        cr_expect_eq(code, NOT_SUPPORTED, "field %zu", i);
    }
    cr_expect_eq(values[2 * BYTES + CODE_AT], 0xaa, "no more than was asked for");
    cr_expect_eq(fields(2, 2, values), BAD_ARGUMENT);
    cr_expect_eq(fields(1, 0, values), BAD_ARGUMENT);
    cr_expect_eq(fields(1, 1, NULL), BAD_ARGUMENT);
}

Test(cudasim, a_card_tells_its_capability_and_which_cards_it_reaches)
{
    enum { SUCCESS = 0, BAD_ARGUMENT = 2, READ = 0, NVLINK = 2, REACHED = 0, NOT_REACHED = 5 };
    struct cudasim_rig r;
    int (*init)(void), (*capability)(uint64_t, int *, int *), (*peers)(uint64_t, uint64_t, int, int *);
    int major = 0, minor = 0, status = -1;
    cudasim_rig_open(&r, "rtx3090-24g,count=2", NULL);
    void *nvml = cudasim_rig_library("libnvidia-ml.so.1");
    cudasim_rig_find(nvml, "nvmlInit_v2", &init);
    cudasim_rig_find(nvml, "nvmlDeviceGetCudaComputeCapability", &capability);
    cudasim_rig_find(nvml, "nvmlDeviceGetP2PStatus", &peers);
    cr_assert_eq(init(), SUCCESS);
    cr_assert_eq(capability(2, &major, &minor), SUCCESS);
    cr_expect_eq(10 * major + minor, 86);
    cr_expect_eq(capability(3, &major, &minor), BAD_ARGUMENT);
    cr_assert_eq(peers(1, 2, READ, &status), SUCCESS);
    cr_expect_eq(status, REACHED);
    cr_assert_eq(peers(1, 2, NVLINK, &status), SUCCESS);
    cr_expect_eq(status, NOT_REACHED);
    cr_expect_eq(peers(1, 3, READ, &status), BAD_ARGUMENT);
}

/* As late as it can be: the other end of a prediction's range. */
Test(cudasim, work_may_end_once_the_program_waits_and_asking_for_ever_ends)
{
    struct cudasim_rig r;
    uint64_t stream = 0, event = 0;
    int n = 0;
    setenv(CUDASIM_ENV_WAITS, "late", 1);
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert_eq(r.cudaStreamCreate(&stream), CODE_SUCCESS);
    cr_assert_eq(r.cudaEventCreate(&event), CODE_SUCCESS);
    cr_assert_eq(r.cudaEventRecord(event, stream), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventQuery(event), CODE_NOT_READY);
    cr_expect_eq(r.cudaStreamSynchronize(stream), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventQuery(event), CODE_SUCCESS);
    cr_assert_eq(r.cudaEventRecord(event, stream), CODE_SUCCESS);
    while (r.cudaEventQuery(event) == CODE_NOT_READY && n < 1000000)
        n++;
    cr_expect_gt(n, 1000, "a wait");
    cr_expect_lt(n, 100000, "and not for ever");
}

Test(cudasim, codes_have_the_names_and_sentences_of_cuda)
{
    struct cudasim_rig r;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_expect_str_eq(r.cudaGetErrorName(2), "cudaErrorMemoryAllocation");
    cr_expect_str_eq(r.cudaGetErrorString(2), "out of memory");
    cr_expect_str_eq(r.cudaGetErrorString(801), "operation not supported");
    cr_expect_str_eq(r.cudaGetErrorString(-5), "unrecognized error code");
}

/* A program that allocates and frees. Returns false if a call was refused. */
static bool run_program(const struct cudasim_rig *r)
{
    void *p[4] = { 0 };
    uint64_t range = 0, phys = 0;
    bool is_done = true;
    for (int i = 0; i < 3; i++)
        is_done = r->cudaMalloc(&p[i], (size_t)(i + 1) * 3 * MIB) == CODE_SUCCESS && is_done;
    is_done = r->cudaMallocAsync(&p[3], 5 * MIB, 0) == CODE_SUCCESS && is_done;
    is_done = r->cuMemAddressReserve(&range, 20 * MIB, 0, 0, 0) == CODE_SUCCESS && is_done;
    is_done = r->cuMemCreate(&phys, 20 * MIB, &on_device_0, 0) == CODE_SUCCESS && is_done;
    if (range != 0 && phys != 0) {
        cr_expect_eq(r->cuMemMap(range, 20 * MIB, 0, phys, 0), CODE_SUCCESS);
        cr_expect_eq(r->cuMemUnmap(range, 20 * MIB), CODE_SUCCESS);
    }
    if (phys != 0)
        cr_expect_eq(r->cuMemRelease(phys), CODE_SUCCESS);
    if (range != 0)
        cr_expect_eq(r->cuMemAddressFree(range, 20 * MIB), CODE_SUCCESS);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(r->cudaFree(p[i]), CODE_SUCCESS);
    if (p[3] != NULL)
        cr_expect_eq(r->cudaFreeAsync(p[3], 0), CODE_SUCCESS);
    cr_expect_eq(r->cudaDeviceSynchronize(), CODE_SUCCESS);
    return is_done;
}

Test(cudasim, any_call_may_be_refused_and_nothing_is_lost)
{
    struct cudasim_rig r;
    uint64_t n = 1;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    do {
        r.cudasim_fail_from(0, n);
        const bool is_done = run_program(&r);
        r.cudasim_fail_from(0, 0);
        cr_expect_eq(cudasim_rig_free_bytes(&r), 1 * GIB, "call %llu refused", (unsigned long long)n);
        if (is_done)
            break;
    } while (++n < 100);
    cr_expect_eq(n, 7, "six growing calls; the seventh was never reached");
}

/* The same calls on the device of replays: after each, the free memory must be the same. */
Test(cudasim, its_numbers_are_those_of_the_simulated_device)
{
    enum { CALLS = 400 };
    struct cudasim_rig r;
    struct device_config cfg;
    const struct device_ops *ops;
    struct device *dev;
    struct err_detail err;
    struct segment segments[CALLS];
    void *pointers[CALLS];
    bool has_total;
    uint64_t random = 88172645463325252;
    cudasim_rig_open(&r, "sim:512MiB,context=20MiB", "libcudart.so.12");
    cr_assert_eq(device_parse("sim:512MiB,context=20MiB", &cfg, &ops, &has_total, &err), ERR_OK);
    cr_assert_eq(device_open(ops, &cfg, &dev, &err), ERR_OK);
    size_t n = 0;
    for (int i = 0; i < CALLS; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        uint64_t free_bytes, total_bytes;
        if (n > 0 && random % 5 < 2) {
            const size_t k = random / 8 % n;
            device_segment_free(dev, &segments[k]);
            cr_expect_eq(r.cudaFree(pointers[k]), CODE_SUCCESS);
            segments[k] = segments[--n];
            pointers[k] = pointers[n];
        } else {
            const uint64_t bytes = 1 + random % (random % 3 == 0 ? 60 * MIB : 900 * KIB);
            const enum err e = device_segment_alloc(dev, bytes, &segments[n]);
            cr_expect_eq(r.cudaMalloc(&pointers[n], bytes), e == ERR_OK ? CODE_SUCCESS : CODE_OUT_OF_MEMORY);
            n += e == ERR_OK;
        }
        device_memory_info(dev, &free_bytes, &total_bytes);
        cr_expect_eq(cudasim_rig_free_bytes(&r), free_bytes, "after call %d", i);
    }
    device_close(dev);
}
