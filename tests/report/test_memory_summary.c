/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* memory_summary(): every text that PyTorch printed for a golden case comes out of the counters of that case. */
#include "report/measure/memory_summary.h"
#include "tests/json_file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static int64_t lookup_json(const void *arg, const char *key)
{
    return json_integer_value(json_object_get(arg, key));
}

static void expect_text(const json_t *stats, uint32_t device, enum summary_form form, const char *want,
                        const char *name)
{
    char got[MEMORY_SUMMARY_MAX];
    const size_t n = memory_summary(lookup_json, stats, device, form, got, sizeof got);
    cr_expect_eq(n, strlen(want), "%s: length", name);
    cr_expect_str_eq(got, want, "%s", name);
}

/* Compares the texts of one case; returns how many there were. */
static size_t check_case(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *root = json_file_load(path);
    cr_assert_not_null(root, "%s", path);
    const json_t *texts = json_object_get(root, "memory_summary"), *stats = json_object_get(root, "memory_stats");
    const size_t n = json_array_size(texts);
    for (size_t d = 0; d < n; d++) {
        const json_t *text = json_array_get(texts, d), *counters = json_array_get(stats, d);
        expect_text(counters, (uint32_t)d, SUMMARY_FULL, json_string_value(json_object_get(text, "full")), name);
        expect_text(counters, (uint32_t)d, SUMMARY_ABBREVIATED, json_string_value(json_object_get(text, "abbreviated")),
                    name);
    }
    json_decref(root);
    return n;
}

static size_t check_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return 0;
    size_t n = 0;
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        if (strstr(e->d_name, ".json") != NULL)
            n += check_case(folder, e->d_name);
    closedir(dir);
    return n;
}

Test(memory_summary, prints_what_pytorch_printed_for_the_newest_release)
{
    cr_expect_gt(check_folder(GOLDEN_DIR "/pytorch"), 300);
}

Test(memory_summary, prints_what_pytorch_printed_in_every_older_release)
{
    static const char *const folders[] = {
        "pytorch-2.0.1", "pytorch-2.1.2",  "pytorch-2.2.2",  "pytorch-2.3.1",  "pytorch-2.4.1",
        "pytorch-2.5.1", "pytorch-2.6.0",  "pytorch-2.7.1",  "pytorch-2.8.0",  "pytorch-2.9.1",
        "pytorch-2.10.0", "pytorch-2.11.0", "pytorch-2.12.1", "pytorch-2.13.0", "pytorch-2.14.0",
    };
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[4096];
        snprintf(path, sizeof path, GOLDEN_DIR "/%s", folders[i]);
        cr_expect_gt(check_folder(path), 0, "no texts in %s", path);
    }
}

/* ---- thresholds: 768 units of 1024, 750 of 1000 ---- */

static int64_t lookup_same(const void *arg, const char *key)
{
    (void)key;
    return *(const int64_t *)arg;
}

static void expect_line(int64_t value, const char *line)
{
    char text[MEMORY_SUMMARY_MAX];
    memory_summary(lookup_same, &value, 0, SUMMARY_ABBREVIATED, text, sizeof text);
    cr_expect_not_null(strstr(text, line), "no \"%s\" for %" PRId64 " in\n%s", line, value, text);
}

Test(memory_summary, sizes_change_their_unit_at_768_of_it)
{
    expect_line(786431, "| Allocated memory      | 786431 B   |");
    expect_line(786432, "| Allocated memory      |    768 KiB |");
    expect_line(805306367, "| Allocated memory      | 786431 KiB |");
    expect_line(805306368, "| Allocated memory      |    768 MiB |");
    expect_line(INT64_C(824633720832), "| Allocated memory      |    768 GiB |");
    expect_line(INT64_MAX, "| Allocated memory      |   8191 PiB |");
}

Test(memory_summary, counts_change_their_unit_at_750_of_it)
{
    expect_line(749999, "| Allocations           |  749999    |");
    expect_line(750000, "| Allocations           |     750 K  |");
    expect_line(750000000, "| Allocations           |     750 M  |");
}

static int64_t lookup_pools(const void *arg, const char *key)
{
    (void)arg;
    return strstr(key, ".all.") != NULL ? INT64_C(2) << 30 : 1 << 20;
}

Test(memory_summary, pool_rows_take_the_unit_of_the_row_for_all)
{
    char text[MEMORY_SUMMARY_MAX];
    memory_summary(lookup_pools, NULL, 3, SUMMARY_FULL, text, sizeof text);
    cr_expect_not_null(strstr(text, "| Allocated memory      |   2048 MiB |"));
    cr_expect_not_null(strstr(text, "|       from large pool |      1 MiB |"));
    cr_expect_not_null(strstr(text, "memory summary, device ID 3                 |"));
}

Test(memory_summary, a_small_buffer_gets_the_beginning_and_the_full_length)
{
    const int64_t zero = 0;
    char whole[MEMORY_SUMMARY_MAX], part[100];
    const size_t n = memory_summary(lookup_same, &zero, 0, SUMMARY_FULL, whole, sizeof whole);
    cr_expect_eq(n, strlen(whole));
    cr_expect_eq(memory_summary(lookup_same, &zero, 0, SUMMARY_FULL, part, sizeof part), n);
    cr_expect_eq(strlen(part), sizeof part - 1);
    cr_expect_eq(memcmp(part, whole, sizeof part - 1), 0);
    cr_expect_eq(memory_summary(lookup_same, &zero, 0, SUMMARY_FULL, NULL, 0), n);
}

/* ---- a policy's own counters ---- */

static void fake_stats(const struct policy *p, stat_visit visit, void *arg)
{
    (void)p;
    visit(arg, "num_ooms", 7);
}

Test(memory_summary, reads_a_policy_by_key_and_takes_zero_for_what_it_does_not_keep)
{
    const struct policy_ops ops = {.stats = fake_stats}, silent = {0};
    const struct policy counting = {.ops = &ops}, other = {.ops = &silent};
    cr_expect_eq(memory_summary_policy_stat(&counting, "num_ooms"), 7);
    cr_expect_eq(memory_summary_policy_stat(&counting, "num_oom_rejections"), 0);
    cr_expect_eq(memory_summary_policy_stat(&other, "num_ooms"), 0);
}
