/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Numbers keep all their digits, because one byte can be the difference. */
#include "replay/diff/diff_fields.h"

#include "report/text/text.h"
#include "report/text/terminal_table.h"

#include <inttypes.h>
#include <string.h>

enum { VALUE_TEXT = 48 };

static bool is_number(const struct field *f)
{
    return f->kind == FIELD_NUMBER || f->kind == FIELD_RATIO;
}

static double value_of(const struct field *f)
{
    return f->kind == FIELD_NUMBER ? (double)f->number : f->ratio;
}

bool field_equals(const struct field *a, const struct field *b)
{
    if (a->kind == FIELD_NUMBER && b->kind == FIELD_NUMBER)
        return a->number == b->number;
    if (is_number(a) && is_number(b))
        return !(value_of(a) < value_of(b)) && !(value_of(a) > value_of(b));
    if (a->kind != b->kind)
        return false;
    return a->kind == FIELD_NULL || strcmp(a->text, b->text) == 0;
}

size_t diff_fields_count(const struct field *a, const struct field *b, size_t n)
{
    size_t differ = 0;
    for (size_t i = 0; i < n; i++)
        differ += !field_equals(&a[i], &b[i]);
    return differ;
}

/* The value as a person reads it; a long text is cut. */
static void show_value(const struct field *f, char out[VALUE_TEXT])
{
    char count[TEXT_NUMBER];
    switch (f->kind) {
    case FIELD_NULL:
        snprintf(out, VALUE_TEXT, "-");
        break;
    case FIELD_TEXT:
        snprintf(out, VALUE_TEXT, "%s%.40s", strlen(f->text) > 40 ? "..." : "",
                 strlen(f->text) > 40 ? f->text + strlen(f->text) - 40 : f->text);
        break;
    case FIELD_NUMBER:
        snprintf(out, VALUE_TEXT, "%s%s", f->number < 0 ? "-" : "",
                 text_count(f->number < 0 ? 0 - (uint64_t)f->number : (uint64_t)f->number, count));
        break;
    case FIELD_RATIO:
        snprintf(out, VALUE_TEXT, "%.6g", f->ratio);
        break;
    }
}

static void show_difference(const struct field *a, const struct field *b, char out[VALUE_TEXT],
                            char percent[VALUE_TEXT])
{
    char count[TEXT_NUMBER];
    out[0] = percent[0] = '\0';
    if (!is_number(a) || !is_number(b))
        return;
    const double d = value_of(b) - value_of(a);
    const uint64_t more = (uint64_t)b->number - (uint64_t)a->number;
    if (a->kind == FIELD_NUMBER && b->kind == FIELD_NUMBER)
        snprintf(out, VALUE_TEXT, "%s%s", d < 0 ? "-" : "+", text_count(d < 0 ? 0 - more : more, count));
    else
        snprintf(out, VALUE_TEXT, "%+.6g", d);
    if (value_of(a) > 0)
        snprintf(percent, VALUE_TEXT, "%+.1f%%", 100 * d / value_of(a));
}

enum err diff_fields_print(FILE *out, const struct field *a, const struct field *b, size_t n, size_t columns,
                           struct err_detail *err)
{
    static const struct text_column titles[] = { { "field", NULL, true, 0 }, { "A", NULL, false, 0 },
                                                 { "B", NULL, false, 0 }, { "B - A", NULL, false, 1 },
                                                 { "change", NULL, false, 2 } };
    enum { N = sizeof titles / sizeof titles[0] };
    struct terminal_table table = { .columns = titles, .n_columns = N, .bold_row = SIZE_MAX };
    for (size_t i = 0; i < n; i++) {
        char x[VALUE_TEXT], y[VALUE_TEXT], d[VALUE_TEXT], percent[VALUE_TEXT];
        if (field_equals(&a[i], &b[i]))
            continue;
        show_value(&a[i], x);
        show_value(&b[i], y);
        show_difference(&a[i], &b[i], d, percent);
        terminal_table_add(&table, (const char *const[N]){ a[i].name, x, y, d, percent });
    }
    const enum err e = terminal_table_print(out, &table, columns);
    return e == ERR_OK ? ERR_OK : err_set(err, e, 0, "no memory for a table of differences");
}

const struct field *figure_difference(const struct figure *f, struct field *out)
{
    const bool both = is_number(f->a) && is_number(f->b);
    const bool are_whole = f->a->kind == FIELD_NUMBER && f->b->kind == FIELD_NUMBER;
    out->kind = !both ? FIELD_NULL : are_whole ? FIELD_NUMBER : FIELD_RATIO;
    out->number = (int64_t)((uint64_t)f->b->number - (uint64_t)f->a->number);
    out->ratio = both ? value_of(f->b) - value_of(f->a) : 0;
    return out;
}

const struct field *figure_percent(const struct figure *f, struct field *out)
{
    const bool is_known = is_number(f->a) && is_number(f->b) && value_of(f->a) > 0;
    out->kind = is_known ? FIELD_RATIO : FIELD_NULL;
    out->ratio = is_known ? 100 * (value_of(f->b) - value_of(f->a)) / value_of(f->a) : 0;
    return out;
}

void figure_json(struct json_writer *json, const struct figure *f)
{
#define ANSWER_TABLE "answers/figure.def"
#include "answers/as_json.def"
}
