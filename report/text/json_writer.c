/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* JSON (RFC 8259), two spaces of indentation, one value a line. */
#include "report/text/json_writer.h"

#include "base/shown.h"
#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

struct json_writer json_writer(FILE *out)
{
    return (struct json_writer){ .out = out };
}

/* Whether HTML or JavaScript gives these letters a meaning (U+2028 and U+2029 end lines there). */
static bool means_something(const unsigned char *s)
{
    return *s == '<' || *s == '>' || *s == '&' || (s[0] == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9));
}

/* How many letters need no escape. */
static size_t plain_length(const struct json_writer *w, const unsigned char *s)
{
    size_t n = 0;
    while (s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\' && !(w->is_embedded && means_something(s + n)))
        n++;
    return n;
}

/* What a person's editor or terminal would obey is escaped, as control characters are. */
void json_quote(const struct json_writer *w, const char *text)
{
    FILE *out = w->out;
    fputc('"', out);
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0';) {
        const size_t n_plain = plain_length(w, s);
        fwrite(s, 1, n_plain, out);
        s += n_plain;
        if (*s == '\0')
            break;
        size_t left_out;
        const size_t n = utf8_length(s);
        if (n == 0)
            fputs("\\ufffd", out);
        else if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else if (*s == '\n')
            fputs("\\n", out);
        else if (shown_length((const char *)s, n, &left_out) == 0)
            fprintf(out, "\\u%04x", utf8_code(s, n));
        else if (w->is_embedded && means_something(s))
            fprintf(out, "\\u%04x", utf8_code(s, n));
        else
            fwrite(s, 1, n, out);
        s += n == 0 ? 1 : n;
    }
    fputc('"', out);
}

static void json_indent(struct json_writer *w)
{
    if (!w->is_compact)
        fprintf(w->out, "\n%*s", (int)(2 * w->depth), "");
}

/* Writes what comes before a value: comma, line and key. */
static void json_lead(struct json_writer *w, const char *key)
{
    if (w->has_members[w->depth])
        fputc(',', w->out);
    if (w->depth > 0)
        json_indent(w);
    w->has_members[w->depth] = true;
    if (key == NULL)
        return;
    json_quote(w, key);
    fputs(w->is_compact ? ":" : ": ", w->out);
}

static void json_open(struct json_writer *w, const char *key, char bracket)
{
    json_lead(w, key);
    fputc(bracket, w->out);
    w->depth++;
    assert(w->depth < JSON_DEPTH_MAX);
    w->has_members[w->depth] = false;
}

static void json_close(struct json_writer *w, char bracket)
{
    const bool has_members = w->has_members[w->depth];
    w->depth--;
    if (has_members)
        json_indent(w);
    fputc(bracket, w->out);
    if (w->depth == 0 && !w->is_compact)
        fputc('\n', w->out);
}

void json_put_object(struct json_writer *w, const char *key)
{
    json_open(w, key, '{');
}

void json_put_array(struct json_writer *w, const char *key)
{
    json_open(w, key, '[');
}

void json_end_object(struct json_writer *w)
{
    json_close(w, '}');
}

void json_end_array(struct json_writer *w)
{
    json_close(w, ']');
}

void json_put_text(struct json_writer *w, const char *key, const char *text)
{
    json_lead(w, key);
    if (text == NULL)
        fputs("null", w->out);
    else
        json_quote(w, text);
}

bool json_is_one_of(const char *word, const char *words)
{
    const size_t n = strlen(word);
    for (const char *at = words; at != NULL; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, word, n) == 0 && (at[n] == '|' || at[n] == '\0'))
            return true;
    }
    return false;
}

void json_put_word(struct json_writer *w, const char *key, const char *word, const char *words)
{
    assert(word == NULL || json_is_one_of(word, words));
    (void)words;
    json_put_text(w, key, word);
}

void json_put_number(struct json_writer *w, const char *key, uint64_t number)
{
    json_lead(w, key);
    if (number <= INT64_MAX)
        fprintf(w->out, "%" PRIu64, number);
    else
        fprintf(w->out, "%.17g", (double)number);
}

void json_put_number_unless(struct json_writer *w, const char *key, uint64_t number, uint64_t none)
{
    if (number == none)
        json_put_null(w, key);
    else
        json_put_number(w, key, number);
}

void json_put_number_if(struct json_writer *w, const char *key, bool is_known, uint64_t number)
{
    if (is_known)
        json_put_number(w, key, number);
    else
        json_put_null(w, key);
}

void json_put_integer(struct json_writer *w, const char *key, int64_t number)
{
    json_lead(w, key);
    fprintf(w->out, "%" PRId64, number);
}

void json_put_ratio(struct json_writer *w, const char *key, double ratio)
{
    json_lead(w, key);
    if (isfinite(ratio))
        fprintf(w->out, "%.6g", ratio);
    else
        fputs("null", w->out);
}

void json_put_bool(struct json_writer *w, const char *key, bool is_true)
{
    json_lead(w, key);
    fputs(is_true ? "true" : "false", w->out);
}

void json_put_null(struct json_writer *w, const char *key)
{
    json_lead(w, key);
    fputs("null", w->out);
}

void json_put_written(struct json_writer *w, const char *key, const char *json)
{
    json_lead(w, key);
    fputs(json, w->out);
}
