/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Compares; diff_text.c and diff_json.c write the result. */
#include "replay/diff/diff.h"

#include "base/torch_sizes.h"
#include "base/units.h"
#include "replay/results/result.h"
#include "replay/diff/diff_fields.h"
#include "report/rows/row_keys.h"
#include "traces/stack_frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *diff_step_name(enum steps_how how)
{
    return how == STEPS_BY_MARK ? "mark" : how == STEPS_BY_REPETITION ? "repetition" : "none";
}

const char *diff_class_name(unsigned class, char buf[64])
{
    const char *half = UINT64_C(1) << class <= TORCH_SMALL_MAX ? "small" : "large";
    char low[UNITS_TEXT], high[UNITS_TEXT];
    units_format_bytes(UINT64_C(1) << class, high);
    if (class <= 9)
        snprintf(buf, 64, "%s, up to %s", half, high);
    else
        snprintf(buf, 64, "%s, %s to %s", half, units_format_bytes(UINT64_C(1) << (class - 1), low), high);
    return buf;
}

/* ---- traces ---- */

static size_t fields_of_profile(const struct trace_info *info, const struct profile *p, struct field *out)
{
    struct field *to = out;
    *to++ = field_number("events", info->events);
    *to++ = field_number("requests", info->by_kind[EVENT_ALLOC]);
    *to++ = field_number("frees", info->by_kind[EVENT_FREE] + info->by_kind[EVENT_FREE_REQUESTED]);
    *to++ = field_number("flushes", info->by_kind[EVENT_FLUSH]);
    *to++ = field_number("ooms", info->by_kind[EVENT_OOM]);
    *to++ = field_number("streams", info->n_streams);
    *to++ = field_number("pools", info->n_pools);
    *to++ = field_number("start_requests", p->start_requests);
    *to++ = field_number("start_requested_bytes", p->start_bytes);
    *to++ = field_number("peak_requested_bytes", p->peak_bytes);
    *to++ = field_number("peak_requests", p->peak_requests);
    *to++ = field_number_unless("recorded_peak_reserved_bytes", info->recorded_peak_reserved_bytes, 0);
    *to++ = field_number_unless("recorded_end_reserved_bytes", info->recorded_end_reserved_bytes, 0);
    *to++ = field_number("duration_ns", info->duration_ns);
    *to++ = field_text("step_found_by", diff_step_name(p->step.found.how));
    *to++ = field_number("step_requests", p->step.requests);
    *to++ = field_number("step_requested_bytes", p->step.requested_bytes);
    *to++ = field_number("step_peak_requested_bytes", p->step.peak_bytes);
    *to++ = field_number("step_least_requested_bytes", p->step.least_bytes);
    *to++ = field_number("step_duration_ns", p->step.duration_ns);
    assert(to - out <= DIFF_TRACE_FIELDS);
    return (size_t)(to - out);
}

enum err diff_traces(struct diff *d, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (int i = 0; i < 2 && e == ERR_OK; i++) {
        e = profile_read(d->traces[i], (enum profile_side)i, &d->profiles, err);
        d->n_fields = fields_of_profile(trace_info(d->traces[i]), &d->profiles.of[i], d->fields[i]);
    }
    if (e == ERR_OK)
        e = joined_lines_open(&d->profiles.lines, &d->lines, err);
    return e == ERR_OK ? trace_difference_find(d->traces[0], d->traces[1], &d->trace_difference, err) : e;
}

enum err diff_name_event(struct trace_reader *trace, int64_t event, int64_t *number, char line[DIFF_LINE],
                         struct err_detail *err)
{
    struct trace_side side = {.stack = TRACE_NO_STACK};
    const char *const *frames = NULL;
    line[0] = '\0';
    enum err e = trace_event_number(trace, event, number, err);
    if (e == ERR_OK && event >= 0 && trace_info(trace)->n_stacks > 0)
        e = trace_side_at(trace, (uint64_t)event, &side, err);
    const size_t n = e == ERR_OK && side.stack != TRACE_NO_STACK ? trace_stack(trace, side.stack, &frames) : 0;
    const char *frame = stack_frame_of_program(frames, n);
    if (frame != NULL)
        snprintf(line, DIFF_LINE, "%s", frame);
    return e;
}

/* ---- rows by what they differ ---- */

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a < b ? b - a : a - b;
}

struct sorted_row {
    uint64_t peak, step;
    size_t   row;
};

static int sorted_order(const void *a, const void *b)
{
    const struct sorted_row *x = a, *y = b;
    if (x->peak != y->peak)
        return x->peak < y->peak ? 1 : -1;
    if (x->step != y->step)
        return x->step < y->step ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

size_t *diff_sort_rows(const struct profile_row *rows, size_t n, size_t *n_sorted)
{
    struct sorted_row *sorted = malloc((n + 1) * sizeof *sorted);
    size_t *out = malloc((n + 1) * sizeof *out);
    *n_sorted = 0;
    for (size_t i = 0; i < n && sorted != NULL; i++) {
        const struct profile_share *a = &rows[i].side[PROFILE_A], *b = &rows[i].side[PROFILE_B];
        const struct sorted_row r = {.peak = distance(a->peak_bytes, b->peak_bytes),
                                     .step = distance(a->step_bytes, b->step_bytes), .row = i};
        if (r.peak != 0 || r.step != 0 || a->peak_requests != b->peak_requests || a->step_requests != b->step_requests)
            sorted[(*n_sorted)++] = r;
    }
    if (*n_sorted > 0)
        qsort(sorted, *n_sorted, sizeof *sorted, sorted_order);
    for (size_t i = 0; i < *n_sorted && out != NULL; i++)
        out[i] = sorted[i].row;
    if (sorted == NULL) {
        free(out);
        out = NULL;
    }
    free(sorted);
    return out;
}

/* ---- runs ---- */

static size_t fields_of_row(const struct run_table *t, size_t row, struct field out[DIFF_RUN_FIELDS])
{
    size_t n = fields_of_trace(NULL, out), column = 0;
    n += fields_of_run(NULL, out + n);
    for (size_t i = 0; i < n; i++) {
        const char *name = out[i].name;
        column = run_table_column(t, name, column);          /* mostly the next one */
        assert(column < t->n_columns);
        out[i] = t->rows[row * t->n_columns + column++];
        out[i].name = name;
    }
    return n;
}

/* A plan is made where it is asked for, and always by sweep: one side without it is no difference. */
static void leave_plan(struct field *a, struct field *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(a[i].name, "trace_offline_plan_bytes") == 0 &&
            (a[i].kind == FIELD_NULL || b[i].kind == FIELD_NULL))
            a[i].kind = b[i].kind = FIELD_NULL;
}

size_t diff_match_fields(const struct diff *d, const struct diff_match *m, struct field a[DIFF_RUN_FIELDS],
                         struct field b[DIFF_RUN_FIELDS])
{
    const size_t n = fields_of_row(&d->tables[0], m->a, a);
    fields_of_row(&d->tables[1], m->b, b);
    leave_plan(a, b, n);
    return n;
}

static bool same_field(const struct diff *d, size_t a, size_t b, const char *name)
{
    return field_equals(run_table_cell(&d->tables[0], a, name), run_table_cell(&d->tables[1], b, name));
}

/* Rows of B without a partner, by their key: the first of each key, and the next of the same; + 1, 0: there is none. */
struct vacant_rows {
    size_t *first, *next;
    size_t  n_keys;
};

static bool vacant_open(struct vacant_rows *v, size_t n)
{
    *v = (struct vacant_rows){ .first = calloc(n + 1, sizeof *v->first), .next = calloc(n + 1, sizeof *v->next) };
    return v->first != NULL && v->next != NULL;
}

static void vacant_close(struct vacant_rows *v)
{
    free(v->first);
    free(v->next);
}

/* From the last row to the first, so that the first of a key is the one that is found. False without memory. */
static bool vacant_list(struct vacant_rows *v, struct row_keys *keys, const struct run_table *t,
                        const char *const *names, size_t n_names, const bool *is_taken)
{
    for (size_t k = t->n_rows; k-- > 0;) {
        if (is_taken[k])
            continue;
        row_keys_put(keys, t, k, names, n_names);
        const uint32_t key = row_keys_number(keys);
        if (key == UINT32_MAX)
            return false;
        v->next[k] = v->first[key];
        v->first[key] = k + 1;
    }
    v->n_keys = keys->texts.n;
    return true;
}

/* Gives each run without a partner the first row of B that has its key and none either. False without memory. */
static bool vacant_give(struct vacant_rows *v, struct row_keys *keys, struct diff *d, const char *const *names,
                        size_t n_names, bool *is_taken)
{
    for (size_t i = 0; i < d->n_matches; i++) {
        struct diff_match *m = &d->matches[i];
        if (m->b != SIZE_MAX)
            continue;
        row_keys_put(keys, &d->tables[0], m->a, names, n_names);
        const uint32_t key = row_keys_number(keys);
        if (key == UINT32_MAX)
            return false;
        if (key >= v->n_keys || v->first[key] == 0)
            continue;
        m->b = v->first[key] - 1;
        v->first[key] = v->next[m->b];
        is_taken[m->b] = true;
    }
    return true;
}

/* Pairs runs that have no partner yet and are equal in these fields. False without memory. */
static bool match_by(struct diff *d, const char *const *names, size_t n_names, bool *is_taken)
{
    struct row_keys keys;
    struct vacant_rows v = { .first = NULL };
    const bool is_done = row_keys_open(&keys) && vacant_open(&v, d->tables[1].n_rows) &&
                         vacant_list(&v, &keys, &d->tables[1], names, n_names, is_taken) &&
                         vacant_give(&v, &keys, d, names, n_names, is_taken);
    vacant_close(&v);
    row_keys_close(&keys);
    return is_done;
}

/* The partner of the only run without one; NULL if there is no such run, or several. */
static size_t *only_vacant(struct diff *d)
{
    size_t *found = NULL, n = 0;
    for (size_t i = 0; i < d->n_matches; i++)
        if (d->matches[i].b == SIZE_MAX) {
            found = &d->matches[i].b;
            n++;
        }
    return n == 1 ? found : NULL;
}

enum err diff_match_runs(struct diff *d, struct err_detail *err)
{
    static const char *const names[] = {"copy_seed", "policy", "device", "trace_path"};
    const size_t n_a = d->tables[0].n_rows, n_b = d->tables[1].n_rows;
    bool *is_taken = calloc(n_b + 1, sizeof *is_taken);
    d->matches = calloc(n_a + n_b + 1, sizeof *d->matches);
    if (is_taken == NULL || d->matches == NULL) {
        free(is_taken);
        return err_no_memory(err);
    }
    for (size_t i = 0; i < n_a; i++)
        d->matches[d->n_matches++] = (struct diff_match){.a = i, .b = SIZE_MAX};
    if (!match_by(d, names, 4, is_taken) || !match_by(d, names, 3, is_taken)) {
        free(is_taken);
        return err_no_memory(err);
    }
    size_t left = 0, last = 0, *vacant = only_vacant(d);
    for (size_t k = 0; k < n_b; k++)
        if (!is_taken[k]) {
            left++;
            last = k;
        }
    if (left == 1 && vacant != NULL) {
        *vacant = last;
        is_taken[last] = true;
    }
    for (size_t k = 0; k < n_b; k++)
        if (!is_taken[k])
            d->matches[d->n_matches++] = (struct diff_match){.a = SIZE_MAX, .b = k};
    assert(d->n_matches <= n_a + n_b);
    free(is_taken);
    return ERR_OK;
}

bool diff_match_is_same(const struct diff *d, const struct diff_match *m)
{
    if (m->a == SIZE_MAX || m->b == SIZE_MAX)
        return false;
    struct field a[DIFF_RUN_FIELDS], b[DIFF_RUN_FIELDS];
    const size_t n = diff_match_fields(d, m, a, b);
    size_t names = 0;
    if (d->kind == DIFF_POLICIES)
        names += (size_t)!same_field(d, m->a, m->b, "policy") + (size_t)!same_field(d, m->a, m->b, "name");
    return diff_fields_count(a, b, n) == names;       /* the names of two policies are no difference */
}

bool diff_is_same(const struct diff *d)
{
    if (d->kind == DIFF_TRACES)
        return d->trace_difference.is_equal && d->profiles.of[0].start_requests == d->profiles.of[1].start_requests &&
               d->profiles.of[0].start_bytes == d->profiles.of[1].start_bytes;
    for (size_t i = 0; i < d->n_matches; i++)
        if (!diff_match_is_same(d, &d->matches[i]))
            return false;
    return !d->run_difference.is_placed_differently && !d->run_difference.calls_differ;
}

void diff_close(struct diff *d)
{
    joined_lines_close(&d->lines);
    profile_close(&d->profiles);
    run_difference_close(&d->run_difference);
    run_table_close(&d->tables[0]);
    run_table_close(&d->tables[1]);
    free(d->matches);
    d->matches = NULL;
}
