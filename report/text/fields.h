/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A field: one value of a row under its column's name, the same for CSV, JSON and database.
 */
#ifndef REPLAY_REPORT_TEXT_FIELDS_H
#define REPLAY_REPORT_TEXT_FIELDS_H

#include "report/text/json_writer.h"

#include <stdint.h>

enum field_kind { FIELD_NULL, FIELD_TEXT, FIELD_NUMBER, FIELD_RATIO };

struct field {
    const char     *name;
    enum field_kind kind;
    const char     *text;            /* TEXT: borrowed */
    int64_t         number;
    double          ratio;           /* RATIO: rounded to the six digits that are printed */
};

struct field field_text(const char *name, const char *text);         /* NULL text: a null */
struct field field_number(const char *name, uint64_t n);
struct field field_number_unless(const char *name, uint64_t n, uint64_t none);
struct field field_ratio(const char *name, double part, double whole);       /* null unless whole > 0 */

/* The value as JSON, under `key`; NULL within an array. */
void field_json(struct json_writer *w, const char *key, const struct field *f);

#endif
