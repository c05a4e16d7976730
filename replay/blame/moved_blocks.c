/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Walks over the events once and keeps two sums for each place. */
#include "replay/blame/moved_blocks.h"

#include "policies/pytorch/pytorch_steps.h"

#include <stdlib.h>

struct place {
    uint64_t live, held;
    bool     is_changed;             /* since the last time that all was given back */
};

/* A live request. */
struct mover_block {
    uint64_t bytes;                  /* rounded */
    uint32_t place;
};

struct mover {
    const struct pytorch *p;
    unsigned  without;
    uint64_t  limit, held, peak;
    uint32_t  n_streams;
    struct place       *places;      /* two for each stream of each pool: small, large */
    struct mover_block *blocks;      /* by slot */
    uint32_t *changed;               /* places, each once */
    size_t    n_changed;
};

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Bytes that a place grows by, which lacks `lack` for a block of S bytes. */
static uint64_t growth(const struct mover *m, bool is_small, uint64_t lack, uint64_t S)
{
    if (m->without & RULE_SEGMENT_SIZES)
        return lack;
    if (m->p->settings.expandable_segments)
        return round_up(lack, is_small ? TORCH_SMALL_SEGMENT : m->p->settings.large_segment_size);
    return least_of(pytorch_segment_size(m->p, lack), pytorch_segment_size(m->p, S));
}

/* What a place keeps of which all that is free is given back. */
static uint64_t kept(const struct mover *m, const struct place *place)
{
    const uint64_t whole = m->without & RULE_SEGMENT_SIZES ? place->live : round_up(place->live, TORCH_OWN_ROUNDING);
    return least_of(whole, place->held);
}

static void give_back(struct mover *m)
{
    for (size_t i = 0; i < m->n_changed; i++) {
        struct place *place = &m->places[m->changed[i]];
        const uint64_t keeps = kept(m, place);
        m->held -= place->held - keeps;
        place->held = keeps;
        place->is_changed = false;
    }
    m->n_changed = 0;
}

static void note_change(struct mover *m, uint32_t place)
{
    if (m->places[place].is_changed)
        return;
    m->places[place].is_changed = true;
    m->changed[m->n_changed++] = place;
}

static void grow(struct mover *m, uint32_t place, bool is_small, uint64_t S)
{
    struct place *at = &m->places[place];
    uint64_t more = growth(m, is_small, at->live + S - at->held, S);
    if (more > m->limit || m->held > m->limit - more) {
        give_back(m);
        more = growth(m, is_small, at->live + S - at->held, S);
    }
    at->held += more;
    m->held += more;
    m->peak = m->held > m->peak ? m->held : m->peak;
}

static void begin(struct mover *m, const struct event *ev)
{
    const uint64_t S = m->without & RULE_ROUNDING ? ev->bytes : pytorch_round(m->p, ev->bytes);
    const bool is_small = S <= TORCH_SMALL_MAX;
    const bool is_apart = is_small && !(m->without & RULE_SIZE_WALL);
    const uint32_t place = 2 * ((uint32_t)ev->pool * m->n_streams + ev->stream) + (is_apart ? 0 : 1);
    m->blocks[ev->slot] = (struct mover_block){ S, place };
    if (m->places[place].live + S > m->places[place].held)
        grow(m, place, is_small, S);
    m->places[place].live += S;
    note_change(m, place);
}

static void take(void *arg, const struct event *ev, uint64_t number)
{
    struct mover *m = arg;
    (void)number;
    switch (ev->kind) {
    case EVENT_ALLOC:
        begin(m, ev);
        break;
    case EVENT_FREE:
    case EVENT_FREE_COMPLETED:
        m->places[m->blocks[ev->slot].place].live -= m->blocks[ev->slot].bytes;
        note_change(m, m->blocks[ev->slot].place);
        break;
    case EVENT_FLUSH:
        give_back(m);
        break;
    default:
        break;
    }
}

enum err moved_blocks_peak(struct trace_reader *trace, const struct pytorch *p, unsigned without, uint64_t limit,
                           uint64_t *out, struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    const size_t n = 2 * (size_t)info->n_streams * info->n_pools;
    struct mover m = { .p = p, .without = without, .limit = limit, .n_streams = info->n_streams,
                       .places = calloc(n, sizeof *m.places), .changed = calloc(n, sizeof *m.changed),
                       .blocks = calloc((size_t)info->peak_live + 1, sizeof *m.blocks) };
    enum err e = m.places != NULL && m.changed != NULL && m.blocks != NULL ? ERR_OK
                                                                           : err_no_memory(err);
    if (e == ERR_OK)
        e = trace_each_event(trace, take, &m, err);
    free(m.places);
    free(m.changed);
    free(m.blocks);
    *out = m.peak;
    return e;
}
