/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Asks a server that is ready for as many prompts as fill a step of its engine: the most that it computes at once. A
 * server that has no memory for that starts and dies later. The logprobs of a prompt take more: a row of the vocabulary
 * for each of its tokens, and not for the last alone. No release profiles that, and any client may ask for them.
 *
 * It is asked as people ask it, by HTTP on a port of this machine. Nothing here waits: the caller looks again and
 * again.
 */
#ifndef REPLAY_DRYRUN_SERVED_ASK_H
#define REPLAY_DRYRUN_SERVED_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum served_asking { ASKING_NOT_YET, ASKING, ASKED };
enum { HTTP_OK = 200 };

struct served_ask {
    enum served_asking state;
    bool     wants_logprobs;         /* of the prompts, as well */
    bool     is_sglang;              /* asked by its own interface, which needs no tokenizer; else by OpenAI's */
    int      port, socket;           /* socket: valid while ASKING */
    uint64_t prompts, prompt_tokens;
    int      status;                 /* of HTTP; 0: no answer */
    char     head[16];               /* of the answer */
    size_t   n_head;
};

/* A port that nobody uses now; 0: none was found. */
int served_ask_port(void);

/* One look. Connects and asks once the server listens, then reads. `step_tokens`: of a step; `longest`: of a request.
 * Returns whether it has been asked, and has answered or closed the connection. */
bool served_ask_look(struct served_ask *a, uint64_t step_tokens, uint64_t longest);

/* Gives up; harmless if there is nothing to give up. */
void served_ask_close(struct served_ask *a);

#endif
