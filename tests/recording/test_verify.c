/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* verify: a genuine recording comes out equal, and one that was tampered with does not. */
#include "replay/recording/verify.h"

#include "base/units.h"
#include "import/import.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum err verify_file(const char *path, int64_t gpu, struct verify_report *out, struct err_detail *err)
{
    const struct import_config cfg = {.gpu = gpu};
    const struct verify_options options = {.policy = NULL};
    struct trace_reader *trace = NULL;
    enum err e = trace_open_any(path, NULL, &cfg, &trace, err);
    if (e == ERR_OK)
        e = verify_trace(trace, &options, out, err);
    trace_close(trace);
    return e;
}

static void expect_equal(const char *path, int64_t gpu)
{
    struct verify_report r;
    struct err_detail err = {0};
    const enum err e = verify_file(path, gpu, &r, &err);
    cr_assert_eq(e, ERR_OK, "%s: %s", path, err.text);
    cr_expect(verify_is_equal(&r), "%s: %s%s", path, r.following.first.text, r.free_running.first.text);
    cr_expect(r.following.is_done && r.free_running.is_done, "%s: %s", path, r.free_running.reason);
    cr_expect_gt(r.following.placements.compared, 0, "%s: nothing was compared", path);
    cr_expect_eq(r.following.placements.compared, r.following.placements.equal, "%s", path);
    cr_expect_eq(r.free_running.segments.compared, r.free_running.segments.equal, "%s", path);
    cr_expect_eq(r.following.ooms_recorded, r.following.ooms_predicted, "%s", path);
    cr_expect_leq(r.following.placements.unknowable * 1000, r.following.placements.compared, "%s", path);
}

/* ---- recordings that are bundled ---- */

Test(verify, one_program_dumped_by_all_releases_comes_out_equal)
{
    static const char *const releases[] = {
        "2.0.1", "2.1.2", "2.2.2",  "2.3.1",  "2.4.1",  "2.5.1",  "2.6.0",  "2.7.1",
        "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.0", "2.15.0"};
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, TEST_DATA "/layouts/%s.pickle", releases[i]);
        expect_equal(path, -1);
    }
}

Test(verify, bundled_training_loops_come_out_equal)
{
    static const char *const names[] = {"cnn", "gpt-varlen-default", "gpt-varlen-expand", "gpt-varlen-maxsplit",
                                        "gpt-varlen-roundup", "gpt-eval-emptycache"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, TEST_DATA "/../../samples/%s.trace.zst", names[i]);
        expect_equal(path, -1);
    }
}

/* Recorded from the middle of a run on, when the front of a range had been given back, which is mapped anew. */
Test(verify, a_range_without_memory_at_its_beginning_is_taken_over)
{
    static const char *const releases[] = {"2.4.1", "2.9.1", "2.15.0"};
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, TEST_DATA "/mid-run/expandable@%s.pickle", releases[i]);
        expect_equal(path, -1);
    }
}

/* ---- a recording of our own, right and wrong ---- */

#define BASE UINT64_C(0x7f0000000000)
static const uint64_t shared_pool[2] = {0, 0};

static void put(struct trace_writer *w, enum event_kind kind, uint64_t addr, uint64_t bytes, uint64_t record)
{
    struct err_detail err = {0};
    const struct trace_record r = {.kind = kind, .ptr = addr, .addr = addr, .bytes = bytes, .record = record};
    cr_assert_eq(trace_put(w, &r, &err), ERR_OK, "%s", err.text);
}

/* A segment of 20 MiB with blocks of 3 and 5 MiB, the second at `second`; `segment_bytes` as recorded. */
static void verify_made_by(const char *release, const char *conf, uint64_t segment_bytes, uint64_t second,
                           struct verify_report *out)
{
    struct err_detail err = {0};
    struct trace_writer *w;
    struct trace_reader *trace;
    const struct verify_options options = {.policy = NULL};
    void *bytes;
    size_t n;
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK);
    cr_assert_eq(trace_put_meta(w, TRACE_META_RELEASE, release, &err), ERR_OK);
    cr_assert_eq(trace_put_meta(w, "conf", conf, &err), ERR_OK);
    trace_writer_info(w)->recorded_peak_reserved_bytes = segment_bytes;
    cr_assert_eq(trace_put_segment_event(w, TRACE_SEGMENT_ALLOC, BASE, segment_bytes, 0, shared_pool, 0, &err), ERR_OK);
    put(w, EVENT_ALLOC, BASE, 3 * MIB, 1);
    put(w, EVENT_ALLOC, second, 5 * MIB, 2);
    cr_assert_eq(trace_finish_bytes(w, &bytes, &n, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(trace_open_bytes(bytes, n, &trace, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(verify_trace(trace, &options, out, &err), ERR_OK, "%s", err.text);
    trace_close(trace);
    free(bytes);
}

static void verify_made(uint64_t segment_bytes, uint64_t second, struct verify_report *out)
{
    verify_made_by("2.15", "", segment_bytes, second, out);
}

Test(verify, what_the_allocator_does_is_equal)
{
    struct verify_report r;
    verify_made(20 * MIB, BASE + 3 * MIB, &r);
    cr_expect(verify_is_equal(&r), "%s", r.following.first.text);
    cr_expect_eq(r.following.placements.equal, 2);
    cr_expect_eq(r.free_running.segments.equal, 1);
}

Test(verify, another_place_is_a_difference_at_its_record)
{
    struct verify_report r;
    verify_made(20 * MIB, BASE + 4 * MIB, &r);
    cr_expect_not(verify_is_equal(&r));
    cr_expect(r.following.has_difference);
    cr_expect_eq(r.following.first.record, 2, "record %" PRIu64, r.following.first.record);
    cr_expect_eq(r.free_running.first.record, 2, "record %" PRIu64, r.free_running.first.record);
    cr_expect_not_null(strstr(r.free_running.first.text, "expected 0x7f0000300000, recorded 0x7f0000400000"), "%s",
                       r.free_running.first.text);
}

/* 2.5 writes the same layout, and has no such option. */
Test(verify, a_release_that_does_not_know_a_recorded_setting_is_not_the_one)
{
    struct verify_report r;
    verify_made_by("2.7", "max_non_split_rounding_mb:40", 20 * MIB, BASE + 4 * MIB, &r);
    cr_expect_not(verify_is_equal(&r));
    cr_expect_str_eq(r.version, "2.7");
}

Test(verify, another_segment_size_is_a_difference_at_its_record)
{
    struct verify_report r;
    verify_made(22 * MIB, BASE + 3 * MIB, &r);
    cr_expect_not(verify_is_equal(&r));
    cr_expect_eq(r.following.first.record, 1, "record %" PRIu64, r.following.first.record);
    cr_expect_not_null(strstr(r.following.first.text, "recorded segment_alloc of 23068672 bytes, expected 20971520"),
                       "%s", r.following.first.text);
}

/* ---- whole folders of recordings ---- */

static void expect_folder_equal(const char *folder, bool (*is_wanted)(const char *name))
{
    char path[512];
    size_t n = 0;
    snprintf(path, sizeof path, GOLDEN_DIR "/%s", folder);
    DIR *dir = opendir(path);
    cr_assert_not_null(dir, "%s", path);
    for (const struct dirent *d; (d = readdir(dir)) != NULL;) {
        if (strstr(d->d_name, ".pickle") == NULL || !is_wanted(d->d_name))
            continue;
        snprintf(path, sizeof path, GOLDEN_DIR "/%s/%s", folder, d->d_name);
        const bool has_two = strstr(d->d_name, "twodev") != NULL;
        expect_equal(path, has_two ? 0 : -1);
        if (has_two)
            expect_equal(path, 1);
        n++;
    }
    closedir(dir);
    cr_assert_gt(n, 0);
}

static bool any_name(const char *name)
{
    (void)name;
    return true;
}

Test(verify, genuine_snapshots_come_out_equal)
{
    expect_folder_equal("snapshots", any_name);
}

Test(verify, genuine_training_loops_come_out_equal)
{
    expect_folder_equal("training", any_name);
}

Test(verify, recordings_under_every_setting_of_a_family_come_out_equal)
{
    expect_folder_equal("counterfactual/varlen", any_name);
    expect_folder_equal("counterfactual/unet", any_name);
    expect_folder_equal("counterfactual/prefetch", any_name);
}

Test(verify, recordings_of_real_gpus_come_out_equal_or_are_refused_with_a_reason)
{
    const char *folder = SHARED_DIR "/traces/pytorch-snapshot";
    size_t n_equal = 0, n_refused = 0;
    DIR *dir = opendir(folder);
    if (dir == NULL)
        cr_skip("needs recordings of others: no %s", folder);
    for (const struct dirent *d; (d = readdir(dir)) != NULL;) {
        struct verify_report r;
        struct err_detail err = {0};
        char path[512];
        if (strstr(d->d_name, ".pickle") == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
        const enum err e = verify_file(path, -1, &r, &err);
        if (e == ERR_OK) {
            cr_expect(verify_is_equal(&r), "%s: %s%s", path, r.following.first.text, r.free_running.first.text);
            n_equal++;
        } else {
            const bool is_known = strstr(err.text, "final state") != NULL || strstr(err.text, "contradicts") != NULL;
            cr_expect(is_known, "%s: %s", path, err.text);
            n_refused++;
        }
    }
    closedir(dir);
    cr_expect_geq(n_equal, 38, "%zu recordings compared, %zu refused", n_equal, n_refused);
}
