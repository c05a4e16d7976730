/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* diff: what lives at a peak adds up to it, steps are what repeats, and the first difference is the first. */
#include "base/torch_sizes.h"
#include "replay/diff/diff.h"
#include "tests/recorded_run.h"
#include "traces/stack_frame.h"

#include <stdlib.h>
#include <unistd.h>

#define SAMPLE(name) TEST_DATA "/../../samples/" name ".trace.zst"

/* ---- steps ---- */

Test(diff, a_step_is_the_last_whole_one_that_info_counts)
{
    static const char *const names[] = {SAMPLE("gpt-fp32"), SAMPLE("530-270"), SAMPLE("mlp-sgd"), SAMPLE("mlp-adam"),
                                        SAMPLE("gpt-varlen-default"), SAMPLE("gpt-bf16")};
    size_t n_found = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct profile_pair p = {.lines = {.room = 0}};
        struct steps counted;
        struct trace_reader *trace = recorded_open(names[i], -1);
        cr_assert_eq(profile_read(trace, PROFILE_A, &p, NULL), ERR_OK);
        cr_assert_eq(steps_find(trace, &counted, NULL), ERR_OK);
        const struct profile_step *step = &p.of[PROFILE_A].step;
        const bool is_found = counted.how != STEPS_NONE;
        n_found += is_found;
        cr_expect_eq(step->first, is_found ? counted.first : 0, "%s", names[i]);
        cr_expect_eq(step->end, is_found ? counted.end : trace_info(trace)->events, "%s", names[i]);
        if (counted.how == STEPS_BY_REPETITION)
            cr_expect_eq(step->requests, counted.requests, "%s", names[i]);
        profile_close(&p);
        trace_close(trace);
    }
    cr_expect(n_found >= 3 && n_found < sizeof names / sizeof names[0], "steps in %zu of them: both must be shown",
              n_found);
}

Test(diff, a_size_belongs_to_the_class_that_it_does_not_exceed)
{
    cr_expect_eq(profile_class(1), 9);
    cr_expect_eq(profile_class(512), 9);
    cr_expect_eq(profile_class(513), 10);
    cr_expect_eq(profile_class(TORCH_SMALL_MAX), 20);
    cr_expect_eq(profile_class(TORCH_SMALL_MAX + 1), 21);
    cr_expect_eq(profile_class(UINT64_MAX), 64);
}

/* ---- peaks ---- */

static void expect_sums(const struct profile_pair *p, enum profile_side side, const char *name)
{
    struct profile_share classes = {0}, lines = {0};
    for (unsigned i = 0; i < PROFILE_CLASSES; i++) {
        classes.peak_bytes += p->classes[i].side[side].peak_bytes;
        classes.peak_requests += p->classes[i].side[side].peak_requests;
        classes.step_bytes += p->classes[i].side[side].step_bytes;
        classes.step_requests += p->classes[i].side[side].step_requests;
    }
    for (uint32_t i = 0; i < p->lines.names.n; i++) {
        lines.peak_bytes += p->lines.rows[i].side[side].peak_bytes;
        lines.peak_requests += p->lines.rows[i].side[side].peak_requests;
        lines.step_bytes += p->lines.rows[i].side[side].step_bytes;
        lines.step_requests += p->lines.rows[i].side[side].step_requests;
    }
    cr_expect_eq(classes.peak_bytes, p->of[side].peak_bytes, "%s", name);
    cr_expect_eq(classes.peak_requests, p->of[side].peak_requests, "%s", name);
    cr_expect_eq(classes.step_bytes, p->of[side].step.requested_bytes, "%s", name);
    cr_expect_eq(classes.step_requests, p->of[side].step.requests, "%s", name);
    cr_expect(memcmp(&classes, &lines, sizeof lines) == 0, "%s: sizes and lines add up to different sums", name);
}

Test(diff, sizes_and_lines_add_up_to_the_peak_and_the_step)
{
    static const char *const names[] = {SAMPLE("gpt-varlen-default"), SAMPLE("gpt-fp32"), SAMPLE("gpt-fp32-ckpt"),
                                        SAMPLE("gpt-eval-emptycache"), SAMPLE("530-270"), SAMPLE("mlp-sgd")};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct profile_pair p = {.lines = {.room = 0}};
        struct err_detail err = {0};
        struct trace_reader *trace = recorded_open(names[i], -1);
        cr_assert_eq(profile_read(trace, PROFILE_A, &p, &err), ERR_OK, "%s", err.text);
        cr_assert_eq(profile_read(trace, PROFILE_B, &p, &err), ERR_OK, "%s", err.text);
        cr_expect_eq(p.of[0].peak_bytes, trace_info(trace)->peak_requested_bytes, "%s", names[i]);
        cr_expect_leq(p.of[0].step.peak_bytes, p.of[0].peak_bytes, "%s", names[i]);
        expect_sums(&p, PROFILE_A, names[i]);
        expect_sums(&p, PROFILE_B, names[i]);
        profile_close(&p);
        trace_close(trace);
    }
}

static struct diff diff_of(const char *a, const char *b)
{
    struct diff d = {.kind = DIFF_TRACES, .names = {a, b}};
    struct err_detail err = {0};
    d.traces[0] = recorded_open(a, -1);
    d.traces[1] = recorded_open(b, -1);
    cr_assert_eq(diff_traces(&d, &err), ERR_OK, "%s", err.text);
    return d;
}

static void close_all(struct diff *d)
{
    struct trace_reader *a = d->traces[0], *b = d->traces[1];
    diff_close(d);
    trace_close(a);
    trace_close(b);
}

/* The peak of requested bytes as PyTorch itself counted it. */
static uint64_t counted_peak(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, GOLDEN_DIR "/training/%s.json", name);
    json_t *facts = json_file_load(path);
    cr_assert_not_null(facts, "%s", path);
    const json_t *peak = json_object_get(json_object_get(facts, "memory_stats"), "requested_bytes.all.peak");
    const uint64_t bytes = (uint64_t)json_integer_value(peak);
    cr_assert_gt(bytes, 0);
    json_decref(facts);
    return bytes;
}

Test(diff, what_checkpointing_and_mixed_precision_save_is_what_pytorch_counted)
{
    static const char *const names[] = {"gpt-fp32-ckpt", "gpt-bf16"};
    for (size_t i = 0; i < 2; i++) {
        char b[256];
        snprintf(b, sizeof b, TEST_DATA "/../../samples/%s.trace.zst", names[i]);
        struct diff d = diff_of(SAMPLE("gpt-fp32"), b);
        cr_expect_eq(d.profiles.of[0].peak_bytes, counted_peak("gpt-fp32"));
        cr_expect_eq(d.profiles.of[1].peak_bytes, counted_peak(names[i]));
        cr_expect_lt(d.profiles.of[1].peak_bytes, d.profiles.of[0].peak_bytes);
        cr_expect_gt(d.profiles.of[1].step.requests, d.profiles.of[0].step.requests, "recomputed, or cast");
        cr_expect_eq(d.profiles.of[0].step.found.how, STEPS_BY_REPETITION);
        cr_expect_not(diff_is_same(&d));
        close_all(&d);
    }
}

/* ---- the first difference ---- */

Test(diff, a_trace_is_the_same_as_itself)
{
    struct diff d = diff_of(SAMPLE("gpt-varlen-default"), SAMPLE("gpt-varlen-expand"));
    cr_expect(d.trace_difference.is_equal, "one program under two settings asks for the same");
    cr_expect(diff_is_same(&d));
    cr_expect_eq(d.profiles.of[0].step.found.how, STEPS_NONE, "its sequences get longer");
    close_all(&d);
}

/* A trace of `n` requests of 1000 bytes each with a mark in front of every tenth; one of them is larger. */
static struct trace_reader *forged(uint32_t n, uint32_t larger, bool has_marks)
{
    struct trace_writer *w;
    void *bytes;
    size_t size;
    uint32_t label;
    struct trace_reader *r = NULL;
    cr_assert_eq(trace_create(NULL, &w, NULL), ERR_OK);
    for (uint32_t i = 0; i < n; i++) {
        struct trace_record record = {.kind = EVENT_MARK, .record = TRACE_NO_RECORD, .time_ns = i * 10};
        if (has_marks && i % 10 == 0) {
            cr_assert_eq(trace_put_label(w, "step", 4, &label, NULL), ERR_OK);
            record.label = label;
            cr_assert_eq(trace_put(w, &record, NULL), ERR_OK);
        }
        record = (struct trace_record){.kind = EVENT_ALLOC, .ptr = 1 + i, .bytes = i == larger ? 5000 : 1000 + i % 5,
                                       .record = TRACE_NO_RECORD, .time_ns = i * 10};
        cr_assert_eq(trace_put(w, &record, NULL), ERR_OK);
    }
    cr_assert_eq(trace_finish_bytes(w, &bytes, &size, NULL), ERR_OK);
    cr_assert_eq(trace_open_owned(bytes, size, "forged", 0, &r, NULL), ERR_OK);
    return r;
}

Test(diff, the_first_event_that_differs_is_named)
{
    struct trace_reader *a = forged(100, UINT32_MAX, false), *b = forged(100, 57, false);
    struct trace_reader *c = forged(90, UINT32_MAX, false);
    struct trace_difference p;
    cr_assert_eq(trace_difference_find(a, b, &p, NULL), ERR_OK);
    cr_expect(!p.is_equal && p.event == 57 && p.ev[0].bytes == 1002 && p.ev[1].bytes == 5000);
    cr_assert_eq(trace_difference_find(a, c, &p, NULL), ERR_OK);
    cr_expect(!p.is_equal && p.event == 90 && p.has[0] && !p.has[1]);
    cr_assert_eq(trace_difference_find(a, a, &p, NULL), ERR_OK);
    trace_close(a);
    trace_close(b);
    trace_close(c);
}

Test(diff, a_step_lies_between_the_last_two_marks)
{
    struct trace_reader *a = forged(100, UINT32_MAX, true);
    struct profile_pair p = {.lines = {.room = 0}};
    cr_assert_eq(profile_read(a, PROFILE_A, &p, NULL), ERR_OK);
    cr_expect_eq(p.of[0].step.found.how, STEPS_BY_MARK);
    cr_expect_eq(p.of[0].step.requests, 10);
    cr_expect_eq(p.of[0].step.requested_bytes, 2 * (5 * 1000 + 10));
    profile_close(&p);
    trace_close(a);
}

/* ---- two policies ---- */

/* Addresses and sizes of blocks as one number each, in order of requests; 0 where refused. */
struct placements { struct lane_watch base; uint64_t at[4096]; size_t n; };

static void note_event(struct lane_watch *watch, const struct lane *l, const struct event *ev, uint64_t done)
{
    struct placements *p = (struct placements *)watch;
    if (ev == NULL || ev->kind != EVENT_ALLOC || done == 0 || p->n == 4096)
        return;
    const struct block *b = &l->live[ev->slot];
    p->at[p->n++] = b->bytes == 0 ? 0 : b->addr * 1000003 + b->bytes;
}

static void open_lane(struct trace_reader *trace, struct policy_spec *spec, const char *policy, const char *device,
                      struct lane *l)
{
    struct device_choice choice;
    struct err_detail err = {0};
    cr_assert_eq(policy_spec_parse(policy, spec, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(device_choose(device, trace, &choice, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(lane_open(spec, choice.ops, &choice.config, trace, 0, l, &err), ERR_OK, "%s", err.text);
}

static void run_alone(struct trace_reader *trace, const char *policy, const char *device, struct placements *out)
{
    struct policy_spec spec;
    struct lane l;
    const struct replay_config cfg = {.threads = 1};
    open_lane(trace, &spec, policy, device, &l);
    out->base.event = note_event;
    l.watch = &out->base;
    cr_assert_eq(replay_run(trace, &l, 1, &cfg, NULL), ERR_OK);
    lane_close(&l);
    policy_spec_close(&spec);
}

/* How many requests come before the first that is answered differently; all: SIZE_MAX. */
static size_t requests_before(struct trace_reader *trace, const char *a, const char *b, const char *device)
{
    struct policy_spec specs[2];
    struct lane lanes[2];
    struct run_difference p;
    const struct replay_config cfg = {.threads = 1};
    const struct event *ev;
    size_t n = 0, n_events;
    open_lane(trace, &specs[0], a, device, &lanes[0]);
    open_lane(trace, &specs[1], b, device, &lanes[1]);
    cr_assert_eq(run_difference_listen(&p, &lanes[0], &lanes[1], NULL), ERR_OK);
    cr_assert_eq(replay_run(trace, lanes, 2, &cfg, NULL), ERR_OK);
    cr_assert_eq(run_difference_finish(&p, NULL), ERR_OK);
    cr_assert_eq(trace_seek(trace, 0, NULL), ERR_OK);
    cr_assert_eq(trace_next(trace, &ev, &n_events, NULL), ERR_OK);
    for (int64_t i = 0; p.is_placed_differently && i < p.event; i++)
        n += ev[i].kind == EVENT_ALLOC;
    const bool is_apart = p.is_placed_differently;
    for (int i = 0; i < 2; i++) {
        lane_close(&lanes[i]);
        policy_spec_close(&specs[i]);
    }
    run_difference_close(&p);
    return is_apart ? n : SIZE_MAX;
}

Test(diff, the_first_request_placed_differently_is_that_of_two_runs_apart)
{
    static const struct { const char *a, *b, *device; } pairs[] = {
        {"best-fit", "pow2", "sim:80GiB"}, {"best-fit", "pytorch:max-split=20MiB", "sim:80GiB"},
        {"best-fit", "none", "sim:80GiB"}, {"best-fit", "pytorch:expandable", "sim:80GiB"},
        {"best-fit", "pytorch:gc=0.9", "sim:240MiB"}, {"pytorch:expandable", "best-fit", "sim:210MiB"},
        {"best-fit", "pytorch", "sim:200MiB"}, {"best-fit", "pytorch", "sim:80GiB"},
    };
    struct trace_reader *trace = recorded_open(SAMPLE("gpt-varlen-default"), -1);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        static struct placements a, b;
        size_t n = 0;
        a.n = b.n = 0;
        run_alone(trace, pairs[i].a, pairs[i].device, &a);
        run_alone(trace, pairs[i].b, pairs[i].device, &b);
        while (n < a.n && n < b.n && a.at[n] == b.at[n])
            n++;
        const size_t want = n == a.n && n == b.n ? SIZE_MAX : n;
        cr_expect_eq(requests_before(trace, pairs[i].a, pairs[i].b, pairs[i].device), want, "%s, %s: not %zu",
                     pairs[i].a, pairs[i].b, want);
    }
    trace_close(trace);
}

/* ---- frames ---- */

Test(diff, the_line_of_the_program_is_the_innermost_outside_torch)
{
    static const char *const frames[] = {"at::empty(c10::IntArrayRef, bool) ??:0",
                                         "linear /x/torch/nn/functional.py:12",
                                         "forward train/torchnet.py:19", "main train.py:3"};
    cr_expect_str_eq(stack_frame_of_program(frames, 4), frames[2]);
    cr_expect_str_eq(stack_frame_of_program(frames, 2), frames[1]);
    cr_expect_null(stack_frame_of_program(frames, 0));
    static const char *const deep[] = {"torch::unwind::unwind() ??:0", "at::_ops::add() ??:0", "main main.c:3",
                                       "forward /v/lib/python3.11/site-packages/torch/nn/x.py:1", "call <string>:1",
                                       "forward /v/lib/python3.11/site-packages/timm/vit.py:5",
                                       "fit /v/lib/python3.11/site-packages/lightning/fit.py:7",
                                       "run <frozen runpy>:8", "<module> /home/me/train.py:90"};
    cr_expect_str_eq(stack_frame_of_program(deep, 9), deep[8], "any depth");
    cr_expect_str_eq(stack_frame_of_program(deep, 8), deep[6], "the outermost library that is not torch");
    cr_expect_str_eq(stack_frame_of_program(deep, 4), deep[3]);
    cr_expect_str_eq(stack_frame_of_program(deep, 3), deep[2], "not the unwinder");
    static const char *const bare[] = {"_call_impl module.py:1750", "forward model.py:104", "<module> linear.py:3"};
    cr_expect_str_eq(stack_frame_of_program(bare, 3), bare[1]);
    cr_expect_str_eq(stack_frame_of_program(&bare[2], 1), bare[2]);
    const struct stack_frame f = stack_frame_parse(frames[0]);
    cr_expect(f.line == 0 && f.n_file == 2 && strncmp(f.file, "??", 2) == 0 && f.n_name == strlen(frames[0]) - 5);
    const struct stack_frame no_file = stack_frame_parse("nothing");
    cr_expect(no_file.n_name == 0 && no_file.n_file == 7 && no_file.line == 0);
}

Test(diff, a_native_frame_of_torch_is_no_line_of_the_program)
{
    static const char *const node = "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&) ??:0";
    const char *const frames[] = {"torch::unwind::unwind() ??:0", "at::_ops::mm::call(at::Tensor const&) ??:0", node,
                                  "torch::autograd::Engine::thread_main(std::shared_ptr<GraphTask> const&) ??:0",
                                  "execute_native_thread_routine thread48.o:0", "__clone ??:0"};
    char text[64];
    cr_expect_str_eq(stack_frame_of_program(frames, 6), node);
    stack_frame_show_line(node, text, sizeof text);
    cr_expect_str_eq(text, "(backward pass, MmBackward0)");
    cr_expect_str_eq(stack_frame_of_program(frames, 2), STACK_NO_LINE, "unwinder and operator");
    cr_expect_str_eq(stack_frame_of_program(&frames[3], 3), STACK_NO_LINE, "engine and the start of its thread");
    cr_expect_eq(stack_frame_index_of_program(frames, 2), 2);
    cr_expect_eq(stack_frame_index_of_program(frames, 6), 2);
    stack_frame_show_line(STACK_NO_LINE, text, sizeof text);
    cr_expect_str_eq(text, STACK_NO_LINE);
}

Test(diff, labels_are_told_from_frames_of_code)
{
    static const char *const frames[] = {"forward train.py:19", "<module> category:3", "GPT.head nn.Module:0",
                                         "optimizer state category:0"};
    struct stack_frame label;
    char text[64];
    cr_expect_eq(stack_frames_of_code(frames, 4), 2, "a line that is not 0 is code");
    cr_expect(stack_frame_label(frames, 4, STACK_LABEL_MODULE, &label) && stack_frame_is_named(&label, "GPT.head"));
    cr_expect(stack_frame_label(frames, 4, STACK_LABEL_CATEGORY, &label) &&
              stack_frame_is_named(&label, "optimizer state"));
    cr_expect(!stack_frame_label(frames, 2, STACK_LABEL_CATEGORY, &label));
    cr_expect_str_eq(stack_frame_of_program(frames, 4), frames[0]);
    stack_frame_show(frames[3], text, sizeof text);
    cr_expect_str_eq(text, "category optimizer state");
}

/* ---- lines that an edit moved ---- */

/* A line: its name in A or B, and how much it holds at the peak; NULL ends a list. */
struct held { const char *name; uint64_t bytes; };

static void put_side(struct profile_table *t, enum profile_side side, const struct held *held)
{
    for (; held->name != NULL; held++) {
        const uint32_t row = text_table_put(&t->names, held->name, strlen(held->name));
        t->rows[row].side[side] = (struct profile_share){ .peak_bytes = held->bytes, .peak_requests = 1 };
    }
}

/* The joined rows are these: "A's name|B's name|bytes in A|bytes in B", in any order, and no others. */
static void expect_joined(const struct held *a, const struct held *b, const char *const *rows)
{
    struct profile_row room[16] = { { .side = { { 0 } } } };
    struct profile_table t = { .rows = room };
    struct joined_lines j;
    size_t n = 0;
    put_side(&t, PROFILE_A, a);
    put_side(&t, PROFILE_B, b);
    cr_assert_eq(joined_lines_open(&t, &j, NULL), ERR_OK);
    for (; *rows != NULL; rows++, n++) {
        bool is_there = false;
        for (size_t i = 0; i < j.n; i++) {
            char row[256];
            snprintf(row, sizeof row, "%s|%s|%d|%d", text_table_at(&t.names, j.names[i].side[PROFILE_A]),
                     text_table_at(&t.names, j.names[i].side[PROFILE_B]), (int)j.rows[i].side[PROFILE_A].peak_bytes,
                     (int)j.rows[i].side[PROFILE_B].peak_bytes);
            is_there = is_there || strcmp(row, *rows) == 0;
        }
        cr_expect(is_there, "no row %s", *rows);
    }
    cr_expect_eq(j.n, n);
    joined_lines_close(&j);
    text_table_free(&t.names);
}

#define HELD(...) ((const struct held[]){ __VA_ARGS__, { NULL, 0 } })
#define ROWS(...) ((const char *const[]){ __VA_ARGS__, NULL })

Test(diff, a_line_added_above_moves_all_lines_below_it)
{
    expect_joined(HELD({ "f t.py:8", 48 }, { "f t.py:9", 32 }, { "g t.py:20", 5 }),
                  HELD({ "f t.py:9", 48 }, { "f t.py:10", 32 }, { "g t.py:21", 5 }),
                  ROWS("f t.py:8|f t.py:9|48|48", "f t.py:9|f t.py:10|32|32", "g t.py:20|g t.py:21|5|5"));
}

Test(diff, a_line_that_holds_more_and_moved_stands_between_its_neighbours)
{
    expect_joined(HELD({ "f t.py:8", 48 }, { "f t.py:9", 32 }, { "f t.py:10", 7 }),
                  HELD({ "f t.py:9", 48 }, { "f t.py:10", 64 }, { "f t.py:11", 7 }),
                  ROWS("f t.py:8|f t.py:9|48|48", "f t.py:9|f t.py:10|32|64", "f t.py:10|f t.py:11|7|7"));
}

Test(diff, a_line_that_is_new_has_nothing_in_a)
{
    expect_joined(HELD({ "f t.py:8", 48 }, { "f t.py:9", 32 }),
                  HELD({ "f t.py:8", 48 }, { "f t.py:9", 100 }, { "f t.py:10", 32 }),
                  ROWS("f t.py:8|f t.py:8|48|48", "f t.py:9|f t.py:9|0|100", "f t.py:9|f t.py:10|32|32"));
}

Test(diff, lines_keep_their_numbers_where_only_sizes_changed)
{
    expect_joined(HELD({ "f t.py:8", 1 }, { "f t.py:9", 2 }, { "f t.py:10", 3 }),
                  HELD({ "f t.py:8", 2 }, { "f t.py:9", 4 }, { "f t.py:10", 6 }),
                  ROWS("f t.py:8|f t.py:8|1|2", "f t.py:9|f t.py:9|2|4", "f t.py:10|f t.py:10|3|6"));
}

Test(diff, a_file_in_another_folder_or_the_only_other_one_is_the_same)
{
    expect_joined(HELD({ "f /old/t.py:8", 48 }, { "f /lib/u.py:3", 1 }),
                  HELD({ "f /new/t.py:8", 48 }, { "f /lib/u.py:3", 1 }),
                  ROWS("f /old/t.py:8|f /new/t.py:8|48|48", "f /lib/u.py:3|f /lib/u.py:3|1|1"));
    expect_joined(HELD({ "f grow.py:8", 48 }), HELD({ "f grow5.py:9", 50 }),
                  ROWS("f grow.py:8|f grow5.py:9|48|50"));
    expect_joined(HELD({ "f a.py:8", 48 }, { "f b.py:8", 1 }), HELD({ "f c.py:8", 48 }),
                  ROWS("f a.py:8|f a.py:8|48|0", "f b.py:8|f b.py:8|1|0", "f c.py:8|f c.py:8|0|48"));
}

Test(diff, other_functions_and_texts_without_a_line_stay_apart)
{
    expect_joined(HELD({ "f t.py:8", 48 }, { "(no stack recorded)", 2 }),
                  HELD({ "g t.py:8", 48 }, { "(no stack recorded)", 3 }),
                  ROWS("f t.py:8|f t.py:8|48|0", "g t.py:8|g t.py:8|0|48",
                       "(no stack recorded)|(no stack recorded)|2|3"));
}

Test(diff, a_moved_line_names_both)
{
    struct profile_table t = { .rows = NULL };
    char text[64];
    cr_assert_eq(text_table_put(&t.names, "f t.py:8", 8), 0);
    cr_assert_eq(text_table_put(&t.names, "f t.py:9", 8), 1);
    cr_assert_eq(text_table_put(&t.names, "f /x/u.py:3", 11), 2);
    cr_assert_eq(text_table_put(&t.names, "f /y/u.py:3", 11), 3);
    joined_line_show(&t, &(struct joined_name){ .side = { 0, 1 } }, text, sizeof text);
    cr_expect_str_eq(text, "t.py:9 f (A: 8)");
    joined_line_show(&t, &(struct joined_name){ .side = { 2, 1 } }, text, sizeof text);
    cr_expect_str_eq(text, "t.py:9 f (A: u.py:3)");
    joined_line_show(&t, &(struct joined_name){ .side = { 1, 1 } }, text, sizeof text);
    cr_expect_str_eq(text, "t.py:9 f");
    joined_line_show(&t, &(struct joined_name){ .side = { 2, 3 } }, text, sizeof text);
    cr_expect_str_eq(text, "/y/u.py:3 f", "the same file in another folder");
    text_table_free(&t.names);
}
