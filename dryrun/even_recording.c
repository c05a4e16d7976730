/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Finds the first step, then writes the trace anew up to the end of the last one that is wanted. */
#include "dryrun/even_recording.h"

#include "traces/trace_edit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    uint64_t value;                  /* equal for requests of equal size, stream and pool */
    uint64_t event, live_bytes;      /* live just before it */
};

struct requests {
    struct request *at;
    size_t n;
    uint64_t live_bytes;
};

static void take_event(void *arg, const struct event *ev, uint64_t number)
{
    struct requests *r = arg;
    if (ev->kind == EVENT_ALLOC) {
        const uint64_t place = (uint64_t)ev->stream << 8 | ev->pool;
        r->at[r->n++] = (struct request){ ev->bytes ^ place << 40, number, r->live_bytes };
        r->live_bytes += ev->bytes;
    } else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED) {
        r->live_bytes -= ev->bytes;
    }
}

/* The first of all requests that the one a period later equals, and so on up to the steps that were found. */
static size_t find_first(const struct requests *r, const struct steps *steps)
{
    const size_t period = (size_t)steps->requests;
    size_t first = 0;
    while (first < r->n && r->at[first].event < steps->begin)
        first++;
    while (first > 0 && first - 1 + period < r->n && r->at[first - 1].value == r->at[first - 1 + period].value)
        first--;
    return first;
}

/* The event before which the wanted steps end; 0: there are fewer. */
static uint64_t find_end(const struct requests *r, const struct steps *steps, uint64_t least)
{
    const uint64_t period = steps->requests;
    const size_t first = find_first(r, steps);
    size_t begin = first;
    for (size_t i = first; i < r->n && i < first + period; i++)
        begin = r->at[i].live_bytes < r->at[begin].live_bytes ? i : begin;
    return begin + least * period < r->n ? r->at[begin + least * period].event : 0;
}

static enum err write_part(struct trace_reader *trace, uint64_t end, const char *path, struct err_detail *err)
{
    struct trace_writer *out;
    enum err e = trace_create(path, &out, err);
    if (e != ERR_OK)
        return e;
    e = trace_head(trace, end, out, err);
    if (e == ERR_OK)
        return trace_finish(out, err);
    trace_abandon(out);
    return e;
}

static enum err cut(struct trace_reader *trace, const struct steps *steps, uint64_t least, const char *path,
                    struct err_detail *err)
{
    struct requests r = { .live_bytes = steps_start_live_bytes(trace) };
    r.at = calloc((size_t)trace_info(trace)->by_kind[EVENT_ALLOC] + 1, sizeof *r.at);
    if (r.at == NULL)
        return err_no_memory(err);
    enum err e = trace_each_event(trace, take_event, &r, err);
    const uint64_t end = e == ERR_OK ? find_end(&r, steps, least) : 0;
    free(r.at);
    return end > 0 ? write_part(trace, end, path, err) : e;
}

enum err even_recording_cut(const char *path, const struct steps *steps, uint64_t least, struct err_detail *err)
{
    struct trace_reader *trace;
    char part[PATH_MAX];
    if (steps->how != STEPS_BY_REPETITION || least == 0 || steps->whole <= least)
        return ERR_OK;
    if ((size_t)snprintf(part, sizeof part, "%s.even", path) >= sizeof part)
        return err_set(err, ERR_IO, 0, "%.150s: the name is too long", path);
    enum err e = trace_open(path, &trace, err);
    if (e != ERR_OK)
        return e;
    e = cut(trace, steps, least, part, err);
    trace_close(trace);                          /* what is open is not written over */
    if (e == ERR_OK && rename(part, path) != 0 && errno != ENOENT)
        return err_set(err, ERR_IO, 0, "%.150s: cannot be renamed: %s", part, strerror(errno));
    return e;
}
