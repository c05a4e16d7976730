/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_phrases.h"

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

bool log_phrase_is(const char *text, size_t n, size_t at, const char *phrase)
{
    if (*phrase == '^' && !is_line_begin(text, at))
        return false;
    for (phrase += *phrase == '^'; *phrase != '\0'; phrase++) {
        if (*phrase == '$' && phrase[1] == '\0')
            return is_line_end(text, n, at);
        if (at == n)
            return false;
        if (*phrase == '#' || *phrase == ' ') {
            const size_t end = skip(text, n, at, *phrase == '#' ? is_number : is_blank);
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
