/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One walk numbers the requests by age, and notes each time that the oldest one goes. */
#include "replay/recording/growth_full.h"

#include <stdlib.h>

/* The oldest counts if so many younger ones are held; so many must have gone. What is held beside at the end, such as
 * what the next one is computed of, may be a quarter more. Of different sizes an eighth more may be held. */
enum { HELD_LEAST = 4, GONE_LEAST = 3, BESIDE_SHARE = 4, BYTES_SHARE = 8 };

/* What is held at one time. */
struct amount { uint64_t n, bytes; };

struct full_pass {
    const uint32_t *stacks;
    const bool *is_of;
    uint64_t   *age_of;              /* by slot; 0: it is not of it */
    bool       *is_held;             /* by age, from 1 on */
    uint64_t    moment, n, oldest;   /* oldest: the age of the oldest one that is held */
    size_t      request;
    uint64_t    gone;
    struct amount held, first, last;             /* now, and after the first and the last time that the oldest went */
};

static void take_free(struct full_pass *p, const struct event *ev)
{
    const uint64_t age = p->age_of[ev->slot];
    if (age == 0)
        return;
    p->age_of[ev->slot] = 0;
    p->is_held[age] = false;
    p->held.n--;
    p->held.bytes -= ev->bytes;
    if (age == p->oldest && p->held.n >= HELD_LEAST) {
        p->first = p->gone == 0 ? p->held : p->first;
        p->last = p->held;
        p->gone++;
    }
    while (p->oldest <= p->n && !p->is_held[p->oldest])
        p->oldest++;
}

static void full_event(void *arg, const struct event *ev, uint64_t number)
{
    struct full_pass *p = arg;
    if (number >= p->moment)
        return;
    if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED)
        take_free(p, ev);
    if (ev->kind != EVENT_ALLOC)
        return;
    p->age_of[ev->slot] = p->is_of[p->stacks[p->request++]] ? ++p->n : 0;
    p->held.n += p->age_of[ev->slot] > 0;
    p->held.bytes += p->age_of[ev->slot] > 0 ? ev->bytes : 0;
    p->is_held[p->age_of[ev->slot]] = true;
}

static bool holds_no_more(const struct full_pass *p)
{
    return p->gone >= GONE_LEAST && p->last.n <= p->first.n &&
           p->last.bytes <= p->first.bytes + p->first.bytes / BYTES_SHARE &&
           p->held.n <= p->last.n + p->last.n / BESIDE_SHARE;
}

enum err growth_full_find(struct trace_reader *trace, uint64_t moment, const uint32_t *stacks, const bool *is_of,
                          bool *is_full, struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    struct full_pass p = { .stacks = stacks, .is_of = is_of, .moment = moment, .oldest = 1,
                           .age_of = calloc((size_t)info->peak_live + 1, sizeof *p.age_of),
                           .is_held = calloc(info->by_kind[EVENT_ALLOC] + 2, sizeof *p.is_held) };
    const bool has_room = p.age_of != NULL && p.is_held != NULL;
    const enum err e = has_room ? trace_each_event(trace, full_event, &p, err) : err_no_memory(err);
    *is_full = holds_no_more(&p);
    free(p.age_of);
    free(p.is_held);
    return e;
}
