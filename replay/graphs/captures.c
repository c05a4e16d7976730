/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads captures from the controls of a trace, or from the pools of its requests. */
#include "replay/graphs/captures.h"

#include "base/array.h"
#include "replay/graphs/alike.h"
#include "base/intern.h"
#include "traces/stack_frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of each of the two requests that PyTorch makes in front of the first capture, for the state of its random
 * numbers (CUDAGeneratorImpl.cpp, register_graph). They lie in the ordinary pool. */
enum { GENERATOR_BYTES = 8, LOOK_BACK = 3 };

/* Everything a reading needs. */
struct reading {
    struct captures *out;
    struct text_table lines;
    struct pair_map line_of_stack;   /* (stack, 0) -> number of its line in `lines` + 1; 0: it has none */
    uint32_t *request_of;            /* by slot: number of the live captured request + 1; 0: none */
    uint64_t *live_bytes;            /* by capture */
    uint32_t *capture_of_pool;       /* CAPTURES_BY_POOL: number of the capture + 1 */
    struct event last[LOOK_BACK];    /* the last events, the newest first */
    bool      is_open;               /* in a capture */
    enum err  failed;
};

static void *grow(struct reading *r, void *array, size_t n, size_t *room, size_t size)
{
    void *bigger = array_grow(array, n, room, size);
    if (bigger == NULL)
        r->failed = ERR_HOST_NOMEM;
    return bigger;
}

/* ---- captures ---- */

static void open_capture(struct reading *r, uint64_t number, uint8_t pool, uint16_t stream)
{
    struct captures *c = r->out;
    struct graph_capture *at = grow(r, c->at, c->n, &c->room, sizeof *at);
    if (at == NULL)
        return;
    c->at = at;
    c->at[c->n] = (struct graph_capture){ .begin = number, .end = number, .pool_number = pool, .stream = stream,
                                          .first_request = (uint32_t)c->n_requests,
                                          .first_event = (uint32_t)c->n_events };
    memcpy(c->at[c->n++].pool, trace_pools(c->trace)[pool].id, sizeof c->at->pool);
    r->is_open = true;
}

static void put_around(struct reading *r, uint64_t number)
{
    struct captures *c = r->out;
    uint64_t *around = grow(r, c->around, c->n_around, &c->around_room, sizeof *around);
    if (around == NULL)
        return;
    c->around = around;
    c->around[c->n_around++] = number;
}

/* Notes the requests and the flush directly before a capture that torch.cuda.graph made. */
static void look_back(struct reading *r, uint64_t number)
{
    const struct event *last = r->last;
    const bool has_generator = last[0].kind == EVENT_ALLOC && last[0].bytes == GENERATOR_BYTES &&
                               last[1].kind == EVENT_ALLOC && last[1].bytes == GENERATOR_BYTES && r->out->n == 0;
    const uint64_t n_before = has_generator ? 2 : 0;
    if (number > n_before && last[n_before].kind == EVENT_FLUSH)
        put_around(r, number - n_before - 1);
    for (uint64_t i = n_before; i > 0; i--)
        put_around(r, number - i);
}

static void visit_control(struct reading *r, const struct event *ev, uint64_t number)
{
    const struct control *c = &trace_controls(r->out->trace)[ev->slot];
    if (r->out->how == CAPTURES_BY_RECORD && c->kind == CONTROL_CAPTURE_BEGIN && !r->is_open) {
        look_back(r, number);
        open_capture(r, number, c->pool, c->stream);
    } else if (c->kind == CONTROL_CAPTURE_END && r->is_open) {
        r->out->at[r->out->n - 1].end = number + 1;
        r->is_open = false;
    } else if (c->kind != CONTROL_GRAPH_RESET && c->kind != CONTROL_POOL_DROP) {
        return;
    }
    put_around(r, number);
}

/* ---- requests ---- */

/* Whether the open capture made this request. A request whose segment was freed may lack its pool; the stream tells. */
static bool is_captured(const struct reading *r, const struct event *ev)
{
    const struct graph_capture *c = &r->out->at[r->out->n - 1];
    return r->is_open && (ev->pool == c->pool_number || (ev->pool == 0 && ev->stream == c->stream));
}

/* The number of the program's line in a stack; 0: it has none. */
static uint32_t line_of_stack(struct reading *r, uint32_t stack)
{
    const char *const *frames;
    const uint32_t *known = pair_map_find(&r->line_of_stack, stack, 0);
    if (known != NULL)
        return *known;
    const size_t n = trace_stack(r->out->trace, stack, &frames);
    const char *line = stack_frame_of_program(frames, n);
    const uint32_t number = line == NULL ? 0 : text_table_put(&r->lines, line, strlen(line)) + 1;
    if ((line != NULL && number == 0) || !pair_map_add(&r->line_of_stack, stack, 0, number))
        r->failed = ERR_HOST_NOMEM;
    return number;
}

/* The number of the program's line that made a request; 0: no stack. */
static uint32_t line_of(struct reading *r, uint64_t number)
{
    struct trace_side side;
    if (trace_info(r->out->trace)->n_stacks == 0 || trace_side_at(r->out->trace, number, &side, NULL) != ERR_OK)
        return 0;
    return line_of_stack(r, side.stack);
}

static void put_event(struct reading *r, const struct event *ev, uint64_t number, uint32_t request)
{
    struct captures *c = r->out;
    struct graph_event *events = grow(r, c->events, c->n_events, &c->events_room, sizeof *events);
    if (events == NULL)
        return;
    c->events = events;
    c->events[c->n_events++] = (struct graph_event){ .event = number, .time_ns = ev->time_ns, .request = request,
                                                     .capture = (uint32_t)c->n - 1, .kind = ev->kind,
                                                     .is_inside = r->is_open };
    c->at[c->n - 1].n_events++;
}

static void take_request(struct reading *r, const struct event *ev, uint64_t number)
{
    struct captures *c = r->out;
    struct graph_request *requests = grow(r, c->requests, c->n_requests, &c->requests_room, sizeof *requests);
    if (requests == NULL)
        return;
    struct graph_capture *own = &c->at[c->n - 1];
    c->requests = requests;
    c->requests[c->n_requests] = (struct graph_request){ .bytes = ev->bytes, .capture = (uint32_t)c->n - 1,
                                                         .stream = ev->stream,
                                                         .freed_in = UINT32_MAX, .line = line_of(r, number) };
    own->n_requests++;
    c->has_lines |= c->requests[c->n_requests].line != 0;
    r->live_bytes[c->n - 1] += ev->bytes;
    if (r->live_bytes[c->n - 1] > own->peak_bytes)
        own->peak_bytes = r->live_bytes[c->n - 1];
    r->request_of[ev->slot] = (uint32_t)++c->n_requests;
    put_event(r, ev, number, (uint32_t)c->n_requests - 1);
}

static void take_free(struct reading *r, const struct event *ev, uint64_t number)
{
    struct captures *c = r->out;
    const uint32_t request = r->request_of[ev->slot] - 1;
    struct graph_request *q = &c->requests[request];
    if (ev->kind != EVENT_FREE_COMPLETED) {
        q->freed_in = (uint32_t)c->n - 1;
        q->is_freed_inside = r->is_open && q->capture == c->n - 1;
        r->live_bytes[q->capture] -= ev->bytes;
    }
    if (ev->kind != EVENT_FREE_REQUESTED)
        r->request_of[ev->slot] = 0;
    put_event(r, ev, number, request);
}

/* Without records of captures, a pool's requests are a capture: it opens with the first of them. */
static void open_by_pool(struct reading *r, const struct event *ev, uint64_t number)
{
    uint32_t *const known = &r->capture_of_pool[ev->pool];
    if (trace_pools(r->out->trace)[ev->pool].id[0] == 0 || r->out->how == CAPTURES_MIXED)
        return;                                              /* ordinary, or made by the program for anything */
    if (*known == 0) {
        look_back(r, number);
        open_capture(r, number, ev->pool, ev->stream);
        *known = (uint32_t)r->out->n;
    } else if (*known != r->out->n) {
        r->out->how = CAPTURES_MIXED;
    }
}

/* A pool does not tell where its capture ends: it is taken to end with its last request. */
static void close_by_pool(struct captures *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct graph_capture *own = &c->at[i];
        struct graph_event *events = c->events + own->first_event;
        for (uint32_t k = own->n_events; k > 0 && events[k - 1].kind != EVENT_ALLOC; k--) {
            events[k - 1].is_inside = false;
            c->requests[events[k - 1].request].is_freed_inside = false;
        }
    }
}

static void visit(void *arg, const struct event *ev, uint64_t number)
{
    struct reading *r = arg;
    if (r->failed != ERR_OK)
        return;
    if (r->out->how == CAPTURES_BY_POOL && ev->kind == EVENT_ALLOC)
        open_by_pool(r, ev, number);
    if (ev->kind == EVENT_CONTROL)
        visit_control(r, ev, number);
    else if (ev->kind == EVENT_ALLOC && r->out->n > 0 && is_captured(r, ev))
        take_request(r, ev, number);
    else if (ev->kind <= EVENT_FREE_COMPLETED && ev->kind != EVENT_ALLOC && r->request_of[ev->slot] != 0)
        take_free(r, ev, number);
    memmove(r->last + 1, r->last, (LOOK_BACK - 1) * sizeof r->last[0]);
    r->last[0] = *ev;
}

/* ---- the whole ---- */

static enum captures_how find_how(const struct trace_reader *trace, uint64_t *n)
{
    const struct trace_info *info = trace_info(trace);
    *n = 0;
    for (uint32_t i = 0; i < info->n_controls; i++)
        *n += trace_controls(trace)[i].kind == CONTROL_CAPTURE_BEGIN;
    if (*n > 0)
        return CAPTURES_BY_RECORD;
    *n = info->n_pools;
    return info->n_pools > 1 ? CAPTURES_BY_POOL : CAPTURES_NONE;
}

static bool has_earlier_pools(const struct trace_reader *trace)
{
    size_t n;
    const struct trace_segment *segments = trace_start_segments(trace, &n);
    for (size_t i = 0; i < n; i++)
        if (segments[i].pool != 0)
            return true;
    return false;
}

enum err captures_read(struct trace_reader *trace, struct captures *out, struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    uint64_t n_most;
    struct reading r = { .out = out, .failed = ERR_OK };
    *out = (struct captures){ .trace = trace, .has_earlier = has_earlier_pools(trace) };
    out->how = find_how(trace, &n_most);
    r.request_of = calloc((size_t)info->peak_live + 1, sizeof *r.request_of);
    r.live_bytes = calloc(array_bytes(n_most + 1, sizeof *r.live_bytes), 1);
    r.capture_of_pool = calloc(info->n_pools + 1, sizeof *r.capture_of_pool);
    enum err e = r.request_of == NULL || r.live_bytes == NULL || r.capture_of_pool == NULL ? ERR_HOST_NOMEM : ERR_OK;
    if (e == ERR_OK && (e = trace_each_event(trace, visit, &r, err)) == ERR_OK)
        e = r.failed;
    if (e == ERR_HOST_NOMEM)
        e = err_set(err, e, 0, "no memory for the captures of the recording");
    if (out->n == 0)
        out->how = CAPTURES_NONE;
    if (e == ERR_OK && out->how == CAPTURES_BY_POOL)
        close_by_pool(out);
    if (e == ERR_OK && out->how != CAPTURES_NONE && out->how != CAPTURES_MIXED)
        e = captures_match(out, err);
    for (size_t i = 0; i < out->n_events; i++)
        out->n_cross += out->events[i].kind != EVENT_ALLOC && out->events[i].is_inside &&
                        out->events[i].capture != out->requests[out->events[i].request].capture;
    text_table_free(&r.lines);
    pair_map_free(&r.line_of_stack);
    free(r.request_of);
    free(r.live_bytes);
    free(r.capture_of_pool);
    if (e != ERR_OK)
        captures_close(out);
    return e;
}

void captures_close(struct captures *c)
{
    free(c->at);
    free(c->requests);
    free(c->events);
    free(c->around);
    free(c->score);
    alignments_close(c);
    *c = (struct captures){ .trace = NULL };
}
