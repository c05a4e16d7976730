/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Other programs that we ask, git and pip: they are given no terminal, and what they print is read. */
#ifndef REPLAY_DRYRUN_BISECT_QUIET_COMMAND_H
#define REPLAY_DRYRUN_BISECT_QUIET_COMMAND_H

#include "base/err.h"

#include <signal.h>

/* Runs argv, a list that NULL ends; what it prints, on both streams, goes into *out, which the caller free()s. A folder
 * for the file that it is kept in meanwhile. *status: as of child_run. `interrupted` (NULL: none) not 0 ends it:
 * ERR_INTERRUPTED. ERR_USAGE if it cannot be started, ERR_IO, ERR_HOST_NOMEM. */
MUST_USE enum err quiet_command(const char *const *argv, const char *folder, const volatile sig_atomic_t *interrupted,
                                char **out, int *status, struct err_detail *err);

/* The last line of a text that says something, shortened; "" if there is none. */
enum { QUIET_REASON = 200 };
void quiet_reason(const char *text, char out[static QUIET_REASON]);

#endif
