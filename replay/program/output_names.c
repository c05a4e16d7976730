/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A file is the same by its folder and its last name, or, if it is there, by its inode. */
#include "replay/program/output_names.h"

#include "base/database_files.h"
#include "dryrun/run/journal_import.h"

#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_same_folder(const char *a, const char *b)
{
    char x[PATH_MAX], y[PATH_MAX];
    struct stat sx, sy;
    snprintf(x, sizeof x, "%s", a);
    snprintf(y, sizeof y, "%s", b);
    return stat(dirname(x), &sx) == 0 && stat(dirname(y), &sy) == 0 && is_same_inode(&sx, &sy);
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

bool output_name_is_of_file(const char *path)
{
    const char *name = last_name(path);
    return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return strcmp(a, "-") != 0 && strcmp(b, "-") != 0 && stat(a, &x) == 0 && stat(b, &y) == 0 &&
           S_ISREG(x.st_mode) && is_same_inode(&x, &y);
}

/* Whether two names that are not there yet name one file. */
static bool will_be_same_file(const char *a, const char *b)
{
    return strcmp(a, "-") != 0 && access(a, F_OK) != 0 && access(b, F_OK) != 0 &&
           strcmp(last_name(a), last_name(b)) == 0 && is_same_folder(a, b);
}

static bool is_or_will_be_same_file(const char *a, const char *b)
{
    return is_same_file(a, b) || will_be_same_file(a, b);
}

enum err output_names_check(const struct options *o, struct err_detail *err)
{
    const char *const paths[] = { o->json, o->csv, o->samples, o->perfetto, o->html, o->md, o->markdown, o->folded,
                                  o->speedscope, o->out };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        for (size_t k = 0; k < i; k++)
            if (paths[i] != NULL && paths[k] != NULL && is_or_will_be_same_file(paths[i], paths[k]))
                return err_at(err, ERR_USAGE, 0, paths[i], "two outputs have this name");
    return ERR_OK;
}

/* A word without a dot that is no file yet is none that the program writes: "-o gpt -- train gpt". */
static bool is_recorded_file(const char *path, const char *word)
{
    return is_same_file(path, word) || (strchr(last_name(word), '.') != NULL && will_be_same_file(path, word));
}

/* A file that becomes the recording's: the program must not be told to use it. */
static enum err check_recorded_file(const struct options *o, const char *path, struct err_detail *err)
{
    for (size_t i = 0; i < o->n_inputs; i++) {
        const char *value = strchr(o->inputs[i], '=');
        if (is_recorded_file(path, o->inputs[i]) || (value != NULL && is_recorded_file(path, value + 1)))
            return err_at(err, ERR_USAGE, 0, path, "is a file of the recording, and among the program's arguments; "
                          "give the recording another name (-o)");
    }
    return o->json != NULL && is_or_will_be_same_file(path, o->json)
               ? err_at(err, ERR_USAGE, 0, path, "two outputs have this name") : ERR_OK;
}

enum err output_names_check_recording(const struct options *o, const char *name, bool has_log, struct err_detail *err)
{
    static const char *const endings[] = { ".zst", ".driver.zst", ".pickle", ".oom.pickle", ".usr1.pickle", ".log" };
    const size_t n_endings = sizeof endings / sizeof endings[0] - !has_log, n_stem = recording_stem_length(name);
    char path[PATH_MAX];
    enum err e = check_recorded_file(o, name, err);
    for (size_t i = 0; i < n_endings && e == ERR_OK; i++)
        if ((size_t)snprintf(path, sizeof path, "%.*s%s", (int)n_stem, name, endings[i]) < sizeof path)
            e = check_recorded_file(o, path, err);
    return e;
}

enum err output_names_check_database(const struct options *o, struct err_detail *err)
{
    static const char *const endings[] = { "", "-wal", "-shm", "-journal" };
    const char *const paths[] = { o->json, o->csv };
    char name[DATABASE_NAME_BYTES], beside[DATABASE_NAME_BYTES];
    const enum err e = database_name(o->out, name, err);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0] && e == ERR_OK; i++)
        for (size_t k = 0; k < sizeof endings / sizeof endings[0] && paths[i] != NULL; k++) {
            snprintf(beside, sizeof beside, "%.*s%s", DATABASE_NAME_BYTES - 16, name, endings[k]);
            if (is_or_will_be_same_file(paths[i], beside))
                return err_at(err, ERR_USAGE, 0, paths[i], "is the name of a file that belongs to the database %s",
                              o->out);
        }
    return e;
}
