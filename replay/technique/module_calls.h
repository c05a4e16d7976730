/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Calls of modules in a forward pass, told from call stacks.
 *
 *     train.py:50          loss = model(x)             calls the model                 depth 0
 *       model.py:20          x = block(x)              calls a block, once a turn      depth 1
 *         model.py:31          y = self.up(x)          calls a layer                   depth 2
 *
 * Requests in a row that one line's call made are one call. It ends where its first stack comes again: then the same
 * line has called the next module.
 */
#ifndef REPLAY_REPLAY_TECHNIQUE_MODULE_CALLS_H
#define REPLAY_REPLAY_TECHNIQUE_MODULE_CALLS_H

#include "replay/technique/course.h"

/* Requests [first, end) of one call of a module. */
struct module_call { size_t first, end; };

struct module_calls { struct module_call *at; size_t n, room; };

/* Finds the calls that one line makes several times in a row, as a loop over layers or nn.Sequential does: of nested
 * ones the outermost. With `line` ("model.py:20") all calls of that line instead. ERR_USAGE if that line calls no
 * module in a forward pass; ERR_HOST_NOMEM. `out` is freed by module_calls_close, also on error. */
MUST_USE enum err module_calls_find(const struct course *c, const char *line, struct module_calls *out,
                                    struct err_detail *err);
void module_calls_close(struct module_calls *calls);

#endif
