/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A text is normalised first: every run of blanks becomes one, so that a log's line breaks do not matter. */
#include "replay/why/oom_text.h"

#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 2048 };            /* the longest text is below 1,000 bytes */

static const char opening[] = "out of memory. Tried to allocate ";

/* Copies text[at, n) with single blanks, at most `most` letters. */
static void normalise(const char *text, size_t at, size_t n, size_t most, char out[static TEXT_MAX])
{
    size_t used = 0;
    for (; at < n && used < most; at++) {
        const char c = text[at];
        const bool is_blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
        if (c == '\0')
            break;
        if (is_blank && (used == 0 || out[used - 1] == ' '))
            continue;
        out[used++] = is_blank ? ' ' : c;
    }
    out[used] = '\0';
}

/* The size at the beginning of `at`, such as "64.00 MiB"; *end is what follows it. */
static bool read_size(const char *at, uint64_t *bytes, const char **end)
{
    static const struct { const char *word; double bytes; } units[] = {
        { "bytes", 1 }, { "KiB", KIB }, { "MiB", MIB }, { "GiB", GIB },
    };
    char *after;
    if (*at < '0' || *at > '9')
        return false;
    const double number = strtod(at, &after);
    after += *after == ' ';
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strncmp(after, units[i].word, strlen(units[i].word)) == 0 && number < 1e7) {
            *bytes = (uint64_t)(number * units[i].bytes);
            *end = after + strlen(units[i].word);
            return true;
        }
    return false;
}

/* The size that stands right before `words`; unknown if it does not. */
static uint64_t size_before(const char *text, const char *words)
{
    const char *found = strstr(text, words), *end;
    uint64_t bytes;
    if (found == NULL)
        return OOM_TEXT_UNKNOWN;
    for (const char *at = found; at-- > text && found - at < 24;)
        if ((at == text || at[-1] == ' ' || at[-1] == '(') && read_size(at, &bytes, &end) && end == found)
            return bytes;
    return OOM_TEXT_UNKNOWN;
}

static uint64_t size_after(const char *text, const char *words)
{
    const char *found = strstr(text, words), *end;
    uint64_t bytes;
    return found != NULL && read_size(found + strlen(words), &bytes, &end) ? bytes : OOM_TEXT_UNKNOWN;
}

/* "Process 4711 has 470.64 MiB memory in use." for each other process. */
static uint64_t sum_others(const char *text)
{
    uint64_t sum = 0, bytes;
    const char *end;
    for (const char *at = text; (at = strstr(at, "Process ")) != NULL;) {
        at += strlen("Process ");
        at += strspn(at, "0123456789");
        if (strncmp(at, " has ", 5) == 0 && read_size(at + 5, &bytes, &end))
            sum += bytes;
    }
    return sum;
}

static unsigned read_gpu(const char *text)
{
    const char *at = strstr(text, "GPU ");
    return at != NULL ? (unsigned)strtoul(at + 4, NULL, 10) & 1023 : 0;
}

/* 2.0 gives all figures in brackets, and what is reserved in total. */
static void read_early(const char *text, struct oom_text *t)
{
    t->total = size_before(text, " total capacity;");
    t->allocated = size_before(text, " already allocated;");
    t->free = size_before(text, " free;");
    t->reserved = size_before(text, " reserved in total by PyTorch");
}

static void read_later(const char *text, struct oom_text *t)
{
    const uint64_t unallocated = size_before(text, " is reserved by PyTorch but unallocated");
    t->total = size_after(text, "has a total capacity of ");
    if (t->total == OOM_TEXT_UNKNOWN)
        t->total = size_after(text, "has a total capacty of ");      /* 2.1's spelling */
    t->free = size_before(text, " is free.");
    t->process = size_after(text, "Including non-PyTorch memory, this process has ");
    t->allocated = size_before(text, " is allocated by PyTorch");
    t->private_pools = size_before(text, " allocated in private pools");
    if (t->allocated != OOM_TEXT_UNKNOWN && unallocated != OOM_TEXT_UNKNOWN)
        t->reserved = t->allocated + unallocated;
}

static bool read_text(const char *text, struct oom_text *out)
{
    const char *end;
    struct oom_text t = { .asked = 0 };
    t.total = t.free = t.process = t.allocated = t.reserved = t.private_pools = OOM_TEXT_UNKNOWN;
    if (!read_size(text + strlen(opening), &t.asked, &end))
        return false;
    if (strstr(text, "reserved in total by PyTorch") != NULL)
        read_early(text, &t);
    else
        read_later(text, &t);
    t.allowed = size_before(text, " allowed;");
    t.others = sum_others(text);
    t.gpu = read_gpu(text);
    if (t.allocated == OOM_TEXT_UNKNOWN || t.reserved == OOM_TEXT_UNKNOWN)
        return false;
    *out = t;
    return true;
}

bool oom_text_find(const char *text, size_t n, struct oom_text *out)
{
    const size_t n_opening = strlen("out of memory");
    bool is_found = false;
    for (size_t i = 0; i + n_opening <= n; i++) {
        char one[TEXT_MAX];
        if (memcmp(text + i, "out of memory", n_opening) != 0)
            continue;
        normalise(text, i, n, strlen(opening), one);
        if (strcmp(one, opening) != 0)
            continue;
        normalise(text, i, n, TEXT_MAX - 1, one);
        is_found |= read_text(one, out);
    }
    return is_found;
}

uint64_t oom_text_outside(const struct oom_text *t)
{
    if (t->total == OOM_TEXT_UNKNOWN || t->free == OOM_TEXT_UNKNOWN || t->total < t->free ||
        t->total - t->free < t->reserved)
        return OOM_TEXT_UNKNOWN;
    return t->total - t->free - t->reserved;
}
