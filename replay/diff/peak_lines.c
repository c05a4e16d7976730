/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Sorts the lines of the program by their share of the peak, and writes them. */
#include "replay/diff/peak_lines.h"

#include "base/shown.h"
#include "base/units.h"
#include "replay/results/result.h"
#include "report/text/text.h"
#include "traces/stack_frame.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { LINES_SHOWN = 12, LINE_TEXT = 160 };

static const struct profile_share *share_of(const struct peak_lines *p, size_t i)
{
    return &p->pair.lines.rows[p->order[i]].side[PROFILE_A];
}

/* A line with its share: qsort passes no context to its comparison. */
struct sorted_line {
    uint64_t bytes;
    uint32_t line;
};

static int line_order(const void *a, const void *b)
{
    const struct sorted_line *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static enum err sort_lines(struct peak_lines *p, struct err_detail *err)
{
    const struct profile_table *lines = &p->pair.lines;
    struct sorted_line *sorted = calloc(lines->names.n + 1u, sizeof *sorted);
    p->order = calloc(lines->names.n + 1u, sizeof *p->order);
    const bool has_room = sorted != NULL && p->order != NULL;
    for (uint32_t i = 0; i < lines->names.n && has_room; i++)
        if (lines->rows[i].side[PROFILE_A].peak_bytes > 0)
            sorted[p->n++] = (struct sorted_line){ .bytes = lines->rows[i].side[PROFILE_A].peak_bytes, .line = i };
    if (p->n > 0)
        qsort(sorted, p->n, sizeof *sorted, line_order);
    for (size_t i = 0; i < p->n; i++)
        p->order[i] = sorted[i].line;
    free(sorted);
    return has_room ? ERR_OK : err_no_memory(err);
}

enum err peak_lines_open(struct peak_lines *p, struct trace_reader *trace, struct err_detail *err)
{
    *p = (struct peak_lines){ .n = 0 };
    enum err e = profile_read(trace, PROFILE_A, &p->pair, err);
    if (e == ERR_OK)
        e = sort_lines(p, err);
    if (e == ERR_OK)
        e = trace_event_number(trace, (int64_t)p->pair.of[PROFILE_A].peak_event, &p->event, err);
    if (e != ERR_OK)
        peak_lines_close(p);
    return e;
}

void peak_lines_close(struct peak_lines *p)
{
    profile_close(&p->pair);
    free(p->order);
    *p = (struct peak_lines){ .n = 0 };
}

static void print_share(FILE *out, uint64_t bytes, uint64_t all, uint64_t requests, const char *what)
{
    char b[UNITS_TEXT], n[TEXT_NUMBER];
    const double percent = all > 0 ? 100 * (double)bytes / (double)all : 0;
    fprintf(out, "  %12s %5.1f%% %9s  ", units_format_bytes(bytes, b), percent, text_count(requests, n));
    shown_put(out, what);
    fputc('\n', out);
}

void peak_lines_print(FILE *out, const struct peak_lines *p, const char *event_word)
{
    const struct profile *peak = &p->pair.of[PROFILE_A];
    char b[TEXT_NUMBER], n[TEXT_NUMBER], where[TEXT_NUMBER], line[LINE_TEXT];
    uint64_t left_bytes = peak->peak_bytes, left_requests = peak->peak_requests;
    struct words w = { .n = 0 };
    words_add(&w, "Requested memory peaks at %s: %s in %s live requests, by line of the program:",
              text_event(event_word, p->event, where), text_mib(peak->peak_bytes, b),
              text_count(peak->peak_requests, n));
    fputc('\n', out);
    text_put_line(out, w.text, 2);
    for (size_t i = 0; i < p->n && i < LINES_SHOWN; i++) {
        const struct profile_share *s = share_of(p, i);
        stack_frame_show_line(text_table_at(&p->pair.lines.names, p->order[i]), line, sizeof line);
        print_share(out, s->peak_bytes, peak->peak_bytes, s->peak_requests, line);
        assert(s->peak_bytes <= left_bytes && s->peak_requests <= left_requests);
        left_bytes -= s->peak_bytes;
        left_requests -= s->peak_requests;
    }
    if (p->n > LINES_SHOWN) {
        snprintf(line, sizeof line, "on %s other lines", text_count(p->n - LINES_SHOWN, n));
        print_share(out, left_bytes, peak->peak_bytes, left_requests, line);
    }
}

static const char *line_text(const struct peak_lines *p, size_t i, char out[LINE_TEXT])
{
    stack_frame_show_line(text_table_at(&p->pair.lines.names, p->order[i]), out, LINE_TEXT);
    return out;
}

void info_peak_json(struct json_writer *json, const struct peak_lines *p)
{
    const struct profile *peak = &p->pair.of[PROFILE_A];
#define ANSWER_TABLE "answers/info_peak.def"
#include "answers/as_json.def"
}
