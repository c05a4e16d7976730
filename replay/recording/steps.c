/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One pass over the events; repetition is then looked for in the numbers that stand for the requests. */
#include "replay/recording/steps.h"

#include <assert.h>
#include <stdlib.h>

/* A leak is at least so many bytes a step, and so many steps must show it. */
enum { LEAK_MIN_BYTES = 1 << 20, LEAK_MIN_STEPS = 3 };

/* Repetition is looked for among so many requests at the end. */
enum { REQUESTS_MAX = 1 << 22 };

/*
 * A run of requests that repeats is a step only if it
 * - leaves behind at most a quarter of what it had live beyond its least:
 *   a layer of a forward pass keeps its activations,
 * - frees, but for a tenth of the bytes, only what it or the step before it requested: a layer of a backward pass frees
 *   what was requested long ago,
 * - reaches half of the most that was ever live, and
 * - covers, with its repetitions, half of all requests.
 */
enum { GROWTH_SHARE = 4, OLD_SHARE = 10, PEAK_SHARE = 2, COVERED_SHARE = 2 };

/* Periods that are looked at closely, at each end tried. */
enum { CANDIDATES_MAX = 64 };

/* The last steps may differ, as the one that was refused memory: the end is looked for at so many places. */
enum { ENDS_TRIED = 16 };

/* One request, and what was live just before it. */
struct request {
    uint64_t value;                  /* equal for requests of equal size, stream and pool */
    uint64_t event, live_bytes, bytes;
    size_t   died;                   /* requests made before its end, counted as here; SIZE_MAX: it has none */
};

struct label_marks {
    uint64_t n;
    uint64_t first, after_first;     /* events of the first two marks, */
    uint64_t third, second, last;    /* and of the last three */
    uint64_t live_second, live_last;
};

struct steps_pass {
    uint64_t live_bytes, skip;       /* skip: requests before those that are kept */
    struct request *requests;
    size_t n;
    size_t *request_of;              /* by slot; SIZE_MAX: none that is kept */
    struct label_marks *marks;       /* by label */
    uint64_t refused_live_bytes;     /* live with the first refused request that none follows; 0: a request follows */
};

static void pass_event(void *arg, const struct event *ev, uint64_t number)
{
    struct steps_pass *p = arg;
    if (ev->kind == EVENT_ALLOC) {
        const uint64_t place = (uint64_t)ev->stream << 8 | ev->pool;
        p->request_of[ev->slot] = p->skip > 0 ? SIZE_MAX : p->n;
        if (p->skip > 0)
            p->skip--;
        else
            p->requests[p->n++] = (struct request){ ev->bytes ^ place << 40, number, p->live_bytes, ev->bytes,
                                                    SIZE_MAX };
        p->live_bytes += ev->bytes;
        p->refused_live_bytes = 0;
    } else if (ev->kind == EVENT_OOM && p->refused_live_bytes == 0) {
        p->refused_live_bytes = p->live_bytes + ev->bytes;
    } else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED) {
        if (p->request_of[ev->slot] != SIZE_MAX)
            p->requests[p->request_of[ev->slot]].died = p->n;
        p->live_bytes -= ev->bytes;
    } else if (ev->kind == EVENT_MARK) {
        struct label_marks *m = &p->marks[ev->slot];
        m->n++;
        m->first = m->n == 1 ? number : m->first;
        m->after_first = m->n == 2 ? number : m->after_first;
        m->third = m->second;
        m->second = m->last;
        m->live_second = m->live_last;
        m->last = number;
        m->live_last = p->live_bytes;
    }
}

uint64_t steps_start_live_bytes(const struct trace_reader *trace)
{
    size_t n;
    uint64_t live = 0;
    const struct trace_block *blocks = trace_start_blocks(trace, &n);
    for (size_t i = 0; i < n; i++)
        if (blocks[i].slot != TRACE_NO_SLOT && !blocks[i].is_pending)
            live += blocks[i].requested;
    return live;
}

/* The most live at once with the requests of events [begin, end). */
static uint64_t live_peak_between(const struct steps_pass *p, uint64_t begin, uint64_t end)
{
    uint64_t most = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->requests[i].event >= begin && p->requests[i].event < end &&
            p->requests[i].live_bytes + p->requests[i].bytes > most)
            most = p->requests[i].live_bytes + p->requests[i].bytes;
    return most;
}

static bool steps_reach_refusal(const struct steps_pass *p, const struct steps *s)
{
    return p->refused_live_bytes > 0 && s->growth_bytes < LEAK_MIN_BYTES &&
           p->refused_live_bytes <= live_peak_between(p, s->begin, s->end);
}

/* The label that stands most often, at least twice: what lies between two of its marks is a step. */
static bool steps_by_mark(const struct steps_pass *p, uint32_t n_labels, struct steps *out)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < n_labels; i++)
        if (p->marks[i].n > most) {
            const struct label_marks *m = &p->marks[i];
            most = m->n;
            *out = (struct steps){ .how = STEPS_BY_MARK, .label = i, .whole = m->n - 1, .first = m->second,
                                   .end = m->last, .begin = m->first, .begin_end = m->after_first,
                                   .previous = m->n > 2 ? m->third : m->second,
                                   .growth_bytes = (int64_t)m->live_last - (int64_t)m->live_second };
        }
    out->reach_refusal = most > 1 && steps_reach_refusal(p, out);
    return most > 1;
}

/*
 * z[p] is how many requests from the end on equal those p places before them: the Z function of the sequence read
 * backwards (Gusfield, "Algorithms on Strings, Trees, and Sequences", 1997, section 1.4).
 */
static void z_backwards(const struct request *r, size_t n, uint32_t *z)
{
    size_t left = 0, right = 0;
    for (size_t i = 1; i < n; i++) {
        size_t k = i < right ? z[i - left] : 0;
        if (i < right && k > right - i)
            k = right - i;
        while (i + k < n && r[n - 1 - k].value == r[n - 1 - i - k].value)
            k++;
        z[i] = (uint32_t)k;
        if (i + k > right) {
            left = i;
            right = i + k;
        }
    }
}

/* The least and the most that were live before the requests of a stretch. */
struct extent {
    uint64_t least, most;
};

static void extent_add(struct extent *x, uint64_t live_bytes)
{
    x->least = live_bytes < x->least ? live_bytes : x->least;
    x->most = live_bytes > x->most ? live_bytes : x->most;
}

/* Whether the last `period` requests are a step, as far as what they have live tells. `live`: of them and the one
 * before. */
static bool is_like_a_step(const struct request *r, size_t n, size_t period, const struct extent *live,
                           uint64_t peak_bytes)
{
    const uint64_t before = r[n - 1 - period].live_bytes, after = r[n - 1].live_bytes;
    const uint64_t growth = after > before ? after - before : before - after;
    return growth <= (live->most - live->least) / GROWTH_SHARE && live->most >= peak_bytes / PEAK_SHARE;
}

/* Whether the last `period` requests, of n, see the end of much that is older than the period before them. */
static bool frees_old(const struct request *r, size_t n, size_t period)
{
    uint64_t freed = 0, old = 0;
    for (size_t i = 0; i < n; i++)
        if (r[i].died > n - period && r[i].died <= n) {
            freed += r[i].bytes;
            old += i + 2 * period < n ? r[i].bytes : 0;
        }
    return old > freed / OLD_SHARE;
}

/* The period that covers the longest stretch at the end; the shortest of several. 0: none. */
static size_t best_period(const struct request *r, size_t n, const uint32_t *z, size_t *covered)
{
    size_t period = 0, candidates = 0;
    struct extent all = { .least = UINT64_MAX }, live = all;       /* `live` grows with the period, from the end on */
    for (size_t i = 0; i < n; i++)
        extent_add(&all, r[i].live_bytes);
    *covered = n / COVERED_SHARE;
    if (n > 0)
        extent_add(&live, r[n - 1].live_bytes);
    for (size_t p = 1; 2 * p <= n && candidates < CANDIDATES_MAX; p++) {
        extent_add(&live, r[n - 1 - p].live_bytes);
        if (z[p] >= p && p + z[p] > *covered && is_like_a_step(r, n, p, &live, all.most) &&
            (candidates++, !frees_old(r, n, p))) {
            period = p;
            *covered = p + z[p];
        }
    }
    return period;
}

/* A run of `whole` steps of `period` requests that ends before request `end`. */
struct run {
    size_t end, period, whole;
};

/* The run at the end of the first n requests, carried on as far as it repeats. period 0: none. */
static struct run run_at(const struct request *r, size_t n_all, size_t n, uint32_t *z)
{
    size_t covered = 0, end = n;
    z_backwards(r, n, z);
    const size_t period = best_period(r, n, z, &covered);
    while (period > 0 && end < n_all && r[end].value == r[end - period].value)
        end++;
    return (struct run){ .end = end, .period = period, .whole = period > 0 ? (covered + end - n) / period : 0 };
}

static enum err steps_by_repetition(const struct steps_pass *p, uint64_t n_events, struct steps *out,
                                    struct err_detail *err)
{
    struct run run = { .period = 0 };
    const struct request *r = p->requests;
    uint32_t *z = calloc(p->n + 1, sizeof *z);
    if (z == NULL)
        return err_no_memory(err);
    for (size_t k = 0; k < ENDS_TRIED && run.period == 0; k++)
        run = run_at(r, p->n, p->n - p->n / ENDS_TRIED * k, z);
    free(z);
    if (run.period == 0)
        return ERR_OK;
    assert(run.whole >= 2 && run.whole * run.period <= run.end && run.end <= p->n);
    const size_t first = run.end - run.period, previous = first - run.period, begin = run.end - run.whole * run.period;
    *out = (struct steps){ .how = STEPS_BY_REPETITION, .whole = run.whole, .requests = run.period,
                           .growth_bytes = (int64_t)r[run.end - 1].live_bytes - (int64_t)r[first - 1].live_bytes,
                           .first = r[first].event, .end = run.end < p->n ? r[run.end].event : n_events,
                           .begin = r[begin].event, .begin_end = r[begin + run.period].event,
                           .previous = r[previous].event };
    return ERR_OK;
}

bool steps_leak(const struct steps *s)
{
    return s->whole >= LEAK_MIN_STEPS && s->growth_bytes >= LEAK_MIN_BYTES;
}

unsigned steps_borders(const struct steps *s, uint64_t out[3])
{
    if (s->how == STEPS_NONE || s->whole == 0)
        return 0;
    out[0] = s->begin;
    out[1] = s->begin_end;
    out[2] = s->end;
    return s->whole > 1 ? 3 : 2;
}

enum err steps_find(struct trace_reader *trace, struct steps *out, struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    const uint64_t allocs = info->by_kind[EVENT_ALLOC];
    const size_t kept = allocs > REQUESTS_MAX ? REQUESTS_MAX : (size_t)allocs;
    struct steps_pass p = { .live_bytes = steps_start_live_bytes(trace), .skip = allocs - kept };
    p.requests = calloc(kept + 1, sizeof *p.requests);
    p.marks = calloc((size_t)info->n_labels + 1, sizeof *p.marks);
    p.request_of = calloc((size_t)info->peak_live + 1, sizeof *p.request_of);
    *out = (struct steps){ .how = STEPS_NONE };
    const bool has_memory = p.requests != NULL && p.marks != NULL && p.request_of != NULL;
    for (uint32_t i = 0; i < info->peak_live && has_memory; i++)
        p.request_of[i] = SIZE_MAX;
    enum err e = has_memory ? trace_each_event(trace, pass_event, &p, err)
                            : err_no_memory(err);
    if (e == ERR_OK && !steps_by_mark(&p, info->n_labels, out))
        e = steps_by_repetition(&p, info->events, out, err);
    free(p.requests);
    free(p.marks);
    free(p.request_of);
    return e;
}
