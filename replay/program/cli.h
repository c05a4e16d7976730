/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the commands share: the table of commands, errors on stderr, progress, and how files are opened.
 */
#ifndef REPLAY_REPLAY_PROGRAM_CLI_H
#define REPLAY_REPLAY_PROGRAM_CLI_H

#include "base/err.h"
#include "base/exit_status.h"
#include "base/output.h"
#include "base/progress.h"
#include "replay/program/answering.h"
#include "replay/program/options.h"

/* One command. Its --help and its part of the manual page are made from this. In `summary`, `text` and `failed` the
 * printer breaks the lines; a line of `text` that begins with a space is an example and is printed as it is. */
struct subcommand {
    const char *name;                /* NULL: runs if no command is named */
    const char *synopsis;            /* "import FILE -o OUT" */
    const char *summary;             /* one sentence without a full stop */
    const char *text;                /* further paragraphs, one per line; NULL for none */
    const char *failed;              /* what exit status 1 means here; NULL: it does not occur */
    bool        may_be_open;         /* exit status 4 occurs */
    bool        may_leave_out;           /* it may leave out some of its inputs: STATUS_PART */
    const char *status_note;         /* a further sentence on exit statuses; NULL for none */
    const struct flag_use *flags;    /* the options it takes */
    size_t      n_inputs_min, n_inputs_max;
    struct answer_ops answer;        /* how it answers */
    /* Another answer, if the options ask for one; NULL, or returns NULL: there is none. */
    const struct answer_ops *(*instead)(const struct options *o);
};

#define GROUP(title)
#define COMMAND(name) extern const struct subcommand cmd_##name;
#include "replay/program/commands.def"
#undef COMMAND
#undef GROUP

/* A line of commands.def: a group's title, or a command. Exactly one of the two is set. */
struct command_entry {
    const char *group;
    const struct subcommand *command;
};

/* The i-th line of commands.def; NULL after the last. */
const struct command_entry *command_entry_at(size_t i);

/* The command of this name, which is as typed; NULL if there is none. */
const struct subcommand *subcommand_find(const char *name);

/* The command whose name is nearest to what was typed, NULL if none is within two letters. */
const struct subcommand *subcommand_nearest(const char *typed);

/* Whether this build lacks the command of this name because it runs programs. */
bool subcommand_wants_linux(const char *name);

/* Runs a command with its words, which end in NULL as those of main() do. */
enum exit_status subcommand_run(const struct subcommand *c, int argc, char **argv);

/* Run by replay, sweep and report if no --policy is given (platform_policies). */
#define DEFAULT_POLICIES PLATFORM_TORCH_POLICIES

/* What people come for, in the order of --help and of the manual page: JOB(question, command, what it takes) */
#ifdef __wasm__                      /* no other programs are run */
#define PREDICT_JOB(JOB)
#else
#define PREDICT_JOB(JOB) \
    JOB("Will it fit, before you rent a card?", "replay predict --device 4090 -- python train.py",  \
        "your script; no GPU is needed")
#endif
#define JOB_LIST(JOB)                                                                                       \
    JOB("Why did it run out of memory?", "replay why train.log", "a log with the error, or a recording")    \
    PREDICT_JOB(JOB)                                                                                        \
    JOB("Which card is large enough?", "replay fit snapshot.pickle", "a recording")                         \
    JOB("Which setting of PyTorch helps?", "replay tune snapshot.pickle", "a recording")
extern const char jobs_recording[];  /* what a recording is */

/* `replay --help`: the jobs and where to read on, at most 25 lines. `replay --help all`: every command. Then the help
 * of one command, and `replay --man`: the manual page as roff. All are printed from the same tables. */
enum { HELP_WIDTH = 80 };            /* columns, of every line of --help */
void help_print_jobs(FILE *out);
void help_print_all(FILE *out);
void help_print_command(FILE *out, const struct subcommand *c);
void man_page_print(FILE *out);

/* What `replay --version` prints on standard output. */
void version_print(void);

/* `replay --completion SHELL`: a script for bash, zsh or fish. false: no other shell is known. */
bool completion_print(FILE *out, const char *shell);

/* Lines of help, at most HELP_WIDTH wide. The first prints a text broken between words: `column` letters stand in the
 * line already, and every further line begins with `indent` spaces; a word that is wider than the line stands alone.
 * The second prints a name, and its text from `column` on; the text starts on the next line if the name is too long. */
void help_print_wrapped(FILE *out, const char *text, size_t column, size_t indent);
void help_print_row(FILE *out, const char *name, size_t column, const char *text);

/* `replay --list`, and `replay --help NAME` of a policy or a load. A name that is nothing gets the nearest name, which
 * may be a command's. */
enum exit_status list_everything(void);
enum exit_status list_policy(const char *spec);

/* Gives an error of printing a text its sentence; returns it. */
MUST_USE enum err cli_printed(enum err e, struct err_detail *err);

/* Prints the error as one line on stderr; returns the status that it calls for. */
enum exit_status cli_fail(enum err e, const struct err_detail *err);

/* Whether stdout is a terminal whose first line has scrolled away. */
bool cli_has_scrolled(void);

/* Ends the output to stdout. Returns `status`, or STATUS_OURS after saying that stdout cannot be written. */
enum exit_status cli_finish_stdout(enum exit_status status);

/* From now on SIGINT, SIGTERM, SIGHUP and SIGPIPE remove the temporary files before they end the program. Those that
 * the parent ignored, as nohup does SIGHUP, stay ignored; and SIGXFSZ is. */
void cli_catch_signals(void);

/* From now on the first SIGINT, SIGTERM or SIGHUP does not end the program but leaves its number here, so that a
 * command can give back what it holds and end with 128 + number. The second signal ends the program, unless it comes
 * within 0.3 s: then it is the same interrupt. 0: none came. */
const volatile sig_atomic_t *cli_defer_signals(void);

/* From now on they end the program again. One that came before is still cli_deferred_signal's: ask for it. */
void cli_heed_signals(void);

/* The number of the signal that was deferred; 0: none came. */
int cli_deferred_signal(void);

/* Opens the command's n-th input, whatever its format, with --from, --gpu and --given-back, and shows progress. */
MUST_USE enum err cli_open_file(const struct options *o, size_t n, struct trace_reader **out, struct err_detail *err);

/* The same for a command that rests on the events: a trace that is unfinished is reported on stderr. */
MUST_USE enum err cli_open_trace(const struct options *o, size_t n, struct trace_reader **out, struct err_detail *err);

/* The same for a command that can also look at a final state alone, such as a snapshot without history: then *is_state
 * is set, and the trace begins with that state and has no events. Of several devices it takes the one with most, and
 * says so on stderr, unless --gpu names one. */
MUST_USE enum err cli_open_trace_or_state(const struct options *o, size_t n, struct trace_reader **out, bool *is_state,
                                          struct err_detail *err);

/* The same for a command that shows no call stack; faster, since an import leaves the stacks out. */
MUST_USE enum err cli_open_trace_without_stacks(const struct options *o, size_t n, struct trace_reader **out,
                                                struct err_detail *err);

/* Replays a run that is open, with --on-oom and --start, and shows progress. Without --on-oom the run goes on after a
 * request that was also refused when it was recorded. */
struct single_run;
MUST_USE enum err cli_replay(const struct options *o, struct single_run *run, struct err_detail *err);

/* ERR_USAGE if an output's path names the same file as one of the inputs. */
MUST_USE enum err cli_check_output(const struct options *o, const char *path, struct err_detail *err);

/* Opens an output if a path is given; *out is NULL if it is not. ERR_USAGE if the output would overwrite an input, or
 * if a second output is "-" (`is_stdout_taken` remembers the first). */
MUST_USE enum err cli_open_output(const struct options *o, const char *path, bool *is_stdout_taken,
                                  struct output **out, struct err_detail *err);

/* The same for --json of a command that runs a program: standard output belongs to the program. */
MUST_USE enum err cli_open_json_of_command(const struct options *o, struct output **out, struct err_detail *err);

#endif
