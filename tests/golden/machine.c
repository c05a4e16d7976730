/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Setting up a case's machine, and reading its state. */
#include "tests/golden/machine.h"

#include "base/units.h"
#include "policies/pytorch/pytorch.h"
#include "report/measure/memory_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- listening ---- */

static void machine_append(json_t *list, json_t *value, struct machine *m)
{
    if (json_array_append_new(list, value) != 0)
        difference_note(m->diff, "no memory for the records of this case");
}

static json_t *machine_number(uint64_t n)
{
    return json_integer((json_int_t)n);
}

/* [text, number...]; negative numbers stand for "leave out". */
static json_t *machine_entry(const char *text, int64_t a, int64_t b, int64_t c, const char *handle)
{
    json_t *entry = json_array();
    json_array_append_new(entry, json_string(text));
    for (size_t i = 0; i < 3; i++) {
        const int64_t n = i == 0 ? a : i == 1 ? b : c;
        if (n >= 0)
            json_array_append_new(entry, json_integer(n));
    }
    if (handle != NULL)
        json_array_append_new(entry, json_string(handle));
    return entry;
}

static void machine_add_extent(struct machine_device *d, uint64_t addr, uint64_t bytes)
{
    if (d->n_extents == d->cap_extents) {
        const size_t cap = d->cap_extents == 0 ? 64 : 2 * d->cap_extents;
        struct machine_extent *extents = realloc(d->extents, cap * sizeof *extents);
        if (extents == NULL) {
            difference_note(d->machine->diff, "no memory for %zu segments", cap);
            return;
        }
        d->extents = extents;
        d->cap_extents = cap;
    }
    d->extents[d->n_extents++] = (struct machine_extent){.addr = addr, .bytes = bytes};
}

/* Handles are numbered over all devices, from 1, in the order they are made. */
static void machine_add_handle(struct machine_device *d, uint32_t phys)
{
    if (phys >= d->n_handles) {
        const size_t n = 2 * (size_t)phys + 64;
        uint32_t *handles = realloc(d->handles, n * sizeof *handles);
        if (handles == NULL) {
            difference_note(d->machine->diff, "no memory for %zu handles", n);
            return;
        }
        memset(handles + d->n_handles, 0, (n - d->n_handles) * sizeof *handles);
        d->handles = handles;
        d->n_handles = n;
    }
    d->handles[phys] = ++d->machine->n_handles;
}

static void machine_hear_call(void *arg, const struct device_call *call)
{
#define MACHINE_CALL(name, text) text,
    static const char *const names[DEVICE_CALL_KINDS] = {DEVICE_CALL_LIST(MACHINE_CALL)};
#undef MACHINE_CALL
    struct machine_device *d = arg;
    const char *name = names[call->kind];
    const int64_t bytes = (int64_t)call->bytes, addr = (int64_t)call->addr, ordinal = d->ordinal;
    char handle[16] = "";
    json_t *entry = NULL;
    if (call->kind == DEVICE_CALL_MALLOC || call->kind == DEVICE_CALL_RESERVE)
        machine_add_extent(d, call->addr, call->bytes);
    if (call->kind == DEVICE_CALL_CREATE)
        machine_add_handle(d, call->phys);
    snprintf(handle, sizeof handle, "h%" PRIu32, call->phys < d->n_handles ? d->handles[call->phys] : 0);
    switch (call->kind) {
    case DEVICE_CALL_MALLOC:
    case DEVICE_CALL_RESERVE:
        entry = machine_entry(name, ordinal, bytes, addr, NULL);
        break;
    case DEVICE_CALL_FREE:            /* the recorded device names the bytes it rounded the call to */
        entry = machine_entry(name, ordinal, (int64_t)align_up(call->bytes, DEVICE_PAGE_BYTES), addr, NULL);
        break;
    case DEVICE_CALL_MALLOC_OOM:
    case DEVICE_CALL_CREATE_OOM:
        entry = machine_entry(name, ordinal, bytes, -1, NULL);
        break;
    case DEVICE_CALL_CREATE:
        entry = machine_entry(name, ordinal, bytes, -1, handle);
        break;
    case DEVICE_CALL_UNRESERVE:
    case DEVICE_CALL_UNMAP:
        entry = machine_entry(name, bytes, addr, -1, NULL);
        break;
    case DEVICE_CALL_MAP:
        entry = machine_entry(name, bytes, addr, -1, handle);
        break;
    case DEVICE_CALL_RELEASE:
        entry = machine_entry(name, -1, -1, -1, handle);
        break;
    case DEVICE_CALL_WAIT_EVENT:      /* PyTorch's allocator makes no such call */
    case DEVICE_CALL_HOST_MALLOC:
    case DEVICE_CALL_HOST_FREE:
    case DEVICE_CALL_STREAM_SYNC:
    case DEVICE_CALL_DEVICE_SYNC:
    case DEVICE_CALL_KINDS:
        break;
    }
    machine_append(d->machine->device_log, entry, d->machine);
}

static void machine_hear_record(void *arg, const struct policy_record *r)
{
    static const char *const names[RECORD_ACTIONS] = {
        [RECORD_ALLOC] = "alloc",
        [RECORD_FREE_REQUESTED] = "free_requested",
        [RECORD_FREE_COMPLETED] = "free_completed",
        [RECORD_SEGMENT_ALLOC] = "segment_alloc",
        [RECORD_SEGMENT_FREE] = "segment_free",
        [RECORD_SEGMENT_MAP] = "segment_map",
        [RECORD_SEGMENT_UNMAP] = "segment_unmap",
        [RECORD_SNAPSHOT] = "snapshot",
        [RECORD_OOM] = "oom",
    };
    struct machine_device *d = arg;
    struct machine *m = d->machine;
    const uint64_t handle = r->stream < m->n_streams ? m->streams[r->stream].handle : UINT64_MAX;
    json_t *entry = machine_entry(names[r->action], (int64_t)r->addr, (int64_t)r->bytes, (int64_t)handle, NULL);
    if (m->c->n_devices > 1)
        json_array_append_new(entry, machine_number(d->ordinal));
    machine_append(d->trace, entry, m);
}

/* ---- setting up ---- */

/* PyTorch's own number of a stream: it hands out 32 streams in turn. Source: c10/cuda/CUDAStream.cpp. */
static uint64_t machine_stream_number(enum torch_release release, uint32_t index)
{
    if (index == 0)
        return 0;
    const uint64_t place = (index - 1) % 32;
    return release == TORCH_2_0 ? 8 * place + 1 : 32 * place + 3;
}

static enum err machine_open_streams(struct machine *m, struct err_detail *err)
{
    const struct golden_case *c = m->c;
    m->n_streams = 1;
    for (uint32_t d = 0; d < c->n_devices; d++) {
        m->first_queue[d] = m->n_streams;
        m->n_streams += c->n_streams[d] - 1;
    }
    m->streams = calloc(m->n_streams, sizeof *m->streams);
    if (m->streams == NULL || stream_queues_create(m->n_streams, &m->queues) != ERR_OK)
        return err_no_memory(err);
    for (uint32_t d = 0; d < c->n_devices; d++)
        for (uint32_t i = 0; i < c->n_streams[d]; i++)
            m->streams[machine_stream(m, d, i)] = (struct stream_name){
                .handle = c->streams[d][i], .number = machine_stream_number(c->release, i)};
    return ERR_OK;
}

/* The user's pools are {0, n}, those of graph captures {n, 0}, each counted from 1. */
static enum err machine_name_pools(struct machine *m, struct err_detail *err)
{
    uint64_t n_user = 0, n_graph = 0;
    m->n_pools = 1;
    m->n_pools_made = 1;
    for (size_t i = 0; i < m->c->n_ops; i++) {
        const struct case_op *op = &m->c->ops[i];
        if ((op->kind != OP_POOL_NEW && op->kind != OP_CAPTURE_BEGIN) || op->failed_outside)
            continue;
        if (m->n_pools > CASE_POOLS_MAX)
            return err_at(err, ERR_FORMAT, i, m->c->name, "more than %d pools", CASE_POOLS_MAX);
        const bool is_graph = op->kind == OP_CAPTURE_BEGIN;
        m->pool[m->n_pools] = (struct machine_pool){.id = op->id, .is_graph = is_graph};
        m->pool_name[m->n_pools].id[is_graph ? 0 : 1] = is_graph ? ++n_graph : ++n_user;
        m->n_pools++;
    }
    return ERR_OK;
}

/* The recorded addresses of one device: its mallocs and reservations, in order. */
static enum err machine_list_addresses(const struct golden_case *c, struct machine_device *d, size_t *n,
                                       struct err_detail *err)
{
    const json_t *log = case_field(c, "device_log");
    d->addresses = calloc(json_array_size(log) + 1, sizeof *d->addresses);
    if (d->addresses == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < json_array_size(log); i++) {
        const json_t *entry = json_array_get(log, i);
        const char *call = json_string_value(json_array_get(entry, 0));
        if (call != NULL && (strcmp(call, "malloc") == 0 || strcmp(call, "reserve") == 0) &&
            json_integer_value(json_array_get(entry, 1)) == (json_int_t)d->ordinal)
            d->addresses[(*n)++] = (uint64_t)json_integer_value(json_array_get(entry, 3));
    }
    return ERR_OK;
}

/* Sets the policy's options: the defaults, and what the case says. */
static void machine_set_options(const struct golden_case *c, struct policy_spec *spec)
{
    for (size_t i = 0; i < spec->n_options; i++) {
        const char *name = spec->ops->options[i].name;
        struct option_value *v = &spec->values[i];
        struct option_value given = {.is_given = true, .is_set = true};
        if (strcmp(name, "version") == 0) {
            given.text = torch_release_name(c->release);
            *v = given;
        } else if (strcmp(name, "conf") == 0 && c->conf != NULL) {
            given.text = c->conf;
            *v = given;
        } else if (strcmp(name, "fraction") == 0 && c->has_fraction) {
            given.ratio = c->fraction;
            *v = given;
        } else if (strcmp(name, "no-cache") == 0 && c->is_uncached) {
            given.number = 1;
            *v = given;
        }
    }
}

/* Turns a rule round in a policy that has made no decision yet. The settings at the start were read by the rules as
 * they are; a settings text at run time is read by the turned ones. */
static void machine_turn_rule(struct policy *policy, int rule)
{
    static const size_t places[] = {
#define RULE(name, first, last, says) offsetof(struct pytorch_rules, name),
#include "policies/pytorch/pytorch_rules.def"
#undef RULE
    };
    bool *value = (bool *)((char *)&((struct pytorch *)policy)->rules + places[rule]);
    *value = !*value;
}

static enum err machine_open_policy(struct machine *m, struct machine_device *d, struct err_detail *err)
{
    const struct policy_config cfg = {
        .device = d->device,
        .peak_live = m->c->n_requests + 2 * m->n_pools,
        .values = m->spec.values,
        .streams = m->streams,
        .n_streams = m->n_streams,
        .pools = m->pool_name,
        .n_pools = m->n_pools,
        .ordinal = d->ordinal,
    };
    const enum err e = policy_create(m->spec.ops, &cfg, &d->policy, err);
    if (e == ERR_OK) {
        d->observer = (struct policy_observer){.record = machine_hear_record, .arg = d};
        d->policy->observer = &d->observer;
        if (m->c->turned_rule >= 0)
            machine_turn_rule(d->policy, m->c->turned_rule);
    }
    return e;
}

static enum err machine_open_device(struct machine *m, uint32_t ordinal, struct err_detail *err)
{
    struct machine_device *d = &m->device[ordinal];
    size_t n_addresses = 0;
    d->machine = m;
    d->ordinal = ordinal;
    d->trace = json_array();
    enum err e = machine_list_addresses(m->c, d, &n_addresses, err);
    if (e != ERR_OK)
        return e;
    const struct device_config cfg = {
        .total_bytes = m->c->device_total_bytes,
        .context_bytes = m->c->overhead_bytes,
        .addresses = ADDRESSES_LIST,
        .address_list = d->addresses,
        .n_addresses = n_addresses,
        .queues = m->queues,
    };
    e = device_open(&device_sim, &cfg, &d->device, err);
    if (e != ERR_OK)
        return e;
    d->log = (struct device_log){.call = machine_hear_call, .arg = d};
    d->device->log = &d->log;
    return machine_open_policy(m, d, err);
}

enum err machine_open(const struct golden_case *c, struct difference *diff, struct machine *out, struct err_detail *err)
{
    *out = (struct machine){.c = c, .diff = diff, .device_log = json_array()};
    enum err e = policy_spec_parse("pytorch", &out->spec, err);
    if (e != ERR_OK)
        return err_set(err, ERR_CORRUPT, 0, "there is no policy pytorch");
    machine_set_options(c, &out->spec);
    e = machine_open_streams(out, err);
    if (e == ERR_OK)
        e = machine_name_pools(out, err);
    for (uint32_t d = 0; d < c->n_devices && e == ERR_OK; d++)
        e = machine_open_device(out, d, err);
    return e;
}

void machine_close(struct machine *m)
{
    for (uint32_t i = 0; i < CASE_DEVICES_MAX; i++) {
        struct machine_device *d = &m->device[i];
        policy_destroy(d->policy);
        device_close(d->device);
        free(d->addresses);
        free(d->extents);
        free(d->handles);
        json_decref(d->trace);
    }
    policy_spec_close(&m->spec);
    stream_queues_destroy(m->queues);
    free(m->streams);
    json_decref(m->device_log);
}

uint16_t machine_stream(const struct machine *m, uint32_t device, uint32_t index)
{
    return (uint16_t)(index == 0 ? 0 : m->first_queue[device] + index - 1);
}

uint8_t machine_find_pool(const struct machine *m, bool is_graph, uint64_t id)
{
    for (uint32_t i = m->n_pools_made; i-- > 1;)
        if (m->pool[i].is_graph == is_graph && m->pool[i].id == id)
            return (uint8_t)i;
    return 0;
}

/* ---- reading it off ---- */

json_t *machine_place(const struct machine_device *d, uint64_t addr)
{
    size_t i = d->n_extents;              /* backwards: an address may have been used before */
    while (i > 0 && addr - d->extents[i - 1].addr >= d->extents[i - 1].bytes)
        i--;
    const json_int_t ordinal = (json_int_t)i - 1;
    const uint64_t start = i == 0 ? addr : d->extents[i - 1].addr;
    return json_pack("[I,I,I]", ordinal, (json_int_t)(addr - start), (json_int_t)addr);
}

struct machine_walk {
    const struct machine_device *d;
    json_t  *segments;                    /* of all devices */
    json_t  *segment;                     /* the last one; NULL: none yet */
    uint64_t segment_start;               /* of what the last block lies in */
    uint64_t end;                         /* where that block ends */
    uint64_t total, allocated, active, requested;
};

static void machine_end_segment(struct machine_walk *w)
{
    if (w->segment == NULL)
        return;
    json_object_set_new(w->segment, "total_size", machine_number(w->total));
    json_object_set_new(w->segment, "allocated_size", machine_number(w->allocated));
    json_object_set_new(w->segment, "active_size", machine_number(w->active));
    json_object_set_new(w->segment, "requested_size", machine_number(w->requested));
    w->segment = NULL;
    w->total = w->allocated = w->active = w->requested = 0;
}

static void machine_begin_segment(struct machine_walk *w, const struct block_view *b)
{
    const struct machine *m = w->d->machine;
    const uint64_t *pool = m->pool_name[b->pool < m->n_pools ? b->pool : 0].id;
    const uint64_t stream = b->stream < m->n_streams ? m->streams[b->stream].handle : UINT64_MAX;
    w->segment = json_pack("{s:i, s:I, s:s, s:I, s:[]}", "device", (int)w->d->ordinal, "address", (json_int_t)b->addr,
                           "segment_type", b->is_small ? "small" : "large", "stream", (json_int_t)stream, "blocks");
    if (torch_release_has(m->c->release, LAYOUT_BLOCK_ADDRESS)) {
        json_object_set_new(w->segment, "is_expandable", json_boolean(b->page_bytes > 0));
        json_object_set_new(w->segment, "segment_pool_id",
                            json_pack("[I,I]", (json_int_t)pool[0], (json_int_t)pool[1]));
    }
    json_array_append_new(w->segments, w->segment);
    w->segment_start = b->segment_addr;
}

/* Begins a segment: the memory of one device allocation, or a mapped stretch of a range without a hole. */
static void machine_see_block(void *arg, const struct block_view *b)
{
    static const char *const states[] = {[BLOCK_FREE] = "inactive",
                                         [BLOCK_ALLOCATED] = "active_allocated",
                                         [BLOCK_PENDING] = "active_pending_free"};
    struct machine_walk *w = arg;
    const uint8_t shown = w->d->machine->shown_pool;
    if (w->segment != NULL && (b->state == BLOCK_UNMAPPED || b->segment_addr != w->segment_start || b->addr != w->end))
        machine_end_segment(w);
    if (b->state == BLOCK_UNMAPPED || (shown != 0 && b->pool != shown))
        return;
    if (w->segment == NULL)
        machine_begin_segment(w, b);
    w->end = b->addr + b->bytes;
    w->total += b->bytes;
    w->allocated += b->state == BLOCK_ALLOCATED ? b->bytes : 0;
    w->active += b->state != BLOCK_FREE ? b->bytes : 0;
    w->requested += b->state != BLOCK_FREE ? b->requested : 0;
    json_array_append_new(json_object_get(w->segment, "blocks"),
                          json_pack("[I,I,I,s]", (json_int_t)b->addr, (json_int_t)b->bytes, (json_int_t)b->requested,
                                    states[b->state]));
}

json_t *machine_segments(const struct machine *m)
{
    json_t *segments = json_array();
    for (uint32_t i = 0; i < m->c->n_devices; i++) {
        struct machine_walk walk = {.d = &m->device[i], .segments = segments};
        if (walk.d->policy->ops->walk(walk.d->policy, machine_see_block, &walk) != ERR_OK)
            abort();
        machine_end_segment(&walk);
    }
    return segments;
}

/* ---- counters ---- */

static void machine_add_stat(void *arg, const char *key, int64_t value)
{
    json_object_set_new(arg, key, json_integer(value));
}

json_t *machine_stats(const struct machine_device *d)
{
    json_t *stats = json_object();
    d->policy->ops->stats(d->policy, machine_add_stat, stats);
    return stats;
}

json_t *machine_summary(const struct machine_device *d, bool is_abbreviated)
{
    char text[MEMORY_SUMMARY_MAX];
    const size_t n = memory_summary(memory_summary_policy_stat, d->policy, d->ordinal,
                                    is_abbreviated ? SUMMARY_ABBREVIATED : SUMMARY_FULL, text, sizeof text);
    return n < sizeof text ? json_stringn(text, n) : NULL;
}

#define MACHINE_COLUMN(column, key) {column, key},
static const struct {
    const char *column, *key;
} machine_columns[MACHINE_N_COLUMNS] = {MACHINE_COLUMNS(MACHINE_COLUMN)};
#undef MACHINE_COLUMN

/* Keys and columns are both ascending: one step of a merge per key. */
struct machine_row {
    size_t  next;
    int64_t value[MACHINE_N_COLUMNS];
};

static void machine_fill_row(void *arg, const char *key, int64_t value)
{
    struct machine_row *row = arg;
    if (row->next < MACHINE_N_COLUMNS && strcmp(key, machine_columns[row->next].key) == 0)
        row->value[row->next++] = value;
}

static const int64_t *machine_find_column(const struct machine_row *row, const char *name)
{
    for (size_t i = 0; name != NULL && i < row->next; i++)
        if (strcmp(machine_columns[i].column, name) == 0)
            return &row->value[i];
    return NULL;
}

void machine_compare_counters(const struct machine *m, const json_t *want, const char *where)
{
    const json_t *columns = case_field(m->c, "stats_columns");
    const size_t n = json_array_size(columns);
    if (want == NULL)
        return;
    if (json_array_size(want) != n * m->c->n_devices)
        difference_note(m->diff, "%s: %zu counters were recorded for %zu columns", where, json_array_size(want), n);
    for (uint32_t d = 0; d < m->c->n_devices && !m->diff->is_found; d++) {
        struct machine_row row = {0};
        m->device[d].policy->ops->stats(m->device[d].policy, machine_fill_row, &row);
        for (size_t i = 0; i < n; i++) {
            const char *name = json_string_value(json_array_get(columns, i));
            const int64_t *got = machine_find_column(&row, name);
            const json_int_t wanted = json_integer_value(json_array_get(want, d * n + i));
            if (got == NULL || *got != wanted)
                difference_note(m->diff, "%s: %s of device %u: expected %" PRId64 ", got %" PRId64, where,
                                name == NULL ? "?" : name, d, (int64_t)wanted, got == NULL ? -1 : *got);
        }
    }
}
