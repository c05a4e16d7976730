/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay export FILE --to FORMAT -o OUT`: the requests of a recording in the formats of other tools. */
#include "replay/program/cli.h"

#include "replay/export/request_export.h"

#include <inttypes.h>

enum { FORMATS_BYTES = 128 };

static enum err find_format(const char *name, const struct request_format **out, struct err_detail *why)
{
    char known[FORMATS_BYTES] = "";
    size_t used = 0;
    const struct request_format *f;
    *out = name == NULL ? NULL : request_format_find(name);
    for (size_t i = 0; (f = request_format_at(i)) != NULL && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", request_format_name(f));
    if (*out != NULL)
        return ERR_OK;
    return name == NULL ? err_set(why, ERR_USAGE, 0, "export needs a format: --to, one of %s", known)
                        : err_set(why, ERR_USAGE, 0, "--to '%.40s': expected one of %s", name, known);
}

/* What the format does not hold goes to stderr: the output may be standard output. */
static void print_losses(const char *format, const uint64_t lost[static REQUEST_LOSS_KINDS])
{
    bool has_any = false;
    for (int k = 0; k < REQUEST_LOSS_KINDS; k++) {
        if (lost[k] == 0)
            continue;
        if (!has_any)
            fprintf(stderr, "replay: %s does not hold everything:\n", format);
        has_any = true;
        fprintf(stderr, "  %10" PRIu64 "  %s\n", lost[k], request_loss_text((enum request_loss)k));
    }
}

static enum err export_to(const struct options *o, uint64_t lost[static REQUEST_LOSS_KINDS], struct err_detail *why)
{
    const struct request_format *format = NULL;
    struct trace_reader *in = NULL;
    struct output *out = NULL;
    bool is_stdout_taken = false;
    struct progress progress = progress_start("exporting", PROGRESS_EVENTS);
    enum err e = find_format(o->to, &format, why);
    if (e == ERR_OK && o->out == NULL)
        e = err_set(why, ERR_USAGE, 0, "export needs a name for its output: -o OUT ('-' is standard output)");
    if (e == ERR_OK)
        e = cli_open_output(o, o->out, &is_stdout_taken, &out, why);
    if (e == ERR_OK)
        e = cli_open_trace(o, 0, &in, why);
    if (e == ERR_OK) {
        trace_watch_reading(in, progress_report, &progress);
        e = request_export(in, format, output_file(out), lost, why);
        progress_clear(&progress);
    }
    if (e == ERR_OK)
        e = output_commit(&out, why);
    output_abandon(out);
    trace_close(in);
    return e;
}

static enum exit_status export_main(const struct options *o)
{
    uint64_t lost[REQUEST_LOSS_KINDS] = { 0 };
    struct err_detail why = { .text = "" };
    const enum err e = export_to(o, lost, &why);
    if (e != ERR_OK)
        return cli_fail(e, &why);
    print_losses(o->to, lost);
    return STATUS_DONE;
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
    .run = export_main,
};
