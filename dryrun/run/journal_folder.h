/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The folder into which a program's processes write their journals (capture/JOURNAL.md).
 */
#ifndef REPLAY_DRYRUN_RUN_JOURNAL_FOLDER_H
#define REPLAY_DRYRUN_RUN_JOURNAL_FOLDER_H

#include "base/err.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct journal_folder {
    const char     *path;            /* borrowed */
    struct dirent **files;           /* ascending by name, so that the journals of one process follow each other */
    int             n;
    uint64_t        unrecorded;      /* calls of processes that have no journal */
};

/* Before the program starts: makes the file that counts calls without a journal. ERR_IO, as on a full disk. */
MUST_USE enum err journal_folder_begin(const char *path, struct err_detail *err);

/* Lists the journals. One of a process that ended before it wrote anything is reported on standard error in the name of
 * `command` ("record"), removed, and not listed. What is no regular file is reported, left there, and not listed.
 * ERR_IO. */
MUST_USE enum err journal_folder_open(const char *path, const char *command, struct journal_folder *out,
                                      struct err_detail *err);
void journal_folder_close(struct journal_folder *f);

/* The path of journal i. */
void journal_folder_path(const struct journal_folder *f, int i, char path[PATH_MAX]);

/* Process and part in the name PID.PART.calls; a process that replaces itself by exec has several parts. */
bool journal_folder_numbers(const struct journal_folder *f, int i, unsigned *pid, unsigned *part);

/* Whether the process of a journal still runs and may write into it. `pid` is its number, which counts only where the
 * file system cannot tell: in a PID namespace of its own the process has another one here. */
bool journal_is_written(const char *path, unsigned pid);

/* Removes the folder if no journal is left in it. Otherwise it says so on standard error, in the name of `command`. */
void journal_folder_end(const char *path, const char *command);

/* Opens a file in the folder to read it. NULL if it is not regular: the program may put anything there, and nobody
 * waits for a pipe's writer or follows a link. */
FILE *journal_folder_text(const char *path);

#endif
