/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* CSV (RFC 4180): one row per run, named by the columns (result_columns.def). */
#include "report/rows/csv.h"

#include "base/shown.h"
#include "base/utf8.h"
#include "report/rows/result_columns.h"

#include <inttypes.h>
#include <string.h>

/* Letters that are shown as nothing: blanks, a line's end, and what has no width. */
static bool is_blank(uint32_t code)
{
    return code == ' ' || code == '\n' || code == 0xa0 || code == 0xad || code == 0x1680 || code == 0x180e ||
           (code >= 0x2000 && code <= 0x200d) || code == 0x202f || (code >= 0x205f && code <= 0x2064) || code == 0x3000;
}

/* A spreadsheet computes a cell that begins so, some after blanks or with letters of full width, and a formula may send
 * the others away: an apostrophe makes it text. */
static bool is_formula(const char *text)
{
    uint32_t code = ' ';
    for (size_t n = 0; is_blank(code); text += n) {
        n = utf8_length((const unsigned char *)text);
        code = n == 0 ? '?' : utf8_code((const unsigned char *)text, n);
    }
    return code == '=' || code == '+' || code == '-' || code == '@' || code == 0xff1d || code == 0xff0b ||
           code == 0xff0d || code == 0xff20;
}

/* Text that a spreadsheet, an editor or a terminal shows as it is (base/shown.h). */
void csv_text(FILE *out, const char *text)
{
    const bool is_quoted = text[strcspn(text, ",;\t\"\r\n")] != '\0';
    const size_t n = strlen(text);
    fputs(is_quoted ? "\"" : "", out);
    fputs(is_formula(text) ? "'" : "", out);
    for (size_t i = 0, left_out; i < n;) {
        const size_t length = shown_length(text + i, n - i, &left_out);
        if (length > 0)
            fwrite(text + i, 1, length, out);
        else
            fputc('?', out);
        if (text[i] == '"')
            fputc('"', out);
        i += length > 0 ? length : left_out;
    }
    fputs(is_quoted ? "\"" : "", out);
}

void csv_bytes(FILE *out, const struct meter_bytes *b)
{
#define METER_GAUGE(name, meaning) fprintf(out, ",%" PRIu64, b->name);
    METER_GAUGES(METER_GAUGE)
#undef METER_GAUGE
}

void csv_fields_names(FILE *out, const struct field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%s", i == 0 ? "" : ",", fields[i].name);
    fputc('\n', out);
}

void csv_fields(FILE *out, const struct field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct field *f = &fields[i];
        if (i > 0)
            fputc(',', out);
        if (f->kind == FIELD_TEXT)
            csv_text(out, f->text);
        else if (f->kind == FIELD_NUMBER)
            fprintf(out, "%" PRId64, f->number);
        else if (f->kind == FIELD_RATIO)
            fprintf(out, "%.6g", f->ratio);
    }
    fputc('\n', out);
}

void report_csv(FILE *out, const struct report *r)
{
    struct field fields[FIELDS_MAX];
    csv_fields_names(out, fields, fields_of_run(NULL, fields));
    for (size_t i = 0; i < r->n_runs; i++)
        csv_fields(out, fields, fields_of_run(&r->runs[i], fields));
}
