/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A job file: a command line written as an ini file, one option per line.
 *
 *     # comment
 *     [sweep]
 *     trace  = runs/a.pickle
 *     policy = pytorch:gc={off,0.6,0.8}
 *     device = sim:{16,24}GiB
 *     out    = results.db
 */
#ifndef REPLAY_REPLAY_PROGRAM_JOB_H
#define REPLAY_REPLAY_PROGRAM_JOB_H

#include "replay/program/options.h"

/* Options read from a file. Their texts point into `bytes` and `argv`, so they live as long as the job. */
struct job {
    char  *bytes;
    char **argv;
    size_t *lines;                   /* of the file, from 1, by argument */
    int    argc;
    struct options options;
};

/* Reads a job file. `taken` lists the options that it may hold. ERR_INPUT; ERR_USAGE with path and line. */
MUST_USE enum err job_read(const char *path, const struct flag_use *taken, struct job *out, struct err_detail *err);

/* The same from bytes; `name` is for messages. */
MUST_USE enum err job_read_bytes(const char *bytes, size_t n, const char *name, const struct flag_use *taken,
                                 struct job *out, struct err_detail *err);
void job_close(struct job *job);

/* The line that gave a text of the options; 0: none did. */
size_t job_line(const struct job *job, const char *text);

/* Writes the job file that says the same as these options. ERR_USAGE before anything is written if a value would not be
 * read back as it is: a line's end in a file's name would become an option that nobody typed. */
MUST_USE enum err job_write(FILE *out, const struct options *o, struct err_detail *err);

#endif
