/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The recording library under ThreadSanitizer, linked into this program. Four threads call its functions, those of the
 * runtime and those of the driver, with call stacks, while the program forks and its children call them as well. Every
 * call is in the journal of its process, in its thread's order, and no address is handed out before its free is
 * recorded.
 *
 * This is a plain program, because Criterion does not start under that sanitizer. It is built and run without it, too.
 */
#include "import/call_journal_read.h"
#include "import/import.h"
#include "record/real_calls.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_THREADS = 4, N_CALLS = 4000, N_HELD = 12, N_FORKS = 5, N_CHILD_CALLS = 300, FRAMES_MAX = 64 };

int cudaMalloc(void **out, size_t bytes);
int cudaFree(uintptr_t addr);
int cudaMallocAsync(void **out, size_t bytes, uintptr_t stream);
int cudaFreeAsync(uintptr_t addr, uintptr_t stream);
int cudaMallocHost(void **out, size_t bytes);
int cudaFreeHost(uintptr_t addr);
int cudaSetDevice(uintptr_t device);
int cuMemAlloc_v2(void **out, size_t bytes);
int cuMemFree_v2(uintptr_t addr);
int cuMemCreate(uint64_t *handle, size_t bytes, const void *prop, unsigned long long flags);
int cuMemRelease(uint64_t handle);
int cuGetProcAddress_v2(const char *symbol, void **found, int version, uint64_t flags, void *status);

struct worker {
    unsigned seed;
    int n_calls;
    uint64_t n_made, n_ended;            /* allocations and frees that were made */
    bool has_failed;
};

struct held {
    uint64_t addr;
    unsigned how;
};

/* ---- calls ---- */

static int (*looked_up_alloc(void))(void **, size_t)
{
    int (*alloc)(void **, size_t) = NULL;
    void *found = NULL;
    if (cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, NULL) == 0)
        memcpy(&alloc, &found, sizeof alloc);
    return alloc;
}

static int make(struct held *h, size_t bytes)
{
    void *out = NULL;
    int code = 1;
    int (*const alloc)(void **, size_t) = h->how == 5 ? looked_up_alloc() : cuMemAlloc_v2;
    switch (h->how) {
    case 0: code = cudaMalloc(&out, bytes); break;
    case 1: code = cudaMallocAsync(&out, bytes, 16); break;
    case 2: code = cudaMallocHost(&out, bytes); break;
    case 3: return cuMemCreate(&h->addr, bytes, NULL, 0);
    default: code = alloc == NULL ? 1 : alloc(&out, bytes);
    }
    h->addr = (uint64_t)(uintptr_t)out;
    return code;
}

static int end(const struct held *h)
{
    switch (h->how) {
    case 0:  return cudaFree((uintptr_t)h->addr);
    case 1:  return cudaFreeAsync((uintptr_t)h->addr, 16);
    case 2:  return cudaFreeHost((uintptr_t)h->addr);
    case 3:  return cuMemRelease(h->addr);
    default: return cuMemFree_v2((uintptr_t)h->addr);
    }
}

/* Allocates and frees by a seed, and gives back what it holds at the end. */
static void *work(void *arg)
{
    struct worker *w = arg;
    struct held held[N_HELD];
    int n_held = 0;
    w->has_failed = cudaSetDevice(0) != 0;
    for (int i = 0; i < w->n_calls || n_held > 0; i++) {
        const int at = rand_r(&w->seed) % N_HELD;
        if (at < n_held || i >= w->n_calls) {
            const int k = at < n_held ? at : 0;
            w->has_failed |= end(&held[k]) != 0;
            held[k] = held[--n_held];
            w->n_ended++;
        } else {
            held[n_held].how = (unsigned)rand_r(&w->seed) % 6;
            w->has_failed |= make(&held[n_held++], 1 + (size_t)rand_r(&w->seed) % 4 * 1000) != 0;
            w->n_made++;
        }
    }
    return NULL;
}

/* ---- what was recorded ---- */

static struct call_journal *read_journal(const char *path)
{
    struct input *in = NULL;
    struct call_journal *log = NULL;
    struct err_detail err = {.text = ""};
    if (input_open(path, &in, &err) != ERR_OK || call_journal_read(in, &log, &err) != ERR_OK)
        fprintf(stderr, "%s\n", err.text);
    input_close(in);
    return log;
}

/* Whether all allocations have stacks, and the records of each kind are as many as the calls. */
static bool has_all(const struct call_journal *log, uint64_t n_made, uint64_t n_ended)
{
    struct call_frames frames = {.n = 0};
    uint32_t texts[FRAMES_MAX];
    uint64_t made = 0, ended = 0;
    bool is_good = log->n_torn == 0 && log->head.lost == 0;
    for (uint32_t i = 0; is_good && i < log->n; i++) {
        const struct call_record *r = &log->records[i];
        const bool is_made = r->kind == CALL_ALLOC || r->kind == CALL_CREATE;
        made += is_made;
        ended += r->kind == CALL_FREE || r->kind == CALL_RELEASE;
        is_good = call_frames_take(&frames, i, r) && (!is_made || call_frames_stack(&frames, r, texts, FRAMES_MAX) > 0);
    }
    call_frames_free(&frames);
    if (!is_good || made != n_made || ended != n_ended)
        fprintf(stderr, "%llu of %llu allocations, %llu of %llu frees\n", (unsigned long long)made,
                (unsigned long long)n_made, (unsigned long long)ended, (unsigned long long)n_ended);
    return is_good && made == n_made && ended == n_ended;
}

/* Whether the journal makes a trace in which every free is that of a live allocation. */
static bool is_in_order(const char *path)
{
    const struct import_config cfg = {.gpu = -1};
    struct err_detail err = {.text = ""};
    struct trace_reader *trace = NULL;
    char out[600];
    snprintf(out, sizeof out, "%s.trace", path);
    if (trace_import(path, "cuda-calls", &cfg, out, &err) != ERR_OK || trace_open(out, &trace, &err) != ERR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    const char *notes = trace_meta(trace, "notes");
    const bool is_good = notes == NULL || (strstr(notes, "not recorded") == NULL && strstr(notes, "again") == NULL);
    if (!is_good)
        fprintf(stderr, "%s\n", notes);
    trace_close(trace);
    unlink(out);
    return is_good;
}

static bool check(const char *folder, pid_t pid, uint64_t n_made, uint64_t n_ended)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%d.0.calls", folder, (int)pid);
    struct call_journal *log = read_journal(path);
    const bool is_good = log != NULL && has_all(log, n_made, n_ended) && is_in_order(path);
    call_journal_free(log);
    unlink(path);
    return is_good;
}

/* ---- processes ---- */

/* A child, forked while other threads were in the middle of calls. It only works and tells how much: it must not use
 * the sanitizer's allocator, whose locks the vanished threads may hold. */
static bool fork_and_work(const char *folder, unsigned seed)
{
    struct worker w = {.seed = seed, .n_calls = N_CHILD_CALLS};
    int told[2], status = 0;
    if (pipe(told) != 0)
        return false;
    const pid_t pid = fork();
    if (pid == 0) {
        work(&w);
        _exit(!w.has_failed && write(told[1], &w, sizeof w) == sizeof w ? 0 : 1);
    }
    close(told[1]);
    const bool is_told = read(told[0], &w, sizeof w) == sizeof w;
    close(told[0]);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && is_told &&
           check(folder, pid, w.n_made, w.n_ended);
}

static bool run(const char *folder)
{
    pthread_t threads[N_THREADS];
    struct worker workers[N_THREADS];
    /* The runtime starts before any fork: under the sanitizer a pthread_once that a fork interrupts never ends. */
    bool is_good = cudaSetDevice(0) == 0;
    uint64_t n_made = 0, n_ended = 0;
    for (unsigned i = 0; i < N_THREADS; i++) {
        workers[i] = (struct worker){.seed = i + 1, .n_calls = N_CALLS};
        is_good = pthread_create(&threads[i], NULL, work, &workers[i]) == 0 && is_good;
    }
    for (unsigned i = 0; i < N_FORKS; i++)
        is_good = fork_and_work(folder, 100 + i) && is_good;
    for (unsigned i = 0; i < N_THREADS; i++) {
        is_good = pthread_join(threads[i], NULL) == 0 && !workers[i].has_failed && is_good;
        n_made += workers[i].n_made;
        n_ended += workers[i].n_ended;
    }
    return check(folder, getpid(), n_made, n_ended) && is_good;
}

/* The library reads its settings when it is loaded. So the program sets them and starts itself once more. */
int main(int argc, char **argv)
{
    char folder[] = "/tmp/replay-threads-XXXXXX";
    (void)argc;
    if (getenv("REPLAY_RECORD_DIR") == NULL) {
        if (mkdtemp(folder) == NULL)
            return EXIT_FAILURE;
        setenv("REPLAY_RECORD_DIR", folder, 1);
        setenv("REPLAY_RECORD_STACKS", "1", 1);
        execv("/proc/self/exe", argv);
        return EXIT_FAILURE;
    }
    const bool is_good = run(getenv("REPLAY_RECORD_DIR"));
    rmdir(getenv("REPLAY_RECORD_DIR"));
    printf("%d threads' and %d children's calls are %s\n", N_THREADS, N_FORKS, is_good ? "all there" : "NOT ALL THERE");
    return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
