/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The steps of an answer, in one order for all commands. */
#include "replay/program/answering.h"

#include "replay/program/cli.h"

#include <assert.h>
#include <stdlib.h>

/* The session beside the outputs that it goes to. Zero is valid but for the first two. */
struct answering {
    const struct answer_ops *ops;
    const struct options *options;
    void          *session;
    struct output *json, *files[ANSWER_FILES];
    bool           is_stdout_taken;
};

static enum err open_outputs(struct answering *a, struct err_detail *err)
{
    enum err e = ERR_OK;
    if (a->ops->is_beside_program)
        e = cli_open_json_of_command(a->options, &a->json, err);
    else if (a->ops->write_json != NULL)
        e = cli_open_output(a->options, a->options->json, &a->is_stdout_taken, &a->json, err);
    for (size_t i = 0; i < ANSWER_FILES && e == ERR_OK; i++)
        if (a->ops->files[i] != 0) {
            const char *const *path = (const void *)((const char *)a->options + a->ops->files[i]);
            e = cli_open_output(a->options, *path, &a->is_stdout_taken, &a->files[i], err);
        }
    return e;
}

static enum err write_outputs(struct answering *a, struct err_detail *err)
{
    FILE *files[ANSWER_FILES];
    bool has_files = false;
    enum err e = ERR_OK;
    for (size_t i = 0; i < ANSWER_FILES; i++) {
        files[i] = a->files[i] != NULL ? output_file(a->files[i]) : NULL;
        has_files = has_files || files[i] != NULL;
    }
    if (has_files)
        e = a->ops->write_files(a->session, files, err);
    if (e == ERR_OK && a->json != NULL)
        e = a->ops->write_json(a->session, output_file(a->json), err);
    for (size_t i = 0; i < ANSWER_FILES && e == ERR_OK; i++)
        if (a->ops->leaves_out == NULL || !a->ops->leaves_out(a->session, i))
            e = output_commit(&a->files[i], err);
    return e == ERR_OK ? output_commit(&a->json, err) : e;
}

/* What is printed may fail without a sentence of its own. */
static enum err print(const struct answering *a, struct err_detail *err)
{
    if (a->is_stdout_taken || a->ops->print == NULL)
        return ERR_OK;
    err->text[0] = '\0';
    return a->ops->print(a->session, err);
}

static enum err answer(struct answering *a, struct err_detail *err)
{
    enum err e = a->ops->prepare != NULL ? a->ops->prepare(a->session, &a->options, err) : ERR_OK;
    if (e == ERR_OK)
        e = open_outputs(a, err);
    if (e == ERR_OK)
        e = a->ops->read(a->session, a->options, err);
    if (e == ERR_OK)
        e = write_outputs(a, err);
    return e == ERR_OK ? print(a, err) : e;
}

static enum exit_status end(const struct answering *a, enum err e, const struct err_detail *err)
{
    const enum exit_status given = e == ERR_OK && a->ops->status != NULL ? a->ops->status(a->session) : STATUS_DONE;
    const enum exit_status status = e != ERR_OK ? cli_fail(e, err) : cli_finish_stdout(given);
    const bool is_signals = cli_deferred_signal() != 0 && (e == ERR_OK || e == ERR_INTERRUPTED);
    return is_signals ? (enum exit_status)(128 + cli_deferred_signal()) : status;
}

enum exit_status answer_run(const struct answer_ops *ops, const struct options *o)
{
    struct err_detail err = { .text = "" };
    struct answering a = { .ops = ops, .options = o, .session = calloc(1, ops->session_bytes + 1) };   /* 0: none */
    assert(ops->read != NULL);
    const enum err e = a.session == NULL ? err_no_memory(&err)
                                         : answer(&a, &err);
    const enum exit_status status = end(&a, e, &err);
    output_abandon(a.json);
    for (size_t i = 0; i < ANSWER_FILES; i++)
        output_abandon(a.files[i]);
    if (a.session != NULL && ops->close != NULL)
        ops->close(a.session);
    free(a.session);
    return status;
}
