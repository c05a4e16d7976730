/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Writes the pickle of a run's snapshot, in the layout of the PyTorch release that the policy follows. */
#include "base/array.h"
#include "replay/export/snapshot_export.h"

#include "import/pytorch/pickle_writer.h"
#include "traces/stack_frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES_BATCH = 1 << 12 };

/* Everything that the writing needs. Stacks and frames are written once and then named (pickle memo). */
struct snapshot_pickle {
    struct snapshot_export         *d;
    struct trace_reader *trace;
    struct pickle_writer w;
    enum torch_release   release;
    bool                 has_stacks;
    struct trace_side   *sides;      /* of events [sides_first, sides_first + n_sides) */
    uint64_t             sides_first;
    size_t               n_sides;
    uint32_t            *stack_names;    /* by stack: the name of its list in the pickle + 1; 0: not written yet */
    struct text_table    frames;         /* stack frames that were written */
    uint32_t            *frame_names;    /* by number in `frames`: the name in the pickle */
    size_t               room_frames;
};

/* Whether the release writes that part of a snapshot. */
static bool snapshot_has(const struct snapshot_pickle *p, enum torch_layout part)
{
    return torch_release_has(p->release, part);
}

static void put_entry(struct snapshot_pickle *p, const char *key, uint64_t number)
{
    pickle_put_text(&p->w, key);
    pickle_put_number(&p->w, number);
}

static void put_text_entry(struct snapshot_pickle *p, const char *key, const char *text)
{
    pickle_put_text(&p->w, key);
    pickle_put_text(&p->w, text);
}

static void put_bool_entry(struct snapshot_pickle *p, const char *key, bool is_true)
{
    pickle_put_text(&p->w, key);
    pickle_put_bool(&p->w, is_true);
}

/* PyTorch writes a stream's handle as a signed number. */
static void put_stream(struct snapshot_pickle *p, uint16_t stream)
{
    pickle_put_text(&p->w, "stream");
    pickle_put_integer(&p->w, (int64_t)trace_streams(p->trace)[stream].handle);
}

static void put_pool(struct snapshot_pickle *p, const char *key, uint8_t pool)
{
    const uint64_t *id = trace_pools(p->trace)[pool].id;
    pickle_put_text(&p->w, key);
    pickle_put_pair(&p->w, id[0], id[1]);
}

/* ---- stacks ---- */

static void put_text_part(struct snapshot_pickle *p, const char *key, const char *text, size_t n)
{
    char *copy = strndup(text, n);
    if (copy == NULL)
        p->w.is_short = true;
    else
        put_text_entry(p, key, copy);
    free(copy);
}

static void put_frame(struct snapshot_pickle *p, const char *text)
{
    if (p->w.is_short)
        return;
    const uint32_t n_before = p->frames.n, id = text_table_put(&p->frames, text, strlen(text));
    uint32_t *names = id == UINT32_MAX ? NULL : array_grow(p->frame_names, id, &p->room_frames, sizeof *names);
    if (names == NULL) {
        p->w.is_short = true;
        return;
    }
    p->frame_names = names;
    if (id < n_before) {
        pickle_put_named(&p->w, names[id]);
        return;
    }
    const struct stack_frame f = stack_frame_parse(text);
    pickle_put_dict(&p->w);
    put_text_part(p, "name", f.name, f.n_name);
    put_text_part(p, "filename", f.file, f.n_file);
    put_entry(p, "line", f.line);
    pickle_end_dict(&p->w);
    names[id] = pickle_name(&p->w);
}

/* Writes the list of frames of a stack; an empty list without one. */
static void put_frames(struct snapshot_pickle *p, const char *key, uint32_t stack)
{
    const char *const *frames = NULL;
    pickle_put_text(&p->w, key);
    if (stack != TRACE_NO_STACK && p->stack_names[stack] != 0) {
        pickle_put_named(&p->w, p->stack_names[stack] - 1);
        return;
    }
    const size_t n = stack == TRACE_NO_STACK ? 0 : trace_stack(p->trace, stack, &frames);
    pickle_put_list(&p->w);
    for (size_t i = 0; i < n; i++)
        put_frame(p, frames[i]);
    pickle_end_list(&p->w);
    if (n > 0)
        p->stack_names[stack] = pickle_name(&p->w) + 1;
}

/* ---- records ---- */

/* Reads the stacks of the next events, from `event` on. */
static enum err sides_move(struct snapshot_pickle *p, uint64_t event, struct err_detail *err)
{
    const uint64_t left = trace_info(p->trace)->events - event;
    const size_t n = left < SIDES_BATCH ? (size_t)left : SIDES_BATCH;
    const enum err e = trace_sides(p->trace, event, n, p->sides, err);
    p->sides_first = event;
    p->n_sides = e == ERR_OK ? n : 0;
    return e;
}

static enum err stack_of_event(struct snapshot_pickle *p, int64_t event, uint32_t *stack, struct err_detail *err)
{
    const uint64_t at = (uint64_t)event;
    *stack = TRACE_NO_STACK;
    if (!p->has_stacks || event < 0)
        return ERR_OK;
    if (at < p->sides_first || at - p->sides_first >= p->n_sides) {
        const enum err e = sides_move(p, at, err);
        if (e != ERR_OK)
            return e;
    }
    *stack = p->sides[at - p->sides_first].stack;
    return ERR_OK;
}

typedef void (*record_visit)(struct snapshot_pickle *p, const struct snapshot_export_record *r, uint32_t stack,
                             uint64_t i);

/* Visits all records in order, each with the stack of its event. */
static enum err each_record(struct snapshot_pickle *p, record_visit visit, struct err_detail *err)
{
    rewind(p->d->spool);
    for (uint64_t i = 0; i < p->d->n_records; i++) {
        struct snapshot_export_record r;
        uint32_t stack;
        if (fread(&r, sizeof r, 1, p->d->spool) != 1)
            return err_set(err, ERR_IO, 0, "the snapshot's records cannot be read back");
        const enum err e = stack_of_event(p, r.event, &stack, err);
        if (e != ERR_OK)
            return e;
        visit(p, &r, stack, i);
    }
    return ERR_OK;
}

static int block_order(const void *key, const void *block)
{
    const uint64_t addr = *(const uint64_t *)key, there = ((const struct snapshot_export_block *)block)->view.addr;
    return addr < there ? -1 : addr > there;
}

/* Notes the stacks of the final blocks: the last record that names an address made the block there. */
static void note_stack(struct snapshot_pickle *p, const struct snapshot_export_record *r, uint32_t stack, uint64_t i)
{
    (void)i;
    const enum record_action action = r->record.action;
    if ((action != RECORD_ALLOC && action != RECORD_SEGMENT_ALLOC) || p->d->n_blocks == 0)
        return;
    struct snapshot_export_block *b =
        bsearch(&r->record.addr, p->d->blocks, p->d->n_blocks, sizeof *p->d->blocks, block_order);
    if (b != NULL && action == RECORD_ALLOC)
        b->stack = stack;
    else if (b != NULL)
        b->segment_stack = stack;
}

/* ---- segments ---- */

static bool block_is_active(const struct snapshot_export_block *b)
{
    return b->view.state == BLOCK_ALLOCATED || b->view.state == BLOCK_PENDING;
}

static void put_block(struct snapshot_pickle *p, const struct snapshot_export_block *b)
{
    static const char *const states[] = {[BLOCK_FREE] = "inactive", [BLOCK_ALLOCATED] = "active_allocated",
                                         [BLOCK_PENDING] = "active_pending_free"};
    const uint32_t stack = block_is_active(b) ? b->stack : TRACE_NO_STACK;
    pickle_put_dict(&p->w);
    if (snapshot_has(p, LAYOUT_BLOCK_ADDRESS))
        put_entry(p, "address", b->view.addr);
    put_entry(p, "size", b->view.bytes);
    put_entry(p, "requested_size", b->view.requested);
    put_text_entry(p, "state", states[b->view.state]);
    if (snapshot_has(p, LAYOUT_BLOCK_ADDRESS)) {
        put_frames(p, "frames", stack);
    } else if (block_is_active(b)) {
        pickle_put_text(&p->w, "history");
        pickle_put_list(&p->w);
        pickle_put_dict(&p->w);
        put_entry(p, "addr", b->view.addr);
        put_entry(p, "real_size", b->view.requested);
        if (stack != TRACE_NO_STACK)
            put_frames(p, "frames", stack);
        pickle_end_dict(&p->w);
        pickle_end_list(&p->w);
    }
    pickle_end_dict(&p->w);
}

static void put_segment_sizes(struct snapshot_pickle *p, const struct snapshot_export_block *blocks, size_t n)
{
    uint64_t total = 0, allocated = 0, active = 0, requested = 0;
    for (size_t i = 0; i < n; i++) {
        total += blocks[i].view.bytes;
        allocated += blocks[i].view.state == BLOCK_ALLOCATED ? blocks[i].view.bytes : 0;
        active += block_is_active(&blocks[i]) ? blocks[i].view.bytes : 0;
        requested += block_is_active(&blocks[i]) ? blocks[i].view.requested : 0;
    }
    put_entry(p, "total_size", total);
    put_entry(p, "allocated_size", allocated);
    put_entry(p, "active_size", active);
    put_entry(p, "requested_size", requested);
}

static void put_segment(struct snapshot_pickle *p, const struct snapshot_export_block *blocks, size_t n)
{
    const struct snapshot_export_block *first = &blocks[0];
    const uint32_t stack = first->view.page_bytes > 0 ? TRACE_NO_STACK : first->segment_stack;
    pickle_put_dict(&p->w);
    put_entry(p, "device", trace_info(p->trace)->device);
    put_entry(p, "address", first->view.addr);
    put_segment_sizes(p, blocks, n);
    put_stream(p, first->view.stream);
    put_text_entry(p, "segment_type", first->view.is_small ? "small" : "large");
    if (snapshot_has(p, LAYOUT_BLOCK_ADDRESS)) {
        put_pool(p, "segment_pool_id", first->view.pool);
        put_bool_entry(p, "is_expandable", first->view.page_bytes > 0);
        if (stack == TRACE_NO_STACK)
            put_frames(p, "frames", stack);
    }
    pickle_put_text(&p->w, "blocks");
    pickle_put_list(&p->w);
    for (size_t i = 0; i < n; i++) {
        pickle_list_item(&p->w, i);
        put_block(p, &blocks[i]);
    }
    pickle_end_list(&p->w);
    if (snapshot_has(p, LAYOUT_BLOCK_ADDRESS) && stack != TRACE_NO_STACK)
        put_frames(p, "frames", stack);
    pickle_end_dict(&p->w);
}

/* Whether a block continues the segment of the one before. Each mapped stretch of an address range is its own segment.
 * */
static bool block_continues(const struct snapshot_export_block *b)
{
    const struct block_view *before = &b[-1].view, *v = &b->view;
    return before->state != BLOCK_UNMAPPED && before->addr + before->bytes == v->addr && v->addr != v->segment_addr;
}

static void put_segments(struct snapshot_pickle *p)
{
    const struct snapshot_export_block *blocks = p->d->blocks;
    pickle_put_list(&p->w);
    uint64_t n_segments = 0;
    for (size_t i = 0, n; i < p->d->n_blocks; i += n) {
        n = 1;
        if (blocks[i].view.state == BLOCK_UNMAPPED)
            continue;
        while (i + n < p->d->n_blocks && blocks[i + n].view.state != BLOCK_UNMAPPED && block_continues(&blocks[i + n]))
            n++;
        pickle_list_item(&p->w, n_segments++);
        put_segment(p, &blocks[i], n);
    }
    pickle_end_list(&p->w);
}

/* ---- device_traces ---- */

static void put_record(struct snapshot_pickle *p, const struct snapshot_export_record *d, uint32_t stack, uint64_t i)
{
    static const char *const actions[RECORD_ACTIONS] = {"alloc",         "free_requested", "free_completed",
                                                        "segment_alloc", "segment_free",   "segment_map",
                                                        "segment_unmap", "snapshot",       "oom"};
    const struct policy_record *r = &d->record;
    const bool has_frames = stack != TRACE_NO_STACK;
    pickle_list_item(&p->w, i);
    pickle_put_dict(&p->w);
    if (has_frames && !snapshot_has(p, LAYOUT_BLOCK_ADDRESS))
        put_frames(p, "frames", stack);
    put_text_entry(p, "action", actions[r->action]);
    put_entry(p, r->action == RECORD_OOM ? "device_free" : "addr", r->addr);
    put_entry(p, "size", r->bytes);
    put_stream(p, r->stream);
    if (snapshot_has(p, LAYOUT_TIME))
        put_entry(p, "time_us", trace_info(p->trace)->epoch_us + d->time_ns / 1000);
    if (snapshot_has(p, LAYOUT_COMPILE_CONTEXT))
        put_text_entry(p, "compile_context", "N/A");
    if (snapshot_has(p, LAYOUT_USER_METADATA))
        put_text_entry(p, "user_metadata", "");
    if (snapshot_has(p, LAYOUT_POOL_ID))
        put_pool(p, "pool_id", r->pool);
    if (has_frames && snapshot_has(p, LAYOUT_BLOCK_ADDRESS))
        put_frames(p, "frames", stack);
    pickle_end_dict(&p->w);
}

/* Writes one list for each device of the program; only the replayed device's has records. */
static enum err put_traces(struct snapshot_pickle *p, struct err_detail *err)
{
    pickle_put_list(&p->w);
    for (uint32_t i = 0; i < trace_info(p->trace)->device; i++) {
        pickle_put_list(&p->w);
        pickle_end_list(&p->w);
    }
    pickle_put_list(&p->w);
    const enum err e = each_record(p, put_record, err);
    pickle_end_list(&p->w);
    pickle_end_list(&p->w);
    return e;
}

/* ---- allocator_settings ---- */

static void put_bytes_or_minus_1(struct snapshot_pickle *p, const char *key, uint64_t bytes)
{
    pickle_put_text(&p->w, key);
    pickle_put_integer(&p->w, bytes == PYTORCH_UNLIMITED ? -1 : (int64_t)bytes);
}

static void put_settings(struct snapshot_pickle *p)
{
    const struct pytorch_settings *s = &p->d->allocator.settings;
    char interval[16];
    pickle_put_dict(&p->w);
    put_text_entry(p, "PYTORCH_CUDA_ALLOC_CONF", p->d->conf);
    put_bytes_or_minus_1(p, "max_split_size", s->max_split_size);
    pickle_put_text(&p->w, "garbage_collection_threshold");
    pickle_put_float(&p->w, s->garbage_collection_threshold);
    put_bool_entry(p, "expandable_segments", s->expandable_segments);
    put_entry(p, "pinned_num_register_threads", 1);
    put_bool_entry(p, "release_lock_on_cudamalloc", s->release_lock_on_cudamalloc);
    put_bool_entry(p, "pinned_use_cuda_host_register", false);
    if (snapshot_has(p, LAYOUT_REUSE))
        put_bool_entry(p, "graph_capture_record_stream_reuse", s->graph_capture_record_stream_reuse);
    if (snapshot_has(p, LAYOUT_MAX_ROUND)) {
        put_bytes_or_minus_1(p, "max_round_threshold", PYTORCH_UNLIMITED);
        put_bytes_or_minus_1(p, "max_cached_size", PYTORCH_UNLIMITED);
    }
    pickle_put_text(&p->w, "roundup_power2_divisions");
    pickle_put_dict(&p->w);
    for (unsigned i = 0; i < PYTORCH_ROUNDUP_INTERVALS; i++) {
        snprintf(interval, sizeof interval, "%u", 1u << i);
        put_entry(p, interval, s->roundup_divisions[i]);
    }
    pickle_end_dict(&p->w);
    pickle_end_dict(&p->w);
}

/* ---- the whole ---- */

static void put_empty_list(struct snapshot_pickle *p, const char *key)
{
    pickle_put_text(&p->w, key);
    pickle_put_list(&p->w);
    pickle_end_list(&p->w);
}

static enum err put_all(struct snapshot_pickle *p, struct err_detail *err)
{
    pickle_put_dict(&p->w);
    pickle_put_text(&p->w, "segments");
    put_segments(p);
    pickle_put_text(&p->w, "device_traces");
    const enum err e = put_traces(p, err);
    if (snapshot_has(p, LAYOUT_SETTINGS)) {
        pickle_put_text(&p->w, "allocator_settings");
        put_settings(p);
    }
    if (snapshot_has(p, LAYOUT_ANNOTATIONS))
        put_empty_list(p, "external_annotations");
    if (snapshot_has(p, LAYOUT_HOST)) {
        put_empty_list(p, "host_segments");
        put_empty_list(p, "host_traces");
    }
    pickle_end_dict(&p->w);
    return e;
}

static enum err snapshot_export_check(struct snapshot_export *d, const struct lane *l, struct err_detail *err)
{
    snapshot_export_take_state(d, l);
    switch (d->failure) {
    case ERR_OK:
        return ERR_OK;
    case ERR_UNSUPPORTED:
        return err_set(err, ERR_UNSUPPORTED, 0, "the policy '%s' keeps no blocks as PyTorch does: there is nothing to "
                       "put into a snapshot", l->spec->typed);
    case ERR_IO:
        return err_set(err, ERR_IO, 0, "the temporary file for the snapshot's records cannot be written");
    default:
        return err_set(err, d->failure, 0, "no memory for a snapshot of %zu blocks", d->n_blocks);
    }
}

enum err snapshot_export_write(struct snapshot_export *d, const struct lane *l, struct trace_reader *trace, FILE *out,
                    struct err_detail *err)
{
    enum err e = snapshot_export_check(d, l, err);
    if (e != ERR_OK)
        return e;
    const uint32_t n_stacks = trace_info(trace)->n_stacks;
    struct snapshot_pickle p = {.d = d, .trace = trace, .release = d->allocator.release, .has_stacks = n_stacks > 0};
    p.sides = calloc(SIDES_BATCH, sizeof *p.sides);
    p.stack_names = calloc((size_t)n_stacks + 1, sizeof *p.stack_names);
    if (p.sides == NULL || p.stack_names == NULL) {
        e = err_no_memory(err);
    } else {
        e = each_record(&p, note_stack, err);
        p.w = pickle_writer_open(out);
        if (e == ERR_OK)
            e = put_all(&p, err);
        const enum err closed = pickle_writer_close(&p.w, e == ERR_OK ? err : NULL);
        e = e == ERR_OK ? closed : e;
    }
    text_table_free(&p.frames);
    free(p.frame_names);
    free(p.stack_names);
    free(p.sides);
    return e;
}
