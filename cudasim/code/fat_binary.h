/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A "fat binary", which nvcc puts into a program: one image for each capability that it was compiled for, as machine
 * code or as PTX. Layout of CUDA's fatbinary_section.h, and as nvcc 11 to 13 was seen to write it:
 *
 *     wrapper: magic u32, version u32, -> fat binary
 *     header:  magic u32, version u16, header bytes u16, bytes of all entries u64
 *     entry:   kind u16 (1 PTX, 2 machine code), version u16, header bytes u32, stored bytes u64, packed bytes u32,
 *              at 28 capability u32, at 40 flags u64 (0x2000 LZ4, 0x8000 Zstandard), at 56 unpacked bytes u64
 */
#ifndef REPLAY_CUDASIM_CODE_FAT_BINARY_H
#define REPLAY_CUDASIM_CODE_FAT_BINARY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the driver takes of a fat binary for a card. Lent from its bytes. */
struct fat_choice {
    unsigned code, ptx;              /* capability of the machine code and of the PTX; 0: there is none */
    const unsigned char *image;      /* the machine code as it is stored; NULL: there is none */
    size_t   stored_bytes, image_bytes;      /* image_bytes: unpacked */
    uint64_t flags;
};

/* Whether the image is a wrapper, and the fat binary to which that points. A wrapper lies in a running program, because
 * it holds an address. */
bool fat_binary_is_wrapper(const unsigned char *image, size_t most);
const unsigned char *fat_binary_unwrap(const void *wrapper);

/* The bytes of the fat binary that begins at `image`, by its header; 0: there is none. `most`: what may be read. A
 * caller that has a pointer without a length, as the driver has, gives SIZE_MAX and trusts the header. */
size_t fat_binary_extent(const unsigned char *image, size_t most);

/* Chooses the machine code of the card's major capability with the highest minor not above the card's, and the highest
 * PTX not above the card. `capability` is 86 for 8.6. FORMAT: this is no fat binary. Entries after a malformed one are
 * not seen. */
MUST_USE enum err fat_binary_choose(const unsigned char *bytes, size_t n, unsigned capability, struct fat_choice *out,
                                    struct err_detail *err);

/* Copies the chosen machine code out, unpacked. The caller frees *out. FORMAT if it cannot be unpacked. */
MUST_USE enum err fat_binary_unpack(const struct fat_choice *c, unsigned char **out, struct err_detail *err);

#endif
