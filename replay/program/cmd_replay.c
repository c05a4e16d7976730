/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay FILE`: the trace through each policy, and a report. */
#include "replay/engine/explain_run.h"
#include "replay/export/perfetto.h"
#include "replay/program/cli.h"
#include "replay/program/cmd_calibrate.h"
#include "replay/program/replay_shared.h"
#include "replay/program/replay_ranks.h"
#include "replay/program/what_if_options.h"
#include "replay/results/device_runs.h"
#include "replay/results/result.h"
#include "replay/recording/recorded_platform.h"
#include "replay/recording/recorded_release.h"
#include "replay/recording/recorded_settings.h"
#include "report/rows/sample_series.h"
#include "traces/stack_frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES_BY_DEFAULT = 1000 };
enum { TO_CSV, TO_SAMPLES, TO_PERFETTO };    /* the outputs beside JSON */

enum { ALL_HEADLINES = 4 * HEADLINE_TEXT, LABEL_TEXT = 200 };

/* Everything a run holds. Zero is valid: replay_close accepts it. Arrays of n hold one element for each lane, all
 * policies of the first device first: lane = device * n_policies + policy. */
struct session {
    const struct options *options;
    size_t               n_policies, n_devices, n;       /* n: lanes, n_policies * n_devices */
    size_t               n_parsed;                       /* specs */
    struct policy_spec  *specs;
    struct device_choice *devices;
    struct lane         *lanes;
    struct sample_series *series;
    struct explain_run  *explain;
    struct perfetto     *timelines;
    struct report_run   *runs;
    char               (*labels)[LABEL_TEXT];
    struct trace_reader *trace;
    struct device_runs   on;
    struct coverage      coverage;
    struct report        report;
    char                 headlines[ALL_HEADLINES];
    uint64_t             explain_event;
    const volatile sig_atomic_t *interrupted;            /* NULL: a signal ends the program at once */
};

static void replay_close(void *session)
{
    struct session *s = session;
    result_close(&s->report);
    device_runs_close(&s->on);
    for (size_t i = 0; i < s->n; i++) {
        sample_series_close(&s->series[i]);
        explain_run_close(&s->explain[i]);
        perfetto_close(&s->timelines[i]);
    }
    for (size_t i = 0; i < s->n_parsed; i++)
        policy_spec_close(&s->specs[i]);
    trace_close(s->trace);
    free(s->labels);
    free(s->runs);
    free(s->explain);
    free(s->timelines);
    free(s->series);
    free(s->lanes);
    free(s->devices);
    free(s->specs);
}

static enum err session_parse_policies(struct session *s, const char *const *typed, size_t n, struct err_detail *err)
{
    s->n_policies = n;
    s->specs = calloc(s->n_policies + 1, sizeof *s->specs);      /* one more for the recorded settings */
    if (s->specs == NULL)
        return err_no_memory(err);
    for (; s->n_parsed < s->n_policies; s->n_parsed++) {
        const enum err e = policy_spec_parse(typed[s->n_parsed], &s->specs[s->n_parsed], err);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* The settings that the program had come first, unless they are the defaults. */
static enum err session_add_recorded(struct session *s, struct err_detail *err)
{
    struct policy_spec recorded;
    struct err_detail reason;
    const enum err e = recorded_policy(s->trace, &recorded, &reason);
    if (e == ERR_HOST_NOMEM)
        return err_set(err, e, 0, "%s", reason.text);
    if (e != ERR_OK)
        return ERR_OK;                           /* no release that we know reads these settings */
    if (policy_spec_changes(&recorded) == 0) {
        policy_spec_close(&recorded);
        return ERR_OK;
    }
    assert(s->n_parsed == s->n_policies);        /* session_parse_policies left room for one more */
    memmove(s->specs + 1, s->specs, s->n_policies * sizeof *s->specs);
    s->specs[0] = recorded;
    s->n_policies++;
    s->n_parsed++;
    return ERR_OK;
}

/* Without --policy: what was recorded, and what everybody can choose where it was recorded. */
static enum err session_take_defaults(struct session *s, struct err_detail *err)
{
    size_t n;
    if (s->options->n_policies > 0)
        return ERR_OK;
    const char *const *policies = recorded_choices(s->trace, &n);
    const enum err e = session_parse_policies(s, policies, n, err);
    return e == ERR_OK ? session_add_recorded(s, err) : e;
}

static enum err session_make_room(struct session *s, struct err_detail *err)
{
    s->n_devices = s->options->n_devices > 0 ? s->options->n_devices : 1;
    const size_t n = s->n_policies * s->n_devices;
    s->devices = calloc(s->n_devices, sizeof *s->devices);
    s->lanes = calloc(n, sizeof *s->lanes);
    s->series = calloc(n, sizeof *s->series);
    s->runs = calloc(n, sizeof *s->runs);
    s->labels = calloc(n, sizeof *s->labels);
    s->explain = calloc(n, sizeof *s->explain);
    s->timelines = calloc(n, sizeof *s->timelines);
    if (s->devices == NULL || s->lanes == NULL || s->series == NULL || s->runs == NULL || s->labels == NULL ||
        s->explain == NULL || s->timelines == NULL)
        return err_no_memory(err);
    s->n = n;
    return ERR_OK;
}

/* If one of the devices is a real card, a signal ends the run, not the program,
 * so that all memory is given back first. */
static enum err session_choose_devices(struct session *s, struct err_detail *err)
{
    const struct options *o = s->options;
    bool has_real = false;
    for (size_t d = 0; d < s->n_devices; d++) {
        const enum err e = device_choose_any(o->n_devices > 0 ? o->devices[d] : NULL, s->trace, &s->devices[d], err);
        if (e != ERR_OK)
            return e;
        has_real |= device_is_real(s->devices[d].ops);
    }
    if (o->touch && !has_real)
        return err_set(err, ERR_USAGE, 0, "--touch is for a real card: --device cuda");
    if (has_real && o->start == START_FAITHFUL)
        return err_set(err, ERR_USAGE, 0, "--start faithful needs the recorded addresses, "
                                          "which a real card does not give");
    s->interrupted = has_real ? cli_defer_signals() : NULL;
    for (size_t d = 0; d < s->n_devices; d++) {
        if (s->n_devices > 1)                /* `sim` without a size depends on the other devices */
            snprintf(s->devices[d].typed, sizeof s->devices[d].typed, "%s", o->devices[d]);
        s->devices[d].config.touch = o->touch;
        s->devices[d].config.interrupted = s->interrupted;
    }
    return ERR_OK;
}

/* Called when a lane was opened: attaches the samples, the explanation and the timeline. */
static enum err session_opened(void *session, size_t lane, const struct replay_config *cfg, struct err_detail *err)
{
    struct session *s = session;
    char name[DEVICE_TEXT + 256];
    assert(lane < s->n && s->n == s->n_policies * s->n_devices);
    if (s->options->samples != NULL) {
        s->lanes[lane].sample = sample_series_add;
        s->lanes[lane].sample_arg = &s->series[lane];
    }
    s->explain[lane].event = s->explain_event;
    s->lanes[lane].explain = &s->explain[lane];
    if (s->options->perfetto == NULL)
        return ERR_OK;
    snprintf(name, sizeof name, "%.250s on %s", s->specs[lane % s->n_policies].typed,
             s->devices[lane / s->n_policies].typed);
    return perfetto_listen(&s->timelines[lane], (unsigned)lane + 1, name, &s->lanes[lane], s->trace, cfg, err);
}

static enum err session_prepare_lanes(struct session *s, struct err_detail *err)
{
    s->explain_event = EXPLAIN_NO_EVENT;
    if (s->options->is_given[FLAG_EXPLAIN]) {
        const enum err e = explain_run_find(s->trace, s->options->explain, &s->explain_event, err);
        if (e != ERR_OK)
            return e;
    }
    const char *release;
    const enum err found = recorded_release(s->trace, &release, err);
    if (found != ERR_OK)
        return found;
    for (size_t i = 0; i < s->n_policies; i++)
        recorded_take_release(release, &s->specs[i]);
    s->on = (struct device_runs){
        .trace = s->trace,     .specs = s->specs,     .n_policies = s->n_policies,
        .devices = s->devices, .n_devices = s->n_devices,
        .lanes = s->lanes,     .seed = s->options->seed, .with_plan = s->options->is_given[FLAG_PLAN],
        .opened = session_opened, .opened_arg = s,
    };
    return ERR_OK;
}

static size_t stack_frames(const void *trace, uint32_t stack, const char *const **frames)
{
    return trace_stack(trace, stack, frames);
}

/* Completes the notes that the lanes took while they ran with names from the trace. */
static enum err session_explain(struct session *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    s->report.names = (struct explain_names){ .stack = stack_frames, .own = stack_frame_index_of_program,
                                              .arg = s->trace };
    for (size_t i = 0; i < s->n && e == ERR_OK; i++) {
        e = explain_run_finish(&s->explain[i], s->trace, err);
        s->runs[i].at_oom = &s->explain[i].at_oom;
        s->runs[i].at_event = &s->explain[i].at_event;
    }
    return e;
}

/* Makes one report of the runs on all devices. */
static enum err session_gather(struct session *s, struct err_detail *err)
{
    for (size_t d = 0; d < s->n_devices; d++) {
        const size_t first = d * s->n_policies;
        assert(first + s->n_policies <= s->n);
        struct report part;
        const enum err e = result_gather(s->trace, s->options->inputs[0], &s->on.bounds, &s->coverage,
                                         &s->lanes[first], s->n_policies, &s->devices[d], &s->runs[first], &part, err);
        if (e != ERR_OK)
            return e;
        if (d == 0)
            s->report = part;
        s->report.n_runs = first + part.n_runs;
        const size_t n = strlen(s->headlines);
        snprintf(s->headlines + n, sizeof s->headlines - n, "%s%s", d == 0 ? "" : "; and ", s->devices[d].headline);
        for (size_t i = first; i < first + s->n_policies && s->n_devices > 1; i++) {
            snprintf(s->labels[i], LABEL_TEXT, "%.80s on %.100s", s->runs[i].label, s->devices[d].typed);
            s->runs[i].label = s->labels[i];
        }
    }
    s->report.headline = s->headlines;
    s->report.is_device_assumed = s->report.is_device_assumed && s->n_devices == 1;
    s->report.comparisons = s->on.comparisons;
    s->report.n_comparisons = s->on.n_comparisons;
    return ERR_OK;
}

/* The options as typed, or their defaults. */
static struct report_setup setup_of(const struct options *o)
{
    return (struct report_setup){
        .start    = o->texts[FLAG_START] != NULL ? o->texts[FLAG_START] : "fresh",
        .on_oom   = o->texts[FLAG_ON_OOM] != NULL ? o->texts[FLAG_ON_OOM] : "stop",
        .releases = o->texts[FLAG_GIVEN_BACK] != NULL ? o->texts[FLAG_GIVEN_BACK] : "auto",
        .format   = o->from,
        .price_bytes_per_ms = o->price,
        .seed     = o->seed,
    };
}

static enum err session_run(struct session *s, struct err_detail *err)
{
    const struct options *o = s->options;
    const uint64_t events = trace_info(s->trace)->events;
    struct progress progress = progress_start("replaying", PROGRESS_EVENTS);
    struct replay_config cfg = {
        .sample_every_ns = o->sample_every_ns,
        .sample_every_events = o->sample_every_events,
        .on_oom = o->on_oom,
        .start = o->start,
        .threads = o->threads,
        .audit = o->audit,
        .progress = progress_report,
        .progress_arg = &progress,
        .interrupted = s->interrupted,
    };
    const bool is_sampled = o->samples != NULL || o->perfetto != NULL || o->audit;
    if (is_sampled && !o->is_given[FLAG_SAMPLE_EVERY])
        cfg.sample_every_events = events / SAMPLES_BY_DEFAULT + 1;
    enum err e = coverage_read(s->trace, &s->coverage, err);
    if (e == ERR_OK)
        cfg.n_borders = steps_borders(&s->coverage.steps, cfg.borders);
    if (e == ERR_OK)
        e = what_if_choose(o, s->trace, &cfg.what_if, err);
    if (e == ERR_OK)
        e = device_runs_replay(&s->on, &cfg, err);
    progress_clear(&progress);
    if (e == ERR_OK)
        e = lanes_host_failure(s->lanes, s->n, err);
    if (e == ERR_OK)
        e = session_gather(s, err);
    s->report.setup = setup_of(o);
    s->report.is_wide = o->is_wide;
    if (e == ERR_OK && what_if_say(o, &cfg.what_if, &s->report) != ERR_OK)
        e = err_no_memory(err);
    return e == ERR_OK ? session_explain(s, err) : e;
}

static const char *label_text(const void *trace, uint32_t label)
{
    return trace_label(trace, label);
}

static void session_write_samples(const struct session *s, FILE *out)
{
    const struct trace_labels labels = { .text = label_text, .arg = s->trace };
    sample_series_write_header(out);
    for (size_t i = 0; i < s->n; i++)
        sample_series_write(out, &s->series[i], s->runs[i].label, &s->lanes[i].meter.at_peak_sample, &labels);
}

static enum err session_write_timelines(struct session *s, FILE *out, struct err_detail *err)
{
    for (size_t i = 0; i < s->n; i++)
        perfetto_finish(&s->timelines[i], &s->lanes[i]);
    return perfetto_write(out, s->timelines, s->n, s->trace, s->options->inputs[0], err);
}

/* The answer stands first, and again at the end where it has scrolled away. */
static enum err print_report(const struct session *s, struct err_detail *err)
{
    enum err e = report_table(stdout, &s->report);
    if (e == ERR_OK && cli_has_scrolled()) {
        fputc('\n', stdout);
        e = report_answer(stdout, &s->report);
    }
    return e == ERR_OK ? ERR_OK : err_set(err, e, 0, "no memory for the answer in words");
}

static enum err replay_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct session *s = session;
    report_json(out, &s->report);
    return ERR_OK;
}

static enum err replay_write_files(void *session, FILE *const files[ANSWER_FILES], struct err_detail *err)
{
    struct session *s = session;
    if (files[TO_CSV] != NULL)
        report_csv(files[TO_CSV], &s->report);
    if (files[TO_SAMPLES] != NULL)
        session_write_samples(s, files[TO_SAMPLES]);
    return files[TO_PERFETTO] != NULL ? session_write_timelines(s, files[TO_PERFETTO], err) : ERR_OK;
}

static enum err replay_print(const void *session, struct err_detail *err)
{
    const struct session *s = session;
    coverage_print(stdout, &s->coverage);
    return print_report(s, err);
}

/* The worst status of all lanes. */
static enum exit_status replay_status(const void *session)
{
    const struct session *s = session;
    enum exit_status worst = STATUS_DONE;
    for (size_t i = 0; i < s->n; i++) {
        const enum exit_status status = exit_status_of_run(s->lanes[i].outcome);
        worst = status > worst ? status : worst;
    }
    if (s->interrupted != NULL && *s->interrupted != 0)
        fprintf(stderr, "replay: ended by signal %d; all memory of the card was given back\n", (int)*s->interrupted);
    return worst == STATUS_DONE && !device_runs_agree(&s->on) ? STATUS_FAILED : worst;
}

/* What can be said without the trace is said before an output is opened. */
static enum err replay_prepare(void *session, const struct options **o, struct err_detail *err)
{
    struct session *s = session;
    s->options = *o;
    if ((*o)->perfetto != NULL && (*o)->audit)
        return err_set(err, ERR_USAGE, 0, "--perfetto and --audit exclude each other: both listen to the device");
    return (*o)->n_policies > 0 ? session_parse_policies(s, (*o)->policies, (*o)->n_policies, err) : ERR_OK;
}

static enum err replay_read(void *session, const struct options *o, struct err_detail *err)
{
    struct session *s = session;
    enum err e = cli_open_trace(o, 0, &s->trace, err);
    if (e == ERR_OK)
        e = session_take_defaults(s, err);
    if (e == ERR_OK)
        e = session_make_room(s, err);
    if (e == ERR_OK)
        e = session_choose_devices(s, err);
    if (e == ERR_OK)
        e = session_prepare_lanes(s, err);
    return e == ERR_OK ? session_run(s, err) : e;
}

static const struct answer_ops *replay_instead(const struct options *o)
{
    return o->calibrate                                   ? &answer_of_calibration
           : o->share != NULL                             ? &answer_of_shared
           : o->n_inputs == 1 && ranks_are_asked_for(o) ? &answer_of_ranks
                                                          : NULL;
}

static const struct flag_use replay_flags[] = {
    TAKES_AS(POLICY, "a policy to run (replay --list shows them); may be given several times (default: what was "
                     "recorded, " DEFAULT_POLICIES ")"),
    TAKES(DEVICES), TAKES(JSON), TAKES_AS(CSV, "write the results as CSV, one row per policy"), TAKES(SAMPLES),
    TAKES(PERFETTO), TAKES(SAMPLE_EVERY), TAKES_RUN, TAKES(AUDIT), TAKES(WIDE), TAKES(THREADS), TAKES(PRICE),
    TAKES_AS(SEED, "seed of a policy that draws random numbers, which no built-in does (default: 0)"), TAKES(EXPLAIN),
    TAKES(PLAN), TAKES(INSERT), TAKES(WARM), TAKES(SHARE), TAKES(TOUCH), TAKES(CALIBRATE), TAKES_INPUT, TAKES(HELP),
    FLAGS_END,
};

const struct subcommand cmd_replay = {
    .name = NULL,
    .synopsis = "FILE [options]",
    .summary = "replay a trace through allocator policies, and explain the first request that is refused",
    .text = "FILE is a native trace, a PyTorch snapshot (a pickle, also in gzip, in zstd or in an HTML page), a "
            "journal of replay record, or '-'. A folder holds the ranks of one job, as replay run-sim -o FOLDER/run "
            "writes them: each is replayed as recorded, and the worst, the spread and the lines that make the "
            "difference are shown.\n"
            "\n"
            "Of requests to JAX's allocator the default policies are JAX's own choices: " PLATFORM_JAX_POLICIES
            "; of TensorFlow's likewise.\n"
            "\n"
            "With several --device each policy runs on each card, and the calls are compared one by one:\n"
            "  replay FILE --policy gc=0.8 --device sim --device cuda:0\n"
            "A real card needs NVIDIA's driver only, which is looked for when the card is named. limit= is the most to "
            "take of the card. All of it is given back at the end, on an error, and on SIGINT or SIGTERM:\n"
            "  replay FILE --device cuda:0,limit=8GiB --touch\n"
            "  replay --device cuda:0 --calibrate\n"
            "\n"
            "Several processes on one card, the second of which begins after two seconds and may take 8 GiB:\n"
            "  replay --share a.zst,b.zst@+2s@8GiB --device 24GiB\n",
    .failed = "a run was out of memory or failed its audit, or two devices were asked for different calls",
    .flags = replay_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct session),
                .files = { [TO_CSV] = offsetof(struct options, csv), [TO_SAMPLES] = offsetof(struct options, samples),
                           [TO_PERFETTO] = offsetof(struct options, perfetto) },
                .prepare = replay_prepare, .read = replay_read, .write_json = replay_write_json,
                .write_files = replay_write_files, .print = replay_print, .status = replay_status,
                .close = replay_close },
    .instead = replay_instead,
};
