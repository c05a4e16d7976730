/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A walk through all that lies in a folder. The C library's fts reads through NULL without memory. */
#ifndef REPLAY_DRYRUN_SAFE_FOLDER_WALK_H
#define REPLAY_DRYRUN_SAFE_FOLDER_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

/* An entry by its path; a folder comes after what is in it. False ends the walk. */
typedef bool (*folder_visit)(void *arg, const char *path, const struct stat *st);

/* Visits what lies below a folder, not the folder itself. Links are not followed, and other disks not entered. What
 * cannot be read is passed over, and so are names that are too long; then it returns false. */
bool folder_walk(const char *folder, folder_visit visit, void *arg);

#endif
