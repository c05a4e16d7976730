/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads /proc/self/mountinfo. Source: proc(5). */
#include "dryrun/safe/mount_list.h"

#include "base/array.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool path_is_within(const char *path, const char *folder)
{
    const size_t n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* "\040" is a space. */
static void undo_escapes(char *text)
{
    char *out = text;
    for (const char *in = text; *in != '\0'; out++) {
        unsigned code;
        if (in[0] == '\\' && sscanf(in + 1, "%3o", &code) == 1) {
            *out = (char)code;
            in += 4;
        } else {
            *out = *in++;
        }
    }
    *out = '\0';
}

/* Whether the kernel makes up what is there. /dev/shm is memory, but programs keep files in it. */
static bool is_of_kernel(const char *path, const char *type)
{
    static const char *const types[] = { "proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "mqueue", "autofs",
                                         "binfmt_misc", "nsfs" };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return path_is_within(path, "/proc") || path_is_within(path, "/sys") ||
           (path_is_within(path, "/dev") && !path_is_within(path, "/dev/shm"));
}

/* "27 1 254:0 / /mnt rw,relatime shared:1 - ext4 /dev/vda rw,discard" */
static int take_line(struct mount_list *l, size_t *room, const char *line)
{
    char path[PATH_MAX], options[8], type[64], disk_options[8];
    const char *rest = strstr(line, " - ");
    if (rest == NULL || sscanf(line, "%*s %*s %*s %*s %4095s %7s", path, options) != 2 ||
        sscanf(rest, " - %63s %*s %7s", type, disk_options) != 2)
        return 0;
    undo_escapes(path);
    struct mount_point *at = array_grow(l->at, l->n, room, sizeof *at);
    char *copy = strdup(path);
    if (at != NULL)
        l->at = at;
    if (at == NULL || copy == NULL) {
        free(copy);
        return ENOMEM;
    }
    const bool is_writable = strncmp(options, "rw", 2) == 0 && strncmp(disk_options, "rw", 2) == 0;
    at[l->n++] = (struct mount_point){ .path = copy, .holds_files = is_writable && !is_of_kernel(path, type) };
    return 0;
}

int mount_list_read(struct mount_list *out)
{
    char *line = NULL;
    size_t cap = 0, room = 0;
    FILE *f = fopen("/proc/self/mountinfo", "r");
    int reason = f == NULL ? errno : 0;
    *out = (struct mount_list){ .n = 0 };
    while (reason == 0 && getline(&line, &cap, f) > 0)
        reason = take_line(out, &room, line);
    if (reason == 0 && !feof(f))     /* a mount that is missed here would stay open */
        reason = errno != 0 ? errno : EIO;
    if (f != NULL)
        fclose(f);
    free(line);
    if (reason != 0)
        mount_list_close(out);
    return reason;
}

void mount_list_close(struct mount_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i].path);
    free(l->at);
    *l = (struct mount_list){ .n = 0 };
}

/* A later mount at the same path hides an earlier one. */
const struct mount_point *mount_list_find(const struct mount_list *l, const char *path)
{
    for (size_t i = l->n; i-- > 0;)
        if (strcmp(l->at[i].path, path) == 0)
            return &l->at[i];
    return NULL;
}

const struct mount_point *mount_list_of(const struct mount_list *l, const char *path)
{
    const struct mount_point *best = NULL;
    for (size_t i = 0; i < l->n; i++)
        if (path_is_within(path, l->at[i].path) && (best == NULL || strlen(l->at[i].path) >= strlen(best->path)))
            best = &l->at[i];
    return best;
}
