/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Output: a file appears under its name whole or not at all.
 *
 * output_commit gives a file its name once all of it is on disk. So neither a kill nor a loss of power leaves a file
 * that looks finished and is not. A file that was read is never replaced (base/read_files.h). A name of something other
 * than a regular file (a terminal, a pipe, /dev/null) is written to directly, and so is a file that standard output or
 * standard error goes to.
 */
#ifndef REPLAY_BASE_OUTPUT_H
#define REPLAY_BASE_OUTPUT_H

#include "base/err.h"

#include <stdio.h>

struct output;

/* Opens an output for writing; "-" is standard output. ERR_IO with the path and reason, ERR_USAGE for a file that was
 * read, ERR_HOST_NOMEM. */
MUST_USE enum err output_open(const char *path, struct output **out, struct err_detail *err);

/* Opens a file that grows under its final name, for its owner alone, and replaces a file of that name, but no link.
 * What was flushed can be read at any time and stays if the program is killed. ERR_IO, ERR_HOST_NOMEM. */
MUST_USE enum err output_open_growing(const char *path, struct output **out, struct err_detail *err);

/* The stream to write to, lent until output_commit, which also reports errors of earlier writes. */
FILE *output_file(struct output *o);

/* Ends the output, moves it to its name and sets *o to NULL; after an error no file is left. Does nothing if *o is
 * NULL: callers need not ask whether an output was wanted. ERR_IO; ERR_USAGE for a file that was read meanwhile. */
MUST_USE enum err output_commit(struct output **o, struct err_detail *err);

/* Ends an unfinished output and removes its file. NULL is accepted. */
void output_abandon(struct output *o);

/* Removes what writers of this file that are dead have left beside it. An output does so when it is opened. */
void output_remove_left_behind(const char *path);

/* Removes every temporary file of this process. May be called from a signal handler, before _exit. */
void output_remove_temporaries(void);

#endif
