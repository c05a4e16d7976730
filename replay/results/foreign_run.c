/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The one place that decides what a results file may name. */
#include "replay/results/foreign_run.h"

#include "policies/spec.h"
#include "sim/device.h"

#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

/* A named pipe would block, and a device may do anything when it is opened. The files of /proc claim to be regular, may
 * block as well, and are all empty by their size; an empty trace is useless anyway. "-" would be standard input. */
static bool is_plain_file(const char *path)
{
    struct stat status;
    return strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
}

/* Parsing opens nothing. A text that is no device at all is refused later, by the command. */
static bool names_real_card(const char *device)
{
    struct device_config config;
    bool is_real = false, has_total;
    const enum err ignored = device_parse_any(device, &config, &is_real, &has_total, NULL);
    return ignored == ERR_OK ? is_real : is_real || strncmp(device, "cuda", strlen("cuda")) == 0;
}

/* A plan is read when the policy is made. A text that cannot be read as a policy is refused later, by the command, and
 * in the same words: whoever parses it again comes as far. */
static enum err check_policy(const char *policy, struct err_detail *err)
{
    struct policy_spec spec;
    const enum err e = policy_spec_parse_foreign(policy, &spec, NULL);
    if (e == ERR_UNSUPPORTED)
        return err_set(err, ERR_UNSUPPORTED, 0, "its policy '%s' lies in a file of its own; code is loaded only if the "
                       "command line names it", policy);
    if (e != ERR_OK)
        return e == ERR_HOST_NOMEM ? err_set(err, e, 0, "the host is out of memory") : ERR_OK;
    const bool are_plain = policy_spec_files_are(&spec, is_plain_file);
    policy_spec_close(&spec);
    return are_plain ? ERR_OK : err_set(err, ERR_INPUT, 0, "the file that its policy '%s' names is not there", policy);
}

enum err foreign_run_check(const char *policy, const char *device, const char *trace_path, struct err_detail *err)
{
    const enum err e = policy != NULL ? check_policy(policy, err) : ERR_OK;
    if (e != ERR_OK)
        return e;
    if (device != NULL && names_real_card(device))
        return err_set(err, ERR_UNSUPPORTED, 0, "its device '%s' is a real card, which only the command line may name",
                       device);
    if (trace_path != NULL && !is_plain_file(trace_path))
        return err_set(err, ERR_INPUT, 0, "the trace %s is not there", trace_path);
    return ERR_OK;
}
