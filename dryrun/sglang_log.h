/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The lines in which an SGLang server tells of its memory. Each of its processes writes them, after its name:
 * "[... TP0] Load weight end. ...".
 *
 * Before the weights it looks at what is free, B. Its cache is what is free after them, less (1 - f) B, where f is
 * --mem-fraction-static. What that leaves is for its graphs, and for all that it computes; nothing of either is
 * measured before the cache is made.
 */
#ifndef REPLAY_DRYRUN_SGLANG_LOG_H
#define REPLAY_DRYRUN_SGLANG_LOG_H

#include "dryrun/log_rest.h"
#include "dryrun/server_log.h"

/* It has sized its cache, captured its graphs and answered a request of its own. */
#define SGLANG_READY "The server is fired up and ready to roll"

bool sglang_log_is_such(struct rest all);

/* Fills in what the log tells; the rest of `log` stays as it is. */
void sglang_log_fill(struct rest all, struct server_log *log);

#endif
