/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * JSON of a stranger, read by jansson within a limit of memory.
 */
#ifndef REPLAY_BASE_LOAD_JSON_H
#define REPLAY_BASE_LOAD_JSON_H

#include "base/err.h"

#include <jansson.h>

/* Reads bytes[0, n) into *out, for json_decref, with jansson's flags for decoding. At most `most_memory` bytes are
 * taken; UINT64_MAX: no limit. `name` is that of the file, for messages. ERR_FORMAT, with the byte in why->offset;
 * ERR_HOST_NOMEM. One thread at a time: jansson's functions for memory are exchanged meanwhile. */
MUST_USE enum err load_json(const char *bytes, size_t n, size_t flags, uint64_t most_memory, const char *name,
                            json_t **out, struct err_detail *err);

#endif
