/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Profiles of torch.profiler (profile_memory=True): Chrome-trace JSON whose instants named "[memory]" are requests.
 *
 *     {"name": "[memory]", "ts": 12.5, "args": {"Device Type": 1, "Device Id": 0, "Addr": 139..., "Bytes": -512,
 *      "Total Allocated": 4096, "Total Reserved": 2097152}}
 *
 * Bytes below 0 end a request. Threads are written one after the other, so events are put in order of time; then each
 * total is the one before plus the bytes. The beginning of each "ProfilerStep#N" is a mark.
 * Source: PyTorch, torch/csrc/profiler/collection.cpp and kineto's output_json.cpp.
 */
#define _GNU_SOURCE                          /* memmem */
#include "import/import.h"
#include "import/json_objects.h"
#include "import/timed_events.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { DEVICE_TYPE_CPU = 0 };
static const char memory_name[] = "[memory]", step_name[] = "ProfilerStep";

struct profiler {
    struct input *in;
    struct timed_events events;
    uint64_t n_records;                      /* memory events on any device, and steps */
    uint64_t n_memory, n_without_address;    /* on any device; on a card */
};

/* ---- reading ---- */

static bool integer_of(const json_t *args, const char *key, int64_t *out)
{
    const json_t *value = json_object_get(args, key);
    *out = (int64_t)json_integer_value(value);
    return json_is_integer(value);
}

/* The time stamp, microseconds with a fraction. False: it is none. */
static bool time_of(const json_t *event, uint64_t *ns)
{
    const double ts = json_number_value(json_object_get(event, "ts"));
    *ns = ts >= 0 && ts < 0x1p53 ? (uint64_t)(ts * 1000 + 0.5) : 0;
    return ts >= 0 && ts < 0x1p53;
}

/* Keeps an event of a card, and counts the others. */
static enum err take_memory(struct profiler *p, const json_t *event, struct err_detail *err)
{
    const json_t *args = json_object_get(event, "args");
    int64_t type, device, addr, bytes, allocated, reserved;
    struct timed_event e = { .order = p->n_records++, .has_totals = true };
    p->n_memory++;
    if (!integer_of(args, "Device Type", &type) || !integer_of(args, "Device Id", &device) ||
        !integer_of(args, "Bytes", &bytes))
        return err_at(err, ERR_FORMAT, input_offset(p->in), input_name(p->in), "byte %" PRIu64 ": a memory event lacks "
                      "its device or its bytes", input_offset(p->in));
    if (type == DEVICE_TYPE_CPU || device < 0 || device >= TIMED_DEVICES || bytes == 0 || !time_of(event, &e.time_ns))
        return ERR_OK;
    if (!integer_of(args, "Addr", &addr) || !integer_of(args, "Total Allocated", &allocated) ||
        !integer_of(args, "Total Reserved", &reserved)) {
        p->n_without_address++;
        return ERR_OK;
    }
    e.kind = bytes < 0 ? EVENT_FREE : EVENT_ALLOC;
    e.device = (uint8_t)device;
    e.addr = (uint64_t)addr;
    e.bytes = e.requested = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
    e.allocated = allocated > 0 ? (uint64_t)allocated : 0;
    e.reserved = reserved > 0 ? (uint64_t)reserved : 0;
    return timed_events_put(&p->events, &e, err);
}

/* A step's beginning on the host; the card's own copy of it is left out. */
static enum err take_step(struct profiler *p, const json_t *event, struct err_detail *err)
{
    const char *category = json_string_value(json_object_get(event, "cat"));
    struct timed_event e = { .kind = EVENT_MARK, .order = p->n_records++ };
    if ((category != NULL && strncmp(category, "gpu", 3) == 0) || !time_of(event, &e.time_ns))
        return ERR_OK;
    const enum err status = trace_put_label(p->events.w, step_name, sizeof step_name - 1, &e.label, err);
    return status == ERR_OK ? timed_events_put(&p->events, &e, err) : status;
}

static enum err take_object(struct profiler *p, const char *text, size_t n, struct err_detail *err)
{
    json_t *event;
    if (memmem(text, n, memory_name, sizeof memory_name - 1) == NULL &&
        memmem(text, n, step_name, sizeof step_name - 1) == NULL)
        return ERR_OK;
    enum err e = json_objects_load(p->in, text, n, &event, err);
    if (e != ERR_OK)
        return e;
    const char *name = json_string_value(json_object_get(event, "name"));
    if (name != NULL && strcmp(name, memory_name) == 0)
        e = take_memory(p, event, err);
    else if (name != NULL && strncmp(name, step_name, sizeof step_name - 1) == 0 && name[sizeof step_name - 1] == '#')
        e = take_step(p, event, err);
    json_decref(event);
    return e;
}

static enum err read_events(struct profiler *p, const struct import_config *cfg, struct err_detail *err)
{
    bool is_found;
    const char *text;
    size_t n = 1;
    enum err e = json_objects_find(p->in, "\"traceEvents\"", &is_found, err);
    if (e == ERR_OK && !is_found)
        return err_at(err, ERR_FORMAT, 0, input_name(p->in), "has no list traceEvents");
    while (e == ERR_OK && n > 0) {
        e = json_objects_next(p->in, &text, &n, err);
        if (e == ERR_OK && n > 0)
            e = take_object(p, text, n, err);
        if (cfg->progress != NULL)
            cfg->progress(cfg->progress_arg, input_raw_offset(p->in), input_raw_size(p->in));
    }
    return e;
}

/* ---- writing ---- */

/* Refuses a profile that has no memory events of a card, with the reason. */
static enum err refuse_empty(const struct profiler *p, struct err_detail *err)
{
    if (p->n_without_address > 0)
        return err_at(err, ERR_UNSUPPORTED, 0, input_name(p->in), "its memory events have no addresses or totals, so "
                      "it cannot be told which request an end belongs to; PyTorch 1.13 and later record them");
    return err_at(err, ERR_UNSUPPORTED, 0, input_name(p->in), "has no memory events of a card%s",
                  p->n_memory > 0 ? ", only of the host" : "; record with torch.profiler.profile(profile_memory=True)");
}

static enum err write_trace(struct profiler *p, int64_t device, struct err_detail *err)
{
    char notes[1024] = "sizes are those of blocks: multiples of 512 bytes\nnot recorded: streams, call stacks, "
                       "segments, the allocator's settings, the device's capacity, and the places of what was live "
                       "before the profile began";
    enum err e = trace_put_meta(p->events.w, "source", importer_profiler.name, err);
    if (e == ERR_OK)
        e = timed_events_write(&p->events, device, err);
    timed_events_note(&p->events, notes, sizeof notes);
    trace_writer_info(p->events.w)->records = p->n_records;
    return e == ERR_OK ? trace_put_meta(p->events.w, "notes", notes, err) : e;
}

static enum err profiler_import(struct input *in, const struct import_config *cfg, struct trace_writer *w,
                                struct err_detail *err)
{
    struct profiler p = { .in = in };
    int64_t device = -1;
    enum err e = timed_events_open(&p.events, input_name(in), w, err);
    if (e == ERR_OK)
        e = read_events(&p, cfg, err);
    if (e == ERR_OK)
        e = timed_events_choose(&p.events, cfg->gpu, &device, err);
    if (e == ERR_OK)
        e = device < 0 ? refuse_empty(&p, err) : write_trace(&p, device, err);
    timed_events_close(&p.events);
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
