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

static void put_device(struct json_writer *w, const struct explanation *x)
{
    json_put_object(w, "device");
    if (x->total_bytes == DEVICE_UNLIMITED)
        json_put_null(w, "total_bytes");
    else
        json_put_number(w, "total_bytes", x->total_bytes);
    json_put_number(w, "context_bytes", x->context_bytes);
    json_put_number(w, "others_bytes", x->others_bytes);
    json_put_integer(w, "page_rounding_bytes", x->page_rounding_bytes);
    if (x->total_bytes == DEVICE_UNLIMITED)
        json_put_null(w, "free_bytes");
    else
        json_put_number(w, "free_bytes", x->free_bytes);
    json_end_object(w);
}

static void put_free(struct json_writer *w, const struct explanation *x)
{
    json_put_array(w, "free");
    for (size_t i = 0; i < x->n_free; i++) {
        const struct explain_free *f = &x->free[i];
        json_put_object(w, NULL);
        json_put_number(w, "stream", f->stream);
        json_put_number(w, "pool", f->pool);
        json_put_bool(w, "is_small", f->is_small);
        json_put_bool(w, "is_whole", f->is_whole);
        json_put_number(w, "bytes", f->bytes);
        json_put_number(w, "page_bytes", f->page_bytes);
        json_put_number(w, "blocks", f->n);
        json_put_number(w, "largest_bytes", f->largest_bytes);
        json_put_text(w, "why_kept", explain_why_kept(x, f));
        json_end_object(w);
    }
    json_end_array(w);
    json_put_array(w, "holes");
    for (size_t i = 0; i < x->n_holes; i++) {
        json_put_object(w, NULL);
        json_put_number(w, "bytes", x->holes[i].bytes);
        json_put_number(w, "pin_bytes", x->holes[i].pin_bytes);
        json_put_number(w, "count", x->holes[i].n);
        json_end_object(w);
    }
    json_end_array(w);
    json_put_number(w, "other_holes", x->n_other_holes);
}

static void put_request(struct json_writer *w, const struct explanation *x)
{
    if (!x->has_request) {
        json_put_null(w, "request");
        return;
    }
    json_put_object(w, "request");
    json_put_number(w, "requested_bytes", x->requested_bytes);
    json_put_number(w, "block_bytes", x->block_bytes);
    json_put_number(w, "segment_bytes", x->segment_bytes);
    json_put_number(w, "stream", x->stream);
    json_put_number(w, "pool", x->pool);
    json_put_number(w, "largest_usable_bytes", x->largest_usable_bytes);
    json_put_number(w, "missing_bytes", explain_missing_bytes(x));
    json_end_object(w);
}

static void put_block(struct json_writer *w, const struct explain_block *b, const struct explain_names *names)
{
    const bool is_dated = b->is_known && b->event >= 0;
    const char *const *frames = NULL;
    const size_t n = names->stack != NULL && b->stack != 0 ? names->stack(names->arg, b->stack, &frames) : 0;
    json_put_object(w, NULL);
    json_put_number(w, "requested_bytes", b->requested);
    json_put_number(w, "bytes", b->bytes);
    json_put_number(w, "address", b->addr);
    json_put_number(w, "stream", b->stream);
    json_put_number(w, "pool", b->pool);
    json_put_bool(w, "is_pending", b->is_pending);
    if (b->is_known)
        json_put_integer(w, "event", b->event);
    else
        json_put_null(w, "event");
    if (is_dated)
        json_put_number(w, "age_ns", b->age_ns);
    else
        json_put_null(w, "age_ns");
    json_put_array(w, "stack");
    for (size_t i = 0; i < n; i++)
        json_put_text(w, NULL, frames[i]);
    json_end_array(w);
    json_end_object(w);
}

void explain_json(struct json_writer *w, const char *key, const struct explanation *x,
                  const struct explain_names *names)
{
    if (x == NULL || !x->is_taken) {
        json_put_null(w, key);
        return;
    }
    json_put_object(w, key);
    if (x->is_end)
        json_put_null(w, "event");
    else
        json_put_integer(w, "event", x->place);
    json_put_bool(w, "shows_blocks", x->has_walk);
    json_put_number(w, "reserved_bytes", x->reserved_bytes);
    json_put_object(w, "parts");
#define EXPLAIN_PART(name, meaning) json_put_number(w, #name "_bytes", x->parts.name);
    EXPLAIN_PARTS(EXPLAIN_PART)
#undef EXPLAIN_PART
    json_end_object(w);
    put_device(w, x);
    put_free(w, x);
    json_put_number(w, "largest_free_bytes", x->largest_free_bytes);
    put_request(w, x);
    json_put_text(w, "way", explain_way_name(x->way));
    if (x->way == EXPLAIN_NO_WAY)
        json_put_null(w, "gained_bytes");
    else
        json_put_number(w, "gained_bytes", x->gained_bytes);
    json_put_array(w, "blocks");
    for (size_t i = 0; i < x->n_blocks; i++)
        put_block(w, &x->blocks[i], names);
    json_end_array(w);
    json_end_object(w);
}
