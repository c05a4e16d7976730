/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#ifndef REPLAY_REPLAY_PROGRAM_DATABASE_WATCH_H
#define REPLAY_REPLAY_PROGRAM_DATABASE_WATCH_H

#include "report/rows/results_db.h"

/* Says on standard error that another process has a database locked. */
void database_tell_waiting(const char *path);

/* Does so, and is never interrupted. */
extern const struct results_db_watch database_watch;

#endif
