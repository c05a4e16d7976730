/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#ifndef REPLAY_REPLAY_PROGRAM_DATABASE_WATCH_H
#define REPLAY_REPLAY_PROGRAM_DATABASE_WATCH_H

#include "replay/results/results_file.h"

/* Says on standard error that another process has a database locked. */
void database_tell_waiting(const char *path);

/* Does so, and is never interrupted. */
extern const struct results_db_watch database_watch;

/* results_file_add that the first signal ends with ERR_INTERRUPTED, after the database was closed: SQLite's own files
 * beside it go with that. */
MUST_USE enum err database_read(struct run_table *t, const char *path, uint64_t memory_limit, bool *is_results,
                                struct err_detail *err);

#endif
