/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The programs that the tests of recording start: `record_program WHAT LOG`.
 *
 * After each call has returned, write(2) appends a line to LOG, "A thread addr bytes stream device" or "F thread addr".
 * A line there has happened, however the process ends.
 */
#define _GNU_SOURCE                   /* SYS_gettid */
#include "tests/record/called_cuda.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIVE_MAX = 40, FOREVER = 1 << 30, KIB = 1024 };

static int log_fd;
static atomic_uint n_calls;

static void say(const char *fmt, uint64_t addr, size_t bytes, uintptr_t stream, int device)
{
    char line[160];
    const int n = snprintf(line, sizeof line, fmt, (unsigned)syscall(SYS_gettid), (unsigned long long)addr, bytes,
                           (unsigned long long)stream, device);
    if (write(log_fd, line, (size_t)n) != n)
        _exit(9);
    atomic_fetch_add(&n_calls, 1);
}

static void say_alloc(uint64_t addr, size_t bytes, uintptr_t stream, int device)
{
    say("A %u %llx %zu %llu %d\n", addr, bytes, stream, device);
}

static void say_free(uint64_t addr) { say("F %u %llx\n", addr, 0, 0, 0); }

static void expect(bool is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "record_program: %s\n", what);
    _exit(8);
}

/* Allocations and frees in some order, on one of two streams; every third in stream order. */
static void work(unsigned seed, int n)
{
    struct { uint64_t addr; uintptr_t stream; } live[LIVE_MAX];
    int n_live = 0;
    for (int i = 0; i < n; i++) {
        const int at = rand_r(&seed) % LIVE_MAX;
        const uintptr_t stream = seed % 3 == 0 ? 16 + 16 * (seed % 2) : 0;
        if (at < n_live) {
            const uint64_t addr = live[at].addr;
            const int code = live[at].stream == 0 ? cudaFree(addr) : cudaFreeAsync(addr, live[at].stream);
            expect(code == 0, "a free failed");
            say_free(addr);
            live[at] = live[--n_live];
        } else {
            const size_t bytes = (size_t)(1 + rand_r(&seed) % 8) * KIB;
            uint64_t addr = 0;
            expect((stream == 0 ? cudaMalloc(&addr, bytes) : cudaMallocAsync(&addr, bytes, stream)) == 0, "no memory");
            say_alloc(addr, bytes, stream, 0);
            live[n_live].addr = addr;
            live[n_live++].stream = stream;
        }
    }
}

static void *work_forever(void *seed)
{
    work((unsigned)(uintptr_t)seed, FOREVER);
    return NULL;
}

static void run_killed(void)
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        expect(pthread_create(&threads[i], NULL, work_forever, (void *)(i + 1)) == 0, "no thread");
    while (atomic_load(&n_calls) < 20000)
        usleep(1000);
    raise(SIGKILL);
}

static void run_fork(void)
{
    work(1, 100);
    const pid_t child = fork();
    if (child == 0) {
        work(2, 60);
        _exit(0);
    }
    int status = 1;
    work(3, 100);
    expect(waitpid(child, &status, 0) == child && status == 0, "the child failed");
}

/* As run_fork, but by the system call itself, so that no handler of pthread_atfork runs. There is no other thread: it
 * could hold the fake CUDA's lock, which nobody would give up in the child. */
static void run_bare_fork(void)
{
    work(1, 1000);
    const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        work(2, 60);
        _exit(0);
    }
    int status = 1;
    expect(waitpid(child, &status, 0) == child && status == 0, "the child failed");
}

/* Writes a title over all that execve passed, arguments and environment, as setproctitle does. */
static void run_title(char **argv)
{
    static const char title[] = "vllm --api-key hunter3";
    char *end = argv[0];
    for (char **text = argv; *text != NULL; text++)
        end = *text + strlen(*text) + 1;
    for (char **text = environ; *text != NULL; text++)
        end = *text == end ? *text + strlen(*text) + 1 : end;
    memset(argv[0], 0, (size_t)(end - argv[0]));
    memcpy(argv[0], title, sizeof title);
    work(1, 40000);
}

/* Becomes another user, who may not look into the journals' folder, and fills many windows. */
static void run_dropping(void)
{
    work(5, 1000);
    expect(setgid(65534) == 0 && setuid(65534) == 0, "setuid");
    work(6, 40000);
}

/* Goes where the journals' folder has no name. */
static void run_rooted(void)
{
    work(5, 1000);
    expect(chroot("/proc") == 0, "chroot");
    work(6, 40000);
}

/* May make no file of more than 2 MiB from now on. */
static void run_limited(void)
{
    const struct rlimit limit = {.rlim_cur = 2 << 20, .rlim_max = 2 << 20};
    close(log_fd);
    log_fd = open("/dev/null", O_WRONLY);
    expect(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
    work(6, 40000);
}

static void on_alarm(int number)
{
    (void)number;
}

/* Until it is killed: threads that call, a signal every 200 us, and a child after the other that calls as well. */
static void run_storm(void)
{
    const struct itimerval often = { .it_interval.tv_usec = 200, .it_value.tv_usec = 200 };
    const struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    pthread_t threads[3];
    sigaction(SIGALRM, &action, NULL);
    for (uintptr_t i = 0; i < 3; i++)
        expect(pthread_create(&threads[i], NULL, work_forever, (void *)(i + 1)) == 0, "no thread");
    expect(setitimer(ITIMER_REAL, &often, NULL) == 0, "no timer");
    for (unsigned seed = 10;; seed++) {
        const pid_t child = fork();
        if (child == 0) {
            work(seed, 30);
            _exit(0);
        }
        expect(child > 0, "no child");
        while (waitpid(child, NULL, 0) < 0)
            ;
    }
}

static void run_driver(void)
{
    uint64_t a, b;
    size_t pitch;
    expect(cuMemAlloc_v2(&a, 5000) == 0, "cuMemAlloc_v2");
    say_alloc(a, 5000, 0, 0);
    expect(cuMemAllocPitch_v2(&b, &pitch, 1000, 3, 4) == 0, "cuMemAllocPitch_v2");
    say_alloc(b, pitch * 3, 0, 0);
    expect(cuMemFree_v2(a) == 0, "cuMemFree_v2");
    say_free(a);
}

static void run_failing(void)
{
    uint64_t addr, more;
    expect(cudaMalloc(&addr, 3 * KIB) == 0, "cudaMalloc");
    say_alloc(addr, 3 * KIB, 0, 0);
    expect(cudaFree(addr + 256) == 1, "a free of the middle must fail");
    expect(cudaFree(0) == 0, "nothing can be freed");
    expect(cudaMalloc(&more, 9 * KIB) == 2, "it must not fit");
    expect(cudaFree(addr) == 0, "cudaFree");
    say_free(addr);
    expect(cudaFree(addr) == 1, "a second free must fail");
}

static void run_kinds(void)
{
    const int on_device_1[8] = {1, 0, 1, 1, 0, 0, 0, 0};
    uint64_t addr, handle;
    expect(cudaMallocHost(&addr, 1000) == 0 && cuMemAllocManaged(&addr, 2000, 1) == 0, "host and managed");
    expect(cudaMallocAsync(&addr, 3000, 16) == 0, "cudaMallocAsync");
    expect(fakeInternalMalloc(&addr, 4000) == 0, "a driver call by the library's own hand");
    expect(cudaSetDevice(1) == 0 && cudaMalloc(&addr, 5000) == 0, "device 1");
    expect(cudaSetDevice(0) == 0 && cudaMalloc(&addr, 6000) == 0, "device 0");
    expect(cuMemCreate(&handle, 2 << 20, on_device_1, 0) == 0, "cuMemCreate");
    expect(cuMemMap(0x500000000000, 2 << 20, 0, handle, 0) == 0 && cuMemRelease(handle) == 0, "cuMemMap");
    expect(cuMemUnmap(0x500000000000, 2 << 20) == 0, "cuMemUnmap");
}

static void run_contexts(void)
{
    uint64_t addr;
    uintptr_t context;
    expect(cuMemAlloc_v2(&addr, 1000) == 0, "device 0");
    expect(cuCtxCreate_v2(&context, 0, 1) == 0 && cuMemAlloc_v2(&addr, 2000) == 0, "device 1");
}

/* ---- a signal handler that jumps out of a call ---- */

static sigjmp_buf before_call;

static void jump(int number)
{
    (void)number;
    siglongjmp(before_call, 1);
}

/* FAKE_CUDA_SLOW_US makes the call that is left last that long. */
static void run_jumping(void)
{
    const struct itimerval soon = {.it_value = {.tv_usec = 100000}};
    uint64_t addr;
    signal(SIGALRM, jump);
    if (sigsetjmp(before_call, 1) == 0) {
        setitimer(ITIMER_REAL, &soon, NULL);
        (void)cuMemAllocManaged(&addr, 3000, 1);
        expect(false, "the call was not left");
    }
    expect(cudaMalloc(&addr, 1000) == 0 && cuMemAlloc_v2(&addr, 2000) == 0, "after the jump");
}

static void run_arrays(void)
{
    const int floats[5] = {32}, colours[5] = {8, 8, 8, 8};
    const struct { size_t width, height; unsigned format, n_channels; } halves = {64, 8, 0x10, 2};
    uint64_t plain, volume, mipmaps, driver;
    expect(cudaMallocArray(&plain, floats, 100, 0, 0) == 0, "cudaMallocArray");
    expect(cudaMalloc3DArray(&volume, colours, (struct extent){10, 20, 30}, 0) == 0, "cudaMalloc3DArray");
    expect(cudaMallocMipmappedArray(&mipmaps, floats, (struct extent){16, 16, 2}, 3, 1) == 0, "mipmaps, of two layers");
    expect(cuArrayCreate_v2(&driver, &halves) == 0, "cuArrayCreate_v2");
    expect(cudaFreeArray(plain) == 0 && cudaFreeArray(volume) == 0, "cudaFreeArray");
    expect(cudaFreeMipmappedArray(mipmaps) == 0 && cuArrayDestroy(driver) == 0, "the others");
}

static void run_reset(void)
{
    uint64_t addr;
    expect(cudaMalloc(&addr, 1000) == 0 && cudaMallocAsync(&addr, 2000, 16) == 0, "device 0");
    expect(cudaSetDevice(1) == 0 && cudaMalloc(&addr, 3000) == 0, "device 1");
    expect(cudaSetDevice(0) == 0 && cudaDeviceReset() == 0, "cudaDeviceReset");
    expect(cuDevicePrimaryCtxReset_v2(7) == 1, "there is no device 7");
    expect(cudaMalloc(&addr, 1000) == 0, "the same memory again");
    expect(cuDevicePrimaryCtxReset_v2(1) == 0, "cuDevicePrimaryCtxReset_v2");
}

static int count_descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d != NULL && readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

/* Fills many windows of the journal while the program closes every descriptor that it did not open, and gives their
 * numbers to files of its own. */
static void run_closing(void)
{
    const int before = count_descriptors();
    work(5, 1000);
    expect(count_descriptors() <= before + 1, "more than one descriptor stays open");
    for (int fd = 3; fd < 4096; fd++)
        if (fd != log_fd)
            close(fd);
    expect(count_descriptors() < before + 1, "a descriptor has a number that nobody closes");
    for (int fd = 100; fd < 1020; fd++)
        dup2(log_fd, fd);
    const int closed = count_descriptors();
    work(6, 40000);
    expect(count_descriptors() == closed, "a descriptor was opened");
}

__attribute__((noinline)) void named_caller(void);
__attribute__((noinline)) void named_caller(void)
{
    uint64_t addr;
    expect(cudaMalloc(&addr, 1024) == 0, "cudaMalloc");
    say_alloc(addr, 1024, 0, 0);
}

/* An unrolled loop would call from many places: volatile keeps it from that. */
static void run_stacks(void)
{
    for (volatile int i = 0; i < 100; i++)
        named_caller();
}

/* ---- a library that is loaded while another thread allocates ---- */

static atomic_bool is_loading;

/* The plugin's constructor calls this before it asks for memory, so that another thread is in a recorded call by
 * then. */
void plugin_is_loading(void);
void plugin_is_loading(void)
{
    atomic_store(&is_loading, true);
    usleep(200000);
}

static void *load_plugin(void *unused)
{
    (void)unused;
    expect(dlopen("librecord_plugin.so", RTLD_NOW) != NULL, "the plugin cannot be loaded");
    return NULL;
}

/* The first call lets the recorder find the functions that it needs. The second comes from frames that it has not named
 * yet. */
static void run_loading(void)
{
    pthread_t loader;
    uint64_t addr;
    alarm(20);                                           /* ends the program in case of a deadlock */
    expect(cudaMalloc(&addr, 1024) == 0, "cudaMalloc");
    expect(pthread_create(&loader, NULL, load_plugin, NULL) == 0, "no thread");
    while (!atomic_load(&is_loading))
        usleep(1000);
    named_caller();
    expect(pthread_join(loader, NULL) == 0, "the loading thread is gone");
}

/* Writes its process number and stays. */
static void run_lasting(void)
{
    run_driver();
    FILE *f = fopen("log.lasting", "w");
    expect(f != NULL && fprintf(f, "%d\n", (int)getpid()) > 0 && fclose(f) == 0, "log.lasting");
    for (int i = 0; i < 60; i++)
        sleep(1);
}

/* A call every millisecond, for half a minute or until it is killed. */
static void run_slow(void)
{
    for (unsigned i = 0; i < 15; i++)
        for (int k = 0; k < 1000; k++) {
            uint64_t addr;
            expect(cudaMalloc(&addr, 1024 + i) == 0, "cudaMalloc");
            say_alloc(addr, 1024 + i, 0, 0);
            usleep(1000);
            expect(cudaFree(addr) == 0, "cudaFree");
            say_free(addr);
            usleep(1000);
        }
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } all[] = {
        {"killed", run_killed}, {"fork", run_fork}, {"bare-fork", run_bare_fork},
        {"dropping", run_dropping}, {"rooted", run_rooted}, {"limited", run_limited}, {"driver", run_driver},
        {"failing", run_failing}, {"kinds", run_kinds}, {"closing", run_closing}, {"stacks", run_stacks},
        {"lasting", run_lasting}, {"slow", run_slow}, {"storm", run_storm},
        {"arrays", run_arrays}, {"reset", run_reset}, {"contexts", run_contexts}, {"jumping", run_jumping},
        {"loading", run_loading}};
    if (argc < 3)
        return 2;
    log_fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0666);
    expect(log_fd >= 0, "the log cannot be opened");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(argv[1], all[i].name) == 0) {
            all[i].run();
            return 0;
        }
    if (strcmp(argv[1], "title") == 0) {
        run_title(argv);
        return 0;
    }
    if (strcmp(argv[1], "exec") == 0) {
        char *again[] = {argv[0], "driver", argv[2], NULL};
        run_driver();
        execv("/proc/self/exe", again);
    }
    return strcmp(argv[1], "nothing") == 0 ? 0 : 2;
}
