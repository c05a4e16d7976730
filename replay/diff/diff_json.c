/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Writes `replay diff` as JSON, schema "replay-diff/1"; report/SCHEMA.md says what each key means. */
#include "replay/diff/diff.h"

#include "base/torch_sizes.h"
#include "report/text/diff_fields.h"
#include "report/text/json_writer.h"

#include <stdlib.h>

static const char *const sides[2] = {"a", "b"};

/* ---- two traces ---- */

static enum err json_trace_difference(struct json_writer *w, const struct diff *d, struct err_detail *why)
{
    static const char *const kinds[EVENT_KINDS] = {"alloc", "free", "free_requested", "free_completed", "flush", "oom",
                                                   "command", "mark"};
    if (d->trace_difference.is_equal) {
        json_put_null(w, "first_difference");
        return ERR_OK;
    }
    json_put_object(w, "first_difference");
    json_put_number(w, "equal_events", d->trace_difference.event);
    enum err e = ERR_OK;
    for (int i = 0; i < 2 && e == ERR_OK; i++) {
        char line[DIFF_LINE];
        int64_t number;
        if (!d->trace_difference.has[i]) {
            json_put_null(w, sides[i]);
            continue;
        }
        e = diff_name_event(d->traces[i], (int64_t)d->trace_difference.event, &number, line, why);
        if (e != ERR_OK)
            return e;
        json_put_object(w, sides[i]);
        json_put_integer(w, "event", number);
        json_put_text(w, "kind", kinds[d->trace_difference.ev[i].kind]);
        json_put_number(w, "bytes", d->trace_difference.ev[i].bytes);
        json_put_number(w, "stream", d->trace_difference.ev[i].stream);
        json_put_number(w, "pool", d->trace_difference.ev[i].pool);
        json_put_text(w, "line", line[0] == '\0' ? NULL : line);
        json_end_object(w);
    }
    json_end_object(w);
    return e;
}

static void json_steps(struct json_writer *w, const struct diff *d)
{
    json_put_object(w, "steps");
    for (int i = 0; i < 2; i++) {
        const struct profile_step *s = &d->profiles.of[i].step;
        json_put_object(w, sides[i]);
        const struct steps *found = &s->found;
        const bool is_repeated = found->how == STEPS_BY_REPETITION;
        json_put_text(w, "found_by", diff_step_name(found->how));
        json_put_text(w, "mark", found->how == STEPS_BY_MARK ? trace_label(d->traces[i], found->label) : NULL);
        json_put_number(w, "requests", s->requests);
        json_put_number(w, "repeated_requests", is_repeated ? (found->whole - 1) * found->requests : 0);
        json_put_number(w, "whole", found->whole);
        json_put_number(w, "requested_bytes", s->requested_bytes);
        json_put_number(w, "peak_requested_bytes", s->peak_bytes);
        json_put_number(w, "least_requested_bytes", s->least_bytes);
        json_put_number(w, "duration_ns", s->duration_ns);
        json_end_object(w);
    }
    json_end_object(w);
}

static void json_shares(struct json_writer *w, const struct profile_row *r)
{
    for (int i = 0; i < 2; i++) {
        json_put_object(w, sides[i]);
        json_put_number(w, "peak_bytes", r->side[i].peak_bytes);
        json_put_number(w, "peak_requests", r->side[i].peak_requests);
        json_put_number(w, "step_bytes", r->side[i].step_bytes);
        json_put_number(w, "step_requests", r->side[i].step_requests);
        json_end_object(w);
    }
    json_put_integer(w, "peak_difference_bytes",
                     (int64_t)(r->side[PROFILE_B].peak_bytes - r->side[PROFILE_A].peak_bytes));
    json_put_integer(w, "step_difference_bytes",
                     (int64_t)(r->side[PROFILE_B].step_bytes - r->side[PROFILE_A].step_bytes));
}

static enum err json_classes(struct json_writer *w, const struct diff *d, struct err_detail *why)
{
    size_t n;
    size_t *sorted = diff_sort_rows(d->profiles.classes, PROFILE_CLASSES, &n);
    if (sorted == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory to sort differences");
    json_put_array(w, "size_classes");
    for (size_t i = 0; i < n; i++) {
        const unsigned class = (unsigned)sorted[i];
        json_put_object(w, NULL);
        json_put_bool(w, "is_small", UINT64_C(1) << class <= TORCH_SMALL_MAX);
        json_put_number(w, "above_bytes", class <= 9 ? 0 : UINT64_C(1) << (class - 1));
        json_put_number(w, "up_to_bytes", class < 64 ? UINT64_C(1) << class : UINT64_MAX);
        json_shares(w, &d->profiles.classes[class]);
        json_end_object(w);
    }
    json_end_array(w);
    free(sorted);
    return ERR_OK;
}

static enum err json_lines(struct json_writer *w, const struct diff *d, struct err_detail *why)
{
    const struct text_table *names = &d->profiles.lines.names;
    size_t n;
    size_t *sorted = diff_sort_rows(d->lines.rows, d->lines.n, &n);
    if (sorted == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory to sort differences");
    json_put_array(w, "lines");
    for (size_t i = 0; i < n; i++) {
        const uint32_t *name = d->lines.names[sorted[i]].side;
        json_put_object(w, NULL);
        json_put_text(w, "line", text_table_at(names, name[PROFILE_B]));
        if (name[PROFILE_A] == name[PROFILE_B])
            json_put_null(w, "line_in_a");
        else
            json_put_text(w, "line_in_a", text_table_at(names, name[PROFILE_A]));
        json_shares(w, &d->lines.rows[sorted[i]]);
        json_end_object(w);
    }
    json_end_array(w);
    free(sorted);
    return ERR_OK;
}

static enum err json_traces(struct json_writer *w, const struct diff *d, struct err_detail *why)
{
    diff_fields_json(w, d->fields[0], d->fields[1], d->n_fields);
    json_steps(w, d);
    enum err e = json_trace_difference(w, d, why);
    if (e == ERR_OK)
        e = json_classes(w, d, why);
    return e == ERR_OK ? json_lines(w, d, why) : e;
}

/* ---- runs ---- */

static void json_run(struct json_writer *w, const char *key, const struct run_table *t, size_t row)
{
    static const char *const names[] = {"trace_path", "policy", "device"};
    if (row == SIZE_MAX) {
        json_put_null(w, key);
        return;
    }
    json_put_object(w, key);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        json_put_text(w, names[i], run_table_text(t, row, names[i]));
    json_end_object(w);
}

static void json_match(struct json_writer *w, const struct diff *d, const struct diff_match *m)
{
    struct field a[DIFF_RUN_FIELDS], b[DIFF_RUN_FIELDS];
    json_put_object(w, NULL);
    json_run(w, "a", &d->tables[0], m->a);
    json_run(w, "b", &d->tables[1], m->b);
    if (m->a != SIZE_MAX && m->b != SIZE_MAX) {
        const size_t n = diff_run_fields(&d->tables[0], m->a, a);
        diff_run_fields(&d->tables[1], m->b, b);
        diff_fields_json(w, a, b, n);
    }
    json_end_object(w);
}

static void json_matches(struct json_writer *w, const struct diff *d)
{
    json_put_array(w, "runs");
    for (size_t i = 0; i < d->n_matches; i++)
        json_match(w, d, &d->matches[i]);
    json_end_array(w);
}

static void json_differing_matches(struct json_writer *w, const struct diff *d)
{
    size_t n_same = 0, n_shown = 0;
    json_put_array(w, "runs");
    for (size_t i = 0; i < d->n_matches; i++) {
        if (diff_match_is_same(d, &d->matches[i]))
            n_same++;
        else if (n_shown++ < DIFF_PAGE_RUNS)
            json_match(w, d, &d->matches[i]);
    }
    json_end_array(w);
    json_put_number(w, "n_same", n_same);
    json_put_number(w, "n_left_out", n_shown > DIFF_PAGE_RUNS ? n_shown - DIFF_PAGE_RUNS : 0);
}

static enum err json_run_difference(struct json_writer *w, const struct diff *d, struct err_detail *why)
{
    static const char *const calls[DEVICE_CALL_KINDS] = {
#define DEVICE_CALL_TEXT(name, text) text,
        DEVICE_CALL_LIST(DEVICE_CALL_TEXT)
#undef DEVICE_CALL_TEXT
    };
    const struct run_difference *p = &d->run_difference;
    char line[DIFF_LINE];
    int64_t number;
    enum err e = ERR_OK;
    if (p->is_placed_differently && (e = diff_name_event(d->traces[0], p->event, &number, line, why)) == ERR_OK) {
        json_put_object(w, "first_placement");
        json_put_integer(w, "event", number);
        json_put_number(w, "requested_bytes", p->bytes);
        json_put_text(w, "line", line[0] == '\0' ? NULL : line);
        for (int i = 0; i < 2; i++) {
            json_put_object(w, sides[i]);
            json_put_bool(w, "is_refused", p->block[i].bytes == 0);
            json_put_number(w, "address", p->block[i].addr);
            json_put_number(w, "bytes", p->block[i].bytes);
            json_end_object(w);
        }
        json_end_object(w);
    } else if (e == ERR_OK) {
        json_put_null(w, "first_placement");
    }
    if (e != ERR_OK || !p->calls_differ) {
        json_put_null(w, "first_device_call");
        return e;
    }
    json_put_object(w, "first_device_call");
    for (int i = 0; i < 2 && e == ERR_OK; i++) {
        if (!p->has_call[i]) {
            json_put_null(w, sides[i]);
            continue;
        }
        e = diff_name_event(d->traces[0], p->call[i].event, &number, line, why);
        json_put_object(w, sides[i]);
        json_put_integer(w, "event", e == ERR_OK ? number : -1);
        json_put_text(w, "call", calls[p->call[i].call.kind]);
        json_put_number(w, "bytes", p->call[i].call.bytes);
        json_end_object(w);
    }
    json_end_object(w);
    return e;
}

/* ---- all ---- */

static enum err json_all(struct json_writer *w, const struct diff *d,
                         void (*put_matches)(struct json_writer *w, const struct diff *d), struct err_detail *why)
{
    static const char *const kinds[] = {[DIFF_TRACES] = "traces", [DIFF_POLICIES] = "policies", [DIFF_RUNS] = "runs"};
    enum err e = ERR_OK;
    json_put_object(w, NULL);
    json_put_text(w, "schema", "replay-diff/1");
    json_put_text(w, "kind", kinds[d->kind]);
    json_put_text(w, "a", d->names[0]);
    json_put_text(w, "b", d->names[1]);
    json_put_bool(w, "is_same", diff_is_same(d));
    if (d->kind == DIFF_TRACES) {
        e = json_traces(w, d, why);
    } else {
        if (d->has_run_difference)
            e = json_run_difference(w, d, why);
        put_matches(w, d);
    }
    json_end_object(w);
    return e;
}

enum err diff_json(FILE *out, const struct diff *d, struct err_detail *why)
{
    struct json_writer w = json_writer(out);
    return json_all(&w, d, json_matches, why);
}

enum err diff_json_of_page(FILE *out, const struct diff *d, struct err_detail *why)
{
    struct json_writer w = json_writer(out);
    w.is_compact = w.is_embedded = true;
    return json_all(&w, d, json_differing_matches, why);
}
