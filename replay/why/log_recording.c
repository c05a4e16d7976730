/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Each dot of a line may begin an ending; a name is what stands before it, back to what no name of a file has. */
#include "replay/why/log_recording.h"

#include <ctype.h>
#include <string.h>

static const char *const endings[] = { ".pickle", ".pkl", ".zst" };
static const char *const words[] = { "snapshot", "recording", "memory history" };

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || (c != '\0' && strchr("._-+=@", c) != NULL);
}

/* Whether `text` stands at p, in letters of any case. */
static bool stands_at(const char *p, const char *end, const char *text)
{
    for (; *text != '\0'; p++, text++)
        if (p == end || tolower((unsigned char)*p) != *text)
            return false;
    return true;
}

static bool has_word(const char *line, const char *end)
{
    for (const char *p = line; p < end; p++)
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (stands_at(p, end, words[i]))
                return true;
    return false;
}

/* The length of the ending at `dot`; 0: there is none. */
static size_t ending_at(const char *dot, const char *end)
{
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const char *after = dot + strlen(endings[i]);
        if (stands_at(dot, end, endings[i]) && (after >= end || !isalnum((unsigned char)*after)))
            return strlen(endings[i]);
    }
    return 0;
}

/* Whether a name is that of what run-sim and record write of the driver's calls, beside the recording itself. */
static bool is_of_driver(const char *begin, const char *dot)
{
    static const char driver[] = ".driver";
    const size_t n = sizeof driver - 1;
    return (size_t)(dot - begin) > n && memcmp(dot - n, driver, n) == 0;
}

/* Takes the name that ends with the ending at `dot`. One that is too long for a file is none. */
static bool take_name(const char *line, const char *dot, const char *end, struct log_recording *out)
{
    const size_t ending = ending_at(dot, end);
    const char *begin = dot;
    while (ending > 0 && begin > line && is_of_name(begin[-1]) && dot - begin < LOG_RECORDING_NAME)
        begin--;
    const size_t length = (size_t)(dot - begin) + ending;
    if (begin == dot || !isalnum((unsigned char)*begin) || length >= sizeof out->name || is_of_driver(begin, dot))
        return false;
    memcpy(out->name, begin, length);
    out->name[length] = '\0';
    return true;
}

static void search_line(const char *line, const char *end, struct log_recording *out)
{
    bool is_named = false;
    for (const char *dot = line; (dot = memchr(dot, '.', (size_t)(end - dot))) != NULL; dot++)
        is_named = take_name(line, dot, end, out) || is_named;
    if (is_named)
        out->is_told = has_word(line, end);
}

struct log_recording log_recording_find(const char *bytes, size_t n)
{
    struct log_recording out = { .name = "" };
    const char *end = bytes + n;
    for (const char *line = bytes, *next; line < end; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end - line));
        next = next == NULL ? end : next;
        search_line(line, next, &out);
    }
    return out;
}
