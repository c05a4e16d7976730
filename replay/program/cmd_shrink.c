/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay shrink FILE --keep WHAT`: the smallest recording that still does it. */
#include "replay/program/cli.h"

#include "replay/recording/recorded_platform.h"
#include "replay/shrink/shrink.h"
#include "replay/shrink/shrink_calls.h"
#include "replay/shrink/shrink_script.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Everything the command holds. Zero is valid: shrink_close accepts it. */
struct session {
    const struct options *options;
    struct trace_reader  *trace;
    struct single_run     run;
    struct keep           keep;
    struct shrunk         shrunk;
    struct err_detail     no_script;     /* why --script could not be written; "": it could, or is not asked for */
    enum exit_status      status;
};

static void shrink_close(void *session)
{
    struct session *s = session;
    shrunk_close(&s->shrunk);
    single_run_close(&s->run);
    keep_close(&s->keep);
    trace_close(s->trace);
}

static enum err shrink_read(void *session, const struct options *o, struct err_detail *err)
{
    struct session *s = session;
    s->options = o;
    if (o->n_policies > 1)
        return err_set(err, ERR_USAGE, 0, "--policy is given twice; to keep a difference: --keep differs:POLICY");
    enum err e = keep_parse(o->keep, &s->keep, err);
    if (e == ERR_OK)
        e = cli_open_trace_without_stacks(o, 0, &s->trace, err);
    if (e == ERR_OK)
        e = single_run_open(&s->run, s->trace, o->n_policies == 1 ? o->policies[0] : NULL, o->device, err);
    if (e != ERR_OK)
        return e;
    struct progress progress = progress_start("shrinking", PROGRESS_PARTS);
    const struct shrink_request asked = { .run = &s->run, .keep = &s->keep, .is_recorded_policy = o->n_policies == 0,
                                          .interrupted = cli_defer_signals(),
                                          .progress = progress_report, .progress_arg = &progress };
    e = shrink_find(&asked, &s->shrunk, err);
    progress_clear(&progress);
    return e;
}

static void print_paragraph(const struct words *w)
{
    words_print_within(stdout, w, HELP_WIDTH, 0, 0);
}

static void add_kept(struct words *w, const struct session *s)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    text_mib(s->shrunk.peak_bytes, a);
    text_mib(s->shrunk.other_bytes, b);
    const char *verb_end = s->shrunk.n == 1 ? "s" : "", *name = shrunk_policy_word(&s->run.spec, "this policy");
    if (s->keep.kind == KEEP_DIFFERS)
        words_add(w, " reserve%s %s under %s and %s under %s.", verb_end, a, name, b,
                  shrunk_policy_word(&s->keep.other, "the other policy"));
    else if (s->keep.kind == KEEP_PEAK)
        words_add(w, " reserve%s %s under %s.", verb_end, a, name);
    else
        words_add(w, " end%s in a refused request under %s on a card of %s, %s.", verb_end, name,
                  text_mib(s->shrunk.total_bytes, a),
                  s->keep.story.would_fit ? "although it would fit beside what is live" : "as the card is full");
}

/* What a person must know who takes the answer for the recording's. */
static void print_remarks(const struct session *s)
{
    char total[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (s->shrunk.total_bytes != s->run.device.config.total_bytes)
        words_add(&w, "A card of %s refuses the recording in the same way, after more calls. ",
                  text_mib(s->run.device.config.total_bytes, total));
    if (s->run.device.is_assumed)
        words_add(&w, "The recording does not tell its card. Taken: %s. ", s->run.device.headline);
    if (s->shrunk.has_verdicts && s->shrunk.verdict != s->shrunk.verdict_before)
        words_add(&w, "Of these calls alone why says %s, and of the recording %s: what a program did before, step by "
                  "step, counts there.", why_word(s->shrunk.verdict), why_word(s->shrunk.verdict_before));
    if (w.n == 0)
        return;
    printf("\n");
    print_paragraph(&w);
}

static enum err shrink_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct session *s = session;
    char n[TEXT_NUMBER], of[TEXT_NUMBER];
    struct words w = { .n = 0 };
    words_add(&w, "%s of %s call%s%s", text_count(s->shrunk.n, n), text_count(s->shrunk.n_before, of),
              s->shrunk.n_before == 1 ? "" : "s",
              s->shrunk.is_stopped ? " (the best so far: the search was stopped, or its effort spent)" : "");
    add_kept(&w, s);
    print_paragraph(&w);
    printf("\n");
    shrunk_print_calls(stdout, &s->shrunk);
    print_remarks(s);
    return ERR_OK;
}

static enum err shrink_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct session *s = session;
#define ANSWER_TABLE "answers/shrink.def"
#include "answers/as_json.def"
    return ERR_OK;
}

/* What the program may have of the card of what is left; 0: there is no limit. */
static uint64_t left_usable(const struct session *s)
{
    struct device_config d = s->run.device.config;
    d.total_bytes = s->shrunk.total_bytes;
    return d.total_bytes == DEVICE_UNLIMITED ? 0 : keep_usable(&d);
}

static enum err write_trace(const struct session *s, FILE *out, struct err_detail *err)
{
    void *bytes;
    size_t n;
    const enum err e = shrunk_write(&s->shrunk, left_usable(s), &bytes, &n, err);
    if (e != ERR_OK)
        return e;
    fwrite(bytes, 1, n, out);                    /* the frame finds failed writes */
    free(bytes);
    return e;
}

static enum err write_script(struct session *s, FILE *out)
{
    const enum platform platform = recorded_platform(s->trace);
    if (!platform_is_cuda(platform))
        return err_set(&s->no_script, ERR_UNSUPPORTED, 0, "--script: it would be for PyTorch's cuda; the "
                       "recording is of %s; -o writes it", platform_words(platform));
    char about[SCRIPT_COMMENT];
    snprintf(about, sizeof about, "%zu call%s, made by replay shrink from a recording of %zu.", s->shrunk.n,
             s->shrunk.n == 1 ? "" : "s", s->shrunk.n_before);
    return shrink_script_write(&s->shrunk, &s->run, about, out, &s->no_script);
}

static enum err shrink_write_files(void *session, FILE *const files[ANSWER_FILES], struct err_detail *err)
{
    struct session *s = session;
    enum err e = files[0] != NULL ? write_trace(s, files[0], err) : ERR_OK;
    if (e != ERR_OK || files[1] == NULL)
        return e;
    e = write_script(s, files[1]);
    if (e == ERR_UNSUPPORTED)
        s->status = cli_fail(e, &s->no_script);
    else if (e != ERR_OK)
        *err = s->no_script;
    return e == ERR_UNSUPPORTED ? ERR_OK : e;
}

static bool shrink_leaves_out(const void *session, size_t file)
{
    const struct session *s = session;
    return file == 1 && s->no_script.text[0] != '\0';
}

static enum exit_status shrink_status(const void *session)
{
    return ((const struct session *)session)->status;
}

static const struct flag_use shrink_flags[] = {
    TAKES(KEEP), TAKES_AS(OUT, "write what is left as a recording"), TAKES(SCRIPT),
    TAKES_AS(POLICY, "the policy that runs the calls (default: the recorded one)"), TAKES(DEVICE), TAKES(JSON),
    TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_shrink = {
    .name = "shrink",
    .synopsis = "shrink FILE --keep WHAT",
    .summary = "the smallest recording that still does it, as a recording and as a script for PyTorch",
    .text = "shrink takes requests out of a recording as long as it keeps a property: a request is refused, the peak "
            "reaches a size, or another policy reserves differently. Then it makes sizes round. What is left, most "
            "often fewer than ten calls, does it in PyTorch as well (--script), and holds no names, stacks, addresses "
            "or times. A refusal stays the same story: many requests that fill a card stay several, perhaps on a "
            "smaller card.\n"
            "\n"
            "Examples:\n"
            "  replay shrink snapshot.pickle --keep refused -o small.zst\n"
            "  replay shrink snapshot.pickle --keep 'peak>=20GiB' --script small.py\n"
            "  replay shrink snapshot.pickle --keep differs:expandable_segments:True\n",
    .flags = shrink_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct session),
                .files = { offsetof(struct options, out), offsetof(struct options, script) }, .read = shrink_read,
                .write_json = shrink_write_json, .write_files = shrink_write_files, .leaves_out = shrink_leaves_out,
                .print = shrink_print, .status = shrink_status,
                .close = shrink_close },
};
