/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay why FILE`: why a program ran out of memory, from a recording, or from the text of the error alone. */
#include "replay/program/why_session.h"

static void print_beside(const struct why_session *s)
{
    struct words w = { .n = 0 };
    if (s->beside[0] == '\0')
        return;
    words_add(&w, "- This is about %s's own requests, which lie beside the driver's calls of the same run: %s. "
                  "The calls do not tell live memory from cache.",
              s->answer.is_of_xla ? platform_words(s->answer.own.platform) : "PyTorch", s->beside);
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

static enum err why_read_session(void *session, const struct options *o, struct err_detail *err)
{
    struct why_session *s = session;
    s->options = o;
    enum err e = why_files_take(s, err);
    if (e == ERR_OK)
        e = why_session_open(s, err);
    if (e == ERR_OK)
        e = session_run(s, err);
    if (e == ERR_OK && s->trace == NULL && o->is_given[FLAG_DEVICE])
        fprintf(stderr, "replay: --device does nothing here: an error's text is judged by its own figures\n");
    return e;
}

static enum err why_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct why_session *s = session;
#define ANSWER_TABLE "answers/why.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static enum err why_print_session(const void *session, struct err_detail *err)
{
    (void)err;
    const struct why_session *s = session;
    if (s->trace != NULL)
        why_print(stdout, &s->answer, trace_event_word(s->trace));
    else
        log_answer_print(stdout, &s->log);
    print_beside(s);
    print_named(s);
    why_files_print(s);
    return ERR_OK;
}

static void why_end(void *session)
{
    why_session_close(session);
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
    .answer = { .session_bytes = sizeof(struct why_session), .read = why_read_session, .write_json = why_write_json,
                .print = why_print_session, .close = why_end },
};
