/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What would have happened, and did: one program recorded under one setting is replayed under every other setting and
 * card, and each time the real allocator's own run comes out.
 */
#include "tests/recorded_run.h"
#include "tests/rerecord.h"

#include <criterion/parameterized.h>
#include <dirent.h>
#include <stdlib.h>

#define FAMILIES GOLDEN_DIR "/counterfactual"

enum { RUNS_MAX = 256, NAME_BYTES = 64 };

/* Values only: each case is a process of its own. */
struct recording {
    char family[NAME_BYTES], file[NAME_BYTES];
};

/* Calls `take` for each file of a folder whose name ends so. */
static void each_file(const char *folder, const char *end, void (*take)(void *arg, const char *name), void *arg)
{
    DIR *dir = opendir(folder);
    for (const struct dirent *e = NULL; dir != NULL && (e = readdir(dir)) != NULL;) {
        const size_t n = strlen(e->d_name), n_end = strlen(end);
        if (e->d_name[0] != '.' && n >= n_end && strcmp(e->d_name + n - n_end, end) == 0)
            take(arg, e->d_name);
    }
    if (dir != NULL)
        closedir(dir);
}

struct recordings {
    const char *family, *end;            /* files whose names end so */
    struct recording at[RUNS_MAX];
    size_t n;
};

static void take_recording(void *arg, const char *name)
{
    struct recordings *r = arg;
    if (r->n == RUNS_MAX)
        return;
    snprintf(r->at[r->n].family, NAME_BYTES, "%s", r->family);
    snprintf(r->at[r->n++].file, NAME_BYTES, "%s", name);
}

static void take_family(void *arg, const char *name)
{
    struct recordings *r = arg;
    char folder[512];
    snprintf(folder, sizeof folder, FAMILIES "/%s", name);
    r->family = name;
    each_file(folder, r->end, take_recording, r);
}

static int recording_order(const void *a, const void *b)
{
    return strcmp(((const struct recording *)a)->file, ((const struct recording *)b)->file);
}

/* What PyTorch did in one run of a family; NULL where the file cannot be read. */
static json_t *load_run(const char *family, const char *file)
{
    char path[512];
    snprintf(path, sizeof path, FAMILIES "/%s/%s", family, file);
    return json_file_load(path);
}

static bool ended_well(const struct recording *r)
{
    json_t *run = load_run(r->family, r->file);
    const bool is_well = json_is_null(json_object_get(run, "oom"));
    json_decref(run);
    return is_well;
}

/* The files of all families whose names end so, and for which `is_wanted` (NULL: all); one without a name where there
 * are none. */
static struct criterion_test_params files_of_families(const char *end, bool (*is_wanted)(const struct recording *r))
{
    static struct recordings r;
    size_t n = 0;
    r = (struct recordings){.end = end};
    each_file(FAMILIES, "", take_family, &r);
    for (size_t i = 0; i < r.n; i++)
        if (is_wanted == NULL || is_wanted(&r.at[i]))
            r.at[n++] = r.at[i];
    if (n == 0)
        r.at[n++] = (struct recording){.file = ""};
    qsort(r.at, n, sizeof r.at[0], recording_order);
    return cr_make_param_array(struct recording, r.at, n);
}

/* What still counts after the error has been caught: what the program freed on the way does not. */
static bool outlives_an_oom(const char *key)
{
    if (strchr(key, '.') == NULL)
        return strcmp(key, "num_device_free") != 0;
    const bool is_split = strncmp(key, "inactive_split", strlen("inactive_split")) == 0;
    return !is_split && (strstr(key, ".peak") != NULL || strstr(key, ".allocated") != NULL);
}

struct comparison {
    const struct recording *r;
    struct trace_reader *trace;
    size_t n;
};

/* The replay under the setting and on the card of one run of the family. */
static void compare_run(void *arg, const char *file)
{
    struct comparison *c = arg;
    char name[2 * NAME_BYTES + 8];
    struct single_run run;
    json_t *real = load_run(c->r->family, file);
    snprintf(name, sizeof name, "%s as %s", c->r->file, file);
    cr_assert_not_null(real, "%s", file);
    const char *oom = json_string_value(json_object_get(real, "oom"));
    recorded_replay(c->trace, json_string_value(json_object_get(real, "conf")), NULL,
                    (uint64_t)json_integer_value(json_object_get(real, "device_total")), &run);
    cr_expect_eq(run.lane.outcome, oom == NULL ? ERR_OK : ERR_DEVICE_OOM, "%s: outcome", name);
    recorded_expect_stats(json_object_get(real, "memory_stats"), &run, oom == NULL ? NULL : outlives_an_oom, name);
    if (oom != NULL)
        cr_expect_str_eq(run.lane.meter.first_oom.refusal.text, oom, "%s", name);
    single_run_close(&run);
    json_decref(real);
    c->n++;
}

static void compare_all_runs(const struct recording *r, struct trace_reader *trace)
{
    char folder[512];
    struct comparison c = {.r = r, .trace = trace};
    snprintf(folder, sizeof folder, FAMILIES "/%s", r->family);
    each_file(folder, ".json", compare_run, &c);
    cr_expect_geq(c.n, 24, "settings on cards");
}

ParameterizedTestParameters(counterfactual, any_recording_tells_all_runs_of_its_family)
{
    return files_of_families(".pickle", NULL);
}
ParameterizedTest(struct recording *r, counterfactual, any_recording_tells_all_runs_of_its_family)
{
    cr_assert_str_neq(r->file, "", "no families in " FAMILIES);
    char path[512];
    snprintf(path, sizeof path, FAMILIES "/%s/%s", r->family, r->file);
    struct trace_reader *trace = recorded_open(path, -1);
    compare_all_runs(r, trace);
    trace_close(trace);
}

/* Genuine recordings exist of a few runs only, all on a card with room. The others that ended well are recorded by the
 * policy itself, which was just shown to do what the allocator did: on a full card the record holds the allocator's own
 * releases, too, and they must not be taken for the program's. */
ParameterizedTestParameters(counterfactual, a_recording_of_any_run_would_tell_them_as_well)
{
    return files_of_families(".json", ended_well);
}
ParameterizedTest(struct recording *r, counterfactual, a_recording_of_any_run_would_tell_them_as_well)
{
    cr_assert_str_neq(r->file, "", "no families in " FAMILIES);
    char path[512];
    json_t *real = load_run(r->family, r->file);
    cr_assert_not_null(real, "%s", r->file);
    snprintf(path, sizeof path, FAMILIES "/%s/%s-default.pickle", r->family, r->family);
    struct trace_reader *genuine = recorded_open(path, -1);
    struct trace_reader *made = rerecord(genuine, json_string_value(json_object_get(real, "conf")),
                                         (uint64_t)json_integer_value(json_object_get(real, "device_total")));
    compare_all_runs(r, made);
    trace_close(made);
    trace_close(genuine);
    json_decref(real);
}

/* One training loop under four settings, on a card with room: any recording tells the counters of the other three. */
static const char *const varlen_settings[] = {"default", "expand", "maxsplit", "roundup"};

static struct trace_reader *open_varlen(const char *setting, json_t **facts)
{
    char path[512];
    snprintf(path, sizeof path, GOLDEN_DIR "/training/gpt-varlen-%s.json", setting);
    *facts = json_file_load(path);
    cr_assert_not_null(*facts, "%s", path);
    snprintf(path, sizeof path, GOLDEN_DIR "/training/gpt-varlen-%s.pickle", setting);
    return recorded_open(path, -1);
}

Test(counterfactual, a_training_loop_recorded_under_one_setting_tells_the_other_three)
{
    enum { N = sizeof varlen_settings / sizeof varlen_settings[0] };
    for (size_t i = 0; i < N * N; i++) {
        json_t *recorded, *real;
        char name[64];
        struct single_run run;
        struct trace_reader *trace = open_varlen(varlen_settings[i / N], &recorded);
        trace_close(open_varlen(varlen_settings[i % N], &real));
        snprintf(name, sizeof name, "%s as %s", varlen_settings[i / N], varlen_settings[i % N]);
        recorded_replay(trace, json_string_value(json_object_get(real, "conf")), NULL,
                        (uint64_t)json_integer_value(json_object_get(real, "device_total")), &run);
        recorded_expect_stats(json_object_get(real, "memory_stats"), &run, NULL, name);
        single_run_close(&run);
        trace_close(trace);
        json_decref(recorded);
        json_decref(real);
    }
}
