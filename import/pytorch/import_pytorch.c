/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Imports PyTorch memory snapshots: pickles of torch.cuda.memory._snapshot() and the HTML pages made of them.
 *
 *     pickle.c -> snapshot.c   -> pytorch_walk.c      -> this file
 *     values      tables          state before the       start state, then one event per record
 *                                 first record
 */
#include "base/array.h"
#include "import/import.h"

#include "base/units.h"
#include "import/pytorch/frame_platform.h"
#include "import/pytorch/html.h"
#include "import/pytorch/pytorch_walk.h"
#include "import/pytorch/snapshot.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTES_BYTES = 8192, LINE_BYTES = 512, FRAME_BYTES = 4096 };
enum { STATE_RECORDS = 1 };           /* _record_memory_history("state") keeps only the last record */

/* A run of completed frees, and the request that waited for them. */
struct completed_run {
    uint32_t end;                     /* the first record after the run */
    uint32_t request;                 /* record of the request that may have waited; UINT32_MAX: none */
    bool     has_waited;              /* it waited even for frees that were completed at once, as far as records tell */
};

struct pytorch_import {
    struct snapshot *s;
    struct walk *w;
    struct trace_writer *out;
    uint32_t *stack_of;               /* by the snapshot's stack: the trace's; 0 = not put yet */
    uint32_t *frame_of;               /* by the snapshot's frame: the trace's + 1; 0 = not put yet */
    uint32_t *frames;                 /* one stack's */
    size_t frames_room;
    uint32_t *held;                   /* completed frees, to be put after the request that waited for them */
    size_t n_held, held_room;
    uint32_t held_until;              /* record of that request; UINT32_MAX: none */
    struct completed_run completed;   /* the run looked at last */
    size_t next_free_run;             /* index of the first of walk.free_runs that is not put yet */
    uint32_t *start_rows;             /* by index into walk.start: number of the segment in the trace */
    bool without_stacks;
    const char *ends;                /* NULL: nobody saw it */
    const char *capability;          /* "8.6"; NULL: not known */
    uint64_t capacity_bytes;         /* 0: not known */
    bool has_epoch;
    char notes[NOTES_BYTES];
    size_t n_notes;
};

/* ---- facts ---- */

#define OTHERS_TEXT "the page holds %" PRIu32 " more snapshots; only the first is read"

/* The newest release that writes files of this layout. */
static const char *snapshot_profile(const struct snapshot *s)
{
    const unsigned parts = s->signs & ((1u << TORCH_LAYOUTS) - 1);
    return torch_release_name(torch_release_of_layout(parts));
}

static void note(struct pytorch_import *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Adds a line to the notes. */
static void note(struct pytorch_import *p, const char *fmt, ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    const size_t room = sizeof p->notes - p->n_notes;
    const int n = snprintf(p->notes + p->n_notes, room, "%s%s", p->n_notes > 0 ? "\n" : "", line);
    if (n > 0 && (size_t)n < room)
        p->n_notes += (size_t)n;
}

static void note_start(struct pytorch_import *p)
{
    const struct walk *w = p->w;
    char bytes[UNITS_TEXT], held[UNITS_TEXT];
    uint64_t live = 0, n_live = 0;
    for (size_t i = 0; i < w->n_blocks; i++) {
        live += w->blocks[i].is_dropped ? 0 : w->blocks[i].requested;
        n_live += !w->blocks[i].is_dropped;
    }
    if (n_live == 0 && w->start.n == 0)
        return;
    note(p, "starts in mid-run: %" PRIu64 " blocks (%s requested) were live and %zu segments (%s) were reserved before "
         "the first record", n_live, units_format_bytes(live, bytes), w->start.n,
         units_format_bytes(w->start_reserved, held));
    if (w->guessed_bytes > 0)
        note(p, "start state: %s of %s (%.3g %%) rest on guesses: the recording does not tell whether they belong to "
             "the block before them", units_format_bytes(w->guessed_bytes, bytes),
             units_format_bytes(w->start_reserved, held),
             w->start_reserved == 0 ? 100 : 100.0 * (double)w->guessed_bytes / (double)w->start_reserved);
}

static void note_contradictions(struct pytorch_import *p)
{
    const struct walk *w = p->w;
    char bytes[UNITS_TEXT];
    if (p->s->in_no_block > 0)
        note(p, TRACE_NOTE_CONTRADICTION "%s of the final segments lie in none of their blocks",
             units_format_bytes(p->s->in_no_block, bytes));
    if (w->outside.n > 0)
        note(p, TRACE_NOTE_CONTRADICTION "record %" PRIu64 ": the address 0x%" PRIx64 " lies in no segment of the "
             "snapshot (%" PRIu64 " such blocks in all); the recorded placements cannot be followed", w->outside.first,
             w->n > 0 ? w->records[w->outside.first].addr : 0, w->outside.n);
    if (w->segments.n > 0)
        note(p, TRACE_NOTE_CONTRADICTION "record %" PRIu64 ": a segment that does not fit the others at 0x%" PRIx64
             " (%" PRIu64 " such records in all)", w->segments.first, w->records[w->segments.first].addr,
             w->segments.n);
    if (w->n_unmatched_final > 0)
        note(p, TRACE_NOTE_CONTRADICTION "%" PRIu64 " blocks of the final state are others than the records leave, or "
             "are newer than the last record", w->n_unmatched_final);
    if (w->n_unknown_actions > 0)
        note(p, "%" PRIu64 " records of an unknown action were skipped", w->n_unknown_actions);
    if (w->n_undecided_free_runs > 0)
        note(p, "%" PRIu64 " times segments were given back either by the program's empty_cache or by the allocator: "
             "the recording does not tell; --given-back program|allocator decides", w->n_undecided_free_runs);
}

/* The time of day may be set while a program is recorded; then no time tells how long anything took. Less than a second
 * is what threads differ by. */
static void note_clock(struct pytorch_import *p)
{
    enum { NOTED_US = 1000000 };
    const struct snapshot_record *r = p->w->records;
    uint32_t latest = 0, first = 0;
    uint64_t n = 0;
    for (uint32_t i = 1; i < p->w->n; i++)
        if (r[i].time_us >= r[latest].time_us)
            latest = i;
        else if (r[i].time_us > 0 && (uint64_t)r[latest].time_us - (uint64_t)r[i].time_us >= NOTED_US && n++ == 0)
            first = i;
    if (n > 0)
        note(p, "the clock was set back before record %" PRIu32 ": the times of %" PRIu64 " records go back, and were "
             "taken for the latest before them", first, n);
}

static void note_layout(struct pytorch_import *p)
{
    const unsigned signs = p->s->signs;
    if ((signs & SIGN_TIME) == 0 && p->w->n > 0)
        note(p, "no times: the release that wrote the file recorded none");
    if ((signs & SIGN_SETTINGS) == 0 && !p->s->is_host)
        note(p, "no settings: the release that wrote the file recorded none; the defaults are assumed");
    if ((signs & (SIGN_SETTINGS | SIGN_BLOCK_ADDRESS)) == 0)
        note(p, "releases up to 2.0 record no free of a block that is older than the recording");
    if ((signs & SIGN_POOL_ID) == 0 && p->s->n_pools > 1)
        note(p, "the pools of blocks whose segment was freed are not recorded; the default pool is assumed");
    if (p->s->n_others > 0)
        note(p, OTHERS_TEXT, p->s->n_others);
    if (p->s->is_host)
        note(p, "memory of the host, page-locked; sizes are those of blocks, as its cache rounds them");
    if (p->s->n_host_records > 0 && !p->s->is_host)
        note(p, "page-locked host memory has %" PRIu32 " records of its own: --from pytorch-snapshot:"
                SNAPSHOT_HOST " takes them",
             p->s->n_host_records);
    if (p->w->is_npu)
        note(p, "block sizes follow another vendor's rule: request + 32 bytes, rounded up to 512");
}

/* What was held at most is under the limit; none if the refusals contradict that. */
static bool has_limit(const struct pytorch_import *p, const struct walk_room *room)
{
    return room->limit_below > 0 && !p->s->is_host && room->bytes < room->limit_below;
}

/* Notes what was refused, and what this tells about the device. */
static void note_room(struct pytorch_import *p, const struct walk_room *room)
{
    char asked[UNITS_TEXT], held[UNITS_TEXT], left[UNITS_TEXT];
    if (room->n_refused > 0) {
        const struct snapshot_record *r = &p->w->records[room->first_refused];
        note(p, "out of memory at record %" PRIu32 ": %s asked for, %s reserved, %s free on the device (%" PRIu64
             " such records in all)", room->first_refused, units_format_bytes(r->size, asked),
             units_format_bytes(room->first_held, held), units_format_bytes(r->addr, left), room->n_refused);
    }
    const bool is_known = room->is_all || has_limit(p, room);
    if (is_known)
        note(p, "the device's capacity is what was reserved plus free at a refusal: without contexts and other "
             "processes");
    note(p, "not recorded: %sa memory fraction, calls of empty_cache that freed no segment",
         is_known || p->capacity_bytes > 0 ? "" : "the device's capacity, ");
}

static enum err put_limit(struct pytorch_import *p, const struct walk_room *room, struct err_detail *err)
{
    char text[LINE_BYTES];
    if (!has_limit(p, room))
        return ERR_OK;
    snprintf(text, sizeof text, TRACE_LIMIT_TEXT, room->bytes, room->limit_below, room->limit_card);
    return trace_put_meta(p->out, TRACE_META_LIMIT, text, err);
}

static enum err put_settings(struct pytorch_import *p, struct err_detail *err)
{
    const struct snapshot_settings *t = &p->s->settings;
    char text[LINE_BYTES];
    size_t n = 0;
    const char *conf = pickle_string(p->s->pickle, t->conf, &n);
    if (!t->is_known)
        return ERR_OK;
    enum err e = conf == NULL || n >= NOTES_BYTES ? ERR_OK : trace_put_meta(p->out, "conf", conf, err);
    snprintf(text, sizeof text, "%" PRId64, t->max_split_size);
    if (e == ERR_OK)
        e = trace_put_meta(p->out, "max_split_size", text, err);
    snprintf(text, sizeof text, "%.17g", t->gc_threshold);
    if (e == ERR_OK)
        e = trace_put_meta(p->out, "garbage_collection_threshold", text, err);
    if (e == ERR_OK)
        e = trace_put_meta(p->out, "expandable_segments", t->is_expandable ? "True" : "False", err);
    size_t used = 0;
    for (int k = 0; k < ROUNDUP_CLASSES; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d:%" PRIu64, k == 0 ? "" : ",", 1 << k,
                                 t->roundup[k] < 65536 ? t->roundup[k] : 0);
    return e == ERR_OK ? trace_put_meta(p->out, "roundup_power2_divisions", text, err) : e;
}

/* What the settings, or the first path that tells, say of the platform; NULL: nothing does. */
static const char *find_platform(const struct snapshot *s)
{
    const char *word = s->settings.is_xpu ? "xpu" : NULL;
    for (uint32_t i = 0; i < (uint32_t)s->n_frames && word == NULL; i++)
        word = frame_platform_word(snapshot_text(s, s->frames[i].file));
    return word;
}

static enum err put_facts(struct pytorch_import *p, struct err_detail *err)
{
    struct trace_info *info = trace_writer_info(p->out);
    const struct walk *w = p->w;
    const struct walk_room room = walk_room(w);
    info->capacity_bytes = has_limit(p, &room) ? room.limit_card : room.is_all ? room.bytes : p->capacity_bytes;
    info->records = w->n;
    info->device = w->device;
    info->recorded_start_reserved_bytes = w->start_reserved;
    info->recorded_peak_reserved_bytes = w->peak_reserved;
    info->recorded_peak_allocated_bytes = w->peak_requested;
    info->recorded_end_reserved_bytes = segment_set_bytes(&w->final);
    info->recorded_end_segments = w->final.n;
    info->epoch_us = w->n > 0 && w->records[0].time_us > 0 ? (uint64_t)w->records[0].time_us : 0;
    note_start(p);
    note_contradictions(p);
    note_clock(p);
    note_layout(p);
    note_room(p, &room);
    if (p->s->settings.is_xpu)
        note(p, "of an XPU, read as PyTorch's source lays it out and not compared with a card's: its allocator is "
             "taken for CUDA's");
    enum err e = trace_put_meta(p->out, "source", p->s->is_host ? "pytorch-snapshot:host" : importer_pytorch.name, err);
    if (e == ERR_OK && !p->s->is_host)
        e = trace_put_meta(p->out, TRACE_META_RELEASE, w->is_npu ? "npu" : snapshot_profile(p->s), err);
    const char *platform = find_platform(p->s);
    if (e == ERR_OK && platform != NULL)
        e = trace_put_meta(p->out, TRACE_META_PLATFORM, platform, err);
    if (e == ERR_OK && p->capability != NULL)
        e = trace_put_meta(p->out, TRACE_META_CAPABILITY, p->capability, err);
    if (e == ERR_OK)
        e = put_limit(p, &room, err);
    if (e == ERR_OK && w->n_forgotten > 0)
        e = trace_put_meta(p->out, TRACE_META_BEGINS, TRACE_CUT, err);
    if (e == ERR_OK && p->ends != NULL)
        e = trace_put_meta(p->out, TRACE_META_ENDS, p->ends, err);
    if (e == ERR_OK && !p->s->is_host)
        e = put_settings(p, err);
    return e == ERR_OK ? trace_put_meta(p->out, "notes", p->notes, err) : e;
}

static int handle_order(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Guesses PyTorch's own numbers of the streams, which are not recorded: PyTorch gives them out in order, and handles
 * mostly ascend in the same order (c10/cuda/CUDAStream.cpp, streams of normal priority). */
static enum err put_stream_numbers(struct pytorch_import *p, struct err_detail *err)
{
    const struct snapshot *s = p->s;
    const bool is_old = strcmp(snapshot_profile(s), "2.0") == 0;
    uint64_t *handles = malloc((s->n_streams + 1) * sizeof *handles);
    bool *is_used = calloc(s->n_streams + 1, sizeof *is_used);
    size_t n = 0;
    for (uint32_t i = 0; is_used != NULL && i < p->w->n; i++)
        is_used[p->w->records[i].stream] = true;
    for (size_t i = 0; is_used != NULL && i < p->w->start.n; i++)
        is_used[p->w->start.at[i].stream] = true;
    for (size_t i = 0; handles != NULL && is_used != NULL && i < s->n_streams; i++)
        if (is_used[i] && s->streams[i] != 0)
            handles[n++] = s->streams[i];
    enum err e = handles != NULL && is_used != NULL ? ERR_OK : err_no_memory(err);
    if (n > 0)
        qsort(handles, n, sizeof *handles, handle_order);
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        e = trace_put_stream_number(p->out, handles[i], is_old ? i % 32 * 8 + 1 : i % 32 * 32 + 3, err);
    free(handles);
    free(is_used);
    return e;
}

/* ---- the start ---- */

static enum err put_start_segment(struct pytorch_import *p, const struct reserved_segment *st, struct err_detail *err)
{
    const struct trace_segment row = {.addr = st->addr, .bytes = st->bytes, .is_small = st->is_small,
                                      .is_range = st->is_range};
    return trace_put_start_segment(p->out, &row, p->s->streams[st->stream], p->s->pools[st->pool], err);
}

/* Puts the segments, and among them the beginnings of ranges that are not mapped there. */
static enum err put_start_segments(struct pytorch_import *p, struct err_detail *err)
{
    const struct segment_set *start = &p->w->start, *ranges = &p->w->range_starts;
    size_t next = 0;
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < start->n; i++) {
        for (; e == ERR_OK && next < ranges->n && ranges->at[next].addr < start->at[i].addr; next++)
            e = put_start_segment(p, &ranges->at[next], err);
        if (e == ERR_OK)
            e = put_start_segment(p, &start->at[i], err);
        p->start_rows[i] = (uint32_t)(i + next);
    }
    return e;
}

static enum err put_start_used(struct pytorch_import *p, const struct walk_block *b, struct err_detail *err)
{
    const bool is_placed = b->segment != UINT32_MAX;
    const struct trace_block row = {
        .addr = b->addr, .bytes = is_placed ? b->bytes : 0, .requested = b->requested,
        .segment = is_placed ? p->start_rows[b->segment] : UINT32_MAX,
        .is_pending = b->is_pending, .is_size_guessed = b->is_guessed || !is_placed};
    return trace_put_start_block(p->out, &row, !b->is_pending, p->s->streams[b->stream], p->s->pools[b->pool], err);
}

static enum err put_start_free(struct pytorch_import *p, uint32_t segment, uint64_t from, uint64_t to,
                               struct err_detail *err)
{
    const struct reserved_segment *st = &p->w->start.at[segment];
    const struct trace_block row = {.addr = from, .bytes = to - from, .segment = p->start_rows[segment]};
    if (from >= to)
        return ERR_OK;
    return trace_put_start_block(p->out, &row, false, p->s->streams[st->stream], p->s->pools[st->pool], err);
}

/* Puts the blocks below address `end` that lie in no segment. */
static enum err put_start_strays(struct pytorch_import *p, size_t *next, uint64_t end, struct err_detail *err)
{
    const struct walk *w = p->w;
    enum err e = ERR_OK;
    for (; e == ERR_OK && *next < w->n_blocks && w->blocks[*next].addr < end; ++*next)
        if (!w->blocks[*next].is_dropped)
            e = put_start_used(p, &w->blocks[*next], err);
    return e;
}

/* Puts all blocks by address: used blocks as rebuilt, free blocks as the gaps between them. */
static enum err put_start_blocks(struct pytorch_import *p, struct err_detail *err)
{
    const struct walk *w = p->w;
    size_t next = 0;
    enum err e = ERR_OK;
    for (uint32_t k = 0; e == ERR_OK && k < w->start.n; k++) {
        const uint64_t begin = w->start.at[k].addr, end = begin + w->start.at[k].bytes;
        uint64_t at = begin;
        e = put_start_strays(p, &next, begin, err);
        for (; e == ERR_OK && next < w->n_blocks && w->blocks[next].addr < end; next++) {
            const struct walk_block *b = &w->blocks[next];
            if (b->is_dropped)
                continue;
            e = put_start_free(p, k, at, b->addr, err);
            if (e == ERR_OK)
                e = put_start_used(p, b, err);
            at = b->segment == UINT32_MAX ? end : b->addr + b->bytes;
        }
        if (e == ERR_OK)
            e = put_start_free(p, k, at, end, err);
    }
    return e == ERR_OK ? put_start_strays(p, &next, UINT64_MAX, err) : e;
}

/* ---- stacks ---- */

/* The trace's number of a stack frame of the snapshot; the first use puts it into the trace. */
static enum err frame_number(struct pytorch_import *p, uint32_t frame, uint32_t *out, struct err_detail *err)
{
    if (p->frame_of[frame] == 0) {
        char text[2 * FRAME_BYTES + UNITS_TEXT];
        uint32_t number;
        const struct snapshot_frame *f = &p->s->frames[frame];
        snprintf(text, sizeof text, "%.*s %.*s:%" PRIu32, FRAME_BYTES, snapshot_text(p->s, f->name), FRAME_BYTES,
                 snapshot_text(p->s, f->file), f->line);
        text[FRAME_BYTES - 1] = '\0';
        const enum err e = trace_put_frame(p->out, text, &number, err);
        if (e != ERR_OK)
            return e;
        p->frame_of[frame] = number + 1;
    }
    *out = p->frame_of[frame] - 1;
    return ERR_OK;
}

/* The trace's number of a stack of the snapshot; the first use puts it into the trace. */
static enum err stack_number(struct pytorch_import *p, uint32_t stack, uint32_t *out, struct err_detail *err)
{
    const struct stack_table *t = &p->s->stacks;
    if (stack == 0 || p->without_stacks || p->stack_of[stack] != 0) {
        *out = stack == 0 || p->without_stacks ? TRACE_NO_STACK : p->stack_of[stack];
        return ERR_OK;
    }
    size_t n = 0;
    for (uint32_t node = t->stack[stack - 1]; node != 0; node = t->node[node - 1].caller) {
        uint32_t *frames = array_grow(p->frames, n, &p->frames_room, sizeof *frames);
        if (frames == NULL)
            return err_no_memory(err);
        p->frames = frames;
        const enum err e = frame_number(p, t->node[node - 1].text, &p->frames[n++], err);
        if (e != ERR_OK)
            return e;
    }
    const enum err e = trace_put_stack_of(p->out, p->frames, n, &p->stack_of[stack], err);
    *out = p->stack_of[stack];
    return e;
}

/* ---- records ---- */

static uint64_t record_time_ns(const struct walk *w, const struct snapshot_record *r)
{
    const int64_t first = w->records[0].time_us;
    if (r->time_us <= first || r->time_us < 0)
        return 0;
    const uint64_t us = (uint64_t)r->time_us - (uint64_t)first;
    return us > UINT64_MAX / 1000 ? UINT64_MAX : us * 1000;
}

/* Sets the wall clock of time 0 at the first event, which need not be the first record. */
static void note_epoch(struct pytorch_import *p, uint32_t record)
{
    const int64_t time_us = p->w->records[record].time_us;
    if (!p->has_epoch)
        trace_writer_info(p->out)->epoch_us = time_us > 0 ? (uint64_t)time_us : 0;
    p->has_epoch = true;
}

static enum err put_segment_record(struct pytorch_import *p, uint32_t i, struct err_detail *err)
{
    static const enum trace_segment_kind kinds[] = {
        [ACTION_SEGMENT_ALLOC] = TRACE_SEGMENT_ALLOC, [ACTION_SEGMENT_FREE] = TRACE_SEGMENT_FREE,
        [ACTION_SEGMENT_MAP] = TRACE_SEGMENT_MAP, [ACTION_SEGMENT_UNMAP] = TRACE_SEGMENT_UNMAP};
    const struct snapshot_record *r = &p->w->records[i];
    return trace_put_segment_event(p->out, kinds[r->action], r->addr, r->size, p->s->streams[r->stream],
                                   p->s->pools[r->pool == SNAPSHOT_NO_POOL ? 0 : r->pool], i, err);
}

/* Puts a record as an event. */
static enum err put_event(struct pytorch_import *p, uint32_t i, enum event_kind kind, struct err_detail *err)
{
    static const enum control_kind controls[ACTION_KINDS] = {
        [ACTION_SNAPSHOT] = CONTROL_SNAPSHOT, [ACTION_CAPTURE_BEGIN] = CONTROL_CAPTURE_BEGIN,
        [ACTION_CAPTURE_END] = CONTROL_CAPTURE_END};
    const struct snapshot_record *r = &p->w->records[i];
    const uint64_t *pool = p->s->pools[r->pool == SNAPSHOT_NO_POOL ? 0 : r->pool];
    struct trace_record out = {
        .kind = kind, .time_ns = record_time_ns(p->w, r), .ptr = r->addr, .bytes = r->size,
        .stream = p->s->streams[r->stream], .pool = {pool[0], pool[1]}, .record = i, .addr = r->addr,
        .control.kind = (uint8_t)controls[r->action]};
    note_epoch(p, i);
    const enum err e = stack_number(p, r->stack, &out.stack, err);
    return e != ERR_OK ? e : trace_put(p->out, &out, err);
}

/* Puts a record. OOM and segment records of 0 bytes say nothing and are left out. */
static enum err put_record(struct pytorch_import *p, uint32_t i, struct err_detail *err)
{
    const struct walk *w = p->w;
    switch (w->records[i].action) {
    case ACTION_ALLOC:
        return put_event(p, i, EVENT_ALLOC, err);
    case ACTION_FREE_REQUESTED:
        return put_event(p, i, EVENT_FREE_REQUESTED, err);
    case ACTION_FREE_COMPLETED:
        return put_event(p, i, w->has_requests_of_frees ? EVENT_FREE_COMPLETED : EVENT_FREE, err);
    case ACTION_SEGMENT_ALLOC:
    case ACTION_SEGMENT_FREE:
    case ACTION_SEGMENT_MAP:
    case ACTION_SEGMENT_UNMAP:
        return w->records[i].size == 0 ? ERR_OK : put_segment_record(p, i, err);
    case ACTION_OOM:
        return w->records[i].size == 0 ? ERR_OK : put_event(p, i, EVENT_OOM, err);
    case ACTION_SNAPSHOT:
    case ACTION_CAPTURE_BEGIN:
    case ACTION_CAPTURE_END:
        return put_event(p, i, EVENT_CONTROL, err);
    default:
        return ERR_OK;
    }
}

/* Puts who gave a run of segments back: a FLUSH, a dropped pool, or nothing if it was the allocator. Each graph of a
 * pool that held it must be gone. */
static enum err put_free_run(struct pytorch_import *p, const struct free_run *run, struct err_detail *err)
{
    const uint64_t *pool = p->s->pools[run->pool];
    const uint32_t n_captures = p->w->captures[run->pool];
    const bool is_graph = pool[0] != 0 || n_captures > 0;
    enum err e = ERR_OK;
    const struct trace_record out = {
        .kind = run->reading == FREED_WITH_POOL ? EVENT_CONTROL : EVENT_FLUSH,
        .time_ns = record_time_ns(p->w, &p->w->records[run->record]), .pool = {pool[0], pool[1]},
        .record = run->record, .control.kind = is_graph ? CONTROL_GRAPH_RESET : CONTROL_POOL_DROP};
    if (run->reading == FREED_BY_ALLOCATOR)
        return ERR_OK;
    note_epoch(p, run->record);
    for (uint32_t i = 1; e == ERR_OK && i < n_captures && run->reading == FREED_WITH_POOL; i++)
        e = trace_put(p->out, &out, err);
    return e == ERR_OK ? trace_put(p->out, &out, err) : e;
}

/* ---- frees that a request waited for ---- */

/* The run of segment frees at record i if it was the allocator's own, else NULL. All runs before it are put. */
static const struct free_run *last_resort(const struct pytorch_import *p, uint32_t i)
{
    if (p->next_free_run == p->w->n_free_runs)
        return NULL;
    const struct free_run *r = &p->w->free_runs[p->next_free_run];
    return r->record == i && r->reading == FREED_BY_ALLOCATOR ? r : NULL;
}

/* Looks what follows the run of completed frees at record i. */
static struct completed_run look_after_run(const struct pytorch_import *p, uint32_t i)
{
    const struct walk *w = p->w;
    const struct snapshot_record *r = w->records;
    while (i < w->n && r[i].action == ACTION_FREE_COMPLETED)
        i++;
    struct completed_run run = {.end = i, .request = UINT32_MAX};
    const struct free_run *freed = last_resort(p, i);
    if (i < w->n && r[i].action == ACTION_OOM)
        run.request = i;
    if (freed == NULL)
        return run;
    run.has_waited = freed->has_waited;
    i = free_run_end(w, i);
    while (i < w->n && (r[i].action == ACTION_SEGMENT_ALLOC || r[i].action == ACTION_SEGMENT_MAP))
        i++;
    if (i < w->n && (r[i].action == ACTION_ALLOC || r[i].action == ACTION_OOM))
        run.request = i;
    return run;
}

/*
 * The record of the request that waited for the free completed at record i; UINT32_MAX: none did.
 *
 * A request that finds neither a block nor memory waits for all streams, frees idle segments and asks the device again,
 * but does not search its pool again (PyTorch, CUDACachingAllocator.cpp, DeviceCachingAllocator::malloc). The frees it
 * waited for are recorded before it, yet its search did not see them. So the importer puts them after the request:
 *
 *     recorded   free completed, segment_free, segment_alloc, alloc
 *     put        segment_free, segment_alloc, alloc, free completed
 *
 * With garbage collection, segments may have been freed without a wait, and the recorded order stays.
 */
static uint32_t find_waiting_request(struct pytorch_import *p, uint32_t i)
{
    const struct snapshot_record *r = p->w->records;
    const bool is_at_once = i > 0 && r[i - 1].action == ACTION_FREE_REQUESTED && r[i - 1].addr == r[i].addr;
    if (p->s->settings.gc_threshold > 0 || !p->w->has_requests_of_frees)
        return UINT32_MAX;
    if (i >= p->completed.end)
        p->completed = look_after_run(p, i);
    return is_at_once && !p->completed.has_waited ? UINT32_MAX : p->completed.request;
}

/* Holds back the free completed at record i if a request waited for it; *is_held says so. */
static enum err hold_back(struct pytorch_import *p, uint32_t i, bool *is_held, struct err_detail *err)
{
    *is_held = false;
    if (p->w->records[i].action != ACTION_FREE_COMPLETED)
        return ERR_OK;
    if (p->held_until == UINT32_MAX)
        p->held_until = find_waiting_request(p, i);
    if (p->held_until == UINT32_MAX)
        return ERR_OK;
    uint32_t *held = array_grow(p->held, p->n_held, &p->held_room, sizeof *held);
    if (held == NULL)
        return err_no_memory(err);
    p->held = held;
    p->held[p->n_held++] = i;
    *is_held = true;
    return ERR_OK;
}

/* The driver may give the address of a segment that a wait made free to the request that waited: what was live there
 * ends before it, and is not held back any longer. */
static enum err put_held_at(struct pytorch_import *p, uint64_t addr, struct err_detail *err)
{
    enum err e = ERR_OK;
    size_t kept = 0;
    for (size_t i = 0; i < p->n_held; i++) {
        const bool is_there = p->w->records[p->held[i]].addr == addr;
        if (is_there && e == ERR_OK)
            e = put_record(p, p->held[i], err);
        else
            p->held[kept++] = p->held[i];
    }
    p->n_held = kept;
    return e;
}

static enum err put_held(struct pytorch_import *p, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < p->n_held; i++)
        e = put_record(p, p->held[i], err);
    p->n_held = 0;
    p->held_until = UINT32_MAX;
    return e;
}

/* Puts all records in order, except that frees which a request waited for come after that request. */
static enum err put_records(struct pytorch_import *p, struct err_detail *err)
{
    const struct walk *w = p->w;
    enum err e = ERR_OK;
    for (uint32_t i = 0; e == ERR_OK && i < w->n; i++) {
        bool is_held = false;
        for (; e == ERR_OK && p->next_free_run < w->n_free_runs && w->free_runs[p->next_free_run].record == i;
             p->next_free_run++)
            e = put_free_run(p, &w->free_runs[p->next_free_run], err);
        if (e == ERR_OK)
            e = hold_back(p, i, &is_held, err);
        if (e == ERR_OK && i == p->held_until && w->records[i].action == ACTION_ALLOC)
            e = put_held_at(p, w->records[i].addr, err);
        if (e == ERR_OK && !is_held)
            e = put_record(p, i, err);
        if (e == ERR_OK && i == p->held_until)
            e = put_held(p, err);
    }
    assert(e != ERR_OK || (p->n_held == 0 && p->next_free_run == w->n_free_runs));
    return e;
}

/* ---- devices ---- */

/* What the final state has of one device. */
struct device_state {
    uint64_t reserved, live, largest_free;               /* bytes */
    uint32_t n_segments, n_live, n_pending;
};

static uint32_t device_records(const struct snapshot *s, size_t device)
{
    return device < s->n_devices ? s->devices[device].n : 0;
}

/* The number of devices: each has a list of records or a segment. */
static uint32_t device_count(const struct snapshot *s)
{
    uint32_t n = (uint32_t)s->n_devices;
    for (uint32_t i = 0; i < s->final_segments.n; i++)
        if (s->segments[s->final_segments.first + i].device >= n)
            n = s->segments[s->final_segments.first + i].device + 1;
    return n;
}

static void device_state_add(struct device_state *d, const struct snapshot *s, const struct snapshot_segment *g)
{
    d->reserved = add_capped(d->reserved, g->size);
    d->n_segments++;
    for (uint32_t k = 0; k < g->n_blocks; k++) {
        const struct snapshot_block *b = &s->blocks[g->first_block + k];
        d->live += b->state == SNAPSHOT_BLOCK_ALLOCATED ? b->size : 0;
        d->n_live += b->state == SNAPSHOT_BLOCK_ALLOCATED;
        d->n_pending += b->state == SNAPSHOT_BLOCK_PENDING;
        if (b->state == SNAPSHOT_BLOCK_INACTIVE && b->size > d->largest_free)
            d->largest_free = b->size;
    }
}

/* The final state device by device, in one pass; to be freed. NULL without memory. */
static struct device_state *device_states(const struct snapshot *s)
{
    struct device_state *states = calloc((size_t)device_count(s) + 1, sizeof *states);
    for (uint32_t i = 0; i < s->final_segments.n && states != NULL; i++) {
        const struct snapshot_segment *g = &s->segments[s->final_segments.first + i];
        device_state_add(&states[g->device], s, g);
    }
    return states;
}

static enum err refuse_state(const struct input *in, const struct snapshot *s, struct err_detail *err)
{
    char text[UNITS_TEXT];
    uint64_t reserved = 0;
    for (uint32_t i = 0; i < s->final_segments.n; i++)
        reserved = add_capped(reserved, s->segments[s->final_segments.first + i].size);
    return err_at(err, ERR_UNSUPPORTED, 0, input_name(in), "holds only a final state (%u segments, %s), which `replay "
                  "info` accounts for, and no events to replay; record them with "
                  "torch.cuda.memory._record_memory_history()", s->final_segments.n,
                  units_format_bytes(reserved, text));
}

/* True if a device has events (or, for a final state, memory); *what says how much. */
static bool device_has(const struct snapshot *s, const struct device_state *states, uint32_t device, bool final_state,
                       char what[UNITS_TEXT])
{
    if (final_state)
        units_format_bytes(states[device].reserved, what);
    else
        snprintf(what, UNITS_TEXT, "%u records", device_records(s, device));
    return final_state ? states[device].n_segments > 0 : device_records(s, device) > STATE_RECORDS;
}

/* The device that is asked for, or the only one that has what is asked for. */
static enum err choose_among(const struct input *in, const struct snapshot *s, const struct device_state *states,
                             const struct import_config *cfg, uint32_t *device, struct err_detail *err)
{
    static const char *const words[2][2] = {{"have events", "has no events; these have"},
                                            {"hold memory", "holds no memory; these do"}};
    char list[128] = "", what[UNITS_TEXT];
    size_t used = 0;
    uint64_t most = 0;
    uint32_t n = 0;
    for (uint32_t d = 0, n_all = device_count(s); d < n_all; d++) {
        if (!device_has(s, states, d, cfg->final_state, what))
            continue;
        const uint64_t has = cfg->final_state ? states[d].reserved : device_records(s, d);
        if (n++ == 0 || (cfg->gpu == IMPORT_GPU_MOST && has > most)) {
            *device = d;
            most = has;
        }
        const int k = snprintf(list + used, sizeof list - used, "%s%u (%s)", used > 0 ? ", " : "", d, what);
        used = k > 0 && (size_t)k < sizeof list - used ? used + (size_t)k : used;
    }
    if (n == 0)
        return !cfg->final_state ? refuse_state(in, s, err)
                                 : err_at(err, ERR_UNSUPPORTED, 0, input_name(in), "its final state holds no memory");
    if (cfg->gpu < 0)
        return n == 1 || cfg->gpu == IMPORT_GPU_MOST
                   ? ERR_OK
                   : err_at(err, ERR_USAGE, 0, input_name(in), "several devices %s: %s; choose one with --gpu",
                            words[cfg->final_state][0], list);
    if (cfg->gpu >= device_count(s) || !device_has(s, states, (uint32_t)cfg->gpu, cfg->final_state, what))
        return err_at(err, ERR_USAGE, 0, input_name(in), "device %" PRId64 " %s: %s", cfg->gpu,
                      words[cfg->final_state][1], list);
    *device = (uint32_t)cfg->gpu;
    return ERR_OK;
}

static enum err choose_device(const struct input *in, const struct snapshot *s, const struct import_config *cfg,
                              uint32_t *device, struct err_detail *err)
{
    struct device_state *states = device_states(s);
    const enum err e = states == NULL ? err_no_memory(err) : choose_among(in, s, states, cfg, device, err);
    free(states);
    return e;
}

/* Leaves only the final state. */
static void forget_records(struct snapshot *s)
{
    for (size_t d = 0; d < s->n_devices; d++)
        s->devices[d].n = 0;
}

/* ---- the importer ---- */

static bool pytorch_sniff(const unsigned char *head, size_t n)
{
    if (n >= 2 && head[0] == 0x80 && head[1] <= 5)
        return true;
    if (n >= 2 && head[0] == '(' && (head[1] == 'd' || head[1] == 'l'))
        return true;
    if (n >= 2 && (head[0] == '}' || head[0] == ']') && memchr("q(.", head[1], 3) != NULL)
        return true;
    return html_sniff(head, n);
}

static enum err pytorch_read(struct input *in, const struct import_config *cfg, struct snapshot **s,
                             struct err_detail *err)
{
    const unsigned char *head;
    size_t n;
    enum err e = input_peek(in, INPUT_PEEK_MAX, &head, &n, err);
    const bool is_page = e == ERR_OK && html_sniff(head, n);
    if (is_page)
        e = html_enter(in, err);
    if (e == ERR_OK)
        e = snapshot_read(in, cfg, s, err);
    if (e != ERR_OK || !is_page)
        return e;
    e = html_count_others(in, &(*s)->n_others, err);
    if (e != ERR_OK)
        snapshot_free(*s);
    return e;
}

static void pytorch_free(struct pytorch_import *p)
{
    free(p->frame_of);
    free(p->frames);
    free(p->held);
    free(p->start_rows);
    free(p->stack_of);
    walk_free(p->w);
    snapshot_free(p->s);
}

static enum err pytorch_write(struct pytorch_import *p, struct err_detail *err)
{
    enum err e = put_facts(p, err);
    if (e == ERR_OK)
        e = put_stream_numbers(p, err);
    if (e == ERR_OK)
        e = put_start_segments(p, err);
    if (e == ERR_OK)
        e = put_start_blocks(p, err);
    return e == ERR_OK ? put_records(p, err) : e;
}

static enum err pytorch_import(struct input *in, const struct import_config *cfg, struct trace_writer *out,
                               struct err_detail *err)
{
    struct pytorch_import p = {.out = out, .held_until = UINT32_MAX, .without_stacks = cfg->without_stacks,
                               .ends = cfg->ends, .capability = cfg->capability,
                               .capacity_bytes = cfg->capacity_bytes};
    uint32_t device = 0;
    enum err e = pytorch_read(in, cfg, &p.s, err);
    if (e != ERR_OK)
        return e;
    e = choose_device(in, p.s, cfg, &device, err);
    if (cfg->final_state)
        forget_records(p.s);
    if (e == ERR_OK)
        e = walk_device(p.s, device, cfg->segment_frees, &p.w, err);
    if (e == ERR_OK) {
        p.stack_of = calloc((size_t)p.s->stacks.n_stacks + 1, sizeof *p.stack_of);
        p.frame_of = calloc(p.s->n_frames + 1, sizeof *p.frame_of);
        p.start_rows = calloc(p.w->start.n + 1, sizeof *p.start_rows);
        e = p.stack_of == NULL || p.frame_of == NULL || p.start_rows == NULL ? err_no_memory(err)
                                                                             : pytorch_write(&p, err);
    }
    pytorch_free(&p);
    return e;
}

/* ---- describe ---- */

struct line_sink {
    void (*line)(void *arg, const char *text);
    void *arg;
};

static void say(const struct line_sink *to, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void say(const struct line_sink *to, const char *fmt, ...)
{
    char text[LINE_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    to->line(to->arg, text);
}

static void say_device(const struct line_sink *to, const struct snapshot *s, const struct device_state *d,
                       uint32_t device)
{
    char reserved[UNITS_TEXT], live[UNITS_TEXT], largest[UNITS_TEXT];
    say(to, "device %u: %u records; final state: %u segments, %s reserved, %u live blocks (%s), %u waiting for streams,"
        " largest free block %s", device, device_records(s, device), d->n_segments,
        units_format_bytes(d->reserved, reserved), d->n_live, units_format_bytes(d->live, live), d->n_pending,
        units_format_bytes(d->largest_free, largest));
}

/* Says how many records each device has and what its final state is. */
static enum err say_devices(const struct line_sink *to, const struct snapshot *s, struct err_detail *err)
{
    struct device_state *states = device_states(s);
    uint32_t n_events = 0;
    if (states == NULL)
        return err_no_memory(err);
    for (uint32_t d = 0, n_all = device_count(s); d < n_all; d++) {
        n_events += device_records(s, d) > STATE_RECORDS;
        if (device_records(s, d) > 0 || states[d].n_segments > 0)
            say_device(to, s, &states[d], d);
    }
    free(states);
    if (n_events == 0)
        say(to, "no events: the final state can be shown but not replayed");
    else if (n_events > 1)
        say(to, "several devices have events: choose one with --gpu");
    return ERR_OK;
}

static enum err pytorch_describe(struct input *in, void (*line)(void *arg, const char *text), void *arg,
                                 struct err_detail *err)
{
    const struct line_sink to = {.line = line, .arg = arg};
    struct snapshot *s = NULL;
    enum err e = pytorch_read(in, NULL, &s, err);
    if (e != ERR_OK)
        return e;
    size_t n = 0;
    const char *conf = pickle_string(s->pickle, s->settings.conf, &n);
    say(&to, "PyTorch memory snapshot%s, layout of release %s", s->is_bare_list ? " (only its list of segments)" : "",
        snapshot_profile(s));
    if (s->n_others > 0)
        say(&to, OTHERS_TEXT, s->n_others);
    if (s->settings.is_known)
        say(&to, "settings: \"%.400s\"", conf == NULL ? "" : conf);
    e = say_devices(&to, s, err);
    snapshot_free(s);
    return e;
}

const struct importer importer_pytorch = {
    .name     = "pytorch-snapshot",
    .summary  = "torch.cuda.memory._dump_snapshot: pickle, or a page of torch.cuda._memory_viz; pytorch-snapshot:host "
                "takes its page-locked host memory",
    .has_final_state = true,
    .sniff    = pytorch_sniff,
    .import   = pytorch_import,
    .describe = pytorch_describe,
};
