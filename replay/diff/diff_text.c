/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Writes `replay diff` for people: sentences first, then tables of what differs most. */
#include "replay/diff/diff.h"

#include "base/shown.h"
#include "base/text_stream.h"
#include "replay/results/foreign_run.h"
#include "replay/results/result.h"
#include "replay/diff/diff_fields.h"
#include "report/text/text.h"
#include "report/text/terminal_table.h"
#include "traces/stack_frame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 14, DELTA_TEXT = 48 };

/* ---- numbers ---- */

/* "+12 MiB", "-4.5 KiB", "0". */
static const char *show_delta(uint64_t a, uint64_t b, char buf[DELTA_TEXT])
{
    char bytes[TEXT_NUMBER];
    if (a == b)
        snprintf(buf, DELTA_TEXT, "0");
    else
        snprintf(buf, DELTA_TEXT, "%s%s", b > a ? "+" : "-", text_mib(b > a ? b - a : a - b, bytes));
    return buf;
}

/* "20.31 MiB (15.7%) less", "the same" */
static void add_comparison(struct words *w, uint64_t a, uint64_t b)
{
    char bytes[TEXT_NUMBER];
    if (a == b) {
        words_add(w, "the same");
        return;
    }
    words_add(w, "%s", text_mib(b > a ? b - a : a - b, bytes));
    if (a > 0)
        words_add(w, " (%.1f%%)", 100 * (b > a ? (double)(b - a) : (double)(a - b)) / (double)a);
    words_add(w, b > a ? " more" : " less");
}

/* ": 102.19 MiB instead of 129.39 MiB"; nothing if they are equal. */
static void add_both(struct words *w, uint64_t a, uint64_t b)
{
    char bytes[TEXT_NUMBER];
    if (a == b)
        return;
    words_add(w, ": %s instead of ", text_mib(b, bytes));
    words_add(w, "%s", text_mib(a, bytes));
}

/* Writes a paragraph as one line, and begins the next. */
static void end_paragraph(FILE *out, struct words *w)
{
    shown_put(out, w->text);
    fputc('\n', out);
    w->n = 0;
    w->text[0] = '\0';
}

/* ---- two traces ---- */

static void say_peak(FILE *out, const struct diff *d)
{
    const struct profile *a = &d->profiles.of[0], *b = &d->profiles.of[1];
    const uint64_t reserved[2] = {trace_info(d->traces[0])->recorded_peak_reserved_bytes,
                                  trace_info(d->traces[1])->recorded_peak_reserved_bytes};
    struct words w = {.n = 0};
    words_add(&w, "At its peak B requests ");
    add_comparison(&w, a->peak_bytes, b->peak_bytes);
    words_add(&w, a->peak_bytes == b->peak_bytes ? " as A" : " than A");
    add_both(&w, a->peak_bytes, b->peak_bytes);
    words_add(&w, ", in %" PRIu64 " live requests", b->peak_requests);
    if (a->peak_requests != b->peak_requests)
        words_add(&w, " instead of %" PRIu64, a->peak_requests);
    if (reserved[0] != 0 && reserved[1] != 0) {
        words_add(&w, ". When recorded it reserved ");
        add_comparison(&w, reserved[0], reserved[1]);
        add_both(&w, reserved[0], reserved[1]);
    }
    words_add(&w, ".");
    end_paragraph(out, &w);
}

/* The row that differs most at the peak; SIZE_MAX if none differs. */
static size_t largest_change(const struct profile_row *rows, size_t n)
{
    size_t found = SIZE_MAX;
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t a = rows[i].side[PROFILE_A].peak_bytes, b = rows[i].side[PROFILE_B].peak_bytes;
        const uint64_t change = a < b ? b - a : a - b;
        if (change > most) {
            most = change;
            found = i;
        }
    }
    return found;
}

static void add_change(struct words *w, const struct profile_row *row)
{
    char bytes[TEXT_NUMBER];
    const uint64_t a = row->side[PROFILE_A].peak_bytes, b = row->side[PROFILE_B].peak_bytes;
    words_add(w, "%s %s ", text_mib(a < b ? b - a : a - b, bytes), a < b ? "more" : "less");
}

static void say_changes(FILE *out, const struct diff *d)
{
    const struct joined_lines *lines = &d->lines;
    const size_t class = largest_change(d->profiles.classes, PROFILE_CLASSES);
    const size_t line = largest_change(lines->rows, lines->n);
    struct words w = {.n = 0};
    char name[64], where[DIFF_LINE];
    if (class == SIZE_MAX)
        return;
    words_add(&w, "The largest change by size is ");
    add_change(&w, &d->profiles.classes[class]);
    words_add(&w, "in requests of %s", strchr(diff_class_name((unsigned)class, name), ',') + 2);
    if (line != SIZE_MAX && trace_info(d->traces[0])->n_stacks > 0 && trace_info(d->traces[1])->n_stacks > 0) {
        words_add(&w, "; by line of the program ");
        add_change(&w, &lines->rows[line]);
        joined_line_show(&d->profiles.lines, &lines->names[line], where, sizeof where);
        words_add(&w, "at %s", where);
    }
    words_add(&w, ".");
    end_paragraph(out, &w);
}

static void add_step(struct words *w, const struct diff *d, int i)
{
    const struct profile_step *s = &d->profiles.of[i].step;
    words_add(w, "%s's step is ", i == 0 ? "A" : "B");
    const struct steps *found = &s->found;
    switch (found->how) {
    case STEPS_BY_MARK:
        words_add(w, "what lies between the last two marks '%.60s'", trace_label(d->traces[i], found->label));
        break;
    case STEPS_BY_REPETITION:
        words_add(w, "the last of %" PRIu64 " alike, of %" PRIu64 " requests each", found->whole, found->requests);
        break;
    case STEPS_NONE:
        words_add(w, "the whole trace, because nothing in it repeats");
        break;
    }
    words_add(w, ".");
}

static void say_step(FILE *out, const struct diff *d)
{
    const struct profile_step *a = &d->profiles.of[0].step, *b = &d->profiles.of[1].step;
    struct words w = {.n = 0};
    words_add(&w, "In one step B makes %" PRIu64 " requests", b->requests);
    if (a->requests != b->requests)
        words_add(&w, " instead of %" PRIu64, a->requests);
    if (a->requests > 0 && a->requests != b->requests)
        words_add(&w, " (%+.1f%%)", 100 * ((double)b->requests - (double)a->requests) / (double)a->requests);
    words_add(&w, ". Together they ask for ");
    add_comparison(&w, a->requested_bytes, b->requested_bytes);
    add_both(&w, a->requested_bytes, b->requested_bytes);
    words_add(&w, ". The most that is live at once is ");
    add_comparison(&w, a->peak_bytes, b->peak_bytes);
    words_add(&w, ", the least ");
    add_comparison(&w, a->least_bytes, b->least_bytes);
    words_add(&w, ".");
    end_paragraph(out, &w);
    add_step(&w, d, 0);
    words_add(&w, " ");
    add_step(&w, d, 1);
    end_paragraph(out, &w);
}

static void add_event(struct words *w, const struct diff *d, int i, int64_t number, const char *line)
{
    static const char *const kinds[EVENT_KINDS] = {"requests", "frees", "begins to free", "completes the free of",
                                                   "calls empty_cache", "is refused", "has a control event",
                                                   "sets a mark"};
    const struct event *ev = &d->trace_difference.ev[i];
    char bytes[TEXT_NUMBER], where[DIFF_LINE];
    words_add(w, "%s ", i == 0 ? "A" : "B");
    if (!d->trace_difference.has[i]) {
        words_add(w, "has ended");
        return;
    }
    words_add(w, "%s", kinds[ev->kind]);
    if (ev->kind <= EVENT_FREE_COMPLETED || ev->kind == EVENT_OOM)
        words_add(w, " %s bytes", text_count(ev->bytes, bytes));
    if (ev->stream != 0)
        words_add(w, " on stream %u", (unsigned)ev->stream);
    words_add(w, " (%s %" PRId64 "%s", trace_event_word(d->traces[i]), number,
              line[0] == '\0' ? "" : ", ");
    stack_frame_show_line(line, where, sizeof where);
    words_add(w, "%s)", where);
}

static enum err say_trace_difference(FILE *out, const struct diff *d, struct err_detail *err)
{
    struct words w = {.n = 0};
    if (d->trace_difference.is_equal) {
        words_add(&w, "Both make the same requests, event by event.");
    } else {
        const uint64_t n = d->trace_difference.event;
        if (n == 0)
            words_add(&w, "They differ from the first event on: ");
        else
            words_add(&w, "The first %" PRIu64 " event%s equal. Then ", n, n == 1 ? " is" : "s are");
        for (int i = 0; i < 2; i++) {
            char line[DIFF_LINE] = "";
            int64_t number = 0;
            if (d->trace_difference.has[i]) {
                const int64_t event = (int64_t)d->trace_difference.event;
                const enum err e = diff_name_event(d->traces[i], event, &number, line, err);
                if (e != ERR_OK)
                    return e;
            }
            add_event(&w, d, i, number, line);
            words_add(&w, i == 0 ? " and " : ".");
        }
    }
    end_paragraph(out, &w);
    return ERR_OK;
}

enum { SHARE_COLUMNS = 8 };

static const struct text_column share_columns[SHARE_COLUMNS] = {
    { "", NULL, true, 0 },
    { "A", "live at the peak", false, 5 }, { "B", "live at the peak", false, 6 },
    { "B - A", "live at the peak", false, 0 },
    { "A", "requested over the step", false, 2 }, { "B", "requested over the step", false, 3 },
    { "B - A", "requested over the step", false, 4 }, { "times", "requested over the step", false, 1 },
};

static void add_row(struct terminal_table *t, const char *name, const struct profile_row *r)
{
    const struct profile_share *a = &r->side[PROFILE_A], *b = &r->side[PROFILE_B];
    char n[6][DELTA_TEXT], times[TEXT_NUMBER];
    snprintf(times, sizeof times, "%+" PRId64, (int64_t)(b->step_requests - a->step_requests));
    terminal_table_add(t, (const char *const[SHARE_COLUMNS]){
        name, text_mib(a->peak_bytes, n[0]), text_mib(b->peak_bytes, n[1]),
        show_delta(a->peak_bytes, b->peak_bytes, n[2]), text_mib(a->step_bytes, n[3]), text_mib(b->step_bytes, n[4]),
        show_delta(a->step_bytes, b->step_bytes, n[5]), times });
}

/* Prints the rows that differ, most first. `name` writes the name of a row. */
static enum err print_table(FILE *out, const struct diff *d, size_t columns, const char *title,
                            const struct profile_row *rows, size_t n,
                            void (*name)(const struct diff *d, size_t row, char out[DIFF_LINE]), struct err_detail *err)
{
    struct text_column titled[SHARE_COLUMNS];
    struct terminal_table table = { .columns = titled, .n_columns = SHARE_COLUMNS, .bold_row = SIZE_MAX };
    size_t n_sorted;
    size_t *sorted = diff_sort_rows(rows, n, &n_sorted);
    enum err e = ERR_OK;
    if (sorted == NULL)
        return err_no_memory(err);
    memcpy(titled, share_columns, sizeof titled);
    titled[0].title = title;
    for (size_t i = 0; i < n_sorted && i < ROWS_SHOWN; i++) {
        char text[DIFF_LINE];
        name(d, sorted[i], text);
        add_row(&table, text, &rows[sorted[i]]);
    }
    if (n_sorted > 0) {
        fputc('\n', out);
        e = terminal_table_print(out, &table, columns);
    }
    if (n_sorted > ROWS_SHOWN)
        fprintf(out, "%zu more differ less; --json lists all\n", n_sorted - ROWS_SHOWN);
    free(sorted);
    return e == ERR_OK ? ERR_OK : err_set(err, e, 0, "no memory for a table of differences");
}

static void name_class(const struct diff *d, size_t row, char out[DIFF_LINE])
{
    char name[64];
    (void)d;
    snprintf(out, DIFF_LINE, "%s", diff_class_name((unsigned)row, name));
}

static void name_line(const struct diff *d, size_t row, char out[DIFF_LINE])
{
    joined_line_show(&d->profiles.lines, &d->lines.names[row], out, DIFF_LINE);
}

static enum err say_traces(FILE *out, const struct diff *d, struct err_detail *err)
{
    say_peak(out, d);
    say_changes(out, d);
    say_step(out, d);
    return say_trace_difference(out, d, err);
}

static enum err print_traces(FILE *out, const struct diff *d, size_t columns, struct err_detail *err)
{
    const struct joined_lines *lines = &d->lines;
    enum err e = print_table(out, d, columns, "size of the request", d->profiles.classes, PROFILE_CLASSES, name_class,
                             err);
    if (e == ERR_OK && (trace_info(d->traces[0])->n_stacks > 0 || trace_info(d->traces[1])->n_stacks > 0))
        e = print_table(out, d, columns, "line of the program", lines->rows, lines->n, name_line, err);
    if (e == ERR_OK && diff_fields_count(d->fields[0], d->fields[1], d->n_fields) > 0) {
        fputc('\n', out);
        e = diff_fields_print(out, d->fields[0], d->fields[1], d->n_fields, columns, err);
    }
    return e;
}

/* ---- runs ---- */

static void name_run(FILE *out, const char *side, const struct run_table *t, size_t row)
{
    static const char *const columns[] = { "trace_path", "policy", "device" };
    fprintf(out, "%s: ", side);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        fputs(i == 0 ? "" : ", ", out);
        shown_put(out, run_table_text(t, row, columns[i]));
    }
    fputc('\n', out);
}

/* Whether a person may be told to type these texts of a results file: none of them loads code, reads a file or uses a
 * card that the person did not name, and none changes on its way to the screen. */
static bool may_be_typed(const char *path, const char *p, const char *q, const char *device)
{
    return foreign_run_check(p, device, NULL, NULL) == ERR_OK && foreign_run_check(q, NULL, NULL, NULL) == ERR_OK &&
           shown_is_clean(path) && shown_is_clean(p) && shown_is_clean(q) && shown_is_clean(device);
}

/* Says how to find where two policies first differ: results do not tell, a replay of the trace does. */
static void print_hint(FILE *out, const struct diff *d, const struct diff_match *m)
{
    const struct run_table *a = &d->tables[0], *b = &d->tables[1];
    const char *path = run_table_text(a, m->a, "trace_path"), *device = run_table_text(a, m->a, "device");
    const char *p = run_table_text(a, m->a, "policy"), *q = run_table_text(b, m->b, "policy");
    if (strcmp(path, run_table_text(b, m->b, "trace_path")) != 0 || strcmp(p, q) == 0 ||
        !may_be_typed(path, p, q, device))
        return;
    fputs("  To see where they differ: replay diff ", out);
    text_put_file_word(out, path);
    fputs(" --policy ", out);
    text_put_word(out, p);
    fputs(" --policy ", out);
    text_put_word(out, q);
    fputs(" --device ", out);
    text_put_word(out, device);
    fputc('\n', out);
}

/* Prints what differs between two runs, and counts them in *n_same if nothing does. */
static enum err print_match(FILE *out, const struct diff *d, const struct diff_match *m, size_t columns, size_t *n_same,
                            struct err_detail *err)
{
    struct field a[DIFF_RUN_FIELDS], b[DIFF_RUN_FIELDS];
    const size_t n = diff_match_fields(d, m, a, b);
    if (diff_fields_count(a, b, n) == 0) {
        ++*n_same;
        return ERR_OK;
    }
    fputc('\n', out);
    if (d->kind == DIFF_RUNS)
        name_run(out, "A", &d->tables[0], m->a);
    const enum err e = diff_fields_print(out, a, b, n, columns, err);
    if (e == ERR_OK && d->kind == DIFF_RUNS && !d->has_run_difference)
        print_hint(out, d, m);
    return e;
}

static enum err print_matches(FILE *out, const struct diff *d, size_t columns, struct err_detail *err)
{
    enum err e = ERR_OK;
    size_t n_same = 0;
    for (size_t i = 0; i < d->n_matches && e == ERR_OK; i++) {
        const struct diff_match *m = &d->matches[i];
        if (m->b == SIZE_MAX)
            name_run(out, "only in A", &d->tables[0], m->a);
        else if (m->a == SIZE_MAX)
            name_run(out, "only in B", &d->tables[1], m->b);
        else
            e = print_match(out, d, m, columns, &n_same, err);
    }
    if (e == ERR_OK && d->kind == DIFF_RUNS && n_same > 0)
        fprintf(out, "%zu of %zu runs are the same in every figure.\n", n_same, d->n_matches);
    return e;
}

/* ---- runs, in sentences ---- */

/* What a run takes of the card at its peak; results of older versions say what it reserved. */
static uint64_t taken_of(const struct run_table *t, size_t row)
{
    const struct field *card = run_table_cell(t, row, "card_peak_bytes");
    return (uint64_t)(card->kind == FIELD_NUMBER ? card->number : run_table_number(t, row, "peak_reserved_bytes"));
}

/* "runs to the end", "runs out of memory", "fails". */
static const char *outcome_of(const struct run_table *t, size_t row)
{
    const char *outcome = run_table_text(t, row, "outcome");
    return strcmp(outcome, "ok") == 0    ? "runs to the end"
           : strcmp(outcome, "oom") == 0 ? "runs out of memory"
                                         : "fails";
}

/* Two runs: how they end, what they take of the card, and the calls to the driver. */
static void say_two_runs(FILE *out, const struct diff *d, const struct diff_match *m)
{
    const struct run_table *a = &d->tables[0], *b = &d->tables[1];
    const uint64_t taken[2] = { taken_of(a, m->a), taken_of(b, m->b) };
    const uint64_t calls[2] = { (uint64_t)run_table_number(a, m->a, "device_calls"),
                                (uint64_t)run_table_number(b, m->b, "device_calls") };
    char count[2][TEXT_NUMBER];
    struct words w = {.n = 0};
    if (strcmp(outcome_of(a, m->a), outcome_of(b, m->b)) != 0)
        words_add(&w, "A %s, and B %s. ", outcome_of(a, m->a), outcome_of(b, m->b));
    words_add(&w, "At its peak B takes ");
    add_comparison(&w, taken[0], taken[1]);
    words_add(&w, taken[0] == taken[1] ? " of the card as A" : " of the card than A");
    add_both(&w, taken[0], taken[1]);
    words_add(&w, ", in %s driver calls", text_count(calls[1], count[1]));
    if (calls[0] != calls[1])
        words_add(&w, " instead of %s", text_count(calls[0], count[0]));
    words_add(&w, ".");
    end_paragraph(out, &w);
}

/* How many runs end in another way, and how many take more or less. */
static void say_many_runs(FILE *out, const struct diff *d)
{
    size_t n_pairs = 0, n_other = 0, n_more = 0, n_less = 0;
    char count[4][TEXT_NUMBER];
    struct words w = {.n = 0};
    for (size_t i = 0; i < d->n_matches; i++) {
        const struct diff_match *m = &d->matches[i];
        if (m->a == SIZE_MAX || m->b == SIZE_MAX)
            continue;
        const uint64_t a = taken_of(&d->tables[0], m->a), b = taken_of(&d->tables[1], m->b);
        n_pairs++;
        n_other += strcmp(outcome_of(&d->tables[0], m->a), outcome_of(&d->tables[1], m->b)) != 0;
        n_more += b > a;
        n_less += b < a;
    }
    words_add(&w, "Of %s runs in both, %s end in another way. ", text_count(n_pairs, count[0]),
              text_count(n_other, count[1]));
    words_add(&w, "B takes more of the card in %s and less in %s.", text_count(n_more, count[2]),
              text_count(n_less, count[3]));
    if (d->n_matches > n_pairs)
        words_add(&w, " %s are in one of the two only.", text_count(d->n_matches - n_pairs, count[0]));
    end_paragraph(out, &w);
}

static void say_runs(FILE *out, const struct diff *d)
{
    if (d->n_matches == 1 && d->matches[0].a != SIZE_MAX && d->matches[0].b != SIZE_MAX)
        say_two_runs(out, d, &d->matches[0]);
    else
        say_many_runs(out, d);
}

static void add_block(struct words *w, const char *side, const struct block *b)
{
    char bytes[TEXT_NUMBER];
    if (b->bytes == 0)
        words_add(w, "%s refuses it", side);
    else
        words_add(w, "%s places it at 0x%" PRIx64 ", in a block of %s bytes", side, b->addr,
                  text_count(b->bytes, bytes));
}

static void add_call(struct words *w, const struct diff *d, int i, int64_t number)
{
    static const char *const calls[DEVICE_CALL_KINDS] = {
#define DEVICE_CALL_TEXT(name, text) text,
        DEVICE_CALL_LIST(DEVICE_CALL_TEXT)
#undef DEVICE_CALL_TEXT
    };
    char bytes[TEXT_NUMBER], at[TEXT_NUMBER];
    if (!d->run_difference.has_call[i])
        words_add(w, "%s makes no further call", i == 0 ? "A" : "B");
    else
        words_add(w, "%s calls %s of %s bytes at %s", i == 0 ? "A" : "B", calls[d->run_difference.call[i].call.kind],
                  text_count(d->run_difference.call[i].call.bytes, bytes),
                  text_event(trace_event_word(d->traces[0]), number, at));
}

static enum err say_run_difference(FILE *out, const struct diff *d, struct err_detail *err)
{
    const struct run_difference *p = &d->run_difference;
    struct words w = {.n = 0};
    char line[DIFF_LINE], where[DIFF_LINE], bytes[TEXT_NUMBER], at[TEXT_NUMBER];
    int64_t number = -1;
    enum err e = ERR_OK;
    if (p->is_placed_differently && (e = diff_name_event(d->traces[0], p->event, &number, line, err)) == ERR_OK) {
        stack_frame_show_line(line, where, sizeof where);
        words_add(&w, "The first request that is placed differently asks for %s bytes at %s%s%s: ",
                  text_count(p->bytes, bytes), text_event(trace_event_word(d->traces[0]), number, at),
                  line[0] == '\0' ? "" : ", ", where);
        add_block(&w, "A", &p->block[0]);
        words_add(&w, "; ");
        add_block(&w, "B", &p->block[1]);
        words_add(&w, ". ");
    }
    if (e == ERR_OK && p->calls_differ) {
        words_add(&w, "The first call to the device that differs: ");
        for (int i = 0; i < 2 && e == ERR_OK; i++) {
            number = -1;
            if (p->has_call[i])
                e = diff_name_event(d->traces[0], p->call[i].event, &number, line, err);
            add_call(&w, d, i, number);
            words_add(&w, i == 0 ? "; " : ".");
        }
    }
    if (e == ERR_OK && !p->is_placed_differently && !p->calls_differ)
        words_add(&w, "Every request is placed alike, and every call to the device is the same.");
    if (e == ERR_OK)
        end_paragraph(out, &w);
    return e;
}

/* ---- all ---- */

enum err diff_sentences(FILE *out, const struct diff *d, struct err_detail *err)
{
    if (d->kind == DIFF_TRACES)
        return say_traces(out, d, err);
    say_runs(out, d);
    return d->has_run_difference ? say_run_difference(out, d, err) : ERR_OK;
}

enum err diff_text(const struct diff *d, enum err (*put)(FILE *out, const struct diff *d, struct err_detail *err),
                   char **out, struct err_detail *err)
{
    struct text_stream to;
    const enum err e = text_stream_open(&to) != NULL ? put(to.file, d, err) : ERR_OK;
    char *text = text_stream_take(&to);
    if (e == ERR_OK && text == NULL)
        return err_no_memory(err);
    if (e == ERR_OK)
        *out = text;
    else
        free(text);
    return e;
}

static void print_sentences(FILE *out, char *text)
{
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        struct words w = {.n = 0};
        *end = '\0';
        words_add(&w, "%s", line);
        words_print(out, &w, 0, 2);
    }
}

enum err diff_print(FILE *out, const struct diff *d, size_t columns, struct err_detail *err)
{
    char *sentences = NULL;
    const enum err e = diff_text(d, diff_sentences, &sentences, err);
    if (e != ERR_OK)
        return e;
    for (int i = 0; i < 2; i++) {
        fputs(i == 0 ? "A: " : "B: ", out);
        shown_put(out, d->names[i]);
        fputc('\n', out);
    }
    print_sentences(out, sentences);
    free(sentences);
    return d->kind == DIFF_TRACES ? print_traces(out, d, columns, err) : print_matches(out, d, columns, err);
}
