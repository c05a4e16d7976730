/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Makes traces of journals while they are written. Beside PID.N.calls grows PID.N.gpuD.zst, which can be read at any
 * time and, after any kill, holds all but the last second.
 */
#ifndef REPLAY_DRYRUN_RUN_JOURNAL_FOLLOW_H
#define REPLAY_DRYRUN_RUN_JOURNAL_FOLLOW_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FOLLOWING_LOOK_MS = 250, FOLLOWING_MAX = 256 };   /* time between looks; processes followed at once */

struct following;

/* Follows the journals that come into a folder; `command` ("record") is the name for messages. Both are borrowed.
 * ERR_HOST_NOMEM. */
MUST_USE enum err following_start(const char *folder, const char *command, struct following **out,
                                  struct err_detail *err);

/* Appends what came since the last look, and ends the traces of processes that have ended. A journal that cannot be
 * followed is left alone; the reason is said once on standard error. */
void following_look(struct following *f);

/* When a process was seen running, as numbers of looks. */
struct following_span {
    uint32_t pid;
    uint64_t first, last;
};

struct following_spans {
    struct following_span *at;
    size_t n;
};

/* Those of all journals that were followed, in no order. The caller free()s `at`. ERR_HOST_NOMEM. */
MUST_USE enum err following_spans_read(const struct following *f, struct following_spans *out, struct err_detail *err);

/* Ends the traces, or removes them if better ones have been made. NULL is accepted. */
void following_end(struct following *f, bool is_removed);

#endif
