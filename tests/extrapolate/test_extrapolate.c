/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* extrapolate: formulas pass through their points and no further than they can know; traces at another size are what a
 * recording at that size is. */
#include "replay/extrapolate/extrapolate.h"

#include "tests/random_draws.h"
#include "tests/reserved_peak.h"
#include "traces/trace.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- formulas ---- */

static enum formula_fit find(uint64_t n0, uint64_t b0, uint64_t n1, uint64_t b1, struct formula *f)
{
    return formula_find((uint64_t[]){ n0, n1 }, (uint64_t[]){ b0, b1 }, 2, f);
}

Test(extrapolate, one_term_is_enough_where_it_fits)
{
    struct formula f;
    char text[FORMULA_TEXT];
    uint64_t at;
    cr_assert_eq(find(4, 4096, 8, 4096, &f), FORMULA_FITS);
    cr_expect_str_eq(formula_text(&f, "batch", text), "4096");
    cr_assert_eq(find(4, 2048, 8, 4096, &f), FORMULA_FITS);
    cr_expect_str_eq(formula_text(&f, "batch", text), "512 batch");
    cr_assert_eq(find(4, 48, 8, 192, &f), FORMULA_FITS);
    cr_expect_str_eq(formula_text(&f, "length", text), "3 length^2");
    cr_expect(formula_at(&f, 32, &at) && at == 3 * 32 * 32);
}

Test(extrapolate, two_points_do_not_tell_which_two_terms)
{
    struct formula f;
    cr_expect_eq(find(4, 3000, 8, 5000, &f), FORMULA_AMBIGUOUS, "1000 + 500 n, or a constant and a square");
    cr_expect_eq(formula_find((uint64_t[]){ 4, 8, 16 }, (uint64_t[]){ 3000, 5000, 9000 }, 3, &f), FORMULA_FITS);
    char text[FORMULA_TEXT];
    cr_expect_str_eq(formula_text(&f, "n", text), "500 n + 1000");
}

Test(extrapolate, a_size_that_shrinks_has_no_formula_and_one_that_levels_off_stays)
{
    struct formula f;
    uint64_t at;
    cr_expect_eq(find(4, 3000, 8, 2000, &f), FORMULA_NONE);
    cr_assert_eq(formula_find((uint64_t[]){ 8, 32, 16 }, (uint64_t[]){ 800, 1000, 1000 }, 3, &f), FORMULA_FITS);
    cr_expect(formula_at(&f, 64, &at) && at == 1000);
    cr_expect_not(formula_at(&f, 8, &at), "below what it was read off it says nothing");
}

Test(extrapolate, a_fraction_of_a_byte_is_refused)
{
    struct formula f;
    uint64_t at;
    cr_assert_eq(find(4, 2, 8, 4, &f), FORMULA_FITS);
    cr_expect(formula_at(&f, 10, &at) && at == 5);
    cr_expect_not(formula_at(&f, 9, &at));
}

Test(extrapolate, a_formula_passes_through_its_points_and_foretells_a_fourth)
{
    uint64_t seed = 20261123;
    cr_log_info("seed %d", 20261123);
    for (unsigned round = 0; round < 5000; round++) {
        const uint64_t c[3] = { random_next(&seed) % 3 == 0 ? 0 : random_next(&seed) % 100000,
                                random_next(&seed) % 3 == 0 ? 0 : random_next(&seed) % 100000,
                                random_next(&seed) % 3 == 0 ? 0 : random_next(&seed) % 1000 };
        uint64_t n[3] = { 1 + random_next(&seed) % 64, 0, 0 }, bytes[3], at;
        struct formula f;
        n[1] = n[0] + 1 + random_next(&seed) % 64;
        n[2] = n[1] + 1 + random_next(&seed) % 64;
        if ((c[0] != 0) + (c[1] != 0) + (c[2] != 0) == 0 || (c[0] != 0) + (c[1] != 0) + (c[2] != 0) == 3)
            continue;
        for (unsigned i = 0; i < 3; i++)
            bytes[i] = c[0] + c[1] * n[i] + c[2] * n[i] * n[i];
        cr_assert_eq(formula_find(n, bytes, 3, &f), FORMULA_FITS, "round %u", round);
        const uint64_t far = n[2] * 7 + 3;
        cr_assert(formula_at(&f, far, &at), "round %u", round);
        cr_assert_eq(at, c[0] + c[1] * far + c[2] * far * far, "round %u", round);
    }
}

/* ---- traces ---- */

/* Two weights, and steps that request an activation of each size; one more request where `is_longer`. */
static struct trace_reader *program(uint64_t batch, bool is_swapped, bool is_longer)
{
    struct trace_writer *w;
    struct trace_reader *r = NULL;
    uint64_t time_ns = 0;
    cr_assert_eq(trace_create(NULL, &w, NULL), ERR_OK);
    const struct { enum event_kind kind; uint64_t ptr, bytes; } script[] = {
        { EVENT_ALLOC, 1, 4096 }, { EVENT_ALLOC, 2, 1 << 20 }, { EVENT_ALLOC, 3, 2048 * batch },
        { EVENT_ALLOC, 4, 64 * batch * batch }, { EVENT_FREE, is_swapped ? 4 : 3, 0 },
        { EVENT_FREE, is_swapped ? 3 : 4, 0 }, { EVENT_ALLOC, 5, 2048 * batch }, { EVENT_FREE, 5, 0 },
        { EVENT_ALLOC, 6, 512 }, { EVENT_FREE, 6, 0 },
    };
    for (size_t i = 0; i < sizeof script / sizeof script[0] - (is_longer ? 0 : 2); i++) {
        const struct trace_record record = { .kind = script[i].kind, .ptr = script[i].ptr, .bytes = script[i].bytes,
                                             .time_ns = time_ns += 10, .record = TRACE_NO_RECORD };
        cr_assert_eq(trace_put(w, &record, NULL), ERR_OK);
    }
    cr_assert_eq(trace_finish_open(w, "program", &r, NULL), ERR_OK);
    return r;
}

Test(extrapolate, the_trace_at_another_size_is_the_program_at_that_size)
{
    struct trace_reader *at[2] = { program(4, false, false), program(8, true, false) };
    struct trace_reader *want = program(32, false, false), *got;
    struct extrapolation x;
    const struct event *a, *b;
    size_t n_a, n_b;
    cr_assert_eq(extrapolate_open(at, (uint64_t[]){ 4, 8 }, 2, "batch", &x, NULL), ERR_OK);
    cr_assert_eq(extrapolate_trace(&x, 32, UNSOLVED_LARGEST, &got, NULL), ERR_OK);
    cr_expect_eq(trace_info(got)->peak_requested_bytes, trace_info(want)->peak_requested_bytes);
    cr_assert_eq(trace_next(got, &a, &n_a, NULL), ERR_OK);
    cr_assert_eq(trace_next(want, &b, &n_b, NULL), ERR_OK);
    cr_assert_eq(n_a, n_b);
    for (size_t i = 0; i < n_a; i++)
        cr_expect(memcmp(&a[i], &b[i], sizeof a[i]) == 0, "event %zu", i);
    trace_close(got);
    trace_close(want);
    extrapolate_close(&x);
    trace_close(at[0]);
    trace_close(at[1]);
}

Test(extrapolate, recordings_that_take_another_way_are_refused_at_the_place)
{
    struct trace_reader *at[2] = { program(4, false, false), program(8, false, true) };
    struct extrapolation x;
    struct err_detail err = { .text = "" };
    cr_assert_eq(extrapolate_open(at, (uint64_t[]){ 4, 8 }, 2, "batch", &x, &err), ERR_FORMAT);
    cr_expect_not_null(strstr(err.text, "took another way"), "%s", err.text);
    cr_expect_not_null(strstr(err.text, "its end"), "%s", err.text);
    trace_close(at[0]);
    trace_close(at[1]);
}

/* ---- recordings ---- */

/* examples/oom/too_large.py under PyTorch 2.9.1: three batches foretell the fourth. Some requests have no formula; they
 * end before the peak, so that neither their smallest nor their largest size changes it. */
Test(extrapolate, three_recorded_batches_foretell_the_peak_of_a_fourth)
{
    static const uint64_t batches[] = { 8, 16, 24, 32 };
    struct trace_reader *at[4], *got;
    struct extrapolation x;
    for (size_t i = 0; i < 4; i++) {
        char path[256];
        snprintf(path, sizeof path, TEST_DATA "/extrapolate/too_large-%d.trace.zst", (int)batches[i]);
        cr_assert_eq(trace_open(path, &at[i], NULL), ERR_OK, "%s", path);
    }
    cr_assert_eq(extrapolate_open(at, batches, 3, "batch", &x, NULL), ERR_OK);
    cr_expect_eq(extrapolate_count(&x, FORMULA_AMBIGUOUS), 0);
    for (enum unsolved_size unsolved = UNSOLVED_SMALLEST; unsolved <= UNSOLVED_LARGEST; unsolved++) {
        cr_assert_eq(extrapolate_trace(&x, 32, unsolved, &got, NULL), ERR_OK);
        cr_expect_eq(trace_info(got)->peak_requested_bytes, trace_info(at[3])->peak_requested_bytes);
        cr_expect_eq(reserved_peak(got), reserved_peak(at[3]));
        trace_close(got);
    }
    extrapolate_close(&x);
    for (size_t i = 0; i < 4; i++)
        trace_close(at[i]);
}
