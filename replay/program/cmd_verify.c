/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay verify FILE`: does our model of PyTorch's allocator decide as the recorded one did? */
#include "replay/program/cli.h"

#include "base/terminal.h"
#include "policies/pytorch/pytorch_rules.h"
#include "replay/recording/recorded_settings.h"
#include "replay/recording/verify.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { NAME_COLUMN = 21 };

/* Everything the command holds. Zero is valid: verify_close accepts it. */
struct session {
    struct trace_reader *trace;
    struct policy_spec   spec;
    struct verify_report report;
};

static void add_counts(struct words *w, const char *what, const struct verify_counts *c, const char *rest)
{
    char equal[TEXT_NUMBER], compared[TEXT_NUMBER], unknowable[TEXT_NUMBER];
    assert(c->equal <= c->compared);
    words_add(w, "%s %s of %s equal%s", what, text_count(c->equal, equal), text_count(c->compared, compared), rest);
    if (c->unknowable > 0)
        words_add(w, " (%s more unknowable: the recording does not tell which of two equal blocks is older)",
               text_count(c->unknowable, unknowable));
}

/* A name and what is said of it, broken into lines on a terminal. */
static void print_named(const char *name, const char *text)
{
    struct words w = { .n = 0 };
    words_add(&w, "%s", text);
    printf("%-*s ", NAME_COLUMN, name);
    words_print_within(stdout, &w, terminal_columns(stdout), NAME_COLUMN + 1, NAME_COLUMN + 1);
}

static void print_pass(const char *name, const struct verify_pass *p)
{
    char events[TEXT_NUMBER], equal[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (!p->is_done) {
        words_add(&w, "not done: %s", p->reason);
        print_named(name, w.text);
        return;
    }
    add_counts(&w, "placements", &p->placements, "");
    add_counts(&w, ", segments", &p->segments, "");
    if (p->reserved.equal == p->reserved.compared)
        words_add(&w, ", reserved equal at all %s events", text_count(p->reserved.compared, events));
    else
        words_add(&w, ", reserved equal at %s of %s events", text_count(p->reserved.equal, equal),
                  text_count(p->reserved.compared, events));
    if (p->ooms_recorded + p->ooms_predicted > 0)
        words_add(&w, ", out of memory %" PRIu64 " recorded, %" PRIu64 " predicted", p->ooms_recorded,
                  p->ooms_predicted);
    print_named(name, w.text);
    if (p->has_difference) {
        w = (struct words){ .n = 0 };
        words_add(&w, "first difference at record %" PRIu64 ": %s", p->first.record, p->first.text);
        print_named("", w.text);
    }
    if (p->reason[0] != '\0')
        print_named("", p->reason);
}

/* The answer stands first, and again at the end where it has scrolled away. */
static void print_answer(const struct verify_report *r)
{
    puts(verify_is_equal(r) ? "all equal" : "not equal");
}

static enum err verify_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct session *s = session;
    const struct verify_report *r = &s->report;
    const char *notes = trace_meta(s->trace, "notes");
    char note[TRACE_NOTE], title[PYTORCH_RULES_TITLE];
    struct pytorch_rules rules;
    struct words w = { .n = 0 };
    print_answer(r);
    words_add(&w, "%s, %s%s%s",
              pytorch_rules_find(r->version, &rules) ? pytorch_rules_title(&rules, title) : r->version,
              r->settings, r->inferred[0] == '\0' ? "" : "; inferred: ", r->inferred);
    text_put_line(stdout, w.text, 2);
    print_pass("following the record:", &r->following);
    print_pass("running free:", &r->free_running);
    while (trace_next_note(&notes, note))
        if (!verify_is_equal(r) || trace_note_contradicts(note))     /* any note may explain a difference */
            print_named("of the recording:", note);
    if (cli_has_scrolled())
        print_answer(r);
    return ERR_OK;
}

/* Decisions of one kind; the record can be silent about placements only. */
struct compared {
    const struct verify_counts *counts;
    bool has_unknowable;
};

static void compared_json(struct json_writer *json, const struct compared *c)
{
#define ANSWER_TABLE "answers/compared.def"
#include "answers/as_json.def"
}

static void predicted_json(struct json_writer *json, const struct verify_pass *p)
{
#define ANSWER_TABLE "answers/predicted.def"
#include "answers/as_json.def"
}

static void difference_json(struct json_writer *json, const struct verify_difference *d)
{
#define ANSWER_TABLE "answers/difference.def"
#include "answers/as_json.def"
}

static void verify_pass_json(struct json_writer *json, const struct verify_pass *p)
{
#define ANSWER_TABLE "answers/verify_pass.def"
#include "answers/as_json.def"
}

static enum err verify_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct session *s = session;
    const struct verify_report *r = &s->report;
    const char *notes = trace_meta(s->trace, "notes");
    char note[TRACE_NOTE];
#define ANSWER_TABLE "answers/verify.def"
#include "answers/as_json.def"
    return ERR_OK;
}

/* Reads --policy and --device, which give what the recording does not hold. */
static enum err read_options(const struct options *o, struct policy_spec *spec, struct verify_options *out,
                             struct err_detail *err)
{
    enum err e = ERR_OK;
    if (o->n_policies > 1)
        return err_set(err, ERR_USAGE, 0, "verify takes one --policy");
    if (o->n_policies == 1) {
        e = policy_spec_parse(o->policies[0], spec, err);
        out->policy = spec;
    }
    if (e == ERR_OK && o->device != NULL) {
        struct device_config cfg;
        const struct device_ops *ops;
        bool has_total;
        e = device_parse(o->device, &cfg, &ops, &has_total, err);
        out->total_bytes = e == ERR_OK && has_total && cfg.total_bytes != DEVICE_UNLIMITED ? cfg.total_bytes : 0;
    }
    return e;
}

/* Puts the file's name before an error of the comparison; an error of reading names it already. */
static enum err verify_file(const char *path, struct trace_reader *trace, const struct verify_options *v,
                            struct verify_report *out, struct err_detail *err)
{
    struct err_detail reason = { .text = "" };
    const enum err e = verify_trace(trace, v, out, &reason);
    if (e != ERR_OK && strncmp(reason.text, path, strlen(path)) != 0)
        return err_at(err, e, reason.offset, path, "%s", reason.text);
    *err = reason;
    return e;
}

static enum err verify_read(void *session, const struct options *o, struct err_detail *err)
{
    struct session *s = session;
    struct verify_options v = {0};
    enum err e = read_options(o, &s->spec, &v, err);
    if (e == ERR_OK)
        e = cli_open_trace(o, 0, &s->trace, err);
    return e == ERR_OK ? verify_file(o->inputs[0], s->trace, &v, &s->report, err) : e;
}

static enum exit_status verify_status(const void *session)
{
    return verify_is_equal(&((const struct session *)session)->report) ? STATUS_DONE : STATUS_FAILED;
}

static void verify_close(void *session)
{
    struct session *s = session;
    trace_close(s->trace);
    policy_spec_close(&s->spec);
}

static const struct flag_use verify_flags[] = {
    TAKES_AS(POLICY, "settings that the recording does not hold: pytorch:fraction=0.8, or a settings text"),
    TAKES_AS(DEVICE, "the size of the card, such as 24GiB, if the recording does not hold it"), TAKES(JSON),
    TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_verify = {
    .name = "verify",
    .synopsis = "verify FILE",
    .summary = "compare every recorded decision of PyTorch's allocator with the policy's",
    .text = "Settings and release are taken from the recording.\n",
    .failed = "something that was compared differs",
    .flags = verify_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct session), .read = verify_read, .write_json = verify_write_json,
                .print = verify_print, .status = verify_status, .close = verify_close },
};
