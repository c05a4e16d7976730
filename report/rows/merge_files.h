/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#ifndef REPLAY_REPORT_ROWS_MERGE_FILES_H
#define REPLAY_REPORT_ROWS_MERGE_FILES_H

#include "report/rows/results_db.h"

/* Databases of results and the one that gets their runs, all borrowed. */
struct merge_files {
    const char *const *inputs;
    size_t n_inputs;
    const char *out;
    const struct results_db_watch *watch;
    void (*added)(const char *input, uint64_t n_runs);       /* told after each input; NULL: nobody is told */
};

/* Merges the inputs in their order. If `out` is not there, it appears when all are in it: a partial merge would look
 * complete. If it is there, it keeps what came before an error. results_db_open's and results_db_merge's errors. */
MUST_USE enum err merge_files(const struct merge_files *m, struct err_detail *err);

#endif
