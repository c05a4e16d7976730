/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay technique FILE`: what a training would take with another optimizer, or with states of another precision. */
#include "replay/program/cli.h"

#include "replay/coverage/coverage.h"
#include "replay/results/single_run.h"
#include "replay/technique/technique.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Words of --optimizer, by enum technique_optimizer. */
static const char *const optimizer_words[] = { NULL, "none", "sgd", "momentum", "adam" };

/* Words of --states, and the bits of an element. */
static const struct { const char *word; unsigned bits; } precisions[] = { { "fp32", 32 }, { "bf16", 16 },
                                                                         { "fp16", 16 } };

/* One course of the program, as recorded or changed. */
struct side {
    struct trace_reader  *trace;         /* NULL: the recording itself */
    struct technique_peak live;
    uint64_t              reserved_bytes;
};

/* Everything the command holds. Zero is valid: session_close accepts it. */
struct session {
    const struct options *options;
    struct trace_reader  *trace;
    struct course         course;
    struct coverage       coverage;
    struct technique      change;
    struct single_run     run;           /* the recording, under its own settings, on a card without end */
    struct side           recorded, changed;
    enum technique_way    way;
    struct output        *json;
};

static void session_close(struct session *s)
{
    output_abandon(s->json);
    single_run_close(&s->run);
    course_close(&s->course);
    trace_close(s->recorded.trace);
    trace_close(s->changed.trace);
    trace_close(s->trace);
}

/* ---- what was typed ---- */

static enum err read_optimizer(const char *text, enum technique_optimizer *out, struct err_detail *why)
{
    for (size_t i = 1; i < sizeof optimizer_words / sizeof optimizer_words[0]; i++)
        if (strcmp(text, optimizer_words[i]) == 0) {
            *out = (enum technique_optimizer)i;
            return ERR_OK;
        }
    return err_set(why, ERR_USAGE, 0, "--optimizer '%.40s': expected none, sgd, momentum or adam", text);
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
static enum err read_states(const char *text, struct technique *out, struct err_detail *why)
{
    const size_t n = strcspn(text, ":");
    const bool has_both = text[n] == ':';
    out->recorded_state_bits = has_both ? read_precision(text, n) : 32;
    out->state_bits = has_both ? read_precision(text + n + 1, strlen(text + n + 1)) : read_precision(text, n);
    if (out->state_bits == 0 || out->recorded_state_bits == 0)
        return err_set(why, ERR_USAGE, 0,
                       "--states '%.40s': expected fp32, bf16 or fp16, or two of them as RECORDED:WANTED", text);
    return ERR_OK;
}

static enum err read_change(struct session *s, struct err_detail *why)
{
    const struct options *o = s->options;
    enum err e = ERR_OK;
    if (o->optimizer == NULL && o->states == NULL)
        return err_set(why, ERR_USAGE, 0, "say what changes: --optimizer, --states or both");
    if (o->optimizer != NULL)
        e = read_optimizer(o->optimizer, &s->change.optimizer, why);
    return e == ERR_OK && o->states != NULL ? read_states(o->states, &s->change, why) : e;
}

/* ---- answers ---- */

static enum err replay_side(const struct session *s, struct side *side, struct err_detail *why)
{
    const struct replay_config cfg = { .threads = 1, .on_oom = OOM_AS_RECORDED };
    struct lane lane = { .spec = NULL };
    enum err e = lane_open(&s->run.spec, s->run.device.ops, &s->run.device.config, side->trace, 0, &lane, why);
    if (e == ERR_OK)
        e = replay_run(side->trace, &lane, 1, &cfg, why);
    if (e == ERR_OK && lane.outcome != ERR_OK)
        e = err_set(why, lane.outcome, 0, "the changed trace cannot be replayed: %.160s", lane.why.text);
    if (e == ERR_OK)
        side->reserved_bytes = lane.device->usage.reserved_peak_bytes;
    lane_close(&lane);
    return e;
}

static enum err measure(struct session *s, struct err_detail *why)
{
    const struct technique as_recorded = { .optimizer = OPTIMIZER_RECORDED };
    enum technique_way way;
    enum err e = technique_apply(&s->course, &as_recorded, NULL, &s->recorded.trace, &s->recorded.live, &way, why);
    if (e == ERR_OK)
        e = technique_apply(&s->course, &s->change, NULL, &s->changed.trace, &s->changed.live, &s->way, why);
    if (e == ERR_OK)
        e = replay_side(s, &s->recorded, why);
    if (e == ERR_OK)
        e = replay_side(s, &s->changed, why);
    if (e == ERR_OK && s->options->out != NULL)
        e = technique_apply(&s->course, &s->change, s->options->out, NULL, &s->changed.live, &way, why);
    return e;
}

static enum err session_run(struct session *s, struct err_detail *why)
{
    enum err e = read_change(s, why);
    if (e == ERR_OK)
        e = cli_open_trace(s->options, 0, &s->trace, why);
    if (e == ERR_OK)
        e = coverage_read(s->trace, &s->coverage, why);
    if (e == ERR_OK)
        e = course_read(s->trace, &s->course, why);
    if (e == ERR_OK)
        e = single_run_open(&s->run, s->trace, NULL, "sim:unlimited", why);
    return e == ERR_OK ? measure(s, why) : e;
}

/* ---- text ---- */

static void print_row(const char *name, uint64_t before, uint64_t after)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER], by[TEXT_NUMBER] = "", more[TEXT_NUMBER + 1] = "";
    text_mib(after > before ? after - before : before - after, by);
    if (after != before)
        snprintf(more, sizeof more, "%c%s", after > before ? '+' : '-', by);
    printf(more[0] == '\0' ? "%-24s %14s %14s\n" : "%-24s %14s %14s %14s\n", name, text_mib(before, a),
           text_mib(after, b), more);
}

static void print_change(const struct session *s)
{
    const struct technique *t = &s->change;
    static const char *const recorded[] = { "no states", "1 tensor of state for each gradient",
                                            "2 tensors of state for each gradient",
                                            "3 tensors of state for each gradient" };
    printf("An estimate from one recording: ");
    if (t->optimizer != OPTIMIZER_RECORDED)
        printf("%s%s", t->optimizer == OPTIMIZER_NONE ? "no optimizer" : optimizer_words[t->optimizer],
               s->options->states != NULL ? ", " : "");
    if (s->options->states != NULL)
        printf("states of %u bits, recorded of %u", t->state_bits, t->recorded_state_bits);
    printf(".\nThe recorded optimizer has %s.\n\n",
           s->course.states_each == STATES_UNKNOWN ? "states of its own kind" : recorded[s->course.states_each]);
}

static const char *method_words(const struct session *s)
{
    if (s->way == TECHNIQUE_EDITED)
        return "Requests of the recorded optimizer are left out or get other sizes, and the trace is replayed under "
               "the recorded settings.";
    if (s->way == TECHNIQUE_INSERTED)
        return "Steps as PyTorch's optimizer makes them are put in behind each backward pass, where gradients are "
               "live, and the trace is replayed under the recorded settings.";
    if (s->course.states_each == 0 && s->change.optimizer >= OPTIMIZER_MOMENTUM)
        return "No gradients are on record at the end of a backward pass, so the states of this optimizer are not "
               "counted.";
    return "Nothing was recorded that this changes.";
}

static void print_paragraph(const char *text)
{
    struct words w = { .n = 0 };
    words_add(&w, "%s", text);
    words_print_within(stdout, &w, HELP_WIDTH, 0, 0);
}

static void print_coverage(const struct session *s)
{
    char text[COVERAGE_TEXT];
    struct err_detail ignored;
    int64_t number = s->coverage.last_refusal;
    if (trace_event_number(s->trace, s->coverage.last_refusal, &number, &ignored) != ERR_OK)
        number = s->coverage.last_refusal;
    coverage_sentence(&s->coverage, trace_event_word(s->trace), number, text);
    if (text[0] != '\0') {
        print_paragraph(text);
        printf("\n");
    }
}

static void print_text(const struct session *s)
{
    print_coverage(s);
    print_change(s);
    printf("%-24s %14s %14s %14s\n", coverage_is_lower_bound(&s->coverage) ? "at least" : "", "as recorded",
           "estimated", "difference");
    print_row("reserved at the peak", s->recorded.reserved_bytes, s->changed.reserved_bytes);
    print_row("live at the peak", s->recorded.live.bytes, s->changed.live.bytes);
    for (int c = 0; c < CATEGORY_KINDS; c++) {
        char name[TEXT_NUMBER];
        const uint64_t before = s->recorded.live.by_category[c], after = s->changed.live.by_category[c];
        snprintf(name, sizeof name, "  %s", category_word((enum category)c));
        if (before > 0 || after > 0)
            print_row(name, before, after);
    }
    printf("\n");
    print_paragraph(method_words(s));
    print_paragraph("On loops that ran both ways under PyTorch such estimates were equal to the byte (doc/advice.md names "
                    "them). For the exact figure change the program, then `replay predict -- PROGRAM` or `replay "
                    "run-sim`.");
}

/* ---- JSON ---- */

static void json_side(struct json_writer *w, const char *key, const struct side *side)
{
    json_put_object(w, key);
    json_put_number(w, "peak_reserved_bytes", side->reserved_bytes);
    json_put_number(w, "peak_requested_bytes", side->live.bytes);
    json_put_object(w, "by_category");
    for (int c = 0; c < CATEGORY_KINDS; c++)
        json_put_number(w, category_word((enum category)c), side->live.by_category[c]);
    json_end_object(w);
    json_end_object(w);
}

static void write_json(const struct session *s, FILE *out)
{
    static const char *const ways[] = { "unchanged", "edited", "inserted" };
    struct json_writer w = json_writer(out);
    json_put_object(&w, NULL);
    json_put_text(&w, "schema", "replay-technique/1");
    json_put_bool(&w, "is_estimate", true);
    json_put_bool(&w, "is_lower_bound", coverage_is_lower_bound(&s->coverage));
    json_put_text(&w, "optimizer", optimizer_words[s->change.optimizer]);
    json_put_number_unless(&w, "state_bits", s->change.state_bits, 0);
    json_put_number_unless(&w, "recorded_state_bits", s->change.recorded_state_bits, 0);
    json_put_number_unless(&w, "recorded_states_each", s->course.states_each, STATES_UNKNOWN);
    json_put_number(&w, "backward_passes", s->course.n_step_ends);
    json_put_text(&w, "way", ways[s->way]);
    json_side(&w, "recorded", &s->recorded);
    json_side(&w, "estimated", &s->changed);
    json_put_object(&w, "trace");
    coverage_json(&w, &s->coverage);
    json_end_object(&w);
    json_end_object(&w);
}

static enum exit_status technique_main(const struct options *o)
{
    struct session s = { .options = o };
    struct err_detail why = { .text = "" };
    bool is_stdout_taken = false;
    enum err e = cli_open_output(o, o->json, &is_stdout_taken, &s.json, &why);
    if (e == ERR_OK)
        e = session_run(&s, &why);
    if (e == ERR_OK && s.json != NULL) {
        write_json(&s, output_file(s.json));
        e = output_commit(&s.json, &why);
    }
    if (e == ERR_OK && !is_stdout_taken)
        print_text(&s);
    const enum exit_status status = e != ERR_OK ? cli_fail(e, &why) : cli_finish_stdout(STATUS_DONE);
    session_close(&s);
    return status;
}

static const struct flag_use technique_flags[] = {
    TAKES(OPTIMIZER), TAKES(STATES), TAKES_AS(OUT, "write the changed trace, to be replayed like any other"),
    TAKES(JSON), TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_technique = {
    .name = "technique",
    .synopsis = "technique FILE [--optimizer WHAT] [--states PRECISION]",
    .summary = "estimate what a training would take with another optimizer or other states, from one recording",
    .text = "Requests get categories, as `who --by category` shows them; those of the optimizer are left out, resized or put "
            "in, and the trace is replayed. The recording needs Python stacks and the program's start.\n"
            "Other techniques are not estimated: what accumulation, checkpointing and in-place operations do depends on the "
            "program, and `replay predict` runs it.\n"
            "\n"
            "Examples:\n"
            "  replay technique out.pickle --optimizer sgd\n"
            "  replay technique out.pickle --states bf16 -o changed.trace.zst\n"
            "  replay fit changed.trace.zst\n",
    .flags = technique_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .run = technique_main,
};
