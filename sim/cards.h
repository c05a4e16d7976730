/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The cards by name, and what a card of some compute capability is like.
 *
 * cards.csv is the one table, and the user may add a file. A card says there what differs from card to card; the rest
 * follows from its compute capability (compute_class_of).
 */
#ifndef REPLAY_SIM_CARDS_H
#define REPLAY_SIM_CARDS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A card by name, as its driver reports it. */
struct device_model {
    const char *name, *title;        /* "h100-80g", "NVIDIA H100 80GB HBM3" */
    uint64_t    total_bytes;         /* cudaDeviceProp.totalGlobalMem */
    uint64_t    smi_bytes;           /* what nvidia-smi shows: total_bytes and the driver's own */
    unsigned    capability;          /* 90 for 9.0 */
    unsigned    multiprocessors;
    unsigned    l2_bytes, bus_bits, clock_khz, memory_clock_khz;
    bool        is_often;            /* one of those that device_model_at lists */
    const char *source;              /* of total_bytes */
};

/* The limits of a compute capability (CUDA C++ Programming Guide, "Compute Capabilities": technical specifications). */
struct compute_class {
    unsigned    capability;          /* 86 for 8.6 */
    const char *typical;             /* a card of the table: what is taken for a card that is given by size only */
    unsigned    threads, blocks;     /* resident on a multiprocessor */
    unsigned    shared_bytes;        /* of a multiprocessor */
    unsigned    shared_optin_bytes;  /* the most that a block can ask for */
    unsigned    shared_reserved_bytes;           /* that the system takes of each block's */
    unsigned    block_registers;     /* the most that a block can have; a multiprocessor has 65,536 */
};

/* The environment's name for a file with more cards and contexts (sim/card_table.h). */
#define CARDS_ENV "REPLAY_CARDS"

/* Adds that file's rows, if there is one. Call it once, before anything asks for a card. ERR_INPUT, ERR_FORMAT. */
MUST_USE enum err cards_add_own(struct err_detail *err);

/* The i-th of all named cards, ascending by memory; NULL after the last. */
const struct device_model *card_at(size_t i);

/* The same of the cards that advice and default cards are chosen from. */
const struct device_model *device_model_at(size_t i);

/* The smallest of those with at least `bytes`; NULL if none has. */
const struct device_model *device_model_for(uint64_t bytes);

/* The cards that text[0, n) can mean, in any sensible spelling: "h100", "A100 80GB", "4090", "RTX 3080 Ti". An exact
 * name means that card only; of the others those with the fewest words that were not typed count ("4090" is not the
 * laptop's). Fills out[0, room) in the order of the table; returns how many there are, which may be more. */
size_t cards_find(const char *text, size_t n, const struct device_model **out, size_t room);

/* "8.6" of 86. Returns `text`. */
enum { CAPABILITY_TEXT = 16 };
const char *capability_text(unsigned capability, char text[CAPABILITY_TEXT]);

/* NULL for a capability that is not in the table. */
const struct compute_class *compute_class_of(unsigned capability);

/* The i-th of all classes, ascending; NULL after the last. */
const struct compute_class *compute_class_at(size_t i);

#endif
