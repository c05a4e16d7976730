/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Makes generated and repeated traces. */
#include "bench/made_trace.h"

#include "loads/load.h"
#include "traces/trace.h"

#include <stdlib.h>
#include <string.h>

enum { MADE_STEP_NS = 1000 };

static enum err made_put(struct trace_writer *w, enum event_kind kind, const struct event *ev, uint64_t stream,
                         uint64_t time_ns, struct err_detail *err)
{
    const struct trace_record r = {.kind = kind, .time_ns = time_ns, .ptr = ev->slot + UINT64_C(1), .bytes = ev->bytes,
                                   .stream = stream, .record = TRACE_NO_RECORD};
    return trace_put(w, &r, err);
}

/* ---- spread over streams ---- */

/* Copies the requests and frees of a trace, and puts each request on a random stream. */
static enum err made_spread(struct trace_reader *in, unsigned streams, struct trace_writer *w, struct err_detail *err)
{
    uint8_t *stream_of = calloc((size_t)trace_info(in)->peak_live + 1, 1);
    const struct event *ev;
    uint64_t random = 1;
    size_t n = 1;
    enum err e = stream_of == NULL ? err_no_memory(err) : ERR_OK;
    while (e == ERR_OK && n > 0 && (e = trace_next(in, &ev, &n, err)) == ERR_OK)
        for (size_t i = 0; i < n && e == ERR_OK; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            if (ev[i].kind == EVENT_ALLOC)
                stream_of[ev[i].slot] = (uint8_t)((random >> 33) % streams);
            e = made_put(w, ev[i].kind, &ev[i], stream_of[ev[i].slot], ev[i].time_ns, err);
        }
    free(stream_of);
    return e;
}

static enum err made_generated(const char *what, uint64_t events, struct trace_writer *w, struct err_detail *err)
{
    const char *slash = strchr(what, '/');
    if (slash == NULL)
        return load_make(what, events, 1, w, err);
    char kind[32] = "";
    void *bytes = NULL;
    size_t n = 0;
    const unsigned long streams = strtoul(slash + 1, NULL, 10);
    struct trace_reader *in = NULL;
    if (slash - what >= (ptrdiff_t)sizeof kind || streams == 0 || streams > 255)
        return err_set(err, ERR_USAGE, 0, "\"%s\" is neither mix:LIVE nor mix:LIVE/STREAMS", what);
    memcpy(kind, what, (size_t)(slash - what));
    enum err e = made_trace(NULL, kind, events, &bytes, &n, err);
    if (e == ERR_OK)
        e = trace_open_bytes(bytes, n, &in, err);
    if (e == ERR_OK)
        e = made_spread(in, (unsigned)streams, w, err);
    trace_close(in);
    free(bytes);
    return e;
}

/* ---- repeated ---- */

/* Writes one round of the recorded step. `live`: by slot; all false before and after. */
static enum err made_round(const struct event *ev, size_t n, bool *live, size_t n_slots, struct trace_writer *w,
                           uint64_t *time_ns, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        const bool is_alloc = ev[i].kind == EVENT_ALLOC;
        if (!is_alloc && ((ev[i].kind != EVENT_FREE && ev[i].kind != EVENT_FREE_COMPLETED) || !live[ev[i].slot]))
            continue;                            /* also frees of what was live before the recording began */
        live[ev[i].slot] = is_alloc;
        e = made_put(w, is_alloc ? EVENT_ALLOC : EVENT_FREE, &ev[i], ev[i].stream, *time_ns += MADE_STEP_NS, err);
    }
    for (size_t slot = 0; slot < n_slots && e == ERR_OK; slot++)
        if (live[slot]) {
            const struct event left = {.slot = (uint32_t)slot};
            live[slot] = false;
            e = made_put(w, EVENT_FREE, &left, 0, *time_ns += MADE_STEP_NS, err);
        }
    return e;
}

static enum err made_repeated(const char *recording, uint64_t events, struct trace_writer *w, struct err_detail *err)
{
    struct trace_reader *in;
    const struct event *ev;
    size_t n;
    uint64_t time_ns = 0;
    enum err e = trace_open(recording, &in, err);
    if (e != ERR_OK)
        return e;
    const size_t n_slots = (size_t)trace_info(in)->peak_live;
    bool *live = calloc(n_slots + 1, sizeof *live);
    trace_enlarge_chunks(in);                    /* all of it at once */
    e = live == NULL ? ERR_HOST_NOMEM : trace_next(in, &ev, &n, err);
    if (e == ERR_OK && (n == 0 || n < trace_info(in)->events))
        e = err_at(err, ERR_USAGE, 0, recording, "only a step of 1 to %u events can be repeated", TRACE_CHUNK_EVENTS);
    while (e == ERR_OK && time_ns / MADE_STEP_NS < events) {
        const uint64_t before = time_ns;
        e = made_round(ev, n, live, n_slots, w, &time_ns, err);
        if (e == ERR_OK && time_ns == before)
            e = err_at(err, ERR_USAGE, 0, recording, "nothing in it can be repeated");
    }
    free(live);
    trace_close(in);
    return e;
}

enum err made_trace(const char *path, const char *what, uint64_t events, void **bytes, size_t *n,
                    struct err_detail *err)
{
    struct trace_writer *w;
    enum err e = trace_create(path, &w, err);
    if (e != ERR_OK)
        return e;
    e = strncmp(what, "mix:", 4) == 0 ? made_generated(what, events, w, err) : made_repeated(what, events, w, err);
    if (e == ERR_OK)
        return path == NULL ? trace_finish_bytes(w, bytes, n, err) : trace_finish(w, err);
    trace_abandon(w);
    return e;
}
