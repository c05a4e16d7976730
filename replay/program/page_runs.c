/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Traces are swept into a database in memory: their runs then have the same columns as stored ones. */
#include "replay/program/page_runs.h"

#include "base/shown.h"
#include "replay/results/detailed_runs.h"
#include "replay/sweep/sweep.h"

void page_runs_open(struct page_runs *out, const struct options *options)
{
    *out = (struct page_runs){ .options = options };
    run_table_open(&out->table);
    if (options->is_given[FLAG_PRICE]) {
        out->table.price_bytes_per_ms = options->price;
        out->table.has_price = true;
    }
}

void page_runs_close(struct page_runs *r)
{
    detailed_runs_close(&r->page);
    verdict_close(&r->verdict);
    copy_summary_close(&r->copies);
    run_table_close(&r->table);
}

/* Says it on standard error at once, and on the page, whose reader does not see standard error. */
static void complain(void *arg, const char *text)
{
    struct page_runs *r = arg;
    progress_clear(&r->progress);
    fputs("replay: left out: ", stderr);
    shown_put(stderr, text);
    fputc('\n', stderr);
    r->is_out_of_memory |= detailed_runs_note(&r->page, "left out: %s", text) != ERR_OK;
    r->n_notes = r->page.n_notes;
}

static void show_share(void *arg, size_t input, double done)
{
    enum { PARTS = 1000 };
    struct page_runs *r = arg;
    (void)input;
    progress_report(&r->progress, (uint64_t)(PARTS * done), PARTS);
}

enum err page_runs_add_traces(struct page_runs *r, const char *const *traces, size_t n, const char *const *policies,
                              size_t n_policies, struct err_detail *err)
{
    const struct options *o = r->options;
    const struct sweep_request asked = {
        .inputs = traces, .n_inputs = n, .policies = policies, .n_policies = n_policies,
        .has_default_policies = o->n_policies == 0,
        .devices = o->devices, .n_devices = o->n_devices, .from = o->from, .import = o->import, .on_oom = o->on_oom,
        .start = o->start, .threads = o->threads,
    };
    struct sweep sweep = { .db = NULL };
    enum err e = sweep_open(&asked, &sweep, NULL, err);
    if (e != ERR_OK)
        return e;
    sweep.complain = complain;
    sweep.progress = show_share;
    sweep.arg = r;
    r->progress = progress_start("running", PROGRESS_PARTS);
    e = sweep_run(&sweep, NULL, false, err);
    progress_clear(&r->progress);
    r->n_left_out += sweep.n_left_out;
    const enum err failed = r->is_out_of_memory ? ERR_HOST_NOMEM : sweep.host_error;
    if (e == ERR_OK && failed != ERR_OK)
        e = err_set(err, failed, 0, "%s", err_text(failed));
    if (e == ERR_OK)
        e = run_table_add_db(&r->table, sweep.db, err);
    sweep_close(&sweep);
    return e;
}

enum err page_runs_draw(struct page_runs *r, bool is_detailed, struct err_detail *err)
{
    enum err e = copy_summary_take(&r->table, &r->copies);
    if (e == ERR_OK && r->table.n_rows == 0)
        return err_set(err, ERR_FORMAT, 0, "all runs are of changed copies, and none is of a trace itself: there is "
                       "nothing to report about");
    if (e == ERR_OK)
        e = verdict_open(&r->table, &r->verdict);
    if (e != ERR_OK)
        return err_no_memory(err);
    r->page.verdict = &r->verdict;
    r->page.copies = &r->copies;
    if (!is_detailed)
        return ERR_OK;
    struct progress progress = progress_start("replaying", PROGRESS_EVENTS);
    e = detailed_runs_replay(&r->page, r->options->threads, progress_report, &progress, err);
    progress_clear(&progress);
    return e;
}
