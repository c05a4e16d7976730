/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay adversary POLICY [POLICY]`: the program that shows most of an allocator in few calls. */
#include "replay/program/cli.h"

#include "replay/adversary/adversary_search.h"
#include "replay/shrink/shrink_calls.h"
#include "replay/shrink/shrink_script.h"
#include "report/text/json_writer.h"
#include "report/text/terminal_table.h"
#include "report/text/text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PROGRAMS_PER_EFFORT = 20000, EFFORT_USUAL = 40 };

/* Everything the command holds. Zero is valid: adversary_end accepts it. */
struct session {
    const struct options *options;
    struct adversary  found;
    struct err_detail no_script;     /* why --script could not be written; "": it could, or is not asked for */
    enum exit_status  status;
};

static void adversary_end(void *session)
{
    adversary_close(&((struct session *)session)->found);
}

static bool is_of_two(const struct session *s)
{
    return s->found.n_specs == 2;
}

static uint64_t effort_of(const struct options *o)
{
    return o->is_given[FLAG_EFFORT] ? o->effort : EFFORT_USUAL;
}

static size_t n_plain_sizes(void)
{
    size_t n = 0;
    while (program_plain_size(n) > 0)
        n++;
    return n;
}

static enum err adversary_read(void *session, const struct options *o, struct err_detail *err)
{
    struct session *s = session;
    s->options = o;
    if (o->n_inputs == 1 && o->device != NULL)
        return err_set(err, ERR_USAGE, 0, "--device is for two policies: of one, the card that it needs is searched");
    struct progress progress = progress_start("searching", PROGRESS_PARTS);
    const struct adversary_request asked = {
        .policies = { o->inputs[0], o->n_inputs > 1 ? o->inputs[1] : NULL }, .device = o->device, .seed = o->seed,
        .most_calls = (size_t)o->calls, .is_largest = o->calls > 0, .has_acts = o->has_pools,
        .programs = effort_of(o) * PROGRAMS_PER_EFFORT,
        .interrupted = cli_defer_signals(), .progress = progress_report, .progress_arg = &progress };
    const enum err e = adversary_find(&asked, &s->found, err);
    progress_clear(&progress);
    return e;
}

/* ---- text ---- */

static void print_paragraph(const struct words *w)
{
    words_print_within(stdout, w, HELP_WIDTH, 0, 0);
}

static const char *name_of(const struct session *s, size_t i)
{
    return shrunk_policy_word(&s->found.specs[i], !is_of_two(s) ? "this policy"
                                                  : i == 0    ? "the first policy"
                                                              : "the second policy");
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void add_interrupted(struct words *w, const struct session *s)
{
    char tried[TEXT_NUMBER];
    if (s->found.is_stopped)
        words_add(w, "Interrupted after %s program%s: this is the best so far. ", text_count(s->found.n_tried, tried),
                  plural(s->found.n_tried));
}

static void add_outcome(struct words *w, const struct session *s, size_t i, const char *verb)
{
    char peak[TEXT_NUMBER];
    if (s->found.found.is_refused[i])
        words_add(w, "is refused a request under %s", name_of(s, i));
    else
        words_add(w, "%s%s under %s", verb, text_mib(s->found.found.peak_bytes[i], peak), name_of(s, i));
}

static void print_two(const struct session *s)
{
    char live[TEXT_NUMBER];
    const bool *is_refused = s->found.found.is_refused;
    const size_t n = s->found.left.n, most = s->found.most_calls;
    struct words w = { .n = 0 };
    add_interrupted(&w, s);
    if (s->options->calls > 0)
        words_add(&w, "The largest difference found in at most %zu call%s is that of a program of %zu call%s: it ",
                  most, plural(most), n, plural(n));
    else
        words_add(&w, "The shortest program found has %zu call%s: it ", n, plural(n));
    add_outcome(&w, s, 0, "reserves ");
    words_add(&w, " and ");
    add_outcome(&w, s, 1, is_refused[0] ? "reserves " : "");
    words_add(&w, "; %s are live at most.", text_mib(s->found.found.live_bytes, live));
    print_paragraph(&w);
}

static void print_one(const struct session *s)
{
    char card[TEXT_NUMBER], live[TEXT_NUMBER];
    const double times = (double)s->found.found.card_bytes / (double)s->found.found.live_bytes;
    struct words w = { .n = 0 };
    add_interrupted(&w, s);
    words_add(&w, "The worst program found for %s has %zu call%s: it is refused a request on a card of %s, though %s "
              "are live at most: %.2f times as much is not enough.", name_of(s, 0), s->found.left.n,
              plural(s->found.left.n), text_mib(s->found.found.card_bytes, card),
              text_mib(s->found.found.live_bytes, live), times);
    print_paragraph(&w);
}

static void add_tried(struct words *w, const struct session *s)
{
    char tried[TEXT_NUMBER];
    words_add(w, "%s program%s of requests and frees %s %s tried", text_count(s->found.n_tried, tried),
              plural(s->found.n_tried), s->options->has_pools ? "with pools, captures and uses" : "on one stream",
              s->found.n_tried == 1 ? "was" : "were");
}

static void add_nothing_of_two(struct words *w, const struct session *s)
{
    words_add(w, "Nothing was found that separates %s from %s: ", name_of(s, 0), name_of(s, 1));
    add_tried(w, s);
    if (s->found.all_below > 1)
        words_add(w, ", among them all of fewer than %zu calls from %zu sizes", s->found.all_below, n_plain_sizes());
    words_add(w, ". That is no proof that nothing does.");
}

/* What no card serves tells nothing of the card that is needed. */
static void add_nothing_of_one(struct words *w, const struct session *s)
{
    words_add(w, "Nothing was found that %s refuses although the card could hold all that is live: ", name_of(s, 0));
    add_tried(w, s);
    if (s->found.refuses_always)
        words_add(w, ". Some of their requests %s refuses on any card, however large; these do not count",
                  name_of(s, 0));
    words_add(w, ". That is no proof that nothing is.");
}

static void print_nothing(const struct session *s)
{
    struct words w = { .n = 0 };
    if (s->found.is_stopped)
        words_add(&w, "Interrupted. ");
    (is_of_two(s) ? add_nothing_of_two : add_nothing_of_one)(&w, s);
    print_paragraph(&w);
}

static void print_shorter(const struct session *s)
{
    struct words w = { .n = 0 };
    if (s->found.all_below > 1)
        words_add(&w, "No program of fewer than %zu calls does so with sizes from a list of %zu: all were tried.",
                  s->found.all_below, n_plain_sizes());
    if (w.n == 0)
        return;
    printf("\n");
    print_paragraph(&w);
}

static void add_sizes(struct words *w, double ratio)
{
    char times[TEXT_NUMBER];
    if (ratio == 1)
        words_add(w, "All requests have one size. ");
    else if (ratio < 10)
        words_add(w, "The largest request is %.2f times the smallest. ", ratio);
    else
        words_add(w, "The largest request is %s times the smallest. ", text_count((uint64_t)(ratio + 0.5), times));
}

static void print_robson(const struct session *s)
{
    const struct robson_bounds b = robson_bounds_of(&s->found.found.program);
    struct words w = { .n = 0 };
    add_sizes(&w, b.size_ratio);
    words_add(&w, "Programs with such sizes, as long as need be, can drive any allocator that leaves blocks in their "
              "places to %.2f times what is live, and first fit to no more than about %.1f (Robson, 1974 and 1977).",
              b.any, b.first_fit);
    printf("\n");
    print_paragraph(&w);
}

/* What more calls show, where it is a tenth more. */
static enum err print_by_calls(const struct session *s)
{
    const struct text_column columns[] = { { .title = "calls" },
                                           { .title = is_of_two(s) ? "difference" : "card / 1 GiB" } };
    struct terminal_table t = { .columns = columns, .n_columns = 2, .bold_row = SIZE_MAX };
    double shown = 0;
    for (size_t n = 1; n <= s->found.most_calls; n++) {
        char calls[TEXT_NUMBER], score[TEXT_NUMBER];
        const double value = s->found.best[n].score;
        if (value == 0 || value < 1.1 * shown)
            continue;
        shown = value;
        snprintf(calls, sizeof calls, "%zu", n);
        snprintf(score, sizeof score, is_of_two(s) ? "%.0f%%" : "%.2f", is_of_two(s) ? 100 * value : value);
        terminal_table_add(&t, (const char *const[]){ calls, score });
    }
    printf("\n");
    return terminal_table_print(stdout, &t, HELP_WIDTH);
}

static enum err adversary_print(const void *session, struct err_detail *err)
{
    const struct session *s = session;
    if (s->found.found.score == 0) {
        print_nothing(s);
        return ERR_OK;
    }
    if (is_of_two(s))
        print_two(s);
    else
        print_one(s);
    printf("\n");
    shrunk_print_calls(stdout, &s->found.left);
    if (is_of_two(s))
        print_shorter(s);
    else
        print_robson(s);
    const enum err e = print_by_calls(s);
    return e == ERR_OK ? e : err_set(err, e, 0, "no memory for the table");
}

/* ---- files ---- */

static enum err adversary_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct session *s = session;
    const struct robson_bounds bounds = robson_bounds_of(&s->found.found.program);
#define ANSWER_TABLE "answers/adversary.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static enum err write_trace(const struct session *s, FILE *out, struct err_detail *err)
{
    void *bytes;
    size_t n;
    const struct device_config *d = &s->found.device.config;
    const enum err e = shrunk_write(&s->found.left, d->total_bytes == DEVICE_UNLIMITED ? 0 : keep_usable(d), &bytes, &n,
                                    err);
    if (e != ERR_OK)
        return e;
    fwrite(bytes, 1, n, out);                    /* the frame finds failed writes */
    free(bytes);
    return e;
}

/* PyTorch runs the script with the settings of the first policy. */
static enum err write_script(const struct session *s, FILE *out, struct err_detail *err)
{
    struct single_run run;
    char about[SCRIPT_COMMENT];
    enum err e = single_run_open(&run, s->found.trace, s->found.specs[0].typed, s->found.device.typed, err);
    if (e != ERR_OK)
        return e;
    snprintf(about, sizeof about, "%zu call%s, made by replay adversary for %.40s.", s->found.left.n,
             s->found.left.n == 1 ? "" : "s", s->found.specs[0].typed);
    e = shrink_script_write(&s->found.left, &run, about, out, err);
    single_run_close(&run);
    return e;
}

static enum err no_program(const struct session *s, struct err_detail *err)
{
    struct words w = { .n = 0 };
    (is_of_two(s) ? add_nothing_of_two : add_nothing_of_one)(&w, s);
    return err_set(err, s->found.is_stopped ? ERR_INTERRUPTED : ERR_UNSUPPORTED, 0, "%sthere is no program to write. "
                   "%s", s->found.is_stopped ? "interrupted; " : "", w.text);
}

static enum err adversary_write_files(void *session, FILE *const files[ANSWER_FILES], struct err_detail *err)
{
    struct session *s = session;
    if (s->found.found.score == 0)
        return no_program(s, err);
    enum err e = files[0] != NULL ? write_trace(s, files[0], err) : ERR_OK;
    if (e != ERR_OK || files[1] == NULL)
        return e;
    e = write_script(s, files[1], &s->no_script);
    if (e == ERR_UNSUPPORTED)
        s->status = cli_fail(e, &s->no_script);
    else if (e != ERR_OK)
        *err = s->no_script;
    return e == ERR_UNSUPPORTED ? ERR_OK : e;
}

static bool adversary_leaves_out(const void *session, size_t file)
{
    return file == 1 && ((const struct session *)session)->no_script.text[0] != '\0';
}

static enum exit_status adversary_status(const void *session)
{
    return ((const struct session *)session)->status;
}

static const struct flag_use adversary_flags[] = {
    TAKES(CALLS), TAKES(POOLS), TAKES_AS(OUT, "write the program as a trace"), TAKES(SCRIPT),
    TAKES_AS(DEVICE, "the simulated card on which two are compared (default: sim:unlimited)"), TAKES(SEED),
    TAKES_AS(EFFORT, "how many programs to try, in 20,000; the same N gives the same answer (default: 40)"),
    TAKES(JSON), TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_adversary = {
    .name = "adversary",
    .synopsis = "adversary POLICY [POLICY]",
    .summary = "the shortest program that separates two allocators, or one that drives an allocator to need most",
    .text = "POLICY is as after --policy: an allocator, a setting, a release of PyTorch. Of two, adversary finds the "
            "fewest requests and frees with which they reserve differently, and what more calls show. "
            "Of one, it finds a program that never has more than 1 GiB live, and is refused a request on as large "
            "a card as it can, beside Robson's bounds. It searches by chance, by patterns and by change, and "
            "makes the result small as shrink does. Of two settings or releases of PyTorch, --pools searches what "
            "private pools, captures and record_stream show and requests and frees alone do not.\n"
            "\n"
            "Examples:\n"
            "  replay adversary pytorch:version=2.0 pytorch:version=2.15\n"
            "  replay adversary best-fit expandable_segments:True --calls 7\n"
            "  replay adversary best-fit max_split_size_mb:128 --script show.py\n"
            "  replay adversary pytorch:version=2.9 pytorch:version=2.10 --pools\n"
            "  replay adversary tlsf\n",
    .flags = adversary_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 2,
    .answer = { .session_bytes = sizeof(struct session),
                .files = { offsetof(struct options, out), offsetof(struct options, script) }, .read = adversary_read,
                .write_json = adversary_write_json, .write_files = adversary_write_files,
                .leaves_out = adversary_leaves_out, .print = adversary_print, .status = adversary_status,
                .close = adversary_end },
};
