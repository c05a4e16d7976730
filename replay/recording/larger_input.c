/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Requests sorted by operation and time; of each operation the last record of size divides before from now. */
#include "replay/recording/larger_input.h"

#include "base/intern.h"
#include "replay/recording/steps.h"
#include "traces/stack_frame.h"

#include <stdlib.h>
#include <string.h>

#define REQUESTS_MAX (UINT64_C(1) << 22)

/* Of what is larger, so much must live: the turn goes on, though part of it is freed at once. A size is as large as the
 * record from so much of it on. The record must lie in the last third. It matters if it is so many times as large as is
 * usual. */
#define LIVE_SHARE  0.3
#define AS_LARGE    0.9
enum { LAST_PART = 3 };
#define TIMES_LEAST 1.2

/* Of inputs in any order an operation sets about 0.7 records of size in the later half; so many are a trend. */
enum { TREND_RECORDS = 3 };

struct request {
    uint32_t operation;
    bool     is_live;
    uint64_t number, bytes;          /* number: of the request, in order */
};

struct larger_pass {
    struct request *requests;
    size_t   n;
    uint32_t *of_slot;
    uint64_t moment;
    uint64_t *events;                /* by request; the refused one last */
    uint64_t *live;                  /* before it */
    uint64_t  live_now;
};

static void take_event(void *arg, const struct event *ev, uint64_t number)
{
    struct larger_pass *p = arg;
    if (number >= p->moment)
        return;
    if (ev->kind == EVENT_ALLOC) {
        p->of_slot[ev->slot] = (uint32_t)p->n + 1;
        p->events[p->n] = number;
        p->live[p->n] = p->live_now;
        p->live_now += ev->bytes;
        p->requests[p->n] = (struct request){ .is_live = true, .number = p->n, .bytes = ev->bytes };
        p->n++;
    } else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED) {
        p->live_now -= ev->bytes;
        if (p->of_slot[ev->slot] > 0)
            p->requests[p->of_slot[ev->slot] - 1].is_live = false;
    }
}

/* Numbers the operations: a stack from its innermost frame to the program's line. `of_stack`: 0 for no stack. */
static bool number_operations(struct trace_reader *trace, uint32_t *of_stack)
{
    struct text_table names = { .n = 0 };
    const char *const *frames;
    bool has_memory = true;
    for (uint32_t i = 1; i <= trace_info(trace)->n_stacks && has_memory; i++) {
        const size_t n = trace_stack(trace, i, &frames);
        const size_t last = stack_frame_index_of_program(frames, n);
        char text[2048];
        size_t used = 0;
        for (size_t k = 0; k < n && k <= last && used < sizeof text - 1; k++) {
            const size_t length = strlen(frames[k]);
            const size_t put = length < sizeof text - 1 - used ? length : sizeof text - 1 - used;
            memcpy(text + used, frames[k], put);
            used += put;
        }
        const uint32_t id = text_table_put(&names, text, used);
        has_memory = id != UINT32_MAX;
        of_stack[i] = id + 1;
    }
    text_table_free(&names);
    return has_memory;
}

static int compare_requests(const void *a, const void *b)
{
    const struct request *x = a, *y = b;
    if (x->operation != y->operation)
        return x->operation < y->operation ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_bytes(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The sums over the operations. */
struct larger_sums {
    uint64_t known, larger, usual, most;         /* bytes: live of operations that have a past; of those that are
                                                  * larger now; these as large as usual, and as the largest before */
    uint64_t first;                              /* number of the first request that is larger */
    double   worst;                              /* the most times that an operation exceeds its largest before */
    unsigned late_records;                       /* the most of an operation in the later half */
    uint64_t *scratch;
};

/* Where the requests of an operation get larger than all before for the last time; 0: never. *late: how often they do
 * from number `half` on. */
static size_t last_record(const struct request *r, size_t n, uint64_t half, unsigned *late)
{
    uint64_t most = 0;
    size_t at = 0;
    *late = 0;
    for (size_t i = 0; i < n; i++)
        if (r[i].bytes > most) {
            at = i;
            most = r[i].bytes;
            *late += r[i].number >= half;
        }
    return at;
}

/* Small requests of the operation, such as a mean, are no inputs: the median is of those that reach half of the most.
 */
static uint64_t median_before(const struct request *r, size_t n, uint64_t most, uint64_t *scratch)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (r[i].bytes >= most / 2)
            scratch[k++] = r[i].bytes;
    qsort(scratch, k, sizeof *scratch, compare_bytes);
    return scratch[k / 2];
}

static void add_operation(struct larger_sums *s, const struct request *r, size_t n, size_t n_all)
{
    unsigned late;
    const size_t at = last_record(r, n, n_all / 2, &late);
    uint64_t live = 0, now = 0, now_live = 0, before = 0;
    size_t n_now = 0;
    bool has_past = false;
    for (size_t i = 0; i < n; i++) {
        live += r[i].is_live ? r[i].bytes : 0;
        has_past = has_past || !r[i].is_live;
        if (i < at)
            before = r[i].bytes > before ? r[i].bytes : before;
        if (i >= at && (double)r[i].bytes >= AS_LARGE * (double)r[at].bytes) {
            now += r[i].bytes;
            n_now += r[i].is_live;
            now_live += r[i].is_live ? r[i].bytes : 0;
        }
    }
    if (live == 0 || !has_past)
        return;
    s->known += live;
    if (at == 0 || r[at].number < n_all - n_all / LAST_PART || (double)now_live < LIVE_SHARE * (double)now)
        return;
    s->larger += now_live;
    s->worst = (double)r[at].bytes > s->worst * (double)before ? (double)r[at].bytes / (double)before : s->worst;
    s->first = r[at].number < s->first ? r[at].number : s->first;
    s->late_records = late > s->late_records ? late : s->late_records;
    s->usual += n_now * median_before(r, at, before, s->scratch);
    s->most += n_now * before;
}

static void sum_up(struct larger_pass *p, struct larger_sums *s)
{
    size_t end;
    qsort(p->requests, p->n, sizeof *p->requests, compare_requests);
    for (size_t begin = 0; begin < p->n; begin = end) {
        for (end = begin; end < p->n && p->requests[end].operation == p->requests[begin].operation;)
            end++;
        add_operation(s, &p->requests[begin], end - begin, p->n);
    }
}

static enum err read_requests(struct trace_reader *trace, struct larger_pass *p, uint64_t asked_bytes,
                              struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    uint32_t *of_stack = calloc((size_t)info->n_stacks + 1, sizeof *of_stack);
    uint32_t *stacks = calloc(info->by_kind[EVENT_ALLOC] + 2, sizeof *stacks);
    const bool is_ready = of_stack != NULL && stacks != NULL && number_operations(trace, of_stack);
    enum err e = is_ready ? ERR_OK : err_no_memory(err);
    if (e == ERR_OK)
        e = trace_each_event(trace, take_event, p, err);
    if (e == ERR_OK) {
        p->live[p->n] = p->live_now;
        p->events[p->n] = p->moment < info->events ? p->moment : TRACE_NO_EVENT;
        p->requests[p->n] = (struct request){ .is_live = true, .number = p->n, .bytes = asked_bytes };
        p->n += asked_bytes > 0;
        e = trace_stacks_at(trace, p->events, p->n, stacks, err);
    }
    for (size_t i = 0; i < p->n && e == ERR_OK; i++)
        p->requests[i].operation = of_stack[stacks[i]];
    free(of_stack);
    free(stacks);
    return e;
}

/* What is live when the turn begins stays; what comes on top of it grows as the inputs do. */
static uint64_t need_of_turn(const struct larger_pass *p, const struct larger_sums *s, double times)
{
    uint64_t most = 0;
    for (size_t i = 0; i <= s->first && i < p->n; i++)
        most = p->live[i] > most ? p->live[i] : most;
    const uint64_t base = p->live[s->first];
    return base + (uint64_t)((double)(most > base ? most - base : 0) * times);
}

static void take_sums(const struct larger_pass *p, const struct larger_sums *s, struct larger_input *out)
{
    if (s->larger == 0 || s->usual == 0 || s->most == 0)
        return;
    out->bytes = s->larger;
    out->times = (double)s->larger / (double)s->usual;
    out->times_most = (double)s->larger / (double)s->most;
    out->over_most = s->larger - s->most;
    out->need_bytes = need_of_turn(p, s, s->worst);
    out->is_trend = s->late_records >= TREND_RECORDS;
    out->is_larger = 2 * s->larger >= s->known && out->times >= TIMES_LEAST;
}

enum err larger_input_find(struct trace_reader *trace, uint64_t moment, uint64_t asked_bytes, struct larger_input *out,
                           struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    const uint64_t allocs = info->by_kind[EVENT_ALLOC];
    struct larger_pass p = { .moment = moment, .live_now = steps_start_live_bytes(trace) };
    struct larger_sums s = { .first = UINT64_MAX };
    *out = (struct larger_input){ .is_larger = false };
    if (allocs > REQUESTS_MAX)
        return ERR_OK;
    p.requests = calloc(allocs + 2, sizeof *p.requests);
    p.events = calloc(allocs + 2, sizeof *p.events);
    p.live = calloc(allocs + 2, sizeof *p.live);
    p.of_slot = calloc((size_t)info->peak_live + 1, sizeof *p.of_slot);
    s.scratch = calloc(allocs + 2, sizeof *s.scratch);
    enum err e = p.requests == NULL || p.events == NULL || p.live == NULL || p.of_slot == NULL || s.scratch == NULL
                     ? err_no_memory(err) : read_requests(trace, &p, asked_bytes, err);
    for (size_t i = 0; i < p.n && e == ERR_OK; i++)
        if (p.requests[i].number != p.n - 1 && p.requests[i].bytes > out->largest_before)
            out->largest_before = p.requests[i].bytes;
    if (e == ERR_OK) {
        sum_up(&p, &s);
        take_sums(&p, &s, out);
    }
    free(p.requests);
    free(p.events);
    free(p.live);
    free(p.of_slot);
    free(s.scratch);
    return e;
}
