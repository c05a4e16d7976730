/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "import/live_objects.h"

enum err live_objects_put(struct live_objects *o, const struct input *in, struct trace_writer *w, uint64_t count,
                          uint64_t bytes, uint64_t record, uint32_t stack, struct err_detail *err)
{
    const uint64_t allowed = o->n_free + input_offset(in);
    const bool is_together = count > bytes || o->n >= allowed || count > allowed - o->n;
    const uint64_t n = is_together ? 1 : count;
    enum err e = ERR_OK;
    o->n_together += is_together;
    for (uint64_t i = 0; i < n && e == ERR_OK; i++) {
        const struct trace_record r = { .kind = EVENT_ALLOC, .ptr = ++o->n, .record = record, .stack = stack,
                                        .bytes = bytes / n + (i < bytes % n) };
        e = trace_put(w, &r, err);
    }
    return e;
}
