/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The traces of edition 2 (edition_2.def): generated ones, drawn by a seed, and recordings.
 *
 * A trace is known by its *digest*, the SHA-256 of its requests in plain text, and not by the bytes of a file: another
 * release of zstd packs otherwise. The text has a line for each event, "a SLOT BYTES STREAM POOL" for a request,
 * "f SLOT" for the end of one, "e" where all that is cached is to be given back; a zero byte ends it.
 *
 * Its *bound* is the most that is live at once, each request in whole multiples of 512 bytes. No allocator that aligns
 * requests to 512 bytes needs less, and anybody can add it up.
 */
#ifndef REPLAY_REPLAY_CONTEST_CONTEST_TRACES_H
#define REPLAY_REPLAY_CONTEST_CONTEST_TRACES_H

#include "base/sha256.h"
#include "traces/trace.h"

enum { CONTEST_TEXT = 512, CONTEST_ALIGNMENT = 512 };

struct contest_trace {
    size_t   stratum;
    char     text[CONTEST_TEXT];     /* what is generated; or a file below the folder of samples */
    bool     is_recording;
    bool     is_frozen;              /* the edition published it: its digest is known */
    uint64_t seed;                   /* of what is generated */
    /* Once it was opened: */
    char     digest[SHA256_HEX];
    uint64_t bound_bytes, n_requests;
};

/* The seed that draws the published traces. */
uint64_t contest_published_seed(void);

/* The name of the i-th stratum; NULL after the last. */
const char *contest_stratum_at(size_t i);

/* All traces that `seed` draws, in order; `stratum`: only those of one, NULL: all. Free *out. ERR_USAGE for an unknown
 * stratum; ERR_HOST_NOMEM. */
MUST_USE enum err contest_traces_draw(uint64_t seed, const char *stratum, struct contest_trace **out, size_t *n,
                                      struct err_detail *err);

/* Makes or opens a trace, and fills in its digest and bound. ERR_FORMAT if it is a published one of another digest;
 * load_make's and trace_open's errors. */
MUST_USE enum err contest_trace_open(struct contest_trace *t, const char *folder, struct trace_reader **out,
                                     struct err_detail *err);

#endif
