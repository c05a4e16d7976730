/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Signals, which do not reach WebAssembly: the host ends the program. */
#ifndef REPLAY_PACKAGING_WASM_LACKING_SIGNAL_H
#define REPLAY_PACKAGING_WASM_LACKING_SIGNAL_H

#include_next <signal.h>

#include <__typedef_sigset_t.h>
#include <stddef.h>

enum { SA_RESTART = 1 };

struct sigaction {
    void (*sa_handler)(int number);
    sigset_t sa_mask;
    int sa_flags;
};

static inline int sigemptyset(sigset_t *set)
{
    (void)set;
    return 0;
}

static inline int sigfillset(sigset_t *set)
{
    (void)set;
    return 0;
}

static inline int sigaction(int number, const struct sigaction *now, struct sigaction *before)
{
    (void)number, (void)now;
    if (before != NULL)
        *before = (struct sigaction){ .sa_handler = SIG_DFL };
    return 0;
}

#endif
