/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Recordings that others made on real GPUs: what they recorded is what the replay gives. */
#include "base/units.h"
#include "import/import.h"
#include "replay/results/single_run.h"
#include "tests/json_file.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TRACES SHARED_DIR "/traces/"
#define NESTA  TRACES "pytorch-snapshot/Nesta-gitU-1ab3368e.pickle"

struct outcome {
    enum err outcome;
    uint64_t peak_reserved_bytes, segment_allocs;
    int64_t  oom_event;
    uint64_t oom_bytes;
};

/* Replays a file by best-fit. */
static struct outcome replay_best_fit(const char *path, const char *device)
{
    const struct import_config import = {.gpu = -1};
    const struct replay_config cfg = {.on_oom = OOM_STOP, .threads = 1};
    struct trace_reader *trace = NULL;
    struct single_run run;
    struct trace_side side;
    struct err_detail err = {0};
    cr_assert_eq(trace_open_any(path, NULL, &import, &trace, &err), ERR_OK, "%s: %s", path, err.text);
    cr_assert_eq(single_run_open(&run, trace, "best-fit", device, &err), ERR_OK, "%s: %s", path, err.text);
    cr_assert_eq(single_run_replay(&run, &cfg, &err), ERR_OK, "%s: %s", path, err.text);
    const struct meter *m = &run.lane.meter;
    struct outcome o = {.outcome = run.lane.outcome, .peak_reserved_bytes = m->peak.reserved,
                        .segment_allocs = run.lane.device->usage.segment_allocs, .oom_event = -1};
    if (m->ooms > 0) {
        cr_assert_eq(trace_side_at(trace, (uint64_t)m->first_oom.event, &side, &err), ERR_OK, "%s", err.text);
        o.oom_event = (int64_t)side.record;
        o.oom_bytes = m->first_oom.requested_bytes;
    }
    single_run_close(&run);
    trace_close(trace);
    return o;
}

/* The device of a complete recording without OOM on a CUDA card; NULL for another. */
static json_t *complete_device(const json_t *file)
{
    json_t *device = json_array_get(json_object_get(file, "devices"), 0);
    const char *vendor = json_string_value(json_object_get(file, "vendor"));
    const bool is_wanted = device != NULL && vendor != NULL && strcmp(vendor, "cuda") == 0 &&
                           json_array_size(json_object_get(file, "devices")) == 1 &&
                           json_is_true(json_object_get(device, "complete")) &&
                           json_integer_value(json_object_get(device, "n_oom")) == 0;
    return is_wanted ? device : NULL;
}

Test(real_traces, best_fit_reserves_what_every_complete_recording_reserved)
{
    if (access(TRACES "pytorch-snapshot/truth.json", R_OK) != 0)
        cr_skip("needs recordings of others: no %s", TRACES);
    json_t *truth = json_file_load(TRACES "pytorch-snapshot/truth.json"), *file;
    size_t i, n = 0;
    json_array_foreach(truth, i, file) {
        const json_t *device = complete_device(file);
        char path[512];
        if (device == NULL)
            continue;
        snprintf(path, sizeof path, TRACES "%s", json_string_value(json_object_get(file, "file")));
        const struct outcome o = replay_best_fit(path, "sim:unlimited");
        const json_t *actions = json_object_get(device, "actions");
        cr_expect_eq(o.outcome, ERR_OK, "%s", path);
        cr_expect_eq(o.peak_reserved_bytes, (uint64_t)json_integer_value(json_object_get(device, "peak_reserved")),
                     "%s: %" PRIu64 " bytes at most", path, o.peak_reserved_bytes);
        cr_expect_eq(o.segment_allocs, (uint64_t)json_integer_value(json_object_get(actions, "segment_alloc")),
                     "%s: %" PRIu64 " segments", path, o.segment_allocs);
        n++;
    }
    json_decref(truth);
    cr_expect_eq(n, 9, "%zu complete recordings", n);
}

Test(real_traces, a_recorded_oom_comes_at_its_record_on_any_card_it_can_have_been)
{
    static const unsigned mib[] = {22314, 22400, 22500, 22601};
    if (access(NESTA, R_OK) != 0)
        cr_skip("needs recordings of others: no %s", NESTA);
    for (size_t i = 0; i < sizeof mib / sizeof mib[0]; i++) {
        char device[64];
        snprintf(device, sizeof device, "sim:%uMiB", mib[i]);
        const struct outcome o = replay_best_fit(NESTA, device);
        cr_expect_eq(o.outcome, ERR_DEVICE_OOM, "%s", device);
        cr_expect_eq(o.oom_event, 1117, "%s: record %" PRId64, device, o.oom_event);
        cr_expect_eq(o.oom_bytes, 402653184, "%s", device);
        cr_expect_eq(o.peak_reserved_bytes, UINT64_C(22314) * MIB, "%s: %" PRIu64, device, o.peak_reserved_bytes);
    }
}

Test(real_traces, on_a_larger_card_the_refused_request_is_served)
{
    if (access(NESTA, R_OK) != 0)
        cr_skip("needs recordings of others: no %s", NESTA);
    const struct outcome tight = replay_best_fit(NESTA, "sim:22400MiB"), wide = replay_best_fit(NESTA, "sim:80GiB");
    cr_expect_eq(wide.outcome, ERR_OK);
    cr_expect_eq(wide.peak_reserved_bytes, tight.peak_reserved_bytes + 384 * MIB, "%" PRIu64, wide.peak_reserved_bytes);
}
