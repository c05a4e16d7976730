/*
 * Which lines of the program hold the memory where it requests most at once.
 */
#ifndef REPLAY_REPLAY_DIFF_PEAK_LINES_H
#define REPLAY_REPLAY_DIFF_PEAK_LINES_H

#include "replay/diff/memory_profile.h"
#include "report/json_writer.h"

#include <stdio.h>

/* Reading a trace for it takes a second for so many events; of longer ones nobody wants to wait for it unasked. */
enum { PEAK_LINES_EVENTS = 1 << 22 };

/* Zero is a valid beginning and end. */
struct peak_lines {
    struct profile_pair pair;        /* of one trace, the first */
    uint32_t *order;                 /* its lines that hold something, by bytes, falling */
    size_t    n;
    int64_t   event;                 /* of the peak, as results name events; -1: the start state */
};

/* Reads the whole trace. ERR_HOST_NOMEM, and the reader's errors. */
MUST_USE enum err peak_lines_open(struct peak_lines *p, struct trace_reader *trace, struct err_detail *why);
void peak_lines_close(struct peak_lines *p);

/* `event_word`: "record" or "event". */
void peak_lines_print(FILE *out, const struct peak_lines *p, const char *event_word);

/* An object; NULL for `p`: null. */
void peak_lines_json(struct json_writer *w, const char *key, const struct peak_lines *p);

#endif
