/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Why a program ended early, as far as what it printed tells, and how to go on without what it missed.
 */
#ifndef REPLAY_DRYRUN_PROGRAM_FAILURE_H
#define REPLAY_DRYRUN_PROGRAM_FAILURE_H

struct program_failure {
    char line[240];                  /* the line that names the reason, else the last one; "": it printed nothing */
    const char *advice;              /* a sentence; NULL: the line is all that can be said */
};

/* Reads the end of a log. A log that cannot be read is one without a line. */
void program_failure_read(const char *log, struct program_failure *out);

/* Reads there whether a process of several has failed while others went on. An empty line: none has said so. */
void program_failure_of_rank(const char *log, struct program_failure *out);

#endif
