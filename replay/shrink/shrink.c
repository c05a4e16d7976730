/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Tries changes of a list of calls, and keeps those after which the property holds. */
#include "replay/shrink/shrink.h"

#include "base/units.h"
#include "replay/recording/coverage.h"
#include "replay/recording/plain_facts.h"
#include "replay/trials/altered_trace.h"
#include "report/text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHRINK_WORK UINT64_C(80000000)          /* events: some seconds */

struct shrinker {
    const struct shrink_request *asked;
    struct keep_runner runner;
    struct shrunk *out;
    struct event  *calls, *tried;    /* the best so far; room for a change of it */
    struct event  *all;              /* those of the recording */
    uint32_t      *life;             /* by call: its life, numbered in order of the requests; a flush has its own */
    size_t         n, n_tried, n_lives;
    uint32_t      *life_at;          /* by slot: scratch, */
    uint32_t      *slot_of, *vacant; /* as are these */
    bool          *is_out;           /* by life */
    bool           has_changed;
};

static bool is_over(const struct shrinker *s)
{
    return s->runner.work >= SHRINK_WORK || (s->asked->interrupted != NULL && *s->asked->interrupted != 0);
}

static void number_lives(struct shrinker *s)
{
    s->n_lives = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct event *c = &s->calls[i];
        if (c->kind == EVENT_ALLOC || c->kind == EVENT_FLUSH)
            s->life[i] = (uint32_t)s->n_lives++;
        else
            s->life[i] = s->life_at[c->slot];
        if (c->kind == EVENT_ALLOC)
            s->life_at[c->slot] = s->life[i];
    }
}

/* Gives what is tried the lowest slots: a request that is no longer freed keeps its own. False if they do not
 * suffice. */
static bool choose_slots(struct shrinker *s)
{
    const uint32_t most = trace_info(s->runner.trace)->peak_live + 1;
    uint32_t n_used = 0, n_vacant = 0;
    for (size_t i = 0; i < s->n_tried; i++) {
        struct event *c = &s->tried[i];
        const uint32_t slot = c->slot;
        if (c->kind == EVENT_FLUSH)
            continue;
        if (c->kind == EVENT_ALLOC && n_vacant == 0 && n_used == most)
            return false;
        if (c->kind == EVENT_ALLOC)
            s->slot_of[slot] = n_vacant > 0 ? s->vacant[--n_vacant] : n_used++;
        c->slot = s->slot_of[slot];
        if (c->kind == EVENT_FREE || c->kind == EVENT_FREE_COMPLETED)
            s->vacant[n_vacant++] = c->slot;
    }
    return true;
}

/* What was run last is the best so far. */
static void take_tried(struct shrinker *s)
{
    struct event *was = s->calls;
    s->calls = s->tried;
    s->tried = was;
    s->n = s->n_tried;
    s->out->peak_bytes = s->runner.peak_bytes;
    s->out->other_bytes = s->runner.other_bytes;
    s->has_changed = true;
    number_lives(s);
}

/* Takes what is tried if the property holds; then nothing after the place where it does is needed. */
static enum err try_calls(struct shrinker *s, bool *is_kept, struct err_detail *err)
{
    *is_kept = false;
    if (is_over(s) || !choose_slots(s))
        return ERR_OK;
    if (s->asked->progress != NULL)
        s->asked->progress(s->asked->progress_arg, s->runner.work, SHRINK_WORK);
    s->out->n_runs++;
    const enum err e = keep_holds(&s->runner, s->tried, s->n_tried, false, is_kept, err);
    if (e == ERR_OK && *is_kept)
        take_tried(s);
    return e;
}

/* ---- what is tried ---- */

static enum err try_end(struct shrinker *s, struct err_detail *err)
{
    bool is_kept = true, holds;
    enum err e = ERR_OK;
    while (is_kept && e == ERR_OK) {
        e = keep_holds(&s->runner, s->calls, s->n, false, &holds, err);
        if (e != ERR_OK || s->runner.end >= s->n)
            return e;
        s->n_tried = s->runner.end;
        memcpy(s->tried, s->calls, s->n_tried * sizeof *s->tried);
        e = try_calls(s, &is_kept, err);
    }
    return e;
}

enum fold { FOLD_STREAMS, FOLD_POOLS, FOLD_LATE, FOLDS };

/* What would be left of a call. False: nothing. */
static bool fold_call(struct event *c, enum fold what)
{
    if (what == FOLD_STREAMS)
        c->stream = 0;
    if (what == FOLD_POOLS)
        c->pool = 0;
    if (what == FOLD_LATE && c->kind == EVENT_FREE_REQUESTED)
        c->kind = EVENT_FREE;
    return what != FOLD_LATE || c->kind != EVENT_FREE_COMPLETED;
}

/* One stream, one pool, frees that are complete at once. */
static enum err try_folds(struct shrinker *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (enum fold what = 0; what < FOLDS && e == ERR_OK; what++) {
        bool is_kept, is_other = false;
        s->n_tried = 0;
        for (size_t i = 0; i < s->n; i++) {
            struct event c = s->calls[i];
            const bool stays = fold_call(&c, what);
            is_other |= !stays || c.stream != s->calls[i].stream || c.pool != s->calls[i].pool;
            s->tried[s->n_tried] = c;
            s->n_tried += stays;
        }
        e = is_other ? try_calls(s, &is_kept, err) : ERR_OK;
    }
    return e;
}

/* All lives but those that are out. */
static enum err try_lives(struct shrinker *s, bool *is_kept, struct err_detail *err)
{
    s->n_tried = 0;
    for (size_t i = 0; i < s->n; i++)
        if (!s->is_out[s->life[i]])
            s->tried[s->n_tried++] = s->calls[i];
    *is_kept = false;
    return s->n_tried < s->n ? try_calls(s, is_kept, err) : ERR_OK;
}

/* The small requests at once: the largest power of two below which all can go. */
static enum err try_small(struct shrinker *s, struct err_detail *err)
{
    bool is_kept = false;
    enum err e = ERR_OK;
    for (unsigned bits = 40; bits > 8 && !is_kept && e == ERR_OK; bits--) {
        for (size_t i = 0; i < s->n; i++)
            if (s->calls[i].kind == EVENT_ALLOC)
                s->is_out[s->life[i]] = s->calls[i].bytes >> bits == 0;
            else if (s->calls[i].kind == EVENT_FLUSH)
                s->is_out[s->life[i]] = false;
        e = try_lives(s, &is_kept, err);
    }
    return e;
}

/* A chunk of lives at a time. A chunk that can go makes room for the next at its place. */
static enum err try_chunks(struct shrinker *s, size_t chunk, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t end = s->n_lives; end > 0 && e == ERR_OK && !is_over(s);) {
        const size_t begin = end > chunk ? end - chunk : 0;
        bool is_kept;
        for (size_t i = 0; i < s->n_lives; i++)
            s->is_out[i] = i >= begin && i < end;
        e = try_lives(s, &is_kept, err);
        end = begin < s->n_lives ? begin : s->n_lives;
    }
    return e;
}

/* Makes one life of `group` of them that begin one after the other: it lives as long as the first. */
static enum err try_one_of(struct shrinker *s, size_t first, size_t group, bool *is_kept, struct err_detail *err)
{
    const struct event *head = NULL;
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct event *c = &s->calls[i];
        if (s->life[i] < first || s->life[i] >= first + group || c->kind == EVENT_FREE)
            continue;
        head = head == NULL ? c : head;
        bytes += c->bytes;
        if (c->kind != EVENT_ALLOC || c->stream != head->stream || c->pool != head->pool)
            return ERR_OK;
    }
    if (!keep_may_have(&s->runner, bytes))
        return ERR_OK;
    s->n_tried = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->life[i] > first && s->life[i] < first + group)
            continue;
        s->tried[s->n_tried] = s->calls[i];
        if (s->life[i] == first)
            s->tried[s->n_tried].bytes = bytes;
        s->n_tried++;
    }
    return try_calls(s, is_kept, err);
}

enum { JOINED_MOST = 4000 };         /* lives */

static enum err try_joins(struct shrinker *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t group = s->n_lives / 2; group > 1 && s->n_lives <= JOINED_MOST; group /= 2)
        for (size_t first = 0; first + group <= s->n_lives && e == ERR_OK && !is_over(s);) {
            bool is_kept = false;
            e = try_one_of(s, first, group, &is_kept, err);
            first += is_kept ? 0 : group / 2;
        }
    return e;
}

/* Two lives at once: one that only makes room for the other cannot go alone. */
static enum err try_pairs(struct shrinker *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t a = 0; a < s->n_lives && s->n_lives <= 64 && e == ERR_OK; a++)
        for (size_t b = a + 1; b < s->n_lives && e == ERR_OK && !is_over(s); b++) {
            bool is_kept;
            for (size_t i = 0; i < s->n_lives; i++)
                s->is_out[i] = i == a || i == b;
            e = try_lives(s, &is_kept, err);
        }
    return e;
}

/* A request that is never freed is one call less. */
static enum err try_frees(struct shrinker *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = s->n; i-- > 0 && e == ERR_OK && !is_over(s);) {
        bool is_kept;
        if (i >= s->n || s->calls[i].kind != EVENT_FREE)
            continue;
        memcpy(s->tried, s->calls, i * sizeof *s->tried);
        memcpy(s->tried + i, s->calls + i + 1, (s->n - i - 1) * sizeof *s->tried);
        s->n_tried = s->n - 1;
        e = try_calls(s, &is_kept, err);
    }
    return e;
}

/* A free that is complete at once is one call less, too. */
static enum err try_late_frees(struct shrinker *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = s->n; i-- > 0 && e == ERR_OK && !is_over(s);) {
        bool is_kept;
        if (i >= s->n || s->calls[i].kind != EVENT_FREE_REQUESTED)
            continue;
        const uint32_t life = s->life[i];
        s->n_tried = 0;
        for (size_t k = 0; k < s->n; k++) {
            s->tried[s->n_tried] = s->calls[k];
            if (k == i)
                s->tried[s->n_tried].kind = EVENT_FREE;
            s->n_tried += s->calls[k].kind != EVENT_FREE_COMPLETED || s->life[k] != life;
        }
        e = try_calls(s, &is_kept, err);
    }
    return e;
}

/* ---- round sizes ---- */

/* Sizes become whole multiples of the coarsest of these that keeps the property, and does not more than double them:
 * nearest, above, below. */
static const uint64_t units[] = { 1000 * MIB, 100 * MIB, 50 * MIB, 10 * MIB, 5 * MIB, 2 * MIB, MIB, MIB / 2,
                                  100 * KIB, 10 * KIB, KIB, 512 };

static uint64_t rounded(uint64_t bytes, uint64_t unit, int way)
{
    const uint64_t below = bytes / unit * unit, above = below == bytes ? bytes : below + unit;
    return way == 1 ? above : way == 2 ? below : bytes - below < unit - (bytes - below) ? below : above;
}

static enum err try_size(struct shrinker *s, uint64_t bytes, uint64_t to, bool *is_kept, struct err_detail *err)
{
    s->n_tried = s->n;
    memcpy(s->tried, s->calls, s->n * sizeof *s->tried);
    for (size_t i = 0; i < s->n; i++)
        if (s->tried[i].bytes == bytes)
            s->tried[i].bytes = to;
    return try_calls(s, is_kept, err);
}

/* Whether a size is a multiple of this unit or a coarser one already. */
static enum err try_units(struct shrinker *s, uint64_t bytes, bool *is_kept, struct err_detail *err)
{
    enum err e = ERR_OK;
    *is_kept = false;
    for (size_t u = 0; u < sizeof units / sizeof units[0] && !*is_kept && e == ERR_OK; u++) {
        if (bytes % units[u] == 0)
            return e;
        for (int way = 0; way < 3 && !*is_kept && e == ERR_OK; way++) {
            const uint64_t to = rounded(bytes, units[u], way);
            if (to > 0 && to / 2 <= bytes)
                e = try_size(s, bytes, to, is_kept, err);
        }
    }
    return e;
}

static bool is_first_of_size(const struct shrinker *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (s->calls[k].bytes == s->calls[i].bytes)
            return false;
    return true;
}

enum { ROUNDED_MOST = 400 };         /* calls: of more, nobody reads the sizes */

static enum err try_sizes(struct shrinker *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->n && s->n <= ROUNDED_MOST && e == ERR_OK && !is_over(s); i++) {
        bool is_kept;
        if (s->calls[i].kind == EVENT_ALLOC && is_first_of_size(s, i))
            e = try_units(s, s->calls[i].bytes, &is_kept, err);
    }
    return e;
}

/* ---- the whole ---- */

enum { COARSE = 32 };                /* up to so many chunks before the joins, which leave fewer lives */

static enum err try_all(struct shrinker *s, struct err_detail *err)
{
    enum err e = try_folds(s, err);
    if (e == ERR_OK)
        e = try_end(s, err);
    if (e == ERR_OK)
        e = try_small(s, err);
    const size_t coarse = s->n_lives / COARSE + 1;
    for (size_t chunk = s->n_lives / 2; chunk > coarse && e == ERR_OK; chunk /= 2)
        e = try_chunks(s, chunk, err);
    if (e == ERR_OK)
        e = try_joins(s, err);
    for (size_t chunk = s->n_lives / 2; chunk > 0 && e == ERR_OK; chunk /= 2)
        e = try_chunks(s, chunk, err);
    if (e == ERR_OK)
        e = try_pairs(s, err);
    if (e == ERR_OK)
        e = try_frees(s, err);
    if (e == ERR_OK)
        e = try_late_frees(s, err);
    return e == ERR_OK ? try_sizes(s, err) : e;
}

static enum err try_until_nothing_changes(struct shrinker *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    do {
        s->has_changed = false;
        e = try_all(s, err);
    } while (e == ERR_OK && s->has_changed && !is_over(s));
    s->out->is_stopped = is_over(s);
    return e;
}

/* ---- a smaller card ---- */

/* So few calls are read at a glance; of more, a smaller card is tried. */
enum { FEW_CALLS = 10 };

/* Whether the calls are refused a request on a smaller card after fewer than the best so far, in the same story. */
static enum err try_card(struct shrinker *s, const struct event *calls, size_t n, uint64_t usable, bool *is_kept,
                         struct err_detail *err)
{
    struct device_config *d = &s->runner.device->config;
    const uint64_t total = d->total_bytes;
    bool holds = false;
    d->total_bytes = usable + (total - keep_usable(d));
    enum err e = keep_holds(&s->runner, calls, n, false, &holds, err);
    s->out->n_runs++;
    if (e == ERR_OK && holds && s->runner.end < s->n) {
        s->n_tried = s->runner.end;
        memcpy(s->tried, calls, s->n_tried * sizeof *s->tried);
        e = try_calls(s, is_kept, err);
    }
    if (!*is_kept)
        d->total_bytes = total;
    return e;
}

/* The smallest card of a round size on which fewer calls tell the story. */
static enum err try_cards_of(struct shrinker *s, const struct event *calls, size_t n, bool *is_kept,
                             struct err_detail *err)
{
    static const uint64_t rounds[] = { 10, 12, 14, 16, 20, 24, 30, 40, 50, 60, 80 };
    const uint64_t usable = keep_usable(&s->runner.device->config);
    enum err e = ERR_OK;
    for (uint64_t ten = MIB; ten < usable / 10; ten *= 10)
        for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
            if (*is_kept || e != ERR_OK || is_over(s) || s->n <= FEW_CALLS || rounds[i] * ten >= usable)
                return e;
            e = try_card(s, calls, n, rounds[i] * ten, is_kept, err);
        }
    return e;
}

/* Ten equal pieces say of a large card what a thousand do. The recording's calls come first: what is left of them on
 * its own card may have been joined to large pieces. */
static enum err try_cards(struct shrinker *s, bool *is_kept, struct err_detail *err)
{
    *is_kept = false;
    if (s->asked->keep->kind != KEEP_REFUSED)
        return ERR_OK;
    const enum err e = try_cards_of(s, s->all, s->out->n_before, is_kept, err);
    return e == ERR_OK && !*is_kept ? try_cards_of(s, s->calls, s->n, is_kept, err) : e;
}

/* ---- the beginning ---- */

/* The calls of a copy. The request at whose refusal the recording ends is one of them, and the last; so is, if a
 * refusal is kept, the last that the program survived. */
static enum err load_calls(struct shrinker *s, struct trace_reader *copy, bool ends_refused, struct err_detail *err)
{
    const struct trace_info *info = trace_info(copy);
    const struct event *events;
    uint64_t ooms = info->by_kind[EVENT_OOM];
    size_t got = 1;
    enum err e = trace_seek(copy, 0, err);
    s->n_tried = 0;
    while (e == ERR_OK && got > 0) {
        e = trace_next(copy, &events, &got, err);
        for (size_t i = 0; e == ERR_OK && i < got; i++) {
            struct event c = events[i];
            const bool is_last = c.kind == EVENT_OOM && --ooms == 0 && ends_refused;
            if (c.kind == EVENT_CONTROL || c.kind == EVENT_MARK)
                continue;
            c.time_ns = s->n_tried;
            if (c.kind == EVENT_OOM)
                c = (struct event){ .time_ns = c.time_ns, .kind = is_last ? EVENT_ALLOC : EVENT_FLUSH,
                                    .bytes = is_last ? c.bytes : 0, .slot = info->peak_live, .stream = c.stream,
                                    .pool = c.pool };
            s->tried[s->n_tried++] = c;
            if (is_last)
                return e;
        }
    }
    return e;
}

static enum err nothing_to_keep(const struct shrinker *s, struct err_detail *err)
{
    char total[TEXT_NUMBER];
    const uint64_t bytes = s->runner.device->config.total_bytes;
    return err_set(err, ERR_USAGE, 0, "the recording's requests and frees do not do what --keep says, under %s on a "
                   "card %s%s: there is nothing to keep", s->runner.spec->typed, bytes == DEVICE_UNLIMITED ? "" : "of ",
                   bytes == DEVICE_UNLIMITED ? "without limit" : text_mib(bytes, total));
}

static enum err begin(struct shrinker *s, struct err_detail *err)
{
    const struct rewrite how = { .rounds = 1, .events = UINT64_MAX };
    struct coverage coverage;
    bool holds = false;
    enum err e = coverage_read(s->asked->run->trace, &coverage, err);
    if (e == ERR_OK)
        e = trace_rewrite(s->asked->run->trace, &how, &s->out->copy, err);
    if (e != ERR_OK)
        return e;
    s->out->has_verdicts = s->asked->keep->kind == KEEP_REFUSED && s->asked->is_recorded_policy;
    if (s->out->has_verdicts)
        e = shrink_verdict(s->asked->run->trace, &s->asked->run->device, &s->out->verdict_before, err);
    if (e != ERR_OK)
        return e;
    s->out->shows_expandable = s->asked->is_recorded_policy && trace_meta(s->out->copy, "conf") == NULL &&
                               strcmp(s->runner.spec->typed, "pytorch:expandable") == 0;
    s->asked->keep->is_fragmented = s->out->has_verdicts && s->out->verdict_before == VERDICT_FRAGMENTED;
    const size_t n = (size_t)trace_info(s->out->copy)->events + 1;
    s->all = calloc(n, sizeof *s->all);
    s->calls = calloc(n, sizeof *s->calls);
    s->tried = calloc(n, sizeof *s->tried);
    s->life = calloc(n, sizeof *s->life);
    s->is_out = calloc(n, sizeof *s->is_out);
    const size_t n_slots = (size_t)trace_info(s->out->copy)->peak_live + 1;
    s->life_at = calloc(n_slots, sizeof *s->life_at);
    s->slot_of = calloc(n_slots, sizeof *s->slot_of);
    s->vacant = calloc(n_slots, sizeof *s->vacant);
    if (s->all == NULL || s->slot_of == NULL || s->vacant == NULL || s->calls == NULL || s->tried == NULL ||
        s->life == NULL || s->is_out == NULL || s->life_at == NULL)
        return err_no_memory(err);
    s->runner.trace = s->out->copy;
    e = load_calls(s, s->out->copy, coverage.ends == ENDS_REFUSED || s->asked->keep->kind == KEEP_REFUSED, err);
    s->out->n_before = s->n_tried;
    memcpy(s->all, s->tried, s->n_tried * sizeof *s->all);
    s->out->n_runs = 1;
    if (e == ERR_OK && choose_slots(s))          /* its own slots suffice */
        e = keep_holds(&s->runner, s->tried, s->n_tried, true, &holds, err);
    if (e == ERR_OK && !holds)
        return nothing_to_keep(s, err);
    if (e == ERR_OK)
        take_tried(s);
    return e;
}

static void describe(struct shrinker *s)
{
    struct shrunk *out = s->out;
    bool seen[1 << 16] = { false };
    for (size_t i = 0; i < s->n; i++) {
        const struct event *c = &s->calls[i];
        out->has_pools |= c->pool != 0;
        out->has_late |= c->kind == EVENT_FREE_REQUESTED;
        out->n_streams += c->kind == EVENT_ALLOC && !seen[c->stream];
        seen[c->stream] |= c->kind == EVENT_ALLOC;
    }
    out->total_bytes = s->runner.device->config.total_bytes;
    out->calls = s->calls;
    out->n = s->n;
    s->calls = NULL;
}

/* The smaller card and what is left, as a person has them who gets the recording. */
static enum err judge_left(const struct shrinker *s, struct err_detail *err)
{
    struct device_choice card = *s->runner.device;
    struct trace_reader *left = NULL;
    void *bytes;
    size_t n;
    if (!s->out->has_verdicts)
        return ERR_OK;
    enum err e = shrunk_write(s->out, keep_usable(&card.config), &bytes, &n, err);
    if (e == ERR_OK)
        e = trace_open_owned(bytes, n, "what is left", 0, &left, err);
    if (e == ERR_OK)
        e = shrink_verdict(left, &card, &s->out->verdict, err);
    trace_close(left);
    return e;
}

enum err shrink_find(const struct shrink_request *asked, struct shrunk *out, struct err_detail *err)
{
    struct single_run run = *asked->run;         /* what it borrows stays with the caller */
    struct shrinker s = { .asked = asked, .out = out,
                          .runner = { .keep = asked->keep, .spec = &run.spec, .device = &run.device } };
    *out = (struct shrunk){ .n = 0 };
    enum err e = begin(&s, err);
    bool is_smaller = true;
    while (e == ERR_OK && is_smaller) {
        e = try_until_nothing_changes(&s, err);
        if (e == ERR_OK)
            e = try_cards(&s, &is_smaller, err);
    }
    if (e == ERR_OK)
        describe(&s);
    if (e == ERR_OK)
        e = judge_left(&s, err);
    free(s.all);
    free(s.calls);
    free(s.tried);
    free(s.life);
    free(s.is_out);
    free(s.life_at);
    free(s.slot_of);
    free(s.vacant);
    return e;
}

void shrunk_close(struct shrunk *s)
{
    free(s->calls);
    trace_close(s->copy);
    *s = (struct shrunk){ .n = 0 };
}

static uint64_t stream_rank(const struct shrunk *s, uint16_t stream)
{
    const struct stream_name *streams = trace_streams(s->copy);
    uint64_t rank = 0;
    for (uint32_t i = 0; i < trace_info(s->copy)->n_streams; i++)
        rank += streams[i].handle < streams[stream].handle;
    return rank;
}

static enum err put_origin(const struct shrunk *s, struct trace_writer *w, struct err_detail *err)
{
    char calls[24];
    snprintf(calls, sizeof calls, "%zu", s->n_before);
    return trace_put_meta(w, TRACE_META_SHRUNK, calls, err);
}

/* The facts that tell which policy this is about, as far as they can name nobody. */
static enum err put_facts(const struct shrunk *s, struct trace_writer *w, struct err_detail *err)
{
    const char *name, *value;
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && (name = trace_meta_at(s->copy, i, &value)) != NULL; i++)
        if (strcmp(name, "units") != 0 && strcmp(name, "notes") != 0 && fact_is_plain(name, value))
            e = trace_put_meta(w, name, value, err);
    if (e == ERR_OK && s->shows_expandable)
        e = trace_put_meta(w, "conf", "expandable_segments:True", err);
    return e == ERR_OK && trace_meta(s->copy, TRACE_META_SHRUNK) == NULL ? put_origin(s, w, err) : e;
}

/* Streams and pools keep their order and lose their names. */
static enum err put_call(const struct shrunk *s, const struct event *c, size_t i, struct trace_writer *w,
                         struct err_detail *err)
{
    const bool is_capture = trace_pools(s->copy)[c->pool].id[0] != 0;
    const struct control *control = c->kind == EVENT_CONTROL ? &trace_controls(s->copy)[c->slot] : NULL;
    const uint32_t slot = control != NULL ? control->slot : c->slot;
    const struct trace_record record = { .kind = (enum event_kind)c->kind, .time_ns = i, .bytes = c->bytes,
                                         .ptr = (uint64_t)slot + 1, .stream = stream_rank(s, c->stream),
                                         .pool = { is_capture ? c->pool : 0, is_capture ? 0 : c->pool },
                                         .record = TRACE_NO_RECORD,
                                         .control = control != NULL ? *control : (struct control){ .slot = 0 } };
    return trace_put(w, &record, err);
}

enum err shrunk_write(const struct shrunk *s, uint64_t capacity_bytes, void **bytes, size_t *n, struct err_detail *err)
{
    struct trace_writer *w;
    enum err e = trace_create(NULL, &w, err);
    if (e != ERR_OK)
        return e;
    trace_writer_info(w)->capacity_bytes = capacity_bytes;
    e = put_facts(s, w, err);
    for (size_t i = 0; i < s->n && e == ERR_OK; i++)
        e = put_call(s, &s->calls[i], i, w, err);
    if (e != ERR_OK)
        trace_abandon(w);
    else
        e = trace_finish_bytes(w, bytes, n, err);
    return e;
}
