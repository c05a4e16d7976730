/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The live allocator on a plan, under a program that does otherwise than planned: other sizes, requests too many and
 * too few, late frees, other streams; and plans that are wrong themselves. Whatever it does, no two live blocks
 * overlap, every address is a multiple of 512, and no stream is given what another has used. When all is freed, a step
 * as planned runs again.
 *
 * A plain program: each seed has a process of its own, because the library reads the policy once.
 */
#include "base/intern.h"
#include "base/random.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_SEEDS = 24, N_ROWS = 60, N_STEPS = 60, N_HELD = 600, UNIT = 512, N_STREAMS = 3, STREAM_FIRST = 4096,
       WRONG_ONE_IN = 12 };

void *replay_alloc(ssize_t size, int device, void *stream);
void replay_free(void *ptr, ssize_t size, int device, void *stream);

/* A request of the step: planned from `begin` (its number) until before request `end`. */
struct row {
    uint64_t bytes, offset;
    unsigned end;
};

struct held {
    uint64_t addr, bytes;
    unsigned stream, steps_left, end;            /* it is freed before request `end`, after `steps_left` steps */
};

struct program {
    uint64_t    state;
    struct row  rows[N_ROWS];
    struct held held[N_HELD];
    unsigned    n_held;
    struct pair_map users;                       /* of each unit that was ever handed out: its stream */
};

static unsigned below(struct program *p, unsigned n)
{
    return (unsigned)(random_next(&p->state) % n);
}

/* ---- the plan ---- */

static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* The lowest offset that no earlier row has in its time. */
static uint64_t lowest(const struct program *p, unsigned row)
{
    uint64_t offset = 0;
    for (unsigned i = 0; i < row; i++)
        if (p->rows[i].end > row && overlap(offset, p->rows[row].bytes, p->rows[i].offset, p->rows[i].bytes)) {
            offset = p->rows[i].offset + p->rows[i].bytes;
            i = UINT32_MAX;                      /* again from the first */
        }
    return offset;
}

/* A plan for the step; of an odd seed one whose rows overlap. */
static void make_plan(struct program *p, unsigned seed)
{
    for (unsigned i = 0; i < N_ROWS; i++) {
        struct row *r = &p->rows[i];
        r->bytes = (uint64_t)UNIT * (1 + below(p, 1U << below(p, 8)));
        r->end = i + 1 + below(p, N_ROWS - i);
        r->offset = seed % 2 == 1 ? (uint64_t)UNIT * below(p, 500) : lowest(p, i);
    }
}

static bool write_plan(const struct program *p, const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    fprintf(file, "id,lower,upper,size,offset,loop\n");
    for (unsigned i = 0; i < N_ROWS; i++)
        fprintf(file, "%u,%u,%u,%llu,%llu,1\n", i, i, p->rows[i].end, (unsigned long long)p->rows[i].bytes,
                (unsigned long long)p->rows[i].offset);
    return fclose(file) == 0;
}

/* ---- requests ---- */

/* Whether the block lies apart from all others, and its stream alone has used it. */
static bool is_good(struct program *p, uint64_t addr, uint64_t bytes, unsigned stream)
{
    bool good = addr % UNIT == 0;
    for (unsigned i = 0; i < p->n_held; i++)
        good = good && !overlap(addr, bytes, p->held[i].addr, p->held[i].bytes);
    for (uint64_t unit = addr / UNIT; unit * UNIT < addr + bytes && good; unit++) {
        const uint32_t *user = pair_map_find(&p->users, unit, 0);
        good = user == NULL ? pair_map_add(&p->users, unit, 0, stream) : *user == stream;
    }
    return good;
}

static bool request(struct program *p, uint64_t bytes, unsigned stream, unsigned steps, unsigned end)
{
    void *at = replay_alloc((ssize_t)bytes, 0, (void *)(uintptr_t)(stream * STREAM_FIRST));
    const struct held h = {.addr = (uint64_t)(uintptr_t)at, .bytes = bytes, .stream = stream, .steps_left = steps,
                           .end = end};
    if (at == NULL || p->n_held == N_HELD || !is_good(p, h.addr, bytes, stream))
        return false;
    p->held[p->n_held++] = h;
    return true;
}

static void give_back(struct program *p, unsigned i)
{
    const struct held h = p->held[i];
    replay_free((void *)(uintptr_t)h.addr, (ssize_t)h.bytes, 0, (void *)(uintptr_t)(h.stream * STREAM_FIRST));
    p->held[i] = p->held[--p->n_held];
}

/* Frees what ends before a request of the step. */
static void give_back_before(struct program *p, unsigned row)
{
    for (unsigned i = p->n_held; i-- > 0;)
        if (p->held[i].steps_left == 0 && p->held[i].end <= row)
            give_back(p, i);
}

/* A request of the step, perhaps not as planned. */
static bool request_row(struct program *p, unsigned row, bool may_differ)
{
    const struct row *r = &p->rows[row];
    const unsigned kind = may_differ && below(p, WRONG_ONE_IN) == 0 ? below(p, 6) : 6;
    const uint64_t other = 1 + random_next(&p->state) % (200 * UNIT);
    switch (kind) {
    case 0:                                                          /* another size */
        return request(p, other, 0, 0, r->end);
    case 1:                                                          /* one more */
        return request(p, other, 0, 0, r->end) && request(p, r->bytes, 0, 0, r->end);
    case 2:                                                          /* it is left out */
        return true;
    case 3:                                                          /* it lives longer */
        return request(p, r->bytes, 0, 1 + below(p, 4), r->end);
    case 4:                                                          /* it lives as long as the program */
        return request(p, r->bytes, 0, N_STEPS, r->end);
    case 5:
        return request(p, r->bytes, 1 + below(p, N_STREAMS - 1), 0, r->end);
    default:
        return request(p, r->bytes - below(p, UNIT), 0, 0, r->end);
    }
}

static bool run_step(struct program *p, bool may_differ)
{
    for (unsigned row = 0; row < N_ROWS; row++) {
        give_back_before(p, row);
        if (!request_row(p, row, may_differ))
            return false;
    }
    give_back_before(p, N_ROWS);
    for (unsigned i = 0; i < p->n_held; i++)
        p->held[i].steps_left--;
    return true;
}

static bool run_program(struct program *p)
{
    bool good = true;
    for (unsigned step = 0; step < N_STEPS && good; step++)
        good = run_step(p, step % 10 > 3);
    while (p->n_held > 0)
        give_back(p, 0);
    return good && run_step(p, false) && p->n_held == 0;
}

static bool run_seed(unsigned seed)
{
    static struct program p;
    char path[] = "/tmp/replay-deviations-XXXXXX.plan", policy[sizeof path + 16];
    const int fd = mkstemps(path, 5);
    p.state = seed;
    make_plan(&p, seed);
    const bool is_written = fd >= 0 && close(fd) == 0 && write_plan(&p, path);
    snprintf(policy, sizeof policy, "plan:file=%s", path);
    setenv("REPLAY_POLICY", policy, 1);
    if (dlopen(CUDASIM_DIR "/libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) == NULL)
        fprintf(stderr, "%s\n", dlerror());
    const bool good = is_written && run_program(&p);
    pair_map_free(&p.users);
    unlink(path);
    return good;
}

int main(void)
{
    bool is_right = true;
    for (unsigned seed = 1; seed <= N_SEEDS; seed++) {
        int status = 1;
        fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0)
            exit(run_seed(seed) ? EXIT_SUCCESS : EXIT_FAILURE);
        const bool is_good = pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
        printf("seed %u: %s\n", seed, is_good ? "apart, aligned, by stream" : "FAILED");
        is_right = is_right && is_good;
    }
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
