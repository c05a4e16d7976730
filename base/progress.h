/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A line on stderr that is rewritten as work goes on: "replaying: 42 %, 8.1 million events/s, about 12 s left". Silent
 * if stderr is no terminal, and for PROGRESS_PATIENCE_MS.
 */
#ifndef REPLAY_BASE_PROGRESS_H
#define REPLAY_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { PROGRESS_PATIENCE_MS = 700 };
enum progress_unit { PROGRESS_EVENTS, PROGRESS_BYTES, PROGRESS_PARTS };      /* of what is done; parts have no rate */

struct progress {
    const char *what;                /* "reading", "replaying" */
    enum progress_unit unit;
    unsigned    n_rounds;            /* how often the work began anew, with less done than before */
    uint64_t    done, done_in_all;   /* in this round; in all of them */
    int64_t     begun_ms, started_ms, shown_ms;          /* the whole work; this part of it */
    bool        is_shown;
};

struct progress progress_start(const char *what, enum progress_unit unit);
void progress_report(void *progress, uint64_t done, uint64_t total);       /* total 0 = unknown */

/* The work goes on with another part: rate and time left begin anew, patience does not. */
void progress_next(struct progress *p, const char *what);
void progress_clear(struct progress *p);

/* Empties the line of the terminal that standard error is. */
void progress_erase_line(void);

#endif
