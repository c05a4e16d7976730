/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A load like a recording: the sizes and lives of its requests, drawn anew, without names, stacks and addresses.
 *
 * The recording is cut into stretches of `stretch` requests. What is kept of each is the joint distribution of size,
 * life, stream and pool; a request of the load draws from its stretch, without putting back. So what is live follows
 * the recording, while the order within a stretch is chance.
 */
#include "loads/kinds.h"

#include "loads/schedule.h"

#include "base/array.h"
#include "base/random.h"
#include "import/import.h"

#include <stdlib.h>
#include <string.h>

enum like_option { FILE_NAME, STRETCH, TIMES };

static const struct load_option like_options[] = {
    [FILE_NAME] = {"file", LOAD_TEXT, 0, 0, NULL, NULL, "the recording, of any format"},
    [STRETCH] = {"stretch", LOAD_NUMBER, 1, UINT32_MAX, "16", NULL, "requests of which one draws; 1: as recorded"},
    [TIMES] = {"times", LOAD_NUMBER, 1, 10000, "1", NULL, "how often the recording's course is repeated"},
    {.name = NULL},
};

struct like {
    struct planned_request *requests;        /* by birth; birth and death are numbers of events */
    size_t   n, room;
    uint64_t n_before;                       /* of them, live before the first event */
    uint64_t n_events;
    size_t  *by_slot;                        /* the request in each slot */
};

static enum err like_append(struct like *l, struct planned_request r, uint32_t slot, struct err_detail *err)
{
    struct planned_request *more = array_grow(l->requests, l->n, &l->room, sizeof *more);
    if (more == NULL)
        return err_no_memory(err);
    l->requests = more;
    l->by_slot[slot] = l->n;
    r.death = UINT64_MAX;                            /* unless a free comes */
    more[l->n++] = r;
    return ERR_OK;
}

/* What is live before the first event is the load's beginning, in the order of addresses. */
static enum err like_read_start(struct trace_reader *trace, struct like *l, struct err_detail *err)
{
    size_t n;
    const struct trace_block *blocks = trace_start_blocks(trace, &n);
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        if (blocks[i].slot != TRACE_NO_SLOT)
            e = like_append(l, (struct planned_request){.bytes = blocks[i].requested, .stream = blocks[i].stream,
                                                        .pool = blocks[i].pool}, blocks[i].slot, err);
    l->n_before = l->n;
    return e;
}

static enum err like_read(struct trace_reader *trace, struct like *l, struct err_detail *err)
{
    const struct event *events;
    size_t n;
    l->by_slot = calloc((size_t)trace_info(trace)->peak_live + 1, sizeof *l->by_slot);
    if (l->by_slot == NULL)
        return err_no_memory(err);
    enum err e = like_read_start(trace, l, err);
    while (e == ERR_OK && (e = trace_next(trace, &events, &n, err)) == ERR_OK && n > 0)
        for (size_t i = 0; i < n && e == ERR_OK; i++) {
            const struct event *ev = &events[i];
            const uint64_t now = ++l->n_events;
            if (ev->kind == EVENT_ALLOC)
                e = like_append(l, (struct planned_request){.birth = now, .bytes = ev->bytes, .stream = ev->stream,
                                                            .pool = ev->pool}, ev->slot, err);
            else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_COMPLETED)
                l->requests[l->by_slot[ev->slot]].death = now;
        }
    return e;
}

/* Deals the sizes, lives and places of requests [from, to) out anew (Fisher and Yates). Births stay where they are. */
static void like_deal(struct planned_request *requests, size_t n, uint64_t *random)
{
    for (size_t i = n; i > 1; i--) {
        struct planned_request *a = &requests[i - 1], *b = &requests[random_next(random) % i];
        const struct planned_request old_a = *a, old_b = *b;
        *a = old_b;
        *b = old_a;
        a->birth = old_a.birth;
        b->birth = old_b.birth;
        a->death = old_b.death == UINT64_MAX ? UINT64_MAX : old_a.birth + (old_b.death - old_b.birth);
        b->death = old_a.death == UINT64_MAX ? UINT64_MAX : old_b.birth + (old_a.death - old_a.birth);
    }
}

/* Writes the course once more. What is never freed is freed at the end of a course that is not the last one. */
static enum err like_write(const struct like *l, uint64_t course, bool is_last, uint64_t stretch, uint64_t *random,
                           struct schedule *s, struct err_detail *err)
{
    struct planned_request *dealt = malloc((l->n + 1) * sizeof *dealt);
    const uint64_t begin = course * (l->n_events + 1);
    if (dealt == NULL)
        return err_no_memory(err);
    memcpy(dealt, l->requests, l->n * sizeof *dealt);
    for (size_t i = l->n_before; i < l->n; i += stretch)
        like_deal(dealt + i, stretch < l->n - i ? stretch : l->n - i, random);
    enum err e = ERR_OK;
    for (size_t i = 0; i < l->n && e == ERR_OK; i++) {
        struct planned_request r = dealt[i];
        r.birth += begin;
        if (r.death != UINT64_MAX)
            r.death += begin;
        else if (!is_last)
            r.death = begin + l->n_events + 1;
        e = schedule_put(s, &r, err);
    }
    free(dealt);
    return e;
}

static enum err like_make(const struct load_request *request, struct trace_writer *w, struct err_detail *err)
{
    const struct load_value *v = request->values;
    struct trace_reader *trace = NULL;
    struct schedule *s = NULL;
    struct like l = {.n = 0};
    uint64_t random = request->seed;
    enum err e = trace_open_any(v[FILE_NAME].text, NULL, &(struct import_config){.gpu = -1, .without_stacks = true},
                                &trace, err);
    if (e == ERR_OK)
        e = like_read(trace, &l, err);
    if (e == ERR_OK && l.n == 0)
        e = err_set(err, ERR_UNSUPPORTED, 0, "%s holds no requests", v[FILE_NAME].text);
    if (e == ERR_OK)
        e = schedule_open(w, &s, err);
    for (uint64_t i = 0; i < v[TIMES].number && e == ERR_OK; i++)
        e = like_write(&l, i, i + 1 == v[TIMES].number, v[STRETCH].number, &random, s, err);
    e = schedule_close(s, e, v[TIMES].number * (l.n_events + 1), err);
    trace_close(trace);
    free(l.requests);
    free(l.by_slot);
    return e;
}

const struct load_kind load_like = {
    .name = "like",
    .typed = "like:FILE",
    .summary = "the sizes and lives of a recording, drawn anew, without its names",
    .options = like_options,
    .make = like_make,
};
