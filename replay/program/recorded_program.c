/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What the options say of a program that is recorded. */
#include "replay/program/recorded_program.h"

#include "replay/program/cli.h"
#include "replay/program/output_names.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder that is missing is said before the program runs, which may take hours; so is a name that no trace can
 * have. */
static enum err check_place(const char *name, struct err_detail *err)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(name, '/');
    struct stat st;
    if (!output_name_is_of_file(name) || (stat(name, &st) == 0 && !S_ISREG(st.st_mode)))
        return err_set(err, ERR_USAGE, 0, "-o '%s': does not name a regular file", name);
    const int n = slash == NULL ? 1 : (int)(slash - name) + 1;
    if ((size_t)snprintf(folder, sizeof folder, "%.*s", n, slash == NULL ? "." : name) >= sizeof folder)
        return err_at(err, ERR_USAGE, 0, name, "the name is too long");
    if (access(name, W_OK) == 0 || access(folder, W_OK | X_OK) == 0)
        return ERR_OK;
    return err_at(err, ERR_IO, 0, name, "cannot be written: %s", strerror(errno));
}

enum err recorded_program_out(const struct options *o, const char *command, const char **out, struct err_detail *err)
{
    const char *record = o->texts[FLAG_RECORD];
    if (o->out != NULL && record != NULL)
        return err_set(err, ERR_USAGE, 0, "-o and --record mean the same: give one of them");
    const char *name = o->out != NULL ? o->out : record;
    if (name != NULL && strcmp(name, "-") == 0)
        return err_set(err, ERR_USAGE, 0, "%s writes files, not standard output, which is the program's: -o OUT",
                       command);
    *out = name;
    const enum err e = name == NULL ? ERR_OK : check_place(name, err);
    return e == ERR_OK && name != NULL ? output_names_check_recording(o, name, false, err) : e;
}

void recorded_program_outlast_pipes(void)
{
    signal(SIGPIPE, SIG_IGN);
}

enum err recorded_program_put_env(const struct options *o, struct child_env *env, struct err_detail *err)
{
    return o->is_given[FLAG_COMMAND_LINE] ? child_env_put(env, "REPLAY_RECORD_COMMAND_LINE", "1", '\0', err) : ERR_OK;
}

bool recorded_program_wants_card(const struct options *o)
{
    return o->device != NULL || o->texts[FLAG_SIMULATE] != NULL;
}

enum err recorded_program_card(const struct options *o, const char *command, struct sim_card_request *out,
                               struct err_detail *err)
{
    const char *simulate = o->texts[FLAG_SIMULATE];
    if (o->device != NULL && simulate != NULL)
        return err_set(err, ERR_USAGE, 0, "--device and --simulate mean the same: give one of them");
    *out = (struct sim_card_request){ .command = command, .program = o->inputs[0],
                                      .device = simulate != NULL ? simulate : o->device,
                                      .torch_libs = o->texts[FLAG_TORCH_LIBS], .libraries = o->texts[FLAG_LIBRARIES],
                                      .values = o->texts[FLAG_VALUES],
                                      .is_recorded = o->out != NULL || o->texts[FLAG_RECORD] != NULL };
    return ERR_OK;
}

enum exit_status recorded_program_status(const struct recording_made *made, int status)
{
    struct err_detail err;
    const enum err e = recording_check(made, &err);
    return e != ERR_OK ? cli_fail(e, &err) : (enum exit_status)status;
}
