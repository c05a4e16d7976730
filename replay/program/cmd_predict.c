/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay predict -- PROGRAM...`: what a program will need of which card, before it runs on one. */
#include "replay/program/cli.h"

#include "dryrun/run/file_move.h"
#include "replay/program/output_names.h"
#include "dryrun/prediction.h"
#include "dryrun/prediction_text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Everything the command holds. Zero is valid but for the prediction. */
struct predict {
    const struct options *options;
    struct prediction prediction;
    struct output *json;
    bool is_stdout_taken;
    char stem[PATH_MAX];             /* of the files that stay: "train.predict" */
    char trace[PATH_MAX], log[PATH_MAX];         /* "": none */
    struct report_lines kept;        /* all files that stay, absolute and without links */
};

/* "-o t.zst" gives "t"; without it the program's script, or the program, gives its name. */
static void choose_stem(struct predict *c)
{
    const struct options *o = c->options;
    const char *name = o->out;
    for (size_t i = 0; name == NULL && i < o->n_inputs; i++) {
        const size_t n = strlen(o->inputs[i]);
        if (n > 3 && strcmp(o->inputs[i] + n - 3, ".py") == 0)
            name = o->inputs[i];
    }
    const bool is_given = o->out != NULL;
    const char *from = name != NULL ? name : o->inputs[0];
    const char *slash = is_given ? NULL : strrchr(from, '/');
    from = slash == NULL ? from : slash + 1;
    const char *end = is_given ? ".zst" : ".py";
    const size_t n = strlen(from), k = strlen(end);
    const size_t n_stem = n > k && strcmp(from + n - k, end) == 0 ? n - k : n;
    snprintf(c->stem, sizeof c->stem, "%.*s%s", (int)n_stem, from, is_given ? "" : ".predict");
}

/* A place that cannot be written to is refused before the program runs, not after. */
static enum err check_place(const struct predict *c, struct err_detail *why)
{
    struct output *file;
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s.zst", c->stem) >= sizeof path)
        return err_set(why, ERR_IO, 0, "%.150s: the name is too long", c->stem);
    if (c->options->out != NULL && !output_name_is_of_file(c->options->out))
        return err_set(why, ERR_USAGE, 0, "-o '%.150s': is no name of a file", c->options->out);
    enum err e = output_names_check_recording(c->options, path, true, why);
    if (e == ERR_OK)
        e = output_open(path, &file, why);
    if (e == ERR_OK)
        output_abandon(file);
    return e;
}

/* Moves one file "run<...>" of a run to "STEM<...>". */
static enum err keep_file(struct predict *c, const struct predicted_run *run, const char *name, struct err_detail *why)
{
    char from[PATH_MAX], to[PATH_MAX];
    if ((size_t)snprintf(from, sizeof from, "%s/%s", run->folder, name) >= sizeof from ||
        (size_t)snprintf(to, sizeof to, "%s%s", c->stem, name + strlen("run")) >= sizeof to)
        return err_set(why, ERR_IO, 0, "%.150s: the name is too long", c->stem);
    const bool is_trace = strcmp(from, run->trace) == 0, is_log = strcmp(from, run->log) == 0;
    const enum err e = file_move(from, to, why);
    if (e != ERR_OK)
        return e;
    if (is_trace)
        snprintf(c->trace, sizeof c->trace, "%s", to);
    if (is_log)
        snprintf(c->log, sizeof c->log, "%s", to);
    if (realpath(to, from) != NULL && report_lines_add(&c->kept, from) != ERR_OK)
        return err_set(why, ERR_HOST_NOMEM, 0, "the host is out of memory");
    return ERR_OK;
}

static int is_of_run(const struct dirent *f)
{
    return strncmp(f->d_name, "run.", strlen("run.")) == 0;
}

/* Moves the files of the run that the answer rests on. */
static enum err keep_recording(struct predict *c, struct err_detail *why)
{
    const struct prediction_run *run = prediction_run_shown(&c->prediction);
    struct dirent **files = NULL;
    const int n = run == NULL ? 0 : scandir(run->made.folder, &files, is_of_run, alphasort);
    enum err e = n < 0 ? err_set(why, ERR_IO, 0, "%.150s: cannot be read: %s", run->made.folder, strerror(errno))
                       : ERR_OK;
    for (int i = 0; i < n; i++) {
        if (e == ERR_OK)
            e = keep_file(c, &run->made, files[i]->d_name, why);
        free(files[i]);
    }
    free(files);
    return e;
}

/* Of a program that failed: what it printed stays. */
static void keep_log(struct predict *c)
{
    const struct prediction *p = &c->prediction;
    struct err_detail why;
    struct stat st;
    const char *log = p->n_runs > 0 ? p->runs[p->n_runs - 1].made.log : "";
    if (stat(log, &st) == 0 && st.st_size > 0 && keep_file(c, &p->runs[p->n_runs - 1].made, "run.log", &why) == ERR_OK)
        fprintf(stderr, "replay predict: all that the program printed: %s\n", c->log);
}

static void say_unprotected(const struct prediction *p)
{
    if (!p->overlay.is_on && !p->options->is_given[FLAG_NO_OVERLAY])
        fprintf(stderr, "replay predict: this system gives no overlay of folders, so the program writes to its own "
                        "files: checkpoints and logs may be overwritten\n");
    if (p->overlay.open[0] != '\0')
        fprintf(stderr, "replay predict: not kept apart, the program can write there: %.400s\n", p->overlay.open);
}

static enum err predict(struct predict *c, struct err_detail *why)
{
    enum err e = prediction_open(c->options, &c->prediction, why);
    if (e != ERR_OK)
        return e;
    say_unprotected(&c->prediction);
    e = prediction_make(&c->prediction, why);
    if (e != ERR_OK)
        keep_log(c);
    return e;
}

static enum err show(struct predict *c, struct err_detail *why)
{
    const struct prediction_files files = { .trace = c->trace[0] != '\0' ? c->trace : NULL,
                                            .log = c->log[0] != '\0' ? c->log : NULL, .kept = &c->kept };
    if (c->json != NULL)
        prediction_write_json(output_file(c->json), &c->prediction, &files);
    const enum err e = c->is_stdout_taken ? ERR_OK
                                          : cli_printed(prediction_print(stdout, &c->prediction, &files), why);
    return e == ERR_OK ? output_commit(&c->json, why) : e;
}

/* An answer is shown also if its recording cannot be kept. */
static enum err keep_and_show(struct predict *c, struct err_detail *why)
{
    struct err_detail why_lost = { .text = "" };
    const enum err kept = keep_recording(c, &why_lost), e = show(c, why);
    if (e != ERR_OK || kept == ERR_OK)
        return e;
    *why = why_lost;
    return kept;
}

/* After an interrupt it is the signal's. */
static enum exit_status answer_status(const struct prediction *p)
{
    const enum exit_status status = cli_finish_stdout(prediction_fits(p) ? STATUS_DONE : STATUS_FAILED);
    return *p->interrupted == 0 ? status : (enum exit_status)(128 + *p->interrupted);
}

static enum exit_status predict_main(const struct options *o)
{
    struct err_detail why = { .text = "" };
    struct predict *c = calloc(1, sizeof *c);
    if (c == NULL)
        return cli_fail(err_set(&why, ERR_HOST_NOMEM, 0, "the host is out of memory"), &why);
    c->options = o;
    choose_stem(c);
    enum err e = check_place(c, &why);
    if (e == ERR_OK)
        e = cli_open_output(o, o->json, &c->is_stdout_taken, &c->json, &why);
    if (e == ERR_OK)
        e = predict(c, &why);
    if (e == ERR_OK)
        e = keep_and_show(c, &why);
    const enum exit_status status = e != ERR_OK ? cli_fail(e, &why) : answer_status(&c->prediction);
    output_abandon(c->json);
    prediction_close(&c->prediction);
    report_lines_close(&c->kept);
    free(c);
    return status;
}

static const struct flag_use predict_flags[] = {
    TAKES_AS(DEVICES, "a card to predict for, such as 24GiB, h100-80g or, for ranks, 24GiB,count=2; may be given "
                      "several times (default: the smallest card is looked for)"),
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
            "Steps repeat if they request the same and live memory settles. A program whose memory grows with every "
            "step runs on, to its end or for 1,000 steps. The answer then says for how many steps a card lasts.\n"
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
            "An interrupt (Ctrl-C) ends the run and gives the answer so far.\n"
            "\n"
            "Examples:\n"
            "  replay predict -- python train.py\n"
            "  replay predict --device 24GiB --device h100-80g -- python train.py\n"
            "  replay predict --device a100-40g --range batch=1..256 -- \\\n"
            "      python train.py --batch {batch}\n",
    .failed = "the program does not fit on a card named, or it is not known to",
    .status_note = "After an interrupt it is 130.",
    .flags = predict_flags,
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .run = predict_main,
};
