/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Snapshots of replayed runs: the layout of each release, nothing lost, and under another setting PyTorch's own. */
#include "import/pytorch/pickle_writer.h"
#include "replay/recording/verify.h"
#include "tests/dumped.h"

#include <criterion/theories.h>

#define FAMILIES GOLDEN_DIR "/counterfactual"

/* Times and stacks of a free that was completed at once are those of its request, and PyTorch 2.0 keeps a history of
 * free blocks, too: neither is in the trace. */
static const char *const incomparable[] = {"time_us", "frames", "history", "external_annotations", NULL};

/* ---- the layout ---- */

static const char *const releases[] = {"2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1",
                                       "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.0", "2.15.0"};

Test(snapshot_export, a_replay_as_recorded_writes_what_each_release_wrote_key_by_key)
{
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++) {
        char path[256], version[32];
        snprintf(path, sizeof path, TEST_DATA "/layouts/%s.pickle", releases[i]);
        snprintf(version, sizeof version, "version=%s", releases[i]);
        struct trace_reader *trace = recorded_open(path, -1);
        const struct dumped_path made = dumped(trace, NULL, version, UINT64_C(8) << 30);
        char *got = rendered(made.text, incomparable), *want = rendered(path, incomparable);
        expect_same_text(got, want, releases[i]);
        cr_expect_gt(strlen(want), 1000);
        free(got);
        free(want);
        remove(made.text);
        trace_close(trace);
    }
}

Test(snapshot_export, stacks_of_requests_come_back_frame_by_frame)
{
    static const char *const nothing[] = {NULL};
    struct trace_reader *trace = recorded_open(TEST_DATA "/layouts/2.15.0.pickle", -1);
    const struct dumped_path made = dumped(trace, NULL, NULL, UINT64_C(8) << 30);
    char *got = rendered(made.text, nothing);
    cr_expect_not_null(strstr(got, "'frames': [{'name': 'child',\n'filename': 'oracle.py',\n'line': 149,\n}"), "%s",
                       got);
    free(got);
    remove(made.text);
    trace_close(trace);
}

/* The numbers behind a key of all records of an action, in order. */
static size_t numbers_of(const char *text, const char *action, const char *key, int64_t *out, size_t room)
{
    char mark[64];
    size_t n = 0;
    snprintf(mark, sizeof mark, "'action': '%s',", action);
    while ((text = strstr(text, mark)) != NULL && (text = strstr(text, key)) != NULL && n < room) {
        text += strlen(key);
        out[n++] = strtoll(text, NULL, 10);
    }
    return n;
}

Test(snapshot_export, requests_have_the_times_of_the_recording)
{
    enum { N = 4096 };
    static const char *const left_out[] = {"frames", NULL};
    static int64_t got_us[N], want_us[N];
    struct trace_reader *trace = recorded_open(GOLDEN_DIR "/training/gpt-varlen-default.pickle", -1);
    const struct dumped_path made = dumped(trace, NULL, NULL, UINT64_C(80) << 30);
    char *got = rendered(made.text, left_out);
    char *want = rendered(GOLDEN_DIR "/training/gpt-varlen-default.pickle", left_out);
    const size_t n = numbers_of(want, "alloc", "'time_us': ", want_us, N);
    cr_expect_eq(numbers_of(got, "alloc", "'time_us': ", got_us, N), n);
    cr_expect_eq(n, trace_info(trace)->by_kind[EVENT_ALLOC]);
    cr_expect(memcmp(got_us, want_us, n * sizeof *got_us) == 0);
    free(got);
    free(want);
    remove(made.text);
    trace_close(trace);
}

/* ---- there and back ---- */

static void expect_verified(const char *path, const char *name)
{
    struct verify_report r;
    struct err_detail err = {0};
    struct trace_reader *trace = recorded_open(path, -1);
    cr_assert_eq(verify_trace(trace, &(struct verify_options){.policy = NULL}, &r, &err), ERR_OK, "%s", err.text);
    cr_expect(verify_is_equal(&r), "%s: %s%s", name, r.following.first.text, r.free_running.first.text);
    cr_expect(r.following.is_done && r.free_running.is_done, "%s", name);
    cr_expect_gt(r.following.placements.compared, 0, "%s", name);
    trace_close(trace);
}

/* Under other settings and on a card that was not there, too. */
Test(snapshot_export, what_is_written_is_read_back_and_verified)
{
    static const struct { const char *sample, *conf; uint64_t mib; } runs[] = {
        {"gpt-varlen-default", NULL, 81920}, {"gpt-varlen-default", "expandable_segments:True", 81920},
        {"gpt-varlen-expand", "max_split_size_mb:32", 81920}, {"gpt-eval-emptycache", NULL, 81920},
        {"gpt-varlen-roundup", "roundup_power2_divisions:4", 320}, {"cnn", "expandable_segments:True", 81920},
    };
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, TEST_DATA "/../../samples/%s.trace.zst", runs[i].sample);
        struct trace_reader *trace = recorded_open(path, -1);
        const struct dumped_path made = dumped(trace, runs[i].conf, NULL, runs[i].mib << 20);
        struct trace_reader *again = recorded_open(made.text, -1);
        cr_expect_eq(trace_info(again)->by_kind[EVENT_ALLOC], trace_info(trace)->by_kind[EVENT_ALLOC]);
        cr_expect_str_eq(trace_meta(again, "conf"), runs[i].conf == NULL ? "" : runs[i].conf);
        expect_verified(made.text, path);
        trace_close(again);
        remove(made.text);
        trace_close(trace);
    }
}

/* From the recorded segments and blocks on, nothing is told of how they came about. */
Test(snapshot_export, a_start_in_mid_run_is_taken_over_without_records)
{
    static const char *const names[] = {"CliffKai-08fe375e", "bolongcheng-bf3e273f", "HanFa-209243be"};
    if (access(SHARED_DIR "/traces/pytorch-snapshot", R_OK) != 0)
        cr_skip_test("needs recordings of others: nothing in " SHARED_DIR "/traces/pytorch-snapshot");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct replay_config cfg = {.on_oom = OOM_AS_RECORDED, .threads = 1, .start = START_FAITHFUL};
        char path[256];
        struct single_run run;
        struct err_detail err = {0};
        snprintf(path, sizeof path, SHARED_DIR "/traces/pytorch-snapshot/%s.pickle", names[i]);
        struct trace_reader *trace = recorded_open(path, -1);
        const struct dumped_path made = dumped_path();
        cr_assert_eq(single_run_open(&run, trace, NULL, "sim:unlimited,addresses=rising", &err), ERR_OK, "%s",
                     err.text);
        dumped_replay(&run, SNAPSHOT_EXPORT_AT_END, &cfg, made.text);
        struct trace_reader *again = recorded_open(made.text, -1);
        cr_expect_eq(trace_info(again)->starts_mid_run, trace_info(trace)->starts_mid_run, "%s", names[i]);
        cr_expect_eq(trace_info(again)->by_kind[EVENT_ALLOC], trace_info(trace)->by_kind[EVENT_ALLOC], "%s", names[i]);
        expect_verified(made.text, names[i]);
        trace_close(again);
        remove(made.text);
        single_run_close(&run);
        trace_close(trace);
    }
}

Test(snapshot_export, a_refused_request_ends_the_records_and_the_state_is_that_of_the_refusal)
{
    const struct dumped_path made = dumped_path();
    struct single_run run;
    struct trace_reader *trace = recorded_open(TEST_DATA "/../../samples/gpt-varlen-default.trace.zst", -1);
    recorded_start(trace, NULL, NULL, UINT64_C(200) << 20, &run);
    dumped_run(&run, SNAPSHOT_EXPORT_AT_END, OOM_STOP, made.text);
    cr_assert_eq(run.lane.outcome, ERR_DEVICE_OOM);
    struct trace_reader *again = recorded_open(made.text, -1);
    cr_expect_eq(trace_info(again)->by_kind[EVENT_OOM], 1);
    cr_expect_eq(trace_info(again)->recorded_end_reserved_bytes, run.lane.meter.first_oom.reserved_bytes);
    cr_expect_eq(trace_info(again)->by_kind[EVENT_ALLOC], run.lane.meter.allocs);
    expect_verified(made.text, "200 MiB");
    trace_close(again);
    remove(made.text);
    single_run_close(&run);
    trace_close(trace);
}

Test(snapshot_export, the_state_in_front_of_an_event_has_no_record_from_behind_it)
{
    enum { EVENT = 1000 };
    const struct dumped_path made = dumped_path();
    struct single_run run;
    struct trace_reader *trace = recorded_open(TEST_DATA "/../../samples/gpt-varlen-default.trace.zst", -1);
    recorded_start(trace, NULL, NULL, UINT64_C(80) << 30, &run);
    dumped_run(&run, EVENT, OOM_STOP, made.text);
    cr_expect_eq(run.lane.events_done, trace_info(trace)->events, "the run itself goes on");
    struct trace_reader *again = recorded_open(made.text, -1);
    cr_expect_eq(trace_info(again)->events, EVENT);
    expect_verified(made.text, "event 1000");
    trace_close(again);
    remove(made.text);
    single_run_close(&run);
    trace_close(trace);
}

Test(snapshot_export, a_policy_without_blocks_of_its_own_is_refused)
{
    struct single_run run = {.trace = recorded_open(TEST_DATA "/layouts/2.15.0.pickle", -1)};
    struct snapshot_export d;
    struct err_detail err = {0};
    FILE *out = tmpfile();
    recorded_start(run.trace, NULL, "no-cache", UINT64_C(8) << 30, &run);
    cr_assert_eq(snapshot_export_open(&d, SNAPSHOT_EXPORT_AT_END, &err), ERR_OK);
    snapshot_export_listen(&d, &run.lane);
    recorded_run(&run);
    cr_expect_eq(snapshot_export_write(&d, &run.lane, run.trace, out, &err), ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(err.text, "no-cache"), "%s", err.text);
    fclose(out);
    snapshot_export_close(&d);
    struct trace_reader *trace = run.trace;
    single_run_close(&run);
    trace_close(trace);
}

/* ---- against what PyTorch did under the other setting ---- */

static size_t expect_genuine(struct trace_reader *base, const char *family, const char *setting)
{
    char path[512];
    snprintf(path, sizeof path, FAMILIES "/%s/%s-%s.json", family, family, setting);
    json_t *real = json_file_load(path);
    snprintf(path, sizeof path, FAMILIES "/%s/%s-%s.pickle", family, family, setting);
    if (real == NULL || access(path, R_OK) != 0) {
        json_decref(real);
        return 0;
    }
    const struct dumped_path made = dumped(base, json_string_value(json_object_get(real, "conf")), NULL,
                                           (uint64_t)json_integer_value(json_object_get(real, "device_total")));
    char *got = rendered(made.text, incomparable), *want = rendered(path, incomparable);
    expect_same_text(got, want, path);
    free(got);
    free(want);
    remove(made.text);
    json_decref(real);
    return 1;
}

/* Segments, blocks, every record and the settings. */
Test(snapshot_export, from_one_recording_come_the_genuine_snapshots_under_the_other_settings)
{
    static const char *const families[] = {"varlen", "prefetch", "unet"};
    static const char *const settings[] = {"default", "expand", "maxsplit32"};
    size_t n = 0;
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        char path[512];
        snprintf(path, sizeof path, FAMILIES "/%s/%s-default.pickle", families[f], families[f]);
        struct trace_reader *base = recorded_open(path, -1);
        for (size_t s = 0; s < sizeof settings / sizeof settings[0]; s++)
            n += expect_genuine(base, families[f], settings[s]);
        trace_close(base);
    }
    cr_expect_eq(n, 7, "genuine snapshots");
}

/* ---- the writer ---- */

struct seen { int64_t at[8]; size_t n; };

static enum err see_list(void *arg, const uint64_t *items, size_t n, uint64_t *out, struct err_detail *err)
{
    struct seen *seen = arg;
    (void)err;
    for (size_t i = 0; i < n && i < 8; i++)
        seen->at[i] = (int64_t)items[i];
    seen->n = n;
    *out = pickle_value(PICKLE_USER, 0);
    return ERR_OK;
}

TheoryDataPoints(snapshot_export, integers_come_back) = {
    DataPoints(int64_t, 0, 1, 127, 128, 255, 256, 65535, 65536, INT32_MAX, INT64_C(1) << 31, INT64_C(1) << 39,
               INT64_MAX, -1, -128, -129, INT32_MIN, -(INT64_C(1) << 32), INT64_MIN),
};
Theory((int64_t number), snapshot_export, integers_come_back)
{
    char *bytes;
    size_t n_bytes;
    struct seen seen = {0};
    const struct pickle_handler handler = {.arg = &seen, .list = see_list, .dict = see_list, .tuple = see_list};
    struct pickle *p;
    struct input *in = NULL;
    uint64_t value;
    int64_t back;
    FILE *out = open_memstream(&bytes, &n_bytes);
    struct pickle_writer w = pickle_writer_open(out);
    pickle_put_list(&w);
    pickle_put_integer(&w, number);
    pickle_put_number(&w, (uint64_t)number);
    pickle_end_list(&w);
    cr_assert_eq(pickle_writer_close(&w, NULL), ERR_OK);
    fclose(out);
    cr_assert_eq(input_open_bytes(bytes, n_bytes, &in, NULL), ERR_OK);
    cr_assert_eq(pickle_open(in, &handler, NULL, 0, &p, NULL), ERR_OK);
    cr_assert_eq(pickle_read(p, &value, NULL), ERR_OK);
    cr_assert_eq(seen.n, 2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert(pickle_int(p, (uint64_t)seen.at[i], &back));
        cr_expect_eq(back, number);
    }
    pickle_close(p);
    input_close(in);
    free(bytes);
}

Test(snapshot_export, a_list_of_any_length_is_written_in_batches)
{
    static const uint64_t lengths[] = {0, 1, 999, 1000, 1001, 3000};
    static const char *const nothing[] = {NULL};
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        const struct dumped_path path = dumped_path();
        char want[16];
        FILE *out = fopen(path.text, "wb");
        struct pickle_writer w = pickle_writer_open(out);
        pickle_put_list(&w);
        for (uint64_t i = 0; i < lengths[k]; i++) {
            pickle_list_item(&w, i);
            pickle_put_number(&w, i);
        }
        pickle_end_list(&w);
        cr_assert_eq(pickle_writer_close(&w, NULL), ERR_OK);
        fclose(out);
        char *text = rendered(path.text, nothing), *at = text + 1;
        for (uint64_t i = 0; i < lengths[k]; i++) {
            const int n = snprintf(want, sizeof want, "%" PRIu64 ",\n", i);
            cr_assert_eq(strncmp(at, want, (size_t)n), 0, "item %" PRIu64 " of %" PRIu64, i, lengths[k]);
            at += n;
        }
        cr_expect_str_eq(at, "]");
        free(text);
        remove(path.text);
    }
}

Test(snapshot_export, text_that_is_no_utf8_is_written_as_utf8)
{
    const struct dumped_path path = dumped_path();
    static const char *const nothing[] = {NULL};
    FILE *out = fopen(path.text, "wb");
    struct pickle_writer w = pickle_writer_open(out);
    pickle_put_list(&w);
    pickle_put_text(&w, "a\xff" "b");
    pickle_put_text(&w, "");
    pickle_put_text(&w, "a\xff" "b");
    pickle_end_list(&w);
    cr_assert_eq(pickle_writer_close(&w, NULL), ERR_OK);
    fclose(out);
    char *text = rendered(path.text, nothing);
    cr_expect_str_eq(text, "['a\xef\xbf\xbd" "b',\n'',\n'a\xef\xbf\xbd" "b',\n]");
    free(text);
    remove(path.text);
}
