/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_loose.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 512, NEAR = 40, LINES = 4 };   /* letters read of a line; between two words; lines an error is named in */

/* ---- words; of a line in small letters ---- */

typedef const char *const words_of[];

static words_of shortages = { "out of", "nsufficient", "not enough", "no enough", "exceed", "gone over", "too large",
                              "too little", "low on", "low virtual", "lack of", "exhausted", "ran out", NULL };
static words_of ends = { " is full", " exhausted", " required is", " used up", NULL };
static words_of refusals = { "failed", "cannot", "can't", "could not", "unable to", "refused", NULL };
static words_of kinds = { "memory", "vram", " ram ", "swap space", NULL };
static words_of calls = { "alloc", "mmap", NULL };
static words_of kills = { "signal 9", "signal: killed", "kill signal", "sigkill", NULL };
static words_of sizes = { "bytes", "mib", "gib", " mb", " gb", " of size ", " size: ", NULL };
static words_of errors = { "error", "fatal", "exception", "killed", "failed", "terminat", "abort", "panic", "died",
                           "lost", "was held", "exited", NULL };
/* Words that speak of memory and of no shortage of it. */
static words_of others = { "static tls", "memory access", "memory format", "memory leak", "memory usage of",
                           "read-only", "shared object", "attributeerror", "importerror", "typeerror", "deprecat",
                           "pytest", NULL };
static words_of of_host = { "cgroup", "physical memory", "cpu memory", "system memory", "host memory", "bad alloc",
                            "malloc of", "mmap", "swap space", "virtual memory", " ram ", "signal 9", "signal: killed",
                            "kill signal", "sigkill", "arraymemory", NULL };
static words_of of_card = { "gpu", "cuda", "vram", "video memory", "device memory", "graphics memory", "opencl",
                            "vulkan", "metal", "rocm", NULL };

/* Where one of the words stands; NULL: none does. */
static const char *find_any(const char *line, const char *const *words)
{
    for (; *words != NULL; words++) {
        const char *at = strstr(line, *words);
        if (at != NULL)
            return at;
    }
    return NULL;
}

/* Whether a word of the second list follows one of the first, not far behind it. */
static bool is_followed(const char *line, const char *const *first, const char *const *second)
{
    for (; *first != NULL; first++)
        for (const char *at = line; (at = strstr(at, *first)) != NULL; at++) {
            char near[NEAR + 16];
            snprintf(near, sizeof near, "%s", at + strlen(*first));
            if (find_any(near, second) != NULL)
                return true;
        }
    return false;
}

static bool is_kill(const char *line)
{
    return find_any(line, kills) != NULL;
}

static bool is_shortage(const char *line)
{
    const bool is_refused_size = find_any(line, sizes) != NULL &&
                                 (is_followed(line, refusals, calls) || is_followed(line, calls, refusals));
    return find_any(line, others) == NULL &&
           (is_kill(line) || strstr(line, "bad alloc") != NULL || strstr(line, "alloc failed") != NULL ||
            is_followed(line, shortages, kinds) || is_followed(line, kinds, ends) || is_refused_size);
}

static enum log_loose_whose whose(const char *line)
{
    return find_any(line, of_host) != NULL ? LOOSE_HOST : find_any(line, of_card) != NULL ? LOOSE_CARD : LOOSE_UNTOLD;
}

/* ---- the walk ---- */

/* text[at, end) in small letters, and spaces for what joins words. */
static void take_line(const char *text, size_t at, size_t end, char out[LINE])
{
    const size_t n = end - at < LINE - 1 ? end - at : LINE - 1;
    for (size_t i = 0; i < n; i++)
        out[i] = text[at + i] == '\0' || text[at + i] == '_' ? ' ' : (char)tolower((unsigned char)text[at + i]);
    out[n] = '\0';
}

enum log_loose_whose log_loose_find(const char *text, size_t n, size_t *at)
{
    enum log_loose_whose found = LOOSE_NONE;
    int since_error = LINES;
    for (size_t i = 0, end; i < n; i = end + 1) {
        const char *stop = memchr(text + i, '\n', n - i);
        char line[LINE];
        end = stop == NULL ? n : (size_t)(stop - text);
        take_line(text, i, end, line);
        since_error = find_any(line, errors) != NULL ? 0 : since_error + 1;
        if (since_error < LINES && is_shortage(line)) {
            found = whose(line);
            *at = i;
        }
    }
    return found;
}
