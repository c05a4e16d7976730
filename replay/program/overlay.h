/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Keeps a program's files safe while it runs on values that are not real. The folders that it is likely to write to are
 * covered by an overlay, in a mount namespace of the program's own: it reads its files, and what it writes goes into a
 * store that is thrown away.
 *
 *     the program sees     train.py   good.ckpt (overwritten)   new.log
 *     the store                       good.ckpt                 new.log
 *     the folder itself    train.py   good.ckpt (as it was)
 *
 * Linux gives overlays to ordinary users since 5.11, if user namespaces are not switched off.
 */
#ifndef REPLAY_REPLAY_PROGRAM_OVERLAY_H
#define REPLAY_REPLAY_PROGRAM_OVERLAY_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum { OVERLAY_FOLDERS_MAX = 8 };

/* Paths are absolute and without links. */
struct overlay {
    bool   is_on;                    /* else the program writes to its folders themselves */
    char   here[PATH_MAX];           /* the working folder */
    char   folders[OVERLAY_FOLDERS_MAX][PATH_MAX];
    size_t n;
    char   store[PATH_MAX];          /* "": none was made */
    char   shared[PATH_MAX];         /* a folder that the program and we both see, wherever it lies; "": none */
    struct timespec started;
};

/* Chooses the folders: the working one, and those that the arguments (a list that NULL ends) name by a path. Then tries
 * whether this system gives an overlay; if not, or if it is `unwanted`, is_on is false, which is no error. ERR_IO. */
MUST_USE enum err overlay_open(const char *const *arguments, bool unwanted, struct overlay *o, struct err_detail *why);

/* From the next overlay_enter on, this folder is the one that both see. */
void overlay_share(struct overlay *o, const char *folder);

/* Covers the folders for this process and those that it starts: in a child, before it becomes the program. `overlay`:
 * struct overlay. Returns errno, or 0. */
int overlay_enter(void *overlay);

/* Calls `file` for each file that was written or removed since overlay_open: in the store, or, without an overlay, by
 * the time of the last write of the files in the folders. At most OVERLAY_FILES_MAX files are looked at. Returns false
 * if something could not be read. */
enum { OVERLAY_FILES_MAX = 200000 };
bool overlay_each_written(struct overlay *o, void (*file)(void *arg, const char *path), void *arg);

/* Throws away what was written, for a next run; ERR_IO if the store cannot be made again. */
MUST_USE enum err overlay_clear(struct overlay *o, struct err_detail *why);

/* Removes the store. Accepts an overlay of zeros. */
void overlay_close(struct overlay *o);

#endif
