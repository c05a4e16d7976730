/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Categories come from who/, for all requests instead of those live at one moment. */
#include "replay/technique/course.h"

#include "base/array.h"
#include "replay/recording/phases.h"

#include <stdlib.h>

bool course_is_gradient(const struct course *c, size_t request)
{
    return c->all.at[request].category == CATEGORY_GRADIENTS &&
           (c->phase[request] != PHASE_BUCKETS || !c->has_gradients);
}

bool course_is_state(const struct course *c, size_t request)
{
    return c->all.at[request].category == CATEGORY_OPTIMIZER;
}

bool course_is_step_temporary(const struct course *c, size_t request)
{
    const uint8_t category = c->all.at[request].category;
    return c->phase[request] == PHASE_OPTIMIZER && (category == CATEGORY_TEMPORARIES || category == CATEGORY_UNKNOWN);
}

/* ---- requests ---- */

struct lives {
    struct course *c;
    uint32_t *request_of;            /* by slot */
};

static void lives_visit(void *arg, const struct event *ev, uint64_t number)
{
    struct lives *l = arg;
    struct holdings *all = &l->c->all;
    if (ev->kind == EVENT_ALLOC) {
        l->request_of[ev->slot] = (uint32_t)all->n;
        all->at[all->n++] = (struct holding){ .bytes = ev->bytes, .born = (int64_t)number, .died = UINT64_MAX,
                                              .stream = ev->stream, .pool = ev->pool };
        all->bytes += ev->bytes;
    } else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED) {
        all->at[l->request_of[ev->slot]].died = number;
    }
}

static enum err read_requests(struct course *c, uint32_t *request_of, struct err_detail *err)
{
    struct lives l = { .c = c, .request_of = request_of };
    enum err e = trace_each_event(c->trace, lives_visit, &l, err);
    for (size_t i = 0; i < c->all.n && e == ERR_OK; i++) {
        struct trace_side side;
        e = trace_side_at(c->trace, (uint64_t)c->all.at[i].born, &side, err);
        if (e == ERR_OK)
            c->all.at[i].stack = side.stack;
    }
    return e;
}

/* A parameter that a step frees is replaced by what the step requests, which then looks like a state. */
static enum err note_replaced(struct course *c, const struct phases *phases, struct err_detail *err)
{
    uint64_t *deaths = malloc((c->all.n + 1) * sizeof *deaths);
    uint32_t *stacks = malloc((c->all.n + 1) * sizeof *stacks);
    size_t n = 0;
    for (size_t i = 0; i < c->all.n && deaths != NULL; i++)
        if (c->all.at[i].category == CATEGORY_PARAMETERS && c->all.at[i].died != UINT64_MAX)
            deaths[n++] = c->all.at[i].died;
    const enum err e = deaths == NULL || stacks == NULL ? err_no_memory(err)
                                                        : trace_stacks_at(c->trace, deaths, n, stacks, err);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        c->has_replaced = c->has_replaced || phases->of_stack[stacks[i]] == PHASE_OPTIMIZER;
    free(deaths);
    free(stacks);
    return e;
}

static enum err read_phases(struct course *c, struct err_detail *err)
{
    struct category_facts facts;
    struct phases phases;
    enum err e = phases_read(c->trace, &phases, err);
    if (e == ERR_OK)
        e = categories_tell(c->trace, &phases, &c->all, &facts, err);
    for (size_t i = 0; i < c->all.n && e == ERR_OK; i++)
        c->phase[i] = phases.of_stack[c->all.at[i].stack];
    if (e == ERR_OK)
        e = note_replaced(c, &phases, err);
    if (e == ERR_OK && !phases.has_python)
        e = err_set(err, ERR_UNSUPPORTED, 0,
                    "the recording has no Python stacks, so nothing tells what its requests are for: record with "
                    "`replay run-sim -o OUT -- PROGRAM` or `replay record --torch -o OUT -- PROGRAM`, and give "
                    "OUT.pickle");
    phases_close(&phases);
    return e;
}

/* ---- sizes ---- */

static int compare_sizes(const void *a, const void *b)
{
    const struct size_class *x = a, *y = b;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

struct size_class *course_size(const struct course *c, uint64_t bytes)
{
    const struct size_class key = { .bytes = bytes };
    return c->n_sizes == 0 ? NULL : bsearch(&key, c->sizes, c->n_sizes, sizeof key, compare_sizes);
}

bool course_has_parameter(const struct course *c, uint64_t bytes)
{
    const struct size_class *s = course_size(c, bytes);
    return s != NULL && s->is_of_parameter;
}

bool course_is_copy(const struct course *c, size_t request)
{
    const struct holding *h = &c->all.at[request];
    return request + 1 < c->all.n && h[1].stack == h->stack && c->phase[request] == PHASE_FORWARD &&
           course_has_parameter(c, 2 * h->bytes);
}

static bool is_parameter(const struct course *c, size_t request)
{
    return c->all.at[request].category == CATEGORY_PARAMETERS;
}

static void size_join(struct size_class *to, const struct size_class *s)
{
    to->n_states += s->n_states;
    to->is_of_parameter = to->is_of_parameter || s->is_of_parameter;
}

static enum err read_sizes(struct course *c, struct err_detail *err)
{
    c->sizes = calloc(c->all.n + 1, sizeof *c->sizes);
    if (c->sizes == NULL)
        return err_no_memory(err);
    size_t n = 0;
    for (size_t i = 0; i < c->all.n && !c->has_gradients; i++)
        c->has_gradients = c->all.at[i].category == CATEGORY_GRADIENTS && c->phase[i] != PHASE_BUCKETS;
    for (size_t i = 0; i < c->all.n; i++)
        if (course_is_state(c, i) || course_is_gradient(c, i) || is_parameter(c, i))
            c->sizes[n++] = (struct size_class){ .bytes = c->all.at[i].bytes, .n_states = course_is_state(c, i),
                                                 .is_of_parameter = is_parameter(c, i) };
    if (n > 0)
        qsort(c->sizes, n, sizeof *c->sizes, compare_sizes);
    for (size_t i = 0; i < n; i++)
        if (c->n_sizes > 0 && c->sizes[c->n_sizes - 1].bytes == c->sizes[i].bytes)
            size_join(&c->sizes[c->n_sizes - 1], &c->sizes[i]);
        else
            c->sizes[c->n_sizes++] = c->sizes[i];
    return ERR_OK;
}

/* ---- steps ---- */

struct step_pass {
    struct course *c;
    uint32_t *slots;                 /* request by slot */
    size_t   *changed;               /* n_changed sizes whose n_live changed since the last step */
    size_t    n_changed;
    size_t    next;                  /* request */
    bool      is_pending;            /* a backward pass has begun, and its step has not come */
    bool      has_memory;
};

static void end_step(struct step_pass *s, uint64_t number)
{
    struct course *c = s->c;
    uint64_t *at = array_grow(c->step_ends, c->n_step_ends, &c->room, sizeof *at);
    s->is_pending = false;
    if (at == NULL) {
        s->has_memory = false;
        return;
    }
    c->step_ends = at;
    c->step_ends[c->n_step_ends++] = number;
    for (size_t i = 0; i < s->n_changed; i++) {
        struct size_class *size = &c->sizes[s->changed[i]];
        size->is_changed = false;
        if (size->n_live > size->n_gradients)
            size->n_gradients = size->n_live;
    }
    s->n_changed = 0;
}

static void count_gradient(struct step_pass *s, uint64_t bytes, bool is_born)
{
    struct size_class *size = course_size(s->c, bytes);
    if (!size->is_changed)
        s->changed[s->n_changed++] = (size_t)(size - s->c->sizes);
    size->is_changed = true;
    size->n_live = is_born ? size->n_live + 1 : size->n_live - 1;
}

static void step_request(struct step_pass *s, const struct event *ev, uint64_t number)
{
    const size_t request = s->next++;
    const bool is_backward = s->c->phase[request] == PHASE_BACKWARD || s->c->phase[request] == PHASE_RECOMPUTE;
    s->slots[ev->slot] = (uint32_t)request;
    if (s->is_pending && !is_backward)
        end_step(s, number);
    s->is_pending = s->is_pending || is_backward;
    if (course_is_gradient(s->c, request))
        count_gradient(s, ev->bytes, true);
}

static void step_visit(void *arg, const struct event *ev, uint64_t number)
{
    struct step_pass *s = arg;
    if (ev->kind == EVENT_ALLOC) {
        step_request(s, ev, number);
    } else if ((ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED) &&
               course_is_gradient(s->c, s->slots[ev->slot])) {
        if (s->is_pending)
            end_step(s, number);
        count_gradient(s, ev->bytes, false);
    } else if (ev->kind == EVENT_OOM) {
        s->is_pending = false;       /* the backward pass, if one was under way, did not come to its step */
    }
}

bool course_is_counter(const struct size_class *s)
{
    return s->n_gradients == 0 && (s->bytes == sizeof(uint32_t) || s->bytes == sizeof(uint64_t));
}

/* How many states there are for each gradient, if it is the same number for all sizes. */
static uint32_t states_each(const struct course *c)
{
    uint32_t each = STATES_UNKNOWN;
    uint64_t n_states = 0;
    for (size_t i = 0; i < c->n_sizes; i++)
        n_states += c->sizes[i].n_states;
    if (n_states == 0)
        return 0;
    for (size_t i = 0; i < c->n_sizes; i++) {
        const struct size_class *s = &c->sizes[i];
        const uint64_t ratio = s->n_gradients == 0 ? 0 : s->n_states / s->n_gradients;
        if (course_is_counter(s) || (s->n_gradients == 0 && s->n_states == 0))
            continue;
        if (s->n_gradients == 0 || ratio * s->n_gradients != s->n_states || ratio > 3 ||
            (each != STATES_UNKNOWN && each != ratio))
            return STATES_UNKNOWN;
        each = (uint32_t)ratio;
    }
    return each;
}

/* Whether the states of a parameter are requested one after the other. */
static bool states_come_together(const struct course *c, uint32_t each)
{
    uint64_t n = 0, first = 0;
    for (size_t i = 0; i < c->all.n; i++) {
        const uint64_t bytes = c->all.at[i].bytes;
        if (!course_is_state(c, i) || course_is_counter(course_size(c, bytes)))
            continue;
        if (n++ % each == 0)
            first = bytes;
        else if (bytes != first)
            return false;
    }
    return true;
}

static enum err read_steps(struct course *c, uint32_t *slots, struct err_detail *err)
{
    struct step_pass s = { .c = c, .slots = slots, .has_memory = true };
    s.changed = malloc((c->n_sizes + 1) * sizeof *s.changed);
    if (s.changed == NULL)
        return err_no_memory(err);
    const enum err e = trace_each_event(c->trace, step_visit, &s, err);
    if (e == ERR_OK && s.is_pending)
        end_step(&s, trace_info(c->trace)->events);
    free(s.changed);
    c->states_each = c->has_replaced ? STATES_UNKNOWN : states_each(c);
    if (c->states_each > 1 && c->states_each != STATES_UNKNOWN && !states_come_together(c, c->states_each))
        c->states_each = STATES_UNKNOWN;
    return e == ERR_OK && !s.has_memory ? err_no_memory(err) : e;
}

/* ---- the whole ---- */

enum err course_read(struct trace_reader *trace, struct course *out, struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    *out = (struct course){ .trace = trace };
    if (info->starts_mid_run)
        return err_set(err, ERR_UNSUPPORTED, 0,
                       "the recording begins in the middle of the run, so what the optimizer holds was requested "
                       "before it: record from the program's start");
    uint32_t *slots = calloc((size_t)info->peak_live + 1, sizeof *slots);
    out->all.at = calloc(array_bytes(info->by_kind[EVENT_ALLOC] + 1, sizeof *out->all.at), 1);
    out->phase = calloc(array_bytes(info->by_kind[EVENT_ALLOC] + 1, sizeof *out->phase), 1);
    enum err e = slots == NULL || out->all.at == NULL || out->phase == NULL ? err_no_memory(err)
                                                                            : read_requests(out, slots, err);
    if (e == ERR_OK)
        e = read_phases(out, err);
    if (e == ERR_OK)
        e = read_sizes(out, err);
    if (e == ERR_OK)
        e = read_steps(out, slots, err);
    free(slots);
    return e;
}

void course_close(struct course *c)
{
    holdings_close(&c->all);
    free(c->phase);
    free(c->step_ends);
    free(c->sizes);
    *c = (struct course){ .trace = NULL };
}
