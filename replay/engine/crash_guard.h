/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A plugin that crashes ends its own lane, not the program.
 *
 * A plugin runs in this process. If it reads where nothing is, or aborts, the kernel's signal finds the guard of the
 * thread and goes back to where the guarded call began. What the plugin held, locks and memory, stays as it was; so it
 * is never called again. A plugin that wrote over other people's memory before it crashed is not undone.
 */
#ifndef REPLAY_REPLAY_ENGINE_CRASH_GUARD_H
#define REPLAY_REPLAY_ENGINE_CRASH_GUARD_H

/* Calls body(arg). Returns 0, or the signal with which it crashed in this thread: SIGSEGV, SIGBUS, SIGFPE, SIGILL or
 * SIGABRT. Guards do not nest. In a browser, which loads no plugins, it only calls. */
int crash_guarded(void (*body)(void *arg), void *arg);

/* "reads or writes memory that is not there (SIGSEGV)": what the signal says. Static. */
const char *crash_text(int signal);

#endif
