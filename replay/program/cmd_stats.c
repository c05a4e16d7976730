/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay stats FILE` and `replay summary FILE`: what torch.cuda.memory_stats() and memory_summary() would say. */
#include "replay/program/cli.h"

#include "replay/results/result.h"
#include "replay/results/single_run.h"
#include "report/text/json_writer.h"
#include "report/measure/memory_summary.h"
#include "report/text/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Refused requests, each with the message that the program would have seen. */
struct refusals {
    struct { int64_t event; char *text; } *at;
    size_t   n;
    enum err e;                      /* ERR_HOST_NOMEM once one could not be stored */
};

/* Everything the command holds. Zero is valid: stats_close accepts it. */
struct stats_session {
    struct trace_reader *trace;
    struct single_run    run;
    struct refusals      refusals;
    bool                 is_abbreviated;
};

/* The allocator's sentence; the size, if it has none. */
static char *refusal_text(const struct meter_oom *oom)
{
    char text[80];
    snprintf(text, sizeof text, "a request of %" PRIu64 " bytes was refused", oom->requested_bytes);
    return strdup(oom->refusal.text[0] != '\0' ? oom->refusal.text : text);
}

static void take_refusal(void *arg, const struct meter_oom *oom)
{
    struct refusals *r = arg;
    void *at = r->e == ERR_OK ? realloc(r->at, (r->n + 1) * sizeof *r->at) : NULL;
    char *text = at == NULL ? NULL : refusal_text(oom);
    r->at = at == NULL ? r->at : at;
    if (text == NULL) {
        r->e = ERR_HOST_NOMEM;
        return;
    }
    r->at[r->n].event = oom->event;
    r->at[r->n++].text = text;
}

static void stats_close(void *session)
{
    struct stats_session *s = session;
    for (size_t i = 0; i < s->refusals.n; i++)
        free(s->refusals.at[i].text);
    free(s->refusals.at);
    single_run_close(&s->run);
    trace_close(s->trace);
}

static enum err session_replay(struct stats_session *s, const struct options *o, struct err_detail *err)
{
    s->run.lane.on_oom = take_refusal;
    s->run.lane.on_oom_arg = &s->refusals;
    enum err e = cli_replay(o, &s->run, err);
    if (e == ERR_OK && s->refusals.e != ERR_OK)
        e = err_set(err, s->refusals.e, 0, "no memory for the texts of refused requests");
    for (size_t i = 0; e == ERR_OK && i < s->refusals.n; i++)
        e = trace_event_number(s->trace, s->refusals.at[i].event, &s->refusals.at[i].event, err);
    return e;
}

/* Opens the trace and replays it. */
static enum err stats_read(void *session, const struct options *o, struct err_detail *err)
{
    struct stats_session *s = session;
    s->is_abbreviated = o->is_abbreviated;
    if (o->n_policies > 1)
        return err_set(err, ERR_USAGE, 0, "--policy is given twice: the counters of one run are shown");
    enum err e = cli_open_trace(o, 0, &s->trace, err);
    if (e == ERR_OK)
        e = single_run_open(&s->run, s->trace, o->n_policies == 1 ? o->policies[0] : NULL, o->device, err);
    return e == ERR_OK ? session_replay(s, o, err) : e;
}

/* Refusals go to stderr, so that stdout holds the counters alone. */
static enum exit_status stats_status(const void *session)
{
    const struct stats_session *s = session;
    char where[TEXT_NUMBER];
    for (size_t i = 0; i < s->refusals.n; i++)
        fprintf(stderr, "replay: out of memory at %s: %s\n",
                text_event(trace_event_word(s->trace), s->refusals.at[i].event, where), s->refusals.at[i].text);
    return s->run.lane.outcome == ERR_OK ? STATUS_DONE : STATUS_FAILED;
}

/* ---- stats ---- */

static void print_stat(void *arg, const char *key, int64_t value)
{
    (void)arg;
    printf("%s %" PRId64 "\n", key, value);
}

static void json_stat(void *writer, const char *key, int64_t value)
{
    json_put_integer(writer, key, value);
}

static enum err stats_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct stats_session *s = session;
    const struct policy *p = s->run.lane.policy;
    assert(p->ops->stats != NULL);               /* single_run_open refuses others */
#define ANSWER_TABLE "answers/stats.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static enum err stats_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct policy *p = ((const struct stats_session *)session)->run.lane.policy;
    p->ops->stats(p, print_stat, NULL);
    return ERR_OK;
}

#define TAKES_STATS                                                                                           \
    TAKES_AS(POLICY, "the policy to run (replay --list shows them; default: the recorded settings and release)"), \
    TAKES(DEVICE), TAKES_RUN, TAKES_INPUT, TAKES(HELP)

#define STATS_TEXT                                                                                            \
    "Without --on-oom the run stops at a refused request, unless that request was also refused when it was "  \
    "recorded. The message of a refused request goes to standard error.\n"

static const struct flag_use stats_flags[] = {TAKES(JSON), TAKES_STATS, FLAGS_END};

const struct subcommand cmd_stats = {
    .name = "stats",
    .synopsis = "stats FILE",
    .summary = "show torch.cuda.memory_stats() after a replay, under PyTorch's own keys",
    .text = STATS_TEXT,
    .failed = "the run was out of memory",
    .flags = stats_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct stats_session), .read = stats_read, .write_json = stats_write_json,
                .print = stats_print, .status = stats_status, .close = stats_close },
};

/* ---- summary ---- */

static enum err summary_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct stats_session *s = session;
    char text[MEMORY_SUMMARY_MAX];
    memory_summary(memory_summary_policy_stat, s->run.lane.policy, trace_info(s->trace)->device,
                   s->is_abbreviated ? SUMMARY_ABBREVIATED : SUMMARY_FULL, text, sizeof text);
    fputs(text, stdout);
    return ERR_OK;
}

static const struct flag_use summary_flags[] = {TAKES(ABBREVIATED), TAKES_STATS, FLAGS_END};

const struct subcommand cmd_summary = {
    .name = "summary",
    .synopsis = "summary FILE",
    .summary = "show torch.cuda.memory_summary() after a replay, byte for byte",
    .text = STATS_TEXT,
    .failed = "the run was out of memory",
    .flags = summary_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct stats_session), .read = stats_read, .print = summary_print,
                .status = stats_status, .close = stats_close },
};
