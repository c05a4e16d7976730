/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Patterns of requests, computed in integers only, so that every machine makes the same trace. */
#include "traces/generate.h"

#include "base/random.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GENERATE_LIVE_MAX = 1 << 24, GENERATE_STEP_NS = 1000 };

static enum err generate_put(struct trace_writer *w, enum event_kind kind, uint64_t ptr, uint64_t bytes,
                             uint64_t time_ns, struct err_detail *why)
{
    const struct trace_record r = {.kind = kind, .time_ns = time_ns, .ptr = ptr, .bytes = bytes,
                                   .record = TRACE_NO_RECORD};
    return trace_put(w, &r, why);
}

/* A training step in small: the peak of each round leaves a hole, and the kept request splits it. */
static enum err generate_rounds(uint64_t events, uint64_t unused, uint64_t seed, struct trace_writer *w,
                                struct err_detail *why)
{
    (void)unused;
    (void)seed;
    enum err e = ERR_OK;
    for (uint64_t i = 0; i < events && e == ERR_OK; i++) {
        const uint64_t temporary = 2 * (i / 3) + 1, kept = temporary + 1, time_ns = i * GENERATE_STEP_NS;
        if (i % 3 == 0)
            e = generate_put(w, EVENT_ALLOC, temporary, 530 * MIB, time_ns, why);
        else if (i % 3 == 1)
            e = generate_put(w, EVENT_FREE, temporary, 0, time_ns, why);
        else
            e = generate_put(w, EVENT_ALLOC, kept, 270 * MIB, time_ns, why);
    }
    return e;
}

/* 512 B to 64 MiB in steps of 4 B. No power of two is less frequent than the next. */
static uint64_t generate_size(uint64_t *random)
{
    const uint64_t r = random_next(random);
    const unsigned a = (unsigned)(r % 17), b = (unsigned)(r / 17 % 17);
    const uint64_t power = UINT64_C(512) << (a < b ? a : b);
    return power + (r >> 20) % power / 4 * 4;
}

/* The more requests are live, the likelier is a free: their number stays around `live`. */
static enum err generate_mix(uint64_t events, uint64_t live, uint64_t seed, struct trace_writer *w,
                             struct err_detail *why)
{
    uint64_t random = seed, n = 0, next = 0, time_ns = 0;
    uint64_t *ptrs = malloc(2 * live * sizeof *ptrs);
    if (ptrs == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "generated trace: %s", err_text(ERR_HOST_NOMEM));
    enum err e = ERR_OK;
    for (uint64_t i = 0; i < events && e == ERR_OK; i++) {
        const uint64_t r = random_next(&random);
        time_ns += (1 + (r >> 40) % 20) * GENERATE_STEP_NS;
        if ((r & 0xffffffff) % (2 * live) >= n) {
            ptrs[n++] = ++next;
            e = generate_put(w, EVENT_ALLOC, next, generate_size(&random), time_ns, why);
        } else {
            const uint64_t victim = random_next(&random) % n;
            e = generate_put(w, EVENT_FREE, ptrs[victim], 0, time_ns, why);
            ptrs[victim] = ptrs[--n];
        }
    }
    free(ptrs);
    return e;
}

static const struct generate_kind {
    const char *name, *summary;      /* a name that ends in ':' takes a number after it */
    const char *typed;
    uint64_t    events;              /* default */
    enum err  (*generate)(uint64_t events, uint64_t number, uint64_t seed, struct trace_writer *w,
                          struct err_detail *why);
} generate_kinds[] = {
    {"530-270", "rounds of: allocate 530 MiB, free it, allocate 270 MiB and keep it", "530-270", 12, generate_rounds},
    {"mix:", "random requests and frees around LIVE live ones", "mix:LIVE", 1000000, generate_mix},
};
enum { GENERATE_KINDS = sizeof generate_kinds / sizeof generate_kinds[0] };

const char *trace_generate_at(size_t i, const char **summary)
{
    if (i >= GENERATE_KINDS)
        return NULL;
    *summary = generate_kinds[i].summary;
    return generate_kinds[i].typed;
}

/* True if `typed` is of this kind; *number gets the number after its name. */
static bool generate_matches(const struct generate_kind *k, const char *typed, uint64_t *number)
{
    const size_t n = strlen(k->name);
    *number = 0;
    if (k->name[n - 1] != ':')
        return strcmp(typed, k->name) == 0;
    if (strncmp(typed, k->name, n) != 0 || strlen(typed + n) == 0 || strlen(typed + n) > 8)
        return false;
    for (const char *digit = typed + n; *digit != '\0'; digit++) {
        if (*digit < '0' || *digit > '9')
            return false;
        *number = *number * 10 + (uint64_t)(*digit - '0');
    }
    return *number > 0 && *number <= GENERATE_LIVE_MAX;
}

enum err trace_generate(const char *kind, uint64_t events, uint64_t seed, struct trace_writer *w,
                        struct err_detail *why)
{
    uint64_t number;
    size_t i = 0;
    while (i < GENERATE_KINDS && !generate_matches(&generate_kinds[i], kind, &number))
        i++;
    if (i == GENERATE_KINDS)
        return err_set(why, ERR_USAGE, 0,
                       "\"%.40s\" cannot be generated: there are 530-270 and mix:LIVE, LIVE from 1 to %d", kind,
                       GENERATE_LIVE_MAX);
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, seed);
    enum err e = trace_put_meta(w, "source", "generated", why);
    if (e == ERR_OK)
        e = trace_put_meta(w, "kind", kind, why);
    if (e == ERR_OK)
        e = trace_put_meta(w, "seed", text, why);
    if (e != ERR_OK)
        return e;
    return generate_kinds[i].generate(events == 0 ? generate_kinds[i].events : events, number, seed, w, why);
}
