/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a log tells beside its error: where the program ran, what ran it, and with which settings (log_signs.def).
 */
#ifndef REPLAY_REPLAY_WHY_LOG_FACTS_H
#define REPLAY_REPLAY_WHY_LOG_FACTS_H

#include "replay/recording/platform.h"

struct log_facts {
    enum platform platform;
    bool is_guess;                   /* only the log's encoding suggests it */
    unsigned rocm;                   /* 7 of ROCm 7.0; 0: the log does not name its version */
    enum shell_kind shell;
    bool has_torch;                  /* PyTorch is named */
    bool is_container;               /* it ran in one, so that a Dockerfile may hold its settings */
    bool is_loading;                 /* PyTorch was moving a model to the card (log_is_loading) */
    bool is_slice;                   /* the card is a slice of one (MIG) */
    bool is_async;                   /* PyTorch ran with backend:cudaMallocAsync, which keeps no record */
    bool has_sleep;                  /* an engine in the program sleeps at times, and gives its memory away */
    bool is_of_several;              /* processes of one engine that share the work: each has a card */
    const char *shared;              /* the machine whose card shares the host's memory: "GB10"; NULL: none is named.
                                      * Static */
    const char *within;              /* the framework around the program: "vllm"; NULL: none is known. Static */
    const char *within_advice;       /* its own options; NULL. Static */
    char recording[160];             /* of this run, as `run-sim` or `predict` names it in the log; "": none is named */
    bool is_expandable_asked;        /* the log shows that expandable_segments:True was set */
    bool is_asked_by_own;            /* in the variable of its device; otherwise in PYTORCH_ALLOC_CONF only */
    bool is_split_asked;             /* the same of max_split_size_mb */
    bool is_not_in_force;            /* it says that expandable segments are not supported here */
};

/* What a walk over a log finds of signs; begins with log_facts_walk_of. */
struct log_facts_walk {
    const char *text;
    size_t n;
    struct log_facts facts;
    size_t within;                   /* the first sign of its kind in the table that was seen */
    bool has_windows, has_rocm;
};

struct log_facts_walk log_facts_walk_of(const char *text, size_t n);

/* The phrases to look for. Static. */
size_t log_facts_count(void);
const char *log_facts_phrase(size_t i);

/* The phrase `i` stands at text[at]. */
void log_facts_take(struct log_facts_walk *w, size_t i, size_t at);

/* What all that was taken tells. */
struct log_facts log_facts_of(const struct log_facts_walk *w);

/* Takes a platform that is known otherwise, such as from --system or from an error that only one platform writes. */
void log_facts_set_platform(struct log_facts *f, enum platform p);

/* PowerShell writes UTF-16. */
void log_facts_guess_windows(struct log_facts *f);

/* A library that asks the driver itself (log_callers.def). */
struct log_caller {
    const char *stack, *phrase, *advice;             /* static */
    bool is_in_torch;
};

/* The one that is named near text[at], where an error of the driver stands. NULL: none is. Static. */
const struct log_caller *log_facts_caller(const char *text, size_t n, size_t at);

/* What helps on the backend of ggml that is named nearest to text[at], where its error stands (log_backends.def). NULL:
 * none is. Static. */
const char *log_facts_backend(const char *text, size_t n, size_t at);

/* Whether the traceback before text[at] ends in Module.to or Module.cuda, which move a model's weights. */
bool log_is_loading(const char *text, size_t at);

/* The last line of the program's own code in the traceback before text[at]: "train.py:40, in step: y = f(x)". Frames of
 * installed packages are none. False: there is none. */
bool log_own_line(const char *text, size_t at, char *out, size_t room);

#endif
