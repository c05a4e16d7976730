/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One row a policy; the writers share the texts of the cells. */
#include "report/rows/survival.h"

#include "report/text/terminal_table.h"
#include "report/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const unsigned survival_percents[SURVIVAL_CAPACITIES] = { 102, 105, 110, 125, 400 };

enum { ROOMY = SURVIVAL_TIGHT, COLUMNS = 1 + SURVIVAL_TIGHT + 4 };

void survival_count(struct survival_row *r, unsigned i, double share, uint64_t calls, uint64_t requests,
                    uint64_t time_ns)
{
    r->n_survived[i]++;
    if (i != ROOMY)
        return;
    r->sum_share += share;
    r->worst_share = share > r->worst_share ? share : r->worst_share;
    r->calls += calls;
    r->requests += requests;
    r->time_ns += time_ns;
}

static double mean_share(const struct survival_row *r)
{
    return r->n_survived[ROOMY] > 0 ? r->sum_share / r->n_survived[ROOMY] : INFINITY;
}

static int by_survival(const void *a, const void *b)
{
    const struct survival_row *x = a, *y = b;
    for (unsigned i = 0; i < SURVIVAL_CAPACITIES; i++)
        if (x->n_survived[i] != y->n_survived[i])
            return x->n_survived[i] > y->n_survived[i] ? -1 : 1;
    if (mean_share(x) < mean_share(y) || mean_share(x) > mean_share(y))
        return mean_share(x) < mean_share(y) ? -1 : 1;
    return strcmp(x->policy, y->policy);
}

void survival_sort(struct survival *s)
{
    if (s->n > 0)
        qsort(s->rows, s->n, sizeof *s->rows, by_survival);
}

void survival_interval(unsigned k, unsigned n, double *low, double *high)
{
    const double z = 1.959964, p = (double)k / n, spread = z * z / n;
    const double middle = (p + spread / 2) / (1 + spread);
    const double half = z * sqrt(p * (1 - p) / n + spread / (4.0 * n)) / (1 + spread);
    *low = 100 * (k == 0 ? 0 : middle - half);
    *high = 100 * (k == n ? 1 : middle + half);
}

/* The cells of a row, in the order of the columns. */
static void cells_of(const struct survival_row *r, char cells[COLUMNS][TABLE_CELL])
{
    const unsigned n = r->n_survived[ROOMY];
    char time[TEXT_NUMBER];
    snprintf(cells[0], TABLE_CELL, "%s", r->policy);
    for (unsigned i = 0; i < SURVIVAL_TIGHT; i++) {
        double low, high;
        survival_interval(r->n_survived[i], r->n, &low, &high);
        snprintf(cells[1 + i], TABLE_CELL, "%u (%.0f-%.0f %%)", r->n_survived[i], low, high);
    }
    snprintf(cells[1 + ROOMY], TABLE_CELL, n > 0 ? "%.3f" : "-", mean_share(r));
    snprintf(cells[2 + ROOMY], TABLE_CELL, n > 0 ? "%.2f" : "-", r->worst_share);
    snprintf(cells[3 + ROOMY], TABLE_CELL, n > 0 ? "%.1f" : "-",
             r->requests > 0 ? 1000.0 * (double)r->calls / (double)r->requests : 0);
    snprintf(cells[4 + ROOMY], TABLE_CELL, "%s", n > 0 ? text_time(r->time_ns, time) : "-");
}

void survival_write_markdown(FILE *out, const struct survival *s)
{
    fprintf(out, "| policy |");
    for (unsigned i = 0; i < SURVIVAL_TIGHT; i++)
        fprintf(out, " %.2f |", survival_percents[i] / 100.0);
    fprintf(out, " card / bound, mean | worst | driver calls per 1,000 requests | driver time |\n|---|");
    for (unsigned i = 1; i < COLUMNS; i++)
        fprintf(out, "--:|");
    fputc('\n', out);
    for (size_t k = 0; k < s->n; k++) {
        char cells[COLUMNS][TABLE_CELL];
        cells_of(&s->rows[k], cells);
        fprintf(out, "| `%s` |", s->rows[k].policy);
        for (unsigned i = 1; i < COLUMNS; i++)
            fprintf(out, " %s |", cells[i]);
        fputc('\n', out);
    }
}

enum err survival_print(FILE *out, const struct survival *s, size_t columns)
{
    static const char capacity[] = "survives with x of the bound", room[] = "with room";
    static const struct text_column titles[COLUMNS] = {
        { "policy", NULL, true, 0 },       { "1.02", capacity, false, 0 },  { "1.05", capacity, false, 3 },
        { "1.10", capacity, false, 0 },    { "1.25", capacity, false, 4 },  { "card/bound", room, false, 0 },
        { "worst", room, false, 2 },       { "calls/1000", room, false, 1 }, { "time", room, false, 1 },
    };
    struct terminal_table t = { .columns = titles, .n_columns = COLUMNS, .bold_row = s->n };
    for (size_t k = 0; k < s->n; k++) {
        char cells[COLUMNS][TABLE_CELL];
        const char *texts[COLUMNS];
        cells_of(&s->rows[k], cells);
        for (unsigned i = 0; i < COLUMNS; i++)
            texts[i] = cells[i];
        terminal_table_add(&t, texts);
    }
    return terminal_table_print(out, &t, columns);
}

/* How many get through at a capacity, and between which shares. */
static void put_survived(struct json_writer *json, const struct survival_row *r, size_t capacity)
{
    double low, high;
    survival_interval(r->n_survived[capacity], r->n, &low, &high);
    json_put_number(json, NULL, r->n_survived[capacity]);
    json_put_ratio(json, NULL, low / 100);
    json_put_ratio(json, NULL, high / 100);
}

void survival_json(struct json_writer *json, const struct survival *s)
{
#define ANSWER_TABLE "answers/survival.def"
#include "answers/as_json.def"
}
