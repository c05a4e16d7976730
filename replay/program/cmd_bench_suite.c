/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay bench-suite SAMPLES`: the frozen benchmark, as a table, a page, and the rows of doc/zoo.md. */
#include "replay/program/cli.h"
#include "replay/program/page_runs.h"
#include "replay/sweep/suite.h"

#include "base/terminal.h"

#include <string.h>

/* Everything the command holds. Zero is valid: suite_end accepts it. */
struct suite_session {
    const struct options *options;
    struct suite          suite;
    struct page_runs      runs;
};

static void suite_end(void *session)
{
    struct suite_session *s = session;
    page_runs_close(&s->runs);
    suite_close(&s->suite);
}

static enum err suite_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct suite *s = &((const struct suite_session *)session)->suite;
#define ANSWER_TABLE "answers/bench_suite.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static enum err suite_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct suite *s = &((const struct suite_session *)session)->suite;
    const struct survival_row *best = &s->survival.rows[0];
    printf("Edition 1: %zu traces, %zu policies. Most traces get through under '%s':\n"
           "%u with 1.02 times the proved bound, %u with 1.05.\n\n", s->n_traces, s->survival.n, best->policy,
           best->n_survived[0], best->n_survived[1]);
    const enum err e = survival_print(stdout, &s->survival, terminal_columns(stdout));
    printf("\nIn brackets: 95 %% intervals of the share. With room (4 times the bound), over those\n"
           "that get through: what is taken of the card, and driver calls per 1,000 requests.\n");
    return e;
}

static enum err suite_write_files(void *session, FILE *const files[ANSWER_FILES], struct err_detail *err)
{
    struct suite_session *s = session;
    FILE *html = files[0], *csv = files[1], *markdown = files[2];
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

static enum err suite_read(void *session, const struct options *o, struct err_detail *err)
{
    struct suite_session *s = session;
    const struct suite_request asked = { .folder = o->inputs[0], .policies = o->policies, .n_policies = o->n_policies,
                                         .db = o->out, .threads = o->threads };
    s->options = o;
    page_runs_open(&s->runs, o);
    const enum err e = o->out != NULL ? cli_check_output(o, o->out, err) : ERR_OK;
    return e == ERR_OK ? suite_run(&asked, &s->runs.table, &s->suite, err) : e;
}

static const struct flag_use bench_suite_flags[] = {
    TAKES_AS(POLICY, "a policy to compare; 'edition' stands for all of the edition, which are also those without this "
                     "option; braces stand for several; may be given several times"),
    TAKES(HTML), TAKES_AS(JSON, "write the counts as JSON; '-' is standard output"), TAKES(CSV),
    TAKES_AS(MARKDOWN, "write the table of all policies as Markdown, as in doc/zoo.md; '-' is standard output"),
    TAKES_AS(OUT, "a database that keeps the runs; those that it has are not repeated"), TAKES(PRICE), TAKES(THREADS),
    TAKES(HELP), FLAGS_END,
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
