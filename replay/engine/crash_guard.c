/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/engine/crash_guard.h"

#include <signal.h>
#include <stddef.h>

static const struct {
    int signal;
    const char *text;
} crashes[] = {
    {SIGSEGV, "it used memory that is not there (SIGSEGV)"}, {SIGBUS, "it used memory that is not there (SIGBUS)"},
    {SIGFPE, "it divided by zero (SIGFPE)"}, {SIGILL, "it ran an instruction that is none (SIGILL)"},
    {SIGABRT, "it aborted (SIGABRT)"},
};
enum { CRASHES = sizeof crashes / sizeof crashes[0] };

const char *crash_text(int signal)
{
    for (int i = 0; i < CRASHES; i++)
        if (crashes[i].signal == signal)
            return crashes[i].text;
    return "it crashed";
}

#ifdef __wasm__

int crash_guarded(void (*body)(void *arg), void *arg)
{
    body(arg);
    return 0;
}

#else

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

enum { CRASH_STACK_BYTES = 64 << 10 };          /* the plugin's own may be what ran out */

/* A signal handler finds nothing but what its thread has. */
static _Thread_local sigjmp_buf *crash_back;
static struct sigaction crash_before[CRASHES];
static pthread_once_t crash_once = PTHREAD_ONCE_INIT;

/* Without a guard, what was there before handles it: the instruction runs, and crashes, once more. */
static void crash_catch(int signal)
{
    if (crash_back != NULL)
        siglongjmp(*crash_back, signal);
    for (int i = 0; i < CRASHES; i++)
        if (crashes[i].signal == signal)
            sigaction(signal, &crash_before[i], NULL);
    if (signal == SIGABRT)
        raise(signal);
}

static void crash_install(void)
{
    struct sigaction catch = {.sa_handler = crash_catch, .sa_flags = SA_ONSTACK};
    sigemptyset(&catch.sa_mask);
    for (int i = 0; i < CRASHES; i++)
        sigaction(crashes[i].signal, &catch, &crash_before[i]);
}

int crash_guarded(void (*body)(void *arg), void *arg)
{
    stack_t stack = {.ss_sp = malloc(CRASH_STACK_BYTES), .ss_size = CRASH_STACK_BYTES}, before;
    const int has_stack = stack.ss_sp != NULL && sigaltstack(&stack, &before) == 0;
    sigjmp_buf back;
    pthread_once(&crash_once, crash_install);
    const int signal = sigsetjmp(back, 1);
    if (signal == 0) {
        crash_back = &back;
        body(arg);
    }
    crash_back = NULL;
    if (has_stack)
        sigaltstack(&before, NULL);
    free(stack.ss_sp);
    return signal;
}

#endif
