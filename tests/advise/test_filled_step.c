/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A cut step that is filled in is the step that the program would have made, if it is like the ones before. */
#include "replay/advise/filled_step.h"

#include <criterion/criterion.h>

enum { LAYERS = 5, STEPS = 4 };

/* A training in which every step is alike. It is written up to a request, which is then refused. */
struct script {
    struct trace_writer *out;
    uint64_t time_ns, n_requests, refuse_at, refused_bytes;      /* refuse_at: the request; UINT64_MAX: none */
    bool is_over;
};

static void put(struct script *s, enum event_kind kind, uint64_t ptr, uint64_t bytes)
{
    struct trace_record r = { .kind = kind, .ptr = ptr, .bytes = bytes, .time_ns = s->time_ns++,
                              .record = TRACE_NO_RECORD };
    if (s->is_over)
        return;
    if (kind == EVENT_ALLOC && s->n_requests++ == s->refuse_at) {
        r.kind = EVENT_OOM;
        r.bytes = s->refused_bytes > 0 ? s->refused_bytes : bytes;
        s->is_over = true;
    }
    cr_assert_eq(trace_put(s->out, &r, NULL), ERR_OK);
}

/* Activations, each freed in the backward pass by its gradient, which lives into the next step. */
static void step(struct script *s, uint64_t scale)
{
    for (uint64_t i = 1; i <= LAYERS; i++)
        put(s, EVENT_ALLOC, 10 + i, scale * 1000 * i);
    for (uint64_t i = LAYERS; i > 0; i--) {
        put(s, EVENT_ALLOC, 20 + i, scale * 700 * i);
        put(s, EVENT_FREE, 10 + i, 0);
    }
    for (uint64_t i = 1; i <= LAYERS; i++)
        put(s, EVENT_FREE, 20 + i, 0);
}

/* Steps of these scales; request `refuse_at` of all is refused. */
static struct trace_reader *training(const uint64_t *scales, size_t n, uint64_t refuse_at, uint64_t refused_bytes)
{
    struct script s = { .refuse_at = refuse_at, .refused_bytes = refused_bytes };
    struct trace_reader *trace;
    cr_assert_eq(trace_create(NULL, &s.out, NULL), ERR_OK);
    put(&s, EVENT_ALLOC, 1, 512);
    for (size_t i = 0; i < n; i++)
        step(&s, scales[i]);
    cr_assert_eq(trace_finish_open(s.out, "training", &trace, NULL), ERR_OK);
    return trace;
}

static struct trace_reader *filled(struct trace_reader *trace)
{
    struct coverage c;
    struct trace_reader *out;
    cr_assert_eq(coverage_read(trace, &c, NULL), ERR_OK);
    cr_assert_eq(filled_step_open(trace, &c, &out, NULL), ERR_OK);
    return out;
}

/* Sizes of all requests in order; *n of them. Freed by the caller. */
struct sizes { uint64_t at[1024]; size_t n; };

static void take_size(void *arg, const struct event *ev, uint64_t number)
{
    struct sizes *s = arg;
    (void)number;
    if (ev->kind == EVENT_ALLOC && s->n < 1024)
        s->at[s->n++] = ev->bytes;
}

/* Wherever the last step is cut, the filled-in trace asks for what the whole training asks for, and goes on into the
 * step after it. */
Test(filled_step, is_the_step_that_the_program_would_have_made)
{
    static const uint64_t scales[STEPS + 1] = { 1, 1, 1, 1, 1 };
    struct trace_reader *whole = training(scales, STEPS + 1, UINT64_MAX, 0);
    static struct sizes want, have;
    want.n = 0;
    cr_assert_eq(trace_each_event(whole, take_size, &want, NULL), ERR_OK);
    for (uint64_t cut = 0; cut < 2 * LAYERS; cut++) {
        const uint64_t refused = 1 + 3 * 2 * LAYERS + cut;
        struct trace_reader *trace = training(scales, STEPS, refused, 0), *out = filled(trace);
        cr_assert_not_null(out, "cut before request %llu of the step", (unsigned long long)cut);
        have.n = 0;
        cr_assert_eq(trace_each_event(out, take_size, &have, NULL), ERR_OK);
        cr_assert_eq(have.n, refused + 2 * LAYERS, "one period is put in");
        cr_assert_arr_eq(have.at, want.at, have.n * sizeof have.at[0]);
        cr_expect_eq(trace_info(out)->peak_requested_bytes, trace_info(whole)->peak_requested_bytes);
        cr_expect_eq(trace_info(out)->by_kind[EVENT_OOM], 0);
        trace_close(out);
        trace_close(trace);
    }
    trace_close(whole);
}

/* PyTorch records a refused request rounded up to 512 bytes. */
Test(filled_step, a_refused_request_may_be_recorded_rounded)
{
    static const uint64_t scales[STEPS] = { 1, 1, 1, 1 };
    struct trace_reader *trace = training(scales, STEPS, 1 + 3 * 2 * LAYERS, 1024), *out = filled(trace);
    cr_expect_not_null(out);
    trace_close(out);
    trace_close(trace);
}

/* The cut step is another, the refused request is another, too few steps are whole, or nothing was refused. */
Test(filled_step, nothing_is_filled_in_that_the_steps_do_not_show)
{
    static const struct { uint64_t scales[STEPS], refuse_at, bytes; size_t n; } cases[] = {
        { { 1, 1, 1, 2 }, 1 + 3 * 2 * LAYERS + 4, 0, STEPS },
        { { 1, 1, 1, 1 }, 1 + 3 * 2 * LAYERS + 4, 99999, STEPS },
        { { 1, 1, 1, 1 }, 1 + 2 * LAYERS + 4, 0, STEPS },
        { { 1, 2, 3, 4 }, 1 + 3 * 2 * LAYERS + 4, 0, STEPS },
        { { 1, 1, 1, 1 }, UINT64_MAX, 0, STEPS },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trace_reader *trace = training(cases[i].scales, cases[i].n, cases[i].refuse_at, cases[i].bytes);
        struct trace_reader *out = filled(trace);
        cr_expect_null(out, "case %zu", i);
        trace_close(out);
        trace_close(trace);
    }
}

/* What the program does after the refusal, as an exception that frees its tensors, is not part of the step. */
Test(filled_step, frees_after_the_refusal_are_left_out)
{
    static const uint64_t scales[STEPS] = { 1, 1, 1, 1 };
    struct script s = { .refuse_at = 1 + 3 * 2 * LAYERS + LAYERS };
    struct trace_reader *trace;
    cr_assert_eq(trace_create(NULL, &s.out, NULL), ERR_OK);
    put(&s, EVENT_ALLOC, 1, 512);
    for (size_t i = 0; i < STEPS; i++)
        step(&s, scales[i]);
    s.is_over = false;
    for (uint64_t i = 1; i <= LAYERS; i++)
        put(&s, EVENT_FREE, 10 + i, 0);
    cr_assert_eq(trace_finish_open(s.out, "training", &trace, NULL), ERR_OK);
    struct trace_reader *whole = training(scales, STEPS, UINT64_MAX, 0), *out = filled(trace);
    cr_assert_not_null(out);
    cr_expect_eq(trace_info(out)->peak_requested_bytes, trace_info(whole)->peak_requested_bytes);
    trace_close(whole);
    trace_close(out);
    trace_close(trace);
}
