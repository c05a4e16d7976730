/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_facts.h"

#include "base/shown.h"
#include "replay/why/log_phrases.h"

#include <stdio.h>
#include <string.h>

/* ---- signs ---- */

enum sign_kind { SIGN_IS_PLATFORM, SIGN_IS_SHARED, SIGN_IS_NOTEBOOK, SIGN_IS_WITHIN, SIGN_IS_NOT_IN_FORCE,
    SIGN_IS_SET };

#define SIGN_PLATFORM(platform, phrase) { SIGN_IS_PLATFORM, phrase, PLATFORM_##platform, NULL, NULL },
#define SIGN_SHARED(phrase, machine) { SIGN_IS_SHARED, phrase, PLATFORM_UNKNOWN, machine, NULL },
#define SIGN_NOTEBOOK(phrase) { SIGN_IS_NOTEBOOK, phrase, PLATFORM_UNKNOWN, NULL, NULL },
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
};

enum { N_SIGNS = sizeof signs / sizeof signs[0], NONE = N_SIGNS };

struct sign_search {
    const char       *text;
    size_t            n;
    struct log_facts *facts;
    size_t            within;        /* the first sign of its kind in the table that was seen */
    bool              has_windows, has_rocm;
};

static void take_platform(struct sign_search *s, enum platform p)
{
    s->has_windows = s->has_windows || p == PLATFORM_WINDOWS;
    s->has_rocm = s->has_rocm || p == PLATFORM_ROCM;
    if (p > s->facts->platform)
        s->facts->platform = p;
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
static void take_variable(struct sign_search *s, size_t at)
{
    char after[129] = "";
    if (is_before(s->text, at, 32, "try setting"))
        return;
    for (size_t i = 0; i + 1 < sizeof after && at + i < s->n && s->text[at + i] != '\n'; i++)
        after[i] = s->text[at + i];
    s->facts->is_expandable_asked |= strstr(after, "expandable_segments:True") != NULL;
    s->facts->is_split_asked |= strstr(after, "max_split_size_mb:") != NULL;
}

static void take_sign(void *arg, size_t i, size_t at)
{
    struct sign_search *s = arg;
    switch (signs[i].kind) {
    case SIGN_IS_PLATFORM:
        take_platform(s, signs[i].platform);
        break;
    case SIGN_IS_SHARED:
        s->facts->shared = signs[i].word;
        break;
    case SIGN_IS_NOTEBOOK:
        s->facts->shell = SHELL_NOTEBOOK;
        break;
    case SIGN_IS_WITHIN:
        s->within = i < s->within ? i : s->within;
        break;
    case SIGN_IS_NOT_IN_FORCE:
        s->facts->is_not_in_force = true;
        break;
    case SIGN_IS_SET:
        take_variable(s, at);
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

struct log_facts log_facts_read(const char *text, size_t n)
{
    struct log_facts facts = { .platform = PLATFORM_UNKNOWN };
    struct sign_search s = { .text = text, .n = n, .facts = &facts, .within = NONE };
    const char *phrases[N_SIGNS];
    struct log_phrases table;
    for (size_t i = 0; i < N_SIGNS; i++)
        phrases[i] = signs[i].phrase;
    log_phrases_init(&table, phrases, N_SIGNS);
    log_phrases_each(&table, text, n, take_sign, &s);
    if (s.has_windows && s.has_rocm && facts.platform == PLATFORM_ROCM)
        facts.platform = PLATFORM_ROCM_WINDOWS;
    if (facts.shell != SHELL_NOTEBOOK)
        facts.shell = s.has_windows ? SHELL_WINDOWS : platform_shell(facts.platform);
    if (s.within != NONE) {
        facts.within = signs[s.within].word;
        facts.within_advice = signs[s.within].advice;
    }
    return facts;
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
