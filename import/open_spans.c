/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "import/open_spans.h"

void open_spans_pass(struct open_spans *s, uint64_t moment_ps)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].start_ps <= moment_ps && moment_ps < s->at[i].end_ps)
            s->at[kept++] = s->at[i];
    s->n = kept;
}

void open_spans_enter(struct open_spans *s, uint64_t start_ps, uint64_t duration_ps, uint32_t text)
{
    if (s->n < SPANS_DEEP && duration_ps > 0 && duration_ps <= UINT64_MAX - start_ps)
        s->at[s->n++] = (struct open_span){ .start_ps = start_ps, .end_ps = start_ps + duration_ps, .text = text };
}
