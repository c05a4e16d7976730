/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The traces of a sweep: files by name, folders with all files in them, and ranks, which are recognised by their names.
 */
#ifndef REPLAY_REPLAY_SWEEP_SWEEP_INPUTS_H
#define REPLAY_REPLAY_SWEEP_SWEEP_INPUTS_H

#include "replay/recording/platform.h"

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sweep_input {
    char   *path;
    char   *job;                     /* the ranks' folder: "run7" of "run7/rank_3/snapshot.pickle"; NULL: no rank */
    int64_t rank;                    /* -1: none */
    uint64_t bytes;                  /* the file's size */
    bool    is_found;                /* found in a folder, so it may not be a trace */
    bool    is_left_out;             /* it could not be opened, and this was reported */
    const char *const *choices;      /* the policies that it runs if nobody named any: n_choices of them. Static */
    size_t n_choices;
    bool    is_copy;                 /* a changed copy of the trace in this file, */
    uint64_t seed;                   /* by this seed */
    size_t   turn;                   /* of its file among the files, the largest first */
};

struct sweep_inputs {
    struct sweep_input *at;
    size_t n;
};

/* Appends a file, or the files of a folder in order of name, with folders in it up to 8 deep. Names that begin with a
 * dot are skipped. What cannot be looked at in a folder, as a dead link, is a file of 0 bytes.
 * ERR_INPUT with the path; ERR_HOST_NOMEM. Close with sweep_inputs_close, also after an error. */
MUST_USE enum err sweep_inputs_add(struct sweep_inputs *in, const char *path, struct err_detail *err);

/* Appends to each input its copies, one for each of the n seeds from first_seed on. ERR_HOST_NOMEM. */
MUST_USE enum err sweep_inputs_copy(struct sweep_inputs *in, uint64_t first_seed, uint64_t n, struct err_detail *err);

/* Sets the turns of inputs of which each file has n_each, one after the other. ERR_HOST_NOMEM. */
MUST_USE enum err sweep_inputs_deal(struct sweep_inputs *in, size_t n_each, struct err_detail *err);
void sweep_inputs_close(struct sweep_inputs *in);

#endif
