/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What SIGINT, SIGTERM, SIGHUP and SIGPIPE do to the program. */
#include "base/inherited_signals.h"
#include "base/monotonic_ms.h"
#include "replay/program/cli.h"

#include <unistd.h>

/* What comes so soon after the first signal is the same interrupt: timeout sends it to the program and then to its
 * group, and a terminal to all that run in it. */
enum { SAME_INTERRUPT_MS = 300 };

static volatile sig_atomic_t deferred_signal, is_deferring;
static _Atomic int64_t deferred_ms;          /* when; it is set before the number is */

const volatile sig_atomic_t *cli_defer_signals(void)
{
    is_deferring = 1;
    return &deferred_signal;
}

void cli_heed_signals(void)
{
    is_deferring = 0;
}

int cli_deferred_signal(void)
{
    return deferred_signal;
}

/* Whether the signal only leaves its number, or adds nothing to one that did. */
static bool is_deferred(int number)
{
    if (is_deferring == 0 || number == SIGPIPE)
        return false;
    if (deferred_signal != 0)
        return monotonic_ms() - deferred_ms < SAME_INTERRUPT_MS;
    deferred_ms = monotonic_ms();
    deferred_signal = number;
    return true;
}

/* Removes the temporary files; the status is the one that a shell gives to a program that the signal ended. */
static void on_signal(int number)
{
    if (is_deferred(number))
        return;
    output_remove_temporaries();
    _exit(128 + number);
}

void cli_catch_signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    sigfillset(&action.sa_mask);             /* one at a time */
    inherited_signals_note();
    signal(SIGXFSZ, SIG_IGN);                /* a file that may not grow is an error of writing, with a word */
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!inherited_signal_is_ignored(numbers[i]))
            sigaction(numbers[i], &action, NULL);
}
