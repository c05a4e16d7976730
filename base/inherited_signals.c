/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "base/inherited_signals.h"

#include <signal.h>
#include <stddef.h>

static bool is_ignored[NSIG];

void inherited_signals_note(void)
{
    struct sigaction now;
    for (int number = 1; number < NSIG; number++)
        is_ignored[number] = sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

bool inherited_signal_is_ignored(int number)
{
    return number > 0 && number < NSIG && is_ignored[number];
}
