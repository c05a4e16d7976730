/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What two recordings hold when each requests most, side by side: by line of the program, by category, by module.
 */
#ifndef REPLAY_DRYRUN_BISECT_WHAT_GREW_H
#define REPLAY_DRYRUN_BISECT_WHAT_GREW_H

#include "replay/diff/diff.h"

enum { GREW_NAME = 200 };

struct grown_row {
    char     name[GREW_NAME];        /* "model.py:34 forward (A: 30)", "activations" */
    uint64_t before_bytes, after_bytes;
};

struct grown_rows {
    struct grown_row *at;            /* those that differ, the largest difference first */
    size_t n, room;
};

struct what_grew {
    bool     is_known;
    uint64_t before_bytes, after_bytes;          /* requested at most */
    struct grown_rows lines, categories, modules;        /* no module: none is labelled */
};

/* Reads two recordings by their names. A line in `folder` is named without it ("/tmp/a/": "net/model.py:34"). The
 * readers' errors, ERR_HOST_NOMEM. */
MUST_USE enum err what_grew_find(const char *before, const char *after, const char *folder, struct what_grew *out,
                                 struct err_detail *err);
void what_grew_close(struct what_grew *g);

#endif
