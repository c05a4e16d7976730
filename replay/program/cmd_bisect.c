/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay bisect --good A --bad B -- PROGRAM...`: which commit, or which release of a package, raised the peak. */
#include "replay/program/cli.h"

#include "dryrun/bisect/bisected.h"

static enum err bisect_read(void *session, const struct options *o, struct err_detail *err)
{
    if (o->good == NULL)
        return err_set(err, ERR_USAGE, 0, "--good: name a commit, or a release of the package, whose peak is well");
    if (o->bad == NULL && o->package != NULL)
        return err_set(err, ERR_USAGE, 0, "--bad: name a release of %.60s whose peak is too high", o->package);
    const struct bisect_request request = {
        .versions = { .good = o->good, .bad = o->bad != NULL ? o->bad : "HEAD", .package = o->package,
                      .program = o->inputs, .n_words = o->n_inputs, .interrupted = cli_defer_signals() },
        .device = o->device, .more_than = o->more_than, .torch_libs = o->texts[FLAG_TORCH_LIBS],
        .values = o->texts[FLAG_VALUES], .steps = o->steps, .within_s = o->within_s,
        .without_overlay = o->is_given[FLAG_NO_OVERLAY], .threads = o->threads,
    };
    return bisected_make(&request, session, err);
}

static enum err bisect_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    bisected_write_json(out, session);
    return ERR_OK;
}

static enum err bisect_print(const void *session, struct err_detail *err)
{
    return cli_printed(bisected_print(stdout, session), err);
}

static enum exit_status bisect_status(const void *session)
{
    const struct bisected *b = session;
    return b->end == BISECT_NAMED ? STATUS_DONE : b->end == BISECT_NOT_HIGHER ? STATUS_FAILED : STATUS_OPEN;
}

static void bisect_close(void *session)
{
    bisected_close(session);
}

static const struct flag_use bisect_flags[] = {
    TAKES(GOOD), TAKES(BAD), TAKES(PACKAGE), TAKES(MORE_THAN),
    TAKES_AS(DEVICE, "the card to predict for, such as h100-80g or 24GiB (default: one as large as the largest)"),
    TAKES(STEPS), TAKES(WITHIN), TAKES(NO_OVERLAY), TAKES(JSON), TAKES(TORCH_LIBS), TAKES(VALUES), TAKES(THREADS),
    TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_bisect = {
    .name = "bisect",
    .synopsis = "bisect --good A [--bad B] -- PROGRAM...",
    .summary = "find the commit, or the release of a package, that raised a program's peak",
    .text = "bisect predicts the program's peak without a GPU (see replay predict --help) at the good and at the bad "
            "version, then in the middle of what is left, until one version is named. It says which lines, categories "
            "and modules hold more with it than before. Of a thousand versions about a dozen are tried.\n"
            "\n"
            "Commits are those of the git repository in whose folder you are. They are checked out in a worktree of "
            "ours, which is gone at the end; your tree, its index and its branches stay as they are. Files that git "
            "does not track, such as data or .venv, are not in it: a word of the command that names one is taken from "
            "your tree, but a name within the program is not. Packages that Python imports from your tree are taken "
            "from the worktree. Changes that are not committed are not tried.\n"
            "\n"
            "With --package the releases of a package are tried, as pip lists them for the program's Python. Each is "
            "installed into a folder of ours, with what it needs and the environment lacks; the environment stays as "
            "it is. A release that needs another PyTorch is left out.\n"
            "\n"
            "A version at which the program fails is left out, as by git bisect skip. If the answer lies among such "
            "versions, all of them are named. An interrupt (Ctrl-C) gives the answer so far.\n"
            "\n"
            "Examples:\n"
            "  replay bisect --good v1.0 -- python train.py\n"
            "  replay bisect --good 3f2a1bc --bad main --device 4090 --more-than 5% -- \\\n"
            "      python train.py --steps 3\n"
            "  replay bisect --package peft --good 0.11.0 --bad 0.13.0 -- python tune.py\n",
    .failed = "the peak is no higher at the bad version",
    .may_be_open = true,
    .status_note = "After an interrupt it is 130.",
    .flags = bisect_flags,
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .answer = { .session_bytes = sizeof(struct bisected), .read = bisect_read, .write_json = bisect_write_json,
                .print = bisect_print, .status = bisect_status, .close = bisect_close },
};
