/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* --help, from the tables of commands, options and exit statuses. No line is wider than HELP_WIDTH. */
#include "replay/program/cli.h"

#include "report/text/text.h"

#include <assert.h>
#include <string.h>

/* Prints text[0, n) broken between words, and ends the line. */
static void print_wrapped(FILE *out, const char *text, size_t n, size_t column, size_t indent)
{
    struct text_lines l = { .out = out, .columns = HELP_WIDTH, .column = column, .indent = indent };
    assert(indent < HELP_WIDTH);
    text_lines_put(&l, text, n);
    fputc('\n', out);
}

/* Paragraphs, one per line; a line that begins with a space is printed as it is. */
static void print_paragraphs(FILE *out, const char *text)
{
    for (const char *line = text; *line != '\0';) {
        const size_t n = strcspn(line, "\n");
        assert(line[0] != ' ' || n <= HELP_WIDTH);
        if (line[0] == ' ')
            fprintf(out, "%.*s\n", (int)n, line);
        else
            print_wrapped(out, line, n, 0, 0);
        line += n + (line[n] == '\n');
    }
}

void help_print_wrapped(FILE *out, const char *text, size_t column, size_t indent)
{
    print_wrapped(out, text, strlen(text), column, indent);
}

void help_print_row(FILE *out, const char *name, size_t column, const char *text)
{
    const size_t n = (size_t)fprintf(out, "  %s", name);
    if (n + 2 > column)
        fprintf(out, "\n%*s", (int)column, "");
    else
        fprintf(out, "%*s", (int)(column - n), "");
    help_print_wrapped(out, text, column, column);
}

static void print_options(FILE *out, const struct flag_use *taken)
{
    enum { COLUMN = 26 };
    for (; taken->id != N_FLAGS; taken++) {
        const char *argument = flag_argument(taken->id);
        const char letter = flag_letter(taken->id);
        char flag[64], short_form[4] = {'-', letter, ',', ' '};
        snprintf(flag, sizeof flag, "%.4s--%s%s%s", letter != '\0' ? short_form : "", flag_name(taken->id),
                 argument != NULL ? " " : "", argument != NULL ? argument : "");
        help_print_row(out, flag, COLUMN, flag_help(taken));
    }
}

static void print_statuses(FILE *out, const struct subcommand *c)
{
    enum { COLUMN = 11 };
    static const struct { int number; const char *meaning; } rows[] = {
#define EXIT_STATUS_ROW(name, number, meaning) {number, meaning},
        EXIT_STATUS_LIST(EXIT_STATUS_ROW)
#undef EXIT_STATUS_ROW
    };
    fprintf(out, "\nExit status:\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char number[16];
        const bool is_failed = rows[i].number == STATUS_FAILED && c != NULL;
        snprintf(number, sizeof number, "%d", rows[i].number);
        const bool is_open = rows[i].number == STATUS_OPEN && c != NULL;
        const bool is_part = rows[i].number == STATUS_PART && c != NULL;
        if ((!is_failed || c->failed != NULL) && (!is_open || c->may_be_open) && (!is_part || c->may_leave_out))
            help_print_row(out, number, COLUMN, is_failed ? c->failed : rows[i].meaning);
    }
    help_print_row(out, "128 + N", COLUMN, "ended by signal N");
    if (c != NULL && c->status_note != NULL)
        help_print_wrapped(out, c->status_note, 0, 0);
}

void help_print_command(FILE *out, const struct subcommand *c)
{
    fprintf(out, "replay %s\n\n", c->synopsis);
    help_print_wrapped(out, c->summary, 0, 0);
    fputc('\n', out);
    print_options(out, c->flags);
    if (c->text != NULL) {
        fputc('\n', out);
        print_paragraphs(out, c->text);
    }
    print_statuses(out, c);
}

static void print_commands(FILE *out)
{
    enum { COLUMN = 32, SYNOPSIS_MAX = 64 };
    const struct command_entry *entry;
    for (size_t i = 0; (entry = command_entry_at(i)) != NULL; i++) {
        char synopsis[SYNOPSIS_MAX];
        if (entry->group != NULL) {
            fprintf(out, "\n%s:\n", entry->group);
            continue;
        }
        snprintf(synopsis, sizeof synopsis, "replay %s", entry->command->synopsis);
        help_print_row(out, synopsis, COLUMN, entry->command->summary);
    }
    fprintf(out, "\nHelp:\n");
    help_print_row(out, "replay --list", COLUMN, "list policies, presets, cards, formats and generators");
    help_print_row(out, "replay --help POLICY", COLUMN, "list a policy's options");
    help_print_row(out, "replay --completion SHELL", COLUMN, "print what bash, zsh or fish completes a line by");
    help_print_row(out, "replay --schema [NAME]", COLUMN, "print what an answer in JSON holds, as JSON Schema");
    help_print_row(out, "replay --help", COLUMN, "the four questions that most people come with");
    help_print_row(out, "replay COMMAND --help", COLUMN, "describe a command and its options");
    help_print_row(out, "replay --version", COLUMN, "print the version, and what it was built with");
}

const char jobs_recording[] =
    "A recording is PyTorch's own snapshot, written by torch.cuda.memory._dump_snapshot() after "
    "torch.cuda.memory._record_memory_history(), or the file that replay record writes on a real card, without a "
    "change to the program.";

static void print_jobs(FILE *out)
{
    enum { COLUMN = 41 };
#define PRINT_JOB(question, command, takes)         \
    help_print_row(out, question, COLUMN, takes);   \
    fprintf(out, "      %s\n", command);
    JOB_LIST(PRINT_JOB)
#undef PRINT_JOB
}

void help_print_jobs(FILE *out)
{
    enum { COLUMN = 26 };
    fprintf(out, "replay: why did a program run out of GPU memory, and what would have helped?\n\n");
    print_jobs(out);
    fputc('\n', out);
    print_paragraphs(out, jobs_recording);
    fputc('\n', out);
    help_print_row(out, "replay FILE", COLUMN, "the recording under four policies, side by side");
    help_print_row(out, "replay COMMAND --help", COLUMN, "what a command does, and its options");
    help_print_row(out, "replay --help all", COLUMN, "all commands");
    help_print_row(out, "replay --list", COLUMN, "the cards, settings and formats that it knows");
}

void help_print_all(FILE *out)
{
    fprintf(out, "replay: what would another allocator have done with this program's GPU memory?\n\n");
    print_jobs(out);
    fputc('\n', out);
    print_paragraphs(out, jobs_recording);
    print_commands(out);
    fprintf(out, "\nOptions of replay FILE:\n");
    print_options(out, cmd_replay.flags);
    fputc('\n', out);
    print_paragraphs(out, cmd_replay.text);
    print_statuses(out, NULL);
}
