/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The segments that are reserved at one moment of a recording, by address. A walk through the records changes the set.
 */
#ifndef REPLAY_IMPORT_PYTORCH_SEGMENT_SET_H
#define REPLAY_IMPORT_PYTORCH_SEGMENT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reserved_segment {
    uint64_t addr, bytes;
    uint32_t stream;                  /* the snapshot's index */
    uint16_t pool;                    /* the snapshot's index */
    bool     is_small;
    bool     is_range;                /* a mapped part of an expandable segment */
};

/* Segments ascending by address, without overlap. */
struct segment_set {
    struct reserved_segment *at;
    size_t n;
};

/* Index of the segment that holds [addr, addr + bytes); SIZE_MAX if none does. */
size_t segment_set_find(const struct segment_set *t, uint64_t addr, uint64_t bytes);
uint64_t segment_set_bytes(const struct segment_set *t);
void segment_set_free(struct segment_set *t);

/* Such a set while it changes; a change takes a few steps however many segments there are. Touching ranges of one
 * stream and pool are joined. Zero is empty. */
struct segment_map {
    struct segment_block **blocks;
    size_t n_blocks, room;
    size_t n;                         /* segments */
};

enum segment_change { CHANGE_DONE, CHANGE_CONFLICT, CHANGE_NOMEM };

/* Starts with the segments of a set; false without memory. */
bool segment_map_open(struct segment_map *t, const struct segment_set *from);
void segment_map_free(struct segment_map *t);

/* The segment that holds [addr, addr + bytes), lent until the next change; NULL if none does. */
const struct reserved_segment *segment_map_find(const struct segment_map *t, uint64_t addr, uint64_t bytes);

/* Adds a segment; a range joins the ranges that it touches. CHANGE_CONFLICT if it overlaps another. */
enum segment_change segment_map_add(struct segment_map *t, const struct reserved_segment *s);

/* Removes [addr, addr + bytes): a whole segment, or any part of a range. *was gets the segment that held it.
 * CHANGE_CONFLICT if no single segment holds it, or if it is only a part of a segment that is no range. */
enum segment_change segment_map_take(struct segment_map *t, uint64_t addr, uint64_t bytes,
                                     struct reserved_segment *was);

/* Copies the segments into a new set; false without memory. */
bool segment_map_list(const struct segment_map *t, struct segment_set *out);

#endif
