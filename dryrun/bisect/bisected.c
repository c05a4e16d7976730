/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "dryrun/bisect/bisected.h"

#include "base/progress.h"
#include "base/units.h"
#include "dryrun/prediction.h"
#include "dryrun/run/file_move.h"
#include "traces/stack_frame.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct version_peak *bisected_peak(const struct bisected *b, size_t version)
{
    return version == SIZE_MAX ? b->good : &b->at[version];
}

/* ---- one version ---- */

static struct prediction_request prediction_asked(const struct bisected *b)
{
    const struct bisect_request *r = &b->asked;
    return (struct prediction_request){
        .program = b->history.words, .n_words = r->versions.n_words, .cards = &b->asked.device,
        .n_cards = r->device != NULL ? 1 : 0, .steps = r->steps, .within_s = r->within_s, .peak_only = true,
        .without_overlay = r->without_overlay, .torch_libs = r->torch_libs, .values = r->values,
        .threads = r->threads, .interrupted = r->versions.interrupted,
    };
}

/* Whether a path of n letters lies below a folder. */
static bool is_below(const char *path, size_t n, const char *folder)
{
    const size_t n_folder = strlen(folder);
    return n > n_folder && strncmp(path, folder, n_folder) == 0 && path[n_folder] == '/';
}

/* A line of the person's own tree, which is the same at each commit, although the worktree's is meant. That one may lie
 * in the person's, if TMPDIR does. */
static enum err look_for_foreign(const struct bisected *b, struct version_peak *v, struct err_detail *err)
{
    struct trace_reader *trace;
    char ours[PATH_MAX];
    if (b->history.top[0] == '\0')
        return ERR_OK;
    if (realpath(b->history.folder.path, ours) == NULL)
        return err_at(err, ERR_IO, 0, b->history.folder.path, "cannot be read: %s", strerror(errno));
    const enum err e = trace_open(v->trace, &trace, err);
    if (e != ERR_OK)
        return e;
    for (uint32_t stack = 1; stack <= trace_info(trace)->n_stacks && v->foreign[0] == '\0'; stack++) {
        const char *const *frames;
        const size_t n = trace_stack(trace, stack, &frames);
        for (size_t i = 0; i < n && v->foreign[0] == '\0'; i++) {
            const struct stack_frame f = stack_frame_parse(frames[i]);
            if (is_below(f.file, f.n_file, b->history.top) && !is_below(f.file, f.n_file, ours) &&
                stack_frame_is_program(&f))
                snprintf(v->foreign, sizeof v->foreign, "%.*s", (int)(f.n_file < 180 ? f.n_file : 180), f.file);
        }
    }
    trace_close(trace);
    return ERR_OK;
}

/* Whether the peak is one: the run ended well, or showed whole steps, and no process of it failed. */
static void take_peak(const struct bisected *b, const struct prediction *p, struct version_peak *v)
{
    const struct predicted_row *row = &p->rows[0];
    const struct predicted_run *run = row->is_known ? &p->runs[row->run].made : NULL;
    if (run == NULL)
        return;
    v->is_of_jax = run->jax.is_there;
    v->peak_bytes = v->is_of_jax ? run->jax.peak_bytes : row->answer.peak_reserved_bytes;
    v->grows = predicted_run_grows(run);
    v->is_known = !run->has_failed && (run->end == RUN_ENDED || run->whole_steps > 0 || v->grows);
    if (run->has_failed)
        quiet_reason(run->failure.line, v->reason);
    else if (!v->is_known)
        snprintf(v->reason, sizeof v->reason, "neither an end nor equal steps within %" PRIu64 " s (--within)",
                 b->asked.within_s);
}

static enum err keep_trace(const struct bisected *b, const struct prediction *p, size_t version,
                           struct version_peak *v, struct err_detail *err)
{
    const struct predicted_row *row = &p->rows[0];
    if (!v->is_known)
        return ERR_OK;
    snprintf(v->trace, sizeof v->trace, "%.*s/%zu.zst", PATH_MAX - 32, b->history.folder.path, version + 1);
    return file_move(p->runs[row->run].made.trace, v->trace, err);
}

/* A program that shows nothing by itself is one that did not run; what else fails is ours to tell. */
static enum err take_failure(enum err e, const struct prediction *p, struct version_peak *v, struct err_detail *err)
{
    const bool is_of_program = e == ERR_INPUT || e == ERR_USAGE || (e == ERR_DEVICE_OOM && p->showed_nothing);
    if (!is_of_program)
        return e;
    quiet_reason(e == ERR_USAGE || p->last_words.line[0] == '\0' ? err->text : p->last_words.line, v->reason);
    return ERR_OK;
}

static enum err predict(struct bisected *b, size_t version, struct version_peak *v, struct err_detail *err)
{
    struct prediction *p = calloc(1, sizeof *p);
    if (p == NULL)
        return err_no_memory(err);
    char name[VERSION_NAME];
    struct prediction_request asked = prediction_asked(b);
    asked.of = history_name(&b->history, version, name);
    enum err e = prediction_open(&asked, p, err);
    if (e == ERR_OK) {
        e = prediction_make(p, err);
        if (e != ERR_OK)
            e = take_failure(e, p, v, err);
        else
            take_peak(b, p, v);
        if (e == ERR_OK)
            e = keep_trace(b, p, version, v, err);
    }
    prediction_close(p);
    free(p);
    if (e == ERR_OK && *b->asked.versions.interrupted != 0)
        e = err_set(err, ERR_INTERRUPTED, 0, "interrupted");
    return e == ERR_OK && v->is_known ? look_for_foreign(b, v, err) : e;
}

/* A line on a terminal, so that a person sees how far it is. */
static void tell(const struct bisected *b, size_t version)
{
    char name[VERSION_NAME], bytes[UNITS_TEXT];
    const struct version_peak *v = bisected_peak(b, version);
    if (isatty(STDERR_FILENO) == 0)
        return;
    progress_erase_line();
    fprintf(stderr, "replay bisect: %s %s", history_name(&b->history, version, name),
            v->is_known ? units_format_bytes(v->peak_bytes, bytes) : "did not run");
    if (b->bisection.n > 0)
        fprintf(stderr, ", about %u more", bisection_left(&b->bisection));
    fputc('\n', stderr);
}

/* Brings a version and predicts it, once. */
static enum err try_version(struct bisected *b, size_t version, struct err_detail *err)
{
    struct version_peak *v = bisected_peak(b, version);
    bool is_there = false;
    if (v->is_tried)
        return ERR_OK;
    enum err e = history_bring(&b->history, version, &is_there, v->reason, err);
    if (e == ERR_OK && is_there)
        e = predict(b, version, v, err);
    if (e != ERR_OK)
        return e;
    v->is_tried = true;
    b->n_runs++;
    b->n_not_run += !v->is_known;
    return ERR_OK;
}

/* ---- the ends ---- */

static enum err end_fails(const struct bisected *b, const char *option, size_t version, struct err_detail *err)
{
    const struct version_peak *v = bisected_peak(b, version);
    char name[VERSION_NAME];
    return err_set(err, ERR_INPUT, 0, "the program did not run at %s %s: %.120s%s", option,
                   history_name(&b->history, version, name), v->reason,
                   b->history.asked.package != NULL ? "" : ". It runs in a fresh checkout, where files that git does "
                   "not track are missing; name them by their whole path");
}

static enum err check_end(const struct bisected *b, const char *option, size_t version, struct err_detail *err)
{
    const struct version_peak *v = bisected_peak(b, version);
    if (!v->is_known)
        return end_fails(b, option, version, err);
    if (v->foreign[0] != '\0')
        return err_set(err, ERR_INPUT, 0, "the program runs code of your own tree, which is the same at each commit: "
                       "%.150s; take it from the working folder or from PYTHONPATH", v->foreign);
    return ERR_OK;
}

static enum err try_ends(struct bisected *b, struct err_detail *err)
{
    const size_t bad = b->history.n - 1;
    enum err e = try_version(b, SIZE_MAX, err);
    if (e == ERR_OK)
        e = check_end(b, "--good", SIZE_MAX, err);
    if (e == ERR_OK && b->good->grows)
        e = err_set(err, ERR_INPUT, 0, "the program has no peak at --good: its memory grows with each step; let it end "
                    "by itself, after a few steps");
    if (e != ERR_OK)
        return e;
    tell(b, SIZE_MAX);
    e = try_version(b, bad, err);
    if (e == ERR_OK)
        e = check_end(b, "--bad", bad, err);
    if (e != ERR_OK)
        return e;
    tell(b, bad);
    b->none_above = rise_none_above(&b->threshold, b->good->peak_bytes);
    const uint64_t high = b->at[bad].peak_bytes;
    b->low_limit = high > b->none_above ? rise_low_limit(&b->threshold, b->good->peak_bytes, high) : b->none_above;
    return ERR_OK;
}

static bool is_high(const struct bisected *b, const struct version_peak *v)
{
    return v->peak_bytes > b->low_limit || v->grows;
}

/* ---- between them ---- */

static enum err search(struct bisected *b, struct err_detail *err)
{
    const struct history *h = &b->history;
    size_t version;
    enum err e = bisection_open(h->n, h->first_parent, h->parents, &b->bisection, err);
    while (e == ERR_OK && bisection_next(&b->bisection, &version)) {
        const struct version_peak *v = &b->at[version];
        e = try_version(b, version, err);
        if (e != ERR_OK)
            break;
        bisection_mark(&b->bisection, version, !v->is_known      ? VERSION_SKIPPED
                                               : is_high(b, v) ? VERSION_HIGH : VERSION_LOW);
        tell(b, version);
    }
    return e;
}

/* The parent whose peak is highest; those of a merge that were not tried are tried now. One that does not run is left
 * out; if none runs, what is before is the good one. */
static enum err find_before(struct bisected *b, struct err_detail *err)
{
    const struct history *h = &b->history;
    const size_t named = b->bisection.high;
    enum err e = ERR_OK;
    b->before = SIZE_MAX;
    for (size_t i = h->first_parent[named]; i < h->first_parent[named + 1] && e == ERR_OK; i++) {
        const size_t parent = h->parents[i];
        e = try_version(b, parent, err);
        if (e == ERR_OK && b->at[parent].is_known &&
            (b->before == SIZE_MAX || b->at[parent].peak_bytes > b->at[b->before].peak_bytes))
            b->before = parent;
    }
    return e;
}

static enum err conclude(struct bisected *b, struct err_detail *err)
{
    b->end = b->bisection.n_candidates == 1 ? BISECT_NAMED : BISECT_OPEN;
    if (b->end == BISECT_OPEN)
        return ERR_OK;
    char folder[PATH_MAX + 16];
    snprintf(folder, sizeof folder, "%s/%s/", b->history.folder.path,
             b->asked.versions.package == NULL ? "tree" : "package");
    const enum err e = find_before(b, err);
    return e != ERR_OK ? e : what_grew_find(bisected_peak(b, b->before)->trace, b->at[b->bisection.high].trace, folder,
                                            &b->grew, err);
}

/* From the ends to what is concluded. */
static enum err run_all(struct bisected *b, struct err_detail *err)
{
    enum err e = try_ends(b, err);
    const struct version_peak *bad = &b->at[b->history.n - 1];
    if (e == ERR_OK && bad->peak_bytes <= b->none_above && !bad->grows) {
        b->end = BISECT_NOT_HIGHER;
        return ERR_OK;
    }
    if (e == ERR_OK)
        e = search(b, err);
    if (e == ERR_OK)
        e = conclude(b, err);
    return e == ERR_INTERRUPTED && bad->is_known ? ERR_OK : e;
}

enum err bisected_make(const struct bisect_request *request, struct bisected *out, struct err_detail *err)
{
    struct err_detail ours;
    *out = (struct bisected){ .asked = *request, .end = BISECT_INTERRUPTED, .before = SIZE_MAX };
    if (request->more_than != NULL && !rise_threshold_read(request->more_than, &out->threshold))
        return err_set(err, ERR_USAGE, 0, "--more-than '%.40s': expected a share of the good peak, as 5%%, or a size, "
                       "as 200MiB", request->more_than);
    enum err e = history_open(&request->versions, &out->history, err);
    if (e == ERR_OK && (out->at = calloc(out->history.n + 1, sizeof *out->at)) == NULL)
        e = err_no_memory(err);
    if (e != ERR_OK)
        return e;
    out->good = &out->at[out->history.n];
    e = run_all(out, err);
    const enum err back = history_go_back(&out->history, &ours);
    if (e == ERR_OK && back != ERR_OK)
        *err = ours;
    return e == ERR_OK ? back : e;
}

void bisected_close(struct bisected *b)
{
    what_grew_close(&b->grew);
    bisection_close(&b->bisection);
    history_close(&b->history);
    free(b->at);
    b->at = NULL;
}

struct rise_left bisected_left(const struct bisected *b)
{
    const uint64_t least = b->none_above - b->good->peak_bytes, good = b->good->peak_bytes;
    const uint64_t bad = b->at[b->history.n - 1].peak_bytes, after = b->at[b->bisection.high].peak_bytes;
    const uint64_t before = bisected_peak(b, b->before)->peak_bytes;
    return (struct rise_left){ .before_bytes = before > good && before - good > least ? before - good : 0,
                               .after_bytes = bad > after && bad - after > least ? bad - after : 0 };
}
