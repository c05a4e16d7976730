/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What NCCL takes of a card for itself. No allocator counts it, and the simulated card does not either: how many
 * channels and neighbours a communicator has depends on how the cards are connected.
 */
#ifndef REPLAY_REPLAY_ADVISE_NCCL_BUFFERS_H
#define REPLAY_REPLAY_ADVISE_NCCL_BUFFERS_H

#include "report/text/text.h"

/* Buffers for what one neighbour sends in one channel, one for each of NCCL's three protocols, unless NCCL_BUFFSIZE,
 * NCCL_LL_BUFFSIZE or NCCL_LL128_BUFFSIZE is set. From the defaults of NCCL 2.10 to 2.27 (src/init.cc,
 * computeBuffSizes): 4 MiB; 8 lines of 16 bytes for each of 512 threads, 8 steps; 120 words of 8 bytes for each of 640
 * threads, 8 steps. */
#define NCCL_CONNECTION_BYTES ((4ULL << 20) + 8ULL * 16 * 512 * 8 + 120ULL * 8 * 640 * 8)

/* NCCL's channels are 32 at most in most releases (MAXCHANNELS; 64 in the newest), fewer where cards have no NVLink. */
enum { NCCL_CHANNELS_USUAL = 32 };

/* Adds what to set aside, in two sentences. */
void words_add_nccl(struct words *w);

#endif
