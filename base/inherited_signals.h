/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the parent of this process had done to signals. A process inherits what is ignored: nohup ignores SIGHUP for the
 * program that it starts, and a shell ignores SIGINT for a job in the background. A program that we start is to inherit
 * the same, whatever we do to signals meanwhile.
 */
#ifndef REPLAY_BASE_INHERITED_SIGNALS_H
#define REPLAY_BASE_INHERITED_SIGNALS_H

#include <stdbool.h>

/* Notes which signals are ignored. Call it once, before any signal is caught or ignored. */
void inherited_signals_note(void);

/* Whether a signal was ignored then; false without a note. Safe in a signal handler and after a fork. */
bool inherited_signal_is_ignored(int number);

#endif
