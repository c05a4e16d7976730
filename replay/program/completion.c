/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay --completion SHELL`: what bash, zsh or fish need to complete a command line, from the tables of --help. */
#include "replay/program/cli.h"

#include <string.h>

/* The i-th command, those without a name left out; NULL after the last. */
static const struct subcommand *named_command_at(size_t i)
{
    const struct command_entry *entry;
    for (size_t at = 0; (entry = command_entry_at(at)) != NULL; at++)
        if (entry->command != NULL && entry->command->name != NULL && i-- == 0)
            return entry->command;
    return NULL;
}

/* Text inside single quotes of the shell. A letter of `escaped` gets a backslash before it. */
static void put_quoted(FILE *out, const char *text, const char *escaped)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fputs("'\\''", out);
            continue;
        }
        if (strchr(escaped, *text) != NULL)
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void put_names(FILE *out)
{
    const struct subcommand *c;
    for (size_t i = 0; (c = named_command_at(i)) != NULL; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", c->name);
}

/* What may stand after an option, if it takes only some words. */
static void put_words(FILE *out, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", words[i]);
}

/* ---- bash ---- */

/* By option, not by command: those that share a name take the same words. */
static void bash_words(FILE *out)
{
    fputs("    case ${COMP_WORDS[COMP_CWORD - 1]} in\n", out);
    for (enum flag_id id = 0; id < N_FLAGS; id++) {
        if (flag_words(id) == NULL)
            continue;
        fprintf(out, "    --%s) mapfile -t COMPREPLY < <(compgen -W '", flag_name(id));
        put_words(out, flag_words(id));
        fputs("' -- \"$current\"); return ;;\n", out);
    }
    fputs("    esac\n", out);
}

static void bash_options(FILE *out, const struct flag_use *taken)
{
    fputs("options='", out);
    for (; taken->id != N_FLAGS; taken++)
        fprintf(out, "--%s ", flag_name(taken->id));
    fputs("' ;;\n", out);
}

static void print_bash(FILE *out)
{
    const struct subcommand *c;
    fputs("_replay() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} options commands='", out);
    put_names(out);
    fputs("'\n    COMPREPLY=()\n    case ${COMP_WORDS[1]} in\n", out);
    for (size_t i = 0; (c = named_command_at(i)) != NULL; i++) {
        fprintf(out, "    %s) ", c->name);
        bash_options(out, c->flags);
    }
    fputs("    *) ", out);
    bash_options(out, cmd_replay.flags);
    fputs("    esac\n", out);
    bash_words(out);
    fputs("    if [[ $current == -* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
          "    elif ((COMP_CWORD == 1)); then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$current\"; compgen -f -- \"$current\")\n"
          "    fi\n"
          "}\n"
          "complete -o bashdefault -o default -F _replay replay\n", out);
}

/* ---- zsh ---- */

static void zsh_options(FILE *out, const struct flag_use *taken)
{
    fputs("_arguments -s", out);
    for (; taken->id != N_FLAGS; taken++) {
        fprintf(out, " \\\n        '*--%s[", flag_name(taken->id));
        put_quoted(out, flag_help(taken), "[]:\\");
        fputc(']', out);
        if (flag_words(taken->id) != NULL) {
            fprintf(out, ":%s:(", flag_argument(taken->id));
            put_words(out, flag_words(taken->id));
            fputc(')', out);
        } else if (flag_argument(taken->id) != NULL) {
            fprintf(out, ":%s:_files", flag_argument(taken->id));
        }
        fputc('\'', out);
    }
    fputs(" \\\n        '*:file:_files' ;;\n", out);
}

static void print_zsh(FILE *out)
{
    const struct subcommand *c;
    fputs("#compdef replay\n_replay() {\n    local -a commands=(", out);
    for (size_t i = 0; (c = named_command_at(i)) != NULL; i++) {
        fprintf(out, "\n        '%s:", c->name);
        put_quoted(out, c->summary, ":\\");
        fputc('\'', out);
    }
    fputs("\n    )\n"
          "    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
          "        _describe command commands\n        _files\n        return\n    fi\n"
          "    local command=$words[2]\n    case $command in\n", out);
    for (size_t i = 0; (c = named_command_at(i)) != NULL; i++) {
        fprintf(out, "    %s) shift words; ((CURRENT--)); ", c->name);
        zsh_options(out, c->flags);
    }
    fputs("    *) ", out);
    zsh_options(out, cmd_replay.flags);
    fputs("    esac\n}\n_replay \"$@\"\n", out);
}

/* ---- fish ---- */

/* Options that are offered where the condition holds: a test of fish's, and what it tests for. */
static void fish_options(FILE *out, const char *condition, const char *of, const struct flag_use *taken)
{
    for (; taken->id != N_FLAGS; taken++) {
        fprintf(out, "complete -c replay -n \"%s%s\" -l %s%s -d '", condition, of, flag_name(taken->id),
                flag_argument(taken->id) != NULL ? " -r" : "");
        put_quoted(out, flag_help(taken), "\\");
        fputc('\'', out);
        if (flag_words(taken->id) != NULL) {
            fputs(" -f -a '", out);
            put_words(out, flag_words(taken->id));
            fputc('\'', out);
        }
        fputc('\n', out);
    }
}

static void print_fish(FILE *out)
{
    const struct subcommand *c;
    fputs("set -l commands ", out);
    put_names(out);
    fputc('\n', out);
    for (size_t i = 0; (c = named_command_at(i)) != NULL; i++) {
        fprintf(out, "complete -c replay -n '__fish_is_first_token' -a %s -d '", c->name);
        put_quoted(out, c->summary, "\\");
        fputs("'\n", out);
        fish_options(out, "__fish_seen_subcommand_from ", c->name, c->flags);
    }
    fish_options(out, "not __fish_seen_subcommand_from ", "$commands", cmd_replay.flags);
}

bool completion_print(FILE *out, const char *shell)
{
    static const struct { const char *name; void (*print)(FILE *out); } shells[] = {
        {"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish},
    };
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(shell, shells[i].name) == 0) {
            if (shells[i].print != print_zsh)        /* zsh wants its own line first */
                fputs("# Printed by `replay --completion`.\n", out);
            shells[i].print(out);
            return true;
        }
    return false;
}
