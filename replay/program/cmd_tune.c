/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay tune TRACE`: the setting of PyTorch's allocator that serves the trace best on a card, and why. */
#include "replay/program/cli.h"
#include "replay/program/tune_host.h"

#include "base/terminal.h"
#include "replay/advise/own_settings.h"
#include "replay/advise/tune_answer.h"
#include "replay/recording/recorded_settings.h"
#include "report/text/text.h"

/* Everything the command holds. Zero is valid: tune_end accepts it. */
struct tune_session {
    const struct options *options;
    struct trace_reader  *trace;
    struct device_choice  device;
    struct tune           tune;
    bool                  is_of_xla; /* then `own` is the answer, not `tune` */
    struct own_settings   own;
};

struct shown_stage {
    struct progress      progress;
    struct trace_reader *trace;
};

/* A replay tells its progress itself; what reads the trace alone is watched. */
static void show_stage(void *arg, enum tune_stage stage)
{
    static const char *const words[] = { [TUNE_READING] = "reading", [TUNE_PLANNING] = "planning",
                                         [TUNE_REPLAYING] = "replaying" };
    struct shown_stage *shown = arg;
    progress_next(&shown->progress, words[stage]);
    trace_watch_reading(shown->trace, stage == TUNE_REPLAYING ? NULL : progress_report, &shown->progress);
}

static enum err session_run(struct tune_session *s, struct err_detail *err)
{
    struct shown_stage shown = { .progress = progress_start("reading", PROGRESS_EVENTS), .trace = s->trace };
    const struct replay_config cfg = { .threads = s->options->threads, .progress = progress_report,
                                       .progress_arg = &shown.progress };
    const struct tune_request asked = { .release = s->options->torch, .seed = s->options->seed,
                                        .price_bytes_per_ms = s->options->price,
                                        .stage = show_stage, .stage_arg = &shown };
    const enum err e = tune_run(s->trace, &s->device, &asked, &cfg, &s->tune, err);
    progress_clear(&shown.progress);
    return e;
}

static enum err own_run(struct tune_session *s, struct err_detail *err)
{
    struct progress progress = progress_start("replaying", PROGRESS_EVENTS);
    const struct replay_config cfg = { .threads = s->options->threads, .progress = progress_report,
                                       .progress_arg = &progress };
    s->is_of_xla = true;
    const enum err e = own_settings_find(s->trace, &s->device, s->options->price, &cfg, &s->own, err);
    progress_clear(&progress);
    return e;
}

static enum err tune_read(void *session, const struct options *o, struct err_detail *err)
{
    struct tune_session *s = session;
    s->options = o;
    enum err e = cli_open_trace(o, 0, &s->trace, err);
    if (e == ERR_OK)
        e = device_choose_for_advice(o->device, s->trace, o->system, &s->device, err);
    if (e == ERR_OK)
        e = recorded_check_requests(s->trace, o->inputs[0], err);
    if (e != ERR_OK)
        return e;
    return recorded_from_xla(s->trace) ? own_run(s, err) : session_run(s, err);
}

static struct tune_answer answer_of(const struct tune_session *s)
{
    return (struct tune_answer){
        .path = s->options->inputs[0],
        .columns = s->options->is_wide ? TERMINAL_ANY : terminal_columns(stdout),
        .trace = s->trace, .device = &s->device, .tune = &s->tune,
    };
}

static enum err tune_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct tune_session *s = session;
    const struct tune_answer answer = answer_of(session);
    return s->is_of_xla ? own_settings_print(stdout, &s->own, answer.columns) : tune_answer_print(stdout, &answer);
}

static enum err tune_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct tune_session *s = session;
    const struct tune_answer answer = answer_of(session);
    if (s->is_of_xla)
        own_settings_write_json(out, &s->own, answer.path);
    else
        tune_answer_write_json(out, &answer);
    return ERR_OK;
}

static void tune_end(void *session)
{
    struct tune_session *s = session;
    tune_close(&s->tune);
    own_settings_close(&s->own);
    trace_close(s->trace);
}

static const struct answer_ops *tune_instead(const struct options *o)
{
    return o->is_host ? &answer_of_host : NULL;
}

static const struct flag_use tune_flags[] = {
    TAKES_AS(DEVICE, "the simulated card to find a setting for, such as 24GiB or h100-80g (default: the recorded card, "
                     "or the smallest named one that holds the recorded run)"),
    TAKES(TORCH), TAKES(SYSTEM), TAKES(HOST), TAKES(JSON), TAKES(WIDE), TAKES(THREADS), TAKES(PRICE),
    TAKES_AS(SEED, "seed of the changed copies (default: 0)"), TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_tune = {
    .name = "tune",
    .synopsis = "tune FILE",
    .summary = "find the setting of PYTORCH_CUDA_ALLOC_CONF that serves the trace best on a card",
    .text = "tune tries the settings that the release has: first a coarse grid, with thresholds from the sizes in the "
            "trace, then neighbours of the best. A run without a refused request beats one with. Then the smaller sum "
            "wins of the smallest card on which the setting runs and its driver time at --price; of equals, the one "
            "with fewer settings. replay fit ranks by the same rule.\n"
            "\n"
            "The best settings, their parts and each option alone are then tried on changed copies of the trace "
            "(--seed). The copies come before the rule: tune recommends a setting that runs in most copies and is "
            "better than the recorded setting in most. Of those that do as well, except for 2% of the card, it takes "
            "the one with the fewest options. If the copies keep an option alone, or a part of what is recommended, "
            "from winning by the rule, the text names it with the reason. If the recorded setting runs out of memory, "
            "tune also recommends, with a caution, a setting that only saves the recording. A trace that was recorded "
            "in mid-run starts with its live requests placed anew.\n"
            "\n"
            "Of requests to JAX's or TensorFlow's allocator tune tries what their own variables can set, and advises "
            "the first that runs, if the library as it comes does not.\n",
    .status_note = "The status is 0 also if nothing helps.",
    .flags = tune_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct tune_session), .read = tune_read, .write_json = tune_write_json,
                .print = tune_print, .close = tune_end },
    .instead = tune_instead,
};
