/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A program that runs while its journals are made into growing traces.
 */
#ifndef REPLAY_DRYRUN_RUN_FOLLOWED_CHILD_H
#define REPLAY_DRYRUN_RUN_FOLLOWED_CHILD_H

#include "dryrun/run/journal_follow.h"
#include "dryrun/run/run_child.h"

/* Runs argv[0] with argv, a list that NULL ends, while its journals come into a folder. folder NULL: nothing is
 * recorded. `ends_with_us`, *status: as child_run. On success and with a folder the caller ends *following, when the
 * traces that it wants are made. `command` ("record"): the name for messages. */
MUST_USE enum err followed_child_run(const char *const *argv, const struct child_env *env, bool ends_with_us,
                                     const char *folder, const char *command, struct following **following,
                                     int *status, struct err_detail *err);

#endif
