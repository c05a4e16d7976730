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
#include "replay/program/recorded_program.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Everything the command holds. Zero is valid: record_close accepts it. */
struct record_run {
    const struct options *o;
    const char *out;
    char   library[PATH_MAX];        /* that is preloaded */
    char   folder[PATH_MAX];         /* of the journals, absolute: a program may change its directory; "": not made */
    struct sim_card *card;           /* NULL: the program runs on the machine's GPU */
    int    status;                   /* of the program */
    struct recording_made made;
};

/* The linker splits LD_PRELOAD at spaces and colons. */
static enum err find_library(struct record_run *run, struct err_detail *err)
{
    const enum err e = installed_file_find("record/libreplay-record.so", run->library, err);
    if (e == ERR_OK && strpbrk(run->library, " :") != NULL)
        return err_at(err, ERR_UNSUPPORTED, 0, run->library, "cannot be preloaded from a folder with a space or a "
                      "colon in its name");
    return e;
}

/* For its owner alone, as its journals are. A folder that is there already belongs to another run. */
static enum err make_folder(struct record_run *run, struct err_detail *err)
{
    char name[PATH_MAX];
    if ((size_t)snprintf(name, sizeof name, "%s.calls", run->out) >= sizeof name)
        return err_at(err, ERR_USAGE, 0, run->out, "the name is too long");
    if (mkdir(name, 0700) != 0 && errno == EEXIST)
        return err_at(err, ERR_USAGE, 0, name, "exists already, from a run that was cut off: import the journals in it "
                      "(replay import FILE.calls -o OUT) or remove it");
    if (access(name, W_OK) == 0 && realpath(name, run->folder) != NULL)
        return journal_folder_begin(run->folder, err);
    run->folder[0] = '\0';
    return err_at(err, ERR_IO, 0, name, "cannot be made: %s", strerror(errno));
}

/* The hook in the program's Python. On a simulated card its folder is in the environment already. */
static enum err put_hook(const struct record_run *run, struct child_env *env, struct err_detail *err)
{
    char hook[PATH_MAX];
    enum err e = child_env_put(env, "REPLAY_TORCH_RECORD", run->folder, '\0', err);
    if (e == ERR_OK && run->o->is_given[FLAG_LABELS])
        e = child_env_put(env, "REPLAY_TORCH_LABELS", "1", '\0', err);
    if (e != ERR_OK || run->card != NULL)
        return e;
    e = installed_file_find("cudasim/python", hook, err);
    return e == ERR_OK ? child_env_put(env, "PYTHONPATH", hook, ':', err) : e;
}

static enum err make_env(const struct record_run *run, struct child_env *env, struct err_detail *err)
{
    const struct options *o = run->o;
    enum err e = run->card != NULL ? sim_card_put_env(run->card, run->library, env, err)
                                   : child_env_put(env, "LD_PRELOAD", run->library, ':', err);
    if (e == ERR_OK)
        e = child_env_put(env, "REPLAY_RECORD_DIR", run->folder, '\0', err);
    if (e == ERR_OK)
        e = recorded_program_put_env(o, env, err);
    if (e == ERR_OK && o->is_given[FLAG_STACKS])
        e = child_env_put(env, "REPLAY_RECORD_STACKS", "1", '\0', err);
    return e == ERR_OK && o->is_given[FLAG_TORCH_HISTORY] ? put_hook(run, env, err) : e;
}

/* Runs the program and makes the traces. */
static enum err record(struct record_run *run, struct err_detail *err)
{
    struct child_env env = { .n = 0 };
    struct following *following = NULL;
    bool is_complete;
    enum err e = make_env(run, &env, err);
    if (e == ERR_OK)
        e = followed_child_run(run->o->inputs, &env, false, run->folder, "record", &following, &run->status,
                               err);
    child_env_close(&env);
    if (e == ERR_OK && run->card != NULL) {
        e = sim_card_read(run->card, &is_complete, err);
        if (e == ERR_OK)
            sim_card_print(run->card, run->status, false);
    }
    run->made.was_interrupted = child_was_interrupted(run->status);
    if (e == ERR_OK)
        e = recording_import(run->folder, run->out, RECORDING_OF_RECORD, NULL, NULL, &run->made, err);
    following_end(following, e == ERR_OK);
    return e;
}

static enum err open_card(struct record_run *run, struct err_detail *err)
{
    struct sim_card_request request;
    const enum err e = recorded_program_card(run->o, "record", &request, err);
    request.is_recorded = true;
    return e == ERR_OK ? sim_card_open(&request, temporary_place(), &run->card, err) : e;
}

static enum err record_prepare(void *session, const struct options **o, struct err_detail *err)
{
    struct record_run *run = session;
    run->o = *o;
    recorded_program_outlast_pipes();
    const enum err e = recorded_program_out(*o, "record", &run->out, err);
    return e == ERR_OK && run->out == NULL ? err_set(err, ERR_USAGE, 0, "record needs a name for the trace: -o OUT")
                                           : e;
}

static enum err prepare(struct record_run *run, struct err_detail *err)
{
    enum err e = ERR_OK;
    if (recorded_program_wants_card(run->o))
        e = open_card(run, err);
    else if (run->o->texts[FLAG_TORCH_LIBS] != NULL || run->o->texts[FLAG_LIBRARIES] != NULL)
        e = err_set(err, ERR_USAGE, 0, "--%s is for a program on a simulated card: --simulate D",
                    run->o->texts[FLAG_TORCH_LIBS] != NULL ? "torch-libs" : "libraries");
    if (e == ERR_OK && run->o->is_given[FLAG_LABELS] && !run->o->is_given[FLAG_TORCH_HISTORY])
        e = err_set(err, ERR_USAGE, 0, "--labels is for PyTorch's requests: give --torch too");
    if (e == ERR_OK)
        e = find_library(run, err);
    return e == ERR_OK ? make_folder(run, err) : e;
}

static enum err record_read(void *session, const struct options *o, struct err_detail *err)
{
    (void)o;
    const enum err e = prepare(session, err);
    return e == ERR_OK ? record(session, err) : e;
}

static enum err record_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct record_run *run = session;
    const struct recording_made *made = &run->made;
#define ANSWER_TABLE "answers/record.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static enum exit_status record_status(const void *session)
{
    const struct record_run *run = session;
    return recorded_program_status(&run->made, run->status);
}

static void record_close(void *session)
{
    struct record_run *run = session;
    recording_made_close(&run->made);
    sim_card_close(run->card, false);
    if (run->folder[0] != '\0')
        journal_folder_end(run->folder, "record");
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
    .answer = { .session_bytes = sizeof(struct record_run), .is_beside_program = true, .prepare = record_prepare,
                .read = record_read, .write_json = record_write_json, .status = record_status,
                .close = record_close },
};
