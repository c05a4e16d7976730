/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay technique FILE`: what a training would take in another way:
 * with another optimizer, checkpointed, and so on. */
#include "replay/program/cli.h"

#include "replay/recording/coverage.h"
#include "replay/results/single_run.h"
#include "base/terminal.h"
#include "replay/technique/seen_errors.h"
#include "replay/technique/technique.h"
#include "report/text/text.h"
#include "report/text/terminal_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Words of --optimizer, by enum technique_optimizer. */
static const char *const optimizer_words[] = { NULL, "none", "sgd", "momentum", "adam" };

/* Words of --states, and the bits of an element. */
static const struct { const char *word; unsigned bits; } precisions[] = { { "fp32", 32 }, { "bf16", 16 },
                                                                         { "fp16", 16 } };

/* One course of the program, as recorded or changed. */
struct side {
    struct trace_reader    *trace;
    struct technique_result result;
    uint64_t                reserved_bytes;
};

/* Everything the command holds. Zero is valid: technique_end accepts it. */
struct session {
    const struct options *options;
    struct trace_reader  *trace;
    struct course         course;
    struct coverage       coverage;
    struct technique      change;
    struct single_run     run;           /* the recording, under its own settings, on a card without end */
    struct side           recorded, changed;
};

static void technique_end(void *session)
{
    struct session *s = session;
    single_run_close(&s->run);
    course_close(&s->course);
    trace_close(s->recorded.trace);
    trace_close(s->changed.trace);
    trace_close(s->trace);
}

/* ---- what was typed ---- */

static enum err read_optimizer(const char *text, enum technique_optimizer *out, struct err_detail *err)
{
    for (size_t i = 1; i < sizeof optimizer_words / sizeof optimizer_words[0]; i++)
        if (strcmp(text, optimizer_words[i]) == 0) {
            *out = (enum technique_optimizer)i;
            return ERR_OK;
        }
    return err_set(err, ERR_USAGE, 0, "--optimizer '%s': expected none, sgd, momentum or adam, which AdamW is like",
                   text);
}

/* Bits of the precision text[0, n); 0: there is none. */
static unsigned read_precision(const char *text, size_t n)
{
    for (size_t i = 0; i < sizeof precisions / sizeof precisions[0]; i++)
        if (strlen(precisions[i].word) == n && memcmp(text, precisions[i].word, n) == 0)
            return precisions[i].bits;
    return 0;
}

/* "bf16", or "bf16:fp32": recorded as, kept as. */
static enum err read_states(const char *text, struct technique *out, struct err_detail *err)
{
    const size_t n = strcspn(text, ":");
    const bool has_both = text[n] == ':';
    out->recorded_state_bits = has_both ? read_precision(text, n) : 32;
    out->state_bits = has_both ? read_precision(text + n + 1, strlen(text + n + 1)) : read_precision(text, n);
    if (out->state_bits == 0 || out->recorded_state_bits == 0)
        return err_set(err, ERR_USAGE, 0, "--states '%s': expected fp32, bf16 or fp16, or two of them as "
                       "RECORDED:WANTED", text);
    return ERR_OK;
}

/* "4" or "4:split". */
static enum err read_accumulate(const char *text, struct technique *out, struct err_detail *err)
{
    const size_t n = strspn(text, "0123456789");
    const unsigned long times = n > 0 && n <= 3 ? strtoul(text, NULL, 10) : 0;
    out->accumulate = (unsigned)times;
    out->is_split = strcmp(text + n, ":split") == 0;
    if (times < 2 || times > TECHNIQUE_ACCUMULATE_MAX || (text[n] != '\0' && !out->is_split))
        return err_set(err, ERR_USAGE, 0, "--accumulate '%s': expected a number from 2 to %d, such as 4 or 4:split",
                       text, TECHNIQUE_ACCUMULATE_MAX);
    return ERR_OK;
}

/* "repeated", or a line such as "model.py:34". */
static enum err read_checkpoint(const char *text, struct technique *out, struct err_detail *err)
{
    const char *colon = strrchr(text, ':');
    const bool is_line = colon != NULL && colon > text && colon[1] != '\0' &&
                         strspn(colon + 1, "0123456789") == strlen(colon + 1);
    out->checkpoint = strcmp(text, "repeated") == 0 ? "" : text;
    return is_line || out->checkpoint != text
               ? ERR_OK
               : err_set(err, ERR_USAGE, 0, "--checkpoint '%s': expected repeated, or a line such as model.py:34",
                         text);
}

static enum err read_change(struct session *s, struct err_detail *err)
{
    const struct options *o = s->options;
    enum err e = ERR_OK;
    s->change.is_in_place = o->is_in_place;
    if (o->optimizer == NULL && o->states == NULL && o->accumulate == NULL && o->checkpoint == NULL && !o->is_in_place)
        return err_set(err, ERR_USAGE, 0, "say what changes: --optimizer, --states, --accumulate, --checkpoint or "
                       "--in-place");
    if (o->out != NULL && strcmp(o->out, "-") == 0)
        return err_set(err, ERR_USAGE, 0, "-o: name a file; standard output has the answer");
    if (o->optimizer != NULL)
        e = read_optimizer(o->optimizer, &s->change.optimizer, err);
    if (e == ERR_OK && o->states != NULL)
        e = read_states(o->states, &s->change, err);
    if (e == ERR_OK && o->accumulate != NULL)
        e = read_accumulate(o->accumulate, &s->change, err);
    if (e == ERR_OK && o->checkpoint != NULL)
        e = read_checkpoint(o->checkpoint, &s->change, err);
    return e == ERR_OK && o->out != NULL ? cli_check_output(o, o->out, err) : e;
}

/* ---- answers ---- */

static enum err measure_side(const struct session *s, const struct technique *change, const char *path,
                             struct side *side, struct err_detail *err)
{
    enum err e = technique_apply(&s->course, change, path, &side->trace, &side->result, err);
    if (e == ERR_OK)
        e = single_run_measure(&s->run, side->trace, "the changed trace", NULL, NULL, &side->reserved_bytes, err);
    return e;
}

static enum err measure(struct session *s, struct err_detail *err)
{
    const struct technique as_recorded = { .optimizer = OPTIMIZER_RECORDED };
    const enum err e = measure_side(s, &as_recorded, NULL, &s->recorded, err);
    return e == ERR_OK ? measure_side(s, &s->change, s->options->out, &s->changed, err) : e;
}

static enum err technique_read(void *session, const struct options *o, struct err_detail *err)
{
    struct session *s = session;
    s->options = o;
    enum err e = read_change(s, err);
    if (e == ERR_OK)
        e = cli_open_trace(s->options, 0, &s->trace, err);
    if (e == ERR_OK)
        e = coverage_read(s->trace, &s->coverage, err);
    if (e == ERR_OK)
        e = course_read(s->trace, &s->course, err);
    if (e == ERR_OK)
        e = single_run_open(&s->run, s->trace, NULL, "sim:unlimited", err);
    return e == ERR_OK ? measure(s, err) : e;
}

/* ---- text ---- */

static const char *separator(const struct words *w)
{
    return w->n == 0 ? "" : ", ";
}

/* "checkpointed, momentum": what was asked for, in words. */
static void add_change(struct words *w, const struct session *s)
{
    const struct technique *t = &s->change;
    struct words said = { .n = 0 };
    if (t->is_in_place)
        words_add(&said, "activation functions in place");
    if (t->checkpoint != NULL)
        words_add(&said, "%scheckpointed (%zu calls of modules)", separator(&said), s->changed.result.n_calls);
    if (t->accumulate > 1)
        words_add(&said, t->is_split ? "%sthe batch in %u accumulated parts" : "%sgradients of %u batches accumulated",
                  separator(&said), t->accumulate);
    if (t->optimizer != OPTIMIZER_RECORDED)
        words_add(&said, "%s%s", separator(&said),
                  t->optimizer == OPTIMIZER_NONE ? "no optimizer" : optimizer_words[t->optimizer]);
    if (s->options->states != NULL)
        words_add(&said, "%sstates of %u bits (recorded: %u)", separator(&said), t->state_bits, t->recorded_state_bits);
    words_add(w, "%s", said.text);
}

/* "132 MiB instead of 146 MiB": the answer, in the first line. Of lower bounds no share is told: what follows may need
 * more in either way. */
static void print_answer(const struct session *s)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    const uint64_t before = s->recorded.reserved_bytes, after = s->changed.reserved_bytes;
    const bool is_least = coverage_is_lower_bound(&s->coverage);
    struct words w = { .n = 0 };
    words_add(&w, "%s %s reserved at the peak%s", is_least ? "At least" : "About", text_mib(after, a),
              s->coverage.ends == ENDS_REFUSED ? " until the refused request" : "");
    if (after == before)
        words_add(&w, ", as much as recorded");
    else
        words_add(&w, " instead of %s", text_mib(before, b));
    if (after != before && before > 0 && !is_least)
        words_add(&w, " (%+.1f%%)", 100.0 * ((double)after - (double)before) / (double)before);
    words_add(&w, ": ");
    add_change(&w, s);
    words_add(&w, ".");
    words_print_screen(stdout, &w);
    printf("\n");
}

enum { COLUMNS = 4 };
static const struct text_column technique_columns[COLUMNS] = {
    { .title = "", .is_left = true }, { .title = "as recorded" }, { .title = "estimated" },
    { .title = "difference", .leaves = 1 },
};

static void add_row(struct terminal_table *rows, const char *name, uint64_t before, uint64_t after)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER], by[TEXT_NUMBER], more[TEXT_NUMBER + 1] = "";
    text_mib(after > before ? after - before : before - after, by);
    if (after != before)
        snprintf(more, sizeof more, "%c%s", after > before ? '+' : '-', by);
    terminal_table_add(rows, (const char *const[COLUMNS]){ name, text_mib(before, a), text_mib(after, b), more });
}

static enum err print_table(const struct session *s)
{
    struct terminal_table rows = { .columns = technique_columns, .n_columns = COLUMNS, .bold_row = 0 };
    const struct technique_peak *before = &s->recorded.result.peak, *after = &s->changed.result.peak;
    add_row(&rows, "reserved at the peak", s->recorded.reserved_bytes, s->changed.reserved_bytes);
    add_row(&rows, "live at the peak", before->bytes, after->bytes);
    for (int c = 0; c < CATEGORY_KINDS; c++) {
        char name[TEXT_NUMBER];
        snprintf(name, sizeof name, "  %s", category_word((enum category)c));
        if (before->by_category[c] > 0 || after->by_category[c] > 0)
            add_row(&rows, name, before->by_category[c], after->by_category[c]);
    }
    const enum err e = terminal_table_print(stdout, &rows, terminal_columns(stdout));
    printf("\n");
    return e;
}

static const char *method_words(const struct session *s)
{
    if (s->changed.result.way == TECHNIQUE_EDITED)
        return "Recorded requests are left out, end earlier or get other sizes, and the trace is replayed under the "
               "recorded settings.";
    if (s->changed.result.way == TECHNIQUE_INSERTED)
        return "What the change adds is put in between the recorded requests, and the trace is replayed under the "
               "recorded settings.";
    if (s->course.states_each == 0 && s->change.optimizer >= OPTIMIZER_MOMENTUM)
        return "No gradients are on record at the end of a backward pass, so the states of this optimizer are not "
               "counted.";
    return "Nothing was recorded that this changes.";
}

static void add_states(struct words *w, const struct session *s)
{
    static const char *const recorded[] = { "No states of an optimizer are on record.",
                                            "The recorded optimizer has 1 tensor of state for each gradient.",
                                            "The recorded optimizer has 2 tensors of state for each gradient.",
                                            "The recorded optimizer has 3 tensors of state for each gradient." };
    if (s->change.optimizer != OPTIMIZER_RECORDED || s->options->states != NULL)
        words_add(w, " %s", s->course.states_each == STATES_UNKNOWN
                                ? "The recorded optimizer has states of its own kind."
                                : recorded[s->course.states_each]);
}

/* How far such estimates were off where programs ran both ways. */
static void print_errors(const struct session *s)
{
    for (enum technique_change c = 0; c < TECHNIQUE_CHANGES; c++) {
        const struct seen_error *e = seen_error_of(c);
        struct words w = { .n = 0 };
        if (!technique_changes(&s->change, c))
            continue;
        words_add(&w, "Error seen, %s: ", e->words);
        if (e->n_pairs > 0)
            words_add(&w, "%.1f%% of the reserved and %.1f%% of the live peak on %u recorded pair%s (%s); ",
                      e->of_pairs.reserved, e->of_pairs.live, e->n_pairs, e->n_pairs == 1 ? "" : "s", e->pairs);
        words_add(&w, "at most %.1f%%%s and %.1f%%%s on %u programs that ran both ways.", e->of_programs.reserved,
                  e->n_pairs > 0 ? "" : " of the reserved", e->of_programs.live,
                  e->n_pairs > 0 ? "" : " of the live peak", e->n_programs);
        words_print_screen(stdout, &w);
    }
}

static enum err technique_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct session *s = session;
    struct words method = { .n = 0 }, exact = { .n = 0 };
    print_answer(s);
    const enum err e = print_table(s);
    words_add(&method, "An estimate: the program did not run this way. %s", method_words(s));
    add_states(&method, s);
    words_print_screen(stdout, &method);
    print_errors(s);
    words_add(&exact, "If you have the program, `replay run-sim` runs it with the change made and gives the exact "
                      "figure; `replay predict` says which card that needs.");
    words_print_screen(stdout, &exact);
    coverage_print(stdout, &s->coverage);
    return e;
}

/* ---- JSON ---- */

static const char *const technique_way_words[] = { "unchanged", "edited", "inserted" };

static void put_categories(struct json_writer *json, const struct side *side)
{
    for (int c = 0; c < CATEGORY_KINDS; c++)
        json_put_number(json, category_word((enum category)c), side->result.peak.by_category[c]);
}

static void technique_side_json(struct json_writer *json, const struct side *side)
{
#define ANSWER_TABLE "answers/technique_side.def"
#include "answers/as_json.def"
}

static enum err technique_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct session *s = session;
#define ANSWER_TABLE "answers/technique.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static const struct flag_use technique_flags[] = {
    TAKES(OPTIMIZER), TAKES(STATES), TAKES(ACCUMULATE), TAKES(CHECKPOINT), TAKES(IN_PLACE),
    TAKES_AS(OUT, "write the changed trace, to be replayed like any other"), TAKES(JSON), TAKES_INPUT, TAKES(HELP),
    FLAGS_END,
};

const struct subcommand cmd_technique = {
    .name = "technique",
    .synopsis = "technique FILE CHANGE...",
    .summary = "estimate what a training would take with another optimizer, checkpointed, with gradients accumulated "
               "or in place, from one recording",
    .text = "Requests get categories, as `who --by category` shows them. What the change touches is left out, resized, "
            "ended earlier or put in, and the trace is replayed. The recording needs Python stacks and the program's "
            "start. Several changes are made together.\n"
            "Every figure is an estimate, and the errors seen on programs that ran both ways stand below it. The "
            "program itself, run with the change by `replay run-sim`, gives the exact figure.\n"
            "\n"
            "Examples:\n"
            "  replay technique out.pickle --optimizer sgd\n"
            "  replay technique out.pickle --checkpoint repeated --accumulate 4:split\n"
            "  replay technique out.pickle --states bf16 -o changed.trace.zst\n"
            "  replay fit changed.trace.zst\n",
    .flags = technique_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct session), .read = technique_read, .write_json = technique_write_json,
                .print = technique_print, .close = technique_end },
};
