/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A JSON writer: it does indentation, commas and escapes; the caller decides on the shape.
 */
#ifndef REPLAY_REPORT_TEXT_JSON_WRITER_H
#define REPLAY_REPORT_TEXT_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 16 };

struct json_writer {
    FILE    *out;
    unsigned depth;
    bool     has_members[JSON_DEPTH_MAX];    /* by depth: a comma is due */
    bool     is_compact;             /* no blanks, no lines */
    bool     is_embedded;            /* within a page: letters that mean something to HTML are escaped */
};

struct json_writer json_writer(FILE *out);

/* A text in quotes, for callers that write lines of their own. */
void json_quote(const struct json_writer *w, const char *text);

/* Every value takes its key, or NULL inside an array and for the outermost value. Bytes that are not UTF-8 become
 * U+FFFD. A ratio that is not a number becomes null. */
void json_put_object(struct json_writer *w, const char *key);
void json_put_array(struct json_writer *w, const char *key);
void json_end_object(struct json_writer *w);
void json_end_array(struct json_writer *w);
void json_put_text(struct json_writer *w, const char *key, const char *text);      /* NULL: null */
/* One of the words, as "a|b|c"; NULL: null. */
bool json_is_one_of(const char *word, const char *words);
void json_put_word(struct json_writer *w, const char *key, const char *word, const char *words);
/* From 2^63 on as a real, 1.8446744073709552e+19: many readers refuse an integer that a signed one of 64 bits lacks. */
void json_put_number(struct json_writer *w, const char *key, uint64_t number);
void json_put_number_unless(struct json_writer *w, const char *key, uint64_t number, uint64_t none);  /* none: null */
void json_put_number_if(struct json_writer *w, const char *key, bool is_known, uint64_t number);       /* else null */
void json_put_integer(struct json_writer *w, const char *key, int64_t number);
void json_put_ratio(struct json_writer *w, const char *key, double ratio);
void json_put_bool(struct json_writer *w, const char *key, bool is_true);
void json_put_null(struct json_writer *w, const char *key);

/* A value that another writer with the same settings wrote. */
void json_put_written(struct json_writer *w, const char *key, const char *json);

#endif
