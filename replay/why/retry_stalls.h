/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether a program that was refused nothing stood still again and again: a request finds no room on the card, so
 * PyTorch gives cached memory back to the driver, asks it anew, and is served. It counts this as num_alloc_retries.
 *
 *     | live | cached | live | cached |   request -> cudaFree, cudaFree -> cudaMalloc -> served
 *
 * A cudaFree waits until the card has done all its work. Once is no harm, as after a warm-up; many times, and still in
 * the later half, is. The recording shows it if it has what segments were given back; else, and on another card than
 * the recorded one, the replay does. What takes it away is tried: a setting that `tune` recommends, all requests on one
 * stream, and what is freed free at once.
 */
#ifndef REPLAY_REPLAY_WHY_RETRY_STALLS_H
#define REPLAY_REPLAY_WHY_RETRY_STALLS_H

#include "replay/why/stream_walls.h"

struct retry_stalls {
    uint64_t times;                  /* that it was so; 0: too seldom to matter */
    uint64_t seldom;                 /* that it was recorded so, if that is too seldom */
    uint64_t given_back_bytes;       /* and asked for anew, in all; 0: it is the replay that shows it */
    uint64_t replayed;               /* the same in the replay: 0 if the card's size is not known */
    uint64_t room_bytes, room_ns;    /* what the replay takes on a card without end, and the driver's time there */
    uint64_t lost_ns;                /* the driver's time beyond that, on this card; times are modelled */
    bool     has_setting;            /* the winner of the tune takes nearly all of it away, and is recommended; */
    uint64_t with_setting_ns;        /* so much is left then */
    enum walls_kind walls;           /* without these walls of streams nearly all of it goes; */
    uint64_t without_walls;          /* so many of `replayed` are left then */
};

/* Looks at the recording and at `tune->baseline`, which served all, and tries walls. Errors of the parts. */
MUST_USE enum err retry_stalls_find(struct trace_reader *trace, const struct tune *tune,
                                    const struct device_choice *device, const struct replay_config *cfg,
                                    struct retry_stalls *out, struct err_detail *err);

/* Looks whether the winner of a whole search takes them away. */
void retry_stalls_take_setting(struct retry_stalls *s, const struct tune *tune);

#endif
