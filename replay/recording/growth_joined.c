/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One walk over the events, from the evaluation's begin on. */
#include "replay/recording/growth_joined.h"

#include <stdlib.h>

/* So many times, each by at least half of the first difference and at most twice that. It matters if it is an 8th of
 * the need. */
enum { TIMES_LEAST = 2, ALIKE = 2, NEED_SHARE = 8 };

/* What one line asks for. */
struct joined {
    uint64_t n, freed, first_event, last_bytes, first_rise;
    bool     is_other;               /* it does something else as well */
};

struct joined_pass {
    const struct phases *phases;
    const uint32_t *stacks;
    struct joined *lines;
    uint32_t *line_of;               /* by slot: the line's number and 1; 0: none that counts */
    uint64_t since, moment;
    size_t   request;
};

static void take_request(struct joined *x, uint64_t bytes, uint64_t number)
{
    const uint64_t rise = bytes > x->last_bytes ? bytes - x->last_bytes : 0;
    if (x->n == 0)
        x->first_event = number;
    if (x->n == 1)
        x->first_rise = rise;
    x->is_other = x->is_other || (x->n > 0 && (rise == 0 || ALIKE * rise < x->first_rise ||
                                               rise > ALIKE * x->first_rise));
    x->last_bytes = bytes;
    x->n++;
}

static void joined_event(void *arg, const struct event *ev, uint64_t number)
{
    struct joined_pass *p = arg;
    if (number >= p->moment)
        return;
    if (ev->kind == EVENT_ALLOC) {
        const uint32_t stack = p->stacks[p->request++];
        const bool counts = number >= p->since && stack != TRACE_NO_STACK && p->phases->of_stack[stack] == PHASE_OWN;
        p->line_of[ev->slot] = counts ? p->phases->line_of[stack] + 1 : 0;
        if (counts)
            take_request(&p->lines[p->phases->line_of[stack]], ev->bytes, number);
    } else if ((ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED) && p->line_of[ev->slot] > 0) {
        p->lines[p->line_of[ev->slot] - 1].freed++;
        p->line_of[ev->slot] = 0;
    }
}

/* The line that holds most; NULL: none. */
static const struct joined *find_line(const struct joined_pass *p, size_t n, uint64_t need_bytes)
{
    const struct joined *best = NULL;
    for (size_t i = 1; i < n; i++) {
        const struct joined *x = &p->lines[i];
        if (x->n > TIMES_LEAST && !x->is_other && x->freed == x->n - 1 && x->last_bytes >= need_bytes / NEED_SHARE &&
            (best == NULL || x->last_bytes > best->last_bytes))
            best = x;
    }
    return best;
}

static enum err take_growth(struct trace_reader *trace, const struct joined_pass *p, const struct joined *x,
                            struct growth *out, struct err_detail *err)
{
    struct holdings h = { .n = 0 };
    const uint32_t line = (uint32_t)(x - p->lines);
    size_t kept = 0;
    const enum err e = holdings_read(trace, MOMENT_EVENT, p->moment, &h, err);
    for (size_t i = 0; e == ERR_OK && i < h.n; i++)
        if (h.at[i].stack != TRACE_NO_STACK && h.at[i].born >= (int64_t)p->since &&
            p->phases->of_stack[h.at[i].stack] == PHASE_OWN && p->phases->line_of[h.at[i].stack] == line)
            h.at[kept++] = h.at[i];
    h.n = kept;
    *out = (struct growth){ .is_found = true, .since = x->first_event, .until = p->moment, .bytes = x->last_bytes,
                            .is_one_request = true, .phases = 1U << PHASE_OWN, .turn = TURN_RUN, .turns = x->n,
                            .bytes_per_turn = x->last_bytes / x->n };
    const enum err taken = e == ERR_OK ? growth_take_lines(trace, &h, p->moment, out, err) : e;
    holdings_close(&h);
    return taken;
}

enum err growth_joined_find(struct trace_reader *trace, const struct phases *phases, const uint32_t *stacks,
                            uint64_t since, uint64_t moment, uint64_t need_bytes, struct growth *out,
                            struct err_detail *err)
{
    const size_t lines = (size_t)trace_info(trace)->n_stacks + 1;
    struct joined_pass p = { .phases = phases, .stacks = stacks, .since = since, .moment = moment,
                             .lines = calloc(lines, sizeof *p.lines),
                             .line_of = calloc((size_t)trace_info(trace)->peak_live + 1, sizeof *p.line_of) };
    const bool has_room = p.lines != NULL && p.line_of != NULL;
    enum err e = has_room ? trace_each_event(trace, joined_event, &p, err) : err_no_memory(err);
    const struct joined *x = e == ERR_OK ? find_line(&p, lines, need_bytes) : NULL;
    if (x != NULL)
        e = take_growth(trace, &p, x, out, err);
    free(p.lines);
    free(p.line_of);
    return e;
}
