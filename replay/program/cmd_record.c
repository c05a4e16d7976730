/* `replay record -o OUT -- COMMAND...`: starts a CUDA program with its memory calls recorded, and makes traces. */
#include "replay/program/cli.h"

#include "base/installed_file.h"
#include "replay/program/journal_follow.h"
#include "replay/program/journal_import.h"
#include "replay/program/run_child.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The linker splits its list at spaces and colons. */
static enum err find_library(char out[PATH_MAX], struct err_detail *why)
{
    const enum err e = beside_find("record/libreplay-record.so", out, why);
    if (e == ERR_OK && strpbrk(out, " :") != NULL)
        return err_set(why, ERR_UNSUPPORTED, 0, "%.130s: cannot be preloaded from a folder with a space or a colon in "
                       "its name", out);
    return e;
}

/* The folder of the journals, absolute: a program may go elsewhere. One that is there already is another run's. */
static enum err make_folder(const char *out, char folder[PATH_MAX], struct err_detail *why)
{
    char name[PATH_MAX];
    if ((size_t)snprintf(name, sizeof name, "%s.calls", out) >= sizeof name)
        return err_set(why, ERR_USAGE, 0, "%.150s: the name is too long", out);
    if (mkdir(name, 0777) != 0 && errno == EEXIST)
        return err_set(why, ERR_USAGE, 0, "%.120s: is there already, from a run that was cut off: import the journals "
                       "in it (replay import FILE.calls -o OUT) or remove it", name);
    if (access(name, W_OK) != 0 || realpath(name, folder) == NULL)
        return err_set(why, ERR_IO, 0, "%.150s: cannot be made: %s", name, strerror(errno));
    return ERR_OK;
}

/* With --simulate the hook's folder is put there by run-sim, whose hook it is. */
static enum err put_hook(const struct options *o, const char *folder, struct child_env *env, struct err_detail *why)
{
    char hook[PATH_MAX];
    enum err e = child_env_put(env, "REPLAY_TORCH_RECORD", folder, '\0', why);
    if (e != ERR_OK || o->texts[FLAG_SIMULATE] != NULL)
        return e;
    e = beside_find("cudasim/python", hook, why);
    return e == ERR_OK ? child_env_put(env, "PYTHONPATH", hook, ':', why) : e;
}

static enum err make_env(const struct options *o, const char *library, const char *folder, struct child_env *env,
                         struct err_detail *why)
{
    enum err e = child_env_put(env, "LD_PRELOAD", library, ':', why);
    if (e == ERR_OK)
        e = child_env_put(env, "REPLAY_RECORD_DIR", folder, '\0', why);
    if (e == ERR_OK && o->is_given[FLAG_STACKS])
        e = child_env_put(env, "REPLAY_RECORD_STACKS", "1", '\0', why);
    return e == ERR_OK && o->is_given[FLAG_TORCH_HISTORY] ? put_hook(o, folder, env, why) : e;
}

/* Runs the command, with --simulate by this program's run-sim, which takes over what is preloaded. A size alone is one of
 * the simulated card. */
static enum err run_control(const struct options *o, const struct child_env *env, const struct child_watch *watch,
                            int *status, struct err_detail *why)
{
    const char *typed = o->texts[FLAG_SIMULATE];
    char program[PATH_MAX], device[PATH_MAX];
    if (typed == NULL)
        return child_run(o->inputs, env, watch, status, why);
    snprintf(device, sizeof device, "%s%s", typed[0] >= '0' && typed[0] <= '9' ? "sim:" : "", typed);
    const char *const start[] = { program, "run-sim", "--device", device, "--" };
    const size_t n = sizeof start / sizeof start[0];
    const char **argv = calloc(n + o->n_inputs + 1, sizeof *argv);
    if (argv == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "the host is out of memory");
    memcpy(argv, start, sizeof start);
    memcpy(argv + n, o->inputs, o->n_inputs * sizeof *argv);
    enum err e = beside_program(program, why);
    if (e == ERR_OK)
        e = child_run(argv, env, watch, status, why);
    free(argv);
    return e;
}

static void look(void *arg)
{
    following_look(arg);
}

/* Makes the traces; `out`: for the JSON, or NULL. */
static enum err make_traces(const struct options *o, const char *folder, int status, FILE *out, struct err_detail *why)
{
    struct json_writer w = json_writer(out);
    if (out == NULL)
        return recording_import(folder, o->out, NULL, why);
    json_put_object(&w, NULL);
    json_put_text(&w, "schema", "replay-record/1");
    json_put_number(&w, "status", (unsigned)status);
    const enum err e = recording_import(folder, o->out, &w, why);
    json_end_object(&w);
    return e;
}

/* Runs the command, followed, and makes the traces. */
static enum err record(const struct options *o, const char *folder, const struct child_env *env, FILE *json,
                       int *status, struct err_detail *why)
{
    struct following *following;
    enum err e = following_start(folder, &following, why);
    if (e != ERR_OK)
        return e;
    const struct child_watch watch = { .look = look, .arg = following, .every_ms = FOLLOWING_LOOK_MS };
    e = run_control(o, env, &watch, status, why);
    if (e == ERR_OK)
        e = make_traces(o, folder, *status, json, why);
    following_end(following, e == ERR_OK);
    return e;
}

static enum err check_names(const struct options *o, struct err_detail *why)
{
    if (o->out == NULL)
        return err_set(why, ERR_USAGE, 0, "record needs a name for the trace: -o OUT");
    if (strcmp(o->out, "-") == 0)
        return err_set(why, ERR_USAGE, 0, "record writes files, not standard output, which is the program's: -o OUT");
    return ERR_OK;
}

static enum exit_status record_main(const struct options *o)
{
    struct err_detail why = { .text = "" };
    struct child_env env = { .n = 0 };
    char library[PATH_MAX], folder[PATH_MAX];
    struct output *json = NULL;
    int status = 0;
    enum err e = check_names(o, &why);
    if (e == ERR_OK)
        e = cli_open_json_of_command(o, &json, &why);
    if (e == ERR_OK)
        e = find_library(library, &why);
    if (e == ERR_OK)
        e = make_folder(o->out, folder, &why);
    if (e != ERR_OK) {
        output_abandon(json);
        return cli_fail(e, &why);
    }
    e = make_env(o, library, folder, &env, &why);
    if (e == ERR_OK)
        e = record(o, folder, &env, json == NULL ? NULL : output_file(json), &status, &why);
    child_env_close(&env);
    if (e == ERR_OK)
        e = output_commit(&json, &why);
    output_abandon(json);
    if (rmdir(folder) != 0 && e == ERR_OK)
        fprintf(stderr, "replay record: %s: journals are left there\n", folder);
    return e != ERR_OK ? cli_fail(e, &why) : (enum exit_status)status;
}

static const struct flag_use record_flags[] = {
    TAKES(OUT), TAKES(STACKS), TAKES(TORCH_HISTORY), TAKES(SIMULATE),
    TAKES_AS(JSON, "write what was recorded as JSON; standard output is the program's"), TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_record = {
    .name = "record",
    .synopsis = "record -o OUT -- COMMAND...",
    .summary = "run a CUDA program and record its device memory calls, of the runtime and of the driver",
    .text =
        "A library is preloaded into the program and into what it starts; the program is not changed. Each process writes "
        "a journal into OUT.calls as it goes: if it is killed, every call that had returned is in the journal. Beside it, "
        "OUT.calls/PID.0.gpuN.zst is a trace that grows with the journal, a quarter of a second late, and can be replayed "
        "at any time. At the end the journals become traces: OUT if one process used one device, else OUT with .PID.gpuN "
        "before its last dot. If this command itself is killed, both stay: replay import OUT.calls/PID.0.calls -o TRACE "
        "reads a journal.\n"
        "\n"
        "--torch also switches PyTorch's own history on, for this run only, and has a snapshot written at the end, at the "
        "first out of memory, and on SIGUSR1. The snapshot then becomes the trace OUT and stays beside it; the driver's "
        "calls are in OUT with .driver before its last dot. --simulate runs the program on the simulated card, as replay "
        "run-sim does.\n"
        "\n"
        "Examples:\n"
        "  replay record -o trace.zst -- ./my-cuda-program --size 4096\n"
        "  replay record -o trace.zst --stacks -- python infer.py\n"
        "  replay record -o trace.zst --torch -- python train.py\n"
        "  replay record -o trace.zst --torch --simulate 24GiB -- python train.py\n",
    .status_note = "The exit status is that of the program; 2 or 3 also if it could not be recorded.",
    .flags = record_flags,
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .run = record_main,
};
