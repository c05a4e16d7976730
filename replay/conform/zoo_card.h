/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The device under the golden cases of the zoo: pages of any size, and a gap between two device blocks
 * (tests/data/zoo.md). Addresses rise in the order of creation and are never used again.
 */
#ifndef REPLAY_REPLAY_CONFORM_ZOO_CARD_H
#define REPLAY_REPLAY_CONFORM_ZOO_CARD_H

#include "sim/device.h"

#include <jansson.h>

struct zoo_card_extent {
    uint64_t addr, bytes;                /* bytes 0: vacant */
};

/* What a case says about its device, and what happened on it. */
struct zoo_card {
    uint64_t total_bytes, page_bytes, gap_bytes;
    uint64_t used_bytes;
    struct device *device;               /* the front functions' device */
    struct device_log log;
    struct zoo_card_extent *extents;     /* by ordinal of the device malloc */
    size_t   n_extents, cap_extents;
    int64_t  op;                         /* the op under way; -1: the construction */
    json_t  *calls;                      /* [op, "malloc", bytes, ordinal] ... */
    bool     is_short;                   /* of memory for the calls */
};

/* Opens the device of a card whose first three members are set. zoo_card_close frees what it made. */
MUST_USE enum err zoo_card_open(struct zoo_card *card, struct err_detail *err);
void zoo_card_close(struct zoo_card *card);

/* [ordinal, offset] of an address. */
json_t *zoo_card_place(const struct zoo_card *card, uint64_t addr);

#endif
