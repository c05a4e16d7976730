/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the CUDA context and the libraries of a process take on a named card. The table is contexts.csv.
 */
#ifndef REPLAY_SIM_CARD_CONTEXT_H
#define REPLAY_SIM_CARD_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct card_context {
    const char *card;                /* name of a struct device_model, "h100-80g"; NULL: of all cards of a capability */
    unsigned    capability;          /* if card is NULL: 86 for 8.6 */
    uint64_t    bytes;               /* typical, without NCCL */
    uint64_t    most_bytes;          /* the largest seen */
    const char *source;              /* one sentence for people */
};

/* More than this outside PyTorch is no context: other processes, or another card. The largest that was seen has 2,007
 * MiB (contexts.csv). */
#define CARD_CONTEXT_MOST_BYTES (UINT64_C(2) << 30)

/* What others hold is a cause from this share of the card on. Below it, whoever looks for them looks in the wrong
 * place. */
#define CARD_OTHERS_SHARE 64
static inline bool card_others_matter(uint64_t others_bytes, uint64_t total_bytes)
{
    return others_bytes > 0 && others_bytes >= total_bytes / CARD_OTHERS_SHARE;
}

/* The named card's; if nobody has seen it, what is usual on cards of its compute capability. NULL without either. */
const struct card_context *card_context_of(const char *card);

/* The card that a text as after --device names: "h100-80g", "sim:A100 80GB,others=1GiB". NULL for a plain size. */
const struct card_context *card_context_in(const char *device_text);

#endif
