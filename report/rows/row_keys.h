/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Rows of a table by what stands in some of their cells, so that rows that are equal there are found without comparing
 * each with every other.
 */
#ifndef REPLAY_REPORT_ROWS_ROW_KEYS_H
#define REPLAY_REPORT_ROWS_ROW_KEYS_H

#include "base/intern.h"
#include "base/text_stream.h"
#include "report/rows/run_table.h"

/* A key is the text that was written to key.file since the last one. Keys are numbered from 0 in order of their first
 * appearance. Stays where it is while it is open. */
struct row_keys {
    struct text_table  texts;
    struct text_stream key;
};

/* False without memory; row_keys_close accepts that, and a zeroed struct. */
bool row_keys_open(struct row_keys *out);
void row_keys_close(struct row_keys *k);

/* Writes the cells of a row: kind, length and value of each. A number and a ratio of the same value are equal. */
void row_keys_put(struct row_keys *k, const struct run_table *t, size_t row, const char *const columns[], size_t n);

/* The number of the key that was written; UINT32_MAX without memory. */
uint32_t row_keys_number(struct row_keys *k);

#endif
