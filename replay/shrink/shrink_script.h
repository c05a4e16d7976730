/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The calls as a script of torch.empty and del that anyone can run. */
#ifndef REPLAY_REPLAY_SHRINK_SHRINK_SCRIPT_H
#define REPLAY_REPLAY_SHRINK_SHRINK_SCRIPT_H

#include "replay/shrink/shrink.h"

enum { SCRIPT_LINES = 30, SCRIPT_COMMENT = 100 };

/* Writes the script, under a comment that says what it is. ERR_UNSUPPORTED if the policy is not PyTorch's allocator,
 * or the calls need pools or late uses, or more than SCRIPT_LINES lines; nothing is written then. The caller finds
 * failed writes. */
MUST_USE enum err shrink_script_write(const struct shrunk *s, const struct single_run *run, const char *about,
                                      FILE *out, struct err_detail *err);

#endif
