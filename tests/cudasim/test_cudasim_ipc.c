/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Two processes of one run share memory and events of the simulated card by handles, as NVIDIA documents. */
#include "tests/cudasim_rig.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMING_OFF = 2, OF_PROCESSES = 4, LAZY_PEER = 1, TO_DEVICE = 1, FROM_DEVICE = 2 };

/* The two ends of a pair of processes; each says one handle at a time to the other. */
struct pair {
    char folder[64];
    int  to_child[2], to_parent[2];
    pid_t child;
};

/* True in the child. Neither process has opened the libraries yet, because CUDA does not survive a fork. */
static bool pair_begin(struct pair *p)
{
    strcpy(p->folder, "/tmp/replay-ipc-XXXXXX");
    cr_assert_not_null(mkdtemp(p->folder));
    cr_assert_eq(pipe(p->to_child), 0);
    cr_assert_eq(pipe(p->to_parent), 0);
    setenv(CUDASIM_ENV_JOURNAL, p->folder, 1);
    p->child = fork();
    return p->child == 0;
}

static void say(int fd, const struct cudasim_ipc_handle *h)
{
    if (write(fd, h, sizeof *h) != (ssize_t)sizeof *h)
        abort();
}

static struct cudasim_ipc_handle hear(int fd)
{
    struct cudasim_ipc_handle h;
    if (read(fd, &h, sizeof h) != (ssize_t)sizeof h)
        _exit(1);                            /* the other process has failed */
    return h;
}

static void pair_end(const struct pair *p)
{
    int status = -1;
    close(p->to_child[1]);
    waitpid(p->child, &status, 0);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the other process says what it was");
    DIR *d = opendir(p->folder);
    for (const struct dirent *f; d != NULL && (f = readdir(d)) != NULL;)
        unlinkat(dirfd(d), f->d_name, 0);
    closedir(d);
    rmdir(p->folder);
}

/* In the child there is no Criterion: it says what was wrong and ends. */
static void same(int line, long wanted, long got)
{
    if (wanted == got)
        return;
    fprintf(stderr, "line %d: %ld instead of %ld\n", line, got, wanted);
    _exit(1);
}
#define SAME(wanted, got) same(__LINE__, (long)(wanted), (long)(got))

static uint64_t free_now(const struct cudasim_rig *r)
{
    size_t free_bytes = 0, total_bytes;
    SAME(CODE_SUCCESS, r->cudaMemGetInfo(&free_bytes, &total_bytes));
    return free_bytes;
}

static void import_memory(const struct pair *p)
{
    struct cudasim_rig r;
    void *a = NULL, *b = NULL;
    char text[4] = "abc";
    struct { int type, device; void *on_device, *on_host; long rest[8]; } facts;
    struct cudasim_ipc_handle h = hear(p->to_child[0]), bad = { .bytes = "nonsense" };
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    const uint64_t free_bytes = free_now(&r);
    SAME(CODE_INVALID_VALUE, r.cudaIpcOpenMemHandle(&a, h, 0));
    SAME(CODE_INVALID_VALUE, r.cudaIpcOpenMemHandle(&a, bad, LAZY_PEER));
    SAME(CODE_SUCCESS, r.cudaIpcOpenMemHandle(&a, h, LAZY_PEER));
    SAME(CODE_SUCCESS, r.cudaIpcOpenMemHandle(&b, h, LAZY_PEER));
    SAME(1, a == b);                                             /* opened twice, mapped once */
    SAME(free_bytes, free_now(&r));                              /* counted in the other process */
    SAME(CODE_SUCCESS, r.cudaPointerGetAttributes(&facts, (char *)a + 100));
    SAME(2, facts.type);
    SAME(CODE_SUCCESS, r.cudaMemcpy((char *)a + 3 * MIB - 4, text, 4, TO_DEVICE));
    SAME(CODE_SUCCESS, r.cudaMemcpy(text, a, 4, FROM_DEVICE));
    SAME(CODE_INVALID_VALUE, r.cudaMemcpy((char *)a + 3 * MIB - 3, text, 4, TO_DEVICE));
    SAME(CODE_INVALID_VALUE, r.cudaFree(a));                     /* cudaIpcCloseMemHandle gives it back */
    SAME(CODE_INVALID_VALUE, r.cudaIpcGetMemHandle(&bad, a));    /* the exporter alone exports it */
    SAME(CODE_SUCCESS, r.cudaIpcCloseMemHandle(b));
    SAME(CODE_SUCCESS, r.cudaMemcpy(text, a, 4, FROM_DEVICE));
    SAME(CODE_SUCCESS, r.cudaIpcCloseMemHandle(a));
    SAME(CODE_INVALID_VALUE, r.cudaIpcCloseMemHandle(a));
    SAME(CODE_INVALID_VALUE, r.cudaMemcpy(text, a, 4, FROM_DEVICE));
    say(p->to_parent[1], &h);
    h = hear(p->to_child[0]);                                    /* the exporter has freed it meanwhile */
    SAME(CODE_INVALID_VALUE, r.cudaIpcOpenMemHandle(&a, h, LAZY_PEER));
    _exit(0);
}

Test(cudasim_ipc, memory_of_another_process_is_opened_and_counted_once)
{
    struct pair pair;
    struct cudasim_rig r;
    struct cudasim_ipc_handle h, again;
    void *p = NULL, *pooled = NULL, *pinned = NULL;
    if (pair_begin(&pair))
        import_memory(&pair);
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.13");
    cr_assert_eq(r.cudaMalloc(&p, 3 * MIB), CODE_SUCCESS);
    cr_assert_eq(r.cudaMallocAsync(&pooled, 3 * MIB, 0), CODE_SUCCESS);
    cr_assert_eq(r.cudaHostAlloc(&pinned, 4096, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaIpcGetMemHandle(&h, pooled), CODE_INVALID_VALUE, "a pool's memory has handles of its own");
    cr_expect_eq(r.cudaIpcGetMemHandle(&h, pinned), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaIpcGetMemHandle(&h, NULL), CODE_INVALID_VALUE);
    cr_assert_eq(r.cudaIpcGetMemHandle(&h, p), CODE_SUCCESS);
    cr_expect_eq(r.cudaIpcGetMemHandle(&again, (char *)p + 512), CODE_SUCCESS);
    cr_expect_eq(memcmp(&h, &again, sizeof h), 0, "the same handle for the whole allocation");
    cr_expect_eq(r.cudaIpcOpenMemHandle(&pooled, h, LAZY_PEER), CODE_INVALID_CONTEXT, "not in the same process");
    say(pair.to_child[1], &h);
    again = hear(pair.to_parent[0]);
    cr_expect_eq(r.cudaFree(p), CODE_SUCCESS);
    cr_assert_eq(r.cudaMalloc(&p, 3 * MIB), CODE_SUCCESS);
    cr_expect_eq(r.cudaIpcGetMemHandle(&again, p), CODE_SUCCESS);
    cr_expect_neq(memcmp(&h, &again, sizeof h), 0, "new memory has a handle of its own, at the same address too");
    say(pair.to_child[1], &h);
    pair_end(&pair);
}

static void import_event(const struct pair *p)
{
    struct cudasim_rig r;
    uint64_t event = 0, stream = 0;
    struct cudasim_ipc_handle h = hear(p->to_child[0]);
    cudasim_rig_open(&r, "sim:1GiB", NULL);
    SAME(CODE_NOT_INITIALIZED, r.cuIpcOpenEventHandle(&event, h));
    SAME(CODE_SUCCESS, r.cuInit(0));
    SAME(CODE_INVALID_CONTEXT, r.cuIpcOpenEventHandle(&event, h));
    SAME(CODE_SUCCESS, r.cuCtxCreate_v2(&stream, 0, 0));
    SAME(CODE_INVALID_VALUE, r.cuIpcOpenMemHandle_v2(&stream, h, LAZY_PEER));        /* it is an event's */
    SAME(CODE_SUCCESS, r.cuIpcOpenEventHandle(&event, h));
    SAME(CODE_SUCCESS, r.cuStreamWaitEvent(0, event, 0));
    SAME(CODE_SUCCESS, r.cuEventQuery(event));
    SAME(CODE_SUCCESS, r.cuEventDestroy_v2(event));
    say(p->to_parent[1], &h);
    h = hear(p->to_child[0]);
    SAME(CODE_INVALID_VALUE, r.cuIpcOpenEventHandle(&event, h));                     /* destroyed meanwhile */
    _exit(0);
}

Test(cudasim_ipc, an_event_made_for_it_is_opened_by_another_process)
{
    struct pair pair;
    struct cudasim_rig r;
    struct cudasim_ipc_handle h;
    uint64_t event = 0, plain = 0;
    if (pair_begin(&pair))
        import_event(&pair);
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_expect_eq(r.cudaEventCreateWithFlags(&event, OF_PROCESSES), CODE_INVALID_VALUE, "without timing only");
    cr_assert_eq(r.cudaEventCreateWithFlags(&event, OF_PROCESSES | TIMING_OFF), CODE_SUCCESS);
    cr_assert_eq(r.cudaEventCreate(&plain), CODE_SUCCESS);
    cr_expect_eq(r.cudaIpcGetEventHandle(&h, plain), CODE_INVALID_HANDLE);
    cr_expect_eq(r.cudaIpcGetEventHandle(&h, 1), CODE_INVALID_HANDLE);
    cr_assert_eq(r.cudaIpcGetEventHandle(&h, event), CODE_SUCCESS);
    cr_expect_eq(r.cudaEventRecord(event, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaIpcOpenEventHandle(&plain, h), CODE_INVALID_CONTEXT, "not in the same process");
    say(pair.to_child[1], &h);
    (void)hear(pair.to_parent[0]);
    cr_expect_eq(r.cudaEventDestroy(event), CODE_SUCCESS);
    say(pair.to_child[1], &h);
    pair_end(&pair);
}

static void export_and_end(const struct pair *p)
{
    struct cudasim_rig r;
    struct cudasim_ipc_handle h;
    void *a = NULL;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    SAME(CODE_SUCCESS, r.cudaMalloc(&a, 1 * MIB));
    SAME(CODE_SUCCESS, r.cudaIpcGetMemHandle(&h, a));
    say(p->to_parent[1], &h);
    _exit(0);
}

Test(cudasim_ipc, the_end_of_a_process_ends_what_it_exported)
{
    struct pair pair;
    struct cudasim_rig r;
    void *p = NULL;
    if (pair_begin(&pair))
        export_and_end(&pair);
    const struct cudasim_ipc_handle h = hear(pair.to_parent[0]);
    pair_end(&pair);
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_expect_neq(r.cudaIpcOpenMemHandle(&p, h, LAZY_PEER), CODE_SUCCESS);
}

/* The descriptor is inherited: a program passes it through a socket. */
static void import_physical(const struct pair *p, int shared)
{
    struct cudasim_rig r;
    uint64_t physical = 0, addr = 0;
    char text[4] = "abc";
    (void)hear(p->to_child[0]);
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    const uint64_t free_bytes = free_now(&r);
    SAME(CODE_SUCCESS, r.cuMemImportFromShareableHandle(&physical, (void *)(intptr_t)shared, 1));
    SAME(CODE_SUCCESS, r.cuMemAddressReserve(&addr, 4 * MIB, 0, 0, 0));
    SAME(CODE_SUCCESS, r.cuMemMap(addr, 4 * MIB, 0, physical, 0));
    SAME(CODE_SUCCESS, r.cuMemRelease(physical));
    SAME(free_bytes, free_now(&r));                              /* counted in the other process */
    SAME(CODE_SUCCESS, r.cudaMemcpy((void *)(uintptr_t)addr, text, 4, TO_DEVICE));
    SAME(CODE_SUCCESS, r.cuMemUnmap(addr, 4 * MIB));
    SAME(CODE_SUCCESS, r.cuMemAddressFree(addr, 4 * MIB));
    SAME(CODE_INVALID_VALUE, r.cuMemImportFromShareableHandle(&physical, (void *)(intptr_t)p->to_child[0], 1));
    say(p->to_parent[1], &(struct cudasim_ipc_handle){ .bytes = "" });
    (void)hear(p->to_child[0]);
    /* It was released meanwhile. */
    SAME(CODE_INVALID_VALUE, r.cuMemImportFromShareableHandle(&physical, (void *)(intptr_t)shared, 1));
    _exit(0);
}

Test(cudasim_ipc, physical_memory_is_passed_on_in_a_descriptor)
{
    static const struct { int type, types, place_type, place; void *metadata; unsigned char flags[8]; }
        shareable = { .type = 1, .types = 1, .place_type = 1 }, own = { .type = 1, .place_type = 1 };
    const struct cudasim_ipc_handle nothing = { .bytes = "" };
    struct pair pair;
    struct cudasim_rig r;
    uint64_t physical = 0, again = 0, unshared = 0;
    int fd = -1;
    FILE *file = tmpfile();                  /* both processes have its descriptor */
    cr_assert_not_null(file);
    if (pair_begin(&pair))
        import_physical(&pair, fileno(file));
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert_eq(r.cuMemCreate(&physical, 4 * MIB, &shareable, 0), CODE_SUCCESS);
    cr_assert_eq(r.cuMemCreate(&unshared, 4 * MIB, &own, 0), CODE_SUCCESS);
    cr_expect_eq(r.cuMemExportToShareableHandle(&fd, unshared, 1, 0), CODE_INVALID_VALUE, "it was not asked for");
    cr_expect_eq(r.cuMemExportToShareableHandle(&fd, physical, 8, 0), CODE_INVALID_VALUE, "a fabric's handle");
    cr_assert_eq(r.cuMemExportToShareableHandle(&fd, physical, 1, 0), CODE_SUCCESS);
    struct cudasim_ipc_handle h;
    cr_assert_eq(pread(fd, &h, sizeof h, 0), (ssize_t)sizeof h);
    cr_assert_eq(write(fileno(file), &h, sizeof h), (ssize_t)sizeof h);      /* stands for the socket */
    cr_expect_eq(r.cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd, 1), CODE_SUCCESS);
    cr_expect_eq(again, physical, "in the same process it is the same memory");
    cr_expect_eq(r.cuMemRelease(again), CODE_SUCCESS);
    say(pair.to_child[1], &nothing);
    (void)hear(pair.to_parent[0]);
    cr_expect_eq(r.cuMemRelease(physical), CODE_SUCCESS);
    say(pair.to_child[1], &nothing);
    pair_end(&pair);
    close(fd);
    fclose(file);
}

Test(cudasim_ipc, without_a_run_there_is_nobody_to_share_with)
{
    struct cudasim_rig r;
    struct cudasim_ipc_handle h = { .bytes = "" };
    void *p = NULL;
    unsetenv(CUDASIM_ENV_JOURNAL);
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert_eq(r.cudaMalloc(&p, 1 * MIB), CODE_SUCCESS);
    cr_expect_eq(r.cudaIpcGetMemHandle(&h, p), CODE_NOT_SUPPORTED);
    cr_expect_eq(r.cudaIpcOpenMemHandle(&p, h, LAZY_PEER), CODE_NOT_SUPPORTED);
}
