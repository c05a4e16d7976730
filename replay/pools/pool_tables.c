/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What a comparison of pools says: a table for each load, and JSON. */
#include "replay/pools/pool_contest.h"

#include "report/text/json_writer.h"
#include "report/text/terminal_table.h"
#include "report/text/text.h"

#include <math.h>

enum { POOL_COLUMNS = 10 };

typedef char cell[TABLE_CELL];

static void share_put(cell out, double share)
{
    if (isnan(share))
        snprintf(out, TABLE_CELL, "-");
    else
        snprintf(out, TABLE_CELL, "%.1f", 100 * share);
}

/* The largest rate without a wait, or what else is the limit. */
static void rate_put(cell out, const struct pool_load *l)
{
    if (l->rate_most > 0)
        snprintf(out, TABLE_CELL, l->rate_most < 10 ? "%.2f" : "%.1f", l->rate_most);
    else
        snprintf(out, TABLE_CELL, l->limit == POOL_LIMIT_CACHE ? "none" : "any");
}

static void row_add(struct terminal_table *t, const struct pool_row *row)
{
    const struct pool_load *l = &row->load;
    const struct pool_figures f = pool_row_figures(row);
    char number[TEXT_NUMBER];
    cell cells[POOL_COLUMNS];
    const char *texts[POOL_COLUMNS];
    snprintf(cells[0], TABLE_CELL, "%s", kv_kind_name(row->kind));
    const bool is_known = !isnan(f.tokens_per_gib);
    snprintf(cells[1], TABLE_CELL, "%s", is_known ? text_count((uint64_t)f.tokens_per_gib, number) : "-");
    share_put(cells[2], f.needed);
    share_put(cells[3], f.outdated);
    share_put(cells[4], f.internal);
    share_put(cells[5], f.external);
    snprintf(cells[6], TABLE_CELL, "%s", text_count(l->play.running_peak, number));
    snprintf(cells[7], TABLE_CELL, "%s", text_count(l->play.n_waited, number));
    snprintf(cells[8], TABLE_CELL, "%s", text_count(l->play.n_preempted, number));
    if (l->limit == POOL_LIMIT_FILE)
        snprintf(cells[9], TABLE_CELL, "?");
    else
        rate_put(cells[9], l);
    for (size_t i = 0; i < POOL_COLUMNS; i++)
        texts[i] = cells[i];
    terminal_table_add(t, texts);
}

static enum err round_print(FILE *out, const struct pool_round *r, size_t columns)
{
    static const char share[] = "% of the memory taken";
    static const struct text_column titles[POOL_COLUMNS] = {
        { "pool", NULL, true, 0 },        { "tokens/GiB", NULL, false, 0 }, { "needed", share, false, 0 },
        { "outdated", share, false, 3 },  { "internal", share, false, 0 },  { "external", share, false, 0 },
        { "at once", NULL, false, 1 },    { "waited", NULL, false, 2 },     { "preempted", NULL, false, 0 },
        { "most/s", NULL, false, 4 },
    };
    struct terminal_table t = { .columns = titles, .n_columns = POOL_COLUMNS, .bold_row = SIZE_MAX };
    char bytes[TEXT_NUMBER], token[TEXT_NUMBER], n[TEXT_NUMBER];
    const struct pool_load *l = &r->rows[0].load;
    fprintf(out, "%s\n%s requests, %.1f a second, of %.0f and %.0f tokens; %s, %s a token\n\n", r->load,
            text_count(l->n_requests, n), l->rate, l->prompt, l->answer, text_mib(r->bytes, bytes),
            text_mib(r->token_bytes, token));
    for (size_t i = 0; i < r->n_rows; i++)
        row_add(&t, &r->rows[i]);
    const enum err e = terminal_table_print(out, &t, columns);
    if (l->n_empty > 0)
        fprintf(out, "Rows without an answer, left out: %s.\n", text_count(l->n_empty, n));
    for (size_t i = 0; i < r->n_rows; i++)
        if (r->rows[i].load.n_too_long > 0)
            fprintf(out, "%s: requests longer than it ever holds or than longest= allows, left out: %s.\n",
                    kv_kind_name(r->rows[i].kind), text_count(r->rows[i].load.n_too_long, n));
    for (size_t i = 0; i < r->n_rows; i++)
        if (r->rows[i].load.play.n_wakes > 0)
            fprintf(out, "%s changes the model on the card %s times.\n", kv_kind_name(r->rows[i].kind),
                    text_count(r->rows[i].load.play.n_wakes, n));
    fputs("\n", out);
    return e;
}

enum err pool_contest_print(FILE *out, const struct pool_contest *c, size_t columns)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < c->n_rounds && e == ERR_OK; i++)
        e = round_print(out, &c->rounds[i], columns);
    fputs("Tokens of the requests that run, for each GiB that their pool has taken for them,\n"
          "in the mean of all steps. Needed: what a layer looks back at. Outdated: what none\n"
          "does. Internal: the rest of blocks and slots. External: free between blocks of a\n"
          "page. Most/s: the largest rate at which none waits, to a thousandth; any: the\n"
          "requests that may run, or a step's tokens, are the limit; ?: the file is too\n"
          "short to tell.\n"
          "Modelled from descriptions, scheduled as by vLLM; a step's time is assumed.\n", out);
    return e;
}

void pool_contest_write_json(FILE *out, const struct pool_contest *c)
{
#define ANSWER_TABLE "answers/bench_pools.def"
#include "answers/as_json.def"
}
