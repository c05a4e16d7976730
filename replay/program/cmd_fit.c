/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay fit TRACE`: the smallest card for each policy. */
#include "replay/program/cli.h"

#include "base/terminal.h"
#include "replay/advise/fit_answer.h"
#include "replay/recording/recorded_settings.h"

/* Everything the command holds. Zero is valid: fit_end accepts it. */
struct fit_session {
    const struct options *options;
    struct trace_reader  *trace;
    struct fit_answer     answer;
};

static enum err fit_read(void *session, const struct options *o, struct err_detail *err)
{
    struct fit_session *s = session;
    const struct fit_request asked = { o->policies, o->n_policies, o->device, o->system, o->price };
    s->options = o;
    enum err e = cli_open_trace(o, 0, &s->trace, err);
    if (e == ERR_OK)
        e = recorded_check_requests(s->trace, o->inputs[0], err);
    struct progress progress = progress_start("replaying", PROGRESS_EVENTS);
    const struct replay_config cfg = { .threads = o->threads, .progress = progress_report, .progress_arg = &progress };
    if (e == ERR_OK)
        e = fit_answer_find(s->trace, &asked, &cfg, &s->answer, err);
    progress_clear(&progress);
    return e;
}

static enum err fit_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct fit_session *s = session;
    return fit_answer_print(stdout, &s->answer, s->options->is_wide ? TERMINAL_ANY : terminal_columns(stdout));
}

static enum err fit_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct fit_session *s = session;
    fit_answer_write_json(out, &s->answer, s->options->inputs[0]);
    return ERR_OK;
}

static void fit_end(void *session)
{
    struct fit_session *s = session;
    fit_answer_close(&s->answer);
    trace_close(s->trace);
}

static const struct flag_use fit_flags[] = {
    TAKES_AS(POLICY, "a policy to find a card for (replay --list shows them); may be given several times (default: the "
                     "recorded settings)"),
    TAKES_AS(DEVICE, "the card that you have, such as 24GiB or h100-80g: the margin against it is shown"),
    TAKES(SYSTEM), TAKES(JSON), TAKES(WIDE), TAKES(THREADS), TAKES(PRICE), TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_fit = {
    .name = "fit",
    .synopsis = "fit FILE",
    .summary = "find the smallest card on which each policy runs",
    .text = "The answer is the smallest card, to 2 MiB, on which no request is refused, and the smallest named card of "
            "at least that size, of those with a * in replay --list. The size is found by bisection. Larger sizes are "
            "tried as well, and if one of them fails, the answer says so. The best policy has the smallest sum of its "
            "card and its driver time at --price. A trace that was recorded in mid-run starts with its live requests "
            "placed anew.\n",
    .flags = fit_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct fit_session), .read = fit_read, .write_json = fit_write_json,
                .print = fit_print, .close = fit_end },
};
