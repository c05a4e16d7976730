/*
 * What the commands of the program share: the table of them, exit statuses, errors on stderr, progress.
 */
#ifndef REPLAY_REPLAY_PROGRAM_CLI_H
#define REPLAY_REPLAY_PROGRAM_CLI_H

#include "base/err.h"
#include "base/exit_status.h"
#include "base/output.h"
#include "replay/program/options.h"

struct subcommand {
    const char *name;                /* NULL: what is run when no command is named */
    const char *synopsis;            /* "import FILE -o OUT" */
    const char *summary;
    const char *text;                /* further lines of its --help; "" for none */
    uint64_t    taken;               /* OPTION_BITs */
    size_t      n_inputs_min, n_inputs_max;
    enum exit_status (*run)(const struct options *o);
};

#define COMMAND(name) extern const struct subcommand cmd_##name;
#include "replay/program/commands.def"
#undef COMMAND

/* Run where no --policy is given. */
enum { N_DEFAULT_POLICIES = 4 };
extern const char *const default_policies[N_DEFAULT_POLICIES];

/* --list and --help POLICY. */
enum exit_status list_everything(void);
enum exit_status list_policy(const char *spec);

/* One line on stderr; the status that the error calls for. */
enum exit_status cli_fail(enum err e, const struct err_detail *why);

/* Ends output to stdout; an error in it is reported. `status` otherwise. */
enum exit_status cli_finish_stdout(enum exit_status status);

/* From now on the first SIGINT, SIGTERM or SIGHUP does not end the program but leaves its number here, so that a command
 * can give back what it holds and end with 128 + number; the second ends it. 0: none came. */
const volatile sig_atomic_t *cli_defer_signals(void);

/* A line on stderr that is rewritten as work goes on; silent where stderr is no terminal and for the first moments. */
struct progress {
    const char *what;                /* "reading", "replaying" */
    int64_t     started_ms, shown_ms;
    bool        is_shown;
};
struct progress progress_start(const char *what);
void progress_report(void *progress, uint64_t done, uint64_t total);       /* total 0 = unknown */
void progress_clear(struct progress *p);

/* Opens the command's n-th input, whatever its format, with --from, --gpu and --releases, showing progress. */
MUST_USE enum err cli_open_file(const struct options *o, size_t n, struct trace_reader **out, struct err_detail *why);

/* The same for a command that rests on the events: says on stderr where a trace is unfinished. */
MUST_USE enum err cli_open_trace(const struct options *o, size_t n, struct trace_reader **out, struct err_detail *why);

/* The same, faster, for a command that names no call stack: an import leaves them out. */
MUST_USE enum err cli_open_trace_without_stacks(const struct options *o, size_t n, struct trace_reader **out,
                                                struct err_detail *why);

/* Replays a run that is open, with --on-oom and --start, showing progress. Without --on-oom a request that was refused
 * when it was recorded as well is no outcome. */
struct single_run;
MUST_USE enum err cli_replay(const struct options *o, struct single_run *run, struct err_detail *why);

/* Whether a path names the same file as one of the inputs. */
bool cli_is_input(const struct options *o, const char *path);

/* Opens an output where a path is given; *out stays NULL where it is NULL. Refuses to write over the n-th input or to
 * stdout twice (`is_stdout_taken` remembers). */
MUST_USE enum err cli_open_output(const struct options *o, const char *path, bool *is_stdout_taken,
                                  struct output **out, struct err_detail *why);

/* The same for --json of a command that runs a program, whose standard output is the program's. */
MUST_USE enum err cli_open_json_of_command(const struct options *o, struct output **out, struct err_detail *why);

#endif
