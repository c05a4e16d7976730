/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_later.h"

#include "base/shown.h"
#include "replay/why/oom_text.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LINE_READ = 400 };                    /* of a line, its beginning */

/* ---- one line ---- */

static bool holds_any(const char *line, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strstr(line, *words) != NULL)
            return true;
    return false;
}

/* Past "[2026-01-01 10:05:02] ", "[rank0]: " and times, which a log puts before each line. */
static const char *skip_prefix(const char *line)
{
    for (const char *at = line;; line = at) {
        if (*at == '[' && strchr(at, ']') != NULL)
            at = strchr(at, ']') + 1;
        else if (isdigit((unsigned char)*at))
            at += strcspn(at, " \t");
        at += strspn(at, ": \t-|");
        if (at == line)
            return line;
    }
}

/* "KeyError: 'x'", "json.decoder.JSONDecodeError: ...": a Python error. */
static bool is_error(const char *line)
{
    size_t name = 0;
    while (line[name] != '\0' && (isalnum((unsigned char)line[name]) || line[name] == '.' || line[name] == '_'))
        name++;
    const bool is_named = (name > 5 && memcmp(line + name - 5, "Error", 5) == 0) ||
                          (name > 9 && memcmp(line + name - 9, "Exception", 9) == 0);
    return is_named && (line[name] == '\0' || line[name] == ':');
}

/* It is of memory, or of a launcher that only passes one on. What was refused may be None afterwards, so an error about
 * None is no other one. */
static bool is_of_memory(const char *line)
{
    static const char *const parts[] = { "memory", "Memory", "CUDA", "ChildFailed", "CalledProcess", "ProcessRaised",
                                         "ProcessExited", "Engine", "WorkerProc", "SystemExit", "'NoneType' object",
                                         "NRT_RESOURCE", "Runtime.ExitError", "BLAS support",
                                         "compiling objects", "NIXL_ERR_BACKEND",
                                         NULL };
    return holds_any(line, parts);
}

/* What the processes of a run say when one of them has died. */
static bool is_of_lost_peer(const char *line)
{
    static const char *const words[] = { "DistBackendError", "DistNetworkError", "DistStoreError", "NCCL", "RCCL",
                                         "Gloo", "gloo", "Connection closed by peer", "BrokenPipeError",
                                         "ConnectionResetError", "ConnectionRefusedError", "ConnectionAbortedError",
                                         "EOFError", "Broken pipe", "onnection reset by peer", "DataLoader worker",
                                         "BrokenProcessPool", "process pool was terminated", "WorkerCrashedError",
                                         "ActorDiedError", "RayActorError", "RendezvousConnectionError", "TCPStore",
                                         NULL };
    return holds_any(line, words);
}

/* ---- the walk ---- */

struct later_walk {
    int64_t rank;                    /* that was refused; -1: the log does not say */
    bool is_survived;
    bool is_of_it;                   /* the last error that was seen: the answered one, or a consequence of it */
    bool is_chained, is_ignored;     /* Python has said so of the next */
    struct log_later *out;
};

static bool is_consequence(const struct later_walk *w, const char *line)
{
    if (w->is_chained)
        return w->is_of_it;
    const int64_t rank = oom_text_rank(line, strlen(line));
    return !w->is_survived && (is_of_lost_peer(line) || (w->rank >= 0 && rank >= 0 && rank != w->rank));
}

static void take_error(struct later_walk *w, const char *line)
{
    if (!w->is_ignored && is_of_memory(line)) {
        w->is_of_it = true;
    } else if (!w->is_ignored) {
        w->is_of_it = is_consequence(w, line);
        snprintf(w->is_of_it ? w->out->of_it : w->out->other, LOG_LATER_LINE, "%.160s", skip_prefix(line));
    }
    w->is_chained = w->is_ignored = false;
}

static void take_line(struct later_walk *w, const char *line)
{
    static const char *const chains[] = { "The above exception was the direct cause of",
                                          "During handling of the above exception", NULL };
    if (holds_any(line, chains))
        w->is_chained = true;
    else if (strstr(line, "Exception ignored in") != NULL)
        w->is_ignored = true;
    else if (is_error(skip_prefix(line)))
        take_error(w, line);
}

static void clean(char *line)
{
    shown_clean(line, false);
    for (size_t n = strlen(line); n > 0 && strchr(". ", line[n - 1]) != NULL; n--)
        line[n - 1] = '\0';
}

void log_later_read(const char *text, size_t n, size_t at, bool is_survived, struct log_later *out)
{
    struct later_walk w = { .rank = oom_text_rank(text, at), .is_survived = is_survived, .is_of_it = true, .out = out };
    out->other[0] = out->of_it[0] = '\0';
    for (const char *line = memchr(text + at, '\n', n - at), *end = text + n; line != NULL && ++line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        const size_t length = (size_t)((stop == NULL ? end : stop) - line);
        char one[LINE_READ];
        snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : sizeof one), line);
        take_line(&w, one);
        line = stop;
    }
    clean(out->other);
    clean(out->of_it);
}
