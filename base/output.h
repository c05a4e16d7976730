/*
 * Output: a file appears under its name whole or not at all.
 *
 * What is written goes to a temporary file beside the final name and is moved there by output_commit. A name that
 * stands for something else than a file (a terminal, a pipe, /dev/null) is written to directly.
 */
#ifndef REPLAY_BASE_OUTPUT_H
#define REPLAY_BASE_OUTPUT_H

#include "base/err.h"

#include <stdio.h>

struct output;

/* Opens an output for writing; "-" is standard output. ERR_IO with the path and reason, ERR_HOST_NOMEM. */
MUST_USE enum err output_open(const char *path, struct output **out, struct err_detail *why);

/* Opens a file that grows under its own name, in place of one that was there: what is flushed can be read at any time,
 * and stays when the program is killed. ERR_IO, ERR_HOST_NOMEM. */
MUST_USE enum err output_open_growing(const char *path, struct output **out, struct err_detail *why);

/* The stream to write to; errors of writing may be left to output_commit. Lent until then. */
FILE *output_file(struct output *o);

/* Ends the output, moves it to its name and makes *o NULL, also on error, and then nothing is left of it. Where *o is
 * NULL already, for an output that nobody asked for, there is nothing to do. */
MUST_USE enum err output_commit(struct output **o, struct err_detail *why);

/* Drops an unfinished output. NULL is accepted. */
void output_abandon(struct output *o);

/* Removes every temporary file of this process. May be called from a signal handler, before _exit. */
void output_remove_temporaries(void);

#endif
