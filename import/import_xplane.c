/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * XPlane profiles (*.xplane.pb) of JAX, TensorFlow and XLA: on the lines of the host's plane, the events
 * "MemoryAllocation" and "MemoryDeallocation" of each BFC allocator are requests.
 *
 *     XSpace { XPlane "/host:CPU" { XLine { timestamp_ns,
 *                                           XEvent { metadata_id, offset_ps, XStat addr, requested_bytes ... } }
 *                                   names of events and stats by number } }
 *
 * The names come after the lines, so the file is read twice: for names and times of lines, then for events. After each
 * event the allocator states its bytes in use, those available to it, and its fragmentation.
 *
 * What an allocator has no room for it asks for again and again, in a span "AllocatorRetry::AllocateRaw". If nothing is
 * allocated in it, the request was refused. The span does not tell how much was asked for; what the run of its program
 * had been granted does.
 *
 * A request comes from what its thread was in: the run of a compiled program, named in a span, whose HloProto is on the
 * plane "/host:metadata" (import/xla_programs.h), or else the span itself.
 * Source: OpenXLA, tsl/profiler/protobuf/xplane.proto; tsl/framework/bfc_allocator.cc (AddTraceMe), allocator_retry.cc.
 */
#define _GNU_SOURCE                          /* memmem */
#include "base/array.h"
#include "base/intern.h"
#include "base/units.h"
#include "import/import.h"
#include "import/open_spans.h"
#include "import/proto_fields.h"
#include "import/timed_events.h"
#include "import/xla_programs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xplane.pb-c.h>

enum { SPACE_PLANE = 1, PLANE_NAME = 2, PLANE_LINE = 3, PLANE_EVENT_NAME = 4, PLANE_STAT_NAME = 5, LINE_NAME = 2,
       LINE_TIME_NS = 3, LINE_EVENT = 4, NO_DEVICE = TIMED_DEVICES, FRAME_TEXT = 512 };

/* A program of more bytes is left without its lines. */
#define PROGRAM_MOST (UINT64_C(512) << 20)

/* X(NAME, "name"): the stats that are read. */
#define XPLANE_STATS(X)                                                                                          \
    X(ALLOCATOR, "allocator_name") X(ALLOCATED, "bytes_allocated") X(AVAILABLE, "bytes_available")                  \
    X(FRAGMENTATION, "fragmentation") X(REQUESTED, "requested_bytes") X(BYTES, "allocation_bytes") X(ADDR, "addr") \
    X(OP, "tf_op") X(STEP, "step_num")

/* What a number of a plane stands for: a stat or an event that is read, or an allocator of a device. */
enum meaning {
    MEANING_NONE, MEANING_ALLOCATION, MEANING_DEALLOCATION, MEANING_RETRY,
#define STAT(name, text) MEANING_##name,
    XPLANE_STATS(STAT)
#undef STAT
    MEANING_DEVICE                           /* + its number */
};

struct xplane_line { uint64_t time_ns; };

/* The run of a program on the line that is read: its outermost span, and how many requests it was granted. */
struct xplane_run {
    uint64_t start_ps, n_granted;
    uint32_t text, program;
};

struct xplane {
    const char *name;                        /* the file's */
    struct proto_fields walk;
    struct timed_events events;
    struct pair_map meanings;                /* (number of the plane, number in it; events are odd) -> enum meaning */
    struct xplane_line *lines;               /* of the host's planes, in order */
    size_t   n_lines, lines_room, at_line;
    uint64_t n_planes;                       /* so far in this reading */
    struct pair_map hosts;                   /* numbers of the host's planes */
    bool     is_metadata;                    /* this plane holds the compiled programs */
    struct text_table spans;                 /* names of events */
    struct pair_map span_names;              /* (number of the plane, number of the event) -> in `spans` */
    struct open_spans open;                  /* of the line that is read */
    struct xplane_run run;
    struct timed_event refusal;              /* of the line, if nothing is granted until it ends; bytes 0: none */
    uint64_t refusal_end_ps;
    unsigned line_device;                    /* of its last request */
    bool     is_compiling;                   /* its thread is one of XLA's compiler */
    struct xla_programs programs;
    uint64_t n_records, n_memory, n_on_host; /* events taken and marks; memory events; those of no card */
    uint64_t n_of_tensorflow;                /* memory events of a card inside of an operation of TensorFlow's */
    uint64_t capacity[TIMED_DEVICES];        /* most bytes in use and available */
    uint64_t largest_free[TIMED_DEVICES];    /* after the last request */
    double   fragmentation[TIMED_DEVICES];   /* the most recorded */
    uint64_t fragmentation_at[TIMED_DEVICES];
};

/* ---- the first reading: names ---- */

static enum meaning meaning_of_event(const char *name)
{
    return strcmp(name, "MemoryAllocation") == 0     ? MEANING_ALLOCATION
           : strcmp(name, "MemoryDeallocation") == 0 ? MEANING_DEALLOCATION
           : strcmp(name, "AllocatorRetry::AllocateRaw") == 0 ? MEANING_RETRY
                                                              : MEANING_NONE;
}

/* "GPU_0_bfc" is the allocator of device 0. */
static unsigned device_of_allocator(const char *name)
{
    unsigned device;
    return sscanf(name, "GPU_%2u_", &device) == 1 && device < TIMED_DEVICES ? device : NO_DEVICE;
}

static enum meaning meaning_of_stat(const char *name)
{
    static const struct { const char *name; enum meaning meaning; } known[] = {
#define STAT(id, text) { text, MEANING_##id },
        XPLANE_STATS(STAT)
#undef STAT
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].meaning;
    const unsigned device = device_of_allocator(name);
    return device == NO_DEVICE ? MEANING_NONE : (enum meaning)(MEANING_DEVICE + device);
}

static uint64_t key_of(int64_t number, bool is_event)
{
    return (uint64_t)number << 1 | is_event;
}

static enum err keep_span_name(struct xplane *x, int64_t number, const char *name, struct err_detail *err)
{
    const uint32_t text = text_table_put(&x->spans, name, strlen(name));
    if (pair_map_find(&x->span_names, x->n_planes, (uint64_t)number) != NULL)
        return ERR_OK;
    return text != UINT32_MAX && pair_map_add(&x->span_names, x->n_planes, (uint64_t)number, text) ? ERR_OK
                                                                                                  : err_no_memory(err);
}

static enum err keep_name(struct xplane *x, const struct proto_field *field, struct err_detail *err)
{
    const unsigned char *bytes;
    const bool is_event = field->number == PLANE_EVENT_NAME;
    enum err e = proto_take(&x->walk, field, &bytes, err);
    if (e != ERR_OK || bytes == NULL)
        return e;
    ProtobufCAllocator memory = proto_memory(&x->walk);
    ReplayProto__XMetadataEntry *entry = replay_proto__xmetadata_entry__unpack(&memory, (size_t)field->value, bytes);
    if (entry == NULL)
        return proto_undecoded(&x->walk, "a name of the profile does not decode", err);
    const char *name = entry->value == NULL ? "" : entry->value->name;
    const enum meaning meaning = is_event ? meaning_of_event(name) : meaning_of_stat(name);
    const uint64_t key = key_of(entry->key, is_event);
    if (meaning != MEANING_NONE && pair_map_find(&x->meanings, x->n_planes, key) == NULL &&
        !pair_map_add(&x->meanings, x->n_planes, key, (uint32_t)meaning))
        e = err_no_memory(err);
    if (e == ERR_OK && is_event)
        e = keep_span_name(x, entry->key, name, err);
    replay_proto__xmetadata_entry__free_unpacked(entry, &memory);
    return e;
}

static enum err put_program(struct xplane *x, const ReplayProto__XMetadata *event, struct err_detail *err)
{
    ProtobufCAllocator memory = proto_memory(&x->walk);
    enum err e = ERR_OK;
    for (size_t i = 0; event != NULL && i < event->n_stats && e == ERR_OK; i++)
        if (event->stats[i]->value_case == REPLAY_PROTO__XSTAT__VALUE_BYTES_VALUE)
            e = xla_programs_put(&x->programs, event->stats[i]->bytes_value.data, event->stats[i]->bytes_value.len,
                                 &memory, err);
    return e == ERR_OK && x->walk.lacks_memory ? err_no_memory(err) : e;
}

static enum err keep_program(struct xplane *x, const struct proto_field *field, struct err_detail *err)
{
    unsigned char *bytes;
    enum err e = proto_keep(&x->walk, field, PROGRAM_MOST, &bytes, err);
    if (e != ERR_OK || bytes == NULL)
        return e;
    ProtobufCAllocator memory = proto_memory(&x->walk);
    ReplayProto__XMetadataEntry *entry = replay_proto__xmetadata_entry__unpack(&memory, (size_t)field->value, bytes);
    free(bytes);
    if (entry == NULL)
        return proto_undecoded(&x->walk, "a program of the profile does not decode", err);
    e = put_program(x, entry->value, err);
    replay_proto__xmetadata_entry__free_unpacked(entry, &memory);
    return e;
}

static enum err keep_plane_name(struct xplane *x, const struct proto_field *field, struct err_detail *err)
{
    static const char host[] = "/host:CPU", metadata[] = "/host:metadata";
    const unsigned char *bytes;
    const enum err e = proto_take(&x->walk, field, &bytes, err);
    x->is_metadata = e == ERR_OK && bytes != NULL && field->value == sizeof metadata - 1 &&
                     memcmp(bytes, metadata, sizeof metadata - 1) == 0;
    const bool is_host = e == ERR_OK && bytes != NULL && field->value >= sizeof host - 1 &&
                         memcmp(bytes, host, sizeof host - 1) == 0;
    if (is_host && pair_map_find(&x->hosts, x->n_planes, 0) == NULL && !pair_map_add(&x->hosts, x->n_planes, 0, 0))
        return err_no_memory(err);
    return e;
}

/* The time of a line; the line itself is walked through. */
static enum err keep_line(struct xplane *x, const struct proto_field *line, struct err_detail *err)
{
    struct proto_field field = { .number = 1 };
    struct xplane_line *grown = array_grow(x->lines, x->n_lines, &x->lines_room, sizeof *grown);
    if (grown == NULL)
        return err_no_memory(err);
    x->lines = grown;
    grown[x->n_lines] = (struct xplane_line){ 0 };
    enum err e = proto_enter(&x->walk, line, err);
    while (e == ERR_OK && field.number != 0) {
        e = proto_next(&x->walk, &field, err);
        if (e == ERR_OK && field.number == LINE_TIME_NS && !field.is_message)
            grown[x->n_lines].time_ns = field.value;
        if (e == ERR_OK && field.number != 0 && field.is_message)
            e = proto_skip(&x->walk, &field, err);
    }
    x->n_lines++;
    return e;
}

/* ---- the second reading: events ---- */

static enum meaning find_meaning(const struct xplane *x, int64_t number, bool is_event)
{
    const uint32_t *meaning = pair_map_find(&x->meanings, x->n_planes, key_of(number, is_event));
    return meaning == NULL ? MEANING_NONE : (enum meaning)*meaning;
}

static uint64_t number_of(const ReplayProto__XStat *s)
{
    if (s->value_case == REPLAY_PROTO__XSTAT__VALUE_INT64_VALUE)
        return s->int64_value > 0 ? (uint64_t)s->int64_value : 0;
    return s->value_case == REPLAY_PROTO__XSTAT__VALUE_UINT64_VALUE ? s->uint64_value : 0;
}

static unsigned device_of(const struct xplane *x, const ReplayProto__XStat *s)
{
    if (s->value_case == REPLAY_PROTO__XSTAT__VALUE_STR_VALUE)
        return device_of_allocator(s->str_value);
    const enum meaning m = s->value_case == REPLAY_PROTO__XSTAT__VALUE_REF_VALUE
                               ? find_meaning(x, (int64_t)s->ref_value, false) : MEANING_NONE;
    return m >= MEANING_DEVICE ? (unsigned)(m - MEANING_DEVICE) : NO_DEVICE;
}

/* What the stats of one event say. */
struct memory_stats {
    uint64_t values[MEANING_DEVICE];
    bool     has[MEANING_DEVICE];
    double   fragmentation;
    unsigned device;
    const char *op;                          /* NULL: not recorded */
};

static void read_stats(const struct xplane *x, const ReplayProto__XEvent *event, struct memory_stats *out)
{
    *out = (struct memory_stats){ .device = NO_DEVICE };
    for (size_t i = 0; i < event->n_stats; i++) {
        const ReplayProto__XStat *s = event->stats[i];
        const enum meaning m = find_meaning(x, s->metadata_id, false);
        if (m == MEANING_NONE || m >= MEANING_DEVICE)
            continue;
        out->has[m] = true;
        out->values[m] = number_of(s);
        if (m == MEANING_ALLOCATOR)
            out->device = device_of(x, s);
        if (m == MEANING_FRAGMENTATION && s->value_case == REPLAY_PROTO__XSTAT__VALUE_DOUBLE_VALUE)
            out->fragmentation = s->double_value;
        if (m == MEANING_OP && s->value_case == REPLAY_PROTO__XSTAT__VALUE_STR_VALUE && s->str_value[0] != '\0' &&
            s->str_value[0] != '(')
            out->op = s->str_value;
    }
}

static void note_state(struct xplane *x, const struct memory_stats *s, uint64_t order)
{
    const uint64_t used = s->values[MEANING_ALLOCATED], available = s->values[MEANING_AVAILABLE];
    if (available <= UINT64_MAX - used && used + available > x->capacity[s->device])
        x->capacity[s->device] = used + available;
    x->largest_free[s->device] = s->fragmentation >= 0 && s->fragmentation <= 1
                                     ? (uint64_t)((double)available * (1 - s->fragmentation)) : 0;
    if (s->fragmentation > x->fragmentation[s->device] && s->fragmentation <= 1) {
        x->fragmentation[s->device] = s->fragmentation;
        x->fragmentation_at[s->device] = order;
    }
}

/* The program that a span names: "PjRtLoadedExecutable::Execute (jit_step)", "jit_step:XLA GPU module". Before jax 0.9
 * only the function is named that was compiled: "PjitFunction(step)". */
static uint32_t program_of(struct xplane *x, const char *span)
{
    char compiled[FRAME_TEXT];
    const char *open = strrchr(span, '('), *close = open == NULL ? NULL : strchr(open, ')');
    const char *name = close == NULL ? span : open + 1;
    const size_t n = close == NULL ? strcspn(span, ":") : (size_t)(close - name);
    const uint32_t program = xla_programs_find(&x->programs, name, n);
    if (program != XLA_NO_PROGRAM || close == NULL || n > sizeof compiled / 2)
        return program;
    snprintf(compiled, sizeof compiled, "jit_%.*s", (int)n, name);
    return xla_programs_find(&x->programs, compiled, strlen(compiled));
}

/* XLA's compiler asks for memory only to try the candidates of its autotuner. */
static bool is_compiler(const struct xplane *x)
{
    for (size_t i = 0; i < x->open.n; i++) {
        const char *span = text_table_at(&x->spans, x->open.at[i].text);
        if (strchr(span, '(') == NULL && (strstr(span, "Compile") != NULL || strstr(span, "utotun") != NULL))
            return true;
    }
    return x->is_compiling;
}

/* The innermost span that names a function or a program, or else the innermost one. */
static enum err put_span(struct xplane *x, uint32_t *stack, struct err_detail *err)
{
    char text[FRAME_TEXT];
    const char *frames[] = { "XLA's compiler, to try candidates ??:0", text }, *told = NULL;
    const size_t skipped = is_compiler(x) ? 0 : 1;
    for (size_t i = x->open.n; i > 0 && (told == NULL || strchr(told, '(') == NULL); i--) {
        const char *span = text_table_at(&x->spans, x->open.at[i - 1].text);
        told = told == NULL || strchr(span, '(') != NULL ? span : told;
    }
    if (told == NULL && skipped > 0)
        return ERR_OK;
    snprintf(text, sizeof text, "%.500s ??:0", told == NULL ? "(nothing is told)" : told);
    return trace_put_stack(x->events.w, frames + skipped, 2 - skipped, stack, err);
}

/* TensorFlow names its operations in the event, or runs them in spans of its own. JAX has neither; what it runs of
 * TensorFlow's is on the host, to read data. */
static bool is_of_tensorflow(const struct xplane *x, const struct memory_stats *s)
{
    static const char *const spans[] = { "Eager", "KernelAndDeviceFunc", "ExecutorState" };
    for (size_t i = 0; i < x->open.n; i++)
        for (size_t k = 0; k < sizeof spans / sizeof spans[0]; k++)
            if (strncmp(text_table_at(&x->spans, x->open.at[i].text), spans[k], strlen(spans[k])) == 0)
                return true;
    return s->op != NULL;
}

/* The run that its thread is in: the innermost span that names a program, or the outermost one that names the same. */
static bool find_run(struct xplane *x, struct xplane_run *run)
{
    *run = (struct xplane_run){ .program = XLA_NO_PROGRAM };
    for (size_t i = x->open.n; i > 0; i--) {
        const struct open_span *span = &x->open.at[i - 1];
        const uint32_t program = program_of(x, text_table_at(&x->spans, span->text));
        if (program != XLA_NO_PROGRAM && (run->program == XLA_NO_PROGRAM || run->program == program))
            *run = (struct xplane_run){ .start_ps = span->start_ps, .text = span->text, .program = program };
    }
    return run->program != XLA_NO_PROGRAM;
}

static void enter_run(struct xplane *x, const struct xplane_run *run)
{
    if (run->start_ps != x->run.start_ps || run->text != x->run.text || run->program != x->run.program)
        x->run = *run;
}

/* A request of the card was granted. */
static void note_granted(struct xplane *x, unsigned device)
{
    struct xplane_run run;
    x->refusal.bytes = 0;
    x->line_device = device;
    if (find_run(x, &run)) {
        enter_run(x, &run);
        x->run.n_granted++;
    }
}

static enum err put_refusal(struct xplane *x, struct err_detail *err)
{
    struct timed_event e = x->refusal;
    x->refusal.bytes = 0;
    if (e.bytes == 0)
        return ERR_OK;
    e.order = x->n_records++;
    return timed_events_put(&x->events, &e, err);
}

/* A request begins to be asked for again and again. What the compiler tries and is refused ends no program. */
static enum err begin_refusal(struct xplane *x, const ReplayProto__XEvent *event, struct err_detail *err)
{
    struct xplane_run run;
    const char *frames[XLA_FRAMES_MOST];
    if (x->line_device == NO_DEVICE || is_compiler(x) || event->offset_ps < 0 || event->duration_ps < 0 ||
        !find_run(x, &run))
        return ERR_OK;
    enter_run(x, &run);
    const uint64_t bytes = xla_programs_refused(&x->programs, run.program, x->run.n_granted,
                                                x->largest_free[x->line_device]);
    x->refusal_end_ps = (uint64_t)event->offset_ps + (uint64_t)event->duration_ps;
    x->refusal = (struct timed_event){ .kind = EVENT_OOM, .device = (uint8_t)x->line_device, .bytes = bytes,
                                       .requested = bytes,
                                       .time_ns = x->lines[x->at_line].time_ns + x->refusal_end_ps / 1000 };
    const size_t n = xla_programs_frames(&x->programs, run.program, bytes, frames);
    return n > 0 ? trace_put_stack(x->events.w, frames, n, &x->refusal.stack, err) : ERR_OK;
}

static enum err put_stack(struct xplane *x, const struct memory_stats *s, struct timed_event *e,
                          struct err_detail *err)
{
    const char *frames[XLA_FRAMES_MOST];
    if (s->op != NULL)
        return trace_put_stack(x->events.w, &s->op, 1, &e->stack, err);
    for (size_t i = x->open.n; i > 0; i--) {
        const uint32_t program = program_of(x, text_table_at(&x->spans, x->open.at[i - 1].text));
        const size_t n = program == XLA_NO_PROGRAM
                             ? 0 : xla_programs_frames(&x->programs, program, e->requested, frames);
        if (n > 0)
            return trace_put_stack(x->events.w, frames, n, &e->stack, err);
    }
    return put_span(x, &e->stack, err);
}

static enum err put_memory(struct xplane *x, const struct memory_stats *s, struct timed_event *e,
                           struct err_detail *err)
{
    x->n_memory++;
    if (s->device == NO_DEVICE) {
        x->n_on_host++;
        return ERR_OK;
    }
    x->n_of_tensorflow += is_of_tensorflow(x, s);
    e->addr = s->values[MEANING_ADDR];
    e->bytes = s->values[MEANING_BYTES];
    e->requested = s->values[MEANING_REQUESTED] > 0 ? s->values[MEANING_REQUESTED] : e->bytes;
    e->device = (uint8_t)s->device;
    e->has_totals = s->has[MEANING_ALLOCATED];
    e->allocated = s->values[MEANING_ALLOCATED];
    if (e->addr == 0 || e->bytes == 0)
        return ERR_OK;
    note_state(x, s, e->order);
    if (e->kind == EVENT_ALLOC)
        note_granted(x, s->device);
    const enum err status = e->kind == EVENT_ALLOC ? put_stack(x, s, e, err) : ERR_OK;
    return status == ERR_OK ? timed_events_put(&x->events, e, err) : status;
}

/* An event that is none of memory is a span, which may enclose some. */
static void pass_spans(struct xplane *x, const ReplayProto__XEvent *event, bool is_span)
{
    const uint64_t start_ps = event->offset_ps > 0 ? (uint64_t)event->offset_ps : 0;
    const uint32_t *text = pair_map_find(&x->span_names, x->n_planes, (uint64_t)event->metadata_id);
    open_spans_pass(&x->open, start_ps);
    if (is_span && text != NULL && event->duration_ps > 0)
        open_spans_enter(&x->open, start_ps, (uint64_t)event->duration_ps, *text);
}

static enum err put_event(struct xplane *x, const ReplayProto__XEvent *event, struct err_detail *err)
{
    struct memory_stats stats;
    const enum meaning m = find_meaning(x, event->metadata_id, true);
    pass_spans(x, event, m == MEANING_NONE);
    if (event->offset_ps > 0 && (uint64_t)event->offset_ps > x->refusal_end_ps) {
        const enum err refused = put_refusal(x, err);
        if (refused != ERR_OK)
            return refused;
    }
    if (m == MEANING_RETRY)
        return begin_refusal(x, event, err);
    const uint64_t offset_ns = event->offset_ps > 0 ? (uint64_t)event->offset_ps / 1000 : 0;
    struct timed_event e = { .time_ns = x->lines[x->at_line].time_ns + offset_ns, .order = x->n_records };
    if (m == MEANING_NONE && event->n_stats == 0)
        return ERR_OK;
    read_stats(x, event, &stats);
    if (m == MEANING_ALLOCATION || m == MEANING_DEALLOCATION) {
        x->n_records++;
        e.kind = m == MEANING_ALLOCATION ? EVENT_ALLOC : EVENT_FREE;
        return put_memory(x, &stats, &e, err);
    }
    if (!stats.has[MEANING_STEP])
        return ERR_OK;
    x->n_records++;
    e.kind = EVENT_MARK;
    const enum err status = trace_put_label(x->events.w, "step", 4, &e.label, err);
    return status == ERR_OK ? timed_events_put(&x->events, &e, err) : status;
}

static enum err read_event(struct xplane *x, const struct proto_field *field, struct err_detail *err)
{
    const unsigned char *bytes;
    enum err e = proto_take(&x->walk, field, &bytes, err);
    if (e != ERR_OK || bytes == NULL)
        return e;
    if (x->at_line >= x->n_lines)                /* somebody writes to the file */
        return proto_refuse(&x->walk, "the file has changed while it was read", err);
    ProtobufCAllocator memory = proto_memory(&x->walk);
    ReplayProto__XEvent *event = replay_proto__xevent__unpack(&memory, (size_t)field->value, bytes);
    if (event == NULL)
        return proto_undecoded(&x->walk, "an event does not decode", err);
    e = put_event(x, event, err);
    replay_proto__xevent__free_unpacked(event, &memory);
    return e;
}

/* The name comes before the events. */
static enum err read_line_name(struct xplane *x, const struct proto_field *field, struct err_detail *err)
{
    static const char compiler[] = "compile";
    const unsigned char *bytes;
    const enum err e = proto_take(&x->walk, field, &bytes, err);
    x->is_compiling = e == ERR_OK && bytes != NULL &&
                      memmem(bytes, (size_t)field->value, compiler, sizeof compiler - 1) != NULL;
    return e;
}

static enum err read_line(struct xplane *x, const struct proto_field *line, struct err_detail *err)
{
    struct proto_field field = { .number = 1 };
    enum err e = proto_enter(&x->walk, line, err);
    x->open.n = 0;
    x->is_compiling = false;
    x->run = (struct xplane_run){ .program = XLA_NO_PROGRAM };
    x->line_device = NO_DEVICE;
    while (e == ERR_OK && field.number != 0) {
        e = proto_next(&x->walk, &field, err);
        if (e == ERR_OK && field.is_message)
            e = field.number == LINE_EVENT  ? read_event(x, &field, err)
                : field.number == LINE_NAME ? read_line_name(x, &field, err)
                                            : proto_skip(&x->walk, &field, err);
    }
    x->at_line++;
    return e == ERR_OK ? put_refusal(x, err) : e;
}

/* ---- both readings ---- */

static enum err read_plane(struct xplane *x, const struct proto_field *plane, bool is_second, struct err_detail *err)
{
    struct proto_field field = { .number = 1 };
    enum err e = proto_enter(&x->walk, plane, err);
    const bool is_read = is_second && pair_map_find(&x->hosts, x->n_planes, 0) != NULL;
    x->is_metadata = false;
    while (e == ERR_OK && field.number != 0) {
        e = proto_next(&x->walk, &field, err);
        if (e != ERR_OK || !field.is_message)
            continue;
        if (is_second && field.number == PLANE_LINE && is_read)
            e = read_line(x, &field, err);
        else if (!is_second && field.number == PLANE_LINE)
            e = keep_line(x, &field, err);
        else if (!is_second && field.number == PLANE_EVENT_NAME && x->is_metadata)
            e = keep_program(x, &field, err);
        else if (!is_second && (field.number == PLANE_EVENT_NAME || field.number == PLANE_STAT_NAME))
            e = keep_name(x, &field, err);
        else if (!is_second && field.number == PLANE_NAME)
            e = keep_plane_name(x, &field, err);
        else
            e = proto_skip(&x->walk, &field, err);
        x->at_line += is_second && field.number == PLANE_LINE && !is_read;
    }
    x->n_planes++;
    return e;
}

static enum err read_space(struct xplane *x, int fd, bool is_second, const struct import_config *cfg,
                           struct err_detail *err)
{
    struct input *in = NULL;
    struct proto_field field = { .number = 1 };
    enum err e = input_open_whole(fd, x->name, &in, err);
    x->walk = (struct proto_fields){ .in = in };
    x->n_planes = 0;
    while (e == ERR_OK && field.number != 0) {
        e = proto_next(&x->walk, &field, err);
        if (e == ERR_OK && field.is_message)
            e = field.number == SPACE_PLANE ? read_plane(x, &field, is_second, err) : proto_skip(&x->walk, &field, err);
        if (e == ERR_OK && cfg->progress != NULL)
            cfg->progress(cfg->progress_arg, input_raw_offset(in), input_raw_size(in));
    }
    input_close(in);
    return e;
}

static bool is_tensorflow(const struct xplane *x)
{
    return 2 * x->n_of_tensorflow > x->n_memory - x->n_on_host;
}

/* The programs that take most, each in a line, after what is there; returns the new length. */
static size_t say_programs(const struct xplane *x, char *out, size_t used, size_t size)
{
    const struct xla_programs *p = &x->programs;
    for (size_t i = 0; i < p->n_largest; i++) {
        char arguments[UNITS_TEXT], results[UNITS_TEXT], temporaries[UNITS_TEXT];
        const struct xla_sizes *s = &p->largest[i];
        used += (size_t)snprintf(out + used, size - used, "\n%.60s, as compiled: %s of arguments, %s of results, %s of "
                                 "temporaries", text_table_at(&p->texts, s->name),
                                 units_format_bytes(s->arguments, arguments), units_format_bytes(s->results, results),
                                 units_format_bytes(s->temporaries, temporaries));
    }
    if (p->n_largest > 0)
        used += (size_t)snprintf(out + used, size - used,
                                 "\na line of Python is the one where XLA compiled the program");
    return used;
}

static enum err put_notes(const struct xplane *x, int64_t device, const struct import_config *cfg,
                          struct err_detail *err)
{
    char notes[2048] = "not recorded: streams, the allocator's regions, and where what was live before the\n"
                       "profile began lies";
    size_t used = strlen(notes);
    if (x->fragmentation[device] > 0)
        used += (size_t)snprintf(notes + used, sizeof notes - used, "\nrecorded fragmentation of the free memory: at "
                                 "most %.1f %%, at record %" PRIu64, 100 * x->fragmentation[device],
                                 x->fragmentation_at[device]);
    if (cfg->capacity_bytes == 0 && x->capacity[device] > 0 && !is_tensorflow(x)) {
        char limit[UNITS_TEXT];
        used += (size_t)snprintf(notes + used, sizeof notes - used, "\nthe card's size is not recorded: JAX's "
                                 "allocator may take %s, which is three\nquarters of a card if no other share was set",
                                 units_format_bytes(x->capacity[device], limit));
    }
    used = say_programs(x, notes, used, sizeof notes);
    if (x->n_on_host > 0)
        snprintf(notes + used, sizeof notes - used, "\nmemory events of the host, left out: %" PRIu64, x->n_on_host);
    timed_events_note(&x->events, notes, sizeof notes);
    return trace_put_meta(x->events.w, "notes", notes, err);
}

/* What its programs could donate: import/xla_donation.h. */
static enum err put_donatable(const struct xplane *x, struct err_detail *err)
{
    const struct xla_donations *d = &x->programs.donations;
    char text[1 << 15] = "";
    size_t used = 0;
    for (size_t i = 0; i < d->n && sizeof text - used > FRAME_TEXT; i++)
        if (d->at[i].arguments > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64 " %" PRIu32 " %" PRIu32 " %.200s",
                                     used > 0 ? "\n" : "", d->at[i].bytes, d->at[i].arguments, d->at[i].results,
                                     text_table_at(&x->programs.texts, d->at[i].name));
    return used > 0 ? trace_put_meta(x->events.w, TRACE_META_DONATABLE, text, err) : ERR_OK;
}

/* The card's memory, if it is known; else by what the allocator may take of it. That is three quarters of a card if
 * nobody gave JAX another share, and all of one for TensorFlow. */
static uint64_t capacity_of(const struct xplane *x, int64_t device, const struct import_config *cfg)
{
    const uint64_t limit = x->capacity[device];
    if (cfg->capacity_bytes > 0)
        return cfg->capacity_bytes;
    return is_tensorflow(x) || limit > UINT64_MAX / 4 ? limit : limit * 4 / 3;
}

static enum err write_trace(struct xplane *x, const struct import_config *cfg, struct err_detail *err)
{
    int64_t device = -1;
    enum err e = timed_events_choose(&x->events, cfg->gpu, &device, err);
    if (e == ERR_OK && device < 0)
        return err_at(err, ERR_UNSUPPORTED, 0, x->name, "has no memory events of a card%s",
                      x->n_memory > 0 ? ", only of the host"
                                      : "; JAX and TensorFlow record them on a GPU, with host_tracer_level 2 or more");
    if (e == ERR_OK)
        e = trace_put_meta(x->events.w, "source", importer_xplane.name, err);
    if (e == ERR_OK)
        e = trace_put_meta(x->events.w, TRACE_META_PLATFORM, is_tensorflow(x) ? "tensorflow" : "jax", err);
    if (e == ERR_OK && cfg->is_cut)
        e = trace_put_meta(x->events.w, TRACE_META_ENDS, TRACE_CUT, err);
    if (e == ERR_OK)
        e = put_donatable(x, err);
    if (e != ERR_OK)
        return e;
    trace_writer_info(x->events.w)->capacity_bytes = capacity_of(x, device, cfg);
    trace_writer_info(x->events.w)->records = x->n_records;
    e = timed_events_write(&x->events, device, err);
    return e == ERR_OK ? put_notes(x, device, cfg, err) : e;
}

static enum err xplane_import(struct input *in, const struct import_config *cfg, struct trace_writer *w,
                              struct err_detail *err)
{
    int fd = -1;
    struct xplane *x = calloc(1, sizeof *x);
    if (x == NULL)
        return err_no_memory(err);
    x->name = input_name(in);
    x->meanings.seed = x->hosts.seed = x->span_names.seed = x->spans.seed = hash_seed();
    xla_programs_open(&x->programs);
    enum err e = timed_events_open(&x->events, x->name, w, err);
    if (e == ERR_OK)
        e = input_whole_file(in, &fd, err);
    for (int reading = 0; reading < 2 && e == ERR_OK; reading++)
        e = read_space(x, fd, reading == 1, cfg, err);
    if (e == ERR_OK)
        e = write_trace(x, cfg, err);
    if (fd >= 0)
        close(fd);
    timed_events_close(&x->events);
    pair_map_free(&x->meanings);
    pair_map_free(&x->hosts);
    pair_map_free(&x->span_names);
    text_table_free(&x->spans);
    xla_programs_close(&x->programs);
    free(x->lines);
    free(x);
    return e;
}

/* The first plane is named "/host:..." or "/device:...", within its first fields. */
static bool xplane_sniff(const unsigned char *head, size_t n)
{
    static const char *const names[] = { "/host:", "/device:" };
    const size_t near = n < 64 ? n : 64;
    if (n < 4 || head[0] != 0x0a)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (memmem(head, near, names[i], strlen(names[i])) != NULL)
            return true;
    return false;
}

const struct importer importer_xplane = {
    .name = "xplane",
    .summary = "a profile of JAX or TensorFlow (*.xplane.pb): the memory events of its GPU allocators",
    .sniff = xplane_sniff,
    .import = xplane_import,
};
