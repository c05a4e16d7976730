/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay blame FILE`: which rule of the allocator holds how much of what was reserved beyond the live peak. */
#include "replay/program/cli.h"

#include "policies/pytorch/pytorch.h"
#include "replay/blame/blame.h"
#include "replay/blame/blame_help.h"
#include "replay/recording/recorded_platform.h"
#include "replay/recording/recorded_settings.h"
#include "replay/results/fresh_start.h"
#include "report/text/json_writer.h"
#include "report/text/terminal_table.h"
#include "report/text/text.h"

#include <inttypes.h>

/* Everything the command holds. Zero is valid: blame_close accepts it. */
struct session {
    const struct options *options;
    struct trace_reader  *trace;
    struct coverage       coverage;
    struct single_run     run;
    struct blame          blame;
    enum platform         platform;          /* where the program runs */
    struct words          help;
};

static void blame_close(void *session)
{
    struct session *s = session;
    single_run_close(&s->run);
    trace_close(s->trace);
}

/* Most recordings that do not tell are of Linux. */
static enum platform find_platform(const struct session *s)
{
    const enum platform named = s->options->system;
    const enum platform found = named != PLATFORM_UNKNOWN ? named : recorded_platform(s->trace);
    const bool is_npu = s->run.spec.ops == &policy_pytorch && ((struct pytorch *)s->run.lane.policy)->rules.is_npu;
    return found != PLATFORM_UNKNOWN ? found : is_npu ? PLATFORM_NPU : PLATFORM_LINUX;
}

static enum err blame_replay(struct session *s, struct err_detail *err)
{
    struct progress progress = progress_start("replaying", PROGRESS_PARTS);
    const enum err e = blame_find(&s->run, s->options->threads, progress_report, &progress, &s->blame, err);
    progress_clear(&progress);
    return e;
}

static enum err blame_read(void *session, const struct options *o, struct err_detail *err)
{
    struct session *s = session;
    s->options = o;
    if (o->n_policies > 1)
        return err_set(err, ERR_USAGE, 0, "--policy is given twice: the rules of one allocator are explained");
    enum err e = cli_open_trace(o, 0, &s->trace, err);
    if (e == ERR_OK)
        e = coverage_read(s->trace, &s->coverage, err);
    if (e == ERR_OK && recorded_from_driver(s->trace))
        e = err_at(err, ERR_UNSUPPORTED, 0, o->inputs[0], "holds the program's calls to the driver, and no requests to "
                   "PyTorch's allocator, whose rules are explained");
    if (e == ERR_OK && recorded_from_xla(s->trace))
        e = err_at(err, ERR_UNSUPPORTED, 0, o->inputs[0], RECORDED_XLA_WORDS);
    if (e == ERR_OK)
        e = single_run_open(&s->run, s->trace, o->n_policies == 1 ? o->policies[0] : NULL, o->device, err);
    if (e == ERR_OK)
        e = blame_replay(s, err);
    if (e != ERR_OK)
        return e;
    s->platform = find_platform(s);
    blame_say_help(&s->help, &s->blame, &s->run, s->platform);
    return e;
}

/* ---- text ---- */

static uint64_t whole_bytes(const struct session *s)
{
    return s->blame.reserved_bytes - s->blame.live_bytes;
}

static void print_paragraph(const struct words *w)
{
    words_print_within(stdout, w, HELP_WIDTH, 0, 0);
}

static void print_answer(const struct session *s)
{
    char reserved[TEXT_NUMBER], live[TEXT_NUMBER], whole[TEXT_NUMBER];
    struct words w = { .n = 0 };
    words_add(&w, "%s reserves %s%s at its peak%s. The requests that were live at once took %s, and no allocator needs "
              "less.", s->run.spec.typed, coverage_is_lower_bound(&s->coverage) ? "at least " : "",
              text_mib(s->blame.reserved_bytes, reserved),
              s->blame.is_cut ? ", before this card refuses a request" : "", text_mib(s->blame.live_bytes, live));
    if (whole_bytes(s) > 0)
        words_add(&w, " The %s in between are held by these rules of the allocator:", text_mib(whole_bytes(s), whole));
    else
        words_add(&w, " Nothing lies in between.");
    print_paragraph(&w);
    if (whole_bytes(s) > 0)
        printf("\n");
}

static const char *signed_mib(int64_t bytes, char buf[TEXT_NUMBER])
{
    char size[TEXT_NUMBER];
    snprintf(buf, TEXT_NUMBER, "%s%s", bytes < 0 ? "-" : "", text_mib((uint64_t)(bytes < 0 ? -bytes : bytes), size));
    return buf;
}

static void add_part(struct terminal_table *t, const struct session *s, enum blame_rule rule)
{
    char bytes[TEXT_NUMBER], share[TEXT_NUMBER];
    const struct blame_part *part = &s->blame.parts[rule];
    const double percent = 100.0 * (double)part->bytes / (double)whole_bytes(s);
    snprintf(share, sizeof share, "%.0f%%", percent > -0.5 && percent < 0 ? 0 : percent);
    terminal_table_add(t, (const char *const[]){ blame_words(rule), signed_mib(part->bytes, bytes), share,
                                                 blame_does(rule) });
}

static enum err print_parts(const struct session *s)
{
    static const struct text_column columns[] = { { .title = "rule", .is_left = true }, { .title = "holds" },
                                                  { .title = "share" },
                                                  { .title = "which is", .is_left = true, .leaves = 1 } };
    struct terminal_table t = { .columns = columns, .n_columns = sizeof columns / sizeof columns[0],
                                .bold_row = SIZE_MAX };
    struct words idle = { .n = 0 };
    if (whole_bytes(s) == 0)
        return ERR_OK;
    for (enum blame_rule r = 0; r < BLAME_RULES; r++) {
        if (s->blame.parts[r].matters)
            add_part(&t, s, r);
        else
            words_add(&idle, "%s%s", idle.n > 0 ? ", " : "Without effect in this recording: ", blame_words(r));
    }
    const enum err e = terminal_table_print(stdout, &t, HELP_WIDTH);
    printf("\n");
    if (idle.n > 0) {
        words_add(&idle, ".");
        print_paragraph(&idle);
        printf("\n");
    }
    return e;
}

static bool has_savings(const struct session *s)
{
    bool has_any = false;
    for (int r = 0; r < BLAME_RULES; r++)
        has_any |= s->blame.parts[r].bytes < 0;
    return has_any;
}

static void print_basis(const struct session *s)
{
    struct words w = { .n = 0 };
    words_add(&w, "A rule's part is what the peak falls by if the rule is taken out, on average over all orders of "
              "taking them out (Shapley's values; %u replays). The parts sum to the whole, to the byte.",
              s->blame.n_replays);
    if (has_savings(s))
        words_add(&w, " A rule below 0 saves memory here.");
    print_paragraph(&w);
}

static enum err blame_print(const void *session, struct err_detail *err)
{
    const struct session *s = session;
    struct words card = { .n = 0 };
    print_answer(s);
    const enum err e = print_parts(s);
    if (e != ERR_OK)
        return err_set(err, e, 0, "no memory for the table");
    if (s->help.n > 0) {
        print_paragraph(&s->help);
        printf("\n");
    }
    if (whole_bytes(s) > 0)
        print_basis(s);
    if (trace_info(s->trace)->starts_mid_run)
        printf("\n");
    if (s->run.device.is_assumed) {
        words_add(&card, "The recording does not tell its card. Taken: %s.", s->run.device.headline);
        printf("\n");
        print_paragraph(&card);
    }
    fresh_start_print(stdout, s->trace);
    return coverage_tell(stdout, s->trace, NULL, err);
}

static enum err blame_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct session *s = session;
#define ANSWER_TABLE "answers/blame.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static const struct flag_use blame_flags[] = {
    TAKES_AS(POLICY, "PyTorch's allocator with the settings to explain (default: the recorded ones)"),
    TAKES_AS(DEVICE, "the simulated card (default: the recorded one, or the smallest named one that holds the run)"),
    TAKES(SYSTEM), TAKES(JSON), TAKES(THREADS), TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_blame = {
    .name = "blame",
    .synopsis = "blame FILE",
    .summary = "which rule of PyTorch's allocator holds the memory that no request asked for",
    .text = "Between the most that was live at once and the most that was reserved lies memory that the program did "
            "not ask for. blame gives every byte of it to a rule: rounding, sizes of segments, walls between small and "
            "large, streams and pools, blocks that are not split, late uses, segments that cannot grow, and the order "
            "of addresses. It replays the recording with each set of rules taken out, and shares the whole fairly.\n"
            "\n"
            "Examples:\n"
            "  replay blame snapshot.pickle\n"
            "  replay blame snapshot.pickle --policy expandable_segments:True\n",
    .flags = blame_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct session), .read = blame_read, .write_json = blame_write_json,
                .print = blame_print, .close = blame_close },
};
