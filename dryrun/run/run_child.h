/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Starts a program with an environment of its own and waits for it.
 */
#ifndef REPLAY_DRYRUN_RUN_RUN_CHILD_H
#define REPLAY_DRYRUN_RUN_RUN_CHILD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { CHILD_VARIABLES_MAX = 32 };

/* Variables that the child gets in addition to its parent's, or instead of them. Texts are malloc'ed. */
struct child_env {
    char  *name[CHILD_VARIABLES_MAX], *value[CHILD_VARIABLES_MAX];
    size_t n;
};

/* Sets a variable. The parent's own value follows after `separator`, or is dropped if that is '\0'. A later put of the
 * same name wins. ERR_HOST_NOMEM. */
MUST_USE enum err child_env_put(struct child_env *env, const char *name, const char *value, char separator,
                                struct err_detail *err);
void child_env_close(struct child_env *env);

/* Called while a child runs: at its start, then at this interval. */
struct child_watch {
    bool   (*look)(void *arg);       /* false: the child is to be stopped */
    void    *arg;
    unsigned every_ms;
};

/* How a child starts, beside its command. Zeros: as its parent, and waited for without a look. */
struct child_setting {
    const struct child_env   *env;
    const struct child_watch *watch;

    /* Not NULL: what the child prints goes into this file, and nothing comes from standard input. The child and all
     * that it starts are then one group of processes, which is stopped as a whole: by SIGTERM, and CHILD_GRACE_MS later
     * by SIGKILL. Signals of the terminal do not reach it. What still runs when the child has ended is killed, in
     * whatever group or session. */
    const char *log;

    /* If we are killed, even by SIGKILL, the program and all that it started are killed too. Otherwise it goes on, as
     * below a shell. */
    bool        ends_with_us;

    /* Called in the child before it becomes the program; returns errno, or 0. NULL: nothing. It may call only what is
     * safe after a fork. */
    int       (*prepare)(void *arg);
    void       *prepare_arg;
};

enum { CHILD_GRACE_MS = 3000 };

/* Whether a signal that asks a program to end was passed on to the last one while it ran, or ended it by its status. A
 * program may have caught it, and ended in order. */
bool child_was_interrupted(int status);

/* Runs argv[0] with argv, a list that NULL ends, and waits. Without a log SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1
 * and SIGUSR2 are passed on to it, unless they were ignored when we started. *status: its exit status, or 128 + the
 * signal that ended it. ERR_USAGE if the program cannot be started; ERR_IO. */
MUST_USE enum err child_run(const char *const *argv, const struct child_setting *setting, int *status,
                            struct err_detail *err);

/* Whether a process runs. A zombie does not: it has ended, and keeps its number until its parent asks for its
 * status. */
bool process_is_running(unsigned pid);

/* The first line that a program prints, without the line feed; "" if it printed nothing or failed. The caller free()s
 * *out. */
MUST_USE enum err child_first_line(const char *const *argv, char **out, struct err_detail *err);

#endif
