/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A prediction on one screen of 80 columns, and as JSON.
 */
#ifndef REPLAY_DRYRUN_PREDICTION_TEXT_H
#define REPLAY_DRYRUN_PREDICTION_TEXT_H

#include "dryrun/prediction.h"
#include "report/report.h"

/* Where the files of a prediction are. */
struct prediction_files {
    const char *trace, *log;         /* NULL: there is none */
    const struct report_lines *kept; /* these and all others, absolute and without links: not written by the program */
};

/* The verdict first. ERR_HOST_NOMEM. */
MUST_USE enum err prediction_print(FILE *out, struct prediction *p, const struct prediction_files *files);

/* Schema replay-predict/1 (report/SCHEMA.md). */
void prediction_write_json(FILE *out, struct prediction *p, const struct prediction_files *files);

#endif
