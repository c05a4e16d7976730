/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Events of all recordings are held in memory and walked side by side. */
#include "replay/extrapolate/extrapolate.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/intern.h"
#include "traces/trace_copy.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one recording in memory ---- */

/* `request` names a request across recordings: its number among ALLOC and OOM events, or, counted down from the top,
 * its number among the requests of the start state. UINT64_MAX: the event has none. */
struct step_event {
    struct event ev;
    uint64_t     request;
};

struct recording {
    struct step_event *events;
    size_t             n;
    uint64_t          *live_bytes;           /* of the start state's requests, ascending by address */
    size_t             n_start;
};

static void recording_close(struct recording *r)
{
    free(r->events);
    free(r->live_bytes);
    *r = (struct recording){ .n = 0 };
}

/* Names the start state's requests, and notes their sizes. */
static enum err recording_start(struct recording *r, const struct trace_reader *trace, uint64_t *request_of,
                                struct err_detail *err)
{
    size_t n;
    const struct trace_block *blocks = trace_start_blocks(trace, &n);
    r->live_bytes = calloc(n + 1, sizeof *r->live_bytes);
    if (r->live_bytes == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (blocks[i].slot != TRACE_NO_SLOT) {
            request_of[blocks[i].slot] = UINT64_MAX - 1 - r->n_start;
            r->live_bytes[r->n_start++] = blocks[i].requested;
        }
    return ERR_OK;
}

static void recording_event(struct recording *r, const struct event *ev, uint64_t *request_of, uint64_t *n_requests)
{
    uint64_t request = UINT64_MAX;
    if (ev->kind == EVENT_ALLOC || ev->kind == EVENT_OOM)
        request = (*n_requests)++;
    if (ev->kind == EVENT_ALLOC)
        request_of[ev->slot] = request;
    else if (ev->kind <= EVENT_FREE_COMPLETED)
        request = request_of[ev->slot];
    r->events[r->n++] = (struct step_event){ *ev, request };
}

static enum err recording_read(struct recording *r, struct trace_reader *trace, struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    const struct event *ev;
    uint64_t n_requests = 0;
    uint64_t *request_of = calloc((size_t)info->peak_live + 1, sizeof *request_of);
    r->events = calloc(array_bytes(info->events + 1, sizeof *r->events), 1);
    enum err e = request_of == NULL || r->events == NULL ? err_no_memory(err)
                                                         : recording_start(r, trace, request_of, err);
    if (e == ERR_OK)
        e = trace_seek(trace, 0, err);
    for (size_t n = 1; e == ERR_OK && n > 0;) {
        e = trace_next(trace, &ev, &n, err);
        for (size_t i = 0; i < n && e == ERR_OK; i++)
            recording_event(r, &ev[i], request_of, &n_requests);
    }
    free(request_of);
    return e;
}

static bool is_free(const struct step_event *s)
{
    return s->ev.kind == EVENT_FREE || s->ev.kind == EVENT_FREE_REQUESTED || s->ev.kind == EVENT_FREE_COMPLETED;
}

static int compare_frees(const void *a, const void *b)
{
    const struct step_event *x = a, *y = b;
    if (x->request != y->request)
        return x->request < y->request ? -1 : 1;
    return x->ev.kind < y->ev.kind ? -1 : x->ev.kind > y->ev.kind;
}

/* Puts each run of frees in the order of their requests. */
static void recording_order_frees(struct recording *r)
{
    for (size_t i = 0; i < r->n; i++) {
        size_t end = i;
        while (end < r->n && is_free(&r->events[end]))
            end++;
        if (end > i + 1)
            qsort(&r->events[i], end - i, sizeof r->events[i], compare_frees);
        i = end > i ? end - 1 : i;
    }
}

/* ---- aligning ---- */

static bool is_alike(const struct extrapolation *x, const struct step_event *a, const struct step_event *b,
                     size_t other)
{
    if (a->ev.kind != b->ev.kind || a->request != b->request || a->ev.pool != b->ev.pool ||
        a->ev.stream != b->ev.stream)
        return false;
    if (a->ev.kind == EVENT_CONTROL) {
        const struct control *c = &trace_controls(x->traces[0])[a->ev.slot];
        const struct control *d = &trace_controls(x->traces[other])[b->ev.slot];
        return c->kind == d->kind && c->pool == d->pool && c->stream == d->stream;
    }
    if (a->ev.kind == EVENT_MARK)
        return strcmp(trace_label(x->traces[0], a->ev.slot), trace_label(x->traces[other], b->ev.slot)) == 0;
    return true;
}

static const char *kind_word(const struct recording *r, size_t i)
{
    static const char *const words[EVENT_KINDS] = { "a request", "a free", "a free that waits for a stream",
                                                    "the end of a free", "a flush", "a refused request", "a control",
                                                    "a mark" };
    return i < r->n ? words[r->events[i].ev.kind] : "its end";
}

/* Says where the recordings differ, in the numbering of the first one. */
static enum err differ(struct extrapolation *x, const struct recording *r, size_t other, size_t i,
                       struct err_detail *err)
{
    int64_t number = (int64_t)i;
    const size_t at = i < r[0].n ? i : i - (i > 0);
    if (r[0].n > 0 && trace_event_number(x->traces[0], (int64_t)at, &number, err) != ERR_OK)
        number = (int64_t)at;
    return err_set(err, ERR_FORMAT, (uint64_t)number,
                   "the recordings differ in more than sizes: at %s %" PRId64 " of the one at %s=%" PRIu64
                   " stands %s, in the one at %s=%" PRIu64 " %s. The program took another way, so nothing can be said "
                   "of other sizes",
                   trace_event_word(x->traces[0]), number, x->parameter, x->values[0], kind_word(&r[0], i),
                   x->parameter, x->values[other], kind_word(&r[other], i));
}

static enum err align_start(struct extrapolation *x, const struct recording *r, struct err_detail *err)
{
    for (size_t k = 1; k < x->n_traces; k++)
        if (r[k].n_start != r[0].n_start ||
            memcmp(r[k].live_bytes, r[0].live_bytes, r[0].n_start * sizeof *r[0].live_bytes) != 0)
            return err_set(err, ERR_FORMAT, 0,
                           "the recordings start with other requests live (%zu at %s=%" PRIu64 ", %zu at %s=%" PRIu64
                           "): record from the program's start, or from a moment at which the sizes are the same",
                           r[0].n_start, x->parameter, x->values[0], r[k].n_start, x->parameter, x->values[k]);
    return ERR_OK;
}

static enum err align_events(struct extrapolation *x, const struct recording *r, struct err_detail *err)
{
    for (size_t k = 1; k < x->n_traces; k++) {
        const size_t n = r[k].n < r[0].n ? r[k].n : r[0].n;
        for (size_t i = 0; i < n; i++)
            if (!is_alike(x, &r[0].events[i], &r[k].events[i], k))
                return differ(x, r, k, i, err);
        if (r[k].n != r[0].n)
            return differ(x, r, k, n, err);
    }
    return ERR_OK;
}

/* ---- formulas ---- */

/* Which tuples of sizes were met: growths by the first size and a seeded hash of all. Tuples with one hash lie under it
 * and the numbers after it. */
static enum err growth_find(struct extrapolation *x, struct pair_map *map, const struct hash_seed *seed, size_t *room,
                            const struct growth *g, uint32_t *out, struct err_detail *err)
{
    for (uint64_t key = hash_bytes(seed, g->bytes, sizeof g->bytes);; key++) {
        const uint32_t *found = pair_map_find(map, g->bytes[0], key);
        if (found != NULL && memcmp(x->growths[*found].bytes, g->bytes, sizeof g->bytes) == 0) {
            *out = *found;
            return ERR_OK;
        }
        if (found != NULL)
            continue;
        struct growth *grown = array_grow(x->growths, x->n_growths, room, sizeof *grown);
        if (grown == NULL)
            return err_no_memory(err);
        x->growths = grown;
        if (!pair_map_add(map, g->bytes[0], key, (uint32_t)x->n_growths))
            return err_no_memory(err);
        *out = (uint32_t)x->n_growths;
        x->growths[x->n_growths++] = *g;
        return ERR_OK;
    }
}

static enum err find_growths(struct extrapolation *x, const struct recording *r, struct err_detail *err)
{
    struct pair_map map = { .n = 0 };
    const struct hash_seed seed = hash_seed();
    size_t room = 0;
    enum err e = ERR_OK;
    x->growth_of = calloc(r[0].n + 1, sizeof *x->growth_of);
    if (x->growth_of == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < r[0].n && e == ERR_OK; i++) {
        struct growth g = { .first = i };
        uint32_t index = 0;
        if (r[0].events[i].ev.kind != EVENT_ALLOC && r[0].events[i].ev.kind != EVENT_OOM)
            continue;
        for (size_t k = 0; k < x->n_traces; k++)
            g.bytes[k] = r[k].events[i].ev.bytes;
        g.fit = formula_find(x->values, g.bytes, x->n_traces, &g.formula);
        e = growth_find(x, &map, &seed, &room, &g, &index, err);
        if (e == ERR_OK) {
            x->growths[index].n++;
            assert(x->n_requests == r[0].events[i].request);
            x->growth_of[x->n_requests++] = index;
        }
    }
    pair_map_free(&map);
    return e;
}

enum err extrapolate_open(struct trace_reader *const *traces, const uint64_t *values, size_t n, const char *parameter,
                          struct extrapolation *out, struct err_detail *err)
{
    struct extrapolation x = { .n_traces = n, .parameter = parameter };
    struct recording r[FORMULA_POINTS_MAX] = { { .n = 0 } };
    enum err e = ERR_OK;
    assert(n >= 2 && n <= FORMULA_POINTS_MAX);
    for (size_t k = 0; k < n && e == ERR_OK; k++) {
        x.traces[k] = traces[k];
        x.values[k] = values[k];
        e = recording_read(&r[k], traces[k], err);
        recording_order_frees(&r[k]);
    }
    if (e == ERR_OK)
        e = align_start(&x, r, err);
    if (e == ERR_OK)
        e = align_events(&x, r, err);
    if (e == ERR_OK)
        e = find_growths(&x, r, err);
    for (size_t k = 0; k < n; k++)
        recording_close(&r[k]);
    if (e != ERR_OK)
        extrapolate_close(&x);
    else
        *out = x;
    return e;
}

void extrapolate_close(struct extrapolation *x)
{
    free(x->growths);
    free(x->growth_of);
    x->growths = NULL;
    x->growth_of = NULL;
    x->n_growths = x->n_requests = 0;
}

uint64_t extrapolate_count(const struct extrapolation *x, enum formula_fit fit)
{
    uint64_t n = 0;
    for (size_t i = 0; i < x->n_growths; i++)
        n += x->growths[i].fit == fit ? x->growths[i].n : 0;
    return n;
}

/* ---- the trace at another value ---- */

struct extrapolator {
    const struct extrapolation *x;
    struct trace_reader *in;
    struct trace_writer *out;
    uint64_t  value;
    enum unsolved_size unsolved;
    uint64_t *sizes;                 /* by growth */
    uint64_t *ptr_of;                /* by slot: what the writer calls its request */
    uint64_t  n_requests, next_ptr;
    uint64_t  n_events;
    struct stack_copies stacks;
};

/* The smallest or the largest recorded size. */
static uint64_t recorded_size(const struct extrapolator *t, const struct growth *g)
{
    uint64_t size = g->bytes[0];
    for (size_t k = 1; k < t->x->n_traces; k++)
        if (t->unsolved == UNSOLVED_LARGEST ? g->bytes[k] > size : g->bytes[k] < size)
            size = g->bytes[k];
    return size;
}

static enum err find_sizes(struct extrapolator *t, struct err_detail *err)
{
    for (size_t i = 0; i < t->x->n_growths; i++) {
        const struct growth *g = &t->x->growths[i];
        char text[FORMULA_TEXT];
        if (g->fit == FORMULA_AMBIGUOUS)
            return err_set(err, ERR_UNSUPPORTED, 0,
                           "more than one formula fits the sizes %" PRIu64 " (%s=%" PRIu64 ") and %" PRIu64
                           " (%s=%" PRIu64 "), %" PRIu64 " requests: a recording at a third %s decides", g->bytes[0],
                           t->x->parameter, t->x->values[0], g->bytes[1], t->x->parameter, t->x->values[1], g->n,
                           t->x->parameter);
        if (g->fit == FORMULA_NONE)
            t->sizes[i] = recorded_size(t, g);
        else if (!formula_at(&g->formula, t->value, &t->sizes[i]))
            return err_set(err, ERR_UNSUPPORTED, 0, "%s gives no whole number of bytes at %s=%" PRIu64,
                           formula_text(&g->formula, t->x->parameter, text), t->x->parameter, t->value);
    }
    return ERR_OK;
}

static enum err put_facts(struct extrapolator *t, struct err_detail *err)
{
    char note[256];
    snprintf(note, sizeof note, "extrapolated to %.60s=%" PRIu64 " from %zu recordings", t->x->parameter, t->value,
             t->x->n_traces);
    return trace_copy_facts(t->in, t->out, note, err);
}

static enum err put_start(struct extrapolator *t, struct err_detail *err)
{
    size_t n_segments, n_blocks;
    const struct trace_segment *segments = trace_start_segments(t->in, &n_segments);
    const struct trace_block *blocks = trace_start_blocks(t->in, &n_blocks);
    enum err e = ERR_OK;
    for (size_t i = 0; i < n_segments && e == ERR_OK; i++)
        e = trace_put_start_segment(t->out, &segments[i], trace_streams(t->in)[segments[i].stream].handle,
                                    trace_pools(t->in)[segments[i].pool].id, err);
    for (size_t i = 0; i < n_blocks && e == ERR_OK; i++) {
        const bool is_live = blocks[i].slot != TRACE_NO_SLOT;
        if (is_live)
            t->ptr_of[blocks[i].slot] = blocks[i].addr;
        e = trace_put_start_block(t->out, &blocks[i], is_live, trace_streams(t->in)[blocks[i].stream].handle,
                                  trace_pools(t->in)[blocks[i].pool].id, err);
    }
    return e;
}

static enum err put_event(struct extrapolator *t, const struct event *ev, struct err_detail *err)
{
    struct trace_record r;
    enum err e = trace_copy_event(t->in, ev, t->out, &r, err);
    if (e == ERR_OK && (ev->kind == EVENT_ALLOC || ev->kind == EVENT_OOM)) {
        r.bytes = t->sizes[t->x->growth_of[t->n_requests++]];
        e = trace_copy_stack_of(&t->stacks, t->in, t->n_events, t->out, &r.stack, err);
    }
    if (ev->kind == EVENT_ALLOC)
        t->ptr_of[ev->slot] = t->next_ptr++;
    if (ev->kind <= EVENT_FREE_COMPLETED)
        r.ptr = t->ptr_of[ev->slot];
    else if (ev->kind == EVENT_CONTROL)
        r.ptr = t->ptr_of[r.control.slot];
    t->n_events++;
    return e == ERR_OK ? trace_put(t->out, &r, err) : e;
}

static enum err put_events(struct extrapolator *t, struct err_detail *err)
{
    const struct event *ev;
    enum err e = trace_seek(t->in, 0, err);
    for (size_t n = 1; e == ERR_OK && n > 0;) {
        e = trace_next(t->in, &ev, &n, err);
        for (size_t i = 0; i < n && e == ERR_OK; i++)
            e = put_event(t, &ev[i], err);
    }
    return e;
}

/* Writes the trace to `path`, or with NULL opens it in memory. */
static enum err extrapolate_to(const struct extrapolation *x, uint64_t value, enum unsolved_size unsolved,
                               const char *path, struct trace_reader **out, struct err_detail *err)
{
    /* Pointers of new requests lie above every address. */
    struct extrapolator t = { .x = x, .in = x->traces[0], .value = value,
                              .unsolved = unsolved, .next_ptr = UINT64_C(1) << 63 };
    t.sizes = calloc(x->n_growths + 1, sizeof *t.sizes);
    t.ptr_of = calloc((size_t)trace_info(t.in)->peak_live + 1, sizeof *t.ptr_of);
    enum err e = t.sizes == NULL || t.ptr_of == NULL ? err_no_memory(err) : find_sizes(&t, err);
    if (e == ERR_OK)
        e = trace_create(path, &t.out, err);
    if (e == ERR_OK) {
        e = put_facts(&t, err);
        if (e == ERR_OK)
            e = put_start(&t, err);
        if (e == ERR_OK)
            e = put_events(&t, err);
        if (e != ERR_OK)
            trace_abandon(t.out);
        else
            e = path != NULL ? trace_finish(t.out, err) : trace_finish_open(t.out, "the extrapolated trace", out, err);
    }
    free(t.sizes);
    free(t.ptr_of);
    stack_copies_close(&t.stacks);
    return e;
}

enum err extrapolate_trace(const struct extrapolation *x, uint64_t value, enum unsolved_size unsolved,
                           struct trace_reader **out, struct err_detail *err)
{
    return extrapolate_to(x, value, unsolved, NULL, out, err);
}

enum err extrapolate_write(const struct extrapolation *x, uint64_t value, enum unsolved_size unsolved, const char *path,
                           struct err_detail *err)
{
    return extrapolate_to(x, value, unsolved, path, NULL, err);
}
