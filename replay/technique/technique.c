/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* First every recorded request gets its new size, or none; then the events are copied, and steps are put in between. */
#include "replay/technique/technique.h"

#include "replay/who/phases.h"
#include "traces/trace_copy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Names of requests: recorded ones count from 1, those that are put in from here. */
#define INSERTED_FROM (UINT64_C(1) << 62)

struct copy {
    const struct course *c;
    const struct technique *how;
    struct trace_writer *out;
    uint64_t *bytes;                 /* by request; 0: left out */
    uint64_t *made;                  /* by size class: gradients that have states put in */
    size_t   *request_of;            /* by slot */
    uint8_t  *is_live;               /* by slot */
    size_t   *gradients;             /* scratch: live ones */
    struct technique_peak live, peak;
    enum technique_way way;
    uint64_t  n_inserted;
    size_t    next, next_step;
    uint64_t  number;                /* of the event that is copied */
};

/* A request that is put in. */
struct made {
    uint64_t ptr, bytes, time_ns;
    const struct holding *gradient;  /* that it is for */
    enum category category;
};

static enum err no_memory(struct err_detail *why)
{
    return err_set(why, ERR_HOST_NOMEM, 0, "no memory for the changed trace");
}

/* ---- what the change does to recorded requests ---- */

static unsigned states_wanted(enum technique_optimizer optimizer)
{
    return optimizer == OPTIMIZER_ADAM ? 2 : optimizer == OPTIMIZER_MOMENTUM ? 1 : 0;
}

/* The recorded optimizer keeps as many states. */
static bool is_recorded_kind(const struct course *c, const struct technique *t)
{
    return t->optimizer == OPTIMIZER_RECORDED || c->states_each == states_wanted(t->optimizer);
}

/* What a step requests for itself stays as recorded, if a step with as many states may request something. */
static bool keeps_temporaries(const struct course *c, const struct technique *t)
{
    return t->optimizer == OPTIMIZER_RECORDED || (t->optimizer == OPTIMIZER_ADAM && is_recorded_kind(c, t));
}

/* Of more states than are wanted, the first for each gradient stay. */
static bool is_thinned(const struct course *c, const struct technique *t)
{
    return t->optimizer == OPTIMIZER_MOMENTUM && c->states_each > 1;
}

static bool is_inserting(const struct course *c, const struct technique *t)
{
    return !is_recorded_kind(c, t) && states_wanted(t->optimizer) > 0 && !is_thinned(c, t);
}

static uint64_t state_bytes(const struct technique *t, uint64_t bytes)
{
    if (t->recorded_state_bits == 0)
        return bytes;
    const uint64_t whole = bytes / t->recorded_state_bits * t->state_bits;
    const uint64_t rest = bytes % t->recorded_state_bits * t->state_bits / t->recorded_state_bits;
    return whole + rest > 0 ? whole + rest : 1;
}

/* A counter of steps has no precision to choose. */
static uint64_t new_state_bytes(const struct copy *k, size_t request, uint64_t *n_states)
{
    const uint64_t bytes = k->c->all.at[request].bytes;
    const bool is_kept = is_recorded_kind(k->c, k->how);
    if (course_is_counter(course_size(k->c, bytes)))
        return is_kept ? bytes : 0;
    const uint64_t place = (*n_states)++;
    return is_kept || (is_thinned(k->c, k->how) && place % k->c->states_each == 0) ? state_bytes(k->how, bytes) : 0;
}

static void choose_sizes(struct copy *k)
{
    uint64_t n_states = 0;
    for (size_t i = 0; i < k->c->all.n; i++) {
        const uint64_t bytes = k->c->all.at[i].bytes;
        k->bytes[i] = course_is_state(k->c, i)            ? new_state_bytes(k, i, &n_states)
                      : course_is_step_temporary(k->c, i) ? (keeps_temporaries(k->c, k->how) ? bytes : 0)
                                                          : bytes;
        if (k->bytes[i] != bytes && k->way == TECHNIQUE_UNCHANGED)
            k->way = TECHNIQUE_EDITED;
    }
}

/* Whether the recording tells what the change touches. */
static enum err check_states(const struct course *c, const struct technique *t, struct err_detail *why)
{
    if (c->has_replaced && (t->optimizer != OPTIMIZER_RECORDED || t->state_bits != t->recorded_state_bits))
        return err_set(why, ERR_UNSUPPORTED, 0, "the recorded optimizer requests its parameters anew in each step, so "
                       "nothing tells its states from them");
    if (c->states_each == STATES_UNKNOWN && t->optimizer != OPTIMIZER_RECORDED)
        return err_set(why, ERR_UNSUPPORTED, 0, "the recorded optimizer does not keep the same number of tensors for "
                       "each gradient, in the gradients' sizes, so nothing tells what another one would leave out");
    return ERR_OK;
}

/* ---- writing ---- */

static void count_live(struct copy *k, enum category category, uint64_t bytes)
{
    k->live.bytes += bytes;
    k->live.by_category[category] += bytes;
    if (k->live.bytes > k->peak.bytes)
        k->peak = k->live;
}

static void count_freed(struct copy *k, enum category category, uint64_t bytes)
{
    assert(k->live.by_category[category] >= bytes);
    k->live.bytes -= bytes;
    k->live.by_category[category] -= bytes;
}

/* A request that no recording has: a label is all of its stack. */
static enum err put_label(struct copy *k, enum category category, uint32_t *stack, struct err_detail *why)
{
    char label[64];
    const char *const frames[] = { label };
    snprintf(label, sizeof label, "%s category:0", category_word(category));
    return trace_put_stack(k->out, frames, 1, stack, why);
}

static enum err put_made(struct copy *k, const struct made *m, enum event_kind kind, struct err_detail *why)
{
    const struct event ev = { .time_ns = m->time_ns, .kind = (uint8_t)kind, .stream = m->gradient->stream,
                              .pool = m->gradient->pool };
    struct trace_record record;
    enum err e = trace_copy_event(k->c->trace, &ev, k->out, &record, why);
    record.ptr = m->ptr;
    record.bytes = m->bytes;
    if (e == ERR_OK && kind == EVENT_ALLOC)
        e = put_label(k, m->category, &record.stack, why);
    if (kind == EVENT_ALLOC)
        count_live(k, m->category, m->bytes);
    else
        count_freed(k, m->category, m->bytes);
    return e == ERR_OK ? trace_put(k->out, &record, why) : e;
}

/* The gradients that are live. The last one made comes first: a backward pass makes them from the last parameter on. */
static size_t live_gradients(struct copy *k)
{
    size_t n = 0;
    for (size_t slot = 0; slot < trace_info(k->c->trace)->peak_live; slot++)
        if (k->is_live[slot] && course_is_gradient(k->c, k->request_of[slot]))
            k->gradients[n++] = k->request_of[slot];
    return n;
}

static int compare_descending(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x < y) - (x > y);
}

/* States for those gradients of a size that are more than any step before had. */
static enum err insert_states(struct copy *k, uint64_t time_ns, size_t n, struct err_detail *why)
{
    uint64_t *met = calloc(k->c->n_sizes + 1, sizeof *met);
    enum err e = met == NULL ? no_memory(why) : ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        const struct holding *gradient = &k->c->all.at[k->gradients[i]];
        const size_t class = (size_t)(course_size(k->c, gradient->bytes) - k->c->sizes);
        if (++met[class] <= k->made[class])
            continue;
        k->made[class]++;
        for (unsigned s = 0; s < states_wanted(k->how->optimizer) && e == ERR_OK; s++) {
            const struct made state = { INSERTED_FROM + k->n_inserted++, state_bytes(k->how, gradient->bytes), time_ns,
                                        gradient, CATEGORY_OPTIMIZER };
            e = put_made(k, &state, EVENT_ALLOC, why);
        }
    }
    free(met);
    return e;
}

/* What Adam's step holds for its square roots: all are requested, then all are freed. */
static enum err insert_temporaries(struct copy *k, uint64_t time_ns, size_t n, struct err_detail *why)
{
    static const enum event_kind kinds[] = { EVENT_ALLOC, EVENT_FREE };
    enum err e = ERR_OK;
    for (size_t i = 0; i < 2 * n && e == ERR_OK; i++) {
        const struct holding *gradient = &k->c->all.at[k->gradients[i % n]];
        const struct made root = { INSERTED_FROM + k->n_inserted + i % n, gradient->bytes, time_ns, gradient,
                                   CATEGORY_TEMPORARIES };
        e = put_made(k, &root, kinds[i / n], why);
    }
    k->n_inserted += n;
    return e;
}

static enum err insert_step(struct copy *k, uint64_t time_ns, struct err_detail *why)
{
    const size_t n = live_gradients(k);
    if (n == 0)
        return ERR_OK;
    qsort(k->gradients, n, sizeof *k->gradients, compare_descending);
    k->way = TECHNIQUE_INSERTED;
    const enum err e = insert_states(k, time_ns, n, why);
    return e == ERR_OK && k->how->optimizer == OPTIMIZER_ADAM ? insert_temporaries(k, time_ns, n, why) : e;
}

static bool is_about_request(const struct event *ev, const struct trace_record *record)
{
    return ev->kind <= EVENT_FREE_COMPLETED || (ev->kind == EVENT_CONTROL && record->control.kind == CONTROL_USE);
}

static void note_life(struct copy *k, const struct event *ev)
{
    const size_t request = ev->kind == EVENT_ALLOC ? k->next++ : k->request_of[ev->slot];
    const enum category category = (enum category)k->c->all.at[request].category;
    k->request_of[ev->slot] = request;
    k->is_live[ev->slot] = ev->kind == EVENT_ALLOC;
    if (ev->kind == EVENT_ALLOC)
        count_live(k, category, k->bytes[request]);
    else if (ev->kind != EVENT_FREE_COMPLETED)
        count_freed(k, category, k->bytes[request]);
}

static enum err put_event(struct copy *k, const struct event *ev, struct err_detail *why)
{
    struct trace_record record;
    enum err e = trace_copy_event(k->c->trace, ev, k->out, &record, why);
    if (e == ERR_OK && (ev->kind <= EVENT_FREE_COMPLETED || ev->kind == EVENT_OOM))
        e = trace_copy_stack(k->c->trace, k->number, k->out, &record.stack, why);
    record.bytes = ev->bytes;
    if (ev->kind <= EVENT_FREE_COMPLETED)
        note_life(k, ev);
    if (is_about_request(ev, &record)) {
        const size_t request = k->request_of[ev->kind == EVENT_CONTROL ? record.control.slot : ev->slot];
        if (k->bytes[request] == 0)
            return e;
        record.ptr = request + 1;
        record.bytes = k->bytes[request];
    }
    return e == ERR_OK ? trace_put(k->out, &record, why) : e;
}

static enum err put_events(struct copy *k, struct err_detail *why)
{
    const struct course *c = k->c;
    const bool is_stepping = is_inserting(c, k->how);
    const struct event *events;
    uint64_t last_ns = 0;
    enum err e = trace_seek(c->trace, 0, why);
    for (size_t n = 1; e == ERR_OK && n > 0;) {
        e = trace_next(c->trace, &events, &n, why);
        for (size_t i = 0; i < n && e == ERR_OK; i++, k->number++) {
            const bool is_step = k->next_step < c->n_step_ends && c->step_ends[k->next_step] == k->number;
            k->next_step += is_step;
            if (is_step && is_stepping)
                e = insert_step(k, events[i].time_ns, why);
            if (e == ERR_OK)
                e = put_event(k, &events[i], why);
            last_ns = events[i].time_ns;
        }
    }
    return e == ERR_OK && is_stepping && k->next_step < c->n_step_ends ? insert_step(k, last_ns, why) : e;
}

/* ---- the whole ---- */

static enum err copy_run(struct copy *k, const char *path, struct trace_reader **out, struct err_detail *why)
{
    enum err e = trace_create(path, &k->out, why);
    if (e != ERR_OK)
        return e;
    e = trace_copy_facts(k->c->trace, k->out, "an estimate: changed by replay technique", why);
    if (e == ERR_OK)
        e = put_events(k, why);
    if (e != ERR_OK)
        trace_abandon(k->out);
    else
        e = path != NULL ? trace_finish(k->out, why) : trace_finish_open(k->out, "the changed trace", out, why);
    return e;
}

enum err technique_apply(const struct course *c, const struct technique *t, const char *path, struct trace_reader **out,
                         struct technique_peak *peak, enum technique_way *way, struct err_detail *why)
{
    struct copy k = { .c = c, .how = t };
    const size_t n_slots = (size_t)trace_info(c->trace)->peak_live + 1;
    enum err e = check_states(c, t, why);
    if (e != ERR_OK)
        return e;
    k.bytes = calloc(c->all.n + 1, sizeof *k.bytes);
    k.made = calloc(c->n_sizes + 1, sizeof *k.made);
    k.request_of = calloc(n_slots, sizeof *k.request_of);
    k.is_live = calloc(n_slots, sizeof *k.is_live);
    k.gradients = calloc(n_slots, sizeof *k.gradients);
    if (k.bytes == NULL || k.made == NULL || k.request_of == NULL || k.is_live == NULL || k.gradients == NULL) {
        e = no_memory(why);
    } else {
        choose_sizes(&k);
        e = copy_run(&k, path, out, why);
    }
    *peak = k.peak;
    *way = k.way;
    free(k.bytes);
    free(k.made);
    free(k.request_of);
    free(k.is_live);
    free(k.gradients);
    return e;
}
