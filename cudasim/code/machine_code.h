/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The code that a card takes of an image: a fat binary, a cubin, or PTX.
 */
#ifndef REPLAY_CUDASIM_CODE_MACHINE_CODE_H
#define REPLAY_CUDASIM_CODE_MACHINE_CODE_H

#include "cudasim/core/core.h"
#include "cudasim/code/cubin.h"

/* PTX is not compiled, so what is in it is unknown: then `image` is NULL, `cubin` is empty, and every name may be
 * there. The same holds for code that is packed in a way that is not known here. */
struct machine_code {
    unsigned char *image;            /* the cubin's bytes, its own */
    struct cubin cubin;
    unsigned code, ptx;              /* capabilities; 0: there is none */
};

/* `image` has at most `most` bytes, at least one; SIZE_MAX: as many as its own headers say, because a program gives the
 * driver a pointer without a length. NO_BINARY: there is code in it, but none that this card takes. INVALID_IMAGE: it
 * is damaged. machine_code_close frees. */
enum cudasim_code machine_code_load(const void *image, size_t most, unsigned card, struct machine_code *out);
void machine_code_close(struct machine_code *m);

/* What is known of a kernel on a card of that capability. NOT_FOUND: it is not there. */
enum cudasim_code machine_code_facts(const struct machine_code *m, const char *name, unsigned card,
                                     struct cudasim_kernel_facts *out);

#endif
