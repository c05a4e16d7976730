/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The host's memory may run out at any call for it: whatever was under way says so, or does without, and leaves nothing
 * behind. Each piece of work here is done over and over, and each time the next of its calls for memory is refused;
 * that nothing is left, and nothing touched that is not there, the sanitizers see.
 */
#include "base/units.h"
#include "import/import.h"
#include "policies/spec.h"
#include "replay/engine/engine.h"
#include "replay/results/lane_lives.h"
#include "replay/results/result.h"
#include "replay/results/trace_lives.h"
#include "replay/recording/recorded_release.h"
#include "replay/recording/verify.h"
#include "report/rows/verdict.h"
#include "tests/random_draws.h"
#include "loads/load.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- calls for memory, by way of the linker's --wrap ---- */

static bool     is_counting, is_refusing_on;         /* from the refused call on, or that one only */
static uint64_t n_calls, refused_call;               /* from 1; 0: none */
static uint64_t asked_bytes;                         /* of all calls; what was given back counts, too */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);

static bool is_refused(size_t bytes)
{
    if (!is_counting)
        return false;
    n_calls++;
    asked_bytes += bytes;
    return refused_call > 0 && (n_calls == refused_call || (is_refusing_on && n_calls > refused_call));
}

void *__wrap_malloc(size_t n)
{
    return is_refused(n) ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return is_refused(n * size) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return is_refused(n) ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
    return is_refused(strlen(s) + 1) ? NULL : __real_strdup(s);
}

/* ---- work, with each of its calls refused in turn ---- */

/* What came of it: an error, or figures by which two runs are told apart. */
struct outcome {
    enum err e;
    uint64_t figures[4];
};

typedef struct outcome (*work)(void *arg);

static struct outcome work_refused(work w, void *arg, uint64_t call, bool is_on)
{
    n_calls = 0;
    refused_call = call;
    is_refusing_on = is_on;
    is_counting = true;
    const struct outcome o = w(arg);
    is_counting = false;
    return o;
}

/* Refuses call after call, and then each with all that follow, until the work has no more of them. */
static void expect_no_memory_is_survived(work w, void *arg, const char *name)
{
    const struct outcome whole = work_refused(w, arg, 0, false);
    const uint64_t n = n_calls;
    uint64_t n_failed = 0;
    cr_assert_eq(whole.e, ERR_OK, "%s", name);
    cr_assert_gt(n, 0);
    for (uint64_t call = 1; call <= 2 * n; call++) {
        const bool is_on = call > n;
        const struct outcome o = work_refused(w, arg, is_on ? call - n : call, is_on);
        n_failed += o.e != ERR_OK;
        if (o.e == ERR_OK)
            cr_expect(memcmp(o.figures, whole.figures, sizeof o.figures) == 0,
                      "%s: call %" PRIu64 " of %" PRIu64 " refused: another outcome", name, call, n);
        else
            cr_expect_eq(o.e, ERR_HOST_NOMEM, "%s: call %" PRIu64 " of %" PRIu64 " refused: %s", name, call, n,
                         err_text(o.e));
    }
    cr_expect_gt(n_failed, 0);
    cr_log_info("%s: %" PRIu64 " calls, %" PRIu64 " of %" PRIu64 " runs ended by one", name, n, n_failed, 2 * n);
}

/* ---- a program with streams, pools, captures and settings ---- */

enum { N_REQUESTS = 400, N_PTRS = 60 };
static const uint64_t streams[] = {0, 0xabc, 0xdef};
static const uint64_t pools[][2] = {{0, 0}, {0, 1}, {1, 0}, {0, 2}};      /* nobody says that the last is made */

static void put(struct trace_writer *w, const struct trace_record *r)
{
    struct err_detail err = {.text = ""};
    cr_assert_eq(trace_put(w, r, &err), ERR_OK, "%s", err.text);
}

static void put_control(struct trace_writer *w, struct control c, unsigned pool, unsigned stream, uint64_t ptr)
{
    put(w, &(struct trace_record){.kind = EVENT_CONTROL, .ptr = ptr, .stream = streams[stream],
                                  .pool = {pools[pool][0], pools[pool][1]}, .record = TRACE_NO_RECORD, .control = c});
}

/* A request or what becomes of one. `live`, by pointer: 0 none, 1 live, 2 its free waits for its completion. */
static void put_request(struct trace_writer *w, uint64_t random, unsigned n_open, uint8_t *live)
{
    const uint64_t ptr = 1 + random % N_PTRS;
    struct trace_record r = {.kind = EVENT_ALLOC, .ptr = ptr, .record = TRACE_NO_RECORD};
    uint8_t *state = &live[ptr];
    if (*state == 0) {
        const unsigned pool = (unsigned)(random >> 8) % n_open;
        *state = 1;
        r.bytes = UINT64_C(1) << (9 + (random >> 16) % 16) | (random >> 32 & 0xfff);
        r.stream = streams[(random >> 24) % 3];
        memcpy(r.pool, pools[pool], sizeof r.pool);
    } else if (*state == 1 && (random >> 40) % 4 == 0) {
        put_control(w, (struct control){.kind = CONTROL_USE}, 0, (unsigned)(random >> 24) % 3, ptr);
        return;
    } else if (*state == 1 && (random >> 40) % 4 == 1) {
        *state = 2;
        r.kind = EVENT_FREE_REQUESTED;
    } else {
        r.kind = *state == 2 ? EVENT_FREE_COMPLETED : EVENT_FREE;
        *state = 0;
    }
    put(w, &r);
}

static void put_program(struct trace_writer *w)
{
    uint8_t live[N_PTRS + 1] = {0};
    uint64_t random = 7;
    for (int i = 0; i < N_REQUESTS; i++) {
        if (i == 50)
            put_control(w, (struct control){.kind = CONTROL_POOL_CREATE}, 1, 0, 0);
        if (i == 150)
            put_control(w, (struct control){.kind = CONTROL_CAPTURE_BEGIN}, 2, 1, 0);
        if (i == 200)
            put_control(w, (struct control){.kind = CONTROL_CAPTURE_END}, 2, 0, 0);
        if (i == 250)
            put(w, &(struct trace_record){.kind = EVENT_FLUSH, .record = TRACE_NO_RECORD});
        if (i == 300)
            put_control(w, (struct control){.kind = CONTROL_SETTINGS, .text = "max_split_size_mb:64"}, 0, 0, 0);
        const unsigned n_open = i < 50 ? 1 : i < 150 ? 2 : i < 220 ? 3 : 4;
        put_request(w, random_next(&random), n_open, live);
    }
    put_control(w, (struct control){.kind = CONTROL_GRAPH_RESET}, 2, 0, 0);
    put_control(w, (struct control){.kind = CONTROL_POOL_DROP}, 1, 0, 0);
}

struct program {
    void                *bytes;
    size_t               n;
    struct trace_reader *in;         /* where the trace is not what is under test */
    struct policy_spec   spec;
};

static void program_open(struct program *p, void (*put_all)(struct trace_writer *))
{
    struct err_detail err = {.text = ""};
    struct trace_writer *w;
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK, "%s", err.text);
    put_all(w);
    cr_assert_eq(trace_finish_bytes(w, &p->bytes, &p->n, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(trace_open_bytes(p->bytes, p->n, &p->in, &err), ERR_OK, "%s", err.text);
}

static void program_close(struct program *p)
{
    trace_close(p->in);
    free(p->bytes);
}

/* The work with a program under each of the policies. */
static void expect_all_survive(work w, void (*put_all)(struct trace_writer *), const char *const specs[], size_t n)
{
    struct err_detail err = {.text = ""};
    struct program p;
    program_open(&p, put_all);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(policy_spec_parse(specs[i], &p.spec, &err), ERR_OK, "%s", err.text);
        expect_no_memory_is_survived(w, &p, specs[i]);
        policy_spec_close(&p.spec);
    }
    program_close(&p);
}

/* ---- the promises ---- */

static struct outcome replay_on(const struct program *p, const struct device_config *card)
{
    const struct device_config device = *card;
    const struct replay_config cfg = {.threads = 1, .audit = true};
    struct err_detail err = {.text = ""};
    struct lane l;
    struct outcome o = {.e = lane_open(&p->spec, &device_sim, &device, p->in, 0, &l, &err)};
    if (o.e != ERR_OK)
        return o;
    o.e = replay_run(p->in, &l, 1, &cfg, &err);
    if (o.e == ERR_OK)
        o.e = l.outcome;
    o.figures[0] = l.meter.peak.reserved;
    o.figures[1] = l.meter.allocs;
    o.figures[2] = l.meter.frees;
    lane_close(&l);
    return o;
}

static struct outcome replay_once(void *arg)
{
    const struct device_config device = device_defaults();
    return replay_on(arg, &device);
}

static struct outcome replay_on_a_small_card(void *arg)
{
    struct device_config device = device_defaults();
    device.total_bytes = 48 << 20;
    return replay_on(arg, &device);
}

struct lives_watch {
    struct lane_watch base;
    struct lane_lives lives;
};

static void watch_lives(struct lane_watch *w, const struct lane *l, const struct event *ev, uint64_t done)
{
    lane_lives_event(&((struct lives_watch *)w)->lives, l, ev, done);
}

/* What a page draws of a run. */
static struct outcome draw_once(void *arg)
{
    struct program *p = arg;
    const struct device_config device = device_defaults();
    const struct replay_config cfg = {.threads = 1};
    struct err_detail err = {.text = ""};
    struct lives_watch w = {.base.event = watch_lives};
    struct trace_lives t;
    struct lane l = {.spec = NULL};
    struct outcome o = {.e = trace_lives_read(p->in, NULL, &t, &err)};
    if (o.e == ERR_OK)
        o.e = lane_open(&p->spec, &device_sim, &device, p->in, 0, &l, &err);
    if (o.e == ERR_OK) {
        l.watch = &w.base;
        o.e = lane_lives_open(&w.lives, &l, &t.requests);
    }
    if (o.e == ERR_OK)
        o.e = replay_run(p->in, &l, 1, &cfg, &err);
    if (o.e == ERR_OK && (o.e = l.outcome) == ERR_OK)
        o.e = lane_lives_finish(&w.lives);
    o.figures[0] = t.requests.n;
    o.figures[1] = w.lives.memory.n;
    lane_close(&l);
    lane_lives_close(&w.lives);
    trace_lives_close(&t);
    return o;
}

Test(host_memory, a_drawing_without_memory_says_so_and_ends)
{
    static const char *const specs[] = {"pytorch", "pytorch:expandable", "none"};
    expect_all_survive(draw_once, put_program, specs, sizeof specs / sizeof specs[0]);
}

Test(host_memory, a_replay_without_memory_says_so_and_ends)
{
    static const char *const specs[] = {"pytorch", "pytorch:expandable", "pytorch:gc=0.5,fraction=0.9",
                                        "pytorch:version=2.4.1,roundup=4", "pytorch:max-split=21MiB", "none"};
    expect_all_survive(replay_once, put_program, specs, sizeof specs / sizeof specs[0]);
}

/* A request that fits only once what was freed before it is given back. */
static void put_growing(struct trace_writer *w)
{
    for (uint64_t ptr = 1; ptr <= 2; ptr++) {
        put(w, &(struct trace_record){ .kind = EVENT_ALLOC, .ptr = ptr, .bytes = (20 + 10 * ptr) << 20 });
        put(w, &(struct trace_record){ .kind = EVENT_FREE, .ptr = ptr });
    }
}

Test(host_memory, a_policy_that_has_none_to_give_back_with_refuses_nothing)
{
    static const char *const specs[] = {"pytorch", "pytorch:gc=0.5,fraction=0.95", "tf-bfc", "cupy", "first-fit",
                                        "paddle"};
    expect_all_survive(replay_on_a_small_card, put_growing, specs, sizeof specs / sizeof specs[0]);
}

/* A stream for each request, which is freed at once. */
enum { N_STREAMS = 4000, STREAM_BYTES_MOST = 1500 };

static void put_streams(struct trace_writer *w)
{
    for (unsigned i = 0; i < N_STREAMS; i++) {
        struct trace_record r = {.kind = EVENT_ALLOC, .ptr = 1, .bytes = 512, .stream = i, .record = TRACE_NO_RECORD};
        put(w, &r);
        r.kind = EVENT_FREE;
        put(w, &r);
    }
}

Test(host_memory, a_stream_with_one_free_block_takes_little)
{
    static const char *const specs[] = {"pytorch", "cupy", "paddle", "rmm-pool", "cuda-async"};
    struct err_detail err = {.text = ""};
    struct program p;
    program_open(&p, put_streams);
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        cr_assert_eq(policy_spec_parse(specs[i], &p.spec, &err), ERR_OK, "%s", err.text);
        asked_bytes = 0;
        const struct outcome o = work_refused(replay_once, &p, 0, false);
        cr_expect_eq(o.e, ERR_OK, "%s: %s", specs[i], err_text(o.e));
        cr_expect_leq(asked_bytes, UINT64_C(1) * N_STREAMS * STREAM_BYTES_MOST, "%s: %" PRIu64 " bytes per stream",
                      specs[i], asked_bytes / N_STREAMS);
        policy_spec_close(&p.spec);
    }
    program_close(&p);
}

static struct outcome parse_once(void *arg)
{
    struct err_detail err = {.text = ""};
    struct policy_spec spec;
    const struct outcome o = {.e = policy_spec_parse(arg, &spec, &err)};
    if (o.e == ERR_OK)
        policy_spec_close(&spec);
    return o;
}

Test(host_memory, a_spec_without_memory_says_so)
{
    static char text[] = "max_split_size_mb:128,garbage_collection_threshold:0.8";
    static char options[] = "pytorch:max-split=32MiB,roundup=[1:4,>:8],fraction=0.5";
    expect_no_memory_is_survived(parse_once, text, text);
    expect_no_memory_is_survived(parse_once, options, options);
}

/* All that a reader has; figures: how many events, and sums over them and over what stands beside them. */
static struct outcome read_all(struct trace_reader *r)
{
    struct err_detail err = {.text = ""};
    struct outcome o = {.e = ERR_OK};
    const struct event *ev;
    const struct trace_segment_event *segments;
    size_t n_segments = 0;
    for (size_t n = 1; o.e == ERR_OK && n > 0;) {
        o.e = trace_next(r, &ev, &n, &err);
        for (size_t i = 0; o.e == ERR_OK && i < n; i++) {
            o.figures[0]++;
            o.figures[1] = o.figures[1] * 31 + ev[i].bytes + ev[i].kind;
        }
    }
    for (uint64_t i = 0; o.e == ERR_OK && i < trace_info(r)->events; i++) {
        struct trace_side side;
        o.e = trace_side_at(r, i, &side, &err);
        if (o.e == ERR_OK)
            o.figures[2] = o.figures[2] * 31 + side.addr + side.record;
    }
    if (o.e == ERR_OK)
        o.e = trace_segment_events(r, &segments, &n_segments, &err);
    o.figures[3] = n_segments;
    return o;
}

static struct outcome read_once(void *arg)
{
    const struct program *p = arg;
    struct err_detail err = {.text = ""};
    struct trace_reader *r;
    struct outcome o = {.e = trace_open_bytes(p->bytes, p->n, &r, &err)};
    if (o.e != ERR_OK)
        return o;
    o = read_all(r);
    trace_close(r);
    return o;
}

Test(host_memory, a_trace_that_is_read_without_memory_says_so)
{
    struct program p;
    program_open(&p, put_program);
    expect_no_memory_is_survived(read_once, &p, "a native trace");
    program_close(&p);
}

static struct outcome write_once(void *arg)
{
    struct err_detail err = {.text = ""};
    struct trace_writer *w;
    void *bytes;
    size_t n = 0;
    struct outcome o = {.e = trace_create(NULL, &w, &err)};
    if (o.e != ERR_OK)
        return o;
    o.e = load_make(arg, 3000, 1, w, &err);
    if (o.e != ERR_OK) {
        trace_abandon(w);
        return o;
    }
    o.e = trace_finish_bytes(w, &bytes, &n, &err);
    if (o.e == ERR_OK)
        free(bytes);
    return o;
}

Test(host_memory, a_trace_that_is_written_without_memory_says_so)
{
    static char kind[] = "mix:100";
    expect_no_memory_is_survived(write_once, kind, "a generated trace");
}

static struct outcome import_once(void *arg)
{
    const struct import_config cfg = {.gpu = -1};
    struct err_detail err = {.text = ""};
    struct trace_reader *r;
    struct outcome o = {.e = trace_open_any(arg, NULL, &cfg, &r, &err)};
    if (o.e != ERR_OK)
        return o;
    o = read_all(r);
    trace_close(r);
    return o;
}

Test(host_memory, a_snapshot_that_is_imported_without_memory_says_so)
{
    static char pickle[] = TEST_DATA "/layouts/2.15.0.pickle", old[] = TEST_DATA "/layouts/2.0.1.pickle";
    static char page[] = TEST_DATA "/layouts/2.15.0-trace_plot.html";
    expect_no_memory_is_survived(import_once, pickle, "2.15.0.pickle");
    expect_no_memory_is_survived(import_once, old, "2.0.1.pickle");
    expect_no_memory_is_survived(import_once, page, "2.15.0-trace_plot.html");
}

static struct outcome verify_once(void *trace)
{
    const struct verify_options options = {0};
    struct err_detail err = {.text = ""};
    struct verify_report report;
    const char *release = NULL;
    struct outcome o = {.e = verify_trace(trace, &options, &report, &err)};
    if (o.e == ERR_OK)
        o.e = recorded_release(trace, &release, &err);
    if (o.e == ERR_OK)
        o = (struct outcome){.figures = {report.following.placements.equal, report.free_running.placements.equal,
                                         report.free_running.segments.equal, (uint64_t)strtol(release + 2, NULL, 10)}};
    return o;
}

Test(host_memory, a_comparison_with_the_record_without_memory_says_so)
{
    const struct import_config cfg = {.gpu = -1};
    struct err_detail err = {.text = ""};
    struct trace_reader *r;
    cr_assert_eq(trace_open_any(TEST_DATA "/layouts/2.15.0.pickle", NULL, &cfg, &r, &err), ERR_OK, "%s", err.text);
    expect_no_memory_is_survived(verify_once, r, "2.15.0.pickle");
    trace_close(r);
}

/* ---- what is said of finished runs ---- */

static const char one_run[] =
    "{\"schema\": \"replay/1\", \"trace\": {\"path\": \"a.trace\", \"events\": 12}, \"runs\": ["
    "{\"policy\": \"none\", \"device\": \"sim:1GiB\", \"outcome\": \"ok\", \"device_time_ns\": 5000000,"
    " \"peak\": {\"requested_bytes\": 100, \"reserved_bytes\": 200}}]}";

/* Tells two texts apart. */
static uint64_t digest_of(const char *text, uint64_t before)
{
    for (; *text != '\0'; text++)
        before = before * 31 + (unsigned char)*text;
    return before;
}

static struct outcome judge_once(void *arg)
{
    struct verdict v;
    struct words w;
    struct outcome o = {.e = verdict_open(arg, &v)};
    if (o.e != ERR_OK)
        return o;
    for (size_t i = 0; verdict_sentence(&v, i, &w); i++)
        o.figures[0] = digest_of(w.text, o.figures[0]);
    verdict_close(&v);
    return o;
}

Test(host_memory, a_verdict_without_memory_names_no_other_winner)
{
    struct err_detail err = {.text = ""};
    struct run_table t;
    run_table_open(&t);
    cr_assert_eq(run_table_add_json(&t, one_run, sizeof one_run - 1, UINT64_MAX, "one", &err), ERR_OK, "%s", err.text);
    expect_no_memory_is_survived(judge_once, &t, "a verdict");
    run_table_close(&t);
}

static struct outcome print_once(void *arg)
{
    static char text[64 * KIB];
    memset(text, 0, sizeof text);
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    struct outcome o = {.e = report_table(out, arg)};
    cr_assert_eq(fclose(out), 0);
    o.figures[0] = digest_of(text, 0);
    return o;
}

Test(host_memory, a_report_that_is_printed_without_memory_is_whole_or_fails)
{
    const struct replay_config cfg = {.threads = 1};
    struct err_detail err = {.text = ""};
    struct device_choice device;
    struct report_run run;
    struct report report;
    struct program p;
    struct lane l;
    program_open(&p, put_program);
    cr_assert_eq(policy_spec_parse("pytorch", &p.spec, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(device_choose("sim:1GiB", p.in, &device, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(lane_open(&p.spec, &device_sim, &device.config, p.in, 0, &l, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(replay_run(p.in, &l, 1, &cfg, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(result_gather(p.in, "it", NULL, NULL, &l, 1, &device, &run, &report, &err), ERR_OK, "%s", err.text);
    expect_no_memory_is_survived(print_once, &report, "a printed report");
    result_close(&report);
    lane_close(&l);
    policy_spec_close(&p.spec);
    program_close(&p);
}
