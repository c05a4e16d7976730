/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "dryrun/bisect/quiet_command.h"

#include "dryrun/run/run_child.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOK_MS = 50 };

static bool goes_on(void *arg)
{
    const volatile sig_atomic_t *const *interrupted = arg;
    return **interrupted == 0;
}

static enum err read_whole(const char *path, char **out, struct err_detail *err)
{
    struct stat st = { .st_size = 0 };
    FILE *f = fopen(path, "r");
    if (f == NULL || fstat(fileno(f), &st) != 0) {
        const int reason = errno;
        if (f != NULL)
            fclose(f);
        return err_at(err, ERR_IO, 0, path, "cannot be read: %s", strerror(reason));
    }
    char *text = malloc((size_t)st.st_size + 1);
    if (text != NULL)
        text[fread(text, 1, (size_t)st.st_size, f)] = '\0';
    fclose(f);
    *out = text;
    return text != NULL ? ERR_OK : err_no_memory(err);
}

/* What is said is said in English, and nobody is asked for a password. */
static enum err put_env(struct child_env *env, struct err_detail *err)
{
    static const char *const variables[][2] = { { "LC_ALL", "C.UTF-8" }, { "GIT_TERMINAL_PROMPT", "0" },
                                                { "GIT_OPTIONAL_LOCKS", "0" }, { "GIT_LITERAL_PATHSPECS", "1" },
                                                { "PIP_NO_INPUT", "1" }, { "PIP_DISABLE_PIP_VERSION_CHECK", "1" } };
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0] && e == ERR_OK; i++)
        e = child_env_put(env, variables[i][0], variables[i][1], '\0', err);
    return e;
}

enum err quiet_command(const char *const *argv, const char *folder, const volatile sig_atomic_t *interrupted,
                       char **out, int *status, struct err_detail *err)
{
    char log[PATH_MAX];
    struct child_env env = { .n = 0 };
    const struct child_watch watch = { .look = goes_on, .arg = (void *)&interrupted, .every_ms = LOOK_MS };
    const struct child_setting setting = { .env = &env, .watch = interrupted != NULL ? &watch : NULL, .log = log,
                                           .ends_with_us = true };
    *out = NULL;
    if ((size_t)snprintf(log, sizeof log, "%s/said.txt", folder) >= sizeof log)
        return err_at(err, ERR_IO, 0, folder, "the name is too long");
    (void)unlink(log);                       /* what the last one said; a log is added to */
    enum err e = put_env(&env, err);
    if (e == ERR_OK)
        e = child_run(argv, &setting, status, err);
    child_env_close(&env);
    if (e == ERR_OK && interrupted != NULL && *interrupted != 0)
        e = err_set(err, ERR_INTERRUPTED, 0, "interrupted");
    return e == ERR_OK ? read_whole(log, out, err) : e;
}

void quiet_reason(const char *text, char out[static QUIET_REASON])
{
    const char *line = text;
    size_t n = 0;
    while (*line != '\0') {
        const size_t length = strcspn(line, "\r\n");
        if (strspn(line, " \t") < length && strncmp(line, "WARNING", strlen("WARNING")) != 0) {
            n = length < QUIET_REASON ? length : QUIET_REASON - 1;
            memcpy(out, line, n);
        }
        line += length + (line[length] != '\0');
    }
    out[n] = '\0';
}
