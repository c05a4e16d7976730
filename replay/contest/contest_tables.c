/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What edition 2 says: two tables of 80 columns, the same as Markdown, every run as CSV, and JSON. */
#include "replay/contest/contest.h"

#include "base/units.h"
#include "report/text/terminal_table.h"
#include "report/text/text.h"

#include <math.h>
#include <string.h>

enum { PLACES = 7, STRATA = 1 + STANDINGS_STRATA_MAX, CELLS_MAX = 24 };

typedef char cell[TABLE_CELL];

static void number_put(cell out, const char *format, double value)
{
    if (isnan(value))
        snprintf(out, TABLE_CELL, "-");
    else
        snprintf(out, TABLE_CELL, value < 100 ? format : "%.0f", value);
}

/* ---- the cells of a row: who is where, at what cost ---- */

static void place_cells(const struct contest *c, const struct standing *r, cell cells[PLACES])
{
    const struct contest_sums s = contest_sum(c, r->policy);
    if (r->place_from == 0)
        snprintf(cells[0], TABLE_CELL, "-");
    else if (r->place_from == r->place_to)
        snprintf(cells[0], TABLE_CELL, "%zu", r->place_from);
    else
        snprintf(cells[0], TABLE_CELL, "%zu-%zu", r->place_from, r->place_to);
    snprintf(cells[1], TABLE_CELL, "%s", c->policies.at[r->policy]);
    number_put(cells[2], "%.3f", r->mean);
    if (r->place_from == 0)
        snprintf(cells[3], TABLE_CELL, "%zu of %zu", r->n, c->n_traces);
    else if (r == &c->standings[0])
        snprintf(cells[3], TABLE_CELL, "-");
    else
        snprintf(cells[3], TABLE_CELL, "%.2f to %.2f", r->low, r->high);
    number_put(cells[4], "%.3f", s.card_mean);
    number_put(cells[5], "%.2f", s.card_worst);
    number_put(cells[6], "%.2f", s.n_requests > 0 ? (double)s.time_ns / 1e3 / (double)s.n_requests : NAN);
}

/* How many get through on each card with an end, and at what cost in each stratum. */
static void share_cells(const struct contest *c, const struct standing *r, cell cells[CELLS_MAX])
{
    const struct contest_sums s = contest_sum(c, r->policy);
    snprintf(cells[0], TABLE_CELL, "%s", c->policies.at[r->policy]);
    for (size_t i = 1; i < CONTEST_CARDS; i++)
        snprintf(cells[i], TABLE_CELL, "%zu", s.n_survived[i]);
}

static void strata_cells(const struct contest *c, const struct standing *r, cell cells[CELLS_MAX])
{
    snprintf(cells[0], TABLE_CELL, "%s", c->policies.at[r->policy]);
    for (size_t i = 0; i < c->n_strata; i++)
        number_put(cells[1 + i], "%.2f", r->by_stratum[i]);
}

/* ---- on a terminal ---- */

static enum err print_rows(FILE *out, const struct contest *c, struct terminal_table *t, size_t columns,
                           void (*fill)(const struct contest *, const struct standing *, cell *))
{
    t->bold_row = SIZE_MAX;
    for (size_t i = 0; i < c->policies.n; i++) {
        cell cells[CELLS_MAX];
        const char *texts[CELLS_MAX];
        fill(c, &c->standings[i], cells);
        for (size_t k = 0; k < t->n_columns; k++)
            texts[k] = cells[k];
        terminal_table_add(t, texts);
    }
    return terminal_table_print(out, t, columns);
}

static enum err print_places(FILE *out, const struct contest *c, size_t columns)
{
    static const char card[] = "card / bound";
    static const struct text_column titles[PLACES] = {
        { "place", NULL, false, 0 }, { "policy", NULL, true, 0 }, { "cost", NULL, false, 0 },
        { "over the first", NULL, false, 0 }, { "mean", card, false, 0 }, { "worst", card, false, 2 },
        { "us/req", "driver", false, 1 },
    };
    struct terminal_table t = { .columns = titles, .n_columns = PLACES };
    return print_rows(out, c, &t, columns, place_cells);
}

static enum err print_shares(FILE *out, const struct contest *c, size_t columns)
{
    struct text_column titles[CONTEST_CARDS] = { { "policy", NULL, true, 0 } };
    for (size_t i = 1; i < CONTEST_CARDS; i++)
        titles[i] = (struct text_column){ contest_card_at(i), i < CONTEST_CARDS - 2 ? "times the bound" : "more", false,
                                          0 };
    struct terminal_table t = { .columns = titles, .n_columns = CONTEST_CARDS };
    return print_rows(out, c, &t, columns, share_cells);
}

static enum err print_strata(FILE *out, const struct contest *c, size_t columns)
{
    struct text_column titles[STRATA] = { { "policy", NULL, true, 0 } };
    for (size_t i = 0; i < c->n_strata; i++)
        titles[1 + i] = (struct text_column){ contest_stratum_at(i), NULL, false, (unsigned)(c->n_strata - i) };
    struct terminal_table t = { .columns = titles, .n_columns = 1 + c->n_strata };
    return print_rows(out, c, &t, columns, strata_cells);
}

enum err contest_print(FILE *out, const struct contest *c, size_t columns)
{
    char price[UNITS_TEXT];
    fprintf(out, "Edition 2, seed %" PRIu64 "%s: %zu traces, %zu policies.\n\n", c->asked.seed,
            c->asked.seed == contest_published_seed() ? " (published)" : "", c->n_traces, c->policies.n);
    enum err e = print_places(out, c, columns);
    fprintf(out, "\nThe cost is what was taken of a card without an end, and driver time at %s\n"
            "a millisecond, over the bound: a mean of logarithms, strata alike. Policies that\n"
            "share a place cannot be told apart: all intervals hold together at 95 %%.\n"
            "\nOf %zu traces, how many get through on a card of so much (a segment is 20 MiB):\n",
            units_format_bytes(c->asked.price_bytes_per_ms, price), c->n_traces);
    if (e == ERR_OK)
        e = print_shares(out, c, columns);
    fprintf(out, "\nThe cost in each stratum:\n");
    return e == ERR_OK ? print_strata(out, c, columns) : e;
}

/* ---- files ---- */

static void markdown_row(FILE *out, cell *cells, size_t n, size_t name)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, i == name ? "| `%s` " : "| %s ", cells[i]);
    fputs("|\n", out);
}

void contest_write_markdown(FILE *out, const struct contest *c)
{
    fputs("| place | policy | cost | over the first | card / bound, mean | worst | driver us per request |\n"
          "|--:|---|--:|--:|--:|--:|--:|\n", out);
    for (size_t i = 0; i < c->policies.n; i++) {
        cell cells[CELLS_MAX];
        place_cells(c, &c->standings[i], cells);
        markdown_row(out, cells, PLACES, 1);
    }
    fputs("\n| policy |", out);
    for (size_t i = 1; i < CONTEST_CARDS; i++)
        fprintf(out, " %s |", contest_card_at(i));
    for (size_t i = 0; i < c->n_strata; i++)
        fprintf(out, " %s |", contest_stratum_at(i));
    fputs("\n|---|", out);
    for (size_t i = 1; i < CONTEST_CARDS + c->n_strata; i++)
        fputs("--:|", out);
    fputc('\n', out);
    for (size_t i = 0; i < c->policies.n; i++) {
        cell cells[CELLS_MAX], strata[CELLS_MAX];
        share_cells(c, &c->standings[i], cells);
        strata_cells(c, &c->standings[i], strata);
        memcpy(cells + CONTEST_CARDS, strata + 1, c->n_strata * sizeof *cells);
        markdown_row(out, cells, CONTEST_CARDS + c->n_strata, 0);
    }
}

void contest_write_csv(FILE *out, const struct contest *c)
{
    fputs("stratum,trace,seed,digest,bound_bytes,requests,policy,card_bytes,device_calls,device_time_ns", out);
    for (size_t k = 0; k < CONTEST_CARDS; k++)
        fprintf(out, ",%s", contest_card_at(k));
    fputc('\n', out);
    for (size_t i = 0; i < c->n_traces * c->policies.n; i++) {
        const struct contest_trace *t = &c->traces[i / c->policies.n];
        const struct contest_run *r = &c->runs[i];
        fprintf(out, "%s,\"%s\",%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",\"%s\",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
                contest_stratum_at(t->stratum), t->text, t->seed, t->digest, t->bound_bytes, t->n_requests,
                c->policies.at[i % c->policies.n], r->card_bytes, r->calls, r->time_ns);
        for (size_t k = 0; k < CONTEST_CARDS; k++)
            fprintf(out, ",%d", r->fits[k]);
        fputc('\n', out);
    }
}

void contest_json(struct json_writer *json, const struct contest *c)
{
#define ANSWER_TABLE "answers/contest.def"
#include "answers/as_json.def"
}
