/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The exit statuses of the program: their list, and the only place where an error becomes one.
 */
#ifndef REPLAY_BASE_EXIT_STATUS_H
#define REPLAY_BASE_EXIT_STATUS_H

#include "base/err.h"

/* X(NAME, number, meaning): the meaning as --help and the manual page print it. */
#define EXIT_STATUS_LIST(X)                                                                                    \
    X(DONE, 0, "the command did what was asked")                                                               \
    X(FAILED, 1, "the answer is bad news: a run was out of memory, or a comparison found a difference")         \
    X(USAGE, 2, "wrong usage, bad or missing input, or a device that is not there")                            \
    X(OURS, 3, "this program or its host failed: a full disk, no memory, a driver's error")                     \
    X(OPEN, 4, "predict, serve: may fit, or cannot be told; bisect: one of several, which is not known")       \
    X(PART, 5, "sweep: a trace or a run was left out, and named; the others are stored")

#define EXIT_STATUS_ENUM(name, number, meaning) STATUS_##name = (number),
enum exit_status { EXIT_STATUS_LIST(EXIT_STATUS_ENUM) };
#undef EXIT_STATUS_ENUM

/* The status of a command that ends with this error. ERR_INPUT is the person's to mend and gives STATUS_USAGE; ERR_IO,
 * an output or a temporary file that failed, gives STATUS_OURS. */
enum exit_status exit_status_of(enum err e);

/* The status of a command whose run had this outcome. Out of memory and a failed audit are results here, so both give
 * STATUS_FAILED; anything else is as above. */
enum exit_status exit_status_of_run(enum err outcome);

#endif
