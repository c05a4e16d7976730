/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What `sweep` and `merge` write of a database of results. */
#ifndef REPLAY_REPLAY_PROGRAM_RESULT_OUTPUTS_H
#define REPLAY_REPLAY_PROGRAM_RESULT_OUTPUTS_H

#include "replay/program/cli.h"
#include "report/rows/results_db.h"

struct result_outputs {
    struct output *json, *csv;       /* NULL: not asked for */
    bool is_stdout_taken, is_wide, is_quiet;
};

/* The database is written in place, so it must not be one of the inputs. ERR_USAGE; ERR_IO. */
MUST_USE enum err result_outputs_open(const struct options *o, struct result_outputs *to, struct err_detail *err);

/* Writes the JSON and CSV that were asked for, and a summary to standard output unless one of them goes there. */
MUST_USE enum err result_outputs_write(struct result_outputs *to, struct results_db *db, struct err_detail *err);

/* Drops what was not written. */
void result_outputs_abandon(struct result_outputs *to);

#endif
