/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The lines of the program that hold memory at the moment when most is requested at once.
 */
#ifndef REPLAY_REPLAY_DIFF_PEAK_LINES_H
#define REPLAY_REPLAY_DIFF_PEAK_LINES_H

#include "replay/diff/memory_profile.h"
#include "report/text/json_writer.h"

#include <stdio.h>

/* Finding the lines takes about a second for so many events. For longer traces a command should not do it unasked. */
enum { PEAK_LINES_EVENTS = 1 << 22 };

/* Zero is a valid beginning and end. */
struct peak_lines {
    struct profile_pair pair;        /* only PROFILE_A is filled */
    uint32_t *order;                 /* the n lines that hold memory, the largest first */
    size_t    n;
    int64_t   event;                 /* of the peak, in the trace's own numbering; -1: the start state */
};

/* Reads the whole trace, twice. ERR_HOST_NOMEM, and the reader's errors. */
MUST_USE enum err peak_lines_open(struct peak_lines *p, struct trace_reader *trace, struct err_detail *err);
void peak_lines_close(struct peak_lines *p);

/* Prints the largest lines. `event_word`: "record" or "event". */
void peak_lines_print(FILE *out, const struct peak_lines *p, const char *event_word);

/* The members of answers/info_peak.def. */
void info_peak_json(struct json_writer *json, const struct peak_lines *p);

#endif
