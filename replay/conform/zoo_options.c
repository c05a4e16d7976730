/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* From the options of a golden case of the zoo to a policy as a person would type it. */
#include "replay/conform/zoo_program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ZOO_TEXT = 1024 };

/* A text under construction. */
struct zoo_text {
    char   at[ZOO_TEXT];
    size_t n;
    bool   has_items, is_broken;
};

PRINTF_LIKE(2, 3) static void zoo_put(struct zoo_text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(t->at + t->n, sizeof t->at - t->n, fmt, args);
    va_end(args);
    t->is_broken |= n < 0 || (size_t)n >= sizeof t->at - t->n;
    t->n += t->is_broken ? 0 : (size_t)n;
}

/* Begins an item: "name=". */
static void zoo_put_name(struct zoo_text *t, const char *name)
{
    zoo_put(t, "%c%s=", t->has_items ? ',' : ':', name);
    t->has_items = true;
}

static void zoo_put_number(struct zoo_text *t, const char *name, const json_t *value, const char *unit)
{
    zoo_put_name(t, name);
    if (json_is_integer(value))
        zoo_put(t, "%" JSON_INTEGER_FORMAT "%s", json_integer_value(value), unit);
    else
        zoo_put(t, "%.17g", json_number_value(value));
}

/* How a case's key is typed here. `word`: the value of 0, and of 1, for keys that are no numbers. */
struct zoo_key {
    const char *key, *option;
    const char *words[2];
};

static const struct zoo_key zoo_keys[] = {
    {"limit", "limit", {NULL}},
    {"limit_fraction", "limit-fraction", {NULL}},
    {"initial", "initial", {NULL}},
    {"maximum", "maximum", {NULL}},
    {"block", "block", {NULL}},
    {"count", "count", {NULL}},
    {"min_exp", "min-exp", {NULL}},
    {"max_exp", "max-exp", {NULL}},
    {"arena_size", "size", {NULL}},
    {"arena_extend_strategy", "extend", {"next-power-of-two", "same-as-requested"}},
    {"max_power_of_two_extend_bytes", "max-extend", {NULL}},
    {"initial_chunk_size_bytes", "initial", {NULL}},
    {"initial_growth_chunk_size_bytes", "growth", {NULL}},
    {"max_dead_bytes_per_chunk", "max-dead", {NULL}},
    {"max_mem", "limit", {NULL}},
    {"allow_growth", "growth", {"off", "on"}},
    {"gc", "gc", {"off", "on"}},
    {"frag_fraction", "frag-fraction", {NULL}},
    {"coalesce_regions", "coalesce-regions", {"off", "on"}},          /* off if a gap keeps them apart, below */
    {"chunk_size", "chunk", {NULL}},
    {"alignment", "alignment", {NULL}},
    {"extra_padding", "padding", {NULL}},
    {"free_idle_chunk", "free-idle", {"off", "on"}},
    {"free_when_no_cache_hit", "free-on-miss", {"off", "on"}},
    {"allow_free_idle_chunk", "allow-free", {"off", "on"}},
    {"small_pool_size_in_mb", "small-pool", {NULL}},
    {"small_pool_auto_growth_chunk_size_in_mb", "small-chunk", {NULL}},
    {"large_pool_auto_growth_chunk_size_in_mb", "large-chunk", {NULL}},
    {"small_pool_pre_alloc_in_mb", "small-pre-alloc", {NULL}},
    {"large_pool_pre_alloc_in_mb", "large-pre-alloc", {NULL}},
    {"pre_alloc", "pre-alloc", {"off", "on"}},
    {"reserve", "reserve", {NULL}},
    {"cutoff", "cutoff", {NULL}},
    {"large_round", "large-round", {NULL}},
};

static const struct zoo_key *zoo_find_key(const char *key)
{
    for (size_t i = 0; i < sizeof zoo_keys / sizeof zoo_keys[0]; i++)
        if (strcmp(zoo_keys[i].key, key) == 0)
            return &zoo_keys[i];
    return NULL;
}

static void zoo_put_options(struct zoo_text *t, json_t *options);

/* An RMM resource below this one. */
static void zoo_put_upstream(struct zoo_text *t, json_t *below)
{
    static const char *const kinds[] = {"pool", "fixed", "binning", "arena", "limiting"};
    const char *kind = json_string_value(json_object_get(below, "kind"));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kind != NULL && strcmp(kind, kinds[i]) == 0) {
            zoo_put_name(t, "upstream");
            zoo_put(t, "[rmm-%s", kind);
            t->has_items = false;
            zoo_put_options(t, below);
            zoo_put(t, "]");
            t->has_items = true;
        }
    if (kind != NULL && strcmp(kind, "logging") == 0 && json_object_get(below, "upstream") != NULL)
        zoo_put_upstream(t, json_object_get(below, "upstream"));
}

/* "bins=[3145728,5000]" */
static void zoo_put_bins(struct zoo_text *t, const json_t *bins)
{
    zoo_put_name(t, "bins");
    for (size_t i = 0; i < json_array_size(bins); i++)
        zoo_put(t, "%c%" JSON_INTEGER_FORMAT, i == 0 ? '[' : ',', json_integer_value(json_array_get(bins, i)));
    zoo_put(t, "]");
}

/* One setting of PyTorch's page-locked cache: "pinned_max_round_threshold_mb:16". */
static void zoo_put_conf(struct zoo_text *t, const char *conf)
{
    static const char *const settings[][2] = {
        {"pinned_max_round_threshold_mb:", "round-threshold"},
        {"pinned_max_cached_size_mb:", "cached-size"},
        {"pinned_reserve_segment_size_mb:", "reserve-segment"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        const size_t n = strlen(settings[i][0]);
        if (strncmp(conf, settings[i][0], n) != 0)
            continue;
        zoo_put_name(t, settings[i][1]);
        zoo_put(t, "%sMiB", conf + n);
        return;
    }
    t->is_broken = true;
}

static void zoo_put_options(struct zoo_text *t, json_t *options)
{
    const char *key;
    json_t *value;
    json_object_foreach(options, key, value) {
        const struct zoo_key *k = zoo_find_key(key);
        if (strcmp(key, "upstream") == 0)
            zoo_put_upstream(t, value);
        else if (strcmp(key, "bins") == 0)
            zoo_put_bins(t, value);
        else if (strcmp(key, "conf") == 0)
            zoo_put_conf(t, json_string_value(value));
        else if (k != NULL && !json_is_null(value) && k->words[0] != NULL && json_is_integer(value)) {
            zoo_put_name(t, k->option);
            zoo_put(t, "%s", k->words[json_integer_value(value) != 0]);
        } else if (k != NULL && !json_is_null(value)) {
            zoo_put_number(t, k->option, value, strstr(key, "_in_mb") != NULL ? "MiB" : "");
        }
    }
}

/* The policy of an allocator; an RMM case names its kind. */
static void zoo_put_policy(struct zoo_text *t, const json_t *root, const char *stand_in)
{
    static const char *const names[][2] = {
        {"cupy", "cupy"}, {"onnxruntime", "ort"}, {"tensorflow", "tf-bfc"}, {"paddle", "paddle"},
        {"mxnet", "mxnet"}, {"torch pinned", "torch-host"},
    };
    const char *allocator = json_string_value(json_object_get(root, "allocator"));
    const json_t *options = json_object_get(root, "options");
    const char *kind = json_string_value(json_object_get(options, "kind"));
    const char *type = json_string_value(json_object_get(options, "type"));
    if (stand_in != NULL)
        zoo_put(t, "%s", stand_in);
    else if (kind != NULL)
        zoo_put(t, strcmp(kind, "cuda") == 0 ? "none" : "rmm-%s", kind);
    for (size_t i = 0; kind == NULL && stand_in == NULL && i < sizeof names / sizeof names[0]; i++)
        if (strncmp(allocator, names[i][0], strlen(names[i][0])) == 0)
            zoo_put(t, "%s", names[i][1]);
    if (type != NULL) {
        zoo_put_name(t, "type");
        zoo_put(t, strcmp(type, "Naive") == 0 ? "naive" : strcmp(type, "Round") == 0 ? "round" : "unpooled");
    }
    if (json_object_get(root, "device_env") != NULL) {
        zoo_put_name(t, "order");
        zoo_put(t, "last-seen");
    }
}

/* Where a gap keeps the regions of a case apart, they are never coalesced. False without memory. */
static bool zoo_keep_apart(const json_t *root, json_t *options)
{
    const bool has_gap = json_integer_value(json_object_get(root, "device_gap")) > 0;
    return !has_gap || json_object_get(options, "coalesce_regions") == NULL ||
           json_object_set_new(options, "coalesce_regions", json_integer(0)) == 0;
}

enum err zoo_case_policy(const json_t *root, const char *stand_in, char **out, struct err_detail *err)
{
    struct zoo_text t = {.n = 0};
    json_t *options = json_object_get(root, "options");
    *out = NULL;
    zoo_put_policy(&t, root, stand_in);
    const bool is_kept_apart = zoo_keep_apart(root, options);
    zoo_put_options(&t, options);
    if (t.is_broken)
        return err_set(err, ERR_FORMAT, 0, "a case has options that are not known");
    *out = is_kept_apart ? strdup(t.at) : NULL;
    return *out == NULL ? err_no_memory(err) : ERR_OK;
}
