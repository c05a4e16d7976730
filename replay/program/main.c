/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The program: picks the command, reads its options, and leaves nothing half-written when it is interrupted. */
#include "replay/program/cli.h"

#include "base/shown.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t deferred_signal, is_deferring;

const volatile sig_atomic_t *cli_defer_signals(void)
{
    is_deferring = 1;
    return &deferred_signal;
}

/* Removes the temporary files; the status is the one that a shell gives to a program that the signal ended. */
static void on_signal(int number)
{
    if (is_deferring != 0 && deferred_signal == 0 && number != SIGPIPE) {
        deferred_signal = number;
        return;
    }
    output_remove_temporaries();
    _exit(128 + number);
}

static void catch_signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

/* What "--help NAME" is about: a command, else a policy. */
static enum exit_status help_about(const char *name)
{
    const struct subcommand *c = subcommand_find(name);
    if (c == NULL)
        return list_policy(name);
    help_print_command(stdout, c);
    return cli_finish_stdout(STATUS_DONE);
}

/* A file that is not there, or one too many, may be a command that was mistyped: `replay inof trace`. */
static enum err check_inputs(const struct subcommand *c, const struct options *o, struct err_detail *why)
{
    assert(c->n_inputs_min <= c->n_inputs_max);
    if (o->n_inputs < c->n_inputs_min && !o->calibrate)
        return err_set(why, ERR_USAGE, 0, "a file is missing: replay %s (see replay --help)", c->synopsis);
    const bool is_too_many = o->n_inputs > c->n_inputs_max;
    const bool is_missing = c->name == NULL && o->n_inputs == 1 && access(o->inputs[0], F_OK) != 0;
    const struct subcommand *meant = c->name == NULL && (is_too_many || is_missing) ? subcommand_nearest(o->inputs[0])
                                                                                   : NULL;
    if (meant != NULL)
        return err_set(why, ERR_USAGE, 0, "'%.60s' is neither a command nor a file; did you mean '%s'?", o->inputs[0],
                       meant->name);
    if (!is_too_many)
        return ERR_OK;
    return err_set(why, ERR_USAGE, 0, "one name too many, '%.60s': replay %s", o->inputs[c->n_inputs_max], c->synopsis);
}

static enum exit_status run_command(const struct subcommand *c, int argc, char **argv)
{
    struct options o;
    struct err_detail why = { .text = "" };
    enum err e = options_parse(argc, argv, c->flags, &o, &why);
    if (e != ERR_OK)
        return cli_fail(e, &why);
    enum exit_status status = STATUS_DONE;
    if (o.is_given[FLAG_HELP]) {
        help_print_command(stdout, c);
        status = cli_finish_stdout(STATUS_DONE);
    } else if ((e = check_inputs(c, &o, &why)) != ERR_OK) {
        status = cli_fail(e, &why);
    } else {
        status = c->run(&o);
    }
    options_close(&o);
    return status;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

static enum exit_status run(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "--help";
    if (is_help(first)) {
        if (argc > 2)
            return help_about(argv[2]);
        help_print_all(stdout);
        return cli_finish_stdout(argc > 1 ? STATUS_DONE : STATUS_USAGE);
    }
    if (strcmp(first, "--version") == 0) {
        printf("replay %s\n", REPLAY_VERSION);
        return cli_finish_stdout(STATUS_DONE);
    }
    if (strcmp(first, "--man") == 0) {           /* for the build, which installs the page */
        man_page_print(stdout);
        return cli_finish_stdout(STATUS_DONE);
    }
    if (strcmp(first, "--completion") == 0 && argc > 2 && completion_print(stdout, argv[2]))      /* likewise */
        return cli_finish_stdout(STATUS_DONE);
    if (strcmp(first, "--list") == 0)
        return list_everything();
    const struct subcommand *c = subcommand_find(first);
    return c != NULL ? run_command(c, argc - 2, argv + 2) : run_command(&cmd_replay, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    catch_signals();
    if (!shown_clean_streams())
        return (int)cli_fail(ERR_HOST_NOMEM, &(struct err_detail){ .text = "" });
    return (int)run(argc, argv);
}
