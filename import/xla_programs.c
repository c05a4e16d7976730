/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The requests of a compiled program are its buffer allocations that are neither its arguments nor constants: its
 * results, and one for all temporaries. XLA's heap simulator, whose trace is in the profile, says which buffers lie in
 * that one at a time.
 * Source: OpenXLA, xla/service/buffer_assignment.cc (ToProto), xla/service/heap_simulator.cc.
 */
#include "import/xla_programs.h"

#include "base/array.h"
#include "base/units.h"
#include "traces/stack_frame.h"

#include <hlo.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_TEXT = 1024, HEAP_BEGINS = 0, HEAP_ENDS = 1, NAME_SHOWN = 80, OUTLINES_SEEN = 64 };

/* The frames of a stack, innermost first. */
struct chain {
    uint32_t texts[XLA_FRAMES_MOST];
    size_t   n;
};

/* The trace of an allocation after whose first n_events most is live. */
struct highest {
    const ReplayProto__HloHeapTrace *trace;      /* NULL: there is none */
    size_t   n_events;
    uint64_t bytes;
};

/* One program while it is read. */
struct reading {
    struct xla_programs *out;
    const ReplayProto__HloModule *module;
    const ReplayProto__HloBufferAssignment *assigned;
    struct pair_map instructions;    /* id -> stack frame */
    struct pair_map buffers;         /* id -> index in assigned->logical_buffers */
    struct pair_map owners;          /* id of a buffer -> index in assigned->buffer_allocations */
    struct highest *highest;         /* by index in assigned->buffer_allocations */
    uint32_t *frame_texts;           /* by stack frame - 1; UINT32_MAX: it names no line */
    bool      has_memory;
};

/* ---- stacks of Python ---- */

static const char *text_of(char *const *texts, size_t n, int32_t number)
{
    return number > 0 && (size_t)number <= n ? texts[number - 1] : "";
}

static uint32_t frame_text(struct reading *r, const ReplayProto__HloStackFrame *frame)
{
    const ReplayProto__HloStackFrames *all = r->module->stack_frame_index;
    char text[FRAME_TEXT];
    if (frame->file_location_id <= 0 || (size_t)frame->file_location_id > all->n_file_locations)
        return UINT32_MAX;
    const ReplayProto__HloFileLocation *at = all->file_locations[frame->file_location_id - 1];
    const char *file = text_of(all->file_names, all->n_file_names, at->file_name_id);
    if (file[0] == '\0' || at->line <= 0)
        return UINT32_MAX;
    snprintf(text, sizeof text, "%.200s %.700s:%d",
             text_of(all->function_names, all->n_function_names, at->function_name_id), file, at->line);
    const uint32_t id = text_table_put(&r->out->texts, text, strlen(text));
    r->has_memory = r->has_memory && id != UINT32_MAX;
    return id;
}

static void read_frames(struct reading *r)
{
    const ReplayProto__HloStackFrames *all = r->module->stack_frame_index;
    const size_t n = all == NULL ? 0 : all->n_stack_frames;
    r->frame_texts = calloc(n + 1, sizeof *r->frame_texts);
    r->has_memory = r->has_memory && r->frame_texts != NULL;
    for (size_t i = 0; i < n && r->has_memory; i++)
        r->frame_texts[i] = frame_text(r, all->stack_frames[i]);
}

/* The stack that ends in a frame. Frames that go in a circle are cut. */
static struct chain chain_from(const struct reading *r, uint32_t frame)
{
    const ReplayProto__HloStackFrames *all = r->module->stack_frame_index;
    struct chain c = { .n = 0 };
    while (all != NULL && frame > 0 && frame <= all->n_stack_frames && c.n < XLA_FRAMES_MOST) {
        if (r->frame_texts[frame - 1] != UINT32_MAX)
            c.texts[c.n++] = r->frame_texts[frame - 1];
        const int32_t parent = all->stack_frames[frame - 1]->parent_frame_id;
        frame = parent > 0 ? (uint32_t)parent : 0;
    }
    return c;
}

/* Keeps the outermost frames that both have. */
static void chain_meet(struct chain *c, const struct chain *other)
{
    size_t same = 0;
    while (same < c->n && same < other->n && c->texts[c->n - 1 - same] == other->texts[other->n - 1 - same])
        same++;
    memmove(c->texts, c->texts + c->n - same, same * sizeof c->texts[0]);
    c->n = same;
}

static void read_instruction(struct reading *r, const ReplayProto__HloInstruction *instruction, struct chain *shared,
                             bool *has_shared)
{
    const ReplayProto__HloMetadata *m = instruction->metadata;
    const uint32_t frame = m != NULL && m->stack_frame_id > 0 ? (uint32_t)m->stack_frame_id : 0;
    const struct chain c = chain_from(r, frame);
    if (c.n == 0)
        return;
    if (pair_map_find(&r->instructions, (uint64_t)instruction->id, 0) == NULL)
        r->has_memory = r->has_memory && pair_map_add(&r->instructions, (uint64_t)instruction->id, 0, frame);
    if (*has_shared)
        chain_meet(shared, &c);
    else
        *shared = c;
    *has_shared = true;
}

/* The stack that all instructions share: where the program was called when it was compiled, or further in. */
static struct chain read_instructions(struct reading *r)
{
    struct chain shared = { .n = 0 };
    bool has_shared = false;
    for (size_t i = 0; i < r->module->n_computations; i++)
        for (size_t k = 0; k < r->module->computations[i]->n_instructions && r->has_memory; k++)
            read_instruction(r, r->module->computations[i]->instructions[k], &shared, &has_shared);
    return shared;
}

/* ---- buffers ---- */

static void read_buffers(struct reading *r)
{
    for (size_t i = 0; i < r->assigned->n_logical_buffers && r->has_memory; i++) {
        const uint64_t id = (uint64_t)r->assigned->logical_buffers[i]->id;
        if (pair_map_find(&r->buffers, id, 0) == NULL)
            r->has_memory = pair_map_add(&r->buffers, id, 0, (uint32_t)i);
    }
    for (size_t i = 0; i < r->assigned->n_buffer_allocations; i++) {
        const ReplayProto__HloAllocation *a = r->assigned->buffer_allocations[i];
        for (size_t k = 0; k < a->n_assigned && r->has_memory; k++) {
            const uint64_t id = (uint64_t)a->assigned[k]->logical_buffer_id;
            if (pair_map_find(&r->owners, id, 0) == NULL)
                r->has_memory = pair_map_add(&r->owners, id, 0, (uint32_t)i);
        }
    }
}

static const ReplayProto__HloBuffer *buffer_of(const struct reading *r, int64_t id)
{
    const uint32_t *index = pair_map_find(&r->buffers, (uint64_t)id, 0);
    return index == NULL ? NULL : r->assigned->logical_buffers[*index];
}

static struct chain chain_of_buffer(const struct reading *r, const ReplayProto__HloBuffer *b)
{
    const uint32_t *frame = b == NULL || b->defined_at == NULL
                                ? NULL : pair_map_find(&r->instructions, (uint64_t)b->defined_at->instruction_id, 0);
    return chain_from(r, frame == NULL ? 0 : *frame);
}

/* The line of the program in a stack; UINT32_MAX: none. */
static uint32_t line_of(const struct reading *r, const struct chain *c)
{
    const char *texts[XLA_FRAMES_MOST];
    for (size_t i = 0; i < c->n; i++)
        texts[i] = text_table_at(&r->out->texts, c->texts[i]);
    const size_t at = stack_frame_index_of_program(texts, c->n);
    return at < c->n ? c->texts[at] : UINT32_MAX;
}

/* ---- what lies in the temporaries at their peak ---- */

struct peak {
    uint64_t bytes;                  /* of all buffers */
    uint32_t line;                   /* that most of them are of; UINT32_MAX: not known */
    uint64_t line_bytes;
};

static uint64_t size_of(const ReplayProto__HloBuffer *b)
{
    return b != NULL && b->size > 0 && b->size < INT64_MAX / 2 ? (uint64_t)b->size : 0;
}

/* The number of events after which most is live. */
static size_t find_peak(const struct reading *r, const ReplayProto__HloHeapTrace *trace, uint64_t *peak_bytes)
{
    uint64_t live = 0;
    size_t at = 0;
    *peak_bytes = 0;
    for (size_t i = 0; i < trace->n_events; i++) {
        const ReplayProto__HloHeapEvent *e = trace->events[i];
        const uint64_t bytes = size_of(buffer_of(r, e->buffer_id));
        if (e->kind == HEAP_BEGINS)
            live += bytes < INT64_MAX - live ? bytes : 0;
        else if (e->kind == HEAP_ENDS)
            live -= bytes < live ? bytes : live;
        if (live > *peak_bytes) {
            *peak_bytes = live;
            at = i + 1;
        }
    }
    return at;
}

/* Bytes of each line, and of the one that has most. */
struct line_sums {
    struct pair_map index;           /* line -> in bytes */
    uint64_t *bytes;
    size_t    room;
};

static void sums_add(struct reading *r, struct line_sums *s, uint32_t line, uint64_t bytes, struct peak *peak)
{
    const uint32_t *known = pair_map_find(&s->index, line, 0);
    const size_t i = known != NULL ? *known : s->index.n;
    if (known == NULL) {
        uint64_t *grown = array_grow(s->bytes, i, &s->room, sizeof *grown);
        if (grown == NULL || !pair_map_add(&s->index, line, 0, (uint32_t)i)) {
            s->bytes = grown == NULL ? s->bytes : grown;
            r->has_memory = false;
            return;
        }
        s->bytes = grown;
        s->bytes[i] = 0;
    }
    s->bytes[i] += bytes;
    if (line != UINT32_MAX && s->bytes[i] > peak->line_bytes) {
        peak->line = line;
        peak->line_bytes = s->bytes[i];
    }
}

/* Adds what is live after the first n events, each buffer by the line that made it. */
static void sum_lines(struct reading *r, const ReplayProto__HloHeapTrace *trace, size_t n, struct peak *peak)
{
    struct line_sums sums = { .index.seed = hash_seed() };
    struct pair_map ended = { .seed = hash_seed() };
    for (size_t i = n; i > 0 && r->has_memory; i--) {            /* backwards: an end comes before its begin */
        const ReplayProto__HloHeapEvent *e = trace->events[i - 1];
        const uint64_t id = (uint64_t)e->buffer_id;
        const bool has_ended = pair_map_find(&ended, id, 0) != NULL;
        if (e->kind == HEAP_ENDS && !has_ended) {
            r->has_memory = pair_map_add(&ended, id, 0, 0);
        } else if (e->kind == HEAP_BEGINS && !has_ended) {
            const ReplayProto__HloBuffer *b = buffer_of(r, e->buffer_id);
            const struct chain c = chain_of_buffer(r, b);
            sums_add(r, &sums, line_of(r, &c), size_of(b), peak);
        }
    }
    pair_map_free(&ended);
    pair_map_free(&sums.index);
    free(sums.bytes);
}

/* The allocation that the buffers of a trace lie in; NULL: none. The number that a trace has is that of before
 * allocations were combined. */
static const uint32_t *owner_of(const struct reading *r, const ReplayProto__HloHeapTrace *trace)
{
    return trace->n_events == 0 ? NULL : pair_map_find(&r->owners, (uint64_t)trace->events[0]->buffer_id, 0);
}

/* Of each allocation the trace that has most; several may have been combined. */
static void read_traces(struct reading *r)
{
    r->highest = calloc(r->assigned->n_buffer_allocations + 1, sizeof *r->highest);
    r->has_memory = r->has_memory && r->highest != NULL;
    for (size_t k = 0; k < r->assigned->n_heap_simulator_traces && r->has_memory; k++) {
        const ReplayProto__HloHeapTrace *trace = r->assigned->heap_simulator_traces[k];
        const uint32_t *owner = owner_of(r, trace);
        uint64_t bytes = 0;
        const size_t n = owner != NULL ? find_peak(r, trace, &bytes) : 0;
        if (owner != NULL && bytes > r->highest[*owner].bytes)
            r->highest[*owner] = (struct highest){ .trace = trace, .n_events = n, .bytes = bytes };
    }
}

static struct peak peak_of(struct reading *r, size_t i)
{
    const struct highest *h = &r->highest[i];
    struct peak peak = { .line = UINT32_MAX, .bytes = h->bytes };
    if (h->trace != NULL)
        sum_lines(r, h->trace, h->n_events, &peak);
    return peak;
}

/* ---- requests ---- */

/* Puts a frame in front. */
static void put_frame(struct reading *r, struct chain *c, const char *text)
{
    const uint32_t id = text_table_put(&r->out->texts, text, strlen(text));
    r->has_memory = r->has_memory && id != UINT32_MAX;
    if (c->n == XLA_FRAMES_MOST)
        c->n--;
    memmove(c->texts + 1, c->texts, c->n * sizeof c->texts[0]);
    c->texts[0] = id;
    c->n++;
}

/* Says what the request is, at the innermost line of the program that is known. */
static void put_name(struct reading *r, const char *what, uint32_t line, struct chain *c)
{
    char text[2 * FRAME_TEXT];
    const struct stack_frame f = stack_frame_parse(line == UINT32_MAX ? "" : text_table_at(&r->out->texts, line));
    const bool is_known = f.n_file > 0;
    snprintf(text, sizeof text, "%.*s %s %.*s:%u", NAME_SHOWN, r->module->name, what,
             is_known ? (int)f.n_file : 2, is_known ? f.file : "??", f.line);
    put_frame(r, c, text);
}

/* Which line most of the temporaries are of. */
static void put_peak(struct reading *r, const struct peak *peak, struct chain *c)
{
    char text[2 * FRAME_TEXT], line[FRAME_TEXT], part[UNITS_TEXT], all[UNITS_TEXT];
    if (peak->line == UINT32_MAX)
        return;
    stack_frame_show(text_table_at(&r->out->texts, peak->line), line, sizeof line);
    snprintf(text, sizeof text, "%s of %s at their peak are of %s ??:0", units_format_bytes(peak->line_bytes, part),
             units_format_bytes(peak->bytes, all), line);
    put_frame(r, c, text);
}

static struct chain chain_of_request(struct reading *r, size_t i, const struct chain *shared)
{
    const ReplayProto__HloAllocation *a = r->assigned->buffer_allocations[i];
    struct chain c = { .n = 0 };
    for (size_t k = 0; a->maybe_live_out && k < a->n_assigned && c.n == 0; k++)
        c = chain_of_buffer(r, buffer_of(r, a->assigned[k]->logical_buffer_id));
    if (c.n == 0)
        c = *shared;
    const uint32_t line = line_of(r, &c);
    if (!a->maybe_live_out) {
        const struct peak peak = peak_of(r, i);
        put_peak(r, &peak, &c);
    }
    put_name(r, a->maybe_live_out ? "result" : "temporaries", line, &c);
    return c;
}

static bool chain_is(const struct xla_programs *p, const struct xla_request *known, const struct chain *c)
{
    const size_t bytes = c->n * sizeof c->texts[0];
    return known->n == c->n && (bytes == 0 || memcmp(p->frames + known->first, c->texts, bytes) == 0);
}

/* Requests of one size that come of several lines keep the frames that they share. A frame in front says what they are:
 * Adam's moments and weights are results of one size. */
static void share_request(struct reading *r, struct xla_request *known, struct chain *c, bool is_result)
{
    uint32_t *frames = r->out->frames + known->first;
    struct chain old = { .n = 0 };
    if (known->is_result != is_result)
        known->n = 0;
    if (known->n == 0 || chain_is(r->out, known, c))
        return;
    old.n = known->n - 1;                        /* without the one in front, which has room again below */
    memcpy(old.texts, frames + 1, old.n * sizeof old.texts[0]);
    chain_meet(c, &old);
    put_name(r, is_result ? "result" : "temporaries", line_of(r, c), c);
    known->n = (uint32_t)c->n;
    memcpy(frames, c->texts, c->n * sizeof c->texts[0]);
}

static enum err keep_request(struct reading *r, uint32_t name, uint64_t bytes, struct chain *c, bool is_result,
                             struct err_detail *err)
{
    struct xla_programs *p = r->out;
    const uint32_t *known = pair_map_find(&p->by_size, name, bytes);
    if (known != NULL) {
        share_request(r, &p->requests[*known], c, is_result);
        return r->has_memory ? ERR_OK : err_no_memory(err);
    }
    struct xla_request *requests = array_grow(p->requests, p->n_requests, &p->room_requests, sizeof *requests);
    if (requests == NULL)
        return err_no_memory(err);
    p->requests = requests;
    uint32_t *frames = array_reserve(p->frames, p->n_frames, c->n, &p->room_frames, sizeof *frames);
    if (frames == NULL || p->n_requests >= UINT32_MAX || p->n_frames > UINT32_MAX - XLA_FRAMES_MOST ||
        !pair_map_add(&p->by_size, name, bytes, (uint32_t)p->n_requests))
        return err_no_memory(err);
    p->frames = frames;
    memcpy(frames + p->n_frames, c->texts, c->n * sizeof c->texts[0]);
    requests[p->n_requests++] = (struct xla_request){ .first = (uint32_t)p->n_frames, .n = (uint32_t)c->n,
                                                      .is_result = is_result };
    p->n_frames += c->n;
    return ERR_OK;
}

static uint64_t sizes_sum(const struct xla_sizes *s)
{
    return s->arguments + s->results + s->temporaries;
}

/* Keeps the largest, each name and sizes once. */
static void rank_program(struct xla_programs *p, const struct xla_sizes *s)
{
    size_t at = p->n_largest;
    for (size_t i = 0; i < p->n_largest; i++)
        if (p->largest[i].name == s->name && sizes_sum(&p->largest[i]) == sizes_sum(s))
            return;
    while (at > 0 && sizes_sum(&p->largest[at - 1]) < sizes_sum(s))
        at--;
    if (at == XLA_LARGEST)
        return;
    p->n_largest += p->n_largest < XLA_LARGEST;
    memmove(p->largest + at + 1, p->largest + at, (p->n_largest - at - 1) * sizeof *s);
    p->largest[at] = *s;
}

static void add_size(struct xla_sizes *s, const ReplayProto__HloAllocation *a)
{
    uint64_t *sum = a->is_entry_computation_parameter ? &s->arguments : a->maybe_live_out ? &s->results
                                                                                          : &s->temporaries;
    if (!a->is_constant && !a->is_thread_local && a->size > 0 && (uint64_t)a->size < (INT64_MAX / 8) - *sum)
        *sum += (uint64_t)a->size;
}

static void add_outline(struct xla_outline *o, const ReplayProto__HloAllocation *a)
{
    if (!a->maybe_live_out)
        return;
    o->n_results++;
    o->largest_result = (uint64_t)a->size > o->largest_result ? (uint64_t)a->size : o->largest_result;
}

static enum err keep_outline(struct xla_programs *p, uint32_t name, struct xla_outline o, struct err_detail *err)
{
    struct xla_outline *grown = array_grow(p->outlines, p->n_outlines, &p->room_outlines, sizeof *grown);
    uint32_t *last = pair_map_find(&p->names, name, 0);
    if (grown == NULL)
        return err_no_memory(err);
    p->outlines = grown;
    if (p->n_outlines >= XLA_NO_OUTLINE)
        return err_no_memory(err);
    o.next = last == NULL ? XLA_NO_OUTLINE : *last;
    grown[p->n_outlines] = o;
    if (last != NULL)
        *last = (uint32_t)p->n_outlines;
    else if (!pair_map_add(&p->names, name, 0, (uint32_t)p->n_outlines))
        return err_no_memory(err);
    p->n_outlines++;
    return ERR_OK;
}

static enum err put_requests(struct reading *r, const struct chain *shared, struct err_detail *err)
{
    const uint32_t name = text_table_put(&r->out->texts, r->module->name, strlen(r->module->name));
    enum err e = name == UINT32_MAX ? err_no_memory(err) : ERR_OK;
    struct xla_outline outline = { .n_results = 0 };
    struct xla_sizes sizes = { .name = name };
    for (size_t i = 0; r->assigned != NULL && i < r->assigned->n_buffer_allocations && e == ERR_OK; i++) {
        const ReplayProto__HloAllocation *a = r->assigned->buffer_allocations[i];
        add_size(&sizes, a);
        if (a->is_entry_computation_parameter || a->is_constant || a->is_thread_local || a->size <= 0)
            continue;
        add_outline(&outline, a);
        struct chain c = chain_of_request(r, i, shared);
        e = r->has_memory ? keep_request(r, name, (uint64_t)a->size, &c, a->maybe_live_out, err) : err_no_memory(err);
    }
    rank_program(r->out, &sizes);
    outline.temporaries = sizes.temporaries;
    e = e == ERR_OK ? keep_outline(r->out, name, outline, err) : e;
    return e == ERR_OK ? xla_donations_put(&r->out->donations, name, r->module, r->assigned, err) : e;
}

static enum err read_program(struct reading *r, struct err_detail *err)
{
    r->instructions.seed = r->buffers.seed = r->owners.seed = hash_seed();
    read_frames(r);
    const struct chain shared = r->has_memory ? read_instructions(r) : (struct chain){ .n = 0 };
    if (r->assigned != NULL) {
        read_buffers(r);
        read_traces(r);
    }
    const enum err e = r->has_memory ? put_requests(r, &shared, err) : err_no_memory(err);
    pair_map_free(&r->instructions);
    pair_map_free(&r->buffers);
    pair_map_free(&r->owners);
    free(r->frame_texts);
    free(r->highest);
    return e;
}

void xla_programs_open(struct xla_programs *p)
{
    *p = (struct xla_programs){ .n_requests = 0 };
    p->texts.seed = p->names.seed = p->by_size.seed = hash_seed();
}

void xla_programs_close(struct xla_programs *p)
{
    text_table_free(&p->texts);
    pair_map_free(&p->names);
    pair_map_free(&p->by_size);
    free(p->outlines);
    free(p->requests);
    free(p->frames);
    free(p->donations.at);
}

enum err xla_programs_put(struct xla_programs *p, const void *bytes, size_t n, ProtobufCAllocator *memory,
                          struct err_detail *err)
{
    ReplayProto__HloProto *hlo = replay_proto__hlo_proto__unpack(memory, n, bytes);
    enum err e = ERR_OK;
    if (hlo == NULL)
        return ERR_OK;
    struct reading r = { .out = p, .module = hlo->hlo_module, .assigned = hlo->buffer_assignment, .has_memory = true };
    if (r.module != NULL)
        e = read_program(&r, err);
    replay_proto__hlo_proto__free_unpacked(hlo, memory);
    return e;
}

uint32_t xla_programs_find(struct xla_programs *p, const char *name, size_t n)
{
    const uint32_t id = memchr(name, '\0', n) != NULL ? UINT32_MAX : text_table_put(&p->texts, name, n);
    return id != UINT32_MAX && pair_map_find(&p->names, id, 0) != NULL ? id : XLA_NO_PROGRAM;
}

uint64_t xla_programs_refused(const struct xla_programs *p, uint32_t program, uint64_t n_granted,
                              uint64_t largest_free)
{
    const uint32_t *last = pair_map_find(&p->names, program, 0);
    uint64_t least = 0;
    size_t n_seen = 0;
    for (uint32_t i = last == NULL ? XLA_NO_OUTLINE : *last; i != XLA_NO_OUTLINE && n_seen < OUTLINES_SEEN;
         i = p->outlines[i].next, n_seen++) {
        const struct xla_outline *o = &p->outlines[i];
        const uint64_t bytes = n_granted < o->n_results ? o->largest_result : o->temporaries;
        if (bytes > largest_free && (least == 0 || bytes < least))
            least = bytes;
    }
    return least;
}

size_t xla_programs_frames(const struct xla_programs *p, uint32_t program, uint64_t bytes,
                           const char *frames[static XLA_FRAMES_MOST])
{
    const uint32_t *known = pair_map_find(&p->by_size, program, bytes);
    const struct xla_request none = { .n = 0 }, *r = known == NULL ? &none : &p->requests[*known];
    for (size_t i = 0; i < r->n; i++)
        frames[i] = text_table_at(&p->texts, p->frames[r->first + i]);
    return r->n;
}
