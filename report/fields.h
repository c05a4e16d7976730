/*
 * A run as a row: every number and text of it under one name, the same for CSV and database.
 */
#ifndef REPLAY_REPORT_FIELDS_H
#define REPLAY_REPORT_FIELDS_H

#include "report/report.h"

enum field_kind { FIELD_NULL, FIELD_TEXT, FIELD_NUMBER, FIELD_RATIO };

struct field {
    const char     *name;
    enum field_kind kind;
    const char     *text;            /* TEXT: borrowed */
    int64_t         number;
    double          ratio;           /* RATIO: rounded to the six digits that are printed */
};

enum { FIELDS_MAX = 48 };

/* The row of a run, and of the trace that it ran on; names alone where `run` or `t` is NULL. Returns how many. */
size_t fields_of_run(const struct report_run *run, struct field out[FIELDS_MAX]);
size_t fields_of_trace(const struct report_trace *t, struct field out[FIELDS_MAX]);

struct field field_text(const char *name, const char *text);         /* NULL text: a null */
struct field field_number(const char *name, uint64_t n);
struct field field_number_unless(const char *name, uint64_t n, uint64_t none);

/* The value as JSON, under `key`; NULL within an array. */
void field_json(struct json_writer *w, const char *key, const struct field *f);

#endif
