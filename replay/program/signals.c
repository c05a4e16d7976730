/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What SIGINT, SIGTERM, SIGHUP and SIGPIPE do to the program. */
#include "base/inherited_signals.h"
#include "replay/program/cli.h"

#include <unistd.h>

static volatile sig_atomic_t deferred_signal, is_deferring;

const volatile sig_atomic_t *cli_defer_signals(void)
{
    is_deferring = 1;
    return &deferred_signal;
}

int cli_deferred_signal(void)
{
    return deferred_signal;
}

/* Removes the temporary files; the status is the one that a shell gives to a program that the signal ended. */
static void on_signal(int number)
{
    if (is_deferring != 0 && deferred_signal == 0 && number != SIGPIPE) {
        deferred_signal = number;
        return;
    }
    output_remove_temporaries();
    _exit(128 + number);
}

void cli_catch_signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    inherited_signals_note();
    signal(SIGXFSZ, SIG_IGN);                /* a file that may not grow is an error of writing, with a word */
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!inherited_signal_is_ignored(numbers[i]))
            sigaction(numbers[i], &action, NULL);
}
