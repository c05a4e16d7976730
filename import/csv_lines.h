/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Lines of a CSV file, one at a time (RFC 4180, without line breaks inside quotes). What separates fields is what the
 * first line has: commas, else semicolons, else tabs, else, if the caller says so, blanks.
 */
#ifndef REPLAY_IMPORT_CSV_LINES_H
#define REPLAY_IMPORT_CSV_LINES_H

#include "base/input.h"

enum { CSV_LINE_MAX = 1 << 14, CSV_FIELDS_MAX = 64 };

struct csv_line {
    char   text[CSV_LINE_MAX];
    char  *fields[CSV_FIELDS_MAX];           /* into `text`, without quotes and without blanks around them */
    size_t n;                                /* 0: the input has ended */
    uint64_t number;                         /* of the line, from 1 */
    bool   has_end;                          /* false: the input ends in it */
    bool   may_have_blanks;                  /* set by the caller: blanks may separate, any number of them */
    char   separator;                        /* 0 before the first line */
};

/* Reads the next line that is not empty. Zero is the line before the first one. ERR_FORMAT, with the line's number, for
 * a line that is too long, has too many fields, a byte 0 or a quote that is never closed; input_peek's errors. */
MUST_USE enum err csv_next(struct input *in, struct csv_line *line, struct err_detail *err);

#endif
