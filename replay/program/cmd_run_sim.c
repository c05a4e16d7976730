/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * `replay run-sim -- PROGRAM...`: runs a CUDA program on the simulated card, which writes the program's memory calls
 * into journals, says what happened there, and with -o makes traces of the journals.
 */
#include "replay/program/cli.h"

#include "base/temporary_file.h"
#include "base/terminal.h"
#include "dryrun/run/followed_child.h"
#include "dryrun/run_ends.h"
#include "replay/program/recorded_program.h"

enum { BY_SIGNAL = 128 };            /* statuses from here on */

/* Everything the command holds. Zero is valid: run_sim_close accepts it. */
struct sim_run {
    const struct options *o;
    const char *path;                /* of the recording; NULL: nothing is recorded */
    struct sim_card *card;
    int    status;                   /* of the program */
    struct peak_range range;         /* of the program's peak */
    bool   has_range;                /* it is known. A program that was ended by a signal shows none. */
    bool   is_complete;              /* all journals were read, and traces made of them */
    struct recording_made made;
};

static enum err find_range(struct sim_run *run, struct err_detail *err)
{
    const struct options *o = run->o;
    const bool is_asked = o->is_given[FLAG_ENDS];
    const struct run_ends_request request = {
        .card = run->card, .program = o->inputs, .n_words = o->n_inputs,
        .device = o->texts[FLAG_SIMULATE] != NULL ? o->texts[FLAG_SIMULATE] : o->device,
        .torch_libs = o->texts[FLAG_TORCH_LIBS], .values = o->texts[FLAG_VALUES], .runs_again = is_asked,
        .interrupted = is_asked ? cli_defer_signals() : NULL,
    };
    if (run->status < BY_SIGNAL && (run->status == 0 || !is_asked))
        return run_ends_find(&request, &run->range, &run->has_range, err);
    if (is_asked)
        fprintf(stderr, "replay run-sim: --ends: the program was interrupted or failed, so how far its peak may move "
                        "was not looked at\n");
    return ERR_OK;
}

static void say_range(const struct sim_run *run)
{
    struct words w = {0};
    if (!run->o->is_given[FLAG_ENDS] || !run->has_range)
        return;
    words_add(&w, peak_range_is_open(&run->range) ? "The peak lies "
                                                  : "Nothing moves this peak: no source is open, and the order of "
                                                    "addresses does not matter");
    peak_range_say(&w, &run->range);
    words_add(&w, ".");
    fputs("  ", stderr);
    text_print_within(stderr, w.text, TERMINAL_USUAL, 2, 4);
}

/* Says what happened, and makes the traces. */
static enum err report(struct sim_run *run, struct err_detail *err)
{
    sim_card_print(run->card, run->status, run->o->is_given[FLAG_ENDS]);
    const enum err e = find_range(run, err);
    if (e != ERR_OK)
        return e;
    say_range(run);
    run->made.is_whole = true;
    run->made.was_interrupted = child_was_interrupted(run->status);
    return run->path == NULL ? ERR_OK
                             : recording_import(sim_card_journals(run->card), run->path, RECORDING_OF_RUN_SIM, NULL,
                                                sim_card_capability(run->card), &run->made, err);
}

static enum err make_env(const struct sim_run *run, struct child_env *env, struct err_detail *err)
{
    const struct options *o = run->o;
    const bool is_recorded = run->path != NULL;
    enum err e = sim_card_put_env(run->card, NULL, env, err);
    if (e == ERR_OK && o->is_given[FLAG_LATE_USES])
        e = child_env_put(env, "REPLAY_CUDASIM_WAITS", "late", '\0', err);
    if (e == ERR_OK && o->is_given[FLAG_LABELS])
        e = is_recorded ? child_env_put(env, "REPLAY_TORCH_LABELS", "1", '\0', err)
                        : err_set(err, ERR_USAGE, 0, "--labels is for a recording: give -o OUT");
    if (e == ERR_OK && is_recorded)
        e = child_env_put(env, "REPLAY_TORCH_RECORD", sim_card_journals(run->card), '\0', err);
    return e == ERR_OK ? recorded_program_put_env(o, env, err) : e;
}

/* Runs the program, and reports. */
static enum err run_on_card(struct sim_run *run, struct err_detail *err)
{
    struct child_env env = { .n = 0 };
    struct following *following = NULL;
    enum err e = make_env(run, &env, err);
    if (e == ERR_OK)
        e = followed_child_run(run->o->inputs, &env, true, run->path != NULL ? sim_card_journals(run->card) : NULL,
                               "run-sim", &following, &run->status, err);
    child_env_close(&env);
    if (e == ERR_OK)
        e = sim_card_read(run->card, &run->is_complete, err);
    if (e == ERR_OK)
        e = report(run, err);
    following_end(following, e == ERR_OK);
    return e;
}

static enum err run_sim_prepare(void *session, const struct options **o, struct err_detail *err)
{
    struct sim_run *run = session;
    run->o = *o;
    recorded_program_outlast_pipes();
    return recorded_program_out(*o, "run-sim", &run->path, err);
}

static enum err run_sim_read(void *session, const struct options *o, struct err_detail *err)
{
    struct sim_run *run = session;
    struct sim_card_request request;
    enum err e = recorded_program_card(o, "run-sim", &request, err);
    if (e == ERR_OK)
        e = sim_card_open(&request, temporary_place(), &run->card, err);
    if (e == ERR_OK)
        e = run_on_card(run, err);
    if (e == ERR_OK && sim_card_has_lost(run->card))
        e = err_set(err, ERR_IO, 0, "a journal could not be read, so the figures and the recording are not whole");
    run->is_complete = run->is_complete && e == ERR_OK;
    return e;
}

static enum err run_sim_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct sim_run *run = session;
#define ANSWER_TABLE "answers/run_sim.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static enum exit_status run_sim_status(const void *session)
{
    const struct sim_run *run = session;
    return recorded_program_status(&run->made, run->status);
}

/* Journals of which a part is in no trace stay. */
static void run_sim_close(void *session)
{
    struct sim_run *run = session;
    sim_card_close(run->card, run->path != NULL && !(run->is_complete && run->made.is_whole));
    recording_made_close(&run->made);
}

static const struct flag_use run_sim_flags[] = {RECORDED_PROGRAM_FLAGS, TAKES(LABELS), TAKES(LATE_USES), TAKES(ENDS),
                                                TAKES(HELP), FLAGS_END};

const struct subcommand cmd_run_sim = {
    .name = "run-sim",
    .synopsis = "run-sim [-o OUT] -- PROGRAM...",
    .summary = "run a CUDA program without a GPU, on the simulated card, and record its memory",
    .text = RECORDED_PROGRAM_HELP,
    .status_note = "The exit status is that of the program; 2 or 3 also if it could not be run; 3 if calls are missing "
                   "in the recording.",
    .flags = run_sim_flags,
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .answer = { .session_bytes = sizeof(struct sim_run), .is_beside_program = true, .prepare = run_sim_prepare,
                .read = run_sim_read, .write_json = run_sim_write_json, .status = run_sim_status,
                .close = run_sim_close },
};
