/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What a predicted program holds when it has requested most, by category. */
#ifndef REPLAY_DRYRUN_PREDICTED_CATEGORIES_H
#define REPLAY_DRYRUN_PREDICTED_CATEGORIES_H

#include "replay/recording/holders.h"
#include "traces/trace.h"

#include <stdio.h>

struct predicted_categories;

/* Reads a recording of PyTorch's allocator. ERR_HOST_NOMEM, the reader's errors. Close it. */
MUST_USE enum err predicted_categories_find(struct trace_reader *trace, struct predicted_categories **out,
                                            struct err_detail *err);

/* One sentence, largest first; nothing if no category is known. NULL: nothing. */
void predicted_categories_print(FILE *out, const struct predicted_categories *c);

/* Largest first; NULL of NULL. */
const struct holders *predicted_categories_held(const struct predicted_categories *c);
void predicted_categories_close(struct predicted_categories *c);

#endif
