/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether streams hold what a program lacked: PyTorch gives memory of one stream to no other, and memory that another
 * stream uses (record_stream) to nobody until that stream is done.
 *
 *     stream 1   | live | free      | live |         what is free here serves no request of stream 2
 *     stream 2   | live | live | live | <- refused
 *
 * The recording, played on by its own pattern, is run again with all requests on one stream, or with every such use
 * over when the program frees: if it then lasts where it died before, the walls are what ended it.
 */
#ifndef REPLAY_REPLAY_WHY_STREAM_WALLS_H
#define REPLAY_REPLAY_WHY_STREAM_WALLS_H

#include "replay/advise/tune.h"
#include "replay/recording/holders.h"
#include "replay/trials/altered_trace.h"

/* What is walled off counts from this share of the card on: 3 percent. */
enum { WALLS_SHARE = 32 };

enum walls_kind {
    WALLS_NONE,                      /* they do not hold it */
    WALLS_STREAMS,                   /* it runs if all requests are on one stream, */
    WALLS_LATE_USES,                 /* if what is freed is free at once, */
    WALLS_BOTH,                      /* or only with both */
};

/* Bytes. */
struct stream_walls {
    enum walls_kind kind;
    bool     lasts;                  /* without them it runs for as long again; false: the refused request is served */
    unsigned n_streams;              /* that hold memory when the request is refused */
    uint64_t elsewhere_bytes;        /* then free in pieces on other streams than the one that asked */
    uint64_t late_bytes;             /* freed and still in use by another stream, at most */
    uint64_t peak_bytes;             /* reserved at most without the walls, as long as it was played */
    struct holders lines;            /* of what is live on the other streams; of late uses, of what waited */
};

/* The recording, once and whole, without walls of `kind`. */
struct rewrite walls_out(enum walls_kind kind);

/* `event`: the number of the event that `tune->baseline` refuses. Errors of the parts. Released with
 * stream_walls_close, also on error. */
MUST_USE enum err stream_walls_find(struct trace_reader *trace, const struct tune *tune,
                                    const struct device_choice *device, uint64_t event,
                                    const struct replay_config *cfg, struct stream_walls *out, struct err_detail *err);
void stream_walls_close(struct stream_walls *w);

/* Whether something that was freed waited for another stream while others were requested. The reader's errors,
 * ERR_HOST_NOMEM. */
MUST_USE enum err late_uses_find(struct trace_reader *trace, bool *has_late, struct err_detail *err);

/* "streams", "late-uses", "both"; NULL: none. */
const char *walls_word(enum walls_kind kind);

#endif
