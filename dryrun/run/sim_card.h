/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A simulated card for one program: what its environment must say so that it finds our CUDA instead of NVIDIA's, and
 * what happened on the card when it has ended.
 */
#ifndef REPLAY_DRYRUN_RUN_SIM_CARD_H
#define REPLAY_DRYRUN_RUN_SIM_CARD_H

#include "dryrun/run/run_child.h"
#include "dryrun/run/jax_held.h"
#include "dryrun/run/workspaces_asked.h"
#include "import/call_journal_read.h"
#include "report/text/json_writer.h"

struct sim_card;

/* Which card, and what of it. Texts are as typed and borrowed until sim_card_close; NULL: not given. */
struct sim_card_request {
    const char *command;             /* the name for messages: "run-sim" */
    const char *program;             /* the first word of what will run on it */
    const char *device;              /* "24GiB", "sim:h100-80g,count=2" */
    const char *torch_libs;          /* the folder of the libraries of its PyTorch */
    const char *libraries;           /* "stand-in" or "real" */
    const char *values;              /* how much is known beside the card: "1MiB,256MiB" */
    bool        is_recorded;         /* its journals are worth keeping: no later run removes what a kill left of them */
};

/* Finds the libraries, makes stand-ins for those that the program's PyTorch wants, and makes a folder for the journals
 * in `parent`. ERR_USAGE, ERR_SPEC and the like for a wrong text; ERR_IO. */
MUST_USE enum err sim_card_open(const struct sim_card_request *request, const char *parent, struct sim_card **out,
                                struct err_detail *err);

/* Removes the folder of the journals, unless `keeps_journals`: then it is removed only if it is empty, and otherwise
 * named on standard error. NULL is accepted. */
void sim_card_close(struct sim_card *c, bool keeps_journals);

/* The environment of a program on this card. `first`: preloaded before all else; NULL for nothing. */
MUST_USE enum err sim_card_put_env(const struct sim_card *c, const char *first, struct child_env *env,
                                   struct err_detail *err);

/* The compute capability that its programs see: "8.6". */
const char *sim_card_capability(const struct sim_card *c);

/* The folder of the journals, absolute. */
const char *sim_card_journals(const struct sim_card *c);

/* After the program: reads the journals. One that cannot be read is reported and left out; *is_complete is then
 * false. */
MUST_USE enum err sim_card_read(struct sim_card *c, bool *is_complete, struct err_detail *err);

/* Whether a journal was left out because the host could not read it, not because of what is in it. */
bool sim_card_has_lost(const struct sim_card *c);

/* Whether a process searched the fastest algorithm of a convolution (cudnn.benchmark), and what is to be said then. */
bool sim_card_has_search(const struct sim_card *c);

/* Whether it was asked if work was done: what follows hangs on when it is. PyTorch's allocator asks of a free block
 * that another stream used (record_stream); where it is done by then, the recording shows nothing of it. */
bool sim_card_has_asked_events(const struct sim_card *c);

/* Whether JAX or TensorFlow asked for memory, and not PyTorch: what is said of PyTorch's values does not hold. */
bool sim_card_is_of_library(const struct sim_card *c);

/* What JAX's allocator held. */
const struct jax_held *sim_card_jax(const struct sim_card *c);
#define SEARCH_CAUTION                                                                                               \
    "The program searches the fastest algorithms of its convolutions (cudnn.benchmark). On a card the search takes "   \
    "up to all that is free, some GiB, and gives it back before the program goes on: it refuses nothing, and what is " \
    "reserved at most may be higher than is expected here. How far was read off one program on an H200."

/* Whether something that the program does not show may move its peak, and further runs tell how far. */
bool sim_card_is_open(const struct sim_card *c);

/* What its processes asked for, together. */
const struct workspaces_asked *sim_card_workspaces(const struct sim_card *c);

/* What a process took of each card at most. */
struct process_use {
    uint32_t pid;
    uint64_t peak_bytes[CALL_DEVICES_MAX];
};

/* Those whose journals were read; the card's. */
const struct process_use *sim_card_processes(const struct sim_card *c, size_t *n);

/* How many processes took memory of a card, and the most that one of them held. */
size_t sim_card_largest_process(const struct sim_card *c, int device, uint64_t *bytes);

/* What happened, for a person on standard error. `status`: the program's. `ends_follow`: how far the peak may move is
 * said next, so no command that tells it is named. */
void sim_card_print(const struct sim_card *c, int status, bool ends_follow);

/* The members of answers/sim_card.def. */
struct ended_card {
    const struct sim_card *card;
    int                    status;   /* the program's */
};
void sim_card_json(struct json_writer *json, const struct ended_card *e);

#endif
