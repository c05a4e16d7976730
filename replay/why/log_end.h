/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * How a log goes on after an error: whether the program lived on.
 *
 * That a log goes on proves nothing by itself. What a program prints is kept back and may be written when it ends,
 * after the traceback. So a log counts as the log of a survivor only if work is counted on after the error (steps,
 * epochs, "3/20"), and either further than before it, or after words of the program's own about the error.
 */
#ifndef REPLAY_REPLAY_WHY_LOG_END_H
#define REPLAY_REPLAY_WHY_LOG_END_H

#include <stdbool.h>
#include <stddef.h>

enum log_end {
    LOG_ENDS_THERE,                  /* nothing after the error says otherwise */
    LOG_GOES_ON,                     /* it does, and does not tell whether the program did */
    LOG_SURVIVED,                    /* the program did */
};

/* The error begins at text[at]; the log is looked at up to text[stop). */
enum log_end log_end_read(const char *text, size_t at, size_t stop);

/* The last line of text[at, stop) that is not blank, without layout at its ends. False: there is none. */
bool log_end_line(const char *text, size_t at, size_t stop, char *out, size_t room);

#endif
