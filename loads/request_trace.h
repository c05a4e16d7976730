/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What people asked a server of language models for: when, and how many tokens in and out.
 *
 * Read as published: CSV with a head (Azure's LLM inference traces, BurstGPT), or a JSON object a line (Mooncake,
 * Qwen-Bailian, whose hash_ids name the blocks of a prompt: equal ids are equal prefixes). Columns are found by name,
 * in any order:
 *
 *     arrival    TIMESTAMP, Timestamp, timestamp, arrived_at          seconds or a date; JSON: milliseconds
 *                                                                     (beside a chat_id seconds: Qwen-Bailian)
 *     prompt     ContextTokens, Request tokens, input_length, num_prefill_tokens
 *     answer     GeneratedTokens, Response tokens, output_length, num_decode_tokens
 */
#ifndef REPLAY_LOADS_REQUEST_TRACE_H
#define REPLAY_LOADS_REQUEST_TRACE_H

#include "base/err.h"
#include "base/intern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REQUEST_TOKENS_MAX = 1 << 24 };
#define REQUEST_ARRIVAL_MAX (UINT64_C(1) << 53)      /* microseconds; the nanoseconds fit, too */

struct served_request {
    uint64_t arrival_us;                 /* since the first one; never decreases; at most REQUEST_ARRIVAL_MAX */
    uint64_t prompt, answer;             /* tokens; prompt > 0. An answer of 0 tokens was refused by the server. */
    size_t   first_id, n_ids;            /* of its prompt's blocks, in request_trace.ids */
};

struct request_trace {
    struct served_request *requests;
    uint32_t *ids;                       /* numbered anew, from 0 in order of appearance */
    struct pair_map number_of_id;        /* (id in the file, 0) -> its number here */
    size_t n_requests, requests_room, n_ids, ids_room;
    uint64_t id_tokens;                  /* that an id stands for: a power of two that agrees with the prompts of
                                            several ids; of several such powers 512, else the least */
    uint32_t powers;                     /* that it may be, bit by bit; 0: no prompt has told */
    uint64_t n_empty, first_empty_line;  /* rows that ask with 0 tokens: they are left out; the first one's line */
};

/* Reads at most `n_max` requests, of an input that messages call `name`, or of a file. ERR_FORMAT with file and line;
 * ERR_INPUT, ERR_IO; ERR_HOST_NOMEM. request_trace_free frees, also after an error. */
struct input;
MUST_USE enum err request_trace_read_input(struct input *in, const char *name, size_t n_max, struct request_trace *out,
                                           struct err_detail *err);
MUST_USE enum err request_trace_read(const char *path, size_t n_max, struct request_trace *out, struct err_detail *err);

/* `n` requests made up: at random times, about `rate_per_s` a second, with prompts of 16 to 2,047 tokens and answers of
 * 16 to 511, short ones more often. */
MUST_USE enum err request_trace_make(size_t n, uint64_t rate_per_s, uint64_t seed, struct request_trace *out,
                                     struct err_detail *err);

/* Puts one of `n_texts` beginnings of so many tokens, a multiple of REQUEST_ID_TOKENS, before each prompt. */
enum { REQUEST_ID_TOKENS = 512 };        /* as in Mooncake's traces */
MUST_USE enum err request_trace_begin_alike(struct request_trace *t, uint64_t n_texts, uint64_t tokens, uint64_t seed,
                                            struct err_detail *err);

/* Brings all arrivals closer together, or further apart, by one factor, so that they are so many a second. False: they
 * all come at once. */
bool request_trace_set_rate(struct request_trace *t, double rate_per_s);

void request_trace_free(struct request_trace *t);

#endif
