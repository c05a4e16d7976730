/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay predict -- PROGRAM...`: what a program will need of which card, before it runs on one. */
#include "replay/program/cli.h"

#include "dryrun/prediction_text.h"
#include "replay/program/output_names.h"

#include <limits.h>
#include <stdlib.h>

/* Everything the command holds. Zero is valid but for the prediction. */
struct predict {
    const struct options *options;
    struct prediction prediction;
    struct output *json;
    bool is_stdout_taken;
    char stem[PATH_MAX];             /* of the files that stay: "train.predict" */
    struct prediction_files files;
};

static struct prediction_request read_request(const struct options *o)
{
    return (struct prediction_request){
        .program = o->inputs, .n_words = o->n_inputs, .cards = o->devices, .n_cards = o->n_devices,
        .policies = o->policies, .n_policies = o->n_policies, .range = o->range, .steps = o->steps,
        .within_s = o->within_s, .without_overlay = o->is_given[FLAG_NO_OVERLAY],
        .torch_libs = o->texts[FLAG_TORCH_LIBS], .values = o->texts[FLAG_VALUES], .threads = o->threads,
        .price_bytes_per_ms = o->price, .interrupted = cli_defer_signals(),
    };
}

/* A place that cannot be written to is refused before the program runs, not after. */
static enum err check_place(const struct predict *c, struct err_detail *err)
{
    struct output *file;
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s.zst", c->stem) >= sizeof path)
        return err_at(err, ERR_IO, 0, c->stem, "the name is too long");
    if (c->options->out != NULL && !output_name_is_of_file(c->options->out))
        return err_set(err, ERR_USAGE, 0, "-o '%s': does not name a file", c->options->out);
    enum err e = output_names_check_recording(c->options, path, true, err);
    if (e == ERR_OK)
        e = output_open(path, &file, err);
    if (e == ERR_OK)
        output_abandon(file);
    return e;
}

static void say_unprotected(const struct prediction *p)
{
    if (!p->overlay.is_on && !p->asked.without_overlay)
        fprintf(stderr, "replay predict: this system gives no overlay of folders, so the program writes to its own "
                        "files: checkpoints and logs may be overwritten\n");
    if (p->overlay.open[0] != '\0')
        fprintf(stderr, "replay predict: not kept apart, the program can write there: %.400s\n", p->overlay.open);
}

static enum err predict(struct predict *c, const struct prediction_request *request, struct err_detail *err)
{
    enum err e = prediction_open(request, &c->prediction, err);
    if (e != ERR_OK)
        return e;
    say_unprotected(&c->prediction);
    e = prediction_make(&c->prediction, err);
    if (e != ERR_OK)
        prediction_keep_log(&c->prediction, c->stem, &c->files);
    return e;
}

static enum err show(struct predict *c, struct err_detail *err)
{
    if (c->json != NULL)
        prediction_write_json(output_file(c->json), &c->prediction, &c->files);
    const enum err e = c->is_stdout_taken
                     ? ERR_OK
                     : cli_printed(prediction_print(stdout, &c->prediction, &c->files, c->options->is_wide), err);
    return e == ERR_OK ? output_commit(&c->json, err) : e;
}

/* An answer is shown also if its recording cannot be kept. */
static enum err keep_and_show(struct predict *c, struct err_detail *err)
{
    struct err_detail why_lost = { .text = "" };
    const enum err kept = prediction_keep(&c->prediction, c->stem, &c->files, &why_lost), e = show(c, err);
    if (e != ERR_OK || kept == ERR_OK)
        return e;
    *err = why_lost;
    return kept;
}

/* After an interrupt it is the signal's. */
static enum exit_status answer_status(const struct prediction *p)
{
    const enum exit_status status = cli_finish_stdout(prediction_fits(p)       ? STATUS_DONE
                                                      : prediction_is_open(p) ? STATUS_OPEN
                                                                              : STATUS_FAILED);
    return *p->asked.interrupted == 0 ? status : (enum exit_status)(128 + *p->asked.interrupted);
}

static enum exit_status predict_main(const struct options *o)
{
    struct err_detail err = { .text = "" };
    struct predict *c = calloc(1, sizeof *c);
    if (c == NULL)
        return cli_fail(err_no_memory(&err), &err);
    const struct prediction_request request = read_request(o);
    c->options = o;
    prediction_choose_stem(&request, o->out, c->stem);
    enum err e = check_place(c, &err);
    if (e == ERR_OK)
        e = cli_open_output(o, o->json, &c->is_stdout_taken, &c->json, &err);
    if (e == ERR_OK)
        e = predict(c, &request, &err);
    if (e == ERR_OK)
        e = keep_and_show(c, &err);
    const enum exit_status status = e != ERR_OK ? cli_fail(e, &err) : answer_status(&c->prediction);
    output_abandon(c->json);
    prediction_close(&c->prediction);
    prediction_files_close(&c->files);
    free(c);
    return status;
}

static const struct flag_use predict_flags[] = {
    TAKES_AS(DEVICES, "a card to predict for, such as h100-80g, 4090 or, for ranks, 4090,count=2; 24GiB is the card "
                      "sold with so much that shows least, 24GiB,exactly the bare size; may be given several times "
                      "(default: the smallest card is looked for)"),
    TAKES_AS(POLICY, "a setting of the allocator to predict with; may be given several times (default: the program's "
                     "own)"),
    TAKES(RANGE), TAKES(STEPS), TAKES(WITHIN), TAKES(NO_OVERLAY),
    TAKES_AS(OUT, "the recording's name (default: made from the program's, as in train.predict.zst)"),
    TAKES(JSON), TAKES(WIDE), TAKES(TORCH_LIBS), TAKES(VALUES), TAKES(THREADS), TAKES(PRICE), TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_predict = {
    .name = "predict",
    .synopsis = "predict -- PROGRAM...",
    .summary = "run a program without a GPU and tell which card it needs, and how large its batch may be",
    .text = "predict runs the program on the simulated card (see replay run-sim --help), stops it once its steps "
            "repeat, and answers on one screen: what it reserves at most, whether it fits on each card, the "
            "smallest card, and the setting that saves most. The recording stays, for replay, why and who.\n"
            "\n"
            "Steps repeat if they request the same and live memory settles. A training makes 20,000 requests for "
            "memory first, some seconds, if it does not end before. A program whose memory grows with every step "
            "runs on, to its end or for 1,000 steps. The answer then says for how many steps a card lasts.\n"
            "\n"
            "A program that goes on after a refused request adapts to its card: it fits there, and the request is "
            "named. So does one that looks at the card's free memory, and its line is named. Both are run on each card "
            "by themselves.\n"
            "\n"
            "With --range the program runs several times, with other values in the place of {NAME}. The largest "
            "value that fits without a refused request is found by bisection for each card; the one above it is tried "
            "too.\n"
            "\n"
            "The program's files are safe: overlays cover all folders, and what it writes is thrown away. What no "
            "overlay can cover is read-only meanwhile. Where the system gives no overlay, predict says so first, and "
            "lists what was written in the working folder and in those that the arguments name.\n"
            "\n"
            "What the program does not show makes the peak a range: workspaces of libraries, the order of "
            "addresses, sizes that depend on values, when other streams are done. It fits if the highest peak fits, "
            "and may fit if a lower one does. The program then runs up to twice more, with the least and the most.\n"
            "\n"
            "An interrupt (Ctrl-C) ends the run and gives the answer so far.\n"
            "\n"
            "Examples:\n"
            "  replay predict -- python train.py\n"
            "  replay predict --device 24GiB --device h100-80g -- python train.py\n"
            "  replay predict --device a100-40g --range batch=1..256 -- \\\n"
            "      python train.py --batch {batch}\n",
    .failed = "the program does not fit on a card named, or it is not known to",
    .may_be_open = true,
    .status_note = "After an interrupt it is 130.",
    .flags = predict_flags,
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .run = predict_main,
};
