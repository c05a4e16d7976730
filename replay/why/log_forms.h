/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The errors of log_forms.def: found in a log, with the figures that stand in them.
 */
#ifndef REPLAY_REPLAY_WHY_LOG_FORMS_H
#define REPLAY_REPLAY_WHY_LOG_FORMS_H

#include "replay/recording/platform.h"
#include "replay/why/why.h"

struct log_form {
    const char *stack;
    enum platform platform;
    int rank;
    enum verdict_kind verdict;
    const char *phrase, *near, *says, *lever, *advice;
};

/* Bytes; OOM_TEXT_UNKNOWN: the text does not say. */
struct log_figures {
    uint64_t asked, total, free, allowed, others, allocated, reserved;
    uint64_t pinned;                 /* free, in segments that live blocks keep */
};

/* Zero: none was found. */
struct log_found {
    const struct log_form *form;     /* static */
    struct log_figures figures;
    enum verdict_kind verdict;       /* the form's, unless its figures tell more */
    uint64_t line;
    size_t   at;
    uint64_t n_errors;               /* all that the text holds, repeated ones too */
};

/* The error of highest rank, and of these the last. False: there is none. */
bool log_forms_find(const char *text, size_t n, struct log_found *out);

#endif
