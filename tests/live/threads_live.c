/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The live allocator under ThreadSanitizer: four threads ask for memory and give it back, on several streams of the
 * simulated CUDA. What they hold at the end does not overlap, and all of it is given back. Forked children get nothing.
 *
 * This is a plain program, because Criterion does not start under that sanitizer. It is built and run without it, too.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_THREADS = 4, N_CALLS = 3000, N_HELD = 24, STREAM_FIRST = 4096,
       N_FORKS = 40, CHILD_SECONDS = 30, PARENTS_BYTES = 4096 };

void *replay_alloc(ssize_t size, int device, void *stream);
void replay_free(void *ptr, ssize_t size, int device, void *stream);

struct block {
    char     *ptr;
    ssize_t   bytes;
    uintptr_t stream;
};

struct worker {
    unsigned     seed;
    struct block held[N_HELD];
    int          n_held;
    bool         has_failed;
};

static void give_back(struct worker *w, int at)
{
    const struct block b = w->held[at];
    replay_free(b.ptr, b.bytes, 0, (void *)b.stream);
    w->held[at] = w->held[--w->n_held];
}

static void *work(void *arg)
{
    struct worker *w = arg;
    for (int i = 0; i < N_CALLS; i++) {
        const int at = rand_r(&w->seed) % N_HELD;
        if (at < w->n_held) {
            give_back(w, at);
            continue;
        }
        struct block b = {.bytes = 1 + rand_r(&w->seed) % (1 << (10 + rand_r(&w->seed) % 13)),
                          .stream = (uintptr_t)(rand_r(&w->seed) % 3) * STREAM_FIRST};
        b.ptr = replay_alloc(b.bytes, 0, (void *)b.stream);
        w->has_failed |= b.ptr == NULL;
        if (b.ptr != NULL)
            w->held[w->n_held++] = b;
    }
    return NULL;
}

static bool overlap(const struct block *a, const struct block *b)
{
    return a->ptr < b->ptr + b->bytes && b->ptr < a->ptr + a->bytes;
}

/* Compares all pairs of what is held. */
static bool is_apart(const struct worker *workers)
{
    for (int i = 0; i < N_THREADS * N_HELD; i++)
        for (int k = 0; k < i; k++) {
            const struct worker *a = &workers[i / N_HELD], *b = &workers[k / N_HELD];
            if (i % N_HELD < a->n_held && k % N_HELD < b->n_held && overlap(&a->held[i % N_HELD], &b->held[k % N_HELD]))
                return false;
        }
    return true;
}

/* Four threads at work. */
struct crew {
    pthread_t threads[N_THREADS];
    struct worker workers[N_THREADS];
};

static bool start(struct crew *c)
{
    bool is_good = true;
    for (unsigned i = 0; i < N_THREADS; i++) {
        c->workers[i] = (struct worker){.seed = i + 1};
        is_good = pthread_create(&c->threads[i], NULL, work, &c->workers[i]) == 0 && is_good;
    }
    return is_good;
}

/* Whether every request of every thread was granted. */
static bool finish(struct crew *c)
{
    bool is_good = true;
    for (unsigned i = 0; i < N_THREADS; i++)
        is_good = pthread_join(c->threads[i], NULL) == 0 && !c->workers[i].has_failed && is_good;
    return is_good;
}

static bool run_threads(void)
{
    struct crew crew;
    bool is_good = start(&crew);
    is_good = finish(&crew) && is_good && is_apart(crew.workers);
    for (unsigned i = 0; i < N_THREADS; i++)
        while (crew.workers[i].n_held > 0)
            give_back(&crew.workers[i], 0);
    return is_good;
}

/* A forked child gets no memory and takes none from its parent's books, whatever other threads were doing. */
static bool is_harmless_child(void *of_parent)
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_SECONDS);                    /* its death tells of a lock that nobody gives back */
        replay_free(of_parent, PARENTS_BYTES, 0, NULL);
        _exit(replay_alloc(PARENTS_BYTES, 0, NULL) == NULL ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool run_forks(void)
{
    struct crew crew;
    void *held = replay_alloc(PARENTS_BYTES, 0, NULL);
    bool is_good = start(&crew) && held != NULL;
    for (int i = 0; i < N_FORKS && is_good; i++)
        is_good = is_harmless_child(held);
    is_good = finish(&crew) && is_good;
    replay_free(held, PARENTS_BYTES, 0, NULL);
    return is_good;
}

/* A card that cannot be opened does not affect the others. The reason is said, and the card is not tried again. */
static bool run_broken_card(void)
{
    for (int i = 0; i < 2; i++) {
        if (replay_alloc(4096, 1, NULL) != NULL)
            return false;
        void *ptr = replay_alloc(4096, 0, NULL);
        if (ptr == NULL)
            return false;
        replay_free(ptr, 4096, 0, NULL);
    }
    return true;
}

/* Each policy gets a process of its own, because the library reads the policy's name once. */
static bool run_policy(const char *policy, bool (*run)(void))
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        setenv("REPLAY_POLICY", policy, 1);
        if (dlopen(CUDASIM_DIR "/libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            _exit(EXIT_FAILURE);
        }
        exit(run() ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(void)
{
    static const char *const policies[] = {"pytorch", "pytorch:expandable_segments:True", "none", "best-fit"};
    bool is_good = true;
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        const bool is_right = run_policy(policies[i], run_threads);
        printf("%d threads on %s: %s\n", N_THREADS, policies[i], is_right ? "apart, and given back" : "FAILED");
        is_good = is_good && is_right;
    }
    const bool is_refused = run_policy("none", run_broken_card), is_harmless = run_policy("pytorch", run_forks);
    printf("a card that is not there beside one that is: %s\n", is_refused ? "refused, and the other works" : "FAILED");
    printf("%d children beside %d threads: %s\n", N_FORKS, N_THREADS, is_harmless ? "no memory, no harm" : "FAILED");
    return is_good && is_refused && is_harmless ? EXIT_SUCCESS : EXIT_FAILURE;
}
