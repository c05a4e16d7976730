/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What `sweep` and `merge` write of a database of results: -o, --csv and --json name it. */
#ifndef REPLAY_REPLAY_PROGRAM_RESULT_OUTPUTS_H
#define REPLAY_REPLAY_PROGRAM_RESULT_OUTPUTS_H

#include "replay/program/cli.h"
#include "report/rows/results_db.h"

/* The database is written in place, so it must not be one of the inputs or of the other outputs. ERR_USAGE; ERR_IO. */
MUST_USE enum err result_outputs_check(const struct options *o, struct err_detail *err);

/* Whether JSON or CSV goes to standard output, where then nothing else is said. */
bool result_outputs_take_stdout(const struct options *o);

/* The summary, as wide as --wide says. */
MUST_USE enum err result_outputs_print(struct results_db *db, const struct options *o, struct err_detail *err);

/* Gives an interrupted command the sentence that says so; returns `e`. */
MUST_USE enum err result_outputs_interrupted(enum err e, const char *rest, struct err_detail *err);

#endif
