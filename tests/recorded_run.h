/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Replays a recording of PyTorch's and compares the policy's counters with PyTorch's own. Shared by the tests on
 * recordings.
 */
#ifndef REPLAY_TESTS_RECORDED_RUN_H
#define REPLAY_TESTS_RECORDED_RUN_H

#include "import/import.h"
#include "replay/results/single_run.h"
#include "tests/json_file.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static inline struct trace_reader *recorded_open(const char *path, int64_t gpu)
{
    const struct import_config cfg = {.gpu = gpu};
    struct trace_reader *trace = NULL;
    struct err_detail err = {0};
    cr_assert_eq(trace_open_any(path, NULL, &cfg, &trace, &err), ERR_OK, "%s: %s", path, err.text);
    return trace;
}

/* Opens a run on a device, to be replayed by recorded_run and closed by single_run_close. `conf`: settings text, "" or
 * NULL for none; `more`: options of ours ("version=2.4"), NULL for none. */
static inline void recorded_start_on(struct trace_reader *trace, const char *conf, const char *more, const char *device,
                                     struct single_run *run)
{
    const bool has_conf = conf != NULL && conf[0] != '\0';
    struct err_detail err = {0};
    char policy[1024];
    snprintf(policy, sizeof policy, "pytorch%s%s%s%s", has_conf || more != NULL ? ":" : "", more == NULL ? "" : more,
             has_conf && more != NULL ? "," : "", has_conf ? conf : "");
    cr_assert_eq(single_run_open(run, trace, policy, device, &err), ERR_OK, "%s on %s: %s", policy, device, err.text);
}

/* On a card of that size, whose order of addresses is the recording's to show. */
static inline void recorded_start(struct trace_reader *trace, const char *conf, const char *more, uint64_t total_bytes,
                                  struct single_run *run)
{
    char device[64];
    snprintf(device, sizeof device, "sim:%" PRIu64 ",packing=off", total_bytes);
    recorded_start_on(trace, conf, more, device, run);
}

static inline void recorded_run(struct single_run *run)
{
    const struct replay_config cfg = {.on_oom = OOM_AS_RECORDED, .threads = 1};
    struct err_detail err = {0};
    cr_assert_eq(single_run_replay(run, &cfg, &err), ERR_OK, "%s", err.text);
}

static inline void recorded_replay(struct trace_reader *trace, const char *conf, const char *more, uint64_t total_bytes,
                                   struct single_run *run)
{
    recorded_start(trace, conf, more, total_bytes, run);
    recorded_run(run);
}

static inline void recorded_take_stat(void *object, const char *key, int64_t value)
{
    json_object_set_new(object, key, json_integer(value));
}

/* The counters as {key: number}. The caller gives them to json_decref. */
static inline json_t *recorded_stats(const struct single_run *run)
{
    json_t *stats = json_object();
    run->lane.policy->ops->stats(run->lane.policy, recorded_take_stat, stats);
    return stats;
}

/* Expects every key of `want` for which `is_compared` (NULL: all), and no key that `want` lacks. Returns how many. */
static inline size_t recorded_expect_stats(json_t *want, const struct single_run *run,
                                           bool (*is_compared)(const char *key), const char *name)
{
    json_t *got = recorded_stats(run), *value;
    const char *key;
    char differs[1024] = "";
    size_t n = 0, used = 0;
    json_object_foreach(want, key, value) {
        const json_t *other = json_object_get(got, key);
        if (is_compared != NULL && !is_compared(key))
            continue;
        n++;
        if (!json_equal(value, other) && used < sizeof differs)
            used += (size_t)snprintf(differs + used, sizeof differs - used, "\n  %s: %" JSON_INTEGER_FORMAT
                                     ", and PyTorch says %" JSON_INTEGER_FORMAT, key, json_integer_value(other),
                                     json_integer_value(value));
    }
    cr_expect_str_eq(differs, "", "%s:%s", name, differs);
    cr_expect_eq(json_object_size(want), json_object_size(got), "%s: number of counters", name);
    json_decref(got);
    return n;
}

#endif
