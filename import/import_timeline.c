/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Memory timelines of torch.profiler (export_memory_timeline to *.raw.json or *.raw.json.gz): a list of
 *
 *     [time in ns, action, bytes, category]        action 1 was live before, 2 begins, 3 changes its category, 4 ends
 *
 * A timeline has no addresses. The end of a request is that of the youngest one of its size and category: its bytes and
 * its category come out at every moment, its life only as far as that rule holds. A change of category is two entries,
 * of less and of more bytes; the request lives on under its first category.
 * Source: PyTorch, torch/profiler/_memory_profiler.py (export_memory_timeline_raw, Action, _CATEGORY_TO_INDEX).
 */
#include "base/array.h"
#include "base/intern.h"
#include "import/import.h"
#include "import/json_objects.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum action { ACTION_WAS_LIVE = 1, ACTION_BEGINS, ACTION_CHANGES, ACTION_ENDS };
enum { ENTRY_NUMBERS = 4, CATEGORIES = 8 };

/* By PyTorch's number, as the labels of a recording name them (traces/stack_frame.h); details of autograd are
 * temporary. */
static const char *const labels[CATEGORIES] = {
    "parameters category:0", "optimizer state category:0", "inputs category:0", "temporaries category:0",
    "activations category:0", "gradients category:0", "temporaries category:0", NULL,
};

/* Live requests of one size and category, the youngest on top. */
struct live { uint64_t ptr; uint32_t below; };       /* below: index + 1 of the next older one; 0: none */

struct timeline {
    struct input *in;
    struct trace_writer *w;
    struct pair_map tops;                    /* (bytes, category) -> index + 1 of the youngest; 0: none is live */
    struct live *live;
    size_t   n_live, live_room;
    uint32_t unused;                         /* index + 1 of a place in `live` that may be used again */
    uint32_t stacks[CATEGORIES];             /* of the label; 0: not put yet */
    uint64_t n_entries, next_ptr, n_unbegun, n_changes;
    int64_t  first_ns;                       /* of the first entry with a time; 0: none yet */
    uint64_t held_ptr;                       /* the request whose category changes: between its two entries; 0: none */
};

/* ---- what is live ---- */

static enum err push_live(struct timeline *t, uint64_t bytes, uint64_t category, uint64_t ptr, struct err_detail *err)
{
    uint32_t *top = pair_map_find(&t->tops, bytes, category);
    uint32_t at = t->unused;
    if (at == 0) {
        struct live *grown = array_grow(t->live, t->n_live, &t->live_room, sizeof *grown);
        if (grown == NULL || t->n_live == UINT32_MAX - 1)
            return err_no_memory(err);
        t->live = grown;
        at = (uint32_t)++t->n_live;
    } else {
        t->unused = t->live[at - 1].below;
    }
    t->live[at - 1] = (struct live){ .ptr = ptr, .below = top == NULL ? 0 : *top };
    if (top != NULL)
        *top = at;
    else if (!pair_map_add(&t->tops, bytes, category, at))
        return err_no_memory(err);
    return ERR_OK;
}

/* Takes the youngest live request of that size and category; 0: there is none. */
static uint64_t pop_live(struct timeline *t, uint64_t bytes, uint64_t category)
{
    uint32_t *top = pair_map_find(&t->tops, bytes, category);
    if (top == NULL)
        return 0;
    const uint32_t at = *top;
    struct live *l = &t->live[at - 1];
    const uint64_t ptr = l->ptr;
    if (l->below == 0)
        pair_map_remove(&t->tops, bytes, category);
    else
        *top = l->below;
    l->below = t->unused;
    t->unused = at;
    return ptr;
}

/* ---- entries ---- */

static enum err put_request(struct timeline *t, struct trace_record *r, uint64_t category, struct err_detail *err)
{
    enum err e = ERR_OK;
    if (labels[category] != NULL && t->stacks[category] == 0)
        e = trace_put_stack(t->w, &labels[category], 1, &t->stacks[category], err);
    r->kind = EVENT_ALLOC;
    r->ptr = ++t->next_ptr;
    r->stack = t->stacks[category];
    if (e == ERR_OK)
        e = push_live(t, r->bytes, category, r->ptr, err);
    return e == ERR_OK ? trace_put(t->w, r, err) : e;
}

/* Less bytes, then more bytes of another category. */
static enum err change_category(struct timeline *t, int64_t bytes, uint64_t category, struct err_detail *err)
{
    t->n_changes += bytes > 0;
    if (bytes < 0) {
        t->held_ptr = pop_live(t, 0 - (uint64_t)bytes, category);
        return ERR_OK;
    }
    const uint64_t ptr = t->held_ptr;
    t->held_ptr = 0;
    return ptr == 0 ? ERR_OK : push_live(t, (uint64_t)bytes, category, ptr, err);
}

static enum err take_entry(struct timeline *t, const int64_t numbers[ENTRY_NUMBERS], struct err_detail *err)
{
    const int64_t time = numbers[0], bytes = numbers[2];
    const uint64_t category = numbers[3] >= 0 && numbers[3] < CATEGORIES ? (uint64_t)numbers[3] : CATEGORIES - 1;
    if (t->first_ns == 0 && time > 0)
        t->first_ns = time;
    struct trace_record r = { .time_ns = time > t->first_ns ? (uint64_t)(time - t->first_ns) : 0,
                              .record = t->n_entries++, .bytes = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes };
    if (bytes == 0)
        return ERR_OK;
    switch (numbers[1]) {
    case ACTION_WAS_LIVE:
    case ACTION_BEGINS:
        return put_request(t, &r, category, err);
    case ACTION_CHANGES:
        return change_category(t, bytes, category, err);
    case ACTION_ENDS:
        r.kind = EVENT_FREE;
        r.ptr = pop_live(t, r.bytes, category);
        t->n_unbegun += r.ptr == 0;
        return r.ptr == 0 ? ERR_OK : trace_put(t->w, &r, err);
    default:
        return err_at(err, ERR_FORMAT, r.record, input_name(t->in), "entry %" PRIu64 ": %" PRId64 " is not an action "
                      "of a memory timeline (1 to 4)", r.record, numbers[1]);
    }
}

static enum err read_entry(struct timeline *t, const char *text, size_t n, struct err_detail *err)
{
    int64_t numbers[ENTRY_NUMBERS];
    json_t *entry;
    const enum err e = json_objects_load(t->in, text, n, &entry, err);
    if (e != ERR_OK)
        return e;
    bool is_entry = json_array_size(entry) == ENTRY_NUMBERS;
    for (size_t i = 0; i < ENTRY_NUMBERS && is_entry; i++) {
        const json_t *number = json_array_get(entry, i);
        is_entry = json_is_number(number) && json_number_value(number) > -0x1p62 && json_number_value(number) < 0x1p62;
        if (is_entry)                        /* no other double fits into an integer */
            numbers[i] = json_is_integer(number) ? (int64_t)json_integer_value(number)
                                                 : (int64_t)json_number_value(number);
    }
    json_decref(entry);
    if (!is_entry)
        return err_at(err, ERR_FORMAT, input_offset(t->in), input_name(t->in), "byte %" PRIu64 ": not an entry of a "
                      "memory timeline, which has four numbers", input_offset(t->in) - n);
    return take_entry(t, numbers, err);
}

static enum err read_entries(struct timeline *t, const struct import_config *cfg, struct err_detail *err)
{
    const char *text;
    size_t n = 1;
    enum err e = json_lists_begin(t->in, err);
    while (e == ERR_OK && n > 0) {
        e = json_lists_next(t->in, &text, &n, err);
        if (e == ERR_OK && n > 0)
            e = read_entry(t, text, n, err);
        if (cfg->progress != NULL)
            cfg->progress(cfg->progress_arg, input_raw_offset(t->in), input_raw_size(t->in));
    }
    if (e == ERR_FORMAT && t->n_entries == 0)
        return err_at(err, ERR_FORMAT, 0, input_name(t->in), "is not a list of entries of four numbers; a timeline "
                      "written as *.json holds sums alone: let export_memory_timeline write *.raw.json.gz");
    return e;
}

static enum err put_notes(const struct timeline *t, struct err_detail *err)
{
    char notes[512] = "lives are inferred: an end is that of the youngest request of its size and category\n"
                      "what was live before the first event is requested at the beginning\n"
                      "not recorded: addresses, streams, call stacks, the device, the allocator's figures";
    const size_t used = strlen(notes);
    if (t->n_unbegun > 0)
        snprintf(notes + used, sizeof notes - used, "\nends of requests that the timeline does not begin, "
                 "left out: %" PRIu64,
                 t->n_unbegun);
    return trace_put_meta(t->w, "notes", notes, err);
}

static enum err timeline_import(struct input *in, const struct import_config *cfg, struct trace_writer *w,
                                struct err_detail *err)
{
    struct timeline t = { .in = in, .w = w, .tops = { .seed = hash_seed() } };
    enum err e = trace_put_meta(w, "source", importer_timeline.name, err);
    if (e == ERR_OK)
        e = read_entries(&t, cfg, err);
    trace_writer_info(w)->records = t.n_entries;
    trace_writer_info(w)->epoch_us = (uint64_t)t.first_ns / 1000;
    if (e == ERR_OK && t.n_entries == 0)
        e = err_at(err, ERR_UNSUPPORTED, 0, input_name(in), "the memory timeline is empty");
    if (e == ERR_OK)
        e = put_notes(&t, err);
    pair_map_free(&t.tops);
    free(t.live);
    return e;
}

/* The list begins with a list. */
static bool timeline_sniff(const unsigned char *head, size_t n)
{
    size_t depth = 0;
    for (size_t i = 0; i < n && depth < 2; i++) {
        if (head[i] == '[')
            depth++;
        else if (strchr(" \t\r\n", head[i]) == NULL || head[i] == '\0')
            return false;
    }
    return depth == 2;
}

const struct importer importer_timeline = {
    .name = "torch-timeline",
    .summary = "a memory timeline of torch.profiler (export_memory_timeline to *.raw.json or *.raw.json.gz)",
    .sniff = timeline_sniff,
    .import = timeline_import,
};
