/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Page-locked host memory: what people reported that PyTorch took, and the thresholds that end it. */
#include "replay/advise/host_settings.h"

#include "base/units.h"

#include <criterion/criterion.h>
#include <string.h>

/* `n` requests of `bytes`, all live at once. */
static struct host_settings found_for(uint64_t bytes, uint64_t n)
{
    struct err_detail err = {.text = ""};
    struct trace_writer *w;
    struct trace_reader *r;
    struct host_settings found;
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK);
    for (uint64_t i = 0; i < n; i++)
        cr_assert_eq(trace_put(w, &(struct trace_record){.kind = EVENT_ALLOC, .ptr = i + 1, .bytes = bytes,
                                                         .record = TRACE_NO_RECORD}, &err), ERR_OK);
    cr_assert_eq(trace_finish_open(w, "requests", &r, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(host_settings_find(r, MIB, &found, &err), ERR_OK, "%s", err.text);
    trace_close(r);
    return found;
}

/* Asked and taken, as reported: pytorch#150517, LMCache#1147, vllm-backport#67, sglang#37285, sglang#39021. */
Test(host_settings, without_a_threshold_as_much_is_taken_as_people_reported)
{
    static const struct { double asked_mib; uint64_t n, taken_mib; } reports[] = {
        {129.5, 1, 256}, {112, 1, 128}, {4.1 * 1024, 1, 8192}, {5.0 * 1024, 1, 8192}, {1.125 * 1024, 1, 2048},
        {0.563 * 1024, 1, 1024}, {2.25 * 1024, 1, 4096}, {20.4 * 1024, 1, 32768}, {1.2 * 1024, 5, 10240},
    };
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        const uint64_t bytes = (uint64_t)(reports[i].asked_mib * MIB);
        const struct host_settings found = found_for(bytes, reports[i].n);
        cr_expect_eq(found.at[0].peak_bytes, reports[i].taken_mib * MIB, "%g MiB", reports[i].asked_mib);
        cr_expect_lt(found.at[1].peak_bytes - bytes * reports[i].n, 4096 * reports[i].n,
                     "exact pinning takes what is asked");
    }
}

Test(host_settings, a_threshold_is_recommended_where_it_saves_and_nothing_where_it_does_not)
{
    const struct host_settings large = found_for(1229 * MIB, 5), even = found_for(1024 * MIB, 5);
    cr_expect_gt(large.best, 1);
    cr_expect_not_null(strstr(large.at[large.best].conf, "pinned_max_round_threshold_mb:"));
    cr_expect_leq(large.at[large.best].peak_bytes, 5 * 1229 * MIB);
    cr_expect_eq(even.best, 0, "%s", even.at[even.best].conf);
}
