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
    uint64_t tokens;                 /* the longest sequence that fits; no bytes */
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

/* A process that the kernel killed for want of memory, and that no program of this kind is called: "chrome". */
struct log_killed {
    char     name[24];               /* "": there is none */
    uint64_t id;
};

/* What a walk over a log finds of the forms; zero but for the text, which is borrowed, before it. */
struct log_forms_walk {
    const char *text;
    size_t n;
    const struct log_form *best, *last, *mention;    /* of highest rank, the last of it; the last of all; one whose
                                                      * words are only mentioned; NULL: there is none */
    size_t best_at, last_at, mention_at;
    size_t looked, name_end;         /* the text is looked through for names of errors up to `looked`; the last name
                                      * begins just before name_end; 0: none */
    uint64_t n_errors;
    struct log_killed killed;
};

/* The phrases to look for. Static. */
size_t log_forms_count(void);
const char *log_forms_phrase(size_t i);

/* The phrase `i` stands at text[at]. Phrases are told in the order of the text. */
void log_forms_take(struct log_forms_walk *w, size_t i, size_t at);

/* Takes the last resort of log_loose.h, if nothing was found and nothing is mentioned. */
void log_forms_take_loose(struct log_forms_walk *w);

/* A form with the figures that stand with it. */
struct log_found log_forms_read(const struct log_forms_walk *w, const struct log_form *form, size_t at);

#endif
