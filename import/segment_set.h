/*
 * The segments that stand at one moment of a recording, by address: what a walk through the records changes.
 */
#ifndef REPLAY_IMPORT_SEGMENT_SET_H
#define REPLAY_IMPORT_SEGMENT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct standing {
    uint64_t addr, bytes;
    uint32_t stream;                  /* the snapshot's index */
    uint16_t pool;                    /* the snapshot's index */
    bool     is_small;
    bool     is_range;                /* a mapped stretch of an expandable segment */
};

/* Ascending by address, never overlapping; touching ranges of one stream and pool are one. */
struct segment_set {
    struct standing *at;
    size_t n, room;
};

enum segment_change { CHANGE_DONE, CHANGE_CONFLICT, CHANGE_NOMEM };

/* Index of the segment that holds [addr, addr + bytes); SIZE_MAX where none does. */
size_t segment_set_find(const struct segment_set *t, uint64_t addr, uint64_t bytes);

/* Adds a segment; a range joins the ranges that it touches. CHANGE_CONFLICT where it overlaps another. */
enum segment_change segment_set_add(struct segment_set *t, const struct standing *s);

/* Takes [addr, addr + bytes) away: a whole segment, or any stretch of a range; *was tells its stream, pool and kind.
 * CHANGE_CONFLICT where no one segment holds it, or a segment that is no range holds more. */
enum segment_change segment_set_take(struct segment_set *t, uint64_t addr, uint64_t bytes, struct standing *was);

uint64_t segment_set_bytes(const struct segment_set *t);
bool segment_set_copy(struct segment_set *to, const struct segment_set *from);
void segment_set_free(struct segment_set *t);

#endif
