/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/recording/recorded_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool recorded_limit_parse(const char *text, struct recorded_limit *out)
{
    char again[128];
    struct recorded_limit l;
    if (sscanf(text, TRACE_LIMIT_SCAN, &l.least, &l.below, &l.card) != 3 || l.least >= l.below || l.below > l.card)
        return false;
    snprintf(again, sizeof again, TRACE_LIMIT_TEXT, l.least, l.below, l.card);
    *out = l;
    return strcmp(again, text) == 0;
}

bool recorded_limit_read(const struct trace_reader *trace, struct recorded_limit *out)
{
    const char *text = trace_meta(trace, TRACE_META_LIMIT);
    return text != NULL && recorded_limit_parse(text, out);
}
