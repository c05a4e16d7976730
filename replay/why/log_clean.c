/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_clean.h"

#include <stdint.h>
#include <string.h>

/* ---- UTF-16 ---- */

/* Which byte of each pair holds the letter: 0, 1, or -1 if the bytes are no UTF-16 of mostly Latin letters. */
static int letter_of_pairs(const char *bytes, size_t n)
{
    const size_t looked = n < 512 ? n & ~(size_t)1 : 512;
    size_t zeros[2] = { 0, 0 };
    for (size_t i = 0; i < looked; i++)
        zeros[i % 2] += bytes[i] == '\0';
    for (int k = 0; k < 2; k++)
        if (looked >= 8 && zeros[1 - k] > looked / 3 && zeros[k] == 0)
            return k;
    return -1;
}

static size_t clean_utf16(char *bytes, size_t n)
{
    const int letter = letter_of_pairs(bytes, n);
    size_t used = 0;
    if (letter < 0)
        return n;
    for (size_t i = 0; i + 1 < n; i += 2) {
        const char high = bytes[i + (size_t)(1 - letter)], low = bytes[i + (size_t)letter];
        bytes[used++] = high == '\0' ? low : '?';
    }
    return used;
}

/* ---- ends of lines ---- */

static size_t clean_line_ends(char *bytes, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != '\r' || i + 1 == n || bytes[i + 1] != '\n')
            bytes[used++] = bytes[i];
    return used;
}

/* ---- colours ---- */

/* Past "ESC [ 31 m" at bytes[at]. */
static size_t skip_colour(const char *bytes, size_t n, size_t at)
{
    at++;
    if (at < n && bytes[at] == '[')
        for (at++; at < n && bytes[at] >= ' ' && bytes[at] < '@'; at++)
            ;
    return at < n ? at + 1 : n;
}

static size_t clean_colours(char *bytes, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n;)
        if (bytes[i] == '\x1b')
            i = skip_colour(bytes, n, i);
        else
            bytes[used++] = bytes[i++];
    return used;
}

/* ---- a line within JSON ---- */

/* Where the text of a line of docker's or of a structured log begins; 0: the line is none. */
static size_t json_text_begin(const char *line, size_t n)
{
    static const char *const begins[] = { "{\"log\":\"", "{\"message\":\"", "{\"msg\":\"" };
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (n > strlen(begins[i]) && memcmp(line, begins[i], strlen(begins[i])) == 0)
            return strlen(begins[i]);
    return 0;
}

/* Puts the letter of an escape. Returns the escape's length. */
static size_t take_escape(const char *at, size_t n, char *out, size_t *used)
{
    if (n > 5 && at[1] == 'u') {
        out[(*used)++] = memcmp(at, "\\u001b", 6) == 0 ? '\x1b' : '?';
        return 6;
    }
    if (n > 1 && (at[1] == '"' || at[1] == '\\' || at[1] == '/'))
        out[(*used)++] = at[1];
    else
        out[(*used)++] = ' ';
    return n > 1 ? 2 : 1;
}

/* Writes the text of line[0, n) to `out`, which may be the line itself. Returns its length. */
static size_t take_json_line(const char *line, size_t n, char *out)
{
    size_t used = 0;
    for (size_t i = json_text_begin(line, n); i < n && line[i] != '"';)
        if (line[i] == '\\')
            i += take_escape(line + i, n - i, out, &used);
        else
            out[used++] = line[i++];
    return used;
}

static size_t clean_json(char *bytes, size_t n)
{
    size_t used = 0;
    for (size_t at = 0; at < n;) {
        const char *stop = memchr(bytes + at, '\n', n - at);
        const size_t end = stop == NULL ? n : (size_t)(stop - bytes);
        if (json_text_begin(bytes + at, end - at) > 0) {
            used += take_json_line(bytes + at, end - at, bytes + used);
        } else {
            memmove(bytes + used, bytes + at, end - at);
            used += end - at;
        }
        if (end < n)
            bytes[used++] = '\n';
        at = end + 1;
    }
    return used;
}

/* ---- a frame around the text ---- */

static const char *const bars[] = { "\xe2\x94\x82", "\xe2\x94\x83", "\xe2\x95\x91", "|" };

enum { N_BARS = sizeof bars / sizeof bars[0], ASCII_BAR = N_BARS - 1 };

/* Where the first bar of the kind stands in line[0, n); n: nowhere. */
static size_t find_bar(const char *line, size_t n, const char *bar)
{
    const size_t length = strlen(bar);
    for (size_t i = 0; i + length <= n; i++)
        if (memcmp(line + i, bar, length) == 0)
            return i;
    return n;
}

static bool is_blank_part(const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (line[i] != ' ' && line[i] != '\t')
            return false;
    return true;
}

/* Nothing stands before the left bar, and no bar between it and the right one. */
static bool is_only_frame(const char *line, size_t left, size_t inner, size_t n)
{
    return is_blank_part(line, left) && find_bar(line + inner, n - inner, bars[ASCII_BAR]) + 1 == n - inner;
}

/* Puts blanks where a frame has its left and its right bar. The plain bar is also that of tables, whose cells tell
 * figures: a line counts as framed by it only if it has these two. */
static void clean_framed(char *line, size_t n)
{
    while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\r' || line[n - 1] == '\t'))
        n--;
    for (size_t k = 0; k < N_BARS; k++) {
        const size_t length = strlen(bars[k]), left = find_bar(line, n, bars[k]);
        const size_t right = n - length, inner = left + length;
        if (left + 2 * length > n || memcmp(line + right, bars[k], length) != 0 ||
            (k == ASCII_BAR && !is_only_frame(line, left, inner, n)))
            continue;
        memset(line + left, ' ', length);
        memset(line + right, ' ', length);
        return;
    }
}

static void clean_frame(char *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        const char *stop = memchr(bytes + at, '\n', n - at);
        const size_t end = stop == NULL ? n : (size_t)(stop - bytes);
        clean_framed(bytes + at, end - at);
        at = end + 1;
    }
}

size_t log_clean(char *bytes, size_t n, struct log_dress *dress)
{
    static const char docker[] = "{\"log\":\"";
    dress->is_utf16 = letter_of_pairs(bytes, n) >= 0;
    dress->is_docker = n > strlen(docker) && memcmp(bytes, docker, strlen(docker)) == 0;
    n = clean_utf16(bytes, n);
    n = clean_line_ends(bytes, n);
    n = clean_json(bytes, n);
    n = clean_colours(bytes, n);
    clean_frame(bytes, n);
    return n;
}
