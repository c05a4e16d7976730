/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_letters.h"

#include "base/units.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX_MAX = 256 };           /* the longest prefix of a line */

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Skips the prefix, if the line has it. Numbers may differ, because most prefixes tell the time. */
static void skip_prefix(struct letters *l)
{
    size_t at = l->at;
    for (size_t i = 0; i < l->n_prefix;) {
        if (at == l->n || is_digit(l->prefix[i]) != is_digit(l->text[at]))
            return;
        if (is_digit(l->prefix[i])) {
            for (; i < l->n_prefix && is_digit(l->prefix[i]); i++)
                ;
            for (; at < l->n && is_digit(l->text[at]); at++)
                ;
        } else if (l->prefix[i++] != l->text[at++]) {
            return;
        }
    }
    l->at = at;
}

/* Skips "ESC [ 31 m", a colour of a terminal. */
static void skip_colour(struct letters *l)
{
    l->at++;
    if (l->at < l->n && l->text[l->at] == '[')
        for (l->at++; l->at < l->n && l->text[l->at] >= ' ' && l->text[l->at] < '@'; l->at++)
            ;
    l->at += l->at < l->n;
}

char letters_next(struct letters *l)
{
    while (l->at < l->n) {
        const char c = l->text[l->at];
        if (c == '\x1b') {
            skip_colour(l);
            continue;
        }
        l->at++;
        if (c == '\\' && l->at < l->n && l->text[l->at] == '\n')
            continue;                        /* a console marks a line that goes on */
        if (!is_blank(c))
            return c;
        if (c == '\n')
            skip_prefix(l);
    }
    return '\0';
}

bool letters_are(struct letters l, const char *words)
{
    for (; *words != '\0'; words++)
        if (*words != ' ' && letters_next(&l) != *words)
            return false;
    return true;
}

size_t letters_line_begin(const char *text, size_t at)
{
    size_t begin = at;
    while (begin > 0 && at - begin < PREFIX_MAX && text[begin - 1] != '\n' && text[begin - 1] != '\r')
        begin--;
    return begin;
}

/* Where the word before text[at] begins, if blanks or nothing stand between them. */
static size_t word_begin(const char *text, size_t begin, size_t at)
{
    while (at > begin && is_blank(text[at - 1]))
        at--;
    while (at > begin && !is_blank(text[at - 1]))
        at--;
    return at;
}

/* A prefix that is nothing but a number would take figures of the text for itself. */
struct letters letters_from(const char *text, size_t at, size_t n)
{
    static const char error[] = "Error: ";
    const size_t begin = letters_line_begin(text, at);
    size_t end = word_begin(text, begin, at);
    if (end - begin >= strlen(error) && memcmp(text + end - strlen(error), error, strlen(error)) == 0)
        end = word_begin(text, begin, end);
    for (size_t i = begin; i < end; i++)
        if (!is_blank(text[i]) && !is_digit(text[i]))
            return (struct letters){ text, at, n, text + begin, end - begin };
    return (struct letters){ text, at, n, NULL, 0 };
}

void letters_take(struct letters l, char one[LETTERS_MAX])
{
    size_t used = 0;
    for (char c; used < LETTERS_MAX - 1 && (c = letters_next(&l)) != '\0';)
        one[used++] = c;
    one[used] = '\0';
}

/* ---- a text without blanks ---- */

const char *letters_find(const char *text, const char *words, const char **end)
{
    for (; *text != '\0'; text++) {
        const char *at = text, *w = words;
        for (; *w != '\0' && (*w == ' ' || *w == *at); w++)
            at += *w != ' ';
        if (*w != '\0')
            continue;
        if (end != NULL)
            *end = at;
        return text;
    }
    return NULL;
}

static size_t count_digits(const char *at)
{
    return strspn(at, "0123456789");
}

/* "7,99": a comma before the last one or two digits is a decimal one, as a translated terminal writes it. CuPy puts
 * commas between thousands. */
static bool is_decimal_comma(const char *comma)
{
    const size_t n = count_digits(comma + 1);
    return (n == 1 || n == 2) && comma[n + 1] != ',' && comma[n + 1] != '.';
}

/* A sign between digits that separates thousands: "1,024", and "1.024,50" of who writes decimal commas. */
static bool is_thousands(const char *sign)
{
    const size_t n = count_digits(sign + 1);
    return n == 3 && (*sign == ',' || (sign[n + 1] == ',' && is_decimal_comma(sign + n + 1)));
}

/* "206. GiB", as NumPy writes three whole digits. */
static bool is_numpy_point(const char *at)
{
    return *at == '.' && at[1] != '\0' && strchr("KMGTPE", at[1]) != NULL && at[2] == 'i' && at[3] == 'B';
}

static bool take_number(char *digits, size_t n, double *number)
{
    digits[n] = '\0';
    *number = strtod(digits, NULL);
    return n > 0;
}

/* A number with signs between its digits. NULL: `at` has none. */
static const char *read_number(const char *at, double *number)
{
    char digits[40];
    size_t n = 0;
    for (; n < sizeof digits - 1; at++) {
        if (is_digit(*at))
            digits[n++] = *at;
        else if (is_numpy_point(at))
            return take_number(digits, n, number) ? at + 1 : NULL;
        else if ((*at != '.' && *at != ',') || !is_digit(at[1]))
            break;                           /* a full stop ends a sentence */
        else if (!is_thousands(at)) {
            if (*at == ',' && !is_decimal_comma(at))
                break;
            digits[n++] = '.';
        }
    }
    return take_number(digits, n, number) ? at : NULL;
}

/* GB and MB are powers of two here: all stacks that write them divide by 1024. */
bool letters_read_size(const char *at, uint64_t *bytes, const char **end)
{
    static const struct { const char *word; double bytes; } units[] = {
        { "bytes", 1 },  { "byte", 1 },   { "KiB", KIB },  { "MiB", MIB }, { "GiB", GIB }, { "TiB", 1024.0 * GIB },
        { "PiB", 1024.0 * 1024 * GIB },  { "EiB", 1024.0 * 1024 * 1024 * GIB },
        { "KB", KIB },   { "kB", KIB },   { "MB", MIB },   { "GB", GIB },
        { "B", 1 },
    };
    double number = 0;
    const char *after = is_digit(*at) ? read_number(at, &number) : NULL;
    if (after == NULL)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strncmp(after, units[i].word, strlen(units[i].word)) == 0 && number * units[i].bytes < 1e19) {
            *bytes = (uint64_t)(number * units[i].bytes);
            *end = after + strlen(units[i].word);
            return true;
        }
    return false;
}

/* Whether a number may begin at `at`: what is before it is no part of it. A full stop may end a sentence. */
static bool is_number_begin(const char *text, const char *at)
{
    static const char gpu[] = "GPU";
    const bool has_stop = at > text && at[-1] == '.';
    if (at - text >= (ptrdiff_t)strlen(gpu) && memcmp(at - strlen(gpu), gpu, strlen(gpu)) == 0)
        return false;                        /* a card's number, which a comma may part from a size */
    at -= has_stop;
    return at == text || !is_digit(at[-1]);
}

/* The size that stands right before `words`; unknown if it does not. */
uint64_t letters_size_before(const char *text, const char *words)
{
    const char *found = letters_find(text, words, NULL), *end;
    uint64_t bytes, behind_comma = UINT64_MAX;
    if (found == NULL)
        return UINT64_MAX;
    for (const char *at = found; at-- > text && found - at < 32;) {
        if (!is_number_begin(text, at) || !letters_read_size(at, &bytes, &end) || end != found)
            continue;
        if (at == text || at[-1] != ',')
            return bytes;
        behind_comma = behind_comma == UINT64_MAX ? bytes : behind_comma;
    }
    return behind_comma;
}

uint64_t letters_size_after(const char *text, const char *words)
{
    const char *after, *end;
    uint64_t bytes;
    return letters_find(text, words, &after) != NULL && letters_read_size(after, &bytes, &end) ? bytes : UINT64_MAX;
}

uint64_t letters_bytes_after(const char *text, const char *words)
{
    const char *after;
    if (letters_find(text, words, &after) == NULL || !is_digit(*after))
        return UINT64_MAX;
    const size_t n = strspn(after, "0123456789");
    const bool is_part = after[n] == '%' || (after[n] == '.' && is_digit(after[n + 1]));
    return n < 20 && !is_part ? strtoull(after, NULL, 10) : UINT64_MAX;
}
