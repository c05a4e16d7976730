/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The files that this process has read and used, so that no output replaces one of them, by whatever name and option it
 * was given. A file that turned out to be none of use, as an older output in a folder of traces, may be replaced. Safe
 * from any thread.
 */
#ifndef REPLAY_BASE_READ_FILES_H
#define REPLAY_BASE_READ_FILES_H

#include <stdbool.h>
#include <sys/stat.h>

/* Notes a regular file that is open for reading; others are left out. Without memory nothing is noted. */
void read_files_note(int fd);

/* The same for a file that another library opens by its name. */
void read_files_note_name(const char *path);

/* Whether this is one of them. */
bool read_files_have(const struct stat *st);

/* Forgets them all, at the end of the program. */
void read_files_close(void);

#endif
