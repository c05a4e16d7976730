/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Names and sentences of the errors, from the one list in err.h. */
#include "base/err.h"

#include "base/shown.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DOTS "..."

enum {
    WHOLE_TEXT = 4096,                       /* of a text before it is shortened: more than a path has */
    WORD_LEAST = 32                          /* a word of this length keeps its middle */
};

static const struct {
    const char *name, *text;
} err_table[] = {
#define ERR_ROW(name, sentence) {#name, sentence},
    ERR_LIST(ERR_ROW)
#undef ERR_ROW
};

const char *err_name(enum err e)
{
    return (unsigned)e < ERR_COUNT ? err_table[e].name : "?";
}

const char *err_text(enum err e)
{
    return (unsigned)e < ERR_COUNT ? err_table[e].text : "unknown error";
}

enum err err_of_open(int reason)
{
    return reason == EMFILE || reason == ENFILE ? ERR_IO : reason == ENOMEM ? ERR_HOST_NOMEM : ERR_INPUT;
}

bool err_is_unread(enum err e)
{
    return e == ERR_INPUT || e == ERR_IO || e == ERR_HOST_NOMEM;
}

/* Whether a byte is inside a letter of UTF-8: a text may be cut before any other. */
static bool is_inside_letter(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Takes at least `over` bytes out of the middle of text[from, to), with dots in their place, if so many are there. */
static void shorten_part(char *text, size_t from, size_t to, size_t over)
{
    const size_t n = to - from, taken = over + strlen(DOTS);
    if (taken >= n)
        return;
    size_t left = from + (n - taken) / 2, right = left + taken;
    while (left > from && is_inside_letter(text[left]))
        left--;
    while (right < to && is_inside_letter(text[right]))
        right++;
    memcpy(text + left, DOTS, strlen(DOTS));
    memmove(text + left + strlen(DOTS), text + right, strlen(text + right) + 1);
}

/* Where the longest word of a text begins; *n is its length. */
static size_t find_longest_word(const char *text, size_t *n)
{
    size_t longest = 0;
    *n = 0;
    for (size_t i = 0, word; text[i] != '\0'; i += word) {
        i += strspn(text + i, " ");
        word = strcspn(text + i, " ");
        if (word > *n) {
            longest = i;
            *n = word;
        }
    }
    return longest;
}

/* Shortens the longest words of a text to WORD_LEAST, one after another, until it has at most `most` bytes. */
static void shorten_words(char *text, size_t most)
{
    for (size_t all = strlen(text), n; all > most; all = strlen(text)) {
        const size_t at = find_longest_word(text, &n);
        if (n <= WORD_LEAST)
            return;
        shorten_part(text, at, at + n, all - most < n - WORD_LEAST ? all - most : n - WORD_LEAST);
    }
}

/* Adds the sentence to the place that stands in `whole`, and puts both on one line of `err`. */
static void fill(struct err_detail *err, uint64_t offset, char whole[WHOLE_TEXT], const char *fmt, va_list args)
{
    const size_t place = strlen(whole);
    vsnprintf(whole + place, WHOLE_TEXT - place, fmt, args);
    shorten_words(whole + place, ERR_TEXT - 1 - place);
    err->offset = offset;
    snprintf(err->text, sizeof err->text, "%s", whole);
    shown_join(err->text);
    shown_clean(err->text, false);
}

enum err err_set(struct err_detail *err, enum err e, uint64_t offset, const char *fmt, ...)
{
    if (err != NULL) {
        char whole[WHOLE_TEXT] = "";
        va_list args;
        va_start(args, fmt);
        fill(err, offset, whole, fmt, args);
        va_end(args);
    }
    return e;
}

enum err err_at(struct err_detail *err, enum err e, uint64_t offset, const char *place, const char *fmt, ...)
{
    if (err != NULL) {
        char whole[WHOLE_TEXT];
        va_list args;
        snprintf(whole, sizeof whole, "%s", place);
        if (strlen(whole) > ERR_PLACE)
            shorten_part(whole, 0, strlen(whole), strlen(whole) - ERR_PLACE);
        strcat(whole, ": ");
        va_start(args, fmt);
        fill(err, offset, whole, fmt, args);
        va_end(args);
    }
    return e;
}

enum err err_no_memory(struct err_detail *err)
{
    return err_set(err, ERR_HOST_NOMEM, 0, "%s", err_text(ERR_HOST_NOMEM));
}
