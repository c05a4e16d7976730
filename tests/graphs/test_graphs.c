/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* graphs: from one recording with captures, the private pools of any of them, in any order, are what PyTorch holds. */
#include "replay/graphs/alike.h"
#include "replay/graphs/arrangement.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER TEST_DATA "/graphs"

enum { CAPTURES_MAX = 8 };

/* A recording, and a run of it as recorded. */
struct recording {
    struct trace_reader *trace;
    struct captures captures;
    struct single_run run;
};

static void recording_open(const char *name, struct recording *r)
{
    char path[512];
    struct err_detail err = { .text = "" };
    const struct replay_config cfg = { .threads = 1 };
    *r = (struct recording){ .trace = NULL };
    snprintf(path, sizeof path, FOLDER "/%s.trace.zst", name);
    cr_assert_eq(trace_open(path, &r->trace, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(captures_read(r->trace, &r->captures, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(single_run_open(&r->run, r->trace, NULL, "sim:unlimited", &err), ERR_OK, "%s", err.text);
    cr_assert_eq(single_run_replay(&r->run, &cfg, &err), ERR_OK, "%s", err.text);
}

static void recording_close(struct recording *r)
{
    single_run_close(&r->run);
    captures_close(&r->captures);
    trace_close(r->trace);
}

/* One line of a made-up program. */
struct made { enum event_kind kind; uint64_t ptr, bytes, pool; enum control_kind control; };

static void recording_make(const struct made *script, size_t n, struct recording *r)
{
    struct trace_writer *w;
    const struct replay_config cfg = { .threads = 1 };
    *r = (struct recording){ .trace = NULL };
    cr_assert_eq(trace_create(NULL, &w, NULL), ERR_OK);
    for (size_t i = 0; i < n; i++) {
        const struct trace_record record = { .kind = script[i].kind, .ptr = script[i].ptr, .bytes = script[i].bytes,
                                             .time_ns = i, .pool = { script[i].pool }, .record = TRACE_NO_RECORD,
                                             .control.kind = (uint8_t)script[i].control };
        cr_assert_eq(trace_put(w, &record, NULL), ERR_OK, "line %zu", i);
    }
    cr_assert_eq(trace_finish_open(w, "made", &r->trace, NULL), ERR_OK);
    cr_assert_eq(captures_read(r->trace, &r->captures, NULL), ERR_OK);
    cr_assert_eq(single_run_open(&r->run, r->trace, NULL, "sim:unlimited", NULL), ERR_OK);
    cr_assert_eq(single_run_replay(&r->run, &cfg, NULL), ERR_OK);
}

/* "3,1" as captures from 0. */
static size_t read_list(const char *text, uint32_t list[CAPTURES_MAX])
{
    size_t n = 0;
    for (char *end; n < CAPTURES_MAX && *text != '\0'; text = *end == ',' ? end + 1 : end)
        list[n++] = (uint32_t)strtoul(text, &end, 10) - 1;
    return n;
}

static enum graph_pools read_pools(const char *word)
{
    return strcmp(word, "shared") == 0 ? GRAPH_POOLS_SHARED : strcmp(word, "own") == 0 ? GRAPH_POOLS_OWN
                                                                                     : GRAPH_POOLS_NONE;
}

struct program { char name[16]; };
static struct program programs[] = { { "program" }, { "replaced" }, { "dropped" }, { "trained" }, { "sided" },
                                     { "warmed" }, { "mixed" } };

ParameterizedTestParameters(graphs, what_is_called_exact_is_what_pytorch_holds)
{
    return cr_make_param_array(struct program, programs, sizeof programs / sizeof programs[0]);
}

ParameterizedTest(struct program *program, graphs, what_is_called_exact_is_what_pytorch_holds)
{
    char path[512], word[16], text[64];
    struct recording r;
    unsigned long long held;
    unsigned n_exact = 0, n_pools = 0;
    recording_open(program->name, &r);
    cr_assert_eq(r.captures.how, CAPTURES_BY_RECORD);
    snprintf(path, sizeof path, FOLDER "/%s.held", program->name);
    FILE *in = fopen(path, "r");
    cr_assert_not_null(in);
    while (fscanf(in, "%15s %63s %llu", word, text, &held) == 3) {
        uint32_t list[CAPTURES_MAX];
        struct arrangement_size size;
        const struct arrangement a = { .captures = &r.captures, .list = list, .n = read_list(text, list),
                                       .pools = read_pools(word) };
        cr_assert_eq(arrangement_measure(&a, &r.run, NULL, &size, NULL), ERR_OK);
        if (size.doubt != ARRANGEMENT_EXACT)
            continue;
        n_exact++;
        n_pools |= 1U << a.pools;
        cr_expect_eq(size.bytes, held, "%s %s %s: %llu, PyTorch held %llu", program->name, word, text,
                     (unsigned long long)size.bytes, held);
    }
    fclose(in);
    cr_expect_geq(n_exact, 15, "%s: %u", program->name, n_exact);
    cr_expect_neq(n_pools & (1U << GRAPH_POOLS_SHARED), 0);
    cr_expect_neq(n_pools & (1U << GRAPH_POOLS_OWN), 0);
    recording_close(&r);
}

Test(graphs, the_size_after_each_capture_is_that_of_the_shorter_list)
{
    struct recording r;
    const uint32_t list[] = { 2, 0, 1 };
    uint64_t after[3];
    struct arrangement_size size;
    recording_open("program", &r);
    for (enum graph_pools pools = GRAPH_POOLS_SHARED; pools <= GRAPH_POOLS_OWN; pools++) {
        struct arrangement a = { .captures = &r.captures, .list = list, .n = 3, .pools = pools };
        cr_assert_eq(arrangement_measure(&a, &r.run, after, &size, NULL), ERR_OK);
        for (a.n = 1; a.n <= 3; a.n++) {
            cr_assert_eq(arrangement_measure(&a, &r.run, NULL, &size, NULL), ERR_OK);
            cr_expect_eq(size.bytes, after[a.n - 1]);
        }
    }
    recording_close(&r);
}

Test(graphs, captures_that_do_other_work_are_not_alike_and_workspaces_are_made_once)
{
    struct recording r;
    const struct alignment *x;
    unsigned n_once = 0;
    recording_open("mixed", &r);
    cr_assert_eq(r.captures.n, 4);
    cr_assert_eq(captures_align(&r.captures, 0, 2, &x, NULL), ERR_OK);
    cr_expect(x->is_alike);
    cr_assert_eq(captures_align(&r.captures, 0, 1, &x, NULL), ERR_OK);
    cr_expect_not(x->is_alike);
    for (size_t i = 0; i < r.captures.n_requests; i++)
        n_once += r.captures.requests[i].is_once;
    cr_expect_eq(n_once, 2, "cuBLAS's workspace, and cuBLASLt's");
    recording_close(&r);
}

Test(graphs, pools_tell_captures_apart_unless_they_are_used_in_turns)
{
    struct recording r;
    const struct made script[] = {
        { EVENT_ALLOC, 1, 1 << 20, 0, 0 }, { EVENT_ALLOC, 2, 3 << 20, 1, 0 }, { EVENT_ALLOC, 3, 3 << 20, 2, 0 },
        { EVENT_FREE, 2, 0, 1, 0 }, { EVENT_ALLOC, 4, 3 << 20, 1, 0 },
    };
    recording_make(script, 4, &r);
    cr_expect_eq(r.captures.how, CAPTURES_BY_POOL);
    cr_expect_eq(r.captures.n, 2);
    recording_close(&r);
    recording_make(script, 5, &r);
    cr_expect_eq(r.captures.how, CAPTURES_MIXED);
    recording_close(&r);
    recording_make(script, 1, &r);
    cr_expect_eq(r.captures.how, CAPTURES_NONE);
    recording_close(&r);
}

Test(graphs, without_graphs_what_was_refused_is_not_served)
{
    struct recording r;
    const uint32_t list[] = { 0 };
    struct arrangement_size size;
    const struct made script[] = {
        { EVENT_CONTROL, 0, 0, 1, CONTROL_CAPTURE_BEGIN }, { EVENT_ALLOC, 1, 30 << 20, 1, 0 },
        { EVENT_CONTROL, 0, 0, 1, CONTROL_CAPTURE_END }, { EVENT_OOM, 0, UINT64_C(1) << 40, 0, 0 },
    };
    recording_make(script, sizeof script / sizeof script[0], &r);
    const struct arrangement a = { .captures = &r.captures, .list = list, .n = 1, .pools = GRAPH_POOLS_NONE };
    cr_assert_eq(arrangement_measure(&a, &r.run, NULL, &size, NULL), ERR_OK);
    cr_expect_eq(size.bytes, 30 << 20);
    recording_close(&r);
}
