/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A prediction on one screen of 80 columns, and as JSON.
 */
#ifndef REPLAY_DRYRUN_PREDICTION_TEXT_H
#define REPLAY_DRYRUN_PREDICTION_TEXT_H

#include "dryrun/prediction_files.h"

/* The verdict first. is_wide: the table is not cut to the terminal's width. ERR_HOST_NOMEM. */
MUST_USE enum err prediction_print(FILE *out, const struct prediction *p, const struct prediction_files *files,
                                   bool is_wide);

/* Schema replay-predict/1 (report/SCHEMA.md). */
void prediction_write_json(FILE *out, const struct prediction *p, const struct prediction_files *files);

#endif
