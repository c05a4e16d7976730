/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The mounts that this process sees.
 */
#ifndef REPLAY_DRYRUN_SAFE_MOUNT_LIST_H
#define REPLAY_DRYRUN_SAFE_MOUNT_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct mount_point {
    char *path;
    bool  holds_files;               /* files can be written that stay: it is not read-only, nor one of the kernel's */
};

/* Zeros: no mount. */
struct mount_list {
    struct mount_point *at;
    size_t n;
};

/* Whether a path is a folder or lies below it. */
bool path_is_within(const char *path, const char *folder);

/* Returns errno, or 0; then the caller closes the list. */
int  mount_list_read(struct mount_list *out);
void mount_list_close(struct mount_list *l);

/* The mount at this very path; NULL: none. */
const struct mount_point *mount_list_find(const struct mount_list *l, const char *path);

/* The mount on which a path lies; NULL: none. */
const struct mount_point *mount_list_of(const struct mount_list *l, const char *path);

#endif
