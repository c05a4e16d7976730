/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_phrases.h"

#include "replay/why/log_letters.h"

#include <assert.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_number(char c)
{
    return is_digit(c) || c == '.' || c == ',';
}

static void add(struct log_phrases *p, unsigned char letter, short phrase)
{
    p->next[phrase] = p->first[letter];
    p->first[letter] = phrase;
}

/* A phrase that begins with a number is under '#', which every digit looks up, too. */
void log_phrases_init(struct log_phrases *p, const char *const *phrases, size_t n)
{
    assert(n <= LOG_PHRASES_MAX);
    p->at = phrases;
    for (size_t i = 0; i < 256; i++)
        p->first[i] = -1;
    for (size_t i = n; i-- > 0;)
        add(p, (unsigned char)phrases[i][phrases[i][0] == '^'], (short)i);
}

/* Whether nothing but blanks stands between the begin of the line and text[at]. */
static bool is_line_begin(const char *text, size_t at)
{
    while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t'))
        at--;
    return at == 0 || text[at - 1] == '\n' || text[at - 1] == '\r';
}

static bool is_line_end(const char *text, size_t n, size_t at)
{
    while (at < n && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r'))
        at++;
    return at == n || text[at] == '\n';
}

static size_t skip(const char *text, size_t n, size_t at, bool (*is)(char c))
{
    while (at < n && is(text[at]))
        at++;
    return at;
}

/* Past what the line of text[at], which just began, has in common with the line before it: a logger puts it before each
 * part of what it breaks. Numbers count as equal, because it tells the time. It ends after a blank. */
static size_t skip_prefix(const char *text, size_t n, size_t begin, size_t at)
{
    size_t end = at, old = begin, new = at;
    while (old < at && new < n && text[new] != '\n') {
        if (is_digit(text[old]) && is_digit(text[new])) {
            old = skip(text, at, old, is_digit);
            new = skip(text, n, new, is_digit);
        } else if (text[old++] != text[new++]) {
            break;
        } else if (text[new - 1] == ' ') {
            end = new;
        }
    }
    return end;
}

/* Past a line break within a phrase, and the prefix of the next line. A word is broken only by a console, which is at
 * least so wide. */
static size_t skip_break(const char *text, size_t n, size_t at, bool is_in_word)
{
    enum { NARROW = 60 };
    if (at == n || text[at] != '\n')
        return at;
    const size_t begin = letters_line_begin(text, at);
    return is_in_word && at - begin < NARROW ? at : skip_prefix(text, n, begin, at + 1);
}

/* Past the blanks of a phrase, which may be a line's end. */
static size_t skip_blanks(const char *text, size_t n, size_t at)
{
    while (at < n && is_blank(text[at]))
        at = text[at] == '\n' ? skip_break(text, n, at, false) : at + 1;
    return at;
}

bool log_phrase_is(const char *text, size_t n, size_t at, const char *phrase)
{
    const size_t begin = at;
    if (*phrase == '^' && !is_line_begin(text, at))
        return false;
    for (phrase += *phrase == '^'; *phrase != '\0'; phrase++) {
        if (*phrase == '$' && phrase[1] == '\0')
            return is_line_end(text, n, at);
        if (at > begin)
            at = *phrase == ' ' ? at : skip_break(text, n, at, true);
        if (at == n)
            return false;
        if (*phrase == '#' || *phrase == ' ') {
            const size_t end = *phrase == '#' ? skip(text, n, at, is_number) : skip_blanks(text, n, at);
            if (end == at)
                return false;
            at = end;
        } else if (text[at++] != *phrase) {
            return false;
        }
    }
    return true;
}

static void look_up(const struct log_phrases *p, const char *text, size_t n, size_t at, unsigned char letter,
                    void (*hit)(void *arg, size_t phrase, size_t at), void *arg)
{
    for (short i = p->first[letter]; i >= 0; i = p->next[i])
        if (log_phrase_is(text, n, at, p->at[i]))
            hit(arg, (size_t)i, at);
}

void log_phrases_each(const struct log_phrases *p, const char *text, size_t n,
                      void (*hit)(void *arg, size_t phrase, size_t at), void *arg)
{
    for (size_t at = 0; at < n; at++) {
        look_up(p, text, n, at, (unsigned char)text[at], hit, arg);
        if (is_digit(text[at]) && (at == 0 || !is_digit(text[at - 1])))
            look_up(p, text, n, at, '#', hit, arg);
    }
}
