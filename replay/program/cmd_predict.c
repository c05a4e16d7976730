/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay predict -- PROGRAM...`: what a program will need of which card, before it runs on one. */
#include "replay/program/cli.h"

#include "dryrun/prediction_text.h"
#include "replay/program/output_names.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Everything the command holds. Zero is valid: predict_close accepts it. */
struct predict {
    const struct options *options;
    struct prediction prediction;
    char stem[PATH_MAX];             /* of the files that stay: "train.predict" */
    struct prediction_files files;
    enum err kept;                   /* whether the recording could be kept; else `why_lost` */
    struct err_detail why_lost;
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
    if (c->options->out != NULL && (strcmp(c->options->out, "-") == 0 || !output_name_is_of_file(c->options->out)))
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

static enum err predict_prepare(void *session, const struct options **o, struct err_detail *err)
{
    struct predict *c = session;
    const struct prediction_request request = read_request(*o);
    c->options = *o;
    prediction_choose_stem(&request, (*o)->out, c->stem);
    return check_place(c, err);
}

/* Nobody asked for the name, so nobody may know that an earlier predict gave its recording the same. */
static void say_replaced(const struct predict *c)
{
    char path[PATH_MAX];
    if (c->options->out == NULL && (size_t)snprintf(path, sizeof path, "%s.zst", c->stem) < sizeof path &&
        access(path, F_OK) == 0)
        fprintf(stderr, "replay predict: %s was there and is replaced; -o NAME keeps both\n", path);
}

/* An answer is given also if its recording cannot be kept. */
static enum err predict_read(void *session, const struct options *o, struct err_detail *err)
{
    struct predict *c = session;
    const struct prediction_request request = read_request(o);
    const enum err e = predict(c, &request, err);
    if (e == ERR_OK)
        say_replaced(c);
    if (e == ERR_OK)
        c->kept = prediction_keep(&c->prediction, c->stem, &c->files, &c->why_lost);
    return e;
}

static enum err predict_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct predict *c = session;
    prediction_write_json(out, &c->prediction, &c->files);
    return ERR_OK;
}

static enum err predict_print(const void *session, struct err_detail *err)
{
    const struct predict *c = session;
    return cli_printed(prediction_print(stdout, &c->prediction, &c->files, c->options->is_wide), err);
}

static enum exit_status predict_status(const void *session)
{
    const struct predict *c = session;
    if (c->kept != ERR_OK)
        return cli_fail(c->kept, &c->why_lost);
    return prediction_fits(&c->prediction)      ? STATUS_DONE
           : prediction_is_open(&c->prediction) ? STATUS_OPEN
                                                : STATUS_FAILED;
}

static void predict_close(void *session)
{
    struct predict *c = session;
    prediction_close(&c->prediction);
    prediction_files_close(&c->files);
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
            "and may fit if a lower one does. The program then runs up to twice more, with the least and the most. "
            "Where it could not be seen what follows the equal steps, it may fit, too, and takes at least so much.\n"
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
    .answer = { .session_bytes = sizeof(struct predict), .prepare = predict_prepare, .read = predict_read,
                .write_json = predict_write_json, .print = predict_print, .status = predict_status,
                .close = predict_close },
};
