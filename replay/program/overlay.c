/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Overlays over a program's folders. Source: mount(2), user_namespaces(7), Documentation/filesystems/overlayfs.rst. */
#define _GNU_SOURCE
#include "replay/program/overlay.h"

#include "replay/program/folder_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- which folders ---- */

static bool is_within(const char *path, const char *folder)
{
    const size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Adds a folder that is not covered yet. The root is too much: devices and kernel files lie below it. */
static void add_folder(struct overlay *o, const char *folder)
{
    struct stat st;
    if (o->n == OVERLAY_FOLDERS_MAX || strcmp(folder, "/") == 0 || access(folder, W_OK) != 0 ||
        stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))
        return;
    for (size_t i = 0; i < o->n; i++)
        if (is_within(folder, o->folders[i]))
            return;
    snprintf(o->folders[o->n++], PATH_MAX, "%s", folder);
}

/* Adds the folder that an argument names: itself, or the folder in which it lies. "--out=runs/a" names "runs/a". */
static void add_argument(struct overlay *o, const char *argument)
{
    char path[PATH_MAX], real[PATH_MAX];
    struct stat st;
    const char *equals = argument[0] == '-' ? strchr(argument, '=') : NULL;
    snprintf(path, sizeof path, "%s", equals != NULL ? equals + 1 : argument);
    if (strchr(path, '/') == NULL)
        return;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        char *folder = dirname(path);
        memmove(path, folder, strlen(folder) + 1);
    }
    if (realpath(path, real) != NULL)
        add_folder(o, real);
}

/* ---- the store ---- */

static void part_path(const struct overlay *o, size_t i, const char *part, char path[static PATH_MAX])
{
    if ((size_t)snprintf(path, PATH_MAX, "%s/%zu%s", o->store, i, part) >= PATH_MAX)
        path[0] = '\0';              /* no such folder: making it fails */
}

static int make_parts(const struct overlay *o)
{
    static const char *const parts[] = { "", "/upper", "/work" };
    char path[PATH_MAX];
    for (size_t i = 0; i < o->n; i++)
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
            part_path(o, i, parts[k], path);
            if (mkdir(path, 0700) != 0)
                return errno;
        }
    return 0;
}

static bool remove_entry(void *arg, const char *path, const struct stat *st)
{
    (void)arg;
    (void)(S_ISDIR(st->st_mode) ? rmdir(path) : unlink(path));
    return true;
}

static void remove_store(struct overlay *o)
{
    if (o->store[0] != '\0') {
        (void)folder_walk(o->store, remove_entry, NULL);
        (void)rmdir(o->store);
    }
    if (o->store[0] != '\0' && access(o->store, F_OK) == 0)
        fprintf(stderr, "replay predict: %s: could not be removed\n", o->store);
    o->store[0] = '\0';
}

/* ---- entering ---- */

static int write_file(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY);
    const size_t n = strlen(text);
    const bool is_written = fd >= 0 && write(fd, text, n) == (ssize_t)n;
    const int reason = is_written ? 0 : errno;
    if (fd >= 0)
        close(fd);
    return reason;
}

/* A mount namespace of our own. The superuser may have one as it is; others need a user namespace as well, in which
 * they stay who they are. */
static int separate(bool *is_user)
{
    char uids[64], gids[64];
    snprintf(uids, sizeof uids, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(gids, sizeof gids, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    *is_user = unshare(CLONE_NEWNS) != 0;
    if (!*is_user)
        return 0;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return errno;
    int reason = write_file("/proc/self/setgroups", "deny");
    if (reason == 0)
        reason = write_file("/proc/self/uid_map", uids);
    return reason == 0 ? write_file("/proc/self/gid_map", gids) : reason;
}

/* The lower folder is ".", so that no letter of its name is taken for an option's end. */
static int cover(const struct overlay *o, size_t i, bool is_user)
{
    char upper[PATH_MAX], work[PATH_MAX], options[2 * PATH_MAX + 64];
    part_path(o, i, "/upper", upper);
    part_path(o, i, "/work", work);
    snprintf(options, sizeof options, "lowerdir=.,upperdir=%s,workdir=%s%s", upper, work, is_user ? ",userxattr" : "");
    if (chdir(o->folders[i]) != 0)
        return errno;
    return mount("overlay", o->folders[i], "overlay", 0, options) == 0 ? 0 : errno;
}

/* Shows the shared folder through an overlay that covers it. `fd`: opened before. */
static int show_shared(const struct overlay *o, int fd)
{
    char from[64];
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    for (size_t i = 0; i < o->n; i++)
        if (is_within(o->shared, o->folders[i]))
            return mount(from, o->shared, NULL, MS_BIND, NULL) == 0 ? 0 : errno;
    return 0;
}

int overlay_enter(void *overlay)
{
    const struct overlay *o = overlay;
    bool is_user;
    int reason = separate(&is_user);
    if (reason != 0)
        return reason;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return errno;
    const int fd = o->shared[0] == '\0' ? -1 : open(o->shared, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < o->n && reason == 0; i++)
        reason = cover(o, i, is_user);
    if (reason == 0 && fd >= 0)
        reason = show_shared(o, fd);
    if (fd >= 0)
        close(fd);
    if (reason == 0 && chdir(o->here) != 0)
        reason = errno;
    return reason;
}

/* Whether a child can enter. */
static bool can_enter(struct overlay *o)
{
    int status = 1;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(overlay_enter(o) == 0 ? 0 : 1);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && status == 0;
}

/* Tries a store in this folder. It may not lie in a folder that it covers, nor on an overlay. */
static void try_store(struct overlay *o, const char *folder)
{
    char real[PATH_MAX];
    if (o->is_on || realpath(folder, real) == NULL ||
        (size_t)snprintf(o->store, sizeof o->store, "%s/replay-written-XXXXXX", real) >= sizeof o->store)
        return;
    if (mkdtemp(o->store) == NULL) {
        o->store[0] = '\0';
        return;
    }
    o->is_on = make_parts(o) == 0 && can_enter(o);
    if (!o->is_on)
        remove_store(o);
}

enum err overlay_open(const char *const *arguments, bool unwanted, struct overlay *o, struct err_detail *why)
{
    const char *tmp = getenv("TMPDIR");
    *o = (struct overlay){ .is_on = false };
    clock_gettime(CLOCK_REALTIME, &o->started);
    if (getcwd(o->here, sizeof o->here) == NULL)
        return err_set(why, ERR_IO, 0, "the working folder cannot be read: %s", strerror(errno));
    add_folder(o, o->here);
    for (size_t i = 1; arguments[0] != NULL && arguments[i] != NULL; i++)
        add_argument(o, arguments[i]);
    if (unwanted || o->n == 0)
        return ERR_OK;
    try_store(o, tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp");
    try_store(o, "/dev/shm");
    return ERR_OK;
}

enum err overlay_clear(struct overlay *o, struct err_detail *why)
{
    char store[PATH_MAX];
    memcpy(store, o->store, sizeof store);
    if (!o->is_on)
        return ERR_OK;
    remove_store(o);
    memcpy(o->store, store, sizeof store);
    const int reason = mkdir(store, 0700) != 0 ? errno : make_parts(o);
    return reason == 0 ? ERR_OK : err_set(why, ERR_IO, 0, "%.150s: cannot be made: %s", store, strerror(reason));
}

void overlay_share(struct overlay *o, const char *folder)
{
    if (realpath(folder, o->shared) == NULL)
        o->shared[0] = '\0';
}

void overlay_close(struct overlay *o)
{
    remove_store(o);
}

/* ---- what was written ---- */

static bool is_after(const struct timespec *t, const struct timespec *start)
{
    return t->tv_sec > start->tv_sec || (t->tv_sec == start->tv_sec && t->tv_nsec >= start->tv_nsec);
}

/* Whether an entry of a walk is a file that was written; in the store every file was. */
static bool is_written(const struct overlay *o, const char *path, const struct stat *st)
{
    if (S_ISDIR(st->st_mode))
        return false;
    return o->is_on || (is_after(&st->st_mtim, &o->started) && (o->shared[0] == '\0' || !is_within(path, o->shared)));
}

/* A walk through one of the folders. */
struct written_walk {
    const struct overlay *o;
    const char *root;                /* what stands for the first `skip` bytes of a path */
    size_t skip, n_seen;
    void (*file)(void *arg, const char *path);
    void *arg;
};

static bool see_written(void *arg, const char *path, const struct stat *st)
{
    struct written_walk *w = arg;
    char shown[2 * PATH_MAX];
    if (is_written(w->o, path, st)) {
        snprintf(shown, sizeof shown, "%s%s", w->root, path + w->skip);
        w->file(w->arg, shown);
    }
    return ++w->n_seen < OVERLAY_FILES_MAX;
}

bool overlay_each_written(struct overlay *o, void (*file)(void *arg, const char *path), void *arg)
{
    char upper[PATH_MAX];
    struct written_walk w = { .o = o, .file = file, .arg = arg };
    bool is_whole = true;
    for (size_t i = 0; i < o->n && w.n_seen < OVERLAY_FILES_MAX; i++) {
        part_path(o, i, "/upper", upper);
        w.root = o->is_on ? o->folders[i] : "";
        w.skip = o->is_on ? strlen(upper) : 0;
        is_whole = folder_walk(o->is_on ? upper : o->folders[i], see_written, &w) && is_whole;
    }
    return is_whole;
}
