/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Asks `err` for the verdict and the cure, and `fit` for the smallest card under the recorded settings. */
#include "replay/program/report_answer.h"

#include "base/text_stream.h"
#include "replay/results/detailed_runs.h"
#include "replay/results/foreign_run.h"
#include "replay/why/why.h"

#include <stdlib.h>
#include <string.h>

/* `err` tries hundreds of settings: beyond so many events that takes minutes. */
enum { ANSWERED_EVENTS_MAX = 1000000 };

/* Writes with one function of why.h into a text of its own; NULL without memory. */
static char *text_of(const struct why *y, const char *event_word, void (*put)(FILE *, const struct why *, const char *))
{
    struct text_stream to;
    if (text_stream_open(&to) != NULL)
        put(to.file, y, event_word);
    return text_stream_take(&to);
}

static void put_verdict(FILE *to, const struct why *y, const char *event_word)
{
    struct words w = { .n = 0 };
    (void)event_word;
    why_add_verdict(&w, y);
    fputs(w.text, to);
}

static void put_paste(FILE *to, const struct why *y, const char *event_word)
{
    (void)event_word;
    why_put_paste(to, y, "");
}

static void put_promise(FILE *to, const struct why *y, const char *event_word)
{
    struct words w = { .n = 0 };
    (void)event_word;
    why_add_promise(&w, y);
    fputs(w.text, to);
}

/* Empty texts become none. */
static void drop_empty(char **text)
{
    if ((*text)[0] != '\0')
        return;
    free(*text);
    *text = NULL;
}

static enum err take_words(const struct why *y, const char *event_word, struct page_answer *out)
{
    out->verdict = text_of(y, event_word, put_verdict);
    out->paste = text_of(y, event_word, put_paste);
    out->promise = text_of(y, event_word, put_promise);
    out->reasons = text_of(y, event_word, why_print_reasons);
    if (out->verdict == NULL || out->paste == NULL || out->promise == NULL || out->reasons == NULL)
        return ERR_HOST_NOMEM;
    drop_empty(&out->paste);
    drop_empty(&out->promise);
    return ERR_OK;
}

/* The smallest card on which the recorded settings run the recording. */
static enum err take_card(struct trace_reader *trace, const struct device_choice *device, const struct why *y,
                          const struct replay_config *cfg, struct page_answer *out, struct err_detail *err)
{
    const bool is_least = coverage_is_lower_bound(&y->coverage);
    char size[TEXT_NUMBER], other[TEXT_NUMBER];
    struct fit fit;
    struct words w = { .n = 0 };
    struct replay_config caught = *cfg;
    caught.caught_before = y->coverage.caught_before;
    const enum err e = fit_find(trace, &y->tune.baseline.spec, device, y->tune.bounds.live_bytes, &caught, &fit, err);
    if (e != ERR_OK || fit.smallest_bytes == 0)
        return e;
    words_add(&w, "The smallest card for it as recorded has %s%s", is_least ? "at least " : "",
              text_card(fit.smallest_bytes, size));
    if (device->config.context_bytes > 0)
        words_add(&w, ", %s of it for the CUDA context and libraries", text_mib(device->config.context_bytes, other));
    if (fit.card != NULL && !is_least)
        words_add(&w, "; of cards with a name, %s", fit.card->name);
    words_add(&w, ".");
    if (!fit.is_monotone)
        words_add(&w, " Some from %s on run it, too, but not one of %s.", text_mib(fit.least_running_bytes, size),
                  text_mib(fit.larger_failing_bytes, other));
    out->card = strdup(w.text);
    return out->card != NULL ? ERR_OK : ERR_HOST_NOMEM;
}

static enum err answer_trace(struct trace_reader *trace, const char *device_text, const struct replay_config *cfg,
                             struct page_answer *out, struct err_detail *err)
{
    struct device_choice device;
    struct why y = { .event = -1 };
    enum err e = device_choose_for_advice(device_text, trace, &device, err);
    if (e != ERR_OK)
        return e;
    e = why_read(trace, false, &device, cfg, &y, err);
    if (e == ERR_OK)
        e = take_words(&y, trace_event_word(trace), out);
    if (e == ERR_OK)
        e = take_card(trace, &device, &y, cfg, out, err);
    why_close(&y);
    return e;
}

enum err report_answer_find(struct page *page, const struct replay_config *cfg, struct err_detail *err)
{
    const struct verdict *v = page->verdict;
    struct trace_reader *trace;
    struct err_detail reason = { .text = "" };
    const struct field *typed = run_table_cell(v->table, 0, "device_typed");
    const char *device = typed->kind == FIELD_TEXT ? typed->text : NULL;
    if (v->n_cases != 1 || foreign_run_check(NULL, device, NULL, &reason) != ERR_OK)
        return ERR_OK;
    enum err e = detailed_runs_open_trace(v->table, 0, &trace, &reason);
    if (e != ERR_OK)
        return e == ERR_HOST_NOMEM ? err_set(err, e, 0, "no memory for the answer of a page") : ERR_OK;
    if (trace_info(trace)->events > ANSWERED_EVENTS_MAX)
        e = detailed_runs_note(page, "The recording is long, so this page does not say why it ran out of memory: ask "
                               "`replay why` and `replay fit`.");
    else
        e = answer_trace(trace, device, cfg, &page->answer, &reason);
    trace_close(trace);
    return e == ERR_HOST_NOMEM ? err_set(err, e, 0, "no memory for the answer of a page") : ERR_OK;
}

void report_answer_close(struct page_answer *a)
{
    free(a->verdict);
    free(a->paste);
    free(a->promise);
    free(a->card);
    free(a->reasons);
    *a = (struct page_answer){ .verdict = NULL };
}
