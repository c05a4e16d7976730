/* `replay FILE`: the trace through each policy, and a report. */
#include "replay/cli.h"
#include "replay/explain_run.h"
#include "replay/perfetto.h"
#include "replay/recorded.h"
#include "replay/result.h"
#include "replay/what_if.h"
#include "report/sink_samples.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES_BY_DEFAULT = 1000 };

const char *const default_policies[N_DEFAULT_POLICIES] = {"best-fit", "pow2", "gc=0.8", "none"};

/* Everything a run holds; zero is a valid beginning and end. */
struct session {
    const struct options *options;
    size_t               n;
    struct policy_spec  *specs;
    struct lane         *lanes;
    struct sink        **sinks;
    struct explain_run  *explain;
    struct perfetto     *timelines;
    struct report_run   *runs;
    struct trace_reader *trace;
    struct device_choice device;
    struct report        report;
    struct output       *json, *csv, *samples, *perfetto;
    bool                 is_stdout_taken;
};

static void session_close(struct session *s)
{
    output_abandon(s->json);
    output_abandon(s->csv);
    output_abandon(s->samples);
    output_abandon(s->perfetto);
    result_close(&s->report);
    for (size_t i = 0; i < s->n; i++) {
        lane_close(&s->lanes[i]);
        policy_spec_close(&s->specs[i]);
        sink_samples_destroy(s->sinks[i]);
        explain_run_close(&s->explain[i]);
        perfetto_close(&s->timelines[i]);
    }
    trace_close(s->trace);
    free(s->runs);
    free(s->explain);
    free(s->timelines);
    free(s->sinks);
    free(s->lanes);
    free(s->specs);
}

static enum err session_parse_policies(struct session *s, struct err_detail *why)
{
    const struct options *o = s->options;
    const char *const *typed = o->n_policies > 0 ? o->policies : default_policies;
    const size_t n = o->n_policies > 0 ? o->n_policies : N_DEFAULT_POLICIES;
    s->specs = calloc(n, sizeof *s->specs);
    s->lanes = calloc(n, sizeof *s->lanes);
    s->sinks = calloc(n, sizeof *s->sinks);
    s->runs = calloc(n, sizeof *s->runs);
    s->explain = calloc(n, sizeof *s->explain);
    s->timelines = calloc(n, sizeof *s->timelines);
    if (s->specs == NULL || s->lanes == NULL || s->sinks == NULL || s->runs == NULL ||
        s->explain == NULL || s->timelines == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory for %zu policies", n);
    for (; s->n < n; s->n++) {
        const enum err e = policy_spec_parse(typed[s->n], &s->specs[s->n], why);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* Outputs are opened before the work, so that a name that cannot be written to costs nobody a long run. */
static enum err session_open_outputs(struct session *s, struct err_detail *why)
{
    const struct options *o = s->options;
    const char *const paths[] = {o->json, o->csv, o->samples, o->perfetto};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        for (size_t k = 0; k < i; k++)
            if (paths[i] != NULL && paths[k] != NULL && strcmp(paths[i], paths[k]) == 0 && strcmp(paths[i], "-") != 0)
                return err_set(why, ERR_USAGE, 0, "%s: is named for two outputs", paths[i]);
    enum err e = cli_open_output(o, o->json, &s->is_stdout_taken, &s->json, why);
    if (e == ERR_OK)
        e = cli_open_output(o, o->csv, &s->is_stdout_taken, &s->csv, why);
    if (e == ERR_OK)
        e = cli_open_output(o, o->samples, &s->is_stdout_taken, &s->samples, why);
    if (e == ERR_OK && o->perfetto != NULL && o->audit)
        e = err_set(why, ERR_USAGE, 0, "--perfetto and --audit both listen to the device: one at a time");
    if (e == ERR_OK)
        e = cli_open_output(o, o->perfetto, &s->is_stdout_taken, &s->perfetto, why);
    return e;
}

static enum err session_open_lanes(struct session *s, struct err_detail *why)
{
    uint64_t event = EXPLAIN_NO_EVENT;
    if (s->options->given & OPTION_BIT(EXPLAIN)) {
        const enum err e = explain_run_find(s->trace, s->options->explain, &event, why);
        if (e != ERR_OK)
            return e;
    }
    const char *release = recorded_release(s->trace);
    for (size_t i = 0; i < s->n; i++) {
        recorded_take_release(release, &s->specs[i]);
        enum err e = lane_open(&s->specs[i], s->device.ops, &s->device.config, s->trace, s->options->seed, &s->lanes[i],
                               why);
        if (e == ERR_OK && s->samples != NULL && (e = sink_samples_create(&s->sinks[i])) != ERR_OK)
            err_set(why, e, 0, "%s", err_text(e));
        if (e != ERR_OK)
            return e;
        s->lanes[i].sink = s->sinks[i];
        s->explain[i].event = event;
        s->lanes[i].explain = &s->explain[i];
    }
    return ERR_OK;
}

static size_t stack_frames(const void *trace, uint32_t stack, const char *const **frames)
{
    return trace_stack(trace, stack, frames);
}

/* What the lanes took down while they ran, completed from the trace. */
static enum err session_explain(struct session *s, struct err_detail *why)
{
    enum err e = ERR_OK;
    s->report.names = (struct explain_names){ .stack = stack_frames, .arg = s->trace };
    for (size_t i = 0; i < s->n && e == ERR_OK; i++) {
        e = explain_run_finish(&s->explain[i], s->trace, why);
        s->runs[i].at_oom = &s->explain[i].at_oom;
        s->runs[i].at_event = &s->explain[i].at_event;
    }
    return e;
}

/* Timelines of all lanes, where they are asked for. */
static enum err session_listen(struct session *s, const struct replay_config *cfg, struct err_detail *why)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->n && s->perfetto != NULL && e == ERR_OK; i++) {
        char name[DEVICE_TEXT + 256];
        snprintf(name, sizeof name, "%.250s on %s", s->specs[i].typed, s->device.typed);
        e = perfetto_listen(&s->timelines[i], (unsigned)i + 1, name, &s->lanes[i], s->trace, cfg, why);
    }
    return e;
}

/* What was typed, or what stands for it. */
static struct report_setup setup_of(const struct options *o)
{
    return (struct report_setup){
        .start    = o->texts[OPTION_START] != NULL ? o->texts[OPTION_START] : "fresh",
        .on_oom   = o->texts[OPTION_ON_OOM] != NULL ? o->texts[OPTION_ON_OOM] : "stop",
        .releases = o->texts[OPTION_RELEASES] != NULL ? o->texts[OPTION_RELEASES] : "auto",
        .format   = o->from,
        .seed     = o->seed,
    };
}

static enum err session_run(struct session *s, struct err_detail *why)
{
    const struct options *o = s->options;
    const uint64_t events = trace_info(s->trace)->events;
    struct bounds bounds;
    struct progress progress = progress_start("replaying");
    struct replay_config cfg = {
        .sample_every_ns = o->sample_every_ns,
        .sample_every_events = o->sample_every_events,
        .on_oom = o->on_oom,
        .start = o->start,
        .threads = o->threads,
        .audit = o->audit,
        .progress = progress_report,
        .progress_arg = &progress,
    };
    const bool is_sampled = o->samples != NULL || o->perfetto != NULL || o->audit;
    if (is_sampled && (o->given & OPTION_BIT(SAMPLE_EVERY)) == 0)
        cfg.sample_every_events = events / SAMPLES_BY_DEFAULT + 1;
    enum err e = what_if_choose(o, s->trace, &cfg.what_if, why);
    if (e == ERR_OK)
        e = session_listen(s, &cfg, why);
    if (e == ERR_OK)
        e = bounds_replay(s->trace, s->lanes, s->n, &cfg, &bounds, why);
    progress_clear(&progress);
    if (e == ERR_OK)
        e = result_gather(s->trace, o->inputs[0], &bounds, s->lanes, s->n, &s->device, s->runs, &s->report, why);
    s->report.setup = setup_of(o);
    if (e == ERR_OK && what_if_say(o, &cfg.what_if, &s->report) != ERR_OK)
        e = err_set(why, ERR_HOST_NOMEM, 0, "%s", err_text(ERR_HOST_NOMEM));
    return e == ERR_OK ? session_explain(s, why) : e;
}

static const char *label_text(const void *trace, uint32_t label)
{
    return trace_label(trace, label);
}

static void session_write_samples(const struct session *s)
{
    const struct trace_labels labels = { .text = label_text, .arg = s->trace };
    FILE *out = output_file(s->samples);
    sink_samples_write_header(out);
    for (size_t i = 0; i < s->n; i++)
        sink_samples_write(out, s->sinks[i], s->specs[i].typed, &s->lanes[i].meter.at_peak_sample, &labels);
}

static enum err session_write_timelines(struct session *s, struct err_detail *why)
{
    for (size_t i = 0; i < s->n; i++)
        perfetto_finish(&s->timelines[i], &s->lanes[i]);
    return perfetto_write(output_file(s->perfetto), s->timelines, s->n, s->options->inputs[0], why);
}

static enum err session_write(struct session *s, struct err_detail *why)
{
    if (s->json != NULL)
        report_json(output_file(s->json), &s->report);
    if (s->csv != NULL)
        report_csv(output_file(s->csv), &s->report);
    if (s->samples != NULL)
        session_write_samples(s);
    enum err e = output_commit(&s->json, why);
    if (e == ERR_OK)
        e = output_commit(&s->csv, why);
    if (e == ERR_OK)
        e = output_commit(&s->samples, why);
    if (e == ERR_OK && s->perfetto != NULL)
        e = session_write_timelines(s, why);
    if (e == ERR_OK)
        e = output_commit(&s->perfetto, why);
    if (e == ERR_OK && !s->is_stdout_taken)
        report_table(stdout, &s->report);
    return e;
}

/* What the lanes' outcomes mean for the program's. */
static enum exit_status session_status(const struct session *s)
{
    enum exit_status worst = STATUS_DONE;
    for (size_t i = 0; i < s->n; i++) {
        const enum err e = s->lanes[i].outcome;
        const enum exit_status status = e == ERR_OK                                   ? STATUS_DONE
                                        : e == ERR_DEVICE_OOM || e == ERR_CORRUPT     ? STATUS_FAILED
                                        : e == ERR_HOST_NOMEM                         ? STATUS_OURS
                                                                                      : STATUS_USAGE;
        worst = status > worst ? status : worst;
    }
    return worst;
}

static enum exit_status replay_main(const struct options *o)
{
    struct session s = { .options = o };
    struct err_detail why = { .text = "" };
    enum err e = session_parse_policies(&s, &why);
    if (e == ERR_OK)
        e = session_open_outputs(&s, &why);
    if (e == ERR_OK)
        e = cli_open_trace(o, 0, &s.trace, &why);
    if (e == ERR_OK)
        e = device_choose(o->device, s.trace, &s.device, &why);
    if (e == ERR_OK)
        e = session_open_lanes(&s, &why);
    if (e == ERR_OK)
        e = session_run(&s, &why);
    if (e == ERR_OK)
        e = session_write(&s, &why);
    const enum exit_status status = e != ERR_OK ? cli_fail(e, &why) : cli_finish_stdout(session_status(&s));
    session_close(&s);
    return status;
}

const struct subcommand cmd_replay = {
    .name = NULL,
    .synopsis = "FILE [options]",
    .summary = "replay a trace through allocator policies (default: best-fit, pow2, gc=0.8 and none)",
    .text = "FILE is a native trace, a PyTorch snapshot (pickle; also gzip, zstd or an HTML page of it), or '-'.\n"
            "Exit status: 0 done; 1 a run ended out of memory or failed its audit; 2 wrong usage or bad input;\n"
            "3 a fault of the program or its host.\n",
    .taken = OPTION_BIT(POLICY) | OPTION_BIT(DEVICE) | OPTION_BIT(JSON) | OPTION_BIT(CSV) | OPTION_BIT(SAMPLES) | OPTION_BIT(PERFETTO) |
             OPTION_BIT(SAMPLE_EVERY) | OPTION_BIT(ON_OOM) | OPTION_BIT(START) | OPTION_BIT(AUDIT) |
             OPTION_BIT(THREADS) | OPTION_BIT(EXPLAIN) | OPTION_BIT(INSERT) | OPTION_BIT(WARM) |
             OPTION_BIT(SEED) | OPTION_BIT(GPU) | OPTION_BIT(FROM) | OPTION_BIT(RELEASES) | OPTION_BIT(HELP),
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .run = replay_main,
};
