/*
 * A file that may hold finished runs: a database of a sweep, or a JSON of a replay or a sweep.
 */
#ifndef REPLAY_REPLAY_RESULTS_RESULTS_FILE_H
#define REPLAY_REPLAY_RESULTS_RESULTS_FILE_H

#include "report/run_table.h"

/* Appends its runs to a table. *is_results: it is such a file, by its first bytes; otherwise nothing is done, nor said
 * of a file that cannot be opened: whoever takes it for a trace does. run_table's errors, ERR_IO. */
MUST_USE enum err results_file_add(struct run_table *t, const char *path, bool *is_results, struct err_detail *why);

#endif
