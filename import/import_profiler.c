/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Profiles of torch.profiler (profile_memory=True): Chrome-trace JSON whose instants named "[memory]" are requests.
 *
 *     {"name": "[memory]", "ts": 12.5, "args": {"Device Type": 1, "Device Id": 0, "Addr": 139..., "Bytes": -512,
 *      "Total Allocated": 4096, "Total Reserved": 2097152}}
 *
 * Bytes below 0 end a request. Threads are written one after the other, so events are put in order of time; then each
 * total is the one before plus the bytes. What was live before the first event has no address of its own: it is one
 * block of the recorded start, and each later end of a request that the profile does not begin is a block beside it.
 * Source: PyTorch, torch/csrc/profiler/collection.cpp and kineto's output_json.cpp.
 */
#define _GNU_SOURCE                          /* memmem */
#include "base/array.h"
#include "base/units.h"
#include "import/import.h"
#include "import/json_objects.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first start block lies here: above all addresses that a card gives. */
#define START_ADDR (UINT64_C(1) << 48)

enum { DEVICE_TYPE_CPU = 0, DEVICES_MAX = 64 };

struct memory_event {
    uint64_t time_ns, order;                 /* order: in the file */
    uint64_t addr, bytes;
    int64_t  allocated, reserved;            /* totals just after it */
    bool     is_end;
};

struct profiler {
    struct input *in;
    struct trace_writer *w;
    struct memory_event *events;
    size_t   n, room;
    uint64_t n_memory, n_without_address;    /* on any device; on a card */
    uint64_t per_device[DEVICES_MAX];        /* events with addresses */
    int64_t  device;                         /* the one to take; -1: not chosen */
};

/* ---- reading ---- */

static bool integer_of(const json_t *args, const char *key, int64_t *out)
{
    const json_t *value = json_object_get(args, key);
    *out = (int64_t)json_integer_value(value);
    return json_is_integer(value);
}

static enum err keep(struct profiler *p, const struct memory_event *event, struct err_detail *why)
{
    struct memory_event *grown = array_reserve(p->events, p->n, 1, &p->room, sizeof *grown);
    if (grown == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "%s: no memory for %zu events", input_name(p->in), p->n);
    p->events = grown;
    p->events[p->n++] = *event;
    return ERR_OK;
}

/* Keeps an event of the device that is taken, and counts the others. */
static enum err take_memory(struct profiler *p, const json_t *event, struct err_detail *why)
{
    const json_t *args = json_object_get(event, "args");
    int64_t type, device, addr, bytes;
    struct memory_event e = { .order = p->n_memory++ };
    const double ts = json_number_value(json_object_get(event, "ts"));
    if (!integer_of(args, "Device Type", &type) || !integer_of(args, "Device Id", &device) ||
        !integer_of(args, "Bytes", &bytes))
        return err_set(why, ERR_FORMAT, input_offset(p->in), "%s: byte %" PRIu64 ": a memory event lacks its device or its "
                       "bytes", input_name(p->in), input_offset(p->in));
    if (type == DEVICE_TYPE_CPU || device < 0 || device >= DEVICES_MAX || bytes == 0)
        return ERR_OK;
    if (!integer_of(args, "Addr", &addr) || !integer_of(args, "Total Allocated", &e.allocated) ||
        !integer_of(args, "Total Reserved", &e.reserved)) {
        p->n_without_address++;
        return ERR_OK;
    }
    p->per_device[device]++;
    if ((p->device >= 0 && device != p->device) || !(ts >= 0 && ts < 0x1p53))
        return ERR_OK;
    e.time_ns = (uint64_t)(ts * 1000);
    e.addr = (uint64_t)addr;
    e.is_end = bytes < 0;
    e.bytes = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
    return keep(p, &e, why);
}

static enum err take_object(struct profiler *p, const char *text, size_t n, struct err_detail *why)
{
    static const char name[] = "\"[memory]\"";
    json_error_t at;
    if (memmem(text, n, name, sizeof name - 1) == NULL)
        return ERR_OK;
    json_t *event = json_loadb(text, n, 0, &at);
    if (event == NULL)
        return err_set(why, ERR_FORMAT, input_offset(p->in), "%s: byte %" PRIu64 ": %.80s", input_name(p->in),
                       input_offset(p->in) - n + (uint64_t)at.position, at.text);
    const char *is = json_string_value(json_object_get(event, "name"));
    const enum err e = is != NULL && strcmp(is, "[memory]") == 0 ? take_memory(p, event, why) : ERR_OK;
    json_decref(event);
    return e;
}

static enum err read_events(struct profiler *p, const struct import_config *cfg, struct err_detail *why)
{
    bool is_found;
    const char *text;
    size_t n = 1;
    enum err e = json_objects_find(p->in, "\"traceEvents\"", &is_found, why);
    if (e == ERR_OK && !is_found)
        return err_set(why, ERR_FORMAT, 0, "%s: has no list traceEvents", input_name(p->in));
    while (e == ERR_OK && n > 0) {
        e = json_objects_next(p->in, &text, &n, why);
        if (e == ERR_OK && n > 0)
            e = take_object(p, text, n, why);
        if (cfg->progress != NULL)
            cfg->progress(cfg->progress_arg, input_raw_offset(p->in), input_raw_size(p->in));
    }
    return e;
}

/* ---- which device ---- */

/* Keeps the events of the only device, or refuses. */
static enum err choose_device(struct profiler *p, struct err_detail *why)
{
    char known[256] = "";
    size_t n = 0, n_devices = 0;
    for (int64_t d = 0; d < DEVICES_MAX; d++) {
        if (p->per_device[d] == 0)
            continue;
        n += (size_t)snprintf(known + n, n < sizeof known ? sizeof known - n : 0, "%s%" PRId64 " (%" PRIu64 " events)",
                              n_devices > 0 ? ", " : "", d, p->per_device[d]);
        p->device = n_devices++ == 0 && p->device < 0 ? d : p->device;
        n = n < sizeof known ? n : sizeof known - 1;
    }
    if (p->n > 0 && (n_devices == 1 || p->per_device[p->device] == p->n))
        return ERR_OK;
    if (n_devices > 0)
        return err_set(why, ERR_USAGE, 0, "%s: devices with events: %s; choose one with --gpu", input_name(p->in), known);
    if (p->n_without_address > 0)
        return err_set(why, ERR_UNSUPPORTED, 0, "%s: its memory events have no addresses or totals, so it cannot be told "
                       "which request an end belongs to; PyTorch 1.13 and later record them", input_name(p->in));
    return err_set(why, ERR_UNSUPPORTED, 0, "%s: has no memory events of a card%s", input_name(p->in),
                   p->n_memory > 0 ? ", only of the host" : "; record with torch.profiler.profile(profile_memory=True)");
}

/* ---- writing ---- */

static int by_time(const void *a, const void *b)
{
    const struct memory_event *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* By address, then by time: what one address holds in turn. */
static int by_address(const void *a, const void *b)
{
    const struct memory_event *x = a, *y = b;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return by_time(a, b);
}

/* Moves every end of a request that the profile does not begin to a start block of its own, and lists these blocks. Sorts
 * by address and then by time. */
static enum err find_start_blocks(struct profiler *p, struct memory_event **out, size_t *n, struct err_detail *why)
{
    size_t room = 0;
    uint64_t next = START_ADDR;
    qsort(p->events, p->n, sizeof *p->events, by_address);
    for (size_t i = 0; i < p->n; i++) {
        struct memory_event *e = &p->events[i];
        const bool is_begun = i > 0 && e[-1].addr == e->addr && !e[-1].is_end;
        if (!e->is_end || is_begun)
            continue;
        struct memory_event *grown = array_reserve(*out, *n, 1, &room, sizeof *grown);
        if (grown == NULL)
            return err_set(why, ERR_HOST_NOMEM, 0, "%s: no memory for the start", input_name(p->in));
        *out = grown;
        e->addr = next;
        next += align_up(e->bytes, 512);
        grown[(*n)++] = *e;
    }
    qsort(p->events, p->n, sizeof *p->events, by_time);
    return ERR_OK;
}

/* One segment of all that was reserved before the first event: the blocks found, then the rest of what was live. */
static enum err put_start(struct profiler *p, const struct memory_event *blocks, size_t n, struct err_detail *why)
{
    static const uint64_t pool[2] = { 0, 0 };
    const struct memory_event *first = &p->events[0];
    const int64_t live = first->allocated - (first->is_end ? -(int64_t)first->bytes : (int64_t)first->bytes);
    uint64_t known = 0, room = 0;
    for (size_t i = 0; i < n; i++) {
        known += blocks[i].bytes;
        room += align_up(blocks[i].bytes, 512);
    }
    const uint64_t rest = live > 0 && (uint64_t)live > known ? (uint64_t)live - known : 0;
    const uint64_t reserved = first->reserved > 0 ? (uint64_t)first->reserved : 0;
    const struct trace_segment segment = { .addr = START_ADDR, .bytes = reserved > room + rest ? reserved
                                                                                               : align_up(room + rest, 2 * MIB) };
    if (segment.bytes == 0)
        return ERR_OK;
    enum err e = trace_put_start_segment(p->w, &segment, 0, pool, why);
    uint64_t at = START_ADDR;
    for (size_t i = 0; i <= n && e == ERR_OK; i++) {
        const uint64_t bytes = i < n ? blocks[i].bytes : rest;
        const struct trace_block block = { .addr = at, .bytes = align_up(bytes, 512), .requested = bytes };
        if (bytes > 0)
            e = trace_put_start_block(p->w, &block, true, 0, pool, why);
        at += align_up(bytes, 512);
    }
    return e;
}

static enum err put_events(struct profiler *p, struct err_detail *why)
{
    struct trace_info *info = trace_writer_info(p->w);
    enum err e = ERR_OK;
    for (size_t i = 0; i < p->n && e == ERR_OK; i++) {
        const struct memory_event *m = &p->events[i];
        const struct trace_record r = { .kind = m->is_end ? EVENT_FREE : EVENT_ALLOC, .time_ns = m->time_ns, .ptr = m->addr,
                                        .bytes = m->bytes, .record = m->order, .addr = m->addr < START_ADDR ? m->addr : 0 };
        e = trace_put(p->w, &r, why);
        if ((uint64_t)m->reserved > info->recorded_peak_reserved_bytes && m->reserved > 0)
            info->recorded_peak_reserved_bytes = (uint64_t)m->reserved;
        if ((uint64_t)m->allocated > info->recorded_peak_allocated_bytes && m->allocated > 0)
            info->recorded_peak_allocated_bytes = (uint64_t)m->allocated;
    }
    info->recorded_start_reserved_bytes = p->events[0].reserved > 0 ? (uint64_t)p->events[0].reserved : 0;
    info->recorded_end_reserved_bytes = p->events[p->n - 1].reserved > 0 ? (uint64_t)p->events[p->n - 1].reserved : 0;
    info->records = p->n_memory;
    info->device = (uint32_t)p->device;
    return e;
}

static enum err write_trace(struct profiler *p, struct err_detail *why)
{
    struct memory_event *blocks = NULL;
    size_t n = 0;
    enum err e = trace_put_meta(p->w, "source", importer_profiler.name, why);
    if (e == ERR_OK)
        e = trace_put_meta(p->w, "notes", "sizes are those of blocks: multiples of 512 bytes\nnot recorded: streams, call "
                           "stacks, segments, the allocator's settings, the device's capacity, and the places of what was "
                           "live before the profile began", why);
    if (e == ERR_OK)
        e = find_start_blocks(p, &blocks, &n, why);
    if (e == ERR_OK)
        e = put_start(p, blocks, n, why);
    if (e == ERR_OK)
        e = put_events(p, why);
    free(blocks);
    return e;
}

static enum err profiler_import(struct input *in, const struct import_config *cfg, struct trace_writer *w,
                                struct err_detail *why)
{
    struct profiler p = { .in = in, .w = w, .device = cfg->gpu };
    enum err e = cfg->gpu >= DEVICES_MAX ? err_set(why, ERR_USAGE, 0, "--gpu %" PRId64 " is not in it", cfg->gpu)
                                         : read_events(&p, cfg, why);
    if (e == ERR_OK)
        e = choose_device(&p, why);
    if (e == ERR_OK)
        e = write_trace(&p, why);
    free(p.events);
    return e;
}

/* The first bytes of a profile name its schema, or its first events. */
static bool profiler_sniff(const unsigned char *head, size_t n)
{
    static const char *const marks[] = { "\"schemaVersion\"", "\"traceEvents\"" };
    size_t i = 0;
    while (i < n && strchr(" \t\r\n", head[i]) != NULL)
        i++;
    if (i == n || head[i] != '{')
        return false;
    for (size_t m = 0; m < sizeof marks / sizeof marks[0]; m++)
        if (memmem(head, n, marks[m], strlen(marks[m])) != NULL)
            return true;
    return false;
}

const struct importer importer_profiler = {
    .name = "torch-profiler",
    .summary = "a profile of torch.profiler with profile_memory=True (Chrome-trace JSON)",
    .sniff = profiler_sniff,
    .import = profiler_import,
};
