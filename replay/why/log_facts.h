/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a log tells beside its error: where the program ran, what ran it, and with which settings (log_signs.def).
 */
#ifndef REPLAY_REPLAY_WHY_LOG_FACTS_H
#define REPLAY_REPLAY_WHY_LOG_FACTS_H

#include "replay/recording/platform.h"

struct log_facts {
    enum platform platform;
    bool is_guess;                   /* the text only suggests it */
    enum shell_kind shell;
    const char *shared;              /* the machine whose card shares the host's memory: "GB10"; NULL: none is named.
                                      * Static */
    const char *within;              /* the framework around the program: "vllm"; NULL: none is known. Static */
    const char *within_advice;       /* its own options; NULL. Static */
    bool is_expandable_asked;        /* the log shows that expandable_segments:True was set */
    bool is_split_asked;             /* the same of max_split_size_mb */
    bool is_not_in_force;            /* it says that expandable segments are not supported here */
};

struct log_facts log_facts_read(const char *text, size_t n);

/* Takes a platform that is known otherwise, such as from --system or from an error that only one platform writes. */
void log_facts_set_platform(struct log_facts *f, enum platform p);

/* The last line of the program's own code in the traceback before text[at]: "train.py:40, in step: y = f(x)". Frames of
 * installed packages are none. False: there is none. */
bool log_own_line(const char *text, size_t at, char *out, size_t room);

#endif
