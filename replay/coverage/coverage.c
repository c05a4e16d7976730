/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Refusals are counted in one pass; begin and end follow from the trace's facts. */
#include "replay/coverage/coverage.h"

#include "base/units.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct refusals {
    uint64_t n, survived, since;     /* since: refusals after the last request that was served */
    int64_t  last;
    uint64_t bytes;
};

static void refusals_event(void *arg, const struct event *ev, uint64_t number)
{
    struct refusals *r = arg;
    if (ev->kind == EVENT_OOM) {
        r->n++;
        r->since++;
        r->last = (int64_t)number;
        r->bytes = ev->bytes;
    } else if (ev->kind == EVENT_ALLOC) {
        r->survived += r->since;
        r->since = 0;
    }
}

static enum err refusals_read(struct trace_reader *trace, struct refusals *r, struct err_detail *why)
{
    *r = (struct refusals){ .last = -1 };
    return trace_info(trace)->by_kind[EVENT_OOM] == 0 ? ERR_OK : trace_each_event(trace, refusals_event, r, why);
}

static bool meta_is(const struct trace_reader *trace, const char *name, const char *value)
{
    const char *text = trace_meta(trace, name);
    return text != NULL && strcmp(text, value) == 0;
}

static enum coverage_begin begin_of(const struct trace_reader *trace)
{
    if (meta_is(trace, TRACE_META_BEGINS, TRACE_CUT))
        return BEGINS_CUT;
    return trace_info(trace)->starts_mid_run ? BEGINS_MID_RUN : BEGINS_EMPTY;
}

static enum coverage_end end_of(const struct trace_reader *trace, const struct refusals *r)
{
    if (trace_info(trace)->is_unfinished || meta_is(trace, TRACE_META_ENDS, TRACE_CUT))
        return ENDS_CUT;
    if (r->since > 0)
        return ENDS_REFUSED;
    return meta_is(trace, TRACE_META_ENDS, TRACE_EXIT) ? ENDS_EXIT : ENDS_OPEN;
}

enum err coverage_read(struct trace_reader *trace, struct coverage *out, struct err_detail *why)
{
    struct refusals r;
    struct steps steps = { .how = STEPS_NONE };
    enum err e = refusals_read(trace, &r, why);
    if (e == ERR_OK && trace_info(trace)->events <= COVERAGE_STEPS_EVENTS)
        e = steps_find(trace, &steps, why);
    if (e != ERR_OK)
        return e;
    *out = (struct coverage){ .begins = begin_of(trace), .ends = end_of(trace, &r), .refusals = r.n,
                              .survived = r.survived, .last_refusal = r.last, .refused_bytes = r.bytes,
                              .steps = steps };
    return ERR_OK;
}

bool coverage_is_lower_bound(const struct coverage *c)
{
    return c->refusals > 0 || c->begins == BEGINS_CUT || c->ends == ENDS_CUT;
}

bool coverage_has_whole_step(const struct coverage *c)
{
    return c->steps.whole > 0 || (c->ends == ENDS_EXIT && c->refusals == 0);
}

const char *coverage_begin_word(enum coverage_begin b)
{
    static const char *const words[] = { "empty", "mid-run", "cut" };
    return words[b];
}

const char *coverage_end_word(enum coverage_end e)
{
    static const char *const words[] = { "open", "exit", "refused", "cut" };
    return words[e];
}

void coverage_sentence(const struct coverage *c, const char *event_word, int64_t number, char text[static COVERAGE_TEXT])
{
    char bytes[UNITS_TEXT];
    units_format_bytes(c->refused_bytes, bytes);
    text[0] = '\0';
    if (c->ends == ENDS_REFUSED)
        snprintf(text, COVERAGE_TEXT,
                 "The recording ends with a refused request (%s at %s %" PRId64 "). What the program needs after it was "
                 "not recorded: figures are lower bounds.", bytes, event_word, number);
    else if (c->survived > 0)
        snprintf(text, COVERAGE_TEXT,
                 "The program went on after %" PRIu64 " refused request%s, the last of %s at %s %" PRId64 ". What it would "
                 "have done if %s had been served was not recorded: figures are lower bounds.", c->survived,
                 c->survived == 1 ? "" : "s", bytes, event_word, number, c->survived == 1 ? "it" : "they");
    else if (c->ends == ENDS_CUT)
        snprintf(text, COVERAGE_TEXT, "The end of the recording is missing: figures are lower bounds.");
    else if (c->begins == BEGINS_CUT)
        snprintf(text, COVERAGE_TEXT, "The beginning of the recording is missing: older records were dropped, "
                 "because the history's limit (max_entries) was met or it was switched on anew. Figures are lower bounds.");
}

void coverage_print(FILE *out, const struct coverage *c, struct trace_reader *trace)
{
    char text[COVERAGE_TEXT];
    int64_t number = c->last_refusal;
    struct err_detail ignored;
    struct words w = { .n = 0 };
    if (trace_event_number(trace, c->last_refusal, &number, &ignored) != ERR_OK)
        number = c->last_refusal;
    coverage_sentence(c, trace_event_word(trace), number, text);
    if (text[0] == '\0')
        return;
    words_add(&w, "%s", text);
    words_print(out, &w, 0, 2);
    fputc('\n', out);
}

void coverage_json(struct json_writer *w, const struct coverage *c)
{
    json_put_text(w, "begins", coverage_begin_word(c->begins));
    json_put_text(w, "ends", coverage_end_word(c->ends));
    json_put_number(w, "refusals", c->refusals);
    json_put_number(w, "refusals_survived", c->survived);
    if (c->steps.how == STEPS_NONE)
        json_put_null(w, "whole_steps");
    else
        json_put_number(w, "whole_steps", c->steps.whole);
}
