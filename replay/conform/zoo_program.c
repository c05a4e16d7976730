/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The loop over the ops of a golden case of the zoo. */
#include "replay/conform/zoo_program.h"

#include "policies/spec.h"
#include "replay/conform/zoo_card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ZOO_STREAMS_MAX = 1024, ZOO_ID_MAX = 1 << 24 };

/* What RMM's statistics adaptor counts above the allocator: requests as asked for. */
struct zoo_statistics {
    uint64_t current_bytes, current_count, peak_bytes, peak_count, total_bytes, total_count;
};

struct zoo_request {
    struct block block;                   /* bytes 0: not served, or null */
    uint64_t bytes;                       /* as asked for */
    uint16_t stream;
    bool     is_served;                   /* also if it is null */
};

struct zoo_program {
    const json_t *root;
    struct difference *diff;
    struct zoo_card card;
    struct policy_spec spec;
    struct policy  *policy;
    struct stream_name *streams;
    uint32_t n_streams;
    struct zoo_request *requests;         /* by id */
    size_t   n_requests;
    struct zoo_statistics statistics;
    bool     ignores_streams, is_stand_in;
    size_t   next_row;                    /* of the counters */
    char     where[256];                  /* the op under way */
};

bool zoo_is_case(const json_t *root)
{
    return json_object_get(root, "allocator") != NULL && json_object_get(root, "device_granularity") != NULL;
}

static uint64_t zoo_number(const json_t *array, size_t i)
{
    const json_int_t n = json_integer_value(json_array_get(array, i));
    return n < 0 ? 0 : (uint64_t)n;
}

/* ---- ops ---- */

static void zoo_statistics_add(struct zoo_statistics *s, uint64_t bytes)
{
    s->current_bytes += bytes;
    s->total_bytes += bytes;
    s->current_count++;
    s->total_count++;
    s->peak_bytes = s->current_bytes > s->peak_bytes ? s->current_bytes : s->peak_bytes;
    s->peak_count = s->current_count > s->peak_count ? s->current_count : s->peak_count;
}

static json_t *zoo_program_alloc(struct zoo_program *p, uint64_t id, uint16_t stream, uint64_t bytes, bool is_reserve)
{
    struct zoo_request *r = &p->requests[id];
    const struct event req = {.kind = EVENT_ALLOC, .slot = (uint32_t)id, .stream = stream, .bytes = bytes};
    const struct policy_ops *ops = p->policy->ops;
    *r = (struct zoo_request){.bytes = bytes, .stream = stream};
    enum err e = ERR_OK;
    if (bytes > 0)
        e = is_reserve ? ops->reserve(p->policy, &req, &r->block) : ops->alloc(p->policy, &req, &r->block);
    if (e == ERR_DEVICE_OOM)
        return json_string("oom");
    if (e != ERR_OK) {
        p->diff->is_short |= e == ERR_HOST_NOMEM;
        difference_note(p->diff, "%s: %s", p->where, err_text(e));
        return json_null();
    }
    r->is_served = true;
    zoo_statistics_add(&p->statistics, bytes);
    return bytes == 0 ? json_string("null") : zoo_card_place(&p->card, r->block.addr);
}

static json_t *zoo_program_free(struct zoo_program *p, uint64_t id, uint16_t stream)
{
    struct zoo_request *r = &p->requests[id];
    const struct event req = {.kind = EVENT_FREE, .slot = (uint32_t)id, .stream = stream, .bytes = r->bytes};
    if (r->is_served) {
        p->statistics.current_bytes -= r->bytes;
        p->statistics.current_count--;
    }
    if (r->block.bytes > 0)
        p->policy->ops->free(p->policy, &req, &r->block);
    *r = (struct zoo_request){0};
    return json_null();
}

static uint16_t zoo_stream(const struct zoo_program *p, const json_t *op, size_t i, uint16_t otherwise)
{
    if (p->ignores_streams || json_array_size(op) <= i)
        return p->ignores_streams ? 0 : otherwise;
    return (uint16_t)zoo_number(op, i);
}

static json_t *zoo_program_step(struct zoo_program *p, const json_t *op)
{
    const char *name = json_string_value(json_array_get(op, 0));
    const uint64_t id = zoo_number(op, 1);
    if (strcmp(name, "flush") == 0) {
        if (p->policy->ops->flush != NULL)
            p->policy->ops->flush(p->policy, json_array_size(op) > 1 ? (uint32_t)id : POLICY_ALL_STREAMS);
        return json_null();
    }
    if (id >= p->n_requests) {
        difference_note(p->diff, "%s: no such request", p->where);
        return json_null();
    }
    if (strcmp(name, "a") == 0)
        return zoo_program_alloc(p, id, zoo_stream(p, op, 2, 0), zoo_number(op, 3), false);
    if (strcmp(name, "r") == 0)
        return zoo_program_alloc(p, id, 0, zoo_number(op, 2), true);
    return zoo_program_free(p, id, zoo_stream(p, op, 2, p->requests[id].stream));
}

/* ---- counters ---- */

/* A counter that is looked for among those of a policy. */
struct zoo_counter {
    const char *name;
    int64_t     value;
    bool        is_found;
};

static void zoo_counter_see(void *arg, const char *key, int64_t value)
{
    struct zoo_counter *c = arg;
    if (strcmp(key, c->name) == 0) {
        c->value = value;
        c->is_found = true;
    }
}

static bool zoo_program_own_counter(const struct zoo_program *p, struct zoo_counter *c)
{
    const struct zoo_statistics *s = &p->statistics;
    const struct {
        const char *name;
        uint64_t    value;
    } own[] = {
        {"device_used", p->card.used_bytes}, {"host_held", p->card.used_bytes},
        {"current_bytes", s->current_bytes}, {"current_count", s->current_count},
        {"peak_bytes", s->peak_bytes},       {"peak_count", s->peak_count},
        {"total_bytes", s->total_bytes},     {"total_count", s->total_count},
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(c->name, own[i].name) == 0)
            zoo_counter_see(c, own[i].name, (int64_t)own[i].value);
    return c->is_found;
}

/* The policy's figure if it has one of that name. */
static void zoo_program_compare_counter(struct zoo_program *p, const char *name, const json_t *want)
{
    struct zoo_counter c = {.name = name};
    if (p->policy->ops->stats != NULL)
        p->policy->ops->stats(p->policy, zoo_counter_see, &c);
    if (!c.is_found && !zoo_program_own_counter(p, &c) && p->is_stand_in)
        return;
    if (!c.is_found)
        difference_note(p->diff, "%s: there is no counter %s", p->where, name);
    else if (c.value != json_integer_value(want))
        difference_note(p->diff, "%s: counter %s: expected %" JSON_INTEGER_FORMAT ", got %lld", p->where, name,
                        json_integer_value(want), (long long)c.value);
}

static void zoo_program_compare_counters(struct zoo_program *p, size_t op)
{
    const json_t *counters = json_object_get(p->root, "counters"), *names = json_object_get(counters, "names");
    const json_t *row = json_array_get(json_object_get(counters, "rows"), p->next_row);
    if (row == NULL || zoo_number(row, 0) != op)
        return;
    p->next_row++;
    for (size_t i = 1; i < json_array_size(names) && !p->diff->is_found; i++)
        zoo_program_compare_counter(p, json_string_value(json_array_get(names, i)), json_array_get(row, i));
}

/* ---- device calls ---- */

static bool zoo_call_is_free(const json_t *call)
{
    const char *name = json_string_value(json_array_get(call, 1));
    return name != NULL && strcmp(name, "free") == 0;
}

/* Puts the frees of one op that follow each other in order of their device blocks: MXNet walks a hash map. */
static json_t *zoo_calls_in_order(const json_t *calls)
{
    json_t *sorted = json_deep_copy(calls);
    for (size_t i = 1; i < json_array_size(sorted); i++)
        for (size_t k = i; k > 0; k--) {
            json_t *a = json_array_get(sorted, k - 1), *b = json_array_get(sorted, k);
            if (!zoo_call_is_free(a) || !zoo_call_is_free(b) || zoo_number(a, 0) != zoo_number(b, 0) ||
                zoo_number(a, 3) <= zoo_number(b, 3))
                break;
            json_incref(a);
            json_array_set(sorted, k - 1, b);
            json_array_set_new(sorted, k, a);
        }
    return sorted;
}

static void zoo_program_compare_calls(struct zoo_program *p)
{
    const json_t *want = json_object_get(p->root, "device");
    const char *allocator = json_string_value(json_object_get(p->root, "allocator"));
    if (strncmp(allocator, "mxnet", 5) != 0) {
        compare_values("device", want, json_incref(p->card.calls), p->diff);
        return;
    }
    json_t *sorted = zoo_calls_in_order(want);
    p->diff->is_short |= sorted == NULL;
    compare_values("device", sorted, zoo_calls_in_order(p->card.calls), p->diff);
    json_decref(sorted);
}

/* ---- the whole ---- */

static void zoo_program_check(struct zoo_program *p)
{
    struct err_detail err = {.text = ""};
    if (p->policy->ops->check != NULL && p->policy->ops->check(p->policy, &err) != ERR_OK)
        difference_note(p->diff, "%s: an invariant does not hold: %s", p->where, err.text);
}

static void zoo_program_run_ops(struct zoo_program *p)
{
    const json_t *ops = json_object_get(p->root, "ops"), *results = json_object_get(p->root, "results");
    const json_t *sizes = json_object_get(p->root, "chunk_sizes");
    for (size_t i = 0; i < json_array_size(ops) && !p->diff->is_found && !p->diff->is_short; i++) {
        const json_t *op = json_array_get(ops, i), *size = json_array_get(sizes, i);
        char *text = json_dumps(op, JSON_COMPACT);
        snprintf(p->where, sizeof p->where, "op %zu %s", i, text == NULL ? "" : text);
        free(text);
        p->card.op = (int64_t)i;
        compare_values(p->where, json_array_get(results, i), zoo_program_step(p, op), p->diff);
        if (json_is_integer(size) && !p->diff->is_found)
            compare_values(p->where, size, json_integer((json_int_t)p->requests[zoo_number(op, 1)].block.bytes),
                           p->diff);
        zoo_program_compare_counters(p, i);
        zoo_program_check(p);
    }
    zoo_program_compare_calls(p);
}

/* Counts streams and requests, and makes their tables. Handles rise with the stream's number. */
static enum err zoo_program_open_tables(struct zoo_program *p)
{
    const json_t *ops = json_object_get(p->root, "ops");
    uint64_t last_stream = 0, last_id = 0;
    for (size_t i = 0; i < json_array_size(ops); i++) {
        const json_t *op = json_array_get(ops, i);
        const char *name = json_string_value(json_array_get(op, 0));
        const bool is_flush = name != NULL && strcmp(name, "flush") == 0;
        const uint64_t id = is_flush ? 0 : zoo_number(op, 1);
        const uint64_t stream = name == NULL || strcmp(name, "r") == 0 ? 0 : zoo_number(op, is_flush ? 1 : 2);
        last_id = id > last_id ? id : last_id;
        last_stream = stream > last_stream ? stream : last_stream;
    }
    if (last_stream >= ZOO_STREAMS_MAX || last_id >= ZOO_ID_MAX)
        return ERR_FORMAT;
    p->n_streams = (uint32_t)last_stream + 1;
    p->n_requests = (size_t)last_id + 1;
    p->streams = calloc(p->n_streams, sizeof *p->streams);
    p->requests = calloc(p->n_requests, sizeof *p->requests);
    if (p->streams == NULL || p->requests == NULL)
        return ERR_HOST_NOMEM;
    for (uint32_t i = 0; i < p->n_streams; i++)
        p->streams[i] = (struct stream_name){.handle = i, .number = i};
    return ERR_OK;
}

/* Only CuPy and RMM look at the stream of a request. */
static bool zoo_ignores_streams(const char *allocator)
{
    return strncmp(allocator, "cupy", 4) != 0 && strncmp(allocator, "rmm", 3) != 0;
}

static enum err zoo_program_open(struct zoo_program *p, const char *policy, struct err_detail *err)
{
    static const struct pool_name shared_pool;
    enum err e = zoo_program_open_tables(p);
    if (e != ERR_OK)
        return err_set(err, e, 0, "%s", err_text(e));
    p->ignores_streams = zoo_ignores_streams(json_string_value(json_object_get(p->root, "allocator")));
    p->card.total_bytes = (uint64_t)json_integer_value(json_object_get(p->root, "device_total"));
    p->card.page_bytes = (uint64_t)json_integer_value(json_object_get(p->root, "device_granularity"));
    p->card.gap_bytes = (uint64_t)json_integer_value(json_object_get(p->root, "device_gap"));
    if ((e = zoo_card_open(&p->card, err)) != ERR_OK || (e = policy_spec_parse(policy, &p->spec, err)) != ERR_OK)
        return e;
    const struct policy_config cfg = {
        .device = p->card.device, .values = p->spec.values, .streams = p->streams, .n_streams = p->n_streams,
        .pools = &shared_pool,    .n_pools = 1,
    };
    return policy_create(p->spec.ops, &cfg, &p->policy, err);
}

enum err zoo_program_run(const json_t *root, const char *policy, bool is_stand_in, struct difference *diff,
                         struct err_detail *err)
{
    struct zoo_program p = {.root = root, .diff = diff, .is_stand_in = is_stand_in};
    enum err e = zoo_program_open(&p, policy, err);
    if (e == ERR_USAGE && is_stand_in) {
        difference_note(diff, "%s", err->text);
        e = ERR_OK;
    } else if (e == ERR_OK) {
        zoo_program_run_ops(&p);
        if (diff->is_short || p.card.is_short)
            e = err_no_memory(err);
    }
    policy_destroy(p.policy);
    if (p.card.device != NULL)
        zoo_card_close(&p.card);
    policy_spec_close(&p.spec);
    free(p.streams);
    free(p.requests);
    return e;
}
