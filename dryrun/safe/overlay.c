/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Overlays over a program's folders. Source: mount(2), user_namespaces(7), Documentation/filesystems/overlayfs.rst. */
#define _GNU_SOURCE
#include "dryrun/safe/overlay.h"

#include "base/temporary_file.h"
#include "dryrun/safe/folder_walk.h"
#include "dryrun/safe/mount_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- which folders ---- */

static bool has_folder(const struct overlay *o, const char *path)
{
    size_t i = 0;
    while (i < o->n && strcmp(o->folders[i].path, path) != 0)
        i++;
    return i < o->n;
}

/* Adds a folder. One that finds no room is not covered, so overlay_enter makes its mount read-only. */
static void add_folder(struct overlay *o, const char *path)
{
    struct stat st;
    if (o->n == OVERLAY_FOLDERS_MAX || has_folder(o, path) || stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return;
    char *copy = strdup(path);
    if (copy == NULL)
        o->lacked = ENOMEM;
    else
        o->folders[o->n++] = (struct overlay_folder){ .path = copy, .number = o->n_numbers++ };
}

static void drop_last_folder(struct overlay *o)
{
    free(o->folders[--o->n].path);
}

/* Adds a folder that a program likely writes to, if nothing that holds it is there yet. */
static void add_likely(struct overlay *o, const char *path)
{
    char real[PATH_MAX];
    if (path == NULL || realpath(path, real) == NULL || strcmp(real, "/") == 0 || access(real, W_OK) != 0)
        return;
    for (size_t i = 0; i < o->n; i++)
        if (path_is_within(real, o->folders[i].path))
            return;
    add_folder(o, real);
}

/* Adds the folder that an argument names: the nearest one that is there. "--out=runs/a" and "out=runs/a" name "runs/a",
 * and so does "-o/tmp/a" from its first slash on. */
static void add_argument(struct overlay *o, const char *argument)
{
    char path[PATH_MAX];
    struct stat st;
    const char *equals = strchr(argument, '='), *slash = strchr(argument, '/');
    if (slash == NULL)
        return;
    const char *name = equals != NULL && equals < slash ? equals + 1 : argument[0] == '-' ? slash : argument;
    snprintf(path, sizeof path, "%s", name);
    while (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        char *folder = dirname(path);
        memmove(path, folder, strlen(folder) + 1);
        if (strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
            break;
    }
    add_likely(o, path);
}

static void add_likely_folders(struct overlay *o, const char *const *arguments)
{
    add_likely(o, o->here);
    for (size_t i = 1; arguments[0] != NULL && arguments[i] != NULL; i++)
        add_argument(o, arguments[i]);
}

/* /run holds sockets, which an overlay would cut off; disks of the desktop lie there, too. */
static bool is_coverable(const char *path)
{
    return strcmp(path, "/") != 0 && (!path_is_within(path, "/run") || path_is_within(path, "/run/media"));
}

/* ---- the stores ---- */

static void part_path(const struct overlay *o, const struct overlay_folder *f, const char *part,
                      char path[static PATH_MAX])
{
    if ((size_t)snprintf(path, PATH_MAX, "%s/%zu%s", o->stores[f->store].path, f->number, part) >= PATH_MAX)
        path[0] = '\0';              /* no such folder: making it fails */
}

static int make_parts(const struct overlay *o, const struct overlay_folder *f)
{
    static const char *const parts[] = { "", "/upper", "/work" };
    char path[PATH_MAX];
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
        part_path(o, f, parts[k], path);
        if (mkdir(path, 0700) != 0)
            return errno;
    }
    return 0;
}

/* Empties the stores. An overlay takes each part once only. */
static int renew_stores(const struct overlay *o)
{
    int reason = 0;
    for (size_t k = 0; k < OVERLAY_STORES && reason == 0; k++)
        reason = scratch_folder_empty(&o->stores[k]) ? 0 : EBUSY;
    for (size_t i = 0; i < o->n && reason == 0; i++)
        reason = make_parts(o, &o->folders[i]);
    return reason;
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

/* A mount namespace that was entered. The stores are held open from within, because overlays may cover their paths. */
struct entered {
    bool is_user;                    /* it is in a user namespace of its own */
    int  stores[OVERLAY_STORES];
};

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

/* Mounts below a folder, which an overlay hides, held open. */
struct hidden {
    const struct mount_list *mounts;
    int *fds;                        /* of each mount; -1: not below */
};

/* A mount below another one comes along with it. */
static bool is_outermost(const struct mount_list *mounts, size_t i, const char *folder)
{
    const char *path = mounts->at[i].path;
    for (size_t k = 0; k < mounts->n; k++)
        if (strcmp(mounts->at[k].path, folder) != 0 && path_is_within(mounts->at[k].path, folder) &&
            path_is_within(path, mounts->at[k].path) && (k < i || strcmp(path, mounts->at[k].path) != 0))
            return false;
    return strcmp(path, folder) != 0 && path_is_within(path, folder);
}

static int hidden_open(struct hidden *h, const struct mount_list *mounts, const char *folder)
{
    *h = (struct hidden){ .mounts = mounts, .fds = malloc((mounts->n + 1) * sizeof *h->fds) };
    int reason = h->fds == NULL ? ENOMEM : 0;
    for (size_t i = 0; h->fds != NULL && i < mounts->n; i++) {
        h->fds[i] = -1;
        if (reason == 0 && is_outermost(mounts, i, folder) &&
            (h->fds[i] = open(mounts->at[i].path, O_PATH | O_CLOEXEC)) < 0)
            reason = errno;
    }
    return reason;
}

static int show_again(int fd, const char *path)
{
    char from[64];
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    return mount(from, path, NULL, MS_BIND | MS_REC, NULL) == 0 ? 0 : errno;
}

static int hidden_close(struct hidden *h, int reason)
{
    for (size_t i = 0; h->fds != NULL && i < h->mounts->n; i++)
        if (h->fds[i] >= 0) {
            reason = reason == 0 ? show_again(h->fds[i], h->mounts->at[i].path) : reason;
            close(h->fds[i]);
        }
    free(h->fds);
    return reason;
}

/* Covers one folder; what is mounted below it, by the system or by us, stays there. The lower folder is ".", so that no
 * letter of its name is taken for an option's end. "volatile": the end of an overlay does not wait for the disk. */
static int cover(const struct overlay_folder *f, const struct entered *in)
{
    char store[80], options[256];
    struct mount_list mounts;
    struct hidden hidden;
    snprintf(store, sizeof store, "/proc/self/fd/%d/%zu", in->stores[f->store], f->number);
    snprintf(options, sizeof options, "lowerdir=.,upperdir=%s/upper,workdir=%s/work,volatile%s", store, store,
             in->is_user ? ",userxattr" : "");
    int reason = mount_list_read(&mounts);
    if (reason != 0)
        return reason;
    reason = hidden_open(&hidden, &mounts, f->path);
    if (reason == 0 && (chdir(f->path) != 0 || mount("overlay", f->path, "overlay", 0, options) != 0))
        reason = errno;
    reason = hidden_close(&hidden, reason);
    mount_list_close(&mounts);
    return reason;
}

/* Enters a mount namespace in which nothing that we mount shows outside. What it holds open ends with the process. */
static int begin(const struct overlay *o, struct entered *in)
{
    const int reason = separate(&in->is_user);
    if (reason != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return reason != 0 ? reason : errno;
    for (size_t k = 0; k < OVERLAY_STORES; k++) {
        in->stores[k] = o->stores[k].path[0] == '\0' ? -1 : open(o->stores[k].path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (in->stores[k] < 0 && o->stores[k].path[0] != '\0')
            return errno;
    }
    return 0;
}

static void add_open(struct overlay *o, const char *path)
{
    const size_t n = strlen(o->open);
    snprintf(o->open + n, sizeof o->open - n, "%s%s", n > 0 ? ", " : "", path);
}

/* Whether a mount cannot be written to from now on. One that cannot be reached, or that another mount hides, is not
 * written to either. Shared memory must stay writable. */
static bool is_closed(const char *path)
{
    const struct { uint64_t set, clear, propagation, userns; } closed = { .set = 1 };      /* MOUNT_ATTR_RDONLY */
    return strcmp(path, "/dev/shm") != 0 &&
           (syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &closed, sizeof closed) == 0 || errno == EACCES ||
            errno == ENOENT || errno == EINVAL);
}

/* Makes all mounts read-only that are not covered. */
static void close_rest(struct overlay *o, const struct mount_list *mounts)
{
    o->open[0] = '\0';
    for (size_t i = 0; i < mounts->n; i++)
        if (mounts->at[i].holds_files && !has_folder(o, mounts->at[i].path) && !is_closed(mounts->at[i].path))
            add_open(o, mounts->at[i].path);
}

static int cover_all(struct overlay *o, const struct entered *in)
{
    struct mount_list mounts;
    const int fd = o->shared[0] == '\0' ? -1 : open(o->shared, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int reason = mount_list_read(&mounts);
    for (size_t i = 0; i < o->n && reason == 0; i++)
        reason = cover(&o->folders[i], in);
    if (reason == 0 && fd >= 0)
        reason = show_again(fd, o->shared);
    if (reason == 0)
        close_rest(o, &mounts);
    if (fd >= 0)
        close(fd);
    mount_list_close(&mounts);
    return reason;
}

int overlay_enter(void *overlay)
{
    struct overlay *o = overlay;
    struct entered in;
    int reason = begin(o, &in);
    if (reason == 0)
        reason = cover_all(o, &in);
    return reason != 0 || chdir(o->here) == 0 ? reason : errno;
}

/* ---- trying ---- */

/* A system that has no process to give for a moment is asked once more: an overlay should not depend on that. */
static pid_t fork_surely(void)
{
    const pid_t pid = fork();
    return pid >= 0 ? pid : fork();
}

/* Whether the host failed, for a moment or for good: that tells nothing of what can be covered. */
static bool is_of_host(int reason)
{
    return reason == ENOMEM || reason == EMFILE || reason == ENFILE || reason == EIO;
}

/* The exit status of a child that tries: 0, the host's errno, or 1 for all other reasons. */
static int trial_of(int reason)
{
    return reason == 0 || is_of_host(reason) ? reason : 1;
}

static bool has_succeeded(struct overlay *o, pid_t pid)
{
    int status = 1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && WIFEXITED(status) && is_of_host(WEXITSTATUS(status)))
        o->lacked = WEXITSTATUS(status);
    return pid > 0 && status == 0;
}

/* Whether the last folder can be covered, with the store that it has. */
static bool can_cover_last(struct overlay *o)
{
    struct entered in;
    const struct overlay_folder *f = &o->folders[o->n - 1];
    if (o->stores[f->store].path[0] == '\0' || make_parts(o, f) != 0)
        return false;
    const pid_t pid = fork_surely();
    if (pid == 0) {
        const int reason = begin(o, &in);
        _exit(trial_of(reason != 0 ? reason : cover(f, &in)));
    }
    return has_succeeded(o, pid);
}

/* Adds a folder if it can be covered, with the first store that serves. */
static void try_folder(struct overlay *o, const char *path)
{
    const size_t n = o->n;
    bool is_covered = false;
    add_folder(o, path);
    for (size_t k = 0; o->n > n && k < OVERLAY_STORES && !is_covered; k++) {
        o->folders[n].store = k;
        is_covered = can_cover_last(o);
    }
    if (o->n > n && !is_covered)
        drop_last_folder(o);
}

/* Whether what is written there goes into a store: a covered folder holds it, and no other mount lies between. */
static bool is_covered(const struct overlay *o, const struct mount_list *mounts, const char *path)
{
    const struct mount_point *mount_point = mount_list_of(mounts, path);
    const size_t least = mount_point == NULL ? 0 : strlen(mount_point->path);
    for (size_t i = 0; i < o->n; i++)
        if (path_is_within(path, o->folders[i].path) && strlen(o->folders[i].path) >= least)
            return true;
    return false;
}

/* A likely folder has an overlay of its own if nothing else covers it, or if we are not the superuser: an overlay
 * higher up could not copy the folders of other users between the two. */
static void try_likely(struct overlay *o, const struct mount_list *mounts, const char *path)
{
    char real[PATH_MAX];
    if (path != NULL && realpath(path, real) != NULL && is_coverable(real) && access(real, W_OK) == 0 &&
        (geteuid() != 0 || !is_covered(o, mounts, real)))
        try_folder(o, real);
}

/* Whether a folder below the root is one to cover: no link, not the kernel's, and not read-only anyway. */
static bool is_top_folder(const struct mount_list *mounts, const char *path)
{
    static const char *const others[] = { "/proc", "/sys", "/dev", "/lost+found" };
    const struct mount_point *mount_point = mount_list_find(mounts, path);
    struct stat st;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(path, others[i]) == 0)
            return false;
    return is_coverable(path) && (mount_point == NULL || mount_point->holds_files) && lstat(path, &st) == 0 &&
           S_ISDIR(st.st_mode);
}

static void try_top_folders(struct overlay *o, const struct mount_list *mounts)
{
    DIR *d = opendir("/");
    o->lacked = d == NULL ? errno : o->lacked;
    for (const struct dirent *f; d != NULL && (f = readdir(d)) != NULL;) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "/%s", f->d_name);
        if (strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0 && is_top_folder(mounts, path))
            try_folder(o, path);
    }
    if (d != NULL)
        closedir(d);
}

/* The longest path first: what lies deeper is covered before what holds it. */
static int compare_depth(const void *a, const void *b)
{
    const size_t x = strlen(((const struct overlay_folder *)a)->path);
    const size_t y = strlen(((const struct overlay_folder *)b)->path);
    return (x < y) - (x > y);
}

/* The stores, emptied after a trial. */
static bool can_renew(struct overlay *o)
{
    const int reason = renew_stores(o);
    o->lacked = reason != 0 ? reason : o->lacked;
    return reason == 0;
}

/* Whether a child can enter; it tells which mounts stay open. */
static bool can_enter(struct overlay *o)
{
    int fds[2];
    if (pipe(fds) != 0) {
        o->lacked = errno;
        return false;
    }
    const pid_t pid = fork_surely();
    if (pid == 0) {
        const int reason = overlay_enter(o);
        _exit(reason == 0 && write(fds[1], o->open, sizeof o->open) != sizeof o->open ? EIO : trial_of(reason));
    }
    close(fds[1]);
    const bool is_told = pid > 0 && read(fds[0], o->open, sizeof o->open) == sizeof o->open;
    close(fds[0]);
    return has_succeeded(o, pid) && is_told;
}

static bool try_all(struct overlay *o, const struct mount_list *mounts, const struct overlay *likely)
{
    const char *tmp = temporary_place();
    (void)scratch_folder_make(tmp, "replay-written", &o->stores[0]);         /* the other one may serve */
    (void)scratch_folder_make("/dev/shm", "replay-written", &o->stores[1]);
    try_top_folders(o, mounts);
    for (size_t i = 0; i < mounts->n; i++)
        if (mounts->at[i].holds_files && is_coverable(mounts->at[i].path))
            try_folder(o, mounts->at[i].path);
    for (size_t i = 0; i < likely->n; i++)
        try_likely(o, mounts, likely->folders[i].path);
    try_likely(o, mounts, getenv("HOME"));
    try_likely(o, mounts, tmp);
    try_likely(o, mounts, "/var/tmp");
    qsort(o->folders, o->n, sizeof o->folders[0], compare_depth);
    return is_covered(o, mounts, o->here) && can_renew(o) && can_enter(o) && can_renew(o);
}

/* Tries to cover all. If not even the working folder can be, or there is no /proc, the overlay stays off with the
 * likely folders. Returns errno, or 0: a failure of the host is none of the overlay. */
static int switch_on(struct overlay *o)
{
    struct mount_list mounts;
    const int reason = mount_list_read(&mounts);
    struct overlay *all = reason == 0 ? calloc(1, sizeof *all) : NULL;
    if (all == NULL) {
        mount_list_close(&mounts);
        return reason == 0 ? ENOMEM : reason == ENOENT ? 0 : reason;
    }
    memcpy(all->here, o->here, sizeof all->here);
    all->started = o->started;
    all->lacked = o->lacked;
    all->is_on = try_all(all, &mounts, o);
    const int lacked = all->lacked;
    if (all->is_on) {
        overlay_close(o);
        *o = *all;
    } else {
        overlay_close(all);
    }
    free(all);
    mount_list_close(&mounts);
    return lacked;
}

enum err overlay_open(const char *const *arguments, bool unwanted, struct overlay *o, struct err_detail *err)
{
    *o = (struct overlay){ .is_on = false };
    clock_gettime(CLOCK_REALTIME_COARSE, &o->started);               /* the clock that files are stamped with */
    if (getcwd(o->here, sizeof o->here) == NULL)
        return err_set(err, ERR_IO, 0, "the working folder cannot be read: %s", strerror(errno));
    add_likely_folders(o, arguments);
    const int reason = unwanted ? 0 : switch_on(o);
    if (reason == ENOMEM)
        return err_no_memory(err);
    return reason == 0 ? ERR_OK : err_set(err, ERR_IO, 0, "what can be covered is not known: %s", strerror(reason));
}

bool overlay_is_whole(const struct overlay *o)
{
    return o->is_on && o->open[0] == '\0';
}

enum err overlay_clear(struct overlay *o, struct err_detail *err)
{
    const int reason = o->is_on ? renew_stores(o) : 0;
    return reason == 0 ? ERR_OK : err_set(err, ERR_IO, 0, "what was written cannot be cleared: %s", strerror(reason));
}

void overlay_share(struct overlay *o, const char *folder)
{
    if (realpath(folder, o->shared) == NULL)
        o->shared[0] = '\0';
}

void overlay_close(struct overlay *o)
{
    for (size_t k = 0; k < OVERLAY_STORES; k++)
        scratch_folder_remove(&o->stores[k], "predict");
    while (o->n > 0)
        drop_last_folder(o);
}

/* ---- what was written ---- */

static bool is_after(const struct timespec *t, const struct timespec *start)
{
    return t->tv_sec > start->tv_sec || (t->tv_sec == start->tv_sec && t->tv_nsec >= start->tv_nsec);
}

/* Whether an entry of a walk is a file that was written; in the store every file was. A program may set the time of a
 * write, as a copy does that keeps times, but not that of a change. */
static bool is_written(const struct overlay *o, const char *path, const struct stat *st)
{
    if (S_ISDIR(st->st_mode))
        return false;
    return o->is_on ||
           (is_after(&st->st_ctim, &o->started) && (o->shared[0] == '\0' || !path_is_within(path, o->shared)));
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

bool overlay_each_written(const struct overlay *o, void (*file)(void *arg, const char *path), void *arg)
{
    char upper[PATH_MAX];
    struct written_walk w = { .o = o, .file = file, .arg = arg };
    bool is_whole = true;
    for (size_t i = 0; i < o->n && w.n_seen < OVERLAY_FILES_MAX; i++) {
        part_path(o, &o->folders[i], "/upper", upper);
        w.root = o->is_on ? o->folders[i].path : "";
        w.skip = o->is_on ? strlen(upper) : 0;
        is_whole = folder_walk(o->is_on ? upper : o->folders[i].path, see_written, &w) && is_whole;
    }
    return is_whole;
}
