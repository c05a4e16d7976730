/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The program: picks the command, and leaves nothing half-written when it is interrupted. */
#include "replay/program/cli.h"

#include "base/foreign_database.h"
#include "base/read_files.h"
#include "base/shown.h"
#include "report/schema/answer_schema.h"
#include "sim/cards.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* What "--help NAME" is about: everything, a command, else a policy or a load. `plan` is both. */
static enum exit_status help_about(const char *name)
{
    if (strcmp(name, "all") == 0) {
        help_print_all(stdout);
        return cli_finish_stdout(STATUS_DONE);
    }
    const struct subcommand *c = subcommand_find(name);
    if (c == NULL)
        return list_policy(name);
    help_print_command(stdout, c);
    if (policy_find(name) != NULL) {
        printf("\nThere is also a policy of this name, for --policy:\n\n");
        return list_policy(name);
    }
    return cli_finish_stdout(STATUS_DONE);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

static enum exit_status print_completion(const char *shell)
{
    struct err_detail err;
    if (completion_print(stdout, shell))
        return cli_finish_stdout(STATUS_DONE);
    return cli_fail(err_set(&err, ERR_USAGE, 0, "--completion takes bash, zsh or fish, not '%s'", shell), &err);
}

/* Without a name, the names that there are. */
static enum exit_status print_schema(const char *name)
{
    struct err_detail err;
    const struct answer_table *t = name != NULL ? answer_table_find(name) : NULL;
    if (name != NULL && t == NULL)
        return cli_fail(err_set(&err, ERR_USAGE, 0, "--schema '%s': no answer of this name is in `replay --schema`",
                                name), &err);
    if (t != NULL)
        answer_schema_print(stdout, t);
    for (size_t i = 0; name == NULL && (t = answer_table_at(i)) != NULL; i++)
        puts(t->name);
    return cli_finish_stdout(STATUS_DONE);
}

static enum exit_status run(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "--help";
    if (is_help(first)) {
        if (argc > 2)
            return help_about(argv[2]);
        help_print_jobs(stdout);
        return cli_finish_stdout(argc > 1 ? STATUS_DONE : STATUS_USAGE);
    }
    if (strcmp(first, "--version") == 0) {
        version_print();
        return cli_finish_stdout(STATUS_DONE);
    }
    if (strcmp(first, "--man") == 0) {           /* for the build, which installs the page */
        man_page_print(stdout);
        return cli_finish_stdout(STATUS_DONE);
    }
    if (strcmp(first, "--completion") == 0)
        return print_completion(argc > 2 ? argv[2] : "");
    if (strcmp(first, "--schema") == 0)
        return print_schema(argc > 2 ? argv[2] : NULL);
    if (strcmp(first, "--list") == 0)
        return list_everything();
    const struct subcommand *c = subcommand_find(first);
    struct err_detail err;
    if (c == NULL && subcommand_wants_linux(first))
        return cli_fail(err_set(&err, ERR_USAGE, 0, "%s runs a program, which wants Linux; this build of replay runs "
                                "on any system, and reads what programs left", first), &err);
    return c != NULL ? subcommand_run(c, argc - 2, argv + 2) : subcommand_run(&cmd_replay, argc - 1, argv + 1);
}

/* A standard stream that was closed would give its number to the next file that is opened, and a message would land in
 * an output. It stays as good as closed: what stands in for it cannot be used, and no program that we start gets it. */
static void keep_standard_numbers(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

int main(int argc, char **argv)
{
    keep_standard_numbers();
    cli_catch_signals();
    foreign_database_no_pipes();
    if (!shown_clean_streams())
        return (int)cli_fail(ERR_HOST_NOMEM, &(struct err_detail){ .text = "" });
    struct err_detail err;
    const enum err e = cards_add_own(&err);
    const enum exit_status status = e != ERR_OK ? cli_fail(e, &err) : run(argc, argv);
    read_files_close();
    return (int)status;
}
