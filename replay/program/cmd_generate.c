/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay generate LOAD -o OUT`: a trace made by a rule. */
#include "replay/program/cli.h"

#include "loads/load.h"
#include "replay/likeness/likeness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char like_prefix[] = "like:";

/* Zero is valid. */
struct generated {
    bool            is_fitted, is_on_stdout;
    uint64_t        stretch;
    struct likeness likeness;
};

static enum err generate_to(const char *load, const struct options *o, struct err_detail *err)
{
    struct trace_writer *w;
    enum err e = trace_create(o->out, &w, err);
    if (e != ERR_OK)
        return e;
    struct progress progress = progress_start("generating", PROGRESS_EVENTS);
    trace_watch_writing(w, o->is_given[FLAG_EVENTS] ? o->events : 0, progress_report, &progress);
    e = load_make(load, o->events, o->seed, w, err);
    progress_clear(&progress);
    if (e == ERR_OK)
        return trace_finish(w, err);
    trace_abandon(w);
    return e;
}

/* "like:FILE" and nothing else: the load is fitted. Returns the file; NULL for any other text. */
static const char *fitted_file(const char *load)
{
    if (strncmp(load, like_prefix, strlen(like_prefix)) != 0)
        return NULL;
    const char *file = load + strlen(like_prefix);
    file += strncmp(file, "file=", 5) == 0 ? 5 : 0;
    return *file == '\0' || strchr(file, ',') != NULL ? NULL : file;
}

static enum err generate_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct generated *g = session;
    if (!g->is_fitted || g->is_on_stdout)
        return ERR_OK;
    if (g->stretch == 1)
        printf("No stretch of two or more requests can be drawn anew and keep the peaks: the\n"
               "load has the recording's sizes and lives in their order.\n");
    else
        printf("Drawn anew within stretches of %" PRIu64 " requests: no peak differs by more than\n"
               "%" PRIu64 ".%" PRIu64 "%% under %zu policies, which rank alike.\n", g->stretch,
               g->likeness.worst_permille / 10, g->likeness.worst_permille % 10, g->likeness.n_policies);
    return ERR_OK;
}

static enum err generate_fitted(struct generated *g, const char *file, const struct options *o,
                                struct err_detail *err)
{
    struct trace_reader *recording = NULL, *load = NULL;
    char text[4096 + 64];
    enum err e = trace_open_any(file, NULL, &(struct import_config){.gpu = -1, .without_stacks = true}, &recording,
                                err);
    if (e == ERR_OK)
        e = likeness_fit(recording, file, o->seed, &load, &g->stretch, &g->likeness, err);
    if (e == ERR_OK) {
        snprintf(text, sizeof text, "like:file=%s,stretch=%" PRIu64, file, g->stretch);
        e = generate_to(text, o, err);
    }
    g->is_fitted = e == ERR_OK;
    trace_close(load);
    trace_close(recording);
    return e;
}

static enum err generate_read(void *session, const struct options *o, struct err_detail *err)
{
    struct generated *g = session;
    const char *load = o->inputs[0], *file = fitted_file(load);
    if (o->out == NULL)
        return err_set(err, ERR_USAGE, 0, "generate needs a name for the trace: -o OUT");
    g->is_on_stdout = strcmp(o->out, "-") == 0;
    return file != NULL ? generate_fitted(g, file, o, err) : generate_to(load, o, err);
}

static const struct flag_use generate_flags[] = {
    TAKES(OUT), TAKES(EVENTS), TAKES(SEED), TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_generate = {
    .name = "generate",
    .synopsis = "generate LOAD -o OUT",
    .summary = "make a trace by a rule: a training, a server, random requests, or one that is like a recording",
    .text = "LOAD is a kind and its options, such as\n"
            "  replay generate transformer:layers=12,width=768,batch=8 -o t.zst\n"
            "  replay generate serve:requests=azure.csv,cache=paged -o t.zst\n"
            "  replay generate like:snapshot.pickle -o t.zst\n"
            "replay --list shows the kinds, replay --help KIND the options of one.\n"
            "The same load, number of events and seed give the same bytes.\n",
    .flags = generate_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct generated), .read = generate_read, .print = generate_print },
};
