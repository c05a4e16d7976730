/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Runs a case: one function per kind of op, and a loop over them. */
#include "tests/golden/program.h"

#include "policies/pytorch/pytorch.h"
#include "policies/pytorch/pytorch_text.h"
#include "tests/golden/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum request_state { REQUEST_NONE, REQUEST_LIVE, REQUEST_EMPTY, REQUEST_FAILED };

struct request {
    enum request_state state;             /* EMPTY: of zero bytes, which gives no block */
    uint16_t     stream;                  /* dense */
    uint64_t     bytes;
    struct block block;
};

enum { PROGRAM_NESTED_MAX = 64 };

struct program {
    const struct golden_case *c;
    struct machine  m;
    struct difference *diff;
    struct request *requests;             /* by slot; after the case's own, two for each pool */
    char            where[200];           /* the op that runs now, for messages */
    uint32_t        n_captures;
    uint8_t         capture;              /* dense pool of the capture under way; 0: none */
    uint8_t         entered[PROGRAM_NESTED_MAX];   /* the user's pools whose regions are open, the innermost last */
    size_t          n_entered;
};

/* Tensors of this size are refused before the allocator is asked. Source: c10/cuda/CUDACachingAllocator.cpp. */
#define PROGRAM_TENSOR_MAX (UINT64_C(1) << 60)

static uint16_t program_stream(const struct program *p, const struct case_op *op)
{
    return machine_stream(&p->m, op->device, op->stream);
}

/* ---- requests ---- */

static struct event program_event(const struct request *r, uint32_t slot, enum event_kind kind)
{
    return (struct event){.bytes = r->bytes, .slot = slot, .stream = r->stream, .kind = (uint8_t)kind};
}

/* The answer to a request: where it was placed, or the error that the program would have seen. */
static json_t *program_request(struct program *p, uint32_t device, uint32_t slot, uint16_t stream, uint64_t bytes)
{
    struct machine_device *d = &p->m.device[device];
    struct request *r = &p->requests[slot];
    *r = (struct request){.state = REQUEST_LIVE, .stream = stream, .bytes = bytes};
    const struct event req = program_event(r, slot, EVENT_ALLOC);
    const enum err e = d->policy->ops->alloc(d->policy, &req, &r->block);
    if (e == ERR_OK)
        return machine_place(d, r->block.addr);
    r->state = REQUEST_FAILED;
    if (e != ERR_DEVICE_OOM) {
        difference_note(p->diff, "%s: the policy failed: %s", p->where, err_text(e));
        return json_null();
    }
    struct refusal refusal = {.type = "no type"};
    d->policy->ops->refusal(d->policy, &refusal);
    if (strcmp(refusal.type, "OutOfMemoryError") == 0)
        return json_pack("[s,s]", "oom", refusal.text);
    return json_pack("[s,s,s]", "error", refusal.type, refusal.text);
}

static void program_release(struct program *p, uint32_t device, uint32_t slot)
{
    struct machine_device *d = &p->m.device[device];
    struct request *r = &p->requests[slot];
    const struct event req = program_event(r, slot, EVENT_FREE);
    if (r->state == REQUEST_LIVE)
        d->policy->ops->free(d->policy, &req, &r->block);
    r->state = REQUEST_NONE;
}

static json_t *program_alloc(struct program *p, const struct case_op *op)
{
    struct request *r = &p->requests[op->slot];
    if (op->number == 0) {
        r->state = REQUEST_EMPTY;
        return json_pack("[i,i,i]", -1, 0, 0);
    }
    if (p->c->is_tensor && op->number >= PROGRAM_TENSOR_MAX) {
        struct refusal refusal = {0};
        pytorch_text_too_large(&refusal);
        r->state = REQUEST_FAILED;
        return json_pack("[s,s]", "oom", refusal.text);
    }
    return program_request(p, op->device, op->slot, program_stream(p, op), op->number);
}

static json_t *program_free(struct program *p, const struct case_op *op)
{
    if (p->requests[op->slot].state == REQUEST_FAILED)
        return json_string("skip");
    program_release(p, op->device, op->slot);
    return json_null();
}

/* ---- controls ---- */

/* Gives a control to one device's policy. A refusal is a difference. */
static void program_control(struct program *p, uint32_t device, const struct control *cmd, const struct block *b)
{
    struct policy *policy = p->m.device[device].policy;
    struct err_detail err = {0};
    const enum err e = policy->ops->control(policy, cmd, b, &err);
    if (e != ERR_OK)
        difference_note(p->diff, "%s: the policy refused: %s", p->where, err.text[0] == '\0' ? err_text(e) : err.text);
}

static json_t *program_control_all(struct program *p, enum control_kind kind)
{
    const struct control cmd = {.kind = (uint8_t)kind};
    for (uint32_t d = 0; d < p->c->n_devices; d++)
        program_control(p, d, &cmd, NULL);
    return json_null();
}

static json_t *program_use(struct program *p, const struct case_op *op)
{
    const struct request *r = &p->requests[op->slot];
    const struct control cmd = {.kind = CONTROL_USE, .slot = op->slot, .stream = program_stream(p, op)};
    if (r->state == REQUEST_FAILED)
        return json_string("skip");
    if (r->state == REQUEST_LIVE)
        program_control(p, op->device, &cmd, &r->block);
    return json_null();
}

static json_t *program_reset_peak(struct program *p, const struct case_op *op)
{
    (void)op;
    return program_control_all(p, CONTROL_RESET_PEAK);
}

static json_t *program_reset_accumulated(struct program *p, const struct case_op *op)
{
    (void)op;
    return program_control_all(p, CONTROL_RESET_ACCUMULATED);
}

static json_t *program_empty_cache(struct program *p, const struct case_op *op)
{
    (void)op;
    for (uint32_t d = 0; d < p->c->n_devices; d++)
        p->m.device[d].policy->ops->flush(p->m.device[d].policy, POLICY_ALL_STREAMS);
    return json_null();
}

/* Settings apply to all devices; the program sees the first refusal. */
static json_t *program_set_conf(struct program *p, const struct case_op *op)
{
    const struct control cmd = {.kind = CONTROL_SETTINGS, .text = op->text};
    struct err_detail err = {0};
    enum err e = ERR_OK;
    for (uint32_t d = 0; d < p->c->n_devices; d++) {
        struct policy *policy = p->m.device[d].policy;
        const enum err ours = policy->ops->control(policy, &cmd, NULL, e == ERR_OK ? &err : NULL);
        e = e == ERR_OK ? ours : e;
    }
    const char *type = json_string_value(json_array_get(op->answer, 1));
    const char *text = json_string_value(json_array_get(op->answer, 2));
    if (e == ERR_OK)
        return json_null();
    if (type == NULL || text == NULL)
        return json_string(err.text);
    compare_errors(p->where, type, text, err.text, p->diff);
    return json_deep_copy(op->answer);
}

static json_t *program_set_fraction(struct program *p, const struct case_op *op)
{
    const struct control cmd = {.kind = CONTROL_FRACTION, .number = op->ratio};
    program_control(p, 0, &cmd, NULL);
    return json_null();
}

static json_t *program_get_fraction(struct program *p, const struct case_op *op)
{
    (void)op;
    const uint64_t limit = ((const struct pytorch *)p->m.device[0].policy)->limit;
    return json_real(limit == PYTORCH_UNLIMITED ? 1.0 : (double)limit / (double)p->c->device_total_bytes);
}

/* ---- streams ---- */

static json_t *program_hold(struct program *p, const struct case_op *op)
{
    stream_queues_hold_all(p->m.queues, op->number != 0);
    return json_null();
}

static json_t *program_hold_stream(struct program *p, const struct case_op *op)
{
    stream_queues_hold(p->m.queues, program_stream(p, op), op->number != 0);
    return json_null();
}

static json_t *program_complete(struct program *p, const struct case_op *op)
{
    stream_queues_complete(p->m.queues, program_stream(p, op), op->number);
    return json_null();
}

static json_t *program_sync(struct program *p, const struct case_op *op)
{
    (void)op;
    stream_queues_sync(p->m.queues, 0, p->m.n_streams);
    return json_null();
}

/* ---- private pools; they and the captures are those of device 0 ---- */

static json_t *program_pool_control(struct program *p, enum control_kind kind, uint8_t pool, uint16_t stream,
                                    uint64_t flags)
{
    const struct control cmd = {.kind = (uint8_t)kind, .pool = pool, .stream = stream, .flags = flags};
    if (pool == 0)
        difference_note(p->diff, "%s: there is no such pool", p->where);
    else
        program_control(p, 0, &cmd, NULL);
    return json_null();
}

static json_t *program_new_pool(struct program *p, const struct case_op *op)
{
    const uint8_t pool = (uint8_t)p->m.n_pools_made++;
    const uint64_t *id = p->m.pool_name[pool].id;
    program_pool_control(p, CONTROL_POOL_CREATE, pool, 0, op->flags);
    return json_pack("[I,I]", (json_int_t)id[0], (json_int_t)id[1]);
}

/* Inside a pool region the snapshots of some releases show only the pool of the innermost region. */
static void program_show_pool(struct program *p)
{
    if (pytorch_rules_of(p->c->release).is_narrow_in_region)
        p->m.shown_pool = p->n_entered == 0 ? 0 : p->entered[p->n_entered - 1];
}

static json_t *program_begin_pool(struct program *p, const struct case_op *op)
{
    const uint8_t pool = machine_find_pool(&p->m, false, op->id);
    if (p->n_entered == PROGRAM_NESTED_MAX)
        difference_note(p->diff, "%s: more than %d nested regions", p->where, PROGRAM_NESTED_MAX);
    else
        p->entered[p->n_entered++] = pool;
    program_show_pool(p);
    return program_pool_control(p, CONTROL_POOL_ENTER, pool, 0, 0);
}

static json_t *program_end_pool(struct program *p, const struct case_op *op)
{
    const uint8_t pool = machine_find_pool(&p->m, false, op->id);
    size_t i = p->n_entered;
    while (i > 0 && p->entered[i - 1] != pool)
        i--;
    if (i > 0) {
        memmove(p->entered + i - 1, p->entered + i, p->n_entered - i);
        p->n_entered--;
    }
    program_show_pool(p);
    return program_pool_control(p, CONTROL_POOL_LEAVE, pool, 0, 0);
}

static json_t *program_drop_pool(struct program *p, const struct case_op *op)
{
    return program_pool_control(p, CONTROL_POOL_DROP, machine_find_pool(&p->m, false, op->id), 0, 0);
}

/* ---- graph captures ---- */

/* PyTorch itself makes two requests of 8 bytes when a capture begins: the state of the random-number generator. By
 * release (source: aten/src/ATen/cuda/CUDAGeneratorImpl.cpp): */
static const struct {
    enum torch_release first, last;
    bool is_at_each_capture;              /* or at the first one only */
    bool is_on_default_stream;            /* or on the one that is captured */
    bool is_freed_with_graph;             /* or never */
} program_states[] = {
    {TORCH_2_0, TORCH_2_3, true, false, false},
    {TORCH_2_4, TORCH_2_11, false, false, false},
    {TORCH_2_12, TORCH_2_13, true, true, true},
};

enum { PROGRAM_N_STATES = sizeof program_states / sizeof program_states[0], PROGRAM_STATE_BYTES = 8 };

/* The entry for the case's release; PROGRAM_N_STATES if it makes no such requests. */
static size_t program_state_rule(const struct program *p)
{
    size_t i = 0;
    while (i < PROGRAM_N_STATES &&
           (p->c->release < program_states[i].first || p->c->release > program_states[i].last))
        i++;
    return i;
}

static uint32_t program_state_slot(const struct program *p, uint8_t pool)
{
    return p->c->n_requests + 2u * pool;
}

/* Called before a capture begins and again as the first thing in it: requests on the default stream are made then. */
static void program_make_state(struct program *p, uint8_t pool, uint16_t stream, bool has_begun)
{
    const size_t rule = program_state_rule(p);
    if (rule == PROGRAM_N_STATES || has_begun != program_states[rule].is_on_default_stream ||
        (p->n_captures > 0 && !program_states[rule].is_at_each_capture))
        return;
    for (uint32_t i = 0; i < 2; i++)
        json_decref(program_request(p, 0, program_state_slot(p, pool) + i, has_begun ? 0 : stream,
                                    PROGRAM_STATE_BYTES));
    if (has_begun)
        stream_queues_sync(p->m.queues, 0, 1);           /* they are filled at once */
}

static void program_free_state(struct program *p, uint8_t pool)
{
    const size_t rule = program_state_rule(p);
    if (rule == PROGRAM_N_STATES || !program_states[rule].is_freed_with_graph)
        return;
    for (uint32_t i = 2; i-- > 0;)
        program_release(p, 0, program_state_slot(p, pool) + i);
}

static json_t *program_begin_capture(struct program *p, const struct case_op *op)
{
    const uint16_t stream = program_stream(p, op);
    p->capture = (uint8_t)p->m.n_pools_made++;
    program_make_state(p, p->capture, stream, false);
    json_t *answer = program_pool_control(p, CONTROL_CAPTURE_BEGIN, p->capture, stream, 0);
    program_make_state(p, p->capture, stream, true);
    p->n_captures++;
    return answer;
}

static json_t *program_end_capture(struct program *p, const struct case_op *op)
{
    (void)op;
    const uint8_t pool = p->capture;
    p->capture = 0;
    return program_pool_control(p, CONTROL_CAPTURE_END, pool, 0, 0);
}

static json_t *program_reset_graph(struct program *p, const struct case_op *op)
{
    const uint8_t pool = machine_find_pool(&p->m, true, op->id);
    if (pool != 0)
        program_free_state(p, pool);
    return program_pool_control(p, CONTROL_GRAPH_RESET, pool, 0, 0);
}

/* ---- reports ---- */

/* The snapshot's own record comes after what it shows. */
static json_t *program_snapshot(struct program *p, const struct case_op *op)
{
    (void)op;
    json_t *segments = machine_segments(&p->m);
    json_decref(program_control_all(p, CONTROL_SNAPSHOT));
    return segments;
}

static json_t *program_all_stats(const struct program *p)
{
    json_t *stats = json_array();
    for (uint32_t d = 0; d < p->c->n_devices; d++)
        json_array_append_new(stats, machine_stats(&p->m.device[d]));
    return stats;
}

static json_t *program_stats(struct program *p, const struct case_op *op)
{
    (void)op;
    return program_all_stats(p);
}

static json_t *program_summary(struct program *p, const struct case_op *op)
{
    (void)op;
    const struct machine_device *d = &p->m.device[0];
    return json_pack("[o,o]", machine_summary(d, false), machine_summary(d, true));
}

/* ---- the loop ---- */

/* Each function runs one op and returns its answer in the form of the cases. */
static json_t *(*const program_steps[OP_KINDS])(struct program *p, const struct case_op *op) = {
    [OP_ALLOC] = program_alloc,
    [OP_FREE] = program_free,
    [OP_USE] = program_use,
    [OP_HOLD] = program_hold,
    [OP_HOLD_STREAM] = program_hold_stream,
    [OP_COMPLETE] = program_complete,
    [OP_SYNC] = program_sync,
    [OP_EMPTY_CACHE] = program_empty_cache,
    [OP_RESET_PEAK] = program_reset_peak,
    [OP_RESET_ACCUMULATED] = program_reset_accumulated,
    [OP_SET_FRACTION] = program_set_fraction,
    [OP_GET_FRACTION] = program_get_fraction,
    [OP_SET_CONF] = program_set_conf,
    [OP_POOL_NEW] = program_new_pool,
    [OP_POOL_BEGIN] = program_begin_pool,
    [OP_POOL_END] = program_end_pool,
    [OP_POOL_DEL] = program_drop_pool,
    [OP_CAPTURE_BEGIN] = program_begin_capture,
    [OP_CAPTURE_END] = program_end_capture,
    [OP_GRAPH_RESET] = program_reset_graph,
    [OP_SNAPSHOT] = program_snapshot,
    [OP_STATS] = program_stats,
    [OP_SUMMARY] = program_summary,
};

static void program_check(struct program *p)
{
    for (uint32_t d = 0; d < p->c->n_devices; d++) {
        const struct policy *policy = p->m.device[d].policy;
        struct err_detail err = {0};
        if (policy->ops->check != NULL && policy->ops->check(policy, &err) != ERR_OK)
            difference_note(p->diff, "%s: an invariant of device %u does not hold: %s", p->where, d, err.text);
    }
}

static void program_run_ops(struct program *p)
{
    for (size_t i = 0; i < p->c->n_ops && !p->diff->is_found; i++) {
        const struct case_op *op = &p->c->ops[i];
        char *text = json_dumps(op->op, JSON_COMPACT);
        snprintf(p->where, sizeof p->where, "op %zu %s", i, text == NULL ? "" : text);
        free(text);
        if (!op->failed_outside)
            compare_values(p->where, op->answer, program_steps[op->kind](p, op), p->diff);
        machine_compare_counters(&p->m, op->counters, p->where);
        program_check(p);
    }
}

/* Compares what is recorded once, at the end. */
static void program_compare_end(struct program *p)
{
    json_t *records = json_array(), *summaries = json_array();
    for (uint32_t d = 0; d < p->c->n_devices; d++) {
        json_array_extend(records, p->m.device[d].trace);
        json_array_append_new(summaries, json_pack("{s:o, s:o}", "full", machine_summary(&p->m.device[d], false),
                                                   "abbreviated", machine_summary(&p->m.device[d], true)));
    }
    compare_values("device_log", case_field(p->c, "device_log"), json_incref(p->m.device_log), p->diff);
    compare_values("trace", case_field(p->c, "trace"), records, p->diff);
    compare_values("memory_stats", case_field(p->c, "memory_stats"), program_all_stats(p), p->diff);
    compare_values("segments", case_field(p->c, "segments"), machine_segments(&p->m), p->diff);
    compare_values("memory_summary", case_field(p->c, "memory_summary"), summaries, p->diff);
}

static void program_compare_refusal(const struct golden_case *c, enum err e, const char *text, struct difference *diff)
{
    const char *type = json_string_value(json_array_get(c->init_error, 0));
    const char *want = json_string_value(json_array_get(c->init_error, 1));
    if (e == ERR_OK)
        difference_note(diff, "init_error: the settings were accepted");
    else if (type == NULL || want == NULL)
        difference_note(diff, "the settings were refused: %s", text);
    else
        compare_errors("init_error", type, want, text, diff);
}

enum err program_run(const struct golden_case *c, struct difference *diff, struct err_detail *err)
{
    struct program p = {.c = c, .diff = diff};
    struct err_detail refusal = {0};
    enum err e = machine_open(c, diff, &p.m, &refusal);
    p.requests = calloc(c->n_requests + 2 * (size_t)p.m.n_pools + 2, sizeof *p.requests);
    if (e == ERR_USAGE || e == ERR_UNSUPPORTED || (e == ERR_OK && c->init_error != NULL)) {
        program_compare_refusal(c, e, refusal.text, diff);
        e = ERR_OK;
    } else if (e == ERR_OK && p.requests == NULL) {
        e = err_no_memory(&refusal);
    } else if (e == ERR_OK) {
        program_run_ops(&p);
        program_compare_end(&p);
    }
    if (e != ERR_OK && err != NULL)
        *err = refusal;
    free(p.requests);
    machine_close(&p.m);
    return e;
}
