/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Names the files that stay, and moves them out of the run's folder. */
#include "dryrun/prediction_files.h"

#include "dryrun/run/file_move.h"
#include "traces/trace_edit.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
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

/* The range of what is reserved at most, as the fact TRACE_META_RANGE; "" if it has no width, or is not of the setting
 * that the program has. */
static void write_range(const struct prediction *p, struct words *w)
{
    const struct predicted_row *row = &p->rows[0];
    const struct peak_range *r = &row->range;
    const uint64_t reserved = row->answer.peak_reserved_bytes, others = r->expected_bytes - reserved;
    *w = (struct words){ .n = 0 };
    if (!peak_range_shows(r) || row->policy != NULL || p->jax_need.region_bytes > 0 || r->expected_bytes < reserved ||
        r->low_bytes < others)
        return;
    words_add(w, TRACE_RANGE_TEXT ": ", r->low_bytes - others, r->is_endless ? UINT64_MAX : r->high_bytes - others,
              reserved);
    peak_range_say_sources(w, r);
}

static enum err copy_with_fact(struct trace_reader *in, const char *name, const char *value, const char *path,
                               struct err_detail *err)
{
    struct trace_writer *out;
    const char *from = trace_meta(in, "path");
    enum err e = trace_create(path, &out, err);
    if (e != ERR_OK)
        return e;
    if (from != NULL)
        e = trace_put_meta(out, "path", from, err);
    if (e == ERR_OK)
        e = trace_put_meta(out, name, value, err);
    if (e == ERR_OK)
        e = trace_head(in, trace_info(in)->events, out, err);
    if (e == ERR_OK)
        return trace_finish(out, err);
    trace_abandon(out);
    return e;
}

/* Gives a recording one fact more. */
static enum err add_fact(const char *path, const char *name, const char *value, struct err_detail *err)
{
    struct trace_reader *in;
    char copy[PATH_MAX];
    if ((size_t)snprintf(copy, sizeof copy, "%s.noted", path) >= sizeof copy)
        return err_set(err, ERR_IO, 0, "%.150s: the name is too long", path);
    enum err e = trace_open(path, &in, err);
    if (e != ERR_OK)
        return e;
    e = copy_with_fact(in, name, value, copy, err);
    trace_close(in);                             /* what is open is not written over */
    if (e == ERR_OK && rename(copy, path) != 0)
        return err_at(err, ERR_IO, 0, path, "cannot be written: %s", strerror(errno));
    return e;
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
    struct words range = { .n = 0 };
    if (e == ERR_OK && files->trace[0] != '\0')
        write_range(p, &range);
    struct err_detail without;                   /* a recording that cannot be copied stays without its range */
    if (range.n > 0)
        (void)add_fact(files->trace, TRACE_META_RANGE, range.text, &without);
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
