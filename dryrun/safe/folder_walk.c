/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One path for the whole walk: it grows by a name for each folder that is entered. */
#include "dryrun/safe/folder_walk.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct walk {
    folder_visit visit;
    void  *arg;
    dev_t  disk;
    bool   is_over, is_short;        /* the visitor has enough; something was passed over */
    char   path[PATH_MAX];
};

static void walk_folder(struct walk *w, size_t length);

static void walk_entry(struct walk *w, size_t length)
{
    struct stat st;
    if (lstat(w->path, &st) != 0) {
        w->is_short = true;
        return;
    }
    if (S_ISDIR(st.st_mode) && st.st_dev == w->disk)
        walk_folder(w, length);
    w->path[length] = '\0';
    w->is_over = w->is_over || !w->visit(w->arg, w->path, &st);
}

static void walk_folder(struct walk *w, size_t length)
{
    DIR *d = opendir(w->path);
    if (d == NULL) {
        w->is_short = true;
        return;
    }
    for (const struct dirent *f; !w->is_over && (f = readdir(d)) != NULL;) {
        const int n = snprintf(w->path + length, sizeof w->path - length, "/%s", f->d_name);
        if (strcmp(f->d_name, ".") == 0 || strcmp(f->d_name, "..") == 0)
            continue;
        if ((size_t)n < sizeof w->path - length)
            walk_entry(w, length + (size_t)n);
        else
            w->is_short = true;
    }
    closedir(d);
}

bool folder_walk(const char *folder, folder_visit visit, void *arg)
{
    struct walk w = { .visit = visit, .arg = arg };
    struct stat st;
    if (stat(folder, &st) != 0 || (size_t)snprintf(w.path, sizeof w.path, "%s", folder) >= sizeof w.path)
        return false;
    w.disk = st.st_dev;
    walk_folder(&w, strlen(w.path));
    return !w.is_short;
}
