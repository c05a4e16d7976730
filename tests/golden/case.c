/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reading a golden case: JSON, then a check of everything that the runner relies on. */
#include "tests/golden/case.h"

#include "base/event.h"

#include <stdlib.h>
#include <string.h>

#define CASE_OP_FORM(kind, op_name, op_arguments) {op_name, op_arguments},
static const struct {
    const char *name, *arguments;
} case_forms[OP_KINDS] = {CASE_OPS(CASE_OP_FORM)};
#undef CASE_OP_FORM

const json_t *case_field(const struct golden_case *c, const char *name)
{
    const json_t *v = json_object_get(c->root, name);
    return json_is_null(v) ? NULL : v;
}

/* A member that must be a whole number in [min, max]. */
static bool case_number(const json_t *v, uint64_t min, uint64_t max, uint64_t *out)
{
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return *out >= min && *out <= max;
}

static uint64_t case_pool_flags(const json_t *options)
{
    return (json_is_true(json_object_get(options, "no_split")) ? POOL_NO_SPLIT : 0u) |
           (json_is_true(json_object_get(options, "use_on_oom")) ? POOL_USE_ON_OOM : 0u);
}

/* Takes one argument of an op; false if it is not of the kind that the letter names. */
static bool case_take_argument(char letter, const json_t *v, struct case_op *op)
{
    uint64_t small = 0;
    switch (letter) {
    case 'i':
    case 'p':
        return case_number(v, 0, INT64_MAX, &op->id);
    case 's':
        if (!case_number(v, 0, CASE_STREAMS_MAX, &small))
            return false;
        op->stream = (uint32_t)small;
        return true;
    case 'D':
        if (!case_number(v, 0, CASE_DEVICES_MAX, &small))
            return false;
        op->device = (uint32_t)small;
        return true;
    case 'n':
        return case_number(v, 0, INT64_MAX, &op->number);
    case 'x':
        op->ratio = json_number_value(v);
        return json_is_number(v);
    case 't':
        op->text = json_string_value(v);
        return json_is_string(v);
    default:
        op->flags = case_pool_flags(v);
        return json_is_object(v);
    }
}

static bool case_letter_is_optional(char letter)
{
    return letter == 'D' || letter == 'O';
}

static bool case_parse_op(const json_t *json, struct case_op *op)
{
    const char *name = json_string_value(json_array_get(json, 0));
    op->op = json;
    op->kind = 0;
    while (name != NULL && op->kind < OP_KINDS && strcmp(case_forms[op->kind].name, name) != 0)
        op->kind++;
    if (name == NULL || op->kind == OP_KINDS)
        return false;
    const char *letter = case_forms[op->kind].arguments;
    size_t i = 1;
    for (; *letter != '\0' && i < json_array_size(json); letter++, i++)
        if (!case_take_argument(*letter, json_array_get(json, i), op))
            return false;
    return i == json_array_size(json) && (*letter == '\0' || case_letter_is_optional(*letter));
}

/* Whether the recorded answer is Python's own error: a release may lack a Python function, an argument of one, or an
 * object that the function would have made; or a fraction is out of range (torch/cuda/memory.py). */
static bool case_failed_outside(const struct case_op *op)
{
    static const char *const types[] = {"AttributeError", "KeyError", "TypeError"};
    const char *tag = json_string_value(json_array_get(op->answer, 0));
    const char *type = json_string_value(json_array_get(op->answer, 1));
    if (tag == NULL || type == NULL || strcmp(tag, "error") != 0)
        return false;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return op->kind == OP_SET_FRACTION;
}

static enum err case_parse_ops(struct golden_case *c, struct err_detail *err)
{
    const json_t *ops = case_field(c, "ops"), *results = case_field(c, "results");
    if (!json_is_array(ops))
        return err_at(err, ERR_FORMAT, 0, c->name, "no list of ops");
    c->n_ops = json_array_size(ops);
    if (c->init_error == NULL && json_array_size(results) != c->n_ops)
        return err_at(err, ERR_FORMAT, 0, c->name, "%zu ops but %zu results", c->n_ops, json_array_size(results));
    c->ops = calloc(c->n_ops + 1, sizeof *c->ops);
    if (c->ops == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < c->n_ops; i++) {
        const json_t *result = json_array_get(results, i);
        if (!case_parse_op(json_array_get(ops, i), &c->ops[i]))
            return err_at(err, ERR_FORMAT, i, c->name, "op %zu is none that is known", i);
        c->ops[i].answer = json_array_get(result, 0);
        c->ops[i].counters = json_array_get(result, 1);
        c->ops[i].failed_outside = case_failed_outside(&c->ops[i]);
    }
    return ERR_OK;
}

/* ---- requests become dense numbers ---- */

struct case_request {
    uint64_t id;
    size_t   op;                      /* the op that makes it */
    bool     is_freed;
};

static int case_compare_requests(const void *a, const void *b)
{
    const struct case_request *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static struct case_request *case_find_request(struct case_request *requests, size_t n, uint64_t id)
{
    const struct case_request key = {.id = id};
    return n == 0 ? NULL : bsearch(&key, requests, n, sizeof key, case_compare_requests);
}

/* Gives each op on a request its slot and device. */
static enum err case_link_ops(struct golden_case *c, struct case_request *requests, struct err_detail *err)
{
    for (size_t i = 0; i < c->n_ops; i++) {
        struct case_op *op = &c->ops[i];
        if (op->kind == OP_ALLOC || op->kind == OP_FREE || op->kind == OP_USE) {
            struct case_request *r = case_find_request(requests, c->n_requests, op->id);
            if (r == NULL || r->op > i || (op->kind == OP_ALLOC && r->op != i) || r->is_freed)
                return err_at(err, ERR_FORMAT, i, c->name, "op %zu names a request that is not live", i);
            r->is_freed = op->kind == OP_FREE;
            op->slot = (uint32_t)(r - requests);
            op->device = c->ops[r->op].device;
        }
        if (op->device >= c->n_devices || op->stream >= c->n_streams[op->device])
            return err_at(err, ERR_FORMAT, i, c->name, "op %zu names a device or stream that is not there", i);
    }
    return ERR_OK;
}

static enum err case_number_requests(struct golden_case *c, struct err_detail *err)
{
    struct case_request *requests = calloc(c->n_ops + 1, sizeof *requests);
    if (requests == NULL)
        return err_no_memory(err);
    size_t n = 0;
    for (size_t i = 0; i < c->n_ops; i++)
        if (c->ops[i].kind == OP_ALLOC)
            requests[n++] = (struct case_request){.id = c->ops[i].id, .op = i};
    qsort(requests, n, sizeof *requests, case_compare_requests);
    enum err e = ERR_OK;
    if (n > UINT32_MAX / 2)
        e = err_at(err, ERR_FORMAT, 0, c->name, "too many requests");
    for (size_t i = 1; i < n && e == ERR_OK; i++)
        if (requests[i].id == requests[i - 1].id)
            e = err_at(err, ERR_FORMAT, requests[i].op, c->name, "op %zu makes a request again", requests[i].op);
    c->n_requests = (uint32_t)n;
    if (e == ERR_OK)
        e = case_link_ops(c, requests, err);
    free(requests);
    return e;
}

/* ---- the rest ---- */

static enum err case_parse_streams(struct golden_case *c, struct err_detail *err)
{
    const json_t *devices = case_field(c, "streams");
    for (uint32_t d = 0; d < c->n_devices; d++) {
        const json_t *handles = json_array_get(devices, d);
        const size_t n = json_array_size(handles);
        c->n_streams[d] = n == 0 ? 1 : (uint32_t)n;          /* a case that ended at the start names none */
        if ((n == 0 && c->init_error == NULL) || n > CASE_STREAMS_MAX)
            return err_at(err, ERR_FORMAT, 0, c->name, "device %u has %zu streams", d, n);
        c->streams[d] = calloc(c->n_streams[d], sizeof *c->streams[d]);
        if (c->streams[d] == NULL)
            return err_no_memory(err);
        for (size_t i = 0; i < n; i++)
            if (!case_number(json_array_get(handles, i), 0, INT64_MAX, &c->streams[d][i]))
                return err_at(err, ERR_FORMAT, 0, c->name, "stream %zu of device %u has no handle", i, d);
    }
    return ERR_OK;
}

/* Which variable counts: the CUDA name if it is set, else the general one where the release reads it. */
static const char *case_settings_text(const struct golden_case *c)
{
    static const char general[] = "PYTORCH_ALLOC_CONF";
    const json_t *variable = case_field(c, "conf_var"), *env = case_field(c, "env");
    const char *conf = json_string_value(case_field(c, "conf"));
    const bool has_general = pytorch_rules_of(c->release).reads_general_name;
    if (variable != NULL && strcmp(json_string_value(variable), general) == 0)
        return has_general ? conf : NULL;
    if (conf == NULL && has_general)
        return json_string_value(json_object_get(env, general));
    return conf;
}

static void case_parse_environment(struct golden_case *c)
{
    const json_t *env = case_field(c, "env");
    const char *uncached = json_string_value(json_object_get(env, "PYTORCH_NO_CUDA_MEMORY_CACHING"));
    const char *overhead = json_string_value(json_object_get(env, "FAKECUDA_OVERHEAD"));
    c->is_uncached =
        uncached != NULL && (pytorch_rules_of(c->release).has_any_nocache || strcmp(uncached, "1") == 0);
    c->overhead_bytes = overhead == NULL ? 0 : strtoull(overhead, NULL, 10);
    c->conf = case_settings_text(c);
}

static enum err case_parse_head(struct golden_case *c, const char *path, struct err_detail *err)
{
    const json_t *fraction = case_field(c, "fraction"), *via = case_field(c, "alloc_via");
    uint64_t n_devices;
    c->name = json_string_value(case_field(c, "case"));
    c->torch = json_string_value(case_field(c, "torch"));
    c->init_error = case_field(c, "init_error");
    if (c->name == NULL || c->torch == NULL || !torch_release_find(c->torch, &c->release))
        return err_at(err, ERR_FORMAT, 0, path, "not a golden case: no name, or no known release");
    if (!case_number(case_field(c, "device_total"), 1, INT64_MAX, &c->device_total_bytes) ||
        !case_number(case_field(c, "devices"), 1, CASE_DEVICES_MAX, &n_devices))
        return err_at(err, ERR_FORMAT, 0, c->name, "no device_total, or no devices");
    const json_t *variable = case_field(c, "conf_var");
    if (variable != NULL && !json_is_string(variable))
        return err_at(err, ERR_FORMAT, 0, c->name, "conf_var is no text");
    c->n_devices = (uint32_t)n_devices;
    c->is_tensor = json_is_string(via) && strcmp(json_string_value(via), "tensor") == 0;
    c->has_fraction = json_is_number(fraction);
    c->fraction = json_number_value(fraction);
    case_parse_environment(c);
    return ERR_OK;
}

enum err case_parse(json_t *root, const char *path, struct golden_case *out, struct err_detail *err)
{
    struct golden_case c = {.root = json_incref(root), .turned_rule = -1};
    enum err e = case_parse_head(&c, path, err);
    if (e == ERR_OK)
        e = case_parse_streams(&c, err);
    if (e == ERR_OK)
        e = case_parse_ops(&c, err);
    if (e == ERR_OK && c.init_error == NULL)
        e = case_number_requests(&c, err);
    if (e == ERR_OK)
        *out = c;
    else
        case_close(&c);
    return e;
}

enum err case_read(const char *path, struct golden_case *out, struct err_detail *err)
{
    json_t *root;
    enum err e = case_load(path, &root, err);
    if (e != ERR_OK)
        return e;
    e = case_parse(root, path, out, err);
    json_decref(root);
    return e;
}

void case_close(struct golden_case *c)
{
    for (uint32_t d = 0; d < CASE_DEVICES_MAX; d++)
        free(c->streams[d]);
    free(c->ops);
    json_decref(c->root);
}
