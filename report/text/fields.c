/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* How each kind of value is made and written. */
#include "report/text/fields.h"

#include <stdlib.h>

struct field field_text(const char *name, const char *text)
{
    return (struct field){ .name = name, .kind = text != NULL ? FIELD_TEXT : FIELD_NULL, .text = text };
}

struct field field_number(const char *name, uint64_t n)
{
    return (struct field){ .name = name, .kind = FIELD_NUMBER, .number = (int64_t)n };
}

struct field field_number_unless(const char *name, uint64_t n, uint64_t none)
{
    return n == none ? (struct field){ .name = name } : field_number(name, n);
}

/* The value is rounded to what is printed of it, so that no writer has more digits than another. */
struct field field_ratio(const char *name, double part, double whole)
{
    char text[32];
    if (whole <= 0)
        return (struct field){ .name = name };
    snprintf(text, sizeof text, "%.6g", part / whole);
    return (struct field){ .name = name, .kind = FIELD_RATIO, .ratio = strtod(text, NULL) };
}

void field_json(struct json_writer *w, const char *key, const struct field *f)
{
    switch (f->kind) {
    case FIELD_NULL:   json_put_null(w, key); break;
    case FIELD_TEXT:   json_put_text(w, key, f->text); break;
    case FIELD_NUMBER: json_put_integer(w, key, f->number); break;
    case FIELD_RATIO:  json_put_ratio(w, key, f->ratio); break;
    }
}
