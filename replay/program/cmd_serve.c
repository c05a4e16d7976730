/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay serve -- vllm serve ...`, or SGLang: what a server will have for its KV cache, before it starts on a card. */
#include "replay/program/cli.h"

#include "dryrun/served_start.h"

enum { STEP_US = 20000 };

static enum err serve_read(void *session, const struct options *o, struct err_detail *err)
{
    const struct served_request request = {
        .program = o->inputs, .n_words = o->n_inputs, .cards = o->devices, .n_cards = o->n_devices,
        .torch_libs = o->texts[FLAG_TORCH_LIBS], .within_s = o->within_s, .tries = o->is_given[FLAG_TRY],
        .asks = o->is_given[FLAG_ASK], .range = o->range, .load = o->load,
        .step_us = o->is_given[FLAG_STEP_US] ? o->step_us : STEP_US,
        .without_overlay = o->is_given[FLAG_NO_OVERLAY], .interrupted = cli_defer_signals(),
    };
    if (o->is_given[FLAG_STEP_US] && o->load == NULL)
        return err_set(err, ERR_USAGE, 0, "--step-us is the time of a step of a played trace: it needs --trace FILE");
    return served_make(&request, session, err);
}

static enum err serve_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    served_write_json(out, session);
    return ERR_OK;
}

static enum err serve_print(const void *session, struct err_detail *err)
{
    return cli_printed(served_print(stdout, session), err);
}

static enum exit_status serve_status(const void *session)
{
    const struct served *s = session;
    if (s->asked.interrupted != NULL && *s->asked.interrupted != 0)
        return (enum exit_status)(128 + *s->asked.interrupted);
    return served_fits(session) ? STATUS_DONE : served_is_open(session) ? STATUS_OPEN : STATUS_FAILED;
}

static void serve_close(void *session)
{
    served_close(session);
}

static const struct flag_use serve_flags[] = {
    TAKES_AS(DEVICES, "the card that the server is for, such as h100-80g, 4090 or, for tensor parallel, "
                      "h100-80g,count=2; may be given several times"),
    TAKES_AS(WITHIN, "stop a start that has not come so far after so long (default: 600)"),
    TAKES(TRY),
    TAKES_AS(RANGE, "search the largest value of an option of the server's, such as max-model-len, with which it "
                    "starts; in steps of a sixteenth, or NAME=A..B:STEP"),
    TAKES(ASK), TAKES(LOAD), TAKES(STEP_US), TAKES(NO_OVERLAY), TAKES(JSON), TAKES(TORCH_LIBS), TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_serve = {
    .name = "serve",
    .synopsis = "serve --device CARD -- vllm serve MODEL...",
    .summary = "start a vLLM or SGLang server without a GPU and tell how many tokens its KV cache holds",
    .text = "serve starts the server on the simulated card (see replay run-sim --help), waits until its engine is "
            "ready, with its cache sized and its CUDA graphs captured, and stops it. One screen says what it takes of "
            "the card: weights, activations at the profiled peak, graphs, and what is left: bytes and tokens of KV "
            "cache, requests of the maximum length at once.\n"
            "\n"
            "The server is the one that is installed, with nothing changed but this: its weights are made up "
            "(--load-format dummy, unless the words have a --load-format), so a folder with a config.json is enough; "
            "without a tokenizer in it --skip-tokenizer-init is added; FlashInfer's sampler is off. What it writes is "
            "thrown away.\n"
            "\n"
            "What follows by arithmetic is marked as computed: the least --gpu-memory-utilization with which it "
            "starts, the most that has room for all that it holds, a cache of 8 bits. The server's own estimate of its "
            "graphs stands beside what they took.\n"
            "\n"
            "With --try the choices are tried, each by a start of its own: shares up to the least and the most that "
            "start, a shorter request, a cache of 8 bits, fewer graphs, none. What they gave stands in a table. It "
            "takes about ten times as long; an interrupt (Ctrl-C) gives the answer so far. --range "
            "max-model-len=8192..131072 searches the longest request with which it starts, and --range "
            "max-num-seqs=64..1024 the most requests at once.\n"
            "\n"
            "With --ask the server is asked for as many prompts as fill a step of its engine, which is the most that "
            "it computes at once, and for the logprobs of its prompts; one that has no memory for them starts and dies "
            "later.\n"
            "\n"
            "With --trace azure.csv the requests of a published trace are played against the cache, as vLLM schedules "
            "them. Prompts that begin alike share blocks, if the file has ids of these (Mooncake's hash_ids) and the "
            "server keeps prefixes. How long a step takes is assumed: no simulated card knows it.\n"
            "\n"
            "With --kv-cache-memory-bytes among the server's words the cache has that size, whatever is left, and no "
            "share is chosen. Whether room is left beside it is told.\n"
            "\n"
            "Of SGLang (sglang serve, python -m sglang.launch_server) its own lines are read, and the answer has its "
            "own options: --mem-fraction-static, --context-length, --cuda-graph-max-bs-decode, --chunked-prefill-size. "
            "It measures nothing that it computes before it makes its cache, so how large the fraction may be is told "
            "with --ask alone. With prefill graphs, whose memory on a card is not simulated, it only may start. "
            "--trace is refused for it.\n"
            "\n"
            "A server that is not installed for the Python named is wrong usage. "
            "A server that does not start says why, and what would let it. Of another program that uses vLLM, such as "
            "a script with LLM(...), the same lines are read; nothing is added to its words.\n"
            "\n"
            "Examples:\n"
            "  replay serve --device h100-80g -- vllm serve ./model --max-model-len 8192\n"
            "  replay serve --try --device h100-80g -- vllm serve ./model\n"
            "  replay serve --ask --device h100-80g -- sglang serve --model-path ./model\n"
            "  replay serve --device 4090 --device l40s -- \\\n"
            "      vllm serve ./model --gpu-memory-utilization 0.95\n",
    .failed = "the server does not start on a card named",
    .may_be_open = true,
    .status_note = "After an interrupt it is 130.",
    .flags = serve_flags,
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .answer = { .session_bytes = sizeof(struct served), .read = serve_read, .write_json = serve_write_json,
                .print = serve_print, .status = serve_status, .close = serve_close },
};
