/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* First every recorded request gets its new size, or none; then the events are copied, and steps are put in between. */
#include "replay/technique/changes.h"

#include <stdlib.h>

struct step_change {
    const struct course *c;
    const struct technique *how;
    uint64_t *made;                  /* by size class: gradients that have states put in */
    size_t   *gradients;             /* scratch: live ones */
    bool      is_stepping;           /* steps of the optimizer are put in */
    enum technique_way way;
    size_t    next_step;
};

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
static uint64_t new_state_bytes(const struct step_change *k, size_t request, uint64_t *n_states)
{
    const uint64_t bytes = k->c->all.at[request].bytes;
    const bool is_kept = is_recorded_kind(k->c, k->how);
    if (course_is_counter(course_size(k->c, bytes)))
        return is_kept ? bytes : 0;
    const uint64_t place = (*n_states)++;
    return is_kept || (is_thinned(k->c, k->how) && place % k->c->states_each == 0) ? state_bytes(k->how, bytes) : 0;
}

static void choose_sizes(struct step_change *k, uint64_t *wanted)
{
    uint64_t n_states = 0;
    for (size_t i = 0; i < k->c->all.n; i++) {
        const uint64_t bytes = k->c->all.at[i].bytes;
        wanted[i] = course_is_state(k->c, i)            ? new_state_bytes(k, i, &n_states)
                      : course_is_step_temporary(k->c, i) ? (keeps_temporaries(k->c, k->how) ? bytes : 0)
                                                          : bytes;
        if (wanted[i] != bytes && k->way == TECHNIQUE_UNCHANGED)
            k->way = TECHNIQUE_EDITED;
    }
}

/* Whether the recording tells what the change touches. */
static enum err check_states(const struct course *c, const struct technique *t, struct err_detail *err)
{
    if (c->has_replaced && (t->optimizer != OPTIMIZER_RECORDED || t->state_bits != t->recorded_state_bits))
        return err_set(err, ERR_UNSUPPORTED, 0, "the recorded optimizer requests its parameters anew in each step, so "
                       "nothing tells its states from them");
    if (c->states_each == STATES_UNKNOWN && t->optimizer != OPTIMIZER_RECORDED)
        return err_set(err, ERR_UNSUPPORTED, 0, "the recorded optimizer does not keep the same number of tensors for "
                       "each gradient, in the gradients' sizes, so nothing tells what another one would leave out");
    return ERR_OK;
}

/* ---- steps ---- */

/* The gradients that are live. The last one made comes first: a backward pass makes them from the last parameter on. */
static size_t live_gradients(struct step_change *k, const struct changed_trace *t)
{
    size_t n = 0;
    for (size_t slot = 0; slot < trace_info(k->c->trace)->peak_live; slot++) {
        const size_t request = t->request_of[slot];
        if (request != SIZE_MAX && t->name[request] != 0 && course_is_gradient(k->c, request))
            k->gradients[n++] = request;
    }
    return n;
}

static int compare_descending(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x < y) - (x > y);
}

/* States for those gradients of a size that are more than any step before had. */
static enum err insert_states(struct step_change *k, struct changed_trace *t, size_t n, struct err_detail *err)
{
    uint64_t name, *met = calloc(k->c->n_sizes + 1, sizeof *met);
    enum err e = met == NULL ? err_no_memory(err) : ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        const uint64_t bytes = k->c->all.at[k->gradients[i]].bytes;
        const size_t class = (size_t)(course_size(k->c, bytes) - k->c->sizes);
        if (++met[class] <= k->made[class])
            continue;
        k->made[class]++;
        for (unsigned s = 0; s < states_wanted(k->how->optimizer) && e == ERR_OK; s++)
            e = changed_trace_make(t, k->gradients[i], state_bytes(k->how, bytes), CATEGORY_OPTIMIZER, false, &name,
                                   err);
    }
    free(met);
    return e;
}

/* What Adam's step holds for its square roots: all are requested, then all are freed. */
static enum err insert_temporaries(struct step_change *k, struct changed_trace *t, size_t n, struct err_detail *err)
{
    uint64_t *names = calloc(n, sizeof *names);
    enum err e = names == NULL ? err_no_memory(err) : ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = changed_trace_make(t, k->gradients[i], k->c->all.at[k->gradients[i]].bytes, CATEGORY_TEMPORARIES, false,
                               &names[i], err);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = changed_trace_free(t, k->gradients[i], k->c->all.at[k->gradients[i]].bytes, CATEGORY_TEMPORARIES, names[i],
                               err);
    free(names);
    return e;
}

static enum err insert_step(struct step_change *k, struct changed_trace *t, struct err_detail *err)
{
    const size_t n = live_gradients(k, t);
    if (n == 0)
        return ERR_OK;
    qsort(k->gradients, n, sizeof *k->gradients, compare_descending);
    k->way = TECHNIQUE_INSERTED;
    const enum err e = insert_states(k, t, n, err);
    return e == ERR_OK && k->how->optimizer == OPTIMIZER_ADAM ? insert_temporaries(k, t, n, err) : e;
}

static enum err step_visit(void *arg, struct changed_trace *t, const struct event *ev, bool *is_left_out,
                           struct err_detail *err)
{
    struct step_change *k = arg;
    (void)is_left_out;
    const bool is_due = k->next_step < k->c->n_step_ends && (ev == NULL || k->c->step_ends[k->next_step] == t->number);
    k->next_step += is_due;
    return is_due && k->is_stepping ? insert_step(k, t, err) : ERR_OK;
}

/* ---- the whole ---- */

enum err other_optimizer_apply(const struct course *c, const struct technique *how, const char *path,
                               struct trace_reader **out, struct technique_result *result, struct err_detail *err)
{
    struct changed_trace t;
    struct step_change k = { .c = c, .how = how, .is_stepping = is_inserting(c, how) };
    enum err e = check_states(c, how, err);
    if (e != ERR_OK)
        return e;
    e = changed_trace_open(&t, c, err);
    k.made = calloc(c->n_sizes + 1, sizeof *k.made);
    k.gradients = calloc((size_t)trace_info(c->trace)->peak_live + 1, sizeof *k.gradients);
    if (e == ERR_OK && (k.made == NULL || k.gradients == NULL))
        e = err_no_memory(err);
    if (e == ERR_OK) {
        choose_sizes(&k, t.bytes);
        e = changed_trace_write(&t, path, step_visit, &k, out, err);
    }
    *result = (struct technique_result){ .peak = t.peak, .way = k.way };
    changed_trace_close(&t);
    free(k.made);
    free(k.gradients);
    return e;
}
