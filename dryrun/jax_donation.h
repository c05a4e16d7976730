/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What donated arguments (jax.jit(f, donate_argnums=)) would save a JAX program: its requests are replayed once more,
 * and results take the place of arguments.
 *
 * The recording tells how many arguments of a program have the shape of a result and are not donated. It does not tell
 * which live buffers they are. A buffer of that size that was there before the run and is freed before the program runs
 * again or anything else asks for more than a scalar is taken for one. So the answer is an "if".
 *
 * XLA lays temporaries in the places of results before these are ready, and cannot if those places are arguments'. What
 * it would compile then is not in the recording: the replayed need is the least. So `predict` then runs the program
 * with the arguments donated.
 */
#ifndef REPLAY_DRYRUN_JAX_DONATION_H
#define REPLAY_DRYRUN_JAX_DONATION_H

#include "dryrun/jax_need.h"
#include "dryrun/program_failure.h"

enum { JAX_PROGRAM_TEXT = 96, JAX_DONATED_TEXT = 64 };

/* Whether the program was run once more, with these arguments donated. */
enum donation_trial {
    DONATION_NOT_TRIED,
    DONATION_TRIED,
    DONATION_FAILED,                 /* it ended in an error: most likely it reads one of them after the call */
};

struct jax_donation {
    bool     has_candidates;         /* a function of the program's has arguments that it could donate */
    char     program[JAX_PROGRAM_TEXT];      /* the one that would donate most, as XLA calls it: "jit_step" */
    uint32_t arguments;              /* in one of its runs; 0: none is freed in time */
    uint64_t bytes;                  /* of these */
    struct jax_need need;            /* then, at least; region_bytes 0: nothing was replayed */
    bool     has_lower_peak;         /* less is live at once then; else a smaller region is an accident of packing */
    enum donation_trial trial;
    char     donated[JAX_DONATED_TEXT];      /* in it: numbers of arguments, "0,1"; "": none was found */
    char     shared[JAX_DONATED_TEXT];       /* not in it, as each holds an array that is passed twice; "": none */
    struct program_failure failure;  /* DONATION_FAILED */
    struct jax_need tried;           /* DONATION_TRIED: what its requests need */
};

/* Errors as of jax_need_find, and those of writing a trace in memory. */
MUST_USE enum err jax_donation_find(struct trace_reader *trace, const struct device_config *device,
                                    struct jax_donation *out, struct err_detail *err);

/* Whether a run with donated arguments is worth it: replayed, clearly less is needed, or which they are was not found.
 * `now`: the need without it. */
bool jax_donation_may_gain(const struct jax_donation *d, const struct jax_need *now);

/* Takes how the run went (cudasim/python/replay_donate.py); `tried` is the caller's. */
void jax_donation_take_run(struct jax_donation *d, const char *log, bool has_ended);

/* The need that is known best with it; region_bytes 0: none is. */
const struct jax_need *jax_donation_need(const struct jax_donation *d);

/* Sentences; `now`: without it. */
void jax_donation_say(struct words *out, const struct jax_donation *d, const struct jax_need *now);

#endif
