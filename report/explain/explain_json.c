/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* An explanation as JSON (report/SCHEMA.md), and what both text and JSON derive from it. */
#include "report/explain/explain_report.h"

const char *explain_why_kept(const struct explanation *x, const struct explain_free *f)
{
    if (!f->is_whole)
        return NULL;
    if (f->pool != 0)
        return "a private pool's memory serves no other requests, and is given back only when the pool is dropped";
    if (!x->is_refusal)
        return "kept for later requests; the policy may give them back before it refuses one";
    if (f->largest_bytes < x->block_bytes)
        return "too small for the request, and this policy did not give them back";
    return f->stream != x->stream ? "of another stream, and this policy did not give them back"
                                  : "the policy's rules keep this request out of them";
}

uint64_t explain_missing_bytes(const struct explanation *x)
{
    return x->segment_bytes > x->free_bytes ? x->segment_bytes - x->free_bytes : 0;
}

const struct explain_free *explain_other_stream(const struct explanation *x)
{
    for (size_t i = 0; i < x->n_free; i++) {
        const struct explain_free *f = &x->free[i];
        if (f->stream != x->stream && f->pool == x->pool && !f->is_small && f->largest_bytes >= x->block_bytes)
            return f;
    }
    return NULL;
}

static size_t block_frames(const struct explain_block *b, const struct explain_names *names, const char *const **frames)
{
    return names->stack != NULL && b->stack != 0 ? names->stack(names->arg, b->stack, frames) : 0;
}

void explanation_json(struct json_writer *json, const struct explained *e)
{
    const struct explanation *x = e->explanation;
    const struct explain_names *names = e->names;
#define ANSWER_TABLE "answers/explanation.def"
#include "answers/as_json.def"
}
