/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Temporary files next to their final names, and a list of them, so that a signal handler can remove them. */
#include "base/output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
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

/* The name to replace: of a link the file it points to. NULL without memory. */
static char *output_target(const char *path)
{
    char *real = realpath(path, NULL);
    return real != NULL ? real : strdup(path);
}

/* The permissions that fopen would give a new file. */
static mode_t output_new_mode(void)
{
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Opens a new file next to the final name, with these permissions. */
static enum err output_open_temporary(struct output *o, mode_t mode, struct err_detail *why)
{
    static const char suffix[] = ".XXXXXX";
    o->path = output_target(o->name);
    o->temporary = o->path == NULL ? NULL : malloc(strlen(o->path) + sizeof suffix);
    if (o->temporary == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "%s: the host is out of memory", o->name);
    strcpy(o->temporary, o->path);
    strcat(o->temporary, suffix);
    const int fd = mkstemp(o->temporary);
    if (fd < 0)
        return err_set(why, ERR_IO, 0, "%s: cannot be written: %s", o->name, strerror(errno));
    fcntl(fd, F_SETFD, FD_CLOEXEC);          /* not for programs started meanwhile */
    o->listed = output_enlist(o->temporary);
    if (fchmod(fd, mode) == 0 && (o->file = fdopen(fd, "wb")) != NULL)
        return ERR_OK;
    const int reason = errno;
    close(fd);
    unlink(o->temporary);
    return err_set(why, ERR_IO, 0, "%s: cannot be written: %s", o->name, strerror(reason));
}

/* A stream of its own: what is printed for people goes through another one (base/shown.h). */
static enum err output_open_stdout(struct output *o, struct err_detail *why)
{
    o->is_stdout = true;
    fflush(stdout);
    const int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    o->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (o->file != NULL)
        return ERR_OK;
    const int reason = errno;
    if (fd >= 0)
        close(fd);
    return err_set(why, ERR_IO, 0, "standard output: cannot be written: %s", strerror(reason));
}

/* Opens what the name stands for: standard output, a regular file through a temporary one, anything else directly. */
static enum err output_open_stream(struct output *o, struct err_detail *why)
{
    struct stat st;
    if (strcmp(o->name, "-") == 0)
        return output_open_stdout(o, why);
    const bool is_there = stat(o->name, &st) == 0;
    if (!is_there || (S_ISREG(st.st_mode) && access(o->name, W_OK) == 0))
        return output_open_temporary(o, is_there ? st.st_mode & 0777 : output_new_mode(), why);
    o->file = fopen(o->name, "wb");          /* fails, and says why, for a folder and a file that is read-only */
    if (o->file == NULL)
        return err_set(why, ERR_IO, 0, "%s: cannot be written: %s", o->name, strerror(errno));
    return ERR_OK;
}

/* The temporary name is the final one. */
static enum err output_open_in_place(struct output *o, struct err_detail *why)
{
    o->file = fopen(o->name, "wb");
    if (o->file == NULL)
        return err_set(why, ERR_IO, 0, "%s: cannot be written: %s", o->name, strerror(errno));
    o->path = strdup(o->name);
    o->temporary = strdup(o->name);
    if (o->path != NULL && o->temporary != NULL)
        return ERR_OK;
    fclose(o->file);
    unlink(o->name);
    return err_set(why, ERR_HOST_NOMEM, 0, "%s: the host is out of memory", o->name);
}

static enum err output_open_by(enum err (*open_file)(struct output *o, struct err_detail *why), const char *path,
                               struct output **out, struct err_detail *why)
{
    struct output *o = calloc(1, sizeof *o + strlen(path) + 1);
    if (o == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "%s: the host is out of memory", path);
    strcpy(o->name, path);
    o->listed = -1;
    const enum err e = open_file(o, why);
    if (e != ERR_OK)
        output_free(o);
    else
        *out = o;
    return e;
}

enum err output_open(const char *path, struct output **out, struct err_detail *why)
{
    return output_open_by(output_open_stream, path, out, why);
}

enum err output_open_growing(const char *path, struct output **out, struct err_detail *why)
{
    return output_open_by(output_open_in_place, path, out, why);
}

FILE *output_file(struct output *o)
{
    return o->file;
}

enum err output_commit(struct output **out, struct err_detail *why)
{
    struct output *o = *out;
    if (o == NULL)
        return ERR_OK;
    assert(o->file != NULL && (o->path == NULL) == (o->temporary == NULL));
    *out = NULL;
    enum err e = ERR_OK;
    errno = 0;
    bool is_good = fflush(o->file) == 0 && ferror(o->file) == 0;
    if (fclose(o->file) != 0)
        is_good = false;
    if (is_good && o->temporary != NULL && rename(o->temporary, o->path) != 0)
        is_good = false;
    if (!is_good) {
        e = err_set(why, ERR_IO, 0, "%s: cannot be written: %s", o->is_stdout ? "standard output" : o->name,
                    errno != 0 ? strerror(errno) : "writing failed");
        if (o->temporary != NULL)
            unlink(o->temporary);
    }
    output_free(o);
    return e;
}

void output_abandon(struct output *o)
{
    if (o == NULL)
        return;
    fclose(o->file);
    if (o->temporary != NULL)
        unlink(o->temporary);
    output_free(o);
}
