/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Starts a program with an environment of its own and waits for it.
 */
#ifndef REPLAY_REPLAY_PROGRAM_RUN_CHILD_H
#define REPLAY_REPLAY_PROGRAM_RUN_CHILD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { CHILD_VARIABLES_MAX = 16 };

/* Variables that the child gets in addition to its parent's, or instead of them. Texts are malloc'ed. */
struct child_env {
    char  *name[CHILD_VARIABLES_MAX], *value[CHILD_VARIABLES_MAX];
    size_t n;
};

/* Sets a variable. The parent's own value follows after `separator`, or is dropped if that is '\0'. A later put of the
 * same name wins. ERR_HOST_NOMEM. */
MUST_USE enum err child_env_put(struct child_env *env, const char *name, const char *value, char separator,
                                struct err_detail *why);
void child_env_close(struct child_env *env);

/* Called while a child runs: at its start, then at this interval. */
struct child_watch {
    void   (*look)(void *arg);
    void    *arg;
    unsigned every_ms;
};

/* Runs argv[0] with argv, a list that NULL ends, and waits. SIGINT, SIGTERM and SIGHUP are passed on to it. *status:
 * its exit status, or 128 + the signal that ended it. `watch` may be NULL. ERR_USAGE if the program cannot be started;
 * ERR_IO. */
MUST_USE enum err child_run(const char *const *argv, const struct child_env *env, const struct child_watch *watch,
                             int *status, struct err_detail *why);

/* Whether a process runs. A zombie does not: it has ended, and keeps its number until its parent asks for its
 * status. */
bool process_is_running(unsigned pid);

/* The first line that a program prints, without the line feed; "" if it printed nothing or failed. The caller free()s
 * *out. */
MUST_USE enum err child_first_line(const char *const *argv, char **out, struct err_detail *why);

#endif
