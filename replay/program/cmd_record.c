/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * `replay record -o OUT -- PROGRAM...`: runs a CUDA program with libreplay-record.so preloaded, which writes its memory
 * calls into journals, and makes traces of these. With --simulate the program runs on the simulated card.
 */
#include "replay/program/cli.h"

#include "base/installed_file.h"
#include "base/temporary_file.h"
#include "dryrun/run/followed_child.h"
#include "dryrun/run/journal_folder.h"
#include "dryrun/run/journal_import.h"
#include "replay/program/recorded_program.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct record_run {
    const struct options *o;
    const char *out;
    char   library[PATH_MAX];        /* that is preloaded */
    char   folder[PATH_MAX];         /* of the journals, absolute: a program may change its directory; "": not made */
    struct sim_card *card;           /* NULL: the program runs on the machine's GPU */
    bool   is_whole;                 /* no call is missing in the traces */
};

/* The linker splits LD_PRELOAD at spaces and colons. */
static enum err find_library(struct record_run *run, struct err_detail *why)
{
    const enum err e = installed_file_find("record/libreplay-record.so", run->library, why);
    if (e == ERR_OK && strpbrk(run->library, " :") != NULL)
        return err_set(why, ERR_UNSUPPORTED, 0, "%.130s: cannot be preloaded from a folder with a space or a colon in "
                       "its name", run->library);
    return e;
}

/* For its owner alone, as its journals are. A folder that is there already belongs to another run. */
static enum err make_folder(struct record_run *run, struct err_detail *why)
{
    char name[PATH_MAX];
    if ((size_t)snprintf(name, sizeof name, "%s.calls", run->out) >= sizeof name)
        return err_set(why, ERR_USAGE, 0, "%.150s: the name is too long", run->out);
    if (mkdir(name, 0700) != 0 && errno == EEXIST)
        return err_set(why, ERR_USAGE, 0, "%.120s: exists already, from a run that was cut off: import the journals "
                       "in it (replay import FILE.calls -o OUT) or remove it", name);
    if (access(name, W_OK) == 0 && realpath(name, run->folder) != NULL)
        return journal_folder_begin(run->folder, why);
    run->folder[0] = '\0';
    return err_set(why, ERR_IO, 0, "%.150s: cannot be made: %s", name, strerror(errno));
}

/* The hook in the program's Python. On a simulated card its folder is in the environment already. */
static enum err put_hook(const struct record_run *run, struct child_env *env, struct err_detail *why)
{
    char hook[PATH_MAX];
    enum err e = child_env_put(env, "REPLAY_TORCH_RECORD", run->folder, '\0', why);
    if (e == ERR_OK && run->o->is_given[FLAG_LABELS])
        e = child_env_put(env, "REPLAY_TORCH_LABELS", "1", '\0', why);
    if (e != ERR_OK || run->card != NULL)
        return e;
    e = installed_file_find("cudasim/python", hook, why);
    return e == ERR_OK ? child_env_put(env, "PYTHONPATH", hook, ':', why) : e;
}

static enum err make_env(const struct record_run *run, struct child_env *env, struct err_detail *why)
{
    const struct options *o = run->o;
    enum err e = run->card != NULL ? sim_card_put_env(run->card, run->library, env, why)
                                   : child_env_put(env, "LD_PRELOAD", run->library, ':', why);
    if (e == ERR_OK)
        e = child_env_put(env, "REPLAY_RECORD_DIR", run->folder, '\0', why);
    if (e == ERR_OK)
        e = recorded_program_put_env(o, env, why);
    if (e == ERR_OK && o->is_given[FLAG_STACKS])
        e = child_env_put(env, "REPLAY_RECORD_STACKS", "1", '\0', why);
    return e == ERR_OK && o->is_given[FLAG_TORCH_HISTORY] ? put_hook(run, env, why) : e;
}

/* Makes the traces; `out`: for the JSON, or NULL. */
static enum err make_traces(struct record_run *run, int status, FILE *out, struct err_detail *why)
{
    struct json_writer w = json_writer(out);
    if (out == NULL)
        return recording_import(run->folder, run->out, RECORDING_OF_RECORD, NULL, &run->is_whole, why);
    json_put_object(&w, NULL);
    json_put_text(&w, "schema", "replay-record/1");
    json_put_number(&w, "status", (unsigned)status);
    const enum err e = recording_import(run->folder, run->out, RECORDING_OF_RECORD, &w, &run->is_whole, why);
    json_end_object(&w);
    return e;
}

/* Runs the program and makes the traces. */
static enum err record(struct record_run *run, FILE *json, int *status, struct err_detail *why)
{
    struct child_env env = { .n = 0 };
    struct following *following = NULL;
    bool is_complete;
    enum err e = make_env(run, &env, why);
    if (e == ERR_OK)
        e = followed_child_run(run->o->inputs, &env, run->folder, "record", &following, status, why);
    child_env_close(&env);
    if (e == ERR_OK && run->card != NULL) {
        e = sim_card_read(run->card, &is_complete, why);
        if (e == ERR_OK)
            sim_card_print(run->card, *status);
    }
    if (e == ERR_OK)
        e = make_traces(run, *status, json, why);
    following_end(following, e == ERR_OK);
    return e;
}

static enum err open_card(struct record_run *run, struct err_detail *why)
{
    struct sim_card_request request;
    const enum err e = recorded_program_card(run->o, "record", &request, why);
    return e == ERR_OK ? sim_card_open(&request, temporary_place(), &run->card, why) : e;
}

static enum err prepare(struct record_run *run, struct err_detail *why)
{
    enum err e = ERR_OK;
    if (recorded_program_wants_card(run->o))
        e = open_card(run, why);
    else if (run->o->texts[FLAG_TORCH_LIBS] != NULL || run->o->texts[FLAG_LIBRARIES] != NULL)
        e = err_set(why, ERR_USAGE, 0, "--%s is for a program on a simulated card: --simulate D",
                    run->o->texts[FLAG_TORCH_LIBS] != NULL ? "torch-libs" : "libraries");
    if (e == ERR_OK && run->o->is_given[FLAG_LABELS] && !run->o->is_given[FLAG_TORCH_HISTORY])
        e = err_set(why, ERR_USAGE, 0, "--labels is for PyTorch's requests: give --torch too");
    if (e == ERR_OK)
        e = find_library(run, why);
    return e == ERR_OK ? make_folder(run, why) : e;
}

static enum exit_status record_main(const struct options *o)
{
    struct err_detail why = { .text = "" };
    struct record_run run = { .o = o };
    struct output *json = NULL;
    int status = 0;
    recorded_program_outlast_pipes();
    enum err e = recorded_program_out(o, "record", &run.out, &why);
    if (e == ERR_OK && run.out == NULL)
        e = err_set(&why, ERR_USAGE, 0, "record needs a name for the trace: -o OUT");
    if (e == ERR_OK)
        e = cli_open_json_of_command(o, &json, &why);
    if (e == ERR_OK)
        e = prepare(&run, &why);
    if (e == ERR_OK)
        e = record(&run, json == NULL ? NULL : output_file(json), &status, &why);
    if (e == ERR_OK)
        e = output_commit(&json, &why);
    if (e == ERR_OK)
        e = recording_check(run.is_whole, &why);
    output_abandon(json);
    sim_card_close(run.card, false);
    if (run.folder[0] != '\0')
        journal_folder_end(run.folder, "record");
    return e != ERR_OK ? cli_fail(e, &why) : (enum exit_status)status;
}

static const struct flag_use record_flags[] = {
    RECORDED_PROGRAM_FLAGS, TAKES(STACKS), TAKES(TORCH_HISTORY), TAKES(LABELS), TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_record = {
    .name = "record",
    .synopsis = "record -o OUT -- PROGRAM...",
    .summary = "run a CUDA program and record its device memory calls, of the runtime and of the driver",
    .text = RECORDED_PROGRAM_HELP,
    .status_note = "The exit status is that of the program; 2 or 3 also if it could not be recorded; 3 if calls are "
                   "missing.",
    .flags = record_flags,
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .run = record_main,
};
