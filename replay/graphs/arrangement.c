/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Writes the trace of an arrangement, and replays it. */
#include "replay/graphs/arrangement.h"

#include "base/intern.h"
#include "replay/engine/start_state.h"
#include "replay/graphs/alike.h"
#include "traces/trace_copy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum request_state { REQUEST_ABSENT, REQUEST_LIVE, REQUEST_RETIRED };

struct builder {
    const struct arrangement *how;
    struct captures          *c;
    struct trace_writer      *out;
    struct pair_map           state;     /* by captured request: enum request_state; one that is not there is ABSENT */
    struct pair_map           stream_put;        /* by dense stream: the writer has its number */
    struct pair_map           host_of;   /* by dense stream: the place of the first capture of the list on it */
    uint32_t                 *place;     /* by capture: its place in the list; UINT32_MAX: left out */
    bool                     *is_left_out;       /* by slot: the request in it is one of captures.around */
    size_t                    next_around, next_captured;        /* GRAPH_POOLS_NONE: of captures.around, .events */
    uint64_t                  number;    /* of the event that is read */
    enum arrangement_doubt    doubt;
};

static void doubt(struct builder *b, enum arrangement_doubt err)
{
    if (b->doubt == ARRANGEMENT_EXACT)
        b->doubt = err;
}

/* ---- captured requests ---- */

/* Requests of captures are named above those of the rest of the program, which go by their slots. */
static uint64_t name_of(uint32_t request)
{
    return (UINT64_C(1) << 40) + request;
}

static void take_pool(const struct builder *b, uint32_t capture, uint64_t pool[2])
{
    pool[0] = pool[1] = 0;
    switch (b->how->pools) {
    case GRAPH_POOLS_RECORDED:
        memcpy(pool, b->c->at[capture].pool, sizeof b->c->at[capture].pool);
        break;
    case GRAPH_POOLS_SHARED:
        pool[0] = 1;
        break;
    case GRAPH_POOLS_OWN:
        pool[0] = capture + 1;
        break;
    case GRAPH_POOLS_NONE:
        break;
    }
}

/* Tells the writer a stream's own number before the stream's first event. */
static enum err put_stream(struct builder *b, uint16_t stream, struct err_detail *err)
{
    const struct stream_name *name = &trace_streams(b->c->trace)[stream];
    if (b->how->pools == GRAPH_POOLS_NONE || pair_map_find(&b->stream_put, stream, 0) != NULL)
        return ERR_OK;
    if (!pair_map_add(&b->stream_put, stream, 0, 1))
        return err_no_memory(err);
    return trace_put_stream_number(b->out, name->handle, name->number, err);
}

/* Puts an event of a request that lies in the pool of `capture`, if its state allows it. */
static enum err put_captured(struct builder *b, uint32_t request, uint32_t capture, enum event_kind kind,
                             uint64_t time_ns, struct err_detail *err)
{
    const struct graph_request *q = &b->c->requests[request];
    const unsigned needed = kind == EVENT_ALLOC ? REQUEST_ABSENT
                            : kind == EVENT_FREE_COMPLETED ? REQUEST_RETIRED : REQUEST_LIVE;
    struct trace_record record = { .kind = kind, .time_ns = time_ns, .ptr = name_of(request), .bytes = q->bytes,
                                   .stream = trace_streams(b->c->trace)[q->stream].handle, .record = TRACE_NO_RECORD };
    uint32_t *state = pair_map_find(&b->state, request, 0);
    if ((state != NULL ? *state : REQUEST_ABSENT) != needed)
        return ERR_OK;
    const uint32_t next = kind == EVENT_ALLOC ? REQUEST_LIVE
                          : kind == EVENT_FREE_REQUESTED ? REQUEST_RETIRED : REQUEST_ABSENT;
    if (state != NULL)
        *state = next;
    else if (!pair_map_add(&b->state, request, 0, next))
        return err_no_memory(err);
    take_pool(b, capture, record.pool);
    const enum err e = put_stream(b, q->stream, err);
    return e == ERR_OK ? trace_put(b->out, &record, err) : e;
}

/* True if the capture at this place of the list is the first of the list on its stream. */
static bool is_host(const struct builder *b, size_t place)
{
    return *pair_map_find(&b->host_of, b->c->at[b->how->list[place]].stream, 0) == place;
}

/* The capture whose requests for all the one at `place` makes now; UINT32_MAX: it made them itself, or another does, or
 * there are none. */
static uint32_t owner_of_once(const struct builder *b, size_t place)
{
    const uint32_t capture = b->how->list[place], first = b->c->at[capture].first_on_stream;
    const bool has_none = b->c->at[first].is_matched && !b->c->at[first].has_once;
    return first == capture || has_none || !is_host(b, place) ? UINT32_MAX : first;
}

/* Puts what the first capture on the stream requested for all, into the pool of the capture at `place`: what it
 * requested next after the counterpart of `request`, which was just put. UINT32_MAX: what it requested first of all. */
static enum err put_once(struct builder *b, size_t place, uint32_t request, struct err_detail *err)
{
    const uint32_t capture = b->how->list[place], from = owner_of_once(b, place);
    uint32_t after = UINT32_MAX;                     /* the last request of `capture` that has a counterpart so far */
    if (from == UINT32_MAX)
        return ERR_OK;
    const struct alignment *x;
    enum err e = captures_align(b->c, from, capture, &x, err);
    if (e == ERR_OK && (!b->c->at[from].is_matched || !x->is_alike))
        doubt(b, ARRANGEMENT_DOUBT_ONCE);
    if (b->c->at[capture].n_requests == 0)
        return e;
    for (uint32_t i = 0; e == ERR_OK && i < b->c->at[from].n_requests; i++) {
        const uint32_t once = b->c->at[from].first_request + i;
        if (x->other[i] != UINT32_MAX)
            after = b->c->at[capture].first_request + x->other[i];
        else if (b->c->requests[once].is_once && after == request)
            e = put_captured(b, once, capture, EVENT_ALLOC, 0, err);
    }
    return e;
}

/* The request of capture `to` that does what `request` does in its own; UINT32_MAX: there is none, or nobody can tell.
 * */
static enum err find_counterpart(struct builder *b, uint32_t request, uint32_t to, uint32_t *out,
                                 struct err_detail *err)
{
    const uint32_t from = b->c->requests[request].capture;
    const struct alignment *x;
    const enum err e = captures_align(b->c, from, to, &x, err);
    *out = UINT32_MAX;
    if (e != ERR_OK)
        return e;
    const uint32_t other = x->other[request - b->c->at[from].first_request];
    if (!x->is_alike)
        doubt(b, ARRANGEMENT_DOUBT_FREES);
    else if (other != UINT32_MAX)
        *out = b->c->at[to].first_request + other;
    return ERR_OK;
}

/* The request that a recorded free ends in this arrangement; UINT32_MAX: none. */
static enum err find_freed(struct builder *b, const struct graph_event *ev, size_t place, uint32_t *out,
                           struct err_detail *err)
{
    const uint32_t born = b->c->requests[ev->request].capture, lag = ev->capture - born;
    *out = lag == 0 || (place >= lag && b->how->list[place - lag] == born) ? ev->request : UINT32_MAX;
    if (*out == UINT32_MAX && place >= lag)
        return find_counterpart(b, ev->request, b->how->list[place - lag], out, err);
    return ERR_OK;
}

/* Puts one recorded event of a capture that stands at this place of the list. */
static enum err put_recorded(struct builder *b, const struct graph_event *ev, size_t place, struct err_detail *err)
{
    const struct graph_request *q = &b->c->requests[ev->request];
    uint32_t request;
    if (ev->kind == EVENT_ALLOC) {
        if (q->is_once && !is_host(b, place))
            return ERR_OK;
        const enum err e = put_captured(b, ev->request, q->capture, EVENT_ALLOC, ev->time_ns, err);
        return e == ERR_OK ? put_once(b, place, ev->request, err) : e;
    }
    const enum err e = find_freed(b, ev, place, &request, err);
    if (e != ERR_OK || request == UINT32_MAX)
        return e;
    return put_captured(b, request, b->c->requests[request].capture, (enum event_kind)ev->kind, ev->time_ns, err);
}

/* Whether a free after the recording's last capture belongs to it, and not to the end of the program: it does if the
 * capture before it frees the same after itself. */
static enum err is_freed_after(struct builder *b, const struct graph_event *ev, bool *out, struct err_detail *err)
{
    const uint32_t last = (uint32_t)b->c->n - 1;
    uint32_t like;
    *out = false;
    if (last == 0 || b->c->requests[ev->request].capture != last)
        return ERR_OK;
    const enum err e = find_counterpart(b, ev->request, last - 1, &like, err);
    *out = e == ERR_OK && like != UINT32_MAX && b->c->requests[like].freed_in == last - 1;
    return e;
}

/* ---- private pools alone ---- */

static enum err put_control(struct builder *b, uint32_t capture, enum control_kind kind, struct err_detail *err)
{
    struct trace_record record = { .kind = EVENT_CONTROL, .control.kind = (uint8_t)kind, .record = TRACE_NO_RECORD,
                                   .stream = trace_streams(b->c->trace)[b->c->at[capture].stream].handle };
    take_pool(b, capture, record.pool);
    const enum err e = put_stream(b, b->c->at[capture].stream, err);
    return e == ERR_OK ? trace_put(b->out, &record, err) : e;
}

static enum err put_mark(struct builder *b, struct err_detail *err)
{
    struct trace_record record = { .kind = EVENT_MARK, .record = TRACE_NO_RECORD };
    const enum err e = trace_put_label(b->out, "capture", strlen("capture"), &record.label, err);
    return e == ERR_OK ? trace_put(b->out, &record, err) : e;
}

/* The events of a capture from its begin to its end, or those after it. */
static enum err put_part(struct builder *b, size_t place, bool is_inside, struct err_detail *err)
{
    const uint32_t capture = b->how->list[place];
    const struct graph_capture *own = &b->c->at[capture];
    const bool is_last = !is_inside && capture + 1 == b->c->n && place + 1 < b->how->n;
    enum err e = is_inside ? put_once(b, place, UINT32_MAX, err) : ERR_OK;
    for (uint32_t i = 0; i < own->n_events && e == ERR_OK; i++) {
        const struct graph_event *ev = &b->c->events[own->first_event + i];
        bool is_part = ev->is_inside == is_inside;
        if (is_part && is_last)
            e = is_freed_after(b, ev, &is_part, err);
        if (e == ERR_OK && is_part)
            e = put_recorded(b, ev, place, err);
    }
    return e;
}

static enum err put_pools(struct builder *b, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t place = 0; place < b->how->n && e == ERR_OK; place++) {
        const uint32_t capture = b->how->list[place];
        if (capture == 0 && place > 0 && b->c->n_cross > 0)
            doubt(b, ARRANGEMENT_DOUBT_FREES);       /* what it would free of others was not recorded */
        e = put_control(b, capture, CONTROL_CAPTURE_BEGIN, err);
        if (e == ERR_OK)
            e = put_part(b, place, true, err);
        if (e == ERR_OK)
            e = put_control(b, capture, CONTROL_CAPTURE_END, err);
        if (e == ERR_OK)
            e = put_part(b, place, false, err);
        if (e == ERR_OK)
            e = put_mark(b, err);
    }
    return e;
}

/* ---- the whole program without graphs ---- */

/* True if the event at b->number is in the sorted list; `next` is where the list was left. */
static bool is_next(const uint64_t *list, size_t n, size_t *next, uint64_t number)
{
    if (*next == n || list[*next] != number)
        return false;
    ++*next;
    return true;
}

/* A request that was refused when recorded is left out: a card without end would serve it. */
static enum err put_ordinary(struct builder *b, const struct event *ev, struct err_detail *err)
{
    struct trace_record record;
    if (ev->kind == EVENT_OOM)
        return ERR_OK;
    const enum err e = trace_copy_event(b->c->trace, ev, b->out, &record, err);
    record.ptr = (uint64_t)(ev->kind == EVENT_CONTROL ? record.control.slot : ev->slot) + 1;
    record.bytes = ev->bytes;
    return e == ERR_OK ? trace_put(b->out, &record, err) : e;
}

/* Whether an event of the rest of the program happens without graphs as well. */
static bool is_kept(struct builder *b, const struct event *ev)
{
    const bool is_around = is_next(b->c->around, b->c->n_around, &b->next_around, b->number);
    if (ev->kind > EVENT_FREE_COMPLETED)
        return !is_around;
    const bool is_free = ev->kind != EVENT_ALLOC;
    const bool is_left_out = is_free ? b->is_left_out[ev->slot] : is_around;
    b->is_left_out[ev->slot] = is_left_out && ev->kind <= EVENT_FREE_REQUESTED && ev->kind != EVENT_FREE;
    return !is_left_out;
}

/* Puts a captured event without its capture. */
static enum err put_without_graph(struct builder *b, const struct graph_event *ev, struct err_detail *err)
{
    const uint32_t place = b->place[ev->capture];
    const bool is_first = place != UINT32_MAX && ev == &b->c->events[b->c->at[ev->capture].first_event];
    if (ev->kind == EVENT_FREE_REQUESTED)
        doubt(b, ARRANGEMENT_DOUBT_STREAMS);
    if (place == UINT32_MAX)                         /* left out: what it frees of others is freed all the same */
        return ev->kind == EVENT_ALLOC ? ERR_OK
                                       : put_captured(b, ev->request, 0, (enum event_kind)ev->kind, ev->time_ns, err);
    const enum err e = is_first ? put_once(b, place, UINT32_MAX, err) : ERR_OK;
    return e == ERR_OK ? put_recorded(b, ev, place, err) : e;
}

static enum err put_program(struct builder *b, struct err_detail *err)
{
    struct start_state start;
    const struct event *events;
    enum err e = start_state_read(b->c->trace, &start, err);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < start.n_events && e == ERR_OK; i++)
        e = put_ordinary(b, &start.events[i], err);
    start_state_close(&start);
    if (e == ERR_OK)
        e = trace_seek(b->c->trace, 0, err);
    for (size_t n = 1; e == ERR_OK && n > 0;) {
        e = trace_next(b->c->trace, &events, &n, err);
        for (size_t i = 0; i < n && e == ERR_OK; i++, b->number++) {
            const struct graph_event *next = b->next_captured < b->c->n_events ? &b->c->events[b->next_captured] : NULL;
            if (next != NULL && next->event == b->number) {
                b->next_captured++;
                e = put_without_graph(b, next, err);
            } else if (is_kept(b, &events[i])) {
                e = put_ordinary(b, &events[i], err);
            }
        }
    }
    return e;
}

/* ---- the whole ---- */

/* What only the whole program without graphs needs. */
static enum err open_program(struct builder *b, struct err_detail *err)
{
    b->place = malloc((b->c->n + 1) * sizeof *b->place);
    b->is_left_out = calloc((size_t)trace_info(b->c->trace)->peak_live + 1, sizeof *b->is_left_out);
    if (b->place == NULL || b->is_left_out == NULL)
        return err_no_memory(err);
    memset(b->place, 0xFF, (b->c->n + 1) * sizeof *b->place);
    for (size_t i = 0; i < b->how->n; i++) {
        assert(b->place[b->how->list[i]] == UINT32_MAX);
        b->place[b->how->list[i]] = (uint32_t)i;
    }
    return trace_copy_streams(b->c->trace, b->out, err);
}

/* Takes time in proportion to the list, not to the recording: each capture alone is an arrangement. */
static enum err builder_open(struct builder *b, struct err_detail *err)
{
    for (size_t i = 0; i < b->how->n; i++) {
        const uint16_t stream = b->c->at[b->how->list[i]].stream;
        if (pair_map_find(&b->host_of, stream, 0) == NULL && !pair_map_add(&b->host_of, stream, 0, (uint32_t)i))
            return err_no_memory(err);
    }
    const enum err e = trace_create(NULL, &b->out, err);
    return e == ERR_OK && b->how->pools == GRAPH_POOLS_NONE ? open_program(b, err) : e;
}

static enum err arrangement_trace(const struct arrangement *a, enum arrangement_doubt *is_doubtful,
                                  struct trace_reader **out, struct err_detail *err)
{
    struct builder b = { .how = a, .c = a->captures };
    enum err e = builder_open(&b, err);
    if (e == ERR_OK)
        e = a->pools == GRAPH_POOLS_NONE ? put_program(&b, err) : put_pools(&b, err);
    if (e != ERR_OK)
        trace_abandon(b.out);
    else
        e = trace_finish_open(b.out, "the arrangement of captures", out, err);
    *is_doubtful = b.doubt;
    pair_map_free(&b.state);
    pair_map_free(&b.stream_put);
    pair_map_free(&b.host_of);
    free(b.place);
    free(b.is_left_out);
    return e;
}

/* Takes what is reserved at each mark. */
struct after_marks { uint64_t *next; };

static enum err take_mark(void *arg, const struct meter_sample *m)
{
    struct after_marks *after = arg;
    if (m->label != UINT32_MAX)
        *after->next++ = m->now.reserved;
    return ERR_OK;
}

enum err arrangement_measure(const struct arrangement *a, const struct single_run *like, uint64_t *after,
                             struct arrangement_size *out, struct err_detail *err)
{
    struct after_marks marks = { .next = after };
    struct trace_reader *trace = NULL;
    assert(after == NULL || a->pools != GRAPH_POOLS_NONE);
    assert(a->pools != GRAPH_POOLS_OWN || a->n <= GRAPH_POOLS_OWN_MAX);
    enum err e = arrangement_trace(a, &out->doubt, &trace, err);
    if (e == ERR_OK)
        e = single_run_measure(like, trace, "the arrangement", after != NULL ? take_mark : NULL, &marks, &out->bytes,
                               err);
    trace_close(trace);
    return e;
}
