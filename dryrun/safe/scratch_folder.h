/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A folder for what we need only while we run. It is locked until we end, so that a later run can tell a folder that is
 * in use from one whose owner was killed:
 *
 *     /tmp/replay-predict-a8K2xz    locked: another predict runs
 *     /tmp/replay-predict-Lq91mm    ours, and not locked: left there by one that was killed; the next one removes it
 */
#ifndef REPLAY_DRYRUN_SAFE_SCRATCH_FOLDER_H
#define REPLAY_DRYRUN_SAFE_SCRATCH_FOLDER_H

#include <limits.h>
#include <stdbool.h>

struct scratch_folder {
    char path[PATH_MAX];             /* absolute and without links; "": there is none */
    int  lock;                       /* the open folder, of a path */
};

/* Makes `parent`/`stem`-XXXXXX for its owner alone, absolute and without links. Nobody removes it but the caller.
 * Returns errno, or 0; after an error the path is "". */
int folder_make_unique(const char *parent, const char *stem, char path[static PATH_MAX]);

/* The same, locked. First it removes the folders of this name there that killed runs of
 * the same user left. Returns errno, or 0. */
int scratch_folder_make(const char *parent, const char *stem, struct scratch_folder *out);

/* Removes a folder with all in it, and says so on standard error, in the name of `command`, if it cannot. */
void folder_remove(const char *path, const char *command);

/* Removes what lies in the folder, also in folders that their owner may not enter. Accepts none. False: something is
 * left. */
bool scratch_folder_empty(const struct scratch_folder *s);

/* Removes the folder with all in it, and says so on standard error, in the name of `command`, if it cannot. Accepts
 * none. */
void scratch_folder_remove(struct scratch_folder *s, const char *command);

#endif
