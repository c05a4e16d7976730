/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Listing and removing journals. */
#define _GNU_SOURCE                   /* F_SETLEASE */
#include "dryrun/run/journal_folder.h"

#include "capture/call_journal.h"
#include "dryrun/run/run_child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_journal(const struct dirent *f)
{
    const size_t n = strlen(f->d_name), k = strlen(CALL_JOURNAL_ENDING);
    return n > k && strcmp(f->d_name + n - k, CALL_JOURNAL_ENDING) == 0;
}

/* Whether a process wrote anything into its journal. A journal that cannot be read counts as begun, and so does a link:
 * its import says why it fails. */
static bool is_begun(const char *path)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    char first = 0;
    const bool is_empty = fd >= 0 && read(fd, &first, 1) >= 0 && first == 0;
    if (fd >= 0)
        close(fd);
    return !is_empty;
}

/* A pipe, for one: to open it would wait for its writer. */
static bool is_no_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* A lease on reading is refused while anyone has the file open, or mapped, for writing. The process that breaks a lease
 * sends a signal, which is ignored meanwhile. */
bool journal_is_written(const char *path, unsigned pid)
{
    const struct sigaction ignored = { .sa_handler = SIG_IGN };
    struct sigaction before;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return process_is_running(pid);
    sigaction(SIGIO, &ignored, &before);
    const bool is_leased = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
    const bool is_known = is_leased || errno == EAGAIN;
    if (is_leased)
        fcntl(fd, F_SETLEASE, F_UNLCK);
    close(fd);
    sigaction(SIGIO, &before, NULL);
    return is_known ? !is_leased : process_is_running(pid);
}

/* The process of an empty journal was killed before its first call, or is about to write and is left alone. */
static void drop_others(struct journal_folder *f, const char *command)
{
    int n = 0;
    for (int i = 0; i < f->n; i++) {
        char path[PATH_MAX];
        journal_folder_path(f, i, path);
        const bool is_foreign = is_no_file(path);
        if (!is_foreign && is_begun(path)) {
            f->files[n++] = f->files[i];
            continue;
        }
        fprintf(stderr, "replay %s: %s: %s\n", command, path, is_foreign ? "is not a regular file, and is left out"
                                                        : "is empty: its process had not recorded a call");
        if (!is_foreign && !journal_is_written(path, (unsigned)strtoul(f->files[i]->d_name, NULL, 10)))
            unlink(path);
        free(f->files[i]);
    }
    f->n = n;
}

static int open_count(const char *path, int flags)
{
    char name[PATH_MAX + sizeof CALL_UNRECORDED_NAME + 1];
    snprintf(name, sizeof name, "%s/%s", path, CALL_UNRECORDED_NAME);
    return open(name, flags | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0600);
}

enum err journal_folder_begin(const char *path, struct err_detail *err)
{
    const uint64_t none = 0;
    const int fd = open_count(path, O_WRONLY | O_CREAT | O_EXCL);
    const bool is_done = fd >= 0 && write(fd, &none, sizeof none) == sizeof none;
    const int reason = errno;
    if (fd >= 0)
        close(fd);
    return is_done ? ERR_OK : err_at(err, ERR_IO, 0, path, "cannot be written to: %s", strerror(reason));
}

static uint64_t read_unrecorded(const char *path)
{
    uint64_t n = 0;
    const int fd = open_count(path, O_RDONLY);
    if (fd >= 0 && read(fd, &n, sizeof n) != sizeof n)
        n = 0;
    if (fd >= 0)
        close(fd);
    return n;
}

enum err journal_folder_open(const char *path, const char *command, struct journal_folder *out,
                             struct err_detail *err)
{
    struct journal_folder f = { .path = path, .unrecorded = read_unrecorded(path) };
    f.n = scandir(path, &f.files, is_journal, alphasort);
    if (f.n < 0)
        return err_at(err, ERR_IO, 0, path, "%s", strerror(errno));
    drop_others(&f, command);
    *out = f;
    return ERR_OK;
}

void journal_folder_close(struct journal_folder *f)
{
    for (int i = 0; i < f->n; i++)
        free(f->files[i]);
    free(f->files);
    f->files = NULL;
    f->n = 0;
}

void journal_folder_path(const struct journal_folder *f, int i, char path[PATH_MAX])
{
    assert(i >= 0 && i < f->n);
    snprintf(path, PATH_MAX, "%s/%s", f->path, f->files[i]->d_name);
}

bool journal_folder_numbers(const struct journal_folder *f, int i, unsigned *pid, unsigned *part)
{
    assert(i >= 0 && i < f->n);
    *pid = *part = 0;
    return sscanf(f->files[i]->d_name, "%u.%u.", pid, part) == 2;
}

void journal_folder_end(const char *path, const char *command)
{
    char name[PATH_MAX + sizeof CALL_UNRECORDED_NAME + 1];
    snprintf(name, sizeof name, "%s/%s", path, CALL_UNRECORDED_NAME);
    unlink(name);
    if (rmdir(path) != 0)
        fprintf(stderr, "replay %s: %s: journals are left there\n", command, path);
}

FILE *journal_folder_text(const char *path)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    FILE *f = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
    if (f == NULL && fd >= 0)
        close(fd);
    return f;
}
