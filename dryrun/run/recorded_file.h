/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A file that a recording made, as the JSON of `record` and `run-sim` names it.
 */
#ifndef REPLAY_DRYRUN_RUN_RECORDED_FILE_H
#define REPLAY_DRYRUN_RUN_RECORDED_FILE_H

#include "report/text/json_writer.h"

struct recorded_file {
    const char *path;
    const char *holds;               /* "calls": of the driver or runtime; "requests": to PyTorch's or JAX's
                                      * allocator; "snapshot": PyTorch's, or JAX's profile */
    unsigned    process;
    int         device;              /* -1: of all devices */
    bool        is_counted;          /* the rest is known */
    uint64_t    requests, refused;
};

/* Puts it as an element of an array. Does nothing if `w` is NULL. */
void recorded_file_put(struct json_writer *w, const struct recorded_file *f);

#endif
