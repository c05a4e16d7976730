/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Of runs that cannot differ one is run: what a report says of any of them is what it says of the same run alone, to
 * the byte, for cross products of settings and cards over random traces.
 */
#include "replay/trials/equal_runs.h"
#include "replay/results/result.h"
#include "report/rows/report.h"
#include "tests/drawn_options.h"
#include "tests/engine_rig.h"
#include "tests/random_draws.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TRACES = 16, EVENTS = 500, PTRS = 80, RUNS_MAX = 512 };

/* ---- traces ---- */

/* What a trace has; `bits` of its largest requests. */
struct contents {
    unsigned bits;
    bool has_start, has_settings, has_fractions, has_pools, has_refusals;
};

static void put(struct trace_writer *w, const struct trace_record *r)
{
    struct err_detail err = { .text = "" };
    cr_assert_eq(trace_put(w, r, &err), ERR_OK, "%s", err.text);
}

static void put_control(struct trace_writer *w, struct control c, uint64_t pool, uint64_t ptr)
{
    put(w, &(struct trace_record){ .kind = EVENT_CONTROL, .control = c, .pool = { 0, pool }, .ptr = ptr,
                                   .stream = c.kind == CONTROL_USE ? 64 : 0 });
}

/* Two segments, each with a live block and a free rest. */
static void put_start(struct trace_writer *w, uint64_t *names)
{
    static const uint64_t pool[2] = { 0, 0 };
    struct err_detail err = { .text = "" };
    for (uint64_t i = 1; i <= 2; i++)
        cr_assert_eq(trace_put_start_segment(w, &(struct trace_segment){ .addr = i << 30, .bytes = i * 20 * MIB }, 0,
                                             pool, &err), ERR_OK, "%s", err.text);
    for (uint64_t i = 1; i <= 2; i++) {
        const struct trace_block b = { .addr = i << 30, .bytes = 4 * MIB, .requested = 4 * MIB,
                                       .segment = (uint32_t)i - 1 };
        cr_assert_eq(trace_put_start_block(w, &b, true, 0, pool, &err), ERR_OK, "%s", err.text);
        names[i - 1] = i << 30;
    }
}

/* One record; names[i] is 0 where nothing of that number lives. */
static void put_random(struct trace_writer *w, const struct contents *c, uint64_t names[PTRS], uint64_t i,
                       uint64_t *random)
{
    const uint64_t at = random_below(random, PTRS), pool = c->has_pools && random_below(random, 4) == 0;
    struct trace_record r = { .kind = EVENT_ALLOC, .time_ns = i * 1000, .ptr = i + 1, .pool = { 0, pool },
                              .bytes = 1 + random_below(random, UINT64_C(1) << (c->bits - random_below(random, 8))),
                              .stream = random_below(random, 5) == 0 ? 64 : 0 };
    if (names[at] == 0) {
        names[at] = r.ptr;
        put(w, &r);
        return;
    }
    if (random_below(random, 10) == 0)
        put_control(w, (struct control){ .kind = CONTROL_USE }, 0, names[at]);
    r.kind = random_below(random, 20) == 0 ? EVENT_FREE_REQUESTED : EVENT_FREE;
    r.ptr = names[at];
    put(w, &r);
    if (r.kind == EVENT_FREE_REQUESTED && random_below(random, 2) == 0)
        put(w, &(struct trace_record){ .kind = EVENT_FLUSH, .time_ns = r.time_ns });
    if (r.kind == EVENT_FREE_REQUESTED)
        put(w, &(struct trace_record){ .kind = EVENT_FREE_COMPLETED, .time_ns = r.time_ns, .ptr = r.ptr });
    names[at] = 0;
    if (random_below(random, 80) == 0)
        put(w, &(struct trace_record){ .kind = EVENT_FLUSH, .time_ns = r.time_ns });
    if (c->has_refusals && random_below(random, 80) == 0)
        put(w, &(struct trace_record){ .kind = EVENT_OOM, .time_ns = r.time_ns, .bytes = 1 * GIB });
    if (c->has_settings && random_below(random, 80) == 0)
        put_control(w, (struct control){ .kind = CONTROL_SETTINGS, .text = "max_split_size_mb:24" }, 0, 0);
    if (c->has_fractions && random_below(random, 80) == 0)
        put_control(w, (struct control){ .kind = CONTROL_FRACTION, .number = 0.9 }, 0, 0);
}

static struct contents open_random(struct rig_trace *t, uint64_t *random)
{
    struct contents c = { .bits = 12 + (unsigned)random_below(random, 16), .has_start = random_below(random, 3) == 0,
                          .has_settings = random_below(random, 6) == 0, .has_fractions = random_below(random, 6) == 0,
                          .has_pools = random_below(random, 2) == 0, .has_refusals = random_below(random, 3) == 0 };
    struct err_detail err = { .text = "" };
    uint64_t names[PTRS] = { 0 };
    struct trace_writer *w;
    *t = (struct rig_trace){ .bytes = NULL };
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK, "%s", err.text);
    if (c.has_start)
        put_start(w, names);
    if (c.has_pools)
        put_control(w, (struct control){ .kind = CONTROL_POOL_CREATE, .flags = POOL_USE_ON_OOM }, 1, 0);
    for (uint64_t i = 0; i < EVENTS; i++)
        put_random(w, &c, names, i, random);
    cr_assert_eq(rig_trace_finish(t, w, &err), ERR_OK, "%s", err.text);
    return c;
}

/* ---- runs ---- */

struct runs {
    struct trace_reader *trace;
    struct replay_config cfg;
    struct policy_spec   spec[RUNS_MAX];
    struct device_choice device[RUNS_MAX];
    struct lane          idle[RUNS_MAX];
    char                *said[RUNS_MAX];         /* of each, by a report; NULL: not finished */
    size_t               n, n_run;
};

static char *report_of(const struct runs *r, size_t i, const struct lane *l)
{
    struct err_detail err = { .text = "" };
    struct report_run run;
    struct report report;
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    cr_assert_eq(result_gather(r->trace, "trace", NULL, NULL, l, 1, &r->device[i], &run, &report, &err), ERR_OK, "%s",
                 err.text);
    report_json(f, &report);
    cr_assert_eq(report_table(f, &report), ERR_OK);
    fprintf(f, "%" PRIu64 " events, until %" PRId64 " at %" PRIu64 " ns, addresses %d\n", l->events_done,
            l->stopped_at, l->stopped_ns, (int)l->device->cfg.addresses);
    fclose(f);
    result_close(&report);
    return text;
}

static enum err runs_replay(void *arg, struct lane *lanes, size_t n, struct err_detail *err)
{
    struct runs *r = arg;
    r->n_run += n;
    return replay_run(r->trace, lanes, n, &r->cfg, err);
}

static enum err runs_finished(void *arg, size_t i, const struct lane *l, struct err_detail *err)
{
    struct runs *r = arg;
    (void)err;
    cr_assert_null(r->said[i], "run %zu is finished twice", i);
    cr_assert_eq(l->spec, &r->spec[i]);
    r->said[i] = report_of(r, i, l);
    return ERR_OK;
}

static enum err runs_failed(void *arg, size_t i, enum err e, struct err_detail *err)
{
    (void)arg;
    cr_assert_fail("run %zu cannot be opened: %s, %s", i, err_name(e), err->text);
    return e;
}

/* Where there is no such policy on the trace, there is no run. */
static void runs_add(struct runs *r, const char *policy, const char *device)
{
    struct err_detail err = { .text = "" };
    cr_assert_lt(r->n, RUNS_MAX);
    cr_assert_eq(policy_spec_parse(policy, &r->spec[r->n], &err), ERR_OK, "%s: %s", policy, err.text);
    cr_assert_eq(device_choose(device, r->trace, &r->device[r->n], &err), ERR_OK, "%s: %s", device, err.text);
    if (lane_open_idle(&r->spec[r->n], r->device[r->n].ops, &r->device[r->n].config, r->trace, 0, &r->idle[r->n],
                       &err) == ERR_OK)
        r->n++;
    else
        policy_spec_close(&r->spec[r->n]);
}

static void runs_cross(struct runs *r, const char *version)
{
    static const char *const devices[] = { "sim:unlimited", "sim:2GiB,others=50MiB", "sim:1GiB", "sim:300MiB",
                                           "sim:1GiB,addresses=first-fit" };
    static const char *const splits[] = { "", ",max-split=64MiB", ",max-split=21MiB" };
    static const char *const collections[] = { "", ",gc=0.3", ",gc=0.8" };
    static const char *const limits[] = { "", ",fraction=0.5", ",limit-device" };
    static const char *const others[] = { "", ",expandable" };
    char policy[256];
    for (size_t d = 0; d < 5; d++)
        for (size_t i = 0; i < 3 * 3 * 3 * 2; i++) {
            snprintf(policy, sizeof policy, "pytorch:version=%s%s%s%s%s", version, splits[i % 3],
                     collections[i / 3 % 3], limits[i / 9 % 3], others[i / 27]);
            runs_add(r, policy, devices[d]);
        }
    for (size_t d = 0; d < 5; d++)
        runs_add(r, "none", devices[d]);
}

static void runs_close(struct runs *r)
{
    for (size_t i = 0; i < r->n; i++) {
        lane_close(&r->idle[i]);
        policy_spec_close(&r->spec[i]);
        free(r->said[i]);
    }
}

static void expect_as_alone(struct runs *r, size_t i, uint64_t seed)
{
    struct err_detail err = { .text = "" };
    struct lane l;
    cr_assert_eq(lane_open(&r->spec[i], r->device[i].ops, &r->device[i].config, r->trace, 0, &l, &err), ERR_OK);
    cr_assert_eq(replay_run(r->trace, &l, 1, &r->cfg, &err), ERR_OK, "%s", err.text);
    char *alone = report_of(r, i, &l);
    cr_assert_not_null(r->said[i], "seed %" PRIu64 ": %s on %s is not finished", seed, r->spec[i].typed,
                       r->device[i].typed);
    cr_assert_str_eq(r->said[i], alone, "seed %" PRIu64 ": %s on %s", seed, r->spec[i].typed, r->device[i].typed);
    free(alone);
    lane_close(&l);
}

/* Gives the number of runs that another's answered. */
static size_t expect_all_as_alone(uint64_t seed, struct contents *contents)
{
    static const char *const versions[] = { "2.15", "2.12", "2.9", "2.6", "2.3", "2.0", "npu" };
    static const enum oom_action actions[] = { OOM_STOP, OOM_SKIP, OOM_AS_RECORDED };
    static struct runs r;
    struct err_detail err = { .text = "" };
    struct rig_trace t;
    uint64_t random = seed;
    *contents = open_random(&t, &random);
    r = (struct runs){ .trace = t.reader, .cfg = { .threads = 1, .on_oom = actions[random_below(&random, 3)],
                                                   .start = random_below(&random, 2) ? START_FAITHFUL : START_FRESH } };
    runs_cross(&r, versions[seed % 7]);
    struct equal_runs equal = { .trace = t.reader, .n_at_once = 1 + random_below(&random, 40), .run = runs_replay,
                           .finished = runs_finished, .failed = runs_failed, .arg = &r };
    cr_assert_eq(equal_runs_run(&equal, r.idle, r.n, &err), ERR_OK, "seed %" PRIu64 ": %s", seed, err.text);
    cr_expect_eq(r.n_run + equal.n_repeated, r.n);
    for (size_t i = 0; i < r.n; i++)
        expect_as_alone(&r, i, seed);
    runs_close(&r);
    rig_trace_close(&t);
    return equal.n_repeated;
}

Test(equal_runs, a_run_that_another_answers_is_reported_as_it_is_alone)
{
    size_t n_plain = 0, n_start = 0, n_settings = 0;
    for (uint64_t seed = 1; seed <= TRACES; seed++) {
        struct contents c;
        const size_t n = expect_all_as_alone(seed, &c);
        cr_expect_gt(n, 0, "seed %" PRIu64, seed);
        n_settings += c.has_settings || c.has_fractions ? n : 0;
        n_start += c.has_start ? n : 0;
        n_plain += n;
    }
    printf("%zu runs answered by another, %zu on traces that start in mid-run, %zu with settings in it\n", n_plain,
           n_start, n_settings);
    cr_expect_gt(n_plain, 10 * TRACES);
    cr_expect_gt(n_start, 0);
}

/* ---- every option of every policy ---- */

/* The policy plain, and with two values of each of its options. */
static void runs_add_options(struct runs *r, const struct policy_ops *ops, const char *device)
{
    char policy[256];
    runs_add(r, ops->name, device);
    for (size_t i = 0; i < drawn_options_of(ops); i++) {
        const struct drawn_values v = drawn_values_of(ops, &ops->options[i]);
        for (size_t k = 0; k < 2 && k < v.n; k++) {
            snprintf(policy, sizeof policy, "%s:%s=%s", ops->name, ops->options[i].name, v.text[v.n - 1 - k]);
            runs_add(r, policy, device);
        }
    }
}

static void expect_options_as_alone(const struct policy_ops *ops, uint64_t seed)
{
    static struct runs r;
    struct err_detail err = { .text = "" };
    struct rig_trace t;
    uint64_t random = seed;
    open_random(&t, &random);
    r = (struct runs){ .trace = t.reader, .cfg = { .threads = 1, .on_oom = OOM_SKIP } };
    runs_add_options(&r, ops, "sim:8GiB");
    runs_add_options(&r, ops, "sim:300MiB");
    struct equal_runs equal = { .trace = t.reader, .n_at_once = 8, .run = runs_replay, .finished = runs_finished,
                           .failed = runs_failed, .arg = &r };
    cr_assert_eq(equal_runs_run(&equal, r.idle, r.n, &err), ERR_OK, "seed %" PRIu64 ": %s", seed, err.text);
    for (size_t i = 0; i < r.n; i++)
        expect_as_alone(&r, i, seed);
    runs_close(&r);
    rig_trace_close(&t);
}

Test(equal_runs, no_option_of_any_policy_is_answered_by_another_value)
{
    for (size_t i = 0; policy_at(i) != NULL; i++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            expect_options_as_alone(policy_at(i), seed);
}

/* ---- who may be answered ---- */

/* A policy that says nothing of it. */
Test(equal_runs, a_policy_that_does_not_say_is_run_each_time)
{
    static const struct trace_record records[] = {
        { .kind = EVENT_ALLOC, .ptr = 1, .bytes = 100 }, { .kind = EVENT_FREE, .ptr = 1 },
    };
    static struct runs r;
    struct err_detail err = { .text = "" };
    struct rig_trace t;
    cr_assert_eq(rig_trace_open(&t, records, 2, &err), ERR_OK, "%s", err.text);
    r = (struct runs){ .trace = t.reader, .cfg = { .threads = 1 }, .n = 3 };
    for (size_t i = 0; i < r.n; i++) {
        r.spec[i] = bump_spec(BUMP_SOUND, 0);
        cr_assert_eq(device_choose("sim:1GiB", t.reader, &r.device[i], &err), ERR_OK, "%s", err.text);
        cr_assert_eq(lane_open_idle(&r.spec[i], r.device[i].ops, &r.device[i].config, t.reader, 0, &r.idle[i], &err),
                     ERR_OK, "%s", err.text);
    }
    struct equal_runs equal = { .trace = t.reader, .n_at_once = 2, .run = runs_replay, .finished = runs_finished,
                           .failed = runs_failed, .arg = &r };
    cr_assert_eq(equal_runs_run(&equal, r.idle, r.n, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(r.n_run, 3);
    cr_expect_eq(equal.n_repeated, 0);
    for (size_t i = 0; i < r.n; i++) {
        lane_close(&r.idle[i]);
        free(r.said[i]);
    }
    rig_trace_close(&t);
}
