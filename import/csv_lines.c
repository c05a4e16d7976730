/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "import/csv_lines.h"

#include <inttypes.h>
#include <string.h>

/* Copies the next line without its end. *has_line is false at the end of the input. */
static enum err take_line(struct input *in, struct csv_line *line, bool *has_line, struct err_detail *err)
{
    const unsigned char *bytes;
    size_t n;
    const enum err e = input_peek(in, CSV_LINE_MAX, &bytes, &n, err);
    if (e != ERR_OK)
        return e;
    *has_line = n > 0;
    line->number++;
    const unsigned char *end = n > 0 ? memchr(bytes, '\n', n < CSV_LINE_MAX ? n : CSV_LINE_MAX) : NULL;
    if (end == NULL && n >= CSV_LINE_MAX)
        return err_at(err, ERR_FORMAT, input_offset(in), input_name(in), "line %" PRIu64 " is longer than %d letters",
                      line->number, CSV_LINE_MAX);
    size_t used = end != NULL ? (size_t)(end - bytes) : n;
    memcpy(line->text, bytes, used);
    line->has_end = end != NULL;
    input_skip(in, used + line->has_end);
    while (used > 0 && line->text[used - 1] == '\r')
        used--;
    line->text[used] = '\0';
    if (memchr(line->text, '\0', used) != NULL)
        return err_at(err, ERR_FORMAT, input_offset(in), input_name(in), "line %" PRIu64 " holds a byte 0, which no "
                      "text has", line->number);
    return ERR_OK;
}

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        text[--n] = '\0';
    return text;
}

/* In a line with blanks each run of them is one separator, and those around the line are none. */
static void join_blanks(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; at++)
        if (*at != ' ' && *at != '\t')
            *to++ = *at;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    to -= to > text && to[-1] == ' ';
    *to = '\0';
}

static char separator_of(const struct csv_line *line)
{
    static const char separators[] = ",;\t";
    for (const char *s = separators; *s != '\0'; s++)
        if (strchr(line->text, *s) != NULL)
            return *s;
    return line->may_have_blanks && strchr(line->text, ' ') != NULL ? ' ' : ',';
}

/* Takes the field at *at, and moves *at after its separator; NULL after the last field. Returns NULL if a quote of the
 * field is never closed. */
static char *take_field(char **at, char separator)
{
    char *from = *at, *to = *at;
    bool in_quotes = false;
    for (; **at != '\0' && (in_quotes || **at != separator); (*at)++) {
        if (**at == '"' && in_quotes && (*at)[1] == '"')
            *to++ = *(*at)++;                /* a doubled quote is one */
        else if (**at == '"')
            in_quotes = !in_quotes;
        else
            *to++ = **at;
    }
    *at = **at == separator ? *at + 1 : NULL;
    *to = '\0';
    return in_quotes ? NULL : trimmed(from);
}

enum err csv_next(struct input *in, struct csv_line *line, struct err_detail *err)
{
    bool has_line = true;
    line->n = 0;
    while (has_line && line->n == 0) {
        const enum err e = take_line(in, line, &has_line, err);
        if (e != ERR_OK)
            return e;
        if (line->text[strspn(line->text, " \t")] == '\0' || !has_line)
            continue;
        line->separator = line->separator == '\0' ? separator_of(line) : line->separator;
        if (line->separator == ' ')
            join_blanks(line->text);
        for (char *at = line->text; at != NULL; line->n++) {
            if (line->n == CSV_FIELDS_MAX)
                return err_at(err, ERR_FORMAT, input_offset(in), input_name(in), "line %" PRIu64 " has more than %d "
                              "fields", line->number, CSV_FIELDS_MAX);
            if ((line->fields[line->n] = take_field(&at, line->separator)) == NULL)
                return err_at(err, ERR_FORMAT, input_offset(in), input_name(in), "line %" PRIu64 " has a quote that is "
                              "never closed", line->number);
        }
    }
    return ERR_OK;
}
