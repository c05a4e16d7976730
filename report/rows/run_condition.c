/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Parses a name, a relation and a value. Names match word by word, because nobody remembers the order of words. */
#include "report/rows/run_condition.h"

#include "base/nearest.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 64, SHOWN_MAX = 40 };

static const char blanks[] = " \t\r\n";

/* ---- the column ---- */

/* Whether one of the words of `name` (joined by '_') is word[0, n). */
static bool has_word(const char *name, const char *word, size_t n)
{
    for (const char *at = name; *at != '\0';) {
        const size_t k = strcspn(at, "_");
        if (k == n && memcmp(at, word, n) == 0)
            return true;
        at += k + (at[k] == '_');
    }
    return false;
}

static size_t count_words(const char *name)
{
    size_t n = 1;
    for (; *name != '\0'; name++)
        n += *name == '_';
    return n;
}

static bool ends_in(const char *name, const char *end)
{
    const size_t n = strlen(name), k = strlen(end);
    return n > k && strcmp(name + n - k, end) == 0;
}

/* Whether the first n words of one name are all in the other. */
static bool has_words(const char *name, const char *words, size_t n)
{
    for (const char *at = words; n > 0; n--) {
        const size_t k = strcspn(at, "_");
        if (!has_word(name, at, k))
            return false;
        at += k + (at[k] == '_');
    }
    return true;
}

/* Whether the words typed are those of the column, in any order, with or without its unit. */
static bool has_same_words(const char *typed, const char *column)
{
    const size_t n = count_words(typed), n_column = count_words(column);
    const bool has_unit = ends_in(column, "_bytes") || ends_in(column, "_ns");
    return (n == n_column || (has_unit && n + 1 == n_column)) && has_words(column, typed, n) &&
           has_words(typed, column, n);
}

static const char *find_column(const char *typed, struct nearest *nearest)
{
    struct field columns[RESULTS_COLUMNS];
    const char *found = NULL;
    const size_t n = results_db_columns(columns);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(columns[i].name, typed) == 0)
            return columns[i].name;
        if (found == NULL && has_same_words(typed, columns[i].name))
            found = columns[i].name;
        nearest_offer(nearest, columns[i].name, strlen(columns[i].name));
    }
    return found;
}

/* What a person may have meant who typed some words of a column: reserved memory at its peak, if that has them. */
static const char *find_with_words(const char *typed)
{
    static const char likely[] = "peak_reserved_bytes";
    struct field columns[RESULTS_COLUMNS];
    const size_t n = results_db_columns(columns), n_words = count_words(typed);
    if (has_words(likely, typed, n_words))
        return likely;
    for (size_t i = 0; i < n; i++)
        if (has_words(columns[i].name, typed, n_words))
            return columns[i].name;
    return NULL;
}

/* ---- the value ---- */

static bool parse_number(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out == *out;
}

/* "50ms" in nanoseconds; a bare number is nanoseconds. */
static bool parse_time(const char *text, double *out)
{
    return parse_number(text, out) || units_parse_time(text, strlen(text), out);
}

static bool parse_size(const char *text, double *out)
{
    uint64_t bytes;
    const bool is_negative = text[0] == '-';
    if (!units_parse_bytes(text + is_negative, strlen(text + is_negative), &bytes))
        return false;
    *out = is_negative ? -(double)bytes : (double)bytes;
    return true;
}

/* Reads a number in the column's unit. Copies it first, because c->text does not end where the number ends. */
static bool take_number(struct run_condition *c, bool is_size, bool is_time)
{
    char text[NUMBER_MAX];
    if (c->n_text >= sizeof text)
        return false;
    memcpy(text, c->text, c->n_text);
    text[c->n_text] = '\0';
    return is_size ? parse_size(text, &c->number) : is_time ? parse_time(text, &c->number)
                                                            : parse_number(text, &c->number);
}

static size_t length_without_blanks(const char *text)
{
    size_t n = strlen(text);
    while (n > 0 && strchr(blanks, text[n - 1]) != NULL)
        n--;
    return n;
}

static enum err take_value(struct run_condition *c, const char *text, struct err_detail *err)
{
    const bool is_size = strstr(c->column, "_bytes") != NULL, is_time = ends_in(c->column, "_ns");
    c->text = text;
    c->n_text = length_without_blanks(text);
    const int n_shown = c->n_text < SHOWN_MAX ? (int)c->n_text : SHOWN_MAX;
    c->kind = FIELD_RATIO;
    if (take_number(c, is_size, is_time))
        return ERR_OK;
    if (is_size || is_time)
        return err_set(err, ERR_USAGE, 0, "--fail-if: '%.*s' is not a %s for '%s'", n_shown, text,
                       is_size ? "size" : "time", c->column);
    c->kind = FIELD_TEXT;
    if (c->n_text == 0 || (c->relation != CONDITION_EQUAL && c->relation != CONDITION_UNEQUAL))
        return err_set(err, ERR_USAGE, 0, "--fail-if: '%.*s' is not a number for '%s'; texts compare with == and !=",
                       n_shown, text, c->column);
    return ERR_OK;
}

/* ---- the condition ---- */

static size_t take_relation(const char *text, enum condition_relation *out)
{
    static const struct { const char *text; enum condition_relation relation; } all[] = {
        { "<=", CONDITION_AT_MOST }, { ">=", CONDITION_AT_LEAST }, { "==", CONDITION_EQUAL },
        { "!=", CONDITION_UNEQUAL }, { "<", CONDITION_LESS },      { ">", CONDITION_MORE },
        { "=", CONDITION_EQUAL },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strncmp(text, all[i].text, strlen(all[i].text)) == 0) {
            *out = all[i].relation;
            return strlen(all[i].text);
        }
    return 0;
}

enum err run_condition_parse(const char *text, struct run_condition *out, struct err_detail *err)
{
    char name[64] = "";
    struct run_condition c = { .column = NULL };
    const char *at = text + strspn(text, blanks);
    const size_t n = strcspn(at, " \t\r\n<>=!");
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), at);
    struct nearest nearest = { .typed = name, .n_typed = strlen(name) };
    at += n;
    at += strspn(at, blanks);
    const size_t n_relation = take_relation(at, &c.relation);
    if (n == 0 || n_relation == 0)
        return err_set(err, ERR_USAGE, (uint64_t)(at - text), "--fail-if '%s': a name, one of < <= == != >= >, and a "
                       "value are needed, as in 'reserved_peak > 22GiB'", text);
    c.column = find_column(name, &nearest);
    if (c.column == NULL) {
        const char *meant = find_with_words(name);
        meant = meant != NULL ? meant : nearest.name != NULL ? nearest.name : "peak_reserved_bytes";
        return err_set(err, ERR_USAGE, 0, "--fail-if: there is no column '%s'; did you mean '%s'?", name, meant);
    }
    at += n_relation;
    const enum err e = take_value(&c, at + strspn(at, blanks), err);
    if (e == ERR_OK)
        *out = c;
    return e;
}

static bool relation_holds(enum condition_relation relation, int order)
{
    switch (relation) {
    case CONDITION_LESS:     return order < 0;
    case CONDITION_AT_MOST:  return order <= 0;
    case CONDITION_EQUAL:    return order == 0;
    case CONDITION_UNEQUAL:  return order != 0;
    case CONDITION_AT_LEAST: return order >= 0;
    case CONDITION_MORE:     return order > 0;
    }
    return false;
}

static int compare_text(const char *text, const struct run_condition *c)
{
    const int by_start = strncmp(text, c->text, c->n_text);
    return by_start != 0 ? by_start : text[c->n_text] != '\0';
}

bool run_condition_holds(const struct run_condition *c, const struct run_table *t, size_t row)
{
    const struct field *f = run_table_cell(t, row, c->column);
    if (f->kind == FIELD_NULL)
        return false;
    if (f->kind == FIELD_TEXT)
        return relation_holds(c->relation, compare_text(f->text, c));
    if (c->kind == FIELD_TEXT)
        return c->relation == CONDITION_UNEQUAL;
    const double value = f->kind == FIELD_RATIO ? f->ratio : (double)f->number;
    return relation_holds(c->relation, (value > c->number) - (value < c->number));
}
