/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Checkpointing of modules: what a call keeps for the backward pass ends with the call, except its result, and is made
 * again when the backward pass comes to it.
 *
 *     as recorded      | call 1 a a a |  call 2 b b b | ... backward of 2 | backward of 1 |
 *                              a a a ------------------------------------------ a a a end
 *     checkpointed     | call 1 a a a |  call 2 b b b | ... b b b, backward of 2 | a a a, backward of 1 |
 *                                     a a a end       b b b end
 *
 * As PyTorch's non-reentrant form does it, the second time ends with the last thing that is kept. The backward pass of
 * a call begins after the last free before anything that it kept ends. Copies of parameters that autocast makes stay
 * until the backward pass begins, where autocast ends.
 */
#include "replay/technique/changes.h"

#include "replay/technique/module_calls.h"
#include "replay/recording/phases.h"

#include <stdlib.h>

#define NONE UINT32_MAX

struct call {
    struct module_call requests;
    size_t   result;                 /* a request */
    bool     needs_result;           /* its own backward pass reads the result, as that of ReLU does */
    uint64_t until;                  /* event before which the call is over: what it keeps ends there */
    uint64_t backward;               /* event before which its copies of parameters end */
    uint64_t again;                  /* event before which it runs again; UINT64_MAX: never */
    size_t   again_end;              /* the request after the last that is made again */
};

/* What happens in front of an event. */
struct moment {
    uint64_t event;
    uint32_t call;
    enum moment_of_call { CALL_ENDS, COPIES_END, RUNS_AGAIN } what;
};

struct checkpoints {
    const struct course *c;
    struct call *calls;              /* n_calls */
    size_t n_calls;
    uint8_t *is_kept;                /* by request: it ends with its call, and is made again */
    uint8_t *is_result;              /* by request: of a call */
    uint32_t *first_end_of;          /* by request: the call of whose kept ones it is the first to end; NONE */
    uint64_t *names;                 /* scratch, by request: of the one made again; 0: none */
    struct moment *moments;          /* ascending */
    size_t n_moments, next;
};

/* ---- what a call keeps ---- */

static bool is_kept_then(const struct course *c, size_t request, uint64_t event)
{
    return c->all.at[request].category == CATEGORY_ACTIVATIONS && c->all.at[request].died > event;
}

/* The result: of what the last line leaves, the largest; of equal ones the first. */
static size_t result_of(const struct course *c, const struct module_call *m, uint64_t until)
{
    size_t last = m->end, result;
    while (last > m->first && c->all.at[last - 1].died <= until)
        last--;
    result = last > m->first ? last - 1 : m->first;
    for (size_t i = last; i-- > m->first && c->all.at[i].stack == c->all.at[last - 1].stack;)
        if (c->all.at[i].died > until && c->all.at[i].bytes >= c->all.at[result].bytes)
            result = i;
    return result;
}

/* Reads what the call keeps. False: nothing, so that nothing is to be made again. */
static bool read_call(struct checkpoints *k, const struct module_call *m, struct call *out)
{
    const struct course *c = k->c;
    const uint64_t until = m->end < c->all.n ? (uint64_t)c->all.at[m->end].born : UINT64_MAX;
    size_t first_end = NONE;
    const size_t result = until == UINT64_MAX ? m->first : result_of(c, m, until);
    *out = (struct call){ .requests = *m, .result = result, .until = until, .again = UINT64_MAX };
    if (until == UINT64_MAX)
        return false;
    k->is_result[result] = true;
    for (size_t i = m->first; i < m->end; i++) {
        if (i == result || !is_kept_then(c, i, until))
            continue;
        k->is_kept[i] = true;
        out->again_end = i + 1;
        if (first_end == NONE || c->all.at[i].died < c->all.at[first_end].died)
            first_end = i;
    }
    if (first_end != NONE && c->all.at[first_end].died != UINT64_MAX)
        k->first_end_of[first_end] = (uint32_t)k->n_calls;
    return first_end != NONE;
}

/* ---- when it runs again ---- */

struct end_pass {
    struct checkpoints *k;
    uint32_t *request_of;            /* by slot */
    size_t next;
    uint64_t after_free, backward;   /* the event after the last free; the first event of this backward pass */
    uint64_t after_kept;             /* the first request after the last end of an activation; UINT64_MAX: none yet */
    bool is_backward;
};

/* The first that a call keeps ends: its backward pass has begun, at the last free before, or where something was
 * requested between the end of the calls after it and the end of its result. */
static void note_begin(const struct end_pass *p, struct call *call)
{
    const uint64_t begin = p->after_free > p->backward ? p->after_free : p->backward;
    call->needs_result = p->after_kept < p->k->c->all.at[call->result].died && p->after_kept > p->backward &&
                         p->k->c->all.at[call->result].died < begin;
    call->backward = p->backward > call->until ? p->backward : call->until;
    call->again = call->needs_result ? p->after_kept : begin;
    call->again = call->again > call->until ? call->again : call->until;
}

static void end_visit(void *arg, const struct event *ev, uint64_t number)
{
    struct end_pass *p = arg;
    if (ev->kind == EVENT_ALLOC) {
        const size_t request = p->next++;
        const bool is_backward = p->k->c->phase[request] == PHASE_BACKWARD;
        p->backward = is_backward && !p->is_backward ? number : p->backward;
        p->after_kept = p->after_kept == UINT64_MAX ? number : p->after_kept;
        p->is_backward = is_backward;
        p->request_of[ev->slot] = (uint32_t)request;
    } else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED) {
        const size_t request = p->request_of[ev->slot];
        if (p->k->first_end_of[request] != NONE)
            note_begin(p, &p->k->calls[p->k->first_end_of[request]]);
        if (p->k->c->all.at[request].category == CATEGORY_ACTIVATIONS && !p->k->is_result[request])
            p->after_kept = UINT64_MAX;
        p->after_free = number + 1;
    }
}

static int compare_moments(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    return x->event != y->event ? (x->event > y->event) - (x->event < y->event) : (int)x->what - (int)y->what;
}

static enum err find_moments(struct checkpoints *k, struct err_detail *err)
{
    struct end_pass p = { .k = k, .after_kept = UINT64_MAX };
    p.request_of = calloc((size_t)trace_info(k->c->trace)->peak_live + 1, sizeof *p.request_of);
    enum err e = p.request_of == NULL ? err_no_memory(err)
                                      : trace_each_event(k->c->trace, end_visit, &p, err);
    free(p.request_of);
    for (uint32_t i = 0; i < k->n_calls; i++) {
        k->moments[k->n_moments++] = (struct moment){ k->calls[i].until, i, CALL_ENDS };
        if (k->calls[i].again != UINT64_MAX) {
            k->moments[k->n_moments++] = (struct moment){ k->calls[i].backward, i, COPIES_END };
            k->moments[k->n_moments++] = (struct moment){ k->calls[i].again, i, RUNS_AGAIN };
        }
    }
    if (k->n_moments > 0)
        qsort(k->moments, k->n_moments, sizeof *k->moments, compare_moments);
    return e;
}

/* ---- the change ---- */

/* Ends the recorded request itself, if it is live. */
static enum err end_own(struct changed_trace *t, size_t request, struct err_detail *err)
{
    const uint64_t name = t->name[request];
    t->name[request] = 0;
    return name == 0 ? ERR_OK
                     : changed_trace_free(t, request, t->bytes[request], (enum category)t->category[request], name,
                                          err);
}

static enum err end_call(struct checkpoints *k, struct changed_trace *t, const struct call *call, bool is_of_copies,
                         struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = call->requests.first; i < call->requests.end && e == ERR_OK; i++)
        if (k->is_kept[i] && course_is_copy(k->c, i) == is_of_copies)
            e = end_own(t, i, err);
    return e;
}

static enum err make_again(struct checkpoints *k, struct changed_trace *t, const struct call *call, size_t request,
                           struct err_detail *err)
{
    const bool is_kept = k->is_kept[request] || (request == call->result && call->needs_result);
    uint64_t *name = is_kept ? &t->name[request] : &k->names[request];
    const enum category category = is_kept ? CATEGORY_ACTIVATIONS : CATEGORY_TEMPORARIES;
    if (is_kept)
        t->category[request] = CATEGORY_ACTIVATIONS;
    return changed_trace_make(t, request, t->bytes[request], category, false, name, err);
}

static enum err end_again(struct checkpoints *k, struct changed_trace *t, size_t request, struct err_detail *err)
{
    const uint64_t name = k->names[request];
    k->names[request] = 0;
    return name == 0 ? ERR_OK : changed_trace_free(t, request, t->bytes[request], CATEGORY_TEMPORARIES, name, err);
}

/* What a program makes once is there already. */
static bool is_made_again(const struct checkpoints *k, size_t request)
{
    const uint8_t category = k->c->all.at[request].category;
    return category == CATEGORY_ACTIVATIONS || category == CATEGORY_TEMPORARIES;
}

static enum err run_again(struct checkpoints *k, struct changed_trace *t, const struct call *call,
                          struct err_detail *err)
{
    const size_t first = call->requests.first;
    const size_t end = call->needs_result && call->result >= call->again_end ? call->result + 1 : call->again_end;
    struct life *lives;
    size_t n;
    enum err e = lives_read(k->c, first, end - first, call->until, &lives, &n, err);
    if (e == ERR_OK && call->needs_result)           /* the calls after it need it no more */
        e = end_own(t, call->result, err);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        if (is_made_again(k, lives[i].request))
            e = lives[i].is_end ? end_again(k, t, lives[i].request, err)
                                : make_again(k, t, call, lives[i].request, err);
    for (size_t i = first; i < end && e == ERR_OK; i++)
        e = end_again(k, t, i, err);
    free(lives);
    return e;
}

static enum err checkpoint_visit(void *arg, struct changed_trace *t, const struct event *ev, bool *is_left_out,
                                 struct err_detail *err)
{
    struct checkpoints *k = arg;
    enum err e = ERR_OK;
    (void)is_left_out;
    for (; k->next < k->n_moments && e == ERR_OK && (ev == NULL || k->moments[k->next].event == t->number); k->next++) {
        const struct moment *m = &k->moments[k->next];
        const struct call *call = &k->calls[m->call];
        e = m->what == RUNS_AGAIN ? run_again(k, t, call, err) : end_call(k, t, call, m->what == COPIES_END, err);
    }
    return e;
}

/* ---- the whole ---- */

static enum err check(const struct course *c, struct err_detail *err)
{
    for (size_t i = 0; i < c->all.n; i++)
        if (c->phase[i] == PHASE_RECOMPUTE)
            return err_set(err, ERR_UNSUPPORTED, 0, "the recorded program checkpoints already");
    return ERR_OK;
}

static enum err checkpoints_open(struct checkpoints *k, const struct module_calls *found, struct err_detail *err)
{
    const size_t n = k->c->all.n + 1;
    k->calls = calloc(found->n + 1, sizeof *k->calls);
    k->moments = calloc(3 * found->n + 1, sizeof *k->moments);
    k->is_kept = calloc(n, sizeof *k->is_kept);
    k->is_result = calloc(n, sizeof *k->is_result);
    k->first_end_of = calloc(n, sizeof *k->first_end_of);
    k->names = calloc(n, sizeof *k->names);
    if (k->calls == NULL || k->moments == NULL || k->is_kept == NULL || k->is_result == NULL ||
        k->first_end_of == NULL || k->names == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < n; i++)
        k->first_end_of[i] = NONE;
    for (size_t i = 0; i < found->n; i++)
        k->n_calls += read_call(k, &found->at[i], &k->calls[k->n_calls]);
    return find_moments(k, err);
}

static void checkpoints_close(struct checkpoints *k)
{
    free(k->calls);
    free(k->moments);
    free(k->is_kept);
    free(k->is_result);
    free(k->first_end_of);
    free(k->names);
}

enum err checkpointing_apply(const struct course *c, const struct technique *how, const char *path,
                             struct trace_reader **out, struct technique_result *result, struct err_detail *err)
{
    struct changed_trace t = { .c = NULL };
    struct checkpoints k = { .c = c };
    struct module_calls found = { .at = NULL };
    enum err e = check(c, err);
    if (e == ERR_OK)
        e = module_calls_find(c, how->checkpoint[0] == '\0' ? NULL : how->checkpoint, &found, err);
    if (e == ERR_OK)
        e = checkpoints_open(&k, &found, err);
    if (e == ERR_OK)
        e = changed_trace_open(&t, c, err);
    for (size_t i = 0; i < c->all.n && e == ERR_OK; i++)
        if (k.is_kept[i])
            t.category[i] = CATEGORY_TEMPORARIES;    /* the first time it ends with its call */
    if (e == ERR_OK)
        e = changed_trace_write(&t, path, checkpoint_visit, &k, out, err);
    *result = (struct technique_result){ .peak = t.peak, .n_calls = k.n_calls,
                                         .way = k.n_calls > 0 ? TECHNIQUE_EDITED : TECHNIQUE_UNCHANGED };
    changed_trace_close(&t);
    module_calls_close(&found);
    checkpoints_close(&k);
    return e;
}
