/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/program/why_session.h"

#include "base/input.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A log is searched in its last part only, so that a long one takes no more memory. */
enum { LOG_MAX = 1 << 24 };

void why_session_close(struct why_session *s)
{
    sweep_inputs_close(&s->files);
    free(s->said);
    free(s->reserved_bytes);
    why_close(&s->answer);
    trace_close(s->trace);
    if (s->spooled[0] != '\0')
        close(s->spool);
}

/* Standard input or a pipe may be either, and can be read only once: it is copied to a file. */
static enum err spool(struct why_session *s, struct err_detail *err)
{
    struct input *in = NULL;
    enum err e = input_open(s->path, &in, err);
    if (e != ERR_OK)
        return e;
    input_keep_raw(in);
    e = input_whole_file(in, &s->spool, err);
    input_close(in);
    if (e != ERR_OK)
        return e;
    snprintf(s->spooled, sizeof s->spooled, "/dev/fd/%d", s->spool);
    s->path = s->spooled;
    return ERR_OK;
}

/* What a person called the input: the copy's name says nothing. */
static const char *shown_path(const struct why_session *s)
{
    if (s->spooled[0] == '\0' || s->files.n > 0)
        return s->path;
    return strcmp(s->options->inputs[0], "-") == 0 ? "standard input" : s->options->inputs[0];
}

static uint64_t count_lines(const char *bytes, size_t n)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += bytes[i] == '\n';
    return lines;
}

/* Reads the text into `bytes`, keeping its last LOG_MAX bytes. Lines before them are counted in *dropped. */
static enum err read_log(struct input *in, char *bytes, size_t *n, uint64_t *dropped, struct err_detail *err)
{
    const unsigned char *part;
    size_t n_part = 1;
    enum err e = ERR_OK;
    *n = 0;
    *dropped = 0;
    while (e == ERR_OK && n_part > 0) {
        e = input_peek(in, INPUT_PEEK_MAX, &part, &n_part, err);
        if (e != ERR_OK || n_part == 0)
            break;
        if (*n + n_part > LOG_MAX) {
            *dropped += count_lines(bytes, LOG_MAX / 2);
            memmove(bytes, bytes + LOG_MAX / 2, *n - LOG_MAX / 2);
            *n -= LOG_MAX / 2;
        }
        memcpy(bytes + *n, part, n_part);
        *n += n_part;
        input_skip(in, n_part);
    }
    return e;
}

/* Whether bytes that are neither text nor a recording look like JSON, and not like "[1] 12345 killed". */
static bool is_json(const char *bytes, size_t n)
{
    size_t at = 1;
    while (at < n && (bytes[at] == ' ' || bytes[at] == '\n' || bytes[at] == '\r' || bytes[at] == '\t'))
        at++;
    return n > 1 && (bytes[0] == '{' || bytes[0] == '[') && at < n && strchr("{[\"", bytes[at]) != NULL;
}

/* Says what a text lacks. Of a recording that cannot be read, `err` already says more: it is binary, or JSON. */
static enum err refuse_text(const struct why_session *s, const char *bytes, size_t n, struct err_detail *err)
{
    if (n == 0 || !s->log.is_plain || is_json(bytes, n))
        return ERR_FORMAT;
    char mention[2 * LOG_OWN_LINE];
    log_answer_mention(&s->log, mention, sizeof mention);
    if (mention[0] != '\0')
        return err_at(err, ERR_FORMAT, 0, shown_path(s), "%s", mention);
    return err_at(err, ERR_FORMAT, 0, shown_path(s), "holds no error of memory that is known (doc/advice.md lists "
                  "them). Give the whole log, or record the run: replay record --help");
}

/* Takes the text of an OutOfMemoryError out of a file that is no recording, or the last error that says in other words
 * that the card was full. */
static enum err find_text(struct why_session *s, struct err_detail *err)
{
    struct err_detail reason;
    struct input *in = NULL;
    size_t n = 0;
    uint64_t dropped = 0;
    char *bytes = malloc(LOG_MAX + INPUT_PEEK_MAX);
    enum err e = bytes == NULL ? err_no_memory(&reason)
                               : input_open(s->path, &in, &reason);
    if (e == ERR_OK)
        e = read_log(in, bytes, &n, &dropped, &reason);
    if (e == ERR_HOST_NOMEM)
        *err = reason;
    else if (e != ERR_OK)
        e = ERR_FORMAT;                      /* `err` says what the file is not */
    else {
        log_answer_read(bytes, n, dropped, s->options->system, &s->log);
        s->named = log_recording_find(bytes, n);
        e = s->log.is_found ? ERR_OK : refuse_text(s, bytes, n, err);
    }
    input_close(in);
    free(bytes);
    return e;
}

/* Of a recording without a request nothing can be said: it may be cut off before the first. */
static enum err check_requests(const struct why_session *s, struct err_detail *err)
{
    size_t n_start;
    (void)trace_start_blocks(s->trace, &n_start);
    return trace_info(s->trace)->events > 0 || n_start > 0
         ? ERR_OK : err_at(err, ERR_INPUT, 0, shown_path(s), "holds no request, so nothing can be said of it");
}

/* A recorded limit tells the card, too, so that no other card is named. */
static enum err choose_device(struct why_session *s, const struct options *o, struct err_detail *err)
{
    char card[40];
    struct recorded_limit limit;
    const bool is_told = o->device == NULL && trace_info(s->trace)->capacity_bytes == 0 &&
                         recorded_limit_read(s->trace, &limit);
    if (is_told)
        snprintf(card, sizeof card, "sim:%" PRIu64, limit.card);
    const enum err e = device_choose_for_advice(is_told ? card : o->device, s->trace, o->system, &s->device, err);
    if (e == ERR_OK && is_told)
        s->device.has_total = false;
    return e;
}

void why_session_find_requests(const char *path, char beside[PATH_MAX])
{
    static const char ending[] = ".driver.zst";
    const size_t n = strlen(path), before = n > sizeof ending - 1 ? n - (sizeof ending - 1) : 0;
    beside[0] = '\0';
    if (before == 0 || strcmp(path + before, ending) != 0)
        return;
    const int put = snprintf(beside, PATH_MAX, "%.*s.zst", (int)before, path);
    if (put >= PATH_MAX || access(beside, R_OK) != 0)
        beside[0] = '\0';
}

/* Those are read in place of the calls. */
static void take_requests_beside(struct why_session *s)
{
    why_session_find_requests(s->path, s->beside);
    if (s->beside[0] != '\0')
        s->path = s->beside;
}

/* Of a log that names a recording: what lies beside it under that name is read in its place, if a request was refused
 * in it. Nowhere else is looked, whatever folders the log names. */
static void take_named(struct why_session *s, const struct options *o)
{
    char path[PATH_MAX];
    struct err_detail ignored;
    struct options named = *o;
    const char *file = path, *slash = strrchr(s->path, '/');
    const int folder = slash == NULL ? 0 : (int)(slash + 1 - s->path);
    if (s->named.name[0] == '\0' || s->files.n > 0 || s->spooled[0] != '\0' ||
        snprintf(path, sizeof path, "%.*s%s", folder, s->path, s->named.name) >= PATH_MAX || access(path, R_OK) != 0)
        return;
    named.inputs = &file;
    if (cli_open_trace_or_state(&named, 0, &s->trace, &s->is_state, &ignored) == ERR_OK &&
        trace_info(s->trace)->by_kind[EVENT_OOM] > 0) {
        s->is_named_read = true;
        return;
    }
    trace_close(s->trace);
    s->trace = NULL;
    s->is_state = false;
    s->named.is_told = false;                /* it is there, and tells nothing more */
}

enum err why_session_open(struct why_session *s, struct err_detail *err)
{
    struct options o = *s->options;
    s->path = s->files.n > 0 ? s->files.at[s->chosen].path : o.inputs[0];
    take_requests_beside(s);
    enum err e = input_is_once(s->path) ? spool(s, err) : ERR_OK;
    if (e != ERR_OK)
        return e;
    o.inputs = &s->path;
    e = cli_open_trace_or_state(&o, 0, &s->trace, &s->is_state, err);
    if (e == ERR_FORMAT) {
        e = find_text(s, err);
        if (e == ERR_OK)
            take_named(s, &o);
        if (e != ERR_OK || !s->is_named_read)
            return e;
    }
    if (e == ERR_OK)
        e = check_requests(s, err);
    if (e == ERR_OK)
        e = choose_device(s, &o, err);
    return e;
}
