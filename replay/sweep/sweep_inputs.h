/*
 * The traces of a sweep: files as they are named, folders with all files in them, ranks recognised by their names.
 */
#ifndef REPLAY_REPLAY_SWEEP_SWEEP_INPUTS_H
#define REPLAY_REPLAY_SWEEP_SWEEP_INPUTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sweep_input {
    char   *path;
    char   *job;                     /* what holds the ranks: "run7" of "run7/rank_3/snapshot.pickle"; NULL: no rank */
    int64_t rank;                    /* -1: none */
    uint64_t bytes;                  /* the file's size */
    bool    is_found;                /* in a folder, so that it may be something else than a trace */
    bool    is_left_out;             /* it could not be opened, and this was said */
};

struct sweep_inputs {
    struct sweep_input *at;
    size_t n;
};

/* Appends a file, or a folder's files in order of name, folders within it included, at most 8 deep; names that begin
 * with a dot are left out. ERR_IO with the path; ERR_HOST_NOMEM. Released with sweep_inputs_close, also on error. */
MUST_USE enum err sweep_inputs_add(struct sweep_inputs *in, const char *path, struct err_detail *why);
void sweep_inputs_close(struct sweep_inputs *in);

#endif
