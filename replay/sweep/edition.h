/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The traces of edition 1 (edition_1.def), and whether a file is one of them. */
#ifndef REPLAY_REPLAY_SWEEP_EDITION_H
#define REPLAY_REPLAY_SWEEP_EDITION_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct edition_trace {
    const char *file;                /* below the folder of samples */
    const char *digest;              /* SHA-256 */
    uint64_t    bound_bytes;         /* proved by `replay plan`, for one stretch of memory in multiples of 512 bytes */
};

const struct edition_trace *edition_traces(size_t *n);

/* ERR_FORMAT if the file has another content; errors of reading. */
MUST_USE enum err edition_check(const char *path, const struct edition_trace *t, struct err_detail *err);

#endif
