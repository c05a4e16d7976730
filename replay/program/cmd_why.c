/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay why FILE`: why a program ran out of memory, from a recording, or from the text of the error alone. */
#include "replay/program/why_session.h"

static void print_beside(const struct why_session *s)
{
    struct words w = { .n = 0 };
    if (s->beside[0] == '\0')
        return;
    words_add(&w, "- This is about PyTorch's own requests, which lie beside the driver's calls of the same run: %s. "
                  "The calls do not tell live memory from cache.", s->beside);
    words_print_screen(stdout, &w);
}

static void print_named(const struct why_session *s)
{
    struct words w = { .n = 0 };
    if (s->is_named_read)
        words_add(&w, "- This is about the recording that the log names, which lies beside it: %s. If that is of "
                      "another run, move it away for an answer from the log alone.", s->named.name);
    else if (s->trace == NULL && s->named.is_told)
        words_add(&w, "- The log names a recording, %s: it tells more. Give it to replay why, or put it beside the "
                      "log.", s->named.name);
    if (w.n > 0)
        words_print_screen(stdout, &w);
}

static enum err session_run(struct why_session *s, struct err_detail *err)
{
    struct progress progress = progress_start("replaying", PROGRESS_EVENTS);
    const struct replay_config cfg = { .threads = s->options->threads, .progress = progress_report,
                                       .progress_arg = &progress };
    const enum err e = s->trace != NULL ? why_read(s->trace, s->is_state, &s->device, &cfg, &s->answer, err) : ERR_OK;
    progress_clear(&progress);
    return e;
}

static void write_json(FILE *out, const struct why_session *s)
{
#define ANSWER_TABLE "answers/why.def"
#include "answers/as_json.def"
}

static enum exit_status why_main(const struct options *o)
{
    struct why_session s = { .options = o };
    struct err_detail err = { .text = "" };
    enum err e = cli_open_output(o, o->json, &s.is_stdout_taken, &s.json, &err);
    if (e == ERR_OK)
        e = why_files_take(&s, &err);
    if (e == ERR_OK)
        e = why_session_open(&s, &err);
    if (e == ERR_OK)
        e = session_run(&s, &err);
    if (e == ERR_OK && s.json != NULL) {
        write_json(output_file(s.json), &s);
        e = output_commit(&s.json, &err);
    }
    if (e == ERR_OK && !s.is_stdout_taken && s.trace != NULL)
        why_print(stdout, &s.answer, trace_event_word(s.trace));
    else if (e == ERR_OK && !s.is_stdout_taken)
        log_answer_print(stdout, &s.log);
    if (e == ERR_OK && !s.is_stdout_taken)
        print_beside(&s);
    if (e == ERR_OK && !s.is_stdout_taken)
        print_named(&s);
    if (e == ERR_OK && !s.is_stdout_taken)
        why_files_print(&s);
    if (e == ERR_OK && s.trace == NULL && o->is_given[FLAG_DEVICE])
        fprintf(stderr, "replay: --device does nothing here: the error's text says which card it was\n");
    const enum exit_status status = e != ERR_OK ? cli_fail(e, &err) : cli_finish_stdout(STATUS_DONE);
    why_session_close(&s);
    return status;
}

static const struct flag_use why_flags[] = {
    TAKES_AS(DEVICE, "the card it ran on, such as 24GiB or h100-80g (default: what the recording tells)"), TAKES(JSON),
    TAKES(SYSTEM), TAKES(THREADS), TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_why = {
    .name = "why",
    .synopsis = "why FILE...",
    .summary = "say why a program ran out of memory, and which setting cures it",
    .text = "FILE is a recording, or a log that holds an error of memory; '-' is standard input. Known are the "
            "errors of "
            "PyTorch, JAX, TensorFlow, vLLM, llama.cpp, libraries, drivers, the kernel and others. Several files, or a "
            "folder, are the ranks or restarts of one run: the worst is answered. The "
            "first line is the verdict, the first of these that holds: a setting is not in force; somebody else has "
            "the memory; one tensor is too large; a leak, and the line that holds it; the last input is larger than "
            "all before; really full, and by how much it is short; fragmented, and the lines to paste; nothing "
            "was refused; or the recording does not tell. Of a text it may also be that a memory fraction refused the "
            "request, that the card had room, or that the text does not tell full from fragmented. A recording that "
            "ends with a refused request gives lower bounds: what the program would have needed next is not in it.\n"
            "\n"
            "Examples:\n"
            "  replay why snapshot.pickle\n"
            "  python train.py 2>&1 | tee log; replay why log\n"
            "  python train.py 2>&1 | replay why -\n",
    .flags = why_flags,
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .run = why_main,
};
