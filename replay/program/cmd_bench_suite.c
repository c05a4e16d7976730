/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay bench-suite SAMPLES`: the frozen benchmark, as a table, a page, and the rows of doc/zoo.md. */
#include "replay/program/cli.h"
#include "replay/program/page_runs.h"
#include "replay/contest/contest.h"
#include "replay/sweep/suite.h"

#include "base/terminal.h"

#include <math.h>
#include <string.h>

/* Everything the command holds. Zero is valid: suite_end accepts it. */
struct suite_session {
    const struct options *options;
    struct suite          suite;
    struct page_runs      runs;
    bool                  is_second;     /* edition 2 is asked for: */
    struct contest        contest;
};

static void suite_end(void *session)
{
    struct suite_session *s = session;
    page_runs_close(&s->runs);
    suite_close(&s->suite);
    contest_close(&s->contest);
}

static enum err suite_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const bool is_second = ((const struct suite_session *)session)->is_second;
    const struct suite *s = &((const struct suite_session *)session)->suite;
    const struct contest *c = &((const struct suite_session *)session)->contest;
#define ANSWER_TABLE "answers/bench_suite.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static enum err first_print(const struct suite *s)
{
    const struct survival_row *best = &s->survival.rows[0];
    printf("Edition 1: %zu traces, %zu policies. Most traces get through under '%s':\n"
           "%u with 1.02 times the proved bound, %u with 1.05.\n\n", s->n_traces, s->survival.n, best->policy,
           best->n_survived[0], best->n_survived[1]);
    const enum err e = survival_print(stdout, &s->survival, terminal_columns(stdout));
    printf("\nIn brackets: 95 %% intervals of the share. With room (4 times the bound), over those\n"
           "that get through: what is taken of the card, and driver calls per 1,000 requests.\n");
    return e;
}

static enum err suite_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct suite_session *s = session;
    return s->is_second ? contest_print(stdout, &s->contest, terminal_columns(stdout)) : first_print(&s->suite);
}

static enum err suite_write_files(void *session, FILE *const files[ANSWER_FILES], struct err_detail *err)
{
    struct suite_session *s = session;
    FILE *html = files[0], *csv = files[1], *markdown = files[2];
    if (s->is_second) {
        if (csv != NULL)
            contest_write_csv(csv, &s->contest);
        if (markdown != NULL)
            contest_write_markdown(markdown, &s->contest);
        return ERR_OK;
    }
    const enum err e = html != NULL ? page_runs_draw(&s->runs, false, err) : ERR_OK;
    if (e != ERR_OK)
        return e;
    s->runs.page.survival = &s->suite.survival;
    if (html != NULL)
        page_write_html(html, &s->runs.page);
    if (csv != NULL)
        run_table_write_csv(csv, &s->runs.table);
    if (markdown != NULL)
        survival_write_markdown(markdown, &s->suite.survival);
    return ERR_OK;
}

static enum err second_read(struct suite_session *s, const struct options *o, struct err_detail *err)
{
    const struct contest_request asked = {
        .folder = o->inputs[0], .policies = o->policies, .n_policies = o->n_policies, .stratum = o->stratum,
        .seed = o->is_given[FLAG_DRAW_SEED] ? o->seed : contest_published_seed(), .price_bytes_per_ms = o->price,
        .threads = o->threads, .decisions = o->decisions };
    enum err e = ERR_OK;
    if (o->html != NULL || o->out != NULL)
        e = err_set(err, ERR_USAGE, 0, "edition 2 has no page and no database: --json, --csv, --markdown, --decisions");
    if (e == ERR_OK && o->decisions != NULL)
        e = cli_check_output(o, o->decisions, err);
    return e == ERR_OK ? contest_run(&asked, &s->contest, err) : e;
}

static enum err suite_read(void *session, const struct options *o, struct err_detail *err)
{
    struct suite_session *s = session;
    const struct suite_request asked = { .folder = o->inputs[0], .policies = o->policies, .n_policies = o->n_policies,
                                         .db = o->out, .threads = o->threads };
    s->options = o;
    page_runs_open(&s->runs, o);
    s->is_second = o->edition == 2;
    if (s->is_second)
        return second_read(s, o, err);
    if (o->is_given[FLAG_DRAW_SEED] || o->stratum != NULL || o->decisions != NULL)
        return err_set(err, ERR_USAGE, 0, "--seed, --stratum and --decisions need --edition 2");
    const enum err e = o->out != NULL ? cli_check_output(o, o->out, err) : ERR_OK;
    return e == ERR_OK ? suite_run(&asked, &s->runs.table, &s->suite, err) : e;
}

static const struct flag_use bench_suite_flags[] = {
    TAKES(EDITION),
    TAKES_AS(POLICY, "a policy to compare; 'edition' stands for all of the edition, which are also those without this "
                     "option; braces stand for several; may be given several times"),
    TAKES_AS(HTML, "write a page that a browser opens from disk, of edition 1"),
    TAKES_AS(JSON, "write the counts as JSON; '-' is standard output"), TAKES(CSV),
    TAKES_AS(MARKDOWN, "write the table of all policies as Markdown, as in doc/zoo.md; '-' is standard output"),
    TAKES_AS(OUT, "edition 1: a database that keeps the runs; those that it has are not repeated"), TAKES(PRICE),
    TAKES(DRAW_SEED), TAKES(STRATUM), TAKES(DECISIONS), TAKES(THREADS), TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_bench_suite = {
    .name = "bench-suite",
    .synopsis = "bench-suite SAMPLES",
    .summary = "run the frozen benchmark: how often each policy gets through with little more than the proved minimum",
    .text = "SAMPLES is the folder of samples of the source. Edition 1 has 22 traces: recordings of PyTorch programs, "
            "and generated ones. Each is run on cards of 1.02, 1.05, 1.10 and 1.25 times the lower bound that `replay "
            "plan` proves for it, and on a roomy card of 4 times that. The traces, their digests and bounds are fixed, "
            "so figures of one edition can be compared, whoever made them.\n"
            "\n"
            "Edition 2 has more traces: seven kinds of programs that weigh the same, drawn by a seed. The bound is the "
            "most that is live at once. Policies are ranked by memory and driver time on a card without an end, with "
            "intervals; those that share a place cannot be told apart. Another --seed draws traces that nobody has "
            "tuned for.\n"
            "\n"
            "  replay bench-suite samples --edition 2\n"
            "  replay bench-suite samples --edition 2 --policy ./mine.so --seed 77\n"
            "  replay bench-suite samples --edition 2 --policy ./mine.so --decisions mine.gz\n"
            "  replay bench-suite samples\n"
            "  replay bench-suite samples --policy edition --policy ./mine.so\n"
            "  replay bench-suite samples --policy best-fit --policy ./mine.so\n",
    .flags = bench_suite_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct suite_session),
                .files = { offsetof(struct options, html), offsetof(struct options, csv),
                           offsetof(struct options, markdown) },
                .read = suite_read, .write_json = suite_write_json, .write_files = suite_write_files,
                .print = suite_print, .close = suite_end },
};
