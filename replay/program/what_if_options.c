/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads the values of --insert and --warm. */
#include "replay/program/what_if_options.h"

#include "base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static enum err choose_mark(const char *name, const struct trace_reader *trace, struct what_if *out,
                            struct err_detail *err)
{
    for (uint32_t i = 0; i < trace_info(trace)->n_labels; i++)
        if (strcmp(trace_label(trace, i), name) == 0) {
            out->has_flush_label = true;
            out->flush_label = i;
            return ERR_OK;
        }
    return err_set(err, ERR_USAGE, 0, "--insert flush@mark:%s: the trace has no mark of that name", name);
}

/* "flush@mark:NAME", "flush@every:N". */
static enum err choose_insert(const char *text, const struct trace_reader *trace, struct what_if *out,
                              struct err_detail *err)
{
    static const char mark[] = "flush@mark:", every[] = "flush@every:";
    if (strncmp(text, mark, strlen(mark)) == 0)
        return choose_mark(text + strlen(mark), trace, out, err);
    const char *digits = strncmp(text, every, strlen(every)) == 0 ? text + strlen(every) : "";
    uint64_t number;
    if (!units_parse_number(digits, strlen(digits), &number) || number == 0)
        return err_set(err, ERR_USAGE, 0, "--insert '%s': expected flush@mark:NAME or flush@every:N, with N events "
                       "from 1 on", text);
    out->flush_every_events = number;
    return ERR_OK;
}

static enum err choose_warm(const struct options *o, const struct trace_reader *trace, struct what_if *out,
                            struct err_detail *err)
{
    if (!units_parse_bytes(o->warm, strlen(o->warm), &out->warm_bytes) || out->warm_bytes == 0 ||
        out->warm_bytes > UINT64_C(1) << 62)
        return err_set(err, ERR_USAGE, 0, "--warm '%s': expected a size such as 8GiB", o->warm);
    if (o->start == START_FAITHFUL && trace_info(trace)->starts_mid_run)
        return err_set(err, ERR_USAGE, 0, "--warm does not go with --start faithful: the trace then starts in mid-run, "
                                          "after its beginning");
    return ERR_OK;
}

enum err what_if_choose(const struct options *o, const struct trace_reader *trace, struct what_if *out,
                        struct err_detail *err)
{
    struct what_if w = { .warm_bytes = 0 };
    enum err e = o->insert != NULL ? choose_insert(o->insert, trace, &w, err) : ERR_OK;
    if (e == ERR_OK && o->warm != NULL)
        e = choose_warm(o, trace, &w, err);
    if (e == ERR_OK)
        *out = w;
    return e;
}

enum err what_if_say(const struct options *o, const struct what_if *w, struct report *r)
{
    char insert[256] = "", warm[128] = "", bytes[UNITS_TEXT];
    assert(!w->has_flush_label || w->flush_every_events == 0);       /* --insert is one of the two */
    enum err e = ERR_OK;
    if (w->has_flush_label)
        snprintf(insert, sizeof insert, "what if: cached memory is given back (empty_cache) at each mark '%.100s'",
                 o->insert + strlen("flush@mark:"));
    else if (w->flush_every_events > 0)
        snprintf(insert, sizeof insert,
                 "what if: cached memory is given back (empty_cache) after every %" PRIu64 " events",
                 w->flush_every_events);
    if (w->warm_bytes > 0)
        snprintf(warm, sizeof warm, "what if: the program first takes %s in one request and gives it back",
                 units_format_bytes(w->warm_bytes, bytes));
    for (size_t i = 0; i < r->n_runs && e == ERR_OK; i++) {
        if (insert[0] != '\0')
            e = report_lines_add(&r->runs[i].assumptions, insert);
        if (e == ERR_OK && warm[0] != '\0')
            e = report_lines_add(&r->runs[i].assumptions, warm);
    }
    return e;
}
