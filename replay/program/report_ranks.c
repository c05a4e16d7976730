/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Opens the worst rank's trace and the least one's, and compares what lines hold. */
#include "replay/program/report_ranks.h"

#include "replay/diff/rank_spread.h"
#include "replay/results/detailed_runs.h"
#include "report/text/short_paths.h"
#include "traces/stack_frame.h"

#include <stdlib.h>

enum { LINE_BYTES = 300 };

static enum err take_lines(const struct rank_spread *s, struct page_ranks *out)
{
    out->n_lines = s->n_lines;
    for (size_t i = 0; i < s->n_lines && i < PAGE_RANK_LINES; i++) {
        const struct rank_line *l = &s->lines[i];
        char line[LINE_BYTES];
        stack_frame_show_line(text_table_at(&s->pair.lines.names, l->name), line, sizeof line);
        out->lines[i] = (struct page_rank_line){ .line = short_paths_copy(line, NULL, false),
                                                 .worst_bytes = l->worst_bytes, .least_bytes = l->least_bytes };
        if (out->lines[i].line == NULL)
            return ERR_HOST_NOMEM;
        out->n_shown++;
    }
    return ERR_OK;
}

enum err report_ranks_find(struct page *page, struct err_detail *err)
{
    const struct verdict *v = page->verdict;
    struct trace_reader *traces[2] = { NULL, NULL };
    struct err_detail reason = { .text = "" };
    struct rank_spread spread = { .worst = 0 };
    size_t setting;
    const size_t cases[2] = { verdict_worst_rank(v, &setting), verdict_least_rank(v) };
    enum err e = ERR_OK;
    if (cases[0] == VERDICT_NONE || cases[0] == cases[1])
        return ERR_OK;
    for (int i = 0; i < 2 && e == ERR_OK; i++)
        e = detailed_runs_open_trace(v->table, v->cases[cases[i]].first_row, &traces[i], &reason);
    if (e == ERR_OK)
        e = rank_spread_compare(traces[0], traces[1], &spread, &reason);
    if (e == ERR_OK)
        e = take_lines(&spread, &page->ranks);
    if (e == ERR_OK) {
        page->ranks.worst = cases[0];
        page->ranks.least = cases[1];
    }
    rank_spread_close(&spread);
    trace_close(traces[0]);
    trace_close(traces[1]);
    return e == ERR_HOST_NOMEM ? err_set(err, e, 0, "no memory for what ranks differ in") : ERR_OK;
}

void report_ranks_close(struct page_ranks *r)
{
    for (size_t i = 0; i < r->n_shown; i++)
        free(r->lines[i].line);
    *r = (struct page_ranks){ .n_shown = 0 };
}
