/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: any bytes are a native trace, or are refused with a sentence. A trace that is read keeps the reader's
 * promises, from its start and from its middle.
 *
 * Checksums would refuse nearly all inputs. So an input that begins with 'S' or 'U' is a list of unpacked sections,
 * which are packed here as a writer would (forged_input.h). Any other input is a file as it is.
 */
#include "tests/fuzz/forged_input.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutators.h"
#include "traces/native.h"
#include "traces/trace.h"

#include <stdlib.h>
#include <string.h>

enum { FUZZ_EVENTS_MAX = 1 << 18 };

/* ---- promises ---- */

enum live_state { LIVE_VACANT, LIVE_USED, LIVE_PENDING };

struct live {
    uint64_t *bytes;                 /* by slot */
    uint8_t  *state;
    uint64_t  time_ns;
};

static void check_slot(struct live *l, const struct event *e)
{
    const uint8_t state = l->state[e->slot];
    FUZZ_EXPECT(state == (e->kind == EVENT_ALLOC            ? LIVE_VACANT
                          : e->kind == EVENT_FREE_COMPLETED ? LIVE_PENDING
                                                            : LIVE_USED));
    FUZZ_EXPECT(e->bytes > 0 && (e->kind == EVENT_ALLOC || e->bytes == l->bytes[e->slot]));
    l->bytes[e->slot] = e->bytes;
    l->state[e->slot] = e->kind == EVENT_ALLOC            ? LIVE_USED
                        : e->kind == EVENT_FREE_REQUESTED ? LIVE_PENDING
                                                          : LIVE_VACANT;
}

static void check_event(struct live *l, const struct event *e, const struct trace_info *info)
{
    FUZZ_EXPECT(e->kind < EVENT_KINDS && e->time_ns >= l->time_ns);
    FUZZ_EXPECT(e->stream < info->n_streams && e->pool < info->n_pools);
    l->time_ns = e->time_ns;
    if (e->kind == EVENT_OOM)
        FUZZ_EXPECT(e->bytes > 0);
    else if (e->kind == EVENT_MARK)
        FUZZ_EXPECT(e->slot < info->n_labels);
    else if (e->kind == EVENT_CONTROL)
        FUZZ_EXPECT(e->slot < info->n_controls);
    else if (e->kind != EVENT_FLUSH) {
        FUZZ_EXPECT(e->slot < info->peak_live);
        check_slot(l, e);
    }
}

static void start_live(const struct trace_reader *r, struct live *l)
{
    size_t n;
    const struct trace_block *blocks = trace_start_blocks(r, &n);
    for (size_t i = 0; i < n; i++)
        if (blocks[i].slot != TRACE_NO_SLOT) {
            FUZZ_EXPECT(blocks[i].slot < trace_info(r)->peak_live && l->state[blocks[i].slot] == LIVE_VACANT);
            l->bytes[blocks[i].slot] = blocks[i].requested;
            l->state[blocks[i].slot] = blocks[i].is_pending ? LIVE_PENDING : LIVE_USED;
        }
}

/* Reads all events; false if one is refused. */
static bool check_events(struct trace_reader *r, struct live *l, struct event *last)
{
    const struct event *events;
    size_t n;
    struct err_detail err = {.text = ""};
    start_live(r, l);
    do {
        if (trace_next(r, &events, &n, &err) != ERR_OK) {
            FUZZ_EXPECT(err.text[0] != '\0');
            return false;
        }
        for (size_t i = 0; i < n; i++)
            check_event(l, &events[i], trace_info(r));
        if (n > 0)
            *last = events[n - 1];
    } while (n > 0);
    return true;
}

/* Sides, segment events and stacks must be readable or refused, whatever the events are. */
static void read_rest(struct trace_reader *r)
{
    const struct trace_segment_event *rows;
    const char *const *frames;
    struct trace_side side;
    size_t n;
    const uint64_t events = trace_info(r)->events;
    for (uint64_t i = 0; i < events; i += 1 + events / 7)
        if (trace_side_at(r, i, &side, NULL) == ERR_OK)
            FUZZ_EXPECT(side.stack <= trace_info(r)->n_stacks);
    if (trace_segment_events(r, &rows, &n, NULL) == ERR_OK)
        for (size_t i = 0; i < n; i++)
            FUZZ_EXPECT(rows[i].before <= events && rows[i].stream < trace_info(r)->n_streams);
    for (uint32_t i = 1; i <= trace_info(r)->n_stacks && i < 100; i++)
        for (size_t k = trace_stack(r, i, &frames); k > 0; k--)
            FUZZ_EXPECT(strlen(frames[k - 1]) < NATIVE_SECTION_MAX);
}

/* A trace of valid events gives the same last event after a seek to it. */
static void check_seek(struct trace_reader *r, const struct event *last)
{
    const struct event *events;
    size_t n;
    FUZZ_EXPECT(trace_seek(r, trace_info(r)->events - 1, NULL) == ERR_OK);
    FUZZ_EXPECT(trace_next(r, &events, &n, NULL) == ERR_OK);
    FUZZ_EXPECT(n == 1 && memcmp(events, last, sizeof *last) == 0);
}

static void check_trace(const void *bytes, size_t n)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    if (trace_open_bytes(bytes, n, &r, &err) != ERR_OK) {
        FUZZ_EXPECT(err.text[0] != '\0');
        return;
    }
    struct event last;
    const uint64_t events = trace_info(r)->events;
    if (events <= FUZZ_EVENTS_MAX) {
        struct live l = {.bytes = calloc(trace_info(r)->peak_live + 1u, sizeof *l.bytes),
                         .state = calloc(trace_info(r)->peak_live + 1u, 1)};
        const bool is_good = check_events(r, &l, &last);
        FUZZ_EXPECT(is_good || !trace_info(r)->is_unfinished);     /* an unfinished trace is read whole when opened */
        if (is_good && events > 0)
            check_seek(r, &last);
        free(l.bytes);
        free(l.state);
    }
    read_rest(r);
    trace_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (forged_is_sections(data, n)) {
        size_t n_file;
        void *file = forged_file(data, n, &n_file);
        check_trace(file, n_file);
        free(file);
    } else {
        check_trace(data, n);
    }
    return 0;
}

FUZZ_MUTATOR(mutate_native)
