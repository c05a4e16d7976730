/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * All events of a trace, and its bounds.
 */
#ifndef REPLAY_TESTS_WHOLE_TRACE_H
#define REPLAY_TESTS_WHOLE_TRACE_H

#include "replay/plan/bounds.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static inline struct bounds bounds_of(struct trace_reader *r)
{
    struct err_detail err = { .text = "" };
    struct bounds b;
    cr_assert_eq(bounds_find(r, 0, true, &b, &err), ERR_OK, "%s", err.text);
    return b;
}

/* All events of a trace in one array; free() it. */
static inline struct event *events_of(struct trace_reader *r, size_t *n)
{
    struct err_detail err = { .text = "" };
    struct event *all = calloc((size_t)trace_info(r)->events + 1, sizeof *all);
    const struct event *chunk;
    size_t got = 1;
    *n = 0;
    cr_assert_eq(trace_seek(r, 0, &err), ERR_OK, "%s", err.text);
    while (got > 0) {
        cr_assert_eq(trace_next(r, &chunk, &got, &err), ERR_OK, "%s", err.text);
        memcpy(all + *n, chunk, got * sizeof *all);
        *n += got;
    }
    return all;
}

#endif
