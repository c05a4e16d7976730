/* `replay record -o OUT -- COMMAND...`: starts a CUDA program with its memory calls recorded, and makes traces of them. */
#include "replay/cli.h"

#include "replay/recording.h"
#include "replay/run_child.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Beside the program, as it is built; else where it is installed. The linker splits its list at spaces and colons. */
static enum err find_library(char out[PATH_MAX], struct err_detail *why)
{
    static const char *const places[] = { "record", "../" REPLAY_LIBDIR "/replay/record" };
    char program[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0)
        return err_set(why, ERR_IO, 0, "where this program lies cannot be told: %s", strerror(errno));
    program[n] = '\0';
    const char *folder = dirname(program);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char path[PATH_MAX + 64];
        snprintf(path, sizeof path, "%s/%s/libreplay-record.so", folder, places[i]);
        if (access(path, R_OK) == 0 && realpath(path, out) != NULL)
            return strpbrk(out, " :") == NULL ? ERR_OK
                                              : err_set(why, ERR_UNSUPPORTED, 0, "%.150s: cannot be preloaded from a "
                                                        "folder with a space or a colon in its name", out);
    }
    return err_set(why, ERR_IO, 0, "the recording library is not beside this program: no %.130s/record", folder);
}

/* The folder of the journals, absolute: a program may go elsewhere. One that is there already is another run's. */
static enum err make_folder(const char *out, char folder[PATH_MAX], struct err_detail *why)
{
    char name[PATH_MAX];
    if ((size_t)snprintf(name, sizeof name, "%s.calls", out) >= sizeof name)
        return err_set(why, ERR_USAGE, 0, "%.150s: the name is too long", out);
    if (mkdir(name, 0777) != 0 && errno == EEXIST)
        return err_set(why, ERR_USAGE, 0, "%.120s: is there already, from a run that was cut off: import what is in it "
                       "(replay import FILE -o OUT) or remove it", name);
    if (access(name, W_OK) != 0 || realpath(name, folder) == NULL)
        return err_set(why, ERR_IO, 0, "%.150s: cannot be made: %s", name, strerror(errno));
    return ERR_OK;
}

static enum err make_env(const struct options *o, const char *library, const char *folder, struct child_env *env,
                         struct err_detail *why)
{
    enum err e = child_env_put(env, "LD_PRELOAD", library, ':', why);
    if (e == ERR_OK)
        e = child_env_put(env, "REPLAY_RECORD_DIR", folder, '\0', why);
    if (e == ERR_OK && (o->given & OPTION_BIT(STACKS)) != 0)
        e = child_env_put(env, "REPLAY_RECORD_STACKS", "1", '\0', why);
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
    int status = 0;
    enum err e = check_names(o, &why);
    if (e == ERR_OK)
        e = find_library(library, &why);
    if (e == ERR_OK)
        e = make_folder(o->out, folder, &why);
    if (e != ERR_OK)
        return cli_fail(e, &why);
    e = make_env(o, library, folder, &env, &why);
    if (e == ERR_OK)
        e = child_run(o->inputs, &env, &status, &why);
    child_env_close(&env);
    if (e == ERR_OK)
        e = recording_import(folder, o->out, &why);
    if (rmdir(folder) != 0 && e == ERR_OK)
        fprintf(stderr, "replay record: %s: journals are left there\n", folder);
    return e != ERR_OK ? cli_fail(e, &why) : (enum exit_status)status;
}

const struct subcommand cmd_record = {
    .name = "record",
    .synopsis = "record -o OUT -- COMMAND...",
    .summary = "run a CUDA program and record its device memory calls, of the runtime and of the driver",
    .text =
        "A library is preloaded into the command and into what it starts; the program is not changed. Each process writes a\n"
        "journal into OUT.calls as it goes: killed at any time, every call that had returned is in it. At the end the\n"
        "journals become traces: OUT where one process used one device, else OUT with .PID.gpuN before its last dot.\n"
        "If this command itself is killed the journals stay: replay import OUT.calls/PID.0.calls -o TRACE reads one.\n"
        "The exit status is the command's.\n\n"
        "Examples:\n"
        "  replay record -o trace.zst -- ./my-cuda-program --size 4096\n"
        "  replay record -o trace.zst --stacks -- python infer.py\n",
    .taken = OPTION_BIT(OUT) | OPTION_BIT(STACKS) | OPTION_BIT(HELP),
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .run = record_main,
};
