/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What was asked, what PyTorch takes, and what a threshold saves. */
#include "replay/program/tune_host.h"

#include "base/terminal.h"
#include "replay/advise/host_settings.h"
#include "replay/recording/coverage.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"
#include "report/text/terminal_table.h"

#include <string.h>

static enum err print_table(const struct host_settings *s, size_t columns, struct err_detail *err)
{
    static const struct text_column titles[] = {
        {.title = "setting", .is_left = true}, {.title = "taken at most"}, {.title = "calls"},
        {.title = "time", .leaves = 1},
    };
    struct terminal_table t = {.columns = titles, .n_columns = sizeof titles / sizeof titles[0],
                               .bold_row = s->best == 0 ? 0 : 1};
    const size_t rows[] = {0, s->best, 1};
    for (size_t i = 0; i < 3; i++) {
        const struct host_setting *h = &s->at[rows[i]];
        char taken[TEXT_NUMBER], calls[TEXT_NUMBER], time[TEXT_NUMBER];
        if (i == 1 && s->best == 0)
            continue;
        terminal_table_add(&t, (const char *const[]){
            i == 0 ? "none" : i == 1 ? h->conf : "(exact, no cache)", text_mib(h->peak_bytes, taken),
            text_count(h->calls, calls), text_time(h->time_ns, time)});
    }
    printf("\n");
    const enum err e = terminal_table_print(stdout, &t, columns);
    return e == ERR_OK ? ERR_OK : err_set(err, e, 0, "%s", err_text(e));
}

/* Everything the command holds. Zero is valid: host_close accepts it. */
struct host_session {
    const struct options *options;
    struct trace_reader  *trace;
    struct host_settings  found;
};

static void print_answer(const struct host_settings *s)
{
    char asked[TEXT_NUMBER], taken[TEXT_NUMBER], then[TEXT_NUMBER], line[256];
    text_mib(s->requested_bytes, asked);
    text_mib(s->at[0].peak_bytes, taken);
    if (s->best == 0)
        snprintf(line, sizeof line, "Leave it as it is: %s of page-locked host memory are asked for at once, %s are "
                 "taken, and no threshold saves enough.", asked, taken);
    else
        snprintf(line, sizeof line, "A threshold saves page-locked host memory: %s instead of %s, of which %s are "
                 "asked for at once. PyTorch 2.15 and later read it.", text_mib(s->at[s->best].peak_bytes, then),
                 taken, asked);
    text_put_line(stdout, line, 0);
    if (s->best != 0) {
        printf("\n");
        text_put_export(stdout, "PYTORCH_CUDA_ALLOC_CONF", s->at[s->best].conf);
        printf("\n");
    }
}

static enum err host_print(const void *session, struct err_detail *err)
{
    const struct host_session *h = session;
    print_answer(&h->found);
    const enum err e = print_table(&h->found, h->options->is_wide ? TERMINAL_ANY : terminal_columns(stdout), err);
    return e == ERR_OK ? coverage_tell(stdout, h->trace, NULL, err) : e;
}

static enum err host_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct host_settings *s = &((const struct host_session *)session)->found;
#define ANSWER_TABLE "answers/tune_host.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static enum err host_read(void *session, const struct options *o, struct err_detail *err)
{
    struct host_session *h = session;
    h->options = o;
    const enum err e = cli_open_trace_without_stacks(o, 0, &h->trace, err);
    return e == ERR_OK ? host_settings_find(h->trace, o->price, &h->found, err) : e;
}

static void host_close(void *session)
{
    trace_close(((struct host_session *)session)->trace);
}

const struct answer_ops answer_of_host = { .session_bytes = sizeof(struct host_session), .read = host_read,
                                           .write_json = host_write_json, .print = host_print, .close = host_close };
