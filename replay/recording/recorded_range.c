/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/recording/recorded_range.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool recorded_range_read(const struct trace_reader *trace, struct recorded_range *out)
{
    const char *text = trace_meta(trace, TRACE_META_RANGE), *sources = text == NULL ? NULL : strstr(text, ": ");
    struct recorded_range r = { .sources = sources == NULL ? NULL : sources + 2 };
    if (r.sources == NULL || sscanf(text, TRACE_RANGE_SCAN, &r.least, &r.most, &r.expected) != 3 ||
        r.least > r.expected || r.expected > r.most)
        return false;
    *out = r;
    return true;
}
