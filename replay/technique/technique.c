/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Each change but the first works on the trace that the one before it wrote. */
#include "replay/technique/changes.h"

#include <assert.h>

bool technique_changes(const struct technique *t, enum technique_change change)
{
    switch (change) {
    case CHANGE_IN_PLACE:      return t->is_in_place;
    case CHANGE_CHECKPOINTING: return t->checkpoint != NULL;
    case CHANGE_ACCUMULATION:  return t->accumulate > 1 && !t->is_split;
    case CHANGE_SPLIT:         return t->accumulate > 1 && t->is_split;
    case CHANGE_OPTIMIZER:     return t->optimizer != OPTIMIZER_RECORDED;
    case CHANGE_STATES:        return t->state_bits != t->recorded_state_bits;
    case TECHNIQUE_CHANGES:    break;
    }
    return false;
}

typedef enum err (*change_apply)(const struct course *c, const struct technique *how, const char *path,
                                 struct trace_reader **out, struct technique_result *result, struct err_detail *err);

/* What makes the changes that are wanted, in order; *n of them. Without any the last copies the trace as it is. */
static void choose(const struct technique *t, change_apply out[static TECHNIQUE_CHANGES], size_t *n)
{
    *n = 0;
    if (technique_changes(t, CHANGE_IN_PLACE))
        out[(*n)++] = in_place_apply;
    if (technique_changes(t, CHANGE_CHECKPOINTING))
        out[(*n)++] = checkpointing_apply;
    if (t->accumulate > 1)
        out[(*n)++] = accumulation_apply;
    if (*n == 0 || technique_changes(t, CHANGE_OPTIMIZER) || technique_changes(t, CHANGE_STATES))
        out[(*n)++] = other_optimizer_apply;
}

static void add_result(struct technique_result *sum, const struct technique_result *r)
{
    sum->peak = r->peak;
    sum->way = r->way > sum->way ? r->way : sum->way;
    sum->n_calls += r->n_calls;
    sum->n_passes += r->n_passes;
    sum->n_joined += r->n_joined;
}

enum err technique_apply(const struct course *c, const struct technique *t, const char *path, struct trace_reader **out,
                         struct technique_result *result, struct err_detail *err)
{
    change_apply changes[TECHNIQUE_CHANGES];
    struct course between = { .trace = NULL };       /* of `trace` */
    struct trace_reader *trace = NULL;
    size_t n;
    enum err e = ERR_OK;
    choose(t, changes, &n);
    assert(n > 0);
    *result = (struct technique_result){ .way = TECHNIQUE_UNCHANGED };
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        struct technique_result r = { .way = TECHNIQUE_UNCHANGED };
        struct trace_reader *changed = NULL;
        if (i > 0)
            e = course_read(trace, &between, err);
        if (e == ERR_OK)
            e = changes[i](i == 0 ? c : &between, t, i + 1 == n ? path : NULL, &changed, &r, err);
        add_result(result, &r);
        course_close(&between);
        trace_close(trace);
        trace = changed;
    }
    if (e == ERR_OK)
        *out = trace;
    else
        trace_close(trace);
    return e;
}
