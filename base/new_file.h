/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a file needs that appears under its name whole (base/output.h, base/database_files.h).
 */
#ifndef REPLAY_BASE_NEW_FILE_H
#define REPLAY_BASE_NEW_FILE_H

#include <stdbool.h>
#include <sys/types.h>

/* Ends the temporary name, which is beside the final one; mkstemp fills in the X's. */
#define NEW_FILE_ENDING ".replay-XXXXXX"

/* The folder of a file, to be freed; NULL without memory. */
char *new_file_folder(const char *path);

/* Makes a file by its temporary name, whose six X's are replaced, and locks it: who removes what dead writers left asks
 * for that lock. -1 with errno. */
int new_file_make(char *temporary);

/* The permissions that a new file gets if it is made with these. */
mode_t new_file_mode(mode_t wanted);

/* The names in a folder survive a loss of power once the folder is on disk. Syncs that of a file; true also where the
 * file system cannot do it. False with errno. */
bool new_file_sync_folder(const char *path);

#endif
