/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay --man`: the manual page, in roff's man macros, from the tables that --help prints. */
#include "replay/program/cli.h"

#include <string.h>

/* X(name, meaning) */
#define MAN_FILES(X)                                                                                              \
    X("NAME.ini", "A job file of replay sweep: one option per line, \"policy = best-fit\", and \"trace = FILE\".")  \
    X("DB, DB-wal, DB-shm", "The results of replay sweep, a SQLite database. The two other files exist while the "  \
      "database is open.")                                                                                        \
    X("OUT.calls/", "The journals of replay record, one for each process. The folder is removed when the traces are " \
      "written; after a crash replay import reads a journal.")                                                    \
    X("~/.cache/replay/", "Stand-ins for CUDA libraries that replay run-sim makes once and uses again.")

#define MAN_ENVIRONMENT(X)                                                                                        \
    X("TMPDIR", "Where replay run-sim and replay predict keep what they need while the program runs. Default: "   \
      "/tmp.")                                                                                                    \
    X("REPLAY_CARDS", "A file with cards that are not in the program: see sim/cards.csv in the source for its form.") \
    X("XDG_CACHE_HOME", "The folder that is used instead of ~/.cache.")                                           \
    X("LD_PRELOAD, LD_LIBRARY_PATH, PYTHONPATH", "Are extended by replay record and replay run-sim for the program " \
      "that they run.")

/* One letter so that roff prints it as it is, wherever it stands. */
static void put_letter(FILE *out, char c)
{
    switch (c) {
    case '\\': fputs("\\e", out); break;
    case '-':  fputs("\\-", out); break;
    case '\'': fputs("\\(aq", out); break;
    case '"':  fputs("\\(dq", out); break;
    case '`':  fputs("\\(ga", out); break;
    case '^':  fputs("\\(ha", out); break;
    case '~':  fputs("\\(ti", out); break;
    default:   fputc(c, out); break;
    }
}

static void put_text(FILE *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_letter(out, text[i]);
}

/* A line of text; roff would read a full stop at its beginning as a request. */
static void put_line(FILE *out, const char *text, size_t n)
{
    if (n > 0 && text[0] == '.')
        fputs("\\&", out);
    put_text(out, text, n);
    fputc('\n', out);
}

static void put_string(FILE *out, const char *text)
{
    put_line(out, text, strlen(text));
}

/* A term and its meaning. */
static void put_item(FILE *out, const char *term, const char *meaning)
{
    fputs(".TP\n.B ", out);
    put_string(out, term);
    put_string(out, meaning);
}

/* The paragraphs of a command's text; lines that begin with a space are examples and keep their form. */
static void put_paragraphs(FILE *out, const char *text)
{
    bool is_example = false;
    for (const char *line = text; *line != '\0';) {
        const size_t n = strcspn(line, "\n");
        if (n > 0 && (line[0] == ' ') != is_example) {
            is_example = !is_example;
            fputs(is_example ? ".PP\n.EX\n" : ".EE\n", out);
        }
        if (n > 0 && !is_example)
            fputs(".PP\n", out);
        if (n > 0)
            put_line(out, line, n);
        line += n + (line[n] == '\n');
    }
    if (is_example)
        fputs(".EE\n", out);
}

static void put_options(FILE *out, const struct flag_use *taken)
{
    for (; taken->id != N_FLAGS; taken++) {
        const char letter = flag_letter(taken->id), *argument = flag_argument(taken->id);
        fputs(".TP\n", out);
        if (letter != '\0')
            fprintf(out, "\\fB\\-%c\\fR, ", letter);
        fputs("\\fB\\-\\-", out);
        put_text(out, flag_name(taken->id), strlen(flag_name(taken->id)));
        fputs("\\fR", out);
        if (argument != NULL) {
            fputs(" \\fI", out);
            put_text(out, argument, strlen(argument));
            fputs("\\fR", out);
        }
        fputc('\n', out);
        put_string(out, flag_help(taken));
    }
}

/* "sweep TRACE... -o DB" as a heading. */
static void put_command(FILE *out, const struct subcommand *c)
{
    fputs(".SS \"replay ", out);
    put_text(out, c->synopsis, strlen(c->synopsis));
    fputs("\"\n", out);
    put_text(out, c->summary, strlen(c->summary));
    fputs(".\n", out);
    if (c->text != NULL)
        put_paragraphs(out, c->text);
    if (c->failed != NULL) {
        fputs(".PP\nExit status 1: ", out);
        put_text(out, c->failed, strlen(c->failed));
        fputs(".\n", out);
    }
    if (c->status_note != NULL)
        put_paragraphs(out, c->status_note);
    put_options(out, c->flags);
}

static void put_commands(FILE *out)
{
    const struct command_entry *entry;
    for (size_t i = 0; (entry = command_entry_at(i)) != NULL; i++) {
        if (entry->group != NULL) {
            fputs(".SH ", out);
            put_string(out, entry->group);
        } else {
            put_command(out, entry->command);
        }
    }
}

static void put_statuses(FILE *out)
{
    fputs(".SH EXIT STATUS\n", out);
#define EXIT_STATUS_ITEM(name, number, meaning) put_item(out, #number, meaning);
    EXIT_STATUS_LIST(EXIT_STATUS_ITEM)
#undef EXIT_STATUS_ITEM
    put_item(out, "128 + N", "ended by signal N");
}

static void put_introduction(FILE *out)
{
    fputs(".TH REPLAY 1 \"\" \"replay " REPLAY_VERSION "\" \"User Commands\"\n"
          ".SH NAME\n"
          "replay \\- replay recorded GPU memory traces through allocator policies\n"
          ".SH SYNOPSIS\n"
          ".B replay\n.I FILE\n[\\fIoptions\\fR]\n.br\n"
          ".B replay\n.I COMMAND\n[\\fIarguments\\fR] [\\fIoptions\\fR]\n.br\n"
          ".B replay \\-\\-list\n.br\n"
          ".B replay \\-\\-help\n[\\fBall\\fR|\\fICOMMAND\\fR|\\fIPOLICY\\fR]\n.br\n"
          ".B replay \\-\\-version\n"
          ".SH DESCRIPTION\n", out);
#define MAN_JOB(question, command, takes) "  " question " (" takes ")\n    " command "\n"
    put_paragraphs(out, "replay takes the allocations and frees that a program made on a GPU and repeats them under "
                        "other settings of PyTorch's allocator, under other allocators, and on other cards. "
                        "No GPU is needed.\n"
                        "People come with four questions:\n"
                        JOB_LIST(MAN_JOB));
#undef MAN_JOB
    put_paragraphs(out, jobs_recording);
}

void man_page_print(FILE *out)
{
    put_introduction(out);
    put_commands(out);
    put_statuses(out);
    fputs(".SH PRIVACY\n", out);
    put_paragraphs(out, "There is no telemetry of any kind. replay sends nothing anywhere and opens no network "
                        "connection. What record, run-sim and predict run is your own program, "
                        "and does what it does.\n");
    fputs(".SH FILES\n", out);
#define MAN_ITEM(name, meaning) put_item(out, name, meaning);
    MAN_FILES(MAN_ITEM)
    fputs(".SH ENVIRONMENT\n", out);
    MAN_ENVIRONMENT(MAN_ITEM)
#undef MAN_ITEM
}
