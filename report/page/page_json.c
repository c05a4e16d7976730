/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Everything that a page draws, as numbers; the page formats them. Rows are arrays, because there may be thousands; the
 * names of their members are written once.
 */
#include "report/page/page_json.h"

#include "base/text_stream.h"
#include "report/text/json_writer.h"
#include "report/text/short_paths.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { REMARKS_SHOWN = 60 };

/* ---- no folder of the machine ---- */

/* The first n letters of a path, as far as another has the same up to a slash, that included. */
static size_t shared_folder(const char *a, size_t n, const char *b)
{
    size_t same = 0;
    while (same < n && b[same] == a[same])
        same++;
    while (same > 0 && a[same - 1] != '/')
        same--;
    return same;
}

size_t page_folder_of_names(const struct page_difference *d)
{
    return shared_folder(d->names[0], strlen(d->names[0]), d->names[1]);
}

/* The letters of the folder that all traces are in. */
static size_t folder_of_traces(const struct run_table *t)
{
    const char *first = run_table_text(t, 0, "trace_path");
    size_t n = shared_folder(first, strlen(first), first);
    for (size_t row = 0; row < t->n_rows; row++)
        n = shared_folder(first, n, run_table_text(t, row, "trace_path"));
    return n;
}

/* ---- what names mean ---- */

const struct column *page_column(size_t i)
{
    size_t n;
    const struct column *all = columns_of(COLUMNS_OF_RUN, &n);
    for (size_t c = 0; c < n; c++)
        if (all[c].page_title != NULL && i-- == 0)
            return &all[c];
    return NULL;
}

static void put_named(struct json_writer *w, const char *name, const char *title, const char *meaning)
{
    json_put_object(w, NULL);
    json_put_text(w, "name", name);
    json_put_text(w, "title", title);
    json_put_text(w, "meaning", meaning);
    json_end_object(w);
}

static void put_names(struct json_writer *w)
{
    json_put_array(w, "columns");
    const struct column *c;
    for (size_t i = 0; (c = page_column(i)) != NULL; i++)
        put_named(w, c->name, c->page_title, c->meaning);
    json_end_array(w);
    json_put_array(w, "gauges");
#define TIMELINE_GAUGE(name, meaning) put_named(w, #name, #name, meaning);
    TIMELINE_GAUGES(TIMELINE_GAUGE)
#undef TIMELINE_GAUGE
    json_end_array(w);
}

/* ---- the table ---- */

static void put_settings(struct json_writer *w, const struct verdict *v)
{
    json_put_array(w, "settings");
    for (size_t i = 0; i < v->n_settings; i++) {
        const struct verdict_setting *s = &v->settings[i];
        json_put_object(w, NULL);
        char label[PATH_MAX];                        /* of a policy that may lie in a file of its own */
        snprintf(label, sizeof label, "%s", s->label);
        short_paths(label, NULL, true);
        json_put_text(w, "label", label);
        json_put_number(w, "runs", s->n_runs);
        json_put_number(w, "possible", s->n_possible);
        json_put_number(w, "ok", s->n_ok);
        json_put_number(w, "oom", s->n_oom);
        if (s->n_ok > 0) {
            json_put_ratio(w, "mean_share", s->mean_share);
            json_put_ratio(w, "worst_share", s->worst_share);
        }
        json_put_number(w, "device_calls", s->calls);
        json_put_number(w, "device_time_ns", s->time_ns);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_cases(struct json_writer *w, const struct verdict *v)
{
    static const char *const columns[] = { "trace_path", "trace_digest", "trace_source", "trace_events", "trace_allocs",
                                           "trace_starts", "trace_ends", "trace_peak_requested_bytes",
                                           "trace_live_peak_bytes", "trace_capacity_bytes", "trace_numbering",
                                           "device", "rank" };
    const char *first = run_table_text(v->table, 0, "trace_path");
    const size_t n_folder = folder_of_traces(v->table);
    json_put_array(w, "cases");
    for (size_t i = 0; i < v->n_cases; i++) {
        const struct verdict_case *t = &v->cases[i];
        json_put_object(w, NULL);
        json_put_text(w, "label", t->label + (strncmp(t->label, first, n_folder) == 0 ? n_folder : 0));
        for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
            field_json(w, columns[c], run_table_cell(v->table, t->first_row, columns[c]));
        if (t->best_row != VERDICT_NONE)
            json_put_number(w, "best", t->best_row);
        json_end_object(w);
    }
    json_end_array(w);
}

/* [case, setting, outcome, capacity, then the page's columns] */
static void put_rows(struct json_writer *w, const struct verdict *v)
{
    const struct run_table *t = v->table;
    const struct column *c;
    size_t at[FIELDS_MAX + 2] = { run_table_column(t, "outcome", 0), run_table_column(t, "capacity_bytes", 0) }, n = 2;
    while ((c = page_column(n - 2)) != NULL)
        at[n++] = run_table_column(t, c->name, 0);
    json_put_array(w, "rows");
    for (size_t row = 0; row < t->n_rows; row++) {
        json_put_array(w, NULL);
        json_put_number(w, NULL, v->case_of[row]);
        json_put_number(w, NULL, v->setting_of[row]);
        for (size_t i = 0; i < n; i++)
            field_json(w, NULL, &t->rows[row * t->n_columns + at[i]]);
        json_end_array(w);
    }
    json_end_array(w);
}

/* Row numbers case by case, and numbers of settings, each best first: the page ranks nothing itself. */
static void put_order(struct json_writer *w, const struct verdict *v)
{
    json_put_number(w, "price_bytes_per_ms", v->table->price_bytes_per_ms);
    json_put_array(w, "rows_best_first");
    for (size_t i = 0; i < v->table->n_rows; i++)
        json_put_number(w, NULL, v->rows_best_first[i]);
    json_end_array(w);
    json_put_array(w, "settings_best_first");
    for (size_t i = 0; i < v->n_settings; i++)
        json_put_number(w, NULL, v->settings_best_first[i]);
    json_end_array(w);
}

/* [row, then the page's names for refusals], for the rows that have one */
static void put_ooms(struct json_writer *w, const struct run_table *t)
{
    static const char *const columns[] = { "oom_first_event", "oom_first_requested_bytes", "oom_first_reserved_bytes",
                                           "oom_first_device_free_bytes" };
    enum { N = sizeof columns / sizeof columns[0] };
    json_put_array(w, "oom_columns");
    for (size_t c = 0; c < N; c++)
        json_put_text(w, NULL, columns[c]);
    json_end_array(w);
    json_put_array(w, "ooms");
    for (size_t row = 0; row < t->n_rows; row++) {
        if (run_table_number(t, row, "oom_count") == 0)
            continue;
        json_put_array(w, NULL);
        json_put_number(w, NULL, row);
        for (size_t c = 0; c < N; c++)
            field_json(w, NULL, run_table_cell(t, row, columns[c]));
        json_end_array(w);
    }
    json_end_array(w);
}

static void put_remarks(struct json_writer *w, const struct run_table *t)
{
    json_put_array(w, "remarks");
    for (size_t i = 0, n = 0; i < t->n_remarks && n < REMARKS_SHOWN; i++, n++) {
        json_put_object(w, NULL);
        json_put_text(w, "text", t->remarks[i].text);
        json_put_number(w, "runs", t->remarks[i].n_runs);
        json_put_bool(w, "is_warning", t->remarks[i].is_warning);
        json_end_object(w);
    }
    json_end_array(w);
    json_put_number(w, "n_remarks", t->n_remarks);
}

/* ---- changed copies ---- */

static void put_quantiles(struct json_writer *w, const char *key, const int64_t at[QUANTILES])
{
    json_put_array(w, key);
    for (size_t q = 0; q < QUANTILES; q++)
        json_put_number(w, NULL, (uint64_t)at[q]);
    json_end_array(w);
}

static void put_copies(struct json_writer *w, const struct copy_summary *s)
{
    static const char *const columns[] = { "trace_path", "device", "policy", "copy_sizes_percent" };
    json_put_array(w, "copies");
    for (size_t i = 0; s != NULL && i < s->n; i++) {
        const struct copy_group *g = &s->groups[i];
        json_put_object(w, NULL);
        for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
            field_json(w, columns[c], run_table_cell(&s->runs, g->row, columns[c]));
        json_put_number(w, "runs", g->n);
        json_put_number(w, "ok", g->n_ok);
        for (enum copy_figure f = 0; f < COPY_FIGURES && g->n_ok > 0; f++)
            put_quantiles(w, copy_figure_column(f), g->at[f]);
        json_end_object(w);
    }
    json_end_array(w);
}

/* ---- runs in detail ---- */

static void put_refusals(struct json_writer *w, const struct page_run *run)
{
    json_put_array(w, "refusals");
    for (size_t i = 0; i < run->n_refusals; i++) {
        json_put_array(w, NULL);
        json_put_number(w, NULL, run->refusals[i].moment);
        json_put_number(w, NULL, run->refusals[i].bytes);
        json_end_array(w);
    }
    json_end_array(w);
}

/* Writes a packed text, or the index of the run before `i` that has the same: equal runs are common. */
static void put_packed(struct json_writer *w, const struct page *p, size_t i, const char *key, size_t member)
{
    const char *text = *(char *const *)((const char *)&p->runs[i] + member);
    for (size_t k = 0; k < i; k++) {
        const char *before = *(char *const *)((const char *)&p->runs[k] + member);
        if (before != NULL && strcmp(before, text) == 0) {
            json_put_number(w, key, k);
            return;
        }
    }
    json_put_text(w, key, text);
}

static void put_run(struct json_writer *w, const struct page *p, size_t i)
{
    const struct page_run *run = &p->runs[i];
    json_put_object(w, NULL);
    json_put_number(w, "row", run->row);
    if (run->why_not != NULL)
        json_put_text(w, "why_not", run->why_not);
    json_put_text(w, "explanation", run->explanation);
    if (run->placed != NULL) {
        json_put_number(w, "trace", run->trace);
        json_put_number(w, "n_moments", run->n_moments);
        json_put_number(w, "peak_moment", run->peak_moment);
        json_put_number(w, "events_each", run->timeline.moments_each);
        json_put_number(w, "memory_left_out", run->n_memory_left_out);
        put_refusals(w, run);
        put_packed(w, p, i, "placed", offsetof(struct page_run, placed));
        put_packed(w, p, i, "memory", offsetof(struct page_run, memory));
    }
    json_end_object(w);
}

static void put_runs(struct json_writer *w, const struct page *p)
{
    json_put_array(w, "runs");
    for (size_t i = 0; i < p->n_runs; i++)
        put_run(w, p, i);
    json_end_array(w);
    json_put_array(w, "traces");
    for (size_t i = 0; i < p->n_traces; i++) {
        json_put_object(w, NULL);
        json_put_number(w, "n_events", p->traces[i].n_events);
        json_put_number(w, "n_requests", p->traces[i].n_requests);
        json_put_number(w, "n_drawn", p->traces[i].n_drawn);
        json_put_number(w, "live_peak_moment", p->traces[i].live_peak_moment);
        json_put_text(w, "categories", p->traces[i].categories);
        json_put_text(w, "requests", p->traces[i].requests);
        json_put_text(w, "stacks", p->traces[i].stacks);
        json_put_text(w, "events", p->traces[i].events);
        json_put_text(w, "courses", p->traces[i].courses);
        json_end_object(w);
    }
    json_end_array(w);
}

/* What the rules of the allocator hold beyond the live peak. */
static void put_blame(struct json_writer *w, const struct page_blame *b)
{
    if (b->reserved_bytes == 0)
        return;
    json_put_object(w, "blame");
    json_put_number(w, "peak_reserved_bytes", b->reserved_bytes);
    json_put_number(w, "live_peak_bytes", b->live_bytes);
    json_put_bool(w, "is_cut", b->is_cut);
    json_put_text(w, "help", b->help);
    json_put_array(w, "parts");
    for (size_t i = 0; i < b->n_parts; i++) {
        json_put_object(w, NULL);
        json_put_text(w, "words", b->parts[i].words);
        json_put_text(w, "does", b->parts[i].does);
        json_put_integer(w, "bytes", b->parts[i].bytes);
        json_end_object(w);
    }
    json_end_array(w);
    json_end_object(w);
}

/* Which rows the answer is about, for what is drawn of it. */
static void put_answer(struct json_writer *w, const struct page_answer *a)
{
    if (a->verdict == NULL)
        return;
    json_put_object(w, "answer");
    if (a->of_recorded_settings != VERDICT_NONE)
        json_put_number(w, "of_recorded_settings", a->of_recorded_settings);
    if (a->as_it_ran != VERDICT_NONE)
        json_put_number(w, "as_it_ran", a->as_it_ran);
    if (a->recommended != VERDICT_NONE)
        json_put_number(w, "recommended", a->recommended);
    json_put_bool(w, "has_card", a->has_card);
    json_put_bool(w, "is_card_named", a->is_card_named);
    json_put_bool(w, "is_uncured", a->is_uncured);
    json_put_number(w, "recorded_reserved_bytes", a->recorded_reserved_bytes);
    put_blame(w, &a->blame);
    json_end_object(w);
}

/* Of a job's ranks the case to look at first. */
static void put_worst_rank(struct json_writer *w, const struct verdict *v)
{
    size_t setting;
    const size_t worst = verdict_worst_rank(v, &setting);
    if (worst != VERDICT_NONE)
        json_put_number(w, "worst_rank", worst);
}

/* Lines by which two ranks differ: [line, bytes in the worst, bytes in the least]. */
static void put_ranks(struct json_writer *w, const struct page_ranks *r)
{
    if (r->worst == r->least)
        return;
    json_put_object(w, "ranks");
    json_put_number(w, "worst", r->worst);
    json_put_number(w, "least", r->least);
    json_put_number(w, "n_lines", r->n_lines);
    json_put_array(w, "lines");
    for (size_t i = 0; i < r->n_shown; i++) {
        json_put_array(w, NULL);
        json_put_text(w, NULL, r->lines[i].line);
        json_put_number(w, NULL, r->lines[i].worst_bytes);
        json_put_number(w, NULL, r->lines[i].least_bytes);
        json_end_array(w);
    }
    json_end_array(w);
    json_end_object(w);
}

static void put_page(FILE *out, const struct page *p)
{
    struct json_writer w = json_writer(out);
    const struct verdict *v = p->verdict;
    w.is_compact = w.is_embedded = true;
    json_put_object(&w, NULL);
    json_put_text(&w, "schema", "replay-page/3");
    if (p->difference != NULL)
        json_put_written(&w, "difference", p->difference->json);
    put_names(&w);
    put_settings(&w, v);
    if (v->best_setting != VERDICT_NONE)
        json_put_number(&w, "best_setting", v->best_setting);
    put_worst_rank(&w, v);
    put_ranks(&w, &p->ranks);
    put_cases(&w, v);
    json_put_number(&w, "n_traces", v->n_traces);
    json_put_number(&w, "n_devices", v->n_devices);
    put_answer(&w, &p->answer);
    put_rows(&w, v);
    put_order(&w, v);
    put_ooms(&w, v->table);
    put_remarks(&w, v->table);
    put_copies(&w, p->copies);
    survival_json(&w, p->survival != NULL ? p->survival : &(const struct survival){ .n = 0 });
    put_runs(&w, p);
    json_put_array(&w, "notes");
    for (size_t i = 0; i < p->n_notes; i++)
        json_put_text(&w, NULL, p->notes[i]);
    json_end_array(&w);
    json_end_object(&w);
}

/* ---- all ---- */

/* How a path in a folder begins as JSON writes it: a quote, and the folder. free() it; NULL without memory. */
static char *folder_begin(const char *path, size_t n)
{
    struct json_writer w = { .is_compact = true, .is_embedded = true };
    struct text_stream to;
    char *folder = strndup(path, n);
    if (folder != NULL && (w.out = text_stream_open(&to)) != NULL)
        json_quote(&w, folder);
    char *begin = folder != NULL ? text_stream_take(&to) : NULL;
    free(folder);
    if (begin != NULL)
        begin[strlen(begin) - 1] = '\0';
    return begin;
}

/* Whether the value that begins here is a path: of a trace, or of a side of a difference. */
static bool is_path(const char *text, const char *value)
{
    static const char *const keys[] = { "\"trace_path\":", "\"a\":", "\"b\":" };
    bool is_one = false;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const size_t n = strlen(keys[i]);
        is_one |= (size_t)(value - text) >= n && memcmp(value - n, keys[i], n) == 0;
    }
    return is_one;
}

/* Copies the data. Paths lose their folder, which begins in one of two ways: of traces, of sides. */
static void put_without_folders(FILE *out, const char *text, char *const begins[2])
{
    const char *at = text;
    for (const char *quote = text; (quote = strchr(quote, '"')) != NULL; quote++)
        for (int i = 0; i < 2; i++) {
            const size_t n = strlen(begins[i]);
            if (quote < at || strncmp(quote, begins[i], n) != 0 || !is_path(text, quote))
                continue;
            fwrite(at, 1, (size_t)(quote + 1 - at), out);
            at = quote + n;
        }
    fputs(at, out);
}

static char *page_text(const struct page *p)
{
    struct text_stream to;
    if (text_stream_open(&to) != NULL)
        put_page(to.file, p);
    return text_stream_take(&to);
}

void page_json(FILE *out, const struct page *p)
{
    const struct run_table *t = p->verdict->table;
    const struct page_difference *d = p->difference;
    char *begins[] = { folder_begin(run_table_text(t, 0, "trace_path"), folder_of_traces(t)),
                       folder_begin(d == NULL ? "" : d->names[0], d == NULL ? 0 : page_folder_of_names(d)) };
    char *text = page_text(p);
    if (text == NULL || begins[0] == NULL || begins[1] == NULL)
        (void)fgetc(out);                            /* no memory: the stream counts as failed, and no page is made */
    else
        put_without_folders(out, text, begins);
    free(text);
    free(begins[0]);
    free(begins[1]);
}
