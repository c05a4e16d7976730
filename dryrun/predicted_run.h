/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * One run of a program for `predict`: on a simulated card, behind an overlay, until its steps repeat.
 *
 * The recording is looked at while it grows. The program is stopped once it holds enough equal steps. A program whose
 * live memory grows with every step goes on for much longer, because it may end before a card is full.
 */
#ifndef REPLAY_DRYRUN_PREDICTED_RUN_H
#define REPLAY_DRYRUN_PREDICTED_RUN_H

#include "dryrun/program_failure.h"
#include "dryrun/run/sim_card.h"
#include "dryrun/safe/overlay.h"
#include "dryrun/unknown_branches.h"
#include "replay/advise/card_answer.h"
#include "replay/recording/step_growth.h"

#include <limits.h>
#include <signal.h>

/* What is assumed where a program does not show it: the workspaces of libraries, sizes that depend on values, when a
 * stream has done its work, numbers on which it branches, and what a search of the fastest algorithms takes. */
enum run_level {
    RUN_EXPECTED,                    /* likely workspaces; the largest sizes; at once */
    RUN_LEAST,                       /* none; the least; at once */
    RUN_MOST,                        /* the most of both; once the program waits for it */
    RUN_OTHER,                       /* as expected, but a number that is read and not known is below the last one */
    RUN_SEARCH,                      /* as the most, and so for the search of cudnn.benchmark */
    RUN_DONATED,                     /* as expected, but a JAX function donates its arguments (run_request.donates) */
    RUN_LEVELS
};

enum run_end {
    RUN_ENDED,                       /* the program ended by itself */
    RUN_REPEATED,                    /* its steps repeat: it was stopped */
    RUN_TOO_LONG,                    /* its time was over: it was stopped */
    RUN_INTERRUPTED,                 /* the person wants the answer so far: it was stopped */
};

/* What is asked for. Texts are borrowed. */
struct run_request {
    struct sim_card_request card;
    const char *const *program;      /* the command line, a list that NULL ends */
    const char *title;               /* for the line of progress */
    const char *of;                  /* as in struct prediction_request */
    struct overlay *overlay;
    uint64_t steps;                  /* equal ones after which it is stopped; 0: none */
    uint64_t within_s;
    enum run_level level;
    const char *donates;             /* RUN_DONATED: the function, as XLA calls it */
    bool are_workspaces_typed;       /* the card's text says what convolutions take, at every level */
    const volatile sig_atomic_t *interrupted;
};

/* What PyTorch's hook says of things that come once in many steps (cudasim/python/replay_rhythm.py). */
struct told_rhythm {
    uint64_t growth_steps;           /* the growth comes once in so many; 0, 1: in each */
    uint64_t unseen_turns;           /* the loop does something once in so many turns, which was not seen; 0: no */
    char     unseen_at[96];          /* "train.py:31"; foreign */
};

struct predicted_run {
    char  folder[PATH_MAX];          /* of the files that it made; "": not made */
    char  trace[PATH_MAX];           /* its recording, of the process that held most; "": it asked for no memory */
    char  log[PATH_MAX];             /* what the program printed */
    enum run_end end;
    int   status;                    /* as of child_run */
    bool  is_refused;                /* it ended in a request that was refused */
    uint64_t survived;               /* refused requests after which it went on: it adapts to the card */
    uint64_t refused_bytes;          /* the last one that was refused */
    bool  has_failed;                /* it ended with an error that is none of memory, or a process of it did: */
    struct program_failure failure;
    bool  is_of_pytorch;             /* the trace holds the requests to its allocator */
    bool  is_of_jax;                 /* it holds those to JAX's; else, those to the driver */
    bool  is_of_library;             /* JAX or TensorFlow asked the card for memory, and not PyTorch */
    uint64_t live_bytes;             /* requested in it and not freed, at most */
    bool  is_pooled;                 /* all of the latter went to pools (cudaMallocAsync) */
    bool  has_optimizers;            /* PyTorch's, in one of its processes */
    uint64_t optimizer_steps;        /* that repeated, for which it was stopped; 0: none */
    uint64_t told_growth_bytes;      /* what each of them left behind, as the hook saw it; 0: none */
    struct told_rhythm rhythm;       /* of these */
    bool  was_followed;              /* loops were cut short after these, and what follows an epoch was seen */
    bool  ran_to_end;                /* and it came to its end */
    bool  turns_differ;              /* those that were skipped are like none that was seen */
    bool  ends_with_steps;           /* nothing that asks for memory follows these or the loop around its model,
                                      * as its source tells */
    uint64_t cut_reserved_bytes;     /* PyTorch had reserved so much before these loops were cut short */
    uint64_t whole_steps;            /* equal ones at the end of the recording */
    struct step_growth growth;       /* over these */
    char  grows_at[256];             /* the line that holds more and more, as `why` names it; "": it is not known */
    unsigned n_recordings;           /* of processes and cards */
    struct card_others others;       /* other processes on its card */
    struct workspaces_asked workspaces;
    struct jax_held jax;             /* what JAX's allocator held */
    bool  has_waits;                 /* memory came back once another stream had done its work */
    uint64_t reserved_bytes;         /* at most, as PyTorch's allocator had it in this run; 0: not recorded */
    bool  has_search;                /* it searched the fastest algorithms of convolutions */
    bool  are_workspaces_open;       /* nobody typed one size for all */
    struct unknown_branches branches;
    uint64_t quiet_s;                /* RUN_TOO_LONG: how long it had asked for no memory */
};

/* Runs the program. The files go into a new folder under `parent` and are the caller's. Errors of starting it and of
 * importing the recording. */
MUST_USE enum err predicted_run_make(const struct run_request *request, const char *parent, struct predicted_run *out,
                                     struct err_detail *err);

/* Whether a run that was made at one level is that of another, too: nothing is open in it that differs between them.
 * The largest sizes are those of two levels, and so is work that ends at once. */
bool predicted_run_is_at(const struct predicted_run *run, enum run_level of_run, enum run_level wanted);

/* Whether JAX's allocator refused what the driver never heard of, and the program ended in JAX's error. */
bool predicted_run_is_out_of_jax(const struct predicted_run *run);

/* Whether what it did holds for its card alone: it went on after a refused request, or looked at the free memory, as
 * JAX does at its start. */
bool predicted_run_adapts(const struct predicted_run *run);

/* Whether something that it does after these steps was not seen, or may not have been: it may take more. */
bool predicted_run_is_unseen(const struct predicted_run *run);

/* Whether it was stopped while each step held more than the one before: what it takes in the end is not known. */
bool predicted_run_grows(const struct predicted_run *run);

#endif
