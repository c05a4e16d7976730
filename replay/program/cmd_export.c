/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay export FILE --to FORMAT -o OUT`: the requests of a recording in the formats of other tools. */
#include "replay/program/cli.h"

#include "replay/export/request_export.h"

#include <inttypes.h>

enum { FORMATS_BYTES = 128 };

/* Everything the command holds. Zero is valid: export_close accepts it. */
struct session {
    struct trace_reader *trace;
    const struct request_format *format;
    uint64_t lost[REQUEST_LOSS_KINDS];
};

static enum err find_format(const char *name, const struct request_format **out, struct err_detail *err)
{
    char known[FORMATS_BYTES] = "";
    size_t used = 0;
    const struct request_format *f;
    *out = name == NULL ? NULL : request_format_find(name);
    for (size_t i = 0; (f = request_format_at(i)) != NULL && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", request_format_name(f));
    if (*out != NULL)
        return ERR_OK;
    return name == NULL ? err_set(err, ERR_USAGE, 0, "export needs a format: --to, one of %s", known)
                        : err_set(err, ERR_USAGE, 0, "--to '%s': expected one of %s", name, known);
}

/* What the format does not hold goes to stderr: the output may be standard output. */
static enum exit_status export_status(const void *session)
{
    const struct session *s = session;
    bool has_any = false;
    for (int k = 0; k < REQUEST_LOSS_KINDS; k++) {
        if (s->lost[k] == 0)
            continue;
        if (!has_any)
            fprintf(stderr, "replay: %s does not hold everything:\n", request_format_name(s->format));
        has_any = true;
        fprintf(stderr, "  %10" PRIu64 "  %s\n", s->lost[k], request_loss_text((enum request_loss)k));
    }
    return STATUS_DONE;
}

static enum err export_read(void *session, const struct options *o, struct err_detail *err)
{
    struct session *s = session;
    enum err e = find_format(o->to, &s->format, err);
    if (e == ERR_OK && o->out == NULL)
        e = err_set(err, ERR_USAGE, 0, "export needs a name for its output: -o OUT ('-' is standard output)");
    return e == ERR_OK ? cli_open_trace(o, 0, &s->trace, err) : e;
}

static enum err export_write(void *session, FILE *const files[ANSWER_FILES], struct err_detail *err)
{
    struct session *s = session;
    struct progress progress = progress_start("exporting", PROGRESS_EVENTS);
    trace_watch_reading(s->trace, progress_report, &progress);
    const enum err e = request_export(s->trace, s->format, files[0], s->lost, err);
    progress_clear(&progress);
    return e;
}

static void export_close(void *session)
{
    trace_close(((struct session *)session)->trace);
}

static const struct flag_use export_flags[] = {
    TAKES(EXPORT_TO), TAKES_AS(OUT, "where to write them; '-' is standard output"), TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_export = {
    .name = "export",
    .synopsis = "export FILE --to FORMAT -o OUT",
    .summary = "write the requests of a recording as csv, minimalloc, rmm or chrome",
    .text = "csv has a request or its end in each line, minimalloc a life, rmm is RMM's event log, and chrome is what "
            "torch.profiler writes, for ui.perfetto.dev too. replay reads each of them back. What the format does not "
            "hold is counted on standard error.\n"
            "\n"
            "  replay export run.pickle --to csv -o run.csv\n"
            "  replay export run.zst --to minimalloc -o run.mm.csv\n",
    .flags = export_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct session), .files = { offsetof(struct options, out) },
                .read = export_read, .write_files = export_write, .status = export_status, .close = export_close },
};
