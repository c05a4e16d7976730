/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Requests that hurt allocators, whichever they are: none of these looks at an address.
 *
 *     doubling    fill the memory, free every second request, ask for twice the size, and so on. It is Robson's program
 *                 ("Bounds for some functions concerning dynamic storage allocation", JACM 21, 1974) for an allocator
 *                 that puts requests side by side in their order
 *     pinned      rounds of large requests with a small one after each; the large ones go, the small ones stay
 *     creeping    rounds of the same requests, each a little larger than the last, as batches of growing length
 *     joining     tensors that grow by concatenation: the longer one is made before the shorter one goes
 */
#include "loads/kinds.h"

#include "base/random.h"
#include "base/units.h"

#include <stdlib.h>

enum adversary_option { SHAPE, ROUNDS, BYTES, N };
enum { DOUBLING, PINNED, CREEPING, JOINING };
enum { ADVERSARY_STEP_NS = 1000, ADVERSARY_MAX = 1 << 20 };

static const struct load_option adversary_options[] = {
    [SHAPE] = {"shape", LOAD_WORD, 0, 0, "doubling", "doubling|pinned|creeping|joining",
               "how it hurts: the size doubles over freed halves; small ones pin large ones; sizes creep up; tensors "
               "grow by concatenation"},
    [ROUNDS] = {"rounds", LOAD_NUMBER, 1, 10000, "10", NULL, "rounds"},
    [BYTES] = {"bytes", LOAD_NUMBER, 1 << 20, UINT64_C(1) << 40, "1073741824", NULL, "live at once, about"},
    [N] = {"n", LOAD_NUMBER, 2, ADVERSARY_MAX, "256", NULL, "requests in the first round"},
    {.name = NULL},
};

/* The live requests, the oldest first. */
struct adversary {
    struct trace_writer *w;
    struct err_detail   *err;
    enum err  e;
    uint64_t  random, next_ptr, time_ns, live_bytes;
    struct { uint64_t ptr, bytes; } *live;
    size_t    n;
};

static void adversary_put(struct adversary *a, enum event_kind kind, uint64_t ptr, uint64_t bytes)
{
    const struct trace_record r = {.kind = kind, .time_ns = a->time_ns, .ptr = ptr, .bytes = bytes,
                                   .record = TRACE_NO_RECORD};
    a->time_ns += ADVERSARY_STEP_NS;
    if (a->e == ERR_OK)
        a->e = trace_put(a->w, &r, a->err);
}

static void ask(struct adversary *a, uint64_t bytes)
{
    adversary_put(a, EVENT_ALLOC, ++a->next_ptr, bytes);
    a->live[a->n].ptr = a->next_ptr;
    a->live[a->n++].bytes = bytes;
    a->live_bytes += bytes;
}

static void give(struct adversary *a, size_t i)
{
    adversary_put(a, EVENT_FREE, a->live[i].ptr, 0);
    a->live_bytes -= a->live[i].bytes;
    a->live[i].bytes = 0;
}

static void close_ranks(struct adversary *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++)
        if (a->live[i].bytes > 0)
            a->live[n++] = a->live[i];
    a->n = n;
}

/* `bytes` or up to a sixteenth more. */
static uint64_t about(struct adversary *a, uint64_t bytes)
{
    return bytes + random_next(&a->random) % (bytes / 16 + 1);
}

static void round_doubling(struct adversary *a, const struct load_value *v, uint64_t round)
{
    const uint64_t each = (v[BYTES].number / v[N].number + 1) << (round < 20 ? round : 20);
    while (a->live_bytes + each + each / 16 <= v[BYTES].number && a->n < v[N].number)
        ask(a, about(a, each));
    for (size_t i = random_next(&a->random) % 2; i < a->n; i += 2)
        give(a, i);
    close_ranks(a);
}

static void round_pinned(struct adversary *a, const struct load_value *v, uint64_t round)
{
    enum { SMALL = 1536 * 1024 };
    const uint64_t large = v[BYTES].number / v[N].number / 2;
    const size_t first = a->n;
    for (uint64_t i = 0; i < v[N].number && a->n + 2 < ADVERSARY_MAX; i++) {
        ask(a, about(a, large + large * round / 20));
        ask(a, about(a, large < 2 * SMALL ? large / 2 + 1 : SMALL));
    }
    for (size_t i = first; i < a->n; i++)
        if ((i - first) % 2 == 0 || random_next(&a->random) % 4 != 0)    /* a quarter of the small ones stay */
            give(a, i);
    close_ranks(a);
}

static void round_creeping(struct adversary *a, const struct load_value *v, uint64_t round)
{
    const uint64_t each = v[BYTES].number / v[N].number, sizes[4] = {each / 2 + 1, each / 8 + 1, each * 2, each};
    for (uint64_t i = 0; i < v[N].number; i++) {
        const uint64_t bytes = sizes[i % 4];
        ask(a, bytes + bytes * round / 50 + bytes / 64 * (random_next(&a->random) % 2));
        if (i % 8 == 7)
            give(a, a->n - 1 - random_next(&a->random) % 7);
    }
    for (size_t i = a->n; i-- > 0;)
        if (a->live[i].bytes > 0)
            give(a, i);
    close_ranks(a);
}

static void round_joining(struct adversary *a, const struct load_value *v, uint64_t round)
{
    const uint64_t each = v[BYTES].number / v[N].number / v[ROUNDS].number + 512;
    while (a->n < v[N].number)
        ask(a, about(a, each));
    for (size_t i = 0; i < v[N].number && round > 0; i++) {
        const size_t k = random_next(&a->random) % a->n;
        ask(a, a->live[k].bytes + each);
        give(a, k);
        close_ranks(a);
    }
}

static enum err adversary_make(const struct load_request *r, struct trace_writer *w, struct err_detail *err)
{
    static void (*const rounds[])(struct adversary *, const struct load_value *, uint64_t) = {
        [DOUBLING] = round_doubling, [PINNED] = round_pinned, [CREEPING] = round_creeping, [JOINING] = round_joining };
    const struct load_value *v = r->values;
    struct adversary a = {.w = w, .err = err, .random = r->seed, .live = calloc(ADVERSARY_MAX + 1, sizeof *a.live)};
    if (a.live == NULL)
        return err_no_memory(err);
    for (uint64_t round = 0; round < v[ROUNDS].number && a.e == ERR_OK; round++)
        rounds[v[SHAPE].number](&a, v, round);
    for (size_t i = 0; i < a.n; i++)
        give(&a, i);
    free(a.live);
    return a.e;
}

const struct load_kind load_adversary = {
    .name = "adversary",
    .typed = "adversary:...",
    .summary = "requests that hurt allocators: sizes that double or creep up, small ones that pin large ones",
    .options = adversary_options,
    .make = adversary_make,
};
