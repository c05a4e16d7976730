/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Names what is held by the line that tells it from what is not.
 *
 * The innermost line of the program may be one that many call: a helper that makes tensors, a model's forward pass. If
 * it is also called from lines whose requests are not held, the caller's line is the one to name, and so on outward:
 *
 *     train.py:40 main <- data.py:7 load        held      named: train.py:40
 *     train.py:35 main <- data.py:7 load        freed
 *
 * The line that calls the named one stands beside it: "data.py:7 load, called at train.py:40 main".
 *
 * If many lines inside a call of a module share what is held, as a graph does, the line that makes the call is named.
 * What has no line, because a backward pass asked for it, comes last.
 */
#ifndef REPLAY_REPLAY_RECORDING_TELLING_LINES_H
#define REPLAY_REPLAY_RECORDING_TELLING_LINES_H

#include "replay/recording/holders.h"

/* As holders_group by line, with these names; of a recording without stacks by size. ERR_HOST_NOMEM. */
MUST_USE enum err telling_lines_group(struct trace_reader *trace, const struct holdings *h, struct holders *out,
                                      struct err_detail *err);

/* The lines of `h`, the one that holds most of it first, with all that they hold before event `moment`, which may be
 * later: a line that leaks is found where little else is live, and counted where the program ended. */
MUST_USE enum err telling_lines_count(struct trace_reader *trace, const struct holdings *h, uint64_t moment,
                                      struct holders *out, struct err_detail *err);

/* The program's line that made the request of an event, refused ones included. "": it is not known. Errors as of
 * trace_stacks_at. */
MUST_USE enum err telling_line_of_event(struct trace_reader *trace, uint64_t event, size_t size, char *out,
                                        struct err_detail *err);

#endif
