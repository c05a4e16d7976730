/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Errors that say in other words that the card was full: the driver or a library was refused memory, or PyTorch was and
 * hides it. Such a text has no figures.
 */
#ifndef REPLAY_REPLAY_WHY_LIBRARY_REFUSAL_H
#define REPLAY_REPLAY_WHY_LIBRARY_REFUSAL_H

#include "report/text/json_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct library_refusal {
    const char *phrase;              /* what the error says */
    const char *library;             /* "cuDNN" */
    const char *refused;             /* what was asked for: the rest of a sentence */
    bool        is_workspace;        /* PyTorch's allocator was asked; the same words have other causes, too */
};

/* The last such error in text[0, n), whatever stands around it; NULL: there is none. Static. */
const struct library_refusal *library_refusal_find(const char *text, size_t n);

/* For a terminal of 80 columns: the verdict, why, and what to do. */
void library_refusal_print(FILE *out, const struct library_refusal *r);

/* The members verdict and library of the object that is open (report/SCHEMA.md, replay-why/1). */
void library_refusal_json(struct json_writer *j, const struct library_refusal *r);

#endif
