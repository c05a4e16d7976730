/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a thread was in when it did something: spans of a profile's line that have begun and not ended. Spans come in
 * order of their begin, as XLA writes them. If they do not, some are missing here, and none is there that does not
 * enclose the moment.
 */
#ifndef REPLAY_IMPORT_OPEN_SPANS_H
#define REPLAY_IMPORT_OPEN_SPANS_H

#include <stddef.h>
#include <stdint.h>

enum { SPANS_DEEP = 128 };

struct open_spans {
    struct open_span { uint64_t start_ps, end_ps; uint32_t text; } at[SPANS_DEEP];       /* outermost first */
    size_t n;
};

/* Forgets those that do not enclose the moment. */
void open_spans_pass(struct open_spans *s, uint64_t moment_ps);

/* Adds one that begins now, after open_spans_pass. Too deep: it is left out. */
void open_spans_enter(struct open_spans *s, uint64_t start_ps, uint64_t duration_ps, uint32_t text);

#endif
