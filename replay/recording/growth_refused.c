/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One walk notes of each place (a call stack) which request it had left when it asked again after a refusal. */
#include "replay/recording/growth_refused.h"

#include "replay/recording/telling_lines.h"

#include <stdlib.h>

/* It matters if it is a quarter of the need. Of places that free nothing else so many must have requested anew. */
enum { NEED_SHARE = 4, PLACES_LEAST = 2 };

/* What a place requested and freed, and its last request: when it came, where, and after how many refusals. */
struct place {
    uint64_t last, refusals;         /* last: our number of the event; TRACE_NO_EVENT: there is none */
    uint32_t slot, requests, freed;
};

struct slot {
    uint64_t born, bytes;            /* bytes: 0 if it is not live */
    uint32_t stack;
    bool     is_left;                /* a refusal came between it and its place's next request */
};

struct refused_pass {
    const struct phases *phases;
    const uint32_t *stacks;          /* by request, in order */
    struct place *places;            /* by stack */
    struct slot  *slots;
    uint64_t  moment, refusals;
    size_t    n;
};

/* The place's request before this one is left behind, if it is still there and a refusal came between. */
static void note_left(struct refused_pass *p, struct place *x)
{
    struct slot *before = &p->slots[x->slot];
    if (x->last == TRACE_NO_EVENT || x->refusals == p->refusals || before->bytes == 0 || before->born != x->last)
        return;
    before->is_left = true;
}

static void refused_event(void *arg, const struct event *ev, uint64_t number)
{
    struct refused_pass *p = arg;
    if (number >= p->moment)
        return;
    if (ev->kind == EVENT_OOM) {
        p->refusals++;
    } else if (ev->kind == EVENT_ALLOC) {
        const uint32_t stack = p->stacks[p->n++];
        struct place *x = &p->places[stack];
        if (stack != TRACE_NO_STACK)
            note_left(p, x);
        p->slots[ev->slot] = (struct slot){ .born = number, .bytes = ev->bytes, .stack = stack };
        *x = (struct place){ .last = number, .refusals = p->refusals, .slot = ev->slot, .requests = x->requests + 1,
                             .freed = x->freed };
    } else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED) {
        struct slot *s = &p->slots[ev->slot];
        p->places[s->stack].freed += s->bytes > 0;
        s->bytes = 0;
    }
}

/* Whether a place frees what it requests: half of it at least. */
static bool frees_usually(const struct place *x)
{
    return x->freed > 0 && x->freed >= x->requests / 2;
}

/* Where the attempt begins that the refusal after event `born` ended: `begins` has a row for each, and one more. */
static uint64_t *attempt_of(const struct refused_pass *p, uint64_t *begins, uint64_t born)
{
    return &begins[phase_starts_up_to(&p->phases->refusals, (int64_t)born)];
}

/* An attempt begins with the first request that is left behind. Returns whether what is left is no mere result. */
static bool find_attempts(const struct refused_pass *p, size_t n_slots, uint64_t *begins)
{
    size_t n = 0;
    bool is_unusual = false;
    for (size_t i = 0; i <= p->phases->refusals.n; i++)
        begins[i] = UINT64_MAX;
    for (size_t i = 0; i < n_slots; i++) {
        const struct slot *s = &p->slots[i];
        if (s->bytes == 0 || !s->is_left)
            continue;
        uint64_t *begin = attempt_of(p, begins, s->born);
        *begin = s->born < *begin ? s->born : *begin;
        is_unusual = is_unusual || frees_usually(&p->places[s->stack]);
        n++;
    }
    return is_unusual || n >= PLACES_LEAST;
}

/* Also of an attempt that was left are the forward pass and the program's own lines after its begin: a smaller one that
 * was refused earlier did not come to their places again. */
static bool is_of_attempt(const struct refused_pass *p, const struct slot *s, uint64_t *begins)
{
    const int phase = p->phases->has_python ? p->phases->of_stack[s->stack] : PHASE_BACKWARD;
    return s->is_left || ((phase == PHASE_FORWARD || phase == PHASE_OWN) && *attempt_of(p, begins, s->born) <= s->born);
}

/* What is left behind; returns its bytes. `h` has room for all slots. */
static uint64_t collect_left(const struct refused_pass *p, size_t n_slots, uint64_t *begins, struct holdings *h)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < n_slots; i++) {
        const struct slot *s = &p->slots[i];
        if (s->bytes == 0 || !is_of_attempt(p, s, begins))
            continue;
        bytes += s->bytes;
        h->at[h->n++] = (struct holding){ .bytes = s->bytes, .born = (int64_t)s->born, .died = UINT64_MAX,
                                          .stack = s->stack };
    }
    return bytes;
}

static enum err take_growth(struct trace_reader *trace, const struct phases *phases, const struct holdings *h,
                            uint64_t bytes, struct growth *out, struct err_detail *err)
{
    out->is_found = out->of_refusal = true;
    out->turn = TURN_RUN;
    out->bytes = out->held_bytes = bytes;
    out->held_requests = h->n;
    for (size_t i = 0; i < h->n; i++)
        out->phases |= 1U << phases->of_stack[h->at[i].stack];
    return telling_lines_group(trace, h, &out->lines, err);
}

static enum err find(struct trace_reader *trace, struct refused_pass *p, uint64_t need_bytes, struct growth *out,
                     struct err_detail *err)
{
    const size_t n_slots = trace_info(trace)->peak_live;
    struct holdings h = { .at = calloc(n_slots + 1, sizeof *h.at) };
    uint64_t *begins = calloc(p->phases->refusals.n + 1, sizeof *begins), bytes = 0;
    const bool has_room = h.at != NULL && begins != NULL;
    enum err e = has_room ? trace_each_event(trace, refused_event, p, err) : err_no_memory(err);
    if (e == ERR_OK && find_attempts(p, n_slots, begins))
        bytes = collect_left(p, n_slots, begins, &h);
    if (bytes > 0 && bytes >= need_bytes / NEED_SHARE)
        e = take_growth(trace, p->phases, &h, bytes, out, err);
    out->until = p->moment;
    free(begins);
    holdings_close(&h);
    return e;
}

enum err growth_refused_find(struct trace_reader *trace, const struct phases *phases, const uint32_t *stacks,
                             uint64_t moment, uint64_t need_bytes, struct growth *out, struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    if (phases->refusals.n == 0 || phases->refusals.at[0] >= moment || info->n_stacks == 0)
        return ERR_OK;
    struct refused_pass p = { .phases = phases, .moment = moment, .stacks = stacks,
                              .places = calloc((size_t)info->n_stacks + 1, sizeof *p.places),
                              .slots = calloc((size_t)info->peak_live + 1, sizeof *p.slots) };
    for (size_t i = 0; p.places != NULL && i <= info->n_stacks; i++)
        p.places[i].last = TRACE_NO_EVENT;
    const bool has_room = p.places != NULL && p.slots != NULL;
    const enum err e = has_room ? find(trace, &p, need_bytes, out, err) : err_no_memory(err);
    free(p.places);
    free(p.slots);
    return e;
}
