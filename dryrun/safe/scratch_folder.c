/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The lock is flock(2) on the folder itself: the kernel gives it back however its owner ends. */
#define _GNU_SOURCE                  /* O_DIRECTORY, O_NOFOLLOW, mkdtemp */
#include "dryrun/safe/scratch_folder.h"

#include "dryrun/safe/folder_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WALKS_MAX = 16,               /* to empty a folder: each opens one level of closed folders */
       TRIES_MAX = 8 };              /* to make one: a run that starts meanwhile may take it for a left one */

/* ---- emptying ---- */

/* A folder that its owner may not enter is opened for the next walk: overlays make such ones, and programs may.
 * `has_seen`: a bool that becomes true. */
static bool remove_entry(void *has_seen, const char *path, const struct stat *st)
{
    *(bool *)has_seen = true;
    if (!S_ISDIR(st->st_mode))
        (void)unlink(path);
    else if (rmdir(path) != 0)
        (void)chmod(path, 0700);
    return true;
}

static bool empty_path(const char *path)
{
    bool has_seen = true;
    for (int i = 0; i < WALKS_MAX && has_seen; i++) {
        has_seen = false;
        (void)folder_walk(path, remove_entry, &has_seen);
    }
    return !has_seen;
}

void folder_remove(const char *path, const char *command)
{
    if (!empty_path(path) || (rmdir(path) != 0 && errno != ENOENT))
        fprintf(stderr, "replay %s: %s: could not be removed\n", command, path);
}

bool scratch_folder_empty(const struct scratch_folder *s)
{
    return s->path[0] == '\0' || empty_path(s->path);
}

/* ---- what killed runs left ---- */

/* Opens a folder of ours and locks it. Returns errno, or 0; EWOULDBLOCK: it is in use, ENOENT: it was removed
 * meanwhile, perhaps another one made of this name, ENOLCK: it has another owner (also one of ours where NFS maps the
 * superuser to another), or the file system locks no folders, as NFS. */
static int lock_folder(const char *path, int *out)
{
    struct stat st, named;
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int reason = fd < 0 || fstat(fd, &st) != 0 ? errno : 0;
    if (reason == 0 && st.st_uid != geteuid())
        reason = ENOLCK;
    if (reason == 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
        reason = errno == EWOULDBLOCK ? EWOULDBLOCK : ENOLCK;
    if (reason == 0 && (lstat(path, &named) != 0 || named.st_dev != st.st_dev || named.st_ino != st.st_ino))
        reason = ENOENT;
    if (reason != 0 && fd >= 0)
        close(fd);
    *out = reason == 0 ? fd : -1;
    return reason;
}

/* Whether an entry is named as mkdtemp names a folder of this stem. */
static bool is_of_stem(const char *name, const char *stem)
{
    const size_t n = strlen(stem);
    return strncmp(name, stem, n) == 0 && strlen(name) == n + sizeof "-XXXXXX" - 1 && name[n] == '-';
}

static void remove_left(const char *parent, const char *stem)
{
    DIR *d = opendir(parent);
    for (const struct dirent *f; d != NULL && (f = readdir(d)) != NULL;) {
        char path[PATH_MAX];
        if (!is_of_stem(f->d_name, stem) ||
            (size_t)snprintf(path, sizeof path, "%s/%s", parent, f->d_name) >= sizeof path)
            continue;
        int fd;
        if (lock_folder(path, &fd) != 0)
            continue;
        if (empty_path(path))
            (void)rmdir(path);
        close(fd);
    }
    if (d != NULL)
        closedir(d);
}

/* ---- making and removing ---- */

int folder_make_unique(const char *parent, const char *stem, char path[static PATH_MAX])
{
    char real[PATH_MAX];
    int reason = realpath(parent, real) == NULL ? errno : 0;
    if (reason == 0 && (size_t)snprintf(path, PATH_MAX, "%s/%s-XXXXXX", real, stem) >= PATH_MAX)
        reason = ENAMETOOLONG;
    if (reason == 0 && mkdtemp(path) == NULL)
        reason = errno;
    if (reason != 0)
        path[0] = '\0';
    return reason;
}

static int make_locked(const char *parent, const char *stem, struct scratch_folder *out)
{
    int reason = folder_make_unique(parent, stem, out->path);
    if (reason != 0)
        return reason;
    reason = lock_folder(out->path, &out->lock);
    if (reason == 0 || reason == ENOLCK)     /* then no other run can lock it either, so none removes it */
        return 0;
    (void)rmdir(out->path);
    out->path[0] = '\0';
    return reason;
}

int scratch_folder_make(const char *parent, const char *stem, struct scratch_folder *out)
{
    int reason = EWOULDBLOCK;
    *out = (struct scratch_folder){ .lock = -1 };
    remove_left(parent, stem);
    for (int i = 0; i < TRIES_MAX && (reason == EWOULDBLOCK || reason == ENOENT); i++)
        reason = make_locked(parent, stem, out);
    return reason;
}

void scratch_folder_remove(struct scratch_folder *s, const char *command)
{
    if (s->path[0] == '\0')
        return;
    folder_remove(s->path, command);
    if (s->lock >= 0)
        close(s->lock);
    *s = (struct scratch_folder){ .lock = -1 };
}
