/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Names the files that stay, and moves them out of the run's folder. */
#include "dryrun/prediction_files.h"

#include "dryrun/run/file_move.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void prediction_choose_stem(const struct prediction_request *r, const char *out, char stem[static PATH_MAX])
{
    const char *name = out;
    for (size_t i = 0; name == NULL && i < r->n_words; i++) {
        const size_t n = strlen(r->program[i]);
        if (n > 3 && strcmp(r->program[i] + n - 3, ".py") == 0)
            name = r->program[i];
    }
    const char *from = name != NULL ? name : r->program[0];
    const char *slash = out != NULL ? NULL : strrchr(from, '/');
    from = slash == NULL ? from : slash + 1;
    const char *end = out != NULL ? ".zst" : ".py";
    const size_t n = strlen(from), k = strlen(end);
    const size_t n_stem = n > k && strcmp(from + n - k, end) == 0 ? n - k : n;
    snprintf(stem, PATH_MAX, "%.*s%s", (int)n_stem, from, out != NULL ? "" : ".predict");
}

/* Moves one file "run<...>" of a run to "STEM<...>". */
static enum err keep_file(const struct predicted_run *run, const char *name, const char *stem,
                          struct prediction_files *files, struct err_detail *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    if ((size_t)snprintf(from, sizeof from, "%s/%s", run->folder, name) >= sizeof from ||
        (size_t)snprintf(to, sizeof to, "%s%s", stem, name + strlen("run")) >= sizeof to)
        return err_at(err, ERR_IO, 0, stem, "the name is too long");
    const bool is_trace = strcmp(from, run->trace) == 0, is_log = strcmp(from, run->log) == 0;
    const enum err e = file_move(from, to, err);
    if (e != ERR_OK)
        return e;
    if (is_trace)
        snprintf(files->trace, sizeof files->trace, "%s", to);
    if (is_log)
        snprintf(files->log, sizeof files->log, "%s", to);
    if (realpath(to, from) != NULL && report_lines_add(&files->kept, from) != ERR_OK)
        return err_no_memory(err);
    return ERR_OK;
}

static int is_of_run(const struct dirent *f)
{
    return strncmp(f->d_name, "run.", strlen("run.")) == 0;
}

enum err prediction_keep(const struct prediction *p, const char *stem, struct prediction_files *files,
                         struct err_detail *err)
{
    const struct prediction_run *run = prediction_run_shown(p);
    struct dirent **names = NULL;
    const int n = run == NULL ? 0 : scandir(run->made.folder, &names, is_of_run, alphasort);
    enum err e = n < 0 ? err_at(err, ERR_IO, 0, run->made.folder, "cannot be read: %s", strerror(errno))
                       : ERR_OK;
    for (int i = 0; i < n; i++) {
        if (e == ERR_OK)
            e = keep_file(&run->made, names[i]->d_name, stem, files, err);
        free(names[i]);
    }
    free(names);
    return e;
}

/* Whether all that the program printed is the line that was said of its failure. */
static bool is_said_already(const char *log, uint64_t log_bytes)
{
    struct program_failure failure;
    program_failure_read(log, &failure);
    return log_bytes <= strlen(failure.line) + strlen("\n");
}

void prediction_keep_log(const struct prediction *p, const char *stem, struct prediction_files *files)
{
    const struct predicted_run *run = p->n_runs > 0 ? &p->runs[p->n_runs - 1].made : NULL;
    struct err_detail err;
    struct stat st;
    if (run != NULL && stat(run->log, &st) == 0 && !is_said_already(run->log, (uint64_t)st.st_size) &&
        keep_file(run, "run.log", stem, files, &err) == ERR_OK)
        fprintf(stderr, "replay predict: all that the program printed: %s\n", files->log);
}

void prediction_files_close(struct prediction_files *files)
{
    report_lines_close(&files->kept);
}
