/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Keeps files safe while a program runs on values that are not real. In a mount namespace of the program's own,
 * overlays cover the folders below the root and all other mounts that hold files: the program reads its files, and what
 * it writes goes into a store that is thrown away.
 *
 *     the program sees     train.py   good.ckpt (overwritten)   new.log
 *     the store                       good.ckpt                 new.log
 *     the folder itself    train.py   good.ckpt (as it was)
 *
 * A mount that cannot be covered is read-only meanwhile; if it can be neither, it is named in `open`. The root folder
 * itself and /run (sockets of services) are always read-only. What lies in /proc, /sys and /dev is the kernel's; except
 * for /dev/shm it stays as it is.
 *
 * Linux gives overlays to ordinary users since 5.11, if user namespaces are not switched off. To them it gives none for
 * a folder with a mount below it; then those folders are covered that the program most likely writes to.
 */
#ifndef REPLAY_DRYRUN_SAFE_OVERLAY_H
#define REPLAY_DRYRUN_SAFE_OVERLAY_H

#include "base/err.h"
#include "dryrun/safe/scratch_folder.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum { OVERLAY_FOLDERS_MAX = 256, OVERLAY_STORES = 2 };

struct overlay_folder {
    char  *path;
    size_t number;                   /* of its parts in the store */
    size_t store;                    /* which one: a store may not lie in the folder that it is for */
};

/* Paths are absolute and without links. */
struct overlay {
    bool   is_on;                    /* else the program writes to its folders themselves */
    int    lacked;                   /* errno: the host failed while a folder was tried; 0: it did not */
    char   here[PATH_MAX];           /* the working folder */
    struct overlay_folder folders[OVERLAY_FOLDERS_MAX];      /* covered; without an overlay, those looked through */
    size_t n, n_numbers;
    struct scratch_folder stores[OVERLAY_STORES];
    char   open[PATH_MAX];           /* mounts that are neither covered nor read-only, as "/a, /b" */
    char   shared[PATH_MAX];         /* a folder that the program and we both see, wherever it lies; "": none */
    struct timespec started;
};

/* Finds out what this system lets us cover. If it is not even the working folder, or if an overlay is `unwanted`, is_on
 * is false, which is no error; then the folders are the working one and those that the arguments (a list that NULL
 * ends) name by a path. Close it also after an error: ERR_IO, ERR_HOST_NOMEM. */
MUST_USE enum err overlay_open(const char *const *arguments, bool unwanted, struct overlay *o, struct err_detail *err);

/* Whether nothing that the program can write to is left as it is. */
bool overlay_is_whole(const struct overlay *o);

/* From the next overlay_enter on, this folder is the one that both see. */
void overlay_share(struct overlay *o, const char *folder);

/* Covers the folders and closes the rest, for this process and those that it starts: in a child, before it becomes the
 * program. `overlay`: struct overlay. Returns errno, or 0. */
int overlay_enter(void *overlay);

/* Calls `file` for each file that was written or removed since overlay_open: in the store, or, without an overlay, by
 * the time at which the files in the folders were changed last. At most OVERLAY_FILES_MAX files are looked at. Returns
 * false if something could not be read. */
enum { OVERLAY_FILES_MAX = 200000 };
bool overlay_each_written(const struct overlay *o, void (*file)(void *arg, const char *path), void *arg);

/* Throws away what was written, for a next run; ERR_IO if a store cannot be emptied. */
MUST_USE enum err overlay_clear(struct overlay *o, struct err_detail *err);

/* Removes the stores. Accepts an overlay of zeros. */
void overlay_close(struct overlay *o);

#endif
