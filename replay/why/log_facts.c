/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_facts.h"

#include "base/shown.h"
#include "replay/why/log_phrases.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- signs ---- */

enum sign_kind {
    SIGN_IS_PLATFORM, SIGN_IS_SHARED, SIGN_IS_NOTEBOOK, SIGN_IS_CONTAINER, SIGN_IS_SEVERAL, SIGN_IS_SLICE,
    SIGN_IS_SLEEP, SIGN_IS_ASYNC, SIGN_IS_TORCH, SIGN_IS_WITHIN, SIGN_IS_NOT_IN_FORCE, SIGN_IS_SET, SIGN_IS_RECORDING
};

#define SIGN_PLATFORM(platform, phrase) { SIGN_IS_PLATFORM, phrase, PLATFORM_##platform, NULL, NULL },
#define SIGN_SHARED(phrase, machine) { SIGN_IS_SHARED, phrase, PLATFORM_UNKNOWN, machine, NULL },
#define SIGN_NOTEBOOK(phrase) { SIGN_IS_NOTEBOOK, phrase, PLATFORM_UNKNOWN, NULL, NULL },
#define SIGN_CONTAINER(phrase) { SIGN_IS_CONTAINER, phrase, PLATFORM_UNKNOWN, NULL, NULL },
#define SIGN_SEVERAL(phrase) { SIGN_IS_SEVERAL, phrase, PLATFORM_UNKNOWN, NULL, NULL },
#define SIGN_SLICE(phrase) { SIGN_IS_SLICE, phrase, PLATFORM_UNKNOWN, NULL, NULL },
#define SIGN_SLEEP(phrase) { SIGN_IS_SLEEP, phrase, PLATFORM_UNKNOWN, NULL, NULL },
#define SIGN_ASYNC(phrase) { SIGN_IS_ASYNC, phrase, PLATFORM_UNKNOWN, NULL, NULL },
#define SIGN_TORCH(phrase) { SIGN_IS_TORCH, phrase, PLATFORM_UNKNOWN, NULL, NULL },
#define SIGN_WITHIN(stack, phrase, advice) { SIGN_IS_WITHIN, phrase, PLATFORM_UNKNOWN, stack, advice },
#define SIGN_NOT_IN_FORCE(phrase) { SIGN_IS_NOT_IN_FORCE, phrase, PLATFORM_UNKNOWN, NULL, NULL },
static const struct sign {
    enum sign_kind kind;
    const char    *phrase;
    enum platform  platform;
    const char    *word, *advice;
} signs[] = {
#include "replay/why/log_signs.def"
    { SIGN_IS_SET, "ALLOC_CONF", PLATFORM_UNKNOWN, NULL, NULL },
    { SIGN_IS_RECORDING, ": PyTorch's requests, process ", PLATFORM_UNKNOWN, NULL, NULL },
};

enum { N_SIGNS = sizeof signs / sizeof signs[0], NONE = N_SIGNS };

/* "C:\\" is a drive unless it ends a word, as in "SIZE:\\n". */
static bool is_drive(const char *phrase)
{
    return phrase[1] == ':';
}

static void take_platform(struct log_facts_walk *w, enum platform p)
{
    w->has_windows = w->has_windows || p == PLATFORM_WINDOWS;
    w->has_rocm = w->has_rocm || p == PLATFORM_ROCM;
    if (p > w->facts.platform)
        w->facts.platform = p;
}

static bool is_before(const char *text, size_t at, size_t reach, const char *words)
{
    const size_t length = strlen(words);
    for (size_t i = at > reach ? at - reach : 0; i + length <= at; i++)
        if (memcmp(text + i, words, length) == 0)
            return true;
    return false;
}

/* A variable is set here, unless PyTorch's own hint speaks: "try setting PYTORCH_CUDA_ALLOC_CONF=...". */
static void take_variable(struct log_facts_walk *w, size_t at)
{
    static const char general[] = "PYTORCH_";
    char after[129] = "";
    if (is_before(w->text, at, 32, "try setting"))
        return;
    for (size_t i = 0; i + 1 < sizeof after && at + i < w->n && w->text[at + i] != '\n'; i++)
        after[i] = w->text[at + i];
    const bool is_asked = strstr(after, "expandable_segments:True") != NULL;
    w->facts.is_expandable_asked |= is_asked;
    w->facts.is_asked_by_own |= is_asked && !is_before(w->text, at, strlen(general), general);
    w->facts.is_split_asked |= strstr(after, "max_split_size_mb:") != NULL;
}

/* "7" of "2.9.0+rocm7.0" and "/opt/rocm-7.0.2"; 0: no number follows. */
static unsigned read_rocm(const struct log_facts_walk *w, size_t at)
{
    enum { REACH = 16 };
    unsigned version = 0;
    for (size_t i = at; i < w->n && i < at + REACH && w->text[i] != ' '; i++)
        if (w->text[i] >= '0' && w->text[i] <= '9')
            version = version * 10 + (unsigned)(w->text[i] - '0');
        else if (version > 0)
            break;
    return version < 100 ? version : 0;
}

/* "replay run-sim: run.zst: PyTorch's requests, process 41, device 0": the first counts. A name that a shell would not
 * take as it stands is left out, because it would be pasted. */
static void take_recording(struct log_facts_walk *w, size_t at)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+";
    size_t from = at;
    while (from > 0 && at - from < sizeof w->facts.recording && w->text[from - 1] != '\0' &&
           strchr(plain, w->text[from - 1]) != NULL)
        from--;
    const size_t n = at - from;
    if (w->facts.recording[0] != '\0' || n == 0 || n >= sizeof w->facts.recording || w->text[from] == '-' ||
        from < 2 || memcmp(w->text + from - 2, ": ", 2) != 0)
        return;
    memcpy(w->facts.recording, w->text + from, n);
    w->facts.recording[n] = '\0';
}

/* A line of nvidia-smi's table names a process, which may be another one than the log's:
 * "0 N/A N/A 41022 C .../envs/vllm/bin/python3 15564MiB". */
static bool is_of_process_table(const struct log_facts_walk *w, size_t at)
{
    static const char column[] = "N/A N/A ";
    for (size_t i = at; i > 0 && at - i < 96 && w->text[i - 1] != '\n'; i--)
        if (log_phrase_is(w->text, w->n, i - 1, column))
            return true;
    return false;
}

void log_facts_take(struct log_facts_walk *w, size_t i, size_t at)
{
    switch (signs[i].kind) {
    case SIGN_IS_PLATFORM:
        if (is_drive(signs[i].phrase) && at > 0 && isalnum((unsigned char)w->text[at - 1]))
            break;
        take_platform(w, signs[i].platform);
        if (signs[i].platform == PLATFORM_ROCM && w->facts.rocm == 0 && strstr(signs[i].phrase, "rocm") != NULL)
            w->facts.rocm = read_rocm(w, at);
        break;
    case SIGN_IS_SHARED:
        w->facts.shared = signs[i].word;
        break;
    case SIGN_IS_NOTEBOOK:
        w->facts.shell = SHELL_NOTEBOOK;
        break;
    case SIGN_IS_CONTAINER:
        w->facts.is_container = true;
        break;
    case SIGN_IS_SEVERAL:
        w->facts.is_of_several = true;
        break;
    case SIGN_IS_SLICE:
        w->facts.is_slice = true;
        break;
    case SIGN_IS_SLEEP:
        w->facts.has_sleep = true;
        break;
    case SIGN_IS_ASYNC:
        w->facts.is_async = true;
        break;
    case SIGN_IS_TORCH:
        w->facts.has_torch = true;
        break;
    case SIGN_IS_WITHIN:
        w->within = i < w->within && !is_of_process_table(w, at) ? i : w->within;
        break;
    case SIGN_IS_NOT_IN_FORCE:
        w->facts.is_not_in_force = true;
        break;
    case SIGN_IS_SET:
        take_variable(w, at);
        break;
    case SIGN_IS_RECORDING:
        take_recording(w, at);
        break;
    }
}

void log_facts_set_platform(struct log_facts *f, enum platform p)
{
    f->platform = p;
    f->is_guess = false;
    if (f->shell != SHELL_NOTEBOOK)
        f->shell = platform_shell(p);
}

void log_facts_guess_windows(struct log_facts *f)
{
    log_facts_set_platform(f, PLATFORM_WINDOWS);
    f->is_guess = true;
}

struct log_facts_walk log_facts_walk_of(const char *text, size_t n)
{
    return (struct log_facts_walk){ .text = text, .n = n, .facts = { .platform = PLATFORM_UNKNOWN }, .within = NONE };
}

size_t log_facts_count(void)
{
    return N_SIGNS;
}

const char *log_facts_phrase(size_t i)
{
    return signs[i].phrase;
}

struct log_facts log_facts_of(const struct log_facts_walk *w)
{
    struct log_facts facts = w->facts;
    if (w->has_windows && w->has_rocm && facts.platform == PLATFORM_ROCM)
        facts.platform = PLATFORM_ROCM_WINDOWS;
    if (facts.shell != SHELL_NOTEBOOK)
        facts.shell = w->has_windows ? SHELL_WINDOWS : platform_shell(facts.platform);
    if (w->within != NONE) {
        facts.within = signs[w->within].word;
        facts.within_advice = signs[w->within].advice;
    }
    return facts;
}

/* ---- who asked the driver ---- */

enum { NO, YES, CALLER_BEFORE = 1500, CALLER_AFTER = 300 };

static const struct log_caller callers[] = {
#define CALLER(stack, phrase, is_in_torch, advice) { stack, phrase, advice, is_in_torch },
#include "replay/why/log_callers.def"
#undef CALLER
};

const struct log_caller *log_facts_caller(const char *text, size_t n, size_t at)
{
    const size_t from = at > CALLER_BEFORE ? at - CALLER_BEFORE : 0;
    const size_t to = n - at > CALLER_AFTER ? at + CALLER_AFTER : n;
    for (size_t k = 0; k < sizeof callers / sizeof callers[0]; k++)
        for (size_t i = from; i < to; i++)
            if (log_phrase_is(text, n, i, callers[k].phrase))
                return &callers[k];
    return NULL;
}

/* ---- which backend of ggml ---- */

static const struct { const char *phrase, *advice; } backends[] = {
#define BACKEND(phrase, advice) { phrase, advice },
#include "replay/why/log_backends.def"
#undef BACKEND
};

const char *log_facts_backend(const char *text, size_t n, size_t at)
{
    const size_t from = at > CALLER_BEFORE ? at - CALLER_BEFORE : 0;
    const size_t to = n - at > CALLER_AFTER ? at + CALLER_AFTER : n;
    const char *found = NULL;
    size_t nearest = SIZE_MAX;
    for (size_t i = from; i < to; i++)
        for (size_t k = 0; k < sizeof backends / sizeof backends[0]; k++) {
            const size_t away = i < at ? at - i : i - at;
            if (away >= nearest || !log_phrase_is(text, n, i, backends[k].phrase))
                continue;
            nearest = away;
            found = backends[k].advice;
        }
    return found;
}

/* ---- what it did ---- */

bool log_is_loading(const char *text, size_t at)
{
    static const char *const frames[] = { "in _apply", "return t.to(", "t.cuda(device" };
    enum { REACH = 1200 };
    for (size_t i = at > REACH ? at - REACH : 0; i < at; i++)
        for (size_t k = 0; k < sizeof frames / sizeof frames[0]; k++)
            if (log_phrase_is(text, at, i, frames[k]))
                return true;
    return false;
}

/* ---- the program's own line ---- */

enum { TRACEBACK_REACH = 1 << 16, LINE_SHOWN = 100 };

static bool is_installed(const char *path, size_t n)
{
    static const char *const parts[] = { "site-packages", "dist-packages", "/lib/python", "\\lib\\", "<frozen",
                                         "conda/envs" };
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
        for (size_t i = 0; i + strlen(parts[k]) <= n; i++)
            if (memcmp(path + i, parts[k], strlen(parts[k])) == 0)
                return true;
    return false;
}

static size_t line_end(const char *text, size_t n, size_t at)
{
    while (at < n && text[at] != '\n')
        at++;
    return at;
}

/* "train.py:40, in step" of `File "/a/train.py", line 40, in step`; false if it is none, or of a package. */
static bool read_frame(const char *text, size_t n, size_t at, char *out, size_t room)
{
    const size_t end = line_end(text, n, at);
    char line[512], *file, *rest, *name;
    snprintf(line, sizeof line, "%.*s", (int)(end - at < sizeof line - 1 ? end - at : sizeof line - 1), text + at);
    file = strchr(line, '"') + 1;
    rest = strchr(file, '"');
    if (rest == NULL || strncmp(rest, "\", line ", 8) != 0 || is_installed(file, (size_t)(rest - file)))
        return false;
    *rest = '\0';
    name = strrchr(file, '/') != NULL ? strrchr(file, '/') + 1 : file;
    name = strrchr(name, '\\') != NULL ? strrchr(name, '\\') + 1 : name;
    snprintf(out, room, "%.60s:%.60s", name, rest + 8);
    return true;
}

/* Adds the source line below the frame, if there is one. */
static void add_source(const char *text, size_t n, size_t at, char *out, size_t room)
{
    size_t from = line_end(text, n, at) + 1;
    const size_t used = strlen(out);
    while (from < n && (text[from] == ' ' || text[from] == '\t'))
        from++;
    const size_t to = from < n ? line_end(text, n, from) : n;
    if (from >= to || strncmp(text + from, "File \"", 6 < n - from ? 6 : n - from) == 0 ||
        memchr(text + from, ':', to - from) != NULL)
        return;
    snprintf(out + used, room - used, ": %.*s", (int)(to - from < LINE_SHOWN ? to - from : LINE_SHOWN), text + from);
}

bool log_own_line(const char *text, size_t at, char *out, size_t room)
{
    static const char frame[] = "File \"";
    const size_t least = at > TRACEBACK_REACH ? at - TRACEBACK_REACH : 0;
    for (size_t i = at; i-- > least;)
        if (at - i > strlen(frame) && memcmp(text + i, frame, strlen(frame)) == 0 &&
            read_frame(text, at, i, out, room)) {
            add_source(text, at, i, out, room);
            shown_clean(out, false);
            return true;
        }
    return false;
}
