/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Writes `replay diff` as JSON: answers/diff.def. What may fail is looked up before the first letter is written. */
#include "replay/diff/diff.h"

#include "base/torch_sizes.h"
#include "replay/diff/diff_fields.h"
#include "report/text/json_writer.h"

#include <stdlib.h>

static const char *const event_kind_words[EVENT_KINDS] = { "alloc", "free", "free_requested", "free_completed", "flush",
                                                           "oom", "command", "mark" };
static const char *const device_call_words[DEVICE_CALL_KINDS] = {
#define DEVICE_CALL_TEXT(name, text) text,
    DEVICE_CALL_LIST(DEVICE_CALL_TEXT)
#undef DEVICE_CALL_TEXT
};

/* An event as its trace names it, and the line of the program that made it, "" if unknown. */
struct event_name {
    int64_t number;
    char    line[DIFF_LINE];
};

/* What is looked up for an answer. Zero is valid: shown_close accepts it. */
struct shown {
    struct event_name event[2], placement, call[2];
    size_t *classes, *lines, n_classes, n_lines;     /* those that differ, most first */
    bool   *has_run;                                 /* by match: it is shown */
    bool    is_of_page;
    size_t  n_same, n_left_out;                      /* of a page: matches that it leaves out */
    struct field fields[2][DIFF_RUN_FIELDS];         /* of the match that is being written */
};

/* What a part of the answer is made of. */
struct diff_side { const struct diff *diff; int i; };
struct diff_event { const struct event *event; const struct event_name *name; };
struct diff_call { const struct device_call *call; const struct event_name *name; };
struct diff_run { const struct run_table *table; size_t row; };

static const char *diff_kind_word(enum diff_kind kind)
{
    static const char *const words[] = { [DIFF_TRACES] = "traces", [DIFF_POLICIES] = "policies", [DIFF_RUNS] = "runs" };
    return words[kind];
}

static const char *named_line(const struct event_name *e)
{
    return e->line[0] == '\0' ? NULL : e->line;
}

/* ---- looked up ---- */

static enum err name_event(const struct diff *d, int i, bool is_there, int64_t event, struct event_name *out,
                           struct err_detail *err)
{
    return is_there ? diff_name_event(d->traces[i], event, &out->number, out->line, err) : ERR_OK;
}

static enum err look_up_traces(const struct diff *d, struct shown *s, struct err_detail *err)
{
    const struct trace_difference *t = &d->trace_difference;
    enum err e = ERR_OK;
    for (int i = 0; i < 2 && e == ERR_OK; i++)
        e = name_event(d, i, !t->is_equal && t->has[i], (int64_t)t->event, &s->event[i], err);
    s->classes = diff_sort_rows(d->profiles.classes, PROFILE_CLASSES, &s->n_classes);
    s->lines = diff_sort_rows(d->lines.rows, d->lines.n, &s->n_lines);
    if (e == ERR_OK && (s->classes == NULL || s->lines == NULL))
        return err_no_memory(err);
    return e;
}

static enum err look_up_events(const struct diff *d, struct shown *s, struct err_detail *err)
{
    const struct run_difference *p = &d->run_difference;
    enum err e = name_event(d, 0, p->is_placed_differently, p->event, &s->placement, err);
    for (int i = 0; i < 2 && e == ERR_OK; i++)
        e = name_event(d, 0, p->calls_differ && p->has_call[i], p->call[i].event, &s->call[i], err);
    return e;
}

/* A page shows only runs that differ, and not too many. */
static enum err look_up_runs(const struct diff *d, struct shown *s, struct err_detail *err)
{
    size_t n_shown = 0;
    s->has_run = calloc(d->n_matches + 1, sizeof *s->has_run);
    if (s->has_run == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < d->n_matches; i++) {
        const bool is_same = s->is_of_page && diff_match_is_same(d, &d->matches[i]);
        s->has_run[i] = !is_same && (!s->is_of_page || n_shown < DIFF_PAGE_RUNS);
        s->n_same += is_same;
        s->n_left_out += !is_same && !s->has_run[i];
        n_shown += s->has_run[i];
    }
    return d->has_run_difference ? look_up_events(d, s, err) : ERR_OK;
}

static void shown_close(struct shown *s)
{
    free(s->classes);
    free(s->lines);
    free(s->has_run);
    free(s);
}

/* The figures of both runs of a match into s->fields; returns how many. */
static size_t match_fields(const struct diff *d, const struct diff_match *m, struct shown *s)
{
    const bool is_pair = m->a != SIZE_MAX && m->b != SIZE_MAX;
    return is_pair ? diff_match_fields(d, m, s->fields[0], s->fields[1]) : 0;
}

/* ---- written ---- */

static void step_json(struct json_writer *json, const struct diff_side *s)
{
#define ANSWER_TABLE "answers/step.def"
#include "answers/as_json.def"
}

static void event_json(struct json_writer *json, const struct diff_event *e)
{
#define ANSWER_TABLE "answers/event.def"
#include "answers/as_json.def"
}

static void requests_json(struct json_writer *json, const struct profile_share *s)
{
#define ANSWER_TABLE "answers/requests.def"
#include "answers/as_json.def"
}

static void placement_json(struct json_writer *json, const struct block *b)
{
#define ANSWER_TABLE "answers/placement.def"
#include "answers/as_json.def"
}

static void device_call_json(struct json_writer *json, const struct diff_call *c)
{
#define ANSWER_TABLE "answers/device_call.def"
#include "answers/as_json.def"
}

static void compared_run_json(struct json_writer *json, const struct diff_run *r)
{
#define ANSWER_TABLE "answers/compared_run.def"
#include "answers/as_json.def"
}

static void write_answer(struct json_writer style, const struct diff *d, struct shown *shown)
{
#define ANSWER_WRITER style
#define ANSWER_TABLE "answers/diff.def"
#include "answers/as_json.def"
}

static enum err write_json(struct json_writer style, const struct diff *d, bool is_of_page, struct err_detail *err)
{
    struct shown *s = calloc(1, sizeof *s);
    if (s == NULL)
        return err_no_memory(err);
    s->is_of_page = is_of_page;
    const enum err e = d->kind == DIFF_TRACES ? look_up_traces(d, s, err) : look_up_runs(d, s, err);
    if (e == ERR_OK)
        write_answer(style, d, s);
    shown_close(s);
    return e;
}

enum err diff_json(FILE *out, const struct diff *d, struct err_detail *err)
{
    return write_json(json_writer(out), d, false, err);
}

enum err diff_json_of_page(FILE *out, const struct diff *d, struct err_detail *err)
{
    struct json_writer style = json_writer(out);
    style.is_compact = style.is_embedded = true;
    return write_json(style, d, true, err);
}
