/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The table of commands, and how one is run. */
#include "replay/program/cli.h"

#include "base/nearest.h"
#include "replay/program/output_names.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

static const struct command_entry command_table[] = {
#define GROUP(title) {.group = title},
#define COMMAND(name) {.command = &cmd_##name},
#include "replay/program/commands.def"
#undef COMMAND
#undef GROUP
};

enum { N_ENTRIES = sizeof command_table / sizeof command_table[0], SLIPS_MAX = 2 };

const struct command_entry *command_entry_at(size_t i)
{
    assert(i >= N_ENTRIES || (command_table[i].group == NULL) != (command_table[i].command == NULL));
    return i < N_ENTRIES ? &command_table[i] : NULL;
}

const struct subcommand *subcommand_find(const char *name)
{
    for (size_t i = 0; i < N_ENTRIES; i++) {
        const struct subcommand *c = command_table[i].command;
        if (c != NULL && c->name != NULL && strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

bool subcommand_wants_linux(const char *name)
{
    static const char *const commands[] = { "predict", "serve", "bisect", "record", "run-sim" };
    bool is_one = false;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        is_one = is_one || strcmp(commands[i], name) == 0;
    return is_one && subcommand_find(name) == NULL;
}

const struct subcommand *subcommand_nearest(const char *typed)
{
    struct nearest nearest = {.typed = typed, .n_typed = strlen(typed)};
    for (size_t i = 0; i < N_ENTRIES; i++) {
        const struct subcommand *c = command_table[i].command;
        if (c != NULL && c->name != NULL)
            nearest_offer(&nearest, c->name, strlen(c->name));
    }
    return nearest.distance <= SLIPS_MAX ? subcommand_find(nearest.name) : NULL;
}

/* What a command takes, by the word of its synopsis. */
static const char *missing_word(const struct subcommand *c)
{
    static const struct { const char *in_synopsis, *word; } kinds[] = {
        { " -- ", "the program" }, { "POLICY", "a policy" }, { "LOAD", "a load" }, { "TEXT", "a text" } };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strstr(c->synopsis, kinds[i].in_synopsis) != NULL)
            return kinds[i].word;
    return "a file";
}

/* A file that is not there, or one too many, may be a command that was mistyped: `replay inof trace`. */
static enum err check_inputs(const struct subcommand *c, const struct options *o, struct err_detail *err)
{
    assert(c->n_inputs_min <= c->n_inputs_max);
    if (o->n_inputs < c->n_inputs_min && !o->calibrate && o->share == NULL)
        return err_set(err, ERR_USAGE, 0, "%s is missing: replay %s (see replay --help)", missing_word(c), c->synopsis);
    const bool is_too_many = o->n_inputs > c->n_inputs_max;
    const bool is_missing = c->name == NULL && o->n_inputs == 1 && access(o->inputs[0], F_OK) != 0;
    const struct subcommand *meant = c->name == NULL && (is_too_many || is_missing) ? subcommand_nearest(o->inputs[0])
                                                                                   : NULL;
    if (meant != NULL)
        return err_set(err, ERR_USAGE, 0, "'%s' is neither a command nor a file; did you mean '%s'?", o->inputs[0],
                       meant->name);
    if (!is_too_many)
        return ERR_OK;
    return err_set(err, ERR_USAGE, 0, "one name too many, '%s': replay %s", o->inputs[c->n_inputs_max], c->synopsis);
}

/* Whether a command runs a program, and the "--" that belongs before it was not typed. */
static bool lacks_dashes(const struct subcommand *c, int argc, char **argv)
{
    bool has_dashes = strstr(c->synopsis, "PROGRAM") == NULL;
    for (int i = 0; i < argc; i++)
        has_dashes = has_dashes || strcmp(argv[i], "--") == 0;
    return !has_dashes;
}

static enum exit_status answer(const struct subcommand *c, const struct options *o)
{
    const struct answer_ops *instead = c->instead != NULL ? c->instead(o) : NULL;
    return answer_run(instead != NULL ? instead : &c->answer, o);
}

enum exit_status subcommand_run(const struct subcommand *c, int argc, char **argv)
{
    struct options o;
    struct err_detail err = { .text = "" };
    enum err e = options_parse(argc, argv, c->flags, &o, &err);
    if (e == ERR_USAGE && lacks_dashes(c, argc, argv)) {
        const struct err_detail said = err;
        e = err_set(&err, e, 0, "%s. A program and its options come after --: replay %s", said.text, c->synopsis);
    }
    if (e != ERR_OK)
        return cli_fail(e, &err);
    enum exit_status status = STATUS_DONE;
    if (o.is_given[FLAG_HELP]) {
        help_print_command(stdout, c);
        status = cli_finish_stdout(STATUS_DONE);
    } else if ((e = check_inputs(c, &o, &err)) != ERR_OK || (e = output_names_check(&o, &err)) != ERR_OK) {
        status = cli_fail(e, &err);
    } else {
        status = answer(c, &o);
    }
    options_close(&o);
    return status;
}
