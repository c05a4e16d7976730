/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One pass: live memory at one place of each step, and the most of it in two halves. */
#include "replay/recording/step_growth.h"

/* A growth matters if so many steps of it double the live peak. */
enum { STEPS_THAT_MATTER = 100000 };

struct growth_pass {
    const struct steps *steps;
    uint64_t earlier, later, n;      /* the places of the two halves: [earlier, later), [later, n) */
    uint64_t live_bytes, requests, place;        /* live_bytes: and a constant, as only differences count */
    uint64_t most_earlier, most_later;
};

/* One place of a step was reached. */
static void pass_place(struct growth_pass *p)
{
    uint64_t *most = p->place < p->later ? &p->most_earlier : &p->most_later;
    if (p->place >= p->earlier && p->place < p->n && p->live_bytes > *most)
        *most = p->live_bytes;
    p->place++;
}

/* The place is a mark, or just before the last request of a step. */
static void pass_event(void *arg, const struct event *ev, uint64_t number)
{
    struct growth_pass *p = arg;
    const struct steps *s = p->steps;
    if (ev->kind == EVENT_MARK && s->how == STEPS_BY_MARK && ev->slot == s->label)
        pass_place(p);
    if (ev->kind == EVENT_ALLOC && s->how == STEPS_BY_REPETITION && number >= s->begin &&
        ++p->requests % s->requests == 0)
        pass_place(p);
    if (ev->kind == EVENT_ALLOC)
        p->live_bytes += ev->bytes;
    else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED)
        p->live_bytes -= ev->bytes;
}

enum err step_growth_find(struct trace_reader *trace, const struct steps *steps, uint64_t least,
                          struct step_growth *out, struct err_detail *err)
{
    const uint64_t n = steps->how == STEPS_BY_MARK ? steps->whole + 1 : steps->whole;
    const uint64_t counted = n / 2 > least ? n / 2 : least < n ? least : n;
    const uint64_t peak_bytes = trace_info(trace)->peak_requested_bytes;
    struct growth_pass p = { .steps = steps, .earlier = n - counted, .later = n - counted / 2, .n = n,
                             .live_bytes = peak_bytes };         /* no less than was live at the start */
    *out = (struct step_growth){ .bytes_per_step = 0 };
    if (steps->how == STEPS_NONE || counted < 2)
        return ERR_OK;
    const enum err e = trace_each_event(trace, pass_event, &p, err);
    if (e != ERR_OK || p.most_later <= p.most_earlier)
        return e;
    const uint64_t bytes = (p.most_later - p.most_earlier) / (p.n - p.later);
    if (bytes >= peak_bytes / STEPS_THAT_MATTER)
        out->bytes_per_step = bytes;
    else
        out->ignored_bytes = bytes;
    return ERR_OK;
}
