/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The files that a recording made, as the JSON of `record` and `run-sim` names them. */
#ifndef REPLAY_DRYRUN_RUN_RECORDED_FILE_H
#define REPLAY_DRYRUN_RUN_RECORDED_FILE_H

#include "base/err.h"
#include "report/text/json_writer.h"

struct recorded_file {
    char       *path;
    const char *holds;               /* "calls": of the driver or runtime; "requests": to PyTorch's or JAX's
                                      * allocator; "snapshot": PyTorch's, or JAX's profile */
    unsigned    process;
    int         device;              /* -1: of all devices */
    bool        is_counted;          /* the rest is known */
    uint64_t    requests, refused;
};

/* Zero is valid: none. */
struct recorded_files {
    struct recorded_file *at;
    size_t n, room;
};

/* Adds a copy, with a path of its own. ERR_HOST_NOMEM. */
MUST_USE enum err recorded_files_add(struct recorded_files *files, const struct recorded_file *f,
                                     struct err_detail *err);
void recorded_files_close(struct recorded_files *files);

/* Its members, into an object that is open. */
void recorded_file_json(struct json_writer *json, const struct recorded_file *f);

#endif
