/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One pass over the events finds the lives; then the side tables are asked about those that stay. */
#include "replay/results/trace_lives.h"

#include "base/array.h"
#include "traces/stack_frame.h"

#include <stdlib.h>
#include <string.h>

/* ---- lives ---- */

struct lives_pass {
    struct trace_lives *out;
    struct life *slots;              /* by slot: what is live; bytes 0: vacant */
    uint64_t live, live_peak, next_sample;
    const struct steps *steps;       /* NULL: not looked for */
    uint64_t n_of_steps;             /* requests since the first whole step began */
    size_t   n_slots;
    bool     is_short;
};

static uint64_t sampled_moment(const struct trace_lives *t, uint64_t i)
{
    return t->n_events / LIVE_SAMPLES * i + t->n_events % LIVE_SAMPLES * i / LIVE_SAMPLES;
}

/* Notes what is live at the sampled moments before `moment`. */
static void take_samples(struct lives_pass *p, uint64_t moment)
{
    while (p->next_sample <= LIVE_SAMPLES && sampled_moment(p->out, p->next_sample) < moment)
        p->out->live[p->next_sample++] = p->live;
}

static void end_life(struct lives_pass *p, uint32_t slot, uint64_t moment)
{
    struct life *life = &p->slots[slot];
    life->ended = moment;
    if (life->freed == 0)
        life->freed = moment;
    if (life->bytes > 0 && life->ended > life->born)
        p->is_short |= lives_put(&p->out->requests, life) != ERR_OK;
    life->bytes = 0;
}

static void take_mark(struct lives_pass *p, uint32_t label, uint64_t moment)
{
    struct trace_lives *t = p->out;
    if (t->n_all_marks++ >= MARKS_MAX)
        return;
    struct trace_mark *marks = array_grow(t->marks, t->n_marks, &t->room_marks, sizeof *marks);
    p->is_short |= marks == NULL;
    if (marks == NULL)
        return;
    t->marks = marks;
    marks[t->n_marks++] = (struct trace_mark){ .moment = moment, .label = label };
}

static void take_refusal(struct lives_pass *p, uint64_t bytes, uint64_t moment)
{
    struct trace_lives *t = p->out;
    if (t->n_refusals >= RECORDED_REFUSALS_MAX)
        return;
    struct trace_refusal *refusals = array_grow(t->refusals, t->n_refusals, &t->room_refusals, sizeof *refusals);
    p->is_short |= refusals == NULL;
    if (refusals == NULL)
        return;
    t->refusals = refusals;
    refusals[t->n_refusals++] = (struct trace_refusal){ .moment = moment, .bytes = bytes };
}

/* Whether a step begins with an event, or the last one ended before it. */
static bool is_border(struct lives_pass *p, const struct event *ev, uint64_t number)
{
    const struct steps *s = p->steps;
    if (s == NULL || s->whole == 0 || number < s->begin || number > s->end)
        return false;
    if (s->how == STEPS_BY_MARK)
        return ev->kind == EVENT_MARK && ev->slot == s->label;
    return ev->kind == EVENT_ALLOC && p->n_of_steps++ % s->requests == 0;
}

/* Appends a moment, as long as there are fewer than `most`. */
static void put_moment(struct lives_pass *p, uint64_t **moments, size_t *n, size_t *room, size_t most, uint64_t moment)
{
    if (*n >= most)
        return;
    uint64_t *grown = array_grow(*moments, *n, room, sizeof *grown);
    p->is_short |= grown == NULL;
    if (grown == NULL)
        return;
    *moments = grown;
    grown[(*n)++] = moment;
}

static void take_step(struct lives_pass *p, uint64_t moment)
{
    struct trace_lives *t = p->out;
    put_moment(p, &t->steps, &t->n_steps, &t->room_steps, STEPS_DRAWN_MAX, moment);
}

static void take_flush(struct lives_pass *p, uint64_t moment)
{
    struct trace_lives *t = p->out;
    put_moment(p, &t->flushes, &t->n_flushes, &t->room_flushes, FLUSHES_MAX, moment);
}

static void visit(void *arg, const struct event *ev, uint64_t number)
{
    struct lives_pass *p = arg;
    const uint64_t moment = number + 1;
    take_samples(p, moment);
    if (is_border(p, ev, number))
        take_step(p, number);
    if (ev->kind == EVENT_ALLOC) {
        p->slots[ev->slot] = (struct life){ .bytes = ev->bytes, .born = moment, .slot = ev->slot, .stream = ev->stream,
                                            .pool = ev->pool };
        p->live += ev->bytes;
        if (p->live > p->live_peak) {
            p->live_peak = p->live;
            p->out->live_peak_moment = moment;
        }
    } else if (ev->kind == EVENT_FREE) {
        p->live -= ev->bytes;
        end_life(p, ev->slot, moment);
    } else if (ev->kind == EVENT_FREE_REQUESTED) {
        p->live -= ev->bytes;
        p->slots[ev->slot].freed = moment;
    } else if (ev->kind == EVENT_FREE_COMPLETED) {
        end_life(p, ev->slot, moment);
    } else if (ev->kind == EVENT_MARK) {
        take_mark(p, ev->slot, moment);
    } else if (ev->kind == EVENT_OOM) {
        take_refusal(p, ev->bytes, moment);
    } else if (ev->kind == EVENT_FLUSH) {
        take_flush(p, moment);
    }
}

/* A request whose free was pending at the start counts as freed at the first event. */
static void take_start(struct lives_pass *p, const struct trace_reader *trace)
{
    size_t n;
    const struct trace_block *blocks = trace_start_blocks(trace, &n);
    for (size_t i = 0; i < n; i++) {
        if (blocks[i].slot == TRACE_NO_SLOT)
            continue;
        p->slots[blocks[i].slot] = (struct life){ .bytes = blocks[i].requested, .slot = blocks[i].slot,
            .freed = blocks[i].is_pending ? 1 : 0, .stream = blocks[i].stream, .pool = blocks[i].pool };
        p->live += blocks[i].is_pending ? 0 : blocks[i].requested;
    }
    p->live_peak = p->live;
}

static enum err read_lives(struct trace_reader *trace, const struct steps *steps, struct trace_lives *t,
                           struct err_detail *err)
{
    struct lives_pass p = { .out = t, .n_slots = trace_info(trace)->peak_live, .steps = steps };
    p.slots = calloc(p.n_slots + 1, sizeof *p.slots);
    if (p.slots == NULL)
        return err_no_memory(err);
    take_start(&p, trace);
    enum err e = trace_each_event(trace, visit, &p, err);
    take_samples(&p, t->n_events + 1);
    if (steps != NULL && steps->whole > 0 && t->n_steps == steps->whole && steps->end >= t->n_events)
        take_step(&p, t->n_events);                          /* no request follows the last one */
    for (uint32_t slot = 0; slot < p.n_slots && e == ERR_OK; slot++)
        end_life(&p, slot, t->n_events + 1);
    free(p.slots);
    lives_cut(&t->requests, LIVES_MAX);
    return e == ERR_OK && p.is_short ? err_no_memory(err) : e;
}

/* ---- what was recorded beside them ---- */

/* Adds a stack of the trace to the tables; its number there, 0 without frames. */
static enum err add_stack(struct trace_lives *t, const struct trace_reader *trace, uint32_t stack, uint32_t *number)
{
    const char *const *frames;
    const size_t n = trace_stack(trace, stack, &frames);
    uint32_t *texts = malloc((n + 1) * sizeof *texts);
    bool is_short = texts == NULL;
    *number = 0;
    for (size_t i = 0; i < n && !is_short; i++) {
        texts[i] = text_table_put(&t->frames, frames[i], strnlen(frames[i], FRAME_BYTES_MAX));
        is_short = texts[i] == UINT32_MAX;
    }
    if (n > 0 && !is_short) {
        const uint32_t n_before = t->stacks.n_stacks;
        *number = stack_table_put(&t->stacks, texts, n);
        uint32_t *lines = *number == 0 ? NULL : array_grow(t->lines, n_before, &t->room_lines, sizeof *lines);
        is_short = lines == NULL;
        const char *line = stack_frame_of_program(frames, n);
        if (lines != NULL) {
            t->lines = lines;
            lines[*number - 1] = text_table_put(&t->frames, line, strnlen(line, FRAME_BYTES_MAX));
            is_short = lines[*number - 1] == UINT32_MAX;
        }
    }
    free(texts);
    return is_short ? ERR_HOST_NOMEM : ERR_OK;
}

/* Asks in order of events, because the trace decodes its side tables section by section. life.stack becomes the trace's
 * own number. */
static enum err read_sides(struct trace_reader *trace, struct trace_lives *t, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < t->requests.n && e == ERR_OK; i++) {
        struct life *life = &t->requests.at[i];
        struct trace_side side;
        const int64_t event = (int64_t)life->born - 1;
        e = trace_event_number(trace, event, &t->places[i], err);
        if (e != ERR_OK || event < 0 || trace_info(trace)->n_stacks == 0)
            continue;
        e = trace_side_at(trace, (uint64_t)event, &side, err);
        if (e == ERR_OK)
            life->stack = side.stack;
    }
    return e;
}

struct end_of_life { uint64_t moment; size_t request; };

static int by_moment(const void *a, const void *b)
{
    const struct end_of_life *x = a, *y = b;
    return x->moment != y->moment ? (x->moment > y->moment ? 1 : -1) : x->request > y->request ? 1 : -1;
}

/* Whether a free is an event of the recording. */
static bool is_freed_within(const struct trace_lives *t, const struct life *life)
{
    return life->freed > life->born && life->freed <= t->n_events && (life->born > 0 || life->freed > 1);
}

/* Finds the stacks of the frees, in order of events. The trace's own numbers. */
static enum err read_freers(struct trace_reader *trace, struct trace_lives *t, struct err_detail *err)
{
    const size_t n_all = trace_info(trace)->n_stacks > 0 ? t->requests.n : 0;
    struct end_of_life *ends = calloc(n_all + 1, sizeof *ends);
    size_t n = 0;
    bool is_own = false;                             /* a free has a stack that its request has not */
    t->freers = calloc(t->requests.n + 1, sizeof *t->freers);
    enum err e = ends == NULL || t->freers == NULL ? err_no_memory(err) : ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < n_all; i++)
        if (is_freed_within(t, &t->requests.at[i]))
            ends[n++] = (struct end_of_life){ .moment = t->requests.at[i].freed, .request = i };
    if (n > 0)
        qsort(ends, n, sizeof *ends, by_moment);
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        struct trace_side side;
        e = trace_side_at(trace, ends[i].moment - 1, &side, err);
        if (e == ERR_OK)
            t->freers[ends[i].request] = side.stack;
        is_own |= e == ERR_OK && side.stack != TRACE_NO_STACK && side.stack != t->requests.at[ends[i].request].stack;
    }
    if (e == ERR_OK && !is_own)
        memset(t->freers, 0, t->requests.n * sizeof *t->freers);
    free(ends);
    return e;
}

/* Replaces the trace's number of a stack by that of the tables, which hold no other stacks. */
static enum err take_stack(struct trace_reader *trace, struct trace_lives *t, uint32_t *number_of, uint32_t *stack)
{
    enum err e = ERR_OK;
    if (*stack != TRACE_NO_STACK && number_of[*stack] == 0)
        e = add_stack(t, trace, *stack, &number_of[*stack]);
    if (e == ERR_OK)
        *stack = number_of[*stack];
    return e;
}

static enum err take_stacks(struct trace_reader *trace, struct trace_lives *t, struct err_detail *err)
{
    uint32_t *number_of = calloc((size_t)trace_info(trace)->n_stacks + 1, sizeof *number_of);
    enum err e = number_of == NULL ? ERR_HOST_NOMEM : ERR_OK;
    for (size_t i = 0; i < t->requests.n && e == ERR_OK; i++)
        e = take_stack(trace, t, number_of, &t->requests.at[i].stack);
    for (size_t i = 0; i < t->requests.n && e == ERR_OK; i++)
        e = take_stack(trace, t, number_of, &t->freers[i]);
    free(number_of);
    return e == ERR_OK ? e : err_no_memory(err);
}

/* ---- categories ---- */

static struct holding holding_of(const struct life *life, uint64_t n_events)
{
    return (struct holding){ .bytes = life->bytes, .born = (int64_t)life->born - 1, .stack = life->stack,
                             .stream = life->stream, .pool = life->pool,
                             .died = life->freed > n_events ? UINT64_MAX : life->freed - 1 };
}

static enum err read_categories(struct trace_reader *trace, struct trace_lives *t, struct err_detail *err)
{
    struct category_facts facts;
    struct holdings all = { .n = t->requests.n };
    if (t->requests.n_all > LIVES_MAX || trace_info(trace)->n_stacks == 0)
        return ERR_OK;
    all.at = calloc(all.n + 1, sizeof *all.at);
    t->categories = calloc(all.n + 1, 1);
    enum err e = all.at == NULL || t->categories == NULL ? err_no_memory(err) : ERR_OK;
    for (size_t i = 0; i < all.n && e == ERR_OK; i++)
        all.at[i] = holding_of(&t->requests.at[i], t->n_events);
    if (e == ERR_OK)
        e = categories_find(trace, &all, &facts, err);
    for (size_t i = 0; i < all.n && e == ERR_OK; i++)
        t->categories[i] = (uint8_t)(all.at[i].category + (all.at[i].is_guess ? CATEGORY_KINDS : 0));
    holdings_close(&all);
    return e;
}

/* ---- all ---- */

/* Pages look numbers up, so they must rise: those of a source that was brought into the order of time do not. */
static enum err read_numbers(struct trace_reader *trace, struct trace_lives *t, struct err_detail *err)
{
    if (!trace_info(trace)->has_source_numbers || t->n_events > NUMBERED_MAX || t->n_events == 0)
        return ERR_OK;
    t->numbers = malloc(array_bytes(t->n_events, sizeof *t->numbers));
    if (t->numbers == NULL)
        return err_no_memory(err);
    for (uint64_t i = 0; i < t->n_events; i++) {
        int64_t place;
        const enum err e = trace_event_number(trace, (int64_t)i, &place, err);
        if (e != ERR_OK)
            return e;
        t->numbers[i] = (uint64_t)place;
        if (i > 0 && t->numbers[i] < t->numbers[i - 1]) {
            free(t->numbers);
            t->numbers = NULL;
            return ERR_OK;
        }
    }
    return ERR_OK;
}

enum err trace_lives_read(struct trace_reader *trace, const struct steps *steps, struct trace_lives *out,
                          struct err_detail *err)
{
    *out = (struct trace_lives){ .requests.max = LIVES_MAX, .n_events = trace_info(trace)->events };
    enum err e = read_lives(trace, steps, out, err);
    if (e == ERR_OK) {
        out->places = malloc((out->requests.n + 1) * sizeof *out->places);
        e = out->places == NULL ? err_no_memory(err) : read_sides(trace, out, err);
    }
    if (e == ERR_OK)
        e = read_categories(trace, out, err);
    if (e == ERR_OK)
        e = read_freers(trace, out, err);
    if (e == ERR_OK)
        e = take_stacks(trace, out, err);
    if (e == ERR_OK)
        e = read_numbers(trace, out, err);
    if (e == ERR_OK)
        e = recorded_reserved_read(trace, &out->reserved, err);
    return e;
}

void trace_lives_close(struct trace_lives *t)
{
    lives_close(&t->requests);
    text_table_free(&t->frames);
    stack_table_free(&t->stacks);
    free(t->lines);
    free(t->categories);
    free(t->places);
    free(t->freers);
    free(t->flushes);
    free(t->numbers);
    free(t->marks);
    free(t->steps);
    free(t->refusals);
    recorded_reserved_close(&t->reserved);
    *t = (struct trace_lives){ .n_events = 0 };
}
