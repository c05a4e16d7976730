/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Edition 2: its traces are the published ones, its seed draws them, and no built-in policy is forgotten. */
#include "policies/spec.h"
#include "replay/contest/contest.h"

#include "tests/edition_names.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct contest_trace *draw(uint64_t seed, const char *stratum, size_t *n)
{
    struct contest_trace *traces = NULL;
    struct err_detail err = { .text = "" };
    cr_assert_eq(contest_traces_draw(seed, stratum, &traces, n, &err), ERR_OK, "%s", err.text);
    return traces;
}

/* Opens a trace and closes it again. */
static enum err look_at(struct contest_trace *t, struct err_detail *err)
{
    struct trace_reader *trace;
    const enum err e = contest_trace_open(t, SAMPLES_DIR, &trace, err);
    trace_close(trace);
    return e;
}

Test(contest_traces, there_are_at_least_two_hundred_in_seven_strata)
{
    size_t n, n_strata = 0;
    free(draw(contest_published_seed(), NULL, &n));
    while (contest_stratum_at(n_strata) != NULL)
        n_strata++;
    cr_expect(n >= 200, "%zu", n);
    cr_expect_eq(n_strata, 7);
}

/* One of each stratum; the whole edition is checked whenever it runs. */
Test(contest_traces, the_published_ones_have_their_digests)
{
    for (size_t i = 0; contest_stratum_at(i) != NULL; i++) {
        size_t n;
        struct err_detail err = { .text = "" };
        struct contest_trace *traces = draw(contest_published_seed(), contest_stratum_at(i), &n);
        cr_expect_eq(look_at(&traces[n - 1], &err), ERR_OK, "%s", err.text);
        cr_expect_eq(look_at(&traces[0], &err), ERR_OK, "%s", err.text);
        free(traces);
    }
}

Test(contest_traces, a_trace_that_was_changed_is_refused)
{
    size_t n;
    struct err_detail err = { .text = "" };
    struct contest_trace *traces = draw(contest_published_seed(), "diffusion", &n);
    traces[0].seed++;
    cr_expect_eq(look_at(&traces[0], &err), ERR_FORMAT);
    cr_expect_not_null(strstr(err.text, "is not the trace of edition 2"), "%s", err.text);
    free(traces);
}

Test(contest_traces, another_seed_draws_other_traces_and_the_same_seed_the_same)
{
    size_t n, n_same = 0;
    struct contest_trace *a = draw(7, NULL, &n), *b = draw(8, NULL, &n), *again = draw(7, NULL, &n);
    for (size_t i = 0; i < n; i++) {
        cr_expect(a[i].is_recording == b[i].is_recording && a[i].stratum == b[i].stratum);
        cr_expect(strcmp(a[i].text, again[i].text) == 0 && a[i].seed == again[i].seed);
        n_same += !a[i].is_recording && strcmp(a[i].text, b[i].text) == 0;
    }
    cr_expect(n_same < n / 10, "%zu of %zu are the same", n_same, n);
    free(a);
    free(b);
    free(again);
}

static const struct edition edition = { .policy_at = contest_policy_at, .left_out_at = contest_left_out_at };

Test(contest_traces, every_built_in_policy_runs_or_is_left_out_with_a_reason)
{
    for (size_t i = 0; policy_at(i) != NULL; i++)
        cr_expect(edition_names(&edition, policy_at(i)->name),
                  "%s: neither in edition_2.def nor left out there", policy_at(i)->name);
}
