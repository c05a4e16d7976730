/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Imports journals of CUDA memory calls (capture/JOURNAL.md): what one process asked one device's driver for. Or
 * follows a journal while it is written, into a trace for each device.
 *
 * A request is an allocation, or physical memory of the virtual memory calls. Physical memory lives until its handles
 * are released and it is mapped nowhere (CUDA Driver API, cuMemRelease):
 *
 *     CREATE h    MAP h    RELEASE h    UNMAP          CREATE h    RELEASE h
 *     |                                 |              |           |
 *     alloc                             free           alloc       free
 *
 * Each kind of memory is a pool of its own. Records are taken one by one, and only what later records may refer to is
 * kept, so the importer's memory follows what is live.
 */
#include "import/import_calls.h"

#include "base/array.h"
#include "base/units.h"
#include "capture/call_framework.h"
#include "import/import.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTES_BYTES = 2048, STACK_MAX = 512, LINE_BYTES = 512 };
enum { POOL_DEVICE, POOL_MANAGED, POOL_HOST, POOL_PHYSICAL, POOL_ARRAY, POOL_FIRST, MEMORY_POOLS_MAX = 200 };
#define NO_PLACE UINT32_MAX

/* Indexes of an array whose elements are used again, the last vacated first. */
struct places {
    uint32_t *vacant;
    size_t    n_vacant, room_vacant, n;      /* n: elements that were ever used */
};

/* What is kept of the record that made a request. */
struct request {
    uint64_t addr, stream, other;
    uint32_t record;
    uint32_t before, after;          /* of the device's live allocations; NO_PLACE at the ends */
    uint8_t  space, device;
};

struct physical {
    struct request request;
    uint32_t n_holds, n_mappings;     /* cuMemReleases to come for all its handles; it lives while either is above 0 */
};

struct mapping {
    uint64_t bytes;
    uint32_t physical;
};

/* A device's trace. */
struct calls_device {
    struct trace_writer *out;         /* NULL: it has none, and its events are left out */
    struct pair_map pools;            /* (handle of a memory pool, 0) -> its number here, from 0 */
    uint64_t pool_names[MEMORY_POOLS_MAX + 1];   /* a number's handle: that of the first pool that has it */
    struct pair_map stacks;           /* (innermost frame's record + 1, thread) -> the trace's stack */
    uint64_t bytes[CALL_SPACES];      /* requested in all, by kind of memory */
    uint32_t first, last;             /* live allocations in order of their records, + 1; 0 = none */
};

struct calls_import {
    struct call_journal *log;
    struct calls_device devices[CALL_DEVICES_MAX];
    const struct calls_traces *traces;           /* makes further traces; NULL: there will be no others */
    struct call_frames frames;
    bool without_stacks;
    struct pair_map live;             /* (address, 1 for the handle of an array) -> request */
    struct pair_map handles;          /* (handle, 0) -> physical; (handle, 1) -> cuMemReleases until it is gone */
    struct pair_map mapped;           /* (address, 0) -> mapping */
    struct request *requests;
    struct physical *physical;
    struct mapping *mappings;
    size_t room_requests, room_physical, room_mappings;
    struct places request_places, physical_places, mapping_places;
    uint64_t n_unknown;               /* frees of memory whose allocation is not recorded */
    uint64_t n_unseen;                /* addresses that were handed out again without a recorded free */
    uint64_t n_absurd;                /* refused requests that are larger than a trace can hold */
    unsigned frameworks;              /* a bit for each enum call_framework that asked for memory */
    char notes[NOTES_BYTES];
    size_t n_notes;
};

/* ---- places ---- */

/* A vacant place in an array, which grows if it must; NO_PLACE without memory. */
static uint32_t place_take(struct places *p, void **array, size_t *room, size_t size)
{
    if (p->n_vacant > 0)
        return p->vacant[--p->n_vacant];
    void *grown = p->n < NO_PLACE ? array_grow(*array, p->n, room, size) : NULL;
    uint32_t *vacant = array_grow(p->vacant, p->n, &p->room_vacant, sizeof *vacant);     /* place_give cannot fail */
    if (grown != NULL)
        *array = grown;
    if (vacant != NULL)
        p->vacant = vacant;
    return grown != NULL && vacant != NULL ? (uint32_t)p->n++ : NO_PLACE;
}

static void place_give(struct places *p, uint32_t place)
{
    assert(place < p->n && p->n_vacant < p->n);
    p->vacant[p->n_vacant++] = place;
}

/* ---- facts ---- */

static void note(struct calls_import *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Adds a line to the notes. */
static void note(struct calls_import *p, const char *fmt, ...)
{
    const size_t room = sizeof p->notes - p->n_notes;
    const size_t start = p->n_notes > 0 && room > 1;
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(p->notes + p->n_notes + start, room - start, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= room - start) {
        p->notes[p->n_notes] = '\0';
        return;
    }
    if (start > 0)
        p->notes[p->n_notes] = '\n';
    p->n_notes += start + (size_t)n;
}

static void note_all(struct calls_import *p, const struct calls_device *d)
{
    static const char *const names[CALL_SPACES] = {
        [CALL_SPACE_POOL] = "memory pools (pools 5 and up, in stream order)",
        [CALL_SPACE_MANAGED] = "managed memory (pool 1)",
        [CALL_SPACE_HOST] = "page-locked host memory (pool 2), which takes no device memory",
        [CALL_SPACE_PHYSICAL] = "physical memory of the virtual memory calls (pool 3)",
        [CALL_SPACE_ARRAY] = "arrays (pool 4), counted by their elements"};
    char bytes[UNITS_TEXT];
    for (int i = 0; i < CALL_SPACES && !call_journal_is_simulated(p->log); i++)    /* its pools have other numbers */
        if (names[i] != NULL && d->bytes[i] > 0)
            note(p, "%s requested in total from %s", units_format_bytes(d->bytes[i], bytes), names[i]);
    if (p->log->head.lost > 0)
        note(p, "%" PRIu64 " records are missing: the journal could not grow", p->log->head.lost);
    if (p->log->n_torn > 0)
        note(p, "%" PRIu64 " records were begun but not finished: their calls had not returned", p->log->n_torn);
    if (p->n_unknown > 0)
        note(p, "%" PRIu64 " frees of memory whose allocation is not recorded", p->n_unknown);
    if (p->n_unseen > 0)
        note(p, "%" PRIu64 " addresses were handed out again without a recorded free (by a call that is not recorded)",
             p->n_unseen);
    if (p->n_absurd > 0)
        note(p, "%" PRIu64 " refused requests are larger than a trace can hold, and left out", p->n_absurd);
    if (p->log->n_newer > 0)
        note(p, "%" PRIu64 " records are of a kind that this release does not know: a later one wrote them, and what "
             "they did is missing", p->log->n_newer);
}

/* A simulated run tells nothing that would differ in the next one: neither the clock on the wall nor a process
 * number. */
static enum err put_simulated_facts(const struct calls_import *p, unsigned device, struct err_detail *err)
{
    struct trace_writer *out = p->devices[device].out;
    struct trace_info *info = trace_writer_info(out);
    info->device = device;
    info->capacity_bytes = p->log->devices[device].free_bytes;
    return trace_put_meta(out, "source", "cuda-driver", err);
}

static enum err put_facts(const struct calls_import *p, unsigned device, struct err_detail *err)
{
    struct trace_writer *out = p->devices[device].out;
    struct trace_info *info = trace_writer_info(out);
    char command_line[CALL_COMMAND_LINE_BYTES], process[24];
    if (call_journal_is_simulated(p->log))
        return put_simulated_facts(p, device, err);
    info->device = device;
    info->capacity_bytes = p->log->devices[device].total_bytes;
    info->epoch_us = p->log->head.epoch_ns / 1000;
    call_journal_command_line(p->log, command_line, sizeof command_line);
    snprintf(process, sizeof process, "%u", p->log->head.pid);
    enum err e = trace_put_meta(out, "source", importer_calls.name, err);
    if (e == ERR_OK)
        e = trace_put_meta(out, "command", command_line, err);
    return e == ERR_OK ? trace_put_meta(out, "process", process, err) : e;
}

/* The platform is the one framework that asked for memory. With PyTorch among several it is not told: what helps
 * PyTorch may be what is looked for. */
static const struct framework {
    enum call_framework is;
    const char *platform, *name;
} frameworks[] = { { CALL_FRAMEWORK_JAX, "jax", "JAX" }, { CALL_FRAMEWORK_TENSORFLOW, "tensorflow", "TensorFlow" } };

static const struct framework *framework_found(const struct calls_import *p)
{
    for (size_t i = 0; i < sizeof frameworks / sizeof frameworks[0]; i++)
        if ((p->frameworks & 1u << frameworks[i].is) != 0 && (p->frameworks & 1u << CALL_FRAMEWORK_PYTORCH) == 0)
            return &frameworks[i];
    return NULL;
}

static enum err put_platform(const struct calls_import *p, struct trace_writer *out, struct err_detail *err)
{
    const struct framework *f = framework_found(p);
    return f != NULL ? trace_put_meta(out, TRACE_META_PLATFORM, f->platform, err) : ERR_OK;
}

static void note_platform(struct calls_import *p)
{
    const struct framework *f = framework_found(p);
    if (f != NULL)
        note(p, "these are %s's calls to the driver: its own allocator shares out what they take, and how much of that "
             "is in use is not recorded", f->name);
}

/* How many records the source has, if events name them by number. */
static void put_record_count(const struct calls_import *p, struct trace_writer *out)
{
    if (!call_journal_is_simulated(p->log))
        trace_writer_info(out)->records = p->log->first + p->log->n;
}

/* ---- records ---- */

/* The innermost frame of a framework is of the library that asked. */
static void take_frameworks(struct calls_import *p, const char *const *frames, size_t n)
{
    enum call_framework f = CALL_FRAMEWORK_NONE;
    for (size_t i = 0; i < n && f == CALL_FRAMEWORK_NONE; i++)
        f = call_framework_of(frames[i]);
    p->frameworks |= 1u << f;
}

/* The trace's stack of a record; put into the trace at its first use. The outermost frame is the thread. */
static enum err stack_number(struct calls_import *p, struct calls_device *d, const struct call_record *r, uint32_t *out,
                             struct err_detail *err)
{
    uint32_t texts[STACK_MAX];
    const char *frames[STACK_MAX + 1];
    char thread[32];
    *out = TRACE_NO_STACK;
    if (p->without_stacks)
        return ERR_OK;
    const uint32_t *known = pair_map_find(&d->stacks, r->stack, r->thread);
    if (known != NULL) {
        *out = *known;
        return ERR_OK;
    }
    const size_t n = call_frames_stack(&p->frames, r, texts, STACK_MAX);
    for (size_t i = 0; i < n; i++)
        frames[i] = text_table_at(&p->frames.texts, texts[i]);
    snprintf(thread, sizeof thread, "thread %" PRIu32, r->thread);
    frames[n] = thread;
    take_frameworks(p, frames, n);
    const enum err e = trace_put_stack(d->out, frames, n + 1, out, err);
    if (e != ERR_OK)
        return e;
    return pair_map_add(&d->stacks, r->stack, r->thread, *out) ? ERR_OK : err_no_memory(err);
}

/* Memory pools are numbered by their first use. If there are too many, the rest share the last number. */
static enum err memory_pool_number(struct calls_device *d, uint64_t handle, uint32_t *out, struct err_detail *err)
{
    const uint32_t *known = pair_map_find(&d->pools, handle, 0);
    *out = known != NULL ? *known : d->pools.n < MEMORY_POOLS_MAX ? (uint32_t)d->pools.n : MEMORY_POOLS_MAX;
    if (d->pool_names[*out] == 0)
        d->pool_names[*out] = handle;
    return known != NULL || pair_map_add(&d->pools, handle, 0, *out) ? ERR_OK : err_no_memory(err);
}

static enum err pool_number(struct calls_device *d, const struct request *r, uint64_t *out, struct err_detail *err)
{
    uint32_t memory_pool = 0;
    static const uint64_t numbers[CALL_SPACES] = {
        [CALL_SPACE_DEVICE] = POOL_DEVICE, [CALL_SPACE_MANAGED] = POOL_MANAGED, [CALL_SPACE_HOST] = POOL_HOST,
        [CALL_SPACE_PHYSICAL] = POOL_PHYSICAL, [CALL_SPACE_ARRAY] = POOL_ARRAY};
    *out = r->space < CALL_SPACES ? numbers[r->space] : POOL_DEVICE;
    if (r->space != CALL_SPACE_POOL)
        return ERR_OK;
    const enum err e = memory_pool_number(d, r->other, &memory_pool, err);
    *out = POOL_FIRST + (uint64_t)memory_pool;
    return e;
}

static struct request request_of(const struct calls_import *p, uint32_t i)
{
    const struct call_record *r = &p->log->records[i];
    return (struct request){.addr = r->addr, .stream = r->stream, .other = r->other, .record = p->log->first + i,
                            .space = r->space, .device = r->device};
}

/* Makes the trace of a device when its first event comes. */
static enum err find_trace(struct calls_import *p, unsigned device, struct err_detail *err)
{
    struct calls_device *d = &p->devices[device];
    if (d->out != NULL || p->traces == NULL)
        return ERR_OK;
    const enum err e = p->traces->create(p->traces->arg, device, &d->out, err);
    return e == ERR_OK ? put_facts(p, device, err) : e;
}

/* Events of a simulated card name memory pools by their handles, which are small and the same in every run. They have
 * no number of a record: the journal also holds records of which there is no event, and nobody sees the journal
 * itself. */
static enum err simulated_event(struct calls_device *d, const struct call_record *r, const struct request *about,
                                struct trace_record *out, struct err_detail *err)
{
    uint32_t number = 0;
    out->record = TRACE_NO_RECORD;
    out->stack = TRACE_NO_STACK;
    out->stream = r->stream;
    if (about->space != CALL_SPACE_POOL)
        return ERR_OK;
    const enum err e = memory_pool_number(d, about->other, &number, err);
    out->pool[0] = d->pool_names[number];
    return e;
}

/* Puts record i of those at hand as an event of a request. */
static enum err put_event(struct calls_import *p, uint32_t i, enum event_kind kind, const struct request *about,
                          struct err_detail *err)
{
    const struct call_record *r = &p->log->records[i];
    const uint64_t start = p->log->head.start_ns;
    struct trace_record out = {.kind = kind, .time_ns = r->time_ns < start ? 0 : r->time_ns - start,
                               .ptr = (uint64_t)about->record + 1, .bytes = r->bytes, .stream = about->stream,
                               .record = p->log->first + i, .addr = about->space == CALL_SPACE_ARRAY ? 0 : about->addr};
    struct calls_device *d = &p->devices[about->device];
    assert(about->record <= out.record);
    enum err e = find_trace(p, about->device, err);
    if (e != ERR_OK || d->out == NULL)
        return e;
    if (call_journal_is_simulated(p->log))
        e = simulated_event(d, r, about, &out, err);
    else if ((e = pool_number(d, about, &out.pool[1], err)) == ERR_OK)
        e = stack_number(p, d, r, &out.stack, err);
    if (e == ERR_OK && kind == EVENT_ALLOC && about->space < CALL_SPACES)
        d->bytes[about->space] = add_capped(d->bytes[about->space], r->bytes);
    return e == ERR_OK ? trace_put(d->out, &out, err) : e;
}

static uint64_t is_array(const struct request *r)
{
    return r->space == CALL_SPACE_ARRAY;
}

/* Appends a request to the list of its device's live ones, or takes it out. */
static void live_link(struct calls_import *p, uint32_t place)
{
    struct request *r = &p->requests[place];
    struct calls_device *d = &p->devices[r->device];
    r->before = d->last == 0 ? NO_PLACE : d->last - 1;
    r->after = NO_PLACE;
    if (d->last == 0)
        d->first = place + 1;
    else
        p->requests[r->before].after = place;
    d->last = place + 1;
}

static void live_unlink(struct calls_import *p, uint32_t place)
{
    const struct request *r = &p->requests[place];
    struct calls_device *d = &p->devices[r->device];
    assert(d->first != 0 && d->last != 0);
    assert((r->before == NO_PLACE) == (d->first == place + 1) && (r->after == NO_PLACE) == (d->last == place + 1));
    if (r->before == NO_PLACE)
        d->first = r->after == NO_PLACE ? 0 : r->after + 1;
    else
        p->requests[r->before].after = r->after;
    if (r->after == NO_PLACE)
        d->last = r->before == NO_PLACE ? 0 : r->before + 1;
    else
        p->requests[r->after].before = r->before;
}

/* Record i ends a live allocation. */
static enum err end_live(struct calls_import *p, uint32_t i, uint32_t place, struct err_detail *err)
{
    const struct request *r = &p->requests[place];
    const enum err e = put_event(p, i, EVENT_FREE, r, err);
    live_unlink(p, place);
    pair_map_remove(&p->live, r->addr, is_array(r));
    place_give(&p->request_places, place);
    return e;
}

static enum err take_free(struct calls_import *p, uint32_t i, struct err_detail *err)
{
    const struct request about = request_of(p, i);
    const uint32_t *found = pair_map_find(&p->live, about.addr, is_array(&about));
    if (found == NULL) {
        p->n_unknown++;
        return ERR_OK;
    }
    return end_live(p, i, *found, err);
}

static enum err take_alloc(struct calls_import *p, uint32_t i, struct err_detail *err)
{
    const struct request about = request_of(p, i);
    const uint32_t *known = pair_map_find(&p->live, about.addr, is_array(&about));
    enum err e = ERR_OK;
    if (p->log->records[i].bytes == 0)
        return ERR_OK;
    if (known != NULL) {
        p->n_unseen++;
        e = end_live(p, i, *known, err);
    }
    if (e != ERR_OK)
        return e;
    void *requests = p->requests;
    const uint32_t place = place_take(&p->request_places, &requests, &p->room_requests, sizeof *p->requests);
    p->requests = requests;
    if (place == NO_PLACE || !pair_map_add(&p->live, about.addr, is_array(&about), place))
        return err_no_memory(err);
    p->requests[place] = about;
    live_link(p, place);
    return put_event(p, i, EVENT_ALLOC, &p->requests[place], err);
}

/* A reset frees what was allocated in the device's context. Physical memory belongs to no context and stays. */
static enum err take_reset(struct calls_import *p, uint32_t i, struct err_detail *err)
{
    const struct calls_device *d = &p->devices[p->log->records[i].device];
    enum err e = ERR_OK;
    while (e == ERR_OK && d->first != 0)
        e = end_live(p, i, d->first - 1, err);
    return e;
}

/* A program may ask for any number of bytes. One request too many to write down does not spoil the recording. */
static enum err take_oom(struct calls_import *p, uint32_t i, struct err_detail *err)
{
    const struct request about = request_of(p, i);
    if (p->log->records[i].bytes == 0)
        return ERR_OK;
    const enum err e = put_event(p, i, EVENT_OOM, &about, err);
    p->n_absurd += e == ERR_FORMAT;
    return e == ERR_FORMAT ? ERR_OK : e;
}

/* ---- virtual memory ---- */

/* A handle, known or new, needs one more cuMemRelease. */
static enum err handle_hold(struct calls_import *p, uint64_t handle, uint32_t physical, struct err_detail *err)
{
    assert(physical < p->physical_places.n);
    uint32_t *n = pair_map_find(&p->handles, handle, 1);
    if (n != NULL)
        ++*n;
    else if (!pair_map_add(&p->handles, handle, 0, physical) || !pair_map_add(&p->handles, handle, 1, 1))
        return err_no_memory(err);
    p->physical[physical].n_holds++;
    return ERR_OK;
}

static void handle_forget(struct calls_import *p, uint64_t handle)
{
    pair_map_remove(&p->handles, handle, 0);
    pair_map_remove(&p->handles, handle, 1);
}

static enum err take_create(struct calls_import *p, uint32_t i, struct err_detail *err)
{
    const struct call_record *r = &p->log->records[i];
    void *physical = p->physical;
    if (r->bytes == 0)
        return ERR_OK;
    const uint32_t place = place_take(&p->physical_places, &physical, &p->room_physical, sizeof *p->physical);
    p->physical = physical;
    if (place == NO_PLACE)
        return err_no_memory(err);
    p->physical[place] = (struct physical){.request = request_of(p, i)};
    if (pair_map_find(&p->handles, r->other, 0) != NULL) {
        p->n_unseen++;
        handle_forget(p, r->other);
    }
    const enum err e = handle_hold(p, r->other, place, err);
    return e == ERR_OK ? put_event(p, i, EVENT_ALLOC, &p->physical[place].request, err) : e;
}

/* Ends physical memory that nothing holds any more. */
static enum err end_physical(struct calls_import *p, uint32_t i, uint32_t place, struct err_detail *err)
{
    const struct physical *m = &p->physical[place];
    if (m->n_holds > 0 || m->n_mappings > 0)
        return ERR_OK;
    place_give(&p->physical_places, place);
    return put_event(p, i, EVENT_FREE, &m->request, err);
}

static enum err take_release(struct calls_import *p, uint32_t i, struct err_detail *err)
{
    const uint64_t handle = p->log->records[i].other;
    const uint32_t *found = pair_map_find(&p->handles, handle, 0);
    if (found == NULL) {
        p->n_unknown++;
        return ERR_OK;
    }
    const uint32_t place = *found;
    assert(p->physical[place].n_holds > 0);
    p->physical[place].n_holds--;
    if (--*pair_map_find(&p->handles, handle, 1) == 0)
        handle_forget(p, handle);
    return end_physical(p, i, place, err);
}

/* Takes away the mapping that begins at an address. *bytes: its size, 0 if there is none. */
static enum err unmap_one(struct calls_import *p, uint32_t i, uint64_t addr, uint64_t *bytes, struct err_detail *err)
{
    const uint32_t *found = pair_map_find(&p->mapped, addr, 0);
    *bytes = 0;
    if (found == NULL)
        return ERR_OK;
    const struct mapping was = p->mappings[*found];
    place_give(&p->mapping_places, *found);
    pair_map_remove(&p->mapped, addr, 0);
    *bytes = was.bytes;
    assert(p->physical[was.physical].n_mappings > 0);
    p->physical[was.physical].n_mappings--;
    return end_physical(p, i, was.physical, err);
}

static enum err take_map(struct calls_import *p, uint32_t i, struct err_detail *err)
{
    const struct call_record *r = &p->log->records[i];
    const uint32_t *found = pair_map_find(&p->handles, r->other, 0);
    uint64_t was;
    if (found == NULL || r->bytes == 0)
        return ERR_OK;                                   /* another process's memory, which is not counted here */
    const uint32_t physical = *found;
    p->physical[physical].n_mappings++;
    const enum err e = unmap_one(p, i, r->addr, &was, err);
    if (e != ERR_OK)
        return e;
    void *mappings = p->mappings;
    const uint32_t place = place_take(&p->mapping_places, &mappings, &p->room_mappings, sizeof *p->mappings);
    p->mappings = mappings;
    if (place == NO_PLACE || !pair_map_add(&p->mapped, r->addr, 0, place))
        return err_no_memory(err);
    p->mappings[place] = (struct mapping){.bytes = r->bytes, .physical = physical};
    return ERR_OK;
}

static enum err take_unmap(struct calls_import *p, uint32_t i, struct err_detail *err)
{
    const struct call_record *r = &p->log->records[i];
    uint64_t done = 0, bytes = 1;
    enum err e = ERR_OK;
    while (e == ERR_OK && done < r->bytes && bytes > 0) {
        e = unmap_one(p, i, r->addr + done, &bytes, err);
        done = add_capped(done, bytes);
    }
    return e;
}

/* The handle of memory that is mapped at an address needs one more cuMemRelease. */
static enum err take_retain(struct calls_import *p, uint32_t i, struct err_detail *err)
{
    const struct call_record *r = &p->log->records[i];
    const uint32_t *handle = pair_map_find(&p->handles, r->other, 0), *at = pair_map_find(&p->mapped, r->addr, 0);
    if (handle == NULL && at == NULL)
        return ERR_OK;
    return handle_hold(p, r->other, handle != NULL ? *handle : p->mappings[*at].physical, err);
}

/* Only a simulated card writes it, so there is no record's number to keep. */
static enum err take_wait(struct calls_import *p, uint32_t i, struct err_detail *err)
{
    const struct call_record *r = &p->log->records[i];
    const uint64_t start = p->log->head.start_ns;
    const struct trace_record out = {
        .kind = EVENT_CONTROL, .time_ns = r->time_ns < start ? 0 : r->time_ns - start, .stream = r->stream,
        .record = TRACE_NO_RECORD, .stack = TRACE_NO_STACK, .control = {.kind = CONTROL_WAIT, .number = r->other != 0},
    };
    const enum err e = find_trace(p, r->device, err);
    return e != ERR_OK || p->devices[r->device].out == NULL ? e : trace_put(p->devices[r->device].out, &out, err);
}

/* Takes record i of those at hand. */
static enum err take_record(struct calls_import *p, uint32_t i, struct err_detail *err)
{
    const struct call_record *r = &p->log->records[i];
    switch ((enum call_kind)r->kind) {
    case CALL_ALLOC:   return take_alloc(p, i, err);
    case CALL_FREE:    return take_free(p, i, err);
    case CALL_OOM:     return take_oom(p, i, err);
    case CALL_CREATE:  return take_create(p, i, err);
    case CALL_RESET:   return take_reset(p, i, err);
    case CALL_RELEASE: return take_release(p, i, err);
    case CALL_RETAIN:  return take_retain(p, i, err);
    case CALL_MAP:     return take_map(p, i, err);
    case CALL_UNMAP:   return take_unmap(p, i, err);
    case CALL_WAIT:    return take_wait(p, i, err);
    case CALL_FRAMEWORK:
        p->frameworks |= r->other < CALL_FRAMEWORKS ? 1u << r->other : 0;
        break;
    case CALL_TEXT:
    case CALL_FRAME:   return call_frames_take(&p->frames, p->log->first + i, r) ? ERR_OK : err_no_memory(err);
    case CALL_NONE: case CALL_UNDO: case CALL_DEVICE: case CALL_SEGMENT: case CALL_SEGMENT_FREE:
    case CALL_PHYSICAL_FREE: case CALL_RANGE: case CALL_RANGE_FREE: case CALL_NO_EFFECT: case CALL_REFUSED:
    case CALL_MISSING: case CALL_WORKSPACE: case CALL_ALGORITHM_SEARCH:
    case CALL_EVENT_ASKED:
    case CALL_KINDS:
        break;
    }
    return ERR_OK;
}

/* Frees all but the traces. */
static void import_close(struct calls_import *p)
{
    struct pair_map *const maps[] = {&p->live, &p->handles, &p->mapped};
    void *const arrays[] = {p->requests, p->physical, p->mappings, p->request_places.vacant, p->physical_places.vacant,
                            p->mapping_places.vacant};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
        pair_map_free(maps[i]);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
    for (unsigned d = 0; d < CALL_DEVICES_MAX; d++) {
        pair_map_free(&p->devices[d].pools);
        pair_map_free(&p->devices[d].stacks);
    }
    call_frames_free(&p->frames);
    call_journal_free(p->log);
    free(p);
}

/* ---- the importer ---- */

/* Lists the devices with events as text. Returns how many there are; *device is the first of them. */
static unsigned list_devices(const struct call_journal *log, char *list, size_t room, unsigned *device)
{
    unsigned n = 0;
    size_t used = 0;
    list[0] = '\0';
    for (unsigned d = CALL_DEVICES_MAX; d-- > 0;)
        if (log->devices[d].requests + log->devices[d].ooms > 0)
            *device = d;
    for (unsigned d = 0; d < CALL_DEVICES_MAX; d++) {
        if (log->devices[d].requests + log->devices[d].ooms == 0)
            continue;
        const int k = snprintf(list + used, room - used, "%s%u (%" PRIu64 " requests)", n++ > 0 ? ", " : "", d,
                               log->devices[d].requests);
        used = k > 0 && (size_t)k < room - used ? used + (size_t)k : used;
    }
    return n;
}

static enum err choose_device(const struct input *in, const struct call_journal *log, int64_t gpu, unsigned *device,
                              struct err_detail *err)
{
    char list[128];
    const unsigned n = list_devices(log, list, sizeof list, device);
    if (n == 0)
        return err_at(err, ERR_UNSUPPORTED, 0, input_name(in), "holds no calls to replay");
    if (gpu < 0 && n > 1)
        return err_at(err, ERR_USAGE, 0, input_name(in), "several devices have events: %s; choose one with --gpu",
                      list);
    if (gpu < 0)
        return ERR_OK;
    if (gpu >= CALL_DEVICES_MAX || log->devices[gpu].requests + log->devices[gpu].ooms == 0)
        return err_at(err, ERR_USAGE, 0, input_name(in), "device %" PRId64 " has no events; these have: %s", gpu, list);
    *device = (unsigned)gpu;
    return ERR_OK;
}

static enum err calls_import(struct input *in, const struct import_config *cfg, struct trace_writer *w,
                             struct err_detail *err)
{
    struct calls_import *p = calloc(1, sizeof *p);
    unsigned device = 0;
    enum err e = p == NULL ? err_no_memory(err) : call_journal_read(in, &p->log, err);
    if (e == ERR_OK)
        e = choose_device(in, p->log, cfg->gpu, &device, err);
    if (e == ERR_OK) {
        p->without_stacks = cfg->without_stacks;
        p->devices[device].out = w;
        put_record_count(p, w);
        e = put_facts(p, device, err);
    }
    for (uint32_t i = 0; e == ERR_OK && i < p->log->n; i++) {
        e = take_record(p, i, err);
        if (cfg->progress != NULL && i % (1 << 16) == 0)
            cfg->progress(cfg->progress_arg, i, p->log->n);
    }
    if (e == ERR_OK) {
        note_all(p, &p->devices[device]);
        note_platform(p);
        e = p->n_notes == 0 ? ERR_OK : trace_put_meta(w, "notes", p->notes, err);
    }
    if (e == ERR_OK)
        e = put_platform(p, w, err);
    if (p != NULL)
        import_close(p);
    return e;
}

static enum err calls_describe(struct input *in, void (*line)(void *arg, const char *text), void *arg,
                               struct err_detail *err)
{
    struct call_journal *log;
    char command_line[CALL_COMMAND_LINE_BYTES], text[LINE_BYTES], bytes[UNITS_TEXT];
    const enum err e = call_journal_read(in, &log, err);
    if (e != ERR_OK)
        return e;
    call_journal_command_line(log, command_line, sizeof command_line);
    snprintf(text, sizeof text, "journal of the CUDA memory calls of process %u, %s%s: %" PRIu32 " records",
             log->head.pid, command_line, call_journal_is_simulated(log) ? ", on a simulated card" : "", log->n);
    line(arg, text);
    for (unsigned d = 0; d < CALL_DEVICES_MAX; d++) {
        const struct call_device *device = &log->devices[d];
        if (device->requests + device->ooms == 0)
            continue;
        snprintf(text, sizeof text, "device %u: %" PRIu64 " requests, %" PRIu64 " refused; memory: %s", d,
                 device->requests, device->ooms,
                 device->total_bytes == 0 ? "unknown" : units_format_bytes(device->total_bytes, bytes));
        line(arg, text);
    }
    call_journal_free(log);
    return ERR_OK;
}

enum err calls_summarise(const char *path, struct calls_summary *out, struct err_detail *err)
{
    struct input *in = NULL;
    struct call_journal *log = NULL;
    enum err e = input_open(path, &in, err);
    if (e == ERR_OK)
        e = call_journal_read(in, &log, err);
    if (e == ERR_OK) {
        *out = (struct calls_summary){.pid = log->head.pid, .parent = log->head.parent, .lost = log->head.lost};
        call_journal_command_line(log, out->command_line, sizeof out->command_line);
        memcpy(out->devices, log->devices, sizeof out->devices);
    }
    call_journal_free(log);
    input_close(in);
    return e;
}

enum err calls_import_file(const char *path, unsigned device, const char *out_path, struct err_detail *err)
{
    const struct import_config cfg = {.gpu = device};
    struct input *in = NULL;
    struct trace_writer *w = NULL;
    enum err e = input_open(path, &in, err);
    if (e == ERR_OK)
        e = trace_create(out_path, &w, err);
    if (e == ERR_OK)
        e = calls_import(in, &cfg, w, err);
    input_close(in);
    if (e == ERR_OK)
        return trace_finish(w, err);
    trace_abandon(w);
    return e;
}

/* ---- a journal that is being written ---- */

struct calls_follow {
    struct calls_traces  traces;
    struct calls_import *import;
};

enum err calls_follow_open(const char *path, const struct calls_traces *traces, struct calls_follow **out,
                           struct err_detail *err)
{
    struct calls_follow *f = calloc(1, sizeof *f);
    if (f == NULL || (f->import = calloc(1, sizeof *f->import)) == NULL) {
        free(f);
        return err_no_memory(err);
    }
    f->traces = *traces;
    f->import->traces = &f->traces;
    const enum err e = call_journal_open(path, &f->import->log, err);
    if (e != ERR_OK)
        calls_follow_close(f);
    else
        *out = f;
    return e;
}

static enum err flush_all(const struct calls_import *p, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (unsigned d = 0; d < CALL_DEVICES_MAX && e == ERR_OK; d++)
        if (p->devices[d].out != NULL)
            e = trace_flush(p->devices[d].out, err);
    return e;
}

enum err calls_follow_look(struct calls_follow *f, bool *has_more, struct err_detail *err)
{
    struct calls_import *p = f->import;
    enum err e = call_journal_more(p->log, err);
    for (uint32_t i = 0; e == ERR_OK && i < p->log->n; i++)
        e = take_record(p, i, err);
    *has_more = p->log->n == CALL_STRETCH_RECORDS;
    return e == ERR_OK && p->log->n > 0 ? flush_all(p, err) : e;
}

static enum err finish_trace(const struct calls_import *p, struct trace_writer *out, struct err_detail *err)
{
    put_record_count(p, out);
    const enum err e = put_platform(p, out, err);
    if (e == ERR_OK)
        return trace_finish(out, err);
    trace_abandon(out);
    return e;
}

enum err calls_follow_finish(struct calls_follow *f, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (unsigned d = 0; d < CALL_DEVICES_MAX && e == ERR_OK; d++) {
        struct trace_writer *out = f->import->devices[d].out;
        f->import->devices[d].out = NULL;
        if (out != NULL)
            e = finish_trace(f->import, out, err);
    }
    calls_follow_close(f);
    return e;
}

void calls_follow_close(struct calls_follow *f)
{
    if (f == NULL)
        return;
    for (unsigned d = 0; d < CALL_DEVICES_MAX; d++)
        trace_abandon(f->import->devices[d].out);
    import_close(f->import);
    free(f);
}

const struct importer importer_calls = {
    .name     = "cuda-calls",
    .summary  = "journal of a process's CUDA memory calls, as replay record writes it",
    .sniff    = call_journal_sniff,
    .import   = calls_import,
    .describe = calls_describe,
};
