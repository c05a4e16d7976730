/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Starts a program and looks at its journals until it ends. */
#include "dryrun/run/followed_child.h"

static bool look(void *arg)
{
    following_look(arg);
    return true;
}

enum err followed_child_run(const char *const *argv, const struct child_env *env, bool ends_with_us,
                            const char *folder, const char *command, struct following **following, int *status,
                            struct err_detail *err)
{
    struct following *f;
    struct child_setting setting = { .env = env, .ends_with_us = ends_with_us };
    if (folder == NULL)
        return child_run(argv, &setting, status, err);
    enum err e = following_start(folder, command, &f, err);
    if (e != ERR_OK)
        return e;
    const struct child_watch watch = { .look = look, .arg = f, .every_ms = FOLLOWING_LOOK_MS };
    setting.watch = &watch;
    e = child_run(argv, &setting, status, err);
    if (e != ERR_OK)
        following_end(f, false);
    else
        *following = f;
    return e;
}
