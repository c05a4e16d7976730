/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Convenience over a trace's facts: its notes line by line, the source's numbers of events, the stacks of many events,
 * and every event in turn. */
#include "traces/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool trace_next_note(const char **notes, char line[static TRACE_NOTE])
{
    if (*notes == NULL || **notes == '\0')
        return false;
    const size_t n = strcspn(*notes, "\n");
    snprintf(line, TRACE_NOTE, "%.*s", (int)n, *notes);
    *notes += n + ((*notes)[n] == '\n');
    return true;
}

bool trace_note_contradicts(const char *line)
{
    return strncmp(line, TRACE_NOTE_CONTRADICTION, strlen(TRACE_NOTE_CONTRADICTION)) == 0;
}

bool trace_note_leaves_out(const char *line)
{
    return strstr(line, "left out") != NULL || strstr(line, "missing") != NULL;
}

const char *trace_event_word(const struct trace_reader *trace)
{
    return trace_info(trace)->has_source_numbers ? "record" : "event";
}

enum err trace_event_number(struct trace_reader *trace, int64_t event, int64_t *out, struct err_detail *err)
{
    struct trace_side side;
    *out = event;
    if (event < 0 || !trace_info(trace)->has_source_numbers)
        return ERR_OK;
    const enum err e = trace_side_at(trace, (uint64_t)event, &side, err);
    if (e == ERR_OK && side.record != TRACE_NO_RECORD)
        *out = (int64_t)side.record;
    return e;
}

/* An event that is asked for, and where. */
struct asked_event {
    uint64_t event;
    size_t   place;
};

static int by_event(const void *a, const void *b)
{
    const struct asked_event *x = a, *y = b;
    return (x->event > y->event) - (x->event < y->event);
}

enum err trace_stacks_at(struct trace_reader *trace, const uint64_t *events, size_t n, uint32_t *stacks,
                         struct err_detail *err)
{
    struct asked_event *asked = malloc((n + 1) * sizeof *asked);
    size_t n_asked = 0;
    enum err e = asked != NULL ? ERR_OK : err_no_memory(err);
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        stacks[i] = TRACE_NO_STACK;
        if (events[i] != TRACE_NO_EVENT && trace_info(trace)->n_stacks > 0)
            asked[n_asked++] = (struct asked_event){ .event = events[i], .place = i };
    }
    if (n_asked > 0)
        qsort(asked, n_asked, sizeof *asked, by_event);
    for (size_t i = 0; i < n_asked && e == ERR_OK; i++) {
        struct trace_side side;
        e = trace_side_at(trace, asked[i].event, &side, err);
        stacks[asked[i].place] = e == ERR_OK ? side.stack : TRACE_NO_STACK;
    }
    free(asked);
    return e;
}

enum err trace_each_event(struct trace_reader *trace, event_visit visit, void *arg, struct err_detail *err)
{
    const struct event *ev;
    uint64_t first = 0;
    enum err e = trace_seek(trace, 0, err);
    for (size_t n = 1; e == ERR_OK && n > 0; first += n) {
        e = trace_next(trace, &ev, &n, err);
        for (size_t i = 0; i < n && e == ERR_OK; i++)
            visit(arg, &ev[i], first + i);
    }
    return e;
}
