/* The program: picks the command, reads its options, leaves nothing half-written when it is interrupted. */
#include "replay/program/cli.h"

#include "base/nearest.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static const struct subcommand *const subcommands[] = {
#define COMMAND(name) &cmd_##name,
#include "replay/program/commands.def"
#undef COMMAND
};

enum { N_SUBCOMMANDS = sizeof subcommands / sizeof subcommands[0] };

static volatile sig_atomic_t deferred_signal, is_deferring;

const volatile sig_atomic_t *cli_defer_signals(void)
{
    is_deferring = 1;
    return &deferred_signal;
}

/* Temporary files go; the status is the one that a shell gives to a program that the signal ended. */
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

static void print_help(void)
{
    printf("replay: what would another allocator have done with this program's GPU memory?\n\n");
    for (size_t i = 0; i < N_SUBCOMMANDS; i++)
        printf("  replay %-28s %s\n", subcommands[i]->synopsis, subcommands[i]->summary);
    printf("  replay %-28s %s\n", "--list", "list policies, presets, cards, formats and generators");
    printf("  replay %-28s %s\n", "--help POLICY", "list a policy's options");
    printf("  replay %-28s %s\n\n", "COMMAND --help", "describe a command");
    printf("Options of a replay:\n");
    options_print(stdout, cmd_replay.taken);
    printf("\n%s", cmd_replay.text);
}

static void print_command_help(const struct subcommand *c)
{
    printf("replay %s\n\n%s\n\n", c->synopsis, c->summary);
    options_print(stdout, c->taken);
    if (c->text[0] != '\0')
        printf("\n%s", c->text);
}

static const struct subcommand *subcommand_find(const char *name)
{
    for (size_t i = 0; i < N_SUBCOMMANDS; i++)
        if (subcommands[i]->name != NULL && strcmp(subcommands[i]->name, name) == 0)
            return subcommands[i];
    return NULL;
}

/* What "--help NAME" is about: a command, else a policy. */
static enum exit_status help_about(const char *name)
{
    const struct subcommand *c = subcommand_find(name);
    if (c == NULL)
        return list_policy(name);
    print_command_help(c);
    return cli_finish_stdout(STATUS_DONE);
}

/* A missing file that looks like a mistyped command gets a hint; err_detail holds the whole sentence. */
static enum err check_inputs(const struct subcommand *c, const struct options *o, struct err_detail *why)
{
    if (o->n_inputs < c->n_inputs_min && !o->calibrate)
        return err_set(why, ERR_USAGE, 0, "a file is missing: replay %s (see replay --help)", c->synopsis);
    if (o->n_inputs <= c->n_inputs_max)
        return ERR_OK;
    struct nearest nearest = { .typed = o->inputs[0], .n_typed = strlen(o->inputs[0]) };
    for (size_t i = 0; i < N_SUBCOMMANDS; i++)
        if (subcommands[i]->name != NULL)
            nearest_offer(&nearest, subcommands[i]->name, strlen(subcommands[i]->name));
    if (c->name == NULL && nearest.distance <= 2)
        return err_set(why, ERR_USAGE, 0, "unknown command '%.60s'; did you mean '%s'?", o->inputs[0], nearest.name);
    return err_set(why, ERR_USAGE, 0, "one name too many, '%.60s': replay %s", o->inputs[c->n_inputs_max], c->synopsis);
}

static enum exit_status run_command(const struct subcommand *c, int argc, char **argv)
{
    struct options o;
    struct err_detail why = { .text = "" };
    enum err e = options_parse(argc, argv, c->taken, &o, &why);
    if (e != ERR_OK)
        return cli_fail(e, &why);
    enum exit_status status = STATUS_DONE;
    if ((o.given & OPTION_BIT(HELP)) != 0) {
        print_command_help(c);
        status = cli_finish_stdout(STATUS_DONE);
    } else if ((e = check_inputs(c, &o, &why)) != ERR_OK) {
        status = cli_fail(e, &why);
    } else {
        status = c->run(&o);
    }
    options_close(&o);
    return status;
}

static enum exit_status run(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "--help";
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0) {
        if (argc > 2)
            return help_about(argv[2]);
        print_help();
        return cli_finish_stdout(argc > 1 ? STATUS_DONE : STATUS_USAGE);
    }
    if (strcmp(first, "--version") == 0) {
        printf("replay %s\n", REPLAY_VERSION);
        return cli_finish_stdout(STATUS_DONE);
    }
    if (strcmp(first, "--list") == 0)
        return list_everything();
    const struct subcommand *c = subcommand_find(first);
    return c != NULL ? run_command(c, argc - 2, argv + 2) : run_command(&cmd_replay, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    catch_signals();
    return (int)run(argc, argv);
}
