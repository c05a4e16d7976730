/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Two rows of the same fields side by side: which fields differ, and by how much.
 */
#ifndef REPLAY_REPLAY_DIFF_DIFF_FIELDS_H
#define REPLAY_REPLAY_DIFF_DIFF_FIELDS_H

#include "base/err.h"
#include "report/text/fields.h"
#include "report/text/json_writer.h"

/* Equal in kind and value. */
bool field_equals(const struct field *a, const struct field *b);

/* How many of n fields differ. */
size_t diff_fields_count(const struct field *a, const struct field *b, size_t n);

/* A table of the fields that differ: name, both values, difference, per cent of the first. In lines of at most
 * `columns` letters, as far as leaving columns can do it. ERR_HOST_NOMEM. */
MUST_USE enum err diff_fields_print(FILE *out, const struct field *a, const struct field *b, size_t n, size_t columns,
                                    struct err_detail *err);

/* One field of two rows, as answers/figure.def shows it. */
struct figure { const struct field *a, *b; };
void figure_json(struct json_writer *json, const struct figure *f);

/* Second less first, and that in percent of the first, in *out; null if a value is no number, and the percentage also
 * if the first is 0. */
const struct field *figure_difference(const struct figure *f, struct field *out);
const struct field *figure_percent(const struct figure *f, struct field *out);

#endif
