/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A file that may hold finished runs: the database of a sweep, or the JSON of a replay or a sweep.
 */
#ifndef REPLAY_REPLAY_RESULTS_RESULTS_FILE_H
#define REPLAY_REPLAY_RESULTS_RESULTS_FILE_H

#include "report/rows/results_db.h"
#include "report/rows/run_table.h"

/* Appends the runs of a file to a table. memory_limit: as for input_allow. *is_results: whether it is such a file, by
 * its first bytes. If it is not, or if it cannot be opened, nothing is done and ERR_OK is returned: the caller takes it
 * for a trace, and opening that will say what is wrong. `watch`: as for results_db_open_read. run_table's errors;
 * ERR_INPUT, ERR_HOST_NOMEM; ERR_IO if the host has no descriptor left, or another process has locked the database. */
MUST_USE enum err results_file_add(struct run_table *t, const char *path, uint64_t memory_limit,
                                   const struct results_db_watch *watch, bool *is_results, struct err_detail *err);

#endif
