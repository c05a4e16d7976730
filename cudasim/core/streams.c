/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Streams, events and capture of the simulated CUDA. A stream that waits for an event of a capture joins it.
 *
 * Work takes time on one virtual clock and is finished at once, unless the stream is held (sim/stream_queues.h): by a
 * test, or all of them by CUDASIM_ENV_WAITS.
 * What a captured stream is given becomes nodes of a graph (cudasim/core/graphs.h).
 */
#include "cudasim/core/graphs.h"

#include "sim/stream_queues.h"

#include <stdlib.h>
#include <string.h>

enum {
    ASKED_MAX = 10000, LAUNCHES_MAX = 2048,
    STREAMS_MAX = 4096,              /* queues; further streams share the last one */
    STREAM_LEGACY = 1, STREAM_PER_THREAD = 2,        /* cudaStreamLegacy, cudaStreamPerThread */
};

struct cudasim_stream {
    struct cudasim_handle handle;    /* first, so the two pointers convert */
    int      device, priority;
    unsigned flags;
    uint32_t queue;
    uint64_t id;
    bool     is_origin;              /* the last capture that it was in began here */
    uint64_t library_works;          /* how many there had been when that capture began */
    uint64_t capture_id, graph;      /* that capture; 0: it was in none */
};

struct cudasim_event {
    struct cudasim_handle handle;
    int      device;
    unsigned flags;
    bool     is_recorded;
    uint64_t stream;                 /* in which it was recorded */
    uint64_t time_ns;
    uint64_t capture_id, graph;      /* the capture in which it was recorded; 0: in none */
    struct stream_event place;
    uint32_t share;                  /* what it was exported by; 0: it was not */
};

static struct stream_queues *queues; /* made for the first one that is held; NULL: everything is finished at once */
static bool are_late;                /* all streams are held until the program waits, */
static unsigned n_asked;             /* or has asked so often in a row, */
static unsigned n_launched;          /* or launched so many kernels since */
static uint32_t n_queues = 1;        /* queue 0 is that of the default streams of all devices */
static uint64_t n_streams, n_captures;
static uint64_t n_library_works;     /* atomic */

static struct cudasim_stream *stream_get(uint64_t name)
{
    return (struct cudasim_stream *)cudasim_handle_get(name, HANDLE_STREAM);
}

static struct cudasim_event *event_get(uint64_t name)
{
    return (struct cudasim_event *)cudasim_handle_get(name, HANDLE_EVENT);
}

/* The graph of a capture that is not at its end yet; NULL: it is, or there was none. */
static struct cudasim_graph *open_graph(uint64_t graph, uint64_t capture_id)
{
    struct cudasim_graph *g = graph_get(graph, HANDLE_GRAPH);
    return g != NULL && capture_id != 0 && g->capture_id == capture_id ? g : NULL;
}

/* The graph that a stream's work goes to; NULL: it is not captured. */
static struct cudasim_graph *graph_of(const struct cudasim_stream *s)
{
    return s == NULL ? NULL : open_graph(s->graph, s->capture_id);
}

static bool is_special(uint64_t stream)
{
    return stream <= STREAM_PER_THREAD;
}

int cudasim_stream_device(uint64_t stream)
{
    if (is_special(stream))
        return cudasim_current_device();
    const struct cudasim_stream *s = stream_get(stream);
    return s == NULL ? -1 : s->device;
}

/* Begins a call on a stream. *s is NULL for the special streams. Nothing is locked unless it returns SUCCESS. */
static enum cudasim_code begin_stream(uint64_t stream, struct cudasim_stream **s)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    *s = stream_get(stream);
    return *s != NULL || is_special(stream) ? CODE_SUCCESS : cudasim_end(CODE_INVALID_HANDLE);
}

static uint32_t queue_of(const struct cudasim_stream *s)
{
    return s == NULL ? 0 : s->queue;
}

enum cudasim_code cudasim_stream_create(unsigned flags, int priority, uint64_t *stream)
{
    if (stream == NULL || flags > 1)                /* cudaStreamNonBlocking */
        return CODE_INVALID_VALUE;
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_stream *s = calloc(1, sizeof *s);
    if (s == NULL || !cudasim_handle_put(&s->handle, HANDLE_STREAM))
        return cudasim_end(CODE_OUT_OF_MEMORY);
    s->device = cudasim_current_device();
    s->flags = flags;
    s->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    s->queue = n_queues < STREAMS_MAX - 1 ? n_queues++ : STREAMS_MAX - 1;
    s->id = ++n_streams;
    *stream = s->handle.name;
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_stream_destroy(uint64_t stream)
{
    struct cudasim_stream *s;
    const enum cudasim_code code = begin_stream(stream, &s);
    if (code != CODE_SUCCESS)
        return code;
    if (s == NULL)
        return cudasim_end(CODE_INVALID_HANDLE);
    cudasim_handle_drop(&s->handle);
    return cudasim_end(CODE_SUCCESS);
}

/* A program that only asks until its work is done would ask for ever where nothing ends by itself. */
static bool is_done_when_asked(bool is_done)
{
    if (is_done || !are_late || ++n_asked < ASKED_MAX)
        return is_done;
    n_asked = 0;
    stream_queues_sync(queues, 0, STREAMS_MAX);
    return true;
}

enum cudasim_code cudasim_stream_query(uint64_t stream)
{
    struct cudasim_stream *s;
    const enum cudasim_code code = begin_stream(stream, &s);
    if (code != CODE_SUCCESS)
        return code;
    if (graph_of(s) != NULL)
        return cudasim_end(CODE_CAPTURE_UNSUPPORTED);
    return cudasim_end(is_done_when_asked(stream_is_idle(queues, queue_of(s))) ? CODE_SUCCESS : CODE_NOT_READY);
}

enum cudasim_code cudasim_stream_sync(uint64_t stream)
{
    struct cudasim_stream *s;
    const enum cudasim_code code = begin_stream(stream, &s);
    if (code != CODE_SUCCESS)
        return code;
    if (graph_of(s) != NULL)
        return cudasim_end(CODE_CAPTURE_UNSUPPORTED);
    stream_queues_sync(queues, queue_of(s), 1);
    cudasim_pools_settle_stream(cudasim_stream_device(stream), stream);
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_device_sync(void)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    stream_queues_sync(queues, 0, STREAMS_MAX);
    cudasim_pools_settle_device(cudasim_current_device());
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_stream_facts(uint64_t stream, unsigned *flags, int *priority, int *device, uint64_t *id)
{
    struct cudasim_stream *s;
    const enum cudasim_code code = begin_stream(stream, &s);
    if (code != CODE_SUCCESS)
        return code;
    *flags = s == NULL ? 0 : s->flags;
    *priority = s == NULL ? 0 : s->priority;
    *device = cudasim_stream_device(stream);
    *id = s == NULL ? stream : s->id + STREAM_PER_THREAD;
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_work(uint64_t stream, uint64_t time_ns, enum cudasim_node type)
{
    const struct cudasim_stream *s = stream_get(stream);
    if (s == NULL && !is_special(stream))
        return CODE_INVALID_HANDLE;
    struct cudasim_graph *graph = graph_of(s);
    if (graph != NULL)
        return graph_add_node(graph, type);
    cudasim.clock_ns += time_ns;
    return CODE_SUCCESS;
}

/* A program gets ahead of a card by about a thousand launches, then a launch waits. So nothing is unfinished for longer
 * than twice as many. */
static void wait_for_room(void)
{
    if (!are_late || ++n_launched < LAUNCHES_MAX)
        return;
    n_launched = 0;
    stream_queues_sync(queues, 0, STREAMS_MAX);
}

enum cudasim_code cudasim_stream_launch(uint64_t stream, uint64_t time_ns)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    wait_for_room();
    return cudasim_end(cudasim_stream_device(stream) != cudasim_current_device()
                           ? CODE_INVALID_HANDLE : cudasim_work(stream, time_ns, NODE_KERNEL));
}

enum cudasim_code cudasim_stream_work(uint64_t stream, uint64_t time_ns, enum cudasim_node type)
{
    const enum cudasim_code code = cudasim_begin();
    return code != CODE_SUCCESS ? code : cudasim_end(cudasim_work(stream, time_ns, type));
}

struct cudasim_graph *cudasim_captured_graph(uint64_t stream)
{
    return graph_of(stream_get(stream));
}

/* ---- events ---- */

enum cudasim_code cudasim_event_create(unsigned flags, uint64_t *event)
{
    const bool is_shared = (flags & CUDASIM_EVENT_OF_PROCESSES) != 0,
               has_timing = (flags & CUDASIM_EVENT_NO_TIMING) == 0;
    if (event == NULL || flags > 7 || (is_shared && has_timing))
        return CODE_INVALID_VALUE;
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_event *e = calloc(1, sizeof *e);
    if (e == NULL || !cudasim_handle_put(&e->handle, HANDLE_EVENT))
        return cudasim_end(CODE_OUT_OF_MEMORY);
    e->flags = flags;
    e->device = cudasim_current_device();
    *event = e->handle.name;
    return cudasim_end(CODE_SUCCESS);
}

static enum cudasim_code begin_event(uint64_t event, struct cudasim_event **e)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    *e = event_get(event);
    return *e != NULL ? CODE_SUCCESS : cudasim_end(CODE_INVALID_HANDLE);
}

enum cudasim_code cudasim_event_destroy(uint64_t event)
{
    struct cudasim_event *e;
    const enum cudasim_code code = begin_event(event, &e);
    if (code != CODE_SUCCESS)
        return code;
    cudasim_ipc_withdraw(e->share);
    cudasim_handle_drop(&e->handle);
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_event_share(uint64_t event, uint32_t **share)
{
    struct cudasim_event *e = event_get(event);
    if (e == NULL || (e->flags & CUDASIM_EVENT_OF_PROCESSES) == 0)
        return CODE_INVALID_HANDLE;
    *share = &e->share;
    return CODE_SUCCESS;
}

enum cudasim_code cudasim_event_record(uint64_t event, uint64_t stream)
{
    struct cudasim_event *e;
    const enum cudasim_code code = begin_event(event, &e);
    if (code != CODE_SUCCESS)
        return code;
    const struct cudasim_stream *s = stream_get(stream);
    if (cudasim_stream_device(stream) != e->device)          /* -1: there is no such stream */
        return cudasim_end(CODE_INVALID_HANDLE);
    e->is_recorded = true;
    e->stream = stream;
    e->capture_id = graph_of(s) != NULL ? s->capture_id : 0;
    e->graph = graph_of(s) != NULL ? s->graph : 0;
    e->place = stream_event_record(queues, queue_of(s));
    n_asked = 0;
    e->time_ns = cudasim_now_ns();
    cudasim.clock_ns += EVENT_NS;
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_event_query(uint64_t event)
{
    struct cudasim_event *e;
    const enum cudasim_code code = begin_event(event, &e);
    if (code != CODE_SUCCESS)
        return code;
    const bool is_done = !e->is_recorded || stream_event_is_done(queues, e->place);
    return cudasim_end(is_done_when_asked(is_done) ? CODE_SUCCESS : CODE_NOT_READY);
}

enum cudasim_code cudasim_event_sync(uint64_t event)
{
    struct cudasim_event *e;
    const enum cudasim_code code = begin_event(event, &e);
    if (code != CODE_SUCCESS)
        return code;
    if (e->is_recorded) {
        stream_event_wait(queues, e->place);
        cudasim_pools_settle_stream(e->device, e->stream);
    }
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_event_elapsed(uint64_t start, uint64_t end, float *ms)
{
    struct cudasim_event *a;
    const enum cudasim_code code = begin_event(start, &a);
    if (code != CODE_SUCCESS)
        return code;
    const struct cudasim_event *b = event_get(end);
    if (ms == NULL)
        return cudasim_end(CODE_INVALID_VALUE);
    if (b == NULL || a->device != b->device || !a->is_recorded || !b->is_recorded ||
        ((a->flags | b->flags) & CUDASIM_EVENT_NO_TIMING) != 0)
        return cudasim_end(CODE_INVALID_HANDLE);
    if (!stream_event_is_done(queues, a->place) || !stream_event_is_done(queues, b->place))
        return cudasim_end(CODE_NOT_READY);
    *ms = (float)((double)(int64_t)(b->time_ns - a->time_ns) / 1e6);
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_stream_wait_event(uint64_t stream, uint64_t event)
{
    struct cudasim_event *e;
    const enum cudasim_code code = begin_event(event, &e);
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_stream *s = stream_get(stream);
    if (s != NULL && graph_of(s) == NULL && open_graph(e->graph, e->capture_id) != NULL) {
        s->capture_id = e->capture_id;
        s->graph = e->graph;
        s->is_origin = false;
    }
    return cudasim_end(cudasim_stream_device(stream) >= 0 ? CODE_SUCCESS : CODE_INVALID_HANDLE);
}

/* ---- capture ---- */

void cudasim_library_work(void)
{
    __atomic_add_fetch(&n_library_works, 1, __ATOMIC_RELAXED);
}

/* The graph of a capture: the program's own, or a new one. */
static enum cudasim_code graph_to_capture(uint64_t into, uint64_t *graph)
{
    const struct cudasim_graph *own = into == 0 ? NULL : graph_get(into, HANDLE_GRAPH);
    if (into == 0)
        return graph_create(HANDLE_GRAPH, NULL, graph);
    if (own == NULL || own->capture_id != 0)
        return CODE_INVALID_VALUE;
    *graph = into;
    return CODE_SUCCESS;
}

enum cudasim_code cudasim_capture_begin(uint64_t stream, uint64_t into, int mode)
{
    struct cudasim_stream *s;
    if (mode < 0 || mode > 2)                       /* global, thread-local, relaxed */
        return CODE_INVALID_VALUE;
    enum cudasim_code code = begin_stream(stream, &s);
    if (code != CODE_SUCCESS)
        return code;
    if (s == NULL)
        return cudasim_end(CODE_CAPTURE_UNSUPPORTED);        /* the legacy stream cannot be captured */
    if (graph_of(s) != NULL)
        return cudasim_end(CODE_ILLEGAL_STATE);
    code = graph_to_capture(into, &s->graph);
    if (code == CODE_SUCCESS) {
        s->is_origin = true;
        s->library_works = __atomic_load_n(&n_library_works, __ATOMIC_RELAXED);
        s->capture_id = ++n_captures;
        graph_get(s->graph, HANDLE_GRAPH)->capture_id = s->capture_id;
    }
    return cudasim_end(code);
}

enum cudasim_code cudasim_capture_end(uint64_t stream, uint64_t *graph)
{
    struct cudasim_stream *s;
    const enum cudasim_code code = begin_stream(stream, &s);
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_graph *captured = graph_of(s);
    if (captured == NULL || !s->is_origin)
        return cudasim_end(captured == NULL ? CODE_ILLEGAL_STATE : CODE_CAPTURE_UNMATCHED);
    captured->capture_id = 0;
    *graph = s->graph;
    const bool has_library_work = __atomic_load_n(&n_library_works, __ATOMIC_RELAXED) != s->library_works;
    return cudasim_end(captured->n_nodes == 0 && has_library_work ? graph_add_node(captured, NODE_KERNEL)
                                                                  : CODE_SUCCESS);
}

enum cudasim_code cudasim_capture_info(uint64_t stream, int *status, uint64_t *id, uint64_t *graph)
{
    struct cudasim_stream *s;
    const enum cudasim_code code = begin_stream(stream, &s);
    if (code != CODE_SUCCESS)
        return code;
    const bool is_on = graph_of(s) != NULL;
    *status = is_on ? CAPTURE_ACTIVE : CAPTURE_NONE;
    *id = is_on ? s->capture_id : 0;
    *graph = is_on ? s->graph : 0;
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_host_function(uint64_t stream, void (*function)(void *), void *argument)
{
    int status = CAPTURE_NONE;
    uint64_t id, graph, node;
    enum cudasim_code code = function == NULL ? CODE_INVALID_VALUE : cudasim_capture_info(stream, &status, &id, &graph);
    if (code == CODE_SUCCESS && status != CAPTURE_NONE)
        return cudasim_graph_add(graph, NODE_HOST, function, argument, &node);
    if (code == CODE_SUCCESS)
        code = cudasim_stream_work(stream, 0, NODE_HOST);
    if (code == CODE_SUCCESS)
        function(argument);
    return code;
}

void cudasim_streams_open(void)
{
    const char *waits = getenv(CUDASIM_ENV_WAITS);
    are_late = waits != NULL && strcmp(waits, "late") == 0 && queues == NULL &&
               stream_queues_create(STREAMS_MAX, &queues) == ERR_OK;
    if (are_late)
        stream_queues_hold_all(queues, true);
}

/* ---- for tests ---- */

static bool begin_hold(void)
{
    if (cudasim_begin() != CODE_SUCCESS)
        return false;
    if (queues == NULL && stream_queues_create(STREAMS_MAX, &queues) != ERR_OK) {
        cudasim_unlock();
        return false;
    }
    return true;
}

void cudasim_hold_all(int is_held)
{
    if (!begin_hold())
        return;
    stream_queues_hold_all(queues, is_held != 0);
    cudasim_unlock();
}

void cudasim_hold(uint64_t stream, int is_held)
{
    if (!begin_hold())
        return;
    stream_queues_hold(queues, queue_of(stream_get(stream)), is_held != 0);
    cudasim_unlock();
}

void cudasim_complete(uint64_t stream, int n)
{
    if (!begin_hold())
        return;
    stream_queues_complete(queues, queue_of(stream_get(stream)), (uint64_t)n);
    cudasim_unlock();
}
