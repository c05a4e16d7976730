/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Genuine recordings, replayed from the requests of the program: every counter ends as PyTorch's did. */
#include "tests/recorded_run.h"

#include <criterion/parameterized.h>
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

enum { FILES_MAX = 64, NAME_BYTES = 512 };

/* Values only: each case is a process of its own. */
struct recording {
    char name[NAME_BYTES];               /* path without ".pickle" or ".json" */
};

static int recording_order(const void *a, const void *b)
{
    return strcmp(((const struct recording *)a)->name, ((const struct recording *)b)->name);
}

/* Those of a folder that have their facts beside them, in a .json. */
static struct criterion_test_params recordings(const char *folder)
{
    static struct recording found[FILES_MAX];
    char path[NAME_BYTES + 8];
    size_t n = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *e = NULL; dir != NULL && n < FILES_MAX && (e = readdir(dir)) != NULL;) {
        const char *dot = strstr(e->d_name, ".pickle");
        if (dot == NULL)
            continue;
        const int length = snprintf(found[n].name, NAME_BYTES, "%s/%.*s", folder, (int)(dot - e->d_name), e->d_name);
        cr_assert_lt(length, NAME_BYTES);
        snprintf(path, sizeof path, "%s.json", found[n].name);
        n += access(path, R_OK) == 0;
    }
    if (dir != NULL)
        closedir(dir);
    qsort(found, n, sizeof found[0], recording_order);
    if (n == 0)
        found[n++].name[0] = '\0';
    return cr_make_param_array(struct recording, found, n);
}

/* A call of empty_cache that found nothing to free leaves no record, but waits for all streams. */
static bool is_recorded(const char *key)
{
    return strcmp(key, "num_sync_all_streams") != 0;
}

/* The release as an option: "2.9.1+cu128" is version=2.9. A fraction is an option of ours, too: releases before 2.10
 * have no key for it. */
static const char *own_options(const json_t *facts, char *buf, size_t cap)
{
    int major = 0, minor = 0;
    sscanf(json_string_value(json_object_get(facts, "torch")), "%d.%d", &major, &minor);
    const json_t *fraction = json_object_get(facts, "fraction");
    const int n = snprintf(buf, cap, "version=%d.%d", major, minor);
    if (json_is_number(fraction))
        snprintf(buf + n, cap - (size_t)n, ",fraction=%.17g", json_number_value(fraction));
    return buf;
}

static void check_device(const struct recording *r, json_t *facts, json_t *want, int64_t gpu)
{
    char path[NAME_BYTES + 8], options[96];
    struct single_run run;
    snprintf(path, sizeof path, "%s.pickle", r->name);
    struct trace_reader *trace = recorded_open(path, gpu);
    recorded_replay(trace, json_string_value(json_object_get(facts, "conf")),
                    own_options(facts, options, sizeof options),
                    (uint64_t)json_integer_value(json_object_get(facts, "device_total")), &run);
    cr_expect_eq(run.lane.outcome, ERR_OK, "%s: the run ends like the recorded one", r->name);
    const bool has_silent_calls = strstr(r->name, "snap-empty-") != NULL;
    cr_expect_gt(recorded_expect_stats(want, &run, has_silent_calls ? is_recorded : NULL, r->name), 100);
    single_run_close(&run);
    trace_close(trace);
}

static void check_recording(const struct recording *r)
{
    char path[NAME_BYTES + 8];
    cr_assert_str_neq(r->name, "", "no recordings in one of the folders");
    snprintf(path, sizeof path, "%s.json", r->name);
    json_t *facts = json_file_load(path);
    cr_assert_not_null(facts, "%s", path);
    json_t *stats = json_object_get(facts, "memory_stats");
    const size_t n_devices = json_is_array(stats) ? json_array_size(stats) : 1;
    for (size_t d = 0; d < n_devices; d++)
        check_device(r, facts, json_is_array(stats) ? json_array_get(stats, d) : stats,
                     n_devices > 1 ? (int64_t)d : -1);
    json_decref(facts);
}

ParameterizedTestParameters(snapshots, of_random_programs_come_out)
{
    return recordings(GOLDEN_DIR "/snapshots");
}
ParameterizedTest(struct recording *r, snapshots, of_random_programs_come_out)
{
    check_recording(r);
}

ParameterizedTestParameters(snapshots, of_training_loops_come_out)
{
    return recordings(GOLDEN_DIR "/training");
}
ParameterizedTest(struct recording *r, snapshots, of_training_loops_come_out)
{
    check_recording(r);
}

ParameterizedTestParameters(snapshots, of_ten_releases_come_out_under_their_release)
{
    return recordings(TEST_DATA "/layouts");
}
ParameterizedTest(struct recording *r, snapshots, of_ten_releases_come_out_under_their_release)
{
    check_recording(r);
}
