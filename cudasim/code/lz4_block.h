/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * One block of LZ4, as github.com/lz4/lz4, doc/lz4_Block_format.md describes it: nvcc before 12.8 packs code so.
 */
#ifndef REPLAY_CUDASIM_CODE_LZ4_BLOCK_H
#define REPLAY_CUDASIM_CODE_LZ4_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

/* Unpacks n bytes into exactly `room` bytes. False if the block is malformed or holds another number of bytes; `to` is
 * then partly written. */
bool lz4_block_unpack(const unsigned char *from, size_t n, unsigned char *to, size_t room);

#endif
