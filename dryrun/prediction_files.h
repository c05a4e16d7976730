/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What stays of a prediction: the recording that it rests on, and what the program printed.
 */
#ifndef REPLAY_DRYRUN_PREDICTION_FILES_H
#define REPLAY_DRYRUN_PREDICTION_FILES_H

#include "dryrun/prediction.h"
#include "report/rows/report.h"

/* Begins as zero. */
struct prediction_files {
    char trace[PATH_MAX], log[PATH_MAX];         /* "": there is none */
    struct report_lines kept;        /* these and all others, absolute and without links: not written by the program */
};

/* The name of the files without their endings: "-o t.zst" (`out`) gives "t"; without it the program's script, or the
 * program, gives "train.predict". */
void prediction_choose_stem(const struct prediction_request *request, const char *out, char stem[static PATH_MAX]);

/* Moves the files of the run that the answer rests on to "STEM.zst", "STEM.log" and so on. ERR_IO, ERR_HOST_NOMEM. */
MUST_USE enum err prediction_keep(const struct prediction *p, const char *stem, struct prediction_files *files,
                                  struct err_detail *err);

/* Of a program that failed: what it printed stays, and its place is said on standard error. */
void prediction_keep_log(const struct prediction *p, const char *stem, struct prediction_files *files);
void prediction_files_close(struct prediction_files *files);

#endif
