/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Everything that a page draws, as numbers; the page formats them. Rows are arrays, because there may be thousands; the
 * names of their members are written once.
 */
#include "report/page_json.h"

#include "report/json_writer.h"

#include <string.h>

enum { REMARKS_SHOWN = 60, OOMS_SHOWN = 300 };

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
    json_put_array(w, "states");
#define BLOCK_MAP_STATE(NAME, name, meaning) put_named(w, #NAME, name, meaning);
    BLOCK_MAP_STATES(BLOCK_MAP_STATE)
#undef BLOCK_MAP_STATE
    json_end_array(w);
}

/* ---- the table ---- */

static void put_settings(struct json_writer *w, const struct verdict *v)
{
    json_put_array(w, "settings");
    for (size_t i = 0; i < v->n_settings; i++) {
        const struct verdict_setting *s = &v->settings[i];
        json_put_object(w, NULL);
        json_put_text(w, "label", s->label);
        json_put_number(w, "runs", s->n_runs);
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
                                           "trace_starts", "trace_peak_requested_bytes", "trace_capacity_bytes",
                                           "trace_numbering", "device" };
    json_put_array(w, "cases");
    for (size_t i = 0; i < v->n_cases; i++) {
        const struct verdict_case *t = &v->cases[i];
        json_put_object(w, NULL);
        json_put_text(w, "label", t->label);
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
    const struct column *c;
    json_put_array(w, "rows");
    for (size_t row = 0; row < v->table->n_rows; row++) {
        json_put_array(w, NULL);
        json_put_number(w, NULL, v->case_of[row]);
        json_put_number(w, NULL, v->setting_of[row]);
        field_json(w, NULL, run_table_cell(v->table, row, "outcome"));
        field_json(w, NULL, run_table_cell(v->table, row, "capacity_bytes"));
        for (size_t i = 0; (c = page_column(i)) != NULL; i++)
            field_json(w, NULL, run_table_cell(v->table, row, c->name));
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

static void put_ooms(struct json_writer *w, const struct run_table *t)
{
    static const char *const columns[] = { "oom_first_event", "oom_first_requested_bytes", "oom_first_reserved_bytes",
                                           "oom_first_device_free_bytes" };
    size_t n = 0;
    json_put_array(w, "ooms");
    for (size_t row = 0; row < t->n_rows; row++) {
        if (run_table_number(t, row, "oom_count") == 0 || ++n > OOMS_SHOWN)
            continue;
        json_put_object(w, NULL);
        json_put_number(w, "row", row);
        for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
            field_json(w, columns[c], run_table_cell(t, row, columns[c]));
        json_end_object(w);
    }
    json_end_array(w);
    json_put_number(w, "n_ooms", n);
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

/* ---- runs in detail ---- */

/* [event, time_ns, least and most of each gauge] */
static void put_timeline(struct json_writer *w, const struct timeline *t)
{
    json_put_array(w, "timeline");
    for (size_t i = 0; i < t->n; i++) {
        const struct timeline_bucket *b = &t->buckets[i];
        json_put_array(w, NULL);
        json_put_number(w, NULL, b->event);
        json_put_number(w, NULL, b->time_ns);
        for (int g = 0; g < TIMELINE_N_GAUGES; g++) {
            json_put_number(w, NULL, b->least[g]);
            json_put_number(w, NULL, b->most[g]);
        }
        json_end_array(w);
    }
    json_end_array(w);
    json_put_number(w, "events_each", t->moments_each);
}

/* [address, bytes, stream, pool, [pieces]]; a piece: [offset, bytes, state, requested, event, age_ns, stack], or of
 * several blocks [offset, bytes, state, live bytes, blocks] */
static void put_segment(struct json_writer *w, const struct block_map *m, size_t segment, size_t *piece)
{
    const struct block_map_segment *s = &m->segments[segment];
    char address[24];
    snprintf(address, sizeof address, "0x%llx", (unsigned long long)s->addr);
    json_put_array(w, NULL);
    json_put_text(w, NULL, address);
    json_put_number(w, NULL, s->bytes);
    json_put_number(w, NULL, s->stream);
    json_put_number(w, NULL, s->pool);
    json_put_array(w, NULL);
    for (; *piece < m->n_pieces && m->pieces[*piece].segment == segment; ++*piece) {
        const struct block_map_piece *p = &m->pieces[*piece];
        json_put_array(w, NULL);
        json_put_number(w, NULL, p->addr - s->addr);
        json_put_number(w, NULL, p->bytes);
        json_put_number(w, NULL, p->state);
        if (p->state == BLOCK_MAP_MIXED) {
            json_put_number(w, NULL, p->live_bytes);
            json_put_number(w, NULL, p->n_blocks);
        } else if (p->live_bytes > 0) {
            json_put_number(w, NULL, p->requested);
            json_put_integer(w, NULL, p->event);
            json_put_number(w, NULL, p->age_ns);
            json_put_number(w, NULL, p->stack);
        }
        json_end_array(w);
    }
    json_end_array(w);
    json_end_array(w);
}

static void put_map(struct json_writer *w, const struct page_run *run, const struct block_map *m)
{
    json_put_object(w, NULL);
    json_put_number(w, "event", m->event);
    json_put_integer(w, "place", m->place);
    json_put_number(w, "time_ns", m->time_ns);
    json_put_text(w, "what", m->event == run->oom_event && m->event == run->peak_event ? "peak, first refusal"
                             : m->event == run->oom_event  ? "first refusal"
                             : m->event == run->peak_event ? "peak" : "");
#define METER_GAUGE(name, meaning) json_put_number(w, #name "_bytes", m->now.name);
    METER_GAUGES(METER_GAUGE)
#undef METER_GAUGE
    json_put_number(w, "inactive_split_bytes", m->inactive_split);
    json_put_number(w, "blocks", m->n_blocks);
    json_put_number(w, "left_out_segments", m->left_out_segments);
    json_put_number(w, "left_out_bytes", m->left_out_bytes);
    json_put_array(w, "segments");
    for (size_t i = 0, piece = 0; i < m->n_segments; i++)
        put_segment(w, m, i, &piece);
    json_end_array(w);
    json_end_object(w);
}

static void put_runs(struct json_writer *w, const struct page *p)
{
    json_put_array(w, "runs");
    for (size_t i = 0; i < p->n_runs; i++) {
        const struct page_run *run = &p->runs[i];
        json_put_object(w, NULL);
        json_put_number(w, "row", run->row);
        if (run->why_not != NULL) {
            json_put_text(w, "why_not", run->why_not);
        } else {
            if (run->timeline.n > 0)
                put_timeline(w, &run->timeline);
            json_put_number(w, "peak_event", run->peak_event);
            json_put_text(w, "explanation", run->explanation);
            json_put_array(w, "maps");
            for (size_t k = 0; k < run->n_maps; k++)
                put_map(w, run, &run->maps[k]);
            json_end_array(w);
        }
        json_end_object(w);
    }
    json_end_array(w);
}

void page_json(FILE *out, const struct page *p)
{
    struct json_writer w = json_writer(out);
    const struct verdict *v = p->verdict;
    w.is_compact = w.is_embedded = true;
    json_put_object(&w, NULL);
    json_put_text(&w, "schema", "replay-page/1");
    put_names(&w);
    put_settings(&w, v);
    if (v->best_setting != VERDICT_NONE)
        json_put_number(&w, "best_setting", v->best_setting);
    put_cases(&w, v);
    json_put_number(&w, "n_traces", v->n_traces);
    json_put_number(&w, "n_devices", v->n_devices);
    put_rows(&w, v);
    put_order(&w, v);
    put_ooms(&w, v->table);
    put_remarks(&w, v->table);
    put_runs(&w, p);
    json_put_array(&w, "stacks");
    for (size_t i = 0; i < p->n_stacks; i++)
        json_put_text(&w, NULL, p->stacks[i]);
    json_end_array(&w);
    json_put_array(&w, "notes");
    for (size_t i = 0; i < p->n_notes; i++)
        json_put_text(&w, NULL, p->notes[i]);
    json_end_array(&w);
    json_end_object(&w);
}
