/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Errors, progress and files: what every command does in the same way. */
#include "replay/program/cli.h"

#include "base/input.h"
#include "base/shown.h"
#include "base/terminal.h"
#include "replay/program/output_names.h"
#include "replay/recording/coverage.h"
#include "replay/results/single_run.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum exit_status cli_fail(enum err e, const struct err_detail *err)
{
    assert(e != ERR_OK);
    fprintf(stderr, "replay: %s\n", err->text[0] != '\0' ? err->text : err_text(e));
    return exit_status_of(e);
}

enum err cli_printed(enum err e, struct err_detail *err)
{
    return e == ERR_OK ? ERR_OK : err_set(err, e, 0, "%s", err_text(e));
}

/* The cursor stands in a line of its own below what was printed. */
bool cli_has_scrolled(void)
{
    const size_t rows = terminal_rows(stdout);
    return rows > 0 && shown_lines() >= rows;
}

enum exit_status cli_finish_stdout(enum exit_status status)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return status;
    fprintf(stderr, "replay: standard output: cannot be written\n");
    return exit_status_of(ERR_IO);
}

/* ---- files ---- */

/* An import takes the device that --gpu names, or refuses; a native trace is of one device already. */
static enum err check_gpu(const struct options *o, size_t n, struct trace_reader **trace, struct err_detail *err)
{
    const uint32_t device = trace_info(*trace)->device;
    if (!o->is_given[FLAG_GPU] || o->import.gpu == (int64_t)device)
        return ERR_OK;
    trace_close(*trace);
    *trace = NULL;
    return err_at(err, ERR_USAGE, 0, o->inputs[n], "is of device %" PRIu32 " alone; --gpu %" PRId64 " is not in it",
                  device, o->import.gpu);
}

static enum err open_file(const struct options *o, size_t n, bool without_stacks, struct trace_reader **out,
                          struct err_detail *err)
{
    struct progress p = progress_start("reading", PROGRESS_BYTES);
    struct import_config import = o->import;
    assert(n < o->n_inputs);
    import.without_stacks = without_stacks;
    import.progress = progress_report;
    import.progress_arg = &p;
    const enum err e = trace_open_any(o->inputs[n], o->from, &import, out, err);
    progress_clear(&p);
    return e == ERR_OK ? check_gpu(o, n, out, err) : e;
}

enum err cli_open_file(const struct options *o, size_t n, struct trace_reader **out, struct err_detail *err)
{
    return open_file(o, n, false, out, err);
}

/* The bytes that are cut off are missing from every answer, so every command says it. */
static void say_unfinished(const struct options *o, size_t n, const struct trace_info *info)
{
    if (!info->is_unfinished)
        return;
    fputs("replay: ", stderr);
    shown_put(stderr, o->inputs[n]);
    fprintf(stderr, ": is unfinished: it is still being written, or its writer was killed; the last %" PRIu64
            " bytes are not read%s\n", info->cut_off_bytes, info->events == 0 ? ", and no event is complete" : "");
}

static enum err open_events(const struct options *o, size_t n, bool without_stacks, struct trace_reader **out,
                            struct err_detail *err)
{
    enum err e = open_file(o, n, without_stacks, out, err);
    if (e != ERR_OK)
        return e;
    e = coverage_check_cut(*out, o->inputs[n], err);
    if (e == ERR_OK)
        say_unfinished(o, n, trace_info(*out));
    else {
        trace_close(*out);
        *out = NULL;
    }
    return e;
}

enum err cli_open_trace(const struct options *o, size_t n, struct trace_reader **out, struct err_detail *err)
{
    return open_events(o, n, false, out, err);
}

static enum err open_events_or_state(const struct options *o, size_t n, struct trace_reader **out, bool *is_state,
                                     struct err_detail *err)
{
    struct err_detail of_state;
    const enum err e = open_events(o, n, false, out, err);
    *is_state = false;
    if (e != ERR_UNSUPPORTED || input_is_once(o->inputs[n]))
        return e;
    const enum err state = trace_open_final_state(o->inputs[n], o->from, &o->import, out, &of_state);
    *is_state = state == ERR_OK;
    if (state == ERR_USAGE)                  /* several devices hold memory */
        *err = of_state;
    return state == ERR_OK || state == ERR_USAGE ? state : e;
}

enum err cli_open_trace_or_state(const struct options *o, size_t n, struct trace_reader **out, bool *is_state,
                                 struct err_detail *err)
{
    struct options most = *o;
    struct err_detail of_most;
    const enum err e = open_events_or_state(o, n, out, is_state, err);
    if (e != ERR_USAGE || o->import.gpu != -1 || input_is_once(o->inputs[n]))
        return e;
    most.import.again = true;
    most.import.gpu = IMPORT_GPU_MOST;              /* several devices: an answer for one of them is better than none */
    if (open_events_or_state(&most, n, out, is_state, &of_most) != ERR_OK)
        return e;
    fprintf(stderr, "replay: %s; this is device %" PRIu32 ", which has most\n", err->text, trace_info(*out)->device);
    return ERR_OK;
}

enum err cli_open_trace_without_stacks(const struct options *o, size_t n, struct trace_reader **out,
                                       struct err_detail *err)
{
    return open_events(o, n, true, out, err);
}

enum err cli_replay(const struct options *o, struct single_run *run, struct err_detail *err)
{
    struct progress progress = progress_start("replaying", PROGRESS_EVENTS);
    const struct replay_config cfg = {
        .on_oom = o->is_given[FLAG_ON_OOM] ? o->on_oom : OOM_AS_RECORDED,
        .start = o->start,
        .progress = progress_report,
        .progress_arg = &progress,
    };
    const enum err e = single_run_replay(run, &cfg, err);
    progress_clear(&progress);
    return e;
}

enum err cli_check_output(const struct options *o, const char *path, struct err_detail *err)
{
    for (size_t i = 0; i < o->n_inputs; i++)
        if (is_same_file(path, o->inputs[i]))
            return err_at(err, ERR_USAGE, 0, path, "is an input; the output would overwrite it");
    return ERR_OK;
}

enum err cli_open_output(const struct options *o, const char *path, bool *is_stdout_taken, struct output **out,
                         struct err_detail *err)
{
    *out = NULL;
    if (path == NULL)
        return ERR_OK;
    const enum err e = cli_check_output(o, path, err);
    if (e != ERR_OK)
        return e;
    if (strcmp(path, "-") == 0) {
        if (*is_stdout_taken)
            return err_set(err, ERR_USAGE, 0, "only one output may be '-'");
        *is_stdout_taken = true;
    }
    return output_open(path, out, err);
}

enum err cli_open_json_of_command(const struct options *o, struct output **out, struct err_detail *err)
{
    bool is_stdout_taken = true;
    if (o->json != NULL && strcmp(o->json, "-") == 0)
        return err_set(err, ERR_USAGE, 0, "standard output belongs to the program; name a file: --json FILE");
    return cli_open_output(o, o->json, &is_stdout_taken, out, err);
}
