/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Finds settings and cases, which differ by their texts; ranks them by winner.h; says the result in sentences. */
#include "report/rows/verdict.h"

#include "base/array.h"
#include "base/shown.h"
#include "base/units.h"
#include "report/rows/partial_recording.h"
#include "report/rows/row_keys.h"
#include "report/rows/winner.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings and cases ---- */

static const char *const setting_columns[] = { "policy", "start", "on_oom", "releases", "version" };
static const char *const trace_columns[] = { "trace_path", "trace_digest", "format", "gpu" };
enum { N_SETTING_COLUMNS = sizeof setting_columns / sizeof setting_columns[0],
       N_TRACE_COLUMNS = sizeof trace_columns / sizeof trace_columns[0] };

/* A value that one source lacks does not tell two runs apart: a replay's JSON has no digest, and a
 * report may read it together with a database. */
static bool is_same_cell(const struct field *a, const struct field *b)
{
    if (a->kind == FIELD_NULL || b->kind == FIELD_NULL)
        return true;
    return a->kind == b->kind && a->number == b->number && (a->kind != FIELD_TEXT || strcmp(a->text, b->text) == 0);
}

static bool is_same(const struct run_table *t, size_t a, size_t b, const char *const columns[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_same_cell(run_table_cell(t, a, columns[i]), run_table_cell(t, b, columns[i])))
            return false;
    return true;
}

bool verdict_is_same_trace(const struct run_table *t, size_t a, size_t b)
{
    return is_same(t, a, b, trace_columns, N_TRACE_COLUMNS);
}

/* The device as typed, if that is known: it is the same for traces that were recorded on different cards. */
static const char *device_of(const struct run_table *t, size_t row)
{
    const char *typed = run_table_text(t, row, "device_typed");
    return typed[0] != '\0' ? typed : run_table_text(t, row, "device");
}

static bool is_same_device(const struct run_table *t, size_t a, size_t b)
{
    return strcmp(device_of(t, a), device_of(t, b)) == 0;
}

/* What was found for cells that were seen before, so that a table of many runs is not compared row by row. */
struct seen {
    struct row_keys keys;
    uint32_t *found;                 /* by number of the key */
    size_t    room;
};

static void seen_close(struct seen *s)
{
    row_keys_close(&s->keys);
    free(s->found);
}

/* The number of the key that was written; *is_new says whether it is seen for the first time, and then the caller sets
 * s->found of it. UINT32_MAX without memory. */
static uint32_t seen_key(struct seen *s, bool *is_new)
{
    const uint32_t n_before = s->keys.texts.n, number = row_keys_number(&s->keys);
    uint32_t *found = number == UINT32_MAX ? NULL : array_grow(s->found, n_before, &s->room, sizeof *found);
    if (found == NULL)
        return UINT32_MAX;
    s->found = found;
    *is_new = s->keys.texts.n > n_before;
    return number;
}

/* Whether a column is null in some rows only. Then equal keys are not all that is the same (is_same_cell). */
static bool has_mixed_nulls(const struct run_table *t, const char *const columns[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t n_nulls = 0;
        for (size_t row = 0; row < t->n_rows; row++)
            n_nulls += run_table_cell(t, row, columns[i])->kind == FIELD_NULL;
        if (n_nulls > 0 && n_nulls < t->n_rows)
            return true;
    }
    return false;
}

/* More settings or cases than this are told apart by their keys alone. */
enum { COMPARED_MAX = 2048 };

/* Settings or cases that are compared one by one, because a column is null in some rows only. */
struct compared {
    bool      is_needed;
    uint32_t *cells;                 /* of each, n_cells: equal values have equal numbers; 0: null */
    size_t    n_cells;
};

/* `n_more`: cells of each beside those of the columns. False without memory. */
static bool compared_open(struct compared *c, const struct run_table *t, const char *const columns[], size_t n,
                          size_t n_more)
{
    const size_t n_most = t->n_rows <= COMPARED_MAX ? t->n_rows : COMPARED_MAX + 1;
    *c = (struct compared){ .is_needed = has_mixed_nulls(t, columns, n), .n_cells = n + n_more };
    if (c->is_needed)
        c->cells = calloc(n_most * c->n_cells, sizeof *c->cells);
    return !c->is_needed || c->cells != NULL;
}

static bool are_alike(const uint32_t *a, const uint32_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i] && a[i] != 0 && b[i] != 0)
            return false;
    return true;
}

/* What finding a row's setting and case needs. */
struct finder {
    struct verdict *v;
    struct seen settings, cases, traces, devices;
    struct compared compared_settings, compared_cases;       /* a case's last cell is its device */
    struct row_keys values;                                  /* numbers the cells of both */
};

/* The numbers of a row's cells, as in struct compared. False without memory. */
static bool number_cells(struct finder *f, size_t row, const char *const columns[], size_t n, uint32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        const bool is_null = run_table_cell(f->v->table, row, columns[i])->kind == FIELD_NULL;
        row_keys_put(&f->values, f->v->table, row, &columns[i], 1);
        const uint32_t number = row_keys_number(&f->values);
        if (number == UINT32_MAX)
            return false;
        out[i] = is_null ? 0 : number + 1;
    }
    return true;
}

/* The setting of a row whose key is new; UINT32_MAX without memory. */
static uint32_t find_setting(struct finder *f, size_t row)
{
    enum { N = N_SETTING_COLUMNS };
    struct verdict *v = f->v;
    uint32_t cells[N], *all = f->compared_settings.cells;
    const bool is_compared = f->compared_settings.is_needed && v->n_settings <= COMPARED_MAX;
    if (is_compared && !number_cells(f, row, setting_columns, N, cells))
        return UINT32_MAX;
    for (size_t i = 0; is_compared && i < v->n_settings; i++)
        if (are_alike(&all[i * N], cells, N))
            return (uint32_t)i;
    const unsigned n_changed = policy_text_changes(run_table_text(v->table, row, "policy"));
    if (n_changed == UINT_MAX)
        return UINT32_MAX;
    if (is_compared)
        memcpy(&all[v->n_settings * N], cells, sizeof cells);
    v->settings[v->n_settings] = (struct verdict_setting){
        .first_row = row, .is_default = policy_text_is_default(run_table_text(v->table, row, "policy")),
        .n_changed = n_changed,
    };
    return (uint32_t)v->n_settings++;
}

/* The case of a row whose key is new; so may be those of its trace and its device alone. UINT32_MAX without memory. */
static uint32_t find_case(struct finder *f, size_t row, bool is_new_trace, bool is_new_device, uint32_t device)
{
    enum { N = N_TRACE_COLUMNS + 1 };
    struct verdict *v = f->v;
    uint32_t cells[N], *all = f->compared_cases.cells;
    const bool is_compared = f->compared_cases.is_needed && v->n_cases <= COMPARED_MAX;
    if (is_compared && !number_cells(f, row, trace_columns, N_TRACE_COLUMNS, cells))
        return UINT32_MAX;
    cells[N_TRACE_COLUMNS] = device;
    for (size_t i = v->n_cases; is_compared && i-- > 0;) {
        const bool is_trace = are_alike(&all[i * N], cells, N_TRACE_COLUMNS);
        if (is_trace && all[i * N + N_TRACE_COLUMNS] == device)
            return (uint32_t)i;
        is_new_trace = is_new_trace && !is_trace;
    }
    if (is_compared)
        memcpy(&all[v->n_cases * N], cells, sizeof cells);
    v->n_traces += is_new_trace;
    v->n_devices += is_new_device;
    v->cases[v->n_cases] = (struct verdict_case){ .first_row = row, .best_row = VERDICT_NONE };
    return (uint32_t)v->n_cases++;
}

/* Finds the setting of a row; false without memory. */
static bool place_setting(struct finder *f, size_t row)
{
    bool is_new = false;
    row_keys_put(&f->settings.keys, f->v->table, row, setting_columns, N_SETTING_COLUMNS);
    const uint32_t key = seen_key(&f->settings, &is_new);
    if (key == UINT32_MAX)
        return false;
    if (is_new)
        f->settings.found[key] = find_setting(f, row);
    f->v->setting_of[row] = f->settings.found[key];
    return f->settings.found[key] != UINT32_MAX;
}

static bool place_case(struct finder *f, size_t row)
{
    const struct run_table *t = f->v->table;
    bool is_new = false, is_new_trace = false, is_new_device = false;
    row_keys_put(&f->traces.keys, t, row, trace_columns, N_TRACE_COLUMNS);
    row_keys_put(&f->cases.keys, t, row, trace_columns, N_TRACE_COLUMNS);
    fputs(device_of(t, row), f->cases.keys.key.file);
    fputs(device_of(t, row), f->devices.keys.key.file);
    const uint32_t key = seen_key(&f->cases, &is_new), trace = seen_key(&f->traces, &is_new_trace),
                   device = seen_key(&f->devices, &is_new_device);
    if (key == UINT32_MAX || trace == UINT32_MAX || device == UINT32_MAX)
        return false;
    if (is_new)
        f->cases.found[key] = find_case(f, row, is_new_trace, is_new_device, device);
    f->v->case_of[row] = f->cases.found[key];
    return f->cases.found[key] != UINT32_MAX;
}

static bool finder_open(struct finder *f, struct verdict *v)
{
    const struct run_table *t = v->table;
    *f = (struct finder){ .v = v };
    return row_keys_open(&f->settings.keys) && row_keys_open(&f->cases.keys) && row_keys_open(&f->traces.keys) &&
           row_keys_open(&f->devices.keys) && row_keys_open(&f->values) &&
           compared_open(&f->compared_settings, t, setting_columns, N_SETTING_COLUMNS, 0) &&
           compared_open(&f->compared_cases, t, trace_columns, N_TRACE_COLUMNS, 1);
}

static void finder_close(struct finder *f)
{
    seen_close(&f->settings);
    seen_close(&f->cases);
    seen_close(&f->traces);
    seen_close(&f->devices);
    row_keys_close(&f->values);
    free(f->compared_settings.cells);
    free(f->compared_cases.cells);
}

/* Whether settings differ in a column. If they do, their labels name it. */
static bool does_vary(const struct verdict *v, size_t column)
{
    const char *name = setting_columns[column];
    for (size_t i = 1; i < v->n_settings; i++)
        if (!is_same_cell(run_table_cell(v->table, v->settings[0].first_row, name),
                          run_table_cell(v->table, v->settings[i].first_row, name)))
            return true;
    return false;
}

/* A copy of a label that may be printed anywhere. */
static char *label_copy(const struct words *w)
{
    char *label = strdup(w->text);
    if (label != NULL)
        shown_clean(label, false);
    return label;
}

static bool label_setting(const struct verdict *v, struct verdict_setting *s, const bool varies[N_SETTING_COLUMNS])
{
    struct words w = { .n = 0 };
    for (size_t i = 0; i < N_SETTING_COLUMNS; i++) {
        const struct field *f = run_table_cell(v->table, s->first_row, setting_columns[i]);
        if (i > 0 && !varies[i])
            continue;
        if (i > 0)
            words_add(&w, ", %s ", setting_columns[i]);
        if (f->kind == FIELD_NUMBER)
            words_add(&w, "%" PRId64, f->number);
        else
            words_add(&w, "%s", f->kind == FIELD_TEXT ? f->text : "unknown");
    }
    return (s->label = label_copy(&w)) != NULL;
}

static bool label_case(const struct verdict *v, struct verdict_case *c)
{
    struct words w = { .n = 0 };
    if (v->n_traces > 1 || v->n_devices == 1)
        words_add(&w, "%s", run_table_text(v->table, c->first_row, "trace_path"));
    if (v->n_devices > 1)
        words_add(&w, "%s%s", v->n_traces > 1 ? " on " : "", device_of(v->table, c->first_row));
    return (c->label = label_copy(&w)) != NULL;
}

static bool label_all(struct verdict *v)
{
    bool varies[N_SETTING_COLUMNS], is_done = true;
    for (size_t i = 0; i < N_SETTING_COLUMNS; i++)
        varies[i] = does_vary(v, i);
    for (size_t i = 0; i < v->n_settings && is_done; i++)
        is_done = label_setting(v, &v->settings[i], varies);
    for (size_t i = 0; i < v->n_cases && is_done; i++)
        is_done = label_case(v, &v->cases[i]);
    return is_done;
}

/* ---- who wins ---- */

bool verdict_is_ok(const struct run_table *t, size_t row)
{
    return strcmp(run_table_text(t, row, "outcome"), "ok") == 0;
}

bool verdict_is_default(const struct verdict *v, size_t row)
{
    return v->settings[v->setting_of[row]].is_default;
}

static uint64_t row_reserved(const struct run_table *t, size_t row)
{
    return (uint64_t)run_table_number(t, row, "peak_reserved_bytes");
}

/* What the run takes of the card. Results of older versions do not say it; reserved memory stands for it there. */
static uint64_t row_bytes(const struct run_table *t, size_t row)
{
    const struct field *f = run_table_cell(t, row, "card_peak_bytes");
    return f->kind == FIELD_NUMBER ? (uint64_t)f->number : row_reserved(t, row);
}

static uint64_t row_card(const struct run_table *t, size_t row)
{
    const struct field *f = run_table_cell(t, row, "capacity_bytes");
    return f->kind == FIELD_NUMBER ? (uint64_t)f->number : UINT64_MAX;
}

static uint64_t row_time(const struct run_table *t, size_t row)
{
    return (uint64_t)run_table_number(t, row, "device_time_ns");
}

static struct simplicity simplicity_of(const struct verdict_setting *s)
{
    return (struct simplicity){ .is_default = s->is_default, .typed = s->label,
                                .n_changed = s->own_order > 0 ? s->own_order - 1 : s->n_changed,
                                .own_order = s->own_order };
}

static struct contender contender_of(const struct verdict *v, size_t row)
{
    const struct run_table *t = v->table;
    const struct verdict_setting *s = &v->settings[v->setting_of[row]];
    const double reserved = (double)row_reserved(t, row);
    struct contender c = {
        .setting = simplicity_of(s),
        .label   = s->label,
        .is_ok   = verdict_is_ok(t, row),
        .is_oom  = strcmp(run_table_text(t, row, "outcome"), "oom") == 0,
        .bytes   = row_bytes(t, row),
        .card_bytes = row_card(t, row),
        .time_ns = row_time(t, row),
        .calls   = (uint64_t)run_table_number(t, row, "device_calls"),
        .in_use_percent = reserved > 0 ? 100 * (double)run_table_number(t, row, "peak_active_bytes") / reserved : 100,
    };
    simplicity_take_own(&c.setting, run_table_text(t, row, "policy"), run_table_text(t, row, "trace_source"));
    return c;
}

static struct contender_over_cases over_cases(const struct verdict_setting *s)
{
    return (struct contender_over_cases){ simplicity_of(s), s->n_ok, s->mean_score, s->mean_margin };
}

static int compare_settings(const struct verdict_setting *a, const struct verdict_setting *b)
{
    const struct contender_over_cases x = over_cases(a), y = over_cases(b);
    return winner_compare_over_cases(&x, &y);
}

static void count_row(struct verdict *v, size_t row)
{
    const struct run_table *t = v->table;
    struct verdict_setting *s = &v->settings[v->setting_of[row]];
    struct verdict_case *here = &v->cases[v->case_of[row]];
    const bool is_ok = verdict_is_ok(t, row);
    const double requested = (double)run_table_number(t, row, "peak_requested_bytes");
    const struct contender c = contender_of(v, row);
    s->own_order = s->n_runs == 0 || s->own_order > 0 ? c.setting.own_order : 0;
    s->n_runs++;
    here->n_runs++;
    s->n_oom += strcmp(run_table_text(t, row, "outcome"), "oom") == 0;
    if (!is_ok)
        return;
    const uint64_t score = contender_score(&c, t->price_bytes_per_ms);
    const double share = requested > 0 ? (double)row_bytes(t, row) / requested : 1;
    const double score_share = requested > 0 ? (double)score / requested : 1;
    const double margin = (double)winner_margin(row_card(t, row), score) / (requested > 0 ? requested : 1);
    s->n_ok++;
    s->mean_share += (share - s->mean_share) / (double)s->n_ok;
    s->mean_score += (score_share - s->mean_score) / (double)s->n_ok;
    s->mean_margin += (margin - s->mean_margin) / (double)s->n_ok;
    s->worst_share = share > s->worst_share ? share : s->worst_share;
    s->most_bytes = row_bytes(t, row) > s->most_bytes ? row_bytes(t, row) : s->most_bytes;
    s->time_ns += row_time(t, row);
    s->calls += (uint64_t)run_table_number(t, row, "device_calls");
    here->n_ok++;
}

/* A row or a setting to be sorted. */
struct sorted {
    const struct verdict *v;
    uint32_t at;
};

/* Rows by case, then best first. */
static int compare_rows(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    const uint32_t case_x = x->v->case_of[x->at], case_y = x->v->case_of[y->at];
    if (case_x != case_y)
        return case_x < case_y ? -1 : 1;
    const struct contender *all = x->v->contenders;
    const int by_rule = winner_compare(&all[x->at], &all[y->at], x->v->table->price_bytes_per_ms);
    return by_rule != 0 ? by_rule : (x->at > y->at) - (x->at < y->at);
}

static int compare_sorted_settings(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    const int by_rule = compare_settings(&x->v->settings[x->at], &x->v->settings[y->at]);
    return by_rule != 0 ? by_rule : (x->at > y->at) - (x->at < y->at);
}

/* Sorts the numbers 0 to n-1 by what they stand for. False without memory. */
static bool sort_numbers(const struct verdict *v, size_t n, int (*compare)(const void *, const void *), uint32_t *out)
{
    struct sorted *all = calloc(n + 1, sizeof *all);
    if (all == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        all[i] = (struct sorted){ v, (uint32_t)i };
    qsort(all, n, sizeof *all, compare);
    for (size_t i = 0; i < n; i++)
        out[i] = all[i].at;
    free(all);
    return true;
}

/* Moves the number at `from` to the front of those before it. */
static void put_first(uint32_t *numbers, size_t from)
{
    const uint32_t first = numbers[from];
    memmove(numbers + 1, numbers, from * sizeof *numbers);
    numbers[0] = first;
}

/* Of the n rows of a case, sorted, puts the winner first. */
static void rank_case(struct verdict *v, uint32_t *rows, size_t n)
{
    const uint64_t price = v->table->price_bytes_per_ms;
    const struct contender *all = v->contenders;
    size_t best = 0;
    if (!all[rows[0]].is_ok)
        return;
    for (size_t i = 1; i < n && winner_is_alike(&all[rows[i]], &all[rows[0]], price); i++)
        if (winner_is_simpler(&all[rows[i]], &all[rows[best]], price))
            best = i;
    v->cases[v->case_of[rows[0]]].best_row = rows[best];
    put_first(rows, best);
}

static void rank_cases(struct verdict *v)
{
    size_t n;
    for (size_t i = 0; i < v->table->n_rows; i += n) {
        uint32_t *rows = &v->rows_best_first[i];
        for (n = 1; i + n < v->table->n_rows && v->case_of[rows[n]] == v->case_of[rows[0]]; n++)
            ;
        rank_case(v, rows, n);
    }
}

/* Of the sorted settings puts the winner first. False without memory. */
static bool rank_settings(struct verdict *v)
{
    struct contender_over_cases *all = calloc(v->n_settings + 1, sizeof *all);
    v->best_setting = VERDICT_NONE;
    if (all == NULL || v->n_settings == 0) {
        free(all);
        return all != NULL;
    }
    for (size_t i = 0; i < v->n_settings; i++)
        all[i] = over_cases(&v->settings[v->settings_best_first[i]]);
    put_first(v->settings_best_first, winner_over_cases(all, v->n_settings, &v->n_alike_settings));
    free(all);
    if (v->settings[v->settings_best_first[0]].n_ok > 0)
        v->best_setting = v->settings_best_first[0];
    return true;
}

/* Sorts rows and settings, and finds the winners. */
static bool rank_all(struct verdict *v)
{
    for (size_t row = 0; row < v->table->n_rows; row++)
        v->contenders[row] = contender_of(v, row);
    if (!sort_numbers(v, v->table->n_rows, compare_rows, v->rows_best_first) ||
        !sort_numbers(v, v->n_settings, compare_sorted_settings, v->settings_best_first))
        return false;
    rank_cases(v);
    return rank_settings(v);
}

/* Cases that no setting gets through count for and against nobody. */
static void count_possible(struct verdict *v)
{
    for (size_t i = 0; i < v->n_cases; i++)
        v->n_possible_cases += v->cases[i].n_ok > 0;
    for (size_t row = 0; row < v->table->n_rows; row++)
        v->settings[v->setting_of[row]].n_possible += v->cases[v->case_of[row]].n_ok > 0;
}

enum err verdict_open(const struct run_table *t, struct verdict *out)
{
    const size_t n = t->n_rows + 1;
    struct verdict v = { .table = t, .settings = calloc(n, sizeof *v.settings), .cases = calloc(n, sizeof *v.cases),
                         .setting_of = calloc(n, sizeof *v.setting_of), .case_of = calloc(n, sizeof *v.case_of),
                         .contenders = calloc(n, sizeof *v.contenders),
                         .rows_best_first = calloc(n, sizeof *v.rows_best_first),
                         .settings_best_first = calloc(n, sizeof *v.settings_best_first) };
    struct finder f;
    bool is_done = finder_open(&f, &v) && v.settings != NULL && v.cases != NULL && v.setting_of != NULL &&
                   v.case_of != NULL && v.contenders != NULL && v.rows_best_first != NULL &&
                   v.settings_best_first != NULL;
    for (size_t row = 0; row < t->n_rows && is_done; row++) {
        is_done = place_setting(&f, row) && place_case(&f, row);
        if (is_done)
            count_row(&v, row);
    }
    finder_close(&f);
    if (!is_done || !label_all(&v) || !rank_all(&v)) {
        verdict_close(&v);
        return ERR_HOST_NOMEM;
    }
    count_possible(&v);
    *out = v;
    return ERR_OK;
}

void verdict_close(struct verdict *v)
{
    for (size_t i = 0; v->settings != NULL && i < v->n_settings; i++)
        free(v->settings[i].label);
    for (size_t i = 0; v->cases != NULL && i < v->n_cases; i++)
        free(v->cases[i].label);
    free(v->settings);
    free(v->cases);
    free(v->setting_of);
    free(v->case_of);
    free(v->contenders);
    free(v->rows_best_first);
    free(v->settings_best_first);
    *v = (struct verdict){ .table = NULL };
}

/* ---- in words ---- */

enum { OTHERS_NAMED = 4, DEVICES_NAMED = 4 };

static void say_winner_of_case(const struct verdict *v, struct words *w)
{
    const size_t best = v->cases[0].best_row;
    if (best == VERDICT_NONE)
        words_add(w, "No policy got through this trace on this card.");
    else
        winner_say(w, v->contenders, v->table->n_rows, v->table->price_bytes_per_ms, OTHERS_NAMED);
}

/* What the cases are. */
static const char *cases_word(const struct verdict *v)
{
    return v->n_devices == 1 ? "traces" : v->n_traces == 1 ? "cards" : "cases (a trace on a card)";
}

/* "gets through 40 of the 41 traces that any setting gets through (nothing fits 2 more)" */
static void add_cases(struct words *w, const struct verdict *v, const struct verdict_setting *s)
{
    const size_t n_impossible = v->n_cases - v->n_possible_cases;
    words_add(w, "gets through %" PRIu64 " of ", s->n_ok);
    if (n_impossible == 0)
        words_add(w, "%" PRIu64 " %s", s->n_possible, cases_word(v));
    else
        words_add(w, "the %" PRIu64 " %s that any setting gets through (nothing fits %zu more)", s->n_possible,
                  cases_word(v), n_impossible);
}

static void say_winner_of_cases(const struct verdict *v, struct words *w)
{
    char n[TEXT_NUMBER], time[TEXT_NUMBER], a[UNITS_TEXT];
    if (v->best_setting == VERDICT_NONE) {
        words_add(w, "No setting got through any of the %zu %s.", v->n_cases, cases_word(v));
        return;
    }
    const struct verdict_setting *s = &v->settings[v->best_setting];
    words_add(w, "%s %s: it ", s->label, v->n_settings == 1 ? "is the only setting" : v->n_alike_settings > 1
              ? "does as well as any over all" : "does best over all");
    add_cases(w, v, s);
    words_add(w, ". There it takes ");
    if (v->n_traces == 1)
        words_add(w, "%s of the card at most, ", units_format_bytes(s->most_bytes, a));
    words_add(w, "%.2f times what is requested (the mean of peaks of the card; worst %.2f)", s->mean_share,
              s->worst_share);
    words_add(w, ", at the cost of %s driver calls in all, about %s", text_count(s->calls, n),
              text_time(s->time_ns, time));
    if (v->n_settings > 1) {
        words_add(w, "; where settings compare, ");
        winner_say_price(w, v->table->price_bytes_per_ms);
    }
    words_add(w, ".");
    if (v->n_alike_settings > 1)
        words_add(w, " %zu of %zu settings are alike: on average they differ by less than 2%% of the card, and the "
                  "simplest is named.", v->n_alike_settings, v->n_settings);
}

/* ---- ranks of one job ---- */

/* Whether all cases are ranks of one job, on cards of one kind. */
static bool is_of_ranks(const struct verdict *v)
{
    const struct run_table *t = v->table;
    const struct field *first = run_table_cell(t, 0, "job");
    bool is_one_job = v->n_cases > 1 && v->n_devices == 1 && first->kind == FIELD_TEXT;
    for (size_t i = 1; i < v->n_cases && is_one_job; i++) {
        const struct field *job = run_table_cell(t, v->cases[i].first_row, "job");
        is_one_job = job->kind == FIELD_TEXT && strcmp(job->text, first->text) == 0;
    }
    return is_one_job;
}

/* The settings that ranks are compared under: PyTorch as it comes, or else the best. */
static size_t setting_of_ranks(const struct verdict *v)
{
    for (size_t i = 0; i < v->n_settings; i++)
        if (v->settings[i].is_default)
            return i;
    return v->best_setting;
}

/* The least and the most that ranks reserve under a setting, as rows, and of live data in bytes. */
struct rank_extremes {
    size_t  worst, least;            /* VERDICT_NONE: no run has the setting */
    int64_t live_most, live_least;
};

static struct rank_extremes extremes_of_ranks(const struct verdict *v, size_t setting)
{
    const struct run_table *t = v->table;
    struct rank_extremes x = { VERDICT_NONE, VERDICT_NONE, 0, INT64_MAX };
    for (size_t row = 0; row < t->n_rows; row++) {
        if (v->setting_of[row] != setting)
            continue;
        const int64_t live = run_table_number(t, row, "trace_peak_requested_bytes");
        if (x.worst == VERDICT_NONE || row_reserved(t, row) > row_reserved(t, x.worst))
            x.worst = row;
        if (x.least == VERDICT_NONE || row_reserved(t, row) < row_reserved(t, x.least))
            x.least = row;
        x.live_most = live > x.live_most ? live : x.live_most;
        x.live_least = live < x.live_least ? live : x.live_least;
    }
    return x;
}

size_t verdict_worst_rank(const struct verdict *v, size_t *setting)
{
    *setting = is_of_ranks(v) ? setting_of_ranks(v) : VERDICT_NONE;
    const size_t row = *setting == VERDICT_NONE ? VERDICT_NONE : extremes_of_ranks(v, *setting).worst;
    return row == VERDICT_NONE ? VERDICT_NONE : v->case_of[row];
}

size_t verdict_least_rank(const struct verdict *v)
{
    const size_t setting = is_of_ranks(v) ? setting_of_ranks(v) : VERDICT_NONE;
    const size_t row = setting == VERDICT_NONE ? VERDICT_NONE : extremes_of_ranks(v, setting).least;
    return row == VERDICT_NONE ? VERDICT_NONE : v->case_of[row];
}

/* The answer of `replay FOLDER`, as far as runs tell it. */
static void say_ranks(const struct verdict *v, struct words *w)
{
    char reserved[TEXT_NUMBER], apart[TEXT_NUMBER], live[TEXT_NUMBER];
    size_t setting;
    if (verdict_worst_rank(v, &setting) == VERDICT_NONE)
        return;
    const struct rank_extremes x = extremes_of_ranks(v, setting);
    const uint64_t most = row_reserved(v->table, x.worst), spread = most - row_reserved(v->table, x.least);
    words_add(w, "The worst is rank %" PRId64 ": %s reserved under %s%s.", run_table_number(v->table, x.worst, "rank"),
              text_mib(most, reserved), v->settings[setting].label,
              verdict_is_ok(v->table, x.worst) ? "" : ", and a request was refused");
    if (spread == 0 && x.live_most == x.live_least)
        words_add(w, " The %zu ranks take the same.", v->n_cases);
    else
        words_add(w, " The %zu ranks lie %s apart (%.1f%% of the worst), their live data %s.", v->n_cases,
                  text_mib(spread, apart), most > 0 ? 100 * (double)spread / (double)most : 0,
                  text_mib((uint64_t)(x.live_most - x.live_least), live));
}

/* What the winner's memory was spent on. A table does not tell whether a run of PyTorch's had expandable segments. */
static void say_losses(const struct verdict *v, struct words *w)
{
    const struct run_table *t = v->table;
    const size_t best = v->cases[0].best_row;
    words_add_losses(w, &(struct losses){
        .reserved       = (uint64_t)run_table_number(t, best, "at_peak_reserved_bytes"),
        .requested      = (uint64_t)run_table_number(t, best, "at_peak_requested_bytes"),
        .internal       = run_table_number(t, best, "fragmentation_internal_bytes"),
        .external       = (uint64_t)run_table_number(t, best, "fragmentation_external_bytes"),
        .inactive_split = (uint64_t)run_table_number(t, best, "fragmentation_inactive_split_bytes"),
        .has_ranges     = policy_text_is_pytorch(run_table_text(t, best, "policy")),
    });
}

/* The offline plan of the trace, or a run that served all and only ever took segments, if that needs less: its
 * segments, one after the other, are a plan, too. */
static uint64_t least_plan_bytes(const struct run_table *t)
{
    uint64_t least = (uint64_t)run_table_number(t, 0, "trace_offline_plan_bytes");
    for (size_t row = 0; row < t->n_rows; row++) {
        const bool is_plan = verdict_is_ok(t, row) && run_table_number(t, row, "oom_count") == 0 &&
                             run_table_number(t, row, "segments_allocs") > 0 &&
                             run_table_number(t, row, "device_calls") == run_table_number(t, row, "segments_allocs");
        if (is_plan && row_reserved(t, row) < least)
            least = row_reserved(t, row);
    }
    return least;
}

/* What any allocator could do, if all runs are of one trace. */
static void say_possible(const struct verdict *v, struct words *w)
{
    const struct run_table *t = v->table;
    const int64_t live = run_table_number(t, 0, "trace_live_peak_bytes");
    const size_t best = v->n_cases == 1 ? v->cases[0].best_row : VERDICT_NONE;
    if (v->n_traces > 1 || live <= 0)
        return;
    const bool is_compared = best != VERDICT_NONE && row_reserved(t, best) >= (uint64_t)live;
    words_add_possible(w, (uint64_t)live, (uint64_t)run_table_number(t, 0, "trace_peak_requested_bytes"),
                       least_plan_bytes(t),
                       is_compared ? v->settings[v->setting_of[best]].label : NULL,
                       is_compared ? row_reserved(t, best) : 0);
}

/* Compares the winner with the default, if that was run, or else with the worst setting. */
static void say_other_end(const struct verdict *v, struct words *w)
{
    const struct verdict_setting *other = NULL, *best = &v->settings[v->best_setting];
    for (size_t i = 0; i < v->n_settings; i++) {
        const struct verdict_setting *s = &v->settings[i];
        if (s != best && (other == NULL || s->is_default || (!other->is_default && compare_settings(other, s) < 0)))
            other = s;
    }
    if (other == NULL)
        return;
    words_add(w, "%s %s ", other->is_default ? "PyTorch as it comes:" : "At the other end,", other->label);
    add_cases(w, v, other);
    if (other->n_ok > 0)
        words_add(w, " and there takes %.2f times what is requested", other->mean_share);
    words_add(w, ".");
}

/* Out of memory on a device: "sim:2GiB 32 of 320". */
static void add_ooms_of_device(const struct verdict *v, size_t first_row, struct words *w)
{
    const struct run_table *t = v->table;
    uint64_t n_oom = 0, n = 0;
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    for (size_t row = 0; row < t->n_rows; row++) {
        if (!is_same_device(t, row, first_row))
            continue;
        n++;
        n_oom += strcmp(run_table_text(t, row, "outcome"), "oom") == 0;
    }
    words_add(w, " %s of %s on %s", text_count(n_oom, a), text_count(n, b), device_of(t, first_row));
}

static void add_ooms_by_device(const struct verdict *v, struct words *w)
{
    size_t first_row[DEVICES_NAMED], n = 0;                  /* of each device */
    if (v->n_devices == 1 || v->n_devices > DEVICES_NAMED)
        return;
    for (size_t i = 0; i < v->n_cases && n < v->n_devices; i++) {
        bool is_first = true;
        for (size_t k = 0; k < n; k++)
            is_first = is_first && !is_same_device(v->table, first_row[k], v->cases[i].first_row);
        if (!is_first)
            continue;
        words_add(w, "%s", n == 0 ? ":" : ",");
        first_row[n++] = v->cases[i].first_row;
        add_ooms_of_device(v, first_row[n - 1], w);
    }
}

static uint64_t n_failed(const struct verdict_setting *s)
{
    return s->n_runs - s->n_ok - s->n_oom;
}

/* "2 of 4 runs failed: ./crash.so 2." */
static void say_failed(const struct verdict *v, uint64_t n, struct words *w)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    size_t n_named = 0;
    words_add(w, "%s of %s runs failed", text_count(n, a), text_count(v->table->n_rows, b));
    for (size_t i = 0; i < v->n_settings && n_named < OTHERS_NAMED; i++)
        if (n_failed(&v->settings[i]) > 0)
            words_add(w, "%s %s %s", n_named++ == 0 ? ":" : ",", v->settings[i].label,
                      text_count(n_failed(&v->settings[i]), a));
    words_add(w, ".");
}

static void say_ooms(const struct verdict *v, struct words *w)
{
    char n[TEXT_NUMBER], all[TEXT_NUMBER];
    uint64_t n_oom = 0, n_other = 0;
    for (size_t i = 0; i < v->n_settings; i++) {
        n_oom += v->settings[i].n_oom;
        n_other += n_failed(&v->settings[i]);
    }
    text_count(v->table->n_rows, all);
    if (n_oom > 0) {
        words_add(w, "%s of %s runs ran out of memory", text_count(n_oom, n), all);
        add_ooms_by_device(v, w);
        words_add(w, ".");
    }
    if (n_other > 0) {
        words_add(w, "%s", n_oom > 0 ? " " : "");
        say_failed(v, n_other, w);
    }
}

static bool is_lower_bound(const struct run_table *t, size_t row)
{
    return recording_is_partial(run_table_number(t, row, "trace_refusals") > 0,
                                run_table_text(t, row, "trace_begins"), run_table_text(t, row, "trace_ends"));
}

static void say_lower_bounds(const struct verdict *v, struct words *w)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_cases; i++)
        n += is_lower_bound(v->table, v->cases[i].first_row);
    if (n > 0 && v->n_traces == 1)
        words_add(w, "The recording %s: its figures are lower bounds. The program may need more.",
                  run_table_number(v->table, 0, "trace_refusals") > 0 ? "holds a refused request, and what would have "
                                                                        "followed it was not recorded"
                                                                      : "is cut");
    else if (n > 0)
        words_add(w, "In %zu of %zu %s the recording holds a refused request, or is cut: there the figures are lower "
                     "bounds. The program may need more.", n, v->n_cases, cases_word(v));
}

static void say_winner(const struct verdict *v, struct words *w)
{
    if (v->n_cases == 1)
        say_winner_of_case(v, w);
    else
        say_winner_of_cases(v, w);
}

static void say_beside_winner(const struct verdict *v, struct words *w)
{
    if (v->n_cases == 1 && v->cases[0].best_row != VERDICT_NONE)
        say_losses(v, w);
    else if (v->n_cases > 1 && v->best_setting != VERDICT_NONE)
        say_other_end(v, w);
}

bool verdict_sentence(const struct verdict *v, size_t i, struct words *out)
{
    static void (*const say[])(const struct verdict *, struct words *) = {
        say_ranks, say_winner, say_beside_winner, say_possible, say_ooms, say_lower_bounds,
    };
    *out = (struct words){ .n = 0 };
    if (i >= sizeof say / sizeof say[0])
        return false;
    say[i](v, out);
    return true;
}
