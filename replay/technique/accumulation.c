/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Gradient accumulation: each recorded forward and backward pass runs several times before the step.
 *
 *     inputs | forward | loss | backward | step        as recorded
 *     [inputs | forward | loss | backward] x N | step
 *
 * The gradients of the first pass stay. Those of the others are added to them and end at once. What else lives beyond
 * the pass (the loss, the inputs) is a variable of the program: it ends when the next pass has made its own.
 */
#include "replay/technique/changes.h"

#include "replay/recording/phases.h"

#include <stdlib.h>

/* One forward and backward pass: requests [first, end), whose last event is before event `until`. */
struct pass { size_t first, end; uint64_t until; };

struct repeats {
    const struct course *c;
    unsigned  n_times;
    struct pass *passes;             /* ascending */
    size_t    n_passes, next;
    uint64_t *names;                 /* scratch, by request of a pass: of its copy; 0: it has none */
    size_t    n_repeated;
};

static bool is_backward(const struct course *c, size_t request)
{
    return c->phase[request] == PHASE_BACKWARD || c->phase[request] == PHASE_RECOMPUTE;
}

/* The first request at event `event` or later. */
static size_t request_at(const struct course *c, uint64_t event)
{
    size_t low = 0, high = c->all.n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uint64_t)c->all.at[middle].born < event)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first request of the forward pass that the backward pass [backward, end) is for: from the first activation that
 * lives until then, back over its stretch and the inputs before it. `backward`: there is none. */
static size_t pass_begin(const struct course *c, size_t least, size_t backward)
{
    size_t first = least;
    const uint64_t until = (uint64_t)c->all.at[backward].born;
    while (first < backward && (c->phase[first] != PHASE_FORWARD || c->all.at[first].died < until ||
                                c->all.at[first].category != CATEGORY_ACTIVATIONS))
        first++;
    if (first == backward)
        return backward;
    while (first > least && c->phase[first - 1] == PHASE_FORWARD)
        first--;
    while (first > least && c->phase[first - 1] == PHASE_OWN)
        first--;
    return first;
}

static void find_passes(struct repeats *r)
{
    const struct course *c = r->c;
    for (size_t i = 0; i < c->n_step_ends; i++) {
        const size_t least = i == 0 ? 0 : request_at(c, c->step_ends[i - 1]), end = request_at(c, c->step_ends[i]);
        size_t backward = end;
        while (backward > least && is_backward(c, backward - 1))
            backward--;
        const size_t first = backward == end ? end : pass_begin(c, least, backward);
        if (first < backward)
            r->passes[r->n_passes++] = (struct pass){ first, end, c->step_ends[i] };
    }
}

/* ---- sizes ---- */

/* With the batch in parts, what a pass makes is smaller. What has the size of a parameter may be a gradient, or half of
 * it a copy that autocast makes: these stay. */
static void split_sizes(const struct repeats *r, struct changed_trace *t)
{
    const struct course *c = r->c;
    for (size_t p = 0; p < r->n_passes; p++)
        for (size_t i = r->passes[p].first; i < r->passes[p].end; i++) {
            const uint8_t category = c->all.at[i].category;
            const uint64_t bytes = c->all.at[i].bytes;
            const bool is_of_batch = category == CATEGORY_ACTIVATIONS || category == CATEGORY_TEMPORARIES ||
                                     category == CATEGORY_INPUTS;
            const bool is_of_parameter = is_backward(c, i) ? course_has_parameter(c, bytes) ||
                                                                 course_has_parameter(c, 2 * bytes)
                                                           : course_is_copy(c, i);
            if (is_of_batch && !is_of_parameter)
                t->bytes[i] = (bytes + r->n_times - 1) / r->n_times;
        }
}

/* ---- repeats ---- */

/* What a program makes once, however often a pass runs. */
static bool is_made_once(const struct course *c, size_t request)
{
    const uint8_t category = c->all.at[request].category, phase = c->phase[request];
    return category == CATEGORY_WORKSPACES || category == CATEGORY_PARAMETERS || category == CATEGORY_BUFFERS ||
           category == CATEGORY_OPTIMIZER || phase == PHASE_SETUP || phase == PHASE_BUFFER || phase == PHASE_STATES ||
           phase == PHASE_BUCKETS;
}

/* A gradient that is added to the one that is there is no longer one of its own, whatever its label says. */
static enum category copy_category(const struct repeats *r, const struct changed_trace *t, size_t request)
{
    return course_is_gradient(r->c, request) ? CATEGORY_TEMPORARIES : (enum category)t->category[request];
}

static enum err end_copy(struct repeats *r, struct changed_trace *t, const struct pass *p, size_t request,
                         struct err_detail *err)
{
    uint64_t *name = &r->names[request - p->first];
    const uint64_t ended = *name;
    *name = 0;
    return ended == 0 ? ERR_OK
                      : changed_trace_free(t, request, t->bytes[request], copy_category(r, t, request), ended, err);
}

/* Makes the copy of a request; *added is the gradient that ends before anything else happens. */
static enum err begin_copy(struct repeats *r, struct changed_trace *t, const struct pass *p, size_t request,
                           size_t *added, struct err_detail *err)
{
    uint64_t name, *own = &t->name[request];
    const enum category category = copy_category(r, t, request);
    const bool keeps_stack = !course_is_gradient(r->c, request);
    enum err e = is_made_once(r->c, request) ? ERR_OK
                                             : changed_trace_make(t, request, t->bytes[request], category, keeps_stack,
                                                                  &name, err);
    if (is_made_once(r->c, request) || e != ERR_OK)
        return e;
    if (r->c->all.at[request].died < p->until || course_is_gradient(r->c, request)) {
        r->names[request - p->first] = name;
        *added = r->c->all.at[request].died < p->until ? SIZE_MAX : request;
        return ERR_OK;
    }
    if (*own != 0)
        e = changed_trace_free(t, request, t->bytes[request], category, *own, err);
    *own = name;
    return e;
}

static enum err repeat_once(struct repeats *r, struct changed_trace *t, const struct pass *p, const struct life *lives,
                            size_t n, struct err_detail *err)
{
    enum err e = ERR_OK;
    size_t added = SIZE_MAX;
    for (size_t i = 0; i <= n && e == ERR_OK; i++) {
        if (added != SIZE_MAX)
            e = end_copy(r, t, p, added, err);
        added = SIZE_MAX;
        if (e == ERR_OK && i < n)
            e = lives[i].is_end ? end_copy(r, t, p, lives[i].request, err)
                                : begin_copy(r, t, p, lives[i].request, &added, err);
    }
    return e;
}

static enum err repeat_pass(struct repeats *r, struct changed_trace *t, const struct pass *p, struct err_detail *err)
{
    struct life *lives;
    size_t n;
    enum err e = lives_read(r->c, p->first, p->end - p->first, p->until, &lives, &n, err);
    for (unsigned i = 1; i < r->n_times && e == ERR_OK; i++)
        e = repeat_once(r, t, p, lives, n, err);
    r->n_repeated += e == ERR_OK;
    free(lives);
    return e;
}

static enum err repeat_visit(void *arg, struct changed_trace *t, const struct event *ev, bool *is_left_out,
                             struct err_detail *err)
{
    struct repeats *r = arg;
    (void)is_left_out;
    if (r->next >= r->n_passes || (ev != NULL && r->passes[r->next].until != t->number))
        return ERR_OK;
    return repeat_pass(r, t, &r->passes[r->next++], err);
}

enum err accumulation_apply(const struct course *c, const struct technique *how, const char *path,
                            struct trace_reader **out, struct technique_result *result, struct err_detail *err)
{
    struct changed_trace t;
    struct repeats r = { .c = c, .n_times = how->accumulate };
    enum err e = changed_trace_open(&t, c, err);
    r.passes = calloc(c->n_step_ends + 1, sizeof *r.passes);
    r.names = calloc(c->all.n + 1, sizeof *r.names);
    if (e == ERR_OK && (r.passes == NULL || r.names == NULL))
        e = err_no_memory(err);
    if (e == ERR_OK) {
        find_passes(&r);
        if (how->is_split)
            split_sizes(&r, &t);
        e = changed_trace_write(&t, path, repeat_visit, &r, out, err);
    }
    *result = (struct technique_result){ .peak = t.peak, .n_passes = r.n_repeated,
                                         .way = r.n_repeated > 0 ? TECHNIQUE_INSERTED : TECHNIQUE_UNCHANGED };
    changed_trace_close(&t);
    free(r.passes);
    free(r.names);
    return e;
}
