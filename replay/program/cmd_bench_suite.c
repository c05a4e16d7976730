/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay bench-suite SAMPLES`: the frozen benchmark, as a table, a page, and the rows of doc/zoo.md. */
#include "replay/program/cli.h"
#include "replay/program/page_runs.h"
#include "replay/sweep/suite.h"

#include "base/terminal.h"

#include <string.h>

/* Everything the command holds. Zero is valid: session_close accepts it. */
struct suite_session {
    const struct options *options;
    struct suite          suite;
    struct page_runs      runs;
    struct output        *html, *json, *csv, *markdown;
    bool                  is_stdout_taken;
};

static void session_close(struct suite_session *s)
{
    output_abandon(s->html);
    output_abandon(s->json);
    output_abandon(s->csv);
    output_abandon(s->markdown);
    page_runs_close(&s->runs);
    suite_close(&s->suite);
}

static enum err open_outputs(struct suite_session *s, struct err_detail *why)
{
    const struct options *o = s->options;
    const struct { const char *path; struct output **out; } all[] = {
        { o->html, &s->html }, { o->json, &s->json }, { o->csv, &s->csv }, { o->markdown, &s->markdown },
    };
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && e == ERR_OK; i++)
        e = cli_open_output(o, all[i].path, &s->is_stdout_taken, all[i].out, why);
    return e;
}

static void write_json(FILE *out, const struct suite *s)
{
    struct json_writer w = json_writer(out);
    json_put_object(&w, NULL);
    json_put_text(&w, "schema", "replay-bench-suite/1");
    json_put_number(&w, "edition", 1);
    json_put_number(&w, "traces", s->n_traces);
    survival_json(&w, &s->survival);
    json_end_object(&w);
}

static enum err print_answer(const struct suite *s)
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

static enum err write_outputs(struct suite_session *s, struct err_detail *why)
{
    enum err e = s->html != NULL ? page_runs_draw(&s->runs, false, why) : ERR_OK;
    s->runs.page.survival = &s->suite.survival;
    if (e == ERR_OK && s->html != NULL)
        page_write_html(output_file(s->html), &s->runs.page);
    if (s->json != NULL)
        write_json(output_file(s->json), &s->suite);
    if (s->csv != NULL)
        run_table_write_csv(output_file(s->csv), &s->runs.table);
    if (s->markdown != NULL)
        survival_write_markdown(output_file(s->markdown), &s->suite.survival);
    struct output **const all[] = { &s->html, &s->json, &s->csv, &s->markdown };
    for (size_t i = 0; i < sizeof all / sizeof all[0] && e == ERR_OK; i++)
        e = output_commit(all[i], why);
    if (e == ERR_OK && !s->is_stdout_taken)
        e = cli_printed(print_answer(&s->suite), why);
    return e;
}

static enum exit_status bench_suite_main(const struct options *o)
{
    struct suite_session s = { .options = o };
    struct err_detail why = { .text = "" };
    const struct suite_request asked = { .folder = o->inputs[0], .policies = o->policies, .n_policies = o->n_policies,
                                         .db = o->out, .threads = o->threads };
    page_runs_open(&s.runs, o);
    enum err e = o->out != NULL ? cli_check_output(o, o->out, &why) : ERR_OK;
    if (e == ERR_OK)
        e = open_outputs(&s, &why);
    if (e == ERR_OK)
        e = suite_run(&asked, &s.runs.table, &s.suite, &why);
    if (e == ERR_OK)
        e = write_outputs(&s, &why);
    const enum exit_status status = e != ERR_OK ? cli_fail(e, &why) : cli_finish_stdout(STATUS_DONE);
    session_close(&s);
    return status;
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
    .run = bench_suite_main,
};
