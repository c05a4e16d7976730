/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * How a command answers: the outputs are opened before the work, so that a name that cannot be written costs no replay;
 * then the work is done and the files are written; then the text is printed, unless an output is standard output; at
 * last all is closed. A command only says how each step is done.
 */
#ifndef REPLAY_REPLAY_PROGRAM_ANSWERING_H
#define REPLAY_REPLAY_PROGRAM_ANSWERING_H

#include "base/err.h"
#include "base/exit_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct options;

enum { ANSWER_FILES = 3 };

/* A session is what the command holds while it answers: a struct of its own, zeroed before `read`. All functions but
 * `read` may be NULL: there is no such step. */
struct answer_ops {
    size_t session_bytes;
    size_t files[ANSWER_FILES];      /* outputs beside --json: the places of their names in struct options; 0: none */
    bool is_beside_program;          /* standard output is a program's, which the command runs: --json names a file */
    /* Before the outputs are opened. *o may become other options, which live as long as the session. */
    enum err (*prepare)(void *session, const struct options **o, struct err_detail *err);
    enum err (*read)(void *session, const struct options *o, struct err_detail *err);
    enum err (*write_json)(const void *session, FILE *out, struct err_detail *err);
    /* If one of `files` is asked for; NULL stands for those that are not. */
    enum err (*write_files)(void *session, FILE *const files[ANSWER_FILES], struct err_detail *err);
    bool (*leaves_out)(const void *session, size_t file);    /* one of `files` is not made; NULL: all are */
    enum err (*print)(const void *session, struct err_detail *err);
    enum exit_status (*status)(const void *session);         /* of an answer that was given; NULL: STATUS_DONE */
    void (*close)(void *session);
};

/* Answers. Returns the status that the program ends with; after a deferred signal (cli_defer_signals) it is the
 * signal's. */
enum exit_status answer_run(const struct answer_ops *ops, const struct options *o);

#endif
