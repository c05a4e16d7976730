/*
 * Two rows of the same fields, side by side: what differs, by how much.
 */
#ifndef REPLAY_REPORT_DIFF_FIELDS_H
#define REPLAY_REPORT_DIFF_FIELDS_H

#include "report/fields.h"
#include "report/json_writer.h"

/* Equal in kind and value. */
bool field_equals(const struct field *a, const struct field *b);

/* How many of n fields differ. */
size_t diff_fields_count(const struct field *a, const struct field *b, size_t n);

/* A table of those that differ: name, both values, difference, per cent of the first. `indent`: spaces in front. */
void diff_fields_print(FILE *out, const struct field *a, const struct field *b, size_t n, int indent);

/* The array `fields` of those that differ: `name`, `a`, `b`, `difference` and `percent` (null where one is no number,
 * and per cent of 0). */
void diff_fields_json(struct json_writer *w, const struct field *a, const struct field *b, size_t n);

#endif
