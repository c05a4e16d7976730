/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A technique that cannot be applied is no error here: the lever is not told. */
#include "replay/why/levers.h"

#include "replay/technique/technique.h"

#define EVENTS_MAX (UINT64_C(1) << 20)

const char *lever_word(enum lever lever)
{
    static const char *const words[LEVER_KINDS] = { "half-batch", "checkpoint", "sgd", "bf16", "autocast",
                                                    "8-bit-states" };
    return words[lever];
}

static bool is_none(enum err e)
{
    return e == ERR_UNSUPPORTED || e == ERR_USAGE;
}

static enum err try_one(const struct course *course, uint64_t peak, enum lever lever, struct levers *out,
                        struct err_detail *err)
{
    static const struct technique ways[LEVER_KINDS] = {
        [LEVER_HALF_BATCH] = { .accumulate = 2, .is_split = true },
        [LEVER_CHECKPOINT] = { .checkpoint = "" },
        [LEVER_SGD] = { .optimizer = OPTIMIZER_SGD },
        [LEVER_STATES_8] = { .state_bits = 8, .recorded_state_bits = 32 },
    };
    struct technique_result result;
    struct trace_reader *changed = NULL;
    const enum err e = technique_apply(course, &ways[lever], NULL, &changed, &result, err);
    trace_close(changed);
    if (e != ERR_OK)
        return is_none(e) ? ERR_OK : e;
    out->is_tried[lever] = out->is_taken[lever] = true;
    out->saves[lever] = peak > result.peak.bytes ? peak - result.peak.bytes : 0;
    return ERR_OK;
}

/* Autocast halves what a forward pass makes; weights in half precision halve what is made of them as well. Inputs stay,
 * which may be indices. */
static bool is_halved(enum lever lever, const struct changed_trace *t, size_t request)
{
    switch (t->category[request]) {
    case CATEGORY_ACTIVATIONS: return true;
    case CATEGORY_PARAMETERS: case CATEGORY_GRADIENTS: case CATEGORY_OPTIMIZER: case CATEGORY_TEMPORARIES:
        return lever == LEVER_BF16;
    default: return false;
    }
}

/* Autocast keeps a copy of each weight in half precision until the step ends. */
static uint64_t copies_bytes(enum lever lever, const struct changed_trace *t)
{
    return lever == LEVER_AUTOCAST ? t->peak.by_category[CATEGORY_PARAMETERS] / 2 : 0;
}

static enum err try_precision(const struct course *course, uint64_t peak, enum lever lever, struct levers *out,
                              struct err_detail *err)
{
    struct changed_trace t;
    struct trace_reader *changed = NULL;
    enum err e = changed_trace_open(&t, course, err);
    for (size_t i = 0; i < course->all.n && e == ERR_OK; i++)
        if (is_halved(lever, &t, i))
            t.bytes[i] -= t.bytes[i] / 2;
    if (e == ERR_OK)
        e = changed_trace_write(&t, NULL, NULL, NULL, &changed, err);
    if (e == ERR_OK) {
        const uint64_t needs = t.peak.bytes + copies_bytes(lever, &t);
        out->is_tried[lever] = true;
        out->saves[lever] = peak > needs ? peak - needs : 0;
    }
    trace_close(changed);
    changed_trace_close(&t);
    return e;
}

static bool is_under_autocast(const struct course *course)
{
    bool is = false;
    for (size_t i = 0; i < course->all.n && !is; i++)
        is = course_is_copy(course, i);
    return is;
}

static enum err try_lever(const struct course *course, uint64_t peak, enum lever lever, struct levers *out,
                          struct err_detail *err)
{
    return lever == LEVER_BF16 || lever == LEVER_AUTOCAST ? try_precision(course, peak, lever, out, err)
                                                          : try_one(course, peak, lever, out, err);
}

/* Whether the program computes that way already, as far as the recording tells, or it changes what the program does not
 * do. */
static bool is_done(const struct course *course, enum lever lever, bool learns, bool is_checkpointing)
{
    const bool is_precision = lever == LEVER_BF16 || lever == LEVER_AUTOCAST;
    if (!learns && !is_precision)
        return true;
    return lever == LEVER_CHECKPOINT                             ? is_checkpointing
           : is_precision                         ? is_under_autocast(course)
                                                : false;
}

enum err levers_try(struct trace_reader *trace, bool learns, bool is_checkpointing, struct levers *out,
                    struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    struct course course = { .trace = NULL };
    *out = (struct levers){ .saves = { 0 } };
    if (info->events > EVENTS_MAX || info->n_stacks == 0)
        return ERR_OK;
    enum err e = course_read(trace, &course, err);
    for (int i = 0; i < LEVER_KINDS && e == ERR_OK; i++)
        if (!is_done(&course, (enum lever)i, learns, is_checkpointing))
            e = try_lever(&course, info->peak_requested_bytes, (enum lever)i, out, err);
    course_close(&course);
    return is_none(e) ? ERR_OK : e;
}
