/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The device `cuda` on a strict driver in memory: what is asked of the card, what is refused, and that nothing stays
 * allocated. */
#include "import/import.h"
#include "replay/results/device_runs.h"
#include "sim/calibrate.h"
#include "sim/device_measured.h"
#include "tests/fake_cuda.h"
#include "tests/rig.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dirent.h>
#include <inttypes.h>

#define SAMPLES TEST_DATA "/../../samples"

static struct cuda_api api;

/* A card of its own for this case. */
static struct device_config fresh_card(uint64_t total_bytes)
{
    struct device_config cfg = device_defaults();
    fake_reset(total_bytes);
    api = fake_api();
    cfg.cuda = &api;
    cfg.interrupted = &fake.interrupted;
    return cfg;
}

static struct device *opened(const struct device_config *cfg)
{
    struct device *dev = NULL;
    struct err_detail err = {.text = ""};
    cr_assert_eq(device_open(&device_cuda, cfg, &dev, &err), ERR_OK, "%s", err.text);
    return dev;
}

static void expect_no_memory_left(const char *when)
{
    cr_expect_eq(fake.n_things, 0, "%s: %zu things are left", when, fake.n_things);
    cr_expect_eq(fake.used_bytes, 0, "%s: %" PRIu64 " bytes are left", when, fake.used_bytes);
    cr_expect_eq(fake.wrong_uses, 0, "%s: %" PRIu64 " wrong uses of the driver", when, fake.wrong_uses);
}

static void expect_nothing_left(const char *when)
{
    expect_no_memory_left(when);
    cr_expect_eq(fake.contexts, 0, "%s: a context is left", when);
}

/* ---- segments and ranges ---- */

Test(device_cuda, segments_come_from_the_card_and_go_back_to_it)
{
    const struct device_config cfg = fresh_card(GIB);
    struct device *dev = opened(&cfg);
    struct segment a, b;
    cr_assert_eq(device_segment_alloc(dev, 20 * MIB, &a), ERR_OK);
    cr_assert_eq(device_segment_alloc(dev, 2 * MIB, &b), ERR_OK);
    cr_expect_eq(fake.used_bytes, 22 * MIB);
    device_segment_free(dev, &a);
    cr_expect_eq(fake.used_bytes, 2 * MIB);
    device_close(dev);
    expect_nothing_left("closed");
}

Test(device_cuda, without_the_runtime_library_the_driver_allocates)
{
    struct device_config cfg = fresh_card(GIB);
    struct segment s;
    api = fake_api_of_driver();
    cfg.touch = true;
    struct device *dev = opened(&cfg);
    fake.touched_bytes = 0;
    cr_assert_eq(device_segment_alloc(dev, 20 * MIB, &s), ERR_OK);
    cr_expect_eq(fake.used_bytes, 20 * MIB);
    cr_expect_eq(fake.touched_bytes, 20 * MIB);
    device_close(dev);
    expect_nothing_left("closed");
}

Test(device_cuda, what_is_held_at_the_end_is_given_back_mappings_first)
{
    const struct device_config cfg = fresh_card(GIB);
    struct device *dev = opened(&cfg);
    struct segment seg, range;
    uint32_t phys[3];
    cr_assert_eq(device_segment_alloc(dev, 2 * MIB, &seg), ERR_OK);
    cr_assert_eq(device_range_reserve(dev, 64 * MIB, &range), ERR_OK);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(device_phys_create(dev, 2 * MIB, &phys[i]), ERR_OK);
    cr_assert_eq(device_map(dev, &range, 4 * MIB, 2 * MIB, phys[0]), ERR_OK);
    cr_assert_eq(device_map(dev, &range, 0, 2 * MIB, phys[1]), ERR_OK);
    device_give_back(dev);
    expect_no_memory_left("given back");
    device_segment_free(dev, &seg);
    device_unmap(dev, &range, 0, 2 * MIB);
    device_phys_destroy(dev, phys[1], 2 * MIB);
    device_range_free(dev, &range);
    device_close(dev);
    expect_nothing_left("freed again and closed");
}

Test(device_cuda, touch_writes_to_every_byte_obtained)
{
    struct device_config cfg = fresh_card(GIB);
    struct segment seg, range;
    uint32_t phys;
    cfg.touch = true;
    struct device *dev = opened(&cfg);
    fake.touched_bytes = 0;
    cr_assert_eq(device_segment_alloc(dev, 20 * MIB, &seg), ERR_OK);
    cr_assert_eq(device_range_reserve(dev, 64 * MIB, &range), ERR_OK);
    cr_assert_eq(device_phys_create(dev, 2 * MIB, &phys), ERR_OK);
    cr_assert_eq(device_map(dev, &range, 6 * MIB, 2 * MIB, phys), ERR_OK);
    cr_expect_eq(fake.touched_bytes, 22 * MIB);
    device_close(dev);
    expect_nothing_left("closed");
}

Test(device_cuda, a_card_without_virtual_memory_says_so_and_has_segments)
{
    const struct device_config cfg = fresh_card(GIB);
    struct segment s;
    fake.has_no_ranges = true;
    struct device *dev = opened(&cfg);
    cr_expect_not(device_has_ranges(dev));
    cr_expect_eq(device_range_reserve(dev, 64 * MIB, &s), ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(dev->err.text, "no virtual memory"), "%s", dev->err.text);
    cr_expect_eq(device_segment_alloc(dev, 2 * MIB, &s), ERR_OK);
    device_close(dev);
    expect_nothing_left("closed");
}

/* ---- capacity ---- */

Test(device_cuda, its_capacity_is_what_the_card_has_free)
{
    const struct device_config cfg = fresh_card(GIB);
    struct segment s;
    uint64_t free_bytes, total_bytes;
    fake.context_bytes = 100 * MIB;
    fake.others_bytes = 300 * MIB;
    struct device *dev = opened(&cfg);
    cr_expect_eq(dev->cfg.context_bytes, 100 * MIB);
    cr_expect_eq(dev->cfg.others_bytes, 300 * MIB);
    device_memory_info(dev, &free_bytes, &total_bytes);
    cr_expect_eq(free_bytes, 624 * MIB);
    cr_expect_eq(total_bytes, GIB);
    cr_expect_eq(device_segment_alloc(dev, 626 * MIB, &s), ERR_DEVICE_OOM);
    cr_expect_eq(dev->measured->refusals, 0, "the front functions refuse, not the card");
    cr_expect_eq(device_segment_alloc(dev, 624 * MIB, &s), ERR_OK);
    device_close(dev);
    expect_nothing_left("closed");
}

Test(device_cuda, a_limit_makes_a_card_of_that_size)
{
    struct device_config cfg = fresh_card(GIB);
    struct segment a, b;
    uint64_t free_bytes, total_bytes;
    fake.context_bytes = 100 * MIB;
    cfg.limit_bytes = 64 * MIB;
    struct device *dev = opened(&cfg);
    device_memory_info(dev, &free_bytes, &total_bytes);
    cr_expect_eq(free_bytes, 64 * MIB);
    cr_expect_eq(total_bytes, 64 * MIB);
    cr_assert_eq(device_segment_alloc(dev, 40 * MIB, &a), ERR_OK);
    cr_expect_eq(device_segment_alloc(dev, 26 * MIB, &b), ERR_DEVICE_OOM);
    cr_expect_eq(device_segment_alloc(dev, 24 * MIB, &b), ERR_OK);
    cr_expect_eq(fake.used_bytes, 64 * MIB);
    device_close(dev);
}

Test(device_cuda, a_limit_above_what_is_free_stops_at_what_is_free)
{
    struct device_config cfg = fresh_card(GIB);
    struct segment s;
    fake.others_bytes = 924 * MIB;
    cfg.limit_bytes = 200 * MIB;
    struct device *dev = opened(&cfg);
    cr_expect_eq(device_segment_alloc(dev, 102 * MIB, &s), ERR_DEVICE_OOM);
    cr_expect_eq(device_segment_alloc(dev, 100 * MIB, &s), ERR_OK);
    device_close(dev);
}

Test(device_cuda, memory_that_another_process_took_meanwhile_is_a_refusal_of_the_card)
{
    const struct device_config cfg = fresh_card(GIB);
    struct segment s;
    uint64_t free_bytes, total_bytes;
    struct device *dev = opened(&cfg);
    fake.others_bytes = 900 * MIB;
    device_memory_info(dev, &free_bytes, &total_bytes);
    cr_expect_eq(free_bytes, 124 * MIB);
    cr_expect_eq(device_segment_alloc(dev, 200 * MIB, &s), ERR_DEVICE_OOM);
    cr_expect_eq(dev->usage.refusals, 1);
    cr_expect_eq(dev->measured->refusals, 1);
    cr_expect_eq(dev->measured->refused_free_bytes, 124 * MIB);
    cr_expect_eq(device_segment_alloc(dev, 100 * MIB, &s), ERR_OK);
    device_close(dev);
    expect_nothing_left("closed");
}

Test(device_cuda, failures_on_purpose_come_before_the_card_is_asked)
{
    struct device_config cfg = fresh_card(GIB);
    struct segment s;
    cfg.fail_from_call = 2;
    struct device *dev = opened(&cfg);
    cr_expect_eq(device_segment_alloc(dev, 2 * MIB, &s), ERR_OK);
    cr_expect_eq(device_segment_alloc(dev, 2 * MIB, &s), ERR_DEVICE_OOM);
    cr_expect_eq(dev->measured->refusals, 0);
    cr_expect_eq(fake.used_bytes, 2 * MIB);
    device_close(dev);
    expect_nothing_left("closed");
}

/* ---- what is missing ---- */

static void expect_no_device(const struct device_config *cfg, enum err e, const char *words)
{
    struct device *dev = NULL;
    struct err_detail err = {.text = ""};
    cr_expect_eq(device_open(&device_cuda, cfg, &dev, &err), e, "%s", err.text);
    cr_expect_not_null(strstr(err.text, words), "'%s' does not say '%s'", err.text, words);
    expect_nothing_left(words);
}

Test(device_cuda, what_is_missing_is_said_in_one_sentence)
{
    struct device_config cfg = fresh_card(GIB);
    fake.n_cards = 0;
    expect_no_device(&cfg, ERR_UNSUPPORTED, "no CUDA card");
    fake.n_cards = 1;
    cfg.ordinal = 3;
    expect_no_device(&cfg, ERR_USAGE, "this host has 1");
    cfg.ordinal = 0;
    fake.context_bytes = 200 * MIB;
    fake.others_bytes = 900 * MIB;
    expect_no_device(&cfg, ERR_DEVICE_OOM, "the card is full");
}

Test(device_cuda, a_free_that_fails_is_told_by_the_next_request)
{
    const struct device_config cfg = fresh_card(GIB);
    struct segment a, b;
    struct device *dev = opened(&cfg);
    cr_assert_eq(device_segment_alloc(dev, 20 * MIB, &a), ERR_OK);
    fake.fail_at = fake.calls + 2;           /* after the context was chosen */
    fake.fail_with = FAKE_ILLEGAL;
    device_segment_free(dev, &a);
    cr_expect_eq(device_segment_alloc(dev, 2 * MIB, &b), ERR_DRIVER);
    cr_expect_str_eq(dev->err.text, "cuda:0: freeing of 20 MiB failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    device_close(dev);
    expect_nothing_left("closed");
}

/* ---- measured ---- */

Test(device_cuda, what_the_card_shows_at_the_peak_is_explained)
{
    const struct device_config cfg = fresh_card(GIB);
    struct segment a, b;
    fake.context_bytes = 100 * MIB;
    fake.others_bytes = 300 * MIB;
    struct device *dev = opened(&cfg);
    const struct device_measured *m = dev->measured;
    cr_assert_eq(device_segment_alloc(dev, 40 * MIB, &a), ERR_OK);
    cr_assert_eq(device_segment_alloc(dev, 60 * MIB, &b), ERR_OK);
    device_segment_free(dev, &a);
    device_segment_free(dev, &b);
    device_give_back(dev);
    cr_expect_eq(m->context_bytes, 100 * MIB);
    cr_expect_eq(m->others_bytes, 300 * MIB);
    cr_expect_eq(m->idle.card_bytes, 400 * MIB);
    cr_expect_eq(m->peak.reserved_bytes, 100 * MIB);
    cr_expect_eq(m->peak.card_bytes, 500 * MIB);
    cr_expect_eq(m->peak.process_bytes, 200 * MIB);
    cr_expect_eq(m->peak.free_bytes, 524 * MIB);
    cr_expect_eq(m->end.free_bytes, 624 * MIB);
    cr_expect_eq(m->calls[MEASURED_MALLOC].calls, 2);
    cr_expect_eq(m->calls[MEASURED_FREE].calls, 2);
    cr_expect_str_eq(m->card, "Fake 0");
    cr_expect_str_eq(m->software, "driver 570.86, CUDA 12.8, libcudart.so.12");
    device_close(dev);
}

Test(device_cuda, a_process_under_another_number_is_found_by_when_it_came)
{
    const struct device_config cfg = fresh_card(GIB);
    fake.context_bytes = 100 * MIB;
    fake.others_bytes = 300 * MIB;
    fake.hides_process = true;
    struct device *dev = opened(&cfg);
    cr_expect_eq(dev->measured->context_bytes, 100 * MIB);
    cr_expect_eq(dev->measured->others_bytes, 300 * MIB);
    device_close(dev);
}

Test(device_cuda, without_nvml_nobody_says_what_the_context_takes)
{
    const struct device_config cfg = fresh_card(GIB);
    fake.context_bytes = 100 * MIB;
    api.nvmlInit_v2 = NULL;
    struct device *dev = opened(&cfg);
    cr_expect_eq(dev->measured->context_bytes, MEASURED_UNKNOWN);
    cr_expect_eq(dev->measured->idle.card_bytes, MEASURED_UNKNOWN);
    cr_expect_eq(dev->cfg.context_bytes + dev->cfg.others_bytes, 100 * MIB);
    device_close(dev);
    expect_nothing_left("closed");
}

Test(device_cuda, percentiles_are_of_all_calls_and_exact)
{
    struct call_times t = {.ns = NULL};
    cr_expect_eq(call_times_percentile(&t, 50), 0);
    for (uint64_t i = 1000; i > 0; i--)
        call_times_add(&t, i);
    cr_expect_eq(t.calls, 1000);
    cr_expect_eq(t.total_ns, 500500);
    cr_expect_eq(call_times_percentile(&t, 50), 500);
    cr_expect_eq(call_times_percentile(&t, 99), 990);
    cr_expect_eq(call_times_percentile(&t, 100), 1000);
    cr_expect_eq(call_times_percentile(&t, 1), 10);
    call_times_close(&t);
    call_times_add(&t, 7);
    cr_expect_eq(call_times_percentile(&t, 50), 7);
    cr_expect_eq(call_times_percentile(&t, 99), 7);
    call_times_close(&t);
}

Test(device_cuda, calibration_measures_every_size_that_fits_and_leaves_nothing)
{
    const struct device_config cfg = fresh_card(512 * MIB);
    struct calibration at[CALIBRATION_SIZES];
    struct device_measured card;
    struct device_config settled;
    struct err_detail err = {.text = ""};
    size_t n;
    cr_assert_eq(calibrate(&device_cuda, &cfg, at, &n, &card, &settled, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(n, 3, "2, 20 and 128 MiB, not 1 GiB");
    for (size_t i = 0; i < n; i++) {
        cr_expect_geq(at[i].calls, 48);
        cr_expect(at[i].has_ranges);
    }
    cr_expect_eq(settled.total_bytes, 512 * MIB);
    expect_nothing_left("calibrated");
    fake_reset(MIB);
    cr_expect_eq(calibrate(&device_cuda, &cfg, at, &n, &card, &settled, &err), ERR_DEVICE_OOM);
    expect_nothing_left("no room");
}

/* ---- every call refused once, for every policy ---- */

static struct criterion_test_params every_spec(void)
{
    static size_t index[64];                /* values only: each case is a new process */
    char spec[RIG_SPEC_MAX];
    size_t n = 0;
    for (; n < 64 && rig_spec_at(n, spec); n++)
        index[n] = n;
    return cr_make_param_array(size_t, index, n);
}

/* Requests of all classes with frees in between, and more than the card holds. Ends if a request is neither served nor
 * refused for lack of memory. */
static enum err drive(struct rig *r)
{
    static const uint64_t sizes[] = {512,     3 * MIB, 700 * KIB, 12 * MIB, 30 * MIB,
                                     2 * MIB, 1,       25 * MIB,  40 * MIB, 5 * MIB};
    enum { STEPS = 24 };
    struct block at[STEPS] = {{.bytes = 0}};
    for (uint32_t i = 0; i < STEPS; i++) {
        const uint64_t bytes = sizes[i % 10];
        const enum err e = rig_alloc(r, i, (uint16_t)(i % 2), bytes, &at[i]);
        if (e != ERR_OK)
            at[i].bytes = 0;
        if (e != ERR_OK && e != ERR_DEVICE_OOM)
            return e;
        if (i >= 4 && at[i - 4].bytes > 0 && i % 3 != 0) {
            rig_free(r, EVENT_FREE, i - 4, (uint16_t)((i - 4) % 2), sizes[(i - 4) % 10], &at[i - 4]);
            at[i - 4].bytes = 0;
        }
        if (i % 11 == 10)
            rig_flush(r);
        rig_check(r);
    }
    return r->device->failure;
}

/* Opens policy and device, runs them and closes all. Returns the outcome; device_open's error if that fails. */
static enum err drive_spec(const char *spec, const struct device_config *cfg, struct err_detail *err)
{
    struct rig r = {.device = NULL};
    struct device_config touching = *cfg;
    touching.touch = true;
    struct stream_name streams[RIG_STREAMS] = {{.number = 0}, {.handle = 64, .number = 3},
                                               {.handle = 128, .number = 35}};
    enum err e = device_open(&device_cuda, &touching, &r.device, err);
    if (e != ERR_OK)
        return e;
    cr_assert_eq(policy_spec_parse(rig_suited_spec(spec, cfg->total_bytes), &r.spec, err), ERR_OK, "%s", err->text);
    const struct policy_config config = {
        .device = r.device, .peak_live = RIG_SLOTS,     .values = r.spec.values,
        .streams = streams, .n_streams = RIG_STREAMS,   .pools = &r.pool,  .n_pools = 1,
    };
    e = policy_create(r.spec.ops, &config, &r.policy, err);
    if (e == ERR_OK && (e = drive(&r)) != ERR_OK)
        *err = r.device->err;
    rig_close(&r);
    return e;
}

ParameterizedTestParameters(device_cuda, whichever_call_finds_no_memory_nothing_is_left)
{
    return every_spec();
}

ParameterizedTest(size_t *index, device_cuda, whichever_call_finds_no_memory_nothing_is_left)
{
    char spec[RIG_SPEC_MAX], when[2 * RIG_SPEC_MAX];
    rig_spec_at(*index, spec);
    bool is_over = false;
    for (uint64_t n = 1; !is_over; n++) {
        struct err_detail err = {.text = ""};
        const struct device_config cfg = fresh_card(80 * MIB);
        fake.fail_at = n;
        fake.fail_with = CUDA_OUT_OF_MEMORY;
        const enum err e = drive_spec(spec, &cfg, &err);
        snprintf(when, sizeof when, "%s, call %" PRIu64, spec, n);
        cr_expect(e == ERR_OK || e == ERR_DEVICE_OOM || e == ERR_DRIVER || e == ERR_UNSUPPORTED, "%s: %s", when,
                  err_name(e));
        cr_expect(e == ERR_OK || err.text[0] != '\0', "%s: %s without a sentence", when, err_name(e));
        expect_nothing_left(when);
        is_over = fake.calls < n;
    }
}

ParameterizedTestParameters(device_cuda, whichever_call_fails_the_run_ends_with_its_name_and_nothing_is_left)
{
    return every_spec();
}

ParameterizedTest(size_t *index, device_cuda, whichever_call_fails_the_run_ends_with_its_name_and_nothing_is_left)
{
    char spec[RIG_SPEC_MAX], when[2 * RIG_SPEC_MAX];
    rig_spec_at(*index, spec);
    uint64_t n_named = 0;
    for (uint64_t n = 1;; n++) {
        struct err_detail err = {.text = ""};
        const struct device_config cfg = fresh_card(80 * MIB);
        fake.fail_at = n;
        fake.fail_with = FAKE_ILLEGAL;
        const enum err e = drive_spec(spec, &cfg, &err);
        snprintf(when, sizeof when, "%s, call %" PRIu64, spec, n);
        if (fake.calls < n)
            break;
        cr_expect(e == ERR_OK || e == ERR_DRIVER || e == ERR_UNSUPPORTED, "%s: %s", when, err_name(e));
        n_named += e == ERR_DRIVER && strstr(err.text, "CUDA_ERROR_ILLEGAL_ADDRESS (700)") != NULL;
        expect_nothing_left(when);
    }
    cr_expect_geq(n_named, 4, "%s: only %" PRIu64 " failures were named", spec, n_named);
}

ParameterizedTestParameters(device_cuda, whenever_it_is_interrupted_nothing_is_left)
{
    return every_spec();
}

ParameterizedTest(size_t *index, device_cuda, whenever_it_is_interrupted_nothing_is_left)
{
    char spec[RIG_SPEC_MAX], when[2 * RIG_SPEC_MAX];
    rig_spec_at(*index, spec);
    uint64_t n_interrupted = 0;
    for (uint64_t n = 1;; n++) {
        struct err_detail err = {.text = ""};
        const struct device_config cfg = fresh_card(80 * MIB);
        fake.interrupt_at = n;
        const enum err e = drive_spec(spec, &cfg, &err);
        snprintf(when, sizeof when, "%s, call %" PRIu64, spec, n);
        if (fake.calls < n)
            break;
        cr_expect(e == ERR_OK || e == ERR_INTERRUPTED, "%s: %s", when, err_name(e));
        n_interrupted += e == ERR_INTERRUPTED;
        expect_nothing_left(when);
    }
    cr_expect_geq(n_interrupted, 4, "%s: interrupted %" PRIu64 " times", spec, n_interrupted);
}

/* ---- two devices on one trace ---- */

struct pair {
    struct trace_reader *trace;
    struct policy_spec   spec;
    struct device_choice devices[2];
    struct lane          lanes[2];
    struct device_runs   runs;
};

/* Runs a trace through a policy on two devices, given as after --device; "cuda" is the card in memory. */
static void pair_run(struct pair *p, const char *path, const char *policy, const char *first, const char *second)
{
    static const struct import_config import = {.gpu = -1};
    const struct replay_config cfg = {.on_oom = OOM_SKIP, .threads = 1, .interrupted = &fake.interrupted};
    struct err_detail err = {.text = ""};
    *p = (struct pair){.trace = NULL};
    cr_assert_eq(trace_open_any(path, NULL, &import, &p->trace, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(policy_spec_parse(policy, &p->spec, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(device_choose_any(first, p->trace, &p->devices[0], &err), ERR_OK, "%s", err.text);
    cr_assert_eq(device_choose_any(second, p->trace, &p->devices[1], &err), ERR_OK, "%s", err.text);
    for (int d = 0; d < 2; d++)
        p->devices[d].config.cuda = &api;
    p->runs = (struct device_runs){
        .trace = p->trace,     .specs = &p->spec, .n_policies = 1,
        .devices = p->devices, .n_devices = 2,    .lanes = p->lanes,
    };
    cr_assert_eq(device_runs_replay(&p->runs, &cfg, &err), ERR_OK, "%s: %s", path, err.text);
}

static void pair_close(struct pair *p)
{
    device_runs_close(&p->runs);
    policy_spec_close(&p->spec);
    trace_close(p->trace);
}

static const char *const pair_policies[] = {
    "best-fit", "pow2", "gc=0.8", "none", "pytorch:expandable", "pytorch:max-split=32MiB,version=2.4",
};
enum { N_PAIR_POLICIES = sizeof pair_policies / sizeof pair_policies[0] };

ParameterizedTestParameters(device_cuda, on_every_sample_it_is_asked_for_the_same_as_sim)
{
    static size_t index[N_PAIR_POLICIES];
    for (size_t i = 0; i < N_PAIR_POLICIES; i++)
        index[i] = i;
    return cr_make_param_array(size_t, index, N_PAIR_POLICIES);
}

ParameterizedTest(size_t *index, device_cuda, on_every_sample_it_is_asked_for_the_same_as_sim)
{
    const char *policy = pair_policies[*index];
    struct dirent **names;
    unsigned n_samples = 0;
    const int n = scandir(SAMPLES, &names, NULL, alphasort);
    cr_assert_gt(n, 0, "%s cannot be read", SAMPLES);
    for (int i = 0; i < n; i++) {
        char path[512];
        struct pair p;
        snprintf(path, sizeof path, "%s/%.200s", SAMPLES, names[i]->d_name);
        /* Those of examples/oom need more than this card has: the next test. */
        if (strstr(names[i]->d_name, ".trace") != NULL && strncmp(names[i]->d_name, "oom-", 4) != 0) {
            fresh_card(2 * GIB);
            fake.context_bytes = 500 * MIB;
            pair_run(&p, path, policy, "sim", n_samples % 2 == 0 ? "cuda" : "cuda:0,limit=256MiB");
            cr_expect(device_runs_agree(&p.runs), "%s, %s: after %" PRIu64 " calls %s, but %s", path, policy,
                      p.runs.comparisons[0].common, p.runs.comparisons[0].first[0], p.runs.comparisons[0].first[1]);
            cr_expect_gt(p.runs.comparisons[0].common, 3);
            cr_expect_eq(p.lanes[0].meter.peak.reserved, p.lanes[1].meter.peak.reserved);
            cr_expect_eq(p.lanes[0].meter.ooms, p.lanes[1].meter.ooms);
            pair_close(&p);
            expect_nothing_left(path);
            n_samples++;
        }
        free(names[i]);
    }
    free(names);
    cr_expect_geq(n_samples, 10);
}

/* The card in memory gives each request pages of its own, so packing is off on both sides. */
ParameterizedTestParameters(device_cuda, on_a_full_card_it_refuses_what_sim_refuses)
{
    static size_t index[N_PAIR_POLICIES];
    for (size_t i = 0; i < N_PAIR_POLICIES; i++)
        index[i] = i;
    return cr_make_param_array(size_t, index, N_PAIR_POLICIES);
}

ParameterizedTest(size_t *index, device_cuda, on_a_full_card_it_refuses_what_sim_refuses)
{
    static const struct { const char *path, *sim; uint64_t card_bytes; } cases[] = {
        {SAMPLES "/oom-fragmented.trace.zst", "sim:1640MiB,packing=off", 1640 * MIB},
        {SAMPLES "/oom-fragmented.trace.zst", "sim:1600MiB,packing=off", 1600 * MIB},
        {SAMPLES "/oom-halves-batch.trace.zst", "sim:4GiB,packing=off", 4 * GIB},
        {SAMPLES "/oom-long-run.trace.zst", "sim:1GiB,packing=off", GIB},
        {SAMPLES "/oom-too-large.trace.zst", "sim:4GiB,packing=off", 4 * GIB},
    };
    uint64_t ooms = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pair p;
        fresh_card(cases[i].card_bytes);
        pair_run(&p, cases[i].path, pair_policies[*index], cases[i].sim, "cuda:0,packing=off");
        cr_expect(device_runs_agree(&p.runs), "%s, %s: after %" PRIu64 " calls %s, but %s", cases[i].path,
                  pair_policies[*index], p.runs.comparisons[0].common, p.runs.comparisons[0].first[0],
                  p.runs.comparisons[0].first[1]);
        cr_expect_eq(p.lanes[0].meter.peak.reserved, p.lanes[1].meter.peak.reserved);
        cr_expect_eq(p.lanes[0].meter.ooms, p.lanes[1].meter.ooms);
        ooms += p.lanes[0].meter.ooms;
        pair_close(&p);
        expect_nothing_left(cases[i].path);
    }
    cr_expect_gt(ooms, 0, "no card was full");
}

Test(device_cuda, the_first_difference_between_two_devices_is_found)
{
    struct pair p;
    fresh_card(GIB);
    pair_run(&p, SAMPLES "/530-270.trace.zst", "best-fit", "sim:2GiB", "sim:1GiB");
    const struct report_comparison *c = &p.runs.comparisons[0];
    cr_expect_not(device_runs_agree(&p.runs));
    cr_expect_not(c->is_equal);
    cr_expect_lt(c->common, c->calls[0]);
    cr_expect_not_null(strstr(c->first[0], "malloc of"), "%s", c->first[0]);
    cr_expect_not_null(strstr(c->first[1], "malloc_oom of"), "%s", c->first[1]);
    pair_close(&p);
    pair_run(&p, SAMPLES "/530-270.trace.zst", "best-fit", "sim:2GiB,addresses=descending", "sim:2GiB");
    cr_expect_eq(p.runs.comparisons[0].calls[0], p.runs.comparisons[0].calls[1], "addresses are no decision");
    cr_expect(device_runs_agree(&p.runs));
    pair_close(&p);
}

Test(device_cuda, an_interrupted_run_ends_where_it_is_and_keeps_its_numbers)
{
    struct pair p;
    fresh_card(2 * GIB);
    fake.interrupt_at = 60;
    pair_run(&p, SAMPLES "/gpt-varlen-default.trace.zst", "none", "cuda", "sim");
    for (int d = 0; d < 2; d++) {
        cr_expect_eq(p.lanes[d].outcome, ERR_INTERRUPTED);
        cr_expect(p.lanes[d].is_stopped);
    }
    cr_expect_gt(p.lanes[0].meter.peak.reserved, 0);
    cr_expect_gt(p.lanes[0].stopped_at, 0);
    cr_expect_str_eq(p.lanes[0].err.text, "interrupted");
    pair_close(&p);
    expect_nothing_left("interrupted");
}

/* ---- what is typed ---- */

Test(device_cuda, a_card_is_named_by_number_and_limit)
{
    static const struct { const char *text; unsigned ordinal; uint64_t limit_bytes; } cases[] = {
        {"cuda", 0, 0}, {"cuda:0", 0, 0}, {"cuda:3", 3, 0}, {"cuda:0,limit=8GiB", 0, 8 * GIB},
        {"cuda:limit=512MiB", 0, 512 * MIB}, {"cuda,limit=1GiB", 0, GIB}, {"cuda:1,packing=off,limit=2GiB", 1, 2 * GIB},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct device_config cfg;
        const struct device_ops *ops;
        bool has_total, is_real = false;
        struct err_detail err = {.text = ""};
        cr_assert_eq(device_parse_any(cases[i].text, &cfg, &is_real, &has_total, &err), ERR_OK, "%s", err.text);
        cr_expect(is_real);
        cr_expect_eq(cfg.ordinal, cases[i].ordinal, "%s", cases[i].text);
        cr_expect_eq(cfg.limit_bytes, cases[i].limit_bytes, "%s", cases[i].text);
        cr_expect_eq(device_parse(cases[i].text, &cfg, &ops, &has_total, &err), ERR_UNSUPPORTED);
    }
}

Test(device_cuda, what_names_no_card_is_refused_with_the_place)
{
    static const char *const texts[] = {
        "cuda:", "cuda:x", "cuda:-1", "cuda:99999", "cuda:0,limit=0", "cuda:0,limit=", "cuda:0,limit=9XiB", "cuda:0,1",
        "cuda:0,context=1MiB", "cuda:24GiB", "cudax", "cuda:0,addresses=rising", "cuda,", "cuda,0",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct device_config cfg;
        bool is_real, has_total;
        struct err_detail err = {.text = ""};
        cr_expect_eq(device_parse_any(texts[i], &cfg, &is_real, &has_total, &err), ERR_USAGE, "'%s' was taken",
                     texts[i]);
        cr_expect_not_null(strstr(err.text, "device '"), "'%s'", err.text);
        cr_expect_leq(err.offset, strlen(texts[i]));
    }
}
