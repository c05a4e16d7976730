/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/adversary/tried_program.h"

#include "base/random.h"
#include "base/units.h"
#include "replay/adversary/program_acts.h"

#include <string.h>

/* PyTorch: 512 bytes, 1 MiB, 2 MiB, 10 MiB, 20 MiB are bounds of its rules. Others: 256 bytes, powers of two, 1 GiB. */
static const uint64_t plain[] = { 512,          MIB,          MIB + 512,  2 * MIB,   6 * MIB,  9 * MIB,
                                  10 * MIB,     20 * MIB,     21 * MIB,   40 * MIB,  50 * MIB, 130 * MIB };
static const uint64_t more[] = { 1,        256,      513,      4096,     32 * KIB,  256 * KIB, 300 * KIB, 700 * KIB,
                                 3 * MIB,  5 * MIB,  12 * MIB, 30 * MIB, 64 * MIB,  100 * MIB, 270 * MIB, 530 * MIB };
enum { N_PLAIN = sizeof plain / sizeof plain[0], N_MORE = sizeof more / sizeof more[0] };

uint64_t program_plain_size(size_t i)
{
    return i < N_PLAIN ? plain[i] : 0;
}

static uint64_t below(uint64_t *random, uint64_t n)
{
    return random_next(random) % n;
}

static uint64_t draw_size(uint64_t *random)
{
    const uint64_t i = below(random, N_PLAIN + N_MORE);
    const uint64_t bytes = i < N_PLAIN ? plain[i] : more[i - N_PLAIN];
    switch (below(random, 4)) {
    case 0:  return bytes + below(random, bytes);
    case 1:  return bytes + 512 * below(random, 5);
    default: return bytes;
    }
}

/* ---- calls ---- */

bool program_request(struct tried_program *p, uint64_t bytes)
{
    if (p->n == PROGRAM_CALLS || bytes == 0)
        return false;
    p->calls[p->n] = (struct event){ .time_ns = p->n, .bytes = bytes, .kind = EVENT_ALLOC, .slot = p->n_requests++ };
    p->n++;
    return true;
}

static size_t call_of_request(const struct tried_program *p, uint32_t request)
{
    size_t i = 0;
    while (p->calls[i].kind != EVENT_ALLOC || p->calls[i].slot != request)
        i++;
    return i;
}

static uint64_t bytes_of(const struct tried_program *p, uint32_t request)
{
    return p->calls[call_of_request(p, request)].bytes;
}

bool program_free(struct tried_program *p, uint32_t request)
{
    if (p->n == PROGRAM_CALLS)
        return false;
    p->calls[p->n] = (struct event){ .time_ns = p->n, .bytes = bytes_of(p, request), .kind = EVENT_FREE,
                                     .slot = request };
    p->n++;
    return true;
}

uint64_t program_live_peak(const struct tried_program *p)
{
    uint64_t live = 0, most = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct event *c = &p->calls[i];
        live = c->kind == EVENT_ALLOC ? live + c->bytes : c->kind == EVENT_FREE ? live - c->bytes : live;
        most = live > most ? live : most;
    }
    return most;
}

/* The live requests after the first `n` calls; returns how many, and their bytes. */
static size_t live_after(const struct tried_program *p, size_t n, uint32_t requests[PROGRAM_CALLS], uint64_t *bytes)
{
    size_t n_live = 0;
    *bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const struct event *c = &p->calls[i];
        if (c->kind != EVENT_ALLOC && c->kind != EVENT_FREE)
            continue;
        *bytes = c->kind == EVENT_ALLOC ? *bytes + c->bytes : *bytes - c->bytes;
        if (c->kind == EVENT_ALLOC) {
            requests[n_live++] = c->slot;
            continue;
        }
        size_t k = 0;
        while (requests[k] != c->slot)
            k++;
        memmove(requests + k, requests + k + 1, (--n_live - k) * sizeof *requests);
    }
    return n_live;
}

/* ---- by chance ---- */

/* Few sizes make many free blocks of one size: which of equal ones is taken shows only then. */
enum { FEW_SIZES = 3 };

/* `sizes`: of the whole program; NULL: any. */
static void draw_call(struct tried_program *p, const uint64_t sizes[FEW_SIZES], uint64_t most_live, uint64_t *random)
{
    uint32_t requests[PROGRAM_CALLS];
    uint64_t live;
    const size_t n_live = live_after(p, p->n, requests, &live);
    const uint64_t bytes = sizes != NULL                            ? sizes[below(random, FEW_SIZES)]
                           : n_live > 0 && below(random, 4) == 0 ? bytes_of(p, requests[below(random, n_live)])
                                                                 : draw_size(random);
    if (n_live > 0 && (live + bytes > most_live || below(random, 5) < 2))
        program_free(p, requests[below(random, n_live)]);
    else if (live + bytes <= most_live)
        program_request(p, bytes);
}

/* A third of the calls are acts, as far as they may follow. */
static bool draw_act(struct tried_program *p, unsigned acts, uint64_t *random)
{
    const unsigned act = acts == 0 || below(random, 3) > 0 ? ACT_KINDS : (unsigned)below(random, ACT_KINDS);
    if (act == ACT_KINDS || (acts >> act & 1) == 0 || (act == ACT_USE && p->n_requests == 0))
        return false;
    return program_act(p, act, act == ACT_USE ? (uint32_t)below(random, p->n_requests) : 0);
}

/* A block in the pool, which is free then or not; or one that was requested while a graph is captured. */
static void draw_opening(struct tried_program *p, const uint64_t sizes[FEW_SIZES], unsigned acts, uint64_t *random)
{
    const bool is_pool = below(random, 2) == 0;
    const unsigned make = below(random, 2) == 0 ? ACT_POOL_MAKE_LENDING : ACT_POOL_MAKE;
    if (is_pool && (acts >> make & 1) != 0) {
        program_act(p, make, 0);
        program_act(p, ACT_POOL_ENTER, 0);
    } else {
        program_act(p, ACT_CAPTURE_BEGIN, 0);
    }
    program_request(p, sizes[below(random, FEW_SIZES)]);
    if (below(random, 3) == 0)
        program_act(p, ACT_USE, 0);
    if (below(random, 2) == 0)
        program_free(p, 0);
    program_act(p, below(random, 2) == 0 ? ACT_POOL_LEAVE : ACT_CAPTURE_END, 0);
}

/* After one opening in eight: what it made is given up, and the cache given back while a pool is open. */
static void draw_region(struct tried_program *p, unsigned acts, uint64_t random)
{
    const unsigned region[] = { ACT_GRAPH_RESET, ACT_POOL_DROP, ACT_POOL_MAKE, ACT_POOL_ENTER, ACT_FLUSH };
    const bool is_drawn = below(&random, 8) == 0;
    for (size_t i = 0; i < sizeof region / sizeof region[0] && is_drawn; i++)
        if ((acts >> region[i] & 1) != 0 && below(&random, 8) > 0)
            program_act(p, region[i], 0);
}

void program_draw(struct tried_program *p, size_t n, uint64_t most_live, unsigned acts, uint64_t *random)
{
    uint64_t sizes[FEW_SIZES];
    const bool is_of_few = below(random, 2) == 0;
    for (size_t i = 0; i < FEW_SIZES; i++)
        sizes[i] = i > 0 && below(random, 3) == 0 ? 2 * sizes[i - 1] : draw_size(random);
    *p = (struct tried_program){ .n = 0 };
    if (acts != 0 && below(random, 2) == 0)
        draw_opening(p, sizes, acts, random);
    if (p->n > 0)
        draw_region(p, acts, *random);
    for (size_t tries = 0; p->n < n && tries < 4 * n; tries++)
        if (!draw_act(p, acts, random))
            draw_call(p, is_of_few ? sizes : NULL, most_live, random);
}

/* ---- by a pattern ---- */

/*
 *     |      large      |     is requested and freed,
 *     |   rest   |small |     then both, and the rest is freed. No request larger than the rest fits there again.
 */
static void draw_ratchet(struct tried_program *p, size_t n, uint64_t most_live, uint64_t *random)
{
    static const uint64_t smalls[] = { 1, 512, 64 * KIB, MIB + 512, 2 * MIB, 4 * MIB, 10 * MIB };
    const uint64_t small = smalls[below(random, sizeof smalls / sizeof smalls[0])];
    const uint64_t step = below(random, 2) * small, each = 1 + below(random, 4);
    const unsigned way = (unsigned)below(random, 3);
    uint64_t large = most_live / each / (1 + below(random, 4)), live = 0;
    while (p->n + 5 * each <= n && live + each * (large + 2 * small) <= most_live) {
        const uint32_t first = p->n_requests;
        const uint64_t rest = large > 2 * small ? large - small : large;
        for (uint32_t i = 0; i < each; i++) {
            program_request(p, way == 0 ? large : rest);
            if (way > 0)
                program_request(p, small);
        }
        for (uint32_t i = 0; i < each; i++)
            program_free(p, way == 0 ? first + i : first + 2 * i);
        const uint32_t second = p->n_requests;
        for (uint32_t i = 0; i < each && way == 0; i++) {
            program_request(p, rest);
            program_request(p, small);
        }
        for (uint32_t i = 0; i < each && way == 0; i++)
            program_free(p, second + 2 * i);
        live += each * small;
        const uint64_t left = (most_live - live) / each;
        large = way == 2 ? (left > 4 * small ? left - 2 * small : 0) : large + step;
        large = large + 2 * small > left ? (left > 4 * small ? left - 2 * small : 0) : large;
        if (large == 0)
            return;
    }
}

static void draw_doubling(struct tried_program *p, size_t n, uint64_t most_live, uint64_t *random)
{
    uint32_t requests[PROGRAM_CALLS];
    uint64_t live, each = most_live / (n / 4 + 1 + below(random, n / 2 + 1));
    const uint64_t parity = below(random, 2), growth = 1 + below(random, 3);
    while (p->n < n && each > 0 && each <= most_live) {
        size_t n_live = live_after(p, p->n, requests, &live);
        const size_t before = p->n;
        for (; live + each <= most_live && p->n < n; live += each)
            program_request(p, each);
        n_live = live_after(p, p->n, requests, &live);
        for (size_t i = parity; i < n_live && p->n < n; i += 2)
            program_free(p, requests[i]);
        each = growth == 1 ? each * 2 : growth == 2 ? each * 3 / 2 : each + 512;
        if (p->n == before)
            return;
    }
}

/* Each request is a little larger than the last, which was freed. */
static void draw_creeping(struct tried_program *p, size_t n, uint64_t most_live, uint64_t *random)
{
    const uint64_t step = draw_size(random), kept = below(random, 4);
    uint64_t live = 0;
    for (uint64_t bytes = draw_size(random); p->n + 2 <= n && live + bytes <= most_live; bytes += step) {
        program_request(p, bytes);
        if (kept == 0 || below(random, kept + 3) > 0)
            program_free(p, p->n_requests - 1);
        else
            live += bytes;
    }
}

void program_draw_pattern(struct tried_program *p, size_t n, uint64_t most_live, uint64_t *random)
{
    *p = (struct tried_program){ .n = 0 };
    switch (below(random, 4)) {
    case 0:  draw_doubling(p, n, most_live, random); break;
    case 1:  draw_creeping(p, n, most_live, random); break;
    default: draw_ratchet(p, n, most_live, random); break;
    }
}

/* ---- a change in one place ---- */

static void renumber(struct tried_program *p)
{
    uint32_t number[PROGRAM_CALLS];
    p->n_requests = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct event *c = &p->calls[i];
        const uint32_t request = program_request_of(c);
        if (c->kind == EVENT_ALLOC)
            number[request] = p->n_requests++;
        if (request != PROGRAM_NO_REQUEST)
            c->slot = c->slot - request + number[request];
        c->time_ns = i;
    }
}

void program_resize(struct tried_program *p, uint32_t request, uint64_t bytes)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->calls[i].kind != EVENT_CONTROL && program_request_of(&p->calls[i]) == request)
            p->calls[i].bytes = bytes;
}

void program_take_out(struct tried_program *p, size_t i)
{
    const uint32_t request = p->calls[i].kind == EVENT_ALLOC ? p->calls[i].slot : PROGRAM_NO_REQUEST;
    size_t n = 0;
    for (size_t k = 0; k < p->n; k++)
        if (k != i && (request == PROGRAM_NO_REQUEST || program_request_of(&p->calls[k]) != request))
            p->calls[n++] = p->calls[k];
    p->n = n;
    renumber(p);
}

/* A free that was not there, or a request, at a place. */
static bool put_in(struct tried_program *p, uint64_t *random)
{
    uint32_t requests[PROGRAM_CALLS];
    uint64_t live;
    const size_t at = (size_t)below(random, p->n + 1), n_live = live_after(p, at, requests, &live);
    struct event c = { .kind = EVENT_ALLOC, .slot = PROGRAM_CALLS - 1, .bytes = draw_size(random) };
    if (n_live > 0 && below(random, 2) == 0) {
        const uint32_t request = requests[below(random, n_live)];
        c = (struct event){ .kind = EVENT_FREE, .slot = request, .bytes = bytes_of(p, request) };
        for (size_t i = at; i < p->n; i++)
            if (program_request_of(&p->calls[i]) == request)
                return false;
    }
    memmove(p->calls + at + 1, p->calls + at, (p->n - at) * sizeof *p->calls);
    p->calls[at] = c;
    p->n++;
    renumber(p);
    return true;
}

static uint64_t draw_resized(uint64_t bytes, uint64_t *random)
{
    switch (below(random, 6)) {
    case 0:  return bytes * 2;
    case 1:  return bytes / 2 + 1;
    case 2:  return bytes + (below(random, 2) == 0 ? 512 : 2 * MIB);
    case 3:  return bytes > 2 * MIB ? bytes - 2 * MIB : bytes;
    case 4:  return bytes / 8 * (4 + below(random, 9)) + 1;
    default: return draw_size(random);
    }
}

/* One act less, or another one at a place. */
static bool change_acts(struct tried_program *p, size_t most_calls, unsigned acts, uint64_t *random)
{
    const size_t at = (size_t)below(random, p->n);
    const struct tried_program was = *p;
    if (was.calls[at].kind == EVENT_CONTROL || was.calls[at].kind == EVENT_FLUSH) {
        program_take_out(p, at);
        return true;
    }
    const unsigned act = (unsigned)below(random, ACT_KINDS);
    if ((acts >> act & 1) == 0 || p->n >= most_calls || p->n == PROGRAM_CALLS)
        return false;
    p->n = at;
    if (!program_act(p, act, (uint32_t)below(random, p->n_requests)))
        return false;
    memcpy(p->calls + at + 1, was.calls + at, (was.n - at) * sizeof *p->calls);
    p->n = was.n + 1;
    return true;
}

static bool change_calls(struct tried_program *p, size_t most_calls, uint64_t *random)
{
    const uint64_t what = below(random, 4);
    if (p->n_requests == 0)
        return false;
    const uint32_t request = (uint32_t)below(random, p->n_requests);
    if (what == 0)
        program_take_out(p, call_of_request(p, request));
    else if (what == 1)
        return p->n < most_calls && p->n < PROGRAM_CALLS && put_in(p, random);
    else
        program_resize(p, request, draw_resized(bytes_of(p, request), random));
    return true;
}

bool program_change(struct tried_program *p, size_t most_calls, uint64_t most_live, unsigned acts, uint64_t *random)
{
    if (p->n == 0)
        return false;
    const bool is_changed = acts != 0 && below(random, 2) == 0 ? change_acts(p, most_calls, acts, random)
                                                               : change_calls(p, most_calls, random);
    return is_changed && p->n > 0 && program_live_peak(p) <= most_live && (acts == 0 || program_is_valid(p));
}

/* ---- as traces ---- */

static enum err put(struct trace_writer *w, const struct event *c, size_t i, struct err_detail *err)
{
    struct trace_record record = { .kind = (enum event_kind)c->kind, .time_ns = i, .bytes = c->bytes,
                                   .ptr = (uint64_t)c->slot + 1, .record = TRACE_NO_RECORD };
    if (c->kind == EVENT_CONTROL)
        program_put_act(c, &record);
    return trace_put(w, &record, err);
}

enum err program_open(const struct tried_program *p, struct trace_reader **out, struct err_detail *err)
{
    struct trace_writer *w;
    enum err e = trace_create(NULL, &w, err);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < p->n && e == ERR_OK; i++)
        e = put(w, &p->calls[i], i, err);
    if (e != ERR_OK)
        trace_abandon(w);
    return e == ERR_OK ? trace_finish_open(w, "a program", out, err) : e;
}

/* As many requests as a program can have, and after them all acts, a use of each request among them. */
static enum err put_all(struct trace_writer *w, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (uint32_t i = 0; i < PROGRAM_CALLS && e == ERR_OK; i++)
        e = put(w, &(struct event){ .kind = EVENT_ALLOC, .bytes = 512, .slot = i }, i, err);
    for (uint32_t i = 0; i < ACT_USE + PROGRAM_CALLS && e == ERR_OK; i++)
        e = put(w, &(struct event){ .kind = EVENT_CONTROL, .slot = i }, PROGRAM_CALLS + i, err);
    return e;
}

enum err program_open_blank(struct trace_reader **out, struct err_detail *err)
{
    struct trace_writer *w;
    enum err e = trace_create(NULL, &w, err);
    if (e != ERR_OK)
        return e;
    e = put_all(w, err);
    if (e != ERR_OK)
        trace_abandon(w);
    return e == ERR_OK ? trace_finish_open(w, "a program", out, err) : e;
}
