/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * One start of a server on a simulated card: it runs until its engine is ready, and is stopped.
 *
 * Its weights are made up (--load-format dummy), so a configuration is enough. Nothing else of it is changed.
 */
#ifndef REPLAY_DRYRUN_SERVED_START_H
#define REPLAY_DRYRUN_SERVED_START_H

#include "base/err.h"
#include "sim/card_meant.h"
#include "dryrun/named_range.h"
#include "replay/pools/pool_load.h"
#include "dryrun/program_failure.h"
#include "dryrun/served_ask.h"
#include "dryrun/server_budget.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>

/* What is asked for. Texts are borrowed. */
struct served_request {
    const char *const *program;      /* a list of n_words that NULL ends: "vllm", "serve", "MODEL", ... */
    size_t n_words;
    const char *const *cards;        /* as typed after --device */
    size_t n_cards;
    const char *load;                /* a file of requests to play against the cache; NULL: none */
    uint64_t step_us;                /* that a step takes then */
    const char *torch_libs;
    uint64_t within_s;               /* each start is stopped after so long */
    bool asks;                       /* a full step of prompts, once it is ready: does it die later? */
    bool tries;                      /* other choices are tried, each by a start of its own */
    const char *range;               /* "max-model-len=8192..131072": the largest value is searched; NULL: none */
    bool without_overlay;
    const volatile sig_atomic_t *interrupted;
};

enum { SERVED_CHOICE = 2 };

struct served_start {
    const char *card;                /* as typed */
    const char *choice[SERVED_CHOICE];       /* an option added to the words, and its value; NULL: none */
    char choice_value[24], port[8];
    bool is_of_range;                /* the choice is a value of the range */
    char device[CARD_BYTES + 32];    /* as the program had it, with its context */
    const struct device_model *model;        /* of the card; NULL: a size alone */
    uint64_t total_bytes;            /* of the card */
    uint64_t context_bytes;          /* that was set aside; 0: none, or typed */
    struct server_log log;
    struct server_budget budget;
    uint64_t peak_bytes;             /* that all its processes took of the fullest card, by the simulated one */
    uint64_t within_s;               /* how long it took to be ready, or to end */
    bool is_stopped;                 /* neither came in time */
    struct served_ask ask;           /* if it was asked */
    struct served_ask ask_logprobs;  /* and of their logprobs, if it answered */
    struct program_failure failure;  /* SERVER_ENDED_OTHERWISE */
    char kept_log[PATH_MAX];         /* all that it printed, where nothing can be told; "": not kept */
    struct served_start *tries;      /* the same card with another choice each */
    size_t n_tries;
    struct largest_value largest;    /* of the range */
    struct pool pool;                /* the cache as the load found it */
    uint64_t id_tokens;              /* of the load: that an id of its prompts stands for; 0: it has none */
    struct pool_load load;           /* is_played: the server is ready and told its tokens */
    double least_tried, most_tried;  /* the least and the most share that start; the next one does not. Below 0: not
                                        found */
};

struct served {
    struct served_request asked;
    struct served_start *starts;     /* one for each card */
    size_t n;                        /* that were made */
    char option[RANGE_NAME + 2];     /* that the range is of: "--max-model-len"; "": none */
    struct value_range range;
    bool has_dummy_weights;          /* we asked for them, not the person */
    bool has_dummy_tokenizer;        /* none lies beside the configuration */
    bool has_own_sampler;            /* FlashInfer's was turned off, because its code would be compiled first */
};

/* Starts the server on each card. ERR_USAGE if no card is named, a range is wrong or not for this program, or the
 * program cannot be started; errors of reading the load, before anything is started; ERR_IO; ERR_INTERRUPTED while
 * the first server starts. A later interrupt ends the starts alone: what is known so far is the answer. On a standard
 * error that is no terminal each start has a line. Close it also after an error. */
MUST_USE enum err served_make(const struct served_request *request, struct served *out, struct err_detail *err);
void served_close(struct served *s);

/* The answer on one screen, and as JSON (report/SCHEMA.md, replay-serve/1). */
MUST_USE enum err served_print(FILE *out, const struct served *s);
void served_write_json(FILE *out, const struct served *s);

/* Of all cards: whether the server starts on each; none is known not to. */
bool served_fits(const struct served *s);
bool served_is_open(const struct served *s);

#endif
