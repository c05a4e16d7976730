/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A technique that cannot be applied is no error here: the lever is not told. */
#include "replay/why/levers.h"

#include "replay/technique/technique.h"

#define EVENTS_MAX (UINT64_C(1) << 20)

const char *lever_word(enum lever lever)
{
    static const char *const words[LEVER_KINDS] = { "half-batch", "checkpoint", "sgd" };
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
    };
    struct technique_result result;
    struct trace_reader *changed = NULL;
    const enum err e = technique_apply(course, &ways[lever], NULL, &changed, &result, err);
    trace_close(changed);
    if (e != ERR_OK)
        return is_none(e) ? ERR_OK : e;
    out->is_tried[lever] = true;
    out->saves[lever] = peak > result.peak.bytes ? peak - result.peak.bytes : 0;
    return ERR_OK;
}

enum err levers_try(struct trace_reader *trace, bool is_checkpointing, struct levers *out,
                    struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    struct course course = { .trace = NULL };
    *out = (struct levers){ .saves = { 0 } };
    if (info->events > EVENTS_MAX || info->n_stacks == 0)
        return ERR_OK;
    enum err e = course_read(trace, &course, err);
    for (int i = 0; i < LEVER_KINDS && e == ERR_OK; i++)
        if (i != LEVER_CHECKPOINT || !is_checkpointing)
            e = try_one(&course, info->peak_requested_bytes, (enum lever)i, out, err);
    course_close(&course);
    return is_none(e) ? ERR_OK : e;
}
