/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * `replay run-sim -- PROGRAM...`: runs a CUDA program on the simulated card, which writes the program's memory calls
 * into journals, says what happened there, and with -o makes traces of the journals.
 */
#include "replay/program/cli.h"

#include "base/temporary_file.h"
#include "base/terminal.h"
#include "dryrun/run/followed_child.h"
#include "dryrun/run/journal_import.h"
#include "dryrun/run_ends.h"
#include "replay/program/recorded_program.h"

/* `path` NULL: nothing was recorded. `json`: gets the files; NULL: not asked for. */
static enum err import_files(const struct sim_card *card, const char *path, struct json_writer *json, bool *is_whole,
                             struct err_detail *err)
{
    *is_whole = true;
    return path == NULL ? ERR_OK : recording_import(sim_card_journals(card), path, RECORDING_OF_RUN_SIM, NULL,
                                                    sim_card_capability(card), json, NULL, is_whole, err);
}

/* The range of the program's peak; *has_range: it is known. A program that failed shows none. */
static enum err find_range(const struct options *o, const struct sim_card *card, int status, struct peak_range *range,
                           bool *has_range, struct err_detail *err)
{
    const bool is_asked = o->is_given[FLAG_ENDS] && status == 0;
    const struct run_ends_request request = {
        .card = card, .program = o->inputs, .n_words = o->n_inputs,
        .device = o->texts[FLAG_SIMULATE] != NULL ? o->texts[FLAG_SIMULATE] : o->device,
        .torch_libs = o->texts[FLAG_TORCH_LIBS], .values = o->texts[FLAG_VALUES], .runs_again = is_asked,
        .interrupted = is_asked ? cli_defer_signals() : NULL,
    };
    return run_ends_find(&request, range, has_range, err);
}

static void say_range(const struct options *o, const struct peak_range *range, bool has_range)
{
    struct words w = {0};
    if (!o->is_given[FLAG_ENDS] || !has_range)
        return;
    words_add(&w, peak_range_is_open(range) ? "The peak lies " : "Nothing moves this peak: no source is open, and the "
                                              "order of addresses does not matter");
    peak_range_say(&w, range);
    words_add(&w, ".");
    fputs("  ", stderr);
    text_print_within(stderr, w.text, TERMINAL_USUAL, 2, 4);
}

/* Says what happened, and makes the traces; `out`: for the JSON, or NULL. */
static enum err report(const struct options *o, const struct sim_card *card, const char *path, int status, FILE *out,
                       bool *is_whole, struct err_detail *err)
{
    struct peak_range found, *range = &found;
    bool has_range = false;
    sim_card_print(card, status);
    enum err e = find_range(o, card, status, range, &has_range, err);
    if (e != ERR_OK)
        return e;
    say_range(o, range, has_range);
    if (out == NULL)
        return import_files(card, path, NULL, is_whole, err);
#define ANSWER_TABLE "answers/run_sim.def"
#include "answers/as_json.def"
    return e;
}

static enum err make_env(const struct options *o, const struct sim_card *card, bool is_recorded, struct child_env *env,
                         struct err_detail *err)
{
    enum err e = sim_card_put_env(card, NULL, env, err);
    if (e == ERR_OK && o->is_given[FLAG_LATE_USES])
        e = child_env_put(env, "REPLAY_CUDASIM_WAITS", "late", '\0', err);
    if (e == ERR_OK && o->is_given[FLAG_LABELS])
        e = is_recorded ? child_env_put(env, "REPLAY_TORCH_LABELS", "1", '\0', err)
                        : err_set(err, ERR_USAGE, 0, "--labels is for a recording: give -o OUT");
    if (e != ERR_OK || !is_recorded)
        return e;
    return child_env_put(env, "REPLAY_TORCH_RECORD", sim_card_journals(card), '\0', err);
}

/* Runs the program, and reports. *is_complete: all journals were read. *is_whole: no call is missing in them. */
static enum err run_on_card(const struct options *o, struct sim_card *card, const char *path, FILE *json, int *status,
                            bool *is_complete, bool *is_whole, struct err_detail *err)
{
    struct child_env env = { .n = 0 };
    struct following *following = NULL;
    enum err e = make_env(o, card, path != NULL, &env, err);
    if (e == ERR_OK)
        e = recorded_program_put_env(o, &env, err);
    if (e == ERR_OK)
        e = followed_child_run(o->inputs, &env, true, path != NULL ? sim_card_journals(card) : NULL, "run-sim",
                               &following, status, err);
    child_env_close(&env);
    if (e == ERR_OK)
        e = sim_card_read(card, is_complete, err);
    if (e == ERR_OK)
        e = report(o, card, path, *status, json, is_whole, err);
    following_end(following, e == ERR_OK);
    return e;
}

static enum exit_status run_sim_main(const struct options *o)
{
    struct err_detail err = { .text = "" };
    struct sim_card_request request;
    struct sim_card *card = NULL;
    struct output *json = NULL;
    const char *path = NULL;
    bool is_complete = false, is_whole = false;
    int status = 0;
    recorded_program_outlast_pipes();
    enum err e = recorded_program_out(o, "run-sim", &path, &err);
    if (e == ERR_OK)
        e = cli_open_json_of_command(o, &json, &err);
    if (e == ERR_OK)
        e = recorded_program_card(o, "run-sim", &request, &err);
    if (e == ERR_OK)
        e = sim_card_open(&request, temporary_place(), &card, &err);
    if (e == ERR_OK)
        e = run_on_card(o, card, path, json == NULL ? NULL : output_file(json), &status, &is_complete,
                        &is_whole, &err);
    if (e == ERR_OK && sim_card_has_lost(card))
        e = err_set(&err, ERR_IO, 0, "a journal could not be read, so the figures and the recording are not whole");
    if (e == ERR_OK)
        e = output_commit(&json, &err);
    if (e == ERR_OK)
        e = recording_check(is_whole, &err);
    output_abandon(json);
    sim_card_close(card, path != NULL && (e != ERR_OK || !is_complete));
    return e != ERR_OK ? cli_fail(e, &err) : (enum exit_status)status;
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
    .run = run_sim_main,
};
