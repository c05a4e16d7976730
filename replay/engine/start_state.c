/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads the start state from a trace's tables of segments and blocks. */
#include "replay/engine/start_state.h"

#include "base/intern.h"
#include "base/units.h"

#include <assert.h>
#include <stdlib.h>

static void start_state_list_events(const struct trace_block *blocks, size_t n_blocks, struct start_state *s)
{
    for (size_t i = 0; i < n_blocks; i++)
        if (blocks[i].slot != TRACE_NO_SLOT)
            s->events[s->n_events++] = (struct event){
                .bytes = blocks[i].requested, .slot = blocks[i].slot, .stream = blocks[i].stream, .kind = EVENT_ALLOC,
                .pool = blocks[i].pool};
    for (size_t i = 0; i < n_blocks; i++)
        if (blocks[i].slot != TRACE_NO_SLOT && blocks[i].is_pending)
            s->events[s->n_events++] = (struct event){
                .bytes = blocks[i].requested, .slot = blocks[i].slot, .stream = blocks[i].stream,
                .kind = EVENT_FREE_REQUESTED, .pool = blocks[i].pool};
}

/* Lists the addresses of segments. Of the mapped pieces of a range only the first counts: PyTorch reserves one range
 * for each stream, pool and size class, so its address is given out once. False without memory. */
static bool start_state_list_addresses(const struct trace_segment *segments, size_t n, struct start_state *s)
{
    struct pair_map ranges = {.entries = NULL};
    bool has_memory = true;
    for (size_t i = 0; i < n && has_memory; i++) {
        const struct trace_segment *g = &segments[i];
        const uint64_t place = (uint64_t)g->stream << 16 | (uint64_t)g->pool << 8 | g->is_small;
        if (g->is_range && pair_map_find(&ranges, place, 0) != NULL)
            continue;
        has_memory = !g->is_range || pair_map_add(&ranges, place, 0, 0);
        s->addresses[s->n_addresses++] = g->addr;
    }
    pair_map_free(&ranges);
    return has_memory;
}

enum err start_state_read(const struct trace_reader *in, struct start_state *out, struct err_detail *err)
{
    size_t n_blocks, n_segments;
    const struct trace_block *blocks = trace_start_blocks(in, &n_blocks);
    const struct trace_segment *segments = trace_start_segments(in, &n_segments);
    struct start_state s = {
        .events = calloc(n_blocks + 1, 2 * sizeof *s.events),
        .addresses = calloc(n_segments + 1, sizeof *s.addresses),
    };
    if (s.events == NULL || s.addresses == NULL) {
        start_state_close(&s);
        return err_no_memory(err);
    }
    start_state_list_events(blocks, n_blocks, &s);
    assert(s.n_events <= 2 * n_blocks);
    if (!start_state_list_addresses(segments, n_segments, &s)) {
        start_state_close(&s);
        return err_no_memory(err);
    }
    assert(s.n_addresses <= n_segments);
    *out = s;
    return ERR_OK;
}

void start_state_close(struct start_state *s)
{
    free(s->events);
    free(s->addresses);
}

struct start_state_totals start_state_sum(const struct trace_reader *in)
{
    struct start_state_totals s = { .n_live = 0 };
    size_t n_blocks, n_segments;
    const struct trace_segment *segments = trace_start_segments(in, &n_segments);
    const struct trace_block *blocks = trace_start_blocks(in, &n_blocks);
    for (size_t i = 0; i < n_segments; i++) {
        s.n_segments += segments[i].bytes > 0;           /* an empty one only says where a range begins */
        s.segment_bytes = add_capped(s.segment_bytes, segments[i].bytes);
    }
    for (size_t i = 0; i < n_blocks; i++) {
        if (blocks[i].slot == TRACE_NO_SLOT)
            continue;
        s.n_live++;
        s.n_pending += blocks[i].is_pending;
        s.n_guessed += blocks[i].is_size_guessed;
        s.live_bytes = add_capped(s.live_bytes, blocks[i].requested);
    }
    return s;
}
