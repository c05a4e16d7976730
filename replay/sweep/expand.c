/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Resolves the first braces or range of a text, then the rest, until nothing is left to resolve. */
#include "replay/sweep/expand.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_unit(const char *text, size_t n)
{
    static const char *const units[] = {"b", "k", "kb", "kib", "m", "mb", "mib", "g", "gb", "gib", "t", "tb", "tib"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strlen(units[i]) == n && strncasecmp(units[i], text, n) == 0)
            return true;
    return false;
}

/* ---- numbers: six decimals at most, as whole millionths ---- */

enum { MILLION = 1000000, WHOLE_DIGITS = 12, DECIMALS = 6 };

/* Reads the number that text begins with. Returns its length; 0: there is no number, or it is too large. */
static size_t number_read(const char *text, uint64_t *out)
{
    uint64_t n = 0;
    size_t i = 0;
    for (; is_digit(text[i]); i++)
        n = i < WHOLE_DIGITS ? n * 10 + (uint64_t)(text[i] - '0') : n;
    if (i == 0 || i > WHOLE_DIGITS)
        return 0;
    n *= MILLION;
    if (text[i] == '.' && is_digit(text[i + 1])) {
        uint64_t worth = MILLION / 10;
        for (i++; is_digit(text[i]); i++, worth /= 10) {
            if (worth == 0)
                return 0;
            n += worth * (uint64_t)(text[i] - '0');
        }
    }
    *out = n;
    return i;
}

static void number_write(uint64_t n, char *out, size_t size)
{
    int used = snprintf(out, size, "%" PRIu64 ".%06" PRIu64, n / MILLION, n % MILLION);
    while (used > 0 && out[used - 1] == '0')
        out[--used] = '\0';
    if (used > 0 && out[used - 1] == '.')
        out[used - 1] = '\0';
}

static bool is_number(const char *text, size_t n)
{
    uint64_t value;
    return n > 0 && number_read(text, &value) == n;
}

/* ---- ranges ---- */

struct range {
    uint64_t from, to, step;
    size_t   length;                 /* of its text, without a unit */
};

/* Whether text begins with "A..B" or "A..B:STEP". */
static bool range_read(const char *text, struct range *out)
{
    struct range r = { .step = MILLION };
    size_t n = number_read(text, &r.from), k;
    if (n == 0 || strncmp(text + n, "..", 2) != 0 || (k = number_read(text + n + 2, &r.to)) == 0)
        return false;
    n += 2 + k;
    if (text[n] == ':' && (k = number_read(text + n + 1, &r.step)) > 0)
        n += 1 + k;
    r.length = n;
    *out = r;
    return true;
}

/* ---- the walk ---- */

struct walk {
    struct expansion  *out;
    struct err_detail *err;
    const char        *typed;        /* the whole, for messages */
    size_t             n_ends;       /* texts reached, equal ones included: bounds the work */
};

static enum err walk_text(struct walk *w, const char *text, size_t from, unsigned depth);

static enum err refuse(const struct walk *w, const char *what)
{
    return err_set(w->err, ERR_USAGE, 0, "'%s': %s", w->typed, what);
}

static enum err emit(struct walk *w, const char *text)
{
    struct expansion *x = w->out;
    if (w->n_ends++ == EXPAND_MAX)
        return err_set(w->err, ERR_USAGE, 0, "'%s': more than %d combinations", w->typed, EXPAND_MAX);
    const uint32_t n_seen = x->seen.n, number = text_table_put(&x->seen, text, strlen(text));
    if (number < n_seen)
        return ERR_OK;
    if (number == UINT32_MAX)
        return err_no_memory(w->err);
    char **grown = realloc(x->at, (x->n + 1) * sizeof *grown);
    if (grown != NULL) {
        x->at = grown;
        grown[x->n] = strdup(text);
    }
    if (grown == NULL || grown[x->n] == NULL)
        return err_no_memory(w->err);
    x->n++;
    return ERR_OK;
}

/* Joins text[0, from) + item + unit + rest, and goes on at the item, which may hold braces. */
static enum err walk_item(struct walk *w, const char *text, size_t from, const char *item, size_t n, const char *unit,
                          size_t n_unit, const char *rest, unsigned depth)
{
    char joined[EXPAND_TEXT_MAX];
    const int used = snprintf(joined, sizeof joined, "%.*s%.*s%.*s%s", (int)from, text, (int)n, item, (int)n_unit, unit,
                              rest);
    if (used < 0 || (size_t)used >= sizeof joined)
        return refuse(w, "it expands to a text that is too long");
    return walk_text(w, joined, from, depth);
}

static enum err walk_range(struct walk *w, const char *text, size_t from, const struct range *r, const char *unit,
                           size_t n_unit, const char *rest, unsigned depth)
{
    char item[32];
    if (r->to < r->from || r->step == 0)
        return refuse(w, "a range goes upwards, in steps above 0");
    if ((r->to - r->from) / r->step >= EXPAND_MAX)
        return refuse(w, "a range has too many steps");
    enum err e = ERR_OK;
    for (uint64_t at = r->from; at <= r->to && e == ERR_OK; at += r->step) {
        number_write(at, item, sizeof item);
        e = walk_item(w, text, from, item, strlen(item), unit, n_unit, rest, depth);
    }
    return e;
}

/* The length of the item that text begins with: up to a comma or brace outside inner pairs. */
static size_t item_length(const char *text)
{
    size_t i = 0;
    for (unsigned depth = 0; text[i] != '\0'; i++) {
        const bool opens = text[i] == '{' || text[i] == '[', closes = text[i] == '}' || text[i] == ']';
        if (depth == 0 && (text[i] == ',' || text[i] == '}'))
            break;
        depth += opens ? 1 : 0;
        depth -= closes && depth > 0 ? 1 : 0;
    }
    return i;
}

/* `open`: the place of the brace. */
static enum err walk_braces(struct walk *w, const char *text, size_t open, unsigned depth)
{
    size_t close = open + 1;
    assert(text[open] == '{');
    while (text[close += item_length(text + close)] == ',')
        close++;
    if (text[close] != '}')
        return refuse(w, "a brace is not closed");
    const char *unit = text + close + 1;
    size_t n_unit = 0;
    while (is_letter(unit[n_unit]))
        n_unit++;
    if (!is_unit(unit, n_unit))
        n_unit = 0;
    const char *rest = unit + n_unit;
    enum err e = ERR_OK;
    for (size_t at = open + 1; at <= close && e == ERR_OK; at++) {
        const size_t n = item_length(text + at);
        struct range r;
        if (range_read(text + at, &r) && (r.length == n || is_unit(text + at + r.length, n - r.length))) {
            const bool has_own = r.length < n;
            e = walk_range(w, text, open, &r, has_own ? text + at + r.length : unit, has_own ? n - r.length : n_unit,
                           rest, depth + 1);
        } else {
            e = walk_item(w, text, open, text + at, n, unit, is_number(text + at, n) ? n_unit : 0, rest, depth + 1);
        }
        at += n;
    }
    return e;
}

/* Resolves text from `from` on; everything before is resolved already. */
static enum err walk_text(struct walk *w, const char *text, size_t from, unsigned depth)
{
    if (depth > EXPAND_DEPTH_MAX)
        return refuse(w, "too many braces and ranges");
    for (size_t i = from; text[i] != '\0'; i++) {
        struct range r;
        if (text[i] == '}')
            return refuse(w, "a brace is closed that was not opened");
        if (text[i] == '{')
            return walk_braces(w, text, i, depth);
        const bool may_begin = i == 0 || text[i - 1] == ':' || text[i - 1] == '=' || text[i - 1] == ',';
        if (may_begin && range_read(text + i, &r))
            return walk_range(w, text, i, &r, "", 0, text + i + r.length, depth + 1);
    }
    return emit(w, text);
}

enum err expand(const char *text, struct expansion *out, struct err_detail *err)
{
    const size_t before = out->n;
    struct walk w = { .out = out, .err = err, .typed = text };
    const enum err e = strlen(text) < EXPAND_TEXT_MAX ? walk_text(&w, text, 0, 0) : refuse(&w, "the text is too long");
    if (e == ERR_OK)
        return e;
    while (out->n > before)
        free(out->at[--out->n]);
    text_table_free(&out->seen);             /* it also holds what was just taken back */
    out->seen = (struct text_table){.text = NULL};
    for (size_t i = 0; i < out->n; i++)
        if (text_table_put(&out->seen, out->at[i], strlen(out->at[i])) == UINT32_MAX)
            return err_no_memory(err);
    return e;
}

void expansion_close(struct expansion *x)
{
    for (size_t i = 0; i < x->n; i++)
        free(x->at[i]);
    free(x->at);
    text_table_free(&x->seen);
    *x = (struct expansion){ .at = NULL };
}
