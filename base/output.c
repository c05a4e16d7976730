/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A new file has no name until it is whole: where the file system can (O_TMPFILE), nothing is left of it if the program
 * is killed. Elsewhere it has a temporary name next to the final one, in a list that a signal handler reads.
 *
 *     no file of that name     write, fsync,                       link to the name,        fsync of the folder
 *     one is replaced          write, fsync, link to NAME.replay-XXXXXX, rename to NAME,    fsync of the folder
 *
 * A kill between link and rename leaves NAME.replay-XXXXXX; the next output of that name removes it. A lock tells such
 * a file from one that another process is about to rename.
 */
#define _GNU_SOURCE                   /* O_TMPFILE */
#include "base/output.h"

#include "base/new_file.h"
#include "base/read_files.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names of temporary files, for a signal handler. A name is complete while its state is OUTPUT_LISTED. This is the only
 * mutable global state: a handler can reach nothing else. */
enum { OUTPUT_LISTED_MAX = 16 };
enum output_listing { OUTPUT_VACANT, OUTPUT_CLAIMED, OUTPUT_LISTED };
static struct {
    atomic_int state;
    char       path[PATH_MAX];
} output_list[OUTPUT_LISTED_MAX];

struct output {
    FILE *file;
    char *path;                      /* final name; NULL: written to directly */
    char *temporary;
    bool  is_unnamed;                /* the file has no name yet; `temporary` ends in X's */
    bool  is_growing;                /* written to under its final name */
    int   listed;                    /* index into output_list, or -1 */
    bool  is_stdout;
    char  name[];                    /* for messages */
};

/* Enters a temporary file into the list; -1 if the list is full: then a signal leaves the file behind. */
static int output_enlist(const char *temporary)
{
    if (strlen(temporary) >= PATH_MAX)
        return -1;
    for (int i = 0; i < OUTPUT_LISTED_MAX; i++) {
        int vacant = OUTPUT_VACANT;
        if (atomic_compare_exchange_strong(&output_list[i].state, &vacant, OUTPUT_CLAIMED)) {
            strcpy(output_list[i].path, temporary);
            atomic_store(&output_list[i].state, OUTPUT_LISTED);
            return i;
        }
    }
    return -1;
}

void output_remove_temporaries(void)
{
    for (int i = 0; i < OUTPUT_LISTED_MAX; i++)
        if (atomic_load(&output_list[i].state) == OUTPUT_LISTED)
            unlink(output_list[i].path);
}

static void output_free(struct output *o)
{
    if (o->listed >= 0)
        atomic_store(&output_list[o->listed].state, OUTPUT_VACANT);
    free(o->path);
    free(o->temporary);
    free(o);
}

/* Where a link points to that leads to no file yet; NULL if `path` is no link, or without memory. */
static char *link_target(const char *path)
{
    char to[PATH_MAX];
    const ssize_t n = readlink(path, to, sizeof to - 1);
    if (n <= 0)
        return NULL;
    to[n] = '\0';
    char *folder = to[0] == '/' ? strdup("") : new_file_folder(path);
    char *target = folder == NULL ? NULL : malloc(strlen(folder) + strlen(to) + 2);
    if (target != NULL)
        sprintf(target, "%s%s%s", folder, folder[0] == '\0' ? "" : "/", to);
    free(folder);
    return target;
}

/* The name to replace: of a link the file it points to, be it there or not. NULL without memory. The kernel has
 * followed the links before, so they end. */
static char *output_target(const char *path)
{
    char *real = realpath(path, NULL), *target = real != NULL ? NULL : link_target(path);
    if (real != NULL)
        return real;
    if (target == NULL)
        return strdup(path);
    char *last = output_target(target);
    free(target);
    return last;
}

/* How much of a file's name its temporary name keeps: all of it, unless that would be longer than a name may be. */
static size_t kept_length(const char *final)
{
    const size_t n = strlen(final), most = NAME_MAX - (sizeof NEW_FILE_ENDING - 1);
    return n < most ? n : most;
}

/* What SQLite makes beside a database while it works with it. */
static const char *const endings_beside[] = { "-shm", "-wal", "-journal" };
enum { N_BESIDE = sizeof endings_beside / sizeof endings_beside[0] };

/* The length of a name in the folder if it is that of a file left behind: NAME, the ending, six letters; or of what
 * SQLite made beside such a file. Without what comes after the letters. 0: it is another file's. */
static size_t length_left_behind(const char *name, const char *final)
{
    const size_t n = kept_length(final), ending = sizeof NEW_FILE_ENDING - 1, letters = strlen("XXXXXX");
    if (strlen(name) < n + ending || strncmp(name, final, n) != 0 ||
        strncmp(name + n, NEW_FILE_ENDING, ending - letters) != 0)
        return 0;
    bool is_ours = name[n + ending] == '\0';
    for (size_t i = 0; i < N_BESIDE; i++)
        is_ours |= strcmp(name + n + ending, endings_beside[i]) == 0;
    return is_ours ? n + ending : 0;
}

static void remove_beside(int folder, const char *database)
{
    char name[NAME_MAX + 1];
    for (size_t i = 0; i < N_BESIDE; i++)
        if ((size_t)snprintf(name, sizeof name, "%s%s", database, endings_beside[i]) < sizeof name)
            unlinkat(folder, name, 0);
}

/* Removes a temporary file and what is beside it, unless its writer lives and holds the lock. If power goes, the file
 * may be gone and what is beside it not. */
static void remove_if_left(int folder, const char *name)
{
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        remove_beside(folder, name);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        remove_beside(folder, name);             /* first: a kill between leaves the name by which they are found */
        unlinkat(folder, name, 0);
    }
    if (fd >= 0)
        close(fd);
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

void output_remove_left_behind(const char *path)
{
    char *folder = new_file_folder(path), name[NAME_MAX + 1];
    DIR *d = folder == NULL ? NULL : opendir(folder);
    for (const struct dirent *entry; d != NULL && (entry = readdir(d)) != NULL;) {
        const size_t n = length_left_behind(entry->d_name, last_name(path));
        snprintf(name, sizeof name, "%.*s", (int)n, entry->d_name);
        if (n > 0)
            remove_if_left(dirfd(d), name);
    }
    if (d != NULL)
        closedir(d);
    free(folder);
}

/* Opens a file without a name in the folder of the final one; -1 where that is not possible. */
static int open_unnamed(const struct output *o)
{
    char *folder = new_file_folder(o->path);
    const int fd = folder == NULL || access("/proc/self/fd", X_OK) != 0
                       ? -1 : open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    free(folder);
    return fd;
}

/* Opens a new file in the folder of the final one, with these permissions. */
static enum err output_open_temporary(struct output *o, mode_t mode, struct err_detail *err)
{
    o->path = output_target(o->name);
    o->temporary = o->path == NULL ? NULL : malloc(strlen(o->path) + sizeof NEW_FILE_ENDING);
    if (o->temporary == NULL)
        return err_no_memory(err);
    const size_t kept = (size_t)(last_name(o->path) - o->path) + kept_length(last_name(o->path));
    snprintf(o->temporary, kept + sizeof NEW_FILE_ENDING, "%.*s%s", (int)kept, o->path, NEW_FILE_ENDING);
    if (strlen(o->temporary) >= PATH_MAX)
        return err_at(err, ERR_IO, 0, o->name, "cannot be written: %s", strerror(ENAMETOOLONG));
    output_remove_left_behind(o->path);
    int fd = open_unnamed(o);
    o->is_unnamed = fd >= 0;
    if (fd < 0) {
        fd = new_file_make(o->temporary);
        if (fd < 0)
            return err_at(err, ERR_IO, 0, o->name, "cannot be written: %s", strerror(errno));
        o->listed = output_enlist(o->temporary);
    }
    if (o->is_unnamed)
        flock(fd, LOCK_EX | LOCK_NB);        /* for when it gets a name */
    if (fchmod(fd, mode) == 0 && (o->file = fdopen(fd, "wb")) != NULL)
        return ERR_OK;
    const int reason = errno;
    close(fd);
    if (!o->is_unnamed)
        unlink(o->temporary);
    return err_at(err, ERR_IO, 0, o->name, "cannot be written: %s", strerror(reason));
}

/* A stream of its own: what is printed for people goes through another one (base/shown.h). `standard`: standard output
 * or standard error. */
static enum err output_open_standard(struct output *o, int standard, struct err_detail *err)
{
    o->is_stdout = standard == STDOUT_FILENO;
    fflush(stdout);
    const int fd = fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    o->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (o->file != NULL)
        return ERR_OK;
    const int reason = errno;
    if (fd >= 0)
        close(fd);
    return err_at(err, ERR_IO, 0, o->is_stdout ? "standard output" : o->name, "cannot be written: %s",
                  strerror(reason));
}

/* The standard stream that writes into this file already; -1: none. "/dev/stdout" is a link to it: what was printed
 * must not be replaced. */
static int standard_stream_of(const struct stat *st)
{
    struct stat standard;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &standard) == 0 && standard.st_dev == st->st_dev && standard.st_ino == st->st_ino)
            return fd;
    return -1;
}

static enum err refuse_input(const struct output *o, struct err_detail *err)
{
    return err_at(err, ERR_USAGE, 0, o->name, "is an input; the output would overwrite it");
}

/* Opens what the name stands for: standard output, a regular file through a temporary one, anything else directly. */
static enum err output_open_stream(struct output *o, struct err_detail *err)
{
    struct stat st;
    if (strcmp(o->name, "-") == 0)
        return output_open_standard(o, STDOUT_FILENO, err);
    const bool is_there = stat(o->name, &st) == 0;
    if (!is_there && errno != ENOENT)        /* such as a link that the kernel does not follow for us */
        return err_at(err, ERR_IO, 0, o->name, "cannot be written: %s", strerror(errno));
    if (is_there && read_files_have(&st))
        return refuse_input(o, err);
    if (is_there && S_ISREG(st.st_mode) && standard_stream_of(&st) >= 0)
        return output_open_standard(o, standard_stream_of(&st), err);
    if (!is_there || (S_ISREG(st.st_mode) && access(o->name, W_OK) == 0))
        return output_open_temporary(o, is_there ? st.st_mode & 0777 : new_file_mode(0666), err);
    o->file = fopen(o->name, "wb");          /* fails, and says why, for a folder and a file that is read-only */
    if (o->file == NULL)
        return err_at(err, ERR_IO, 0, o->name, "cannot be written: %s", strerror(errno));
    return ERR_OK;
}

/* Makes a file for its owner alone, in the place of another one, but not of a link; -1 with errno. */
static int create_private(const char *path)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    struct stat st;
    const int fd = open(path, flags, 0600);
    if (fd >= 0 || errno != EEXIST || lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || unlink(path) != 0)
        return fd;
    return open(path, flags, 0600);
}

/* The temporary name is the final one. */
static enum err output_open_in_place(struct output *o, struct err_detail *err)
{
    const int fd = create_private(o->name);
    o->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (o->file == NULL) {
        const int reason = errno;
        if (fd >= 0)
            close(fd);
        return err_at(err, ERR_IO, 0, o->name, "cannot be written: %s", strerror(reason));
    }
    o->is_growing = true;
    o->path = strdup(o->name);
    o->temporary = strdup(o->name);
    if (o->path != NULL && o->temporary != NULL)
        return ERR_OK;
    fclose(o->file);
    unlink(o->name);
    return err_no_memory(err);
}

static enum err output_open_by(enum err (*open_file)(struct output *o, struct err_detail *err), const char *path,
                               struct output **out, struct err_detail *err)
{
    struct output *o = calloc(1, sizeof *o + strlen(path) + 1);
    if (o == NULL)
        return err_no_memory(err);
    strcpy(o->name, path);
    o->listed = -1;
    const enum err e = open_file(o, err);
    if (e != ERR_OK)
        output_free(o);
    else
        *out = o;
    return e;
}

enum err output_open(const char *path, struct output **out, struct err_detail *err)
{
    return output_open_by(output_open_stream, path, out, err);
}

enum err output_open_growing(const char *path, struct output **out, struct err_detail *err)
{
    return output_open_by(output_open_in_place, path, out, err);
}

FILE *output_file(struct output *o)
{
    return o->file;
}

/* Gives the file a name; false with errno. If that name is taken, *is_final stays false, and the temporary name is made
 * one that nobody has. */
static bool link_unnamed(struct output *o, bool *is_final)
{
    char self[sizeof "/proc/self/fd/" + 16];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(o->file));
    *is_final = linkat(AT_FDCWD, self, AT_FDCWD, o->path, AT_SYMLINK_FOLLOW) == 0;
    if (*is_final || errno != EEXIST)
        return *is_final;
    for (;;) {                               /* mkstemp finds a free name; its file gives way to ours */
        const int fd = mkstemp(o->temporary);
        if (fd < 0)
            return false;
        close(fd);
        unlink(o->temporary);
        o->listed = output_enlist(o->temporary);
        if (linkat(AT_FDCWD, self, AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW) == 0)
            return true;
        if (errno != EEXIST)
            return false;
        strcpy(o->temporary + strlen(o->temporary) - strlen("XXXXXX"), "XXXXXX");
    }
}

/* Puts a file that is whole under its name; false with errno. */
static bool output_publish(struct output *o)
{
    bool is_final = false;
    if (fsync(fileno(o->file)) != 0 && errno != EINVAL)
        return false;
    if (o->is_unnamed && !link_unnamed(o, &is_final))
        return false;
    o->is_unnamed = false;
    return (is_final || rename(o->temporary, o->path) == 0) && new_file_sync_folder(o->path);
}

/* Removes what there is of an output that failed. */
static void output_remove(const struct output *o)
{
    if (o->temporary != NULL && !o->is_unnamed)
        unlink(o->temporary);
}

enum err output_commit(struct output **out, struct err_detail *err)
{
    struct output *o = *out;
    if (o == NULL)
        return ERR_OK;
    struct stat st;
    assert(o->file != NULL && (o->path == NULL) == (o->temporary == NULL));
    *out = NULL;
    if (o->path != NULL && !o->is_growing && stat(o->path, &st) == 0 && read_files_have(&st)) {
        const enum err e = refuse_input(o, err);
        output_abandon(o);
        return e;
    }
    enum err e = ERR_OK;
    errno = 0;
    bool is_good = fflush(o->file) == 0 && ferror(o->file) == 0;
    if (is_good && o->temporary != NULL)
        is_good = o->is_growing ? fsync(fileno(o->file)) == 0 : output_publish(o);
    int reason = errno;
    if (fclose(o->file) != 0 && is_good) {
        is_good = false;
        reason = errno;
    }
    if (!is_good) {
        e = err_at(err, ERR_IO, 0, o->is_stdout ? "standard output" : o->name, "cannot be written: %s",
                   reason != 0 ? strerror(reason) : "writing failed");
        output_remove(o);
    }
    output_free(o);
    return e;
}

void output_abandon(struct output *o)
{
    if (o == NULL)
        return;
    fclose(o->file);
    output_remove(o);
    output_free(o);
}
