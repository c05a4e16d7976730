/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One walk over the events: what each line holds is a list from its oldest request to its youngest. */
#include "replay/recording/growth_full.h"

#include <stdlib.h>

/* The oldest counts if so many younger ones are held; so many must have gone. What is held beside at the end, such as
 * what the next one is computed of, may be a quarter more. Of different sizes an eighth more may be held. */
enum { HELD_LEAST = 4, GONE_LEAST = 3, BESIDE_SHARE = 4, BYTES_SHARE = 8 };

/* Of sizes that grow, one of so many is no larger than the one that goes for it; or none is smaller than the one before
 * it, except for one in two rounds, and they rise more often than once a round. */
enum { NO_LARGER_SHARE = 8, ROUNDS_TO_FALL = 2, RISES_HALVES = 3 };

#define NO_SLOT UINT32_MAX
#define NO_LINE UINT32_MAX

/* What is held at one time. */
struct amount { uint64_t n, bytes; };

struct line {
    uint32_t oldest, youngest;       /* slots of what it holds, if it holds anything */
    uint64_t gone;                   /* times that the oldest one went */
    struct amount held, first, last;             /* now, and after the first and the last time that the oldest went */
    /* From the first time on, also where few are held. */
    uint64_t requests;               /* in all */
    uint64_t times, fewest;          /* that an old one went; held then */
    uint64_t newest_bytes;           /* of the youngest, the last time */
    uint64_t rises, falls;           /* how often it was larger, or smaller, than the time before */
    uint64_t no_larger;              /* how often it was no larger than the one that went for it */
};

struct slot {
    uint32_t line, older, younger;               /* NO_LINE: not live, or of none */
    uint64_t bytes, number;                      /* number: of the line's requests */
};

struct full_pass {
    const uint32_t *stacks, *line_of;
    struct line *lines;
    struct slot *slots;
    uint64_t moment;
    size_t   request;
};

static void take_request(struct full_pass *p, const struct event *ev)
{
    const uint32_t stack = p->stacks[p->request++];
    struct slot *s = &p->slots[ev->slot];
    s->line = stack == TRACE_NO_STACK ? NO_LINE : p->line_of[stack];
    if (s->line == NO_LINE)
        return;
    struct line *x = &p->lines[s->line];
    s->older = x->held.n > 0 ? x->youngest : NO_SLOT;
    s->younger = NO_SLOT;
    s->bytes = ev->bytes;
    s->number = x->requests++;
    if (x->held.n > 0)
        p->slots[x->youngest].younger = ev->slot;
    else
        x->oldest = ev->slot;
    x->youngest = ev->slot;
    x->held.n++;
    x->held.bytes += ev->bytes;
}

/* Two may go in either order, so the oldest is not the only one. What was requested beside what is held goes sooner. */
static bool was_old(const struct line *x, const struct slot *s)
{
    return x->gone > 0 && x->held.n > 0 && 2 * (x->requests - s->number) > x->fewest;
}

static void compare_to_newest(struct line *x, uint64_t gone_bytes, uint64_t newest_bytes)
{
    x->fewest = x->times == 0 || x->held.n < x->fewest ? x->held.n : x->fewest;
    x->rises += x->times > 0 && newest_bytes > x->newest_bytes;
    x->falls += x->times > 0 && newest_bytes < x->newest_bytes;
    x->no_larger += newest_bytes <= gone_bytes;
    x->newest_bytes = newest_bytes;
    x->times++;
}

static void take_free(struct full_pass *p, const struct event *ev)
{
    struct slot *s = &p->slots[ev->slot];
    if (s->line == NO_LINE)
        return;
    struct line *x = &p->lines[s->line];
    const bool was_oldest = s->older == NO_SLOT;
    *(was_oldest ? &x->oldest : &p->slots[s->older].younger) = s->younger;
    *(s->younger == NO_SLOT ? &x->youngest : &p->slots[s->younger].older) = s->older;
    s->line = NO_LINE;
    x->held.n--;
    x->held.bytes -= ev->bytes;
    if (was_oldest && x->held.n >= HELD_LEAST) {
        x->first = x->gone == 0 ? x->held : x->first;
        x->last = x->held;
        x->gone++;
    }
    if (was_old(x, s))
        compare_to_newest(x, ev->bytes, p->slots[x->youngest].bytes);
}

static void full_event(void *arg, const struct event *ev, uint64_t number)
{
    struct full_pass *p = arg;
    if (number >= p->moment)
        return;
    if (ev->kind == EVENT_ALLOC)
        take_request(p, ev);
    else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED)
        take_free(p, ev);
}

static bool is_queue_of_growing(const struct line *x)
{
    const uint64_t n = x->fewest;
    const bool is_monotone = x->falls * ROUNDS_TO_FALL * n <= x->times,
               rises_within_rounds = 2 * x->rises * n >= RISES_HALVES * x->times;
    return x->no_larger >= x->times / NO_LARGER_SHARE + 1 || (is_monotone && rises_within_rounds);
}

static bool holds_no_more(const struct line *x)
{
    return x->gone >= GONE_LEAST && x->last.n <= x->first.n && x->held.n <= x->last.n + x->last.n / BESIDE_SHARE &&
           (x->last.bytes <= x->first.bytes + x->first.bytes / BYTES_SHARE || is_queue_of_growing(x));
}

enum err growth_full_find(struct trace_reader *trace, uint64_t moment, const uint32_t *stacks, const uint32_t *line_of,
                          bool *is_full, struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    struct full_pass p = { .stacks = stacks, .line_of = line_of, .moment = moment,
                           .lines = calloc((size_t)info->n_stacks + 1, sizeof *p.lines),
                           .slots = calloc((size_t)info->peak_live + 1, sizeof *p.slots) };
    for (size_t i = 0; p.slots != NULL && i <= info->peak_live; i++)
        p.slots[i].line = NO_LINE;
    const bool has_room = p.lines != NULL && p.slots != NULL;
    const enum err e = has_room ? trace_each_event(trace, full_event, &p, err) : err_no_memory(err);
    for (size_t i = 0; e == ERR_OK && i <= info->n_stacks; i++)
        is_full[i] = holds_no_more(&p.lines[i]);
    free(p.lines);
    free(p.slots);
    return e;
}
