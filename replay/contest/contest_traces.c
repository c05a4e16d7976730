/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Templates become texts by random choices; texts become traces by `loads`. */
#include "replay/contest/contest_traces.h"

#include "base/array.h"
#include "base/random.h"
#include "base/units.h"
#include "loads/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line of the edition: a stratum begins, a template with its number of draws, or a recording. */
struct edition_line { const char *stratum, *template, *recording; unsigned n; };
static const struct edition_line lines[] = {
#define CONTEST_STRATUM(name) { .stratum = name },
#define CONTEST_LOADS(count, typed) { .template = typed, .n = count },
#define CONTEST_RECORDING(file) { .recording = file, .n = 1 },
#include "replay/contest/edition_2.def"
};
enum { N_LINES = sizeof lines / sizeof lines[0] };

/* What the published traces must be, in the order of the edition. */
static const struct { const char *digest; uint64_t bound_bytes; } published[] = {
#define CONTEST_TRACE(digest, bound) { digest, bound },
#include "replay/contest/edition_2_traces.def"
    { NULL, 0 },
};

uint64_t contest_published_seed(void)
{
    return CONTEST_SEED;
}

const char *contest_stratum_at(size_t i)
{
    for (size_t k = 0; k < N_LINES; k++)
        if (lines[k].stratum != NULL && i-- == 0)
            return lines[k].stratum;
    return NULL;
}

/* ---- drawing ---- */

/* Copies the template; of each "{a|b|c}" one choice. Templates are the edition's own, so they fit. */
static void template_draw(const char *at, uint64_t *random, char out[CONTEST_TEXT])
{
    size_t n = 0;
    while (*at != '\0' && n + 1 < CONTEST_TEXT) {
        if (*at != '{') {
            out[n++] = *at++;
            continue;
        }
        const char *const end = strchr(at, '}');
        size_t n_choices = 1;
        for (const char *c = at; c < end; c++)
            n_choices += *c == '|';
        const char *choice = at + 1;
        for (size_t skip = random_next(random) % n_choices; skip > 0; skip--)
            choice = strchr(choice, '|') + 1;
        const size_t length = strcspn(choice, "|}");
        n += (size_t)snprintf(out + n, CONTEST_TEXT - n, "%.*s", (int)length, choice);
        at = end + 1;
    }
    out[n < CONTEST_TEXT ? n : CONTEST_TEXT - 1] = '\0';
}

/* The i-th draw of a line. */
static struct contest_trace line_draw(size_t line, unsigned i, size_t stratum, uint64_t seed)
{
    struct contest_trace t = { .stratum = stratum, .is_recording = lines[line].recording != NULL,
                               .is_frozen = seed == CONTEST_SEED || lines[line].recording != NULL };
    uint64_t random = random_mix(seed) ^ random_mix(line << 16 | i);
    if (t.is_recording)
        snprintf(t.text, sizeof t.text, "%s", lines[line].recording);
    else
        template_draw(lines[line].template, &random, t.text);
    t.seed = t.is_recording ? 0 : random_next(&random) >> 32;
    return t;
}

enum err contest_traces_draw(uint64_t seed, const char *stratum, struct contest_trace **out, size_t *n,
                             struct err_detail *err)
{
    struct contest_trace *all = NULL;
    size_t n_all = 0, room = 0, now = SIZE_MAX;
    for (size_t line = 0; line < N_LINES; line++) {
        now += lines[line].stratum != NULL;
        for (unsigned i = 0; i < lines[line].n; i++) {
            if (stratum != NULL && strcmp(stratum, contest_stratum_at(now)) != 0)
                continue;
            struct contest_trace *more = array_grow(all, n_all, &room, sizeof *all);
            if (more == NULL) {
                free(all);
                return err_no_memory(err);
            }
            all = more;
            all[n_all++] = line_draw(line, i, now, seed);
        }
    }
    *out = all;
    *n = n_all;
    return n_all > 0 ? ERR_OK
                     : err_set(err, ERR_USAGE, 0, "--stratum %s: it is training, experts, rl, serving, "
                               "diffusion, adverse or recorded", stratum);
}

/* ---- opening ---- */

struct requests_text { char *text; size_t n, room; bool is_short; uint64_t *by_slot, live, peak, n_requests; };

static void text_put(void *arg, const struct event *ev, uint64_t number)
{
    enum { LINE = 80 };
    struct requests_text *r = arg;
    (void)number;
    char *text = array_reserve(r->text, r->n, LINE, &r->room, 1);
    r->is_short |= text == NULL;
    if (text == NULL)
        return;
    r->text = text;
    if (ev->kind == EVENT_ALLOC) {
        r->n += (size_t)snprintf(text + r->n, LINE, "a %u %" PRIu64 " %u %u\n", ev->slot, ev->bytes, ev->stream,
                                 ev->pool);
        r->by_slot[ev->slot] = align_up(ev->bytes, CONTEST_ALIGNMENT);
        r->live += r->by_slot[ev->slot];
        r->peak = r->live > r->peak ? r->live : r->peak;
        r->n_requests++;
    } else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_COMPLETED) {
        r->n += (size_t)snprintf(text + r->n, LINE, "f %u\n", ev->slot);
        r->live -= r->by_slot[ev->slot];
    } else if (ev->kind == EVENT_FLUSH) {
        r->n += (size_t)snprintf(text + r->n, LINE, "e\n");
    }
}

static enum err trace_describe(struct contest_trace *t, struct trace_reader *trace, struct err_detail *err)
{
    struct requests_text r = { .by_slot = calloc((size_t)trace_info(trace)->peak_live + 1, sizeof *r.by_slot) };
    enum err e = r.by_slot != NULL ? trace_each_event(trace, text_put, &r, err) : err_no_memory(err);
    if (e == ERR_OK && r.is_short)
        e = err_no_memory(err);
    if (e == ERR_OK) {
        if (r.text != NULL)
            r.text[r.n] = '\0';
        const char *const text = r.text != NULL ? r.text : "";
        sha256_texts(&text, 1, t->digest);
        t->bound_bytes = r.peak;
        t->n_requests = r.n_requests;
    }
    free(r.by_slot);
    free(r.text);
    return e;
}

/* Whether some published trace has this digest and this bound: their order is not asked for, so that a part of the
 * edition can be checked too. */
static bool is_published(const struct contest_trace *t)
{
    for (size_t i = 0; published[i].digest != NULL; i++)
        if (strcmp(published[i].digest, t->digest) == 0)
            return published[i].bound_bytes == t->bound_bytes;
    return published[0].digest == NULL;              /* no list yet: it is being made */
}

static enum err load_open(const struct contest_trace *t, struct trace_reader **out, struct err_detail *err)
{
    struct trace_writer *w;
    enum err e = trace_create(NULL, &w, err);
    if (e != ERR_OK)
        return e;
    e = load_make(t->text, 0, t->seed, w, err);
    if (e == ERR_OK)
        return trace_finish_open(w, t->text, out, err);
    trace_abandon(w);
    return e;
}

static enum err recording_open(const struct contest_trace *t, const char *folder, struct trace_reader **out,
                               struct err_detail *err)
{
    char path[4096 + CONTEST_TEXT];
    struct err_detail reason = { .text = "" };
    snprintf(path, sizeof path, "%s/%s", folder, t->text);
    const enum err e = trace_open(path, out, &reason);
    if (e == ERR_OK)
        return ERR_OK;
    return err_set(err, e == ERR_IO ? ERR_INPUT : e, 0,
                   "its recordings are in the folder 'samples' of replay's source: %s", reason.text);
}

enum err contest_trace_open(struct contest_trace *t, const char *folder, struct trace_reader **out,
                            struct err_detail *err)
{
    *out = NULL;
    enum err e = t->is_recording ? recording_open(t, folder, out, err) : load_open(t, out, err);
    if (e == ERR_OK)
        e = trace_describe(t, *out, err);
    if (e == ERR_OK && t->is_frozen && !is_published(t))
        e = err_at(err, ERR_FORMAT, 0, t->text, "is not the trace of edition 2: its requests have another SHA-256");
    if (e == ERR_OK)
        e = trace_seek(*out, 0, err);
    if (e == ERR_OK)
        return ERR_OK;
    trace_close(*out);
    *out = NULL;
    return e;
}
