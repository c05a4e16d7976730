/*
 * Starting a program with an environment of its own, for the commands that watch one.
 */
#ifndef REPLAY_REPLAY_PROGRAM_RUN_CHILD_H
#define REPLAY_REPLAY_PROGRAM_RUN_CHILD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { CHILD_VARIABLES_MAX = 16 };

/* Variables that the child gets beside its parent's. Texts are malloc'ed. */
struct child_env {
    char  *name[CHILD_VARIABLES_MAX], *value[CHILD_VARIABLES_MAX];
    size_t n;
};

/* Sets a variable, or puts `value` in front of what the parent's environment has, with `separator` between; separator
 * '\0' replaces it. ERR_HOST_NOMEM. */
MUST_USE enum err child_env_put(struct child_env *env, const char *name, const char *value, char separator,
                                struct err_detail *why);
void child_env_close(struct child_env *env);

/* What is done while a child runs: at its start, and again and again after that time. */
struct child_watch {
    void   (*look)(void *arg);
    void    *arg;
    unsigned every_ms;
};

/* Runs argv[0] with argv, a list that NULL ends, and waits. SIGINT, SIGTERM and SIGHUP go on to it. *status: its exit
 * status, or 128 and the signal that ended it. `watch` may be NULL. ERR_USAGE where the program cannot be started;
 * ERR_IO. */
MUST_USE enum err child_run(const char *const *argv, const struct child_env *env, const struct child_watch *watch,
                             int *status, struct err_detail *why);

/* Whether a process runs. One that has ended may still have a number, until its parent asks for its status. */
bool process_is_running(unsigned pid);

/* The first line that a program prints, without its end; *out is free()d by the caller, "" where it printed none or
 * failed. */
MUST_USE enum err child_first_line(const char *const *argv, char **out, struct err_detail *why);

#endif
