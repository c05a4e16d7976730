/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Refusals are counted in one pass; begin and end follow from the trace's facts. */
#include "replay/recording/coverage.h"

#include "base/units.h"
#include "report/rows/partial_recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A program that ends with a refusal may still request a little: to print a loss, or in a handler. It went on if it
 * then requests more than a hundredth of what was live, or so often. */
enum { WENT_ON_SHARE = 100, WENT_ON_REQUESTS = 32 };

/* While it ends it may be refused once more, and a library may ask in vain again and again with nothing between. Who is
 * refused more often than that caught those before. */
enum { ENDS_MOST = 2 };

struct refusals {
    uint64_t n, survived, since;     /* since: refusals after which the program has not gone on yet */
    uint64_t tries;                  /* of `since`, but those in a row are one */
    bool     tries_again, is_served; /* the ones before were caught; a request was served after the last one */
    int64_t  last;                   /* of these, or the last of all; and its size */
    uint64_t bytes, first_of_end;
    uint64_t live_bytes;             /* now, and a constant */
    uint64_t at_refusal;             /* live with the first of `since` */
    uint64_t requests, requested;    /* after it */
};

/* Whether a program that is refused so much caught what it was refused before: it goes on trying, or tries half. What
 * kept exceptions hold may leave it no more room than a hundredth. */
static bool has_caught(const struct refusals *r, uint64_t bytes)
{
    return r->is_served && r->since > 0 && (r->tries_again || r->tries >= ENDS_MOST || bytes == r->bytes / 2);
}

static void survive(struct refusals *r, bool tries_again)
{
    r->survived += r->since;
    r->since = r->tries = 0;
    r->tries_again = tries_again;
}

static void refusals_refuse(struct refusals *r, const struct event *ev, uint64_t number)
{
    r->n++;
    if (has_caught(r, ev->bytes))
        survive(r, true);
    r->tries += r->since == 0 || r->is_served;
    r->is_served = false;
    if (r->since++ == 0) {
        r->first_of_end = number;
        r->at_refusal = r->live_bytes;
        r->requests = r->requested = 0;
    }
    r->last = (int64_t)number;
    r->bytes = ev->bytes;
}

static void refusals_event(void *arg, const struct event *ev, uint64_t number)
{
    struct refusals *r = arg;
    if (ev->kind == EVENT_OOM) {
        refusals_refuse(r, ev, number);
    } else if (ev->kind == EVENT_ALLOC) {
        r->live_bytes += ev->bytes;
        r->requested += ev->bytes;
        r->is_served = true;
        if (++r->requests > WENT_ON_REQUESTS || r->requested > r->at_refusal / WENT_ON_SHARE)
            survive(r, false);
    } else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED) {
        r->live_bytes -= ev->bytes;
    }
}

static enum err refusals_read(struct trace_reader *trace, struct refusals *r, struct err_detail *err)
{
    *r = (struct refusals){ .last = -1, .live_bytes = steps_start_live_bytes(trace) };
    return trace_info(trace)->by_kind[EVENT_OOM] == 0 ? ERR_OK : trace_each_event(trace, refusals_event, r, err);
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
    if (meta_is(trace, TRACE_META_ENDS, TRACE_INTERRUPTED))
        return ENDS_INTERRUPTED;
    return meta_is(trace, TRACE_META_ENDS, TRACE_EXIT) ? ENDS_EXIT : ENDS_OPEN;
}

/* All but the steps. */
static enum err read_ends(struct trace_reader *trace, struct coverage *out, struct err_detail *err)
{
    struct refusals r;
    int64_t last = -1;
    enum err e = refusals_read(trace, &r, err);
    if (e == ERR_OK)
        e = trace_event_number(trace, r.last, &last, err);
    if (e != ERR_OK)
        return e;
    *out = (struct coverage){ .begins = begin_of(trace), .ends = end_of(trace, &r), .refusals = r.n,
                              .survived = r.survived, .last_refusal = last, .refused_bytes = r.bytes,
                              .event_word = trace_event_word(trace), .first_of_end = r.first_of_end,
                              .caught_before = r.since > 0 && r.survived > 0 ? r.first_of_end : 0,
                              .steps.how = STEPS_NONE };
    return ERR_OK;
}

enum err coverage_read(struct trace_reader *trace, struct coverage *out, struct err_detail *err)
{
    const enum err e = read_ends(trace, out, err);
    if (e != ERR_OK || trace_info(trace)->events > COVERAGE_STEPS_EVENTS)
        return e;
    return steps_find(trace, &out->steps, err);
}

enum err coverage_check_cut(const struct trace_reader *trace, const char *path, struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    struct stat st;
    size_t n_start;
    (void)trace_start_blocks(trace, &n_start);
    if (!info->is_unfinished || info->events > 0 || n_start > 0)
        return ERR_OK;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))        /* a pipe */
        return err_at(err, ERR_INPUT, 0, path, "holds no request that can be read: it ends before the first one");
    return err_at(err, ERR_INPUT, 0, path, "holds no request that can be read: it ends after %" PRIu64 " bytes",
                  (uint64_t)st.st_size);
}

bool coverage_is_lower_bound(const struct coverage *c)
{
    return recording_is_partial(c->refusals > 0, coverage_begin_word(c->begins), coverage_end_word(c->ends));
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
    static const char *const words[] = { "open", "exit", "refused", TRACE_INTERRUPTED, "cut" };
    return words[e];
}

static void say_refused(struct words *w, const struct coverage *c, const char *bytes)
{
    words_add(w, "The recording ends with a refused request (%s at %s %" PRId64 "). What the program needs after it "
                 "was not recorded: figures are lower bounds.", bytes, c->event_word, c->last_refusal);
    if (c->survived > 0)
        words_add(w, " The program survived %" PRIu64 " refused request%s before it; %s not counted.", c->survived,
                  c->survived == 1 ? "" : "s", c->survived == 1 ? "that one is" : "those are");
}

void coverage_say(struct words *w, const struct coverage *c)
{
    char bytes[UNITS_TEXT];
    units_format_bytes(c->refused_bytes, bytes);
    if (c->ends == ENDS_REFUSED)
        say_refused(w, c, bytes);
    else if (c->survived > 0)
        words_add(w, "The program went on after %" PRIu64 " refused request%s, the last of %s at %s %" PRId64 ". What "
                     "it would have done if %s had been served was not recorded: figures are lower bounds.",
                  c->survived, c->survived == 1 ? "" : "s", bytes, c->event_word, c->last_refusal,
                  c->survived == 1 ? "it" : "they");
    else if (c->ends == ENDS_INTERRUPTED)
        words_add(w, "The program was interrupted: what it would have done later was not recorded.");
    else if (c->ends == ENDS_CUT)
        words_add(w, "The end of the recording is missing: figures are lower bounds.");
    else if (c->begins == BEGINS_CUT)
        words_add(w, "The beginning of the recording is missing: older records were dropped, because the history's "
                     "limit (max_entries) was met or it was switched on anew. Figures are lower bounds.");
}

void coverage_print(FILE *out, const struct coverage *c)
{
    struct words w = { .n = 0 };
    coverage_say(&w, c);
    if (w.n == 0)
        return;
    words_print_screen(out, &w);
    fputc('\n', out);
}

enum err coverage_tell(FILE *out, struct trace_reader *trace, const char *name, struct err_detail *err)
{
    struct coverage c;
    struct words said = { .n = 0 }, w = { .n = 0 };
    const enum err e = read_ends(trace, &c, err);
    if (e != ERR_OK)
        return e;
    coverage_say(&said, &c);
    if (said.n == 0)
        return ERR_OK;
    words_add(&w, "%s%s%s", name != NULL ? name : "", name != NULL ? ": " : "", said.text);
    words_print_screen(out, &w);
    return ERR_OK;
}

void coverage_json(struct json_writer *json, const struct coverage *c)
{
#define ANSWER_TABLE "answers/coverage.def"
#include "answers/as_json.def"
}
